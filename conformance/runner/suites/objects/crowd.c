/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Many queues at a time, each of another size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "suites/objects/own.h"

#define SRQS 72
#define ROUND                                                                                                \
	1500 /* objects that are created and destroyed, one after the other: until numbers are used again */
#define QUEUES 36          /* at a time */
#define SENDS  6           /* of each queue */
#define LOW    12          /* bits that the numbers of two QPs have in common */
#define MOST   (2u << LOW) /* QPs until then, at most */
#define ENDS   2
#define BITS   10 /* numbers that are powers of two */
#define BYTES  32
#define MEMORY ((size_t)QUEUES * SENDS * 2 * BYTES)

struct crowd {
	struct ibv_mr *mr;
	uint8_t *bytes;
};

static bool begin(struct kit *k, struct crowd *c)
{
	struct ibv_pd *pd = k->r->dut.requester.pd;

	c->bytes = end_alloc(pd, MEMORY);
	c->mr = c->bytes ? ibv_reg_mr(pd, c->bytes, MEMORY, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!c->mr)
		KIT_FAULT(k, "memory of the case: %s", errno_name(errno));
	for (size_t i = 0; c->mr && i < MEMORY; i++)
		c->bytes[i] = (uint8_t)(i % BYTES * 5 + i / BYTES);
	return c->mr;
}

/* SENDs of the queue with this number to itself: each has bytes and a place of its own. */
static uint8_t *from(const struct crowd *c, unsigned int queue, unsigned int send)
{
	return c->bytes + (size_t)(queue * SENDS + send) * 2 * BYTES;
}

/* The sends of every other queue are one list, for which the doorbell rings once. */
static bool post(struct kit *k, const struct crowd *c, struct own *o, unsigned int queue)
{
	struct ibv_send_wr send[SENDS], *bad;
	struct ibv_sge sge[SENDS];
	int ret = 0;

	for (unsigned int i = 0; i < SENDS && !ret; i++) {
		uint8_t *at = from(c, queue, i);
		struct ibv_sge to = {(uintptr_t)at + BYTES, BYTES, c->mr->lkey};
		struct ibv_recv_wr recv = {.wr_id = 100 + i, .sg_list = &to, .num_sge = 1}, *bad_recv;

		memset(at + BYTES, 0, BYTES);
		sge[i] = (struct ibv_sge){(uintptr_t)at, BYTES, c->mr->lkey};
		send[i] = kit_wr(i, IBV_WR_SEND, &sge[i]);
		if (queue % 2 && i)
			send[i - 1].next = &send[i];
		ret = o->init.srq ? ibv_post_srq_recv(o->init.srq, &recv, &bad_recv)
				  : ibv_post_recv(o->qp, &recv, &bad_recv);
	}
	for (unsigned int i = 0; i < (queue % 2 ? 1 : SENDS) && !ret; i++)
		ret = ibv_post_send(o->qp, &send[i], &bad);
	return KIT_MUST(k, !ret, "queue %u: posting was refused with %s", queue, errno_name(ret));
}

static bool arrived(struct kit *k, const struct crowd *c, struct own *o, unsigned int queue)
{
	for (unsigned int i = 0; i < SENDS; i++) {
		const uint8_t *at = from(c, queue, i);

		if (!own_expect(k, o, o->send_cq, i, IBV_WC_SUCCESS) ||
		    !own_expect(k, o, o->recv_cq, 100 + i, IBV_WC_SUCCESS))
			return false;
		if (!memcmp(at, at + BYTES, BYTES))
			continue;
		KIT_FAULT(k, "queue %u: message %u arrived with other bytes", queue, i);
		return false;
	}
	return true;
}

static bool create(struct kit *k, struct own *o, unsigned int queue)
{
	*o = (struct own){.to_itself = true};
	o->init.cap = (struct ibv_qp_cap){SENDS + queue * queue, SENDS + queue * 3, 1 + queue % 3,
					  1 + queue % 2, queue % 2 ? BYTES : 0};
	return own_create(k, o, IBV_QPT_RC) && own_reach(k, o, IBV_QPS_RTS);
}

