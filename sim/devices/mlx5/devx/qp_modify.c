// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Changes of queue pairs by DEVX. The command says which state a queue pair leaves, and which one it enters. */
#include <endian.h>
#include <string.h>

#include "devices/mlx5/devx/devx.h"
#include "devices/mlx5/qos/qos.h"

#define GET(field, v)  HCASIM_FIELD_GET(HCASIM_MLX5_QPC_##field##_MASK, be32toh(v))
#define PATH(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_ADS_##field##_MASK, be32toh(v))
#define A(name)        HCASIM_QP_ATTR_##name
#define OPT(name)      HCASIM_MLX5_CMD_MODIFY_QP_OPT_##name##_MASK
#define OPT_ACCESS     (OPT(RRE) | OPT(RAE) | OPT(RWE))
#define OPT_SPORT      HCASIM_MLX5_CMD_MODIFY_QP_OPT_UDP_SPORT_MASK
#define OPT_GROUPS     HCASIM_MLX5_CMD_MODIFY_QP_OPT_QOS_QUEUE_GROUP_MASK
#define ANY_STATE      0xff
#define ECN_BITS       2
#define MTU_MAX        5 /* enum ibv_mtu: 4096 bytes */
#define RMAC_LOW_BYTES 4
#define REMOTE_ACCESS                                                                                        \
	(IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC)

#define TYPES 3

/* What a command changes of each type of queue pairs: RC, UC, UD. */
static const struct transition {
	uint16_t opcode;
	uint8_t from, to;
	uint32_t attrs[TYPES];
	uint32_t opt[TYPES]; /* what opt_param_mask may add */
} transitions[] = {
	{HCASIM_MLX5_CMD_RST2INIT_QP,
	 HCASIM_QPS_RESET,
	 HCASIM_QPS_INIT,
	 {A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS), A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS),
	  A(PKEY_INDEX) | A(PORT) | A(QKEY)},
	 {OPT_ACCESS, OPT(RWE), OPT(Q_KEY)}},
	{HCASIM_MLX5_CMD_INIT2INIT_QP,
	 HCASIM_QPS_INIT,
	 HCASIM_QPS_INIT,
	 {0, 0, 0},
	 {OPT_ACCESS | OPT(PKEY_INDEX), OPT(RWE) | OPT(PKEY_INDEX), OPT(Q_KEY) | OPT(PKEY_INDEX)}},
	{HCASIM_MLX5_CMD_INIT2RTR_QP,
	 HCASIM_QPS_INIT,
	 HCASIM_QPS_RTR,
	 {A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN) | A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER),
	  A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN), 0},
	 {OPT_ACCESS | OPT(PKEY_INDEX), OPT(RWE) | OPT(PKEY_INDEX), OPT(Q_KEY) | OPT(PKEY_INDEX)}},
	{HCASIM_MLX5_CMD_RTR2RTS_QP,
	 HCASIM_QPS_RTR,
	 HCASIM_QPS_RTS,
	 {A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(SQ_PSN) | A(MAX_QP_RD_ATOMIC), A(SQ_PSN), A(SQ_PSN)},
	 {OPT_ACCESS | OPT(RNR_TIMEOUT), OPT(RWE), OPT(Q_KEY)}},
	{HCASIM_MLX5_CMD_RTS2RTS_QP,
	 HCASIM_QPS_RTS,
	 HCASIM_QPS_RTS,
	 {0, 0, 0},
	 {OPT_ACCESS | OPT(RNR_TIMEOUT), OPT(RWE), OPT(Q_KEY)}},
	{HCASIM_MLX5_CMD_SQERR2RTS_QP,
	 HCASIM_QPS_SQE,
	 HCASIM_QPS_RTS,
	 {0, 0, 0},
	 {OPT(RNR_TIMEOUT), OPT(RWE), OPT(Q_KEY)}},
	{HCASIM_MLX5_CMD_TO_ERR_QP, ANY_STATE, HCASIM_QPS_ERR, {0, 0, 0}, {0, 0, 0}},
	{HCASIM_MLX5_CMD_TO_RST_QP, ANY_STATE, HCASIM_QPS_RESET, {0, 0, 0}, {0, 0, 0}},
};

static const struct transition *find(uint16_t opcode)
{
	for (unsigned int i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		if (transitions[i].opcode == opcode)
			return &transitions[i];
	}
	return NULL;
}

/* The ends of XRC change as RC does. */
static unsigned int type_of(const struct drv_qp *qp)
{
	return qp->type == HCASIM_QPT_UC ? 1 : qp->type == HCASIM_QPT_UD ? 2 : 0;
}

