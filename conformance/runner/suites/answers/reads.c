/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Answers of READs and atomics: as many as max_rd_atomic in flight, fences, lost and repeated answers, wrong ones. */
#include "suites/answers/responder.h"

#define FENCED (IBV_SEND_SIGNALED | IBV_SEND_FENCE)

static const struct ibv_qp_attr two = {.retry_cnt = 2, .rnr_retry = 2, .max_rd_atomic = 2};

/* The answer of READ or atomic `i` makes room for another one. */
static bool next_of(struct responder *p, unsigned int i, unsigned int limit)
{
	const unsigned int next = i + limit;

	if (!rsp_quiet(p))
		return false;
	if (p->ask[i].op == IBV_WR_RDMA_READ ? !rsp_reads(p, i, 0, 0, p->ask[i].packets - 1)
					     : !rsp_atomic(p, i, 0x8877665544332211 + i))
		return false;
	/* the SEND behind the last of them is not limited */
	return DONE(p, i) && (next > 7 || rsp_packets(p, next, 0, next < 7 ? next : 8));
}

/* IBTA 9.4.4: no more READs and atomics than max_rd_atomic; each answer makes room for one. */
static bool limited(struct responder *p, uint32_t psn)
{
	for (unsigned int limit = 1; limit <= 4; limit++) {
		const struct ibv_qp_attr attr = {.max_rd_atomic = limit};

		if (!rsp_up(p, psn + limit, &attr))
			return false;
		for (unsigned int i = 0; i < 8; i++)
			if (i % 3 == 1 ? !POST(p, ATOMIC_FETCH_AND_ADD, i % 4, 8)
				       : !POST(p, RDMA_READ, i % 4, 200 + 100 * i))
				return false;
		if (!POST(p, SEND, 0, 64) || !rsp_packets(p, 0, 0, limit - 1))
			return false;
		for (unsigned int i = 0; i < 8; i++)
			if (!next_of(p, i, limit))
				return false;
		if (!rsp_ack(p, 8, 0) || !DONE(p, 8) || !rsp_quiet(p))
			return false;
	}
	return true;
}

/* IBTA 10.8.3.3: a fenced request begins when all READs and atomics before it have been answered. */
static bool fenced(struct responder *p, uint32_t psn)
{
	return rsp_up(p, psn, &two) && POST(p, RDMA_READ, 0, 600) && POST(p, ATOMIC_FETCH_AND_ADD, 1, 8) &&
	       rsp_post(p, IBV_WR_SEND, 0, 600, FENCED) && POST(p, RDMA_WRITE, 2, 40) &&
	       POST(p, ATOMIC_CMP_AND_SWP, 3, 8) && rsp_post(p, IBV_WR_RDMA_WRITE, 3, 8, FENCED) &&
	       rsp_packets(p, 0, 0, 1) && rsp_quiet(p) && rsp_reads(p, 0, 0, 0, 1) && rsp_quiet(p) &&
	       rsp_read(p, 0, 0, 2) && DONE(p, 0) && rsp_quiet(p) && rsp_atomic(p, 1, ~7ull) && DONE(p, 1) &&
	       rsp_packets(p, 2, 0, 4) && rsp_quiet(p) && rsp_atomic(p, 4, 0x55aa) && DONE(p, 2) &&
	       DONE(p, 3) && DONE(p, 4) && rsp_packets(p, 5, 0, 5) && rsp_ack(p, 5, 0) && DONE(p, 5) &&
	       rsp_quiet(p);
}

