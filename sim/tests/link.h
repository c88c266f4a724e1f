/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Connected RC queue pairs through the plain verbs API, for test and bench programs. */
#ifndef HCASIM_TESTS_LINK_H
#define HCASIM_TESTS_LINK_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_SQ_DEPTH 256u
#define LINK_SGES     3u

/* Two ends, on two adapters if there are two, each with one zeroed, registered buffer. */
struct link {
	struct ibv_context *ctx[2];
	struct ibv_pd *pd[2];
	struct ibv_mr *mr[2];
	char *buf[2];
	size_t size;
};

/* Prints `what` with errno's meaning and ends the program with status 1. */
void die(const char *what) __attribute__((noreturn));

void link_open(struct link *l, size_t size);
void link_close(struct link *l);

/* One end's queue pair with room for LINK_SQ_DEPTH work requests of LINK_SGES SGEs; `cq` is its send and receive CQ. With
 * `pd`, the queue pair is in that (parent) domain instead of the link's own. */
struct ibv_qp *link_create_qp(struct link *l, int end, struct ibv_cq *cq, struct ibv_pd *pd);
/* The way from one end to the other. */
struct ibv_ah_attr link_path(struct link *l, int end);
/* One end, or both ends (RC or UC) to RTS, towards each other. */
void link_connect_end(struct link *l, struct ibv_qp *qp, int end, uint32_t dest_qpn);
void link_connect(struct link *l, struct ibv_qp *qp[2]);

struct ibv_cq *link_create_cq(struct link *l, int end, int cqes);
/* Takes one completion or ends the program if it is not a success; false if there is none. */
bool link_poll(struct ibv_cq *cq, uint64_t *wr_id);

#endif
