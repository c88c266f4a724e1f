/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The peer process: opens the responder's end and executes the runner's calls there. */
#ifndef CONFORM_REMOTE_AGENT_H
#define CONFORM_REMOTE_AGENT_H

#include "link/cm.h"
#include "link/dut.h"
#include "remote/pool.h"

enum agent_kind {
	KIND_NONE,
	KIND_PD,
	KIND_DM,
	KIND_MR,
	KIND_CHANNEL,
	KIND_CQ,
	KIND_SRQ,
	KIND_XRCD,
	KIND_QP,
	KIND_MW,
	KIND_FLOW,
	KIND_AH,
	KIND_LENT, /* owned by a connection, which destroys it */
};

struct agent_object {
	enum agent_kind kind;
	bool extended; /* a CQ that is polled with ibv_start_poll() */
	bool timed;    /* its completions have timestamps */
	void *at;
	uint64_t born; /* objects are destroyed in the reverse order of their creation */
};

struct agent {
	struct end end;
	bool open;
	unsigned int timeout_ms;
	struct pool pool;
	struct agent_object objects[PEER_OBJECTS];
	uint64_t births;
	struct cm cm;
	struct peer_bytes tail;    /* of the answer */
	struct peer_bytes scratch; /* changes of memory */
};

/* Of a call. */
struct agent_args {
	const void *call;
	uint8_t *tail;
	size_t tail_length;
};

/* 0 or an errno; fills in the answer's structure, and its tail in the agent. */
typedef int (*agent_handler)(struct agent *a, const struct agent_args *args, void *answer);

#define X(name, ...) int agent_##name(struct agent *a, const struct agent_args *args, void *answer);
PEER_CALLS(X)
#undef X

/* Serves calls until stdin ends. Returns the exit status: 0, or 2 if the input is not a valid call. */
int agent_main(void);

/* Adds an object to the table. Returns its number, or 0 if the table is full. */
peer_id agent_keep(struct agent *a, enum agent_kind kind, void *object);
/* The same with 0 or an errno as the result; if the table is full the object is destroyed. */
int agent_give(struct agent *a, enum agent_kind kind, void *object, peer_id *id);
/* NULL for number 0. *bad is set if the number is not that of an object of this kind. */
void *agent_find(struct agent *a, peer_id id, enum agent_kind kind, bool *bad);
peer_id agent_number(const struct agent *a, const void *object);
int agent_destroy(struct agent *a, peer_id id);
void agent_forget(struct agent *a, peer_id id);
/* Destroys all objects except the end's protection domain, the last created first. */
void agent_destroy_objects(struct agent *a);

#endif
