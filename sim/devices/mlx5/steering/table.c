// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tables of flows that programs make by DEVX, and the groups of their entries. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "containers/bits.h"
#include "devices/mlx5/devx/devx.h"

#define TABLE(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_CMD_CREATE_FLOW_TABLE_##field##_MASK, be32toh(v))
#define GROUP(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_CMD_CREATE_FLOW_GROUP_##field##_MASK, be32toh(v))

typedef struct hcasim_mlx5_cmd_create_flow_table table_req;
typedef struct hcasim_mlx5_cmd_create_flow_group group_req;

/* HCA_FLOW_SIDES: the adapter has no tables of that type. */
static uint8_t side_of(uint32_t type)
{
	switch (type) {
	case HCASIM_MLX5_FLOW_TABLE_NIC_RX:
		return HCA_FLOW_RX;
	case HCASIM_MLX5_FLOW_TABLE_NIC_TX:
		return HCA_FLOW_TX;
	case HCASIM_MLX5_FLOW_TABLE_RDMA_RX:
		return HCA_FLOW_ROCE_RX;
	case HCASIM_MLX5_FLOW_TABLE_RDMA_TX:
		return HCA_FLOW_ROCE_TX;
	default:
		return HCA_FLOW_SIDES;
	}
}

struct mlx5_devx_obj *mlx5_devx_find_flow_table(const struct mlx5_devx_cmd *cmd, uint32_t number,
						uint32_t type)
{
	struct mlx5_devx_obj *obj = numbers_find(&mlx5_dev(cmd->call->dev)->flow_tables, number);

	return obj && obj->ctx == cmd->call->ctx && obj->table.type == type ? obj : NULL;
}

/* ---- Tables ---- */

static bool table_ok(const table_req *req)
{
	return !TABLE(OTHER_VPORT, req->vport) && !TABLE(REFORMAT_EN, req->context) &&
	       !TABLE(DECAP_EN, req->context) && !TABLE(SW_OWNER, req->context) &&
	       !TABLE(TERMINATION_TABLE, req->context) &&
	       TABLE(LOG_SIZE, req->context) <= HCASIM_MLX5_LOG_MAX_FT_SIZE &&
	       side_of(TABLE(TABLE_TYPE, req->type)) < HCA_FLOW_SIDES;
}

/* What becomes of frames that match no entry. `next`: the table that they go to, or NULL. */
static bool get_miss(const struct mlx5_devx_cmd *cmd, const table_req *req, struct hca_flow_table_attr *a,
		     const struct mlx5_devx_obj **next)
{
	*next = NULL;
	switch (TABLE(TABLE_MISS_ACTION, req->context)) {
	case HCASIM_MLX5_FLOW_MISS_DEFAULT:
		a->miss = a->side == HCA_FLOW_RX ? HCA_FLOW_DROP : HCA_FLOW_PASS;
		return true;
	case HCASIM_MLX5_FLOW_MISS_FWD:
		*next = mlx5_devx_find_flow_table(cmd, TABLE(TABLE_MISS_ID, req->miss),
						  TABLE(TABLE_TYPE, req->type));
		a->miss = HCA_FLOW_TO_TABLE;
		a->next = *next ? (*next)->table.id : 0;
		return *next;
	default:
		return false;
	}
}

static int destroy_table(struct mlx5_devx_obj *obj)
{
	const int ret = TAILQ_EMPTY(&obj->table.groups) ? hca_flow_table_destroy(obj->dev->hca, obj->table.id)
							: -EBUSY;

	if (ret)
		return ret;
	numbers_remove(&mlx5_dev(obj->dev)->flow_tables, obj->number);
	free(obj->table.used);
	return 0;
}

static uint8_t make_table(struct mlx5_devx_cmd *cmd, const struct hca_flow_table_attr *attr)
{
	struct mlx5_devx_obj *obj = cmd->obj;
	struct hca *hca = cmd->call->dev->hca;
	const int ret = hca_flow_table_create(hca, attr, &obj->table.id);

	if (ret)
		return mlx5_devx_status(ret);
	obj->table.used = calloc(1, sizeof(*obj->table.used));
	if (!obj->table.used || numbers_add(&mlx5_dev(obj->dev)->flow_tables, obj, &obj->number)) {
		free(obj->table.used);
		hca_flow_table_destroy(hca, obj->table.id);
		return HCASIM_MLX5_CMD_STATUS_NO_RES_ERR;
	}
	TAILQ_INIT(&obj->table.groups);
	obj->kind = MLX5_DEVX_FLOW_TABLE;
	obj->destroy = destroy_table;
	cmd->number = obj->number;
	return HCASIM_MLX5_CMD_STATUS_OK;
}

