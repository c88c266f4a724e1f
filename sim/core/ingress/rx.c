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
	struct rxwork *w;

	hca->counters.rx_packets++;
	w = port && port <= hca->cfg.num_ports && hca_rx_ready(hca, port, priority) ? rxwork_get(hca) : NULL;
	if (!w) {
		hca->counters.rx_dropped++;
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

/* IBTA 9.6.1: a packet that does not match the QP is silently dropped. */
static bool addressed_to(const struct hca *hca, const struct qp *qp, const struct rxwork *w)
{
	const struct pkt_info *info = &w->info;

	if (!(transport_ok(qp, info) || is_cnp(hca, info)) || qp->a.port != w->port)
		return false;
	if ((info->pkey & 0x7fff) != (HCASIM_DEFAULT_PKEY & 0x7fff) ||
	    !port_has_gid(&hca->port[w->port - 1], info->dgid))
		return false;
	return qp->c.type == HCASIM_QPT_UD || !memcmp(info->sgid, qp->a.av.dgid, 16);
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
	const bool managed = gsi_rx(hca, w);
	struct qp *qp = qp_find(hca, w->info.dqpn);
	bool req = w->info.op->flags & HCASIM_BTH_F_REQ;

	if (!qp || !rx_state_takes(qp, req) || !addressed_to(hca, qp, w)) {
		hca->counters.rx_dropped += !managed;
		rxwork_put(hca, w);
		return;
	}
	if (congestion(hca, qp, &w->info)) {
		rxwork_put(hca, w);
	} else if (!req) {
		send_response(hca, qp, w);
		rxwork_put(hca, w);
	} else {
		rx_deliver(hca, qp, w);
	}
	qp_update(hca, qp);
}

static void from_wire(struct hca *hca, struct rxwork *w)
{
	bool up = hca->port[w->port - 1].up, taken = false;
	bool roce = up && packet_parse(hca, w->port, w->pkt, &w->info);

	if (up)
		taken = flow_steer(hca, w, roce);
	if (roce && !flow_passes_roce(hca, w, &taken))
		roce = false;
	if (roce && !is_multicast(w->info.dgid)) {
		unicast(hca, w);
		return;
	}
	if (roce && mcast_deliver(hca, w))
		taken = true;
	if (!taken)
		hca->counters.rx_dropped++;
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
