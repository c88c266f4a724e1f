// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Commands: protection domains, memory regions and windows, address handles. */
#include <errno.h>

#include "kernel/priv.h"

#define WRITABLE                                                                                             \
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC |     \
	 IB_UVERBS_ACCESS_MW_BIND)
/* IB_MR_REREG_*: the same in include/rdma/ib_verbs.h and verbs.h */
#define REREG_TRANS  (1u << 0)
#define REREG_PD     (1u << 1)
#define REREG_ACCESS (1u << 2)
/* enum ib_mw_type: the same in include/rdma/ib_verbs.h and verbs.h */
#define MW_TYPE_1 1
#define MW_TYPE_2 2

int cmd_alloc_pd(struct call *c)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	struct ib_uverbs_alloc_pd_resp resp = {0};
	struct ib_uverbs_alloc_pd cmd;
	struct drv_udata *udata;
	struct drv_pd *pd;
	struct uobj *u;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (!ret)
		ret = call_alloc_uobj(c, UVERBS_OBJECT_PD, &u);
	if (!ret)
		ret = call_udata(c, &udata);
	if (ret)
		return ret;
	pd = drv_alloc(ops->sz_pd, u);
	if (!pd)
		return -ENOMEM;
	pd->ctx = c->f->ctx;
	ret = ops->alloc_pd(pd, udata);
	if (ret) {
		drv_free(pd);
		return ret;
	}
	u->drv = pd;
	resp.pd_handle = u->handle;
	ret = call_udata_done(c);
	return ret ? ret : resp_put(c, &resp, sizeof(resp));
}

int cmd_dealloc_pd(struct call *c)
{
	return req_destroy(c, UVERBS_OBJECT_PD);
}

/* True if the machine's Linux release does not have one of these access flags. */
static bool has_newer_flag(const struct kernel *k, uint32_t access)
{
	for (unsigned int bit = 0; access >> bit; bit++) {
		if ((access >> bit & 1) && !kernel_has(k, ABI_ACCESS, 0, 0, bit))
			return true;
	}
	return false;
}

