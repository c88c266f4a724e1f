/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Lists and regions whose requests differ in everything that they name. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "suites/kit.h"

#define LEAST_FRAME 60 /* a shorter one is padded */

/* A memory region of exactly the size of a buffer, with its own keys. */
static struct ibv_mr *region_of(struct kit *k, struct ibv_pd *pd, void *at, size_t len)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			   (k->l->qpt == IBV_QPT_UC ? 0 : IBV_ACCESS_REMOTE_ATOMIC);
	struct ibv_mr *mr = ibv_reg_mr(pd, at, len, access);

	return KIT_MUST(k, mr, "ibv_reg_mr of %zu bytes failed with %s", len, errno_name(errno));
}

/* Numbers whose every byte differs between requests. */
static uint64_t scattered(unsigned int i)
{
	return 0x9e3779b97f4a7c15u * (i + 1);
}

static void own_operands(struct kit *k, struct plan *p)
{
	uint64_t old = scattered(p->index + 0x100);

	p->wr_id = scattered(p->index);
	p->imm = htobe32((uint32_t)scattered(p->index + 0x200));
	p->operand = scattered(p->index + 0x300);
	p->compare = old;
	if (p->wr->effect != EFFECT_CMP_SWP && p->wr->effect != EFFECT_FETCH_ADD)
		return;
	memcpy(p->target, &old, sizeof(old));
	memcpy(arena_shadow(&k->l->target, p->target), &old, sizeof(old));
}

/* Each SGE and each remote address gets a region of its own. An empty SGE needs no valid key. */
static bool own_regions(struct kit *k, struct plan *p)
{
	struct link *l = k->l;
	struct ibv_mr *mr;

	for (unsigned int i = 0; i < p->num_sge && !plan_is_inline(p); i++) {
		if (!p->sge[i].length)
			continue;
		mr = region_of(k, l->qp->pd, (void *)(uintptr_t)p->sge[i].addr, p->sge[i].length);
		if (!mr)
			return false;
		p->sge[i].lkey = mr->lkey;
	}
	mr = region_of(k, k->r->dut.responder.pd, p->target, p->total < 8 ? 8 : p->total);
	if (mr)
		p->rkey = mr->rkey;
	return mr;
}

static void post_and_collect(struct kit *k, struct plan *plans, unsigned int num, bool wr)
{
	struct expect requester = {0}, responder = {0};
	struct posted posted = wr ? post_wr(k->l, plans, num, false, &k->res->log)
				  : post_list(k->l, plans, num, &k->res->log);

	KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
	for (unsigned int i = 0; i < num; i++)
		plan_execute(&plans[i], k->l, &requester, &responder);
	collect(k->l, &requester, &responder, k->res);
}

static void differ(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	const struct link_opts opts = {.cq_ex = kit_arg(k, "ex", 0)};
	unsigned int num = k->cell->num_wr;
	bool good;

	if (!kit_link(k, kit_arg(k, "wr", 0) ? API_WR : API_POST, &opts) || !kit_plan(k, plans))
		return;
	good = true;
	for (unsigned int i = 0; i < num && good; i++) {
		own_operands(k, &plans[i]);
		plans[i].data_first = i & 1;
		plans[i].late = i & 2;
		good = own_regions(k, &plans[i]);
	}
	if (good)
		post_and_collect(k, plans, num, kit_arg(k, "wr", 0));
	collect_extra(k->l, k->res);
	if (KIT_GOOD(k))
		collect_memory(k->l, 0, k->res);
}

