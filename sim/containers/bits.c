// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "containers/bits.h"

void bits_add(struct bits *b, uint32_t n)
{
	b->word[n / 64] |= 1ull << n % 64;
	b->used[n / 4096] |= 1ull << n / 64 % 64;
}

void bits_remove(struct bits *b, uint32_t n)
{
	b->word[n / 64] &= ~(1ull << n % 64);
	if (!b->word[n / 64])
		b->used[n / 4096] &= ~(1ull << n / 64 % 64);
}

/* The highest set bit up to `bit`; -1: none. */
static int highest(uint64_t word, uint32_t bit)
{
	word &= UINT64_MAX >> (63 - bit);
	return word ? 63 - __builtin_clzll(word) : -1;
}

/* The last word before `word` that is not 0; -1: none. */
static int32_t word_before(const struct bits *b, uint32_t word)
{
	int32_t group = (int32_t)(word / 64);
	int bit = word % 64 ? highest(b->used[group], word % 64 - 1) : -1;

	while (bit < 0 && --group >= 0)
		bit = highest(b->used[group], 63);
	return bit < 0 ? -1 : group * 64 + bit;
}

int32_t bits_at_most(const struct bits *b, uint32_t n)
{
	int bit = highest(b->word[n / 64], n % 64);
	int32_t word = (int32_t)(n / 64);

	if (bit < 0) {
		word = word_before(b, n / 64);
		if (word < 0)
			return -1;
		bit = highest(b->word[word], 63);
	}
	return word * 64 + bit;
}
