// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Page faults. Each is a request of its own, told of by an event; the driver half asks for the pages, maps what the
 * application has, and answers. A queue that has a request under way makes no second one: at a send queue everything
 * stands still until the answer (of a READ whose answer has no place to go, the responses are dropped, and asked for
 * again), at a responder the peer comes again (an RNR NAK), or, unreliable, has lost a message.
 *
 * What the driver half cannot map is no endless fault: the WQE that needs it fails as if its key did not cover it, a
 * request of the peer is refused.
 */
#include "core/core.h"

struct page_request {
	struct event_source ev; /* number: the token */
	struct node node;       /* hca->page_requests, oldest first */
	struct qp *qp;
	uint32_t epoch;
	enum page_fault_of { FAULT_GATHER, FAULT_RESULT, FAULT_RECEIVE, FAULT_REMOTE } of;
	struct wqe *wqe; /* GATHER, RESULT: a reference */
	uint32_t psn;    /* RECEIVE, REMOTE */
	uint32_t n, room;
	struct hca_page_range range[];
};

static struct page_request *request_new(struct hca *hca, struct qp *qp, enum page_fault_of of, uint32_t room)
{
	struct page_request *r = calloc(1, sizeof(*r) + room * sizeof(r->range[0]));

	if (!r)
		return NULL;
	if (!++hca->page_token)
		hca->page_token = 1;
	r->ev.number = hca->page_token;
	r->qp = qp;
	r->epoch = qp->epoch;
	r->of = of;
	r->room = room;
	qp_get(qp);
	return r;
}

static void request_free(struct hca *hca, struct page_request *r)
{
	event_cancel(hca, &r->ev);
	if (r->node.next)
		list_del(&r->node);
	if (r->wqe)
		wqe_put(hca, r->wqe);
	qp_put(hca, r->qp);
	free(r);
}

static void request_go(struct hca *hca, struct page_request *r)
{
	list_add_tail(&hca->page_requests, &r->node);
	event_raise(hca, &r->ev, HCASIM_EQE_TYPE_PAGE_REQUEST);
}

static void add(struct hca *hca, struct page_request *r, uint32_t key, uint64_t addr, uint64_t len,
		bool write, bool hint)
{
	if (len && r->n < r->room && key_absent(hca, key, addr, len, write, &r->range[r->n]))
		r->range[r->n++].hint = hint;
}

static void add_sges(struct hca *hca, struct page_request *r, const struct hca_sge *sge, uint32_t n,
		     uint64_t off, uint64_t len, bool write, bool hint)
{
	uint32_t i;

	for (i = 0; i < n && len; i++) {
		uint64_t part = sge[i].length;

		if (off >= part) {
			off -= part;
			continue;
		}
		part = part - off < len ? part - off : len;
		add(hca, r, sge[i].lkey, sge[i].addr + off, part, write, hint);
		len -= part;
		off = 0;
	}
}

void page_fault_send(struct hca *hca, struct qp *qp, struct wqe *w, bool result)
{
	const enum page_fault_of of = result ? FAULT_RESULT : FAULT_GATHER;
	struct page_request *r;

	if (qp->sq.paging & (1u << of))
		return;
	r = request_new(hca, qp, of, w->wr.num_sge);
	if (!r) {
		sq_fail(hca, qp, w, HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_VENDOR_ERR_DMA_FAULT);
		return;
	}
	add_sges(hca, r, w->wr.sge, w->wr.num_sge, 0, UINT64_MAX, result, false);
	r->wqe = w;
	w->refs++;
	qp->sq.paging |= 1u << of;
	request_go(hca, r);
}

