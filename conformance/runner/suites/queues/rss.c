/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames over work queues: each goes to the one that the Toeplitz hash of its fields names, which is computed here, bit
 * by bit. The receiving end must be in this process: a peer process has no calls for work queues.
 */
#include <errno.h>
#include <string.h>

#include "judge/watchdog.h"
#include "suites/queues/work_queues.h"
#include "suites/transport/bytes.h"

#define WQS      4
#define LOG_SIZE 3
#define ENTRIES  (1 << LOG_SIZE)
#define RECEIVES 24 /* of each queue */
#define CQES     31
#define SMALL    3 /* the queue with the small CQ */
#define SLOT     256
#define MOST     160 /* bytes of a frame */
#define ETH      14
#define IPV4     20
#define IPV6     40
#define TCP      6
#define UDP      17

#define ADDRESSES_V4 (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4)
#define ADDRESSES_V6 (IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6)
#define PORTS_TCP    (IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP)
#define PORTS_UDP    (IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP)

struct spread {
	struct kit *k;
	struct ibv_cq *send_cq, *cq[WQS];
	struct ibv_wq *wq[WQS];
	unsigned int posted[WQS], used[WQS];
	struct ibv_qp *sender, *rss;
	struct ibv_rwq_ind_table *table;
	struct ibv_flow *flow;
	struct ibv_mr *from_mr, *to_mr;
	uint8_t *from, *to;
	uint32_t random;
	uint8_t key[WQ_KEY];
};

/* Which queue an entry of the table names: each at least once, not in order. */
static const uint8_t queue_of[ENTRIES] = {2, 0, 3, 1, 1, 2, 0, 2};

static uint8_t next_byte(struct spread *s)
{
	s->random = s->random * 1664525 + 1013904223;
	return s->random >> 24;
}

/* ---- Objects ---- */

static bool open_sender(struct spread *s)
{
	const struct end *end = &s->k->r->dut.requester;
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RAW_PACKET, .cap = {4, 0, 1, 0, 0}};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = end->port};

	init.send_cq = init.recv_cq = s->send_cq = ibv_create_cq(end->ctx, 8, NULL, NULL, 0);
	s->from = end_alloc(end->pd, 4096);
	s->from_mr = s->from ? ibv_reg_mr(end->pd, s->from, 4096, 0) : NULL;
	s->sender = s->send_cq ? ibv_create_qp(end->pd, &init) : NULL;
	if (!s->from_mr || !s->sender || ibv_modify_qp(s->sender, &attr, IBV_QP_STATE | IBV_QP_PORT))
		return false;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(s->sender, &attr, IBV_QP_STATE))
		return false;
	attr.qp_state = IBV_QPS_RTS;
	return !ibv_modify_qp(s->sender, &attr, IBV_QP_STATE);
}

static uint8_t *slot_of(const struct spread *s, unsigned int queue, unsigned int i)
{
	return s->to + (size_t)(queue * RECEIVES + i % RECEIVES) * SLOT;
}

/* One receive of two SGEs, of which the first one has another length for each queue. */
static bool post(struct spread *s, unsigned int queue)
{
	const unsigned int i = s->posted[queue]++, first = 17 + 20 * queue;
	uint8_t *at = slot_of(s, queue, i);
	struct ibv_sge sge[2] = {{(uintptr_t)at, first, s->to_mr->lkey},
				 {(uintptr_t)at + first, SLOT - first, s->to_mr->lkey}};
	struct ibv_recv_wr wr = {.wr_id = (uint64_t)queue << 32 | i, .sg_list = sge, .num_sge = 2}, *bad;
	const int ret = ibv_post_wq_recv(s->wq[queue], &wr, &bad);

	memset(at, 0xa5, SLOT);
	return KIT_MUST(s->k, !ret, "receive %u of work queue %u was refused with %s", i, queue,
			errno_name(ret));
}

static bool fill(struct spread *s, unsigned int queue)
{
	for (unsigned int i = 0; i < RECEIVES; i++)
		if (!post(s, queue))
			return false;
	return true;
}

