/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One CQ of QPs of several types, and of queues of several kinds: each completion is of its own QP and in its order. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "link/link_xrc.h"
#include "judge/watchdog.h"
#include "link/link_modify.h"
#include "suites/objects/own.h"
#include "suites/queues/tags.h"

#define KINDS 3 /* RC, UD, XRC */
#define EACH  6 /* messages of each */
#define CELL  256

/* A QP that sends, and the one that receives; the same if it is connected to itself. */
struct pair {
	struct own send, recv;
	struct ibv_srq *srq;
	uint32_t srqn, grh;
	unsigned int sent, received;
};

struct mixture {
	struct kit *k;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint8_t *mem;
	struct pair pair[KINDS];
};

static const enum ibv_qp_type types[KINDS] = {IBV_QPT_RC, IBV_QPT_UD, IBV_QPT_XRC_SEND};

static struct ibv_qp *receiver(struct pair *p)
{
	return p->recv.qp ? p->recv.qp : p->send.qp;
}

static uint32_t length(unsigned int kind, unsigned int i)
{
	return 11 + kind * 40 + i * 5;
}

/* The XRC_RECV QP and its SRQ; both XRC QPs name each other. */
static bool connect_xrc(struct mixture *m, struct pair *p)
{
	struct kit *k = m->k;
	struct ibv_srq_attr attr = {.max_wr = EACH, .max_sge = 1};
	struct own *ends[2] = {&p->send, &p->recv};

	p->recv.to_itself = true;
	if (!own_create(k, &p->recv, IBV_QPT_XRC_RECV))
		return false;
	p->srq = link_xrc_srq(k->r->dut.requester.pd, p->recv.xrcd, m->cq, &attr);
	if (!p->srq || ibv_get_srq_num(p->srq, &p->srqn)) {
		KIT_FAULT(k, "ibv_create_srq_ex failed with %s", errno_name(errno));
		return false;
	}
	for (unsigned int i = 0; i < 2; i++) {
		static const enum ibv_qp_state way[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};

		for (unsigned int s = 0; s < 3; s++) {
			struct ibv_qp_attr to = own_values(k, ends[i], 0);

			to.qp_state = way[s];
			to.dest_qp_num = ends[1 - i]->qp->qp_num;
			if (own_modify(ends[i], &to,
				       IBV_QP_STATE | own_required(ends[i]->qp->qp_type, way[s]))) {
				KIT_FAULT(k, "an XRC QP cannot be moved to %s", own_state(way[s]));
				return false;
			}
		}
	}
	return true;
}

static bool create_pair(struct mixture *m, unsigned int kind)
{
	struct pair *p = &m->pair[kind];
	struct own *o = &p->send;

	*o = (struct own){.to_itself = true,
			  .send_cq = m->cq,
			  .recv_cq = m->cq,
			  .init = {.qp_type = types[kind], .cap = {EACH, EACH, 1, 1, 0}}};
	if (types[kind] == IBV_QPT_XRC_SEND)
		o->init.cap.max_recv_wr = o->init.cap.max_recv_sge = 0;
	p->grh = types[kind] == IBV_QPT_UD ? LINK_GRH_LEN : 0;
	if (!own_create_qp(m->k, o))
		return false;
	return types[kind] == IBV_QPT_XRC_SEND ? connect_xrc(m, p) : own_reach(m->k, o, IBV_QPS_RTS);
}

static uint64_t id_of(unsigned int kind, unsigned int i, bool receive)
{
	return 0xc0000u + kind * 0x1000 + receive * 0x100 + i;
}

