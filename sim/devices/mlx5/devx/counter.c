// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Counters of the frames that flows take (ALLOC_FLOW_COUNTER): one, or a block whose size is a power of two. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "devices/mlx5/devx/devx.h"

#define GET(field, v)   HCASIM_FIELD_GET(HCASIM_MLX5_CMD_ALLOC_FLOW_COUNTER_##field##_MASK, v)
#define WHICH(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_CMD_QUERY_FLOW_COUNTER_##field##_MASK, v)
#define OLD_BLOCK       128u

/* Counters of the block that the command asks for; 0: no such block. */
static uint32_t block_size(uint32_t bulk)
{
	const uint32_t log = GET(LOG_BULK, bulk), old = GET(BULK_128, bulk);
	const uint32_t size = old ? OLD_BLOCK * old : 1u << log;

	if ((old && log) || (old & (old - 1)))
		return 0;
	return size <= 1u << HCASIM_MLX5_LOG_MAX_FLOW_COUNTERS ? size : 0;
}

uint8_t mlx5_devx_alloc_flow_counter(struct mlx5_devx_cmd *cmd)
{
	struct hcasim_mlx5_cmd_alloc_flow_counter req;
	struct mlx5_devx_obj *obj = cmd->obj;
	uint32_t block;

	memcpy(&req, cmd->in, sizeof(req));
	obj->block = block_size(be32toh(req.bulk));
	if (!obj->block)
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	obj->counters = calloc(obj->block, sizeof(*obj->counters));
	if (!obj->counters || numbers_add(&mlx5_dev(obj->dev)->flow_counters, obj, &block)) {
		free(obj->counters);
		obj->counters = NULL;
		return HCASIM_MLX5_CMD_STATUS_NO_RES_ERR;
	}
	obj->kind = MLX5_DEVX_FLOW_COUNTER;
	obj->number = cmd->number = block << HCASIM_MLX5_LOG_MAX_FLOW_COUNTERS;
	return HCASIM_MLX5_CMD_STATUS_OK;
}

void mlx5_devx_free_flow_counters(struct mlx5_devx_obj *obj)
{
	numbers_remove(&mlx5_dev(obj->dev)->flow_counters, obj->number >> HCASIM_MLX5_LOG_MAX_FLOW_COUNTERS);
	free(obj->counters);
}

struct hca_flow_counter *mlx5_devx_flow_counter(const struct mlx5_devx_obj *obj, uint32_t offset)
{
	return obj->kind == MLX5_DEVX_FLOW_COUNTER && offset < obj->block ? &obj->counters[offset] : NULL;
}

struct hca_flow_counter *mlx5_devx_find_counter(const struct mlx5_devx_cmd *cmd, uint32_t number,
						const struct mlx5_devx_obj **of)
{
	const struct mlx5_devx_obj *obj = numbers_find(&mlx5_dev(cmd->call->dev)->flow_counters,
						       number >> HCASIM_MLX5_LOG_MAX_FLOW_COUNTERS);

	*of = obj;
	return obj && obj->ctx == cmd->call->ctx ? mlx5_devx_flow_counter(obj, number - obj->number) : NULL;
}

static void put_counter(struct hca_flow_counter *from, bool clear, uint8_t *out)
{
	const struct hcasim_mlx5_traffic_counter answer = {.packets = htobe64(from->packets),
							   .octets = htobe64(from->octets)};

	memcpy(out, &answer, sizeof(answer));
	if (clear)
		*from = (struct hca_flow_counter){0};
}

uint8_t mlx5_devx_query_flow_counter(struct mlx5_devx_cmd *cmd)
{
	const size_t each = sizeof(struct hcasim_mlx5_traffic_counter);
	struct hcasim_mlx5_cmd_query_flow_counter req;
	uint8_t *out = cmd->out + sizeof(struct hcasim_mlx5_cmd_out);
	uint32_t which, num, first;

	memcpy(&req, cmd->in, sizeof(req));
	which = be32toh(req.which);
	first = be32toh(req.flow_counter_id) - cmd->obj->number;
	num = WHICH(NUM_OF_COUNTERS, which) ? WHICH(NUM_OF_COUNTERS, which) : 1;
	if (WHICH(DUMP_TO_MEMORY, which) || num > cmd->obj->block - first)
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	if (cmd->out_len - sizeof(struct hcasim_mlx5_cmd_out) < num * each)
		return HCASIM_MLX5_CMD_STATUS_BAD_OUTP_LEN_ERR;
	for (uint32_t i = 0; i < num; i++)
		put_counter(&cmd->obj->counters[first + i], WHICH(CLEAR, which), out + i * each);
	return HCASIM_MLX5_CMD_STATUS_OK;
}
