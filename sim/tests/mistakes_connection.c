// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Mistakes with the connection of queue pairs: states, attributes, addresses. */
#include <rdma/rdma_cma.h>

#include "mistakes.h"

#define TO_RTR                                                                                               \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |                      \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define TO_RTS                                                                                               \
	(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |               \
	 IBV_QP_MAX_QP_RD_ATOMIC)

/* End 0 in INIT, and the attributes for its next state. */
static struct ibv_qp_attr in_init(void)
{
	struct ibv_qp_attr attr;

	create_pair();
	attr = attr_of(0);
	move(0, &attr, IBV_QPS_INIT);
	attr.qp_state = IBV_QPS_RTR;
	return attr;
}

/* The address is a LID, as on InfiniBand; RoCE needs a GRH. */
static void no_grh(void)
{
	struct ibv_qp_attr attr = in_init();

	attr.ah_attr.is_global = 0;
	attr.ah_attr.dlid = 1;
	say_error("ibv_modify_qp", ibv_modify_qp(p.qp[0], &attr, TO_RTR));
}

/* Nobody has the GID: here with two bytes swapped. */
static void unknown_gid(void)
{
	struct ibv_qp_attr attr = in_init();

	attr.ah_attr.grh.dgid.raw[14] ^= 0x55;
	say_error("ibv_modify_qp", ibv_modify_qp(p.qp[0], &attr, TO_RTR));
}

/* The entry of the GID table is empty. */
static void empty_gid_index(void)
{
	struct ibv_qp_attr attr = in_init();

	attr.ah_attr.grh.sgid_index = 9;
	say_error("ibv_modify_qp", ibv_modify_qp(p.qp[0], &attr, TO_RTR));
}

/* The entry of RoCEv1 with the address of an end's path. */
static uint8_t rocev1_index(int end)
{
	struct ibv_gid_entry v2, v1 = {.gid_type = IBV_GID_TYPE_IB};
	const struct ibv_ah_attr path = link_path(&l, end);
	uint32_t i = 0;

	CHECK(!ibv_query_gid_ex(l.ctx[end], 1, path.grh.sgid_index, &v2, 0));
	while (ibv_query_gid_ex(l.ctx[end], 1, i, &v1, 0) || v1.gid_type != IBV_GID_TYPE_ROCE_V1 ||
	       memcmp(&v1.gid, &v2.gid, sizeof(v1.gid)) != 0)
		CHECK(i++ < 16);
	return (uint8_t)i;
}

/* One end uses a RoCEv1 entry of its GID table, the other one of RoCEv2. */
static void other_roce_version(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);
	struct ibv_qp_attr attr[2];

	create_pair();
	for (int end = 0; end < 2; end++)
		attr[end] = attr_of(end);
	attr[0].ah_attr.grh.sgid_index = rocev1_index(0);
	for (int end = 0; end < 2; end++)
		move(end, &attr[end], IBV_QPS_RTS);
	POST(wr);
}

/* The number of the peer's queue pair is wrong. */
static void wrong_qpn(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);
	struct ibv_qp_attr attr[2];

	create_pair();
	for (int end = 0; end < 2; end++) {
		attr[end] = attr_of(end);
		attr[end].dest_qp_num ^= 0x5000;
		move(end, &attr[end], IBV_QPS_RTS);
	}
	say_value("dest", attr[0].dest_qp_num);
	POST(wr);
}

/* The peer has not moved its queue pair to RTR yet. */
static void peer_not_ready(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);
	struct ibv_qp_attr attr[2];

	create_pair();
	for (int end = 0; end < 2; end++) {
		attr[end] = attr_of(end);
		move(end, &attr[end], end ? IBV_QPS_INIT : IBV_QPS_RTS);
	}
	POST(wr);
}

/* The requester's first PSN is not the one that the peer expects. */
static void wrong_psn(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);
	struct ibv_qp_attr attr[2];

	create_pair();
	for (int end = 0; end < 2; end++) {
		attr[end] = attr_of(end);
		attr[end].sq_psn = 1000;
		attr[end].rq_psn = 5000;
		move(end, &attr[end], IBV_QPS_RTS);
	}
	POST(wr);
}

/* The two ends have different path MTUs. */
static void other_mtu(void)
{
	struct ibv_sge sge = link_sge(&l, 0, SIZE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);
	struct ibv_qp_attr attr[2];

	create_pair();
	for (int end = 0; end < 2; end++) {
		attr[end] = attr_of(end);
		attr[end].path_mtu = end ? IBV_MTU_1024 : IBV_MTU_4096;
		move(end, &attr[end], IBV_QPS_RTS);
	}
	POST(wr);
}

/* From INIT to RTS without RTR. */
static void skipped_state(void)
{
	struct ibv_qp_attr attr = in_init();

	attr.qp_state = IBV_QPS_RTS;
	say_error("ibv_modify_qp", ibv_modify_qp(p.qp[0], &attr, TO_RTS));
}

/* IBV_QP_MIN_RNR_TIMER is missing. */
static void missing_attribute(void)
{
	struct ibv_qp_attr attr = in_init();

	say_error("ibv_modify_qp", ibv_modify_qp(p.qp[0], &attr, TO_RTR & ~IBV_QP_MIN_RNR_TIMER));
}

