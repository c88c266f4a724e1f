// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The send side of the responder: acknowledges, NAKs, atomic responses, and READ responses packet by packet. */
#include "core/egress/egress.h"
#include "core/memory/memory.h"
#include "core/memory/odp.h"
#include "core/responder/responder.h"
#include "core/wire/wire.h"

void respond_changed(struct hca *hca, struct qp *qp)
{
	const struct rop *next = qp->resp.out.head;

	list_set(&hca->respond_qps, &qp->on_respond,
		 next && !(next->kind == ROP_READ && pace_waits(hca, qp, SCHED_RESPONDER)));
}

static uint32_t read_bytes(const struct qp *qp, const struct rop *r)
{
	uint64_t left = r->len - (uint64_t)r->done_pkts * qp->mtu;

	return left < qp->mtu ? (uint32_t)left : qp->mtu;
}

bool respond_pending(const struct hca *hca, struct hca_work *w)
{
	const struct qp *qp;
	const struct rop *r;

	if (list_empty(&hca->respond_qps) || txq_full(&hca->gather))
		return false;
	qp = node_entry(hca->respond_qps.next, struct qp, on_respond);
	r = qp->resp.out.head;
	w->bytes = r->kind == ROP_READ ? read_bytes(qp, r) : 0;
	w->items = 1;
	return true;
}

static uint8_t read_opcode(const struct rop *r)
{
	if (r->npkts == 1)
		return HCASIM_BTH_OP_RC_RDMA_READ_RESPONSE_ONLY;
	if (!r->done_pkts)
		return HCASIM_BTH_OP_RC_RDMA_READ_RESPONSE_FIRST;
	return r->done_pkts == r->npkts - 1 ? HCASIM_BTH_OP_RC_RDMA_READ_RESPONSE_LAST
					    : HCASIM_BTH_OP_RC_RDMA_READ_RESPONSE_MIDDLE;
}

static void spec_of(const struct qp *qp, const struct rop *r, struct pkt_spec *s)
{
	*s = (struct pkt_spec){
		.opcode = HCASIM_BTH_OP_RC_ACKNOWLEDGE,
		.port = qp->a.port,
		.av = &qp->a.av,
		.sport = qp->udp_sport,
		.dqpn = qp->a.dest_qpn,
		.psn = r->psn,
		.aeth_kind = r->aeth_kind,
		.aeth_value = r->aeth_value,
		.msn = r->msn,
		.orig = r->orig,
	};
	if (r->kind == ROP_READ || r->kind == ROP_ATOMIC || r->kind == ROP_ANSWER) {
		s->aeth_kind = HCASIM_AETH_KIND_ACK;
		s->aeth_value = 31;
	}
	if (r->kind == ROP_ANSWER)
		s->opcode = HCASIM_BTH_OP_RC_RDMA_READ_RESPONSE_ONLY;
	if (r->kind == ROP_ATOMIC)
		s->opcode = HCASIM_BTH_OP_RC_ATOMIC_ACKNOWLEDGE;
	if (r->kind == ROP_READ) {
		s->opcode = read_opcode(r);
		s->psn = psn_add(r->psn, r->done_pkts);
		s->payload_len = read_bytes(qp, r);
	}
	if (qp_is_xrc(qp))
		s->opcode |= HCASIM_TRANSPORT_XRC << HCASIM_BTH_TRANSPORT_SHIFT;
}

/* The region may have been deregistered since the request was accepted. */
static bool read_plan(struct hca *hca, struct qp *qp, const struct rop *r, struct txpkt *t)
{
	struct piece piece;

	if (!t->payload_len)
		return true;
	return !rkey_check(hca, qp, r->pdn, r->rkey, r->va + (uint64_t)r->done_pkts * qp->mtu, t->payload_len,
			   HCASIM_ACCESS_REMOTE_READ, &piece) &&
	       txpkt_take(hca, t, &piece, 1);
}

