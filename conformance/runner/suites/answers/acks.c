/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Acknowledges and NAKs as a requester may get them: for several requests, for a part of one, late, for nothing. */
#include "suites/answers/responder.h"

static const uint32_t starts[] = {0xfffffe, 0, 0x7ffffd, 0x123456};

/* IBTA 9.7.5.1.2: an acknowledge counts for all before it; one for a PSN that is not outstanding is ignored. */
static bool coalesced(struct responder *p, uint32_t psn)
{
	static const struct ibv_qp_attr attr = {.max_rd_atomic = 1};

	return rsp_up(p, psn, &attr) && POST(p, SEND, 0, 100) && POST(p, RDMA_WRITE, 1, 700) &&
	       POST(p, SEND_WITH_IMM, 2, 256) && rsp_post(p, IBV_WR_RDMA_WRITE_WITH_IMM, 3, 513, 0) &&
	       POST(p, RDMA_WRITE, 0, 0) && rsp_packets(p, 0, 0, 4) && rsp_quiet(p) &&
	       /* not outstanding: executed long ago, never sent, half a circle away */
	       rsp_ack_psn(p, psn - 1) && rsp_ack_psn(p, p->psn) && rsp_ack_psn(p, p->psn + 5) &&
	       rsp_ack_psn(p, psn + 0x800000) && rsp_quiet(p) &&
	       /* a part of a message, twice */
	       rsp_ack(p, 1, 0) && DONE(p, 0) && rsp_quiet(p) && rsp_ack(p, 1, 1) && rsp_ack(p, 1, 0) &&
	       rsp_ack(p, 0, 0) && rsp_quiet(p) &&
	       /* several messages */
	       rsp_ack(p, 2, 0) && DONE(p, 1) && DONE(p, 2) && rsp_quiet(p) && rsp_ack(p, 4, 0) &&
	       DONE(p, 4) &&
	       /* late ones do not count for what was posted since */
	       POST(p, SEND, 1, 257) && rsp_packets(p, 5, 0, 5) && rsp_ack(p, 4, 0) && rsp_ack(p, 0, 0) &&
	       AGAIN(p, 3, 1) && rsp_nak(p, 4, 0, HCASIM_NAK_REM_ACCESS) && rsp_rnr(p, 4, 0, 1) &&
	       rsp_ack_psn(p, p->psn) && rsp_nak(p, 5, 2, HCASIM_NAK_REM_OP) && rsp_quiet(p) &&
	       rsp_ack(p, 5, 1) && DONE(p, 5) && rsp_quiet(p);
}

/* IBTA 9.7.5.1.1 and 9.7.6.1: what a NAK names, and all behind it, is sent again; each progress resets the count. */
static bool sent_again(struct responder *p, uint32_t psn)
{
	static const struct ibv_qp_attr attr = {.retry_cnt = 1, .max_rd_atomic = 1};

	return rsp_up(p, psn, &attr) && POST(p, RDMA_WRITE_WITH_IMM, 0, 1500) && POST(p, SEND, 1, 300) &&
	       rsp_packets(p, 0, 0, 1) && AGAIN(p, 0, 0) && rsp_packets(p, 0, 0, 1) && AGAIN(p, 0, 3) &&
	       rsp_packets(p, 0, 3, 1) && rsp_ack(p, 0, 3) && AGAIN(p, 0, 4) && rsp_packets(p, 0, 4, 1) &&
	       rsp_ack(p, 0, 4) && AGAIN(p, 0, 5) && rsp_packets(p, 0, 5, 1) && AGAIN(p, 1, 0) &&
	       DONE(p, 0) && rsp_packets(p, 1, 0, 1) && AGAIN(p, 1, 1) && rsp_packets(p, 1, 1, 1) &&
	       rsp_ack(p, 1, 1) && DONE(p, 1) && rsp_quiet(p) &&
	       /* without progress */
	       POST(p, SEND, 2, 400) && POST(p, SEND, 3, 1) && rsp_packets(p, 2, 0, 3) && AGAIN(p, 2, 0) &&
	       rsp_packets(p, 2, 0, 3) && AGAIN(p, 2, 0) && rsp_done(p, 2, IBV_WC_RETRY_EXC_ERR) &&
	       rsp_flushed(p, 3, 3);
}

