/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A request that fails: its status, and the completions of later requests, posted before and after the failure. */
#include <string.h>

#include "suites/kit.h"

#define OWN_RECV 0x0e11u /* wr_id of the receive of the QP under test */
#define LATE     0x1a7eu

/* Changes a request so that it fails. */
typedef void (*spoil_fn)(struct kit *k, struct ibv_send_wr *wr);

struct failure {
	struct plan plans[CELL_MAX_WR];
	struct ibv_send_wr wr[CELL_MAX_WR];
	unsigned int bad;     /* index of the request that fails */
	unsigned int refused; /* the first requests, which were not taken */
	bool own_recv;
	bool early; /* the fault can be detected at posting: refusal is allowed, too */
};

static bool receives_itself(const struct link *l)
{
	return l->qpt == IBV_QPT_RC || l->qpt == IBV_QPT_UC || l->qpt == IBV_QPT_UD;
}

static int post_own_recv(struct link *l, uint64_t wr_id)
{
	struct ibv_sge sge = {(uintptr_t)l->local.base, 64, l->local.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_recv(l->qp, &wr, &bad);
}

/*
 * Completions of the send queue come in order of posting: those before the failing request, its status, then
 * a flush error for each that follows, signalled or not. That of the receive queue may come at any position.
 */
static void expect_flush(struct kit *k, struct failure *f, bool recv_flushed)
{
	struct link *l = k->l;
	unsigned int num = k->cell->num_wr, at = f->refused;
	struct wc_expect want = {.qp_num = l->qp->qp_num};
	struct ibv_wc wc;

	while (KIT_GOOD(k) && (at < num || recv_flushed)) {
		if (at < f->bad && !(f->wr[at].send_flags & IBV_SEND_SIGNALED)) {
			at++;
			continue;
		}
		if (!kit_wait(k, l, l->cq, &wc))
			return;
		if (recv_flushed && wc.wr_id == OWN_RECV) {
			recv_flushed = false;
			want.wr_id = OWN_RECV;
			want.status = IBV_WC_WR_FLUSH_ERR;
		} else if (at == num) {
			judge_extra_wc(&k->res->verdict, "requester", &wc);
			return;
		} else {
			want.wr_id = f->wr[at].wr_id;
			want.opcode = f->plans[at].wr->wc < 0 ? 0 : f->plans[at].wr->wc;
			want.status = at < f->bad    ? IBV_WC_SUCCESS
				      : at == f->bad ? k->cell->status
						     : IBV_WC_WR_FLUSH_ERR;
			at++;
		}
		judge_wc(&k->res->verdict, "requester", &want, &wc);
	}
}

/* Work posted to a QP in the error state is flushed. */
static void post_late(struct kit *k, bool own_recv)
{
	struct link *l = k->l;
	struct ibv_sge sge = {(uintptr_t)l->local.base, 8, l->local.mr->lkey};
	struct ibv_send_wr wr = kit_wr(LATE, IBV_WR_SEND, &sge);
	int ret;

	wr.send_flags = kit_arg(k, "late_unsignaled", 0) ? 0 : IBV_SEND_SIGNALED;
	if (l->qpt == IBV_QPT_XRC_SEND)
		wr.qp_type.xrc.remote_srqn = l->srqn;
	if (l->qpt == IBV_QPT_UD) {
		wr.wr.ud.ah = l->ah;
		wr.wr.ud.remote_qpn = l->peer->qp_num;
		wr.wr.ud.remote_qkey = LINK_QKEY;
	}
	ret = kit_post(k, l->qp, l->peer, &wr, NULL);
	KIT_CHECK(k, !ret, "posting a send in the error state was refused with %s", errno_name(ret));
	if (!kit_expect(k, l, l->cq, l->qp, LATE, IBV_WC_WR_FLUSH_ERR) || !own_recv)
		return;
	ret = post_own_recv(l, LATE + 1);
	KIT_CHECK(k, !ret, "posting a receive in the error state was refused with %s", errno_name(ret));
	kit_expect(k, l, l->cq, l->qp, LATE + 1, IBV_WC_WR_FLUSH_ERR);
}

static void judge_failure(struct kit *k, struct failure *f)
{
	struct expect requester = {0}, responder = {0};
	/* on an unreliable QP only the send queue stops (erratum SQ-ERROR-STATE) */
	bool whole = k->l->qpt != IBV_QPT_UC && k->l->qpt != IBV_QPT_UD;
	int bad, rc = kit_post(k, k->l->qp, k->l->peer, f->wr, &bad);

	for (unsigned int i = 0; i < f->bad; i++)
		plan_execute(&f->plans[i], k->l, &requester, &responder);
	if (rc && f->early && bad == (int)f->bad) {
		seen(k->res, "posting refused with %s; ", errno_name(rc));
		k->res->err = rc;
		collect(k->l, &requester, &responder, k->res);
		/* Those that were accepted may have no completion: one behind them has. */
		if (KIT_GOOD(k))
			kit_alive(k, k->l);
		return;
	}
	KIT_CHECK(k, !rc, "posting was refused with %s at request %d", errno_name(rc), bad);
	expect_flush(k, f, f->own_recv && whole);
	if (!KIT_GOOD(k))
		return;
	kit_expect_state(k, k->l->qp, whole ? IBV_QPS_ERR : IBV_QPS_SQE);
	if (KIT_GOOD(k))
		post_late(k, f->own_recv && whole);
	kit_expect_none(k, k->l, k->l->cq);
}

static bool set_up(struct kit *k, struct failure *f, const struct link_opts *opts)
{
	int ret = 0;

	memset(f, 0, sizeof(*f));
	if (!kit_link(k, API_POST, opts))
		return false;
	f->bad = kit_arg(k, "bad", 1);
	f->own_recv = receives_itself(k->l);
	if (f->own_recv)
		ret = post_own_recv(k->l, OWN_RECV);
	return KIT_MUST(k, !ret, "posting a receive was refused with %s", errno_name(ret));
}

static void fail_by(struct kit *k, spoil_fn spoil, bool early)
{
	static struct failure f;
	unsigned int first_use;

	const struct link_opts opts = {.cq_ex = kit_arg(k, "ex", 0)};

	if (!set_up(k, &f, &opts) || !kit_plan(k, f.plans))
		return;
	f.early = early;
	first_use = k->l->next_use;
	kit_list(k, f.plans, k->cell->num_wr, f.wr);
	spoil(k, &f.wr[f.bad]);
	judge_failure(k, &f);
	if (KIT_GOOD(k))
		collect_memory(k->l, first_use, k->res);
}

static void bad_rkey(struct kit *k, struct ibv_send_wr *wr)
{
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		wr->wr.atomic.rkey ^= 0x5a;
	else
		wr->wr.rdma.rkey ^= 0x5a;
}

static void bad_lkey(struct kit *k, struct ibv_send_wr *wr)
{
	wr->sg_list[0].lkey ^= 0x5a;
}

static void beyond_local(struct kit *k, struct ibv_send_wr *wr)
{
	wr->sg_list[0].addr = (uintptr_t)k->l->local.base + k->l->local.size - wr->sg_list[0].length + 1;
}

static void beyond_remote(struct kit *k, struct ibv_send_wr *wr)
{
	wr->wr.rdma.remote_addr =
		(uintptr_t)k->l->target.base + k->l->target.size - wr->sg_list[0].length + 1;
}

static void misaligned(struct kit *k, struct ibv_send_wr *wr)
{
	wr->wr.atomic.remote_addr += 4;
}

static void flush_rkey(struct kit *k)
{
	fail_by(k, bad_rkey, false);
}

SCENARIO(flush_rkey) = {
	{"rkey-write", SUITE("flush"), QPS("RC XRC_SEND"),
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, "
	       "SEND 600, SEND 600 unsignaled"),
	 ARGS({"bad", 2}), FORMS({""}, {"-ex", {{"ex", 1}}}), CLAUSE("ibv_poll_cq/DESCRIPTION/error"),
	 ERRATA("FAILURE-STATUS FLUSH-ORDER SQ-ERROR-STATE"), STATUS("REM_ACCESS_ERR"),
	 SAYS("the requests before it are executed, it completes with IBV_WC_REM_ACCESS_ERR, those "
	      "behind it and those posted later with IBV_WC_WR_FLUSH_ERR in the order of posting, "
	      "signalled or not; nothing of them is executed")},
	{"rkey-write-unsignaled",
	 POSTS("RDMA_WRITE 600, 3 x RDMA_WRITE 600 unsignaled, SEND 600, SEND 600 unsignaled"),
	 ARGS({"bad", 2})},
	{"rkey-read",
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, RDMA_READ 600, RDMA_READ 600 unsignaled, "
	       "SEND 600, SEND 600 unsignaled"),
	 ARGS({"bad", 2}), FORMS({""}, {"-ex", {{"ex", 1}}})},
	{"rkey-read-unsignaled",
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, 2 x RDMA_READ 600 unsignaled, SEND 600, SEND "
	       "600 unsignaled"),
	 ARGS({"bad", 2})},
	{"rkey-atomic",
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, ATOMIC_FETCH_AND_ADD, ATOMIC_FETCH_AND_ADD "
	       "unsignaled, SEND 600, SEND 600 unsignaled"),
	 ARGS({"bad", 2}), FORMS({""}, {"-ex", {{"ex", 1}}})},
	{"rkey-atomic-unsignaled",
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, 2 x ATOMIC_FETCH_AND_ADD unsignaled, SEND "
	       "600, SEND 600 unsignaled"),
	 ARGS({"bad", 2})},
	{},
};

