// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbells. Stores to a user access page become entries of a bounded FIFO; BlueFlame pushes are assembled first. If
 * the FIFO is full, the queue is marked, and its doorbell record in host memory is read instead.
 */
#include "core/memory/memory.h"
#include "core/queues/queues.h"
#include "core/queues/tags.h"
#include "core/send/send.h"
#include "core/stages.h"

#define BF_PATIENCE_PS 2000000ull /* a push that is still incomplete after this time is torn */
#define BF_HEAD_BYTES  8          /* opcode, size, index and QPN: enough to treat a torn push as a doorbell */
#define BF_CTRL_BYTES  16         /* what a personality may look at; not yet pushed bytes are 0 */

static bool db_full(const struct hca *hca)
{
	return hca->db.count == hca->db.depth;
}

static void db_overflow(struct hca *hca, const struct hca_doorbell *db, uint32_t page)
{
	struct qp *qp;
	struct cq *cq;

	if (db->kind == HCA_DB_CQ_ARM) {
		cq = cq_find(hca, db->number);
		if (cq && cq->uar_page == page) {
			cq->arm_lost = true;
			list_set(&hca->recover_cq, &cq->recover, true);
		}
		return;
	}
	if (db->kind == HCA_DB_SRQ_ARM) {
		srq_doorbell(hca, db, page); /* it has no record: it is processed ahead of others */
		return;
	}
	if (db->kind == HCA_DB_TM) {
		tag_ops_doorbell(hca, db, page); /* likewise */
		return;
	}
	qp = qp_find(hca, db->number);
	if (qp && qp->c.uar_page == page)
		list_set(&hca->recover_qp, &qp->on_recover, true);
}

static void db_push(struct hca *hca, const struct hca_doorbell *db, uint32_t page, const struct bf_buf *bf)
{
	struct db_entry *e = &hca->db.slot[(hca->db.head + hca->db.count) % hca->db.depth];

	hca->count[0].doorbells++;
	if (db_full(hca)) {
		db_overflow(hca, db, page);
		return;
	}
	e->db = *db;
	e->since = hca_now(hca);
	e->page = page;
	e->len = 0;
	if (bf) {
		e->len = bf->want;
		memcpy(e->push, bf->data, bf->want);
	}
	hca->db.count++;
}

/* ---- BlueFlame ---- */

static struct bf_buf *bf_find(struct hca *hca, uint32_t page, uint32_t buf)
{
	struct bf_buf **b = &hca->bf[page * hca->pers->uar.bf_bufs + buf];

	if (!*b) {
		*b = calloc(1, sizeof(**b));
		if (*b) {
			(*b)->hca = hca;
			(*b)->page = page;
		}
	}
	return *b;
}

/* Decodes the control segment at the start of the buffer. */
static bool bf_head(struct hca *hca, const struct bf_buf *b, struct hca_doorbell *db)
{
	if (b->got < BF_HEAD_BYTES)
		return false;
	hca->pers->decode_doorbell(hca->pers->uar.bf_offset, b->data,
				   b->got < BF_CTRL_BYTES ? BF_CTRL_BYTES : b->got, db);
	return db->kind == HCA_DB_BF;
}

/* The push stayed incomplete: treat it as a doorbell for the same index. */
static void bf_torn(struct hca *hca, struct bf_buf *b)
{
	struct hca_doorbell db = {0};
	uint32_t bb = hca->pers->wqebb_size;

	b->active = false;
	timer_cancel(hca, &b->timer);
	hca->count[0].bf_torn++;
	if (!bf_head(hca, b, &db) || !b->want)
		return;
	db.kind = HCA_DB_SQ;
	db.value = (uint16_t)(db.value + (b->want + bb - 1) / bb);
	db_push(hca, &db, b->page, NULL);
}

static void bf_late(struct hca *hca, struct timer *t)
{
	struct bf_buf *b = node_entry(t, struct bf_buf, timer);

	/* Without the control segment nothing can be done yet: the rest may still arrive. */
	if (b->got >= BF_HEAD_BYTES)
		bf_torn(hca, b);
}

