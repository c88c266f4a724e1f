// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The communication manager's sending half: messages and retries. */
#include <errno.h>

#include "kernel/rdma_cm/ucma.h"

/* ---- Datagrams ---- */

void cm_header(uint8_t *mad, enum cm_attr attr, uint64_t tid)
{
	memset(mad, 0, HCA_MAD_SIZE);
	mad[MAD_BASE_VERSION] = 1;
	mad[MAD_CLASS] = CLASS_CM;
	mad[MAD_CLASS_VERSION] = CLASS_VERSION_CM;
	mad[MAD_METHOD] = METHOD_SEND;
	put64(mad + MAD_TID, tid);
	put16(mad + MAD_ATTR, attr);
}

static void message(const struct ucma_id *id, uint8_t *mad, enum cm_attr attr)
{
	cm_header(mad, attr, id->cm.tid);
	put32(mad + CM_LOCAL, id->cm.local.comm_id);
	put32(mad + CM_REMOTE, id->cm.remote.comm_id);
}

/* A datagram that cannot be sent is lost, as on a wire; the sender retries. */
static void post(const struct ucma_id *id, const uint8_t *mad)
{
	kdev_ops(id->dev)->send_mad(&id->dev->drv, id->port, &id->av, mad);
}

static void again(struct ktimer *t)
{
	struct ucma_id *id = (struct ucma_id *)((char *)t - offsetof(struct ucma_id, cm.timer));

	if (id->cm.state == CM_TIMEWAIT) {
		cm_failed(id);
		return;
	}
	if (id->cm.retries++ == CM_MAX_RETRIES) {
		cm_failed(id);
		return;
	}
	post(id, id->cm.sent);
	ktimer_set_ms(id->file->k, t, id->cm.timeout_ms);
}

/* Sends cm.sent, and repeats it until it is answered. */
static void post_until_answered(struct ucma_id *id, uint64_t timeout_ms)
{
	id->cm.retries = 0;
	id->cm.timeout_ms = timeout_ms;
	id->cm.timer.fire = again;
	ktimer_set_ms(id->file->k, &id->cm.timer, timeout_ms);
	post(id, id->cm.sent);
}

/* The time the peer may take to answer, plus the round trip. */
static uint64_t response_ms(void)
{
	return cm_ms(CM_RESPONSE_TIMEOUT) + 2 * cm_ms(CM_PACKET_LIFETIME);
}

void cm_start(struct ucma_id *id)
{
	struct ucma *u = id->file->k->ucma;

	if (!u->last_comm_id)
		u->last_comm_id = ucma_random(id->file->k);
	id->cm.used = true;
	if (id->cm.local.comm_id)
		table_remove(&u->comm_ids, &id->by_comm_id);
	u->last_comm_id += u->last_comm_id == UINT32_MAX ? 2 : 1; /* 0 means no id */
	id->cm.local.comm_id = u->last_comm_id;
	table_add(&u->comm_ids, &id->by_comm_id, id->cm.local.comm_id);
	id->cm.tid = ++u->last_tid;
}

void cm_set_peer(struct ucma_id *id, const struct conn_side *peer)
{
	struct ucma *u = id->file->k->ucma;

	cm_forget_peer(id);
	id->cm.remote = *peer;
	id->peer_known = id->peer_qp_known = true;
	table_add(&u->peers, &id->by_peer, cm_peer_key(peer->guid, peer->comm_id));
	table_add(&u->peer_qps, &id->by_peer_qp, cm_peer_key(peer->guid, peer->qpn));
}

void cm_forget_peer(struct ucma_id *id)
{
	cm_forget_peer_qp(id);
	if (!id->peer_known)
		return;
	id->peer_known = false;
	table_remove(&id->file->k->ucma->peers, &id->by_peer);
}

void cm_forget_peer_qp(struct ucma_id *id)
{
	if (!id->peer_qp_known)
		return;
	id->peer_qp_known = false;
	table_remove(&id->file->k->ucma->peer_qps, &id->by_peer_qp);
}

void cm_idle(struct ucma_id *id)
{
	id->cm.state = CM_IDLE;
	cm_forget_peer(id);
}

/* ---- REQ ---- */

