/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Lists of as many requests as a QP was granted, each as long as it may be: with all inline data, or all SGEs. The
 * device sees none of them before the last one is there, so that a ring that is too short for them loses the first.
 */
#include <errno.h>
#include <string.h>

#include "judge/watchdog.h"
#include "suites/kit.h"

#define DEPTH    8
#define MOST_LEN 512 /* of a request, if more inline data is granted than was asked for */
#define MOST_SGE 8
#define PIECE    8
#define MOST_HDR 66

struct longest {
	struct ibv_send_wr wr[DEPTH];
	struct ibv_sge sge[DEPTH][MOST_SGE];
	uint8_t *from[DEPTH], *to[DEPTH];
	unsigned int num;
	uint32_t len;
	uint16_t hdr; /* bytes of headers of a segmentation request; 0: another one */
	bool is_inline, atomic;
	uint64_t before[DEPTH]; /* atomic: the words that are added to */
};

static unsigned int at_most(uint32_t granted, unsigned int most)
{
	return granted < most ? granted : most;
}

/* Adds a number of its own to a word of its own. */
static void make_atomic(struct link *l, struct longest *t, unsigned int i)
{
	struct ibv_send_wr *wr = &t->wr[i];

	arena_fill(&l->target, t->to[i], t->len, i + 77);
	memcpy(&t->before[i], t->to[i], sizeof(t->before[i]));
	wr->opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr->wr.atomic.remote_addr = arena_address(&l->target, t->to[i]);
	wr->wr.atomic.compare_add = i + 1;
	wr->wr.atomic.rkey = l->target.mr->rkey;
}

/* WRITEs, each to a place of its own, or SENDs, each to a receive of its own. */
static bool fill(struct kit *k, struct longest *t, unsigned int i)
{
	struct link *l = k->l;
	const unsigned int sges = t->is_inline ? 1 : t->len / PIECE;
	struct ibv_send_wr *wr = &t->wr[i];
	const bool datagram = l->qpt == IBV_QPT_UD;

	t->from[i] = arena_take(&l->local, t->len);
	t->to[i] = datagram ? l->slot[i] + LINK_GRH_LEN : arena_take(&l->target, t->len);
	if (!KIT_MUST(k, t->from[i] && t->to[i], "the memory of the case is too small"))
		return false;
	arena_fill(&l->local, t->from[i], t->len, k->r->seed + i);
	for (unsigned int j = 0; j < sges; j++)
		t->sge[i][j] = (struct ibv_sge){arena_address(&l->local, t->from[i] + (size_t)j * PIECE),
						t->is_inline ? t->len : PIECE, l->local.mr->lkey};
	*wr = kit_wr(i, datagram ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, t->sge[i]);
	wr->num_sge = (int)sges;
	wr->send_flags |= t->is_inline ? IBV_SEND_INLINE : 0;
	wr->next = i + 1 < t->num ? &t->wr[i + 1] : NULL;
	if (datagram) {
		wr->wr.ud.ah = l->ah;
		wr->wr.ud.remote_qpn = l->peer->qp_num;
		wr->wr.ud.remote_qkey = LINK_QKEY;
	} else {
		wr->wr.rdma.remote_addr = arena_address(&l->target, t->to[i]);
		wr->wr.rdma.rkey = l->target.mr->rkey;
	}
	if (t->atomic)
		make_atomic(l, t, i);
	wr->qp_type.xrc.remote_srqn = l->srqn;
	return true;
}

/* A WRITE of UC completes before its data is visible. */
static void settle(struct link *l, const struct longest *t)
{
	struct watchdog limit = watchdog(l->dut->timeout_ms);
	const unsigned int last = t->num - 1;

	do
		link_fetch(l);
	while (!t->atomic && memcmp(t->from[last], t->to[last], t->len) && !watchdog_expired(&limit));
}

static void judge(struct kit *k, struct longest *t)
{
	struct link *l = k->l;
	struct ibv_wc wc;

	for (unsigned int i = 0; i < t->num; i++)
		if (!kit_expect(k, l, l->cq, l->qp, i, IBV_WC_SUCCESS) ||
		    (l->qpt == IBV_QPT_UD && !kit_wait(k, l, l->peer_cq, &wc)))
			return;
	settle(l, t);
	for (unsigned int i = 0; i < t->num && t->atomic; i++) {
		uint64_t got[2];

		memcpy(&got[0], t->from[i], sizeof(got[0]));
		memcpy(&got[1], t->to[i], sizeof(got[1]));
		KIT_CHECK(k, got[0] == t->before[i] && got[1] == t->before[i] + i + 1,
			  "atomic %u: the result or the word is wrong", i);
	}
	for (unsigned int i = 0; i < t->num && KIT_GOOD(k) && !t->atomic; i++)
		judge_bytes(&k->res->verdict, "a request", t->from[i], t->to[i], t->len);
}

/* Segmentation of one segment: whether the device takes such headers does not matter here, only that it sees the request. */
static void judge_tso(struct kit *k, struct longest *t)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < t->num && kit_wait(k, k->l, k->l->cq, &wc); i++)
		KIT_CHECK(k, wc.wr_id == i, "request %u of %u completed as number %u", i, t->num,
			  (unsigned int)wc.wr_id);
}

