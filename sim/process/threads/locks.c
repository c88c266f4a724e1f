// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Virtual clock: who gets a lock, and when, is not the host's choice. A thread that finds a mutex or spin lock taken
 * asks the device process, and goes on when a thread has released it (clock/vlock.c): in the order in which they
 * came, and before the thread that released it goes on. A free lock takes no more than it does without us.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "process/preload/preload.h"
#include "process/threads/locks.h"
#include "process/trap/producer.h"

#define BUCKETS 256u /* of locks, by their address */

static _Atomic unsigned int waiting[BUCKETS];

_Atomic unsigned int *lock_waiters(const void *lock)
{
	return &waiting[((uintptr_t)lock * 0x9e3779b97f4a7c15ull) >> 56];
}

bool lock_awaited(const void *lock)
{
	return atomic_load_explicit(lock_waiters(lock), memory_order_relaxed);
}

/* Whoever finds the lock taken counts itself, and looks again, before it waits. */
void lock_released(const void *lock, bool awaited)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (awaited || lock_awaited(lock))
		producer_ask(RING_UNLOCK, (uintptr_t)lock);
}

/* Locks of other processes are not known to ours, and relocking an error-checking mutex is an error. */
static bool is_plain(const pthread_mutex_t *mutex)
{
	const int kind = mutex->__data.__kind;

	return !(kind & 128 /* PTHREAD_MUTEX_PSHARED_BIT of glibc */) &&
	       (kind & 3 /* PTHREAD_MUTEX_KIND_MASK_NP */) != PTHREAD_MUTEX_ERRORCHECK_NP;
}

static int lock_taken(void *lock, int (*try)(void *lock), int (*wait)(void *lock))
{
	_Atomic unsigned int *count = lock_waiters(lock);
	bool asked = true;
	int ret;

	atomic_fetch_add(count, 1);
	while ((ret = try(lock)) == EBUSY && asked)
		asked = producer_ask(RING_LOCK, (uintptr_t)lock);
	atomic_fetch_sub(count, 1);
	return ret == EBUSY ? wait(lock) : ret;
}

static int try_mutex(void *mutex)
{
	return REAL(pthread_mutex_trylock)(mutex);
}

static int wait_mutex(void *mutex)
{
	return REAL(pthread_mutex_lock)(mutex);
}

PRELOAD_API int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int ret;

	if (!client_virtual_clock() || !is_plain(mutex))
		return wait_mutex(mutex);
	ret = try_mutex(mutex);
	return ret == EBUSY ? lock_taken(mutex, try_mutex, wait_mutex) : ret;
}

PRELOAD_API int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	const bool awaited = lock_awaited(mutex);
	const int ret = REAL(pthread_mutex_unlock)(mutex);

	lock_released(mutex, awaited);
	return ret;
}

static int try_spin(void *lock)
{
	return REAL(pthread_spin_trylock)(lock);
}

static int wait_spin(void *lock)
{
	return REAL(pthread_spin_lock)(lock);
}

PRELOAD_API int pthread_spin_lock(pthread_spinlock_t *lock)
{
	void *const at = (void *)(uintptr_t)lock; /* without `volatile` */
	int ret;

	if (!client_virtual_clock())
		return wait_spin(at);
	ret = try_spin(at);
	return ret == EBUSY ? lock_taken(at, try_spin, wait_spin) : ret;
}

PRELOAD_API int pthread_spin_unlock(pthread_spinlock_t *lock)
{
	void *const at = (void *)(uintptr_t)lock;
	const bool awaited = lock_awaited(at);
	const int ret = REAL(pthread_spin_unlock)(lock);

	lock_released(at, awaited);
	return ret;
}
