/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a destroyed work queue has left in its CQ. */
#include <errno.h>

#include "suites/queues/work_queues.h"

#define RECEIVES  4
#define NAMESAKES 3000 /* created, one after the other: numbers come twice in the same order */

static bool post(struct kit *k, struct ibv_wq *wq, uint64_t wr_id)
{
	for (unsigned int i = 0; i < RECEIVES; i++) {
		struct ibv_recv_wr wr = {.wr_id = wr_id + i}, *bad;
		const int ret = ibv_post_wq_recv(wq, &wr, &bad);

		if (!KIT_MUST(k, !ret, "receive %u was refused with %s", i, errno_name(ret)))
			return false;
	}
	return true;
}

/* NULL and a fault. */
static struct ibv_wq *create(struct kit *k, struct ibv_cq *cq)
{
	const struct end *end = &k->r->dut.requester;
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = RECEIVES, .max_sge = 1, .pd = end->pd, .cq = cq};
	struct ibv_wq *wq = ibv_create_wq(end->ctx, &init);

	return KIT_MUST(k, wq, "ibv_create_wq failed with %s", errno_name(errno));
}

static bool move(struct kit *k, struct ibv_wq *wq, enum ibv_wq_state state)
{
	const int ret = wq_move(wq, state);

	return KIT_MUST(k, !ret, "ibv_modify_wq to state %d failed with %s", state, errno_name(ret));
}

static bool is(const struct ibv_wq *wq, uint32_t number, const struct ibv_cq *cq)
{
	return wq && wq->wq_num == number && wq->cq == cq;
}

/*
 * Those before the one with the number have a CQ of their own: their destruction must not touch the entries that are
 * left. So the first time that the number comes shows what comes before it.
 */
static struct ibv_wq *namesake(struct kit *k, struct ibv_cq *cq, uint32_t number)
{
	struct ibv_cq *other = ibv_create_cq(k->r->dut.requester.ctx, 1, NULL, NULL, 0);
	uint32_t last = 0, before = UINT32_MAX;
	struct ibv_wq *wq = NULL;

	if (!other)
		KIT_FAULT(k, "ibv_create_cq failed with %s", errno_name(errno));
	for (unsigned int i = 0; i < NAMESAKES && KIT_GOOD(k) && !is(wq, number, cq); i++) {
		if (is(wq, number, other))
			before = last;
		last = wq ? wq->wq_num : 0;
		if (wq && ibv_destroy_wq(wq))
			KIT_FAULT(k, "ibv_destroy_wq failed");
		wq = create(k, last == before ? cq : other);
	}
	if (wq && !is(wq, number, cq)) {
		ibv_destroy_wq(wq);
		wq = NULL;
		seen(k->res, "no new work queue has the old one's number; ");
	}
	return wq;
}

static bool flushed(struct kit *k, struct ibv_cq *cq, uint64_t wr_id)
{
	struct link l = {.dut = &k->r->dut, .cq = cq, .peer_cq = cq};
	struct ibv_wc wc;

	if (!kit_wait(k, &l, cq, &wc))
		return false;
	if (wc.wr_id != wr_id || wc.status != IBV_WC_WR_FLUSH_ERR)
		KIT_FAULT(k, "wr_id 0x%llx has status %s, expected 0x%llx and IBV_WC_WR_FLUSH_ERR",
			  (unsigned long long)wc.wr_id, value_name(status_names, wc.status),
			  (unsigned long long)wr_id);
	return KIT_GOOD(k);
}

static bool all_flushed(struct kit *k, struct ibv_cq *cq, uint64_t wr_id)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < RECEIVES; i++)
		if (!flushed(k, cq, wr_id + i))
			return false;
	if (ibv_poll_cq(cq, 1, &wc))
		KIT_FAULT(k, "a completion of wr_id 0x%llx, all were polled", (unsigned long long)wc.wr_id);
	return KIT_GOOD(k);
}

/* Its number, once its receives are in the CQ, and one is polled; 0 and a fault. */
static uint32_t leave_entries(struct kit *k, struct ibv_cq *cq)
{
	struct ibv_wq *wq = create(k, cq);
	uint32_t number = 0;

	if (!wq)
		return 0;
	if (move(k, wq, IBV_WQS_RDY) && post(k, wq, 0x01d0) && move(k, wq, IBV_WQS_ERR) &&
	    flushed(k, cq, 0x01d0))
		number = wq->wq_num;
	log_call(&k->res->log, "/* ibv_destroy_wq(wq): 0x%x, with completions in the CQ */", wq->wq_num);
	if (ibv_destroy_wq(wq))
		KIT_FAULT(k, "ibv_destroy_wq failed");
	return number;
}

static void use_namesake(struct kit *k, struct ibv_cq *cq, struct ibv_wq *wq)
{
	struct ibv_wc wc;

	if (!move(k, wq, IBV_WQS_RDY) || !post(k, wq, 0xbad0))
		return;
	KIT_CHECK(k, !ibv_poll_cq(cq, 1, &wc),
		  "a completion of a new work queue that has received nothing: wr_id 0x%llx",
		  (unsigned long long)wc.wr_id);
	if (move(k, wq, IBV_WQS_ERR))
		all_flushed(k, cq, 0xbad0);
}

/* The completions of a work queue that is destroyed do not turn up for a new one with its number. */
static void wq_namesake(struct kit *k)
{
	struct ibv_cq *cq = ibv_create_cq(k->r->dut.requester.ctx, 4 * RECEIVES, NULL, NULL, 0);
	uint32_t number = cq ? leave_entries(k, cq) : 0;
	struct ibv_wq *wq = number ? namesake(k, cq, number) : NULL;

	KIT_CHECK(k, cq, "ibv_create_cq failed with %s", errno_name(errno));
	if (wq && KIT_GOOD(k))
		use_namesake(k, cq, wq);
}

SCENARIO(wq_namesake) = {
	{"namesake", SUITE("wq"), QPS("RAW_PACKET"), CLAUSE("ibv_poll_cq/NOTES/removed"), LEVEL("SHOULD"),
	 ERRATA("CQ-PURGE"), NEEDS("work_queues"),
	 SAYS("completions of a work queue that is destroyed do not turn up for a new one with its "
	      "number")},
	{},
};
