/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Queues that stop while requests are on their way: SQD and back, ERR, RESET; and peers that do not answer. */
#include "suites/answers/responder.h"

static bool is_drained(struct responder *p)
{
	return kit_expect_async(p->t.k, p->t.k->r->dut.responder.ctx, IBV_EVENT_SQ_DRAINED, p->t.qp);
}

/* The event has not come yet. */
static bool undrained(struct responder *p)
{
	struct ibv_async_event event;

	if (kit_next_async(p->t.k->r->dut.responder.ctx, 0, &event))
		KIT_FAULT(p->t.k, "the asynchronous event '%s' came before all that was begun had ended",
			  ibv_event_type_str(event.event_type));
	return KIT_GOOD(p->t.k);
}

/* IBTA 10.3.1.5: in SQD what was sent is repeated and answered; what was not begun waits for RTS. */
static bool drained(struct responder *p, uint32_t psn)
{
	static const struct ibv_qp_attr attr = {.retry_cnt = 3, .rnr_retry = 3, .max_rd_atomic = 1};

	kit_drain_async(p->t.k->r->dut.responder.ctx);
	return rsp_up(p, psn, &attr) && POST(p, RDMA_WRITE, 0, 700) && POST(p, SEND, 1, 20) &&
	       POST(p, RDMA_READ, 2, 300) && POST(p, ATOMIC_FETCH_AND_ADD, 3, 8) && POST(p, SEND, 1, 1) &&
	       rsp_packets(p, 0, 0, 2) && rsp_move(p, IBV_QPS_SQD) && rsp_quiet(p) && AGAIN(p, 0, 1) &&
	       rsp_packets(p, 0, 1, 2) && rsp_rnr(p, 1, 0, 1) && DONE(p, 0) && rsp_packets(p, 1, 0, 2) &&
	       POST(p, SEND, 2, 30) && rsp_quiet(p) && undrained(p) && rsp_reads(p, 2, 0, 0, 1) &&
	       DONE(p, 1) && DONE(p, 2) && is_drained(p) && rsp_quiet(p) && rsp_move(p, IBV_QPS_RTS) &&
	       rsp_packets(p, 3, 0, 5) && rsp_quiet(p) && rsp_atomic(p, 3, 7) && DONE(p, 3) && rsp_quiet(p) &&
	       rsp_ack(p, 5, 0) && DONE(p, 4) && DONE(p, 5) &&
	       /* again, with nothing on its way, and with one that is not the last */
	       rsp_move(p, IBV_QPS_SQD) && is_drained(p) && POST(p, SEND, 0, 3) && rsp_quiet(p) &&
	       rsp_move(p, IBV_QPS_RTS) && rsp_packets(p, 6, 0, 6) && rsp_move(p, IBV_QPS_SQD) &&
	       rsp_quiet(p) && rsp_ack(p, 6, 0) && DONE(p, 6) && is_drained(p) && rsp_move(p, IBV_QPS_RTS) &&
	       rsp_quiet(p);
}

/* Requests on their way are flushed; answers that come then are for nobody, also in the next life. */
static bool ended(struct responder *p, uint32_t psn)
{
	static const struct ibv_qp_attr attr = {.max_rd_atomic = 2};

	for (unsigned int way = 0; way < 4; way++) {
		const uint64_t was = 0x1122334455667788;

		if (!rsp_up(p, psn + way, &attr) || !POST(p, SEND, 0, 300) || !POST(p, RDMA_READ, 1, 300) ||
		    !POST(p, ATOMIC_FETCH_AND_ADD, 2, 8) || !POST(p, RDMA_READ, 3, 20) ||
		    !rsp_packets(p, 0, 0, 2))
			return false;
		if (way & 1 && !rsp_move(p, IBV_QPS_SQD))
			return false;
		if (way < 2) {
			if (!rsp_move(p, IBV_QPS_ERR) || !rsp_flushed(p, 0, 3) || !rsp_ack(p, 0, 1) ||
			    !rsp_wrong(p, 1, 0, HCASIM_BTH_CODE_RDMA_READ_RESPONSE_FIRST, 256))
				return false;
		} else if (!rsp_move(p, IBV_QPS_RESET) || !rsp_ack(p, 0, 1)) {
			return false;
		}
		if (!rsp_up(p, psn + 0x1000, &attr) || !POST(p, ATOMIC_FETCH_AND_ADD, 2, 8) ||
		    !POST(p, SEND, 1, 30) || !rsp_packets(p, 0, 0, 1) || !rsp_quiet(p) ||
		    !rsp_atomic(p, 0, was + way) || !DONE(p, 0) || !rsp_quiet(p) || !rsp_ack(p, 1, 0) ||
		    !DONE(p, 1))
			return false;
	}
	return true;
}

