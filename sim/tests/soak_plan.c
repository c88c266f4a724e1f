// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Plans the next request of a flow and its expected result. */
#include <string.h>

#include "soak.h"

#define FRAME_MAX 1400u /* payload of a raw frame */

/* Shares of the operations. Windows are bound and invalidated when their state requires it. */
struct share {
	enum ibv_wr_opcode op;
	unsigned int share;
};
static const struct share rc_shares[] = {
	{IBV_WR_SEND, 15},      {IBV_WR_SEND_WITH_IMM, 8},       {IBV_WR_RDMA_WRITE, 22},
	{IBV_WR_RDMA_READ, 12}, {IBV_WR_RDMA_WRITE_WITH_IMM, 8}, {IBV_WR_ATOMIC_FETCH_AND_ADD, 6},
	{IBV_WR_FLUSH, 4},      {IBV_WR_ATOMIC_CMP_AND_SWP, 5},  {IBV_WR_ATOMIC_WRITE, 5},
};
static const struct share uc_shares[] = {
	{IBV_WR_SEND, 3}, {IBV_WR_SEND_WITH_IMM, 2}, {IBV_WR_RDMA_WRITE, 3}, {IBV_WR_RDMA_WRITE_WITH_IMM, 2}};
static const struct share ud_shares[] = {{IBV_WR_SEND, 5}, {IBV_WR_SEND_WITH_IMM, 4}, {IBV_WR_TSO, 1}};
static const struct share raw_shares[] = {{IBV_WR_SEND, 5}, {IBV_WR_TSO, 1}};

#define SHARES(x) x, sizeof(x) / sizeof((x)[0])
static const struct {
	const struct share *share;
	size_t n;
} shares[KINDS] = {[RC] = {SHARES(rc_shares)},
		   [UC] = {SHARES(uc_shares)},
		   [UD] = {SHARES(ud_shares)},
		   [XRC] = {SHARES(rc_shares)},
		   [RAW] = {SHARES(raw_shares)}};

static enum ibv_wr_opcode drawn_op(struct flow *f)
{
	const struct share *p = shares[f->kind].share;
	unsigned int sum = 0, at;

	for (size_t i = 0; i < shares[f->kind].n; i++)
		sum += p[i].share;
	for (at = below(f, sum); at >= p->share; p++)
		at -= p->share;
	return p->op;
}

/*
 * The windows come first: bind or invalidate the customer's window here, or invalidate the flow's own window
 * with a SEND, after which no request may use it.
 */
static enum ibv_wr_opcode next_op(struct flow *f)
{
	struct window *own = &f->win, *theirs = f->customer ? &f->customer->win : NULL;

	if (theirs && theirs->state == W_FREE && !below(f, 4))
		return IBV_WR_BIND_MW;
	if (theirs && theirs->state == W_CLOSING && !theirs->refs)
		return IBV_WR_LOCAL_INV;
	/* UC: the SEND may be lost */
	if (f->kind == UC && own->state == W_INV_SENT && f->completed > own->inv_seq + DEPTH)
		own->state = W_CLOSING;
	if (own->state == W_BOUND && !own->uses) {
		if (below(f, 2))
			return IBV_WR_SEND_WITH_INV;
		own->state = W_CLOSING;
	}
	return drawn_op(f);
}

/* Mostly short lengths, sometimes several packets. */
static uint32_t draw_len(struct flow *f, uint32_t max)
{
	uint32_t kind = below(f, 10), top = kind < 7 ? 256 : kind < 9 ? 2000 : MAX_LEN;

	return below(f, (top < max ? top : max) + 1);
}

uint32_t uc_len(uint32_t slot)
{
	return slot < 44 ? slot * 5 : slot < 56 ? 300 + (slot - 44) * 150 : (slot - 55) * 950;
}

/* ---- Data ---- */

