// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Asynchronous events; completion queues that run over, are moderated or resized; memory that changes in use. */
#include "completions.h"

#include <poll.h>

static void modify_state(struct ibv_qp *qp, struct ibv_qp_attr attr, int mask)
{
	CHECK(!(errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask)));
}

/* The first request comes while the responder is in RTR. */
static void communication_established(struct link *l)
{
	struct pair p;

	pair_open(&p, l, &(struct options){.peer_rtr = true});
	post_write(&p, 1);
	CHECK(next_wc(p.cq[0]).status == IBV_WC_SUCCESS);
	expect_event(l, 1, IBV_EVENT_COMM_EST, p.qp[1]);
	pair_close(&p);
}

static void drained(struct link *l)
{
	struct pair p;

	pair_open(&p, l, &(struct options){});
	post_write(&p, 1);
	modify_state(p.qp[0], (struct ibv_qp_attr){.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1},
		     IBV_QP_EN_SQD_ASYNC_NOTIFY);
	expect_event(l, 0, IBV_EVENT_SQ_DRAINED, p.qp[0]);
	CHECK(next_wc(p.cq[0]).status == IBV_WC_SUCCESS);
	post_write(&p, 2); /* waits for RTS */
	modify_state(p.qp[0], (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS}, 0);
	CHECK(next_wc(p.cq[0]).wr_id == 2);
	pair_close(&p);
}

/* The CQ and the QP are told; what was in the CQ before is intact. */
static void overrun(struct link *l)
{
	struct pair p;
	int n;

	pair_open(&p, l, &(struct options){.cqes = 4});
	n = p.cq[0]->cqe;
	for (int i = 0; i <= n; i++)
		post_write(&p, i);
	expect_event(l, 0, IBV_EVENT_CQ_ERR, p.cq[0]);
	expect_event(l, 0, IBV_EVENT_QP_FATAL, p.qp[0]);
	for (int i = 0; i < n; i++) {
		struct ibv_wc wc = next_wc(p.cq[0]);

		CHECK(wc.wr_id == (uint64_t)i && wc.status == IBV_WC_SUCCESS);
	}
	CHECK(!ibv_poll_cq(p.cq[0], 1, &(struct ibv_wc){}));
	CHECK(state_of(p.qp[0]) == IBV_QPS_ERR);
	pair_close(&p);
}

static void shared_queue(struct link *l)
{
	struct ibv_sge sge = at(l, 0, 64);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_srq_attr attr = {.srq_limit = 2};
	struct pair p;

	pair_open(&p, l, &(struct options){.srq = true});
	for (int i = 0; i < 2; i++)
		post_recv(&p, i, at(l, 1, 64));
	CHECK(!(errno = ibv_modify_srq(p.srq, &attr, IBV_SRQ_LIMIT)));
	post(p.qp[0], &wr);
	CHECK(next_wc(p.cq[1]).wr_id == 0);
	expect_event(l, 1, IBV_EVENT_SRQ_LIMIT_REACHED, p.srq);
	modify_state(p.qp[1], (struct ibv_qp_attr){.qp_state = IBV_QPS_ERR}, 0);
	expect_event(l, 1, IBV_EVENT_QP_LAST_WQE_REACHED, p.qp[1]);
	pair_close(&p);
}

static bool told(struct ibv_comp_channel *channel, int ms)
{
	struct pollfd p = {.fd = channel->fd, .events = POLLIN};
	struct ibv_cq *cq;
	void *context;

	if (poll(&p, 1, ms) != 1)
		return false;
	CHECK(!ibv_get_cq_event(channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void moderate(struct ibv_cq *cq, uint16_t count, uint16_t us)
{
	struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {count, us}};

	CHECK(!(errno = ibv_modify_cq(cq, &attr)));
}

/* One event for three completions; with a period, for fewer when it is over. Without either, for each. */
static void moderation(struct link *l)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(l->ctx[0]);
	struct ibv_device_attr_ex attr;
	struct pair p;

	CHECK(channel && !ibv_query_device_ex(l->ctx[0], NULL, &attr));
	CHECK(attr.cq_mod_caps.max_cq_count == 65535 && attr.cq_mod_caps.max_cq_period == 65535);
	pair_open(&p, l, &(struct options){});
	CHECK(!ibv_destroy_qp(p.qp[0]) && !ibv_destroy_cq(p.cq[0]));
	p.cq[0] = ibv_create_cq(l->ctx[0], 64, NULL, channel, 0);
	CHECK(p.cq[0]);
	p.qp[0] = link_create_qp(l, 0, p.cq[0], NULL);
	CHECK(!ibv_destroy_qp(p.qp[1]));
	p.qp[1] = link_create_qp(l, 1, p.cq[1], NULL);
	link_connect(l, p.qp);
	moderate(p.cq[0], 3, 0);
	CHECK(!ibv_req_notify_cq(p.cq[0], 0));
	for (int i = 0; i < 3; i++) {
		CHECK(!told(channel, 0));
		post_write(&p, i);
		CHECK(next_wc(p.cq[0]).wr_id == (uint64_t)i);
	}
	CHECK(told(channel, PATIENCE_S * 1000));
	moderate(p.cq[0], 3, 1000);
	CHECK(!ibv_req_notify_cq(p.cq[0], 0));
	post_write(&p, 3);
	CHECK(next_wc(p.cq[0]).wr_id == 3);
	CHECK(told(channel, PATIENCE_S * 1000));
	moderate(p.cq[0], 0, 0);
	CHECK(!ibv_req_notify_cq(p.cq[0], 0));
	post_write(&p, 4);
	CHECK(told(channel, PATIENCE_S * 1000));
	CHECK(next_wc(p.cq[0]).wr_id == 4);
	pair_close(&p);
	CHECK(!ibv_destroy_comp_channel(channel));
	printf("moderation\n");
}

/* Larger and smaller again and again while completions come: none is lost, none comes twice. */
static void resize(struct link *l)
{
	uint64_t posted = 0, polled = 0;
	struct pair p;

	pair_open(&p, l, &(struct options){});
	for (int turn = 0; turn < 60; turn++) {
		while (posted - polled < 24)
			post_write(&p, posted++);
		CHECK(!(errno = ibv_resize_cq(p.cq[0], turn & 1 ? 64 : 300)));
		while (polled < posted - 12) {
			struct ibv_wc wc = next_wc(p.cq[0]);

			CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == polled);
			polled++;
		}
	}
	while (polled < posted)
		CHECK(next_wc(p.cq[0]).wr_id == polled++);
	CHECK(!ibv_poll_cq(p.cq[0], 1, &(struct ibv_wc){}));
	pair_close(&p);
	printf("resize\n");
}

