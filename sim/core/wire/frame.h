/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Ethernet, IP and UDP headers around a RoCE packet; a GRH is an IPv6 header. Offsets are inside each header. */
#ifndef HCASIM_CORE_FRAME_H
#define HCASIM_CORE_FRAME_H

#include "containers/bytes.h"
#include <stdint.h>

enum {
	ETH_LEN = 14,
	ETH_TYPE = 12,
	ETH_TYPE_IPV4 = 0x0800,
	ETH_TYPE_IPV6 = 0x86dd,
	ETH_TYPE_VLAN = 0x8100,
	ETH_TYPE_QINQ = 0x88a8,
	ETH_MIN = 60, /* a frame without FCS (IEEE 802.3, 3.2.8) */
	VLAN_LEN = 4,
	VLAN_PCP_SHIFT = 5, /* of the first byte of the tag's value */
	IPOIB_LEN = 4,

	IPV4_LEN = 20,
	IPV4_TOS = 1,
	IPV4_TOTAL = 2,
	IPV4_ID = 4,
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

	IP_PROTO_TCP = 6,
	IP_PROTO_UDP = 17,
	ECN_ECT0 = 2, /* of the traffic class: RFC 3168, 5 */
	ECN_CE = 3,

	L4_DPORT = 2,
	UDP_LEN = 8,
	UDP_DPORT = 2,
	UDP_LENGTH = 4,
	UDP_SUM = 6,

	TCP_LEN = 20,
	TCP_SEQ = 4,
	TCP_DATA = 12, /* length of the header, in words, in the high half */
	TCP_FLAGS = 13,
	TCP_SUM = 16,
	TCP_FIN = 0x01,
	TCP_PSH = 0x08,
	TCP_ACK = 0x10,
	TCP_CWR = 0x80,
};

#endif
