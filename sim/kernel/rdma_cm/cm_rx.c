// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The communication manager's receiving half. Any field of a datagram may be wrong. */
#include <errno.h>

#include "kernel/rdma_cm/ucma.h"

/* ---- Finding the connection ---- */

static struct ucma_id *by_comm_id(struct kernel *k, uint32_t own)
{
	struct table_node *n = table_find(&k->ucma->comm_ids, own);
	struct ucma_id *id = n ? table_entry(n, struct ucma_id, by_comm_id) : NULL;

	return id && id->cm.state != CM_IDLE ? id : NULL;
}

/* The connection whose two comm ids are in the message. */
static struct ucma_id *by_pair(struct kernel *k, const uint8_t *mad)
{
	struct ucma_id *id = by_comm_id(k, get32(mad + CM_REMOTE));

	return id && id->cm.remote.comm_id == get32(mad + CM_LOCAL) ? id : NULL;
}

static struct ucma_id *by_peer(struct kernel *k, uint64_t guid, uint32_t comm_id)
{
	struct table_node *n = table_find(&k->ucma->peers, cm_peer_key(guid, comm_id));

	for (; n; n = table_next(n)) {
		struct ucma_id *id = table_entry(n, struct ucma_id, by_peer);

		if (id->cm.state <= CM_TIMEWAIT && id->cm.remote.guid == guid &&
		    id->cm.remote.comm_id == comm_id)
			return id;
	}
	return NULL;
}

/* True if this service request (SIDR_REQ) arrived before and is not answered yet. */
static bool sidr_asked(struct kernel *k, const uint8_t sgid[16], uint32_t comm_id)
{
	struct table_node *n = table_find(&k->ucma->peers, cm_peer_key(get64(sgid + 8), comm_id));

	for (; n; n = table_next(n)) {
		const struct ucma_id *id = table_entry(n, struct ucma_id, by_peer);

		if (id->cm.state == CM_SIDR_REQ_RCVD && id->cm.remote.comm_id == comm_id &&
		    !memcmp(id->av.dgid, sgid, 16))
			return true;
	}
	return false;
}

/* A connection of the peer's QP that still exists here, though the peer has lost it (IBTA 12.9.8.3.1). */
static struct ucma_id *by_qp(struct kernel *k, uint64_t guid, uint32_t qpn)
{
	struct table_node *n = table_find(&k->ucma->peer_qps, cm_peer_key(guid, qpn));

	for (; n; n = table_next(n)) {
		struct ucma_id *id = table_entry(n, struct ucma_id, by_peer_qp);

		if (id->cm.state < CM_TIMEWAIT && id->cm.remote.guid == guid && id->cm.remote.qpn == qpn)
			return id;
	}
	return NULL;
}

/* ---- Answers without an id ---- */

struct back { /* the path back to a datagram's sender */
	struct kdev *d;
	const struct hca_mad *mad;
	uint8_t sgid_index;
	struct hca_av av;
};

static bool way_back(struct kdev *d, const struct hca_mad *mad, struct back *b)
{
	struct ib_uverbs_ah_attr attr = {.is_global = 1, .port_num = mad->port};
	const struct kgid *g = addr_find_gid(d, mad->port, mad->dgid, mad->v1);

	if (!g)
		return false;
	attr.grh.sgid_index = addr_index(d, mad->port, g);
	*b = (struct back){.d = d, .mad = mad, .sgid_index = attr.grh.sgid_index};
	memcpy(attr.grh.dgid, mad->sgid, 16);
	return !addr_resolve(d, &attr, &b->av);
}

static void answer(const struct back *b, const uint8_t *mad)
{
	kdev_ops(b->d)->send_mad(&b->d->drv, b->mad->port, &b->av, mad);
}

