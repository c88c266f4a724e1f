/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Checksums and segments of frames of many shapes: VLAN tags, IPv4 options, IPv6 extension headers, TCP options,
 * fragments, bytes behind the IP packet. What must be received is built here, with checksums of its own.
 */
#include <string.h>

#include "suites/kit.h"
#include "suites/transport/bytes.h"

#define TCP  6
#define UDP  17
#define ICMP 1
#define SCTP 132

#define FRAME 2048
#define SEQ   0xffffff80u /* wraps */
#define IP_ID 0xfffe      /* wraps */
#define FLAGS 0x99        /* CWR, ACK, PSH, FIN */

struct shape {
	const char *what;
	uint8_t vlans, ip; /* ip: 4, 6, or 0 */
	uint8_t more;      /* words of IPv4 options, or IPv6 extension headers */
	uint8_t proto;
	uint16_t len;    /* of the payload */
	uint8_t options; /* words of TCP options */
	uint16_t frag;   /* field of the IPv4 header */
	uint8_t trailer; /* bytes behind the IP packet */
	uint8_t missing; /* bytes that the transport header lacks */
	uint8_t offset;  /* words of the TCP header, as it says; 0: as many as it has */
	bool zero;       /* the payload makes the transport checksum 0; of ICMP, one computed as for TCP */
	bool carry;      /* identification and payload: each sum is 0x10000 once its first carry is added */
	uint8_t units;   /* of 8 bytes, of the first extension header, besides the usual one */
	uint32_t seq;    /* of TCP; 0: SEQ */
	uint32_t flow;   /* traffic class and flow label of IPv6; 0: the usual */
	uint8_t mac[5];  /* UD: behind an Ethernet header for this address, not the 4 bytes of IPoIB */
};

