/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface of a device family's kernel driver, comparable to `struct ib_device_ops` in Linux. sim/kernel owns
 * handles, reference counts, checks that are the same for every driver (state transitions, access rights, limits) and
 * the user ABI; a driver owns its udata and the commands for its adapter.
 *
 * All functions return 0 or a negative errno, as in the kernel. Objects are allocated by sim/kernel with the sizes in
 * struct drv_ops and start zeroed.
 *
 * The order of commands, the same for all families (the caller sees to it): a command follows all stores to the
 * adapter that were made before it, for it begins with a store itself. It ends when all writes that the adapter issued
 * before its end, CQEs and payload, are in memory, for it is told by such a write (PCIe 2.4.1).
 */
#ifndef HCASIM_DEVICES_DRIVER_H
#define HCASIM_DEVICES_DRIVER_H

#include <rdma/ib_user_verbs.h>

#include "../core/counters.h"
#include "../core/comp_cntr.h"
#include "../core/hca.h"
#include "../core/marks.h"
#include "method.h"

#ifdef __cplusplus
extern "C" {
#endif

struct drv_udata { /* the driver's private part of a command, already copied in; `out` is copied back */
	const void *in;
	size_t in_len;
	void *out;
	size_t out_len; /* room; the driver writes at most this, and sets out_used */
	size_t out_used;
	/* Memory of the caller whose address `in` contains: 0 or -EFAULT. */
	int (*write_user)(const struct drv_udata *u, uint64_t dst, const void *src, size_t size);
	int (*read_user)(const struct drv_udata *u, void *dst, uint64_t src, size_t size);
	/* Memory of the caller that the adapter shall write to: 0, -EFAULT or -ENOMEM. */
	int (*pin_user)(const struct drv_udata *u, uint64_t addr, size_t size);
	/* The same for a record in a page that all objects of a context share: it is counted once. */
	int (*pin_record)(const struct drv_udata *u, uint64_t addr, size_t size);
	void *kernel;
	/*
	 * The driver's answer, or NULL: the command is done once this is false for `object`. The adapter goes on, but the
	 * caller does not return before.
	 */
	bool (*busy)(void *object);
	void *object;
};

/* Meaning of a page-aligned mmap offset of the device file. */
struct drv_mmap {
	enum { DRV_MMAP_BAR, DRV_MMAP_MEMORY } kind;
	unsigned int bar; /* BAR: which, and where in it */
	uint64_t bar_offset;
	bool write_combining;
	int memfd; /* MEMORY: shared pages that the adapter reaches by plain loads and stores */
	uint64_t memfd_offset;
	uint64_t length; /* bytes, whole pages */
	bool read_only;
};

/*
 * The memory of a queue, with what its driver needs to complete outstanding work when the adapter is lost. The driver
 * fills it in when it creates the queue; the guardian maps the memory and passes it to the driver. A queue in the
 * program's own memory cannot be mapped: the guardian has a file of that memory, in which an offset is an address.
 */
struct drv_orphan {
	uint64_t mmap_offset,
		size;    /* of the device file, and other queues' as well; size 0: no memory to map */
	bool in_process; /* in the program's own memory */
	uint32_t number; /* CQN or QPN */
	uint32_t send_cqn, recv_cqn;
	uint64_t record, ring, sq, rq; /* offsets in the memory, or addresses; ring: CQ */
	uint32_t entries, cqe_size;    /* CQ */
	uint32_t sq_wqebb, rq_wqes, user_index;
	bool raw;      /* a QP that receives by flows */
	uint32_t mark; /* sim/process': which marks; 0: none */
	uint8_t *mem;  /* mapped memory, or NULL */
	int file;      /* `in_process`: of the program's memory */
	/* `in_process`: how far the queue pair's completions had come; NULL: not known */
	const struct hca_marks *marks;
	uint32_t pi; /* CQ, the driver's: entries before this one are written, if it has looked */
	bool looked; /* the driver has looked where to begin: flushed up to here */
	uint32_t sq_done, rq_done;
};

/* What a program's processor does with a store to a BAR. */
struct drv_cpu_work {
	enum { DRV_CPU_STORE, DRV_CPU_POLL } kind; /* POLL: it only says that the program has polled a CQ */
	uint32_t items; /* STORE: WQEs that it announces; POLL: CQEs that it took */
};

struct drv_device {
	struct hca *hca;
	bool poll_doorbell; /* the programs' polls must be seen (virtual clock) */
	const struct hca_config *cfg;
	const struct drv_ops *ops;
	void *kernel; /* sim/kernel's device */
	void *priv;
};

struct drv_ucontext {
	struct drv_device *dev;
	uint32_t pasid;
};
struct drv_pd {
	struct drv_ucontext *ctx;
};
struct drv_cq {
	struct drv_ucontext *ctx;
	uint32_t cqe; /* as granted */
	uint32_t cqn;
	struct drv_orphan orphan;
};
struct drv_srq {
	struct drv_pd *pd;
	uint32_t srqn;
};
struct drv_qp { /* or a work queue */
	struct drv_device *dev;
	bool wq;
	bool rss;          /* it has no queues and no states: its frames go to work queues */
	struct drv_pd *pd; /* NULL: XRC_RECV, whose keys are of its SRQs' domains */
	uint32_t qpn;
	uint8_t type, state, port;
	struct ib_uverbs_qp_dest dest; /* sim/kernel's: as modified, through any handle */
	struct drv_orphan orphan;
};
struct drv_rwq_table {
	struct drv_device *dev;
	uint32_t number;
	uint8_t log_size;
	uint32_t *wqn; /* sim/kernel's: the numbers of its work queues */
};
struct drv_dm {
	struct drv_ucontext *ctx;
	uint64_t length; /* as asked for */
};
struct drv_mr {
	struct drv_pd *pd;
	uint32_t lkey, rkey;
	/* Set before reg_mr. The memory is the caller's, which may have imported the context from another process. */
	uint32_t pasid;
	struct hca_tph tph; /* of its DMA handle */
};
struct drv_dmah {
	bool has_cpu, has_mem_type, has_ph;
	uint32_t cpu;
	uint8_t mem_type; /* enum ibv_tph_mem_type */
	uint8_t ph;
	struct hca_tph tph; /* the driver's answer */
};
struct drv_comp_cntr {
	struct drv_ucontext *ctx;
	uint32_t id; /* hca_comp_cntr_create() */
};
struct drv_ah {
	struct drv_pd *pd;
};
struct drv_mw {
	struct drv_pd *pd;
	uint32_t rkey;
	uint8_t type; /* enum ibv_mw_type */
};
struct drv_flow {
	struct drv_device *dev; /* set by the driver */
	struct drv_qp *qp;      /* NULL: it leads elsewhere */
};

struct drv_srq_init {
	uint32_t max_wr, max_sge; /* in: asked; out: granted */
	uint32_t limit;           /* rxe arms it at once, as rdma_rxe does; other drivers ignore it */
	uint32_t xrcdn;           /* number of its XRC domain, 0: none */
	struct drv_cq *cq;        /* XRC, tag matching: where its receives complete */
	uint32_t num_tags;        /* size of its tag list, 0: no tag matching */
};

struct drv_qp_init {
	uint8_t type; /* HCASIM_QPT_* */
	struct drv_cq *send_cq, *recv_cq;
	struct drv_srq *srq;
	uint32_t xrcdn; /* XRC_RECV */
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge,
		max_inline; /* in: asked; out: granted */
	bool sq_sig_all;
	uint32_t create_flags;
	uint32_t source_qpn;
	struct drv_rwq_table *table; /* RSS; NULL: none */
};

/* Upcalls that the driver makes when its event queue says so. */
struct drv_upcalls {
	void (*page_request)(struct drv_device *dev, uint32_t token);
	void (*completion)(struct drv_cq *cq);
	void (*async_cq)(struct drv_cq *cq, uint32_t ibv_event); /* enum ibv_event_type values */
	void (*async_qp)(struct drv_qp *qp, uint32_t ibv_event);
	void (*async_srq)(struct drv_srq *srq, uint32_t ibv_event);
	void (*async_port)(struct drv_device *dev, uint8_t port, uint32_t ibv_event);
	/* A management datagram has come to QP 1. */
	void (*mad)(struct drv_device *dev, const struct hca_mad *mad);
	/* The time that set_alarm named has come. May be early, or once too often. */
	void (*alarm)(struct drv_device *dev);
	/*
	 * Files of the driver's own: a record for the program to read. -EAGAIN: it has not read too many. A file that it
	 * has closed takes none, and exists while the driver has a reference.
	 */
	int (*file_push)(struct drv_file *f, const void *data, size_t len);
	bool (*file_open)(const struct drv_file *f);
	void (*file_get)(struct drv_file *f);
	void (*file_put)(struct drv_file *f);
	/* True while a process maps some of these bytes of a BAR: they must not become another one's yet. */
	bool (*bar_mapped)(struct drv_device *dev, unsigned int bar, uint64_t offset, uint64_t length);
};

/* A file of a port in sysfs. */
struct drv_counter {
	const char *file;
	uint8_t counter; /* enum hcasim_counter; HCASIM_NUM_COUNTERS: the file is always 0 */
	uint8_t unit;    /* the file has the counter divided by this */
};

/* Completion counters: core/comp_cntr.h. */
struct drv_comp_cntr_ops {
	int (*create)(struct drv_comp_cntr *cntr, uint32_t type); /* enum ibv_comp_cntr_type */
	int (*destroy)(struct drv_comp_cntr *cntr);
	/* `add`: to the value, else instead of it */
	int (*modify)(struct drv_comp_cntr *cntr, enum hca_comp_entry entry, bool add, uint64_t value);
	int (*read)(const struct drv_comp_cntr *cntr, enum hca_comp_entry entry, uint64_t *value);
	/* In RESET and INIT; -EINVAL in other states. */
	int (*attach)(struct drv_qp *qp, const struct drv_comp_cntr *cntr, uint32_t ops);
};

/* Whether GID tables have entries of RoCEv1. */
enum drv_roce_v1 {
	DRV_ROCE_V1_NEVER,
	DRV_ROCE_V1_ALWAYS,
	DRV_ROCE_V1_CONFIGURED, /* by hca_config.roce_v1 */
};

struct drv_ops {
	const char *name;                /* of the family, as --device names it: "native" */
	const char *provider;            /* libibverbs' plug-in for it: "hcasim" of libhcasim-rdmavNN.so */
	const char *module;              /* the kernel's driver */
	const char *hca_type, *board_id; /* as in sysfs */
	const char *netdev;              /* network interfaces: "ens" */
	uint16_t pci_vendor, pci_device, pci_subvendor, pci_subdevice;
	uint32_t pci_class;
	uint32_t driver_id, uverbs_abi; /* enum rdma_driver_id; device/abi_version */
	enum drv_roce_v1 roce_v1;
	const struct hca_personality *personality;
	unsigned int num_comp_vectors; /* what a CQ may name as its vector */
	size_t sz_ucontext, sz_pd, sz_cq, sz_srq, sz_qp, sz_mr, sz_ah, sz_mw, sz_flow, sz_dm;

	int (*probe)(struct drv_device *dev, const struct drv_upcalls *up);
	void (*remove)(struct drv_device *dev);
	void (*irq)(struct drv_device *dev, unsigned int vector);
	/*
	 * Called often, while simulated time follows the host's: programs read the time of day from memory of this
	 * driver. NULL: they do not.
	 */
	void (*update_clock)(struct drv_device *dev);
	void (*query_device)(struct drv_device *dev, struct ib_uverbs_ex_query_device_resp *out);
	/* The driver's own part of the answer to an extended query; NULL: there is none. */
	void (*query_device_ex)(struct drv_device *dev, struct drv_udata *u);
	void (*query_port)(struct drv_device *dev, uint8_t port, struct ib_uverbs_query_port_resp *out);
	/* Effective, in units of 100 Mb/s; 0: the link is down. NULL: not supported. */
	uint64_t (*query_port_speed)(struct drv_device *dev, uint8_t port);
	/* The port's network interface is set up or down. */
	int (*set_port)(struct drv_device *dev, uint8_t port, bool up);
	/* GID `index` of `port`. -EINVAL: there is no such entry. -EOPNOTSUPP: the adapter does not send RoCEv1. */
	int (*set_gid)(struct drv_device *dev, uint8_t port, unsigned int index, const uint8_t gid[16],
		       bool v1);
	void (*query_counters)(struct drv_device *dev, uint8_t port, struct hca_counters *out);
	const struct drv_counter
		*counters; /* files of a port in sysfs; the last one has no name. NULL: none */

	/* QP 1 (IBTA 13.5): sends the HCA_MAD_SIZE bytes at `mad`. -ENETDOWN: the port is down. */
	int (*send_mad)(struct drv_device *dev, uint8_t port, const struct hca_av *av, const void *mad);
	/* The alarm upcall is made at this device time; HCA_PS_NEVER: not any more. One at a time. */
	void (*set_alarm)(struct drv_device *dev, hca_ps at);

	int (*alloc_ucontext)(struct drv_ucontext *ctx, struct drv_udata *u);
	void (*dealloc_ucontext)(struct drv_ucontext *ctx);
	/* What alloc_ucontext answered, for a process that imports the context; NULL: not supported. */
	int (*query_ucontext)(struct drv_ucontext *ctx, struct drv_udata *u);
	int (*mmap)(struct drv_ucontext *ctx, uint64_t offset, uint64_t length, struct drv_mmap *out);
	/* A store of a program, in its order; NULL: each is one that announces nothing. */
	void (*cpu_work)(struct drv_device *dev, unsigned int bar, uint64_t offset, const void *data,
			 uint32_t size, struct drv_cpu_work *out);

	int (*alloc_pd)(struct drv_pd *pd, struct drv_udata *u);
	void (*dealloc_pd)(struct drv_pd *pd);
	int (*reg_mr)(struct drv_mr *mr, uint64_t start, uint64_t length, uint64_t iova, uint32_t access,
		      struct drv_udata *u);
	/* NULL pd, or a flag not set: that part stays (IB_MR_REREG_*). */
	int (*rereg_mr)(struct drv_mr *mr, uint32_t flags, uint64_t start, uint64_t length, uint64_t iova,
			uint32_t access, struct drv_pd *pd);
	int (*dereg_mr)(struct drv_mr *mr);
	/* What a DMA handle asks for becomes a hint. NULL: the adapter has none. */
	int (*alloc_dmah)(struct drv_dmah *dmah);
	const struct drv_comp_cntr_ops *comp_cntr; /* NULL: none */
	/* Device memory: `log_align` is of its address there. NULL: there is none. */
	int (*alloc_dm)(struct drv_dm *dm, uint32_t log_align, struct drv_udata *u);
	int (*free_dm)(struct drv_dm *dm);
	/* A region of addresses from 0 on. The range lies in `dm`. */
	int (*reg_dm_mr)(struct drv_mr *mr, struct drv_dm *dm, uint64_t offset, uint64_t length,
			 uint32_t access);
	/* On-demand paging, as hca_page_request() and those that follow it in core/hca.h; NULL: none. */
	int (*page_request)(struct drv_device *dev, uint32_t token, struct hca_page_range *range,
			    uint32_t max);
	void (*page_response)(struct drv_device *dev, uint32_t token, bool mapped);
	int (*map_pages)(struct drv_device *dev, const struct hca_page_range *range, bool prefetch);
	void (*unmap_pages)(struct drv_device *dev, uint32_t pasid, uint64_t va, uint64_t len);
	/* The pages of an SGE. -ENOENT: its key is no on-demand region's, -EINVAL: it is a window's, -EPERM: of another
	 * PD, or not to be written to, -EFAULT: out of bounds. */
	int (*prefetch_range)(struct drv_pd *pd, const struct ib_uverbs_sge *sge, bool write,
			      struct hca_page_range *out);
	int (*alloc_mw)(struct drv_mw *mw, struct drv_udata *u);
	int (*dealloc_mw)(struct drv_mw *mw);
	int (*create_cq)(struct drv_cq *cq, uint32_t cqe, uint32_t comp_vector, uint32_t flags,
			 struct drv_udata *u);
	int (*resize_cq)(struct drv_cq *cq, uint32_t cqe, struct drv_udata *u);
	int (*moderate_cq)(struct drv_cq *cq, uint16_t count, uint16_t us);
	int (*destroy_cq)(struct drv_cq *cq);
	int (*create_srq)(struct drv_srq *srq, struct drv_srq_init *init, struct drv_udata *u);
	int (*modify_srq_limit)(struct drv_srq *srq, uint32_t limit);
	int (*query_srq_limit)(struct drv_srq *srq, uint32_t *limit);
	int (*destroy_srq)(struct drv_srq *srq);
	int (*create_qp)(struct drv_qp *qp, struct drv_qp_init *init, struct drv_udata *u);
	int (*modify_qp)(struct drv_qp *qp, const struct hca_qp_attr *attr, uint32_t mask,
			 struct drv_udata *u);
	int (*query_qp)(struct drv_qp *qp, struct hca_qp_attr *attr);
	int (*destroy_qp)(struct drv_qp *qp);
	/*
	 * Work queues: struct drv_qp with `wq`, and the receive members of drv_qp_init; destroy_qp destroys them,
	 * too. States are numbered as enum ibv_wq_state. NULL: none.
	 */
	int (*create_wq)(struct drv_qp *wq, struct drv_qp_init *init, struct drv_udata *u);
	int (*modify_wq)(struct drv_qp *wq, uint32_t cur_state, uint32_t state);
	/* Those of IB_UVERBS_WQ_FLAGS_* that can be changed; `mask`: which of them are to be as in `flags`. */
	uint32_t wq_flags;
	int (*set_wq_flags)(struct drv_qp *wq, uint32_t flags, uint32_t mask);
	/* Indirection tables. NULL: none. */
	int (*create_rwq_table)(struct drv_rwq_table *table);
	void (*destroy_rwq_table)(struct drv_rwq_table *table);
	/* av->dmac is already resolved */
	int (*create_ah)(struct drv_ah *ah, const struct hca_av *av, struct drv_udata *u);
	int (*destroy_ah)(struct drv_ah *ah);
	/* NULL: no flow steering. The driver puts in the QP's number. */
	int (*create_flow)(struct drv_flow *flow, const struct hca_flow_attr *attr);
	int (*destroy_flow)(struct drv_flow *flow);
	/* NULL: no multicast. */
	int (*attach_mcast)(struct drv_qp *qp, const uint8_t gid[16]);
	int (*detach_mcast)(struct drv_qp *qp, const uint8_t gid[16]);
	/* The commands of write(), for queues without doorbells: WQEs that are already in the queue; NULL: not supported. */
	int (*post_send)(struct drv_qp *qp);
	int (*req_notify_cq)(struct drv_cq *cq, bool solicited);
	/* A new size; NULL: it only changes how much software may post, for the ring has the maximum size. */
	int (*resize_srq)(struct drv_srq *srq, uint32_t max_wr, struct drv_udata *u);
	/* ioctl methods, and types of objects, that the driver adds to the kernel's. */
	const struct drv_method *methods;
	const struct drv_object *objects;
	unsigned int num_methods, num_objects;
	/*
	 * The adapter and the driver's process are lost: completes outstanding work in `qp` with flush errors as far
	 * as there is space; later calls do so for work that is posted later. A destroyed CQ is NULL.
	 */
	void (*flush_orphan)(struct drv_orphan *qp, struct drv_orphan *send_cq, struct drv_orphan *recv_cq);
};

#ifdef __cplusplus
}
#endif
#endif
