/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What frames a flow receives; the commands are in hca.h. */
#ifndef HCASIM_CORE_FLOW_H
#define HCASIM_CORE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Flow steering: the frames that RAW_PACKET QPs receive. Types are numbered as enum ibv_flow_attr_type. A normal flow
 * receives frames whose fields equal `val` under `mask`; `ip` (4 or 6) and `l4` (an IP protocol) require such a
 * header even if the mask is zero. Numbers in host order, IPv4 addresses in the first 4 bytes.
 */
enum hca_flow_kind { HCA_FLOW_NORMAL, HCA_FLOW_ALL_DEFAULT, HCA_FLOW_MC_DEFAULT, HCA_FLOW_SNIFFER };

struct hca_flow_fields { /* compared with memcmp(): no padding */
	uint8_t dmac[6], smac[6];
	uint16_t ether_type, vlan_tci;
	uint8_t sip[16], dip[16];
	uint8_t proto, tos, ttl, ip_flags;
	uint32_t flow_label;
	uint16_t sport, dport;
};

/* Frames that a flow has taken, whether its QP could receive them or not, and their bytes without the FCS. */
struct hca_flow_counter {
	uint64_t packets, octets;
};

struct hca_flow_attr {
	uint32_t qpn;
	uint8_t port, kind, ip, l4;
	uint16_t priority; /* 0 comes first */
	bool dont_trap;
	struct hca_flow_fields val, mask;
	struct hca_flow_counter
		*counter; /* the caller's, for as long as the flow exists; NULL: frames are not counted */
};

#endif
