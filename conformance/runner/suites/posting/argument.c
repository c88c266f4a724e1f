/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Requests with an argument that none can have. The pages do not describe them; a device whose DUT file declares that it
 * refuses mistakes must refuse each, between two good requests, and stay usable (erratum MISUSE).
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "suites/kit.h"

#define HEADER 64 /* max_tso_header of the QP */

/* What a mistake may point at. */
struct pieces {
	struct ibv_mw *window[2]; /* of type 1, 2 */
	struct ibv_sge sge[CELL_MAX_SGE];
	uint8_t header[HEADER + 1];
	struct ibv_mw_bind_info bind;
};

static bool pieces_open(struct kit *k, struct pieces *p)
{
	static const enum ibv_mw_type types[] = {IBV_MW_TYPE_1, IBV_MW_TYPE_2};

	memset(p, 0, sizeof(*p));
	for (unsigned int i = 0; i < CELL_MAX_SGE; i++)
		p->sge[i] = (struct ibv_sge){arena_address(&k->l->local, k->l->local.base), 1,
					     k->l->local.mr->lkey};
	for (int i = 0; i < 2; i++) {
		p->window[i] = ibv_alloc_mw(k->r->dut.requester.pd, types[i]);
		if (!p->window[i])
			KIT_FAULT(k, "ibv_alloc_mw of type %d failed with %s", i + 1, errno_name(errno));
	}
	return KIT_GOOD(k);
}

/* ---- ibv_post_send() ---- */

static void opcode_next(struct ibv_send_wr *wr, struct pieces *p)
{
	wr->opcode = IBV_WR_ATOMIC_WRITE + 1;
}

static void opcode_driver(struct ibv_send_wr *wr, struct pieces *p)
{
	wr->opcode = IBV_WR_DRIVER1;
}

static void opcode_most(struct ibv_send_wr *wr, struct pieces *p)
{
	wr->opcode = INT_MAX;
}

static void opcode_negative(struct ibv_send_wr *wr, struct pieces *p)
{
	wr->opcode = -1;
}

static void sges_negative(struct ibv_send_wr *wr, struct pieces *p)
{
	wr->num_sge = -1;
}

static void inline_negative(struct ibv_send_wr *wr, struct pieces *p)
{
	wr->num_sge = -1;
	wr->send_flags |= IBV_SEND_INLINE;
}

/* More pieces of inline data than the QP has SGEs, and few bytes. */
static void inline_pieces(struct ibv_send_wr *wr, struct pieces *p)
{
	wr->sg_list = p->sge;
	wr->num_sge = CELL_MAX_SGE;
	wr->send_flags |= IBV_SEND_INLINE;
}

/* The sum of the lengths is 8 in 32 bits. */
static void inline_sum(struct ibv_send_wr *wr, struct pieces *p)
{
	inline_pieces(wr, p);
	wr->num_sge = 3;
	p->sge[0].length = p->sge[1].length = 0x60000000;
	p->sge[2].length = 0x40000008;
}

static void no_address(struct ibv_send_wr *wr, struct pieces *p)
{
	wr->wr.ud.ah = NULL;
}

static void tso(struct ibv_send_wr *wr, struct pieces *p, uint16_t header, uint16_t mss)
{
	wr->opcode = IBV_WR_TSO;
	wr->tso.hdr = p->header;
	wr->tso.hdr_sz = header;
	wr->tso.mss = mss;
}

static void tso_no_mss(struct ibv_send_wr *wr, struct pieces *p)
{
	tso(wr, p, HEADER, 0);
}

static void tso_no_header(struct ibv_send_wr *wr, struct pieces *p)
{
	tso(wr, p, 0, 100);
}

static void tso_header(struct ibv_send_wr *wr, struct pieces *p)
{
	tso(wr, p, HEADER + 1, 100);
}

static void bind(struct ibv_send_wr *wr, struct pieces *p, struct ibv_mw *window, struct ibv_mr *mr)
{
	uint64_t addr = wr->sg_list->addr;

	wr->opcode = IBV_WR_BIND_MW;
	wr->num_sge = 0;
	wr->bind_mw.mw = window;
	wr->bind_mw.rkey = p->window[1]->rkey + 1;
	wr->bind_mw.bind_info =
		(struct ibv_mw_bind_info){.mr = mr, .addr = addr, .length = 1, .mw_access_flags = 0};
}

