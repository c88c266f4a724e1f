/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared receive queues at their limits: creation, attributes, the limit event, sizes, receives that end out of order. */
#include <errno.h>
#include <string.h>

#include "suites/kit.h"

/* Sends `times` empty messages; each consumes a receive of the SRQ and completes on both sides. */
static void consume(struct kit *k, unsigned int times)
{
	static struct plan plan;

	for (unsigned int i = 0; i < times && KIT_GOOD(k); i++) {
		struct expect requester = {0}, responder = {0};
		struct posted posted;
		int ret;

		arena_reset(&k->l->local);
		arena_reset(&k->l->target);
		ret = plan_wr(&plan, k->l, &k->cell->wr[0], 0, k->r->seed);
		KIT_CHECK(k, !ret, "buffers of the case: %s", errno_name(ret));
		posted = post_list(k->l, &plan, 1, &k->res->log);
		KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
		plan_execute(&plan, k->l, &requester, &responder);
		collect(k->l, &requester, &responder, k->res);
	}
}

static int modify(struct kit *k, uint32_t max_wr, uint32_t limit, int mask)
{
	struct ibv_srq_attr attr = {.max_wr = max_wr, .srq_limit = limit};

	log_call(&k->res->log,
		 "ibv_modify_srq(srq, &(struct ibv_srq_attr){.max_wr = %u, .srq_limit = %u}, 0x%x)", max_wr,
		 limit, mask);
	return ibv_modify_srq(k->l->srq, &attr, mask);
}

static void expect_attr(struct kit *k, uint32_t max_wr, uint32_t limit)
{
	struct ibv_srq_attr attr;
	int ret = ibv_query_srq(k->l->srq, &attr);

	KIT_CHECK(k, !ret, "ibv_query_srq failed with %s", errno_name(ret));
	KIT_CHECK(k, attr.max_wr == max_wr && attr.srq_limit == limit,
		  "ibv_query_srq says max_wr %u, srq_limit %u, expected %u and %u", attr.max_wr,
		  attr.srq_limit, max_wr, limit);
}

static bool limit_event(struct kit *k, unsigned int timeout_ms)
{
	struct ibv_async_event event;

	while (kit_next_async(k->r->dut.responder.ctx, timeout_ms, &event))
		if (event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED)
			return event.element.srq == k->l->srq;
	return false;
}

/* Consumes the receives one by one, starting with all slots; the event must come with the one that is named. */
static void one_limit(struct kit *k, uint32_t limit, uint32_t max_wr)
{
	unsigned int at = LINK_RECV_SLOTS - limit + 1;
	int ret = link_fill_recv(k->l);

	KIT_CHECK(k, !ret, "posting receives failed with %s", errno_name(ret));
	ret = modify(k, 0, limit, IBV_SRQ_LIMIT);
	KIT_CHECK(k, !ret, "setting the limit to %u failed with %s", limit, errno_name(ret));
	expect_attr(k, max_wr, limit);
	consume(k, at - 1);
	KIT_CHECK(k, !KIT_GOOD(k) || !limit_event(k, 0),
		  "limit %u: the event came although as many receives are left", limit);
	consume(k, 1);
	KIT_CHECK(k, !KIT_GOOD(k) || limit_event(k, k->r->dut.timeout_ms), "limit %u: no event came", limit);
	expect_attr(k, max_wr, 0);
	consume(k, LINK_RECV_SLOTS - at);
	KIT_CHECK(k, !KIT_GOOD(k) || !limit_event(k, 0), "limit %u: a second event came for one arming",
		  limit);
}

static uint32_t size_of(struct kit *k)
{
	struct ibv_srq_attr attr = {0};
	int ret = ibv_query_srq(k->l->srq, &attr);

	if (ret)
		KIT_FAULT(k, "ibv_query_srq failed with %s", errno_name(ret));
	return attr.max_wr;
}

