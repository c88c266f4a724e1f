/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Full queues, and the states in which a QP accepts work. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "post/journal.h"
#include "link/link_modify.h"
#include "remote/remote.h"
#include "suites/kit.h"

#define MOST 4000 /* most requests to try: more than any queue of the requested small size holds */

/* Posts requests like the first of the cell until one is refused. */
static unsigned int fill_sq(struct kit *k, const struct plan *plan, int *rc, bool *named)
{
	struct ibv_send_wr wr, *bad = NULL;
	unsigned int taken = 0;

	post_fill(&wr, k->l, (struct plan *)plan);
	for (*rc = 0; !*rc && taken < MOST; taken += !*rc) {
		wr.wr_id = taken;
		*rc = ibv_post_send(k->l->qp, &wr, &bad);
	}
	*named = *rc && bad == &wr;
	log_call(&k->res->log, "ibv_post_send(qp, wr, &bad_wr) /* a signalled IBV_WR_%s, %u times */",
		 value_name(op_names, wr.opcode), taken + 1);
	return taken;
}

static void sq_full(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	const struct link_opts opts = {.sq_depth = kit_arg(k, "depth", 16), .cq_depth = MOST};
	unsigned int taken, more;
	bool named;
	int rc;

	if (!kit_link(k, API_POST, &opts) || !kit_plan(k, plans))
		return;
	taken = fill_sq(k, &plans[0], &rc, &named);
	seen(k->res, "%u requests were taken, %u are granted; ", taken, k->l->cap.max_send_wr);
	k->res->err = rc;
	KIT_CHECK(k, taken >= k->l->cap.max_send_wr, "request %u was refused with %s, %u are granted", taken,
		  errno_name(rc), k->l->cap.max_send_wr);
	KIT_CHECK(k, rc, "%d requests were taken and none was polled: the queue has no end", MOST);
	KIT_CHECK(k, rc > 0, "ibv_post_send returned %d, which is no value of errno", rc);
	KIT_CHECK(k, named, "bad_wr does not name the refused request");
	judge_errno(&k->res->verdict, rc, k->r->dut.refusal.full);
	for (unsigned int i = 0; i < taken; i++)
		if (!kit_expect(k, k->l, k->l->cq, k->l->qp, i, IBV_WC_SUCCESS))
			return;
	kit_expect_none(k, k->l, k->l->cq);
	more = fill_sq(k, &plans[0], &rc, &named);
	KIT_CHECK(k, more == taken, "after polling all, %u requests were taken, before it %u", more, taken);
}

SCENARIO(sq_full) = {
	{"send-queue", SUITE("full"), QPS("RC UC XRC_SEND"), POSTS("RDMA_WRITE 64"),
	 CLAUSE("ibv_create_qp/DESCRIPTION/max_send_wr"), ERRATA("QUEUE-FULL"),
	 SAYS("as many requests as were granted are taken while none was polled, a later one is "
	      "refused and named by bad_wr; all that were taken are executed, and then there is room "
	      "for as many again")},
	{"send-queue", QPS("UD RAW_PACKET"), POSTS("SEND 64")},
	{"deep", QPS("RC"), POSTS("RDMA_WRITE 40+"), ARGS({"depth", 300}),
	 ERRATA("QUEUE-FULL POST-ERRNO QP-RECYCLE"),
	 SAYS("hundreds of requests in a send queue are carried out, signaled or not")},
	{},
};

/* Posts `num` requests like the first of the cell, the last one signaled if so. 0 or an errno. */
static int post_quiet(struct kit *k, const struct plan *plan, unsigned int num, bool signaled)
{
	struct ibv_send_wr wr, *bad;
	int rc = 0;

	post_fill(&wr, k->l, (struct plan *)plan);
	for (unsigned int i = 0; i < num && !rc; i++) {
		wr.wr_id = i;
		wr.send_flags = signaled && i + 1 == num ? IBV_SEND_SIGNALED : 0;
		rc = ibv_post_send(k->l->qp, &wr, &bad);
	}
	log_call(&k->res->log, "ibv_post_send(qp, wr, &bad_wr) /* %u times, %s signaled */", num,
		 signaled ? "the last" : "none");
	return rc;
}

#define SHORT 64 /* requests of a queue whose places are all used in advance */

