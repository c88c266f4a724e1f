/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packets that a QP must not take, because of one wrong field, and packets that it must take in spite of one. */
#include <arpa/inet.h>
#include <string.h>

#include "suites/transport/bytes.h"
#include "suites/transport/packet_qp.h"

#define BYTES 24

enum where { IP, UDP, BTH, PAYLOAD, ICRC /* from its beginning */, ETH };

/* Bits of one byte to be inverted. */
struct edit {
	const char *what;
	enum where where;
	uint8_t at, bits;
	uint8_t ip;  /* 4 or 6: only with this version; 0: both */
	uint8_t qpt; /* enum ibv_qp_type: only for this one; 0: all */
};

/* IBTA 9.6.1 and A17.4: silently dropped. */
static const struct edit wrong[] = {
	{"version 5 of IP", IP, 0, 0x30, .ip = 6},
	{"version 7 of IP", IP, 0, 0x10, .ip = 6},
	{"version 5 of IP", IP, 0, 0x10, .ip = 4},
	{"an Ethertype below that of IP", ETH, 12, 0x80 | 0x06, .ip = 6},
	{"an Ethertype above that of IP", ETH, 12, 0x08, .ip = 6},
	{"an Ethertype below that of IPv4", ETH, 12, 0x0e, .ip = 4},
	{"next header", IP, 6, 0x01, .ip = 6},
	{"a higher next header", IP, 6, 0x02, .ip = 6},
	{"protocol", IP, 9, 0x01, .ip = 4},
	{"a higher protocol", IP, 9, 0x02, .ip = 4},
	{"longer IPv4 header", IP, 0, 0x03, .ip = 4},
	{"shorter IPv4 header", IP, 0, 0x01, .ip = 4},
	{"length of IPv6", IP, 5, 0x04, .ip = 6},
	{"length of IPv6 beyond the frame", IP, 4, 0x40, .ip = 6},
	{"length of IPv4", IP, 3, 0x04, .ip = 4},
	{"length of IPv4 beyond the frame", IP, 2, 0x40, .ip = 4},
	{"IPv4 fragment, more follow", IP, 6, 0x20, .ip = 4},
	{"IPv4 fragment offset", IP, 7, 0x01, .ip = 4},
	{"IPv4 fragment offset, high bits", IP, 6, 0x10, .ip = 4},
	{"checksum of IPv4", IP, 10, 0x01, .ip = 4},
	{"checksum of IPv4, low byte", IP, 11, 0x80, .ip = 4},
	{"destination address", IP, 39, 0x80, .ip = 6},
	{"destination address, first byte", IP, 24, 0x01, .ip = 6},
	{"destination address", IP, 19, 0x40, .ip = 4},
	{"destination port", UDP, 2, 0x01, .ip = 0},
	{"destination port, low byte", UDP, 3, 0x80, .ip = 0},
	{"length of UDP", UDP, 5, 0x04, .ip = 0},
	{"length of UDP, high byte", UDP, 4, 0x01, .ip = 0},
	{"transport UC", BTH, 0, 0x20, .qpt = IBV_QPT_RC},
	{"transport UD", BTH, 0, 0x60, .qpt = IBV_QPT_RC},
	{"transport XRC", BTH, 0, 0xa0, .qpt = IBV_QPT_RC},
	{"transport RC", BTH, 0, 0x20, .qpt = IBV_QPT_UC},
	{"transport UD", BTH, 0, 0x40, .qpt = IBV_QPT_UC},
	{"transport RC", BTH, 0, 0x60, .qpt = IBV_QPT_UD},
	{"transport UC", BTH, 0, 0x40, .qpt = IBV_QPT_UD},
	{"transport XRC", BTH, 0, 0x80, .qpt = IBV_QPT_UC},
	{"transport XRC", BTH, 0, 0xc0, .qpt = IBV_QPT_UD},
	{"transport RC", BTH, 0, 0xa0, .qpt = IBV_QPT_XRC_RECV},
	{"transport UC", BTH, 0, 0x80, .qpt = IBV_QPT_XRC_RECV},
	{"transport UD", BTH, 0, 0xc0, .qpt = IBV_QPT_XRC_RECV},
	{"an acknowledge", BTH, 0, 0x15, .qpt = IBV_QPT_RC},
	{"an acknowledge", BTH, 0, 0x15, .qpt = IBV_QPT_XRC_RECV},
	{"an opcode of RC only", BTH, 0, 0x08, .qpt = IBV_QPT_UC},
	{"an opcode of RC only", BTH, 0, 0x10, .qpt = IBV_QPT_UC},
	{"an opcode of connections only", BTH, 0, 0x04, .qpt = IBV_QPT_UD},
	{"an opcode of connections only", BTH, 0, 0x0e, .qpt = IBV_QPT_UD},
	{"transport version 1", BTH, 1, 0x01, .ip = 0},
	{"transport version 8", BTH, 1, 0x08, .ip = 0},
	{"P_Key, low bit", BTH, 3, 0x01, .ip = 0},
	{"P_Key, bit 7", BTH, 3, 0x80, .ip = 0},
	{"P_Key, bit 8", BTH, 2, 0x01, .ip = 0},
	{"P_Key, bit 14", BTH, 2, 0x40, .ip = 0},
	{"another QP", BTH, 5, 0x80, .ip = 0},
	{"another QP, low byte", BTH, 7, 0x80, .ip = 0},
	{"Q_Key, first byte", BTH, 12, 0x80, .qpt = IBV_QPT_UD},
	{"Q_Key, second byte", BTH, 13, 0x01, .qpt = IBV_QPT_UD},
	{"Q_Key, third byte", BTH, 14, 0x10, .qpt = IBV_QPT_UD},
	{"Q_Key, last byte", BTH, 15, 0x01, .qpt = IBV_QPT_UD},
	{"ICRC, first byte", ICRC, 0, 0x01, .ip = 0},
	{"ICRC, second byte", ICRC, 1, 0x80, .ip = 0},
	{"ICRC, third byte", ICRC, 2, 0x10, .ip = 0},
	{"ICRC, last byte", ICRC, 3, 0x40, .ip = 0},
	{"payload after the ICRC", PAYLOAD, 0, 0x01, .ip = 0},
	{"last payload byte after the ICRC", PAYLOAD, BYTES - 1, 0x80, .ip = 0},
};

