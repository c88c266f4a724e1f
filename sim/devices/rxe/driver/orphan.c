// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Flush errors for outstanding work when the adapter is lost: what lies between the indices of a queue. */
#include <endian.h>
#include <string.h>

#include "driver.h"
#include "devices/rxe/format/format.h"

static uint32_t load(const __le32 *index)
{
	return le32toh(__atomic_load_n(index, __ATOMIC_ACQUIRE));
}

/* False if there is no room: the application has completions to read first. */
static bool put_cqe(const struct drv_orphan *cq, const struct hca_cpl *cpl)
{
	struct hcasim_rxe_queue *q = (struct hcasim_rxe_queue *)cq->mem;
	const uint32_t mask = cq->entries - 1, pi = load(&q->producer_index) & mask;

	if (((pi + 1) & mask) == (load(&q->consumer_index) & mask))
		return false;
	rxe_personality.encode_cqe(cpl, 0, cq->mem + cq->ring + (uint64_t)pi * HCASIM_RXE_CQ_ELEMENT,
				   HCASIM_RXE_CQ_ELEMENT);
	__atomic_store_n(&q->producer_index, htole32((pi + 1) & mask), __ATOMIC_RELEASE);
	return true;
}

/* Every WQE begins with its wr_id. No more than a ring at a time: the application may post as fast as it polls. */
static void flush(uint8_t *mem, uint32_t entries, struct hca_cpl *cpl, const struct drv_orphan *cq)
{
	struct hcasim_rxe_queue *q = (struct hcasim_rxe_queue *)mem;
	const uint32_t mask = entries - 1;
	const uint32_t pi = load(&q->producer_index) & mask;
	uint32_t ci = load(&q->consumer_index) & mask;

	for (; ci != pi; ci = (ci + 1) & mask) {
		uint64_t id;

		memcpy(&id, (uint8_t *)(q + 1) + (uint64_t)ci * HCASIM_RXE_ELEMENT, sizeof(id));
		cpl->id = le64toh(id);
		if (!put_cqe(cq, cpl))
			break;
		__atomic_store_n(&q->consumer_index, htole32((ci + 1) & mask), __ATOMIC_RELEASE);
	}
}

void rxe_flush_orphan(struct drv_orphan *qp, struct drv_orphan *send_cq, struct drv_orphan *recv_cq)
{
	struct hca_cpl cpl = {.qpn = qp->number, .status = HCASIM_CQE_STATUS_WR_FLUSH_ERR};

	cpl.op = HCASIM_CQE_OP_REQ;
	if (send_cq && qp->sq_wqebb)
		flush(qp->mem, qp->sq_wqebb, &cpl, send_cq);
	cpl.op = HCASIM_CQE_OP_RECV;
	if (recv_cq && qp->rq_wqes)
		flush(qp->mem + qp->rq, qp->rq_wqes, &cpl, recv_cq);
}
