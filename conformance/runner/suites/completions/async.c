/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Asynchronous events: of the right object, while other objects of the same kind exist and have none. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "link/link_modify.h"
#include "suites/completions/bench.h"

/* Two links of the same kind, of which the one of the cell is the one with the event. */
static bool open_two(struct kit *k, struct bench *b, struct link *other, const struct link_opts *opts)
{
	if (!bench_open(b, k, 64) || !bench_link(b, other, NULL) || !bench_link(b, k->l, opts))
		return false;
	kit_drain_async(k->r->dut.requester.ctx);
	kit_drain_async(k->r->dut.responder.ctx);
	return true;
}

/* Later messages establish nothing. */
static bool established_once(struct kit *k)
{
	kit_expect_state(k, k->l->qp, IBV_QPS_RTR);
	if (KIT_GOOD(k) && !kit_holds(k, !end_async_ready(k->r->dut.requester.ctx, 0)))
		KIT_FAULT(k, "a second asynchronous event came for a QP in RTR");
	return KIT_GOOD(k);
}

/* The first message for a QP in RTR establishes the communication. */
static void async_established(struct kit *k)
{
	const struct link_opts opts = {.short_of = 1};
	struct link other = {0};
	struct bench b = {.k = k};
	int ret;

	if (open_two(k, &b, &other, &opts) && bench_put(&b, &other, 1) && bench_put(&b, k->l, 2) &&
	    bench_empty(&b) && kit_expect_async(k, k->r->dut.requester.ctx, IBV_EVENT_COMM_EST, k->l->qp) &&
	    bench_put(&b, k->l, 1) && bench_empty(&b) && established_once(k)) {
		ret = link_go_on(k->l);
		if (ret)
			KIT_FAULT(k, "%s failed with %s", k->l->step, errno_name(ret));
		else if (bench_put(&b, k->l, 2))
			bench_empty(&b);
	}
}

SCENARIO(async_established) = {
	{"established", SUITE("async"), QPS("RC"), ARGS({"access", 0}),
	 CLAUSE("ibv_get_async_event/DESCRIPTION/IBV_EVENT_COMM_EST"), LEVEL("SHOULD"), ERRATA("ASYNC-WHEN"),
	 SAYS("IBV_EVENT_COMM_EST for the QP in RTR for which a message came, and not for another one")},
	{},
};

static bool to_state(struct kit *k, struct link *l, enum ibv_qp_state state, bool notify)
{
	struct ibv_qp_attr attr = {.qp_state = state, .en_sqd_async_notify = notify};
	int ret = ibv_modify_qp(l->qp, &attr, IBV_QP_STATE | (notify ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0));

	log_call(&k->res->log,
		 "ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_%s%s}, IBV_QP_STATE) /* QP "
		 "0x%x */",
		 state == IBV_QPS_SQD ? "SQD" : "RTS", notify ? ", .en_sqd_async_notify = 1" : "",
		 l->qp->qp_num);
	return KIT_MUST(k, !ret, "ibv_modify_qp failed with %s", errno_name(ret));
}

/* Both send queues are drained, one asks for the event. */
static void async_drained(struct kit *k)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct link other = {0};
	struct bench b = {.k = k};

	if (open_two(k, &b, &other, NULL))
		for (int turn = 0; turn < 2 && KIT_GOOD(k); turn++) {
			kit_alive(k, k->l);
			(void)(KIT_GOOD(k) && to_state(k, &other, IBV_QPS_SQD, false) &&
			       to_state(k, k->l, IBV_QPS_SQD, true) &&
			       kit_expect_async(k, ctx, IBV_EVENT_SQ_DRAINED, k->l->qp) &&
			       to_state(k, k->l, IBV_QPS_RTS, false) &&
			       to_state(k, &other, IBV_QPS_RTS, false));
		}
	if (KIT_GOOD(k) && end_async_ready(ctx, 0))
		KIT_FAULT(k, "an asynchronous event came for a QP that did not ask for it");
}

SCENARIO(async_drained) = {
	{"drained", SUITE("async"), QPS("RC"), ARGS({"access", 0}),
	 CLAUSE("ibv_get_async_event/DESCRIPTION/IBV_EVENT_SQ_DRAINED"), LEVEL("SHOULD"),
	 ERRATA("ASYNC-WHEN"),
	 SAYS("IBV_EVENT_SQ_DRAINED for the QP that asked for it when it went to SQD, twice, and not "
	      "for another one")},
	{},
};

