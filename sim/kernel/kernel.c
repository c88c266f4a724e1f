// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The machine's devices and open files. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kernel/rdma_cm/ucma.h"

static void upcall_completion(struct drv_cq *cq)
{
	struct uobj *u = drv_uobj(cq);

	if (u->comp)
		log_completion_event(u->file->dev, cq->cqn);
	evfile_push_comp(u->comp, u);
}

static void upcall_async_cq(struct drv_cq *cq, uint32_t event)
{
	struct uobj *u = drv_uobj(cq);

	log_event(u->file->dev, "cqn", cq->cqn, event);
	evfile_push_async(u->async, u, u->user_handle, event);
}

static void upcall_async_qp(struct drv_qp *qp, uint32_t event)
{
	struct uobj *u = drv_uobj(qp);

	log_event(u->file->dev, qp->wq ? "wqn" : "qpn", qp->qpn, event);
	if (qp->wq || !u->qp.shared) {
		evfile_push_async(u->async, u, u->user_handle, event);
		return;
	}
	/* Every context that created or opened the QP gets the event. */
	LIST_FOREACH(u, &u->qp.shared->handles, qp.handle)
	{
		evfile_push_async(u->async, u, u->user_handle, event);
	}
}

static void upcall_async_srq(struct drv_srq *srq, uint32_t event)
{
	struct uobj *u = drv_uobj(srq);

	log_event(u->file->dev, "srqn", srq->srqn, event);
	evfile_push_async(u->async, u, u->user_handle, event);
}

/* Port and device events go to every event file of every open context. */
static void upcall_async_port(struct drv_device *dev, uint8_t port, uint32_t event)
{
	struct kdev *d = dev->kernel;
	struct evfile *ev;
	struct kfile *f;

	log_event(d, "port", port, event);
	if (kdev_port_valid(d, port))
		kdev_query_port(d, port);
	sysfs_update(d, true);
	TAILQ_FOREACH(f, &d->files, link)
	{
		TAILQ_FOREACH(ev, &f->events, link)
		{
			/* cppcheck-suppress uninitvar ; TAILQ_FOREACH sets it */
			if (ev->async)
				evfile_push_async(ev, NULL, port, event);
		}
	}
}

static void upcall_mad(struct drv_device *dev, const struct hca_mad *mad)
{
	cm_receive(dev->kernel, mad);
}

static void upcall_alarm(struct drv_device *dev)
{
	const struct kdev *d = dev->kernel;

	ktimers_run(d->k);
}

static bool upcall_bar_mapped(struct drv_device *dev, unsigned int bar, uint64_t offset, uint64_t length)
{
	const struct kdev *d = dev->kernel;
	const struct kernel_config *cfg = &d->k->cfg;

	return cfg->bar_mapped && cfg->bar_mapped(cfg->bar_mapped_arg, d->index, bar, offset, length);
}

static void upcall_file_get(struct drv_file *f)
{
	evfile_get((struct evfile *)f);
}

static void upcall_file_put(struct drv_file *f)
{
	evfile_put((struct evfile *)f);
}

static const struct drv_upcalls upcalls = {
	.file_push = evfile_push_record,
	.file_open = evfile_is_open,
	.file_get = upcall_file_get,
	.file_put = upcall_file_put,
	.page_request = odp_page_request,
	.completion = upcall_completion,
	.async_cq = upcall_async_cq,
	.async_qp = upcall_async_qp,
	.async_srq = upcall_async_srq,
	.async_port = upcall_async_port,
	.mad = upcall_mad,
	.alarm = upcall_alarm,
	.bar_mapped = upcall_bar_mapped,
};

void kdev_query_port(struct kdev *d, uint8_t port)
{
	struct ib_uverbs_query_port_resp resp = {0};

	kdev_ops(d)->query_port(&d->drv, port, &resp);
	d->port[port - 1] = resp;
}

int kdev_probe(struct kdev *d, struct kernel *k, unsigned int index)
{
	int ret;

	d->k = k;
	d->index = index;
	d->drv.hca = k->cfg.hca[index];
	d->drv.cfg = k->cfg.cfg[index];
	d->drv.ops = k->cfg.drvs ? k->cfg.drvs[index] : k->cfg.drv;
	d->drv.kernel = d;
	d->drv.poll_doorbell = k->cfg.poll_doorbell;
	TAILQ_INIT(&d->files);
	LIST_INIT(&d->xrcds);
	LIST_INIT(&d->xrc_qps);
	LIST_INIT(&d->page_works);
	ret = kdev_ops(d)->probe(&d->drv, &upcalls);
	if (ret)
		return ret;
	d->probed = true;
	kdev_ops(d)->query_device(&d->drv, &d->attr);
	d->num_ports = d->attr.base.phys_port_cnt;
	if (d->num_ports < 1 || d->num_ports > MAX_PORTS)
		return -EINVAL;
	for (unsigned int p = 1; p <= d->num_ports; p++) {
		kdev_query_port(d, p);
		d->hw[p - 1].lifespan = HW_LIFESPAN;
	}
	addr_fill_gids(d);
	log_device(d);
	return 0;
}

