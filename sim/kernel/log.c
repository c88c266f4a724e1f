// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * verbs.log: what programs ask of the kernel, and the events that they get (docs/traces.md). Calls that create, change
 * or destroy an object are in tables with the arguments that are written; every other call only if it is refused.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "kernel/rdma_cm/ucma.h"
#include "kernel/uverbs/ioctl.h"

#define EX(name) (IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_##name)

/* An argument: a member of the request, or of an attribute. */
struct field {
	const char *name;
	uint16_t attr, at;
	uint8_t size;
	enum { DEC, SIGNED, HEX, BYTES } form;
};

/* clang-format off */
#define AS(name, type, member, form) {name, 0, offsetof(struct type, member), sizeof(((struct type *)0)->member), form}
#define F(type, member)           AS(#member, type, member, DEC)
#define X(type, member)           AS(#member, type, member, HEX)
#define ATTR(id, name, size, form) {name, UVERBS_ATTR_##id, 0, size, form}
#define CAP(member)               {#member, UVERBS_ATTR_CREATE_QP_CAP, offsetof(struct ib_uverbs_qp_cap, member), 4, DEC}

static const struct field no_fields[] = {{0}};
static const struct field pd[] = {F(ib_uverbs_dealloc_pd, pd_handle), {0}};
static const struct field reg_mr[] = {F(ib_uverbs_reg_mr, pd_handle), X(ib_uverbs_reg_mr, start),
	F(ib_uverbs_reg_mr, length), X(ib_uverbs_reg_mr, hca_va), X(ib_uverbs_reg_mr, access_flags), {0}};
static const struct field rereg_mr[] = {F(ib_uverbs_rereg_mr, mr_handle), F(ib_uverbs_rereg_mr, flags),
	F(ib_uverbs_rereg_mr, pd_handle), X(ib_uverbs_rereg_mr, start), F(ib_uverbs_rereg_mr, length),
	X(ib_uverbs_rereg_mr, hca_va), X(ib_uverbs_rereg_mr, access_flags), {0}};
static const struct field mr[] = {F(ib_uverbs_dereg_mr, mr_handle), {0}};
static const struct field mw[] = {F(ib_uverbs_alloc_mw, pd_handle), F(ib_uverbs_alloc_mw, mw_type), {0}};
static const struct field free_mw[] = {F(ib_uverbs_dealloc_mw, mw_handle), {0}};
static const struct field ah[] = {F(ib_uverbs_create_ah, pd_handle),
	AS("dgid", ib_uverbs_create_ah, attr.grh.dgid, BYTES), AS("sgid_index", ib_uverbs_create_ah, attr.grh.sgid_index, DEC),
	AS("is_global", ib_uverbs_create_ah, attr.is_global, DEC), AS("port_num", ib_uverbs_create_ah, attr.port_num, DEC), {0}};
static const struct field free_ah[] = {F(ib_uverbs_destroy_ah, ah_handle), {0}};
static const struct field cq[] = {F(ib_uverbs_create_cq, cqe), F(ib_uverbs_create_cq, comp_vector),
	AS("comp_channel", ib_uverbs_create_cq, comp_channel, SIGNED), {0}};
static const struct field ex_cq[] = {F(ib_uverbs_ex_create_cq, cqe), F(ib_uverbs_ex_create_cq, comp_vector),
	AS("comp_channel", ib_uverbs_ex_create_cq, comp_channel, SIGNED), X(ib_uverbs_ex_create_cq, flags), {0}};
static const struct field resize_cq[] = {F(ib_uverbs_resize_cq, cq_handle), F(ib_uverbs_resize_cq, cqe), {0}};
static const struct field moderate_cq[] = {F(ib_uverbs_ex_modify_cq, cq_handle),
	AS("cq_count", ib_uverbs_ex_modify_cq, attr.cq_count, DEC), AS("cq_period", ib_uverbs_ex_modify_cq, attr.cq_period, DEC), {0}};
static const struct field notify_cq[] = {F(ib_uverbs_req_notify_cq, cq_handle), F(ib_uverbs_req_notify_cq, solicited_only), {0}};
static const struct field free_cq[] = {F(ib_uverbs_destroy_cq, cq_handle), {0}};
static const struct field srq[] = {F(ib_uverbs_create_srq, pd_handle), F(ib_uverbs_create_srq, max_wr),
	F(ib_uverbs_create_srq, max_sge), F(ib_uverbs_create_srq, srq_limit), {0}};
