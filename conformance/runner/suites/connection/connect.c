/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Connections of rdma_cm: what one side gives to rdma_connect(), rdma_accept() and rdma_reject(), and what the other
 * side's event and both QPs say of it.
 */
#include <errno.h>
#include <string.h>

#include "judge/watchdog.h"
#include "link/cm.h"
#include "suites/kit.h"

#define MOST_DATA 256

struct conn {
	struct kit *k;
	struct cm cm;
	struct rdma_cm_event *event;
	uint8_t data[MOST_DATA];
};

/* The peer process only knows the connection of rdma_post_writev(). */
static bool in_one_process(struct kit *k)
{
	if (k->r->dut.remote)
		seen(k->res, "the server is in another process; ");
	return !k->r->dut.remote;
}

/* Waits for the next event, which must be this one; it is acknowledged by the next call and by the end. */
static bool next_event(struct conn *c, enum rdma_cm_event_type type)
{
	const unsigned int timeout_ms = c->k->r->dut.timeout_ms;

	if (c->event)
		rdma_ack_cm_event(c->event);
	c->event = NULL;
	if (!watchdog_readable(c->cm.channel->fd, timeout_ms) ||
	    rdma_get_cm_event(c->cm.channel, &c->event)) {
		KIT_FAULT(c->k, "the event %s did not come", rdma_event_str(type));
		return false;
	}
	if (!kit_holds(c->k, c->event->event == type))
		KIT_FAULT(c->k, "event %s with status %d, expected %s", rdma_event_str(c->event->event),
			  c->event->status, rdma_event_str(type));
	return KIT_GOOD(c->k);
}

/* Up to rdma_connect(). Both ends must be in this process. */
static bool begin(struct conn *c, struct kit *k)
{
	int ret;

	memset(c, 0, sizeof(*c));
	c->k = k;
	for (unsigned int i = 0; i < MOST_DATA; i++)
		c->data[i] = (uint8_t)(7 * i + k->r->seed + 1) | 1;
	ret = cm_begin(&c->cm, &k->r->dut, 1, 0, &k->res->log);
	if (ret)
		KIT_FAULT(k, "%s failed with %s", c->cm.step, errno_name(ret));
	return !ret;
}

static void finish(struct conn *c)
{
	if (c->event)
		rdma_ack_cm_event(c->event);
	c->event = NULL;
	cm_close(&c->cm);
}

/* As C: private data of the same length, whose bytes do not matter. */
static void log_param(struct conn *c, const char *call, const struct rdma_conn_param *p)
{
	if (!p) {
		log_call(&c->k->res->log, "%s(id, NULL)", call);
		return;
	}
	log_call(&c->k->res->log,
		 "%s(id, &(struct rdma_conn_param){(uint8_t[256]){0}, %u, %u, %u, %u, %u, %u, %u, 0x%x})",
		 call, p->private_data_len, p->responder_resources, p->initiator_depth, p->flow_control,
		 p->retry_count, p->rnr_retry_count, p->srq, p->qp_num);
}

/* The request; the server's id is that of the event, which stays unacknowledged. */
static bool request(struct conn *c, struct rdma_conn_param *param)
{
	log_param(c, "rdma_connect", param);
	if (rdma_connect(c->cm.client, param)) {
		KIT_FAULT(c->k, "rdma_connect failed with %s", errno_name(errno));
		return false;
	}
	if (!next_event(c, RDMA_CM_EVENT_CONNECT_REQUEST))
		return false;
	c->cm.server = c->event->id;
	return true;
}

static bool server_qp(struct conn *c)
{
	struct ibv_qp_init_attr attr = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};

	if (rdma_create_qp(c->cm.server, NULL, &attr))
		KIT_FAULT(c->k, "rdma_create_qp failed with %s", errno_name(errno));
	return KIT_GOOD(c->k);
}

static bool answer(struct conn *c, struct rdma_conn_param *param)
{
	log_param(c, "rdma_accept", param);
	if (rdma_accept(c->cm.server, param))
		KIT_FAULT(c->k, "rdma_accept failed with %s", errno_name(errno));
	return KIT_GOOD(c->k);
}

static void said(struct kit *k, const char *side, const char *field, unsigned int got, unsigned int want)
{
	KIT_CHECK(k, got == want, "%s: %s is %u, expected %u", side, field, got, want);
}

