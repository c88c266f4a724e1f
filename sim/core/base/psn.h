/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packet sequence numbers: 24 bits, with wrap-around. And limits that are the same for requester and responder. */
#ifndef HCASIM_CORE_BASE_PSN_H
#define HCASIM_CORE_BASE_PSN_H

#include <stdint.h>

#include <hcasim_wire.h>

#define CORE_MSG_MAX  (1ull << 31)
#define CORE_PSN_HALF (1u << 23)
/*
 * Longest frame of a port: VLAN tag, Ethernet header, and the headers and payload of a RoCE packet (the kernel's
 * iboe_get_mtu() reserves 96 bytes for headers).
 */
#define CORE_FRAME_MAX(bytes) (18 + 96 + (bytes))
#define CORE_GIDS             32 /* of a port */

static inline uint32_t psn_add(uint32_t a, uint32_t b)
{
	return (a + b) & HCASIM_PSN_MASK;
}

/* Distance from `b` to `a`, modulo 2^24. */
static inline uint32_t psn_sub(uint32_t a, uint32_t b)
{
	return (a - b) & HCASIM_PSN_MASK;
}

static inline uint32_t packets_of(uint64_t len, uint32_t mtu)
{
	return len ? (uint32_t)((len + mtu - 1) / mtu) : 1;
}

#endif