/* Each place of the ring has had a signaled request: nothing of it may be left there. */
static bool all_signaled(struct kit *k, const struct plan *plan, unsigned int num)
{
	for (unsigned int i = 0; i < num; i++) {
		int rc = post_quiet(k, plan, 1, true);

		if (rc)
			KIT_FAULT(k, "a request was refused with %s", errno_name(rc));
		if (rc || !kit_expect(k, k->l, k->l->cq, k->l->qp, 0, IBV_WC_SUCCESS))
			return false;
	}
	return true;
}

/* Requests without a completion: one at the end tells that all have ended; without it the queue stays full. */
static void sq_unsignaled(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	const struct link_opts opts = {.sq_depth = kit_arg(k, "depth", 16), .cq_depth = MOST};
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	unsigned int granted;
	int rc;

	if (!kit_link(k, API_POST, &opts) || !kit_plan(k, plans))
		return;
	granted = k->l->cap.max_send_wr;
	if (granted < SHORT && !all_signaled(k, &plans[0], 4 * granted))
		return;
	for (int turn = 0; turn < 3; turn++) {
		rc = post_quiet(k, &plans[0], granted, true);
		KIT_CHECK(k, !rc, "%u requests are granted, one of them was refused with %s", granted,
			  errno_name(rc));
		if (!kit_expect(k, k->l, k->l->cq, k->l->qp, granted - 1, IBV_WC_SUCCESS))
			return;
		kit_expect_none(k, k->l, k->l->cq);
	}
	rc = post_quiet(k, &plans[0], MOST, false);
	k->res->err = rc;
	KIT_CHECK(k, rc, "%d requests were taken and none was completed: the queue has no end", MOST);
	rc = ibv_modify_qp(k->l->qp, &reset, IBV_QP_STATE);
	rc = rc ? rc : link_restart(k->l);
	KIT_CHECK(k, !rc, "RESET and back to RTS failed with %s", errno_name(rc));
	kit_expect_none(k, k->l, k->l->cq);
	rc = post_quiet(k, &plans[0], granted - 1, false);
	KIT_CHECK(k, !rc, "after RESET a request was refused with %s, %u are granted", errno_name(rc),
		  granted);
}

SCENARIO(sq_unsignaled) = {
	{"unsignaled", SUITE("full"), QPS("RC UC XRC_SEND"), POSTS("RDMA_WRITE 40+ unsignaled"),
	 CLAUSE("ibv_create_qp/DESCRIPTION/max_send_wr"), ERRATA("QUEUE-FULL POST-ERRNO QP-RECYCLE"),
	 SAYS("a queue full of unsignaled requests with a signaled one at its end is carried out, and "
	      "has room for as many again; without a signaled one the next request is refused, and "
	      "RESET makes room")},
	{"unsignaled", QPS("UD"), POSTS("SEND 40+ unsignaled")},
	{"deep-unsignaled", QPS("RC"), POSTS("RDMA_WRITE 40+ unsignaled"), ARGS({"depth", 300}),
	 SAYS("hundreds of requests in a send queue are carried out, signaled or not")},
	{},
};

#define LAP   8   /* requests of a list, which one doorbell announces */
#define LAPS  930 /* x 8 requests of 30 SGEs: more than 65536 basic blocks of 64 bytes */
#define PARTS 30

/* WRITEs of one byte, by one of 30 SGEs; each request has a byte and a place of its own. */
static int post_lap(struct kit *k, const struct plan *plan, unsigned int lap)
{
	struct link *l = k->l;
	uint8_t *from = l->local.base;
	struct ibv_send_wr wr[LAP], *bad;
	struct ibv_sge sge[LAP][PARTS];

	for (unsigned int i = 0; i < LAP; i++) {
		from[i] = (uint8_t)(lap * 31 + i);
		for (unsigned int n = 0; n < PARTS; n++)
			sge[i][n] =
				(struct ibv_sge){(uintptr_t)&from[i], n == lap % PARTS, l->local.mr->lkey};
		post_fill(&wr[i], l, (struct plan *)plan);
		wr[i].wr_id = lap * LAP + i;
		wr[i].sg_list = sge[i];
		wr[i].num_sge = PARTS;
		wr[i].wr.rdma.remote_addr = (uintptr_t)l->target.base + i;
		wr[i].wr.rdma.rkey = l->target.mr->rkey;
		wr[i].send_flags = i + 1 == LAP ? IBV_SEND_SIGNALED : 0;
		wr[i].next = i + 1 == LAP ? NULL : &wr[i + 1];
	}
	return ibv_post_send(l->qp, wr, &bad);
}

