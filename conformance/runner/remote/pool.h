/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The responder's memory when the responder is in another process: both map it at the same address, so that addresses in
 * work requests are valid in both. What one side has changed since the last synchronization is sent to the other.
 */
#ifndef CONFORM_REMOTE_POOL_H
#define CONFORM_REMOTE_POOL_H

#include "remote/wire.h"

struct pool {
	uint8_t *base;  /* NULL: not mapped */
	uint8_t *known; /* contents after the last synchronization */
	uint8_t *fresh; /* by byte: 1 if it is sent even if it is equal in `known` */
	size_t size;
};

/* 0, or an errno: EEXIST if the address range is in use. */
int pool_map(struct pool *p, uint64_t base, size_t size);
void pool_unmap(struct pool *p);
bool pool_holds(const struct pool *p, uint64_t offset, uint64_t length);
/* Appends the spans of a block that have changed. False: no memory. */
bool pool_changes(const struct pool *p, size_t offset, size_t length, struct peer_bytes *to);
/* Applies changes of the other side. 0, or EPROTO if they are malformed. */
int pool_apply(struct pool *p, const uint8_t *changes, size_t length);
/* Records own changes as known to the other side, and updates them to the present contents. */
void pool_agree(struct pool *p, uint8_t *changes, size_t length);

#endif
