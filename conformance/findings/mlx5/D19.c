/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D19 of docs/mlx5-findings.md; cell: suite/sges/rc/receive-srq.
 * libmlx5: IBV_WC_LOC_PROT_ERR at the receiver, IBV_WC_REM_OP_ERR at the sender.
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
	cell_connect(CELL_SRQ);
	recv_sg_list[0] = (struct ibv_sge){0, 0, 0};
	recv_sg_list[1] = (struct ibv_sge){(uintptr_t)recv_addr, 64, recv_lkey};
	recv_wr[0] = (struct ibv_recv_wr){.wr_id = 1, .sg_list = recv_sg_list, .num_sge = 2};
	ibv_post_srq_recv(srq, recv_wr, &bad_recv_wr);
	sg_list[0] = (struct ibv_sge){(uintptr_t)addr, 64, lkey};
	wr[0] = (struct ibv_send_wr){.wr_id = 1,
				     .sg_list = sg_list,
				     .num_sge = 1,
				     .opcode = IBV_WR_SEND,
				     .send_flags = IBV_SEND_SIGNALED};
	ibv_post_send(qp, wr, &bad_wr);
	cell_wait(1, 1);
}
