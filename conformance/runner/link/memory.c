/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "link/made.h"
#include "link/memory.h"
#include "remote/remote.h"

#define GUARD_LEN  64
#define GUARD_BYTE 0xa5
#define DM_SIZE    (72 * 1024) /* holds all receive slots; adapters have device memory of 128 KiB and more */
#define DM_WORD    4           /* copies start and end at multiples of this */
#define DM_ALIGN   3           /* of the start, as a power of two: atomics access it */

static int give_up(struct arena *a)
{
	int err = errno_of_failure();

	arena_destroy(a);
	return err;
}

int arena_create(struct arena *a, const char *name, struct ibv_pd *pd, size_t size, int access)
{
	memset(a, 0, sizeof(*a));
	a->name = name;
	a->size = size;
	a->base = end_alloc(pd, size);
	a->shadow = made_zeroed(1, size);
	if (!a->base || !a->shadow) {
		arena_destroy(a);
		return ENOMEM;
	}
	a->used = size;
	arena_reset(a);
	a->mr = ibv_reg_mr(pd, a->base, size, access);
	return a->mr ? 0 : give_up(a);
}

int arena_create_dm(struct arena *a, const char *name, struct ibv_pd *pd, uint64_t offset, int access,
		    const char **step)
{
	struct ibv_alloc_dm_attr attr = {.length = offset + DM_SIZE, .log_align_req = DM_ALIGN};

	memset(a, 0, sizeof(*a));
	a->name = name;
	a->size = DM_SIZE;
	a->dm_offset = offset;
	a->base = made_zeroed(1, DM_SIZE);
	a->shadow = made_zeroed(1, DM_SIZE);
	a->known = made_zeroed(1, DM_SIZE);
	errno = ENOMEM;
	if (!a->base || !a->shadow || !a->known)
		return give_up(a);
	*step = "ibv_alloc_dm";
	a->dm = ibv_alloc_dm(pd->context, &attr);
	if (!a->dm)
		return give_up(a);
	*step = "ibv_reg_dm_mr";
	a->mr = ibv_reg_dm_mr(pd, a->dm, offset, DM_SIZE, access | IBV_ACCESS_ZERO_BASED);
	if (!a->mr)
		return give_up(a);
	a->used = DM_SIZE;
	arena_reset(a);
	return 0;
}

void arena_destroy(struct arena *a)
{
	if (a->mr)
		ibv_dereg_mr(a->mr);
	if (a->dm) {
		ibv_free_dm(a->dm);
		made_free(a->base);
	} else {
		end_free(a->base);
	}
	made_free(a->shadow);
	made_free(a->known);
	memset(a, 0, sizeof(*a));
}

void arena_reset(struct arena *a)
{
	memset(a->base, GUARD_BYTE, a->used);
	memset(a->shadow, GUARD_BYTE, a->used);
	arena_written(a, a->base, a->used);
	a->used = GUARD_LEN;
}

uint8_t *arena_take(struct arena *a, size_t len)
{
	uint8_t *at = a->base + a->used;
	/* atomics need 8-byte alignment; the guard separates the buffers */
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

uint64_t arena_address(const struct arena *a, const uint8_t *at)
{
	return a->dm ? (uint64_t)(at - a->base) : (uintptr_t)at;
}

uint8_t *arena_at(const struct arena *a, uint64_t address)
{
	return a->dm ? a->base + address : (uint8_t *)(uintptr_t)address;
}

void arena_written(struct arena *a, const uint8_t *at, size_t len)
{
	if (!a->dm)
		end_written(at, len);
	for (size_t i = at - a->base, end = i + len; a->dm && i < end; i++)
		a->known[i] = ~a->base[i];
}

/* The furthest end of a copy that starts at `from`. */
static size_t end_of_copy(const struct arena *a, size_t from)
{
	return a->dm_piece && a->dm_piece < a->used - from ? from + a->dm_piece : a->used;
}

void arena_push(struct arena *a)
{
	size_t from = 0, to, end, copied = 0;
	uint32_t word;

	while (a->dm && from < a->used && !a->err) {
		end = end_of_copy(a, from);
		for (to = from; to < end && memcmp(a->base + to, a->known + to, DM_WORD); to += DM_WORD)
			;
		if (to > from) {
			a->err = ibv_memcpy_to_dm(a->dm, a->dm_offset + from, a->base + from, to - from);
			memcpy(a->known + from, a->base + from, to - from);
			copied = to;
		}
		from = to > from ? to : from + DM_WORD;
	}
	/* Stores to a BAR are posted, and nothing orders them with what another host sends. A load pushes them
	 * before it (PCI Express Base Specification, 2.4.1). */
	if (copied && !a->err)
		a->err = ibv_memcpy_from_dm(&word, a->dm, a->dm_offset + copied - DM_WORD, DM_WORD);
}

void arena_fetch(struct arena *a)
{
	size_t from = 0, to;

	arena_push(a);
	for (; a->dm && from < a->used && !a->err; from = to) {
		to = end_of_copy(a, from);
		a->err = ibv_memcpy_from_dm(a->base + from, a->dm, a->dm_offset + from, to - from);
		memcpy(a->known + from, a->base + from, to - from);
	}
}

bool arena_is_expected(const struct arena *a)
{
	return !memcmp(a->shadow, a->base, a->used);
}

void arena_judge(struct verdict *v, struct arena *a)
{
	end_sync();
	arena_fetch(a);
	if (a->err)
		fault(v, "%s: a copy from or to device memory failed with %s", a->name, errno_name(a->err));
	judge_bytes(v, a->name, a->shadow, a->base, a->used);
}
