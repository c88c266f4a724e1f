/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Requests that are answered later: as many as the responder has resources for (max_dest_rd_atomic), one more, and
 * repeated ones, also while the first answer is on its way.
 */
#include <string.h>

#include "suites/transport/packet_qp.h"

#define OP(name) HCASIM_BTH_CODE_##name

#define FROM    2048 /* offset of what READs read */
#define PACKETS 40   /* of a long READ */
#define LONG    (PACKETS * PQP_MTU - 7)
#define WRITTEN 512 /* offset of ATOMIC_WRITEs */

enum kind { BASE, FLUSH, ATOMIC_WRITE };

struct request {
	unsigned int code;
	uint32_t len; /* of a READ */
	uint32_t psn;
	uint64_t orig; /* an atomic's result */
};

static uint32_t packets(const struct request *r)
{
	return r->len ? (r->len + PQP_MTU - 1) / PQP_MTU : 1;
}

/* Puts it on the wire with its PSN. */
static bool put(struct packet_qp *t, const struct request *r)
{
	static const struct pqp_atomic add = {OP(FETCH_ADD), 0x0100000000000001, 0};
	struct packet p = pqp_packet(t, r->code, r->code == OP(ATOMIC_WRITE) ? 8 : 0);

	if (r->code == OP(FETCH_ADD))
		return pqp_ask_atomic(t, r->psn, &add);
	if (r->code == OP(RDMA_READ_REQUEST))
		return pqp_ask_read(t, r->psn, FROM, r->len);
	p.psn = r->psn;
	p.va += WRITTEN;
	p.dmalen = 8;
	p.plt = IBV_FLUSH_GLOBAL;
	return port_send(&t->port, &p);
}

/* A new request: memory will be as it leaves it. */
static bool put_new(struct packet_qp *t, struct request *r)
{
	bool good;

	r->psn = t->psn;
	t->psn = (t->psn + packets(r)) & HCASIM_PSN_MASK;
	good = put(t, r);
	if (r->code == OP(ATOMIC_WRITE))
		memcpy(t->want + WRITTEN, t->data, 8);
	if (r->code == OP(FETCH_ADD)) {
		uint64_t sum;

		memcpy(&r->orig, t->want + PQP_WORD, sizeof(r->orig));
		sum = r->orig + 0x0100000000000001;
		memcpy(t->want + PQP_WORD, &sum, sizeof(sum));
	}
	return good;
}

/* FLUSH and ATOMIC_WRITE are answered like a READ of no byte (IBTA A19.4). */
static bool answered(struct packet_qp *t, const struct request *r)
{
	return r->code == OP(FETCH_ADD) ? pqp_atomic_answer(t, r->psn, r->orig)
					: pqp_read_answer(t, r->psn, FROM, r->len);
}

/* A WRITE, whose acknowledge is not awaited. */
static bool write_on(struct packet_qp *t)
{
	struct packet p = pqp_packet(t, OP(RDMA_WRITE_ONLY), 16);

	memcpy(t->want, t->data, 16);
	return pqp_send(t, &p);
}

static bool write_acked(struct packet_qp *t, uint32_t at)
{
	struct packet p = pqp_packet(t, OP(RDMA_WRITE_ONLY), 16);

	p.va += at;
	memcpy(t->want + at, t->data, 16);
	t->msn++;
	return pqp_send(t, &p) && pqp_ack(t, p.psn);
}

/* ---- As many as there are resources, and one more ---- */

struct fill {
	enum kind kind;
	struct request r[PQP_READS + 1];
};

#define READ(n)                                                                                              \
	{                                                                                                    \
		.code = OP(RDMA_READ_REQUEST), .len = n                                                      \
	}
#define OTHER(name)                                                                                          \
	{                                                                                                    \
		.code = OP(name)                                                                             \
	}

/* The first one is so long that it is not answered before the others are there. */
static const struct fill fills[] = {
	{BASE, {READ(LONG), READ(3), READ(1), READ(2)}},
	{BASE, {READ(LONG), READ(3), READ(0), OTHER(FETCH_ADD)}},
	{FLUSH, {READ(LONG), OTHER(FLUSH), READ(1), OTHER(FLUSH)}},
	{ATOMIC_WRITE, {READ(LONG), OTHER(ATOMIC_WRITE), OTHER(ATOMIC_WRITE), OTHER(ATOMIC_WRITE)}},
};

