// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The general service interface, QP 1 (IBTA 13.5): management datagrams of the driver, which are UD packets on the
 * wire. And the driver's alarm clock.
 */
#include "core/ingress/ingress.h"
#include "core/wire/wire.h"

#define GSI_QKEY  0x80010000u /* IBTA 3.5.3 */
#define GSI_DEPTH 256         /* received datagrams that wait for the driver */

static void raise_vector(struct hca *hca)
{
	hca->ops.msix(hca->host, HCA_GSI_VECTOR);
}

static void put_icrc(const struct hca *hca, struct hca_packet *pkt)
{
	const uint32_t body = pkt->len - HCASIM_ICRC_SIZE;
	const uint32_t icrc = htole32(icrc_frame(hca->icrc_seed, pkt->data, body));

	memcpy(pkt->data + body, &icrc, sizeof(icrc));
}

int hca_gsi_send(struct hca *hca, uint8_t port, const struct hca_av *av, const void *mad)
{
	const struct pkt_spec spec = {
		.opcode = HCASIM_BTH_OP_UD_SEND_ONLY,
		.port = port,
		.av = av,
		.sport = packet_sport(av->flow_label, GSI_QPN, GSI_QPN),
		.dqpn = GSI_QPN,
		.sqpn = GSI_QPN,
		.psn = hca->gsi.psn & HCASIM_PSN_MASK,
		.qkey = GSI_QKEY,
		.payload_len = HCA_MAD_SIZE,
	};
	struct hca_packet *pkt;
	uint32_t off;

	if (!port || port > hca->cfg.num_ports || av->sgid_index >= CORE_GIDS)
		return -EINVAL;
	if (!hca->port[port - 1].up)
		return -ENETDOWN;
	pkt = packet_build(hca, &spec, &off);
	if (!pkt)
		return -ENOMEM;
	hca->gsi.psn++;
	memcpy(pkt->data + off, mad, HCA_MAD_SIZE);
	put_icrc(hca, pkt);
	if (!flow_lets_out(hca, HCA_FLOW_ROCE_TX, port, &pkt)) {
		hca_count(hca, port, HCASIM_COUNTER_TX_DISCARDS);
		hca_packet_free(pkt);
		return 0;
	}
	count_frame(hca, port, pkt, true);
	hca->ops.tx(hca->host, port, pkt);
	return 0;
}

static uint8_t refusal(const struct hca *hca, const struct rxwork *w)
{
	const struct pkt_info *info = &w->info;

	if (info->op->transport != HCASIM_TRANSPORT_UD)
		return HCASIM_COUNTER_REFUSED_TRANSPORT;
	if (info->qkey != GSI_QKEY)
		return HCASIM_COUNTER_REFUSED_QKEY;
	if (info->payload_len != HCA_MAD_SIZE)
		return HCASIM_COUNTER_REFUSED_LENGTH;
	if (!port_has_gid(&hca->port[w->port - 1], info->dgid, info->v1))
		return HCASIM_COUNTER_REFUSED_DGID;
	return hca->gsi.count == GSI_DEPTH ? HCASIM_COUNTER_REFUSED_GSI_FULL : 0;
}

uint8_t gsi_rx(struct hca *hca, const struct rxwork *w)
{
	const struct pkt_info *info = &w->info;
	const uint8_t reason = refusal(hca, w);
	struct gsi_mad *m;

	if (reason)
		return reason;
	m = malloc(sizeof(*m));
	if (!m)
		return HCASIM_COUNTER_REFUSED_GSI_FULL;
	m->next = NULL;
	m->mad.port = w->port;
	m->mad.v1 = info->v1;
	m->mad.src_qpn = info->sqpn;
	memcpy(m->mad.sgid, info->sgid, 16);
	memcpy(m->mad.dgid, info->dgid, 16);
	memcpy(m->mad.smac, info->smac, 6);
	memcpy(m->mad.data, w->pkt->data + info->payload_off, HCA_MAD_SIZE);
	if (hca->gsi.last)
		hca->gsi.last->next = m;
	else
		hca->gsi.first = m;
	hca->gsi.last = m;
	if (!hca->gsi.count++)
		raise_vector(hca);
	return 0;
}

bool hca_gsi_recv(struct hca *hca, struct hca_mad *mad)
{
	struct gsi_mad *m = hca->gsi.first;

	if (!m)
		return false;
	hca->gsi.first = m->next;
	if (!m->next)
		hca->gsi.last = NULL;
	hca->gsi.count--;
	*mad = m->mad;
	free(m);
	return true;
}

void gsi_free(struct hca *hca)
{
	struct hca_mad waste;

	while (hca_gsi_recv(hca, &waste))
		;
}

static void alarm_rings(struct hca *hca, struct timer *t)
{
	raise_vector(hca);
}

void hca_alarm(struct hca *hca, hca_ps at)
{
	hca->gsi.alarm.fire = alarm_rings;
	if (at == HCA_PS_NEVER)
		timer_cancel(hca, &hca->gsi.alarm);
	else
		timer_set(hca, &hca->gsi.alarm, at);
	hca_announce(hca);
}
