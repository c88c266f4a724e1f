/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Calls that create, modify and destroy objects. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "link/query.h"
#include "remote/agent.h"

int agent_open(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_open *call = args->call;
	struct peer_opened *answer = to;
	char why[256];

	if (a->open || memchr(call->device, 0, sizeof(call->device)) == NULL ||
	    memchr(call->address, 0, sizeof(call->address)) == NULL)
		return EINVAL;
	strcpy(a->end.device, call->device);
	strcpy(a->end.address, call->address);
	a->end.port = call->port;
	a->end.gid_index = call->gid_index;
	a->timeout_ms = call->timeout_ms;
	if (end_open(&a->end, why, sizeof(why)))
		return peer_append(&a->tail, why, strlen(why)) ? 0 : ENOMEM;
	a->open = true;
	strcpy(answer->device, a->end.device);
	answer->attr = a->end.attr;
	answer->port = a->end.port_attr;
	answer->gid = a->end.gid;
	answer->clock_khz = a->end.clock_khz;
	answer->pd = agent_keep(a, KIND_PD, a->end.pd);
	return 0;
}

int agent_query(struct agent *a, const struct agent_args *args, void *to)
{
	json_t *end = query_end(&a->end);
	char *text = json_dumps(end, JSON_COMPACT);
	bool good = text && peer_append(&a->tail, text, strlen(text));

	free(text);
	json_decref(end);
	return good ? 0 : ENOMEM;
}

int agent_map(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_map *call = args->call;

	if (a->pool.base)
		return EBUSY;
	if (call->size > PEER_POOL || call->base % 4096 || !call->size)
		return EINVAL;
	return pool_map(&a->pool, call->base, call->size);
}

int agent_release(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_object *call = args->call;

	if (call->id < PEER_OBJECTS && call->id && a->objects[call->id].at == a->end.pd)
		return EBUSY;
	return agent_destroy(a, call->id);
}

int agent_alloc_pd(struct agent *a, const struct agent_args *args, void *to)
{
	struct peer_object *answer = to;

	return agent_give(a, KIND_PD, ibv_alloc_pd(a->end.ctx), &answer->id);
}

int agent_reg_mr(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_reg_mr *call = args->call;
	struct peer_mr *answer = to;
	bool bad = false;
	struct ibv_pd *pd = agent_find(a, call->pd, KIND_PD, &bad);
	struct ibv_mr *mr;
	int err;

	if (bad || !pd)
		return EBADF;
	if (!pool_holds(&a->pool, call->addr - (uintptr_t)a->pool.base, call->length))
		return EFAULT;
	if (call->iova == call->addr)
		mr = ibv_reg_mr(pd, (void *)(uintptr_t)call->addr, call->length, (int)call->access);
	else
		mr = ibv_reg_mr_iova2(pd, (void *)(uintptr_t)call->addr, call->length, call->iova,
				      call->access);
	err = agent_give(a, KIND_MR, mr, &answer->id);
	if (!err) {
		answer->lkey = mr->lkey;
		answer->rkey = mr->rkey;
	}
	return err;
}

int agent_alloc_dm(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_alloc_dm *call = args->call;
	struct ibv_alloc_dm_attr attr = {call->length, call->log_align_req, call->comp_mask};
	struct peer_object *answer = to;

	return agent_give(a, KIND_DM, ibv_alloc_dm(a->end.ctx, &attr), &answer->id);
}

int agent_reg_dm_mr(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_reg_dm_mr *call = args->call;
	struct peer_mr *answer = to;
	bool bad = false;
	struct ibv_pd *pd = agent_find(a, call->pd, KIND_PD, &bad);
	struct ibv_dm *dm = agent_find(a, call->dm, KIND_DM, &bad);
	struct ibv_mr *mr;
	int err;

	if (bad || !pd || !dm)
		return EBADF;
	mr = ibv_reg_dm_mr(pd, dm, call->offset, call->length, call->access);
	err = agent_give(a, KIND_MR, mr, &answer->id);
	if (!err) {
		answer->lkey = mr->lkey;
		answer->rkey = mr->rkey;
	}
	return err;
}

int agent_create_channel(struct agent *a, const struct agent_args *args, void *to)
{
	struct peer_object *answer = to;

	return agent_give(a, KIND_CHANNEL, ibv_create_comp_channel(a->end.ctx), &answer->id);
}