/* How long the message is, only its last packet says: what is needed now, and the rest of the WQE if it can be had. */
void page_fault_receive(struct hca *hca, struct qp *qp, uint32_t psn, uint64_t off, uint32_t len)
{
	const struct hca_rwr *wr = &qp->rq.rwr;
	struct page_request *r;

	if (qp->resp.paging)
		return;
	r = request_new(hca, qp, FAULT_RECEIVE, 2 * wr->num_sge);
	if (!r)
		return; /* the packet comes again, and so does the fault */
	r->psn = psn;
	add_sges(hca, r, wr->sge, wr->num_sge, off, len, true, false);
	add_sges(hca, r, wr->sge, wr->num_sge, off + len, UINT64_MAX, true, true);
	qp->resp.paging = true;
	request_go(hca, r);
}

void page_fault_remote(struct hca *hca, struct qp *qp, uint32_t psn, uint32_t rkey, uint64_t addr,
		       uint64_t len, bool write)
{
	struct page_request *r;

	if (qp->resp.paging)
		return;
	r = request_new(hca, qp, FAULT_REMOTE, 1);
	if (!r)
		return;
	r->psn = psn;
	add(hca, r, rkey, addr, len, write, false);
	qp->resp.paging = true;
	request_go(hca, r);
}

/* ---- The answer ---- */

static bool still_queued(const struct qp *qp, const struct wqe *w)
{
	const struct wqe *x = qp->sq.head;

	while (x && x != w)
		x = x->next;
	return x;
}

static void send_goes_on(struct hca *hca, struct qp *qp, const struct page_request *r, bool mapped)
{
	qp->sq.paging &= (uint8_t) ~(1u << r->of);
	if (qp_flushing(qp) || !still_queued(qp, r->wqe))
		return;
	if (!mapped)
		sq_fail(hca, qp, r->wqe, HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_VENDOR_ERR_DMA_FAULT);
	else if (r->of == FAULT_RESULT)
		sq_rewind(hca, qp);
	sq_timer_update(hca, qp);
}

static void responder_goes_on(struct hca *hca, struct qp *qp, const struct page_request *r, bool mapped)
{
	qp->resp.paging = false;
	if (mapped || qp->a.state == HCASIM_QPS_ERR)
		return;
	if (r->of == FAULT_RECEIVE)
		resp_fatal(hca, qp, r->psn, HCASIM_NAK_REM_OP, HCASIM_CQE_STATUS_LOC_PROT_ERR,
			   HCASIM_VENDOR_ERR_DMA_FAULT, HCASIM_EQE_TYPE_QP_FATAL);
	else if (qp_reliable(qp))
		resp_fatal(hca, qp, r->psn, HCASIM_NAK_REM_ACCESS, 0, 0, HCASIM_EQE_TYPE_QP_ACCESS_ERR);
}

static struct page_request *request_find(const struct hca *hca, uint32_t token)
{
	struct node *n;

	for (n = hca->page_requests.next; n != &hca->page_requests; n = n->next) {
		struct page_request *r = node_entry(n, struct page_request, node);

		if (r->ev.number == token)
			return r;
	}
	return NULL;
}

int hca_page_request(struct hca *hca, uint32_t token, struct hca_page_range *range, uint32_t max)
{
	const struct page_request *r = request_find(hca, token);

	if (!r)
		return -EINVAL;
	memcpy(range, r->range, (r->n < max ? r->n : max) * sizeof(*range));
	return (int)r->n;
}

int hca_page_response(struct hca *hca, uint32_t token, bool mapped)
{
	struct page_request *r = request_find(hca, token);
	struct qp *qp;

	if (!r)
		return -EINVAL;
	qp = r->qp;
	if (!qp->dead && qp->epoch == r->epoch) {
		if (r->of == FAULT_GATHER || r->of == FAULT_RESULT)
			send_goes_on(hca, qp, r, mapped);
		else
			responder_goes_on(hca, qp, r, mapped);
		qp_update(hca, qp);
	}
	request_free(hca, r);
	hca_announce(hca);
	return 0;
}

void page_requests_free(struct hca *hca)
{
	while (!list_empty(&hca->page_requests))
		request_free(hca, node_entry(hca->page_requests.next, struct page_request, node));
}
