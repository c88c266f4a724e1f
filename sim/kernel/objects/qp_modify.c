// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: modify and query. */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "kernel/priv.h"

#define A(name)         HCASIM_QP_ATTR_##name
#define CONTROLLED_QKEY 0x80000000u
#define STANDARD_BITS   ((1u << 21) - 1) /* up to DEST_QPN */

static bool connected(const struct drv_qp *qp)
{
	return qp->type != HCASIM_QPT_UD;
}

/*
 * On the transition to RTR the port of the address must be the QP's port. If no state is given, an address
 * also changes the port: the kernel adds PORT to the mask, and the state table decides whether that is
 * allowed.
 */
static int check_port(const struct kdev *d, const struct drv_qp *qp, struct ib_uverbs_modify_qp *cmd)
{
	if ((cmd->attr_mask & A(PORT)) && !kdev_port_valid(d, cmd->port_num))
		return -EINVAL;
	if (!(cmd->attr_mask & A(AV)))
		return 0;
	if (!kdev_port_valid(d, cmd->dest.port_num))
		return -EINVAL;
	if ((cmd->attr_mask & A(STATE)) && cmd->qp_state == HCASIM_QPS_RTR)
		return cmd->dest.port_num == qp->port ? 0 : -EINVAL;
	if ((cmd->attr_mask & A(PORT)) && cmd->port_num != cmd->dest.port_num)
		return -EINVAL;
	if (!(cmd->attr_mask & A(PORT))) {
		cmd->attr_mask |= A(PORT);
		cmd->port_num = cmd->dest.port_num;
	}
	return 0;
}

static int resolve_av(const struct kdev *d, struct ib_uverbs_modify_qp *cmd, struct hca_av *av)
{
	const struct ib_uverbs_qp_dest *dest = &cmd->dest;
	struct ib_uverbs_ah_attr ah = {
		.grh =
			{
				.flow_label = dest->flow_label,
				.sgid_index = dest->sgid_index,
				.hop_limit = dest->hop_limit,
				.traffic_class = dest->traffic_class,
			},
		.dlid = dest->dlid,
		.sl = dest->sl,
		.is_global = dest->is_global,
		.port_num = dest->port_num,
	};

	memcpy(ah.grh.dgid, dest->dgid, sizeof(ah.grh.dgid));
	return addr_resolve(d, &ah, av);
}

/* Checks values that are invalid in every state. */
static int check_values(const struct kdev *d, const struct ib_uverbs_modify_qp *cmd, uint8_t port)
{
	const struct ib_uverbs_query_device_resp *dev = &d->attr.base;
	const struct ib_uverbs_query_port_resp *p = &d->port[kdev_port_valid(d, port) ? port - 1 : 0];
	const uint32_t mask = cmd->attr_mask;

	if (((mask & A(CUR_STATE)) && cmd->cur_qp_state > HCASIM_QPS_ERR) ||
	    ((mask & A(STATE)) && cmd->qp_state > HCASIM_QPS_ERR))
		return -EINVAL;
	if ((mask & A(PATH_MTU)) && (cmd->path_mtu < 1 || cmd->path_mtu > p->active_mtu))
		return -EINVAL;
	if ((mask & A(PKEY_INDEX)) && cmd->pkey_index >= p->pkey_tbl_len)
		return -EINVAL;
	if ((mask & A(MAX_QP_RD_ATOMIC)) && cmd->max_rd_atomic > dev->max_qp_init_rd_atom)
		return -EINVAL;
	if ((mask & A(MAX_DEST_RD_ATOMIC)) && cmd->max_dest_rd_atomic > dev->max_qp_rd_atom)
		return -EINVAL;
	/* Field widths of IBTA 9.7.5.2.8 and 9.9.2.1. */
	if (((mask & A(TIMEOUT)) && cmd->timeout > 31) ||
	    ((mask & A(MIN_RNR_TIMER)) && cmd->min_rnr_timer > 31) ||
	    ((mask & A(RETRY_CNT)) && cmd->retry_cnt > 7) || ((mask & A(RNR_RETRY)) && cmd->rnr_retry > 7) ||
	    ((mask & A(DEST_QPN)) && cmd->dest_qp_num > 0xffffff))
		return -EINVAL;
	/* Alternate paths, and so migration, exist on InfiniBand ports only. */
	if ((mask & A(ALT_PATH)) || ((mask & A(PATH_MIG_STATE)) && cmd->path_mig_state))
		return -EINVAL;
	return 0;
}