/* Producer and consumer indices of 16 bits wrap, whatever they count. */
static void sq_lapped(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	const struct link_opts opts = {.sq_depth = 4 * LAP};
	struct cell cell = *k->cell;
	struct kit there = {.r = k->r, .cell = &cell, .res = k->res, .l = k->l};
	struct link *l = k->l;

	cell.ask_sge = PARTS;
	if (!kit_link(&there, API_POST, &opts) || !kit_plan(k, plans))
		return;
	log_call(&k->res->log, "ibv_post_send(qp, wr, &bad_wr) /* %d lists of %d WRITEs of %d SGEs */", LAPS,
		 LAP, PARTS);
	for (unsigned int lap = 0; lap < LAPS && KIT_GOOD(k); lap++) {
		int rc = post_lap(k, &plans[0], lap);

		KIT_CHECK(k, !rc, "list %u was refused with %s", lap, errno_name(rc));
		if (!rc)
			kit_expect(k, l, l->cq, l->qp, lap * LAP + LAP - 1, IBV_WC_SUCCESS);
		if (lap % 100 && lap + 1 < LAPS)
			continue;
		end_sync();
		KIT_CHECK(k, !memcmp(l->target.base, l->local.base, LAP), "the bytes of list %u are wrong",
			  lap);
	}
	kit_expect_none(k, l, l->cq);
}

SCENARIO(sq_lapped) = {
	{"lapped", SUITE("ring"), QPS("RC"), POSTS("RDMA_WRITE 64+"),
	 CLAUSE("ibv_post_send/DESCRIPTION/state"),
	 SAYS("lists of requests with 30 SGEs each are carried out until more than 65,536 blocks of 64 "
	      "bytes were used")},
	{},
};

#define QUEUES 4

/* Posts each request of the cell in turn to all queues. */
static void post_in_turn(struct kit *k, struct link *l, struct plan (*plans)[CELL_MAX_WR])
{
	for (unsigned int i = 0; i < k->cell->num_wr; i++)
		for (unsigned int q = 0; q < QUEUES; q++) {
			/* one by one on some, in twos on others */
			unsigned int num = q & 1 ? 1 : i & 1 ? 0 : 2;
			struct posted posted = {0};

			if (num && i + num <= k->cell->num_wr)
				posted = post_list(&l[q], &plans[q][i], num, &k->res->log);
			KIT_CHECK(k, !posted.rc, "posting to QP %u of %d was refused with %s", q, QUEUES,
				  errno_name(posted.rc));
		}
}

static bool plan_queue(struct kit *k, struct link *l, struct plan *plans, unsigned int number)
{
	int ret = 0;

	for (unsigned int i = 0; i < k->cell->num_wr && !ret; i++)
		ret = plan_wr(&plans[i], l, &k->cell->wr[i], i, k->r->seed + number);
	if (!ret)
		ret = link_fill_recv(l);
	return KIT_MUST(k, !ret, "buffers of the case: %s", errno_name(ret));
}

static void judge_queue(struct kit *k, struct link *l, struct plan *plans)
{
	struct expect requester = {0}, responder = {0};

	for (unsigned int i = 0; i < k->cell->num_wr; i++)
		plan_execute(&plans[i], l, &requester, &responder);
	collect(l, &requester, &responder, k->res);
	collect_extra(l, k->res);
	if (KIT_GOOD(k))
		collect_received(l, 0, k->res);
	if (KIT_GOOD(k) && l->qpt == IBV_QPT_UC)
		kit_alive(k, l); /* a WRITE completes before its data is visible: this SEND follows it */
	if (KIT_GOOD(k))
		collect_memory(l, 0, k->res);
}

/* Several QPs of one context: their doorbells come in turn. */
static void interleaved(struct kit *k)
{
	static struct plan plans[QUEUES][CELL_MAX_WR];
	struct link l[QUEUES] = {0};
	unsigned int q;

	for (q = 0; q < QUEUES && kit_link_second(k, &l[q], API_POST, NULL); q++)
		if (!plan_queue(k, &l[q], plans[q], q))
			break;
	if (q == QUEUES)
		post_in_turn(k, l, plans);
	for (q = 0; q < QUEUES && KIT_GOOD(k); q++)
		judge_queue(k, &l[q], plans[q]);
}

