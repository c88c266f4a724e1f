/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The calls that are functions of libibverbs. The linker (--wrap) redirects the
 * runner's calls to these: an object of the remote context is handled by the
 * peer process, any other by libibverbs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "judge/watchdog.h"
#include "remote/remote_internal.h"

/* A macro that chooses between functions of libibverbs, which are wrapped. */
#undef ibv_reg_mr

#define WRAP(type, name, ...)                                                                                \
	type __real_##name(__VA_ARGS__);                                                                     \
	type __wrap_##name(__VA_ARGS__);                                                                     \
	type __wrap_##name(__VA_ARGS__)

WRAP(struct ibv_pd *, ibv_alloc_pd, struct ibv_context *ctx)
{
	struct peer_nothing nothing = {};
	struct peer_object answer;
	struct ibv_pd *pd;

	if (!remote_is(ctx))
		return __real_ibv_alloc_pd(ctx);
	REMOTE_MAKE(pd, alloc_pd, &nothing, &answer);
	if (pd)
		*pd = (struct ibv_pd){ctx, answer.id};
	return pd;
}

WRAP(int, ibv_dealloc_pd, struct ibv_pd *pd)
{
	return remote_is(pd->context) ? remote_release(pd->handle) : __real_ibv_dealloc_pd(pd);
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	struct peer_reg_mr call = {pd->handle, access, (uintptr_t)addr, length, iova};
	struct ibv_mr *mr;
	struct peer_mr answer;

	REMOTE_MAKE(mr, reg_mr, &call, &answer);
	if (mr)
		*mr = (struct ibv_mr){pd->context, pd, addr, length, answer.id, answer.lkey, answer.rkey};
	return mr;
}

WRAP(struct ibv_mr *, ibv_reg_mr, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return remote_is(pd->context) ? reg_mr(pd, addr, length, (uintptr_t)addr, access)
				      : __real_ibv_reg_mr(pd, addr, length, access);
}

WRAP(struct ibv_mr *, ibv_reg_mr_iova2, struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
     unsigned int access)
{
	return remote_is(pd->context) ? reg_mr(pd, addr, length, iova, access)
				      : __real_ibv_reg_mr_iova2(pd, addr, length, iova, access);
}

WRAP(int, ibv_dereg_mr, struct ibv_mr *mr)
{
	return remote_is(mr->context) ? remote_release(mr->handle) : __real_ibv_dereg_mr(mr);
}

WRAP(struct ibv_comp_channel *, ibv_create_comp_channel, struct ibv_context *ctx)
{
	struct peer_nothing nothing = {};
	struct remote_channel *channel;
	struct peer_object answer;

	if (!remote_is(ctx))
		return __real_ibv_create_comp_channel(ctx);
	REMOTE_MAKE(channel, create_channel, &nothing, &answer);
	if (!channel)
		return NULL;
	*channel = (struct remote_channel){{ctx, -1, 0}, answer.id};
	return &channel->channel;
}

WRAP(int, ibv_destroy_comp_channel, struct ibv_comp_channel *channel)
{
	return remote_is(channel->context) ? remote_release(((struct remote_channel *)channel)->id)
					   : __real_ibv_destroy_comp_channel(channel);
}

WRAP(struct ibv_cq *, ibv_create_cq, struct ibv_context *ctx, int cqe, void *cq_context,
     struct ibv_comp_channel *channel, int vector)
{
	return remote_is(ctx) ? remote_create_cq(cqe, channel, false, 0)
			      : __real_ibv_create_cq(ctx, cqe, cq_context, channel, vector);
}

WRAP(int, ibv_destroy_cq, struct ibv_cq *cq)
{
	return remote_is(cq->context) ? remote_release(cq->handle) : __real_ibv_destroy_cq(cq);
}

static bool remote_ready(peer_id channel, int timeout_ms)
{
	struct peer_wait call = {channel, timeout_ms};
	struct peer_number answer;

	return !REMOTE_CALL(wait, &call, &answer) && answer.number;
}

bool end_cq_event_ready(struct ibv_comp_channel *channel, int timeout_ms)
{
	return remote_is(channel->context) ? remote_ready(((struct remote_channel *)channel)->id, timeout_ms)
					   : watchdog_readable(channel->fd, timeout_ms);
}

bool end_async_ready(struct ibv_context *ctx, int timeout_ms)
{
	return remote_is(ctx) ? remote_ready(0, timeout_ms) : watchdog_readable(ctx->async_fd, timeout_ms);
}

WRAP(int, ibv_get_cq_event, struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct peer_object call, answer;
	int err;

	if (!remote_is(channel->context))
		return __real_ibv_get_cq_event(channel, cq, cq_context);
	call.id = ((struct remote_channel *)channel)->id;
	err = REMOTE_CALL(get_cq_event, &call, &answer);
	*cq = err ? NULL : remote_find(answer.id);
	*cq_context = NULL;
	errno = err;
	return *cq ? 0 : -1;
}

