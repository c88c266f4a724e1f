/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Connections of rdma_cm: what one side gives to rdma_connect(), rdma_accept() and rdma_reject(), and what the other
 * side's event and both QPs say of it.
 */
#include <errno.h>
#include <string.h>

#include "suites/connection/conn.h"

/* IBTA 12.6.7.2 */
#define REJECTED_BY_CONSUMER 28

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
	if (!conn_event(c, RDMA_CM_EVENT_ESTABLISHED))
		return;
	judge_values(c, "what the client sees", rep);
	if (conn_event(c, RDMA_CM_EVENT_ESTABLISHED))
		judge_qps(c, req, rep);
}

/* Both ids have QPs, so that qp_num and srq are not those of the structure. */
static void exchange(struct kit *k, struct rdma_conn_param req, struct rdma_conn_param rep)
{
	struct conn c;

	if (conn_begin(&c, k)) {
		req.qp_num = rep.qp_num = 0x5a5a5a;
		req.srq = rep.srq = 1;
		if (conn_request(&c, &req)) {
			req.qp_num = c.cm.client->qp->qp_num;
			req.srq = 0;
			judge_values(&c, "what the server sees", &req);
			if (KIT_GOOD(k) && conn_server_qp(&c) && conn_accept(&c, &rep)) {
				rep.srq = 0;
				established(&c, &req, &rep);
			}
		}
	}
	conn_finish(&c);
}

static void connect_parameters(struct kit *k)
{
	const struct ibv_device_attr *a = &k->r->dut.requester.attr, *b = &k->r->dut.responder.attr;
	const int most =
		a->max_qp_rd_atom < b->max_qp_init_rd_atom ? a->max_qp_rd_atom : b->max_qp_init_rd_atom;
	const int edge = most < 128 ? most : 128;

	if (!conn_in_one_process(k))
		return;
	exchange(k, conn_values(1, 2, 0, 0, 7), conn_values(2, 1, 1, 5, 0));
	if (KIT_GOOD(k))
		exchange(k, conn_values(4, 1, 1, 7, 0), conn_values(1, 4, 0, 0, 6));
	if (KIT_GOOD(k))
		exchange(k, conn_values(edge, edge, 1, 1, 1), conn_values(edge, edge, 1, 7, 7));
	if (KIT_GOOD(k))
		exchange(k, conn_values(0, 0, 0, 6, 3), conn_values(0, 0, 0, 1, 4));
	if (KIT_GOOD(k)) /* the server takes fewer READs than the client asks for */
		exchange(k, conn_values(2, 3, 0, 7, 7), conn_values(1, 2, 0, 7, 7));
}

SCENARIO(connect_parameters) = {
	{"parameters", SUITE("connect"), QPS("RC"),
	 CLAUSE("rdma_get_cm_event/CONN-EVENT-DATA/responder_resources"),
	 ALSO("rdma_get_cm_event/CONN-EVENT-DATA/initiator_depth "
	      "rdma_get_cm_event/CONN-EVENT-DATA/flow_control "
	      "rdma_get_cm_event/CONN-EVENT-DATA/retry_count "
	      "rdma_get_cm_event/CONN-EVENT-DATA/rnr_retry_count rdma_get_cm_event/CONN-EVENT-DATA/srq "
	      "rdma_get_cm_event/CONN-EVENT-DATA/qp_num rdma_connect/CONNECTION-PROPERTIES/adjust "
	      "rdma_connect/CONNECTION-PROPERTIES/retry_count "
	      "rdma_connect/CONNECTION-PROPERTIES/rnr_retry_count "
	      "rdma_connect/CONNECTION-PROPERTIES/qp_num"),
	 NEEDS("rdma_cm"),
	 SAYS("each side's event has the parameters of the other one, and both QPs have those of the "
	      "answer")},
	{},
};

/* An answer without parameters takes those of the request. */
static void connect_nothing(struct kit *k)
{
	struct rdma_conn_param req = conn_values(2, 1, 0, 3, 7), rep = conn_values(1, 2, 0, 0, 7);
	struct conn c;

	if (!conn_in_one_process(k))
		return;
	if (conn_begin(&c, k) && conn_request(&c, &req) && conn_server_qp(&c) && conn_accept(&c, NULL) &&
	    conn_event(&c, RDMA_CM_EVENT_ESTABLISHED)) {
		said(k, "what the client sees", "responder_resources",
		     c.event->param.conn.responder_resources, rep.initiator_depth);
		said(k, "what the client sees", "initiator_depth", c.event->param.conn.initiator_depth,
		     rep.responder_resources);
		conn_event(&c, RDMA_CM_EVENT_ESTABLISHED);
	}
	conn_finish(&c);
}

