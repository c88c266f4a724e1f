// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The ioctl methods of mlx5_ib that the driver has, in place of the kernel's or besides them. */
#include <errno.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "devices/mlx5/devx/rows.h"
#include "devices/mlx5/driver/driver.h"

static int query_pd(struct drv_call *c)
{
	const uint32_t pdn = common_pdn(c->ops->object(c, MLX5_IB_ATTR_QUERY_PD_HANDLE));

	return c->ops->put(c, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &pdn, sizeof(pdn));
}

/* All of it is about an embedded switch, which the adapter does not have: no flag says that a member is valid. */
static int query_port(struct drv_call *c)
{
	const struct mlx5_ib_uapi_query_port none = {0};
	uint32_t port;
	const int ret = c->ops->get(c, MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, &port, sizeof(port));

	if (ret)
		return ret;
	if (!port || port > c->dev->cfg->num_ports)
		return -EINVAL;
	return c->ops->put(c, MLX5_IB_ATTR_QUERY_PORT, &none, sizeof(none));
}

static const struct attr_spec uar_alloc[] = {
	IDR(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, MLX5_IB_OBJECT_UAR, ACCESS_NEW, M_),
	CONST_IN(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, M_),
	OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, sizeof(uint64_t), M_),
	OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, sizeof(uint32_t), M_),
	OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, sizeof(uint32_t), M_),
};
static const struct attr_spec uar_destroy[] = {
	IDR(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, MLX5_IB_OBJECT_UAR, ACCESS_DESTROY, M_),
};
static const struct attr_spec dm_alloc[] = {
	IDR(UVERBS_ATTR_ALLOC_DM_HANDLE, UVERBS_OBJECT_DM, ACCESS_NEW, M_),
	IN(UVERBS_ATTR_ALLOC_DM_LENGTH, sizeof(uint64_t), M_),
	IN(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, sizeof(uint32_t), M_),
	OUT(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, sizeof(uint64_t), M_),
	OUT(MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, sizeof(uint16_t), M_),
	CONST_IN(MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, O_),
};
static const struct attr_spec dm_query[] = {
	IDR(MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, UVERBS_OBJECT_DM, ACCESS_READ, M_),
	OUT(MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, sizeof(uint64_t), M_),
	OUT(MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, sizeof(uint16_t), M_),
	OUT(MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, sizeof(uint64_t), M_),
};
static const struct attr_spec dm_map_op[] = {
	IDR(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, UVERBS_OBJECT_DM, ACCESS_READ, M_),
	IN(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, sizeof(uint8_t), M_),
	OUT(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET, sizeof(uint64_t), M_),
	OUT(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX, sizeof(uint16_t), M_),
};
static const struct attr_spec pd_query[] = {
	IDR(MLX5_IB_ATTR_QUERY_PD_HANDLE, UVERBS_OBJECT_PD, ACCESS_READ, M_),
	OUT(MLX5_IB_ATTR_QUERY_PD_RESP_PDN, sizeof(uint32_t), M_),
};
static const struct attr_spec port_query[] = {
	IN(MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, sizeof(uint32_t), M_),
	STRUCT_OUT(MLX5_IB_ATTR_QUERY_PORT, struct mlx5_ib_uapi_query_port, reg_c0, M_),
};

#define MAX_FLOW_ACTIONS 2 /* of one flow, as in Linux */
#define MATCH_IN(id)                                                                                         \
	{                                                                                                    \
		id, ATTR_IN, 0, 0, 1, sizeof(struct mlx5_ib_match_params), M_                                \
	}
static const struct attr_spec matcher_create[] = {
	IDR(MLX5_IB_ATTR_FLOW_MATCHER_CREATE_HANDLE, MLX5_IB_OBJECT_FLOW_MATCHER, ACCESS_NEW, M_),
	MATCH_IN(MLX5_IB_ATTR_FLOW_MATCHER_MATCH_MASK),
	ENUM_WITH(MLX5_IB_ATTR_FLOW_MATCHER_FLOW_TYPE, MLX5_IB_FLOW_TYPE_NORMAL + 1, sizeof(uint16_t), M_),
	IN(MLX5_IB_ATTR_FLOW_MATCHER_MATCH_CRITERIA, sizeof(uint8_t), M_),
	FLAGS_IN(MLX5_IB_ATTR_FLOW_MATCHER_FLOW_FLAGS, O_),
	CONST_IN(MLX5_IB_ATTR_FLOW_MATCHER_FT_TYPE, O_),
};
static const struct attr_spec matcher_destroy[] = {
	IDR(MLX5_IB_ATTR_FLOW_MATCHER_DESTROY_HANDLE, MLX5_IB_OBJECT_FLOW_MATCHER, ACCESS_DESTROY, M_),
};
static const struct attr_spec flow_create[] = {
	IDR(MLX5_IB_ATTR_CREATE_FLOW_HANDLE, UVERBS_OBJECT_FLOW, ACCESS_NEW, M_),
	MATCH_IN(MLX5_IB_ATTR_CREATE_FLOW_MATCH_VALUE),
	IDR(MLX5_IB_ATTR_CREATE_FLOW_DEST_QP, UVERBS_OBJECT_QP, ACCESS_READ, O_),
	IDR(MLX5_IB_ATTR_CREATE_FLOW_DEST_DEVX, MLX5_IB_OBJECT_DEVX_OBJ, ACCESS_READ, O_),
	IDR(MLX5_IB_ATTR_CREATE_FLOW_MATCHER, MLX5_IB_OBJECT_FLOW_MATCHER, ACCESS_READ, M_),
	IDR_ARRAY(MLX5_IB_ATTR_CREATE_FLOW_ARR_FLOW_ACTIONS, UVERBS_OBJECT_FLOW_ACTION, MAX_FLOW_ACTIONS, O_),
	IN(MLX5_IB_ATTR_CREATE_FLOW_TAG, sizeof(uint32_t), O_),
	IDR_ARRAY(MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX, MLX5_IB_OBJECT_DEVX_OBJ, 1, O_),
	IN(MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX_OFFSET, sizeof(uint32_t), O_),
	FLAGS_IN(MLX5_IB_ATTR_CREATE_FLOW_FLAGS, O_),
};

