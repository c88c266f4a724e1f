// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Invariant CRC (IBTA 7.8.1, annexes A16.5 and A17.3): CRC-32 over eight bytes of ones in place of an LRH, then the packet
 * from its GRH or IP header on, with ones in the fields that routers change.
 */
#include <isa-l/crc.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "core/wire/wire.h"
#include "core/wire/frame.h"

#ifdef __x86_64__
/* ISA-L 2.30 leaves the upper halves of the vector registers in use, which slows down all SSE code after it. */
__attribute__((target("avx"))) static void clear_upper_halves(void)
{
	_mm256_zeroupper();
}
#endif

static uint32_t crc_update(uint32_t crc, const uint8_t *data, uint32_t len)
{
	crc = crc32_gzip_refl(crc, data, len);
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx"))
		clear_upper_halves();
#endif
	return crc;
}

static const uint8_t ones[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

uint32_t icrc_seed(void)
{
	return crc_update(0, ones, sizeof(ones));
}

uint32_t icrc_frame(uint32_t seed, const uint8_t *frame, uint32_t len)
{
	uint8_t hdr[IPV6_LEN + UDP_LEN + sizeof(struct hcasim_bth)];
	const uint32_t type = get16(frame + ETH_TYPE);
	const bool v4 = type == ETH_TYPE_IPV4, udp = type != HCASIM_ROCE_ETH_TYPE;
	const uint32_t ip = v4 ? IPV4_LEN : IPV6_LEN, bth = ip + (udp ? UDP_LEN : 0);
	const uint32_t n = bth + (uint32_t)sizeof(struct hcasim_bth);

	memcpy(hdr, frame + ETH_LEN, n);
	if (v4) {
		hdr[1] = 0xff;            /* type of service */
		hdr[8] = 0xff;            /* time to live */
		hdr[10] = hdr[11] = 0xff; /* header checksum */
	} else {
		hdr[0] |= 0x0f; /* traffic class and flow label */
		hdr[1] = hdr[2] = hdr[3] = 0xff;
		hdr[7] = 0xff; /* hop limit */
	}
	if (udp)
		hdr[ip + UDP_SUM] = hdr[ip + UDP_SUM + 1] = 0xff;
	hdr[bth + 4] = 0xff; /* FECN, BECN, reserved */
	seed = crc_update(seed, hdr, n);
	return crc_update(seed, frame + ETH_LEN + n, len - ETH_LEN - n);
}
