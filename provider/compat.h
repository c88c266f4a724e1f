/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Hides the differences between releases of rdma-core, from 56 on. compat.cmake defines these as 0 or 1:
 *
 * HCASIM_HAS_DMAH: struct ibv_dmah, ibv_reg_mr_ex and their verbs_context_ops. HCASIM_HAS_PORT_SPEED:
 * ibv_query_port_speed and its entry in verbs_context_ops. HCASIM_HAS_COMP_CNTR: completion counters. HCASIM_*_HAS_*: parameters that the functions below hide.
 */
#ifndef HCASIM_COMPAT_H
#define HCASIM_COMPAT_H

#include <infiniband/driver.h>

static inline int hcasim_cmd_get_context(struct verbs_context *ctx, struct ibv_get_context *cmd,
					 size_t cmd_size, struct ib_uverbs_get_context_resp *resp,
					 size_t resp_size)
{
#if HCASIM_GET_CONTEXT_HAS_FDS
	return ibv_cmd_get_context(ctx, cmd, cmd_size, NULL, resp, resp_size);
#else
	return ibv_cmd_get_context(ctx, cmd, cmd_size, resp, resp_size);
#endif
}

static inline int hcasim_cmd_create_cq_ex(struct ibv_context *ctx, const struct ibv_cq_init_attr_ex *attr,
					  struct verbs_cq *cq, struct ibv_create_cq_ex *cmd, size_t cmd_size,
					  struct ib_uverbs_ex_create_cq_resp *resp, size_t resp_size,
					  uint32_t cmd_flags)
{
#if HCASIM_CREATE_CQ_HAS_MEMORY
	return ibv_cmd_create_cq_ex(ctx, attr, NULL, cq, cmd, cmd_size, resp, resp_size, cmd_flags);
#else
	return ibv_cmd_create_cq_ex(ctx, attr, cq, cmd, cmd_size, resp, resp_size, cmd_flags);
#endif
}

static inline int hcasim_cmd_create_qp_ex2(struct ibv_context *ctx, struct verbs_qp *qp,
					   struct ibv_qp_init_attr_ex *attr, struct ibv_create_qp_ex *cmd,
					   size_t cmd_size, struct ib_uverbs_ex_create_qp_resp *resp,
					   size_t resp_size)
{
#if HCASIM_CREATE_QP_EX2_HAS_DRIVER
	return ibv_cmd_create_qp_ex2(ctx, qp, attr, cmd, cmd_size, resp, resp_size, NULL);
#else
	return ibv_cmd_create_qp_ex2(ctx, qp, attr, cmd, cmd_size, resp, resp_size);
#endif
}

#endif