static void answers_stopped(struct kit *k)
{
	static struct responder p;

	if (rsp_open(k, &p) && drained(&p, 0xfffffd) && ended(&p, 0x123456) && drained(&p, 9))
		pqp_judge_memory(&p.t);
}

SCENARIO(answers_stopped) = {
	{"stopped", SUITE("answers"), QPS("RC"), ARGS({"more", 0}),
	 CLAUSE("ibv_get_async_event/DESCRIPTION/IBV_EVENT_SQ_DRAINED"),
	 ALSO("ibv_modify_qp/DESCRIPTION/qp_state"), LEVEL("SHOULD"), ERRATA("ANSWER SQ-DRAINED QP-RECYCLE"),
	 NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("in SQD requests that were begun are repeated and completed, and no other begins; "
	      "answers that come in ERR, or after RESET, count for nothing")},
	{},
};

/* ---- Time ---- */

static bool later(struct responder *p, uint64_t since, uint64_t least_us)
{
	uint64_t took = kit_now_us() - since;

	if (took < least_us)
		KIT_FAULT(p->t.k, "sent again after %llu us, must not be before %llu us",
			  (unsigned long long)took, (unsigned long long)least_us);
	return KIT_GOOD(p->t.k);
}

/* Nobody answers for 4.096 us * 2^12 (erratum ACK-TIMEOUT); what was acknowledged or answered is not sent again. */
static bool repeated(struct responder *p, uint32_t psn)
{
	static const struct ibv_qp_attr attr = {.timeout = 12, .retry_cnt = 7, .max_rd_atomic = 2};
	const uint64_t since = kit_now_us();

	return rsp_up(p, psn, &attr) && POST(p, RDMA_WRITE, 0, 700) && POST(p, RDMA_READ, 1, 600) &&
	       POST(p, SEND, 2, 9) && rsp_packets(p, 0, 0, 2) && rsp_ack(p, 0, 1) && rsp_await(p, 0, 2) &&
	       later(p, since, 16777) && rsp_await(p, 1, 0) && rsp_await(p, 2, 0) && rsp_read(p, 1, 0, 0) &&
	       DONE(p, 0) && rsp_await(p, 1, 1) && rsp_await(p, 2, 0) && rsp_reads(p, 1, 1, 1, 2) &&
	       DONE(p, 1) && rsp_ack(p, 2, 0) && DONE(p, 2);
}

/* Silence is counted, and each sign of progress resets it. The QP may be in ERR before all requests are posted. */
static bool given_up(struct responder *p, uint32_t psn)
{
	static const struct ibv_qp_attr attr = {.timeout = 7, .retry_cnt = 2, .max_rd_atomic = 2};
	const uint64_t since = kit_now_us();

	return rsp_up(p, psn, &attr) && POST(p, SEND, 0, 700) && POST(p, RDMA_READ, 1, 600) &&
	       POST(p, SEND, 2, 1) && rsp_done(p, 0, IBV_WC_RETRY_EXC_ERR) && later(p, since, 3 * 524) &&
	       rsp_flushed(p, 1, 2);
}

/* In SQD, too, what was begun is sent again. */
static bool repeated_in_sqd(struct responder *p, uint32_t psn)
{
	static const struct ibv_qp_attr attr = {.timeout = 12, .retry_cnt = 7, .max_rd_atomic = 1};

	kit_drain_async(p->t.k->r->dut.responder.ctx);
	return rsp_up(p, psn, &attr) && POST(p, SEND, 0, 20) && rsp_await(p, 0, 0) &&
	       rsp_move(p, IBV_QPS_SQD) && rsp_await(p, 0, 0) && rsp_ack(p, 0, 0) && DONE(p, 0) &&
	       is_drained(p);
}

static void answers_silent(struct kit *k)
{
	static struct responder p;

	if (rsp_open(k, &p) && repeated(&p, 0xfffffd) && given_up(&p, 0x400000) && repeated_in_sqd(&p, 5))
		pqp_judge_memory(&p.t);
}

SCENARIO(answers_silent) = {
	{"silent", SUITE("answers"), QPS("RC"), ARGS({"more", 0}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/timeout"), ALSO("ibv_modify_qp/DESCRIPTION/retry_cnt"),
	 LEVEL("SHOULD"), ERRATA("ANSWER ACK-TIMEOUT RETRY-COUNT"),
	 NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("what was not acknowledged is sent again, not before the timeout, and given up after "
	      "retry_cnt repetitions")},
	{},
};
