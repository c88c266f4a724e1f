// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: creation by command and by ioctl, and destruction. */
#include <errno.h>
#include <string.h>

#include "kernel/uverbs/ioctl.h"

#define EX_CREATE_FLAGS                                                                                      \
	(IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK | CROSS_CHANNEL | MANAGED_SEND | MANAGED_RECV |        \
	 IB_UVERBS_QP_CREATE_SCATTER_FCS | IB_UVERBS_QP_CREATE_CVLAN_STRIPPING | SOURCE_QPN |                \
	 IB_UVERBS_QP_CREATE_PCI_WRITE_END_PADDING)
/* Bits that only the kernel defines (include/rdma/ib_verbs.h, enum ib_qp_create_flags). */
#define CROSS_CHANNEL (1u << 2)
#define MANAGED_SEND  (1u << 3)
#define MANAGED_RECV  (1u << 4)
#define SOURCE_QPN    (1u << 10)

static void save_caps(struct uobj *u, const struct drv_qp_init *init)
{
	u->qp.sq_sig_all = init->sq_sig_all;
	u->qp.max_send_wr = init->max_send_wr;
	u->qp.max_recv_wr = init->max_recv_wr;
	u->qp.max_send_sge = init->max_send_sge;
	u->qp.max_recv_sge = init->max_recv_sge;
	u->qp.max_inline = init->max_inline;
}

static void *drv_of(const struct uobj *u)
{
	return u ? u->drv : NULL;
}

static void hold_parts(struct uobj *u, const struct qp_parts *p)
{
	struct uobj *const part[] = {p->pd, p->scq, p->rcq, p->srq, p->table};

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		if (part[i])
			uobj_use(u, part[i]);
	}
	uobj_set_async(u, p->async);
}

int verbs_create_qp(struct call *c, struct uobj *u, struct drv_qp_init *init, const struct qp_parts *p)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	const bool wq = u->type == UVERBS_OBJECT_WQ;
	struct drv_udata *udata;
	struct drv_qp *qp;
	int ret;

	if (!wq && !ops->create_qp)
		return -EOPNOTSUPP;
	ret = call_udata(c, &udata);
	if (ret)
		return ret;
	qp = drv_alloc(ops->sz_qp, u);
	if (!qp)
		return -ENOMEM;
	qp->dev = &c->f->dev->drv;
	qp->wq = wq;
	qp->pd = p->pd->drv;
	qp->type = init->type;
	init->send_cq = drv_of(p->scq);
	init->recv_cq = drv_of(p->rcq);
	init->srq = drv_of(p->srq);
	init->table = drv_of(p->table);
	ret = wq ? ops->create_wq(qp, init, udata) : ops->create_qp(qp, init, udata);
	if (ret) {
		drv_free(qp);
		return ret;
	}
	u->drv = qp;
	hold_parts(u, p);
	if (!wq && !p->table)
		save_caps(u, init);
	return call_udata_done(c);
}

/* The QP types that can be created here. The driver may still refuse one. */
static int check_type(unsigned int type)
{
	switch (type) {
	case IB_UVERBS_QPT_RC:
	case IB_UVERBS_QPT_UC:
	case IB_UVERBS_QPT_UD:
	case IB_UVERBS_QPT_RAW_PACKET:
	case IB_UVERBS_QPT_XRC_INI:
	case IB_UVERBS_QPT_DRIVER:
		return 0;
	default: /* XRC_TGT: verbs_create_xrc_recv() creates it */
		return -EINVAL;
	}
}

/* A QP with an indirection table has no receive queue; the driver decides whether it has a send queue. */
static int create_over_table(struct call *c, struct uobj *u, const struct ib_uverbs_ex_create_qp *cmd,
			     struct drv_qp_init *init)
{
	struct qp_parts p = {0};
	int ret = uobj_get(c->f, UVERBS_OBJECT_RWQ_IND_TBL, cmd->rwq_ind_tbl_handle, &p.table);

