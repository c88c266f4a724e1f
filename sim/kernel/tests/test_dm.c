// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Device memory: what may be allocated, mapped and registered, and when it is used again. */
#include <sys/mman.h>

#include "bench.h"
#include "harness.h"

#define ZERO_BASED IB_UVERBS_ACCESS_ZERO_BASED
#define PAGE       HCASIM_DM_PAGE_SIZE

static void start(void)
{
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
}

static int destroy_obj(uint16_t object, uint16_t method, uint32_t handle)
{
	struct ioc *i = ioc_new(object, method);

	ioc_obj(i, 0, handle);
	return ioc_run(i);
}

static int free_dm(uint32_t handle)
{
	return destroy_obj(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, handle);
}

static int reg(uint64_t offset, uint64_t length, uint32_t access)
{
	struct ioc *i = dm_mr_ioc(offset, length, access);
	const int ret = ioc_run(i);

	w.mr = i->attrs[0].data;
	return ret;
}

static int map(uint64_t offset, uint64_t length, struct drv_mmap *d)
{
	return kernel_mmap(w.f, &w.task, length, PROT_READ | PROT_WRITE, offset, d);
}

static void lengths(void)
{
	start();
	CHECK_ERR(make_dm(0, 0), -EINVAL);
	CHECK_ERR(make_dm(HCASIM_BAR_DM_SIZE + 1, 0), -ENOMEM);
	CHECK_ERR(make_dm(UINT64_MAX, 0), -ENOMEM);
	CHECK_ERR(make_dm(100, 32), -ENOMEM);
	CHECK_ERR(make_dm(100, UINT32_MAX), -ENOMEM);
	CHECK_ERR(make_dm(1, 0), 0);
	CHECK(w.dm_resp.mmap_size == PAGE && w.dm_resp.length == 1);
	CHECK_ERR(make_dm(HCASIM_BAR_DM_SIZE, 0), -ENOMEM);
	CHECK_ERR(free_dm(w.dm), -ENOENT); /* nothing was allocated */
	CHECK_ERR(make_dm(HCASIM_BAR_DM_SIZE - PAGE, 0), 0);
	CHECK_ERR(make_dm(1, 0), -ENOMEM);
	file_close();
	start(); /* closing the file freed its memory */
	CHECK_ERR(make_dm(HCASIM_BAR_DM_SIZE, 0), 0);
	file_close();
}

static void alignment(void)
{
	struct drv_mmap d;

	start();
	CHECK_ERR(make_dm(1, 0), 0);
	CHECK_ERR(make_dm(1, 14), 0);
	CHECK_ERR(map(w.dm_resp.mmap_offset, PAGE, &d), 0);
	CHECK_ERR(d.bar_offset % (1 << 14), 0);
	CHECK(d.bar == HCASIM_BAR_DM && d.kind == DRV_MMAP_BAR && d.write_combining);
	file_close();
}

static void mappings(void)
{
	struct drv_mmap d;
	uint64_t at;

	start();
	CHECK_ERR(make_dm(2 * PAGE, 0), 0);
	at = w.dm_resp.mmap_offset;
	CHECK_ERR(map(at, 2 * PAGE, &d), 0);
	CHECK_ERR(map(at + PAGE, PAGE, &d), 0);
	CHECK_ERR(map(at, 3 * PAGE, &d), -EINVAL);
	CHECK_ERR(map(at, 0, &d), -EINVAL);
	CHECK_ERR(map(at + 1, PAGE, &d), -EINVAL);
	CHECK_ERR(map(at + HCASIM_BAR_DM_SIZE, PAGE, &d), -EINVAL);
	CHECK_ERR(map(at, UINT64_MAX & ~(uint64_t)(PAGE - 1), &d), -EINVAL);
	CHECK_ERR(free_dm(w.dm), 0);
	CHECK_ERR(map(at, PAGE, &d), -EINVAL);
	file_close();
}

