/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The kernel driver of the native adapter: declarations shared by its files. */
#ifndef HCASIM_NATIVE_DRIVER_H
#define HCASIM_NATIVE_DRIVER_H

#include <sys/queue.h>

#include "containers/table.h"
#include "devices/common/common.h"
#include "hcasim-abi.h"
#include "hcasim_hw.h"

#define NATIVE_TD_UARS 63 /* of one context */
/* mmap offsets of a context: its doorbell pages from 0 on, then BAR dm, then its rings. */
#define NATIVE_MMAP_DM     (1ull << 39)
#define NATIVE_MMAP_MEMORY (1ull << 40)

/* Rings and doorbell record of one queue: whole pages, zero at first, in a mapping that it may share with others. */
struct native_mem {
	struct native_chunk *chunk;
	uint8_t *addr;
	uint64_t offset; /* in the mapping */
	bool live;
	struct native_mem *next;  /* free ones of the chunk */
	struct native_mem *older; /* the ring of a CQ before a resize */
	STAILQ_ENTRY(native_mem) dead;
	uint64_t freed; /* device time, picoseconds */
};

struct native_ucontext {
	struct drv_ucontext base;
	uint32_t uar_page[1 + NATIVE_TD_UARS]; /* its own, then those of thread domains; 0: not given out */
	int memfd;
	uint64_t end; /* of what was handed out */
	/* Queue memory: by offset, by the size of a queue. */
	struct table chunks, sizes;
	LIST_HEAD(, native_chunk) all_chunks;
	LIST_HEAD(, native_size) all_sizes;
};

struct native_cq {
	struct drv_cq base;
	uint32_t eqn;
	struct native_mem *mem;
};

struct native_qp {
	struct drv_qp base;
	struct native_mem *mem;
	uint64_t size;      /* of its rings and the record */
	uint16_t announced; /* basic blocks of the send ring (cpu_work) */
};

struct native_srq {
	struct drv_srq base;
	struct native_mem *mem;
};

struct native_dev {
	struct common_dev base;
	struct numbers uars;            /* of contexts */
	STAILQ_HEAD(, native_mem) dead; /* used again once no transfer can be under way to them */
};

static inline struct native_dev *native_dev(const struct drv_device *dev)
{
	return dev->priv;
}

static inline struct native_ucontext *native_ctx(struct drv_ucontext *ctx)
{
	return (struct native_ucontext *)ctx;
}

/* NULL and nothing taken when there is no memory. */
struct native_mem *native_mem_alloc(struct native_ucontext *ctx, uint64_t length);
/* The application's mapping and the file's pages stay until nothing is under way to them. */
void native_mem_free(struct native_mem *mem);
/* What was freed long enough ago, or all, is used again. */
void native_mem_reap(struct native_dev *n, bool all);
/* The mapping that it is in. */
uint64_t native_mem_mmap_offset(const struct native_mem *mem);
uint64_t native_mem_mmap_size(const struct native_mem *mem);
int native_mem_mmap(struct native_ucontext *ctx, uint64_t offset, uint64_t length, struct drv_mmap *out);
int native_mem_init(struct native_ucontext *ctx);
/* Frees what there is. */
void native_mem_exit(struct native_ucontext *ctx);
int native_mmap(struct drv_ucontext *ctx, uint64_t offset, uint64_t length, struct drv_mmap *out);
int native_alloc_ucontext(struct drv_ucontext *ctx, struct drv_udata *u);
int native_query_ucontext(struct drv_ucontext *ctx, struct drv_udata *u);
void native_dealloc_ucontext(struct drv_ucontext *ctx);

void native_cpu_work(struct drv_device *dev, unsigned int bar, uint64_t offset, const void *data,
		     uint32_t size, struct drv_cpu_work *out);

int native_alloc_dm(struct drv_dm *dm, uint32_t log_align, struct drv_udata *u);
struct hcasim_alloc_dm_resp native_dm_resp(const struct drv_dm *dm);

int native_create_srq(struct drv_srq *srq, struct drv_srq_init *init, struct drv_udata *u);
void native_tm_caps(struct ib_uverbs_ex_query_device_resp *out);
int native_destroy_srq(struct drv_srq *srq);

int native_create_cq(struct drv_cq *cq, uint32_t cqe, uint32_t vector, uint32_t flags, struct drv_udata *u);
int native_resize_cq(struct drv_cq *cq, uint32_t cqe, struct drv_udata *u);
int native_destroy_cq(struct drv_cq *cq);
int native_create_qp(struct drv_qp *qp, struct drv_qp_init *init, struct drv_udata *u);
int native_modify_qp(struct drv_qp *qp, const struct hca_qp_attr *attr, uint32_t mask, struct drv_udata *u);
int native_destroy_qp(struct drv_qp *qp);
int native_create_queues(struct drv_qp *qp, struct drv_qp_init *init, struct drv_udata *u);
void native_clear_rings(struct native_qp *qp);
int native_create_wq(struct drv_qp *wq, struct drv_qp_init *init, struct drv_udata *u);
int native_modify_wq(struct drv_qp *wq, uint32_t cur_state, uint32_t state);
int native_create_rss(struct drv_qp *qp, struct drv_qp_init *init, struct drv_udata *u);
void native_flush_orphan(struct drv_orphan *qp, struct drv_orphan *send_cq, struct drv_orphan *recv_cq);

/* methods.c: for processes that import objects of others */
#define NATIVE_NUM_METHODS 2
extern const struct drv_method native_methods[NATIVE_NUM_METHODS];

extern const struct drv_ops native_drv_ops;

extern const struct drv_comp_cntr_ops native_comp_cntr_ops; /* comp_cntr.c */

#endif