static void flush_lkey(struct kit *k)
{
	fail_by(k, bad_lkey, false);
}

SCENARIO(flush_lkey) = {
	{"lkey-write", SUITE("flush"), QPS("RC UC XRC_SEND"),
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, "
	       "SEND 600, SEND 600 unsignaled"),
	 ARGS({"bad", 2}), FORMS({""}, {"-ex", {{"ex", 1}}}), CLAUSE("ibv_poll_cq/DESCRIPTION/error"),
	 ERRATA("FAILURE-STATUS FLUSH-ORDER SQ-ERROR-STATE"), STATUS("LOC_PROT_ERR"),
	 SAYS("the requests before it are executed, it completes with IBV_WC_LOC_PROT_ERR, those "
	      "behind it and those posted later with IBV_WC_WR_FLUSH_ERR in the order of posting, "
	      "signalled or not; nothing of them is executed")},
	{"lkey-write-unsignaled",
	 POSTS("RDMA_WRITE 600, 3 x RDMA_WRITE 600 unsignaled, SEND 600, SEND 600 unsignaled"),
	 ARGS({"bad", 2})},
	{"lkey-read", QPS("RC XRC_SEND"),
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, RDMA_READ 600, RDMA_READ 600 fence "
	       "unsignaled, SEND 600, SEND 600 unsignaled"),
	 ARGS({"bad", 2}), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 ERRATA("FAILURE-STATUS FLUSH-ORDER SQ-ERROR-STATE ANSWER-KEY")},
	{"lkey-read-unsignaled",
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, RDMA_READ 600 unsignaled, RDMA_READ 600 "
	       "fence unsignaled, SEND 600, SEND 600 unsignaled"),
	 ARGS({"bad", 2})},
	{"lkey-send", QPS("RC UC XRC_SEND"),
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, SEND 600, SEND 600 unsignaled, SEND 600, "
	       "SEND 600 unsignaled"),
	 ARGS({"bad", 2}), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 ERRATA("FAILURE-STATUS FLUSH-ORDER SQ-ERROR-STATE")},
	{"lkey-send-unsignaled",
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, 2 x SEND 600 unsignaled, SEND 600, SEND 600 "
	       "unsignaled"),
	 ARGS({"bad", 2})},
	{"lkey-send", QPS("UD"), POSTS("SEND 600, SEND 600 unsignaled, SEND 600, SEND 600 unsignaled"),
	 ARGS({"bad", 0}), FORMS({""}, {"-ex", {{"ex", 1}}})},
	{"lkey-send-unsignaled", POSTS("2 x SEND 600 unsignaled, SEND 600, SEND 600 unsignaled"),
	 ARGS({"bad", 0})},
	{},
};

