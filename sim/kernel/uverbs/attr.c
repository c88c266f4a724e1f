// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Access of handlers to their input and output: attributes of an ioctl, requests and responses of a command.
 */
#include <errno.h>
#include <string.h>

#include "kernel/uverbs/ioctl.h"

int attr_index(const struct method *m, uint16_t id)
{
	for (unsigned int i = 0; i < m->num_attrs; i++) {
		if (m->attrs[i].id == id)
			return i;
	}
	return -1;
}

uint64_t attr_user(const struct call *c, unsigned int idx)
{
	return c->user_attrs + idx * sizeof(struct ib_uverbs_attr);
}

uint64_t attr_in_addr(struct call *c, const struct attr_val *v)
{
	if (v->len <= sizeof(v->data))
		return attr_user(c, v->idx) + offsetof(struct ib_uverbs_attr, data);
	return v->data;
}

struct attr_val *attr_get(struct call *c, uint16_t id)
{
	const int n = attr_index(c->method, id);

	return n >= 0 && c->val[n].present ? &c->val[n] : NULL;
}

int attr_const(struct call *c, uint16_t id, uint64_t max, uint64_t *out)
{
	const struct attr_val *v = attr_get(c, id);

	if (!v)
		return -ENOENT;
	if (v->data > max)
		return -EINVAL;
	*out = v->data;
	return 0;
}

/* Old user space passes flags in 4 bytes. Without the attribute no flag is set. */
int attr_flags32(struct call *c, uint16_t id, uint64_t allowed, uint32_t *out)
{
	const struct attr_val *v = attr_get(c, id);
	uint64_t flags;

	*out = 0;
	if (!v)
		return 0;
	if (v->len != 4 && v->len != 8)
		return -EINVAL;
	flags = v->len == 8 ? v->data : (uint32_t)v->data;
	if (flags & ~allowed || flags > UINT32_MAX)
		return -EINVAL;
	*out = flags;
	return 0;
}

int attr_copy_from(struct call *c, uint16_t id, void *dst, size_t size)
{
	const struct attr_val *v = attr_get(c, id);

	if (!v)
		return -ENOENT;
	memset(dst, 0, size);
	if (v->len < size)
		size = v->len;
	if (v->len <= sizeof(v->data)) {
		memcpy(dst, &v->data, size);
		return 0;
	}
	return call_read(c, dst, v->data, size);
}

int attr_set_output(struct call *c, unsigned int idx)
{
	const uint16_t flags = c->uattrs[idx].flags | UVERBS_ATTR_F_VALID_OUTPUT;

	return call_write(c, attr_user(c, idx) + offsetof(struct ib_uverbs_attr, flags), &flags,
			  sizeof(flags));
}

int attr_copy_to(struct call *c, uint16_t id, const void *src, size_t size)
{
	const struct attr_val *v = attr_get(c, id);

	if (!v)
		return -ENOENT;
	if (call_write(c, v->data, src, v->len < size ? v->len : size))
		return -EFAULT;
	return attr_set_output(c, v->idx);
}

int attr_copy_to_or_zero(struct call *c, uint16_t id, const void *src, size_t size)
{
	const struct attr_val *v = attr_get(c, id);

	if (v && v->len > size && call_clear(c, v->data + size, v->len - size))
		return -EFAULT;
	return attr_copy_to(c, id, src, size);
}

int attr_copy_optional(struct call *c, uint16_t id, const void *src, size_t size)
{
	const int ret = attr_copy_to(c, id, src, size);

	return ret == -ENOENT ? 0 : ret;
}

int attr_put_keys(struct call *c, uint16_t lkey_id, uint16_t rkey_id, const struct drv_mr *mr)
{
	const int ret = attr_copy_to(c, lkey_id, &mr->lkey, sizeof(mr->lkey));

	return ret ? ret : attr_copy_to(c, rkey_id, &mr->rkey, sizeof(mr->rkey));
}

/* ---- Attributes of the driver ---- */

int driver_attr(struct call *c, const struct attr_val *v, struct drv_udata **u)
{
	c->uhw_out = v->data;
	c->uhw_out_len = v->len;
	return call_udata(c, u);
}

int driver_attr_done(struct call *c, const struct attr_val *v)
{
	const int ret = call_udata_done(c);

	return ret ? ret : attr_set_output(c, v->idx);
}

/* ---- Requests and responses ---- */

/* A longer request must be zero after the part that is known; a shorter one is filled with zeros. */
int req_get(struct call *c, void *req, size_t len)
{
	const size_t have = c->in_len < len ? c->in_len : len;
	int zero;

	if (call_read(c, req, c->in, have))
		return -EFAULT;
	memset((char *)req + have, 0, len - have);
	if (c->in_len > len) {
		zero = call_is_zero(c, c->in + len, c->in_len - len);
		if (zero != 1)
			return zero < 0 ? zero : -EOPNOTSUPP;
	}
	return 0;
}

/* Copies as much of the response as fits in the user's buffer; the rest of a larger buffer is cleared. */
int resp_put(struct call *c, const void *resp, size_t len)
{
	if (call_write(c, c->out, resp, resp_len(c, len)))
		return -EFAULT;
	if (c->out_len > len && call_clear(c, c->out + len, c->out_len - len))
		return -EFAULT;
	return c->out_attr < 0 ? 0 : attr_set_output(c, c->out_attr);
}

int req_find_at(struct call *c, void *req, size_t len, size_t at, uint16_t type, struct uobj **out)
{
	const int ret = req_get(c, req, len);
	uint32_t handle;

	if (ret)
		return ret;
	memcpy(&handle, (const char *)req + at, sizeof(handle));
	return uobj_get(c->f, type, handle, out);
}

int req_destroy(struct call *c, uint16_t type)
{
	uint32_t handle;
	const int ret = req_get(c, &handle, sizeof(handle));

	return ret ? ret : uobj_destroy_handle(c->f, type, handle, NULL);
}
