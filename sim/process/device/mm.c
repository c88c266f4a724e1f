// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address spaces. A PASID is never reused: pending DMA of a process that has ended fails, and does not reach another
 * process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/device/server.h"

#define BAR_PAGE 4096ull
#define MAX_HCA  0x100u /* in a page's name */
#define MAX_BAR  0x10u

static struct mm *live_mm(struct server *s, pid_t pid)
{
	struct table_node *node = table_find(&s->mms_by_pid, (uint64_t)pid);

	return node ? table_entry(node, struct mm, by_pid) : NULL;
}

struct mm *mm_get(struct server *s, pid_t pid, uint64_t image)
{
	struct mm *mm = live_mm(s, pid);

	if (mm && mm->image == image) {
		mm->refs++;
		return mm;
	}
	/* Process identifiers are reused; an address space also ends with exec. */
	if (mm)
		mm_dead(mm);
	mm = calloc(1, sizeof(*mm));
	if (!mm)
		return NULL;
	mm->source.kind = SOURCE_PROCESS;
	mm->server = s;
	mm->pasid = ++s->last_pasid; /* 0 is the kernel's */
	mm->pid = pid;
	mm->mem = -1;
	mm->image = image;
	mm->refs = 1;
	mm->task = (struct task){.pasid = mm->pasid, .pid = pid, .ops = &usermem_task_ops};
	LIST_INIT(&mm->all_grants);
	table_add(&s->mms_by_pasid, &mm->by_pasid, mm->pasid);
	table_add(&s->mms_by_image, &mm->by_image, image);
	table_add(&s->mms_by_pid, &mm->by_pid, (uint64_t)pid);
	mm->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (mm->pidfd >= 0)
		source_watch(s, mm->pidfd, &mm->source);
	return mm;
}

void mm_ref(struct mm *mm)
{
	mm->refs++;
}

void mm_dead(struct mm *mm)
{
	struct grant *g;

	if (mm->dead)
		return;
	mm->dead = true;
	table_remove(&mm->server->mms_by_pid, &mm->by_pid);
	LIST_FOREACH(g, &mm->all_grants, link)
	table_remove(&mm->server->grants, &g->any);
	if (mm->pidfd >= 0)
		close(mm->pidfd);
	mm->pidfd = -1;
	if (mm->mem >= 0)
		close(mm->mem);
	mm->mem = -1;
}

static void drop_grant(struct mm *mm, struct grant *g)
{
	table_remove(&mm->grants, &g->node);
	if (!mm->dead)
		table_remove(&mm->server->grants, &g->any);
	LIST_REMOVE(g, link);
	free(g);
}

void mm_put(struct mm *mm)
{
	if (--mm->refs)
		return;
	mm_dead(mm);
	table_remove(&mm->server->mms_by_pasid, &mm->by_pasid);
	table_remove(&mm->server->mms_by_image, &mm->by_image);
	while (!LIST_EMPTY(&mm->all_grants))
		drop_grant(mm, LIST_FIRST(&mm->all_grants));
	table_free(&mm->grants);
	source_bury(mm->server, &mm->source);
}

struct mm *mm_find(struct server *s, uint32_t pasid)
{
	struct table_node *node = table_find(&s->mms_by_pasid, pasid);

	return node ? table_entry(node, struct mm, by_pasid) : NULL;
}

struct mm *mm_of_image(struct server *s, uint64_t image)
{
	struct table_node *node = table_find(&s->mms_by_image, image);

	return node ? table_entry(node, struct mm, by_image) : NULL;
}

/* A page's name: its offset, whose low bits are used for the other fields. */
static uint64_t page_key(uint32_t hca, uint32_t bar, uint64_t page)
{
	return page | bar * MAX_HCA | hca;
}

static struct grant *find_grant(const struct mm *mm, uint32_t hca, uint32_t bar, uint64_t page)
{
	struct table_node *node = NULL;

	if (hca < MAX_HCA && bar < MAX_BAR)
		node = table_find(&mm->grants, page_key(hca, bar, page));
	return node ? table_entry(node, struct grant, node) : NULL;
}

static int add_grant(struct mm *mm, uint64_t key, uint32_t count)
{
	struct table_node *node = table_find(&mm->grants, key);
	struct grant *g;

	if (node) {
		table_entry(node, struct grant, node)->count += count;
		return 0;
	}
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->count = count;
	table_add(&mm->grants, &g->node, key);
	if (!mm->dead)
		table_add(&mm->server->grants, &g->any, key);
	LIST_INSERT_HEAD(&mm->all_grants, g, link);
	return 0;
}

int mm_grant(struct mm *mm, uint32_t hca, uint32_t bar, uint64_t offset, uint64_t len)
{
	for (uint64_t at = 0; at < len; at += BAR_PAGE) {
		int ret = add_grant(mm, page_key(hca, bar, offset + at), 1);

		if (ret) {
			mm_revoke(mm, hca, bar, offset, at);
			return ret;
		}
	}
	return 0;
}

void mm_revoke(struct mm *mm, uint32_t hca, uint32_t bar, uint64_t offset, uint64_t len)
{
	/* `len` comes from the application: stop at the first page that it has not mapped. */
	for (uint64_t at = 0; at < len; at += BAR_PAGE) {
		struct grant *g = find_grant(mm, hca, bar, offset + at);

		if (!g)
			return;
		if (!--g->count)
			drop_grant(mm, g);
	}
}

void mm_inherit(struct mm *child, const struct mm *parent)
{
	const struct grant *g;

	LIST_FOREACH(g, &parent->all_grants, link)
	add_grant(child, g->node.key, g->count);
}

bool mm_any_maps(const struct server *s, uint32_t hca, uint32_t bar, uint64_t offset, uint64_t len)
{
	for (uint64_t page = offset & ~(BAR_PAGE - 1); page < offset + len; page += BAR_PAGE)
		if (table_find(&s->grants, page_key(hca, bar, page)))
			return true;
	return false;
}

bool mm_may_access(struct mm *mm, uint32_t hca, uint32_t bar, uint64_t offset, uint32_t size)
{
	uint64_t first = offset & ~(BAR_PAGE - 1), last = (offset + size - 1) & ~(BAR_PAGE - 1);

	return size && last >= first && find_grant(mm, hca, bar, first) &&
	       (first == last || find_grant(mm, hca, bar, last));
}
