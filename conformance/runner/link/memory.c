/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "link/memory.h"
#include "remote/remote.h"

#define GUARD_LEN  64
#define GUARD_BYTE 0xa5

int arena_create(struct arena *a, const char *name, struct ibv_pd *pd, size_t size, int access)
{
	memset(a, 0, sizeof(*a));
	a->name = name;
	a->size = size;
	a->base = end_alloc(pd, size);
	a->shadow = malloc(size);
	if (!a->base || !a->shadow) {
		arena_destroy(a);
		return ENOMEM;
	}
	a->used = size;
	arena_reset(a);
	a->mr = ibv_reg_mr(pd, a->base, size, access);
	if (!a->mr) {
		int err = errno;

		arena_destroy(a);
		return err ? err : EIO;
	}
	return 0;
}

void arena_destroy(struct arena *a)
{
	if (a->mr)
		ibv_dereg_mr(a->mr);
	end_free(a->base);
	free(a->shadow);
	memset(a, 0, sizeof(*a));
}

void arena_reset(struct arena *a)
{
	memset(a->base, GUARD_BYTE, a->used);
	memset(a->shadow, GUARD_BYTE, a->used);
	end_written(a->base, a->used);
	a->used = GUARD_LEN;
}

uint8_t *arena_take(struct arena *a, size_t len)
{
	uint8_t *at = a->base + a->used;
	/* 8-byte alignment suits atomics; the guard makes each buffer stand alone */
	size_t room = (len + GUARD_LEN + 7) & ~(size_t)7;

	if (room > a->size - a->used)
		return NULL;
	a->used += room;
	return at;
}

void arena_fill(struct arena *a, uint8_t *at, size_t len, uint32_t seed)
{
	uint32_t x = seed * 2654435761u + 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		at[i] = x >> 24;
	}
	memcpy(arena_shadow(a, at), at, len);
}

uint8_t *arena_shadow(struct arena *a, const uint8_t *at)
{
	return a->shadow + (at - a->base);
}

void arena_judge(struct verdict *v, const struct arena *a)
{
	end_sync();
	judge_bytes(v, a->name, a->shadow, a->base, a->used);
}
