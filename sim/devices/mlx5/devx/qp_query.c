// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* QUERY_QP: the context as it was created, of a queue pair of DEVX, with what has changed since. */
#include <endian.h>
#include <string.h>

#include "devices/mlx5/devx/devx.h"

#define PREP(field, v) HCASIM_FIELD_PREP(HCASIM_MLX5_QPC_##field##_MASK, v)
#define PATH(field, v) HCASIM_FIELD_PREP(HCASIM_MLX5_ADS_##field##_MASK, v)
#define MASK(field)    HCASIM_MLX5_QPC_##field##_MASK

static const uint8_t states[] = {
	[HCASIM_QPS_RESET] = HCASIM_MLX5_QP_STATE_RST, [HCASIM_QPS_INIT] = HCASIM_MLX5_QP_STATE_INIT,
	[HCASIM_QPS_RTR] = HCASIM_MLX5_QP_STATE_RTR,   [HCASIM_QPS_RTS] = HCASIM_MLX5_QP_STATE_RTS,
	[HCASIM_QPS_SQD] = HCASIM_MLX5_QP_STATE_SQD,   [HCASIM_QPS_SQE] = HCASIM_MLX5_QP_STATE_SQER,
	[HCASIM_QPS_ERR] = HCASIM_MLX5_QP_STATE_ERR,
};

static uint32_t log2_of(uint32_t n)
{
	return n > 1 ? 32 - (uint32_t)__builtin_clz(n - 1) : 0;
}

static void set(__be32 *dw, uint32_t mask, uint32_t bits)
{
	*dw = htobe32((be32toh(*dw) & ~mask) | bits);
}

static void fill_path(const struct hca_qp_attr *attr, uint8_t out[sizeof(struct hcasim_mlx5_ads)])
{
	const struct hca_av *av = &attr->av;
	struct hcasim_mlx5_ads path = {
		.pkey = htobe32(PATH(PKEY_INDEX, attr->pkey_index)),
		.timeout = htobe32(PATH(ACK_TIMEOUT, attr->timeout) | PATH(SRC_ADDR_INDEX, av->sgid_index) |
				   PATH(HOP_LIMIT, av->hop_limit)),
		.flow = htobe32(PATH(FLOW_LABEL, av->flow_label)),
		.dscp_sport = htobe32(PATH(DSCP, av->traffic_class >> 2) | PATH(ECN, av->traffic_class & 3)),
		.port = htobe32(PATH(ETH_PRIO, av->sl) | PATH(VHCA_PORT_NUM, attr->port) |
				PATH(RMAC_HIGH, (uint32_t)av->dmac[0] << 8 | av->dmac[1])),
	};

	memcpy(&path.rmac_low, av->dmac + 2, sizeof(path.rmac_low));
	memcpy(path.rgid, av->dgid, sizeof(path.rgid));
	memcpy(out, &path, sizeof(path));
}

static void fill(const struct hca_qp_attr *attr, struct hcasim_mlx5_qpc *c)
{
	set(&c->dw0, MASK(STATE), PREP(STATE, states[attr->state]));
	set(&c->dw2, MASK(MTU), PREP(MTU, attr->path_mtu));
	set(&c->dw5, MASK(REMOTE_QPN), PREP(REMOTE_QPN, attr->dest_qpn));
	set(&c->dw28, MASK(LOG_SRA_MAX) | MASK(RETRY_COUNT) | MASK(RNR_RETRY),
	    PREP(LOG_SRA_MAX, log2_of(attr->max_rd_atomic)) | PREP(RETRY_COUNT, attr->retry_cnt) |
		    PREP(RNR_RETRY, attr->rnr_retry));
	set(&c->send_psn, MASK(NEXT_SEND_PSN), PREP(NEXT_SEND_PSN, attr->sq_psn));
	set(&c->dw36, MASK(LOG_RRA_MAX) | MASK(RRE) | MASK(RWE) | MASK(RAE),
	    PREP(LOG_RRA_MAX, log2_of(attr->max_dest_rd_atomic)) |
		    PREP(RRE, !!(attr->access & IB_UVERBS_ACCESS_REMOTE_READ)) |
		    PREP(RWE, !!(attr->access & IB_UVERBS_ACCESS_REMOTE_WRITE)) |
		    PREP(RAE, !!(attr->access & IB_UVERBS_ACCESS_REMOTE_ATOMIC)));
	set(&c->dw37, MASK(MIN_RNR_NAK) | MASK(NEXT_RCV_PSN),
	    PREP(MIN_RNR_NAK, attr->min_rnr_timer) | PREP(NEXT_RCV_PSN, attr->rq_psn));
	c->q_key = htobe32(attr->qkey);
	fill_path(attr, c->path);
}

uint8_t mlx5_devx_query_qp(struct mlx5_devx_cmd *cmd)
{
	struct hcasim_mlx5_cmd_query_qp_out out = {
		.ece = htobe32(((const struct mlx5_qp *)cmd->qp)->ece),
	};
	struct hcasim_mlx5_qpc c = {0};
	struct hca_qp_attr attr;

	if (hca_qp_query(cmd->call->dev->hca, cmd->qp->qpn, &attr))
		return HCASIM_MLX5_CMD_STATUS_BAD_RES_STATE_ERR;
	if (cmd->obj)
		memcpy(&c, cmd->obj->context, sizeof(c));
	fill(&attr, &c);
	memcpy(out.qpc, &c, sizeof(c));
	memcpy(cmd->out, &out, sizeof(out));
	return HCASIM_MLX5_CMD_STATUS_OK;
}
