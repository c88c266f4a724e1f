/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D12 of docs/mlx5-findings.md; cell: wr/send/ud/sge/-/signaled.
 * libmlx5: ibv_wr_complete() accepts it, and it never completes.
 */
#include "reproduce.h"

void reproduce(void)
{
	qp = ibv_create_qp_ex(ctx, &(struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_UD,
								 .pd = pd,
								 .send_cq = cq,
								 .recv_cq = cq,
								 .cap = {16, 1, 4, 1, 128},
								 .comp_mask = IBV_QP_INIT_ATTR_PD |
									      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
								 .send_ops_flags = IBV_QP_EX_WITH_SEND});
	qpx = ibv_qp_to_qp_ex(qp);
	cell_connect(0);
	cell_receives();
	ibv_wr_start(qpx);
	qpx->wr_id = 1, qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, lkey, (uintptr_t)addr, 64);
	ibv_wr_complete(qpx);
	cell_wait(1, 1);
}
