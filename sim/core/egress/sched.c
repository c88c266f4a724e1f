// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Scheduling elements (core/sched.h). In each tree it is the turn of one flow, which may make one packet; all others wait
 * as QPs with a rate limit do. Who is next is chosen when the turn ends: among the leaves that have something to send, and
 * are allowed to by their rate and by those of all elements above them, the one that is found from the root by
 * taking the element with the earliest start at each node (start-time fair queueing: a packet moves the start of its
 * elements by its length over their share). Flows of a leaf take turns.
 */
#include "core/egress/egress.h"
#include "core/egress/sched.h"

#define VIRTUAL_SHIFT 16 /* of a byte with a share of 1 */

static struct sched_elem *elem_find(const struct hca *hca, uint32_t id)
{
	return numbers_find(&hca->sched, id);
}

/* ---- Flows ---- */

static void activate(struct sched_elem *leaf)
{
	struct sched_elem *e;

	for (e = leaf; e; e = e->parent) /* what it did not send earlier gives it no right now */
		if (!e->active++ && e->parent && e->start < e->parent->now)
			e->start = e->parent->now;
	list_add_tail(&leaf->root->tree.leaves, &leaf->on_root);
}

static void deactivate(struct sched_elem *leaf)
{
	struct sched_elem *e;

	for (e = leaf; e; e = e->parent)
		e->active--;
	list_del(&leaf->on_root);
}

static void set_waiting(struct sched_flow *f, bool want)
{
	struct sched_elem *leaf = f->leaf;
	const bool was = leaf->active;

	list_set(&leaf->flows, &f->on_leaf, want);
	if (!was && want)
		activate(leaf);
	if (was && list_empty(&leaf->flows))
		deactivate(leaf);
	if (!want && leaf->root->tree.open == f)
		leaf->root->tree.open = NULL;
}

/* Of an engine that does not say so, by its state. */
static bool can_request(const struct hca *hca, const struct qp *qp)
{
	struct engine_state s;

	if (hca->eng->ready)
		return hca->eng->ready(hca->engine, qp->qpn);
	hca->eng->state(hca->engine, qp->qpn, &s);
	return s.has_cur && !s.rnr_wait && !s.paging && !s.fault &&
	       !(qp_reliable(qp) && s.rd_out >= qp->a.max_rd_atomic) &&
	       (s.qp_state == HCASIM_QPS_RTS || (s.qp_state == HCASIM_QPS_SQD && s.cur_pkt));
}

static bool wants(const struct hca *hca, const struct qp *qp, unsigned int side)
{
	if (pace_limited(hca, qp))
		return false;
	if (side == SCHED_REQUESTER)
		return can_request(hca, qp);
	return qp->resp.out.head && qp->resp.out.head->kind == ROP_READ;
}

bool sched_open(const struct qp *qp, enum sched_side side)
{
	const struct sched_flow *f = &qp->sched->flow[side];

	return !f->leaf || f->leaf->root->tree.open == f;
}

/* ---- Turns ---- */

static hca_ps allowed_at(const struct sched_elem *leaf)
{
	hca_ps at = 0;

	for (; leaf; leaf = leaf->parent)
		if (leaf->free_at > at)
			at = leaf->free_at;
	return at;
}

/* A node that has been offered something in this round is known to its parent. */
static void offer(struct sched_elem *e, uint64_t round)
{
	struct sched_elem *p;

	for (; (p = e->parent); e = p) {
		if (p->round == round) {
			if (e->start < p->best->start)
				p->best = e;
			return;
		}
		p->round = round;
		p->best = e;
	}
}

/* NULL: none may send before `at`. */
static struct sched_flow *choose(struct hca *hca, struct sched_elem *root, hca_ps *at)
{
	const uint64_t round = ++root->tree.rounds;
	const hca_ps now = hca_now(hca);
	struct sched_elem *e;
	struct node *n;

	*at = HCA_PS_NEVER;
	for (n = root->tree.leaves.next; n != &root->tree.leaves; n = n->next) {
		hca_ps when;

		e = node_entry(n, struct sched_elem, on_root);
		when = allowed_at(e);
		if (when <= now)
			offer(e, round);
		else if (when < *at)
			*at = when;
	}
	if (root->round != round)
		return NULL;
	for (e = root; !e->leaf; e = e->best)
		e->now = e->best->start;
	return node_entry(e->flows.next, struct sched_flow, on_leaf);
}

static void next_turn(struct hca *hca, struct sched_elem *root)
{
	hca_ps at;

	if (root->tree.open || hca->dying)
		return;
	root->tree.open = choose(hca, root, &at);
	timer_cancel(hca, &root->tree.timer);
	if (root->tree.open)
		qp_update(hca, root->tree.open->qp);
	else if (at != HCA_PS_NEVER)
		timer_set(hca, &root->tree.timer, at);
}

static void timer_fired(struct hca *hca, struct timer *t)
{
	next_turn(hca, node_entry(t, struct sched_elem, tree.timer));
}

void sched_changed(struct hca *hca, struct qp *qp)
{
	unsigned int side;

	for (side = 0; side < SCHED_SIDES; side++) {
		struct sched_flow *f = &qp->sched->flow[side];

		if (!f->leaf)
			continue;
		set_waiting(f, wants(hca, qp, side));
		next_turn(hca, f->leaf->root);
	}
}

