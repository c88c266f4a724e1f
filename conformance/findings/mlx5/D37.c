/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D37 of docs/mlx5-findings.md; no cell, since the environment needs MLX5_CQE_SIZE=128.
 * libmlx5: the 32 bytes are those of the other half of the CQE.
 */
#include <stdio.h>
#include <string.h>

#include "reproduce.h"

void reproduce(void)
{
	qp = ibv_create_qp_ex(ctx, &(struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_RC,
								 .pd = pd,
								 .send_cq = cq,
								 .recv_cq = cq,
								 .cap = {16, 1, 4, 1, 128},
								 .sq_sig_all = 1,
								 .comp_mask = IBV_QP_INIT_ATTR_PD |
									      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
								 .send_ops_flags = IBV_QP_EX_WITH_RDMA_READ});
	qpx = ibv_qp_to_qp_ex(qp);
	cell_connect(0);
	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	ibv_wr_rdma_read(qpx, rkey, remote_addr);
	ibv_wr_set_sge(qpx, lkey, (uintptr_t)addr, 32);
	ibv_wr_complete(qpx);
	cell_wait(1, 0);
	printf("%s\n",
	       memcmp(addr, (void *)(uintptr_t)remote_addr, 32) ? "other bytes" : "the bytes of the peer");
}
