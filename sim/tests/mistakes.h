/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the wrong programs of `hcasim-mistakes` share: a connected pair on two adapters, and how they say what they see. */
#ifndef HCASIM_TESTS_MISTAKES_H
#define HCASIM_TESTS_MISTAKES_H

#include "link.h"

#define SIZE    4096u /* of each end's buffer, bytes */
#define MESSAGE 64u   /* bytes */
#define QKEY    0x11111111u

struct mistake {
	const char *name;
	void (*make)(void);
};

/* One table of each file; a table ends with an empty row. */
extern const struct mistake memory_mistakes[], queue_mistakes[], connection_mistakes[], waiting_mistakes[],
	event_mistakes[], refused_mistakes[];

extern struct link l;
extern struct pair p;

/* ---- The pair: RC, 16 sends, 4 receives, 1 SGE, no inline data; short timers, few retries ---- */

extern struct ibv_qp_cap cap; /* of QPs that create_pair() creates */
/* Creates CQs of 64 entries, unless they are there, and QPs in RESET. */
void create_pair(void);
/* The attributes that connect an end. */
struct ibv_qp_attr attr_of(int end);
/* Moves an end to a state, RESET to RTS. */
void move(int end, const struct ibv_qp_attr *attr, enum ibv_qp_state to);
/* Creates the pair and moves both ends to RTS. */
void connect_pair(void);
/* A UD QP in RTS with a CQ of its own, and the path to the other end. */
struct ibv_qp *open_ud(int end);
struct ibv_ah *open_path(int end);

/* ---- Requests; the caller posts them ---- */

/* A signaled request to the start of end 1's buffer. */
struct ibv_send_wr request(enum ibv_wr_opcode op, struct ibv_sge *sge, uint64_t wr_id);
struct ibv_recv_wr receive(struct ibv_sge *sge, uint64_t wr_id);
/* Posts a receive of MESSAGE bytes, which is right. */
void post_receive(int end, uint64_t wr_id);

/* Posts a request of end 0 and says how it ended. A macro: the call is in the function that makes the mistake. */
#define POST(wr)                                                                                             \
	do {                                                                                                 \
		struct ibv_send_wr *bad;                                                                     \
		const int error = ibv_post_send(p.qp[0], &(wr), &bad);                                       \
                                                                                                             \
		say_error("ibv_post_send", error);                                                           \
		if (!error)                                                                                  \
			say_completion(p.cq[0]);                                                             \
	} while (0)

/* ---- What the program says ---- */

/* `VERB: reason` if `error` is not 0. */
void say_error(const char *verb, int error);
/* `completion of WR N: status` of the next completion. */
void say_completion(struct ibv_cq *cq);
/* `event: description` of the next asynchronous event of an end. */
void say_event(int end);
/* `NAME = value`, which the test compares with the explanation. */
void say_value(const char *name, uint64_t value);
/* `waiting`: what the program waits for from now on does not come. */
void say_waiting(void);

#endif