/* The limit at its edges, armed again and again; a limit that is replaced or withdrawn causes no event. */
static void srq_limits(struct kit *k)
{
	static const uint32_t limits[] = {1, LINK_RECV_SLOTS, 2, 5};
	uint32_t max_wr;
	int ret;

	if (!kit_link(k, API_SRQ, NULL))
		return;
	kit_drain_async(k->r->dut.responder.ctx);
	max_wr = size_of(k);
	expect_attr(k, max_wr, 0);
	for (unsigned int i = 0; i < sizeof(limits) / sizeof(limits[0]) && KIT_GOOD(k); i++)
		one_limit(k, limits[i], max_wr);
	ret = KIT_GOOD(k) ? link_fill_recv(k->l) : 0;
	KIT_CHECK(k, !ret, "posting receives failed with %s", errno_name(ret));
	ret = modify(k, 0, LINK_RECV_SLOTS - 1, IBV_SRQ_LIMIT);
	ret = ret ? ret : modify(k, 0, 3, IBV_SRQ_LIMIT);
	KIT_CHECK(k, !ret, "setting the limit failed with %s", errno_name(ret));
	consume(k, 4);
	ret = modify(k, 0, 0, IBV_SRQ_LIMIT);
	KIT_CHECK(k, !ret, "setting the limit to 0 failed with %s", errno_name(ret));
	consume(k, LINK_RECV_SLOTS - 4);
	KIT_CHECK(k, !KIT_GOOD(k) || !limit_event(k, 0), "an event came for a limit that was withdrawn");
}

SCENARIO(srq_limits) = {
	{"limits", SUITE("srq"), QPS("RC"), POSTS("SEND 600"), CLAUSE("ibv_query_srq/NOTES/srq_limit"),
	 NEEDS("srq"),
	 SAYS("each limit causes one event when fewer receives are left, and is 0 then; one that was "
	      "replaced or withdrawn causes none")},
	{"limits", QPS("UD"), ARGS({"most", 1000})},
	{},
};

/* ---- Attributes ---- */

/* False and a fault if the SRQ could be created. */
static bool refused(struct kit *k, uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = max_wr, .max_sge = max_sge}};
	struct ibv_srq *srq;

	errno = 0;
	srq = ibv_create_srq(k->r->dut.responder.pd, &attr);
	log_call(&k->res->log, "ibv_create_srq(pd, &(struct ibv_srq_init_attr){.attr = {%u, %u}})", max_wr,
		 max_sge);
	k->res->err = errno;
	if (!srq && !errno)
		KIT_FAULT(k, "ibv_create_srq failed without errno");
	if (!srq)
		return true;
	KIT_FAULT(k, "an SRQ of %u receives with %u SGEs was created, the device has fewer", max_wr, max_sge);
	ibv_destroy_srq(srq);
	return false;
}

static void created(struct kit *k, uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = max_wr, .max_sge = max_sge}};
	struct ibv_srq *srq = ibv_create_srq(k->r->dut.responder.pd, &attr);
	struct ibv_srq_attr now;
	int ret;

	log_call(&k->res->log, "ibv_create_srq(pd, &(struct ibv_srq_init_attr){.attr = {%u, %u}})", max_wr,
		 max_sge);
	KIT_CHECK(k, srq, "ibv_create_srq of %u receives with %u SGEs failed with %s", max_wr, max_sge,
		  errno_name(errno));
	ret = ibv_query_srq(srq, &now);
	if (attr.attr.max_wr < max_wr || attr.attr.max_sge < max_sge)
		KIT_FAULT(k, "%u receives with %u SGEs were created, %u and %u requested", attr.attr.max_wr,
			  attr.attr.max_sge, max_wr, max_sge);
	else if (ret || now.max_wr != attr.attr.max_wr || now.max_sge != attr.attr.max_sge || now.srq_limit)
		KIT_FAULT(k, "ibv_query_srq: %d, {%u, %u, %u}; ibv_create_srq said {%u, %u}", ret, now.max_wr,
			  now.max_sge, now.srq_limit, attr.attr.max_wr, attr.attr.max_sge);
	ret = ibv_destroy_srq(srq);
	if (ret)
		KIT_FAULT(k, "ibv_destroy_srq failed with %s", errno_name(ret));
}

