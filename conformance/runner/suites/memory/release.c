/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory that goes away while it is used: a READ is answered, or atomics of two QPs wait, when its region is deregistered;
 * its pages are unmapped during a READ. What is read is of the requester's end, and the other end reads it.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "suites/kit.h"

#define SIZE   (1 << 20) /* thousands of packets */
#define SPACE  (1 << 13) /* bytes for a request behind a READ */
#define OVER   (1 << 14) /* bytes around the first page that is not mapped */
#define REMOTE (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

struct release {
	struct kit *k;
	uint8_t *buf; /* pages of a file without a name: they are the same when they are mapped again */
	struct ibv_mr *mr;
	uint8_t *to;
	struct ibv_mr *to_mr;
	uint32_t read; /* bytes of the long READ; 0: SIZE */
	int into;      /* IBV_ACCESS_ON_DEMAND, or 0: the memory that it brings them to */
};

static bool set_up(struct release *t, int access)
{
	/* no retry: what is not answered must be refused with an RNR NAK; answers to requests behind it may be lost */
	const struct ibv_qp_attr patient = {.min_rnr_timer = 1,
					    .timeout = t->read ? 14 : 18,
					    .retry_cnt = t->read ? 7 : 0,
					    .rnr_retry = 7};
	const struct link_opts opts = {.mtu = IBV_MTU_256, .attr = &patient, .rd_atomic = -1, .receives = 8};
	const struct end *end = &t->k->r->dut.requester, *other = &t->k->r->dut.responder;

	if (!kit_link(t->k, API_POST, &opts))
		return false;
	t->buf = made_pages(SIZE, MAP_SHARED);
	if (!KIT_MUST(t->k, t->buf, "no memory"))
		return false;
	for (size_t i = 0; i < SIZE; i++)
		t->buf[i] = i * 7 + (i >> 8) * 3 + (i >> 16);
	t->mr = ibv_reg_mr(end->pd, t->buf, SIZE, IBV_ACCESS_REMOTE_READ | access);
	t->to = end_alloc(other->pd, SIZE);
	t->to_mr = t->to ? ibv_reg_mr(other->pd, t->to, SIZE, REMOTE | t->into) : NULL;
	return KIT_MUST(t->k, t->mr && t->to_mr, "ibv_reg_mr: %s", errno_name(errno));
}

static bool begin_read(struct release *t)
{
	struct link *l = t->k->l;
	struct ibv_sge sge = {(uintptr_t)t->to, t->read ? t->read : SIZE, t->to_mr->lkey};
	struct ibv_send_wr wr = kit_wr(0x4ead, IBV_WR_RDMA_READ, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)t->buf;
	wr.wr.rdma.rkey = t->mr->rkey;
	end_push();
	return kit_posts(t->k, l->peer, l->qp, &wr);
}

static void judge_read(struct release *t)
{
	end_sync();
	judge_bytes(&t->k->res->verdict, "what the READ has brought", t->buf, t->to,
		    t->read ? t->read : SIZE);
}

/* Either everything was read before, or the READ is refused, with an event at the QP that refuses it. */
static void read_dereg(struct kit *k)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct release t = {.k = k};
	struct ibv_wc wc;

	if (set_up(&t, 0)) {
		kit_drain_async(ctx);
		if (begin_read(&t)) {
			log_call(&k->res->log, "ibv_dereg_mr(mr)");
			if (ibv_dereg_mr(t.mr))
				KIT_FAULT(k, "ibv_dereg_mr failed");
			if (!kit_wait(k, k->l, k->l->peer_cq, &wc))
				wc.status = IBV_WC_SUCCESS;
			else if (!wc.status)
				judge_read(&t);
			if (wc.status && wc.status != k->cell->status)
				KIT_FAULT(k, "status %s, expected SUCCESS or %s",
					  value_name(status_names, wc.status),
					  value_name(status_names, k->cell->status));
			else if (wc.status && kit_expect_async(k, ctx, IBV_EVENT_QP_ACCESS_ERR, k->l->qp))
				kit_expect_state(k, k->l->qp, IBV_QPS_ERR);
		}
	}
}

