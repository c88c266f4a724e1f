/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D26 of docs/mlx5-findings.md; cell: suite/objects/xrc_send/xrc-srq-sizes.
 * libmlx5: srq_context is NULL (and pd, in 56.1).
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
	struct ibv_srq *s = ibv_create_srq_ex(
		ctx,
		&(struct ibv_srq_init_attr_ex){.srq_context = &s,
					       .attr = {4, 1, 0},
					       .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
							    IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					       .srq_type = IBV_SRQT_XRC,
					       .pd = pd,
					       .xrcd = xrcd,
					       .cq = cq});

	printf("srq_context %p, expected %p; pd %p, expected %p\n", s->srq_context, (void *)&s, (void *)s->pd,
	       (void *)pd);
}
