/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Cells of ibv_post_recv() and ibv_post_srq_recv(): a list of receives, each consumed by one SEND. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "execute/collect.h"
#include "remote/remote.h"
#include "post/post.h"

struct receive {
	struct ibv_sge sge[CELL_MAX_SGE];
	struct ibv_recv_wr wr;
	uint32_t total;
};

static int plan_receive(struct link *l, const struct cell_wr *want, struct receive *recv, unsigned int index)
{
	unsigned int num = want->num_len;
	uint32_t grh = link_grh(l);

	if (want->limit == LIMIT_SGE)
		num = l->cap.max_recv_sge + want->limit_delta;
	if (num > CELL_MAX_SGE)
		return E2BIG;
	for (unsigned int i = 0; i < num; i++) {
		uint32_t len = (want->limit == LIMIT_SGE ? want->len[0] : want->len[i]) + (i ? 0 : grh);
		uint8_t *at = arena_take(&l->recv, len);

		if (!at)
			return E2BIG;
		recv->sge[i] = (struct ibv_sge){(uintptr_t)at, len, l->recv.mr->lkey};
		recv->total += len;
	}
	recv->wr = (struct ibv_recv_wr){
		.wr_id = 0xf00d0000u + index, .sg_list = num ? recv->sge : NULL, .num_sge = num};
	return 0;
}

static const char *post_call(const struct link *l)
{
	return l->srq ? "ibv_post_srq_recv(srq, recv_wr, &bad_recv_wr)"
		      : "ibv_post_recv(peer, recv_wr, &bad_recv_wr)";
}

static void log_receive(struct log *log, const struct receive *recv, unsigned int index, unsigned int sges)
{
	const struct log_list list = {"recv_sg_list", "recv_addr", "recv_lkey", sges};
	char next[32] = "NULL";

	if (recv->wr.next)
		snprintf(next, sizeof(next), "&recv_wr[%u]", index + 1);
	log_sges(log, &list, recv->sge, recv->wr.num_sge);
	log_call(log,
		 "recv_wr[%u] = (struct ibv_recv_wr){.wr_id = 0x%llx, .next = %s, .sg_list = "
		 "&recv_sg_list[%u], "
		 ".num_sge = %d /* %u bytes */}",
		 index, (unsigned long long)recv->wr.wr_id, next, sges, recv->wr.num_sge, recv->total);
}

static int post_receives(struct link *l, const struct cell *cell, struct receive *recv, struct result *res,
			 int *bad_index)
{
	struct ibv_recv_wr *bad = NULL;
	unsigned int sges = 0;
	int ret;

	for (unsigned int i = 0; i < cell->num_wr; i++) {
		recv[i].wr.next = i + 1 < cell->num_wr ? &recv[i + 1].wr : NULL;
		log_receive(&res->log, &recv[i], i, sges);
		sges += recv[i].wr.num_sge;
	}
	log_call(&res->log, "%s", post_call(l));
	ret = link_post_recv(l, &recv[0].wr, &bad);
	*bad_index = ret ? (int)cell->num_wr : -1;
	for (unsigned int i = 0; i < cell->num_wr && ret; i++)
		if (bad == &recv[i].wr)
			*bad_index = i;
	return ret;
}

/* Scatters the message over the SGEs of the receive; the first 40 bytes of a UD receive are the GRH. */
static void expect_scatter(struct link *l, const struct receive *recv, const struct plan *plan)
{
	const uint8_t *from = plan->payload;
	uint32_t left = plan->total;

	for (int i = 0; i < recv->wr.num_sge; i++) {
		uint32_t skip = i ? 0 : link_grh(l), len = recv->sge[i].length - skip;
		uint8_t *at = (uint8_t *)(uintptr_t)recv->sge[i].addr;

		if (len > left)
			len = left;
		memcpy(arena_shadow(&l->recv, at) + skip, from, len);
		from += len;
		left -= len;
	}
}

