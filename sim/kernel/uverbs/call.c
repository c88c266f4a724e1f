// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* One system call: user memory, the driver's private data, and keeping or undoing what the call created. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/priv.h"

int call_clear(struct call *c, uint64_t dst, size_t len)
{
	static const uint8_t zero[256];
	size_t n;
	int ret = 0;

	for (; len && !ret; dst += n, len -= n) {
		n = len < sizeof(zero) ? len : sizeof(zero);
		ret = call_write(c, dst, zero, n);
	}
	return ret;
}

int call_is_zero(struct call *c, uint64_t src, size_t len)
{
	uint8_t buf[256];
	size_t n;

	for (; len; src += n, len -= n) {
		n = len < sizeof(buf) ? len : sizeof(buf);
		if (call_read(c, buf, src, n))
			return -EFAULT;
		for (size_t i = 0; i < n; i++) {
			if (buf[i])
				return 0;
		}
	}
	return 1;
}

static void udata_free(struct call *c)
{
	free(c->udata_in);
	free(c->udata.out);
	c->udata_in = NULL;
	c->udata = (struct drv_udata){0};
}

static int write_user(const struct drv_udata *u, uint64_t dst, const void *src, size_t size)
{
	return call_write(u->kernel, dst, src, size);
}

static int read_user(const struct drv_udata *u, void *dst, uint64_t src, size_t size)
{
	return call_read(u->kernel, dst, src, size);
}

static int pin_user(const struct drv_udata *u, uint64_t addr, size_t size)
{
	return pin_memory(u->kernel, addr, size, true);
}

static int pin_record_of(const struct drv_udata *u, uint64_t addr, size_t size)
{
	return pin_record(u->kernel, addr, size);
}

int call_udata(struct call *c, struct drv_udata **u)
{
	udata_free(c);
	c->udata_in = malloc(c->uhw_in_len + 1);
	c->udata.out = calloc(1, c->uhw_out_len + 1);
	if (!c->udata_in || !c->udata.out) {
		udata_free(c);
		return -ENOMEM;
	}
	if (call_read(c, c->udata_in, c->uhw_in, c->uhw_in_len)) {
		udata_free(c);
		return -EFAULT;
	}
	c->udata.in = c->udata_in;
	c->udata.in_len = c->uhw_in_len;
	c->udata.out_len = c->uhw_out_len;
	c->udata.write_user = write_user;
	c->udata.read_user = read_user;
	c->udata.pin_user = pin_user;
	c->udata.pin_record = pin_record_of;
	c->udata.kernel = c;
	*u = &c->udata;
	return 0;
}

int call_udata_done(struct call *c)
{
	int ret = call_write(c, c->uhw_out, c->udata.out, c->udata.out_used);

	c->reply->busy = c->udata.busy;
	c->reply->object = c->udata.object;
	udata_free(c);
	return ret;
}

int call_install_fd(struct call *c, int fd, uint64_t uaddr, uint8_t size)
{
	const uint64_t probe = 0;
	struct kreply *r = c->reply;

	/*
	 * The application's side stores the number later; only here can the call fail if it cannot be stored.
	 */
	if (r->nfds == KREPLY_MAX_FDS || call_write(c, uaddr, &probe, size)) {
		close(fd);
		return r->nfds == KREPLY_MAX_FDS ? -EMFILE : -EFAULT;
	}
	r->install[r->nfds].fd = fd;
	r->install[r->nfds].size = size;
	r->install[r->nfds].uaddr = uaddr;
	r->nfds++;
	return 0;
}

int call_alloc_uobj(struct call *c, uint16_t type, struct uobj **out)
{
	int ret = uobj_alloc(c->f, type, out);

	if (!ret)
		c->created = *out;
	return ret;
}

int call_finish(struct call *c, int ret)
{
	log_call(c, ret);
	udata_free(c);
	if (c->created && !ret)
		pin_move(c, c->created);
	pin_release(c->f, &c->pinned);
	if (c->created && ret)
		uobj_abort(c->created);
	else if (c->created)
		uobj_commit(c->created);
	c->created = NULL;
	if (ret) {
		for (unsigned int i = 0; i < c->reply->nfds; i++)
			close(c->reply->install[i].fd);
		c->reply->nfds = 0;
	}
	return ret;
}

int call_context(struct call *c)
{
	return c->f->ctx ? 0 : -EINVAL;
}

static struct evfile *find_event(struct call *c, int64_t fd, bool async, uint16_t type, int *err)
{
	struct evfile *ev;
	uint64_t ino;

	*err = -EINVAL;
	if (fd != (int)fd)
		return NULL;
	*err = -EBADF;
	if (fd < 0 || c->t->ops->fd_inode(c->t, fd, &ino))
		return NULL;
	ev = evfile_find(c->f, ino);
	if (!ev || ev->async != async || ev->type != type)
		return NULL;
	*err = 0;
	return ev;
}

struct evfile *call_find_event(struct call *c, int64_t fd, bool async, int *err)
{
	return find_event(c, fd, async, 0, err);
}

struct evfile *call_find_records(struct call *c, int64_t fd, uint16_t type, int *err)
{
	return find_event(c, fd, false, type, err);
}

int call_alloc_context(struct call *c)
{
	struct kdev *d = c->f->dev;
	struct drv_ucontext *ctx;
	struct drv_udata *u;
	int ret;

	if (c->f->ctx)
		return -EINVAL;
	ctx = drv_alloc(kdev_ops(d)->sz_ucontext, NULL);
	if (!ctx)
		return -ENOMEM;
	ctx->dev = &d->drv;
	ctx->pasid = c->t->pasid;
	ret = call_udata(c, &u);
	if (ret)
		goto err_free;
	ret = kdev_ops(d)->alloc_ucontext(ctx, u);
	if (ret)
		goto err_free;
	ret = call_udata_done(c);
	if (ret)
		goto err_dealloc;
	c->f->ctx = ctx;
	return 0;
err_dealloc:
	kdev_ops(d)->dealloc_ucontext(ctx);
err_free:
	drv_free(ctx);
	return ret;
}