/* The same for each value of retry_cnt: so many times without progress, then an error. */
static bool counted(struct responder *p, uint32_t psn)
{
	struct ibv_qp_attr attr = {.max_rd_atomic = 1};

	for (unsigned int count = 0; count < 8; count += count ? 3 : 1) {
		attr.retry_cnt = count;
		if (!rsp_up(p, psn + count, &attr) || !POST(p, SEND, 0, 10) || !POST(p, SEND, 1, 20) ||
		    !rsp_packets(p, 0, 0, 1))
			return false;
		for (unsigned int i = 0; i < count; i++)
			if (!AGAIN(p, 0, 0) || !rsp_packets(p, 0, 0, 1))
				return false;
		if (!AGAIN(p, 0, 0) || !rsp_done(p, 0, IBV_WC_RETRY_EXC_ERR) || !rsp_flushed(p, 1, 1))
			return false;
	}
	return true;
}

/* IBTA 9.7.5.2.8: requests before the one that is not ready are acknowledged; each progress resets the count. */
static bool not_ready(struct responder *p, uint32_t psn)
{
	static const struct ibv_qp_attr attr = {.retry_cnt = 1, .rnr_retry = 1, .max_rd_atomic = 1};

	return rsp_up(p, psn, &attr) && POST(p, SEND, 0, 300) && POST(p, SEND_WITH_IMM, 1, 20) &&
	       POST(p, RDMA_WRITE_WITH_IMM, 2, 600) && POST(p, SEND, 3, 0) && rsp_packets(p, 0, 0, 3) &&
	       rsp_rnr(p, 0, 0, 1) && rsp_packets(p, 0, 0, 3) && rsp_rnr(p, 1, 0, 2) && DONE(p, 0) &&
	       rsp_packets(p, 1, 0, 3) && rsp_ack(p, 1, 0) && DONE(p, 1) && rsp_rnr(p, 2, 2, 1) &&
	       rsp_packets(p, 2, 2, 3) && rsp_ack(p, 2, 2) && DONE(p, 2) && rsp_rnr(p, 3, 0, 3) &&
	       rsp_packets(p, 3, 0, 3) && rsp_ack(p, 3, 0) && DONE(p, 3) && rsp_quiet(p) &&
	       POST(p, SEND, 1, 1) && POST(p, RDMA_WRITE, 2, 2) && rsp_packets(p, 4, 0, 5) &&
	       rsp_rnr(p, 4, 0, 1) && rsp_packets(p, 4, 0, 5) && rsp_rnr(p, 4, 0, 1) &&
	       rsp_done(p, 4, IBV_WC_RNR_RETRY_EXC_ERR) && rsp_flushed(p, 5, 5);
}

#define LONG_RNR 24 /* code of 40.96 ms: longer than an answer takes */

/* During the delay after an RNR NAK acknowledges count as ever, and a NAK that the wire has repeated counts once. */
static bool delayed(struct responder *p, uint32_t psn)
{
	static const struct ibv_qp_attr attr = {.retry_cnt = 1, .rnr_retry = 1, .max_rd_atomic = 1};

	return rsp_up(p, psn, &attr) && POST(p, RDMA_WRITE_WITH_IMM, 0, 700) && POST(p, SEND, 1, 300) &&
	       rsp_packets(p, 0, 0, 1) && rsp_rnr(p, 0, 2, LONG_RNR) && rsp_ack(p, 0, 2) && DONE(p, 0) &&
	       rsp_packets(p, 1, 0, 1) && rsp_ack(p, 1, 1) && DONE(p, 1) && rsp_quiet(p) &&
	       POST(p, RDMA_WRITE_WITH_IMM, 2, 700) && rsp_packets(p, 2, 0, 2) &&
	       rsp_rnr(p, 2, 0, LONG_RNR) && rsp_ack(p, 2, 1) && rsp_packets(p, 2, 2, 2) &&
	       rsp_ack(p, 2, 2) && DONE(p, 2) && rsp_quiet(p) && POST(p, SEND, 3, 5) &&
	       rsp_packets(p, 3, 0, 3) && rsp_rnr(p, 3, 0, LONG_RNR) && rsp_rnr(p, 3, 0, LONG_RNR) &&
	       rsp_packets(p, 3, 0, 3) && rsp_ack(p, 3, 0) && DONE(p, 3) && rsp_quiet(p);
}