/* Time from a packet to its ACK: twice the packet lifetime plus the peer's delay (IBTA 9.7.6.1.3). */
static uint8_t ack_timeout(const struct ucma_id *id)
{
	const uint8_t life = id->timeout_set && id->timeout ? id->timeout - 1 : CM_PACKET_LIFETIME;
	const uint8_t delay = id->dev->attr.base.local_ca_ack_delay;
	unsigned int t = life + 1u;

	if (t >= delay)
		t += delay >= life;
	else
		t = delay + (life >= delay);
	return t > 31 ? 31 : t;
}

static void put_transport(const struct ucma_id *id, uint8_t *mad, const struct rdma_ucm_conn_param *p)
{
	const uint8_t rnr = p->rnr_retry_count > 7 ? 7 : p->rnr_retry_count;
	const uint8_t retry = p->retry_count > 7 ? 7 : p->retry_count;
	const bool xrc = id->qp_type == HCASIM_QPT_XRC_SEND;
	const uint8_t type = xrc ? TRANSPORT_EXTENDED : id->qp_type == HCASIM_QPT_UC ? TRANSPORT_UC : 0;

	put24(mad + REQ_QPN, id->qp_num);
	mad[REQ_DEPTH] = p->initiator_depth;
	mad[REQ_FLAGS] = CM_RESPONSE_TIMEOUT << 3 | type << 1 | !!p->flow_control;
	put24(mad + REQ_PSN, id->psn);
	mad[REQ_RETRY] = CM_RESPONSE_TIMEOUT << 3;
	mad[REQ_MTU] = id->dev->port[id->port - 1].active_mtu << 4;
	mad[REQ_RETRIES] = CM_MAX_RETRIES << 4 | (xrc ? EXTENDED_XRC : 0);
	if (xrc)
		return;
	mad[REQ_RESPONDER] = p->responder_resources;
	mad[REQ_RETRY] |= retry;
	mad[REQ_MTU] |= rnr;
	mad[REQ_RETRIES] |= !!id->srq << 3;
}

static void put_path(const struct ucma_id *id, uint8_t *mad)
{
	put16(mad + REQ_PKEY, 0xffff);
	memset(mad + REQ_LIDS, 0xff, 4); /* permissive LID: Ethernet has no LIDs (IBTA annex A16.4.4) */
	memcpy(mad + REQ_LOCAL_GID, id->dev->gid[id->port - 1][id->sgid_index].raw, 16);
	memcpy(mad + REQ_REMOTE_GID, id->av.dgid, 16);
	put32(mad + REQ_FLOW, id->av.flow_label << 12);
	mad[REQ_CLASS] = id->av.traffic_class;
	mad[REQ_HOPS] = id->av.hop_limit;
	mad[REQ_SL] = id->av.sl << 4;
	mad[REQ_ACK_TIMEOUT] = id->cm.ack_timeout << 3;
}

int cm_send_req(struct ucma_id *id, const struct rdma_ucm_conn_param *p, const struct cm_private *priv)
{
	struct cm *cm = &id->cm;
	uint8_t *mad = cm->sent;

	if (priv->len > REQ_PRIVATE_SIZE || cm->state != CM_IDLE ||
	    (id->qp_type != HCASIM_QPT_RC && id->qp_type != HCASIM_QPT_UC &&
	     id->qp_type != HCASIM_QPT_XRC_SEND))
		return -EINVAL;
	cm_start(id);
	cm->ack_timeout = ack_timeout(id);
	cm->initiator_depth = p->initiator_depth;
	cm->responder_resources = p->responder_resources;
	cm->retry_count = p->retry_count > 7 ? 7 : p->retry_count;
	cm->local.qpn = id->qp_num;
	cm->service = ua_service(id, &id->dst);
	cm_header(mad, ATTR_REQ, cm->tid);
	put32(mad + MAD_ATTR_MOD, id->ece.attr_mod);
	put32(mad + CM_LOCAL, cm->local.comm_id);
	put24(mad + REQ_VENDOR, id->ece.vendor_id);
	put64(mad + REQ_SERVICE, cm->service);
	put64(mad + REQ_GUID, id->dev->drv.cfg->node_guid);
	put_transport(id, mad, p);
	put_path(id, mad);
	memcpy(mad + REQ_PRIVATE, priv->data, priv->len);
	cm->state = CM_REQ_SENT;
	post_until_answered(id, response_ms());
	return 0;
}

/* ---- Answers ---- */

