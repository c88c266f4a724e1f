// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder: executes requests in the order of their PSNs (IBTA 9.7.4 for RC, 9.8.2 for UC, 9.8.3 for UD).
 * Everything is checked before anything is changed, so that a request which has to wait for a receive WQE can simply
 * be checked again.
 *
 * Faults (IBTA 9.9.3; NAK codes 9.7.5.2.8, completion statuses 11.6.2):
 *
 * A: receive WQE or its memory, refuse_receive(): NAK remote operational error, the WQE fails, ERR.
 *
 * B: sequence, not ready, rx_rc(), resp_not_ready(): NAK; the requester repeats the request.
 *
 * C: request, key or length on RC, refuse(): NAK; the current receive WQE fails, or an event is raised; ERR.
 *
 * D: the same on UC and UD, refuse(): dropped; the WQE is used for the next message.
 *
 * J: key to be invalidated, accept_send(): an ACK (erratum INV-WHAT); the WQE fails, ERR.
 */
#include "core/memory/memory.h"
#include "core/memory/odp.h"
#include "core/queues/queues.h"
#include "core/responder/responder.h"
#include "core/wire/net.h"

/* ---- Accepting ---- */

void rop_written(struct hca *hca, struct dma_ctx *c, bool stale)
{
	struct rop *r = c->rop;

	hca->rx_writes--;
	r->dma_pending--;
	if (c->d.status)
		r->failed = true;
	if (r->orphan) {
		if (!r->dma_pending)
			rop_put(hca, r);
		return;
	}
	rop_land(hca, c->qp);
}

bool responder_accept(struct hca *hca, struct qp *qp, struct rxwork *w, struct rop *r,
		      const struct piece *piece, uint32_t n, void *buf)
{
	struct resp *resp = &qp->resp;
	const struct pkt_info *info = &w->info;

	if (n) {
		n = dma_pieces(hca, qp, true, piece, n, buf, rop_written, r, w->pkt);
		if (n == UINT32_MAX) {
			rop_put(hca, r);
			return false;
		}
		w->pkt = NULL;
	}
	r->dma_pending = (uint16_t)n;
	hca->rx_writes += n;
	resp->epsn = psn_add(info->psn, 1);
	resp->nak_sent = false;
	if (info->op->flags & HCASIM_BTH_F_END)
		resp->msn = psn_add(resp->msn, 1);
	if (r->kind == ROP_NONE && qp_reliable(qp) && info->ackreq)
		r->kind = ROP_ACK;
	r->psn = info->psn;
	r->msn = resp->msn;
	rop_accept(hca, qp, r);
	return true;
}

/* ---- Receive WQEs ---- */

/* IBTA 10.2.9.2: the keys of an SRQ's WQEs belong to the SRQ's protection domain. */
static uint32_t recv_pdn(const struct qp *qp)
{
	return qp->rq.srq ? qp->rq.srq->pdn : qp->c.pdn;
}

static enum verdict want_receive(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	switch (rq_take(hca, qp, qp->resp.srq)) {
	case RQ_WAIT:
		qp->resp.blocked = true;
		return V_WAIT;
	case RQ_EMPTY:
		return V_EMPTY;
	case RQ_ERROR:
		return refuse_receive(hca, qp, info, HCASIM_COUNTER_REFUSED_RECEIVE_WQE, 0,
				      HCASIM_VENDOR_ERR_DMA_FAULT);
	default:
		break;
	}
	if (qp->rq.bad)
		return refuse_receive(hca, qp, info, HCASIM_COUNTER_REFUSED_RECEIVE_WQE,
				      HCASIM_CQE_STATUS_LOC_QP_OP_ERR, qp->rq.bad);
	return V_OK;
}

static enum verdict remote_absent(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint32_t rkey,
				  uint64_t addr, uint64_t len, bool write)
{
	page_fault_remote(hca, qp, info->psn, rkey, addr, len, write);
	resp_not_ready(hca, qp, info, HCASIM_COUNTER_REFUSED_PAGES);
	return V_REFUSED;
}

/* ---- Requests ---- */

/*
 * Executes a packet of a SEND, with its invalidation. A key that cannot be invalidated is a class J fault (IBTA
 * 9.9.6.3): the message is acknowledged as in Linux (erratum INV-WHAT), its receive WQE completes in error, and the QP
 * goes to ERR. On UC, for which the IBTA has no such message, it is dropped like any other invalid message.
 */
