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

SCENARIO(transition_required) = {
	{"reset-init", SUITE("modify"), QPS("RC"),
	 ARGS({"type", IBV_QPT_RC}, {"from", IBV_QPS_RESET}, {"to", IBV_QPS_INIT},
	      {"required", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE}),
	 CLAUSE("ibv_modify_qp/NOTES/required"),
	 SAYS("the transition is refused if one of the required attributes is missing, and then "
	      "nothing has changed; with all of them it is made, and ibv_query_qp reports what was "
	      "set, together or one by one")},
	{"init-rtr", ARGS({"type", IBV_QPT_RC}, {"from", IBV_QPS_INIT}, {"to", IBV_QPS_RTR},
			  {"required", IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_DEST_QPN},
			  {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
			  {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"rtr-rts", ARGS({"type", IBV_QPT_RC}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS},
			 {"required", IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					      IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_SQ_PSN},
			 {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
			 {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"reset-init", QPS("UC"),
	 ARGS({"type", IBV_QPT_UC}, {"from", IBV_QPS_RESET}, {"to", IBV_QPS_INIT},
	      {"required", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"init-rtr", ARGS({"type", IBV_QPT_UC}, {"from", IBV_QPS_INIT}, {"to", IBV_QPS_RTR},
			  {"required", IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_DEST_QPN},
			  {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
			  {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"rtr-rts", ARGS({"type", IBV_QPT_UC}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS},
			 {"required", IBV_QP_SQ_PSN}, {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
			 {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"reset-init", QPS("UD"),
	 ARGS({"type", IBV_QPT_UD}, {"from", IBV_QPS_RESET}, {"to", IBV_QPS_INIT},
	      {"required", IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"init-rtr", ARGS({"type", IBV_QPT_UD}, {"from", IBV_QPS_INIT}, {"to", IBV_QPS_RTR},
			  {"optional", IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
			  {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"rtr-rts", ARGS({"type", IBV_QPT_UD}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS},
			 {"required", IBV_QP_SQ_PSN}, {"optional", IBV_QP_CUR_STATE | IBV_QP_QKEY},
			 {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"reset-init", QPS("RAW_PACKET"),
	 ARGS({"type", IBV_QPT_RAW_PACKET}, {"from", IBV_QPS_RESET}, {"to", IBV_QPS_INIT},
	      {"required", IBV_QP_PORT},
	      {"ignored", IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"init-rtr", ARGS({"type", IBV_QPT_RAW_PACKET}, {"from", IBV_QPS_INIT}, {"to", IBV_QPS_RTR},
			  {"ignored", IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"rtr-rts", ARGS({"type", IBV_QPT_RAW_PACKET}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS},
			 {"ignored", IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"reset-init", QPS("XRC_SEND"),
	 ARGS({"type", IBV_QPT_XRC_SEND}, {"from", IBV_QPS_RESET}, {"to", IBV_QPS_INIT},
	      {"required", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT},
	      {"ignored",
	       IBV_QP_ALT_PATH | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PATH_MIG_STATE}),
	 LEVEL("SHOULD"), ERRATA("TRANSITIONS")},
	{"init-rtr", ARGS({"type", IBV_QPT_XRC_SEND}, {"from", IBV_QPS_INIT}, {"to", IBV_QPS_RTR},
			  {"required", IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_DEST_QPN},
			  {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
			  {"ignored", IBV_QP_ALT_PATH | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC |
					      IBV_QP_PATH_MIG_STATE})},
	{"rtr-rts", ARGS({"type", IBV_QPT_XRC_SEND}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS},
			 {"required", IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					      IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_SQ_PSN},
			 {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
			 {"ignored", IBV_QP_ALT_PATH | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC |
					     IBV_QP_PATH_MIG_STATE})},
	{"recv",
	 ARGS({"type", IBV_QPT_XRC_RECV},
	      {"ignored", IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_ALT_PATH |
				  IBV_QP_PATH_MIG_STATE}),
	 FORMS({"-reset-init",
		{{"from", IBV_QPS_RESET},
		 {"to", IBV_QPS_INIT},
		 {"required", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT}}},
	       {"-init-rtr",
		{{"from", IBV_QPS_INIT},
		 {"to", IBV_QPS_RTR},
		 {"required", IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER |
				      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_DEST_QPN},
		 {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX}}},
	       {"-rtr-rts",
		{{"from", IBV_QPS_RTR},
		 {"to", IBV_QPS_RTS},
		 {"required", IBV_QP_TIMEOUT | IBV_QP_SQ_PSN},
		 {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER}}})},
	{},
};

static void transition_attributes(struct kit *k)
{
	struct walk w;

	if (start(k, &w))
		walk_attributes(&w);
	own_destroy(&w.own);
}

SCENARIO(transition_attributes) = {
	{"reset-init-attributes", SUITE("modify"), QPS("RC"),
	 ARGS({"type", IBV_QPT_RC}, {"from", IBV_QPS_RESET}, {"to", IBV_QPS_INIT},
	      {"required", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE}),
	 CLAUSE("ibv_modify_qp/NOTES/none-modified"), LEVEL("SHOULD"), ERRATA("TRANSITIONS"),
	 SAYS("each attribute that the transition allows is set and reported by ibv_query_qp, alone "
	      "and with all others; each that it does not have is refused, and then nothing has changed")},
	{"init",
	 ARGS({"type", IBV_QPT_RC}, {"from", IBV_QPS_INIT},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE}),
	 FORMS({"-init-attributes",
		{{"to", IBV_QPS_INIT}, {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT}}},
	       {"-rtr-attributes",
		{{"to", IBV_QPS_RTR},
		 {"required", IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER |
				      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_DEST_QPN},
		 {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX}}})},
	{"rtr-rts-attributes",
	 ARGS({"type", IBV_QPT_RC}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS},
	      {"required", IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
				   IBV_QP_SQ_PSN},
	      {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"rts",
	 ARGS({"type", IBV_QPT_RC}, {"from", IBV_QPS_RTS},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE}),
	 FORMS({"-rts-attributes",
		{{"to", IBV_QPS_RTS},
		 {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER}}},
	       {"-sqd-attributes", {{"to", IBV_QPS_SQD}, {"optional", IBV_QP_EN_SQD_ASYNC_NOTIFY}}})},
	{"sqd",
	 ARGS({"type", IBV_QPT_RC}, {"from", IBV_QPS_SQD},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE}),
	 FORMS({"-rts-attributes",
		{{"to", IBV_QPS_RTS},
		 {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER}}},
	       {"-sqd-attributes",
		{{"to", IBV_QPS_SQD},
		 {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_AV |
				      IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |
				      IBV_QP_MAX_DEST_RD_ATOMIC}}})},
	{"reset-init-attributes", QPS("UC"),
	 ARGS({"type", IBV_QPT_UC}, {"from", IBV_QPS_RESET}, {"to", IBV_QPS_INIT},
	      {"required", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"init",
	 ARGS({"type", IBV_QPT_UC}, {"from", IBV_QPS_INIT},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE}),
	 FORMS({"-init-attributes",
		{{"to", IBV_QPS_INIT}, {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT}}},
	       {"-rtr-attributes",
		{{"to", IBV_QPS_RTR},
		 {"required", IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_DEST_QPN},
		 {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX}}})},
	{"rtr-rts-attributes",
	 ARGS({"type", IBV_QPT_UC}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS}, {"required", IBV_QP_SQ_PSN},
	      {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"rts",
	 ARGS({"type", IBV_QPT_UC}, {"from", IBV_QPS_RTS},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE}),
	 FORMS({"-rts-attributes",
		{{"to", IBV_QPS_RTS}, {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS}}},
	       {"-sqd-attributes", {{"to", IBV_QPS_SQD}, {"optional", IBV_QP_EN_SQD_ASYNC_NOTIFY}}})},
	{"sqd", ARGS({"type", IBV_QPT_UC}, {"from", IBV_QPS_SQD}),
	 FORMS({"-rts-attributes",
		{{"to", IBV_QPS_RTS},
		 {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
		 {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE}}},
	       {"-sqd-attributes",
		{{"to", IBV_QPS_SQD},
		 {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
		 {"ignored", IBV_QP_PORT | IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE}}})},
	{"reset-init-attributes", QPS("UD"),
	 ARGS({"type", IBV_QPT_UD}, {"from", IBV_QPS_RESET}, {"to", IBV_QPS_INIT},
	      {"required", IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"init",
	 ARGS({"type", IBV_QPT_UD}, {"from", IBV_QPS_INIT},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE}),
	 FORMS({"-init-attributes",
		{{"to", IBV_QPS_INIT}, {"optional", IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY}}},
	       {"-rtr-attributes", {{"to", IBV_QPS_RTR}, {"optional", IBV_QP_PKEY_INDEX | IBV_QP_QKEY}}})},
	{"rtr-rts-attributes", ARGS({"type", IBV_QPT_UD}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS},
				    {"required", IBV_QP_SQ_PSN}, {"optional", IBV_QP_CUR_STATE | IBV_QP_QKEY},
				    {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"rts",
	 ARGS({"type", IBV_QPT_UD}, {"from", IBV_QPS_RTS},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE}),
	 FORMS({"-rts-attributes", {{"to", IBV_QPS_RTS}, {"optional", IBV_QP_CUR_STATE | IBV_QP_QKEY}}},
	       {"-sqd-attributes", {{"to", IBV_QPS_SQD}, {"optional", IBV_QP_EN_SQD_ASYNC_NOTIFY}}})},
	{"sqd",
	 ARGS({"type", IBV_QPT_UD}, {"from", IBV_QPS_SQD},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE}),
	 FORMS({"-rts-attributes", {{"to", IBV_QPS_RTS}, {"optional", IBV_QP_CUR_STATE | IBV_QP_QKEY}}},
	       {"-sqd-attributes", {{"to", IBV_QPS_SQD}, {"optional", IBV_QP_PKEY_INDEX | IBV_QP_QKEY}}})},
	{"reset-init-attributes", QPS("RAW_PACKET"),
	 ARGS({"type", IBV_QPT_RAW_PACKET}, {"from", IBV_QPS_RESET}, {"to", IBV_QPS_INIT},
	      {"required", IBV_QP_PORT},
	      {"ignored", IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"init-rtr-attributes",
	 ARGS({"type", IBV_QPT_RAW_PACKET}, {"from", IBV_QPS_INIT}, {"to", IBV_QPS_RTR},
	      {"ignored", IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"rtr-rts-attributes",
	 ARGS({"type", IBV_QPT_RAW_PACKET}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS},
	      {"ignored", IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"rts",
	 ARGS({"type", IBV_QPT_RAW_PACKET}, {"from", IBV_QPS_RTS},
	      {"ignored", IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE}),
	 FORMS({"-rts-attributes", {{"to", IBV_QPS_RTS}}}, {"-sqd-attributes", {{"to", IBV_QPS_SQD}}})},
	{"sqd-rts-attributes",
	 ARGS({"type", IBV_QPT_RAW_PACKET}, {"from", IBV_QPS_SQD}, {"to", IBV_QPS_RTS},
	      {"ignored", IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"reset-init-attributes", QPS("XRC_SEND"),
	 ARGS({"type", IBV_QPT_XRC_SEND}, {"from", IBV_QPS_RESET}, {"to", IBV_QPS_INIT},
	      {"required", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT},
	      {"ignored",
	       IBV_QP_ALT_PATH | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PATH_MIG_STATE})},
	{"init",
	 ARGS({"type", IBV_QPT_XRC_SEND}, {"from", IBV_QPS_INIT},
	      {"ignored",
	       IBV_QP_ALT_PATH | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PATH_MIG_STATE}),
	 FORMS({"-init-attributes",
		{{"to", IBV_QPS_INIT}, {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT}}},
	       {"-rtr-attributes",
		{{"to", IBV_QPS_RTR},
		 {"required", IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_DEST_QPN},
		 {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX}}})},
	{"rtr-rts-attributes", ARGS({"type", IBV_QPT_XRC_SEND}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS},
				    {"required", IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
							 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_SQ_PSN},
				    {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
				    {"ignored", IBV_QP_ALT_PATH | IBV_QP_MIN_RNR_TIMER |
							IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PATH_MIG_STATE})},
	{"rts",
	 ARGS({"type", IBV_QPT_XRC_SEND}, {"from", IBV_QPS_RTS},
	      {"ignored",
	       IBV_QP_ALT_PATH | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PATH_MIG_STATE}),
	 FORMS({"-rts-attributes",
		{{"to", IBV_QPS_RTS}, {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS}}},
	       {"-sqd-attributes", {{"to", IBV_QPS_SQD}, {"optional", IBV_QP_EN_SQD_ASYNC_NOTIFY}}})},
	{"sqd",
	 ARGS({"type", IBV_QPT_XRC_SEND}, {"from", IBV_QPS_SQD},
	      {"ignored",
	       IBV_QP_ALT_PATH | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PATH_MIG_STATE}),
	 FORMS({"-rts-attributes",
		{{"to", IBV_QPS_RTS}, {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS}}},
	       {"-sqd-attributes",
		{{"to", IBV_QPS_SQD},
		 {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_AV |
				      IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_MAX_QP_RD_ATOMIC}}})},
	{"recv",
	 ARGS({"type", IBV_QPT_XRC_RECV},
	      {"ignored", IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_ALT_PATH |
				  IBV_QP_PATH_MIG_STATE}),
	 FORMS({"-reset-init-attributes",
		{{"from", IBV_QPS_RESET},
		 {"to", IBV_QPS_INIT},
		 {"required", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT}}},
	       {"-init-init-attributes",
		{{"from", IBV_QPS_INIT},
		 {"to", IBV_QPS_INIT},
		 {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT}}},
	       {"-init-rtr-attributes",
		{{"from", IBV_QPS_INIT},
		 {"to", IBV_QPS_RTR},
		 {"required", IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER |
				      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_DEST_QPN},
		 {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX}}},
	       {"-rtr-rts-attributes",
		{{"from", IBV_QPS_RTR},
		 {"to", IBV_QPS_RTS},
		 {"required", IBV_QP_TIMEOUT | IBV_QP_SQ_PSN},
		 {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER}}},
	       {"-rts-rts-attributes",
		{{"from", IBV_QPS_RTS},
		 {"to", IBV_QPS_RTS},
		 {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER}}},
	       {"-rts-sqd-attributes",
		{{"from", IBV_QPS_RTS}, {"to", IBV_QPS_SQD}, {"optional", IBV_QP_EN_SQD_ASYNC_NOTIFY}}},
	       {"-sqd-rts-attributes",
		{{"from", IBV_QPS_SQD},
		 {"to", IBV_QPS_RTS},
		 {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER}}},
	       {"-sqd-sqd-attributes",
		{{"from", IBV_QPS_SQD},
		 {"to", IBV_QPS_SQD},
		 {"optional", IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_AV |
				      IBV_QP_TIMEOUT | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC}}})},
	{},
};

static void transition_wrong_state(struct kit *k)
{
	struct walk w;

	if (start(k, &w))
		walk_wrong_state(&w);
	own_destroy(&w.own);
}

SCENARIO(transition_wrong_state) = {
	{"cur_qp_state", SUITE("modify"), QPS("RC"),
	 ARGS({"type", IBV_QPT_RC}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS},
	      {"required", IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
				   IBV_QP_SQ_PSN},
	      {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/cur_qp_state"), LEVEL("SHOULD"), ERRATA("TRANSITIONS"),
	 SAYS("a cur_qp_state other than the state of the QP is refused and changes nothing")},
	{"cur_qp_state", QPS("UC"),
	 ARGS({"type", IBV_QPT_UC}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS}, {"required", IBV_QP_SQ_PSN},
	      {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"cur_qp_state", QPS("UD"),
	 ARGS({"type", IBV_QPT_UD}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS}, {"required", IBV_QP_SQ_PSN},
	      {"optional", IBV_QP_CUR_STATE | IBV_QP_QKEY},
	      {"ignored", IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE})},
	{"cur_qp_state", QPS("XRC_SEND"),
	 ARGS({"type", IBV_QPT_XRC_SEND}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS},
	      {"required", IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
				   IBV_QP_SQ_PSN},
	      {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
	      {"ignored",
	       IBV_QP_ALT_PATH | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PATH_MIG_STATE})},
	{"recv-cur_qp_state",
	 ARGS({"type", IBV_QPT_XRC_RECV}, {"from", IBV_QPS_RTR}, {"to", IBV_QPS_RTS},
	      {"required", IBV_QP_TIMEOUT | IBV_QP_SQ_PSN},
	      {"optional", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
	      {"ignored", IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_ALT_PATH |
				  IBV_QP_PATH_MIG_STATE})},
	{},
};

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

SCENARIO(transition_each) = {
	{"to", SUITE("modify"), QPS("RC"),
	 ARGS({"type", IBV_QPT_RC}, {"INIT", 1}, {"RTR", 1}, {"RTS", 1}, {"SQD", 1}),
	 FORMS({"-reset", {{"to", IBV_QPS_RESET}, {"ERR", 1}}}, {"-err", {{"to", IBV_QPS_ERR}}}),
	 CLAUSE("ibv_modify_qp/NOTES/none-modified"), LEVEL("SHOULD"), ERRATA("TRANSITIONS"),
	 SAYS("from each state; the transition needs no attribute, and one that is given is refused "
	      "and changes nothing")},
	{"none",
	 ARGS({"type", IBV_QPT_RC}, {"none", 1}, {"RESET", 0xbc}, {"INIT", 0xb8}, {"RTR", 0xb6},
	      {"RTS", 0xa6}, {"SQD", 0xa6}, {"ERR", 0xbe}),
	 SAYS("a transition that does not exist is refused, whatever is given with it, and changes "
	      "nothing")},
	{"to", QPS("UC"), ARGS({"type", IBV_QPT_UC}, {"INIT", 1}, {"RTR", 1}, {"RTS", 1}, {"SQD", 1}),
	 FORMS({"-reset", {{"to", IBV_QPS_RESET}, {"ERR", 1}}}, {"-err", {{"to", IBV_QPS_ERR}}}),
	 SAYS("from each state; the transition needs no attribute, and one that is given is refused "
	      "and changes nothing")},
	{"none",
	 ARGS({"type", IBV_QPT_UC}, {"none", 1}, {"RESET", 0xbc}, {"INIT", 0xb8}, {"RTR", 0xb6},
	      {"RTS", 0xa6}, {"SQD", 0xa6}, {"ERR", 0xbe}),
	 SAYS("a transition that does not exist is refused, whatever is given with it, and changes "
	      "nothing")},
	{"to", QPS("UD"), ARGS({"type", IBV_QPT_UD}, {"INIT", 1}, {"RTR", 1}, {"RTS", 1}, {"SQD", 1}),
	 FORMS({"-reset", {{"to", IBV_QPS_RESET}, {"ERR", 1}}}, {"-err", {{"to", IBV_QPS_ERR}}}),
	 SAYS("from each state; the transition needs no attribute, and one that is given is refused "
	      "and changes nothing")},
	{"none",
	 ARGS({"type", IBV_QPT_UD}, {"none", 1}, {"RESET", 0xbc}, {"INIT", 0xb8}, {"RTR", 0xb6},
	      {"RTS", 0xa6}, {"SQD", 0xa6}, {"ERR", 0xbe}),
	 SAYS("a transition that does not exist is refused, whatever is given with it, and changes "
	      "nothing")},
	{"to", QPS("RAW_PACKET"),
	 ARGS({"type", IBV_QPT_RAW_PACKET}, {"INIT", 1}, {"RTR", 1}, {"RTS", 1}, {"SQD", 1}),
	 FORMS({"-reset", {{"to", IBV_QPS_RESET}, {"ERR", 1}}}, {"-err", {{"to", IBV_QPS_ERR}}}),
	 SAYS("from each state; the transition needs no attribute, and one that is given is refused "
	      "and changes nothing")},
	{"none",
	 ARGS({"type", IBV_QPT_RAW_PACKET}, {"none", 1}, {"RESET", 0xbc}, {"INIT", 0xb8}, {"RTR", 0xb6},
	      {"RTS", 0xa6}, {"SQD", 0xa6}, {"ERR", 0xbe}),
	 SAYS("a transition that does not exist is refused, whatever is given with it, and changes "
	      "nothing")},
	{"to", QPS("XRC_SEND"),
	 ARGS({"type", IBV_QPT_XRC_SEND}, {"ignored", IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC},
	      {"INIT", 1}, {"RTR", 1}, {"RTS", 1}, {"SQD", 1}),
	 FORMS({"-reset", {{"to", IBV_QPS_RESET}, {"ERR", 1}}}, {"-err", {{"to", IBV_QPS_ERR}}}),
	 SAYS("from each state; the transition needs no attribute, and one that is given is refused "
	      "and changes nothing")},
	{"none",
	 ARGS({"type", IBV_QPT_XRC_SEND}, {"none", 1}, {"RESET", 0xbc}, {"INIT", 0xb8}, {"RTR", 0xb6},
	      {"RTS", 0xa6}, {"SQD", 0xa6}, {"ERR", 0xbe}),
	 SAYS("a transition that does not exist is refused, whatever is given with it, and changes "
	      "nothing")},
	{"recv-to",
	 ARGS({"type", IBV_QPT_XRC_RECV},
	      {"ignored", IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC}, {"INIT", 1},
	      {"RTR", 1}, {"RTS", 1}, {"SQD", 1}),
	 FORMS({"-reset", {{"to", IBV_QPS_RESET}, {"ERR", 1}}}, {"-err", {{"to", IBV_QPS_ERR}}}),
	 SAYS("from each state; the transition needs no attribute, and one that is given is refused "
	      "and changes nothing")},
	{"recv-none",
	 ARGS({"type", IBV_QPT_XRC_RECV}, {"none", 1}, {"RESET", 0xbc}, {"INIT", 0xb8}, {"RTR", 0xb6},
	      {"RTS", 0xa6}, {"SQD", 0xa6}, {"ERR", 0xbe}),
	 SAYS("a transition that does not exist is refused, whatever is given with it, and changes "
	      "nothing")},
	{},
};
