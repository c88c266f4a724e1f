/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Requests that a reliable responder must refuse: with which NAK, event and completion, and what is executed. */
#include <string.h>

#include "suites/transport/packet_qp.h"

#define AT 64 /* offset in the region of an address that is right */

#define OP(name) HCASIM_BTH_CODE_##name
#define END      (PQP_SIZE - AT) /* offset of the region's end from AT */

/* A packet. Lengths in bytes; `dmalen` is that of the RETH. */
struct step {
	uint8_t code;
	uint16_t len;
	uint32_t dmalen;
	int32_t va;    /* from AT */
	uint32_t rkey; /* bits to be inverted */
	uint8_t sel, plt;
	uint8_t srqn;     /* bits to be inverted */
	bool other_srq;   /* the second SRQ of the domain */
	uint64_t address; /* not 0: in place of AT + va */
};

enum kind { BASE, FLUSH, ATOMIC_WRITE, XRC };

struct refusal {
	const char *what;
	struct step step[3]; /* the last one that has an opcode or a length is refused */
	unsigned int num;
	enum hcasim_nak nak;
	bool receive; /* it takes a receive, which completes with `status` */
	enum ibv_wc_status status;
	enum kind kind;
	int without; /* right that the QP does not have; then it is refused with either NAK (erratum QP-RIGHTS) */
};

#define INV      .nak = HCASIM_NAK_INV_REQ
#define ACCESS   .nak = HCASIM_NAK_REM_ACCESS
#define TAKES(s) .receive = true, .status = IBV_WC_##s

