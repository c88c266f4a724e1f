/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Objects of the requester that others use: each destruction is refused, and works once the user is gone. */
#include <errno.h>
#include <string.h>

#include "link/link_xrc.h"
#include "suites/objects/own.h"

/* A destruction that must be refused. `first`: the fault that is reported, if the user could not be made. */
#define HELD(k, user, call, what)                                                                            \
	do {                                                                                                 \
		KIT_CHECK(k, user, "%s: the user of the object was not created: %s", what,                   \
			  errno_name(errno));                                                                \
		refusal(k, call, what);                                                                      \
		if (!KIT_GOOD(k))                                                                            \
			return;                                                                              \
	} while (0)
#define GONE(k, call) KIT_CHECK(k, !(call), "%s failed, nothing uses the object", #call)

static void refusal(struct kit *k, int ret, const char *what)
{
	log_call(&k->res->log, "/* %s: must be refused */", what);
	k->res->err = ret;
	if (!kit_holds(k, ret > 0))
		KIT_FAULT(k, "%s: returned %d, must be an errno", what, ret);
	else if (kit_arg(k, "busy", 0) && ret != EBUSY)
		KIT_FAULT(k, "%s: refused with %s, expected EBUSY", what, errno_name(ret));
}

static struct ibv_qp *qp_of(struct kit *k, struct ibv_cq *send, struct ibv_cq *recv, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = send, .recv_cq = recv, .srq = srq, .qp_type = IBV_QPT_RC, .cap = {2, 2, 1, 1, 0}};

	return ibv_create_qp(k->r->dut.requester.pd, &init);
}

/* Each of two CQs of a QP, the SRQ of a QP, and the channel of a CQ. */
static void held_queues(struct kit *k)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_cq *send = ibv_create_cq(ctx, 4, NULL, channel, 0);
	struct ibv_cq *recv = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(k->r->dut.requester.pd, &attr);
	struct ibv_qp *qp;

	KIT_CHECK(k, channel && send && recv && srq, "the queues: %s", errno_name(errno));
	HELD(k, send, ibv_destroy_comp_channel(channel), "a channel with a CQ");
	for (int turn = 0; turn < 2; turn++) { /* refusals leave the objects as they are */
		qp = qp_of(k, send, recv, turn ? srq : NULL);
		HELD(k, qp, ibv_destroy_cq(send), "the CQ of a QP's sends");
		HELD(k, qp, ibv_destroy_cq(recv), "the CQ of a QP's receives");
		if (turn)
			HELD(k, qp, ibv_destroy_srq(srq), "the SRQ of a QP");
		GONE(k, ibv_destroy_qp(qp));
	}
	qp = qp_of(k, recv, recv, srq);
	HELD(k, qp, ibv_destroy_cq(recv), "the CQ of both queues of a QP");
	GONE(k, ibv_destroy_cq(send));
	GONE(k, ibv_destroy_qp(qp));
	GONE(k, ibv_destroy_comp_channel(channel));
	GONE(k, ibv_destroy_srq(srq));
	GONE(k, ibv_destroy_cq(recv));
}

SCENARIO(held_queues) = {
	{"held-queues", SUITE("objects"), QPS("RC"), CLAUSE("ibv_create_cq/NOTES/destroy"),
	 ALSO("ibv_create_srq/NOTES/destroy ibv_create_comp_channel/NOTES/destroy"), NEEDS("srq"),
	 SAYS("either CQ of a QP, its SRQ, and the channel of a CQ cannot be destroyed before their "
	      "user")},
	{},
};

/* A PD with a window, which is bound to nothing. */
static void held_by_window(struct kit *k)
{
	struct ibv_pd *pd = ibv_alloc_pd(k->r->dut.requester.ctx);
	struct ibv_mw *mw;

	KIT_CHECK(k, pd, "ibv_alloc_pd failed with %s", errno_name(errno));
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	HELD(k, mw, ibv_dealloc_pd(pd), "a PD with a memory window");
	GONE(k, ibv_dealloc_mw(mw));
	GONE(k, ibv_dealloc_pd(pd));
}

