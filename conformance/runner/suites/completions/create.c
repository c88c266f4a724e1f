/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The arguments of ibv_create_cq() and ibv_create_cq_ex(). */
#include <errno.h>

#include "suites/completions/bench.h"

/* A CQ with these attributes works: it is filled twice. A refusal for lack of support is none where that is allowed. */
static void works(struct kit *k, const char *what, struct ibv_cq_init_attr_ex *attr, bool optional)
{
	unsigned int n = attr->cqe < BENCH_MOST ? attr->cqe : BENCH_MOST;
	uint32_t cqe = attr->cqe;
	struct bench b;
	int ret;

	if (!KIT_GOOD(k))
		return;
	ret = bench_create(&b, k, attr);
	log_call(&k->res->log, "/* ibv_create_cq_ex(ctx, attr): %s */", what);
	if (ret == EOPNOTSUPP && optional)
		seen(k->res, "not supported: %s; ", what);
	else if (ret)
		KIT_FAULT(k, "creation of a CQ failed with %s: %s", errno_name(ret), what);
	else if ((uint32_t)b.cq->cqe < cqe)
		KIT_FAULT(k, "the CQ has %d entries, %u were asked for", b.cq->cqe, cqe);
	else
		(void)(bench_link(&b, k->l, NULL) && bench_put(&b, k->l, n) && bench_empty(&b) &&
		       bench_put(&b, k->l, n) && bench_empty(&b));
	link_destroy(k->l);
	bench_close(&b);
}

static void refused(struct kit *k, const char *what, struct ibv_cq_init_attr_ex *attr, int err, int or_err)
{
	struct bench b;
	int ret;

	if (!KIT_GOOD(k))
		return;
	ret = bench_create(&b, k, attr);
	log_call(&k->res->log, "/* ibv_create_cq_ex(ctx, attr): %s */", what);
	k->res->err = ret;
	if (ret != err && ret != or_err)
		KIT_FAULT(k, "creation of a CQ with %s: %s, expected %s", what, ret ? errno_name(ret) : "0",
			  errno_name(err));
	bench_close(&b);
}