static const struct field xsrq[] = {F(ib_uverbs_create_xsrq, srq_type), F(ib_uverbs_create_xsrq, pd_handle),
	F(ib_uverbs_create_xsrq, max_wr), F(ib_uverbs_create_xsrq, max_sge), F(ib_uverbs_create_xsrq, srq_limit),
	F(ib_uverbs_create_xsrq, xrcd_handle), F(ib_uverbs_create_xsrq, cq_handle), {0}};
static const struct field modify_srq[] = {F(ib_uverbs_modify_srq, srq_handle), X(ib_uverbs_modify_srq, attr_mask),
	F(ib_uverbs_modify_srq, max_wr), F(ib_uverbs_modify_srq, srq_limit), {0}};
static const struct field free_srq[] = {F(ib_uverbs_destroy_srq, srq_handle), {0}};
#define QP(type) F(type, pd_handle), F(type, send_cq_handle), F(type, recv_cq_handle), F(type, srq_handle), \
	F(type, is_srq), F(type, qp_type), F(type, sq_sig_all), F(type, max_send_wr), F(type, max_recv_wr), \
	F(type, max_send_sge), F(type, max_recv_sge), F(type, max_inline_data)
static const struct field qp[] = {QP(ib_uverbs_create_qp), {0}};
static const struct field ex_qp[] = {QP(ib_uverbs_ex_create_qp), X(ib_uverbs_ex_create_qp, create_flags), {0}};
static const struct field open_qp[] = {F(ib_uverbs_open_qp, qpn), F(ib_uverbs_open_qp, qp_type), {0}};
static const struct field modify_qp[] = {F(ib_uverbs_modify_qp, qp_handle), X(ib_uverbs_modify_qp, attr_mask),
	F(ib_uverbs_modify_qp, qp_state), F(ib_uverbs_modify_qp, cur_qp_state), F(ib_uverbs_modify_qp, path_mtu),
	X(ib_uverbs_modify_qp, qkey), F(ib_uverbs_modify_qp, rq_psn), F(ib_uverbs_modify_qp, sq_psn),
	F(ib_uverbs_modify_qp, dest_qp_num), X(ib_uverbs_modify_qp, qp_access_flags), F(ib_uverbs_modify_qp, pkey_index),
	F(ib_uverbs_modify_qp, max_rd_atomic), F(ib_uverbs_modify_qp, max_dest_rd_atomic),
	F(ib_uverbs_modify_qp, min_rnr_timer), F(ib_uverbs_modify_qp, port_num), F(ib_uverbs_modify_qp, timeout),
	F(ib_uverbs_modify_qp, retry_cnt), F(ib_uverbs_modify_qp, rnr_retry),
	AS("is_global", ib_uverbs_modify_qp, dest.is_global, DEC), AS("dgid", ib_uverbs_modify_qp, dest.dgid, BYTES),
	AS("sgid_index", ib_uverbs_modify_qp, dest.sgid_index, DEC), AS("av_port", ib_uverbs_modify_qp, dest.port_num, DEC), {0}};
static const struct field free_qp[] = {F(ib_uverbs_destroy_qp, qp_handle), {0}};
static const struct field post_send[] = {F(ib_uverbs_post_send, qp_handle), {0}};
static const struct field mcast[] = {F(ib_uverbs_attach_mcast, qp_handle), AS("gid", ib_uverbs_attach_mcast, gid, BYTES), {0}};
static const struct field wq[] = {F(ib_uverbs_ex_create_wq, pd_handle), F(ib_uverbs_ex_create_wq, cq_handle),
	F(ib_uverbs_ex_create_wq, max_wr), F(ib_uverbs_ex_create_wq, max_sge), {0}};
static const struct field modify_wq[] = {F(ib_uverbs_ex_modify_wq, wq_handle), F(ib_uverbs_ex_modify_wq, wq_state),
	F(ib_uverbs_ex_modify_wq, curr_wq_state), {0}};
static const struct field free_wq[] = {F(ib_uverbs_ex_destroy_wq, wq_handle), {0}};

