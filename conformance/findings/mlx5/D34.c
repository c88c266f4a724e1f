/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D34 of docs/mlx5-findings.md; cell: suite/wq/raw_packet/live.
 * libmlx5: ibv_post_wq_recv() is 0, not EINVAL, and what was posted is forgotten on the way to RDY.
 */
#include <stdio.h>

#include "reproduce.h"

void reproduce(void)
{
	struct ibv_wq *wq = ibv_create_wq(
		ctx, &(struct ibv_wq_init_attr){
			     .wq_type = IBV_WQT_RQ, .max_wr = 5, .max_sge = 1, .pd = pd, .cq = cq});

	recv_wr[0] = (struct ibv_recv_wr){.wr_id = 1};
	printf("ibv_post_wq_recv in RESET: %d\n", ibv_post_wq_recv(wq, recv_wr, &bad_recv_wr));
	printf("ibv_modify_wq to RDY: %d\n",
	       ibv_modify_wq(wq,
			     &(struct ibv_wq_attr){.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY}));
	printf("ibv_modify_wq to ERR: %d\n",
	       ibv_modify_wq(wq,
			     &(struct ibv_wq_attr){.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_ERR}));
	cell_wait(1, 0); /* IBV_WC_WR_FLUSH_ERR */
}
