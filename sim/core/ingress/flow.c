// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow steering: which raw QPs an Ethernet frame goes to.
 *
 * A frame is delivered to the first flow that matches, in this order: normal flows by priority (0 first)
 * and then by age, the default for multicast, the default for all frames. After a DONT_TRAP flow the search
 * continues. If flows of one priority have equal specifications each of their QPs gets a copy. Sniffers get
 * a copy of every frame, including RoCE; other flows do not get RoCE packets, because the transport consumes
 * them.
 *
 * The cost of a frame depends on the number of different priorities and masks, not on the number of flows.
 */
#include "core/ingress/ingress.h"
#include "core/wire/frame.h"
#include "core/wire/net.h"

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

/* Counts the frame, and delivers it to the flow's QP, or to one of its work queues. */
static bool give(struct hca *hca, const struct flow *f, const struct rxwork *w, const struct net *n)
{
	struct qp *qp = f->qp->rss ? rss_pick(f->qp, w->pkt, n) : f->qp;

	if (f->counter) {
		f->counter->packets++;
		f->counter->octets += w->pkt->len;
	}
	return qp && rx_copy_to(hca, qp, w, true);
}

static struct flow_group *group_of(const struct node *n)
{
	return node_entry(n, struct flow_group, on_rank);
}

/* Finds the matches of all groups of the rank. */
static void find_takers(const struct flow_rank *rank, const struct rxwork *w, const struct net *n,
			const struct hca_flow_fields *got)
{
	for (struct node *at = rank->groups.next; at != &rank->groups; at = at->next) {
		struct flow_group *g = group_of(at);

		g->at = g->port == w->port && group_sees(g, n, got) ? flow_find(g, got) : NULL;
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

/* Delivers the frame to the flows of one rank. True: one of them trapped it. */
static bool steer_rank(struct hca *hca, const struct flow_rank *rank, const struct rxwork *w,
		       const struct net *n, bool *any)
{
	const struct flow *f;
	const struct node *rest;

	while ((f = next_taker(rank))) {
		*any |= give(hca, f, w, n);
		f->rule->group->at = after(f);
		if (f->dont_trap || f->rule->group->kind == HCA_FLOW_SNIFFER)
			continue;
		for (; (rest = f->rule->group->at); f->rule->group->at = after(f)) {
			f = node_entry(rest, struct flow, on_rule);
			*any |= give(hca, f, w, n);
		}
		return true;
	}
	return false;
}

bool flow_steer(struct hca *hca, struct rxwork *w, bool roce)
{
	struct hca_flow_fields fields;
	struct node *at;
	bool any = false;
	struct net n;

	if (w->pkt->len < ETH_LEN)
		return false;
	read_fields(w->pkt, &n, &fields);
	for (at = hca->flow.order.next; at != &hca->flow.order; at = at->next) {
		const struct flow_rank *rank = node_entry(at, struct flow_rank, in_order);

		if (roce && rank->node.key != FLOW_RANK_SNIFFER)
			break;
		find_takers(rank, w, &n, &fields);
		if (steer_rank(hca, rank, w, &n, &any))
			break;
	}
	return any;
}

/* Whether a packet is RoCEv2, well-formed or not. */
bool flow_is_roce(const struct hca_packet *pkt)
{
	struct net n;

	net_parse(pkt->data, pkt->len, NET_ETHERNET, true, &n);
	return n.l4 && n.proto == IP_PROTO_UDP &&
	       get16(pkt->data + n.l4_off + UDP_DPORT) == HCASIM_ROCE_UDP_PORT;
}
