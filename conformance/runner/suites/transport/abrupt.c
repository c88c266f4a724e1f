/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A QP of the requester, connected to itself, is moved to RESET or ERR, or destroyed, while its adapter fetches and carries
 * out what was just posted.
 */
#include <errno.h>
#include <string.h>

#include "judge/watchdog.h"
#include "suites/objects/own.h"

#define MOST   40 /* requests of one life */
#define BYTES  96
#define ADDEND 0x0102030405ull
#define RIGHTS (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct life {
	struct kit *k;
	struct own o;
	struct ibv_mr *mr;
	bool mixed;   /* WRITEs, READs, atomics and empty SENDs in turn; otherwise WRITEs */
	uint8_t *mem; /* what is sent, and behind it what is written */
	unsigned int serial;
};

static uint8_t *target(const struct life *f, unsigned int i)
{
	return f->mem + (size_t)(MOST + i) * BYTES;
}

static uint8_t *local(const struct life *f, unsigned int i)
{
	return f->mem + (size_t)i * BYTES;
}

static enum ibv_wr_opcode operation(const struct life *f, unsigned int i)
{
	static const enum ibv_wr_opcode turns[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						   IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND};

	return turns[f->mixed ? i % 4 : 0];
}

/* The request, whose bytes on both sides are its own. */
static struct ibv_send_wr request(struct life *f, unsigned int i, struct ibv_sge *sge)
{
	const enum ibv_wr_opcode op = operation(f, i);
	const bool atomic = op == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_send_wr wr = kit_wr(f->serial + i, op, sge);

	*sge = (struct ibv_sge){(uintptr_t)local(f, i), atomic ? 8 : BYTES, f->mr->lkey};
	memset(op == IBV_WR_RDMA_WRITE ? local(f, i) : target(f, i), (int)(f->serial + i) % 255 + 1, BYTES);
	if (op == IBV_WR_SEND) {
		wr.num_sge = 0;
	} else if (atomic) {
		wr.wr.atomic.remote_addr = (uintptr_t)target(f, i);
		wr.wr.atomic.rkey = f->mr->rkey;
		wr.wr.atomic.compare_add = ADDEND;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)target(f, i);
		wr.wr.rdma.rkey = f->mr->rkey;
	}
	return wr;
}

/* Whether it has been executed, once. */
static bool executed(const struct life *f, unsigned int i)
{
	uint64_t left, found;

	if (operation(f, i) == IBV_WR_SEND)
		return true; /* its receive says so */
	if (operation(f, i) != IBV_WR_ATOMIC_FETCH_AND_ADD)
		return !memcmp(target(f, i), local(f, i), BYTES);
	memcpy(&left, target(f, i), sizeof(left));
	memcpy(&found, local(f, i), sizeof(found));
	return left == found + ADDEND && target(f, i)[BYTES - 1] == (f->serial + i) % 255 + 1;
}

/* Signaled requests and receives, as a list or one by one. All wr_ids of all lives are different. */
static bool post(struct life *f, unsigned int num, bool list)
{
	struct ibv_send_wr wr[MOST], *bad;
	struct ibv_recv_wr recv = {0}, *bad_recv;
	struct ibv_sge sge[MOST];
	int ret = 0;

	memset(f->mem, 0, (size_t)2 * MOST * BYTES);
	for (unsigned int i = 0; i < num; i++) {
		wr[i] = request(f, i, &sge[i]);
		wr[i].next = list && i + 1 < num ? &wr[i + 1] : NULL;
	}
	for (unsigned int i = 0; i < num && !ret; i++) {
		recv.wr_id = f->serial + i;
		ret = ibv_post_recv(f->o.qp, &recv, &bad_recv);
	}
	for (unsigned int i = 0; i < (list ? 1 : num) && !ret; i++)
		ret = ibv_post_send(f->o.qp, &wr[i], &bad);
	return KIT_MUST(f->k, !ret, "posting failed with %s", errno_name(ret));
}

static bool next(struct life *f, struct ibv_cq *cq, unsigned int i, struct ibv_wc *wc)
{
	if (own_wait(f->k, &f->o, cq, wc) && (wc->wr_id != f->serial + i || wc->qp_num != f->o.qp->qp_num))
		KIT_FAULT(f->k, "wr_id %llu, expected %u: not in the order of posting",
			  (unsigned long long)wc->wr_id, f->serial + i);
	return KIT_GOOD(f->k);
}

