// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A mapping holds its file: an application may close a device file and continue with its mappings, and its objects
 * exist until the last mapping is gone. So as long as a file is mapped, this process keeps another descriptor of it,
 * which fork inherits and exec closes, like mappings.
 *
 * The same for a pending call: another thread may close the file while this one waits in it, as programs of rdma_cm
 * do at their end, and the call continues to wait. A child that is forked meanwhile is not in that call.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/preload/preload.h"
#include "process/preload/tree.h"

#define PAGES(len) (((len) + 0xfff) & ~0xfffull) /* bytes of whole pages */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tree ranges; /* mapped pages of a file; ranges do not overlap */
static struct tree files;  /* that something is mapped from */
static LIST_HEAD(, pin_call) calls = LIST_HEAD_INITIALIZER(calls);

static void lock_all(sigset_t *saved)
{
	sigset_t all;

	sigfillset(&all);
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, saved, 8);
	pthread_mutex_lock(&lock);
}

static void unlock_all(const sigset_t *saved)
{
	pthread_mutex_unlock(&lock);
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, saved, NULL, 8);
}

/* Adds a range of a file; `fd` is one of its descriptors. */
static bool pin_file(int fd, uint64_t file)
{
	struct tree_node *held = tree_find(&files, file);

	if (!held) {
		held = tree_add(&files, file);
		if (!held)
			return false;
		held->fd = client_move_up(fd, true);
	}
	held->ranges++;
	return true;
}

/*
 * Removes one. Returns the descriptor to close, -1: none. The application may have closed it, and reused its number.
 */
static int let_go(uint64_t file)
{
	struct tree_node *held = tree_find(&files, file);
	uint64_t found;
	int fd;

	if (--held->ranges)
		return -1;
	fd = held->fd;
	tree_remove(&files, file);
	return file_lookup(fd, &found, NULL) && found == file ? fd : -1;
}

static bool add_range(uint64_t start, uint64_t end, uint64_t file)
{
	struct tree_node *range = tree_add(&ranges, start);

	if (!range)
		return false;
	range->end = end;
	range->file = file;
	return true;
}

bool pin_add(int fd, uint64_t file, void *addr, size_t len)
{
	uint64_t start = (uintptr_t)addr;
	sigset_t saved;
	bool ok;

	lock_all(&saved);
	ok = pin_file(fd, file);
	if (ok && !add_range(start, start + PAGES(len), file)) {
		fd = let_go(file);
		if (fd >= 0)
			raw_syscall(SYS_close, fd);
		ok = false;
	}
	unlock_all(&saved);
	return ok;
}

/* Removes [start, end) from one range. Returns the descriptor to close, -1: none. */
static int cut(struct tree_node *range, uint64_t start, uint64_t end)
{
	struct tree_node was = *range;

	if (start <= was.key)
		tree_remove(&ranges, was.key);
	else
		range->end = start;
	/* A piece behind the hole becomes a new range; without memory it is forgotten. */
	if (end < was.end && add_range(end, was.end, was.file) && start > was.key)
		tree_find(&files, was.file)->ranges++;
	else if (end >= was.end && start <= was.key)
		return let_go(was.file);
	return -1;
}

bool pin_take(void *addr, size_t len, struct pin_piece *piece)
{
	uint64_t start = (uintptr_t)addr, end = start + PAGES(len);
	struct tree_node *range;
	sigset_t saved;

	if (!__atomic_load_n(&ranges.num, __ATOMIC_RELAXED) || end <= start)
		return false;
	lock_all(&saved);
	range = tree_at_most(&ranges, end - 1); /* none behind it begins before `end` */
	if (range && range->end <= start)
		range = NULL;
	if (range) {
		uint64_t from = range->key > start ? range->key : start;

		piece->addr = (void *)(uintptr_t)from;
		piece->len = (range->end < end ? range->end : end) - from;
		piece->fd = cut(range, start, end);
	}
	unlock_all(&saved);
	return range;
}

/* ---- calls ----------------------------------------------------------------------------------- */

bool pin_call(struct pin_call *call, int fd, uint64_t file)
{
	uint64_t found;
	sigset_t saved;

	*call = (struct pin_call){.file = file, .theirs = fd};
	lock_all(&saved);
	call->fd = client_move_up(fd, true);
	if (call->fd < 0) /* no descriptor was free */
		call->fd = fd;
	LIST_INSERT_HEAD(&calls, call, link);
	unlock_all(&saved);
	return file_lookup(call->fd, &found, NULL) && found == file;
}

static void put_down(const struct pin_call *call)
{
	if (call->fd != call->theirs)
		raw_syscall(SYS_close, call->fd);
}

void pin_call_end(struct pin_call *call)
{
	sigset_t saved;

	lock_all(&saved);
	LIST_REMOVE(call, link);
	put_down(call);
	unlock_all(&saved);
}

/* ---- fork ------------------------------------------------------------------------------------ */

static sigset_t fork_mask;

static void fork_prepare(void)
{
	sigset_t mask;

	lock_all(&mask);
	fork_mask = mask;
}

static void fork_parent(void)
{
	sigset_t mask = fork_mask;

	unlock_all(&mask);
}

static void fork_child(void)
{
	struct pin_call *call;
	sigset_t mask = fork_mask;

	LIST_FOREACH(call, &calls, link)
	put_down(call);
	LIST_INIT(&calls);
	unlock_all(&mask);
}

__attribute__((constructor)) static void watch_fork(void)
{
	if (path_runtime())
		pthread_atfork(fork_prepare, fork_parent, fork_child);
}