SCENARIO(read_dereg) = {
	{"dereg-during-read", SUITE("keys"), QPS("RC"), POSTS("RDMA_READ 64"), ARGS({"sent_again", 1}),
	 CLAUSE("ibv_reg_mr/RETURN-VALUE/dereg"), ERRATA("KEY-LIFETIME FAILURE-STATUS"),
	 STATUS("REM_ACCESS_ERR"),
	 SAYS("a READ of a region that is deregistered meanwhile brings every byte, or is refused with "
	      "an event")},
	{},
};

#define BEHIND 5

/* READs and WRITEs behind it, each with its own place at the end of both regions. */
static bool post_behind(struct release *t)
{
	static const uint32_t lengths[BEHIND] = {64, 3000, 1, 900, 256};
	struct ibv_send_wr wr[BEHIND];
	struct ibv_sge sge[BEHIND];

	for (unsigned int i = 0; i < BEHIND; i++) {
		const size_t at = SIZE - (BEHIND - i) * (size_t)SPACE;

		sge[i] = (struct ibv_sge){(uintptr_t)t->to + at, lengths[i], t->to_mr->lkey};
		wr[i] = kit_wr(0x4eae + i, i == 3 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, &sge[i]);
		wr[i].wr.rdma.remote_addr = (uintptr_t)t->buf + at;
		wr[i].wr.rdma.rkey = t->mr->rkey;
		wr[i].next = i + 1 < BEHIND ? &wr[i + 1] : NULL;
		if (i == 3) /* the bytes that are there already */
			memcpy(t->to + at, t->buf + at, lengths[i]);
	}
	end_push();
	return kit_posts(t->k, t->k->l->peer, t->k->l->qp, wr);
}

static void judge_behind(struct release *t)
{
	static const uint32_t lengths[BEHIND] = {64, 3000, 1, 900, 256};
	struct link *l = t->k->l;

	for (unsigned int i = 0; i < BEHIND; i++) {
		const size_t at = SIZE - (BEHIND - i) * (size_t)SPACE;

		if (!kit_expect(t->k, l, l->peer_cq, l->peer, 0x4eae + i, IBV_WC_SUCCESS))
			return;
		end_sync();
		judge_bytes(&t->k->res->verdict, "what a request behind the READ has moved", t->buf + at,
			    t->to + at, lengths[i]);
	}
}

/* None of the pages that a READ brings its bytes to is there, and nothing may be sent again for a timeout. */
static void read_into_absent(struct kit *k)
{
	struct release t = {.k = k, .into = IBV_ACCESS_ON_DEMAND};

	if (set_up(&t, 0) && begin_read(&t) &&
	    kit_expect(k, k->l, k->l->peer_cq, k->l->peer, 0x4ead, IBV_WC_SUCCESS))
		judge_read(&t);
}

SCENARIO(read_into_absent) = {
	{"read-into-absent", SUITE("paging"), QPS("RC"), POSTS("RDMA_READ 64"), ARGS({"sent_again", 1}),
	 CLAUSE("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ON_DEMAND"), NEEDS("on_demand/{qp}/READ"), ASK("posts"),
	 SAYS("a READ of thousands of packets into pages that the device does not have brings every "
	      "byte, with a retry_cnt of 0")},
	{},
};

/* Pages of an on-demand region are unmapped, and mapped again when they are accessed. */
static void read_unmapped(struct kit *k)
{
	const bool behind = kit_arg(k, "behind", 0);
	struct release t = {.k = k, .read = SIZE - (behind ? BEHIND * SPACE : 0)};

	if (set_up(&t,
		   IBV_ACCESS_ON_DEMAND | (behind ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0)) &&
	    begin_read(&t) && (!behind || post_behind(&t))) {
		for (unsigned int i = 0; i < 4; i++)
			madvise(t.buf + i * (SIZE / 4), SIZE - i * (SIZE / 4), MADV_DONTNEED);
		if (kit_expect(k, k->l, k->l->peer_cq, k->l->peer, 0x4ead, IBV_WC_SUCCESS))
			judge_read(&t);
		if (behind && KIT_GOOD(k))
			judge_behind(&t);
	}
}

