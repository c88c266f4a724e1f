/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Ethernet, IP and UDP: the bytes around a RoCEv2 packet. Offsets are inside each header. */
#ifndef HCASIM_CORE_FRAME_H
#define HCASIM_CORE_FRAME_H

#include <stdint.h>

enum {
	ETH_LEN = 14,
	ETH_TYPE = 12,
	ETH_TYPE_IPV4 = 0x0800,
	ETH_TYPE_IPV6 = 0x86dd,

	IPV4_LEN = 20,
	IPV4_TOS = 1,
	IPV4_TOTAL = 2,
	IPV4_FRAG = 6,
	IPV4_TTL = 8,
	IPV4_PROTO = 9,
	IPV4_SUM = 10,
	IPV4_SRC = 12,
	IPV4_DST = 16,

	IPV6_LEN = 40,
	IPV6_PAYLOAD = 4,
	IPV6_NEXT = 6,
	IPV6_HOPS = 7,
	IPV6_SRC = 8,
	IPV6_DST = 24,

	IP_PROTO_UDP = 17,
	UDP_LEN = 8,
	UDP_DPORT = 2,
	UDP_LENGTH = 4,
};

static inline void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

#endif
