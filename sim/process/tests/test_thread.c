// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Stores carry the number of their thread. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <CUnit/CUnit.h>

#include "trap_env.h"

#define THREADS 8

struct thread {
	pthread_t id;
	pid_t tid;
	pthread_barrier_t *stored; /* all have */
};

static void *store_twice(void *arg)
{
	struct thread *t = arg;

	t->tid = (pid_t)syscall(SYS_gettid);
	for (unsigned int i = 0; i < 2; i++)
		*(volatile uint64_t *)page = (uint64_t)t->tid;
	if (t->stored)
		pthread_barrier_wait(t->stored);
	return NULL;
}

/* Not before the kernel has forgotten it. */
static void join(struct thread *t)
{
	pthread_join(t->id, NULL);
	while (!syscall(SYS_tgkill, getpid(), t->tid, 0) || errno != ESRCH)
		sched_yield();
}

/* Takes the two stores of a thread; they have one number, which is returned. */
static unsigned int number_of(pid_t tid)
{
	unsigned int number[2] = {0, RING_THREADS}, n = 0;
	struct ring_op op;
	uint64_t v;

	for (uint64_t pos = ring_pos; ring_peek(&ring, pos, &op); pos++) {
		memcpy(&v, op.data, 8);
		if (v == (uint64_t)tid && n < 2)
			number[n++] = op.thread;
	}
	CU_ASSERT_EQUAL(n, 2);
	CU_ASSERT_EQUAL(number[0], number[1]);
	return number[0];
}

static void empty_ring(void)
{
	struct ring_op op;

	while (take(&op))
		;
}

/* Runs `n` threads at once; returns one bit for each number that they had. */
static uint64_t numbers(unsigned int n)
{
	struct thread t[THREADS];
	pthread_barrier_t stored;
	uint64_t used = 0;

	pthread_barrier_init(&stored, NULL, n);
	for (unsigned int i = 0; i < n; i++) {
		t[i].stored = &stored;
		pthread_create(&t[i].id, NULL, store_twice, &t[i]);
	}
	for (unsigned int i = 0; i < n; i++)
		join(&t[i]);
	for (unsigned int i = 0; i < n; i++) {
		const unsigned int number = number_of(t[i].tid);

		CU_ASSERT_TRUE(number < 64 && !(used >> number & 1));
		used |= 1ull << number;
	}
	empty_ring();
	pthread_barrier_destroy(&stored);
	return used;
}

/* Threads that live at the same time have numbers of their own; those of threads that have ended are used again. */
void test_thread_numbers(void)
{
	struct thread self = {0};
	unsigned int mine;

	store_twice(&self);
	mine = number_of(self.tid);
	empty_ring();
	CU_ASSERT_TRUE(mine < 64);
	for (unsigned int round = 0; round < 3; round++)
		CU_ASSERT_EQUAL(numbers(THREADS) | 1ull << mine, (1ull << (THREADS + 1)) - 1);
	for (unsigned int round = 0; round < 40; round++)
		CU_ASSERT_EQUAL(numbers(1), mine ? 1 : 2);
	store_twice(&self);
	CU_ASSERT_EQUAL(number_of(self.tid), mine);
	empty_ring();
}

/* More threads than numbers: this one shares, and keeps, one. */
void test_thread_numbers_run_out(void)
{
	struct thread t = {0};
	const uint32_t me = (uint32_t)syscall(SYS_gettid);
	uint32_t saved[RING_THREADS];

	for (unsigned int i = 0; i < RING_THREADS; i++)
		saved[i] = atomic_exchange(&ring.thread[i], me);
	pthread_create(&t.id, NULL, store_twice, &t);
	join(&t);
	CU_ASSERT_EQUAL(number_of(t.tid), (unsigned int)t.tid % RING_THREADS);
	empty_ring();
	for (unsigned int i = 0; i < RING_THREADS; i++)
		atomic_store(&ring.thread[i], saved[i]);
}
