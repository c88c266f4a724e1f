// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: creation, modification, destruction. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wqe.h"

static int check_send_ops(const struct hcasim_context *ctx, uint8_t qp_type, uint64_t ops)
{
	int op;

	if (ops & hcasim_absent_send_ops(ctx->qp_ex_size))
		return EOPNOTSUPP;

	for (op = 0; op < HCASIM_WR_NUM; op++) {
		const struct hcasim_wr_rule *rule = &hcasim_wr_rules[op];

		if (!(ops & rule->send_ops_flag))
			continue;
		if (!(rule->qp_types & HCASIM_QPT_BIT(qp_type)))
			return EOPNOTSUPP;
		ops &= ~rule->send_ops_flag;
	}
	return ops ? EOPNOTSUPP : 0;
}

/* The driver checks the capabilities; only a receive queue that is too long for memory must not be planned. */
static int check_caps(struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_cap *cap = &attr->cap;

	/* For a QP with an SRQ the size of its own receive queue is ignored (ibv_create_qp(3)). */
	if (attr->srq || attr->qp_type == IBV_QPT_XRC_SEND)
		cap->max_recv_wr = cap->max_recv_sge = 0;
	return cap->max_recv_wr > HCASIM_MAX_QP_WR ? EINVAL : 0;
}

static uint32_t tso_header(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER ? attr->max_tso_header : 0;
}

static int check_tso(const struct hcasim_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	if (!tso_header(attr))
		return 0;
	if (!(hcasim_wr_rules[HCASIM_WR_TSO].qp_types & HCASIM_QPT_BIT(attr->qp_type)))
		return EOPNOTSUPP;
	return tso_header(attr) > ctx->max_tso_hdr ? EINVAL : 0;
}

static int check_attr(const struct hcasim_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	int err;

	/* A comp_mask bit for creation flags is allowed if no flag is set. */
	if (!check_comp_mask(attr->comp_mask, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
						      IBV_QP_INIT_ATTR_CREATE_FLAGS |
						      IBV_QP_INIT_ATTR_MAX_TSO_HEADER) ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags))
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD))
		return EINVAL;
	switch (attr->qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UD:
		if (!attr->recv_cq)
			return EINVAL;
		break;
	case IBV_QPT_UC: /* not with an SRQ (ibv_create_qp(3)) */
	case IBV_QPT_RAW_PACKET:
		if (!attr->recv_cq || attr->srq)
			return EINVAL;
		break;
	case IBV_QPT_XRC_SEND:
		if (attr->srq)
			return EINVAL;
		break;
	default:
		return EOPNOTSUPP;
	}
	if (!attr->send_cq)
		return EINVAL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		err = check_send_ops(ctx, attr->qp_type, attr->send_ops_flags);
		if (err)
			return err;
	}
	err = check_tso(ctx, attr);
	return err ? err : check_caps(attr);
}

/* Whatever is granted, a WQE fits: the longest have an address, headers, and SGEs or inline data. */
#define UD_BYTES  (sizeof(struct hcasim_wqe_ctrl) + sizeof(struct hcasim_seg_ud))
#define TSO_BYTES (sizeof(struct hcasim_seg_tso) + HCASIM_MAX_TSO_HDR)
static_assert(UD_BYTES + TSO_BYTES + HCASIM_MAX_SGE * sizeof(struct hcasim_seg_data) <=
		      HCASIM_WQE_MAX_BB * HCASIM_WQEBB_SIZE,
	      "a WQE with headers and SGEs");
static_assert(UD_BYTES + sizeof(struct hcasim_seg_inline) + HCASIM_MAX_INLINE <=
		      HCASIM_WQE_MAX_BB * HCASIM_WQEBB_SIZE,
	      "a WQE with inline data");

