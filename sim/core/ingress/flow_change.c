// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What flows change in frames. */
#include "core/ingress/ingress.h"
#include "core/wire/edit.h"
#include "core/wire/frame.h"
#include "core/wire/tunnel.h"

static bool changes(const struct hca_flow_attr *a)
{
	return a->num_edits || a->strip || a->head_len;
}

/* An Ethernet header is only taken off for another one, which is the first of what is put before the frame. */
static bool strip_ok(const struct hca_flow_attr *a)
{
	if (a->strip > HCA_STRIP_TUNNEL || a->head_len > HCA_MAX_HEAD ||
	    (a->head_len && a->head_len < ETH_LEN))
		return false;
	return a->strip != HCA_STRIP_ETHER || a->head_len;
}

bool flow_change_ok(const struct flow_table *t, const struct hca_flow_attr *a)
{
	if (!changes(a))
		return true;
	if ((t->side != HCA_FLOW_RX && t->side != HCA_FLOW_TX) || a->kind != HCA_FLOW_NORMAL ||
	    a->dont_trap || a->num_edits > HCA_MAX_EDITS || !strip_ok(a))
		return false;
	for (uint32_t i = 0; i < a->num_edits; i++) {
		if (!edit_ok(&a->edit[i]))
			return false;
	}
	return true;
}

struct flow_change *flow_change_new(const struct hca_flow_attr *a, int *ret)
{
	struct flow_change *c = changes(a) ? calloc(1, sizeof(*c)) : NULL;

	*ret = changes(a) && !c ? -ENOMEM : 0;
	if (!c)
		return NULL;
	c->num_edits = a->num_edits;
	if (a->num_edits)
		memcpy(c->edit, a->edit, a->num_edits * sizeof(*a->edit));
	c->strip = a->strip;
	c->head_len = a->head_len;
	if (a->head_len)
		memcpy(c->head, a->head, a->head_len);
	return c;
}

static bool same_edit(const struct hca_edit *a, const struct hca_edit *b)
{
	return a->kind == b->kind && a->header == b->header && a->from_header == b->from_header &&
	       a->bits == b->bits && a->to == b->to && a->from == b->from && a->value == b->value;
}

bool flow_change_same(const struct flow_change *c, const struct hca_flow_attr *a)
{
	if (!c || !changes(a))
		return !c && !changes(a);
	if (c->num_edits != a->num_edits || c->strip != a->strip || c->head_len != a->head_len ||
	    (a->head_len && memcmp(c->head, a->head, a->head_len)))
		return false;
	for (uint32_t i = 0; i < c->num_edits; i++) {
		if (!same_edit(&c->edit[i], &a->edit[i]))
			return false;
	}
	return true;
}

/* Bytes that are taken off; false: the frame does not have them. */
static bool get_stripped(const struct flow_change *c, const struct hca_packet *pkt, uint32_t *bytes)
{
	struct net n;
	bool ether;

	*bytes = 0;
	if (c->strip == HCA_STRIP_ETHER) {
		net_parse(pkt->data, pkt->len, NET_ETHERNET, true, &n);
		*bytes = n.l3_off;
	}
	if (c->strip != HCA_STRIP_TUNNEL)
		return true;
	*bytes = tunnel_headers(pkt->data, pkt->len, &ether);
	return *bytes && ether == !c->head_len;
}

/* The head, and then the frame without its first bytes. */
static struct hca_packet *put_before(const struct flow_change *c, const struct hca_packet *pkt,
				     uint32_t stripped)
{
	const uint32_t rest = pkt->len - stripped;
	struct hca_packet *p = hca_packet_alloc(c->head_len + rest);

	if (!p)
		return NULL;
	p->len = p->cap;
	p->number = pkt->number;
	memcpy(p->data, c->head, c->head_len);
	memcpy(p->data + c->head_len, pkt->data + stripped, rest);
	return p;
}

static struct hca_packet *out_of_tunnel(const struct flow_change *c, const struct hca_packet *pkt)
{
	struct hca_packet *p;
	uint32_t stripped;

	if (!get_stripped(c, pkt, &stripped))
		return NULL;
	p = put_before(c, pkt, stripped);
	if (p)
		edit_frame(p->data, p->len, c->edit, c->num_edits);
	return p;
}

static struct hca_packet *into_tunnel(const struct flow_change *c, struct hca_packet *edited)
{
	struct hca_packet *p = NULL;
	uint32_t stripped;

	if (get_stripped(c, edited, &stripped))
		p = put_before(c, edited, stripped);
	hca_packet_free(edited);
	if (p)
		tunnel_finish(p->data, p->len);
	return p;
}

/* Edits are of the frame that goes into a tunnel, or has come out of it. */
struct hca_packet *flow_change_make(const struct flow_change *c, const struct hca_packet *pkt)
{
	struct hca_packet *p;

	if (c->strip == HCA_STRIP_TUNNEL)
		return out_of_tunnel(c, pkt);
	p = hca_packet_dup(pkt);
	if (!p)
		return NULL;
	edit_frame(p->data, p->len, c->edit, c->num_edits);
	return c->head_len ? into_tunnel(c, p) : p;
}