/* All are there at a time and are used in turn; twice half of them is replaced, and all are used again. */
static void many_queues(struct kit *k)
{
	struct own o[QUEUES] = {0};
	struct crowd c = {0};

	if (!begin(k, &c))
		return;
	for (unsigned int i = 0; i < QUEUES && KIT_GOOD(k); i++)
		create(k, &o[i], i);
	for (unsigned int turn = 0; turn < 3 && KIT_GOOD(k); turn++) {
		for (unsigned int i = 0; i < QUEUES && KIT_GOOD(k); i++)
			post(k, &c, &o[i], i);
		for (unsigned int i = 0; i < QUEUES && KIT_GOOD(k); i++)
			arrived(k, &c, &o[i], i);
		for (unsigned int i = turn; i < QUEUES && KIT_GOOD(k) && turn < 2; i += 2) {
			own_destroy(&o[i]);
			create(k, &o[i], i);
		}
	}
}

SCENARIO(many_queues) = {
	{"many-queues", SUITE("objects"), QPS("RC"), CLAUSE("ibv_query_device/NOTES/limits"), LEVEL("SHOULD"),
	 SAYS("queues of many sizes are there at a time, and each carries its own messages, also after "
	      "half of them were replaced")},
	{},
};

static bool same_low_bits(const struct ibv_qp *a, const struct ibv_qp *b)
{
	return !((a->qp_num ^ b->qp_num) & ((1u << LOW) - 1));
}

/* Whether the low bits are all 0 or all 1: the ends of a table. */
static bool at_an_end(const struct ibv_qp *qp)
{
	return ((qp->qp_num + 1) & ((1u << LOW) - 1)) <= 1;
}

static void take(struct own *o, struct ibv_qp *qp)
{
	o->qp = qp;
	o->known_mask = IBV_QP_STATE;
	o->known.qp_state = IBV_QPS_RESET;
}

/*
 * Creates QPs until one has the low bits of `one`: that is o's, the others are never used, but for two at the ends, of
 * the queues behind o. The last one, if the device has no more. Returns how many others there are.
 */
static unsigned int pass_numbers(struct kit *k, const struct own *one, struct own *o, struct ibv_qp **others)
{
	unsigned int ends = 0;
	struct ibv_qp_init_attr init = {.send_cq = o->send_cq, .recv_cq = o->recv_cq, .qp_type = IBV_QPT_RC};
	unsigned int n = 0;

	init.cap = (struct ibv_qp_cap){SENDS, SENDS, 1, 1, 0};
	while (n < MOST && (others[n] = ibv_create_qp(k->r->dut.requester.pd, &init))) {
		if (at_an_end(others[n]) && ends < ENDS) {
			take(&o[++ends], others[n]);
			continue;
		}
		n++;
		if (same_low_bits(others[n - 1], one->qp))
			break;
	}
	if (!n) {
		KIT_FAULT(k, "ibv_create_qp failed with %s", errno_name(errno));
		return 0;
	}
	take(o, others[--n]);
	return n;
}

/* A QP that uses the CQs of another one carries its messages. */
static void use_end(struct kit *k, const struct crowd *c, const struct own *of, struct own *o,
		    unsigned int queue)
{
	if (!o->qp || !KIT_GOOD(k))
		return;
	o->to_itself = true;
	o->send_cq = of->send_cq;
	o->recv_cq = of->recv_cq;
	if (own_reach(k, o, IBV_QPS_RTS) && post(k, c, o, queue))
		arrived(k, c, o, queue);
}

/* A number is 24 bits long in doorbells, contexts, packets and CQEs: two QPs with the same low bits carry their own. */
static void queue_numbers(struct kit *k)
{
	struct ibv_qp **others = made_zeroed(MOST, sizeof(*others));
	struct own o[2 + ENDS] = {0};
	struct crowd c = {0};
	unsigned int count = 0;

	if (!others || !begin(k, &c) || !create(k, &o[0], 0))
		return;
	o[1].to_itself = true;
	if (!own_begin(k, &o[1], IBV_QPT_RC))
		return;
	count = pass_numbers(k, &o[0], &o[1], others);
	if (!KIT_GOOD(k) || !own_reach(k, &o[1], IBV_QPS_RTS))
		return;
	for (unsigned int turn = 0; turn < 2 && KIT_GOOD(k); turn++) {
		for (unsigned int i = 0; i < 2; i++)
			post(k, &c, &o[i], i);
		for (unsigned int i = 0; i < 2 && KIT_GOOD(k); i++)
			arrived(k, &c, &o[i], i);
		while (count)
			ibv_destroy_qp(others[--count]);
	}
	for (unsigned int i = 2; i < 2 + ENDS; i++)
		use_end(k, &c, &o[1], &o[i], i);
}

