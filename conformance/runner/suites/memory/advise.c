/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibv_advise_mr(3): pages of an on-demand region are fetched before they are used, and what the call refuses. */
#include <errno.h>
#include <string.h>

#include "suites/kit.h"

#define PAGES 6
#define PAGE  4096
#define SIZE  (PAGES * PAGE)

/* Regions of the requester's end over the same buffer. */
struct advise {
	struct kit *k;
	struct ibv_pd *pd, *other;
	uint8_t *buf;
	struct ibv_mr *both, *reads, *pinned,
		*others; /* read and write, read alone, not on demand, of another PD */
};

static struct ibv_mr *region(struct advise *a, struct ibv_pd *pd, int access)
{
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, a->buf, SIZE, access) : NULL;

	if (!mr)
		KIT_FAULT(a->k, "ibv_reg_mr with access 0x%x failed with %s", access, errno_name(errno));
	return mr;
}

static bool set_up(struct advise *a)
{
	const struct end *end = &a->k->r->dut.requester;
	const int demand = IBV_ACCESS_ON_DEMAND, write = IBV_ACCESS_LOCAL_WRITE;

	a->pd = end->pd;
	a->other = ibv_alloc_pd(end->ctx);
	a->buf = end_alloc(end->pd, SIZE);
	if (!a->buf) {
		KIT_FAULT(a->k, "there is no memory");
		return false;
	}
	memset(a->buf, 0x5a, SIZE);
	a->both = region(a, a->pd, demand | write);
	a->reads = region(a, a->pd, demand);
	a->pinned = region(a, a->pd, write);
	a->others = region(a, a->other, demand | write);
	return KIT_GOOD(a->k);
}

static void tear_down(struct advise *a)
{
	struct ibv_mr *mr[] = {a->both, a->reads, a->pinned, a->others};

	for (unsigned int i = 0; i < sizeof(mr) / sizeof(mr[0]); i++)
		if (mr[i] && ibv_dereg_mr(mr[i]))
			KIT_FAULT(a->k, "ibv_dereg_mr of region %u failed", i);
	if (a->other)
		ibv_dealloc_pd(a->other);
	end_free(a->buf);
}

static int advise(struct advise *a, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sge,
		  unsigned int num)
{
	int ret = ibv_advise_mr(a->pd, advice, flags, sge, num);

	log_call(&a->k->res->log, "/* ibv_advise_mr(pd, %d, %u, sge, %u): the last of %u bytes */", advice,
		 flags, num, sge[num - 1].length);
	a->k->res->err = ret;
	return ret;
}

/* Ranges in both orders, at both ends of the region, synchronous or not. */
static void accepted(struct advise *a)
{
	const uint64_t at = (uintptr_t)a->buf;
	const uint32_t both = a->both->lkey, reads = a->reads->lkey;
	struct ibv_sge sge[] = {{at, SIZE, both},
				{at + PAGE - 1, 2, reads},
				{at + SIZE - 1, 1, both},
				{at, 1, reads},
				{at + 3 * PAGE + 7, PAGE, both}};

	for (int advice = 0; advice <= IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT; advice++)
		for (uint32_t flags = 0; flags <= IBV_ADVISE_MR_FLAG_FLUSH; flags++)
			for (unsigned int num = 1; num <= 5; num++) {
				bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
				int ret = advise(a, advice, flags, sge, write ? 1 : num);

				KIT_CHECK(a->k, !ret, "advice %d of %u SGEs, flags %u: %s", advice,
					  write ? 1 : num, flags, errno_name(ret));
			}
	for (unsigned int i = 0; i < SIZE; i++)
		KIT_CHECK(a->k, a->buf[i] == 0x5a, "byte %u was changed", i);
}

/* The SGE alone, and behind a good one, with and without FLUSH. */
static void refused(struct advise *a, const char *what, enum ibv_advise_mr_advice advice, struct ibv_sge bad,
		    int err, int or_err)
{
	struct ibv_sge sge[2] = {{(uintptr_t)a->buf, PAGE, a->both->lkey}, bad};

	for (uint32_t flags = 0; flags <= IBV_ADVISE_MR_FLAG_FLUSH && KIT_GOOD(a->k); flags++)
		for (unsigned int first = 0; first < 2; first++) {
			int ret = advise(a, advice, flags, sge + first, 2 - first);

			KIT_CHECK(a->k, ret && (ret == err || ret == or_err), "%s: %s, expected %s", what,
				  ret ? errno_name(ret) : "0", errno_name(err));
		}
}

static void refusals(struct advise *a)
{
	const uint64_t at = (uintptr_t)a->buf;
	const enum ibv_advise_mr_advice read = IBV_ADVISE_MR_ADVICE_PREFETCH,
					write = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	struct ibv_sge good = {at, PAGE, a->both->lkey};
	int ret;

	refused(a, "PREFETCH_WRITE of a region without the right", write,
		(struct ibv_sge){at, PAGE, a->reads->lkey}, EPERM, EPERM);
	refused(a, "a region of another PD", read, (struct ibv_sge){at, PAGE, a->others->lkey}, EPERM, EPERM);
	refused(a, "a region that is not on demand", read, (struct ibv_sge){at, PAGE, a->pinned->lkey},
		ENOENT, ENOENT);
	refused(a, "a key of no region", read, (struct ibv_sge){at, PAGE, a->both->lkey ^ 0x5500}, EFAULT,
		ENOENT);
	refused(a, "a byte before the region", read, (struct ibv_sge){at - 1, 2, a->both->lkey}, EFAULT,
		EFAULT);
	refused(a, "a byte behind the region", read, (struct ibv_sge){at + SIZE - 1, 2, a->both->lkey},
		EFAULT, EFAULT);
	if (!KIT_GOOD(a->k))
		return;
	ret = advise(a, read, 1u << 31, &good, 1);
	KIT_CHECK(a->k, ret == EINVAL, "an unknown flag: %s", errno_name(ret));
	ret = advise(a, 99, 0, &good, 1);
	KIT_CHECK(a->k, ret == ENOTSUP || ret == EOPNOTSUPP || ret == EINVAL, "an unknown advice: %s",
		  errno_name(ret));
}

static void advise_mr(struct kit *k)
{
	struct advise a = {.k = k};

	if (set_up(&a)) {
		accepted(&a);
		if (KIT_GOOD(k))
			refusals(&a);
		if (KIT_GOOD(k)) /* and none of it has an effect on what works */
			accepted(&a);
	}
	tear_down(&a);
}

const struct scenario advise_scenarios[] = {
	{"advise_mr", advise_mr},
	{NULL, NULL},
};