uint8_t mlx5_devx_create_flow_table(struct mlx5_devx_cmd *cmd)
{
	const struct mlx5_devx_obj *next;
	struct hca_flow_table_attr attr;
	table_req req;
	uint8_t status;

	memcpy(&req, cmd->in, sizeof(req));
	attr = (struct hca_flow_table_attr){.side = side_of(TABLE(TABLE_TYPE, req.type)),
					    .level = (uint8_t)TABLE(LEVEL, req.context)};
	if (!table_ok(&req) || !get_miss(cmd, &req, &attr, &next))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	status = make_table(cmd, &attr);
	if (status)
		return status;
	cmd->obj->table.type = (uint8_t)TABLE(TABLE_TYPE, req.type);
	cmd->obj->table.side = attr.side;
	cmd->obj->table.size = 1u << TABLE(LOG_SIZE, req.context);
	if (next)
		mlx5_devx_use(cmd, next);
	return HCASIM_MLX5_CMD_STATUS_OK;
}

/* ---- Groups ---- */

/* All entries of a group have the same mask. Group types besides 0 are those of other formats of masks. */
static bool get_group(const group_req *req, struct mlx5_flow_group *g)
{
	g->first = be32toh(req->start_flow_index);
	g->last = be32toh(req->end_flow_index);
	return !GROUP(OTHER_VPORT, req->vport) && !GROUP(GROUP_TYPE, req->type) &&
	       !GROUP(MATCH_DEFINER_ID, req->definer) && g->first <= g->last &&
	       !mlx5_match_mask(req->match_criteria, sizeof(req->match_criteria),
				(uint8_t)GROUP(MATCH_CRITERIA_ENABLE, req->criteria), &g->match);
}

/* Its entries are the table's, and no other group's. */
static bool has_room(const struct mlx5_flow_table *t, const struct mlx5_flow_group *g)
{
	const struct mlx5_devx_obj *other;

	TAILQ_FOREACH(other, &t->groups, group.on_table)
	{
		if (g->first <= other->group.last && other->group.first <= g->last)
			return false;
	}
	return g->last < t->size;
}

static int destroy_group(struct mlx5_devx_obj *obj)
{
	struct mlx5_flow_table *t = &obj->group.table->table;

	if (bits_at_most(t->used, obj->group.last) >= (int32_t)obj->group.first)
		return -EBUSY;
	TAILQ_REMOVE(&t->groups, obj, group.on_table);
	numbers_remove(&mlx5_dev(obj->dev)->flow_groups, obj->number);
	return 0;
}

uint8_t mlx5_devx_create_flow_group(struct mlx5_devx_cmd *cmd)
{
	struct mlx5_devx_obj *obj = cmd->obj, *table;
	struct mlx5_flow_group g = {.table = NULL};
	group_req req;

	memcpy(&req, cmd->in, sizeof(req));
	table = mlx5_devx_find_flow_table(cmd, GROUP(TABLE_ID, req.table), GROUP(TABLE_TYPE, req.type));
	g.match.side = table ? table->table.side : 0;
	if (!table || !get_group(&req, &g) || !has_room(&table->table, &g))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	if (numbers_add(&mlx5_dev(obj->dev)->flow_groups, obj, &obj->number))
		return HCASIM_MLX5_CMD_STATUS_NO_RES_ERR;
	g.table = table;
	g.match.priority = (uint16_t)g.first; /* the entry with the lowest index takes a frame */
	obj->group = g;
	TAILQ_INSERT_TAIL(&table->table.groups, obj, group.on_table);
	mlx5_devx_use(cmd, table);
	obj->kind = MLX5_DEVX_FLOW_GROUP;
	obj->destroy = destroy_group;
	cmd->number = obj->number;
	return HCASIM_MLX5_CMD_STATUS_OK;
}
