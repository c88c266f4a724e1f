/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Quality of service: scheduling elements, and the table of rates of packet pacing. */
#ifndef HCASIM_MLX5_QOS_H
#define HCASIM_MLX5_QOS_H

#include "devices/mlx5/devx/devx.h"

struct mlx5_queue_groups { /* leaves of a queue pair, as the adapter numbers them; 0: none */
	uint32_t requester, responder;
};

uint8_t mlx5_devx_create_sched_elem(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_modify_sched_elem(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_modify_sq(struct mlx5_devx_cmd *cmd);
/* What a change of a queue pair says behind cmd_modify_qp. */
uint8_t mlx5_devx_queue_groups(const struct mlx5_devx_cmd *cmd, struct mlx5_queue_groups *out);

/* The rate of an entry that the context may use, 0: none. False: there is no such entry. */
bool mlx5_pp_rate(const struct drv_ucontext *ctx, uint32_t index, struct hca_qp_attr *out);

#endif