SCENARIO(interleaved) = {
	{"several-qps", SUITE("ring"), QPS("RC"),
	 POSTS("RDMA_WRITE inline 100, SEND 900, SEND_WITH_IMM inline 12, RDMA_READ 17+1+90, RDMA_WRITE "
	       "inline 1+40+60, SEND inline 100, SEND_WITH_IMM 900, RDMA_READ 150+, RDMA_WRITE 17+1+90, "
	       "SEND inline 1+40+60"),
	 CLAUSE("ibv_post_send/DESCRIPTION/state"), NARROW,
	 SAYS("requests that are posted in turn to four QPs of one context are executed, each on its "
	      "own QP")},
	{"several-qps", QPS("UD"),
	 POSTS("SEND inline 100, SEND_WITH_IMM 900, SEND inline 12, SEND_WITH_IMM 17+1+90, SEND inline "
	       "1+40+60, SEND_WITH_IMM inline 100, SEND 900, SEND_WITH_IMM inline 12, SEND 17+1+90, "
	       "SEND_WITH_IMM inline 1+40+60"),
	 NARROW},
	{"several-qps", QPS("UC"),
	 POSTS("RDMA_WRITE inline 100, SEND 900, SEND_WITH_IMM inline 12, RDMA_WRITE 17+1+90, SEND "
	       "inline 1+40+60, SEND_WITH_IMM inline 100, RDMA_WRITE 900, SEND inline 12, SEND_WITH_IMM "
	       "17+1+90, RDMA_WRITE inline 1+40+60")},
	{"several-qps", QPS("XRC_SEND"),
	 POSTS("RDMA_WRITE inline 100, SEND 900, SEND_WITH_IMM inline 12, RDMA_READ 17+1+90, RDMA_WRITE "
	       "inline 1+40+60, SEND inline 100, SEND_WITH_IMM 900, RDMA_READ 150+, RDMA_WRITE 17+1+90, "
	       "SEND inline 1+40+60")},
	{},
};

/*
 * The longest datagram of the port arrives. Of one that is a byte longer nothing does, and whether its completion tells so
 * is left open (IBTA C10-93.1.1).
 */
static void datagram_too_long(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	uint32_t most = 128u << k->r->dut.requester.port_attr.active_mtu;
	struct link *l = k->l;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	uint8_t *at;
	int rc;

	if (!kit_link(k, API_POST, NULL) || !kit_plan(k, plans))
		return;
	at = arena_take(&l->local, most + 1);
	arena_fill(&l->local, at, most + 1, k->r->seed + 1);
	kit_list(k, plans, 1, &wr);
	plans[0].sge[0] = (struct ibv_sge){(uintptr_t)at, most, l->local.mr->lkey};
	rc = kit_post(k, l->qp, l->peer, &wr, NULL);
	KIT_CHECK(k, !rc, "posting %u bytes was refused with %s", most, errno_name(rc));
	if (!kit_expect(k, l, l->cq, l->qp, wr.wr_id, IBV_WC_SUCCESS) || !kit_wait(k, l, l->peer_cq, &wc))
		return;
	end_sync();
	KIT_CHECK(k, wc.byte_len == LINK_GRH_LEN + most, "byte_len is %u, expected %u", wc.byte_len,
		  LINK_GRH_LEN + most);
	KIT_CHECK(k, !memcmp(l->slot[0] + LINK_GRH_LEN, at, most),
		  "the longest datagram arrived with other bytes");
	plans[0].sge[0].length = most + 1;
	rc = kit_post(k, l->qp, l->peer, &wr, NULL);
	KIT_CHECK(k, !rc, "posting %u bytes was refused with %s", most + 1, errno_name(rc));
	if (!kit_wait(k, l, l->cq, &wc))
		return;
	KIT_CHECK(k, wc.status == IBV_WC_SUCCESS || wc.status == k->cell->status,
		  "a datagram that is too long completed with %s", value_name(status_names, wc.status));
	kit_expect_none(k, l, l->peer_cq);
}

