// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <string.h>

#include "core/wire/net.h"

#include "core/wire/frame.h"

static void parse_l4(const uint8_t *p, uint32_t end, uint32_t off, struct net *n)
{
	n->l4_off = off;
	if (n->proto == IP_PROTO_TCP)
		n->l4 = end - off >= TCP_LEN && (p[off + TCP_DATA] >> 4) * 4u >= TCP_LEN &&
			(p[off + TCP_DATA] >> 4) * 4u <= end - off;
	else if (n->proto == IP_PROTO_UDP)
		n->l4 = end - off >= UDP_LEN;
}

static void parse_v4(const uint8_t *p, uint32_t len, bool headers_only, struct net *n)
{
	const uint8_t *h = p + n->l3_off;
	uint32_t left = len - n->l3_off, hlen, total;

	if (left < IPV4_LEN || h[0] >> 4 != 4)
		return;
	hlen = (h[0] & 0xf) * 4u;
	total = headers_only ? left : get16(h + IPV4_TOTAL);
	if (hlen < IPV4_LEN || total < hlen || total > left)
		return;
	n->ip = 4;
	n->proto = h[IPV4_PROTO];
	n->l3_end = n->l3_off + total;
	n->options = hlen > IPV4_LEN;
	n->fragment = get16(h + IPV4_FRAG) & 0x3fff;
	if (!n->fragment) /* its header and checksum would be unknown */
		parse_l4(p, n->l3_end, n->l3_off + hlen, n);
}

#define IPV6_FRAGMENT 44 /* RFC 8200, 4.5 */

/* Hop-by-hop options, routing, destination options (RFC 8200, 4): each has 8 bytes and a length. */
static bool is_extension(uint8_t next)
{
	return next == 0 || next == 43 || next == 60;
}

static void parse_v6(const uint8_t *p, uint32_t len, bool headers_only, struct net *n)
{
	const uint8_t *h = p + n->l3_off;
	uint32_t left = len - n->l3_off, total, off = IPV6_LEN;

	if (left < IPV6_LEN || h[0] >> 4 != 6)
		return;
	total = headers_only ? left : IPV6_LEN + get16(h + IPV6_PAYLOAD);
	if (total > left)
		return;
	n->ip = 6;
	n->proto = h[IPV6_NEXT];
	n->l3_end = n->l3_off + total;
	while (is_extension(n->proto) && off + 8 <= total && off + (h[off + 1] + 1) * 8u <= total) {
		n->proto = h[off];
		off += (h[off + 1] + 1) * 8u;
	}
	n->options = off > IPV6_LEN;
	n->fragment = n->proto == IPV6_FRAGMENT;
	parse_l4(p, n->l3_end, n->l3_off + off, n);
}

/*
 * An IPoIB header is the Ethertype and two zero bytes; an Ethernet header that starts with the same bytes would have
 * a destination 08:00:00:00:4x.
 */
static bool is_ipoib(const uint8_t *p, uint32_t len)
{
	if (len < IPOIB_LEN + 1 || get16(p + 2))
		return false;
	return (get16(p) == ETH_TYPE_IPV4 && p[IPOIB_LEN] >> 4 == 4) ||
	       (get16(p) == ETH_TYPE_IPV6 && p[IPOIB_LEN] >> 4 == 6);
}

void net_parse(const uint8_t *p, uint32_t len, enum net_link link, bool headers_only, struct net *n)
{
	uint32_t off = ETH_TYPE;

	memset(n, 0, sizeof(*n));
	if (link == NET_DATAGRAM && is_ipoib(p, len)) {
		off = 0;
		n->l3_off = IPOIB_LEN;
	} else {
		if (len < ETH_LEN)
			return;
		while ((get16(p + off) == ETH_TYPE_VLAN || get16(p + off) == ETH_TYPE_QINQ) &&
		       off + 6 <= len) {
			if (!n->vlan)
				n->vlan_tci = (uint16_t)get16(p + off + 2);
			n->vlan = true;
			off += VLAN_LEN;
		}
		n->l3_off = off + 2;
	}
	n->ether_type = (uint16_t)get16(p + off);
	if (n->ether_type == ETH_TYPE_IPV4)
		parse_v4(p, len, headers_only, n);
	else if (n->ether_type == ETH_TYPE_IPV6)
		parse_v6(p, len, headers_only, n);
}

/* ---- Checksums (RFC 1071) ---- */

uint64_t net_sum(uint64_t sum, const uint8_t *p, uint32_t len)
{
	for (; len > 1; p += 2, len -= 2)
		sum += get16(p);
	return len ? sum + ((uint32_t)p[0] << 8) : sum;
}