static void refuse(const struct back *b, enum cm_reject reason)
{
	const uint8_t *in = b->mad->data;
	uint8_t mad[HCA_MAD_SIZE];

	cm_header(mad, ATTR_REJ, get64(in + MAD_TID));
	put32(mad + CM_REMOTE, get32(in + CM_LOCAL));
	mad[REJ_WHAT] = WHAT_REQ << 6;
	put16(mad + REJ_REASON, reason);
	answer(b, mad);
}

static void sidr_refuse(const struct back *b, uint8_t status)
{
	const uint8_t *in = b->mad->data;
	uint8_t mad[HCA_MAD_SIZE];

	cm_header(mad, ATTR_SIDR_REP, get64(in + MAD_TID));
	put32(mad + SIDR_ID, get32(in + SIDR_ID));
	mad[SIDR_STATUS] = status;
	put64(mad + SIDR_SERVICE, get64(in + SIDR_REQ_SERVICE));
	answer(b, mad);
}

/* ---- Requests ---- */

/* Reads one address from the header in front of the private data. */
static void take_addr(const uint8_t *hdr, unsigned int at, uint16_t port, struct sockaddr_storage *a)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)a;
	struct sockaddr_in *four = (struct sockaddr_in *)a;

	memset(a, 0, sizeof(*a));
	if (hdr[HDR_IP] >> 4 == 4) {
		a->ss_family = AF_INET;
		memcpy(&four->sin_addr, hdr + at + 12, 4);
	} else {
		a->ss_family = AF_INET6;
		memcpy(&six->sin6_addr, hdr + at, 16);
	}
	ua_set_port(a, port);
}

static bool header_ok(const uint8_t *hdr)
{
	return !hdr[HDR_VERSION] && (hdr[HDR_IP] >> 4 == 4 || hdr[HDR_IP] >> 4 == 6);
}

static bool listens(const struct ucma_id *id, const struct back *b, const struct sockaddr_storage *dst)
{
	if (id->dev && (id->dev != b->d || id->port != b->mad->port))
		return false;
	if (ua_any(&id->src))
		return !id->afonly || id->src.ss_family == dst->ss_family;
	if (id->src.ss_family != dst->ss_family)
		return false;
	if (dst->ss_family == AF_INET6)
		return !memcmp(&((const struct sockaddr_in6 *)&id->src)->sin6_addr,
			       &((const struct sockaddr_in6 *)dst)->sin6_addr, 16);
	return ua_equal(&id->src, dst);
}

static struct ucma_id *find_listener(const struct back *b, uint64_t service,
				     const struct sockaddr_storage *dst)
{
	struct table_node *n = table_find(&b->d->k->ucma->listeners, service);

	for (; n; n = table_next(n)) {
		struct ucma_id *id = table_entry(n, struct ucma_id, by_service);

		if (listens(id, b, dst))
			return id;
	}
	return NULL;
}

static void set_scope(struct sockaddr_storage *a, const struct back *b)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)a;

	if (a->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr))
		six->sin6_scope_id = kdev_ifindex(b->d, b->mad->port);
}

/* Creates the id for a request: in the listener's file, with the request's path. */
static struct ucma_id *new_conn(const struct back *b, struct ucma_id *listener, uint8_t qp_type,
				const uint8_t *hdr, uint64_t service)
{
	struct ucma_id *id = ucma_id_new(listener->file, listener->ps, qp_type);

	if (!id)
		return NULL;
	take_addr(hdr, HDR_SRC, get16(hdr + HDR_PORT), &id->dst);
	take_addr(hdr, HDR_DST, (uint16_t)service, &id->src);
	set_scope(&id->src, b);
	set_scope(&id->dst, b);
	ucma_id_attach(id, b->d, b->mad->port, b->sgid_index);
	id->av = b->av;
	id->state = ID_CONNECT;
	id->tos = listener->tos;
	id->timeout = listener->timeout;
	id->timeout_set = listener->timeout_set;
	cm_start(id);
	id->cm.tid = get64(b->mad->data + MAD_TID);
	id->cm.service = service;
	return id;
}