static enum verdict accept_send(struct hca *hca, struct qp *qp, struct rxwork *w, const struct piece *piece,
				uint32_t n)
{
	const struct pkt_info *info = &w->info;
	bool inv = info->op->flags & HCASIM_BTH_F_INV;
	uint32_t off, len;
	uint8_t err = inv ? window_check_inv(hca, qp, info->inv_rkey, true) : HCASIM_VENDOR_ERR_NONE;
	uint8_t *data;
	struct rop *r;

	if (err && !qp_reliable(qp))
		return refuse(hca, qp, info, (struct fault){.reason = HCASIM_COUNTER_REFUSED_INVALIDATE});
	tagged_payload(qp, info, &off, &len);
	r = rop_recv(hca, qp, info, (uint32_t)(qp->resp.offset + len));
	if (r && !tagged_accept(qp, w, r)) {
		rop_put(hca, r);
		return V_OK;
	}
	if (r && err)
		rop_recv_failed(r, HCASIM_CQE_STATUS_REM_INV_REQ_ERR, err);
	data = w->pkt->data + off;
	if (r && !err && rop_keep_payload(r, qp, w, off, len))
		n = 0;
	if (!r || !responder_accept(hca, qp, w, r, piece, n, data))
		return V_OK;
	msg_goes_on(hca, qp, info, len);
	if (err)
		qp_error(hca, qp);
	else if (inv) /* IBTA 10.7.3.2.4: the key must be invalid before the completion is visible. */
		window_invalidate(hca, info->inv_rkey);
	return V_OK;
}

static enum verdict rx_send(struct hca *hca, struct qp *qp, struct rxwork *w)
{
	const struct pkt_info *info = &w->info;
	struct piece piece[CORE_MAX_SGE];
	enum verdict v = V_OK;
	uint32_t n = 0, off, len;
	uint8_t err;

	if (!msg_length_ok(qp, info))
		return refuse_invalid(hca, qp, info, HCASIM_COUNTER_REFUSED_LENGTH,
				      HCASIM_VENDOR_ERR_SEQUENCE);
	if (page_fault_waits(hca, qp, info))
		return V_REFUSED;
	if (info->op->flags & HCASIM_BTH_F_START) {
		tagged_begin(qp, w);
		v = want_receive(hca, qp, info);
		if (v)
			return v == V_EMPTY ? refuse_no_receive(hca, qp, info) : v;
		tagged_not_matched(qp, w);
		qp->resp.offset = 0;
	}
	tagged_payload(qp, info, &off, &len);
	if (qp->resp.offset + len > qp->rq.rwr.length || qp->resp.offset + len > CORE_MSG_MAX)
		return refuse(hca, qp, info,
			      (struct fault){.reason = HCASIM_COUNTER_REFUSED_RECEIVE_SPACE,
					     .nak = HCASIM_NAK_INV_REQ,
					     .status = HCASIM_CQE_STATUS_LOC_LEN_ERR,
					     .vendor = HCASIM_VENDOR_ERR_RQ_TOO_SHORT});
	err = len ? sge_slice(hca, recv_pdn(qp), qp->rq.rwr.sge, qp->rq.rwr.num_sge, qp->resp.offset, len,
			      HCASIM_ACCESS_LOCAL_WRITE, piece, &n)
		  : 0;
	if (err)
		return refuse_receive(hca, qp, info, HCASIM_COUNTER_REFUSED_RECEIVE_KEY,
				      HCASIM_CQE_STATUS_LOC_PROT_ERR, err);
	if (!sge_present(hca, qp->rq.rwr.sge, qp->rq.rwr.num_sge, qp->resp.offset, len, true))
		return page_fault_receive(hca, qp, info, qp->resp.offset, len);
	return accept_send(hca, qp, w, piece, n);
}

static uint8_t write_begins(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	struct resp *resp = &qp->resp;

	resp->va = info->va;
	resp->rkey = info->rkey;
	resp->dmalen = info->dmalen;
	resp->offset = 0;
	/* Without payload, key and address are not checked (IBTA 9.7.4.1.5). */
	return info->dmalen ? rkey_check(hca, qp, qp->resp.pdn, info->rkey, info->va, info->dmalen,
					 HCASIM_ACCESS_REMOTE_WRITE, NULL)
			    : HCASIM_VENDOR_ERR_NONE;
}

/*
 * The memory may not be written (IBTA class C). A packet with immediate data takes a receive WQE, which completes
 * with the local access error of 11.6.2; a message without such a packet has none, and raises an event.
 */