uint16_t net_fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static uint16_t v4_sum(const uint8_t *h)
{
	return net_fold(net_sum(0, h, (h[0] & 0xf) * 4u));
}

static uint16_t l4_sum(const uint8_t *p, const struct net *n)
{
	const uint8_t *h = p + n->l3_off;
	uint32_t len = n->l3_end - n->l4_off;
	uint64_t sum = n->proto + len;

	sum = n->ip == 4 ? net_sum(sum, h + IPV4_SRC, 8) : net_sum(sum, h + IPV6_SRC, 32);
	return net_fold(net_sum(sum, p + n->l4_off, len));
}

static uint8_t *l4_sum_at(uint8_t *p, const struct net *n)
{
	return p + n->l4_off + (n->proto == IP_PROTO_TCP ? TCP_SUM : UDP_SUM);
}

static int l4_kind(const uint8_t *p, const struct net *n)
{
	const uint8_t *h = p + n->l4_off;

	if (!n->l4)
		return HCA_L4_NONE;
	if (n->proto == IP_PROTO_UDP)
		return HCA_L4_UDP;
	if (!(h[TCP_FLAGS] & TCP_ACK))
		return HCA_L4_TCP;
	return n->l4_off + (h[TCP_DATA] >> 4) * 4u < n->l3_end ? HCA_L4_TCP_ACK_DATA : HCA_L4_TCP_ACK;
}

void net_headers(const uint8_t *p, uint32_t len, enum net_link link, struct hca_headers *out)
{
	struct net n;
	bool fits;

	net_parse(p, len, link, false, &n);
	fits = n.ip;
	if (!fits)
		net_parse(p, len, link, true, &n);
	*out = (struct hca_headers){
		.ip = n.ip,
		.l4 = l4_kind(p, &n),
		.fragment = n.fragment,
		.options = n.options,
		.l3_ok = fits && (n.ip == 6 || !v4_sum(p + n.l3_off)),
	};
	/* UDP may have no checksum: then nothing was verified. */
	out->l4_ok =
		fits && n.l4 && (n.proto == IP_PROTO_TCP || get16(p + n.l4_off + UDP_SUM)) && !l4_sum(p, &n);
}

void net_put_sums(uint8_t *p, uint32_t len, enum net_link link, uint32_t which)
{
	struct net n;
	uint16_t sum;

	net_parse(p, len, link, false, &n);
	if (n.ip == 4 && which & HCA_WR_L3_CSUM) {
		put16(p + n.l3_off + IPV4_SUM, 0);
		put16(p + n.l3_off + IPV4_SUM, v4_sum(p + n.l3_off));
	}
	if (!n.l4 || !(which & HCA_WR_L4_CSUM))
		return;
	put16(l4_sum_at(p, &n), 0);
	sum = l4_sum(p, &n);
	if (n.proto == IP_PROTO_UDP && !sum)
		sum = 0xffff; /* 0 would mean no checksum (RFC 768) */
	put16(l4_sum_at(p, &n), sum);
}

/* ---- Segmentation ---- */

bool tso_header_ok(const uint8_t *hdr, uint32_t size, enum net_link link)
{
	struct net n;

	net_parse(hdr, size, link, true, &n);
	return n.l4 && n.proto == IP_PROTO_TCP && n.l4_off + (hdr[n.l4_off + TCP_DATA] >> 4) * 4u == size;
}

void tso_write(uint8_t *p, const struct hca_wr *wr, enum net_link link, uint32_t n, uint32_t len, bool last)
{
	uint32_t size = wr->tso.hdr_size;
	struct net net;
	uint8_t *h, *tcp;

	memcpy(p, wr->tso.hdr, size);
	net_parse(p, size, link, true, &net);
	h = p + net.l3_off;
	tcp = p + net.l4_off;
	if (net.ip == 4) {
		put16(h + IPV4_TOTAL, size - net.l3_off + len);
		put16(h + IPV4_ID, get16(h + IPV4_ID) + n);
	} else {
		put16(h + IPV6_PAYLOAD, size - net.l3_off - IPV6_LEN + len);
	}
	put32(tcp + TCP_SEQ, get32(tcp + TCP_SEQ) + n * wr->tso.mss);
	if (!last)
		tcp[TCP_FLAGS] &= (uint8_t) ~(TCP_FIN | TCP_PSH);
	if (n)
		tcp[TCP_FLAGS] &= (uint8_t)~TCP_CWR; /* RFC 3168, 6.1.2: only in the first segment */
}
