// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues. */
#include <errno.h>

#include "kernel/uverbs/ioctl.h"

#define SRQ_MAX_WR (1u << 0) /* enum ib_srq_attr_mask: the same in include/rdma/ib_verbs.h and verbs.h */
#define SRQ_LIMIT  (1u << 1)

/* The SRQ completes to a CQ of its own (ib_srq_has_cq() of include/rdma/ib_verbs.h). */
static bool has_cq(uint64_t type)
{
	return type == IB_UVERBS_SRQT_XRC || type == IB_UVERBS_SRQT_TM;
}

/* The size of a tag list; ib_uverbs leaves this to the driver. */
static int check_tags(const struct kdev *d, uint64_t type, uint32_t num_tags)
{
	if (type != IB_UVERBS_SRQT_TM)
		return 0;
	if (!d->attr.tm_caps.flags)
		return -EOPNOTSUPP;
	return num_tags && num_tags <= d->attr.tm_caps.max_num_tags ? 0 : -EINVAL;
}

static int check_limits(const struct kdev *d, const struct drv_srq_init *init)
{
	const struct ib_uverbs_query_device_resp *dev = &d->attr.base;

	if (!kdev_ops(d)->create_srq || !dev->max_srq)
		return -EOPNOTSUPP;
	if (init->max_wr > (uint32_t)dev->max_srq_wr || init->max_sge > (uint32_t)dev->max_srq_sge)
		return -EINVAL;
	return 0;
}

/* An XRC SRQ belongs to a domain. */
static int create(struct call *c, struct uobj *u, struct uobj *pd, struct uobj *xrcd, struct uobj *cq,
		  struct drv_srq_init *init, struct evfile *async)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	struct drv_udata *udata;
	struct drv_srq *srq;
	int ret;

	ret = check_limits(c->f->dev, init);
	if (!ret)
		ret = call_udata(c, &udata);
	if (ret)
		return ret;
	srq = drv_alloc(ops->sz_srq, u);
	if (!srq)
		return -ENOMEM;
	srq->pd = pd->drv;
	init->xrcdn = xrcd ? xrcd->xrcd->number : 0;
	init->cq = cq ? cq->drv : NULL;
	ret = ops->create_srq(srq, init, udata);
	if (ret) {
		drv_free(srq);
		return ret;
	}
	u->drv = srq;
	uobj_use(u, pd);
	if (xrcd)
		uobj_use(u, xrcd);
	if (cq)
		uobj_use(u, cq);
	u->srq.xrc = xrcd;
	uobj_set_async(u, async);
	u->srq.max_wr = init->max_wr;
	u->srq.max_sge = init->max_sge;
	return call_udata_done(c);
}

/* Creates an SRQ for both write() commands. */
static int create_cmd(struct call *c, const struct ib_uverbs_create_xsrq *cmd)
{
	struct drv_srq_init init = {.max_wr = cmd->max_wr, .max_sge = cmd->max_sge, .limit = cmd->srq_limit};
	struct ib_uverbs_create_srq_resp resp = {0};
	const bool xrc = cmd->srq_type == IB_UVERBS_SRQT_XRC;
	struct uobj *u, *pd, *xrcd = NULL, *cq = NULL;
	int ret;

	if (cmd->srq_type != IB_UVERBS_SRQT_BASIC && !has_cq(cmd->srq_type))
		return -EOPNOTSUPP;
	ret = check_tags(c->f->dev, cmd->srq_type, cmd->max_num_tags);
	if (ret)
		return ret;
	if (cmd->srq_type == IB_UVERBS_SRQT_TM)
		init.num_tags = cmd->max_num_tags;
	ret = call_alloc_uobj(c, UVERBS_OBJECT_SRQ, &u);
	if (ret)
		return ret;
	u->user_handle = cmd->user_handle;
	if (xrc && uobj_lookup(c->f, UVERBS_OBJECT_XRCD, cmd->xrcd_handle, &xrcd))
		return -EINVAL;
	if (has_cq(cmd->srq_type))
		ret = uobj_get(c->f, UVERBS_OBJECT_CQ, cmd->cq_handle, &cq);
	if (!ret)
		ret = uobj_get(c->f, UVERBS_OBJECT_PD, cmd->pd_handle, &pd);
	if (!ret)
		ret = create(c, u, pd, xrcd, cq, &init, NULL);
	if (ret)
		return ret;
	resp.srq_handle = u->handle;
	resp.max_wr = init.max_wr;
	resp.max_sge = init.max_sge;
	resp.srqn = xrc ? ((struct drv_srq *)u->drv)->srqn : 0;
	return resp_put(c, &resp, sizeof(resp));
}

int cmd_create_srq(struct call *c)
{
	struct ib_uverbs_create_srq cmd;
	struct ib_uverbs_create_xsrq ex = {0};
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	ex.user_handle = cmd.user_handle;
	ex.srq_type = IB_UVERBS_SRQT_BASIC;
	ex.pd_handle = cmd.pd_handle;
	ex.max_wr = cmd.max_wr;
	ex.max_sge = cmd.max_sge;
	ex.srq_limit = cmd.srq_limit;
	return create_cmd(c, &ex);
}

int cmd_create_xsrq(struct call *c)
{
	struct ib_uverbs_create_xsrq cmd;
	const int ret = req_get(c, &cmd, sizeof(cmd));

	return ret ? ret : create_cmd(c, &cmd);
}