/* IBTA 9.7.5.1.1: an answer that skips others shows that they were lost; a READ goes on where its answer ends. */
static bool lost(struct responder *p, uint32_t psn)
{
	return rsp_up(p, psn, &two) && POST(p, RDMA_READ, 0, 1300) && POST(p, SEND, 1, 300) &&
	       rsp_packets(p, 0, 0, 1) &&
	       /* the second packet of an answer */
	       rsp_read(p, 0, 0, 0) && rsp_wrong(p, 0, 2, HCASIM_BTH_CODE_RDMA_READ_RESPONSE_MIDDLE, 256) &&
	       rsp_packets(p, 0, 1, 1) && rsp_reads(p, 0, 1, 1, 3) &&
	       /* all that was left of it */
	       rsp_ack(p, 1, 1) && rsp_packets(p, 0, 4, 1) && rsp_reads(p, 0, 4, 4, 5) && DONE(p, 0) &&
	       rsp_quiet(p) && rsp_ack(p, 1, 1) && DONE(p, 1) &&
	       /* an atomic's answer, before that of a READ */
	       POST(p, ATOMIC_FETCH_AND_ADD, 2, 8) && POST(p, RDMA_READ, 3, 256) && POST(p, SEND, 1, 10) &&
	       rsp_packets(p, 2, 0, 4) && rsp_wrong(p, 3, 0, HCASIM_BTH_CODE_RDMA_READ_RESPONSE_ONLY, 256) &&
	       rsp_packets(p, 2, 0, 4) && rsp_atomic(p, 2, 0x1234567812345678) && DONE(p, 2) &&
	       /* a READ's answer, before an RNR NAK, and the next one before a NAK */
	       rsp_rnr(p, 4, 0, 1) && rsp_packets(p, 3, 0, 4) && rsp_read(p, 3, 0, 0) && DONE(p, 3) &&
	       rsp_ack(p, 4, 0) && DONE(p, 4) && POST(p, RDMA_READ, 0, 100) && POST(p, RDMA_WRITE, 1, 20) &&
	       rsp_packets(p, 5, 0, 6) && rsp_nak(p, 6, 0, HCASIM_NAK_REM_ACCESS) &&
	       rsp_packets(p, 5, 0, 6) && rsp_read(p, 5, 0, 0) && DONE(p, 5) && rsp_ack(p, 6, 0) &&
	       DONE(p, 6) && rsp_quiet(p);
}

/* What is posted after a queue went back to ask for the rest of an answer is sent behind what it sends again. */
static bool posted_late(struct responder *p, uint32_t psn)
{
	return rsp_up(p, psn, &two) && POST(p, RDMA_READ, 0, 1300) && POST(p, SEND, 1, 300) &&
	       rsp_packets(p, 0, 0, 1) && rsp_read(p, 0, 0, 0) &&
	       rsp_wrong(p, 0, 2, HCASIM_BTH_CODE_RDMA_READ_RESPONSE_MIDDLE, 256) &&
	       rsp_packets(p, 0, 1, 1) && POST(p, SEND, 2, 10) && rsp_packets(p, 2, 0, 2) &&
	       POST(p, SEND, 3, 20) && rsp_packets(p, 3, 0, 3) && POST(p, RDMA_WRITE, 2, 30) &&
	       rsp_packets(p, 4, 0, 4) && POST(p, SEND, 3, 40) && rsp_packets(p, 5, 0, 5) &&
	       rsp_reads(p, 0, 1, 1, 5) && DONE(p, 0) && rsp_quiet(p) && rsp_ack(p, 5, 0) && DONE(p, 1) &&
	       DONE(p, 2) && DONE(p, 3) && DONE(p, 4) && DONE(p, 5) && rsp_quiet(p);
}