/* IBTA 9.7.4 and 9.9.3. */
static const struct refusal refusals[] = {
	/* order */
	{"a middle packet first", {{.code = OP(SEND_MIDDLE), .len = PQP_MTU}}, 1, INV},
	{"a last packet first", {{.code = OP(SEND_LAST), .len = 9}}, 1, INV},
	{"a WRITE's last packet first", {{.code = OP(RDMA_WRITE_LAST), .len = 9}}, 1, INV},
	{"a WRITE's middle packet first", {{.code = OP(RDMA_WRITE_MIDDLE), .len = PQP_MTU}}, 1, INV},
	{"first twice",
	 {{.code = OP(SEND_FIRST), .len = PQP_MTU}, {.code = OP(SEND_FIRST), .len = PQP_MTU}},
	 2,
	 INV,
	 TAKES(REM_INV_REQ_ERR)},
	{"only after first",
	 {{.code = OP(SEND_FIRST), .len = PQP_MTU}, {.code = OP(SEND_ONLY), .len = 4}},
	 2,
	 INV,
	 TAKES(REM_INV_REQ_ERR)},
	{"READ after first",
	 {{.code = OP(SEND_FIRST), .len = PQP_MTU}, {.code = OP(RDMA_READ_REQUEST), .len = 0, .dmalen = 8}},
	 2,
	 INV,
	 TAKES(REM_INV_REQ_ERR)},
	{"a SEND ends a WRITE",
	 {{.code = OP(RDMA_WRITE_FIRST), .len = PQP_MTU, .dmalen = PQP_MTU + 4},
	  {.code = OP(SEND_LAST), .len = 4}},
	 2,
	 INV},
	{"a WRITE ends a SEND",
	 {{.code = OP(SEND_FIRST), .len = PQP_MTU}, {.code = OP(RDMA_WRITE_LAST), .len = 4}},
	 2,
	 INV,
	 TAKES(REM_INV_REQ_ERR)},
	{"a WRITE first twice",
	 {{.code = OP(RDMA_WRITE_FIRST), .len = PQP_MTU, .dmalen = PQP_MTU + 4},
	  {.code = OP(RDMA_WRITE_FIRST), .len = PQP_MTU, .dmalen = PQP_MTU + 4, .va = 512}},
	 2,
	 INV},
	/* lengths */
	{"a short first packet", {{.code = OP(SEND_FIRST), .len = PQP_MTU - 4}}, 1, INV},
	{"a long first packet", {{.code = OP(SEND_FIRST), .len = PQP_MTU + 4}}, 1, INV},
	{"a long only packet", {{.code = OP(SEND_ONLY), .len = PQP_MTU + 1}}, 1, INV},
	{"a short middle packet",
	 {{.code = OP(SEND_FIRST), .len = PQP_MTU}, {.code = OP(SEND_MIDDLE), .len = PQP_MTU - 1}},
	 2,
	 INV,
	 TAKES(REM_INV_REQ_ERR)},
	{"an empty last packet",
	 {{.code = OP(SEND_FIRST), .len = PQP_MTU}, {.code = OP(SEND_LAST), .len = 0}},
	 2,
	 INV,
	 TAKES(REM_INV_REQ_ERR)},
	{"a long last packet",
	 {{.code = OP(SEND_FIRST), .len = PQP_MTU}, {.code = OP(SEND_LAST), .len = PQP_MTU + 4}},
	 2,
	 INV,
	 TAKES(REM_INV_REQ_ERR)},
	{"a WRITE of less than it says", {{.code = OP(RDMA_WRITE_ONLY), .len = 20, .dmalen = 21}}, 1, INV},
	{"a WRITE of more than it says", {{.code = OP(RDMA_WRITE_ONLY), .len = 20, .dmalen = 19}}, 1, INV},
	{"a WRITE of nothing that says 4", {{.code = OP(RDMA_WRITE_ONLY), .len = 0, .dmalen = 4}}, 1, INV},
	{"a long WRITE packet",
	 {{.code = OP(RDMA_WRITE_ONLY), .len = PQP_MTU + 4, .dmalen = PQP_MTU + 4}},
	 1,
	 INV},
	{"a WRITE that ends with its first packet",
	 {{.code = OP(RDMA_WRITE_FIRST), .len = PQP_MTU, .dmalen = PQP_MTU}},
	 1,
	 INV},
	{"a WRITE that is too short",
	 {{.code = OP(RDMA_WRITE_FIRST), .len = PQP_MTU, .dmalen = PQP_MTU + 9},
	  {.code = OP(RDMA_WRITE_LAST), .len = 8}},
	 2,
	 INV},
	{"a WRITE that is too long",
	 {{.code = OP(RDMA_WRITE_FIRST), .len = PQP_MTU, .dmalen = PQP_MTU + 9},
	  {.code = OP(RDMA_WRITE_LAST), .len = 10}},
	 2,
	 INV},
	{"a WRITE with a packet too many",
	 {{.code = OP(RDMA_WRITE_FIRST), .len = PQP_MTU, .dmalen = 2 * PQP_MTU},
	  {.code = OP(RDMA_WRITE_MIDDLE), .len = PQP_MTU}},
	 2,
	 INV},
	{"a WRITE whose first packet is longer than all of it",
	 {{.code = OP(RDMA_WRITE_FIRST), .len = PQP_MTU, .dmalen = 100}},
	 1,
	 INV},
	{"a WRITE of more than 2 GiB",
	 {{.code = OP(RDMA_WRITE_FIRST), .len = PQP_MTU, .dmalen = 0x80000001}},
	 1,
	 INV},
	{"a READ of more than 2 GiB",
	 {{.code = OP(RDMA_READ_REQUEST), .len = 0, .dmalen = 0x80000001}},
	 1,
	 INV},
	/* alignment */
	{"an atomic at 1", {{.code = OP(FETCH_ADD), .len = 0, .dmalen = 0, .va = 1}}, 1, INV},
	{"an atomic at 2", {{.code = OP(COMPARE_SWAP), .len = 0, .dmalen = 0, .va = 2}}, 1, INV},
	{"an atomic at 4", {{.code = OP(FETCH_ADD), .len = 0, .dmalen = 0, .va = 4}}, 1, INV},
	/* keys and bounds */
	{"a WRITE one byte before",
	 {{.code = OP(RDMA_WRITE_ONLY), .len = 8, .dmalen = 8, .va = -AT - 1}},
	 1,
	 ACCESS},
	{"a WRITE one byte beyond",
	 {{.code = OP(RDMA_WRITE_ONLY), .len = 8, .dmalen = 8, .va = END - 7}},
	 1,
	 ACCESS},
	{"a WRITE behind the region",
	 {{.code = OP(RDMA_WRITE_ONLY), .len = 1, .dmalen = 1, .va = END}},
	 1,
	 ACCESS},
	{"a WRITE that will leave the region",
	 {{.code = OP(RDMA_WRITE_FIRST), .len = PQP_MTU, .dmalen = END + 1}},
	 1,
	 ACCESS},
	{"a WRITE at address 0",
	 {{.code = OP(RDMA_WRITE_ONLY), .len = 8, .dmalen = 8, .address = 8}},
	 1,
	 ACCESS},
	{"a WRITE that wraps",
	 {{.code = OP(RDMA_WRITE_ONLY), .len = 16, .dmalen = 16, .address = -8ull}},
	 1,
	 ACCESS},
	{"a WRITE, bits 7:0 of the rkey",
	 {{.code = OP(RDMA_WRITE_ONLY), .len = 8, .dmalen = 8, .rkey = 0x80}},
	 1,
	 ACCESS},
	{"a WRITE, bits 31:8 of the rkey",
	 {{.code = OP(RDMA_WRITE_ONLY), .len = 8, .dmalen = 8, .rkey = 0x100000}},
	 1,
	 ACCESS},
	{"a WRITE, bit 31 of the rkey",
	 {{.code = OP(RDMA_WRITE_ONLY), .len = 8, .dmalen = 8, .rkey = 0x80000000}},
	 1,
	 ACCESS},
	{"a READ one byte before",
	 {{.code = OP(RDMA_READ_REQUEST), .len = 0, .dmalen = 8, .va = -AT - 1}},
	 1,
	 ACCESS},
	{"a READ one byte beyond",
	 {{.code = OP(RDMA_READ_REQUEST), .len = 0, .dmalen = 8, .va = END - 7}},
	 1,
	 ACCESS},
	{"a READ of one byte more than the region",
	 {{.code = OP(RDMA_READ_REQUEST), .len = 0, .dmalen = PQP_SIZE + 1, .va = -AT}},
	 1,
	 ACCESS},
	{"a READ that wraps",
	 {{.code = OP(RDMA_READ_REQUEST), .len = 0, .dmalen = 16, .address = -8ull}},
	 1,
	 ACCESS},
	{"a READ, rkey", {{.code = OP(RDMA_READ_REQUEST), .len = 0, .dmalen = 8, .rkey = 1}}, 1, ACCESS},
	{"an atomic before the region",
	 {{.code = OP(FETCH_ADD), .len = 0, .dmalen = 0, .va = -AT - 8}},
	 1,
	 ACCESS},
	{"an atomic behind the region",
	 {{.code = OP(COMPARE_SWAP), .len = 0, .dmalen = 0, .va = END}},
	 1,
	 ACCESS},
	{"an atomic, rkey", {{.code = OP(FETCH_ADD), .rkey = 0x40}}, 1, ACCESS},
	{"a WRITE with immediate, rkey",
	 {{.code = OP(RDMA_WRITE_ONLY_WITH_IMMEDIATE), .len = 8, .dmalen = 8, .rkey = 1}},
	 1,
	 ACCESS,
	 TAKES(LOC_ACCESS_ERR)},
	/* rights of the QP */
	{"a WRITE, right of the QP",
	 {{.code = OP(RDMA_WRITE_ONLY), .len = 8, .dmalen = 8}},
	 1,
	 .without = IBV_ACCESS_REMOTE_WRITE},
	{"a READ, right of the QP",
	 {{.code = OP(RDMA_READ_REQUEST), .len = 0, .dmalen = 8}},
	 1,
	 .without = IBV_ACCESS_REMOTE_READ},
	{"an atomic, right of the QP", {{.code = OP(FETCH_ADD)}}, 1, .without = IBV_ACCESS_REMOTE_ATOMIC},
	/* of some devices */
	{"FLUSH without a type",
	 {{.code = OP(FLUSH), .len = 0, .dmalen = 8, .plt = 0}},
	 1,
	 INV,
	 .kind = FLUSH},
	{"FLUSH of a reserved type",
	 {{.code = OP(FLUSH), .len = 0, .dmalen = 8, .plt = 4 | 1}},
	 1,
	 INV,
	 .kind = FLUSH},
	{"FLUSH of a reserved level",
	 {{.code = OP(FLUSH), .len = 0, .dmalen = 8, .plt = 1, .sel = 2}},
	 1,
	 INV,
	 .kind = FLUSH},
	{"FLUSH of a region without the right",
	 {{.code = OP(FLUSH), .len = 0, .dmalen = 8, .plt = 1}},
	 1,
	 ACCESS,
	 .kind = FLUSH},
	{"FLUSH of a whole region without the right",
	 {{.code = OP(FLUSH), .len = 0, .dmalen = 8, .plt = 1, .sel = 1}},
	 1,
	 ACCESS,
	 .kind = FLUSH},
	{"FLUSH of a whole region, rkey",
	 {{.code = OP(FLUSH), .len = 0, .dmalen = 8, .plt = 1, .sel = 1, .rkey = 1}},
	 1,
	 ACCESS,
	 .kind = FLUSH},
	{"ATOMIC_WRITE at 4",
	 {{.code = OP(ATOMIC_WRITE), .len = 8, .dmalen = 8, .va = 4}},
	 1,
	 INV,
	 .kind = ATOMIC_WRITE},
	{"ATOMIC_WRITE at 1",
	 {{.code = OP(ATOMIC_WRITE), .len = 8, .dmalen = 8, .va = 1}},
	 1,
	 INV,
	 .kind = ATOMIC_WRITE},
	{"ATOMIC_WRITE of 4 bytes",
	 {{.code = OP(ATOMIC_WRITE), .len = 4, .dmalen = 4}},
	 1,
	 INV,
	 .kind = ATOMIC_WRITE},
	{"ATOMIC_WRITE of 16 bytes",
	 {{.code = OP(ATOMIC_WRITE), .len = 16, .dmalen = 16}},
	 1,
	 INV,
	 .kind = ATOMIC_WRITE},
	{"ATOMIC_WRITE of 8 bytes that says 16",
	 {{.code = OP(ATOMIC_WRITE), .len = 8, .dmalen = 16}},
	 1,
	 INV,
	 .kind = ATOMIC_WRITE},
	{"ATOMIC_WRITE of 4 bytes that says 8",
	 {{.code = OP(ATOMIC_WRITE), .len = 4, .dmalen = 8}},
	 1,
	 INV,
	 .kind = ATOMIC_WRITE},
	{"ATOMIC_WRITE of 16 bytes that says 8",
	 {{.code = OP(ATOMIC_WRITE), .len = 16, .dmalen = 8}},
	 1,
	 INV,
	 .kind = ATOMIC_WRITE},
	{"ATOMIC_WRITE of 8 bytes that says 4",
	 {{.code = OP(ATOMIC_WRITE), .len = 8, .dmalen = 4}},
	 1,
	 INV,
	 .kind = ATOMIC_WRITE},
	{"ATOMIC_WRITE, right of the QP",
	 {{.code = OP(ATOMIC_WRITE), .len = 8, .dmalen = 8}},
	 1,
	 .without = IBV_ACCESS_REMOTE_WRITE,
	 .kind = ATOMIC_WRITE},
	{"ATOMIC_WRITE behind the region",
	 {{.code = OP(ATOMIC_WRITE), .len = 8, .dmalen = 8, .va = END}},
	 1,
	 ACCESS,
	 .kind = ATOMIC_WRITE},
	{"ATOMIC_WRITE, rkey",
	 {{.code = OP(ATOMIC_WRITE), .len = 8, .dmalen = 8, .rkey = 1}},
	 1,
	 ACCESS,
	 .kind = ATOMIC_WRITE},
	{"an SRQ that does not exist",
	 {{.code = OP(SEND_ONLY), .len = 8, .srqn = 0x40}},
	 1,
	 INV,
	 .kind = XRC},
	{"a WRITE for an SRQ that does not exist",
	 {{.code = OP(RDMA_WRITE_ONLY), .len = 8, .dmalen = 8, .srqn = 0x40}},
	 1,
	 INV,
	 .kind = XRC},
	{"the domain's other SRQ in the last packet",
	 {{.code = OP(SEND_FIRST), .len = PQP_MTU}, {.code = OP(SEND_LAST), .len = 4, .other_srq = true}},
	 2,
	 INV,
	 .kind = XRC,
	 TAKES(REM_INV_REQ_ERR)},
	{"the domain's other SRQ in the middle of a WRITE",
	 {{.code = OP(RDMA_WRITE_FIRST), .len = PQP_MTU, .dmalen = 3 * PQP_MTU},
	  {.code = OP(RDMA_WRITE_MIDDLE), .len = PQP_MTU, .other_srq = true}},
	 2,
	 INV,
	 .kind = XRC},
	{"the domain's first SRQ in the middle of a WRITE for the other",
	 {{.code = OP(RDMA_WRITE_FIRST), .len = PQP_MTU, .dmalen = 3 * PQP_MTU, .other_srq = true},
	  {.code = OP(RDMA_WRITE_MIDDLE), .len = PQP_MTU}},
	 2,
	 INV,
	 .kind = XRC},
	{"another SRQ in the last packet",
	 {{.code = OP(SEND_FIRST), .len = PQP_MTU}, {.code = OP(SEND_LAST), .len = 4, .srqn = 0x40}},
	 2,
	 INV,
	 .kind = XRC,
	 TAKES(REM_INV_REQ_ERR)},
};