	if (!ret)
		ret = uobj_get(c->f, UVERBS_OBJECT_PD, cmd->pd_handle, &p.pd);
	if (!ret && (cmd->max_recv_wr || cmd->max_recv_sge || cmd->is_srq))
		ret = -EINVAL;
	return ret ? ret : verbs_create_qp(c, u, init, &p);
}

/* Creates a QP that has its own queues. */
static int create_own(struct call *c, struct uobj *u, const struct ib_uverbs_ex_create_qp *cmd,
		      struct drv_qp_init *init)
{
	const bool xrc = cmd->qp_type == IB_UVERBS_QPT_XRC_INI;
	struct qp_parts p = {0};
	int ret = 0;

	if (cmd->is_srq && !xrc) {
		ret = uobj_get(c->f, UVERBS_OBJECT_SRQ, cmd->srq_handle, &p.srq);
		if (!ret && p.srq->srq.xrc)
			ret = -EINVAL;
	}
	if (!ret && !xrc)
		ret = uobj_get(c->f, UVERBS_OBJECT_CQ, cmd->recv_cq_handle, &p.rcq);
	if (!ret)
		ret = uobj_get(c->f, UVERBS_OBJECT_CQ, cmd->send_cq_handle, &p.scq);
	if (!ret)
		ret = uobj_get(c->f, UVERBS_OBJECT_PD, cmd->pd_handle, &p.pd);
	return ret ? ret : verbs_create_qp(c, u, init, &p);
}

static int create_qp(struct call *c, const struct ib_uverbs_ex_create_qp *cmd,
		     struct ib_uverbs_ex_create_qp_resp *resp)
{
	struct drv_qp_init init = {
		.type = cmd->qp_type,
		.max_send_wr = cmd->max_send_wr,
		.max_recv_wr = cmd->max_recv_wr,
		.max_send_sge = cmd->max_send_sge,
		.max_recv_sge = cmd->max_recv_sge,
		.max_inline = cmd->max_inline_data,
		.sq_sig_all = cmd->sq_sig_all,
		.create_flags = cmd->create_flags,
		.source_qpn = cmd->create_flags & SOURCE_QPN ? cmd->source_qpn : 0,
	};
	const bool target = cmd->qp_type == IB_UVERBS_QPT_XRC_TGT;
	struct uobj *u, *xrcd;
	int ret;

	ret = target ? 0 : check_type(cmd->qp_type);
	if (!ret)
		ret = call_alloc_uobj(c, UVERBS_OBJECT_QP, &u);
	if (ret)
		return ret;
	u->user_handle = cmd->user_handle;
	if (cmd->create_flags & ~EX_CREATE_FLAGS)
		return -EINVAL;
	if (cmd->comp_mask & IB_UVERBS_CREATE_QP_MASK_IND_TABLE) {
		ret = target ? -EINVAL : create_over_table(c, u, cmd, &init);
	} else if (target) {
		ret = uobj_lookup(c->f, UVERBS_OBJECT_XRCD, cmd->pd_handle, &xrcd)
			      ? -EINVAL
			      : verbs_create_xrc_recv(c, u, &init, xrcd, NULL);
	} else {
		ret = create_own(c, u, cmd, &init);
	}
	if (ret)
		return ret;
	resp->base.qp_handle = u->handle;
	resp->base.qpn = ((struct drv_qp *)u->drv)->qpn;
	resp->base.max_send_wr = init.max_send_wr;
	resp->base.max_recv_wr = init.max_recv_wr;
	resp->base.max_send_sge = init.max_send_sge;
	resp->base.max_recv_sge = init.max_recv_sge;
	resp->base.max_inline_data = init.max_inline;
	resp->response_length = resp_len(c, sizeof(*resp));
	return 0;
}