/* Answers acknowledge what is before them, and come a second time. */
static bool answered(struct responder *p, uint32_t psn)
{
	return rsp_up(p, psn, &two) && POST(p, RDMA_WRITE, 0, 700) && POST(p, SEND, 1, 1) &&
	       POST(p, RDMA_READ, 2, 513) && POST(p, RDMA_WRITE, 1, 30) && rsp_packets(p, 0, 0, 3) &&
	       rsp_read(p, 2, 0, 0) && DONE(p, 0) && DONE(p, 1) && rsp_quiet(p) &&
	       rsp_wrong(p, 2, 0, HCASIM_BTH_CODE_RDMA_READ_RESPONSE_FIRST, 256) && rsp_ack(p, 1, 0) &&
	       rsp_wrong(p, 0, 1, HCASIM_BTH_CODE_ATOMIC_ACKNOWLEDGE, 0) && rsp_quiet(p) &&
	       rsp_reads(p, 2, 0, 1, 2) && DONE(p, 2) && AGAIN(p, 3, 0) && rsp_packets(p, 3, 0, 3) &&
	       rsp_ack(p, 3, 0) && DONE(p, 3) &&
	       /* sent again although it was executed: the answer that comes is for both */
	       POST(p, SEND, 1, 20) && POST(p, ATOMIC_CMP_AND_SWP, 3, 8) && rsp_packets(p, 4, 0, 5) &&
	       AGAIN(p, 4, 0) && rsp_packets(p, 4, 0, 5) && rsp_atomic(p, 5, 99) && DONE(p, 4) &&
	       DONE(p, 5) && rsp_wrong(p, 5, 0, HCASIM_BTH_CODE_ATOMIC_ACKNOWLEDGE, 0) && rsp_quiet(p) &&
	       /* requests that were on their way when the first was lost still count for max_rd_atomic */
	       POST(p, RDMA_READ, 0, 300) && POST(p, RDMA_READ, 1, 300) && POST(p, RDMA_READ, 2, 300) &&
	       rsp_packets(p, 6, 0, 7) && AGAIN(p, 6, 0) && rsp_packets(p, 6, 0, 7) && rsp_quiet(p) &&
	       rsp_reads(p, 6, 0, 0, 1) && DONE(p, 6) && rsp_packets(p, 8, 0, 8) && rsp_quiet(p) &&
	       rsp_reads(p, 7, 0, 0, 1) && DONE(p, 7) && rsp_reads(p, 8, 0, 0, 1) && DONE(p, 8) &&
	       rsp_quiet(p);
}

static void answers_reads(struct kit *k)
{
	static struct responder p;

	if (rsp_open(k, &p) && limited(&p, 0xfffff0) && fenced(&p, 0xffffff) && lost(&p, 0xfffffc) &&
	    answered(&p, 0xfffffb) && posted_late(&p, 0xffffff) && fenced(&p, 77) && lost(&p, 0x7ffffe) &&
	    answered(&p, 0x800000) && answered(&p, 256))
		pqp_judge_memory(&p.t);
}

