// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which memory of a program Linux would pin: the checks of ib_umem_get() and pin_user_pages() (mm/gup.c,
 * check_vma_flags()), from what /proc says about its mappings.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "process/device/server.h"

#define PAGE 4096u

#ifndef PROCMAP_QUERY /* <linux/fs.h> since Linux 6.11 */
struct procmap_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define PROCMAP_QUERY              _IOWR('f', 17, struct procmap_query)
#define PROCMAP_QUERY_VMA_READABLE 1
#define PROCMAP_QUERY_VMA_WRITABLE 2
#define PROCMAP_QUERY_VMA_SHARED   8
#endif

struct vma {
	uint64_t start, end, inode; /* inode 0: anonymous */
	uint32_t major, minor;
	bool readable, writable, shared;
};

struct walk { /* [addr, end) is checked up to here, in a list of mappings in ascending order */
	struct task *task;
	uint64_t addr, end;
	bool write, pin; /* pin: for a long time, not for one access */
	int result;      /* 1: more mappings are needed */
};

/* ---- Files --------------------------------------------------------------------------------------- */

/* Filesystems whose pages are never written back. Memory without a mount (memfd, System V) is tmpfs' as well. */
static bool is_memory_type(const char *type)
{
	return !strcmp(type, "tmpfs") || !strcmp(type, "ramfs") || !strcmp(type, "devtmpfs") ||
	       !strcmp(type, "hugetlbfs");
}

/* "36 35 98:0 /root /mount options - TYPE source options" */
static bool tracks_dirty_pages(const struct walk *w, const struct vma *v)
{
	char line[4096], type[32];
	const char *dash;
	unsigned int major, minor;
	bool found = false, memory = true;
	FILE *mounts;
	int fd = usermem_open(w->task, "mountinfo");

	mounts = fd < 0 ? NULL : fdopen(fd, "r");
	while (mounts && !found && fgets(line, sizeof(line), mounts)) {
		dash = strstr(line, " - ");
		found = sscanf(line, "%*u %*u %u:%u", &major, &minor) == 2 && major == v->major &&
			minor == v->minor && dash && sscanf(dash, " - %31s", type) == 1;
		if (found)
			memory = is_memory_type(type);
	}
	if (mounts)
		fclose(mounts);
	return !memory;
}

/* Behind the end of its file, of a device, or secret: no other process can read it either. */
static bool can_be_read(const struct walk *w, const struct vma *v)
{
	const struct mm *mm = mm_of_task(w->task);
	struct hca_dma_seg seg = {(v->end < w->end ? v->end : w->end) - 1, 1, 0};
	uint8_t byte;

	return usermem_read(mm->pid, mm->mem, &seg, 1, &byte) != -EFAULT;
}

/* ---- One mapping ---------------------------------------------------------------------------------- */

/* Before 6.2 ib_umem_get() took pages that are only read as a debugger does: each private page, no shared one. */
static bool has_rights(const struct walk *w, const struct vma *v)
{
	if (w->write)
		return v->readable && v->writable;
	if (w->pin && mm_of_task(w->task)->server->release < LINUX(6, 2))
		return v->writable || !v->shared;
	return v->readable;
}

/* writable_file_mapping_allowed() */
static bool may_be_written_back(const struct walk *w, const struct vma *v)
{
	return w->pin && w->write && v->shared && v->inode &&
	       mm_of_task(w->task)->server->release >= LINUX(6, 5) && tracks_dirty_pages(w, v);
}

static void check_vma(struct walk *w, const struct vma *v)
{
	if (v->end <= w->addr)
		return;
	if (v->start > w->addr || !has_rights(w, v) || (w->pin && v->readable && !can_be_read(w, v)) ||
	    may_be_written_back(w, v)) {
		w->result = -EFAULT;
		return;
	}
	w->addr = v->end;
	if (v->end >= w->end)
		w->result = 0;
}

/* ---- /proc/PID/maps ------------------------------------------------------------------------------- */

/* "start-end rwxp offset major:minor inode" */
static void walk_line(struct walk *w, const char *line)
{
	char right[5], *rest;
	struct vma v;

	v.start = strtoull(line, &rest, 16);
	v.end = strtoull(rest + 1, &rest, 16);
	if (v.end <= w->addr || sscanf(rest, "%4s %*x %x:%x %lu", right, &v.major, &v.minor, &v.inode) != 4)
		return;
	v.readable = right[0] == 'r';
	v.writable = right[1] == 'w';
	v.shared = right[3] == 's';
	check_vma(w, &v);
}

static void walk_file(struct walk *w, int fd)
{
	static char buf[65536];
	size_t have = 0;
	ssize_t n;

	while (w->result > 0 && (n = read(fd, buf + have, sizeof(buf) - 1 - have)) > 0) {
		char *line = buf, *nl;

		have += (size_t)n;
		buf[have] = '\0';
		for (; w->result > 0 && (nl = memchr(line, '\n', (size_t)(buf + have - line))); line = nl + 1)
			walk_line(w, line);
		have = (size_t)(buf + have - line);
		memmove(buf, line, have);
	}
}

/* Queries each mapping of the range. False: this kernel only has the text file. */
static bool query_file(struct walk *w, int fd)
{
	while (w->result > 0) {
		struct procmap_query q = {.size = sizeof(q), .query_addr = w->addr};
		struct vma v;

		if (ioctl(fd, PROCMAP_QUERY, &q)) {
			if (errno == ENOTTY)
				return false;
			w->result = -EFAULT;
			return true;
		}
		v = (struct vma){q.vma_start,
				 q.vma_end,
				 q.inode,
				 q.dev_major,
				 q.dev_minor,
				 q.vma_flags & PROCMAP_QUERY_VMA_READABLE,
				 q.vma_flags & PROCMAP_QUERY_VMA_WRITABLE,
				 q.vma_flags & PROCMAP_QUERY_VMA_SHARED};
		check_vma(w, &v);
	}
	return true;
}

static int check(struct task *t, uint64_t addr, uint64_t len, bool write, bool pin)
{
	struct walk w = {.task = t, .addr = addr, .end = addr + len, .write = write, .pin = pin, .result = 1};
	int fd;

	if (!len)
		return 0;
	if (w.end < addr || mm_of_task(t)->dead)
		return -EFAULT;
	fd = usermem_open(t, "maps");
	if (fd < 0)
		return errno == EMFILE || errno == ENFILE ? -ENFILE : errno == ENOMEM ? -ENOMEM : -EFAULT;
	/* The text has a line for every mapping of the process, possibly thousands. */
	if (!query_file(&w, fd))
		walk_file(&w, fd);
	close(fd);
	return w.result ? -EFAULT : 0;
}

int pinnable(struct task *t, uint64_t addr, uint64_t len, bool write)
{
	return check(t, addr, len, write, true);
}

int accessible(struct task *t, uint64_t addr, uint64_t len, bool write)
{
	return check(t, addr, len, write, false);
}
