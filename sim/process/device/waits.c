// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Who waits for what: when the programs have asked the machine for nothing for a while, verbs.log gets a record for each
 * of their threads (docs/traces.md), from proc(5).
 */
#include <inttypes.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/device/server.h"

#define AFTER_NS 1000000000ull /* of wall-clock time */
#define MAX_FDS  64            /* of one poll() that are looked at */

static const struct {
	long number;
	const char *name;
	bool reads; /* its first argument is a descriptor */
} calls[] = {
	{SYS_read, "read", true},
	{SYS_recvmsg, "recvmsg", true},
	{SYS_recvfrom, "recvfrom", true},
	{SYS_accept, "accept", true},
	{SYS_poll, "poll", false},
	{SYS_ppoll, "poll", false},
	{SYS_select, "select", false},
	{SYS_pselect6, "select", false},
	{SYS_epoll_wait, "epoll_wait", false},
	{SYS_epoll_pwait, "epoll_wait", false},
	{SYS_futex, "futex", false},
	{SYS_nanosleep, "nanosleep", false},
	{SYS_clock_nanosleep, "clock_nanosleep", false},
	{SYS_wait4, "wait4", false},
};

struct blocked {     /* a thread's system call */
	long number; /* -1: it runs */
	uint64_t arg[2];
};

static bool read_call(pid_t pid, const char *tid, struct blocked *b)
{
	char path[64], text[160] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%.12s/syscall", (int)pid, tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	b->number = -1;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return sscanf(text, "%ld %" SCNx64 " %" SCNx64, &b->number, &b->arg[0], &b->arg[1]) == 3 ||
	       !strncmp(text, "running", 7);
}

static uint64_t inode_of(pid_t pid, int fd)
{
	char path[64], text[64] = "";
	uint64_t ino = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	if (readlink(path, text, sizeof(text) - 1) < 0 || sscanf(text, "%*[a-z]:[%" SCNu64 "]", &ino) != 1)
		return 0;
	return ino;
}

/* What the thread waits for, if that is an event of the simulated kernel; else NULL. */
static const char *waits_for(struct server *s, const struct mm *mm, const struct blocked *b, bool reads)
{
	const char *what = NULL;
	struct pollfd fds[MAX_FDS];
	struct hca_dma_seg seg = {b->arg[0], 0, 0};

	if (reads)
		return kernel_waits_for(s->kernel, inode_of(mm->pid, (int)b->arg[0]));
	if (b->number != SYS_poll && b->number != SYS_ppoll)
		return NULL;
	seg.len = (uint32_t)((b->arg[1] < MAX_FDS ? b->arg[1] : MAX_FDS) * sizeof(fds[0]));
	if (usermem_read(mm->pid, mm->mem, &seg, 1, fds))
		return NULL;
	for (size_t i = 0; i < seg.len / sizeof(fds[0]) && !what; i++)
		what = kernel_waits_for(s->kernel, inode_of(mm->pid, fds[i].fd));
	return what;
}

static void put_thread(struct server *s, FILE *f, const struct mm *mm, const char *tid)
{
	const char *name = "running", *what = NULL;
	struct blocked b;
	bool reads = false;

	if (!read_call(mm->pid, tid, &b))
		return;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].number == b.number) {
			name = calls[i].name;
			reads = calls[i].reads;
		}
	}
	if (b.number >= 0) {
		what = waits_for(s, mm, &b, reads);
		name = !strcmp(name, "running") ? "other" : name;
	}
	fprintf(f, "{\"ps\":%" PRIu64 ",\"event\":\"waits\",\"pid\":%d,\"tid\":%d,\"syscall\":\"%s\"",
		machine_now(s->machine), (int)mm->pid, atoi(tid), name);
	if (what)
		fprintf(f, ",\"object\":\"%s\"", what);
	fputs("}\n", f);
}

static void put_process(struct server *s, FILE *f, const struct mm *mm)
{
	const struct dirent *e;
	char path[32];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)mm->pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			put_thread(s, f, mm, e->d_name);
	if (d)
		closedir(d);
}

void waits_stirred(struct server *s)
{
	s->stirred = true;
}

uint64_t waits_due(struct server *s, uint64_t ns, uint64_t now)
{
	const struct trace *t = machine_trace(s->machine);
	struct conn *c;

	if (!t || !trace_verbs(t))
		return ns;
	if (s->stirred) {
		s->quiet_since = now;
		s->stirred = false;
		s->waits_said = false;
	}
	if (s->waits_said)
		return ns;
	if (now - s->quiet_since < AFTER_NS)
		return ns < AFTER_NS ? ns : AFTER_NS;
	s->waits_said = true;
	LIST_FOREACH(c, &s->conns, link)
	{
		if (c->mm && !c->mm->dead)
			put_process(s, trace_verbs(t), c->mm);
	}
	fflush(trace_verbs(t)); /* `hcasim explain` of the folder of a program that hangs */
	return ns;
}