/* A connected QP only takes packets of the address that it is connected to (IBTA 9.6.1.2). */
static const struct edit elsewhere[] = {
	{"source address", IP, 8, 0x01, .ip = 6},
	{"source address, last byte", IP, 23, 0x80, .ip = 6},
	{"source address", IP, 12, 0x01, .ip = 4},
	{"source address, last byte", IP, 15, 0x80, .ip = 4},
};

/* Fields that routers may change, that are reserved, or that have no meaning for the receiver. */
static const struct edit harmless[] = {
	{"traffic class", IP, 1, 0x30, .ip = 6},
	{"flow label", IP, 3, 0x55, .ip = 6},
	{"hop limit", IP, 7, 0xff ^ 37 ^ 1, .ip = 6},
	{"type of service", IP, 1, 0x7c, .ip = 4},
	{"time to live", IP, 8, 0x11, .ip = 4},
	{"identification", IP, 5, 0xa5, .ip = 4},
	{"fragmentation allowed", IP, 6, 0x40, .ip = 4},
	{"source port", UDP, 0, 0x3f, .ip = 0},
	{"source port, low byte", UDP, 1, 0xff, .ip = 0},
	{"limited member of the partition", BTH, 2, 0x80, .ip = 0},
	{"FECN", BTH, 4, 0x80, .ip = 0},
	{"reserved bits after BECN", BTH, 4, 0x3f, .ip = 0},
	{"reserved bits before the PSN", BTH, 8, 0x7f, .ip = 0},
};

/* The self-test of the suite sends one packet of packet_wrong as it should be, and must see the cell fail (argument `right`). */
static struct {
	unsigned int sent, right; /* packets so far; the number of that one, from 1 */
} turn;

static bool is_right(void)
{
	return ++turn.sent == turn.right;
}