/* Stores what the REQ asks for, from this side's view. */
static void take_req(struct ucma_id *id, const uint8_t *mad)
{
	struct cm *cm = &id->cm;

	cm_set_peer(id, &(struct conn_side){.comm_id = get32(mad + CM_LOCAL),
					    .qpn = get24(mad + REQ_QPN),
					    .psn = get24(mad + REQ_PSN),
					    .guid = get64(mad + REQ_GUID)});
	cm->initiator_depth = mad[REQ_RESPONDER];
	cm->responder_resources = mad[REQ_DEPTH];
	cm->retry_count = mad[REQ_RETRY] & 7;
	cm->rnr_retry_count = mad[REQ_MTU] & 7;
	cm->ack_timeout = mad[REQ_ACK_TIMEOUT] >> 3;
	cm->state = CM_REQ_RCVD;
	id->av.traffic_class = mad[REQ_CLASS];
	id->av.flow_label = get32(mad + REQ_FLOW) >> 12;
	id->has_route = true;
}

static void req_event(const struct ucma_id *id, const uint8_t *mad, struct rdma_ucm_event_resp *resp)
{
	struct rdma_ucm_conn_param *p = &resp->param.conn;

	memset(resp, 0, sizeof(*resp));
	p->private_data_len = REQ_PRIVATE_SIZE - HDR_SIZE;
	memcpy(p->private_data, mad + REQ_PRIVATE + HDR_SIZE, p->private_data_len);
	p->responder_resources = id->cm.responder_resources;
	p->initiator_depth = id->cm.initiator_depth;
	p->flow_control = mad[REQ_FLAGS] & 1;
	p->retry_count = id->cm.retry_count;
	p->rnr_retry_count = id->cm.rnr_retry_count;
	p->srq = mad[REQ_RETRIES] >> 3 & 1;
	p->qp_num = id->cm.remote.qpn;
	resp->ece.vendor_id = get24(mad + REQ_VENDOR);
	resp->ece.attr_mod = get32(mad + MAD_ATTR_MOD);
}

static int req_type(const uint8_t *mad)
{
	switch (mad[REQ_FLAGS] >> 1 & 3) {
	case TRANSPORT_RC:
		return HCASIM_QPT_RC;
	case TRANSPORT_UC:
		return HCASIM_QPT_UC;
	case TRANSPORT_EXTENDED:
		return (mad[REQ_RETRIES] & 7) == EXTENDED_XRC ? HCASIM_QPT_XRC_RECV : -EINVAL;
	default:
		return -EINVAL;
	}
}

/* Handles a repeated REQ. True: nothing more to do. */
static bool req_again(const struct back *b)
{
	const uint8_t *mad = b->mad->data;
	struct kernel *k = b->d->k;
	struct ucma_id *id = by_peer(k, get64(mad + REQ_GUID), get32(mad + CM_LOCAL));

	if (id) {
		if (id->cm.state == CM_MRA_REQ_SENT)
			cm_send_mra(id);
		else if (id->cm.state == CM_TIMEWAIT)
			refuse(b, REJ_STALE_CONN);
		return true;
	}
	id = by_qp(k, get64(mad + REQ_GUID), get24(mad + REQ_QPN));
	if (!id)
		return false;
	refuse(b, REJ_STALE_CONN);
	cm_send_dreq(id);
	return true;
}

static void rx_req(const struct back *b)
{
	const uint8_t *mad = b->mad->data, *hdr = mad + REQ_PRIVATE;
	const uint64_t service = get64(mad + REQ_SERVICE);
	struct rdma_ucm_event_resp resp;
	struct sockaddr_storage dst;
	struct ucma_id *listener, *id;

	if (req_again(b))
		return;
	if (!header_ok(hdr)) {
		refuse(b, REJ_INVALID_SERVICE_ID);
		return;
	}
	take_addr(hdr, HDR_DST, (uint16_t)service, &dst);
	listener = find_listener(b, service, &dst);
	if (!listener) {
		refuse(b, REJ_INVALID_SERVICE_ID);
		return;
	}
	if (req_type(mad) != listener->qp_type) {
		refuse(b, REJ_CONSUMER_DEFINED);
		return;
	}
	id = new_conn(b, listener, listener->qp_type, hdr, service);
	if (!id)
		return;
	take_req(id, mad);
	req_event(id, mad, &resp);
	if (ucma_request_event(listener, id, &resp)) {
		cm_destroy(id, true);
		ucma_id_destroy(id);
		return;
	}
	cm_send_mra(id);
}

