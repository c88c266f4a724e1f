// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs. */
#include <errno.h>
#include <stddef.h>

#include "driver.h"

#define MIN_RQ_SHIFT 4 /* one SGE */
#define MAX_RQ_SHIFT 9

#define INVALID_BFREG (1u << 31)

/* Options of enhanced connection establishment: this adapter has the first version, which has none. */
#define ECE_VERSION_SHIFT 28
#define ECE_FIRST         (1u << ECE_VERSION_SHIFT)

static bool is_pow2(uint32_t v)
{
	return v && !(v & (v - 1));
}

static int check_type(const struct drv_qp_init *init)
{
	const bool raw = init->type == HCASIM_QPT_RAW_PACKET;
	const uint32_t known = IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK |
			       (raw ? IB_UVERBS_QP_CREATE_CVLAN_STRIPPING : 0);

	switch (init->type) {
	case HCASIM_QPT_RC:
	case HCASIM_QPT_UC:
	case HCASIM_QPT_UD:
	case HCASIM_QPT_RAW_PACKET:
	case HCASIM_QPT_XRC_SEND:
	case HCASIM_QPT_XRC_RECV:
		return init->create_flags & ~known ? -EOPNOTSUPP : 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* libmlx5 has chosen rings for what the program asked for. */
static int check_rings(const struct drv_qp_init *init, const struct mlx5_ib_create_qp *req)
{
	if (req->sq_wqe_count && (!is_pow2(req->sq_wqe_count) || req->sq_wqe_count > HCASIM_MLX5_MAX_WQEBB))
		return -EINVAL;
	if (init->srq || init->type == HCASIM_QPT_XRC_SEND)
		return req->rq_wqe_count ? -EINVAL : 0;
	if (!req->rq_wqe_count)
		return init->max_recv_wr ? -EINVAL : 0;
	if (!is_pow2(req->rq_wqe_count) || req->rq_wqe_count > HCASIM_MLX5_MAX_QP_WR)
		return -EINVAL;
	return req->rq_wqe_shift < MIN_RQ_SHIFT || req->rq_wqe_shift > MAX_RQ_SHIFT ? -EINVAL : 0;
}

/* Signatures, dynamically connected transport and its kin are not carried out. */
static int check_flags(uint32_t flags)
{
	const uint32_t scatter = MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE;

	if (flags & ~(uint32_t)MLX5_QP_FLAGS)
		return -EINVAL;
	return flags & ~(scatter | MLX5_QP_FLAG_UAR_PAGE_INDEX) ? -EOPNOTSUPP : 0;
}

/* What this adapter can do of what is asked for. */
static uint32_t ece_accept(uint32_t options)
{
	return options >> ECE_VERSION_SHIFT ? ECE_FIRST : 0;
}

static uint32_t payload_of(const struct drv_cq *cq)
{
	return mlx5_cqe_size(cq) / HCASIM_MLX5_CQE_SIZE * HCASIM_MLX5_CQE_PAYLOAD;
}

/*
 * Payload in CQEs as mlx5_ib configures it: of receives on RC and UC; of results on RC, if the library says that it looks
 * into each CQE, or if each request has one.
 */
static void scatter(struct mlx5_qp *qp, const struct drv_qp_init *init, uint32_t flags)
{
	const bool rc = init->type == HCASIM_QPT_RC;

	if (!(flags & MLX5_QP_FLAG_SCATTER_CQE))
		return;
	if ((rc || init->type == HCASIM_QPT_UC) && init->recv_cq)
		qp->recv_inline = payload_of(init->recv_cq);
	if (rc && init->send_cq && (flags & MLX5_QP_FLAG_ALLOW_SCATTER_CQE || init->sq_sig_all))
		qp->result_inline = payload_of(init->send_cq);
}

/* libmlx5 leaves the shift of a ring without entries as it is. */
static uint32_t rq_stride(const struct mlx5_ib_create_qp *req)
{
	return req->rq_wqe_count ? 1u << req->rq_wqe_shift : 0;
}

/* The receive queue is granted as libmlx5 has made it, for ibv_query_qp() to say the same as ibv_create_qp(). */
static void grant(struct drv_qp_init *init, const struct mlx5_ib_create_qp *req)
{
	init->max_recv_wr = req->rq_wqe_count;
	init->max_recv_sge = rq_stride(req) / sizeof(struct hcasim_mlx5_seg_data);
}

/* The receive ring comes first, but a RAW_PACKET QP's rings are in different places. */
static struct hca_qp_attr_create attr_of(const struct mlx5_qp *qp, const struct drv_qp_init *init,
					 const struct mlx5_ib_create_qp *req)
{
	const struct drv_qp *base = &qp->base;
	const uint32_t pasid = base->pd->ctx->pasid, stride = rq_stride(req);
	const uint64_t behind = req->buf_addr + (uint64_t)req->rq_wqe_count * stride;
	const bool raw = init->type == HCASIM_QPT_RAW_PACKET;

	return (struct hca_qp_attr_create){
		.type = init->type,
		.pdn = common_pdn(base->pd),
		.send_cqn = init->send_cq ? init->send_cq->cqn : 0,
		.recv_cqn = init->recv_cq ? init->recv_cq->cqn : 0,
		.srqn = init->srq ? init->srq->srqn : 0,
		.sq = {pasid, raw ? req->sq_buf_addr : behind, req->sq_wqe_count, HCASIM_MLX5_WQEBB_SIZE},
		.rq = {pasid, req->buf_addr, req->rq_wqe_count, stride},
		.record = req->db_addr,
		.user_index = req->uidx,
		.block_self_mcast = init->create_flags & IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK,
		.strip_vlan = init->create_flags & IB_UVERBS_QP_CREATE_CVLAN_STRIPPING,
		.max_inline = HCASIM_MLX5_MAX_SQ_DESC, /* what fits: the library keeps what it has granted */
		.max_send_sge = init->max_send_sge,
		.max_recv_sge = init->max_recv_sge,
		.max_send_wr = init->max_send_wr,
		.max_recv_wr = init->max_recv_wr,
		.uar_page = qp->uar_page,
		.result_inline = qp->result_inline,
		.recv_inline = qp->recv_inline,
	};
}

static void fill_orphan(struct drv_qp *base, const struct hca_qp_attr_create *attr)
{
	base->orphan = (struct drv_orphan){
		.in_process = true,
		.number = base->qpn,
		.send_cqn = attr->send_cqn,
		.recv_cqn = attr->recv_cqn,
		.record = attr->record,
		.sq = attr->sq.addr,
		.sq_wqebb = attr->sq.entries,
		.rq_wqes = attr->rq.entries,
		.user_index = attr->user_index,
		.raw = attr->type == HCASIM_QPT_RAW_PACKET,
	};
}

/* Where the QP's doorbell is: in a page that the library has allocated, or in a static one, which only DEVX names. */
static int get_doorbell(struct mlx5_qp *qp, const struct mlx5_ib_create_qp *req)
{
	struct mlx5_ucontext *ctx = mlx5_ctx(qp->base.pd->ctx);

	if (req->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX) {
		qp->page = mlx5_page_get(ctx, req->bfreg_index);
		qp->uar_page = req->bfreg_index;
		return qp->page || (qp->devx && mlx5_page_is_static(ctx, qp->uar_page)) ? 0 : -EINVAL;
	}
	if (!ctx->num_pages)
		return -EINVAL;
	qp->bfreg = mlx5_bfreg_get(ctx);
	qp->uar_page = mlx5_bfreg_page(ctx, qp->bfreg);
	qp->has_bfreg = true;
	return 0;
}

static void put_doorbell(struct mlx5_qp *qp, struct mlx5_ucontext *ctx)
{
	if (qp->has_bfreg)
		mlx5_bfreg_put(ctx, qp->bfreg);
	mlx5_page_put(qp->page);
}

/* Of what attr_of() describes. */
static int pin(const struct drv_qp_init *init, const struct mlx5_ib_create_qp *req, const struct drv_udata *u)
{
	const uint64_t rq = (uint64_t)req->rq_wqe_count * rq_stride(req);
	const uint64_t sq = (uint64_t)req->sq_wqe_count * HCASIM_MLX5_WQEBB_SIZE;
	const bool raw = init->type == HCASIM_QPT_RAW_PACKET;
	const int ret = mlx5_pin(u, req->buf_addr, rq + (raw ? 0 : sq), req->db_addr);

	return !ret && raw ? u->pin_user(u, req->sq_buf_addr, sq) : ret;
}

static int create_queues(struct mlx5_qp *qp, struct drv_qp_init *init, const struct mlx5_ib_create_qp *req,
			 const struct drv_udata *u)
{
	struct hca_qp_attr_create attr;
	int ret;

	ret = check_flags(req->flags);
	if (!ret)
		ret = check_rings(init, req);
	if (!ret)
		ret = pin(init, req, u);
	if (!ret)
		ret = get_doorbell(qp, req);
	if (ret)
		return ret;
	grant(init, req);
	scatter(qp, init, req->flags);
	attr = attr_of(qp, init, req);
	ret = common_create_qp(&qp->base, &attr);
	if (ret)
		put_doorbell(qp, mlx5_ctx(qp->base.pd->ctx));
	else
		fill_orphan(&qp->base, &attr);
	return ret;
}

/* The receiving end of XRC has no queues, and belongs to no context. */
static int create_xrc_recv(struct drv_qp *base, struct drv_qp_init *init)
{
	const struct hca_qp_attr_create attr = {.type = init->type, .xrcdn = init->xrcdn};

	init->max_send_wr = init->max_send_sge = init->max_inline = 0;
	init->max_recv_wr = init->max_recv_sge = 0;
	return common_create_qp(base, &attr);
}

/* Libraries older than ECE send what precedes its options. */
static int get_request(const struct drv_udata *u, struct mlx5_ib_create_qp *req)
{
	const int ret = mlx5_udata_get(u, req, sizeof(*req), offsetof(struct mlx5_ib_create_qp, ece_options),
				       -EINVAL);

	return !ret && req->reserved ? -EINVAL : ret;
}

int mlx5_create_qp(struct drv_qp *base, struct drv_qp_init *init, struct drv_udata *u)
{
	struct mlx5_qp *qp = (struct mlx5_qp *)base;
	struct mlx5_ib_create_qp_resp resp = {0};
	struct mlx5_ib_create_qp req;
	int ret;

	if (init->table)
		return mlx5_create_rss(base, init, u);
	ret = check_type(init);
	if (!ret)
		ret = get_request(u, &req);
	if (!ret)
		ret = init->type == HCASIM_QPT_XRC_RECV ? create_xrc_recv(base, init)
							: create_queues(qp, init, &req, u);
	if (ret)
		return ret;
	if (init->type == HCASIM_QPT_RAW_PACKET && mlx5_ctx(base->pd->ctx)->devx) {
		resp.comp_mask = MLX5_IB_CREATE_QP_RESP_MASK_SQN;
		resp.sqn = base->qpn;
	}
	if (init->type != HCASIM_QPT_RAW_PACKET)
		qp->ece = resp.ece_options = ece_accept(req.ece_options);
	resp.bfreg_index = qp->has_bfreg ? mlx5_bfreg_number(qp->bfreg) : INVALID_BFREG;
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}

/* The options of a QP that is not connected stay as they are. */
static int check_modify(const struct mlx5_qp *qp, const struct mlx5_ib_modify_qp *req, uint32_t mask)
{
	const struct mlx5_ib_burst_info *burst = &req->burst_info;

	if (req->comp_mask || burst->reserved)
		return -EOPNOTSUPP;
	if (!(mask & HCASIM_QP_ATTR_RATE_LIMIT) && (burst->max_burst_sz || burst->typical_pkt_sz))
		return -EINVAL;
	return qp->base.type == HCASIM_QPT_UD && req->ece_options && req->ece_options != qp->ece ? -EINVAL
												 : 0;
}

/* The commands for other states have no options. */
static uint32_t change_ece(struct mlx5_qp *qp, const struct mlx5_ib_modify_qp *req,
			   const struct hca_qp_attr *attr, uint32_t mask)
{
	const bool fits = !(mask & HCASIM_QP_ATTR_STATE) || attr->state == HCASIM_QPS_INIT ||
			  attr->state == HCASIM_QPS_RTR || attr->state == HCASIM_QPS_RTS;

	if (!req->ece_options || !fits || qp->base.type == HCASIM_QPT_RAW_PACKET)
		return 0;
	qp->ece = ece_accept(req->ece_options);
	return qp->ece;
}

/* Of a QP over a table both are refused as by mlx5_ib_query_qp() and mlx5_ib_modify_qp(). */
int mlx5_query_qp(struct drv_qp *base, struct hca_qp_attr *attr)
{
	return base->rss ? -ENOSYS : common_query_qp(base, attr);
}

int mlx5_modify_qp(struct drv_qp *base, const struct hca_qp_attr *attr, uint32_t mask, struct drv_udata *u)
{
	struct mlx5_ib_modify_qp_resp resp = {.response_length = sizeof(resp)};
	struct mlx5_qp *qp = (struct mlx5_qp *)base;
	struct mlx5_ib_modify_qp req = {0};
	struct hca_qp_attr all = *attr;
	int ret;

	if (base->rss)
		return -ENOSYS;
	ret = u->in_len ? mlx5_udata_get(u, &req, sizeof(req), sizeof(req), -EOPNOTSUPP) : 0;
	if (!ret)
		ret = check_modify(qp, &req, mask);
	if (ret)
		return ret;
	all.max_burst = req.burst_info.max_burst_sz;
	all.typical_packet = req.burst_info.typical_pkt_sz;
	ret = hca_qp_modify(base->dev->hca, base->qpn, &all, mask);
	if (ret)
		return ret;
	resp.ece_options = change_ece(qp, &req, attr, mask);
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}

int mlx5_destroy_qp(struct drv_qp *base)
{
	struct drv_ucontext *ctx = base->pd ? base->pd->ctx : NULL;
	const int ret = common_destroy_qp(base);

	if (!ret)
		put_doorbell((struct mlx5_qp *)base, mlx5_ctx(ctx));
	return ret;
}