static enum verdict write_refused(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint8_t err)
{
	enum verdict v = V_OK;

	if (qp_reliable(qp) && info->op->flags & HCASIM_BTH_F_COMP)
		v = want_receive(hca, qp, info);
	if (v == V_WAIT || v == V_REFUSED)
		return v;
	return refuse_key(hca, qp, info, HCASIM_CQE_STATUS_LOC_ACCESS_ERR, err);
}

static enum verdict rx_write(struct hca *hca, struct qp *qp, struct rxwork *w)
{
	const struct pkt_info *info = &w->info;
	enum verdict v = V_OK;
	struct piece piece;
	struct rop *r;
	uint8_t err = HCASIM_VENDOR_ERR_NONE;

	if (!(qp->a.access & HCASIM_ACCESS_REMOTE_WRITE))
		return refuse_right(hca, qp, info);
	if (!msg_write_length_ok(qp, info))
		return refuse_invalid(hca, qp, info, HCASIM_COUNTER_REFUSED_LENGTH,
				      HCASIM_VENDOR_ERR_SEQUENCE);
	if (info->op->flags & HCASIM_BTH_F_START)
		err = write_begins(hca, qp, info);
	if (!err && info->payload_len)
		err = rkey_check(hca, qp, qp->resp.pdn, qp->resp.rkey, qp->resp.va + qp->resp.offset,
				 info->payload_len, HCASIM_ACCESS_REMOTE_WRITE, &piece);
	if (err)
		return write_refused(hca, qp, info, err);
	if (!key_present(hca, qp->resp.rkey, qp->resp.va + qp->resp.offset, info->payload_len, true))
		return remote_absent(hca, qp, info, qp->resp.rkey, qp->resp.va + qp->resp.offset,
				     qp->resp.dmalen - qp->resp.offset, true);
	if (info->op->flags & HCASIM_BTH_F_COMP) {
		v = want_receive(hca, qp, info);
		if (v)
			return v == V_EMPTY ? refuse_no_receive(hca, qp, info) : v;
	}
	r = rop_recv(hca, qp, info, qp->resp.dmalen);
	if (r && responder_accept(hca, qp, w, r, &piece, info->payload_len ? 1 : 0,
				  w->pkt->data + info->payload_off))
		msg_goes_on(hca, qp, info, info->payload_len);
	return V_OK;
}

/* Accepts a request without payload whose response has `npkts` packets. */
static void answered_later(struct qp *qp, const struct pkt_info *info, struct rop *r, uint32_t npkts)
{
	struct resp *resp = &qp->resp;

	resp->epsn = psn_add(info->psn, npkts);
	resp->msn = psn_add(resp->msn, 1);
	resp->nak_sent = false;
	resp->nreads++;
	r->psn = info->psn;
	r->msn = resp->msn;
}

static enum verdict rx_read(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	struct rop *r;
	uint8_t err;

	if (!(qp->a.access & HCASIM_ACCESS_REMOTE_READ))
		return refuse_right(hca, qp, info);
	if (info->dmalen > CORE_MSG_MAX || qp->resp.nreads >= qp->a.max_dest_rd_atomic)
		return refuse_reads(hca, qp, info);
	err = info->dmalen ? rkey_check(hca, qp, qp->resp.pdn, info->rkey, info->va, info->dmalen,
					HCASIM_ACCESS_REMOTE_READ, NULL)
			   : 0;
	if (err)
		return refuse_key(hca, qp, info, 0, err);
	if (!key_present(hca, info->rkey, info->va, info->dmalen, false))
		return remote_absent(hca, qp, info, info->rkey, info->va, info->dmalen, false);
	r = rop_get(hca);
	if (!r)
		return V_OK;
	r->kind = ROP_READ;
	r->va = info->va;
	r->rkey = info->rkey;
	r->pdn = qp->resp.pdn;
	r->len = info->dmalen;
	r->npkts = packets_of(info->dmalen, qp->mtu);
	answered_later(qp, info, r, r->npkts);
	rop_accept(hca, qp, r);
	return V_OK;
}

