/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Numbers of the uverbs and rdma_ucm ABI that the oldest supported rdma-core does not define: Linux's
 * include/uapi/rdma/ib_user_ioctl_cmds.h and rdma_user_cm.h. releases.c lists the release that added each.
 */
#ifndef HCASIM_KERNEL_NEWER_ABI_H
#define HCASIM_KERNEL_NEWER_ABI_H

#include <stdint.h>

#include <rdma/rdma_user_cm.h>

#define ABI_OBJECT_DMAH 17 /* enum uverbs_default_objects */

#define ABI_ATTR_GET_CONTEXT_FD_ARR 2 /* of UVERBS_METHOD_GET_CONTEXT */

#define ABI_METHOD_QUERY_PORT_SPEED        7 /* of UVERBS_OBJECT_DEVICE */
#define ABI_ATTR_QUERY_PORT_SPEED_PORT_NUM 0
#define ABI_ATTR_QUERY_PORT_SPEED_RESP     1

#define ABI_ATTR_CREATE_CQ_BUFFER_VA     8 /* of UVERBS_METHOD_CQ_CREATE */
#define ABI_ATTR_CREATE_CQ_BUFFER_LENGTH 9
#define ABI_ATTR_CREATE_CQ_BUFFER_FD     10
#define ABI_ATTR_CREATE_CQ_BUFFER_OFFSET 11

#define ABI_METHOD_DMAH_ALLOC            0 /* of ABI_OBJECT_DMAH */
#define ABI_METHOD_DMAH_FREE             1
#define ABI_ATTR_ALLOC_DMAH_HANDLE       0
#define ABI_ATTR_ALLOC_DMAH_CPU_ID       1
#define ABI_ATTR_ALLOC_DMAH_TPH_MEM_TYPE 2
#define ABI_ATTR_ALLOC_DMAH_PH           3
#define ABI_ATTR_FREE_DMAH_HANDLE        0

#define ABI_OBJECT_COMP_CNTR 19

#define ABI_METHOD_QUERY_COMP_CNTR_CAPS      8 /* of UVERBS_OBJECT_DEVICE */
#define ABI_ATTR_COMP_CNTR_CAPS_MAX_COUNTERS 0
#define ABI_ATTR_COMP_CNTR_CAPS_MAX_VALUE    1
#define ABI_ATTR_COMP_CNTR_CAPS_ATTACH_OPS   2

#define ABI_METHOD_COMP_CNTR_CREATE        0 /* of ABI_OBJECT_COMP_CNTR */
#define ABI_METHOD_COMP_CNTR_DESTROY       1
#define ABI_METHOD_COMP_CNTR_MODIFY        2
#define ABI_METHOD_COMP_CNTR_READ          3
#define ABI_ATTR_CREATE_COMP_CNTR_HANDLE   0
#define ABI_ATTR_DESTROY_COMP_CNTR_HANDLE  0
#define ABI_ATTR_MODIFY_COMP_CNTR_HANDLE   0
#define ABI_ATTR_MODIFY_COMP_CNTR_ENTRY    1
#define ABI_ATTR_MODIFY_COMP_CNTR_OP       2
#define ABI_ATTR_MODIFY_COMP_CNTR_VALUE    3
#define ABI_COMP_CNTR_OP_SET               0 /* values of the attribute OP */
#define ABI_COMP_CNTR_OP_INC               1
#define ABI_ATTR_READ_COMP_CNTR_HANDLE     0
#define ABI_ATTR_READ_COMP_CNTR_ENTRY      1
#define ABI_ATTR_READ_COMP_CNTR_RESP_VALUE 2

#define ABI_METHOD_QP_ATTACH_COMP_CNTR           2 /* of UVERBS_OBJECT_QP */
#define ABI_ATTR_QP_ATTACH_COMP_CNTR_HANDLE      0
#define ABI_ATTR_QP_ATTACH_COMP_CNTR_CNTR_HANDLE 1
#define ABI_ATTR_QP_ATTACH_COMP_CNTR_OP_MASK     2

#define ABI_METHOD_REG_MR            5 /* of UVERBS_OBJECT_MR */
#define ABI_ATTR_REG_MR_HANDLE       0
#define ABI_ATTR_REG_MR_PD_HANDLE    1
#define ABI_ATTR_REG_MR_DMA_HANDLE   2
#define ABI_ATTR_REG_MR_IOVA         3
#define ABI_ATTR_REG_MR_ADDR         4
#define ABI_ATTR_REG_MR_LENGTH       5
#define ABI_ATTR_REG_MR_ACCESS_FLAGS 6
#define ABI_ATTR_REG_MR_FD           7
#define ABI_ATTR_REG_MR_FD_OFFSET    8
#define ABI_ATTR_REG_MR_RESP_LKEY    9
#define ABI_ATTR_REG_MR_RESP_RKEY    10

#define UCMA_RESOLVE_IB_SERVICE 23 /* commands of rdma_ucm */
#define UCMA_WRITE_CM_EVENT     24
#define UCMA_QUERY_IB_SERVICE   3 /* option of RDMA_USER_CM_CMD_QUERY */

struct ucma_resolve_ib_service {
	uint32_t id, reserved;
	uint64_t service_id;
	uint8_t service_name[64];
	uint32_t flags, reserved1;
};

struct ucma_write_cm_event {
	uint32_t id, reserved;
	uint32_t event, status; /* enum rdma_event, USER or INTERNAL */
	union {
		struct rdma_ucm_conn_param conn;
		struct rdma_ucm_ud_param ud;
		uint64_t arg;
	} param;
};

struct ucma_query_ib_service_resp {
	uint32_t num_service_recs, reserved; /* the records follow */
};

#endif
