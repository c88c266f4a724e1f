/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <fcntl.h>

#include "link/link_xrc.h"

struct ibv_xrcd *link_xrcd(struct ibv_context *ctx)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};

	return ibv_open_xrcd(ctx, &attr);
}

struct ibv_srq *link_xrc_srq(struct ibv_pd *pd, struct ibv_xrcd *xrcd, struct ibv_cq *cq,
			     struct ibv_srq_attr *attr)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = *attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd,
		.cq = cq,
	};
	struct ibv_srq *srq = ibv_create_srq_ex(pd->context, &init);

	*attr = init.attr;
	return srq;
}

struct ibv_qp *link_xrc_recv(struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd};

	return ibv_create_qp_ex(xrcd->context, &attr);
}

/* The receiving end: an XRC domain, its SRQ and a QP. 0 or an errno. */
static int create_end(struct link *l, const struct end *end, struct ibv_cq *cq, struct ibv_srq_attr *attr,
		      struct link_back *to)
{
	int ret;

	l->step = "ibv_open_xrcd";
	to->xrcd = link_xrcd(end->ctx);
	if (!to->xrcd)
		return errno_of_failure();
	l->step = "ibv_create_srq_ex (XRC)";
	to->srq = link_xrc_srq(end->pd, to->xrcd, cq, attr);
	if (!to->srq)
		return errno_of_failure();
	l->step = "ibv_get_srq_num";
	ret = ibv_get_srq_num(to->srq, &to->srqn);
	if (ret)
		return ret;
	l->step = "ibv_create_qp_ex (XRC_RECV)";
	to->peer = link_xrc_recv(to->xrcd);
	return to->peer ? 0 : errno_of_failure();
}

static int create_send_qp(struct link *l, const struct end *end, struct ibv_cq *cq, struct ibv_qp **qp)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_SEND,
		.send_cq = cq,
		.cap = {.max_send_wr = LINK_SQ_DEPTH, .max_send_sge = 1},
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = end->pd,
	};

	l->step = "ibv_create_qp_ex (XRC_SEND of the responder)";
	*qp = ibv_create_qp_ex(end->ctx, &attr);
	return *qp ? 0 : errno_of_failure();
}

static int create_back(struct link *l)
{
	struct ibv_srq_attr attr = {.max_wr = 1, .max_sge = 1};
	int ret = create_end(l, &l->dut->requester, l->cq, &attr, &l->back);

	return ret ? ret : create_send_qp(l, &l->dut->responder, l->peer_cq, &l->back.qp);
}

int link_xrc_create(struct link *l)
{
	struct ibv_srq_attr attr = {.max_wr = 2 * LINK_RECV_SLOTS, .max_sge = l->ask_sge};
	struct link_back to = {};
	int ret = create_end(l, &l->dut->responder, l->peer_cq, &attr, &to);

	l->xrcd = to.xrcd;
	l->srq = to.srq;
	l->srqn = to.srqn;
	l->peer = to.peer;
	l->cap.max_recv_sge = attr.max_sge;
	return ret || !(l->needs & NEED_WINDOW) ? ret : create_back(l);
}

void link_xrc_destroy(struct link *l)
{
	if (l->back.qp)
		ibv_destroy_qp(l->back.qp);
	if (l->back.peer)
		ibv_destroy_qp(l->back.peer);
	if (l->back.srq)
		ibv_destroy_srq(l->back.srq);
	if (l->back.xrcd)
		ibv_close_xrcd(l->back.xrcd);
}
