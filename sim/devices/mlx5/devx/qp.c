// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs of DEVX: those of ibv_create_qp(), with their rings and record in registered memory. */
#include <endian.h>
#include <string.h>

#include "devices/mlx5/devx/devx.h"

#define GET(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_QPC_##field##_MASK, be32toh(v))

#define RQ_UNIT_SHIFT 4 /* log_rq_stride counts from here */

/* Payload in CQEs, as cs_req and cs_res select it. */
#define CS_REQ_32 0x11
#define CS_REQ_64 0x22
#define CS_RES_32 0x01
#define CS_RES_64 0x02

static bool find_type(uint32_t st, uint8_t *type)
{
	static const struct {
		uint8_t st, type;
	} types[] = {{HCASIM_MLX5_QP_ST_RC, HCASIM_QPT_RC},
		     {HCASIM_MLX5_QP_ST_UC, HCASIM_QPT_UC},
		     {HCASIM_MLX5_QP_ST_UD, HCASIM_QPT_UD}};

	for (unsigned int i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		*type = types[i].type;
		if (types[i].st == st)
			return true;
	}
	return false;
}

/* What is not carried out: signatures, offloads, the kernel's lkey, cross-channel, queues without records. */
static bool is_plain(const struct hcasim_mlx5_qpc *c)
{
	const bool no_sq = GET(NO_SQ, c->dw2);

	return !GET(WQ_SIGNATURE, c->dw1) && !GET(RLKY, c->dw2) && !GET(ULP_STATELESS, c->dw2) &&
	       GET(OFFLOAD_TYPE, c->dw0) <= no_sq &&
	       GET(TS_FORMAT, c->dw2) <= HCASIM_MLX5_TS_FORMAT_DEFAULT && !GET(COUNTER_SET_ID, c->dw3) &&
	       !GET(SEND_DBR_MODE, c->dw4) && !GET(CROSS_CHANNEL, c->dw36) && !GET(PAGE_OFFSET, c->dw36);
}

static bool find_payload(uint32_t cs, uint32_t small, uint32_t large, uint32_t *bytes)
{
	if (cs && cs != small && cs != large)
		return false;
	*bytes = (cs == small ? 1 : 2) * HCASIM_MLX5_CQE_PAYLOAD;
	if (!cs)
		*bytes = 0;
	return true;
}

/* No more than a CQE of its queue has. */
static bool payload(struct mlx5_qp *qp, const struct hcasim_mlx5_qpc *c, const struct drv_qp_init *init)
{
	return find_payload(GET(CS_REQ, c->cs), CS_REQ_32, CS_REQ_64, &qp->result_inline) &&
	       find_payload(GET(CS_RES, c->cs), CS_RES_32, CS_RES_64, &qp->recv_inline) &&
	       qp->result_inline <= mlx5_cqe_size(init->send_cq) / 2 &&
	       qp->recv_inline <= mlx5_cqe_size(init->recv_cq) / 2;
}

static struct drv_cq *find_cq(struct mlx5_devx_cmd *cmd, uint32_t cqn)
{
	struct drv_cq *cq = common_find(&common_dev(cmd->call->dev)->cqs, cqn);

	if (!cq || cq->ctx != cmd->call->ctx)
		return NULL;
	mlx5_devx_use(cmd, cq);
	return cq;
}

static struct drv_srq *find_srq(struct mlx5_devx_cmd *cmd, uint32_t srqn)
{
	struct mlx5_srq *srq = common_find(&common_dev(cmd->call->dev)->srqs, srqn);

	if (!srq || srq->xrc || !srq->base.pd || srq->base.pd->ctx != cmd->call->ctx)
		return NULL;
	mlx5_devx_use(cmd, srq);
	return &srq->base;
}

static bool find_parts(struct mlx5_devx_cmd *cmd, const struct hcasim_mlx5_qpc *c, struct drv_qp_init *init)
{
	struct drv_qp *qp = &cmd->obj->qp.base;

	qp->pd = mlx5_devx_find_pd(cmd, GET(PD, c->dw1));
	init->send_cq = find_cq(cmd, GET(CQN_SND, c->send_cq));
	init->recv_cq = find_cq(cmd, GET(CQN_RCV, c->recv_cq));
	if (!qp->pd || !init->send_cq || !init->recv_cq)
		return false;
	mlx5_devx_use(cmd, qp->pd);
	if (GET(BLOCK_LB_MC, c->dw1))
		init->create_flags = IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	if (GET(RQ_TYPE, c->rq) == HCASIM_MLX5_RQ_TYPE_SRQ) {
		init->srq = find_srq(cmd, GET(SRQN, c->rq));
		return init->srq;
	}
	return true;
}

