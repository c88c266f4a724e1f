/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Building send WQEs in the ring, for ibv_post_send and ibv_wr_*.
 *
 * Call hcasim_sq_open, then for each WR hcasim_wqe_begin, its segments, data and destination, hcasim_wqe_end; at the
 * end hcasim_sq_publish, which makes them visible to the device. Functions return 0 or an errno; after an error the
 * WR is not part of the list.
 */
#ifndef HCASIM_WQE_H
#define HCASIM_WQE_H

#include <errno.h>

#include "hcasim.h"

/* Operands, as far as the operation has them. */
struct hcasim_wr_args {
	uint32_t rkey;
	uint64_t remote_addr;
	uint64_t swap_add, compare;
	__be32 imm;
	uint32_t inv_rkey;
	size_t flush_len;
	uint8_t flush_type, flush_level;
	const void *atomic_wr; /* ATOMIC_WRITE: 8 bytes */
	/* BIND_MW; `rkey` is the new one */
	const struct ibv_mw *mw;
	const struct ibv_mw_bind_info *bind;
	const void *tso_hdr;
	uint16_t tso_hdr_size, mss;
};

/* IBTA C10-96: a send is refused at once in states in which the QP cannot send. */
static inline bool hcasim_qp_can_send(const struct hcasim_qp *qp)
{
	switch (qp->vqp.qp.state) {
	case IBV_QPS_RESET:
	case IBV_QPS_INIT:
	case IBV_QPS_RTR:
		return false;
	default:
		return qp->sq.num_bb;
	}
}

static inline void hcasim_sq_lock(struct hcasim_sq *sq)
{
	if (sq->locking)
		pthread_mutex_lock(&sq->lock);
}

static inline void hcasim_sq_unlock(struct hcasim_sq *sq)
{
	if (sq->locking)
		pthread_mutex_unlock(&sq->lock);
}

void hcasim_sq_open(struct hcasim_sq *sq);
void hcasim_sq_publish(struct hcasim_qp *qp);

int hcasim_wqe_begin(struct hcasim_qp *qp, enum hcasim_wr_op op, uint64_t wr_id, unsigned int send_flags,
		     const struct hcasim_wr_args *args);
int hcasim_wqe_sges(struct hcasim_qp *qp, const struct ibv_sge *sge, size_t num);
int hcasim_wqe_inline(struct hcasim_qp *qp, const struct ibv_data_buf *buf, size_t num);
int hcasim_wqe_ud_addr(struct hcasim_qp *qp, struct ibv_ah *ibah, uint32_t qpn, uint32_t qkey);
int hcasim_wqe_srqn(struct hcasim_qp *qp, uint32_t srqn);
int hcasim_wqe_end(struct hcasim_qp *qp);

/* doorbell.c */
void hcasim_ring_sq(struct hcasim_qp *qp, uint32_t first_bb, uint32_t pi, bool single);
void hcasim_ring_tm(const struct hcasim_srq *srq, uint16_t pi);
void hcasim_arm_cq(struct hcasim_cq *cq, uint32_t sn, bool solicited);

#endif
