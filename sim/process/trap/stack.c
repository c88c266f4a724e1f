// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The table of backtraces is in the ring's memory: a store or call carries only a number. glibc's unwinder takes no locks
 * and allocates nothing once it is loaded (_dl_find_object(3)).
 */
#include "process/trap/stack.h"

#include <execinfo.h>
#include <string.h>

#define DEPTH 48 /* with the frames of the handler */
#define TRIES 16 /* slots that are looked at */

static _Atomic bool prepared;

void stack_prepare(void)
{
	void *frame[1];

	if (atomic_load(&prepared))
		return;
	backtrace(frame, 1);
	atomic_store(&prepared, true);
}

bool stack_prepared(void)
{
	return atomic_load_explicit(&prepared, memory_order_relaxed);
}

static uint64_t hash(const uint64_t *frame)
{
	uint64_t h = 0;

	for (unsigned int i = 0; i < RING_STACK_FRAMES; i++)
		h = (h ^ frame[i]) * 0x9e3779b97f4a7c15ull;
	return h >> 32;
}

/* The slot has the backtrace, or has it now. */
static bool take(struct ring_stack *s, const uint64_t *frame)
{
	uint32_t state = RING_STACK_FREE;

	if (atomic_compare_exchange_strong(&s->state, &state, RING_STACK_WRITING)) {
		memcpy(s->frame, frame, sizeof(s->frame));
		atomic_store_explicit(&s->state, RING_STACK_READY, memory_order_release);
		return true;
	}
	return state == RING_STACK_READY && !memcmp(s->frame, frame, sizeof(s->frame));
}

uint16_t stack_of(struct ring *ring, uint64_t pc)
{
	uint64_t frame[RING_STACK_FRAMES] = {0};
	void *all[DEPTH];
	int num, first = 1;

	if (!stack_prepared())
		return 0;
	num = backtrace(all, DEPTH);
	for (; pc && first < num && (uintptr_t)all[first] != pc; first++)
		;
	for (int i = 0; first + i < num && i < RING_STACK_FRAMES; i++)
		frame[i] = (uintptr_t)all[first + i];
	if (!frame[0])
		return 0;
	for (unsigned int i = 0, at = hash(frame) % RING_STACKS; i < TRIES; i++, at = (at + 1) % RING_STACKS)
		if (take(&ring->stack[at], frame))
			return (uint16_t)(at + 1);
	return 0;
}
