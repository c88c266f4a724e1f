/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Receives that differ in everything that they name, more of them than a queue holds, at every place of its ring. */
#include <errno.h>
#include <string.h>

#include "link/link_modify.h"
#include "remote/remote.h"
#include "suites/objects/own.h"

#define LIST   4
#define PIECES 4

struct receive {
	struct ibv_sge sge[PIECES];
	struct ibv_recv_wr wr;
	uint32_t room; /* bytes of a message */
};

static uint64_t scattered(unsigned int i)
{
	return 0xc2b2ae3d27d4eb4fu * (i + 1);
}

/* Each buffer is a region of its own. The first of a UD receive has place for the GRH. */
static bool take_piece(struct kit *k, struct receive *r, unsigned int i, uint32_t len)
{
	uint8_t *at = arena_take(&k->l->recv, len);
	struct ibv_mr *mr;

	if (!KIT_MUST(k, at, "the receive does not fit"))
		return false;
	r->sge[i] = (struct ibv_sge){(uintptr_t)at, len, k->l->recv.mr->lkey};
	if (!len) /* the key of an empty SGE counts for nothing */
		return true;
	mr = ibv_reg_mr(k->r->dut.responder.pd, at, len, IBV_ACCESS_LOCAL_WRITE);
	if (!KIT_MUST(k, mr, "ibv_reg_mr failed with %s", errno_name(errno)))
		return false;
	r->sge[i].lkey = mr->lkey;
	return true;
}

/* Number and lengths of the buffers change with `turn`; of more than two one is empty. */
static bool shape(struct kit *k, struct receive *r, unsigned int turn)
{
	uint32_t grh = link_grh(k->l);
	unsigned int most = k->l->cap.max_recv_sge < PIECES ? k->l->cap.max_recv_sge : PIECES;
	unsigned int num = grh ? 1 + turn % most : turn % (most + 1);

	memset(r, 0, sizeof(*r));
	for (unsigned int i = 0; i < num; i++) {
		uint32_t len = num > 2 && i == turn % num ? 0 : 13 + (turn * 5 + i) % 80;

		if (!take_piece(k, r, i, len + (i ? 0 : grh)))
			return false;
		r->room += len;
	}
	r->wr = (struct ibv_recv_wr){
		.wr_id = scattered(turn), .sg_list = num ? r->sge : NULL, .num_sge = num};
	return true;
}

static void expect_bytes(struct link *l, const struct receive *r, const struct plan *plan)
{
	const uint8_t *from = plan->payload;
	uint32_t left = plan->total;

	for (int i = 0; i < r->wr.num_sge; i++) {
		uint32_t skip = i ? 0 : link_grh(l), len = r->sge[i].length - skip;
		uint8_t *at = (uint8_t *)(uintptr_t)r->sge[i].addr;

		if (len > left)
			len = left;
		memcpy(arena_shadow(&l->recv, at) + skip, from, len);
		from += len;
		left -= len;
	}
}

/* One SEND for each receive of the list: of its whole room, or of one byte less. */
static void send_all(struct kit *k, struct receive *recv, unsigned int num, unsigned int turn)
{
	static struct plan plans[LIST];
	static struct cell_wr wrs[LIST];
	struct expect requester = {0}, responder = {.num = num};
	struct link *l = k->l;
	struct posted posted;
	int ret = 0;

	arena_reset(&l->local);
	arena_reset(&l->target);
	for (unsigned int i = 0; i < num && !ret; i++) {
		wrs[i] = k->cell->wr[0];
		wrs[i].recv = -1;
		wrs[i].len[0] = recv[i].room - (recv[i].room ? i & 1 : 0);
		ret = plan_wr(&plans[i], l, &wrs[i], i, k->r->seed + turn);
	}
	KIT_CHECK(k, !ret, "buffers of the case: %s", errno_name(ret));
	posted = post_list(l, plans, num, &k->res->log);
	KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
	for (unsigned int i = 0; i < num; i++) {
		plan_execute(&plans[i], l, &requester, &responder);
		expect_bytes(l, &recv[i], &plans[i]);
		responder.wc[i] = (struct wc_expect){
			.wr_id = recv[i].wr.wr_id,
			.opcode = IBV_WC_RECV,
			.qp_num = l->peer->qp_num,
			.frame = l->qpt == IBV_QPT_RAW_PACKET,
			.check_len = true,
			.byte_len = plans[i].total + link_grh(l),
			.check_src = l->qpt == IBV_QPT_UD,
			.src_qp = l->qp->qp_num,
			.with_grh = l->qpt == IBV_QPT_UD &&
				    l->dut->responder.port_attr.link_layer == IBV_LINK_LAYER_ETHERNET,
		};
	}
	collect(l, &requester, &responder, k->res);
}

