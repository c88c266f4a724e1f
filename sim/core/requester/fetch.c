// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The arbiter of send queues, and the reads of their basic blocks: as many WQEs as fit into a read, and as many reads
 * of a queue at a time as engine_config.queue_reads says. In the error states the queue is still read: the size of a WQE, and so what has to be flushed, is
 * in the WQEs.
 */
#include "core/requester/sq.h"

struct fetch *fetch_get(struct engine *e)
{
	struct fetch *f = e->fetch_pool;

	if (f)
		e->fetch_pool = f->next;
	else
		f = malloc(sizeof(*f));
	if (f) {
		f->next = NULL;
		f->sq = NULL;
		f->later = NULL;
		f->used_bb = 0;
		f->failed = f->arrived = false;
	}
	return f;
}

void fetch_put(struct engine *e, struct fetch *f)
{
	f->next = e->fetch_pool;
	e->fetch_pool = f;
}

/* Holds an entry of fetch_room, until the decoder is through with it. */
void fetch_begin(struct sq *sq, struct fetch *f, uint32_t n)
{
	f->sq = sq;
	f->epoch = sq->epoch;
	f->run = sq->run;
	f->index = sq->fetched;
	f->num_bb = n;
	if (sq->reads)
		sq->last_read->later = f;
	else
		sq->reads = f;
	sq->last_read = f;
	sq->reading++;
	sq->ahead += n;
	sq->fetched = (uint16_t)(sq->fetched + n);
	sq->e->fetch_room--;
}

void fetch_arrived(struct sq *sq, struct fetch *f)
{
	struct engine *e = sq->e;

	f->arrived = true;
	while ((f = sq->reads) && f->arrived) {
		sq->reads = f->later;
		sq_get(sq);
		f->next = NULL;
		f->since = engine_time(e);
		*e->decode_tail = f;
		e->decode_tail = &f->next;
	}
}

void fetch_clear(struct sq *sq)
{
	struct fetch *f, *later;

	for (f = sq->reads; f; f = later) {
		later = f->later;
		if (!f->arrived) /* fetch_done() drops it */
			continue;
		sq->e->fetch_room++;
		fetch_put(sq->e, f);
	}
}

bool sq_may_read(const struct sq *sq)
{
	return sq->reading < sq->e->cfg.queue_reads && sq->nwqe + sq->ahead < sq->e->cfg.window;
}

bool sq_can_fetch(const struct sq *sq)
{
	return (sq->c.state == HCASIM_QPS_RTS || sq_flushing(sq)) && sq->fetched != sq->pi && sq_may_read(sq);
}

static uint32_t fetch_size(const struct sq *sq)
{
	uint32_t n = (uint16_t)(sq->pi - sq->fetched), max = HCA_WQE_MAX / sq->e->cfg.pers->wqebb_size;

	if (max > sq->c.ring.entries)
		max = sq->c.ring.entries;
	return n < max ? n : max;
}

bool fetch_pending(const struct engine *e, struct hca_work *w)
{
	const struct sq *sq;

	if (!e->fetch_room)
		return false;
	sq = node_entry(e->fetch_sqs.next, struct sq, on_fetch);
	w->items = fetch_size(sq);
	w->bytes = w->items * e->cfg.pers->wqebb_size;
	w->qpn = sq->qpn;
	return true;
}

void fetch_done(struct engine *e, uint32_t tag, const void *data, uint32_t len, int status)
{
	struct pending *p = pending_of(e, tag);
	struct fetch *f = p->fetch;

	if (!pending_fresh(p)) {
		e->fetch_room++;
		fetch_put(e, f);
	} else {
		f->failed = status;
		if (!status)
			memcpy(f->data, data, len);
		fetch_arrived(p->sq, f);
	}
	pending_end(e, tag);
}

static bool read_blocks(struct sq *sq, struct fetch *f, uint32_t n)
{
	uint32_t bb = sq->e->cfg.pers->wqebb_size, first = sq->fetched & (sq->c.ring.entries - 1);
	uint32_t straight = sq->c.ring.entries - first < n ? sq->c.ring.entries - first : n;
	const struct hca_dma_seg seg[2] = {{sq->c.ring.addr + (uint64_t)first * bb, straight * bb, 0},
					   {sq->c.ring.addr, (n - straight) * bb, 0}};
	uint32_t tag = pending_new(sq, PENDING_READ, NULL);

	if (tag == NO_TAG)
		return false;
	pending_of(sq->e, tag)->fetch = f;
	if (sq->e->ports->read(sq->e->host, sq->qpn, tag, sq->c.ring.pasid, seg, n > straight ? 2 : 1))
		return true;
	pending_end(sq->e, tag);
	return false;
}

uint32_t fetch_step(struct engine *e)
{
	struct sq *sq = node_entry(e->fetch_sqs.next, struct sq, on_fetch);
	uint32_t n = fetch_size(sq);
	struct fetch *f = fetch_get(e);

	list_del(&sq->on_fetch);
	if (f && !read_blocks(sq, f, n)) {
		fetch_put(e, f);
		f = NULL;
	}
	if (f)
		fetch_begin(sq, f, n);
	sq_settle(sq);
	return sq->qpn;
}
