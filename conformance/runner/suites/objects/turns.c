/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Objects that come and go, also where the device uses a number again: a key is valid from its creation to its end, and
 * there are as many objects as the device says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "suites/objects/own.h"

#define HELD   12 /* regions at a time */
#define TURNS  240
#define PAGE   4096u
#define BYTES  96u
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

struct turns {
	struct kit *k;
	struct own own;
	uint8_t *mem;
	struct ibv_mr *mr[HELD];
	struct ibv_mw *mw[HELD];
	uint32_t ended; /* a key that is not valid any more */
	bool windows;
};

static bool set_up(struct turns *t)
{
	t->windows = kit_arg(t->k, "windows", 0);
	t->own.to_itself = true;
	t->mem = end_alloc(t->k->r->dut.requester.pd, HELD * (size_t)PAGE);
	if (!KIT_MUST(t->k, t->mem, "no memory"))
		return false;
	if (!own_create(t->k, &t->own, IBV_QPT_RC) || !own_reach(t->k, &t->own, IBV_QPS_RTS))
		return false;
	return true;
}

static void end(struct turns *t, unsigned int i)
{
	int ret = t->mr[i] ? ibv_dereg_mr(t->mr[i]) : 0;

	if (!ret && t->mw[i])
		ret = ibv_dealloc_mw(t->mw[i]);
	if (ret)
		KIT_FAULT(t->k, "the end of region or window %u failed with %s", i, errno_name(ret));
	t->mr[i] = NULL;
	t->mw[i] = NULL;
}

/* No two keys that are valid at a time are equal. */
static bool distinct(struct turns *t)
{
	uint32_t keys[2 * HELD];
	unsigned int num = 0;

	for (unsigned int i = 0; i < HELD; i++) {
		if (t->mr[i])
			keys[num++] = t->mr[i]->rkey;
		if (t->mw[i])
			keys[num++] = t->mw[i]->rkey;
	}
	for (unsigned int i = 0; i < num; i++)
		for (unsigned int j = 0; j < i; j++)
			if (!kit_holds(t->k, keys[i] != keys[j])) {
				KIT_FAULT(t->k, "two of %u keys are 0x%x", num, keys[i]);
				return false;
			}
	return true;
}

/* A WRITE from one region to another one. */
static bool carry(struct turns *t, unsigned int turn, unsigned int from, unsigned int to)
{
	uint8_t *at = t->mem + (size_t)from * PAGE, *into = t->mem + (size_t)to * PAGE + PAGE - BYTES;
	struct ibv_sge sge = {(uintptr_t)at, BYTES, t->mr[from]->lkey};
	struct ibv_send_wr wr = kit_wr(turn, IBV_WR_RDMA_WRITE, &sge), *bad;

	memset(at, (int)turn + 1, BYTES);
	wr.wr.rdma.remote_addr = (uintptr_t)into;
	wr.wr.rdma.rkey = t->mr[to]->rkey;
	if (ibv_post_send(t->own.qp, &wr, &bad)) {
		KIT_FAULT(t->k, "posting was refused");
		return false;
	}
	if (!own_expect(t->k, &t->own, t->own.send_cq, turn, IBV_WC_SUCCESS))
		return false;
	judge_bytes(&t->k->res->verdict, "what was written", at, into, BYTES);
	return KIT_GOOD(t->k);
}

static bool begin(struct turns *t, unsigned int i)
{
	struct ibv_pd *pd = t->k->r->dut.requester.pd;

	t->mr[i] = ibv_reg_mr(pd, t->mem + (size_t)i * PAGE, PAGE, ACCESS);
	t->mw[i] = t->windows && t->mr[i] ? ibv_alloc_mw(pd, IBV_MW_TYPE_2) : NULL;
	if (!t->mr[i] || (t->windows && !t->mw[i]))
		KIT_FAULT(t->k, "a region or a window was refused with %s", errno_name(errno));
	return KIT_GOOD(t->k);
}

