/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the files of sim/kernel share. The errno of every path is that of the Linux that the machine has; what none of
 * its releases changed was read in 6.1's source. */
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
#define MAX_HANDLES   (1u << 24) /* of a file, those that rest included */
#define UVERBS_MAJOR  231        /* the kernel's: Documentation/admin-guide/devices.txt */
#define UVERBS_MINOR  192
#define IFINDEX_FIRST 100 /* of the adapters' network interfaces, far from the host's own */

/* ---- Event files ------------------------------------------------------------------------------ */

struct uobj;

/* One event that the application has not been seen to read. */
struct evrec {
	TAILQ_ENTRY(evrec) link;
	struct uobj *obj; /* NULL: of the port or the device */
	union {
		struct ib_uverbs_comp_event_desc comp;
		struct ib_uverbs_async_event_desc async;
	} desc;
};
TAILQ_HEAD(evrec_list, evrec);

/* A completion channel or an async event file: a pipe whose read end the application holds. */
struct evfile {
	TAILQ_ENTRY(evfile) link;
	struct table_node by_ino; /* in the kernel's `evfiles` */
	struct kfile *file; /* NULL once it was closed, by either side: only objects still refer to it */
	bool async;
	int wfd; /* -1: as `file` */
	unsigned int refs;
	struct evrec_list queue;
	unsigned int in_pipe;    /* so many records at the head of `queue` were written to the pipe */
	struct evrec *unwritten; /* the one behind them */
};
TAILQ_HEAD(evfile_list, evfile);

int evfile_create(struct kfile *f, bool async, struct evfile **out, int *read_fd);
/* The application's end has inode `ino`. NULL: none of this file. */
struct evfile *evfile_find(const struct kfile *f, uint64_t ino);
/* For references other than the application's. */
void evfile_get(struct evfile *ev);
void evfile_put(struct evfile *ev);
/* What evfile_create() made is over: no event is delivered any more, the application's reads end. */
void evfile_shutdown(struct evfile *ev);
/* The first one is where objects without an event file of their own report. */
void kfile_default_async(struct kfile *f, struct evfile *ev);
void evfile_push_comp(struct evfile *ev, struct uobj *obj);
void evfile_push_async(struct evfile *ev, struct uobj *obj, uint64_t element, uint32_t type);
/* Takes the events of `obj` back that were not read yet; its counters are final then. */
void evfile_forget(struct evfile *ev, struct uobj *obj);
/* The same for all objects at once. */
void evfile_forget_all(struct evfile *ev);

/* ---- Objects ----------------------------------------------------------------------------------- */

struct ev_counts { /* events of an object that its application has read */
	uint32_t comp, async;
};

/* An XRC domain: of all contexts that opened the same file, or of one alone. */
struct xrcd {
	LIST_ENTRY(xrcd) link;
	bool has_file;
	uint64_t dev, ino;
	uint32_t number;   /* not 0 */
	unsigned int refs; /* contexts that have it open */
};

/* The receiving end of XRC: one in the adapter, for every context that made or opened it. */
struct xrc_qp {
	LIST_ENTRY(xrc_qp) link;
	uint32_t xrcdn;
	struct drv_qp *drv;
	LIST_HEAD(, uobj) handles;
};

#define UOBJ_MAX_USES 5

struct uobj {
	TAILQ_ENTRY(uobj) link;
	struct kfile *file;
	uint16_t type; /* UVERBS_OBJECT_* */
	bool listed;
	uint32_t handle;
	uint64_t user_handle;
	unsigned int users; /* objects that hold this one: it cannot be destroyed */
	struct uobj *uses[UOBJ_MAX_USES];
	void *drv; /* the driver's object; NULL until created */
	struct evfile *comp, *async;
	struct ev_counts counts;
	unsigned int unread; /* records in the queues of `comp` and `async` */
	/* What its end takes beyond the driver's function, set by who made it; NULL: nothing. */
	int (*drop)(struct uobj *u); /* instead of that function: others have a part in the driver's object */
	void (*detach)(struct uobj *u); /* before it, when the file goes: nobody will ask for it */
	void (*forget)(struct uobj *u); /* the last thing, whether there is a driver's object or not */
	union {
		struct {
			uint64_t start, length, iova;
			uint32_t access;
			bool fixed;            /* not the caller's memory: cannot be re-registered */
			struct dmabuf *dmabuf; /* NULL: it is of something else */
		} mr;
		struct {
			bool sq_sig_all;
			struct xrc_qp *shared; /* NULL: it is this context's own */
			LIST_ENTRY(uobj) handle;
			struct ib_uverbs_qp_dest dest;
			uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
			LIST_HEAD(, kmcast) mcasts;
		} qp;
		struct {
			uint32_t max_wr, max_sge;
			bool xrc;
		} srq;
		struct xrcd *xrcd;
		uint32_t wq_state;   /* enum ibv_wq_state, as modified */
		struct uobj **table; /* of work queues, which it uses */
	};
};
TAILQ_HEAD(uobj_list, uobj);