/* Without a pause; all are answered, in order. */
static bool fill(struct packet_qp *t, struct request *r, unsigned int num)
{
	bool good = true;

	port_hold(&t->port);
	for (unsigned int i = 0; i < num && good; i++)
		good = put_new(t, &r[i]);
	good = port_release(&t->port) && good;
	for (unsigned int i = 0; i < num && good; i++) {
		t->msn++;
		good = answered(t, &r[i]);
	}
	return good;
}

/* The last one is refused, after the others were answered (IBTA 9.9.3), and not executed. */
static bool refuse_last(struct packet_qp *t, struct request *r)
{
	struct ibv_context *ctx = t->k->r->dut.responder.ctx;
	bool good = true;

	kit_drain_async(ctx);
	port_hold(&t->port);
	for (unsigned int i = 0; i < PQP_READS && good; i++)
		good = put_new(t, &r[i]);
	r[PQP_READS].psn = t->psn;
	good = good && put(t, &r[PQP_READS]);
	good = port_release(&t->port) && good;
	for (unsigned int i = 0; i < PQP_READS && good; i++) {
		t->msn++;
		good = answered(t, &r[i]);
	}
	good = good && pqp_nak(t, HCASIM_NAK_INV_REQ, t->psn) &&
	       kit_expect_async(t->k, ctx, IBV_EVENT_QP_REQ_ERR, t->qp);
	kit_expect_state(t->k, t->qp, IBV_QPS_ERR);
	return good && KIT_GOOD(t->k);
}

/* Without resources each is refused. */
static bool refuse_first(struct packet_qp *t, struct request *r)
{
	struct ibv_context *ctx = t->k->r->dut.responder.ctx;
	bool good;

	t->reads = 0;
	good = pqp_again(t, 0xffffff);
	t->reads = PQP_READS;
	kit_drain_async(ctx);
	r->psn = t->psn;
	return good && put(t, r) && pqp_nak(t, HCASIM_NAK_INV_REQ, t->psn) &&
	       kit_expect_async(t->k, ctx, IBV_EVENT_QP_REQ_ERR, t->qp);
}

/* Answers without a byte, as many as the device has resources for, which wait for a long one. */
static bool most_wait(struct packet_qp *t)
{
	const int most = t->k->r->dut.responder.attr.max_qp_rd_atom;
	const unsigned int num = most < PACKET_HELD ? (unsigned int)most : PACKET_HELD;
	struct request r[PACKET_HELD] = {READ(LONG)};
	bool good;

	for (unsigned int i = 1; i < num; i++)
		r[i] = (struct request)READ(0);
	t->reads = num;
	good = pqp_again(t, 0xffff00) && fill(t, r, num) && write_acked(t, 64);
	t->reads = PQP_READS;
	return good;
}

/* Requests that are executed in different ways are answered in order, too. */
static bool mixed(struct packet_qp *t, unsigned int code)
{
	struct request r[] = {{.code = code}, READ(3)};
	struct packet p = pqp_packet(t, OP(RDMA_WRITE_ONLY), PQP_MTU);
	bool good = true;

	port_hold(&t->port);
	if (code == OP(FLUSH)) {
		p.ackreq = false;
		memcpy(t->want, t->data, PQP_MTU);
		t->msn++;
		good = pqp_send(t, &p);
	}
	for (unsigned int i = 0; i < 2 && good; i++)
		good = put_new(t, &r[i]);
	good = good && write_on(t);
	good = port_release(&t->port) && good;
	for (unsigned int i = 0; i < 2 && good; i++) {
		t->msn++;
		good = answered(t, &r[i]);
	}
	t->msn++;
	return good && pqp_ack(t, t->psn - 1);
}

