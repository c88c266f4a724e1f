/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Several completions at a time: of several QPs, of both queues, good and bad. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "judge/watchdog.h"
#include "suites/completions/bench.h"

#define TURNS   16
#define LONG_MS 5

/* As many as asked for, whatever the number is, at every place of the ring. */
static void poll_counts(struct kit *k)
{
	struct bench b = {0};

	if (bench_open(&b, k, 4) && bench_link(&b, k->l, NULL))
		for (unsigned int turn = 0; turn < TURNS && KIT_GOOD(k); turn++) {
			unsigned int n = 1 + turn % 4;

			if (!bench_put(&b, k->l, n) || !bench_take(&b, turn / 4 % (n + 1)))
				break;
			bench_empty(&b);
		}
}

SCENARIO(poll_counts) = {
	{"counts", SUITE("cq"), QPS("RC"), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 CLAUSE("ibv_poll_cq/DESCRIPTION/first"), ERRATA("COMPLETION-ORDER"),
	 SAYS("any number is polled at a time, at every place of the ring, each completion once and "
	      "with its own fields")},
	{},
};

/* No entry is asked for, one, some, all, and more than there are; nothing is written beyond those returned. */
static void poll_numbers(struct kit *k)
{
	static const int asks[] = {0, 1, 0, 3, 16, 16}, gets[] = {0, 1, 0, 3, 2, 0};
	struct bench b = {0};
	struct ibv_wc wc[17];

	if (bench_open(&b, k, 6) && bench_link(&b, k->l, NULL) && bench_put(&b, k->l, 6))
		for (unsigned int i = 0; i < sizeof(asks) / sizeof(asks[0]) && KIT_GOOD(k); i++) {
			memset(wc, 0xee, sizeof(wc));
			int got = ibv_poll_cq(b.cq, asks[i], wc);

			log_call(&k->res->log, "ibv_poll_cq(cq, %d, wc)", asks[i]);
			if (got != gets[i]) {
				KIT_FAULT(k, "ibv_poll_cq of %d entries returned %d, expected %d", asks[i],
					  got, gets[i]);
				break;
			}
			for (int at = 0; at < got; at++)
				judge_wc(&k->res->verdict, "requester", &b.want[b.first++], &wc[at]);
			if (((uint8_t *)&wc[got])[0] != 0xee)
				KIT_FAULT(k, "an entry beyond the %d returned was written", got);
		}
}

SCENARIO(poll_numbers) = {
	{"numbers", SUITE("cq"), QPS("RC"), CLAUSE("ibv_poll_cq/DESCRIPTION/first"),
	 ERRATA("COMPLETION-ORDER"),
	 SAYS("0, 1, several, and more than there are: as many as asked for, or all that are there")},
	{},
};

/* Each entry is the next of one of several lists of expected ones: completions of different queues have no order. */
struct streams {
	struct expect *list[3];
	unsigned int done[3];
};

static unsigned int missing(const struct streams *s)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < 3; i++)
		n += s->list[i]->num - s->done[i];
	return n;
}

static void judge_next(struct kit *k, struct streams *s, const struct ibv_wc *wc)
{
	for (unsigned int i = 0; i < 3; i++) {
		const struct wc_expect *want = &s->list[i]->wc[s->done[i]];

		if (s->done[i] < s->list[i]->num && want->wr_id == wc->wr_id) {
			s->done[i]++;
			judge_wc(&k->res->verdict, "requester", want, wc);
			return;
		}
	}
	judge_extra_wc(&k->res->verdict, "requester", wc);
}

/* Requests of QP `l`, of which the one at `bad` has a wrong lkey; the later ones are flushed. */
static bool post_bad(struct kit *k, struct link *l, unsigned int bad, unsigned int num, struct expect *want)
{
	struct ibv_send_wr wr[8];
	struct ibv_sge sge[8];

	for (unsigned int i = 0; i < num; i++) {
		sge[i] = (struct ibv_sge){arena_address(&l->local, l->local.base), 16 + i,
					  l->local.mr->lkey ^ (i == bad ? 0x5500 : 0)};
		wr[i] = kit_wr(0xbad00000u + i, IBV_WR_RDMA_WRITE, &sge[i]);
		wr[i].wr.rdma.remote_addr = arena_address(&l->target, l->target.base);
		wr[i].wr.rdma.rkey = l->target.mr->rkey;
		wr[i].next = i + 1 < num ? &wr[i + 1] : NULL;
		want->wc[want->num++] = (struct wc_expect){
			.wr_id = wr[i].wr_id,
			.status = i < bad    ? IBV_WC_SUCCESS
				  : i == bad ? IBV_WC_LOC_PROT_ERR
					     : IBV_WC_WR_FLUSH_ERR,
			.opcode = IBV_WC_RDMA_WRITE,
			.qp_num = l->qp->qp_num,
		};
	}
	return kit_posts(k, l->qp, l->peer, wr);
}

