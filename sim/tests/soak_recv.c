// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Receive queues: buffers are posted again after they were checked, several in a list. */
#include <string.h>

#include "soak.h"

void recvq_flush(struct recvq *q)
{
	struct ibv_recv_wr wr[BATCH], *bad;
	struct ibv_sge sge[BATCH];
	int ret;

	if (!q->pending)
		return;
	for (uint32_t i = 0; i < q->pending; i++) {
		uint8_t *p = q->buf + (size_t)q->again[i] * q->stride;

		sge[i] = (struct ibv_sge){(uintptr_t)p, q->stride - GAP, q->mr->lkey};
		wr[i] = (struct ibv_recv_wr){.wr_id = q->again[i],
					     .next = i + 1 < q->pending ? &wr[i + 1] : NULL,
					     .sg_list = &sge[i],
					     .num_sge = 1};
	}
	ret = q->srq ? ibv_post_srq_recv(q->srq, wr, &bad) : ibv_post_recv(q->qp, wr, &bad);
	REQUIRE(!ret, NULL, 0, "posting receives: %s", strerror(ret));
	q->pending = 0;
}

void recvq_again(struct recvq *q, uint32_t slot)
{
	q->again[q->pending++] = slot;
	if (q->pending == BATCH)
		recvq_flush(q);
}

void recvq_fill(struct recvq *q)
{
	for (uint32_t i = 0; i < q->depth; i++)
		recvq_again(q, i);
	recvq_flush(q);
}