/* A request that the responder refuses: its QP gets the event that says why. */
static void async_refused(struct kit *k)
{
	bool access = kit_arg(k, "access", 0);
	struct link other = {0};
	struct bench b = {.k = k};
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	int ret;

	if (open_two(k, &b, &other, NULL)) {
		sge = (struct ibv_sge){arena_address(&k->l->local, k->l->local.base), 8,
				       k->l->local.mr->lkey};
		wr = kit_wr(0xa5, access ? IBV_WR_RDMA_WRITE : IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
		if (access) {
			wr.wr.rdma.remote_addr = arena_address(&k->l->target, k->l->target.base);
			wr.wr.rdma.rkey = k->l->target.mr->rkey ^ 0x5500;
		} else { /* not aligned */
			wr.wr.atomic.remote_addr = arena_address(&k->l->target, k->l->target.base) + 4;
			wr.wr.atomic.rkey = k->l->target.mr->rkey;
		}
		ret = kit_post(k, k->l->qp, k->l->peer, &wr, NULL);
		if (ret && !access)
			seen(k->res, "posting refused with %s; ", errno_name(ret));
		else if (ret)
			KIT_FAULT(k, "posting was refused with %s", errno_name(ret));
		else if (kit_expect(k, k->l, k->l->cq, k->l->qp, 0xa5, k->cell->status) &&
			 kit_expect_async(k, k->r->dut.responder.ctx,
					  access ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR,
					  k->l->peer))
			kit_expect_state(k, k->l->peer, IBV_QPS_ERR);
		if (KIT_GOOD(k) && bench_put(&b, &other, 2))
			bench_empty(&b);
	}
}

SCENARIO(async_refused) = {
	{"access", SUITE("async"), QPS("RC"), ARGS({"access", IBV_ACCESS_LOCAL_WRITE}),
	 CLAUSE("ibv_get_async_event/DESCRIPTION/IBV_EVENT_QP_ACCESS_ERR"), LEVEL("SHOULD"),
	 ERRATA("ASYNC-WHEN"), STATUS("REM_ACCESS_ERR"),
	 SAYS("IBV_EVENT_QP_ACCESS_ERR for the responder's QP whose peer used a wrong rkey")},
	{"request", ARGS({"access", 0}), CLAUSE("ibv_get_async_event/DESCRIPTION/IBV_EVENT_QP_REQ_ERR"),
	 STATUS("REM_INV_REQ_ERR"),
	 SAYS("IBV_EVENT_QP_REQ_ERR for the responder's QP that got an atomic that is not aligned")},
	{},
};

/* Waits for the error of the CQ; that of its QP may come before or after it. */
static void expect_overrun(struct kit *k, const struct ibv_cq *cq, const struct ibv_qp *qp)
{
	struct ibv_async_event event;
	bool cq_err = false, fatal = false;

	while (!(cq_err && fatal)) {
		KIT_CHECK(k, kit_next_async(k->r->dut.requester.ctx, k->r->dut.timeout_ms, &event),
			  "the asynchronous event of the %s did not come", cq_err ? "QP" : "CQ");
		seen(k->res, "event '%s'; ", ibv_event_type_str(event.event_type));
		if (event.event_type == IBV_EVENT_CQ_ERR && !cq_err && event.element.cq == cq)
			cq_err = true;
		else if (event.event_type == IBV_EVENT_QP_FATAL && !fatal && event.element.qp == qp)
			fatal = true;
		else if (event.event_type != IBV_EVENT_COMM_EST)
			KIT_CHECK(k, false, "the asynchronous event '%s' came, or names another object",
				  ibv_event_type_str(event.event_type));
	}
}

/* A CQ has its error once, however many receives of its QP, which is in ERR, find no room. */
static void judge_overrun(struct kit *k)
{
	struct ibv_recv_wr wr = {.wr_id = 0x1a7e}, *bad;
	struct ibv_async_event event;

	kit_expect_state(k, k->l->qp, IBV_QPS_ERR);
	for (int i = 0; i < 3 && KIT_GOOD(k); i++) {
		KIT_CHECK(k, !ibv_post_recv(k->l->qp, &wr, &bad), "a receive of a QP in ERR was refused");
		kit_expect_state(k, k->l->qp, IBV_QPS_ERR);
	}
	while (kit_next_async(k->r->dut.requester.ctx, 0, &event))
		KIT_CHECK(k, event.event_type == IBV_EVENT_COMM_EST,
			  "the asynchronous event '%s' came after those of the overrun",
			  ibv_event_type_str(event.event_type));
}

/* One message more than the CQ of the receives holds. The CQ of another QP works as before. */
static void async_overrun(struct kit *k)
{
	struct bench b = {.k = k}, kept = {.k = k};
	struct link other = {0};
	unsigned int room;

	if (bench_open(&kept, k, 8) && bench_link(&kept, &other, NULL) && bench_open(&b, k, 4) &&
	    bench_link(&b, k->l, &(struct link_opts){.cq = kept.cq})) {
		kit_drain_async(k->r->dut.requester.ctx);
		for (room = b.cq->cqe; room && KIT_GOOD(k); room -= room < 4 ? room : 4)
			bench_put(&b, k->l, room < 4 ? room : 4);
		if (KIT_GOOD(k) && end_async_ready(k->r->dut.requester.ctx, 0))
			KIT_FAULT(k, "an asynchronous event came before the CQ was overrun");
		if (KIT_GOOD(k) && bench_start(&b, k->l, 1, true))
			expect_overrun(k, b.cq, k->l->qp);
		if (KIT_GOOD(k))
			judge_overrun(k);
		if (KIT_GOOD(k) && bench_put(&kept, &other, 3))
			bench_empty(&kept);
	}
}

SCENARIO(async_overrun) = {
	{"overrun", SUITE("async"), QPS("RC"), ARGS({"access", 0}),
	 CLAUSE("ibv_get_async_event/DESCRIPTION/IBV_EVENT_CQ_ERR"), LEVEL("SHOULD"), ERRATA("ASYNC-WHEN"),
	 SAYS("IBV_EVENT_CQ_ERR for the CQ of receives that are too many, IBV_EVENT_QP_FATAL for their "
	      "QP; another CQ works")},
	{},
};

#define CLOCK_SLACK 1000000 /* nanoseconds: the page names no precision */

static uint64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* What the system's clock and the device's clock say at the same time. */
struct clocks {
	uint64_t wall, ticks;
	bool both;
};

static struct clocks read_clocks(const struct end *end)
{
	struct clocks c = {.wall = real_ns()};

	c.both = end->clock_khz && dut_ticks(end, &c.ticks);
	return c;
}

/*
 * How far a time of the device's clock may be off when it is converted. On a busy host a thread may lose the processor
 * between the readings of two clocks, and a device that is a process falls behind and catches up: by no more than what
 * has passed meanwhile, on either clock.
 */
static uint64_t clock_slack(const struct end *end, const struct clocks *from, const struct clocks *to)
{
	const uint64_t wall = to->wall - from->wall;
	uint64_t device = wall;

	if (from->both && to->both)
		device = (uint64_t)((double)(to->ticks - from->ticks) * 1e6 / (double)end->clock_khz);
	return CLOCK_SLACK + (wall > device ? wall : device);
}

/* Within a batch both times of completions are as far apart: the wall clock is the time stamp, converted. */
static void judge_distance(struct kit *k, const uint64_t *at, const uint64_t *stamp, unsigned int i)
{
	const double khz = (double)k->r->dut.requester.clock_khz;
	const double wall = (double)(at[i] - at[0]), device = (double)(stamp[i] - stamp[0]) * 1e6 / khz;
	const double most = 2 + device / 1e4; /* both are rounded, and so is the frequency */

	if (khz > 0 && (wall - device > most || device - wall > most))
		KIT_FAULT(k,
			  "two completions are %.0f ns apart by the wall clock and %.1f ns by their time "
			  "stamps",
			  wall, device);
}

/* One batch: the time of each completion is between readings of the clock before and after it, and they are in order. */
static void wallclock_batch(struct kit *k, struct bench *b, const struct clocks *before)
{
	const struct end *end = &k->r->dut.requester;
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)b->cq;
	struct ibv_poll_cq_attr none = {};
	const uint64_t after = real_ns();
	uint64_t at[BENCH_TURN], stamp[BENCH_TURN], slack;
	unsigned int num = 0;
	struct clocks now;
	int ret;

	for (ret = ibv_start_poll(cq, &none); !ret; ret = ibv_next_poll(cq), b->first++) {
		at[num % BENCH_TURN] = ibv_wc_read_completion_wallclock_ns(cq);
		stamp[num++ % BENCH_TURN] = ibv_wc_read_completion_ts(cq);
	}
	if (num)
		ibv_end_poll(cq);
	now = read_clocks(end);
	slack = clock_slack(end, before, &now);
	for (unsigned int i = 0; i < num; i++) {
		const uint64_t least = i ? at[i - 1] : before->wall;

		KIT_CHECK(k, at[i] + slack >= least && at[i] <= after + slack,
			  "the time of completion %u is %llu, not between %llu and %llu", i,
			  (unsigned long long)at[i], (unsigned long long)least, (unsigned long long)after);
		judge_distance(k, at, stamp, i);
	}
}

