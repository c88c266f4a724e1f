// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tag matching: operations on the tag list of a shared receive queue. The device finds them in a ring of their own,
 * after a doorbell. An operation frees its place and those before it when it completes, or, of an ADD, when its buffer
 * is consumed; so software that never asks for completions runs out of places.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wqe.h"

static uint8_t opcode_of(const struct hcasim_cqe *cqe)
{
	return HCASIM_FIELD_GET(HCASIM_CQE_OPCODE_MASK, le32toh(cqe->qpn_opcode));
}

static bool is_op(uint8_t opcode)
{
	return opcode == HCASIM_CQE_OP_TM_ADD || opcode == HCASIM_CQE_OP_TM_DEL ||
	       opcode == HCASIM_CQE_OP_TM_SYNC;
}

bool hcasim_tm_opcode(const struct hcasim_cqe *cqe)
{
	uint8_t opcode = opcode_of(cqe);

	return is_op(opcode) || opcode == HCASIM_CQE_OP_TM_RECV || opcode == HCASIM_CQE_OP_TM_NO_TAG;
}

bool hcasim_tm_cqe(const struct hcasim_cqe *cqe)
{
	return is_op(opcode_of(cqe)) || le32toh(cqe->src_qpn_flags) & HCASIM_CQE_TM_HANDLE_MASK;
}

/* ---- Creation ---- */

int hcasim_tm_alloc(struct hcasim_srq *srq, const struct ibv_tm_cap *cap)
{
	struct hcasim_tm *tm;
	uint32_t i;
	int err;

	if (!cap->max_num_tags || cap->max_num_tags > HCASIM_TM_MAX_TAGS || !cap->max_ops ||
	    cap->max_ops > HCASIM_TM_MAX_OPS)
		return EINVAL;
	tm = calloc(1, sizeof(*tm));
	if (!tm)
		return ENOMEM;
	tm->max_ops = cap->max_ops;
	tm->num_ops = roundup_pow_of_two(cap->max_ops);
	tm->num_tags = tm->num_free = cap->max_num_tags;
	err = hcasim_buf_alloc(&tm->buf, srq->pd,
			       tm->num_tags * (sizeof(*tm->tag) + sizeof(*tm->free_handle)) +
				       tm->num_ops * sizeof(*tm->posted),
			       HCASIM_RESOURCE_SRQ_SLOTS);
	if (err) {
		free(tm);
		return err;
	}
	tm->tag = tm->buf.ptr;
	tm->posted = (void *)(tm->tag + tm->num_tags);
	tm->free_handle = (void *)(tm->posted + tm->num_ops);
	memset(tm->tag, 0, tm->num_tags * sizeof(*tm->tag));
	for (i = 0; i < tm->num_tags; i++)
		tm->free_handle[i] = tm->num_tags - 1 - i;
	srq->tm = tm;
	return 0;
}

void hcasim_tm_free(struct hcasim_srq *srq)
{
	if (!srq->tm)
		return;
	hcasim_buf_free(&srq->tm->buf, srq->pd);
	free(srq->tm);
	srq->tm = NULL;
}

/* ---- Posting ---- */

static int check_op(const struct hcasim_tm *tm, const struct ibv_ops_wr *wr)
{
	if (wr->flags & ~(IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC))
		return EINVAL;
	switch (wr->opcode) {
	case IBV_WR_TAG_ADD:
		if (wr->tm.add.num_sge < 0 || wr->tm.add.num_sge > HCASIM_TM_MAX_SGE)
			return EINVAL;
		return tm->num_free ? 0 : ENOMEM;
	case IBV_WR_TAG_DEL:
		return wr->tm.handle < tm->num_tags && tm->tag[wr->tm.handle].awaited ? 0 : EINVAL;
	case IBV_WR_TAG_SYNC:
		return 0;
	default:
		return EINVAL;
	}
}

static void write_sges(struct hcasim_seg_data *seg, const struct ibv_ops_wr *wr)
{
	int i;

	for (i = 0; i < wr->tm.add.num_sge; i++)
		seg[i] = (struct hcasim_seg_data){.addr = htole64(wr->tm.add.sg_list[i].addr),
						  .length = htole32(wr->tm.add.sg_list[i].length),
						  .lkey = htole32(wr->tm.add.sg_list[i].lkey)};
}

/* Writes it into the ring. A failed DEL that is not signaled is not reported: the buffer's own completion is. */
static void write_op(struct hcasim_tm *tm, const struct ibv_ops_wr *wr, uint8_t opcode, uint16_t handle)
{
	struct hcasim_tm_op *op = (void *)(tm->ring + (tm->pi & (tm->num_ops - 1)) * HCASIM_TM_OP_SIZE);
	const bool add = opcode == HCASIM_TM_OPCODE_ADD;

	*op = (struct hcasim_tm_op){
		.opcode = opcode,
		.flags = HCASIM_FIELD_PREP(HCASIM_TM_OP_SIGNALED_MASK, !!(wr->flags & IBV_OPS_SIGNALED)) |
			 HCASIM_FIELD_PREP(HCASIM_TM_OP_SYNC_MASK, !!(wr->flags & IBV_OPS_TM_SYNC)),
		.index = htole16(tm->pi),
		.sw_count = htole16(wr->tm.unexpected_cnt & 0xffff),
		.handle = htole16(handle),
		.num_sge = add ? wr->tm.add.num_sge : 0,
		.tag = htole64(add ? wr->tm.add.tag : 0),
		.mask = htole64(add ? wr->tm.add.mask : 0),
	};
	if (add)
		write_sges((void *)(op + 1), wr);
}

