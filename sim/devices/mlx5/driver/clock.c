// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The clock page (MLX5_IB_MMAP_CLOCK_INFO): memory of the driver that every program of the adapter maps, with the time
 * of day at which the adapter's timer showed 0. As in Linux, no load of it crosses PCIe.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"

#ifndef F_SEAL_FUTURE_WRITE /* <linux/fcntl.h>, Linux 5.1; the C library's <fcntl.h> may be older */
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

_Static_assert(HCASIM_MLX5_CORE_CLOCK_KHZ == 1000000, "a tick is a nanosecond of the clock page");

static struct mlx5_clock *clock_of(const struct drv_device *dev)
{
	return &mlx5_dev(dev)->clock;
}

/* Programs have the file: none shall shorten it, or write to it where the kernel can forbid that. */
static int share(struct mlx5_clock *c)
{
	c->memfd = memfd_create("hcasim-mlx5-clock", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (c->memfd < 0 || ftruncate(c->memfd, MLX5_PAGE_SIZE))
		return -ENOMEM;
	c->page = mmap(NULL, MLX5_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, c->memfd, 0);
	if (c->page == MAP_FAILED)
		return -ENOMEM;
	(void)fcntl(c->memfd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
	return fcntl(c->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ? -ENOMEM : 0;
}

/* Until the first update the time of day is what the timer shows. */
int mlx5_clock_create(struct drv_device *dev)
{
	struct mlx5_clock *c = clock_of(dev);

	*c = (struct mlx5_clock){.memfd = -1, .page = MAP_FAILED};
	if (share(c)) {
		mlx5_clock_destroy(dev);
		return -ENOMEM;
	}
	c->page->mult = 1;
	c->page->mask = UINT64_MAX;
	c->page->overflow_period = INT64_MAX;
	return 0;
}

void mlx5_clock_destroy(struct drv_device *dev)
{
	struct mlx5_clock *c = clock_of(dev);

	if (c->page != MAP_FAILED)
		munmap(c->page, MLX5_PAGE_SIZE);
	if (c->memfd >= 0)
		close(c->memfd);
}

static uint64_t timer(const struct drv_device *dev)
{
	__be64 raw;

	hca_mmio_read(dev->hca, HCASIM_MLX5_BAR, HCASIM_MLX5_REG_INTERNAL_TIMER, &raw, sizeof(raw));
	return be64toh(raw);
}

/*
 * One field changes, in one store, and then the sign, by which a reader knows that it has met an update and reads again.
 * Linux sets MLX5_IB_CLOCK_INFO_KERNEL_UPDATING in between, for as long as it holds a spinlock; libmlx5 gives up after a
 * few looks at it, which a device process without a processor must not cause.
 */
void mlx5_clock_update(struct drv_device *dev)
{
	struct mlx5_ib_clock_info *page = clock_of(dev)->page;
	struct timespec now;
	uint64_t nsec;

	clock_gettime(CLOCK_REALTIME, &now);
	nsec = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - timer(dev);
	if (nsec == page->nsec)
		return;
	__atomic_store_n(&page->nsec, nsec, __ATOMIC_RELAXED);
	__atomic_store_n(&page->sign, page->sign + 2 * MLX5_IB_CLOCK_INFO_KERNEL_UPDATING, __ATOMIC_RELEASE);
}

int mlx5_clock_mmap(const struct drv_device *dev, struct drv_mmap *out)
{
	out->kind = DRV_MMAP_MEMORY;
	out->memfd = clock_of(dev)->memfd;
	out->read_only = true;
	return 0;
}
