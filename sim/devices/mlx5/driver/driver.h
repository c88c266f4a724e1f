/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The kernel driver of the mlx5 family: what is not in devices/common. Queues and doorbell records are in the memory of
 * the program.
 */
#ifndef HCASIM_MLX5_DRIVER_H
#define HCASIM_MLX5_DRIVER_H

#include <sys/queue.h>

#include <rdma/mlx5-abi.h>

#include "devices/common/common.h"
#include "hcasim_mlx5.h"

#define MLX5_PAGE_SIZE    4096u
#define MLX5_CMD_SHIFT    8 /* of the command in a page offset of mmap; below it is the index */
#define MLX5_CMD_BITS     8
#define MLX5_MMAP_PAGE    9ull /* the first command that is not of the uapi: an allocated user access page */
#define MLX5_MAX_UMEMS    (1u << 20)
#define MLX5_MAX_EVENTFDS 256 /* of a context: of subscriptions to events */
#define MLX5_MAX_UARS     256 /* of one context: libmlx5 has room for no more */
/* Compression is the adapter's to do where it can, and this one never does. */
#define MLX5_CQE_COMP_NUM 64
#define MLX5_CQE_COMP_FORMATS                                                                                \
	(MLX5_IB_CQE_RES_FORMAT_HASH | MLX5_IB_CQE_RES_FORMAT_CSUM | MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX)
/* What RSS hashes, as HCASIM_RSS_FIELD_*, which have the same numbers. */
#define MLX5_RX_HASH_FIELDS                                                                                  \
	(MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_DST_IPV4 | MLX5_RX_HASH_SRC_IPV6 | MLX5_RX_HASH_DST_IPV6 |     \
	 MLX5_RX_HASH_SRC_PORT_TCP | MLX5_RX_HASH_DST_PORT_TCP | MLX5_RX_HASH_SRC_PORT_UDP |                 \
	 MLX5_RX_HASH_DST_PORT_UDP)
#define MLX5_MAX_BFREGS (MLX5_MAX_UARS * HCASIM_MLX5_USER_BFREGS_PER_UAR)

struct mlx5_page { /* a user access page; in mlx5_dev.uars by its number */
	struct mlx5_ucontext *ctx;
	uint32_t number;
	bool write_combining;
	bool live;      /* it is allocated, and no static one */
	uint32_t users; /* QPs and CQs */
};

struct mlx5_clock {
	int memfd;
	struct mlx5_ib_clock_info *page;
};

struct mlx5_event_sub; /* devx/event.c: who gets events of what */
TAILQ_HEAD(mlx5_event_subs, mlx5_event_sub);

struct mlx5_pp_entry { /* of the table of packet pacing: qos/pp.c */
	struct hcasim_mlx5_pp_context context;
	uint32_t users;                   /* 0: free */
	const struct drv_ucontext *owner; /* of a dedicated one */
};

struct mlx5_dev {
	struct common_dev base;
	struct numbers uars;          /* struct mlx5_page */
	struct numbers reserved_qpns; /* blocks of numbers that no QP gets */
	struct mlx5_clock clock;
	struct numbers umems;         /* registered memory */
	struct numbers flow_counters; /* blocks of them */
	struct numbers flow_tables, flow_groups, tirs;
	struct numbers sched; /* scheduling elements */
	struct mlx5_pp_entry pp[HCASIM_MLX5_PP_RATES];
	uint32_t num_modify_headers, num_reformats;
	struct drv_upcalls up; /* what `base` has: those of objects of DEVX end here */
	const struct drv_upcalls *kernel;
	struct mlx5_event_subs subs; /* of events of the device */
};

struct mlx5_devx_obj;

struct mlx5_ucontext {
	struct drv_ucontext base;
	bool devx;              /* it may use DEVX */
	uint32_t num_eventfds;  /* subscriptions to events with one */
	struct mlx5_page fixed; /* stands for each static user access page */
	uint32_t num_pages,
		page[MLX5_MAX_UARS]; /* the numbers of these; none: the library allocates its own */
	uint32_t num_bfregs, num_low_latency;
	uint32_t users[MLX5_MAX_BFREGS]; /* QPs of each doorbell register */
};

