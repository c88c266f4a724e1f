// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Doorbell records in memory, doorbells and BlueFlame pushes in the user access page. */
#include <util/mmio.h>

#include "wqe.h"

/*
 * Copies one WQE into a BlueFlame buffer. All QPs of a context or of a thread domain share the two buffers of its
 * page, so a push claims one; if both are in use the caller rings the doorbell instead of waiting, so that a QP with
 * a thread domain needs no lock.
 */
static bool push(struct hcasim_uar *uar, const void *wqe, uint32_t bytes)
{
	unsigned int i, buf;

	for (i = 0; i < HCASIM_BF_BUFS; i++) {
		buf = atomic_fetch_add_explicit(&uar->bf_next, 1, memory_order_relaxed) % HCASIM_BF_BUFS;
		if (!atomic_flag_test_and_set_explicit(&uar->bf_taken[buf], memory_order_acquire))
			goto claimed;
	}
	return false;

claimed:
	mmio_wc_start();
	mmio_memcpy_x64(uar->page + HCASIM_UAR_BF + buf * HCASIM_BF_SIZE, wqe, bytes);
	mmio_flush_writes();
	atomic_flag_clear_explicit(&uar->bf_taken[buf], memory_order_release);
	return true;
}

static void ring(struct hcasim_uar *uar, uint32_t offset, uint64_t value)
{
	mmio_wc_start();
	mmio_write64_le(uar->page + offset, htole64(value));
	mmio_flush_writes();
}

/* WQEs [first_bb, pi) are new; `single`: it is a single WQE. */
void hcasim_ring_sq(struct hcasim_qp *qp, uint32_t first_bb, uint32_t pi, bool single)
{
	struct hcasim_uar *uar = qp->uar;
	uint32_t bytes = (pi - first_bb) * HCASIM_WQEBB_SIZE;
	uint32_t pos = first_bb & (qp->sq.num_bb - 1);

	udma_to_device_barrier();
	hcasim_store_record(&qp->record->sq_pi, pi);
	/* The record must be visible before the doorbell that makes the device read it. */
	udma_ordering_write_barrier();
	if (single && uar->use_bf && bytes <= HCASIM_BF_SIZE && pos + (pi - first_bb) <= qp->sq.num_bb &&
	    push(uar, qp->sq.ring + pos * HCASIM_WQEBB_SIZE, bytes))
		return;
	ring(uar, HCASIM_UAR_DB_SQ,
	     HCASIM_FIELD_PREP(HCASIM_DB_SQ_QPN_MASK, qp->vqp.qp.qp_num) |
		     HCASIM_FIELD_PREP(HCASIM_DB_SQ_PI_MASK, (uint64_t)(pi & 0xffff)));
}

/* A poll has taken so many CQEs. Without the lock: the device may take its time. */
void hcasim_ring_poll(const struct hcasim_cq *cq, uint32_t taken)
{
	if (cq->ctx->poll_doorbell)
		ring(&cq->ctx->uar, HCASIM_UAR_DB_POLL,
		     HCASIM_FIELD_PREP(HCASIM_DB_POLL_CQN_MASK, (uint64_t)cq->cqn) |
			     HCASIM_FIELD_PREP(HCASIM_DB_POLL_TAKEN_MASK, (uint64_t)taken));
}

/* Operations on the tag list up to `pi` are ready. */
void hcasim_ring_tm(const struct hcasim_srq *srq, uint16_t pi)
{
	udma_to_device_barrier();
	ring(&srq->ctx->uar, HCASIM_UAR_DB_TM,
	     HCASIM_FIELD_PREP(HCASIM_DB_TM_SRQN_MASK, (uint64_t)srq->srqn) |
		     HCASIM_FIELD_PREP(HCASIM_DB_TM_PI_MASK, (uint64_t)pi));
}

void hcasim_arm_cq(struct hcasim_cq *cq, uint32_t sn, bool solicited)
{
	hcasim_store_record(&cq->record->arm,
			    HCASIM_FIELD_PREP(HCASIM_CQ_RECORD_SN_MASK, sn) |
				    HCASIM_FIELD_PREP(HCASIM_CQ_RECORD_SOLICITED_MASK, solicited));
	udma_to_device_barrier();
	ring(&cq->ctx->uar, HCASIM_UAR_DB_CQ,
	     HCASIM_FIELD_PREP(HCASIM_DB_CQ_CQN_MASK, (uint64_t)cq->cqn) |
		     HCASIM_FIELD_PREP(HCASIM_DB_CQ_ARM_SN_MASK, (uint64_t)sn) |
		     HCASIM_FIELD_PREP(HCASIM_DB_CQ_SOLICITED_MASK, (uint64_t)solicited) |
		     HCASIM_FIELD_PREP(HCASIM_DB_CQ_CI_MASK, (uint64_t)cq->ci));
}
