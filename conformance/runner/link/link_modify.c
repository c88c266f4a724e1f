/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/link_modify.h"

/* Masks of ibv_modify_qp(3), by QP type. */
#define PATH  (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RETRY (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

static const struct {
	enum ibv_qp_type qpt;
	int init, rtr, rts;
} masks[] = {
	{IBV_QPT_RC, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	 PATH | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, RETRY | IBV_QP_SQ_PSN},
	{IBV_QPT_UC, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, PATH, IBV_QP_SQ_PSN},
	{IBV_QPT_UD, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0, IBV_QP_SQ_PSN},
	{IBV_QPT_RAW_PACKET, IBV_QP_PORT, 0, 0},
	{IBV_QPT_XRC_SEND, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, PATH,
	 RETRY | IBV_QP_SQ_PSN},
	{IBV_QPT_XRC_RECV, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	 PATH | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN},
};

void link_address(const struct end *from, const struct end *to, struct ibv_ah_attr *attr)
{
	*attr = (struct ibv_ah_attr){.port_num = from->port, .dlid = to->port_attr.lid};
	if (from->port_attr.link_layer == IBV_LINK_LAYER_INFINIBAND)
		return;
	attr->is_global = 1;
	attr->grh.dgid = to->gid;
	attr->grh.sgid_index = from->gid_index;
	attr->grh.hop_limit = 64;
}

static int access_of(enum ibv_qp_type qpt)
{
	if (qpt == IBV_QPT_UC)
		return IBV_ACCESS_REMOTE_WRITE;
	return IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
}

static unsigned int rd_atomic(const struct link *l)
{
	int n = l->dut->requester.attr.max_qp_init_rd_atom, want = l->opts.rd_atomic ? l->opts.rd_atomic : 4;

	if (n > l->dut->responder.attr.max_qp_rd_atom)
		n = l->dut->responder.attr.max_qp_rd_atom;
	return want < 0 || n < want ? n : want;
}

enum ibv_mtu link_mtu(const struct link *l)
{
	enum ibv_mtu mtu = l->opts.mtu ? l->opts.mtu : l->dut->mtu;

	if (mtu > l->dut->requester.port_attr.active_mtu)
		mtu = l->dut->requester.port_attr.active_mtu;
	return mtu > l->dut->responder.port_attr.active_mtu ? l->dut->responder.port_attr.active_mtu : mtu;
}

/* Timers and retry counts that a suite sets. */
static void override(const struct ibv_qp_attr *want, struct ibv_qp_attr *attr)
{
	attr->min_rnr_timer = want->min_rnr_timer;
	attr->timeout = want->timeout;
	attr->retry_cnt = want->retry_cnt;
	attr->rnr_retry = want->rnr_retry;
}

/* Performs the steps first to last - 1 of INIT, RTR, RTS. */
static int take_steps(struct link *l, struct ibv_qp *qp, struct ibv_qp *peer, const struct end *from,
		      const struct end *to, unsigned int first, unsigned int last)
{
	static const enum ibv_qp_state states[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};
	static const char *const steps[] = {"ibv_modify_qp to INIT", "ibv_modify_qp to RTR",
					    "ibv_modify_qp to RTS"};
	struct ibv_qp_attr attr = {
		.port_num = from->port,
		.qp_access_flags = access_of(qp->qp_type),
		.qkey = LINK_QKEY,
		.path_mtu = link_mtu(l),
		.dest_qp_num = peer->qp_num,
		.rq_psn = l->opts.psn ? l->opts.psn : LINK_PSN,
		.sq_psn = l->opts.psn ? l->opts.psn : LINK_PSN,
		.max_dest_rd_atomic = rd_atomic(l),
		.max_rd_atomic = rd_atomic(l),
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 6,
	};
	size_t i = 0;
	int ret = 0;

	if (l->opts.attr)
		override(l->opts.attr, &attr);
	link_address(from, to, &attr.ah_attr);
	while (masks[i].qpt != qp->qp_type)
		i++;
	const int mask[] = {masks[i].init, masks[i].rtr, masks[i].rts};

	for (unsigned int step = first; step < last && step < sizeof(mask) / sizeof(mask[0]) && !ret;
	     step++) {
		l->step = steps[step];
		attr.qp_state = states[step];
		errno = EDOM; /* not what a call that succeeds may return */
		ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask[step]);
	}
	return ret;
}

static int bring_up(struct link *l, struct ibv_qp *qp, struct ibv_qp *peer, const struct end *from,
		    const struct end *to)
{
	return take_steps(l, qp, peer, from, to, 0, qp == l->qp ? 3 - l->opts.short_of : 3);
}

int link_go_on(struct link *l)
{
	return take_steps(l, l->qp, l->peer, &l->dut->requester, &l->dut->responder, 3 - l->opts.short_of, 3);
}

int link_restart(struct link *l)
{
	return take_steps(l, l->qp, l->peer, &l->dut->requester, &l->dut->responder, 0, 3);
}

int link_peer_steps(struct link *l, unsigned int first, unsigned int last)
{
	return take_steps(l, l->peer, l->qp, &l->dut->responder, &l->dut->requester, first, last);
}

void link_log_connect(const struct link *l, struct log *log)
{
	char needs[128];

	if (l->usual) {
		snprintf(needs, sizeof(needs), "%s%s%s%s%s%s", l->api == API_SRQ ? "CELL_SRQ | " : "",
			 l->needs & NEED_OWN_WINDOW ? "CELL_OWN_WINDOW | " : "",
			 l->needs & NEED_PEER_WINDOW ? "CELL_PEER_WINDOW | " : "",
			 l->needs & NEED_BOUND ? "CELL_BOUND | " : "",
			 l->needs & NEED_FLUSH ? "CELL_FLUSH | " : "",
			 l->needs & NEED_TSO ? "CELL_TSO | " : "");
		if (needs[0])
			needs[strlen(needs) - 3] = '\0';
		log_call(log, "cell_connect(%s)", needs[0] ? needs : "0");
		return;
	}
	log_call(log, "/* peer: ibv_modify_qp() to INIT, RTR, RTS */");
	log_call(log, "/* qp: ibv_modify_qp() to INIT, RTR, RTS */");
	if (l->back.qp)
		log_call(log,
			 "/* back, the XRC_SEND QP of the responder: ibv_modify_qp() to INIT, RTR, RTS */");
}

int link_connect(struct link *l, struct log *log)
{
	const struct dut *dut = l->dut;
	int ret;

	link_log_connect(l, log);
	ret = bring_up(l, l->peer, l->qp, &dut->responder, &dut->requester);
	if (ret)
		return ret;
	ret = bring_up(l, l->qp, l->peer, &dut->requester, &dut->responder);
	if (ret || !l->back.qp)
		return ret;
	ret = bring_up(l, l->back.peer, l->back.qp, &dut->requester, &dut->responder);
	return ret ? ret : bring_up(l, l->back.qp, l->back.peer, &dut->responder, &dut->requester);
}
