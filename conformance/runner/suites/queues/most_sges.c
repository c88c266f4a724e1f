/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* As many SGEs as the device says that it has, in receives, sends and READs: each of them, the last one too, has its bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "link/link_modify.h"
#include "suites/objects/own.h"

#define PLACE 16 /* bytes between the SGEs of a list, of which each takes fewer */
#define MOST  128

struct lists {
	struct kit *k;
	struct own o;
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	uint8_t *mem, *want;
	size_t half; /* the first half is sent, the second received */
	uint32_t lkey;
};

/* The bytes of SGE i: at least one, and few enough that the GRH of a datagram takes several SGEs. */
static uint32_t length(unsigned int i)
{
	return 1 + i * 7 % (PLACE - 1);
}

static uint32_t total(unsigned int num)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < num; i++)
		sum += length(i);
	return sum;
}

/* The list begins with the last place of its half: no SGE is next to the one before it. */
static void fill_list(const struct lists *t, struct ibv_sge *sge, unsigned int num, bool second)
{
	for (unsigned int i = 0; i < num; i++)
		sge[i] = (struct ibv_sge){(uintptr_t)t->mem + (second ? t->half : 0) +
						  (size_t)(num - 1 - i) * PLACE,
					  length(i), t->lkey};
}

static void fill(struct lists *t)
{
	for (size_t i = 0; i < 2 * t->half; i++)
		t->mem[i] = i < t->half ? (uint8_t)(i * 11 + (i >> 8) + 3) : 0xee;
	memcpy(t->want, t->mem, 2 * t->half);
}

/* Byte n of a list. */
static uint8_t *byte_of(const struct ibv_sge *sge, uint32_t n)
{
	for (; n >= sge->length; sge++)
		n -= sge->length;
	return (uint8_t *)(uintptr_t)sge->addr + n;
}

/* What must arrive: the bytes of one list in those of the other, `skip` bytes of which are undefined. */
static void expect(struct lists *t, const struct ibv_sge *from, const struct ibv_sge *to, uint32_t len,
		   uint32_t skip)
{
	end_sync();
	for (uint32_t n = 0; n < skip + len; n++) {
		uint8_t *at = byte_of(to, n);

		t->want[at - t->mem] = n < skip ? *at : *byte_of(from, n - skip);
	}
}

static bool done(struct lists *t, struct ibv_cq *cq, uint64_t wr_id)
{
	return own_expect(t->k, &t->o, cq, wr_id, IBV_WC_SUCCESS);
}

static int post_receive(struct lists *t, struct ibv_sge *to, unsigned int num)
{
	struct ibv_recv_wr wr = {.wr_id = 0x5e1, .sg_list = to, .num_sge = (int)num}, *bad;

	return t->srq ? ibv_post_srq_recv(t->srq, &wr, &bad) : ibv_post_recv(t->o.qp, &wr, &bad);
}

/* A message of as many SGEs as `from` has, received in as many as `to` has, or read. */
static void carry(struct lists *t, enum ibv_wr_opcode op, unsigned int num_from, unsigned int num_to)
{
	struct ibv_sge from[MOST], to[MOST];
	const uint32_t skip = t->ah ? LINK_GRH_LEN : 0;
	const uint32_t len = num_from == 1 ? total(num_to) - skip : total(num_from);
	struct ibv_send_wr wr = kit_wr(0x5e0, op, from), *bad;
	int ret;

	fill(t);
	fill_list(t, from, num_from, false);
	fill_list(t, to, num_to, true);
	if (num_from == 1)
		from[0].length = len;
	if (num_to == 1)
		to[0].length = len + skip;
	wr.num_sge = (int)num_from;
	wr.wr.ud.ah = t->ah;
	wr.wr.ud.remote_qpn = t->o.qp->qp_num;
	wr.wr.ud.remote_qkey = t->o.known.qkey;
	if (op == IBV_WR_RDMA_READ) { /* into the list */
		wr.sg_list = to;
		wr.num_sge = (int)num_to;
		wr.wr.rdma.remote_addr = from[0].addr;
		wr.wr.rdma.rkey = t->mr->rkey;
	}
	log_call(&t->k->res->log, "/* %s from %u SGEs to %u */", op == IBV_WR_SEND ? "SEND" : "RDMA_READ",
		 num_from, num_to);
	ret = op == IBV_WR_SEND ? post_receive(t, to, num_to) : 0;
	ret = ret ? ret : ibv_post_send(t->o.qp, &wr, &bad);
	if (ret)
		KIT_FAULT(t->k, "posting from %u SGEs to %u failed with %s", num_from, num_to,
			  errno_name(ret));
	if (ret || !done(t, t->o.send_cq, 0x5e0) || (op == IBV_WR_SEND && !done(t, t->o.recv_cq, 0x5e1)))
		return;
	expect(t, from, to, len, skip);
	judge_bytes(&t->k->res->verdict, "the list", t->want, t->mem, 2 * t->half);
}

