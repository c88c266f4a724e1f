// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two adapters write to a third one: hcasim0 first, and hcasim1 from its first completion on. All work is posted at once, so that
 * only the adapters decide when it is done. test_congestion.py looks at the trace.
 */
#include "link.h"

#define WRITES 24u
#define SIZE   (1u << 20)

static void post(const struct pair *p)
{
	for (uint64_t i = 0; i < WRITES; i++)
		pair_post_write(p, i, SIZE);
}

static void finish(const struct pair *p, unsigned int n)
{
	while (n--)
		CHECK(link_wait(p->cq[0]).status == IBV_WC_SUCCESS);
}

int main(void)
{
	struct link link[2];
	struct pair pair[2];

	for (unsigned int i = 0; i < 2; i++) {
		link_open_on(&link[i], (const unsigned int[]){i, 2}, SIZE);
		pair_open(&pair[i], &link[i]);
	}
	post(&pair[0]);
	finish(&pair[0], 1);
	post(&pair[1]);
	finish(&pair[0], WRITES - 1);
	finish(&pair[1], WRITES);
	for (unsigned int i = 0; i < 2; i++) {
		pair_close(&pair[i]);
		link_close(&link[i]);
	}
	return 0;
}
