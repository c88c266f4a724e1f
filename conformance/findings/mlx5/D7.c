/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D7 of docs/mlx5-findings.md; cell: suite/answers/rc/wrong.
 * libmlx5: 8 bytes are written, 4 of them behind the SGE.
 */
#include <stdio.h>
#include <string.h>

#include "reproduce.h"

void reproduce(void)
{
	qp = ibv_create_qp_ex(ctx, &(struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_RC,
								 .pd = pd,
								 .send_cq = cq,
								 .recv_cq = cq,
								 .cap = {16, 1, 4, 1, 128},
								 .comp_mask = IBV_QP_INIT_ATTR_PD});
	cell_connect(0);
	uint8_t *bytes = addr;

	memset(bytes, 0xee, 10);
	sg_list[0] = (struct ibv_sge){(uintptr_t)addr, 4, lkey};
	wr[0] = (struct ibv_send_wr){.wr_id = 1,
				     .sg_list = sg_list,
				     .num_sge = 1,
				     .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				     .send_flags = IBV_SEND_SIGNALED,
				     .wr.atomic = {remote_addr, add, 0, rkey}};
	ibv_post_send(qp, wr, &bad_wr);
	cell_wait(1, 0);
	for (int i = 0; i < 10; i++)
		printf("%02x ", bytes[i]);
	printf("\n");
}
