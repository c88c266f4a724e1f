// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* User contexts: their doorbell page, and the memory of their rings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <fcntl.h>

#include "driver.h"

/* mmap offsets of a context: its doorbell pages from 0 on, BAR dm from NATIVE_MMAP_DM on, its rings from MMAP_MEMORY on. */
#define MMAP_UAR    0
#define MMAP_MEMORY (1ull << 40)
_Static_assert(NATIVE_MMAP_DM + HCASIM_BAR_DM_SIZE <= MMAP_MEMORY, "mmap offsets overlap");
/* After this much device time no transfer of a destroyed object is under way any more. */
#define GRACE_PS 1000000000ull /* 1 ms */

void native_udata_put(struct drv_udata *u, const void *resp, size_t len)
{
	if (len > u->out_len)
		len = u->out_len;
	memcpy(u->out, resp, len);
	u->out_used = len;
}

int native_udata_get(const struct drv_udata *u, void *req, size_t len)
{
	const uint8_t *in = u->in;

	if (u->in_len < len)
		return -EINVAL;
	for (size_t i = len; i < u->in_len; i++) {
		if (in[i])
			return -EOPNOTSUPP;
	}
	memcpy(req, in, len);
	return 0;
}

uint64_t native_now(const struct native_dev *n)
{
	__le64 ps;

	hca_mmio_read(n->dev->hca, HCASIM_BAR_REGS, HCASIM_REG_CLOCK_PS, &ps, sizeof(ps));
	return le64toh(ps);
}

uint64_t native_mem_mmap_offset(const struct native_mem *mem)
{
	return MMAP_MEMORY + mem->offset;
}

struct native_mem *native_mem_alloc(struct native_ucontext *ctx, uint64_t length)
{
	struct native_mem *mem = calloc(1, sizeof(*mem));

	native_mem_reap(native_dev(ctx->base.dev), false);
	if (!mem)
		return NULL;
	mem->length = (length + NATIVE_PAGE_SIZE - 1) & ~(uint64_t)(NATIVE_PAGE_SIZE - 1);
	mem->offset = ctx->end;
	if (ftruncate(ctx->memfd, ctx->end + mem->length))
		goto err;
	mem->addr = mmap(NULL, mem->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, ctx->memfd,
			 mem->offset);
	if (mem->addr == MAP_FAILED)
		goto err;
	ctx->end += mem->length;
	mem->next = ctx->mems;
	ctx->mems = mem;
	return mem;
err:
	free(mem);
	return NULL;
}

static void unlink_mem(struct native_mem **list, struct native_mem *mem)
{
	while (*list != mem)
		list = &(*list)->next;
	*list = mem->next;
}

/* The pages go back at once, their addresses later: a write that is still on its way must find some. */
void native_mem_free(struct native_ucontext *ctx, struct native_mem *mem)
{
	struct native_dev *n = native_dev(ctx->base.dev);

	unlink_mem(&ctx->mems, mem);
	fallocate(ctx->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, mem->offset, mem->length);
	mem->freed = native_now(n);
	mem->next = n->dead;
	n->dead = mem;
	native_mem_reap(n, false);
}

void native_mem_reap(struct native_dev *n, bool all)
{
	const uint64_t now = n->dead && !all ? native_now(n) : 0;
	struct native_mem **list = &n->dead, *mem;

	while ((mem = *list)) {
		if (!all && now - mem->freed < GRACE_PS) {
			list = &mem->next;
			continue;
		}
		*list = mem->next;
		munmap(mem->addr, mem->length);
		free(mem);
	}
}

/* Page 0 is the driver's own. */
static int uar_alloc(struct native_dev *n, uint32_t *page)
{
	for (uint32_t i = 1; i < HCASIM_UAR_PAGES; i++) {
		if (!n->uar_used[i]) {
			n->uar_used[i] = 1;
			*page = i;
			return 0;
		}
	}
	return -ENOMEM;
}

