/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Transitions of a QP: the attributes that one requires, allows and refuses. The cell has their masks; whatever was
 * refused has changed nothing, and whatever was accepted is reported by ibv_query_qp().
 */
#include <errno.h>
#include <string.h>

#include "suites/objects/own.h"

struct walk {
	struct kit *k;
	struct own own;
	enum ibv_qp_state from, to;
	int required, optional, ignored;
	bool stay; /* from a state to the same: without IBV_QP_STATE */
};

static struct ibv_qp_attr wanted(const struct walk *w)
{
	struct ibv_qp_attr attr = own_values(w->k, &w->own, 1);

	attr.qp_state = w->to;
	attr.cur_qp_state = w->from;
	attr.path_mig_state = IBV_MIG_MIGRATED;
	attr.alt_ah_attr = attr.ah_attr;
	attr.alt_port_num = attr.port_num;
	attr.cap = w->own.init.cap;
	return attr;
}

static int with_state(const struct walk *w, int mask)
{
	return w->stay ? mask : mask | IBV_QP_STATE;
}

/* A refusal is an errno, and changes nothing. */
static bool refused(struct walk *w, struct ibv_qp_attr *attr, int mask, const char *what, int bit)
{
	struct kit *k = w->k;
	int ret = ibv_modify_qp(w->own.qp, attr, mask);

	if (!kit_holds(k, ret > 0)) {
		KIT_FAULT(k, "ibv_modify_qp from %s to %s, %s %s: returned %d, must be an errno",
			  own_state(w->from), own_state(attr->qp_state), what, own_bit(bit), ret);
		return false;
	}
	k->res->err = ret;
	return own_judge(k, &w->own, OWN_EVERY_BIT, "before a modification that was refused");
}

static bool accepted(struct walk *w, int mask, const char *what, int bit)
{
	struct ibv_qp_attr attr = wanted(w);
	int ret = own_modify(&w->own, &attr, mask);

	if (!kit_holds(w->k, !ret)) {
		w->k->res->err = ret;
		KIT_FAULT(w->k, "ibv_modify_qp from %s to %s, %s %s: failed with %s", own_state(w->from),
			  own_state(w->to), what, own_bit(bit), errno_name(ret));
		return false;
	}
	return own_judge(w->k, &w->own, OWN_EVERY_BIT, "by this transition or before it");
}

static bool start(struct kit *k, struct walk *w)
{
	*w = (struct walk){
		.k = k,
		.from = kit_arg(k, "from", IBV_QPS_RESET),
		.to = kit_arg(k, "to", IBV_QPS_RESET),
		.required = kit_arg(k, "required", 0),
		.optional = kit_arg(k, "optional", 0),
		.ignored = kit_arg(k, "ignored", 0),
	};
	if (kit_arg(k, "type", 0) != IBV_QPT_XRC_RECV) /* it has no send queue */
		w->own.init.sq_sig_all = w->to & 1;
	w->stay = w->from == w->to;
	return own_create(k, &w->own, kit_arg(k, "type", 0)) && own_reach(k, &w->own, w->from) &&
	       own_judge(k, &w->own, OWN_EVERY_BIT, "on the way");
}

/* Goes back to the first state. */
static bool again(struct walk *w)
{
	return own_reset(w->k, &w->own) && own_reach(w->k, &w->own, w->from);
}

/* Each required attribute, if it is missing; then all of them. */
static void walk_required(struct walk *w)
{
	struct ibv_qp_attr attr = wanted(w);

	for (int bit = 1; bit & OWN_EVERY_BIT; bit <<= 1)
		if (bit & w->required &&
		    !refused(w, &attr, with_state(w, w->required & ~bit), "without", bit))
			return;
	if (!accepted(w, with_state(w, w->required), "with", w->required))
		return;
	for (int bit = 1; bit & OWN_EVERY_BIT; bit <<= 1) /* one by one */
		if (!own_judge(w->k, &w->own, bit, "by this transition or before it"))
			return;
}

/* Each attribute besides the required ones: those that the transition has are set, all others are refused. */
static void walk_attributes(struct walk *w)
{
	struct ibv_qp_attr attr = wanted(w);

	for (int bit = IBV_QP_CUR_STATE; bit & OWN_EVERY_BIT; bit <<= 1)
		if (!(bit & (w->required | w->optional | w->ignored)) &&
		    !refused(w, &attr, with_state(w, w->required | bit), "with", bit))
			return;
	for (int bit = 1; bit & OWN_EVERY_BIT; bit <<= 1)
		if (bit & w->optional &&
		    (!accepted(w, with_state(w, w->required | bit), "with", bit) || (!w->stay && !again(w))))
			return;
	accepted(w, with_state(w, w->required | w->optional), "with", w->required | w->optional);
}

/* Transitions that do not exist, with every attribute that any of them could need; a bit for each state in `next`. */
static void walk_none(struct walk *w, int next)
{
	struct ibv_qp_attr attr = wanted(w);

	for (unsigned int state = IBV_QPS_RESET; state <= IBV_QPS_UNKNOWN; state++) {
		const int needs = own_required(w->own.qp->qp_type, state);

		attr.qp_state = state;
		if (next & 1 << state && (!refused(w, &attr, IBV_QP_STATE, "without", 0) ||
					  !refused(w, &attr, IBV_QP_STATE | needs, "with", needs)))
			return;
	}
}

/* A current state that is not the QP's. */
static void walk_wrong_state(struct walk *w)
{
	struct ibv_qp_attr attr = wanted(w);

	for (unsigned int state = IBV_QPS_RESET; state <= IBV_QPS_UNKNOWN; state++) {
		attr.cur_qp_state = state;
		if (state != w->from && !refused(w, &attr, with_state(w, w->required | IBV_QP_CUR_STATE),
						 "with a wrong", IBV_QP_CUR_STATE))
			return;
	}
}

static void transition_required(struct kit *k)
{
	struct walk w;

	if (start(k, &w))
		walk_required(&w);
	own_destroy(&w.own);
}

static void transition_attributes(struct kit *k)
{
	struct walk w;

	if (start(k, &w))
		walk_attributes(&w);
	own_destroy(&w.own);
}

static void transition_wrong_state(struct kit *k)
{
	struct walk w;

	if (start(k, &w))
		walk_wrong_state(&w);
	own_destroy(&w.own);
}

/* From each state that the cell names: with a mask of next states that must be refused, or else to the state `to`. */
static void transition_each(struct kit *k)
{
	struct walk w;

	if (!start(k, &w))
		goto out;
	for (unsigned int state = IBV_QPS_RESET; state <= IBV_QPS_ERR; state++) {
		const int next = kit_arg(k, own_state(state), 0);

		w.from = state;
		w.stay = false;
		if (!next)
			continue;
		if (!again(&w))
			break;
		if (kit_arg(k, "none", 0))
			walk_none(&w, next);
		else
			walk_attributes(&w);
		if (!KIT_GOOD(k))
			break;
	}
out:
	own_destroy(&w.own);
}

const struct scenario transition_scenarios[] = {
	{"transition_required", transition_required},
	{"transition_attributes", transition_attributes},
	{"transition_wrong_state", transition_wrong_state},
	{"transition_each", transition_each},
	{NULL, NULL},
};