#define FULL 4

/* WRITEs of no byte, each with a completion; the device has had a command after them. */
static bool send_all(struct kit *k, int num)
{
	struct ibv_send_wr wr = kit_wr(0, IBV_WR_RDMA_WRITE, NULL);
	int ret = 0;

	for (int i = 0; i < num && !ret; i++) {
		wr.wr_id = i;
		ret = kit_post(k, k->l->qp, k->l->peer, &wr, NULL);
	}
	if (ret)
		KIT_FAULT(k, "posting was refused with %s", errno_name(ret));
	else
		kit_expect_state(k, k->l->qp, IBV_QPS_RTS);
	return KIT_GOOD(k);
}

/* The CQ of a QP's requests is full, and stays so while messages come to its receives, in another CQ: nothing overruns. */
static void async_full(struct kit *k)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_cq *full = ibv_create_cq(ctx, FULL, NULL, NULL, 0);
	const int room = full ? full->cqe : 0;
	const struct link_opts opts = {.cq = full, .sq_depth = room};
	struct ibv_async_event event;
	struct bench b = {.k = k};

	KIT_CHECK(k, full, "ibv_create_cq failed with %s", errno_name(errno));
	if (bench_open(&b, k, 64) && bench_link(&b, k->l, &opts) && send_all(k, room)) {
		kit_drain_async(ctx);
		for (int i = 0; i < 4 && KIT_GOOD(k); i++)
			(void)(bench_put(&b, k->l, 3) && bench_empty(&b));
		while (KIT_GOOD(k) && kit_next_async(ctx, 0, &event))
			if (!kit_holds(k, event.event_type == IBV_EVENT_COMM_EST))
				KIT_FAULT(k, "the asynchronous event '%s' came",
					  ibv_event_type_str(event.event_type));
		for (int i = 0; i < room && KIT_GOOD(k); i++)
			kit_expect(k, k->l, full, k->l->qp, i, IBV_WC_SUCCESS);
	}
}

