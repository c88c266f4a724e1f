// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues. */
#include <errno.h>

#include "driver.h"

static struct native_srq *native_srq(struct drv_srq *srq)
{
	return (struct native_srq *)srq;
}

void native_tm_caps(struct ib_uverbs_ex_query_device_resp *out)
{
	out->tm_caps = (struct ib_uverbs_tm_caps){
		.max_rndv_hdr_size = HCASIM_TM_MAX_RNDV_HDR,
		.max_num_tags = HCASIM_TM_MAX_TAGS,
		.flags = HCASIM_TM_CAP_RC,
		.max_ops = HCASIM_TM_MAX_OPS,
		.max_sge = HCASIM_TM_MAX_SGE,
	};
}

static int check(const struct drv_srq_init *init, const struct hcasim_create_srq_req *req)
{
	const uint32_t rqe = sizeof(struct hcasim_rqe) + init->max_sge * sizeof(struct hcasim_seg_data);

	/* The ring has room for every later resize; pages that are never used cost nothing. */
	if (req->reserved)
		return -EOPNOTSUPP;
	if (!init->num_tags != !req->tm_ops || req->tm_ops & (req->tm_ops - 1) ||
	    req->tm_ops > HCASIM_TM_MAX_OPS)
		return -EINVAL;
	if (!init->max_wr || req->wqe_count != HCASIM_MAX_SRQ_WR || req->stride & (req->stride - 1))
		return -EINVAL;
	return req->stride < 32 || req->stride < rqe || req->stride > HCA_WQE_MAX ? -EINVAL : 0;
}

int native_create_srq(struct drv_srq *base, struct drv_srq_init *init, struct drv_udata *u)
{
	struct native_ucontext *ctx = native_ctx(base->pd->ctx);
	struct native_srq *srq = native_srq(base);
	struct hcasim_create_srq_resp resp;
	struct hcasim_create_srq_req req;
	struct hca_srq_attr attr;
	uint64_t ring, ops;
	int ret;

	ret = common_udata_get(u, &req, sizeof(req));
	if (!ret)
		ret = u->out_len < sizeof(resp) ? -EINVAL : check(init, &req);
	if (ret)
		return ret;
	ring = (uint64_t)req.wqe_count * req.stride;
	ops = ring + sizeof(struct hcasim_srq_record);
	srq->mem = native_mem_alloc(ctx, ops + (uint64_t)req.tm_ops * HCASIM_TM_OP_SIZE);
	if (!srq->mem)
		return -ENOMEM;
	attr = (struct hca_srq_attr){
		.pdn = common_pdn(base->pd),
		.ring = {HCA_PASID_KERNEL, (uintptr_t)srq->mem->addr, req.wqe_count, req.stride},
		.record = (uintptr_t)srq->mem->addr + ring,
		.xrcdn = init->xrcdn,
		.cqn = init->cq ? init->cq->cqn : 0,
		.num_tags = init->num_tags,
		.tag_ops = {HCA_PASID_KERNEL, (uintptr_t)srq->mem->addr + ops, req.tm_ops, HCASIM_TM_OP_SIZE},
		.uar_page = ctx->uar_page[0],
	};
	ret = common_create_srq(base, &attr);
	if (ret) {
		native_mem_free(srq->mem);
		return ret;
	}
	resp = (struct hcasim_create_srq_resp){
		.srqn = base->srqn,
		.ring_mmap_offset = native_mem_mmap_offset(srq->mem),
		.ring_mmap_size = native_mem_mmap_size(srq->mem),
		.ring_offset = srq->mem->offset,
		.record_offset = srq->mem->offset + ring,
		.tm_ops_offset = srq->mem->offset + ops,
	};
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}

int native_destroy_srq(struct drv_srq *srq)
{
	const int ret = common_destroy_srq(srq);

	if (!ret)
		native_mem_free(native_srq(srq)->mem);
	return ret;
}
