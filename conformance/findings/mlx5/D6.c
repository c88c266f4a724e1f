/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D6 of docs/mlx5-findings.md; cell: post/send_tso/rc/none/-/signaled.
 * libmlx5: accepted, on a QP type without segmentation.
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
	wr[0] = (struct ibv_send_wr){
		.wr_id = 1, .opcode = IBV_WR_TSO, .send_flags = IBV_SEND_SIGNALED, .tso = {hdr, 54, 512}};
	ibv_post_send(qp, wr, &bad_wr);
}