static void packet_resources(struct kit *k)
{
	static const unsigned int codes[] = {OP(FETCH_ADD), OP(FLUSH), OP(ATOMIC_WRITE)};
	enum kind kind = kit_arg(k, "kind", BASE);
	static struct packet_qp t;
	bool good = pqp_open(k, &t);

	for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]) && good; i++) {
		struct fill f = fills[i];

		if (f.kind != kind)
			continue;
		good = pqp_again(&t, 0xfffff0 + i) && mixed(&t, codes[kind]) && fill(&t, f.r, PQP_READS) &&
		       write_acked(&t, 64) && fill(&t, f.r, PQP_READS) && fill(&t, &f.r[PQP_READS], 1) &&
		       refuse_last(&t, f.r) && refuse_first(&t, &f.r[PQP_READS]);
	}
	if (good && (kind != BASE || most_wait(&t)))
		pqp_judge_memory(&t);
}

SCENARIO(packet_resources) = {
	{"resources", SUITE("packet"), QPS("RC XRC_SEND"), ARGS({"kind", 0}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/max_dest_rd_atomic"), LEVEL("SHOULD"), ERRATA("RD-ATOMIC-LIMIT"),
	 NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("as many requests as max_dest_rd_atomic that are answered later are executed at a time; "
	      "one more is refused with NAK invalid request, after the others were answered; if it is "
	      "0 each is")},
	{"resources-flush", ARGS({"kind", 1}, {"rights", IBV_ACCESS_FLUSH_GLOBAL}),
	 NEEDS("operations/RAW_PACKET operations/UC operations/{qp}/FLUSH")},
	{"resources-atomic_write", ARGS({"kind", 2}),
	 NEEDS("operations/RAW_PACKET operations/UC operations/{qp}/ATOMIC_WRITE")},
	{},
};

/* ---- Again ---- */

static uint32_t distance(uint32_t to, uint32_t from)
{
	return (to - from) & HCASIM_PSN_MASK;
}

/* Packet `number` of the answer. The MSN of a repeated one may be newer. */
static bool is_part(struct packet_qp *t, const struct packet *got, const struct request *r, uint32_t number)
{
	uint32_t left = r->len - number * PQP_MTU, part = left < PQP_MTU ? left : PQP_MTU;

	if (r->code == OP(FETCH_ADD))
		return got->opcode == pqp_op(t, OP(ATOMIC_ACKNOWLEDGE)) && got->orig == r->orig;
	return got->len == part && !memcmp(got->payload, t->want + FROM + (size_t)number * PQP_MTU, got->len);
}

/*
 * The answers of requests with consecutive PSNs, in order; a repeated request may begin them again. Behind them comes the
 * acknowledge of the WRITE that was sent last.
 */
static bool answered_at_last(struct packet_qp *t, const struct request *r, unsigned int num)
{
	uint32_t all = distance(t->psn, r[0].psn) - 1, next = 0, place;
	struct packet got;

	while (port_get(&t->port, &got)) {
		unsigned int i = 0;

		place = distance(got.psn, r[0].psn);
		if (place == all && next == all && got.opcode == pqp_op(t, OP(ACKNOWLEDGE)) &&
		    got.msn == t->msn)
			return true;
		if (place > next || place == all || got.kind)
			break;
		for (next = place + 1; i < num - 1 && place >= packets(&r[i]); i++)
			place -= packets(&r[i]);
		if (!is_part(t, &got, &r[i], place))
			break;
	}
	if (KIT_GOOD(t->k))
		KIT_FAULT(t->k, "answer %u of %u has opcode 0x%x, PSN 0x%x, syndrome %u, %u bytes", next, all,
			  got.opcode, got.psn, got.kind, got.len);
	return false;
}

/* Requests, and from one of them on all again, before the first is answered; then a WRITE. */
static bool overtake(struct packet_qp *t, struct request *r, unsigned int num, unsigned int from)
{
	bool good = true;

	port_hold(&t->port);
	for (unsigned int i = 0; i < num && good; i++)
		good = put_new(t, &r[i]);
	for (unsigned int i = from; i < num && good; i++)
		good = put(t, &r[i]);
	good = good && write_on(t);
	t->msn += num + 1;
	return port_release(&t->port) && good && answered_at_last(t, r, num);
}

/* The last of three again, with PSNs that are far from the MSN, and with those around the rkey's lowest bits. */
static bool overtake_third(struct packet_qp *t)
{
	const uint32_t psns[] = {0xffff00, t->mr->rkey - 2 * PACKETS, t->mr->rkey};

	for (unsigned int i = 0; i < 3; i++) {
		struct request r[] = {READ(LONG), OTHER(FETCH_ADD), READ(3)};

		if (!pqp_again(t, psns[i]) || !overtake(t, r, 3, 2))
			return false;
	}
	return true;
}

/* Executed once; each time answered, a READ with what memory holds then. */
static bool repeat(struct packet_qp *t, struct request *r, unsigned int num)
{
	bool good = true;

	for (unsigned int i = 0; i < num && good; i++)
		good = fill(t, &r[i], 1);
	good = good && write_acked(t, WRITTEN - 4) && write_acked(t, FROM + PQP_MTU - 3);
	for (unsigned int i = 0; i < num && good; i++)
		good = put(t, &r[i]) && answered(t, &r[i]);
	return good;
}

/* More atomics than results are kept: those that may be outstanding are answered again, the oldest may be. */
static bool many_atomics(struct packet_qp *t)
{
	struct request r[PQP_READS + 1] = {};
	bool good = true;

	for (unsigned int i = 0; i < 300 && good; i++) {
		struct request *now = &r[i % (PQP_READS + 1)];

		now->code = OP(FETCH_ADD);
		good = fill(t, now, 1);
	}
	for (unsigned int i = 1; i <= PQP_READS && good; i++) /* 299 % 4 is the newest */
		good = put(t, &r[i]) && answered(t, &r[i]);
	return good;
}

/* With as many resources as the device has, the result of the oldest atomic of so many is kept, too. */
static bool oldest_atomic(struct packet_qp *t)
{
	const int most = t->k->r->dut.responder.attr.max_qp_rd_atom;
	const uint8_t num = most < UINT8_MAX ? (uint8_t)most : UINT8_MAX;
	struct request r[UINT8_MAX] = {};
	bool good;

	t->reads = num;
	good = pqp_again(t, 0xffffff);
	t->reads = PQP_READS;
	for (unsigned int i = 0; i < num && good; i++) {
		r[i].code = OP(FETCH_ADD);
		good = fill(t, &r[i], 1);
	}
	for (unsigned int i = 0; i < num && good; i++)
		good = put(t, &r[i]) && answered(t, &r[i]);
	return good;
}

struct wrong {
	uint32_t back; /* PSNs before the next one */
	unsigned int code;
	uint32_t len, rkey, srqn; /* of the READ; bits to be inverted */
	uint32_t at;
};

/* Repeated requests that cannot be what was executed are dropped (IBTA 9.7.5.1.2). */
static bool ignore(struct packet_qp *t)
{
	static const struct wrong all[] = {
		{.back = 4, .code = OP(RDMA_READ_REQUEST), .len = 9, .rkey = 1},
		{.back = 4, .code = OP(RDMA_READ_REQUEST), .len = 9, .rkey = 0x10000},
		{.back = 4, .code = OP(RDMA_READ_REQUEST), .len = 9, .at = PQP_SIZE - 8},
		{.back = 4, .code = OP(RDMA_READ_REQUEST), .len = 4 * PQP_MTU + 1},
		{.back = 4, .code = OP(RDMA_READ_REQUEST), .len = 2 * PQP_MTU, .at = PQP_SIZE - PQP_MTU},
		{.back = 2, .code = OP(RDMA_READ_REQUEST), .len = 0x80000001},
		{.back = 3, .code = OP(FETCH_ADD)},
		{.back = 0x7ffff0, .code = OP(FETCH_ADD)},
		{.back = 4, .code = OP(RDMA_READ_REQUEST), .len = 9, .srqn = 0x40},
	};
	struct request read = READ(5 * PQP_MTU);

	if (!fill(t, &read, 1))
		return false;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct packet p = pqp_packet(t, all[i].code, 0);

		if (all[i].srqn && t->qpt != IBV_QPT_XRC_RECV)
			continue;
		p.psn -= all[i].back;
		p.dmalen = all[i].len;
		p.rkey ^= all[i].rkey;
		p.srqn ^= all[i].srqn;
		p.va += all[i].at;
		if (!port_send(&t->port, &p))
			return false;
	}
	return true;
}