/* It may be late by the time of one packet without losing that: other flows have their turns, too. */
static void spend(struct sched_elem *e, hca_ps now, uint32_t len)
{
	const hca_ps took =
		e->rate ? (uint64_t)len * 8000000 / e->rate : 0; /* 8 bits, of 1e6 ps / rate each */

	if (e->free_at + took < now)
		e->free_at = now - took;
	e->free_at += took;
}

/* The turn is over; the next one begins when the QP is updated, after the step that made the packet. */
void sched_charge(struct hca *hca, struct qp *qp, enum sched_side side, uint32_t len)
{
	struct sched_flow *f = &qp->sched->flow[side];
	struct sched_elem *e;

	if (!f->leaf)
		return;
	for (e = f->leaf; e; e = e->parent) {
		e->start += ((uint64_t)len << VIRTUAL_SHIFT) / e->share;
		spend(e, hca_now(hca), len);
	}
	if (f->on_leaf.next) {
		list_del(&f->on_leaf);
		list_add_tail(&f->leaf->flows, &f->on_leaf);
	}
	if (f->leaf->root->tree.open == f)
		f->leaf->root->tree.open = NULL;
}

/* ---- QPs ---- */

static void leave(struct hca *hca, struct sched_flow *f)
{
	struct sched_elem *leaf = f->leaf;

	if (!leaf)
		return;
	set_waiting(f, false);
	f->leaf = NULL;
	leaf->users--;
	next_turn(hca, leaf->root);
}

void sched_clear(struct hca *hca, struct qp *qp)
{
	struct sched_qp *s = qp->sched;

	if (!s)
		return;
	qp->sched = NULL;
	leave(hca, &s->flow[SCHED_REQUESTER]);
	leave(hca, &s->flow[SCHED_RESPONDER]);
	free(s);
}

static bool has_leaves(const struct qp *qp, const struct sched_elem *const leaf[SCHED_SIDES],
		       const uint32_t id[SCHED_SIDES])
{
	if ((id[0] && !(leaf[0] && leaf[0]->leaf)) || (id[1] && !(leaf[1] && leaf[1]->leaf)))
		return false;
	switch (qp->c.type) {
	case HCASIM_QPT_RC:
		return true;
	case HCASIM_QPT_UC:
	case HCASIM_QPT_UD:
	case HCASIM_QPT_RAW_PACKET:
		return !id[SCHED_RESPONDER];
	default:
		return false;
	}
}

int hca_qp_sched(struct hca *hca, uint32_t qpn, uint32_t requester, uint32_t responder)
{
	const uint32_t id[SCHED_SIDES] = {requester, responder};
	struct sched_elem *const leaf[SCHED_SIDES] = {elem_find(hca, requester), elem_find(hca, responder)};
	struct qp *qp = qp_find(hca, qpn);
	struct sched_qp *s = NULL;
	unsigned int side;

	if (!qp || !has_leaves(qp, (const struct sched_elem *const *)leaf, id))
		return -EINVAL;
	if (leaf[0] || leaf[1]) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return -ENOMEM;
	}
	sched_clear(hca, qp);
	for (side = 0; s && side < SCHED_SIDES; side++) {
		s->flow[side].qp = qp;
		s->flow[side].leaf = leaf[side];
		if (leaf[side])
			leaf[side]->users++;
	}
	qp->sched = s;
	qp_update(hca, qp);
	hca_announce(hca);
	return 0;
}

/* ---- Elements ---- */

void sched_init(struct hca *hca)
{
	numbers_init(&hca->sched, 1, HCA_SCHED_END, HCA_SCHED_MAX);
}

void sched_free(struct hca *hca)
{
	uint32_t id = 0;
	struct sched_elem *e;

	for (; (e = numbers_from(&hca->sched, id, &id)); id++)
		free(e);
	numbers_free(&hca->sched);
}

int hca_sched_create(struct hca *hca, const struct hca_sched_attr *attr, uint32_t *id)
{
	struct sched_elem *parent = elem_find(hca, attr->parent), *e;

	if (attr->parent ? !parent || parent->leaf : attr->leaf)
		return -EINVAL;
	e = calloc(1, sizeof(*e));
	if (!e || numbers_add(&hca->sched, e, id)) {
		free(e);
		return -ENOMEM;
	}
	e->parent = parent;
	e->root = parent ? parent->root : e;
	e->leaf = attr->leaf;
	e->share = attr->share ? attr->share : 1;
	e->rate = attr->rate;
	list_init(&e->flows);
	list_init(&e->tree.leaves);
	e->tree.timer.fire = timer_fired;
	if (parent)
		parent->users++;
	return 0;
}

/* What is owed is paid at the new rate: it is at most one packet, so the product fits. */
int hca_sched_modify(struct hca *hca, uint32_t id, uint32_t share, uint32_t rate)
{
	struct sched_elem *e = elem_find(hca, id);
	const hca_ps now = hca_now(hca);

	if (!e)
		return -EINVAL;
	if (e->rate && e->free_at > now)
		e->free_at = rate ? now + (e->free_at - now) * e->rate / rate : now;
	e->share = share ? share : 1;
	e->rate = rate;
	next_turn(hca, e->root);
	hca_announce(hca);
	return 0;
}

int hca_sched_destroy(struct hca *hca, uint32_t id)
{
	struct sched_elem *e = elem_find(hca, id);

	if (!e)
		return -EINVAL;
	if (e->users)
		return -EBUSY;
	if (e->parent)
		e->parent->users--;
	timer_cancel(hca, &e->tree.timer);
	numbers_remove(&hca->sched, id);
	free(e);
	return 0;
}