static const struct field i_pd[] = {ATTR(DESTROY_PD_HANDLE, "pd_handle", 4, DEC), {0}};
static const struct field i_ah[] = {ATTR(DESTROY_AH_HANDLE, "ah_handle", 4, DEC), {0}};
static const struct field i_mr[] = {ATTR(DESTROY_MR_HANDLE, "mr_handle", 4, DEC), {0}};
static const struct field i_mw[] = {ATTR(DESTROY_MW_HANDLE, "mw_handle", 4, DEC), {0}};
static const struct field i_free_cq[] = {ATTR(DESTROY_CQ_HANDLE, "cq_handle", 4, DEC), {0}};
static const struct field i_free_qp[] = {ATTR(DESTROY_QP_HANDLE, "qp_handle", 4, DEC), {0}};
static const struct field i_free_srq[] = {ATTR(DESTROY_SRQ_HANDLE, "srq_handle", 4, DEC), {0}};
static const struct field i_free_wq[] = {ATTR(DESTROY_WQ_HANDLE, "wq_handle", 4, DEC), {0}};
static const struct field i_cq[] = {ATTR(CREATE_CQ_CQE, "cqe", 4, DEC), ATTR(CREATE_CQ_COMP_VECTOR, "comp_vector", 4, DEC),
	ATTR(CREATE_CQ_COMP_CHANNEL, "comp_channel", 4, SIGNED), ATTR(CREATE_CQ_FLAGS, "flags", 4, HEX), {0}};
static const struct field i_srq[] = {ATTR(CREATE_SRQ_TYPE, "srq_type", 4, DEC), ATTR(CREATE_SRQ_PD_HANDLE, "pd_handle", 4, DEC),
	ATTR(CREATE_SRQ_MAX_WR, "max_wr", 4, DEC), ATTR(CREATE_SRQ_MAX_SGE, "max_sge", 4, DEC),
	ATTR(CREATE_SRQ_LIMIT, "srq_limit", 4, DEC), ATTR(CREATE_SRQ_XRCD_HANDLE, "xrcd_handle", 4, DEC),
	ATTR(CREATE_SRQ_CQ_HANDLE, "cq_handle", 4, DEC), {0}};
static const struct field i_qp[] = {ATTR(CREATE_QP_PD_HANDLE, "pd_handle", 4, DEC),
	ATTR(CREATE_QP_SEND_CQ_HANDLE, "send_cq_handle", 4, DEC), ATTR(CREATE_QP_RECV_CQ_HANDLE, "recv_cq_handle", 4, DEC),
	ATTR(CREATE_QP_SRQ_HANDLE, "srq_handle", 4, DEC), ATTR(CREATE_QP_TYPE, "qp_type", 4, DEC),
	ATTR(CREATE_QP_FLAGS, "create_flags", 4, HEX), CAP(max_send_wr), CAP(max_recv_wr), CAP(max_send_sge),
	CAP(max_recv_sge), CAP(max_inline_data), {0}};
static const struct field i_wq[] = {ATTR(CREATE_WQ_PD_HANDLE, "pd_handle", 4, DEC), ATTR(CREATE_WQ_CQ_HANDLE, "cq_handle", 4, DEC),
	ATTR(CREATE_WQ_MAX_WR, "max_wr", 4, DEC), ATTR(CREATE_WQ_MAX_SGE, "max_sge", 4, DEC), {0}};
static const struct field i_dm[] = {ATTR(ALLOC_DM_LENGTH, "length", 8, DEC), ATTR(ALLOC_DM_ALIGNMENT, "alignment", 4, DEC), {0}};
static const struct field i_reg_dm[] = {ATTR(REG_DM_MR_PD_HANDLE, "pd_handle", 4, DEC), ATTR(REG_DM_MR_OFFSET, "start", 8, HEX),
	ATTR(REG_DM_MR_LENGTH, "length", 8, DEC), ATTR(REG_DM_MR_ACCESS_FLAGS, "access_flags", 4, HEX), {0}};
static const struct field i_reg_dmabuf[] = {ATTR(REG_DMABUF_MR_PD_HANDLE, "pd_handle", 4, DEC),
	ATTR(REG_DMABUF_MR_IOVA, "hca_va", 8, HEX), ATTR(REG_DMABUF_MR_OFFSET, "start", 8, HEX),
	ATTR(REG_DMABUF_MR_LENGTH, "length", 8, DEC), ATTR(REG_DMABUF_MR_ACCESS_FLAGS, "access_flags", 4, HEX), {0}};
