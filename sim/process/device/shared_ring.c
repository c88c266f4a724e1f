// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The device process's end of the rings. */
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/device/server.h"

struct shared_ring *shared_ring_create(int *memfd)
{
	struct shared_ring *sr = calloc(1, sizeof(*sr));

	if (!sr)
		return NULL;
	*memfd = memfd_create("hcasim-mmio", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*memfd < 0)
		goto err_ring;
	/* Sealed: if an application truncated it, we would get SIGBUS. */
	if (ftruncate(*memfd, sizeof(struct ring)) ||
	    fcntl(*memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		goto err_fd;
	sr->ring = mmap(NULL, sizeof(struct ring), PROT_READ | PROT_WRITE, MAP_SHARED, *memfd, 0);
	if (sr->ring == MAP_FAILED)
		goto err_fd;
	ring_init(sr->ring);
	sr->refs = 1;
	return sr;

err_fd:
	close(*memfd);
err_ring:
	free(sr);
	return NULL;
}

void shared_ring_put(struct shared_ring *sr)
{
	if (--sr->refs)
		return;
	munmap(sr->ring, sizeof(struct ring));
	free(sr->maps);
	free(sr);
}

static void futex_wake(_Atomic uint32_t *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE, n, NULL, NULL, 0);
}

void shared_ring_answer(struct shared_ring *sr, uint16_t reply)
{
	_Atomic uint32_t *state;

	if (reply >= RING_REPLIES)
		return;
	state = &sr->ring->reply[reply].state;
	atomic_store_explicit(state, RING_REPLY_DONE, memory_order_release);
	futex_wake(state, 1);
}

void shared_ring_room(struct shared_ring *sr)
{
	atomic_fetch_add(&sr->ring->room, 1);
	futex_wake(&sr->ring->room, INT32_MAX);
}
