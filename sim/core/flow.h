/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What frames a flow receives, and what it changes in them; the commands are in hca.h. */
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
	uint32_t vni; /* of GENEVE: RFC 8926 */
	uint16_t tunnel_type;
	uint8_t oam, options; /* options: their words */
};

/* Frames that a flow has taken, whatever became of them then, and their bytes without the FCS. */
struct hca_flow_counter {
	uint64_t packets, octets;
};

/*
 * Changes of header fields, which are made in their order: bits from bit `to` of a header on, which are counted as on the
 * wire. A field of a header that the frame does not have stays as it is, and one that is copied from such a header, too.
 * The checksums of IPv4, TCP and UDP follow.
 */
enum hca_header {
	HCA_HEADER_ETHER, /* from the destination's address on */
	HCA_HEADER_TYPE,  /* the EtherType behind VLAN tags */
	HCA_HEADER_VLAN,  /* priority and number in the first tag */
	HCA_HEADER_IPV4,
	HCA_HEADER_IPV6,
	HCA_HEADER_CLASS, /* the traffic class of either version: DSCP and ECN */
	HCA_HEADER_TCP,
	HCA_HEADER_UDP,
	HCA_HEADERS
};
enum hca_edit_kind { HCA_EDIT_SET, HCA_EDIT_ADD, HCA_EDIT_COPY };
#define HCA_MAX_EDITS 16u /* of one flow */

struct hca_edit {
	uint8_t kind;
	uint8_t header, from_header; /* from_header, from: COPY */
	uint8_t bits;                /* 1 to 32 */
	uint16_t to, from;
	uint32_t value; /* SET, ADD */
};

/* What is taken off a frame. TUNNEL: all up to the frame, or IP packet, that is in it; else the frame is lost. */
enum hca_strip { HCA_STRIP_NONE, HCA_STRIP_ETHER, HCA_STRIP_TUNNEL };
#define HCA_MAX_HEAD 128u /* bytes that are put before a frame */

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
	/* Normal flows of HCA_FLOW_RX and HCA_FLOW_TX, without dont_trap: what is changed before the frame goes on. */
	uint32_t num_edits;
	const struct hca_edit *edit;
	/*
	 * `head` is put before what is left of the frame. With TUNNEL that is the Ethernet header of an IP packet, or
	 * nothing before a frame, and edits are made then; else it is headers up to those of a tunnel, which get
	 * their lengths, and edits are made before.
	 */
	uint8_t strip; /* enum hca_strip */
	uint32_t head_len;
	const uint8_t *head;
	bool geneve; /* requires such a header, as `ip` and `l4` do */
};

#endif
