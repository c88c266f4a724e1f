// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Mistakes with the sizes of queues and of messages. */
#include "mistakes.h"

/* No request is signaled, so no completion ever frees the send queue. */
static void never_signaled(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7), *bad;
	int error;

	connect_pair();
	wr.send_flags = 0;
	do {
		error = ibv_post_send(p.qp[0], &wr, &bad);
	} while (!error);
	say_error("ibv_post_send", error);
}

/* The peer has posted no receive. */
static void no_receive(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, 7);

	connect_pair();
	POST(wr);
}

/* The immediate of a WRITE takes a receive, too. */
static void no_receive_for_immediate(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE_WITH_IMM, &sge, 7);

	connect_pair();
	POST(wr);
}

/* The receive is shorter than the message. */
static void short_receive(void)
{
	struct ibv_sge from = link_sge(&l, 0, 2 * MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_SEND, &from, 7);

	connect_pair();
	post_receive(1, 3);
	POST(wr);
	say_completion(p.cq[1]);
}

/* More receives than max_recv_wr. */
static void too_many_receives(void)
{
	struct ibv_sge sge = link_sge(&l, 1, MESSAGE);
	struct ibv_recv_wr wr = receive(&sge, 3), *bad;
	int error;

	connect_pair();
	do {
		error = ibv_post_recv(p.qp[1], &wr, &bad);
	} while (!error);
	say_error("ibv_post_recv", error);
}

/* Inline data was not asked for when the queue pair was created. */
static void inline_too_long(void)
{
	char message[1024] = "hello";
	struct ibv_sge sge = {(uintptr_t)message, sizeof(message), 0};
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);

	connect_pair();
	wr.send_flags |= IBV_SEND_INLINE;
	POST(wr);
}

/* More SGEs than max_send_sge. */
static void too_many_sges(void)
{
	struct ibv_sge sge[30];
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, sge, 7);

	for (int i = 0; i < 30; i++)
		sge[i] = link_sge(&l, 0, MESSAGE);
	connect_pair();
	wr.num_sge = 30;
	POST(wr);
}

/* More inline data than any queue pair of the adapter can have. */
static void inline_limit(void)
{
	struct ibv_cq *cq = link_create_cq(&l, 0, 64);
	struct ibv_qp_init_attr init = {
		.cap = {16, 4, 1, 1, 65536}, .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq};

	say_error("ibv_create_qp", ibv_create_qp(l.pd[0], &init) ? 0 : errno);
}

/* More requests than the adapter's max_qp_wr. */
static void depth_limit(void)
{
	struct ibv_cq *cq = link_create_cq(&l, 0, 64);
	struct ibv_qp_init_attr init = {
		.cap = {1000000, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq};

	say_error("ibv_create_qp", ibv_create_qp(l.pd[0], &init) ? 0 : errno);
}

/* More entries than the adapter's max_cqe. */
static void cq_limit(void)
{
	say_error("ibv_create_cq", ibv_create_cq(l.ctx[0], 100000000, NULL, NULL, 0) ? 0 : errno);
}

/* The CQ is of the other adapter. */
static void foreign_cq(void)
{
	struct ibv_cq *cq = link_create_cq(&l, 1, 64);
	struct ibv_qp_init_attr init = {
		.cap = {16, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq};

	say_error("ibv_create_qp", ibv_create_qp(l.pd[0], &init) ? 0 : errno);
}

/* The CQ has room for fewer completions than the queue pair has requests, and nobody polls it. */
static void cq_overrun(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7), *bad;

	p.cq[0] = link_create_cq(&l, 0, 7);
	cap.max_send_wr = 64;
	connect_pair();
	say_value("cqe", (uint64_t)p.cq[0]->cqe);
	for (int i = 0; i < 64; i++)
		say_error("ibv_post_send", ibv_post_send(p.qp[0], &wr, &bad));
	say_event(0);
}

/* The peer allows one READ at a time, the requester sends more. */
static void too_many_reads(void)
{
	struct ibv_sge sge = link_sge(&l, 0, SIZE);
	struct ibv_send_wr wr[8];
	struct ibv_qp_attr attr[2];

	create_pair();
	for (int end = 0; end < 2; end++) {
		attr[end] = attr_of(end);
		attr[end].max_dest_rd_atomic = 1;
		move(end, &attr[end], IBV_QPS_RTS);
	}
	for (int i = 0; i < 8; i++) {
		wr[i] = request(IBV_WR_RDMA_READ, &sge, (uint64_t)i);
		wr[i].next = i < 7 ? &wr[i + 1] : NULL;
	}
	POST(wr[0]);
	for (int i = 1; i < 8; i++)
		say_completion(p.cq[0]);
}

/* A datagram is one packet: at most the MTU. */
static void long_datagram(void)
{
	char *big = aligned_alloc(4096, 4 * SIZE);
	struct ibv_mr *mr = ibv_reg_mr(l.pd[0], big, 4 * SIZE, 0);
	struct ibv_sge sge = {(uintptr_t)big, 4 * SIZE, mr ? mr->lkey : 0};
	struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, 7);

	CHECK(mr);
	p.qp[0] = open_ud(0);
	p.cq[0] = p.qp[0]->send_cq;
	wr.wr.ud.ah = open_path(0);
	wr.wr.ud.remote_qpn = open_ud(1)->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	POST(wr);
}

const struct mistake queue_mistakes[] = {
	{"never_signaled", never_signaled},
	{"no_receive", no_receive},
	{"no_receive_for_immediate", no_receive_for_immediate},
	{"short_receive", short_receive},
	{"too_many_receives", too_many_receives},
	{"inline_too_long", inline_too_long},
	{"too_many_sges", too_many_sges},
	{"inline_limit", inline_limit},
	{"depth_limit", depth_limit},
	{"cq_limit", cq_limit},
	{"foreign_cq", foreign_cq},
	{"cq_overrun", cq_overrun},
	{"too_many_reads", too_many_reads},
	{"long_datagram", long_datagram},
	{},
};
