/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Frames inside of frames: GRE, VXLAN and GENEVE. */
#ifndef HCASIM_CORE_TUNNEL_H
#define HCASIM_CORE_TUNNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/wire/net.h"

/*
 * Bytes of a frame up to what is in the tunnel: a frame (`ether`) or an IP packet. 0: it is of no tunnel that is known, or
 * what is in it is neither.
 */
uint32_t tunnel_headers(const uint8_t *p, uint32_t len, bool *ether);
/* Sets the lengths in the outermost headers, and the checksum of IPv4; that of UDP stays. */
void tunnel_finish(uint8_t *p, uint32_t len);

/* GENEVE (RFC 8926). Words of options are the lower bits of the first byte. */
enum {
	GENEVE_LEN = 8,
	GENEVE_OPTIONS = 0x3f,
	GENEVE_FLAGS = 1,
	GENEVE_OAM_SHIFT = 7,
	GENEVE_TYPE = 2,
	GENEVE_VNI = 4
};
/* Where the header of a frame is; 0: it has none. */
uint32_t tunnel_geneve(const uint8_t *p, uint32_t len, const struct net *n);

#endif
