// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues: creation, arming, destruction. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "wqe.h"

#define SUPPORTED_WC_FLAGS                                                                                   \
	(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_CVLAN |                \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK | IBV_WC_EX_WITH_TM_INFO)

/* The driver's own limits are lower. */
#define RESIZE_SECONDS 5

/* What the driver does not see. */
static int check_attr(const struct ibv_cq_init_attr_ex *attr)
{
	const uint32_t flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;

	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD) ||
	    !check_comp_mask(attr->wc_flags, SUPPORTED_WC_FLAGS) ||
	    (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS && !check_comp_mask(attr->flags, flags)))
		return EOPNOTSUPP;
	return 0;
}

static bool needs_lock(const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS && attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return false;
	return !(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD && to_hpd(attr->parent_domain)->td);
}

static int map_ring(struct hcasim_cq *cq, const struct hcasim_create_cq_resp *resp)
{
	int err;

	cq->chunk = hcasim_chunk_get(cq->ctx, resp->ring_mmap_offset, resp->ring_mmap_size, &err);
	if (!cq->chunk)
		return err;
	cq->cqn = resp->cqn;
	cq->entries = resp->cqe;
	cq->ring = (void *)(cq->chunk->map.addr + resp->ring_offset);
	cq->record = (void *)(cq->chunk->map.addr + resp->record_offset);
	return 0;
}

static struct hcasim_cq *create(struct hcasim_context *ctx, struct ibv_cq_init_attr_ex *attr)
{
	struct hcasim_cmd_create_cq_resp resp = {};
	struct ibv_create_cq_ex cmd = {};
	struct hcasim_cq *cq;
	int err;

	err = check_attr(attr);
	if (err)
		goto err_out;
	cq = calloc(1, sizeof(*cq));
	if (!cq) {
		err = ENOMEM;
		goto err_out;
	}
	cq->ctx = ctx;
	cq->locking = needs_lock(attr);
	/* Every CQE has a time stamp, so the driver need not know who uses it. */
	err = hcasim_cmd_create_cq_ex(&ctx->ibv_ctx.context, attr, &cq->vcq, &cmd, sizeof(cmd),
				      &resp.ibv_resp, sizeof(resp), CREATE_CQ_CMD_FLAGS_TS_IGNORED_EX);
	if (err)
		goto err_free;
	err = map_ring(cq, &resp.drv_payload);
	if (err)
		goto err_destroy;

	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	atomic_init(&cq->arm_sn, 1);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		cq->parent = to_hpd(attr->parent_domain);
		hcasim_pd_get(cq->parent);
	}
	return cq;

err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	free(cq);
err_out:
	errno = err;
	return NULL;
}

struct ibv_cq *hcasim_create_cq(struct ibv_context *ibctx, int cqe, struct ibv_comp_channel *channel,
				int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe > 0 ? cqe : 0,
		.channel = channel,
		.comp_vector = comp_vector,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	struct hcasim_cq *cq = create(to_hctx(ibctx), &attr);

	return cq ? &cq->vcq.cq : NULL;
}

struct ibv_cq_ex *hcasim_create_cq_ex(struct ibv_context *ibctx, struct ibv_cq_init_attr_ex *attr)
{
	struct hcasim_cq *cq = create(to_hctx(ibctx), attr);

	if (!cq)
		return NULL;
	hcasim_cq_fill_poll_ops(cq, attr->wc_flags);
	return &cq->vcq.cq_ex;
}

int hcasim_destroy_cq(struct ibv_cq *ibcq)
{
	struct hcasim_cq *cq = to_hcq(ibcq);
	int err;

	err = ibv_cmd_destroy_cq(ibcq);
	if (err)
		return hcasim_error(err);
	if (cq->parent)
		hcasim_pd_put(cq->parent);
	hcasim_chunk_put(cq->ctx, cq->chunk);
	pthread_spin_destroy(&cq->lock);
	free(cq);
	return 0;
}