static void judge_list(struct kit *k, const struct receive *recv, unsigned int num)
{
	struct link *l = k->l;

	link_fetch(l);
	for (unsigned int i = 0; i < num && link_grh(l); i++) {
		uint8_t *at = (uint8_t *)(uintptr_t)recv[i].sge[0].addr;

		memcpy(arena_shadow(&l->recv, at), at, link_grh(l));
	}
	collect_memory(l, l->next_use, k->res);
}

static void receive_list(struct kit *k, unsigned int num, unsigned int turn)
{
	static struct receive recv[LIST];
	struct ibv_recv_wr *bad;
	bool good = true;
	int ret;

	arena_reset(&k->l->recv);
	for (unsigned int i = 0; i < num && good; i++) {
		good = shape(k, &recv[i], turn + i);
		recv[i].wr.next = i + 1 < num ? &recv[i + 1].wr : NULL;
	}
	if (good) {
		link_push(k->l);
		ret = link_post_recv(k->l, &recv[0].wr, &bad);
		if (ret)
			KIT_FAULT(k, "posting receives failed with %s", errno_name(ret));
		else
			send_all(k, recv, num, turn);
	}
	if (KIT_GOOD(k))
		judge_list(k, recv, num);
}

static void receives_differ(struct kit *k)
{
	unsigned int turns = kit_arg(k, "turns", 1), turn = 0;

	if (!kit_link(k, kit_arg(k, "srq", 0) ? API_SRQ : API_RECV, NULL))
		return;
	log_call(&k->res->log, "/* %u receives, in lists of 1 to %d, each list followed by its SENDs */",
		 turns, LIST);
	for (unsigned int list = 0; turn < turns && KIT_GOOD(k); list++) {
		unsigned int num = 1 + list % LIST;

		receive_list(k, num, turn);
		turn += num;
	}
	collect_extra(k->l, k->res);
}

SCENARIO(receives_differ) = {
	{"receives", SUITE("differ"), QPS("RC UC UD"), POSTS("SEND 64"), ARGS({"turns", 90}),
	 CLAUSE("ibv_post_recv/DESCRIPTION"), ERRATA("COMPLETION-ORDER"),
	 SAYS("receives that differ in wr_id, number and length of their buffers, and in the region of "
	      "each, empty ones among them, are consumed as posted; more of them than the queue holds "
	      "at once")},
	{"srq-receives", QPS("RC UD"), ARGS({"srq", 1}, {"turns", 90}),
	 CLAUSE("ibv_post_srq_recv/DESCRIPTION"), NEEDS("srq")},
	{"srq-receives", QPS("XRC_SEND"), ARGS({"srq", 1}, {"turns", 90}), NEEDS("")},
	{},
};

/* Receives that are posted in INIT, before the QP can receive, are used once it can. */
static void receives_early(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct expect requester = {0}, responder = {0};
	struct ibv_sge sge;
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad = NULL;
	struct posted posted;
	int ret;

	if (!kit_link(k, API_POST, NULL))
		return;
	log_call(&k->res->log, "/* peer: ibv_modify_qp() to RESET */");
	ret = ibv_modify_qp(k->l->peer, &reset, IBV_QP_STATE);
	KIT_CHECK(k, !ret, "ibv_modify_qp of the peer to RESET failed with %s", errno_name(ret));
	sge = (struct ibv_sge){arena_address(&k->l->recv, k->l->slot[0]), 64, k->l->recv.mr->lkey};
	ret = link_post_recv(k->l, &wr, &bad);
	KIT_CHECK(k, ret, "a receive was taken in RESET");
	KIT_CHECK(k, bad == &wr, "bad_wr does not name the receive that was refused in RESET");
	judge_errno(&k->res->verdict, ret, k->r->dut.refusal.invalid);
	ret = link_peer_steps(k->l, 0, 1);
	KIT_CHECK(k, !ret, "%s of the peer failed with %s", k->l->step, errno_name(ret));
	if (!kit_plan(k, plans)) /* posts all receives */
		return;
	ret = link_peer_steps(k->l, 1, 3);
	KIT_CHECK(k, !ret, "%s of the peer failed with %s", k->l->step, errno_name(ret));
	posted = post_list(k->l, plans, k->cell->num_wr, &k->res->log);
	KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
	for (unsigned int i = 0; i < k->cell->num_wr; i++)
		plan_execute(&plans[i], k->l, &requester, &responder);
	collect(k->l, &requester, &responder, k->res);
	collect_extra(k->l, k->res);
	if (KIT_GOOD(k))
		collect_memory(k->l, 0, k->res);
}

SCENARIO(receives_early) = {
	{"receives-early", SUITE("differ"), QPS("RC UC UD"), POSTS("3 x SEND 64"),
	 CLAUSE("ibv_post_recv/DESCRIPTION"), ERRATA("POST-IN-RESET"),
	 SAYS("a receive is refused in RESET; those that were posted in INIT are consumed once the QP "
	      "is in RTR")},
	{},
};