static void srq_attributes(struct kit *k)
{
	const struct ibv_device_attr *dev = &k->r->dut.responder.attr;
	uint32_t max_wr;
	int ret;

	if (!kit_link(k, API_SRQ, NULL))
		return;
	created(k, 1, 1);
	created(k, 5, 3);
	created(k, dev->max_srq_wr, 1);
	created(k, 1, dev->max_srq_sge);
	refused(k, dev->max_srq_wr + 1, 1);
	refused(k, 1, dev->max_srq_sge + 1);
	max_wr = size_of(k);
	log_call(&k->res->log, "ibv_destroy_srq(srq) /* of the QP */");
	ret = ibv_destroy_srq(k->l->srq);
	KIT_CHECK(k, ret, "an SRQ was destroyed that a QP uses");
	KIT_CHECK(k, modify(k, max_wr, max_wr + 1, IBV_SRQ_LIMIT), "a limit beyond the size was taken");
	expect_attr(k, max_wr, 0);
	KIT_CHECK(k, modify(k, max_wr * 2, 4, 1 << 20), "an attribute that does not exist was modified");
	expect_attr(k, max_wr, 0);
	ret = modify(k, max_wr * 2, 4, 0);
	KIT_CHECK(k, !ret, "ibv_modify_srq without an attribute failed with %s", errno_name(ret));
	expect_attr(k, max_wr, 0);
	kit_alive(k, k->l);
	if (KIT_GOOD(k) && dev->device_cap_flags & IBV_DEVICE_SRQ_RESIZE) {
		KIT_CHECK(k, modify(k, dev->max_srq_wr + 1, 0, IBV_SRQ_MAX_WR),
			  "a size beyond the device's was taken");
		KIT_CHECK(k, modify(k, max_wr * 2, max_wr * 8, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT),
			  "a size and a limit beyond it were taken");
		expect_attr(k, max_wr, 0);
		kit_alive(k, k->l);
	}
}

SCENARIO(srq_attributes) = {
	{"attributes", SUITE("srq"), QPS("RC"), POSTS("SEND 600"),
	 CLAUSE("ibv_create_srq/DESCRIPTION/granted"),
	 ALSO("ibv_create_srq/NOTES/destroy ibv_modify_srq/NOTES/none-modified"), NEEDS("srq"),
	 SAYS("SRQs up to the device's limits are created, larger ones are not; one that a QP uses is "
	      "not destroyed; attributes that are refused change nothing")},
	{"attributes", QPS("UD"), ARGS({"most", 1000})},
	{},
};

/* ---- Receives that end in another order than they were posted ---- */

#define ROUNDS 24

/* What one QP has sent and its responder has not yet received. */
struct stream {
	struct plan plan[3];
	struct cell_wr wr[3];
	unsigned int num, next;
};

static uint64_t slot_id(unsigned int round, unsigned int slot)
{
	return (uint64_t)(round + 1) << 56 | 0x00abcdef12340000u | slot;
}

static bool post_slots(struct kit *k, bool *posted, unsigned int round)
{
	struct link *l = k->l;
	struct ibv_recv_wr wr[LINK_RECV_SLOTS], *bad;
	struct ibv_sge sge[LINK_RECV_SLOTS];
	unsigned int num = 0;
	int ret = 0;

	for (unsigned int i = 0; i < LINK_RECV_SLOTS; i++) {
		if (posted[i])
			continue;
		sge[num] = (struct ibv_sge){arena_address(&l->recv, l->slot[i]), link_grh(l) + LINK_RECV_LEN,
					    l->recv.mr->lkey};
		wr[num] =
			(struct ibv_recv_wr){.wr_id = slot_id(round, i), .sg_list = &sge[num], .num_sge = 1};
		wr[num].next = NULL;
		if (num)
			wr[num - 1].next = &wr[num];
		posted[i] = true;
		num++;
	}
	if (num)
		ret = link_post_recv(l, wr, &bad);
	return KIT_MUST(k, !ret, "posting %u receives failed with %s", num, errno_name(ret));
}

static void send_round(struct kit *k, struct link *l, struct stream *s, unsigned int round, unsigned int who)
{
	struct posted posted;
	int ret = 0;

	arena_reset(&l->local);
	arena_reset(&l->target);
	s->num = 1 + (round + who) % 3;
	s->next = 0;
	for (unsigned int i = 0; i < s->num && !ret; i++) {
		s->wr[i] = k->cell->wr[0];
		s->wr[i].len[0] = (round * 977 + who * 2039 + i * 631) % kit_arg(k, "most", LINK_RECV_LEN);
		ret = plan_wr(&s->plan[i], l, &s->wr[i], i, k->r->seed + round * 8 + who);
	}
	KIT_CHECK(k, !ret, "buffers of the case: %s", errno_name(ret));
	posted = post_list(l, s->plan, s->num, &k->res->log);
	KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
}

