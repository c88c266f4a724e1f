// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ioctl methods that the driver declares (devices/method.h), and what their handlers use. */
#include <errno.h>

#include "kernel/uverbs/ioctl.h"

struct driver_call {
	struct drv_call base; /* first */
	struct call *c;
};

static struct call *call_of(struct drv_call *c)
{
	return ((struct driver_call *)c)->c;
}

static bool has(struct drv_call *c, uint16_t id)
{
	return attr_get(call_of(c), id);
}

static size_t size(struct drv_call *c, uint16_t id)
{
	const struct attr_val *v = attr_get(call_of(c), id);

	return v ? v->len : 0;
}

static int get(struct drv_call *c, uint16_t id, void *dst, size_t len)
{
	return attr_copy_from(call_of(c), id, dst, len);
}

static int put(struct drv_call *c, uint16_t id, const void *src, size_t len)
{
	return attr_copy_to(call_of(c), id, src, len);
}

static void *object(struct drv_call *c, uint16_t id)
{
	const struct attr_val *v = attr_get(call_of(c), id);

	return v ? v->obj->drv : NULL;
}

static void *object_at(struct drv_call *c, uint16_t id, unsigned int n)
{
	const struct attr_val *v = attr_get(call_of(c), id);

	return v && n < v->num ? v->array[n]->drv : NULL;
}

static uint16_t type(struct drv_call *c, uint16_t id)
{
	const struct attr_val *v = attr_get(call_of(c), id);

	return v ? v->obj->type : DRV_ANY_OBJECT;
}

static void *create(struct drv_call *c, uint16_t id, size_t len)
{
	struct uobj *u = attr_get(call_of(c), id)->obj;

	u->drv = drv_alloc(len, u);
	return u->drv;
}

static void use(struct drv_call *c, uint16_t id, uint16_t used)
{
	uobj_use(attr_get(call_of(c), id)->obj, attr_get(call_of(c), used)->obj);
}

static struct drv_file *file(struct drv_call *c, uint16_t id)
{
	const struct attr_val *v = attr_get(call_of(c), id);

	return v ? &v->ev->drv : NULL;
}

static int user_fd(struct drv_call *c, int fd)
{
	struct task *t = call_of(c)->t;

	return t->ops->fd_get(t, fd);
}

static void hold(struct drv_call *c, uint16_t id, const void *drv)
{
	uobj_use(attr_get(call_of(c), id)->obj, drv_uobj(drv));
}

static int read_user(struct drv_call *c, void *dst, uint64_t src, size_t len)
{
	return call_read(call_of(c), dst, src, len);
}

static int write_user(struct drv_call *c, uint64_t dst, const void *src, size_t len)
{
	return call_write(call_of(c), dst, src, len);
}

static int pin(struct drv_call *c, uint64_t addr, uint64_t len, bool write)
{
	return pin_memory(call_of(c), addr, len, write);
}

static const struct drv_call_ops call_ops = {
	.has = has,
	.size = size,
	.get = get,
	.put = put,
	.object = object,
	.object_at = object_at,
	.type = type,
	.create = create,
	.use = use,
	.file = file,
	.user_fd = user_fd,
	.hold = hold,
	.read_user = read_user,
	.write_user = write_user,
	.pin = pin,
};

static int run(struct call *c)
{
	struct driver_call call = {
		.base = {.ops = &call_ops, .dev = &c->f->dev->drv, .ctx = c->f->ctx, .pasid = c->t->pasid},
		.c = c,
	};

	return c->driver->handler ? c->driver->handler(&call.base) : 0;
}

const struct method *driver_method(struct call *c, uint16_t object_id, uint16_t id, struct method *out)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);

	for (unsigned int i = 0; i < ops->num_methods; i++) {
		const struct drv_method *m = &ops->methods[i];

		if (m->object != object_id || m->id != id || m->num_attrs > MAX_ATTRS)
			continue;
		c->driver = m;
		*out = (struct method){object_id, id, run, m->attrs, m->num_attrs};
		return out;
	}
	return NULL;
}
