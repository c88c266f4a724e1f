// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Paused priorities of a port (IEEE 802.1Qbb). As with a rate limit, the send engine is told to make no packets of their
 * QPs, so that the FIFOs, which all QPs share, stay open for the other priorities.
 */
#include "core/egress/egress.h"

void hca_tx_pause(struct hca *hca, uint8_t port, uint8_t priorities)
{
	struct qp *qp;
	uint32_t qpn = 0;

	if (hca->port[port - 1].paused == priorities)
		return;
	hca->port[port - 1].paused = priorities;
	for (; (qp = numbers_from(&hca->qp, qpn, &qpn)); qpn++)
		if (qp->a.port == port)
			qp_update(hca, qp);
	hca_announce(hca);
}