static const struct shape shapes[] = {
	{"TCP", 0, 4, 0, TCP, .len = 100},
	{"UDP", 0, 4, 0, UDP, .len = 101},
	{"TCP without payload", 0, 4, 0, TCP, .len = 0, .trailer = 6},
	{"UDP without payload", 0, 4, 0, UDP, .len = 0, .trailer = 18},
	{"VLAN, TCP", 1, 4, 0, TCP, .len = 99},
	{"two VLANs, UDP", 2, 4, 0, UDP, .len = 64},
	{"IPv4 options, TCP", 0, 4, 1, TCP, .len = 77},
	{"the longest IPv4 header, UDP", 0, 4, 10, UDP, .len = 78},
	{"TCP options", 0, 4, 0, TCP, .len = 50, .options = 10},
	{"DF", 0, 4, 0, UDP, .len = 40, .frag = 0x4000},
	{"first fragment", 0, 4, 0, UDP, .len = 40, .frag = 0x2000},
	{"last fragment", 0, 4, 0, TCP, .len = 40, .frag = 0x0001},
	{"a fragment far behind", 0, 4, 0, TCP, .len = 40, .frag = 0x1000},
	{"ICMP", 0, 4, 0, ICMP, .len = 60},
	{"bytes behind the packet", 0, 4, 0, TCP, .len = 33, .trailer = 31},
	{"half a TCP header", 0, 4, 0, TCP, .len = 0, .missing = 1, .trailer = 30},
	{"half a UDP header", 0, 4, 0, UDP, .len = 0, .missing = 1, .trailer = 30},
	{"ICMP with a length like TCP's", 0, 4, 0, ICMP, .len = 66, .offset = 5},
	{"ICMP with the sum of TCP", 0, 4, 0, ICMP, .len = 67, .zero = true},
	{"TCP sequence number that ends with 0", 0, 4, 0, TCP, .len = 68, .seq = 0x12340000},
	{"checksums that need two carries", 0, 4, 0, UDP, .len = 69, .carry = true},
	{"IPv6, TCP", 0, 6, 0, TCP, .len = 100},
	{"IPv6, UDP", 0, 6, 0, UDP, .len = 55},
	{"VLAN, IPv6, UDP", 1, 6, 0, UDP, .len = 56},
	{"IPv6 extension, TCP", 0, 6, 1, TCP, .len = 57},
	{"IPv6 extensions, UDP", 0, 6, 3, UDP, .len = 58},
	{"a long IPv6 extension, TCP", 0, 6, 1, TCP, .len = 59, .units = 5},
	{"long IPv6 extensions, UDP", 0, 6, 2, UDP, .len = 60, .units = 20},
	{"a long IPv6 extension, short UDP", 0, 6, 1, UDP, .len = 4, .units = 20},
	{"IPv6, half a UDP header", 0, 6, 0, UDP, .len = 0, .missing = 1, .trailer = 30},
	{"IPv6, first 4 bytes like a right IPv4 header", 0, 6, 0, TCP, .len = 72, .flow = 0x1009eff},
	{"IPv6, bytes behind the packet", 0, 6, 0, UDP, .len = 20, .trailer = 9},
	{"no IP", 0, 0, 0, 0, .len = 80},
	{"IPv4 header alone", 0, 4, 0, ICMP, .len = 0},
	{"SCTP", 0, 4, 0, SCTP, .len = 44},
	{"TCP header that says to be shorter", 0, 4, 0, TCP, .len = 60, .offset = 4},
	{"TCP header that says to be longer", 0, 4, 0, TCP, .len = 7, .offset = 7, .trailer = 40},
	{"UDP checksum of 0", 0, 4, 0, UDP, .len = 70, .zero = true},
	{"TCP checksum of 0", 0, 6, 0, TCP, .len = 71, .zero = true},
	/* Read as IPoIB, the IPv4 length would be 0x0200, from the source address: more than the frame has. */
	{"Ethernet, address like IPv4 with reserved bytes", 0, 4, 0, TCP, .len = 60,
	 .mac = {8, 0, 1, 0, 0x45}},
	{"Ethernet, address like IPv4 of another type", 0, 4, 0, UDP, .len = 60, .mac = {9, 0, 0, 0, 0x45}},
	{"Ethernet, address like IPv6 of a lower type", 0, 6, 0, TCP, .len = 60, .mac = {2, 0, 0, 0, 0x65}},
	{"Ethernet, address like IPv6 of a higher type", 0, 4, 0, UDP, .len = 60,
	 .mac = {0x9a, 0, 0, 0, 0x65}},
	{"Ethernet, address like IPv3", 0, 4, 0, TCP, .len = 61, .mac = {8, 0, 0, 0, 0x35}},
	{"Ethernet, address like IPv5", 0, 4, 0, UDP, .len = 62, .mac = {8, 0, 0, 0, 0x55}},
	{"Ethernet, address like no IP", 0, 4, 0, UDP, .len = 63, .mac = {6, 0, 0, 0, 0x45}},
	{"Ethernet, address like IPv5 by its type", 0, 6, 0, UDP, .len = 64, .mac = {0x86, 0xdd, 0, 0, 0x55}},
	{"Ethernet, address like IPv7 by its type", 0, 6, 0, TCP, .len = 65, .mac = {0x86, 0xdd, 0, 0, 0x75}},
};

/* A frame with right checksums. Offsets; 0: there is no such header. */
struct made {
	uint8_t at[FRAME];
	uint32_t len, ip, l4, ip_end, tcp_flags, payload;
	uint32_t ip_sum, l4_sum; /* of the checksums that can be put in */
};

/* What differs from segment to segment. */
struct segment {
	uint16_t id;
	uint32_t seq;
	uint8_t flags;
};

static uint32_t put_ethernet(uint8_t *p, const struct shape *s, bool ipoib)
{
	static const uint8_t addresses[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 7};
	uint32_t at = sizeof(addresses);
	uint16_t type = s->ip == 4 ? 0x0800 : s->ip == 6 ? 0x86dd : 0x88b5;

	if (ipoib && !s->mac[0]) {
		put16(p, type);
		put16(p + 2, 0);
		return 4;
	}
	memcpy(p, addresses, sizeof(addresses));
	if (s->mac[0])
		memcpy(p, s->mac, sizeof(s->mac));
	for (unsigned int i = 0; i < s->vlans; i++, at += 4) {
		put16(p + at, s->vlans == 2 && !i ? 0x88a8 : 0x8100);
		put16(p + at + 2, 0x6123 + i);
	}
	put16(p + at, type);
	return at + 2;
}