SCENARIO(read_unmapped) = {
	{"unmapped-while-read", SUITE("paging"), QPS("RC"), POSTS("RDMA_READ 64"), ARGS({"sent_again", 1}),
	 CLAUSE("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ON_DEMAND"), NEEDS("on_demand/{qp}/READ"), ASK("posts"),
	 SAYS("pages that are unmapped while a READ is answered are mapped again: it brings every byte")},
	{"unmapped-behind", ARGS({"sent_again", 1}, {"behind", 1}),
	 NEEDS("on_demand/{qp}/READ on_demand/{qp}/WRITE"),
	 SAYS("pages that are unmapped while a READ is answered, with READs and WRITEs behind it, are "
	      "mapped again: each brings every byte, in order")},
	{},
};

/* ---- Pages that nobody can map ---- */

static bool is_refused(struct release *t, struct ibv_context *ctx, enum ibv_wc_status status)
{
	struct kit *k = t->k;
	struct ibv_wc wc;

	if (!kit_wait(k, k->l, k->l->peer_cq, &wc))
		return false;
	if (wc.status != status)
		KIT_FAULT(k, "status %s, expected %s", value_name(status_names, wc.status),
			  value_name(status_names, status));
	else if (status == IBV_WC_REM_ACCESS_ERR)
		kit_expect_async(k, ctx, IBV_EVENT_QP_ACCESS_ERR, k->l->qp);
	kit_expect_state(k, k->l->qp, IBV_QPS_ERR);
	return KIT_GOOD(k);
}

static bool send_to_gap(struct release *t)
{
	struct link *l = t->k->l;
	struct ibv_sge to = {(uintptr_t)t->buf + SIZE - 64, 64, t->mr->lkey},
		       from = {(uintptr_t)t->to, 64, t->to_mr->lkey};
	struct ibv_recv_wr recv = {.wr_id = 0x6a9, .sg_list = &to, .num_sge = 1}, *bad;
	struct ibv_send_wr wr = kit_wr(0x5e4d, IBV_WR_SEND, &from);

	if (ibv_post_recv(l->qp, &recv, &bad) || kit_post(t->k, l->peer, l->qp, &wr, NULL)) {
		KIT_FAULT(t->k, "posting was refused");
		return false;
	}
	return kit_expect(t->k, l, l->cq, l->qp, 0x6a9, IBV_WC_LOC_PROT_ERR);
}

/* The second half of an on-demand region is not mapped: a READ and a message for it are refused. */
static void gap(struct kit *k)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	bool message = kit_arg(k, "message", 0);
	struct release t = {.k = k};

	if (set_up(&t, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE)) {
		kit_drain_async(ctx);
		munmap(t.buf + SIZE / 2, SIZE / 2);
		if (message ? send_to_gap(&t) : begin_read(&t))
			is_refused(&t, ctx, k->cell->status);
	}
}

SCENARIO(gap) = {
	{"gap-read", SUITE("paging"), QPS("RC"), POSTS("RDMA_READ 64"), ARGS({"sent_again", 1}),
	 CLAUSE("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ON_DEMAND"), LEVEL("SHOULD"), ERRATA("ODP-GAP"),
	 STATUS("REM_ACCESS_ERR"), NEEDS("on_demand/{qp}/READ"), ASK("posts"),
	 SAYS("a READ of an on-demand region in which nothing is mapped is refused, and nothing waits "
	      "for its pages")},
	{"gap-receive", POSTS("SEND 64"), ARGS({"sent_again", 1}, {"message", 1}), STATUS("REM_OP_ERR"),
	 NEEDS("on_demand/{qp}/RECV"), ASK(""),
	 SAYS("a message for a receive of an on-demand region in which nothing is mapped is refused, "
	      "and nothing waits for its pages")},
	{},
};

/*
 * The second of three requests sends from pages that begin in what is mapped, or brings something there: it fails, and
 * those around it are completed and flushed.
 */
