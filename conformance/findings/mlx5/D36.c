/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D36 of docs/mlx5-findings.md; cell: suite/wq/raw_packet/domains.
 * libmlx5: ibv_dealloc_pd() is 0, not EBUSY; ibv_destroy_wq() reads freed memory.
 */
#include <stdio.h>

#include "reproduce.h"

void reproduce(void)
{
	struct ibv_pd *parent = ibv_alloc_parent_domain(ctx, &(struct ibv_parent_domain_init_attr){.pd = pd});
	struct ibv_wq *wq = ibv_create_wq(
		ctx, &(struct ibv_wq_init_attr){
			     .wq_type = IBV_WQT_RQ, .max_wr = 5, .max_sge = 1, .pd = parent, .cq = cq});

	printf("ibv_dealloc_pd: %d\n", ibv_dealloc_pd(parent));
	printf("ibv_destroy_wq: %d\n", ibv_destroy_wq(wq));
}
