/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The peer process: opens the responder's end and executes the runner's calls there. */
#ifndef CONFORM_REMOTE_AGENT_H
#define CONFORM_REMOTE_AGENT_H

#include "link/cm.h"
#include "link/dut.h"
#include "remote/pool.h"

/* Kinds of objects: name, type, function that ends one. */
#define AGENT_KINDS(X)                                                                                       \
	X(PD, struct ibv_pd, ibv_dealloc_pd)                                                                 \
	X(DM, struct ibv_dm, ibv_free_dm)                                                                    \
	X(MR, struct ibv_mr, ibv_dereg_mr)                                                                   \
	X(CHANNEL, struct ibv_comp_channel, ibv_destroy_comp_channel)                                        \
	X(CQ, struct ibv_cq, ibv_destroy_cq)                                                                 \
	X(SRQ, struct ibv_srq, ibv_destroy_srq)                                                              \
	X(XRCD, struct ibv_xrcd, ibv_close_xrcd)                                                             \
	X(QP, struct ibv_qp, ibv_destroy_qp)                                                                 \
	X(MW, struct ibv_mw, ibv_dealloc_mw)                                                                 \
	X(FLOW, struct ibv_flow, ibv_destroy_flow)                                                           \
	X(AH, struct ibv_ah, ibv_destroy_ah)

enum agent_kind {
	KIND_NONE,
#define AGENT_KIND(name, type, end) KIND_##name,
	AGENT_KINDS(AGENT_KIND)
};
#define AGENT_TYPE(name, type, end) typedef type agent_##name;
AGENT_KINDS(AGENT_TYPE)

struct agent_object {
	enum agent_kind kind;
	bool lent;     /* owned by a connection, which destroys it */
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

/* Bytes after the structure of a call. */
struct agent_tail {
	uint8_t *at;
	size_t length;
};

/*
 * struct agent_NAME is a call that is carried out, with the objects that it names. agent_NAME() returns 0 or an errno, and
 * fills in the answer; what follows the answer is a->tail.
 */
#define NEED(kind, name) agent_##kind *name;
#define MAY(kind, name)  agent_##kind *name;
#define CALL(name, objects, ...)                                                                             \
	struct agent_##name {                                                                                \
		struct agent *a;                                                                             \
		const struct peer_##name *call;                                                              \
		struct peer_##name##_answer *answer;                                                         \
		struct agent_tail tail;                                                                      \
		objects                                                                                      \
	};                                                                                                   \
	int agent_##name(struct agent_##name *c);
#include "remote/calls.h"

/* Serves calls until stdin ends. Returns the exit status: 0, or 2 if the input is not a valid call. */
int agent_main(void);

/* Adds an object to the table. Returns its number, or 0 if the table is full. */
peer_id agent_keep(struct agent *a, enum agent_kind kind, bool lent, void *object);
/* The same of an object that was created, or NULL: 0 or an errno. If the table is full the object is destroyed. */
int agent_give(struct agent *a, enum agent_kind kind, void *object, peer_id *id);
/* NULL for number 0. `bad` is set if the number is not that of an object of this kind. */
void *agent_find(struct agent *a, peer_id id, enum agent_kind kind, bool *bad);
peer_id agent_number(const struct agent *a, const void *object);
int agent_destroy(struct agent *a, peer_id id);
void agent_forget(struct agent *a, peer_id id);
/* Ends the connection, whose objects the runner may not use any more. */
void agent_close_connection(struct agent *a);
/* Destroys all objects except the end's protection domain, the last created first. */
void agent_destroy_objects(struct agent *a);

#endif