/* A QP with an SRQ, or without a receive queue, takes no receives of its own. */
static void receive_elsewhere(struct kit *k)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad = NULL;
	int ret;

	if (!kit_link(k, API_SRQ, NULL))
		return;
	sge = (struct ibv_sge){arena_address(&k->l->recv, k->l->slot[0]), 64, k->l->recv.mr->lkey};
	log_call(&k->res->log, "ibv_post_recv(peer, recv_wr, &bad_recv_wr) /* it has an SRQ */");
	ret = ibv_post_recv(k->l->peer, &wr, &bad);
	k->res->err = ret;
	KIT_CHECK(k, ret, "a receive was posted to a QP with an SRQ");
	KIT_CHECK(k, bad == &wr, "bad_wr does not name the refused receive");
	judge_errno(&k->res->verdict, ret, k->r->dut.refusal.invalid);
	kit_alive(k, k->l);
}

SCENARIO(receive_elsewhere) = {
	{"receive-elsewhere", SUITE("differ"), QPS("RC UD"), POSTS("3 x SEND 64"), ARGS({"srq", 1}),
	 CLAUSE("ibv_post_recv/NOTES/srq"), LEVEL("SHOULD"), ERRATA("POST-ERRNO"), NEEDS("srq"),
	 SAYS("ibv_post_recv fails on a QP with an SRQ, and names the receive")},
	{},
};

#define DEPTH 4

static int send_one(struct own *o, uint64_t wr_id)
{
	struct ibv_send_wr wr = kit_wr(wr_id, IBV_WR_SEND, NULL), *bad;

	wr.num_sge = 0;
	return ibv_post_send(o->qp, &wr, &bad);
}

static int receive_one(struct own *o, uint64_t wr_id)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id}, *bad;

	return ibv_post_recv(o->qp, &wr, &bad);
}

/* As many sends and receives as were granted are taken, and complete in order. */
static void use_all(struct kit *k, struct own *o, struct link *l)
{
	const unsigned int sends = o->init.cap.max_send_wr, receives = o->init.cap.max_recv_wr;
	int ret = 0;

	for (unsigned int i = 0; i < receives && !ret; i++)
		ret = receive_one(o, 100 + i);
	KIT_CHECK(k, !ret, "a receive of %u that are granted was refused with %s", receives, errno_name(ret));
	for (unsigned int i = 0; i < sends && i < receives && !ret; i++)
		ret = send_one(o, i);
	KIT_CHECK(k, !ret, "a send of %u that are granted was refused with %s", sends, errno_name(ret));
	for (unsigned int i = 0; i < sends && i < receives; i++)
		if (!kit_expect(k, l, o->send_cq, o->qp, i, IBV_WC_SUCCESS) ||
		    !kit_expect(k, l, o->recv_cq, o->qp, 100 + i, IBV_WC_SUCCESS))
			return;
}

/* Moves it to RTS. A message for which there is no receive fails at once. */
static bool start(struct kit *k, struct own *o)
{
	struct ibv_qp_attr attr = own_values(k, o, 0);
	const int required = own_required(IBV_QPT_RC, IBV_QPS_RTS) | IBV_QP_STATE;

	attr.qp_state = IBV_QPS_RTS;
	attr.rnr_retry = 0;
	if (own_reach(k, o, IBV_QPS_RTR) && own_modify(o, &attr, required))
		KIT_FAULT(k, "ibv_modify_qp to RTS failed");
	return KIT_GOOD(k);
}

/* A QP that was in RESET has no receives, and room for as many requests as a new one. */
static void after_reset(struct kit *k)
{
	struct own o = {.to_itself = true, .init.cap = {DEPTH, DEPTH, 1, 1, 0}};
	struct link l;
	int ret = 0;

	if (!own_create(k, &o, IBV_QPT_RC) || !start(k, &o))
		return;
	l = (struct link){.dut = &k->r->dut, .cq = o.send_cq, .peer_cq = o.recv_cq};
	use_all(k, &o, &l);
	for (unsigned int i = 0; i < 3 && !ret; i++)
		ret = receive_one(&o, 200 + i);
	if (ret)
		KIT_FAULT(k, "ibv_post_recv failed with %s", errno_name(ret));
	if (!KIT_GOOD(k) || !own_reset(k, &o) || !start(k, &o))
		return;
	if (send_one(&o, 300))
		KIT_FAULT(k, "a send to a QP that was reset was refused");
	else
		kit_expect(k, &l, o.send_cq, o.qp, 300, IBV_WC_RNR_RETRY_EXC_ERR);
	if (KIT_GOOD(k) && own_reset(k, &o) && start(k, &o))
		use_all(k, &o, &l);
}

SCENARIO(after_reset) = {
	{"after-reset", SUITE("state"), QPS("RC"), CLAUSE("ibv_modify_qp/DESCRIPTION/qp_state"),
	 ERRATA("QP-RECYCLE"),
	 SAYS("a QP that was in RESET has no receives, and takes as many sends and receives as were "
	      "granted")},
	{},
};