static uint32_t put_ipv4(uint8_t *p, const struct shape *s, uint32_t l4_len, uint16_t id)
{
	static const uint8_t addresses[] = {192, 0, 2, 1, 198, 51, 100, 2};
	uint32_t size = 20 + s->more * 4;

	memset(p, 0x01, size); /* options: no operation */
	p[0] = 0x40 | size / 4;
	p[1] = 0x1c;
	put16(p + 2, size + l4_len);
	put16(p + 4, s->carry ? 0 : id);
	put16(p + 6, s->frag);
	p[8] = 63;
	p[9] = s->proto;
	put16(p + 10, 0);
	memcpy(p + 12, addresses, sizeof(addresses));
	if (s->carry)
		put16(p + 4, sum_of(0, p, size) + 1);
	put16(p + 10, sum_of(0, p, size));
	return size;
}

static uint32_t put_ipv6(uint8_t *p, const struct shape *s, uint32_t l4_len)
{
	static const uint8_t kinds[] = {0, 43, 60}; /* hop-by-hop options, routing, destination options */
	uint32_t size = 40;

	memset(p, 0, size);
	put16(p, 0x6000 | (s->flow ? s->flow : 0x1000042) >> 16);
	put16(p + 2, s->flow ? s->flow : 0x42);
	p[6] = s->more ? kinds[0] : s->proto;
	p[7] = 63;
	for (int i = 8; i < 40; i++)
		p[i] = 0x20 + i;
	for (unsigned int i = 0; i < s->more; i++) {
		uint32_t len = i == 1 ? 16 : 8 + s->units * 8;

		memset(p + size, 0, len);
		p[size] = i + 1 < s->more ? kinds[i + 1] : s->proto;
		p[size + 1] = len / 8 - 1;
		p[size + 2] = 1; /* PadN; as a routing header: type 1, none left */
		p[size + 3] = i == 1 ? 0 : len - 4;
		size += len;
	}
	put16(p + 4, size - 40 + l4_len);
	return size;
}

static uint32_t put_transport(uint8_t *p, const struct shape *s, const struct segment *seg)
{
	if (s->proto == UDP) {
		memcpy(p, (uint8_t[]){0x30, 0x39, 0, 9}, 4);
		put16(p + 4, 8 + s->len);
		put16(p + 6, 0);
		return 8;
	}
	if (s->proto != TCP)
		return 0;
	memset(p, 1, 20 + s->options * 4);
	memcpy(p, (uint8_t[]){0x30, 0x39, 0, 9}, 4);
	put16(p + 4, seg->seq >> 16);
	put16(p + 6, seg->seq);
	p[12] = (5 + s->options) << 4;
	p[13] = seg->flags;
	put16(p + 16, 0);
	put16(p + 18, 0);
	return 20 + s->options * 4;
}

/* The checksum of what is behind the IP header, with a pseudo-header. */
static uint16_t l4_sum_of(const struct made *m, const struct shape *s)
{
	uint32_t len = m->ip_end - m->l4, pseudo = s->proto + len;
	const uint8_t *addresses = m->at + m->ip + (s->ip == 4 ? 12 : 8);

	for (unsigned int i = 0; i < (s->ip == 4 ? 8 : 32); i += 2)
		pseudo += get16(addresses + i);
	return sum_of(pseudo, m->at + m->l4, len);
}

static void put_l4_sum(struct made *m, const struct shape *s)
{
	uint16_t sum = l4_sum_of(m, s);

	m->l4_sum = m->l4 + (s->proto == TCP ? 16 : 6);
	put16(m->at + m->l4_sum, !sum && s->proto == UDP ? 0xffff : sum);
}

static void make(struct made *m, const struct shape *s, const struct segment *seg, const uint8_t *payload,
		 bool ipoib)
{
	uint8_t l4[64];
	uint32_t l4_size = put_transport(l4, s, seg) - s->missing, at = put_ethernet(m->at, s, ipoib);

	m->ip = m->l4 = m->ip_sum = m->l4_sum = 0;
	if (s->ip) {
		m->ip = at;
		at += s->ip == 4 ? put_ipv4(m->at + at, s, l4_size + s->len, seg->id)
				 : put_ipv6(m->at + at, s, l4_size + s->len);
		m->l4 = at;
		memcpy(m->at + at, l4, l4_size);
		at += l4_size;
	}
	m->payload = at;
	memcpy(m->at + at, payload, s->len);
	m->ip_end = at + s->len;
	m->len = m->ip_end + s->trailer;
	memset(m->at + m->ip_end, 0xee, s->trailer);
	if (s->offset)
		m->at[m->l4 + 12] = s->offset << 4;
	if (s->zero || s->carry) {
		put16(m->at + m->payload, 0);
		put16(m->at + m->payload, l4_sum_of(m, s) + s->carry);
	}
	if (s->ip == 4)
		m->ip_sum = m->ip + 10;
	if (s->ip && (s->proto == TCP || s->proto == UDP) && !(s->frag & 0x3fff) && !s->missing && !s->offset)
		put_l4_sum(m, s);
}

