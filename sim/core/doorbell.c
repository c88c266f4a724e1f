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

	hca->counters.doorbells++;
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
	struct bf_buf **b = &hca->bf[page * HCASIM_BF_BUFS + buf];

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
	hca->pers->decode_doorbell(HCASIM_UAR_BF, b->data,
				   b->got < HCASIM_SEG_UNIT ? HCASIM_SEG_UNIT : b->got, db);
	return db->kind == HCA_DB_BF;
}

/* The push stayed incomplete: treat it as a doorbell for the same index. */
static void bf_torn(struct hca *hca, struct bf_buf *b)
{
	struct hca_doorbell db = {0};
	uint32_t bb = hca->pers->wqebb_size;

	b->active = false;
	timer_cancel(hca, &b->timer);
	hca->counters.bf_torn++;
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
	hca->counters.bf_pushes++;
	if (bf_head(hca, b, &db))
		db_push(hca, &db, b->page, b);
}

static void bf_store(struct hca *hca, uint32_t page, uint32_t off, const void *data, uint32_t size)
{
	struct bf_buf *b = bf_find(hca, page, off / HCASIM_BF_SIZE);

	off %= HCASIM_BF_SIZE;
	if (!b || off + size > HCASIM_BF_SIZE)
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
	if (b->want > HCASIM_BF_SIZE || (!b->want && b->got >= hca->pers->wqebb_size))
		bf_torn(hca, b);
	else if (b->want && b->got >= b->want)
		bf_whole(hca, b);
}

/* ---- MMIO ---- */

void hca_mmio_write(struct hca *hca, unsigned int bar, uint64_t offset, const void *data, uint32_t size)
{
	uint32_t page = (uint32_t)(offset / HCASIM_UAR_PAGE_SIZE), off = offset % HCASIM_UAR_PAGE_SIZE;
	struct hca_doorbell db = {0};

	if (bar == HCASIM_BAR_DM)
		dm_write(hca, offset, data, size);
	if (bar != HCASIM_BAR_UAR || offset >= HCASIM_BAR_UAR_SIZE || !size || size > 64 ||
	    off + size > HCASIM_UAR_PAGE_SIZE)
		return;
	hca->pers->decode_doorbell(off, data, size, &db);
	if (db.kind == HCA_DB_BF)
		bf_store(hca, page, off - HCASIM_UAR_BF, data, size);
	else if (db.kind != HCA_DB_NONE)
		db_push(hca, &db, page, NULL);
	hca_announce(hca);
}

static uint64_t reg_read(struct hca *hca, unsigned int bar, uint64_t offset)
{
	if (bar == HCASIM_BAR_UAR)
		return offset % HCASIM_UAR_PAGE_SIZE == HCASIM_UAR_CLOCK ? hca_now(hca) : 0;
	switch (offset) {
	case HCASIM_REG_FW_VER:
		return 1ull << 32; /* 1.0.0 */
	case HCASIM_REG_CAPS:
		return hca->cfg.num_ports;
	case HCASIM_REG_CLOCK_PS:
		return hca_now(hca);
	default:
		return 0;
	}
}

void hca_mmio_read(struct hca *hca, unsigned int bar, uint64_t offset, void *data, uint32_t size)
{
	uint8_t *out = data;
	uint32_t i;

	memset(data, 0, size);
	if (bar == HCASIM_BAR_DM)
		dm_read(hca, offset, data, size);
	if (bar != HCASIM_BAR_REGS && bar != HCASIM_BAR_UAR)
		return;
	for (i = 0; i < size;) {
		uint64_t reg = (offset + i) & ~7ull;
		uint64_t v = htole64(reg_read(hca, bar, reg));
		uint32_t skip = (uint32_t)(offset + i - reg), n = 8 - skip;

		if (n > size - i)
			n = size - i;
		memcpy(out + i, (uint8_t *)&v + skip, n);
		i += n;
	}
}

/* ---- The stage ---- */

bool doorbell_pending(const struct hca *hca, struct hca_work *w)
{
	if (hca->db.count) {
		const struct db_entry *e = &hca->db.slot[hca->db.head];

		*w = (struct hca_work){.bytes = e->len ? e->len : 8, .items = 1};
		return true;
	}
	*w = (struct hca_work){.bytes = 8, .items = 1};
	return !list_empty(&hca->recover_qp) || !list_empty(&hca->recover_cq);
}

static void sq_doorbell(struct hca *hca, struct db_entry *e)
{
	struct qp *qp = qp_find(hca, e->db.number);

	if (!qp || e->page != qp->c.uar_page || qp->rndv) /* a send queue of the adapter has no doorbell */
		return;
	if (e->db.kind == HCA_DB_SQ)
		send_posted(hca, qp, (uint16_t)e->db.value);
	else
		send_pushed(hca, qp, (uint16_t)e->db.value, e->push, e->len);
	rq_poll_soon(hca, qp);
	qp_update(hca, qp);
}

static void sq_record_read(struct hca *hca, struct dma_ctx *c, bool stale)
{
	struct hcasim_sq_record rec;

	if (stale || c->d.status || c->qp->rndv)
		return;
	memcpy(&rec, c->buf, sizeof(rec));
	send_posted(hca, c->qp, (uint16_t)le32toh(rec.sq_pi));
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
	dma_one(hca, c, qp->c.sq.pasid, qp->c.record, c->buf, sizeof(struct hcasim_sq_record));
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
	for (i = 0; i < HCASIM_BF_BUFS; i++) {
		struct bf_buf *b = hca->bf[qp->c.uar_page * HCASIM_BF_BUFS + i];
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
	for (i = 0; hca->bf && i < HCASIM_UAR_PAGES * HCASIM_BF_BUFS; i++)
		free(hca->bf[i]);
	free(hca->bf);
}
