/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Lost packets and missing receives on UC and UD: the message is dropped, the next one arrives. */
#include <endian.h>
#include <string.h>

#include "suites/transport/packet_qp.h"

#define PACKETS 3
#define TAIL    11 /* bytes of a last packet */
#define WHOLE   ((PACKETS - 1) * PQP_MTU + TAIL)

static const uint8_t send_codes[PACKETS] = {HCASIM_BTH_CODE_SEND_FIRST, HCASIM_BTH_CODE_SEND_MIDDLE,
					    HCASIM_BTH_CODE_SEND_LAST};
static const uint8_t write_codes[PACKETS] = {HCASIM_BTH_CODE_RDMA_WRITE_FIRST,
					     HCASIM_BTH_CODE_RDMA_WRITE_MIDDLE,
					     HCASIM_BTH_CODE_RDMA_WRITE_LAST_WITH_IMMEDIATE};

/* Sends the packets of a message that are not lost. `to`: where each has its bytes, as they must arrive; may be NULL. */
static bool send_message(struct packet_qp *t, const uint8_t *codes, unsigned int lost, uint8_t *to)
{
	bool good = true;

	for (unsigned int i = 0; i < PACKETS && good; i++) {
		struct packet p = pqp_packet(t, codes[i], i < PACKETS - 1 ? PQP_MTU : TAIL);

		p.dmalen = WHOLE;
		p.imm = 0xcafe0000 + t->used;
		if (to)
			memcpy(to + i * PQP_MTU, t->data, p.len);
		if (lost >> i & 1)
			t->psn = (t->psn + 1) & HCASIM_PSN_MASK;
		else
			good = pqp_send(t, &p);
	}
	return good;
}

/* The next completion is that of a message with these bytes; what is behind them in its receive is undefined. */
static bool arrives(struct packet_qp *t, uint32_t bytes)
{
	uint8_t *slot = pqp_slot(t);
	uint32_t at = slot - t->want;
	struct ibv_wc wc;

	if (!pqp_received(t, IBV_WC_SUCCESS, bytes, &wc))
		return false;
	end_sync();
	judge_bytes(&t->k->res->verdict, "the receive", slot, t->mem + at, bytes);
	memcpy(slot, t->mem + at, PQP_SLOT);
	return KIT_GOOD(t->k);
}

/* A SEND of three packets, of which all come. */
static bool carry(struct packet_qp *t)
{
	return send_message(t, send_codes, 0, pqp_slot(t)) && arrives(t, WHOLE);
}

/* Each set of lost packets, for SEND and WRITE; a whole SEND follows. */
static bool lose(struct packet_qp *t)
{
	for (unsigned int lost = 1; lost < 1 << PACKETS; lost++) {
		unsigned int before = 0;

		if (!pqp_receive(t, PQP_SLOT) || !send_message(t, send_codes, lost, NULL) || !carry(t))
			return false;
		if (!pqp_receive(t, PQP_SLOT) || !send_message(t, write_codes, lost, NULL) || !carry(t))
			return false;
		while (!(lost >> before & 1))
			before++;
		memcpy(t->want, t->mem, before * PQP_MTU); /* may be there, or not */
	}
	return true;
}

/* Nobody has posted a receive when the message begins. */
static bool miss(struct packet_qp *t)
{
	struct packet p;

	if (!send_message(t, send_codes, 0, NULL) || !pqp_passed(t) || !pqp_receive(t, PQP_SLOT) || !carry(t))
		return false;
	/* a receive that is posted in the middle of a message is not for it */
	p = pqp_packet(t, HCASIM_BTH_CODE_SEND_FIRST, PQP_MTU);
	if (!pqp_send(t, &p) || !pqp_passed(t) || !pqp_receive(t, PQP_SLOT))
		return false;
	p = pqp_packet(t, HCASIM_BTH_CODE_SEND_LAST, TAIL);
	return pqp_send(t, &p) && carry(t);
}

/* Sends a packet of a message that must not arrive. */
static bool send_part(struct packet_qp *t, uint8_t code, uint32_t len)
{
	struct packet p = pqp_packet(t, code, len);

	return pqp_send(t, &p);
}

