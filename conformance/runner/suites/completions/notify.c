/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Requests of notification in every order, several CQs of one channel, and moderation. */
#include <errno.h>
#include <string.h>

#include "suites/completions/bench.h"

#define CQS 3

/* No event may be there. One that comes late is taken for the next expected one, or found at the end. */
static void no_event(struct bench *b, const char *why)
{
	if (KIT_GOOD(b->k) && end_cq_event_ready(b->channel, 0))
		KIT_FAULT(b->k, "a completion event came %s", why);
}

/* 's' and 'n' ask for solicited ones: the page says only that the argument is not zero. 'a' asks for any. */
static bool ask(struct bench *b, char how)
{
	return bench_arm(b, how == 'n' ? 2 : how == 's');
}

/*
 * What is done in turn: a request as above; 'U', 'S' a message, unsolicited or solicited; 'w' one that is left in the CQ;
 * 'e' an event.
 */
static void do_step(struct bench *b, const char *step, bool hasty)
{
	struct kit *k = b->k;

	if (strchr("asn", *step))
		(void)(ask(b, *step) &&
		       ((hasty && step[1] && strchr("asn", step[1])) || bench_quiet(b, k->l)));
	else if (*step == 'e')
		bench_event(b);
	else if (bench_send(b, k->l, 1, *step == 'S') && (*step == 'w' || bench_take(b, 1)) && step[1] != 'e')
		no_event(b, step);
}

/* Twice: requests that follow each other wait until the one before has reached the device, or do not. */
static void notify_order(struct kit *k)
{
	static const char *const orders[] = {
		"SU",                                          /* not asked for */
		"aUeUS",                                       /* one event for one request */
		"aSeUS",                                       /* a solicited one is one of any */
		"sUSeSU", "nUSeSU",                            /* the first solicited one */
		"saUeS",                                       /* any in place of solicited */
		"asUeS",                                       /* solicited does not take any away */
		"aaUeU",  "ssSeS",  "sasUeS",  "aUeaUeaSesSe", /* asked again after each event */
		"UaUe",                                        /* the one before was polled */
		"SsUSe",  "wsUSe",  "wwsUwSe",
	};
	const unsigned int num = sizeof(orders) / sizeof(orders[0]);
	struct bench b = {0};

	if (bench_open(&b, k, 16) && bench_link(&b, k->l, NULL))
		for (unsigned int i = 0; i < 2 * num && KIT_GOOD(k); i++) {
			for (const char *step = orders[i % num]; *step && KIT_GOOD(k); step++)
				do_step(&b, step, i >= num);
			no_event(&b, orders[i % num]);
			/* nothing is left: neither a request nor an event */
			if (KIT_GOOD(k) && bench_put(&b, k->l, 1))
				bench_empty(&b);
		}
	no_event(&b, "that nothing asked for");
}

SCENARIO(notify_order) = {
	{"order", SUITE("cq"), QPS("RC"), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 CLAUSE("ibv_req_notify_cq/DESCRIPTION/any"), ERRATA("NOTIFY-ORDER"),
	 SAYS("any and solicited in both orders, repeated, and after each event: events for exactly "
	      "what was asked for")},
	{},
};

static bool open_shared(struct kit *k, struct bench *b, struct link *l)
{
	int vectors = k->r->dut.requester.ctx->num_comp_vectors;

	for (int i = 0; i < CQS; i++) {
		struct ibv_cq_init_attr_ex attr = {.cqe = 8,
						   .wc_flags = IBV_WC_STANDARD_FLAGS,
						   .channel = i ? b[0].channel : NULL,
						   .comp_vector = i % vectors};
		int ret = bench_create(&b[i], k, &attr);

		if (!KIT_MUST(k, !ret, "ibv_create_cq_ex failed with %s", errno_name(ret)))
			return false;
		if (!bench_link(&b[i], &l[i], NULL))
			return false;
	}
	return true;
}

/* Each event names its own CQ, with its context, in the order of the messages. */
static void notify_shared(struct kit *k)
{
	static struct link l[CQS];
	struct bench b[CQS] = {0};

	memset(l, 0, sizeof(l));
	if (!open_shared(k, b, l))
		return;
	for (int turn = 0; turn < CQS && KIT_GOOD(k); turn++) {
		for (int i = 0; i < CQS && KIT_GOOD(k); i++)
			bench_arm(&b[i], 0);
		for (int i = 0; i < CQS && KIT_GOOD(k); i++) {
			int at = (turn + 2 * i) % CQS;

			(void)(bench_send(&b[at], &l[at], 2, false) && bench_event(&b[at]) &&
			       bench_empty(&b[at]));
		}
	}
	no_event(&b[0], "that nothing asked for");
}

SCENARIO(notify_shared) = {
	{"shared-channel", SUITE("cq"), QPS("RC"), CLAUSE("ibv_get_cq_event/DESCRIPTION/cq_context"),
	 SAYS("three CQs of one channel and of different vectors: each event names its CQ and the "
	      "context of that")},
	{},
};

/* Several events are acknowledged in one call, and then the CQ can be destroyed. */
static void notify_acked(struct kit *k)
{
	struct bench b = {0};
	struct ibv_cq *cq;
	void *context;

	if (bench_open(&b, k, 8) && bench_link(&b, k->l, NULL)) {
		for (int i = 0; i < 3 && KIT_GOOD(k); i++)
			if (bench_arm(&b, 0) && bench_send(&b, k->l, 1, false) &&
			    (!end_cq_event_ready(b.channel, k->r->dut.timeout_ms) ||
			     ibv_get_cq_event(b.channel, &cq, &context)))
				KIT_FAULT(k, "no completion event came");
		if (KIT_GOOD(k) && bench_empty(&b))
			ibv_ack_cq_events(b.cq, 3);
	}
}

