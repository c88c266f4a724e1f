/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D21 of docs/mlx5-findings.md; cell: suite/create/rc/parts.
 * libmlx5: a segmentation fault, not NULL.
 */
#include <stdio.h>

#include "reproduce.h"

void reproduce(void)
{
	printf("ibv_create_qp: %p\n",
	       (void *)ibv_create_qp(pd,
				     &(struct ibv_qp_init_attr){.qp_type = IBV_QPT_RC, .cap = {4, 4, 1, 1}}));
}
