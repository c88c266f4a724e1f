/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "judge/watchdog.h"
#include "suites/completions/bench.h"

#define BUFFER 256 /* bytes of a receive */

int bench_create(struct bench *b, struct kit *k, struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_cq_ex *cq;

	memset(b, 0, sizeof(*b));
	b->k = k;
	b->ex = true;
	b->shared = attr->channel;
	attr->cq_context = b;
	errno = 0;
	b->channel = attr->channel ? attr->channel : ibv_create_comp_channel(ctx);
	if (!b->channel)
		return errno;
	attr->channel = b->channel;
	cq = ibv_create_cq_ex(ctx, attr);
	if (!cq)
		return errno_of_failure();
	b->cq = ibv_cq_ex_to_cq(cq);
	return 0;
}

bool bench_open(struct bench *b, struct kit *k, int cqe)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = cqe, .wc_flags = IBV_WC_STANDARD_FLAGS};

	if (kit_arg(k, "ex", 0)) {
		errno = bench_create(b, k, &attr);
	} else {
		*b = (struct bench){.k = k, .channel = ibv_create_comp_channel(k->r->dut.requester.ctx)};
		if (b->channel)
			b->cq = ibv_create_cq(k->r->dut.requester.ctx, cqe, b, b->channel, 0);
	}
	if (!KIT_MUST(k, b->cq, "creation of a CQ of %d entries failed with %s", cqe, errno_name(errno)))
		return false;
	if (b->cq->cqe < cqe)
		KIT_FAULT(k, "the CQ has %d entries, %d were asked for", b->cq->cqe, cqe);
	return KIT_GOOD(k);
}

void bench_close(struct bench *b)
{
	int ret = b->cq ? ibv_destroy_cq(b->cq) : 0;

	if (ret)
		KIT_FAULT(b->k, "ibv_destroy_cq failed with %s", errno_name(ret));
	if (b->channel && !b->shared)
		ibv_destroy_comp_channel(b->channel);
	memset(b, 0, sizeof(*b));
}

bool bench_link(struct bench *b, struct link *l, const struct link_opts *opts)
{
	struct link_opts own = opts ? *opts : (struct link_opts){0};

	if (!own.cq)
		own.cq = b->cq;
	own.recv_cq = b->cq;
	own.cq_ex = b->ex;
	own.receives = 2 * BENCH_MOST;
	return kit_link_second(b->k, l, API_POST, &own);
}

unsigned int bench_num(const struct bench *b)
{
	return b->end - b->first;
}

void bench_want(struct bench *b, const struct wc_expect *want)
{
	b->want[b->end++ % BENCH_TURN] = *want;
}

void bench_forget(struct bench *b, uint32_t qp_num)
{
	unsigned int end = b->end;

	b->end = b->first;
	for (unsigned int i = b->first; i != end; i++)
		if (b->want[i % BENCH_TURN].qp_num != qp_num)
			bench_want(b, &b->want[i % BENCH_TURN]);
}

static void want_next(struct bench *b, const struct link *l)
{
	unsigned int n = ++b->serial;

	bench_want(b, &(struct wc_expect){
			      .wr_id = 0xfeed000000000000u + n,
			      .opcode = IBV_WC_RECV,
			      .qp_num = l->qp->qp_num,
			      .check_len = true,
			      .byte_len = 1 + n * 37 % 200,
			      .with_imm = true,
			      .imm = htobe32(0x90000000u + n * 0x01000193u),
		      });
}