/* The same if the QP does not have the right: nothing of it can have been executed. */
static bool ignore_without_right(struct packet_qp *t)
{
	struct request read = READ(1);
	bool good;

	t->access = PQP_ACCESS & ~IBV_ACCESS_REMOTE_READ;
	good = pqp_again(t, 77);
	t->access = PQP_ACCESS;
	read.psn = t->psn - 1;
	return good && put(t, &read) && write_acked(t, 64);
}

/* A READ whose PSN is 0, and then an atomic with that PSN. */
static bool ignore_atomic(struct packet_qp *t)
{
	struct request read = READ(1), add = OTHER(FETCH_ADD);

	return pqp_again(t, 0) && fill(t, &read, 1) && put(t, &add) && write_acked(t, 64);
}

/* A READ of no byte names no memory, whatever its key is. */
static bool repeat_empty(struct packet_qp *t)
{
	struct packet p = pqp_packet(t, OP(RDMA_READ_REQUEST), 0);

	p.rkey ^= 0xff00;
	p.va = 3;
	t->msn++;
	return pqp_send(t, &p) && pqp_read_answer(t, p.psn, FROM, 0) && port_send(&t->port, &p) &&
	       pqp_read_answer(t, p.psn, FROM, 0);
}

/* As many packets between two atomics as there are results. */
static bool repeat_far(struct packet_qp *t)
{
	const int most = t->k->r->dut.responder.attr.max_qp_rd_atom;
	const uint32_t between = most - 1 < PACKETS ? (uint32_t)most - 1 : PACKETS;
	struct request first = OTHER(FETCH_ADD);
	struct request r[] = {READ(between * PQP_MTU), OTHER(FETCH_ADD), OTHER(FETCH_ADD)};

	return fill(t, &first, 1) && repeat(t, r, 3);
}

