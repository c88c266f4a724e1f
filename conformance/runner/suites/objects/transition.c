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

/*
 * The tables of ibv_modify_qp(3) and of IBTA (table 91), by QP type: what a transition requires, what it allows, and what
 * may be given without a check.
 */
#define TO_INIT     (IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define UD_TO_INIT  (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define UC_TO_RTR   (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_DEST_QPN)
#define RC_TO_RTR   (UC_TO_RTR | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC)
#define MAY_RTR     (IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX)
#define UD_MAY_RTR  (IBV_QP_PKEY_INDEX | IBV_QP_QKEY)
#define RETRIES     (IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define RC_TO_RTS   (IBV_QP_TIMEOUT | RETRIES | IBV_QP_SQ_PSN)
#define RECV_TO_RTS (IBV_QP_TIMEOUT | IBV_QP_SQ_PSN)
#define UC_MAY_RTS  (IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS)
#define RC_MAY_RTS  (UC_MAY_RTS | IBV_QP_MIN_RNR_TIMER)
#define UD_MAY_RTS  (IBV_QP_CUR_STATE | IBV_QP_QKEY)
#define RECV_IN_SQD (TO_INIT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC)
#define SEND_IN_SQD (TO_INIT | IBV_QP_AV | IBV_QP_TIMEOUT | RETRIES)

#define IGNORED      (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)
#define RAW_IGNORED  (IBV_QP_EN_SQD_ASYNC_NOTIFY | IGNORED)
#define SEND_IGNORED (IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC | IGNORED)
#define RECV_IGNORED (RETRIES | IGNORED)

/* clang-format off */
#define TYPE(type)      {"type", IBV_QPT_##type}
#define FROM(state)     {"from", IBV_QPS_##state}
#define TO(state)       {"to", IBV_QPS_##state}
#define REQUIRED(mask)  {"required", mask}
#define OPTIONAL(mask)  {"optional", mask}
#define UNCHECKED(mask) {"ignored", mask}
/* clang-format on */

static void transition_required(struct kit *k)
{
	struct walk w;

	if (start(k, &w))
		walk_required(&w);
}

