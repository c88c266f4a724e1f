/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Objects of the hcasim provider, and conversions from libibverbs' objects. */
#ifndef HCASIM_H
#define HCASIM_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <ccan/container_of.h>
#include <infiniband/driver.h>
#include <util/udma_barrier.h>
#include <util/util.h>

#include "compat.h"
#include "hcasim_drv_abi.h"
#include "hcasim_hw.h"
#include "hcasim_wr.h"

#define HCASIM_TABLE_BITS    12 /* of a 24-bit number: bits at each of two levels */
#define HCASIM_TABLE_SIZE    (1u << HCASIM_TABLE_BITS)
#define HCASIM_MAX_WR_OPCODE IBV_WR_ATOMIC_WRITE

/* What the provider allocates itself: resource_type for a parent domain's allocator. */
enum hcasim_resource {
	HCASIM_RESOURCE_SQ_SLOTS = 1,
	HCASIM_RESOURCE_RQ_WRID,
	HCASIM_RESOURCE_SRQ_SLOTS,
};

struct hcasim_leaf {
	_Atomic(void *) obj[HCASIM_TABLE_SIZE];
};

struct hcasim_table { /* QP or SRQ number to object */
	_Atomic(struct hcasim_leaf *) leaf[HCASIM_TABLE_SIZE];
};

struct hcasim_uar { /* a user access page, write-combining */
	uint8_t *page;
	uint32_t index; /* index among those of the context */
	bool use_bf;
	/* Whoever sets the flag of a BlueFlame buffer owns it; a buffer in use is not waited for. */
	atomic_flag bf_taken[HCASIM_BF_BUFS];
	atomic_uint bf_next;
};

struct hcasim_map { /* a mapping of the device file */
	uint8_t *addr;
	size_t size;
};

/* A mapping of the device file with the rings of several queues: unmapped with the last of them. */
struct hcasim_chunk {
	struct hcasim_chunk *next; /* in its bucket */
	struct hcasim_map map;
	uint64_t offset; /* offset in the device file */
	unsigned int refs;
};

struct hcasim_context {
	struct verbs_context ibv_ctx;
	struct hcasim_uar uar;
	const uint8_t *clock; /* where the device clock can be read */
	uint64_t uar_mmap_offset;
	uint64_t td_uars_free; /* bit i: page i + 1 is not used by a thread domain; protected by table_lock */

	uint32_t max_send_wqebb, max_inline, max_tso, max_tso_hdr;
	bool poll_doorbell; /* the device wants to know of each poll */
	size_t qp_ex_size;  /* of struct ibv_qp_ex in the loaded libibverbs (layout.c) */

	pthread_mutex_t table_lock; /* taken when QPs and SRQs are added and removed */
	struct hcasim_table qps, srqs;

	pthread_mutex_t chunk_lock;
	struct hcasim_chunk *chunks; /* in use */

	/* Inverse of columns of the rules: operation of an IBV_WR_*, IBV_WC_* of a WQE opcode. */
	int16_t op_of_wr[HCASIM_MAX_WR_OPCODE + 1];
	uint8_t wc_of_wqe[UINT8_MAX + 1];
};

struct hcasim_td {
	struct ibv_td ibv_td;
	atomic_uint refs;
	struct hcasim_uar *uar; /* its own page, or the context's if there are no more */
	struct hcasim_uar own;
};

/* A protection domain, or a parent domain of one, with `base`. */
struct hcasim_pd {
	struct ibv_pd ibv_pd;
	struct hcasim_pd *base; /* NULL: a protection domain */
	struct hcasim_td *td;
	bool imported;
	atomic_uint refs; /* of an imported PD: in the caller's context */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type);
	void *pd_context;
};

struct hcasim_xrcd {
	struct verbs_xrcd vxrcd;
};

struct hcasim_ah {
	struct ibv_ah ibv_ah;
	struct hcasim_seg_ud seg; /* complete except for QPN and Q_Key */
};