int agent_create_cq(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_create_cq *call = args->call;
	struct peer_cq *answer = to;
	bool bad = false;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = call->cqe,
		.channel = agent_find(a, call->channel, KIND_CHANNEL, &bad),
		.wc_flags = call->wc_flags,
	};
	struct ibv_cq_ex *ex;
	struct ibv_cq *cq;
	int err;

	if (bad)
		return EBADF;
	if (call->extended) {
		ex = ibv_create_cq_ex(a->end.ctx, &attr);
		cq = ex ? ibv_cq_ex_to_cq(ex) : NULL;
	} else {
		cq = ibv_create_cq(a->end.ctx, (int)call->cqe, NULL, attr.channel, 0);
	}
	err = agent_give(a, KIND_CQ, cq, &answer->id);
	if (!err) {
		a->objects[answer->id].extended = call->extended;
		a->objects[answer->id].timed = call->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
		answer->cqe = cq->cqe;
	}
	return err;
}

int agent_create_srq(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_create_srq *call = args->call;
	struct peer_srq *answer = to;
	bool bad = false;
	struct ibv_srq_init_attr plain = {.attr = call->attr};
	struct ibv_srq_init_attr_ex ex = {
		.attr = call->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = agent_find(a, call->pd, KIND_PD, &bad),
		.xrcd = agent_find(a, call->xrcd, KIND_XRCD, &bad),
		.cq = agent_find(a, call->cq, KIND_CQ, &bad),
	};
	int err;

	if (bad || !ex.pd || (call->extended && (!ex.xrcd || !ex.cq)))
		return EBADF;
	err = agent_give(a, KIND_SRQ,
			 call->extended ? ibv_create_srq_ex(a->end.ctx, &ex) : ibv_create_srq(ex.pd, &plain),
			 &answer->id);
	answer->attr = call->extended ? ex.attr : plain.attr;
	return err;
}

int agent_get_srq_num(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_object *call = args->call;
	struct peer_number *answer = to;
	bool bad = false;
	struct ibv_srq *srq = agent_find(a, call->id, KIND_SRQ, &bad);

	return bad || !srq ? EBADF : ibv_get_srq_num(srq, &answer->number);
}

int agent_modify_srq(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_modify_srq *call = args->call;
	struct ibv_srq_attr attr = call->attr;
	bool bad = false;
	struct ibv_srq *srq = agent_find(a, call->srq, KIND_SRQ, &bad);

	return bad || !srq ? EBADF : ibv_modify_srq(srq, &attr, call->mask);
}

int agent_query_srq(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_object *call = args->call;
	struct peer_srq *answer = to;
	bool bad = false;
	struct ibv_srq *srq = agent_find(a, call->id, KIND_SRQ, &bad);

	return bad || !srq ? EBADF : ibv_query_srq(srq, &answer->attr);
}

int agent_open_xrcd(struct agent *a, const struct agent_args *args, void *to)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
	struct peer_object *answer = to;

	return agent_give(a, KIND_XRCD, ibv_open_xrcd(a->end.ctx, &attr), &answer->id);
}

static struct ibv_qp *create_qp_ex(struct agent *a, const struct peer_create_qp *call,
				   const struct ibv_qp_init_attr *plain, struct ibv_pd *pd,
				   struct ibv_xrcd *xrcd, struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = plain->send_cq,
		.recv_cq = plain->recv_cq,
		.cap = plain->cap,
		.qp_type = plain->qp_type,
		.sq_sig_all = plain->sq_sig_all,
		.comp_mask = (pd ? IBV_QP_INIT_ATTR_PD : 0) | (xrcd ? IBV_QP_INIT_ATTR_XRCD : 0),
		.pd = pd,
		.xrcd = xrcd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(a->end.ctx, &attr);

	*cap = attr.cap;
	return qp;
}

int agent_create_qp(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_create_qp *call = args->call;
	struct peer_qp *answer = to;
	bool bad = false;
	struct ibv_pd *pd = agent_find(a, call->pd, KIND_PD, &bad);
	struct ibv_xrcd *xrcd = agent_find(a, call->xrcd, KIND_XRCD, &bad);
	struct ibv_qp_init_attr attr = {
		.send_cq = agent_find(a, call->send_cq, KIND_CQ, &bad),
		.recv_cq = agent_find(a, call->recv_cq, KIND_CQ, &bad),
		.srq = agent_find(a, call->srq, KIND_SRQ, &bad),
		.cap = call->cap,
		.qp_type = call->type,
		.sq_sig_all = (int)call->sq_sig_all,
	};
	struct ibv_qp *qp;
	int err;

	if (bad || (!call->extended && !pd))
		return EBADF;
	if (call->extended) {
		qp = create_qp_ex(a, call, &attr, pd, xrcd, &answer->cap);
	} else {
		qp = ibv_create_qp(pd, &attr);
		answer->cap = attr.cap;
	}
	err = agent_give(a, KIND_QP, qp, &answer->id);
	if (!err)
		answer->qp_num = qp->qp_num;
	return err;
}