static void post_one(struct hcasim_tm *tm, struct ibv_ops_wr *wr)
{
	static const uint8_t opcodes[] = {[IBV_WR_TAG_ADD] = HCASIM_TM_OPCODE_ADD,
					  [IBV_WR_TAG_DEL] = HCASIM_TM_OPCODE_DEL,
					  [IBV_WR_TAG_SYNC] = HCASIM_TM_OPCODE_SYNC};
	struct hcasim_tm_posted *posted = &tm->posted[tm->pi & (tm->num_ops - 1)];
	const bool signaled = wr->flags & IBV_OPS_SIGNALED;
	uint16_t handle = 0;

	if (wr->opcode == IBV_WR_TAG_ADD) {
		handle = tm->free_handle[--tm->num_free];
		tm->tag[handle] = (struct hcasim_tm_tag){
			.wr_id = wr->tm.add.recv_wr_id, .awaited = 1 + signaled, .op = tm->pi};
		wr->tm.handle = handle;
	} else if (wr->opcode == IBV_WR_TAG_DEL) {
		handle = wr->tm.handle;
		tm->tag[handle].awaited += signaled;
	}
	*posted = (struct hcasim_tm_posted){.wr_id = wr->wr_id, .handle = handle, .signaled = signaled};
	write_op(tm, wr, opcodes[wr->opcode], handle);
	tm->pi++;
}

int hcasim_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad_wr)
{
	struct hcasim_srq *srq = to_hsrq(ibsrq);
	struct hcasim_tm *tm = srq->tm;
	uint16_t before;
	int err = 0;

	if (!tm) {
		*bad_wr = wr;
		return hcasim_error(EINVAL);
	}
	hcasim_srq_lock(srq);
	before = tm->pi;
	for (; wr; wr = wr->next) {
		err = (uint16_t)(tm->pi - tm->ci) < tm->max_ops ? check_op(tm, wr) : ENOMEM;
		if (err) {
			*bad_wr = wr;
			break;
		}
		post_one(tm, wr);
	}
	if (tm->pi != before)
		hcasim_ring_tm(srq, tm->pi);
	hcasim_srq_unlock(srq);
	return hcasim_error(err);
}

/* ---- Ending ---- */

/* The operation at `index` and all before it have been executed. */
static void executed(struct hcasim_tm *tm, uint16_t index)
{
	uint16_t n = (uint16_t)(index + 1 - tm->ci);

	if (n <= (uint16_t)(tm->pi - tm->ci))
		tm->ci += n;
}

static void answered(struct hcasim_tm *tm, uint16_t handle)
{
	if (!--tm->tag[handle].awaited)
		tm->free_handle[tm->num_free++] = handle;
}

static int op_ended(struct hcasim_tm *tm, const struct hcasim_cqe *cqe, uint64_t *wr_id)
{
	uint16_t index = le16toh(cqe->wqe_index), n = (uint16_t)(tm->pi - index);
	const struct hcasim_tm_posted *posted = &tm->posted[index & (tm->num_ops - 1)];
	const uint8_t opcode = opcode_of(cqe);

	if (!n || n > tm->num_ops)
		return EINVAL;
	*wr_id = posted->wr_id;
	executed(tm, index);
	if (opcode != HCASIM_CQE_OP_TM_SYNC && posted->signaled)
		answered(tm, posted->handle);
	/* An entry that was taken off the list, or is not on it at all, does not complete. */
	if (opcode == HCASIM_CQE_OP_TM_DEL ? cqe->status == HCASIM_CQE_STATUS_OK
					   : opcode == HCASIM_CQE_OP_TM_ADD && cqe->status)
		answered(tm, posted->handle);
	return posted->signaled || cqe->status ? 0 : EAGAIN;
}

static int tag_ended(struct hcasim_tm *tm, const struct hcasim_cqe *cqe, uint64_t *wr_id)
{
	uint16_t handle = le16toh(cqe->wqe_index);

	if (handle >= tm->num_tags || !tm->tag[handle].awaited)
		return EINVAL;
	*wr_id = tm->tag[handle].wr_id;
	executed(tm, tm->tag[handle].op);
	if (cqe->status || le32toh(cqe->src_qpn_flags) & HCASIM_CQE_TM_DATA_MASK)
		answered(tm, handle);
	return 0;
}

int hcasim_tm_ended(struct hcasim_srq *srq, const struct hcasim_cqe *cqe, uint64_t *wr_id)
{
	if (!srq->tm)
		return EINVAL;
	return is_op(opcode_of(cqe)) ? op_ended(srq->tm, cqe, wr_id) : tag_ended(srq->tm, cqe, wr_id);
}