SCENARIO(queue_numbers) = {
	{"queue-numbers", SUITE("objects"), QPS("RC"), CLAUSE("ibv_query_device/NOTES/limits"),
	 LEVEL("SHOULD"),
	 SAYS("two queues whose numbers differ only above the lowest 12 bits, as they do where "
	      "thousands are there: each carries its own messages")},
	{},
};

/* A message to the QP's SRQ has the wr_id of its receive, and its bytes. */
static void through(struct kit *k, const struct crowd *c, struct ibv_srq *srq, unsigned int number)
{
	struct own o = {.to_itself = true, .init.srq = srq};
	uint8_t *at = from(c, 0, 0);
	struct ibv_sge sge = {(uintptr_t)at, BYTES, c->mr->lkey},
		       to = {(uintptr_t)at + BYTES, BYTES, c->mr->lkey};
	struct ibv_recv_wr recv = {.wr_id = 1000 + number, .sg_list = &to, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send = kit_wr(number, IBV_WR_SEND, &sge), *bad;

	memset(at, (int)number + 1, BYTES);
	o.init.cap = (struct ibv_qp_cap){SENDS, 0, 1, 0, 0};
	if (own_create(k, &o, IBV_QPT_RC) && own_reach(k, &o, IBV_QPS_RTS)) {

		if (ibv_post_srq_recv(srq, &recv, &bad_recv) || ibv_post_send(o.qp, &send, &bad))
			KIT_FAULT(k, "SRQ %u: posting was refused", number);
		else if (own_expect(k, &o, o.send_cq, number, IBV_WC_SUCCESS) &&
			 own_expect(k, &o, o.recv_cq, 1000 + number, IBV_WC_SUCCESS))
			judge_bytes(&k->res->verdict, "the message", at, at + BYTES, BYTES);
	}
	own_destroy(&o);
}

/* Many are there at a time; some are destroyed, and the others are used. */
static void many_srqs(struct kit *k)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 3, .max_sge = 1}};
	struct ibv_srq *srq[SRQS] = {0};
	struct crowd c = {0};

	if (!begin(k, &c))
		return;
	for (unsigned int i = 0; i < SRQS; i++) {
		init.attr.max_wr = 3 + i;
		srq[i] = ibv_create_srq(k->r->dut.requester.pd, &init);
		KIT_CHECK(k, srq[i], "ibv_create_srq failed with %s", errno_name(errno));
	}
	for (unsigned int i = 0; i < SRQS; i += 7) {
		KIT_CHECK(k, !ibv_destroy_srq(srq[i]), "ibv_destroy_srq failed");
		srq[i] = NULL;
	}
	for (unsigned int i = 0; i < SRQS && KIT_GOOD(k); i++)
		if (srq[i])
			through(k, &c, srq[i], i);
}

SCENARIO(many_srqs) = {
	{"many-srqs", SUITE("objects"), QPS("RC"), CLAUSE("ibv_create_srq/DESCRIPTION/granted"), NEEDS("srq"),
	 SAYS("of many shared receive queues, some of which are destroyed, each other one has its own "
	      "messages")},
	{},
};

/*
 * An SRQ whose receives have all been used is made larger, if the device can: as many are used again, each once. Then it
 * is made smaller.
 */
static void srq_grows(struct kit *k)
{
	const bool resizes = k->r->dut.requester.attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE;
	struct ibv_srq_init_attr init = {.attr = {.max_wr = SENDS, .max_sge = 1}};
	struct ibv_srq_attr more = {.max_wr = 5 * SENDS}, less = {.max_wr = 1};
	struct own o = {.to_itself = true};
	struct crowd c = {0};

	o.init.cap = (struct ibv_qp_cap){SENDS, 0, 1, 0, 0};
	o.init.srq = ibv_create_srq(k->r->dut.requester.pd, &init);
	if (!o.init.srq)
		KIT_FAULT(k, "ibv_create_srq failed with %s", errno_name(errno));
	else if (begin(k, &c) && own_create(k, &o, IBV_QPT_RC) && own_reach(k, &o, IBV_QPS_RTS))
		for (int turn = 0; turn < 3 && KIT_GOOD(k); turn++) {
			if (!post(k, &c, &o, 0) || !arrived(k, &c, &o, 0) || turn || !resizes)
				continue;
			if (ibv_modify_srq(o.init.srq, &more, IBV_SRQ_MAX_WR))
				KIT_FAULT(k, "ibv_modify_srq to %u receives failed", more.max_wr);
		}
	if (KIT_GOOD(k) && resizes && ibv_modify_srq(o.init.srq, &less, IBV_SRQ_MAX_WR))
		KIT_FAULT(k, "ibv_modify_srq to 1 receive failed, none is posted");
	own_destroy(&o);
	if (o.init.srq && ibv_destroy_srq(o.init.srq))
		KIT_FAULT(k, "ibv_destroy_srq failed");
}

