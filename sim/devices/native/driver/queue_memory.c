// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of queues: rings with their doorbell records. A process can have 65,536 of each kind of queue and only about
 * as many mappings (vm.max_map_count), so queues of one size share a chunk of the context's memfd, which is mapped
 * once here and once by the application, as queues share doorbell pages in drivers of hardware. A program can
 * overwrite its own queues, but no others: queues of different contexts never share a chunk.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>

#include "driver.h"

/* After this much device time no transfer of a destroyed object is under way any more. */
#define GRACE_PS 1000000000ull /* 1 ms */

/* A size's chunks hold as many queues as it has already, so that their number grows with the logarithm. */
#define CHUNK_MIN_BYTES  (1ull << 16)
#define CHUNK_MAX_BYTES  (1ull << 30) /* of addresses: pages that no queue uses do not exist */
#define CHUNK_MAX_QUEUES 1024u

struct native_chunk {
	struct table_node by_offset;
	LIST_ENTRY(native_chunk) of_ctx;
	LIST_ENTRY(native_chunk) link; /* of its size, if a queue has room in it */
	struct native_size *size;
	struct native_ucontext *ctx; /* NULL: it is gone */
	uint8_t *addr;
	uint64_t offset, length; /* in the memfd */
	uint32_t num, fresh;     /* queues that it has room for; from here on room was never used */
	uint32_t used, live;     /* used: those that were freed a moment ago, too */
	struct native_mem *free;
	struct native_mem mem[];
};

struct native_size {
	struct table_node by_bytes;
	LIST_ENTRY(native_size) link;
	uint64_t bytes;  /* of a queue */
	uint32_t queues; /* that its chunks have room for */
	LIST_HEAD(, native_chunk) roomy;
};

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

/* Whole pages, and of larger ones four sizes for each power of two. */
static uint64_t size_class(uint64_t bytes)
{
	uint64_t step = COMMON_PAGE_SIZE;

	while (step * 8 < bytes)
		step *= 2;
	return round_up(bytes, step);
}

static struct native_size *find_size(struct native_ucontext *ctx, uint64_t bytes)
{
	struct table_node *n = table_find(&ctx->sizes, bytes);
	struct native_size *size;

	if (n)
		return table_entry(n, struct native_size, by_bytes);
	size = calloc(1, sizeof(*size));
	if (!size)
		return NULL;
	size->bytes = bytes;
	LIST_INIT(&size->roomy);
	table_add(&ctx->sizes, &size->by_bytes, bytes);
	LIST_INSERT_HEAD(&ctx->all_sizes, size, link);
	return size;
}

static uint32_t chunk_queues(const struct native_size *size)
{
	uint64_t least = CHUNK_MIN_BYTES / size->bytes, most = CHUNK_MAX_BYTES / size->bytes;
	uint64_t n = size->queues > least ? size->queues : least;

	n = n < most ? n : most;
	n = n < CHUNK_MAX_QUEUES ? n : CHUNK_MAX_QUEUES;
	return n ? (uint32_t)n : 1;
}

/* Offsets in the file are used once, so that an mmap offset never names two things. */
static int map_chunk(struct native_chunk *c)
{
	struct native_ucontext *ctx = c->ctx;

	c->offset = ctx->end;
	if (ftruncate(ctx->memfd, (off_t)(ctx->end + c->length)))
		return -ENOMEM;
	c->addr = mmap(NULL, c->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, ctx->memfd,
		       (off_t)c->offset);
	if (c->addr == MAP_FAILED)
		return -ENOMEM;
	table_add(&ctx->chunks, &c->by_offset, c->offset);
	LIST_INSERT_HEAD(&ctx->all_chunks, c, of_ctx);
	ctx->end += c->length;
	return 0;
}

static struct native_chunk *add_chunk(struct native_ucontext *ctx, struct native_size *size)
{
	const uint32_t num = chunk_queues(size);
	struct native_chunk *c = calloc(1, sizeof(*c) + num * sizeof(c->mem[0]));

	if (!c)
		return NULL;
	c->size = size;
	c->ctx = ctx;
	c->num = num;
	c->length = num * size->bytes;
	if (map_chunk(c)) {
		free(c);
		return NULL;
	}
	size->queues += num;
	LIST_INSERT_HEAD(&size->roomy, c, link);
	return c;
}

static bool roomy(const struct native_chunk *c)
{
	return c->free || c->fresh < c->num;
}

/* Its pages go with it. */
static void drop_chunk(struct native_chunk *c)
{
	struct native_ucontext *ctx = c->ctx;

	munmap(c->addr, c->length);
	if (ctx) {
		fallocate(ctx->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)c->offset,
			  (off_t)c->length);
		LIST_REMOVE(c, link);
		c->size->queues -= c->num;
		table_remove(&ctx->chunks, &c->by_offset);
		LIST_REMOVE(c, of_ctx);
	}
	free(c);
}

