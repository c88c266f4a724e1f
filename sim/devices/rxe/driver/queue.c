// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory of queues: pages of the context's file, which the library maps at the offset that a response tells it. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"

/* After this much device time no transfer of a destroyed object is under way any more. */
#define GRACE_PS 1000000000ull /* 1 ms */

static uint64_t device_time(const struct rxe_dev *n)
{
	uint64_t ps;

	hca_mmio_read(n->base.dev->hca, 0, 0, &ps, sizeof(ps));
	return ps;
}

static struct rxe_ucontext *rxe_ctx(struct drv_ucontext *ctx)
{
	return (struct rxe_ucontext *)ctx;
}

void rxe_queue_size(struct rxe_queue *q, uint32_t entries, uint32_t stride)
{
	q->stride = stride;
	for (q->entries = 2; q->entries <= entries;)
		q->entries *= 2;
	q->size = sizeof(*q->head) + (uint64_t)q->entries * stride;
	q->size = (q->size + COMMON_PAGE_SIZE - 1) / COMMON_PAGE_SIZE * COMMON_PAGE_SIZE;
}

/* The library reads the head at any time: its constants never show another value. Elements have no meaning yet. */
void rxe_queue_clear(struct rxe_queue *q)
{
	struct hcasim_rxe_queue *head = q->head;

	if (!head)
		return;
	head->log2_elem_size = htole32((uint32_t)__builtin_ctz(q->stride));
	head->index_mask = htole32(q->entries - 1);
	head->posted = 0;
	head->armed = 0;
	__atomic_store_n(&head->consumer_index, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&head->producer_index, 0, __ATOMIC_RELEASE);
}

static void place(struct rxe_queue *q, struct rxe_mem *mem, uint64_t at)
{
	q->head = (struct hcasim_rxe_queue *)(mem->addr + at);
	q->offset = mem->offset + at;
	rxe_queue_clear(q);
}

struct rxe_mem *rxe_mem_alloc(struct drv_ucontext *base, struct rxe_queue *first, struct rxe_queue *second)
{
	struct rxe_ucontext *ctx = rxe_ctx(base);
	struct rxe_mem *mem = calloc(1, sizeof(*mem));

	rxe_mem_reap(rxe_dev(base->dev), false);
	if (!mem)
		return NULL;
	mem->ctx = ctx;
	mem->offset = ctx->end;
	mem->length = first->size + (second ? second->size : 0);
	if (ftruncate(ctx->memfd, (off_t)(ctx->end + mem->length)))
		goto err;
	/* Offsets are used once, so that none ever names two queues; and the file is sealed: it does not shrink. */
	ctx->end += mem->length;
	mem->addr =
		mmap(NULL, mem->length, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->memfd, (off_t)mem->offset);
	if (mem->addr == MAP_FAILED)
		goto err;
	LIST_INSERT_HEAD(&ctx->mems, mem, of_ctx);
	place(first, mem, 0);
	if (second)
		place(second, mem, first->size);
	return mem;
err:
	free(mem);
	return NULL;
}

/* The pages go back at once, their addresses later: a write that is still on its way must find some. */
void rxe_mem_free(struct rxe_dev *n, struct rxe_mem *mem)
{
	if (!mem)
		return;
	fallocate(mem->ctx->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)mem->offset,
		  (off_t)mem->length);
	LIST_REMOVE(mem, of_ctx);
	mem->ctx = NULL;
	mem->freed = device_time(n);
	STAILQ_INSERT_TAIL(&n->dead, mem, dead);
	rxe_mem_reap(n, false);
}

void rxe_mem_reap(struct rxe_dev *n, bool all)
{
	struct rxe_mem *mem;

	while ((mem = STAILQ_FIRST(&n->dead)) && (all || device_time(n) - mem->freed >= GRACE_PS)) {
		STAILQ_REMOVE_HEAD(&n->dead, dead);
		munmap(mem->addr, mem->length);
		free(mem);
	}
}

int rxe_mmap(struct drv_ucontext *base, uint64_t offset, uint64_t length, struct drv_mmap *out)
{
	struct rxe_ucontext *ctx = rxe_ctx(base);
	struct rxe_mem *mem;

	memset(out, 0, sizeof(*out));
	LIST_FOREACH(mem, &ctx->mems, of_ctx)
	{
		if (offset < mem->offset || offset - mem->offset >= mem->length ||
		    length > mem->length - (offset - mem->offset))
			continue;
		out->kind = DRV_MMAP_MEMORY;
		out->memfd = ctx->memfd;
		out->memfd_offset = offset;
		out->length = length;
		return 0;
	}
	return -EINVAL;
}

int rxe_alloc_ucontext(struct drv_ucontext *base, struct drv_udata *u)
{
	struct rxe_ucontext *ctx = rxe_ctx(base);

	LIST_INIT(&ctx->mems);
	ctx->memfd = memfd_create("hcasim-rxe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ctx->memfd < 0)
		return -ENOMEM;
	/* The application has it, too: one that truncated it would end us with SIGBUS. */
	if (fcntl(ctx->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL)) {
		close(ctx->memfd);
		return -ENOMEM;
	}
	return 0;
}

void rxe_dealloc_ucontext(struct drv_ucontext *base)
{
	struct rxe_ucontext *ctx = rxe_ctx(base);
	struct rxe_mem *mem, *next;

	for (mem = LIST_FIRST(&ctx->mems); mem; mem = next) {
		next = LIST_NEXT(mem, of_ctx);
		rxe_mem_free(rxe_dev(base->dev), mem);
	}
	close(ctx->memfd);
}
