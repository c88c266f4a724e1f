// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion channels and completion queues. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kernel/newer_abi.h"
#include "kernel/uverbs/ioctl.h"

#define CQ_MODERATE 1 /* the only bit of attr_mask (ib_verbs.h: enum ib_cq_attr_mask) */

int cmd_create_comp_channel(struct call *c)
{
	struct ib_uverbs_create_comp_channel_resp resp = {0};
	struct ib_uverbs_create_comp_channel cmd;
	struct evfile *ev;
	int ret, fd;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (!ret)
		ret = call_context(c);
	if (!ret)
		ret = evfile_create(c->f, false, &ev, &fd);
	if (ret)
		return ret;
	ret = call_install_fd(c, fd, c->out + offsetof(struct ib_uverbs_create_comp_channel_resp, fd),
			      sizeof(resp.fd));
	if (!ret)
		ret = resp_put(c, &resp, sizeof(resp));
	if (ret)
		evfile_shutdown(ev);
	return ret;
}

int verbs_create_cq(struct call *c, struct uobj *u, uint32_t cqe, uint32_t vector, uint32_t flags,
		    struct evfile *comp, struct evfile *async)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	struct drv_udata *udata;
	struct drv_cq *cq;
	int ret;

	if (!ops->create_cq)
		return -EOPNOTSUPP;
	ret = call_udata(c, &udata);
	if (ret)
		return ret;
	cq = drv_alloc(ops->sz_cq, u);
	if (!cq)
		return -ENOMEM;
	cq->ctx = c->f->ctx;
	ret = ops->create_cq(cq, cqe, vector, flags, udata);
	if (ret) {
		drv_free(cq);
		return ret;
	}
	u->drv = cq;
	u->comp = comp;
	u->async = async ? async : c->f->default_async;
	if (u->comp)
		evfile_get(u->comp);
	if (u->async)
		evfile_get(u->async);
	return call_udata_done(c);
}

static int create_cq(struct call *c, const struct ib_uverbs_ex_create_cq *cmd,
		     struct ib_uverbs_ex_create_cq_resp *resp)
{
	struct evfile *comp = NULL;
	struct uobj *u;
	int ret;

	if (cmd->comp_vector >= kdev_ops(c->f->dev)->num_comp_vectors)
		return -EINVAL;
	ret = call_alloc_uobj(c, UVERBS_OBJECT_CQ, &u);
	if (ret)
		return ret;
	if (cmd->comp_channel >= 0) {
		comp = call_find_event(c, cmd->comp_channel, false, &ret);
		if (!comp)
			return ret;
	}
	u->user_handle = cmd->user_handle;
	ret = verbs_create_cq(c, u, cmd->cqe, cmd->comp_vector, cmd->flags, comp, NULL);
	if (ret)
		return ret;
	resp->base.cq_handle = u->handle;
	resp->base.cqe = ((struct drv_cq *)u->drv)->cqe;
	resp->response_length = resp_len(c, sizeof(*resp));
	return 0;
}

int cmd_create_cq(struct call *c)
{
	struct ib_uverbs_ex_create_cq_resp resp = {0};
	struct ib_uverbs_ex_create_cq ex = {0};
	struct ib_uverbs_create_cq cmd;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	ex.user_handle = cmd.user_handle;
	ex.cqe = cmd.cqe;
	ex.comp_vector = cmd.comp_vector;
	ex.comp_channel = cmd.comp_channel;
	ret = create_cq(c, &ex, &resp);
	return ret ? ret : resp_put(c, &resp, sizeof(resp));
}

int cmd_ex_create_cq(struct call *c)
{
	struct ib_uverbs_ex_create_cq_resp resp = {0};
	struct ib_uverbs_ex_create_cq cmd;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (cmd.comp_mask || cmd.reserved)
		return -EINVAL;
	ret = create_cq(c, &cmd, &resp);
	return ret ? ret : resp_put(c, &resp, sizeof(resp));
}

