// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The tag list. A message that matches no entry is unexpected, and software handles it. Software may at the same time
 * be adding the very entry that it should have matched; so from then on entries are added disabled, until software
 * has said that it has handled as many unexpected messages as there were. Entries that were enabled before still
 * match: software had seen every message before it added them.
 */
#include "core/queues/tags.h"

struct tag_list *tags_new(struct srq *srq, uint32_t size, const struct hca_ring *ops)
{
	struct tag_list *t = calloc(1, sizeof(*t));
	uint32_t i;

	if (!t)
		return NULL;
	t->entry = calloc(size, sizeof(*t->entry));
	if (!t->entry) {
		free(t);
		return NULL;
	}
	for (i = 0; i < size; i++)
		t->entry[i].handle = (uint16_t)i;
	t->srq = srq;
	t->size = size;
	t->ops = *ops;
	list_init(&t->list);
	return t;
}

void tags_free(struct tag_list *t)
{
	if (t)
		free(t->entry);
	free(t);
}

bool tags_agree(const struct tag_list *t)
{
	return t->hw_count == t->sw_count;
}

static void synchronise(struct tag_list *t, uint16_t sw_count)
{
	struct node *n;

	t->sw_count = sw_count;
	if (!tags_agree(t))
		return;
	for (n = t->list.next; n != &t->list; n = n->next)
		node_entry(n, struct tag_entry, node)->enabled = true;
}

static void add(struct tag_list *t, struct tag_entry *e, const struct hca_tm_op *op)
{
	e->tag = op->tag;
	e->mask = op->mask;
	e->length = op->length;
	e->num_sge = op->num_sge;
	memcpy(e->sge, op->sge, sizeof(e->sge));
	e->enabled = tags_agree(t);
	list_add_tail(&t->list, &e->node);
}

uint8_t tags_execute(struct tag_list *t, const struct hca_tm_op *op, uint8_t *vendor)
{
	struct tag_entry *e = NULL;

	if (op->op != HCASIM_TM_OPCODE_SYNC) {
		e = op->handle < t->size ? &t->entry[op->handle] : NULL;
		if (!e || (op->op == HCASIM_TM_OPCODE_ADD && e->node.next)) {
			*vendor = HCASIM_VENDOR_ERR_BAD_SEGMENT;
			return HCASIM_CQE_STATUS_LOC_QP_OP_ERR;
		}
	}
	if (op->sync)
		synchronise(t, op->sw_count);
	if (op->op == HCASIM_TM_OPCODE_ADD)
		add(t, e, op);
	if (op->op != HCASIM_TM_OPCODE_DEL)
		return HCASIM_CQE_STATUS_OK;
	if (!e->node.next)
		return HCASIM_CQE_STATUS_TM_ERR;
	list_del(&e->node);
	return HCASIM_CQE_STATUS_OK;
}

struct tag_entry *tags_match(struct tag_list *t, uint64_t tag)
{
	struct node *n;

	for (n = t->list.next; n != &t->list; n = n->next) {
		struct tag_entry *e = node_entry(n, struct tag_entry, node);

		if (e->enabled && (tag & e->mask) == e->tag) {
			list_del(&e->node);
			return e;
		}
	}
	return NULL;
}

bool tags_unexpected(struct tag_list *t)
{
	t->hw_count++;
	return (uint16_t)(t->hw_count - t->sw_count) > HCASIM_TM_MAX_SYNC_DIFF;
}