struct hcasim_buf { /* zeroed memory, from the heap or from a parent domain's allocator */
	void *ptr;
	enum hcasim_resource what;
	bool custom;
};

struct hcasim_dm {
	struct verbs_dm vdm;
	struct hcasim_map map;
	uint64_t length; /* requested size in bytes */
};

struct hcasim_cq {
	struct verbs_cq vcq;
	struct hcasim_context *ctx;
	struct hcasim_pd *parent;
	pthread_spinlock_t lock;
	bool locking; /* false: single-threaded, as requested by the application */
	uint32_t cqn;
	struct hcasim_chunk *chunk;
	struct hcasim_cqe *ring;
	struct hcasim_cq_record *record;
	uint32_t entries; /* power of two */
	uint32_t ci;      /* free-running */
	atomic_uint arm_sn;

	/* The current completion of an extended poll. */
	const struct hcasim_cqe *cqe;
	bool wallclock;
	uint32_t poll_from;           /* consumer index at start_poll() */
	uint64_t now_ps, now_wall_ns; /* both clocks, read once in this poll */
};

struct hcasim_sq_slot { /* of a posted WR, at the index of its first basic block */
	uint64_t wr_id;
	uint32_t wr; /* free-running number of the WR */
};

struct hcasim_wqe {                        /* the WR that is being built */
	const struct hcasim_wr_rule *rule; /* NULL: none */
	struct hcasim_wqe_ctrl *ctrl;
	uint32_t units; /* of 16 bytes, so far */
	uint32_t flags; /* ctrl.qpn_flags, host order */
	bool has_data, has_dest;
};

/*
 * Indices are free-running and count basic blocks (bb) or work requests (wr). `pi` is the producer index that the
 * device knows, `ci` has been freed by completions; the poster writes pi, the poller writes ci. `next` is ahead of pi
 * while a region or a list is open, and is reset to it on failure.
 */
struct hcasim_sq {
	uint8_t *ring;
	struct hcasim_buf slot_buf;
	struct hcasim_sq_slot *slots;
	uint32_t num_bb; /* power of two; 0: no send queue */
	uint32_t max_wr, max_sge, max_inline, max_tso_hdr;
	bool sig_all;
	bool locking;         /* false: the QP has a thread domain */
	pthread_mutex_t lock; /* a mutex: it is held while code of the application runs */
	atomic_uint pi_bb, ci_bb, ci_wr;
	uint32_t pi_wr;
	uint32_t next_bb, next_wr;
	bool open; /* between ibv_wr_start and ibv_wr_complete or ibv_wr_abort */
	int err;   /* first error of the open region */
	struct hcasim_wqe wqe;
};

struct hcasim_rq {
	uint8_t *ring;
	struct hcasim_buf wr_id_buf;
	uint64_t *wr_id;
	uint32_t count; /* WQEs, power of two; 0: no receive queue */
	uint32_t stride;
	uint32_t max_wr, max_sge;
	bool locking;
	pthread_spinlock_t lock;
	atomic_uint pi, ci;
};

/*
 * A shared receive queue. Its WQEs complete in any order, so each carries a tag, which its completion returns: the
 * index of its wr_id in `wr_id`. Free tags are a stack; those from `fresh` on have never been used. The ring has
 * HCASIM_MAX_SRQ_WR WQEs, whatever size was requested.
 */
struct hcasim_srq {
	struct verbs_srq vsrq;
	struct hcasim_context *ctx;
	struct hcasim_pd *pd;
	struct hcasim_chunk *chunk;
	struct hcasim_srq_record *record;
	uint8_t *ring;
	uint32_t srqn, stride, max_wr, max_sge;
	uint32_t pi; /* free-running */
	uint32_t used, fresh, num_free;
	uint32_t num_slots; /* size of `wr_id` and `free_tag`: the largest max_wr so far */
	struct hcasim_buf slot_buf;
	uint64_t *wr_id;
	uint16_t *free_tag;
	struct hcasim_tm *tm; /* NULL: no tag matching */
	bool locking;
	pthread_spinlock_t lock;
};

