// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Device memory: whole pages of BAR dm, first fit. */
#include <errno.h>
#include <string.h>

#include "core/personality.h"
#include "driver.h"

/*
 * Memory that an application still maps, or operations on it, is not reused, even if it was freed (as
 * rdma_user_mmap_entry of Linux).
 */
static bool page_free(const struct native_dev *n, uint32_t page)
{
	const unsigned int ranges = n->dev->ops->personality->dm_ops ? 1 + HCA_DM_OPS : 1;

	if (n->dm_owner[page])
		return false;
	for (unsigned int i = 0; i < ranges; i++) {
		const uint64_t offset = i * HCASIM_BAR_DM_SIZE + (uint64_t)page * HCASIM_DM_PAGE_SIZE;

		if (n->up->bar_mapped(n->dev, HCASIM_BAR_DM, offset, HCASIM_DM_PAGE_SIZE))
			return false;
	}
	return true;
}

static int find_pages(const struct native_dev *n, uint32_t num, uint32_t align, uint32_t *first)
{
	uint32_t run = 0;

	for (uint32_t page = 0; page < NATIVE_DM_PAGES; page++) {
		run = page_free(n, page) && (run || page % align == 0) ? run + 1 : 0;
		if (run == num) {
			*first = page + 1 - num;
			return 0;
		}
	}
	return -ENOMEM;
}

struct hcasim_alloc_dm_resp native_dm_resp(const struct drv_dm *base)
{
	const struct native_dm *dm = (const struct native_dm *)base;

	return (struct hcasim_alloc_dm_resp){
		.mmap_offset = NATIVE_MMAP_DM + (uint64_t)dm->first * HCASIM_DM_PAGE_SIZE,
		.mmap_size = (uint64_t)dm->num * HCASIM_DM_PAGE_SIZE,
		.length = base->length,
	};
}

int native_alloc_dm(struct drv_dm *base, uint32_t log_align, struct drv_udata *u)
{
	struct hcasim_alloc_dm_resp resp;
	struct native_dev *n = native_dev(base->ctx->dev);
	struct native_dm *dm = (struct native_dm *)base;
	uint32_t align;
	int ret;

	if (!base->length)
		return -EINVAL;
	if (base->length > HCASIM_BAR_DM_SIZE || log_align >= 32 || 1ull << log_align > HCASIM_BAR_DM_SIZE)
		return -ENOMEM;
	align = 1u << log_align > HCASIM_DM_PAGE_SIZE ? (1u << log_align) / HCASIM_DM_PAGE_SIZE : 1;
	dm->num = (uint32_t)((base->length + HCASIM_DM_PAGE_SIZE - 1) / HCASIM_DM_PAGE_SIZE);
	ret = find_pages(n, dm->num, align, &dm->first);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < dm->num; i++)
		n->dm_owner[dm->first + i] = native_ctx(base->ctx);
	hca_dm_clear(n->dev->hca, (uint64_t)dm->first * HCASIM_DM_PAGE_SIZE,
		     (uint64_t)dm->num * HCASIM_DM_PAGE_SIZE);
	resp = native_dm_resp(base);
	native_udata_put(u, &resp, sizeof(resp));
	return 0;
}

int native_free_dm(struct drv_dm *base)
{
	struct native_dev *n = native_dev(base->ctx->dev);
	const struct native_dm *dm = (struct native_dm *)base;

	memset(&n->dm_owner[dm->first], 0, dm->num * sizeof(n->dm_owner[0]));
	return 0;
}

int native_mmap_dm(struct native_ucontext *ctx, uint64_t offset, uint64_t length, struct drv_mmap *out)
{
	const struct native_dev *n = native_dev(ctx->base.dev);

	if (!length || offset % HCASIM_DM_PAGE_SIZE || offset >= HCASIM_BAR_DM_SIZE ||
	    length > HCASIM_BAR_DM_SIZE - offset)
		return -EINVAL;
	for (uint64_t at = offset; at < offset + length; at += HCASIM_DM_PAGE_SIZE) {
		if (n->dm_owner[at / HCASIM_DM_PAGE_SIZE] != ctx)
			return -EINVAL;
	}
	out->kind = DRV_MMAP_BAR;
	out->bar = HCASIM_BAR_DM;
	out->bar_offset = offset;
	out->write_combining = true;
	out->length = length;
	return 0;
}

int native_reg_dm_mr(struct drv_mr *base, struct drv_dm *base_dm, uint64_t offset, uint64_t length,
		     uint32_t access)
{
	const struct native_dm *dm = (struct native_dm *)base_dm;
	struct native_mr *mr = (struct native_mr *)base;
	int ret;

	mr->attr = (struct hca_mr_attr){
		.pdn = native_pdn(base->pd),
		.access = access,
		.pasid = HCA_PASID_DEVICE,
		.va = (uint64_t)dm->first * HCASIM_DM_PAGE_SIZE + offset,
		.iova = 0,
		.length = length,
	};
	ret = hca_mr_create(base->pd->ctx->dev->hca, &mr->attr, &base->lkey);
	base->rkey = base->lkey;
	return ret;
}
