// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completes outstanding work when the adapter is lost: one flush error for each work request of a QP's own queues (as
 * Linux's mlx5 does in mlx5_ib_poll_sw_comp(), and mlx4). Receives of an SRQ belong to no QP until a message takes
 * them, and those of a work queue never do: they are not completed (mlx5_ib_handle_internal_error() visits QPs and
 * their CQs).
 */
#include <endian.h>
#include <stdatomic.h>
#include <string.h>

#include "driver.h"
#include "devices/native/format/format.h"

static struct hcasim_cqe *cqe_at(const struct drv_orphan *cq, uint32_t index)
{
	return (struct hcasim_cqe *)(cq->mem + cq->ring) + (index & (cq->entries - 1));
}

static unsigned int phase_of(const struct drv_orphan *cq, uint32_t index)
{
	return !(index / cq->entries & 1); /* 1 in the first turn of the ring */
}

static bool written(const struct drv_orphan *cq, uint32_t index)
{
	const uint8_t owner = __atomic_load_n(&cqe_at(cq, index)->owner, __ATOMIC_ACQUIRE);

	return HCASIM_FIELD_GET(HCASIM_CQE_PHASE_MASK, owner) == phase_of(cq, index);
}

static uint32_t consumer(const struct drv_orphan *cq)
{
	const struct hcasim_cq_record *record = (const void *)(cq->mem + cq->record);

	return le32toh(__atomic_load_n(&record->ci, __ATOMIC_ACQUIRE));
}

static uint32_t producer(const struct drv_orphan *cq)
{
	uint32_t ci = consumer(cq), pi = ci;

	while (pi - ci < cq->entries && written(cq, pi))
		pi++;
	return pi;
}

/* False if there is no room: the application has completions to read first. */
static bool put_cqe(const struct drv_orphan *cq, const struct hca_cpl *cpl)
{
	uint32_t pi = producer(cq);
	struct hcasim_cqe cqe, *to = cqe_at(cq, pi);

	if (pi - consumer(cq) >= cq->entries)
		return false;
	native_encode_cqe(cpl, phase_of(cq, pi), &cqe, sizeof(cqe));
	memcpy(to, &cqe, sizeof(cqe) - 8);
	atomic_thread_fence(memory_order_release);
	__atomic_store_n((uint64_t *)((uint8_t *)to + sizeof(cqe) - 8),
			 *(uint64_t *)((uint8_t *)&cqe + sizeof(cqe) - 8), __ATOMIC_RELEASE);
	return true;
}

/*
 * The newest completion of the queue that is still in the ring, polled or not. If there is none, everything in the
 * queue's ring counts as outstanding; the provider skips completions of requests that have completed.
 */
static const struct hcasim_cqe *newest(const struct drv_orphan *cq, uint32_t qpn, bool send)
{
	uint32_t pi = producer(cq);

	for (uint32_t n = 1; n <= cq->entries; n++) {
		const struct hcasim_cqe *cqe = cqe_at(cq, pi - n);
		uint32_t head = le32toh(cqe->qpn_opcode);
		bool is_send = HCASIM_FIELD_GET(HCASIM_CQE_OPCODE_MASK, head) == HCASIM_CQE_OP_REQ;

		if (HCASIM_FIELD_GET(HCASIM_CQE_QPN_MASK, head) == qpn && is_send == send && !cqe->srqn)
			return cqe;
	}
	return NULL;
}

/* ---- Sends ---- */

static const struct hcasim_wqe_ctrl *ctrl_at(const struct drv_orphan *qp, uint32_t index)
{
	return (const void *)(qp->mem + qp->sq + (uint64_t)(index & (qp->sq_wqebb - 1)) * HCASIM_WQEBB_SIZE);
}

/* How many basic blocks the WQE at `index` has; 0: none begins there. */
static uint32_t blocks(const struct drv_orphan *qp, uint32_t index)
{
	const struct hcasim_wqe_ctrl *ctrl = ctrl_at(qp, index);

	if (le16toh(ctrl->index) != (uint16_t)index)
		return 0;
	return (ctrl->size * HCASIM_SEG_UNIT + HCASIM_WQEBB_SIZE - 1) / HCASIM_WQEBB_SIZE;
}