/*
 * Tag matching of a shared receive queue. Each entry of the tag list has a handle, which the device names in
 * completions; it is free again when it awaits none.
 */
struct hcasim_tm_tag {
	uint64_t wr_id; /* recv_wr_id */
	uint16_t awaited;
	uint16_t op; /* index of its ADD */
};

struct hcasim_tm_posted { /* a posted list operation */
	uint64_t wr_id;
	uint16_t handle;
	bool signaled;
};

struct hcasim_tm {
	struct hcasim_buf buf; /* tag, posted and free_handle */
	uint8_t *ring;
	uint32_t num_ops; /* entries of the ring, power of two */
	uint32_t max_ops, num_tags, num_free;
	uint16_t pi, ci; /* free-running */
	struct hcasim_tm_tag *tag;
	struct hcasim_tm_posted *posted;
	uint16_t *free_handle;
};

struct hcasim_qp {
	struct verbs_qp vqp;
	struct hcasim_context *ctx;
	struct hcasim_pd *pd;
	struct hcasim_uar *uar;
	uint64_t send_ops; /* IBV_QP_EX_WITH_* requested at creation */
	struct hcasim_chunk *chunk;
	struct hcasim_sq_record *record;
	struct hcasim_sq sq;
	struct hcasim_rq rq;
};

struct hcasim_wq { /* receive side of a QP: the number in its completions is not that of the QP */
	struct ibv_wq ibv_wq;
	struct hcasim_qp qp; /* of the QP: rq, chunk, record, ctx, pd */
};

#define HCASIM_TO(name, type, member, ibtype)                                                                \
	static inline struct type *to_h##name(struct ibtype *p)                                              \
	{                                                                                                    \
		return container_of(p, struct type, member);                                                 \
	}
HCASIM_TO(ctx, hcasim_context, ibv_ctx.context, ibv_context)
HCASIM_TO(pd, hcasim_pd, ibv_pd, ibv_pd)
HCASIM_TO(td, hcasim_td, ibv_td, ibv_td)
HCASIM_TO(ah, hcasim_ah, ibv_ah, ibv_ah)
HCASIM_TO(dm, hcasim_dm, vdm.dm, ibv_dm)
HCASIM_TO(cq, hcasim_cq, vcq.cq, ibv_cq)
HCASIM_TO(cq_ex, hcasim_cq, vcq.cq_ex, ibv_cq_ex)
HCASIM_TO(xrcd, hcasim_xrcd, vxrcd.xrcd, ibv_xrcd)
HCASIM_TO(srq, hcasim_srq, vsrq.srq, ibv_srq)
HCASIM_TO(qp, hcasim_qp, vqp.qp, ibv_qp)
HCASIM_TO(wq, hcasim_wq, ibv_wq, ibv_wq)
HCASIM_TO(qp_ex, hcasim_qp, vqp.qp_ex, ibv_qp_ex)

/* Return value of a verb; also sets errno, which programs read and which a failed system call may have left set. */
static inline int hcasim_error(int err)
{
	if (err)
		errno = err;
	return err;
}

/* What a verb returns that cannot create its object; frees what there is of it. */
static inline void *hcasim_failed(void *obj, int err)
{
	free(obj);
	errno = err;
	return NULL;
}

static inline uint32_t hcasim_cq_phase(uint32_t entries, uint32_t index)
{
	return !(index & entries);
}

static inline void hcasim_cq_lock(struct hcasim_cq *cq)
{
	if (cq->locking)
		pthread_spin_lock(&cq->lock);
}

static inline void hcasim_cq_unlock(struct hcasim_cq *cq)
{
	if (cq->locking)
		pthread_spin_unlock(&cq->lock);
}

static inline void hcasim_srq_lock(struct hcasim_srq *srq)
{
	if (srq->locking)
		pthread_spin_lock(&srq->lock);
}

static inline void hcasim_srq_unlock(struct hcasim_srq *srq)
{
	if (srq->locking)
		pthread_spin_unlock(&srq->lock);
}

