/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of sim/kernel share. Every path returns the errno of the Linux release that the machine
 * offers; paths that are the same in all releases were taken from the source of 6.1.
 */
#ifndef HCASIM_KERNEL_PRIV_H
#define HCASIM_KERNEL_PRIV_H

#include <stddef.h>
#include <sys/queue.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "containers/numbers.h"
#include "containers/table.h"
#include "hcasim_verbs.h"
#include "kernel/kernel.h"
#include "kernel/ktimer.h"

#define KPAGE_SIZE    4096u
#define MAX_PORTS     2
#define MAX_GIDS      16
#define MAX_DEVICES   16u
#define MAX_HANDLES   (1u << 24) /* of a file, including freed ones that are not reused yet */
#define UVERBS_MAJOR  231        /* the kernel's: Documentation/admin-guide/devices.txt */
#define UVERBS_MINOR  192
#define IFINDEX_FIRST 100 /* of the adapters' network interfaces, far from the host's own */

/* ---- Event files ------------------------------------------------------------------------------ */

struct uobj;

/* One event that, as far as is known, the application has not read. */
struct evrec {
	TAILQ_ENTRY(evrec) link;
	struct uobj *obj; /* NULL: a port or device event, or a driver's record */
	union {
		struct ib_uverbs_comp_event_desc comp;
		struct ib_uverbs_async_event_desc async;
	} desc;
	size_t len; /* of a driver's record */
	uint8_t data[];
};
TAILQ_HEAD(evrec_list, evrec);

/*
 * A completion channel or an async event file: a pipe whose read end the application holds. Or a file of a driver's
 * records: a socket, which keeps them apart.
 */
struct evfile {
	struct drv_file drv; /* first */
	uint16_t type;       /* of the object, if it is a driver's; else 0 */
	size_t waiting;      /* bytes of records that are not written */
	TAILQ_ENTRY(evfile) link;
	struct table_node by_ino; /* in the kernel's `evfiles` */
	struct kfile *file; /* NULL once either side has closed it; only objects still refer to it then */
	bool async;
	int wfd; /* -1 once closed, like `file` */
	unsigned int refs;
	struct evrec_list queue;
	unsigned int in_pipe;    /* number of records at the head of `queue` that were written to the pipe */
	struct evrec *unwritten; /* the first record after them */
};
TAILQ_HEAD(evfile_list, evfile);

int evfile_create(struct kfile *f, bool async, struct evfile **out, int *read_fd);
/* A file of a driver's records, of an object type of the driver's. */
int evfile_create_records(struct kfile *f, uint16_t type, struct evfile **out, int *read_fd);
int evfile_push_record(struct drv_file *file, const void *data, size_t len);
bool evfile_is_open(const struct drv_file *file);
/* Finds the event file by the inode `ino` of the application's end. NULL: this file has none. */
struct evfile *evfile_find(const struct kfile *f, uint64_t ino);
/* For references other than the application's. */
void evfile_get(struct evfile *ev);
void evfile_put(struct evfile *ev);
/*
 * Ends what evfile_create() began: no more events are delivered, and the application's reads return end of
 * file.
 */
void evfile_shutdown(struct evfile *ev);
/* Objects without their own event file report to the first one set here. */
void kfile_default_async(struct kfile *f, struct evfile *ev);
void evfile_push_comp(struct evfile *ev, struct uobj *obj);
void evfile_push_async(struct evfile *ev, struct uobj *obj, uint64_t element, uint32_t type);
/* Removes the events of `obj` that were not read yet. Its counters do not change after that. */
void evfile_forget(struct evfile *ev, struct uobj *obj);
/* The same for all objects at once. */
void evfile_forget_all(struct evfile *ev);

/* ---- Objects ----------------------------------------------------------------------------------- */

struct ev_counts { /* events of an object that its application has read */
	uint32_t comp, async;
};

/* An XRC domain: shared by all contexts that opened the same file, or private to one. */
struct xrcd {
	LIST_ENTRY(xrcd) link;
	bool has_file;
	uint64_t dev, ino;
	uint32_t number;   /* not 0 */
	unsigned int refs; /* contexts that have it open */
};

