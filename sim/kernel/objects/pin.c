// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of programs that adapters hold: what ib_umem_get() checks and counts (drivers/infiniband/core/umem.c). A page
 * counts once for each object, as there; a page with doorbell records once for each context, as in mlx5_ib.
 */
#include <errno.h>
#include <stdlib.h>

#include "kernel/priv.h"

#define PAGE_MASK ((uint64_t)KPAGE_SIZE - 1)

struct record_page {
	struct table_node node;
	unsigned int objects;
	uint32_t pasid;
};

static struct task *task_of(const struct kfile *f, uint32_t pasid)
{
	const struct kernel_config *cfg = &f->dev->k->cfg;

	return cfg->find_task ? cfg->find_task(cfg->find_task_arg, pasid) : NULL;
}

/* Checks a range, and gives the number of its pages. */
static int count_pages(struct call *c, uint64_t addr, uint64_t len, bool write, uint64_t *pages)
{
	const uint64_t first = addr & ~PAGE_MASK, end = addr + len, last = (end + PAGE_MASK) & ~PAGE_MASK;

	if (end < addr || last < end)
		return -EINVAL;
	*pages = (last - first) / KPAGE_SIZE;
	return c->t->ops->pin_check(c->t, first, last - first, write);
}

int pin_check(struct call *c, uint64_t addr, uint64_t len, bool write)
{
	uint64_t pages;

	return count_pages(c, addr, len, write, &pages);
}

static int take_pages(struct call *c, uint64_t pages)
{
	const int ret = c->t->ops->pin(c->t, pages);

	if (ret)
		c->refused_pages = pages;
	return ret;
}

int pin_memory(struct call *c, uint64_t addr, uint64_t len, bool write)
{
	uint64_t pages;
	int ret = count_pages(c, addr, len, write, &pages);

	if (!ret)
		ret = take_pages(c, pages);
	if (ret)
		return ret;
	c->pinned.pasid = c->t->pasid;
	c->pinned.pages += pages;
	return 0;
}

/* Of a context that was imported, processes may have records at one address. */
static uint64_t record_key(const struct call *c, uint64_t addr)
{
	return addr / KPAGE_SIZE ^ (uint64_t)c->t->pasid << 32;
}

static int new_record_page(struct call *c, uint64_t addr, uint64_t len, struct record_page **out)
{
	uint64_t pages;
	int ret = count_pages(c, addr, len, true, &pages);

	if (ret)
		return ret;
	*out = calloc(1, sizeof(**out));
	ret = *out ? take_pages(c, 1) : -ENOMEM;
	if (ret) {
		free(*out);
		return ret;
	}
	(*out)->pasid = c->t->pasid;
	table_add(&c->f->records, &(*out)->node, record_key(c, addr));
	return 0;
}

int pin_record(struct call *c, uint64_t addr, uint64_t len)
{
	struct table_node *node = table_find(&c->f->records, record_key(c, addr));
	struct record_page *page = node ? table_entry(node, struct record_page, node) : NULL;
	const int ret = page ? 0 : new_record_page(c, addr, len, &page);

	if (ret)
		return ret;
	page->objects++;
	c->pinned.record = page;
	return 0;
}

static void unpin(const struct kfile *f, uint32_t pasid, uint64_t pages)
{
	struct task *t = pages ? task_of(f, pasid) : NULL;

	if (t)
		t->ops->unpin(t, pages);
}

void pin_release(struct kfile *f, struct pinned *p)
{
	struct record_page *page = p->record;

	unpin(f, p->pasid, p->pages);
	if (page && !--page->objects) {
		unpin(f, page->pasid, 1);
		table_remove(&f->records, &page->node);
		free(page);
	}
	*p = (struct pinned){0};
}

void pin_move(struct call *c, struct uobj *u)
{
	struct record_page *record = u->pinned.record;

	u->pinned.record = NULL;
	pin_release(c->f, &u->pinned);
	u->pinned = c->pinned;
	if (record)
		u->pinned.record = record;
	c->pinned = (struct pinned){0};
}