void kdev_remove(struct kdev *d)
{
	struct kfile *f;

	if (!d->probed)
		return;
	while ((f = TAILQ_FIRST(&d->files)))
		kernel_release(f);
	kdev_ops(d)->remove(&d->drv);
	d->probed = false;
}

static struct kernel *fail(struct kernel *k, char *err, size_t err_size, const char *what, int value)
{
	if (what)
		snprintf(err, err_size, "%s: %s", what, strerror(value < 0 ? -value : value));
	kernel_destroy(k);
	return NULL;
}

struct kernel *kernel_create(const struct kernel_config *cfg, char *err, size_t err_size)
{
	struct kernel *k;
	int ret;

	if (cfg->num_devices < 1 || cfg->num_devices > MAX_DEVICES) {
		snprintf(err, err_size, "number of adapters is %u: 1 to %u are possible", cfg->num_devices,
			 MAX_DEVICES);
		return NULL;
	}
	k = calloc(1, sizeof(*k));
	if (!k)
		return fail(NULL, err, err_size, "simulated kernel", ENOMEM);
	k->cfg = *cfg;
	SLIST_INIT(&k->paths);
	k->root = strdup(cfg->sysfs_root);
	k->event_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!k->root || k->event_fd < 0)
		return fail(k, err, err_size, "simulated kernel", ENOMEM);
	/* A write to an event pipe that the application has closed must not end this process. */
	signal(SIGPIPE, SIG_IGN);
	for (k->num_devices = 0; k->num_devices < cfg->num_devices;) {
		struct kdev *d = &k->dev[k->num_devices++];

		ret = kdev_probe(d, k, k->num_devices - 1);
		if (ret)
			return fail(k, err, err_size, cfg->cfg[d->index]->name, ret);
	}
	if (sysfs_create(k, err, err_size))
		return fail(k, err, err_size, NULL, 0);
	if (ucma_init(k))
		return fail(k, err, err_size, "connection manager", ENOMEM);
	return k;
}

void kernel_destroy(struct kernel *k)
{
	struct ucma_file *f;

	if (!k)
		return;
	for (unsigned int i = 0; i < k->num_devices; i++)
		odp_cancel(&k->dev[i]);
	if (k->ucma) {
		while ((f = TAILQ_FIRST(&k->ucma->files)))
			kernel_release(f->owner);
		ucma_exit(k);
	}
	for (unsigned int i = 0; i < k->num_devices; i++)
		kdev_remove(&k->dev[i]);
	sysfs_destroy(k);
	table_free(&k->evfiles);
	heap_free(&k->timers);
	if (k->event_fd >= 0)
		close(k->event_fd);
	free(k->root);
	free(k);
}

void kernel_irq(struct kernel *k, unsigned int device, unsigned int vector)
{
	if (device < k->num_devices)
		kdev_ops(&k->dev[device])->irq(&k->dev[device].drv, vector);
}

static struct kdev *find_device(struct kernel *k, const char *name)
{
	char own[24];

	for (unsigned int i = 0; i < k->num_devices; i++) {
		snprintf(own, sizeof(own), "uverbs%u", i);
		if (!strcmp(name, own))
			return &k->dev[i];
	}
	return NULL;
}

int kernel_stat(struct kernel *k, const char *name, dev_t *rdev)
{
	const struct kdev *d = find_device(k, name);

	if (!strcmp(name, UCMA_NAME)) {
		*rdev = makedev(UCMA_MAJOR, UCMA_MINOR);
		return 0;
	}
	if (!d)
		return -ENOENT;
	*rdev = makedev(UVERBS_MAJOR, UVERBS_MINOR + d->index);
	return 0;
}

static int open_cm(struct kernel *k, struct kfile **out)
{
	struct kfile *f = calloc(1, sizeof(*f));
	int ret = f ? ucma_open(k, f) : -ENOMEM;

	if (ret) {
		free(f);
		return ret;
	}
	TAILQ_INIT(&f->events);
	f->number = ++k->num_files;
	*out = f;
	return 0;
}

int kernel_open(struct kernel *k, struct task *t, const char *name, int oflags, struct kfile **out)
{
	struct kdev *d = find_device(k, name);
	struct kfile *f;

	if (!strcmp(name, UCMA_NAME))
		return open_cm(k, out);
	if (!d)
		return -ENOENT;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->dev = d;
	f->number = ++k->num_files;
	numbers_init(&f->handles, 0, MAX_HANDLES, MAX_HANDLES / 2);
	TAILQ_INIT(&f->events);
	TAILQ_INIT(&f->objects);
	TAILQ_INSERT_TAIL(&d->files, f, link);
	*out = f;
	return 0;
}

