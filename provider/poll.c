// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reading completions from the ring. */
#include <errno.h>

#include "hcasim.h"

/* The CQE at `index` if the device has written it. */
struct hcasim_cqe *hcasim_cq_peek(const struct hcasim_cq *cq, uint32_t index)
{
	struct hcasim_cqe *cqe = &cq->ring[index & (cq->entries - 1)];
	uint8_t owner = __atomic_load_n(&cqe->owner, __ATOMIC_ACQUIRE);

	if (HCASIM_FIELD_GET(HCASIM_CQE_PHASE_MASK, owner) != hcasim_cq_phase(cq->entries, index))
		return NULL;
	/* The rest of the CQE, and the data of the request, are read after the phase bit. */
	udma_from_device_barrier();
	return cqe;
}

/* Number of completions that are not taken yet. */
uint32_t hcasim_cq_count(const struct hcasim_cq *cq)
{
	uint32_t n = 0;

	while (n < cq->entries && hcasim_cq_peek(cq, cq->ci + n))
		n++;
	return n;
}

/* A send completion frees its own WQE and all earlier ones, signalled or not. */
static int complete_send(struct hcasim_sq *sq, const struct hcasim_cqe *cqe, uint64_t *wr_id)
{
	uint32_t ci = atomic_load_explicit(&sq->ci_bb, memory_order_relaxed);
	uint32_t pi = atomic_load_explicit(&sq->pi_bb, memory_order_acquire);
	uint16_t index = le16toh(cqe->wqe_index);
	const struct hcasim_sq_slot *slot;
	uint32_t freed = (uint16_t)(index + cqe->num_bb - (uint16_t)ci);

	if (!cqe->num_bb || freed > pi - ci || freed < cqe->num_bb)
		return EINVAL;
	slot = &sq->slots[index & (sq->num_bb - 1)];
	*wr_id = slot->wr_id;
	atomic_store_explicit(&sq->ci_wr, slot->wr + 1, memory_order_release);
	atomic_store_explicit(&sq->ci_bb, ci + freed, memory_order_release);
	return 0;
}

static int complete_recv(struct hcasim_rq *rq, const struct hcasim_cqe *cqe, uint64_t *wr_id)
{
	uint32_t ci = atomic_load_explicit(&rq->ci, memory_order_relaxed);
	uint32_t pi = atomic_load_explicit(&rq->pi, memory_order_acquire);
	uint16_t index = le16toh(cqe->wqe_index);
	uint32_t freed = (uint16_t)(index + 1 - (uint16_t)ci);

	if (!freed || freed > pi - ci)
		return EINVAL;
	*wr_id = rq->wr_id[index & (rq->count - 1)];
	atomic_store_explicit(&rq->ci, ci + freed, memory_order_release);
	return 0;
}

static uint32_t cqe_qpn(const struct hcasim_cqe *cqe)
{
	return HCASIM_FIELD_GET(HCASIM_CQE_QPN_MASK, le32toh(cqe->qpn_opcode));
}

/* EINVAL: it belongs to a destroyed queue. */
static int complete_srq(const struct hcasim_cqe *cqe, struct hcasim_srq *srq, uint64_t *wr_id)
{
	return srq ? hcasim_srq_ended(srq, cqe, wr_id) : EINVAL;
}

static int complete_wr(struct hcasim_qp *qp, const struct hcasim_cqe *cqe, struct hcasim_srq *srq,
		       uint64_t *wr_id)
{
	if (cqe->srqn)
		return complete_srq(cqe, srq, wr_id);
	switch (HCASIM_FIELD_GET(HCASIM_CQE_OPCODE_MASK, le32toh(cqe->qpn_opcode))) {
	case HCASIM_CQE_OP_REQ:
		return complete_send(&qp->sq, cqe, wr_id);
	case HCASIM_CQE_OP_RECV:
	case HCASIM_CQE_OP_RECV_WRITE_IMM:
		return complete_recv(&qp->rq, cqe, wr_id);
	default:
		return EINVAL;
	}
}

/*
 * Takes the next completion: its CQE, which stays readable until hcasim_cq_update_ci, and the wr_id. ENOENT if there
 * is none. Skips CQEs of destroyed QPs, unless they belong to an SRQ with a CQ of its own (the QPs of an XRC SRQ may be
 * those of another process, and operations on a tag list have none), and CQEs that name no posted WR, which have no
 * wr_id.
 */