/* Basic blocks of the longest WQE that the capabilities allow. */
static uint32_t max_wqe_bb(uint8_t qp_type, const struct ibv_qp_cap *cap, uint32_t tso_hdr)
{
	size_t fixed = sizeof(struct hcasim_wqe_ctrl);
	size_t data = cap->max_send_sge * sizeof(struct hcasim_seg_data);
	size_t in = cap->max_inline_data ? sizeof(struct hcasim_seg_inline) + cap->max_inline_data : 0;

	if (qp_type == IBV_QPT_UD)
		fixed += sizeof(struct hcasim_seg_ud);
	else if (qp_type == IBV_QPT_XRC_SEND)
		fixed += sizeof(struct hcasim_seg_xrc) + sizeof(struct hcasim_seg_remote) +
			 sizeof(struct hcasim_seg_atomic);
	else if (qp_type != IBV_QPT_RAW_PACKET)
		fixed += sizeof(struct hcasim_seg_remote) + sizeof(struct hcasim_seg_atomic);
	if (tso_hdr) /* a TSO request has no inline data, but the space is not worth saving */
		fixed += sizeof(struct hcasim_seg_tso) +
			 DIV_ROUND_UP(tso_hdr, HCASIM_SEG_UNIT) * HCASIM_SEG_UNIT;
	return DIV_ROUND_UP(fixed + (data > in ? data : in), HCASIM_WQEBB_SIZE);
}

/*
 * Without requested inline data, grant what fits into the space of the SGEs: some programs count on it (rdma_xclient
 * sends 16 bytes inline). Operations with inline data have no atomic segment.
 */
static void grant_inline(const struct hcasim_context *ctx, uint8_t qp_type, uint32_t bbs,
			 struct ibv_qp_cap *cap)
{
	size_t fixed = sizeof(struct hcasim_wqe_ctrl) + sizeof(struct hcasim_seg_inline);
	size_t room;

	if (qp_type == IBV_QPT_UD)
		fixed += sizeof(struct hcasim_seg_ud);
	else if (qp_type != IBV_QPT_RAW_PACKET)
		fixed += sizeof(struct hcasim_seg_remote);
	if (qp_type == IBV_QPT_XRC_SEND)
		fixed += sizeof(struct hcasim_seg_xrc);
	room = (size_t)bbs * HCASIM_WQEBB_SIZE;
	room = room > fixed ? room - fixed : 0;
	if (!cap->max_inline_data)
		cap->max_inline_data = room < ctx->max_inline ? room : ctx->max_inline;
}

void hcasim_plan_rq(const struct ibv_qp_cap *cap, struct hcasim_create_qp_req *req)
{
	req->rq_wqe_count = roundup_pow_of_two(cap->max_recv_wr);
	/* Space for at least one SGE: IBTA allows a receive without any. */
	req->rq_stride =
		roundup_pow_of_two(sizeof(struct hcasim_rqe) + (cap->max_recv_sge ? cap->max_recv_sge : 1) *
								       sizeof(struct hcasim_seg_data));
}

/* Sizes of both rings, from the capabilities. */
static int plan_rings(const struct hcasim_context *ctx, struct ibv_qp_init_attr_ex *attr,
		      struct hcasim_create_qp_req *req)
{
	struct ibv_qp_cap *cap = &attr->cap;
	uint32_t bbs;

	if (cap->max_send_wr) {
		bbs = max_wqe_bb(attr->qp_type, cap, tso_header(attr));
		req->sq_wqebb = roundup_pow_of_two((uint64_t)cap->max_send_wr * bbs);
		if (req->sq_wqebb > ctx->max_send_wqebb)
			return EINVAL;
		grant_inline(ctx, attr->qp_type, bbs, cap);
	}
	if (cap->max_recv_wr)
		hcasim_plan_rq(cap, req);
	return 0;
}