static enum verdict rx_atomic(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	struct rop *r;
	uint8_t err;

	if (!(qp->a.access & HCASIM_ACCESS_REMOTE_ATOMIC))
		return refuse_right(hca, qp, info);
	if (info->va & 7)
		return refuse_misaligned(hca, qp, info);
	if (qp->resp.nreads >= qp->a.max_dest_rd_atomic)
		return refuse_reads(hca, qp, info);
	err = rkey_check(hca, qp, qp->resp.pdn, info->rkey, info->va, 8, HCASIM_ACCESS_REMOTE_ATOMIC, NULL);
	if (err)
		return refuse_key(hca, qp, info, 0, err);
	if (!key_present(hca, info->rkey, info->va, 8, true))
		return remote_absent(hca, qp, info, info->rkey, info->va, 8, true);
	r = rop_get(hca);
	if (!r)
		return V_OK;
	answered_later(qp, info, r, 1);
	atomic_start(hca, qp, info, r);
	return V_OK;
}

/* Rights that a placement type needs (IBTA A19.2.5.1); 0: invalid type. */
static uint32_t flush_access(const struct pkt_info *info)
{
	if (info->plt & ~(HCASIM_FLUSH_TYPE_GLOBAL | HCASIM_FLUSH_TYPE_PERSISTENT) ||
	    info->sel > HCASIM_FLUSH_LEVEL_MR)
		return 0;
	return (info->plt & HCASIM_FLUSH_TYPE_GLOBAL ? HCASIM_ACCESS_FLUSH_GLOBAL : 0) |
	       (info->plt & HCASIM_FLUSH_TYPE_PERSISTENT ? HCASIM_ACCESS_FLUSH_PERSISTENT : 0);
}

/*
 * FLUSH: the response waits until everything written before is in host memory. No region can have the right of
 * persistence, since host memory does not persist.
 */
static enum verdict rx_flush(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	uint32_t access = flush_access(info);
	struct rop *r;
	uint8_t err;

	if (!access)
		return refuse_invalid(hca, qp, info, HCASIM_COUNTER_REFUSED_FLUSH_TYPE,
				      HCASIM_VENDOR_ERR_BAD_SEGMENT);
	if (qp->resp.nreads >= qp->a.max_dest_rd_atomic)
		return refuse_reads(hca, qp, info);
	err = info->sel == HCASIM_FLUSH_LEVEL_MR
		      ? rkey_check_whole(hca, qp, qp->resp.pdn, info->rkey, access)
		      : rkey_check(hca, qp, qp->resp.pdn, info->rkey, info->va, info->dmalen, access, NULL);
	if (err)
		return refuse_key(hca, qp, info, 0, err);
	r = rop_get(hca);
	if (!r)
		return V_OK;
	r->kind = ROP_ANSWER;
	answered_later(qp, info, r, 1);
	rop_accept(hca, qp, r);
	return V_OK;
}

/* ATOMIC WRITE: eight aligned bytes, written at once. */
static enum verdict rx_atomic_write(struct hca *hca, struct qp *qp, struct rxwork *w)
{
	const struct pkt_info *info = &w->info;
	struct piece piece;
	struct rop *r;
	uint8_t err;

	if (!(qp->a.access & HCASIM_ACCESS_REMOTE_WRITE))
		return refuse_right(hca, qp, info);
	if (info->va & 7)
		return refuse_misaligned(hca, qp, info);
	if (info->dmalen != 8 || info->payload_len != 8)
		return refuse_invalid(hca, qp, info, HCASIM_COUNTER_REFUSED_LENGTH,
				      HCASIM_VENDOR_ERR_SEQUENCE);
	if (qp->resp.nreads >= qp->a.max_dest_rd_atomic)
		return refuse_reads(hca, qp, info);
	err = rkey_check(hca, qp, qp->resp.pdn, info->rkey, info->va, 8, HCASIM_ACCESS_REMOTE_WRITE, &piece);
	if (!err)
		err = rkey_error(key_expand_one(hca, &piece));
	if (err)
		return refuse_key(hca, qp, info, 0, err);
	if (!key_present(hca, info->rkey, info->va, 8, true))
		return remote_absent(hca, qp, info, info->rkey, info->va, 8, true);
	r = rop_get(hca);
	if (!r)
		return V_OK;
	r->kind = ROP_ANSWER;
	if (responder_accept(hca, qp, w, r, &piece, 1, w->pkt->data + info->payload_off))
		qp->resp.nreads++;
	return V_OK;
}

static enum verdict execute(struct hca *hca, struct qp *qp, struct rxwork *w)
{
	uint32_t f = w->info.op->flags;

