/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D33 of docs/mlx5-findings.md; cell: suite/objects/rc/device-memory.
 * libmlx5: a segmentation fault, not EFAULT.
 */
#include <stdio.h>

#include "reproduce.h"

void reproduce(void)
{
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &(struct ibv_alloc_dm_attr){.length = 64});
	uint32_t word = 0;

	printf("ibv_memcpy_to_dm: %d\n", ibv_memcpy_to_dm(dm, (uint64_t)-4, &word, sizeof(word)));
}
