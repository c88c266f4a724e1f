// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Protection domains, memory regions and windows; address handles, which live in WQEs and are counted here. */
#include <errno.h>

#include "devices/common/common.h"

int common_alloc_pd(struct drv_pd *base)
{
	struct common_pd *pd = (struct common_pd *)base;

	return numbers_add(&common_dev(base->ctx->dev)->pds, pd, &pd->pdn);
}

void common_dealloc_pd(struct drv_pd *pd)
{
	numbers_remove(&common_dev(pd->ctx->dev)->pds, common_pdn(pd));
}

int common_reg_mr(struct drv_mr *base, uint64_t start, uint64_t length, uint64_t iova, uint32_t access,
		  struct drv_udata *u)
{
	struct common_mr *mr = (struct common_mr *)base;
	int ret;

	mr->attr = (struct hca_mr_attr){
		.pdn = common_pdn(base->pd),
		.access = access,
		.pasid = base->pasid,
		.va = start,
		.iova = iova,
		.length = length,
		.tph = base->tph,
	};
	ret = hca_mr_create(base->pd->ctx->dev->hca, &mr->attr, &base->lkey);
	base->rkey = base->lkey;
	return ret;
}

int common_rereg_mr(struct drv_mr *base, uint32_t flags, uint64_t start, uint64_t length, uint64_t iova,
		    uint32_t access, struct drv_pd *pd)
{
	struct common_mr *mr = (struct common_mr *)base;
	struct hca_mr_attr attr = mr->attr;
	uint32_t key;
	int ret;

	if (flags & 1) { /* IB_MR_REREG_TRANS */
		attr.pasid = base->pasid;
		attr.va = start;
		attr.length = length;
		attr.iova = iova;
	}
	if (pd)
		attr.pdn = common_pdn(pd);
	if (flags & 4) /* IB_MR_REREG_ACCESS */
		attr.access = access;
	ret = hca_mr_modify(base->pd->ctx->dev->hca, base->lkey, &attr, &key);
	if (ret)
		return ret;
	mr->attr = attr;
	base->lkey = key;
	base->rkey = key;
	return 0;
}

int common_dereg_mr(struct drv_mr *base)
{
	return hca_mr_destroy(base->pd->ctx->dev->hca, base->lkey);
}

int common_alloc_mw(struct drv_mw *mw, struct drv_udata *u)
{
	return hca_mw_create(mw->pd->ctx->dev->hca, common_pdn(mw->pd), mw->type, &mw->rkey);
}

int common_dealloc_mw(struct drv_mw *mw)
{
	return hca_mw_destroy(mw->pd->ctx->dev->hca, mw->rkey);
}

int common_create_ah(struct drv_ah *ah)
{
	struct common_dev *n = common_dev(ah->pd->ctx->dev);

	if (n->num_ahs == COMMON_MAX_AH)
		return -ENOMEM;
	n->num_ahs++;
	return 0;
}

int common_destroy_ah(struct drv_ah *ah)
{
	common_dev(ah->pd->ctx->dev)->num_ahs--;
	return 0;
}
