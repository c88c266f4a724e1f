/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The uverbs commands with private data of this driver, request and response. */
#ifndef HCASIM_DRV_ABI_H
#define HCASIM_DRV_ABI_H

#include <infiniband/cmd_ioctl.h>
#include <infiniband/kern-abi.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "hcasim-abi.h"

/* DECLARE_DRV_CMD also needs each struct without its tag; here members are accessed by name. */
#define _STRUCT_hcasim_alloc_ucontext_resp  _STRUCT_empty
#define _STRUCT_hcasim_alloc_pd_resp        _STRUCT_empty
#define _STRUCT_hcasim_create_cq_resp       _STRUCT_empty
#define _STRUCT_hcasim_resize_cq_resp       _STRUCT_empty
#define _STRUCT_hcasim_create_srq_req       _STRUCT_empty
#define _STRUCT_hcasim_create_srq_resp      _STRUCT_empty
#define _STRUCT_hcasim_create_qp_req        _STRUCT_empty
#define _STRUCT_hcasim_create_rss_qp_req    _STRUCT_empty
#define _STRUCT_hcasim_create_qp_resp       _STRUCT_empty
#define _STRUCT_hcasim_create_ah_resp       _STRUCT_empty
#define _STRUCT_hcasim_modify_qp_req        _STRUCT_empty
#define _STRUCT_hcasim_query_device_ex_resp _STRUCT_empty

/* The driver's own methods. */
#define HCASIM_DRIVER_NS (1u << UVERBS_ID_NS_SHIFT)
enum { HCASIM_METHOD_PD_QUERY = HCASIM_DRIVER_NS }; /* of UVERBS_OBJECT_PD */
enum { HCASIM_ATTR_PD_QUERY_HANDLE = HCASIM_DRIVER_NS, HCASIM_ATTR_PD_QUERY_RESP_PDN };
enum { HCASIM_METHOD_DM_QUERY = HCASIM_DRIVER_NS }; /* of UVERBS_OBJECT_DM */
enum { HCASIM_ATTR_DM_QUERY_HANDLE = HCASIM_DRIVER_NS, HCASIM_ATTR_DM_QUERY_RESP };
enum { HCASIM_ATTR_ALLOC_DM_RESP = HCASIM_DRIVER_NS };
enum { HCASIM_ATTR_CREATE_COMP_CNTR_TYPE = HCASIM_DRIVER_NS };
enum { HCASIM_ATTR_QUERY_CONTEXT_RESP = HCASIM_DRIVER_NS };

DECLARE_DRV_CMD(hcasim_cmd_get_context, IB_USER_VERBS_CMD_GET_CONTEXT, empty, hcasim_alloc_ucontext_resp);
DECLARE_DRV_CMD(hcasim_cmd_alloc_pd, IB_USER_VERBS_CMD_ALLOC_PD, empty, hcasim_alloc_pd_resp);
DECLARE_DRV_CMD(hcasim_cmd_create_cq, IB_USER_VERBS_EX_CMD_CREATE_CQ, empty, hcasim_create_cq_resp);
DECLARE_DRV_CMD(hcasim_cmd_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ, empty, hcasim_resize_cq_resp);
DECLARE_DRV_CMD(hcasim_cmd_create_srq, IB_USER_VERBS_CMD_CREATE_XSRQ, hcasim_create_srq_req,
		hcasim_create_srq_resp);
DECLARE_DRV_CMD(hcasim_cmd_create_qp, IB_USER_VERBS_CMD_CREATE_QP, hcasim_create_qp_req,
		hcasim_create_qp_resp);
DECLARE_DRV_CMD(hcasim_cmd_create_wq, IB_USER_VERBS_EX_CMD_CREATE_WQ, hcasim_create_qp_req,
		hcasim_create_qp_resp);
DECLARE_DRV_CMD(hcasim_cmd_create_rss_qp, IB_USER_VERBS_EX_CMD_CREATE_QP, hcasim_create_rss_qp_req, empty);
DECLARE_DRV_CMD(hcasim_cmd_modify_qp, IB_USER_VERBS_EX_CMD_MODIFY_QP, hcasim_modify_qp_req, empty);
DECLARE_DRV_CMD(hcasim_cmd_query_device, IB_USER_VERBS_EX_CMD_QUERY_DEVICE, empty,
		hcasim_query_device_ex_resp);
DECLARE_DRV_CMD(hcasim_cmd_create_ah, IB_USER_VERBS_CMD_CREATE_AH, empty, hcasim_create_ah_resp);

#endif