static void rx_sidr_req(const struct back *b)
{
	const uint8_t *mad = b->mad->data, *hdr = mad + SIDR_REQ_PRIVATE;
	const uint64_t service = get64(mad + SIDR_REQ_SERVICE);
	struct rdma_ucm_event_resp resp = {0};
	struct ucma_id *listener = NULL, *id;
	struct sockaddr_storage dst;

	if (sidr_asked(b->d->k, b->mad->sgid, get32(mad + SIDR_ID)))
		return;
	if (header_ok(hdr)) {
		take_addr(hdr, HDR_DST, (uint16_t)service, &dst);
		listener = find_listener(b, service, &dst);
	}
	if (!listener || listener->qp_type != HCASIM_QPT_UD) {
		sidr_refuse(b, SIDR_UNSUPPORTED);
		return;
	}
	id = new_conn(b, listener, HCASIM_QPT_UD, hdr, service);
	if (!id)
		return;
	cm_set_peer(id,
		    &(struct conn_side){.comm_id = get32(mad + SIDR_ID), .guid = get64(b->mad->sgid + 8)});
	id->cm.state = CM_SIDR_REQ_RCVD;
	resp.param.ud.private_data_len = SIDR_REQ_PRIVATE_SIZE - HDR_SIZE;
	memcpy(resp.param.ud.private_data, hdr + HDR_SIZE, SIDR_REQ_PRIVATE_SIZE - HDR_SIZE);
	if (ucma_request_event(listener, id, &resp)) {
		cm_destroy(id, true);
		ucma_id_destroy(id);
	}
}

/* ---- Answers ---- */

static void rx_mra(const struct back *b)
{
	const uint8_t *mad = b->mad->data;
	struct ucma_id *id = by_comm_id(b->d->k, get32(mad + CM_REMOTE));
	const uint64_t ms = cm_ms(mad[MRA_TIMEOUT] >> 3);

	if (!id)
		return;
	if (mad[MRA_WHAT] >> 6 == WHAT_REQ && id->cm.state == CM_REQ_SENT)
		id->cm.state = CM_MRA_REQ_RCVD;
	else if (mad[MRA_WHAT] >> 6 == WHAT_REP && id->cm.state == CM_REP_SENT)
		id->cm.state = CM_MRA_REP_RCVD;
	else
		return;
	cm_wait(id, ms + cm_ms(id->cm.ack_timeout));
}

static void rep_event(struct ucma_id *id, const uint8_t *mad, struct rdma_ucm_event_resp *resp)
{
	struct rdma_ucm_conn_param *p = &resp->param.conn;

	memset(resp, 0, sizeof(*resp));
	p->private_data_len = REP_PRIVATE_SIZE;
	memcpy(p->private_data, mad + REP_PRIVATE, REP_PRIVATE_SIZE);
	p->responder_resources = id->cm.responder_resources;
	p->initiator_depth = id->cm.initiator_depth;
	p->flow_control = mad[REP_FLAGS] & 1;
	p->rnr_retry_count = mad[REP_RNR] >> 5;
	p->srq = mad[REP_RNR] >> 4 & 1;
	p->qp_num = id->cm.remote.qpn;
	resp->ece.vendor_id =
		(uint32_t)mad[REP_VENDOR_HIGH] << 16 | mad[REP_VENDOR_MID] << 8 | mad[REP_VENDOR_LOW];
	resp->ece.attr_mod = get32(mad + MAD_ATTR_MOD);
}