int hcasim_alloc_queues(struct hcasim_qp *qp, const struct ibv_qp_init_attr_ex *attr,
			const struct hcasim_create_qp_req *req)
{
	struct hcasim_sq *sq = &qp->sq;
	struct hcasim_rq *rq = &qp->rq;
	int err;

	if (req->sq_wqebb) {
		err = hcasim_buf_alloc(&sq->slot_buf, qp->pd, req->sq_wqebb * sizeof(*sq->slots),
				       HCASIM_RESOURCE_SQ_SLOTS);
		if (err)
			return err;
	}
	if (req->rq_wqe_count) {
		err = hcasim_buf_alloc(&rq->wr_id_buf, qp->pd, req->rq_wqe_count * sizeof(*rq->wr_id),
				       HCASIM_RESOURCE_RQ_WRID);
		if (err) {
			hcasim_buf_free(&sq->slot_buf, qp->pd);
			return err;
		}
	}
	sq->slots = sq->slot_buf.ptr;
	sq->num_bb = req->sq_wqebb;
	sq->sig_all = attr->sq_sig_all;
	sq->max_tso_hdr = tso_header(attr);
	sq->locking = !qp->pd->td;
	rq->wr_id = rq->wr_id_buf.ptr;
	rq->count = req->rq_wqe_count;
	rq->stride = req->rq_stride;
	rq->locking = !qp->pd->td;
	pthread_mutex_init(&sq->lock, NULL);
	pthread_spin_init(&rq->lock, PTHREAD_PROCESS_PRIVATE);
	return 0;
}

void hcasim_free_queues(struct hcasim_qp *qp)
{
	pthread_mutex_destroy(&qp->sq.lock);
	pthread_spin_destroy(&qp->rq.lock);
	hcasim_buf_free(&qp->sq.slot_buf, qp->pd);
	hcasim_buf_free(&qp->rq.wr_id_buf, qp->pd);
}

static void take_limits(struct hcasim_qp *qp, const struct ibv_qp_cap *cap)
{
	qp->sq.max_wr = cap->max_send_wr;
	qp->sq.max_sge = cap->max_send_sge;
	qp->sq.max_inline = cap->max_inline_data;
	qp->rq.max_wr = cap->max_recv_wr;
	qp->rq.max_sge = cap->max_recv_sge;
}

int hcasim_map_rings(struct hcasim_qp *qp, const struct hcasim_create_qp_resp *resp)
{
	int err;

	qp->chunk = hcasim_chunk_get(qp->ctx, resp->ring_mmap_offset, resp->ring_mmap_size, &err);
	if (!qp->chunk)
		return err;
	qp->sq.ring = qp->chunk->map.addr + resp->sq_offset;
	qp->rq.ring = qp->chunk->map.addr + resp->rq_offset;
	qp->record = (void *)(qp->chunk->map.addr + resp->record_offset);
	return 0;
}

static int create_in_device(struct hcasim_qp *qp, struct ibv_qp_init_attr_ex *attr,
			    struct hcasim_cmd_create_qp *cmd)
{
	struct hcasim_context *ctx = qp->ctx;
	struct hcasim_cmd_create_qp_resp resp = {};
	struct ibv_qp_init_attr_ex known = *attr;
	int err;

	known.comp_mask &= IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	err = ibv_cmd_create_qp_ex(&ctx->ibv_ctx.context, &qp->vqp, &known, &cmd->ibv_cmd, sizeof(*cmd),
				   &resp.ibv_resp, sizeof(resp));
	if (err)
		return err;
	attr->cap = known.cap;
	take_limits(qp, &attr->cap);
	err = hcasim_map_rings(qp, &resp.drv_payload);
	if (!err) {
		pthread_mutex_lock(&ctx->table_lock);
		err = hcasim_table_insert(&ctx->qps, qp->vqp.qp.qp_num, qp);
		pthread_mutex_unlock(&ctx->table_lock);
	}
	if (err) {
		hcasim_chunk_put(ctx, qp->chunk);
		ibv_cmd_destroy_qp(&qp->vqp.qp);
	}
	return err;
}

/* comp_mask bits of members that are zero are allowed. */
static int check_xrc_recv(const struct ibv_qp_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
						      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
						      IBV_QP_INIT_ATTR_CREATE_FLAGS) ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS && attr->send_ops_flags) ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags))
		return EOPNOTSUPP;
	return attr->comp_mask & IBV_QP_INIT_ATTR_XRCD && attr->xrcd ? 0 : EINVAL;
}