static void bf_whole(struct hca *hca, struct bf_buf *b)
{
	struct hca_doorbell db = {0};

	b->active = false;
	timer_cancel(hca, &b->timer);
	hca->count[0].bf_pushes++;
	if (bf_head(hca, b, &db))
		db_push(hca, &db, b->page, b);
}

static void bf_store(struct hca *hca, uint32_t page, uint32_t off, const void *data, uint32_t size)
{
	struct bf_buf *b = bf_find(hca, page, off / hca->pers->uar.bf_size);

	off %= hca->pers->uar.bf_size;
	if (!b || off + size > hca->pers->uar.bf_size)
		return;
	if (b->active && off != b->got)
		bf_torn(hca, b);
	if (!off) {
		memset(b->data, 0, sizeof(b->data));
		b->got = b->want = 0;
		b->active = true;
		b->timer.fire = bf_late;
	}
	if (!b->active)
		return;
	if (!b->timer.at.pos) /* started, or continued */
		timer_set(hca, &b->timer, hca_now(hca) + BF_PATIENCE_PS);
	memcpy(b->data + off, data, size);
	b->got += size;
	if (!b->want && b->got >= BF_HEAD_BYTES)
		b->want = hca->pers->wqe_size(b->data);
	if (b->want > hca->pers->uar.bf_size || (!b->want && b->got >= hca->pers->wqebb_size))
		bf_torn(hca, b);
	else if (b->want && b->got >= b->want)
		bf_whole(hca, b);
}

/* ---- MMIO ---- */

void hca_mmio_write(struct hca *hca, unsigned int bar, uint64_t offset, const void *data, uint32_t size)
{
	const struct hca_uar_layout *uar = &hca->pers->uar;
	const uint64_t page = offset / uar->page_size;
	const uint32_t off = offset % uar->page_size;
	struct hca_doorbell db = {0};

	if (bar == hca->pers->dm.bar)
		dm_store(hca, offset, data, size);
	if (bar != uar->bar || page >= uar->pages || !size || size > 64 || off + size > uar->page_size)
		return;
	hca->pers->decode_doorbell(off, data, size, &db);
	if (db.kind == HCA_DB_BF)
		bf_store(hca, (uint32_t)page, off - uar->bf_offset, data, size);
	else if (db.kind != HCA_DB_NONE)
		db_push(hca, &db, (uint32_t)page, NULL);
	hca_announce(hca);
}

void hca_mmio_poisoned(struct hca *hca, unsigned int bar, uint64_t offset)
{
	const uint64_t page = offset / hca->pers->uar.page_size;
	uint32_t number = 0;
	struct qp *qp;
	struct cq *cq;

	if (bar != hca->pers->uar.bar)
		return;
	for (; (qp = numbers_from(&hca->qp, number, &number)); number++)
		if (qp->c.uar_page == page && qp->c.sq.entries && !qp->rndv)
			list_set(&hca->recover_qp, &qp->on_recover, true);
	for (number = 0; (cq = numbers_from(&hca->cq, number, &number)); number++) {
		if (cq->uar_page != page)
			continue;
		cq->arm_lost = true;
		list_set(&hca->recover_cq, &cq->recover, true);
	}
	hca_announce(hca);
}

/* Loads of any size and place take their part of the registers they touch; device memory is no register. */
void hca_mmio_read(struct hca *hca, unsigned int bar, uint64_t offset, void *data, uint32_t size)
{
	uint8_t *out = data, reg[8];
	uint32_t i;

	memset(data, 0, size);
	if (bar == hca->pers->dm.bar) {
		dm_load(hca, offset, data, size);
		return;
	}
	for (i = 0; i < size;) {
		uint32_t skip = (offset + i) % sizeof(reg), n = sizeof(reg) - skip;

		hca->pers->read_register(&hca->cfg, hca_now(hca), bar, offset + i - skip, reg);
		if (n > size - i)
			n = size - i;
		memcpy(out + i, reg + skip, n);
		i += n;
	}
}

