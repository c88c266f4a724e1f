/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The kernel driver of a software RoCE device: declarations shared by its files. */
#ifndef HCASIM_RXE_DRIVER_H
#define HCASIM_RXE_DRIVER_H

#include <sys/queue.h>

#include "devices/common/common.h"
#include "hcasim_rxe.h"

/* Memory of one or two queues, whole pages, that the library maps. */
struct rxe_mem {
	struct rxe_ucontext *ctx; /* NULL: it is gone */
	uint8_t *addr;
	uint64_t offset, length; /* in the context's file, and as mmap offset */
	uint64_t freed;          /* device time, picoseconds */
	LIST_ENTRY(rxe_mem) of_ctx;
	STAILQ_ENTRY(rxe_mem) dead;
};

struct rxe_queue { /* one queue in it */
	struct hcasim_rxe_queue *head;
	uint64_t offset, size; /* mmap */
	uint32_t entries, stride;
};

struct rxe_ucontext {
	struct drv_ucontext base;
	int memfd;
	uint64_t end; /* of what was handed out */
	LIST_HEAD(, rxe_mem) mems;
};

struct rxe_cq {
	struct drv_cq base;
	struct rxe_mem *mem;
	struct rxe_queue queue;
	struct {
		struct rxe_mem *mem; /* NULL: no resize is under way */
		struct rxe_queue queue;
		uint32_t first, end; /* entries that were not polled, free-running */
		uint64_t issued;     /* what may still write to it: DMA transfers up to this one */
	} old;
	uint8_t arm_sn;
	bool armed_any; /* with this number, for every completion */
};

struct rxe_srq {
	struct drv_srq base;
	struct rxe_mem *mem;
	struct rxe_queue queue;
};

struct rxe_qp {
	struct drv_qp base;
	struct rxe_mem *mem;
	struct rxe_queue sq, rq;
	bool sig_all;
	uint16_t posted; /* WQEs that doorbells have announced, free-running */
};

struct rxe_ah {
	struct drv_ah base;
	struct hca_av av;
	uint32_t number;
};

struct rxe_dev {
	struct common_dev base;
	struct numbers ahs;
	STAILQ_HEAD(, rxe_mem) dead; /* unmapped once no transfer can be under way to them */
};

static inline struct rxe_dev *rxe_dev(const struct drv_device *dev)
{
	return dev->priv;
}

static inline uint64_t rxe_record(const struct rxe_queue *q)
{
	return q->head ? (uintptr_t)&q->head->producer_index : 0;
}

static inline struct hca_ring rxe_ring(const struct rxe_queue *q)
{
	if (!q->head)
		return (struct hca_ring){0};
	return (struct hca_ring){HCA_PASID_KERNEL, (uintptr_t)(q->head + 1), q->entries, q->stride};
}

/* queue.c. Memory for queues of so many elements; `second` may be NULL. NULL: none. */
struct rxe_mem *rxe_mem_alloc(struct drv_ucontext *ctx, struct rxe_queue *first, struct rxe_queue *second);
/* `entries` as asked for become those of the ring: a power of two with one place more. */
void rxe_queue_size(struct rxe_queue *q, uint32_t entries, uint32_t stride);
void rxe_queue_clear(struct rxe_queue *q);
void rxe_mem_free(struct rxe_dev *n, struct rxe_mem *mem);
void rxe_mem_reap(struct rxe_dev *n, bool all);
int rxe_mmap(struct drv_ucontext *ctx, uint64_t offset, uint64_t length, struct drv_mmap *out);
int rxe_alloc_ucontext(struct drv_ucontext *ctx, struct drv_udata *u);
void rxe_dealloc_ucontext(struct drv_ucontext *ctx);

/* cq.c */
/* Its event is on its way to the program: the next request of notification is another one. */
void rxe_completion(struct drv_cq *cq);
int rxe_create_cq(struct drv_cq *cq, uint32_t cqe, uint32_t vector, uint32_t flags, struct drv_udata *u);
int rxe_resize_cq(struct drv_cq *cq, uint32_t cqe, struct drv_udata *u);
int rxe_req_notify_cq(struct drv_cq *cq, bool solicited);
int rxe_destroy_cq(struct drv_cq *cq);

/* qp.c */
int rxe_create_qp(struct drv_qp *qp, struct drv_qp_init *init, struct drv_udata *u);
int rxe_modify_qp(struct drv_qp *qp, const struct hca_qp_attr *attr, uint32_t mask, struct drv_udata *u);
int rxe_destroy_qp(struct drv_qp *qp);
int rxe_post_send(struct drv_qp *qp);

/* srq.c */
int rxe_create_srq(struct drv_srq *srq, struct drv_srq_init *init, struct drv_udata *u);
int rxe_resize_srq(struct drv_srq *srq, uint32_t max_wr, struct drv_udata *u);
int rxe_destroy_srq(struct drv_srq *srq);

/* orphan.c */
void rxe_flush_orphan(struct drv_orphan *qp, struct drv_orphan *send_cq, struct drv_orphan *recv_cq);

extern const struct drv_ops rxe_drv_ops;

#endif
