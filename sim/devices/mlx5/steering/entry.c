// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Entries of the tables that programs make by DEVX: each is a flow of the adapter's. */
#include <endian.h>
#include <string.h>

#include "containers/bits.h"
#include "devices/mlx5/devx/devx.h"

#define GET(field, v)  HCASIM_FIELD_GET(HCASIM_MLX5_CMD_SET_FTE_##field##_MASK, be32toh(v))
#define DEST(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_FTE_DEST_##field##_MASK, be32toh(v))
#define ENDS           (HCASIM_MLX5_FLOW_ACTION_ALLOW | HCASIM_MLX5_FLOW_ACTION_DROP | HCASIM_MLX5_FLOW_ACTION_FWD_DEST)

typedef struct hcasim_mlx5_cmd_set_fte fte_req;

/* What an entry is made of. */
struct entry {
	const struct mlx5_devx_cmd *cmd;
	fte_req req;
	struct mlx5_devx_obj *table;
	const struct mlx5_devx_obj *group, *next, *counter;
	uint32_t index;
	struct hca_flow_attr attr;
};

/* Item `n` of the lists behind the command, destinations first; false: the command ends before it. */
static bool get_item(const struct mlx5_devx_cmd *cmd, uint32_t n, void *item, size_t size)
{
	const size_t at = HCASIM_MLX5_SET_FTE_LISTS + n * size;

	if (at + size > cmd->in_len)
		return false;
	memcpy(item, cmd->in + at, size);
	return true;
}

static bool find_place(struct entry *e)
{
	const struct mlx5_devx_obj *group =
		numbers_find(&mlx5_dev(e->cmd->call->dev)->flow_groups, be32toh(e->req.group_id));

	e->table =
		mlx5_devx_find_flow_table(e->cmd, GET(TABLE_ID, e->req.table), GET(TABLE_TYPE, e->req.type));
	e->group = group;
	e->index = be32toh(e->req.flow_index);
	return e->table && group && group->group.table == e->table && e->index >= group->group.first &&
	       e->index <= group->group.last &&
	       bits_at_most(e->table->table.used, e->index) != (int32_t)e->index;
}

static bool lead_to_table(struct entry *e, uint32_t number)
{
	e->next = mlx5_devx_find_flow_table(e->cmd, number, e->table->table.type);
	if (!e->next)
		return false;
	e->attr.action = HCA_FLOW_TO_TABLE;
	e->attr.next = e->next->table.id;
	return true;
}

static bool lead_to_tir(struct entry *e, uint32_t number)
{
	e->next = mlx5_devx_find_tir(e->cmd, number);
	if (!e->next || e->table->table.side != HCA_FLOW_RX)
		return false;
	e->attr.action = HCA_FLOW_TO_QP;
	e->attr.qpn = e->next->wq->qpn;
	return true;
}

/* One destination: frames are not copied. */
static bool get_next(struct entry *e)
{
	struct hcasim_mlx5_fte_dest dest;
	uint32_t number;

	if (GET(DESTINATION_LIST_SIZE, e->req.destinations) != 1 ||
	    !get_item(e->cmd, 0, &dest, sizeof(dest)) || dest.flags)
		return false;
	number = DEST(DESTINATION_ID, dest.dest);
	switch (DEST(DESTINATION_TYPE, dest.dest)) {
	case HCASIM_MLX5_FLOW_DEST_FLOW_TABLE:
		return lead_to_table(e, number);
	case HCASIM_MLX5_FLOW_DEST_TIR:
		return lead_to_tir(e, number);
	default:
		return false;
	}
}

static bool get_end(struct entry *e, uint32_t action)
{
	switch (action & ENDS) {
	case HCASIM_MLX5_FLOW_ACTION_FWD_DEST:
		return get_next(e);
	case HCASIM_MLX5_FLOW_ACTION_DROP:
		e->attr.action = HCA_FLOW_DROP;
		break;
	case HCASIM_MLX5_FLOW_ACTION_ALLOW:
		if (e->table->table.side == HCA_FLOW_RX) /* nothing is behind its tables */
			return false;
		e->attr.action = HCA_FLOW_PASS;
		break;
	default:
		return false;
	}
	return !GET(DESTINATION_LIST_SIZE, e->req.destinations);
}

static bool get_counter(struct entry *e, uint32_t action)
{
	const uint32_t num = GET(FLOW_COUNTER_LIST_SIZE, e->req.counters);
	struct hcasim_mlx5_fte_counter counter;

	if (!(action & HCASIM_MLX5_FLOW_ACTION_COUNT))
		return !num;
	if (num != 1 || !get_item(e->cmd, !!e->next, &counter, sizeof(counter)))
		return false;
	e->attr.counter = mlx5_devx_find_counter(e->cmd, be32toh(counter.flow_counter_id), &e->counter);
	return e->attr.counter;
}

static bool get_actions(struct entry *e)
{
	const uint32_t action = GET(ACTION, e->req.actions);

	e->attr.tag = GET(FLOW_TAG, e->req.tag);
	e->attr.tagged = e->attr.tag;
	return !(action & ~(ENDS | HCASIM_MLX5_FLOW_ACTION_COUNT)) && get_end(e, action) &&
	       get_counter(e, action);
}

static bool get_flow(struct entry *e)
{
	struct mlx5_match value;

	memcpy(&value, e->req.match_value, sizeof(value));
	if (mlx5_flow_attr(&value, &e->group->group.match, &e->attr))
		return false;
	e->attr.table = e->table->table.id;
	e->attr.alone = true;
	return get_actions(e);
}

static void use(struct mlx5_devx_cmd *cmd, const struct entry *e)
{
	mlx5_devx_use(cmd, e->group);
	if (e->next)
		mlx5_devx_use(cmd, e->next);
	if (e->counter)
		mlx5_devx_use(cmd, e->counter);
}

static int destroy(struct mlx5_devx_obj *obj)
{
	bits_remove(obj->entry.table->table.used, obj->entry.index);
	return hca_flow_destroy(obj->dev->hca, obj->entry.flow);
}

/* A new entry: none is changed, and none may lead to a lower level (ignore_flow_level). */
uint8_t mlx5_devx_set_flow_entry(struct mlx5_devx_cmd *cmd)
{
	struct mlx5_devx_obj *obj = cmd->obj;
	struct entry e = {.cmd = cmd};
	int ret;

	memcpy(&e.req, cmd->in, sizeof(e.req));
	if (cmd->head.op_mod || GET(OTHER_VPORT, e.req.vport) || GET(IGNORE_FLOW_LEVEL, e.req.modify) ||
	    GET(EXTENDED_DESTINATION, e.req.destinations) || !find_place(&e) || !get_flow(&e))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	ret = hca_flow_create(cmd->call->dev->hca, &e.attr, &obj->entry.flow);
	if (ret)
		return mlx5_devx_status(ret);
	obj->entry.table = e.table;
	obj->entry.index = e.index;
	bits_add(e.table->table.used, e.index);
	use(cmd, &e);
	obj->kind = MLX5_DEVX_FLOW_ENTRY;
	obj->destroy = destroy;
	return HCASIM_MLX5_CMD_STATUS_OK;
}