/* A thread domain's page is given out when it is first mapped, and stays the context's. */
static int mmap_uar(struct native_ucontext *ctx, uint64_t offset, uint64_t length, struct drv_mmap *out)
{
	const uint64_t index = (offset - MMAP_UAR) / HCASIM_UAR_PAGE_SIZE;
	int ret = 0;

	if (length != HCASIM_UAR_PAGE_SIZE || index > NATIVE_TD_UARS)
		return -EINVAL;
	if (!ctx->uar_page[index])
		ret = uar_alloc(native_dev(ctx->base.dev), &ctx->uar_page[index]);
	if (ret)
		return ret;
	out->kind = DRV_MMAP_BAR;
	out->bar = HCASIM_BAR_UAR;
	out->bar_offset = (uint64_t)ctx->uar_page[index] * HCASIM_UAR_PAGE_SIZE;
	out->write_combining = true;
	out->length = length;
	return 0;
}

int native_mmap(struct drv_ucontext *base, uint64_t offset, uint64_t length, struct drv_mmap *out)
{
	struct native_ucontext *ctx = native_ctx(base);

	memset(out, 0, sizeof(*out));
	if (offset >= NATIVE_MMAP_DM && offset < MMAP_MEMORY)
		return native_mmap_dm(ctx, offset - NATIVE_MMAP_DM, length, out);
	if (offset < MMAP_MEMORY)
		return mmap_uar(ctx, offset, length, out);
	for (const struct native_mem *mem = ctx->mems; mem; mem = mem->next) {
		if (native_mem_mmap_offset(mem) != offset)
			continue;
		if (mem->length != length)
			return -EINVAL;
		out->kind = DRV_MMAP_MEMORY;
		out->memfd = ctx->memfd;
		out->memfd_offset = mem->offset;
		out->length = length;
		return 0;
	}
	return -EINVAL;
}

int native_query_ucontext(struct drv_ucontext *ctx, struct drv_udata *u)
{
	const struct hcasim_alloc_ucontext_resp resp = {
		.uar_mmap_offset = MMAP_UAR,
		.max_send_wqebb = HCASIM_MAX_SQ_WQEBB,
		.max_inline = HCASIM_MAX_INLINE,
		.max_sge = HCASIM_MAX_SGE,
		.td_uars = NATIVE_TD_UARS,
		.max_tso = HCASIM_MAX_TSO,
		.max_tso_hdr = HCASIM_MAX_TSO_HDR,
	};

	native_udata_put(u, &resp, sizeof(resp));
	return 0;
}

int native_alloc_ucontext(struct drv_ucontext *base, struct drv_udata *u)
{
	struct native_ucontext *ctx = native_ctx(base);
	struct native_dev *n = native_dev(base->dev);
	int ret;

	/* A provider that has no room for the answer knows no doorbell page: it could not work. */
	if (u->out_len < sizeof(struct hcasim_alloc_ucontext_resp))
		return -EINVAL;
	ctx->memfd = memfd_create("hcasim-rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ctx->memfd < 0)
		return -ENOMEM;
	/* The application has it, too: one that truncated it would end us with SIGBUS. */
	ret = fcntl(ctx->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) ? -ENOMEM : 0;
	if (!ret)
		ret = uar_alloc(n, &ctx->uar_page[0]);
	if (ret) {
		close(ctx->memfd);
		return ret;
	}
	return native_query_ucontext(base, u);
}

void native_dealloc_ucontext(struct drv_ucontext *base)
{
	struct native_ucontext *ctx = native_ctx(base);

	for (unsigned int i = 0; i <= NATIVE_TD_UARS; i++) {
		if (ctx->uar_page[i])
			native_dev(base->dev)->uar_used[ctx->uar_page[i]] = 0;
	}
	while (ctx->mems)
		native_mem_free(ctx, ctx->mems);
	close(ctx->memfd);
}
