/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D38 of docs/mlx5-findings.md; no cell, since the suite has no calls of mlx5dv. Link with -lmlx5, too.
 * libmlx5: accepts it, but of 96 KiB its entry has 32. The simulated adapter completes the registration with
 * LOC_QP_OP_ERR, since block and entry differ, and the WRITE with WR_FLUSH_ERR.
 */
#include <infiniband/mlx5dv.h>
#include <stdlib.h>

#include "reproduce.h"

#define BLOCK (96u << 10)
#define AT    (64u << 10)

void reproduce(void)
{
	struct ibv_qp_init_attr_ex attr = {.qp_type = IBV_QPT_RC,
					   .pd = pd,
					   .send_cq = cq,
					   .recv_cq = cq,
					   .cap = {16, 1, 4, 1, 512},
					   .sq_sig_all = 1,
					   .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE};
	struct mlx5dv_qp_init_attr more = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
					   .send_ops_flags = MLX5DV_QP_EX_WITH_MR_INTERLEAVED};
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&(struct mlx5dv_mkey_init_attr){
		.pd = pd, .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT, .max_entries = 4});
	char *memory = calloc(1, BLOCK);
	struct ibv_mr *block = ibv_reg_mr(pd, memory, BLOCK, IBV_ACCESS_LOCAL_WRITE);
	struct mlx5dv_mr_interleaved data = {(uintptr_t)memory, BLOCK, 0, block->lkey};

	qp = mlx5dv_create_qp(ctx, &attr, &more);
	qpx = ibv_qp_to_qp_ex(qp);
	cell_connect(0);
	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	qpx->wr_flags = IBV_SEND_INLINE;
	mlx5dv_wr_mr_interleaved(mlx5dv_qp_ex_from_ibv_qp_ex(qpx), mkey, IBV_ACCESS_LOCAL_WRITE, 1, 1, &data);
	qpx->wr_id = 2;
	qpx->wr_flags = 0;
	ibv_wr_rdma_write(qpx, rkey, remote_addr);
	ibv_wr_set_sge(qpx, mkey->lkey, AT, 8);
	ibv_wr_complete(qpx);
	cell_wait(2, 0);
}
