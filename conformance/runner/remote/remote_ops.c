/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The calls that verbs.h dispatches through the context of an object. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "remote/remote_internal.h"

static int poll_timed(struct ibv_cq *cq, int num, struct ibv_wc *wc, uint64_t *timestamp)
{
	struct peer_poll_cq call = {cq->handle, num};
	struct peer_poll_cq_answer answer;
	struct remote_tail tail = {wc, num * sizeof(*wc)};
	int err;

	remote_lock();
	err = remote_call(PEER_poll_cq, &call, tail, &answer);
	if (!err && remote_answer_tail().length == tail.length)
		memcpy(wc, remote_answer_tail().at, tail.length);
	else if (!err)
		remote_complain("gave another number of completions than was asked for");
	remote_unlock();
	*timestamp = answer.timestamp;
	return err ? -err : answer.result;
}

static int poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	uint64_t ignored;

	return poll_timed(cq, num, wc, &ignored);
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return REMOTE_DO(req_notify_cq, cq->handle, solicited_only);
}

static int modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	return REMOTE_DO(modify_cq, cq->handle, *attr);
}

/* An extended CQ: a poll fetches the whole completion, which the read functions then return by field. */
struct remote_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
	};
	struct ibv_wc wc;
	uint64_t timestamp;
};

static struct remote_cq *to_remote_cq(struct ibv_cq_ex *ex)
{
	return (struct remote_cq *)ex;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct remote_cq *cq = to_remote_cq(ex);
	int ret = poll_timed(&cq->cq, 1, &cq->wc, &cq->timestamp);

	if (ret != 1)
		return ret ? -ret : ENOENT;
	ex->status = cq->wc.status;
	ex->wr_id = cq->wc.wr_id;
	return 0;
}

static void end_poll(struct ibv_cq_ex *ex)
{
}

/* Return values of the read functions of a completion; imm_data is also the invalidated rkey. */
#define READ_FIELDS(X)                                                                                       \
	X(enum ibv_wc_opcode, opcode)                                                                        \
	X(uint32_t, vendor_err)                                                                              \
	X(uint32_t, byte_len)                                                                                \
	X(__be32, imm_data)                                                                                  \
	X(uint32_t, qp_num)                                                                                  \
	X(uint32_t, src_qp)                                                                                  \
	X(unsigned int, wc_flags)                                                                            \
	X(uint32_t, slid)                                                                                    \
	X(uint8_t, sl)                                                                                       \
	X(uint8_t, dlid_path_bits)

#define READ_FIELD(type, field)                                                                              \
	static type read_##field(struct ibv_cq_ex *ex)                                                       \
	{                                                                                                    \
		return to_remote_cq(ex)->wc.field;                                                           \
	}
READ_FIELDS(READ_FIELD)

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return to_remote_cq(ex)->timestamp;
}

static int query_rt_values(struct ibv_context *ctx, struct ibv_values_ex *values)
{
	struct peer_query_rt_values_answer answer;
	int err = REMOTE_ASK(query_rt_values, &answer);

	values->comp_mask &= err ? 0 : IBV_VALUES_MASK_RAW_CLOCK;
	values->raw_clock = (struct timespec){.tv_nsec = (long)answer.raw_clock};
	return err;
}

struct ibv_cq *remote_create_cq(int cqe, struct ibv_comp_channel *channel, bool extended, uint64_t wc_flags)
{
	const peer_id of = channel ? ((struct remote_channel *)channel)->id : 0;
	struct peer_create_cq_answer answer;
	struct remote_cq *cq;

	REMOTE_MAKE(cq, create_cq, &answer, of, cqe, extended, wc_flags);
	if (!cq)
		return NULL;
	cq->ex = (struct ibv_cq_ex){
		.context = remote_context(),
		.channel = channel,
		.handle = answer.id,
		.cqe = answer.cqe,
		.start_poll = start_poll,
		.end_poll = end_poll,
#define SET_READ(type, field) .read_##field = read_##field,
		READ_FIELDS(SET_READ).read_completion_ts = read_completion_ts,
	};
	return &cq->cq;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr)
{
	return (struct ibv_cq_ex *)remote_create_cq(attr->cqe, attr->channel, true, attr->wc_flags);
}

/* Sets `bad` to the request with index `number` in the list `wr`. */
#define BAD_WR(bad, wr, number)                                                                              \
	do {                                                                                                 \
		*(bad) = (wr);                                                                               \
		for (int i = 0; i < (number) && *(bad); i++)                                                 \
			*(bad) = (*(bad))->next;                                                             \
	} while (0)

