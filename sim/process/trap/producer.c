// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "process/trap/producer.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>

#include "process/preload/preload.h"

#define SPIN       2000 /* looks at an answer that is due soon, before the thread sleeps */
#define POLL_ALIVE 100  /* ms between checks whether the device process still runs */

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
	struct timespec ts = {.tv_nsec = POLL_ALIVE * 1000000l};

	/* Not FUTEX_PRIVATE_FLAG: another process wakes us. */
	raw_syscall(SYS_futex, word, FUTEX_WAIT, value, &ts, NULL, 0);
}

bool producer_put(struct ring *ring, const struct ring_op *op)
{
	while (!ring_try_put(ring, op)) {
		uint32_t seen = atomic_load(&ring->room);

		atomic_fetch_add(&ring->waiters, 1);
		if (ring_try_put(ring, op)) {
			atomic_fetch_sub(&ring->waiters, 1);
			break;
		}
		if (ring_must_kick(ring))
			client_kick();
		futex_wait(&ring->room, seen);
		atomic_fetch_sub(&ring->waiters, 1);
		if (!client_alive())
			return false;
	}
	return true;
}

/*
 * If more threads poll than there are processors, the thread that the store is for would have to wait until this
 * thread's time slice ends. Therefore yield: the store lasts until this thread is scheduled again.
 */
void producer_kick(struct ring *ring)
{
	if (!ring_must_kick(ring))
		return;
	client_kick();
	raw_syscall(SYS_sched_yield);
}

/* A system call: only where the identifier is looked at. */
uint32_t producer_tid(void)
{
	return client_virtual_clock() ? (uint32_t)raw_syscall(SYS_gettid) : 0;
}

struct ring_reply *producer_take_reply(struct ring *ring, unsigned int *index)
{
	for (unsigned int i = 0;; i++) {
		struct ring_reply *r = &ring->reply[i % RING_REPLIES];
		uint32_t state = RING_REPLY_FREE;

		if (atomic_compare_exchange_strong(&r->state, &state, RING_REPLY_WAIT)) {
			*index = i % RING_REPLIES;
			return r;
		}
		/* More threads load than there are reply slots: wait for a slot. */
		if (i % RING_REPLIES == RING_REPLIES - 1) {
			futex_wait(&r->state, state);
			if (!client_alive())
				return NULL;
		}
	}
}

static bool reply_waits(struct ring_reply *reply)
{
	return atomic_load_explicit(&reply->state, memory_order_acquire) == RING_REPLY_WAIT;
}

bool producer_await(struct ring_reply *reply)
{
	while (reply_waits(reply)) {
		futex_wait(&reply->state, RING_REPLY_WAIT);
		if (!client_alive())
			return false;
	}
	return true;
}

void producer_free_reply(struct ring_reply *reply)
{
	atomic_store_explicit(&reply->state, RING_REPLY_FREE, memory_order_release);
	raw_syscall(SYS_futex, &reply->state, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool ask(struct ring *ring, struct ring_op *op)
{
	struct ring_reply *reply;
	unsigned int index;
	bool done;

	reply = producer_take_reply(ring, &index);
	if (!reply)
		return false;
	op->reply = (uint16_t)index;
	if (!producer_put(ring, op))
		return false;
	producer_kick(ring);
	for (int i = 0; i < SPIN && reply_waits(reply); i++)
		__builtin_ia32_pause();
	done = producer_await(reply);
	if (done)
		producer_free_reply(reply);
	return done;
}

bool producer_ask(enum ring_kind kind, uint64_t about)
{
	struct ring *ring = client_virtual_clock() ? client_ring() : NULL;
	struct ring_op op = {.kind = (uint8_t)kind, .offset = about};
	int saved = errno;
	bool done;

	if (!ring)
		return false;
	op.tid = producer_tid();
	done = ask(ring, &op);
	errno = saved;
	return done;
}