	if (f & HCASIM_BTH_F_SEND)
		return rx_send(hca, qp, w);
	if (f & HCASIM_BTH_F_WRITE)
		return rx_write(hca, qp, w);
	if (f & HCASIM_BTH_F_READ)
		return rx_read(hca, qp, &w->info);
	if (f & HCASIM_BTH_F_ATOMIC)
		return rx_atomic(hca, qp, &w->info);
	if (f & HCASIM_BTH_F_FLUSH)
		return rx_flush(hca, qp, &w->info);
	if (f & HCASIM_BTH_F_ATOMIC_WRITE)
		return rx_atomic_write(hca, qp, w);
	return refuse_invalid(hca, qp, &w->info, HCASIM_COUNTER_REFUSED_MALFORMED,
			      HCASIM_VENDOR_ERR_BAD_OPCODE);
}

static enum verdict rx_request(struct hca *hca, struct qp *qp, struct rxwork *w)
{
	const enum verdict v = execute(hca, qp, w);

	if (v != V_WAIT) /* else it comes again */
		msg_count(hca, w);
	return v;
}

/* ---- Transports ---- */

/*
 * IBTA A14.5: an XRC request names its SRQ, and so its protection domain. The SRQ must belong to the QP's XRC domain,
 * and be the same in all packets of a message.
 */
static bool xrc_target(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	struct resp *resp = &qp->resp;
	struct srq *srq = srq_find(hca, info->srqn);

	if (!srq || srq->xrcdn != qp->c.xrcdn ||
	    (!(info->op->flags & HCASIM_BTH_F_START) && info->srqn != resp->srqn))
		return false;
	resp->srq = srq;
	resp->pdn = srq->pdn;
	return true;
}

static enum verdict rx_rc(struct hca *hca, struct qp *qp, struct rxwork *w)
{
	uint32_t ahead = psn_sub(w->info.psn, qp->resp.epsn);
	bool target = !qp_is_xrc(qp) || xrc_target(hca, qp, &w->info);

	if (ahead >= CORE_PSN_HALF) {
		hca_count(hca, w->port, HCASIM_COUNTER_DUPLICATE_REQUEST);
		if (target || !(w->info.op->flags & HCASIM_BTH_F_READ))
			responder_duplicate(hca, qp, &w->info);
		else
			resp_dropped(hca, qp, &w->info, HCASIM_COUNTER_REFUSED_XRC_SRQ);
		return V_OK;
	}
	if (ahead) {
		hca_count(hca, w->port, HCASIM_COUNTER_OUT_OF_SEQUENCE);
		resp_gap(hca, qp, &w->info);
		return V_REFUSED;
	}
	if (!msg_sequence_ok(qp, &w->info))
		return refuse_invalid(hca, qp, &w->info, HCASIM_COUNTER_REFUSED_ORDER,
				      HCASIM_VENDOR_ERR_SEQUENCE);
	if (!target)
		return refuse_invalid(hca, qp, &w->info, HCASIM_COUNTER_REFUSED_XRC_SRQ,
				      HCASIM_VENDOR_ERR_BAD_SRQN);
	qp->resp.srqn = w->info.srqn;
	return rx_request(hca, qp, w);
}

/* Why the packet does not continue the current message, 0: it does. */
static uint8_t uc_reason(const struct qp *qp, const struct pkt_info *info)
{
	if (info->psn != qp->resp.epsn)
		return HCASIM_COUNTER_REFUSED_GAP;
	if (msg_sequence_ok(qp, info))
		return 0;
	return qp->resp.msg == MSG_SKIP ? HCASIM_COUNTER_REFUSED_SKIPPED : HCASIM_COUNTER_REFUSED_ORDER;
}

/* IBTA 9.8.2.2: a gap loses the current message; the next one that starts is accepted. */
static enum verdict rx_uc(struct hca *hca, struct qp *qp, struct rxwork *w)
{
	struct resp *resp = &qp->resp;
	const struct pkt_info *info = &w->info;
	const uint8_t reason = uc_reason(qp, info);
	enum verdict v = V_REFUSED;

	if (reason)
		resp->msg = MSG_SKIP;
	if (reason && !(info->op->flags & HCASIM_BTH_F_START))
		resp_dropped(hca, qp, info, reason);
	else
		v = rx_request(hca, qp, w);
	if (v == V_WAIT)
		return v;
	if (reason == HCASIM_COUNTER_REFUSED_GAP)
		hca_count(hca, w->port, HCASIM_COUNTER_OUT_OF_SEQUENCE);
	resp->epsn = psn_add(info->psn, 1);
	return v;
}

