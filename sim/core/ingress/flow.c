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
 * A flow that changes headers gives what follows a changed copy of the frame: flows behind it match that, and it is what
 * is received, or goes out. Where several flows have equal specifications they agree on the change, which is made once;
 * what is changed behind one of them the others do not see.
 *
 * The cost of a frame depends on the number of different priorities and masks, not on the number of flows.
 */
#include "core/ingress/ingress.h"
#include "core/wire/frame.h"
#include "core/wire/net.h"
#include "core/wire/tunnel.h"

struct changed {
	struct changed *next;
	struct hca_packet *pkt;
};

/* A frame on its way through the tables. */
struct steering {
	struct hca *hca;
	struct rxwork *w;        /* NULL: it is sent */
	struct hca_packet **pkt; /* as it is now */
	struct hca_packet *came; /* as it came */
	struct changed *changed; /* what flows have made of it */
	uint8_t port;
	bool taken; /* a QP has got it */
	struct net n;
	bool geneve;
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

static void fields_geneve(const uint8_t *h, struct hca_flow_fields *out)
{
	out->vni = get32(h + GENEVE_VNI) >> 8;
	out->tunnel_type = (uint16_t)get16(h + GENEVE_TYPE);
	out->oam = h[GENEVE_FLAGS] >> GENEVE_OAM_SHIFT;
	out->options = h[0] & GENEVE_OPTIONS;
}

/* The fields of the frame that flows can match. */
static void read_fields(struct steering *s)
{
	const uint8_t *p = (*s->pkt)->data;
	const uint32_t len = (*s->pkt)->len;
	struct hca_flow_fields *out = &s->fields;
	struct net *n = &s->n;
	uint32_t tunnel;

	memset(out, 0, sizeof(*out));
	net_parse(p, len, NET_ETHERNET, true, n); /* headers match regardless of their length fields */
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
	tunnel = tunnel_geneve(p, len, n);
	s->geneve = tunnel;
	if (tunnel)
		fields_geneve(p + tunnel, out);
}

/* Whether the group's flows can match the frame. */
static bool group_sees(const struct flow_group *g, const struct steering *s)
{
	const struct net *n = &s->n;

	if (g->kind == HCA_FLOW_MC_DEFAULT)
		return s->fields.dmac[0] & 1;
	return (!g->ip || g->ip == n->ip) && (!g->l4 || (n->l4 && g->l4 == n->proto)) &&
	       (!g->mask.vlan_tci || n->vlan) && (!g->geneve || s->geneve);
}

/* Delivers the frame to the flow's QP, or to one of its work queues. */
static bool give(const struct steering *s, const struct flow *f)
{
	const struct rss *rss = f->qp->rss;
	struct qp *qp = f->qp;

	s->w->hash = 0;
	s->w->hash_fields = rss ? rss->fields : 0;
	if (rss)
		qp = rss_pick(f->qp, *s->pkt, &s->n, &s->w->hash);
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

		g->at = g->port == s->port && group_sees(g, s) ? flow_find(g, &s->fields) : NULL;
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

/* ---- Changes ---- */

/* From here on the frame is this one. */
static void show(struct steering *s, struct hca_packet *pkt)
{
	if (*s->pkt == pkt)
		return;
	*s->pkt = pkt;
	read_fields(s);
}

/* False: the frame is lost. */
static bool change(struct steering *s, const struct flow *f)
{
	struct changed *c;

	if (!f->change)
		return true;
	c = malloc(sizeof(*c));
	if (!c)
		return false;
	c->pkt = flow_change_make(f->change, *s->pkt);
	if (!c->pkt) {
		free(c);
		return false;
	}
	c->next = s->changed;
	s->changed = c;
	show(s, c->pkt);
	return true;
}

/* What is left of a frame's forms is the last one. */
static void forget_changed(struct steering *s)
{
	struct changed *c;

	if (*s->pkt != s->came)
		hca_packet_free(s->came);
	while ((c = s->changed)) {
		s->changed = c->next;
		if (c->pkt != *s->pkt)
			hca_packet_free(c->pkt);
		free(c);
	}
}

/* ---- Flows ---- */

/* `octets`: of the frame before its change. The tag is that of this flow, and of what it leads to. */
static enum verdict follow(struct steering *s, const struct flow *f, uint32_t octets)
{
	const struct rxwork *w = s->w;
	const bool tagged = w && w->tagged;
	const uint32_t tag = w ? w->flow_tag : 0;
	enum verdict v;

	if (f->counter) {
		f->counter->packets++;
		f->counter->octets += octets;
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

/* A rule's flows from `f` on, all of them or this one. */
static enum verdict follow_rule(struct steering *s, const struct flow *f, bool all)
{
	const uint32_t octets = (*s->pkt)->len;
	struct flow_group *g = f->rule->group;
	struct hca_packet *pkt, *onward;
	enum verdict v, other;

	if (!change(s, f))
		return V_KEPT;
	pkt = *s->pkt;
	v = follow(s, f, octets);
	onward = *s->pkt;
	for (g->at = after(f); all && g->at; g->at = after(f)) {
		f = node_entry(g->at, struct flow, on_rule);
		show(s, pkt);
		other = follow(s, f, octets);
		if (other > v) {
			v = other;
			onward = *s->pkt;
		}
	}
	show(s, onward);
	return v;
}

static enum verdict steer_rank(struct steering *s, const struct flow_rank *rank)
{
	const struct flow *f;

	find_takers(rank, s);
	while ((f = next_taker(rank))) {
		const bool goes_on = f->dont_trap || f->rule->group->kind == HCA_FLOW_SNIFFER;
		const enum verdict v = follow_rule(s, f, !goes_on);

		if (!goes_on)
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
	return s->n.ether_type == HCASIM_ROCE_ETH_TYPE ||
	       (s->n.l4 && s->n.proto == IP_PROTO_UDP &&
		get16((*s->pkt)->data + s->n.l4_off + UDP_DPORT) == HCASIM_ROCE_UDP_PORT);
}

/* True: the frame goes on as if there were no flows. After PASS it still meets the defaults. */
static bool steer_ranks(struct steering *s, enum hca_flow_side side, bool roce)
{
	const struct node *order = &s->hca->flow.root[side].order;
	bool passed = false;
	enum verdict v;

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

static bool steer_root(struct steering *s, enum hca_flow_side side, bool roce)
{
	bool goes_on;

	if ((*s->pkt)->len < ETH_LEN)
		return true;
	s->came = *s->pkt;
	read_fields(s);
	goes_on = steer_ranks(s, side, roce || (side == HCA_FLOW_RX && is_roce(s)));
	forget_changed(s);
	return goes_on;
}

static bool no_flows(const struct hca *hca, enum hca_flow_side side)
{
	return list_empty(&hca->flow.root[side].order);
}

bool flow_steer(struct hca *hca, struct rxwork *w, bool roce)
{
	struct steering s = {.hca = hca, .w = w, .pkt = &w->pkt, .port = w->port};

	if (no_flows(hca, HCA_FLOW_RX))
		return false;
	steer_root(&s, HCA_FLOW_RX, roce);
	return s.taken;
}

bool flow_passes_roce(struct hca *hca, struct rxwork *w, bool *taken)
{
	struct steering s = {.hca = hca, .w = w, .pkt = &w->pkt, .port = w->port};
	bool passes;

	if (no_flows(hca, HCA_FLOW_ROCE_RX))
		return true;
	passes = steer_root(&s, HCA_FLOW_ROCE_RX, true);
	*taken |= s.taken;
	return passes;
}

bool flow_lets_out(struct hca *hca, enum hca_flow_side side, uint8_t port, struct hca_packet **pkt)
{
	struct steering s = {.hca = hca, .pkt = pkt, .port = port};

	return no_flows(hca, side) || steer_root(&s, side, false);
}
