// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow steering: which raw QPs an Ethernet frame goes to, and which frames go no further.
 *
 * A frame meets the first flow of a table that matches, in this order: normal flows by priority (0 first)
 * and then by age, the default for multicast, the default for all frames. After a DONT_TRAP flow the search
 * continues. If flows of one priority have equal specifications the frame meets each of them: their QPs get
 * copies, and tables that they lead to are searched. Sniffers get a copy of every frame, including RoCE; other
 * flows of received frames do not get RoCE packets, which have a side of their own, because the transport
 * consumes them.
 *
 * The cost of a frame depends on the number of different priorities and masks, not on the number of flows.
 */
#include "core/ingress/ingress.h"
#include "core/wire/frame.h"
#include "core/wire/net.h"

/* A frame on its way through the tables. */
struct steering {
	struct hca *hca;
	struct rxwork *w; /* NULL: it is sent */
	const struct hca_packet *pkt;
	uint8_t port;
	bool taken; /* a QP has got it */
	struct net n;
	struct hca_flow_fields fields;
};

/* What a search has come to; of several flows with equal specifications the greatest counts. */
enum verdict { V_SEARCH, V_KEPT, V_PASSED };

static void fields_v4(const uint8_t *h, struct hca_flow_fields *out)
{
	memcpy(out->sip, h + IPV4_SRC, 4);
	memcpy(out->dip, h + IPV4_DST, 4);
	out->tos = h[IPV4_TOS];
	out->ttl = h[IPV4_TTL];
	out->ip_flags = h[IPV4_FRAG] >> 5;
}

static void fields_v6(const uint8_t *h, struct hca_flow_fields *out)
{
	memcpy(out->sip, h + IPV6_SRC, 16);
	memcpy(out->dip, h + IPV6_DST, 16);
	out->tos = (uint8_t)(h[0] << 4 | h[1] >> 4);
	out->ttl = h[IPV6_HOPS];
	out->flow_label = get32(h) & 0xfffff;
}

/* The fields that flows can match. */
static void read_fields(const struct hca_packet *pkt, struct net *n, struct hca_flow_fields *out)
{
	const uint8_t *p = pkt->data;

	memset(out, 0, sizeof(*out));
	net_parse(p, pkt->len, NET_ETHERNET, true, n); /* headers match regardless of their length fields */
	memcpy(out->dmac, p, 6);
	memcpy(out->smac, p + 6, 6);
	out->ether_type = n->ether_type;
	out->vlan_tci = n->vlan_tci;
	out->proto = n->proto;
	if (n->ip == 4)
		fields_v4(p + n->l3_off, out);
	else if (n->ip == 6)
		fields_v6(p + n->l3_off, out);
	if (n->l4) {
		out->sport = (uint16_t)get16(p + n->l4_off);
		out->dport = (uint16_t)get16(p + n->l4_off + L4_DPORT);
	}
}

/* Whether the group's flows can match a frame with these headers. */
static bool group_sees(const struct flow_group *g, const struct net *n, const struct hca_flow_fields *got)
{
	if (g->kind == HCA_FLOW_MC_DEFAULT)
		return got->dmac[0] & 1;
	return (!g->ip || g->ip == n->ip) && (!g->l4 || (n->l4 && g->l4 == n->proto)) &&
	       (!g->mask.vlan_tci || n->vlan);
}

/* Delivers the frame to the flow's QP, or to one of its work queues. */
static bool give(const struct steering *s, const struct flow *f)
{
	struct qp *qp = f->qp->rss ? rss_pick(f->qp, s->pkt, &s->n) : f->qp;

	return qp && rx_copy_to(s->hca, qp, s->w, true);
}

static struct flow_group *group_of(const struct node *n)
{
	return node_entry(n, struct flow_group, on_rank);
}

/* Finds the matches of all groups of the rank. */
static void find_takers(const struct flow_rank *rank, const struct steering *s)
{
	for (struct node *at = rank->groups.next; at != &rank->groups; at = at->next) {
		struct flow_group *g = group_of(at);

		g->at = g->port == s->port && group_sees(g, &s->n, &s->fields) ? flow_find(g, &s->fields)
									       : NULL;
	}
}

/* The oldest flow of the rank that matches the frame and has not got it yet. */
static const struct flow *next_taker(const struct flow_rank *rank)
{
	const struct flow *oldest = NULL;

	for (const struct node *i = rank->groups.next; i != &rank->groups; i = i->next) {
		const struct node *at = group_of(i)->at;
		const struct flow *f = at ? node_entry(at, struct flow, on_rule) : NULL;

		if (f && (!oldest || f->age < oldest->age))
			oldest = f;
	}
	return oldest;
}

static const struct node *after(const struct flow *f)
{
	return f->on_rule.next == &f->rule->flows ? NULL : f->on_rule.next;
}

static enum verdict steer_table(struct steering *s, const struct flow_table *t);