/* Divides the buffer of the work request into parts, with a gap after each. */
static void lay_out(struct request *q)
{
	struct flow *f = q->f;
	struct record *r = q->r;
	uint32_t total = r->head + r->len, at = 0;

	r->local = f->local + (r->seq % DEPTH) * (SLOT + 64u);
	r->num_sge = total < MAX_SGE ? !!total : 1 + below(f, MAX_SGE);
	for (uint32_t i = 0; i < r->num_sge; i++) {
		uint32_t left = r->num_sge - 1 - i;

		r->part[i] = left ? 1 + below(f, total - left) : total;
		q->sge[i] = (struct ibv_sge){(uintptr_t)r->local + at, r->part[i], s.local_mr[f->end]->lkey};
		total -= r->part[i];
		at += r->part[i] + GAP;
	}
	q->num_sge = r->num_sge;
}

static void compose(const struct request *q, uint8_t *to)
{
	const struct flow *f = q->f;
	const struct record *r = q->r;

	memcpy(to, q->hdr, r->head);
	memcpy(to + r->head, s.pool + r->pool, r->len);
	if (!reliable(f) && !r->mss && r->generation == UINT32_MAX && r->len >= sizeof(struct tag))
		memcpy(to + r->head, &(struct tag){TAG_MAGIC, f->id, r->seq}, sizeof(struct tag));
}

static void put_inline(struct request *q)
{
	uint32_t total = q->r->head + q->r->len, parts = total < 3 ? 1 : 1 + below(q->f, 3), at = 0;

	compose(q, q->bytes);
	for (uint32_t i = 0; i < parts; i++) {
		uint32_t len = i + 1 < parts ? total / parts : total - at;

		q->data[i] = (struct ibv_data_buf){q->bytes + at, len};
		q->sge[i] = (struct ibv_sge){(uintptr_t)q->bytes + at, len, 0};
		at += len;
	}
	q->num_sge = parts;
	q->inlined = true;
}

/* Writes the payload: bytes of the pool from a random offset, which is kept in `pool`. */
static void put_data(struct request *q, bool may_inline)
{
	uint8_t message[SLOT], *from = message;

	q->r->pool = below(q->f, 1u << 20);
	if (may_inline && q->r->head + q->r->len <= INLINE && below(q->f, 2))
		return put_inline(q);
	lay_out(q);
	compose(q, message);
	for (uint32_t i = 0; i < q->num_sge; from += q->sge[i++].length)
		memcpy((void *)(uintptr_t)q->sge[i].addr, from, q->sge[i].length);
}

/* ---- Headers of TCP ---- */

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

/* The payload starts at sequence number 0; the acknowledgement number is the number of the work request. */
static void tcp_head(struct request *q)
{
	uint8_t *ip = q->hdr + TCP_HEAD(q->f) - 40, *tcp = ip + 20;

	memset(q->hdr, 0, sizeof(q->hdr));
	put16(q->f->kind == RAW ? q->hdr + 12 : q->hdr, 0x0800);
	ip[0] = 0x45;
	put16(ip + 2, 40 + q->r->len);
	ip[8] = 64;
	ip[9] = 6;
	put32(ip + 12, 0xc0000201);
	put32(ip + 16, 0xc0000202);
	put16(tcp, q->f->id);
	put32(tcp + 8, (uint32_t)q->r->seq);
	put16(tcp + 12, 0x5010);
	put16(tcp + 16, 0xbeef);
}

static void eth_head(struct request *q)
{
	memcpy(q->hdr, q->f->dmac, 6);
	memcpy(q->hdr + 6, (uint8_t[6]){2, 0, 0, 0, 0, (uint8_t)q->f->id}, 6);
}

/* ---- Operations ---- */

/* A READ that is repeated after a loss must not return data that was written later (IBTA 10.8.3.3). */
static bool reads_overlap(struct flow *f, uint32_t off, uint32_t len)
{
	for (uint64_t seq = f->completed; seq < f->posted; seq++) {
		const struct record *r = record(f, seq);

		if (r->op == IBV_WR_RDMA_READ && r->off < off + len && off < r->off + r->len)
			return true;
	}
	return false;
}

