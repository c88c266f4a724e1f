/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The order of completions, which requests have one, and memory that the caller may reuse. */
#include <stdlib.h>
#include <string.h>

#include "link/link_modify.h"
#include "suites/kit.h"

static struct link_opts options(const struct kit *k)
{
	static const struct ibv_qp_attr quick = {
		.min_rnr_timer = 8, .rnr_retry = 7, .timeout = 14, .retry_cnt = 7};

	return (struct link_opts){.sq_sig_all = kit_arg(k, "sig_all", 0),
				  .attr = kit_arg(k, "late_receives", 0) ? &quick : NULL,
				  .sq_depth = kit_arg(k, "sq_depth", 0),
				  .psn = kit_arg(k, "psn", 0),
				  .mtu = kit_arg(k, "mtu", 0),
				  .rd_atomic = kit_arg(k, "rd_atomic", 0),
				  .cq_ex = kit_arg(k, "ex", 0),
				  .on_demand = kit_arg(k, "on_demand", 0),
				  .device_memory = kit_arg(k, "device_memory", 0),
				  .dm_offset = kit_arg(k, "dm_offset", 0),
				  .dm_piece = kit_arg(k, "dm_piece", 0),
				  .mixed = kit_arg(k, "mixed", 0)};
}

static void finish(struct kit *k, struct plan *plans, unsigned int first_use)
{
	struct expect requester = {0}, responder = {0};

	for (unsigned int i = 0; i < k->cell->num_wr; i++)
		plan_execute(&plans[i], k->l, &requester, &responder);
	collect(k->l, &requester, &responder, k->res);
	if (KIT_GOOD(k))
		kit_alive(k, k->l);
	collect_extra(k->l, k->res);
	if (KIT_GOOD(k))
		collect_memory(k->l, first_use, k->res);
}

/* Atomics whose comparison fails, or that all have the same address. */
static void set_targets(struct kit *k, struct plan *plans)
{
	for (unsigned int i = 0; i < k->cell->num_wr; i++) {
		if (kit_arg(k, "same", 0))
			plans[i].target = plans[0].target;
		if (kit_arg(k, "differ", 0)) {
			plans[i].target[0] ^= 0x80;
			memcpy(arena_shadow(&k->l->target, plans[i].target), plans[i].target, 8);
		}
	}
}

/* Posts all requests of the cell, at once or one by one, through one API or alternately through both. */
static void post_all(struct kit *k, struct plan *plans)
{
	bool wr = kit_arg(k, "wr", 0), turns = kit_arg(k, "turns", 0);
	unsigned int num = k->cell->num_wr, step = kit_arg(k, "each", 0) ? 1 : num;
	struct posted posted;

	for (unsigned int i = 0; i < num; i += step) {
		if (wr && !(turns && i & 1))
			posted = post_wr(k->l, &plans[i], step, false, &k->res->log);
		else
			posted = post_list(k->l, &plans[i], step, &k->res->log);
		KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
	}
}

/* The requests of the cell, again and again: each time at other places of the rings. */
static void in_order(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct link_opts opts = options(k);
	unsigned int first_use;

	k->res->log.psn = opts.psn;
	if (!kit_link(k, kit_arg(k, "wr", 0) ? API_WR : API_POST, &opts))
		return;
	k->res->log.mtu = k->l->qpt == IBV_QPT_UD ? 0 : 128u << link_mtu(k->l);
	if (opts.sq_sig_all && kit_arg(k, "wr", 0)) { /* an aborted region leaves the QP as it was created */
		log_call(&k->res->log, "ibv_wr_start(qpx), ibv_wr_abort(qpx)");
		ibv_wr_start(k->l->qpx);
		ibv_wr_abort(k->l->qpx);
	}
	for (int rounds = kit_arg(k, "rounds", 1); rounds && KIT_GOOD(k) && kit_plan(k, plans); rounds--) {
		set_targets(k, plans);
		first_use = k->l->next_use;
		post_all(k, plans);
		if (KIT_GOOD(k))
			finish(k, plans, first_use);
	}
}

/* The peer has no receives when the requests are posted: those from the first that needs one on are repeated. */
static void late_receives(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct link_opts opts = options(k);
	struct link other = {0};
	int ret = 0;

	k->res->log.psn = opts.psn;
	if (kit_link(k, API_POST, &opts) && kit_link_second(k, &other, API_POST, NULL)) {
		for (unsigned int i = 0; i < k->cell->num_wr && !ret; i++)
			ret = plan_wr(&plans[i], k->l, &k->cell->wr[i], i, k->r->seed);
		if (ret)
			KIT_FAULT(k, "buffers of the case: %s", errno_name(ret));
		else
			post_all(k, plans);
		if (KIT_GOOD(k))
			kit_alive(k, &other); /* meanwhile the first has been refused */
		log_call(&k->res->log, "/* only now: receives for the first QP */");
		ret = link_fill_recv(k->l);
		if (ret)
			KIT_FAULT(k, "posting receives failed with %s", errno_name(ret));
		if (KIT_GOOD(k))
			finish(k, plans, 0);
	}
	link_destroy(&other);
}

