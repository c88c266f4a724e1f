/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The MMIO ring: stores to, and loads from, BAR pages, from one application process to the device process. It is in a
 * memfd that both map. Several threads of the application produce, the device process consumes; entries of one thread
 * stay in program order.
 *
 * An entry has the number of its thread, which is one of a few: `thread` says whose they are (trap/thread.c).
 *
 * A slot's `seq` says who owns it: at ring position p (free-running) the slot p % RING_ENTRIES is free when seq == p
 * and full when seq == p + 1. The consumer checks all bounds.
 */
#ifndef HCASIM_PROCESS_RING_H
#define HCASIM_PROCESS_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define RING_ENTRIES      1024u
#define RING_DATA_MAX     64u
#define RING_REPLIES      256u
#define RING_THREADS      256u
#define RING_STACKS       1024u
#define RING_STACK_FRAMES 15

enum ring_kind {
	RING_STORE = 1,
	RING_LOAD = 2,
	/* For the virtual clock. Each is answered: */
	RING_WAIT = 3,    /* when all before it is done */
	RING_TURN = 4,    /* when no other thread runs */
	RING_CREATED = 5, /* when a new thread has asked for its first turn, with the same `offset` */
	RING_LOCK = 6,    /* when the lock at `offset` may be free */
	RING_UNLOCK = 7,  /* as a turn, after the thread that waited longest for the lock at `offset` */
};

struct ring_op { /* type of an entry */
	uint64_t offset;
	uint8_t kind, hca, bar, size;
	uint8_t wc;
	uint8_t more;   /* the code continues with another store to the same place: a burst */
	uint16_t reply; /* of all but stores: which reply slot */
	uint16_t thread;
	uint16_t stack; /* of a store: its backtrace in the table, from 1 on; 0: none */
	uint8_t data[RING_DATA_MAX];
	uint32_t tid; /* virtual clock: the thread's id */
};

struct ring_entry {
	_Atomic uint64_t seq;
	struct ring_op op;
} __attribute__((aligned(64)));

struct ring_reply { /* a load's completion; `state` is a futex */
	_Atomic uint32_t state;
	uint32_t size;
	uint8_t data[RING_DATA_MAX];
} __attribute__((aligned(64)));
enum ring_reply_state { RING_REPLY_FREE, RING_REPLY_WAIT, RING_REPLY_DONE };

struct ring_stack { /* a backtrace: return addresses, innermost first; 0: no more */
	_Atomic uint32_t state;
	uint64_t frame[RING_STACK_FRAMES];
} __attribute__((aligned(64)));
enum ring_stack_state { RING_STACK_FREE, RING_STACK_WRITING, RING_STACK_READY };

struct ring {
	_Atomic uint64_t head __attribute__((aligned(64))); /* producers */
	_Atomic uint32_t waiters;                           /* producers that wait for space */
	_Atomic uint32_t room
		__attribute__((aligned(64)));  /* futex: incremented when there is space for waiters */
	_Atomic uint32_t sleeping;             /* the consumer must be kicked */
	_Atomic uint32_t thread[RING_THREADS]; /* thread ids; 0: free. Only for producers */
	struct ring_reply reply[RING_REPLIES];
	struct ring_entry entry[RING_ENTRIES];
	struct ring_stack stack[RING_STACKS];
};

/* Producer: false if there is no room now. */
static inline bool ring_try_put(struct ring *r, const struct ring_op *op)
{
	uint64_t pos = atomic_load_explicit(&r->head, memory_order_relaxed);

	for (;;) {
		struct ring_entry *e = &r->entry[pos % RING_ENTRIES];
		int64_t diff = (int64_t)(atomic_load_explicit(&e->seq, memory_order_acquire) - pos);

		if (diff < 0)
			return false;
		if (diff > 0) {
			pos = atomic_load_explicit(&r->head, memory_order_relaxed);
			continue;
		}
		if (atomic_compare_exchange_weak_explicit(&r->head, &pos, pos + 1, memory_order_relaxed,
							  memory_order_relaxed)) {
			e->op = *op;
			atomic_store_explicit(&e->seq, pos + 1, memory_order_release);
			return true;
		}
	}
}

/* Producer, after a put: true if the consumer must be kicked; true for one caller per sleep. */
static inline bool ring_must_kick(struct ring *r)
{
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(&r->sleeping, memory_order_relaxed) &&
	       atomic_exchange_explicit(&r->sleeping, 0, memory_order_relaxed);
}

/*
 * Consumer: position is the consumer's own; false if the ring is empty. The slot still belongs to the producer until
 * ring_release().
 */
static inline bool ring_peek(const struct ring *r, uint64_t pos, struct ring_op *op)
{
	const struct ring_entry *e = &r->entry[pos % RING_ENTRIES];

	if (atomic_load_explicit(&e->seq, memory_order_acquire) != pos + 1)
		return false;
	*op = e->op;
	return true;
}

static inline bool ring_empty(const struct ring *r, uint64_t pos)
{
	return atomic_load_explicit(&r->entry[pos % RING_ENTRIES].seq, memory_order_acquire) != pos + 1;
}

/* Consumer: releases the slot. */
static inline void ring_release(struct ring *r, uint64_t pos)
{
	atomic_store_explicit(&r->entry[pos % RING_ENTRIES].seq, pos + RING_ENTRIES, memory_order_seq_cst);
}

/*
 * Consumer: whether producers that wait for space must be woken. Only when half of the ring is free: otherwise both
 * sides would sleep and wake in turns.
 */
static inline bool ring_must_wake(const struct ring *r, uint64_t pos)
{
	return atomic_load_explicit(&r->waiters, memory_order_seq_cst) &&
	       atomic_load_explicit(&r->head, memory_order_relaxed) - pos <= RING_ENTRIES / 2;
}

static inline void ring_init(struct ring *r)
{
	memset(r, 0, sizeof(*r));
	for (uint64_t i = 0; i < RING_ENTRIES; i++)
		atomic_init(&r->entry[i].seq, i);
}

#endif
