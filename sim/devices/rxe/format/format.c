// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* WQEs, completions and queue heads that librxe shares with its driver. Indices in queue heads are positions. */
#include <endian.h>
#include <stddef.h>
#include <string.h>

#include "format.h"
#include "devices/common/common.h"
#include "hcasim_rxe.h"
#include "hcasim_wr.h"

_Static_assert(HCASIM_RXE_ELEMENT <= HCA_WQE_MAX, "a WQE fits the core's buffer");

#define QPN_MASK 0xffffff /* librxe copies all bits; Linux sends these (bth_init()) */

#define OFFSET(member)    ((int16_t)offsetof(struct hcasim_rxe_queue, member))
#define BETWEEN(to, from) (OFFSET(to) - OFFSET(from))

/*
 * The flag has a meaning for operations that send data from buffers, as in Linux (finish_packet()). The value of ATOMIC
 * WRITE is in the WQE without a flag that says so.
 */
static bool is_inline(const struct hcasim_rxe_send_wqe *w)
{
	switch (le32toh(w->opcode)) {
	case HCASIM_IBV_WR_ATOMIC_WRITE:
		return true;
	case HCASIM_IBV_WR_RDMA_READ:
	case HCASIM_IBV_WR_ATOMIC_CMP_AND_SWP:
	case HCASIM_IBV_WR_ATOMIC_FETCH_AND_ADD:
	case HCASIM_IBV_WR_LOCAL_INV:
	case HCASIM_IBV_WR_BIND_MW:
	case HCASIM_IBV_WR_FLUSH:
		return false;
	default:
		return le32toh(w->send_flags) & HCASIM_SEND_INLINE;
	}
}

/* Of inline data; that of ATOMIC WRITE has one place. */
static uint32_t inline_offset(const struct hcasim_rxe_send_wqe *w)
{
	return le32toh(w->opcode) == HCASIM_IBV_WR_ATOMIC_WRITE ? 0 : le32toh(w->dma_sge_offset);
}

static uint32_t wqe_size(const void *head)
{
	const struct hcasim_rxe_send_wqe *w = head;
	uint64_t data = is_inline(w) ? inline_offset(w) + (uint64_t)le32toh(w->dma_resid)
				     : le32toh(w->dma_num_sge) * (uint64_t)sizeof(struct hcasim_rxe_sge);

	data += sizeof(*w);
	return data <= HCASIM_RXE_ELEMENT ? (uint32_t)data : 0;
}

static const struct hcasim_wr_rule *find_rule(const struct hcasim_rxe_send_wqe *w)
{
	const uint32_t opcode = le32toh(w->opcode);

	for (unsigned int i = 0; i < HCASIM_WR_NUM; i++) {
		const struct hcasim_wr_rule *r = &hcasim_wr_rules[i];

		if (r->wr_opcode >= 0 && (uint32_t)r->wr_opcode == opcode)
			return r;
		if ((r->wqe_op == HCASIM_WQE_OP_FLUSH && opcode == HCASIM_IBV_WR_FLUSH) ||
		    (r->wqe_op == HCASIM_WQE_OP_ATOMIC_WRITE && opcode == HCASIM_IBV_WR_ATOMIC_WRITE))
			return r;
	}
	return NULL;
}

/* A flag that has no effect on this operation or QP type is dropped here, once. */
static uint32_t flags_of(const struct hcasim_rxe_send_wqe *w, const struct hcasim_wr_rule *rule,
			 uint32_t qp_bit)
{
	const uint32_t send = le32toh(w->send_flags);
	uint32_t flags = 0;

	if (send & HCASIM_SEND_SIGNALED)
		flags |= HCA_WR_SIGNALED;
	if (send & HCASIM_SEND_SOLICITED && rule->solicited_qp_types & qp_bit)
		flags |= HCA_WR_SOLICITED;
	if (send & HCASIM_SEND_FENCE && rule->fence_qp_types & qp_bit)
		flags |= HCA_WR_FENCE;
	return flags;
}

/* The driver has put the address handle's vector into the WQE. */
static void decode_ud(const struct hcasim_rxe_send_wqe *w, struct hca_wr *wr)
{
	struct hcasim_rxe_wr_ud ud;

	memcpy(&ud, w->wr, sizeof(ud));
	wr->ud.qpn = le32toh(ud.remote_qpn) & QPN_MASK;
	wr->ud.qkey = le32toh(ud.remote_qkey);
	memcpy(wr->ud.av.dgid, ud.dgid, sizeof(ud.dgid));
	memcpy(wr->ud.av.dmac, ud.dmac, sizeof(ud.dmac));
	wr->ud.av.sgid_index = ud.sgid_index;
	wr->ud.av.hop_limit = ud.hop_limit;
	wr->ud.av.traffic_class = ud.traffic_class;
	wr->ud.av.port = ud.port_num;
	wr->ud.av.flow_label = le32toh(ud.flow_label);
}

