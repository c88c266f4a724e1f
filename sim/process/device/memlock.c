// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a program is allowed: its capabilities, and RLIMIT_MEMLOCK as ib_umem_get() applies it
 * (drivers/infiniband/core/umem.c): the pages that adapters hold for an address space may not exceed the soft limit of
 * the caller, unless it has CAP_IPC_LOCK in the first user namespace.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process/device/server.h"

#define PAGE          4096u
#define FIRST_USER_NS 0xeffffffdu /* PROC_USER_INIT_INO, include/linux/proc_ns.h */

/* What follows `name` at the start of a line of /proc/PID/FILE, in `line`; NULL: there is none. */
static const char *proc_line(const struct task *t, const char *file, const char *name, char *line, int size)
{
	const int fd = usermem_open(t, file);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	const char *found = NULL;

	while (f && !found && fgets(line, size, f))
		if (!strncmp(line, name, strlen(name)))
			found = line + strlen(name);
	if (f)
		fclose(f);
	return found;
}

bool task_capable(struct task *t, unsigned int capability)
{
	char line[256], path[64];
	const char *caps = proc_line(t, "status", "CapEff:", line, sizeof(line));
	struct stat ns;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)t->pid);
	return caps && (strtoull(caps, NULL, 16) >> capability & 1) && !stat(path, &ns) &&
	       ns.st_ino == FIRST_USER_NS;
}

/* prlimit(2) needs a capability for processes of other users. */
static uint64_t limit_bytes(const struct task *t)
{
	char line[256];
	const char *soft = proc_line(t, "limits", "Max locked memory", line, sizeof(line));
	uint64_t bytes;

	return soft && sscanf(soft, "%lu", &bytes) == 1 ? bytes : UINT64_MAX; /* or "unlimited" */
}

int memlock_pin(struct task *t, uint64_t pages)
{
	struct mm *mm = mm_of_task(t);
	const uint64_t limit = mm->server->no_memlock ? UINT64_MAX : limit_bytes(t);

	if (mm->pinned + pages > limit / PAGE && !task_capable(t, CAP_IPC_LOCK))
		return limit ? -ENOMEM : -EPERM;
	mm->pinned += pages;
	return 0;
}

void memlock_unpin(struct task *t, uint64_t pages)
{
	mm_of_task(t)->pinned -= pages;
}
