// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "record/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/event.h"

#define ROOM_MAX (1u << 22) /* bytes of a decoded array */

static uint8_t *grow(struct out *o, size_t more)
{
	if (o->cap - o->len < more) {
		o->cap = 2 * o->cap + more + 64;
		o->data = realloc(o->data, o->cap);
		if (!o->data) {
			fputs("hcasim: record: out of memory\n", stderr);
			abort();
		}
	}
	o->len += more;
	return o->data + o->len - more;
}

void put_uint(struct out *o, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*grow(o, 1) = (uint8_t)(v | 0x80);
	*grow(o, 1) = (uint8_t)v;
}

void put_int(struct out *o, int64_t v)
{
	put_uint(o, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

void put_bytes(struct out *o, const void *data, size_t len)
{
	put_uint(o, len);
	if (len)
		memcpy(grow(o, len), data, len);
}

void put_text(struct out *o, const char *text)
{
	put_bytes(o, text, strlen(text));
}

static void put_inner(struct out *o, struct out *inner)
{
	put_bytes(o, inner->data, inner->len);
	free(inner->data);
}

void put_uint8_ts(struct out *o, const uint8_t *v, uint32_t n)
{
	put_bytes(o, v, n);
}

void put_uint32_ts(struct out *o, const uint32_t *v, uint32_t n)
{
	struct out inner = {0};

	for (uint32_t k = 0; k < n; k++)
		put_uint(&inner, v[k]);
	put_inner(o, &inner);
}

void put_hca_page_ranges(struct out *o, const struct hca_page_range *v, uint32_t n)
{
	struct out inner = {0};

	for (uint32_t k = 0; k < n; k++)
		put_hca_page_range(&inner, &v[k]);
	put_inner(o, &inner);
}

void put_hca_edits(struct out *o, const struct hca_edit *v, uint32_t n)
{
	struct out inner = {0};

	for (uint32_t k = 0; k < n; k++)
		put_hca_edit(&inner, &v[k]);
	put_inner(o, &inner);
}

void put_segments(struct out *o, const struct hca_dma_seg *v, uint32_t n)
{
	struct out inner = {0};

	for (uint32_t k = 0; k < n; k++) {
		put_uint(&inner, v[k].addr);
		put_uint(&inner, v[k].len);
	}
	put_inner(o, &inner);
}

static void spoil(struct in *i)
{
	i->bad = true;
	i->p = i->end;
}

uint64_t get_uint(struct in *i)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 64 && i->p < i->end; shift += 7) {
		uint8_t byte = *i->p++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	spoil(i);
	return 0;
}

int64_t get_int(struct in *i)
{
	uint64_t v = get_uint(i);

	return (int64_t)(v >> 1 ^ -(v & 1));
}

const uint8_t *get_bytes(struct in *i, size_t *len)
{
	uint64_t n = get_uint(i);
	const uint8_t *p = i->p;

	if (n > (uint64_t)(i->end - i->p))
		spoil(i);
	*len = i->bad ? 0 : n;
	if (!i->bad)
		i->p += n;
	return p;
}

void get_array(struct in *i, void *to, size_t len)
{
	size_t n;
	const uint8_t *p = get_bytes(i, &n);

	if (n == len)
		memcpy(to, p, len);
	else
		spoil(i);
	if (n != len)
		memset(to, 0, len);
}

struct in get_inner(struct in *i)
{
	size_t n;
	const uint8_t *p = get_bytes(i, &n);

	return (struct in){.p = p, .end = p + n, .outer = i};
}

void get_end(struct in *i, const struct in *inner)
{
	if (inner->bad || inner->p != inner->end)
		spoil(i);
}

struct room {
	struct room *next;
	uint64_t data[];
};

static struct room *new_room(struct in *i, size_t size)
{
	struct room *r = NULL;

	if (!i->bad && size <= ROOM_MAX)
		r = calloc(1, sizeof(*r) + size);
	if (!r)
		spoil(i);
	return r;
}

static struct in *outermost(struct in *i)
{
	while (i->outer)
		i = i->outer;
	return i;
}

static void *push(struct room **list, struct room *r)
{
	if (!r)
		return NULL;
	r->next = *list;
	*list = r;
	return r->data;
}

void *get_room(struct in *i, size_t size)
{
	return push(&outermost(i)->rooms, new_room(i, size));
}

void *get_kept(struct in *i, size_t size)
{
	return push(&outermost(i)->kept, new_room(i, size));
}

void in_hand_over(struct in *i, struct in *to)
{
	struct room *r;

	while ((r = i->kept)) {
		i->kept = r->next;
		push(&to->rooms, r);
	}
}

void in_free(struct in *i)
{
	struct room *next;

	for (; i->rooms; i->rooms = next) {
		next = i->rooms->next;
		free(i->rooms);
	}
}

uint8_t *get_uint8_ts(struct in *i, uint32_t n)
{
	uint8_t *v = get_room(i, n);

	if (v)
		get_array(i, v, n);
	return v;
}

uint32_t *get_uint32_ts(struct in *i, uint32_t n)
{
	struct in inner = get_inner(i);
	uint32_t *v = get_room(i, (size_t)n * sizeof(*v));

	for (uint32_t k = 0; v && k < n; k++)
		v[k] = (uint32_t)get_uint(&inner);
	get_end(i, &inner);
	return v;
}

struct hca_edit *get_hca_edits(struct in *i, uint32_t n)
{
	struct in inner = get_inner(i);
	struct hca_edit *v = get_room(i, (size_t)n * sizeof(*v));

	for (uint32_t k = 0; v && k < n; k++)
		get_hca_edit(&inner, &v[k]);
	get_end(i, &inner);
	return v;
}
