// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Send queues of mlx5 with work requests that the program writes itself: one is executed when a doorbell arrives whose
 * record covers it, not before. Prints the QP whose doorbells come without their record, for test_mlx5.py.
 */
#include <infiniband/mlx5dv.h>

#include "link.h"

#define LEN 32u

static struct link l;
static struct pair other;

struct queue {
	struct pair pair;
	struct mlx5dv_qp dv;
	uint16_t pi; /* basic blocks that were written */
};

static void open_queue(struct queue *q)
{
	struct mlx5dv_obj obj;

	pair_open(&q->pair, &l);
	obj.qp.in = q->pair.qp[0];
	obj.qp.out = &q->dv;
	q->dv.comp_mask = 0;
	CHECK(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP));
	q->pi = 0;
}

/* A WRITE of `value`s to the peer's buffer. */
static void *write_wqe(struct queue *q, char value)
{
	char *wqe = (char *)q->dv.sq.buf + (q->pi % q->dv.sq.wqe_cnt) * q->dv.sq.stride;
	struct mlx5_wqe_raddr_seg *remote = (void *)(wqe + 16);

	memset(l.buf[0], value, LEN);
	memset(l.buf[1], 0, LEN);
	memset(wqe, 0, MLX5_SEND_WQE_BB);
	mlx5dv_set_ctrl_seg((void *)wqe, q->pi++, MLX5_OPCODE_RDMA_WRITE, 0, q->pair.qp[0]->qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, 3, 0, 0);
	remote->raddr = htobe64((uintptr_t)l.buf[1]);
	remote->rkey = htobe32(l.mr[1]->rkey);
	mlx5dv_set_data_seg((void *)(wqe + 32), LEN, l.mr[0]->lkey, (uintptr_t)l.buf[0]);
	return wqe;
}

static void set_record(struct queue *q, int which)
{
	__atomic_store_n(&q->dv.dbrec[which], htobe32(q->pi), __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* `bytes` 8: the doorbell register; 64: BlueFlame. */
static void ring(const struct queue *q, const void *wqe, size_t bytes)
{
	volatile uint64_t *to = q->dv.bf.reg;

	for (size_t i = 0; i < bytes / 8; i++)
		to[i] = ((const uint64_t *)wqe)[i];
	__asm__ volatile("sfence" : : : "memory");
}

static void expect_done(struct queue *q, char value)
{
	CHECK(link_wait(q->pair.cq[0]).status == IBV_WC_SUCCESS);
	CHECK(l.buf[1][0] == value && l.buf[1][LEN - 1] == value);
}

/* A WRITE of another QP, posted after the doorbell, completes: the adapter has had its turn with this queue. */
static void expect_waiting(struct queue *q)
{
	struct ibv_wc wc;

	pair_post(&other, 0, IBV_WR_RDMA_WRITE, LEN, LEN, l.mr[1]->rkey);
	CHECK(link_wait(other.cq[0]).status == IBV_WC_SUCCESS);
	CHECK(!ibv_poll_cq(q->pair.cq[0], 1, &wc));
	CHECK(!l.buf[1][0]);
}

/* The record of the receive queue is another one; then the right one, without a doorbell; then a doorbell. */
static void waits(struct queue *q, size_t bytes, char value)
{
	const void *wqe = write_wqe(q, value);

	ring(q, wqe, bytes);
	expect_waiting(q);
	set_record(q, MLX5_RCV_DBR);
	ring(q, wqe, bytes);
	expect_waiting(q);
	set_record(q, MLX5_SND_DBR);
	expect_waiting(q);
	ring(q, wqe, bytes);
	expect_done(q, value);
}

int main(void)
{
	struct queue q;
	const void *wqe;

	link_open(&l, 4096);
	open_queue(&q);
	pair_open(&other, &l);
	wqe = write_wqe(&q, 1);
	set_record(&q, MLX5_SND_DBR);
	ring(&q, wqe, 8);
	expect_done(&q, 1);
	waits(&q, 8, 2);
	waits(&q, 64, 3);
	printf("QP %u\n", q.pair.qp[0]->qp_num);
	pair_close(&other);
	pair_close(&q.pair);
	link_close(&l);
	return 0;
}