int verbs_check_access(const struct kdev *d, uint32_t access)
{
	const uint64_t caps = d->attr.device_cap_flags_ex;

	/* IBTA 10.6.3.1: remote write and atomic need local write. */
	if ((access & (IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IB_UVERBS_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if (access & ~VERBS_ACCESS_FLAGS || has_newer_flag(d->k, access))
		return -EINVAL;
	if ((access & IB_UVERBS_ACCESS_ON_DEMAND) && !d->attr.odp_caps.general_caps)
		return -EOPNOTSUPP;
	if ((access & IB_UVERBS_ACCESS_FLUSH_GLOBAL) && !(caps & IB_UVERBS_DEVICE_FLUSH_GLOBAL))
		return -EOPNOTSUPP;
	if ((access & IB_UVERBS_ACCESS_FLUSH_PERSISTENT) && !(caps & IB_UVERBS_DEVICE_FLUSH_PERSISTENT))
		return -EOPNOTSUPP;
	return 0;
}

/* Pins a region's memory now, or prepares it for on-demand paging. */
static int take_memory(struct call *c, uint64_t start, uint64_t length, uint64_t iova, uint32_t access)
{
	if (!(access & IB_UVERBS_ACCESS_ON_DEMAND))
		return length ? pin_memory(c, start, length, access & WRITABLE) : -EINVAL;
	c->reply->watch = true;
	return odp_check(c->f->dev, start, length, iova, access);
}

static bool same_page_offset(uint64_t a, uint64_t b)
{
	return !((a ^ b) & (KPAGE_SIZE - 1));
}

struct drv_mr *verbs_mr_alloc(struct uobj *u, struct uobj *pd, uint32_t pasid, struct uobj *dmah)
{
	struct drv_mr *mr = drv_alloc(kdev_ops(u->file->dev)->sz_mr, u);

	if (!mr)
		return NULL;
	mr->pd = pd->drv;
	mr->pasid = pasid;
	if (dmah)
		mr->tph = ((struct drv_dmah *)dmah->drv)->tph;
	return mr;
}

int verbs_mr_registered(struct uobj *u, struct drv_mr *mr, int ret, struct uobj *pd, struct uobj *part)
{
	if (ret) {
		drv_free(mr);
		return ret;
	}
	u->drv = mr;
	uobj_use(u, pd);
	if (part)
		uobj_use(u, part);
	return 0;
}

int verbs_reg_mr(struct call *c, struct uobj *u, struct uobj *pd, const struct ib_uverbs_reg_mr *cmd,
		 struct uobj *dmah)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	struct drv_udata *udata;
	struct drv_mr *mr;
	int ret;

	if (!same_page_offset(cmd->start, cmd->hca_va))
		return -EINVAL;
	ret = verbs_check_access(c->f->dev, cmd->access_flags);
	if (!ret)
		ret = take_memory(c, cmd->start, cmd->length, cmd->hca_va, cmd->access_flags);
	if (!ret)
		ret = call_udata(c, &udata);
	if (ret)
		return ret;
	mr = verbs_mr_alloc(u, pd, c->t->pasid, dmah);
	if (!mr)
		return -ENOMEM;
	ret = ops->reg_mr(mr, cmd->start, cmd->length, cmd->hca_va, cmd->access_flags, udata);
	if (verbs_mr_registered(u, mr, ret, pd, dmah))
		return ret;
	u->mr.start = cmd->start;
	u->mr.length = cmd->length;
	u->mr.iova = cmd->hca_va;
	u->mr.access = cmd->access_flags;
	return call_udata_done(c);
}

int cmd_reg_mr(struct call *c)
{
	struct ib_uverbs_reg_mr_resp resp = {0};
	struct ib_uverbs_reg_mr cmd;
	struct uobj *u, *pd;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (!same_page_offset(cmd.start, cmd.hca_va))
		return -EINVAL;
	ret = call_alloc_uobj(c, UVERBS_OBJECT_MR, &u);
	if (!ret)
		ret = verbs_check_access(c->f->dev, cmd.access_flags);
	if (ret)
		return ret;
	ret = uobj_get(c->f, UVERBS_OBJECT_PD, cmd.pd_handle, &pd);
	if (ret)
		return ret;
	ret = verbs_reg_mr(c, u, pd, &cmd, NULL);
	if (ret)
		return ret;
	resp.mr_handle = u->handle;
	resp.lkey = ((struct drv_mr *)u->drv)->lkey;
	resp.rkey = ((struct drv_mr *)u->drv)->rkey;
	return resp_put(c, &resp, sizeof(resp));
}

/* New memory, or other rights to the pages that the region has. */
static int retake_memory(struct call *c, const struct uobj *u, const struct ib_uverbs_rereg_mr *cmd,
			 uint32_t access)
{
	if (cmd->flags & REREG_TRANS)
		return take_memory(c, cmd->start, cmd->length, cmd->hca_va, access);
	if (!(cmd->flags & REREG_ACCESS))
		return 0;
	if (access & IB_UVERBS_ACCESS_ON_DEMAND)
		return take_memory(c, u->mr.start, u->mr.length, u->mr.iova, access);
	return pin_check(c, u->mr.start, u->mr.length, access & WRITABLE);
}

static int rereg(struct call *c, struct uobj *u, struct uobj *pd, const struct ib_uverbs_rereg_mr *cmd)
{
	const bool trans = cmd->flags & REREG_TRANS;
	const uint32_t access = cmd->flags & REREG_ACCESS ? cmd->access_flags : u->mr.access;
	struct drv_mr *mr = u->drv;
	int ret = retake_memory(c, u, cmd, access);

	if (!ret && trans)
		mr->pasid = c->t->pasid;
	if (!ret)
		ret = kdev_ops(c->f->dev)->rereg_mr(mr, cmd->flags, cmd->start, cmd->length, cmd->hca_va,
						    access, pd ? pd->drv : NULL);
	if (ret)
		return ret;
	if (pd) {
		uobj_unuse(u, drv_uobj(mr->pd));
		uobj_use(u, pd);
		mr->pd = pd->drv;
	}
	if (trans) {
		u->mr.start = cmd->start;
		u->mr.length = cmd->length;
		u->mr.iova = cmd->hca_va;
	}
	u->mr.access = access;
	if (trans)
		pin_move(c, u);
	return 0;
}

int cmd_rereg_mr(struct call *c)
{
	struct ib_uverbs_rereg_mr_resp resp = {0};
	struct ib_uverbs_rereg_mr cmd;
	struct uobj *u, *pd = NULL;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (!cmd.flags)
		return -EINVAL;
	if (cmd.flags & ~(REREG_TRANS | REREG_PD | REREG_ACCESS))
		return -EOPNOTSUPP;
	if ((cmd.flags & REREG_TRANS) && !same_page_offset(cmd.start, cmd.hca_va))
		return -EINVAL;
	ret = uobj_lookup(c->f, UVERBS_OBJECT_MR, cmd.mr_handle, &u);
	if (!ret && u->mr.fixed)
		ret = -EINVAL;
	if (!ret && (cmd.flags & REREG_ACCESS))
		ret = verbs_check_access(c->f->dev, cmd.access_flags);
	if (ret)
		return ret;
	if (cmd.flags & REREG_PD) {
		ret = uobj_get(c->f, UVERBS_OBJECT_PD, cmd.pd_handle, &pd);
		if (ret)
			return ret;
	}
	ret = rereg(c, u, pd, &cmd);
	if (ret)
		return ret;
	resp.lkey = ((struct drv_mr *)u->drv)->lkey;
	resp.rkey = ((struct drv_mr *)u->drv)->rkey;
	return resp_put(c, &resp, sizeof(resp));
}

int cmd_dereg_mr(struct call *c)
{
	return req_destroy(c, UVERBS_OBJECT_MR);
}

int cmd_alloc_mw(struct call *c)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	struct ib_uverbs_alloc_mw_resp resp = {0};
	struct ib_uverbs_alloc_mw cmd;
	struct drv_udata *udata;
	struct uobj *u, *pd;
	struct drv_mw *mw;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (!ret)
		ret = call_alloc_uobj(c, UVERBS_OBJECT_MW, &u);
	if (ret)
		return ret;
	ret = uobj_get(c->f, UVERBS_OBJECT_PD, cmd.pd_handle, &pd);
	if (ret)
		return ret;
	if (cmd.mw_type != MW_TYPE_1 && cmd.mw_type != MW_TYPE_2)
		return -EINVAL;
	ret = call_udata(c, &udata);
	if (ret)
		return ret;
	mw = drv_alloc(ops->sz_mw, u);
	if (!mw)
		return -ENOMEM;
	mw->pd = pd->drv;
	mw->type = cmd.mw_type;
	ret = ops->alloc_mw(mw, udata);
	if (ret) {
		drv_free(mw);
		return ret;
	}
	u->drv = mw;
	uobj_use(u, pd);
	resp.mw_handle = u->handle;
	resp.rkey = mw->rkey;
	ret = call_udata_done(c);
	return ret ? ret : resp_put(c, &resp, sizeof(resp));
}

int cmd_dealloc_mw(struct call *c)
{
	return req_destroy(c, UVERBS_OBJECT_MW);
}

static int make_ah(struct call *c, struct uobj *u, struct uobj *pd, const struct hca_av *av)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	struct drv_udata *udata;
	struct drv_ah *ah;
	int ret;

	ret = call_udata(c, &udata);
	if (ret)
		return ret;
	ah = drv_alloc(ops->sz_ah, u);
	if (!ah)
		return -ENOMEM;
	ah->pd = pd->drv;
	ret = ops->create_ah(ah, av, udata);
	if (ret) {
		drv_free(ah);
		return ret;
	}
	u->drv = ah;
	uobj_use(u, pd);
	return call_udata_done(c);
}

int cmd_create_ah(struct call *c)
{
	struct ib_uverbs_create_ah_resp resp = {0};
	struct ib_uverbs_create_ah cmd;
	struct uobj *u, *pd;
	struct hca_av av;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (!ret)
		ret = call_alloc_uobj(c, UVERBS_OBJECT_AH, &u);
	if (ret)
		return ret;
	if (!kdev_port_valid(c->f->dev, cmd.attr.port_num))
		return -EINVAL;
	ret = uobj_get(c->f, UVERBS_OBJECT_PD, cmd.pd_handle, &pd);
	if (ret)
		return ret;
	ret = addr_resolve(c->f->dev, &cmd.attr, &av);
	if (!ret)
		ret = make_ah(c, u, pd, &av);
	if (ret)
		return ret;
	u->user_handle = cmd.user_handle;
	resp.ah_handle = u->handle;
	return resp_put(c, &resp, sizeof(resp));
}

int cmd_destroy_ah(struct call *c)
{
	return req_destroy(c, UVERBS_OBJECT_AH);
}
