// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Asynchronous events; a completion queue that is resized, and memory that changes, while in use. */
#include "completions.h"

static void modify_state(struct ibv_qp *qp, struct ibv_qp_attr attr, int mask)
{
	CHECK(!(errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask)));
}

/* The first request arrives while the responder is in RTR. */
static void communication_established(struct link *l)
{
	struct pair p;

	rc_open(&p, l, &(struct options){.peer_rtr = true});
	post_write(&p, 1);
	CHECK(link_wait(p.cq[0]).status == IBV_WC_SUCCESS);
	expect_event(l, 1, IBV_EVENT_COMM_EST, p.qp[1]);
	pair_close(&p);
}

static void drained(struct link *l)
{
	struct pair p;

	rc_open(&p, l, &(struct options){});
	post_write(&p, 1);
	modify_state(p.qp[0], (struct ibv_qp_attr){.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1},
		     IBV_QP_EN_SQD_ASYNC_NOTIFY);
	expect_event(l, 0, IBV_EVENT_SQ_DRAINED, p.qp[0]);
	CHECK(link_wait(p.cq[0]).status == IBV_WC_SUCCESS);
	post_write(&p, 2); /* waits for RTS */
	modify_state(p.qp[0], (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS}, 0);
	CHECK(link_wait(p.cq[0]).wr_id == 2);
	pair_close(&p);
}

/* Completions arrive while the CQ grows and shrinks: none is lost or duplicated. */
static void resize(struct link *l)
{
	uint64_t posted = 0, polled = 0;
	struct pair p;

	rc_open(&p, l, &(struct options){});
	for (int turn = 0; turn < 60; turn++) {
		while (posted - polled < 24)
			post_write(&p, posted++);
		CHECK(!(errno = ibv_resize_cq(p.cq[0], turn & 1 ? 64 : 300)));
		while (polled < posted - 12) {
			struct ibv_wc wc = link_wait(p.cq[0]);

			CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == polled);
			polled++;
		}
	}
	while (polled < posted)
		CHECK(link_wait(p.cq[0]).wr_id == polled++);
	CHECK(!ibv_poll_cq(p.cq[0], 1, &(struct ibv_wc){}));
	pair_close(&p);
	printf("resize\n");
}

static enum ibv_wc_status write_to(struct link *l, uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge = link_sge(l, 0, 64);
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {addr, rkey}};
	enum ibv_wc_status status;
	struct pair p;

	rc_open(&p, l, &(struct options){});
	link_post(p.qp[0], &wr);
	status = link_wait(p.cq[0]).status;
	if (status)
		expect_event(l, 1, IBV_EVENT_QP_ACCESS_ERR, p.qp[1]);
	pair_close(&p);
	return status;
}

/* The memory of a region changes, its key does not. */
static void regions(struct link *l)
{
	const int rw = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	uint64_t first = (uintptr_t)l->buf[1], second = first + SIZE / 2;
	struct ibv_mr *mr = ibv_reg_mr(l->pd[1], (void *)first, SIZE / 2, rw);

	CHECK(mr);
	CHECK(write_to(l, first, mr->rkey) == IBV_WC_SUCCESS);
	CHECK(write_to(l, second, mr->rkey) == IBV_WC_REM_ACCESS_ERR);
	CHECK(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, (void *)second, SIZE / 2, 0));
	CHECK(write_to(l, second, mr->rkey) == IBV_WC_SUCCESS);
	CHECK(write_to(l, first, mr->rkey) == IBV_WC_REM_ACCESS_ERR);
	CHECK(!ibv_dereg_mr(mr));
	printf("regions\n");
}

/* A region can be deregistered while requests use it; they fail from then on. */
static void deregistered_in_use(struct link *l)
{
	struct ibv_mr *mr =
		ibv_reg_mr(l->pd[1], l->buf[1], SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_sge sge = link_sge(l, 0, SIZE);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED};
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	struct pair p;

	CHECK(mr);
	rc_open(&p, l, &(struct options){});
	wr.wr.rdma.remote_addr = (uintptr_t)l->buf[1];
	wr.wr.rdma.rkey = mr->rkey;
	for (int i = 0; i < 16; i++)
		link_post(p.qp[0], &wr);
	CHECK(!(errno = ibv_dereg_mr(mr)));
	link_post(p.qp[0], &wr);
	for (int i = 0; i < 17; i++) {
		enum ibv_wc_status next = link_wait(p.cq[0]).status;

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
	resize(l);
	regions(l);
	deregistered_in_use(l);
}