/* An XRC receiving QP: one in the adapter, shared by every context that created or opened it. */
struct xrc_qp {
	LIST_ENTRY(xrc_qp) link;
	uint32_t xrcdn;
	struct drv_qp *drv;
	LIST_HEAD(, uobj) handles;
};

#define UOBJ_MAX_USES 6

/* Memory of a program that the adapter holds for an object. */
struct pinned {
	uint32_t pasid; /* whose */
	uint64_t pages;
	struct record_page *record; /* NULL: no record */
};

struct uobj {
	TAILQ_ENTRY(uobj) link;
	struct kfile *file;
	uint16_t type; /* UVERBS_OBJECT_* */
	bool listed;
	uint32_t handle;
	uint64_t user_handle;
	unsigned int users; /* objects that use this one; it cannot be destroyed unless 0 */
	struct uobj *uses[UOBJ_MAX_USES];
	void *drv; /* the driver's object; NULL until created */
	struct evfile *comp, *async;
	struct ev_counts counts;
	unsigned int unread; /* records in the queues of `comp` and `async` */
	struct pinned pinned;
	/* What destruction needs besides the driver's function, set by the creator; NULL: nothing. */
	int (*drop)(struct uobj *u);    /* called instead of it if the driver's object is shared */
	void (*detach)(struct uobj *u); /* called first when the file is released */
	void (*forget)(struct uobj *u); /* called last, with or without a driver's object */
	union {
		struct {
			uint64_t start, length, iova;
			uint32_t access;
			bool fixed;            /* not memory of the caller: cannot be re-registered */
			struct dmabuf *dmabuf; /* NULL: not a region of a dma-buf */
		} mr;
		struct {
			bool sq_sig_all;
			struct xrc_qp *shared; /* NULL: belongs to this context alone */
			LIST_ENTRY(uobj) handle;
			uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
			LIST_HEAD(, kmcast) mcasts;
		} qp;
		struct {
			uint32_t max_wr, max_sge;
			bool xrc;
		} srq;
		struct xrcd *xrcd;
		uint32_t wq_state;   /* enum ibv_wq_state, as modified */
		struct uobj **table; /* the work queues in the indirection table */
	};
};
TAILQ_HEAD(uobj_list, uobj);

struct call;

/* -EINVAL without a context. The object is listed by uobj_commit. */
int uobj_alloc(struct kfile *f, uint16_t type, struct uobj **out);
void uobj_commit(struct uobj *u);
/* Undoes uobj_alloc, and the driver's object if there is one. */
void uobj_abort(struct uobj *u);
/* -ENOENT: no such handle, -EINVAL: the handle is of another type */
int uobj_lookup(struct kfile *f, uint16_t type, uint64_t handle, struct uobj **out);
/* The lookup of the write() commands, which before Linux 6.15 answer -EINVAL to any error. */
int uobj_get(struct kfile *f, uint16_t type, uint32_t handle, struct uobj **out);
/* -EBUSY while something uses it, or the driver's error. Frees `u` if 0. */
int uobj_destroy(struct uobj *u, struct ev_counts *counts);
/* What the destroy commands of write() do: uobj_lookup, then uobj_destroy. */
int uobj_destroy_handle(struct kfile *f, uint16_t type, uint64_t handle, struct ev_counts *counts);
void uobj_destroy_all(struct kfile *f);
void uobj_use(struct uobj *user, struct uobj *used);
void uobj_unuse(struct uobj *user, struct uobj *used);
/* Sets where its asynchronous events go; NULL: to the first event file of its context. */
void uobj_set_async(struct uobj *u, struct evfile *async);
/* Allocates `size` zeroed bytes, from which drv_uobj() gets back to `u`. */
void *drv_alloc(size_t size, struct uobj *u);
void drv_free(void *drv);
struct uobj *drv_uobj(const void *drv);
void drv_set_uobj(void *drv, struct uobj *u);

/* ---- Files and devices ------------------------------------------------------------------------- */

struct kgid {
	uint8_t raw[16];
	bool valid;
	bool v1; /* RoCEv1 */
};

TAILQ_HEAD(kfile_list, kfile);

#define HW_LIFESPAN 10 /* ms, RDMA_HW_STATS_DEFAULT_LIFESPAN */