SCENARIO(datagram_too_long) = {
	{"longest", SUITE("mtu"), QPS("UD"), POSTS("SEND 64+"), CLAUSE("ibv_poll_cq/DESCRIPTION/error"),
	 LEVEL("SHOULD"), ERRATA("FAILURE-STATUS SQ-ERROR-STATE"), STATUS("LOC_LEN_ERR"),
	 SAYS("a datagram of the port's MTU arrives; nothing of one that is a byte longer does, which "
	      "completes with success or IBV_WC_LOC_LEN_ERR")},
	{},
};

/* A region of `num` RDMA WRITEs like the first of the cell. */
static int write_region(struct kit *k, const struct plan *plan, unsigned int num)
{
	struct link *l = k->l;

	log_call(&k->res->log, "ibv_wr_start(qpx); /* %u RDMA WRITEs */ ibv_wr_complete(qpx)", num);
	ibv_wr_start(l->qpx);
	for (unsigned int i = 0; i < num; i++) {
		l->qpx->wr_id = i;
		l->qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(l->qpx, l->target.mr->rkey, (uintptr_t)plan->target);
		if (l->qpt == IBV_QPT_XRC_SEND)
			ibv_wr_set_xrc_srqn(l->qpx, l->srqn);
		ibv_wr_set_sge(l->qpx, plan->sge[0].lkey, plan->sge[0].addr, plan->sge[0].length);
	}
	return ibv_wr_complete(l->qpx);
}

/* What the checks of the wire read: the requests of a region that was taken. */
static void journal_region(struct kit *k, struct plan *plan, unsigned int num)
{
	static struct ibv_send_wr wr[MOST];

	for (unsigned int i = 0; i < num; i++) {
		post_fill(&wr[i], k->l, plan);
		wr[i].wr_id = i;
		wr[i].next = i + 1 < num ? &wr[i + 1] : NULL;
	}
	journal_list(&k->res->log, k->l->qp, k->l->peer, wr, 0, NULL);
}

/* Regions that fill the queue: when all requests of one have completed, there is room for the next. */
static void whole_regions(struct kit *k, struct plan *plan)
{
	const unsigned int num = k->l->cap.max_send_wr < MOST ? k->l->cap.max_send_wr : MOST;
	int rc;

	for (int turn = 0; turn < 3 && KIT_GOOD(k); turn++) {
		rc = write_region(k, plan, num);
		KIT_CHECK(k, !rc, "a region of %u requests, as many as are granted, was refused with %s", num,
			  errno_name(rc));
		journal_region(k, plan, num);
		for (unsigned int i = 0; i < num; i++)
			if (!kit_expect(k, k->l, k->l->cq, k->l->qp, i, IBV_WC_SUCCESS))
				return;
	}
}

/* A region that does not fit is refused as a whole. */
static void region_full(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	const struct link_opts opts = {.sq_depth = 16, .cq_depth = MOST};
	struct link *l = k->l;
	struct posted posted;
	int rc;

	if (!kit_link(k, API_WR, &opts) || !kit_plan(k, plans))
		return;
	rc = write_region(k, &plans[0], MOST);
	k->res->err = rc;
	KIT_CHECK(k, rc, "a region of %d requests was taken, %u are granted", MOST, l->cap.max_send_wr);
	judge_errno(&k->res->verdict, rc, k->r->dut.refusal.full);
	log_call(&k->res->log, "/* the next region */");
	posted = post_wr(l, plans, 1, false, &k->res->log);
	KIT_CHECK(k, !posted.rc, "the next region was refused with %s", errno_name(posted.rc));
	judge_queue(k, l, plans);
	if (KIT_GOOD(k))
		whole_regions(k, &plans[0]);
}

SCENARIO(region_full) = {
	{"region", SUITE("full"), QPS("RC XRC_SEND UC"), POSTS("RDMA_WRITE 64"),
	 CLAUSE("ibv_wr_post/RETURN-VALUE/failure"), ERRATA("QUEUE-FULL"), ASK("posts"),
	 SAYS("a critical region that does not fit is refused as a whole, and the next one works; one "
	      "of as many requests as were granted is taken, and another one when all of these have "
	      "completed")},
	{},
};

