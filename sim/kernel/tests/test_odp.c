// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* On-demand paging: registration, ibv_advise_mr() and its errors, unmapped memory, counters, capabilities. */
#include "devices/family.h"
#include "bench.h"
#include "harness.h"

#define ODP  (HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_ON_DEMAND)
#define PAGE 4096ull

static void ready(void)
{
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
	hca_mr_unmap(bench_core(0), w.task.pasid, 0, UINT64_MAX);
}

static int reg(uint64_t start, uint64_t length, uint64_t iova, uint32_t access)
{
	struct ib_uverbs_reg_mr cmd = {
		.start = start, .length = length, .hca_va = iova, .pd_handle = w.pd, .access_flags = access};
	struct ib_uverbs_reg_mr_resp resp = {0};
	int ret = do_write(IB_USER_VERBS_CMD_REG_MR, &cmd, sizeof(cmd), NULL, 0, &resp, 12, NULL, 0);

	w.mr = resp.mr_handle;
	w.lkey = resp.lkey;
	return ret;
}

static void registration(void)
{
	const uint64_t a = U(w.arena), all = UINT64_MAX;

	ready();
	w.reply.watch = false;
	CHECK_ERR(reg(a, PAGE, a, HCASIM_ACCESS_LOCAL_WRITE), 0);
	CHECK(!w.reply.watch);
	/* No page needs to be mapped. */
	CHECK_ERR(reg(HOSTILE, PAGE, HOSTILE, ODP), 0);
	CHECK(w.reply.watch);
	CHECK_ERR(reg(0, all, 0, ODP), 0);
	CHECK_ERR(reg(0, all, PAGE, ODP), -EINVAL);
	CHECK_ERR(reg(0, all, 0, ODP | HCASIM_ACCESS_HUGETLB), -EINVAL);
	CHECK_ERR(reg(0, all, 0, HCASIM_ACCESS_LOCAL_WRITE), -EINVAL);
	CHECK_ERR(reg(a, 0, a, ODP), -EOVERFLOW);
	CHECK_ERR(reg(a, all, a, ODP), -EOVERFLOW);
	CHECK_ERR(reg(-PAGE, PAGE, -PAGE, ODP), -EOVERFLOW);
	CHECK_ERR(reg(a, PAGE, a + 1, ODP), -EINVAL);
	CHECK_ERR(reg(a, PAGE, a, HCASIM_ACCESS_ON_DEMAND | HCASIM_ACCESS_REMOTE_WRITE), -EINVAL);
	CHECK_ERR(reg(a, PAGE, a, ODP | HCASIM_ACCESS_HUGETLB), 0);
	file_close();
}

static int advise_flags(uint64_t advice, uint32_t flags, uint64_t addr, uint32_t len, uint32_t lkey)
{
	const struct ib_uverbs_sge sge = {.addr = addr, .length = len, .lkey = lkey};
	struct ioc *i = ioc_new(UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR);

	ioc_obj(i, UVERBS_ATTR_ADVISE_MR_PD_HANDLE, w.pd);
	ioc_const(i, UVERBS_ATTR_ADVISE_MR_ADVICE, advice);
	ioc_in(i, UVERBS_ATTR_ADVISE_MR_FLAGS, &flags, sizeof(flags));
	ioc_in(i, UVERBS_ATTR_ADVISE_MR_SGE_LIST, &sge, sizeof(sge));
	return ioc_run(i);
}

static int advise(uint64_t advice, uint64_t addr, uint32_t len)
{
	return advise_flags(advice, IB_UVERBS_ADVISE_MR_FLAG_FLUSH, addr, len, w.lkey);
}

static struct hca_counters since;

static uint64_t prefetched(void)
{
	struct hca_counters now;
	uint64_t n;

	hca_counters(bench_core(0), &now);
	n = now.num_prefetch - since.num_prefetch;
	since = now;
	return n;
}

static void bad_advice(void)
{
	const uint64_t a = U(w.arena), len = 4 * PAGE;
	const uint32_t write = IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, flush = 1;
	uint32_t lkey;

	ready();
	CHECK_ERR(reg(a, len, a, ODP), 0);
	lkey = w.lkey;
	CHECK_ERR(advise(3, a, 1), -EOPNOTSUPP);
	CHECK_ERR(advise(1ull << 40, a, 1), -EINVAL);
	CHECK_ERR(advise_flags(0, 2, a, 1, lkey), -EINVAL);
	CHECK_ERR(advise_flags(0, flush, a, 1, lkey ^ 1), -ENOENT);
	CHECK_ERR(advise_flags(0, flush, a, 1, 0), -ENOENT);
	CHECK_ERR(advise(0, a - 1, 1), -EFAULT);
	CHECK_ERR(advise(0, a, (uint32_t)len + 1), -EFAULT);
	CHECK_ERR(advise(0, a + len + 1, 0), -EFAULT);
	CHECK_ERR(advise(0, UINT64_MAX, 2), -EFAULT);
	CHECK_ERR(advise(0, a + len, 0), 0);
	/* The region is pinned, belongs to another PD, is not writable, is a window. */
	CHECK_ERR(reg(a, len, a, HCASIM_ACCESS_LOCAL_WRITE), 0);
	CHECK_ERR(advise(0, a, 1), -ENOENT);
	CHECK_ERR(reg(a, len, a, HCASIM_ACCESS_ON_DEMAND), 0);
	CHECK_ERR(advise(0, a, 1), 0);
	CHECK_ERR(advise(write, a, 1), -EPERM);
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(advise_flags(0, flush, a, 1, lkey), -EPERM);
	CHECK_ERR(make_mw(1), 0);
	CHECK_ERR(advise_flags(0, flush, a, 1, w.mw_rkey), -EINVAL);
	/* Without the flag, all but the mappings is checked before the call returns. */
	CHECK_ERR(advise_flags(0, 0, a, 1, lkey), -EPERM);
	CHECK_ERR(reg(HOSTILE, PAGE, HOSTILE, ODP), 0);
	CHECK_ERR(advise(write, HOSTILE, 1), -EFAULT);
	CHECK_ERR(advise_flags(write, 0, HOSTILE, 1, w.lkey), 0);
	run_machine();
	bench_pass(10);
	file_close();
}