/* Two buffers of the same size, one at either end. */
struct pair {
	uint8_t *own, *peers;
	struct ibv_mr *mr, *peers_mr;
};

static bool pair_create(struct kit *k, struct pair *p, size_t size)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

	p->own = end_alloc(k->r->dut.requester.pd, size);
	p->peers = end_alloc(k->r->dut.responder.pd, size);
	if (p->own && p->peers) {
		p->mr = ibv_reg_mr(k->r->dut.requester.pd, p->own, size, access);
		p->peers_mr = ibv_reg_mr(k->r->dut.responder.pd, p->peers, size,
					 access | (k->l->qpt == IBV_QPT_UC ? 0 : IBV_ACCESS_REMOTE_READ));
	}
	if (!p->mr || !p->peers_mr)
		KIT_FAULT(k, "no memory of %zu bytes", size);
	return p->mr && p->peers_mr;
}

static void pair_destroy(struct pair *p)
{
	if (p->mr)
		ibv_dereg_mr(p->mr);
	if (p->peers_mr)
		ibv_dereg_mr(p->peers_mr);
	end_free(p->own);
	end_free(p->peers);
}

/* A WRITE of the first half, one of the second, and a READ of all into the requester's buffer, which was cleared. */
static void post_long(struct kit *k, const struct pair *p, uint8_t *copy, uint32_t len)
{
	struct link *l = k->l;
	struct ibv_sge sge[2] = {{(uintptr_t)p->own, len, p->mr->lkey},
				 {(uintptr_t)p->own + len, len, p->mr->lkey}};
	struct ibv_send_wr wr[2] = {kit_wr(1, IBV_WR_RDMA_WRITE, &sge[0]),
				    kit_wr(2, IBV_WR_RDMA_WRITE, &sge[1])};
	unsigned int reads = kit_arg(k, "read", 0);
	int rc;

	memcpy(copy, p->own, 2 * len);
	for (int i = 0; i < 2; i++) {
		wr[i].wr.rdma.remote_addr = (uintptr_t)p->peers + i * len;
		wr[i].wr.rdma.rkey = p->peers_mr->rkey;
		wr[i].qp_type.xrc.remote_srqn = l->srqn;
	}
	wr[0].next = &wr[1];
	rc = kit_post(k, l->qp, l->peer, wr, NULL);
	KIT_CHECK(k, !rc, "posting was refused with %s", errno_name(rc));
	for (uint64_t id = 1; id <= 2; id++)
		if (!kit_expect(k, l, l->cq, l->qp, id, IBV_WC_SUCCESS))
			return;
	kit_alive(k, l); /* on UC a WRITE completes before its data is visible */
	end_sync();
	KIT_CHECK(k, !memcmp(p->peers, copy, 2 * len), "two WRITEs of %u bytes: bytes are wrong", len);
	if (!reads)
		return;
	memset(p->own, 0, 2 * len);
	wr[0].opcode = wr[1].opcode = IBV_WR_RDMA_READ;
	rc = kit_post(k, l->qp, l->peer, wr, NULL);
	KIT_CHECK(k, !rc, "posting was refused with %s", errno_name(rc));
	for (uint64_t id = 1; id <= 2; id++)
		if (!kit_expect(k, l, l->cq, l->qp, id, IBV_WC_SUCCESS))
			return;
	end_sync();
	KIT_CHECK(k, !memcmp(p->own, copy, 2 * len), "two READs of %u bytes: bytes are wrong", len);
}

/* Messages of more packets than a requester sends without an acknowledgement. */
static void long_messages(struct kit *k)
{
	const struct link_opts opts = options(k);
	uint32_t len = kit_arg(k, "bytes", 0), x = k->r->seed + 1;
	uint8_t *copy = malloc(2 * len);
	struct pair p = {0};

	if (copy && kit_link(k, API_POST, &opts) && pair_create(k, &p, 2 * len)) {
		k->res->log.mtu = 128u << link_mtu(k->l);
		for (uint32_t i = 0; i < 2 * len; i++, x = x * 1664525u + 1013904223u)
			p.own[i] = x >> 24;
		memset(p.peers, 0, 2 * len);
		end_written(p.peers, 2 * len);
		post_long(k, &p, copy, len);
	}
	link_destroy(k->l);
	pair_destroy(&p);
	free(copy);
}

