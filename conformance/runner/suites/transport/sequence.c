/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Reliable requests out of order, repeated, before their receive is posted; answers of READs and atomics. */
#include <endian.h>
#include <string.h>

#include "judge/watchdog.h"
#include "suites/transport/packet_qp.h"

#define COUNT 0x00ffffffffffff80ull

/* A WRITE of one packet to this offset, executed once. */
static bool write_once(struct packet_qp *t, uint32_t at, uint32_t len)
{
	struct packet p = pqp_packet(t, HCASIM_BTH_CODE_RDMA_WRITE_ONLY, len);

	p.va += at;
	memcpy(t->want + at, t->data, len);
	return pqp_send(t, &p);
}

static bool write_acked(struct packet_qp *t, uint32_t at, uint32_t len)
{
	if (!write_once(t, at, len))
		return false;
	t->msn++;
	return pqp_ack(t, t->psn - 1);
}

/* A WRITE that must not be executed. */
static bool write_at(struct packet_qp *t, uint32_t psn)
{
	struct packet p = pqp_packet(t, HCASIM_BTH_CODE_RDMA_WRITE_ONLY, 32);
	uint32_t next = t->psn;
	bool good;

	p.psn = psn;
	good = pqp_send(t, &p);
	t->psn = next;
	return good;
}

/* IBTA 9.7.5.1.1: one NAK for a gap, with the PSN that is expected; the next one only after that came. */
static bool gaps(struct packet_qp *t)
{
	return write_acked(t, 0, 32) && write_at(t, t->psn + 1) && pqp_nak(t, HCASIM_NAK_PSN_SEQ, t->psn) &&
	       write_at(t, t->psn + 2) && write_at(t, t->psn + 0x7fffff) && write_acked(t, 40, 32) &&
	       write_at(t, t->psn + 0x7fffff) && pqp_nak(t, HCASIM_NAK_PSN_SEQ, t->psn) &&
	       write_acked(t, 80, 31);
}

/* The same if nobody asks for it: the end of a message is acknowledged. */
static bool repeated_unasked(struct packet_qp *t)
{
	static const unsigned int codes[] = {HCASIM_BTH_CODE_RDMA_WRITE_ONLY, HCASIM_BTH_CODE_RDMA_WRITE_LAST,
					     HCASIM_BTH_CODE_SEND_LAST, HCASIM_BTH_CODE_SEND_ONLY};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct packet p = pqp_packet(t, codes[i], 20);

		p.psn = (p.psn - 1) & HCASIM_PSN_MASK;
		p.ackreq = false;
		if (!port_send(&t->port, &p) || !pqp_ack(t, p.psn))
			return false;
	}
	return true;
}

/* IBTA 9.7.5.1.2: a repeated WRITE or SEND is acknowledged, with the newest PSN, and not executed. */
static bool repeated_writes(struct packet_qp *t)
{
	struct packet p;
	uint32_t next = t->psn;

	if (!write_at(t, t->psn - 1) || !pqp_ack(t, t->psn - 1) || !write_at(t, t->psn - 3) ||
	    !pqp_ack(t, t->psn - 1) || !write_at(t, t->psn - 0x800000) || !pqp_ack(t, t->psn - 1))
		return false;
	p = pqp_packet(t, HCASIM_BTH_CODE_SEND_ONLY, 20); /* no receive is posted */
	p.psn--;
	if (!pqp_send(t, &p) || !pqp_ack(t, next - 1))
		return false;
	p.srqn ^= 0x40; /* the SRQ that it was for may be gone (XRC) */
	if (!pqp_send(t, &p) || !pqp_ack(t, next - 1))
		return false;
	t->psn = next;
	return repeated_unasked(t) && write_acked(t, 120, 1);
}

static bool read_once(struct packet_qp *t, uint32_t at, uint32_t len)
{
	uint32_t psn = t->psn;

	t->msn++;
	t->psn = (psn + (len ? (len + PQP_MTU - 1) / PQP_MTU : 1)) & HCASIM_PSN_MASK;
	return pqp_ask_read(t, psn, at, len) && pqp_read_answer(t, psn, at, len);
}

/* READs of every number of packets; then all or some packets of the last one again, with what memory holds now. */
static bool reads(struct packet_qp *t)
{
	static const uint16_t lengths[] = {0, 1, 255, 256, 257, 511, 512, 513, 4 * PQP_MTU + 3};
	uint32_t psn, at = 5;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		if (!read_once(t, at + i, lengths[i]))
			return false;
	psn = t->psn - 5;
	at += sizeof(lengths) / sizeof(lengths[0]) - 1;
	if (!write_acked(t, at + 300, 64) || !pqp_ask_read(t, psn, at, 4 * PQP_MTU + 3) ||
	    !pqp_read_answer(t, psn, at, 4 * PQP_MTU + 3))
		return false;
	if (!pqp_ask_read(t, psn + 2, at + 2 * PQP_MTU, 2 * PQP_MTU + 3) ||
	    !pqp_read_answer(t, psn + 2, at + 2 * PQP_MTU, 2 * PQP_MTU + 3))
		return false;
	return pqp_ask_read(t, psn + 4, at + 4 * PQP_MTU, 3) &&
	       pqp_read_answer(t, psn + 4, at + 4 * PQP_MTU, 3);
}

