// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Order of packets in a message, and their lengths. */
#include "core/queues/queues.h"
#include "core/responder/responder.h"

/* Payload lengths that are allowed for first, middle, last and only packets (IBTA 9.7.4.1.6). */
bool msg_length_ok(const struct qp *qp, const struct pkt_info *info)
{
	if (!(info->op->flags & HCASIM_BTH_F_END))
		return info->payload_len == qp->mtu;
	if (info->op->flags & HCASIM_BTH_F_ONLY)
		return info->payload_len <= qp->mtu;
	return info->payload_len && info->payload_len <= qp->mtu;
}

bool msg_sequence_ok(const struct qp *qp, const struct pkt_info *info)
{
	uint32_t f = info->op->flags;

	if (f & HCASIM_BTH_F_START)
		return qp->resp.msg == MSG_NONE || qp->resp.msg == MSG_SKIP;
	return qp->resp.msg == (f & HCASIM_BTH_F_SEND ? MSG_SEND : MSG_WRITE);
}

bool msg_write_length_ok(const struct qp *qp, const struct pkt_info *info)
{
	uint32_t total = info->op->flags & HCASIM_BTH_F_START ? info->dmalen : qp->resp.dmalen;
	uint64_t off = info->op->flags & HCASIM_BTH_F_START ? 0 : qp->resp.offset;

	if (total > CORE_MSG_MAX || !msg_length_ok(qp, info))
		return false;
	return info->op->flags & HCASIM_BTH_F_END ? off + info->payload_len == total
						  : off + info->payload_len < total;
}

void msg_goes_on(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint32_t bytes)
{
	struct resp *r = &qp->resp;
	uint32_t f = info->op->flags;

	r->offset += bytes;
	if (f & HCASIM_BTH_F_END)
		r->msg = MSG_NONE;
	else
		r->msg = f & HCASIM_BTH_F_SEND ? MSG_SEND : MSG_WRITE;
	if (f & HCASIM_BTH_F_COMP)
		rq_release(hca, qp);
}

void msg_count(struct hca *hca, const struct rxwork *w)
{
	const uint32_t f = w->info.op->flags;

	if (!(f & HCASIM_BTH_F_START))
		return;
	if (f & HCASIM_BTH_F_SEND)
		hca_count(hca, w->port, HCASIM_COUNTER_RX_SEND_REQUESTS);
	else if (f & HCASIM_BTH_F_WRITE)
		hca_count(hca, w->port, HCASIM_COUNTER_RX_WRITE_REQUESTS);
	else if (f & HCASIM_BTH_F_READ)
		hca_count(hca, w->port, HCASIM_COUNTER_RX_READ_REQUESTS);
	else if (f & HCASIM_BTH_F_ATOMIC)
		hca_count(hca, w->port, HCASIM_COUNTER_RX_ATOMIC_REQUESTS);
}