static void rx_rep(const struct back *b)
{
	const uint8_t *mad = b->mad->data;
	struct ucma_id *id = by_comm_id(b->d->k, get32(mad + CM_REMOTE));
	const unsigned int qpn = id && id->qp_type == HCASIM_QPT_XRC_SEND ? REP_EECN : REP_QPN;
	struct rdma_ucm_event_resp resp;

	if (!id)
		return;
	if (id->cm.state != CM_REQ_SENT && id->cm.state != CM_MRA_REQ_RCVD) {
		if (id->cm.remote.comm_id != get32(mad + CM_LOCAL))
			return;
		if (id->cm.state == CM_ESTABLISHED)
			cm_repeat(id); /* the RTU was lost */
		else if (id->cm.state == CM_MRA_REP_SENT)
			cm_send_mra(id);
		return;
	}
	ktimer_cancel(&id->cm.timer);
	cm_set_peer(id, &(struct conn_side){.comm_id = get32(mad + CM_LOCAL),
					    .qpn = get24(mad + qpn),
					    .psn = get24(mad + REP_PSN),
					    .guid = get64(mad + REP_GUID)});
	id->cm.initiator_depth = mad[REP_RESPONDER];
	id->cm.responder_resources = mad[REP_DEPTH];
	id->cm.rnr_retry_count = mad[REP_RNR] >> 5;
	id->cm.state = CM_REP_RCVD;
	rep_event(id, mad, &resp);
	ucma_event(id, EV_CONNECT_RESPONSE, 0, &resp);
	cm_send_mra(id);
}

static void rx_rtu(const struct back *b)
{
	struct ucma_id *id = by_pair(b->d->k, b->mad->data);

	if (id && !cm_establish(id) && id->state == ID_CONNECT)
		ucma_event(id, EV_ESTABLISHED, 0, NULL);
}

static void rx_rej(const struct back *b)
{
	const uint8_t *mad = b->mad->data;
	const uint16_t reason = get16(mad + REJ_REASON);
	struct rdma_ucm_event_resp resp = {.param.conn.private_data_len = REJ_PRIVATE_SIZE};
	struct ucma_id *id;

	/* A peer that gave up before it had an answer sends its own CA GUID, not our comm id. */
	if (reason == REJ_TIMEOUT)
		id = by_peer(b->d->k, get64(mad + REJ_INFO), get32(mad + CM_LOCAL));
	else
		id = by_comm_id(b->d->k, get32(mad + CM_REMOTE));
	if (!id || id->cm.state >= CM_TIMEWAIT || id->cm.state == CM_DREQ_RCVD)
		return;
	ktimer_cancel(&id->cm.timer);
	if (id->cm.state == CM_ESTABLISHED || id->cm.state == CM_DREQ_SENT || reason == REJ_STALE_CONN)
		cm_timewait(id);
	else
		cm_idle(id);
	if (id->state != ID_CONNECT)
		return;
	memcpy(resp.param.conn.private_data, mad + REJ_PRIVATE, REJ_PRIVATE_SIZE);
	ucma_event(id, EV_REJECTED, reason, &resp);
}

static void disconnected(struct ucma_id *id, int status)
{
	if (id->state != ID_CONNECT)
		return;
	id->state = ID_DISCONNECT;
	ucma_event(id, EV_DISCONNECTED, status, NULL);
}

static void rx_dreq(const struct back *b)
{
	const uint8_t *in = b->mad->data;
	struct ucma_id *id = by_pair(b->d->k, in);
	uint8_t mad[HCA_MAD_SIZE];

	if (!id) { /* a DREQ for an unknown connection gets a DREP */
		cm_header(mad, ATTR_DREP, get64(in + MAD_TID));
		put32(mad + CM_LOCAL, get32(in + CM_REMOTE));
		put32(mad + CM_REMOTE, get32(in + CM_LOCAL));
		answer(b, mad);
		return;
	}
	if (get24(in + DREQ_QPN) != id->cm.local.qpn)
		return;
	switch (id->cm.state) {
	case CM_REP_SENT:
	case CM_MRA_REP_RCVD:
	case CM_DREQ_SENT:
	case CM_ESTABLISHED:
		ktimer_cancel(&id->cm.timer);
		id->cm.state = CM_DREQ_RCVD;
		disconnected(id, 0);
		break;
	case CM_TIMEWAIT:
		cm_repeat(id);
		break;
	default:
		break;
	}
}