static bool post(struct kit *k, struct ibv_send_wr *wr)
{
	struct link *l = k->l;
	int ret;

	if (l->qpt == IBV_QPT_UD && wr->opcode == IBV_WR_SEND) {
		wr->wr.ud.ah = l->ah;
		wr->wr.ud.remote_qpn = l->peer->qp_num;
		wr->wr.ud.remote_qkey = LINK_QKEY;
	}
	ret = link_fill_recv(l);
	end_push();
	ret = ret ? ret : kit_post(k, l->qp, l->peer, wr, NULL);
	if (ret)
		KIT_FAULT(k, "posting was refused with %s", errno_name(ret));
	return !ret && kit_expect(k, l, l->cq, l->qp, wr->wr_id, IBV_WC_SUCCESS);
}

/* The next receive has this frame; a short one is padded. */
static bool arrives(struct kit *k, const struct made *m, bool *csum_ok)
{
	struct link *l = k->l;
	const uint8_t *got = l->slot[l->next_use % LINK_RECV_SLOTS] + link_grh(l);
	struct ibv_wc wc;

	if (!kit_wait(k, l, l->peer_cq, &wc))
		return false;
	l->next_use++;
	end_sync();
	if (wc.status != IBV_WC_SUCCESS || wc.byte_len < link_grh(l) + m->len)
		KIT_FAULT(k, "the receive has status %s and %u bytes, expected %u",
			  value_name(status_names, wc.status), wc.byte_len, link_grh(l) + m->len);
	else
		judge_bytes(&k->res->verdict, "frame", m->at, got, m->len);
	*csum_ok = wc.wc_flags & IBV_WC_IP_CSUM_OK;
	return KIT_GOOD(k);
}

/* Sends a frame, of which `want` must arrive. */
static bool carry(struct kit *k, const struct made *sent, const struct made *want, unsigned int flags,
		  bool ok)
{
	struct link *l = k->l;
	struct ibv_sge sge;
	struct ibv_send_wr wr = kit_wr(0x0ff, IBV_WR_SEND, &sge);
	uint8_t *data;
	bool csum_ok;

	arena_reset(&l->local);
	data = arena_take(&l->local, sent->len);
	memcpy(data, sent->at, sent->len);
	sge = (struct ibv_sge){(uintptr_t)data, sent->len, l->local.mr->lkey};
	wr.send_flags |= flags;
	if (!post(k, &wr) || !arrives(k, want, &csum_ok))
		return false;
	if (csum_ok != ok)
		KIT_FAULT(k, "IBV_WC_IP_CSUM_OK is %sset", csum_ok ? "" : "not ");
	return KIT_GOOD(k);
}

static const uint8_t *contents(unsigned int i)
{
	static uint8_t payload[FRAME];

	for (unsigned int at = 0; at < FRAME; at++)
		payload[at] = at * 11 + i * 29 + 5;
	return payload;
}

/* With the flag wrong checksums become right. Without it they arrive as they are, and only right ones are reported. */
static bool judge_shape(struct kit *k, unsigned int i)
{
	static struct made right, sent;
	const struct shape *s = &shapes[i];
	const struct segment seg = {0x4321, s->seq ? s->seq : SEQ, 0x10};
	bool verified;

	make(&right, s, &seg, contents(i), k->l->qpt == IBV_QPT_UD);
	verified = right.ip_sum && right.l4_sum;
	sent = right;
	if (right.ip_sum)
		put16(sent.at + right.ip_sum, 0xbeef);
	if (right.l4_sum)
		put16(sent.at + right.l4_sum, 0x1dea);
	if (!carry(k, &sent, &right, IBV_SEND_IP_CSUM, verified) || !carry(k, &right, &right, 0, verified))
		return false;
	if (right.l4_sum) {
		sent = right;
		sent.at[right.l4_sum] ^= 0x40;
		if (!carry(k, &sent, &sent, 0, false))
			return false;
		sent = right;
		sent.at[right.ip_end - 1] ^= 0x01;
		if (!carry(k, &sent, &sent, 0, false))
			return false;
	}
	if (right.ip_sum) {
		sent = right;
		sent.at[right.ip_sum + 1] ^= 0x01;
		if (!carry(k, &sent, &sent, 0, false))
			return false;
	}
	if (right.l4_sum && s->proto == UDP) { /* no checksum (RFC 768): nothing was verified */
		sent = right;
		put16(sent.at + right.l4_sum, 0);
		return carry(k, &sent, &sent, 0, false);
	}
	return true;
}

