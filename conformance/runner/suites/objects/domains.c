/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Protection domains, parent domains with their allocators, thread domains. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "link/link_modify.h"
#include "suites/objects/own.h"

#define MOST_BLOCKS 64
#define GUARD       64 /* bytes behind a block, which nobody may write */
#define UNTOUCHED   0xc3

/* The memory that a parent domain's allocator has given out. */
struct pool {
	struct ibv_pd *pd; /* the parent domain; NULL while it is created */
	struct {
		void *at;
		size_t size;
		uint64_t type;
	} block[MOST_BLOCKS];
	unsigned int allocs, frees, held;
	unsigned int fail_at; /* the call of alloc that returns NULL, from 1; 0: none */
	bool decline;         /* alloc returns IBV_ALLOCATOR_USE_DEFAULT */
	const char *wrong;    /* what was wrong about a call */
};

static void *pool_alloc(struct ibv_pd *pd, void *context, size_t size, size_t alignment, uint64_t type)
{
	struct pool *p = context;
	void *at = NULL;

	p->allocs++;
	if (pd != p->pd)
		p->wrong = "alloc got another PD";
	if (!size || !alignment || alignment & (alignment - 1))
		p->wrong = "alloc got a size or an alignment that is none";
	if (p->decline)
		return IBV_ALLOCATOR_USE_DEFAULT;
	if (p->allocs == p->fail_at || p->held == MOST_BLOCKS)
		return NULL;
	if (posix_memalign(&at, alignment < sizeof(void *) ? sizeof(void *) : alignment, size + GUARD))
		return NULL;
	memset(at, 0x96, size); /* the page does not say that the memory is cleared */
	memset((uint8_t *)at + size, UNTOUCHED, GUARD);
	p->block[p->held].at = at;
	p->block[p->held].size = size;
	p->block[p->held++].type = type;
	return at;
}

static void pool_free(struct ibv_pd *pd, void *context, void *at, uint64_t type)
{
	struct pool *p = context;

	p->frees++;
	if (pd != p->pd)
		p->wrong = "free got another PD";
	for (unsigned int i = 0; i < p->held; i++) {
		if (p->block[i].at != at)
			continue;
		if (p->block[i].type != type)
			p->wrong = "free got another resource type than alloc";
		for (size_t j = 0; j < GUARD; j++)
			if (((uint8_t *)at)[p->block[i].size + j] != UNTOUCHED)
				p->wrong = "bytes behind the memory from alloc were written";
		p->block[i] = p->block[--p->held];
		free(at);
		return;
	}
	p->wrong = "free got memory that did not come from alloc";
}

static struct ibv_pd *parent(struct kit *k, struct ibv_pd *pd, struct ibv_td *td, struct pool *pool)
{
	struct ibv_parent_domain_init_attr attr = {.pd = pd, .td = td};

	if (pool) {
		attr.comp_mask =
			IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
		attr.alloc = pool_alloc;
		attr.free = pool_free;
		attr.pd_context = pool;
	}
	return ibv_alloc_parent_domain(k->r->dut.requester.ctx, &attr);
}

static void check_pool(struct kit *k, const struct pool *p)
{
	KIT_CHECK(k, !p->wrong, "custom allocator: %s", p->wrong);
	KIT_CHECK(k, !p->held, "custom allocator: %u of %u blocks were not freed", p->held, p->allocs);
	KIT_CHECK(k, !p->decline || !p->frees,
		  "custom allocator: free was called for memory of the default one");
}

