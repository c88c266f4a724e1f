/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A work request of a cell planned on a link: buffers, lengths, remote address, wr_id; and the expected
 * contents of memory and both completion queues after its execution.
 */
#ifndef CONFORM_PLAN_H
#define CONFORM_PLAN_H

#include "link/link.h"

#define PLAN_TSO_MSS 512
#define PLAN_TSO_HDR 54 /* Ethernet, IPv4, TCP */
#define PLAN_ETH_HDR 14
#define PLAN_MAX     12288 /* payload bytes: three packets at the largest path MTU */

extern const uint8_t plan_tso_hdr[PLAN_TSO_HDR], plan_eth_hdr[PLAN_ETH_HDR];

#define PLAN_COMPARE 0x0123456789abcdefull
#define PLAN_SWAP    0xfedcba9876543210ull

struct plan {
	const struct cell_wr *wr;
	unsigned int index; /* in the posting */
	uint64_t wr_id;
	struct ibv_sge sge[CELL_MAX_SGE];
	unsigned int num_sge;
	uint32_t total;            /* payload bytes */
	uint8_t payload[PLAN_MAX]; /* what is sent, gathered at the time of posting */
	uint8_t *target;           /* remote memory */
	uint32_t rkey;             /* of it */
	struct ibv_ah *ah;         /* UD */
	uint32_t qpn, qkey;        /* UD */
	uint32_t srqn;             /* XRC_SEND */
	uint64_t operand, compare; /* atomics; ATOMIC_WRITE */
	__be32 imm;
	uint32_t inv_rkey;
	uint8_t tso_hdr[PLAN_TSO_HDR];
	bool data_first; /* ibv_wr_*: the data setter is called before the QP setter */
	bool late;       /* ibv_wr_*: wr_id and wr_flags change as soon as the builder is back */
};

/* Expected completions of one side, in order. */
#define EXPECT_MAX 32
struct expect {
	unsigned int num;
	struct wc_expect wc[EXPECT_MAX];
};

/*
 * 0, or an errno if the cell does not fit into the link's memory. If data_of is set, p[wr->data_of - index]
 * has been planned before.
 */
int plan_wr(struct plan *p, struct link *l, const struct cell_wr *wr, unsigned int index, uint32_t seed);
/* Overwrites the caller's inline buffers: the caller may reuse them once the data has been copied. */
void plan_scribble(struct plan *p, struct link *l);
/* The work request is executed: writes its effect into the shadows and its completions to the lists. */
void plan_execute(struct plan *p, struct link *l, struct expect *requester, struct expect *responder);
/* Only the completion: the request was executed before. */
void plan_complete(struct plan *p, struct link *l, struct expect *requester);
/* The work request completes in error. */
void plan_fail(struct plan *p, struct link *l, enum ibv_wc_status status, struct expect *requester);
/* A request that nobody built completes in error. */
void plan_extra(struct link *l, enum ibv_wc_status status, struct expect *requester);
/* Only the first bytes of the payload are sent. */
void plan_shorten(struct plan *p, uint32_t len);
bool plan_is_inline(const struct plan *p);

#endif
