/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Entries of a QP that is reset or destroyed leave the CQ; those of others stay. */
#include <errno.h>
#include <string.h>

#include "link/link_modify.h"
#include "suites/completions/bench.h"

#define ENTRIES 8
#define TURNS   14

/* Which of the entries are of the QP that goes, first entry in bit 0; the number of entries with bit 8 and above. */
static const unsigned int patterns[] = {
	0x600 | 013, 0x600 | 055, 0x500 | 001, 0x700 | 0120, 0x800 | 0377, 0x300 | 0, 0x800 | 0252,
};

static bool reset(struct kit *k, struct link *l)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	int ret = ibv_modify_qp(l->qp, &attr, IBV_QP_STATE);

	log_call(&k->res->log,
		 "ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RESET}, IBV_QP_STATE) /* QP "
		 "0x%x */",
		 l->qp->qp_num);
	if (!ret)
		ret = ibv_modify_qp(l->peer, &attr, IBV_QP_STATE);
	return KIT_MUST(k, !ret, "moving a QP to RESET failed with %s", errno_name(ret));
}

static bool up_again(struct kit *k, struct link *l)
{
	int ret = link_connect(l, &k->res->log);

	return KIT_MUST(k, !ret, "%s failed with %s", l->step, errno_name(ret));
}

/* Entries of both QPs alternate as the pattern says; each is in the CQ before the next one is sent. */
static bool fill(struct bench *b, struct link *goes, struct link *stays, unsigned int pattern)
{
	bool good = true;

	for (unsigned int i = 0; i < pattern >> 8 && good; i++)
		good = bench_put(b, pattern >> i & 1 ? goes : stays, 1);
	return good;
}

static bool purge_turn(struct kit *k, struct bench *b, struct link *goes, struct link *stays,
		       unsigned int turn)
{
	if (!fill(b, goes, stays, patterns[turn % 7]) || !bench_take(b, turn % 2) || !reset(k, goes))
		return false;
	bench_forget(b, goes->qp->qp_num);
	/* new entries come behind those that are left, which are polled before or after that */
	if (turn % 3 == 1 && !bench_put(b, stays, 1))
		return false;
	return bench_empty(b) && up_again(k, goes) && bench_put(b, goes, 1) && bench_put(b, stays, 1) &&
	       bench_empty(b);
}

static bool destroy_turn(struct kit *k, struct bench *b, struct link *goes, struct link *stays)
{
	uint32_t qp_num = goes->qp->qp_num;
	int ret;

	if (!fill(b, goes, stays, 0x700 | 0055))
		return false;
	log_call(&k->res->log, "ibv_destroy_qp(qp) /* QP 0x%x */", qp_num);
	ret = ibv_destroy_qp(goes->qp);
	if (!KIT_MUST(k, !ret, "ibv_destroy_qp failed with %s", errno_name(ret)))
		return false;
	goes->qp = NULL;
	bench_forget(b, qp_num);
	return bench_empty(b) && bench_put(b, stays, 5) && bench_empty(b);
}

/* A CQ that was full, until a QP was reset, has room for as many again; nothing is polled or armed between. */
static bool room_turn(struct kit *k, struct bench *b, struct link *goes, struct link *stays)
{
	const unsigned int room = b->cq->cqe < BENCH_MOST ? (unsigned int)b->cq->cqe : BENCH_MOST;

	if (!bench_put(b, goes, room) || !reset(k, goes))
		return false;
	bench_forget(b, goes->qp->qp_num);
	return bench_send(b, stays, room, false) && bench_empty(b) && up_again(k, goes);
}

/*
 * With an SRQ of both QPs the receives of entries that left must not be lost for it: it has just enough. Without one,
 * the sends of the QP that goes have a CQ of their own.
 */