/* Polls in batches until all streams have ended. */
static void poll_streams(struct kit *k, struct bench *b, struct streams *s)
{
	struct watchdog p = watchdog(k->r->dut.timeout_ms);
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)b->cq;
	struct ibv_wc wc[8];

	while (missing(s) && KIT_GOOD(k)) {
		int ret, got = 0;

		if (!b->ex) {
			got = ibv_poll_cq(b->cq, 8, wc);
			for (int i = 0; i < got; i++)
				judge_next(k, s, &wc[i]);
		} else {
			for (ret = ibv_start_poll(cq, &attr); !ret; ret = ibv_next_poll(cq), got++) {
				read_current(cq, &wc[0]);
				judge_next(k, s, &wc[0]);
			}
			if (got)
				ibv_end_poll(cq);
			KIT_CHECK(k, ret == ENOENT, "polling ended with %s, expected ENOENT",
				  errno_name(ret));
		}
		KIT_CHECK(k, got || !watchdog_expired(&p), "%u completions did not come", missing(s));
	}
}

/*
 * One CQ has receives and all kinds of sends of one QP, and of another one that fails its completions, those of the
 * failed request, and of the flushed ones.
 */
static void batch_mixed(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	static struct expect sent, received, failed, responder;
	struct streams s = {.list = {&sent, &received, &failed}};
	struct link other = {0};
	struct posted posted;
	struct bench b = {0};

	memset(&sent, 0, sizeof(sent));
	memset(&received, 0, sizeof(received));
	memset(&failed, 0, sizeof(failed));
	memset(&responder, 0, sizeof(responder));
	if (bench_open(&b, k, 64) && bench_link(&b, k->l, NULL) && bench_link(&b, &other, NULL) &&
	    kit_plan(k, plans)) {
		for (unsigned int i = 0; i < k->cell->num_wr; i++)
			plan_execute(&plans[i], k->l, &sent, &responder);
		posted = post_list(k->l, plans, k->cell->num_wr, &k->res->log);
		if (posted.rc)
			KIT_FAULT(k, "posting was refused with %s", errno_name(posted.rc));
		/* the responder's completions come after the requests have been executed */
		for (unsigned int i = 0; i < responder.num && KIT_GOOD(k); i++)
			kit_expect(k, k->l, k->l->peer_cq, k->l->peer, responder.wc[i].wr_id, IBV_WC_SUCCESS);
		if (KIT_GOOD(k) && post_bad(k, &other, 2, 6, &failed) && bench_put(&b, k->l, 5)) {
			for (; bench_num(&b); b.first++)
				received.wc[received.num++] = b.want[b.first % BENCH_TURN];
			poll_streams(k, &b, &s);
		}
		/* and afterwards it is polled as before */
		if (KIT_GOOD(k) && bench_empty(&b) && bench_put(&b, k->l, 2))
			bench_empty(&b);
	}
}

SCENARIO(batch_mixed) = {
	{"mixed", SUITE("cq"), QPS("RC"),
	 POSTS("RDMA_WRITE 100, SEND_WITH_IMM 110, RDMA_READ 120, SEND 130, RDMA_WRITE_WITH_IMM 140, "
	       "ATOMIC_FETCH_AND_ADD"),
	 CLAUSE("ibv_poll_cq/DESCRIPTION/first"), ERRATA("FAILURE-STATUS"),
	 SAYS("receives, sends of every kind, a failure and flushed requests of two QPs: each has the "
	      "fields of its own")},
	{"mixed-ex", ARGS({"ex", 1}), CLAUSE("ibv_create_cq_ex/DESCRIPTION/ibv_next_poll")},
	{},
};

/* start, next and end on an empty CQ, and with an attribute that does not exist. */
static void batch_edges(struct kit *k)
{
	struct ibv_poll_cq_attr none = {}, unknown = {.comp_mask = 1u << 31};
	struct ibv_cq_ex *cq;
	struct bench b = {0};
	int ret;

	if (bench_open(&b, k, 4) && bench_link(&b, k->l, NULL))
		for (int turn = 0; turn < 3 && KIT_GOOD(k); turn++) {
			cq = (struct ibv_cq_ex *)b.cq;
			ret = ibv_start_poll(cq, &none);
			if (ret != ENOENT)
				KIT_FAULT(k, "ibv_start_poll of an empty CQ returned %s, expected ENOENT",
					  ret ? errno_name(ret) : "0");
			if (!KIT_GOOD(k) || !bench_put(&b, k->l, 1))
				break;
			ret = ibv_start_poll(cq, &unknown);
			if (!ret)
				ibv_end_poll(cq);
			if (ret != EOPNOTSUPP && ret != EINVAL) {
				KIT_FAULT(k, "ibv_start_poll with an unknown bit of comp_mask returned %s",
					  ret ? errno_name(ret) : "0");
				break;
			}
			ret = ibv_start_poll(cq, &none);
			if (ret || cq->wr_id != b.want[b.first].wr_id || cq->status != IBV_WC_SUCCESS)
				KIT_FAULT(k, "ibv_start_poll did not give the completion that there is");
			b.first++;
			ret = ret ? ENOENT : ibv_next_poll(cq);
			if (ret != ENOENT)
				KIT_FAULT(k,
					  "ibv_next_poll after the last entry returned %s, expected ENOENT",
					  ret ? errno_name(ret) : "0");
			ibv_end_poll(cq);
		}
}

