// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Results of READs and atomics that are in their completions instead of memory: hca_qp_attr_create.result_inline. The
 * engine decides nothing: it reports WQEs when they are decoded, their results in the same order, and then their
 * completions. So the next result belongs to the first WQE whose result is not complete.
 */
#include <endian.h>
#include <errno.h>

#include "core/send/send.h"

#include <hcasim_ops.h>

struct result {
	struct node node; /* qp->results */
	uint16_t index;   /* of its WQE */
	bool keep;
	uint64_t left;          /* bytes that are still to come */
	struct hca_packet *pkt; /* kept: */
	const uint8_t *data;
	uint32_t len;
};

void result_free(struct result *r)
{
	if (!r)
		return;
	list_del(&r->node);
	hca_packet_free(r->pkt);
	free(r);
}

void result_clear(struct qp *qp)
{
	while (!list_empty(&qp->results))
		result_free(node_entry(qp->results.next, struct result, node));
}

static struct result *first_open(struct qp *qp)
{
	struct node *n;

	for (n = qp->results.next; n != &qp->results; n = n->next)
		if (node_entry(n, struct result, node)->left)
			return node_entry(n, struct result, node);
	return NULL;
}

/* Without memory for the list: from now on all results go to memory, except those that are kept already. */
static void give_up(struct qp *qp)
{
	struct result *r;

	qp->c.result_inline = 0;
	while ((r = first_open(qp)))
		result_free(r);
}

void result_expect(struct qp *qp, const struct hca_wr *wr)
{
	const struct hcasim_wqe_op_info *info = hcasim_wqe_op_info(wr->op);
	struct result *r;

	if (!qp->c.result_inline || !info || !info->result || !wr->length)
		return;
	r = calloc(1, sizeof(*r));
	if (!r) {
		give_up(qp);
		return;
	}
	r->index = wr->index;
	r->left = wr->length;
	r->keep = wr->flags & HCA_WR_SIGNALED && wr->length <= qp->c.result_inline;
	list_add_tail(&qp->results, &r->node);
}

struct hca_packet *result_payload(const struct rxwork *w, uint8_t **data)
{
	uint64_t orig = htole64(w->info.orig);
	struct hca_packet *pkt = w->pkt;

	if (!(w->info.op->flags & HCASIM_BTH_F_ATOMIC)) {
		*data = pkt->data + w->info.payload_off;
		return pkt;
	}
	pkt = hca_packet_alloc(sizeof(orig));
	if (pkt) {
		memcpy(pkt->data, &orig, sizeof(orig));
		*data = pkt->data;
	}
	return pkt;
}

static int keep(struct result *r, struct rxwork *w, uint32_t len)
{
	uint8_t *data = NULL;

	r->pkt = result_payload(w, &data);
	if (!r->pkt)
		return -ENOMEM;
	if (r->pkt == w->pkt)
		w->pkt = NULL;
	r->data = data;
	r->len = len;
	return 1;
}

int result_keep(struct qp *qp, struct rxwork *w, uint32_t len)
{
	struct result *r = first_open(qp);

	if (!r)
		return 0;
	r->left -= len < r->left ? len : r->left;
	if (r->keep)
		return keep(r, w, len);
	if (!r->left)
		result_free(r);
	return 0;
}

struct result *result_of(struct qp *qp, const struct engine_completion *c, struct hca_cpl *cpl)
{
	struct result *r;

	if (list_empty(&qp->results))
		return NULL;
	r = node_entry(qp->results.next, struct result, node);
	if (r->index != c->wqe_index)
		return NULL;
	if (r->pkt && !c->status) {
		cpl->payload = r->data;
		cpl->payload_len = r->len;
	}
	return r;
}
