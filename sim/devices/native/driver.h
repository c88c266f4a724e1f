/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The kernel driver of the native adapter: declarations shared by its files. */
#ifndef HCASIM_NATIVE_DRIVER_H
#define HCASIM_NATIVE_DRIVER_H

#include <sys/queue.h>

#include "containers/numbers.h"
#include "containers/table.h"
#include "devices/driver.h"
#include "hcasim-abi.h"
#include "hcasim_hw.h"
#include "hcasim_verbs.h"

#define NATIVE_COMP_VECTORS 4
#define NATIVE_NUM_EQS      (1 + NATIVE_COMP_VECTORS) /* vector 0: async events */
#define NATIVE_EQ_ENTRIES   8192
#define NATIVE_MAX_PD       32768
#define NATIVE_MAX_AH       65536
#define NATIVE_MAX_MCAST    65536
#define NATIVE_GID_TABLE    4
#define NATIVE_TD_UARS      63 /* of one context */
#define NATIVE_PAGE_SIZE    4096u
/* mmap offsets of a context: its doorbell pages from 0 on, then BAR dm, then its rings. */
#define NATIVE_MMAP_DM     (1ull << 39)
#define NATIVE_MMAP_MEMORY (1ull << 40)
#define NATIVE_DM_PAGES    (HCASIM_BAR_DM_SIZE / HCASIM_DM_PAGE_SIZE)

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

struct native_pd {
	struct drv_pd base;
	uint32_t pdn;
};

struct native_mr {
	struct drv_mr base;
	struct hca_mr_attr attr;
};

struct native_dm {
	struct drv_dm base;
	uint32_t first, num; /* pages of BAR dm */
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
	bool xrc; /* mlx5: it belongs to an XRC domain */
};

struct native_ah {
	struct drv_ah base;
};

struct native_flow {
	struct drv_flow base;
	uint32_t id;
};

struct native_eq {
	uint32_t eqn, ci;
	struct hcasim_eqe *ring;
};

struct native_objects { /* by the number that the adapter gave */
	void **obj;
	uint32_t size;
};

struct native_dev {
	struct drv_device *dev;
	const struct drv_upcalls *up;
	struct native_eq eq[NATIVE_NUM_EQS];
	unsigned int num_eqs;
	struct numbers uars, pds, rwq_tables; /* uars: of contexts, or what another family has put there */
	struct numbers reserved_qpns;         /* of another family: blocks of numbers that no QP gets */
	uint32_t num_ahs, num_mcasts;
	struct native_ucontext *dm_owner[NATIVE_DM_PAGES]; /* NULL: free */
	struct native_objects cqs, qps, srqs;
	STAILQ_HEAD(, native_mem) dead; /* used again once no transfer can be under way to them */
	void *family;                   /* of another family whose driver builds on this one */
};

static inline struct native_dev *native_dev(const struct drv_device *dev)
{
	return dev->priv;
}

static inline struct native_ucontext *native_ctx(struct drv_ucontext *ctx)
{
	return (struct native_ucontext *)ctx;
}

