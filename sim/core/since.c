// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* When the work at the head of a stage came to it. */
#include "core/egress/egress.h"
#include "core/queues/queues.h"
#include "core/send/send.h"
#include "core/stages.h"

static hca_ps packet_since(const struct txq *q)
{
	const struct txpkt *t = txq_head(q);

	return t ? t->since : 0;
}

/* Packets that were parked wait for something else: a receive, or an atomic. */
static hca_ps frame_since(const struct hca *hca)
{
	return list_empty(&hca->rx_qps) && hca->rx_head ? hca->rx_head->since : 0;
}

static hca_ps response_since(const struct hca *hca)
{
	if (list_empty(&hca->respond_qps))
		return 0;
	return node_entry(hca->respond_qps.next, struct qp, on_respond)->resp.out.head->since;
}

hca_ps hca_stage_since(const struct hca *hca, enum hca_stage stage)
{
	switch (stage) {
	case HCA_STAGE_DOORBELL:
		return hca->db.count ? hca->db.slot[hca->db.head].since : 0;
	case HCA_STAGE_FETCH:
	case HCA_STAGE_DECODE:
	case HCA_STAGE_PACKETISE:
		return send_since(hca, stage, 0);
	case HCA_STAGE_GATHER:
		return packet_since(&hca->gather);
	case HCA_STAGE_TX:
		return packet_since(&hca->tx);
	case HCA_STAGE_RX:
		return frame_since(hca);
	case HCA_STAGE_RESPOND:
		return response_since(hca);
	case HCA_STAGE_COMPLETE:
		return complete_since(hca);
	case HCA_STAGE_EVENT:
		return event_since(hca);
	default:
		return 0;
	}
}