/* The receive may be any that is posted; its contents are the next message of the QP. */
static void take_round(struct kit *k, struct link *l, struct stream *s, bool *posted, uint64_t *ids)
{
	for (unsigned int i = 0; i < s->num; i++)
		if (!kit_expect(k, l, l->cq, l->qp, s->plan[i].wr_id, IBV_WC_SUCCESS))
			return;
	while (s->next < s->num) {
		const struct plan *p = &s->plan[s->next++];
		struct ibv_wc wc;
		unsigned int slot;

		if (!kit_wait(k, l, l->peer_cq, &wc))
			return;
		slot = wc.wr_id & 0xffff;
		KIT_CHECK(k,
			  wc.status == IBV_WC_SUCCESS && wc.qp_num == l->peer->qp_num &&
				  wc.byte_len == p->total + link_grh(l),
			  "a receive of QP 0x%x ended with %s and %u bytes, expected QP 0x%x and %u",
			  wc.qp_num, value_name(status_names, wc.status), wc.byte_len, l->peer->qp_num,
			  p->total + link_grh(l));
		KIT_CHECK(k, slot < LINK_RECV_SLOTS && posted[slot] && wc.wr_id == ids[slot],
			  "wr_id 0x%llx is of no receive that is posted", (unsigned long long)wc.wr_id);
		posted[slot] = false;
		link_fetch(k->l);
		judge_bytes(&k->res->verdict, "the receive that wr_id names", p->payload,
			    k->l->slot[slot] + link_grh(l), p->total);
		if (!KIT_GOOD(k))
			return;
	}
}

/* Another size, greater and smaller in turn: first while all receives are posted, then while several have ended. */
static void resize(struct kit *k, unsigned int round)
{
	static const uint32_t sizes[] = {64, 48, 200, 32};
	int ret;

	if (round % 5 != 4 || !(k->r->dut.responder.attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE))
		return;
	ret = modify(k, sizes[round / 5 % 4], 0, IBV_SRQ_MAX_WR);
	if (ret)
		KIT_FAULT(k, "the resize failed with %s", errno_name(ret));
}

/* Two QPs of one SRQ receive long and short messages at the same time; between them its size changes. */
static void srq_out_of_order(struct kit *k)
{
	static struct stream streams[2];
	struct link other = {0}, *links[] = {k->l, &other};
	struct link_opts opts = {0};
	bool posted[LINK_RECV_SLOTS] = {false};
	uint64_t ids[LINK_RECV_SLOTS];

	if (!kit_link(k, API_SRQ, NULL))
		return;
	opts.srq = k->l->srq;
	if (!kit_link_second(k, &other, API_SRQ, &opts))
		return;
	for (unsigned int round = 0; round < ROUNDS && KIT_GOOD(k); round++) {
		for (unsigned int i = 0; i < LINK_RECV_SLOTS; i++)
			if (!posted[i])
				ids[i] = slot_id(round, i);
		if (round >= ROUNDS / 2)
			resize(k, round);
		if (!KIT_GOOD(k) || !post_slots(k, posted, round))
			break;
		if (round < ROUNDS / 2)
			resize(k, round);
		for (unsigned int i = 0; i < 2 && KIT_GOOD(k); i++)
			send_round(k, links[i], &streams[i], round, i);
		for (unsigned int i = 0; i < 2 && KIT_GOOD(k); i++)
			take_round(k, links[i], &streams[i], posted, ids);
	}
	collect_extra(k->l, k->res);
}

SCENARIO(srq_out_of_order) = {
	{"out-of-order", SUITE("srq"), QPS("RC"), POSTS("SEND 600"),
	 CLAUSE("ibv_post_srq_recv/NOTES/buffers"), NEEDS("srq"),
	 SAYS("the message is where wr_id says, also if two QPs receive at the same time and receives "
	      "end in another order than they were posted")},
	{"out-of-order", QPS("UD"), ARGS({"most", 1000})},
	{},
};

/* ---- Receives that are posted again ---- */

#define HALF 64

/* A receive of `num` pieces of HALF bytes each, in the memory of a slot. */
static bool post_receive(struct kit *k, unsigned int slot, uint64_t id, int num)
{
	const uintptr_t at = arena_address(&k->l->recv, k->l->slot[slot]);
	struct ibv_sge sge[] = {{at, link_grh(k->l) + HALF, k->l->recv.mr->lkey},
				{at + link_grh(k->l) + HALF, HALF, k->l->recv.mr->lkey}};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = sge, .num_sge = num}, *bad;
	const int ret = link_post_recv(k->l, &wr, &bad);

	return KIT_MUST(k, !ret, "posting a receive of %d SGEs failed with %s", num, errno_name(ret));
}

/* Posts a SEND of `len` bytes; its completion is `status`. */
static bool send_one(struct kit *k, struct link *l, struct plan *plan, uint32_t len,
		     enum ibv_wc_status status)
{
	struct cell_wr wr = k->cell->wr[0];
	struct posted posted;
	int ret;