static bool post(struct mixture *m, unsigned int kind, unsigned int i)
{
	struct pair *p = &m->pair[kind];
	uint8_t *at = m->mem + (size_t)(kind * EACH + i) * 2 * CELL;
	struct ibv_sge from = {(uintptr_t)at, length(kind, i), m->mr->lkey};
	struct ibv_sge to = {(uintptr_t)at + CELL, p->grh + length(kind, i), m->mr->lkey};
	struct ibv_recv_wr recv = {.wr_id = id_of(kind, i, true), .sg_list = &to, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr wr = kit_wr(id_of(kind, i, false), IBV_WR_SEND, &from), *bad;
	int ret = p->srq ? ibv_post_srq_recv(p->srq, &recv, &bad_recv)
			 : ibv_post_recv(p->send.qp, &recv, &bad_recv);

	memset(at, (int)(kind * EACH + i + 1), CELL);
	if (p->grh) {
		wr.wr.ud.ah = m->ah;
		wr.wr.ud.remote_qpn = p->send.qp->qp_num;
		wr.wr.ud.remote_qkey = p->send.known.qkey;
	}
	wr.qp_type.xrc.remote_srqn = p->srqn;
	ret = ret ? ret : ibv_post_send(p->send.qp, &wr, &bad);
	return KIT_MUST(m->k, !ret, "posting failed with %s", errno_name(ret));
}

/* The next completion of one QP and direction; those of others may come between. */
static void judge(struct mixture *m, const struct ibv_wc *wc)
{
	const unsigned int kind = (wc->wr_id >> 12 & 0xf) % KINDS;
	const bool receive = wc->wr_id & 0x100;
	struct pair *p = &m->pair[kind];
	unsigned int i = receive ? p->received++ : p->sent++;
	const struct wc_expect want = {
		.wr_id = id_of(kind, i, receive) + (uint64_t)kit_arg(m->k, "more", 0),
		.status = IBV_WC_SUCCESS,
		.opcode = receive ? IBV_WC_RECV : IBV_WC_SEND,
		.qp_num = receive ? receiver(p)->qp_num : p->send.qp->qp_num,
		.frame = receive && receiver(p)->qp_type == IBV_QPT_RAW_PACKET,
		.check_len = receive,
		.byte_len = p->grh + length(kind, i),
		.with_grh = receive && p->grh,
	};

	judge_wc(&m->k->res->verdict, receive ? "receiver" : "sender", &want, wc);
	if (!receive || !KIT_GOOD(m->k))
		return;
	judge_bytes(&m->k->res->verdict, "a receive", m->mem + (size_t)(kind * EACH + i) * 2 * CELL,
		    m->mem + (size_t)(kind * EACH + i) * 2 * CELL + CELL + p->grh, length(kind, i));
}

static void exchange(struct mixture *m, unsigned int kinds)
{
	const struct link l = {.dut = &m->k->r->dut, .cq = m->cq};
	struct ibv_wc wc;

	for (unsigned int i = 0; i < EACH; i++)
		for (unsigned int kind = 0; kind < kinds; kind++)
			if (!post(m, kind, i))
				return;
	for (unsigned int i = 0; i < 2 * EACH * kinds && KIT_GOOD(m->k); i++)
		if (kit_wait(m->k, (struct link *)&l, m->cq, &wc))
			judge(m, &wc);
	KIT_CHECK(m->k, !KIT_GOOD(m->k) || !ibv_poll_cq(m->cq, 1, &wc), "a completion too much");
}

/* RC, UD and, if the cell asks for it, XRC QPs. */
static void several_types(struct kit *k)
{
	struct end *end = &k->r->dut.requester;
	const unsigned int kinds = kit_arg(k, "xrc", 0) ? KINDS : KINDS - 1;
	struct mixture m = {.k = k, .mem = end_alloc(end->pd, (size_t)2 * KINDS * EACH * CELL)};
	struct ibv_ah_attr av;

	link_address(end, end, &av);
	m.ah = ibv_create_ah(end->pd, &av);
	m.cq = ibv_create_cq(end->ctx, 2 * KINDS * EACH, NULL, NULL, 0);
	if (m.mem)
		m.mr = ibv_reg_mr(end->pd, m.mem, (size_t)2 * KINDS * EACH * CELL, IBV_ACCESS_LOCAL_WRITE);
	KIT_CHECK(k, m.ah && m.cq && m.mr, "objects of the case: %s", errno_name(errno));
	for (unsigned int kind = 0; kind < kinds; kind++)
		if (!create_pair(&m, kind))
			return;
	exchange(&m, kinds);
}

SCENARIO(several_types) = {
	{"several-types", SUITE("cq"), QPS("RC"), ARGS({"more", 0}), CLAUSE("ibv_poll_cq/DESCRIPTION/first"),
	 ERRATA("COMPLETION-ORDER"), NEEDS("operations/UD"),
	 SAYS("one CQ of both queues of an RC and a UD QP: each completion has the fields of its own "
	      "QP, and comes in its order")},
	{"several-types", QPS("XRC_SEND"), ARGS({"xrc", 1}, {"more", 0}),
	 NEEDS("srq operations/RC operations/UD"),
	 SAYS("one CQ of both queues of RC, UD and XRC QPs: each completion has the fields of its own "
	      "QP, and comes in its order")},
	{},
};

/* ---- Tag matching ---- */

/* An RC QP of the responder's end, connected to itself, whose CQ is that of the tag matching queue. */
static bool create_ordinary(struct kit *k, struct own *o, struct ibv_cq *cq)
{
	*o = (struct own){.to_itself = true,
			  .send_cq = cq,
			  .recv_cq = cq,
			  .init = {.qp_type = IBV_QPT_RC, .cap = {4, 4, 1, 1, 0}}};
	return own_create_qp(k, o) && own_reach(k, o, IBV_QPS_RTS);
}

static bool ordinary(struct tags *t, struct own *o, unsigned int turn)
{
	struct ibv_send_wr wr = kit_wr(0xf00 + turn, IBV_WR_SEND, NULL), *bad;
	struct ibv_recv_wr recv = {.wr_id = 0xe00 + turn}, *bad_recv;
	int ret = ibv_post_recv(o->qp, &recv, &bad_recv);
	bool send = false;

	ret = ret ? ret : ibv_post_send(o->qp, &wr, &bad);
	if (ret)
		KIT_FAULT(t->k, "posting on the RC QP failed with %s", errno_name(ret));
	for (unsigned int i = 0; i < 2 && KIT_GOOD(t->k); i++) { /* either may come first */
		if (!tags_next(t))
			return false;
		send = t->wc.wr_id == 0xf00 + turn;
		if ((!send && t->wc.wr_id != 0xe00 + turn) || t->wc.status ||
		    t->wc.opcode != (send ? IBV_WC_SEND : IBV_WC_RECV) ||
		    t->wc.flags & (IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID | IBV_WC_TM_SYNC_REQ))
			KIT_FAULT(t->k, "wr_id 0x%llx, status %d, opcode %d, flags 0x%x of the RC QP",
				  (unsigned long long)t->wc.wr_id, t->wc.status, t->wc.opcode, t->wc.flags);
	}
	return KIT_GOOD(t->k);
}

static void tags_beside(struct kit *k, struct tags *t)
{
	struct runner runner = *k->r;
	struct kit there = *k;
	struct own o;

	runner.dut.requester = runner.dut.responder;
	there.r = &runner;
	if (create_ordinary(&there, &o, ibv_cq_ex_to_cq(t->cq))) {
		for (unsigned int turn = 0; turn < 4 && KIT_GOOD(k); turn++) {
			const struct tags_entry e = {
				.slot = 1 + turn, .tag = 77 + turn, .mask = UINT64_MAX, .len = 100};

			if (ordinary(t, &o, turn) && tags_must_add(t, e, NULL) && ordinary(t, &o, turn) &&
			    tags_send(t, IBV_TMH_EAGER, 77 + turn + (uint64_t)kit_arg(k, "more", 0), 100) &&
			    tags_expect(t, TAGS_RECV + 1 + turn, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE))
				ordinary(t, &o, turn);
		}
	}
}

static void tags_and_rc(struct kit *k)
{
	static const struct tags_opts usual;

	tags_run(k, &usual, tags_beside);
}

SCENARIO(tags_and_rc) = {
	{"tags", SUITE("cq"), QPS("RC"), ARGS({"more", 0}), CLAUSE("ibv_poll_cq/DESCRIPTION/first"),
	 ERRATA("COMPLETION-ORDER"), NEEDS("tag_matching"),
	 SAYS("completions of an RC QP and of a queue with tags in one CQ: each has its own fields")},
	{},
};