int hcasim_cq_next(struct hcasim_cq *cq, const struct hcasim_cqe **out, uint64_t *wr_id)
{
	struct hcasim_srq *srq;
	struct hcasim_cqe *cqe;
	struct hcasim_qp *qp;
	uint32_t qpn;
	int err;

	while ((cqe = hcasim_cq_peek(cq, cq->ci))) {
		cq->ci++;
		qpn = HCASIM_FIELD_GET(HCASIM_CQE_QPN_MASK, le32toh(cqe->qpn_opcode));
		qp = hcasim_table_find(&cq->ctx->qps, qpn);
		srq = cqe->srqn ? hcasim_table_find(&cq->ctx->srqs, le32toh(cqe->srqn)) : NULL;
		if (!qp && !(srq && srq->vsrq.srq_type != IBV_SRQT_BASIC)) {
			complete_srq(cqe, srq, wr_id);
			continue;
		}
		err = complete_wr(qp, cqe, srq, wr_id);
		if (!err) {
			*out = cqe;
			return 0;
		}
		if (err == EAGAIN)
			continue;
		verbs_err(&cq->ctx->ibv_ctx, "CQ 0x%x: CQE %u names WQE %u of QP 0x%x, which is not posted\n",
			  cq->cqn, cq->ci - 1, le16toh(cqe->wqe_index), qpn);
	}
	return ENOENT;
}

/* Returns the taken entries to the device. */
void hcasim_cq_update_ci(struct hcasim_cq *cq)
{
	hcasim_store_record(&cq->record->ci, cq->ci);
}

enum ibv_wc_status hcasim_wc_status(const struct hcasim_cqe *cqe)
{
	/* The device uses the same status numbers as verbs. */
	static_assert((int)HCASIM_CQE_STATUS_OK == IBV_WC_SUCCESS, "cqe_status");
	static_assert((int)HCASIM_CQE_STATUS_WR_FLUSH_ERR == IBV_WC_WR_FLUSH_ERR, "cqe_status");
	static_assert((int)HCASIM_CQE_STATUS_RNR_RETRY_EXC_ERR == IBV_WC_RNR_RETRY_EXC_ERR, "cqe_status");
	static_assert((int)HCASIM_CQE_STATUS_TM_RNDV_INCOMPLETE == IBV_WC_TM_RNDV_INCOMPLETE, "cqe_status");

	return cqe->status > IBV_WC_TM_RNDV_INCOMPLETE ? IBV_WC_GENERAL_ERR : (enum ibv_wc_status)cqe->status;
}

enum ibv_wc_opcode hcasim_wc_opcode(const struct hcasim_context *ctx, const struct hcasim_cqe *cqe)
{
	switch (HCASIM_FIELD_GET(HCASIM_CQE_OPCODE_MASK, le32toh(cqe->qpn_opcode))) {
	case HCASIM_CQE_OP_RECV:
		return IBV_WC_RECV;
	case HCASIM_CQE_OP_RECV_WRITE_IMM:
		return IBV_WC_RECV_RDMA_WITH_IMM;
	case HCASIM_CQE_OP_TM_ADD:
		return IBV_WC_TM_ADD;
	case HCASIM_CQE_OP_TM_DEL:
		return IBV_WC_TM_DEL;
	case HCASIM_CQE_OP_TM_SYNC:
		return IBV_WC_TM_SYNC;
	case HCASIM_CQE_OP_TM_RECV:
		return IBV_WC_TM_RECV;
	case HCASIM_CQE_OP_TM_NO_TAG:
		return IBV_WC_TM_NO_TAG;
	default:
		return ctx->wc_of_wqe[cqe->wqe_op];
	}
}

