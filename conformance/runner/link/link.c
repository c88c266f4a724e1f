/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "link/link.h"
#include "link/link_modify.h"
#include "link/link_xrc.h"
#include "remote/remote.h"

#define ARENA_SIZE (128 * 1024)
#define TSO_HEADER 64
#define CQ_DEPTH   64

/* Whether one of the first `num` work requests of the cell has this operation. */
static bool cell_has(const struct cell *cell, unsigned int num, enum ibv_wr_opcode op)
{
	for (unsigned int i = 0; i < num; i++)
		if (cell->wr[i].op == op)
			return true;
	return false;
}

/* A request that must be refused needs only its arguments. */
static unsigned int needs_of(const struct cell *cell)
{
	unsigned int done = cell->post == POST_REFUSED ? (unsigned int)cell->bad_wr : cell->num_wr, needs = 0;

	if (cell_has(cell, cell->num_wr, IBV_WR_BIND_MW))
		needs |= NEED_OWN_WINDOW;
	/* a QP for ibv_post_send() has no send_ops_flags: TSO is requested by max_tso_header (ibv_create_qp_ex(3)) */
	if (cell_has(cell, cell->num_wr, IBV_WR_TSO) &&
	    (cell->qpt == IBV_QPT_UD || cell->qpt == IBV_QPT_RAW_PACKET))
		needs |= NEED_TSO;
	if (cell_has(cell, done, IBV_WR_LOCAL_INV))
		needs |= NEED_OWN_WINDOW | NEED_BOUND;
	if (cell_has(cell, done, IBV_WR_SEND_WITH_INV))
		needs |= NEED_PEER_WINDOW | NEED_BOUND;
	if (cell_has(cell, done, IBV_WR_FLUSH))
		needs |= NEED_FLUSH;
	return needs;
}

/* Whether any posting of the cell uses ibv_wr_*. */
static bool extended(const struct cell *cell)
{
	return cell->api == API_WR || (cell->before.num_wr && cell->before.api == API_WR) ||
	       (cell->behind.num_wr && cell->behind.api == API_WR);
}

bool link_fits(const struct link *l, const struct cell *cell)
{
	return l->qp && l->api == cell->api && l->extended == extended(cell) && l->qpt == cell->qpt &&
	       l->ask == cell->ask && l->ask_inline == cell->ask_inline && l->ask_sge == cell->ask_sge &&
	       l->needs == needs_of(cell);
}

static int create_device_memory(struct link *l, struct arena *a, const char *name, struct ibv_pd *pd,
				int access)
{
	int ret = arena_create_dm(a, name, pd, l->opts.dm_offset, access, &l->step);

	a->dm_piece = l->opts.dm_piece;
	return ret;
}

static int create_arena(struct link *l, struct arena *a, enum link_memory which, const char *name, int access)
{
	struct ibv_pd *pd = which == LINK_LOCAL ? l->dut->requester.pd : l->dut->responder.pd;

	if (l->opts.device_memory & which)
		return create_device_memory(l, a, name, pd, access);
	l->step = which == LINK_LOCAL ? "ibv_reg_mr of the requester" : "ibv_reg_mr of the responder";
	return arena_create(a, name, pd, ARENA_SIZE, access);
}

static int create_memory(struct link *l)
{
	int remote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;
	int own = l->needs & NEED_OWN_WINDOW ? IBV_ACCESS_MW_BIND | IBV_ACCESS_REMOTE_WRITE : 0;
	int received = IBV_ACCESS_LOCAL_WRITE;
	int ret;

	if (l->needs & NEED_PEER_WINDOW || l->opts.windows)
		remote |= IBV_ACCESS_MW_BIND;
	if (l->needs & NEED_FLUSH)
		remote |= IBV_ACCESS_FLUSH_GLOBAL;
	if (l->opts.on_demand & 1)
		own |= IBV_ACCESS_ON_DEMAND;
	if (l->opts.on_demand & 2) {
		remote |= IBV_ACCESS_ON_DEMAND;
		received |= IBV_ACCESS_ON_DEMAND;
	}
	ret = create_arena(l, &l->local, LINK_LOCAL, "memory of the requester", IBV_ACCESS_LOCAL_WRITE | own);
	if (!ret && l->opts.mixed)
		ret = arena_create(&l->second, "host memory of the requester", l->dut->requester.pd,
				   ARENA_SIZE, IBV_ACCESS_LOCAL_WRITE);
	if (!ret)
		ret = create_arena(l, &l->target, LINK_TARGET, "RDMA memory of the responder", remote);
	if (!ret)
		ret = create_arena(l, &l->recv, LINK_RECV, "receive memory of the responder", received);
	return ret;
}