static void copy_attr(const struct ib_uverbs_modify_qp *cmd, struct hca_qp_attr *attr)
{
	attr->state = cmd->qp_state;
	attr->cur_state = cmd->cur_qp_state;
	attr->path_mtu = cmd->path_mtu;
	attr->port = cmd->port_num;
	attr->timeout = cmd->timeout;
	attr->retry_cnt = cmd->retry_cnt;
	attr->rnr_retry = cmd->rnr_retry;
	attr->min_rnr_timer = cmd->min_rnr_timer;
	attr->max_rd_atomic = cmd->max_rd_atomic;
	attr->max_dest_rd_atomic = cmd->max_dest_rd_atomic;
	attr->en_sqd_async_notify = cmd->en_sqd_async_notify;
	attr->pkey_index = cmd->pkey_index;
	attr->access = cmd->qp_access_flags;
	attr->qkey = cmd->qkey;
	attr->rq_psn = cmd->rq_psn & 0xffffff;
	attr->sq_psn = cmd->sq_psn & 0xffffff;
	attr->dest_qpn = cmd->dest_qp_num;
}

/*
 * The device may have moved the QP to SQE or ERR, so the state comes from the device. A current state from
 * the user that differs is an error.
 */
static int check_transition(const struct drv_ops *ops, struct drv_qp *qp,
			    const struct ib_uverbs_modify_qp *cmd)
{
	struct hca_qp_attr now;
	unsigned int cur, next;
	int ret;

	ret = ops->query_qp(qp, &now);
	if (ret)
		return ret;
	cur = now.state;
	if ((cmd->attr_mask & A(CUR_STATE)) && cmd->cur_qp_state != cur)
		return -EINVAL;
	next = cmd->attr_mask & A(STATE) ? cmd->qp_state : cur;
	return qp_modify_ok(cur, next, qp->type, cmd->attr_mask) ? 0 : -EINVAL;
}

/*
 * Removes the attributes of the other XRC end, as ib_uverbs does: software passes RC's attributes at both
 * ends.
 */
static uint32_t own_bits(const struct drv_qp *qp, uint32_t mask)
{
	switch (qp->type) {
	case HCASIM_QPT_XRC_SEND:
		return mask & ~(uint32_t)(A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER));
	case HCASIM_QPT_XRC_RECV:
		return mask & ~(uint32_t)(A(MAX_QP_RD_ATOMIC) | A(RETRY_CNT) | A(RNR_RETRY));
	default:
		return mask;
	}
}

/* A Q_Key whose top bit is set is one that programs of others cannot use (IBTA 10.2.5). */
static int check_qkey(const struct call *c, const struct ib_uverbs_modify_qp *cmd)
{
	if ((cmd->attr_mask & A(QKEY)) && (cmd->qkey & CONTROLLED_QKEY) &&
	    !c->t->ops->capable(c->t, CAP_NET_RAW))
		return -EPERM;
	return 0;
}