static uint32_t place(const struct frame *f, const struct edit *e)
{
	switch (e->where) {
	case IP:
		return f->ip + e->at;
	case UDP:
		return f->udp + e->at;
	case BTH:
		return f->bth + e->at;
	case ETH:
		return e->at;
	case PAYLOAD:
		return f->len - HCASIM_ICRC_SIZE - BYTES + e->at;
	default:
		return f->len - HCASIM_ICRC_SIZE + e->at;
	}
}

static bool applies(const struct packet_qp *t, const struct edit *e)
{
	return (!e->ip || (e->ip == 4) == t->port.v4) && (!e->qpt || e->qpt == t->qpt);
}

/* A SEND of one packet with this field changed. The PSN is still that of the next one. */
static bool put_changed(struct packet_qp *t, const struct edit *e)
{
	const struct packet p = pqp_packet(t, HCASIM_BTH_CODE_SEND_ONLY, BYTES);
	struct frame f = port_frame(&t->port, &p);

	f.at[place(&f, e)] ^= is_right() ? 0 : e->bits;
	if (e->where == IP && !(t->port.v4 && (e->at == 10 || e->at == 11)))
		port_seal_ip(&t->port, &f);
	if (e->where != ICRC && e->where != PAYLOAD)
		port_seal_icrc(&t->port, &f);
	return port_put(&t->port, &f);
}

static bool put_all(struct packet_qp *t, const struct edit *edits, size_t num)
{
	bool good = true;

	for (size_t i = 0; i < num && good; i++)
		if (applies(t, &edits[i]))
			good = put_changed(t, &edits[i]);
		else
			turn.sent++; /* so that a number means the same packet on every QP */
	return good;
}

/* Frames that end too early, whatever their lengths say. */
static bool put_short(struct packet_qp *t)
{
	static const uint8_t cuts[] = {1,          4,          BYTES,      BYTES + 4,
				       BYTES + 12, BYTES + 16, BYTES + 20, BYTES + 24};
	bool good = true;

	for (size_t i = 0; i < sizeof(cuts) && good; i++) {
		const struct packet p = pqp_packet(t, HCASIM_BTH_CODE_SEND_ONLY, BYTES);
		struct frame f = port_frame(&t->port, &p);

		f.len -= is_right() ? 0 : cuts[i];
		good = port_put(&t->port, &f);
	}
	return good;
}

/* Packets whose lengths agree, but are too short for their headers, or no multiple of 4. */
static bool put_headless(struct packet_qp *t)
{
	/* bytes from the UDP header on; those of the whole header and an ICRC: 24 */
	static const uint8_t lengths[] = {
		0, 4, 7, 8, 12, 16, 19, 20, 23, 24 + BYTES - 1, 24 + BYTES - 2, 24 + BYTES + 1};
	bool good = true;

	for (size_t i = 0; i < sizeof(lengths) && good; i++) {
		const struct packet p = pqp_packet(t, HCASIM_BTH_CODE_SEND_ONLY, BYTES);
		struct frame f = port_frame(&t->port, &p);

		if (!is_right())
			port_resize(&t->port, &f, lengths[i]);
		good = port_put(&t->port, &f);
	}
	return good;
}

/* IP and UDP lengths that leave no whole UDP header, with all headers behind. */
static bool put_cut_udp(struct packet_qp *t)
{
	static const uint8_t lengths[] = {0, 4, 7};
	bool good = true;

	for (size_t i = 0; i < sizeof(lengths) && good; i++) {
		const struct packet p = pqp_packet(t, HCASIM_BTH_CODE_SEND_ONLY, BYTES);
		struct frame f = port_frame(&t->port, &p);

		if (!is_right()) {
			put16(f.at + f.udp + 4, lengths[i]);
			put16(f.at + f.ip + (t->port.v4 ? 2 : 4), lengths[i] + (t->port.v4 ? 20 : 0));
			port_seal_ip(&t->port, &f);
		}
		good = port_put(&t->port, &f);
	}
	return good;
}