#define ATTR(entries, ...)                                                                                   \
	(&(struct ibv_cq_init_attr_ex){.cqe = (entries), .wc_flags = IBV_WC_STANDARD_FLAGS, ##__VA_ARGS__})

/* The older call has the number as an int. */
static void refused_plain(struct kit *k, int cqe)
{
	struct ibv_cq *cq;

	errno = 0;
	cq = ibv_create_cq(k->r->dut.requester.ctx, cqe, NULL, NULL, 0);
	log_call(&k->res->log, "cq = ibv_create_cq(ctx, %d, NULL, NULL, 0)", cqe);
	if (cq || errno != EINVAL)
		KIT_FAULT(k, "ibv_create_cq of %d entries: %s", cqe, cq ? "a CQ" : errno_name(errno));
	if (cq)
		ibv_destroy_cq(cq);
}

/* A CQ of the most entries that there may be, whose memory may be refused. */
static void most(struct kit *k, int cqe)
{
	struct ibv_cq *cq = ibv_create_cq(k->r->dut.requester.ctx, cqe, NULL, NULL, 0);

	log_call(&k->res->log, "cq = ibv_create_cq(ctx, %d, NULL, NULL, 0)", cqe);
	if (!cq && errno != ENOMEM)
		KIT_FAULT(k, "ibv_create_cq of max_cqe (%d) entries: %s", cqe, errno_name(errno));
	if (cq && cq->cqe < cqe)
		KIT_FAULT(k, "the CQ has %d entries, %d were asked for", cq->cqe, cqe);
	if (cq)
		ibv_destroy_cq(cq);
}

static void create_sizes(struct kit *k)
{
	const struct end *end = &k->r->dut.requester;

	works(k, "1 entry", ATTR(1), false);
	works(k, "5 entries", ATTR(5), false);
	refused(k, "no entry", ATTR(0), EINVAL, EINVAL);
	refused(k, "more than max_cqe entries", ATTR(end->attr.max_cqe + 1), EINVAL, EINVAL);
	works(k, "the last completion vector", ATTR(5, .comp_vector = end->ctx->num_comp_vectors - 1), false);
	refused(k, "a completion vector too much", ATTR(5, .comp_vector = end->ctx->num_comp_vectors), EINVAL,
		EINVAL);
	for (int cqe = 0; cqe > -3; cqe--)
		refused_plain(k, cqe);
	if (end->attr.max_cqe <= 1 << 16)
		works(k, "max_cqe entries", ATTR(end->attr.max_cqe), false);
	else
		most(k, end->attr.max_cqe);
}

SCENARIO(create_sizes) = {
	{"sizes", SUITE("cq"), QPS("RC"), CLAUSE("ibv_create_cq/DESCRIPTION/cqe"), LEVEL("SHOULD"),
	 ERRATA("CQ-LIMITS"),
	 SAYS("at least as many entries as asked for, max_cqe included, and each of them is used; "
	      "EINVAL beyond the limits")},
	{},
};

static void create_flags(struct kit *k)
{
	struct ibv_cq_init_attr_ex wc_flags = {.cqe = 5, .wc_flags = IBV_WC_STANDARD_FLAGS | 1ull << 40};
	const uint32_t given = IBV_CQ_INIT_ATTR_MASK_FLAGS, single = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;

	works(k, "SINGLE_THREADED", ATTR(5, .comp_mask = given, .flags = single), true);
	works(k, "IGNORE_OVERRUN", ATTR(5, .comp_mask = given, .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN),
	      true);
	works(k, "no flags", ATTR(5, .comp_mask = given), false);
	works(k, "flags that comp_mask does not name", ATTR(5, .flags = ~0u), false);
	refused(k, "an unknown flag", ATTR(5, .comp_mask = given, .flags = 1u << 31), EOPNOTSUPP, EINVAL);
	refused(k, "an unknown flag", ATTR(5, .comp_mask = given, .flags = single | 4), EOPNOTSUPP, EINVAL);
	refused(k, "an unknown bit of comp_mask", ATTR(5, .comp_mask = 1u << 31), EOPNOTSUPP, EINVAL);
	refused(k, "an unknown bit of comp_mask", ATTR(5, .comp_mask = 4), EOPNOTSUPP, EINVAL);
	refused(k, "an unknown bit of wc_flags", &wc_flags, EOPNOTSUPP, EINVAL);
}

SCENARIO(create_flags) = {
	{"flags", SUITE("cq"), QPS("RC"), CLAUSE("ibv_create_cq_ex/DESCRIPTION/flags"), LEVEL("SHOULD"),
	 ERRATA("CQ-LIMITS"),
	 SAYS("flags that verbs.h defines are accepted or not supported, others are refused")},
	{},
};

/* A CQ of a parent domain, with and without a thread domain. The domains cannot be deallocated before the CQ. */
static void create_domain(struct kit *k)
{
	struct ibv_td_init_attr none = {0};
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_parent_domain_init_attr attr = {.pd = k->r->dut.requester.pd};
	struct ibv_pd *parent;
	struct bench b = {0};
	int ret;

	for (int turn = 0; turn < 2 && KIT_GOOD(k); turn++) {
		errno = 0;
		attr.td = turn ? ibv_alloc_td(ctx, &none) : NULL;
		parent = turn && !attr.td ? NULL : ibv_alloc_parent_domain(ctx, &attr);
		if (!parent && errno == EOPNOTSUPP) {
			seen(k->res, "the device has no such domains; ");
		} else if (!parent) {
			KIT_FAULT(k, "allocation of a parent domain failed with %s", errno_name(errno));
		} else {
			works(k, "a parent domain",
			      ATTR(5, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = parent), false);
			if (KIT_GOOD(k) && !bench_create(&b, k,
							 ATTR(5, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
							      .parent_domain = parent))) {
				ret = ibv_dealloc_pd(parent);
				if (ret != EBUSY)
					KIT_FAULT(k,
						  "the parent domain of a CQ was deallocated before it: %s",
						  ret ? errno_name(ret) : "0");
				if (!ret)
					parent = NULL;
			}
			bench_close(&b);
		}
		if (parent && ibv_dealloc_pd(parent))
			KIT_FAULT(k, "the parent domain cannot be deallocated after its CQ");
		if (attr.td && ibv_dealloc_td(attr.td))
			KIT_FAULT(k, "the thread domain cannot be deallocated after its parent domain");
	}
}

SCENARIO(create_domain) = {
	{"parent-domain", SUITE("cq"), QPS("RC"), CLAUSE("ibv_create_cq_ex/DESCRIPTION/parent_domain"),
	 LEVEL("SHOULD"), ERRATA("PARENT-BUSY"),
	 SAYS("a CQ of a parent domain works, and the domain cannot be deallocated before it")},
	{},
};