struct kdev {
	struct kernel *k;
	unsigned int index;
	bool probed;
	struct drv_device drv;
	struct ib_uverbs_ex_query_device_resp attr;
	unsigned int num_ports;
	struct ib_uverbs_query_port_resp port[MAX_PORTS];
	struct kgid gid[MAX_PORTS][MAX_GIDS];
	struct hca_counters shown[MAX_PORTS]; /* as last written to sysfs */
	struct khw {
		struct hca_counters shown; /* in hw_counters, where a program has seen them at `at` */
		hca_ps at;
		bool seen;
		uint32_t lifespan; /* ms */
	} hw[MAX_PORTS];
	struct kfile_list files;
	LIST_HEAD(, xrcd) xrcds;
	LIST_HEAD(, xrc_qp) xrc_qps;
	uint32_t last_xrcdn;
	LIST_HEAD(, page_work) page_works;
};

struct ucma;
struct ucma_file;

struct kfile {
	TAILQ_ENTRY(kfile) link;
	struct ucma_file *cm; /* not NULL: a file of the connection manager; nothing below is used */
	uint32_t number;      /* from 1 on, for the log */
	struct kdev *dev;
	struct drv_ucontext *ctx;
	struct evfile *default_async; /* the first async event file, closed or not */
	struct evfile_list events;
	struct uobj_list objects; /* newest first */
	struct numbers handles;
	struct table mcasts;  /* by QP, group and LID */
	struct table records; /* pages with records, by process and address */
};

struct kpath { /* files and folders of the sysfs tree, newest first */
	SLIST_ENTRY(kpath) link;
	bool dir;
	char name[];
};

SLIST_HEAD(kpath_list, kpath);

struct kernel {
	struct kernel_config cfg;
	char *root;
	struct kpath_list paths;
	struct kdev dev[MAX_DEVICES];
	unsigned int num_devices;
	struct heap timers;
	struct ucma *ucma;
	int event_fd;         /* epoll: reports changes of the event files' pipes */
	struct table evfiles; /* by the pipe's inode number */
	uint32_t num_files;   /* opened so far */
};

/* True if the machine's Linux release has the item: see releases.h. */
static inline bool kernel_has(const struct kernel *k, enum abi_kind kind, uint16_t object, uint16_t method,
			      uint16_t number)
{
	return abi_has(k->cfg.release, kind, object, method, number);
}

static inline const struct drv_ops *kdev_ops(const struct kdev *d)
{
	return d->drv.ops;
}

static inline bool kdev_port_valid(const struct kdev *d, uint32_t port)
{
	return port >= 1 && port <= d->num_ports;
}

static inline bool kdev_port_up(const struct kdev *d, unsigned int port)
{
	return d->port[port - 1].state == 4; /* IB_PORT_ACTIVE */
}

int kdev_probe(struct kdev *d, struct kernel *k, unsigned int index);
void kdev_remove(struct kdev *d);
/* Reads the port's attributes from the driver again. */
void kdev_query_port(struct kdev *d, uint8_t port);

int sysfs_create(struct kernel *k, char *err, size_t err_size);
void sysfs_destroy(struct kernel *k);
/*
 * Writes port states and counters. These are plain files, which cannot be computed when they are read, so
 * they are written when a port changes, when an application leaves the device, and when one is about to open
 * them (kernel_show_counters()).
 */
void sysfs_update(struct kdev *d, bool port_changed);
/* A program is about to read hw_counters: they are those of now until their lifespan is over. */
void sysfs_show_hw(struct kdev *d, uint8_t port);
void kdev_netdev_name(const struct kdev *d, unsigned int port, char *name, size_t size);
static inline unsigned int kdev_ifindex(const struct kdev *d, unsigned int port)
{
	return IFINDEX_FIRST + d->index * MAX_PORTS + port - 1;
}

/* ---- On-demand paging -------------------------------------------------------------------------- */

/* Upcall: the adapter requests pages. */
void odp_page_request(struct drv_device *drv, uint32_t token);
void odp_cancel(struct kdev *d);
/* True if the range means the whole address space (an implicit region). */
bool odp_is_implicit(uint64_t start, uint64_t length);
/* 0, -EINVAL, -EOVERFLOW */
int odp_check(const struct kdev *d, uint64_t start, uint64_t length, uint64_t iova, uint32_t access);