static void aim(struct request *q, uint32_t off)
{
	struct flow *f = q->f;
	struct window *w = &f->win;
	bool window = w->state == W_BOUND && w->uses && q->r->op != IBV_WR_FLUSH &&
		      q->r->op != IBV_WR_ATOMIC_WRITE && below(f, 2);

	q->r->off = off;
	q->r->rkey = window ? w->mw->rkey : s.target_mr[!f->end]->rkey;
	q->remote = (uintptr_t)f->target + off;
	q->r->window = window;
	if (!window)
		return;
	w->uses--;
	w->refs++;
}

static void plan_uc_write(struct request *q)
{
	struct flow *f = q->f;
	struct record *r = q->r;
	uint32_t slot = f->uc_next++ % UC_SLOTS;

	r->len = uc_len(slot);
	r->generation = f->uc_written[slot]++;
	r->imm = r->generation << 6 | slot;
	aim(q, slot * SLOT);
	put_data(q, true);
	f->uc_pool[slot][r->generation % UC_PAST] = r->pool;
}

static void plan_write(struct request *q)
{
	struct flow *f = q->f;
	struct record *r = q->r;
	const uint32_t first = COUNTERS * 8;

	if (f->kind == UC)
		return plan_uc_write(q);
	r->len = draw_len(f, MAX_LEN);
	aim(q, first + below(f, TARGET - first - r->len));
	q->fenced = reads_overlap(f, r->off, r->len);
	put_data(q, true);
	memcpy(f->shadow + r->off, s.pool + r->pool, r->len);
}

static void plan_read(struct request *q)
{
	struct flow *f = q->f;

	q->r->len = draw_len(f, MAX_LEN);
	aim(q, below(f, TARGET - q->r->len));
	lay_out(q);
	memset(q->r->local, GUARD, q->r->len + MAX_SGE * GAP);
	memcpy(f->snap + (q->r->seq % DEPTH) * SLOT, f->shadow + q->r->off, q->r->len);
}

