// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hcasim.h"

static bool is_xrc(const struct ibv_srq_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC;
}

static bool is_tm(const struct ibv_srq_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_TM;
}

/* What the type needs besides the PD. */
static uint32_t parts_of(const struct ibv_srq_init_attr_ex *attr)
{
	if (is_xrc(attr))
		return IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	return is_tm(attr) ? IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM : 0;
}

static int check_attr(const struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t parts = parts_of(attr);

	if (!parts && attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC)
		return EOPNOTSUPP;
	if (!check_comp_mask(attr->comp_mask, IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | parts))
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd)
		return EINVAL;
	if ((attr->comp_mask & parts) != parts || (is_xrc(attr) && !attr->xrcd) || (parts && !attr->cq))
		return EINVAL;
	if (attr->attr.max_wr > HCASIM_MAX_SRQ_WR)
		return EINVAL;
	return 0;
}

/* Allocates for `count` WQEs, more than before: a resize keeps posted WQEs. */
static int alloc_slots(struct hcasim_srq *srq, uint32_t count)
{
	const size_t each = sizeof(*srq->wr_id) + sizeof(*srq->free_tag);
	struct hcasim_buf buf = {};
	int err;

	if (count <= srq->num_slots)
		return 0;
	err = hcasim_buf_alloc(&buf, srq->pd, count * each, HCASIM_RESOURCE_SRQ_SLOTS);
	if (err)
		return err;
	if (srq->num_slots) {
		memcpy(buf.ptr, srq->wr_id, srq->num_slots * sizeof(*srq->wr_id));
		memcpy((uint64_t *)buf.ptr + count, srq->free_tag, srq->num_slots * sizeof(*srq->free_tag));
		hcasim_buf_free(&srq->slot_buf, srq->pd);
	}
	srq->slot_buf = buf;
	srq->num_slots = count;
	srq->wr_id = buf.ptr;
	srq->free_tag = (uint16_t *)(srq->wr_id + count);
	return 0;
}

static int enter(struct hcasim_srq *srq)
{
	int err;

	pthread_mutex_lock(&srq->ctx->table_lock);
	err = hcasim_table_insert(&srq->ctx->srqs, srq->srqn, srq);
	pthread_mutex_unlock(&srq->ctx->table_lock);
	return err;
}

static int create_in_device(struct hcasim_srq *srq, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_context *ibctx = &srq->ctx->ibv_ctx.context;
	struct hcasim_cmd_create_srq_resp resp = {};
	struct hcasim_cmd_create_srq cmd = {
		.drv_payload = {.wqe_count = HCASIM_MAX_SRQ_WR, .stride = srq->stride}};
	int err;

	if (srq->tm)
		cmd.drv_payload.tm_ops = srq->tm->num_ops;
	err = ibv_cmd_create_srq_ex(ibctx, &srq->vsrq, attr, &cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				    sizeof(resp));
	if (err)
		return err;
	srq->chunk = hcasim_chunk_get(srq->ctx, resp.drv_payload.ring_mmap_offset,
				      resp.drv_payload.ring_mmap_size, &err);
	if (srq->chunk) {
		srq->ring = srq->chunk->map.addr + resp.drv_payload.ring_offset;
		srq->record = (void *)(srq->chunk->map.addr + resp.drv_payload.record_offset);
		if (srq->tm)
			srq->tm->ring = srq->chunk->map.addr + resp.drv_payload.tm_ops_offset;
		srq->srqn = srq->vsrq.srq_num = resp.drv_payload.srqn;
		srq->max_wr = attr->attr.max_wr;
		srq->max_sge = attr->attr.max_sge;
		err = enter(srq);
	}
	if (err) {
		hcasim_chunk_put(srq->ctx, srq->chunk);
		ibv_cmd_destroy_srq(&srq->vsrq.srq);
	}
	return err;
}

static struct hcasim_srq *create(struct hcasim_context *ctx, struct ibv_srq_init_attr_ex *attr)
{
	struct hcasim_srq *srq = NULL;
	int err;

	err = check_attr(attr);
	if (err)
		goto err_out;
	srq = calloc(1, sizeof(*srq));
	if (!srq) {
		err = ENOMEM;
		goto err_out;
	}
	srq->ctx = ctx;
	srq->pd = to_hpd(attr->pd);
	srq->locking = !srq->pd->td;
	/* Space for at least one SGE: IBTA allows a receive without any. */
	srq->stride =
		roundup_pow_of_two(sizeof(struct hcasim_rqe) + (attr->attr.max_sge ? attr->attr.max_sge : 1) *
								       sizeof(struct hcasim_seg_data));
	err = alloc_slots(srq, attr->attr.max_wr);
	if (err)
		goto err_out;
	err = is_tm(attr) ? hcasim_tm_alloc(srq, &attr->tm_cap) : 0;
	if (err)
		goto err_slots;
	pthread_spin_init(&srq->lock, PTHREAD_PROCESS_PRIVATE);
	err = create_in_device(srq, attr);
	if (err)
		goto err_lock;
	hcasim_pd_get(srq->pd);
	return srq;

err_lock:
	pthread_spin_destroy(&srq->lock);
	hcasim_tm_free(srq);
err_slots:
	hcasim_buf_free(&srq->slot_buf, srq->pd);
err_out:
	return hcasim_failed(srq, err);
}

struct ibv_srq *hcasim_create_srq_ex(struct ibv_context *ibctx, struct ibv_srq_init_attr_ex *attr)
{
	struct hcasim_srq *srq = create(to_hctx(ibctx), attr);

