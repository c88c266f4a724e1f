/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Programs that wait for completion events and poll a bounded number of completions at a time. A pattern is what such a
 * program does between two events. Each burst is in the CQ as a whole before the program runs: only its last message is
 * solicited, and that is what the program asks for. So no pattern depends on how fast the device or the thread is.
 */
#include <string.h>

#include "suites/completions/bench.h"

#define BURST  12u
#define BURSTS 3
#define LIMIT  4u /* completions that the program takes at a time */
#define TURNS  16 /* more than any pattern needs for a burst */

struct program {
	struct bench b;
	struct kit *k;
	bool late; /* a message is still to come at the point where the pattern is open to a race */
};

static unsigned int take(struct program *p)
{
	return bench_poll(&p->b, LIMIT);
}

static void arm(struct program *p)
{
	bench_arm(&p->b, 1);
}

static void late_message(struct program *p)
{
	if (p->late && KIT_GOOD(p->k))
		bench_send(&p->b, p->k->l, 1, true);
	p->late = false;
}

/* Returns whether the program waits for an event now. */
typedef bool pattern(struct program *p);

static bool drain(struct program *p)
{
	arm(p);
	late_message(p);
	while (take(p))
		;
	return true;
}

/* Also right: empty the CQ, arm it, and poll again. */
static bool budget(struct program *p)
{
	if (take(p) == LIMIT)
		return false;
	arm(p);
	late_message(p);
	return !take(p);
}

/* Wrong: what is left was there before the CQ was armed. */
static bool arm_first(struct program *p)
{
	arm(p);
	take(p);
	return true;
}

/* Wrong: what comes after the last poll was there before the CQ was armed. */
static bool arm_last(struct program *p)
{
	while (take(p))
		;
	late_message(p);
	arm(p);
	return true;
}

/* Runs the pattern until it waits. */
static void until_waiting(struct program *p, pattern *run)
{
	int turn = 0;

	while (KIT_GOOD(p->k) && !run(p))
		KIT_CHECK(p->k, ++turn < TURNS, "the pattern does not come to wait for an event");
}

/* Whether the program, which waits, is woken up: an event is there once the device has done all that it was asked. */
static bool woken(struct program *p)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ibv_query_qp(p->k->l->qp, &attr, IBV_QP_STATE, &init);
	return end_cq_event_ready(p->b.channel, 0) && bench_event(&p->b);
}

/* Goes on while there are events, also without a completion: a completion came between an arm and the poll after it. */
static void run_woken(struct program *p, pattern *run)
{
	int turn = 0;

	do {
		until_waiting(p, run);
		KIT_CHECK(p->k, ++turn < TURNS, "completion events come without end");
	} while (KIT_GOOD(p->k) && woken(p));
}

/*
 * A right pattern leaves nothing when it waits. A wrong one waits with completions in the CQ: it has lost a wake-up, and
 * only the next message gives it one. The argument `lost`: 0 for a right pattern, 1 for a wrong one, 2 for one that a
 * device may save, by an event for what was there when the CQ was armed.
 */
static void one_burst(struct program *p, pattern *run, int lost)
{
	unsigned int left;

	p->late = kit_arg(p->k, "late", 0);
	if (!bench_send(&p->b, p->k->l, BURST, true) || !bench_event(&p->b))
		return;
	run_woken(p, run);
	left = bench_num(&p->b);
	if (!KIT_GOOD(p->k))
		return;
	KIT_CHECK(p->k, lost || !left,
		  "the program waits for an event that does not come: %u completions are in the CQ", left);
	KIT_CHECK(p->k, lost != 1 || left, "an event came for completions that an event had reported before");
	if (!left)
		return;
	seen(p->k->res, "a wake-up was lost with %u completions in the CQ; ", left);
	if (bench_send(&p->b, p->k->l, 1, true) && bench_event(&p->b))
		bench_arm(&p->b, 1);
	bench_empty(&p->b);
}

static void bounded_poll(struct kit *k)
{
	static pattern *const patterns[] = {drain, budget, arm_first, arm_last};
	pattern *run = patterns[kit_arg(k, "pattern", 0)];
	struct program p = {.k = k};

	if (bench_open(&p.b, k, 2 * BURST) && bench_link(&p.b, k->l, NULL) && bench_arm(&p.b, 1))
		for (int i = 0; i < BURSTS && KIT_GOOD(k); i++)
			one_burst(&p, run, kit_arg(k, "lost", 0));
}

SCENARIO(bounded_poll) = {
	{"bounded-drain", SUITE("notify"), QPS("RC"), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 CLAUSE("ibv_get_cq_event/NOTES/extra"),
	 SAYS("to arm, poll until the CQ is empty and wait loses no wake-up")},
	{"bounded-drain-late", ARGS({"late", 1}), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 SAYS("nor when a message comes between arm and poll: the event is there")},
	{"bounded-budget", ARGS({"pattern", 1}), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 SAYS("to wait only if an armed CQ was empty loses no wake-up")},
	{"bounded-budget-late", ARGS({"pattern", 1}, {"late", 1}), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 SAYS("nor when a message comes between arm and last poll")},
	{"bounded-arm-first", ARGS({"pattern", 2}, {"lost", 1}), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 CLAUSE("ibv_req_notify_cq/DESCRIPTION/any"), LEVEL("SHOULD"), ERRATA("NOTIFY-ORDER"),
	 SAYS("to arm and then poll a few loses the wake-up: no event for what an event has reported, "
	      "one with the next message")},
	{"bounded-arm-last", ARGS({"pattern", 3}, {"late", 1}, {"lost", 2}),
	 FORMS({""}, {"-ex", {{"ex", 1}}}),
	 SAYS("a message between the last poll and the arm has its event at once or with the next "
	      "message")},
	{},
};