static void bind_nothing(struct ibv_send_wr *wr, struct pieces *p)
{
	bind(wr, p, NULL, NULL);
}

static void bind_no_region(struct ibv_send_wr *wr, struct pieces *p)
{
	bind(wr, p, p->window[1], NULL);
}

static void bind_type_1(struct ibv_send_wr *wr, struct pieces *p)
{
	bind(wr, p, p->window[0], NULL);
	wr->bind_mw.bind_info.length = 0; /* which a window of type 2 could be */
}

struct list_mistake {
	const char *what;
	void (*make)(struct ibv_send_wr *wr, struct pieces *p);
};

static const struct list_mistake of_all[] = {
	{"the opcode behind the last", opcode_next},  {"the opcode of drivers", opcode_driver},
	{"the greatest opcode", opcode_most},         {"a negative opcode", opcode_negative},
	{"a negative number of SGEs", sges_negative}, {"a negative number of inline pieces", inline_negative},
	{"too many inline pieces", inline_pieces},    {NULL, NULL},
};
static const struct list_mistake of_sums[] = {{"more than 4 GiB of inline data", inline_sum}, {NULL, NULL}};
static const struct list_mistake of_connected[] = {
	{"a bind of nothing", bind_nothing},
	{"a bind of bytes of no region", bind_no_region},
	{"a bind of a window of type 1", bind_type_1},
	{NULL, NULL},
};
static const struct list_mistake of_datagrams[] = {
	{"no address handle", no_address},
	{"TSO with an mss of 0", tso_no_mss},
	{"TSO without a header", tso_no_header},
	{"TSO with a header of a byte too much", tso_header},
	{NULL, NULL},
};

/* Of three requests the second is wrong: the first one is executed, and nothing else. */
static void refuse_list(struct kit *k, struct pieces *p, const struct list_mistake *m)
{
	static struct plan plans[CELL_MAX_WR];
	struct expect requester = {0}, responder = {0};
	struct ibv_send_wr wr[CELL_MAX_WR];
	int rc, bad;

	if (!kit_plan(k, plans))
		return;
	kit_list(k, plans, 3, wr);
	m->make(&wr[1], p);
	rc = kit_post(k, k->l->qp, k->l->peer, wr, &bad);
	k->res->err = rc;
	KIT_CHECK(k, rc, "a request with %s was taken", m->what);
	judge_errno(&k->res->verdict, rc, k->r->dut.refusal.invalid);
	KIT_CHECK(k, bad == 1, "bad_wr names request %d, that with %s is 1", bad, m->what);
	plan_execute(&plans[0], k->l, &requester, &responder);
	collect(k->l, &requester, &responder, k->res);
	if (KIT_GOOD(k))
		collect_received(k->l, 0, k->res);
	if (KIT_GOOD(k))
		kit_alive(k, k->l);
	collect_extra(k->l, k->res);
	if (KIT_GOOD(k))
		collect_memory(k->l, 0, k->res);
}

static void refuse_lists(struct kit *k, struct pieces *p, const struct list_mistake *m)
{
	for (; m->what && KIT_GOOD(k); m++)
		refuse_list(k, p, m);
}

static void argument_list(struct kit *k)
{
	const bool sum = kit_arg(k, "sum", 0);
	const struct link_opts opts = {.tso_header = sum ? 0 : HEADER};
	struct pieces p = {0};

	if (!kit_link(k, API_POST, &opts))
		return;
	if (pieces_open(k, &p) && sum) {
		refuse_lists(k, &p, of_sums);
	} else if (KIT_GOOD(k)) {
		refuse_lists(k, &p, of_all);
		refuse_lists(k, &p, k->l->qpt == IBV_QPT_UD ? of_datagrams : of_connected);
	}
}

SCENARIO(argument_list) = {
	{"arguments", SUITE("misuse"), QPS("RC UC"), POSTS("3 x SEND 64"),
	 CLAUSE("ibv_post_send/RETURN-VALUE"), LEVEL("SHOULD"), ERRATA("MISUSE"),
	 NEEDS("misuse memory_windows/1 memory_windows/2 operations/{qp}/SEND operations/{qp}/BIND_MW"),
	 ASK("BIND_MW"),
	 SAYS("of three requests the second is refused, whatever is wrong with it, and the first is "
	      "executed")},
	{"arguments", QPS("UD"),
	 NEEDS("misuse memory_windows/1 memory_windows/2 operations/{qp}/SEND operations/{qp}/TSO"),
	 ASK("TSO")},
	{"inline-sum", QPS("RC"), ARGS({"sum", 1}), NEEDS(""), ASK(""),
	 SAYS("of three requests the second is refused, whose inline lengths add up to 8 in 32 bits")},
	{},
};