/* A SEND of one packet, which must arrive. */
static bool carry_one(struct packet_qp *t)
{
	const struct packet p = pqp_packet(t, HCASIM_BTH_CODE_SEND_ONLY, 100);

	memcpy(pqp_slot(t), t->data, 100);
	return pqp_send(t, &p) && arrives(t, 100);
}

/* What comes behind a fault in the middle of a message does not go on with it, whatever its PSN is. */
static bool go_on(struct packet_qp *t)
{
	if (!pqp_receive(t, PQP_SLOT) || !send_part(t, HCASIM_BTH_CODE_SEND_FIRST, PQP_MTU))
		return false;
	t->psn = (t->psn + 1) & HCASIM_PSN_MASK; /* the second one of four is lost */
	if (!send_part(t, HCASIM_BTH_CODE_SEND_MIDDLE, PQP_MTU) ||
	    !send_part(t, HCASIM_BTH_CODE_SEND_LAST, TAIL) || !carry(t))
		return false;
	/* the second one comes twice; there is room for both */
	if (!pqp_receive(t, PQP_SLOT + TAIL) || !send_part(t, HCASIM_BTH_CODE_SEND_FIRST, PQP_MTU) ||
	    !send_part(t, HCASIM_BTH_CODE_SEND_MIDDLE, PQP_MTU))
		return false;
	t->psn = (t->psn - 1) & HCASIM_PSN_MASK;
	if (!send_part(t, HCASIM_BTH_CODE_SEND_MIDDLE, PQP_MTU) ||
	    !send_part(t, HCASIM_BTH_CODE_SEND_LAST, TAIL) || !carry(t))
		return false;
	/* the second one does not fit; without it the last one would */
	return pqp_receive(t, PQP_MTU + TAIL) && send_message(t, send_codes, 0, NULL) && carry_one(t);
}

/* A message begins before the last one ended; one with an unexpected PSN; one that does not fit. */
static bool disorder(struct packet_qp *t)
{
	struct packet p = pqp_packet(t, HCASIM_BTH_CODE_SEND_FIRST, PQP_MTU);

	if (!pqp_receive(t, PQP_SLOT) || !pqp_send(t, &p) || !carry(t))
		return false;
	t->psn = (t->psn + 0x765432) & HCASIM_PSN_MASK;
	if (!pqp_receive(t, PQP_SLOT) || !carry(t))
		return false;
	t->psn = (t->psn - 5) & HCASIM_PSN_MASK;
	if (!pqp_receive(t, PQP_SLOT) || !carry(t))
		return false;
	if (!pqp_receive(t, WHOLE - 1) || !send_message(t, send_codes, 0, NULL))
		return false;
	return carry_one(t) && pqp_receive(t, WHOLE) && carry(t);
}

/* A WRITE of three packets that ends one byte behind the region. */
static bool write_beyond(struct packet_qp *t)
{
	bool good = true;

	for (unsigned int i = 0; i < PACKETS && good; i++) {
		struct packet p = pqp_packet(t, write_codes[i], i < PACKETS - 1 ? PQP_MTU : TAIL);

		p.va += PQP_SIZE - WHOLE + 1;
		p.dmalen = WHOLE;
		good = pqp_send(t, &p);
	}
	return good;
}

/* WRITEs that may not be executed change nothing, and the QP goes on. */
static bool refuse(struct packet_qp *t)
{
	struct packet p = pqp_packet(t, HCASIM_BTH_CODE_RDMA_WRITE_ONLY, 40);

	p.rkey ^= 1;
	if (!pqp_send(t, &p))
		return false;
	p = pqp_packet(t, HCASIM_BTH_CODE_RDMA_WRITE_ONLY, 40);
	p.dmalen = 41;
	if (!pqp_send(t, &p))
		return false;
	p = pqp_packet(t, HCASIM_BTH_CODE_RDMA_WRITE_ONLY, 40);
	p.va += PQP_SIZE - 39;
	if (!pqp_send(t, &p))
		return false;
	p = pqp_packet(t, HCASIM_BTH_CODE_SEND_ONLY, PQP_MTU + 4);
	return pqp_send(t, &p) && write_beyond(t) && pqp_receive(t, PQP_SLOT) && carry(t);
}