/* Each is executed once, and answered with its own result each time it comes. */
static bool atomics(struct packet_qp *t)
{
	static const struct pqp_atomic all[] = {
		{HCASIM_BTH_CODE_FETCH_ADD, 0x80, 0},
		{HCASIM_BTH_CODE_COMPARE_SWAP, 0x1122334455667788, COUNT + 0x80},
		{HCASIM_BTH_CODE_COMPARE_SWAP, 1, 0x1122334455667789},
	};
	const uint64_t results[] = {COUNT, COUNT + 0x80, 0x1122334455667788};
	const uint64_t start = htole64(COUNT), end = htole64(results[2]);
	uint32_t first = t->psn;

	memcpy(t->mem + PQP_WORD, &start, sizeof(start));
	end_written(t->mem + PQP_WORD, sizeof(start));
	end_push();
	memcpy(t->want + PQP_WORD, &end, sizeof(end));
	for (unsigned int i = 0; i < 3; i++) {
		t->msn++;
		if (!pqp_ask_atomic(t, t->psn, &all[i]) || !pqp_atomic_answer(t, t->psn, results[i]))
			return false;
		t->psn = (t->psn + 1) & HCASIM_PSN_MASK;
	}
	for (unsigned int i = 0; i < 3; i++)
		if (!pqp_ask_atomic(t, first + i, &all[i]) || !pqp_atomic_answer(t, first + i, results[i]))
			return false;
	return write_acked(t, 2000, 64);
}

/* Several requests without a pause are answered in order. */
static bool burst(struct packet_qp *t)
{
	const struct pqp_atomic add = {HCASIM_BTH_CODE_FETCH_ADD, 0, 0};
	uint32_t psn = t->psn, msn = t->msn;

	t->psn = (psn + 3) & HCASIM_PSN_MASK;
	if (!pqp_ask_read(t, psn, 0, 3 * PQP_MTU) || !pqp_ask_atomic(t, t->psn, &add))
		return false;
	t->psn = (t->psn + 1) & HCASIM_PSN_MASK;
	if (!write_once(t, 2100, 50))
		return false;
	t->msn = msn + 1;
	if (!pqp_read_answer(t, psn, 0, 3 * PQP_MTU))
		return false;
	t->msn++;
	if (!pqp_atomic_answer(t, psn + 3, 0x1122334455667788))
		return false;
	t->msn++;
	return pqp_ack(t, psn + 4);
}

#define BURST 8
#define AHEAD 32 /* packets of the READ */

/* An acknowledge for several requests has the MSN of the last of them (IBTA 9.7.7.1); they wait for a READ's answer. */
static bool acked_together(struct packet_qp *t)
{
	const unsigned int ack =
		t->qpt == IBV_QPT_XRC_RECV ? HCASIM_BTH_OP_XRC_ACKNOWLEDGE : HCASIM_BTH_OP_RC_ACKNOWLEDGE;
	const uint32_t read = t->psn;
	struct packet got;
	uint32_t number;
	bool good;

	port_hold(&t->port);
	t->psn = (read + AHEAD) & HCASIM_PSN_MASK;
	good = pqp_ask_read(t, read, 0, AHEAD * PQP_MTU);
	for (unsigned int i = 0; i < BURST && good; i++)
		good = write_once(t, AHEAD * PQP_MTU + 32 * i, 30);
	good = port_release(&t->port) && good;
	t->msn++;
	if (!good || !pqp_read_answer(t, read, 0, AHEAD * PQP_MTU))
		return false;
	do {
		if (!port_get(&t->port, &got))
			return false;
		number = (got.psn - read - AHEAD) & HCASIM_PSN_MASK;
		if (got.opcode != ack || got.kind || number >= BURST || got.msn != t->msn + number + 1)
			KIT_FAULT(t->k,
				  "an answer with opcode 0x%x, syndrome %u, MSN %u for request %u behind a "
				  "READ "
				  "of MSN %u",
				  got.opcode, got.kind, got.msn, number, t->msn);
	} while (KIT_GOOD(t->k) && number < BURST - 1);
	t->msn += BURST;
	return KIT_GOOD(t->k);
}

