/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared receive queues without a sender: what is granted, taken, resized, reported and refused. */
#include <errno.h>
#include <string.h>

#include "link/link_xrc.h"
#include "suites/kit.h"

#define MOST 64 /* receives that are posted */

struct shelf {
	struct kit *k;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_xrcd *xrcd;
	struct ibv_srq_init_attr_ex good; /* with every member set */
};

static struct ibv_srq *create(struct shelf *s, struct ibv_srq_init_attr_ex *init)
{
	errno = 0;
	return ibv_create_srq_ex(s->k->r->dut.requester.ctx, init);
}

static void refused(struct shelf *s, struct ibv_srq_init_attr_ex init, const char *what)
{
	struct ibv_srq *srq = create(s, &init);
	const int err = errno;

	if (srq)
		ibv_destroy_srq(srq);
	KIT_CHECK(s->k, !srq && err > 0, "ibv_create_srq_ex %s: %s", what, srq ? "succeeded" : "no errno");
	s->k->res->err = err;
}

#define REFUSED(s, what, member, value)                                                                      \
	do {                                                                                                 \
		struct ibv_srq_init_attr_ex odd = (s)->good;                                                 \
                                                                                                             \
		odd.member = (value);                                                                        \
		refused(s, odd, what);                                                                       \
	} while (0)

static bool begin(struct kit *k, struct shelf *s)
{
	const struct end *end = &k->r->dut.requester;

	*s = (struct shelf){.k = k};
	s->cq = ibv_create_cq(end->ctx, 8, NULL, NULL, 0);
	if (kit_arg(k, "xrc", 0))
		s->xrcd = link_xrcd(end->ctx);
	if (!s->cq || (kit_arg(k, "xrc", 0) && !s->xrcd))
		KIT_FAULT(k, "CQ or XRC domain of the case: %s", errno_name(errno));
	s->good = (struct ibv_srq_init_attr_ex){
		.srq_context = s,
		.attr = {.max_wr = 5, .max_sge = 2},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = end->pd,
	};
	if (s->xrcd) {
		s->good.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		s->good.srq_type = IBV_SRQT_XRC;
		s->good.xrcd = s->xrcd;
		s->good.cq = s->cq;
	}
	return KIT_GOOD(k);
}

/* Posts empty receives until one is refused; their number. */
static unsigned int takes(struct shelf *s, unsigned int most)
{
	unsigned int num = 0;

	for (; num < most; num++) {
		struct ibv_recv_wr wr = {.wr_id = num}, *bad = NULL;
		const int ret = ibv_post_srq_recv(s->srq, &wr, &bad);

		if (ret < 0 || (ret && bad != &wr))
			KIT_FAULT(s->k, "ibv_post_srq_recv returned %d, or bad_wr is not the refused one",
				  ret);
		if (ret)
			break;
	}
	return num;
}

static bool reports(struct shelf *s, uint32_t max_wr, uint32_t limit, const char *when)
{
	struct ibv_srq_attr attr = {0};
	const int ret = ibv_query_srq(s->srq, &attr);

	if (ret)
		KIT_FAULT(s->k, "ibv_query_srq failed with %s", errno_name(ret));
	else if (attr.max_wr != max_wr || attr.max_sge != s->good.attr.max_sge || attr.srq_limit != limit)
		KIT_FAULT(s->k, "ibv_query_srq %s: max_wr %u, max_sge %u, srq_limit %u; expected %u, %u, %u",
			  when, attr.max_wr, attr.max_sge, attr.srq_limit, max_wr, s->good.attr.max_sge,
			  limit);
	return KIT_GOOD(s->k);
}

static int modify(struct shelf *s, uint32_t max_wr, uint32_t limit, int mask)
{
	struct ibv_srq_attr attr = {.max_wr = max_wr, .max_sge = 9, .srq_limit = limit};
	const int ret = ibv_modify_srq(s->srq, &attr, mask);

	log_call(&s->k->res->log, "/* ibv_modify_srq(srq, {.max_wr = %u, .srq_limit = %u}, %d): %d */",
		 max_wr, limit, mask, ret);
	s->k->res->err = ret;
	if (ret < 0)
		KIT_FAULT(s->k, "ibv_modify_srq returned %d, which is no value of errno", ret);
	return ret;
}

/* A refusal that changes nothing. */
static void stays(struct shelf *s, uint32_t max_wr, uint32_t limit, int mask, uint32_t is, const char *what)
{
	KIT_CHECK(s->k, modify(s, max_wr, limit, mask) > 0, "ibv_modify_srq %s succeeded", what);
	reports(s, is, 0, what);
}

