/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tag matching in a small CQ, in memory whose pages are absent, and next to XRC domains. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "link/link_xrc.h"
#include "suites/queues/tags.h"

#define TMH ((uint32_t)sizeof(struct ibv_tmh))

/* ---- A CQ that is full again and again ---- */

#define SMALL 4
#define TURNS 25
#define SLOTS 16 /* receives at a time, at most */

/* As many messages as the CQ has entries, none of which is polled before all are there. */
static bool fill_and_poll(struct tags *t, unsigned int num)
{
	for (unsigned int i = 0; i < num; i++)
		if (!tags_recv(t, i) || !tags_send(t, IBV_TMH_NO_TAG, 0, TMH + 1 + i))
			return false;
	for (unsigned int i = 0; i < num; i++) {
		if (!tags_expect(t, TAGS_RECV + i, IBV_WC_TM_NO_TAG, IBV_WC_SUCCESS, 0))
			return false;
		if (!kit_holds(t->k, t->wc.byte_len == TMH + 1 + i))
			KIT_FAULT(t->k, "byte_len is %u, expected %u", t->wc.byte_len, TMH + 1 + i);
	}
	return KIT_GOOD(t->k);
}

static void small(struct kit *k, struct tags *t)
{
	const unsigned int num = ibv_cq_ex_to_cq(t->cq)->cqe;

	KIT_CHECK(k, num >= SMALL, "the CQ has %u entries, %u were asked for", num, SMALL);
	for (unsigned int i = 0; i < TURNS && KIT_GOOD(k); i++) /* after a full CQ a single message */
		fill_and_poll(t, i % 2 ? 1 : num < SLOTS ? num : SLOTS);
}

static void tag_small_cq(struct kit *k)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = SMALL,
					   .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO};
	struct tags_opts opts = {0};

	if (!k->r->dut.remote) {
		opts.cq = ibv_create_cq_ex(k->r->dut.responder.ctx, &attr);
		KIT_CHECK(k, opts.cq, "ibv_create_cq_ex failed with %s", errno_name(errno));
	}
	tags_run(k, &opts, small);
}

SCENARIO(tag_small_cq) = {
	{"small-cq", SUITE("tags"), QPS("RC"), CLAUSE("tag_matching/no-tag"), ERRATA("TM-NO-TAG"),
	 NEEDS("tag_matching"),
	 SAYS("a CQ that is full, and is polled, has room for as many completions again, every time")},
	{},
};

/* ---- Absent pages ---- */

/* The first of two entries with the same tag is in memory that the device does not have yet: it is taken all the same. */
static void absent(struct kit *k, struct tags *t, uint8_t *mem, struct ibv_mr *mr)
{
	struct ibv_sge sge = {(uintptr_t)mem, 200, mr->lkey};
	struct ibv_ops_wr wr = {.wr_id = TAGS_OP + 1, .opcode = IBV_WR_TAG_ADD, .flags = IBV_OPS_SIGNALED};

	wr.tm.add = (typeof(wr.tm.add)){
		.recv_wr_id = TAGS_RECV + 1, .sg_list = &sge, .num_sge = 1, .tag = 7, .mask = UINT64_MAX};
	KIT_CHECK(k, !tags_post(t, &wr), "IBV_WR_TAG_ADD was refused");
	if (!tags_expect(t, TAGS_OP + 1, IBV_WC_TM_ADD, IBV_WC_SUCCESS, 0) ||
	    !tags_must_add(t, (struct tags_entry){.slot = 2, .tag = 7, .mask = UINT64_MAX, .len = 200},
			   NULL) ||
	    !tags_send(t, IBV_TMH_EAGER, 7, TMH + 150) ||
	    !tags_expect(t, TAGS_RECV + 1, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE))
		return;
	judge_bytes(&k->res->verdict, "the entry in absent pages", t->from + TMH, mem, 150);
	if (KIT_GOOD(k) && tags_send(t, IBV_TMH_EAGER, 7, TMH + 90) &&
	    tags_expect(t, TAGS_RECV + 2, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE))
		tags_data(t, 2, t->from + TMH, 90);
}

static void absent_pages(struct kit *k, struct tags *t)
{
	const size_t size = 1 << 14;
	uint8_t *mem = made_pages(size, MAP_PRIVATE);
	struct ibv_mr *mr;

	KIT_CHECK(k, mem, "no memory");
	mr = ibv_reg_mr(k->r->dut.responder.pd, mem, size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	if (!mr)
		KIT_FAULT(k, "ibv_reg_mr failed with %s", errno_name(errno));
	else
		absent(k, t, mem + 4000, mr);
}

static void tag_absent(struct kit *k)
{
	tags_run(k, &(const struct tags_opts){0}, absent_pages);
}

SCENARIO(tag_absent) = {
	{"absent", SUITE("tags"), QPS("RC"), ARGS({"sent_again", 1}), CLAUSE("tag_matching/order"),
	 NEEDS("tag_matching on_demand/{qp}/SRQ_RECV"),
	 SAYS("an entry whose pages the device does not have is taken before another one with the same "
	      "tag")},
	{},
};

/* ---- Numbers ---- */

#define EACH 4

static struct ibv_srq *tag_queue(const struct end *end, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = {.max_wr = 4, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = end->pd,
		.cq = cq,
		.tm_cap = {2, 2},
	};

	return ibv_create_srq_ex(end->ctx, &attr);
}

/* An XRC domain with a QP. */
static struct ibv_qp *xrc_receiver(const struct end *end)
{
	struct ibv_xrcd *xrcd = link_xrcd(end->ctx);

	return xrcd ? link_xrc_recv(xrcd) : NULL;
}

/* Numbers of tag matching queues and of XRC domains have nothing to do with each other: each domain has its QP. */
static void tag_numbers(struct kit *k)
{
	const struct end *end = &k->r->dut.requester;
	struct ibv_cq *cq = ibv_create_cq(end->ctx, 16, NULL, NULL, 0);

	KIT_CHECK(k, cq, "ibv_create_cq failed with %s", errno_name(errno));
	for (unsigned int i = 0; i < EACH; i++)
		KIT_CHECK(k, tag_queue(end, cq), "the tag matching queue: %s", errno_name(errno));
	for (unsigned int i = 0; i < EACH; i++)
		KIT_CHECK(k, xrc_receiver(end), "XRC domain %u and its QP: %s", i, errno_name(errno));
}

SCENARIO(tag_numbers) = {
	{"numbers", SUITE("tags"), QPS("RC"), CLAUSE("ibv_create_srq_ex/DESCRIPTION/max_num_tags"),
	 ERRATA("TM-LIMITS"), NEEDS("tag_matching operations/XRC_SEND"),
	 SAYS("several queues with a tag list, and then as many XRC domains with a QP each, are created")},
	{},
};