/* A message of one packet, `len` bytes at `buf`. If it does not fit it is dropped, and the receive stays posted. */
static enum verdict rx_datagram(struct hca *hca, struct qp *qp, struct rxwork *w, uint8_t *buf, uint32_t len)
{
	const uint32_t grh = w->raw ? 0 : HCASIM_GRH_SIZE;
	const struct pkt_info *info = &w->info;
	struct piece piece[CORE_MAX_SGE];
	enum verdict v = want_receive(hca, qp, info);
	struct rop *r;
	uint32_t n = 0;
	uint8_t err;

	if (v)
		return v == V_EMPTY ? refuse_no_receive(hca, qp, info) : v;
	if (len > qp->rq.rwr.length) {
		resp_dropped(hca, qp, info,
			     w->raw ? HCASIM_COUNTER_REFUSED_RECEIVE_SPACE
				    : HCASIM_COUNTER_REFUSED_DATAGRAM_SPACE);
		return V_REFUSED;
	}
	err = sge_slice(hca, recv_pdn(qp), qp->rq.rwr.sge, qp->rq.rwr.num_sge, 0, len,
			HCASIM_ACCESS_LOCAL_WRITE, piece, &n);
	if (err)
		return refuse_receive(hca, qp, info, HCASIM_COUNTER_REFUSED_RECEIVE_KEY,
				      HCASIM_CQE_STATUS_LOC_PROT_ERR, err);
	if (!sge_present(hca, qp->rq.rwr.sge, qp->rq.rwr.num_sge, 0, len, true))
		return page_fault_receive(hca, qp, info, 0, len);
	r = rop_recv(hca, qp, info, len);
	if (r) {
		net_headers(buf + grh, len - grh, w->raw ? NET_ETHERNET : NET_DATAGRAM, &r->cpl.headers);
		r->cpl.frame = w->raw;
		r->cpl.vlan = w->raw ? w->vlan : CORE_NO_VLAN;
		r->cpl.hash = w->raw ? w->hash : 0;
		r->cpl.hash_fields = w->raw ? w->hash_fields : 0;
		r->cpl.tagged = w->tagged;
		r->cpl.flow_tag = w->flow_tag;
	}
	if (r && responder_accept(hca, qp, w, r, piece, n, buf))
		rq_release(hca, qp);
	return V_OK;
}

/* The 40 bytes before a datagram overwrite the packet's own headers, in front of its payload. */
static enum verdict rx_ud(struct hca *hca, struct qp *qp, struct rxwork *w)
{
	const struct pkt_info *info = &w->info;
	uint8_t *buf = w->pkt->data + info->payload_off - HCASIM_GRH_SIZE;
	enum verdict v;

	if (info->qkey != qp->a.qkey || info->payload_len > qp->mtu) {
		resp_dropped(hca, qp, info,
			     info->qkey != qp->a.qkey ? HCASIM_COUNTER_REFUSED_QKEY
						      : HCASIM_COUNTER_REFUSED_LENGTH);
		return V_REFUSED;
	}
	memcpy(buf, info->grh, HCASIM_GRH_SIZE);
	v = rx_datagram(hca, qp, w, buf, info->payload_len + HCASIM_GRH_SIZE);
	if (v != V_WAIT)
		msg_count(hca, w);
	return v;
}

/* For the rest of the responder a frame is a datagram of one packet. */
static enum verdict rx_raw(struct hca *hca, struct qp *qp, struct rxwork *w)
{
	struct hca_packet *pkt = w->pkt;

	w->info = (struct pkt_info){.number = pkt->number,
				    .op = hcasim_bth_op_info(HCASIM_BTH_OP_UD_SEND_ONLY)};
	memcpy(w->info.smac, pkt->data + 6, sizeof(w->info.smac));
	return rx_datagram(hca, qp, w, pkt->data, pkt->len);
}

bool responder_rx(struct hca *hca, struct qp *qp, struct rxwork *w)
{
	enum verdict v;

	if (qp->a.state == HCASIM_QPS_RTR && !qp->resp.comm_est && !w->raw) {
		qp->resp.comm_est = true;
		event_raise(hca, &qp->ev, HCASIM_EQE_TYPE_COMM_EST);
	}
	switch (qp->c.type) {
	case HCASIM_QPT_RC:
	case HCASIM_QPT_XRC_RECV:
		v = rx_rc(hca, qp, w);
		break;
	case HCASIM_QPT_UC:
		v = rx_uc(hca, qp, w);
		break;
	case HCASIM_QPT_RAW_PACKET:
		v = rx_raw(hca, qp, w);
		break;
	default:
		v = rx_ud(hca, qp, w);
		break;
	}
	return v != V_WAIT;
}
