/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D15 of docs/mlx5-findings.md; cell: wr/bind_mw/rc/sge/-/signaled.
 * libmlx5: the peer receives 32 bytes of the first request, not 64.
 */
#include "reproduce.h"

void reproduce(void)
{
	qp = ibv_create_qp_ex(ctx, &(struct ibv_qp_init_attr_ex){
					   .qp_type = IBV_QPT_RC,
					   .pd = pd,
					   .send_cq = cq,
					   .recv_cq = cq,
					   .cap = {16, 1, 4, 1, 128},
					   .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_BIND_MW});
	qpx = ibv_qp_to_qp_ex(qp);
	cell_connect(CELL_OWN_WINDOW);
	cell_receives();
	ibv_wr_start(qpx);
	qpx->wr_id = 1, qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, lkey, (uintptr_t)addr, 64);
	qpx->wr_id = 2;
	ibv_wr_bind_mw(qpx, mw, ibv_inc_rkey(mw->rkey),
		       &(struct ibv_mw_bind_info){.mr = mr,
						  .addr = (uintptr_t)addr,
						  .length = 64,
						  .mw_access_flags = IBV_ACCESS_REMOTE_WRITE});
	ibv_wr_set_sge(qpx, lkey, (uintptr_t)addr, 32);
	ibv_wr_complete(qpx);
	cell_wait(2, 1);
}
