// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include "mlx5_tables.h"

table_req devx_table_of(uint8_t type, uint8_t level, uint8_t log_size)
{
	const struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_CREATE_FLOW_TABLE, 0);
	table_req req = {.type = TABLE(TABLE_TYPE, type),
			 .context = TABLE(LEVEL, level) | TABLE(LOG_SIZE, log_size)};

	memcpy(&req, &head, sizeof(req.head));
	return req;
}

group_req devx_group_of(uint8_t type, uint32_t table, uint32_t first, uint32_t last)
{
	const struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_CREATE_FLOW_GROUP, 0);
	group_req req = {.type = GROUP(TABLE_TYPE, type),
			 .table = GROUP(TABLE_ID, table),
			 .start_flow_index = htobe32(first),
			 .end_flow_index = htobe32(last)};

	memcpy(&req, &head, sizeof(req.head));
	return req;
}

struct entry_req devx_entry_of(uint8_t type, uint32_t table, uint32_t group, uint32_t index, __be32 action)
{
	const struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_SET_FLOW_TABLE_ENTRY, 0);
	struct entry_req req = {.fte = {.type = FTE(TABLE_TYPE, type),
					.table = FTE(TABLE_ID, table),
					.flow_index = htobe32(index),
					.group_id = htobe32(group),
					.actions = action}};

	memcpy(&req.fte.head, &head, sizeof(req.fte.head));
	return req;
}

void devx_lead(struct entry_req *req, uint32_t table)
{
	req->fte.actions |= ACTION(FWD_DEST);
	req->fte.destinations = FTE(DESTINATION_LIST_SIZE, 1);
	req->item[0] = htobe32(HCASIM_MLX5_FLOW_DEST_FLOW_TABLE << 24 | table);
}

void *devx_make(const void *req, size_t size, unsigned int held, uint32_t *number)
{
	struct devx_call c = {.object = NULL};
	struct mlx5_devx_obj *obj;

	CU_ASSERT_EQUAL_FATAL(devx_run(&c, mlx5_devx_create, req, size, ANSWER), 0);
	CU_ASSERT_EQUAL(c.held, held);
	obj = c.object;
	if (number)
		*number = be32toh(devx_answer(&c).number);
	return obj;
}

void *devx_new_table(uint8_t type, uint8_t level, uint8_t log_size, uint32_t *number)
{
	const table_req req = devx_table_of(type, level, log_size);

	return devx_make(&req, sizeof(req), 0, number);
}

void *devx_new_group(uint8_t type, uint32_t table, uint32_t first, uint32_t last, uint32_t *number)
{
	const group_req req = devx_group_of(type, table, first, last);

	return devx_make(&req, sizeof(req), 1, number);
}

void devx_end(void *obj)
{
	CU_ASSERT_EQUAL(mlx5_devx_destroy(obj), 0);
	free(obj);
}

void devx_all_gone(void)
{
	CU_ASSERT_EQUAL(mlx5_dev(&w.dev)->flow_tables.used, 0);
	CU_ASSERT_EQUAL(mlx5_dev(&w.dev)->flow_groups.used, 0);
}

void devx_set_up(struct place *p, uint8_t type, uint8_t level)
{
	group_req req;

	p->table = devx_new_table(type, level, 3, &p->table_id);
	req = devx_group_of(type, p->table_id, 2, 3);
	req.criteria = GROUP(MATCH_CRITERIA_ENABLE, 1);
	memset(req.match_criteria + offsetof(struct hcasim_mlx5_match_outer, dmac), 0xff, 6);
	p->group = devx_make(&req, sizeof(req), 1, &p->group_id);
}

void devx_tear_down(struct place *p)
{
	devx_end(p->group);
	devx_end(p->table);
}

void *devx_new_counter(uint32_t *number)
{
	const struct hcasim_mlx5_cmd_in req = devx_command(HCASIM_MLX5_CMD_ALLOC_FLOW_COUNTER, 0);

	return devx_make(&req, sizeof(req), 0, number);
}
