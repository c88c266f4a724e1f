/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Big-endian fields of a frame, and the Internet checksum: the suites' own, not the device's. */
#ifndef CONFORM_SUITES_BYTES_H
#define CONFORM_SUITES_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline uint16_t get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static inline uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static inline void put16(uint8_t *p, uint16_t value)
{
	p[0] = value >> 8;
	p[1] = value;
}

/* The Internet checksum (RFC 1071), begun with `sum`; over bytes that include a checksum: 0 if that is right. */
static inline uint16_t sum_of(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

#endif
