/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the programs of completion statuses and asynchronous events share. */
#ifndef HCASIM_TESTS_COMPLETIONS_H
#define HCASIM_TESTS_COMPLETIONS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"

#define CHECK(what)                                                                                          \
	do {                                                                                                 \
		if (!(what)) {                                                                               \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, strerror(errno));      \
			exit(1);                                                                             \
		}                                                                                            \
	} while (0)

#define SIZE       65536
#define PATIENCE_S 30

/* An RC pair; 0 takes the usual. */
struct options {
	int access;
	uint8_t timeout, retry, rnr_retry;
	bool no_peer;  /* the other end stays in RESET */
	bool peer_rtr; /* the other end stays in RTR */
	int cqes;      /* of the requester's CQ */
	bool srq;      /* the responder receives from an SRQ */
};

struct pair {
	struct link *l;
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	struct ibv_srq *srq;
};

void pair_open(struct pair *p, struct link *l, const struct options *o);
void pair_close(struct pair *p);
/* Ends the program unless one comes in time. */
struct ibv_wc next_wc(struct ibv_cq *cq);
void post(struct ibv_qp *qp, struct ibv_send_wr *wr);
void post_write(struct pair *p, uint64_t wr_id);
void post_recv(struct pair *p, uint64_t wr_id, struct ibv_sge sge);
enum ibv_qp_state state_of(struct ibv_qp *qp);
struct ibv_sge at(const struct link *l, int end, uint32_t len);
/* The next asynchronous event of the end is this one, of this object. */
void expect_event(struct link *l, int end, enum ibv_event_type type, const void *object);

/* completions_events.c */
void run_events(struct link *l);

/* completions_port.c */
void run_port(struct link *l);

#endif