static void flush_local_range(struct kit *k)
{
	fail_by(k, beyond_local, false);
}

SCENARIO(flush_local_range) = {
	{"local-range-send", SUITE("flush"), QPS("RC UC XRC_SEND"),
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, SEND 600, SEND 600 unsignaled, SEND 600, "
	       "SEND 600 unsignaled"),
	 ARGS({"bad", 2}), CLAUSE("ibv_poll_cq/DESCRIPTION/error"),
	 ERRATA("FAILURE-STATUS FLUSH-ORDER SQ-ERROR-STATE"), STATUS("LOC_PROT_ERR"),
	 SAYS("the requests before it are executed, it completes with IBV_WC_LOC_PROT_ERR, those "
	      "behind it and those posted later with IBV_WC_WR_FLUSH_ERR in the order of posting, "
	      "signalled or not; nothing of them is executed")},
	{"local-range-send", QPS("UD"), POSTS("SEND 600, SEND 600 unsignaled, SEND 600, SEND 600 unsignaled"),
	 ARGS({"bad", 0})},
	{},
};

static void flush_remote_range(struct kit *k)
{
	fail_by(k, beyond_remote, false);
}

SCENARIO(flush_remote_range) = {
	{"range-write", SUITE("flush"), QPS("RC XRC_SEND"),
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, "
	       "SEND 600, SEND 600 unsignaled"),
	 ARGS({"bad", 2}), CLAUSE("ibv_poll_cq/DESCRIPTION/error"),
	 ERRATA("FAILURE-STATUS FLUSH-ORDER SQ-ERROR-STATE"), STATUS("REM_ACCESS_ERR"),
	 SAYS("the requests before it are executed, it completes with IBV_WC_REM_ACCESS_ERR, those "
	      "behind it and those posted later with IBV_WC_WR_FLUSH_ERR in the order of posting, "
	      "signalled or not; nothing of them is executed")},
	{"range-read",
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, RDMA_READ 600, RDMA_READ 600 unsignaled, "
	       "SEND 600, SEND 600 unsignaled"),
	 ARGS({"bad", 2})},
	{},
};