static bool gap(struct packet_qp *t)
{
	return write_at(t, t->psn + 1) && pqp_nak(t, HCASIM_NAK_PSN_SEQ, t->psn);
}

static bool add_none(struct packet_qp *t)
{
	const struct pqp_atomic add = {HCASIM_BTH_CODE_FETCH_ADD, 0, 0};
	uint32_t psn = t->psn;

	t->msn++;
	t->psn = (psn + 1) & HCASIM_PSN_MASK;
	return pqp_ask_atomic(t, psn, &add) && pqp_atomic_answer(t, psn, 0x1122334455667788);
}

/* Any request that was missing ends a gap: the next gap has a NAK of its own. */
static bool gaps_filled(struct packet_qp *t)
{
	return gap(t) && read_once(t, 9, 300) && gap(t) && add_none(t) && gap(t) && read_once(t, 5, 0) &&
	       gap(t) && write_acked(t, 40, 16);
}

/* A message of one byte comes to its receive. */
static bool small_message(struct packet_qp *t)
{
	struct packet p = pqp_packet(t, HCASIM_BTH_CODE_SEND_ONLY, 1);
	struct ibv_wc wc;

	*pqp_slot(t) = t->data[0];
	t->msn++;
	return pqp_receive(t, 16) && pqp_send(t, &p) && pqp_ack(t, p.psn) &&
	       pqp_received(t, IBV_WC_SUCCESS, 1, &wc);
}

/* A NAK that waits for an answer before it is not lost when what was missing comes. */
static bool gap_waits(struct packet_qp *t)
{
	const uint32_t read = t->psn;
	bool good;

	port_hold(&t->port);
	t->psn = (read + AHEAD) & HCASIM_PSN_MASK;
	good = pqp_ask_read(t, read, 0, AHEAD * PQP_MTU) && write_at(t, t->psn + 1) &&
	       write_once(t, AHEAD * PQP_MTU, 32);
	good = port_release(&t->port) && good;
	t->msn++;
	good = good && pqp_read_answer(t, read, 0, AHEAD * PQP_MTU) &&
	       pqp_nak(t, HCASIM_NAK_PSN_SEQ, t->psn - 1);
	t->msn++;
	return good && pqp_ack(t, t->psn - 1);
}

static void packet_sequence(struct kit *k)
{
	static struct packet_qp t;

	if (pqp_open(k, &t) && gaps(&t) && repeated_writes(&t) && reads(&t) && atomics(&t) && burst(&t) &&
	    gaps_filled(&t) && acked_together(&t) && gap_waits(&t) && small_message(&t))
		pqp_judge_memory(&t);
}