static struct native_mem *take_room(struct native_chunk *c)
{
	struct native_mem *mem = c->free;
	uint64_t offset;

	if (mem)
		c->free = mem->next;
	else
		mem = &c->mem[c->fresh++];
	offset = (uint64_t)(mem - c->mem) * c->size->bytes;
	*mem = (struct native_mem){.chunk = c, .addr = c->addr + offset, .offset = offset, .live = true};
	c->used++;
	c->live++;
	if (!roomy(c))
		LIST_REMOVE(c, link);
	return mem;
}

struct native_mem *native_mem_alloc(struct native_ucontext *ctx, uint64_t length)
{
	struct native_size *size;
	struct native_chunk *c;

	native_mem_reap(native_dev(ctx->base.dev), false);
	size = find_size(ctx, size_class(length));
	if (!size)
		return NULL;
	c = LIST_FIRST(&size->roomy);
	if (!c)
		c = add_chunk(ctx, size);
	return c ? take_room(c) : NULL;
}

static uint64_t device_time(const struct native_dev *n)
{
	__le64 ps;

	hca_mmio_read(n->base.dev->hca, HCASIM_BAR_REGS, HCASIM_REG_CLOCK_PS, &ps, sizeof(ps));
	return le64toh(ps);
}

/* Fresh pages, all zero, when the next one looks. */
static void clear(const struct native_mem *mem)
{
	const struct native_chunk *c = mem->chunk;

	fallocate(c->ctx->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(c->offset + mem->offset),
		  (off_t)c->size->bytes);
}

/* The pages go back at once, their addresses later: a write that is still on its way must find some. */
void native_mem_free(struct native_mem *mem)
{
	struct native_dev *n = native_dev(mem->chunk->ctx->base.dev);

	clear(mem);
	mem->live = false;
	mem->chunk->live--;
	mem->freed = device_time(n);
	STAILQ_INSERT_TAIL(&n->dead, mem, dead);
	native_mem_reap(n, false);
}

/* No transfer to it is under way any more. */
static void give_back(struct native_mem *mem)
{
	struct native_chunk *c = mem->chunk;
	const bool listed = roomy(c);

	mem->next = c->free;
	c->free = mem;
	if (c->ctx && !listed)
		LIST_INSERT_HEAD(&c->size->roomy, c, link);
	if (!--c->used)
		drop_chunk(c);
	else if (c->ctx)
		clear(mem); /* of what came late */
}

void native_mem_reap(struct native_dev *n, bool all)
{
	const uint64_t now = STAILQ_EMPTY(&n->dead) || all ? 0 : device_time(n);
	struct native_mem *mem;

	while ((mem = STAILQ_FIRST(&n->dead)) && (all || now - mem->freed >= GRACE_PS)) {
		STAILQ_REMOVE_HEAD(&n->dead, dead);
		give_back(mem);
	}
}

uint64_t native_mem_mmap_offset(const struct native_mem *mem)
{
	return NATIVE_MMAP_MEMORY + mem->chunk->offset;
}

uint64_t native_mem_mmap_size(const struct native_mem *mem)
{
	return mem->chunk->length;
}

int native_mem_mmap(struct native_ucontext *ctx, uint64_t offset, uint64_t length, struct drv_mmap *out)
{
	const struct table_node *n = table_find(&ctx->chunks, offset - NATIVE_MMAP_MEMORY);
	const struct native_chunk *c = n ? table_entry(n, struct native_chunk, by_offset) : NULL;

	if (!c || !c->live || c->length != length)
		return -EINVAL;
	out->kind = DRV_MMAP_MEMORY;
	out->memfd = ctx->memfd;
	out->memfd_offset = c->offset;
	out->length = length;
	return 0;
}

int native_mem_init(struct native_ucontext *ctx)
{
	ctx->memfd = memfd_create("hcasim-rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ctx->memfd < 0)
		return -ENOMEM;
	/* The application has it, too: one that truncated it would end us with SIGBUS. */
	if (fcntl(ctx->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL)) {
		close(ctx->memfd);
		return -ENOMEM;
	}
	return 0;
}

static void leave_chunk(struct native_chunk *c)
{
	LIST_REMOVE(c, of_ctx);
	for (uint32_t i = 0; i < c->fresh; i++) {
		if (c->mem[i].live)
			native_mem_free(&c->mem[i]);
	}
	if (roomy(c))
		LIST_REMOVE(c, link);
	c->ctx = NULL;
}

void native_mem_exit(struct native_ucontext *ctx)
{
	struct native_chunk *c;
	struct native_size *size;

	native_mem_reap(native_dev(ctx->base.dev), false);
	while ((c = LIST_FIRST(&ctx->all_chunks)))
		leave_chunk(c);
	while ((size = LIST_FIRST(&ctx->all_sizes))) {
		LIST_REMOVE(size, link);
		free(size);
	}
	table_free(&ctx->chunks);
	table_free(&ctx->sizes);
	close(ctx->memfd);
}
