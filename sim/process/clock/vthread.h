/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The threads that the virtual clock knows: those that have accessed an adapter, and those that they have created. */
#ifndef HCASIM_PROCESS_VTHREAD_H
#define HCASIM_PROCESS_VTHREAD_H

#include "process/device/server.h"

enum op_kind {
	OP_WAIT,
	OP_TURN,
	OP_CREATED,
	OP_LOCK,
	OP_UNLOCK,
	OP_ASKS = OP_UNLOCK, /* up to here: takes no time, and has no effect but its answer */
	OP_STORE,
	OP_POLL,
	OP_LOAD,
	OP_CALL,
};

struct op {
	enum op_kind kind;
	uint32_t items; /* POLL: CQEs that it took */
	hca_ps cost;
	struct ring_op ring;  /* all but calls */
	struct proto_req req; /* calls */
};

enum vthread_state {
	RUNS,       /* it may do anything, at `at`, which is now */
	CREATES,    /* the same: the thread that it creates */
	STOPS,      /* its last access is not done yet */
	WAITS,      /* the same, and it only polls: nothing new is in memory */
	LOADS,      /* a load is under way */
	STALLS,     /* its CPU stalls at a store */
	SLEEPS,     /* in a system call */
	LOCKED_OUT, /* its last access waits for a lock */
	LOOKS,      /* at memory, in a loop */
};

struct vthread {
	LIST_ENTRY(vthread) link;
	struct conn *conn;
	uint32_t id;
	enum vthread_state state;
	hca_ps at;          /* up to here its instructions are done */
	unsigned int empty; /* polls in a row that found nothing */
	bool look;          /* it polls once more, whatever that number */
	bool looked;        /* adapters have written to memory while it looked at it in a loop */
	bool suspect;       /* seen in a system call: is it one to us? */
	uint64_t lock;      /* that it waits for, or has tried to get again; 0: none */
	uint64_t arrival;   /* the lower, the longer it has waited for it */
	uint16_t slot;      /* of the ring, whose CPU stalls */
	bool retry;         /* the lock may have been released unseen */
	struct op *ops;     /* that are not done yet: a ring of `size` */
	unsigned int first, num, size;
	uint64_t used; /* its process's processor time when it went on */
	int file;      /* /proc/PID/task/TID/stat */
};

/* It does anything from now on. */
void vthread_run(struct server *s, struct vthread *t);
/* The thread of `c`; one that is not known yet runs. NULL: no memory. */
struct vthread *vthread_find(struct conn *c, uint32_t id);
void vthread_remove(struct vthread *t);
/* A new last entry of `ops`, which the caller fills. NULL: no memory. */
struct op *vthread_push(struct server *s, struct vthread *t);
/* Its first entry. */
struct op *vthread_head(const struct vthread *t);
void vthread_pop(struct vthread *t);
/* Its first entry, for whose answer it waits, ends, and it goes on. */
void vthread_answer(struct server *s, struct vthread *t);

/* As proc(5) has it: R, S, D, T, t, Z, X; 0: it is gone. */
char vthread_host_state(const struct vthread *t);
/* The processor time of its process. */
uint64_t vthread_processor_ns(const struct vthread *t);

#endif