SCENARIO(srq_grows) = {
	{"srq-grows", SUITE("objects"), QPS("RC"), CLAUSE("ibv_modify_srq/DESCRIPTION/IBV_SRQ_MAX_WR"),
	 LEVEL("SHOULD"), NEEDS("srq"),
	 SAYS("an SRQ whose receives have all been used is made larger: each of those that are posted "
	      "then is used once, in order")},
	{},
};

static bool power_of_two(uint32_t number)
{
	return number && !(number & (number - 1));
}

/*
 * Of SRQs that come and go a few stay: those whose numbers are powers of two, as sizes are. The device may leave their
 * numbers unsaid.
 */
static unsigned int keep_some(struct kit *k, struct ibv_srq *kept[BITS])
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 3, .max_sge = 1}};
	unsigned int num = 0;

	for (unsigned int i = 0; i < ROUND && num < BITS; i++) {
		struct ibv_srq *srq = ibv_create_srq(k->r->dut.requester.pd, &init);
		uint32_t number;

		if (!srq) {
			KIT_FAULT(k, "ibv_create_srq failed with %s", errno_name(errno));
			break;
		}
		if (ibv_get_srq_num(srq, &number)) {
			ibv_destroy_srq(srq);
			break;
		}
		if (power_of_two(number))
			kept[num++] = srq;
		else if (ibv_destroy_srq(srq))
			KIT_FAULT(k, "ibv_destroy_srq failed");
	}
	return num;
}

/* The destruction of an SRQ takes away its own number, and no other that it has. */
static void srq_numbers(struct kit *k)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 3, .max_sge = 1}};
	struct ibv_srq *kept[BITS] = {0}, *last;
	struct crowd c = {0};
	unsigned int num = 0;

	if (begin(k, &c))
		num = keep_some(k, kept);
	for (init.attr.max_sge = 1; init.attr.max_sge <= 5 && KIT_GOOD(k); init.attr.max_sge += 2) {
		last = ibv_create_srq(k->r->dut.requester.pd, &init);
		if (!last || ibv_destroy_srq(last))
			KIT_FAULT(k, "an SRQ for %u SGEs: %s", init.attr.max_sge, errno_name(errno));
	}
	seen(k->res, "%u kept; ", num);
	for (unsigned int i = 0; i < num && KIT_GOOD(k); i++)
		through(k, &c, kept[i], i);
}

SCENARIO(srq_numbers) = {
	{"srq-numbers", SUITE("objects"), QPS("RC"), CLAUSE("ibv_query_device/NOTES/limits"), LEVEL("SHOULD"),
	 NEEDS("srq"),
	 SAYS("SRQs whose numbers are powers of two receive messages after hundreds of others, of "
	      "several sizes, came and went")},
	{},
};

/* Whether a work queue had this handle; it is destroyed again. */
static bool pass_handle(struct kit *k, struct ibv_cq *cq, uint32_t handle)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = k->r->dut.requester.pd, .cq = cq};

	for (unsigned int i = 0; i < ROUND && KIT_GOOD(k); i++) {
		struct ibv_wq *wq = ibv_create_wq(k->r->dut.requester.ctx, &init);
		const bool found = wq && wq->handle == handle;

		if (!wq || ibv_destroy_wq(wq))
			KIT_FAULT(k, "a work queue: %s", errno_name(errno));
		if (found)
			return true;
	}
	return false;
}

/* A QP has the number that was the handle of a work queue: it carries its messages when that is gone. */
static void queue_handles(struct kit *k)
{
	struct own o = {0};
	struct crowd c = {0};

	if (begin(k, &c) && create(k, &o, 0)) {
		if (!pass_handle(k, o.recv_cq, o.qp->qp_num))
			seen(k->res, "no work queue had the handle 0x%x; ", o.qp->qp_num);
		if (KIT_GOOD(k) && post(k, &c, &o, 0))
			arrived(k, &c, &o, 0);
	}
}

SCENARIO(queue_handles) = {
	{"queue-handles", SUITE("objects"), QPS("RC"), CLAUSE("ibv_query_device/NOTES/limits"),
	 LEVEL("SHOULD"), NEEDS("work_queues"),
	 SAYS("a QP with the number that was the handle of a work queue carries its messages after "
	      "that was destroyed")},
	{},
};
