/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ibv_rereg_mr(): another range, other rights, another protection domain, each alone and together. The region is of the
 * requester's end, and the other end accesses it.
 */
#include <errno.h>
#include <string.h>

#include "suites/kit.h"

#define SIZE 16384
#define OLD  64   /* offset of the first range */
#define NEW  8256 /* of the second */
#define LEN  4000
#define PART 32

static const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

struct rereg {
	struct kit *k;
	struct ibv_pd *other;
	struct ibv_mr *mr;
	uint8_t *buf, want[SIZE];
	uint8_t bytes; /* of the next WRITE */
};

static bool set_up(struct rereg *t)
{
	const struct end *end = &t->k->r->dut.requester;

	t->other = ibv_alloc_pd(end->ctx);
	t->buf = end_alloc(end->pd, SIZE);
	if (t->buf && t->other) {
		memset(t->buf, 0x77, SIZE);
		memset(t->want, 0x77, SIZE);
		t->mr = ibv_reg_mr(end->pd, t->buf + OLD, LEN, rights);
	}
	return KIT_MUST(t->k, t->mr, "ibv_reg_mr: %s", errno_name(errno));
}

/* A link whose QP of the requester's end is in this protection domain. */
static bool connect(struct rereg *t, struct ibv_pd *pd)
{
	const struct link_opts opts = {.pd = pd};

	return kit_link(t->k, API_POST, &opts);
}

/* The peer writes new bytes to an offset, which must succeed or be refused; then the link is used up. */
static bool write_to(struct rereg *t, uint32_t at, enum ibv_wc_status status)
{
	struct link *l = t->k->l;
	struct ibv_sge sge = {(uintptr_t)l->recv.base, PART, l->recv.mr->lkey};
	struct ibv_send_wr wr = kit_wr(0x4e4e9, IBV_WR_RDMA_WRITE, &sge);

	memset(l->recv.base, ++t->bytes, PART);
	end_written(l->recv.base, PART);
	end_push();
	wr.wr.rdma.remote_addr = (uintptr_t)t->buf + at;
	wr.wr.rdma.rkey = t->mr->rkey;
	if (kit_posts(t->k, l->peer, l->qp, &wr) &&
	    kit_expect(t->k, l, l->peer_cq, l->peer, 0x4e4e9, status)) {
		if (status == IBV_WC_SUCCESS)
			memset(t->want + at, t->bytes, PART);
		judge_bytes(&t->k->res->verdict, "memory around the region", t->want, t->buf, SIZE);
	}
	return KIT_GOOD(t->k);
}

static bool change(struct rereg *t, int flags, struct ibv_pd *pd, uint32_t at, int access)
{
	int ret = ibv_rereg_mr(t->mr, flags, pd, t->buf + at, LEN, access);

	log_call(&t->k->res->log, "ibv_rereg_mr(mr, 0x%x, pd, addr + %u, %u, 0x%x)", flags, at, LEN, access);
	return KIT_MUST(t->k, !ret, "ibv_rereg_mr returned %d: %s", ret, errno_name(errno));
}

/* First and last bytes of the range that counts, then one byte beyond each side and the range that does not. */
static void judge_range(struct rereg *t, struct ibv_pd *pd, uint32_t in, uint32_t out)
{
	const uint32_t refused[] = {in - 1, in + LEN - PART + 1, out};

	if (!connect(t, pd) || !write_to(t, in, IBV_WC_SUCCESS) ||
	    !write_to(t, in + LEN - PART, IBV_WC_SUCCESS))
		return;
	for (unsigned int i = 0; i < 3; i++)
		if (!write_to(t, refused[i], t->k->cell->status) || !connect(t, pd))
			return;
}