void kernel_show_counters(struct kernel *k, const char *name, uint32_t port)
{
	for (unsigned int i = 0; i < k->num_devices; i++) {
		struct kdev *d = &k->dev[i];

		sysfs_update(d, false);
		if (!strcmp(name, d->drv.cfg->name) && kdev_port_valid(d, port))
			sysfs_show_hw(d, (uint8_t)port);
	}
}

static struct kdev *find_netdev(struct kernel *k, const char *name, uint8_t *port)
{
	char known[32];

	for (unsigned int i = 0; i < k->num_devices; i++) {
		for (*port = 1; kdev_port_valid(&k->dev[i], *port); ++*port) {
			kdev_netdev_name(&k->dev[i], *port, known, sizeof(known));
			if (!strcmp(known, name))
				return &k->dev[i];
		}
	}
	return NULL;
}

int kernel_link(struct kernel *k, const char *name)
{
	uint8_t port;
	const struct kdev *d = find_netdev(k, name, &port);

	return d ? kdev_port_up(d, port) : -ENODEV;
}

int kernel_link_set(struct kernel *k, const char *name, bool up)
{
	uint8_t port;
	struct kdev *d = find_netdev(k, name, &port);
	int ret;

	if (!d)
		return -ENODEV;
	ret = kdev_ops(d)->set_port(&d->drv, port, up);
	if (ret)
		return ret;
	kdev_query_port(d, port);
	sysfs_update(d, true);
	return 0;
}

long kernel_ioctl(struct kfile *f, struct task *t, unsigned long cmd, uint64_t arg, struct kreply *reply)
{
	*reply = (struct kreply){.drain_fd = -1};
	if (cmd != RDMA_VERBS_IOCTL || f->cm)
		return -ENOTTY;
	return uverbs_ioctl(f, t, arg, reply);
}

ssize_t kernel_write(struct kfile *f, struct task *t, uint64_t buf, size_t len, struct kreply *reply)
{
	*reply = (struct kreply){.drain_fd = -1};
	return f->cm ? ucma_write(f->cm, t, buf, len, reply) : uverbs_write(f, t, buf, len, reply);
}

int kernel_mmap(struct kfile *f, struct task *t, uint64_t len, int prot, uint64_t offset,
		struct drv_mmap *out)
{
	if (f->cm)
		return -ENODEV;
	if (!f->ctx || !kdev_ops(f->dev)->mmap)
		return -EINVAL;
	return kdev_ops(f->dev)->mmap(f->ctx, offset, len, out);
}

void kernel_update_clocks(struct kernel *k)
{
	for (unsigned int i = 0; i < k->num_devices; i++) {
		if (kdev_ops(&k->dev[i])->update_clock)
			kdev_ops(&k->dev[i])->update_clock(&k->dev[i].drv);
	}
}

void kernel_cpu_work(struct kernel *k, unsigned int device, unsigned int bar, uint64_t offset,
		     const void *data, uint32_t size, struct drv_cpu_work *out)
{
	struct kdev *d = device < k->num_devices ? &k->dev[device] : NULL;

	*out = (struct drv_cpu_work){.kind = DRV_CPU_STORE};
	if (d && kdev_ops(d)->cpu_work)
		kdev_ops(d)->cpu_work(&d->drv, bar, offset, data, size, out);
}

const char *kernel_waits_for(const struct kernel *k, uint64_t ino)
{
	const struct table_node *node = table_find(&k->evfiles, ino);
	const struct ucma_file *f;

	if (node)
		return table_entry(node, struct evfile, by_ino)->async ? "asynchronous events"
								       : "completion channel";
	TAILQ_FOREACH(f, &k->ucma->files, link)
	{
		if (f->ino == ino)
			return "rdma_cm channel";
	}
	return NULL;
}

unsigned int kernel_file_device(const struct kfile *f)
{
	return f->cm ? 0 : f->dev->index;
}

void kernel_file_ready(struct kfile *f, int fd, uint64_t ino)
{
	if (!f->cm)
		return;
	f->cm->ready_fd = fd;
	f->cm->ino = ino;
}

void kernel_release(struct kfile *f)
{
	struct evfile *ev;

	log_released(f);
	if (f->cm) {
		ucma_release(f->cm);
		free(f);
		return;
	}
	TAILQ_FOREACH(ev, &f->events, link)
	evfile_forget_all(ev);
	uobj_destroy_all(f);
	while ((ev = TAILQ_FIRST(&f->events)))
		evfile_shutdown(ev);
	if (f->default_async)
		evfile_put(f->default_async);
	if (f->ctx) {
		kdev_ops(f->dev)->dealloc_ucontext(f->ctx);
		drv_free(f->ctx);
	}
	TAILQ_REMOVE(&f->dev->files, f, link);
	sysfs_update(f->dev, false);
	numbers_free(&f->handles);
	table_free(&f->mcasts);
	table_free(&f->records);
	free(f);
}