/* Until the acknowledge of the WRITE that was sent last: parts of the answers of these requests, in any number. */
static bool works(struct packet_qp *t, const struct request *r, unsigned int num)
{
	const uint32_t last = (t->psn - 1) & HCASIM_PSN_MASK;
	struct packet got;

	while (port_get(&t->port, &got)) {
		unsigned int i = 0;

		if (got.opcode == pqp_op(t, OP(ACKNOWLEDGE)) && !got.kind && got.psn == last)
			return true;
		while (i < num && distance(got.psn, r[i].psn) >= packets(&r[i]))
			i++;
		if (got.kind || (got.opcode != pqp_op(t, OP(ACKNOWLEDGE)) &&
				 (i == num || !is_part(t, &got, &r[i], distance(got.psn, r[i].psn))))) {
			KIT_FAULT(t->k, "an answer has opcode 0x%x, PSN 0x%x, syndrome %u, %u bytes",
				  got.opcode, got.psn, got.kind, got.len);
			break;
		}
	}
	return false;
}

/* More requests at once again than may be outstanding: the first one is answered, and the QP works. */
static bool too_many(struct packet_qp *t, unsigned int code)
{
	struct request r[4] = {READ(LONG), {.code = code}, {.code = code}, {.code = code}};
	bool good;

	for (unsigned int i = 1; i < 4; i++)
		r[i].len = code == OP(RDMA_READ_REQUEST) ? LONG : 0;
	t->reads = 1;
	good = pqp_again(t, 0xffffff);
	t->reads = PQP_READS;
	for (unsigned int i = 0; i < 4 && good; i++)
		good = fill(t, &r[i], 1);
	port_hold(&t->port);
	for (unsigned int i = 0; i < 4 && good; i++)
		good = put(t, &r[i]);
	good = port_release(&t->port) && good && answered(t, &r[0]);
	t->msn++;
	return good && write_on(t) && works(t, r, 4);
}

/* The acknowledge of a WRITE behind a READ that comes again is not lost. */
static bool overtake_acknowledge(struct packet_qp *t)
{
	struct request read = READ(LONG);
	bool good;

	port_hold(&t->port);
	good = put_new(t, &read) && write_on(t) && put(t, &read);
	good = port_release(&t->port) && good && works(t, &read, 1);
	t->msn += 3;
	return good && write_on(t) && works(t, &read, 1);
}

#define WRITES 12