SCENARIO(transition_required) = {
	{"reset-init", SUITE("modify"), QPS("RC"),
	 ARGS(TYPE(RC), FROM(RESET), TO(INIT), REQUIRED(TO_INIT), UNCHECKED(IGNORED)),
	 CLAUSE("ibv_modify_qp/NOTES/required"),
	 SAYS("the transition is refused if one of the required attributes is missing, and then "
	      "nothing has changed; with all of them it is made, and ibv_query_qp reports what was "
	      "set, together or one by one")},
	{"init-rtr",
	 ARGS(TYPE(RC), FROM(INIT), TO(RTR), REQUIRED(RC_TO_RTR), OPTIONAL(MAY_RTR), UNCHECKED(IGNORED))},
	{"rtr-rts",
	 ARGS(TYPE(RC), FROM(RTR), TO(RTS), REQUIRED(RC_TO_RTS), OPTIONAL(RC_MAY_RTS), UNCHECKED(IGNORED))},
	{"reset-init", QPS("UC"),
	 ARGS(TYPE(UC), FROM(RESET), TO(INIT), REQUIRED(TO_INIT), UNCHECKED(IGNORED))},
	{"init-rtr",
	 ARGS(TYPE(UC), FROM(INIT), TO(RTR), REQUIRED(UC_TO_RTR), OPTIONAL(MAY_RTR), UNCHECKED(IGNORED))},
	{"rtr-rts", ARGS(TYPE(UC), FROM(RTR), TO(RTS), REQUIRED(IBV_QP_SQ_PSN), OPTIONAL(UC_MAY_RTS),
			 UNCHECKED(IGNORED))},
	{"reset-init", QPS("UD"),
	 ARGS(TYPE(UD), FROM(RESET), TO(INIT), REQUIRED(UD_TO_INIT), UNCHECKED(IGNORED))},
	{"init-rtr", ARGS(TYPE(UD), FROM(INIT), TO(RTR), OPTIONAL(UD_MAY_RTR), UNCHECKED(IGNORED))},
	{"rtr-rts", ARGS(TYPE(UD), FROM(RTR), TO(RTS), REQUIRED(IBV_QP_SQ_PSN), OPTIONAL(UD_MAY_RTS),
			 UNCHECKED(IGNORED))},
	{"reset-init", QPS("RAW_PACKET"),
	 ARGS(TYPE(RAW_PACKET), FROM(RESET), TO(INIT), REQUIRED(IBV_QP_PORT), UNCHECKED(RAW_IGNORED))},
	{"init-rtr", ARGS(TYPE(RAW_PACKET), FROM(INIT), TO(RTR), UNCHECKED(RAW_IGNORED))},
	{"rtr-rts", ARGS(TYPE(RAW_PACKET), FROM(RTR), TO(RTS), UNCHECKED(RAW_IGNORED))},
	{"reset-init", QPS("XRC_SEND"),
	 ARGS(TYPE(XRC_SEND), FROM(RESET), TO(INIT), REQUIRED(TO_INIT), UNCHECKED(SEND_IGNORED)),
	 LEVEL("SHOULD"), ERRATA("TRANSITIONS")},
	{"init-rtr", ARGS(TYPE(XRC_SEND), FROM(INIT), TO(RTR), REQUIRED(UC_TO_RTR), OPTIONAL(MAY_RTR),
			  UNCHECKED(SEND_IGNORED))},
	{"rtr-rts", ARGS(TYPE(XRC_SEND), FROM(RTR), TO(RTS), REQUIRED(RC_TO_RTS), OPTIONAL(UC_MAY_RTS),
			 UNCHECKED(SEND_IGNORED))},
	{"recv", ARGS(TYPE(XRC_RECV), UNCHECKED(RECV_IGNORED)),
	 FORMS({"-reset-init", {FROM(RESET), TO(INIT), REQUIRED(TO_INIT)}},
	       {"-init-rtr", {FROM(INIT), TO(RTR), REQUIRED(RC_TO_RTR), OPTIONAL(MAY_RTR)}},
	       {"-rtr-rts", {FROM(RTR), TO(RTS), REQUIRED(RECV_TO_RTS), OPTIONAL(RC_MAY_RTS)}})},
	{},
};

static void transition_attributes(struct kit *k)
{
	struct walk w;

	if (start(k, &w))
		walk_attributes(&w);
}

