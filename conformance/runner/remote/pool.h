/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The responder's memory when it is another process's: both have it at the same address, so that an address in a
 * work request means the same to both. What one side has changed since they last agreed goes to the other.
 */
#ifndef CONFORM_REMOTE_POOL_H
#define CONFORM_REMOTE_POOL_H

#include "remote/wire.h"

struct pool {
	uint8_t *base;  /* NULL: not mapped */
	uint8_t *known; /* what both sides have agreed on */
	uint8_t *fresh; /* by byte: 1 when it counts as changed, whatever was agreed on */
	size_t size;
};

/* 0, or an errno: EEXIST when something else is there. */
int pool_map(struct pool *p, uint64_t base, size_t size);
void pool_unmap(struct pool *p);
bool pool_holds(const struct pool *p, uint64_t offset, uint64_t length);
/* Appends the spans of a block that have changed. False: no memory. */
bool pool_changes(const struct pool *p, size_t offset, size_t length, struct peer_bytes *to);
/* Changes of the other side. 0, or EPROTO when they are none. */
int pool_apply(struct pool *p, const uint8_t *changes, size_t length);
/* Own changes that the other side gets to know, as they stand now. */
void pool_agree(struct pool *p, uint8_t *changes, size_t length);

#endif