static bool open_queues(struct spread *s)
{
	const struct end *end = &s->k->r->dut.responder;
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = RECEIVES, .max_sge = 2, .pd = end->pd};

	s->to = end_alloc(end->pd, WQS * RECEIVES * SLOT);
	s->to_mr = s->to ? ibv_reg_mr(end->pd, s->to, WQS * RECEIVES * SLOT, IBV_ACCESS_LOCAL_WRITE) : NULL;
	for (unsigned int i = 0; s->to_mr && i < WQS; i++) {
		init.cq = s->cq[i] = ibv_create_cq(end->ctx, i == SMALL ? 3 : CQES, NULL, NULL, 0);
		init.wq_context = &s->wq[i];
		s->wq[i] = init.cq ? ibv_create_wq(end->ctx, &init) : NULL;
		if (!s->wq[i] || wq_move(s->wq[i], IBV_WQS_RDY))
			return false;
		if (!fill(s, i))
			return false;
	}
	return s->to_mr;
}

/* False: nothing can be tested, or there is a fault. */
static bool open_all(struct kit *k, struct spread *s)
{
	*s = (struct spread){.k = k, .random = (uint32_t)k->r->seed};
	if (k->r->dut.remote) {
		seen(k->res, "the responder is in another process, which has no calls for work queues; ");
		return false;
	}
	for (unsigned int i = 0; i < WQ_KEY; i++)
		s->key[i] = next_byte(s);
	if (!open_sender(s) || !open_queues(s))
		KIT_FAULT(k, "objects of the case: %s", errno_name(errno));
	return KIT_GOOD(k);
}

static struct ibv_flow *steer(struct ibv_qp *qp, uint8_t port)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule), .num_of_specs = 1, .port = port},
		.eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth)},
	};

	memset(rule.eth.val.dst_mac, 0xff, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	return ibv_create_flow(qp, &rule.attr);
}

/* Replaces the QP by one over a table of all queues, or of the first alone. */
static bool hash(struct spread *s, uint64_t fields, bool alone)
{
	const struct end *end = &s->k->r->dut.responder;
	struct ibv_wq *entries[ENTRIES];
	struct ibv_rwq_ind_table_init_attr init = {.log_ind_tbl_size = alone ? 0 : LOG_SIZE,
						   .ind_tbl = entries};

	for (unsigned int i = 0; i < ENTRIES; i++)
		entries[i] = s->wq[queue_of[i]];
	if ((s->flow && ibv_destroy_flow(s->flow)) || (s->rss && ibv_destroy_qp(s->rss)) ||
	    (s->table && ibv_destroy_rwq_ind_table(s->table)))
		KIT_FAULT(s->k, "destruction of the QP over the table failed");
	s->rss = NULL;
	s->flow = NULL;
	s->table = ibv_create_rwq_ind_table(end->ctx, &init);
	log_call(&s->k->res->log, "/* a QP over a table, rx_hash_fields_mask 0x%x */", (unsigned int)fields);
	s->rss = s->table ? wq_rss_qp(end->pd, s->table, fields, s->key) : NULL;
	s->flow = s->rss ? steer(s->rss, end->port) : NULL;
	return KIT_MUST(s->k, s->flow, "a QP over a table, fields 0x%x: failed with %s", (unsigned int)fields,
			errno_name(errno));
}

/* ---- Frames ---- */

struct flow_frame {
	uint8_t bytes[MOST];
	uint32_t len;
	unsigned int src, dst, address, ports; /* offsets, length of an address */
};

/* A broadcast frame with random addresses and ports; TCP or UDP, over IPv4 or IPv6. */
static struct flow_frame make_frame(struct spread *s, bool v4, uint8_t protocol)
{
	const unsigned int ip = v4 ? IPV4 : IPV6, l4 = protocol == TCP ? 20 : 8,
			   data = 30 + next_byte(s) % 30;
	struct flow_frame f = {.len = ETH + ip + l4 + data,
			       .src = ETH + (v4 ? 12 : 8),
			       .address = v4 ? 4 : 16,
			       .ports = ETH + ip};
	uint8_t *at = f.bytes + ETH;

