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
	if (KIT_GOOD(k))
		collect_received(k->l, first_use, k->res);
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

SCENARIO(psn_wrap) = {
	{"wrap-{short}", SUITE("psn"), QPS("RC UC XRC_SEND"), POSTS("4 x {op} 2500"),
	 OPS("SEND RDMA_WRITE RDMA_WRITE_WITH_IMM RDMA_READ"), ARGS({"psn", 0xfffffe}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/sq_psn"), ERRATA("PSN-WRAP"),
	 SAYS("requests of several packets that begin one before the last PSN are executed, and later "
	      "ones, too")},
	{"wrap-atomic_fetch_add", QPS("RC XRC_SEND"), POSTS("4 x ATOMIC_FETCH_AND_ADD"),
	 ARGS({"psn", 0xfffffe})},
	{"wrap-mixed",
	 POSTS("RDMA_READ 2500, RDMA_WRITE 2500, ATOMIC_FETCH_AND_ADD, SEND 2500, ATOMIC_CMP_AND_SWP, "
	       "RDMA_WRITE_WITH_IMM 2500, SEND_WITH_IMM 2500, RDMA_READ 2500, RDMA_WRITE 2500"),
	 ARGS({"psn", 0xfffffe})},
	{"wrap-mixed", QPS("UC"),
	 POSTS("RDMA_WRITE 2500, SEND 2500, RDMA_WRITE_WITH_IMM 2500, SEND_WITH_IMM 2500, RDMA_WRITE "
	       "2500, SEND 2500, RDMA_WRITE_WITH_IMM 2500, SEND_WITH_IMM 2500, RDMA_WRITE 2500"),
	 ARGS({"psn", 0xfffffe})},
	{},
};

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

SCENARIO(psn_repeated) = {
	{"repeated-{short}", SUITE("psn"), QPS("RC XRC_SEND"), POSTS("2 x {op} 600"),
	 OPS("SEND RDMA_WRITE RDMA_WRITE_WITH_IMM RDMA_READ"),
	 FORMS({"", {{"psn", 0x123456}}}, {"-wrap", {{"psn", 0xffffff}}}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/rq_psn"), ERRATA("PSN-REPEATED XRC_SEND/XRC-ATTRIBUTES"),
	 SAYS("requests with the PSNs of others that were executed complete, and nothing is executed; "
	      "READs and atomics bring what they brought before")},
	{"repeated-atomic_fetch_add", POSTS("2 x ATOMIC_FETCH_AND_ADD"),
	 FORMS({"", {{"psn", 0x123456}}}, {"-wrap", {{"psn", 0xffffff}}})},
	{},
};

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

SCENARIO(lossy) = {
	{"loss", SUITE("lossy"), QPS("RC XRC_SEND"),
	 POSTS("RDMA_READ 600, RDMA_WRITE 600, ATOMIC_FETCH_AND_ADD, SEND 600, ATOMIC_CMP_AND_SWP, "
	       "RDMA_WRITE_WITH_IMM 600, SEND_WITH_IMM 600, RDMA_READ 600, RDMA_WRITE 600"),
	 ARGS({"rounds", 30}), CLAUSE("ibv_modify_qp/DESCRIPTION/retry_cnt"),
	 ERRATA("RELIABLE COMPLETION-ORDER XRC_SEND/XRC-ATTRIBUTES"), WIRE("loss=0.05"),
	 SAYS("on a wire with loss=0.05 each request is executed once, all complete in order")},
	{"loss-stream",
	 POSTS("SEND 600, RDMA_WRITE 600, RDMA_WRITE_WITH_IMM 600, SEND 600, RDMA_WRITE 600, "
	       "RDMA_WRITE_WITH_IMM 600, SEND 600, RDMA_WRITE 600, RDMA_WRITE_WITH_IMM 600"),
	 ARGS({"rounds", 30})},
	{"doubled",
	 POSTS("RDMA_READ 600, RDMA_WRITE 600, ATOMIC_FETCH_AND_ADD, SEND 600, ATOMIC_CMP_AND_SWP, "
	       "RDMA_WRITE_WITH_IMM 600, SEND_WITH_IMM 600, RDMA_READ 600, RDMA_WRITE 600"),
	 ARGS({"rounds", 30}), WIRE("dup=1"),
	 SAYS("on a wire with dup=1 each request is executed once, all complete in order")},
	{"doubled-stream",
	 POSTS("SEND 600, RDMA_WRITE 600, RDMA_WRITE_WITH_IMM 600, SEND 600, RDMA_WRITE 600, "
	       "RDMA_WRITE_WITH_IMM 600, SEND 600, RDMA_WRITE 600, RDMA_WRITE_WITH_IMM 600"),
	 ARGS({"rounds", 30})},
	{"reordered",
	 POSTS("RDMA_READ 600, RDMA_WRITE 600, ATOMIC_FETCH_AND_ADD, SEND 600, ATOMIC_CMP_AND_SWP, "
	       "RDMA_WRITE_WITH_IMM 600, SEND_WITH_IMM 600, RDMA_READ 600, RDMA_WRITE 600"),
	 ARGS({"rounds", 30}), WIRE("reorder=0.2"),
	 SAYS("on a wire with reorder=0.2 each request is executed once, all complete in order")},
	{"reordered-stream",
	 POSTS("SEND 600, RDMA_WRITE 600, RDMA_WRITE_WITH_IMM 600, SEND 600, RDMA_WRITE 600, "
	       "RDMA_WRITE_WITH_IMM 600, SEND 600, RDMA_WRITE 600, RDMA_WRITE_WITH_IMM 600"),
	 ARGS({"rounds", 30})},
	{"all",
	 POSTS("RDMA_READ 600, RDMA_WRITE 600, ATOMIC_FETCH_AND_ADD, SEND 600, ATOMIC_CMP_AND_SWP, "
	       "RDMA_WRITE_WITH_IMM 600, SEND_WITH_IMM 600, RDMA_READ 600, RDMA_WRITE 600"),
	 ARGS({"rounds", 30}), WIRE("loss=0.03,dup=0.3,reorder=0.1"),
	 SAYS("on a wire with loss=0.03,dup=0.3,reorder=0.1 each request is executed once, all "
	      "complete in order")},
	{"all-stream",
	 POSTS("SEND 600, RDMA_WRITE 600, RDMA_WRITE_WITH_IMM 600, SEND 600, RDMA_WRITE 600, "
	       "RDMA_WRITE_WITH_IMM 600, SEND 600, RDMA_WRITE 600, RDMA_WRITE_WITH_IMM 600"),
	 ARGS({"rounds", 30})},
	{"loss-long", QPS("RC"),
	 POSTS("RDMA_READ 2500+, RDMA_WRITE 3000+ unsignaled, ATOMIC_FETCH_AND_ADD 8+, SEND 600+ of 0 "
	       "fence, SEND_WITH_IMM 2500+, RDMA_READ 3100+ unsignaled, ATOMIC_CMP_AND_SWP 8+, "
	       "RDMA_WRITE_WITH_IMM 1500+ unsignaled, RDMA_WRITE 600+ of 5 fence, RDMA_READ 1+, SEND "
	       "600+ of 6 fence, SEND 1025+"),
	 ARGS({"rounds", 15}, {"psn", 0xffff9b}), ERRATA("RELIABLE COMPLETION-ORDER"), WIRE("loss=0.05"),
	 SAYS("on a wire with loss=0.05 messages of several packets and fenced requests are executed "
	      "once, in order")},
	{"doubled-long", ARGS({"rounds", 15}, {"psn", 0xffff9b}), WIRE("dup=1"),
	 SAYS("on a wire with dup=1 messages of several packets and fenced requests are executed once, "
	      "in order")},
	{"reordered-long", ARGS({"rounds", 15}, {"psn", 0xffff9b}), WIRE("reorder=0.2"),
	 SAYS("on a wire with reorder=0.2 messages of several packets and fenced requests are executed "
	      "once, in order")},
	{"all-long", ARGS({"rounds", 15}, {"psn", 0xffff9b}), WIRE("loss=0.03,dup=0.3,reorder=0.1"),
	 SAYS("on a wire with loss=0.03,dup=0.3,reorder=0.1 messages of several packets and fenced "
	      "requests are executed once, in order")},
	{},
};