/* ---- Addresses --------------------------------------------------------------------------------- */

#define DEFAULT_HOPS 64 /* net.ipv4.ip_default_ttl, used if the route has no hop limit */

void addr_fill_gids(struct kdev *d);
/* The entry of this RoCE version; NULL: there is none. */
const struct kgid *addr_find_gid(const struct kdev *d, uint8_t port, const uint8_t gid[16], bool v1);
static inline uint8_t addr_index(const struct kdev *d, uint8_t port, const struct kgid *g)
{
	return (uint8_t)(g - d->gid[port - 1]);
}
bool addr_is_v4(const uint8_t gid[16]);
/* -EINVAL: no such entry, -ENODATA: it is empty */
int addr_check_sgid(const struct kdev *d, uint32_t port, uint32_t index);
/* Resolve a user's address on an Ethernet port: MAC and hop limit. */
bool addr_is_multicast(const uint8_t gid[16]);
int addr_resolve(const struct kdev *d, const struct ib_uverbs_ah_attr *attr, struct hca_av *av);

/* ---- System calls ------------------------------------------------------------------------------ */

struct attr_spec;
struct method;
struct write_cmd;

struct attr_val {
	bool present;
	uint16_t idx; /* index in the user's array */
	uint16_t len;
	uint64_t data;
	struct uobj *obj;
	struct uobj *array[IDR_ARRAY_MAX]; /* of handles: `num`, and `obj` is the first */
	uint16_t num;
	struct evfile *ev;
};
#define MAX_ATTRS 20 /* most attributes of one method */

/* One ioctl or write in progress. */
struct call {
	struct kfile *f;
	struct task *t;
	struct kreply *reply;
	/* Request and response of a command, in user memory. */
	uint64_t in, out;
	size_t in_len, out_len;
	int out_attr; /* index in the user's array of the attribute that `out` comes from; -1: none */
	/* The driver's data: its address, and a copy while the driver's function runs. */
	uint64_t uhw_in, uhw_out;
	size_t uhw_in_len, uhw_out_len;
	int uhw_out_attr;
	const struct write_cmd *command; /* NULL: an ioctl that is no command */
	struct drv_udata udata;
	void *udata_in;
	/* ioctl */
	const struct method *method;
	const struct drv_method *driver; /* the method is the driver's */
	uint64_t user_attrs;
	const struct ib_uverbs_attr *uattrs;
	unsigned int num_uattrs;
	struct attr_val val[MAX_ATTRS];
	/* Objects the call creates: kept if it succeeds. */
	struct uobj *created;
	struct pinned pinned;    /* for the object that it creates or changes */
	uint64_t refused_pages;  /* more than RLIMIT_MEMLOCK allows; 0: none */
	struct ev_counts counts; /* of the object that the call destroyed */
};

static inline int call_read(struct call *c, void *dst, uint64_t src, size_t len)
{
	return len ? c->t->ops->copy_from_user(c->t, dst, src, len) : 0;
}
static inline int call_write(struct call *c, uint64_t dst, const void *src, size_t len)
{
	return len ? c->t->ops->copy_to_user(c->t, dst, src, len) : 0;
}
int call_clear(struct call *c, uint64_t dst, size_t len);
/* 1: all zero, 0: not, or -EFAULT */
int call_is_zero(struct call *c, uint64_t src, size_t len);
/*
 * Call these around a driver's function that takes udata. call_udata_done() copies its response to the user.
 */
int call_udata(struct call *c, struct drv_udata **u);
int call_udata_done(struct call *c);
int call_install_fd(struct call *c, int fd, uint64_t uaddr, uint8_t size);
int call_alloc_uobj(struct call *c, uint16_t type, struct uobj **out);
/* Keeps or undoes what the call created, by `ret`. Returns `ret`. */
int call_finish(struct call *c, int ret);
/* ---- Pinned memory: ib_umem_get() and ib_umem_release() ----------------------------------------- */