/* A doorbell record: the device may read it at any time, so each update is a single store. */
static inline void hcasim_store_record(__le32 *word, uint32_t value)
{
	__atomic_store_n(word, htole32(value), __ATOMIC_RELEASE);
}

/* map.c */
int hcasim_map_device(struct ibv_context *ibctx, struct hcasim_map *map, uint64_t offset, uint64_t size);
void hcasim_unmap(struct hcasim_map *map);
/* `uar` is zeroed: its BlueFlame buffers are free. */
int hcasim_map_uar(struct hcasim_context *ctx, struct hcasim_uar *uar, uint32_t index);
void hcasim_unmap_uar(struct hcasim_uar *uar);

/* hcasim.c */
void hcasim_init_ops(struct hcasim_context *ctx);

/* chunk.c */
/* Takes a reference. NULL and *err if there is none. */
struct hcasim_chunk *hcasim_chunk_get(struct hcasim_context *ctx, uint64_t offset, uint64_t size, int *err);
void hcasim_chunk_put(struct hcasim_context *ctx, struct hcasim_chunk *chunk);

/* query.c */
int hcasim_query_device_ex(struct ibv_context *ibctx, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size);
int hcasim_query_port(struct ibv_context *ibctx, uint8_t port, struct ibv_port_attr *attr);
int hcasim_query_rt_values(struct ibv_context *ibctx, struct ibv_values_ex *values);
uint64_t hcasim_read_clock(const struct hcasim_context *ctx);

/* pd.c */
struct ibv_pd *hcasim_alloc_pd(struct ibv_context *ibctx);
int hcasim_dealloc_pd(struct ibv_pd *ibpd);
struct ibv_pd *hcasim_import_pd(struct ibv_context *ibctx, uint32_t handle);
void hcasim_unimport_pd(struct ibv_pd *ibpd);
struct ibv_td *hcasim_alloc_td(struct ibv_context *ibctx, struct ibv_td_init_attr *attr);
int hcasim_dealloc_td(struct ibv_td *ibtd);
struct ibv_pd *hcasim_alloc_parent_domain(struct ibv_context *ibctx,
					  struct ibv_parent_domain_init_attr *attr);
void hcasim_pd_get(struct hcasim_pd *pd);
void hcasim_pd_put(struct hcasim_pd *pd);
int hcasim_buf_alloc(struct hcasim_buf *buf, struct hcasim_pd *pd, size_t size, enum hcasim_resource what);
void hcasim_buf_free(struct hcasim_buf *buf, struct hcasim_pd *pd);

/* mr.c */
struct ibv_mr *hcasim_reg_mr(struct ibv_pd *ibpd, void *addr, size_t length, uint64_t hca_va, int access);
int hcasim_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *ibpd, void *addr, size_t length,
		    int access);
int hcasim_dereg_mr(struct verbs_mr *vmr);
struct ibv_mr *hcasim_import_mr(struct ibv_pd *ibpd, uint32_t handle);
void hcasim_unimport_mr(struct ibv_mr *ibmr);
struct ibv_mw *hcasim_alloc_mw(struct ibv_pd *ibpd, enum ibv_mw_type type);
int hcasim_dealloc_mw(struct ibv_mw *mw);
int hcasim_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind);

#if HCASIM_HAS_DMAH
/* dmah.c */
struct ibv_dmah *hcasim_alloc_dmah(struct ibv_context *ibctx, struct ibv_dmah_init_attr *attr);
int hcasim_dealloc_dmah(struct ibv_dmah *ibdmah);
struct ibv_mr *hcasim_reg_mr_ex(struct ibv_pd *ibpd, struct ibv_mr_init_attr *attr);
#endif

#if HCASIM_HAS_COMP_CNTR
/* comp_cntr.c */
struct ibv_comp_cntr *hcasim_create_comp_cntr(struct ibv_context *ibctx,
					      struct ibv_comp_cntr_init_attr *attr);
