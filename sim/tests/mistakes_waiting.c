// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Mistakes with completions: programs that wait for ever, objects that cannot be destroyed, flushed requests. */
#include "mistakes.h"

static struct ibv_comp_channel *channel;

/* A connected pair; completions of end 1 can raise events. */
static void connect_with_channel(void)
{
	channel = ibv_create_comp_channel(l.ctx[1]);
	p.cq[1] = channel ? ibv_create_cq(l.ctx[1], 64, NULL, channel, 0) : NULL;
	CHECK(p.cq[1]);
	connect_pair();
	say_value("cq1", p.cq[1]->handle);
}

static void send_message(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, 7);

	post_receive(1, 3);
	POST(wr);
}

static void take_event(void)
{
	struct ibv_cq *cq;
	void *context;

	CHECK(!ibv_get_cq_event(channel, &cq, &context));
	printf("completion event\n");
}

/* ibv_req_notify_cq() was not called: no completion raises an event. */
static void not_armed(void)
{
	struct ibv_cq *cq;
	void *context;

	connect_with_channel();
	send_message();
	say_waiting();
	ibv_get_cq_event(channel, &cq, &context);
}

/* An armed CQ raises one event; it is not armed again. */
static void not_rearmed(void)
{
	struct ibv_cq *cq;
	void *context;

	connect_with_channel();
	CHECK(!(errno = ibv_req_notify_cq(p.cq[1], 0)));
	send_message();
	take_event();
	ibv_ack_cq_events(p.cq[1], 1);
	say_completion(p.cq[1]);
	send_message();
	say_waiting();
	ibv_get_cq_event(channel, &cq, &context);
}

/* Armed while there are completions, of which it takes only one before it waits. */
static void arm_first(void)
{
	struct ibv_cq *cq;
	void *context;

	connect_with_channel();
	send_message();
	send_message();
	CHECK(!(errno = ibv_req_notify_cq(p.cq[1], 0)));
	say_completion(p.cq[1]);
	say_waiting();
	ibv_get_cq_event(channel, &cq, &context);
}

/* Armed for solicited completions, and the sender does not set IBV_SEND_SOLICITED. */
static void not_solicited(void)
{
	struct ibv_cq *cq;
	void *context;

	connect_with_channel();
	CHECK(!(errno = ibv_req_notify_cq(p.cq[1], 1)));
	send_message();
	say_waiting();
	ibv_get_cq_event(channel, &cq, &context);
}

/* The program polls for the completion of a request that is not signaled. */
static void unsignaled(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7), *bad;

	connect_pair();
	wr.send_flags = 0;
	say_error("ibv_post_send", ibv_post_send(p.qp[0], &wr, &bad));
	say_waiting();
	while (!ibv_poll_cq(p.cq[0], 1, &(struct ibv_wc){}))
		;
}

/* The receiver waits for a completion, but a WRITE has none at its target. */
static void write_is_silent(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);

	connect_pair();
	post_receive(1, 3);
	POST(wr);
	say_waiting();
	while (!ibv_poll_cq(p.cq[1], 1, &(struct ibv_wc){}))
		;
}

/* The event was not acknowledged: ibv_destroy_cq() waits for that. */
static void event_not_acked(void)
{
	connect_with_channel();
	CHECK(!(errno = ibv_req_notify_cq(p.cq[1], 0)));
	send_message();
	take_event();
	CHECK(!(errno = ibv_destroy_qp(p.qp[1])));
	say_waiting();
	say_error("ibv_destroy_cq", ibv_destroy_cq(p.cq[1]));
}

/* The same for an asynchronous event and ibv_destroy_qp(). */
static void async_not_acked(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);
	struct ibv_async_event event;

	connect_pair();
	wr.wr.rdma.rkey ^= 0x1000;
	POST(wr);
	CHECK(!ibv_get_async_event(l.ctx[1], &event));
	say_waiting();
	say_error("ibv_destroy_qp", ibv_destroy_qp(p.qp[1]));
}

/* A queue pair still uses the CQ. */
static void busy_cq(void)
{
	create_pair();
	say_error("ibv_destroy_cq", ibv_destroy_cq(p.cq[0]));
}

/* The program itself moves the queue pair to ERR while its receives wait. */
static void flushed(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	connect_pair();
	post_receive(1, 3);
	post_receive(1, 4);
	CHECK(!(errno = ibv_modify_qp(p.qp[1], &attr, IBV_QP_STATE)));
	say_completion(p.cq[1]);
	say_completion(p.cq[1]);
}

/* After an error it posts on, as if nothing had happened. */
static void posted_after_error(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);

	connect_pair();
	wr.wr.rdma.rkey ^= 0x1000;
	POST(wr);
	wr.wr.rdma.rkey ^= 0x1000;
	wr.wr_id = 8;
	POST(wr);
}

const struct mistake waiting_mistakes[] = {
	{"not_armed", not_armed},
	{"not_rearmed", not_rearmed},
	{"arm_first", arm_first},
	{"not_solicited", not_solicited},
	{"unsignaled", unsignaled},
	{"write_is_silent", write_is_silent},
	{"event_not_acked", event_not_acked},
	{"async_not_acked", async_not_acked},
	{"busy_cq", busy_cq},
	{"flushed", flushed},
	{"posted_after_error", posted_after_error},
	{},
};
