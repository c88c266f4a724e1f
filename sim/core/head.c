// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the work at the head of a stage is about, before its step. */
#include "core/ingress/ingress.h"
#include "core/stages.h"
#include "core/wire/wire.h"

static uint32_t frame_qpn(const struct hca *hca)
{
	if (!list_empty(&hca->rx_qps))
		return node_entry(hca->rx_qps.next, struct qp, on_rx)->qpn;
	return packet_dqpn(hca->rx_head->pkt);
}

void hca_stage_head(const struct hca *hca, enum hca_stage stage, struct hca_seen *head)
{
	*head = (struct hca_seen){0};
	if (stage == HCA_STAGE_RX)
		head->qpn = frame_qpn(hca);
	else if (stage == HCA_STAGE_COMPLETE)
		complete_head(hca, head);
	else
		see_before(hca, stage, head);
}