/* The lkey is that of the new range, too. */
static void judge_lkey(struct rereg *t, uint32_t at, enum ibv_wc_status status)
{
	struct link *l = t->k->l;
	struct ibv_sge sge = {(uintptr_t)t->buf + at, PART, t->mr->lkey};
	struct ibv_send_wr wr = kit_wr(0x1e4e9, IBV_WR_RDMA_WRITE, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)l->target.base;
	wr.wr.rdma.rkey = l->target.mr->rkey;
	if (kit_post(t->k, l->qp, l->peer, &wr, NULL))
		KIT_FAULT(t->k, "posting was refused");
	else
		kit_expect(t->k, l, l->cq, l->qp, 0x1e4e9, status);
}

/* The region uses the protection domain that it has now. */
static bool is_used(struct rereg *t)
{
	int ret = ibv_dealloc_pd(t->other);

	log_call(&t->k->res->log, "ibv_dealloc_pd(pd)");
	if (kit_holds(t->k, ret > 0))
		return true;
	KIT_FAULT(t->k, "ibv_dealloc_pd of the region's new protection domain returned %d", ret);
	return false;
}

static void rereg(struct kit *k)
{
	struct ibv_pd *own = k->r->dut.requester.pd;
	int flags = kit_arg(k, "flags", 0);
	struct rereg t = {.k = k};
	struct ibv_pd *pd;

	if (set_up(&t)) {
		pd = flags & IBV_REREG_MR_CHANGE_PD ? t.other : own;
		if (change(&t, flags, pd, NEW, flags & IBV_REREG_MR_CHANGE_ACCESS ? rights : 0) &&
		    (pd == own || is_used(&t))) {
			if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
				judge_range(&t, pd, NEW, OLD);
			else
				judge_range(&t, pd, OLD, NEW);
			if (KIT_GOOD(k))
				judge_lkey(&t, flags & IBV_REREG_MR_CHANGE_TRANSLATION ? NEW : OLD,
					   IBV_WC_SUCCESS);
		}
		if (KIT_GOOD(k) && pd == t.other && connect(&t, own))
			write_to(&t, flags & IBV_REREG_MR_CHANGE_TRANSLATION ? NEW : OLD, k->cell->status);
	}
}

SCENARIO(rereg) = {
	{"translation", SUITE("rereg"), QPS("RC"), ARGS({"flags", 1}),
	 CLAUSE("ibv_rereg_mr/DESCRIPTION/CHANGE_TRANSLATION"), ERRATA("KEY-RIGHTS"),
	 STATUS("REM_ACCESS_ERR"),
	 SAYS("both keys of the region give access to the range and in the protection domain that it "
	      "has now, up to its first and last byte, and to no other")},
	{"pd", ARGS({"flags", 2}), CLAUSE("ibv_rereg_mr/DESCRIPTION/CHANGE_PD")},
	{"access", ARGS({"flags", 4}), CLAUSE("ibv_rereg_mr/DESCRIPTION/CHANGE_ACCESS")},
	{"all", ARGS({"flags", 7}), CLAUSE("ibv_rereg_mr/DESCRIPTION/CHANGE_TRANSLATION")},
	{},
};

/* A right that is taken away, and given again. */
static void rereg_rights(struct kit *k)
{
	struct ibv_pd *pd = k->r->dut.requester.pd;
	struct rereg t = {.k = k};

	if (set_up(&t) && change(&t, IBV_REREG_MR_CHANGE_ACCESS, pd, 0, rights & ~IBV_ACCESS_REMOTE_WRITE) &&
	    connect(&t, NULL) && write_to(&t, OLD, k->cell->status) &&
	    change(&t, IBV_REREG_MR_CHANGE_ACCESS, pd, 0, rights) && connect(&t, NULL))
		write_to(&t, OLD, IBV_WC_SUCCESS);
}

SCENARIO(rereg_rights) = {
	{"rights", SUITE("rereg"), QPS("RC"), CLAUSE("ibv_rereg_mr/DESCRIPTION/CHANGE_ACCESS"),
	 ERRATA("KEY-RIGHTS"), STATUS("REM_ACCESS_ERR"),
	 SAYS("a WRITE is refused when the region's right is taken away, and executed when it is given "
	      "again")},
	{},
};