SCENARIO(answers_reads) = {
	{"reads", SUITE("answers"), QPS("RC"), ARGS({"more", 0}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/max_rd_atomic"), LEVEL("SHOULD"),
	 ERRATA("ANSWER RD-ATOMIC RELIABLE"), NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("no more READs and atomics are in flight than max_rd_atomic; fenced requests wait for "
	      "all answers; what is missing of an answer is asked for again, and only that")},
	{},
};

/* ---- Wrong answers ---- */

#define RESPONSE(name) HCASIM_BTH_CODE_RDMA_READ_RESPONSE_##name
#define NAK            0xff /* as opcode: a NAK with `len` as its code */

/* The second of three requests gets this answer. IBTA 9.9.2.4.2 (Table 59). */
static const struct wrong {
	const char *what;
	enum ibv_wr_opcode op;
	uint32_t size;
	uint8_t code;
	uint16_t len;
	uint8_t packet;
	enum ibv_wc_status status;
} wrongs[] = {
	{"NAK invalid request", IBV_WR_SEND, 30, NAK, HCASIM_NAK_INV_REQ, 0, IBV_WC_REM_INV_REQ_ERR},
	{"NAK remote access", IBV_WR_RDMA_WRITE, 600, NAK, HCASIM_NAK_REM_ACCESS, 1, IBV_WC_REM_ACCESS_ERR},
	{"NAK remote operation", IBV_WR_SEND, 600, NAK, HCASIM_NAK_REM_OP, 2, IBV_WC_REM_OP_ERR},
	{"NAK of a READ", IBV_WR_RDMA_READ, 600, NAK, HCASIM_NAK_REM_ACCESS, 0, IBV_WC_REM_ACCESS_ERR},
	{"NAK of an atomic", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, NAK, HCASIM_NAK_INV_REQ, 0,
	 IBV_WC_REM_INV_REQ_ERR},
	{"one byte too few", IBV_WR_RDMA_READ, 256, RESPONSE(ONLY), 255, 0, IBV_WC_BAD_RESP_ERR},
	{"one byte too many", IBV_WR_RDMA_READ, 255, RESPONSE(ONLY), 256, 0, IBV_WC_BAD_RESP_ERR},
	{"one byte in place of none", IBV_WR_RDMA_READ, 0, RESPONSE(ONLY), 1, 0, IBV_WC_BAD_RESP_ERR},
	{"none in place of one", IBV_WR_RDMA_READ, 1, RESPONSE(ONLY), 0, 0, IBV_WC_BAD_RESP_ERR},
	{"only in place of first", IBV_WR_RDMA_READ, 512, RESPONSE(ONLY), 256, 0, IBV_WC_BAD_RESP_ERR},
	{"first in place of only", IBV_WR_RDMA_READ, 256, RESPONSE(FIRST), 256, 0, IBV_WC_BAD_RESP_ERR},
	{"a READ's answer to an atomic", IBV_WR_ATOMIC_CMP_AND_SWP, 8, RESPONSE(ONLY), 8, 0,
	 IBV_WC_BAD_RESP_ERR},
	{"an atomic's answer to a READ", IBV_WR_RDMA_READ, 8, HCASIM_BTH_CODE_ATOMIC_ACKNOWLEDGE, 0, 0,
	 IBV_WC_BAD_RESP_ERR},
	{"a READ's answer to a SEND", IBV_WR_SEND, 8, RESPONSE(ONLY), 8, 0, IBV_WC_BAD_RESP_ERR},
	{"an atomic's answer to a WRITE", IBV_WR_RDMA_WRITE, 8, HCASIM_BTH_CODE_ATOMIC_ACKNOWLEDGE, 0, 0,
	 IBV_WC_BAD_RESP_ERR},
};

static bool is_wrong(struct responder *p, const struct wrong *w, uint32_t psn)
{
	static const struct ibv_qp_attr attr = {.max_rd_atomic = 2};
	bool good = rsp_up(p, psn, &attr) && POST(p, SEND, 0, 300) &&
		    rsp_post(p, w->op, 1, w->size, IBV_SEND_SIGNALED) && POST(p, SEND, 2, 5) &&
		    rsp_packets(p, 0, 0, 2);

	if (good && w->code == NAK)
		good = rsp_nak(p, 1, w->packet, w->len);
	else
		good = good && rsp_wrong(p, 1, w->packet, w->code, w->len);
	if (!good || !DONE(p, 0) || !rsp_done(p, 1, w->status) || !rsp_flushed(p, 2, 2))
		return false;
	kit_expect_state(p->t.k, p->t.qp, IBV_QPS_ERR);
	/* what comes now is for nobody */
	return KIT_GOOD(p->t.k) && rsp_ack(p, 2, 0) && POST(p, SEND, 0, 1) && rsp_flushed(p, 3, 3);
}

/* In the middle of an answer. */
static bool wrong_inside(struct responder *p, uint32_t psn, unsigned int code, uint32_t packet, uint32_t len)
{
	return rsp_up(p, psn, &two) && POST(p, RDMA_READ, 3, 3 * PQP_MTU + 9) && rsp_packets(p, 0, 0, 0) &&
	       rsp_reads(p, 0, 0, 0, packet - 1) && rsp_wrong(p, 0, packet, code, len) &&
	       rsp_done(p, 0, IBV_WC_BAD_RESP_ERR);
}

/* A request that cannot be sent, behind one that is on its way: an error, and not a packet. */
static bool impossible(struct responder *p, enum ibv_wr_opcode op, uint32_t len, unsigned int limit,
		       enum ibv_wc_status status)
{
	const struct ibv_qp_attr attr = {.max_rd_atomic = limit};

	return rsp_up(p, 0xabcdef + len, &attr) && POST(p, SEND, 0, 10) && rsp_packets(p, 0, 0, 0) &&
	       rsp_post(p, op, 1, len, IBV_SEND_SIGNALED) && POST(p, SEND, 2, 5) && rsp_quiet(p) &&
	       rsp_ack(p, 0, 0) && DONE(p, 0) && rsp_done(p, 1, status) && rsp_flushed(p, 2, 2);
}

/* Atomics of other lengths than 8 bytes; READs and atomics on a QP that may have none in flight. */
static bool impossibles(struct responder *p)
{
	static const uint8_t lengths[] = {1, 4, 7, 9, 16};

	for (size_t i = 0; i < sizeof(lengths); i++)
		if (!impossible(p, i & 1 ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD,
				lengths[i], 2, IBV_WC_LOC_LEN_ERR))
			return false;
	return impossible(p, IBV_WR_RDMA_READ, 40, 0, IBV_WC_LOC_QP_OP_ERR) &&
	       impossible(p, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0, IBV_WC_LOC_QP_OP_ERR);
}

/* Requests that are on their way when a later one fails here: they are completed, or fail first. */
static bool two_faults(struct responder *p, uint32_t psn, unsigned int nak, enum ibv_wc_status status)
{
	static const struct ibv_qp_attr attr = {.max_rd_atomic = 2};
	bool good = rsp_up(p, psn, &attr) && POST(p, RDMA_READ, 3, 300) && POST(p, SEND, 0, 600) &&
		    POST(p, RDMA_WRITE, 1, 20);

	rsp_spoil(p, true);
	good = good && POST(p, SEND, 2, 40);
	rsp_spoil(p, false);
	if (!good || !POST(p, SEND, 2, 50) || !rsp_packets(p, 0, 0, 2) || !rsp_quiet(p) ||
	    !rsp_reads(p, 0, 0, 0, 1) || !DONE(p, 0))
		return false;
	if (nak)
		return rsp_nak(p, 1, 1, nak) && rsp_done(p, 1, status) && rsp_flushed(p, 2, 4);
	return rsp_ack(p, 1, 0) && rsp_quiet(p) && rsp_ack(p, 1, 2) && DONE(p, 1) && rsp_quiet(p) &&
	       rsp_ack(p, 2, 0) && DONE(p, 2) && rsp_done(p, 3, IBV_WC_LOC_PROT_ERR) && rsp_flushed(p, 4, 4);
}

static void answers_wrong(struct kit *k)
{
	static struct responder p;
	bool good = rsp_open(k, &p);

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]) && good; i++) {
		/* the last answer to one may come when the next one is under way: their PSNs are far from each other */
		good = is_wrong(&p, &wrongs[i], (i & 1 ? 0x7ffff0 : 0xfffff0) + i);
		if (!good)
			KIT_FAULT(k, "answer: %s", wrongs[i].what);
	}
	good = good && impossibles(&p) && two_faults(&p, 0xfffffe, 0, IBV_WC_SUCCESS) &&
	       two_faults(&p, 17, HCASIM_NAK_REM_ACCESS, IBV_WC_REM_ACCESS_ERR);
	if (good && wrong_inside(&p, 5, RESPONSE(MIDDLE), 1, 255) &&
	    wrong_inside(&p, 6, RESPONSE(LAST), 1, 256) && wrong_inside(&p, 7, RESPONSE(LAST), 3, 8) &&
	    wrong_inside(&p, 8, RESPONSE(LAST), 3, 10) && wrong_inside(&p, 9, RESPONSE(MIDDLE), 3, 9))
		pqp_judge_memory(&p.t);
}

SCENARIO(answers_wrong) = {
	{"wrong", SUITE("answers"), QPS("RC"), ARGS({"more", 0}), CLAUSE("ibv_poll_cq/DESCRIPTION/error"),
	 LEVEL("SHOULD"), ERRATA("ANSWER FLUSH-ORDER"), NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("each NAK and each answer that does not fit its request ends it with its status; nothing "
	      "of it is in memory; an atomic of another length than 8 bytes, and a READ or atomic "
	      "where none may be in flight, is not sent")},
	{},
};