/* A pad count, but no payload that is padded. */
static bool put_pad_alone(struct packet_qp *t)
{
	bool good = true;

	for (uint8_t pad = 1; pad <= 3 && good; pad++) {
		const struct packet p = pqp_packet(t, HCASIM_BTH_CODE_SEND_ONLY, 0);
		struct frame f = port_frame(&t->port, &p);

		f.at[f.bth + 1] |= is_right() ? 0 : pad << 4;
		port_seal_icrc(&t->port, &f);
		good = port_put(&t->port, &f);
	}
	return good;
}

/* Requests that carry no payload, with one. */
static bool put_with_payload(struct packet_qp *t)
{
	static const uint8_t codes[] = {HCASIM_BTH_CODE_RDMA_READ_REQUEST, HCASIM_BTH_CODE_COMPARE_SWAP};
	bool good = true;

	for (size_t i = 0; i < 2 * sizeof(codes) && good; i++) {
		struct packet p = pqp_packet(t, codes[i / 2], i & 1 ? 4 : 2);

		if (is_right())
			p.len = 0;
		good = port_send(&t->port, &p);
	}
	return good;
}

/* A WRITE's and an atomic's BTH with less than their other headers. */
static bool put_without(struct packet_qp *t, unsigned int code, uint32_t udp_len)
{
	const struct packet p = pqp_packet(t, code, 0);
	struct frame f = port_frame(&t->port, &p);

	if (!is_right())
		port_resize(&t->port, &f, udp_len);
	return port_put(&t->port, &f);
}

/* The destination of datagrams to groups (IBTA 9.6.1.2.1), in one to the port's own address. */
static bool put_to_all(struct packet_qp *t)
{
	struct packet p = pqp_packet(t, HCASIM_BTH_CODE_SEND_ONLY, BYTES);

	if (!is_right())
		p.dqpn = 0xffffff;
	return port_send(&t->port, &p);
}

/* What was executed before must be in the right receive; its answer, if there is one, comes next. */
static bool is_taken(struct packet_qp *t, const uint8_t *payload)
{
	uint8_t *slot = pqp_slot(t) + (t->qpt == IBV_QPT_UD ? HCASIM_GRH_SIZE : 0);
	struct ibv_wc wc;

	memcpy(slot, payload, BYTES);
	t->msn++;
	if (!pqp_received(t, IBV_WC_SUCCESS, BYTES, &wc))
		return false;
	end_sync();
	if (memcmp(t->mem + (slot - t->want), slot, BYTES))
		KIT_FAULT(t->k, "the receive has the contents of another packet");
	return KIT_GOOD(t->k) && (t->qpt == IBV_QPT_UD || t->qpt == IBV_QPT_UC || pqp_ack(t, t->psn - 1));
}

static bool carry(struct packet_qp *t)
{
	const struct packet p = pqp_packet(t, HCASIM_BTH_CODE_SEND_ONLY, BYTES);

	return pqp_receive(t, PQP_SLOT) && pqp_send(t, &p) && is_taken(t, t->data);
}

static bool put_wrong(struct packet_qp *t)
{
	const bool connected = t->qpt != IBV_QPT_UD, reliable = connected && t->qpt != IBV_QPT_UC;

	return put_all(t, wrong, sizeof(wrong) / sizeof(wrong[0])) && put_short(t) && put_headless(t) &&
	       put_to_all(t) && put_cut_udp(t) && put_pad_alone(t) &&
	       (!connected || (put_all(t, elsewhere, sizeof(elsewhere) / sizeof(elsewhere[0])) &&
			       put_without(t, HCASIM_BTH_CODE_RDMA_WRITE_ONLY, 24) &&
			       put_without(t, HCASIM_BTH_CODE_RDMA_WRITE_ONLY, 36))) &&
	       (!reliable || put_with_payload(t));
}