static void flush_misaligned(struct kit *k)
{
	fail_by(k, misaligned, true);
}

SCENARIO(flush_misaligned) = {
	{"misaligned-atomic", SUITE("flush"), QPS("RC XRC_SEND"),
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, ATOMIC_CMP_AND_SWP, ATOMIC_CMP_AND_SWP "
	       "unsignaled, SEND 600, SEND 600 unsignaled"),
	 ARGS({"bad", 2}), CLAUSE("ibv_poll_cq/DESCRIPTION/error"),
	 ERRATA("FAILURE-STATUS FLUSH-ORDER SQ-ERROR-STATE"), STATUS("REM_INV_REQ_ERR"),
	 SAYS("the requests before it are executed, it completes with IBV_WC_REM_INV_REQ_ERR, those "
	      "behind it and those posted later with IBV_WC_WR_FLUSH_ERR in the order of posting, "
	      "signalled or not; nothing of them is executed")},
	{},
};

/* The failing SEND consumes a receive that it cannot use; the receiver's completion has the reason. */
static void bad_receive(struct kit *k, uint32_t len, uint32_t lkey_xor, enum ibv_wc_status status)
{
	static struct failure f;
	struct link *l = k->l;
	struct ibv_recv_wr wr = {.wr_id = LATE + 2, .num_sge = 1}, *bad;
	struct ibv_sge sge;
	int ret;

	if (!set_up(k, &f, NULL))
		return;
	sge = (struct ibv_sge){(uintptr_t)l->recv.base, len, l->recv.mr->lkey ^ lkey_xor};
	wr.sg_list = &sge;
	log_call(&k->res->log, "ibv_post_recv(peer, recv_wr, &bad_recv_wr) /* %u bytes%s */", len,
		 lkey_xor ? ", a key that is none" : "");
	ret = link_post_recv(l, &wr, &bad);
	KIT_CHECK(k, !ret, "posting a receive was refused with %s", errno_name(ret));
	if (!kit_plan(k, f.plans))
		return;
	kit_list(k, f.plans, k->cell->num_wr, f.wr);
	judge_failure(k, &f);
	if (!KIT_GOOD(k))
		return;
	kit_expect(k, l, l->peer_cq, l->peer, LATE + 2, status);
	/* the responder's queue is flushed, too */
	for (unsigned int i = 0; i < LINK_RECV_SLOTS && KIT_GOOD(k) && l->qpt == IBV_QPT_RC && !l->srq; i++)
		kit_expect(k, l, l->peer_cq, l->peer, link_recv_wr_id(i), IBV_WC_WR_FLUSH_ERR);
	if (KIT_GOOD(k))
		collect_memory(l, l->next_use, k->res);
}

