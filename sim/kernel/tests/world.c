// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The machine of these tests; sim/tests has another version that uses the real device file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "devices/family.h"
#include "harness.h"
#include "bench.h"

#define MAX_FDS 512
static int given[MAX_FDS];
static unsigned int num_given;

static bool in_arena(uint64_t addr, uint64_t len)
{
	return addr >= U(w.arena) && addr + len >= addr && addr + len <= U(w.arena) + ARENA_SIZE;
}

static int copy_from(struct task *t, void *dst, uint64_t src, size_t len)
{
	if (!in_arena(src, len))
		return -EFAULT;
	memcpy(dst, (void *)(uintptr_t)src, len);
	return 0;
}

static int copy_to(struct task *t, uint64_t dst, const void *src, size_t len)
{
	if (!in_arena(dst, len))
		return -EFAULT;
	memcpy((void *)(uintptr_t)dst, src, len);
	return 0;
}

static int check_pages(struct task *t, uint64_t addr, uint64_t len, bool write)
{
	return in_arena(addr, len) ? 0 : -EFAULT;
}

/* As if every second page had been swapped out. */
static int resident(struct task *t, uint64_t addr, uint32_t pages, uint8_t *out)
{
	for (uint32_t i = 0; i < pages; i++)
		out[i] = !((addr / 4096 + i) & 1);
	return 0;
}

static int fd_file(struct task *t, int fd, uint64_t *dev, uint64_t *ino)
{
	struct stat st;

	if (fstat(fd, &st))
		return -EBADF;
	*dev = st.st_dev;
	*ino = st.st_ino;
	return 0;
}

static int fd_get(struct task *t, int fd)
{
	const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return own < 0 ? -EBADF : own;
}

static int fd_inode(struct task *t, int fd, uint64_t *ino)
{
	uint64_t dev;

	return fd_file(t, fd, &dev, ino);
}

static struct task *find_task(void *arg, uint32_t pasid)
{
	return pasid == w.task.pasid ? &w.task : NULL;
}

static bool capable(struct task *t, unsigned int capability)
{
	return !w.ordinary;
}

static bool may_run_on(struct task *t, uint32_t cpu)
{
	return cpu < 4;
}

static void detach(struct dmabuf *d)
{
	w.attached--;
}

/* Any regular file can be used. No data is transferred from or to it. */
static int dmabuf_get(struct task *t, int fd, struct dmabuf **out)
{
	static struct dmabuf d = {.pasid = 9, .put = detach};
	struct stat st;

	if (fstat(fd, &st))
		return -EBADF;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	d.size = (uint64_t)st.st_size;
	w.attached++;
	*out = &d;
	return 0;
}

static int pin(struct task *t, uint64_t pages)
{
	if (w.pin_limit && w.pinned + pages > w.pin_limit)
		return -ENOMEM;
	w.pinned += pages;
	return 0;
}

static void unpin(struct task *t, uint64_t pages)
{
	w.pinned -= pages;
}

static const struct task_ops task_ops = {
	.copy_from_user = copy_from,
	.copy_to_user = copy_to,
	.access_check = check_pages,
	.pin_check = check_pages,
	.pin = pin,
	.unpin = unpin,
	.resident = resident,
	.capable = capable,
	.may_run_on = may_run_on,
	.fd_inode = fd_inode,
	.fd_file = fd_file,
	.fd_get = fd_get,
	.dmabuf_get = dmabuf_get,
};

unsigned int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static bool bar_mapped(void *arg, unsigned int device, unsigned int bar, uint64_t offset, uint64_t length)
{
	return w.mapped;
}

int world_init(void)
{
	const struct kernel_config base = {.num_devices = NUM_HCAS,
					   .drv = device_family(DEVICE_FAMILY_DEFAULT),
					   .release = LINUX_LATEST,
					   .now = bench_now,
					   .find_task = find_task,
					   .page_fault = 1500000000,
					   .page_fault_per_page = 100000000};
	struct kernel_config cfg = base;
	char err[256] = "";

	w.arena = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy(w.root, "/tmp/hcasim-kernel-XXXXXX");
	if (w.arena == MAP_FAILED || !mkdtemp(w.root) || bench_start(NUM_HCAS))
		return 1;
	for (unsigned int i = 0; i < NUM_HCAS; i++) {
		cfg.hca[i] = bench_core(i);
		cfg.cfg[i] = bench_config(i);
	}
	cfg.sysfs_root = w.root;
	cfg.bar_mapped = bar_mapped;
	w.k = kernel_create(&cfg, err, sizeof(err));
	if (!w.k)
		fprintf(stderr, "kernel_create: %s\n", err);
	bench_set_kernel(w.k);
	w.task = (struct task){.pasid = 7, .pid = getpid(), .ops = &task_ops};
	return !w.k;
}

int world_exit(void)
{
	kernel_destroy(w.k);
	bench_stop();
	munmap(w.arena, ARENA_SIZE);
	/* The folder is empty only if the simulated kernel removed everything that it created. */
	return rmdir(w.root);
}

void run_machine(void)
{
	bench_settle();
}

/* Does what sim/process does with a reply: stores the descriptor numbers where the call wants them. */
void take_reply(void)
{
	for (unsigned int i = 0; i < w.reply.nfds; i++) {
		const int64_t fd = w.reply.install[i].fd;

		memcpy((void *)(uintptr_t)w.reply.install[i].uaddr, &fd, w.reply.install[i].size);
		if (num_given == MAX_FDS)
			abort();
		given[num_given++] = fd;
	}
}

void file_open(void)
{
	w.used = 0;
	w.async_fd = w.comp_fd = -1;
	if (kernel_open(w.k, &w.task, "uverbs0", 0, &w.f))
		abort();
}

void file_close(void)
{
	kernel_release(w.f);
	while (num_given)
		close(given[--num_given]);
}
