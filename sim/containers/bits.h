/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A set of numbers below BITS_END. Adding, removing and finding the nearest take constant time. A zeroed one is empty. */
#ifndef HCASIM_CONTAINERS_BITS_H
#define HCASIM_CONTAINERS_BITS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BITS_WORDS 2048u
#define BITS_END   (BITS_WORDS * 64)

struct bits {
	uint64_t word[BITS_WORDS];
	uint64_t used[BITS_WORDS / 64]; /* a bit per word that is not 0 */
};

void bits_add(struct bits *b, uint32_t n);
void bits_remove(struct bits *b, uint32_t n);
/* The greatest number that is at most `n`; -1: none. */
int32_t bits_at_most(const struct bits *b, uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