/* Another context's memory cannot be mapped, and memory that a process still maps is not allocated again. */
static void owners(void)
{
	struct kfile *other;
	struct drv_mmap d;

	start();
	CHECK_ERR(make_dm(PAGE, 0), 0);
	other = w.f;
	CHECK_ERR(kernel_open(w.k, &w.task, "uverbs0", 2, &w.f), 0);
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(map(w.dm_resp.mmap_offset, PAGE, &d), -EINVAL);
	kernel_release(w.f);
	w.f = other;
	CHECK_ERR(free_dm(w.dm), 0);
	w.mapped = true;
	CHECK_ERR(make_dm(PAGE, 0), -ENOMEM);
	w.mapped = false;
	CHECK_ERR(make_dm(PAGE, 0), 0);
	file_close();
}

static void cleared(void)
{
	struct hca *hca = bench_core(0);
	const uint64_t secret = 0x5ec2e7;
	struct drv_mmap d;
	uint64_t seen = 1;

	start();
	CHECK_ERR(make_dm(PAGE, 0), 0);
	CHECK_ERR(map(w.dm_resp.mmap_offset, PAGE, &d), 0);
	hca_mmio_write(hca, d.bar, d.bar_offset, &secret, sizeof(secret));
	CHECK_ERR(free_dm(w.dm), 0);
	CHECK_ERR(make_dm(PAGE, 0), 0);
	hca_mmio_read(hca, d.bar, d.bar_offset, &seen, sizeof(seen));
	CHECK(seen == 0);
	file_close();
}

static void regions(void)
{
	start();
	CHECK_ERR(make_dm(5000, 0), 0);
	CHECK_ERR(reg(0, 5001, ZERO_BASED), -EINVAL);
	CHECK_ERR(reg(5001, 0, ZERO_BASED), -EINVAL);
	CHECK_ERR(reg(1, UINT64_MAX, ZERO_BASED), -EINVAL);
	CHECK_ERR(reg(0, 5000, 0), -EINVAL);
	CHECK_ERR(reg(0, 5000, ZERO_BASED | 1u << 30), -EINVAL);
	CHECK_ERR(reg(0, 5000, ZERO_BASED | IB_UVERBS_ACCESS_ON_DEMAND), -EINVAL);
	CHECK_ERR(reg(0, 5000, ZERO_BASED | IB_UVERBS_ACCESS_REMOTE_WRITE), -EINVAL);
	CHECK_ERR(reg(0, 5000, ZERO_BASED | IB_UVERBS_ACCESS_FLUSH_PERSISTENT), -EOPNOTSUPP);
	CHECK_ERR(reg(5000, 0, ZERO_BASED), 0);
	CHECK_ERR(destroy(IB_USER_VERBS_CMD_DEREG_MR, w.mr), 0);
	CHECK_ERR(reg(8, 4992, ZERO_BASED | IB_UVERBS_ACCESS_LOCAL_WRITE), 0);
	CHECK_ERR(free_dm(w.dm), -EBUSY);
	CHECK_ERR(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, w.pd), -EBUSY);
	CHECK_ERR(destroy(IB_USER_VERBS_CMD_DEREG_MR, w.mr), 0);
	CHECK_ERR(free_dm(w.dm), 0);
	file_close();
}

/* Linux: ib_uverbs_rereg_mr() refuses a region of device memory. */
static void not_reregistered(void)
{
	struct ib_uverbs_rereg_mr cmd = {.flags = 4, .access_flags = 0};
	struct ib_uverbs_rereg_mr_resp resp;

	start();
	CHECK_ERR(make_dm(100, 0), 0);
	CHECK_ERR(reg(0, 100, ZERO_BASED), 0);
	cmd.mr_handle = w.mr;
	CHECK_ERR(do_write(IB_USER_VERBS_CMD_REREG_MR, &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp), NULL,
			   0),
		  -EINVAL);
	file_close();
}

void add_dm_suite(void)
{
	CU_pSuite s = CU_add_suite("device memory", world_init, world_exit);

	CU_add_test(s, "lengths", lengths);
	CU_add_test(s, "alignment", alignment);
	CU_add_test(s, "mappings", mappings);
	CU_add_test(s, "owners", owners);
	CU_add_test(s, "cleared", cleared);
	CU_add_test(s, "regions", regions);
	CU_add_test(s, "not re-registered", not_reregistered);
}
