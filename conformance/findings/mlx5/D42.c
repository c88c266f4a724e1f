/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * D42 of docs/mlx5-findings.md; cell: suite/atomic/rc/bytes-sig-all.
 * libmlx5: the bytes of the result are reversed.
 */
#include <stdio.h>
#include <string.h>

#include "reproduce.h"

void reproduce(void)
{
	unsigned long long result, word;

	qp = ibv_create_qp_ex(ctx, &(struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_RC,
								 .pd = pd,
								 .send_cq = cq,
								 .recv_cq = cq,
								 .cap = {16, 1, 4, 1, 128},
								 .sq_sig_all = 1,
								 .comp_mask = IBV_QP_INIT_ATTR_PD});
	cell_connect(0);
	memcpy(&word, (void *)(uintptr_t)remote_addr, sizeof(word));
	sg_list[0] = (struct ibv_sge){(uintptr_t)addr, 8, lkey};
	wr[0] = (struct ibv_send_wr){
		.wr_id = 1,
		.sg_list = sg_list,
		.num_sge = 1,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.wr.atomic = {.remote_addr = remote_addr, .compare_add = 1, .rkey = rkey}};
	ibv_post_send(qp, wr, &bad_wr);
	cell_wait(1, 0);
	memcpy(&result, addr, sizeof(result));
	printf("the word was %#llx, the result is %#llx\n", word, result);
}