/* Another one than the oldest ends first, so that numbers come back in another order than they were given out. */
static bool turn(struct turns *t, unsigned int n)
{
	const unsigned int i = n * 7 % HELD, to = (i + 5) % HELD;

	if (t->mr[i])
		t->ended = t->mr[i]->rkey;
	end(t, i);
	return KIT_GOOD(t->k) && begin(t, i) && distinct(t) && (!t->mr[to] || carry(t, n, i, to));
}

/* A WRITE with a key that has ended. The QP is its own peer, whose failure may come first. */
static void use_ended(struct turns *t)
{
	struct ibv_sge sge = {(uintptr_t)t->mem, 8, t->mr[0]->lkey};
	struct ibv_send_wr wr = kit_wr(TURNS, IBV_WR_RDMA_WRITE, &sge), *bad;
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = (uintptr_t)t->mem + 64;
	wr.wr.rdma.rkey = t->ended;
	memset(t->mem, 0x5a, 128);
	memset(t->mem, 0xa5, 8);
	KIT_CHECK(t->k, !ibv_post_send(t->own.qp, &wr, &bad), "posting was refused");
	if (!own_wait(t->k, &t->own, t->own.send_cq, &wc))
		return;
	KIT_CHECK(t->k, wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_WR_FLUSH_ERR,
		  "a WRITE with the key of a region that has ended: status %s",
		  value_name(status_names, wc.status));
	KIT_CHECK(t->k, t->mem[64] == 0x5a, "the key of a region that has ended gives access");
}

static void region_turns(struct kit *k)
{
	struct turns t = {.k = k};

	if (!set_up(&t))
		return;
	for (unsigned int n = 0; n < TURNS && KIT_GOOD(k); n++)
		turn(&t, n);
	if (KIT_GOOD(k))
		use_ended(&t);
	own_destroy(&t.own);
	for (unsigned int i = 0; i < HELD; i++)
		end(&t, i);
}

SCENARIO(region_turns) = {
	{"regions-turn", SUITE("objects"), QPS("RC"), CLAUSE("ibv_reg_mr/RETURN-VALUE/dereg"),
	 ERRATA("KEY-LIFETIME"), NARROW,
	 SAYS("regions that end and begin hundreds of times: no two have a key at a time, each key is "
	      "that of its region, and not valid afterwards")},
	{"windows-turn", ARGS({"windows", 1}), NEEDS("memory_windows/2"),
	 SAYS("windows that end and begin hundreds of times: no two have a key at a time, each key is "
	      "that of its region, and not valid afterwards")},
	{},
};

struct most;

struct kind {
	const char *name;
	void *(*make)(struct most *m);
	int (*end)(void *object);
};

struct most {
	struct kit *k;
	struct ibv_pd *pd;
	struct ibv_cq *cq; /* of the QPs */
	uint8_t *mem;
	const struct kind *kind;
	int max;
	void **object;
	int num, first; /* objects; objects of the first turn */
};

static void *make_mr(struct most *m)
{
	return ibv_reg_mr(m->pd, m->mem, PAGE, ACCESS);
}

static int end_mr(void *object)
{
	return ibv_dereg_mr(object);
}

/* Both types count. */
static void *make_mw(struct most *m)
{
	return ibv_alloc_mw(m->pd, m->num & 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
}

static int end_mw(void *object)
{
	return ibv_dealloc_mw(object);
}

static void *make_cq(struct most *m)
{
	return ibv_create_cq(m->pd->context, 1, NULL, NULL, 0);
}

static int end_cq(void *object)
{
	return ibv_destroy_cq(object);
}

static void *make_srq(struct most *m)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 1, .max_sge = 1}};

	return ibv_create_srq(m->pd, &init);
}

static int end_srq(void *object)
{
	return ibv_destroy_srq(object);
}

static void *make_qp(struct most *m)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = m->cq, .recv_cq = m->cq, .cap = {1, 1, 1, 1, 0}};

	return ibv_create_qp(m->pd, &init);
}

static int end_qp(void *object)
{
	return ibv_destroy_qp(object);
}