/* The same for receives: as many as granted are accepted, and *bad_recv_wr names the refused one. */
/* Message `i` ends receive `i`: none has overwritten another. */
static void end_receive(struct kit *k, unsigned int i)
{
	struct link *l = k->l;
	struct ibv_send_wr wr = kit_wr(i, IBV_WR_SEND, NULL);
	struct ibv_wc wc;
	int ret;

	if (l->qpt == IBV_QPT_UD) {
		wr.wr.ud.ah = l->ah;
		wr.wr.ud.remote_qpn = l->peer->qp_num;
		wr.wr.ud.remote_qkey = LINK_QKEY;
	}
	wr.num_sge = 0;
	ret = kit_post(k, l->qp, l->peer, &wr, NULL);
	KIT_CHECK(k, !ret, "posting was refused with %s", errno_name(ret));
	if (kit_expect(k, l, l->cq, l->qp, i, IBV_WC_SUCCESS) && kit_wait(k, l, l->peer_cq, &wc))
		KIT_CHECK(k, wc.wr_id == i, "receive %u ended with a wr_id of %" PRIu64, i, wc.wr_id);
}

static void recv_full(struct kit *k)
{
	struct link *l = k->l;
	struct ibv_sge sge;
	struct ibv_recv_wr wr = {.num_sge = 1, .sg_list = &sge}, *bad = NULL;
	unsigned int taken = 0, granted;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_srq_attr srq;
	int rc = 0;

	if (!kit_link(k, kit_arg(k, "srq", 0) ? API_SRQ : API_POST, NULL))
		return;
	sge = (struct ibv_sge){(uintptr_t)l->recv.base, 64 + link_grh(l), l->recv.mr->lkey};
	rc = l->srq ? ibv_query_srq(l->srq, &srq) : ibv_query_qp(l->peer, &attr, IBV_QP_CAP, &init);
	KIT_CHECK(k, !rc, "the query of the queue failed with %s", errno_name(rc));
	granted = l->srq ? srq.max_wr : init.cap.max_recv_wr;
	for (; !rc && taken < 65536; taken += !rc) {
		wr.wr_id = taken;
		rc = link_post_recv(l, &wr, &bad);
	}
	log_call(&k->res->log, "%s, recv_wr, &bad_recv_wr) /* %u times */",
		 l->srq ? "ibv_post_srq_recv(srq" : "ibv_post_recv(peer", taken + 1);
	seen(k->res, "%u receives were taken, %u are granted; ", taken, granted);
	k->res->err = rc;
	KIT_CHECK(k, taken >= granted || kit_arg(k, "end", 0),
		  "receive %u was refused with %s, %u are granted", taken, errno_name(rc), granted);
	KIT_CHECK(k, rc && bad == &wr, "the queue has no end, or bad_wr does not name the refused receive");
	KIT_CHECK(k, rc > 0, "posting returned %d, which is no value of errno", rc);
	judge_errno(&k->res->verdict, rc, k->r->dut.refusal.full);
	for (unsigned int i = 0; !l->srq && i < taken && KIT_GOOD(k); i++)
		end_receive(k, i);
}

SCENARIO(recv_full) = {
	{"receive-queue", SUITE("full"), QPS("RC UC UD"), CLAUSE("ibv_create_qp/DESCRIPTION/max_recv_wr"),
	 ERRATA("QUEUE-FULL"),
	 SAYS("as many receives as were granted are taken, a later one is refused and named by bad_wr")},
	{"shared-receive-queue", QPS("RC UD"), ARGS({"srq", 1}), NEEDS("srq")},
	{"shared-receive-queue-end", QPS("RC UD"), ARGS({"srq", 1}, {"end", 1}), NEEDS("srq"),
	 SAYS("a receive is refused when no receive of a shared queue was used, and named by bad_wr")},
	{},
};

/* A send is refused before RTS, and is not executed when the QP gets there. */
static void send_early(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct ibv_send_wr wr[CELL_MAX_WR];
	const struct link_opts opts = {.short_of = kit_arg(k, "short_of", 1)};
	int bad, rc;

	if (!kit_link(k, API_POST, &opts) || !kit_plan(k, plans))
		return;
	kit_list(k, plans, k->cell->num_wr, wr);
	rc = kit_post(k, k->l->qp, k->l->peer, wr, &bad);
	k->res->err = rc;
	KIT_CHECK(k, rc, "a send was taken before the QP is in RTS");
	KIT_CHECK(k, rc == EINVAL, "a send before RTS was refused with %s, expected EINVAL", errno_name(rc));
	KIT_CHECK(k, bad == 0, "bad_wr names request %d, expected the first", bad);
	rc = link_go_on(k->l);
	KIT_CHECK(k, !rc, "%s failed with %s", k->l->step, errno_name(rc));
	kit_alive(k, k->l);
	collect_extra(k->l, k->res);
}

