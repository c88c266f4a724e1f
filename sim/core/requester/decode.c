// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Decoding of basic blocks into work requests. An error is stored in the work request, and reported when its turn to
 * complete has come.
 */
#include "core/requester/sq.h"
#include "core/wire/frame.h"

#include "hcasim_ops.h"

bool decode_pending(const struct engine *e, struct hca_work *w)
{
	const struct fetch *f = e->decode_head;
	uint32_t size, left;

	left = (f->num_bb - f->used_bb) * e->cfg.pers->wqebb_size;
	size = f->failed ? 0 : e->cfg.pers->wqe_size(f->data + f->used_bb * e->cfg.pers->wqebb_size);
	w->bytes = size ? size : e->cfg.pers->wqebb_size;
	w->items = size > left && size <= HCA_WQE_MAX ? 0 : 1; /* 0: its rest was not fetched with it */
	w->qpn = f->sq->qpn;
	return true;
}

static void wqe_refuse(struct wqe *w, uint8_t status, uint8_t vendor)
{
	w->failed = true;
	w->status = status;
	w->vendor = vendor;
}

/* The payload is inside the WQE, where the decoder found it. */
static bool inline_fits(const struct wqe *w)
{
	const uint8_t *p = w->wr.inline_data, *end = w->raw + w->cap;

	return p && p >= w->raw && p <= end && w->wr.length <= (uint64_t)(end - p);
}

static bool lead_fits(const struct wqe *w)
{
	const uint8_t *p = w->wr.inline_data, *end = w->raw + w->cap;

	return !w->wr.lead_len || (p && p >= w->raw && p <= end && w->wr.lead_len <= end - p);
}

/* A value (of an ATOMIC WRITE) is part of the request, and not limited by max_inline_data. */
static uint32_t inline_max(const struct sq *sq, const struct hcasim_wqe_op_info *info)
{
	return info->value ? info->length : sq->c.max_inline;
}

/* What max_length() limits: headers in the WQE are part of a frame. */
static uint64_t length_of(const struct hca_wr *wr)
{
	return wr->length + (wr->op == HCASIM_WQE_OP_TSO ? 0 : wr->tso.hdr_size);
}

/* Longest message of a QP; for TSO, longest payload. */
static uint64_t max_length(const struct sq *sq, uint8_t op)
{
	uint32_t mtu = sq->e->mtu[sq->c.port - 1];

	if (op == HCASIM_WQE_OP_TSO)
		return HCASIM_MAX_TSO;
	if (sq->c.type == HCASIM_QPT_RAW_PACKET)
		return CORE_FRAME_MAX(mtu);
	return sq->c.type == HCASIM_QPT_UD ? mtu : CORE_MSG_MAX;
}

static void tso_validate(const struct sq *sq, struct wqe *w)
{
	const struct hca_wr *wr = &w->wr;

	if (!wr->tso.mss || !tso_header_ok(wr->tso.hdr, wr->tso.hdr_size, wqe_link(sq)))
		wqe_refuse(w, HCASIM_CQE_STATUS_LOC_QP_OP_ERR, HCASIM_VENDOR_ERR_BAD_SEGMENT);
	else if (wr->tso.hdr_size + wr->tso.mss > max_length(sq, HCASIM_WQE_OP_SEND))
		wqe_refuse(w, HCASIM_CQE_STATUS_LOC_LEN_ERR, HCASIM_VENDOR_ERR_MSG_TOO_LONG);
}

static void wqe_validate(const struct sq *sq, struct wqe *w)
{
	const struct hca_wr *wr = &w->wr;
	const struct hcasim_wqe_op_info *info = hcasim_wqe_op_info(wr->op);
	uint64_t max = max_length(sq, wr->op);
	bool inl = wr->flags & HCA_WR_INLINE;

	/* From the tables of the manual pages: QP types on which an operation is carried out. */
	if (!info || !(info->qp_types & HCASIM_QPT_BIT(sq->c.type)))
		wqe_refuse(w, HCASIM_CQE_STATUS_LOC_QP_OP_ERR, HCASIM_VENDOR_ERR_BAD_OPCODE);
	else if ((inl || wr->lead_len) && info->result)
		wqe_refuse(w, HCASIM_CQE_STATUS_LOC_QP_OP_ERR, HCASIM_VENDOR_ERR_INLINE_NOT_ALLOWED);
	else if (inl && (!inline_fits(w) || wr->length > inline_max(sq, info)))
		wqe_refuse(w, HCASIM_CQE_STATUS_LOC_LEN_ERR, HCASIM_VENDOR_ERR_INLINE_NOT_ALLOWED);
	else if (!lead_fits(w))
		wqe_refuse(w, HCASIM_CQE_STATUS_LOC_LEN_ERR, HCASIM_VENDOR_ERR_INLINE_NOT_ALLOWED);
	else if (length_of(wr) > max)
		wqe_refuse(w, HCASIM_CQE_STATUS_LOC_LEN_ERR, HCASIM_VENDOR_ERR_MSG_TOO_LONG);
	else if (sq->c.type == HCASIM_QPT_RAW_PACKET && wr->op == HCASIM_WQE_OP_SEND &&
		 length_of(wr) < ETH_LEN)
		wqe_refuse(w, HCASIM_CQE_STATUS_LOC_LEN_ERR, HCASIM_VENDOR_ERR_BAD_SEGMENT);
	else if (info->length && wr->length != info->length)
		wqe_refuse(w, HCASIM_CQE_STATUS_LOC_LEN_ERR, HCASIM_VENDOR_ERR_BAD_SEGMENT);
	else if (info->answered && !sq->c.max_rd_atomic)
		wqe_refuse(w, HCASIM_CQE_STATUS_LOC_QP_OP_ERR, HCASIM_VENDOR_ERR_RD_ATOMIC_LIMIT);
	else if (sq->c.type == HCASIM_QPT_UD && !op_local(wr->op) &&
		 (wr->ud.av.sgid_index >= CORE_GIDS || wr->ud.qpn > HCASIM_PSN_MASK ||
		  wr->ud.av.port != sq->c.port)) /* an address handle belongs to a port */
		wqe_refuse(w, HCASIM_CQE_STATUS_LOC_QP_OP_ERR, HCASIM_VENDOR_ERR_BAD_SEGMENT);
	else if (wr->op == HCASIM_WQE_OP_TSO)
		tso_validate(sq, w);
}

