/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Windows of the responder's memory, for the scenarios about them: creation, binding, and accesses of the requester that
 * must succeed or fail. A fault is recorded in the cell. Offsets and lengths are bytes of the responder's memory.
 */
#ifndef RUNNER_SUITES_MEMORY_MW_KIT_H
#define RUNNER_SUITES_MEMORY_MW_KIT_H

#include "suites/kit.h"

#define MW_START 512 /* of the window in the responder's memory */
#define MW_LEN   128
#define MW_PROBE 8
#define MW_MARK  4096 /* outside all windows */

struct bind {
	struct ibv_mr *mr; /* NULL: the responder's memory */
	uint64_t addr, len;
	int access;
};

extern const struct link_opts mw_link;

/* Creates a link and an unbound window; `pd` NULL: of the responder. NULL: failed. */
struct ibv_mw *mw_new(struct kit *k, struct ibv_pd *pd, enum ibv_mw_type type);
/* NULL is ignored. */
void mw_free(struct kit *k, struct ibv_mw *mw);

/* The window's place in the responder's memory, open for remote reads and writes. */
struct bind mw_usual(const struct link *l);
/* Posts a bind of a type 2 window on the peer. 0 or an errno. */
int mw_post_bind(struct kit *k, struct ibv_mw *mw, const struct bind *b, uint32_t rkey);
/* A bind that must succeed, with this key, or with the next one. */
bool mw_bind_key(struct kit *k, struct ibv_mw *mw, const struct bind *b, uint32_t rkey);
bool mw_bind(struct kit *k, struct ibv_mw *mw, const struct bind *b);
/* A bind that must fail, at posting or with the cell's status. */
void mw_bind_refused(struct kit *k, struct ibv_mw *mw, const struct bind *b);
/* A LOCAL_INV on the peer that must succeed. */
bool mw_invalidate(struct kit *k, struct ibv_mw *mw);

/* A buffer with new bytes to be sent. */
uint8_t *mw_fresh(struct link *l);
/* Posts an access of the requester to the responder's memory. */
bool mw_reach(struct kit *k, struct link *l, enum ibv_wr_opcode op, uint8_t *from, uint32_t rkey,
	      const uint8_t *to, enum ibv_wc_status status);
/* UC has no acknowledgements: when a later write through the region's key has arrived, an earlier one would have, too. */
bool mw_wait_marker(struct kit *k, struct link *l);
/*
 * An access of the requester through a key of the responder. It must change the accessed bytes and no others, and
 * none if it is refused. On UC the requester gets no error for a refusal.
 */
bool mw_probe_on(struct kit *k, struct link *l, enum ibv_wr_opcode op, uint32_t rkey, uint64_t offset,
		 enum ibv_wc_status status);
bool mw_probe(struct kit *k, enum ibv_wr_opcode op, uint32_t rkey, uint64_t offset,
	      enum ibv_wc_status status);
/* The window can be written and read at both ends. */
bool mw_opens(struct kit *k, const struct ibv_mw *mw);
void mw_closed(struct kit *k, uint32_t rkey);

#endif