/* For the object that the call creates, or for that of pin_move(). -EINVAL: the range wraps, -EFAULT, -ENOMEM */
int pin_memory(struct call *c, uint64_t addr, uint64_t len, bool write);
/* The checks alone. */
int pin_check(struct call *c, uint64_t addr, uint64_t len, bool write);
int pin_record(struct call *c, uint64_t addr, uint64_t len);
/* What the call has pinned is the object's, in place of what it had; its record stays. */
void pin_move(struct call *c, struct uobj *u);
void pin_release(struct kfile *f, struct pinned *p);

/* 0, or -EINVAL if there is no context yet */
int call_context(struct call *c);
struct evfile *call_find_event(struct call *c, int64_t fd, bool async, int *err);
/* The same for a file of a driver's records. */
struct evfile *call_find_records(struct call *c, int64_t fd, uint16_t type, int *err);
int call_alloc_context(struct call *c);

/* Commands (write.c, INVOKE_WRITE). */
struct write_cmd {
	uint32_t cmd; /* with IB_USER_VERBS_CMD_FLAG_EXTENDED */
	uint32_t req, resp;
	bool has_resp, has_udata;
	int (*handler)(struct call *c);
};
/* NULL: *err is the errno */
const struct write_cmd *write_cmd_find(const struct kdev *d, uint32_t command, int *err);
int req_get(struct call *c, void *req, size_t len);
/* Also finds the object whose handle is at byte `at` of the request. -EINVAL: no such object. */
int req_find_at(struct call *c, void *req, size_t len, size_t at, uint16_t type, struct uobj **out);
#define req_find(c, req, field, type, out)                                                                   \
	req_find_at(c, req, sizeof(*(req)), offsetof(__typeof__(*(req)), field), type, out)
/* Handles a command whose request is only a handle: destroys that object. */
int req_destroy(struct call *c, uint16_t type);
int resp_put(struct call *c, const void *resp, size_t len);
static inline uint32_t resp_len(const struct call *c, size_t len)
{
	return c->out_len < len ? c->out_len : len;
}

int cmd_get_context(struct call *c);
int cmd_query_device(struct call *c);
int cmd_query_port(struct call *c);
int cmd_ex_query_device(struct call *c);
int cmd_alloc_pd(struct call *c);
int cmd_dealloc_pd(struct call *c);
int cmd_reg_mr(struct call *c);
int cmd_rereg_mr(struct call *c);
int cmd_dereg_mr(struct call *c);
int cmd_alloc_mw(struct call *c);
int cmd_dealloc_mw(struct call *c);
int cmd_create_ah(struct call *c);
int cmd_destroy_ah(struct call *c);
int cmd_create_comp_channel(struct call *c);
int cmd_create_cq(struct call *c);
int cmd_ex_create_cq(struct call *c);
int cmd_resize_cq(struct call *c);
int cmd_ex_modify_cq(struct call *c);
int cmd_req_notify_cq(struct call *c);
int cmd_post_send(struct call *c);
int cmd_destroy_cq(struct call *c);
int cmd_open_xrcd(struct call *c);
int cmd_close_xrcd(struct call *c);
int cmd_open_qp(struct call *c);
int cmd_create_srq(struct call *c);
int cmd_create_xsrq(struct call *c);
int cmd_modify_srq(struct call *c);
int cmd_query_srq(struct call *c);
int cmd_destroy_srq(struct call *c);
int cmd_create_qp(struct call *c);
int cmd_ex_create_qp(struct call *c);
int cmd_query_qp(struct call *c);
int cmd_modify_qp(struct call *c);
int cmd_ex_modify_qp(struct call *c);
int cmd_destroy_qp(struct call *c);
int cmd_ex_create_wq(struct call *c);
int cmd_ex_modify_wq(struct call *c);
int cmd_ex_destroy_wq(struct call *c);
int cmd_ex_create_rwq_table(struct call *c);
int cmd_ex_destroy_rwq_table(struct call *c);
int cmd_attach_mcast(struct call *c);
int cmd_detach_mcast(struct call *c);
int cmd_ex_create_flow(struct call *c);
int cmd_ex_destroy_flow(struct call *c);