/* Many WRITEs at once, and then a READ that was executed before them: its answer comes. */
static bool behind_writes(struct packet_qp *t)
{
	struct request read = READ(3);
	struct packet got;
	bool good, came = false, acked = false;

	t->reads = 1;
	good = pqp_again(t, 0xfffff8) && fill(t, &read, 1);
	t->reads = PQP_READS;
	port_hold(&t->port);
	for (unsigned int i = 0; i < WRITES && good; i++) {
		struct packet p = pqp_packet(t, OP(RDMA_WRITE_ONLY), PQP_MTU);

		memcpy(t->want, t->data, PQP_MTU);
		good = pqp_send(t, &p);
	}
	good = good && put(t, &read);
	good = port_release(&t->port) && good;
	t->msn += WRITES;
	while (good && !(came && acked)) {
		good = port_get(&t->port, &got);
		if (good && got.opcode == pqp_op(t, OP(ACKNOWLEDGE)) && !got.kind)
			acked |= got.psn == t->psn - 1;
		else if (good && got.psn == read.psn && is_part(t, &got, &read, 0))
			came = true;
		else if (good) {
			KIT_FAULT(t->k, "an answer has opcode 0x%x, PSN 0x%x", got.opcode, got.psn);
			good = false;
		}
	}
	return good;
}

/* A part of a repeated message is acknowledged if that is requested. */
static bool repeat_part(struct packet_qp *t)
{
	struct packet p = pqp_packet(t, OP(RDMA_WRITE_MIDDLE), PQP_MTU);

	p.psn--;
	return port_send(&t->port, &p) && pqp_ack(t, p.psn);
}

static bool repeat_base(struct packet_qp *t)
{
	struct request ahead[] = {READ(LONG), OTHER(FETCH_ADD)}, behind[] = {READ(LONG), READ(3)};
	struct request each[] = {READ(2 * PQP_MTU), OTHER(FETCH_ADD), READ(0), OTHER(FETCH_ADD)};
	struct request more[] = {READ(LONG), READ(1), READ(3), READ(2)};

	return ignore_atomic(t) && repeat(t, each, 4) && repeat_empty(t) && repeat_part(t) && repeat_far(t) &&
	       many_atomics(t) && overtake(t, ahead, 2, 0) && overtake(t, ahead, 2, 1) &&
	       overtake(t, behind, 2, 0) && overtake(t, behind, 2, 1) && ignore(t) && write_acked(t, 96) &&
	       fill(t, more, PQP_READS) && refuse_last(t, more) && overtake_third(t) &&
	       overtake_acknowledge(t) && too_many(t, OP(RDMA_READ_REQUEST)) && behind_writes(t) &&
	       ignore_without_right(t) && oldest_atomic(t);
}

static bool repeat_other(struct packet_qp *t, unsigned int code)
{
	struct request each[] = {{.code = code}, READ(3), {.code = code}};
	struct request behind[] = {READ(LONG), {.code = code}};

	return repeat(t, each, 3) && overtake(t, behind, 2, 1) && overtake(t, behind, 2, 0) &&
	       write_acked(t, 32) && too_many(t, code);
}

static void packet_repeated(struct kit *k)
{
	enum kind kind = kit_arg(k, "kind", BASE);
	static struct packet_qp t;
	bool good = pqp_open(k, &t);

	good = good && (kind == BASE ? repeat_base(&t)
				     : repeat_other(&t, kind == FLUSH ? OP(FLUSH) : OP(ATOMIC_WRITE)));
	if (good)
		pqp_judge_memory(&t);
}

SCENARIO(packet_repeated) = {
	{"repeated", SUITE("packet"), QPS("RC XRC_SEND"), ARGS({"kind", 0}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/max_dest_rd_atomic"), LEVEL("SHOULD"), ERRATA("PSN-REPEATED"),
	 NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("repeated requests are executed once and answered each time, also before the first "
	      "answer; those that cannot be what was executed are dropped")},
	{"repeated-flush", ARGS({"kind", 1}, {"rights", IBV_ACCESS_FLUSH_GLOBAL}),
	 NEEDS("operations/RAW_PACKET operations/UC operations/{qp}/FLUSH")},
	{"repeated-atomic_write", ARGS({"kind", 2}),
	 NEEDS("operations/RAW_PACKET operations/UC operations/{qp}/ATOMIC_WRITE")},
	{},
};