int hcasim_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct hcasim_cq *cq = to_hcq(ibcq);
	const uint32_t sn_max = HCASIM_FIELD_GET(HCASIM_CQ_RECORD_SN_MASK, ~0u);

	hcasim_cq_lock(cq);
	hcasim_arm_cq(cq, atomic_load(&cq->arm_sn) & sn_max, solicited_only);
	hcasim_cq_unlock(cq);
	return 0;
}

/* An event was taken: the current arming is used up, and the next one needs another sequence number. */
void hcasim_cq_event(struct ibv_cq *ibcq)
{
	atomic_fetch_add(&to_hcq(ibcq)->arm_sn, 1);
}

/* The CQE at `index`, which the device is about to write; NULL if it does not arrive. */
static const struct hcasim_cqe *await_cqe(const struct hcasim_cq *cq, uint32_t index)
{
	const struct hcasim_cqe *cqe = hcasim_cq_peek(cq, index);
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (!cqe) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec - start.tv_sec > RESIZE_SECONDS)
			break;
		sched_yield();
		cqe = hcasim_cq_peek(cq, index);
	}
	return cqe;
}

static bool is_resize(const struct hcasim_cqe *cqe)
{
	return HCASIM_FIELD_GET(HCASIM_CQE_OPCODE_MASK, le32toh(cqe->qpn_opcode)) == HCASIM_CQE_OP_RESIZE;
}

/* The device puts a RESIZE entry behind the last CQE of the old ring, possibly a little after the command returned. */
static int await_resize(const struct hcasim_cq *cq, uint32_t *end)
{
	const struct hcasim_cqe *cqe;

	for (*end = cq->ci; (cqe = await_cqe(cq, *end)); ++*end)
		if (is_resize(cqe))
			return 0;
	verbs_err(&cq->ctx->ibv_ctx, "CQ 0x%x: the device wrote no RESIZE entry at %u\n", cq->cqn, *end);
	return EIO;
}

/*
 * Copies the completions that are not polled yet, those before `end`, to a new ring. The device continues there at the
 * next multiple of two turns; the copied entries, and the consumer index, are before that.
 */
static void move_cqes(struct hcasim_cq *cq, uint32_t end, struct hcasim_cqe *ring, uint32_t entries)
{
	const uint32_t count = end - cq->ci, skip = -end & (2 * entries - 1);
	uint32_t i;

	for (i = 0; i < count; i++) {
		const uint32_t from = cq->ci + i;
		struct hcasim_cqe *to = &ring[(from + skip) & (entries - 1)];

		*to = cq->ring[from & (cq->entries - 1)];
		to->owner = HCASIM_FIELD_PREP(HCASIM_CQE_PHASE_MASK, hcasim_cq_phase(entries, from + skip));
	}
	cq->ci += skip;
	cq->ring = ring;
	cq->entries = entries;
}

int hcasim_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct hcasim_cq *cq = to_hcq(ibcq);
	struct hcasim_cmd_resize_cq_resp resp = {};
	struct hcasim_resize_cq_resp *drv = &resp.drv_payload;
	struct hcasim_chunk *chunk;
	struct ibv_resize_cq cmd;
	uint32_t end;
	int err;

	hcasim_cq_lock(cq);
	/* IBTA 11.2.8.4: entries that are not polled yet must fit, in the size asked for. */
	if (hcasim_cq_count(cq) > (uint32_t)cqe) {
		err = EINVAL;
		goto out;
	}
	err = ibv_cmd_resize_cq(ibcq, cqe, &cmd, sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (err)
		goto out;
	chunk = hcasim_chunk_get(cq->ctx, drv->ring_mmap_offset, drv->ring_mmap_size, &err);
	if (!chunk)
		goto out;
	err = await_resize(cq, &end);
	if (err) {
		hcasim_chunk_put(cq->ctx, chunk);
		goto out;
	}
	move_cqes(cq, end, (void *)(chunk->map.addr + drv->ring_offset), drv->cqe);
	hcasim_chunk_put(cq->ctx, cq->chunk);
	cq->chunk = chunk;
	cq->record = (void *)(chunk->map.addr + drv->record_offset);
	hcasim_cq_update_ci(cq);
out:
	hcasim_cq_unlock(cq);
	return hcasim_error(err);
}

int hcasim_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return hcasim_error(ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd)));
}