/* A QP that is connected to itself, with these sizes. */
static bool open_lists(struct kit *k, struct lists *t, enum ibv_qp_type type, const struct ibv_qp_cap *cap)
{
	const struct end *end = &k->r->dut.requester;
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 2, .max_sge = cap->max_recv_sge}};
	struct ibv_ah_attr av;

	*t = (struct lists){.k = k, .half = (size_t)MOST * PLACE + 4096};
	t->o.init.cap = *cap;
	t->o.to_itself = true;
	t->mem = end_alloc(end->pd, 2 * t->half);
	t->want = made_zeroed(2, t->half);
	if (t->mem)
		t->mr = ibv_reg_mr(end->pd, t->mem, 2 * t->half,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	if (kit_arg(k, "srq", 0))
		t->srq = t->o.init.srq = ibv_create_srq(end->pd, &srq);
	link_address(end, end, &av);
	if (type == IBV_QPT_UD)
		t->ah = ibv_create_ah(end->pd, &av);
	if (!t->mr || !t->want || (kit_arg(k, "srq", 0) && !t->srq) || (type == IBV_QPT_UD && !t->ah)) {
		KIT_FAULT(k, "memory, SRQ or address handle: %s", errno_name(errno));
		return false;
	}
	t->lkey = t->mr->lkey;
	return own_create(k, &t->o, type) && own_reach(k, &t->o, IBV_QPS_RTS);
}

static unsigned int at_most(int limit)
{
	return limit < MOST ? (unsigned int)limit : MOST;
}

static void most_sges(struct kit *k)
{
	const struct ibv_device_attr *attr = &k->r->dut.requester.attr;
	const unsigned int send = at_most(attr->max_sge), read = at_most(attr->max_sge_rd);
	const unsigned int recv = at_most(kit_arg(k, "srq", 0) ? attr->max_srq_sge : attr->max_sge);
	struct lists t;

	if (open_lists(k, &t, k->cell->qpt, &(struct ibv_qp_cap){2, 2, send, recv, 0})) {
		carry(&t, IBV_WR_SEND, 1, recv);
		if (KIT_GOOD(k))
			carry(&t, IBV_WR_SEND, send, 1);
		if (KIT_GOOD(k) && !t.ah && send <= recv)
			carry(&t, IBV_WR_SEND, send, recv);
		if (KIT_GOOD(k) && k->cell->qpt == IBV_QPT_RC)
			carry(&t, IBV_WR_RDMA_READ, 1, read < send ? read : send);
	}
}

SCENARIO(most_sges) = {
	{"most-sges", SUITE("create"), QPS("RC UD"), CLAUSE("ibv_create_qp/DESCRIPTION/granted"),
	 ALSO("ibv_query_device/NOTES/limits"),
	 SAYS("as many SGEs as the device has, of a receive, a send and a READ, each hold their bytes")},
	{"most-sges-srq", ARGS({"srq", 1}), CLAUSE("ibv_create_srq/DESCRIPTION/granted"), NEEDS("srq")},
	{},
};

/* The READ is refused, or completes in error. */
static void no_read(struct lists *t, struct ibv_send_wr *wr)
{
	struct kit *k = t->k;
	struct ibv_send_wr *bad = NULL;
	struct ibv_wc wc;

	log_call(&k->res->log, "/* RDMA_READ to %d SGEs */", wr->num_sge);
	k->res->err = ibv_post_send(t->o.qp, wr, &bad);
	if (k->res->err) {
		seen(k->res, "refused with %s; ", errno_name(k->res->err));
		KIT_CHECK(k, bad == wr, "bad_wr does not name the READ that was refused");
	} else if (own_wait(k, &t->o, t->o.send_cq, &wc)) {
		KIT_CHECK(k, wc.status != IBV_WC_SUCCESS, "a READ to %d SGEs completed, max_sge_rd is %d",
			  wr->num_sge, k->r->dut.requester.attr.max_sge_rd);
	}
}

/* A READ of one SGE more than the device has for READs: no byte arrives. */
static void read_sges_over(struct kit *k)
{
	const struct ibv_device_attr *attr = &k->r->dut.requester.attr;
	const unsigned int over = at_most(attr->max_sge_rd) + 1;
	struct ibv_sge sge[MOST + 1];
	struct ibv_send_wr wr = kit_wr(0x5e0, IBV_WR_RDMA_READ, sge);
	struct lists t;

	if (open_lists(k, &t, IBV_QPT_RC, &(struct ibv_qp_cap){2, 2, at_most(attr->max_sge), 1, 0})) {
		fill(&t);
		fill_list(&t, sge, over, true);
		wr.num_sge = (int)over;
		wr.wr.rdma.remote_addr = (uintptr_t)t.mem;
		wr.wr.rdma.rkey = t.mr->rkey;
		no_read(&t, &wr);
		end_sync();
		judge_bytes(&k->res->verdict, "the list", t.want, t.mem, 2 * t.half);
	}
}

SCENARIO(read_sges_over) = {
	{"read-sges-over", SUITE("create"), QPS("RC"), CLAUSE("ibv_query_device/NOTES/limits"),
	 ALSO("ibv_create_qp/DESCRIPTION/granted"), LEVEL("SHOULD"),
	 SAYS("a READ of max_sge_rd SGEs and one more is refused, or completes in error, and no byte "
	      "is read")},
	{},
};