	f.dst = f.src + f.address;
	for (unsigned int i = 0; i < f.len; i++)
		f.bytes[i] = next_byte(s);
	memset(f.bytes, 0xff, 6);
	f.bytes[6] = 2; /* a local, individual address */
	put16(f.bytes + 12, v4 ? 0x0800 : 0x86dd);
	at[0] = v4 ? 0x45 : 0x60;
	put16(at + (v4 ? 2 : 4), (v4 ? ip : 0) + l4 + data);
	at[v4 ? 9 : 6] = protocol;
	if (v4) {
		put16(at + 6, 0); /* not a fragment */
		put16(at + 10, 0);
		put16(at + 10, sum_of(0, at, IPV4));
	}
	f.bytes[f.ports + 2] = 0x1f; /* not the port of RoCE */
	if (protocol == TCP)
		f.bytes[f.ports + 12] = 0x50;
	return f;
}

/* The fields to be hashed, in the order source address, destination address, source port, destination port. */
static unsigned int hashed(const struct flow_frame *f, uint64_t fields, uint8_t out[40])
{
	unsigned int len = 0;

#define TAKE(mask, offset, size)                                                                             \
	do {                                                                                                 \
		if (fields & (mask)) {                                                                       \
			memcpy(out + len, f->bytes + (offset), size);                                        \
			len += (size);                                                                       \
		}                                                                                            \
	} while (0)
	TAKE(IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_IPV6, f->src, f->address);
	TAKE(IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_DST_IPV6, f->dst, f->address);
	TAKE(IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP, f->ports, 2);
	TAKE(IBV_RX_HASH_DST_PORT_TCP | IBV_RX_HASH_DST_PORT_UDP, f->ports + 2, 2);
#undef TAKE
	return len;
}

/* For each bit of the input that is set, the 32 bits of the key from that bit on. */
static unsigned int expected(const struct spread *s, const struct flow_frame *f, uint64_t fields)
{
	uint8_t in[40];
	const unsigned int bits = 8 * hashed(f, fields, in);
	uint32_t sum = 0;

	for (unsigned int i = 0; i < bits; i++)
		for (unsigned int b = 0; b < 32 && in[i / 8] >> (7 - i % 8) & 1; b++)
			sum ^= (uint32_t)(s->key[(i + b) / 8] >> (7 - (i + b) % 8) & 1) << (31 - b);
	return queue_of[sum % ENTRIES];
}

static bool wait(struct spread *s, struct ibv_cq *cq, struct ibv_wc *wc, const char *what)
{
	struct watchdog w = watchdog(s->k->r->dut.timeout_ms);
	int ret;

	do
		ret = ibv_poll_cq(cq, 1, wc);
	while (!ret && !watchdog_expired(&w));
	if (ret != 1)
		KIT_FAULT(s->k, "%s did not come", what);
	else if (!kit_holds(s->k, !wc->status))
		KIT_FAULT(s->k, "%s: status %s", what, value_name(status_names, wc->status));
	return KIT_GOOD(s->k);
}

static bool put(struct spread *s, const struct flow_frame *f)
{
	struct ibv_sge sge = {(uintptr_t)s->from, f->len, s->from_mr->lkey};
	struct ibv_send_wr wr = kit_wr(1, IBV_WR_SEND, &sge), *bad;
	struct ibv_wc wc;
	int ret;

	memcpy(s->from, f->bytes, f->len);
	ret = ibv_post_send(s->sender, &wr, &bad);
	if (ret)
		KIT_FAULT(s->k, "posting a frame was refused with %s", errno_name(ret));
	return !ret && wait(s, s->send_cq, &wc, "the completion of a frame");
}

/* The frame must arrive in this queue, in its oldest receive; a new one is posted. */
static bool arrives(struct spread *s, const struct flow_frame *f, unsigned int queue)
{
	const unsigned int i = s->used[queue]++;
	struct ibv_wc wc = {0};

	if (!wait(s, s->cq[queue], &wc, "a frame that the hash gives to this work queue"))
		return false;
	if (!kit_holds(s->k, wc.wr_id == ((uint64_t)queue << 32 | i) &&
				     judge_number(&wc, s->wq[queue]->wq_num, true) &&
				     wc.opcode == IBV_WC_RECV))
		KIT_FAULT(s->k, "work queue %u: wr_id 0x%llx, qp_num 0x%x, expected 0x%llx, 0x%x", queue,
			  (unsigned long long)wc.wr_id, wc.qp_num,
			  (unsigned long long)((uint64_t)queue << 32 | i), s->wq[queue]->wq_num);
	else if (wc.byte_len != f->len || memcmp(slot_of(s, queue, i), f->bytes, f->len) ||
		 slot_of(s, queue, i)[f->len] != 0xa5)
		KIT_FAULT(s->k, "work queue %u: %u bytes, expected %u, or their contents are wrong", queue,
			  wc.byte_len, f->len);
	return KIT_GOOD(s->k) && post(s, queue);
}

