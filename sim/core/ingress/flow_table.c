// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A table of flows: groups by rank and mask, each with a hash table of rules. Creating, finding and destroying a
 * flow takes the same time however many flows, masks and ranks there are.
 */
#include "containers/hash.h"
#include "core/ingress/ingress.h"

static uint32_t number_of_rank(const struct hca_flow_attr *a)
{
	switch (a->kind) {
	case HCA_FLOW_SNIFFER:
		return FLOW_RANK_SNIFFER;
	case HCA_FLOW_NORMAL:
		return 1u + a->priority;
	case HCA_FLOW_MC_DEFAULT:
		return FLOW_RANK_DEFAULTS;
	default:
		return FLOW_RANK_DEFAULTS + 1;
	}
}

static void under_mask(struct hca_flow_fields *out, const struct hca_flow_fields *val,
		       const struct hca_flow_fields *mask)
{
	const uint8_t *v = (const uint8_t *)val, *m = (const uint8_t *)mask;
	uint8_t *o = (uint8_t *)out;

	for (size_t i = 0; i < sizeof(*out); i++)
		o[i] = v[i] & m[i];
}

static uint64_t key_of_fields(const struct hca_flow_fields *f)
{
	return hash_bytes(HASH_START, f, sizeof(*f));
}

/* ---- Ranks ---- */

static void insert_in_order(struct flow_table *t, struct flow_rank *rank)
{
	const int32_t before = bits_at_most(&t->used, (uint32_t)rank->node.key);
	struct node *at = &t->order;

	if (before >= 0)
		at = &table_entry(table_find(&t->ranks, (uint64_t)before), struct flow_rank, node)->in_order;
	list_add_tail(at->next, &rank->in_order);
}

static struct flow_rank *get_rank(struct flow_table *t, uint32_t number)
{
	struct table_node *n = table_find(&t->ranks, number);
	struct flow_rank *rank;

	if (n)
		return table_entry(n, struct flow_rank, node);
	rank = calloc(1, sizeof(*rank));
	if (!rank)
		return NULL;
	rank->table = t;
	list_init(&rank->groups);
	table_add(&t->ranks, &rank->node, number);
	insert_in_order(t, rank);
	bits_add(&t->used, number);
	return rank;
}

static void put_rank(struct flow_rank *rank)
{
	struct flow_table *t = rank->table;

	if (!list_empty(&rank->groups))
		return;
	bits_remove(&t->used, (uint32_t)rank->node.key);
	table_remove(&t->ranks, &rank->node);
	list_del(&rank->in_order);
	free(rank);
}

/* ---- Groups ---- */

static struct flow_group *new_group(struct flow_rank *rank, const struct hca_flow_attr *a)
{
	struct flow_group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->rank = rank;
	g->port = a->port;
	g->kind = a->kind;
	if (a->kind == HCA_FLOW_NORMAL) { /* other kinds match no fields */
		g->ip = a->ip;
		g->l4 = a->l4;
		g->geneve = a->geneve;
		g->mask = a->mask;
	}
	return g;
}

static uint64_t key_of_group(const struct flow_group *g)
{
	uint64_t hash = hash_bytes(HASH_START, &g->mask, sizeof(g->mask));

	hash = hash_bytes(hash, &g->rank->node.key, sizeof(g->rank->node.key));
	return hash_bytes(hash, (const uint8_t[]){g->port, g->ip, g->l4, g->geneve}, 4);
}

static bool same_group(const struct flow_group *a, const struct flow_group *b)
{
	return a->rank == b->rank && a->port == b->port && a->ip == b->ip && a->l4 == b->l4 &&
	       a->geneve == b->geneve && !memcmp(&a->mask, &b->mask, sizeof(a->mask));
}

static struct flow_group *find_group(const struct flow_table *t, const struct flow_group *wanted)
{
	struct table_node *n;

	for (n = table_find(&t->groups, key_of_group(wanted)); n; n = table_next(n)) {
		struct flow_group *g = table_entry(n, struct flow_group, node);

		if (same_group(g, wanted))
			return g;
	}
	return NULL;
}

static struct flow_group *get_group(struct flow_table *t, const struct hca_flow_attr *a)
{
	struct flow_rank *rank = get_rank(t, number_of_rank(a));
	struct flow_group *wanted = rank ? new_group(rank, a) : NULL, *g;

	if (!wanted) {
		if (rank)
			put_rank(rank);
		return NULL;
	}
	g = find_group(t, wanted);
	if (g) {
		free(wanted);
		return g;
	}
	table_add(&t->groups, &wanted->node, key_of_group(wanted));
	list_add_tail(&rank->groups, &wanted->on_rank);
	return wanted;
}

static void put_group(struct flow_group *g)
{
	if (g->rules.used)
		return;
	table_remove(&g->rank->table->groups, &g->node);
	list_del(&g->on_rank);
	put_rank(g->rank);
	table_free(&g->rules);
	free(g);
}

/* ---- Rules ---- */

static struct flow_rule *find_rule(const struct flow_group *g, const struct hca_flow_fields *fields)
{
	struct hca_flow_fields val;
	struct table_node *n;

	under_mask(&val, fields, &g->mask);
	for (n = table_find(&g->rules, key_of_fields(&val)); n; n = table_next(n)) {
		struct flow_rule *r = table_entry(n, struct flow_rule, node);

		if (!memcmp(&r->val, &val, sizeof(val)))
			return r;
	}
	return NULL;
}

const struct node *flow_find(const struct flow_group *g, const struct hca_flow_fields *fields)
{
	const struct flow_rule *r = find_rule(g, fields);

	return r ? r->flows.next : NULL;
}

struct flow_rule *flow_rule_get(struct flow_table *t, const struct hca_flow_attr *a)
{
	struct flow_group *g = get_group(t, a);
	struct flow_rule *r = g ? find_rule(g, &a->val) : NULL;

	if (r || !g)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r) {
		put_group(g);
		return NULL;
	}
	r->group = g;
	under_mask(&r->val, &a->val, &g->mask);
	list_init(&r->flows);
	table_add(&g->rules, &r->node, key_of_fields(&r->val));
	return r;
}

void flow_rule_put(struct flow_rule *r)
{
	struct flow_group *g = r->group;

	if (!list_empty(&r->flows))
		return;
	table_remove(&g->rules, &r->node);
	free(r);
	put_group(g);
}

/* ---- Tables ---- */

void flow_table_init(struct flow_table *t, const struct hca_flow_table_attr *attr)
{
	t->side = attr->side;
	t->level = attr->level;
	t->miss = attr->miss;
	list_init(&t->order);
}

void flow_table_free(struct flow_table *t)
{
	table_free(&t->groups);
	table_free(&t->ranks);
}