/* The receiving end of XRC: no queues, no protection domain, no CQ. */
static struct hcasim_qp *create_xrc_recv(struct hcasim_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	struct hcasim_cmd_create_qp_resp resp = {};
	struct hcasim_cmd_create_qp cmd = {};
	struct ibv_qp_init_attr_ex known = *attr;
	struct hcasim_qp *qp;
	int err;

	err = check_xrc_recv(attr);
	if (err)
		return hcasim_failed(NULL, err);
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	qp->ctx = ctx;
	known.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	known.send_cq = known.recv_cq = NULL;
	known.srq = NULL;
	/* An XRC_RECV QP has no PD, but librdmacm creates SRQs in the PD of this member. */
	known.pd = attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL;
	memset(&known.cap, 0, sizeof(known.cap));
	err = ibv_cmd_create_qp_ex(&ctx->ibv_ctx.context, &qp->vqp, &known, &cmd.ibv_cmd, sizeof(cmd),
				   &resp.ibv_resp, sizeof(resp));
	if (err)
		return hcasim_failed(qp, err);
	attr->cap = known.cap;
	return qp;
}

static struct hcasim_qp *create(struct hcasim_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	struct hcasim_cmd_create_qp cmd = {};
	struct hcasim_qp *qp = NULL;
	int err;

	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return create_xrc_recv(ctx, attr);
	if (attr->comp_mask & (IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH))
		return hcasim_create_rss(ctx, attr);
	err = check_attr(ctx, attr);
	if (!err)
		err = plan_rings(ctx, attr, &cmd.drv_payload);
	if (err)
		goto err_out;
	qp = calloc(1, sizeof(*qp));
	if (!qp) {
		err = ENOMEM;
		goto err_out;
	}
	qp->ctx = ctx;
	qp->pd = to_hpd(attr->pd);
	qp->uar = qp->pd->td ? qp->pd->td->uar : &ctx->uar;
	cmd.drv_payload.uar_index = qp->uar->index;
	err = hcasim_alloc_queues(qp, attr, &cmd.drv_payload);
	if (err)
		goto err_out;
	err = create_in_device(qp, attr, &cmd);
	if (err)
		goto err_queues;
	hcasim_pd_get(qp->pd);
	return qp;

err_queues:
	hcasim_free_queues(qp);
err_out:
	return hcasim_failed(qp, err);
}

struct ibv_qp *hcasim_create_qp(struct ibv_pd *ibpd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = ibpd,
	};
	struct hcasim_qp *qp = create(to_hctx(ibpd->context), &attr_ex);

	if (!qp)
		return NULL;
	attr->cap = attr_ex.cap;
	return &qp->vqp.qp;
}

struct ibv_qp *hcasim_create_qp_ex(struct ibv_context *ibctx, struct ibv_qp_init_attr_ex *attr)
{
	struct hcasim_qp *qp = create(to_hctx(ibctx), attr);

	if (!qp)
		return NULL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		qp->send_ops = attr->send_ops_flags;
		hcasim_qp_fill_wr_ops(qp);
	}
	return &qp->vqp.qp;
}

int hcasim_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		    struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd;

	return hcasim_error(ibv_cmd_query_qp(ibqp, attr, attr_mask, init_attr, &cmd, sizeof(cmd)));
}

/* Locks both CQs of a QP, always in the same order. */
static void lock_cqs(struct ibv_qp *ibqp)
{
	struct hcasim_cq *s = to_hcq(ibqp->send_cq), *r = to_hcq(ibqp->recv_cq);

	if (s == r || !ibqp->recv_cq) {
		hcasim_cq_lock(s);
		return;
	}
	hcasim_cq_lock(s->cqn < r->cqn ? s : r);
	hcasim_cq_lock(s->cqn < r->cqn ? r : s);
}

static void unlock_cqs(struct ibv_qp *ibqp)
{
	hcasim_cq_unlock(to_hcq(ibqp->send_cq));
	if (ibqp->recv_cq && ibqp->send_cq != ibqp->recv_cq)
		hcasim_cq_unlock(to_hcq(ibqp->recv_cq));
}

static void clean_cqs(struct ibv_qp *ibqp)
{
	hcasim_cq_clean(to_hcq(ibqp->send_cq), ibqp->qp_num, 0);
	if (ibqp->recv_cq && ibqp->send_cq != ibqp->recv_cq)
		hcasim_cq_clean(to_hcq(ibqp->recv_cq), ibqp->qp_num, 0);
}