SCENARIO(differ) = {
	{"list", SUITE("differ"), QPS("RC XRC_SEND"),
	 POSTS("SEND 0+200+57, RDMA_WRITE 64+0+1100 unsignaled, RDMA_READ 33+90+0, SEND_WITH_IMM inline "
	       "0+40+19, ATOMIC_CMP_AND_SWP, RDMA_WRITE_WITH_IMM inline 30+0+7, SEND inline 11+22+0 "
	       "unsignaled, RDMA_READ 0+1+1300+0, ATOMIC_FETCH_AND_ADD, RDMA_WRITE, SEND_WITH_IMM "
	       "1+2+3, ATOMIC_CMP_AND_SWP unsignaled, RDMA_WRITE_WITH_IMM 255+257, SEND 3+0+0+704"),
	 CLAUSE("ibv_post_send/DESCRIPTION/state"), ERRATA("COMPLETION-ORDER"), ASK("posts"),
	 SAYS("requests that differ in wr_id, length, immediate data, operands, and the regions and "
	      "keys of each SGE and remote address, with empty SGEs at the begin, in the middle and at "
	      "the end, are executed as posted")},
	{"region", ARGS({"wr", 1}), FORMS({""}, {"-ex", {{"ex", 1}}}), CLAUSE("ibv_wr_post/USAGE/multiple")},
	{"list", QPS("UC"),
	 POSTS("SEND 0+200+57, RDMA_WRITE 64+0+1100 unsignaled, SEND_WITH_IMM inline 0+40+19, "
	       "RDMA_WRITE_WITH_IMM inline 30+0+7, SEND inline 11+22+0 unsignaled, RDMA_WRITE, "
	       "SEND_WITH_IMM 1+2+3, RDMA_WRITE_WITH_IMM 255+257, SEND 3+0+0+704"),
	 CLAUSE("ibv_post_send/DESCRIPTION/state")},
	{"region", ARGS({"wr", 1}), FORMS({""}, {"-ex", {{"ex", 1}}}), CLAUSE("ibv_wr_post/USAGE/multiple")},
	{"list", QPS("UD"),
	 POSTS("SEND 0+200+57, SEND_WITH_IMM inline 0+40+19, SEND inline 11+22+0 unsignaled, "
	       "SEND_WITH_IMM 1+2+3, SEND 3+0+0+704"),
	 CLAUSE("ibv_post_send/DESCRIPTION/state")},
	{"region", ARGS({"wr", 1}), FORMS({""}, {"-ex", {{"ex", 1}}}), CLAUSE("ibv_wr_post/USAGE/multiple")},
	{},
};

/* ---- Regions: empty, of one and several requests, aborted, failed, complete ---- */

/* One step of `regions`: how many of the cell's requests, and what becomes of them. */
struct step {
	unsigned int num;
	int bad; /* index of a request with more SGEs than granted; -1: none */
	bool abort, list;
};

static const struct step steps[] = {
	{0, -1, false, false}, {0, -1, true, false},  {1, -1, true, false},  {3, -1, true, false},
	{1, -1, false, false}, {1, 0, false, false},  {2, 1, false, false},  {3, 0, false, false},
	{3, 1, false, false},  {3, 2, true, false},   {1, -1, false, true},  {2, 0, false, true},
	{3, 2, false, true},   {3, -1, false, false}, {2, -1, true, false},  {0, -1, false, false},
	{3, -1, false, true},  {2, 1, false, false},  {2, -1, false, false},
};

/* More SGEs than the QP was granted, all alike. False: the runner cannot describe so many. */
static bool spoil(struct link *l, struct plan *p)
{
	static struct cell_wr wr;
	unsigned int num = l->cap.max_send_sge + 1;

	if (num > CELL_MAX_SGE)
		return false;
	wr = *p->wr;
	wr.data = DATA_SGE_LIST;
	p->wr = &wr;
	for (unsigned int i = 0; i < num; i++)
		p->sge[i] = p->sge[0];
	p->num_sge = num;
	return true;
}