SCENARIO(held_by_window) = {
	{"held-window", SUITE("objects"), QPS("RC"), ARGS({"busy", 1}), CLAUSE("ibv_alloc_pd/NOTES/busy"),
	 LEVEL("SHOULD"), ERRATA("HELD"), NEEDS("memory_windows/2"),
	 SAYS("a PD with a window: EBUSY, and each can be destroyed when its user is gone")},
	{},
};

/* What an SRQ of an XRC domain and a receiving QP use. */
static void held_by_xrc(struct kit *k)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_srq_attr attr = {.max_wr = 4, .max_sge = 1};
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	struct ibv_xrcd *xrcd = link_xrcd(ctx);
	struct ibv_srq *srq;
	struct ibv_qp *qp;

	KIT_CHECK(k, pd && cq && xrcd, "PD, CQ, XRC domain: %s", errno_name(errno));
	srq = link_xrc_srq(pd, xrcd, cq, &attr);
	HELD(k, srq, ibv_close_xrcd(xrcd), "an XRC domain with an SRQ");
	HELD(k, srq, ibv_dealloc_pd(pd), "a PD with an SRQ of an XRC domain");
	HELD(k, srq, ibv_destroy_cq(cq), "a CQ with an SRQ of an XRC domain");
	GONE(k, ibv_destroy_srq(srq));
	qp = link_xrc_recv(xrcd);
	HELD(k, qp, ibv_close_xrcd(xrcd), "an XRC domain with a QP");
	GONE(k, ibv_destroy_qp(qp));
	GONE(k, ibv_close_xrcd(xrcd));
	GONE(k, ibv_destroy_cq(cq));
	GONE(k, ibv_dealloc_pd(pd));
}

SCENARIO(held_by_xrc) = {
	{"held-xrc", SUITE("objects"), QPS("XRC_SEND"), ARGS({"busy", 1}), CLAUSE("ibv_open_xrcd/NOTES/busy"),
	 ALSO("ibv_alloc_pd/NOTES/busy"), LEVEL("SHOULD"), ERRATA("HELD"), NEEDS("srq"),
	 SAYS("an XRC domain with an SRQ or a QP, and the PD and the CQ of that SRQ: EBUSY, and each "
	      "can be destroyed when its user is gone")},
	{},
};

static void held_by_region(struct kit *k)
{
	struct ibv_alloc_dm_attr attr = {.length = 4096};
	struct ibv_pd *pd = ibv_alloc_pd(k->r->dut.requester.ctx);
	struct ibv_dm *dm = ibv_alloc_dm(k->r->dut.requester.ctx, &attr);
	struct ibv_mr *mr;

	KIT_CHECK(k, pd && dm, "ibv_alloc_pd or ibv_alloc_dm failed with %s", errno_name(errno));
	mr = ibv_reg_dm_mr(pd, dm, 0, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
	HELD(k, mr, ibv_free_dm(dm), "device memory with a region");
	HELD(k, mr, ibv_dealloc_pd(pd), "a PD with a region of device memory");
	GONE(k, ibv_dereg_mr(mr));
	GONE(k, ibv_free_dm(dm));
	GONE(k, ibv_dealloc_pd(pd));
}

SCENARIO(held_by_region) = {
	{"held-region", SUITE("objects"), QPS("RC"), ARGS({"busy", 1}), CLAUSE("ibv_alloc_dm/NOTES/busy"),
	 ALSO("ibv_alloc_pd/NOTES/busy"), LEVEL("SHOULD"), ERRATA("HELD"), NEEDS("device_memory"),
	 SAYS("device memory with a region, and the PD of the region: EBUSY, and each can be destroyed "
	      "when its user is gone")},
	{},
};

static struct ibv_qp *hashed(struct kit *k, struct ibv_rwq_ind_table *table)
{
	static uint8_t key[40];
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_RAW_PACKET,
					   .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
							IBV_QP_INIT_ATTR_RX_HASH,
					   .pd = k->r->dut.requester.pd,
					   .rwq_ind_tbl = table,
					   .rx_hash_conf = {IBV_RX_HASH_FUNC_TOEPLITZ, sizeof(key), key,
							    IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4}};

	return ibv_create_qp_ex(k->r->dut.requester.ctx, &init);
}

