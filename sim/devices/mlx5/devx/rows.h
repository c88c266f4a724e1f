/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The attributes of DEVX's methods, and their rows in the table of methods/methods.c, which alone includes this. */
#ifndef HCASIM_MLX5_DEVX_ROWS_H
#define HCASIM_MLX5_DEVX_ROWS_H

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "devices/mlx5/devx/devx.h"

#define DEVX_HEAD sizeof(struct hcasim_mlx5_cmd_in)

static const struct attr_spec devx_other[] = {
	IN_MIN(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, DEVX_HEAD, M_),
	OUT_MIN(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, DEVX_HEAD, M_),
};
static const struct attr_spec devx_query_uar[] = {
	IN(MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, sizeof(uint32_t), M_),
	OUT(MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, sizeof(uint32_t), M_),
};
static const struct attr_spec devx_query_eqn[] = {
	IN(MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, sizeof(uint32_t), M_),
	OUT(MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, sizeof(uint32_t), M_),
};
static const struct attr_spec devx_create[] = {
	IDR(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, MLX5_IB_OBJECT_DEVX_OBJ, ACCESS_NEW, M_),
	IN_MIN(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, DEVX_HEAD, M_),
	OUT_MIN(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, DEVX_HEAD, M_),
};
static const struct attr_spec devx_destroy[] = {
	IDR(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, MLX5_IB_OBJECT_DEVX_OBJ, ACCESS_DESTROY, M_),
};
static const struct attr_spec devx_modify[] = {
	IDR(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, DRV_ANY_OBJECT, ACCESS_READ, M_),
	IN_MIN(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, DEVX_HEAD, M_),
	OUT_MIN(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, DEVX_HEAD, M_),
};
static const struct attr_spec devx_query[] = {
	IDR(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, DRV_ANY_OBJECT, ACCESS_READ, M_),
	IN_MIN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, DEVX_HEAD, M_),
	OUT_MIN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, DEVX_HEAD, M_),
};
static const struct attr_spec devx_umem_reg[] = {
	IDR(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, MLX5_IB_OBJECT_DEVX_UMEM, ACCESS_NEW, M_),
	IN(MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, sizeof(uint64_t), M_),
	IN(MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, sizeof(uint64_t), M_),
	FLAGS_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, O_),
	CONST_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, O_),
	OUT(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, sizeof(uint32_t), M_),
};
static const struct attr_spec devx_umem_dereg[] = {
	IDR(MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, MLX5_IB_OBJECT_DEVX_UMEM, ACCESS_DESTROY, M_),
};
static const struct attr_spec devx_async_query[] = {
	IDR(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE, DRV_ANY_OBJECT, ACCESS_READ, M_),
	IN_MIN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN, DEVX_HEAD, M_),
	CONST_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, M_),
	FD(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, ACCESS_READ, M_),
	IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, sizeof(uint64_t), M_),
};
static const struct attr_spec devx_alloc_cmd_fd[] = {
	FD(MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE, MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, ACCESS_NEW, M_),
};
static const struct attr_spec devx_alloc_event_fd[] = {
	FD(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE, MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, ACCESS_NEW, M_),
	FLAGS_IN(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, M_),
};
static const struct attr_spec devx_subscribe[] = {
	FD(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, ACCESS_READ, M_),
	IDR(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, MLX5_IB_OBJECT_DEVX_OBJ, ACCESS_READ, O_),
	IN_MIN(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, sizeof(uint16_t), M_),
	IN(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, sizeof(uint64_t), O_),
	IN(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, sizeof(uint32_t), O_),
};

#define MLX5_DEVX_METHODS                                                                                    \
	DRV_METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, mlx5_devx_other, devx_other),             \
		DRV_METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR, mlx5_devx_query_uar,          \
			   devx_query_uar),                                                                  \
		DRV_METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN, mlx5_devx_query_eqn,          \
			   devx_query_eqn),                                                                  \
		DRV_METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, mlx5_devx_create,        \
			   devx_create),                                                                     \
		DRV_METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, NULL, devx_destroy),    \
		DRV_METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY, mlx5_devx_modify,        \
			   devx_modify),                                                                     \
		DRV_METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, mlx5_devx_query,          \
			   devx_query),                                                                      \
		DRV_METHOD(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG, mlx5_devx_reg_umem,       \
			   devx_umem_reg),                                                                   \
		DRV_METHOD(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG, NULL, devx_umem_dereg), \
		DRV_METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY,                     \
			   mlx5_devx_async_query, devx_async_query),                                         \
		DRV_METHOD(MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC, NULL,   \
			   devx_alloc_cmd_fd),                                                               \
		DRV_METHOD(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC,     \
			   mlx5_devx_alloc_events, devx_alloc_event_fd),                                     \
		DRV_METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT, mlx5_devx_subscribe,    \
			   devx_subscribe)

#endif
