// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* On-demand paging: what the adapter can do, and the commands that page requests and prefetches are made of. */
#include <errno.h>

#include "devices/common/common.h"

#define RELIABLE                                                                                             \
	(HCASIM_ODP_OP_SEND | HCASIM_ODP_OP_WRITE | HCASIM_ODP_OP_READ | HCASIM_ODP_OP_ATOMIC |              \
	 HCASIM_ODP_OP_SRQ_RECV)

void common_odp_caps(struct ib_uverbs_ex_query_device_resp *out)
{
	out->odp_caps.general_caps = HCASIM_ODP_SUPPORT | HCASIM_ODP_SUPPORT_IMPLICIT;
	out->odp_caps.per_transport_caps.rc_odp_caps = RELIABLE | HCASIM_ODP_OP_RECV;
	out->xrc_odp_caps = RELIABLE;
	/* Of a fault at the receiver, messages are lost. */
	out->odp_caps.per_transport_caps.uc_odp_caps =
		HCASIM_ODP_OP_SEND | HCASIM_ODP_OP_RECV | HCASIM_ODP_OP_WRITE | HCASIM_ODP_OP_SRQ_RECV;
	out->odp_caps.per_transport_caps.ud_odp_caps =
		HCASIM_ODP_OP_SEND | HCASIM_ODP_OP_RECV | HCASIM_ODP_OP_SRQ_RECV;
}

int common_page_request(struct drv_device *dev, uint32_t token, struct hca_page_range *range, uint32_t max)
{
	return hca_page_request(dev->hca, token, range, max);
}

void common_page_response(struct drv_device *dev, uint32_t token, bool mapped)
{
	hca_page_response(dev->hca, token, mapped);
}

int common_map_pages(struct drv_device *dev, const struct hca_page_range *range, bool prefetch)
{
	return hca_mr_map(dev->hca, range, prefetch);
}

void common_unmap_pages(struct drv_device *dev, uint32_t pasid, uint64_t va, uint64_t len)
{
	hca_mr_unmap(dev->hca, pasid, va, len);
}

int common_prefetch_range(struct drv_pd *pd, const struct ib_uverbs_sge *sge, bool write,
			  struct hca_page_range *out)
{
	struct hca_mr_attr attr;
	int ret = hca_mr_query(pd->ctx->dev->hca, sge->lkey, &attr);

	if (ret)
		return ret;
	if (!(attr.access & HCASIM_ACCESS_ON_DEMAND))
		return -ENOENT;
	if (attr.pdn != common_pdn(pd) || (write && !(attr.access & HCASIM_ACCESS_LOCAL_WRITE)))
		return -EPERM;
	return hca_mr_pages(pd->ctx->dev->hca, sge->lkey, sge->addr, sge->length, write, out);
}
