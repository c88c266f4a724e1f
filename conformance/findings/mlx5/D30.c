/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D30 of docs/mlx5-findings.md; cell: suite/create/rc/parts.
 * libmlx5: NULL and EINVAL, not a QP.
 */
#include <errno.h>
#include <stdio.h>

#include "reproduce.h"

void reproduce(void)
{
	struct ibv_srq *s = ibv_create_srq(pd, &(struct ibv_srq_init_attr){.attr = {4, 1, 0}});

	errno = 0;
	qp = ibv_create_qp(pd, &(struct ibv_qp_init_attr){.qp_type = IBV_QPT_RC,
							  .send_cq = cq,
							  .recv_cq = cq,
							  .srq = s,
							  .cap = {4, 1u << 30, 1, 1000}});
	printf("ibv_create_qp: %p, errno %d\n", (void *)qp, errno);
}