static void offload_shapes(struct kit *k)
{
	bool good = kit_link(k, API_POST, NULL);

	for (unsigned int i = 0; good && i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (k->l->qpt == IBV_QPT_UD ? shapes[i].vlans : shapes[i].mac[0])
			continue;
		good = judge_shape(k, i);
		if (!good)
			KIT_FAULT(k, "frame: %s", shapes[i].what);
	}
}

SCENARIO(offload_shapes) = {
	{"shapes", SUITE("checksum"), QPS("UD RAW_PACKET"), POSTS("SEND 300 ip_csum"),
	 CLAUSE("ibv_post_send/DESCRIPTION/send_flags/IBV_SEND_IP_CSUM"), LEVEL("SHOULD"),
	 ERRATA("IP-CSUM-SCOPE IP-CSUM-UD"),
	 SAYS("on request each checksum that a frame has becomes right, whatever headers it has, and "
	      "nothing else changes; IBV_WC_IP_CSUM_OK for right ones of IPv4, and for no others")},
	{},
};

/* A field of an IP header with a value that makes no packet of the frame: it stays as it is, and nothing is verified. */
static const struct broken {
	const char *what;
	struct shape shape;
	int8_t at; /* from the IP header; before it is the Ethertype, of frames alone */
	uint8_t value;
} broken[] = {
	{"Ethertype after that of IPv4", {"", 0, 4, 0, TCP, .len = 90}, -1, 0x01},
	{"Ethertype before that of IPv4", {"", 0, 4, 0, UDP, .len = 91}, -2, 0x07},
	{"Ethertype before that of IPv6", {"", 0, 6, 0, UDP, .len = 92}, -1, 0xdc},
	{"Ethertype after that of IPv6", {"", 0, 6, 0, TCP, .len = 93}, -1, 0xde},
	{"VLAN tag of another type", {"", 1, 4, 0, TCP, .len = 95}, -6, 0x89},
	{"Ethertype far before that of IPv6", {"", 0, 6, 0, TCP, .len = 94}, -2, 0x08},
	{"version 3", {"", 0, 4, 0, TCP, .len = 100}, 0, 0x35},
	{"version 5", {"", 0, 4, 0, TCP, .len = 101}, 0, 0x55},
	{"IPv4 header of 16 bytes", {"", 0, 4, 0, UDP, .len = 102}, 0, 0x44},
	{"IPv4 length less than its header", {"", 0, 4, 2, UDP, .len = 20}, 3, 27},
	{"IPv4 length beyond the frame", {"", 0, 4, 0, UDP, .len = 103}, 3, 20 + 8 + 103 + 1},
	{"version 5 of IPv6", {"", 0, 6, 0, TCP, .len = 104}, 0, 0x51},
	{"version 7 of IPv6", {"", 0, 6, 0, UDP, .len = 105}, 0, 0x71},
	{"IPv6 length beyond the frame", {"", 0, 6, 0, UDP, .len = 106}, 5, 8 + 106 + 1},
	{"IPv6 extension beyond the packet", {"", 0, 6, 1, UDP, .len = 34}, 41, 9},
	{"IPv6 extension just beyond the packet", {"", 0, 6, 1, UDP, .len = 34}, 41, 6},
	{"ICMPv6 that looks like an extension", {"", 0, 6, 1, UDP, .len = 107}, 6, 58},
	{"a fragment of IPv6", {"", 0, 6, 1, UDP, .len = 108}, 6, 44},
	{"mobility header", {"", 0, 6, 1, TCP, .len = 109}, 6, 135},
};

