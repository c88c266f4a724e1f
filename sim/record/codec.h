/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Fields of an event: numbers as LEB128 (signed ones zigzag), bytes after their length. */
#ifndef HCASIM_RECORD_CODEC_H
#define HCASIM_RECORD_CODEC_H

#include "core/hca.h"

struct out {
	uint8_t *data;
	size_t len, cap;
};

void put_uint(struct out *o, uint64_t v);
void put_int(struct out *o, int64_t v);
void put_bytes(struct out *o, const void *data, size_t len);
void put_text(struct out *o, const char *text);
/* Arrays, as one field of bytes. */
void put_uint8_ts(struct out *o, const uint8_t *v, uint32_t n);
void put_uint32_ts(struct out *o, const uint32_t *v, uint32_t n);
void put_hca_page_ranges(struct out *o, const struct hca_page_range *v, uint32_t n);
void put_hca_edits(struct out *o, const struct hca_edit *v, uint32_t n);
void put_segments(struct out *o, const struct hca_dma_seg *v, uint32_t n);

/* The rest of an event's fields. `bad`: they ended too early, or do not fit; everything read is then 0. */
struct in {
	const uint8_t *p, *end;
	bool bad;
	struct in *outer;   /* NULL: it is not a field of another one */
	struct room *rooms; /* allocated by get_room() */
	struct room *kept;  /* by get_kept() */
};

uint64_t get_uint(struct in *i);
int64_t get_int(struct in *i);
/* Valid as long as the event. */
const uint8_t *get_bytes(struct in *i, size_t *len);
/* Exactly `len` bytes. */
void get_array(struct in *i, void *to, size_t len);
struct in get_inner(struct in *i);
/* `inner`, which may be `i`, has to be at its end. */
void get_end(struct in *i, const struct in *inner);
/* Zeroed memory until in_free() of the outermost; NULL if `bad`, or if it is too much. */
void *get_room(struct in *i, size_t size);
/* The same for what a command's receiver goes on to use: in_free() leaves it. */
void *get_kept(struct in *i, size_t size);
/* Hands the memory of get_kept() over to `to`, whose in_free() frees it. */
void in_hand_over(struct in *i, struct in *to);
void in_free(struct in *i);
/* Exactly `n` elements, in memory of get_room(). */
uint8_t *get_uint8_ts(struct in *i, uint32_t n);
uint32_t *get_uint32_ts(struct in *i, uint32_t n);
struct hca_edit *get_hca_edits(struct in *i, uint32_t n);

#endif
