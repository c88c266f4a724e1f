// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The ops of the C engine (core/engine.h). */
#include <errno.h>

#include "core/requester/sq.h"

static struct sq *find(const struct engine *e, uint32_t qpn)
{
	return qpn < e->num_sq ? e->sq[qpn] : NULL;
}

/* ---- Life ---- */

static struct engine *create(const struct engine_config *cfg, const struct engine_ports *ports, void *host)
{
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->cfg = *cfg;
	if (!e->cfg.queue_reads)
		e->cfg.queue_reads = 1;
	e->ports = ports;
	e->host = host;
	e->fetch_room = cfg->fetch_depth;
	e->free_pending = NO_TAG;
	e->decode_tail = &e->decode_head;
	list_init(&e->fetch_sqs);
	list_init(&e->tx_sqs);
	return e;
}

#define FREE_POOL(pool)                                                                                      \
	while (pool) {                                                                                       \
		void *it = pool;                                                                             \
		pool = (pool)->next;                                                                         \
		free(it);                                                                                    \
	}

static void destroy(struct engine *e)
{
	uint32_t i;

	while (e->decode_head)
		decode_step(e);
	for (i = 0; i < e->num_pending; i++) {
		if (e->pending[i].kind == PENDING_READ)
			fetch_put(e, e->pending[i].fetch);
		if (e->pending[i].kind != PENDING_FREE)
			pending_end(e, i);
	}
	FREE_POOL(e->fetch_pool);
	for (i = 0; i < sizeof(e->wqe_pool) / sizeof(e->wqe_pool[0]); i++)
		FREE_POOL(e->wqe_pool[i]);
	free(e->pending);
	free(e->sq);
	free(e);
}

static bool room_for(struct engine *e, uint32_t qpn)
{
	uint32_t n = e->num_sq ? e->num_sq : 64;
	struct sq **sq;

	while (n <= qpn)
		n *= 2;
	if (n == e->num_sq)
		return true;
	sq = realloc(e->sq, n * sizeof(*sq));
	if (!sq)
		return false;
	memset(sq + e->num_sq, 0, (n - e->num_sq) * sizeof(*sq));
	e->sq = sq;
	e->num_sq = n;
	return true;
}

/* ---- QPs ---- */

static int qp_create(struct engine *e, uint32_t qpn, const struct engine_qp *ctx)
{
	struct sq *sq = room_for(e, qpn) ? calloc(1, sizeof(*sq)) : NULL;

	if (!sq)
		return -ENOMEM;
	sq->e = e;
	sq->qpn = qpn;
	sq->refs = 1;
	sq->c = *ctx;
	e->sq[qpn] = sq;
	return 0;
}

static void qp_set(struct engine *e, uint32_t qpn, const struct engine_qp *ctx)
{
	struct sq *sq = find(e, qpn);
	uint8_t before = sq->c.state;

	sq->c = *ctx;
	if (ctx->set_psn)
		sq->next_psn = sq->una_psn = ctx->sq_psn & HCASIM_PSN_MASK;
	if (ctx->set_state && ctx->state == HCASIM_QPS_SQD)
		sq->drained_sent = false;
	if (ctx->state == HCASIM_QPS_RTS && before == HCASIM_QPS_SQE)
		sq->fault = false;
	sq_timer_update(sq);
	sq_settle(sq);
}

static void qp_reset(struct engine *e, uint32_t qpn)
{
	fetch_clear(find(e, qpn));
	sq_clear(find(e, qpn));
}

static void qp_destroy(struct engine *e, uint32_t qpn)
{
	struct sq *sq = find(e, qpn);

	fetch_clear(sq);
	sq_clear(sq);
	sq->dead = true;
	e->sq[qpn] = NULL;
	sq_put(sq);
}

static void error(struct engine *e, uint32_t qpn)
{
	struct sq *sq = find(e, qpn);

	if (sq->c.state == HCASIM_QPS_ERR || sq->c.state == HCASIM_QPS_RESET)
		return;
	sq_error(sq);
	sq_settle(sq);
}

static void query(const struct engine *e, uint32_t qpn, struct engine_query *out)
{
	const struct sq *sq = find(e, qpn);

	out->sq_psn = sq->next_psn;
	out->draining = sq->c.state == HCASIM_QPS_SQD && !sq->drained_sent;
}

static void port_set(struct engine *e, uint8_t port, uint32_t mtu)
{
	e->mtu[port - 1] = mtu;
}

/* ---- Doorbells ---- */

static void doorbell(struct engine *e, uint32_t qpn, uint16_t pi)
{
	struct sq *sq = find(e, qpn);

	sq_posted(sq, pi);
	sq_settle(sq);
}

static void push(struct engine *e, uint32_t qpn, uint16_t index, const void *wqe, uint32_t len)
{
	struct sq *sq = find(e, qpn);

	sq_pushed(sq, index, wqe, len);
	sq_settle(sq);
}

/* ---- What comes back ---- */

static void written(struct engine *e, uint32_t tag, int status)
{
	struct pending *p = pending_of(e, tag);
	struct sq *sq = p->sq;

	sq_get(sq);
	sq_written(sq, p->wqe, pending_fresh(p) ? status : 0);
	if (!--p->count)
		pending_end(e, tag);
	sq_settle(sq);
	sq_put(sq);
}