static const struct field i_reg_mr[] = {{"pd_handle", ABI_ATTR_REG_MR_PD_HANDLE, 0, 4, DEC},
	{"start", ABI_ATTR_REG_MR_ADDR, 0, 8, HEX}, {"length", ABI_ATTR_REG_MR_LENGTH, 0, 8, DEC},
	{"hca_va", ABI_ATTR_REG_MR_IOVA, 0, 8, HEX}, {"access_flags", ABI_ATTR_REG_MR_ACCESS_FLAGS, 0, 4, HEX}, {0}};

struct row {
	uint32_t number; /* of the command; of a method: METHOD_OF() */
	const char *name;
	const struct field *fields;
	bool always; /* not only if it is refused */
};
#define METHOD_OF(object, id) ((uint32_t)(object) << 16 | (id))
#define CMD(name, text, fields) {IB_USER_VERBS_CMD_##name, text, fields, true}
#define CMD_EX(name, text, fields) {EX(name), text, fields, true}
#define METH(object, id, text, fields) {METHOD_OF(UVERBS_OBJECT_##object, UVERBS_METHOD_##id), text, fields, true}

static const struct row commands[] = {
	CMD(ALLOC_PD, "alloc_pd", no_fields), CMD(DEALLOC_PD, "dealloc_pd", pd), CMD(REG_MR, "reg_mr", reg_mr),
	CMD(REREG_MR, "rereg_mr", rereg_mr), CMD(DEREG_MR, "dereg_mr", mr), CMD(ALLOC_MW, "alloc_mw", mw),
	CMD(DEALLOC_MW, "dealloc_mw", free_mw), CMD(CREATE_AH, "create_ah", ah), CMD(DESTROY_AH, "destroy_ah", free_ah),
	CMD(CREATE_CQ, "create_cq", cq), CMD(RESIZE_CQ, "resize_cq", resize_cq), CMD(REQ_NOTIFY_CQ, "req_notify_cq", notify_cq),
	CMD(DESTROY_CQ, "destroy_cq", free_cq), CMD(CREATE_SRQ, "create_srq", srq), CMD(CREATE_XSRQ, "create_srq", xsrq),
	CMD(MODIFY_SRQ, "modify_srq", modify_srq), CMD(DESTROY_SRQ, "destroy_srq", free_srq), CMD(CREATE_QP, "create_qp", qp),
	CMD(OPEN_QP, "open_qp", open_qp), CMD(MODIFY_QP, "modify_qp", modify_qp), CMD(DESTROY_QP, "destroy_qp", free_qp),
	CMD(POST_SEND, "post_send", post_send), CMD(ATTACH_MCAST, "attach_mcast", mcast), CMD(DETACH_MCAST, "detach_mcast", mcast),
	CMD(OPEN_XRCD, "open_xrcd", no_fields), CMD(CLOSE_XRCD, "close_xrcd", no_fields),
	CMD_EX(CREATE_CQ, "create_cq", ex_cq), CMD_EX(MODIFY_CQ, "modify_cq", moderate_cq), CMD_EX(CREATE_QP, "create_qp", ex_qp),
	CMD_EX(MODIFY_QP, "modify_qp", modify_qp), CMD_EX(CREATE_WQ, "create_wq", wq), CMD_EX(MODIFY_WQ, "modify_wq", modify_wq),
	CMD_EX(DESTROY_WQ, "destroy_wq", free_wq), CMD_EX(CREATE_RWQ_IND_TBL, "create_rwq_ind_table", no_fields),
	CMD_EX(DESTROY_RWQ_IND_TBL, "destroy_rwq_ind_table", no_fields), CMD_EX(CREATE_FLOW, "create_flow", no_fields),
	CMD_EX(DESTROY_FLOW, "destroy_flow", no_fields),
};
static const struct row methods[] = {
	METH(PD, PD_DESTROY, "dealloc_pd", i_pd), METH(AH, AH_DESTROY, "destroy_ah", i_ah), METH(MR, MR_DESTROY, "dereg_mr", i_mr),
	METH(MW, MW_DESTROY, "dealloc_mw", i_mw), METH(CQ, CQ_CREATE, "create_cq", i_cq), METH(CQ, CQ_DESTROY, "destroy_cq", i_free_cq),
	METH(SRQ, SRQ_CREATE, "create_srq", i_srq), METH(SRQ, SRQ_DESTROY, "destroy_srq", i_free_srq),
	METH(QP, QP_CREATE, "create_qp", i_qp), METH(QP, QP_DESTROY, "destroy_qp", i_free_qp), METH(WQ, WQ_CREATE, "create_wq", i_wq),
	METH(WQ, WQ_DESTROY, "destroy_wq", i_free_wq), METH(DM, DM_ALLOC, "alloc_dm", i_dm), METH(MR, DM_MR_REG, "reg_dm_mr", i_reg_dm),
	METH(MR, REG_DMABUF_MR, "reg_dmabuf_mr", i_reg_dmabuf), METH(XRCD, XRCD_DESTROY, "close_xrcd", no_fields),
	METH(DM, DM_FREE, "free_dm", no_fields), METH(FLOW, FLOW_DESTROY, "destroy_flow", no_fields),
	METH(MR, ADVISE_MR, "advise_mr", no_fields),
	{METHOD_OF(UVERBS_OBJECT_MR, ABI_METHOD_REG_MR), "reg_mr", i_reg_mr, true},
};
/* clang-format on */