#define FULL 60 /* requests in a full queue: the CQ holds their completions */
#define WORD 4  /* bytes of an SGE */

/* SENDs of as many SGEs as the QP was granted, request i with the i-th part of the first half. */
static void fill_sends(struct lists *t, struct ibv_send_wr *wr, struct ibv_sge *sge, unsigned int num)
{
	const unsigned int sges = t->o.init.cap.max_send_sge;

	for (unsigned int i = 0; i < num; i++, sge += sges) {
		for (unsigned int j = 0; j < sges; j++)
			sge[j] = (struct ibv_sge){(uintptr_t)t->mem + (size_t)(i * sges + j) * WORD, WORD,
						  t->lkey};
		wr[i] = kit_wr(i, IBV_WR_SEND, sge);
		wr[i].num_sge = (int)sges;
		wr[i].next = i + 1 < num ? &wr[i + 1] : NULL;
		wr[i].wr.ud.ah = t->ah;
		wr[i].wr.ud.remote_qpn = t->o.qp->qp_num;
		wr[i].wr.ud.remote_qkey = t->o.known.qkey;
	}
}

/* Receive i has the i-th part of the second half. */
static int post_places(struct lists *t, unsigned int num, uint32_t len)
{
	int ret = 0;

	for (unsigned int i = 0; i < num && !ret; i++) {
		struct ibv_sge sge = {(uintptr_t)t->mem + t->half + (size_t)i * len, len, t->lkey};
		struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

		ret = ibv_post_recv(t->o.qp, &wr, &bad);
	}
	return ret;
}

/* All that were taken are executed with their own bytes. */
static void judge_full(struct lists *t, unsigned int taken, uint32_t skip)
{
	const uint32_t len = t->o.init.cap.max_send_sge * WORD;

	for (unsigned int i = 0; i < taken; i++)
		if (!done(t, t->o.send_cq, i) || !done(t, t->o.recv_cq, i))
			return;
	end_sync();
	for (unsigned int i = 0; i < taken && KIT_GOOD(t->k); i++) {
		size_t to = t->half + (size_t)i * (skip + len) + skip;

		judge_bytes(&t->k->res->verdict, "a message", t->mem + (size_t)i * len, t->mem + to, len);
	}
}

/* One list that fills the send queue, and goes on: its WQEs are as long as the QP allows. */
static void fill_queue(struct lists *t)
{
	const struct ibv_qp_cap *cap = &t->o.init.cap;
	const unsigned int num = cap->max_send_wr + 2 < FULL ? cap->max_send_wr + 2 : FULL;
	const uint32_t skip = t->ah ? LINK_GRH_LEN : 0;
	struct ibv_send_wr wr[FULL], *bad = NULL;
	struct ibv_sge *sge = calloc((size_t)num * cap->max_send_sge, sizeof(*sge));
	unsigned int taken = num;
	int ret;

	if (!sge || (size_t)num * (skip + cap->max_send_sge * WORD) > t->half) {
		seen(t->k->res, "%u requests of %u SGEs are too many; ", num, cap->max_send_sge);
		free(sge);
		return;
	}
	fill(t);
	fill_sends(t, wr, sge, num);
	ret = post_places(t, num, skip + cap->max_send_sge * WORD);
	if (ret)
		KIT_FAULT(t->k, "posting a receive failed with %s", errno_name(ret));
	ret = ret ? 0 : ibv_post_send(t->o.qp, wr, &bad);
	log_call(&t->k->res->log, "ibv_post_send(qp, wr, &bad_wr) /* a list of %u SENDs of %u SGEs */", num,
		 cap->max_send_sge);
	if (ret)
		taken = bad ? (unsigned int)(bad - wr) : 0;
	seen(t->k->res, "%u of %u are granted and %u were taken; ", cap->max_send_wr, num, taken);
	if (taken < num && taken < cap->max_send_wr)
		KIT_FAULT(t->k, "request %u was refused with %s, %u are granted", taken, errno_name(ret),
			  cap->max_send_wr);
	if (KIT_GOOD(t->k))
		judge_full(t, taken, skip);
	free(sge);
}

/* Queues of the longest requests that a QP allows, for each number of SGEs: none overwrites another. */
static void full_of_longest(struct kit *k)
{
	for (uint32_t sges = 1; sges <= 8 && KIT_GOOD(k); sges++) {
		const struct ibv_qp_cap cap = {4, FULL, sges, 1, 0};
		struct lists t;

		if (open_lists(k, &t, k->cell->qpt, &cap))
			fill_queue(&t);
		kit_unmake(k);
	}
}

SCENARIO(full_of_longest) = {
	{"longest", SUITE("full"), QPS("RC UD"), CLAUSE("ibv_create_qp/DESCRIPTION/max_send_wr"),
	 ERRATA("QUEUE-FULL"),
	 SAYS("a list of requests with as many SGEs as the QP has, longer than the queue: all that are "
	      "taken, at least as many as were granted, are executed with their own bytes")},
	{},
};