static struct ibv_cq *create_cq(struct link *l, struct ibv_context *ctx, struct ibv_comp_channel *channel)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = l->opts.cq_depth ? l->opts.cq_depth : CQ_DEPTH,
		.channel = channel,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    (l->opts.timestamps ? IBV_WC_EX_WITH_COMPLETION_TIMESTAMP : 0),
	};
	struct ibv_cq_ex *cq;

	if (!l->opts.cq_ex)
		return ibv_create_cq(ctx, attr.cqe, NULL, channel, 0);
	cq = ibv_create_cq_ex(ctx, &attr);
	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

static int create_cqs(struct link *l)
{
	l->step = "ibv_create_comp_channel";
	l->channel = ibv_create_comp_channel(l->dut->responder.ctx);
	if (!l->channel)
		return errno_of_failure();
	l->step = l->opts.cq_ex ? "ibv_create_cq_ex" : "ibv_create_cq";
	l->cq = l->opts.cq ? l->opts.cq : create_cq(l, l->dut->requester.ctx, NULL);
	l->peer_cq = l->opts.peer_cq ? l->opts.peer_cq
		     : l->cq         ? create_cq(l, l->dut->responder.ctx, l->channel)
				     : NULL;
	return l->peer_cq ? 0 : errno_of_failure();
}

/* Logs the call of ibv_create_qp_ex(). */
static void log_requester(const struct link *l, const struct ibv_qp_init_attr_ex *attr, struct log *log)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	char ops[256], more[384] = "";
	size_t used = 0;

	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		used = snprintf(more, sizeof(more), ", .send_ops_flags = %s",
				flags_name(send_ops_names, "IBV_QP_EX_WITH_", l->ask, ops, sizeof(ops)));
	if (attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER)
		used += snprintf(more + used, sizeof(more) - used, ", .max_tso_header = %u",
				 attr->max_tso_header);
	if (attr->sq_sig_all)
		snprintf(more + used, sizeof(more) - used, ", .sq_sig_all = 1");
	log_call(
		log,
		"qp = ibv_create_qp_ex(ctx, &(struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_%s, .pd = pd, "
		".send_cq = "
		"cq, .recv_cq = cq, .cap = {%u, %u, %u, %u, %u}, .comp_mask = IBV_QP_INIT_ATTR_PD%s%s%s})",
		value_name(qpt_names, l->qpt), cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge,
		cap->max_recv_sge, cap->max_inline_data,
		attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ? " | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS" : "",
		attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER ? " | IBV_QP_INIT_ATTR_MAX_TSO_HEADER" : "",
		more);
	if (l->extended)
		log_call(log, "qpx = qp ? ibv_qp_to_qp_ex(qp) : NULL");
}

static uint32_t num_receives(const struct link *l)
{
	return l->opts.receives ? l->opts.receives : 1;
}

static struct ibv_qp_init_attr_ex requester_attr(const struct link *l)
{
	bool receives = l->qpt != IBV_QPT_XRC_SEND && !l->opts.own_srq;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = l->cq,
		.recv_cq = l->opts.recv_cq ? l->opts.recv_cq : l->cq,
		.srq = l->opts.own_srq,
		.cap = {l->opts.sq_depth ? l->opts.sq_depth : LINK_SQ_DEPTH, receives ? num_receives(l) : 0,
			l->ask_sge, receives, l->ask_inline},
		.qp_type = l->qpt,
		.sq_sig_all = l->opts.sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = l->opts.pd ? l->opts.pd : l->dut->requester.pd,
	};

	if (l->extended) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = l->ask;
	}
	if (l->ask & IBV_QP_EX_WITH_TSO || l->needs & NEED_TSO) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
		attr.max_tso_header = l->opts.tso_header ? l->opts.tso_header : TSO_HEADER;
	}
	return attr;
}