static void flush_recv_short(struct kit *k)
{
	bad_receive(k, 16, 0, IBV_WC_LOC_LEN_ERR);
}

SCENARIO(flush_recv_short) = {
	{"receive-short", SUITE("flush"), QPS("RC"),
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, SEND 600, SEND 600 unsignaled, SEND 600, "
	       "SEND 600 unsignaled"),
	 ARGS({"bad", 2}), CLAUSE("ibv_poll_cq/DESCRIPTION/error"),
	 ERRATA("FAILURE-STATUS FLUSH-ORDER SQ-ERROR-STATE"), STATUS("REM_INV_REQ_ERR"),
	 SAYS("the requests before it are executed, it completes with IBV_WC_REM_INV_REQ_ERR, those "
	      "behind it and those posted later with IBV_WC_WR_FLUSH_ERR in the order of posting, "
	      "signalled or not; nothing of them is executed")},
	{},
};

static void flush_recv_lkey(struct kit *k)
{
	bad_receive(k, 4096, 0x5a, IBV_WC_LOC_PROT_ERR);
}

SCENARIO(flush_recv_lkey) = {
	{"receive-lkey", SUITE("flush"), QPS("RC"),
	 POSTS("RDMA_WRITE 600, RDMA_WRITE 600 unsignaled, SEND 600, SEND 600 unsignaled, SEND 600, "
	       "SEND 600 unsignaled"),
	 ARGS({"bad", 2}), CLAUSE("ibv_poll_cq/DESCRIPTION/error"),
	 ERRATA("FAILURE-STATUS FLUSH-ORDER SQ-ERROR-STATE"), STATUS("REM_OP_ERR"),
	 SAYS("the requests before it are executed, it completes with IBV_WC_REM_OP_ERR, those behind "
	      "it and those posted later with IBV_WC_WR_FLUSH_ERR in the order of posting, signalled "
	      "or not; nothing of them is executed")},
	{},
};

static int to_error(struct kit *k)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	log_call(&k->res->log,
		 "ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_ERR}, IBV_QP_STATE)");
	return ibv_modify_qp(k->l->qp, &attr, IBV_QP_STATE);
}

