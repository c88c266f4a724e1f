/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Requests of one list or region that go to different QPs (UD) or shared receive queues (XRC). */
#include <errno.h>
#include <string.h>

#include "link/link_xrc.h"
#include "link/link_modify.h"
#include "suites/kit.h"

#define PLACES 3
#define EACH   4 /* receives of a destination */
#define ROOM   2048

struct place {
	struct ibv_qp *qp;   /* UD */
	struct ibv_srq *srq; /* XRC_SEND */
	struct ibv_ah *ah;
	uint32_t srqn, qkey;
	uint8_t hops;
	uint8_t *buf[EACH];
	unsigned int expected, come;
	const struct plan *plan[EACH];
};

static bool make_qp(struct kit *k, struct place *p, unsigned int i)
{
	struct link *l = k->l;
	struct ibv_qp_init_attr init = {.send_cq = l->peer_cq,
					.recv_cq = l->peer_cq,
					.cap = {1, EACH, 1, 1, 0},
					.qp_type = IBV_QPT_UD};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = l->dut->responder.port, .qkey = 0x1badcafe * (i + 1)};
	struct ibv_ah_attr address;
	int ret;

	p->qkey = attr.qkey &= 0x7fffffff;
	p->qp = ibv_create_qp(l->dut->responder.pd, &init);
	if (!p->qp)
		return false;
	ret = ibv_modify_qp(p->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	ret = ret ? ret : ibv_modify_qp(p->qp, &attr, IBV_QP_STATE);
	link_address(&l->dut->requester, &l->dut->responder, &address);
	p->hops = address.grh.hop_limit = 33 + 11 * i;
	p->ah = ibv_create_ah(l->qp->pd, &address);
	return !ret && p->ah;
}

static bool make_srq(struct kit *k, struct place *p)
{
	struct link *l = k->l;
	struct ibv_srq_attr attr = {.max_wr = EACH, .max_sge = 1};

	p->srq = link_xrc_srq(l->dut->responder.pd, l->xrcd, l->peer_cq, &attr);
	return p->srq && !ibv_get_srq_num(p->srq, &p->srqn);
}

static uint64_t id_of(unsigned int place, unsigned int at)
{
	return 0x5a00000000000000u | (uint64_t)place << 40 | at;
}

static bool post_receives(struct kit *k, struct place *p, unsigned int number)
{
	struct ibv_recv_wr wr[EACH], *bad;
	struct ibv_sge sge[EACH];

	for (unsigned int i = 0; i < EACH; i++) {
		p->buf[i] = arena_take(&k->l->recv, ROOM);
		if (!p->buf[i])
			return false;
		sge[i] = (struct ibv_sge){(uintptr_t)p->buf[i], ROOM, k->l->recv.mr->lkey};
		wr[i] = (struct ibv_recv_wr){id_of(number, i), i + 1 < EACH ? &wr[i + 1] : NULL, &sge[i], 1};
	}
	return !(p->srq ? ibv_post_srq_recv(p->srq, wr, &bad) : ibv_post_recv(p->qp, wr, &bad));
}

static bool make_places(struct kit *k, struct place *places)
{
	arena_reset(&k->l->recv);
	for (unsigned int i = 0; i < PLACES; i++) {
		errno = 0;
		if (!(k->l->qpt == IBV_QPT_UD ? make_qp(k, &places[i], i) : make_srq(k, &places[i])) ||
		    !post_receives(k, &places[i], i)) {
			KIT_FAULT(k, "creating destination %u failed with %s", i, errno_name(errno));
			return false;
		}
	}
	return true;
}

/* The hop limit of the address handle: in the IPv4 header behind 20 bytes, or in the GRH (erratum GRH-ROCE). */
static uint8_t hops_of(const uint8_t *grh)
{
	return grh[20] == 0x45 ? grh[28] : grh[7];
}