/* Where the WQE begins that ends at `end`; `end` itself if there is none. */
static uint32_t before(const struct drv_orphan *qp, uint32_t end)
{
	for (uint32_t bb = 1; bb <= HCASIM_WQE_MAX_BB && bb <= qp->sq_wqebb; bb++)
		if (blocks(qp, end - bb) == bb)
			return end - bb;
	return end;
}

/* The first send that is outstanding. */
static uint32_t first_send(const struct drv_orphan *qp, const struct drv_orphan *cq, uint32_t pi)
{
	const struct hcasim_cqe *last = newest(cq, qp->number, true);
	uint16_t done = last ? (uint16_t)(le16toh(last->wqe_index) + last->num_bb) : 0;
	uint32_t index = pi, earlier;

	for (; !last || (uint16_t)index != done; index = earlier) {
		earlier = before(qp, index);
		if (earlier == index || pi - earlier > qp->sq_wqebb)
			break;
	}
	return index;
}

static void flush_sends(struct drv_orphan *qp, const struct drv_orphan *cq, uint32_t pi)
{
	struct hca_cpl cpl = {
		.qpn = qp->number, .op = HCASIM_CQE_OP_REQ, .status = HCASIM_CQE_STATUS_WR_FLUSH_ERR};
	uint32_t n;

	for (; qp->sq_done != pi; qp->sq_done += n) {
		n = blocks(qp, qp->sq_done);
		if (!n || n > pi - qp->sq_done) { /* no WQE of the provider's */
			qp->sq_done = pi;
			return;
		}
		cpl.wqe_index = (uint16_t)qp->sq_done;
		cpl.num_bb = (uint8_t)n;
		cpl.wqe_op = ctrl_at(qp, qp->sq_done)->opcode;
		if (!put_cqe(cq, &cpl))
			return;
	}
}

/* ---- Receives ---- */

static uint32_t first_recv(const struct drv_orphan *qp, const struct drv_orphan *cq, uint32_t pi)
{
	const struct hcasim_cqe *last = newest(cq, qp->number, false);
	uint32_t most = pi < qp->rq_wqes ? pi : qp->rq_wqes, n = most;

	if (last)
		n = (uint16_t)(pi - 1 - le16toh(last->wqe_index));
	return pi - (n < most ? n : most);
}

static void flush_recvs(struct drv_orphan *qp, const struct drv_orphan *cq, uint32_t pi)
{
	struct hca_cpl cpl = {
		.qpn = qp->number, .op = HCASIM_CQE_OP_RECV, .status = HCASIM_CQE_STATUS_WR_FLUSH_ERR};

	if (pi - qp->rq_done > qp->rq_wqes) /* an index that the ring cannot have */
		qp->rq_done = pi;
	for (; qp->rq_done != pi; qp->rq_done++) {
		cpl.wqe_index = (uint16_t)qp->rq_done;
		if (!put_cqe(cq, &cpl))
			return;
	}
}

void native_flush_orphan(struct drv_orphan *qp, struct drv_orphan *send_cq, struct drv_orphan *recv_cq)
{
	const struct hcasim_sq_record *record = (const void *)(qp->mem + qp->record);
	uint32_t sq_pi = le32toh(__atomic_load_n(&record->sq_pi, __ATOMIC_ACQUIRE));
	uint32_t rq_pi = le32toh(__atomic_load_n(&record->rq_pi, __ATOMIC_ACQUIRE));

	if (!qp->looked) {
		qp->sq_done = send_cq && qp->sq_wqebb ? first_send(qp, send_cq, sq_pi) : sq_pi;
		qp->rq_done = recv_cq && qp->rq_wqes ? first_recv(qp, recv_cq, rq_pi) : rq_pi;
		qp->looked = true;
	}
	if (send_cq && qp->sq_wqebb)
		flush_sends(qp, send_cq, sq_pi);
	if (recv_cq && qp->rq_wqes)
		flush_recvs(qp, recv_cq, rq_pi);
}
