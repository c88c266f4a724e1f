/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Calls that create, modify and destroy objects. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "link/query.h"
#include "remote/agent.h"

int agent_open(struct agent_open *c)
{
	struct agent *a = c->a;
	char why[256];

	if (a->open || memchr(c->call->device, 0, sizeof(c->call->device)) == NULL ||
	    memchr(c->call->address, 0, sizeof(c->call->address)) == NULL)
		return EINVAL;
	strcpy(a->end.device, c->call->device);
	strcpy(a->end.address, c->call->address);
	a->end.port = c->call->port;
	a->end.gid_index = c->call->gid_index;
	a->timeout_ms = c->call->timeout_ms;
	if (end_open(&a->end, why, sizeof(why)))
		return peer_append(&a->tail, why, strlen(why)) ? 0 : ENOMEM;
	a->open = true;
	strcpy(c->answer->device, a->end.device);
	c->answer->attr = a->end.attr;
	c->answer->port = a->end.port_attr;
	c->answer->gid = a->end.gid;
	c->answer->clock_khz = a->end.clock_khz;
	c->answer->pd = agent_keep(a, KIND_PD, true, a->end.pd);
	return 0;
}

int agent_query(struct agent_query *c)
{
	json_t *end = query_end(&c->a->end);
	char *text = json_dumps(end, JSON_COMPACT);
	bool good = text && peer_append(&c->a->tail, text, strlen(text));

	free(text);
	json_decref(end);
	return good ? 0 : ENOMEM;
}

int agent_map(struct agent_map *c)
{
	if (c->a->pool.base)
		return EBUSY;
	if (c->call->size > PEER_POOL || c->call->base % 4096 || !c->call->size)
		return EINVAL;
	return pool_map(&c->a->pool, c->call->base, c->call->size);
}

int agent_release(struct agent_release *c)
{
	return agent_destroy(c->a, c->call->id);
}

int agent_alloc_pd(struct agent_alloc_pd *c)
{
	return agent_give(c->a, KIND_PD, ibv_alloc_pd(c->a->end.ctx), &c->answer->id);
}

int agent_reg_mr(struct agent_reg_mr *c)
{
	const struct peer_reg_mr *call = c->call;
	void *at = (void *)(uintptr_t)call->addr;
	struct ibv_mr *mr;

	if (!pool_holds(&c->a->pool, call->addr - (uintptr_t)c->a->pool.base, call->length))
		return EFAULT;
	if (call->iova == call->addr)
		mr = ibv_reg_mr(c->pd, at, call->length, (int)call->access);
	else
		mr = ibv_reg_mr_iova2(c->pd, at, call->length, call->iova, call->access);
	if (mr) {
		c->answer->lkey = mr->lkey;
		c->answer->rkey = mr->rkey;
	}
	return agent_give(c->a, KIND_MR, mr, &c->answer->id);
}

int agent_alloc_dm(struct agent_alloc_dm *c)
{
	struct ibv_alloc_dm_attr attr = {c->call->length, c->call->log_align_req, c->call->comp_mask};

	return agent_give(c->a, KIND_DM, ibv_alloc_dm(c->a->end.ctx, &attr), &c->answer->id);
}

int agent_reg_dm_mr(struct agent_reg_dm_mr *c)
{
	struct ibv_mr *mr = ibv_reg_dm_mr(c->pd, c->dm, c->call->offset, c->call->length, c->call->access);

	if (mr) {
		c->answer->lkey = mr->lkey;
		c->answer->rkey = mr->rkey;
	}
	return agent_give(c->a, KIND_MR, mr, &c->answer->id);
}

int agent_create_channel(struct agent_create_channel *c)
{
	return agent_give(c->a, KIND_CHANNEL, ibv_create_comp_channel(c->a->end.ctx), &c->answer->id);
}

int agent_create_cq(struct agent_create_cq *c)
{
	const struct peer_create_cq *call = c->call;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = call->cqe, .channel = c->channel, .wc_flags = call->wc_flags};
	struct ibv_context *ctx = c->a->end.ctx;
	struct ibv_cq *cq = call->extended ? (struct ibv_cq *)ibv_create_cq_ex(ctx, &attr)
					   : ibv_create_cq(ctx, (int)call->cqe, NULL, c->channel, 0);
	int err = agent_give(c->a, KIND_CQ, cq, &c->answer->id);

	if (err)
		return err;
	c->a->objects[c->answer->id].extended = call->extended;
	c->a->objects[c->answer->id].timed = call->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	c->answer->cqe = cq->cqe;
	return 0;
}