int cm_send_rep(struct ucma_id *id, const struct rdma_ucm_conn_param *p, const struct cm_private *priv)
{
	const uint8_t rnr = p->rnr_retry_count > 7 ? 7 : p->rnr_retry_count;
	struct cm *cm = &id->cm;
	uint8_t *mad = cm->sent;

	if (priv->len > REP_PRIVATE_SIZE || (cm->state != CM_REQ_RCVD && cm->state != CM_MRA_REQ_SENT))
		return -EINVAL;
	message(id, mad, ATTR_REP);
	put32(mad + MAD_ATTR_MOD, id->ece.attr_mod);
	mad[REP_VENDOR_HIGH] = id->ece.vendor_id >> 16;
	mad[REP_VENDOR_MID] = id->ece.vendor_id >> 8;
	mad[REP_VENDOR_LOW] = id->ece.vendor_id;
	put24(mad + REP_PSN, id->psn);
	mad[REP_RESPONDER] = p->responder_resources;
	mad[REP_FLAGS] = id->dev->attr.base.local_ca_ack_delay << 3;
	mad[REP_RNR] = rnr << 5;
	put64(mad + REP_GUID, id->dev->drv.cfg->node_guid);
	if (id->qp_type == HCASIM_QPT_XRC_RECV) {
		put24(mad + REP_EECN, id->qp_num);
		mad[REP_RNR] |= 1 << 4;
	} else {
		put24(mad + REP_QPN, id->qp_num);
		mad[REP_DEPTH] = p->initiator_depth;
		mad[REP_FLAGS] |= !!p->flow_control;
		mad[REP_RNR] |= !!id->srq << 4;
	}
	memcpy(mad + REP_PRIVATE, priv->data, priv->len);
	cm->initiator_depth = p->initiator_depth;
	cm->responder_resources = p->responder_resources;
	cm->local.qpn = id->qp_num;
	cm->state = CM_REP_SENT;
	post_until_answered(id, response_ms());
	return 0;
}

int cm_send_rtu(struct ucma_id *id)
{
	if (id->cm.state != CM_REP_RCVD && id->cm.state != CM_MRA_REP_SENT)
		return -EINVAL;
	message(id, id->cm.sent, ATTR_RTU);
	post(id, id->cm.sent);
	id->cm.state = CM_ESTABLISHED;
	return 0;
}

/* Tells the peer that the answer takes longer, because a program has to give it. */
void cm_send_mra(struct ucma_id *id)
{
	const bool rep = id->cm.state == CM_REP_RCVD || id->cm.state == CM_MRA_REP_SENT;
	uint8_t mad[HCA_MAD_SIZE];

	message(id, mad, ATTR_MRA);
	mad[MRA_WHAT] = (rep ? WHAT_REP : WHAT_REQ) << 6;
	mad[MRA_TIMEOUT] = CM_MRA_SETTING << 3;
	id->cm.state = rep ? CM_MRA_REP_SENT : CM_MRA_REQ_SENT;
	post(id, mad);
}

/* Extends the wait for the current answer. */
void cm_wait(struct ucma_id *id, uint64_t ms)
{
	id->cm.timeout_ms = ms;
	ktimer_set_ms(id->file->k, &id->cm.timer, ms);
}

static int what_is_rejected(enum cm_state state)
{
	switch (state) {
	case CM_REQ_RCVD:
	case CM_MRA_REQ_SENT:
		return WHAT_REQ;
	case CM_REP_RCVD:
	case CM_MRA_REP_SENT:
		return WHAT_REP;
	case CM_REQ_SENT:
	case CM_MRA_REQ_RCVD:
	case CM_REP_SENT:
	case CM_MRA_REP_RCVD:
		return WHAT_OTHER;
	default:
		return -EINVAL;
	}
}

int cm_send_rej(struct ucma_id *id, enum cm_reject reason, const struct cm_private *priv)
{
	const int what = what_is_rejected(id->cm.state);
	uint8_t mad[HCA_MAD_SIZE];

	if (what < 0 || (priv && priv->len > REJ_PRIVATE_SIZE))
		return -EINVAL;
	message(id, mad, ATTR_REJ);
	mad[REJ_WHAT] = what << 6;
	put16(mad + REJ_REASON, reason);
	if (reason == REJ_TIMEOUT) { /* the peer may not know our comm id (IBTA 12.6.7.2) */
		mad[REJ_INFO_LEN] = 8 << 1;
		put64(mad + REJ_INFO, id->dev->drv.cfg->node_guid);
	}
	if (priv)
		memcpy(mad + REJ_PRIVATE, priv->data, priv->len);
	ktimer_cancel(&id->cm.timer);
	cm_idle(id);
	post(id, mad);
	return 0;
}

