// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The write() commands: their table and their headers. */
#include <errno.h>
#include <stdio.h>
#include <stddef.h>
#include <string.h>

#include "kernel/priv.h"

#define END_OF(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
#define EX(name)             (IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_##name)

/* clang-format off */
#define CMD_IO(name, fn, type)                                                                                \
	{IB_USER_VERBS_CMD_##name, sizeof(struct type), sizeof(struct type##_resp), true, false, fn}
#define CMD_UDATA(name, fn, type)                                                                             \
	{IB_USER_VERBS_CMD_##name, sizeof(struct type), sizeof(struct type##_resp), true, true, fn}
#define CMD_I(name, fn, type)                                                                                 \
	{IB_USER_VERBS_CMD_##name, sizeof(struct type), 0, false, false, fn}
#define CMD_EX(name, fn, type, last)                                                                          \
	{EX(name), END_OF(struct type, last), END_OF(struct type##_resp, response_length), true, true, fn}

static const struct write_cmd commands[] = {
	CMD_UDATA(GET_CONTEXT, cmd_get_context, ib_uverbs_get_context),
	CMD_IO(QUERY_DEVICE, cmd_query_device, ib_uverbs_query_device),
	CMD_IO(QUERY_PORT, cmd_query_port, ib_uverbs_query_port),
	CMD_UDATA(ALLOC_PD, cmd_alloc_pd, ib_uverbs_alloc_pd),
	CMD_I(DEALLOC_PD, cmd_dealloc_pd, ib_uverbs_dealloc_pd),
	CMD_UDATA(CREATE_AH, cmd_create_ah, ib_uverbs_create_ah),
	CMD_I(DESTROY_AH, cmd_destroy_ah, ib_uverbs_destroy_ah),
	CMD_UDATA(REG_MR, cmd_reg_mr, ib_uverbs_reg_mr),
	CMD_UDATA(REREG_MR, cmd_rereg_mr, ib_uverbs_rereg_mr),
	CMD_I(DEREG_MR, cmd_dereg_mr, ib_uverbs_dereg_mr),
	CMD_UDATA(ALLOC_MW, cmd_alloc_mw, ib_uverbs_alloc_mw),
	CMD_I(DEALLOC_MW, cmd_dealloc_mw, ib_uverbs_dealloc_mw),
	CMD_IO(CREATE_COMP_CHANNEL, cmd_create_comp_channel, ib_uverbs_create_comp_channel),
	CMD_UDATA(CREATE_CQ, cmd_create_cq, ib_uverbs_create_cq),
	CMD_UDATA(RESIZE_CQ, cmd_resize_cq, ib_uverbs_resize_cq),
	{IB_USER_VERBS_CMD_REQ_NOTIFY_CQ, sizeof(struct ib_uverbs_req_notify_cq), 0, false, false, cmd_req_notify_cq},
	CMD_IO(DESTROY_CQ, cmd_destroy_cq, ib_uverbs_destroy_cq),
	CMD_IO(OPEN_XRCD, cmd_open_xrcd, ib_uverbs_open_xrcd),
	CMD_I(CLOSE_XRCD, cmd_close_xrcd, ib_uverbs_close_xrcd),
	{IB_USER_VERBS_CMD_OPEN_QP, sizeof(struct ib_uverbs_open_qp), sizeof(struct ib_uverbs_create_qp_resp),
	 true, false, cmd_open_qp},
	CMD_UDATA(CREATE_SRQ, cmd_create_srq, ib_uverbs_create_srq),
	{IB_USER_VERBS_CMD_CREATE_XSRQ, sizeof(struct ib_uverbs_create_xsrq),
	 sizeof(struct ib_uverbs_create_srq_resp), true, true, cmd_create_xsrq},
	{IB_USER_VERBS_CMD_MODIFY_SRQ, sizeof(struct ib_uverbs_modify_srq), 0, false, true, cmd_modify_srq},
	CMD_IO(QUERY_SRQ, cmd_query_srq, ib_uverbs_query_srq),
	CMD_IO(DESTROY_SRQ, cmd_destroy_srq, ib_uverbs_destroy_srq),
	CMD_UDATA(CREATE_QP, cmd_create_qp, ib_uverbs_create_qp),
	CMD_IO(QUERY_QP, cmd_query_qp, ib_uverbs_query_qp),
	CMD_I(MODIFY_QP, cmd_modify_qp, ib_uverbs_modify_qp),
	CMD_IO(DESTROY_QP, cmd_destroy_qp, ib_uverbs_destroy_qp),
	{IB_USER_VERBS_CMD_POST_SEND, sizeof(struct ib_uverbs_post_send), sizeof(struct ib_uverbs_post_send_resp), true,
	 false, cmd_post_send},
	CMD_I(ATTACH_MCAST, cmd_attach_mcast, ib_uverbs_attach_mcast),
	CMD_I(DETACH_MCAST, cmd_detach_mcast, ib_uverbs_detach_mcast),
	CMD_EX(QUERY_DEVICE, cmd_ex_query_device, ib_uverbs_ex_query_device, reserved),
	CMD_EX(CREATE_CQ, cmd_ex_create_cq, ib_uverbs_ex_create_cq, reserved),
	{EX(MODIFY_CQ), sizeof(struct ib_uverbs_ex_modify_cq), 0, false, false, cmd_ex_modify_cq},
	CMD_EX(CREATE_QP, cmd_ex_create_qp, ib_uverbs_ex_create_qp, comp_mask),
	CMD_EX(MODIFY_QP, cmd_ex_modify_qp, ib_uverbs_ex_modify_qp, base),
	{EX(CREATE_WQ), END_OF(struct ib_uverbs_ex_create_wq, max_sge),
	 END_OF(struct ib_uverbs_ex_create_wq_resp, wqn), true, true, cmd_ex_create_wq},
	{EX(MODIFY_WQ), END_OF(struct ib_uverbs_ex_modify_wq, curr_wq_state), 0, false, true, cmd_ex_modify_wq},
	{EX(DESTROY_WQ), END_OF(struct ib_uverbs_ex_destroy_wq, wq_handle),
	 END_OF(struct ib_uverbs_ex_destroy_wq_resp, reserved), true, false, cmd_ex_destroy_wq},
	{EX(CREATE_RWQ_IND_TBL), END_OF(struct ib_uverbs_ex_create_rwq_ind_table, log_ind_tbl_size),
	 END_OF(struct ib_uverbs_ex_create_rwq_ind_table_resp, ind_tbl_num), true, true, cmd_ex_create_rwq_table},
	{EX(DESTROY_RWQ_IND_TBL), END_OF(struct ib_uverbs_ex_destroy_rwq_ind_table, ind_tbl_handle), 0, false, false,
	 cmd_ex_destroy_rwq_table},
	{EX(CREATE_FLOW), END_OF(struct ib_uverbs_create_flow, flow_attr),
	 END_OF(struct ib_uverbs_create_flow_resp, flow_handle), true, true, cmd_ex_create_flow},
	{EX(DESTROY_FLOW), END_OF(struct ib_uverbs_destroy_flow, flow_handle), 0, false, false, cmd_ex_destroy_flow},
};
/* clang-format on */

static int cmd_not_supported(struct call *c)
{
	return -EOPNOTSUPP;
}

/*
 * A command below the highest known number that this driver does not have. It is handled as not extended,
 * even if its flag says so, and has no required size.
 */
static const struct write_cmd not_supported = {.handler = cmd_not_supported};

static bool driver_has(const struct drv_ops *ops, uint32_t command)
{
	switch (command) {
	case IB_USER_VERBS_CMD_POST_SEND:
		return ops->post_send;
	case IB_USER_VERBS_CMD_REQ_NOTIFY_CQ:
		return ops->req_notify_cq;
	case IB_USER_VERBS_CMD_RESIZE_CQ:
		return ops->resize_cq;
	case EX(MODIFY_CQ):
		return ops->moderate_cq;
	case IB_USER_VERBS_CMD_REREG_MR:
		return ops->rereg_mr;
	case IB_USER_VERBS_CMD_ALLOC_MW:
		return ops->alloc_mw;
	case IB_USER_VERBS_CMD_CREATE_AH:
		return ops->create_ah;
	default:
		return true;
	}
}

const struct write_cmd *write_cmd_find(const struct kdev *d, uint32_t command, int *err)
{
	const uint32_t ex = command & IB_USER_VERBS_CMD_FLAG_EXTENDED;
	uint32_t max = 0;

	if (command & ~(IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_CMD_COMMAND_MASK)) {
		*err = -EINVAL;
		return NULL;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].cmd == command)
			return driver_has(kdev_ops(d), command) ? &commands[i] : &not_supported;
		if ((commands[i].cmd & IB_USER_VERBS_CMD_FLAG_EXTENDED) == ex && commands[i].cmd > max)
			max = commands[i].cmd;
	}
	*err = -EOPNOTSUPP;
	return command > max ? NULL : &not_supported;
}

static bool is_ex(const struct write_cmd *w)
{
	return w->cmd & IB_USER_VERBS_CMD_FLAG_EXTENDED;
}

static int verify_ex(const struct ib_uverbs_cmd_hdr *hdr, const struct ib_uverbs_ex_cmd_hdr *ex, size_t count,
		     const struct write_cmd *w)
{
	if ((hdr->in_words + ex->provider_in_words) * 8u != count - sizeof(*hdr) - sizeof(*ex))
		return -EINVAL;
	if (hdr->in_words * 8u < w->req)
		return -ENOSPC;
	if (ex->cmd_hdr_reserved)
		return -EINVAL;
	if (!ex->response)
		return hdr->out_words || ex->provider_out_words ? -EINVAL : 0;
	if (!hdr->out_words && !ex->provider_out_words)
		return -EINVAL;
	return hdr->out_words * 8u < w->resp ? -ENOSPC : 0;
}

static int verify(struct ib_uverbs_cmd_hdr *hdr, size_t count, const struct write_cmd *w)
{
	if (hdr->in_words * 4u != count)
		return -EINVAL;
	if (count < w->req + sizeof(*hdr)) {
		/* rdma-core 18 and 19 send DESTROY_CQ without its last 8 bytes; the kernel accepts that. */
		if (hdr->command == IB_USER_VERBS_CMD_DESTROY_CQ && count == 16) {
			hdr->in_words = 6;
			return 0;
		}
		return -ENOSPC;
	}
	return hdr->out_words * 4u < w->resp ? -ENOSPC : 0;
}

static int split(struct call *c, const struct ib_uverbs_cmd_hdr *hdr, const struct write_cmd *w, uint64_t buf)
{
	const size_t in = hdr->in_words * 4u - sizeof(*hdr), out = hdr->out_words * 4u;

	c->in = buf;
	c->in_len = w->has_udata ? w->req : in;
	c->uhw_in = buf + c->in_len;
	c->uhw_in_len = in - c->in_len;
	if (!w->has_resp) {
		c->out_len = out;
		return 0;
	}
	/* Every request that has a response starts with its address. */
	if (call_read(c, &c->out, buf, sizeof(c->out)))
		return -EFAULT;
	c->out_len = w->has_udata ? w->resp : out;
	c->uhw_out = c->out + c->out_len;
	c->uhw_out_len = out - c->out_len;
	return 0;
}

static void split_ex(struct call *c, const struct ib_uverbs_cmd_hdr *hdr,
		     const struct ib_uverbs_ex_cmd_hdr *ex, uint64_t buf)
{
	c->in = buf;
	c->in_len = hdr->in_words * 8u;
	c->out = ex->response;
	c->out_len = hdr->out_words * 8u;
	c->uhw_in = buf + c->in_len;
	c->uhw_in_len = ex->provider_in_words * 8u;
	c->uhw_out = ex->response + c->out_len;
	c->uhw_out_len = ex->provider_out_words * 8u;
}

ssize_t uverbs_write(struct kfile *f, struct task *t, uint64_t buf, size_t len, struct kreply *reply)
{
	struct call c = {.f = f, .t = t, .reply = reply, .out_attr = -1, .uhw_out_attr = -1};
	struct ib_uverbs_ex_cmd_hdr ex;
	struct ib_uverbs_cmd_hdr hdr;
	const struct write_cmd *w;
	int ret;

	if (len < sizeof(hdr))
		return -EINVAL;
	if (call_read(&c, &hdr, buf, sizeof(hdr)))
		return -EFAULT;
	w = write_cmd_find(f->dev, hdr.command, &ret);
	if (!w)
		return ret;
	c.command = w;
	if (is_ex(w)) {
		if (len < sizeof(hdr) + sizeof(ex))
			return -EINVAL;
		if (call_read(&c, &ex, buf + sizeof(hdr), sizeof(ex)))
			return -EFAULT;
		ret = verify_ex(&hdr, &ex, len, w);
		if (ret)
			return ret;
		split_ex(&c, &hdr, &ex, buf + sizeof(hdr) + sizeof(ex));
	} else {
		ret = verify(&hdr, len, w);
		if (!ret)
			ret = split(&c, &hdr, w, buf + sizeof(hdr));
		if (ret)
			return ret;
	}
	ret = call_finish(&c, w->handler(&c));
	return ret ? ret : (ssize_t)len;
}
