// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Device memory: whole pages of its BAR, for that is what can be mapped; first fit. */
#include <errno.h>
#include <string.h>

#include "devices/common/common.h"

static uint64_t dm_size(const struct drv_device *dev)
{
	return dev->ops->personality->dm.size;
}

/*
 * Memory that an application still maps, or operations on it, is not reused, even if it was freed (as
 * rdma_user_mmap_entry of Linux).
 */
static bool page_free(const struct common_dev *n, uint32_t page)
{
	const struct hca_personality *p = n->dev->ops->personality;
	const unsigned int ranges = p->dm_ops ? 1 + HCA_DM_OPS : 1;

	if (n->dm_owner[page])
		return false;
	for (unsigned int i = 0; i < ranges; i++) {
		const uint64_t offset = i * p->dm.size + (uint64_t)page * COMMON_PAGE_SIZE;

		if (n->up->bar_mapped(n->dev, p->dm.bar, offset, COMMON_PAGE_SIZE))
			return false;
	}
	return true;
}

static int find_pages(const struct common_dev *n, uint32_t num, uint32_t align, uint32_t *first)
{
	uint32_t run = 0;

	for (uint32_t page = 0; page < dm_size(n->dev) / COMMON_PAGE_SIZE; page++) {
		run = page_free(n, page) && (run || page % align == 0) ? run + 1 : 0;
		if (run == num) {
			*first = page + 1 - num;
			return 0;
		}
	}
	return -ENOMEM;
}

int common_alloc_dm(struct drv_dm *base, uint32_t log_align)
{
	struct common_dev *n = common_dev(base->ctx->dev);
	struct common_dm *dm = (struct common_dm *)base;
	uint32_t align;
	int ret;

	if (!base->length)
		return -EINVAL;
	if (base->length > dm_size(n->dev) || log_align >= 32 || 1ull << log_align > dm_size(n->dev))
		return -ENOMEM;
	align = 1u << log_align > COMMON_PAGE_SIZE ? (1u << log_align) / COMMON_PAGE_SIZE : 1;
	dm->num = (uint32_t)((base->length + COMMON_PAGE_SIZE - 1) / COMMON_PAGE_SIZE);
	ret = find_pages(n, dm->num, align, &dm->first);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < dm->num; i++)
		n->dm_owner[dm->first + i] = base->ctx;
	hca_dm_clear(n->dev->hca, (uint64_t)dm->first * COMMON_PAGE_SIZE,
		     (uint64_t)dm->num * COMMON_PAGE_SIZE);
	return 0;
}

int common_free_dm(struct drv_dm *base)
{
	struct common_dev *n = common_dev(base->ctx->dev);
	const struct common_dm *dm = (struct common_dm *)base;

	memset(&n->dm_owner[dm->first], 0, dm->num * sizeof(n->dm_owner[0]));
	return 0;
}

int common_mmap_dm(const struct drv_ucontext *ctx, uint64_t offset, uint64_t length, struct drv_mmap *out)
{
	const struct common_dev *n = common_dev(ctx->dev);

	if (!length || offset % COMMON_PAGE_SIZE || offset >= dm_size(n->dev) ||
	    length > dm_size(n->dev) - offset)
		return -EINVAL;
	for (uint64_t at = offset; at < offset + length; at += COMMON_PAGE_SIZE) {
		if (n->dm_owner[at / COMMON_PAGE_SIZE] != ctx)
			return -EINVAL;
	}
	out->kind = DRV_MMAP_BAR;
	out->bar = n->dev->ops->personality->dm.bar;
	out->bar_offset = offset;
	out->write_combining = true;
	out->length = length;
	return 0;
}

int common_reg_dm_mr(struct drv_mr *base, struct drv_dm *base_dm, uint64_t offset, uint64_t length,
		     uint32_t access)
{
	const struct common_dm *dm = (struct common_dm *)base_dm;
	struct common_mr *mr = (struct common_mr *)base;
	int ret;

	mr->attr = (struct hca_mr_attr){
		.pdn = common_pdn(base->pd),
		.access = access,
		.pasid = HCA_PASID_DEVICE,
		.va = (uint64_t)dm->first * COMMON_PAGE_SIZE + offset,
		.iova = 0,
		.length = length,
	};
	ret = hca_mr_create(base->pd->ctx->dev->hca, &mr->attr, &base->lkey);
	base->rkey = base->lkey;
	return ret;
}
