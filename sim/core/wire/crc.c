// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CRC-32 (IEEE 802.3). If the processor has carry-less multiplication, long messages are folded: a block of 128 bits,
 * times x^d modulo the polynomial, may be added to the block d bits further on. The last block has the same remainder
 * as the message.
 */
#include <zlib.h>

#include "core/wire/wire.h"

#ifdef __x86_64__
#include <immintrin.h>

#define CLMUL      __attribute__((target("pclmul")))
#define BLOCK      16u
#define FOLD_LEAST (2 * BLOCK)

/* x^(d + 32) and x^(d - 32) modulo the polynomial, of 33 bits, lowest power in the highest bit. */
#define X_544 0x154442bd4ll
#define X_480 0x1c6e41596ll
#define X_160 0x1751997d0ll
#define X_96  0x0ccaa009ell

static inline CLMUL __m128i fold(__m128i x, __m128i onto, __m128i by)
{
	__m128i low = _mm_clmulepi64_si128(x, by, 0x00), high = _mm_clmulepi64_si128(x, by, 0x11);

	return _mm_xor_si128(onto, _mm_xor_si128(low, high));
}

static inline CLMUL __m128i block(const uint8_t *p, unsigned int i)
{
	return _mm_loadu_si128((const __m128i *)p + i);
}

/* Combines four independent lanes into one. Advances `*p` and `*len`. */
static CLMUL __m128i fold_lanes(__m128i x, const uint8_t **p, uint32_t *len)
{
	const __m128i by_512 = _mm_set_epi64x(X_480, X_544), by_128 = _mm_set_epi64x(X_96, X_160);
	__m128i lane[4] = {x, block(*p, 1), block(*p, 2), block(*p, 3)};

	for (*p += 4 * BLOCK, *len -= 4 * BLOCK; *len >= 4 * BLOCK; *p += 4 * BLOCK, *len -= 4 * BLOCK)
		for (unsigned int i = 0; i < 4; i++)
			lane[i] = fold(lane[i], block(*p, i), by_512);
	x = fold(lane[0], lane[1], by_128);
	x = fold(x, lane[2], by_128);
	return fold(x, lane[3], by_128);
}

static CLMUL uint32_t crc_folded(uint32_t crc, const uint8_t *p, uint32_t len)
{
	const __m128i by_128 = _mm_set_epi64x(X_96, X_160);
	__m128i x = _mm_xor_si128(block(p, 0), _mm_cvtsi32_si128((int)~crc));
	uint8_t left[BLOCK];

	if (len >= 4 * BLOCK) {
		x = fold_lanes(x, &p, &len);
	} else {
		p += BLOCK;
		len -= BLOCK;
	}
	for (; len >= BLOCK; p += BLOCK, len -= BLOCK)
		x = fold(x, block(p, 0), by_128);
	_mm_storeu_si128((__m128i *)left, x);
	/* The initial value is already included. */
	crc = (uint32_t)crc32(~0u, left, sizeof(left));
	return (uint32_t)crc32(crc, p, len);
}

uint32_t crc_update(uint32_t crc, const void *data, uint32_t len)
{
	if (len < FOLD_LEAST || !__builtin_cpu_supports("pclmul"))
		return (uint32_t)crc32(crc, data, len);
	return crc_folded(crc, data, len);
}

#else

uint32_t crc_update(uint32_t crc, const void *data, uint32_t len)
{
	return (uint32_t)crc32(crc, data, len);
}

#endif