/* What an event says, of what the other side gave. */
static void judge_values(struct conn *c, const char *side, const struct rdma_conn_param *p)
{
	const struct rdma_conn_param *e = &c->event->param.conn;

	said(c->k, side, "responder_resources", e->responder_resources, p->initiator_depth);
	said(c->k, side, "initiator_depth", e->initiator_depth, p->responder_resources);
	said(c->k, side, "flow_control", e->flow_control, p->flow_control);
	said(c->k, side, "rnr_retry_count", e->rnr_retry_count, p->rnr_retry_count);
	said(c->k, side, "srq", e->srq, p->srq);
	said(c->k, side, "qp_num", e->qp_num, p->qp_num);
	if (c->event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		said(c->k, side, "retry_count", e->retry_count, p->retry_count);
}

static void judge_data(struct conn *c, const char *side, unsigned int len)
{
	const uint8_t *got = c->event->param.conn.private_data;
	const unsigned int has = c->event->param.conn.private_data_len;

	KIT_CHECK(c->k, has >= len && (got || !len), "%s: %u bytes of private data, expected %u", side, has,
		  len);
	KIT_CHECK(c->k, !len || (got && !memcmp(got, c->data, len)), "%s: other private data", side);
	for (unsigned int i = len; got && i < has; i++)
		KIT_CHECK(c->k, !got[i], "%s: byte %u behind the private data is not 0", side, i);
}

/* RDMA READs and retries of both sides, as negotiated: the answer's values count. */
static void judge_qp(struct kit *k, const char *side, struct ibv_qp *qp, const struct ibv_qp_attr *want)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	KIT_CHECK(k,
		  !ibv_query_qp(qp, &attr,
				IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
					IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY,
				&init),
		  "ibv_query_qp failed");
	said(k, side, "the QP's state", attr.qp_state, IBV_QPS_RTS);
	said(k, side, "max_rd_atomic", attr.max_rd_atomic, want->max_rd_atomic);
	said(k, side, "max_dest_rd_atomic", attr.max_dest_rd_atomic, want->max_dest_rd_atomic);
	said(k, side, "retry_cnt", attr.retry_cnt, want->retry_cnt);
	said(k, side, "rnr_retry", attr.rnr_retry, want->rnr_retry);
}

static void judge_qps(struct conn *c, const struct rdma_conn_param *req, const struct rdma_conn_param *rep)
{
	struct ibv_qp_attr client = {.max_rd_atomic = rep->responder_resources,
				     .max_dest_rd_atomic = rep->initiator_depth,
				     .retry_cnt = req->retry_count,
				     .rnr_retry = rep->rnr_retry_count};
	struct ibv_qp_attr server = {.max_rd_atomic = rep->initiator_depth,
				     .max_dest_rd_atomic = rep->responder_resources,
				     .retry_cnt = req->retry_count,
				     .rnr_retry = req->rnr_retry_count};

	judge_qp(c->k, "the client's QP", c->cm.client->qp, &client);
	judge_qp(c->k, "the server's QP", c->cm.server->qp, &server);
}

static void established(struct conn *c, struct rdma_conn_param *req, struct rdma_conn_param *rep)
{
	rep->qp_num = c->cm.server->qp->qp_num;
	if (!next_event(c, RDMA_CM_EVENT_ESTABLISHED))
		return;
	judge_values(c, "what the client sees", rep);
	if (next_event(c, RDMA_CM_EVENT_ESTABLISHED))
		judge_qps(c, req, rep);
}

/* Both ids have QPs, so that qp_num and srq are not those of the structure. */
static void exchange(struct kit *k, struct rdma_conn_param req, struct rdma_conn_param rep)
{
	struct conn c;

	if (begin(&c, k)) {
		req.qp_num = rep.qp_num = 0x5a5a5a;
		req.srq = rep.srq = 1;
		if (request(&c, &req)) {
			req.qp_num = c.cm.client->qp->qp_num;
			req.srq = 0;
			judge_values(&c, "what the server sees", &req);
			if (KIT_GOOD(k) && server_qp(&c) && answer(&c, &rep)) {
				rep.srq = 0;
				established(&c, &req, &rep);
			}
		}
	}
	finish(&c);
}

static struct rdma_conn_param values(int responder, int initiator, int flow, int retry, int rnr)
{
	return (struct rdma_conn_param){.responder_resources = (uint8_t)responder,
					.initiator_depth = (uint8_t)initiator,
					.flow_control = (uint8_t)flow,
					.retry_count = (uint8_t)retry,
					.rnr_retry_count = (uint8_t)rnr};
}