/* Sizes up and down, each of which must be that of the queue at once. */
static void resize(struct shelf *s)
{
	const uint32_t most = (uint32_t)s->k->r->dut.requester.attr.max_srq_wr;
	const uint32_t was = s->good.attr.max_wr;
	struct ibv_srq_attr attr = {0};
	struct kit *k = s->k;
	unsigned int held = was;

	/* far fewer: a device may round the size up */
	stays(s, 1, 0, IBV_SRQ_MAX_WR, was, "to fewer receives than it holds");
	stays(s, most + 1, 0, IBV_SRQ_MAX_WR, was, "to more receives than the device has");
	stays(s, UINT32_MAX, 0, IBV_SRQ_MAX_WR, was, "to 0xffffffff receives");
	stays(s, was + 4, most + 1, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, was,
	      "with a limit of more than the device has");
	if (!KIT_GOOD(k))
		return;
	KIT_CHECK(k, !takes(s, 1), "a full queue took a receive more after a refused resize");
	if (KIT_GOOD(k) && modify(s, was + 4, 0, IBV_SRQ_MAX_WR))
		KIT_FAULT(k, "ibv_modify_srq to %u receives failed", was + 4);
	if (!KIT_GOOD(k) || ibv_query_srq(s->srq, &attr))
		return;
	KIT_CHECK(k, attr.max_wr >= was + 4, "ibv_query_srq: max_wr %u after a resize to %u", attr.max_wr,
		  was + 4);
	if (attr.max_wr > MOST)
		return;
	held += takes(s, MOST);
	KIT_CHECK(k, held == attr.max_wr, "a queue resized to %u receives took %u", attr.max_wr, held);
	KIT_CHECK(k, !modify(s, most, 0, IBV_SRQ_MAX_WR), "ibv_modify_srq to max_srq_wr failed");
	KIT_CHECK(k, takes(s, 3) == 3, "a queue resized to max_srq_wr took no more receives");
}

/* Size and limit in one call: the limit is one of the new size, and not of the old one. Ends without a limit. */
static void both_at_once(struct shelf *s)
{
	const int both = IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT;
	const uint32_t was = s->good.attr.max_wr;
	struct ibv_srq_attr attr = {0};

	if (!modify(s, 1, was, both)) /* a device may round the size up */
		KIT_CHECK(s->k, !ibv_query_srq(s->srq, &attr) && attr.max_wr >= was,
			  "ibv_modify_srq to 1 receive and a limit of %u succeeded, max_wr is %u", was,
			  attr.max_wr);
	KIT_CHECK(s->k, !modify(s, was + 3, was + 2, both),
		  "ibv_modify_srq from %u to %u receives and a limit of %u failed", was, was + 3, was + 2);
	KIT_CHECK(s->k, !ibv_query_srq(s->srq, &attr) && attr.max_wr >= was + 3,
		  "ibv_query_srq: max_wr %u after a resize to %u", attr.max_wr, was + 3);
	KIT_CHECK(s->k, !modify(s, was, 0, both), "ibv_modify_srq to %u receives and no limit failed", was);
}

/* An empty queue is made smaller: from then on its size is the new one. */
static void shrink(struct shelf *s)
{
	const uint32_t less = s->good.attr.max_wr - 2;
	struct ibv_srq_attr attr = {0};

	KIT_CHECK(s->k, !modify(s, less, 0, IBV_SRQ_MAX_WR), "ibv_modify_srq of an empty queue to %u failed",
		  less);
	KIT_CHECK(s->k, !ibv_query_srq(s->srq, &attr) && attr.max_wr >= less,
		  "ibv_query_srq: max_wr %u after a resize to %u", attr.max_wr, less);
	s->good.attr.max_wr = attr.max_wr;
}

static void live(struct shelf *s)
{
	const bool resizes = s->k->r->dut.requester.attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE;
	struct ibv_srq_attr attr = {0};
	struct kit *k = s->k;
	uint32_t number = 0;

	s->srq = create(s, &s->good);
	KIT_CHECK(k, s->srq, "ibv_create_srq_ex failed with %s", errno_name(errno));
	KIT_CHECK(k, s->good.attr.max_wr >= 5 && s->good.attr.max_sge >= 2,
		  "less was granted than asked for");
	KIT_CHECK(k,
		  s->srq->context == k->r->dut.requester.ctx && s->srq->srq_context == s &&
			  s->srq->pd == s->good.pd,
		  "a member of struct ibv_srq is not that of the creation");
	KIT_CHECK(k, !s->xrcd || !ibv_get_srq_num(s->srq, &number), "ibv_get_srq_num of an XRC SRQ failed");
	KIT_CHECK(k, !ibv_query_srq(s->srq, &attr) && attr.max_wr >= s->good.attr.max_wr,
		  "ibv_query_srq failed, or reports fewer receives than were granted");
	s->good.attr.max_wr = attr.max_wr; /* some devices have more than they say they granted */
	if (!reports(s, attr.max_wr, 0, "after the creation") || attr.max_wr > MOST)
		return;
	if (resizes)
		both_at_once(s);
	if (resizes && KIT_GOOD(k))
		shrink(s);
	KIT_CHECK(k, takes(s, MOST + 1) == s->good.attr.max_wr, "a queue of %u receives took more, or fewer",
		  s->good.attr.max_wr);
	if (resizes && KIT_GOOD(k))
		resize(s);
}