static int resize(struct call *c, struct uobj *u, uint32_t max)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	struct drv_udata *udata;
	int ret;

	if (!ops->resize_srq)
		return 0;
	ret = call_udata(c, &udata);
	return ret ? ret : ops->resize_srq(u->drv, max, udata);
}

int cmd_modify_srq(struct call *c)
{
	struct ib_uverbs_modify_srq cmd;
	struct uobj *u;
	uint32_t max;
	int ret;

	ret = req_find(c, &cmd, srq_handle, UVERBS_OBJECT_SRQ, &u);
	if (ret)
		return ret;
	if (cmd.attr_mask & ~(SRQ_MAX_WR | SRQ_LIMIT)) /* ib_uverbs leaves this to the driver */
		return -EOPNOTSUPP;
	max = cmd.attr_mask & SRQ_MAX_WR ? cmd.max_wr : u->srq.max_wr;
	if (!max || max > (uint32_t)c->f->dev->attr.base.max_srq_wr)
		return -EINVAL;
	if (cmd.attr_mask & SRQ_LIMIT) {
		if (cmd.srq_limit > max)
			return -EINVAL;
		ret = kdev_ops(c->f->dev)->modify_srq_limit(u->drv, cmd.srq_limit);
	}
	if (!ret && (cmd.attr_mask & SRQ_MAX_WR))
		ret = resize(c, u, max);
	if (!ret)
		u->srq.max_wr = max;
	return ret;
}

int cmd_query_srq(struct call *c)
{
	struct ib_uverbs_query_srq_resp resp = {0};
	struct ib_uverbs_query_srq cmd;
	struct uobj *u;
	int ret;

	ret = req_find(c, &cmd, srq_handle, UVERBS_OBJECT_SRQ, &u);
	if (ret)
		return ret;
	ret = kdev_ops(c->f->dev)->query_srq_limit(u->drv, &resp.srq_limit);
	if (ret)
		return ret;
	resp.max_wr = u->srq.max_wr;
	resp.max_sge = u->srq.max_sge;
	return resp_put(c, &resp, sizeof(resp));
}

int cmd_destroy_srq(struct call *c)
{
	struct ib_uverbs_destroy_srq_resp resp;
	struct ib_uverbs_destroy_srq cmd;
	struct ev_counts counts;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_destroy_handle(c->f, UVERBS_OBJECT_SRQ, cmd.srq_handle, &counts);
	if (ret)
		return ret;
	resp.events_reported = counts.async;
	return resp_put(c, &resp, sizeof(resp));
}

static int get_init(struct call *c, struct uobj *u, struct drv_srq_init *init, uint64_t *type)
{
	int ret;

	ret = attr_const(c, UVERBS_ATTR_CREATE_SRQ_TYPE, UINT32_MAX, type);
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, &u->user_handle,
				     sizeof(uint64_t));
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_CREATE_SRQ_MAX_WR, &init->max_wr, sizeof(init->max_wr));
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, &init->max_sge,
				     sizeof(init->max_sge));
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_CREATE_SRQ_LIMIT, &init->limit, sizeof(init->limit));
	if (!ret && *type != IB_UVERBS_SRQT_BASIC && !has_cq(*type))
		ret = -EOPNOTSUPP;
	if (!ret && *type == IB_UVERBS_SRQT_TM)
		ret = attr_copy_from(c, UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS, &init->num_tags,
				     sizeof(init->num_tags));
	return ret ? ret : check_tags(c->f->dev, *type, init->num_tags);
}

int m_srq_create(struct call *c)
{
	struct uobj *u = attr_get(c, UVERBS_ATTR_CREATE_SRQ_HANDLE)->obj;
	struct uobj *pd = attr_get(c, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE)->obj;
	const struct attr_val *async = attr_get(c, UVERBS_ATTR_CREATE_SRQ_EVENT_FD);
	const struct attr_val *xrcd = attr_get(c, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE);
	const struct attr_val *cq = attr_get(c, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE);
	struct drv_srq_init init = {0};
	uint64_t type = IB_UVERBS_SRQT_BASIC;
	uint32_t srqn;
	bool xrc;
	int ret;

	ret = get_init(c, u, &init, &type);
	xrc = type == IB_UVERBS_SRQT_XRC;
	if (!ret && ((xrc && !xrcd) || (has_cq(type) && !cq)))
		ret = -ENOENT;
	if (!ret)
		ret = create(c, u, pd, xrc ? xrcd->obj : NULL, has_cq(type) ? cq->obj : NULL, &init,
			     async ? async->ev : NULL);
	if (!ret)
		ret = attr_copy_to(c, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &init.max_wr, sizeof(init.max_wr));
	if (!ret)
		ret = attr_copy_to(c, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &init.max_sge,
				   sizeof(init.max_sge));
	if (ret || !xrc)
		return ret;
	srqn = ((struct drv_srq *)u->drv)->srqn;
	return attr_copy_to(c, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, &srqn, sizeof(srqn));
}

int m_srq_destroy(struct call *c)
{
	const struct ib_uverbs_destroy_srq_resp resp = {c->counts.async};

	return attr_copy_to(c, UVERBS_ATTR_DESTROY_SRQ_RESP, &resp, sizeof(resp));
}
