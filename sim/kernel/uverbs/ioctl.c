// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* RDMA_VERBS_IOCTL: checks the header, and the attributes against their specification. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/uverbs/ioctl.h"

/* call_is_zero() for the bytes of an attribute after the first `known`. */
static int tail_is_zero(struct call *c, const struct ib_uverbs_attr *a, size_t known)
{
	const uint8_t *inl = (const uint8_t *)&a->data;

	if (a->len > sizeof(a->data))
		return call_is_zero(c, a->data + known, a->len - known);
	for (size_t i = known; i < a->len; i++) {
		if (inl[i])
			return 0;
	}
	return 1;
}

static int set_ptr(struct call *c, const struct attr_spec *s, const struct ib_uverbs_attr *a)
{
	uint8_t *buf;
	int ret;

	if (s->type == ATTR_IN && a->len > s->max && (s->flags & ATTR_ZERO_TRAILING) &&
	    tail_is_zero(c, a, s->max) != 1)
		return -EOPNOTSUPP;
	if (a->len < s->min || (!(s->flags & ATTR_ZERO_TRAILING) && a->len > s->max))
		return -EINVAL;
	if (a->attr_data.reserved)
		return -EINVAL;
	if (!(s->flags & ATTR_COPY) || a->len <= sizeof(a->data))
		return 0;
	buf = malloc(a->len);
	ret = buf ? call_read(c, buf, a->data, a->len) : -ENOMEM;
	free(buf);
	return ret;
}

static int new_event_file(struct call *c, struct attr_val *v, uint16_t object)
{
	int ret, fd;

	ret = call_context(c);
	if (ret)
		return ret;
	ret = object & UVERBS_ID_DRIVER_NS
		      ? evfile_create_records(c->f, object, &v->ev, &fd)
		      : evfile_create(c->f, object == UVERBS_OBJECT_ASYNC_EVENT, &v->ev, &fd);
	if (ret)
		return ret;
	ret = call_install_fd(c, fd, attr_user(c, v->idx) + offsetof(struct ib_uverbs_attr, data),
			      sizeof(uint64_t));
	if (ret) {
		evfile_shutdown(v->ev);
		v->ev = NULL;
	}
	return ret;
}

static int new_uobj(struct call *c, struct attr_val *v, uint16_t object)
{
	int64_t handle;
	int ret;

	ret = call_alloc_uobj(c, object, &v->obj);
	if (ret)
		return ret;
	handle = v->obj->handle;
	return call_write(c, attr_user(c, v->idx) + offsetof(struct ib_uverbs_attr, data), &handle,
			  sizeof(handle));
}

static int set_object(struct call *c, const struct attr_spec *s, const struct ib_uverbs_attr *a,
		      struct attr_val *v)
{
	int ret;

	if (a->attr_data.reserved || a->len)
		return -EINVAL;
	if (s->access == ACCESS_NEW)
		return s->type == ATTR_FD ? new_event_file(c, v, s->object) : new_uobj(c, v, s->object);
	if (s->type == ATTR_IDR)
		return a->data_s64 < 0 ? -EINVAL : uobj_lookup(c->f, s->object, a->data, &v->obj);
	if (s->object & UVERBS_ID_DRIVER_NS)
		v->ev = call_find_records(c, a->data_s64, s->object, &ret);
	else
		v->ev = call_find_event(c, a->data_s64, s->object == UVERBS_OBJECT_ASYNC_EVENT, &ret);
	return ret;
}

/* The handles are in the attribute itself: there is room for IDR_ARRAY_MAX. */
static int set_object_array(struct call *c, const struct attr_spec *s, const struct ib_uverbs_attr *a,
			    struct attr_val *v)
{
	uint32_t handle[IDR_ARRAY_MAX];
	int ret = 0;

	_Static_assert(sizeof(handle) <= sizeof(a->data), "it would be in the caller's memory");
	v->num = a->len / sizeof(handle[0]);
	if (a->attr_data.reserved || a->len % sizeof(handle[0]) || !v->num || v->num > s->max)
		return -EINVAL;
	memcpy(handle, &a->data, a->len);
	for (unsigned int i = 0; i < v->num && !ret; i++)
		ret = uobj_lookup(c->f, s->object, handle[i], &v->array[i]);
	v->obj = v->array[0];
	return ret;
}

static int set_enum(const struct attr_spec *s, const struct ib_uverbs_attr *a, struct attr_val *v)
{
	if (a->attr_data.enum_data.elem_id >= s->max)
		return -EOPNOTSUPP;
	if (a->attr_data.enum_data.reserved || a->len != s->min)
		return -EINVAL;
	v->data = s->min ? a->data : a->attr_data.enum_data.elem_id;
	v->len = s->min;
	return 0;
}