ssize_t uverbs_write(struct kfile *f, struct task *t, uint64_t buf, size_t len, struct kreply *reply);
long uverbs_ioctl(struct kfile *f, struct task *t, uint64_t arg, struct kreply *reply);
/* Attributes of the running method. */
struct attr_val *attr_get(struct call *c, uint16_t id);
int attr_const(struct call *c, uint16_t id, uint64_t max, uint64_t *out);
int attr_flags32(struct call *c, uint16_t id, uint64_t allowed, uint32_t *out);
int attr_copy_from(struct call *c, uint16_t id, void *dst, size_t size);
/* -ENOENT if the user did not pass the attribute */
int attr_copy_to(struct call *c, uint16_t id, const void *src, size_t size);
int attr_copy_to_or_zero(struct call *c, uint16_t id, const void *src, size_t size);
int attr_set_output(struct call *c, unsigned int idx);
/* Address of an input attribute's bytes. Inline data is in the attribute itself. */
uint64_t attr_in_addr(struct call *c, const struct attr_val *v);

/* ---- log.c: verbs.log ------------------------------------------------------------------------------ */

/* A call that ended with `ret`, before what it created is kept or undone. */
void log_call(struct call *c, int ret);
/* An asynchronous event (enum ib_event_type) of the object that is called `what`, and its number. */
void log_event(const struct kdev *d, const char *what, uint32_t number, uint32_t event);
void log_completion_event(const struct kdev *d, uint32_t cqn);
/* The limits of an adapter. */
void log_device(const struct kdev *d);
void log_released(const struct kfile *file);

/* ---- Verbs with several entry points -------------------------------------------------------------- */

int verbs_create_cq(struct call *c, struct uobj *u, uint32_t cqe, uint32_t vector, uint32_t flags,
		    struct evfile *comp, struct evfile *async);
struct qp_parts { /* objects that a QP or a work queue uses; NULL if it does not use one */
	struct uobj *pd, *scq, *rcq, *srq, *table;
	struct evfile *async;
};
int verbs_create_qp(struct call *c, struct uobj *u, struct drv_qp_init *init, const struct qp_parts *p);
int verbs_create_xrc_recv(struct call *c, struct uobj *u, struct drv_qp_init *init, struct uobj *xrcd,
			  struct evfile *async);
/* Access flags that the kernel knows (enum ib_access_flags). */
#define VERBS_ACCESS_FLAGS (((IB_UVERBS_ACCESS_FLUSH_PERSISTENT << 1) - 1) | IB_UVERBS_ACCESS_OPTIONAL_RANGE)
/* `dmah`: NULL, or the DMA handle whose hint the transfers carry. */
int verbs_reg_mr(struct call *c, struct uobj *u, struct uobj *pd, const struct ib_uverbs_reg_mr *cmd,
		 struct uobj *dmah);
struct dmabuf_range {
	int fd; /* a descriptor of the task */
	uint64_t offset, length, iova;
};
int verbs_reg_dmabuf_mr(struct call *c, struct uobj *u, const struct dmabuf_range *r, uint16_t access_attr,
			struct uobj *pd, struct uobj *dmah);
/* Allocates the driver's region, not registered yet. NULL: out of memory. */
struct drv_mr *verbs_mr_alloc(struct uobj *u, struct uobj *pd, uint32_t pasid, struct uobj *dmah);
/*
 * `ret`: result of the registration. If 0, the object owns the region and uses `pd` and `part` (NULL: nothing
 * else). Returns `ret`.
 */
int verbs_mr_registered(struct uobj *u, struct drv_mr *mr, int ret, struct uobj *pd, struct uobj *part);
int verbs_check_access(const struct kdev *d, uint32_t access);
void verbs_port_resp(struct kdev *d, uint8_t port, struct ib_uverbs_query_port_resp *resp);

/* IBTA 11.2.5.2, table "QP State Transition Properties". */
/* The attributes (enum ibv_qp_attr_mask) that a transition requires, and allows besides; false: it does not exist. */
bool qp_transition(unsigned int cur, unsigned int next, unsigned int type, uint32_t *required,
		   uint32_t *optional);
bool qp_modify_ok(unsigned int cur, unsigned int next, unsigned int type, uint32_t mask);

#endif
