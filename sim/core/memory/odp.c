// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The pages of on-demand regions: each region has a hash of blocks of 512 pages, so that a region of the whole
 * address space takes memory only for mapped blocks.
 */
#include "core/memory/memory.h"
#include "core/memory/odp.h"

#define PAGE_SHIFT  12
#define HUGE_SHIFT  21 /* x86-64: the default of MAP_HUGETLB */
#define BLOCK_WORDS 8
#define BLOCK_PAGES (BLOCK_WORDS * 64u)
#define BUCKETS     64

struct odp_block {
	struct odp_block *next;
	uint64_t number; /* page number / BLOCK_PAGES */
	uint64_t present[BLOCK_WORDS], writable[BLOCK_WORDS];
};

struct odp_table {
	uint8_t shift;
	uint64_t nblocks;
	struct odp_block *bucket[BUCKETS];
};

/* Part of a range of pages: bits of one word of one block. */
struct span {
	uint64_t block, mask;
	unsigned int word;
};

struct odp_table *odp_table_new(uint32_t access)
{
	struct odp_table *t = calloc(1, sizeof(*t));

	if (t)
		t->shift = access & HCASIM_ACCESS_HUGETLB ? HUGE_SHIFT : PAGE_SHIFT;
	return t;
}

void odp_table_free(struct odp_table *t)
{
	unsigned int i;

	for (i = 0; t && i < BUCKETS; i++) {
		struct odp_block *b;

		while ((b = t->bucket[i])) {
			t->bucket[i] = b->next;
			free(b);
		}
	}
	free(t);
}

static struct odp_block *block_find(const struct odp_table *t, uint64_t number)
{
	struct odp_block *b = t->bucket[number % BUCKETS];

	while (b && b->number != number)
		b = b->next;
	return b;
}

static struct odp_block *block_get(struct odp_table *t, uint64_t number)
{
	struct odp_block *b = block_find(t, number);

	if (b)
		return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->number = number;
	b->next = t->bucket[number % BUCKETS];
	t->bucket[number % BUCKETS] = b;
	t->nblocks++;
	return b;
}

/* Pages of [va, va + len), len > 0: from *page to *end, exclusive. */
static void pages_of(const struct odp_table *t, uint64_t va, uint64_t len, uint64_t *page, uint64_t *end)
{
	*page = va >> t->shift;
	*end = ((va + len - 1) >> t->shift) + 1;
}

/* The first span of [page, end); returns the start of the next one. */
static uint64_t span_at(uint64_t page, uint64_t end, struct span *s)
{
	unsigned int bit = page % 64;
	uint64_t n = end - page < 64 - bit ? end - page : 64 - bit;

	s->block = page / BLOCK_PAGES;
	s->word = page % BLOCK_PAGES / 64;
	s->mask = (n == 64 ? UINT64_MAX : (1ull << n) - 1) << bit;
	return page + n;
}

static bool present(const struct odp_table *t, uint64_t va, uint64_t len, bool write)
{
	const struct odp_block *b = NULL;
	uint64_t page, end;
	struct span s;

	for (pages_of(t, va, len, &page, &end); page < end;) {
		page = span_at(page, end, &s);
		if (!b || b->number != s.block)
			b = block_find(t, s.block);
		if (!b || ((write ? b->writable : b->present)[s.word] & s.mask) != s.mask)
			return false;
	}
	return true;
}

/* Counts the pages that were not mapped, or not as writable, before. */
static int map(struct odp_table *t, uint64_t va, uint64_t len, bool write, uint64_t *fresh)
{
	uint64_t page, end;
	struct span s;

	for (pages_of(t, va, len, &page, &end); page < end;) {
		struct odp_block *b;
		uint64_t had;

		page = span_at(page, end, &s);
		b = block_get(t, s.block);
		if (!b)
			return -ENOMEM;
		had = write ? b->writable[s.word] : b->present[s.word];
		*fresh += (uint64_t)__builtin_popcountll(s.mask & ~had);
		b->present[s.word] |= s.mask;
		if (write)
			b->writable[s.word] |= s.mask;
	}
	return 0;
}

static uint64_t drop_from(struct odp_block *b, uint64_t page, uint64_t end)
{
	const uint64_t first = b->number * BLOCK_PAGES, last = first + BLOCK_PAGES;
	uint64_t dropped = 0;
	struct span s;

	if (page < first)
		page = first;
	if (end > last)
		end = last;
	while (page < end) {
		page = span_at(page, end, &s);
		dropped += (uint64_t)__builtin_popcountll(b->present[s.word] & s.mask);
		b->present[s.word] &= ~s.mask;
		b->writable[s.word] &= ~s.mask;
	}
	return dropped;
}

/* Visits the blocks of the range, or all existing blocks, whichever are fewer. */
static uint64_t unmap(struct odp_table *t, uint64_t va, uint64_t len)
{
	uint64_t page, end, n, dropped = 0;
	struct odp_block *b;

	pages_of(t, va, len, &page, &end);
	if ((end - 1) / BLOCK_PAGES - page / BLOCK_PAGES < t->nblocks) {
		for (n = page / BLOCK_PAGES; n <= (end - 1) / BLOCK_PAGES; n++) {
			b = block_find(t, n);
			if (b)
				dropped += drop_from(b, page, end);
		}
		return dropped;
	}
	for (n = 0; n < BUCKETS; n++)
		for (b = t->bucket[n]; b; b = b->next)
			dropped += drop_from(b, page, end);
	return dropped;
}

