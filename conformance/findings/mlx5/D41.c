/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D41 of docs/mlx5-findings.md; cell: suite/flush/rc/err-from-init.
 * libmlx5: ENOMEM, not 0 and a completion with IBV_WC_WR_FLUSH_ERR.
 */
#include "reproduce.h"

void reproduce(void)
{
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	qp = ibv_create_qp_ex(ctx, &(struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_RC,
								 .pd = pd,
								 .send_cq = cq,
								 .recv_cq = cq,
								 .cap = {16, 1, 4, 1, 128},
								 .comp_mask = IBV_QP_INIT_ATTR_PD});
	ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_ERR}, IBV_QP_STATE);
	wr[0] = (struct ibv_send_wr){.wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	ibv_post_send(qp, wr, &bad_wr);
}
