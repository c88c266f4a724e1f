// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Delivery of packets to their QP. A request that has to wait for a receive WQE is parked there, with the QP's later
 * requests behind it, so that no QP blocks another.
 */
#include "core/ingress/ingress.h"
#include "core/responder/responder.h"
#include "core/wire/frame.h"

struct rxwork *rxwork_get(struct hca *hca)
{
	struct rxwork *w = hca->rx_pool;

	if (w)
		hca->rx_pool = w->next;
	else
		w = malloc(sizeof(*w));
	return w;
}

void rxwork_put(struct hca *hca, struct rxwork *w)
{
	hca_packet_free(w->pkt);
	w->next = hca->rx_pool;
	hca->rx_pool = w;
	hca->rx_count--;
	hca->rx_held[w->priority]--;
}

static void park(struct qp *qp, struct rxwork *w)
{
	w->next = NULL;
	*qp->resp.parked_tail = w;
	qp->resp.parked_tail = &w->next;
	qp->resp.nparked++;
}

static struct rxwork *unpark(struct qp *qp)
{
	struct rxwork *w = qp->resp.parked;

	qp->resp.parked = w->next;
	if (!w->next)
		qp->resp.parked_tail = &qp->resp.parked;
	qp->resp.nparked--;
	return w;
}

static void park_first(struct qp *qp, struct rxwork *w)
{
	w->next = qp->resp.parked;
	if (!w->next)
		qp->resp.parked_tail = &w->next;
	qp->resp.parked = w;
	qp->resp.nparked++;
}

void rx_flush_parked(struct hca *hca, struct qp *qp)
{
	while (qp->resp.parked) {
		struct rxwork *w = unpark(qp);

		rx_refused(hca, w, HCASIM_COUNTER_REFUSED_QP_STATE);
		rxwork_put(hca, w);
	}
	qp->resp.blocked = false;
	if (qp->on_srq.next)
		list_del(&qp->on_srq);
}

void rx_changed(struct hca *hca, struct qp *qp)
{
	list_set(&hca->rx_qps, &qp->on_rx, qp->resp.parked && !qp->resp.blocked && !qp->resp.busy);
}

void rx_refused(struct hca *hca, const struct rxwork *w, uint8_t reason)
{
	count_refused(hca, &(struct hca_refused){.reason = reason,
						 .port = w->port,
						 .qpn = w->info.dqpn,
						 .psn = w->info.psn,
						 .number = w->info.number});
}

bool rx_pkey_ok(const struct pkt_info *info)
{
	return (info->pkey & 0x7fff) == (HCASIM_DEFAULT_PKEY & 0x7fff);
}

/* A datagram to a group carries the group's QP number (IBTA 9.6.1.2.1). */
static bool multicast_ok(const struct rxwork *w)
{
	return w->info.op->transport == HCASIM_TRANSPORT_UD && w->info.dqpn == HCASIM_PSN_MASK &&
	       rx_pkey_ok(&w->info);
}

bool rx_state_takes(const struct qp *qp, bool request)
{
	switch (qp->a.state) {
	case HCASIM_QPS_RTS:
	case HCASIM_QPS_SQD:
		return true;
	case HCASIM_QPS_RTR:
	case HCASIM_QPS_SQE:
		return request;
	default:
		return false;
	}
}

static void request(struct hca *hca, struct qp *qp, struct rxwork *w, bool first)
{
	if (responder_rx(hca, qp, w))
		rxwork_put(hca, w);
	else if (first)
		park_first(qp, w);
	else
		park(qp, w);
}

void rx_deliver(struct hca *hca, struct qp *qp, struct rxwork *w)
{
	if (qp->resp.parked || qp->resp.busy)
		park(qp, w);
	else
		request(hca, qp, w, false);
}

void rx_parked_again(struct hca *hca, struct qp *qp)
{
	request(hca, qp, unpark(qp), true);
	qp_update(hca, qp);
}

/* Takes the outermost tag off, if it is a customer's (IEEE 802.1Q 9.5): a service tag stays. */
static void strip_vlan(struct rxwork *w)
{
	uint8_t *tag = w->pkt->data + ETH_TYPE;

	if (w->pkt->len < ETH_LEN + VLAN_LEN || get16(tag) != ETH_TYPE_VLAN || get16(tag + 2) == CORE_NO_VLAN)
		return;
	w->vlan = (uint16_t)get16(tag + 2);
	w->pkt->len -= VLAN_LEN;
	memmove(tag, tag + VLAN_LEN, w->pkt->len - ETH_TYPE);
}

bool rx_copy_to(struct hca *hca, struct qp *qp, const struct rxwork *w, bool raw)
{
	struct rxwork *copy = NULL;

	/* a work queue has no port of its own */
	if (!rx_state_takes(qp, true) || (!qp->c.wq && qp->a.port != w->port) || (!raw && !multicast_ok(w)))
		return false;
	/* the reference of the frame itself is released soon */
	if (hca->rx_held[w->priority] < 2 * hca->rx_depth)
		copy = rxwork_get(hca);
	if (!copy)
		return false;
	*copy = *w;
	copy->next = NULL;
	copy->raw = raw;
	copy->vlan = CORE_NO_VLAN;
	hca->rx_count++;
	hca->rx_held[w->priority]++;
	copy->pkt = hca_packet_dup(w->pkt);
	if (!copy->pkt) {
		rxwork_put(hca, copy);
		return false;
	}
	if (raw && qp->c.strip_vlan)
		strip_vlan(copy);
	rx_deliver(hca, qp, copy);
	qp_update(hca, qp);
	return true;
}
