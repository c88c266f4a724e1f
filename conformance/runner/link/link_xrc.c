/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <fcntl.h>

#include "link/link_xrc.h"

static int create_xrcd(struct link *l, const struct end *end, struct ibv_xrcd **xrcd)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};

	l->step = "ibv_open_xrcd";
	*xrcd = ibv_open_xrcd(end->ctx, &attr);
	return *xrcd ? 0 : errno_of_failure();
}

static int create_srq(struct link *l, const struct end *end, struct ibv_xrcd *xrcd, struct ibv_cq *cq,
		      struct ibv_srq_init_attr_ex *attr, struct ibv_srq **srq, uint32_t *srqn)
{
	attr->comp_mask =
		IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	attr->srq_type = IBV_SRQT_XRC;
	attr->pd = end->pd;
	attr->xrcd = xrcd;
	attr->cq = cq;
	l->step = "ibv_create_srq_ex (XRC)";
	*srq = ibv_create_srq_ex(end->ctx, attr);
	if (!*srq)
		return errno_of_failure();
	l->step = "ibv_get_srq_num";
	return ibv_get_srq_num(*srq, srqn);
}

static int create_recv_qp(struct link *l, const struct end *end, struct ibv_xrcd *xrcd, struct ibv_qp **qp)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd};

	l->step = "ibv_create_qp_ex (XRC_RECV)";
	*qp = ibv_create_qp_ex(end->ctx, &attr);
	return *qp ? 0 : errno_of_failure();
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
	const struct end *from = &l->dut->responder, *to = &l->dut->requester;
	struct ibv_srq_init_attr_ex srq = {.attr = {.max_wr = 1, .max_sge = 1}};
	int ret = create_xrcd(l, to, &l->back.xrcd);

	if (!ret)
		ret = create_srq(l, to, l->back.xrcd, l->cq, &srq, &l->back.srq, &l->back.srqn);
	if (!ret)
		ret = create_recv_qp(l, to, l->back.xrcd, &l->back.peer);
	return ret ? ret : create_send_qp(l, from, l->peer_cq, &l->back.qp);
}

int link_xrc_create(struct link *l)
{
	struct ibv_srq_init_attr_ex srq = {.attr = {.max_wr = 2 * LINK_RECV_SLOTS, .max_sge = l->ask_sge}};
	int ret = create_xrcd(l, &l->dut->responder, &l->xrcd);

	if (!ret)
		ret = create_srq(l, &l->dut->responder, l->xrcd, l->peer_cq, &srq, &l->srq, &l->srqn);
	l->cap.max_recv_sge = srq.attr.max_sge;
	if (!ret)
		ret = create_recv_qp(l, &l->dut->responder, l->xrcd, &l->peer);
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
