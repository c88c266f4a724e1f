/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packet sequence numbers: wrap-around, duplicate requests, and a lossy wire. */
#include <string.h>

#include "link/link_modify.h"
#include "suites/kit.h"

static struct link_opts options(struct kit *k)
{
	struct link_opts opts = {.psn = kit_arg(k, "psn", 0)};

	k->res->log.psn = opts.psn;
	return opts;
}

/* Posts the requests of the cell in one list and checks all their effects. */
static bool carry(struct kit *k, struct plan *plans)
{
	struct expect requester = {0}, responder = {0};
	unsigned int first_use = k->l->next_use;
	struct posted posted = post_list(k->l, plans, k->cell->num_wr, &k->res->log);

	if (posted.rc)
		KIT_FAULT(k, "posting was refused with %s", errno_name(posted.rc));
	for (unsigned int i = 0; i < k->cell->num_wr && KIT_GOOD(k); i++)
		plan_execute(&plans[i], k->l, &requester, &responder);
	if (KIT_GOOD(k))
		collect(k->l, &requester, &responder, k->res);
	if (KIT_GOOD(k) && k->l->qpt == IBV_QPT_UC)
		kit_alive(k, k->l); /* a WRITE completes before its data is visible: this SEND follows it */
	collect_extra(k->l, k->res);
	if (KIT_GOOD(k))
		collect_memory(k->l, first_use, k->res);
	return KIT_GOOD(k);
}

/* The requester starts shortly before the highest PSN and wraps to 0. */
static void psn_wrap(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	const struct link_opts opts = options(k);

	if (kit_link(k, API_POST, &opts) && kit_plan(k, plans) && carry(k, plans))
		kit_alive(k, k->l);
}

/* Changes the payload of each request, and the memory that it would read. */
static void change_sources(struct kit *k, const struct plan *plans)
{
	for (unsigned int i = 0; i < k->cell->num_wr; i++) {
		const struct plan *p = &plans[i];
		bool brings = p->wr->effect != EFFECT_SEND && p->wr->effect != EFFECT_WRITE;

		for (unsigned int s = 0; s < p->num_sge; s++) {
			uint8_t *at = (uint8_t *)(uintptr_t)p->sge[s].addr;

			memset(at, 0xbb, p->sge[s].length);
			if (!brings)
				memset(arena_shadow(&k->l->local, at), 0xbb, p->sge[s].length);
		}
	}
}

/* Resets the requester to its first PSN; the responder keeps its expected PSN. */
static int go_back(struct kit *k)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	int ret;

	log_call(&k->res->log, "/* qp: ibv_modify_qp() to RESET, INIT, RTR, RTS, with its first sq_psn */");
	ret = ibv_modify_qp(k->l->qp, &reset, IBV_QP_STATE);
	return ret ? ret : link_restart(k->l);
}

/*
 * The same requests a second time with the same PSNs, as after a lost acknowledge. They complete, READs and
 * atomics with the results of the first time, and are not executed again.
 */
static void psn_repeated(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct expect requester = {0};
	static const struct expect nothing;
	const struct link_opts opts = options(k);
	unsigned int first_use;
	struct posted posted;
	int ret;

	if (!kit_link(k, API_POST, &opts) || !kit_plan(k, plans))
		return;
	first_use = k->l->next_use;
	if (!carry(k, plans))
		return;
	change_sources(k, plans);
	ret = go_back(k);
	KIT_CHECK(k, !ret, "%s failed with %s", k->l->step, errno_name(ret));
	posted = post_list(k->l, plans, k->cell->num_wr, &k->res->log);
	KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
	for (unsigned int i = 0; i < k->cell->num_wr; i++)
		plan_complete(&plans[i], k->l, &requester);
	collect(k->l, &requester, &nothing, k->res);
	collect_extra(k->l, k->res);
	if (KIT_GOOD(k))
		kit_alive(k, k->l); /* with the next PSN of both sides */
	if (KIT_GOOD(k))
		collect_memory(k->l, first_use, k->res);
}

/* Repeated on a wire with faults: each request is executed once and in order, and completes in order. */
static void lossy(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	const struct ibv_qp_attr attr = {
		.min_rnr_timer = 1, .rnr_retry = 7, .timeout = kit_arg(k, "timeout", 8), .retry_cnt = 7};
	const struct link_opts opts = {.attr = &attr, .psn = kit_arg(k, "psn", 0)};
	int rounds = kit_arg(k, "rounds", 1);

	if (!kit_link(k, API_POST, &opts))
		return;
	while (rounds-- && kit_plan(k, plans) && carry(k, plans))
		;
}

const struct scenario psn_scenarios[] = {
	{"psn_wrap", psn_wrap},
	{"psn_repeated", psn_repeated},
	{"lossy", lossy},
	{NULL, NULL},
};