/* Encodes one request. False: it has more SGEs than fit. */
static bool encode_send(const struct ibv_qp *qp, const struct ibv_send_wr *wr, struct peer_send_wr *to)
{
	memset(to, 0, sizeof(*to));
	to->wr = *wr;
	to->wr.next = NULL;
	to->wr.sg_list = NULL;
	if (wr->num_sge < 0 || wr->num_sge > PEER_SGES)
		return false;
	if (wr->num_sge)
		memcpy(to->sge, wr->sg_list, wr->num_sge * sizeof(to->sge[0]));
	if (qp->qp_type == IBV_QPT_UD && wr->wr.ud.ah)
		to->ah = wr->wr.ud.ah->handle;
	if (wr->opcode == IBV_WR_BIND_MW) {
		to->mw = wr->bind_mw.mw ? wr->bind_mw.mw->handle : 0;
		to->mw_rkey = wr->bind_mw.mw ? wr->bind_mw.mw->rkey : 0;
		to->mr = wr->bind_mw.bind_info.mr ? wr->bind_mw.bind_info.mr->handle : 0;
	}
	return true;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	static struct peer_send_wr list[PEER_WRS];
	struct peer_post_send call = {.qp = qp->handle};
	struct peer_post_send_answer answer;
	struct ibv_send_wr *at;
	int err = 0;

	remote_lock();
	end_push();
	for (at = wr; at && !err; at = at->next)
		if (call.num == PEER_WRS || !encode_send(qp, at, &list[call.num++]))
			err = E2BIG;
	if (!err)
		err = remote_call(PEER_post_send, &call,
				  (struct remote_tail){list, call.num * sizeof(list[0])}, &answer);
	remote_unlock();
	BAD_WR(bad, wr, err ? 0 : answer.bad);
	return err ? err : answer.result;
}

static int post_receives(struct peer_post_recv call, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	static struct peer_recv_wr list[PEER_WRS];
	struct peer_post_recv_answer answer;
	struct ibv_recv_wr *at;
	int err = 0;

	remote_lock();
	end_push();
	for (at = wr; at && !err; at = at->next) {
		struct peer_recv_wr *to = &list[call.num];

		if (call.num++ == PEER_WRS || at->num_sge < 0 || at->num_sge > PEER_SGES) {
			err = E2BIG;
			break;
		}
		to->wr_id = at->wr_id;
		to->num_sge = at->num_sge;
		if (at->num_sge)
			memcpy(to->sge, at->sg_list, at->num_sge * sizeof(to->sge[0]));
	}
	if (!err)
		err = remote_call(PEER_post_recv, &call,
				  (struct remote_tail){list, call.num * sizeof(list[0])}, &answer);
	remote_unlock();
	BAD_WR(bad, wr, err ? 0 : answer.bad);
	return err ? err : answer.result;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return post_receives((struct peer_post_recv){.qp = qp->handle}, wr, bad);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return post_receives((struct peer_post_recv){.srq = srq->handle}, wr, bad);
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct peer_alloc_mw_answer answer;
	struct ibv_mw *mw;

	REMOTE_MAKE(mw, alloc_mw, &answer, pd->handle, type);
	if (mw)
		*mw = (struct ibv_mw){.context = remote_context(),
				      .pd = pd,
				      .rkey = answer.rkey,
				      .handle = answer.id,
				      .type = type};
	return mw;
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	const struct ibv_mw_bind_info *info = &bind->bind_info;
	const peer_id mr = info->mr ? info->mr->handle : 0;
	struct peer_bind_mw_answer answer;
	int err = REMOTE_ASK(bind_mw, &answer, qp->handle, mw->handle, mr, bind->send_flags,
			     info->mw_access_flags, bind->wr_id, info->addr, info->length);

	if (!err)
		mw->rkey = answer.rkey;
	return err;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	return remote_release(mw->handle);
}

static int memcpy_to_dm(struct ibv_dm *dm, uint64_t offset, const void *from, size_t length)
{
	struct peer_copy_dm call = {dm->handle, offset, 0};

	return remote_call(PEER_copy_dm, &call, (struct remote_tail){from, length},
			   &(struct peer_copy_dm_answer){});
}

static int memcpy_from_dm(void *to, struct ibv_dm *dm, uint64_t offset, size_t length)
{
	int err;

	remote_lock();
	err = REMOTE_DO(copy_dm, dm->handle, offset, length);
	if (!err && remote_answer_tail().length == length)
		memcpy(to, remote_answer_tail().at, length);
	else if (!err)
		remote_complain("gave another number of bytes of device memory than was asked for");
	remote_unlock();
	return err;
}

static struct ibv_dm *alloc_dm(struct ibv_context *ctx, struct ibv_alloc_dm_attr *attr)
{
	struct peer_alloc_dm_answer answer;
	struct ibv_dm *dm;

	REMOTE_MAKE(dm, alloc_dm, &answer, attr->length, attr->log_align_req, attr->comp_mask);
	if (dm)
		*dm = (struct ibv_dm){.context = ctx,
				      .memcpy_to_dm = memcpy_to_dm,
				      .memcpy_from_dm = memcpy_from_dm,
				      .handle = answer.id};
	return dm;
}

static int free_dm(struct ibv_dm *dm)
{
	return remote_release(dm->handle);
}