WRAP(void, ibv_ack_cq_events, struct ibv_cq *cq, unsigned int num)
{
	if (!remote_is(cq->context)) /* the peer acknowledged it when it read it */
		__real_ibv_ack_cq_events(cq, num);
}

WRAP(int, ibv_get_async_event, struct ibv_context *ctx, struct ibv_async_event *event)
{
	struct peer_nothing nothing = {};
	struct peer_event answer;

	if (!remote_is(ctx))
		return __real_ibv_get_async_event(ctx, event);
	errno = REMOTE_CALL(get_async_event, &nothing, &answer);
	if (errno)
		return -1;
	*event = (struct ibv_async_event){.event_type = answer.type};
	if (answer.id)
		event->element.qp = remote_find(answer.id);
	else
		event->element.port_num = answer.port;
	return 0;
}

/* Whether the event is of an object of the remote end. All objects begin with
 * their context. */
static bool is_remote_event(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return remote_is(event->element.cq->context);
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return remote_is(event->element.srq->context);
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return !event->element.qp || remote_is(event->element.qp->context);
	default:
		return false;
	}
}

WRAP(void, ibv_ack_async_event, struct ibv_async_event *event)
{
	if (!is_remote_event(event)) /* the peer acknowledged it when it read it */
		__real_ibv_ack_async_event(event);
}

WRAP(struct ibv_srq *, ibv_create_srq, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct peer_create_srq call = {};

	return remote_is(pd->context) ? remote_create_srq(pd, &call, &attr->attr)
				      : __real_ibv_create_srq(pd, attr);
}

WRAP(int, ibv_modify_srq, struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct peer_modify_srq call = {srq->handle, mask, *attr};
	struct peer_nothing nothing;

	return remote_is(srq->context) ? REMOTE_CALL(modify_srq, &call, &nothing)
				       : __real_ibv_modify_srq(srq, attr, mask);
}

WRAP(int, ibv_query_srq, struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct peer_object call = {srq->handle};
	struct peer_srq answer;
	int err;

	if (!remote_is(srq->context))
		return __real_ibv_query_srq(srq, attr);
	err = REMOTE_CALL(query_srq, &call, &answer);
	if (!err)
		*attr = answer.attr;
	return err;
}

WRAP(int, ibv_destroy_srq, struct ibv_srq *srq)
{
	return remote_is(srq->context) ? remote_release(srq->handle) : __real_ibv_destroy_srq(srq);
}

WRAP(struct ibv_qp *, ibv_create_qp, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const struct ibv_qp_init_attr_ex all = {
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
	};

	return remote_is(pd->context) ? remote_create_qp(pd, &all, false, &attr->cap)
				      : __real_ibv_create_qp(pd, attr);
}

WRAP(int, ibv_modify_qp, struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct peer_modify_qp call = {qp->handle, mask, *attr};
	struct peer_nothing nothing;

	return remote_is(qp->context) ? REMOTE_CALL(modify_qp, &call, &nothing)
				      : __real_ibv_modify_qp(qp, attr, mask);
}

WRAP(int, ibv_query_qp, struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	struct peer_query_qp call = {qp->handle, mask};
	struct peer_queried_qp answer;
	int err;

	if (!remote_is(qp->context))
		return __real_ibv_query_qp(qp, attr, mask, init);
	err = REMOTE_CALL(query_qp, &call, &answer);
	if (err)
		return err;
	*attr = answer.attr;
	*init = (struct ibv_qp_init_attr){
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.srq = qp->srq,
		.cap = answer.cap,
		.qp_type = answer.type,
		.sq_sig_all = answer.sq_sig_all,
	};
	return 0;
}

WRAP(int, ibv_destroy_qp, struct ibv_qp *qp)
{
	return remote_is(qp->context) ? remote_release(qp->handle) : __real_ibv_destroy_qp(qp);
}

WRAP(struct ibv_ah *, ibv_create_ah_from_wc, struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
     uint8_t port)
{
	struct peer_ah_from_wc call = {pd->handle, port, *wc, *grh};
	struct peer_object answer;
	struct ibv_ah *ah;

	if (!remote_is(pd->context))
		return __real_ibv_create_ah_from_wc(pd, wc, grh, port);
	REMOTE_MAKE(ah, ah_from_wc, &call, &answer);
	if (ah)
		*ah = (struct ibv_ah){pd->context, pd, answer.id};
	return ah;
}

WRAP(int, ibv_destroy_ah, struct ibv_ah *ah)
{
	return remote_is(ah->context) ? remote_release(ah->handle) : __real_ibv_destroy_ah(ah);
}