static bool post_over_gap(struct release *t, enum ibv_wr_opcode op)
{
	struct link *l = t->k->l;
	struct ibv_sge sge[3];
	struct ibv_send_wr wr[3];

	for (unsigned int i = 0; i < 3; i++) {
		sge[i] = (struct ibv_sge){(uintptr_t)t->buf + 64 * i, 64, t->mr->lkey};
		wr[i] = kit_wr(0x9a90 + i, i == 1 ? op : IBV_WR_RDMA_WRITE, &sge[i]);
		wr[i].wr.rdma.remote_addr = (uintptr_t)t->to;
		wr[i].wr.rdma.rkey = t->to_mr->rkey;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	sge[1].addr = (uintptr_t)t->buf + SIZE / 2 - OVER / 2;
	sge[1].length = OVER;
	return kit_posts(t->k, l->qp, l->peer, wr);
}

static void gap_sender(struct kit *k)
{
	enum ibv_wr_opcode op = kit_arg(k, "read", 0) ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	struct release t = {.k = k};
	struct link *l = k->l;

	if (set_up(&t, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE)) {
		munmap(t.buf + SIZE / 2, SIZE / 2);
		if (post_over_gap(&t, op) && kit_expect(k, l, l->cq, l->qp, 0x9a90, IBV_WC_SUCCESS) &&
		    kit_expect(k, l, l->cq, l->qp, 0x9a91, k->cell->status) &&
		    kit_expect(k, l, l->cq, l->qp, 0x9a92, IBV_WC_WR_FLUSH_ERR))
			kit_expect_state(k, l->qp, IBV_QPS_ERR);
	}
}

SCENARIO(gap_sender) = {
	{"gap-send", SUITE("paging"), QPS("RC"), POSTS("RDMA_WRITE 64"), ARGS({"sent_again", 1}),
	 CLAUSE("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ON_DEMAND"), LEVEL("SHOULD"),
	 ERRATA("ODP-GAP FLUSH-ORDER"), STATUS("LOC_PROT_ERR"), NEEDS("on_demand/{qp}/WRITE"), ASK("posts"),
	 SAYS("a request whose own memory, of an on-demand region, is not mapped beyond its middle "
	      "ends with IBV_WC_LOC_PROT_ERR; the one before it is executed, and the one behind it is "
	      "flushed")},
	{"gap-result", POSTS("RDMA_READ 64"), ARGS({"sent_again", 1}, {"read", 1}),
	 NEEDS("on_demand/{qp}/READ"), ASK("RDMA_WRITE RDMA_READ")},
	{},
};

/* ---- Atomics ---- */

#define ADDS 64 /* of each of two QPs */
/* In some rounds the region is gone when an atomic's turn comes, in others when it arrives. */
#define ROUNDS 6
#define WAIT   2 /* receives of each responder */

struct adds {
	struct kit *k;
	struct link l[2];
	bool refused[2]; /* an atomic of this link */
	uint64_t *word;
	struct ibv_mr *mr;
	unsigned int good; /* completed with success */
};

static bool post_adds(struct adds *t, struct link *l)
{
	struct ibv_sge sge = {(uintptr_t)l->local.base, 8, l->local.mr->lkey};
	struct ibv_send_wr wr[ADDS];

	for (unsigned int i = 0; i < ADDS; i++) {
		wr[i] = kit_wr(i, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
		wr[i].wr.atomic.remote_addr = (uintptr_t)t->word;
		wr[i].wr.atomic.rkey = t->mr->rkey;
		wr[i].wr.atomic.compare_add = 1;
		wr[i].next = i + 1 < ADDS ? &wr[i + 1] : NULL;
	}
	return kit_posts(t->k, l->qp, l->peer, wr);
}

/* Those before the region was gone succeed, the next one is refused, the others are flushed. */
static bool collect_adds(struct adds *t, struct link *l, bool *refused)
{
	enum ibv_wc_status before = IBV_WC_SUCCESS;
	struct ibv_wc wc;

	for (unsigned int i = 0; i < ADDS && kit_wait(t->k, l, l->cq, &wc); i++) {
		bool first = wc.status == t->k->cell->status && before == IBV_WC_SUCCESS;

		if (wc.wr_id != i ||
		    (!first && wc.status != (before ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS))) {
			KIT_FAULT(t->k, "completion %u has wr_id %u and status %s after %s", i,
				  (unsigned int)wc.wr_id, value_name(status_names, wc.status),
				  value_name(status_names, before));
			return false;
		}
		before = wc.status;
		t->good += !wc.status;
	}
	*refused = before != IBV_WC_SUCCESS;
	return KIT_GOOD(t->k);
}

/* A responder that has refused one is in ERR, and its receives are flushed. */
static bool peer_stopped(struct adds *t, struct link *l, bool refused)
{
	for (unsigned int i = 0; i < WAIT && refused; i++)
		if (!kit_expect(t->k, l, l->peer_cq, l->peer, i, IBV_WC_WR_FLUSH_ERR))
			return false;
	kit_expect_none(t->k, l, l->peer_cq);
	if (refused)
		kit_expect_state(t->k, l->peer, IBV_QPS_ERR);
	return KIT_GOOD(t->k);
}

/* There is one event of each of these, in any order. */
static bool peer_events(struct adds *t)
{
	struct ibv_context *ctx = t->k->r->dut.responder.ctx;
	bool wanted[2] = {t->refused[0], t->refused[1]};

	while (wanted[0] || wanted[1]) {
		struct ibv_async_event event;
		unsigned int i;

		if (!KIT_MUST(t->k, kit_next_async(ctx, t->k->r->dut.timeout_ms, &event),
			      "a QP that has refused an atomic has no event"))
			return false;
		if (event.event_type == IBV_EVENT_COMM_EST)
			continue;
		i = event.element.qp == t->l[1].peer;
		if (!kit_holds(t->k, event.event_type == IBV_EVENT_QP_ACCESS_ERR && wanted[i] &&
					     event.element.qp == t->l[i].peer)) {
			KIT_FAULT(t->k, "the asynchronous event '%s', which nothing caused",
				  ibv_event_type_str(event.event_type));
			return false;
		}
		wanted[i] = false;
	}
	return true;
}

static bool open_adds(struct adds *t)
{
	static const struct link_opts opts = {.sq_depth = ADDS, .rd_atomic = -1};
	const struct end *other = &t->k->r->dut.responder;

	for (unsigned int i = 0; i < 2; i++) {
		if (!kit_link_second(t->k, &t->l[i], API_POST, &opts))
			return false;
		for (unsigned int n = 0; n < WAIT; n++) {
			struct ibv_recv_wr wr = {.wr_id = n}, *bad;

			if (ibv_post_recv(t->l[i].peer, &wr, &bad))
				KIT_FAULT(t->k, "a receive was refused");
		}
	}
	t->word = end_alloc(other->pd, 4096);
	if (t->word) {
		*t->word = 0;
		end_written(t->word, sizeof(*t->word));
		end_push();
		t->mr = ibv_reg_mr(other->pd, t->word, 4096,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	}
	if (!t->mr)
		KIT_FAULT(t->k, "ibv_reg_mr: %s", errno_name(errno));
	kit_drain_async(other->ctx);
	return KIT_GOOD(t->k);
}

static void run_adds(struct adds *t)
{
	if (!post_adds(t, &t->l[0]) || !post_adds(t, &t->l[1]))
		return;
	KIT_CHECK(t->k, !ibv_dereg_mr(t->mr), "ibv_dereg_mr failed");
	t->mr = NULL;
	for (unsigned int i = 0; i < 2; i++)
		if (!collect_adds(t, &t->l[i], &t->refused[i]) || !peer_stopped(t, &t->l[i], t->refused[i]))
			return;
	if (!peer_events(t))
		return;
	end_sync();
	if (*t->word != t->good)
		KIT_FAULT(t->k, "%u additions of 1 have succeeded, the sum is %llu", t->good,
			  (unsigned long long)*t->word);
}

/* Each atomic is either executed and completed with success, or refused. */
static void atomics_dereg(struct kit *k)
{
	static struct adds t;

	for (unsigned int i = 0; i < ROUNDS && KIT_GOOD(k); i++) {
		t = (struct adds){.k = k};
		if (open_adds(&t))
			run_adds(&t);
		kit_unmake(k);
	}
}

SCENARIO(atomics_dereg) = {
	{"dereg-during-atomics", SUITE("keys"), QPS("RC"), POSTS("ATOMIC_FETCH_AND_ADD"),
	 ARGS({"sent_again", 1}), CLAUSE("ibv_reg_mr/RETURN-VALUE/dereg"),
	 ERRATA("KEY-LIFETIME FAILURE-STATUS"), STATUS("REM_ACCESS_ERR"),
	 SAYS("atomics of two QPs to a region that is deregistered meanwhile are executed and complete "
	      "with success, or are refused: the sum is that of those that succeeded")},
	{},
};
