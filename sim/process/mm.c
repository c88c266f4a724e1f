// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address spaces. A PASID names one for good and is never given again: DMA that is still under way
 * when a process ends fails, and does not reach another one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server.h"

#define BAR_PAGE 4096ull

static bool number(struct server *s, struct mm *mm)
{
	struct mm **grown = realloc(s->by_pasid, (s->num_mms + 2) * sizeof(*grown));

	if (!grown)
		return false;
	s->by_pasid = grown;
	mm->pasid = ++s->num_mms; /* 0 is the kernel's */
	grown[0] = NULL;
	grown[mm->pasid] = mm;
	return true;
}

/* Process identifiers are used again; an address space ends with exec, too. */
static void supersede(struct server *s, pid_t pid)
{
	struct mm *mm;

	LIST_FOREACH(mm, &s->mms, link)
	if (mm->pid == pid && !mm->dead)
		mm_dead(mm);
}

struct mm *mm_get(struct server *s, pid_t pid, uint64_t image)
{
	struct mm *mm;

	LIST_FOREACH(mm, &s->mms, link)
	{
		if (mm->pid == pid && mm->image == image && !mm->dead) {
			mm->refs++;
			return mm;
		}
	}
	mm = calloc(1, sizeof(*mm));
	if (!mm || !number(s, mm)) {
		free(mm);
		return NULL;
	}
	supersede(s, pid);
	mm->source.kind = SOURCE_PROCESS;
	mm->server = s;
	mm->pid = pid;
	mm->image = image;
	mm->refs = 1;
	mm->task = (struct task){.pasid = mm->pasid, .pid = pid, .ops = &usermem_task_ops};
	mm->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	LIST_INSERT_HEAD(&s->mms, mm, link);
	if (mm->pidfd >= 0)
		server_watch(s, mm->pidfd, &mm->source);
	return mm;
}

void mm_ref(struct mm *mm)
{
	mm->refs++;
}

void mm_dead(struct mm *mm)
{
	mm->dead = true;
	if (mm->pidfd >= 0)
		close(mm->pidfd);
	mm->pidfd = -1;
}

void mm_put(struct mm *mm)
{
	if (--mm->refs)
		return;
	mm_dead(mm);
	LIST_REMOVE(mm, link);
	mm->server->by_pasid[mm->pasid] = NULL;
	free(mm->grants);
	mm->grants = NULL;
	server_bury(mm->server, &mm->source);
}

struct mm *mm_find(struct server *s, uint32_t pasid)
{
	return pasid <= s->num_mms && s->by_pasid ? s->by_pasid[pasid] : NULL;
}

static struct grant *find_grant(struct mm *mm, uint32_t hca, uint32_t bar, uint64_t page)
{
	for (unsigned int n = 0; n < mm->num_grants; n++) {
		/* The page used last is most often the next one, too. */
		unsigned int i = (mm->last_grant + n) % mm->num_grants;
		struct grant *g = &mm->grants[i];

		if (g->page == page && g->hca == hca && g->bar == bar) {
			mm->last_grant = i;
			return g;
		}
	}
	return NULL;
}

static int add_grant(struct mm *mm, const struct grant *add)
{
	struct grant *g = find_grant(mm, add->hca, add->bar, add->page);

	if (g) {
		g->count += add->count;
		return 0;
	}
	g = realloc(mm->grants, (mm->num_grants + 1) * sizeof(*g));
	if (!g)
		return -ENOMEM;
	mm->grants = g;
	g[mm->num_grants++] = *add;
	return 0;
}

int mm_grant(struct mm *mm, uint32_t hca, uint32_t bar, uint64_t offset, uint64_t len)
{
	for (uint64_t at = 0; at < len; at += BAR_PAGE) {
		struct grant add = {.hca = hca, .bar = bar, .page = offset + at, .count = 1};
		int ret = add_grant(mm, &add);

		if (ret) {
			mm_revoke(mm, hca, bar, offset, at);
			return ret;
		}
	}
	return 0;
}

void mm_revoke(struct mm *mm, uint32_t hca, uint32_t bar, uint64_t offset, uint64_t len)
{
	/* `len` is the application's word: no more rounds than there are pages. */
	for (uint64_t at = 0; at < len && mm->num_grants; at += BAR_PAGE) {
		struct grant *g = find_grant(mm, hca, bar, offset + at);

		if (!g)
			return;
		if (!--g->count)
			*g = mm->grants[--mm->num_grants];
		mm->last_grant = 0;
	}
}

void mm_inherit(struct mm *child, const struct mm *parent)
{
	for (unsigned int i = 0; i < parent->num_grants; i++)
		add_grant(child, &parent->grants[i]);
}

static bool maps(const struct mm *mm, uint32_t hca, uint32_t bar, uint64_t offset, uint64_t len)
{
	for (unsigned int i = 0; i < mm->num_grants; i++) {
		const struct grant *g = &mm->grants[i];

		if (g->hca == hca && g->bar == bar && g->page + BAR_PAGE > offset && g->page < offset + len)
			return true;
	}
	return false;
}

bool mm_any_maps(const struct server *s, uint32_t hca, uint32_t bar, uint64_t offset, uint64_t len)
{
	const struct mm *mm;

	LIST_FOREACH(mm, &s->mms, link)
	{
		/* cppcheck-suppress uninitvar ; LIST_FOREACH sets it */
		if (!mm->dead && maps(mm, hca, bar, offset, len))
			return true;
	}
	return false;
}

bool mm_may_access(struct mm *mm, uint32_t hca, uint32_t bar, uint64_t offset, uint32_t size)
{
	uint64_t first = offset & ~(BAR_PAGE - 1), last = (offset + size - 1) & ~(BAR_PAGE - 1);

	return size && last >= first && find_grant(mm, hca, bar, first) &&
	       (first == last || find_grant(mm, hca, bar, last));
}
