// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The QP state machine: which transitions exist, which attributes each requires and which it allows (IBTA
 * vol. 1, 10.3.1 and table 91 "QP State Transition Properties"; transitions and masks as in Linux's
 * ib_modify_qp_is_ok()). A transition without a row here is invalid.
 */
#include "kernel/priv.h"

#define A(name) HCASIM_QP_ATTR_##name

#define INIT_CONN  (A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS))
#define INIT_UD    (A(PKEY_INDEX) | A(PORT) | A(QKEY))
#define RTR_UC     (A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN))
#define RTR_RC     (RTR_UC | A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER))
#define RTR_OPT    (A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX))
#define RTS_RC     (A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(SQ_PSN) | A(MAX_QP_RD_ATOMIC))
#define RTS_UC_OPT (A(CUR_STATE) | A(ALT_PATH) | A(ACCESS_FLAGS) | A(PATH_MIG_STATE))
#define RTS_RC_OPT (RTS_UC_OPT | A(MIN_RNR_TIMER))
#define RTS_UD_OPT (A(CUR_STATE) | A(QKEY))
#define SQD_UC_OPT (A(AV) | A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX) | A(PATH_MIG_STATE))
#define SQD_RC_OPT                                                                                           \
	(SQD_UC_OPT | A(PORT) | A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(MAX_QP_RD_ATOMIC) |             \
	 A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER))

/* XRC: the sender has RC's requester attributes, the receiver its responder's. */
#define RTS_INI_OPT RTS_UC_OPT
#define RTS_TGT_OPT RTS_RC_OPT
#define SQD_INI_OPT (SQD_UC_OPT | A(PORT) | A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(MAX_QP_RD_ATOMIC))
#define SQD_TGT_OPT (SQD_UC_OPT | A(PORT) | A(TIMEOUT) | A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER))

struct masks {
	uint32_t required, optional;
};

struct transition {
	uint8_t from, to;
	struct masks rc, uc, ud, ini, tgt; /* ini, tgt: XRC's two ends */
};

#define S(name) HCASIM_QPS_##name

static const struct transition transitions[] = {
	{.from = S(RESET), .to = S(RESET)},
	{S(RESET), S(INIT), {INIT_CONN, 0}, {INIT_CONN, 0}, {INIT_UD, 0}, {INIT_CONN, 0}, {INIT_CONN, 0}},
	{.from = S(INIT), .to = S(RESET)},
	{.from = S(INIT), .to = S(ERR)},
	{S(INIT), S(INIT), {0, INIT_CONN}, {0, INIT_CONN}, {0, INIT_UD}, {0, INIT_CONN}, {0, INIT_CONN}},
	{S(INIT),
	 S(RTR),
	 {RTR_RC, RTR_OPT},
	 {RTR_UC, RTR_OPT},
	 {0, A(PKEY_INDEX) | A(QKEY)},
	 {RTR_UC, RTR_OPT},
	 {RTR_RC, RTR_OPT}},
	{.from = S(RTR), .to = S(RESET)},
	{.from = S(RTR), .to = S(ERR)},
	{S(RTR),
	 S(RTS),
	 {RTS_RC, RTS_RC_OPT},
	 {A(SQ_PSN), RTS_UC_OPT},
	 {A(SQ_PSN), RTS_UD_OPT},
	 {RTS_RC, RTS_INI_OPT},
	 {A(TIMEOUT) | A(SQ_PSN), RTS_TGT_OPT}},
	{.from = S(RTS), .to = S(RESET)},
	{.from = S(RTS), .to = S(ERR)},
	{S(RTS),
	 S(RTS),
	 {0, RTS_RC_OPT},
	 {0, RTS_UC_OPT},
	 {0, RTS_UD_OPT},
	 {0, RTS_INI_OPT},
	 {0, RTS_TGT_OPT}},
	{S(RTS),
	 S(SQD),
	 {0, A(EN_SQD_ASYNC_NOTIFY)},
	 {0, A(EN_SQD_ASYNC_NOTIFY)},
	 {0, A(EN_SQD_ASYNC_NOTIFY)},
	 {0, A(EN_SQD_ASYNC_NOTIFY)},
	 {0, A(EN_SQD_ASYNC_NOTIFY)}},
	{.from = S(SQD), .to = S(RESET)},
	{.from = S(SQD), .to = S(ERR)},
	{S(SQD),
	 S(RTS),
	 {0, RTS_RC_OPT},
	 {0, RTS_UC_OPT},
	 {0, RTS_UD_OPT},
	 {0, RTS_INI_OPT},
	 {0, RTS_TGT_OPT}},
	{S(SQD),
	 S(SQD),
	 {0, SQD_RC_OPT},
	 {0, SQD_UC_OPT},
	 {0, A(PKEY_INDEX) | A(QKEY)},
	 {0, SQD_INI_OPT},
	 {0, SQD_TGT_OPT}},
	{.from = S(SQE), .to = S(RESET)},
	{.from = S(SQE), .to = S(ERR)},
	/* SQE exists for UC and UD only (IBTA 10.3.1.6); the kernel's table lets RC pass with no attribute. */
	{S(SQE), S(RTS), {0, 0}, {0, A(CUR_STATE) | A(ACCESS_FLAGS)}, {0, RTS_UD_OPT}, {0, 0}, {0, 0}},
	{.from = S(ERR), .to = S(RESET)},
	{.from = S(ERR), .to = S(ERR)},
};

static bool cur_state_ok(unsigned int cur)
{
	return cur == S(RTR) || cur == S(RTS) || cur == S(SQD) || cur == S(SQE);
}

static const struct masks *masks_of(const struct transition *t, unsigned int type)
{
	static const struct masks raw_init = {A(PORT), 0}, raw_rts = {0, A(RATE_LIMIT)}, raw;

	switch (type) {
	case HCASIM_QPT_RC:
		return &t->rc;
	case HCASIM_QPT_UC:
		return &t->uc;
	case HCASIM_QPT_XRC_SEND:
		return &t->ini;
	case HCASIM_QPT_XRC_RECV:
		return &t->tgt;
	case HCASIM_QPT_RAW_PACKET: /* has only a port and a rate limit */
		if (t->to == S(RTS) && (t->from == S(RTR) || t->from == S(RTS)))
			return &raw_rts;
		if (t->to == S(SQD) && t->from == S(RTS))
			return &t->ud;
		return t->from == S(RESET) && t->to == S(INIT) ? &raw_init : &raw;
	default:
		return &t->ud;
	}
}

bool qp_transition(unsigned int cur, unsigned int next, unsigned int type, uint32_t *required,
		   uint32_t *optional)
{
	const struct masks *m;

	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		const struct transition *t = &transitions[i];

		if (t->from != cur || t->to != next)
			continue;
		m = masks_of(t, type);
		*required = m->required;
		*optional = m->optional | A(STATE);
		return true;
	}
	return false;
}

bool qp_modify_ok(unsigned int cur, unsigned int next, unsigned int type, uint32_t mask)
{
	uint32_t required, optional;

	if ((mask & A(CUR_STATE)) && !cur_state_ok(cur))
		return false;
	return qp_transition(cur, next, type, &required, &optional) && (mask & required) == required &&
	       !(mask & ~(required | optional));
}
