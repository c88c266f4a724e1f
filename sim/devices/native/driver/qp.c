// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs. */
#include <errno.h>
#include <string.h>

#include "driver.h"

struct layout { /* of the rings in the memory of a QP */
	uint64_t sq, rq, record, size;
};

static struct native_qp *native_qp(struct drv_qp *qp)
{
	return (struct native_qp *)qp;
}

static bool is_pow2(uint32_t v)
{
	return v && !(v & (v - 1));
}

static uint64_t align64(uint64_t v)
{
	return (v + 63) & ~63ull;
}

static int check_type(const struct drv_qp_init *init)
{
	switch (init->type) {
	case HCASIM_QPT_RC:
	case HCASIM_QPT_UC:
	case HCASIM_QPT_UD:
	case HCASIM_QPT_RAW_PACKET:
	case HCASIM_QPT_XRC_SEND:
	case HCASIM_QPT_XRC_RECV:
		return init->create_flags ? -EOPNOTSUPP : 0;
	default:
		return -EOPNOTSUPP;
	}
}

static int check_caps(struct drv_qp_init *init)
{
	if (init->srq || init->type == HCASIM_QPT_XRC_SEND || init->type == HCASIM_QPT_XRC_RECV)
		init->max_recv_wr = init->max_recv_sge = 0;
	if (init->max_send_wr > HCASIM_MAX_QP_WR || init->max_recv_wr > HCASIM_MAX_QP_WR ||
	    init->max_send_sge > HCASIM_MAX_SGE || init->max_recv_sge > HCASIM_MAX_SGE ||
	    init->max_inline > HCASIM_MAX_INLINE)
		return -EINVAL;
	return 0;
}

/* The rings have the requested size, and an index cannot wrap around another. */
static int check_rings(const struct drv_qp_init *init, const struct hcasim_create_qp_req *req)
{
	const uint32_t rqe = sizeof(struct hcasim_rqe) + init->max_recv_sge * sizeof(struct hcasim_seg_data);

	if ((init->srq || init->type == HCASIM_QPT_XRC_SEND) && req->rq_wqe_count)
		return -EINVAL;
	if (init->max_send_wr > req->sq_wqebb)
		return -EINVAL;
	if (req->sq_wqebb && (!is_pow2(req->sq_wqebb) || req->sq_wqebb > HCASIM_MAX_SQ_WQEBB))
		return -EINVAL;
	if (init->max_recv_wr > req->rq_wqe_count)
		return -EINVAL;
	if (!req->rq_wqe_count)
		return 0;
	if (!is_pow2(req->rq_wqe_count) || req->rq_wqe_count > HCASIM_MAX_QP_WR || !is_pow2(req->rq_stride))
		return -EINVAL;
	return req->rq_stride < 32 || req->rq_stride < rqe || req->rq_stride > COMMON_PAGE_SIZE ? -EINVAL : 0;
}

static struct layout make_layout(const struct hcasim_create_qp_req *req)
{
	struct layout l = {.sq = 0};

	l.rq = align64((uint64_t)req->sq_wqebb * HCASIM_WQEBB_SIZE);
	l.record = align64(l.rq + (uint64_t)req->rq_wqe_count * req->rq_stride);
	l.size = l.record + sizeof(struct hcasim_sq_record);
	return l;
}

static void fill_attr(struct hca_qp_attr_create *attr, const struct native_qp *qp,
		      const struct drv_qp_init *init, const struct hcasim_create_qp_req *req,
		      const struct layout *l)
{
	const uint64_t base = (uintptr_t)qp->mem->addr;

	*attr = (struct hca_qp_attr_create){
		.type = init->type,
		.wq = qp->base.wq,
		.pdn = common_pdn(qp->base.pd),
		.send_cqn = init->send_cq ? init->send_cq->cqn : 0,
		.recv_cqn = init->recv_cq ? init->recv_cq->cqn : 0,
		.srqn = init->srq ? init->srq->srqn : 0,
		.sq = {HCA_PASID_KERNEL, base + l->sq, req->sq_wqebb, HCASIM_WQEBB_SIZE},
		.rq = {HCA_PASID_KERNEL, base + l->rq, req->rq_wqe_count, req->rq_stride},
		.record = base + l->record,
		.max_inline = init->max_inline,
		.max_send_sge = init->max_send_sge,
		.max_recv_sge = init->max_recv_sge,
		.max_send_wr = init->max_send_wr,
		.max_recv_wr = init->max_recv_wr,
		.uar_page = native_ctx(qp->base.pd->ctx)->uar_page[req->uar_index],
	};
}

/* The receiving end of XRC has no queues, and belongs to no context: it outlives the one that made it. */
static int create_xrc_recv(struct drv_qp *base, struct drv_qp_init *init, struct drv_udata *u)
{
	const struct hca_qp_attr_create attr = {.type = init->type, .xrcdn = init->xrcdn};
	struct hcasim_create_qp_resp resp = {0};
	int ret;

	init->max_send_wr = init->max_send_sge = init->max_inline = 0;
	ret = common_create_qp(base, &attr);
	if (ret)
		return ret;
	resp.qpn = base->qpn;
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}

