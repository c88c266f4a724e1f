// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/wire/tunnel.h"

#include "core/wire/frame.h"

#define PROTO_GRE   47
#define PORT_VXLAN  4789
#define PORT_GENEVE 6081
#define TYPE_ETHER  0x6558 /* a frame */
#define GRE_LEN     4u
/* RFC 2784, RFC 2890: each adds a word. The version may be any: that of rdma-core's tests is 1. */
#define GRE_CHECKSUM 0x8000u
#define GRE_KEY      0x2000u
#define GRE_SEQUENCE 0x1000u
#define GRE_ROUTING  0x4000u
#define VXLAN_LEN    8u /* RFC 7348 */
#define GENEVE_VER   0xc0u

struct inner {
	uint32_t header; /* bytes of the tunnel's own header; 0: it has none */
	uint32_t type;
};

static struct inner gre(const uint8_t *h, uint32_t left)
{
	const uint32_t flags = left < GRE_LEN ? GRE_ROUTING : get16(h);
	uint32_t words = 1;

	if (flags & GRE_ROUTING)
		return (struct inner){0, 0};
	words += !!(flags & GRE_CHECKSUM) + !!(flags & GRE_KEY) + !!(flags & GRE_SEQUENCE);
	return (struct inner){words * 4, get16(h + 2)};
}

uint32_t tunnel_geneve(const uint8_t *p, uint32_t len, const struct net *n)
{
	const uint32_t at = n->l4_off + UDP_LEN;

	if (!n->l4 || n->proto != IP_PROTO_UDP || get16(p + n->l4_off + UDP_DPORT) != PORT_GENEVE)
		return 0;
	return len - at >= GENEVE_LEN && !(p[at] & GENEVE_VER) ? at : 0;
}

static struct inner in_udp(const uint8_t *p, uint32_t len, const struct net *n)
{
	const uint32_t at = tunnel_geneve(p, len, n);

	if (at)
		return (struct inner){UDP_LEN + GENEVE_LEN + (p[at] & GENEVE_OPTIONS) * 4u,
				      get16(p + at + GENEVE_TYPE)};
	if (get16(p + n->l4_off + UDP_DPORT) == PORT_VXLAN)
		return (struct inner){UDP_LEN + VXLAN_LEN, TYPE_ETHER};
	return (struct inner){0, 0};
}

static bool is_ip(const uint8_t *p, uint32_t type)
{
	return (type == ETH_TYPE_IPV4 && p[0] >> 4 == 4) || (type == ETH_TYPE_IPV6 && p[0] >> 4 == 6);
}

uint32_t tunnel_headers(const uint8_t *p, uint32_t len, bool *ether)
{
	struct inner in = {0, 0};
	struct net n;

	net_parse(p, len, NET_ETHERNET, true, &n);
	if (n.ip && n.proto == PROTO_GRE && n.l4_off)
		in = gre(p + n.l4_off, len - n.l4_off);
	else if (n.l4 && n.proto == IP_PROTO_UDP)
		in = in_udp(p, len, &n);
	if (!in.header || n.l4_off + in.header >= len)
		return 0;
	in.header += n.l4_off;
	*ether = in.type == TYPE_ETHER;
	if (*ether ? len - in.header < ETH_LEN : !is_ip(p + in.header, in.type))
		return 0;
	return in.header;
}

void tunnel_finish(uint8_t *p, uint32_t len)
{
	uint8_t *h;
	struct net n;

	net_parse(p, len, NET_ETHERNET, true, &n);
	h = p + n.l3_off;
	if (n.ip == 4) {
		put16(h + IPV4_TOTAL, len - n.l3_off);
		put16(h + IPV4_SUM, 0);
		put16(h + IPV4_SUM, net_fold(net_sum(0, h, (h[0] & 0xf) * 4u)));
	} else if (n.ip == 6) {
		put16(h + IPV6_PAYLOAD, len - n.l3_off - IPV6_LEN);
	}
	if (n.l4 && n.proto == IP_PROTO_UDP)
		put16(p + n.l4_off + UDP_LENGTH, len - n.l4_off);
}