static void make_tso(struct longest *t)
{
	static uint8_t header[MOST_HDR];

	for (unsigned int i = 0; i < t->num; i++) {
		t->wr[i].opcode = IBV_WR_TSO;
		t->wr[i].tso.hdr = header;
		t->wr[i].tso.hdr_sz = t->hdr;
		t->wr[i].tso.mss = 256;
	}
}

static void list_of(struct kit *k, struct longest *t)
{
	struct ibv_send_wr *bad;
	struct link *l = k->l;
	int rc;

	arena_reset(&l->local);
	arena_reset(&l->target);
	t->num = at_most(l->cap.max_send_wr, DEPTH);
	for (unsigned int i = 0; i < t->num; i++)
		if (!fill(k, t, i))
			return;
	if (t->hdr)
		make_tso(t);
	rc = link_fill_recv(l);
	KIT_CHECK(k, !rc, "posting receives failed with %s", errno_name(rc));
	link_push(l);
	/* headers of nothing: not for the judgement of the wire */
	rc = t->hdr ? ibv_post_send(l->qp, t->wr, &bad) : kit_post(k, l->qp, l->peer, t->wr, NULL);
	KIT_CHECK(k, !rc, "%u requests of %u bytes were refused with %s, as many are granted", t->num, t->len,
		  errno_name(rc));
	if (t->hdr)
		judge_tso(k, t);
	else
		judge(k, t);
}

/* With what was asked for, bytes of inline data or SGEs and headers; or with the inline data that was granted unasked. */
static void longest(struct kit *k, uint32_t bytes, uint32_t sges, uint16_t hdr, bool unasked)
{
	const struct link_opts opts = {.sq_depth = DEPTH, .cq_depth = 4 * DEPTH, .tso_header = hdr};
	struct cell cell = *k->cell;
	struct kit there = {.r = k->r, .cell = &cell, .res = k->res, .l = k->l};
	static struct longest t;

	cell.ask_inline = bytes;
	cell.ask_sge = sges;
	if (!kit_link(&there, API_POST, &opts))
		return;
	t.hdr = hdr;
	t.is_inline = bytes || unasked;
	t.atomic = kit_arg(k, "kind", 0) == 3;
	if (t.is_inline && !k->l->cap.max_inline_data)
		return;
	t.len = t.atomic      ? PIECE
		: t.is_inline ? at_most(k->l->cap.max_inline_data, MOST_LEN)
			      : PIECE * at_most(k->l->cap.max_send_sge, MOST_SGE);
	list_of(k, &t);
}

static void longest_requests(struct kit *k)
{
	/* with headers of 32, 48 and 64 bytes a little more, or as many, as multiples of 64 bytes hold */
	static const uint8_t bytes[] = {12, 44, 61, 76, 108}, sges[] = {1, 2, 3, 5, 7};
	static const uint16_t headers[] = {1, 17, 54, MOST_HDR};
	const int kind = kit_arg(k, "kind", 0);

	for (size_t i = 0; i < sizeof(bytes) && !kind && KIT_GOOD(k); i++)
		longest(k, bytes[i], 1, 0, false);
	for (size_t i = 0; i < sizeof(sges) && kind && kind < 3 && KIT_GOOD(k); i++)
		longest(k, 0, sges[i], 0, kind == 2);
	if (kind == 3)
		longest(k, 0, 1, 0, false);
	for (size_t i = 0; i < 4 * sizeof(sges) && kind == 4 && KIT_GOOD(k); i++)
		longest(k, 0, sges[i / 4], headers[i % 4], false);
}

SCENARIO(longest_requests) = {
	{"longest-inline", SUITE("full"), QPS("RC UD XRC_SEND"), ARGS({"kind", 0}),
	 CLAUSE("ibv_create_qp/DESCRIPTION/max_send_wr"), ALSO("ibv_create_qp/DESCRIPTION/granted"),
	 SAYS("a list of as many requests as were granted, each with all inline data, of five sizes "
	      "from 12 to 108 bytes, is taken, and each is executed with its own bytes")},
	{"longest-sges", ARGS({"kind", 1}),
	 SAYS("a list of as many requests as were granted, each with all SGEs, from 1 to 7, is taken, "
	      "and each is executed with its own bytes")},
	{"longest-unasked", ARGS({"kind", 2}),
	 SAYS("a list of as many requests as were granted, each with all inline data that was granted "
	      "and not asked for, with 1 to 7 SGEs, is taken, and each is executed with its own bytes")},
	{"longest-atomics", QPS("RC XRC_SEND"), ARGS({"kind", 3}),
	 SAYS("a list of as many requests as were granted, each an atomic, is taken, and each is "
	      "executed with its own bytes")},
	{"longest-tso", QPS("UD"), ARGS({"kind", 4}), NEEDS("operations/{qp}/TSO"), ASK("TSO"),
	 SAYS("a list of as many segmentation requests as were granted, with headers from 1 to 66 "
	      "bytes and 1 to 7 SGEs, is taken, and they complete in order")},
	{},
};