static enum verdict act(struct steering *s, const struct flow *f)
{
	switch (f->action) {
	case HCA_FLOW_TO_QP:
		s->taken |= give(s, f);
		return V_KEPT;
	case HCA_FLOW_TO_TABLE:
		return steer_table(s, f->table);
	case HCA_FLOW_PASS:
		return V_PASSED;
	default:
		return V_KEPT;
	}
}

/* The tag is that of this flow, and of what it leads to. */
static enum verdict follow(struct steering *s, const struct flow *f)
{
	const struct rxwork *w = s->w;
	const bool tagged = w && w->tagged;
	const uint32_t tag = w ? w->flow_tag : 0;
	enum verdict v;

	if (f->counter) {
		f->counter->packets++;
		f->counter->octets += s->pkt->len;
	}
	if (!w)
		return act(s, f);
	if (f->tagged) {
		s->w->tagged = true;
		s->w->flow_tag = f->tag;
	}
	v = act(s, f);
	s->w->tagged = tagged;
	s->w->flow_tag = tag;
	return v;
}

static enum verdict steer_rank(struct steering *s, const struct flow_rank *rank)
{
	const struct flow *f;

	find_takers(rank, s);
	while ((f = next_taker(rank))) {
		struct flow_group *g = f->rule->group;
		const bool goes_on = f->dont_trap || g->kind == HCA_FLOW_SNIFFER;
		enum verdict v = follow(s, f);

		g->at = after(f);
		if (goes_on)
			continue;
		for (; g->at; g->at = after(f)) {
			enum verdict other;

			f = node_entry(g->at, struct flow, on_rule);
			other = follow(s, f);
			v = other > v ? other : v;
		}
		return v;
	}
	return V_SEARCH;
}

static enum verdict miss(struct steering *s, const struct flow_table *t)
{
	switch (t->miss) {
	case HCA_FLOW_TO_TABLE:
		return steer_table(s, t->next);
	case HCA_FLOW_PASS:
		return V_PASSED;
	default:
		return V_KEPT;
	}
}

/* A table leads to those of higher levels only, so that this ends. */
static enum verdict steer_table(struct steering *s, const struct flow_table *t)
{
	enum verdict v = V_SEARCH;

	for (const struct node *at = t->order.next; at != &t->order && v == V_SEARCH; at = at->next)
		v = steer_rank(s, node_entry(at, struct flow_rank, in_order));
	return v == V_SEARCH ? miss(s, t) : v;
}

static bool is_roce(const struct steering *s)
{
	return s->n.l4 && s->n.proto == IP_PROTO_UDP &&
	       get16(s->pkt->data + s->n.l4_off + UDP_DPORT) == HCASIM_ROCE_UDP_PORT;
}

/* True: the frame goes on as if there were no flows. After PASS it still meets the defaults. */
static bool steer_root(struct steering *s, enum hca_flow_side side, bool roce)
{
	const struct node *order = &s->hca->flow.root[side].order;
	bool passed = false;
	enum verdict v;

	if (s->pkt->len < ETH_LEN)
		return true;
	read_fields(s->pkt, &s->n, &s->fields);
	roce = roce || (side == HCA_FLOW_RX && is_roce(s));
	for (const struct node *at = order->next; at != order; at = at->next) {
		const struct flow_rank *rank = node_entry(at, struct flow_rank, in_order);

		if (side == HCA_FLOW_RX && roce && rank->node.key != FLOW_RANK_SNIFFER)
			break;
		if (passed && rank->node.key < FLOW_RANK_DEFAULTS)
			continue;
		v = steer_rank(s, rank);
		if (v == V_KEPT)
			return false;
		passed |= v == V_PASSED;
	}
	return true;
}

static bool no_flows(const struct hca *hca, enum hca_flow_side side)
{
	return list_empty(&hca->flow.root[side].order);
}

bool flow_steer(struct hca *hca, struct rxwork *w, bool roce)
{
	struct steering s = {.hca = hca, .w = w, .pkt = w->pkt, .port = w->port};

	if (no_flows(hca, HCA_FLOW_RX))
		return false;
	steer_root(&s, HCA_FLOW_RX, roce);
	return s.taken;
}

bool flow_passes_roce(struct hca *hca, struct rxwork *w, bool *taken)
{
	struct steering s = {.hca = hca, .w = w, .pkt = w->pkt, .port = w->port};
	bool passes;

	if (no_flows(hca, HCA_FLOW_ROCE_RX))
		return true;
	passes = steer_root(&s, HCA_FLOW_ROCE_RX, true);
	*taken |= s.taken;
	return passes;
}

bool flow_lets_out(struct hca *hca, enum hca_flow_side side, uint8_t port, const struct hca_packet *pkt)
{
	struct steering s = {.hca = hca, .pkt = pkt, .port = port};

	return no_flows(hca, side) || steer_root(&s, side, false);
}
