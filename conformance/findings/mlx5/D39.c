/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D39 of docs/mlx5-findings.md; no cell, since the suite has no calls of mlx5dv. Link with -lmlx5, too.
 * libmlx5: the registration completes, but the key has no bytes: the WRITE from its first ones ends with an error.
 */
#include <infiniband/mlx5dv.h>
#include <sys/mman.h>

#include "reproduce.h"

#define HALF (2ull << 30)

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
					   .send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST};
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&(struct mlx5dv_mkey_init_attr){
		.pd = pd, .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT, .max_entries = 4});
	char *memory =
		mmap(NULL, HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct ibv_mr *half = ibv_reg_mr(pd, memory, HALF, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge list[2] = {{(uintptr_t)memory, HALF, half->lkey},
				  {(uintptr_t)memory, HALF, half->lkey}};

	qp = mlx5dv_create_qp(ctx, &attr, &more);
	qpx = ibv_qp_to_qp_ex(qp);
	cell_connect(0);
	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	qpx->wr_flags = IBV_SEND_INLINE;
	mlx5dv_wr_mr_list(mlx5dv_qp_ex_from_ibv_qp_ex(qpx), mkey, IBV_ACCESS_LOCAL_WRITE, 2, list);
	qpx->wr_id = 2;
	qpx->wr_flags = 0;
	ibv_wr_rdma_write(qpx, rkey, remote_addr);
	ibv_wr_set_sge(qpx, mkey->lkey, 0, 8);
	ibv_wr_complete(qpx);
	cell_wait(2, 0);
}