struct mlx5_cq {
	struct drv_cq base;
	uint32_t eqn;
	struct mlx5_devx_obj *devx; /* NULL: of verbs */
	uint32_t cqe_size, uar_page;
	struct mlx5_page *page; /* NULL: a static one */
	uint64_t record;
};

/* All flags of a queue pair that mlx5-abi.h has; others are EINVAL. */
#define MLX5_QP_FLAGS (2 * MLX5_QP_FLAG_DCI_STREAM - 1)

struct mlx5_qp {
	struct drv_qp base;
	struct mlx5_devx_obj *devx; /* NULL: of verbs */
	struct mlx5_page *page;     /* NULL: a static one */
	uint32_t uar_page;
	bool has_bfreg;
	uint32_t bfreg;
	uint32_t result_inline, recv_inline; /* payload in CQEs; DEVX sets them, else they are of the flags */
	uint32_t ece;                        /* options of enhanced connection establishment that are on */
};

struct mlx5_srq {
	struct drv_srq base;
	bool xrc; /* it belongs to an XRC domain */
};

static inline struct mlx5_dev *mlx5_dev(const struct drv_device *dev)
{
	return dev->priv;
}

static inline struct mlx5_ucontext *mlx5_ctx(struct drv_ucontext *ctx)
{
	return (struct mlx5_ucontext *)ctx;
}

/*
 * The driver's part of a request, which older and newer libraries send shorter or longer. -EINVAL: shorter than `min`;
 * `tail`: longer than ours, and not zero there. 0: mlx5_ib does not look at what follows.
 */
int mlx5_udata_get(const struct drv_udata *u, void *req, size_t len, size_t min, int tail);

/* A queue and its doorbell record are memory that the adapter can write to: 0, -EFAULT or -ENOMEM. */
int mlx5_pin(const struct drv_udata *u, uint64_t buf, uint64_t bytes, uint64_t record);

int mlx5_alloc_ucontext(struct drv_ucontext *ctx, struct drv_udata *u);
int mlx5_query_ucontext(struct drv_ucontext *ctx, struct drv_udata *u);
void mlx5_dealloc_ucontext(struct drv_ucontext *ctx);
int mlx5_mmap(struct drv_ucontext *ctx, uint64_t offset, uint64_t length, struct drv_mmap *out);
/* A doorbell register for a QP; `number` is it as libmlx5 counts, `page` the user access page that it is in. */
uint32_t mlx5_bfreg_get(struct mlx5_ucontext *ctx);
uint32_t mlx5_bfreg_number(uint32_t bfreg);
uint32_t mlx5_bfreg_page(const struct mlx5_ucontext *ctx, uint32_t bfreg);
void mlx5_bfreg_put(struct mlx5_ucontext *ctx, uint32_t bfreg);

/* uar.c. An allocated page that queues ring: NULL if the context has no such page. */
struct mlx5_page *mlx5_page_get(const struct mlx5_ucontext *ctx, uint32_t number);
void mlx5_page_put(struct mlx5_page *page); /* may be NULL */
bool mlx5_page_is_static(const struct mlx5_ucontext *ctx, uint32_t number);
void mlx5_pages_free(struct mlx5_ucontext *ctx);
int mlx5_page_mmap(const struct mlx5_ucontext *ctx, uint64_t number, struct drv_mmap *out);

/* clock.c */
int mlx5_clock_create(struct drv_device *dev);
void mlx5_clock_destroy(struct drv_device *dev);
void mlx5_clock_update(struct drv_device *dev);
int mlx5_clock_mmap(const struct drv_device *dev, struct drv_mmap *out);

int mlx5_alloc_uar(struct drv_call *c);
int mlx5_destroy_uar(void *uar);
int mlx5_alloc_dm(struct drv_call *c);
int mlx5_query_dm(struct drv_call *c);
int mlx5_map_dm_op(struct drv_call *c);
/* `offset` in the memory, or in the range of an operation behind it. */
int mlx5_mmap_dm(const struct drv_ucontext *ctx, uint64_t offset, uint64_t length, struct drv_mmap *out);