static int post_receive(struct link *l, uint64_t wr_id)
{
	uint8_t *buf = l->local.base + wr_id % (2 * BENCH_MOST) * BUFFER;
	struct ibv_sge sge = {arena_address(&l->local, buf), BUFFER, l->local.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	return l->opts.own_srq ? ibv_post_srq_recv(l->opts.own_srq, &wr, &bad)
			       : ibv_post_recv(l->qp, &wr, &bad);
}

/* The sends of the peer for the last `n` expected entries. */
static int post_sends(struct bench *b, struct link *l, unsigned int n, bool solicited)
{
	struct ibv_send_wr wr[BENCH_MOST], *bad;
	struct ibv_sge sge[BENCH_MOST];

	for (unsigned int i = 0; i < n; i++) {
		const struct wc_expect *want = &b->want[(b->end - n + i) % BENCH_TURN];
		bool last = i + 1 == n;

		sge[i] = (struct ibv_sge){arena_address(&l->target, l->target.base), want->byte_len,
					  l->target.mr->lkey};
		wr[i] = kit_wr(want->wr_id, IBV_WR_SEND_WITH_IMM, &sge[i]);
		wr[i].imm_data = want->imm;
		wr[i].send_flags =
			(last ? IBV_SEND_SIGNALED : 0) | (last && solicited ? IBV_SEND_SOLICITED : 0);
		wr[i].next = last ? NULL : &wr[i + 1];
	}
	end_push();
	return ibv_post_send(l->peer, wr, &bad);
}

bool bench_start(struct bench *b, struct link *l, unsigned int n, bool solicited)
{
	int ret = 0;

	log_call(&b->k->res->log, "/* the peer of QP 0x%x sends %u messages%s */", l->qp->qp_num, n,
		 solicited ? ", the last solicited" : "");
	for (unsigned int i = 0; i < n && !ret; i++) {
		want_next(b, l);
		ret = post_receive(l, b->want[(b->end - 1) % BENCH_TURN].wr_id);
	}
	if (ret)
		KIT_FAULT(b->k, "posting a receive was refused with %s", errno_name(ret));
	else if ((ret = post_sends(b, l, n, solicited)))
		KIT_FAULT(b->k, "posting at the peer was refused with %s", errno_name(ret));
	return KIT_GOOD(b->k);
}

bool bench_send(struct bench *b, struct link *l, unsigned int n, bool solicited)
{
	return bench_start(b, l, n, solicited) &&
	       kit_expect(b->k, l, l->peer_cq, l->peer, b->want[(b->end - 1) % BENCH_TURN].wr_id,
			  IBV_WC_SUCCESS);
}

bool bench_arm(struct bench *b, int solicited_only)
{
	int ret = ibv_req_notify_cq(b->cq, solicited_only);

	log_call(&b->k->res->log, "ibv_req_notify_cq(cq, %d)", solicited_only);
	return KIT_MUST(b->k, !ret, "ibv_req_notify_cq failed with %s", errno_name(ret));
}

bool bench_quiet(struct bench *b, struct link *l)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ibv_query_qp(l->qp, &attr, IBV_QP_STATE, &init);
	if (end_cq_event_ready(b->channel, 0))
		KIT_FAULT(b->k, "a completion event came before a completion");
	return KIT_GOOD(b->k);
}

bool bench_event(struct bench *b)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	if (!end_cq_event_ready(b->channel, b->k->r->dut.timeout_ms) ||
	    ibv_get_cq_event(b->channel, &cq, &context)) {
		KIT_FAULT(b->k, "no completion event came");
		return false;
	}
	ibv_ack_cq_events(cq, 1);
	if (cq != b->cq)
		KIT_FAULT(b->k, "the completion event names another CQ");
	else if (context != b)
		KIT_FAULT(b->k, "the completion event has another cq_context than the CQ");
	return KIT_GOOD(b->k);
}

bool bench_put(struct bench *b, struct link *l, unsigned int n)
{
	return !n || (bench_arm(b, 1) && bench_send(b, l, n, true) && bench_event(b));
}

/* One batch of an extended CQ. */
static int poll_batch(struct ibv_cq_ex *cq, int num, struct ibv_wc *wc)
{
	struct ibv_poll_cq_attr attr = {};
	int n = 0, ret = ibv_start_poll(cq, &attr);

	if (ret)
		return ret == ENOENT ? 0 : -ret;
	do
		read_current(cq, &wc[n++]);
	while (n < num && !(ret = ibv_next_poll(cq)));
	ibv_end_poll(cq);
	return ret && ret != ENOENT ? -ret : n;
}

static int poll_some(struct bench *b, int num, struct ibv_wc *wc)
{
	return b->ex ? poll_batch((struct ibv_cq_ex *)b->cq, num, wc) : ibv_poll_cq(b->cq, num, wc);
}

unsigned int bench_poll(struct bench *b, unsigned int most)
{
	struct ibv_wc wc[BENCH_TURN];
	int got = poll_some(b, (int)most, wc);

	if (got < 0 || (unsigned int)got > most) {
		KIT_FAULT(b->k, "polling %u entries returned %d", most, got);
		return 0;
	}
	for (int i = 0; i < got; i++)
		if (bench_num(b))
			judge_wc(&b->k->res->verdict, "requester", &b->want[b->first++ % BENCH_TURN], &wc[i]);
		else
			judge_extra_wc(&b->k->res->verdict, "requester", &wc[i]);
	return KIT_GOOD(b->k) ? (unsigned int)got : 0;
}

bool bench_take(struct bench *b, unsigned int n)
{
	struct watchdog p = watchdog(b->k->r->dut.timeout_ms);

	while (n && KIT_GOOD(b->k)) {
		unsigned int got = bench_poll(b, n);

		n -= got;
		if (!got && KIT_GOOD(b->k) && watchdog_expired(&p))
			judge_missing_wc(&b->k->res->verdict, "requester", &b->want[b->first % BENCH_TURN]);
	}
	return KIT_GOOD(b->k);
}

bool bench_empty(struct bench *b)
{
	if (bench_take(b, bench_num(b)))
		bench_poll(b, BENCH_MOST);
	return KIT_GOOD(b->k);
}