static void respond_end(struct hca *hca, struct qp *qp, struct rop *r)
{
	rop_uncount(qp, r);
	rop_read_answered(qp, r);
	rop_pop(&qp->resp.out);
	rop_put(hca, r);
}

static void read_failed(struct hca *hca, struct qp *qp, uint32_t psn, uint8_t reason)
{
	const struct fault f = {.psn = psn,
				.reason = reason,
				.nak = HCASIM_NAK_REM_ACCESS,
				.event = HCASIM_EQE_TYPE_QP_ACCESS_ERR};

	resp_fatal_now(hca, qp, &f);
}

/*
 * A repeated READ whose memory is no longer accessible: the wire duplicated it, or its responses and a retry have
 * crossed, and the requester, which has the responses, has released the memory since (its next request may have
 * invalidated the window). Nobody waits for this response.
 */
static void read_gone(struct hca *hca, struct qp *qp, struct rop *r, uint32_t psn)
{
	if (r->duplicate)
		respond_end(hca, qp, r);
	else
		read_failed(hca, qp, psn, HCASIM_COUNTER_REFUSED_RKEY);
}

/* After a failed READ nothing is sent any more; an earlier one is still answered before the NAK. */
static bool read_may_leave(struct hca *hca, struct qp *qp, struct txpkt *t)
{
	if (t->failed && t->duplicate) /* memory was released since, see read_gone() */
		return false;
	if (t->failed) {
		if (qp->a.state != HCASIM_QPS_ERR)
			read_failed(hca, qp, t->psn, HCASIM_COUNTER_REFUSED_MEMORY);
		qp->resp.read_fault = true;
	}
	return !qp->resp.read_fault;
}

static bool always(struct hca *hca, struct qp *qp, struct txpkt *t)
{
	return true;
}

static const struct tx_owner read_response = {.may_leave = read_may_leave}, answer = {.may_leave = always};

/* Pages were unmapped during the response: the peer requests the rest again, after the RNR delay. */
static bool read_absent(struct hca *hca, struct qp *qp, const struct rop *r, uint32_t psn)
{
	uint64_t done = (uint64_t)r->done_pkts * qp->mtu;

	if (r->kind != ROP_READ || key_present(hca, r->rkey, r->va + done, read_bytes(qp, r), false))
		return false;
	page_fault_remote(hca, qp, psn, r->rkey, r->va + done, r->len - done, false);
	resp_not_ready_now(hca, qp, psn);
	return true;
}

static void respond_one(struct hca *hca, struct qp *qp, struct rop *r)
{
	struct txpkt *t = txpkt_get(hca, qp, r->kind == ROP_READ ? &read_response : &answer);
	struct pkt_spec s;

	if (!t)
		return;
	spec_of(qp, r, &s);
	t->port = s.port;
	t->psn = s.psn;
	t->payload_len = s.payload_len;
	t->pkt = packet_build(hca, &s, &t->payload_off);
	if (!t->pkt) {
		txpkt_put(hca, t);
		return;
	}
	if (r->kind == ROP_READ && !read_plan(hca, qp, r, t)) {
		txpkt_put(hca, t);
		read_gone(hca, qp, r, s.psn);
		return;
	}
	if (read_absent(hca, qp, r, s.psn)) {
		txpkt_put(hca, t);
		return;
	}
	t->duplicate = r->duplicate;
	if (r->kind == ROP_READ)
		pace_charge(hca, qp, SCHED_RESPONDER, t->pkt->len);
	txq_push(hca, &hca->gather, t);
	if (r->kind != ROP_READ || ++r->done_pkts == r->npkts)
		respond_end(hca, qp, r);
}

void respond_step(struct hca *hca)
{
	struct qp *qp = node_entry(hca->respond_qps.next, struct qp, on_respond);

	list_del(&qp->on_respond);
	respond_one(hca, qp, qp->resp.out.head);
	qp_update(hca, qp);
}