/* The peer has no receives, so requests are outstanding when the QP is moved to the error state. */
static void flush_modify(struct kit *k)
{
	/* RNR timer 491.52 ms: nothing is repeated before the modify, even on a busy host */
	static const struct ibv_qp_attr patient = {
		.min_rnr_timer = 31, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7};
	static const struct link_opts opts = {.attr = &patient};
	static struct failure f;
	int ret = 0;

	if (!set_up(k, &f, &opts))
		return;
	for (unsigned int i = 0; i < k->cell->num_wr && !ret; i++)
		ret = plan_wr(&f.plans[i], k->l, &k->cell->wr[i], i, k->r->seed);
	KIT_CHECK(k, !ret, "buffers of the case: %s", errno_name(ret));
	kit_list(k, f.plans, k->cell->num_wr, f.wr);
	ret = kit_post(k, k->l->qp, k->l->peer, f.wr, NULL);
	KIT_CHECK(k, !ret, "posting was refused with %s", errno_name(ret));
	ret = to_error(k);
	KIT_CHECK(k, !ret, "ibv_modify_qp to ERR failed with %s", errno_name(ret));
	expect_flush(k, &f, f.own_recv);
	if (KIT_GOOD(k))
		post_late(k, f.own_recv);
	kit_expect_none(k, k->l, k->l->cq);
	if (KIT_GOOD(k))
		collect_memory(k->l, k->l->next_use, k->res);
}

SCENARIO(flush_modify) = {
	{"modify-err", SUITE("flush"), QPS("RC XRC_SEND"),
	 POSTS("SEND 600 unsignaled, SEND 600, SEND 600 unsignaled, SEND 600"), ARGS({"bad", 0}),
	 CLAUSE("ibv_poll_cq/DESCRIPTION/error"), ERRATA("FLUSH-ORDER"), STATUS("WR_FLUSH_ERR"),
	 SAYS("all that is outstanding, and all that is posted afterwards, completes with "
	      "IBV_WC_WR_FLUSH_ERR in the order of posting; no memory is touched")},
	{},
};

/* A QP that never was in RTS is moved to the error state; then requests are posted. */
static void flush_unready(struct kit *k)
{
	const struct link_opts opts = {.short_of = kit_arg(k, "short_of", 1)};
	static struct failure f;
	int bad, ret;

	if (!set_up(k, &f, &opts) || !kit_plan(k, f.plans))
		return;
	kit_list(k, f.plans, k->cell->num_wr, f.wr);
	ret = to_error(k);
	KIT_CHECK(k, !ret, "ibv_modify_qp to ERR failed with %s", errno_name(ret));
	ret = kit_post(k, k->l->qp, k->l->peer, f.wr, &bad);
	KIT_CHECK(k, !ret, "posting in the error state was refused with %s at request %d", errno_name(ret),
		  bad);
	f.refused = ret ? k->cell->num_wr : 0;
	if (KIT_GOOD(k))
		expect_flush(k, &f, f.own_recv);
	kit_expect_none(k, k->l, k->l->cq);
	if (KIT_GOOD(k))
		collect_memory(k->l, k->l->next_use, k->res);
}

SCENARIO(flush_unready) = {
	{"err-from-init", SUITE("flush"), QPS("RC UC UD XRC_SEND"),
	 POSTS("SEND 600 unsignaled, SEND 600, SEND 600 unsignaled"), ARGS({"bad", 0}, {"short_of", 2}),
	 CLAUSE("ibv_poll_cq/DESCRIPTION/error"), ERRATA("FLUSH-ORDER"), STATUS("WR_FLUSH_ERR"),
	 SAYS("what is posted in ERR, to a QP that came there from INIT, is taken, and completes with "
	      "IBV_WC_WR_FLUSH_ERR")},
	{"err-from-rtr", ARGS({"bad", 0}, {"short_of", 1}),
	 SAYS("what is posted in ERR, to a QP that came there from RTR, is taken, and completes with "
	      "IBV_WC_WR_FLUSH_ERR")},
	{},
};
