/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D4 of docs/mlx5-findings.md; cell: post/rdma_write/ud/sge/ud_addr/signaled.
 * libmlx5: accepted.
 */
#include "reproduce.h"

void reproduce(void)
{
	qp = ibv_create_qp_ex(ctx, &(struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_UD,
								 .pd = pd,
								 .send_cq = cq,
								 .recv_cq = cq,
								 .cap = {16, 1, 4, 1, 128},
								 .comp_mask = IBV_QP_INIT_ATTR_PD});
	cell_connect(0);
	sg_list[0] = (struct ibv_sge){(uintptr_t)addr, 64, lkey};
	wr[0] = (struct ibv_send_wr){.wr_id = 1,
				     .sg_list = sg_list,
				     .num_sge = 1,
				     .opcode = IBV_WR_RDMA_WRITE,
				     .send_flags = IBV_SEND_SIGNALED,
				     .wr.ud = {ah, remote_qpn, 0x11111111}};
	ibv_post_send(qp, wr, &bad_wr);
	cell_wait(1, 0);
}
