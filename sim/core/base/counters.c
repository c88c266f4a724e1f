// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the adapter counts, for each port and without one; and packets that it refuses. */
#include "core/base/base.h"

/* The engine counts for the queues of both ports. */
static void add_engine(const struct hca *hca, struct hca_counters *out)
{
	struct engine_counters eng;

	hca->eng->counters(hca->engine, &eng);
	out->wqes = eng.wqes;
	out->retransmissions = eng.retransmissions;
	out->rnr_nak_retry_err = eng.rnr_naks;
	out->packet_seq_err = eng.sequence_naks;
	out->implied_nak_seq_err = eng.implied_naks;
	out->local_ack_timeout_err = eng.timeouts;
	out->retries = eng.sequence_naks + eng.implied_naks + eng.timeouts;
}

static void add(struct hca_counters *out, const struct hca_counters *more)
{
	for (unsigned int i = 0; i < HCASIM_NUM_COUNTERS; i++)
		out->of[i] += more->of[i];
}

void hca_counters(const struct hca *hca, struct hca_counters *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < sizeof(hca->count) / sizeof(hca->count[0]); i++)
		add(out, &hca->count[i]);
	add_engine(hca, out);
}

void hca_port_counters(const struct hca *hca, uint8_t port, struct hca_counters *out)
{
	*out = hca->count[0];
	if (port && port <= hca->cfg.num_ports)
		add(out, &hca->count[port]);
	add_engine(hca, out);
}

void count_frame(struct hca *hca, uint8_t port, const struct hca_packet *pkt, bool sent)
{
	struct hca_counters *c = &hca->count[port];
	const bool group = pkt->data[0] & 1;

	if (sent) {
		c->tx_packets++;
		c->tx_octets += pkt->len;
		c->of[group ? HCASIM_COUNTER_TX_MULTICAST_PACKETS : HCASIM_COUNTER_TX_UNICAST_PACKETS]++;
	} else {
		c->rx_packets++;
		c->rx_octets += pkt->len;
		c->of[group ? HCASIM_COUNTER_RX_MULTICAST_PACKETS : HCASIM_COUNTER_RX_UNICAST_PACKETS]++;
	}
}

void count_refused(struct hca *hca, const struct hca_refused *r)
{
	struct hca_counters *c = &hca->count[r->port];

	c->of[r->reason]++;
	if (!r->aeth_kind || r->reason == HCASIM_COUNTER_REFUSED_GAP)
		c->rx_dropped++;
	if (r->aeth_kind == HCASIM_AETH_KIND_RNR)
		c->rnr_nak_sent++;
	else if (r->aeth_kind == HCASIM_AETH_KIND_NAK && r->nak == HCASIM_NAK_PSN_SEQ)
		c->seq_nak_sent++;
	if (hca->ops.saw_refused && !hca->dying)
		hca->ops.saw_refused(hca->host, r);
}