/*
 * Requests, SGE lists and inline data are overwritten as soon as the call returns, when the device may
 * not have started to execute them.
 */
static void reuse(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct ibv_send_wr wr[CELL_MAX_WR];
	unsigned int first_use;
	int rc;

	if (!kit_link(k, API_POST, NULL) || !kit_plan(k, plans))
		return;
	first_use = k->l->next_use;
	kit_list(k, plans, k->cell->num_wr, wr);
	rc = kit_post(k, k->l->qp, k->l->peer, wr, NULL);
	memset(wr, 0xff, sizeof(wr));
	for (unsigned int i = 0; i < k->cell->num_wr; i++) {
		plan_scribble(&plans[i], k->l);
		if (!plans[i].wr->recv || plans[i].wr->effect != EFFECT_READ)
			memset(plans[i].sge, 0xff, sizeof(plans[i].sge));
	}
	log_call(&k->res->log, "/* the requests, their SGE lists and inline buffers are overwritten */");
	KIT_CHECK(k, !rc, "posting was refused with %s", errno_name(rc));
	finish(k, plans, first_use);
}

/* Once the completions of both sides were polled, their buffers are the caller's: it overwrites them, and so they stay. */
static void reuse_completed(struct kit *k)
{
	static struct plan plan;
	struct link *l = k->l;
	unsigned int first_use;

	if (!kit_link(k, API_POST, NULL) || !kit_plan(k, &plan))
		return;
	first_use = l->next_use;
	for (unsigned int round = 0; round < 3 && KIT_GOOD(k); round++) {
		struct expect none = {0}, requester = {0}, responder = {0};
		uint8_t *from = arena_at(&l->local, plan.sge[0].addr),
			*to = l->slot[l->next_use % LINK_RECV_SLOTS];
		struct posted posted = post_list(l, &plan, 1, &k->res->log);

		KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
		plan_execute(&plan, l, &requester, &responder);
		if (!kit_expect(k, l, l->cq, l->qp, plan.wr_id, IBV_WC_SUCCESS))
			return;
		arena_fill(&l->local, from, plan.total,
			   k->r->seed + round); /* the message may not have arrived yet */
		link_push(l);
		collect(l, &none, &responder, k->res);
		if (!KIT_GOOD(k))
			return;
		collect_memory(l, first_use, k->res);
		memset(to, 0x77, LINK_RECV_LEN);
		memset(arena_shadow(&l->recv, to), 0x77, LINK_RECV_LEN);
		end_written(to, LINK_RECV_LEN);
		memcpy(plan.payload, from, plan.total);
	}
	kit_alive(k, l);
	if (KIT_GOOD(k))
		collect_memory(l, first_use, k->res);
}

/* The same for receives: the list is overwritten before the message arrives. */
static void reuse_recv(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct link *l = k->l;
	struct ibv_recv_wr wr[2], *bad;
	struct ibv_sge sge[2];
	struct posted posted;
	int rc;

	if (!kit_link(k, kit_arg(k, "srq", 0) ? API_SRQ : API_POST, NULL))
		return;
	for (int i = 0; i < 2; i++) {
		uint8_t *buf = l->slot[l->next_post % LINK_RECV_SLOTS];

		sge[i] = (struct ibv_sge){(uintptr_t)buf, link_grh(l) + LINK_RECV_LEN, l->recv.mr->lkey};
		memset(buf, 0x5c, sge[i].length);
		memset(arena_shadow(&l->recv, buf), 0x5c, sge[i].length);
		end_written(buf, sge[i].length);
		wr[i] = (struct ibv_recv_wr){link_recv_wr_id(l->next_post++), i ? NULL : &wr[1], &sge[i], 1};
	}
	log_call(&k->res->log,
		 "%s, recv_wr, &bad_recv_wr) /* two; the requests and SGE lists are overwritten */",
		 l->srq ? "ibv_post_srq_recv(srq" : "ibv_post_recv(peer");
	rc = link_post_recv(l, wr, &bad);
	memset(wr, 0xff, sizeof(wr));
	memset(sge, 0xff, sizeof(sge));
	KIT_CHECK(k, !rc, "posting the receives was refused with %s", errno_name(rc));
	if (!kit_plan(k, plans))
		return;
	posted = post_list(l, plans, k->cell->num_wr, &k->res->log);
	KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
	finish(k, plans, 0);
}

const struct scenario order_scenarios[] = {
	{"in_order", in_order}, {"late_receives", late_receives}, {"long_messages", long_messages},
	{"reuse", reuse},       {"reuse_recv", reuse_recv},       {"reuse_completed", reuse_completed},
	{NULL, NULL},
};
