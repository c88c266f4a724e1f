/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Many queues at a time, each of another size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "suites/objects/own.h"

#define SRQS   72
#define QUEUES 36          /* at a time */
#define SENDS  6           /* of each queue */
#define LOW    12          /* bits that the numbers of two QPs have in common */
#define MOST   (2u << LOW) /* QPs until then, at most */
#define ENDS   2
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

static void end(struct crowd *c)
{
	if (c->mr)
		ibv_dereg_mr(c->mr);
	end_free(c->bytes);
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
		ret = ibv_post_recv(o->qp, &recv, &bad_recv);
	}
	for (unsigned int i = 0; i < (queue % 2 ? 1 : SENDS) && !ret; i++)
		ret = ibv_post_send(o->qp, &send[i], &bad);
	if (ret)
		KIT_FAULT(k, "queue %u: posting was refused with %s", queue, errno_name(ret));
	return !ret;
}

static bool arrived(struct kit *k, const struct crowd *c, struct own *o, unsigned int queue)
{
	struct link l = {.dut = &k->r->dut, .cq = o->send_cq, .peer_cq = o->recv_cq};

	for (unsigned int i = 0; i < SENDS; i++) {
		const uint8_t *at = from(c, queue, i);

		if (!kit_expect(k, &l, o->send_cq, o->qp, i, IBV_WC_SUCCESS) ||
		    !kit_expect(k, &l, o->recv_cq, o->qp, 100 + i, IBV_WC_SUCCESS))
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
		goto out;
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
out:
	for (unsigned int i = 0; i < QUEUES; i++)
		own_destroy(&o[i]);
	end(&c);
}

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
	ibv_destroy_qp(o->qp);
	*o = (struct own){0};
}

/* A number is 24 bits long in doorbells, contexts, packets and CQEs: two QPs with the same low bits carry their own. */
static void queue_numbers(struct kit *k)
{
	struct ibv_qp **others = calloc(MOST, sizeof(*others));
	struct own o[2 + ENDS] = {0};
	struct crowd c = {0};
	unsigned int count = 0;

	if (!others || !begin(k, &c) || !create(k, &o[0], 0))
		goto out;
	o[1].to_itself = true;
	if (!own_begin(k, &o[1], IBV_QPT_RC))
		goto out;
	count = pass_numbers(k, &o[0], &o[1], others);
	if (!KIT_GOOD(k) || !own_reach(k, &o[1], IBV_QPS_RTS))
		goto out;
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
out:
	while (count)
		ibv_destroy_qp(others[--count]);
	for (unsigned int i = 2; i < 2 + ENDS; i++)
		if (o[i].qp)
			ibv_destroy_qp(o[i].qp);
	own_destroy(&o[1]);
	own_destroy(&o[0]);
	end(&c);
	free(others);
}

/* A message to the QP's SRQ has the wr_id of its receive, and its bytes. */
static bool through(struct kit *k, const struct crowd *c, struct ibv_srq *srq, unsigned int number)
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
		struct link l = {.dut = &k->r->dut, .cq = o.send_cq, .peer_cq = o.recv_cq};

		if (ibv_post_srq_recv(srq, &recv, &bad_recv) || ibv_post_send(o.qp, &send, &bad))
			KIT_FAULT(k, "SRQ %u: posting was refused", number);
		else if (kit_expect(k, &l, o.send_cq, o.qp, number, IBV_WC_SUCCESS) &&
			 kit_expect(k, &l, o.recv_cq, o.qp, 1000 + number, IBV_WC_SUCCESS))
			judge_bytes(&k->res->verdict, "the message", at, at + BYTES, BYTES);
	}
	own_destroy(&o);
	return KIT_GOOD(k);
}

/* Many are there at a time; some are destroyed, and the others are used. */
static void many_srqs(struct kit *k)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 3, .max_sge = 1}};
	struct ibv_srq *srq[SRQS] = {0};
	struct crowd c = {0};
	bool good = begin(k, &c);

	for (unsigned int i = 0; i < SRQS && good; i++) {
		init.attr.max_wr = 3 + i;
		srq[i] = ibv_create_srq(k->r->dut.requester.pd, &init);
		good = srq[i];
		if (!good)
			KIT_FAULT(k, "ibv_create_srq failed with %s", errno_name(errno));
	}
	for (unsigned int i = 0; i < SRQS && good; i += 7) {
		good = !ibv_destroy_srq(srq[i]);
		srq[i] = NULL;
		if (!good)
			KIT_FAULT(k, "ibv_destroy_srq failed");
	}
	for (unsigned int i = 0; i < SRQS; i++) {
		if (srq[i] && good)
			good = through(k, &c, srq[i], i);
		if (srq[i])
			ibv_destroy_srq(srq[i]);
	}
	end(&c);
}

const struct scenario crowd_scenarios[] = {
	{"many_srqs", many_srqs},
	{"many_queues", many_queues},
	{"queue_numbers", queue_numbers},
	{NULL, NULL},
};