static void offload_broken(struct kit *k)
{
	const struct segment seg = {0x4321, SEQ, 0x10};
	bool ud = k->cell->qpt == IBV_QPT_UD, good = kit_link(k, API_POST, NULL);
	static struct made m;

	for (unsigned int i = 0; good && i < sizeof(broken) / sizeof(broken[0]); i++) {
		const struct broken *b = &broken[i];

		if (b->at < 0 && ud)
			continue;
		make(&m, &b->shape, &seg, contents(i), ud);
		m.at[(int)m.ip + b->at] = b->value;
		if (b->shape.ip == 4 && b->value >> 4 == 4) { /* only this field is wrong */
			put16(m.at + m.ip_sum, 0);
			put16(m.at + m.ip_sum, sum_of(0, m.at + m.ip, m.l4 - m.ip));
		}
		good = carry(k, &m, &m, 0, false);
		put16(m.at + m.l4_sum, 0x1dea);
		good = good && carry(k, &m, &m, IBV_SEND_IP_CSUM, false);
		if (!good)
			KIT_FAULT(k, "IP header: %s", b->what);
	}
}

SCENARIO(offload_broken) = {
	{"broken", SUITE("checksum"), QPS("UD RAW_PACKET"), POSTS("SEND 300 ip_csum"),
	 CLAUSE("ibv_poll_cq/DESCRIPTION/IBV_WC_IP_CSUM_OK"), LEVEL("SHOULD"),
	 ERRATA("IP-CSUM-SCOPE IP-CSUM-UD"),
	 SAYS("a frame whose IP header has a wrong version, length or chain arrives as it is, whether "
	      "checksums were asked for or not, and without IBV_WC_IP_CSUM_OK")},
	{},
};

/* ---- Segments ---- */

static const struct shape streams[] = {
	{"IPv4", 0, 4, 0, TCP, .len = 1400},
	{"VLAN", 1, 4, 0, TCP, .len = 1000},
	{"IPv4 options", 0, 4, 2, TCP, .len = 700},
	{"TCP options", 0, 4, 0, TCP, .len = 701, .options = 3},
	{"IPv6", 0, 6, 0, TCP, .len = 1399},
	{"IPv6 extension", 0, 6, 1, TCP, .len = 999},
	{"VLAN, IPv6, TCP options", 1, 6, 0, TCP, .len = 350, .options = 1},
	{"one segment", 0, 4, 0, TCP, .len = 350},
};

#define MSS 350

static bool segment(struct kit *k, const struct shape *stream)
{
	static struct made whole, want;
	const struct segment first = {IP_ID, SEQ, FLAGS};
	bool ud = k->l->qpt == IBV_QPT_UD, csum_ok;
	const uint8_t *payload = contents(stream->len);
	struct link *l = k->l;
	struct ibv_sge sge;
	struct ibv_send_wr wr = kit_wr(0x750, IBV_WR_TSO, &sge);
	uint8_t *data;

	make(&whole, stream, &first, payload, ud);
	arena_reset(&l->local);
	data = arena_take(&l->local, stream->len);
	memcpy(data, payload, stream->len);
	sge = (struct ibv_sge){(uintptr_t)data, stream->len, l->local.mr->lkey};
	if (ud) {
		wr.wr.ud.ah = l->ah;
		wr.wr.ud.remote_qpn = l->peer->qp_num;
		wr.wr.ud.remote_qkey = LINK_QKEY;
	}
	wr.tso.hdr = whole.at;
	wr.tso.hdr_sz = whole.payload;
	wr.tso.mss = MSS;
	if (!post(k, &wr))
		return false;
	for (unsigned int n = 0; n * MSS < stream->len; n++) {
		struct shape s = *stream;
		bool last = stream->len - n * MSS <= MSS;
		const struct segment seg = {IP_ID + n, SEQ + n * MSS,
					    FLAGS & ~(n ? 0x80 : 0) & ~(last ? 0 : 0x09)};

		s.len = last ? stream->len - n * MSS : MSS;
		make(&want, &s, &seg, payload + n * MSS, ud);
		if (!arrives(k, &want, &csum_ok))
			return false;
		if (csum_ok != (s.ip == 4))
			KIT_FAULT(k, "IBV_WC_IP_CSUM_OK is %sset", csum_ok ? "" : "not ");
	}
	return KIT_GOOD(k);
}

static void offload_streams(struct kit *k)
{
	static const struct link_opts opts = {.tso_header = 128};
	bool good = kit_link(k, API_POST, &opts);

	for (unsigned int i = 0; good && i < sizeof(streams) / sizeof(streams[0]); i++) {
		if (k->l->qpt == IBV_QPT_UD && streams[i].vlans)
			continue;
		good = segment(k, &streams[i]);
		if (!good)
			KIT_FAULT(k, "stream: %s", streams[i].what);
	}
	if (good)
		kit_expect_none(k, k->l, k->l->peer_cq);
}

