// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Building send WQEs. A WQE is ctrl, destination (UD), the segments of its operation, then data; it may wrap at the
 * end of the ring, between basic blocks. Only data varies in size, so all other segments have a fixed offset and
 * setters may be called in any order.
 */
#include <string.h>

#include "wqe.h"

#define UNITS_PER_BB  (HCASIM_WQEBB_SIZE / HCASIM_SEG_UNIT)
#define UNITS(layout) (sizeof(layout) / HCASIM_SEG_UNIT)

static inline bool has_seg(const struct hcasim_wr_rule *rule, enum hcasim_wqe_seg seg)
{
	return hcasim_wqe_has_seg(rule->wqe_op, seg);
}

/* Address of unit `unit` of the open WQE. */
static inline void *unit_at(const struct hcasim_sq *sq, uint32_t unit)
{
	uint32_t bytes = sq->num_bb * HCASIM_WQEBB_SIZE;

	return sq->ring + ((sq->next_bb * HCASIM_WQEBB_SIZE + unit * HCASIM_SEG_UNIT) & (bytes - 1));
}

void hcasim_sq_open(struct hcasim_sq *sq)
{
	sq->next_bb = atomic_load_explicit(&sq->pi_bb, memory_order_relaxed);
	sq->next_wr = sq->pi_wr;
	sq->wqe.rule = NULL;
	sq->err = 0;
}

void hcasim_sq_publish(struct hcasim_qp *qp)
{
	struct hcasim_sq *sq = &qp->sq;
	uint32_t first = atomic_load_explicit(&sq->pi_bb, memory_order_relaxed);
	bool single = sq->next_wr - sq->pi_wr == 1;

	if (sq->next_bb == first)
		return;
	sq->pi_wr = sq->next_wr;
	/* Release: the poller of a completion must see these slots. */
	atomic_store_explicit(&sq->pi_bb, sq->next_bb, memory_order_release);
	hcasim_ring_sq(qp, first, sq->next_bb, single);
}

/* Drops flags that do not apply to this operation, and refuses unknown ones. */
static int ctrl_flags(const struct hcasim_qp *qp, const struct hcasim_wr_rule *rule, unsigned int send_flags,
		      uint32_t *flags)
{
	const unsigned int known =
		IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE | IBV_SEND_IP_CSUM;
	uint32_t f = HCASIM_FIELD_PREP(HCASIM_WQE_CTRL_QPN_MASK, qp->vqp.qp.qp_num);

	if (send_flags & ~known)
		return EINVAL;
	if (qp->sq.sig_all || send_flags & IBV_SEND_SIGNALED)
		f |= HCASIM_WQE_CTRL_SIGNALED_MASK;
	if (send_flags & IBV_SEND_SOLICITED & rule->send_flags)
		f |= HCASIM_WQE_CTRL_SOLICITED_MASK;
	if (send_flags & IBV_SEND_FENCE && rule->fence_qp_types & HCASIM_QPT_BIT(qp->vqp.qp.qp_type))
		f |= HCASIM_WQE_CTRL_FENCE_MASK;
	if (send_flags & IBV_SEND_IP_CSUM && rule->csum_qp_types & HCASIM_QPT_BIT(qp->vqp.qp.qp_type))
		f |= HCASIM_WQE_CTRL_IP_CSUM_MASK;
	*flags = f;
	return 0;
}

static uint32_t tso_units(const struct hcasim_wr_args *args)
{
	return UNITS(struct hcasim_seg_tso) + DIV_ROUND_UP(args->tso_hdr_size, HCASIM_SEG_UNIT);
}

/* Copies into the ring, from byte `off` of the open WQE on; the ring may wrap in between. */
static void copy_in(const struct hcasim_sq *sq, uint32_t off, const void *src, size_t len)
{
	uint32_t bytes = sq->num_bb * HCASIM_WQEBB_SIZE;
	uint32_t pos = (sq->next_bb * HCASIM_WQEBB_SIZE + off) & (bytes - 1);
	size_t head = bytes - pos < len ? bytes - pos : len;

	if (!len)
		return;
	memcpy(sq->ring + pos, src, head);
	memcpy(sq->ring, (const uint8_t *)src + head, len - head);
}

