/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by the programs about completion statuses and asynchronous events. */
#ifndef HCASIM_TESTS_COMPLETIONS_H
#define HCASIM_TESTS_COMPLETIONS_H

#include "link.h"

#define SIZE 65536

/* Differences from the default pair; 0 means the default. */
struct options {
	int access;                        /* qp_access_flags of both ends */
	uint8_t timeout, retry, rnr_retry; /* of the requester; the last two are used only with `timeout` */
	bool peer_rtr;                     /* the responder stays in RTR */
	bool srq;                          /* the responder receives from an SRQ */
};

/* Path MTU 1024. */
void rc_open(struct pair *p, const struct link *l, const struct options *o);
/* A WRITE of 64 bytes. */
void post_write(const struct pair *p, uint64_t wr_id);
void post_recv(const struct pair *p, uint64_t wr_id, struct ibv_sge sge);
/* Checks that the next asynchronous event of the end is of this type and for this object. */
void expect_event(const struct link *l, int end, enum ibv_event_type type, const void *object);

/* completions_events.c */
void run_events(struct link *l);

/* completions_port.c */
void run_port(struct link *l);

#endif