static inline uint32_t native_pdn(const struct drv_pd *pd)
{
	return ((const struct native_pd *)pd)->pdn;
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
int native_free_dm(struct drv_dm *dm);
struct hcasim_alloc_dm_resp native_dm_resp(const struct drv_dm *dm);
int native_reg_dm_mr(struct drv_mr *mr, struct drv_dm *dm, uint64_t offset, uint64_t length, uint32_t access);
int native_mmap_dm(struct native_ucontext *ctx, uint64_t offset, uint64_t length, struct drv_mmap *out);

int native_eqs_create(struct native_dev *n);
void native_eqs_destroy(struct native_dev *n);
void native_irq(struct drv_device *dev, unsigned int vector);
/* Handles the current entries of the event queues. */
void native_eqs_poll(struct native_dev *n);
/* 0 or -ENOMEM. NULL releases the number, and cannot fail. */
int native_enter(struct native_objects *t, uint32_t number, void *obj);
void *native_find(const struct native_objects *t, uint32_t number);

int native_create_srq(struct drv_srq *srq, struct drv_srq_init *init, struct drv_udata *u);
void native_tm_caps(struct ib_uverbs_ex_query_device_resp *out);
int native_modify_srq_limit(struct drv_srq *srq, uint32_t limit);
int native_query_srq_limit(struct drv_srq *srq, uint32_t *limit);
int native_destroy_srq(struct drv_srq *srq);

int native_create_cq(struct drv_cq *cq, uint32_t cqe, uint32_t vector, uint32_t flags, struct drv_udata *u);
int native_resize_cq(struct drv_cq *cq, uint32_t cqe, struct drv_udata *u);
int native_moderate_cq(struct drv_cq *cq, uint16_t count, uint16_t us);
int native_destroy_cq(struct drv_cq *cq);
int native_create_qp(struct drv_qp *qp, struct drv_qp_init *init, struct drv_udata *u);
int native_modify_qp(struct drv_qp *qp, const struct hca_qp_attr *attr, uint32_t mask, struct drv_udata *u);
int native_query_qp(struct drv_qp *qp, struct hca_qp_attr *attr);
int native_destroy_qp(struct drv_qp *qp);
int native_create_queues(struct drv_qp *qp, struct drv_qp_init *init, struct drv_udata *u);
void native_clear_rings(struct native_qp *qp);
void native_rss_caps(const struct drv_device *dev, struct ib_uverbs_ex_query_device_resp *out);
int native_create_wq(struct drv_qp *wq, struct drv_qp_init *init, struct drv_udata *u);
int native_modify_wq(struct drv_qp *wq, uint32_t cur_state, uint32_t state);
int native_create_rwq_table(struct drv_rwq_table *table);
void native_destroy_rwq_table(struct drv_rwq_table *table);
int native_create_rss(struct drv_qp *qp, struct drv_qp_init *init, struct drv_udata *u);
/* `key`: of HCASIM_RSS_KEY_SIZE bytes; `fields`: HCASIM_RSS_FIELD_*, numbered as those of mlx5. */
int native_enter_rss(struct drv_qp *qp, const struct drv_qp_init *init, uint32_t fields, const uint8_t *key);
void native_odp_caps(struct ib_uverbs_ex_query_device_resp *out);
int native_page_request(struct drv_device *dev, uint32_t token, struct hca_page_range *range, uint32_t max);
void native_page_response(struct drv_device *dev, uint32_t token, bool mapped);
int native_map_pages(struct drv_device *dev, const struct hca_page_range *range, bool prefetch);
void native_unmap_pages(struct drv_device *dev, uint32_t pasid, uint64_t va, uint64_t len);
int native_prefetch_range(struct drv_pd *pd, const struct ib_uverbs_sge *sge, bool write,
			  struct hca_page_range *out);
int native_set_gid(struct drv_device *dev, uint8_t port, unsigned int index, const uint8_t gid[16]);
int native_send_mad(struct drv_device *dev, uint8_t port, const struct hca_av *av, const void *mad);
void native_set_alarm(struct drv_device *dev, hca_ps at);
/* HCA_GSI_VECTOR was raised. */
void native_gsi_irq(struct native_dev *n);
int native_create_flow(struct drv_flow *flow, const struct hca_flow_attr *attr);
int native_destroy_flow(struct drv_flow *flow);
int native_attach_mcast(struct drv_qp *qp, const uint8_t gid[16]);
int native_detach_mcast(struct drv_qp *qp, const uint8_t gid[16]);
void native_flush_orphan(struct drv_orphan *qp, struct drv_orphan *send_cq, struct drv_orphan *recv_cq);

/* Copies the answer out, as much as the user has room for. */
void native_udata_put(struct drv_udata *u, const void *resp, size_t len);
/* -EINVAL: shorter than ours, -EOPNOTSUPP: longer, and not zero */
int native_udata_get(const struct drv_udata *u, void *req, size_t len);

/* driver_methods.c: for processes that import objects of others */
#define NATIVE_NUM_METHODS 2
extern const struct drv_method native_methods[NATIVE_NUM_METHODS];

extern const struct drv_ops native_drv_ops;

#endif