#define NUM(array) (sizeof(array) / sizeof((array)[0]))

static const struct row *find(const struct row *rows, size_t num, uint32_t number)
{
	for (size_t i = 0; i < num; i++)
		if (rows[i].number == number)
			return &rows[i];
	return NULL;
}

static FILE *begin(const struct kernel *k, const struct kdev *d)
{
	FILE *f = k->cfg.log;

	fprintf(f, "{\"ps\":%llu", (unsigned long long)k->cfg.now(k->cfg.now_arg));
	if (d)
		fprintf(f, ",\"hca\":\"%s\"", k->cfg.cfg[d->index]->name);
	return f;
}

static void caller(FILE *f, const struct kfile *file, const struct task *t)
{
	fprintf(f, ",\"file\":%u,\"pid\":%d,\"tid\":%u", file->number, (int)t->pid, t->tid);
	if (t->stack)
		fprintf(f, ",\"stack\":%u", t->stack);
}

static void result(FILE *f, int ret)
{
	if (ret < 0)
		fprintf(f, ",\"errno\":\"%s\"", strerrorname_np(-ret));
}

/* 0, or -1: the program did not pass the attribute. */
static int read_attr(struct call *c, const struct field *field, uint8_t *to)
{
	for (unsigned int i = 0; i < c->num_uattrs; i++) {
		const struct ib_uverbs_attr *a = &c->uattrs[i];

		if (a->attr_id != field->attr)
			continue;
		if (a->len > sizeof(a->data))
			return call_read(c, to, a->data + field->at, field->size);
		memcpy(to, (const uint8_t *)&a->data + field->at, field->size);
		return 0;
	}
	return -1;
}

static int read_field(struct call *c, const struct field *field, uint8_t *to)
{
	if (!c->command)
		return read_attr(c, field, to);
	if (field->at + (size_t)field->size > c->in_len)
		return -1;
	return call_read(c, to, c->in + field->at, field->size);
}

static void put_field(FILE *f, const struct field *field, const uint8_t *data)
{
	uint64_t value = 0;

	fprintf(f, ",\"%s\":", field->name);
	if (field->form == BYTES) {
		putc('"', f);
		for (unsigned int i = 0; i < field->size; i++)
			fprintf(f, "%02x", data[i]);
		putc('"', f);
		return;
	}
	memcpy(&value, data, field->size);
	if (field->form == SIGNED)
		fprintf(f, "%d", (int)value);
	else
		fprintf(f, field->form == HEX ? "\"0x%llx\"" : "%llu", (unsigned long long)value);
}

static void put_qp(FILE *f, const struct uobj *u)
{
	const struct drv_qp *q = u->drv;

	fprintf(f, ",\"qpn\":%u,\"granted\":{\"max_send_wr\":%u,\"max_recv_wr\":%u", q->qpn,
		u->qp.max_send_wr, u->qp.max_recv_wr);
	fprintf(f, ",\"max_send_sge\":%u,\"max_recv_sge\":%u,\"max_inline_data\":%u}", u->qp.max_send_sge,
		u->qp.max_recv_sge, u->qp.max_inline);
}