int cmd_create_qp(struct call *c)
{
	struct ib_uverbs_ex_create_qp_resp resp = {0};
	struct ib_uverbs_ex_create_qp ex = {0};
	struct ib_uverbs_create_qp cmd;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	ex.user_handle = cmd.user_handle;
	ex.pd_handle = cmd.pd_handle;
	ex.send_cq_handle = cmd.send_cq_handle;
	ex.recv_cq_handle = cmd.recv_cq_handle;
	ex.srq_handle = cmd.srq_handle;
	ex.max_send_wr = cmd.max_send_wr;
	ex.max_recv_wr = cmd.max_recv_wr;
	ex.max_send_sge = cmd.max_send_sge;
	ex.max_recv_sge = cmd.max_recv_sge;
	ex.max_inline_data = cmd.max_inline_data;
	ex.sq_sig_all = cmd.sq_sig_all;
	ex.qp_type = cmd.qp_type;
	ex.is_srq = cmd.is_srq;
	ret = create_qp(c, &ex, &resp);
	return ret ? ret : resp_put(c, &resp, sizeof(resp));
}

int cmd_ex_create_qp(struct call *c)
{
	struct ib_uverbs_ex_create_qp_resp resp = {0};
	struct ib_uverbs_ex_create_qp cmd;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if ((cmd.comp_mask & ~IB_UVERBS_CREATE_QP_SUP_COMP_MASK) || cmd.reserved)
		return -EINVAL;
	ret = create_qp(c, &cmd, &resp);
	return ret ? ret : resp_put(c, &resp, sizeof(resp));
}

/* Without work requests: those that are already in the queue, which the program shares with the driver. */
int cmd_post_send(struct call *c)
{
	const struct ib_uverbs_post_send_resp resp = {0};
	struct ib_uverbs_post_send cmd;
	struct uobj *u;
	int ret;

	ret = req_find(c, &cmd, qp_handle, UVERBS_OBJECT_QP, &u);
	if (ret)
		return ret;
	if (cmd.wr_count || cmd.sge_count || cmd.wqe_size < sizeof(struct ib_uverbs_send_wr))
		return -EINVAL;
	ret = kdev_ops(c->f->dev)->post_send(u->drv);
	return ret ? ret : resp_put(c, &resp, sizeof(resp));
}

int cmd_destroy_qp(struct call *c)
{
	struct ib_uverbs_destroy_qp_resp resp;
	struct ib_uverbs_destroy_qp cmd;
	struct ev_counts counts;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_destroy_handle(c->f, UVERBS_OBJECT_QP, cmd.qp_handle, &counts);
	if (ret)
		return ret;
	resp.events_reported = counts.async;
	return resp_put(c, &resp, sizeof(resp));
}

static struct uobj *attr_obj(struct call *c, uint16_t id)
{
	const struct attr_val *v = attr_get(c, id);

	return v ? v->obj : NULL;
}

#define IOCTL_CREATE_FLAGS                                                                                   \
	(IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK | IB_UVERBS_QP_CREATE_SCATTER_FCS |                    \
	 IB_UVERBS_QP_CREATE_CVLAN_STRIPPING | IB_UVERBS_QP_CREATE_PCI_WRITE_END_PADDING |                   \
	 IB_UVERBS_QP_CREATE_SQ_SIG_ALL)

static int get_flags(struct call *c, struct drv_qp_init *init)
{
	const uint32_t raw_only = IB_UVERBS_QP_CREATE_SCATTER_FCS | IB_UVERBS_QP_CREATE_CVLAN_STRIPPING;
	uint32_t flags;
	int ret;

	ret = attr_flags32(c, UVERBS_ATTR_CREATE_QP_FLAGS, IOCTL_CREATE_FLAGS, &flags);
	if (ret)
		return ret;
	init->sq_sig_all = flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
	flags &= ~IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
	init->create_flags = flags;
	if (flags && init->type != IB_UVERBS_QPT_DRIVER && init->type != IB_UVERBS_QPT_RAW_PACKET &&
	    (init->type != IB_UVERBS_QPT_UD || (flags & raw_only)))
		return -EINVAL;
	if (attr_get(c, UVERBS_ATTR_CREATE_QP_SOURCE_QPN)) {
		init->create_flags |= SOURCE_QPN;
		return attr_copy_from(c, UVERBS_ATTR_CREATE_QP_SOURCE_QPN, &init->source_qpn,
				      sizeof(init->source_qpn));
	}
	return 0;
}

