/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Commands of the adapter's firmware that a program gives through DEVX: what mlx5_ib lets through, and how the
 * firmware of this adapter answers. A command that fails there is -EREMOTEIO, and its answer says why.
 */
#ifndef HCASIM_MLX5_DEVX_H
#define HCASIM_MLX5_DEVX_H

#include "devices/mlx5/driver/driver.h"

/* What an object of a handle is, which is what a command must be about. */
enum mlx5_devx_kind {
	MLX5_DEVX_NONE, /* nothing has been made yet */
	MLX5_DEVX_RESERVED_QPNS,
	MLX5_DEVX_KEY,
	MLX5_DEVX_PD,
	MLX5_DEVX_CQ,
	MLX5_DEVX_QP,
	MLX5_DEVX_RMP,
	MLX5_DEVX_FLOW_COUNTER,
	MLX5_DEVX_FLOW_TABLE,
	MLX5_DEVX_FLOW_GROUP,
	MLX5_DEVX_FLOW_ENTRY,
	MLX5_DEVX_TIR,
	MLX5_DEVX_SCHED_ELEM,
};

TAILQ_HEAD(mlx5_flow_groups, mlx5_devx_obj);

struct mlx5_flow_table {
	uint32_t id; /* the adapter's */
	uint8_t type, side;
	uint32_t size;     /* entries */
	struct bits *used; /* which of them there are */
	struct mlx5_flow_groups groups;
};

struct mlx5_flow_group { /* entries from `first` to `last` of a table */
	struct mlx5_devx_obj *table;
	TAILQ_ENTRY(mlx5_devx_obj) on_table;
	uint32_t first, last;
	struct mlx5_matcher match;
};

struct mlx5_flow_entry {
	struct mlx5_devx_obj *table;
	uint32_t index, flow; /* flow: the adapter's */
};

struct mlx5_sched_elem {          /* share and rate as asked for */
	uint32_t id, share, rate; /* id: the adapter's */
	bool leaf, root;
};

struct mlx5_devx_obj { /* an object that a command has made; it is destroyed with its handle */
	union {        /* first: by it sim/kernel finds the handle */
		struct mlx5_cq cq;
		struct mlx5_qp qp;
		struct common_pd pd;
		struct mlx5_srq srq;
		struct hca_flow_counter *counters;
		struct mlx5_flow_table table;
		struct mlx5_flow_group group;
		struct mlx5_flow_entry entry;
		struct mlx5_sched_elem sched;
		const struct drv_qp *wq; /* TIR: where frames go */
	};
	struct drv_device *dev;
	const struct drv_ucontext *ctx;
	enum mlx5_devx_kind kind;
	int (*destroy)(struct mlx5_devx_obj *obj); /* NULL: object.c knows how */
	struct mlx5_event_subs subs;               /* of its events */
	uint32_t number;
	uint32_t block; /* FLOW_COUNTER: so many numbers from `number` on are its own */
	uint8_t context[sizeof(struct hcasim_mlx5_qpc)]; /* CQ, QP: cqc or qpc as created */
};

struct mlx5_umem { /* memory that a program has registered for the queues of its commands */
	struct mlx5_ucontext *ctx;
	uint32_t id; /* 0: not registered */
	uint32_t pasid;
	uint64_t addr, length;
};

struct mlx5_devx_cmd {
	struct drv_call *call;
	struct hcasim_mlx5_cmd_in head;
	const uint8_t *in; /* all of the command, `head` included */
	uint8_t *out;      /* zeroed; the head is put in afterwards */
	size_t in_len, out_len;
	uint32_t number; /* answer: of the new object */
	uint32_t ece;    /* answer: of a queue pair */
	struct mlx5_devx_obj
		*obj;      /* CREATE: to be filled in; else the object of the handle, if DEVX has made it */
	struct drv_qp *qp; /* the queue pair of the handle, or NULL */
};

/* What runs a command; the status of cmd_out, HCASIM_MLX5_CMD_STATUS_*. */
typedef uint8_t (*mlx5_devx_run)(struct mlx5_devx_cmd *cmd);

int mlx5_devx_other(struct drv_call *c);
int mlx5_devx_create(struct drv_call *c);
int mlx5_devx_modify(struct drv_call *c);
int mlx5_devx_query(struct drv_call *c);
int mlx5_devx_query_eqn(struct drv_call *c);
int mlx5_devx_query_uar(struct drv_call *c);
int mlx5_devx_destroy(void *object);

/* Events: of objects of DEVX, and of ports, to files and eventfds that have subscribed to them. */
void mlx5_devx_events_init(struct mlx5_dev *m, const struct drv_upcalls *kernel);
void mlx5_devx_events_end(const struct drv_device *dev, struct mlx5_event_subs *subs);
void mlx5_devx_events_close(const struct mlx5_ucontext *ctx);
int mlx5_devx_alloc_events(struct drv_call *c);
int mlx5_devx_subscribe(struct drv_call *c);

int mlx5_devx_async_query(struct drv_call *c);
int mlx5_devx_reg_umem(struct drv_call *c);
int mlx5_devx_dereg_umem(void *umem);
/*
 * Where `bytes` from `offset` of a registered memory are, which the adapter writes to; the command's new object uses the
 * memory from then on. BAD_PARAM: the context has no such memory, they are not all in it, or not aligned.
 */
uint8_t mlx5_devx_place(struct mlx5_devx_cmd *cmd, uint32_t umem_id, uint64_t offset, uint64_t bytes,
			uint32_t align, uint64_t *addr);
/* The new object is destroyed before `used`, an object of a handle. */
void mlx5_devx_use(struct mlx5_devx_cmd *cmd, const void *used);
/* An object of the command's context that it names by number; NULL: there is no such one. */
struct drv_pd *mlx5_devx_find_pd(const struct mlx5_devx_cmd *cmd, uint32_t pdn);
/* What the creation of a queue in registered memory answers, by the driver's errno. */
uint8_t mlx5_devx_status(int ret);
/* The udata of a verb that a command stands for; its memory is registered already. */
struct drv_udata mlx5_devx_udata(const void *req, size_t len);

uint8_t mlx5_devx_query_hca_cap(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_alloc_pd(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_create_cq(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_modify_cq(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_query_cq(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_create_rmp(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_create_qp(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_modify_qp(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_query_qp(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_create_mkey(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_create_general(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_alloc_flow_counter(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_query_flow_counter(struct mlx5_devx_cmd *cmd);
void mlx5_devx_free_flow_counters(struct mlx5_devx_obj *obj);
/* The counter `offset` of the object's block; NULL: there is none, or the object has no counters. */
struct hca_flow_counter *mlx5_devx_flow_counter(const struct mlx5_devx_obj *obj, uint32_t offset);
/* The counter of the context with this number, and the object that it is of; NULL: none. */
struct hca_flow_counter *mlx5_devx_find_counter(const struct mlx5_devx_cmd *cmd, uint32_t number,
						const struct mlx5_devx_obj **of);

/* Tables of flows: steering/ */
uint8_t mlx5_devx_create_flow_table(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_create_flow_group(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_set_flow_entry(struct mlx5_devx_cmd *cmd);
uint8_t mlx5_devx_create_tir(struct mlx5_devx_cmd *cmd);
const struct mlx5_devx_obj *mlx5_devx_find_tir(const struct mlx5_devx_cmd *cmd, uint32_t number);
/* A table of the context by number and type; NULL: none. */
struct mlx5_devx_obj *mlx5_devx_find_flow_table(const struct mlx5_devx_cmd *cmd, uint32_t number,
						uint32_t type);

#endif