/* A QP created by a call, or one of a connection. */
static struct ibv_qp *find_qp(struct agent *a, peer_id id)
{
	bool lent = false, bad = false;
	struct ibv_qp *qp = agent_find(a, id, KIND_QP, &bad);

	return bad ? agent_find(a, id, KIND_LENT, &lent) : qp;
}

int agent_modify_qp(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_modify_qp *call = args->call;
	struct ibv_qp_attr attr = call->attr;
	struct ibv_qp *qp = find_qp(a, call->qp);

	return qp ? ibv_modify_qp(qp, &attr, call->mask) : EBADF;
}

int agent_query_qp(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_query_qp *call = args->call;
	struct peer_queried_qp *answer = to;
	struct ibv_qp_init_attr init = {};
	struct ibv_qp *qp = find_qp(a, call->qp);
	int err = qp ? ibv_query_qp(qp, &answer->attr, call->mask, &init) : EBADF;

	answer->cap = init.cap;
	answer->type = init.qp_type;
	answer->sq_sig_all = init.sq_sig_all;
	return err;
}

int agent_alloc_mw(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_alloc_mw *call = args->call;
	struct peer_mw *answer = to;
	bool bad = false;
	struct ibv_pd *pd = agent_find(a, call->pd, KIND_PD, &bad);
	struct ibv_mw *mw;
	int err;

	if (bad || !pd)
		return EBADF;
	mw = ibv_alloc_mw(pd, call->type);
	err = agent_give(a, KIND_MW, mw, &answer->id);
	if (!err)
		answer->rkey = mw->rkey;
	return err;
}

int agent_bind_mw(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_bind_mw *call = args->call;
	struct peer_mw *answer = to;
	bool bad = false;
	struct ibv_mw *mw = agent_find(a, call->mw, KIND_MW, &bad);
	struct ibv_qp *qp = agent_find(a, call->qp, KIND_QP, &bad);
	struct ibv_mw_bind bind = {
		.wr_id = call->wr_id,
		.send_flags = call->send_flags,
		.bind_info = {agent_find(a, call->mr, KIND_MR, &bad), call->addr, call->length, call->access},
	};
	int err = bad || !mw || !qp ? EBADF : ibv_bind_mw(qp, mw, &bind);

	answer->rkey = mw ? mw->rkey : 0;
	return err;
}

/* Whether the tail has num_of_specs specifications with consistent sizes, and nothing else. */
static bool is_flow(const struct ibv_flow_attr *attr, size_t length)
{
	const uint8_t *at = (const uint8_t *)(attr + 1), *end = (const uint8_t *)attr + length;
	struct {
		enum ibv_flow_spec_type type;
		uint16_t size;
	} hdr; /* first members of every specification */
	unsigned int num = attr->num_of_specs;

	for (; num && (size_t)(end - at) >= sizeof(hdr); num--, at += hdr.size) {
		memcpy(&hdr, at, sizeof(hdr));
		if (hdr.size < sizeof(hdr) || hdr.size > end - at)
			return false;
	}
	return !num && at == end && attr->size == length;
}

int agent_create_flow(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_create_flow *call = args->call;
	struct peer_object *answer = to;
	bool bad = false;
	struct ibv_qp *qp = agent_find(a, call->qp, KIND_QP, &bad);
	union {
		struct ibv_flow_attr attr;
		uint8_t bytes[1024];
	} flow = {};

	if (bad || !qp)
		return EBADF;
	if (args->tail_length < sizeof(flow.attr) || args->tail_length > sizeof(flow.bytes))
		return EINVAL;
	memcpy(flow.bytes, args->tail, args->tail_length);
	if (!is_flow(&flow.attr, args->tail_length))
		return EINVAL;
	return agent_give(a, KIND_FLOW, ibv_create_flow(qp, &flow.attr), &answer->id);
}

int agent_ah_from_wc(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_ah_from_wc *call = args->call;
	struct peer_object *answer = to;
	struct ibv_grh grh = call->grh;
	struct ibv_wc wc = call->wc;
	bool bad = false;
	struct ibv_pd *pd = agent_find(a, call->pd, KIND_PD, &bad);

	if (bad || !pd)
		return EBADF;
	return agent_give(a, KIND_AH, ibv_create_ah_from_wc(pd, &wc, &grh, call->port), &answer->id);
}
