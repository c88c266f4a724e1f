/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One point of a published experiment: what to post, how often, from how many queues and threads. */
#ifndef HCASIM_CALIBRATE_POINT_H
#define HCASIM_CALIBRATE_POINT_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#define POINT_ATOMIC_SIZE 8u

struct point {
	enum ibv_wr_opcode op;
	bool latency; /* one message at a time, to and fro for WRITE and SEND; otherwise: as many as `depth` */
	uint32_t size;       /* bytes of a message */
	uint32_t inline_max; /* messages up to so many bytes are inline */
	uint32_t sges;       /* of a message that is not inline */
	uint32_t batch;      /* work requests a doorbell */
	uint32_t signal;     /* every so many work requests of a queue one has a completion */
	uint32_t depth;      /* outstanding work requests of a thread, at most */
	uint32_t qps;        /* of a thread, in turn */
	uint32_t threads;
	uint32_t prefer_bf; /* 0: a work request whose payload is gathered is not pushed, as with libmlx4 */
	uint32_t registers; /* thread domains that the threads share; 0: none, all use the context's page */
	uint32_t window;    /* bytes; messages are at random pages of it. 0: all at the same place */
	uint32_t mtu;       /* of the path, bytes */
	uint32_t count;     /* messages of a thread */
};

/* A line `key=value ...`. False, and a message on stderr that names key and value, if it is not a point. */
bool point_parse(char *line, struct point *p);
enum ibv_mtu point_mtu(const struct point *p);

#endif
