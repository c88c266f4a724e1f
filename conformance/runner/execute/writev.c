/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Cells of rdma_post_writev(). */
#include <errno.h>
#include <string.h>

#include <rdma/rdma_verbs.h>

#include "link/cm.h"
#include "execute/collect.h"
#include "remote/remote.h"
#include "execute/writev.h"

int writev_lend(struct link *l, struct cm *cm, const struct dut *dut, enum api api)
{
	int ret;

	memset(l, 0, sizeof(*l));
	l->dut = dut;
	l->api = api;
	l->qpt = IBV_QPT_RC;
	l->qp = cm->client->qp;
	l->peer = cm->peer;
	l->cq = cm->client->send_cq;
	l->peer_cq = cm->peer_cq;
	l->cap = cm->cap;
	l->step = "ibv_reg_mr";
	ret = arena_create(&l->local, "memory of the requester", cm->client->pd, 65536,
			   IBV_ACCESS_LOCAL_WRITE);
	if (!ret)
		ret = arena_create(&l->target, "RDMA memory of the responder", cm->peer_pd, 65536,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return ret;
}

static int write_one(struct link *l, struct rdma_cm_id *id, struct plan *p, struct log *log)
{
	int flags = p->wr->flags | (plan_is_inline(p) ? IBV_SEND_INLINE : 0);
	char names[128];

	log_sges(log, &(struct log_list){"sg_list", "addr", "lkey", 0}, p->sge, p->num_sge);
	log_call(log, "rdma_post_writev(id, context, sg_list, %u /* %u bytes */, %s, remote_addr, rkey)",
		 p->num_sge, p->total, flags_name(send_flag_names, "IBV_SEND_", flags, names, sizeof(names)));
	end_push();
	errno = 0;
	return rdma_post_writev(id, (void *)(uintptr_t)p->wr_id, p->sge, p->num_sge, flags,
				(uintptr_t)p->target, l->target.mr->rkey);
}

static void judge_return(const struct cell *cell, int ret, int invalid, struct result *res)
{
	res->err = ret ? errno : 0;
	seen(res, ret ? "returned %d, errno %s; " : "returned %d; ", ret, errno_name(res->err));
	judge_post(&res->verdict, cell, ret ? res->err : 0, -1, invalid);
	if (ret && (ret != -1 || !res->err))
		fault(&res->verdict, "returned %d with errno %d, must be -1 with errno set", ret, res->err);
}

static void run_write(struct runner *r, struct link *l, struct cm *cm, const struct cell *cell,
		      struct result *res)
{
	static const struct cell_wr follow = {.op = IBV_WR_RDMA_WRITE,
					      .data_of = -1,
					      .data = DATA_SGE,
					      .num_len = 1,
					      .len = {64},
					      .flags = IBV_SEND_SIGNALED,
					      .effect = EFFECT_WRITE,
					      .wc = IBV_WC_RDMA_WRITE,
					      .recv = -1};
	struct expect requester = {0}, responder = {0};
	struct plan plan, after;
	int ret = plan_wr(&plan, l, &cell->wr[0], 0, r->seed);

	if (!ret)
		ret = plan_wr(&after, l, &follow, 1, r->seed);
	if (ret) {
		fault(&res->verdict, "buffers of the cell: %s", errno_name(ret));
		return;
	}
	ret = write_one(l, cm->client, &plan, &res->log);
	judge_return(cell, ret, r->dut.refusal.invalid, res);
	if (!ret)
		plan_execute(&plan, l, &requester, &responder);
	plan_scribble(&plan, l);
	ret = write_one(l, cm->client, &after, &res->log);
	if (ret)
		fault(&res->verdict, "the QP is not usable afterwards: a write returned %d", ret);
	else
		plan_execute(&after, l, &requester, &responder);
	if (!res->verdict.num)
		collect(l, &requester, &responder, res);
	arena_judge(&res->verdict, &l->local);
	arena_judge(&res->verdict, &l->target);
	collect_extra(l, res);
}

void run_writev_cell(struct runner *r, const struct cell *cell, struct result *res)
{
	struct link l = {0};
	struct cm cm;
	int ret = cm_open(&cm, &r->dut, cell->ask_sge, cell->ask_inline, &res->log);
	const char *step = cm.step;

	if (!ret) {
		ret = writev_lend(&l, &cm, &r->dut, cell->api);
		step = l.step;
	}
	if (ret) {
		res->err = ret;
		seen(res, "%s failed with %s", step, errno_name(ret));
		fault(&res->verdict, "%s failed with %s", step, errno_name(ret));
	} else {
		run_write(r, &l, &cm, cell, res);
	}
	arena_destroy(&l.local);
	arena_destroy(&l.target);
	cm_close(&cm);
}