static void parameters(struct kit *k)
{
	const struct ibv_device_attr *a = &k->r->dut.requester.attr, *b = &k->r->dut.responder.attr;
	const int most =
		a->max_qp_rd_atom < b->max_qp_init_rd_atom ? a->max_qp_rd_atom : b->max_qp_init_rd_atom;
	const int edge = most < 128 ? most : 128;

	if (!in_one_process(k))
		return;
	exchange(k, values(1, 2, 0, 0, 7), values(2, 1, 1, 5, 0));
	if (KIT_GOOD(k))
		exchange(k, values(4, 1, 1, 7, 0), values(1, 4, 0, 0, 6));
	if (KIT_GOOD(k))
		exchange(k, values(edge, edge, 1, 1, 1), values(edge, edge, 1, 7, 7));
	if (KIT_GOOD(k))
		exchange(k, values(0, 0, 0, 6, 3), values(0, 0, 0, 1, 4));
}

/* An answer without parameters takes those of the request. */
static void no_parameters(struct kit *k)
{
	struct rdma_conn_param req = values(2, 1, 0, 3, 7), rep = values(1, 2, 0, 0, 7);
	struct conn c;

	if (!in_one_process(k))
		return;
	if (begin(&c, k) && request(&c, &req) && server_qp(&c) && answer(&c, NULL) &&
	    next_event(&c, RDMA_CM_EVENT_ESTABLISHED)) {
		said(k, "what the client sees", "responder_resources",
		     c.event->param.conn.responder_resources, rep.initiator_depth);
		said(k, "what the client sees", "initiator_depth", c.event->param.conn.initiator_depth,
		     rep.responder_resources);
		next_event(&c, RDMA_CM_EVENT_ESTABLISHED);
	}
	finish(&c);
}

/* One connection, with so many bytes of private data each way; `refused`: the last call must fail. */
static void carry(struct kit *k, unsigned int ask, unsigned int reply, bool refused)
{
	struct rdma_conn_param req = values(1, 1, 0, 7, 7), rep = req;
	struct conn c;

	if (!begin(&c, k)) {
		finish(&c);
		return;
	}
	req.private_data = rep.private_data = c.data;
	req.private_data_len = (uint8_t)ask;
	rep.private_data_len = (uint8_t)reply;
	if (refused && !reply) {
		errno = 0;
		if (rdma_connect(c.cm.client, &req) != -1 || !errno)
			KIT_FAULT(k, "rdma_connect with %u bytes of private data must return -1, with errno",
				  ask);
	} else if (request(&c, &req)) {
		judge_data(&c, "the request", ask);
		if (KIT_GOOD(k) && server_qp(&c) && refused) {
			errno = 0;
			if (rdma_accept(c.cm.server, &rep) != -1 || !errno)
				KIT_FAULT(k,
					  "rdma_accept with %u bytes of private data must return -1, with "
					  "errno",
					  reply);
		} else if (KIT_GOOD(k) && answer(&c, &rep) && next_event(&c, RDMA_CM_EVENT_ESTABLISHED)) {
			judge_data(&c, "the answer", reply);
			next_event(&c, RDMA_CM_EVENT_ESTABLISHED);
		}
	}
	finish(&c);
}

static void private_data(struct kit *k)
{
	const unsigned int ask = (unsigned int)kit_arg(k, "request", 0),
			   reply = (unsigned int)kit_arg(k, "answer", 0);

	if (!in_one_process(k))
		return;
	carry(k, 0, 1, false);
	if (KIT_GOOD(k))
		carry(k, 1, 0, false);
	if (KIT_GOOD(k))
		carry(k, ask, reply, false);
	if (KIT_GOOD(k))
		carry(k, ask + 1, 0, true);
	if (KIT_GOOD(k))
		carry(k, 0, reply + 1, true);
}

/* One request that is refused, with so many bytes. */
static void refuse(struct kit *k, unsigned int len)
{
	struct rdma_conn_param req = values(1, 1, 0, 7, 7);
	struct conn c;

	if (begin(&c, k) && request(&c, &req)) {
		log_call(&k->res->log, "rdma_reject(id, (uint8_t[256]){0}, %u)", len);
		if (rdma_reject(c.cm.server, len ? c.data : NULL, (uint8_t)len))
			KIT_FAULT(k, "rdma_reject failed with %s", errno_name(errno));
		else if (next_event(&c, RDMA_CM_EVENT_REJECTED))
			judge_data(&c, "the refusal", len);
	}
	finish(&c);
}

static void reject(struct kit *k)
{
	if (!in_one_process(k))
		return;
	refuse(k, 0);
	if (KIT_GOOD(k))
		refuse(k, 1);
	if (KIT_GOOD(k))
		refuse(k, 100);
}

