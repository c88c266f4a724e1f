/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Calls that move data: memory, requests, completions, events. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "execute/collect.h"
#include "remote/agent.h"

#define CANARY 0xc7

/* Collects what has changed here since the last synchronization, in the blocks of the call. */
static int own_changes(struct agent *a, const struct agent_args *args, uint32_t num)
{
	struct peer_span block;
	size_t total = 0;

	a->scratch.length = 0;
	for (uint32_t i = 0; i < num; i++) {
		memcpy(&block, args->tail + i * sizeof(block), sizeof(block));
		total += block.length;
		if (!pool_holds(&a->pool, block.offset, block.length) || total > a->pool.size)
			return EPROTO;
		if (!pool_changes(&a->pool, block.offset, block.length, &a->scratch))
			return ENOMEM;
	}
	return 0;
}

int agent_sync(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_sync *call = args->call;
	size_t blocks = call->num_blocks * sizeof(struct peer_span);
	int err;

	if (call->num_blocks > PEER_OBJECTS || blocks > args->tail_length)
		return EPROTO;
	err = own_changes(a, args, call->num_blocks);
	if (!err)
		err = pool_apply(&a->pool, args->tail + blocks, args->tail_length - blocks);
	if (err)
		return err;
	/* bytes written by both sides take the runner's value: it writes before a request is posted */
	pool_agree(&a->pool, a->scratch.at, a->scratch.length);
	return peer_append(&a->tail, a->scratch.at, a->scratch.length) ? 0 : ENOMEM;
}

int agent_copy_dm(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_copy_dm *call = args->call;
	bool bad = false;
	struct ibv_dm *dm = agent_find(a, call->dm, KIND_DM, &bad);

	if (bad || !dm)
		return EBADF;
	if (!call->length)
		return ibv_memcpy_to_dm(dm, call->offset, args->tail, args->tail_length);
	if (call->length > a->pool.size || !peer_append(&a->tail, NULL, call->length))
		return ENOMEM;
	return ibv_memcpy_from_dm(a->tail.at, dm, call->offset, call->length);
}

static struct ibv_cq *find_cq(struct agent *a, peer_id id, bool *extended)
{
	bool lent = false, bad = false;
	struct ibv_cq *cq = agent_find(a, id, KIND_CQ, &bad);

	*extended = !bad && id && a->objects[id].extended;
	return bad ? agent_find(a, id, KIND_LENT, &lent) : cq;
}

int agent_req_notify_cq(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_notify *call = args->call;
	bool extended;
	struct ibv_cq *cq = find_cq(a, call->cq, &extended);

	return cq ? ibv_req_notify_cq(cq, call->solicited_only) : EBADF;
}

int agent_modify_cq(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_modify_cq *call = args->call;
	struct ibv_modify_cq_attr attr = call->attr;
	bool extended;
	struct ibv_cq *cq = find_cq(a, call->cq, &extended);

	return cq ? ibv_modify_cq(cq, &attr) : EBADF;
}

int agent_query_rt_values(struct agent *a, const struct agent_args *args, void *to)
{
	struct peer_ticks *answer = to;

	return dut_ticks(&a->end, &answer->raw_clock) ? 0 : EOPNOTSUPP;
}

int agent_poll_cq(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_poll *call = args->call;
	struct peer_poll *answer = to;
	struct ibv_wc wc[PEER_WRS + 1];
	size_t size = call->num * sizeof(wc[0]);
	uint8_t *behind;
	bool extended;
	struct ibv_cq *cq = find_cq(a, call->cq, &extended);

	if (!cq)
		return EBADF;
	if (call->num < 1 || call->num > PEER_WRS || args->tail_length != size)
		return EINVAL;
	memcpy(wc, args->tail, size);
	behind = (uint8_t *)&wc[call->num];
	memset(behind, CANARY, sizeof(wc[0]));
	if (extended)
		answer->num = poll_extended((struct ibv_cq_ex *)cq, wc,
					    a->objects[call->cq].timed ? &answer->timestamp : NULL);
	else
		answer->num = ibv_poll_cq(cq, call->num, wc);
	for (size_t i = 0; i < sizeof(wc[0]); i++)
		if (behind[i] != CANARY)
			return EOVERFLOW; /* an entry beyond the requested number was written */
	return peer_append(&a->tail, wc, size) ? 0 : ENOMEM;
}

/* Restores SGE list and object pointers of a request. */
static int decode_send(struct agent *a, const struct ibv_qp *qp, struct peer_send_wr *from)
{
	struct ibv_send_wr *wr = &from->wr;
	bool bad = false;

	if (wr->num_sge < 0 || wr->num_sge > PEER_SGES || wr->opcode == IBV_WR_TSO)
		return EINVAL;
	wr->next = NULL;
	wr->sg_list = wr->num_sge ? from->sge : NULL;
	for (int i = 0; i < wr->num_sge && wr->send_flags & IBV_SEND_INLINE; i++)
		if (!pool_holds(&a->pool, from->sge[i].addr - (uintptr_t)a->pool.base, from->sge[i].length))
			return EFAULT;
	if (qp->qp_type == IBV_QPT_UD)
		wr->wr.ud.ah = agent_find(a, from->ah, KIND_AH, &bad);
	if (wr->opcode == IBV_WR_BIND_MW) {
		wr->bind_mw.mw = agent_find(a, from->mw, KIND_MW, &bad);
		wr->bind_mw.bind_info.mr = agent_find(a, from->mr, KIND_MR, &bad);
		if (!wr->bind_mw.mw)
			return EBADF;
		wr->bind_mw.mw->rkey = from->mw_rkey; /* set by the application for type 2 (ibv_bind_mw(3)) */
	}
	return bad || (qp->qp_type == IBV_QPT_UD && !wr->wr.ud.ah) ? EBADF : 0;
}