/* On UC a completion says nothing of the other side's memory. */
static bool reliable(const struct life *f)
{
	return f->k->cell->qpt != IBV_QPT_UC;
}

/* Requests were executed up to some point, and flushed behind it; so are receives. */
static void flushed(struct life *f, unsigned int num)
{
	bool flush = false, recv_flush = false;
	struct ibv_wc wc;

	for (unsigned int i = 0; i < num; i++) {
		if (!next(f, f->o.send_cq, i, &wc))
			return;
		KIT_CHECK(f->k, wc.status == IBV_WC_WR_FLUSH_ERR || (!flush && !wc.status),
			  "request %u of %u ended with %s", i, num, value_name(status_names, wc.status));
		flush = wc.status;
		KIT_CHECK(f->k, flush || !reliable(f) || executed(f, i),
			  "request %u completed with success, and was not executed", i);
	}
	for (unsigned int i = 0; i < num; i++) {
		if (!next(f, f->o.recv_cq, i, &wc))
			return;
		KIT_CHECK(f->k, wc.status == IBV_WC_WR_FLUSH_ERR || (f->mixed && !recv_flush && !wc.status),
			  "receive %u of %u ended with %s", i, num, value_name(status_names, wc.status));
		recv_flush = wc.status;
	}
}

static void silent(struct life *f, const char *when)
{
	struct ibv_wc wc;
	int num = ibv_poll_cq(f->o.send_cq, 1, &wc);

	if (!num)
		num = ibv_poll_cq(f->o.recv_cq, 1, &wc);
	if (num < 0)
		KIT_FAULT(f->k, "ibv_poll_cq failed with %d", num);
	else if (num)
		KIT_FAULT(f->k, "a completion of QP %u with wr_id %llu %s; the QP is %u now", wc.qp_num,
			  (unsigned long long)wc.wr_id, when, f->o.qp->qp_num);
}

static bool bring_up(struct life *f)
{
	struct ibv_qp_attr attr = {.qp_access_flags = RIGHTS};
	int ret;

	f->serial += MOST;
	if (!own_reach(f->k, &f->o, IBV_QPS_RTS))
		return false;
	ret = f->mixed ? own_modify(&f->o, &attr, IBV_QP_ACCESS_FLAGS) : 0;
	return KIT_MUST(f->k, !ret, "ibv_modify_qp of qp_access_flags failed with %s", errno_name(ret));
}

/* From RESET: everything is executed once, and nothing of the life before turns up. */
static void works(struct life *f, unsigned int num)
{
	struct ibv_wc wc;

	if (!bring_up(f) || !post(f, num, true))
		return;
	for (unsigned int i = 0; i < num; i++) {
		if (!next(f, f->o.send_cq, i, &wc))
			return;
		KIT_CHECK(f->k, !wc.status, "request %u after the change ended with %s", i,
			  value_name(status_names, wc.status));
		KIT_CHECK(f->k, !reliable(f) || executed(f, i), "request %u after the change has other bytes",
			  i);
	}
	for (unsigned int i = 0; f->mixed && i < num / 4; i++)
		if (!next(f, f->o.recv_cq, i, &wc))
			return;
	silent(f, "after all requests were executed");
}

/* To a state, or another QP in its place. */
static bool stop(struct life *f, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = {.qp_state = to};
	int ret;

	if (to != IBV_QPS_UNKNOWN) {
		ret = own_modify(&f->o, &attr, IBV_QP_STATE);
		return KIT_MUST(f->k, !ret, "ibv_modify_qp to %s failed with %s", own_state(to),
				errno_name(ret));
	}
	ret = ibv_destroy_qp(f->o.qp);
	f->o.qp = NULL;
	if (ret)
		KIT_FAULT(f->k, "ibv_destroy_qp failed with %s", errno_name(ret));
	return !ret && own_create_qp(f->k, &f->o);
}

static void live(struct life *f, unsigned int num, bool list, enum ibv_qp_state to)
{
	if (!bring_up(f) || !post(f, num, list) || !stop(f, to))
		return;
	if (to == IBV_QPS_ERR)
		flushed(f, num);
	if (KIT_GOOD(f->k) && (to != IBV_QPS_ERR || own_reset(f->k, &f->o)))
		silent(f, "after the QP went to RESET");
	if (KIT_GOOD(f->k))
		works(f, 4);
	if (KIT_GOOD(f->k))
		own_reset(f->k, &f->o);
}

