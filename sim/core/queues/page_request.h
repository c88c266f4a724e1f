/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Page faults: requests to the driver for pages of on-demand regions. */
#ifndef HCASIM_CORE_QUEUES_PAGE_REQUEST_H
#define HCASIM_CORE_QUEUES_PAGE_REQUEST_H

#include "core/base/base.h"

struct page_request;

/* The queue that waits for the pages. */
struct page_owner {
	/* The driver has answered, and the QP was not reset or destroyed meanwhile. */
	void (*answered)(struct hca *hca, struct page_request *r, bool mapped);
	void (*release)(struct hca *hca, struct page_request *r); /* NULL: it holds nothing */
};

struct page_request {
	struct event_source ev; /* number: the token */
	struct node node;       /* hca->page_requests, oldest first */
	struct qp *qp;
	uint32_t epoch;
	const struct page_owner *owner;
	uint32_t tag; /* the owner's */
	uint32_t psn; /* the owner's */
	uint32_t n, room;
	struct hca_page_range range[];
};

/* With space for `room` ranges; NULL: no memory. It becomes visible with page_request_go(). */
struct page_request *page_request_new(struct hca *hca, struct qp *qp, const struct page_owner *owner,
				      uint32_t room);
/* Adds the missing pages of the key's range, or of bytes [off, off + len) of an SGE list. */
void page_request_add(struct hca *hca, struct page_request *r, uint32_t key, uint64_t addr, uint64_t len,
		      bool write, bool hint);
void page_request_add_sges(struct hca *hca, struct page_request *r, const struct hca_sge *sge, uint32_t n,
			   uint64_t off, uint64_t len, bool write, bool hint);
void page_request_go(struct hca *hca, struct page_request *r);
void page_requests_free(struct hca *hca);

#endif