int hcasim_destroy_comp_cntr(struct ibv_comp_cntr *cntr);
int hcasim_qp_attach_comp_cntr(struct ibv_qp *ibqp, struct ibv_comp_cntr *cntr,
			       struct ibv_qp_attach_comp_cntr_attr *attr);
#endif

/* dm.c */
struct ibv_dm *hcasim_alloc_dm(struct ibv_context *ibctx, struct ibv_alloc_dm_attr *attr);
int hcasim_free_dm(struct ibv_dm *ibdm);
struct ibv_dm *hcasim_import_dm(struct ibv_context *ibctx, uint32_t handle);
void hcasim_unimport_dm(struct ibv_dm *ibdm);
struct ibv_mr *hcasim_reg_dmabuf_mr(struct ibv_pd *ibpd, uint64_t offset, size_t length, uint64_t iova,
				    int fd, int access);
struct ibv_mr *hcasim_reg_dm_mr(struct ibv_pd *ibpd, struct ibv_dm *ibdm, uint64_t offset, size_t length,
				unsigned int access);

/* ah.c */
struct ibv_ah *hcasim_create_ah(struct ibv_pd *ibpd, struct ibv_ah_attr *attr);
int hcasim_destroy_ah(struct ibv_ah *ibah);

/* cq.c */
struct ibv_cq *hcasim_create_cq(struct ibv_context *ibctx, int cqe, struct ibv_comp_channel *channel,
				int comp_vector);
struct ibv_cq_ex *hcasim_create_cq_ex(struct ibv_context *ibctx, struct ibv_cq_init_attr_ex *attr);
int hcasim_resize_cq(struct ibv_cq *ibcq, int cqe);
int hcasim_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr);
int hcasim_destroy_cq(struct ibv_cq *ibcq);
int hcasim_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void hcasim_cq_event(struct ibv_cq *ibcq);

/* poll.c */
int hcasim_poll_cq(struct ibv_cq *ibcq, int num, struct ibv_wc *wc);
struct hcasim_cqe *hcasim_cq_peek(const struct hcasim_cq *cq, uint32_t index);
uint32_t hcasim_cq_count(const struct hcasim_cq *cq);
int hcasim_cq_next(struct hcasim_cq *cq, const struct hcasim_cqe **cqe, uint64_t *wr_id);
void hcasim_cq_update_ci(struct hcasim_cq *cq);
void hcasim_ring_poll(const struct hcasim_cq *cq, uint32_t taken);
void hcasim_cq_clean(struct hcasim_cq *cq, uint32_t qpn, uint32_t srqn);
enum ibv_wc_status hcasim_wc_status(const struct hcasim_cqe *cqe);
enum ibv_wc_opcode hcasim_wc_opcode(const struct hcasim_context *ctx, const struct hcasim_cqe *cqe);
unsigned int hcasim_wc_flags(const struct hcasim_cqe *cqe);
uint32_t hcasim_wc_imm_or_rkey(const struct hcasim_cqe *cqe);

/* poll_ex.c */
void hcasim_cq_fill_poll_ops(struct hcasim_cq *cq, uint64_t wc_flags);

/* qp.c */
struct ibv_qp *hcasim_create_qp(struct ibv_pd *ibpd, struct ibv_qp_init_attr *attr);
struct ibv_qp *hcasim_create_qp_ex(struct ibv_context *ibctx, struct ibv_qp_init_attr_ex *attr);
int hcasim_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		    struct ibv_qp_init_attr *init_attr);
int hcasim_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask);
int hcasim_modify_qp_rate_limit(struct ibv_qp *ibqp, struct ibv_qp_rate_limit_attr *limit);
int hcasim_destroy_qp(struct ibv_qp *ibqp);
struct ibv_qp *hcasim_open_qp(struct ibv_context *ibctx, struct ibv_qp_open_attr *attr);

void hcasim_plan_rq(const struct ibv_qp_cap *cap, struct hcasim_create_qp_req *req);
int hcasim_alloc_queues(struct hcasim_qp *qp, const struct ibv_qp_init_attr_ex *attr,
			const struct hcasim_create_qp_req *req);
