/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "link/made.h"
#include "remote/remote_internal.h"
#include "remote/pool.h"

#define PAGE   4096
#define BLOCKS 128

static struct pool pool;
static struct peer_span blocks[BLOCKS]; /* in use, sorted by offset */
static uint32_t num_blocks;
static struct peer_bytes changes;

/*
 * Addresses that a process hardly uses: between program and libraries, also with the shadow memory of a sanitizer, and
 * below 2^39 for kernels with three levels of page tables.
 */
static const uint64_t candidates[] = {0x2f0000000000, 0x3f0000000000, 0x1f00000000, 0x2f00000000,
				      0x3f00000000};

int remote_map(void)
{
	int err = ENOMEM;

	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		err = pool_map(&pool, candidates[i], PEER_POOL);
		if (err)
			continue;
		err = REMOTE_DO(map, candidates[i], PEER_POOL);
		if (!err)
			return 0;
		pool_unmap(&pool);
	}
	return err;
}

void remote_unmap(void)
{
	pool_unmap(&pool);
	num_blocks = 0;
	free(changes.at);
	changes = (struct peer_bytes){};
}

/* The first gap that is large enough. */
static void *take_block(size_t size)
{
	size_t room = (size + PAGE - 1) / PAGE * PAGE, at = 0;
	uint32_t i = 0;

	while (i < num_blocks && blocks[i].offset - at < room) {
		at = (blocks[i].offset + blocks[i].length + PAGE - 1) / PAGE * PAGE;
		i++;
	}
	if (num_blocks == BLOCKS || !pool_holds(&pool, at, room))
		return NULL;
	memmove(&blocks[i + 1], &blocks[i], (num_blocks++ - i) * sizeof(blocks[0]));
	blocks[i] = (struct peer_span){at, size};
	return pool.base + at;
}

static void *take_shared(size_t size)
{
	void *at;

	remote_lock();
	at = take_block(size);
	remote_unlock();
	if (at)
		end_written(at, size);
	return at;
}

static int end_memory(void *at)
{
	end_free(at);
	return 0;
}

void *end_alloc(const struct ibv_pd *pd, size_t size)
{
	void *at = pd && remote_is(pd->context) ? take_shared(size)
						: aligned_alloc(PAGE, (size + PAGE - 1) / PAGE * PAGE);

	if (at)
		made_later(end_memory, "free", at);
	return at;
}

static bool in_pool(const void *at)
{
	return pool.base && (const uint8_t *)at >= pool.base && (const uint8_t *)at < pool.base + pool.size;
}

void end_free(void *at)
{
	made_forget(at);
	if (!in_pool(at)) {
		free(at);
		return;
	}
	remote_lock();
	for (uint32_t i = 0; i < num_blocks; i++) {
		if (pool.base + blocks[i].offset == at) {
			num_blocks--;
			memmove(&blocks[i], &blocks[i + 1], (num_blocks - i) * sizeof(blocks[0]));
			break;
		}
	}
	remote_unlock();
}

void end_written(const void *at, size_t length)
{
	const uint8_t *from = at;

	if (!in_pool(at) || !pool_holds(&pool, from - pool.base, length))
		return;
	memset(pool.fresh + (from - pool.base), 1, length);
}

/* Sends own changes to the peer, and fetches the peer's. */
static void exchange(bool fetch)
{
	struct peer_sync call = {.num_blocks = num_blocks};
	size_t spans = num_blocks * sizeof(blocks[0]);
	struct remote_tail tail;
	bool good;

	changes.length = 0;
	good = peer_append(&changes, blocks, spans);
	for (uint32_t i = 0; i < num_blocks && good; i++)
		good = pool_changes(&pool, blocks[i].offset, blocks[i].length, &changes);
	if (!good) {
		remote_complain("cannot be told what memory holds: out of memory");
		return;
	}
	if (!fetch && changes.length == spans)
		return;
	if (remote_call(PEER_sync, &call, (struct remote_tail){changes.at, changes.length},
			&(struct peer_sync_answer){}))
		return;
	pool_agree(&pool, changes.at + spans, changes.length - spans);
	tail = remote_answer_tail();
	if (pool_apply(&pool, tail.at, tail.length))
		remote_complain("gave changes of memory that is not shared");
}

static void lock_and_exchange(bool fetch)
{
	remote_lock();
	if (num_blocks && !remote_broken())
		exchange(fetch);
	remote_unlock();
}

void end_push(void)
{
	lock_and_exchange(false);
}

void end_sync(void)
{
	lock_and_exchange(true);
}
