// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ioctl methods of the device object (context, queries, wrapped commands) and of the event file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/newer_abi.h"
#include "kernel/uverbs/ioctl.h"

int m_destroyed(struct call *c)
{
	return 0;
}

int m_invoke_write(struct call *c)
{
	const struct attr_val *in = attr_get(c, UVERBS_ATTR_CORE_IN),
			      *out = attr_get(c, UVERBS_ATTR_CORE_OUT);
	const struct write_cmd *w;
	uint64_t cmd;
	int ret;

	ret = attr_const(c, UVERBS_ATTR_WRITE_CMD, UINT32_MAX, &cmd);
	if (ret)
		return ret;
	w = write_cmd_find(c->f->dev, cmd, &ret);
	if (!w)
		return ret;
	c->command = w;
	if (in) {
		c->in = attr_in_addr(c, in);
		c->in_len = in->len;
	}
	if (out) {
		c->out = out->data;
		c->out_len = out->len;
		c->out_attr = out->idx;
	}
	if (c->in_len < w->req || c->out_len < w->resp)
		return -ENOSPC;
	return w->handler(c);
}

/* For an unknown object type the kernel returns an empty list. */
int m_info_handles(struct call *c)
{
	const struct attr_val *list = attr_get(c, UVERBS_ATTR_INFO_HANDLES_LIST);
	uint64_t object, total = 0;
	uint32_t *handles;
	struct uobj *u;
	int ret;

	if (!list || !list->len || list->len % sizeof(uint32_t))
		return -EINVAL;
	ret = attr_const(c, UVERBS_ATTR_INFO_OBJECT_ID, UINT16_MAX, &object);
	if (ret)
		return ret;
	handles = calloc(1, list->len);
	if (!handles)
		return -ENOMEM;
	TAILQ_FOREACH(u, &c->f->objects, link)
	{
		if (u->type == object && total < list->len / sizeof(uint32_t))
			handles[total++] = u->handle;
	}
	ret = attr_copy_to(c, UVERBS_ATTR_INFO_HANDLES_LIST, handles, total * sizeof(uint32_t));
	free(handles);
	return ret ? ret : attr_copy_to(c, UVERBS_ATTR_INFO_TOTAL_HANDLES, &total, sizeof(total));
}

int m_query_port(struct call *c)
{
	struct ib_uverbs_query_port_resp_ex resp = {0};
	uint64_t port;
	int ret;

	ret = call_context(c);
	if (!ret)
		ret = attr_const(c, UVERBS_ATTR_QUERY_PORT_PORT_NUM, UINT8_MAX, &port);
	if (ret)
		return ret;
	if (!kdev_port_valid(c->f->dev, port))
		return -EINVAL;
	verbs_port_resp(c->f->dev, port, &resp.legacy_resp);
	if (kernel_has(c->f->dev->k, ABI_FIELD, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT,
		       offsetof(struct ib_uverbs_query_port_resp_ex, active_speed_ex)))
		resp.active_speed_ex = resp.legacy_resp.active_speed;
	return attr_copy_to_or_zero(c, UVERBS_ATTR_QUERY_PORT_RESP, &resp, sizeof(resp));
}

static int context_facts(struct call *c, uint16_t vectors_id, uint16_t support_id)
{
	const uint32_t vectors = kdev_ops(c->f->dev)->num_comp_vectors;
	const uint64_t support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	const int ret = attr_copy_optional(c, vectors_id, &vectors, sizeof(vectors));

	return ret ? ret : attr_copy_optional(c, support_id, &support, sizeof(support));
}

/* Descriptors of capability devices (drivers/infiniband/core/ucaps.c). This machine's driver creates none. */
static int check_ucaps(struct call *c)
{
	const struct attr_val *fds = attr_get(c, ABI_ATTR_GET_CONTEXT_FD_ARR);
	uint64_t dev, ino;
	int fd, ret;

	if (!fds)
		return 0;
	if (fds->len % sizeof(fd))
		return -EINVAL;
	ret = attr_copy_from(c, ABI_ATTR_GET_CONTEXT_FD_ARR, &fd, sizeof(fd));
	if (!ret)
		ret = c->t->ops->fd_file(c->t, fd, &dev, &ino);
	return ret ? ret : -EINVAL;
}

int m_get_context(struct call *c)
{
	int ret = context_facts(c, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS,
				UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT);

	if (!ret)
		ret = check_ucaps(c);
	return ret ? ret : call_alloc_context(c);
}

