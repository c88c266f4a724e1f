// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* User contexts and their doorbell pages. */
#include <errno.h>
#include <string.h>

#include "driver.h"

#define MMAP_UAR 0 /* mmap offset of a context's first doorbell page */
_Static_assert(NATIVE_MMAP_DM + HCASIM_BAR_DM_SIZE <= NATIVE_MMAP_MEMORY, "mmap offsets overlap");

/* A thread domain's page is given out when it is first mapped, and stays the context's. */
static int mmap_uar(struct native_ucontext *ctx, uint64_t offset, uint64_t length, struct drv_mmap *out)
{
	const uint64_t index = (offset - MMAP_UAR) / HCASIM_UAR_PAGE_SIZE;
	int ret = 0;

	if (length != HCASIM_UAR_PAGE_SIZE || index > NATIVE_TD_UARS)
		return -EINVAL;
	if (!ctx->uar_page[index])
		ret = numbers_add(&native_dev(ctx->base.dev)->uars, ctx, &ctx->uar_page[index]);
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
	if (offset >= NATIVE_MMAP_MEMORY)
		return native_mem_mmap(ctx, offset, length, out);
	return offset >= NATIVE_MMAP_DM ? common_mmap_dm(base, offset - NATIVE_MMAP_DM, length, out)
					: mmap_uar(ctx, offset, length, out);
}

int native_query_ucontext(struct drv_ucontext *ctx, struct drv_udata *u)
{
	const struct hcasim_alloc_ucontext_resp resp = {
		.uar_mmap_offset = MMAP_UAR,
		.flags = ctx->dev->poll_doorbell ? HCASIM_UCONTEXT_POLL_DOORBELL : 0,
		.max_send_wqebb = HCASIM_MAX_SQ_WQEBB,
		.max_inline = HCASIM_MAX_INLINE,
		.max_sge = HCASIM_MAX_SGE,
		.td_uars = NATIVE_TD_UARS,
		.max_tso = HCASIM_MAX_TSO,
		.max_tso_hdr = HCASIM_MAX_TSO_HDR,
	};

	common_udata_put(u, &resp, sizeof(resp));
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
	ret = numbers_add(&n->uars, ctx, &ctx->uar_page[0]);
	if (ret)
		return ret;
	ret = native_mem_init(ctx);
	if (ret) {
		numbers_remove(&n->uars, ctx->uar_page[0]);
		return ret;
	}
	return native_query_ucontext(base, u);
}

void native_dealloc_ucontext(struct drv_ucontext *base)
{
	struct native_ucontext *ctx = native_ctx(base);

	for (unsigned int i = 0; i <= NATIVE_TD_UARS; i++) {
		if (ctx->uar_page[i])
			numbers_remove(&native_dev(base->dev)->uars, ctx->uar_page[i]);
	}
	native_mem_exit(ctx);
}
