// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Scheduling elements by DEVX: nodes (TSAR) and leaves (queue groups) of trees, and the queues of a leaf. */
#include <endian.h>
#include <string.h>

#include "devices/mlx5/devx/devx.h"
#include "devices/mlx5/qos/qos.h"

#define GET(field, v)    HCASIM_FIELD_GET(HCASIM_MLX5_CMD_SCHED_ELEM_##field##_MASK, be32toh(v))
#define SELECT(field)    HCASIM_MLX5_CMD_SCHED_ELEM_SELECT_##field##_MASK
#define SQ(field, v)     HCASIM_FIELD_GET(HCASIM_MLX5_CMD_MODIFY_SQ_##field##_MASK, be32toh(v))
#define SQ_SELECT(field) HCASIM_MLX5_CMD_MODIFY_SQ_SET_##field##_MASK

_Static_assert(1u << HCASIM_MLX5_LOG_MAX_SCHED_ELEMS == HCA_SCHED_MAX, "as many as the adapter has");

typedef struct hcasim_mlx5_cmd_sched_elem elem_req;

static struct mlx5_devx_obj *elem_find(const struct mlx5_devx_cmd *cmd, uint32_t number)
{
	struct mlx5_devx_obj *obj = numbers_find(&mlx5_dev(cmd->call->dev)->sched, number);

	return obj && obj->ctx == cmd->call->ctx ? obj : NULL;
}

/* What the command selects; the rest stays as it is. A root has neither. */
static bool take_values(const elem_req *req, struct mlx5_sched_elem *e)
{
	const uint64_t select = be64toh(req->select);

	if (select & SELECT(BW_SHARE))
		e->share = be32toh(req->bw_share);
	if (select & SELECT(MAX_AVERAGE_BW))
		e->rate = be32toh(req->max_average_bw);
	return !(select & ~(SELECT(BW_SHARE) | SELECT(MAX_AVERAGE_BW))) &&
	       e->share <= HCASIM_MLX5_MAX_BW_SHARE && !(e->root && (e->share || e->rate));
}

/* Trees of the NIC, which divide by weight. */
static bool is_known(const elem_req *req)
{
	const uint32_t type = GET(ELEMENT_TYPE, req->element);

	if (GET(SCHEDULING_HIERARCHY, req->hierarchy) != HCASIM_MLX5_SCHED_HIERARCHY_NIC)
		return false;
	return type == HCASIM_MLX5_SCHED_ELEM_QUEUE_GROUP ||
	       (type == HCASIM_MLX5_SCHED_ELEM_TSAR &&
		GET(TSAR_TYPE, req->attributes) == HCASIM_MLX5_SCHED_TSAR_DWRR);
}

static int destroy_elem(struct mlx5_devx_obj *obj)
{
	const int ret = hca_sched_destroy(obj->dev->hca, obj->sched.id);

	if (!ret)
		numbers_remove(&mlx5_dev(obj->dev)->sched, obj->number);
	return ret;
}

static uint8_t make_elem(struct mlx5_devx_cmd *cmd, const struct mlx5_devx_obj *parent)
{
	struct mlx5_devx_obj *obj = cmd->obj;
	const struct hca_sched_attr attr = {.parent = parent ? parent->sched.id : 0,
					    .leaf = obj->sched.leaf,
					    .share = obj->sched.share,
					    .rate = obj->sched.rate};
	int ret = hca_sched_create(obj->dev->hca, &attr, &obj->sched.id);

	if (ret)
		return mlx5_devx_status(ret);
	if (numbers_add(&mlx5_dev(obj->dev)->sched, obj, &obj->number)) {
		hca_sched_destroy(obj->dev->hca, obj->sched.id);
		return HCASIM_MLX5_CMD_STATUS_NO_RES_ERR;
	}
	if (parent)
		mlx5_devx_use(cmd, parent);
	obj->kind = MLX5_DEVX_SCHED_ELEM;
	obj->destroy = destroy_elem;
	cmd->number = obj->number;
	return HCASIM_MLX5_CMD_STATUS_OK;
}

uint8_t mlx5_devx_create_sched_elem(struct mlx5_devx_cmd *cmd)
{
	struct mlx5_sched_elem *e = &cmd->obj->sched;
	const struct mlx5_devx_obj *parent;
	elem_req req;

	if (cmd->in_len < sizeof(req))
		return HCASIM_MLX5_CMD_STATUS_BAD_INP_LEN_ERR;
	memcpy(&req, cmd->in, sizeof(req));
	parent = elem_find(cmd, be32toh(req.parent_element_id));
	e->leaf = GET(ELEMENT_TYPE, req.element) == HCASIM_MLX5_SCHED_ELEM_QUEUE_GROUP;
	e->root = !req.parent_element_id;
	if (!is_known(&req) || !take_values(&req, e) || (e->root ? e->leaf : !parent || parent->sched.leaf))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	return make_elem(cmd, parent);
}