static int get_init(struct call *c, struct uobj *u, struct drv_qp_init *init)
{
	struct ib_uverbs_qp_cap cap;
	uint64_t type;
	int ret;

	ret = attr_copy_from(c, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &u->user_handle, sizeof(uint64_t));
	if (!ret)
		ret = attr_const(c, UVERBS_ATTR_CREATE_QP_TYPE, UINT8_MAX, &type);
	if (ret)
		return ret;
	*init = (struct drv_qp_init){
		.type = type,
		.max_send_wr = cap.max_send_wr,
		.max_recv_wr = cap.max_recv_wr,
		.max_send_sge = cap.max_send_sge,
		.max_recv_sge = cap.max_recv_sge,
		.max_inline = cap.max_inline_data,
	};
	return 0;
}

/* An XRC_TGT takes only an XRC domain. */
static int make_xrc_recv(struct call *c, struct uobj *u, struct drv_qp_init *init, struct evfile *async)
{
	const struct attr_val *xrcd = attr_get(c, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE);

	if (attr_get(c, UVERBS_ATTR_CREATE_QP_PD_HANDLE) ||
	    attr_get(c, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE) ||
	    attr_get(c, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE))
		return -EINVAL;
	return xrcd ? verbs_create_xrc_recv(c, u, init, xrcd->obj, async) : -ENOENT;
}

/* -ENOENT: its type needs an object that the user did not name. */
static int make_own(struct call *c, struct uobj *u, struct drv_qp_init *init, struct evfile *async)
{
	const bool xrc = init->type == IB_UVERBS_QPT_XRC_INI;
	struct qp_parts p = {.pd = attr_obj(c, UVERBS_ATTR_CREATE_QP_PD_HANDLE),
			     .scq = attr_obj(c, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE),
			     .rcq = attr_obj(c, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE),
			     .srq = attr_obj(c, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE),
			     .table = attr_obj(c, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE),
			     .async = async};

	if (check_type(init->type))
		return -EINVAL;
	if (p.table) {
		if (p.srq || p.rcq || init->max_recv_wr || init->max_recv_sge)
			return -EINVAL;
		p.scq = NULL;
		return p.pd ? verbs_create_qp(c, u, init, &p) : -ENOENT;
	}
	if (!p.pd || !p.scq || (!p.rcq && !xrc))
		return -ENOENT;
	if (p.srq && (p.srq->srq.xrc || xrc))
		return -EINVAL;
	if (xrc)
		p.rcq = NULL;
	return verbs_create_qp(c, u, init, &p);
}

int m_qp_create(struct call *c)
{
	struct uobj *u = attr_get(c, UVERBS_ATTR_CREATE_QP_HANDLE)->obj;
	const struct attr_val *async = attr_get(c, UVERBS_ATTR_CREATE_QP_EVENT_FD);
	struct evfile *ev = async ? async->ev : NULL;
	struct drv_qp_init init;
	struct ib_uverbs_qp_cap cap;
	uint32_t qpn;
	int ret;

	ret = get_init(c, u, &init);
	if (!ret)
		ret = get_flags(c, &init);
	if (!ret)
		ret = init.type == IB_UVERBS_QPT_XRC_TGT ? make_xrc_recv(c, u, &init, ev)
							 : make_own(c, u, &init, ev);
	if (ret)
		return ret;
	cap = (struct ib_uverbs_qp_cap){init.max_send_wr, init.max_recv_wr, init.max_send_sge,
					init.max_recv_sge, init.max_inline};
	qpn = ((struct drv_qp *)u->drv)->qpn;
	ret = attr_copy_to_or_zero(c, UVERBS_ATTR_CREATE_QP_RESP_CAP, &cap, sizeof(cap));
	return ret ? ret : attr_copy_to(c, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qpn, sizeof(qpn));
}

int m_qp_destroy(struct call *c)
{
	const struct ib_uverbs_destroy_qp_resp resp = {c->counts.async};

	return attr_copy_to(c, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
}