/* RST2INIT sets all rights, the others those in their mask. */
static void set_access(const struct hcasim_mlx5_qpc *c, uint32_t opt, struct hca_qp_attr *attr)
{
	const struct {
		uint32_t opt, bit, right;
	} rights[] = {{OPT(RRE), GET(RRE, c->dw36), IB_UVERBS_ACCESS_REMOTE_READ},
		      {OPT(RWE), GET(RWE, c->dw36), IB_UVERBS_ACCESS_REMOTE_WRITE},
		      {OPT(RAE), GET(RAE, c->dw36), IB_UVERBS_ACCESS_REMOTE_ATOMIC}};

	for (unsigned int i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		if (!(opt & rights[i].opt))
			continue;
		attr->access &= ~rights[i].right;
		attr->access |= rights[i].bit ? rights[i].right : 0;
	}
}

/* On Ethernet the traffic class is DSCP and ECN, and the service level the priority. */
static void set_path(const struct hcasim_mlx5_ads *path, uint8_t port, struct hca_av *av)
{
	const uint32_t high = PATH(RMAC_HIGH, path->port);

	*av = (struct hca_av){
		.sgid_index = (uint8_t)PATH(SRC_ADDR_INDEX, path->timeout),
		.hop_limit = (uint8_t)PATH(HOP_LIMIT, path->timeout),
		.traffic_class =
			(uint8_t)(PATH(DSCP, path->dscp_sport) << ECN_BITS | PATH(ECN, path->dscp_sport)),
		.sl = (uint8_t)PATH(ETH_PRIO, path->port),
		.port = port,
		.flow_label = PATH(FLOW_LABEL, path->flow),
		.dmac = {(uint8_t)(high >> 8), (uint8_t)high},
	};
	memcpy(av->dmac + 2, &path->rmac_low, RMAC_LOW_BYTES);
	memcpy(av->dgid, path->rgid, sizeof(av->dgid));
}

/* Only what the mask selects counts; `attr` is how the queue pair is now. */
static void fill(const struct hcasim_mlx5_qpc *c, uint32_t mask, uint32_t opt, struct hca_qp_attr *attr)
{
	struct hcasim_mlx5_ads path;

	memcpy(&path, c->path, sizeof(path));
	set_access(c, opt, attr);
	if (mask & A(PORT))
		attr->port = (uint8_t)PATH(VHCA_PORT_NUM, path.port);
	if (mask & A(AV))
		set_path(&path, attr->port, &attr->av);
	attr->pkey_index = (uint16_t)PATH(PKEY_INDEX, path.pkey);
	attr->qkey = be32toh(c->q_key);
	attr->path_mtu = (uint8_t)GET(MTU, c->dw2);
	attr->dest_qpn = GET(REMOTE_QPN, c->dw5);
	attr->rq_psn = GET(NEXT_RCV_PSN, c->dw37);
	attr->min_rnr_timer = (uint8_t)GET(MIN_RNR_NAK, c->dw37);
	attr->max_dest_rd_atomic = (uint8_t)(1u << GET(LOG_RRA_MAX, c->dw36));
	attr->timeout = (uint8_t)PATH(ACK_TIMEOUT, path.timeout);
	attr->retry_cnt = (uint8_t)GET(RETRY_COUNT, c->dw28);
	attr->rnr_retry = (uint8_t)GET(RNR_RETRY, c->dw28);
	attr->sq_psn = GET(NEXT_SEND_PSN, c->send_psn);
	attr->max_rd_atomic = (uint8_t)(1u << GET(LOG_SRA_MAX, c->dw28));
}

static uint32_t optional(uint32_t opt)
{
	return (opt & OPT_ACCESS ? A(ACCESS_FLAGS) : 0) | (opt & OPT(PKEY_INDEX) ? A(PKEY_INDEX) : 0) |
	       (opt & OPT(Q_KEY) ? A(QKEY) : 0) | (opt & OPT(RNR_TIMEOUT) ? A(MIN_RNR_TIMER) : 0);
}