/* IBTA 10.6.7.2.2: a window gives access to peers only, so the local write right does not matter here. */
static void write_bind(struct hcasim_seg_bind *seg, const struct hcasim_wr_args *args)
{
	const struct ibv_mw_bind_info *info = args->bind;

	*seg = (struct hcasim_seg_bind){
		.mw_rkey = htole32(args->mw->rkey),
		.new_rkey = htole32(args->rkey),
		.lkey = htole32(info->mr ? info->mr->lkey : 0),
		.access = htole32(info->mw_access_flags & ~IBV_ACCESS_LOCAL_WRITE),
		.addr = htole64(info->addr),
		.length = htole64(info->length),
		.type = args->mw->type,
	};
}

/* Checks that need only the arguments; the device checks the rest. */
static bool args_ok(const struct hcasim_wr_rule *rule, const struct hcasim_wr_args *args)
{
	const unsigned int types = IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT;

	if (has_seg(rule, HCASIM_WQE_SEG_BIND))
		return args->mw && args->bind && (args->bind->mr || !args->bind->length);
	if (has_seg(rule, HCASIM_WQE_SEG_FLUSH))
		return args->flush_type && !(args->flush_type & ~types) && args->flush_level <= IBV_FLUSH_MR;
	return !rule->value || args->atomic_wr;
}

/* The value of an ATOMIC WRITE is in its own inline segment. */
struct value_seg {
	struct hcasim_seg_inline head;
	uint8_t value[8];
	uint8_t pad[4];
};

static void write_value(struct value_seg *seg, const struct hcasim_wr_args *args)
{
	*seg = (struct value_seg){.head.length = htole32(sizeof(seg->value))};
	memcpy(seg->value, args->atomic_wr, sizeof(seg->value));
}

static uint32_t seg_units(const struct hcasim_wr_rule *rule, const struct hcasim_wr_args *args)
{
	return (has_seg(rule, HCASIM_WQE_SEG_REMOTE) ? UNITS(struct hcasim_seg_remote) : 0) +
	       (has_seg(rule, HCASIM_WQE_SEG_ATOMIC) ? UNITS(struct hcasim_seg_atomic) : 0) +
	       (has_seg(rule, HCASIM_WQE_SEG_BIND) ? UNITS(struct hcasim_seg_bind) : 0) +
	       (has_seg(rule, HCASIM_WQE_SEG_FLUSH) ? UNITS(struct hcasim_seg_flush) : 0) +
	       (rule->value ? UNITS(struct value_seg) : 0) +
	       (has_seg(rule, HCASIM_WQE_SEG_TSO) ? tso_units(args) : 0);
}

static void write_segs(struct hcasim_sq *sq, uint32_t unit, const struct hcasim_wr_rule *rule,
		       const struct hcasim_wr_args *args)
{
	if (has_seg(rule, HCASIM_WQE_SEG_REMOTE)) {
		struct hcasim_seg_remote *seg = unit_at(sq, unit);

		*seg = (struct hcasim_seg_remote){.addr = htole64(args->remote_addr),
						  .rkey = htole32(args->rkey)};
		unit += UNITS(*seg);
	}
	if (has_seg(rule, HCASIM_WQE_SEG_ATOMIC)) {
		struct hcasim_seg_atomic *seg = unit_at(sq, unit);

		seg->swap_add = htole64(args->swap_add);
		seg->compare = htole64(args->compare);
	}
	/* it and ctrl fill one basic block, so the segment does not wrap */
	if (has_seg(rule, HCASIM_WQE_SEG_BIND))
		write_bind(unit_at(sq, unit), args);
	if (has_seg(rule, HCASIM_WQE_SEG_FLUSH)) {
		struct hcasim_seg_flush *seg = unit_at(sq, unit);

		*seg = (struct hcasim_seg_flush){.length = htole64(args->flush_len),
						 .type = args->flush_type,
						 .level = args->flush_level};
	}
	if (rule->value) {
		write_value(unit_at(sq, unit), args);
		sq->wqe.flags |= HCASIM_WQE_CTRL_INLINE_MASK;
	}
	if (has_seg(rule, HCASIM_WQE_SEG_TSO)) {
		struct hcasim_seg_tso *seg = unit_at(sq, unit);

		*seg = (struct hcasim_seg_tso){.mss = htole16(args->mss),
					       .hdr_size = htole16(args->tso_hdr_size)};
		copy_in(sq, (unit + UNITS(*seg)) * HCASIM_SEG_UNIT, args->tso_hdr, args->tso_hdr_size);
	}
}