/* Sends the steps; those before the last one are executed. */
static bool send_steps(struct packet_qp *t, const struct refusal *r)
{
	bool good = true;

	for (unsigned int i = 0; i < r->num && good; i++) {
		const struct step *s = &r->step[i];
		struct packet p = pqp_packet(t, s->code, s->len);
		bool write = s->code == OP(RDMA_WRITE_FIRST);

		p.ackreq = i + 1 == r->num;
		p.dmalen = s->dmalen;
		p.va = s->address ? s->address : p.va + AT + s->va;
		p.rkey ^= s->rkey;
		p.sel = s->sel;
		p.plt = s->plt;
		p.srqn = s->other_srq ? t->other_srqn : p.srqn ^ s->srqn;
		p.swap_add = p.compare = 0x5c5c5c5c5c5c5c5c;
		if (write && !p.ackreq)
			memcpy(t->want + AT + s->va, t->data, s->len);
		good = pqp_send(t, &p);
	}
	return good;
}

static bool is_refused(struct packet_qp *t, const struct refusal *r)
{
	const enum ibv_event_type type =
		r->nak == HCASIM_NAK_INV_REQ ? IBV_EVENT_QP_REQ_ERR : IBV_EVENT_QP_ACCESS_ERR;
	struct ibv_context *ctx = t->k->r->dut.responder.ctx;
	/* a receive that the request does not take is flushed; in an SRQ it would stay */
	bool spare = !r->receive && r->nak == HCASIM_NAK_REM_ACCESS && !t->srq;
	uint32_t slot = pqp_slot(t) - t->want;
	struct ibv_wc wc;

	kit_drain_async(ctx);
	if (((r->receive || spare) && !pqp_receive(t, PQP_SLOT)) || !send_steps(t, r) ||
	    !pqp_nak(t, r->nak, t->psn - 1))
		return false;
	if (r->receive) {
		if (!pqp_received(t, r->status, 0, &wc))
			return false;
		end_sync();
		memcpy(t->want + slot, t->mem + slot, PQP_SLOT); /* undefined */
	} else if (!kit_expect_async(t->k, ctx, type, t->qp) ||
		   (spare && !pqp_received(t, IBV_WC_WR_FLUSH_ERR, 0, &wc))) {
		return false;
	}
	kit_expect_state(t->k, t->qp, IBV_QPS_ERR);
	return KIT_GOOD(t->k);
}

