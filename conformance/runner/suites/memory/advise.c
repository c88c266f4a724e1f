/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibv_advise_mr(): which ranges may be prefetched, and with which errno others are refused. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "suites/kit.h"

#define PAGE  4096u
#define PAGES 8

#define READ  IBV_ADVISE_MR_ADVICE_PREFETCH
#define WRITE IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE

struct advise {
	struct kit *k;
	struct ibv_pd *other;
	struct ibv_mw *mw;
	uint8_t *buf, *gap; /* gap: its last pages are not mapped */
	struct ibv_mr *mr, *read_only, *plain, *foreign, *torn;
};

/* One range. `may`: further errnos that the page allows for it */
struct advice {
	const char *what;
	enum ib_uverbs_advise_mr_advice advice;
	struct ibv_sge sge;
	int err, may;
};

static bool set_up(struct advise *t)
{
	const struct end *end = &t->k->r->dut.requester;
	const int paged = IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE;
	const size_t size = PAGES * (size_t)PAGE;

	t->buf = made_pages(size, MAP_PRIVATE);
	t->gap = made_pages(size, MAP_PRIVATE);
	t->other = ibv_alloc_pd(end->ctx);
	t->mw = ibv_alloc_mw(end->pd, IBV_MW_TYPE_2);
	if (t->buf && t->gap && t->other && t->mw) {
		t->mr = ibv_reg_mr(end->pd, t->buf + 100, size - 200, paged);
		t->read_only = ibv_reg_mr(end->pd, t->buf, size, IBV_ACCESS_ON_DEMAND);
		t->plain = ibv_reg_mr(end->pd, t->buf, size, IBV_ACCESS_LOCAL_WRITE);
		t->foreign = ibv_reg_mr(t->other, t->buf, size, paged);
		t->torn = ibv_reg_mr(end->pd, t->gap, size, paged);
	}
	if (!KIT_MUST(t->k, t->mr && t->read_only && t->plain && t->foreign && t->torn, "the regions: %s",
		      errno_name(errno)))
		return false;
	return !munmap(t->gap + size / 2, size / 2);
}

/* Alone, and as the second of two ranges. */
static bool ask(struct advise *t, const struct advice *a, uint32_t flags)
{
	struct ibv_sge sge[2] = {{(uintptr_t)t->buf + 100, PAGE, t->mr->lkey}, a->sge};
	struct ibv_pd *pd = t->k->r->dut.requester.pd;

	for (unsigned int num = 1; num <= 2; num++) {
		int ret;

		errno = 0; /* a call that fails sets it */
		ret = ibv_advise_mr(pd, a->advice, flags, num == 1 ? &sge[1] : sge, num);
		log_call(&t->k->res->log, "/* ibv_advise_mr() of %u ranges: %s */", num, a->what);
		if (!kit_holds(t->k, ret == a->err || (ret > 0 && ret == a->may))) {
			KIT_FAULT(t->k, "%s: returned %d, expected %s", a->what, ret, errno_name(a->err));
			return false;
		}
	}
	return true;
}

static void advise(struct kit *k)
{
	struct advise t = {.k = k};

	if (set_up(&t)) {
		const uint64_t at = (uintptr_t)t.buf + 100, gap = (uintptr_t)t.gap;
		const uint32_t len = PAGES * PAGE - 200, half = PAGES * PAGE / 2;
		const struct advice all[] = {
			{"a whole region", READ, {at, len, t.mr->lkey}, 0, 0},
			{"a whole region, for writing", WRITE, {at, len, t.mr->lkey}, 0, 0},
			{"the first byte", READ, {at, 1, t.mr->lkey}, 0, 0},
			{"the last byte", WRITE, {at + len - 1, 1, t.mr->lkey}, 0, 0},
			{"a region that may only be read", READ, {at, len, t.read_only->lkey}, 0, 0},
			{"what is mapped of a region", WRITE, {gap, half, t.torn->lkey}, 0, 0},
			{"one byte before", READ, {at - 1, 8, t.mr->lkey}, EFAULT, 0},
			{"one byte behind", READ, {at + 1, len, t.mr->lkey}, EFAULT, 0},
			{"a range that wraps", READ, {-8ull, 16, t.mr->lkey}, EFAULT, 0},
			{"what is not mapped", READ, {gap + half, PAGE, t.torn->lkey}, EFAULT, 0},
			{"partly not mapped", WRITE, {gap, half + 1, t.torn->lkey}, EFAULT, 0},
			{"an lkey that does not exist", READ, {at, 1, t.mr->lkey ^ 0x55}, ENOENT, EFAULT},
			{"a region that is not paged", READ, {at, 1, t.plain->lkey}, ENOENT, EFAULT},
			{"a window", READ, {at, 1, t.mw->rkey}, EINVAL, ENOENT},
			{"another PD", READ, {at, 1, t.foreign->lkey}, EPERM, 0},
			{"without the right to write", WRITE, {at, 1, t.read_only->lkey}, EPERM, 0},
			{"an unknown advice", 77, {at, 1, t.mr->lkey}, EOPNOTSUPP, EINVAL},
		};
		const struct advice flags = {"unknown flags", READ, {at, 1, t.mr->lkey}, EINVAL, 0};
		bool good = ask(&t, &flags, 1u << 31 | IBV_ADVISE_MR_FLAG_FLUSH);

		for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && good; i++)
			good = ask(&t, &all[i], IBV_ADVISE_MR_FLAG_FLUSH);
	}
}

SCENARIO(advise) = {
	{"advise", SUITE("paging"), QPS("RC"), CLAUSE("ibv_advise_mr/DESCRIPTION/advise"),
	 ALSO("ibv_advise_mr/RETURN-VALUE/EFAULT ibv_advise_mr/RETURN-VALUE/EINVAL "
	      "ibv_advise_mr/RETURN-VALUE/EPERM ibv_advise_mr/RETURN-VALUE/ENOENT"),
	 ERRATA("ADVISE-ERRNO"), NEEDS("on_demand/{qp}/SEND"),
	 SAYS("ranges of on-demand regions are prefetched, up to their first and last byte; any other, "
	      "with any other region, key, right, advice or flag, is refused with the errno of the "
	      "page, also as the second of a list")},
	{},
};