static void plan_atomic(struct request *q)
{
	struct flow *f = q->f;
	struct record *r = q->r;
	uint32_t off = below(f, COUNTERS) * 8;
	uint64_t now;

	memcpy(&now, f->shadow + off, 8);
	r->len = 8;
	r->old = now;
	aim(q, off);
	q->fenced = reads_overlap(f, off, 8);
	q->operand = draw(&f->rand);
	q->compare = below(f, 2) ? now : q->operand;
	if (r->op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		now += q->operand;
	else if (r->op == IBV_WR_ATOMIC_WRITE || q->compare == now)
		now = q->operand;
	memcpy(f->shadow + off, &now, 8);
	if (r->op == IBV_WR_ATOMIC_WRITE)
		return;
	lay_out(q);
	memset(r->local, GUARD, 8 + MAX_SGE * GAP);
}

static void plan_flush(struct request *q)
{
	aim(q, below(q->f, TARGET - MAX_LEN));
	q->r->len = below(q->f, MAX_LEN);
}

/*
 * Every message of an unreliable flow has its request's number in a tag, its TCP header or its immediate
 * data.
 */
static void plan_send(struct request *q)
{
	struct flow *f = q->f;
	struct record *r = q->r;
	uint32_t max = f->kind == RAW ? FRAME_MAX : f->kind == UD ? MTU : MAX_LEN;

	r->imm = (uint32_t)r->seq;
	r->len = draw_len(f, max);
	if (!reliable(f) && r->len < 48 && !(r->op == IBV_WR_SEND_WITH_IMM && !r->len))
		r->len = 48;
	if ((f->kind == RAW || f->kind == UD) && r->op == IBV_WR_SEND && !below(f, 4)) {
		r->head = TCP_HEAD(f);
		r->len = r->len > 900 ? 900 : r->len;
		r->mss = r->len;
		q->flags |= IBV_SEND_IP_CSUM;
		tcp_head(q);
	} else if (f->kind == RAW) {
		r->head = ETH_HEAD;
		put16(q->hdr + 12, 0x88b5); /* IEEE 802: for local experiments */
	}
	if (f->kind == RAW)
		eth_head(q);
	put_data(q, true);
}

static void plan_tso(struct request *q)
{
	struct flow *f = q->f;

	q->r->mss = 100 + below(f, 800);
	q->r->len = 1 + below(f, 8 * q->r->mss < MAX_LEN ? 8 * q->r->mss : MAX_LEN);
	tcp_head(q);
	if (f->kind == RAW)
		eth_head(q);
	q->hdr_len = TCP_HEAD(f);
	put_data(q, false);
}

/* Comes after everything that uses the window, including retried READs. */
static void plan_send_inv(struct request *q)
{
	q->r->rkey = q->f->win.mw->rkey;
	q->f->win.state = W_INV_SENT;
	q->f->win.inv_seq = q->r->seq;
	plan_send(q);
	q->fenced = true;
}

static void plan_bind(struct request *q)
{
	struct flow *c = q->f->customer;

	c->win.state = W_BINDING;
	q->mw = c->win.mw;
	q->r->rkey = ibv_inc_rkey(q->mw->rkey);
	q->bind = (struct ibv_mw_bind_info){
		.mr = s.target_mr[q->f->end],
		.addr = (uintptr_t)c->target,
		.length = c->kind == UC ? UC_SLOTS * SLOT : TARGET,
		.mw_access_flags = c->kind == UC ? IBV_ACCESS_REMOTE_WRITE
						 : IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
							   IBV_ACCESS_REMOTE_ATOMIC};
}

static void plan_op(struct request *q)
{
	switch (q->r->op) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return plan_send(q);
	case IBV_WR_SEND_WITH_INV:
		return plan_send_inv(q);
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return plan_write(q);
	case IBV_WR_RDMA_READ:
		return plan_read(q);
	case IBV_WR_FLUSH:
		return plan_flush(q);
	case IBV_WR_TSO:
		return plan_tso(q);
	case IBV_WR_BIND_MW:
		return plan_bind(q);
	case IBV_WR_LOCAL_INV:
		q->f->customer->win.state = W_INVALIDATING;
		q->r->rkey = q->f->customer->win.mw->rkey;
		return;
	default:
		return plan_atomic(q);
	}
}

static bool takes_receive(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_SEND_WITH_INV ||
	       op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static void count(struct flow *f, const struct record *r)
{
	s.ops[r->op]++;
	if (reliable(f) && takes_receive(r->op))
		f->rx_seq[f->rx_posted++ % RECORDS] = r->seq;
	else if (!reliable(f) && (takes_receive(r->op) || r->op == IBV_WR_TSO))
		f->sent += r->op == IBV_WR_TSO ? (r->len + r->mss - 1) / r->mss : 1;
}

bool plan_next(struct flow *f, struct request *q)
{
	struct record *r = record(f, f->posted);

	if (f->posted - f->completed >= DEPTH || f->rx_posted - f->rx_seen >= RECORDS / 2)
		return false;
	memset(q, 0, offsetof(struct request, hdr));
	q->hdr_len = 0;
	memset(r, 0, sizeof(*r));
	q->f = f;
	q->r = r;
	r->seq = f->posted;
	r->generation = UINT32_MAX;
	r->op = next_op(f);
	plan_op(q);
	r->signaled = s.settling || below(f, 2) || f->unsignaled == 15;
	f->unsignaled = r->signaled ? 0 : f->unsignaled + 1;
	q->flags |= (r->signaled ? IBV_SEND_SIGNALED : 0) |
		    (q->fenced || !below(f, 64) ? IBV_SEND_FENCE : 0) |
		    (below(f, 4) ? 0 : IBV_SEND_SOLICITED);
	f->posted++;
	count(f, r);
	return true;
}