static void pages(struct engine *e, uint32_t tag, bool mapped)
{
	const struct pending *p = pending_of(e, tag);

	if (!pending_fresh(p))
		return;
	pages_answered(p->sq, p, mapped);
	sq_settle(p->sq);
}

static bool leave(struct engine *e, uint32_t tag, bool failed)
{
	struct pending *p = pending_of(e, tag);
	bool ok;

	if (!pending_fresh(p))
		return false;
	ok = packet_leave(p->sq, p, failed);
	sq_settle(p->sq);
	return ok;
}

static void response(struct engine *e, uint32_t qpn, const struct engine_response *r)
{
	struct sq *sq = find(e, qpn);

	sq_response(sq, r);
	sq_settle(sq);
}

static void timer(struct engine *e, uint32_t qpn)
{
	struct sq *sq = find(e, qpn);

	sq_timer(sq);
	sq_settle(sq);
}

/* ---- Completions ---- */

static bool completion(const struct engine *e, uint32_t qpn, struct engine_completion *out)
{
	const struct sq *sq = find(e, qpn);

	if (!sq_can_complete(sq))
		return false;
	if (out)
		sq_completion(sq, out);
	return true;
}

static void completion_taken(struct engine *e, uint32_t qpn)
{
	struct sq *sq = find(e, qpn);

	sq_pop(sq);
	sq_settle(sq);
}

/* ---- Stages ---- */

/* Called after every event of the adapter, and mostly there is nothing: that takes no call. */
static bool pending(const struct engine *e, enum hca_stage stage, struct hca_work *work)
{
	switch (stage) {
	case HCA_STAGE_FETCH:
		return !list_empty(&e->fetch_sqs) && fetch_pending(e, work);
	case HCA_STAGE_DECODE:
		return e->decode_head && decode_pending(e, work);
	default:
		return !list_empty(&e->tx_sqs) && packetise_pending(e, work);
	}
}

static uint32_t step(struct engine *e, enum hca_stage stage)
{
	if (stage == HCA_STAGE_FETCH)
		return fetch_step(e);
	return stage == HCA_STAGE_DECODE ? decode_step(e) : packetise_step(e);
}

static hca_ps later(hca_ps a, hca_ps b)
{
	return a > b ? a : b;
}

/* A packet can be made from when its WQE is decoded and its queue open. */
static hca_ps since(const struct engine *e, enum hca_stage stage, uint32_t qpn)
{
	const struct sq *sq;

	if (stage == HCA_STAGE_COMPLETE) {
		sq = find(e, qpn);
		return sq && sq->head && !sq->head->failed ? sq->head->done : 0;
	}
	if (stage == HCA_STAGE_DECODE)
		return e->decode_head ? e->decode_head->since : 0;
	if (stage == HCA_STAGE_FETCH)
		return list_empty(&e->fetch_sqs)
			       ? 0
			       : node_entry(e->fetch_sqs.next, struct sq, on_fetch)->fetch_since;
	if (list_empty(&e->tx_sqs))
		return 0;
	sq = node_entry(e->tx_sqs.next, struct sq, on_tx);
	return later(sq->open, sq->cur->decoded);
}

static bool ready(const struct engine *e, uint32_t qpn)
{
	return sq_ready(find(e, qpn));
}

/* ---- Compare ---- */

static void counters(const struct engine *e, struct engine_counters *out)
{
	*out = e->counters;
}

static void state(const struct engine *e, uint32_t qpn, struct engine_state *out)
{
	const struct sq *sq = find(e, qpn);

	*out = (struct engine_state){
		.qp_state = sq->c.state,
		.pi = sq->pi,
		.fetched = sq->fetched,
		.retired = sq->retired,
		.wqes = sq->nwqe,
		.has_cur = sq->cur,
		.has_ack = sq->ack,
		.cur_index = sq->cur ? sq->cur->wr.index : 0,
		.ack_index = sq->ack ? sq->ack->wr.index : 0,
		.cur_pkt = sq->cur_pkt,
		.una_psn = sq->una_psn,
		.next_psn = sq->next_psn,
		.rd_out = sq->rd_out,
		.rd_incomplete = sq->rd_incomplete,
		.retries = sq->retries,
		.rnr_retries = sq->rnr_retries,
		.rnr_wait = sq->rnr_wait,
		.fault = sq->fault,
		.fetching = sq->reading,
		.paging = sq->paging,
	};
}

const struct engine_ops c_engine = {
	.name = "c",
	.create = create,
	.destroy = destroy,
	.qp_create = qp_create,
	.qp_set = qp_set,
	.qp_reset = qp_reset,
	.qp_destroy = qp_destroy,
	.error = error,
	.query = query,
	.port_set = port_set,
	.doorbell = doorbell,
	.push = push,
	.read_done = fetch_done,
	.written = written,
	.pages = pages,
	.leave = leave,
	.released = pending_end,
	.response = response,
	.timer = timer,
	.completion = completion,
	.completion_taken = completion_taken,
	.pending = pending,
	.step = step,
	.since = since,
	.ready = ready,
	.counters = counters,
	.state = state,
};