/* With allocators that give memory, that decline, and that fail at each of their calls. */
static void allocators(struct kit *k)
{
	struct ibv_pd *base = k->r->dut.requester.pd;
	unsigned int calls = 0;

	for (unsigned int turn = 0; turn < 2 + calls && turn < 8 && KIT_GOOD(k); turn++) {
		static struct pool p; /* until the parent domain has ended */
		struct ibv_pd *pd;

		p = (struct pool){.decline = turn == 1, .fail_at = turn > 1 ? turn - 1 : 0};
		pd = parent(k, base, NULL, &p);
		KIT_CHECK(k, pd, "ibv_alloc_parent_domain failed with %s", errno_name(errno));
		p.pd = pd;
		log_call(&k->res->log, "/* the allocator %s */",
			 p.decline   ? "declines"
			 : p.fail_at ? "returns NULL at one call"
				     : "gives memory");
		if (p.fail_at) { /* whatever needs that memory cannot be created */
			struct result ignored = {.log = k->res->log};
			struct kit failing = *k;

			failing.res = &ignored;
			own_use(&failing, pd);
			KIT_CHECK(k, ignored.verdict.num,
				  "the allocator returned NULL at call %u, and nothing failed", p.fail_at);
		} else {
			own_use(k, pd);
		}
		if (!turn)
			calls = p.allocs;
		KIT_CHECK(k, p.allocs, "nothing that was created in the parent domain called its allocator");
		check_pool(k, &p);
		KIT_CHECK(k, !ibv_dealloc_pd(pd), "ibv_dealloc_pd of the parent domain failed");
	}
	seen(k->res, "%u calls of the allocator; ", calls);
}

SCENARIO(allocators) = {
	{"allocators", SUITE("objects"), QPS("RC"), CLAUSE("ibv_alloc_parent_domain/ARGUMENTS/alloc"),
	 NEEDS("srq"),
	 SAYS("a parent domain's allocator gives memory, declines, or fails at each of its calls: what "
	      "needs the memory is not created, and all memory is freed with the arguments with which "
	      "it was allocated")},
	{},
};

/* A refusal, with errno. */
static void no_parent(struct kit *k, struct ibv_parent_domain_init_attr *attr, const char *what)
{
	struct ibv_pd *pd;

	errno = 0;
	pd = ibv_alloc_parent_domain(k->r->dut.requester.ctx, attr);
	if (pd)
		ibv_dealloc_pd(pd);
	KIT_CHECK(k, !pd && errno > 0, "ibv_alloc_parent_domain %s: %s", what, pd ? "succeeded" : "no errno");
	k->res->err = errno;
}

static void parents(struct kit *k)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_td_init_attr td_attr = {0}, odd = {.comp_mask = 1u << 31};
	struct ibv_parent_domain_init_attr attr = {0};
	struct ibv_td *td = ibv_alloc_td(ctx, &td_attr);
	struct ibv_pd *base = ibv_alloc_pd(ctx), *pd, *second;

	KIT_CHECK(k, td && base, "ibv_alloc_td or ibv_alloc_pd failed with %s", errno_name(errno));
	errno = 0;
	KIT_CHECK(k, !ibv_alloc_td(ctx, &odd) && errno > 0,
		  "ibv_alloc_td with an unknown comp_mask succeeded");
	no_parent(k, &attr, "without a PD");
	attr = (struct ibv_parent_domain_init_attr){.pd = base, .comp_mask = 1u << 30};
	no_parent(k, &attr, "with an unknown comp_mask");
	pd = parent(k, base, td, NULL);
	second = parent(k, base, td, NULL);
	KIT_CHECK(k, pd && second && pd != second, "ibv_alloc_parent_domain failed with %s",
		  errno_name(errno));
	KIT_CHECK(k, pd->context == ctx, "the parent domain has another context");
	own_use(k, pd);
	KIT_CHECK(k, ibv_dealloc_td(td) > 0,
		  "a thread domain that is part of parent domains was deallocated");
	KIT_CHECK(k, ibv_dealloc_pd(base) > 0, "a PD that is part of parent domains was deallocated");
	KIT_CHECK(k, !ibv_dealloc_pd(pd), "ibv_dealloc_pd of the first parent domain failed");
	KIT_CHECK(k, ibv_dealloc_td(td) > 0,
		  "a thread domain that is part of a parent domain was deallocated");
	KIT_CHECK(k, ibv_dealloc_pd(base) > 0, "a PD that is part of a parent domain was deallocated");
	own_use(k, second);
	KIT_CHECK(k, !ibv_dealloc_pd(second), "ibv_dealloc_pd of the second parent domain failed");
	KIT_CHECK(k, !ibv_dealloc_td(td), "ibv_dealloc_td failed, nothing uses it");
	KIT_CHECK(k, !ibv_dealloc_pd(base), "ibv_dealloc_pd failed, nothing uses it");
}