/* `size` 0: not a WQE; one basic block is skipped. */
static void decode_one(struct sq *sq, const struct fetch *f, const uint8_t *raw, uint32_t size,
		       uint8_t vendor)
{
	uint32_t bb = sq->e->cfg.pers->wqebb_size, len = size ? size : bb;
	uint16_t index = (uint16_t)(f->index + f->used_bb);
	struct wqe *w = wqe_get(sq->e, len);
	uint8_t status = HCASIM_CQE_STATUS_LOC_QP_OP_ERR;

	if (!w)
		return;
	if (!f->failed)
		memcpy(w->raw, raw, len);
	else /* bytes that were not read are hidden from observers */
		memset(w->raw, 0, len);
	w->wr.sge = (struct hca_sge *)(w->mem + w->cap);
	if (!f->failed) {
		uint8_t err =
			sq->e->cfg.pers->decode_wqe(w->raw, len, sq->c.type, sq->qpn, index, &w->wr,
						    w->wr.sge, w->cap / sizeof(struct hca_sge), &status);

		if (err)
			vendor = err;
	}
	if (sq->e->cfg.pers->av_without_port)
		w->wr.ud.av.port = sq->c.port;
	w->wr.index = index;
	w->wr.num_bb = (uint8_t)((len + bb - 1) / bb);
	if (vendor)
		wqe_refuse(w, status ? status : HCASIM_CQE_STATUS_LOC_QP_OP_ERR, vendor);
	else
		wqe_validate(sq, w);
	if (sq_flushing(sq)) {
		wqe_refuse(w, HCASIM_CQE_STATUS_WR_FLUSH_ERR, HCASIM_VENDOR_ERR_NONE);
		/* what failed before it has stopped the queue, which may be in RTS again when its turn comes */
		w->settled = true;
	}
	sq->e->ports->saw_wqe(sq->e->host, sq->qpn, &w->wr, w->raw, len);
	sq_append(sq, w);
}

static void fetch_finish(struct engine *e, struct fetch *f)
{
	struct sq *sq = f->sq;

	e->decode_head = f->next;
	if (!e->decode_head)
		e->decode_tail = &e->decode_head;
	e->fetch_room++;
	if (!sq->dead && sq->epoch == f->epoch) {
		sq->reading--;
		sq->ahead -= f->num_bb - f->used_bb;
		sq_settle(sq);
	}
	fetch_put(e, f);
	sq_put(sq);
}

static void decode_next(struct sq *sq, struct fetch *f)
{
	const struct hca_personality *pers = sq->e->cfg.pers;
	uint32_t bb = pers->wqebb_size, left = f->num_bb - f->used_bb;
	const uint8_t *raw = f->data + f->used_bb * bb;
	uint32_t size = f->failed ? 0 : pers->wqe_size(raw), n = size ? (size + bb - 1) / bb : 1;
	uint16_t index = (uint16_t)(f->index + f->used_bb);
	uint8_t vendor = f->failed ? HCASIM_VENDOR_ERR_DMA_FAULT : HCASIM_VENDOR_ERR_NONE;

	if (!f->failed && (!size || size > HCA_WQE_MAX || n > (uint16_t)(sq->pi - index))) {
		/* The ring has no complete WQE here. Report the decoder's reason, if it has a better one. */
		vendor = HCASIM_VENDOR_ERR_BAD_SIZE;
		size = 0;
		n = 1;
	} else if (n > left) {
		sq->fetched = index; /* its rest is not in this read: fetch it again, completely */
		sq->run++;
		fetch_finish(sq->e, f);
		return;
	}
	decode_one(sq, f, raw, size, vendor);
	f->used_bb += n;
	sq->ahead -= n;
	if (f->used_bb == f->num_bb)
		fetch_finish(sq->e, f);
	else
		sq_settle(sq);
}

uint32_t decode_step(struct engine *e)
{
	struct fetch *f = e->decode_head;
	struct sq *sq = f->sq;
	uint32_t qpn = sq->qpn;

	if (sq->dead || sq->epoch != f->epoch || sq->run != f->run)
		fetch_finish(e, f);
	else
		decode_next(sq, f);
	return qpn;
}
