// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Work queues, and QPs that receive by an indirection table of them. Tables are those of all families. */
#include <errno.h>
#include <stddef.h>

#include "driver.h"

#define MIN_SHIFT 4 /* one SGE */
#define MAX_SHIFT 9

static int get_request(const struct drv_udata *u, struct mlx5_ib_create_wq *req)
{
	const size_t min = offsetof(struct mlx5_ib_create_wq, single_wqe_log_num_of_strides);
	const int ret = mlx5_udata_get(u, req, sizeof(*req), min, -EOPNOTSUPP);

	if (ret)
		return ret;
	return req->comp_mask || req->flags ? -EOPNOTSUPP : 0; /* strides, signatures */
}

static int check_ring(const struct drv_qp_init *init, const struct mlx5_ib_create_wq *req)
{
	const uint32_t n = req->rq_wqe_count;

	if (!n || n & (n - 1) || n > HCASIM_MLX5_MAX_QP_WR || init->max_recv_wr > n ||
	    init->max_recv_sge > HCASIM_MLX5_MAX_SGE)
		return -EINVAL;
	return req->rq_wqe_shift < MIN_SHIFT || req->rq_wqe_shift > MAX_SHIFT ? -EINVAL : 0;
}

/* What libmlx5 has made, for ibv_create_wq() to say so; what it says can be asked for again. */
static void grant(struct drv_qp_init *init, const struct mlx5_ib_create_wq *req)
{
	const uint32_t sges = (1u << req->rq_wqe_shift) / sizeof(struct hcasim_mlx5_seg_data);

	init->max_recv_wr = req->rq_wqe_count;
	init->max_recv_sge = sges < HCASIM_MLX5_MAX_SGE ? sges : HCASIM_MLX5_MAX_SGE;
}

static int enter(struct drv_qp *wq, const struct drv_qp_init *init, const struct mlx5_ib_create_wq *req)
{
	const struct hca_qp_attr_create attr = {
		.type = init->type,
		.wq = true,
		.strip_vlan = init->create_flags & IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING,
		.pdn = common_pdn(wq->pd),
		.recv_cqn = init->recv_cq->cqn,
		.rq = {wq->pd->ctx->pasid, req->buf_addr, req->rq_wqe_count, 1u << req->rq_wqe_shift},
		.record = req->db_addr,
		.user_index = req->user_index,
		.max_recv_sge = init->max_recv_sge,
		.max_recv_wr = init->max_recv_wr,
	};

	return common_create_qp(wq, &attr);
}

int mlx5_create_wq(struct drv_qp *wq, struct drv_qp_init *init, struct drv_udata *u)
{
	struct mlx5_ib_create_wq_resp resp = {.response_length = sizeof(resp)};
	struct mlx5_ib_create_wq req;
	int ret;

	if (init->create_flags & ~(uint32_t)IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING)
		return -EOPNOTSUPP;
	ret = get_request(u, &req);
	if (!ret)
		ret = check_ring(init, &req);
	if (!ret)
		ret = mlx5_pin(u, req.buf_addr, (uint64_t)req.rq_wqe_count << req.rq_wqe_shift, req.db_addr);
	if (ret)
		return ret;
	grant(init, &req);
	ret = enter(wq, init, &req);
	if (!ret)
		common_udata_put(u, &resp, sizeof(resp));
	return ret;
}

int mlx5_set_wq_flags(struct drv_qp *wq, uint32_t flags, uint32_t mask)
{
	(void)mask; /* there is only one */
	return hca_wq_strip_vlan(wq->dev->hca, wq->qpn, flags & IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING);
}

/* Refusals are those of create_rss_raw_qp_tir(): it receives, and nothing else. */
static int check_rss(const struct drv_qp_init *init, const struct mlx5_ib_create_qp_rss *req)
{
	if (init->type != HCASIM_QPT_RAW_PACKET)
		return -EOPNOTSUPP;
	if (init->create_flags || init->send_cq || init->max_send_wr)
		return -EINVAL;
	if (req->flags & ~(uint32_t)MLX5_QP_FLAGS)
		return -EINVAL;
	if (req->comp_mask || req->flags)
		return -EOPNOTSUPP; /* of the flags: tunnels, own frames */
	if (req->rx_hash_function != MLX5_RX_HASH_FUNC_TOEPLITZ)
		return -EOPNOTSUPP;
	if (req->rx_hash_fields_mask & ~(uint64_t)MLX5_RX_HASH_FIELDS)
		return -EOPNOTSUPP; /* IPsec, inner headers */
	return req->rx_key_len != HCASIM_RSS_KEY_SIZE ? -EINVAL : 0;
}

int mlx5_create_rss(struct drv_qp *qp, struct drv_qp_init *init, struct drv_udata *u)
{
	const struct mlx5_ib_create_qp_resp resp = {0};
	struct mlx5_ib_create_qp_rss req;
	int ret;

	ret = mlx5_udata_get(u, &req, sizeof(req), sizeof(req), -EINVAL);
	if (!ret)
		ret = check_rss(init, &req);
	if (!ret)
		ret = common_enter_rss(qp, init, (uint32_t)req.rx_hash_fields_mask, req.rx_hash_key);
	if (!ret)
		common_udata_put(u, &resp, sizeof(resp));
	return ret;
}
