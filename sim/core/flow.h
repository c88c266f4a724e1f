/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What frames a flow receives; the commands are in hca.h. */
#ifndef HCASIM_CORE_FLOW_H
#define HCASIM_CORE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Flow steering: tables of flows say where frames go. A frame begins at the root of its side; flows, and misses of further
 * tables, lead on to tables of the same side and of higher levels. Frames that no flow keeps go on as if there were none.
 */
enum hca_flow_side {
	HCA_FLOW_RX,      /* received frames, for raw QPs; RoCE packets meet only its sniffers */
	HCA_FLOW_ROCE_RX, /* received RoCE packets, before the transport has them */
	HCA_FLOW_TX,      /* frames that raw QPs send */
	HCA_FLOW_ROCE_TX, /* RoCE packets that are sent */
	HCA_FLOW_SIDES
};

/* PASS: the frame goes on, past the other normal flows of all tables. TO_QP: of received frames. */
enum hca_flow_action { HCA_FLOW_TO_QP, HCA_FLOW_TO_TABLE, HCA_FLOW_DROP, HCA_FLOW_PASS };

struct hca_flow_table_attr {
	uint8_t side, level; /* level: 0 is the root's */
	uint8_t miss;        /* what is done with frames that match none of its flows: an action, not TO_QP */
	uint32_t next;       /* TO_TABLE: a table */
};

/*
 * Types are numbered as enum ibv_flow_attr_type; all but normal ones are the root's for received frames. A normal flow
 * takes frames whose fields equal `val` under `mask`; `ip` (4 or 6) and `l4` (an IP protocol) require such a
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

/* Frames that a flow has taken, whatever became of them then, and their bytes without the FCS. */
struct hca_flow_counter {
	uint64_t packets, octets;
};

struct hca_flow_attr {
	uint32_t table; /* an enum hca_flow_side: its root; else the number of a table */
	uint8_t action;
	uint32_t qpn, next; /* TO_QP: a raw QP or a work queue; TO_TABLE: a table */
	uint8_t port, kind, ip, l4;
	uint16_t priority; /* 0 comes first */
	bool dont_trap;
	bool alone;  /* no other flow of the table may have the same rule */
	bool tagged; /* completions of the frame have this tag, unless a flow behind this one has another */
	uint32_t tag;
	struct hca_flow_fields val, mask;
	struct hca_flow_counter
		*counter; /* the caller's, for as long as the flow exists; NULL: frames are not counted */
};

#endif
