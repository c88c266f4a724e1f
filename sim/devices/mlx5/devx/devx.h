/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Commands of the adapter's firmware that a program gives through DEVX: what mlx5_ib lets through, and how the
 * firmware of this adapter answers. A command that fails there is -EREMOTEIO, and its answer says why.
 */
#ifndef HCASIM_MLX5_DEVX_H
#define HCASIM_MLX5_DEVX_H

#include "devices/mlx5/driver.h"

struct mlx5_devx_obj {        /* an object that a command has made; it is destroyed with its handle */
	struct native_dev *n; /* of a block of reserved numbers */
	struct hca *hca;      /* of a memory key */
	uint16_t opcode;      /* that made it */
	uint16_t type;        /* of a general object */
	uint32_t number;
};

struct mlx5_devx_cmd {
	struct drv_call *call;
	struct hcasim_mlx5_cmd_in head;
	const uint8_t *in; /* all of the command, `head` included */
	uint8_t *out;      /* zeroed; the head is put in afterwards */
	size_t in_len, out_len;
	uint32_t number; /* answer: of the new object */
	struct mlx5_devx_obj
		*obj;      /* CREATE: to be filled in; else the object of the handle, if DEVX has made it */
	struct drv_qp *qp; /* the queue pair of the handle, or NULL */
};

/* What runs a command; the status of cmd_out, HCASIM_MLX5_CMD_STATUS_*. */
typedef uint8_t (*mlx5_devx_run)(struct mlx5_devx_cmd *cmd);

int mlx5_devx_other(struct drv_call *c);
int mlx5_devx_create(struct drv_call *c);
int mlx5_devx_modify(struct drv_call *c);
int mlx5_devx_query(struct drv_call *c);
int mlx5_devx_query_eqn(struct drv_call *c);
int mlx5_devx_query_uar(struct drv_call *c);
int mlx5_devx_destroy(void *object);

uint8_t mlx5_devx_query_hca_cap(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_rts2rts_qp(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_create_mkey(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_create_general(struct mlx5_devx_cmd *cmd);

#endif
