/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Contents of the headers of a RoCE packet. */
#ifndef HCASIM_CORE_WIRE_HEADERS_H
#define HCASIM_CORE_WIRE_HEADERS_H

#include "core/hca.h"

struct pkt_spec { /* contents of a frame to be built */
	uint8_t opcode, port;
	const struct hca_av *av;
	uint16_t sport;
	uint32_t dqpn, psn, qkey, sqpn, srqn;
	bool se, ackreq;
	uint64_t va, swap_add, compare, orig;
	uint32_t rkey, dmalen, imm, inv_rkey;
	uint32_t plt : 4, sel : 2; /* FLUSH: as wide as in FETH */
	uint32_t aeth_kind, aeth_value, msn;
	uint32_t payload_len;
};

/* Entropy of a flow for switches that balance by port: the dynamic range 49152..65535 (A17.9.2). */
static inline uint16_t packet_sport(uint32_t flow_label, uint32_t a, uint32_t b)
{
	if (!flow_label) {
		uint64_t mix = (uint64_t)a * b;

		flow_label = (uint32_t)((mix ^ mix >> 20 ^ mix >> 40) & 0xfffff);
	}
	return (uint16_t)(0xc000 | ((flow_label ^ flow_label >> 14) & 0x3fff));
}

#endif