/* A whole WRITE with immediate, of three packets and of one, and one that finds no receive. */
static bool writes(struct packet_qp *t)
{
	struct packet p = pqp_packet(t, HCASIM_BTH_CODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE, 40);
	struct ibv_wc wc;

	p.va += 4096;
	if (!pqp_send(t, &p) || !pqp_passed(t) || !pqp_receive(t, 0) ||
	    !send_message(t, write_codes, 0, t->want))
		return false;
	if (!pqp_received(t, IBV_WC_SUCCESS, WHOLE, &wc))
		return false;
	if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM || be32toh(wc.imm_data) != 0xcafe0000 + t->used - 1)
		KIT_FAULT(t->k, "the completion of a WRITE has other immediate data or opcode");
	end_sync();
	memcpy(t->want + 4096, t->mem + 4096, 40); /* may be there, or not */
	return KIT_GOOD(t->k);
}

static void packet_lost(struct kit *k)
{
	static struct packet_qp t;

	if (pqp_open(k, &t) && lose(&t) && miss(&t) && disorder(&t) && go_on(&t) && writes(&t) && refuse(&t))
		pqp_judge_memory(&t);
	if (KIT_GOOD(k) && t.qp)
		kit_expect_state(k, t.qp, IBV_QPS_RTR);
}

