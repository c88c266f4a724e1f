// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests that are refused: what is counted, which NAK is sent, what happens to the receive WQE and the QP. */
#include "core/queues/queues.h"
#include "core/responder/responder.h"

/* The counter of a NAK code's class, whether or not a NAK is sent. */
static void count_class(struct hca *hca, const struct qp *qp, uint8_t nak)
{
	static const uint8_t counter[] = {
		[HCASIM_NAK_INV_REQ] = HCASIM_COUNTER_RESP_REMOTE_INVALID_REQUEST,
		[HCASIM_NAK_REM_ACCESS] = HCASIM_COUNTER_RESP_REMOTE_ACCESS_ERRORS,
		[HCASIM_NAK_REM_OP] = HCASIM_COUNTER_RESP_REMOTE_OPERATION_ERRORS,
	};

	if (nak != HCASIM_NAK_PSN_SEQ && nak < sizeof(counter))
		hca_count(hca, qp->a.port, counter[nak]);
}

static void tell(struct hca *hca, const struct qp *qp, const struct fault *f, uint8_t aeth_kind)
{
	const struct hca_refused r = {
		.reason = f->reason,
		.aeth_kind = qp_reliable(qp) ? aeth_kind : 0,
		.nak = f->nak,
		.port = qp->a.port,
		.qpn = qp->qpn,
		.psn = f->psn,
		.number = f->number,
	};

	count_class(hca, qp, f->nak);
	count_refused(hca, &r);
}

static struct fault fault_of(const struct pkt_info *info, uint8_t reason)
{
	return (struct fault){.psn = info->psn, .number = info->number, .reason = reason};
}

void resp_dropped(struct hca *hca, const struct qp *qp, const struct pkt_info *info, uint8_t reason)
{
	const struct fault f = fault_of(info, reason);

	tell(hca, qp, &f, 0);
}

/* NULL: no memory, or the QP sends no NAKs. */
static struct rop *make_nak(struct hca *hca, const struct qp *qp, uint32_t psn, uint8_t kind, uint8_t value)
{
	struct rop *r = qp_reliable(qp) ? rop_get(hca) : NULL;

	if (!r)
		return NULL;
	r->kind = ROP_NAK;
	r->aeth_kind = kind;
	r->aeth_value = value;
	r->psn = psn;
	r->msn = qp->resp.msn;
	return r;
}

static void send_nak(struct hca *hca, struct qp *qp, uint32_t psn, uint8_t kind, uint8_t value)
{
	struct rop *r = make_nak(hca, qp, psn, kind, value);

	if (r)
		rop_accept(hca, qp, r);
}

/* Sent before anything that is still being written, and instead of responses that the peer will request again. */
static void send_nak_now(struct hca *hca, struct qp *qp, uint32_t psn, uint8_t kind, uint8_t value)
{
	struct rop *r;

	rop_drop_reads(hca, qp, psn);
	r = make_nak(hca, qp, psn, kind, value);
	if (r)
		rop_push(hca, &qp->resp.out, r);
}

/* ---- The requester repeats the request ---- */

/* IBTA 9.7.5.2.8: later requests are dropped without a NAK until this one is repeated. */
void resp_not_ready(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint8_t reason)
{
	const struct fault f = fault_of(info, reason);

	tell(hca, qp, &f, HCASIM_AETH_KIND_RNR);
	send_nak(hca, qp, info->psn, HCASIM_AETH_KIND_RNR, qp->a.min_rnr_timer);
	if (qp_reliable(qp))
		qp->resp.nak_sent = true;
	else
		qp->resp.msg = MSG_SKIP;
}

void resp_not_ready_now(struct hca *hca, struct qp *qp, uint32_t psn)
{
	const struct fault f = {.psn = psn, .reason = HCASIM_COUNTER_REFUSED_PAGES};

	tell(hca, qp, &f, HCASIM_AETH_KIND_RNR);
	send_nak_now(hca, qp, psn, HCASIM_AETH_KIND_RNR, qp->a.min_rnr_timer);
}

/* IBTA 9.7.5.1.1: one NAK for a gap. */
void resp_gap(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	const struct fault f = fault_of(info, HCASIM_COUNTER_REFUSED_GAP);

	tell(hca, qp, &f, qp->resp.nak_sent ? 0 : HCASIM_AETH_KIND_NAK);
	if (!qp->resp.nak_sent)
		send_nak(hca, qp, qp->resp.epsn, HCASIM_AETH_KIND_NAK, HCASIM_NAK_PSN_SEQ);
	qp->resp.nak_sent = true;
}

