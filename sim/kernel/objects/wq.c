// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Work queues and indirection tables: uverbs_cmd.c and uverbs_std_types_wq.c of drivers/infiniband/core. */
#include <errno.h>
#include <stdlib.h>

#include "kernel/uverbs/ioctl.h"

#define WQT_RQ   IB_UVERBS_WQT_RQ
#define WQ_ERR   2u        /* enum ib_wq_state */
#define WQ_STATE (1u << 0) /* enum ib_wq_attr_mask */
#define WQ_CUR   (1u << 1)
#define WQ_FLAGS (1u << 2)
#define KNOWN_FLAG                                                                                           \
	(IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING | IB_UVERBS_WQ_FLAGS_SCATTER_FCS |                               \
	 IB_UVERBS_WQ_FLAGS_DELAY_DROP | IB_UVERBS_WQ_FLAGS_PCI_WRITE_END_PADDING)

static int make_wq(struct call *c, struct uobj *u, struct drv_qp_init *init, const struct qp_parts *p)
{
	if (!kdev_ops(c->f->dev)->create_wq)
		return -EOPNOTSUPP;
	init->type = IB_UVERBS_QPT_RAW_PACKET;
	return verbs_create_qp(c, u, init, p);
}

int cmd_ex_create_wq(struct call *c)
{
	struct ib_uverbs_ex_create_wq_resp resp = {0};
	struct ib_uverbs_ex_create_wq cmd;
	struct drv_qp_init init = {0};
	struct qp_parts p = {0};
	struct uobj *u;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (cmd.comp_mask)
		return -EOPNOTSUPP;
	ret = call_alloc_uobj(c, UVERBS_OBJECT_WQ, &u);
	if (ret)
		return ret;
	ret = uobj_get(c->f, UVERBS_OBJECT_PD, cmd.pd_handle, &p.pd);
	if (!ret)
		ret = uobj_get(c->f, UVERBS_OBJECT_CQ, cmd.cq_handle, &p.rcq);
	if (ret)
		return ret;
	if (cmd.wq_type != WQT_RQ)
		return -EOPNOTSUPP;
	u->user_handle = cmd.user_handle;
	init.max_recv_wr = cmd.max_wr;
	init.max_recv_sge = cmd.max_sge;
	init.create_flags = cmd.create_flags;
	ret = make_wq(c, u, &init, &p);
	if (ret)
		return ret;
	resp.wq_handle = u->handle;
	resp.max_wr = init.max_recv_wr;
	resp.max_sge = init.max_recv_sge;
	resp.wqn = ((struct drv_qp *)u->drv)->qpn;
	resp.response_length = resp_len(c, sizeof(resp));
	return resp_put(c, &resp, sizeof(resp));
}

static int get_init(struct call *c, struct uobj *u, struct drv_qp_init *init)
{
	uint64_t type;
	int ret;

	ret = attr_const(c, UVERBS_ATTR_CREATE_WQ_TYPE, WQT_RQ, &type);
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_CREATE_WQ_USER_HANDLE, &u->user_handle, sizeof(uint64_t));
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_CREATE_WQ_MAX_WR, &init->max_recv_wr, sizeof(uint32_t));
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_CREATE_WQ_MAX_SGE, &init->max_recv_sge, sizeof(uint32_t));
	return ret ? ret : attr_flags32(c, UVERBS_ATTR_CREATE_WQ_FLAGS, KNOWN_FLAG, &init->create_flags);
}

int m_wq_create(struct call *c)
{
	struct uobj *u = attr_get(c, UVERBS_ATTR_CREATE_WQ_HANDLE)->obj;
	const struct attr_val *async = attr_get(c, UVERBS_ATTR_CREATE_WQ_EVENT_FD);
	const struct qp_parts p = {.pd = attr_get(c, UVERBS_ATTR_CREATE_WQ_PD_HANDLE)->obj,
				   .rcq = attr_get(c, UVERBS_ATTR_CREATE_WQ_CQ_HANDLE)->obj,
				   .async = async ? async->ev : NULL};
	struct drv_qp_init init = {0};
	uint32_t wqn;
	int ret;

	ret = get_init(c, u, &init);
	if (!ret)
		ret = make_wq(c, u, &init, &p);
	if (!ret)
		ret = attr_copy_to(c, UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, &init.max_recv_wr, sizeof(uint32_t));
	if (!ret)
		ret = attr_copy_to(c, UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, &init.max_recv_sge,
				   sizeof(uint32_t));
	if (ret || !attr_get(c, UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM))
		return ret;
	wqn = ((struct drv_qp *)u->drv)->qpn;
	return attr_copy_to(c, UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, &wqn, sizeof(wqn));
}

int m_wq_destroy(struct call *c)
{
	return attr_copy_to(c, UVERBS_ATTR_DESTROY_WQ_RESP, &c->counts.async, sizeof(uint32_t));
}

/* Before a change of state: flags that the driver does not have cannot be set. Those that it has, it sets after it. */
static int check_flags(const struct drv_ops *ops, const struct ib_uverbs_ex_modify_wq *cmd)
{
	return cmd->flags & cmd->flags_mask & ~ops->wq_flags ? -EOPNOTSUPP : 0;
}

static int set_flags(const struct drv_ops *ops, struct uobj *u, const struct ib_uverbs_ex_modify_wq *cmd)
{
	const uint32_t mask = cmd->flags_mask & ops->wq_flags;

	return mask ? ops->set_wq_flags(u->drv, cmd->flags, mask) : 0;
}

/* No driver has data of its own here: as in mlx5_ib, all of it must be 0. */
static int no_udata(struct call *c)
{
	const int zero = call_is_zero(c, c->uhw_in, c->uhw_in_len);

	return zero < 0 ? zero : zero ? 0 : -EOPNOTSUPP;
}

