/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Queues that are shared with the host: completions, events, receives. */
#ifndef HCASIM_CORE_QUEUES_QUEUES_H
#define HCASIM_CORE_QUEUES_QUEUES_H

#include "core/base/base.h"

/* `value`: the low `bits` of a free-running index near `last`, which is known in full. */
static inline uint32_t index_extend(uint32_t last, uint32_t value, uint8_t bits)
{
	const unsigned int unknown = 32u - bits;

	return last + (uint32_t)((int32_t)((value - last) << unknown) >> unknown);
}

/* An index as software shares it, as a free-running one: the first after `last`, or one near it. */
static inline uint32_t ring_index(const struct hca *hca, const struct hca_ring *ring, uint32_t last,
				  uint32_t value, uint8_t bits)
{
	if (hca->pers->shared.on)
		return last + ((value - last) & (ring->entries - 1));
	return index_extend(last, value, bits);
}

/* Entries that a ring can hold. */
static inline uint32_t ring_room(const struct hca *hca, const struct hca_ring *ring)
{
	return ring->entries - hca->pers->shared.on;
}

/* share.c: writes the adapter's index of a work queue, if the software wants it. `qp` may be NULL. */
void queue_tell_consumed(struct hca *hca, struct qp *qp, const struct hca_ring *ring, uint64_t record,
			 uint32_t ci);

/* event.c */
void event_raise(struct hca *hca, struct event_source *src, unsigned int type);
void event_cancel(struct hca *hca, struct event_source *src);
bool event_pending(const struct hca *hca, struct hca_work *w);
void event_step(struct hca *hca);
hca_ps event_since(const struct hca *hca);

/* cq.c */
void cq_put(struct hca *hca, struct cq *cq);
void cq_doorbell(struct hca *hca, const struct hca_doorbell *db, uint32_t page);
void cq_armed(struct hca *hca, struct cq *cq, uint8_t sn, bool solicited, uint32_t ci);
void cq_read_record(struct hca *hca, struct cq *cq);
void cq_free_all(struct hca *hca);
/* True: there is space. False: the CQ waits for a read of its record, or is in error. */
bool cq_has_room(struct hca *hca, struct cq *cq);
void cq_write(struct hca *hca, struct cq *cq, const struct hca_cpl *cpl);
/* Marks of a completion (marks.h): which one a transfer writes, and that it is written. */
void marks_note(struct hca *hca, struct dma_ctx *c, const struct hca_cpl *cpl);
void marks_set(struct hca *hca, const struct dma_ctx *c);
void marks_clear(struct qp *qp);
void cq_wake(struct hca *hca, struct cq *cq); /* its QPs check again whether they can complete */
struct cq *qp_next_recv_cq(const struct qp *qp);

/* comp_cntr.c: what the completion counters of a QP, if it has some, count. */
void comp_cntr_expect(struct qp *qp, const struct hca_wr *wr); /* a WQE was decoded */
void comp_cntr_failed(struct qp *qp, uint16_t index);          /* it completes in error */
void comp_cntr_count(struct qp *qp, enum hca_comp_op op, bool failed, uint64_t length);
void comp_cntr_changed(struct hca *hca, struct qp *qp); /* of struct parts */
void comp_cntr_clear(struct qp *qp);                    /* RESET */
void comp_cntr_forget(struct qp *qp);
void comp_cntr_free_all(struct hca *hca);

/* rq.c */
enum rq_answer { RQ_READY, RQ_WAIT, RQ_EMPTY, RQ_ERROR /* the shared queue cannot be read */ };
enum rq_answer rq_take(struct hca *hca, struct qp *qp, struct srq *srq);
void rq_release(struct hca *hca, struct qp *qp); /* the active WQE has completed */
void rq_decode(struct hca *hca, struct qp *qp, const uint8_t *raw, uint32_t stride, uint32_t index);
/* A receive WQE of a QP in error can be flushed; takes it: `active` then, if its contents were needed. */
bool rq_can_flush(const struct hca *hca, const struct qp *qp);
void rq_flush_next(struct hca *hca, struct qp *qp);
void rq_prefetch(struct hca *hca, struct qp *qp);
void rq_clear(struct hca *hca, struct qp *qp);
void rq_read_record(struct hca *hca, struct qp *qp);
void rq_poll_fire(struct hca *hca, struct timer *t);
void rq_poll_soon(struct hca *hca, struct qp *qp);

/* srq.c */
void srq_put(struct hca *hca, struct srq *srq);
void srq_failed(struct hca *hca, struct srq *srq);
enum rq_answer srq_take(struct hca *hca, struct srq *srq, struct qp *qp);
void srq_doorbell(struct hca *hca, const struct hca_doorbell *db, uint32_t page);
void srq_last_wqe(struct hca *hca, struct qp *qp);
void srq_free_all(struct hca *hca);
void srq_cq_failed(struct hca *hca, const struct cq *cq); /* XRC: QPs and SRQs that complete there */

#endif