/* What the driver made: its numbers and sizes. */
static void put_object(FILE *f, const struct uobj *u)
{
	const void *drv = u->drv;

	fprintf(f, ",\"handle\":%u", u->handle);
	if (!drv)
		return;
	if (u->type == UVERBS_OBJECT_CQ)
		fprintf(f, ",\"cqn\":%u,\"granted\":{\"cqe\":%u}", ((const struct drv_cq *)drv)->cqn,
			((const struct drv_cq *)drv)->cqe);
	else if (u->type == UVERBS_OBJECT_QP)
		put_qp(f, u);
	else if (u->type == UVERBS_OBJECT_WQ)
		fprintf(f, ",\"wqn\":%u", ((const struct drv_qp *)drv)->qpn);
	else if (u->type == UVERBS_OBJECT_SRQ)
		fprintf(f, ",\"srqn\":%u,\"granted\":{\"max_wr\":%u,\"max_sge\":%u}",
			((const struct drv_srq *)drv)->srqn, u->srq.max_wr, u->srq.max_sge);
	else if (u->type == UVERBS_OBJECT_MR)
		fprintf(f, ",\"lkey\":\"0x%x\",\"rkey\":\"0x%x\"", ((const struct drv_mr *)drv)->lkey,
			((const struct drv_mr *)drv)->rkey);
	else if (u->type == UVERBS_OBJECT_MW)
		fprintf(f, ",\"rkey\":\"0x%x\"", ((const struct drv_mw *)drv)->rkey);
}

/* A region that was registered again has other keys, a CQ another size. */
static const struct uobj *changed(struct call *c, const char *name, uint64_t handle)
{
	const bool mr = !strcmp(name, "rereg_mr");
	struct uobj *u;

	if ((!mr && strcmp(name, "resize_cq")) ||
	    uobj_lookup(c->f, mr ? UVERBS_OBJECT_MR : UVERBS_OBJECT_CQ, handle, &u))
		return NULL;
	return u;
}

/* Of a refused ibv_modify_qp(): the state that the QP is in, and what the transition requires and allows. */
static void put_transition(struct call *c, FILE *f)
{
	uint32_t required, optional;
	struct ib_uverbs_modify_qp cmd;
	struct hca_qp_attr now;
	struct uobj *u;

	if (c->in_len < sizeof(cmd) || call_read(c, &cmd, c->in, sizeof(cmd)))
		return;
	if (uobj_lookup(c->f, UVERBS_OBJECT_QP, cmd.qp_handle, &u) ||
	    kdev_ops(c->f->dev)->query_qp(u->drv, &now))
		return;
	fprintf(f, ",\"from\":%u", now.state);
	if (qp_transition(now.state, cmd.attr_mask & HCASIM_QP_ATTR_STATE ? cmd.qp_state : now.state,
			  ((const struct drv_qp *)u->drv)->type, &required, &optional))
		fprintf(f, ",\"required\":\"0x%x\",\"optional\":\"0x%x\"", required, optional);
}

static void put_arguments(struct call *c, FILE *f, const struct row *row, int ret)
{
	const struct uobj *u = c->created;
	uint8_t data[16];

	for (const struct field *field = row->fields; field->name; field++) {
		memset(data, 0, sizeof(data));
		if (read_field(c, field, data))
			continue;
		put_field(f, field, data);
		if (!ret && !u && field == row->fields)
			u = changed(c, row->name, *(const uint32_t *)(const void *)data);
	}
	if (!ret && u)
		put_object(f, u);
	if (ret && !strcmp(row->name, "modify_qp"))
		put_transition(c, f);
	if (c->counts.comp || c->counts.async)
		fprintf(f, ",\"comp_events\":%u,\"async_events\":%u", c->counts.comp, c->counts.async);
}

void log_call(struct call *c, int ret)
{
	const uint32_t number = c->command  ? c->command->cmd
				: c->method ? METHOD_OF(c->method->object, c->method->id)
					    : 0;
	const struct row *row =
		c->command ? find(commands, NUM(commands), number) : find(methods, NUM(methods), number);
	FILE *f;

	if (!c->f->dev->k->cfg.log || (!row && !ret))
		return;
	f = begin(c->f->dev->k, c->f->dev);
	caller(f, c->f, c->t);
	if (row)
		fprintf(f, ",\"call\":\"%s\"", row->name);
	else
		fprintf(f, ",\"call\":\"%s %#x\"", c->command ? "command" : "method", number);
	result(f, ret);
	if (c->refused_pages)
		fprintf(f, ",\"refused_pages\":%llu", (unsigned long long)c->refused_pages);
	if (row)
		put_arguments(c, f, row, ret);
	fputs("}\n", f);
}

/* ---- Events ---------------------------------------------------------------------------------------- */