static void decode_remote(const struct hcasim_rxe_send_wqe *w, struct hca_wr *wr)
{
	struct hcasim_rxe_wr_rdma rdma;

	memcpy(&rdma, w->wr, sizeof(rdma));
	wr->remote_addr = le64toh(w->iova); /* rdma.remote_addr is for a retransmission, and the same */
	wr->rkey = le32toh(rdma.rkey);
}

static void decode_atomic(const struct hcasim_rxe_send_wqe *w, struct hca_wr *wr)
{
	struct hcasim_rxe_wr_atomic a;

	memcpy(&a, w->wr, sizeof(a));
	wr->remote_addr = le64toh(w->iova);
	wr->rkey = le32toh(a.rkey);
	wr->swap_add = le64toh(wr->op == HCASIM_WQE_OP_ATOMIC_CS ? a.swap : a.compare_add);
	wr->compare = le64toh(a.compare_add);
}

/* The range's length is that of the payload, which FLUSH does not have. */
static void decode_flush(const struct hcasim_rxe_send_wqe *w, struct hca_wr *wr)
{
	struct hcasim_rxe_wr_flush f;

	memcpy(&f, w->wr, sizeof(f));
	wr->remote_addr = le64toh(w->iova);
	wr->rkey = le32toh(f.rkey);
	wr->flush.length = le32toh(w->dma_resid);
	wr->flush.type = f.type;
	wr->flush.level = f.level;
}

static void decode_bind(const struct hcasim_rxe_send_wqe *w, struct hca_wr *wr)
{
	struct hcasim_rxe_wr_mw mw;

	memcpy(&mw, w->wr, sizeof(mw));
	wr->bind.mw_rkey = le32toh(mw.mw_rkey);
	wr->bind.new_rkey = le32toh(mw.rkey);
	wr->bind.lkey = le32toh(mw.mr_lkey);
	wr->bind.access = le32toh(mw.access);
	wr->bind.addr = le64toh(mw.addr);
	wr->bind.length = le64toh(mw.length);
}

static void decode_operation(const struct hcasim_rxe_send_wqe *w, uint8_t qp_type, struct hca_wr *wr)
{
	if (qp_type == HCASIM_QPT_UD)
		decode_ud(w, wr);
	switch (wr->op) {
	case HCASIM_WQE_OP_RDMA_WRITE:
	case HCASIM_WQE_OP_RDMA_WRITE_IMM:
	case HCASIM_WQE_OP_RDMA_READ:
	case HCASIM_WQE_OP_ATOMIC_WRITE:
		decode_remote(w, wr);
		break;
	case HCASIM_WQE_OP_ATOMIC_CS:
	case HCASIM_WQE_OP_ATOMIC_FA:
		decode_atomic(w, wr);
		break;
	case HCASIM_WQE_OP_FLUSH:
		decode_flush(w, wr);
		break;
	case HCASIM_WQE_OP_BIND_MW:
		decode_bind(w, wr);
		break;
	default:
		break;
	}
}

/* Where the driver's copy_data() is in a list of SGEs: how much is left, of which SGE, and where in that. */
struct place {
	uint32_t resid, cur_sge, offset;
};

/*
 * What copy_data() moves of a list: `resid` bytes from its place on. A list that is longer than its 32 bits can say is
 * left as it is, and refused for its length.
 */
static void from_place(const struct place *p, struct hca_sge *sge, uint32_t num, uint64_t *length)
{
	uint32_t left = p->resid, skip;

	if (*length > UINT32_MAX)
		return;
	*length = 0;
	for (uint32_t i = 0; i < num; i++) {
		skip = i < p->cur_sge ? sge[i].length : i == p->cur_sge ? p->offset : 0;
		if (skip > sge[i].length)
			skip = sge[i].length;
		sge[i].addr += skip;
		sge[i].length -= skip;
		if (sge[i].length > left)
			sge[i].length = left;
		left -= sge[i].length;
		*length += sge[i].length;
	}
}

static uint8_t take_sges(const uint8_t *raw, uint32_t left, uint32_t num, const struct place *p,
			 struct hca_sge *sge, uint32_t max, uint64_t *length)
{
	struct hcasim_rxe_sge s;

