// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Calls that are refused for a reason that no other program of hcasim-mistakes has. */
#include "mistakes.h"

static struct ibv_qp_attr to_init(void)
{
	struct ibv_qp_attr attr;

	create_pair();
	attr = attr_of(0);
	attr.qp_state = IBV_QPS_INIT;
	return attr;
}

#define TO_INIT (IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS)
#define TO_RTR                                                                                               \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |                      \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)

/* Ports count from 1. */
static void port_zero(void)
{
	struct ibv_qp_attr attr = to_init();

	attr.port_num = 0;
	say_error("ibv_modify_qp", ibv_modify_qp(p.qp[0], &attr, TO_INIT));
}

/* The P_Key table is not that long. */
static void no_pkey(void)
{
	struct ibv_qp_attr attr = to_init();

	attr.pkey_index = 1000;
	say_error("ibv_modify_qp", ibv_modify_qp(p.qp[0], &attr, TO_INIT));
}

/* The path MTU is for the next step. */
static void extra_attribute(void)
{
	struct ibv_qp_attr attr = to_init();

	say_error("ibv_modify_qp", ibv_modify_qp(p.qp[0], &attr, TO_INIT | IBV_QP_PATH_MTU));
}

/* path_mtu was left 0. */
static void no_mtu(void)
{
	struct ibv_qp_attr attr = to_init();

	move(0, &attr, IBV_QPS_INIT);
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = 0;
	say_error("ibv_modify_qp", ibv_modify_qp(p.qp[0], &attr, TO_RTR));
}

/* The GID of the peer was left 0. */
static void no_dgid(void)
{
	struct ibv_qp_attr attr = to_init();

	move(0, &attr, IBV_QPS_INIT);
	attr.qp_state = IBV_QPS_RTR;
	attr.ah_attr.grh.dgid = (union ibv_gid){.raw = {0}};
	say_error("ibv_modify_qp", ibv_modify_qp(p.qp[0], &attr, TO_RTR));
}

/* An address handle with a LID, as on InfiniBand. */
static void ah_without_grh(void)
{
	struct ibv_ah_attr path = {.dlid = 1, .port_num = 1};

	say_error("ibv_create_ah", ibv_create_ah(l.pd[0], &path) ? 0 : errno);
}

static void empty_cq(void)
{
	say_error("ibv_create_cq", ibv_create_cq(l.ctx[0], 0, NULL, NULL, 0) ? 0 : errno);
}

/* There are fewer interrupts. */
static void no_vector(void)
{
	say_error("ibv_create_cq", ibv_create_cq(l.ctx[0], 16, NULL, NULL, 4000) ? 0 : errno);
}

static void big_srq(void)
{
	struct ibv_srq_init_attr init = {.attr = {100000000, 1, 0}};

	say_error("ibv_create_srq", ibv_create_srq(l.pd[0], &init) ? 0 : errno);
}

/* The limit is above the number of receives. */
static void big_srq_limit(void)
{
	struct ibv_srq_init_attr init = {.attr = {8, 1, 0}};
	struct ibv_srq_attr attr = {.srq_limit = 5000};
	struct ibv_srq *srq = ibv_create_srq(l.pd[0], &init);

	CHECK(srq);
	say_error("ibv_modify_srq", ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
}

/* Completions that nobody polled are in the CQ. */
static void small_cq(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7), *bad;

	connect_pair();
	for (int i = 0; i < 12; i++)
		say_error("ibv_post_send", ibv_post_send(p.qp[0], &wr, &bad));
	POST(wr);
	say_error("ibv_resize_cq", ibv_resize_cq(p.cq[0], 1));
}

/* Only datagrams go to groups. */
static void group_of_rc(void)
{
	static const union ibv_gid group = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};

	connect_pair();
	say_error("ibv_attach_mcast", ibv_attach_mcast(p.qp[0], &group, 0));
}

/* READs are for connected queue pairs. */
static void read_on_ud(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_READ, &sge, 7);

	p.qp[0] = open_ud(0);
	p.cq[0] = p.qp[0]->send_cq;
	wr.wr.ud.ah = open_path(0);
	wr.wr.ud.remote_qpn = 1;
	POST(wr);
}

/* A receive can be posted from INIT on. */
static void received_in_reset(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_recv_wr wr = receive(&sge, 3), *bad;

	create_pair();
	say_error("ibv_post_recv", ibv_post_recv(p.qp[0], &wr, &bad));
}

const struct mistake refused_mistakes[] = {
	{"port_zero", port_zero},
	{"no_pkey", no_pkey},
	{"extra_attribute", extra_attribute},
	{"no_mtu", no_mtu},
	{"no_dgid", no_dgid},
	{"ah_without_grh", ah_without_grh},
	{"empty_cq", empty_cq},
	{"no_vector", no_vector},
	{"big_srq", big_srq},
	{"big_srq_limit", big_srq_limit},
	{"small_cq", small_cq},
	{"group_of_rc", group_of_rc},
	{"read_on_ud", read_on_ud},
	{"received_in_reset", received_in_reset},
	{},
};