static bool fill(struct most *m)
{
	for (m->num = 0; m->num <= m->max; m->num++) {
		errno = 0;
		if (!(m->object[m->num] = m->kind->make(m)))
			break;
	}
	if (!kit_holds(m->k, m->num && m->num <= m->max && errno == ENOMEM))
		KIT_FAULT(m->k, "%d %ss, then %s; the device says %d", m->num, m->kind->name,
			  errno_name(errno), m->max);
	m->first = m->first ? m->first : m->num;
	if (!kit_holds(m->k, m->num == m->first))
		KIT_FAULT(m->k, "%d %ss, then %d when all had ended", m->first, m->kind->name, m->num);
	return KIT_GOOD(m->k);
}

/* In place of one that has ended there is room for one, and no more. */
static bool replace(struct most *m, int at)
{
	if (m->kind->end(m->object[at])) {
		KIT_FAULT(m->k, "a %s cannot be destroyed", m->kind->name);
		return false;
	}
	m->object[at] = m->kind->make(m);
	if (!kit_holds(m->k, m->object[at]))
		KIT_FAULT(m->k, "there is no room for a %s after another one has ended: %s", m->kind->name,
			  errno_name(errno));
	else if (!kit_holds(m->k, !m->kind->make(m)))
		KIT_FAULT(m->k, "one more %s than before", m->kind->name);
	return KIT_GOOD(m->k);
}

static void empty(struct most *m)
{
	for (int i = 0; i < m->num; i++)
		if (m->object[i] && m->kind->end(m->object[i]))
			KIT_FAULT(m->k, "a %s cannot be destroyed", m->kind->name);
}

/* As many as there can be, then a refusal; and again, twice. */
static void most_of(struct kit *k, const struct kind *kind, int max)
{
	const struct end *end = &k->r->dut.requester;
	struct most m = {.k = k, .pd = end->pd, .kind = kind, .max = max, .mem = end_alloc(end->pd, PAGE)};

	m.object = made_zeroed((size_t)max + 1, sizeof(*m.object));
	m.cq = ibv_create_cq(end->pd->context, 1, NULL, NULL, 0);
	for (int turn = 0; m.mem && m.object && m.cq && turn < 3 && KIT_GOOD(k); turn++) {
		if (fill(&m) && replace(&m, 0) && replace(&m, m.num / 2))
			replace(&m, m.num - 1);
		empty(&m);
	}
	if (m.cq)
		ibv_destroy_cq(m.cq);
}

static void most_regions(struct kit *k)
{
	static const struct kind region = {"region", make_mr, end_mr}, window = {"window", make_mw, end_mw};
	const struct ibv_device_attr *attr = &k->r->dut.requester.attr;

	most_of(k, &region, attr->max_mr);
	if (KIT_GOOD(k))
		most_of(k, &window, attr->max_mw);
}

SCENARIO(most_regions) = {
	{"most-regions", SUITE("narrow"), QPS("RC"), CLAUSE("ibv_reg_mr/RETURN-VALUE/dereg"),
	 NEEDS("memory_windows/2"), WIRE("narrow"),
	 SAYS("on a device of few regions and windows there are no more than max_mr and max_mw, and "
	      "room for one when one has ended")},
	{},
};

static void most_queues(struct kit *k)
{
	static const struct kind cq = {"CQ", make_cq, end_cq}, srq = {"SRQ", make_srq, end_srq},
				 qp = {"QP", make_qp, end_qp};
	const struct ibv_device_attr *attr = &k->r->dut.requester.attr;

	most_of(k, &cq, attr->max_cq);
	if (KIT_GOOD(k))
		most_of(k, &srq, attr->max_srq);
	if (KIT_GOOD(k))
		most_of(k, &qp, attr->max_qp);
}

SCENARIO(most_queues) = {
	{"most-queues", SUITE("narrow"), QPS("RC"), CLAUSE("ibv_query_device/NOTES/limits"), WIRE("narrow"),
	 SAYS("on a device of few CQs, SRQs and QPs there are no more than max_cq, max_srq and max_qp, "
	      "and room for one when one has ended")},
	{},
};