static int modify(struct call *c, struct uobj *u, struct ib_uverbs_modify_qp *cmd, uint32_t rate_limit)
{
	const struct kdev *d = c->f->dev;
	const struct drv_ops *ops = kdev_ops(d);
	struct hca_qp_attr attr = {.rate_limit = rate_limit};
	struct drv_qp *qp = u->drv;
	struct drv_udata *udata;
	int ret;

	cmd->attr_mask = own_bits(qp, cmd->attr_mask);
	ret = check_port(d, qp, cmd);
	if (!ret)
		ret = check_values(d, cmd, cmd->attr_mask & A(PORT) ? cmd->port_num : qp->port);
	if (!ret)
		ret = check_qkey(c, cmd);
	if (!ret && (cmd->attr_mask & A(AV)) && connected(qp))
		ret = resolve_av(d, cmd, &attr.av);
	if (!ret)
		ret = check_transition(ops, qp, cmd);
	if (!ret)
		ret = call_udata(c, &udata);
	if (ret)
		return ret;
	copy_attr(cmd, &attr);
	ret = ops->modify_qp(qp, &attr, cmd->attr_mask, udata);
	if (ret)
		return ret;
	if (cmd->attr_mask & A(STATE))
		qp->state = cmd->qp_state;
	if (cmd->attr_mask & A(PORT))
		qp->port = cmd->port_num;
	if (cmd->attr_mask & A(AV)) {
		qp->dest = cmd->dest;
		qp->dest.hop_limit = attr.av.hop_limit;
	}
	if ((cmd->attr_mask & A(STATE)) && cmd->qp_state == HCASIM_QPS_RESET)
		memset(&qp->dest, 0, sizeof(qp->dest));
	return call_udata_done(c);
}

int cmd_modify_qp(struct call *c)
{
	struct ib_uverbs_modify_qp cmd;
	struct uobj *u;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (cmd.attr_mask & ~STANDARD_BITS)
		return -EOPNOTSUPP;
	ret = uobj_get(c->f, UVERBS_OBJECT_QP, cmd.qp_handle, &u);
	return ret ? ret : modify(c, u, &cmd, 0);
}

int cmd_ex_modify_qp(struct call *c)
{
	struct ib_uverbs_ex_modify_qp_resp resp = {.response_length = resp_len(c, sizeof(resp))};
	struct ib_uverbs_ex_modify_qp cmd;
	struct uobj *u;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (cmd.base.attr_mask & ~(STANDARD_BITS | A(RATE_LIMIT)))
		return -EOPNOTSUPP;
	ret = uobj_get(c->f, UVERBS_OBJECT_QP, cmd.base.qp_handle, &u);
	if (!ret)
		ret = modify(c, u, &cmd.base, cmd.rate_limit);
	return ret ? ret : resp_put(c, &resp, sizeof(resp));
}

static void fill_query(const struct uobj *u, const struct hca_qp_attr *a, struct ib_uverbs_query_qp_resp *r)
{
	const struct drv_qp *qp = u->drv;

	r->dest = qp->dest;
	r->max_send_wr = u->qp.max_send_wr;
	r->max_recv_wr = u->qp.max_recv_wr;
	r->max_send_sge = u->qp.max_send_sge;
	r->max_recv_sge = u->qp.max_recv_sge;
	r->max_inline_data = u->qp.max_inline;
	r->qkey = a->qkey;
	r->rq_psn = a->rq_psn;
	r->sq_psn = a->sq_psn;
	r->dest_qp_num = a->dest_qpn;
	r->qp_access_flags = a->access;
	r->pkey_index = a->pkey_index;
	r->qp_state = a->state;
	r->cur_qp_state = a->state;
	r->path_mtu = a->path_mtu;
	r->sq_draining = a->sq_draining;
	r->max_rd_atomic = a->max_rd_atomic;
	r->max_dest_rd_atomic = a->max_dest_rd_atomic;
	r->min_rnr_timer = a->min_rnr_timer;
	r->port_num = qp->port;
	r->timeout = a->timeout;
	r->retry_cnt = a->retry_cnt;
	r->rnr_retry = a->rnr_retry;
	r->sq_sig_all = u->qp.sq_sig_all;
}

int cmd_query_qp(struct call *c)
{
	struct ib_uverbs_query_qp_resp resp = {0};
	struct ib_uverbs_query_qp cmd;
	struct hca_qp_attr attr = {0};
	struct uobj *u;
	int ret;

	ret = req_find(c, &cmd, qp_handle, UVERBS_OBJECT_QP, &u);
	if (ret)
		return ret;
	ret = kdev_ops(c->f->dev)->query_qp(u->drv, &attr);
	if (ret)
		return ret;
	fill_query(u, &attr, &resp);
	return resp_put(c, &resp, sizeof(resp));
}
