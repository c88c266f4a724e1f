// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trap_env.h"

uint8_t bar_page[PAGE] __attribute__((aligned(PAGE)));

struct ring ring;
uint64_t ring_pos;
_Atomic bool alive = true;
uint8_t *page, *low_page; /* write-combining, uncached */
uint8_t bar_content[PAGE];
static pthread_t load_server;
static _Atomic bool serve_loads;

const char *path_runtime(void)
{
	return "/nowhere";
}

struct ring *client_ring(void)
{
	return atomic_load(&alive) ? &ring : NULL;
}

uint64_t entries_at_kick;

bool client_virtual_clock(void)
{
	return false;
}

bool with_stacks;

bool client_stacks(void)
{
	return with_stacks;
}

void client_kick(void)
{
	entries_at_kick = atomic_load(&ring.head) - ring_pos;
}

bool client_alive(void)
{
	return atomic_load(&alive);
}

bool take(struct ring_op *op)
{
	if (!ring_peek(&ring, ring_pos, op))
		return false;
	ring_release(&ring, ring_pos++);
	if (ring_must_wake(&ring, ring_pos)) {
		atomic_fetch_add(&ring.room, 1);
		syscall(SYS_futex, &ring.room, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	}
	return true;
}

static void *answer_loads(void *arg)
{
	struct ring_op op;

	while (atomic_load(&serve_loads)) {
		if (!take(&op)) {
			sched_yield();
			continue;
		}
		if (op.kind != RING_LOAD || op.offset % PAGE + op.size > PAGE)
			abort();
		memcpy(ring.reply[op.reply].data, bar_content + op.offset % PAGE, op.size);
		atomic_store(&ring.reply[op.reply].state, RING_REPLY_DONE);
		syscall(SYS_futex, &ring.reply[op.reply].state, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	return NULL;
}

void start_load_server(void)
{
	atomic_store(&serve_loads, true);
	pthread_create(&load_server, NULL, answer_loads, NULL);
}

void stop_load_server(void)
{
	atomic_store(&serve_loads, false);
	pthread_join(load_server, NULL);
}

void map_page(uint8_t *p, uint64_t offset, bool wc)
{
	const struct proto_map map = {
		.is_bar = 1, .hca = 3, .bar = 2, .wc = wc, .bar_offset = offset, .length = PAGE};

	if (trap_map(p, PAGE, &map))
		abort();
}

int setup(void)
{
	ring_init(&ring);
	page = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	low_page = mmap((void *)LOW_PAGE, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			-1, 0);
	if (page == MAP_FAILED || low_page == MAP_FAILED || mprotect(bar_page, PAGE, PROT_NONE))
		return 1;
	map_page(page, 0x10000, true);
	map_page(page + PAGE, 0x11000, true);
	map_page(low_page, 0x20000, false);
	map_page(bar_page, 0x30000, true);
	for (unsigned int i = 0; i < PAGE; i++)
		bar_content[i] = (uint8_t)(i * 37 + (i >> 3) + 129);
	return 0;
}
