// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcasim-datagram: the service level of datagrams that come over IPv6 and over IPv4, by which UCX tells them apart; bits
 * 31:24 of `remote_qpn`, which are ignored; the largest inline size of an RC and of a UD QP.
 */
#include "link.h"

#define BYTES 16
#define GRH   40
#define HIGH  0xde000000u

static struct link l;
static struct ibv_cq *cq[2];
static struct ibv_qp *qp[2];

static void open_qps(void)
{
	for (int end = 0; end < 2; end++) {
		cq[end] = link_create_cq(&l, end, 8);
		qp[end] = link_create_single(&l, end, IBV_QPT_UD, cq[end], (struct ibv_qp_cap){4, 4, 1, 1, 0},
					     IBV_QPS_RTS);
	}
}

static int find_gid(int end, bool v4, union ibv_gid *gid)
{
	struct ibv_gid_entry e;

	for (uint32_t i = 0; i < 16; i++) {
		if (ibv_query_gid_ex(l.ctx[end], 1, i, &e, 0) || e.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		*gid = e.gid;
		if (v4 == (!e.gid.global.subnet_prefix && e.gid.raw[10] == 0xff))
			return (int)i;
	}
	fprintf(stderr, "no GID of RoCEv2 over IPv%d\n", v4 ? 4 : 6);
	exit(1);
}

static struct ibv_ah *open_path(bool v4)
{
	struct ibv_ah_attr attr = link_path(&l, 0);
	struct ibv_ah *ah;

	attr.grh.sgid_index = (uint8_t)find_gid(0, v4, &attr.grh.dgid);
	find_gid(1, v4, &attr.grh.dgid);
	ah = ibv_create_ah(l.pd[0], &attr);
	CHECK(ah);
	return ah;
}

static void send_over(bool v4)
{
	struct ibv_sge from = link_sge(&l, 0, BYTES);
	struct ibv_ah *ah = open_path(v4);
	struct ibv_send_wr send = {.sg_list = &from,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .wr.ud = {ah, HIGH | qp[1]->qp_num, LINK_QKEY}};
	struct ibv_wc wc;

	link_post_recv(qp[1], link_sge(&l, 1, GRH + BYTES));
	link_post(qp[0], &send);
	CHECK(link_wait(cq[0]).status == IBV_WC_SUCCESS);
	wc = link_wait(cq[1]);
	CHECK(wc.status == IBV_WC_SUCCESS && wc.byte_len == GRH + BYTES);
	printf("IPv%d: sl %u\n", v4 ? 4 : 6, wc.sl);
	CHECK(!(errno = ibv_destroy_ah(ah)));
}

static bool can_be_inline(enum ibv_qp_type type, uint32_t bytes)
{
	struct ibv_qp_init_attr init = {
		.cap = {1, 1, 1, 1, bytes}, .qp_type = type, .send_cq = cq[0], .recv_cq = cq[0]};
	struct ibv_qp *probe = ibv_create_qp(l.pd[0], &init);

	if (probe)
		CHECK(!(errno = ibv_destroy_qp(probe)));
	return probe;
}

static uint32_t largest_inline(enum ibv_qp_type type)
{
	uint32_t largest = 4096;

	while (largest && !can_be_inline(type, largest))
		largest--;
	return largest;
}

int main(void)
{
	link_open(&l, 4096);
	open_qps();
	send_over(false);
	send_over(true);
	printf("inline: RC %u, UD %u\n", largest_inline(IBV_QPT_RC), largest_inline(IBV_QPT_UD));
	for (int end = 0; end < 2; end++)
		CHECK(!(errno = ibv_destroy_qp(qp[end])) && !(errno = ibv_destroy_cq(cq[end])));
	link_close(&l);
	return 0;
}
