// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Checks what arrived: every byte, the number of copies of each message, and their order. */
#include <string.h>

#include "soak.h"

static const enum ibv_wc_opcode wc_of[] = {
	[IBV_WR_SEND] = IBV_WC_SEND,
	[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
	[IBV_WR_SEND_WITH_INV] = IBV_WC_SEND,
	[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
	[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
	[IBV_WR_ATOMIC_WRITE] = IBV_WC_ATOMIC_WRITE,
	[IBV_WR_FLUSH] = IBV_WC_FLUSH,
	[IBV_WR_BIND_MW] = IBV_WC_BIND_MW,
	[IBV_WR_LOCAL_INV] = IBV_WC_LOCAL_INV,
	[IBV_WR_TSO] = IBV_WC_TSO,
};

/* ---- At the requester ---- */

/*
 * Checks the data of a READ or an atomic part by part, and that the bytes between the parts did not change.
 */
static void check_local(struct flow *f, const struct record *r, const uint8_t *want)
{
	const uint8_t *p = r->local;

	for (uint32_t i = 0; i < r->num_sge; i++) {
		REQUIRE(!memcmp(p, want, r->part[i]), f, r->seq, "wrong bytes in part %u of %u", i,
			r->num_sge);
		want += r->part[i];
		p += r->part[i];
		for (uint32_t k = 0; k < GAP; k++)
			REQUIRE(p[k] == GUARD, f, r->seq, "a byte behind part %u was written", i);
		p += GAP;
	}
}

static void ended(struct flow *f, struct record *r)
{
	struct window *theirs = f->customer ? &f->customer->win : NULL;

	if (r->op == IBV_WR_RDMA_READ)
		check_local(f, r, f->snap + (r->seq % DEPTH) * SLOT);
	else if (r->op == IBV_WR_ATOMIC_FETCH_AND_ADD || r->op == IBV_WR_ATOMIC_CMP_AND_SWP)
		check_local(f, r, (const uint8_t *)&r->old);
	else if (r->op == IBV_WR_BIND_MW) {
		theirs->mw->rkey = r->rkey;
		theirs->state = W_BOUND;
		theirs->uses = 10 + below(f, 40);
	} else if (r->op == IBV_WR_LOCAL_INV)
		theirs->state = W_FREE;
	if (r->window)
		f->win.refs--;
}

/*
 * The completion must be that of the next signaled request; unsignaled requests before it have completed as
 * well.
 */
void check_completion(struct flow *f, uint64_t seq, enum ibv_wc_opcode opcode)
{
	struct record *r;

	do {
		REQUIRE(f->completed < f->posted, f, seq, "a completion of what was not posted");
		r = record(f, f->completed++);
		s.completed++;
		ended(f, r);
	} while (!r->signaled);
	REQUIRE(r->seq == seq, f, seq, "completed out of order: %llu was next", (unsigned long long)r->seq);
	REQUIRE(opcode == wc_of[r->op], f, seq, "completed as %d", opcode);
}

/* ---- At the responder ---- */

static void check_bytes(struct flow *f, const struct record *r, const uint8_t *p, uint32_t len)
{
	REQUIRE(len == r->len, f, r->seq, "%u bytes came, %u were sent", len, r->len);
	REQUIRE(!memcmp(p, s.pool + r->pool, len), f, r->seq, "a message of %u bytes came with wrong ones",
		len);
}

static void check_kind(struct flow *f, const struct record *r, const struct arrival *a)
{
	bool write = r->op == IBV_WR_RDMA_WRITE_WITH_IMM, inv = r->op == IBV_WR_SEND_WITH_INV;
	bool imm = write || r->op == IBV_WR_SEND_WITH_IMM;

	REQUIRE(a->opcode == (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV), f, r->seq, "came as %d",
		a->opcode);
	REQUIRE(!!(a->flags & IBV_WC_WITH_IMM) == imm && !!(a->flags & IBV_WC_WITH_INV) == inv, f, r->seq,
		"came with flags 0x%x", a->flags);
	REQUIRE(!imm || be32toh(a->imm) == r->imm, f, r->seq, "immediate data 0x%x, not 0x%x",
		be32toh(a->imm), r->imm);
	REQUIRE(!inv || a->imm == r->rkey, f, r->seq, "invalidated 0x%x, not 0x%x", a->imm, r->rkey);
	if (inv && f->win.state == W_INV_SENT && f->win.inv_seq == r->seq)
		f->win.state = W_FREE;
}

static void arrived_reliably(struct flow *f, const struct arrival *a, const uint8_t *p)
{
	struct record *r;

	REQUIRE(f->rx_seen < f->rx_posted, f, 0, "a message came that nobody sent");
	r = record(f, f->rx_seq[f->rx_seen++ % RECORDS]);
	check_kind(f, r, a);
	if (r->op != IBV_WR_RDMA_WRITE_WITH_IMM)
		check_bytes(f, r, p, a->len);
	else
		REQUIRE(a->len == r->len, f, r->seq, "%u bytes written, not %u", a->len, r->len);
}

/* Finds the flow's work request `seq`, whose message `part` has arrived, and counts the message. */
static struct record *came(struct flow *f, uint64_t seq, unsigned int part)
{
	struct record *r = record(f, seq);

	REQUIRE(seq < f->posted, f, seq, "a message came that nobody sent");
	REQUIRE(r->seq == seq && part < SEGMENTS, f, seq, "a message came long after it was sent");
	/*
	 * UC and UD accept a packet that the wire duplicates as another message (IBTA 9.8.2.2, 9.8.3), but
	 * only one copy is made.
	 */
	REQUIRE(r->copies[part] < 2, f, seq, "message %u came for the third time", part);
	if (r->copies[part]++)
		f->twice++;
	else
		f->came++;
	return r;
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

/* The number of the recently posted request that has these low 32 bits. */
static uint64_t full(const struct flow *f, uint32_t low)
{
	return f->posted - 1 - (uint32_t)((uint32_t)(f->posted - 1) - low);
}

static void segment_came(struct flow *f, const struct arrival *a, const uint8_t *p)
{
	const uint8_t *tcp = p + TCP_HEAD(f) - 20;
	uint64_t seq = full(f, get32(tcp + 8));
	uint32_t off = get32(tcp + 4), len = ((uint32_t)tcp[-18] << 8 | tcp[-17]) - 40; /* from IP */
	struct record *r = record(f, seq);
	uint32_t part = r->mss ? off / r->mss : SEGMENTS;

	/* Ethernet pads short frames */
	REQUIRE(a->len == TCP_HEAD(f) + len || (f->kind == RAW && a->len == 60), f, seq,
		"a segment of %u bytes in %u", len, a->len);
	REQUIRE(tcp[0] == 0 && tcp[1] == f->id, f, seq, "a segment with wrong ports");
	came(f, seq, part);
	REQUIRE(off == part * r->mss && len == (r->len - off < r->mss ? r->len - off : r->mss), f, seq,
		"a segment of %u bytes at %u", len, off);
	REQUIRE(!memcmp(p + TCP_HEAD(f), s.pool + r->pool + off, len), f, seq, "wrong bytes in segment %u",
		part);
	REQUIRE(a->flags & IBV_WC_IP_CSUM_OK, f, seq, "checksums of segment %u are not right", part);
}

static void tagged_came(struct flow *f, const struct arrival *a, const uint8_t *p, uint32_t len)
{
	struct tag tag;
	struct record *r;

	REQUIRE(len >= sizeof(tag), f, 0, "a message of %u bytes came", len);
	memcpy(&tag, p, sizeof(tag));
	REQUIRE(tag.magic == TAG_MAGIC && tag.flow == f->id, f, tag.seq, "a message of flow %u came",
		tag.flow);
	r = came(f, tag.seq, 0);
	check_kind(f, r, a);
	REQUIRE(len == r->len && !memcmp(p + sizeof(tag), s.pool + r->pool + sizeof(tag), len - sizeof(tag)),
		f, tag.seq, "%u bytes came with wrong ones; %u were sent", len, r->len);
}

/* Each packet's part of a UC slot must be from one of the writes `first` to the latest. */
static void check_slot(struct flow *f, uint32_t slot, uint32_t first)
{
	const uint8_t *p = f->target + slot * SLOT;
	uint32_t len = uc_len(slot), end = f->uc_written[slot], i;

	for (uint32_t at = 0; at < len; at += MTU) {
		uint32_t part = len - at < MTU ? len - at : MTU;

		for (i = first; i < end; i++)
			if (!memcmp(p + at, s.pool + f->uc_pool[slot][i % UC_PAST] + at, part))
				break;
		REQUIRE(i < end, f, 0, "slot %u, byte %u: none of writes %u to %u", slot, at, first, end - 1);
	}
	for (uint32_t i = len; i < SLOT; i++)
		REQUIRE(!p[i], f, 0, "slot %u: byte %u, behind it, was written", slot, i);
}

static void uc_write_came(struct flow *f, const struct arrival *a)
{
	uint32_t imm = be32toh(a->imm), slot = imm % UC_SLOTS, generation = imm / UC_SLOTS;

	REQUIRE(a->flags & IBV_WC_WITH_IMM && generation < f->uc_written[slot], f, 0, "immediate data 0x%x",
		imm);
	REQUIRE(f->uc_written[slot] - generation <= UC_PAST, f, 0, "a write came long after it was sent");
	REQUIRE(a->len == uc_len(slot), f, 0, "%u bytes written, not %u", a->len, uc_len(slot));
	check_slot(f, slot, generation);
	f->came++;
}

static void arrived_unreliably(struct flow *f, const struct arrival *a, const uint8_t *p)
{
	uint32_t grh = f->kind == UD ? 40 : 0, len = a->len - grh;
	struct arrival rest = *a;

	p += grh;
	rest.len = len;
	if (grh)
		REQUIRE(a->flags & IBV_WC_GRH && a->src_qp == f->qp->qp_num, f, 0, "a datagram of QP %u",
			a->src_qp);
	if (a->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return uc_write_came(f, a);
	if ((f->kind == UD && len > 44 && p[0] == 8 && !p[1]) ||
	    (f->kind == RAW && len > 54 && p[12] == 8 && !p[13]))
		return segment_came(f, &rest, p);
	if (f->kind == RAW)
		return tagged_came(f, a, p + ETH_HEAD, len - ETH_HEAD);
	if (!len && a->flags & IBV_WC_WITH_IMM)
		return check_kind(f, came(f, full(f, be32toh(a->imm)), 0), a);
	tagged_came(f, a, p, len);
}

void check_arrival(const struct arrival *a)
{
	struct flow *f = a->qpn < 4096 ? s.by_qpn[a->end][a->qpn] : NULL;
	struct recvq *q;
	uint8_t *p;

	REQUIRE(f, NULL, 0, "a message came to QP %u", a->qpn);
	q = f->rq;
	REQUIRE(a->wr_id < q->depth, f, 0, "receive wr_id %llu", (unsigned long long)a->wr_id);
	if (!q->srq) {
		REQUIRE(a->wr_id == q->next, f, 0, "receive %llu completed, not %u",
			(unsigned long long)a->wr_id, q->next);
		q->next = (q->next + 1) % q->depth;
	}
	p = q->buf + a->wr_id * q->stride;
	if (reliable(f))
		arrived_reliably(f, a, p);
	else
		arrived_unreliably(f, a, p);
	for (uint32_t i = 0; i < GAP; i++)
		REQUIRE(p[q->stride - GAP + i] == GUARD, f, 0, "a byte behind a receive buffer was written");
	recvq_again(q, (uint32_t)a->wr_id);
}

/* Nothing is in flight: the memory of each flow must have the result of its work requests. */
void check_targets(void)
{
	for (struct flow *f = s.flow; f < s.flow + NUM_FLOWS; f++) {
		if (reliable(f)) {
			REQUIRE(f->rx_seen == f->rx_posted, f, 0, "%llu messages did not come",
				(unsigned long long)(f->rx_posted - f->rx_seen));
			REQUIRE(!memcmp(f->target, f->shadow, TARGET), f, 0,
				"memory is not as it was written");
		}
		for (uint32_t slot = 0; f->kind == UC && slot < UC_SLOTS; slot++)
			if (f->uc_written[slot] >= UC_PAST)
				check_slot(f, slot, f->uc_written[slot] - UC_PAST);
	}
}
