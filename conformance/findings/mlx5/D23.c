/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D23 of docs/mlx5-findings.md; cell: suite/objects/xrc_send/xrc-domains.
 * libmlx5: ibv_destroy_qp() of the opened QP writes outside its memory: SIGBUS or SIGSEGV in mlx5_free_db().
 */
#include <fcntl.h>
#include <stdio.h>

#include "reproduce.h"

void reproduce(void)
{
	struct ibv_xrcd *xrcd =
		ibv_open_xrcd(ctx, &(struct ibv_xrcd_init_attr){.comp_mask = IBV_XRCD_INIT_ATTR_FD |
									     IBV_XRCD_INIT_ATTR_OFLAGS,
								.fd = -1,
								.oflags = O_CREAT});
	struct ibv_qp *target = ibv_create_qp_ex(
		ctx, &(struct ibv_qp_init_attr_ex){
			     .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd});
	struct ibv_qp *opened = ibv_open_qp(
		ctx, &(struct ibv_qp_open_attr){.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
							     IBV_QP_OPEN_ATTR_TYPE,
						.qp_num = target->qp_num,
						.xrcd = xrcd,
						.qp_type = IBV_QPT_XRC_RECV});

	printf("ibv_destroy_qp: %d\n", ibv_destroy_qp(opened));
}