SCENARIO(batch_edges) = {
	{"edges", SUITE("cq"), QPS("RC"), ARGS({"ex", 1}),
	 CLAUSE("ibv_create_cq_ex/DESCRIPTION/ibv_start_poll"), LEVEL("SHOULD"), ERRATA("POLL-ATTR"),
	 SAYS("ENOENT of an empty CQ from start and next, a refusal of an unknown attribute, and the "
	      "CQ still works")},
	{},
};

/* A thread that polls while another one is between ibv_start_poll() and ibv_end_poll(). */
struct poller {
	struct ibv_cq *cq;
	bool ex;
	struct ibv_wc wc;
	int got;
	atomic_bool done;
};

static void *poll_one(void *arg)
{
	struct poller *p = arg;

	p->got = p->ex ? poll_extended((struct ibv_cq_ex *)p->cq, &p->wc, NULL)
		       : ibv_poll_cq(p->cq, 1, &p->wc);
	atomic_store(&p->done, true);
	return NULL;
}

/* Two threads: a batch is a critical section, and each entry is polled once. The CQ is `b`'s, and is closed. */
static void poll_from_two(struct kit *k, struct bench *b, bool extended)
{
	struct poller p = {.cq = b->cq, .ex = extended};
	struct ibv_poll_cq_attr none = {};
	struct watchdog wait;
	pthread_t thread;
	struct ibv_wc wc;
	bool early;

	if (!bench_link(b, k->l, NULL) || !bench_put(b, k->l, 3))
		return;
	if (ibv_start_poll((struct ibv_cq_ex *)b->cq, &none)) {
		KIT_FAULT(k, "ibv_start_poll found none of 3 completions");
		return;
	}
	pthread_create(&thread, NULL, poll_one, &p);
	for (wait = watchdog(LONG_MS); !atomic_load(&p.done) && !watchdog_expired(&wait);)
		;
	watchdog_lost(); /* this timeout is expected */
	early = atomic_load(&p.done);
	read_current((struct ibv_cq_ex *)b->cq, &wc);
	ibv_end_poll((struct ibv_cq_ex *)b->cq);
	pthread_join(thread, NULL);
	if (early)
		KIT_FAULT(k, "another thread polled between ibv_start_poll and ibv_end_poll");
	judge_wc(&k->res->verdict, "requester", &b->want[b->first++], &wc);
	if (p.got == 1)
		judge_wc(&k->res->verdict, "requester", &b->want[b->first++], &p.wc);
	else
		KIT_FAULT(k, "the other thread polled %d completions, expected 1", p.got);
	if (KIT_GOOD(k))
		bench_empty(b);
}

static void batch_threads(struct kit *k)
{
	struct bench b = {0};

	for (int other = 0; other < 2 && KIT_GOOD(k); other++) {
		if (bench_open(&b, k, 4))
			poll_from_two(k, &b, other);
		kit_unmake(k);
	}
}

SCENARIO(batch_threads) = {
	{"threads", SUITE("cq"), QPS("RC"), ARGS({"ex", 1}),
	 CLAUSE("ibv_create_cq_ex/DESCRIPTION/ibv_next_poll"), LEVEL("SHOULD"), ERRATA("POLL-LOCK"),
	 SAYS("another thread polls after the batch, and each completion is polled once")},
	{},
};

/* As the batch goes on after ENOENT, so does the other thread's wait. */
static void poll_drained(struct kit *k, struct bench *b)
{
	struct poller p = {.cq = b->cq, .ex = true};
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)b->cq;
	struct ibv_poll_cq_attr none = {};
	struct watchdog wait;
	pthread_t thread;
	struct ibv_wc wc;
	bool early;
	int ret;

	if (!bench_link(b, k->l, NULL) || !bench_put(b, k->l, 1))
		return;
	ret = ibv_start_poll(cq, &none);
	KIT_CHECK(k, !ret, "ibv_start_poll found no completion");
	read_current(cq, &wc);
	judge_wc(&k->res->verdict, "requester", &b->want[b->first++], &wc);
	ret = ibv_next_poll(cq);
	pthread_create(&thread, NULL, poll_one, &p);
	for (wait = watchdog(LONG_MS); !atomic_load(&p.done) && !watchdog_expired(&wait);)
		;
	watchdog_lost(); /* this timeout is expected */
	early = atomic_load(&p.done);
	ibv_end_poll(cq);
	pthread_join(thread, NULL);
	if (!kit_holds(k, ret == ENOENT))
		KIT_FAULT(k, "ibv_next_poll returned %s, expected ENOENT", errno_name(ret));
	else if (early)
		KIT_FAULT(k, "another thread polled between ENOENT of ibv_next_poll and ibv_end_poll");
}

