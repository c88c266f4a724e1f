// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Virtual clock: of threads that begin, or are woken, at the same moment only one runs at a time. Each waits for its turn,
 * which the device process gives in the order in which the threads were created.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

#include "process/preload/preload.h"
#include "process/slices.h"
#include "process/threads/locks.h"
#include "process/trap/producer.h"
#include "process/trap/thread.h"

/* Each access waits for the device process, and the device process for the program. */
__attribute__((constructor)) static void run_soon(void)
{
	if (path_runtime())
		short_slices();
}

static void wait_for_turn(void)
{
	producer_ask(RING_TURN, 0);
}

/* ---- Threads --------------------------------------------------------------------------------------- */

struct start { /* on the stack of the thread that creates another, until that one has asked for its turn */
	void *(*run)(void *);
	void *arg;
};

static void end_thread(void *unused)
{
	(void)unused;
	thread_number_free();
}

static void *begin_thread(void *arg)
{
	struct start *start = arg;
	void *(*const run)(void *) = start->run;
	void *const run_arg = start->arg;
	void *result;

	producer_ask(RING_TURN, (uintptr_t)start);
	pthread_cleanup_push(end_thread, NULL);
	result = run(run_arg);
	pthread_cleanup_pop(1);
	return result;
}

PRELOAD_API int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
			       void *(*run)(void *), void *restrict arg)
{
	struct start start = {run, arg};
	int ret;

	if (!client_virtual_clock())
		return REAL(pthread_create)(thread, attr, run, arg);
	ret = REAL(pthread_create)(thread, attr, begin_thread, &start);
	if (!ret)
		producer_ask(RING_CREATED, (uintptr_t)&start);
	return ret;
}

PRELOAD_API int pthread_join(pthread_t thread, void **result)
{
	const int ret = REAL(pthread_join)(thread, result);

	wait_for_turn();
	return ret;
}

/* ---- What wakes several of them ----------------------------------------------------------------------- */

PRELOAD_API int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	const int ret = REAL(pthread_barrier_wait)(barrier);

	wait_for_turn();
	return ret;
}

/*
 * The mutex's next owner is whom glibc wakes. All that a broadcast has woken let it go again, and lock it in their turn.
 */
PRELOAD_API int pthread_cond_wait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex)
{
	int ret;

	if (!client_virtual_clock())
		return REAL(pthread_cond_wait)(cond, mutex);
	atomic_fetch_add(lock_waiters(mutex), 1);
	ret = REAL(pthread_cond_wait)(cond, mutex);
	atomic_fetch_sub(lock_waiters(mutex), 1);
	if (ret)
		return ret;
	pthread_mutex_unlock(mutex);
	wait_for_turn();
	return pthread_mutex_lock(mutex);
}

PRELOAD_API int sem_wait(sem_t *sem)
{
	const int saved = errno;
	int ret;

	if (!client_virtual_clock())
		return REAL(sem_wait)(sem);
	if (!REAL(sem_trywait)(sem))
		return 0;
	errno = saved;
	atomic_fetch_add(lock_waiters(sem), 1);
	ret = REAL(sem_wait)(sem);
	atomic_fetch_sub(lock_waiters(sem), 1);
	wait_for_turn();
	return ret;
}

PRELOAD_API int sem_post(sem_t *sem)
{
	const bool awaited = lock_awaited(sem);
	const int ret = REAL(sem_post)(sem);

	lock_released(sem, awaited);
	return ret;
}