SCENARIO(packet_lost) = {
	{"lost", SUITE("packet"), QPS("UC"), FORMS({""}, {"-ipv4", {{"ipv4", 1}}}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/rq_psn"), LEVEL("SHOULD"), ERRATA("UC-GAP"),
	 NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("a message of which any packet is lost, that finds no receive, does not fit or is not "
	      "allowed, is dropped; the next one arrives whole")},
	{},
};

/* ---- Datagrams ---- */

/* The 40 bytes before a datagram: its IPv6 header, or 20 undefined bytes and its IPv4 header (erratum GRH-ROCE). */
static void judge_grh(struct packet_qp *t, const struct frame *f, uint32_t at)
{
	uint32_t size = f->udp - f->ip;

	end_sync();
	judge_bytes(&t->k->res->verdict, "the IP header before a datagram", f->at + f->ip,
		    t->mem + at + HCASIM_GRH_SIZE - size, size);
}

static bool datagram(struct packet_qp *t, uint32_t len, bool imm)
{
	struct packet p = pqp_packet(
		t, imm ? HCASIM_BTH_CODE_SEND_ONLY_WITH_IMMEDIATE : HCASIM_BTH_CODE_SEND_ONLY, len);
	uint32_t at = pqp_slot(t) - t->want;
	struct frame f;
	struct ibv_wc wc;

	p.sqpn = 0x800000 | len << 8 | 7;
	p.imm = 0x81020304 + len;
	f = port_frame(&t->port, &p);
	if (!port_put(&t->port, &f) || !pqp_received(t, IBV_WC_SUCCESS, len, &wc))
		return false;
	t->psn = (t->psn + 1) & HCASIM_PSN_MASK;
	if (wc.src_qp != p.sqpn || !(wc.wc_flags & IBV_WC_GRH) || wc.pkey_index || wc.slid ||
	    wc.dlid_path_bits || wc.opcode != IBV_WC_RECV)
		KIT_FAULT(t->k, "src_qp 0x%x, flags 0x%x, pkey_index %u, slid %u, path bits %u, opcode %u",
			  wc.src_qp, wc.wc_flags, wc.pkey_index, wc.slid, wc.dlid_path_bits, wc.opcode);
	if (!(wc.wc_flags & IBV_WC_WITH_IMM) != !imm || (imm && wc.imm_data != htobe32(p.imm)))
		KIT_FAULT(t->k, "the immediate data is wrong");
	judge_grh(t, &f, at);
	memcpy(t->want + at, t->mem + at, HCASIM_GRH_SIZE);
	memcpy(t->want + at + HCASIM_GRH_SIZE, t->data, len);
	return KIT_GOOD(t->k);
}

/* More than the largest MTU (IBTA 9.8.3). */
static bool too_long(struct packet_qp *t)
{
	static uint8_t bytes[4100];
	struct packet p = pqp_packet(t, HCASIM_BTH_CODE_SEND_ONLY, 4);

	p.payload = bytes;
	p.len = sizeof(bytes);
	return pqp_receive(t, 5000) && port_send(&t->port, &p); /* it would fit */
}

/* ---- Datagrams that are sent ---- */

/* The UDP source port of a datagram through a new address handle; 0: a fault. */
static uint16_t source_port(struct packet_qp *t)
{
	struct ibv_ah *ah = ibv_create_ah(t->qp->pd, &t->port.to_here);
	struct ibv_sge sge = {(uintptr_t)t->mem, 8, t->mr->lkey};
	struct ibv_send_wr wr = kit_wr(1, IBV_WR_SEND, &sge), *bad;
	struct packet got = {0};

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = t->port.qp->qp_num;
	wr.wr.ud.remote_qkey = PQP_QKEY;
	if (!ah || ibv_post_send(t->qp, &wr, &bad))
		KIT_FAULT(t->k, "ibv_create_ah or ibv_post_send failed");
	else
		port_get(&t->port, &got);
	return got.sport;
}

#define HANDLES 4

static void packet_flow(struct kit *k)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};
	static struct packet_qp t;
	uint16_t port[HANDLES];

	if (pqp_open(k, &t) && ibv_modify_qp(t.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		KIT_FAULT(k, "ibv_modify_qp to RTS failed");
	t.port.to_here.grh.flow_label = 0x12345;
	for (unsigned int i = 0; i < HANDLES && KIT_GOOD(k); i++) {
		port[i] = source_port(&t);
		if (KIT_GOOD(k) && !kit_holds(k, port[i] == port[0]))
			KIT_FAULT(k, "handle %u: UDP source port 0x%x, that of the first handle is 0x%x", i,
				  port[i], port[0]);
	}
}

SCENARIO(packet_flow) = {
	{"flow", SUITE("packet"), QPS("UD"), FORMS({""}, {"-ipv4", {{"ipv4", 1}}}),
	 CLAUSE("ibv_create_ah/DESCRIPTION/flow_label"), LEVEL("SHOULD"), ERRATA("FLOW-PORT"),
	 NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("datagrams through several address handles with one flow label have one UDP source port")},
	{},
};

/* Datagrams of several lengths; without a receive; into one that is too short; in a receive that is just long enough. */
static void packet_datagram(struct kit *k)
{
	static const uint16_t lengths[] = {0, 1, 3, 4, 255, 256, 257, 700};
	static struct packet_qp t;
	bool good = pqp_open(k, &t) && too_long(&t) && datagram(&t, 90, false);

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]) && good; i++) {
		const struct packet lost = pqp_packet(&t, HCASIM_BTH_CODE_SEND_ONLY, 64);
		uint32_t fits = HCASIM_GRH_SIZE + lengths[i];

		good = port_send(&t.port, &lost) && pqp_passed(&t) && pqp_receive(&t, fits);
		if (good && lengths[i]) {
			const struct packet more = pqp_packet(&t, HCASIM_BTH_CODE_SEND_ONLY, lengths[i] + 1);

			good = port_send(&t.port, &more);
		}
		good = good && datagram(&t, lengths[i], i & 1);
	}
	if (good)
		pqp_judge_memory(&t);
}

SCENARIO(packet_datagram) = {
	{"datagram", SUITE("packet"), QPS("UD"), FORMS({""}, {"-ipv4", {{"ipv4", 1}}}),
	 CLAUSE("ibv_poll_cq/DESCRIPTION/IBV_WC_GRH"), LEVEL("SHOULD"), ERRATA("UD-DROPPED"),
	 NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("datagrams of all lengths arrive with their IP header, source QP and immediate data; one "
	      "that finds no receive, or does not fit, is dropped")},
	{},
};
