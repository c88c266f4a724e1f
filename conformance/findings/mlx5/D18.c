/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D18 of docs/mlx5-findings.md; cell: suite/srq/rc/attributes.
 * libmlx5: 7 created, 15 queried.
 */
#include <stdio.h>

#include "reproduce.h"

void reproduce(void)
{
	struct ibv_srq_init_attr init = {.attr = {5, 3, 0}};
	struct ibv_srq *s = ibv_create_srq(pd, &init);
	struct ibv_srq_attr found = {};

	ibv_query_srq(s, &found);
	printf("max_wr: created %u, queried %u\n", init.attr.max_wr, found.max_wr);
}
