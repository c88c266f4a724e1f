// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Changes of header fields. All of a list find the headers where they were before the first change. Checksums are
 * corrected by the difference (RFC 1624): one that was wrong stays so, and the payload is not read.
 */
#include "core/wire/edit.h"

#include "core/wire/frame.h"
#include "core/wire/net.h"

#define ABSENT     UINT32_MAX
#define CLASS_BITS 8
#define V4_CLASS   (IPV4_TOS * 8)
#define V6_CLASS   4 /* behind the version */

/* Where a header begins, in bits; ABSENT: the frame has none. */
static uint32_t start_of(const struct net *n, uint8_t header)
{
	switch (header) {
	case HCA_HEADER_ETHER:
		return 0;
	case HCA_HEADER_TYPE:
		return (n->l3_off - 2) * 8;
	case HCA_HEADER_VLAN:
		return n->vlan ? (ETH_TYPE + 2) * 8 : ABSENT;
	case HCA_HEADER_IPV4:
		return n->ip == 4 ? n->l3_off * 8 : ABSENT;
	case HCA_HEADER_IPV6:
		return n->ip == 6 ? n->l3_off * 8 : ABSENT;
	case HCA_HEADER_CLASS:
		return n->ip ? n->l3_off * 8 + (n->ip == 4 ? V4_CLASS : V6_CLASS) : ABSENT;
	case HCA_HEADER_TCP:
		return n->l4 && n->proto == IP_PROTO_TCP ? n->l4_off * 8 : ABSENT;
	default:
		return n->l4 && n->proto == IP_PROTO_UDP ? n->l4_off * 8 : ABSENT;
	}
}

/* Bits of each header. */
static uint32_t size_of(uint8_t header)
{
	static const uint16_t size[HCA_HEADERS] = {
		[HCA_HEADER_ETHER] = 2 * 6 * 8,   [HCA_HEADER_TYPE] = 16,
		[HCA_HEADER_VLAN] = 16,           [HCA_HEADER_IPV4] = IPV4_LEN * 8,
		[HCA_HEADER_IPV6] = IPV6_LEN * 8, [HCA_HEADER_CLASS] = CLASS_BITS,
		[HCA_HEADER_TCP] = TCP_LEN * 8,   [HCA_HEADER_UDP] = UDP_LEN * 8,
	};

	return header < HCA_HEADERS ? size[header] : 0;
}

bool edit_ok(const struct hca_edit *e)
{
	if (e->kind > HCA_EDIT_COPY || !e->bits || e->bits > 32)
		return false;
	return e->to + e->bits <= size_of(e->header) &&
	       (e->kind != HCA_EDIT_COPY || e->from + e->bits <= size_of(e->from_header));
}

static uint32_t read_bits(const uint8_t *p, uint32_t at, uint32_t bits)
{
	const uint32_t end = (at + bits + 7) / 8;
	uint64_t v = 0;

	for (uint32_t i = at / 8; i < end; i++)
		v = v << 8 | p[i];
	return (uint32_t)(v >> (end * 8 - at - bits)) & (uint32_t)((1ull << bits) - 1);
}

static void write_bits(uint8_t *p, uint32_t at, uint32_t bits, uint32_t value)
{
	const uint32_t end = (at + bits + 7) / 8, shift = end * 8 - at - bits;
	uint64_t mask = ((1ull << bits) - 1) << shift, v = (uint64_t)value << shift & mask;

	for (uint32_t i = end; i-- > at / 8; mask >>= 8, v >>= 8)
		p[i] = (uint8_t)((p[i] & ~mask) | v);
}

static void make(uint8_t *p, const struct net *n, const struct hca_edit *e)
{
	const uint32_t to = start_of(n, e->header);
	uint32_t value = e->value, from;

	if (to == ABSENT)
		return;
	if (e->kind == HCA_EDIT_ADD)
		value += read_bits(p, to + e->to, e->bits);
	if (e->kind == HCA_EDIT_COPY) {
		from = start_of(n, e->from_header);
		if (from == ABSENT)
			return;
		value = read_bits(p, from + e->from, e->bits);
	}
	write_bits(p, to + e->to, e->bits, value);
}

/* ---- Checksums ---- */

struct sums { /* of what a checksum covers and a change can reach */
	uint64_t v4, l4;
};

static struct sums cover(const uint8_t *p, const struct net *n)
{
	const uint8_t *h = p + n->l3_off;
	struct sums s = {0, 0};

	if (n->ip == 4)
		s.v4 = net_sum(0, h, IPV4_LEN);
	if (!n->l4)
		return s;
	s.l4 = n->ip == 4 ? net_sum(0, h + IPV4_SRC, 8) : net_sum(0, h + IPV6_SRC, 32);
	s.l4 = net_sum(s.l4, p + n->l4_off, n->proto == IP_PROTO_TCP ? TCP_LEN : UDP_LEN);
	return s;
}

/* `sum` covers what changed from `before` to `after`. */
static void follow(uint8_t *sum, uint64_t before, uint64_t after)
{
	const uint16_t was = (uint16_t)~get16(sum);

	if (before != after)
		put16(sum, net_fold(was + (uint64_t)net_fold(before) + after));
}

static void follow_l4(uint8_t *p, const struct net *n, uint64_t before, uint64_t after)
{
	uint8_t *sum = p + n->l4_off + (n->proto == IP_PROTO_TCP ? TCP_SUM : UDP_SUM);

	if (n->proto == IP_PROTO_UDP && !get16(sum))
		return; /* the frame has none (RFC 768) */
	follow(sum, before, after);
	if (n->proto == IP_PROTO_UDP && !get16(sum))
		put16(sum, 0xffff);
}

void edit_frame(uint8_t *p, uint32_t len, const struct hca_edit *e, uint32_t num)
{
	struct sums before, after;
	struct net n;

	if (len < ETH_LEN)
		return;
	net_parse(p, len, NET_ETHERNET, true, &n);
	before = cover(p, &n);
	for (uint32_t i = 0; i < num; i++)
		make(p, &n, &e[i]);
	after = cover(p, &n);
	if (n.ip == 4)
		follow(p + n.l3_off + IPV4_SUM, before.v4, after.v4);
	if (n.l4)
		follow_l4(p, &n, before.l4, after.l4);
}
