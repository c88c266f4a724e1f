// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Congestion of connected QPs with DCQCN: notification point (a packet that a switch marked is answered with a CNP,
 * IBTA annex A17.9.3), and reaction point (a CNP cuts the rate of its QP; base/dcqcn.c has the rate).
 */
#include "core/egress/egress.h"
#include "core/wire/wire.h"

static uint32_t line_rate(const struct hca *hca)
{
	return (hca->cfg.port_rate ? hca->cfg.port_rate : 40000) * 1000;
}

/* ---- Notification point ---- */

static bool always(struct hca *hca, struct qp *qp, struct txpkt *t)
{
	return true;
}

static bool send_cnp(struct hca *hca, struct qp *qp)
{
	static const struct tx_owner cnp = {.may_leave = always};
	struct txpkt *t = txq_full(&hca->gather) ? NULL : txpkt_get(hca, qp, &cnp);
	struct hca_av av = qp->a.av;
	const struct pkt_spec s = {.opcode = HCASIM_BTH_OP_CNP,
				   .port = qp->a.port,
				   .av = &av,
				   .sport = qp->udp_sport,
				   .dqpn = qp->a.dest_qpn,
				   .payload_len = HCASIM_CNP_PAYLOAD};

	if (!t)
		return false;
	av.traffic_class = HCASIM_CNP_TRAFFIC_CLASS;
	t->port = s.port;
	t->pkt = packet_build(hca, &s, &t->payload_off);
	if (!t->pkt) {
		txpkt_put(hca, t);
		return false;
	}
	memset(t->pkt->data + t->payload_off, 0, HCASIM_CNP_PAYLOAD);
	txq_push(hca, &hca->gather, t);
	return true;
}

void congestion_marked(struct hca *hca, struct qp *qp)
{
	hca_ps now = hca_now(hca);

	hca_count(hca, qp->a.port, HCASIM_COUNTER_NP_ECN_MARKED_ROCE_PACKETS);
	if (qp->c.type == HCASIM_QPT_UD || now < qp->cc.next_cnp || !send_cnp(hca, qp))
		return;
	qp->cc.next_cnp = now + hca->cfg.dcqcn.cnp_interval;
	hca_count(hca, qp->a.port, HCASIM_COUNTER_NP_CNP_SENT);
}

/* ---- Reaction point ---- */

static void changed(struct hca *hca, struct qp *qp, uint32_t before)
{
	if (pace_rate(qp) != before)
		pace_changed(hca, qp, before);
	if (qp->cc.dcqcn.limited)
		return;
	timer_cancel(hca, &qp->cc.alpha);
	timer_cancel(hca, &qp->cc.increase);
}

static void decay(struct hca *hca, struct timer *t)
{
	struct qp *qp = node_entry(t, struct qp, cc.alpha);

	dcqcn_decay(&qp->cc.dcqcn, &hca->cfg.dcqcn);
	timer_set(hca, t, hca_now(hca) + hca->cfg.dcqcn.alpha_timer);
}

static void grow(struct hca *hca, struct timer *t)
{
	struct qp *qp = node_entry(t, struct qp, cc.increase);
	uint32_t before = pace_rate(qp);

	dcqcn_timeout(&qp->cc.dcqcn, &hca->cfg.dcqcn, line_rate(hca));
	timer_set(hca, t, hca_now(hca) + hca->cfg.dcqcn.rate_timer);
	changed(hca, qp, before);
	qp_update(hca, qp);
}

void congestion_notified(struct hca *hca, struct qp *qp)
{
	const struct hca_dcqcn *cfg = &hca->cfg.dcqcn;
	uint32_t before = pace_rate(qp);

	hca_count(hca, qp->a.port, HCASIM_COUNTER_RP_CNP_HANDLED);
	dcqcn_cut(&qp->cc.dcqcn, cfg, line_rate(hca));
	qp->cc.alpha.fire = decay;
	qp->cc.increase.fire = grow;
	timer_set(hca, &qp->cc.alpha, hca_now(hca) + cfg->alpha_timer);
	timer_set(hca, &qp->cc.increase, hca_now(hca) + cfg->rate_timer);
	changed(hca, qp, before);
}

void congestion_sent(struct hca *hca, struct qp *qp, uint32_t len)
{
	uint32_t before = pace_rate(qp);

	if (qp->cc.dcqcn.limited && dcqcn_sent(&qp->cc.dcqcn, &hca->cfg.dcqcn, line_rate(hca), len))
		changed(hca, qp, before);
}

void congestion_clear(struct hca *hca, struct qp *qp)
{
	timer_cancel(hca, &qp->cc.alpha);
	timer_cancel(hca, &qp->cc.increase);
	memset(&qp->cc, 0, sizeof(qp->cc));
}
