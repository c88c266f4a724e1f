// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Posting receive work requests. */
#include <errno.h>

#include "hcasim.h"

void hcasim_write_rqe(struct hcasim_rqe *rqe, uint16_t index, uint16_t tag, const struct ibv_recv_wr *wr)
{
	struct hcasim_seg_data *seg = (void *)(rqe + 1);
	int i;

	for (i = 0; i < wr->num_sge; i++, seg++) {
		seg->addr = htole64(wr->sg_list[i].addr);
		seg->length = htole32(wr->sg_list[i].length);
		seg->lkey = htole32(wr->sg_list[i].lkey);
	}
	rqe->num_sge = wr->num_sge;
	rqe->tag = htole16(tag);
	rqe->index = htole16(index);
}

static int post_one(struct hcasim_rq *rq, const struct ibv_recv_wr *wr)
{
	uint32_t pi = atomic_load_explicit(&rq->pi, memory_order_relaxed);
	uint32_t place = pi & (rq->count - 1);

	if ((uint32_t)wr->num_sge > rq->max_sge) /* or negative */
		return EINVAL;
	if (pi - atomic_load_explicit(&rq->ci, memory_order_acquire) >= rq->max_wr)
		return ENOMEM;
	rq->wr_id[place] = wr->wr_id;
	hcasim_write_rqe((void *)(rq->ring + (size_t)place * rq->stride), pi, 0, wr);
	/* Release: the poller of the completion must see wr_id. */
	atomic_store_explicit(&rq->pi, pi + 1, memory_order_release);
	return 0;
}

static int post_list(struct hcasim_rq *rq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	int err;

	for (; wr; wr = wr->next) {
		err = post_one(rq, wr);
		if (err) {
			*bad_wr = wr;
			return err;
		}
	}
	return 0;
}

int hcasim_post_to_rq(struct hcasim_qp *qp, bool reset, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct hcasim_rq *rq = &qp->rq;
	int err;

	/* IBTA 10.3.1: receives may be posted in every state except RESET. */
	if (reset || !rq->count) {
		*bad_wr = wr;
		return hcasim_error(EINVAL);
	}
	if (rq->locking)
		pthread_spin_lock(&rq->lock);
	err = post_list(rq, wr, bad_wr);
	/* No doorbell: the device reads the record when its receive queue runs empty. */
	udma_to_device_barrier();
	hcasim_store_record(&qp->record->rq_pi, atomic_load_explicit(&rq->pi, memory_order_relaxed));
	if (rq->locking)
		pthread_spin_unlock(&rq->lock);
	return hcasim_error(err);
}

int hcasim_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	return hcasim_post_to_rq(to_hqp(ibqp), ibqp->state == IBV_QPS_RESET, wr, bad_wr);
}
