/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D20 of docs/mlx5-findings.md; cell: suite/objects/ud/address-handles.
 * libmlx5: NULL with errno 0.
 */
#include <errno.h>
#include <stdio.h>

#include "reproduce.h"

void reproduce(void)
{
	errno = 0;
	ah = ibv_create_ah(pd, &(struct ibv_ah_attr){.port_num = 0});
	printf("ibv_create_ah: %p, errno %d\n", (void *)ah, errno);
}