void hcasim_free_queues(struct hcasim_qp *qp);
int hcasim_map_rings(struct hcasim_qp *qp, const struct hcasim_create_qp_resp *resp);

/* wq.c */
struct ibv_wq *hcasim_create_wq(struct ibv_context *ibctx, struct ibv_wq_init_attr *attr);
int hcasim_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr);
int hcasim_destroy_wq(struct ibv_wq *ibwq);
struct ibv_rwq_ind_table *hcasim_create_rwq_ind_table(struct ibv_context *ibctx,
						      struct ibv_rwq_ind_table_init_attr *attr);
int hcasim_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);
/* A QP without queues. NULL with errno on failure. */
struct hcasim_qp *hcasim_create_rss(struct hcasim_context *ctx, struct ibv_qp_init_attr_ex *attr);

/* xrcd.c */
struct ibv_xrcd *hcasim_open_xrcd(struct ibv_context *ibctx, struct ibv_xrcd_init_attr *attr);
int hcasim_close_xrcd(struct ibv_xrcd *ibxrcd);

/* srq.c */
struct ibv_srq *hcasim_create_srq(struct ibv_pd *ibpd, struct ibv_srq_init_attr *attr);
struct ibv_srq *hcasim_create_srq_ex(struct ibv_context *ibctx, struct ibv_srq_init_attr_ex *attr);
int hcasim_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int attr_mask);
int hcasim_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int hcasim_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num);
int hcasim_destroy_srq(struct ibv_srq *ibsrq);
int hcasim_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/* Frees what a completion names and returns its wr_id. Errors as hcasim_tm_ended(). */
int hcasim_srq_ended(struct hcasim_srq *srq, const struct hcasim_cqe *cqe, uint64_t *wr_id);

/* tm.c */
/* Allocates what tag matching needs, except the ring, which is the device's. Returns an errno. */
int hcasim_tm_alloc(struct hcasim_srq *srq, const struct ibv_tm_cap *cap);
void hcasim_tm_free(struct hcasim_srq *srq);
int hcasim_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad_wr);
/* The caller holds the SRQ's lock. EAGAIN: it has no work completion. EINVAL: it names nothing that is posted. */
int hcasim_tm_ended(struct hcasim_srq *srq, const struct hcasim_cqe *cqe, uint64_t *wr_id);
bool hcasim_tm_opcode(const struct hcasim_cqe *cqe); /* of a tag list */
bool hcasim_tm_cqe(const struct hcasim_cqe *cqe);    /* it is for hcasim_tm_ended() */

/* table.c */
void *hcasim_table_find(struct hcasim_table *table, uint32_t number);
int hcasim_table_insert(struct hcasim_table *table, uint32_t number, void *obj);
void hcasim_table_remove(struct hcasim_table *table, uint32_t number);
void hcasim_table_free(struct hcasim_table *table);

/* flow.c */
struct ibv_flow *hcasim_create_flow(struct ibv_qp *ibqp, struct ibv_flow_attr *attr);
int hcasim_destroy_flow(struct ibv_flow *flow);

/* post_send.c, recv.c, wr.c */
int hcasim_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
/* Fills `rqe`, whose reserved bytes are 0 from the beginning. */
void hcasim_write_rqe(struct hcasim_rqe *rqe, uint16_t index, uint16_t tag, const struct ibv_recv_wr *wr);
/* `reset`: the queue accepts none. */
int hcasim_post_to_rq(struct hcasim_qp *qp, bool reset, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int hcasim_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/* Turns it into an extended QP. */
void hcasim_qp_fill_wr_ops(struct hcasim_qp *qp);
size_t hcasim_qp_ex_size(void);
uint64_t hcasim_absent_send_ops(size_t qp_ex_size);
void hcasim_qp_extend(struct hcasim_qp *qp, const struct ibv_qp_ex *ops);

#endif