	wr.num_len = 1;
	wr.len[0] = len;
	arena_reset(&l->local);
	ret = plan_wr(plan, l, &wr, 0, k->r->seed + len);
	posted = ret ? (struct posted){.rc = ret} : post_list(l, plan, 1, &k->res->log);
	if (posted.rc)
		KIT_FAULT(k, "a SEND of %u bytes was refused with %s", len, errno_name(posted.rc));
	return !posted.rc && kit_expect(k, l, l->cq, l->qp, plan->wr_id, status);
}

static bool receive(struct kit *k, struct link *l, unsigned int slot, uint64_t id, const struct plan *plan)
{
	if (!kit_expect(k, l, l->peer_cq, l->peer, id, IBV_WC_SUCCESS))
		return false;
	link_fetch(k->l);
	judge_bytes(&k->res->verdict, "the receive that wr_id names", plan->payload,
		    k->l->slot[slot] + link_grh(l), plan->total);
	return KIT_GOOD(k);
}

/* The receive of another QP is not polled, while many others are posted and end: it keeps its wr_id and its place. */
static void srq_held(struct kit *k)
{
	const uint64_t held = 0x6e1d00000000c0deu;
	static struct plan first, plan;
	struct link_opts opts = {0};
	struct link other = {0};
	bool good;

	if (!kit_link(k, API_SRQ, NULL))
		return;
	opts.srq = k->l->srq;
	good = kit_link_second(k, &other, API_SRQ, &opts) && post_receive(k, 0, held, 1) &&
	       send_one(k, &other, &first, HALF, IBV_WC_SUCCESS);
	for (uint32_t i = 1, most = 2 * size_of(k); good && i <= most; i++) {
		const unsigned int slot = 1 + i % (LINK_RECV_SLOTS - 1);

		good = post_receive(k, slot, slot_id(i, slot), 1) &&
		       send_one(k, k->l, &plan, i % HALF, IBV_WC_SUCCESS) &&
		       receive(k, k->l, slot, slot_id(i, slot), &plan);
	}
	if (good)
		receive(k, &other, 0, held, &first);
}

SCENARIO(srq_held) = {
	{"held", SUITE("srq"), QPS("RC"), POSTS("SEND 600"), CLAUSE("ibv_post_srq_recv/NOTES/buffers"),
	 NEEDS("srq"),
	 SAYS("a receive that is not polled while twice as many as the queue holds are posted and end "
	      "keeps its wr_id and its buffer")},
	{"held", QPS("UD"), ARGS({"most", 1000})},
	{},
};

/* A receive of one SGE, where one of two was posted before: what does not fit is refused, and is not written. */
static void srq_shorter(struct kit *k)
{
	static struct plan plan;
	uint8_t before[HALF], *behind;
	struct ibv_wc wc;
	bool good;

	if (!kit_link(k, API_SRQ, NULL))
		return;
	KIT_CHECK(k, k->l->cap.max_recv_sge > 1, "the SRQ has %u SGEs", k->l->cap.max_recv_sge);
	good = true;
	for (uint32_t i = 0, most = 2 * size_of(k); good && i < most; i++)
		good = post_receive(k, 0, slot_id(i, 0), 2) &&
		       send_one(k, k->l, &plan, 2 * HALF - i % HALF, IBV_WC_SUCCESS) &&
		       receive(k, k->l, 0, slot_id(i, 0), &plan);
	if (!good || !post_receive(k, 0, slot_id(0, 0), 1))
		return;
	behind = k->l->slot[0] + HALF;
	memcpy(before, behind, HALF);
	if (!send_one(k, k->l, &plan, 2 * HALF - 1, IBV_WC_REM_INV_REQ_ERR) ||
	    !kit_wait(k, k->l, k->l->peer_cq, &wc))
		return;
	KIT_CHECK(k, wc.status == IBV_WC_LOC_LEN_ERR && wc.wr_id == slot_id(0, 0),
		  "a receive of %d bytes for a message of %d ends with %s", HALF, 2 * HALF - 1,
		  value_name(status_names, wc.status));
	link_fetch(k->l);
	KIT_CHECK(k, !memcmp(before, behind, HALF), "bytes behind the receive's only SGE have changed");
}

SCENARIO(srq_shorter) = {
	{"srq-shorter", SUITE("sges"), QPS("RC"), POSTS("SEND 600"), CLAUSE("ibv_post_srq_recv/DESCRIPTION"),
	 ERRATA("FAILURE-STATUS"), STATUS("REM_INV_REQ_ERR"), NEEDS("srq"),
	 SAYS("a receive of one SGE, where one of two was posted before, refuses a message that is "
	      "longer, and nothing of it is written behind the SGE")},
	{},
};