SCENARIO(transition_attributes) = {
	{"reset-init-attributes", SUITE("modify"), QPS("RC"),
	 ARGS(TYPE(RC), FROM(RESET), TO(INIT), REQUIRED(TO_INIT), UNCHECKED(IGNORED)),
	 CLAUSE("ibv_modify_qp/NOTES/none-modified"), LEVEL("SHOULD"), ERRATA("TRANSITIONS"),
	 SAYS("each attribute that the transition allows is set and reported by ibv_query_qp, alone "
	      "and with all others; each that it does not have is refused, and then nothing has changed")},
	{"init", ARGS(TYPE(RC), FROM(INIT), UNCHECKED(IGNORED)),
	 FORMS({"-init-attributes", {TO(INIT), OPTIONAL(TO_INIT)}},
	       {"-rtr-attributes", {TO(RTR), REQUIRED(RC_TO_RTR), OPTIONAL(MAY_RTR)}})},
	{"rtr-rts-attributes",
	 ARGS(TYPE(RC), FROM(RTR), TO(RTS), REQUIRED(RC_TO_RTS), OPTIONAL(RC_MAY_RTS), UNCHECKED(IGNORED))},
	{"rts", ARGS(TYPE(RC), FROM(RTS), UNCHECKED(IGNORED)),
	 FORMS({"-rts-attributes", {TO(RTS), OPTIONAL(RC_MAY_RTS)}},
	       {"-sqd-attributes", {TO(SQD), OPTIONAL(IBV_QP_EN_SQD_ASYNC_NOTIFY)}})},
	{"sqd", ARGS(TYPE(RC), FROM(SQD), UNCHECKED(IGNORED)),
	 FORMS({"-rts-attributes", {TO(RTS), OPTIONAL(RC_MAY_RTS)}},
	       {"-sqd-attributes", {TO(SQD), OPTIONAL(RECV_IN_SQD | RETRIES)}})},
	{"reset-init-attributes", QPS("UC"),
	 ARGS(TYPE(UC), FROM(RESET), TO(INIT), REQUIRED(TO_INIT), UNCHECKED(IGNORED))},
	{"init", ARGS(TYPE(UC), FROM(INIT), UNCHECKED(IGNORED)),
	 FORMS({"-init-attributes", {TO(INIT), OPTIONAL(TO_INIT)}},
	       {"-rtr-attributes", {TO(RTR), REQUIRED(UC_TO_RTR), OPTIONAL(MAY_RTR)}})},
	{"rtr-rts-attributes", ARGS(TYPE(UC), FROM(RTR), TO(RTS), REQUIRED(IBV_QP_SQ_PSN),
				    OPTIONAL(UC_MAY_RTS), UNCHECKED(IGNORED))},
	{"rts", ARGS(TYPE(UC), FROM(RTS), UNCHECKED(IGNORED)),
	 FORMS({"-rts-attributes", {TO(RTS), OPTIONAL(UC_MAY_RTS)}},
	       {"-sqd-attributes", {TO(SQD), OPTIONAL(IBV_QP_EN_SQD_ASYNC_NOTIFY)}})},
	{"sqd", ARGS(TYPE(UC), FROM(SQD)),
	 FORMS({"-rts-attributes", {TO(RTS), OPTIONAL(UC_MAY_RTS), UNCHECKED(IGNORED)}},
	       {"-sqd-attributes",
		{TO(SQD), OPTIONAL(MAY_RTR), UNCHECKED(IBV_QP_PORT | IBV_QP_AV | IGNORED)}})},
	{"reset-init-attributes", QPS("UD"),
	 ARGS(TYPE(UD), FROM(RESET), TO(INIT), REQUIRED(UD_TO_INIT), UNCHECKED(IGNORED))},
	{"init", ARGS(TYPE(UD), FROM(INIT), UNCHECKED(IGNORED)),
	 FORMS({"-init-attributes", {TO(INIT), OPTIONAL(UD_TO_INIT)}},
	       {"-rtr-attributes", {TO(RTR), OPTIONAL(UD_MAY_RTR)}})},
	{"rtr-rts-attributes", ARGS(TYPE(UD), FROM(RTR), TO(RTS), REQUIRED(IBV_QP_SQ_PSN),
				    OPTIONAL(UD_MAY_RTS), UNCHECKED(IGNORED))},
	{"rts", ARGS(TYPE(UD), FROM(RTS), UNCHECKED(IGNORED)),
	 FORMS({"-rts-attributes", {TO(RTS), OPTIONAL(UD_MAY_RTS)}},
	       {"-sqd-attributes", {TO(SQD), OPTIONAL(IBV_QP_EN_SQD_ASYNC_NOTIFY)}})},
	{"sqd", ARGS(TYPE(UD), FROM(SQD), UNCHECKED(IGNORED)),
	 FORMS({"-rts-attributes", {TO(RTS), OPTIONAL(UD_MAY_RTS)}},
	       {"-sqd-attributes", {TO(SQD), OPTIONAL(UD_MAY_RTR)}})},
	{"reset-init-attributes", QPS("RAW_PACKET"),
	 ARGS(TYPE(RAW_PACKET), FROM(RESET), TO(INIT), REQUIRED(IBV_QP_PORT), UNCHECKED(RAW_IGNORED))},
	{"init-rtr-attributes", ARGS(TYPE(RAW_PACKET), FROM(INIT), TO(RTR), UNCHECKED(RAW_IGNORED))},
	{"rtr-rts-attributes", ARGS(TYPE(RAW_PACKET), FROM(RTR), TO(RTS), UNCHECKED(RAW_IGNORED))},
	{"rts", ARGS(TYPE(RAW_PACKET), FROM(RTS), UNCHECKED(RAW_IGNORED)),
	 FORMS({"-rts-attributes", {TO(RTS)}}, {"-sqd-attributes", {TO(SQD)}})},
	{"sqd-rts-attributes", ARGS(TYPE(RAW_PACKET), FROM(SQD), TO(RTS), UNCHECKED(RAW_IGNORED))},
	{"reset-init-attributes", QPS("XRC_SEND"),
	 ARGS(TYPE(XRC_SEND), FROM(RESET), TO(INIT), REQUIRED(TO_INIT), UNCHECKED(SEND_IGNORED))},
	{"init", ARGS(TYPE(XRC_SEND), FROM(INIT), UNCHECKED(SEND_IGNORED)),
	 FORMS({"-init-attributes", {TO(INIT), OPTIONAL(TO_INIT)}},
	       {"-rtr-attributes", {TO(RTR), REQUIRED(UC_TO_RTR), OPTIONAL(MAY_RTR)}})},
	{"rtr-rts-attributes", ARGS(TYPE(XRC_SEND), FROM(RTR), TO(RTS), REQUIRED(RC_TO_RTS),
				    OPTIONAL(UC_MAY_RTS), UNCHECKED(SEND_IGNORED))},
	{"rts", ARGS(TYPE(XRC_SEND), FROM(RTS), UNCHECKED(SEND_IGNORED)),
	 FORMS({"-rts-attributes", {TO(RTS), OPTIONAL(UC_MAY_RTS)}},
	       {"-sqd-attributes", {TO(SQD), OPTIONAL(IBV_QP_EN_SQD_ASYNC_NOTIFY)}})},
	{"sqd", ARGS(TYPE(XRC_SEND), FROM(SQD), UNCHECKED(SEND_IGNORED)),
	 FORMS({"-rts-attributes", {TO(RTS), OPTIONAL(UC_MAY_RTS)}},
	       {"-sqd-attributes", {TO(SQD), OPTIONAL(SEND_IN_SQD)}})},
	{"recv", ARGS(TYPE(XRC_RECV), UNCHECKED(RECV_IGNORED)),
	 FORMS({"-reset-init-attributes", {FROM(RESET), TO(INIT), REQUIRED(TO_INIT)}},
	       {"-init-init-attributes", {FROM(INIT), TO(INIT), OPTIONAL(TO_INIT)}},
	       {"-init-rtr-attributes", {FROM(INIT), TO(RTR), REQUIRED(RC_TO_RTR), OPTIONAL(MAY_RTR)}},
	       {"-rtr-rts-attributes", {FROM(RTR), TO(RTS), REQUIRED(RECV_TO_RTS), OPTIONAL(RC_MAY_RTS)}},
	       {"-rts-rts-attributes", {FROM(RTS), TO(RTS), OPTIONAL(RC_MAY_RTS)}},
	       {"-rts-sqd-attributes", {FROM(RTS), TO(SQD), OPTIONAL(IBV_QP_EN_SQD_ASYNC_NOTIFY)}},
	       {"-sqd-rts-attributes", {FROM(SQD), TO(RTS), OPTIONAL(RC_MAY_RTS)}},
	       {"-sqd-sqd-attributes", {FROM(SQD), TO(SQD), OPTIONAL(RECV_IN_SQD)}})},
	{},
};