SCENARIO(notify_acked) = {
	{"acknowledged", SUITE("cq"), QPS("RC"), CLAUSE("ibv_get_cq_event/NOTES/acks"),
	 SAYS("three events are acknowledged in one call, and the CQ can be destroyed")},
	{},
};

/* Sets the moderation of the CQ; false: the device has none, or a fault. */
static bool moderate(struct bench *b, uint16_t count, uint16_t period)
{
	struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {count, period}};
	int ret;

	errno = EDOM; /* not what a call that succeeds may return */
	ret = ibv_modify_cq(b->cq, &attr);
	log_call(&b->k->res->log,
		 "ibv_modify_cq(cq, &(struct ibv_modify_cq_attr){IBV_CQ_ATTR_MODERATE, {%u, %u}})", count,
		 period);
	if (ret == EOPNOTSUPP || ret == ENOSYS)
		seen(b->k->res, "the device has no moderation; ");
	else if (ret)
		KIT_FAULT(b->k, "ibv_modify_cq to %u completions, %u us failed with %s", count, period,
			  errno_name(ret));
	return !ret;
}

/* `n` messages, of which the last has the event. */
static bool counted(struct bench *b, unsigned int n)
{
	bool good = bench_arm(b, 0);

	for (unsigned int i = 1; i < n && good; i++) {
		good = bench_send(b, b->k->l, 1, false) && bench_take(b, 1);
		no_event(b, "before as many completions as moderation counts");
	}
	return good && KIT_GOOD(b->k) && bench_send(b, b->k->l, 1, false) && bench_event(b) && bench_empty(b);
}

#define PERIOD 3000 /* us */

/* The event of two messages, with a greater count or none, comes after the period. */
static bool late(struct bench *b, uint16_t count)
{
	uint64_t start, us;

	if (!moderate(b, count, PERIOD) || !bench_arm(b, 0))
		return false;
	start = kit_now_us();
	if (!bench_send(b, b->k->l, 2, false) || !bench_event(b) || !bench_empty(b))
		return false;
	us = kit_now_us() - start;
	if (us < PERIOD)
		KIT_FAULT(b->k,
			  "the event of 2 completions came after %llu us; the count is %u, the period %u",
			  (unsigned long long)us, count, PERIOD);
	return KIT_GOOD(b->k);
}

/* Two completions are held back, of which the event is due with the fourth. */
static bool third_and_fourth(struct bench *b)
{
	if (!bench_quiet(b, b->k->l) || !bench_send(b, b->k->l, 1, false))
		return false;
	no_event(b, "after 3 of 4 completions");
	return KIT_GOOD(b->k) && bench_send(b, b->k->l, 1, false) && bench_event(b) && bench_empty(b);
}

/* Fewer are asked for: those held back count, and are not enough. */
static bool fewer(struct bench *b)
{
	return moderate(b, 5, 0) && bench_arm(b, 0) && bench_send(b, b->k->l, 2, false) &&
	       moderate(b, 4, 0) && third_and_fourth(b);
}

/* An event is asked for again: those held back count once. */
static bool asked_again(struct bench *b)
{
	return moderate(b, 4, 0) && bench_arm(b, 0) && bench_send(b, b->k->l, 2, false) && bench_arm(b, 0) &&
	       third_and_fourth(b);
}

/* An event comes by the count, or after the period, whichever is first. */
static void moderation(struct kit *k)
{
	struct ibv_device_attr_ex attr = {};
	struct bench b = {0};

	if (ibv_query_device_ex(k->r->dut.requester.ctx, NULL, &attr) || !attr.cq_mod_caps.max_cq_count)
		seen(k->res, "the device has no moderation; ");
	else if (bench_open(&b, k, 16) && bench_link(&b, k->l, NULL) && moderate(&b, 3, 0) &&
		 counted(&b, 3) && counted(&b, 3) && moderate(&b, 1, 0) && counted(&b, 1) &&
		 moderate(&b, 2, 0) && counted(&b, 2)) {
		/* less is asked for while some are held back */
		if (moderate(&b, 5, 0) && bench_arm(&b, 0) && bench_send(&b, k->l, 3, false) &&
		    moderate(&b, 3, 0))
			(void)(bench_event(&b) && bench_empty(&b));
		if (KIT_GOOD(k) && moderate(&b, 5, 0) && bench_arm(&b, 0) && bench_send(&b, k->l, 1, false) &&
		    moderate(&b, 0, 0))
			(void)(bench_event(&b) && bench_empty(&b));
		if (KIT_GOOD(k) && asked_again(&b) && fewer(&b) && moderate(&b, 0, 0) && counted(&b, 1) &&
		    late(&b, 9))
			late(&b, 0);
		if (KIT_GOOD(k) && bench_arm(&b, 0) && bench_quiet(&b, k->l))
			no_event(&b, "for completions that an event has reported");
		if (KIT_GOOD(k) && moderate(&b, 2, attr.cq_mod_caps.max_cq_period))
			counted(&b, 2);
		no_event(&b, "that nothing asked for");
	}
}

SCENARIO(moderation) = {
	{"moderation", SUITE("cq"), QPS("RC"), CLAUSE("ibv_modify_cq/DESCRIPTION/cq_count"), LEVEL("SHOULD"),
	 ERRATA("MODERATION"),
	 SAYS("an event after the count or the period, also when they are changed while completions "
	      "are held back")},
	{},
};