int cmd_resize_cq(struct call *c)
{
	struct ib_uverbs_resize_cq_resp resp = {0};
	struct ib_uverbs_resize_cq cmd;
	struct drv_udata *udata;
	struct uobj *u;
	int ret;

	ret = req_find(c, &cmd, cq_handle, UVERBS_OBJECT_CQ, &u);
	if (ret)
		return ret;
	ret = call_udata(c, &udata);
	if (!ret)
		ret = kdev_ops(c->f->dev)->resize_cq(u->drv, cmd.cqe, udata);
	if (!ret)
		ret = call_udata_done(c);
	if (ret)
		return ret;
	pin_move(c, u);
	resp.cqe = ((struct drv_cq *)u->drv)->cqe;
	return resp_put(c, &resp, sizeof(resp));
}

int cmd_ex_modify_cq(struct call *c)
{
	struct ib_uverbs_ex_modify_cq cmd;
	struct uobj *u;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (!cmd.attr_mask || cmd.reserved)
		return -EINVAL;
	if (cmd.attr_mask > CQ_MODERATE)
		return -EOPNOTSUPP;
	ret = uobj_get(c->f, UVERBS_OBJECT_CQ, cmd.cq_handle, &u);
	if (ret)
		return ret;
	return kdev_ops(c->f->dev)->moderate_cq(u->drv, cmd.attr.cq_count, cmd.attr.cq_period);
}

int cmd_req_notify_cq(struct call *c)
{
	struct ib_uverbs_req_notify_cq cmd;
	struct uobj *u;
	const int ret = req_find(c, &cmd, cq_handle, UVERBS_OBJECT_CQ, &u);

	return ret ? ret : kdev_ops(c->f->dev)->req_notify_cq(u->drv, cmd.solicited_only);
}

int cmd_destroy_cq(struct call *c)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct ib_uverbs_destroy_cq cmd;
	struct ev_counts counts;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_destroy_handle(c->f, UVERBS_OBJECT_CQ, cmd.cq_handle, &counts);
	if (ret)
		return ret;
	resp.comp_events_reported = counts.comp;
	resp.async_events_reported = counts.async;
	return resp_put(c, &resp, sizeof(resp));
}

/*
 * A buffer that the program passes needs a driver with create_cq_umem (uverbs_std_types_cq.c), which ours
 * does not have.
 */
static int check_buffer(struct call *c)
{
	const bool length = attr_get(c, ABI_ATTR_CREATE_CQ_BUFFER_LENGTH);
	const bool offset = attr_get(c, ABI_ATTR_CREATE_CQ_BUFFER_OFFSET);

	if (attr_get(c, ABI_ATTR_CREATE_CQ_BUFFER_VA))
		return length ? -EINVAL : -ENOENT;
	if (attr_get(c, ABI_ATTR_CREATE_CQ_BUFFER_FD))
		return length && offset ? -EINVAL : -ENOENT;
	return length || offset ? -EINVAL : 0;
}

int m_cq_create(struct call *c)
{
	struct uobj *u = attr_get(c, UVERBS_ATTR_CREATE_CQ_HANDLE)->obj;
	const struct attr_val *comp = attr_get(c, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);
	const struct attr_val *async = attr_get(c, UVERBS_ATTR_CREATE_CQ_EVENT_FD);
	uint32_t vector, cqe, flags;
	int ret;

	ret = attr_copy_from(c, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &vector, sizeof(vector));
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_CREATE_CQ_CQE, &cqe, sizeof(cqe));
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &u->user_handle, sizeof(uint64_t));
	if (!ret)
		ret = attr_flags32(
			c, UVERBS_ATTR_CREATE_CQ_FLAGS,
			IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION | IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN, &flags);
	if (ret)
		return ret;
	if (vector >= kdev_ops(c->f->dev)->num_comp_vectors)
		return -EINVAL;
	ret = check_buffer(c);
	if (ret)
		return ret;
	ret = verbs_create_cq(c, u, cqe, vector, flags, comp ? comp->ev : NULL, async ? async->ev : NULL);
	if (ret)
		return ret;
	cqe = ((struct drv_cq *)u->drv)->cqe;
	return attr_copy_to(c, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cqe, sizeof(cqe));
}

int m_cq_destroy(struct call *c)
{
	const struct ib_uverbs_destroy_cq_resp resp = {c->counts.comp, c->counts.async};

	return attr_copy_to(c, UVERBS_ATTR_DESTROY_CQ_RESP, &resp, sizeof(resp));
}