/* One completion at the responder: it is the next message for its destination. Routers take as much off each hop limit. */
static void judge_one(struct kit *k, struct place *places, int *lost)
{
	uint32_t grh = link_grh(k->l);
	struct place *p;
	const struct plan *plan;
	struct ibv_wc wc;
	unsigned int number;
	uint8_t *at;

	if (!kit_wait(k, k->l, k->l->peer_cq, &wc))
		return;
	number = wc.wr_id >> 40 & 0xff;
	KIT_CHECK(k, wc.status == IBV_WC_SUCCESS && number < PLACES, "a receive 0x%llx ended with %s",
		  (unsigned long long)wc.wr_id, value_name(status_names, wc.status));
	p = &places[number];
	KIT_CHECK(k, p->come < p->expected && wc.wr_id == id_of(number, p->come),
		  "destination %u: receive 0x%llx, expected number %u of %u", number,
		  (unsigned long long)wc.wr_id, p->come, p->expected);
	plan = p->plan[p->come];
	at = p->buf[p->come++];
	KIT_CHECK(k,
		  judge_number(&wc, (p->qp ? p->qp : k->l->peer)->qp_num, k->l->qpt == IBV_QPT_RAW_PACKET) &&
			  wc.byte_len == plan->total + grh,
		  "destination %u: qp_num 0x%x and %u bytes, expected %u bytes", number, wc.qp_num,
		  wc.byte_len, plan->total + grh);
	KIT_CHECK(k, !plan->wr->imm || (wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == plan->imm),
		  "destination %u: the immediate data is wrong", number);
	link_fetch(k->l);
	memcpy(arena_shadow(&k->l->recv, at), at, grh);
	memcpy(arena_shadow(&k->l->recv, at) + grh, plan->payload, plan->total);
	if (!grh)
		return;
	if (*lost < 0)
		*lost = p->hops - hops_of(at);
	KIT_CHECK(k, *lost >= 0 && p->hops - hops_of(at) == *lost,
		  "destination %u: hop limit %u, expected that of its address handle, %u, less %d", number,
		  hops_of(at), p->hops, *lost);
}

static void destinations(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct place places[PLACES] = {};
	struct expect requester = {0}, none = {0};
	unsigned int num = k->cell->num_wr;
	bool wr = kit_arg(k, "wr", 0);
	struct posted posted;
	int lost = -1;

	if (!kit_link(k, wr ? API_WR : API_POST, NULL) || !kit_plan(k, plans) || !make_places(k, places))
		return;
	for (unsigned int i = 0; i < num; i++) {
		struct place *p = &places[i * 5 % 7 % PLACES]; /* 0 2 0 1 0 1 2 0 ... */

		plans[i].ah = p->ah;
		plans[i].qpn = p->qp ? p->qp->qp_num : 0;
		plans[i].qkey = p->qkey;
		plans[i].srqn = p->srqn;
		plans[i].data_first = i & 1;
		plan_complete(&plans[i], k->l, &requester);
		p->plan[p->expected++] = &plans[i];
	}
	posted = wr ? post_wr(k->l, plans, num, false, &k->res->log)
		    : post_list(k->l, plans, num, &k->res->log);
	KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
	for (unsigned int i = 0; i < num && KIT_GOOD(k); i++)
		judge_one(k, places, &lost);
	collect(k->l, &requester, &none, k->res);
	collect_extra(k->l, k->res);
	if (KIT_GOOD(k))
		collect_memory(k->l, k->l->next_use, k->res);
}

SCENARIO(destinations) = {
	{"destinations-post", SUITE("differ"), QPS("UD"),
	 POSTS("SEND 10+0, SEND_WITH_IMM 101+1, SEND 192+2, SEND_WITH_IMM 283+3, SEND 374+4, "
	       "SEND_WITH_IMM 465+5, SEND 556+6, SEND_WITH_IMM 647+7"),
	 CLAUSE("ibv_post_send/DESCRIPTION/state"), ASK("posts"),
	 SAYS("the messages of one posting go to different QPs, with other Q_Keys and address handles, "
	      "each to its own, in order")},
	{"destinations-wr", ARGS({"wr", 1}), CLAUSE("ibv_wr_post/WORK-REQUESTS/QP-Specific-setters/UD")},
	{"destinations-post", QPS("XRC_SEND"), CLAUSE("ibv_post_send/DESCRIPTION/state"),
	 SAYS("the messages of one posting go to different shared receive queues, each to its own, in "
	      "order")},
	{"destinations-wr", ARGS({"wr", 1}),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/QP-Specific-setters/XRC_SEND")},
	{},
};