SCENARIO(async_full) = {
	{"full", SUITE("async"), QPS("RC"), ARGS({"access", 0}),
	 CLAUSE("ibv_get_async_event/DESCRIPTION/IBV_EVENT_CQ_ERR"), LEVEL("SHOULD"), ERRATA("ASYNC-WHEN"),
	 SAYS("no CQ has an error while that of a QP's requests is full and its receives complete into "
	      "another one")},
	{},
};

/* The wall clock of each completion, of several batches. */
static void wallclock(struct kit *k)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 8,
					   .wc_flags = IBV_WC_STANDARD_FLAGS |
						       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
						       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};
	struct bench b = {.k = k};
	int ret;

	if (kit_arg(k, "single", 0)) {
		attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
		attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	}
	ret = bench_create(&b, k, &attr);

	if (ret == EOPNOTSUPP || ret == EINVAL)
		seen(k->res, "the device has no wall clock; ");
	else if (ret)
		KIT_FAULT(k, "ibv_create_cq_ex failed with %s", errno_name(ret));
	for (int turn = 0; turn < 3 && b.cq && KIT_GOOD(k); turn++) {
		const struct clocks before = read_clocks(&k->r->dut.requester);

		/* one after the other: their times are far enough apart to be compared */
		if ((!turn && !bench_link(&b, k->l, NULL)) || !bench_put(&b, k->l, 1) ||
		    !bench_put(&b, k->l, 1) || !bench_put(&b, k->l, 1))
			break;
		wallclock_batch(k, &b, &before);
		bench_empty(&b);
	}
}

SCENARIO(wallclock) = {
	{"wallclock", SUITE("cq"), QPS("RC"), ARGS({"ex", 1}),
	 CLAUSE("ibv_create_cq_ex/DESCRIPTION/ibv_wc_read_completion_wallclock_ns"), LEVEL("SHOULD"),
	 SAYS("each completion has the time of the system's clock when it came, also when several are "
	      "polled in one batch")},
	{"wallclock-single", ARGS({"ex", 1}, {"single", 1}),
	 SAYS("the same of a CQ that is polled by one thread, IBV_CREATE_CQ_ATTR_SINGLE_THREADED")},
	{},
};