static bool is_valid(const struct drv_device *dev, const struct hca_qp_attr *attr, uint32_t mask)
{
	const uint32_t rd_atomic = dev->cfg->max_rd_atomic;

	if (mask & A(PORT) && (!attr->port || attr->port > dev->cfg->num_ports))
		return false;
	if (mask & A(PKEY_INDEX) && attr->pkey_index)
		return false;
	if (mask & A(AV) && attr->av.sgid_index >= COMMON_GID_TABLE)
		return false;
	if (mask & A(PATH_MTU) && (!attr->path_mtu || attr->path_mtu > MTU_MAX))
		return false;
	return !(mask & A(MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > rd_atomic) &&
	       !(mask & A(MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > rd_atomic);
}

/* A source port of 0 is one that the adapter chooses. */
static int set_sport(const struct mlx5_devx_cmd *cmd, const struct hcasim_mlx5_qpc *c, bool on)
{
	struct hcasim_mlx5_ads path;

	memcpy(&path, c->path, sizeof(path));
	return on ? hca_qp_udp_sport(cmd->call->dev->hca, cmd->qp->qpn,
				     (uint16_t)PATH(UDP_SPORT, path.dscp_sport))
		  : 0;
}

static uint8_t apply(struct mlx5_devx_cmd *cmd, const struct transition *t, struct hca_qp_attr *attr,
		     const struct hcasim_mlx5_cmd_modify_qp *req)
{
	const uint32_t opt = be32toh(req->opt_param_mask), attrs = t->attrs[type_of(cmd->qp)];
	const uint64_t opt_2 = be64toh(req->opt_param_mask_2);
	const uint32_t mask = A(STATE) | attrs | optional(opt);
	struct mlx5_queue_groups groups;
	const struct mlx5_ib_modify_qp verb = {.ece_options = be32toh(req->ece)};
	struct drv_udata u = mlx5_devx_udata(&verb, sizeof(verb));
	struct hcasim_mlx5_qpc c;
	uint8_t status = opt_2 & OPT_GROUPS ? mlx5_devx_queue_groups(cmd, &groups) : 0;
	int ret;

	if (status)
		return status;
	memcpy(&c, req->qpc, sizeof(c));
	fill(&c, mask, t->to == HCASIM_QPS_INIT && attrs ? OPT_ACCESS : opt, attr);
	attr->state = t->to;
	if (!is_valid(cmd->call->dev, attr, mask))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	ret = cmd->call->dev->ops->modify_qp(cmd->qp, attr, mask, &u);
	if (!ret)
		ret = set_sport(cmd, &c, opt_2 & OPT_SPORT || attrs & A(AV));
	if (!ret && opt_2 & OPT_GROUPS)
		ret = hca_qp_sched(cmd->call->dev->hca, cmd->qp->qpn, groups.requester, groups.responder);
	if (!ret)
		cmd->qp->state = t->to;
	if (!ret && verb.ece_options)
		cmd->ece = ((const struct mlx5_qp *)cmd->qp)->ece;
	return mlx5_devx_status(ret);
}

/* What a transition changes besides, with opt_param_mask_2. */
static uint64_t optional_2(const struct transition *t)
{
	switch (t->opcode) {
	case HCASIM_MLX5_CMD_INIT2INIT_QP:
		return OPT_GROUPS;
	case HCASIM_MLX5_CMD_RTS2RTS_QP:
		return OPT_GROUPS | OPT_SPORT;
	default:
		return 0;
	}
}

/* A raw queue pair of verbs is no QP of the adapter, but its SQ and RQ. */
static bool is_allowed(const struct mlx5_devx_cmd *cmd, const struct transition *t,
		       const struct hcasim_mlx5_cmd_modify_qp *req)
{
	return cmd->qp->type != HCASIM_QPT_RAW_PACKET && !(be64toh(req->opt_param_mask_2) & ~optional_2(t)) &&
	       !(be32toh(req->opt_param_mask) & ~t->opt[type_of(cmd->qp)]);
}

uint8_t mlx5_devx_modify_qp(struct mlx5_devx_cmd *cmd)
{
	const struct transition *t = find(be16toh(cmd->head.opcode));
	struct hcasim_mlx5_cmd_modify_qp req = {0};
	struct hca_qp_attr attr;

	memcpy(&req, cmd->in, cmd->in_len < sizeof(req) ? cmd->in_len : sizeof(req));
	if (!t || !is_allowed(cmd, t, &req))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	if (hca_qp_query(cmd->call->dev->hca, cmd->qp->qpn, &attr) ||
	    (t->from == ANY_STATE ? t->to == HCASIM_QPS_ERR && attr.state == HCASIM_QPS_RESET
				  : attr.state != t->from))
		return HCASIM_MLX5_CMD_STATUS_BAD_RES_STATE_ERR;
	return apply(cmd, t, &attr, &req);
}