int cm_send_dreq(struct ucma_id *id)
{
	if (id->cm.state != CM_ESTABLISHED)
		return -EINVAL;
	message(id, id->cm.sent, ATTR_DREQ);
	put24(id->cm.sent + DREQ_QPN, id->cm.remote.qpn);
	id->cm.state = CM_DREQ_SENT;
	post_until_answered(id, response_ms());
	return 0;
}

int cm_send_drep(struct ucma_id *id)
{
	if (id->cm.state != CM_DREQ_RCVD)
		return -EINVAL;
	message(id, id->cm.sent, ATTR_DREP);
	post(id, id->cm.sent);
	cm_timewait(id);
	return 0;
}

/* Repeats the last message, which the peer did not receive. */
void cm_repeat(struct ucma_id *id)
{
	post(id, id->cm.sent);
}

/* ---- Service resolution ---- */

int cm_send_sidr_req(struct ucma_id *id, const struct cm_private *priv)
{
	uint8_t *mad = id->cm.sent;

	if (priv->len > SIDR_REQ_PRIVATE_SIZE || id->cm.state != CM_IDLE)
		return -EINVAL;
	cm_start(id);
	cm_header(mad, ATTR_SIDR_REQ, id->cm.tid);
	put32(mad + SIDR_ID, id->cm.local.comm_id);
	put16(mad + SIDR_REQ_PKEY, 0xffff);
	put64(mad + SIDR_REQ_SERVICE, ua_service(id, &id->dst));
	memcpy(mad + SIDR_REQ_PRIVATE, priv->data, priv->len);
	id->cm.state = CM_SIDR_REQ_SENT;
	post_until_answered(id, cm_ms(CM_RESPONSE_TIMEOUT));
	return 0;
}

int cm_send_sidr_rep(struct ucma_id *id, uint8_t status, const struct cm_private *priv)
{
	uint8_t mad[HCA_MAD_SIZE];

	if (priv->len > SIDR_REP_PRIVATE_SIZE || id->cm.state != CM_SIDR_REQ_RCVD)
		return -EINVAL;
	cm_header(mad, ATTR_SIDR_REP, id->cm.tid);
	put32(mad + SIDR_ID, id->cm.remote.comm_id);
	mad[SIDR_STATUS] = status;
	put64(mad + SIDR_SERVICE, id->cm.service);
	if (status == SIDR_SUCCESS) {
		put24(mad + SIDR_QPN, id->qp_num);
		put32(mad + SIDR_QKEY, id->qkey);
	}
	memcpy(mad + SIDR_REP_PRIVATE, priv->data, priv->len);
	cm_idle(id);
	post(id, mad);
	return 0;
}

/* ---- Disconnecting ---- */

void cm_destroy(struct ucma_id *id, bool overflow)
{
	const struct cm_private none = {.len = 0};

	switch (id->cm.state) {
	case CM_REQ_SENT:
	case CM_MRA_REQ_RCVD:
		cm_send_rej(id, REJ_TIMEOUT, NULL);
		break;
	case CM_REQ_RCVD:
		if (!overflow)
			cm_send_rej(id, REJ_CONSUMER_DEFINED, NULL);
		break;
	case CM_MRA_REQ_SENT:
	case CM_REP_SENT:
	case CM_MRA_REP_RCVD:
	case CM_REP_RCVD:
	case CM_MRA_REP_SENT:
		cm_send_rej(id, REJ_CONSUMER_DEFINED, NULL);
		break;
	case CM_ESTABLISHED:
		cm_send_dreq(id);
		break;
	case CM_DREQ_RCVD:
		cm_send_drep(id);
		break;
	case CM_SIDR_REQ_RCVD:
		if (!overflow)
			cm_send_sidr_rep(id, SIDR_REJECT, &none);
		break;
	default:
		break;
	}
	ktimer_cancel(&id->cm.timer);
	cm_idle(id);
}

int cm_establish(struct ucma_id *id)
{
	switch (id->cm.state) {
	case CM_REP_SENT:
	case CM_MRA_REP_RCVD:
		ktimer_cancel(&id->cm.timer);
		id->cm.state = CM_ESTABLISHED;
		return 0;
	case CM_ESTABLISHED:
		return -EISCONN;
	default:
		return -EINVAL;
	}
}