static int set_value(struct call *c, const struct attr_spec *s, const struct ib_uverbs_attr *a,
		     struct attr_val *v)
{
	switch (s->type) {
	case ATTR_IN:
	case ATTR_OUT:
		return set_ptr(c, s, a);
	case ATTR_ENUM:
		return set_enum(s, a, v);
	case ATTR_IDR_ARRAY:
		return set_object_array(c, s, a, v);
	case ATTR_RAW_FD:
		return a->attr_data.reserved || a->len || a->data_s64 != (int)a->data_s64 ? -EINVAL : 0;
	default:
		return set_object(c, s, a, v);
	}
}

static int set_attr(struct call *c, unsigned int idx)
{
	const struct ib_uverbs_attr *a = &c->uattrs[idx];
	const bool has = kernel_has(c->f->dev->k, ABI_ATTR, c->method->object, c->method->id, a->attr_id);
	const int n = has ? attr_index(c->method, a->attr_id) : -1;
	const struct attr_spec *s;
	struct attr_val *v;
	int ret;

	if (n < 0)
		return a->flags & UVERBS_ATTR_F_MANDATORY ? -EPROTONOSUPPORT : 0;
	s = &c->method->attrs[n];
	v = &c->val[n];
	if (v->present)
		return -EINVAL;
	v->idx = idx;
	v->len = a->len;
	v->data = a->data;
	ret = set_value(c, s, a, v);
	v->present = !ret;
	return ret;
}

static void fill_uhw(struct call *c)
{
	const struct attr_val *in = attr_get(c, UVERBS_ATTR_UHW_IN);
	const struct attr_val *out = attr_get(c, UVERBS_ATTR_UHW_OUT);

	if (in) {
		c->uhw_in = attr_in_addr(c, in);
		c->uhw_in_len = in->len;
	}
	if (out) {
		c->uhw_out = out->data;
		c->uhw_out_len = out->len;
		c->uhw_out_attr = out->idx;
	}
}

/* A method with a DESTROY attribute destroys first; its handler only reports. */
static int run_destroy(struct call *c)
{
	for (unsigned int i = 0; i < c->method->num_attrs; i++) {
		if (c->method->attrs[i].access == ACCESS_DESTROY)
			return uobj_destroy(c->val[i].obj, &c->counts);
	}
	return 0;
}

static int run_method(struct call *c, unsigned int num_attrs)
{
	int ret;

	for (unsigned int i = 0; i < num_attrs; i++) {
		ret = set_attr(c, i);
		if (ret)
			return ret;
	}
	for (unsigned int i = 0; i < c->method->num_attrs; i++) {
		if ((c->method->attrs[i].flags & ATTR_MANDATORY) && !c->val[i].present)
			return -EINVAL;
	}
	fill_uhw(c);
	ret = run_destroy(c);
	if (!ret)
		ret = c->method->handler(c);
	if (!ret && c->uhw_out_attr >= 0)
		ret = attr_set_output(c, c->uhw_out_attr);
	return ret;
}

/* Removes the event files that a failed call created. call_finish() closes their descriptors. */
static void undo_event_files(struct call *c)
{
	for (unsigned int i = 0; i < c->method->num_attrs; i++) {
		if (c->method->attrs[i].type == ATTR_FD && c->method->attrs[i].access == ACCESS_NEW &&
		    c->val[i].ev)
			evfile_shutdown(c->val[i].ev);
	}
}

long uverbs_ioctl(struct kfile *f, struct task *t, uint64_t arg, struct kreply *reply)
{
	struct call c = {.f = f, .t = t, .reply = reply, .out_attr = -1, .uhw_out_attr = -1};
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr *uattrs;
	struct method drivers;
	int ret;

	if (call_read(&c, &hdr, arg, sizeof(hdr)))
		return -EFAULT;
	if (hdr.length > KPAGE_SIZE ||
	    hdr.length != sizeof(hdr) + hdr.num_attrs * sizeof(struct ib_uverbs_attr))
		return -EINVAL;
	if (hdr.reserved1 || hdr.reserved2)
		return -EPROTONOSUPPORT;
	if (hdr.driver_id != kdev_ops(f->dev)->driver_id)
		return -EINVAL;
	c.method = driver_method(&c, hdr.object_id, hdr.method_id, &drivers);
	if (!c.method && kernel_has(f->dev->k, ABI_METHOD, hdr.object_id, hdr.method_id, 0))
		c.method = method_find(hdr.object_id, hdr.method_id);
	if (!c.method)
		return -EPROTONOSUPPORT;
	c.user_attrs = arg + sizeof(hdr);
	uattrs = calloc(1, KPAGE_SIZE);
	if (!uattrs)
		return -ENOMEM;
	c.uattrs = uattrs;
	c.num_uattrs = hdr.num_attrs;
	ret = call_read(&c, uattrs, c.user_attrs, hdr.num_attrs * sizeof(*uattrs));
	if (!ret)
		ret = run_method(&c, hdr.num_attrs);
	if (ret)
		undo_event_files(&c);
	ret = call_finish(&c, ret);
	free(uattrs);
	return ret;
}