/* The segment with the destination, if the operation has one on this type of QP. */
static uint32_t dest_units(const struct hcasim_wr_rule *rule, enum ibv_qp_type type)
{
	if (rule->ud_addr_qp_types & HCASIM_QPT_BIT(type))
		return UNITS(struct hcasim_seg_ud);
	return rule->srqn_qp_types & HCASIM_QPT_BIT(type) ? UNITS(struct hcasim_seg_xrc) : 0;
}

int hcasim_wqe_begin(struct hcasim_qp *qp, enum hcasim_wr_op op, uint64_t wr_id, unsigned int send_flags,
		     const struct hcasim_wr_args *args)
{
	const struct hcasim_wr_rule *rule = &hcasim_wr_rules[op];
	struct hcasim_sq *sq = &qp->sq;
	struct hcasim_wqe *wqe = &sq->wqe;
	struct hcasim_sq_slot *slot;
	uint32_t dest;
	int err;

	if (!args_ok(rule, args))
		return EINVAL;
	if (has_seg(rule, HCASIM_WQE_SEG_TSO) &&
	    (!args->mss || !args->tso_hdr_size || args->tso_hdr_size > sq->max_tso_hdr))
		return EINVAL;
	/* The ring has space for max_wr WQEs of the greatest size (max_wqe_bb() in qp.c). */
	if (sq->next_wr - atomic_load_explicit(&sq->ci_wr, memory_order_acquire) >= sq->max_wr)
		return ENOMEM;
	err = ctrl_flags(qp, rule, send_flags, &wqe->flags);
	if (err)
		return err;

	dest = dest_units(rule, qp->vqp.qp.qp_type);
	wqe->units = UNITS(struct hcasim_wqe_ctrl) + dest + seg_units(rule, args);
	wqe->ctrl = unit_at(sq, 0);
	wqe->ctrl->imm = args->imm;
	wqe->ctrl->inv_rkey = htole32(args->inv_rkey);
	write_segs(sq, UNITS(struct hcasim_wqe_ctrl) + dest, rule, args);
	slot = &sq->slots[sq->next_bb & (sq->num_bb - 1)];
	slot->wr_id = wr_id;
	slot->wr = sq->next_wr;
	wqe->has_data = false;
	wqe->has_dest = !dest;
	wqe->rule = rule;
	return 0;
}

/* A data setter may be called once, and only for operations with data. */
static int open_data(struct hcasim_wqe *wqe)
{
	if (!wqe->rule || wqe->has_data || wqe->rule->data == HCASIM_WR_DATA_NONE)
		return EINVAL;
	wqe->has_data = true;
	return 0;
}

int hcasim_wqe_sges(struct hcasim_qp *qp, const struct ibv_sge *sge, size_t num)
{
	struct hcasim_sq *sq = &qp->sq;
	uint32_t unit = sq->wqe.units, any = 0;
	size_t i;
	int err;

	err = open_data(&sq->wqe);
	if (err)
		return err;
	if (num > sq->max_sge)
		return EINVAL;
	for (i = 0; i < num; i++)
		any |= sge[i].length;
	/*
	 * Where data is required, 0 bytes are an error (erratum NO-DATA-SETTER); the device checks operations of
	 * fixed length.
	 */
	if (!any && sq->wqe.rule->data == HCASIM_WR_DATA_REQUIRED && !sq->wqe.rule->length)
		return EINVAL;
	sq->wqe.units += num;
	for (i = 0; i < num; i++) {
		struct hcasim_seg_data *seg = unit_at(sq, unit + i);

		seg->addr = htole64(sge[i].addr);
		seg->length = htole32(sge[i].length);
		seg->lkey = htole32(sge[i].lkey);
	}
	return 0;
}