static void purge(struct kit *k)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = ENTRIES, .max_sge = 1}};
	struct link_opts opts = {0};
	struct link stays = {0};
	struct link_opts leaving;
	struct bench b = {0}, sends = {0};

	if (kit_arg(k, "srq", 0)) {
		opts.own_srq = ibv_create_srq(k->r->dut.requester.pd, &init);
		if (!opts.own_srq)
			KIT_FAULT(k, "ibv_create_srq failed with %s", errno_name(errno));
	}
	leaving = opts;
	if (KIT_GOOD(k) && !opts.own_srq && bench_open(&sends, k, ENTRIES))
		leaving.cq = sends.cq;
	if (KIT_GOOD(k) && bench_open(&b, k, ENTRIES) && bench_link(&b, k->l, &leaving) &&
	    bench_link(&b, &stays, &opts)) {
		for (unsigned int turn = 0; turn < TURNS && KIT_GOOD(k); turn++)
			purge_turn(k, &b, k->l, &stays, turn);
		if (KIT_GOOD(k))
			room_turn(k, &b, k->l, &stays);
		if (KIT_GOOD(k))
			destroy_turn(k, &b, k->l, &stays);
	}
}

SCENARIO(purge) = {
	{"reset", SUITE("cq"), QPS("RC"), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 CLAUSE("ibv_poll_cq/NOTES/removed"), LEVEL("SHOULD"), ERRATA("CQ-PURGE"),
	 SAYS("entries of a QP that is reset or destroyed are gone, those of the other QP are polled, "
	      "in order")},
	{"reset-srq", ARGS({"srq", 1}), FORMS({""}, {"-ex", {{"ex", 1}}}), NEEDS("srq")},
	{},
};

#define NAMESAKES                                                                                            \
	1500 /* QPs that are created, one after the other, until one has the number of the destroyed one */

/* A new QP with the number of one that was destroyed, or NULL. */
static struct ibv_qp *reborn_qp(struct kit *k, struct bench *b, uint32_t qp_num)
{
	struct ibv_qp_init_attr init = {
		.send_cq = b->cq, .recv_cq = b->cq, .cap = {1, ENTRIES, 1, 1, 0}, .qp_type = k->l->qpt};
	struct ibv_qp *qp;

	for (unsigned int i = 0; i < NAMESAKES; i++) {
		qp = ibv_create_qp(k->r->dut.requester.pd, &init);
		if (!qp) {
			KIT_FAULT(k, "ibv_create_qp failed with %s", errno_name(errno));
			return NULL;
		}
		if (qp->qp_num == qp_num)
			return qp;
		ibv_destroy_qp(qp);
	}
	return NULL;
}

/* As many receives as the old QP had entries: one of those could be taken for the completion of one of these. */
static void post_receives(struct kit *k, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = k->r->dut.requester.port};
	int ret = ibv_modify_qp(qp, &attr,
				IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	for (unsigned int i = 0; i < ENTRIES && !ret; i++) {
		struct ibv_recv_wr wr = {.wr_id = 0xbad0 + i}, *bad;

		ret = ibv_post_recv(qp, &wr, &bad);
	}
	if (ret)
		KIT_FAULT(k, "a receive of the new QP failed with %s", errno_name(ret));
}

/* What a destroyed QP has left in its CQ does not turn up as completions of a new QP with its number. */
static void namesake(struct kit *k)
{
	struct link stays = {0};
	struct bench b = {0};
	struct ibv_qp *qp = NULL;
	uint32_t qp_num;

	if (bench_open(&b, k, ENTRIES) && bench_link(&b, k->l, NULL) && bench_link(&b, &stays, NULL) &&
	    fill(&b, k->l, &stays, 0x700 | 0055)) {
		qp_num = k->l->qp->qp_num;
		log_call(&k->res->log, "ibv_destroy_qp(qp) /* QP 0x%x */", qp_num);
		if (ibv_destroy_qp(k->l->qp))
			KIT_FAULT(k, "ibv_destroy_qp failed");
		k->l->qp = NULL;
		bench_forget(&b, qp_num);
		qp = KIT_GOOD(k) ? reborn_qp(k, &b, qp_num) : NULL;
		if (qp)
			post_receives(k, qp);
		else
			seen(k->res, "no new QP has the old one's number; ");
		if (KIT_GOOD(k) && bench_empty(&b) && bench_put(&b, &stays, 5))
			bench_empty(&b);
	}
}

SCENARIO(namesake) = {
	{"namesake", SUITE("cq"), QPS("RC"), CLAUSE("ibv_poll_cq/NOTES/removed"), LEVEL("SHOULD"),
	 ERRATA("CQ-PURGE"),
	 SAYS("entries of a QP that is destroyed do not turn up for a new QP with its number")},
	{},
};
