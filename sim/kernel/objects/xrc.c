// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * XRC domains and the QPs that belong to them. Contexts that open the same file share the domain. A receiving
 * QP of the domain belongs to all contexts that created or opened it, and is destroyed with the last handle.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "kernel/priv.h"

static struct xrcd *find(const struct kdev *d, uint64_t dev, uint64_t ino)
{
	struct xrcd *x;

	LIST_FOREACH(x, &d->xrcds, link)
	{
		if (x->has_file && x->dev == dev && x->ino == ino)
			return x;
	}
	return NULL;
}

static struct xrcd *new_xrcd(struct kdev *d)
{
	struct xrcd *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->number = ++d->last_xrcdn ? d->last_xrcdn : ++d->last_xrcdn;
	LIST_INSERT_HEAD(&d->xrcds, x, link);
	return x;
}

static void put_xrcd(struct uobj *u)
{
	struct xrcd *x = u->xrcd;

	if (--x->refs)
		return;
	LIST_REMOVE(x, link);
	free(x);
}

/* The flags are those of open(2): O_CREAT creates a missing domain, O_EXCL fails if it exists. */
static int get_xrcd(struct call *c, const struct ib_uverbs_open_xrcd *cmd, struct xrcd **out)
{
	struct kdev *d = c->f->dev;
	uint64_t dev = 0, ino = 0;
	struct xrcd *x = NULL;

	if (cmd->fd != UINT32_MAX) {
		if ((int)cmd->fd < 0 || c->t->ops->fd_file(c->t, (int)cmd->fd, &dev, &ino))
			return -EBADF;
		x = find(d, dev, ino);
		if (!x && !(cmd->oflags & O_CREAT))
			return -EAGAIN;
		if (x && cmd->oflags & O_EXCL)
			return -EINVAL;
	}
	if (!x) {
		x = new_xrcd(d);
		if (!x)
			return -ENOMEM;
		x->has_file = cmd->fd != UINT32_MAX;
		x->dev = dev;
		x->ino = ino;
	}
	*out = x;
	return 0;
}

int cmd_open_xrcd(struct call *c)
{
	struct ib_uverbs_open_xrcd_resp resp = {0};
	struct ib_uverbs_open_xrcd cmd;
	struct uobj *u;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (!(c->f->dev->attr.device_cap_flags_ex & IB_UVERBS_DEVICE_XRC))
		return -EOPNOTSUPP;
	ret = call_alloc_uobj(c, UVERBS_OBJECT_XRCD, &u);
	if (!ret)
		ret = get_xrcd(c, &cmd, &u->xrcd);
	if (ret)
		return ret;
	u->xrcd->refs++;
	u->forget = put_xrcd;
	resp.xrcd_handle = u->handle;
	return resp_put(c, &resp, sizeof(resp));
}

int cmd_close_xrcd(struct call *c)
{
	return req_destroy(c, UVERBS_OBJECT_XRCD);
}

/* ---- Receiving QPs ---- */

/* Removes a handle; the last one destroys the QP. */
static int drop_handle(struct uobj *u)
{
	struct xrc_qp *x = u->qp.shared;
	int ret;

	if (LIST_FIRST(&x->handles) == u && !LIST_NEXT(u, qp.handle)) {
		ret = kdev_ops(u->file->dev)->destroy_qp(x->drv);
		if (ret)
			return ret;
		drv_free(x->drv);
		LIST_REMOVE(x, link);
		free(x);
	} else {
		LIST_REMOVE(u, qp.handle);
		drv_set_uobj(x->drv, LIST_FIRST(&x->handles));
	}
	u->qp.shared = NULL;
	u->drv = NULL;
	return 0;
}

static void add_handle(struct uobj *u, struct xrc_qp *x, struct uobj *xrcd, struct evfile *async)
{
	u->drv = x->drv;
	u->qp.shared = x;
	u->drop = drop_handle;
	LIST_INSERT_HEAD(&x->handles, u, qp.handle);
	uobj_use(u, xrcd);
	uobj_set_async(u, async);
}

int verbs_create_xrc_recv(struct call *c, struct uobj *u, struct drv_qp_init *init, struct uobj *xrcd,
			  struct evfile *async)
{
	struct kdev *d = c->f->dev;
	struct drv_udata *udata;
	struct xrc_qp *x;
	int ret;

	if (!kdev_ops(d)->create_qp)
		return -EOPNOTSUPP;
	ret = call_udata(c, &udata);
	if (ret)
		return ret;
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->drv = drv_alloc(kdev_ops(d)->sz_qp, u);
	if (!x->drv) {
		free(x);
		return -ENOMEM;
	}
	x->drv->dev = &d->drv;
	x->drv->type = init->type;
	x->xrcdn = init->xrcdn = xrcd->xrcd->number;
	ret = kdev_ops(d)->create_qp(x->drv, init, udata);
	if (ret) {
		drv_free(x->drv);
		free(x);
		return ret;
	}
	LIST_INIT(&x->handles);
	LIST_INSERT_HEAD(&d->xrc_qps, x, link);
	add_handle(u, x, xrcd, async);
	return call_udata_done(c);
}

int cmd_open_qp(struct call *c)
{
	struct ib_uverbs_create_qp_resp resp = {0};
	struct ib_uverbs_open_qp cmd;
	struct uobj *u, *xrcd;
	struct xrc_qp *x;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (!ret)
		ret = call_alloc_uobj(c, UVERBS_OBJECT_QP, &u);
	if (ret)
		return ret;
	if (uobj_lookup(c->f, UVERBS_OBJECT_XRCD, cmd.pd_handle, &xrcd) ||
	    cmd.qp_type != IB_UVERBS_QPT_XRC_TGT)
		return -EINVAL;
	LIST_FOREACH(x, &c->f->dev->xrc_qps, link)
	{
		if (x->xrcdn == xrcd->xrcd->number && x->drv->qpn == cmd.qpn)
			break;
	}
	if (!x)
		return -EINVAL;
	u->user_handle = cmd.user_handle;
	add_handle(u, x, xrcd, NULL);
	resp.qp_handle = u->handle;
	resp.qpn = cmd.qpn;
	return resp_put(c, &resp, sizeof(resp));
}