/* With either NAK, and an event. */
static bool is_not_allowed(struct packet_qp *t, const struct refusal *r)
{
	struct ibv_context *ctx = t->k->r->dut.responder.ctx;
	struct ibv_async_event event;
	struct packet got;

	kit_drain_async(ctx);
	if (!send_steps(t, r) || !port_get(&t->port, &got))
		return false;
	if (got.kind != HCASIM_AETH_KIND_NAK || got.psn != t->psn - 1 ||
	    (got.value != HCASIM_NAK_INV_REQ && got.value != HCASIM_NAK_REM_ACCESS))
		KIT_FAULT(t->k, "an answer with syndrome %u.%u, PSN 0x%x", got.kind, got.value, got.psn);
	else if (!kit_next_async(ctx, t->k->r->dut.timeout_ms, &event) ||
		 (event.event_type != IBV_EVENT_QP_REQ_ERR && event.event_type != IBV_EVENT_QP_ACCESS_ERR))
		KIT_FAULT(t->k, "no event");
	kit_expect_state(t->k, t->qp, IBV_QPS_ERR);
	return KIT_GOOD(t->k);
}

/* Each request on a QP that was reset; at the end not a byte of a refused one is in memory. */
static void packet_refused(struct kit *k)
{
	enum kind kind = kit_arg(k, "kind", BASE);
	static struct packet_qp t;
	bool good = pqp_open(k, &t);

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]) && good; i++) {
		if (refusals[i].kind != kind &&
		    !(refusals[i].kind == XRC && t.qpt == IBV_QPT_XRC_RECV && !kind))
			continue;
		t.access = PQP_ACCESS & ~refusals[i].without;
		good = pqp_again(&t, 0x123456 + i) &&
		       (refusals[i].without ? is_not_allowed : is_refused)(&t, &refusals[i]);
		if (!good)
			KIT_FAULT(k, "request: %s", refusals[i].what);
	}
	if (good)
		pqp_judge_memory(&t);
}