/* The QP under test. For the ibv_wr_* API it is created as in ibv_wr_post(3), USAGE. */
static int create_requester(struct link *l, struct log *log)
{
	struct ibv_qp_init_attr_ex attr = requester_attr(l);

	log_requester(l, &attr, log);
	l->step = "ibv_create_qp_ex";
	l->qp = ibv_create_qp_ex(l->dut->requester.ctx, &attr);
	if (!l->qp)
		return errno_of_failure();
	l->cap = attr.cap;
	if (l->extended)
		l->qpx = ibv_qp_to_qp_ex(l->qp);
	l->step = "ibv_qp_to_qp_ex";
	return l->extended && !l->qpx ? EINVAL : 0;
}

static int create_srq(struct link *l)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 2 * LINK_RECV_SLOTS, .max_sge = l->ask_sge}};

	l->step = "ibv_create_srq";
	l->srq = ibv_create_srq(l->dut->responder.pd, &attr);
	l->cap.max_recv_sge = attr.attr.max_sge;
	return l->srq ? 0 : errno_of_failure();
}

static int create_peer(struct link *l)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = l->peer_cq,
		.recv_cq = l->peer_cq,
		.srq = l->srq,
		.cap = {l->opts.peer_no_sends ? 0 : num_receives(l), l->srq ? 0 : 2 * LINK_RECV_SLOTS, 1,
			l->srq ? 0 : l->ask_sge, 0},
		.qp_type = l->qpt,
	};

	l->step = "ibv_create_qp of the peer";
	l->peer = ibv_create_qp(l->dut->responder.pd, &attr);
	if (!l->peer)
		return errno_of_failure();
	if (l->api == API_RECV)
		l->cap.max_recv_sge = attr.cap.max_recv_sge;
	return 0;
}

/* Frames are sent to the broadcast address, so the peer's MAC address does not matter. */
static int steer_broadcast(struct link *l)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = {.type = IBV_FLOW_ATTR_NORMAL,
			 .size = sizeof(rule),
			 .num_of_specs = 1,
			 .port = l->dut->responder.port},
		.eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth)},
	};

	memset(rule.eth.val.dst_mac, 0xff, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	l->step = "ibv_create_flow";
	l->flow = ibv_create_flow(l->peer, &rule.attr);
	return l->flow ? 0 : errno_of_failure();
}

static int create_window(struct link *l)
{
	if (!(l->needs & (NEED_OWN_WINDOW | NEED_PEER_WINDOW)))
		return 0;
	l->step = "ibv_alloc_mw (type 2)";
	l->mw = ibv_alloc_mw(l->needs & NEED_PEER_WINDOW ? l->dut->responder.pd : l->dut->requester.pd,
			     IBV_MW_TYPE_2);
	return l->mw ? 0 : errno_of_failure();
}

static int create_ah(struct link *l)
{
	struct ibv_ah_attr attr;

	l->step = "ibv_create_ah";
	link_address(&l->dut->requester, &l->dut->responder, &attr);
	l->ah = ibv_create_ah(l->dut->requester.pd, &attr);
	return l->ah ? 0 : errno_of_failure();
}

static int create_slots(struct link *l)
{
	l->step = "receive buffers";
	for (unsigned int i = 0; i < LINK_RECV_SLOTS; i++) {
		l->slot[i] = arena_take(&l->recv, LINK_GRH_LEN + LINK_RECV_LEN);
		if (!l->slot[i])
			return ENOMEM;
	}
	return 0;
}

/*
 * A creation that must fail proves something only if the same creation with a legal operation succeeds: SEND
 * is legal on every QP type.
 */
static int create_refused(struct link *l, struct log *log)
{
	uint64_t ask = l->ask;
	int ret;

	l->ask = IBV_QP_EX_WITH_SEND;
	ret = create_requester(l, log);
	l->ask = ask;
	if (ret) {
		l->step = "ibv_create_qp_ex with a legal operation";
		return ret;
	}
	log_call(log, "ibv_destroy_qp(qp)");
	ibv_destroy_qp(l->qp);
	l->qp = NULL;
	return create_requester(l, log);
}

void link_log(const struct link *l, struct log *log)
{
	struct ibv_qp_init_attr_ex attr = requester_attr(l);

	log_requester(l, &attr, log);
	link_log_connect(l, log);
}

int link_create(struct link *l, const struct dut *dut, const struct cell *cell, struct log *log)
{
	return link_create_opts(l, dut, cell, NULL, log);
}