SCENARIO(send_early) = {
	{"reset-post", SUITE("state"), QPS("RC UC UD XRC_SEND"), POSTS("SEND 600"), ARGS({"short_of", 3}),
	 CLAUSE("ibv_post_send/DESCRIPTION/state"), ERRATA("POST-IN-RESET"),
	 SAYS("a send in RESET is refused, and is not executed once the QP is in RTS")},
	{"init-post", ARGS({"short_of", 2}),
	 SAYS("a send in INIT is refused, and is not executed once the QP is in RTS")},
	{"rtr-post", ARGS({"short_of", 1}),
	 SAYS("a send in RTR is refused, and is not executed once the QP is in RTS")},
	{},
};

/* The same with a critical region. */
static void region_early(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	const struct link_opts opts = {.short_of = kit_arg(k, "short_of", 1)};
	struct posted posted;
	int rc;

	if (!kit_link(k, API_WR, &opts) || !kit_plan(k, plans))
		return;
	posted = post_wr(k->l, plans, k->cell->num_wr, false, &k->res->log);
	k->res->err = posted.rc;
	KIT_CHECK(k, posted.rc, "a region was taken before the QP is in RTS");
	judge_errno(&k->res->verdict, posted.rc, k->r->dut.refusal.invalid);
	rc = link_go_on(k->l);
	KIT_CHECK(k, !rc, "%s failed with %s", k->l->step, errno_name(rc));
	kit_alive(k, k->l);
	collect_extra(k->l, k->res);
}

SCENARIO(region_early) = {
	{"reset-wr", SUITE("state"), QPS("RC UC UD XRC_SEND"), POSTS("SEND 600"), ARGS({"short_of", 3}),
	 CLAUSE("ibv_post_send/DESCRIPTION/state"), ERRATA("POST-IN-RESET"),
	 SAYS("a send in RESET is refused, and is not executed once the QP is in RTS")},
	{"init-wr", ARGS({"short_of", 2}),
	 SAYS("a send in INIT is refused, and is not executed once the QP is in RTS")},
	{"rtr-wr", ARGS({"short_of", 1}),
	 SAYS("a send in RTR is refused, and is not executed once the QP is in RTS")},
	{},
};

/* After ERR, RESET and back to RTS nothing posted before is left. */
static void recycle(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct link *l = k->l;
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR}, reset = {.qp_state = IBV_QPS_RESET};
	struct ibv_wc wc;
	int rc;

	if (!kit_link(k, API_POST, NULL))
		return;
	for (int turn = 0; turn < 3 && KIT_GOOD(k); turn++) {
		if (!kit_plan(k, plans))
			return;
		kit_alive(k, l);
		log_call(&k->res->log, "/* qp and peer: ibv_modify_qp() to ERR, RESET, INIT, RTR, RTS */");
		rc = ibv_modify_qp(l->qp, &err, IBV_QP_STATE);
		rc = rc ? rc : ibv_modify_qp(l->peer, &err, IBV_QP_STATE);
		rc = rc ? rc : ibv_modify_qp(l->qp, &reset, IBV_QP_STATE);
		rc = rc ? rc : ibv_modify_qp(l->peer, &reset, IBV_QP_STATE);
		rc = rc ? rc : link_connect(l, &k->res->log);
		KIT_CHECK(k, !rc, "bringing the QPs up again failed with %s", errno_name(rc));
		/* completions from the error state may still be in the CQs */
		while (collect_poll(l, l->peer_cq, &wc) == 1 || collect_poll(l, l->cq, &wc) == 1)
			KIT_CHECK(k, wc.status == IBV_WC_WR_FLUSH_ERR,
				  "a CQE %s was left of before the reset",
				  value_name(status_names, wc.status));
		l->next_use = l->next_post;
	}
}

SCENARIO(recycle) = {
	{"recycle", SUITE("state"), QPS("RC UC UD"), POSTS("SEND 600"),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/qp_state"), ERRATA("QP-RECYCLE"),
	 SAYS("after ERR and RESET both QPs come up again and carry SENDs, three times")},
	{},
};