static const struct attr_spec pp_alloc[] = {
	IDR(MLX5_IB_ATTR_PP_OBJ_ALLOC_HANDLE, MLX5_IB_OBJECT_PP, ACCESS_NEW, M_),
	{MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX, ATTR_IN, 0, 0, 1, sizeof(struct hcasim_mlx5_pp_context), M_},
	FLAGS_IN(MLX5_IB_ATTR_PP_OBJ_ALLOC_FLAGS, M_),
	OUT(MLX5_IB_ATTR_PP_OBJ_ALLOC_INDEX, sizeof(uint16_t), M_),
};
static const struct attr_spec pp_destroy[] = {
	IDR(MLX5_IB_ATTR_PP_OBJ_DESTROY_HANDLE, MLX5_IB_OBJECT_PP, ACCESS_DESTROY, M_),
};
static const struct attr_spec modify_header_create[] = {
	IDR(MLX5_IB_ATTR_CREATE_MODIFY_HEADER_HANDLE, UVERBS_OBJECT_FLOW_ACTION, ACCESS_NEW, M_),
	IN_MIN(MLX5_IB_ATTR_CREATE_MODIFY_HEADER_ACTIONS_PRM, sizeof(struct hcasim_mlx5_action_in), M_),
	CONST_IN(MLX5_IB_ATTR_CREATE_MODIFY_HEADER_FT_TYPE, M_),
};
static const struct attr_spec packet_reformat_create[] = {
	IDR(MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_HANDLE, UVERBS_OBJECT_FLOW_ACTION, ACCESS_NEW, M_),
	IN_MIN(MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_DATA_BUF, 1, O_),
	CONST_IN(MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_TYPE, M_),
	CONST_IN(MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_FT_TYPE, M_),
};
static const struct attr_spec flow_action_destroy[] = {
	IDR(UVERBS_ATTR_DESTROY_FLOW_ACTION_HANDLE, UVERBS_OBJECT_FLOW_ACTION, ACCESS_DESTROY, M_),
};

const struct drv_method mlx5_methods[MLX5_NUM_METHODS] = {
	DRV_METHOD(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, mlx5_alloc_uar, uar_alloc),
	DRV_METHOD(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, NULL, uar_destroy),
	DRV_METHOD(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, mlx5_alloc_dm, dm_alloc),
	DRV_METHOD(UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, mlx5_query_dm, dm_query),
	DRV_METHOD(UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR, mlx5_map_dm_op, dm_map_op),
	DRV_METHOD(UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, query_pd, pd_query),
	DRV_METHOD(UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_QUERY_PORT, query_port, port_query),
	DRV_METHOD(MLX5_IB_OBJECT_FLOW_MATCHER, MLX5_IB_METHOD_FLOW_MATCHER_CREATE, mlx5_create_matcher,
		   matcher_create),
	DRV_METHOD(MLX5_IB_OBJECT_FLOW_MATCHER, MLX5_IB_METHOD_FLOW_MATCHER_DESTROY, NULL, matcher_destroy),
	DRV_METHOD(UVERBS_OBJECT_FLOW, MLX5_IB_METHOD_CREATE_FLOW, mlx5_create_flow, flow_create),
	DRV_METHOD(MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_ALLOC, mlx5_alloc_pp, pp_alloc),
	DRV_METHOD(MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_DESTROY, NULL, pp_destroy),
	DRV_METHOD(UVERBS_OBJECT_FLOW_ACTION, MLX5_IB_METHOD_FLOW_ACTION_CREATE_MODIFY_HEADER,
		   mlx5_create_modify_header, modify_header_create),
	DRV_METHOD(UVERBS_OBJECT_FLOW_ACTION, MLX5_IB_METHOD_FLOW_ACTION_CREATE_PACKET_REFORMAT,
		   mlx5_create_packet_reformat, packet_reformat_create),
	DRV_METHOD(UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_DESTROY, NULL, flow_action_destroy),
	MLX5_DEVX_METHODS,
};
const struct drv_object mlx5_objects[MLX5_NUM_OBJECTS] = {
	{MLX5_IB_OBJECT_UAR, mlx5_destroy_uar},
	{MLX5_IB_OBJECT_DEVX_OBJ, mlx5_devx_destroy},
	{MLX5_IB_OBJECT_DEVX_UMEM, mlx5_devx_dereg_umem},
	{MLX5_IB_OBJECT_FLOW_MATCHER, mlx5_destroy_matcher},
	{MLX5_IB_OBJECT_PP, mlx5_destroy_pp},
	{UVERBS_OBJECT_FLOW_ACTION, mlx5_destroy_flow_action},
};