struct mlx5_match { /* as programs give it */
	struct hcasim_mlx5_match_outer outer;
	struct hcasim_mlx5_match_misc misc;
};

struct mlx5_matcher {
	struct mlx5_match mask;
	uint16_t priority;
	uint8_t side; /* enum hca_flow_side */
};

/* The mask of a matcher, or of a group of flows, whose side is set. -EOPNOTSUPP: not what its flows can match. */
int mlx5_match_mask(const uint8_t *mask, size_t len, uint8_t criteria, struct mlx5_matcher *m);

/* What a value means under the mask; -EOPNOTSUPP: the adapter's flows cannot say so. */
int mlx5_flow_attr(const struct mlx5_match *value, const struct mlx5_matcher *m, struct hca_flow_attr *out);
int mlx5_create_matcher(struct drv_call *c);
int mlx5_destroy_matcher(void *matcher);
int mlx5_create_flow(struct drv_call *c);
int mlx5_alloc_pp(struct drv_call *c);
int mlx5_destroy_pp(void *pp);

/* What flows of one type of tables do with a frame: edits, or a tunnel. */
struct mlx5_flow_action {
	uint32_t *count; /* of those that there are; NULL: it is not counted */
	uint8_t side;    /* enum hca_flow_side */
	uint32_t num_edits;
	struct hca_edit edit[HCASIM_MLX5_MAX_MODIFY_ACTIONS];
	uint8_t strip; /* enum hca_strip */
	uint32_t head_len;
	uint8_t head[HCASIM_MLX5_MAX_ENCAP_HEADER];
};
int mlx5_create_packet_reformat(struct drv_call *c);
int mlx5_create_modify_header(struct drv_call *c);
int mlx5_destroy_flow_action(void *action);
/* -EINVAL: an action of other tables, or a second one of its kind. `a->edit` and `a->head` point into the actions. */
int mlx5_use_flow_actions(struct drv_call *c, struct hca_flow_attr *a);

#define MLX5_NUM_METHODS 28
#define MLX5_NUM_OBJECTS 6
extern const struct drv_method mlx5_methods[MLX5_NUM_METHODS];
extern const struct drv_object mlx5_objects[MLX5_NUM_OBJECTS];

int mlx5_create_cq(struct drv_cq *cq, uint32_t cqe, uint32_t vector, uint32_t flags, struct drv_udata *u);
int mlx5_resize_cq(struct drv_cq *cq, uint32_t cqe, struct drv_udata *u);
uint32_t mlx5_cqe_size(const struct drv_cq *cq);
int mlx5_destroy_cq(struct drv_cq *cq);
int mlx5_create_qp(struct drv_qp *qp, struct drv_qp_init *init, struct drv_udata *u);
int mlx5_query_qp(struct drv_qp *qp, struct hca_qp_attr *attr);
int mlx5_modify_qp(struct drv_qp *qp, const struct hca_qp_attr *attr, uint32_t mask, struct drv_udata *u);
int mlx5_destroy_qp(struct drv_qp *qp);
int mlx5_create_wq(struct drv_qp *wq, struct drv_qp_init *init, struct drv_udata *u);
int mlx5_set_wq_flags(struct drv_qp *wq, uint32_t flags, uint32_t mask);
int mlx5_create_rss(struct drv_qp *qp, struct drv_qp_init *init, struct drv_udata *u);
int mlx5_create_srq(struct drv_srq *srq, struct drv_srq_init *init, struct drv_udata *u);
int mlx5_resize_srq(struct drv_srq *srq, uint32_t max_wr, struct drv_udata *u);

void mlx5_flush_orphan(struct drv_orphan *qp, struct drv_orphan *send_cq, struct drv_orphan *recv_cq);

extern const struct drv_ops mlx5_drv_ops;

#endif
