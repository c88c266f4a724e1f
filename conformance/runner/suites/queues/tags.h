/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tag matching: the objects of a scenario, and what it does with them. Functions return false after a fault. */
#ifndef CONFORM_SUITES_TAGS_H
#define CONFORM_SUITES_TAGS_H

#include <infiniband/tm_types.h>

#include "suites/kit.h"

#define TAGS_SLOT   16384 /* bytes of a buffer */
#define TAGS_MEM    (16 * TAGS_SLOT)
#define TAGS_OP     0x100 /* wr_id of the operation on the buffer of slot 0 */
#define TAGS_RECV   0x200 /* wr_id of its message */
#define TAGS_PRIV   0x1badcafe
#define TAGS_BOTH   ((uint32_t)(sizeof(struct ibv_tmh) + sizeof(struct ibv_rvh)))
#define TAGS_DONE   (IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID)
#define TAGS_FAILED UINT32_MAX

struct tags_opts {
	bool own_sends; /* the receiving QP has a send queue */
	uint32_t num_tags, max_ops;
	uint32_t depth;       /* requests at a time, and receives of their sender; 0: the usual ones */
	struct ibv_cq_ex *cq; /* of another queue; NULL: one of its own */
	bool one_cq;          /* it is also the receiving QP's */
	struct ibv_pd *pd;    /* of the queue; NULL: the responder's */
	uint64_t base;        /* added to each wr_id */
};

struct tags_wc {
	uint64_t wr_id, tag;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	unsigned int flags;
	uint32_t byte_len, priv, qp_num;
};

struct tags {
	struct kit *k;
	struct link l;
	struct ibv_srq *srq;
	struct ibv_cq_ex *cq;
	bool shared; /* the CQ is another queue's */
	uint64_t base;
	uint8_t *mem, *from, *to; /* the sender's, and the tagged buffers and receives */
	struct ibv_mr *from_mr, *to_mr;
	uint32_t meta;     /* bytes behind the headers of rendezvous requests */
	struct tags_wc wc; /* the last completion of the queue */
};

struct tags_entry {
	unsigned int slot;
	uint64_t tag, mask;
	uint32_t len;
	bool two; /* SGEs */
	int flags;
	uint32_t count;        /* unexpected messages */
	unsigned int sync_req; /* flags that the completion of its ADD must have */
	uint32_t bad_key;      /* bits of the key that are wrong */
};

/* Opens the objects, runs, and closes them; nothing if the responder is in another process. */
void tags_run(struct kit *k, const struct tags_opts *opts, void (*run)(struct kit *k, struct tags *t));
/* To be closed in both cases. */
bool tags_open(struct kit *k, struct tags *t, const struct tags_opts *opts);
uint8_t *tags_buffer(const struct tags *t, unsigned int slot);

int tags_post(struct tags *t, struct ibv_ops_wr *wr);                      /* errno */
int tags_add(struct tags *t, struct tags_entry e, uint32_t *handle);       /* errno */
bool tags_must_add(struct tags *t, struct tags_entry e, uint32_t *handle); /* and its completion */
bool tags_sync(struct tags *t, uint32_t count, unsigned int flags);
bool tags_recv(struct tags *t, unsigned int slot);
/* A message of `len` bytes, header and all; its own completion is expected. */
bool tags_send(struct tags *t, uint8_t opcode, uint64_t tag, uint32_t len);
/* The longest rendezvous request that the device takes; 0 and a fault. */
uint32_t tags_longest_request(struct tags *t);
/* A rendezvous request for `len` bytes of the sender's second slot; bits of its key may be inverted. */
bool tags_request(struct tags *t, uint64_t tag, uint32_t len, uint32_t key_bits);

/* Waits for the next completion of the queue: t->wc. */
bool tags_next(struct tags *t);
/* The next completion of the queue is this one. flags TAGS_FAILED: opcode and flags are not valid */
bool tags_expect(struct tags *t, uint64_t wr_id, enum ibv_wc_opcode opcode, enum ibv_wc_status status,
		 unsigned int flags);
void tags_expect_none(struct tags *t);
bool tags_data(struct tags *t, unsigned int slot, const uint8_t *from, uint32_t len);

#endif
