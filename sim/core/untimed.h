/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Adapters without time: N of them on one wire in memory, every stage stepped until nothing is left.
 * DMA goes straight to this process's memory, as far as it has been opened with untimed_mem(). For unit
 * tests and fuzzers, and as the reference that RTL is compared with.
 *
 * Order: without a seed stages run round robin, DMA completes in the order of issue, frames arrive in
 * the order of sending. With a seed, stages run and reads complete in a random order that the seed
 * determines; writes and frames keep theirs.
 */
#ifndef HCASIM_CORE_UNTIMED_H
#define HCASIM_CORE_UNTIMED_H

#include "hca.h"

#ifdef __cplusplus
extern "C" {
#endif

struct untimed;

/* What becomes of a frame on the wire. */
enum untimed_fate {
	UNTIMED_DELIVER,
	UNTIMED_DROP,
	UNTIMED_TWICE,
	UNTIMED_LATE, /* after the frame that follows it */
};

struct untimed_hooks {
	void *ctx;
	/* Sees, and may change, every frame. NULL: all are delivered. */
	enum untimed_fate (*wire)(void *ctx, unsigned int from, struct hca_packet *pkt);
	void (*msix)(void *ctx, unsigned int hca, unsigned int vector);
	/* Sees every transfer before it is made; false: refuse it. */
	bool (*dma)(void *ctx, unsigned int hca, const struct hca_dma *dma);
};

/* `cfg` NULL: a small adapter. MAC 02:..:hca:port, GID 0 of each port is ::ffff:10.port.0.hca+1. NULL: no memory. */
struct untimed *untimed_create(unsigned int num, const struct hca_personality *pers,
			       const struct hca_config *cfg, const struct untimed_hooks *hooks,
			       uint64_t seed);
void untimed_destroy(struct untimed *u);
struct hca *untimed_hca(struct untimed *u, unsigned int index);
void untimed_mac(unsigned int hca, uint8_t port, uint8_t mac[6]);
void untimed_gid(unsigned int hca, uint8_t port, uint8_t gid[16]);

/* Opens host memory for DMA of every PASID, or closes what lies in it again. False: no room for more ranges. */
bool untimed_mem(struct untimed *u, const void *base, size_t len);
void untimed_mem_close(struct untimed *u, const void *base);

hca_ps untimed_now(const struct untimed *u);
/* Steps while there is something to do, at most `steps` pieces of work. True: idle but for timers. */
bool untimed_run(struct untimed *u, uint64_t steps);
/* One piece of work; false if there was none. */
bool untimed_step(struct untimed *u);
/* The earliest deadline of all adapters. */
hca_ps untimed_next_timer(const struct untimed *u);
/* Sets the clock, and fires what is due. Never goes back. */
void untimed_advance(struct untimed *u, hca_ps now);
/* Runs, and lets time pass from timer to timer, until idle or `until`. True: nothing is pending before `until`. */
bool untimed_settle(struct untimed *u, hca_ps until, uint64_t steps);

#ifdef __cplusplus
}
#endif
#endif