/*
 * IBTA 10.2.4.4: a reset QP has empty queues, and its old completions are not delivered. The driver has cleared rings and
 * record.
 */
static void reset_queues(struct hcasim_qp *qp)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;

	lock_cqs(ibqp);
	clean_cqs(ibqp);
	atomic_store(&qp->sq.pi_bb, 0);
	atomic_store(&qp->sq.ci_bb, 0);
	atomic_store(&qp->sq.ci_wr, 0);
	qp->sq.pi_wr = 0;
	atomic_store(&qp->rq.pi, 0);
	atomic_store(&qp->rq.ci, 0);
	unlock_cqs(ibqp);
}

/* Only the extended command has the rate limit. */
static int modify_qp_ex(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
			const struct hcasim_modify_qp_req *req)
{
	struct ib_uverbs_ex_modify_qp_resp resp = {};
	struct hcasim_cmd_modify_qp cmd = {.drv_payload = *req};

	return ibv_cmd_modify_qp_ex(ibqp, attr, attr_mask, &cmd.ibv_cmd, sizeof(cmd), &resp, sizeof(resp));
}

int hcasim_modify_qp_rate_limit(struct ibv_qp *ibqp, struct ibv_qp_rate_limit_attr *limit)
{
	struct ibv_qp_attr attr = {.rate_limit = limit->rate_limit};
	const struct hcasim_modify_qp_req req = {
		.max_burst_sz = limit->max_burst_sz,
		.typical_pkt_sz = limit->typical_pkt_sz,
	};

	if (limit->comp_mask)
		return hcasim_error(EOPNOTSUPP);
	return hcasim_error(modify_qp_ex(ibqp, &attr, IBV_QP_RATE_LIMIT, &req));
}

int hcasim_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask)
{
	static const struct hcasim_modify_qp_req no_burst;
	struct hcasim_qp *qp = to_hqp(ibqp);
	struct ibv_modify_qp cmd = {};
	int err;

	if (attr_mask & IBV_QP_RATE_LIMIT)
		err = modify_qp_ex(ibqp, attr, attr_mask, &no_burst);
	else
		err = ibv_cmd_modify_qp(ibqp, attr, attr_mask, &cmd, sizeof(cmd));
	if (err)
		return hcasim_error(err);
	if (attr_mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET && qp->record)
		reset_queues(qp);
	return 0;
}

int hcasim_destroy_qp(struct ibv_qp *ibqp)
{
	struct hcasim_qp *qp = to_hqp(ibqp);
	struct hcasim_context *ctx = qp->ctx;
	int err;

	if (!qp->record) { /* XRC_RECV, or with an indirection table */
		err = ibv_cmd_destroy_qp(ibqp);
		if (!err)
			free(qp);
		return hcasim_error(err);
	}
	/* The device may reuse the number at once, so take the QP out of the table first. */
	pthread_mutex_lock(&ctx->table_lock);
	err = ibv_cmd_destroy_qp(ibqp);
	if (err) {
		pthread_mutex_unlock(&ctx->table_lock);
		return hcasim_error(err);
	}
	lock_cqs(ibqp);
	clean_cqs(ibqp);
	hcasim_table_remove(&ctx->qps, ibqp->qp_num);
	unlock_cqs(ibqp);
	pthread_mutex_unlock(&ctx->table_lock);

	hcasim_chunk_put(ctx, qp->chunk);
	hcasim_free_queues(qp);
	hcasim_pd_put(qp->pd);
	free(qp);
	return 0;
}

struct ibv_qp *hcasim_open_qp(struct ibv_context *ibctx, struct ibv_qp_open_attr *attr)
{
	struct ib_uverbs_create_qp_resp resp = {};
	struct ibv_open_qp cmd = {};
	struct hcasim_qp *qp;
	int err;

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	err = ibv_cmd_open_qp(ibctx, &qp->vqp, sizeof(qp->vqp), attr, &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (err)
		return hcasim_failed(qp, err);
	return &qp->vqp.qp;
}
