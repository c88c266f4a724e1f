// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A program on adapters with faults: `hcasim-faulty write|send ROUNDS`. In each round a new connection is given some work
 * requests. Each of them ends with a completion, behind the first error they are flushed, and what succeeded is at the
 * other end. Prints how many succeeded, and how many did not.
 */
#include "link.h"

#define BATCH 8u
#define BYTES 3000u /* several memory reads each */

static unsigned int good, bad;

static void fill(const struct link *l, unsigned int seed)
{
	for (uint32_t i = 0; i < BATCH * BYTES; i++)
		l->buf[0][i] = (char)(i * 7 + i / BYTES + seed);
	memset(l->buf[1], 0, BATCH * BYTES);
}

static struct ibv_sge part(const struct link *l, int end, uint32_t i)
{
	struct ibv_sge sge = link_sge(l, end, BYTES);

	sge.addr += (uint64_t)i * BYTES;
	return sge;
}

static void post_recv(const struct pair *p, uint32_t i)
{
	struct ibv_sge sge = part(p->l, 1, i);
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv;

	CHECK(!(errno = ibv_post_recv(p->qp[1], &recv, &bad_recv)));
}

static void post(const struct pair *p, enum ibv_wr_opcode op, uint32_t i)
{
	struct ibv_sge sge = part(p->l, 0, i);
	struct ibv_send_wr wr = {.wr_id = i,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = op,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {part(p->l, 1, i).addr, p->l->mr[1]->rkey}};

	link_post(p->qp[0], &wr);
}

/* rxe's wr_ids are in its work requests: an adapter that could not read one does not know it. */
static bool ids_may_be_lost(const struct link *l)
{
	return !strncmp(ibv_get_device_name(l->ctx[0]->device), "rxe", 3);
}

static void expect_all(const struct pair *p)
{
	const struct link *l = p->l;
	bool failed = false;

	for (uint32_t i = 0; i < BATCH; i++) {
		const struct ibv_wc wc = link_wait(p->cq[0]);

		CHECK(!failed || wc.status == IBV_WC_WR_FLUSH_ERR);
		failed = failed || wc.status != IBV_WC_SUCCESS;
		CHECK(wc.wr_id == i || (failed && !wc.wr_id && ids_may_be_lost(l)));
		if (!failed)
			CHECK(!memcmp(l->buf[0] + i * BYTES, l->buf[1] + i * BYTES, BYTES));
		failed ? bad++ : good++;
	}
}

static void flush_receives(const struct pair *p)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	CHECK(!(errno = ibv_modify_qp(p->qp[1], &attr, IBV_QP_STATE)));
	for (uint32_t i = 0; i < BATCH; i++)
		link_wait(p->cq[1]);
}

static void one_round(const struct link *l, enum ibv_wr_opcode op, unsigned int number)
{
	struct pair p;

	fill(l, number);
	pair_open(&p, l);
	for (uint32_t i = 0; i < BATCH && op == IBV_WR_SEND; i++)
		post_recv(&p, i);
	for (uint32_t i = 0; i < BATCH; i++)
		post(&p, op, i);
	expect_all(&p);
	if (op == IBV_WR_SEND)
		flush_receives(&p);
	pair_close(&p);
}

int main(int argc, char **argv)
{
	const bool send = argc == 3 && !strcmp(argv[1], "send");
	struct link l;

	if (argc != 3 || (!send && strcmp(argv[1], "write"))) {
		fprintf(stderr, "usage: hcasim-faulty write|send ROUNDS\n");
		return 2;
	}
	link_open(&l, BATCH * BYTES);
	for (int i = 0; i < atoi(argv[2]); i++)
		one_round(&l, send ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, (unsigned int)i);
	link_close(&l);
	printf("%u %u\n", good, bad);
	return 0;
}