int hca_post_send(struct hca *hca, uint32_t qpn, uint16_t pi)
{
	const struct hca_doorbell db = {.kind = HCA_DB_SQ, .number = qpn, .value = pi};
	const struct qp *qp = qp_find(hca, qpn);

	if (!qp)
		return -EINVAL;
	db_push(hca, &db, qp->c.uar_page, NULL);
	hca_announce(hca);
	return 0;
}

int hca_cq_arm(struct hca *hca, uint32_t cqn, uint32_t ci, uint8_t arm_sn, bool solicited)
{
	const struct hca_doorbell db = {
		.kind = HCA_DB_CQ_ARM, .number = cqn, .value = ci, .arm_sn = arm_sn, .solicited = solicited};
	struct cq *cq = cq_find(hca, cqn);

	if (!cq)
		return -EINVAL;
	if (hca->pers->only_new_events)
		cq->notified = cq->pi;
	db_push(hca, &db, cq->uar_page, NULL);
	hca_announce(hca);
	return 0;
}

/* ---- The stage ---- */

/*
 * It goes on as soon as DMA brings its WQEs, PACKETISE has room, or its priority is not paused any more: whatever the
 * queue waits for, it does not wait for the software, which may be unable to go on before its doorbell is served.
 */
static bool goes_on(const struct hca *hca, const struct qp *qp, const struct engine_state *s)
{
	if (s->qp_state != HCASIM_QPS_RTS || s->fault || s->rnr_wait || s->paging)
		return false;
	if (qp->pace.pausing && !qp_paused(hca, qp))
		return false;
	if (!s->has_cur)
		return s->wqes < ENGINE_WINDOW;
	return !qp_reliable(qp) || s->rd_out < qp->a.max_rd_atomic;
}

/* Back-pressure of the send pipeline: its queue has as much ahead of PACKETISE as it may. */
static bool held_back(const struct hca *hca, const struct db_entry *e)
{
	struct engine_state s;
	const struct qp *qp;

	if (e->db.kind != HCA_DB_SQ && e->db.kind != HCA_DB_BF)
		return false;
	qp = qp_find(hca, e->db.number);
	if (!qp || e->page != qp->c.uar_page || qp->rndv)
		return false;
	hca->eng->state(hca->engine, qp->qpn, &s);
	return (uint16_t)(s.pi - (s.has_cur ? s.cur_index : qp->decoded)) >= hca->cfg.posted_blocks &&
	       goes_on(hca, qp, &s);
}

bool doorbell_pending(const struct hca *hca, struct hca_work *w)
{
	if (hca->db.count) {
		const struct db_entry *e = &hca->db.slot[hca->db.head];

		*w = (struct hca_work){.bytes = e->len ? e->len : 8, .items = 1};
		return !hca->cfg.posted_blocks || !held_back(hca, e);
	}
	*w = (struct hca_work){.bytes = 8, .items = 1};
	return !list_empty(&hca->recover_qp) || !list_empty(&hca->recover_cq);
}

/*
 * The index up to which a doorbell for `pi` posts: no further than the record says. Looking at it takes no time, and
 * no DMA read is in the way of each request, as published latencies have no room for one. A record that cannot be read
 * limits nothing: the read of the WQE fails.
 */
static uint16_t posted_to(struct hca *hca, const struct qp *qp, uint16_t pi)
{
	uint8_t raw[HCA_RECORD_MAX];

	hca->db.rung = pi;
	if (!hca->pers->sq_record_rules || !hca->ops.peek ||
	    hca->ops.peek(hca->host, qp->c.sq.pasid, qp->c.record, raw, hca->pers->qp_record_size))
		return pi;
	hca->db.record = hca->pers->sq_record_pi(raw);
	hca->db.ahead = (uint16_t)(hca->db.record - pi) > qp->c.sq.entries;
	return hca->db.ahead ? hca->db.record : pi;
}

