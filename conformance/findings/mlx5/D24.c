/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D24 of docs/mlx5-findings.md; cell: suite/objects/rc/srq-limits.
 * libmlx5: an SRQ, not NULL.
 */
#include <stdio.h>

#include "reproduce.h"

void reproduce(void)
{
	struct ibv_srq_init_attr_ex attr = {.attr = {4, 1, 0},
					    .comp_mask =
						    IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | 1u << 30,
					    .srq_type = IBV_SRQT_BASIC,
					    .pd = pd};

	printf("ibv_create_srq_ex with an unknown bit of comp_mask: %p\n",
	       (void *)ibv_create_srq_ex(ctx, &attr));
}
