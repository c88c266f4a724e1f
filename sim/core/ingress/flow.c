// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow steering: which raw QPs an Ethernet frame goes to, and which UD QPs a multicast datagram.
 *
 * A frame goes to the first flow that takes it, in the order: normal flows by priority (0 first) and
 * then by age, the default for multicast, the default for everything. A flow that does not trap lets it
 * go on as well. Flows of one priority that ask for exactly the same share: each of their QPs gets a
 * copy. Sniffers get a copy of everything that arrives, RoCE included; to the others RoCE packets are
 * not visible, for the transport takes them first.
 */
#include "core/ingress/ingress.h"
#include "core/wire/frame.h"
#include "core/wire/net.h"

static unsigned int rank(const struct hca_flow_attr *a)
{
	switch (a->kind) {
	case HCA_FLOW_SNIFFER:
		return 0;
	case HCA_FLOW_NORMAL:
		return 1u + a->priority;
	case HCA_FLOW_MC_DEFAULT:
		return 1u << 16 | 1;
	default:
		return 1u << 16 | 2;
	}
}

static bool attr_ok(const struct hca *hca, const struct hca_flow_attr *a)
{
	return a->port && a->port <= hca->cfg.num_ports && a->kind <= HCA_FLOW_SNIFFER;
}

int hca_flow_create(struct hca *hca, const struct hca_flow_attr *attr, uint32_t *id)
{
	struct qp *qp = qp_find(hca, attr->qpn);
	struct flow *f, **at = &hca->flows;

	if (!qp || qp->c.type != HCASIM_QPT_RAW_PACKET || qp->c.wq || !attr_ok(hca, attr))
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->a = *attr;
	f->qp = qp;
	f->id = ++hca->flow_next;
	while (*at && rank(&(*at)->a) <= rank(attr))
		at = &(*at)->next;
	f->next = *at;
	*at = f;
	*id = f->id;
	return 0;
}

int hca_flow_destroy(struct hca *hca, uint32_t id)
{
	struct flow *f, **at;

	for (at = &hca->flows; (f = *at); at = &f->next) {
		if (f->id != id)
			continue;
		*at = f->next;
		free(f);
		return 0;
	}
	return -EINVAL;
}

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

/* What the flows look at. */
static void read_fields(const struct hca_packet *pkt, struct net *n, struct hca_flow_fields *out)
{
	const uint8_t *p = pkt->data;

	memset(out, 0, sizeof(*out));
	net_parse(p, pkt->len, NET_ETHERNET, true, n); /* headers match whatever lengths they state */
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

static bool under_mask(const struct hca_flow_fields *got, const struct hca_flow_fields *val,
		       const struct hca_flow_fields *mask)
{
	const uint8_t *g = (const uint8_t *)got, *v = (const uint8_t *)val, *m = (const uint8_t *)mask;
	size_t i;

	for (i = 0; i < sizeof(*got); i++)
		if ((g[i] ^ v[i]) & m[i])
			return false;
	return true;
}

static bool takes(const struct hca_flow_attr *a, const struct net *n, const struct hca_flow_fields *got)
{
	if (a->kind == HCA_FLOW_ALL_DEFAULT)
		return true;
	if (a->kind == HCA_FLOW_MC_DEFAULT)
		return got->dmac[0] & 1;
	if ((a->ip && a->ip != n->ip) || (a->l4 && (!n->l4 || a->l4 != n->proto)) ||
	    (a->mask.vlan_tci && !n->vlan))
		return false;
	return under_mask(got, &a->val, &a->mask);
}

static bool alike(const struct hca_flow_attr *a, const struct hca_flow_attr *b)
{
	return rank(a) == rank(b) && a->ip == b->ip && a->l4 == b->l4 &&
	       !memcmp(&a->val, &b->val, sizeof(a->val)) && !memcmp(&a->mask, &b->mask, sizeof(a->mask));
}

/* The frame goes to the flow's QP, or to one of its work queues. */
static bool give(struct hca *hca, const struct flow *f, const struct rxwork *w, const struct net *n)
{
	struct qp *qp = f->qp->rss ? rss_pick(f->qp, w->pkt, n) : f->qp;

	return qp && rx_copy_to(hca, qp, w, true);
}

bool flow_steer(struct hca *hca, struct rxwork *w, bool roce)
{
	const struct flow *f, *taken = NULL;
	struct hca_flow_fields fields;
	bool any = false;
	struct net n;

	if (w->pkt->len < ETH_LEN)
		return false;
	read_fields(w->pkt, &n, &fields);
	for (f = hca->flows; f; f = f->next) {
		if (f->a.port != w->port)
			continue;
		if (f->a.kind == HCA_FLOW_SNIFFER) {
			any |= give(hca, f, w, &n);
			continue;
		}
		if (roce || !(taken ? alike(&f->a, &taken->a) : takes(&f->a, &n, &fields)))
			continue;
		any |= give(hca, f, w, &n);
		if (!f->a.dont_trap)
			taken = f;
	}
	return any;
}

/* RoCEv2, whether it is well made or not. */
bool flow_is_roce(const struct hca_packet *pkt)
{
	struct net n;

	net_parse(pkt->data, pkt->len, NET_ETHERNET, true, &n);
	return n.l4 && n.proto == IP_PROTO_UDP &&
	       get16(pkt->data + n.l4_off + UDP_DPORT) == HCASIM_ROCE_UDP_PORT;
}

/* ---- Multicast groups ---- */

int hca_mcast_attach(struct hca *hca, uint32_t qpn, const uint8_t gid[16])
{
	struct qp *qp = qp_find(hca, qpn);
	struct mcast *m;

	if (!qp || qp->c.type != HCASIM_QPT_UD)
		return -EINVAL;
	for (m = hca->mcasts; m; m = m->next)
		if (m->qp == qp && !memcmp(m->gid, gid, 16))
			return 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	memcpy(m->gid, gid, 16);
	m->qp = qp;
	m->next = hca->mcasts;
	hca->mcasts = m;
	return 0;
}

int hca_mcast_detach(struct hca *hca, uint32_t qpn, const uint8_t gid[16])
{
	struct mcast *m, **at;

	for (at = &hca->mcasts; (m = *at); at = &m->next) {
		if (m->qp->qpn != qpn || memcmp(m->gid, gid, 16))
			continue;
		*at = m->next;
		free(m);
		return 0;
	}
	return -EINVAL;
}

/* IBTA 10.5.2: every attached QP that the packet is valid for gets a copy. */
bool mcast_deliver(struct hca *hca, struct rxwork *w)
{
	const struct mcast *m;
	bool any = false;

	for (m = hca->mcasts; m; m = m->next)
		if (!memcmp(m->gid, w->info.dgid, 16))
			any |= rx_copy_to(hca, m->qp, w, false);
	return any;
}

/* A QP goes. */
void flow_forget(struct hca *hca, const struct qp *qp)
{
	struct flow *f, **at = &hca->flows;
	struct mcast *m, **mat = &hca->mcasts;

	while ((f = *at)) {
		if (f->qp != qp) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		free(f);
	}
	while ((m = *mat)) {
		if (m->qp != qp) {
			mat = &m->next;
			continue;
		}
		*mat = m->next;
		free(m);
	}
}