/* Ids without a QP: qp_num and srq are those of the structure. */
static void numbers(struct kit *k)
{
	struct rdma_conn_param req = values(1, 1, 0, 7, 7), rep = req;
	struct conn c;

	if (!in_one_process(k))
		return;
	req.qp_num = 0x81c3e7;
	rep.qp_num = 0x7e3c18;
	req.srq = 1;
	if (begin(&c, k)) {
		rdma_destroy_qp(c.cm.client);
		if (request(&c, &req)) {
			judge_values(&c, "what the server sees", &req);
			if (KIT_GOOD(k) && answer(&c, &rep) && next_event(&c, RDMA_CM_EVENT_CONNECT_RESPONSE))
				judge_values(&c, "what the client sees", &rep);
			if (KIT_GOOD(k) && rdma_establish(c.cm.client))
				KIT_FAULT(k, "rdma_establish failed with %s", errno_name(errno));
			if (KIT_GOOD(k))
				next_event(&c, RDMA_CM_EVENT_ESTABLISHED);
		}
	}
	finish(&c);
}

/* One request after another, more than the backlog of the listener: it limits those that wait, not those that were taken. */
static void backlog(struct kit *k)
{
	struct rdma_conn_param req = values(1, 1, 0, 7, 7);
	struct conn c;
	int ret;

	if (!in_one_process(k))
		return;
	if (begin(&c, k))
		for (int turn = 0; turn < 3 && request(&c, &req); turn++) {
			if (rdma_reject(c.cm.server, NULL, 0))
				KIT_FAULT(k, "rdma_reject failed with %s", errno_name(errno));
			if (!KIT_GOOD(k) || !next_event(&c, RDMA_CM_EVENT_REJECTED))
				break;
			rdma_ack_cm_event(c.event); /* an id cannot be destroyed before its events */
			c.event = NULL;
			log_call(&k->res->log, "/* another id connects to the listener */");
			ret = cm_next(&c.cm, &k->r->dut);
			if (ret)
				KIT_FAULT(k, "%s failed with %s", c.cm.step, errno_name(ret));
			if (ret)
				break;
		}
	finish(&c);
}

/* The side that asked is told when the other one has answered. */
static void told(struct conn *c, struct rdma_cm_id *asks, struct rdma_cm_id *other)
{
	struct kit *k = c->k;

	if (rdma_disconnect(asks))
		KIT_FAULT(k, "rdma_disconnect failed with %s", errno_name(errno));
	if (!KIT_GOOD(k) || !next_event(c, RDMA_CM_EVENT_DISCONNECTED))
		return;
	KIT_CHECK(k, c->event->id == other, "the first event is of the side that called rdma_disconnect");
	KIT_CHECK(k, !rdma_disconnect(other), "rdma_disconnect of the other side failed with %s",
		  errno_name(errno));
	if (!next_event(c, RDMA_CM_EVENT_DISCONNECTED))
		return;
	KIT_CHECK(k, c->event->id == asks, "the second event is of the same side");
	kit_expect_state(k, asks->qp, IBV_QPS_ERR);
	kit_expect_state(k, other->qp, IBV_QPS_ERR);
}

/* One side ends the connection: both sides are told, and both QPs are in ERR. */
static void disconnect(struct kit *k, bool by_server)
{
	struct rdma_conn_param param = values(1, 1, 0, 7, 7);
	struct conn c;

	if (begin(&c, k) && request(&c, &param) && server_qp(&c) && answer(&c, &param) &&
	    next_event(&c, RDMA_CM_EVENT_ESTABLISHED) && next_event(&c, RDMA_CM_EVENT_ESTABLISHED)) {
		log_call(&k->res->log, "rdma_disconnect(id) /* of the %s */",
			 by_server ? "server" : "client");
		told(&c, by_server ? c.cm.server : c.cm.client, by_server ? c.cm.client : c.cm.server);
	}
	finish(&c);
}

static void disconnects(struct kit *k)
{
	if (!in_one_process(k))
		return;
	disconnect(k, false);
	if (KIT_GOOD(k))
		disconnect(k, true);
}

const struct scenario connect_scenarios[] = {
	{"connect_parameters", parameters}, {"connect_nothing", no_parameters},
	{"connect_data", private_data},     {"connect_refused", reject},
	{"connect_numbers", numbers},       {"connect_backlog", backlog},
	{"connect_ended", disconnects},     {NULL, NULL},
};