/* No queue has a completion. */
static bool none(struct spread *s)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < WQS; i++)
		if (ibv_poll_cq(s->cq[i], 1, &wc))
			KIT_FAULT(s->k, "work queue %u has a frame that must be elsewhere", i);
	return KIT_GOOD(s->k);
}

static bool spread_frames(struct spread *s, uint64_t fields, bool v4, uint8_t protocol)
{
	for (unsigned int i = 0; i < 10; i++) {
		const struct flow_frame f = make_frame(s, v4, protocol);

		if (!put(s, &f) || !arrives(s, &f, expected(s, &f, fields)) || !none(s))
			return false;
	}
	return true;
}

static void rss_fields(struct kit *k)
{
	static const struct {
		uint64_t fields;
		bool v4;
		uint8_t protocol;
	} tries[] = {
		{ADDRESSES_V4 | PORTS_UDP, true, UDP},
		{ADDRESSES_V4 | PORTS_TCP, true, TCP},
		{ADDRESSES_V6 | PORTS_UDP, false, UDP},
		{ADDRESSES_V6 | PORTS_TCP, false, TCP},
		{ADDRESSES_V4, true, TCP},
		{ADDRESSES_V6, false, UDP},
		{IBV_RX_HASH_SRC_IPV4, true, UDP},
		{IBV_RX_HASH_DST_IPV4, true, TCP},
		{IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_SRC_PORT_TCP, false, TCP},
		{IBV_RX_HASH_DST_IPV6 | IBV_RX_HASH_DST_PORT_TCP, false, TCP},
		{IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_PORT_UDP, true, UDP},
		{IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_PORT_UDP, true, UDP},
	};
	struct spread s;

	if (!open_all(k, &s))
		return;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
		if (!hash(&s, tries[i].fields, false) ||
		    !spread_frames(&s, tries[i].fields, tries[i].v4, tries[i].protocol))
			break;
	if (KIT_GOOD(k) && hash(&s, 0, true)) { /* one entry needs no hash */
		const struct flow_frame f = make_frame(&s, true, UDP);

		if (put(&s, &f) && arrives(&s, &f, queue_of[0]))
			none(&s);
	}
}

SCENARIO(rss_fields) = {
	{"hash", SUITE("wq"), QPS("RAW_PACKET"), CLAUSE("ibv_create_qp_ex/DESCRIPTION/rx_hash_fields_mask"),
	 ALSO("ibv_create_rwq_ind_table/NOTES/hash"), LEVEL("SHOULD"), ERRATA("RSS-HASH"),
	 NEEDS("work_queues"),
	 SAYS("each frame arrives in the work queue that the hash of its fields names, for sets of "
	      "fields of IPv4, IPv6, TCP and UDP")},
	{},
};

/* A frame for this queue. */
static struct flow_frame frame_to(struct spread *s, unsigned int queue)
{
	struct flow_frame f;

	do
		f = make_frame(s, true, UDP);
	while (expected(s, &f, ADDRESSES_V4) != queue);
	return f;
}

/* The frame is dropped: the one after it, to another queue, comes alone. */
static bool dropped(struct spread *s, unsigned int queue, const char *what)
{
	const unsigned int other = (queue + 1) % WQS;
	const struct flow_frame f = frame_to(s, queue), next = frame_to(s, other);

	log_call(&s->k->res->log, "/* a frame to a work queue %s */", what);
	return put(s, &f) && put(s, &next) && arrives(s, &next, other) && none(s);
}