/* ---- Keys ---- */

/* The region with the pages of a key: for a window, the one it is bound to. NULL: none, or it is pinned. */
static const struct mr *region_of(const struct hca *hca, const struct mr *mr)
{
	if (mr && (mr->kind == KEY_MW1 || mr->kind == KEY_MW2))
		mr = mr->bound ? &hca->mr.mr[mr->region] : NULL;
	return mr && mr->odp ? mr : NULL;
}

struct absence {
	bool write, absent;
};

/* A key that has changed since the check has no pages to be waited for: the next check will refuse it. */
static uint8_t range_present(struct key_walk *w, const struct mr *region, uint64_t addr, uint64_t len)
{
	struct absence *a = w->any;

	if (!region->odp || present(region->odp, region->a.va + (addr - region->a.iova), len, a->write))
		return 0;
	a->absent = true;
	return HCASIM_VENDOR_ERR_DMA_FAULT;
}

static bool parts_present(const struct hca *hca, const struct mr *mr, uint32_t key, uint64_t addr,
			  uint64_t len, bool write)
{
	struct absence a = {.write = write};
	struct key_walk w = {.hca = hca, .pdn = mr->a.pdn, .range = range_present, .any = &a};

	key_walk(&w, key, addr, len);
	return !a.absent;
}

bool key_present(const struct hca *hca, uint32_t key, uint64_t addr, uint64_t len, bool write)
{
	const struct mr *mr, *region;

	if (!hca->mr.num_odp || !len)
		return true;
	mr = key_find(hca, key);
	if (!mr)
		return true;
	if (mr->kind == KEY_INDIRECT)
		return parts_present(hca, mr, key, addr, len, write);
	region = region_of(hca, mr);
	return !region || present(region->odp, mr->a.va + (addr - mr->a.iova), len, write);
}

bool sge_present(const struct hca *hca, const struct hca_sge *sge, uint32_t n, uint64_t off, uint64_t len,
		 bool write)
{
	uint32_t i;

	if (!hca->mr.num_odp)
		return true;
	for (i = 0; i < n && len; i++) {
		uint64_t part = sge[i].length;

		if (off >= part) {
			off -= part;
			continue;
		}
		part -= off;
		if (part > len)
			part = len;
		if (!key_present(hca, sge[i].lkey, sge[i].addr + off, part, write))
			return false;
		len -= part;
		off = 0;
	}
	return true;
}

static void whole_pages(const struct hca *hca, const struct mr *region, uint64_t va, uint64_t len, bool write,
			struct hca_page_range *out)
{
	uint64_t page, end;

	pages_of(region->odp, va, len, &page, &end);
	*out = (struct hca_page_range){
		.key = (uint32_t)(region - hca->mr.mr) << 8 | region->tag,
		.pasid = region->a.pasid,
		.va = page << region->odp->shift,
		.len = (end - page) << region->odp->shift,
		.write = write,
		.writable = region->a.access & HCASIM_ACCESS_LOCAL_WRITE,
	};
}

bool key_absent(const struct hca *hca, uint32_t key, uint64_t addr, uint64_t len, bool write,
		struct hca_page_range *out)
{
	const struct mr *mr = key_find(hca, key);

	if (key_present(hca, key, addr, len, write))
		return false;
	whole_pages(hca, region_of(hca, mr), mr->a.va + (addr - mr->a.iova), len, write, out);
	return true;
}

/* ---- Commands ---- */

int hca_mr_pages(const struct hca *hca, uint32_t key, uint64_t addr, uint64_t len, bool write,
		 struct hca_page_range *range)
{
	const struct mr *mr = key_find(hca, key);
	uint64_t off;

	if (!mr || mr->kind != KEY_MR || !mr->odp)
		return -EINVAL;
	off = addr - mr->a.iova;
	if (addr < mr->a.iova || off > mr->a.length || len > mr->a.length - off)
		return -EFAULT;
	whole_pages(hca, mr, mr->a.va + off, len ? len : 1, write, range);
	if (!len)
		range->len = 0;
	return 0;
}

int hca_mr_map(struct hca *hca, const struct hca_page_range *range, bool prefetch)
{
	uint64_t *count = prefetch ? &hca->count[0].num_prefetch : &hca->count[0].num_page_faults;
	struct mr *mr = key_find(hca, range->key);

	if (!mr || mr->kind != KEY_MR || !mr->odp || range->va + range->len < range->va)
		return -EINVAL;
	return range->len ? map(mr->odp, range->va, range->len, range->write, count) : 0;
}

uint64_t hca_mr_unmap(struct hca *hca, uint32_t pasid, uint64_t va, uint64_t len)
{
	uint64_t dropped = 0;
	struct node *n;

	if (va + len < va)
		len = UINT64_MAX - va;
	for (n = hca->mr.odp.next; len && n != &hca->mr.odp; n = n->next) {
		struct mr *mr = node_entry(n, struct mr, on_odp);

		uint64_t mapped = mr->a.pasid == pasid ? unmap(mr->odp, va, len) : 0;

		if (mapped)
			key_changed(hca, mr);
		dropped += mapped;
	}
	hca->count[0].num_invalidations += dropped;
	return dropped;
}
