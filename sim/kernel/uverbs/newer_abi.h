/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Numbers of the uverbs ABI that the oldest rdma-core that we build with has no names for yet: Linux 6.17 and later,
 * include/uapi/rdma/ib_user_ioctl_cmds.h. Where its header names them, it says the same.
 */
#ifndef HCASIM_KERNEL_NEWER_ABI_H
#define HCASIM_KERNEL_NEWER_ABI_H

#define ABI_OBJECT_DMAH 17 /* enum uverbs_default_objects */

#define ABI_METHOD_QUERY_PORT_SPEED        7 /* of UVERBS_OBJECT_DEVICE */
#define ABI_ATTR_QUERY_PORT_SPEED_PORT_NUM 0
#define ABI_ATTR_QUERY_PORT_SPEED_RESP     1

#define ABI_METHOD_DMAH_ALLOC            0 /* of ABI_OBJECT_DMAH */
#define ABI_METHOD_DMAH_FREE             1
#define ABI_ATTR_ALLOC_DMAH_HANDLE       0
#define ABI_ATTR_ALLOC_DMAH_CPU_ID       1
#define ABI_ATTR_ALLOC_DMAH_TPH_MEM_TYPE 2
#define ABI_ATTR_ALLOC_DMAH_PH           3
#define ABI_ATTR_FREE_DMAH_HANDLE        0

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

#endif