SCENARIO(packet_refused) = {
	{"refused", SUITE("packet"), QPS("RC XRC_SEND"), ARGS({"kind", 0}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/path_mtu"), LEVEL("SHOULD"), ERRATA("PACKET-REFUSED"),
	 NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("each request that is out of order, of a wrong length, not aligned, or not allowed, is "
	      "refused with its NAK; the QP goes to ERR with an event, or its receive completes in "
	      "error; no other byte of memory changes")},
	{"refused-flush", ARGS({"kind", 1}), CLAUSE("ibv_reg_mr/DESCRIPTION/access"),
	 NEEDS("operations/RAW_PACKET operations/UC operations/{qp}/FLUSH")},
	{"refused-atomic_write", ARGS({"kind", 2}),
	 NEEDS("operations/RAW_PACKET operations/UC operations/{qp}/ATOMIC_WRITE")},
	{},
};

/* Requests that reach the first and the last byte, and requests without a byte, whose key and address count for nothing. */
static void packet_bounds(struct kit *k)
{
	static const struct step good_steps[] = {
		{.code = OP(RDMA_WRITE_ONLY), .len = 8, .dmalen = 8, .va = -AT},
		{.code = OP(RDMA_WRITE_ONLY), .len = 1, .dmalen = 1, .va = END - 1},
		{.code = OP(RDMA_WRITE_ONLY), .len = 255, .dmalen = 255, .va = END - 255},
		{.code = OP(RDMA_WRITE_ONLY), .len = PQP_MTU, .dmalen = PQP_MTU, .va = 1},
		{.code = OP(RDMA_WRITE_ONLY), .len = 0, .dmalen = 0, .rkey = 0xabcdef01},
		{.code = OP(RDMA_WRITE_ONLY), .len = 0, .dmalen = 0, .address = 1},
		{.code = OP(RDMA_WRITE_ONLY), .len = 0, .dmalen = 0, .address = -1ull, .rkey = 1},
	};
	static struct packet_qp t;
	bool good = pqp_open(k, &t);

	for (size_t i = 0; i < sizeof(good_steps) / sizeof(good_steps[0]) && good; i++) {
		const struct refusal r = {.step = {good_steps[i]}, .num = 1};
		uint32_t at = AT + good_steps[i].va;

		good = send_steps(&t, &r);
		memcpy(t.want + at, t.data, good_steps[i].len);
		t.msn++;
		good = good && pqp_ack(&t, t.psn - 1);
	}
	if (good) {
		const struct refusal read = {.step = {{.code = OP(RDMA_READ_REQUEST),
						       .len = 0,
						       .dmalen = 0,
						       .rkey = 0xff00,
						       .address = 3}},
					     .num = 1};
		struct packet got;

		t.msn++;
		if (send_steps(&t, &read) && port_get(&t.port, &got) &&
		    (got.opcode != pqp_op(&t, OP(RDMA_READ_RESPONSE_ONLY)) || got.len || got.msn != t.msn))
			KIT_FAULT(k, "a READ of no byte is not answered with no byte");
	}
	if (KIT_GOOD(k) && t.qp)
		pqp_judge_memory(&t);
}

SCENARIO(packet_bounds) = {
	{"bounds", SUITE("packet"), QPS("RC XRC_SEND"), CLAUSE("ibv_reg_mr/DESCRIPTION/access"),
	 LEVEL("SHOULD"), ERRATA("KEY-RIGHTS"), NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("WRITEs of the first and last bytes of a region are executed, and requests of no byte "
	      "with any key and address")},
	{},
};
