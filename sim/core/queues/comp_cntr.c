// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion counters. The engine reports WQEs when they are decoded, and those that fail when they complete; the state of
 * its queue says how many have ended. So one that has ended and did not fail has succeeded, signaled or not.
 */
#include "core/queues/queues.h"

struct comp_cntr {
	enum hca_comp_type type;
	uint32_t uses; /* by operations of QPs */
	uint64_t value[HCA_COMP_ENTRIES];
};

/* A WQE that has not ended yet. */
struct counted {
	struct node node;
	uint16_t index, end; /* of its basic blocks */
	bool failed;
	enum hca_comp_op op;
	uint64_t length;
};

struct comp_cntrs {
	struct comp_cntr *of[HCA_COMP_OPS];
	struct node wqes;
};

static struct comp_cntr *find(const struct hca *hca, uint32_t id)
{
	return numbers_find(&hca->comp_cntr, id);
}

int hca_comp_cntr_create(struct hca *hca, enum hca_comp_type type, uint32_t *id)
{
	struct comp_cntr *c = calloc(1, sizeof(*c));

	if (!c || numbers_add(&hca->comp_cntr, c, id)) {
		free(c);
		return -ENOMEM;
	}
	c->type = type;
	return 0;
}

int hca_comp_cntr_destroy(struct hca *hca, uint32_t id)
{
	struct comp_cntr *c = find(hca, id);

	if (!c)
		return -EINVAL;
	if (c->uses)
		return -EBUSY;
	numbers_remove(&hca->comp_cntr, id);
	free(c);
	return 0;
}

int hca_comp_cntr_set(struct hca *hca, uint32_t id, enum hca_comp_entry entry, uint64_t value)
{
	struct comp_cntr *c = find(hca, id);

	if (!c)
		return -EINVAL;
	c->value[entry] = value;
	return 0;
}

int hca_comp_cntr_add(struct hca *hca, uint32_t id, enum hca_comp_entry entry, uint64_t amount)
{
	struct comp_cntr *c = find(hca, id);

	if (!c)
		return -EINVAL;
	c->value[entry] += amount;
	return 0;
}

int hca_comp_cntr_read(const struct hca *hca, uint32_t id, enum hca_comp_entry entry, uint64_t *value)
{
	const struct comp_cntr *c = find(hca, id);

	if (!c)
		return -EINVAL;
	*value = c->value[entry];
	return 0;
}

static struct comp_cntrs *cntrs_of(struct qp *qp)
{
	if (qp->comp)
		return qp->comp;
	qp->comp = calloc(1, sizeof(*qp->comp));
	if (qp->comp)
		list_init(&qp->comp->wqes);
	return qp->comp;
}

int hca_qp_comp_cntr(struct hca *hca, uint32_t qpn, uint32_t id, uint32_t ops)
{
	struct qp *qp = qp_find(hca, qpn);
	struct comp_cntr *c = find(hca, id);

	if (!qp || !c || !ops || ops >= 1u << HCA_COMP_OPS)
		return -EINVAL;
	if (!cntrs_of(qp))
		return -ENOMEM;
	for (unsigned int op = 0; op < HCA_COMP_OPS; op++)
		if (ops & 1u << op && qp->comp->of[op])
			return -EBUSY;
	for (unsigned int op = 0; op < HCA_COMP_OPS; op++) {
		if (!(ops & 1u << op))
			continue;
		qp->comp->of[op] = c;
		c->uses++;
	}
	return 0;
}

void comp_cntr_clear(struct qp *qp)
{
	struct counted *w;

	while (qp->comp && !list_empty(&qp->comp->wqes)) {
		w = node_entry(qp->comp->wqes.next, struct counted, node);
		list_del(&w->node);
		free(w);
	}
}

void comp_cntr_forget(struct qp *qp)
{
	if (!qp->comp)
		return;
	comp_cntr_clear(qp);
	for (unsigned int op = 0; op < HCA_COMP_OPS; op++)
		if (qp->comp->of[op])
			qp->comp->of[op]->uses--;
	free(qp->comp);
	qp->comp = NULL;
}

void comp_cntr_free_all(struct hca *hca)
{
	struct comp_cntr *c;

	for (uint32_t id = 0; (c = numbers_from(&hca->comp_cntr, id, &id)); id++)
		free(c);
	numbers_free(&hca->comp_cntr);
}

void comp_cntr_count(struct qp *qp, enum hca_comp_op op, bool failed, uint64_t length)
{
	struct comp_cntr *c = qp->comp ? qp->comp->of[op] : NULL;

	if (!c)
		return;
	if (failed)
		c->value[HCA_COMP_ENTRY_ERR]++;
	else
		c->value[HCA_COMP_ENTRY_COMP] += c->type == HCA_COMP_TYPE_BYTES ? length : 1;
}

static enum hca_comp_op op_of(uint8_t wqe_op)
{
	switch (wqe_op) {
	case HCASIM_WQE_OP_SEND:
	case HCASIM_WQE_OP_SEND_IMM:
	case HCASIM_WQE_OP_SEND_INV:
	case HCASIM_WQE_OP_TSO:
		return HCA_COMP_SEND;
	case HCASIM_WQE_OP_RDMA_WRITE:
	case HCASIM_WQE_OP_RDMA_WRITE_IMM:
		return HCA_COMP_WRITE;
	case HCASIM_WQE_OP_RDMA_READ:
		return HCA_COMP_READ;
	default:
		return HCA_COMP_OPS;
	}
}

/* Without memory it is not counted. */
void comp_cntr_expect(struct qp *qp, const struct hca_wr *wr)
{
	const enum hca_comp_op op = op_of(wr->op);
	struct counted *w;

	if (!qp->comp || op == HCA_COMP_OPS || !qp->comp->of[op])
		return;
	w = calloc(1, sizeof(*w));
	if (!w)
		return;
	w->index = wr->index;
	w->end = (uint16_t)(wr->index + wr->num_bb);
	w->op = op;
	w->length = wr->length;
	list_add_tail(&qp->comp->wqes, &w->node);
}

void comp_cntr_failed(struct qp *qp, uint16_t index)
{
	struct node *n;

	if (!qp->comp)
		return;
	for (n = qp->comp->wqes.next; n != &qp->comp->wqes; n = n->next)
		if (node_entry(n, struct counted, node)->index == index) {
			node_entry(n, struct counted, node)->failed = true;
			return;
		}
}

void comp_cntr_changed(struct hca *hca, struct qp *qp)
{
	struct engine_state state;
	struct counted *w;

	if (!qp->comp || list_empty(&qp->comp->wqes))
		return;
	hca->eng->state(hca->engine, qp->qpn, &state);
	while (!list_empty(&qp->comp->wqes)) {
		w = node_entry(qp->comp->wqes.next, struct counted, node);
		if ((int16_t)(state.retired - w->end) < 0)
			return;
		comp_cntr_count(qp, w->op, w->failed, w->length);
		list_del(&w->node);
		free(w);
	}
}
