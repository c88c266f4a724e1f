// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Explicit congestion notification in the IP header (RFC 3168). The ICRC does not cover these bits. */
#include "core/wire/wire.h"
#include "core/wire/frame.h"

/* The two bits in the frame's second byte of IP; IPv6 has them four bits higher. NULL: no IP. */
static uint8_t *ecn_bits(struct hca_packet *pkt, unsigned int *shift)
{
	uint8_t *ip = pkt->data + ETH_LEN;
	bool v4 = pkt->len >= ETH_LEN + IPV4_LEN && get16(pkt->data + ETH_TYPE) == ETH_TYPE_IPV4;
	bool v6 = pkt->len >= ETH_LEN + IPV6_LEN && get16(pkt->data + ETH_TYPE) == ETH_TYPE_IPV6;

	*shift = v6 ? 4 : 0;
	return v4 || v6 ? ip + 1 : NULL;
}

/* RFC 1624, equation 3: the checksum of a header of which one word has changed. */
static void update_sum(uint8_t *ip, uint32_t before)
{
	uint32_t sum = (~get16(ip + IPV4_SUM) & 0xffff) + (~before & 0xffff) + get16(ip);

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + IPV4_SUM, ~sum & 0xffff);
}

bool hca_packet_mark(struct hca_packet *pkt)
{
	unsigned int shift;
	uint8_t *bits = ecn_bits(pkt, &shift);
	uint32_t before;

	if (!bits || !(*bits >> shift & ECN_CE))
		return false;
	before = get16(bits - 1);
	*bits |= (uint8_t)(ECN_CE << shift);
	if (!shift)
		update_sum(bits - 1, before);
	return true;
}
