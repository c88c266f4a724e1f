// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Frames from the wire. FIFO and parked frames together are limited: further frames are dropped and counted, as on a
 * lossy wire. A lossless wire calls hca_rx_ready() before it delivers.
 */
#include "core/egress/egress.h"
#include "core/ingress/ingress.h"
#include "core/send/send.h"
#include "core/wire/wire.h"

bool hca_rx_ready(const struct hca *hca, uint8_t port, uint8_t priority)
{
	return hca->rx_held[hca->cfg.pfc ? priority : 0] < hca->rx_depth;
}

void hca_rx(struct hca *hca, uint8_t port, struct hca_packet *pkt)
{
	const uint8_t priority = hca->cfg.pfc ? hca_packet_priority(pkt) : 0;
	const bool exists = port && port <= hca->cfg.num_ports;
	struct rxwork *w = exists && hca_rx_ready(hca, port, priority) ? rxwork_get(hca) : NULL;

	if (!w) {
		count_refused(hca, &(struct hca_refused){.reason = HCASIM_COUNTER_REFUSED_RX_FIFO,
							 .port = exists ? port : 0,
							 .number = pkt->number});
		hca_packet_free(pkt);
		return;
	}
	w->next = NULL;
	w->pkt = pkt;
	w->since = hca_now(hca);
	w->port = port;
	w->priority = priority;
	w->descriptors = packet_descriptors(pkt);
	w->raw = false;
	w->tagged = false;
	w->flow_tag = 0;
	*hca->rx_tail = w;
	hca->rx_tail = &w->next;
	hca->rx_count++;
	hca->rx_held[w->priority]++;
	hca_announce(hca);
}

bool rx_pending(const struct hca *hca, struct hca_work *work)
{
	const struct rxwork *w = hca->rx_head;

	if (hca->rx_writes >= hca->rx_writes_max)
		return false;
	if (!list_empty(&hca->rx_qps))
		w = node_entry(hca->rx_qps.next, struct qp, on_rx)->resp.parked;
	if (!w)
		return false;
	work->bytes = w->pkt->len;
	work->items = w->descriptors;
	return true;
}

static bool transport_ok(const struct qp *qp, const struct pkt_info *info)
{
	switch (qp->c.type) {
	case HCASIM_QPT_RC:
		return info->op->transport == HCASIM_TRANSPORT_RC;
	case HCASIM_QPT_XRC_SEND: /* its packets are responses; the packets of the other end are requests */
		return info->op->transport == HCASIM_TRANSPORT_XRC && info->op->flags & HCASIM_BTH_F_RESP;
	case HCASIM_QPT_XRC_RECV:
		return info->op->transport == HCASIM_TRANSPORT_XRC && info->op->flags & HCASIM_BTH_F_REQ;
	case HCASIM_QPT_UC:
		return info->op->transport == HCASIM_TRANSPORT_UC;
	case HCASIM_QPT_UD:
		return info->op->transport == HCASIM_TRANSPORT_UD;
	default:
		return false;
	}
}

static bool is_cnp(const struct hca *hca, const struct pkt_info *info)
{
	return hca->cfg.dcqcn.on && info->op->flags & HCASIM_BTH_F_CNP;
}

/* IBTA 9.6.1: a packet that does not match the QP is silently dropped. Returns the reason, or 0 if it matches. */
static uint8_t mismatch(const struct hca *hca, const struct qp *qp, const struct rxwork *w)
{
	const struct pkt_info *info = &w->info;

	if (!qp)
		return HCASIM_COUNTER_REFUSED_NO_QP;
	if (!rx_state_takes(qp, info->op->flags & HCASIM_BTH_F_REQ))
		return HCASIM_COUNTER_REFUSED_QP_STATE;
	if (info->op->flags & HCASIM_BTH_F_CNP && !hca->cfg.dcqcn.on)
		return HCASIM_COUNTER_REFUSED_CNP;
	if (!transport_ok(qp, info) && !is_cnp(hca, info))
		return HCASIM_COUNTER_REFUSED_TRANSPORT;
	if (qp->a.port != w->port)
		return HCASIM_COUNTER_REFUSED_WRONG_PORT;
	if (!rx_pkey_ok(info))
		return HCASIM_COUNTER_REFUSED_PKEY;
	if (qp->c.type != HCASIM_QPT_UD && info->v1 != port_sends_v1(&hca->port[w->port - 1], &qp->a.av))
		return HCASIM_COUNTER_REFUSED_ROCE_VERSION;
	if (!port_has_gid(&hca->port[w->port - 1], info->dgid, info->v1))
		return HCASIM_COUNTER_REFUSED_DGID;
	if (qp->c.type != HCASIM_QPT_UD && memcmp(info->sgid, qp->a.av.dgid, 16))
		return HCASIM_COUNTER_REFUSED_SGID;
	return 0;
}