static void prefetches(void)
{
	const uint64_t a = U(w.arena), len = 8 * PAGE;
	struct hca *hca = bench_core(0);
	struct hca_page_range r;

	ready();
	CHECK_ERR(reg(a, len, a, ODP), 0);
	prefetched();
	CHECK_ERR(advise(IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, a + 1, PAGE), 0);
	CHECK_ERR(prefetched(), 2);
	/* The pages are mapped for reading; for writing they are fetched again. */
	CHECK_ERR(advise(IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, a, PAGE), 0);
	CHECK_ERR(prefetched(), 1);
	CHECK_ERR(advise(IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, a, PAGE), 0);
	CHECK_ERR(prefetched(), 0);
	CHECK_ERR(hca_mr_pages(hca, w.lkey, a, PAGE, true, &r), 0);
	/* Only unmapping in the region's address space has an effect. */
	kernel_unmapped(w.k, &(struct task){.pasid = w.task.pasid + 1}, a, len);
	CHECK_ERR(hca_mr_unmap(hca, w.task.pasid, a, PAGE), 1);
	kernel_unmapped(w.k, &w.task, a, len);
	CHECK_ERR(hca_mr_unmap(hca, w.task.pasid, a, len), 0);
	/* Fetches the half of the pages that is in memory. */
	CHECK_ERR(advise(IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, a, (uint32_t)len), 0);
	CHECK_ERR(prefetched(), 4);
	/* The prefetch takes effect when the time of a page fault has passed. */
	kernel_unmapped(w.k, &w.task, a, len);
	CHECK_ERR(advise_flags(IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 0, a, (uint32_t)len, w.lkey), 0);
	bench_pass(2); /* 1.5 ms, and 0.1 ms for each of eight pages */
	CHECK_ERR(prefetched(), 0);
	bench_pass(1);
	CHECK_ERR(prefetched(), 8);
	/* The region, and then the file, is released before the prefetch takes effect. */
	kernel_unmapped(w.k, &w.task, a, len);
	CHECK_ERR(advise_flags(IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 0, a, (uint32_t)len, w.lkey), 0);
	file_close();
	bench_pass(3);
	CHECK_ERR(prefetched(), 0);
}

/* The machine ends while pages are being fetched: the pending work is freed, too. */
static void left_behind(void)
{
	ready();
	CHECK_ERR(reg(U(w.arena), PAGE, U(w.arena), ODP), 0);
	CHECK_ERR(advise_flags(IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 0, U(w.arena), 1, w.lkey), 0);
	file_close();
}

static void capabilities(void)
{
	struct ib_uverbs_ex_query_device_resp r = {0};

	device_family(DEVICE_FAMILY_DEFAULT)->query_device(&w.k->dev[0].drv, &r);
	CHECK_ERR(r.odp_caps.general_caps, HCASIM_ODP_SUPPORT | HCASIM_ODP_SUPPORT_IMPLICIT);
	CHECK_ERR(r.odp_caps.per_transport_caps.rc_odp_caps, 0xff);
	CHECK_ERR(r.odp_caps.per_transport_caps.uc_odp_caps,
		  HCASIM_ODP_OP_SEND | HCASIM_ODP_OP_RECV | HCASIM_ODP_OP_WRITE | HCASIM_ODP_OP_SRQ_RECV);
	CHECK_ERR(r.odp_caps.per_transport_caps.ud_odp_caps,
		  HCASIM_ODP_OP_SEND | HCASIM_ODP_OP_RECV | HCASIM_ODP_OP_SRQ_RECV);
	CHECK_ERR(r.xrc_odp_caps, 0xff & ~HCASIM_ODP_OP_RECV);
}

void add_odp_suite(void)
{
	CU_pSuite s = CU_add_suite("on-demand paging", world_init, world_exit);

	CU_add_test(s, "registration", registration);
	CU_add_test(s, "bad advice", bad_advice);
	CU_add_test(s, "prefetches", prefetches);
	CU_add_test(s, "capabilities", capabilities);
	CU_add_test(s, "left behind", left_behind);
}
