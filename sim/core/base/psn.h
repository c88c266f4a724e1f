/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packet sequence numbers: 24 bits, with wrap-around. And limits that are the same for requester and responder. */
#ifndef HCASIM_CORE_BASE_PSN_H
#define HCASIM_CORE_BASE_PSN_H

#include <stdint.h>

#include <hcasim_core.h>
#include <hcasim_wire.h>

#define CORE_MSG_MAX        ((uint64_t)HCASIM_MAX_MSG)
#define CORE_PSN_HALF       (1u << 23)
#define CORE_FRAME_MAX(mtu) (HCASIM_FRAME_OVERHEAD + (mtu)) /* longest frame of a port */
#define CORE_GIDS           HCASIM_PORT_GIDS

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
