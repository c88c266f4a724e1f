/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An arena of registered memory with a shadow of what it must hold. Buffers are cut from it with
 * guard bytes before and after. Bytes that are expected to arrive are written into the shadow; one
 * comparison of the whole arena then finds wrong bytes, missing bytes and bytes out of bounds.
 *
 * For an arena of device memory `base` is a copy in host memory: arena_push() and arena_fetch() synchronize it by
 * ibv_memcpy_to_dm() and ibv_memcpy_from_dm().
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
	uint64_t dm_offset; /* of the region, in bytes from the start of the device memory */
	size_t dm_piece;    /* most bytes of one copy, a multiple of 4; 0: no limit */
	uint8_t *known;     /* contents of the device memory after the last copy from or to it */
	int err;            /* errno of the first copy that failed */
};

/* 0 or an errno. access: enum ibv_access_flags */
int arena_create(struct arena *a, const char *name, struct ibv_pd *pd, size_t size, int access);
/* The same with device memory, `offset` bytes after its start; *step names the call that failed. */
int arena_create_dm(struct arena *a, const char *name, struct ibv_pd *pd, uint64_t offset, int access,
		    const char **step);
void arena_destroy(struct arena *a);
/* Frees all buffers and fills the arena with guard bytes. */
void arena_reset(struct arena *a);
/* NULL when the arena is full. */
uint8_t *arena_take(struct arena *a, size_t len);
/* Writes bytes that depend only on seed into the arena and its shadow. */
void arena_fill(struct arena *a, uint8_t *at, size_t len, uint32_t seed);
/* Where the shadow has the expected contents of an address. */
uint8_t *arena_shadow(struct arena *a, const uint8_t *at);
/* The address of the byte at `at` for SGEs and remote addresses, and the reverse: device memory regions begin at 0. */
uint64_t arena_address(const struct arena *a, const uint8_t *at);
uint8_t *arena_at(const struct arena *a, uint64_t address);
/* The next push copies these bytes, even if they have not changed here. */
void arena_written(struct arena *a, const uint8_t *at, size_t len);
/* Copies what was written to the arena to device memory. */
void arena_push(struct arena *a);
/* Copies what the device has written to the arena. */
void arena_fetch(struct arena *a);
/* Whether the last copy has everything that is expected, and nothing else. */
bool arena_is_expected(const struct arena *a);
void arena_judge(struct verdict *v, struct arena *a);

#endif
