/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the drivers of all families share, as the adapter below them is the same: its numbers and limits, regions and
 * windows, event queues, QP 1, multicast groups; and, of families that stand for hardware, flows, on-demand paging,
 * device memory and receive side scaling. A family's own structures begin with the ones here.
 */
#ifndef HCASIM_DEVICES_COMMON_H
#define HCASIM_DEVICES_COMMON_H

#include "containers/numbers.h"
#include "core/personality.h"
#include "devices/driver.h"
#include "hcasim_core.h"
#include "hcasim_verbs.h"

#define COMMON_COMP_VECTORS 4                         /* of adapters that are hardware */
#define COMMON_MAX_EQS      (1 + COMMON_COMP_VECTORS) /* vector 0: async events */
#define COMMON_EQ_ENTRIES   8192
#define COMMON_MAX_PD       32768
#define COMMON_MAX_AH       65536
#define COMMON_MAX_MCAST    65536
#define COMMON_GID_TABLE    16 /* entries of a port */
#define COMMON_PAGE_SIZE    4096u

struct common_pd {
	struct drv_pd base;
	uint32_t pdn;
};

struct common_mr {
	struct drv_mr base;
	struct hca_mr_attr attr;
};

struct common_dm {
	struct drv_dm base;
	uint32_t first, num; /* pages of the BAR */
};

struct common_flow {
	struct drv_flow base;
	uint32_t id;
};

struct common_eq {
	uint32_t eqn, ci;
	struct hcasim_eqe *ring;
};

struct common_objects { /* by the number that the adapter gave */
	void **obj;
	uint32_t size;
};

/* drv_device.priv begins with it. */
struct common_dev {
	struct drv_device *dev;
	const struct drv_upcalls *up;
	struct common_eq eq[COMMON_MAX_EQS];
	unsigned int num_eqs;
	struct numbers pds, rwq_tables;
	uint32_t num_ahs, num_mcasts, max_mcasts;
	struct drv_ucontext **dm_owner; /* of each page of device memory; NULL: free */
	struct common_objects cqs, qps, srqs;
	void (*completion)(struct drv_cq *cq); /* of the family, before the upcall; may be NULL */
};

static inline struct common_dev *common_dev(const struct drv_device *dev)
{
	return dev->priv;
}

static inline uint32_t common_pdn(const struct drv_pd *pd)
{
	return ((const struct common_pd *)pd)->pdn;
}

/* device.c. `n`, zero, begins what a family allocates for a device; both set or clear drv_device.priv. */
int common_probe(struct common_dev *n, struct drv_device *dev, const struct drv_upcalls *up);
void common_remove(struct common_dev *n);
/* What does not depend on the family's formats, nor on its identity. */
void common_query_device(struct drv_device *dev, struct ib_uverbs_ex_query_device_resp *out);
void common_query_counters(struct drv_device *dev, uint8_t port, struct hca_counters *out);

/* port.c */
void common_query_port(struct drv_device *dev, uint8_t port, struct ib_uverbs_query_port_resp *out);
uint64_t common_query_port_speed(struct drv_device *dev, uint8_t port);
int common_set_port(struct drv_device *dev, uint8_t port, bool up);
int common_set_gid(struct drv_device *dev, uint8_t port, unsigned int index, const uint8_t gid[16], bool v1);

/* gsi.c: QP 1 and the alarm */
int common_send_mad(struct drv_device *dev, uint8_t port, const struct hca_av *av, const void *mad);
void common_set_alarm(struct drv_device *dev, hca_ps at);
/* HCA_GSI_VECTOR was raised. */
void common_gsi_irq(const struct common_dev *n);

/* eq.c */
int common_eqs_create(struct common_dev *n);
void common_eqs_destroy(struct common_dev *n);
void common_irq(struct drv_device *dev, unsigned int vector);
/* Handles the current entries of the event queues. */
void common_eqs_poll(struct common_dev *n);
void common_encode_eqe(const struct hca_event *ev, unsigned int phase, void *raw);

/* objects.c. 0 or -ENOMEM. NULL releases the number, and cannot fail. */
int common_enter(struct common_objects *t, uint32_t number, void *obj);
void *common_find(const struct common_objects *t, uint32_t number);

