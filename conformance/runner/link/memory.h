/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An arena of registered memory with a shadow of what it must hold. Buffers are cut from it with
 * guard bytes before and after; whoever expects bytes to arrive writes them into the shadow, and a
 * single comparison of the whole arena then sees a wrong byte, a missing one and one out of bounds.
 *
 * An arena of device memory is written and read at `base`, too: that is the CPU's copy, which arena_push() and
 * arena_fetch() bring up to date by ibv_memcpy_to_dm() and ibv_memcpy_from_dm().
 */
#ifndef CONFORM_MEMORY_H
#define CONFORM_MEMORY_H

#include "judge/judge.h"

struct arena {
	const char *name;
	uint8_t *base, *shadow;
	size_t size, used;
	struct ibv_mr *mr;
	struct ibv_dm *dm;  /* NULL: host memory */
	uint64_t dm_offset; /* of the region, in bytes from the beginning of the device memory */
	size_t dm_piece;    /* bytes of a copy at most, a multiple of 4; 0: as many as there are */
	uint8_t *known;     /* what the device memory held when it was last copied from or to */
	int err;            /* errno of the first copy that failed */
};

/* 0 or an errno. access: enum ibv_access_flags */
int arena_create(struct arena *a, const char *name, struct ibv_pd *pd, size_t size, int access);
/* The same of device memory, `offset` bytes behind its beginning; *step names the call that failed. */
int arena_create_dm(struct arena *a, const char *name, struct ibv_pd *pd, uint64_t offset, int access,
		    const char **step);
void arena_destroy(struct arena *a);
/* Everything is guard again. */
void arena_reset(struct arena *a);
/* NULL when the arena is full. */
uint8_t *arena_take(struct arena *a, size_t len);
/* Bytes that depend on seed only, in the arena and in its shadow. */
void arena_fill(struct arena *a, uint8_t *at, size_t len, uint32_t seed);
/* What must stand at an address once the work is done. */
uint8_t *arena_shadow(struct arena *a, const uint8_t *at);
/* As SGEs and remote addresses name the byte at `at`, and back: a region of device memory begins at 0. */
uint64_t arena_address(const struct arena *a, const uint8_t *at);
uint8_t *arena_at(const struct arena *a, uint64_t address);
/* These bytes count as written, whatever the device had put there. */
void arena_written(struct arena *a, const uint8_t *at, size_t len);
/* Device memory holds what was written to the arena. */
void arena_push(struct arena *a);
/* The arena holds what the device has written. */
void arena_fetch(struct arena *a);
void arena_judge(struct verdict *v, struct arena *a);

#endif