int agent_create_srq(struct agent_create_srq *c)
{
	struct ibv_srq_init_attr plain = {.attr = c->call->attr};
	struct ibv_srq_init_attr_ex ex = {
		.attr = c->call->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = c->pd,
		.xrcd = c->xrcd,
		.cq = c->cq,
	};
	struct ibv_srq *srq;

	if (c->call->extended && (!c->xrcd || !c->cq))
		return EBADF;
	srq = c->call->extended ? ibv_create_srq_ex(c->a->end.ctx, &ex) : ibv_create_srq(c->pd, &plain);
	c->answer->attr = c->call->extended ? ex.attr : plain.attr;
	return agent_give(c->a, KIND_SRQ, srq, &c->answer->id);
}

int agent_get_srq_num(struct agent_get_srq_num *c)
{
	return ibv_get_srq_num(c->srq, &c->answer->number);
}

int agent_modify_srq(struct agent_modify_srq *c)
{
	struct ibv_srq_attr attr = c->call->attr;

	return ibv_modify_srq(c->srq, &attr, c->call->mask);
}

int agent_query_srq(struct agent_query_srq *c)
{
	return ibv_query_srq(c->srq, &c->answer->attr);
}

int agent_open_xrcd(struct agent_open_xrcd *c)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};

	return agent_give(c->a, KIND_XRCD, ibv_open_xrcd(c->a->end.ctx, &attr), &c->answer->id);
}

static struct ibv_qp *create_qp_ex(struct agent_create_qp *c)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = c->send_cq,
		.recv_cq = c->recv_cq,
		.cap = c->call->cap,
		.qp_type = c->call->type,
		.sq_sig_all = (int)c->call->sq_sig_all,
		.comp_mask = (c->pd ? IBV_QP_INIT_ATTR_PD : 0) | (c->xrcd ? IBV_QP_INIT_ATTR_XRCD : 0),
		.pd = c->pd,
		.xrcd = c->xrcd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(c->a->end.ctx, &attr);

	c->answer->cap = attr.cap;
	return qp;
}

static struct ibv_qp *create_qp(struct agent_create_qp *c)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = c->send_cq,
		.recv_cq = c->recv_cq,
		.srq = c->srq,
		.cap = c->call->cap,
		.qp_type = c->call->type,
		.sq_sig_all = (int)c->call->sq_sig_all,
	};
	struct ibv_qp *qp = ibv_create_qp(c->pd, &attr);

	c->answer->cap = attr.cap;
	return qp;
}

int agent_create_qp(struct agent_create_qp *c)
{
	struct ibv_qp *qp;

	if (!c->call->extended && !c->pd)
		return EBADF;
	qp = c->call->extended ? create_qp_ex(c) : create_qp(c);
	c->answer->qp_num = qp ? qp->qp_num : 0;
	return agent_give(c->a, KIND_QP, qp, &c->answer->id);
}

int agent_modify_qp(struct agent_modify_qp *c)
{
	struct ibv_qp_attr attr = c->call->attr;

	return ibv_modify_qp(c->qp, &attr, c->call->mask);
}

int agent_query_qp(struct agent_query_qp *c)
{
	struct ibv_qp_init_attr init = {};
	int err = ibv_query_qp(c->qp, &c->answer->attr, c->call->mask, &init);

	c->answer->cap = init.cap;
	c->answer->type = init.qp_type;
	c->answer->sq_sig_all = init.sq_sig_all;
	return err;
}

int agent_alloc_mw(struct agent_alloc_mw *c)
{
	struct ibv_mw *mw = ibv_alloc_mw(c->pd, c->call->type);

	c->answer->rkey = mw ? mw->rkey : 0;
	return agent_give(c->a, KIND_MW, mw, &c->answer->id);
}

int agent_bind_mw(struct agent_bind_mw *c)
{
	const struct peer_bind_mw *call = c->call;
	struct ibv_mw_bind bind = {
		.wr_id = call->wr_id,
		.send_flags = call->send_flags,
		.bind_info = {c->mr, call->addr, call->length, call->access},
	};
	int err = ibv_bind_mw(c->qp, c->mw, &bind);

	c->answer->rkey = c->mw->rkey;
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

int agent_create_flow(struct agent_create_flow *c)
{
	union {
		struct ibv_flow_attr attr;
		uint8_t bytes[1024];
	} flow = {};

	if (c->tail.length < sizeof(flow.attr) || c->tail.length > sizeof(flow.bytes))
		return EINVAL;
	memcpy(flow.bytes, c->tail.at, c->tail.length);
	if (!is_flow(&flow.attr, c->tail.length))
		return EINVAL;
	return agent_give(c->a, KIND_FLOW, ibv_create_flow(c->qp, &flow.attr), &c->answer->id);
}

int agent_ah_from_wc(struct agent_ah_from_wc *c)
{
	struct ibv_grh grh = c->call->grh;
	struct ibv_wc wc = c->call->wc;

	return agent_give(c->a, KIND_AH, ibv_create_ah_from_wc(c->pd, &wc, &grh, c->call->port),
			  &c->answer->id);
}
