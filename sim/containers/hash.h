/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Keys of struct table for what is longer than a key. Different bytes may have one key: whoever finds, compares. */
#ifndef HCASIM_CONTAINERS_HASH_H
#define HCASIM_CONTAINERS_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START 0xcbf29ce484222325ull

/* FNV-1a. `hash`: HASH_START, or what came out for the bytes before these. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ p[i]) * 0x100000001b3ull;
	return hash;
}

#endif