static void transition_wrong_state(struct kit *k)
{
	struct walk w;

	if (start(k, &w))
		walk_wrong_state(&w);
}

SCENARIO(transition_wrong_state) = {
	{"cur_qp_state", SUITE("modify"), QPS("RC"),
	 ARGS(TYPE(RC), FROM(RTR), TO(RTS), REQUIRED(RC_TO_RTS), OPTIONAL(RC_MAY_RTS), UNCHECKED(IGNORED)),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/cur_qp_state"), LEVEL("SHOULD"), ERRATA("TRANSITIONS"),
	 SAYS("a cur_qp_state other than the state of the QP is refused and changes nothing")},
	{"cur_qp_state", QPS("UC"),
	 ARGS(TYPE(UC), FROM(RTR), TO(RTS), REQUIRED(IBV_QP_SQ_PSN), OPTIONAL(UC_MAY_RTS),
	      UNCHECKED(IGNORED))},
	{"cur_qp_state", QPS("UD"),
	 ARGS(TYPE(UD), FROM(RTR), TO(RTS), REQUIRED(IBV_QP_SQ_PSN), OPTIONAL(UD_MAY_RTS),
	      UNCHECKED(IGNORED))},
	{"cur_qp_state", QPS("XRC_SEND"),
	 ARGS(TYPE(XRC_SEND), FROM(RTR), TO(RTS), REQUIRED(RC_TO_RTS), OPTIONAL(UC_MAY_RTS),
	      UNCHECKED(SEND_IGNORED))},
	{"recv-cur_qp_state", ARGS(TYPE(XRC_RECV), FROM(RTR), TO(RTS), REQUIRED(RECV_TO_RTS),
				   OPTIONAL(RC_MAY_RTS), UNCHECKED(RECV_IGNORED))},
	{},
};