static void fill_orphan(struct native_qp *qp, const struct drv_qp_init *init,
			const struct hcasim_create_qp_req *req, const struct layout *l)
{
	qp->base.orphan = (struct drv_orphan){
		.mmap_offset = native_mem_mmap_offset(qp->mem),
		.size = native_mem_mmap_size(qp->mem),
		.number = qp->base.qpn,
		.send_cqn = init->send_cq ? init->send_cq->cqn : 0,
		.recv_cqn = init->recv_cq ? init->recv_cq->cqn : 0,
		.record = qp->mem->offset + l->record,
		.sq = qp->mem->offset + l->sq,
		.rq = qp->mem->offset + l->rq,
		.sq_wqebb = req->sq_wqebb,
		.rq_wqes = req->rq_wqe_count,
	};
}

int native_create_queues(struct drv_qp *base, struct drv_qp_init *init, struct drv_udata *u)
{
	struct native_ucontext *ctx = native_ctx(base->pd->ctx);
	struct native_qp *qp = native_qp(base);
	struct hca_qp_attr_create attr;
	struct hcasim_create_qp_resp resp;
	struct hcasim_create_qp_req req;
	struct layout l;
	int ret;

	ret = common_udata_get(u, &req, sizeof(req));
	if (!ret)
		ret = u->out_len < sizeof(resp) ? -EINVAL : check_rings(init, &req);
	if (!ret && (req.uar_index > NATIVE_TD_UARS || !ctx->uar_page[req.uar_index]))
		ret = -EINVAL;
	if (ret)
		return ret;
	l = make_layout(&req);
	qp->mem = native_mem_alloc(ctx, l.size);
	if (!qp->mem)
		return -ENOMEM;
	qp->size = l.size;
	fill_attr(&attr, qp, init, &req, &l);
	ret = common_create_qp(base, &attr);
	if (ret) {
		native_mem_free(qp->mem);
		return ret;
	}
	fill_orphan(qp, init, &req, &l);
	resp = (struct hcasim_create_qp_resp){
		.qpn = base->qpn,
		.ring_mmap_offset = native_mem_mmap_offset(qp->mem),
		.ring_mmap_size = native_mem_mmap_size(qp->mem),
		.sq_offset = qp->mem->offset + l.sq,
		.rq_offset = qp->mem->offset + l.rq,
		.record_offset = qp->mem->offset + l.record,
	};
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}

int native_create_qp(struct drv_qp *base, struct drv_qp_init *init, struct drv_udata *u)
{
	int ret;

	ret = check_type(init);
	if (!ret)
		ret = check_caps(init);
	if (ret)
		return ret;
	if (init->table)
		return native_create_rss(base, init, u);
	return init->type == HCASIM_QPT_XRC_RECV ? create_xrc_recv(base, init, u)
						 : native_create_queues(base, init, u);
}

/* A queue in RESET has empty rings, and the provider resets its indices. */
void native_clear_rings(struct native_qp *qp)
{
	qp->announced = 0;
	if (qp->mem)
		memset(qp->mem->addr, 0, qp->size);
}

/* What a rate limit has besides its rate. */
static int get_burst(const struct drv_udata *u, uint32_t mask, struct hca_qp_attr *attr)
{
	struct hcasim_modify_qp_req req = {0};
	int ret = u->in_len ? common_udata_get(u, &req, sizeof(req)) : 0;

	if (ret)
		return ret;
	if (req.reserved)
		return -EOPNOTSUPP;
	if (!(mask & HCASIM_QP_ATTR_RATE_LIMIT) && (req.max_burst_sz || req.typical_pkt_sz))
		return -EINVAL;
	attr->max_burst = req.max_burst_sz;
	attr->typical_packet = req.typical_pkt_sz;
	return 0;
}

int native_modify_qp(struct drv_qp *base, const struct hca_qp_attr *attr, uint32_t mask, struct drv_udata *u)
{
	struct hca_qp_attr all = *attr;
	int ret;

	if (base->rss)
		return -EOPNOTSUPP;
	ret = get_burst(u, mask, &all);
	if (!ret)
		ret = hca_qp_modify(base->dev->hca, base->qpn, &all, mask);
	if (!ret && (mask & HCASIM_QP_ATTR_STATE) && attr->state == HCASIM_QPS_RESET)
		native_clear_rings(native_qp(base));
	return ret;
}

int native_destroy_qp(struct drv_qp *qp)
{
	const int ret = common_destroy_qp(qp);

	if (!ret && native_qp(qp)->mem)
		native_mem_free(native_qp(qp)->mem);
	return ret;
}
