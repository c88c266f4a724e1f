// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "process/trap/thread.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/preload/preload.h"

/* What the thread had in the ring that it used last; the ring is another one after fork(). */
static __thread struct {
	struct ring *ring;
	uint32_t tid;
	uint16_t number;
	bool shared; /* there was none of its own */
} self __attribute__((tls_model("initial-exec")));

static bool has_ended(uint32_t tid)
{
	return raw_syscall(SYS_tgkill, getpid(), tid, 0) && errno == ESRCH;
}

/* A thread that has the identifier of one that ended has its number, too. */
static bool take(_Atomic uint32_t *owner, uint32_t tid)
{
	uint32_t seen = atomic_load(owner);

	if (seen == tid)
		return true;
	return (!seen || has_ended(seen)) && atomic_compare_exchange_strong(owner, &seen, tid);
}

static bool is_valid(const struct ring *ring)
{
	return self.ring == ring && (self.shared || atomic_load(&ring->thread[self.number]) == self.tid);
}

uint16_t thread_number(struct ring *ring)
{
	unsigned int i = 0;

	if (is_valid(ring))
		return self.number;
	self.tid = (uint32_t)raw_syscall(SYS_gettid);
	while (i < RING_THREADS && !take(&ring->thread[i], self.tid))
		i++;
	self.ring = ring;
	self.shared = i == RING_THREADS;
	self.number = (uint16_t)(self.shared ? self.tid % RING_THREADS : i);
	return self.number;
}

void thread_number_free(void)
{
	if (self.ring && !self.shared)
		atomic_compare_exchange_strong(&self.ring->thread[self.number], &self.tid, 0);
	self.ring = NULL;
}
