/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The virtual clock (docs/running.md): simulated time passes only while no thread of a program does anything that may
 * still reach the adapters. Such a thread runs at one moment of simulated time, and waits behind each access until
 * what the access took (profile, section cpu) has passed. Then all that happened up to there is in its memory.
 */
#ifndef HCASIM_PROCESS_VCLOCK_H
#define HCASIM_PROCESS_VCLOCK_H

#include "process/device/server.h"

/* An entry of the ring of `c`. */
void vclock_op(struct conn *c, const struct ring_op *op);
/* A request of `c`: conn_answer() is called for it when its time has come. */
void vclock_call(struct conn *c, const struct proto_req *req);
/* A load has its answer. */
void vclock_loaded(struct server *s, const struct shared_ring *ring, uint32_t thread);
/* The process has ended: what it stored is done at once. */
void vclock_gone(struct conn *c);
/* One round of server_run(). */
void vclock_round(struct server *s);

#endif