static const char *const event_names[] = {/* enum ib_event_type */
					  "CQ_ERR",
					  "QP_FATAL",
					  "QP_REQ_ERR",
					  "QP_ACCESS_ERR",
					  "COMM_EST",
					  "SQ_DRAINED",
					  "PATH_MIG",
					  "PATH_MIG_ERR",
					  "DEVICE_FATAL",
					  "PORT_ACTIVE",
					  "PORT_ERR",
					  "LID_CHANGE",
					  "PKEY_CHANGE",
					  "SM_CHANGE",
					  "SRQ_ERR",
					  "SRQ_LIMIT_REACHED",
					  "QP_LAST_WQE_REACHED",
					  "CLIENT_REREGISTER",
					  "GID_CHANGE",
					  "WQ_FATAL"};

void log_event(const struct kdev *d, const char *what, uint32_t number, uint32_t event)
{
	FILE *f;

	if (!d->k->cfg.log)
		return;
	f = begin(d->k, d);
	fprintf(f, ",\"event\":\"%s\",\"%s\":%u}\n",
		event < NUM(event_names) ? event_names[event] : "unknown", what, number);
}

void log_completion_event(const struct kdev *d, uint32_t cqn)
{
	if (d->k->cfg.log)
		fprintf(begin(d->k, d), ",\"event\":\"COMP\",\"cqn\":%u}\n", cqn);
}

void log_device(const struct kdev *d)
{
	const struct ib_uverbs_query_device_resp *a = &d->attr.base;
	FILE *f;

	if (!d->k->cfg.log)
		return;
	f = begin(d->k, d);
	fprintf(f, ",\"event\":\"device\",\"family\":\"%s\",\"max_qp_wr\":%u,\"max_sge\":%u,\"max_cqe\":%u",
		kdev_ops(d)->name, a->max_qp_wr, a->max_sge, a->max_cqe);
	fprintf(f, ",\"max_srq_wr\":%u,\"max_srq_sge\":%u,\"max_qp_rd_atom\":%u,\"max_qp_init_rd_atom\":%u",
		a->max_srq_wr, a->max_srq_sge, a->max_qp_rd_atom, a->max_qp_init_rd_atom);
	fprintf(f, ",\"max_mr_size\":%llu,\"ports\":%u,\"active_mtu\":%u,\"pkeys\":%u}\n",
		(unsigned long long)a->max_mr_size, d->num_ports, d->port[0].active_mtu,
		d->port[0].pkey_tbl_len);
}

void log_released(const struct kfile *file)
{
	const struct kernel *k = file->cm ? file->cm->k : file->dev->k;

	if (k->cfg.log)
		fprintf(begin(k, file->dev), ",\"event\":\"released\",\"file\":%u}\n", file->number);
}

/* ---- The connection manager ------------------------------------------------------------------------ */

/* Commands that name an id, and where in the request. */
static const struct {
	const char *name;
	uint32_t id_at;
	bool always;
} cm_commands[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = {"create_id", UINT32_MAX, true},
	[RDMA_USER_CM_CMD_DESTROY_ID] = {"destroy_id", offsetof(struct rdma_ucm_destroy_id, id), true},
	[RDMA_USER_CM_CMD_BIND_IP] = {"bind_addr", offsetof(struct rdma_ucm_bind_ip, id), true},
	[RDMA_USER_CM_CMD_RESOLVE_IP] = {"resolve_addr", offsetof(struct rdma_ucm_resolve_ip, id), true},
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = {"resolve_route", offsetof(struct rdma_ucm_resolve_route, id),
					    true},
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = {"query_route", offsetof(struct rdma_ucm_query, id), false},
	[RDMA_USER_CM_CMD_CONNECT] = {"connect", offsetof(struct rdma_ucm_connect, id), true},
	[RDMA_USER_CM_CMD_LISTEN] = {"listen", offsetof(struct rdma_ucm_listen, id), true},
	[RDMA_USER_CM_CMD_ACCEPT] = {"accept", offsetof(struct rdma_ucm_accept, id), true},
	[RDMA_USER_CM_CMD_REJECT] = {"reject", offsetof(struct rdma_ucm_reject, id), true},
	[RDMA_USER_CM_CMD_DISCONNECT] = {"disconnect", offsetof(struct rdma_ucm_disconnect, id), true},
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = {"init_qp_attr", offsetof(struct rdma_ucm_init_qp_attr, id), false},
	[RDMA_USER_CM_CMD_GET_EVENT] = {"get_cm_event", UINT32_MAX, false},
	[RDMA_USER_CM_CMD_QUERY] = {"query", offsetof(struct rdma_ucm_query, id), false},
	[RDMA_USER_CM_CMD_BIND] = {"bind_addr", offsetof(struct rdma_ucm_bind, id), true},
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = {"resolve_addr", offsetof(struct rdma_ucm_resolve_addr, id), true},
	[RDMA_USER_CM_CMD_JOIN_MCAST] = {"join_multicast", offsetof(struct rdma_ucm_join_mcast, id), true},
};

