/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A CQ of the requester under test. Its entries are receives of SEND_WITH_IMM, which the peers of one or several links
 * send: all different in wr_id, length and immediate data. A receive queue completes in order, so once the event of a
 * solicited one has come, it and all before it are in the CQ, and none has been polled.
 */
#ifndef CONFORM_SUITES_BENCH_H
#define CONFORM_SUITES_BENCH_H

#include "suites/kit.h"

#define BENCH_MOST 16 /* messages at a time */
#define BENCH_TURN 128

struct bench {
	struct kit *k;
	struct ibv_comp_channel *channel;
	bool shared; /* the channel belongs to another bench */
	struct ibv_cq *cq;
	bool ex; /* of ibv_create_cq_ex(), polled with ibv_start_poll() */
	unsigned int serial;
	struct wc_expect want[BENCH_TURN]; /* what must be polled, oldest first */
	unsigned int first, end;           /* free-running */
};

/* A CQ of at least `cqe` entries; extended if the cell's argument `ex` is set. False and a fault if this fails. */
bool bench_open(struct bench *b, struct kit *k, int cqe);
/* The same with these attributes; a channel is shared, if there is one. Refusals are no fault: returns 0 or the errno. */
int bench_create(struct bench *b, struct kit *k, struct ibv_cq_init_attr_ex *attr);
/* The CQ must be destroyed without an error. */
void bench_close(struct bench *b);
/* A link whose QP under test completes into this CQ. opts: NULL, or further differences. */
bool bench_link(struct bench *b, struct link *l, const struct link_opts *opts);
/* The next messages: posts `n` receives, and as many sends at the peer, the last of them solicited or not. */
bool bench_start(struct bench *b, struct link *l, unsigned int n, bool solicited);
/* The same, and waits until the peer's sends have completed. */
bool bench_send(struct bench *b, struct link *l, unsigned int n, bool solicited);
bool bench_arm(struct bench *b, int solicited_only);
/* No event may be there, once the device has had a command after all that was asked of it before. */
bool bench_quiet(struct bench *b, struct link *l);
/* The next event of the channel must be of this CQ. */
bool bench_event(struct bench *b);
/* Sends, and waits until all are in the CQ. */
bool bench_put(struct bench *b, struct link *l, unsigned int n);
/* Polls once, at most `most` entries, which must be as sent. Returns their number, 0 after a fault. */
unsigned int bench_poll(struct bench *b, unsigned int most);
/* Polls the next `n`, which must be as sent. */
bool bench_take(struct bench *b, unsigned int n);
/* Polls all that is expected, and nothing else may come. */
bool bench_empty(struct bench *b);
unsigned int bench_num(const struct bench *b);
/* Entries of this QP are not expected any more. */
void bench_forget(struct bench *b, uint32_t qp_num);
/* One more expected entry, behind all others. */
void bench_want(struct bench *b, const struct wc_expect *want);

#endif