static enum ibv_wc_status access_with(struct link *l, enum ibv_wr_opcode op, uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge = at(l, 0, 64);
	struct ibv_send_wr wr = {.opcode = op,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {addr, rkey}};
	enum ibv_wc_status status;
	struct pair p;

	pair_open(&p, l, &(struct options){});
	post(p.qp[0], &wr);
	status = next_wc(p.cq[0]).status;
	if (status)
		expect_event(l, 1, IBV_EVENT_QP_ACCESS_ERR, p.qp[1]);
	pair_close(&p);
	return status;
}

/* Rights and place of a region change; a zero-based one is addressed from 0; relaxed ordering changes no byte. */
static void regions(struct link *l)
{
	const int rw = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	uint64_t half = (uintptr_t)l->buf[1] + SIZE / 2;
	struct ibv_mr *mr;

	mr = ibv_reg_mr(l->pd[1], l->buf[1], SIZE / 2, rw | IBV_ACCESS_RELAXED_ORDERING);
	CHECK(mr);
	memset(l->buf[0], 0x3c, 64);
	CHECK(access_with(l, IBV_WR_RDMA_WRITE, (uintptr_t)l->buf[1], mr->rkey) == IBV_WC_SUCCESS);
	CHECK(!memcmp(l->buf[0], l->buf[1], 64));
	CHECK(access_with(l, IBV_WR_RDMA_READ, (uintptr_t)l->buf[1], mr->rkey) == IBV_WC_REM_ACCESS_ERR);
	CHECK(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, rw | IBV_ACCESS_REMOTE_READ));
	CHECK(access_with(l, IBV_WR_RDMA_READ, (uintptr_t)l->buf[1], mr->rkey) == IBV_WC_SUCCESS);
	CHECK(access_with(l, IBV_WR_RDMA_WRITE, half, mr->rkey) == IBV_WC_REM_ACCESS_ERR);
	CHECK(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, (void *)(uintptr_t)half, SIZE / 2, 0));
	CHECK(access_with(l, IBV_WR_RDMA_WRITE, half, mr->rkey) == IBV_WC_SUCCESS);
	CHECK(access_with(l, IBV_WR_RDMA_WRITE, (uintptr_t)l->buf[1], mr->rkey) == IBV_WC_REM_ACCESS_ERR);
	CHECK(!ibv_dereg_mr(mr));
	mr = ibv_reg_mr_iova(l->pd[1], (void *)(uintptr_t)half, SIZE / 2, 0, rw);
	CHECK(mr);
	memset((void *)(uintptr_t)half, 0, 128);
	CHECK(access_with(l, IBV_WR_RDMA_WRITE, 64, mr->rkey) == IBV_WC_SUCCESS);
	CHECK(!memcmp(l->buf[0], (void *)(uintptr_t)(half + 64), 64));
	CHECK(access_with(l, IBV_WR_RDMA_WRITE, half, mr->rkey) == IBV_WC_REM_ACCESS_ERR);
	CHECK(!ibv_dereg_mr(mr));
	printf("regions\n");
}

/* A region with a bound window stays (EBUSY); one that requests use goes, and they fail from then on. */
static void deregistered_in_use(struct link *l)
{
	struct ibv_mr *mr =
		ibv_reg_mr(l->pd[1], l->buf[1], SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_sge sge = at(l, 0, SIZE);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED};
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	struct pair p;

	CHECK(mr);
	pair_open(&p, l, &(struct options){});
	wr.wr.rdma.remote_addr = (uintptr_t)l->buf[1];
	wr.wr.rdma.rkey = mr->rkey;
	for (int i = 0; i < 16; i++)
		post(p.qp[0], &wr);
	CHECK(!(errno = ibv_dereg_mr(mr)));
	post(p.qp[0], &wr);
	for (int i = 0; i < 17; i++) {
		enum ibv_wc_status next = next_wc(p.cq[0]).status;

		if (status)
			CHECK(next == IBV_WC_WR_FLUSH_ERR);
		else
			CHECK(!next || next == IBV_WC_REM_ACCESS_ERR);
		status = next ? next : status;
	}
	CHECK(status);
	expect_event(l, 1, IBV_EVENT_QP_ACCESS_ERR, p.qp[1]);
	pair_close(&p);
	printf("deregistered in use\n");
}

void run_events(struct link *l)
{
	communication_established(l);
	drained(l);
	overrun(l);
	shared_queue(l);
	moderation(l);
	resize(l);
	regions(l);
	deregistered_in_use(l);
}