unsigned int hcasim_wc_flags(const struct hcasim_cqe *cqe)
{
	uint32_t f = le32toh(cqe->src_qpn_flags);

	return (f & HCASIM_CQE_GRH_MASK ? IBV_WC_GRH : 0) |
	       (f & HCASIM_CQE_WITH_IMM_MASK ? IBV_WC_WITH_IMM : 0) |
	       (f & HCASIM_CQE_WITH_INV_MASK ? IBV_WC_WITH_INV : 0) |
	       (f & HCASIM_CQE_CSUM_OK_MASK ? IBV_WC_IP_CSUM_OK : 0) |
	       (f & HCASIM_CQE_TM_SYNC_MASK ? IBV_WC_TM_SYNC_REQ : 0) |
	       (f & HCASIM_CQE_TM_MATCH_MASK ? IBV_WC_TM_MATCH : 0) |
	       (f & HCASIM_CQE_TM_DATA_MASK ? IBV_WC_TM_DATA_VALID : 0);
}

/* A union in struct ibv_wc: network order for immediate data, host order for an rkey. */
uint32_t hcasim_wc_imm_or_rkey(const struct hcasim_cqe *cqe)
{
	if (le32toh(cqe->src_qpn_flags) & HCASIM_CQE_WITH_INV_MASK)
		return le32toh(cqe->inv_rkey);
	return (__force uint32_t)cqe->imm;
}

static void fill_wc(const struct hcasim_context *ctx, const struct hcasim_cqe *cqe, uint64_t wr_id,
		    struct ibv_wc *wc)
{
	wc->wr_id = wr_id;
	wc->status = hcasim_wc_status(cqe);
	wc->opcode = hcasim_wc_opcode(ctx, cqe);
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = le32toh(cqe->byte_count);
	wc->invalidated_rkey = hcasim_wc_imm_or_rkey(cqe);
	wc->qp_num = HCASIM_FIELD_GET(HCASIM_CQE_QPN_MASK, le32toh(cqe->qpn_opcode));
	wc->src_qp = HCASIM_FIELD_GET(HCASIM_CQE_SRC_QPN_MASK, le32toh(cqe->src_qpn_flags));
	wc->wc_flags = hcasim_wc_flags(cqe);
	wc->pkey_index = le16toh(cqe->pkey_index);
	wc->slid = 0; /* RoCE has no LIDs */
	wc->sl = cqe->sl;
	wc->dlid_path_bits = cqe->path_bits;
}

int hcasim_poll_cq(struct ibv_cq *ibcq, int num, struct ibv_wc *wc)
{
	struct hcasim_cq *cq = to_hcq(ibcq);
	const struct hcasim_cqe *cqe;
	uint32_t before, taken;
	uint64_t wr_id;
	int n;

	hcasim_cq_lock(cq);
	before = cq->ci;
	for (n = 0; n < num && !hcasim_cq_next(cq, &cqe, &wr_id); n++)
		fill_wc(cq->ctx, cqe, wr_id, &wc[n]);
	taken = cq->ci - before;
	if (taken)
		hcasim_cq_update_ci(cq);
	hcasim_cq_unlock(cq);
	hcasim_ring_poll(cq, taken);
	return n;
}

/*
 * Removes the completions of a QP, or of an SRQ, that is destroyed or reset. A tag list's stay until it is destroyed:
 * each says that an entry has ended. The caller holds the lock. The remaining
 * entries move towards the newest, so that the device's producer index stays valid; each gets the phase of its new
 * place.
 */
void hcasim_cq_clean(struct hcasim_cq *cq, uint32_t qpn, uint32_t srqn)
{
	uint64_t wr_id;
	uint32_t freed = 0, i;

	for (i = cq->ci + hcasim_cq_count(cq); i != cq->ci; i--) {
		struct hcasim_cqe *cqe = &cq->ring[(i - 1) & (cq->entries - 1)], *to;

		if (srqn ? le32toh(cqe->srqn) == srqn : cqe_qpn(cqe) == qpn && !hcasim_tm_opcode(cqe)) {
			freed++;
			if (cqe->srqn)
				complete_srq(cqe, hcasim_table_find(&cq->ctx->srqs, le32toh(cqe->srqn)),
					     &wr_id);
			continue;
		}
		if (!freed)
			continue;
		to = &cq->ring[(i - 1 + freed) & (cq->entries - 1)];
		*to = *cqe;
		to->owner =
			HCASIM_FIELD_PREP(HCASIM_CQE_PHASE_MASK, hcasim_cq_phase(cq->entries, i - 1 + freed));
	}
	if (!freed)
		return;
	cq->ci += freed;
	hcasim_cq_update_ci(cq);
}