/* The rings as libmlx5 would ask for them; the receive ring comes first. */
static bool rings(const struct hcasim_mlx5_qpc *c, struct drv_qp_init *init, struct mlx5_ib_create_qp *verb)
{
	const uint32_t type = GET(RQ_TYPE, c->rq);

	if (!GET(NO_SQ, c->dw2))
		verb->sq_wqe_count = 1u << GET(LOG_SQ_SIZE, c->dw2);
	if (type == HCASIM_MLX5_RQ_TYPE_REGULAR) {
		verb->rq_wqe_count = 1u << GET(LOG_RQ_SIZE, c->dw2);
		verb->rq_wqe_shift = RQ_UNIT_SHIFT + GET(LOG_RQ_STRIDE, c->dw2);
	}
	init->max_send_wr = verb->sq_wqe_count;
	init->max_send_sge = verb->sq_wqe_count ? HCASIM_MLX5_MAX_SGE : 0;
	init->max_recv_wr = verb->rq_wqe_count;
	return type == HCASIM_MLX5_RQ_TYPE_REGULAR || type == HCASIM_MLX5_RQ_TYPE_SRQ ||
	       type == HCASIM_MLX5_RQ_TYPE_NONE;
}

static uint8_t place(struct mlx5_devx_cmd *cmd, const struct hcasim_mlx5_cmd_create_qp *req,
		     const struct hcasim_mlx5_qpc *c, struct mlx5_ib_create_qp *verb)
{
	const uint64_t rq = verb->rq_wqe_count ? (uint64_t)verb->rq_wqe_count << verb->rq_wqe_shift : 0;
	const uint64_t sq = (uint64_t)verb->sq_wqe_count * HCASIM_MLX5_WQEBB_SIZE;
	uint64_t buf = 0, record;
	uint8_t status = HCASIM_MLX5_CMD_STATUS_OK;

	if (rq + sq)
		status = mlx5_devx_place(cmd, be32toh(req->umem_id), be64toh(req->umem_offset), rq + sq,
					 HCASIM_MLX5_WQEBB_SIZE, &buf);
	if (!status)
		status = mlx5_devx_place(cmd, be32toh(c->dbr_umem_id), be64toh(c->dbr_addr),
					 sizeof(struct hcasim_mlx5_qp_record), sizeof(uint64_t), &record);
	if (!status && rq % HCASIM_MLX5_WQEBB_SIZE && sq)
		status = HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	if (!status) {
		verb->buf_addr = buf;
		verb->db_addr = record;
	}
	return status;
}

static uint8_t enter(struct mlx5_devx_cmd *cmd, struct drv_qp_init *init,
		     const struct mlx5_ib_create_qp *verb)
{
	struct drv_udata u = mlx5_devx_udata(verb, sizeof(*verb));
	struct drv_qp *qp = &cmd->obj->qp.base;
	int ret;

	cmd->obj->qp.devx = cmd->obj;
	ret = cmd->call->dev->ops->create_qp(qp, init, &u);
	if (ret)
		return mlx5_devx_status(ret);
	cmd->obj->kind = MLX5_DEVX_QP;
	cmd->obj->number = cmd->number = qp->qpn;
	cmd->ece = cmd->obj->qp.ece;
	return HCASIM_MLX5_CMD_STATUS_OK;
}

uint8_t mlx5_devx_create_qp(struct mlx5_devx_cmd *cmd)
{
	struct mlx5_ib_create_qp verb = {.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX};
	struct drv_qp *qp = &cmd->obj->qp.base;
	struct hcasim_mlx5_cmd_create_qp req;
	struct drv_qp_init init = {0};
	struct hcasim_mlx5_qpc c;
	uint8_t status;

	memcpy(&req, cmd->in, sizeof(req));
	memcpy(&c, req.qpc, sizeof(c));
	qp->dev = cmd->call->dev;
	if (req.opt_param_mask || !is_plain(&c) || !find_type(GET(ST, c.dw0), &init.type) ||
	    !rings(&c, &init, &verb) || !find_parts(cmd, &c, &init) || !payload(&cmd->obj->qp, &c, &init))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	qp->type = init.type;
	verb.bfreg_index = GET(UAR_PAGE, c.dw3);
	verb.uidx = GET(USER_INDEX, c.dw4);
	verb.ece_options = be32toh(req.ece);
	status = place(cmd, &req, &c, &verb);
	if (!status)
		status = enter(cmd, &init, &verb);
	memcpy(cmd->obj->context, &c, sizeof(c));
	return status;
}
