// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work that is outstanding when the adapter is lost: each request completes once, with a flush error, in the
 * order of its queue. Requests that had completed do not complete again, and receives of shared queues and of
 * work queues do not complete. Started by `hcasim run`; prints "outstanding" when the adapter may be removed.
 */
#include "link.h"

#define CQES  16           /* fewer than the outstanding requests */
#define SENDS 30           /* outstanding sends of a QP */
#define RECVS 20           /* outstanding receives of a QP */
#define RECV  (1ull << 32) /* in the ids of receives: an error says nothing of the operation */
#define TURNS 700 /* requests that complete first: enough to wrap send queues of 256 basic blocks or more */

struct flow { /* an RC QP whose peer is never ready to receive */
	struct ibv_qp *qp[2];
	struct ibv_cq *recv_cq;
	uint64_t sent, received, next_send, next_recv; /* ids posted so far; next ids to complete */
};

static struct link l;
static struct ibv_cq *cq[2];
static struct ibv_srq *srq;

static void flow_open(struct flow *f, struct ibv_cq *recv_cq, struct ibv_srq *of)
{
	f->recv_cq = recv_cq;
	for (int end = 0; end < 2; end++) {
		struct ibv_qp_init_attr init = {.send_cq = cq[end],
						.recv_cq = end ? cq[end] : recv_cq,
						.srq = end ? NULL : of,
						.cap = {256, RECVS, 1, 1, 64},
						.qp_type = IBV_QPT_RC};

		f->qp[end] = ibv_create_qp(l.pd[end], &init);
		CHECK(f->qp[end]);
		f->qp[end]->qp_context = f;
	}
	link_connect(&l, f->qp);
}

/* WQEs of several lengths: of one basic block, of two (inline), with immediate data. */
static void send_one(struct flow *f, enum ibv_wr_opcode op, unsigned int flags)
{
	struct ibv_sge sge = {(uintptr_t)l.buf[0], f->sent % 3 ? 8 : 64, l.mr[0]->lkey};
	struct ibv_send_wr wr = {.wr_id = f->sent++,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = op,
				 .send_flags = flags | (f->sent % 2 ? IBV_SEND_INLINE : 0),
				 .wr.rdma = {(uintptr_t)l.buf[1], l.mr[1]->rkey}};

	link_post(f->qp[0], &wr);
}

static void receive_one(struct flow *f)
{
	struct ibv_sge sge = link_sge(&l, 0, 64);
	struct ibv_recv_wr *bad, wr = {.wr_id = RECV | f->received++, .sg_list = &sge, .num_sge = 1};

	CHECK(!(errno = ibv_post_recv(f->qp[0], &wr, &bad)));
}

/* Writes that complete, one in eight with a completion. */
static void traffic(struct flow *f, unsigned int n)
{
	for (unsigned int i = 1; i <= n; i++) {
		send_one(f, IBV_WR_RDMA_WRITE, i % 8 && i < n ? 0 : IBV_SEND_SIGNALED);
		if (i % 8 && i < n)
			continue;
		CHECK(link_wait(cq[0]).wr_id == f->sent - 1);
	}
	f->next_send = f->sent;
}

/* Posts a SEND that waits forever for a receive, and requests after it. */
static void leave(struct flow *f)
{
	for (int i = 0; i < SENDS; i++)
		send_one(f, i % 4 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, i % 3 ? IBV_SEND_SIGNALED : 0);
	for (int i = 0; i < RECVS && !f->qp[0]->srq; i++)
		receive_one(f);
}

static void check_wc(struct flow *flows, unsigned int n, const struct ibv_wc *wc)
{
	for (struct flow *f = flows; f < flows + n; f++) {
		const uint64_t recv = wc->wr_id & RECV;
		uint64_t *next = recv ? &f->next_recv : &f->next_send;

		if (wc->qp_num != f->qp[0]->qp_num)
			continue;
		if (wc->wr_id != (recv | *next) || wc->status != IBV_WC_WR_FLUSH_ERR)
			fprintf(stderr, "QP %u: WR %llu '%s', expected WR %llu\n", wc->qp_num,
				(unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status),
				(unsigned long long)(recv | *next));
		CHECK(wc->status == IBV_WC_WR_FLUSH_ERR && wc->wr_id == (recv | (*next)++));
		return;
	}
	CHECK(!"a completion of an unknown queue pair");
}

/* What is left comes to the CQ of its queue. */
static void flushed_to(struct ibv_cq *to, struct flow *flows, unsigned int n)
{
	uint64_t left = 0;

	for (struct flow *f = flows; f < flows + n; f++)
		left += (to == cq[0] ? f->sent - f->next_send : 0) +
			(to == f->recv_cq ? f->received - f->next_recv : 0);
	for (; left; left--) {
		struct ibv_wc wc = link_wait(to);

		CHECK(to == cq[0] || wc.wr_id & RECV);
		check_wc(flows, n, &wc);
	}
}

/* A work queue with a receive. */
static struct ibv_wq *open_wq(struct ibv_cq *of)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = l.pd[0], .cq = of};
	struct ibv_wq_attr ready = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY};
	struct ibv_wq *wq = ibv_create_wq(l.ctx[0], &init);
	struct ibv_sge sge = link_sge(&l, 0, 64);
	struct ibv_recv_wr *bad, wr = {.sg_list = &sge, .num_sge = 1};

	CHECK(wq && !(errno = ibv_modify_wq(wq, &ready)) && !(errno = ibv_post_wq_recv(wq, &wr, &bad)));
	return wq;
}

int main(void)
{
	struct ibv_srq_init_attr shared = {.attr = {16, 1, 0}};
	struct ibv_sge sge;
	struct ibv_recv_wr *bad, wr = {.sg_list = &sge, .num_sge = 1};
	static struct flow flows[3];
	struct ibv_cq *wq_cq, *recv_cq;
	struct ibv_wc wc;

	link_open(&l, 4096);
	sge = link_sge(&l, 0, 64);
	cq[0] = link_create_cq(&l, 0, CQES);
	cq[1] = link_create_cq(&l, 1, CQES);
	srq = ibv_create_srq(l.pd[0], &shared);
	CHECK(srq && !ibv_post_srq_recv(srq, &wr, &bad));
	wq_cq = link_create_cq(&l, 0, CQES);
	recv_cq = link_create_cq(&l, 0, CQES);
	open_wq(wq_cq);
	for (int i = 0; i < 3; i++)
		flow_open(&flows[i], i == 1 ? recv_cq : cq[0], i == 2 ? srq : NULL);
	/* The first one's last completion is no longer in the CQ's ring; the third one has none at all. */
	traffic(&flows[0], TURNS);
	traffic(&flows[1], TURNS);
	for (int i = 0; i < 3; i++)
		leave(&flows[i]);
	printf("outstanding\n");
	fflush(stdout);
	CHECK(link_event(l.ctx[0]).event_type == IBV_EVENT_DEVICE_FATAL);
	flushed_to(cq[0], flows, 3);
	flushed_to(recv_cq, flows, 3);
	leave(&flows[0]);
	flushed_to(cq[0], flows, 1);
	CHECK(!ibv_poll_cq(cq[0], 1, &wc) && !ibv_poll_cq(cq[1], 1, &wc));
	CHECK(!ibv_poll_cq(wq_cq, 1, &wc) && !ibv_poll_cq(recv_cq, 1, &wc));
	printf("flushed\n");
	return 0;
}