	if (num > max || num > left / sizeof(s))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	for (uint32_t i = 0; i < num; i++) {
		memcpy(&s, raw + i * sizeof(s), sizeof(s));
		sge[i] = (struct hca_sge){le64toh(s.addr), le32toh(s.length), le32toh(s.lkey)};
		*length += sge[i].length;
	}
	from_place(p, sge, num, length);
	return 0;
}

static uint8_t decode_inline(const uint8_t *raw, uint32_t len, struct hca_wr *wr)
{
	const struct hcasim_rxe_send_wqe *w = (const struct hcasim_rxe_send_wqe *)raw;
	const uint32_t offset = inline_offset(w);

	wr->flags |= HCA_WR_INLINE;
	wr->length = le32toh(w->dma_resid);
	if (offset + wr->length > len - sizeof(*w))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->inline_data = (uint8_t *)raw + sizeof(*w) + offset;
	return 0;
}

/* SGEs that have fewer bytes than are to be sent: Linux fails the request in copy_data(). */
static uint8_t decode_data(const uint8_t *raw, uint32_t len, struct hca_wr *wr, struct hca_sge *sge,
			   uint32_t max_sge)
{
	const struct hcasim_rxe_send_wqe *w = (const struct hcasim_rxe_send_wqe *)raw;
	const struct place place = {le32toh(w->dma_resid), le32toh(w->dma_cur_sge),
				    le32toh(w->dma_sge_offset)};
	uint8_t err;

	if (wr->op == HCASIM_WQE_OP_FLUSH || wr->op == HCASIM_WQE_OP_BIND_MW ||
	    wr->op == HCASIM_WQE_OP_LOCAL_INV)
		return 0;
	if (is_inline(w))
		return decode_inline(raw, len, wr);
	wr->sge = sge;
	wr->num_sge = le32toh(w->dma_num_sge);
	err = take_sges(raw + sizeof(*w), len - (uint32_t)sizeof(*w), wr->num_sge, &place, sge, max_sge,
			&wr->length);
	return !err && (uint32_t)wr->length != place.resid ? HCASIM_VENDOR_ERR_BAD_SIZE : err;
}

static uint8_t decode_wqe(const void *raw, uint32_t len, uint8_t qp_type, uint32_t qpn, uint16_t index,
			  struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge, uint8_t *status)
{
	const uint32_t qp_bit = qp_type < 32 ? HCASIM_QPT_BIT(qp_type) : 0;
	const struct hcasim_rxe_send_wqe *w = raw;
	const struct hcasim_wr_rule *rule;
	uint8_t err;

	memset(wr, 0, sizeof(*wr));
	wr->index = index;
	wr->num_bb = 1;
	*status = HCASIM_CQE_STATUS_LOC_QP_OP_ERR;
	if (len < sizeof(*w))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->id = le64toh(w->wr_id);
	rule = find_rule(w);
	if (!rule || !((rule->qp_types | rule->post_qp_types) & qp_bit))
		return HCASIM_VENDOR_ERR_BAD_OPCODE;
	wr->op = rule->wqe_op;
	wr->flags = flags_of(w, rule, qp_bit);
	wr->imm = (__u32)w->ex;
	wr->inv_rkey = le32toh((__u32)w->ex);
	decode_operation(w, qp_type, wr);
	err = decode_data(raw, len, wr, sge, max_sge);
	if (!err)
		*status = HCASIM_CQE_STATUS_OK;
	return err;
}

static uint8_t decode_rqe(const void *raw, uint32_t len, uint16_t index, struct hca_rwr *wr,
			  struct hca_sge *sge, uint32_t max_sge)
{
	const struct hcasim_rxe_recv_wqe *w = raw;
	struct place place;

	memset(wr, 0, sizeof(*wr));
	wr->index = index;
	wr->sge = sge;
	if (len < sizeof(*w))
		return HCASIM_VENDOR_ERR_BAD_RQE;
	wr->id = le64toh(w->wr_id);
	wr->num_sge = le32toh(w->dma_num_sge);
	place = (struct place){le32toh(w->dma_resid), le32toh(w->dma_cur_sge), le32toh(w->dma_sge_offset)};
	if (take_sges((const uint8_t *)raw + sizeof(*w), len - (uint32_t)sizeof(*w), wr->num_sge, &place, sge,
		      max_sge, &wr->length)) {
		wr->num_sge = 0;
		return HCASIM_VENDOR_ERR_BAD_RQE;
	}
	return 0;
}