static void sq_doorbell(struct hca *hca, struct db_entry *e)
{
	const uint32_t bb = hca->pers->wqebb_size;
	struct qp *qp = qp_find(hca, e->db.number);
	uint16_t to;

	hca->db.ahead = false;
	if (!qp || e->page != qp->c.uar_page || qp->rndv) /* a send queue of the adapter has no doorbell */
		return;
	to = posted_to(hca, qp, (uint16_t)(e->db.value + (e->len + bb - 1) / bb));
	if (e->db.kind == HCA_DB_SQ || hca->db.ahead)
		send_posted(hca, qp, to);
	else
		send_pushed(hca, qp, (uint16_t)e->db.value, e->push, e->len);
	rq_poll_soon(hca, qp);
	qp_update(hca, qp);
}

static void sq_record_read(struct hca *hca, struct dma_ctx *c, bool stale)
{
	if (stale || c->d.status || c->qp->rndv)
		return;
	send_posted(hca, c->qp, hca->pers->sq_record_pi(c->buf));
	rq_poll_soon(hca, c->qp);
}

static void recover(struct hca *hca)
{
	struct dma_ctx *c;
	struct cq *cq;
	struct qp *qp;

	if (!list_empty(&hca->recover_cq)) {
		cq = node_entry(hca->recover_cq.next, struct cq, recover);
		list_del(&cq->recover);
		cq_read_record(hca, cq);
		return;
	}
	qp = node_entry(hca->recover_qp.next, struct qp, on_recover);
	list_del(&qp->on_recover);
	c = dma_get(hca, qp, HCA_DMA_RECORD, false);
	if (!c)
		return;
	c->fn = sq_record_read;
	dma_one(hca, c, qp->c.sq.pasid, qp->c.record, c->buf, hca->pers->qp_record_size);
}

void doorbell_step(struct hca *hca)
{
	struct db_entry *e = &hca->db.slot[hca->db.head];

	if (!hca->db.count) {
		recover(hca);
		return;
	}
	hca->db.head = (hca->db.head + 1) % hca->db.depth;
	hca->db.count--;
	if (e->db.kind == HCA_DB_CQ_ARM)
		cq_doorbell(hca, &e->db, e->page);
	else if (e->db.kind == HCA_DB_SRQ_ARM)
		srq_doorbell(hca, &e->db, e->page);
	else if (e->db.kind == HCA_DB_TM)
		tag_ops_doorbell(hca, &e->db, e->page);
	else if (e->db.kind == HCA_DB_SQ || e->db.kind == HCA_DB_BF)
		sq_doorbell(hca, e);
}

/* RESET, destroy: drop doorbells that were rung before. */
void doorbell_forget(struct hca *hca, struct qp *qp)
{
	uint32_t i;

	for (i = 0; i < hca->db.count; i++) {
		struct db_entry *e = &hca->db.slot[(hca->db.head + i) % hca->db.depth];

		if (e->db.number == qp->qpn && (e->db.kind == HCA_DB_SQ || e->db.kind == HCA_DB_BF))
			e->db.kind = HCA_DB_NONE;
	}
	for (i = 0; i < hca->pers->uar.bf_bufs; i++) {
		struct bf_buf *b = hca->bf[qp->c.uar_page * hca->pers->uar.bf_bufs + i];
		struct hca_doorbell db = {0};

		if (!b || !b->active || !bf_head(hca, b, &db) || db.number != qp->qpn)
			continue;
		b->active = false;
		timer_cancel(hca, &b->timer);
	}
	list_set(&hca->recover_qp, &qp->on_recover, false);
}

void doorbell_free(struct hca *hca)
{
	uint32_t i;

	free(hca->db.slot);
	for (i = 0; hca->bf && i < hca->pers->uar.pages * hca->pers->uar.bf_bufs; i++)
		free(hca->bf[i]);
	free(hca->bf);
}