int cmd_ex_modify_wq(struct call *c)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	struct ib_uverbs_ex_modify_wq cmd;
	uint32_t cur, next;
	struct uobj *u;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (!cmd.attr_mask || cmd.attr_mask & ~(WQ_STATE | WQ_CUR | WQ_FLAGS))
		return -EINVAL;
	ret = uobj_get(c->f, UVERBS_OBJECT_WQ, cmd.wq_handle, &u);
	if (ret)
		return ret;
	if (!(cmd.attr_mask & WQ_FLAGS))
		cmd.flags_mask = 0;
	ret = check_flags(ops, &cmd);
	if (ret)
		return ret;
	cur = cmd.attr_mask & WQ_CUR ? cmd.curr_wq_state : u->wq_state;
	next = cmd.attr_mask & WQ_STATE ? cmd.wq_state : cur;
	if (cur > WQ_ERR || next > WQ_ERR)
		return -EINVAL;
	ret = no_udata(c);
	if (!ret)
		ret = ops->modify_wq(u->drv, cur, next);
	if (ret)
		return ret;
	u->wq_state = next;
	return set_flags(ops, u, &cmd);
}

int cmd_ex_destroy_wq(struct call *c)
{
	struct ib_uverbs_ex_destroy_wq_resp resp = {.response_length = resp_len(c, sizeof(resp))};
	struct ib_uverbs_ex_destroy_wq cmd;
	struct ev_counts counts;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (cmd.comp_mask)
		return -EOPNOTSUPP;
	ret = uobj_destroy_handle(c->f, UVERBS_OBJECT_WQ, cmd.wq_handle, &counts);
	if (ret)
		return ret;
	resp.events_reported = counts.async;
	return resp_put(c, &resp, sizeof(resp));
}

/* ---- Indirection tables ---- */

/* Releases the work queues of the table. */
static void forget_table(struct uobj *u)
{
	const struct drv_rwq_table *table = u->drv;
	uint32_t i;

	for (i = 0; table && i < 1u << table->log_size; i++)
		u->table[i]->users--;
	if (table)
		free(table->wqn);
	free(u->table);
}

/* Reads the handles that follow the request. */
static int get_wqs(struct call *c, const struct ib_uverbs_ex_create_rwq_ind_table *cmd, struct uobj **wq,
		   uint32_t *wqn)
{
	const uint32_t n = 1u << cmd->log_ind_tbl_size;
	uint32_t i, handle;
	size_t end;
	int ret;

	if (c->in_len < sizeof(*cmd) + n * sizeof(handle))
		return -ENOSPC;
	for (i = 0; i < n; i++) {
		if (call_read(c, &handle, c->in + sizeof(*cmd) + i * sizeof(handle), sizeof(handle)))
			return -EFAULT;
		ret = uobj_get(c->f, UVERBS_OBJECT_WQ, handle, &wq[i]);
		if (ret)
			return ret;
		wqn[i] = ((struct drv_qp *)wq[i]->drv)->qpn;
	}
	end = sizeof(*cmd) + n * sizeof(handle);
	ret = call_is_zero(c, c->in + end, c->in_len - end);
	return ret < 0 ? ret : ret ? 0 : -EOPNOTSUPP;
}

static int make_table(struct call *c, struct uobj *u, const struct ib_uverbs_ex_create_rwq_ind_table *cmd)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	const uint32_t n = 1u << cmd->log_ind_tbl_size;
	struct drv_rwq_table *table = drv_alloc(sizeof(*table), u);
	uint32_t *wqn = calloc(n, sizeof(*wqn)), i;
	int ret = -ENOMEM;

	u->table = calloc(n, sizeof(struct uobj *));
	u->forget = forget_table;
	if (table && wqn && u->table)
		ret = get_wqs(c, cmd, u->table, wqn);
	if (!ret)
		ret = no_udata(c);
	if (!ret) {
		*table = (struct drv_rwq_table){&c->f->dev->drv, 0, (uint8_t)cmd->log_ind_tbl_size, wqn};
		ret = ops->create_rwq_table(table);
	}
	if (ret) {
		free(wqn);
		drv_free(table);
		return ret;
	}
	u->drv = table;
	for (i = 0; i < n; i++)
		u->table[i]->users++;
	return 0;
}

int cmd_ex_create_rwq_table(struct call *c)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = {0};
	struct ib_uverbs_ex_create_rwq_ind_table cmd;
	struct uobj *u;
	int ret;

	if (!kdev_ops(c->f->dev)->create_rwq_table)
		return -EOPNOTSUPP;
	if (call_read(c, &cmd, c->in, sizeof(cmd)))
		return -EFAULT;
	if (cmd.comp_mask)
		return -EOPNOTSUPP;
	if (cmd.log_ind_tbl_size > IB_USER_VERBS_MAX_LOG_IND_TBL_SIZE)
		return -EINVAL;
	ret = call_alloc_uobj(c, UVERBS_OBJECT_RWQ_IND_TBL, &u);
	if (!ret)
		ret = make_table(c, u, &cmd);
	if (ret)
		return ret;
	resp.ind_tbl_handle = u->handle;
	resp.ind_tbl_num = ((struct drv_rwq_table *)u->drv)->number;
	resp.response_length = resp_len(c, sizeof(resp));
	return resp_put(c, &resp, sizeof(resp));
}

int cmd_ex_destroy_rwq_table(struct call *c)
{
	struct ib_uverbs_ex_destroy_rwq_ind_table cmd;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (cmd.comp_mask)
		return -EOPNOTSUPP;
	return uobj_destroy_handle(c->f, UVERBS_OBJECT_RWQ_IND_TBL, cmd.ind_tbl_handle, NULL);
}