/* Destroyed and created again: the same number of receives fits. */
static void srq_live(struct kit *k)
{
	struct shelf s;

	if (begin(k, &s))
		live(&s);
}

SCENARIO(srq_live) = {
	{"srq-sizes", SUITE("objects"), QPS("RC"), CLAUSE("ibv_modify_srq/NOTES/none-modified"), NEEDS("srq"),
	 SAYS("an SRQ takes as many receives as it was granted, and reports them; a resize counts at "
	      "once, one that is refused changes nothing")},
	{"xrc-srq-sizes", QPS("XRC_SEND"), ARGS({"xrc", 1}),
	 SAYS("an SRQ of an XRC domain takes as many receives as it was granted, and has a number")},
	{},
};

static void srq_pd(struct kit *k)
{
	struct shelf s;

	if (!begin(k, &s))
		return;
	s.srq = create(&s, &s.good);
	if (!s.srq)
		KIT_FAULT(k, "ibv_create_srq_ex failed with %s", errno_name(errno));
	else if (!kit_holds(k, s.srq->pd == s.good.pd))
		KIT_FAULT(k, "the PD of the SRQ is not that of the creation");
}

SCENARIO(srq_pd) = {
	{"srq-pd", SUITE("objects"), QPS("RC"), CLAUSE("ibv_create_srq/DESCRIPTION/granted"), NEEDS("srq"),
	 SAYS("an SRQ has the PD that it was created with")},
	{"xrc-srq-pd", QPS("XRC_SEND"), ARGS({"xrc", 1})},
	{},
};

static void parts(struct shelf *s)
{
	const uint32_t mask = s->good.comp_mask;

	REFUSED(s, "with an unknown comp_mask", comp_mask, mask | 1u << 31);
	REFUSED(s, "without a PD", comp_mask, mask & ~IBV_SRQ_INIT_ATTR_PD);
	if (!s->xrcd) {
		REFUSED(s, "of an unknown type", srq_type, IBV_SRQT_TM + 1);
		REFUSED(s, "of an unknown type", srq_type, 255);
		return;
	}
	REFUSED(s, "with no PD", pd, NULL);
	REFUSED(s, "without an XRC domain", comp_mask, mask & ~IBV_SRQ_INIT_ATTR_XRCD);
	REFUSED(s, "with no XRC domain", xrcd, NULL);
	REFUSED(s, "without a CQ", comp_mask, mask & ~IBV_SRQ_INIT_ATTR_CQ);
	REFUSED(s, "with no CQ", cq, NULL);
}

static void granted(struct shelf *s, struct ibv_srq_init_attr_ex init, const char *what)
{
	struct ibv_srq *srq = create(s, &init);

	KIT_CHECK(s->k, srq, "ibv_create_srq_ex %s failed with %s", what, errno_name(errno));
	KIT_CHECK(s->k, !ibv_destroy_srq(srq), "ibv_destroy_srq failed");
}

static void srq_create(struct kit *k)
{
	const struct ibv_device_attr *attr = &k->r->dut.requester.attr;
	struct ibv_srq_init_attr_ex edge;
	struct shelf s;

	if (!begin(k, &s))
		return;
	parts(&s);
	REFUSED(&s, "of more receives than the device has", attr.max_wr, (uint32_t)attr->max_srq_wr + 1);
	REFUSED(&s, "of 0xffffffff receives", attr.max_wr, UINT32_MAX);
	REFUSED(&s, "of more SGEs than the device has", attr.max_sge, (uint32_t)attr->max_srq_sge + 1);
	REFUSED(&s, "of 0xffffffff SGEs", attr.max_sge, UINT32_MAX);
	edge = s.good;
	edge.attr.max_wr = (uint32_t)attr->max_srq_wr;
	granted(&s, edge, "of as many receives as the device has");
	edge = s.good;
	edge.attr.max_sge = (uint32_t)attr->max_srq_sge;
	granted(&s, edge, "of as many SGEs as the device has");
	edge = s.good;
	edge.attr.max_sge = 0;
	granted(&s, edge, "for receives without SGEs");
	if (!s.xrcd) { /* the type counts for nothing without its bit */
		edge = s.good;
		edge.comp_mask = IBV_SRQ_INIT_ATTR_PD;
		edge.srq_type = IBV_SRQT_XRC;
		granted(&s, edge, "with a PD alone");
	}
}

SCENARIO(srq_create) = {
	{"srq-limits", SUITE("objects"), QPS("RC"), CLAUSE("ibv_create_srq/DESCRIPTION/granted"),
	 LEVEL("SHOULD"), NEEDS("srq"),
	 SAYS("as many receives and SGEs as the device says that it has are granted, one more is "
	      "refused; so are unknown types and members")},
	{"xrc-srq-limits", QPS("XRC_SEND"), ARGS({"xrc", 1}),
	 SAYS("the same of an SRQ of an XRC domain, which needs the domain and a CQ")},
	{},
};