/* ---- Regions ---- */

static void wr_flush_nothing(struct link *l, struct pieces *p)
{
	ibv_wr_flush(l->qpx, l->target.mr->rkey, (uintptr_t)l->target.base, 8, 0, IBV_FLUSH_RANGE);
}

static void wr_flush_unknown(struct link *l, struct pieces *p)
{
	ibv_wr_flush(l->qpx, l->target.mr->rkey, (uintptr_t)l->target.base, 8, IBV_FLUSH_GLOBAL | 4,
		     IBV_FLUSH_RANGE);
}

static void wr_flush_level(struct link *l, struct pieces *p)
{
	ibv_wr_flush(l->qpx, l->target.mr->rkey, (uintptr_t)l->target.base, 8, IBV_FLUSH_GLOBAL,
		     IBV_FLUSH_MR + 1);
}

static void wr_no_value(struct link *l, struct pieces *p)
{
	ibv_wr_atomic_write(l->qpx, l->target.mr->rkey, (uintptr_t)l->target.base, NULL);
}

static void wr_bind(struct link *l, struct pieces *p, struct ibv_mw *window)
{
	ibv_wr_bind_mw(l->qpx, window, p->window[1]->rkey + 1, &p->bind);
}

static void wr_bind_nothing(struct link *l, struct pieces *p)
{
	p->bind = (struct ibv_mw_bind_info){.length = 0};
	wr_bind(l, p, NULL);
}

static void wr_bind_no_info(struct link *l, struct pieces *p)
{
	ibv_wr_bind_mw(l->qpx, p->window[1], p->window[1]->rkey + 1, NULL);
}

static void wr_bind_no_region(struct link *l, struct pieces *p)
{
	p->bind = (struct ibv_mw_bind_info){.addr = (uintptr_t)l->local.base, .length = 1};
	wr_bind(l, p, p->window[1]);
}

static void wr_bind_type_1(struct link *l, struct pieces *p)
{
	p->bind = (struct ibv_mw_bind_info){.length = 0};
	wr_bind(l, p, p->window[0]);
}

static void wr_tso(struct link *l, struct pieces *p, uint16_t header, uint16_t mss)
{
	ibv_wr_send_tso(l->qpx, p->header, header, mss);
	ibv_wr_set_ud_addr(l->qpx, l->ah, l->peer->qp_num, LINK_QKEY);
	ibv_wr_set_sge(l->qpx, l->local.mr->lkey, (uintptr_t)l->local.base, 16);
}

static void wr_tso_no_mss(struct link *l, struct pieces *p)
{
	wr_tso(l, p, HEADER, 0);
}

static void wr_tso_no_header(struct link *l, struct pieces *p)
{
	wr_tso(l, p, 0, 100);
}

static void wr_tso_header(struct link *l, struct pieces *p)
{
	wr_tso(l, p, HEADER + 1, 100);
}

static void wr_no_address(struct link *l, struct pieces *p)
{
	ibv_wr_send(l->qpx);
	ibv_wr_set_ud_addr(l->qpx, NULL, l->peer->qp_num, LINK_QKEY);
	ibv_wr_set_sge(l->qpx, l->local.mr->lkey, (uintptr_t)l->local.base, 16);
}

struct region_mistake {
	const char *what;
	bool first; /* before any request */
	void (*make)(struct link *l, struct pieces *p);
};

static void wr_data(struct link *l, struct pieces *p)
{
	ibv_wr_set_sge(l->qpx, l->local.mr->lkey, (uintptr_t)l->local.base, 16);
}

static void wr_inline(struct link *l, struct pieces *p)
{
	ibv_wr_set_inline_data(l->qpx, p->header, 16);
}

static void wr_address(struct link *l, struct pieces *p)
{
	ibv_wr_set_ud_addr(l->qpx, l->ah, l->peer->qp_num, LINK_QKEY);
}