static void one_step(struct kit *k, const struct step *s, struct plan *plans)
{
	struct expect requester = {0}, responder = {0};
	unsigned int executed = s->abort || s->bad >= 0 ? 0 : s->num;
	struct posted posted;

	if (s->list)
		posted = post_list(k->l, plans, s->num, &k->res->log);
	else
		posted = post_wr(k->l, plans, s->num, s->abort, &k->res->log);
	k->res->err = posted.rc;
	if (s->bad < 0 || s->abort) {
		KIT_CHECK(k, !posted.rc, "a posting of %u requests was refused with %s", s->num,
			  errno_name(posted.rc));
	} else {
		KIT_CHECK(k, posted.rc, "a posting whose request %d has too many SGEs was taken", s->bad);
		judge_errno(&k->res->verdict, posted.rc, k->r->dut.refusal.invalid);
		if (s->list) {
			KIT_CHECK(k, posted.bad == s->bad, "bad_wr names request %d, expected %d", posted.bad,
				  s->bad);
			executed = s->bad;
		}
	}
	for (unsigned int i = 0; i < executed; i++)
		plan_execute(&plans[i], k->l, &requester, &responder);
	collect(k->l, &requester, &responder, k->res);
}

/* Regions and lists of all sizes, one after the other, on one QP: none has an effect on the next. */
static void regions(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];

	if (!kit_link(k, API_WR, NULL))
		return;
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(steps[0]) && KIT_GOOD(k); i++) {
		if (!kit_plan(k, plans))
			return;
		for (unsigned int j = 0; j < k->cell->num_wr; j++) {
			plans[j].wr_id = (uint64_t)i << 32 | (j + 1);
			plans[j].data_first = (i + j) & 1;
			plans[j].late = j & 1;
		}
		if (steps[i].bad >= 0 && !spoil(k->l, &plans[steps[i].bad]))
			continue;
		one_step(k, &steps[i], plans);
		if (KIT_GOOD(k))
			collect_memory(k->l, 0, k->res);
	}
	collect_extra(k->l, k->res);
}

SCENARIO(regions) = {
	{"regions", SUITE("differ"), QPS("RC UC UD XRC_SEND"),
	 POSTS("SEND 40+60, SEND_WITH_IMM 100, SEND inline 70"), CLAUSE("ibv_wr_post/RETURN-VALUE/failure"),
	 ERRATA("POST-ERRNO"), ASK("posts"),
	 SAYS("empty, aborted, failed and complete regions of one and several requests, and lists, "
	      "follow each other: each is executed completely or not at all, and has no effect on the "
	      "next")},
	{},
};

/* ---- Requests of all sizes, at every place of the ring ---- */

/* The data of the turn's request: SGEs and inline buffers of changing number and length, empty ones among them. */
static void shape(const struct kit *k, struct cell_wr *wr, unsigned int turn)
{
	uint32_t most = k->l->cap.max_inline_data;
	unsigned int sges = k->l->cap.max_send_sge < 5 ? k->l->cap.max_send_sge : 5;
	bool in = turn % 3 == 1 && most && wr->effect != EFFECT_TSO && wr->effect != EFFECT_READ;

	if (wr->effect == EFFECT_CMP_SWP || wr->effect == EFFECT_FETCH_ADD || wr->data == DATA_NONE)
		return;
	wr->num_len = 1 + turn % sges;
	wr->data = in ? DATA_INLINE_LIST : DATA_SGE_LIST;
	for (unsigned int i = 0; i < wr->num_len; i++)
		wr->len[i] = in ? (turn * 37 + i * 11) % (most / wr->num_len + 1) : 23 + (turn * 7 + i) % 90;
	if (wr->num_len > 2)
		wr->len[turn % wr->num_len] = 0;
	if (k->l->qpt != IBV_QPT_RAW_PACKET)
		return;
	wr->len[0] = LEAST_FRAME;
	if (in) {
		wr->num_len = 1;
		wr->len[0] += most > LEAST_FRAME ? turn % (most - LEAST_FRAME) : 0;
	}
}