/* ---- The QP fails ---- */

void resp_fatal(struct hca *hca, struct qp *qp, const struct fault *f)
{
	tell(hca, qp, f, HCASIM_AETH_KIND_NAK);
	send_nak(hca, qp, f->psn, HCASIM_AETH_KIND_NAK, f->nak);
	if (f->status && qp->rq.active)
		rop_recv_error(hca, qp, f->status, f->vendor);
	else if (f->event)
		event_raise(hca, &qp->ev, f->event);
	qp_error(hca, qp);
	rop_land(hca, qp);
}

void resp_fatal_now(struct hca *hca, struct qp *qp, const struct fault *f)
{
	tell(hca, qp, f, HCASIM_AETH_KIND_NAK);
	send_nak_now(hca, qp, f->psn, HCASIM_AETH_KIND_NAK, f->nak);
	if (f->event)
		event_raise(hca, &qp->ev, f->event);
	qp_error(hca, qp);
}

/* ---- Verdicts of requests ---- */

/* An error of the peer. UC and UD drop the message and keep their state. */
enum verdict refuse(struct hca *hca, struct qp *qp, const struct pkt_info *info, struct fault f)
{
	f.psn = info->psn;
	f.number = info->number;
	if (qp_reliable(qp)) {
		resp_fatal(hca, qp, &f);
	} else {
		qp->resp.msg = MSG_SKIP;
		tell(hca, qp, &f, 0);
	}
	return V_REFUSED;
}

enum verdict refuse_invalid(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint8_t reason,
			    uint8_t vendor)
{
	return refuse(hca, qp, info,
		      (struct fault){.reason = reason,
				     .nak = HCASIM_NAK_INV_REQ,
				     .status = HCASIM_CQE_STATUS_REM_INV_REQ_ERR,
				     .vendor = vendor,
				     .event = HCASIM_EQE_TYPE_QP_REQ_ERR});
}

/* The operation is not permitted to the peer. */
enum verdict refuse_right(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	return refuse_invalid(hca, qp, info, HCASIM_COUNTER_REFUSED_PERMISSION,
			      HCASIM_VENDOR_ERR_RKEY_ACCESS);
}

enum verdict refuse_reads(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	return refuse_invalid(hca, qp, info, HCASIM_COUNTER_REFUSED_RD_ATOMIC,
			      HCASIM_VENDOR_ERR_RD_ATOMIC_LIMIT);
}

enum verdict refuse_misaligned(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	return refuse_invalid(hca, qp, info, HCASIM_COUNTER_REFUSED_ATOMIC_ALIGNMENT,
			      HCASIM_VENDOR_ERR_ATOMIC_ALIGN);
}

static uint8_t key_reason(uint8_t vendor)
{
	switch (vendor) {
	case HCASIM_VENDOR_ERR_BAD_RKEY:
		return HCASIM_COUNTER_REFUSED_RKEY;
	case HCASIM_VENDOR_ERR_RKEY_PD:
		return HCASIM_COUNTER_REFUSED_RKEY_PD;
	case HCASIM_VENDOR_ERR_RKEY_RANGE:
		return HCASIM_COUNTER_REFUSED_RKEY_RANGE;
	case HCASIM_VENDOR_ERR_RKEY_ACCESS:
		return HCASIM_COUNTER_REFUSED_RKEY_ACCESS;
	default:
		return HCASIM_COUNTER_REFUSED_MEMORY;
	}
}

/* `status`: of the active receive WQE; 0: the request has none. */
enum verdict refuse_key(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint8_t status,
			uint8_t vendor)
{
	return refuse(hca, qp, info,
		      (struct fault){.reason = key_reason(vendor),
				     .nak = HCASIM_NAK_REM_ACCESS,
				     .status = status,
				     .vendor = vendor,
				     .event = HCASIM_EQE_TYPE_QP_ACCESS_ERR});
}

/* An error of the receive WQE, which completes with it, on every transport. */
enum verdict refuse_receive(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint8_t reason,
			    uint8_t status, uint8_t vendor)
{
	resp_fatal(hca, qp,
		   &(struct fault){.psn = info->psn,
				   .number = info->number,
				   .reason = reason,
				   .nak = HCASIM_NAK_REM_OP,
				   .status = status,
				   .vendor = vendor,
				   .event = HCASIM_EQE_TYPE_QP_FATAL});
	return V_REFUSED;
}

enum verdict refuse_no_receive(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	resp_not_ready(hca, qp, info, HCASIM_COUNTER_REFUSED_NO_RECEIVE);
	return V_REFUSED;
}