SCENARIO(offload_streams) = {
	{"shapes", SUITE("tso"), QPS("UD RAW_PACKET"), POSTS("TSO 600"),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/Message-Send/ibv_wr_send_tso"), LEVEL("SHOULD"),
	 ERRATA("TSO-HDR TSO-UD"),
	 SAYS("segments of streams with VLAN tags, options and extension headers arrive with the right "
	      "headers")},
	{},
};

/* Headers that do not end with that of a TCP packet: the request fails, and nothing is sent. */
static const struct broken headers[] = {
	{"UDP", {"", 0, 4, 0, UDP, .len = 700}, 0, 0x45},
	{"TCP header that lacks 4 bytes, and says so",
	 {"", 0, 4, 0, TCP, .len = 700, .missing = 4},
	 32,
	 0x40},
	{"TCP header that lacks 4 bytes", {"", 0, 4, 0, TCP, .len = 700, .missing = 4}, 32, 0x50},
	{"bytes behind the TCP header", {"", 0, 4, 0, TCP, .len = 700, .options = 1}, 32, 0x50},
	{"TCP header that lacks its options", {"", 0, 4, 0, TCP, .len = 700}, 32, 0x60},
	{"IPv4 header beyond the end", {"", 0, 4, 0, TCP, .len = 700}, 0, 0x4f},
	{"IPv4 header of 16 bytes", {"", 0, 4, 0, TCP, .len = 700}, 0, 0x44},
	{"version 5 of IPv4", {"", 0, 4, 0, TCP, .len = 700}, 0, 0x55},
	{"a fragment", {"", 0, 4, 0, TCP, .len = 700, .frag = 0x2000}, 0, 0x45},
	{"version 4 of IPv6", {"", 0, 6, 0, TCP, .len = 700}, 0, 0x41},
	{"UDP over IPv6", {"", 0, 6, 0, UDP, .len = 700}, 0, 0x61},
	{"no IP", {"", 0, 0, 0, 0, .len = 700}, 0, 0},
};

static bool refused(struct kit *k, const struct broken *b)
{
	static struct made m;
	const struct segment first = {IP_ID, SEQ, FLAGS};
	struct link *l = k->l;
	struct ibv_sge sge;
	struct ibv_send_wr wr = kit_wr(0x751, IBV_WR_TSO, &sge);

	make(&m, &b->shape, &first, contents(1), l->qpt == IBV_QPT_UD);
	if (m.ip)
		m.at[m.ip + b->at] = b->value;
	sge = (struct ibv_sge){arena_address(&l->local, l->local.base), b->shape.len, l->local.mr->lkey};
	if (l->qpt == IBV_QPT_UD) {
		wr.wr.ud.ah = l->ah;
		wr.wr.ud.remote_qpn = l->peer->qp_num;
		wr.wr.ud.remote_qkey = LINK_QKEY;
	}
	wr.tso.hdr = m.at;
	wr.tso.hdr_sz = m.payload;
	wr.tso.mss = MSS;
	if (link_fill_recv(l) || kit_post(k, l->qp, l->peer, &wr, NULL))
		KIT_FAULT(k, "posting was refused");
	if (!KIT_GOOD(k) || !kit_expect(k, l, l->cq, l->qp, wr.wr_id, IBV_WC_LOC_QP_OP_ERR))
		return false;
	kit_expect_none(k, l, l->peer_cq);
	return KIT_GOOD(k);
}

static void offload_refused(struct kit *k)
{
	static const struct link_opts opts = {.tso_header = 128};
	bool good = true;

	for (unsigned int i = 0; good && i < sizeof(headers) / sizeof(headers[0]); i++) {
		good = kit_link(k, API_POST, &opts) && refused(k, &headers[i]);
		if (!good)
			KIT_FAULT(k, "header: %s", headers[i].what);
	}
}

SCENARIO(offload_refused) = {
	{"broken", SUITE("tso"), QPS("UD RAW_PACKET"), POSTS("TSO 600"),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/Message-Send/ibv_wr_send_tso"), LEVEL("SHOULD"),
	 ERRATA("TSO-HDR TSO-UD"), STATUS("LOC_QP_OP_ERR"),
	 SAYS("IBV_WC_LOC_QP_OP_ERR for each header that does not end with that of a TCP packet, and "
	      "nothing arrives")},
	{},
};
