/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A list of `batch` signalled work requests: one ibv_post_send, one doorbell. */
static struct ibv_send_wr *make_list(struct link *l, struct ibv_sge *sge, enum ibv_wr_opcode op,
				     uint32_t batch)
{
	struct ibv_send_wr *wr = calloc(batch, sizeof(*wr));

	if (!wr)
		die("calloc");
	for (uint32_t i = 0; i < batch; i++) {
		wr[i].next = i + 1 < batch ? &wr[i + 1] : NULL;
		wr[i].sg_list = sge;
		wr[i].num_sge = 1;
		wr[i].opcode = op;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].wr.rdma.remote_addr = (uintptr_t)l->buf[1];
		wr[i].wr.rdma.rkey = l->mr[1]->rkey;
	}
	return wr;
}

static double run(struct ibv_qp *qp, struct ibv_send_wr *list, uint32_t batch, uint64_t wqes)
{
	double start = now_ns();
	uint64_t posted = 0, done = 0;
	struct ibv_send_wr *bad;
	uint64_t wr_id;

	while (done < wqes) {
		while (posted < wqes && posted - done + batch <= LINK_SQ_DEPTH) {
			errno = ibv_post_send(qp, list, &bad);
			if (errno)
				die("ibv_post_send");
			posted += batch;
		}
		while (link_poll(qp->send_cq, &wr_id))
			done++;
	}
	return now_ns() - start;
}

static void open_pair(struct link *l, struct ibv_qp *qp[2])
{
	for (int end = 0; end < 2; end++)
		qp[end] = link_create_qp(l, end, link_create_cq(l, end, LINK_SQ_DEPTH), NULL);
	link_connect(l, qp);
}

void bench_post(enum ibv_wr_opcode op, uint32_t size, uint32_t batch, uint64_t wqes)
{
	struct link l;
	struct ibv_qp *qp[2];

	link_open(&l, BUF_SIZE);
	open_pair(&l, qp);

	struct ibv_sge sge = {.addr = (uintptr_t)l.buf[0], .length = size, .lkey = l.mr[0]->lkey};
	struct ibv_send_wr *list = make_list(&l, &sge, op, batch);

	wqes -= wqes % batch;
	run(qp[0], list, batch, wqes < 10 * batch ? batch : wqes / 10 - wqes / 10 % batch); /* warm-up */
	double ns = run(qp[0], list, batch, wqes);

	printf("{\"wqes\": %llu, \"seconds\": %.6f, \"wqes_per_second\": %.0f}\n", (unsigned long long)wqes,
	       ns / 1e9, wqes * 1e9 / ns);
	free(list);
}

void bench_qps(uint32_t count)
{
	struct link l;
	struct ibv_qp *qp[2];

	link_open(&l, BUF_SIZE);

	struct ibv_sge sge = {.addr = (uintptr_t)l.buf[0], .length = 64, .lkey = l.mr[0]->lkey};
	struct ibv_send_wr *list = make_list(&l, &sge, IBV_WR_RDMA_WRITE, 1);

	/* Each pair is two QPs. */
	for (uint32_t i = 0; i < (count + 1) / 2; i++) {
		open_pair(&l, qp);
		run(qp[0], list, 1, 1);
	}
	printf("{\"qps\": %u}\n", (count + 1) / 2 * 2);
	fflush(stdout);
	free(list);
	while (getchar() != EOF)
		;
}