SCENARIO(connect_nothing) = {
	{"no-parameters", SUITE("connect"), QPS("RC"), CLAUSE("rdma_accept/CONNECTION-PROPERTIES/NULL"),
	 NEEDS("rdma_cm"),
	 SAYS("an answer without parameters takes responder_resources and initiator_depth of the "
	      "request")},
	{},
};

/* One connection, with so many bytes of private data each way; `refused`: the last call must fail. */
static void carry(struct kit *k, unsigned int ask, unsigned int reply, bool refused)
{
	struct rdma_conn_param req = conn_values(1, 1, 0, 7, 7), rep = req;
	struct conn c;

	if (!conn_begin(&c, k)) {
		conn_finish(&c);
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
	} else if (conn_request(&c, &req)) {
		judge_data(&c, "the request", ask);
		if (KIT_GOOD(k) && conn_server_qp(&c) && refused) {
			errno = 0;
			if (rdma_accept(c.cm.server, &rep) != -1 || !errno)
				KIT_FAULT(k,
					  "rdma_accept with %u bytes of private data must return -1, with "
					  "errno",
					  reply);
		} else if (KIT_GOOD(k) && conn_accept(&c, &rep) &&
			   conn_event(&c, RDMA_CM_EVENT_ESTABLISHED)) {
			judge_data(&c, "the answer", reply);
			conn_event(&c, RDMA_CM_EVENT_ESTABLISHED);
		}
	}
	conn_finish(&c);
}