static void batch_drained(struct kit *k)
{
	struct bench b = {0};

	if (bench_open(&b, k, 4))
		poll_drained(k, &b);
	link_destroy(k->l);
	bench_close(&b);
}

SCENARIO(batch_drained) = {
	{"drained", SUITE("cq"), QPS("RC"), ARGS({"ex", 1}),
	 CLAUSE("ibv_create_cq_ex/DESCRIPTION/ibv_next_poll"), LEVEL("SHOULD"), ERRATA("POLL-LOCK"),
	 SAYS("another thread polls after the batch, although ibv_next_poll() found nothing more")},
	{},
};

/* The same of CQs whose attributes do not say that one thread polls them, although some fields look like it. */
static void batch_locked(struct kit *k)
{
	const uint32_t flags = IBV_CQ_INIT_ATTR_MASK_FLAGS, domain = IBV_CQ_INIT_ATTR_MASK_PD;
	const uint32_t single = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	struct ibv_parent_domain_init_attr init = {.pd = k->r->dut.requester.pd};
	struct ibv_pd *parent = ibv_alloc_parent_domain(k->r->dut.requester.ctx, &init);
	struct ibv_cq_init_attr_ex attrs[] = {
		{.cqe = 5, .flags = single},
		{.cqe = 5, .comp_mask = flags},
		{.cqe = 5, .comp_mask = flags, .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN},
		{.cqe = 5, .comp_mask = domain, .flags = single, .parent_domain = parent},
	};

	for (unsigned int i = 0; i < sizeof(attrs) / sizeof(attrs[0]) && KIT_GOOD(k); i++) {
		struct bench b = {0};
		int ret;

		if (attrs[i].comp_mask & domain && !parent)
			break;
		attrs[i].wc_flags = IBV_WC_STANDARD_FLAGS;
		ret = bench_create(&b, k, &attrs[i]);
		log_call(&k->res->log, "/* cq = ibv_create_cq_ex(ctx, attr): comp_mask %u, flags %u */",
			 attrs[i].comp_mask, attrs[i].flags);
		if (!ret)
			poll_from_two(k, &b, true);
		else if (ret != EOPNOTSUPP || attrs[i].comp_mask != flags || !attrs[i].flags)
			KIT_FAULT(k, "ibv_create_cq_ex failed with %s", errno_name(ret));
		link_destroy(k->l);
		bench_close(&b);
	}
}

SCENARIO(batch_locked) = {
	{"locked", SUITE("cq"), QPS("RC"), ARGS({"ex", 1}),
	 CLAUSE("ibv_create_cq_ex/DESCRIPTION/ibv_next_poll"), LEVEL("SHOULD"), ERRATA("POLL-LOCK"),
	 SAYS("the same of CQs of ibv_create_cq_ex with every attribute but "
	      "IBV_CREATE_CQ_ATTR_SINGLE_THREADED or a thread domain")},
	{},
};

/*
 * Every entry of the ring is used and polled, turn after turn, and the CQ is never polled when it is empty: the device
 * learns from the polls alone that there is room, not from requests of notification either.
 */
static void batch_turns(struct kit *k)
{
	struct bench b = {0};
	unsigned int n, size;

	if (bench_open(&b, k, BENCH_MOST) && bench_link(&b, k->l, NULL)) {
		size = b.cq->cqe < BENCH_TURN ? (unsigned int)b.cq->cqe : BENCH_TURN;
		for (unsigned int turn = 0; turn < 4 && KIT_GOOD(k); turn++) {
			for (n = 0; n < size && KIT_GOOD(k); n += BENCH_MOST)
				bench_send(&b, k->l, size - n < BENCH_MOST ? size - n : BENCH_MOST, false);
			if (KIT_GOOD(k))
				bench_take(&b, size);
		}
	}
}

SCENARIO(batch_turns) = {
	{"turns", SUITE("cq"), QPS("RC"), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 CLAUSE("ibv_poll_cq/DESCRIPTION/first"), ERRATA("COMPLETION-ORDER"),
	 SAYS("a CQ is filled and emptied by one poll, four times, and is never polled when it is "
	      "empty: no completion is lost")},
	{},
};