/* The counter has three bits. */
static void big_retry_count(void)
{
	struct ibv_qp_attr attr = in_init();

	move(0, &attr, IBV_QPS_RTR);
	attr.qp_state = IBV_QPS_RTS;
	attr.retry_cnt = 20;
	say_error("ibv_modify_qp", ibv_modify_qp(p.qp[0], &attr, TO_RTS));
}

/* More READs at a time than the adapter's max_qp_init_rd_atom. */
static void big_rd_atomic(void)
{
	struct ibv_qp_attr attr = in_init();

	move(0, &attr, IBV_QPS_RTR);
	attr.qp_state = IBV_QPS_RTS;
	attr.max_rd_atomic = 255;
	say_error("ibv_modify_qp", ibv_modify_qp(p.qp[0], &attr, TO_RTS));
}

/* The queue pair is not connected yet. */
static void posted_in_init(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7), *bad;

	in_init();
	say_error("ibv_post_send", ibv_post_send(p.qp[0], &wr, &bad));
	say_waiting();
	for (;;)
		ibv_poll_cq(p.cq[0], 1, &(struct ibv_wc){});
}

/* The peer's queue pair does not allow WRITEs. */
static void not_allowed(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);
	struct ibv_qp_attr attr[2];

	create_pair();
	for (int end = 0; end < 2; end++) {
		attr[end] = attr_of(end);
		attr[end].qp_access_flags = IBV_ACCESS_REMOTE_READ;
		move(end, &attr[end], IBV_QPS_RTS);
	}
	POST(wr);
	say_event(1);
}

/* ---- Datagrams ---- */

/* The receiver waits for a datagram that was dropped. */
static void wait_for_datagram(struct ibv_qp *qp)
{
	say_waiting();
	for (;;)
		ibv_poll_cq(qp->recv_cq, 1, &(struct ibv_wc){});
}

/* The sender's Q_Key is not the receiver's. */
static void wrong_qkey(void)
{
	struct ibv_qp *to = open_ud(1);
	struct ibv_sge from = link_sge(&l, 0, MESSAGE), into = link_sge(&l, 1, 40 + MESSAGE);
	struct ibv_recv_wr recv = receive(&into, 3), *bad;
	struct ibv_send_wr wr = request(IBV_WR_SEND, &from, 7);

	p.qp[0] = open_ud(0);
	p.cq[0] = p.qp[0]->send_cq;
	wr.wr.ud.ah = open_path(0);
	wr.wr.ud.remote_qpn = to->qp_num;
	wr.wr.ud.remote_qkey = QKEY + 1;
	say_error("ibv_post_recv", ibv_post_recv(to, &recv, &bad));
	POST(wr);
	wait_for_datagram(to);
}

/* The receive has no room for the 40 bytes in front of each datagram. */
static void no_room_for_grh(void)
{
	struct ibv_qp *to = open_ud(1);
	struct ibv_sge from = link_sge(&l, 0, MESSAGE), into = link_sge(&l, 1, MESSAGE);
	struct ibv_recv_wr recv = receive(&into, 3), *bad;
	struct ibv_send_wr wr = request(IBV_WR_SEND, &from, 7);

	p.qp[0] = open_ud(0);
	p.cq[0] = p.qp[0]->send_cq;
	wr.wr.ud.ah = open_path(0);
	wr.wr.ud.remote_qpn = to->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	say_error("ibv_post_recv", ibv_post_recv(to, &recv, &bad));
	POST(wr);
	wait_for_datagram(to);
}

/* ---- The connection manager ---- */

/* Nobody listens on this port. */
static void rejected(void)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *address;
	struct ibv_qp_init_attr init = {.cap = cap};
	struct rdma_cm_id *id;

	CHECK(!rdma_getaddrinfo("10.77.0.1", "7471", &hints, &address));
	CHECK(!rdma_create_ep(&id, address, NULL, &init));
	say_error("rdma_connect", rdma_connect(id, NULL) ? errno : 0);
}

/* The address is of no RDMA adapter's network. */
static void no_route(void)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *address;
	struct ibv_qp_init_attr init = {.cap = cap};
	struct rdma_cm_id *id;

	CHECK(!rdma_getaddrinfo("192.0.2.1", "7471", &hints, &address));
	say_error("rdma_create_ep", rdma_create_ep(&id, address, NULL, &init) ? errno : 0);
}

const struct mistake connection_mistakes[] = {
	{"no_grh", no_grh},
	{"unknown_gid", unknown_gid},
	{"empty_gid_index", empty_gid_index},
	{"other_roce_version", other_roce_version},
	{"wrong_qpn", wrong_qpn},
	{"peer_not_ready", peer_not_ready},
	{"wrong_psn", wrong_psn},
	{"other_mtu", other_mtu},
	{"skipped_state", skipped_state},
	{"missing_attribute", missing_attribute},
	{"big_retry_count", big_retry_count},
	{"big_rd_atomic", big_rd_atomic},
	{"posted_in_init", posted_in_init},
	{"not_allowed", not_allowed},
	{"wrong_qkey", wrong_qkey},
	{"no_room_for_grh", no_room_for_grh},
	{"rejected", rejected},
	{"no_route", no_route},
	{},
};