static bool is_multicast(const uint8_t gid[16])
{
	return gid_is_v4(gid) ? gid[12] >> 4 == 0xe : gid[0] == 0xff;
}

/* True: the packet is only about congestion. */
static bool congestion(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	if (is_cnp(hca, info))
		congestion_notified(hca, qp);
	else if (hca->cfg.dcqcn.on && info->ce)
		congestion_marked(hca, qp);
	return is_cnp(hca, info);
}

static void unicast(struct hca *hca, struct rxwork *w)
{
	const bool managed = w->info.dqpn == GSI_QPN;
	struct qp *qp = qp_find(hca, w->info.dqpn);
	const uint8_t reason = managed ? gsi_rx(hca, w) : mismatch(hca, qp, w);

	if (reason || managed) {
		if (reason)
			rx_refused(hca, w, reason);
		rxwork_put(hca, w);
		return;
	}
	if (congestion(hca, qp, &w->info)) {
		rxwork_put(hca, w);
	} else if (!(w->info.op->flags & HCASIM_BTH_F_REQ)) {
		send_response(hca, qp, w);
		rxwork_put(hca, w);
	} else {
		rx_deliver(hca, qp, w);
	}
	qp_update(hca, qp);
}

/* Neither a flow nor the transport has taken the frame. */
static uint8_t not_taken(const struct rxwork *w, bool roce, bool passed)
{
	if (!roce)
		return w->info.refused ? w->info.refused : HCASIM_COUNTER_REFUSED_NO_RECEIVER;
	if (!passed)
		return HCASIM_COUNTER_REFUSED_STEERED;
	return rx_pkey_ok(&w->info) ? HCASIM_COUNTER_REFUSED_NO_RECEIVER : HCASIM_COUNTER_REFUSED_PKEY;
}

/* The port is up. True: the frame belongs to somebody else now. */
static bool deliver(struct hca *hca, struct rxwork *w)
{
	const bool roce = packet_parse(hca, w->port, w->pkt, &w->info);
	bool taken, passed;

	if (roce)
		count_frame(hca, w->port, w->pkt, false);
	else if (!w->info.refused)
		hca_count(hca, w->port, HCASIM_COUNTER_RX_RAW_FRAMES);
	taken = flow_steer(hca, w, roce);
	passed = roce && flow_passes_roce(hca, w, &taken);
	if (passed && !is_multicast(w->info.dgid)) {
		unicast(hca, w);
		return true;
	}
	if (passed && mcast_deliver(hca, w))
		taken = true;
	if (!taken)
		rx_refused(hca, w, not_taken(w, roce, passed));
	return false;
}

static void from_wire(struct hca *hca, struct rxwork *w)
{
	if (!hca->port[w->port - 1].up) {
		w->info = (struct pkt_info){.number = w->pkt->number};
		rx_refused(hca, w, HCASIM_COUNTER_REFUSED_PORT_DOWN);
	} else if (deliver(hca, w)) {
		return;
	}
	rxwork_put(hca, w);
}

void rx_step(struct hca *hca)
{
	struct rxwork *w;

	if (!list_empty(&hca->rx_qps)) {
		struct qp *qp = node_entry(hca->rx_qps.next, struct qp, on_rx);

		list_del(&qp->on_rx);
		rx_parked_again(hca, qp);
		return;
	}
	w = hca->rx_head;
	hca->rx_head = w->next;
	if (!hca->rx_head)
		hca->rx_tail = &hca->rx_head;
	from_wire(hca, w);
}

void rx_free_all(struct hca *hca)
{
	struct rxwork *w;

	while ((w = hca->rx_head)) {
		hca->rx_head = w->next;
		rxwork_put(hca, w);
	}
	while ((w = hca->rx_pool)) {
		hca->rx_pool = w->next;
		free(w);
	}
}
