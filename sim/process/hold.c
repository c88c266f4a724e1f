// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A mapping holds its file: an application may close a device file and go on with what it mapped of it, and
 * what it made there lives until the last mapping is gone, too. So as long as a file is mapped here, this
 * process keeps one more descriptor of it, which fork passes on and exec closes, as they do with mappings.
 *
 * So does a call that is under way: another thread may close the file while this one waits in it, as programs of
 * rdma_cm do when they end, and the call goes on waiting. A child that is forked meanwhile is not in that call.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"

struct range { /* whole pages, mapped from a file */
	uint64_t start, end;
	uint64_t file;
};

struct held {
	uint64_t file;
	int fd; /* -1: there was no free number */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges;
static struct held *files;
static size_t num_ranges, bytes_ranges, num_files, bytes_files;
static struct hold_call *calls;

static void lock_all(sigset_t *saved)
{
	sigset_t all;

	sigfillset(&all);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, saved, 8);
	pthread_mutex_lock(&lock);
}

static void unlock_all(const sigset_t *saved)
{
	pthread_mutex_unlock(&lock);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, saved, NULL, 8);
}

/* By system calls: the application's own malloc may unmap, and would come back here. */
static bool grow(void **array, size_t num, size_t *bytes, size_t size)
{
	size_t wanted = *bytes ? *bytes * 2 : 4096;
	void *grown;

	if ((num + 1) * size <= *bytes)
		return true;
	if (*bytes)
		grown = (void *)syscall(SYS_mremap, *array, *bytes, wanted, MREMAP_MAYMOVE);
	else
		grown = (void *)syscall(SYS_mmap, NULL, wanted, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (grown == MAP_FAILED)
		return false;
	*array = grown;
	*bytes = wanted;
	return true;
}

static bool hold_file(int fd, uint64_t file)
{
	for (size_t i = 0; i < num_files; i++) {
		if (files[i].file == file)
			return true;
	}
	if (!grow((void **)&files, num_files, &bytes_files, sizeof(*files)))
		return false;
	files[num_files++] = (struct held){file, client_move_up(fd, true)};
	return true;
}

/* The descriptor to close, -1: none. The application may have closed it, and its number may be another file's. */
static int let_go(uint64_t file)
{
	uint64_t found;
	int fd = -1;

	for (size_t i = 0; i < num_ranges; i++) {
		if (ranges[i].file == file)
			return -1;
	}
	for (size_t i = 0; i < num_files; i++) {
		if (files[i].file != file)
			continue;
		if (file_lookup(files[i].fd, &found, NULL) && found == file)
			fd = files[i].fd;
		files[i] = files[--num_files];
		break;
	}
	return fd;
}

bool hold_add(int fd, uint64_t file, void *addr, size_t len)
{
	uint64_t start = (uintptr_t)addr;
	sigset_t saved;
	bool ok;

	lock_all(&saved);
	ok = grow((void **)&ranges, num_ranges, &bytes_ranges, sizeof(*ranges)) && hold_file(fd, file);
	if (ok)
		ranges[num_ranges++] = (struct range){start, start + ((len + 0xfff) & ~0xfffull), file};
	unlock_all(&saved);
	return ok;
}

/* Takes [start, end) out of range `i`. False if that was all of it: the range is gone. */
static bool cut(size_t i, uint64_t start, uint64_t end)
{
	struct range *r = &ranges[i];

	if (start <= r->start && end >= r->end) {
		*r = ranges[--num_ranges];
		return false;
	}
	if (start <= r->start) {
		r->start = end;
	} else {
		/* A hole: without room for the piece behind it, that one is forgotten. */
		if (end < r->end && grow((void **)&ranges, num_ranges, &bytes_ranges, sizeof(*ranges))) {
			r = &ranges[i];
			ranges[num_ranges++] = (struct range){end, r->end, r->file};
		}
		r->end = start;
	}
	return true;
}

void hold_remove(void *addr, size_t len, void (*last)(int fd))
{
	uint64_t start = (uintptr_t)addr, end = start + ((len + 0xfff) & ~0xfffull), file;
	sigset_t saved;
	int fd;

	if (!__atomic_load_n(&num_ranges, __ATOMIC_RELAXED))
		return;
	for (size_t i = 0; i < num_ranges;) {
		fd = -1;
		lock_all(&saved);
		if (i < num_ranges && ranges[i].start < end && ranges[i].end > start) {
			file = ranges[i].file;
			if (!cut(i, start, end)) {
				fd = let_go(file);
				i--;
			}
		}
		unlock_all(&saved);
		if (fd >= 0)
			last(fd);
		i++;
	}
}

/* ---- calls ----------------------------------------------------------------------------------- */

bool hold_call(struct hold_call *call, int fd, uint64_t file)
{
	uint64_t found;
	sigset_t saved;

	*call = (struct hold_call){.file = file, .theirs = fd};
	lock_all(&saved);
	call->fd = client_move_up(fd, true);
	if (call->fd < 0) /* there was no free number */
		call->fd = fd;
	call->next = calls;
	calls = call;
	unlock_all(&saved);
	return file_lookup(call->fd, &found, NULL) && found == file;
}

static void put_down(const struct hold_call *call)
{
	if (call->fd != call->theirs)
		syscall(SYS_close, call->fd);
}

void hold_call_end(struct hold_call *call)
{
	struct hold_call **p = &calls;
	sigset_t saved;

	lock_all(&saved);
	while (*p != call)
		p = &(*p)->next;
	*p = call->next;
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
	sigset_t mask = fork_mask;

	for (; calls; calls = calls->next)
		put_down(calls);
	unlock_all(&mask);
}

__attribute__((constructor)) static void watch_fork(void)
{
	if (path_runtime())
		pthread_atfork(fork_prepare, fork_parent, fork_child);
}