int link_create_opts(struct link *l, const struct dut *dut, const struct cell *cell,
		     const struct link_opts *opts, struct log *log)
{
	int ret;

	memset(l, 0, sizeof(*l));
	l->dut = dut;
	if (opts)
		l->opts = *opts;
	l->usual = !opts;
	l->srq = l->opts.srq;
	l->api = cell->api;
	l->extended = extended(cell);
	/* the receiving end of an XRC pair is always the peer */
	l->qpt = cell->qpt == IBV_QPT_XRC_RECV ? IBV_QPT_XRC_SEND : cell->qpt;
	l->ask = cell->ask;
	l->ask_inline = cell->ask_inline;
	l->ask_sge = cell->ask_sge;
	l->needs = needs_of(cell);
	ret = create_cqs(l);
	if (!ret && cell->create == CREATE_REFUSED)
		return create_refused(l, log);
	if (!ret)
		ret = create_requester(l, log);
	if (ret)
		return ret;
	return link_finish(l, log);
}

int link_begin(struct link *l)
{
	return create_cqs(l);
}

int link_finish(struct link *l, struct log *log)
{
	int ret = create_memory(l);

	if (!ret)
		ret = create_window(l);
	if (!ret && l->api == API_SRQ && l->qpt != IBV_QPT_XRC_SEND && !l->srq)
		ret = create_srq(l);
	if (!ret)
		ret = l->qpt == IBV_QPT_XRC_SEND ? link_xrc_create(l) : create_peer(l);
	if (!ret && l->qpt == IBV_QPT_RAW_PACKET)
		ret = steer_broadcast(l);
	if (!ret)
		ret = create_ah(l);
	if (!ret)
		ret = link_connect(l, log);
	if (!ret)
		ret = create_slots(l);
	return ret;
}

void link_destroy(struct link *l)
{
	if (l->flow)
		ibv_destroy_flow(l->flow);
	if (l->mw) /* before the QP that it may be bound to: some devices require this order */
		ibv_dealloc_mw(l->mw);
	if (l->qp)
		ibv_destroy_qp(l->qp);
	if (l->peer)
		ibv_destroy_qp(l->peer);
	link_xrc_destroy(l);
	if (l->srq && !l->opts.srq)
		ibv_destroy_srq(l->srq);
	if (l->xrcd)
		ibv_close_xrcd(l->xrcd);
	if (l->ah)
		ibv_destroy_ah(l->ah);
	if (l->cq && l->cq != l->opts.cq)
		ibv_destroy_cq(l->cq);
	if (l->peer_cq && l->peer_cq != l->opts.peer_cq)
		ibv_destroy_cq(l->peer_cq);
	if (l->channel)
		ibv_destroy_comp_channel(l->channel);
	arena_destroy(&l->local);
	arena_destroy(&l->second);
	arena_destroy(&l->target);
	arena_destroy(&l->recv);
	memset(l, 0, sizeof(*l));
}

void link_push(struct link *l)
{
	arena_push(&l->local);
	arena_push(&l->target);
	arena_push(&l->recv);
	end_push();
}

void link_fetch(struct link *l)
{
	end_sync();
	arena_fetch(&l->local);
	arena_fetch(&l->target);
	arena_fetch(&l->recv);
}

uint64_t link_recv_wr_id(unsigned int index)
{
	return 0x4ec0000000000000u + index;
}

int link_post_recv(struct link *l, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return l->srq ? ibv_post_srq_recv(l->srq, wr, bad) : ibv_post_recv(l->peer, wr, bad);
}

int link_fill_recv(struct link *l)
{
	/* A library may post a receive of an SRQ whose pages are missing again, behind others: there are none. */
	const unsigned int most = l->opts.on_demand & 2 && l->qpt == IBV_QPT_XRC_SEND ? 1 : LINK_RECV_SLOTS;

	while (l->next_post - l->next_use < most) {
		uint8_t *buf = l->slot[l->next_post % LINK_RECV_SLOTS];
		struct ibv_sge sge = {arena_address(&l->recv, buf), link_grh(l) + LINK_RECV_LEN,
				      l->recv.mr->lkey};
		struct ibv_recv_wr wr = {.wr_id = link_recv_wr_id(l->next_post),
					 .sg_list = &sge,
					 .num_sge = 1},
				   *bad;
		int ret;

		memset(buf, 0x5c, sge.length);
		memset(arena_shadow(&l->recv, buf), 0x5c, sge.length);
		arena_written(&l->recv, buf, sge.length);
		ret = link_post_recv(l, &wr, &bad);
		if (ret)
			return ret;
		l->next_post++;
	}
	return 0;
}
