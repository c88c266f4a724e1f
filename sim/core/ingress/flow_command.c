// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Commands about flows and their tables. */
#include "core/ingress/ingress.h"

/* ---- Tables ---- */

static struct flow_table *find_table(struct hca *hca, uint32_t number)
{
	return number < HCA_FLOW_SIDES ? &hca->flow.root[number] : numbers_find(&hca->flow.tables, number);
}

/* Where flows or misses of a table lead; NULL: there is no such table, or none that is behind it. */
static struct flow_table *find_next(struct hca *hca, uint8_t side, uint8_t level, uint32_t number)
{
	struct flow_table *next = find_table(hca, number);

	return next && next->side == side && next->level > level ? next : NULL;
}

int hca_flow_table_create(struct hca *hca, const struct hca_flow_table_attr *attr, uint32_t *id)
{
	struct flow_table *t, *next = NULL;

	if (attr->side >= HCA_FLOW_SIDES || attr->miss == HCA_FLOW_TO_QP || attr->miss > HCA_FLOW_PASS)
		return -EINVAL;
	if (attr->miss == HCA_FLOW_TO_TABLE) {
		next = find_next(hca, attr->side, attr->level, attr->next);
		if (!next)
			return -EINVAL;
	}
	t = calloc(1, sizeof(*t));
	if (!t || numbers_add(&hca->flow.tables, t, &t->id)) {
		free(t);
		return -ENOMEM;
	}
	flow_table_init(t, attr);
	t->next = next;
	if (next)
		next->uses++;
	*id = t->id;
	return 0;
}

static void free_table(struct hca *hca, struct flow_table *t)
{
	numbers_remove(&hca->flow.tables, t->id);
	flow_table_free(t);
	free(t);
}

int hca_flow_table_destroy(struct hca *hca, uint32_t id)
{
	struct flow_table *t = numbers_find(&hca->flow.tables, id);

	if (!t)
		return -EINVAL;
	if (t->uses || !list_empty(&t->order))
		return -EBUSY;
	if (t->next)
		t->next->uses--;
	free_table(hca, t);
	return 0;
}

/* ---- Flows ---- */

static bool attr_ok(const struct hca *hca, const struct flow_table *t, const struct hca_flow_attr *a)
{
	const bool received = t->side == HCA_FLOW_RX || t->side == HCA_FLOW_ROCE_RX;

	if (!a->port || a->port > hca->cfg.num_ports || a->action > HCA_FLOW_PASS)
		return false;
	if (a->kind != HCA_FLOW_NORMAL && (a->table != HCA_FLOW_RX || a->kind > HCA_FLOW_SNIFFER))
		return false;
	return flow_change_ok(t, a) && (received || (a->action != HCA_FLOW_TO_QP && !a->tagged));
}

/* Finds what the flow leads to. */
static bool find_target(struct hca *hca, const struct flow_table *t, const struct hca_flow_attr *a,
			struct flow *f)
{
	if (a->action == HCA_FLOW_TO_QP) {
		f->qp = qp_find(hca, a->qpn);
		return f->qp && f->qp->c.type == HCASIM_QPT_RAW_PACKET;
	}
	if (a->action == HCA_FLOW_TO_TABLE) {
		f->table = find_next(hca, t->side, t->level, a->next);
		return f->table;
	}
	return true;
}

static bool same_tag(const struct flow *f, const struct hca_flow_attr *a)
{
	return f->tagged == a->tagged && (!a->tagged || f->tag == a->tag);
}

/* Flows with one rule send copies of a frame to several places, but agree on the rest. */
static bool agrees(const struct flow_rule *r, const struct hca_flow_attr *a)
{
	const struct flow *f;

	if (list_empty(&r->flows))
		return true;
	f = node_entry(r->flows.next, struct flow, on_rule);
	return !a->alone && (f->action == HCA_FLOW_DROP) == (a->action == HCA_FLOW_DROP) && same_tag(f, a) &&
	       flow_change_same(f->change, a);
}

