/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "remote/pool.h"

#define CHUNK 256 /* bytes that are compared at a time */

static void *map_at(void *at, size_t size)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED_NOREPLACE : 0);
	void *got = mmap(at, size, PROT_READ | PROT_WRITE, flags, -1, 0);

	if (got == MAP_FAILED)
		return NULL;
	if (at && got != at) { /* Linux before 4.17 treats the address as a hint */
		munmap(got, size);
		errno = EEXIST;
		return NULL;
	}
	return got;
}

int pool_map(struct pool *p, uint64_t base, size_t size)
{
	int err;

	p->base = map_at((void *)(uintptr_t)base, size);
	if (!p->base)
		return errno;
	p->known = map_at(NULL, size);
	p->fresh = map_at(NULL, size);
	p->size = size;
	if (p->known && p->fresh)
		return 0;
	err = errno;
	pool_unmap(p);
	return err;
}

void pool_unmap(struct pool *p)
{
	if (p->base)
		munmap(p->base, p->size);
	if (p->known)
		munmap(p->known, p->size);
	if (p->fresh)
		munmap(p->fresh, p->size);
	memset(p, 0, sizeof(*p));
}

bool pool_holds(const struct pool *p, uint64_t offset, uint64_t length)
{
	return p->base && offset <= p->size && length <= p->size - offset;
}

static bool changed(const struct pool *p, size_t at)
{
	return p->fresh[at] || p->base[at] != p->known[at];
}

/* The spans of one chunk; a change that continues in the next chunk is a separate span there. */
static bool chunk_changes(const struct pool *p, size_t at, size_t end, struct peer_bytes *to)
{
	while (at < end) {
		struct peer_span span = {.offset = at};

		for (; at < end && changed(p, at); at++)
			span.length++;
		if (span.length && (!peer_append(to, &span, sizeof(span)) ||
				    !peer_append(to, p->base + span.offset, span.length)))
			return false;
		while (at < end && !changed(p, at))
			at++;
	}
	return true;
}

bool pool_changes(const struct pool *p, size_t offset, size_t length, struct peer_bytes *to)
{
	for (size_t at = offset; at < offset + length; at += CHUNK) {
		size_t rest = offset + length - at, num = rest < CHUNK ? rest : CHUNK;

		if ((memcmp(p->base + at, p->known + at, num) || memchr(p->fresh + at, 1, num)) &&
		    !chunk_changes(p, at, at + num, to))
			return false;
	}
	return true;
}

int pool_apply(struct pool *p, const uint8_t *changes, size_t length)
{
	struct peer_span span;

	while (length) {
		if (length < sizeof(span))
			return EPROTO;
		memcpy(&span, changes, sizeof(span));
		changes += sizeof(span);
		length -= sizeof(span);
		if (span.length > length || !pool_holds(p, span.offset, span.length))
			return EPROTO;
		memcpy(p->base + span.offset, changes, span.length);
		memcpy(p->known + span.offset, changes, span.length);
		changes += span.length;
		length -= span.length;
	}
	return 0;
}

void pool_agree(struct pool *p, uint8_t *changes, size_t length)
{
	struct peer_span span;

	for (; length; length -= sizeof(span) + span.length) {
		memcpy(&span, changes, sizeof(span));
		changes += sizeof(span);
		memcpy(changes, p->base + span.offset, span.length);
		memcpy(p->known + span.offset, changes, span.length);
		memset(p->fresh + span.offset, 0, span.length);
		changes += span.length;
	}
}
