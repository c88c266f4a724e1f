// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues. */
#include <endian.h>
#include <errno.h>

#include "driver.h"

static struct native_cq *native_cq(struct drv_cq *cq)
{
	return (struct native_cq *)cq;
}

static uint32_t ring_entries(uint32_t cqe)
{
	uint32_t n = 1;

	while (n < cqe)
		n *= 2;
	return n;
}

/* Behind the ring, in a separate cache line. */
static uint64_t record_offset(uint32_t entries)
{
	return (uint64_t)entries * HCASIM_CQE_SIZE;
}

static struct native_mem *alloc_ring(struct native_cq *cq, uint32_t entries, struct hca_cq_attr *attr)
{
	struct native_mem *mem;

	mem = native_mem_alloc(native_ctx(cq->base.ctx),
			       record_offset(entries) + sizeof(struct hcasim_cq_record));
	if (!mem)
		return NULL;
	*attr = (struct hca_cq_attr){
		.ring = {HCA_PASID_KERNEL, (uintptr_t)mem->addr, entries, HCASIM_CQE_SIZE},
		.record = (uintptr_t)mem->addr + record_offset(entries),
		.eqn = cq->eqn,
		.uar_page = native_ctx(cq->base.ctx)->uar_page[0],
	};
	return mem;
}

static void fill_orphan(struct native_cq *cq)
{
	cq->base.orphan = (struct drv_orphan){
		.mmap_offset = native_mem_mmap_offset(cq->mem),
		.size = native_mem_mmap_size(cq->mem),
		.number = cq->base.cqn,
		.ring = cq->mem->offset,
		.record = cq->mem->offset + record_offset(cq->base.cqe),
		.entries = cq->base.cqe,
	};
}

int native_create_cq(struct drv_cq *base, uint32_t cqe, uint32_t vector, uint32_t flags, struct drv_udata *u)
{
	struct common_dev *n = common_dev(base->ctx->dev);
	struct native_cq *cq = native_cq(base);
	struct hcasim_create_cq_resp resp;
	struct hca_cq_attr attr;
	int ret;

	if (flags & ~(uint32_t)IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (cqe < 1 || cqe > HCASIM_MAX_CQE || u->out_len < sizeof(resp))
		return -EINVAL;
	cq->eqn = n->eq[1 + vector].eqn;
	base->cqe = ring_entries(cqe);
	cq->mem = alloc_ring(cq, base->cqe, &attr);
	if (!cq->mem)
		return -ENOMEM;
	ret = common_create_cq(base, &attr);
	if (ret) {
		native_mem_free(cq->mem);
		return ret;
	}
	fill_orphan(cq);
	resp = (struct hcasim_create_cq_resp){
		.cqn = base->cqn,
		.cqe = base->cqe,
		.ring_mmap_offset = native_mem_mmap_offset(cq->mem),
		.ring_mmap_size = native_mem_mmap_size(cq->mem),
		.ring_offset = cq->mem->offset,
		.record_offset = cq->mem->offset + record_offset(base->cqe),
	};
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}

/* Consumer index in the application's record of the ring. */
static uint32_t consumer_index(const struct native_cq *cq)
{
	const uint8_t *record = cq->mem->addr + record_offset(cq->base.cqe);
	const struct hcasim_cq_record *rec = (const struct hcasim_cq_record *)record;

	return le32toh(__atomic_load_n(&rec->ci, __ATOMIC_ACQUIRE));
}

/* The old ring is kept until the CQ is destroyed: the application polls it empty first. */
int native_resize_cq(struct drv_cq *base, uint32_t cqe, struct drv_udata *u)
{
	struct common_dev *n = common_dev(base->ctx->dev);
	struct native_cq *cq = native_cq(base);
	struct hcasim_resize_cq_resp resp;
	struct native_mem *mem;
	struct hca_cq_attr attr;
	uint32_t entries;
	int ret;

	if (cqe < 1 || cqe > HCASIM_MAX_CQE || u->out_len < sizeof(resp))
		return -EINVAL;
	entries = ring_entries(cqe);
	mem = alloc_ring(cq, entries, &attr);
	if (!mem)
		return -ENOMEM;
	ret = hca_cq_resize(n->dev->hca, base->cqn, &attr, consumer_index(cq));
	if (ret) {
		native_mem_free(mem);
		return ret;
	}
	mem->older = cq->mem;
	cq->mem = mem;
	base->cqe = entries;
	fill_orphan(cq);
	resp = (struct hcasim_resize_cq_resp){
		.cqe = entries,
		.ring_mmap_offset = native_mem_mmap_offset(mem),
		.ring_mmap_size = native_mem_mmap_size(mem),
		.ring_offset = mem->offset,
		.record_offset = mem->offset + record_offset(entries),
	};
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}

int native_destroy_cq(struct drv_cq *base)
{
	struct native_cq *cq = native_cq(base);
	const int ret = common_destroy_cq(base);
	struct native_mem *mem;

	if (ret)
		return ret;
	while ((mem = cq->mem)) {
		cq->mem = mem->older;
		native_mem_free(mem);
	}
	return 0;
}
