// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcasim-roce-versions INDEX INDEX: an RC pair and datagrams between two adapters whose addresses are these entries of their
 * GID tables. Prints how each operation ends, and of each datagram the service level and the 40 bytes in front of it.
 */
#include "link.h"

#define BYTES     3000u
#define GRH       40u
#define GROUP_QPN 0xffffff

static struct link l;
static uint8_t index_of[2];
static const union ibv_gid group = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};

static struct ibv_ah_attr path_from(int end)
{
	struct ibv_ah_attr path = {.is_global = 1, .port_num = 1, .grh.hop_limit = 64};

	path.grh.sgid_index = index_of[end];
	CHECK(!ibv_query_gid(l.ctx[!end], 1, index_of[!end], &path.grh.dgid));
	return path;
}

/* ---- Reliable connection ---- */

static void open_rc(struct pair *p)
{
	pair_create(p, &l);
	for (int end = 0; end < 2; end++) {
		struct ibv_qp_attr attr = link_attr(&l, end, p->qp[!end]->qp_num);

		attr.ah_attr = path_from(end);
		attr.timeout = 10;
		attr.retry_cnt = 3;
		link_modify(p->qp[end], &attr, IBV_QPS_RTS);
	}
}

static void request(const char *name, enum ibv_wr_opcode op, uint32_t len, uint32_t rkey)
{
	enum ibv_wc_status status;
	struct pair p;

	open_rc(&p);
	memset(l.buf[0], 0x11, BYTES);
	memset(l.buf[1], 0x22, BYTES);
	link_post_recv(p.qp[1], link_sge(&l, 1, len));
	pair_post(&p, 0, op, len, 0, rkey);
	status = link_wait(p.cq[0]).status;
	printf("%s: %s\n", name, ibv_wc_status_str(status));
	if (status == IBV_WC_SUCCESS && op == IBV_WR_SEND)
		CHECK(link_wait(p.cq[1]).status == IBV_WC_SUCCESS);
	if (status == IBV_WC_SUCCESS && len == BYTES)
		CHECK(!memcmp(l.buf[0], l.buf[1], BYTES));
	if (status == IBV_WC_SUCCESS && len == 8)
		CHECK(l.buf[0][0] == 0x22 && l.buf[1][0] == 0x23);
	pair_close(&p);
}

/* ---- Datagrams ---- */

static struct ibv_qp *open_ud(int end, struct ibv_cq *cq)
{
	return link_create_single(&l, end, IBV_QPT_UD, cq, (struct ibv_qp_cap){4, 4, 1, 1, 0}, IBV_QPS_RTS);
}

static void datagram(const char *name, struct ibv_qp *const qp[2], const struct ibv_ah_attr *path,
		     uint32_t qpn)
{
	struct ibv_sge from = link_sge(&l, 0, 16);
	struct ibv_ah_attr attr = *path;
	struct ibv_ah *ah = ibv_create_ah(l.pd[0], &attr);
	struct ibv_send_wr send = {
		.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND, .wr.ud = {ah, qpn, LINK_QKEY}};
	struct ibv_wc wc;

	CHECK(ah);
	link_post_recv(qp[1], link_sge(&l, 1, GRH + 16));
	link_post(qp[0], &send);
	CHECK(link_wait(qp[0]->send_cq).status == IBV_WC_SUCCESS);
	wc = link_wait(qp[1]->recv_cq);
	CHECK(wc.status == IBV_WC_SUCCESS && wc.byte_len == GRH + 16 && wc.wc_flags & IBV_WC_GRH);
	printf("%s: sl %u ", name, wc.sl);
	for (unsigned int i = 0; i < GRH; i++)
		printf("%02x", (uint8_t)l.buf[1][i]);
	printf("\n");
	CHECK(!(errno = ibv_destroy_ah(ah)));
}

static void datagrams(void)
{
	struct ibv_cq *const cq[2] = {link_create_cq(&l, 0, 8), link_create_cq(&l, 1, 8)};
	struct ibv_qp *const qp[2] = {open_ud(0, cq[0]), open_ud(1, cq[1])};
	struct ibv_ah_attr path = path_from(0);

	datagram("UD", qp, &path, qp[1]->qp_num);
	path.grh.dgid = group;
	CHECK(!(errno = ibv_attach_mcast(qp[1], &group, 0)));
	datagram("group", qp, &path, GROUP_QPN);
	CHECK(!(errno = ibv_detach_mcast(qp[1], &group, 0)));
	for (int end = 0; end < 2; end++)
		CHECK(!(errno = ibv_destroy_qp(qp[end])) && !(errno = ibv_destroy_cq(cq[end])));
}

int main(int argc, char **argv)
{
	struct ibv_mr *target;

	CHECK(argc == 3);
	for (int end = 0; end < 2; end++)
		index_of[end] = (uint8_t)atoi(argv[1 + end]);
	link_open(&l, BYTES);
	target = ibv_reg_mr(l.pd[1], l.buf[1], BYTES,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				    IBV_ACCESS_REMOTE_ATOMIC);
	CHECK(target);
	request("SEND", IBV_WR_SEND, BYTES, 0);
	request("WRITE", IBV_WR_RDMA_WRITE, BYTES, target->rkey);
	request("READ", IBV_WR_RDMA_READ, BYTES, target->rkey);
	request("atomic", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, target->rkey);
	datagrams();
	CHECK(!(errno = ibv_dereg_mr(target)));
	link_close(&l);
	return 0;
}