struct call;

/* -EINVAL without a context. The object is listed by uobj_commit. */
int uobj_alloc(struct kfile *f, uint16_t type, struct uobj **out);
void uobj_commit(struct uobj *u);
/* Undoes uobj_alloc, and the driver's object if there is one. */
void uobj_abort(struct uobj *u);
/* -ENOENT, or -EINVAL: the handle is of another type */
int uobj_lookup(struct kfile *f, uint16_t type, uint64_t handle, struct uobj **out);
/* As the write() commands look up: NULL whatever is wrong. */
struct uobj *uobj_get(struct kfile *f, uint16_t type, uint32_t handle);
/* -EBUSY while something uses it, or the driver's error. Frees `u` if 0. */
int uobj_destroy(struct uobj *u, struct ev_counts *counts);
/* What the destroy commands of write() do: uobj_lookup, then uobj_destroy. */
int uobj_destroy_handle(struct kfile *f, uint16_t type, uint64_t handle, struct ev_counts *counts);
void uobj_destroy_all(struct kfile *f);
void uobj_use(struct uobj *user, struct uobj *used);
void uobj_unuse(struct uobj *user, struct uobj *used);
/* Where its asynchronous events go; NULL: to the first event file of its context. */
void uobj_set_async(struct uobj *u, struct evfile *async);
/* Zeroed memory of `size` bytes that drv_uobj() leads back from. */
void *drv_alloc(size_t size, struct uobj *u);
void drv_free(void *drv);
struct uobj *drv_uobj(const void *drv);
void drv_set_uobj(void *drv, struct uobj *u);

/* ---- Files and devices ------------------------------------------------------------------------- */

struct kgid {
	uint8_t raw[16];
	bool valid;
};

TAILQ_HEAD(kfile_list, kfile);

struct kdev {
	struct kernel *k;
	unsigned int index;
	bool probed;
	struct drv_device drv;
	struct ib_uverbs_ex_query_device_resp attr;
	unsigned int num_ports;
	struct ib_uverbs_query_port_resp port[MAX_PORTS];
	struct kgid gid[MAX_PORTS][MAX_GIDS];
	struct hca_counters shown; /* in sysfs */
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
	struct ucma_file *cm; /* not NULL: it is the connection manager's, and nothing below is used */
	struct kdev *dev;
	struct drv_ucontext *ctx;
	struct evfile *default_async; /* the first async event file, closed or not */
	struct evfile_list events;
	struct uobj_list objects; /* newest first */
	struct numbers handles;
	struct table mcasts; /* by QP, group and LID */
};

struct kpath { /* what the sysfs tree is made of, newest first */
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
	int event_fd;         /* epoll: reports what happens to the pipes of event files */
	struct table evfiles; /* by the pipe's inode number */
};

/* The machine's Linux has it: see releases.h. */
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
/* Port states and counters. A plain file cannot be computed when it is read: they are written when a port
 * changes, when an application leaves the device, and when one is about to open them (kernel_show_counters()). */
void sysfs_update(struct kdev *d, bool port_changed);
void kdev_netdev_name(const struct kdev *d, unsigned int port, char *name, size_t size);
static inline unsigned int kdev_ifindex(const struct kdev *d, unsigned int port)
{
	return IFINDEX_FIRST + d->index * MAX_PORTS + port - 1;
}

/* ---- On-demand paging -------------------------------------------------------------------------- */

/* The adapter asks for pages: the upcall. */
void odp_page_request(struct drv_device *drv, uint32_t token);
void odp_cancel(struct kdev *d);
/* The address space as a whole is meant. */
bool odp_is_implicit(uint64_t start, uint64_t length);
/* 0, -EINVAL, -EOVERFLOW */
int odp_check(const struct kdev *d, uint64_t start, uint64_t length, uint64_t iova, uint32_t access);

/* ---- Addresses --------------------------------------------------------------------------------- */

void addr_fill_gids(struct kdev *d);
/* -EINVAL: no such entry, -ENODATA: it is empty */
int addr_check_sgid(const struct kdev *d, uint32_t port, uint32_t index);
/* What a user's address means on an Ethernet port: MAC and hop limit resolved. */
bool addr_is_multicast(const uint8_t gid[16]);
int addr_resolve(const struct kdev *d, const struct ib_uverbs_ah_attr *attr, struct hca_av *av);

/* ---- System calls ------------------------------------------------------------------------------ */

struct attr_spec;
struct method;

struct attr_val {
	bool present;
	uint16_t idx; /* in the user's array */
	uint16_t len;
	uint64_t data;
	struct uobj *obj;
	struct evfile *ev;
};
#define MAX_ATTRS 20 /* of one method */