static bool open_life(struct kit *k, struct life *f, bool mixed)
{
	struct ibv_pd *pd = k->r->dut.requester.pd;

	*f = (struct life){.k = k, .o = {.to_itself = true}, .mixed = mixed};
	f->o.init.cap = (struct ibv_qp_cap){MOST, MOST, 1, 1, 0};
	f->mem = end_alloc(pd, (size_t)2 * MOST * BYTES);
	f->mr = f->mem ? ibv_reg_mr(pd, f->mem, (size_t)2 * MOST * BYTES, IBV_ACCESS_LOCAL_WRITE | RIGHTS)
		       : NULL;
	if (!f->mr)
		KIT_FAULT(k, "memory of the case: %s", errno_name(errno));
	return f->mr && own_create(k, &f->o, k->cell->qpt);
}

static void abrupt(struct kit *k)
{
	const enum ibv_qp_state to = kit_arg(k, "to", 0);
	struct life f;

	if (open_life(k, &f, kit_arg(k, "mixed", 0)))
		for (unsigned int turn = 0; turn < 12 && KIT_GOOD(k); turn++)
			live(&f, turn % 4 ? MOST - turn : turn + 1, turn & 1, to);
}

SCENARIO(abrupt) = {
	{"abrupt-reset", SUITE("state"), QPS("RC UC"), ARGS({"to", 0}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/qp_state"), ERRATA("QP-RECYCLE CQ-PURGE"),
	 SAYS("a QP that goes to RESET right after it got requests forgets it, and what it has "
	      "completed, in order, and works again")},
	{"abrupt-reset-mixed", QPS("RC"), ARGS({"to", 0}, {"mixed", 1}),
	 NEEDS("operations/{qp}/RDMA_READ operations/{qp}/ATOMIC_FETCH_AND_ADD"), NARROW,
	 SAYS("a QP that goes to RESET right after it got requests forgets it, and what it has "
	      "completed, in order, and works again: WRITEs, READs, atomics and SENDs")},
	{"abrupt-err", QPS("RC UC"), ARGS({"to", 6}), ERRATA("QP-RECYCLE FLUSH-ORDER"), NEEDS(""),
	 SAYS("a QP that goes to ERR right after it got requests flushes what was not executed, in "
	      "order, and works again")},
	{"abrupt-err-mixed", QPS("RC"), ARGS({"to", 6}, {"mixed", 1}),
	 NEEDS("operations/{qp}/RDMA_READ operations/{qp}/ATOMIC_FETCH_AND_ADD"), NARROW,
	 SAYS("a QP that goes to ERR right after it got requests flushes what was not executed, in "
	      "order, and works again: WRITEs, READs, atomics and SENDs")},
	{"abrupt-destroyed", ARGS({"to", 7}), ERRATA("QP-RECYCLE CQ-PURGE"), NEEDS(""),
	 SAYS("of a QP that is destroyed right after it got requests nothing is left for the next one, "
	      "in the same CQs, in order, and works again")},
	{"abrupt-destroyed-mixed", ARGS({"to", 7}, {"mixed", 1}),
	 NEEDS("operations/{qp}/RDMA_READ operations/{qp}/ATOMIC_FETCH_AND_ADD"), NARROW,
	 SAYS("of a QP that is destroyed right after it got requests nothing is left for the next one, "
	      "in the same CQs, in order, and works again: WRITEs, READs, atomics and SENDs")},
	{"abrupt-destroyed", QPS("UC"), ARGS({"to", 7}), NEEDS(""), NARROW,
	 SAYS("of a QP that is destroyed right after it got requests nothing is left for the next one, "
	      "in the same CQs, in order, and works again")},
	{},
};

#define LIVES 8

static bool open_lives(struct kit *k, struct life *f, unsigned int num)
{
	bool good = true;

	memset(f, 0, num * sizeof(*f));
	for (unsigned int i = 0; i < num && good; i++)
		good = open_life(k, &f[i], false);
	return good;
}

/* Several at a time: their requests are fetched in turn, and each list takes several reads. */
static void abrupt_several(struct kit *k)
{
	static struct life f[LIVES];
	const unsigned int num = LIVES;
	bool good = open_lives(k, f, num);

	for (unsigned int turn = 0; turn < 10 && good; turn++) {
		for (unsigned int i = 0; i < num && good; i++)
			good = bring_up(&f[i]);
		for (unsigned int i = 0; i < num && good; i++)
			good = post(&f[i], MOST - turn, true);
		for (unsigned int i = 0; i < num && good; i++)
			good = stop(&f[i], IBV_QPS_RESET);
		for (unsigned int i = 0; i < num && good; i++) {
			works(&f[i], 2);
			good = KIT_GOOD(k) && own_reset(k, &f[i].o);
		}
	}
}

SCENARIO(abrupt_several) = {
	{"abrupt-reset-several", SUITE("state"), QPS("RC"), CLAUSE("ibv_modify_qp/DESCRIPTION/qp_state"),
	 ERRATA("QP-RECYCLE CQ-PURGE"), NARROW,
	 SAYS("eight QPs at a time: a QP that goes to RESET right after it got requests forgets it, "
	      "and what it has completed, in order, and works again")},
	{},
};

/* After RESET, and up again, what was posted before is not carried out, not even when others have been. */
static bool forgotten(struct life *f, struct life *other, unsigned int turn)
{
	unsigned int polls = turn * 4;
	struct ibv_wc wc;

	if (!bring_up(f) || !post(f, 1 + turn % 2, turn & 2))
		return false;
	while (polls-- && !ibv_poll_cq(f->o.send_cq, 1, &wc)) /* < 0: silent() says so */
		;
	if (!stop(f, IBV_QPS_RESET) || !bring_up(f))
		return false;
	works(other, 2);
	if (!KIT_GOOD(f->k))
		return false;
	silent(f, "of a request before the RESET");
	kit_expect_state(f->k, f->o.qp, IBV_QPS_RTS);
	if (!KIT_GOOD(f->k) || !own_reset(f->k, &f->o) || !own_reset(f->k, &other->o))
		return false;
	works(f, 4);
	return KIT_GOOD(f->k) && own_reset(f->k, &f->o);
}

/* Each has one request when some are reset or destroyed at once: the others' are carried out. */
static bool spared(struct life *f, unsigned int num, unsigned int stopped, enum ibv_qp_state to)
{
	struct ibv_wc wc;
	bool good = true;

	for (unsigned int i = 0; i < num && good; i++)
		good = bring_up(&f[i]);
	for (unsigned int i = 0; i < num && good; i++)
		good = (stopped >> i & 1 && to == IBV_QPS_RESET) || post(&f[i], 1, false);
	for (unsigned int i = 0; i < num && good; i++)
		good = !(stopped >> i & 1) || stop(&f[i], to);
	for (unsigned int i = 0; i < num && good; i++) {
		if (stopped >> i & 1)
			continue;
		good = next(&f[i], f[i].o.send_cq, 0, &wc);
		if (good && !kit_holds(f->k, !wc.status && executed(&f[i], 0)))
			KIT_FAULT(f->k, "the request of a QP ended with %s when others were stopped",
				  value_name(status_names, wc.status));
		good = good && KIT_GOOD(f->k) && own_reset(f->k, &f[i].o);
	}
	return good;
}

/* Doorbells, and records that are read in their place, of QPs that are reset or destroyed at once. */
static void abrupt_doorbells(struct kit *k)
{
	static struct life f[LIVES];
	bool good = open_lives(k, f, LIVES);

	for (unsigned int turn = 0; turn < 16 && good; turn++)
		good = forgotten(&f[turn & 1], &f[2], turn);
	for (unsigned int turn = 0; turn < 6 && good;
	     turn++) /* idle ones, on both sides of one that is not */
		good = spared(f, 3, 5, IBV_QPS_RESET);
	for (unsigned int turn = 0; turn < 4 && good; turn++)
		good = spared(f, LIVES, turn & 1 ? 0x70 : 0xe0, IBV_QPS_UNKNOWN);
}

SCENARIO(abrupt_doorbells) = {
	{"abrupt-doorbells", SUITE("state"), QPS("RC"), CLAUSE("ibv_modify_qp/DESCRIPTION/qp_state"),
	 ERRATA("QP-RECYCLE CQ-PURGE"), NARROW,
	 SAYS("what was rung for before RESET is not carried out after it; requests of other QPs are")},
	{},
};