/* Its type and its parent do not change. */
uint8_t mlx5_devx_modify_sched_elem(struct mlx5_devx_cmd *cmd)
{
	struct mlx5_sched_elem e = cmd->obj->sched;
	elem_req req;
	int ret;

	memcpy(&req, cmd->in, sizeof(req));
	if (be16toh(cmd->head.op_mod) != HCASIM_MLX5_CMD_OBJ_SCHEDULING_ELEMENT || !is_known(&req) ||
	    (GET(ELEMENT_TYPE, req.element) == HCASIM_MLX5_SCHED_ELEM_QUEUE_GROUP) != e.leaf ||
	    !take_values(&req, &e))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	ret = hca_sched_modify(cmd->obj->dev->hca, e.id, e.share, e.rate);
	if (!ret)
		cmd->obj->sched = e;
	return mlx5_devx_status(ret);
}

/* ---- Queues ---- */

/* A leaf by its number, 0: none. False: the context has no such leaf. */
static bool find_leaf(const struct mlx5_devx_cmd *cmd, uint32_t number, uint32_t *id)
{
	const struct mlx5_devx_obj *obj = elem_find(cmd, number);

	*id = obj ? obj->sched.id : 0;
	return obj ? obj->sched.leaf : !number;
}

/* Raw packet QPs have theirs by MODIFY_SQ. */
uint8_t mlx5_devx_queue_groups(const struct mlx5_devx_cmd *cmd, struct mlx5_queue_groups *out)
{
	struct hcasim_mlx5_qpc_ext ext;
	const uint8_t type = cmd->qp->type;

	if (!HCASIM_FIELD_GET(HCASIM_MLX5_CMD_IN_QPC_EXT_MASK, be32toh(cmd->head.number)))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	if (cmd->in_len < sizeof(struct hcasim_mlx5_cmd_modify_qp) + sizeof(ext))
		return HCASIM_MLX5_CMD_STATUS_BAD_INP_LEN_ERR;
	memcpy(&ext, cmd->in + sizeof(struct hcasim_mlx5_cmd_modify_qp), sizeof(ext));
	if ((type != HCASIM_QPT_RC && type != HCASIM_QPT_UC && type != HCASIM_QPT_UD) ||
	    (type != HCASIM_QPT_RC && ext.queue_group_responder) ||
	    !find_leaf(cmd, be32toh(ext.queue_group_requester), &out->requester) ||
	    !find_leaf(cmd, be32toh(ext.queue_group_responder), &out->responder))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	return HCASIM_MLX5_CMD_STATUS_OK;
}

static uint8_t set_sq(const struct mlx5_devx_cmd *cmd, const struct hcasim_mlx5_cmd_modify_sq *req)
{
	const uint64_t select = be64toh(req->modify_bitmask);
	struct hca *hca = cmd->call->dev->hca;
	struct hca_qp_attr attr = {0};
	uint32_t leaf;
	int ret = 0;

	if (!find_leaf(cmd, select & SQ_SELECT(QUEUE_GROUP) ? SQ(QUEUE_GROUP, req->dw8) : 0, &leaf) ||
	    !mlx5_pp_rate(cmd->call->ctx, select & SQ_SELECT(RATE_LIMIT) ? SQ(RATE_LIMIT_INDEX, req->dw7) : 0,
			  &attr))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	if (select & SQ_SELECT(QUEUE_GROUP))
		ret = hca_qp_sched(hca, cmd->qp->qpn, leaf, 0);
	if (!ret && select & SQ_SELECT(RATE_LIMIT))
		ret = hca_qp_modify(hca, cmd->qp->qpn, &attr, HCASIM_QP_ATTR_RATE_LIMIT);
	return mlx5_devx_status(ret);
}

/* The send queue of a raw packet QP of verbs, which is ready and stays so: its states are the driver's. */
uint8_t mlx5_devx_modify_sq(struct mlx5_devx_cmd *cmd)
{
	struct hcasim_mlx5_cmd_modify_sq req;
	struct hca_qp_attr attr;

	memcpy(&req, cmd->in, sizeof(req));
	if (cmd->qp->type != HCASIM_QPT_RAW_PACKET || SQ(SQ_STATE, req.number) != HCASIM_MLX5_SQ_STATE_RDY ||
	    SQ(STATE, req.dw0) != HCASIM_MLX5_SQ_STATE_RDY ||
	    be64toh(req.modify_bitmask) & ~(SQ_SELECT(QUEUE_GROUP) | SQ_SELECT(RATE_LIMIT)))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	if (hca_qp_query(cmd->call->dev->hca, cmd->qp->qpn, &attr) || attr.state != HCASIM_QPS_RTS)
		return HCASIM_MLX5_CMD_STATUS_BAD_RES_STATE_ERR;
	return set_sq(cmd, &req);
}