static bool flushed(struct spread *s, unsigned int queue, unsigned int num)
{
	struct watchdog w = watchdog(s->k->r->dut.timeout_ms);
	struct ibv_wc wc;

	while (num) {
		const int ret = ibv_poll_cq(s->cq[queue], 1, &wc);

		if (!ret && !watchdog_expired(&w))
			continue;
		if (ret != 1 || wc.status != IBV_WC_WR_FLUSH_ERR ||
		    wc.wr_id != ((uint64_t)queue << 32 | s->used[queue])) {
			KIT_FAULT(s->k, "work queue %u in the error state: receive %u is not flushed", queue,
				  s->used[queue]);
			return false;
		}
		s->used[queue]++;
		num--;
	}
	return true;
}

/* A queue that is not in RDY, or has no receive, takes no frame; the others do. */
static void rss_drops(struct kit *k)
{
	struct flow_frame f;
	struct spread s;

	if (!open_all(k, &s) || !hash(&s, ADDRESSES_V4, false) || wq_move(s.wq[1], IBV_WQS_RESET) ||
	    !dropped(&s, 1, "in RESET") || wq_move(s.wq[1], IBV_WQS_RDY) ||
	    !dropped(&s, 1, "without receives"))
		return;
	s.posted[1] = s.used[1] = 0;
	f = frame_to(&s, 1);
	if (!fill(&s, 1) || !put(&s, &f) || !arrives(&s, &f, 1) || wq_move(s.wq[1], IBV_WQS_ERR) ||
	    !flushed(&s, 1, RECEIVES) || !dropped(&s, 1, "in the error state"))
		return;
	f = frame_to(&s, 2);
	if (put(&s, &f))
		arrives(&s, &f, 2);
}

SCENARIO(rss_drops) = {
	{"drops", SUITE("wq"), QPS("RAW_PACKET"), CLAUSE("ibv_create_wq/DESCRIPTION/IBV_WQ_FLAGS_DELAY_DROP"),
	 LEVEL("SHOULD"), ERRATA("WQ-STATES RSS-HASH"), NEEDS("work_queues"),
	 SAYS("frames to a work queue that is not in RDY, or has no receive, are dropped, and others "
	      "arrive")},
	{},
};

/* Frames are lost when the CQ is full: both it and the queue say so, and the other queues go on. */
static void rss_overrun(struct kit *k)
{
	struct ibv_async_event event;
	struct flow_frame f;
	struct spread s;
	int told = 0;

	kit_drain_async(k->r->dut.responder.ctx);
	if (!open_all(k, &s) || !hash(&s, ADDRESSES_V4, false))
		return;
	if (s.cq[SMALL]->cqe >= RECEIVES) {
		seen(k->res, "a CQ of %d entries cannot be overrun; ", s.cq[SMALL]->cqe);
		return;
	}
	for (int i = 0; i <= s.cq[SMALL]->cqe && KIT_GOOD(k); i++) {
		f = frame_to(&s, SMALL);
		put(&s, &f);
	}
	while (KIT_GOOD(k) && told != 3) {
		if (!kit_next_async(k->r->dut.responder.ctx, k->r->dut.timeout_ms, &event))
			KIT_FAULT(k, "no event of the CQ or of the work queue that overran");
		else if (event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == s.cq[SMALL])
			told |= 1;
		else if (event.event_type == IBV_EVENT_WQ_FATAL && event.element.wq == s.wq[SMALL])
			told |= 2;
		else
			KIT_FAULT(k, "event %d, expected those of the CQ and the work queue that overran",
				  event.event_type);
	}
	f = frame_to(&s, 0);
	if (KIT_GOOD(k) && put(&s, &f))
		arrives(&s, &f, 0);
}

SCENARIO(rss_overrun) = {
	{"overrun", SUITE("wq"), QPS("RAW_PACKET"),
	 CLAUSE("ibv_get_async_event/DESCRIPTION/IBV_EVENT_CQ_ERR"), LEVEL("SHOULD"),
	 ERRATA("ASYNC-WHEN WQ-STATES"), NEEDS("work_queues"),
	 SAYS("when the CQ of a work queue overruns, IBV_EVENT_CQ_ERR and IBV_EVENT_WQ_FATAL name the "
	      "two, and other work queues go on")},
	{},
};
