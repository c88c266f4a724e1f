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
static int own_changes(struct agent *a, const uint8_t *blocks, uint32_t num)
{
	struct peer_span block;
	size_t total = 0;

	a->scratch.length = 0;
	for (uint32_t i = 0; i < num; i++) {
		memcpy(&block, blocks + i * sizeof(block), sizeof(block));
		total += block.length;
		if (!pool_holds(&a->pool, block.offset, block.length) || total > a->pool.size)
			return EPROTO;
		if (!pool_changes(&a->pool, block.offset, block.length, &a->scratch))
			return ENOMEM;
	}
	return 0;
}

int agent_sync(struct agent_sync *c)
{
	size_t blocks = c->call->num_blocks * sizeof(struct peer_span);
	struct agent *a = c->a;
	int err;

	if (c->call->num_blocks > PEER_OBJECTS || blocks > c->tail.length)
		return EPROTO;
	err = own_changes(a, c->tail.at, c->call->num_blocks);
	if (!err)
		err = pool_apply(&a->pool, c->tail.at + blocks, c->tail.length - blocks);
	if (err)
		return err;
	/* bytes written by both sides take the runner's value: it writes before a request is posted */
	pool_agree(&a->pool, a->scratch.at, a->scratch.length);
	return peer_append(&a->tail, a->scratch.at, a->scratch.length) ? 0 : ENOMEM;
}

int agent_copy_dm(struct agent_copy_dm *c)
{
	const struct peer_copy_dm *call = c->call;

	if (!call->length)
		return ibv_memcpy_to_dm(c->dm, call->offset, c->tail.at, c->tail.length);
	if (call->length > c->a->pool.size || !peer_append(&c->a->tail, NULL, call->length))
		return ENOMEM;
	return ibv_memcpy_from_dm(c->a->tail.at, c->dm, call->offset, call->length);
}

int agent_req_notify_cq(struct agent_req_notify_cq *c)
{
	return ibv_req_notify_cq(c->cq, c->call->solicited_only);
}

int agent_modify_cq(struct agent_modify_cq *c)
{
	struct ibv_modify_cq_attr attr = c->call->attr;

	return ibv_modify_cq(c->cq, &attr);
}

int agent_query_rt_values(struct agent_query_rt_values *c)
{
	return dut_ticks(&c->a->end, &c->answer->raw_clock) ? 0 : EOPNOTSUPP;
}

int agent_poll_cq(struct agent_poll_cq *c)
{
	const struct agent_object *o = &c->a->objects[c->call->cq];
	int num = c->call->num;
	size_t size = num * sizeof(struct ibv_wc);
	struct ibv_wc wc[PEER_WRS + 1];
	uint8_t *behind;

	if (num < 1 || num > PEER_WRS || c->tail.length != size)
		return EINVAL;
	memcpy(wc, c->tail.at, size);
	behind = (uint8_t *)&wc[num];
	memset(behind, CANARY, sizeof(wc[0]));
	if (o->extended)
		c->answer->result =
			poll_extended((struct ibv_cq_ex *)c->cq, wc, o->timed ? &c->answer->timestamp : NULL);
	else
		c->answer->result = ibv_poll_cq(c->cq, num, wc);
	for (size_t i = 0; i < sizeof(wc[0]); i++)
		if (behind[i] != CANARY)
			return EOVERFLOW; /* an entry beyond the requested number was written */
	return peer_append(&c->a->tail, wc, size) ? 0 : ENOMEM;
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

int agent_post_send(struct agent_post_send *c)
{
	static struct peer_send_wr list[PEER_WRS];
	const uint32_t num = c->call->num;
	struct ibv_send_wr *failed = NULL;
	int err = 0;

	if (!num || num > PEER_WRS || c->tail.length != num * sizeof(list[0]))
		return EINVAL;
	memcpy(list, c->tail.at, c->tail.length);
	for (uint32_t i = 0; i < num && !err; i++) {
		err = decode_send(c->a, c->qp, &list[i]);
		if (i)
			list[i - 1].wr.next = &list[i].wr;
	}
	if (err)
		return err;
	c->answer->result = ibv_post_send(c->qp, &list[0].wr, &failed);
	c->answer->bad = c->answer->result ? (int)num : -1;
	for (uint32_t i = 0; i < num && c->answer->result; i++)
		if (failed == &list[i].wr)
			c->answer->bad = i;
	memset(list, 0xff, sizeof(list)); /* the provider must have copied it by now */
	return 0;
}

int agent_post_recv(struct agent_post_recv *c)
{
	static struct peer_recv_wr list[PEER_WRS];
	const uint32_t num = c->call->num;
	struct ibv_recv_wr wr[PEER_WRS] = {}, *failed = NULL;

	if (!c->qp && !c->srq)
		return EBADF;
	if (!num || num > PEER_WRS || c->tail.length != num * sizeof(list[0]))
		return EINVAL;
	memcpy(list, c->tail.at, c->tail.length);
	for (uint32_t i = 0; i < num; i++) {
		if (list[i].num_sge < 0 || list[i].num_sge > PEER_SGES)
			return EINVAL;
		wr[i] = (struct ibv_recv_wr){.wr_id = list[i].wr_id,
					     .next = i + 1 < num ? &wr[i + 1] : NULL,
					     .sg_list = list[i].num_sge ? list[i].sge : NULL,
					     .num_sge = list[i].num_sge};
	}
	c->answer->result =
		c->srq ? ibv_post_srq_recv(c->srq, wr, &failed) : ibv_post_recv(c->qp, wr, &failed);
	c->answer->bad = c->answer->result ? (int)num : -1;
	for (uint32_t i = 0; i < num && c->answer->result; i++)
		if (failed == &wr[i])
			c->answer->bad = i;
	memset(list, 0xff, sizeof(list)); /* the provider must have copied it by now */
	memset(wr, 0xff, sizeof(wr));
	return 0;
}

static bool readable(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, timeout_ms) == 1;
}

int agent_wait(struct agent_wait *c)
{
	const int timeout_ms = c->call->timeout_ms;

	if (timeout_ms < 0 || (unsigned int)timeout_ms > c->a->timeout_ms)
		return EINVAL;
	c->answer->ready = readable(c->channel ? c->channel->fd : c->a->end.ctx->async_fd, timeout_ms);
	return 0;
}

int agent_get_cq_event(struct agent_get_cq_event *c)
{
	struct ibv_cq *cq;
	void *context;

	if (!readable(c->channel->fd, 0))
		return EAGAIN;
	if (ibv_get_cq_event(c->channel, &cq, &context))
		return errno_of_failure();
	c->answer->cq = agent_number(c->a, cq);
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

int agent_get_async_event(struct agent_get_async_event *c)
{
	struct ibv_context *ctx = c->a->end.ctx;
	struct ibv_async_event event;

	if (!readable(ctx->async_fd, 0))
		return EAGAIN;
	if (ibv_get_async_event(ctx, &event))
		return errno_of_failure();
	c->answer->type = event.event_type;
	if (has_object(event.event_type))
		c->answer->id = agent_number(c->a, event.element.qp); /* a union of pointers */
	else
		c->answer->port = event.element.port_num;
	ibv_ack_async_event(&event);
	return 0;
}