static void send_one(struct runner *r, struct receive *recv, struct result *res)
{
	struct link *l = &r->link;
	uint32_t len = recv->wr.num_sge ? recv->total - link_grh(l) : 0;
	struct cell_wr wr = {
		.op = IBV_WR_SEND,
		.data_of = -1,
		.data = DATA_SGE,
		.num_len = 1,
		.len = {len},
		.flags = IBV_SEND_SIGNALED,
		.qp_setter = link_setter(l),
		.effect = EFFECT_SEND,
		.wc = IBV_WC_SEND,
		.recv = -1,
	};
	struct expect requester = {0}, responder = {.num = 1};
	struct posted posted;
	struct plan plan;
	int ret = plan_wr(&plan, l, &wr, 0, r->seed);

	if (ret) {
		fault(&res->verdict, "the SEND for it does not fit: %s", errno_name(ret));
		return;
	}
	posted = post_list(l, &plan, 1, &res->log);
	if (posted.rc) {
		fault(&res->verdict, "the SEND for it was refused with %s", errno_name(posted.rc));
		return;
	}
	plan_execute(&plan, l, &requester, &responder);
	expect_scatter(l, recv, &plan);
	responder.wc[0] = (struct wc_expect){
		.wr_id = recv->wr.wr_id,
		.opcode = IBV_WC_RECV,
		.qp_num = l->peer->qp_num,
		.frame = l->qpt == IBV_QPT_RAW_PACKET,
		.check_len = true,
		.byte_len = len + link_grh(l),
		.check_src = l->qpt == IBV_QPT_UD,
		.src_qp = l->qp->qp_num,
		.with_grh = l->qpt == IBV_QPT_UD &&
			    l->dut->responder.port_attr.link_layer == IBV_LINK_LAYER_ETHERNET,
	};
	collect(l, &requester, &responder, res);
	if (recv->wr.num_sge) {
		end_sync();
		uint8_t *at = (uint8_t *)(uintptr_t)recv->sge[0].addr;

		memcpy(arena_shadow(&l->recv, at), at, link_grh(l));
	}
}

static void run_receives(struct runner *r, const struct cell *cell, struct receive *recv, struct result *res)
{
	int bad, ret = post_receives(&r->link, cell, recv, res, &bad);
	unsigned int posted = ret ? (unsigned int)bad : cell->num_wr;

	res->err = ret;
	seen(res, ret ? "refused with %s at work request %d; " : "accepted; ", errno_name(ret), bad);
	judge_post(&res->verdict, cell, ret, bad, r->dut.refusal.invalid);
	for (unsigned int i = 0; i < posted && i < cell->num_wr && !res->verdict.num; i++)
		send_one(r, &recv[i], res);
	if (!res->verdict.num && cell->num_wr < CELL_MAX_WR) { /* the receive queue still works */
		struct receive *more = &recv[cell->num_wr];
		const struct cell_wr plain = {.data_of = -1, .num_len = 1, .len = {64}};
		struct ibv_recv_wr *bad_wr;

		ret = plan_receive(&r->link, &plain, more, cell->num_wr);
		log_receive(&res->log, more, 0, 0);
		log_call(&res->log, "%s", post_call(&r->link));
		if (!ret)
			ret = link_post_recv(&r->link, &more->wr, &bad_wr);
		if (ret)
			fault(&res->verdict, "a following receive was refused with %s", errno_name(ret));
		else
			send_one(r, more, res);
	}
	if (!res->verdict.num)
		collect_memory(&r->link, r->link.next_use, res);
	collect_extra(&r->link, res);
}

void run_recv_cell(struct runner *r, const struct cell *cell, struct result *res)
{
	static struct receive recv[CELL_MAX_WR];
	struct link *l = &r->link;
	int ret;

	memset(recv, 0, sizeof(recv));
	link_destroy(l);
	ret = link_create(l, &r->dut, cell, &res->log);
	for (unsigned int i = 0; i < cell->num_wr && !ret; i++) {
		l->step = "buffers of the cell";
		ret = plan_receive(l, &cell->wr[i], &recv[i], i);
	}
	if (ret) {
		res->err = ret;
		seen(res, "%s failed with %s", l->step, errno_name(ret));
		fault(&res->verdict, "%s failed with %s", l->step, errno_name(ret));
	} else {
		run_receives(r, cell, recv, res);
	}
	link_destroy(l);
}