/* One ioctl or write in progress. */
struct call {
	struct kfile *f;
	struct task *t;
	struct kreply *reply;
	/* Request and response of a command, in user memory. */
	uint64_t in, out;
	size_t in_len, out_len;
	int out_attr; /* index in the user's array of the attribute that `out` is; -1: none */
	/* The driver's part: where it is, and while the driver works on it, a copy. */
	uint64_t uhw_in, uhw_out;
	size_t uhw_in_len, uhw_out_len;
	int uhw_out_attr;
	struct drv_udata udata;
	void *udata_in;
	/* ioctl */
	const struct method *method;
	uint64_t user_attrs;
	const struct ib_uverbs_attr *uattrs;
	struct attr_val val[MAX_ATTRS];
	/* What the call makes: kept if it succeeds. */
	struct uobj *created;
	struct ev_counts counts; /* of the object it destroyed */
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
/* Around a driver's function that takes udata. call_udata_done copies its answer out. */
int call_udata(struct call *c, struct drv_udata **u);
int call_udata_done(struct call *c);
int call_install_fd(struct call *c, int fd, uint64_t uaddr, uint8_t size);
int call_alloc_uobj(struct call *c, uint16_t type, struct uobj **out);
/* Keeps or undoes what the call made. Returns `ret`. */
int call_finish(struct call *c, int ret);
/* 0 or -EINVAL: there is no context yet */
int call_context(struct call *c);
struct evfile *call_find_event(struct call *c, int64_t fd, bool async, int *err);
int call_alloc_context(struct call *c);

/* Commands (write.c, INVOKE_WRITE). */
struct write_cmd {
	uint32_t cmd; /* with IB_USER_VERBS_CMD_FLAG_EXTENDED */
	uint32_t req, resp;
	bool has_resp, has_udata;
	int (*handler)(struct call *c);
};
/* NULL and *err */
const struct write_cmd *write_cmd_find(uint32_t command, int *err);
int req_get(struct call *c, void *req, size_t len);
/* And the object whose handle stands at byte `at` of the request. -EINVAL: there is none. */
int req_find_at(struct call *c, void *req, size_t len, size_t at, uint16_t type, struct uobj **out);
#define req_find(c, req, field, type, out)                                                                   \
	req_find_at(c, req, sizeof(*(req)), offsetof(__typeof__(*(req)), field), type, out)
/* A command whose request is a handle, and nothing else: that object goes. */
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
/* -ENOENT if the user did not give the attribute */
int attr_copy_to(struct call *c, uint16_t id, const void *src, size_t size);
int attr_copy_to_or_zero(struct call *c, uint16_t id, const void *src, size_t size);
int attr_set_output(struct call *c, unsigned int idx);
/* Address of an input attribute's bytes: inline data stands in the attribute itself. */
uint64_t attr_in_addr(struct call *c, const struct attr_val *v);

/* ---- Verbs that have several entrances ---------------------------------------------------------- */

int verbs_create_cq(struct call *c, struct uobj *u, uint32_t cqe, uint32_t vector, uint32_t flags,
		    struct evfile *comp, struct evfile *async);
struct qp_parts { /* what a QP or a work queue is made of; what it does not have is NULL */
	struct uobj *pd, *scq, *rcq, *srq, *table;
	struct evfile *async;
};
int verbs_create_qp(struct call *c, struct uobj *u, struct drv_qp_init *init, const struct qp_parts *p);
int verbs_create_xrc_recv(struct call *c, struct uobj *u, struct drv_qp_init *init, struct uobj *xrcd,
			  struct evfile *async);
/* Access flags that the kernel knows (enum ib_access_flags). */
#define VERBS_ACCESS_FLAGS (((IB_UVERBS_ACCESS_FLUSH_PERSISTENT << 1) - 1) | IB_UVERBS_ACCESS_OPTIONAL_RANGE)
/* `dmah`: NULL, or the DMA handle whose hint its transfers carry. */
int verbs_reg_mr(struct call *c, struct uobj *u, struct uobj *pd, const struct ib_uverbs_reg_mr *cmd,
		 struct uobj *dmah);
struct dmabuf_range {
	int fd; /* the task's */
	uint64_t offset, length, iova;
};
int verbs_reg_dmabuf_mr(struct call *c, struct uobj *u, const struct dmabuf_range *r, uint16_t access_attr,
			struct uobj *pd, struct uobj *dmah);
/* The driver's region, not registered yet; NULL: no memory. */
struct drv_mr *verbs_mr_alloc(struct uobj *u, struct uobj *pd, uint32_t pasid, struct uobj *dmah);
/* `ret`: of its registration. If 0 the object has it, and holds `pd` and `part` (NULL: nothing else). Returns `ret`. */
int verbs_mr_registered(struct uobj *u, struct drv_mr *mr, int ret, struct uobj *pd, struct uobj *part);
int verbs_check_access(const struct kdev *d, uint32_t access);
void verbs_port_resp(const struct kdev *d, uint8_t port, struct ib_uverbs_query_port_resp *resp);

/* IBTA 11.2.5.2, table "QP State Transition Properties". */
bool qp_modify_ok(unsigned int cur, unsigned int next, unsigned int type, uint32_t mask);

#endif