SCENARIO(parents) = {
	{"parent-domains", SUITE("objects"), QPS("RC"),
	 CLAUSE("ibv_alloc_parent_domain/DESCRIPTION/interchangeable"), LEVEL("SHOULD"), NEEDS("srq"),
	 SAYS("objects of parent domains work; neither the PD nor the thread domain is deallocated "
	      "before them; unknown members of comp_mask are refused")},
	{},
};

/* Only the members that comp_mask names are valid; this context is what the callbacks get without PD_CONTEXT. */
static struct pool *no_context;

static void *alone_alloc(struct ibv_pd *pd, void *context, size_t size, size_t alignment, uint64_t type)
{
	if (context)
		no_context->wrong = "alloc got a context that comp_mask does not name";
	return pool_alloc(pd, no_context, size, alignment, type);
}

static void alone_free(struct ibv_pd *pd, void *context, void *at, uint64_t type)
{
	if (context)
		no_context->wrong = "free got a context that comp_mask does not name";
	pool_free(pd, no_context, at, type);
}

/* Allocators without a context, a context without allocators, and neither: the members are all set. */
static void parent_members(struct kit *k)
{
	static const uint32_t masks[] = {IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS,
					 IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT, 0};

	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]) && KIT_GOOD(k); i++) {
		static struct pool p; /* until the parent domain has ended */
		struct ibv_parent_domain_init_attr attr = {.pd = k->r->dut.requester.pd,
							   .comp_mask = masks[i],
							   .alloc = alone_alloc,
							   .free = alone_free,
							   .pd_context = k};
		const bool own = masks[i] & kit_arg(k, "own", 0);

		p = (struct pool){0};
		no_context = &p;
		p.pd = ibv_alloc_parent_domain(k->r->dut.requester.ctx, &attr);
		log_call(&k->res->log, "/* ibv_alloc_parent_domain(ctx, attr): comp_mask 0x%x */", masks[i]);
		KIT_CHECK(k, p.pd, "ibv_alloc_parent_domain with comp_mask 0x%x failed with %s", masks[i],
			  errno_name(errno));
		own_use(k, p.pd);
		KIT_CHECK(k, own == (p.allocs > 0), "comp_mask 0x%x: %u calls of the allocator", masks[i],
			  p.allocs);
		check_pool(k, &p);
		KIT_CHECK(k, !ibv_dealloc_pd(p.pd), "ibv_dealloc_pd of the parent domain failed");
	}
}

SCENARIO(parent_members) = {
	{"parent-members", SUITE("objects"), QPS("RC"), ARGS({"own", 1}),
	 CLAUSE("ibv_alloc_parent_domain/ARGUMENTS/comp_mask"), NEEDS("srq"),
	 SAYS("allocators without a context get NULL, a context without allocators and members that "
	      "are not named count for nothing")},
	{},
};

