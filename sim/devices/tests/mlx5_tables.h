/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Commands that make tables of flows, and what they have made. */
#ifndef HCASIM_TESTS_MLX5_TABLES_H
#define HCASIM_TESTS_MLX5_TABLES_H

#include <endian.h>

#include "mlx5_devx_world.h"

#define ANSWER       sizeof(struct hcasim_mlx5_cmd_out)
#define TABLE(f, v)  htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_CMD_CREATE_FLOW_TABLE_##f##_MASK, v))
#define GROUP(f, v)  htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_CMD_CREATE_FLOW_GROUP_##f##_MASK, v))
#define FTE(f, v)    htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_CMD_SET_FTE_##f##_MASK, v))
#define ACTION(name) FTE(ACTION, HCASIM_MLX5_FLOW_ACTION_##name)
#define TYPE(name)   HCASIM_MLX5_FLOW_TABLE_##name
#define LISTS        (HCASIM_MLX5_SET_FTE_LISTS - sizeof(struct hcasim_mlx5_cmd_set_fte))
#define DMAC         (offsetof(struct hcasim_mlx5_match_outer, dmac))

typedef struct hcasim_mlx5_cmd_create_flow_table table_req;
typedef struct hcasim_mlx5_cmd_create_flow_group group_req;

struct entry_req { /* up to two items */
	struct hcasim_mlx5_cmd_set_fte fte;
	uint8_t reserved[LISTS];
	__be32 item[4];
};

table_req devx_table_of(uint8_t type, uint8_t level, uint8_t log_size);
group_req devx_group_of(uint8_t type, uint32_t table, uint32_t first, uint32_t last);
struct entry_req devx_entry_of(uint8_t type, uint32_t table, uint32_t group, uint32_t index, __be32 action);
/* The entry leads to a table. */
void devx_lead(struct entry_req *req, uint32_t table);

/* An object by a command that is right, and its number; it holds so many others. */
void *devx_make(const void *req, size_t size, unsigned int held, uint32_t *number);
void *devx_new_table(uint8_t type, uint8_t level, uint8_t log_size, uint32_t *number);
void *devx_new_group(uint8_t type, uint32_t table, uint32_t first, uint32_t last, uint32_t *number);
void *devx_new_counter(uint32_t *number);
void devx_end(void *obj);
/* Nothing is left of all that a test has made. */
void devx_all_gone(void);

/* A table with a group of entries 2 and 3, which match the destination's address. */
struct place {
	void *table, *group;
	uint32_t table_id, group_id;
};
void devx_set_up(struct place *p, uint8_t type, uint8_t level);
void devx_tear_down(struct place *p);

#endif