static int get_rule(struct flow_table *t, const struct hca_flow_attr *a, struct flow *f)
{
	f->rule = flow_rule_get(t, a);
	if (!f->rule)
		return -ENOMEM;
	return agrees(f->rule, a) ? 0 : -EEXIST;
}

static void add(struct hca *hca, struct flow *f, const struct hca_flow_attr *a)
{
	f->age = hca->flow.made++;
	f->action = a->action;
	f->dont_trap = a->dont_trap;
	f->tagged = a->tagged;
	f->tag = a->tag;
	f->counter = a->counter;
	list_add_tail(&f->rule->flows, &f->on_rule);
	if (f->qp)
		list_add_tail(&f->qp->flows, &f->on_qp);
	if (f->table)
		f->table->uses++;
}

static void free_flow(struct flow *f)
{
	free(f->change);
	free(f);
}

static struct flow *new_flow(const struct flow *like, const struct hca_flow_attr *a)
{
	struct flow *f = malloc(sizeof(*f));
	int ret = 0;

	if (!f)
		return NULL;
	*f = *like;
	f->change = flow_change_new(a, &ret);
	if (ret) {
		free(f);
		return NULL;
	}
	return f;
}

int hca_flow_create(struct hca *hca, const struct hca_flow_attr *attr, uint32_t *id)
{
	struct flow_table *t = find_table(hca, attr->table);
	struct flow *f, target = {0};
	int ret;

	if (!t || !attr_ok(hca, t, attr) || !find_target(hca, t, attr, &target))
		return -EINVAL;
	f = new_flow(&target, attr);
	if (!f)
		return -ENOMEM;
	ret = numbers_add(&hca->flow.ids, f, &f->id);
	if (ret) {
		free_flow(f);
		return ret;
	}
	ret = get_rule(t, attr, f);
	if (ret) {
		numbers_remove(&hca->flow.ids, f->id);
		free_flow(f);
		return ret;
	}
	add(hca, f, attr);
	*id = f->id;
	return 0;
}

static void destroy(struct hca *hca, struct flow *f)
{
	numbers_remove(&hca->flow.ids, f->id);
	list_del(&f->on_rule);
	if (f->qp)
		list_del(&f->on_qp);
	if (f->table)
		f->table->uses--;
	flow_rule_put(f->rule);
	free_flow(f);
}

int hca_flow_destroy(struct hca *hca, uint32_t id)
{
	struct flow *f = numbers_find(&hca->flow.ids, id);

	if (!f)
		return -EINVAL;
	destroy(hca, f);
	return 0;
}

void flow_forget(struct hca *hca, struct qp *qp)
{
	while (!list_empty(&qp->flows))
		destroy(hca, node_entry(qp->flows.next, struct flow, on_qp));
}

/* ---- The adapter ---- */

void flow_init(struct hca *hca)
{
	numbers_init(&hca->flow.ids, 1, UINT32_MAX, UINT32_MAX / 4);
	numbers_init(&hca->flow.tables, HCA_FLOW_SIDES, HCA_NUMBER_MASK, HCA_NUMBER_MASK / 4);
	for (unsigned int side = 0; side < HCA_FLOW_SIDES; side++) {
		const struct hca_flow_table_attr root = {.side = (uint8_t)side, .miss = HCA_FLOW_PASS};

		flow_table_init(&hca->flow.root[side], &root);
	}
}

void flow_free(struct hca *hca)
{
	struct flow_table *t;
	struct flow *f;
	uint32_t id = 0;

	while ((f = numbers_from(&hca->flow.ids, id, &id)))
		destroy(hca, f);
	for (id = 0; (t = numbers_from(&hca->flow.tables, id, &id));)
		free_table(hca, t);
	for (unsigned int side = 0; side < HCA_FLOW_SIDES; side++)
		flow_table_free(&hca->flow.root[side]);
	numbers_free(&hca->flow.ids);
	numbers_free(&hca->flow.tables);
}
