// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <string.h>

#include "tiny.h"

#include <hcasim_hw.h>
#include <hcasim_verbs.h>

static uint32_t tiny_wqe_size(const void *head)
{
	struct tiny_wqe w;

	memcpy(&w, head, sizeof(w));
	return w.units * 16;
}

static uint8_t tiny_data(const uint8_t *p, const uint8_t *end, const struct tiny_wqe *w, struct hca_wr *wr,
			 struct hca_sge *sge, uint32_t max_sge)
{
	uint32_t i;

	if (w->flags & HCA_WR_INLINE) {
		if (w->num_sge > (uint32_t)(end - p))
			return HCASIM_VENDOR_ERR_BAD_SIZE;
		wr->inline_data = (uint8_t *)p;
		wr->length = w->num_sge;
		return 0;
	}
	if (w->num_sge > max_sge || w->num_sge * sizeof(*sge) > (size_t)(end - p))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	memcpy(sge, p, w->num_sge * sizeof(*sge));
	wr->sge = sge;
	wr->num_sge = w->num_sge;
	for (i = 0; i < w->num_sge; i++)
		wr->length += sge[i].length;
	return 0;
}

static uint8_t tiny_decode_wqe(const void *raw, uint32_t len, uint8_t qp_type, uint32_t qpn, uint16_t index,
			       struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge, uint8_t *status)
{
	const uint8_t *p = raw, *end = p + len;
	struct tiny_wqe w;

	memcpy(&w, raw, sizeof(w));
	*status = HCASIM_CQE_STATUS_LOC_QP_OP_ERR;
	wr->op = w.op;
	if (w.index != index || w.magic != TINY_MAGIC)
		return HCASIM_VENDOR_ERR_STALE_WQE;
	if (w.qpn != qpn)
		return HCASIM_VENDOR_ERR_BAD_QPN;
	if (w.units * 16u > len || len < sizeof(w))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	p += sizeof(w);
	wr->flags = w.flags;
	wr->imm = w.imm;
	wr->remote_addr = w.remote_addr;
	wr->rkey = w.rkey;
	if (qp_type == HCASIM_QPT_XRC_SEND)
		wr->srqn = w.op == HCASIM_WQE_OP_SEND_INV ? w.ud_qpn : w.inv_rkey;
	wr->swap_add = w.swap_add;
	wr->compare = w.compare;
	wr->ud.qpn = w.ud_qpn;
	wr->ud.qkey = w.ud_qkey;
	wr->inv_rkey = w.inv_rkey;
	wr->bind.mw_rkey = w.rkey;
	wr->bind.new_rkey = w.imm;
	wr->bind.lkey = w.inv_rkey;
	wr->bind.access = w.ud_qpn;
	wr->bind.addr = w.remote_addr;
	wr->bind.length = w.compare;
	wr->bind.type = (uint8_t)w.ud_qkey;
	wr->flush.length = w.compare;
	wr->flush.type = (uint8_t)w.ud_qpn;
	wr->flush.level = (uint8_t)w.ud_qkey;
	if (qp_type == HCASIM_QPT_UD) {
		if (end - p < (ptrdiff_t)sizeof(struct hca_av))
			return HCASIM_VENDOR_ERR_BAD_SIZE;
		memcpy(&wr->ud.av, p, sizeof(struct hca_av));
		p += sizeof(struct hca_av);
	}
	return tiny_data(p, end, &w, wr, sge, max_sge);
}

static uint8_t tiny_decode_rqe(const void *raw, uint32_t len, uint16_t index, struct hca_rwr *wr,
			       struct hca_sge *sge, uint32_t max_sge)
{
	const struct tiny_rqe *r = raw;
	uint32_t i;

	if (r->index != index)
		return HCASIM_VENDOR_ERR_BAD_RQE;
	if (r->num_sge > max_sge || sizeof(*r) + r->num_sge * sizeof(*sge) > len)
		return HCASIM_VENDOR_ERR_BAD_RQE;
	memcpy(sge, r->sge, r->num_sge * sizeof(*sge));
	wr->num_sge = r->num_sge;
	wr->tag = r->tag;
	for (i = 0; i < r->num_sge; i++)
		wr->length += sge[i].length;
	return 0;
}

static void tiny_encode_cqe(const struct hca_cpl *c, unsigned int phase, void *raw)
{
	struct tiny_cqe e = {
		.qpn = c->qpn,
		.byte_count = c->byte_count,
		.imm = c->with_inv ? c->inv_rkey : c->imm,
		.srqn = c->srqn,
		.src_qpn = c->src_qpn,
		.timestamp = c->timestamp,
		.wqe_index = c->wqe_index,
		.op = c->op,
		.wqe_op = c->wqe_op,
		.num_bb = c->num_bb,
		.status = c->status,
		.vendor_err = c->vendor_err,
		.flags = (uint8_t)((c->grh ? TINY_CQE_GRH : 0) | (c->with_imm ? TINY_CQE_IMM : 0) |
				   (c->with_inv ? TINY_CQE_INV : 0) | (c->csum_ok ? TINY_CQE_CSUM : 0)),
		.phase = (uint8_t)phase,
	};

	memcpy(raw, &e, sizeof(e));
}

static void tiny_encode_eqe(const struct hca_event *ev, unsigned int phase, void *raw)
{
	struct tiny_eqe e = {
		.number = ev->number, .type = ev->type, .port = ev->port, .phase = (uint8_t)phase};

	memcpy(raw, &e, sizeof(e));
}

/* The registers are the native device's: the core knows where they are. */
static void tiny_decode_doorbell(uint32_t offset, const void *data, uint32_t size, struct hca_doorbell *db)
{
	struct tiny_wqe w;
	uint64_t v;

	db->kind = HCA_DB_NONE;
	if (offset >= HCASIM_UAR_BF && offset + size <= HCASIM_UAR_BF + HCASIM_UAR_BF_SIZE) {
		db->kind = HCA_DB_BF;
		memset(&w, 0, sizeof(w));
		memcpy(&w, data, size < sizeof(w) ? size : sizeof(w));
		db->number = w.qpn;
		db->value = w.index;
		return;
	}
	if (size != 8)
		return;
	memcpy(&v, data, sizeof(v));
	db->number = v & 0xffffff;
	if (offset == HCASIM_UAR_DB_SQ) {
		db->kind = HCA_DB_SQ;
		db->value = HCASIM_FIELD_GET(HCASIM_DB_SQ_PI_MASK, v);
	} else if (offset == HCASIM_UAR_DB_CQ) {
		db->kind = HCA_DB_CQ_ARM;
		db->value = (uint32_t)HCASIM_FIELD_GET(HCASIM_DB_CQ_CI_MASK, v);
		db->arm_sn = (uint8_t)HCASIM_FIELD_GET(HCASIM_DB_CQ_ARM_SN_MASK, v);
		db->solicited = HCASIM_FIELD_GET(HCASIM_DB_CQ_SOLICITED_MASK, v);
	}
}

const struct hca_personality tiny_personality = {
	.name = "tiny",
	.wqebb_size = TINY_BB,
	.cqe_size = sizeof(struct tiny_cqe),
	.eqe_size = sizeof(struct tiny_eqe),
	.wqe_size = tiny_wqe_size,
	.decode_wqe = tiny_decode_wqe,
	.decode_rqe = tiny_decode_rqe,
	.encode_cqe = tiny_encode_cqe,
	.encode_eqe = tiny_encode_eqe,
	.decode_doorbell = tiny_decode_doorbell,
};