/* A CQ of a work queue, the work queue of a table, the table of a QP. */
static void held_by_table(struct kit *k)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = k->r->dut.requester.pd};
	struct ibv_rwq_ind_table_init_attr attr = {.log_ind_tbl_size = 0};
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp;
	struct ibv_wq *wq;

	init.cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	KIT_CHECK(k, init.cq, "ibv_create_cq failed with %s", errno_name(errno));
	wq = ibv_create_wq(ctx, &init);
	HELD(k, wq, ibv_destroy_cq(init.cq), "a CQ with a work queue");
	attr.ind_tbl = &wq;
	table = ibv_create_rwq_ind_table(ctx, &attr);
	HELD(k, table, ibv_destroy_wq(wq), "a work queue in a table");
	qp = hashed(k, table);
	HELD(k, qp, ibv_destroy_rwq_ind_table(table), "a table with a QP");
	GONE(k, ibv_destroy_qp(qp));
	GONE(k, ibv_destroy_rwq_ind_table(table));
	GONE(k, ibv_destroy_wq(wq));
	GONE(k, ibv_destroy_cq(init.cq));
}

SCENARIO(held_by_table) = {
	{"held-table", SUITE("objects"), QPS("RAW_PACKET"), ARGS({"busy", 1}),
	 CLAUSE("ibv_create_wq/RETURN-VALUE/destroy"), LEVEL("SHOULD"), ERRATA("HELD"), NEEDS("work_queues"),
	 SAYS("the CQ of a work queue, a work queue in a table, a table with a QP: EBUSY, and each can "
	      "be destroyed when its user is gone")},
	{},
};

static struct ibv_flow *rule(struct ibv_qp *qp, uint8_t last_of_mac)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} flow = {.attr = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(flow), .num_of_specs = 1, .port = 1},
		  .eth = {.type = IBV_FLOW_SPEC_ETH,
			  .size = sizeof(flow.eth),
			  .val.dst_mac = {2, 0, 0, 0, 0, last_of_mac}}};

	memset(flow.eth.mask.dst_mac, 0xff, sizeof(flow.eth.mask.dst_mac));
	return ibv_create_flow(qp, &flow.attr);
}

/* A QP with two rules, in any state; and its PD, which the QP uses all the time. */
static void held_by_flow(struct kit *k)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RAW_PACKET, .cap = {2, 2, 1, 1, 0}};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_flow *flow[2];
	struct ibv_qp *qp;

	init.send_cq = init.recv_cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	KIT_CHECK(k, pd && init.send_cq, "PD and CQ: %s", errno_name(errno));
	qp = ibv_create_qp(pd, &init);
	KIT_CHECK(k, qp && !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT), "the QP: %s",
		  errno_name(errno));
	for (int i = 0; i < 2; i++)
		flow[i] = rule(qp, (uint8_t)(0x51 + i));
	HELD(k, flow[0] && flow[1], ibv_destroy_qp(qp), "a QP with two flows");
	GONE(k, ibv_destroy_flow(flow[0]));
	HELD(k, qp, ibv_destroy_qp(qp), "a QP with a flow");
	attr.qp_state = IBV_QPS_RESET;
	GONE(k, ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	HELD(k, qp, ibv_destroy_qp(qp), "a QP with a flow, in RESET");
	HELD(k, qp, ibv_dealloc_pd(pd), "a PD with a QP that has a flow");
	GONE(k, ibv_destroy_flow(flow[1]));
	GONE(k, ibv_destroy_qp(qp));
	GONE(k, ibv_destroy_cq(init.send_cq));
	GONE(k, ibv_dealloc_pd(pd));
}

SCENARIO(held_by_flow) = {
	{"held-flow", SUITE("objects"), QPS("RAW_PACKET"), ARGS({"busy", 1}),
	 CLAUSE("ibv_create_flow/RETURN-VALUE/destroy"), ALSO("ibv_alloc_pd/NOTES/busy"), LEVEL("SHOULD"),
	 ERRATA("HELD"),
	 SAYS("a QP with two flows, with one, and in RESET, and the PD of the QP: EBUSY, and each can "
	      "be destroyed when its user is gone")},
	{},
};
