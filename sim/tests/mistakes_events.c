// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Asynchronous events that the other programs of hcasim-mistakes do not cause. */
#include <fcntl.h>

#include "mistakes.h"

static struct ibv_srq *srq;

/* A connected pair; end 1 receives from an SRQ of 8, which has `receives`. */
static void connect_with_srq(int receives)
{
	struct ibv_srq_init_attr init = {.attr = {8, 1, 0}};
	struct ibv_sge sge = link_sge(&l, 1, MESSAGE);
	struct ibv_recv_wr wr = receive(&sge, 3), *bad;
	struct ibv_qp_init_attr qp = {.cap = cap, .qp_type = IBV_QPT_RC};

	srq = ibv_create_srq(l.pd[1], &init);
	CHECK(srq);
	create_pair();
	CHECK(!(errno = ibv_destroy_qp(p.qp[1])));
	qp.send_cq = qp.recv_cq = p.cq[1];
	qp.srq = srq;
	p.qp[1] = ibv_create_qp(l.pd[1], &qp);
	CHECK(p.qp[1]);
	for (int end = 0; end < 2; end++) {
		const struct ibv_qp_attr attr = attr_of(end);

		move(end, &attr, IBV_QPS_RTS);
	}
	for (int i = 0; i < receives; i++)
		CHECK(!(errno = ibv_post_srq_recv(srq, &wr, &bad)));
}

/* Fewer receives are left than the limit. */
static void srq_limit(void)
{
	struct ibv_srq_attr attr = {.srq_limit = 4};
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, 7);

	connect_with_srq(4);
	CHECK(!(errno = ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT)));
	POST(wr);
	say_event(1);
}

/* The queue pair is in ERR and takes no more receives of its SRQ. */
static void last_wqe(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	connect_with_srq(4);
	CHECK(!(errno = ibv_modify_qp(p.qp[1], &attr, IBV_QP_STATE)));
	say_event(1);
}

/* The first request arrives while the queue pair is in RTR. */
static void established(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);

	create_pair();
	for (int end = 0; end < 2; end++) {
		const struct ibv_qp_attr attr = attr_of(end);

		move(end, &attr, end ? IBV_QPS_RTR : IBV_QPS_RTS);
	}
	POST(wr);
	say_event(1);
}

static void drained(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};

	connect_pair();
	CHECK(!(errno = ibv_modify_qp(p.qp[0], &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY)));
	say_event(0);
}

/* The link of end 1 goes down, and up again. */
static void link_down(void)
{
	char path[512], name[32], command[64];
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);
	FILE *f;

	snprintf(path, sizeof(path), "%s/ports/1/gid_attrs/ndevs/0", l.ctx[1]->device->ibdev_path);
	f = fopen(path, "r");
	CHECK(f && fscanf(f, "%31s", name) == 1);
	fclose(f);
	connect_pair();
	snprintf(command, sizeof(command), "ip link set dev %s down", name);
	CHECK(!system(command));
	say_event(1);
	POST(wr);
	snprintf(command, sizeof(command), "ip link set dev %s up", name);
	CHECK(!system(command));
	say_event(1);
}

/* ---- An SRQ in error ---- */

static struct ibv_srq *open_xrc_srq(struct ibv_xrcd *xrcd)
{
	struct ibv_srq_init_attr_ex init = {.attr = {8, 1, 0},
					    .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
							 IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					    .srq_type = IBV_SRQT_XRC,
					    .pd = l.pd[1],
					    .xrcd = xrcd,
					    .cq = link_create_cq(&l, 1, 1)};
	struct ibv_sge sge = link_sge(&l, 1, MESSAGE);
	struct ibv_recv_wr wr = receive(&sge, 3), *bad;
	struct ibv_srq *made = ibv_create_srq_ex(l.ctx[1], &init);

	CHECK(made);
	for (int i = 0; i < 8; i++)
		CHECK(!(errno = ibv_post_srq_recv(made, &wr, &bad)));
	return made;
}

static void connect_xrc(struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex send = {.cap = cap,
					   .qp_type = IBV_QPT_XRC_SEND,
					   .comp_mask = IBV_QP_INIT_ATTR_PD,
					   .pd = l.pd[0]},
				   recv = {.qp_type = IBV_QPT_XRC_RECV,
					   .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					   .xrcd = xrcd};

	p.l = &l;
	p.cq[0] = send.send_cq = link_create_cq(&l, 0, 64);
	p.qp[0] = ibv_create_qp_ex(l.ctx[0], &send);
	p.qp[1] = ibv_create_qp_ex(l.ctx[1], &recv);
	CHECK(p.qp[0] && p.qp[1]);
	for (int end = 0; end < 2; end++) {
		const struct ibv_qp_attr attr = attr_of(end);

		move(end, &attr, IBV_QPS_RTS);
	}
}

/* The CQ of an SRQ for XRC overflows. */
static void srq_overrun(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(l.ctx[1], &attr);
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, 7), *bad;

	CHECK(xrcd);
	connect_xrc(xrcd);
	CHECK(!ibv_get_srq_num(open_xrc_srq(xrcd), &wr.qp_type.xrc.remote_srqn));
	say_value("srqn", wr.qp_type.xrc.remote_srqn);
	for (int i = 0; i < 8; i++)
		say_error("ibv_post_send", ibv_post_send(p.qp[0], &wr, &bad));
	say_event(1);
	say_event(1);
}

const struct mistake event_mistakes[] = {
	{"srq_limit", srq_limit},
	{"last_wqe", last_wqe},
	{"established", established},
	{"drained", drained},
	{"srq_overrun", srq_overrun},
	{"link_down", link_down},
	{},
};