static uint32_t wc_opcode(const struct hca_cpl *cpl)
{
	const struct hcasim_wr_rule *rule;

	if (cpl->op == HCASIM_CQE_OP_RECV)
		return HCASIM_IBV_WC_RECV;
	if (cpl->op == HCASIM_CQE_OP_RECV_WRITE_IMM)
		return HCASIM_IBV_WC_RECV_RDMA_WITH_IMM;
	rule = hcasim_wr_rule_of_wqe_op(cpl->wqe_op);
	return rule ? (uint32_t)rule->wc_opcode : 0;
}

static void encode_cqe(const struct hca_cpl *cpl, unsigned int phase, void *raw, uint32_t size)
{
	const struct hcasim_rxe_wc wc = {
		.wr_id = htole64(cpl->id),
		.status = htole32(cpl->status),
		.opcode = htole32(wc_opcode(cpl)),
		.vendor_err = htole32(cpl->vendor_err),
		.byte_len = htole32(cpl->byte_count),
		.ex = cpl->with_inv ? (__be32)htole32(cpl->inv_rkey) : (__be32)cpl->imm,
		.qp_num = htole32(cpl->qpn),
		.src_qp = htole32(cpl->src_qpn),
		.wc_flags = htole32((cpl->grh ? HCASIM_IBV_WC_FLAG_GRH : 0) |
				    (cpl->with_imm ? HCASIM_IBV_WC_FLAG_WITH_IMM : 0) |
				    (cpl->with_inv ? HCASIM_IBV_WC_FLAG_WITH_INV : 0)),
		.pkey_index = htole16(cpl->pkey_index),
		.dlid_path_bits = cpl->path_bits,
		.port_num = 1,
	};

	memset(raw, 0, size);
	memcpy(raw, &wc, sizeof(wc));
}

/* ---- Heads of queues. The record of a work queue begins at its producer index, that of a CQ at its consumer index. */

static uint32_t word(const void *record, size_t at)
{
	uint32_t v;

	memcpy(&v, (const uint8_t *)record + at, sizeof(v));
	return le32toh(v);
}

static uint16_t sq_record_pi(const void *record)
{
	return (uint16_t)word(record, BETWEEN(posted, producer_index));
}

static uint32_t producer(const void *record)
{
	return word(record, 0);
}

static void decode_cq_record(const void *record, struct hca_cq_record *out)
{
	const uint32_t armed = word(record, BETWEEN(armed, consumer_index));

	*out = (struct hca_cq_record){
		.ci = word(record, 0),
		.arm_sn = HCASIM_FIELD_GET(HCASIM_RXE_QUEUE_SN_MASK, armed),
		.solicited = HCASIM_FIELD_GET(HCASIM_RXE_QUEUE_SOLICITED_MASK, armed),
	};
}

/* No entry marks the end of the old ring. */
static uint32_t resized_cq_index(uint32_t last, uint32_t entries)
{
	return last;
}

/* There is no BAR; the driver reads the time. */
static void read_register(const struct hca_config *cfg, hca_ps now, unsigned int bar, uint64_t offset,
			  uint8_t out[8])
{
	memcpy(out, &now, sizeof(now));
}

static void decode_doorbell(uint32_t offset, const void *data, uint32_t size, struct hca_doorbell *db)
{
	*db = (struct hca_doorbell){.kind = HCA_DB_NONE};
}

const struct hca_personality rxe_personality = {
	.name = "rxe",
	.adapter = "rxe",
	.wqebb_size = HCASIM_RXE_ELEMENT,
	.cqe_size = HCASIM_RXE_CQ_ELEMENT,
	.eqe_size = sizeof(struct hcasim_eqe),
	.uar = {.page_size = 4096},
	.dm = {.bar = 2},
	.qp_record_size = BETWEEN(reserved2, producer_index),
	.srq_record_size = sizeof(uint32_t),
	.cq_record_size = BETWEEN(reserved3, consumer_index),
	.rq_index_bits = 32,
	.ci_bits = 32,
	.shared = {.on = true,
		   .consumer = BETWEEN(consumer_index, producer_index),
		   .producer = BETWEEN(producer_index, consumer_index)},
	.wqe_size = wqe_size,
	.decode_wqe = decode_wqe,
	.decode_rqe = decode_rqe,
	.encode_cqe = encode_cqe,
	.encode_eqe = common_encode_eqe,
	.decode_doorbell = decode_doorbell,
	.resized_cq_index = resized_cq_index,
	.sq_record_pi = sq_record_pi,
	.rq_record_pi = producer,
	.srq_record_pi = producer,
	.decode_cq_record = decode_cq_record,
	.read_register = read_register,
	.only_new_events = true,
};
