// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcasim-inline-payload BYTES [reversed]: SENDs, READs and atomics of a pair of RC QPs whose requests are all signaled,
 * and whether their data arrives; `reversed`: results of atomics are big-endian (docs/mlx5-findings.md, D42). Whether
 * the data comes in CQEs the trace says.
 */
#include <endian.h>

#include "link.h"

#define SIZE  4096
#define FAR   2048 /* where results and atomics are in the buffers */
#define TIMES 8

static struct link l;
static struct ibv_cq *cq[2];
static struct ibv_qp *qp[2];
static struct ibv_mr *atomics; /* of end 0's buffer */
static bool reversed;

static void open_pair(struct ibv_srq *srq)
{
	for (int end = 0; end < 2; end++) {
		struct ibv_qp_init_attr init = {.cap = {16, 16, 2, 2, 0},
						.qp_type = IBV_QPT_RC,
						.sq_sig_all = 1,
						.srq = end ? srq : NULL};

		cq[end] = link_create_cq(&l, end, 64);
		init.send_cq = init.recv_cq = cq[end];
		qp[end] = ibv_create_qp(l.pd[end], &init);
		CHECK(qp[end]);
	}
	link_connect(&l, qp);
}

static void close_pair(void)
{
	for (int end = 0; end < 2; end++) {
		CHECK(!(errno = ibv_destroy_qp(qp[end])));
		CHECK(!(errno = ibv_destroy_cq(cq[end])));
	}
}

/* `len` bytes in two pieces, with a gap of 8 bytes in between. */
static void split(struct ibv_sge sge[2], int end, uint32_t at, uint32_t len)
{
	sge[0] = (struct ibv_sge){(uintptr_t)l.buf[end] + at, len / 3, l.mr[end]->lkey};
	sge[1] = (struct ibv_sge){sge[0].addr + len / 3 + 8, len - len / 3, l.mr[end]->lkey};
}

static bool split_equals(const char *got, const char *expected, uint32_t len)
{
	return !memcmp(got, expected, len / 3) &&
	       !memcmp(got + len / 3 + 8, expected + len / 3, len - len / 3);
}

static void send_one(struct ibv_srq *srq, uint32_t len)
{
	struct ibv_sge from = link_sge(&l, 0, len), to[2];
	struct ibv_recv_wr recv = {.sg_list = to, .num_sge = 2}, *bad;
	struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_wc wc;

	split(to, 1, 0, len);
	memset(l.buf[1], 0, SIZE);
	CHECK(!(errno = srq ? ibv_post_srq_recv(srq, &recv, &bad) : ibv_post_recv(qp[1], &recv, &bad)));
	link_post(qp[0], &send);
	CHECK(link_wait(cq[0]).status == IBV_WC_SUCCESS);
	wc = link_wait(cq[1]);
	CHECK(wc.status == IBV_WC_SUCCESS && wc.byte_len == len);
	CHECK(split_equals(l.buf[1], l.buf[0], len));
}

static void read_one(uint32_t len)
{
	struct ibv_sge to[2];
	struct ibv_send_wr read = {.sg_list = to, .num_sge = 2, .opcode = IBV_WR_RDMA_READ};
	struct ibv_wc wc;

	split(to, 1, FAR, len);
	memset(l.buf[1], 0, SIZE);
	read.wr.rdma.remote_addr = (uintptr_t)l.buf[0];
	read.wr.rdma.rkey = l.mr[0]->rkey;
	link_post(qp[1], &read);
	wc = link_wait(cq[1]);
	CHECK(wc.status == IBV_WC_SUCCESS && wc.byte_len == len);
	CHECK(split_equals(l.buf[1] + FAR, l.buf[0], len));
}

static void add_one(uint64_t expected)
{
	uint64_t *result = (uint64_t *)(l.buf[1] + FAR);
	struct ibv_sge to = {(uintptr_t)result, sizeof(*result), l.mr[1]->lkey};
	struct ibv_send_wr add = {.sg_list = &to, .num_sge = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD};

	add.wr.atomic.remote_addr = (uintptr_t)l.buf[0] + FAR;
	add.wr.atomic.rkey = atomics->rkey;
	add.wr.atomic.compare_add = 1;
	*result = UINT64_MAX;
	link_post(qp[1], &add);
	CHECK(link_wait(cq[1]).status == IBV_WC_SUCCESS);
	CHECK(*result == (reversed ? htobe64(expected) : expected));
}

static void run(struct ibv_srq *srq, uint32_t len)
{
	static uint64_t added;

	open_pair(srq);
	for (int i = 0; i < TIMES; i++) {
		memset(l.buf[0], i + 'a', len);
		l.buf[0][len - 1] = (char)('A' + i);
		send_one(srq, len);
		read_one(len);
		add_one(added++);
	}
	close_pair();
}

int main(int argc, char **argv)
{
	const uint32_t len = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 32;
	struct ibv_srq_init_attr init = {.attr = {16, 2, 0}};
	struct ibv_srq *srq;

	CHECK(len >= 3 && len <= FAR / 2);
	reversed = argc > 2 && !strcmp(argv[2], "reversed");
	link_open(&l, SIZE);
	atomics = ibv_reg_mr(l.pd[0], l.buf[0], SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	CHECK(atomics);
	run(NULL, len);
	srq = ibv_create_srq(l.pd[1], &init);
	CHECK(srq);
	run(srq, len);
	CHECK(!(errno = ibv_destroy_srq(srq)) && !(errno = ibv_dereg_mr(atomics)));
	link_close(&l);
	return 0;
}