/* Counts of 0: a NAK acknowledges what is before it, and the request that it names fails. */
static bool none_left(struct responder *p, uint32_t psn)
{
	static const struct ibv_qp_attr attr = {.max_rd_atomic = 1};

	return rsp_up(p, psn, &attr) && POST(p, SEND, 0, 10) && POST(p, SEND, 1, 300) &&
	       POST(p, SEND, 2, 1) && rsp_packets(p, 0, 0, 2) && AGAIN(p, 1, 0) && DONE(p, 0) &&
	       rsp_done(p, 1, IBV_WC_RETRY_EXC_ERR) && rsp_flushed(p, 2, 2) && rsp_up(p, psn + 9, &attr) &&
	       POST(p, SEND, 3, 10) && POST(p, SEND, 2, 300) && rsp_packets(p, 0, 0, 1) &&
	       rsp_rnr(p, 1, 0, 1) && DONE(p, 0) && rsp_done(p, 1, IBV_WC_RNR_RETRY_EXC_ERR);
}

/* As many RNR NAKs in a row as rnr_retry for each message: the count is that of the message, not of the queue. */
static bool in_a_row(struct responder *p, uint32_t psn)
{
	struct ibv_qp_attr attr = {.max_rd_atomic = 1};

	for (unsigned int count = 2; count < 7; count += 2) {
		const unsigned int last = 3;

		attr.rnr_retry = count;
		if (!rsp_up(p, psn + count, &attr) || !POST(p, SEND, 0, 30) ||
		    !POST(p, SEND_WITH_IMM, 1, 300) || !POST(p, RDMA_WRITE_WITH_IMM, 2, 0) ||
		    !POST(p, SEND, 3, 1) || !rsp_packets(p, 0, 0, last))
			return false;
		for (unsigned int i = 0; i <= last; i++) {
			for (unsigned int nak = 0; nak < count; nak++)
				if (!rsp_rnr(p, i, 0, 1) || !rsp_packets(p, i, 0, last))
					return false;
			/* the last one once more */
			if (i == last ? !rsp_rnr(p, i, 0, 1) || !rsp_done(p, i, IBV_WC_RNR_RETRY_EXC_ERR)
				      : !rsp_ack(p, i, p->ask[i].packets - 1) || !DONE(p, i))
				return false;
		}
	}
	return true;
}

/* rnr_retry 7 has no end, and retry_cnt does not count it. */
static bool patient(struct responder *p, uint32_t psn)
{
	static const struct ibv_qp_attr attr = {.rnr_retry = 7, .max_rd_atomic = 1};

	if (!rsp_up(p, psn, &attr) || !POST(p, SEND, 0, 5) || !rsp_packets(p, 0, 0, 0))
		return false;
	for (unsigned int i = 0; i < 12; i++)
		if (!rsp_rnr(p, 0, 0, 1) || !rsp_packets(p, 0, 0, 0))
			return false;
	return rsp_ack(p, 0, 0) && DONE(p, 0) && rsp_quiet(p);
}

typedef bool answers_fn(struct responder *p, uint32_t psn);

/* Everything twice, with PSNs that wrap at different places. */
static void play(struct kit *k, answers_fn *const *parts, unsigned int num)
{
	static struct responder p;
	bool good = rsp_open(k, &p);

	for (unsigned int i = 0; i < num * 2 && good; i++)
		good = parts[i % num](&p, starts[(i + i / num) % 4]);
	if (good)
		pqp_judge_memory(&p.t);
}

static void answers_acks(struct kit *k)
{
	static answers_fn *const parts[] = {coalesced, sent_again, counted};

	play(k, parts, 3);
}

SCENARIO(answers_acks) = {
	{"acks", SUITE("answers"), QPS("RC"), ARGS({"more", 0}), FORMS({""}, {"-ipv4", {{"ipv4", 1}}}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/retry_cnt"), ALSO("ibv_modify_qp/DESCRIPTION/sq_psn"),
	 LEVEL("SHOULD"), ERRATA("ANSWER RETRY-COUNT RELIABLE FLUSH-ORDER"),
	 NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("an acknowledge completes all requests before it, one for what is not outstanding none; "
	      "what a NAK names is sent again, so often as retry_cnt without progress")},
	{},
};

static void answers_rnr(struct kit *k)
{
	static answers_fn *const parts[] = {not_ready, in_a_row, patient, delayed, none_left};

	play(k, parts, 5);
}

SCENARIO(answers_rnr) = {
	{"rnr", SUITE("answers"), QPS("RC"), ARGS({"more", 0}), CLAUSE("ibv_modify_qp/DESCRIPTION/rnr_retry"),
	 LEVEL("SHOULD"), ERRATA("ANSWER RNR-RETRY FLUSH-ORDER"),
	 NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("an RNR NAK acknowledges what is before it, the rest is sent again, so often as "
	      "rnr_retry without progress")},
	{},
};