/* Nothing is answered and no receive is used until the right packet comes. */
static void packet_wrong(struct kit *k)
{
	static struct packet_qp t;

	turn.sent = 0;
	turn.right = (unsigned int)kit_arg(k, "right", 0);
	if (pqp_open(k, &t) && carry(&t) && pqp_receive(&t, PQP_SLOT) && put_wrong(&t)) {
		const struct packet p = pqp_packet(&t, HCASIM_BTH_CODE_SEND_ONLY, BYTES);

		if (pqp_send(&t, &p) && is_taken(&t, t.data))
			carry(&t);
	}
	if (KIT_GOOD(k) && t.qp)
		kit_expect_state(k, t.qp, IBV_QPS_RTR);
	if (turn.right > turn.sent)
		KIT_FAULT(k, "%u packets were sent, there is no packet %u", turn.sent, turn.right);
}

SCENARIO(packet_wrong) = {
	{"wrong", SUITE("packet"), QPS("RC UC XRC_SEND"), FORMS({""}, {"-ipv4", {{"ipv4", 1}}}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/pkey_index"), LEVEL("SHOULD"), ERRATA("PACKET-DROPPED"),
	 NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("a packet with a wrong header, checksum, length, address, P_Key, transport or ICRC, or "
	      "that is cut off, has no effect and no answer; the right one with the same PSN is "
	      "executed")},
	{"wrong", QPS("UD"), FORMS({""}, {"-ipv4", {{"ipv4", 1}}}), CLAUSE("ibv_modify_qp/DESCRIPTION/qkey")},
	{},
};

#define BEHIND 6 /* bytes of the frame behind the packet */

/* What is behind the IP packet belongs to the link (IEEE 802.3: padding). */
static bool put_longer(struct packet_qp *t)
{
	const struct packet p = pqp_packet(t, HCASIM_BTH_CODE_SEND_ONLY, BYTES);
	struct frame f = port_frame(&t->port, &p);

	memset(f.at + f.len, 0x3b, BEHIND);
	f.len += BEHIND;
	return port_put(&t->port, &f);
}

/* The first packet that comes back from an unreliable connection is one that was posted there. */
static bool is_unanswered(struct packet_qp *t)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .sq_psn = 0x4711};
	struct ibv_send_wr wr = kit_wr(0x5e, IBV_WR_SEND, NULL), *bad;
	int ret = ibv_modify_qp(t->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	struct packet got;

	ret = ret ? ret : ibv_post_send(t->qp, &wr, &bad);
	if (ret)
		KIT_FAULT(t->k, "a SEND of the QP under test: %s", errno_name(ret));
	else if (port_get(&t->port, &got) && got.opcode != pqp_op(t, HCASIM_BTH_CODE_SEND_ONLY))
		KIT_FAULT(t->k, "a packet was answered with opcode 0x%x, PSN 0x%x", got.opcode, got.psn);
	return KIT_GOOD(t->k);
}

/* Each packet is executed. */
static void packet_harmless(struct kit *k)
{
	static struct packet_qp t;
	bool good = pqp_open(k, &t);

	turn.right = 0;
	for (size_t i = 0; good && i < sizeof(harmless) / sizeof(harmless[0]); i++) {
		if (!applies(&t, &harmless[i]))
			continue;
		good = pqp_receive(&t, PQP_SLOT) && put_changed(&t, &harmless[i]);
		t.psn = (t.psn + 1) & HCASIM_PSN_MASK;
		good = good && is_taken(&t, t.data);
		if (!good)
			KIT_FAULT(k, "a packet with another value of a field was not taken: %s",
				  harmless[i].what);
	}
	if (good && pqp_receive(&t, PQP_SLOT) && put_longer(&t)) {
		t.psn = (t.psn + 1) & HCASIM_PSN_MASK;
		if (!is_taken(&t, t.data))
			KIT_FAULT(k, "a packet in a longer frame was not taken");
	}
	if (KIT_GOOD(k) && t.qp && t.qpt == IBV_QPT_UC)
		is_unanswered(&t);
}

SCENARIO(packet_harmless) = {
	{"harmless", SUITE("packet"), QPS("RC UC UD XRC_SEND"), FORMS({""}, {"-ipv4", {{"ipv4", 1}}}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/ah_attr"), LEVEL("SHOULD"), ERRATA("PACKET-TAKEN"),
	 NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("packets are executed whatever the fields are that routers may change, or that are "
	      "reserved")},
	{},
};