static void rx_drep(const struct back *b)
{
	struct ucma_id *id = by_pair(b->d->k, b->mad->data);

	if (!id || (id->cm.state != CM_DREQ_SENT && id->cm.state != CM_DREQ_RCVD))
		return;
	cm_timewait(id);
	disconnected(id, 0);
}

static void rx_sidr_rep(const struct back *b)
{
	const uint8_t *mad = b->mad->data;
	struct ucma_id *id = by_comm_id(b->d->k, get32(mad + SIDR_ID));
	struct rdma_ucm_event_resp resp = {0};
	struct rdma_ucm_ud_param *p = &resp.param.ud;

	if (!id || id->cm.state != CM_SIDR_REQ_SENT)
		return;
	ktimer_cancel(&id->cm.timer);
	cm_idle(id);
	if (id->state != ID_CONNECT)
		return;
	p->private_data_len = SIDR_REP_PRIVATE_SIZE;
	memcpy(p->private_data, mad + SIDR_REP_PRIVATE, SIDR_REP_PRIVATE_SIZE);
	if (mad[SIDR_STATUS]) {
		ucma_event(id, EV_UNREACHABLE, mad[SIDR_STATUS], &resp);
		return;
	}
	p->qp_num = get24(mad + SIDR_QPN);
	p->qkey = get32(mad + SIDR_QKEY);
	ucma_ah_attr(id, &id->av, &p->ah_attr);
	ucma_event(id, EV_ESTABLISHED, 0, &resp);
}

/* ---- Time-outs ---- */

void cm_timewait(struct ucma_id *id)
{
	id->cm.state = CM_TIMEWAIT;
	cm_forget_peer_qp(id);
	cm_wait(id, cm_ms(id->cm.ack_timeout));
}

void cm_failed(struct ucma_id *id)
{
	switch (id->cm.state) {
	case CM_TIMEWAIT:
		cm_idle(id);
		if (id->state == ID_DISCONNECT)
			ucma_event(id, EV_TIMEWAIT_EXIT, 0, NULL);
		break;
	case CM_DREQ_SENT:
		cm_timewait(id);
		disconnected(id, -ETIMEDOUT);
		break;
	default:
		cm_idle(id);
		if (id->state == ID_CONNECT)
			ucma_event(id, EV_UNREACHABLE, -ETIMEDOUT, NULL);
		break;
	}
}

/* ---- Dispatch ---- */

void cm_receive(struct kdev *d, const struct hca_mad *mad)
{
	static void (*const handlers[])(const struct back *b) = {
		[ATTR_REQ] = rx_req,   [ATTR_MRA] = rx_mra,           [ATTR_REJ] = rx_rej,
		[ATTR_REP] = rx_rep,   [ATTR_RTU] = rx_rtu,           [ATTR_DREQ] = rx_dreq,
		[ATTR_DREP] = rx_drep, [ATTR_SIDR_REQ] = rx_sidr_req, [ATTR_SIDR_REP] = rx_sidr_rep,
	};
	const uint8_t *m = mad->data;
	const uint32_t attr = get16(m + MAD_ATTR);
	struct back b;

	if (m[MAD_BASE_VERSION] != 1 || m[MAD_CLASS] != CLASS_CM ||
	    m[MAD_CLASS_VERSION] != CLASS_VERSION_CM || m[MAD_METHOD] != METHOD_SEND)
		return;
	if (attr >= sizeof(handlers) / sizeof(handlers[0]) || !handlers[attr] || !way_back(d, mad, &b))
		return;
	handlers[attr](&b);
}
