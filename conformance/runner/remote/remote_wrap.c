/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The calls that are functions of libibverbs. The linker (--wrap) redirects the runner's calls to these: an object of the
 * remote context is handled by the peer process, any other by libibverbs.
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
	struct peer_alloc_pd_answer answer;
	struct ibv_pd *pd;

	if (!remote_is(ctx))
		return __real_ibv_alloc_pd(ctx);
	REMOTE_MAKE(pd, alloc_pd, &answer);
	if (pd)
		*pd = (struct ibv_pd){ctx, answer.id};
	return pd;
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	struct peer_reg_mr_answer answer;
	struct ibv_mr *mr;

	REMOTE_MAKE(mr, reg_mr, &answer, pd->handle, access, (uintptr_t)addr, length, iova);
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

WRAP(struct ibv_comp_channel *, ibv_create_comp_channel, struct ibv_context *ctx)
{
	struct peer_create_channel_answer answer;
	struct remote_channel *channel;

	if (!remote_is(ctx))
		return __real_ibv_create_comp_channel(ctx);
	REMOTE_MAKE(channel, create_channel, &answer);
	if (!channel)
		return NULL;
	*channel = (struct remote_channel){{ctx, -1, 0}, answer.id};
	return &channel->channel;
}

WRAP(struct ibv_cq *, ibv_create_cq, struct ibv_context *ctx, int cqe, void *cq_context,
     struct ibv_comp_channel *channel, int vector)
{
	return remote_is(ctx) ? remote_create_cq(cqe, channel, false, 0)
			      : __real_ibv_create_cq(ctx, cqe, cq_context, channel, vector);
}

static bool remote_ready(peer_id channel, int timeout_ms)
{
	struct peer_wait_answer answer;

	return !REMOTE_ASK(wait, &answer, channel, timeout_ms) && answer.ready;
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
	struct peer_get_cq_event_answer answer;
	int err;

	if (!remote_is(channel->context))
		return __real_ibv_get_cq_event(channel, cq, cq_context);
	err = REMOTE_ASK(get_cq_event, &answer, ((struct remote_channel *)channel)->id);
	*cq = err ? NULL : remote_find(answer.cq);
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
	struct peer_get_async_event_answer answer;

	if (!remote_is(ctx))
		return __real_ibv_get_async_event(ctx, event);
	errno = REMOTE_ASK(get_async_event, &answer);
	if (errno)
		return -1;
	*event = (struct ibv_async_event){.event_type = answer.type};
	if (answer.id)
		event->element.qp = remote_find(answer.id);
	else
		event->element.port_num = answer.port;
	return 0;
}

/* Whether the event is of an object of the remote end. All objects begin with their context. */
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
	return remote_is(pd->context) ? remote_create_srq(pd, NULL, NULL, &attr->attr)
				      : __real_ibv_create_srq(pd, attr);
}

WRAP(int, ibv_modify_srq, struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	return remote_is(srq->context) ? REMOTE_DO(modify_srq, srq->handle, mask, *attr)
				       : __real_ibv_modify_srq(srq, attr, mask);
}

WRAP(int, ibv_query_srq, struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct peer_query_srq_answer answer;
	int err;

	if (!remote_is(srq->context))
		return __real_ibv_query_srq(srq, attr);
	err = REMOTE_ASK(query_srq, &answer, srq->handle);
	if (!err)
		*attr = answer.attr;
	return err;
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
	return remote_is(qp->context) ? REMOTE_DO(modify_qp, qp->handle, mask, *attr)
				      : __real_ibv_modify_qp(qp, attr, mask);
}

WRAP(int, ibv_query_qp, struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	struct peer_query_qp_answer answer;
	int err;

	if (!remote_is(qp->context))
		return __real_ibv_query_qp(qp, attr, mask, init);
	err = REMOTE_ASK(query_qp, &answer, qp->handle, mask);
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

WRAP(struct ibv_ah *, ibv_create_ah_from_wc, struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
     uint8_t port)
{
	struct peer_ah_from_wc_answer answer;
	struct ibv_ah *ah;

	if (!remote_is(pd->context))
		return __real_ibv_create_ah_from_wc(pd, wc, grh, port);
	REMOTE_MAKE(ah, ah_from_wc, &answer, pd->handle, port, *wc, *grh);
	if (ah)
		*ah = (struct ibv_ah){pd->context, pd, answer.id};
	return ah;
}

/* The functions that end an object. */
#define WRAP_END(name, type, id)                                                                             \
	WRAP(int, name, struct type *object)                                                                 \
	{                                                                                                    \
		return remote_is(object->context) ? remote_release(id) : __real_##name(object);              \
	}
WRAP_END(ibv_dealloc_pd, ibv_pd, object->handle)
WRAP_END(ibv_dereg_mr, ibv_mr, object->handle)
WRAP_END(ibv_destroy_comp_channel, ibv_comp_channel, ((struct remote_channel *)object)->id)
WRAP_END(ibv_destroy_cq, ibv_cq, object->handle)
WRAP_END(ibv_destroy_srq, ibv_srq, object->handle)
WRAP_END(ibv_destroy_qp, ibv_qp, object->handle)
WRAP_END(ibv_destroy_ah, ibv_ah, object->handle)
