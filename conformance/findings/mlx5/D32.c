/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D32 of docs/mlx5-findings.md; cell: no cell.
 * libmlx5: a segmentation fault in to_mparent_domain(), not a QP.
 */
#include <fcntl.h>
#include <string.h>

#include "reproduce.h"

void reproduce(void)
{
	struct ibv_xrcd *xrcd =
		ibv_open_xrcd(ctx, &(struct ibv_xrcd_init_attr){.comp_mask = IBV_XRCD_INIT_ATTR_FD |
									     IBV_XRCD_INIT_ATTR_OFLAGS,
								.fd = -1,
								.oflags = O_CREAT});
	struct ibv_qp_init_attr_ex attr;

	memset(&attr, 0, sizeof(attr));
	attr.pd = (struct ibv_pd *)0x5a5a5a5a5a58; /* not named by comp_mask */
	attr.qp_type = IBV_QPT_XRC_RECV;
	attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	attr.xrcd = xrcd;
	ibv_create_qp_ex(ctx, &attr);
}