static struct ibv_mr *reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
				unsigned int access)
{
	struct peer_reg_dm_mr_answer answer;
	struct ibv_mr *mr;

	REMOTE_MAKE(mr, reg_dm_mr, &answer, pd->handle, dm->handle, offset, length, access);
	if (mr)
		*mr = (struct ibv_mr){pd->context, pd, NULL, length, answer.id, answer.lkey, answer.rkey};
	return mr;
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *ctx, struct ibv_xrcd_init_attr *attr)
{
	struct peer_open_xrcd_answer answer;
	struct remote_xrcd *xrcd;

	REMOTE_MAKE(xrcd, open_xrcd, &answer);
	if (!xrcd)
		return NULL;
	xrcd->xrcd.context = ctx;
	xrcd->id = answer.id;
	return &xrcd->xrcd;
}

static int close_xrcd(struct ibv_xrcd *xrcd)
{
	return remote_release(((struct remote_xrcd *)xrcd)->id);
}

static peer_id xrcd_id(struct ibv_xrcd *xrcd)
{
	return xrcd ? ((struct remote_xrcd *)xrcd)->id : 0;
}

struct ibv_srq *remote_create_srq(struct ibv_pd *pd, struct ibv_xrcd *xrcd, struct ibv_cq *cq,
				  struct ibv_srq_attr *attr)
{
	struct peer_create_srq_answer answer;
	struct ibv_srq *srq;

	REMOTE_MAKE(srq, create_srq, &answer, pd->handle, xrcd_id(xrcd), cq ? cq->handle : 0, !!xrcd, *attr);
	if (!srq)
		return NULL;
	*srq = (struct ibv_srq){.context = pd->context, .pd = pd, .handle = answer.id};
	*attr = answer.attr;
	return srq;
}

static struct ibv_srq *create_srq_ex(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr)
{
	return remote_create_srq(attr->pd, attr->xrcd, attr->cq, &attr->attr);
}

static int get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	struct peer_get_srq_num_answer answer;
	int err = REMOTE_ASK(get_srq_num, &answer, srq->handle);

	if (!err)
		*number = answer.number;
	return err;
}

struct ibv_qp *remote_create_qp(struct ibv_pd *pd, const struct ibv_qp_init_attr_ex *attr, bool extended,
				struct ibv_qp_cap *cap)
{
	struct peer_create_qp_answer answer;
	struct ibv_qp *qp;

	REMOTE_MAKE(qp, create_qp, &answer, pd ? pd->handle : 0, xrcd_id(attr->xrcd),
		    attr->send_cq ? attr->send_cq->handle : 0, attr->recv_cq ? attr->recv_cq->handle : 0,
		    attr->srq ? attr->srq->handle : 0, attr->qp_type, attr->sq_sig_all, extended, attr->cap);
	if (!qp)
		return NULL;
	*qp = (struct ibv_qp){
		.context = remote_context(),
		.pd = pd,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.handle = answer.id,
		.qp_num = answer.qp_num,
		.qp_type = attr->qp_type,
	};
	*cap = answer.cap;
	return qp;
}

/* XRC_RECV and XRC_SEND, as links create them. */
static struct ibv_qp *create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr_ex own = *attr;

	own.srq = NULL;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD))
		own.xrcd = NULL;
	return remote_create_qp(attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL, &own, true,
				&attr->cap);
}

static struct ibv_flow *create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	struct peer_create_flow call = {qp->handle};
	struct peer_create_flow_answer answer;
	struct ibv_flow *flow = NULL;

	if (remote_made(
		    remote_call(PEER_create_flow, &call, (struct remote_tail){attr, attr->size}, &answer)))
		flow = remote_new(answer.id, sizeof(*flow));
	if (flow)
		*flow = (struct ibv_flow){.context = qp->context, .handle = answer.id};
	return flow;
}

static int destroy_flow(struct ibv_flow *flow)
{
	return remote_release(flow->handle);
}

void remote_set_ops(struct verbs_context *ctx)
{
	ctx->sz = sizeof(*ctx);
	ctx->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	ctx->alloc_dm = alloc_dm;
	ctx->free_dm = free_dm;
	ctx->reg_dm_mr = reg_dm_mr;
	ctx->create_cq_ex = create_cq_ex;
	ctx->modify_cq = modify_cq;
	ctx->query_rt_values = query_rt_values;
	ctx->open_xrcd = open_xrcd;
	ctx->close_xrcd = close_xrcd;
	ctx->create_srq_ex = create_srq_ex;
	ctx->get_srq_num = get_srq_num;
	ctx->create_qp_ex = create_qp_ex;
	ctx->ibv_create_flow = create_flow;
	ctx->ibv_destroy_flow = destroy_flow;
	ctx->context.ops.alloc_mw = alloc_mw;
	ctx->context.ops.bind_mw = bind_mw;
	ctx->context.ops.dealloc_mw = dealloc_mw;
	ctx->context.ops.poll_cq = poll_cq;
	ctx->context.ops.req_notify_cq = req_notify_cq;
	ctx->context.ops.post_send = post_send;
	ctx->context.ops.post_recv = post_recv;
	ctx->context.ops.post_srq_recv = post_srq_recv;
}