/* From each state that the cell names: with a mask of next states that must be refused, or else to the state `to`. */
static void transition_each(struct kit *k)
{
	struct walk w;

	if (!start(k, &w))
		return;
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
}

#define BELOW_ERR                                                                                            \
	{"INIT", 1}, {"RTR", 1}, {"RTS", 1},                                                                 \
	{                                                                                                    \
		"SQD", 1                                                                                     \
	}
#define END(...)                                                                                             \
	ARGS(__VA_ARGS__, BELOW_ERR), FORMS({"-reset", {TO(RESET), {"ERR", 1}}}, {"-err", {TO(ERR)}}),       \
		SAYS("from each state; the transition needs no attribute, and one that is given is refused " \
		     "and changes nothing")
/* By state, a bit for each that does not follow it. */
#define NONE(type)                                                                                           \
	ARGS(TYPE(type), {"none", 1}, {"RESET", 0xbc}, {"INIT", 0xb8}, {"RTR", 0xb6}, {"RTS", 0xa6},         \
	     {"SQD", 0xa6}, {"ERR", 0xbe}),                                                                  \
		SAYS("a transition that does not exist is refused, whatever is given with it, and changes "  \
		     "nothing")

SCENARIO(transition_each) = {
	{"to", SUITE("modify"), QPS("RC"), END(TYPE(RC)), CLAUSE("ibv_modify_qp/NOTES/none-modified"),
	 LEVEL("SHOULD"), ERRATA("TRANSITIONS")},
	{"none", NONE(RC)},
	{"to", QPS("UC"), END(TYPE(UC))},
	{"none", NONE(UC)},
	{"to", QPS("UD"), END(TYPE(UD))},
	{"none", NONE(UD)},
	{"to", QPS("RAW_PACKET"), END(TYPE(RAW_PACKET))},
	{"none", NONE(RAW_PACKET)},
	{"to", QPS("XRC_SEND"),
	 END(TYPE(XRC_SEND), UNCHECKED(IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC))},
	{"none", NONE(XRC_SEND)},
	{"recv-to", END(TYPE(XRC_RECV), UNCHECKED(RETRIES))},
	{"recv-none", NONE(XRC_RECV)},
	{},
};