/* A PD that is used by one object after the other is still there after an attempt to deallocate it. */
static void busy(struct kit *k)
{
	const struct end *end = &k->r->dut.requester;
	struct ibv_pd *pd = ibv_alloc_pd(end->ctx), *other = ibv_alloc_pd(end->ctx);
	struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 3, .max_sge = 1}};
	struct own o = {.init.pd = pd};
	struct ibv_ah_attr av;
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	void *bytes;

	KIT_CHECK(k, pd && other && pd != other, "ibv_alloc_pd failed with %s", errno_name(errno));
	KIT_CHECK(k, pd && pd->context == end->ctx, "the PD has another context");
	bytes = end_alloc(pd, 4096);
	mr = ibv_reg_mr(pd, bytes, 4096, 0);
	KIT_CHECK(k, mr && ibv_dealloc_pd(pd) > 0, "a PD with a region was deallocated");
	KIT_CHECK(k, !ibv_dereg_mr(mr), "ibv_dereg_mr failed");
	end_free(bytes);
	link_address(end, end, &av);
	ah = ibv_create_ah(pd, &av);
	KIT_CHECK(k, ah && ibv_dealloc_pd(pd) > 0, "a PD with an address handle was deallocated");
	KIT_CHECK(k, !ibv_destroy_ah(ah), "ibv_destroy_ah failed");
	srq = ibv_create_srq(pd, &srq_attr);
	KIT_CHECK(k, srq && ibv_dealloc_pd(pd) > 0, "a PD with an SRQ was deallocated");
	KIT_CHECK(k, !ibv_destroy_srq(srq), "ibv_destroy_srq failed");
	if (!own_create(k, &o, IBV_QPT_UD))
		return;
	KIT_CHECK(k, ibv_dealloc_pd(pd) > 0, "a PD with a QP was deallocated");
	KIT_CHECK(k, ibv_destroy_cq(o.send_cq) > 0, "a CQ with a QP was destroyed");
	own_destroy(&o);
	own_use(k, pd);
	KIT_CHECK(k, !ibv_dealloc_pd(pd), "ibv_dealloc_pd failed, nothing uses it");
	own_use(k, other);
	KIT_CHECK(k, !ibv_dealloc_pd(other), "ibv_dealloc_pd failed, nothing uses it");
}

SCENARIO(busy) = {
	{"busy", SUITE("objects"), QPS("RC"), CLAUSE("ibv_alloc_pd/NOTES/busy"), LEVEL("SHOULD"),
	 NEEDS("srq"),
	 SAYS("a PD with a region, an address handle, an SRQ or a QP, and a CQ with a QP, are not "
	      "destroyed, and work afterwards")},
	{},
};

/* A creation that the driver refuses, so that memory which was allocated for it is freed. */
static void no_work_queue(struct kit *k, struct ibv_pd *pd)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_wq_init_attr init = {.wq_type = 255, .max_wr = 5, .max_sge = 1, .pd = pd};
	struct ibv_wq *wq;

	init.cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	KIT_CHECK(k, init.cq, "ibv_create_cq failed with %s", errno_name(errno));
	wq = ibv_create_wq(ctx, &init);
	if (wq) {
		ibv_destroy_wq(wq);
		KIT_FAULT(k, "a work queue of an unknown type was created");
	}
	ibv_destroy_cq(init.cq);
}

/* Work queues of an ordinary PD, and of a parent domain whose allocator gives memory, or declines. */
static void domain_work_queues(struct kit *k)
{
	struct ibv_pd *base = ibv_alloc_pd(k->r->dut.requester.ctx);

	KIT_CHECK(k, base, "ibv_alloc_pd failed with %s", errno_name(errno));
	own_use_work_queue(k, base);
	for (unsigned int turn = 0; turn < 2 && KIT_GOOD(k); turn++) {
		static struct pool p; /* until the parent domain has ended */
		struct ibv_pd *pd;

		p = (struct pool){.decline = turn};
		pd = parent(k, base, NULL, &p);
		KIT_CHECK(k, pd, "ibv_alloc_parent_domain failed with %s", errno_name(errno));
		p.pd = pd;
		own_use_work_queue(k, pd);
		no_work_queue(k, pd);
		check_pool(k, &p);
		KIT_CHECK(k, !ibv_dealloc_pd(pd), "ibv_dealloc_pd of the parent domain failed");
	}
	KIT_CHECK(k, !ibv_dealloc_pd(base), "ibv_dealloc_pd failed");
}

SCENARIO(domain_work_queues) = {
	{"domains", SUITE("wq"), QPS("RAW_PACKET"), CLAUSE("ibv_alloc_pd/NOTES/busy"), LEVEL("SHOULD"),
	 ERRATA("HELD PARENT-BUSY"), NEEDS("work_queues"),
	 SAYS("a PD and a parent domain, with an allocator that gives memory or declines, are not "
	      "deallocated before their work queue")},
	{},
};