/* memory.c: protection domains, regions, windows; address handles, which are only counted */
int common_alloc_pd(struct drv_pd *pd);
void common_dealloc_pd(struct drv_pd *pd);
int common_reg_mr(struct drv_mr *mr, uint64_t start, uint64_t length, uint64_t iova, uint32_t access,
		  struct drv_udata *u);
int common_rereg_mr(struct drv_mr *mr, uint32_t flags, uint64_t start, uint64_t length, uint64_t iova,
		    uint32_t access, struct drv_pd *pd);
int common_dereg_mr(struct drv_mr *mr);
int common_alloc_mw(struct drv_mw *mw, struct drv_udata *u);
int common_dealloc_mw(struct drv_mw *mw);
int common_create_ah(struct drv_ah *ah);
int common_destroy_ah(struct drv_ah *ah);

/* dm.c: device memory */
int common_alloc_dm(struct drv_dm *dm, uint32_t log_align);
int common_free_dm(struct drv_dm *dm);
int common_reg_dm_mr(struct drv_mr *mr, struct drv_dm *dm, uint64_t offset, uint64_t length, uint32_t access);
int common_mmap_dm(const struct drv_ucontext *ctx, uint64_t offset, uint64_t length, struct drv_mmap *out);

/* queues.c: what CQs, SRQs and QPs have in common, wherever their rings are */
/* The adapter's object, which is found by its number from then on: 0 or the adapter's errno, or -ENOMEM. */
int common_create_cq(struct drv_cq *cq, const struct hca_cq_attr *attr);
int common_create_srq(struct drv_srq *srq, const struct hca_srq_attr *attr);
int common_create_qp(struct drv_qp *qp, const struct hca_qp_attr_create *attr);
int common_moderate_cq(struct drv_cq *cq, uint16_t count, uint16_t us);
int common_destroy_cq(struct drv_cq *cq);
int common_modify_srq_limit(struct drv_srq *srq, uint32_t limit);
int common_query_srq_limit(struct drv_srq *srq, uint32_t *limit);
int common_destroy_srq(struct drv_srq *srq);
int common_query_qp(struct drv_qp *qp, struct hca_qp_attr *attr);
int common_destroy_qp(struct drv_qp *qp);

/* wq.c: work queues, and QPs that receive by a table of them */
void common_rss_caps(const struct drv_device *dev, struct ib_uverbs_ex_query_device_resp *out);
int common_modify_wq(struct drv_qp *wq, uint32_t cur_state, uint32_t state);
int common_create_rwq_table(struct drv_rwq_table *table);
void common_destroy_rwq_table(struct drv_rwq_table *table);
/* `key`: of HCASIM_RSS_KEY_SIZE bytes; `fields`: HCASIM_RSS_FIELD_*. */
int common_enter_rss(struct drv_qp *qp, const struct drv_qp_init *init, uint32_t fields, const uint8_t *key);

/* odp.c: on-demand paging */
void common_odp_caps(struct ib_uverbs_ex_query_device_resp *out);
int common_page_request(struct drv_device *dev, uint32_t token, struct hca_page_range *range, uint32_t max);
void common_page_response(struct drv_device *dev, uint32_t token, bool mapped);
int common_map_pages(struct drv_device *dev, const struct hca_page_range *range, bool prefetch);
void common_unmap_pages(struct drv_device *dev, uint32_t pasid, uint64_t va, uint64_t len);
int common_prefetch_range(struct drv_pd *pd, const struct ib_uverbs_sge *sge, bool write,
			  struct hca_page_range *out);

/* flow.c */
int common_create_flow(struct drv_flow *flow, const struct hca_flow_attr *attr);
/* One that leads to a QP or not, as `attr` says. */
int common_add_flow(struct drv_device *dev, struct common_flow *flow, const struct hca_flow_attr *attr);
int common_destroy_flow(struct drv_flow *flow);
int common_attach_mcast(struct drv_qp *qp, const uint8_t gid[16]);
int common_detach_mcast(struct drv_qp *qp, const uint8_t gid[16]);

/* udata.c. Copies the answer out, as much as the user has room for. */
void common_udata_put(struct drv_udata *u, const void *resp, size_t len);
/* -EINVAL: shorter than ours, -EOPNOTSUPP: longer, and not zero */
int common_udata_get(const struct drv_udata *u, void *req, size_t len);

#endif
