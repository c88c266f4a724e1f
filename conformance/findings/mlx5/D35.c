/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D35 of docs/mlx5-findings.md; cell: suite/wq/raw_packet/tables.
 * libmlx5: a segmentation fault, not NULL.
 */
#include <stdio.h>

#include "reproduce.h"

void reproduce(void)
{
	struct ibv_wq *wq = ibv_create_wq(
		ctx, &(struct ibv_wq_init_attr){
			     .wq_type = IBV_WQT_RQ, .max_wr = 5, .max_sge = 1, .pd = pd, .cq = cq});

	printf("ibv_create_rwq_ind_table: %p\n",
	       (void *)ibv_create_rwq_ind_table(
		       ctx, &(struct ibv_rwq_ind_table_init_attr){.log_ind_tbl_size = 30, .ind_tbl = &wq}));
}