	if (!srq)
		return NULL;
	/* libibverbs sets them for ibv_create_srq() alone */
	srq->vsrq.srq.pd = attr->pd;
	srq->vsrq.srq.srq_context = attr->srq_context;
	return &srq->vsrq.srq;
}

struct ibv_srq *hcasim_create_srq(struct ibv_pd *ibpd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = ibpd,
	};
	struct ibv_srq *ibsrq = hcasim_create_srq_ex(ibpd->context, &ex);

	if (ibsrq)
		attr->attr = ex.attr;
	return ibsrq;
}

/* IBTA 11.2.3.3: no size below the number of posted WQEs. The lock is held until the size has changed. */
int hcasim_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int attr_mask)
{
	struct hcasim_srq *srq = to_hsrq(ibsrq);
	struct ibv_modify_srq cmd = {};
	int err;

	if (attr_mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return hcasim_error(EOPNOTSUPP);
	if (!(attr_mask & IBV_SRQ_MAX_WR))
		return hcasim_error(ibv_cmd_modify_srq(ibsrq, attr, attr_mask, &cmd, sizeof(cmd)));
	hcasim_srq_lock(srq);
	err = attr->max_wr < srq->used || attr->max_wr > HCASIM_MAX_SRQ_WR ? EINVAL
									   : alloc_slots(srq, attr->max_wr);
	if (!err)
		err = ibv_cmd_modify_srq(ibsrq, attr, attr_mask, &cmd, sizeof(cmd));
	if (!err)
		srq->max_wr = attr->max_wr;
	hcasim_srq_unlock(srq);
	return hcasim_error(err);
}

int hcasim_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return hcasim_error(ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd)));
}

int hcasim_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num)
{
	*srq_num = to_hsrq(ibsrq)->srqn;
	return 0;
}

/* An XRC or TM SRQ completes to its own CQ; the completions of a basic SRQ were removed with its QPs. */
static void leave(struct hcasim_srq *srq)
{
	struct hcasim_cq *cq = srq->vsrq.srq_type != IBV_SRQT_BASIC ? to_hcq(srq->vsrq.cq) : NULL;

	if (cq) {
		hcasim_cq_lock(cq);
		hcasim_cq_clean(cq, 0, srq->srqn);
	}
	hcasim_table_remove(&srq->ctx->srqs, srq->srqn);
	if (cq)
		hcasim_cq_unlock(cq);
}

int hcasim_destroy_srq(struct ibv_srq *ibsrq)
{
	struct hcasim_srq *srq = to_hsrq(ibsrq);
	struct hcasim_context *ctx = srq->ctx;
	int err;

	/* The device may reuse the number at once, so take the SRQ out of the table first. */
	pthread_mutex_lock(&ctx->table_lock);
	err = ibv_cmd_destroy_srq(ibsrq);
	if (!err)
		leave(srq);
	pthread_mutex_unlock(&ctx->table_lock);
	if (err)
		return hcasim_error(err);
	hcasim_chunk_put(ctx, srq->chunk);
	pthread_spin_destroy(&srq->lock);
	hcasim_tm_free(srq);
	hcasim_buf_free(&srq->slot_buf, srq->pd);
	hcasim_pd_put(srq->pd);
	free(srq);
	return 0;
}

/* ---- Posting and ending ---- */

static int post_one(struct hcasim_srq *srq, const struct ibv_recv_wr *wr)
{
	uint32_t place = srq->pi & (HCASIM_MAX_SRQ_WR - 1);
	uint16_t tag;

	if ((uint32_t)wr->num_sge > srq->max_sge) /* or negative */
		return EINVAL;
	if (srq->used >= srq->max_wr)
		return ENOMEM;
	/* No more WQEs are posted than the ring has, so the device has already read the previous one here. */
	tag = srq->num_free ? srq->free_tag[--srq->num_free] : srq->fresh++;
	srq->wr_id[tag] = wr->wr_id;
	hcasim_write_rqe((void *)(srq->ring + (size_t)place * srq->stride), srq->pi, tag, wr);
	srq->used++;
	srq->pi++;
	return 0;
}

static int post_list(struct hcasim_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	int err;

	for (; wr; wr = wr->next) {
		err = post_one(srq, wr);
		if (err) {
			*bad_wr = wr;
			return err;
		}
	}
	return 0;
}

int hcasim_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct hcasim_srq *srq = to_hsrq(ibsrq);
	int err;

	hcasim_srq_lock(srq);
	err = post_list(srq, wr, bad_wr);
	/* No doorbell: the device reads the record when the queue runs empty. */
	udma_to_device_barrier();
	hcasim_store_record(&srq->record->pi, srq->pi);
	hcasim_srq_unlock(srq);
	return hcasim_error(err);
}

static int wqe_ended(struct hcasim_srq *srq, uint16_t tag, uint64_t *wr_id)
{
	if (!srq->used || tag >= srq->fresh)
		return EINVAL;
	*wr_id = srq->wr_id[tag];
	srq->free_tag[srq->num_free++] = tag;
	srq->used--;
	return 0;
}

int hcasim_srq_ended(struct hcasim_srq *srq, const struct hcasim_cqe *cqe, uint64_t *wr_id)
{
	int err;

	hcasim_srq_lock(srq);
	err = hcasim_tm_cqe(cqe) ? hcasim_tm_ended(srq, cqe, wr_id)
				 : wqe_ended(srq, le16toh(cqe->wqe_index), wr_id);
	hcasim_srq_unlock(srq);
	return err;
}