static void connect_data(struct kit *k)
{
	const unsigned int ask = (unsigned int)kit_arg(k, "request", 0),
			   reply = (unsigned int)kit_arg(k, "answer", 0);

	if (!conn_in_one_process(k))
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

SCENARIO(connect_data) = {
	{"private-data", SUITE("connect"), QPS("RC"), ARGS({"request", 56}, {"answer", 196}),
	 CLAUSE("rdma_get_cm_event/CONN-EVENT-DATA/private_data"),
	 ALSO("rdma_get_cm_event/CONN-EVENT-DATA/zeroed rdma_connect/INFINIBAND-SPECIFIC/private_data "
	      "rdma_accept/INFINIBAND-SPECIFIC/private_data"),
	 NEEDS("rdma_cm"),
	 SAYS("0, 1 and the most bytes arrive, 56 of a request and 196 of an answer, with zeros behind "
	      "them; one more is refused")},
	{},
};

/* One request that is refused, with so many bytes. */
static void refuse(struct kit *k, unsigned int len)
{
	struct rdma_conn_param req = conn_values(1, 1, 0, 7, 7);
	struct conn c;

	if (conn_begin(&c, k) && conn_request(&c, &req)) {
		log_call(&k->res->log, "rdma_reject(id, (uint8_t[256]){0}, %u)", len);
		if (rdma_reject(c.cm.server, len ? c.data : NULL, (uint8_t)len))
			KIT_FAULT(k, "rdma_reject failed with %s", errno_name(errno));
		else if (conn_event(&c, RDMA_CM_EVENT_REJECTED)) {
			said(k, "the refusal", "the status", (unsigned int)c.event->status,
			     REJECTED_BY_CONSUMER);
			judge_data(&c, "the refusal", len);
		}
	}
	conn_finish(&c);
}

static void connect_refused(struct kit *k)
{
	if (!conn_in_one_process(k))
		return;
	refuse(k, 0);
	if (KIT_GOOD(k))
		refuse(k, 1);
	if (KIT_GOOD(k))
		refuse(k, 100);
}

SCENARIO(connect_refused) = {
	{"refused", SUITE("connect"), QPS("RC"), CLAUSE("rdma_reject/NOTES/private_data"),
	 ALSO("rdma_get_cm_event/EVENT-TYPES/REJECTED"), NEEDS("rdma_cm"),
	 SAYS("RDMA_CM_EVENT_REJECTED with the reason of a refusal and the data that rdma_reject() was "
	      "given")},
	{},
};

/* Ids without a QP: qp_num and srq are those of the structure. */
static void connect_numbers(struct kit *k)
{
	struct rdma_conn_param req = conn_values(1, 1, 0, 7, 7), rep = req;
	struct conn c;

	if (!conn_in_one_process(k))
		return;
	req.qp_num = 0x81c3e7;
	rep.qp_num = 0x7e3c18;
	req.srq = 1;
	if (conn_begin(&c, k)) {
		rdma_destroy_qp(c.cm.client);
		if (conn_request(&c, &req)) {
			judge_values(&c, "what the server sees", &req);
			if (KIT_GOOD(k) && conn_accept(&c, &rep) &&
			    conn_event(&c, RDMA_CM_EVENT_CONNECT_RESPONSE))
				judge_values(&c, "what the client sees", &rep);
			if (KIT_GOOD(k) && rdma_establish(c.cm.client))
				KIT_FAULT(k, "rdma_establish failed with %s", errno_name(errno));
			if (KIT_GOOD(k))
				conn_event(&c, RDMA_CM_EVENT_ESTABLISHED);
		}
	}
	conn_finish(&c);
}

SCENARIO(connect_numbers) = {
	{"numbers", SUITE("connect"), QPS("RC"), CLAUSE("rdma_get_cm_event/CONN-EVENT-DATA/qp_num"),
	 ALSO("rdma_get_cm_event/CONN-EVENT-DATA/srq"), NEEDS("rdma_cm"),
	 SAYS("without QPs each side's event has the qp_num and the srq that the other one gave")},
	{},
};

/* One request after another, more than the backlog of the listener: it limits those that wait, not those that were taken. */
static void connect_backlog(struct kit *k)
{
	struct rdma_conn_param req = conn_values(1, 1, 0, 7, 7);
	struct conn c;
	int ret;

	if (!conn_in_one_process(k))
		return;
	if (conn_begin(&c, k))
		for (int turn = 0; turn < 3 && conn_request(&c, &req); turn++) {
			if (rdma_reject(c.cm.server, NULL, 0))
				KIT_FAULT(k, "rdma_reject failed with %s", errno_name(errno));
			if (!KIT_GOOD(k) || !conn_event(&c, RDMA_CM_EVENT_REJECTED))
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
	conn_finish(&c);
}

SCENARIO(connect_backlog) = {
	{"backlog", SUITE("connect"), QPS("RC"), CLAUSE("rdma_listen/ARGUMENTS/backlog"), NEEDS("rdma_cm"),
	 SAYS("one request after another comes to a listener, more than its backlog: each of them was "
	      "taken before the next")},
	{},
};

/* The side that asked is told when the other one has answered. */
static void told(struct conn *c, struct rdma_cm_id *asks, struct rdma_cm_id *other)
{
	struct kit *k = c->k;

	if (rdma_disconnect(asks))
		KIT_FAULT(k, "rdma_disconnect failed with %s", errno_name(errno));
	if (!KIT_GOOD(k) || !conn_event(c, RDMA_CM_EVENT_DISCONNECTED))
		return;
	KIT_CHECK(k, c->event->id == other, "the first event is of the side that called rdma_disconnect");
	KIT_CHECK(k, !rdma_disconnect(other), "rdma_disconnect of the other side failed with %s",
		  errno_name(errno));
	if (!conn_event(c, RDMA_CM_EVENT_DISCONNECTED))
		return;
	KIT_CHECK(k, c->event->id == asks, "the second event is of the same side");
	kit_expect_state(k, asks->qp, IBV_QPS_ERR);
	kit_expect_state(k, other->qp, IBV_QPS_ERR);
}

/* One side ends the connection: both sides are told, and both QPs are in ERR. */
static void disconnect(struct kit *k, bool by_server)
{
	struct rdma_conn_param param = conn_values(1, 1, 0, 7, 7);
	struct conn c;

	if (conn_begin(&c, k) && conn_request(&c, &param) && conn_server_qp(&c) && conn_accept(&c, &param) &&
	    conn_event(&c, RDMA_CM_EVENT_ESTABLISHED) && conn_event(&c, RDMA_CM_EVENT_ESTABLISHED)) {
		log_call(&k->res->log, "rdma_disconnect(id) /* of the %s */",
			 by_server ? "server" : "client");
		told(&c, by_server ? c.cm.server : c.cm.client, by_server ? c.cm.client : c.cm.server);
	}
	conn_finish(&c);
}

static void connect_ended(struct kit *k)
{
	if (!conn_in_one_process(k))
		return;
	disconnect(k, false);
	if (KIT_GOOD(k))
		disconnect(k, true);
}

SCENARIO(connect_ended) = {
	{"ended", SUITE("connect"), QPS("RC"), CLAUSE("rdma_disconnect/DESCRIPTION/event"), NEEDS("rdma_cm"),
	 SAYS("after rdma_disconnect() by either side both sides have RDMA_CM_EVENT_DISCONNECTED, and "
	      "their QPs are in ERR")},
	{},
};
