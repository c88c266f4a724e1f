// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Commands and ioctls as user space issues them. */
#include "harness.h"

struct world w;

void *user_alloc(size_t size)
{
	void *p = w.arena + w.used;

	size = (size + 15) & ~(size_t)15;
	if (w.used + size > ARENA_SIZE)
		abort();
	w.used += size;
	memset(p, 0, size);
	return p;
}

static int write_cmd_buf(struct cmd_buf *b, size_t len)
{
	const ssize_t ret = kernel_write(w.f, &w.task, U(b), len, &w.reply);

	if (ret >= 0)
		take_reply();
	return ret < 0 ? ret : ret == (ssize_t)len ? 0 : -EIO;
}

int do_write(uint32_t cmd, const void *req, size_t req_len, const void *uhw, size_t uhw_len, void *resp,
	     size_t resp_len, void *uhw_out, size_t uhw_out_len)
{
	struct cmd_buf *b = user_alloc(sizeof(*b));
	uint8_t *out = user_alloc(resp_len + uhw_out_len + 1);
	int ret;

	b->hdr.command = cmd;
	b->hdr.in_words = (sizeof(b->hdr) + req_len + uhw_len) / 4;
	b->hdr.out_words = (resp_len + uhw_out_len) / 4;
	memcpy(b->body, req, req_len);
	if (uhw_len)
		memcpy(b->body + req_len, uhw, uhw_len);
	if (resp_len) {
		const uint64_t addr = U(out);

		memcpy(b->body, &addr, sizeof(addr));
	}
	ret = write_cmd_buf(b, b->hdr.in_words * 4u);
	if (resp_len)
		memcpy(resp, out, resp_len);
	if (uhw_out_len)
		memcpy(uhw_out, out + resp_len, uhw_out_len);
	return ret;
}

int do_write_ex(uint32_t cmd, const void *req, size_t req_len, const void *uhw, size_t uhw_len, void *resp,
		size_t resp_len, void *uhw_out, size_t uhw_out_len)
{
	struct cmd_buf *b = user_alloc(sizeof(*b));
	struct ib_uverbs_ex_cmd_hdr *ex = (void *)b->body;
	uint8_t *out = user_alloc(resp_len + uhw_out_len + 1);
	int ret;

	b->hdr.command = cmd | IB_USER_VERBS_CMD_FLAG_EXTENDED;
	b->hdr.in_words = req_len / 8;
	b->hdr.out_words = resp_len / 8;
	ex->provider_in_words = uhw_len / 8;
	ex->provider_out_words = uhw_out_len / 8;
	ex->response = resp_len + uhw_out_len ? U(out) : 0;
	memcpy(ex + 1, req, req_len);
	if (uhw_len)
		memcpy((uint8_t *)(ex + 1) + req_len, uhw, uhw_len);
	ret = write_cmd_buf(b, sizeof(b->hdr) + sizeof(*ex) + req_len + uhw_len);
	if (resp_len)
		memcpy(resp, out, resp_len);
	if (uhw_out_len)
		memcpy(uhw_out, out + resp_len, uhw_out_len);
	return ret;
}

struct ioc *ioc_new(uint16_t object, uint16_t method)
{
	struct ioc *i = user_alloc(sizeof(*i));

	i->hdr.object_id = object;
	i->hdr.method_id = method;
	return i;
}

struct ib_uverbs_attr *ioc_add(struct ioc *i, uint16_t id)
{
	struct ib_uverbs_attr *a = &i->attrs[i->hdr.num_attrs++];

	a->attr_id = id;
	a->flags = UVERBS_ATTR_F_MANDATORY;
	return a;
}

struct ib_uverbs_attr *ioc_in(struct ioc *i, uint16_t id, const void *data, uint16_t len)
{
	struct ib_uverbs_attr *a = ioc_add(i, id);
	void *copy;

	a->len = len;
	if (len <= sizeof(a->data)) {
		memcpy(&a->data, data, len);
		return a;
	}
	copy = user_alloc(len);
	memcpy(copy, data, len);
	a->data = U(copy);
	return a;
}

struct ib_uverbs_attr *ioc_const(struct ioc *i, uint16_t id, uint64_t value)
{
	return ioc_in(i, id, &value, sizeof(value));
}

struct ib_uverbs_attr *ioc_out(struct ioc *i, uint16_t id, void *data, uint16_t len)
{
	struct ib_uverbs_attr *a = ioc_add(i, id);

	a->len = len;
	a->data = U(data);
	return a;
}

struct ib_uverbs_attr *ioc_obj(struct ioc *i, uint16_t id, uint64_t handle)
{
	struct ib_uverbs_attr *a = ioc_add(i, id);

	a->data = handle;
	return a;
}

int ioc_run(struct ioc *i)
{
	int ret;

	if (!i->hdr.length)
		i->hdr.length = sizeof(i->hdr) + i->hdr.num_attrs * sizeof(i->attrs[0]);
	ret = kernel_ioctl(w.f, &w.task, RDMA_VERBS_IOCTL, U(i), &w.reply);
	if (!ret)
		take_reply();
	return ret;
}