SCENARIO(packet_sequence) = {
	{"sequence", SUITE("packet"), QPS("RC XRC_SEND"), FORMS({""}, {"-ipv4", {{"ipv4", 1}}}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/rq_psn"), LEVEL("SHOULD"), ERRATA("PSN-REPEATED"),
	 NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("one NAK for a gap; repeated WRITEs and SENDs are acknowledged, READs and parts of them "
	      "answered again, atomics answered as before; answers come in order, with their PSNs and "
	      "lengths")},
	{},
};

/* A message of three packets, for a receive that is posted late; with the code of min_rnr_timer. */
static bool late_receive(struct packet_qp *t)
{
	struct packet p = pqp_packet(t, HCASIM_BTH_CODE_SEND_FIRST, PQP_MTU);
	uint32_t first = t->psn;
	struct ibv_wc wc;

	p.ackreq = false;
	if (!pqp_send(t, &p) || !pqp_answer(t, HCASIM_AETH_KIND_RNR, t->rnr_timer, first))
		return false;
	p = pqp_packet(t, HCASIM_BTH_CODE_SEND_LAST, 7);
	if (!pqp_send(t, &p)) /* without a NAK of its own */
		return false;
	t->psn = first;
	p = pqp_packet(t, HCASIM_BTH_CODE_SEND_FIRST, PQP_MTU);
	memcpy(pqp_slot(t), t->data, PQP_MTU);
	if (!pqp_receive(t, PQP_MTU + 7) || !pqp_send(t, &p))
		return false;
	p = pqp_packet(t, HCASIM_BTH_CODE_SEND_LAST_WITH_IMMEDIATE, 7);
	p.imm = 0x01020304 + t->rnr_timer;
	p.ackreq = true;
	memcpy(pqp_slot(t) + PQP_MTU, t->data, 7);
	if (!pqp_send(t, &p) || !pqp_ack(t, first) || !KIT_GOOD(t->k))
		return false;
	t->msn++;
	if (!pqp_ack(t, first + 1) || !pqp_received(t, IBV_WC_SUCCESS, PQP_MTU + 7, &wc))
		return false;
	if (!(wc.wc_flags & IBV_WC_WITH_IMM) || wc.imm_data != htobe32(0x01020304 + t->rnr_timer))
		KIT_FAULT(t->k, "the immediate data is wrong");
	return KIT_GOOD(t->k);
}

/* All codes of min_rnr_timer are in the NAK as they were set. */
static void packet_rnr(struct kit *k)
{
	static struct packet_qp t;
	bool good = pqp_open(k, &t);

	for (unsigned int code = 0; code < 32 && good; code++) {
		t.rnr_timer = code;
		good = pqp_again(&t, 0xfffffe + code) && late_receive(&t);
	}
	if (good)
		pqp_judge_memory(&t);
}

SCENARIO(packet_rnr) = {
	{"rnr", SUITE("packet"), QPS("RC XRC_SEND"), CLAUSE("ibv_modify_qp/DESCRIPTION/min_rnr_timer"),
	 LEVEL("SHOULD"), ERRATA("RNR-TIMER"), NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("for each code one RNR NAK with it for a message that finds no receive; the repeated "
	      "message is received")},
	{},
};

/* ---- Messages of which RESET or ERR leaves the rest ---- */

static bool is_written(struct packet_qp *t, const uint8_t *at, const uint8_t *bytes, size_t len)
{
	struct watchdog w = watchdog(t->k->r->dut.timeout_ms);

	do
		end_sync();
	while (memcmp(at, bytes, len) && !watchdog_expired(&w) && !remote_broken());
	if (memcmp(at, bytes, len))
		KIT_FAULT(t->k, "the beginning of a message is not in memory");
	return KIT_GOOD(t->k);
}

/* Two packets of a message, until they are in memory. Its receive and its bytes are undefined from then on. */
static bool begin_message(struct packet_qp *t, bool write)
{
	const uint32_t at = write ? 0 : pqp_slot(t) - t->want;
	struct packet p =
		pqp_packet(t, write ? HCASIM_BTH_CODE_RDMA_WRITE_FIRST : HCASIM_BTH_CODE_SEND_FIRST, PQP_MTU);

	p.ackreq = false;
	p.dmalen = PQP_SLOT;
	if (!pqp_receive(t, PQP_SLOT) || !pqp_send(t, &p))
		return false;
	p = pqp_packet(t, write ? HCASIM_BTH_CODE_RDMA_WRITE_MIDDLE : HCASIM_BTH_CODE_SEND_MIDDLE, PQP_MTU);
	p.ackreq = false;
	if (!pqp_send(t, &p) || !is_written(t, t->mem + at + PQP_MTU, t->data, PQP_MTU))
		return false;
	memcpy(t->want + at, t->mem + at, PQP_SLOT);
	return true;
}

static bool stop(struct packet_qp *t)
{
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	int ret = ibv_modify_qp(t->qp, &error, IBV_QP_STATE);
	struct ibv_wc wc;

	if (ret)
		KIT_FAULT(t->k, "ibv_modify_qp to ERR failed with %s", errno_name(ret));
	return !ret && (t->srq || pqp_received(t, IBV_WC_WR_FLUSH_ERR, 0, &wc));
}

/* After RESET a message starts again, in a receive that was posted afterwards. */
static bool begins_anew(struct packet_qp *t, bool write, bool error)
{
	struct packet p;
	struct ibv_wc wc;

	if (!begin_message(t, write) || (error && !stop(t)) || !pqp_again(t, 0xffffff) ||
	    !pqp_receive(t, PQP_SLOT))
		return false;
	p = pqp_packet(t, HCASIM_BTH_CODE_SEND_ONLY, 40);
	memcpy(pqp_slot(t), t->data, 40);
	if (!pqp_send(t, &p) || !pqp_received(t, IBV_WC_SUCCESS, 40, &wc))
		return false;
	t->msn++;
	return t->qpt == IBV_QPT_UC || pqp_ack(t, p.psn);
}

static void packet_begun(struct kit *k)
{
	static struct packet_qp t;

	if (pqp_open(k, &t) && begins_anew(&t, false, false) && begins_anew(&t, false, true) &&
	    (t.srq || (begins_anew(&t, true, false) && begins_anew(&t, true, true))))
		pqp_judge_memory(&t);
}

SCENARIO(packet_begun) = {
	{"begun", SUITE("packet"), QPS("RC XRC_SEND UC"), CLAUSE("ibv_modify_qp/DESCRIPTION/qp_state"),
	 LEVEL("SHOULD"), ERRATA("QP-RECYCLE"), NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("RESET, with or without ERR before it, drops a message of which two packets have come, "
	      "with its receive; the next message starts again, in a receive that was posted afterwards")},
	{},
};
