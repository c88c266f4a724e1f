/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D8 of docs/mlx5-findings.md; cell: suite/bad_wr/rc/send-inline-1.
 * libmlx5: 0 of 1 completions of the request before the refused one.
 */
#include "reproduce.h"

void reproduce(void)
{
	qp = ibv_create_qp_ex(ctx, &(struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_RC,
								 .pd = pd,
								 .send_cq = cq,
								 .recv_cq = cq,
								 .cap = {16, 1, 4, 1, 128},
								 .comp_mask = IBV_QP_INIT_ATTR_PD});
	cell_connect(0);
	cell_receives();
	sg_list[0] = (struct ibv_sge){(uintptr_t)addr, 600, lkey};
	sg_list[1] = (struct ibv_sge){(uintptr_t)addr, 2000, lkey};
	wr[0] = (struct ibv_send_wr){.wr_id = 1,
				     .next = &wr[1],
				     .sg_list = &sg_list[0],
				     .num_sge = 1,
				     .opcode = IBV_WR_SEND,
				     .send_flags = IBV_SEND_SIGNALED};
	wr[1] = (struct ibv_send_wr){.wr_id = 2,
				     .sg_list = &sg_list[1],
				     .num_sge = 1,
				     .opcode = IBV_WR_SEND,
				     .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};
	ibv_post_send(qp, wr, &bad_wr);
	cell_wait(1, 1);
}