int agent_post_send(struct agent *a, const struct agent_args *args, void *to)
{
	static struct peer_send_wr list[PEER_WRS];
	const struct peer_post *call = args->call;
	struct peer_posted *answer = to;
	struct ibv_send_wr *failed = NULL;
	bool bad = false;
	struct ibv_qp *qp = agent_find(a, call->queue, KIND_QP, &bad);
	int err = 0;

	if (bad || !qp)
		return EBADF;
	if (!call->num || call->num > PEER_WRS || args->tail_length != call->num * sizeof(list[0]))
		return EINVAL;
	memcpy(list, args->tail, args->tail_length);
	for (uint32_t i = 0; i < call->num && !err; i++) {
		err = decode_send(a, qp, &list[i]);
		if (i)
			list[i - 1].wr.next = &list[i].wr;
	}
	if (err)
		return err;
	answer->result = ibv_post_send(qp, &list[0].wr, &failed);
	answer->bad = answer->result ? (int)call->num : -1;
	for (uint32_t i = 0; i < call->num && answer->result; i++)
		if (failed == &list[i].wr)
			answer->bad = i;
	memset(list, 0xff, sizeof(list)); /* the provider must have copied it by now */
	return 0;
}

int agent_post_recv(struct agent *a, const struct agent_args *args, void *to)
{
	static struct peer_recv_wr list[PEER_WRS];
	const struct peer_post *call = args->call;
	struct ibv_recv_wr wr[PEER_WRS] = {}, *failed = NULL;
	struct peer_posted *answer = to;
	bool no_qp = false, no_srq = false;
	struct ibv_qp *qp = agent_find(a, call->queue, KIND_QP, &no_qp);
	struct ibv_srq *srq = agent_find(a, call->queue, KIND_SRQ, &no_srq);

	if (!qp && !srq)
		return EBADF;
	if (!call->num || call->num > PEER_WRS || args->tail_length != call->num * sizeof(list[0]))
		return EINVAL;
	memcpy(list, args->tail, args->tail_length);
	for (uint32_t i = 0; i < call->num; i++) {
		if (list[i].num_sge < 0 || list[i].num_sge > PEER_SGES)
			return EINVAL;
		wr[i] = (struct ibv_recv_wr){.wr_id = list[i].wr_id,
					     .next = i + 1 < call->num ? &wr[i + 1] : NULL,
					     .sg_list = list[i].num_sge ? list[i].sge : NULL,
					     .num_sge = list[i].num_sge};
	}
	answer->result = srq ? ibv_post_srq_recv(srq, wr, &failed) : ibv_post_recv(qp, wr, &failed);
	answer->bad = answer->result ? (int)call->num : -1;
	for (uint32_t i = 0; i < call->num && answer->result; i++)
		if (failed == &wr[i])
			answer->bad = i;
	memset(list, 0xff, sizeof(list)); /* the provider must have copied it by now */
	memset(wr, 0xff, sizeof(wr));
	return 0;
}

static bool readable(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, timeout_ms) == 1;
}

int agent_wait(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_wait *call = args->call;
	struct peer_number *answer = to;
	bool bad = false;
	struct ibv_comp_channel *channel = agent_find(a, call->channel, KIND_CHANNEL, &bad);

	if (bad)
		return EBADF;
	if (call->timeout_ms < 0 || (unsigned int)call->timeout_ms > a->timeout_ms)
		return EINVAL;
	answer->number = readable(channel ? channel->fd : a->end.ctx->async_fd, call->timeout_ms);
	return 0;
}

int agent_get_cq_event(struct agent *a, const struct agent_args *args, void *to)
{
	const struct peer_object *call = args->call;
	struct peer_object *answer = to;
	bool bad = false;
	struct ibv_comp_channel *channel = agent_find(a, call->id, KIND_CHANNEL, &bad);
	struct ibv_cq *cq;
	void *context;

	if (bad || !channel)
		return EBADF;
	if (!readable(channel->fd, 0))
		return EAGAIN;
	if (ibv_get_cq_event(channel, &cq, &context))
		return errno_of_failure();
	answer->id = agent_number(a, cq);
	ibv_ack_cq_events(cq, 1);
	return 0;
}

static bool has_object(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		return false;
	default:
		return true;
	}
}

int agent_get_async_event(struct agent *a, const struct agent_args *args, void *to)
{
	struct peer_event *answer = to;
	struct ibv_async_event event;

	if (!readable(a->end.ctx->async_fd, 0))
		return EAGAIN;
	if (ibv_get_async_event(a->end.ctx, &event))
		return errno_of_failure();
	answer->type = event.event_type;
	if (has_object(event.event_type))
		answer->id = agent_number(a, event.element.qp); /* a union of pointers */
	else
		answer->port = event.element.port_num;
	ibv_ack_async_event(&event);
	return 0;
}