static void put_address(FILE *f, const char *name, const struct sockaddr_storage *address)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;
	char text[INET6_ADDRSTRLEN] = "";

	if (address->ss_family == AF_INET)
		fprintf(f, ",\"%s\":\"%s:%u\"", name, inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text)),
			ntohs(v4->sin_port));
	else if (address->ss_family == AF_INET6)
		fprintf(f, ",\"%s\":\"[%s]:%u\"", name,
			inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text)), ntohs(v6->sin6_port));
}

static void put_id(struct ucma_call *c, FILE *f, uint32_t at)
{
	struct ucma_id *id;
	uint32_t handle;

	if (at + sizeof(handle) > c->in_len ||
	    c->t->ops->copy_from_user(c->t, &handle, c->in + at, sizeof(handle)))
		return;
	fprintf(f, ",\"id\":%u", handle);
	if (ucma_find(c, handle, &id))
		return;
	put_address(f, "src", &id->src);
	put_address(f, "dst", &id->dst);
	if (id->qp_num)
		fprintf(f, ",\"qpn\":%u", id->qp_num);
}

void log_cm_call(struct ucma_call *c, uint32_t command, int ret)
{
	const bool known = command < NUM(cm_commands) && cm_commands[command].name;
	FILE *f;

	if (!c->f->k->cfg.log || (!ret && (!known || !cm_commands[command].always)))
		return;
	f = begin(c->f->k, NULL);
	caller(f, c->f->owner, c->t);
	if (known)
		fprintf(f, ",\"call\":\"rdma_%s\"", cm_commands[command].name);
	else
		fprintf(f, ",\"call\":\"rdma_cm command %u\"", command);
	result(f, ret);
	if (known && cm_commands[command].id_at != UINT32_MAX)
		put_id(c, f, cm_commands[command].id_at);
	fputs("}\n", f);
}

static const char *const cm_events[] = {
	[EV_ADDR_RESOLVED] = "ADDR_RESOLVED",
	[EV_ADDR_ERROR] = "ADDR_ERROR",
	[EV_ROUTE_RESOLVED] = "ROUTE_RESOLVED",
	[EV_ROUTE_ERROR] = "ROUTE_ERROR",
	[EV_CONNECT_REQUEST] = "CONNECT_REQUEST",
	[EV_CONNECT_RESPONSE] = "CONNECT_RESPONSE",
	[EV_CONNECT_ERROR] = "CONNECT_ERROR",
	[EV_UNREACHABLE] = "UNREACHABLE",
	[EV_REJECTED] = "REJECTED",
	[EV_ESTABLISHED] = "ESTABLISHED",
	[EV_DISCONNECTED] = "DISCONNECTED",
	[EV_DEVICE_REMOVAL] = "DEVICE_REMOVAL",
	[EV_MULTICAST_JOIN] = "MULTICAST_JOIN",
	[EV_MULTICAST_ERROR] = "MULTICAST_ERROR",
	[EV_ADDR_CHANGE] = "ADDR_CHANGE",
	[EV_TIMEWAIT_EXIT] = "TIMEWAIT_EXIT",
};

void log_cm_event(const struct ucma_file *file, const struct ucma_event *e)
{
	const uint32_t event = e->resp.event;
	FILE *f;

	if (!file->k->cfg.log)
		return;
	f = begin(file->k, NULL);
	fprintf(f, ",\"file\":%u,\"event\":\"CM_%s\",\"id\":%u,\"status\":%d", file->owner->number,
		event < NUM(cm_events) && cm_events[event] ? cm_events[event] : "OTHER", e->id->handle,
		(int)e->resp.status);
	put_address(f, "src", &e->id->src);
	put_address(f, "dst", &e->id->dst);
	fputs("}\n", f);
}