int m_query_context(struct call *c)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	const struct attr_val *resp = attr_get(c, UVERBS_ID_DRIVER_NS);
	struct drv_udata *u;
	int ret;

	ret = call_context(c);
	if (ret)
		return ret;
	if (!ops->query_ucontext)
		return -EOPNOTSUPP;
	ret = context_facts(c, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS,
			    UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT);
	if (ret || !resp)
		return ret;
	ret = driver_attr(c, resp, &u);
	if (!ret)
		ret = ops->query_ucontext(c->f->ctx, u);
	return ret ? ret : driver_attr_done(c, resp);
}

static void gid_entry(const struct kdev *d, unsigned int port, unsigned int index,
		      struct ib_uverbs_gid_entry *e)
{
	const struct kgid *g = &d->gid[port - 1][index];

	*e = (struct ib_uverbs_gid_entry){
		.gid_index = index,
		.port_num = port,
		.gid_type = g->v1 ? IB_UVERBS_GID_TYPE_ROCE_V1 : IB_UVERBS_GID_TYPE_ROCE_V2,
		.netdev_ifindex = kdev_ifindex(d, port),
	};
	memcpy(e->gid, g->raw, sizeof(e->gid));
}

/* Returns the number of entries, or -EINVAL when more than `max` are in use. */
static int collect_gids(const struct kdev *d, struct ib_uverbs_gid_entry *e, size_t max)
{
	size_t n = 0;

	for (unsigned int port = 1; port <= d->num_ports; port++) {
		for (unsigned int i = 0; i < MAX_GIDS; i++) {
			if (!d->gid[port - 1][i].valid)
				continue;
			if (n == max)
				return -EINVAL;
			gid_entry(d, port, i, &e[n++]);
		}
	}
	return n;
}

static int put_gids(struct call *c, const struct attr_val *v, const struct ib_uverbs_gid_entry *e, size_t num,
		    size_t size)
{
	const size_t copy = size < sizeof(*e) ? size : sizeof(*e);

	for (size_t i = 0; i < num; i++) {
		if (call_write(c, v->data + i * size, &e[i], copy) ||
		    call_clear(c, v->data + i * size + copy, size - copy))
			return -EFAULT;
	}
	return attr_set_output(c, v->idx);
}

int m_query_gid_table(struct call *c)
{
	struct ib_uverbs_gid_entry e[MAX_PORTS * MAX_GIDS];
	const struct attr_val *list = attr_get(c, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
	uint64_t size, total;
	uint32_t flags;
	size_t max;
	int ret;

	ret = attr_flags32(c, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 0, &flags);
	if (!ret)
		ret = attr_const(c, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, UINT64_MAX, &size);
	if (ret)
		return ret;
	if (!size || list->len % size || !list->len)
		return -EINVAL;
	ret = call_context(c);
	if (ret)
		return ret;
	max = list->len / size;
	ret = collect_gids(c->f->dev, e, max < MAX_PORTS * MAX_GIDS ? max : MAX_PORTS * MAX_GIDS);
	if (ret < 0)
		return ret;
	total = ret;
	ret = put_gids(c, list, e, total, size);
	return ret ? ret
		   : attr_copy_to(c, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &total, sizeof(total));
}

int m_query_gid_entry(struct call *c)
{
	struct ib_uverbs_gid_entry e;
	uint64_t port, index;
	uint32_t flags;
	int ret;

	ret = attr_flags32(c, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0, &flags);
	if (!ret)
		ret = attr_const(c, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, UINT32_MAX, &port);
	if (!ret)
		ret = attr_const(c, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, UINT32_MAX, &index);
	if (!ret)
		ret = call_context(c);
	if (!ret)
		ret = addr_check_sgid(c->f->dev, port, index);
	if (ret)
		return ret;
	gid_entry(c->f->dev, port, index, &e);
	return attr_copy_to_or_zero(c, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &e, sizeof(e));
}

int m_async_event_alloc(struct call *c)
{
	kfile_default_async(c->f, attr_get(c, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)->ev);
	return 0;
}

int m_query_mr(struct call *c)
{
	const struct uobj *u = attr_get(c, UVERBS_ATTR_QUERY_MR_HANDLE)->obj;
	const struct drv_mr *mr = u->drv;
	int ret;

	ret = attr_copy_to(c, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &mr->lkey, sizeof(mr->lkey));
	if (!ret)
		ret = attr_copy_to(c, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &mr->rkey, sizeof(mr->rkey));
	if (!ret)
		ret = attr_copy_to(c, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &u->mr.length, sizeof(u->mr.length));
	return ret ? ret
		   : attr_copy_optional(c, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &u->mr.iova, sizeof(u->mr.iova));
}