static const struct region_mistake in_connected[] = {
	{"data before its request", true, wr_data},
	{"inline data before its request", true, wr_inline},
	{"an address before a request", true, wr_address},
	{"a FLUSH of no type", false, wr_flush_nothing},
	{"a FLUSH of an unknown type", false, wr_flush_unknown},
	{"a FLUSH of an unknown level", false, wr_flush_level},
	{"an ATOMIC_WRITE of NULL", false, wr_no_value},
	{"a bind of nothing", false, wr_bind_nothing},
	{"a bind without its description", false, wr_bind_no_info},
	{"a bind of bytes of no region", false, wr_bind_no_region},
	{"a bind of a window of type 1", false, wr_bind_type_1},
	{NULL, false, NULL},
};
static const struct region_mistake in_datagrams[] = {
	{"data before its request", true, wr_data},
	{"an address before its request", true, wr_address},
	{"no address handle", false, wr_no_address},
	{"TSO with an mss of 0", false, wr_tso_no_mss},
	{"TSO without a header", false, wr_tso_no_header},
	{"TSO with a header of a byte too much", false, wr_tso_header},
	{NULL, false, NULL},
};

static void good_send(struct link *l, const struct plan *plan)
{
	ibv_wr_send(l->qpx);
	if (l->qpt == IBV_QPT_UD)
		ibv_wr_set_ud_addr(l->qpx, l->ah, l->peer->qp_num, LINK_QKEY);
	ibv_wr_set_sge(l->qpx, plan->sge[0].lkey, plan->sge[0].addr, plan->sge[0].length);
}

/* Nothing of a region with the mistake between two requests is executed. */
static void refuse_region(struct kit *k, struct pieces *p, const struct region_mistake *m)
{
	static struct plan plans[CELL_MAX_WR];
	struct link *l = k->l;
	int ret;

	if (!kit_plan(k, plans))
		return;
	log_call(&k->res->log, "/* a region of a SEND, a request with %s, and a SEND */", m->what);
	ibv_wr_start(l->qpx);
	l->qpx->wr_id = 0xbad;
	l->qpx->wr_flags = IBV_SEND_SIGNALED;
	if (m->first)
		m->make(l, p);
	good_send(l, &plans[0]);
	if (!m->first)
		m->make(l, p);
	good_send(l, &plans[0]);
	ret = ibv_wr_complete(l->qpx);
	k->res->err = ret;
	KIT_CHECK(k, ret, "ibv_wr_complete took a region with %s", m->what);
	judge_errno(&k->res->verdict, ret, k->r->dut.refusal.invalid);
	kit_alive(k, l);
	collect_extra(l, k->res);
	if (KIT_GOOD(k))
		collect_memory(l, 0, k->res);
}

/* ibv_wr_complete() and ibv_wr_abort() outside of a region. */
static void no_region(struct kit *k)
{
	int ret = ibv_wr_complete(k->l->qpx);

	log_call(&k->res->log, "ibv_wr_complete(qpx), ibv_wr_abort(qpx) /* without ibv_wr_start */");
	k->res->err = ret;
	KIT_CHECK(k, ret, "ibv_wr_complete without ibv_wr_start returned 0");
	judge_errno(&k->res->verdict, ret, k->r->dut.refusal.invalid);
	ibv_wr_abort(k->l->qpx);
	kit_alive(k, k->l);
}

static void argument_region(struct kit *k)
{
	const struct link_opts opts = {.tso_header = HEADER};
	const struct region_mistake *m;
	struct pieces p = {0};

	if (!kit_link(k, API_WR, &opts))
		return;
	m = k->l->qpt == IBV_QPT_UD ? in_datagrams : in_connected;
	if (pieces_open(k, &p))
		for (; m->what && KIT_GOOD(k); m++)
			refuse_region(k, &p, m);
	if (KIT_GOOD(k))
		no_region(k);
}

SCENARIO(argument_region) = {
	{"arguments-wr", SUITE("misuse"), QPS("RC"), POSTS("SEND 64"),
	 CLAUSE("ibv_wr_post/RETURN-VALUE/failure"), LEVEL("SHOULD"), ERRATA("MISUSE"),
	 NEEDS("misuse memory_windows/1 memory_windows/2 operations/{qp}/SEND operations/{qp}/FLUSH "
	       "operations/{qp}/ATOMIC_WRITE operations/{qp}/BIND_MW"),
	 ASK("FLUSH ATOMIC_WRITE BIND_MW"),
	 SAYS("a region is refused as a whole, whatever is wrong with one of its requests")},
	{"arguments-wr", QPS("UD"),
	 NEEDS("misuse memory_windows/1 memory_windows/2 operations/{qp}/SEND operations/{qp}/TSO"),
	 ASK("TSO")},
	{},
};
