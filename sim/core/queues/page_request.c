// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Page faults. Each makes a request, reported by an event; the driver queries the pages, maps what the application
 * has mapped, and answers. A queue with a pending request makes no second one: a send queue stops until the answer
 * (responses of a READ without a page for them are dropped and requested again), a responder sends RNR NAKs, or,
 * unreliable, loses the message.
 *
 * If the driver cannot map the pages, the WQE fails as if its key did not cover them, and a request of the peer is
 * refused.
 */
#include "core/memory/memory.h"
#include "core/memory/odp.h"
#include "core/queues/page_request.h"
#include "core/queues/queues.h"

struct page_request *page_request_new(struct hca *hca, struct qp *qp, const struct page_owner *owner,
				      uint32_t room)
{
	struct page_request *r = calloc(1, sizeof(*r) + room * sizeof(r->range[0]));

	if (!r)
		return NULL;
	if (!++hca->page_token)
		hca->page_token = 1;
	r->ev.number = hca->page_token;
	r->qp = qp;
	r->epoch = qp->epoch;
	r->owner = owner;
	r->room = room;
	qp_get(qp);
	return r;
}

static void request_free(struct hca *hca, struct page_request *r)
{
	event_cancel(hca, &r->ev);
	if (r->node.next)
		list_del(&r->node);
	if (r->owner->release)
		r->owner->release(hca, r);
	qp_put(hca, r->qp);
	free(r);
}

void page_request_go(struct hca *hca, struct page_request *r)
{
	list_add_tail(&hca->page_requests, &r->node);
	event_raise(hca, &r->ev, HCASIM_EQE_TYPE_PAGE_REQUEST);
}

struct addition {
	struct page_request *r;
	bool write, hint;
};

static uint8_t add_range(struct key_walk *w, const struct mr *region, uint64_t addr, uint64_t len)
{
	const struct addition *a = w->any;
	struct page_request *r = a->r;

	if (r->n == r->room)
		return HCASIM_VENDOR_ERR_DMA_FAULT; /* no more: the next request has the others */
	if (key_absent(w->hca, key_piece(w->hca, region, addr, len).key, addr, len, a->write,
		       &r->range[r->n]))
		r->range[r->n++].hint = a->hint;
	return HCASIM_VENDOR_ERR_NONE;
}

void page_request_add(struct hca *hca, struct page_request *r, uint32_t key, uint64_t addr, uint64_t len,
		      bool write, bool hint)
{
	const struct mr *mr = key_find(hca, key);
	struct addition a = {.r = r, .write = write, .hint = hint};
	struct key_walk w = {.hca = hca, .range = add_range, .any = &a};

	if (mr && mr->kind == KEY_INDIRECT) {
		w.pdn = mr->a.pdn;
		key_walk(&w, key, addr, len);
		return;
	}
	if (len && r->n < r->room && key_absent(hca, key, addr, len, write, &r->range[r->n]))
		r->range[r->n++].hint = hint;
}

void page_request_add_sges(struct hca *hca, struct page_request *r, const struct hca_sge *sge, uint32_t n,
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
		page_request_add(hca, r, sge[i].lkey, sge[i].addr + off, part, write, hint);
		len -= part;
		off = 0;
	}
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
		r->owner->answered(hca, r, mapped);
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