int hcasim_wqe_inline(struct hcasim_qp *qp, const struct ibv_data_buf *buf, size_t num)
{
	struct hcasim_sq *sq = &qp->sq;
	uint32_t off = sq->wqe.units * HCASIM_SEG_UNIT;
	struct hcasim_seg_inline seg;
	size_t total = 0, i;
	int err;

	err = open_data(&sq->wqe);
	if (err)
		return err;
	if (!sq->wqe.rule->inline_ok)
		return EINVAL;
	for (i = 0; i < num; i++) {
		if (buf[i].length > sq->max_inline - total)
			return EINVAL;
		total += buf[i].length;
	}
	sq->wqe.units += DIV_ROUND_UP(sizeof(seg) + total, HCASIM_SEG_UNIT);
	seg.length = htole32(total);
	copy_in(sq, off, &seg, sizeof(seg));
	off += sizeof(seg);
	for (i = 0; i < num; i++) {
		copy_in(sq, off, buf[i].addr, buf[i].length);
		off += buf[i].length;
	}
	sq->wqe.flags |= HCASIM_WQE_CTRL_INLINE_MASK;
	return 0;
}

int hcasim_wqe_ud_addr(struct hcasim_qp *qp, struct ibv_ah *ibah, uint32_t qpn, uint32_t qkey)
{
	struct hcasim_wqe *wqe = &qp->sq.wqe;
	struct hcasim_seg_ud *seg;

	/* Not a UD QP, or a second call: has_dest is set. */
	if (!wqe->rule || wqe->has_dest || !ibah || qp->vqp.qp.qp_type != IBV_QPT_UD)
		return EINVAL;
	/* ctrl and destination fill the first basic block, so the segment does not wrap. */
	seg = unit_at(&qp->sq, UNITS(struct hcasim_wqe_ctrl));
	*seg = to_hah(ibah)->seg;
	seg->qpn = htole32(qpn & 0xffffff);
	seg->qkey = htole32(qkey);
	wqe->has_dest = true;
	return 0;
}

int hcasim_wqe_srqn(struct hcasim_qp *qp, uint32_t srqn)
{
	struct hcasim_wqe *wqe = &qp->sq.wqe;
	struct hcasim_seg_xrc *seg;

	if (!wqe->rule || wqe->has_dest || qp->vqp.qp.qp_type != IBV_QPT_XRC_SEND)
		return EINVAL;
	seg = unit_at(&qp->sq, UNITS(struct hcasim_wqe_ctrl));
	*seg = (struct hcasim_seg_xrc){.srqn = htole32(srqn & 0xffffff)};
	wqe->has_dest = true;
	return 0;
}

int hcasim_wqe_end(struct hcasim_qp *qp)
{
	struct hcasim_sq *sq = &qp->sq;
	struct hcasim_wqe *wqe = &sq->wqe;
	const struct hcasim_wr_rule *rule = wqe->rule;

	wqe->rule = NULL;
	if (!wqe->has_dest || (rule->data == HCASIM_WR_DATA_REQUIRED && !wqe->has_data))
		return EINVAL;
	wqe->ctrl->opcode = rule->wqe_op;
	wqe->ctrl->size = wqe->units;
	wqe->ctrl->index = htole16(sq->next_bb);
	wqe->ctrl->qpn_flags = htole32(wqe->flags);
	sq->next_bb += DIV_ROUND_UP(wqe->units, UNITS_PER_BB);
	sq->next_wr++;
	return 0;
}