static void ring(struct kit *k)
{
	static struct plan plans[3];
	static struct cell_wr wrs[3];
	const struct link_opts opts = {.sq_depth = 4};
	unsigned int turns = kit_arg(k, "turns", 1), turn = 0;

	if (!kit_link(k, kit_arg(k, "wr", 0) ? API_WR : API_POST, &opts))
		return;
	for (unsigned int batch = 0; turn < turns && KIT_GOOD(k); batch++) {
		/* mostly alone: a single request may reach the device in another way than a list */
		unsigned int num = batch % 4 ? 1 : 1 + batch % 3, first_use = k->l->next_use;
		int ret = 0;

		for (unsigned int i = 0; i < num && !ret; i++, turn++) {
			wrs[i] = k->cell->wr[turn % k->cell->num_wr];
			shape(k, &wrs[i], turn);
			ret = plan_wr(&plans[i], k->l, &wrs[i], i, k->r->seed + turn);
			own_operands(k, &plans[i]);
		}
		if (!ret)
			ret = link_fill_recv(k->l);
		KIT_CHECK(k, !ret, "buffers of the case: %s", errno_name(ret));
		post_and_collect(k, plans, num, kit_arg(k, "wr", 0));
		if (KIT_GOOD(k))
			collect_memory(k->l, first_use, k->res);
	}
	/* The completion of a UC WRITE says nothing of its arrival; that of a later SEND at the responder does. */
	if (KIT_GOOD(k) && k->l->qpt == IBV_QPT_UC) {
		kit_alive(k, k->l);
		if (KIT_GOOD(k))
			collect_memory(k->l, k->l->next_use, k->res);
	}
	collect_extra(k->l, k->res);
}

SCENARIO(ring) = {
	{"ring-sizes-post", SUITE("differ"), QPS("RC XRC_SEND"),
	 POSTS("SEND 64, RDMA_WRITE 64, RDMA_READ 64, SEND_WITH_IMM 64, ATOMIC_CMP_AND_SWP"),
	 ARGS({"turns", 48}), CLAUSE("ibv_post_send/DESCRIPTION/state"), ASK("posts"),
	 SAYS("requests of all sizes, more than the queue holds at once, are executed as posted")},
	{"ring-sizes-wr", ARGS({"turns", 48}, {"wr", 1}), CLAUSE("ibv_wr_post/USAGE/multiple")},
	{"ring-sizes-post", QPS("UC"), POSTS("SEND 64, RDMA_WRITE 64, SEND_WITH_IMM 64"), ARGS({"turns", 48}),
	 CLAUSE("ibv_post_send/DESCRIPTION/state")},
	{"ring-sizes-wr", ARGS({"turns", 48}, {"wr", 1}), CLAUSE("ibv_wr_post/USAGE/multiple")},
	{"ring-sizes-post", QPS("UD"), POSTS("SEND 64, SEND_WITH_IMM 64"), ARGS({"turns", 48}),
	 CLAUSE("ibv_post_send/DESCRIPTION/state")},
	{"ring-sizes-wr", ARGS({"turns", 48}, {"wr", 1}), CLAUSE("ibv_wr_post/USAGE/multiple")},
	{"ring-headers-post", QPS("UD RAW_PACKET"), POSTS("SEND 64, TSO 600"), ARGS({"turns", 48}),
	 CLAUSE("ibv_post_send/DESCRIPTION/state")},
	{"ring-headers-wr", ARGS({"turns", 48}, {"wr", 1}), CLAUSE("ibv_wr_post/USAGE/multiple")},
	{"ring-sizes-post", QPS("RAW_PACKET"), POSTS("SEND 64"), ARGS({"turns", 48}),
	 CLAUSE("ibv_post_send/DESCRIPTION/state"), ASK("")},
	{"ring-sizes-wr", ARGS({"turns", 48}, {"wr", 1}), CLAUSE("ibv_wr_post/USAGE/multiple")},
	{},
};
