/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An arena of registered memory with a shadow of what it must hold. Buffers are cut from it with
 * guard bytes before and after; whoever expects bytes to arrive writes them into the shadow, and a
 * single comparison of the whole arena then sees a wrong byte, a missing one and one out of bounds.
 */
#ifndef CONFORM_MEMORY_H
#define CONFORM_MEMORY_H

#include "judge/judge.h"

struct arena {
	const char *name;
	uint8_t *base, *shadow;
	size_t size, used;
	struct ibv_mr *mr;
};

/* 0 or an errno. access: enum ibv_access_flags */
int arena_create(struct arena *a, const char *name, struct ibv_pd *pd, size_t size, int access);
void arena_destroy(struct arena *a);
/* Everything is guard again. */
void arena_reset(struct arena *a);
/* NULL when the arena is full. */
uint8_t *arena_take(struct arena *a, size_t len);
/* Bytes that depend on seed only, in the arena and in its shadow. */
void arena_fill(struct arena *a, uint8_t *at, size_t len, uint32_t seed);
/* What must stand at an address once the work is done. */
uint8_t *arena_shadow(struct arena *a, const uint8_t *at);
void arena_judge(struct verdict *v, const struct arena *a);

#endif
