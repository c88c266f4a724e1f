/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The peer process: opens the responder's end and does there what the runner asks for. */
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
	KIND_LENT, /* of a connection, which destroys it */
};

struct agent_object {
	enum agent_kind kind;
	bool extended; /* a CQ that is read with ibv_start_poll() */
	bool timed;    /* and has the times of its completions */
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

/* Until stdin ends. Exit status: 0, or 2 when the runner cannot be understood. */
int agent_main(void);

/* Its number, or 0: there are too many. */
peer_id agent_keep(struct agent *a, enum agent_kind kind, void *object);
/* The same for a call's end: 0 or an errno; an object without a place is destroyed again. */
int agent_give(struct agent *a, enum agent_kind kind, void *object, peer_id *id);
/* NULL for number 0. *bad is set when the number is not that of such an object. */
void *agent_find(struct agent *a, peer_id id, enum agent_kind kind, bool *bad);
peer_id agent_number(const struct agent *a, const void *object);
int agent_destroy(struct agent *a, peer_id id);
void agent_forget(struct agent *a, peer_id id);
/* Destroys all of them but the end's own protection domain, the youngest first. */
void agent_destroy_objects(struct agent *a);

#endif
