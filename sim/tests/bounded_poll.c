// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcasim-bounded-poll arm-first|drain|budget: a receiver that waits for completion events while SENDs arrive in bursts.
 * `arm-first` arms the CQ and then polls at most LIMIT completions, which is wrong: what is left has no event any more.
 * `drain` arms and then polls until the CQ is empty. `budget` polls at most LIMIT at a time, and waits for an event only
 * if an armed CQ was empty.
 */
#include <poll.h>

#include "link.h"

#define BURST   64u
#define BURSTS  20u
#define LIMIT   16
#define BYTES   64
#define WAIT_MS 2000

static struct link l;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq[2];
static struct ibv_qp *qp[2];
static unsigned int taken; /* of a burst */
static bool armed;         /* and empty: the next completion has an event */

static void open_pair(void)
{
	channel = ibv_create_comp_channel(l.ctx[1]);
	CHECK(channel);
	for (int end = 0; end < 2; end++) {
		struct ibv_qp_init_attr init = {.cap = {BURST, BURST, 1, 1, 0}, .qp_type = IBV_QPT_RC};

		cq[end] = ibv_create_cq(l.ctx[end], BURST, NULL, end ? channel : NULL, 0);
		CHECK(cq[end]);
		init.send_cq = init.recv_cq = cq[end];
		qp[end] = ibv_create_qp(l.pd[end], &init);
		CHECK(qp[end]);
	}
	link_connect(&l, qp);
}

static void send_burst(void)
{
	struct ibv_sge from = link_sge(&l, 0, BYTES), to = link_sge(&l, 1, BYTES);
	struct ibv_recv_wr recv = {.sg_list = &to, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send[BURST], *bad;

	for (unsigned int i = 0; i < BURST; i++) {
		CHECK(!(errno = ibv_post_recv(qp[1], &recv, &bad_recv)));
		send[i] = (struct ibv_send_wr){.next = i + 1 < BURST ? &send[i + 1] : NULL,
					       .sg_list = &from,
					       .num_sge = 1,
					       .opcode = IBV_WR_SEND,
					       .send_flags = i + 1 < BURST ? 0 : IBV_SEND_SIGNALED};
	}
	CHECK(!(errno = ibv_post_send(qp[0], send, &bad)));
}

/* Takes up to `limit` completions; the number of them. */
static int take(int limit)
{
	struct ibv_wc wc;
	int n = 0;

	while (n < limit && ibv_poll_cq(cq[1], 1, &wc) == 1) {
		CHECK(wc.status == IBV_WC_SUCCESS);
		n++;
	}
	taken += (unsigned int)n;
	return n;
}

static void arm(void)
{
	CHECK(!(errno = ibv_req_notify_cq(cq[1], 0)));
}

/* Patterns: whether to wait for an event now. */
static bool arm_first(void)
{
	arm();
	take(LIMIT);
	return true;
}

static bool drain(void)
{
	arm();
	while (take(LIMIT))
		;
	return true;
}

static bool budget(void)
{
	if (take(LIMIT) == LIMIT)
		return false;
	arm();
	return !take(LIMIT);
}

static bool wait_for_event(void)
{
	struct pollfd fd = {.fd = channel->fd, .events = POLLIN};
	struct ibv_cq *which;
	void *context;

	if (poll(&fd, 1, WAIT_MS) != 1)
		return false;
	CHECK(!ibv_get_cq_event(channel, &which, &context));
	ibv_ack_cq_events(which, 1);
	return true;
}

static bool receive_burst(bool (*pattern)(void))
{
	for (taken = 0; taken < BURST; armed = pattern()) {
		if (armed && !wait_for_event()) {
			printf("no event for %d ms: %u of %u completions taken\n", WAIT_MS, taken, BURST);
			return false;
		}
	}
	CHECK(link_wait(cq[0]).status == IBV_WC_SUCCESS);
	return true;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		bool (*run)(void);
	} patterns[] = {{"arm-first", arm_first}, {"drain", drain}, {"budget", budget}};
	bool (*pattern)(void) = NULL;

	for (unsigned int i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (argc == 2 && !strcmp(argv[1], patterns[i].name))
			pattern = patterns[i].run;
	if (!pattern) {
		fprintf(stderr, "usage: %s arm-first|drain|budget\n", argv[0]);
		return 2;
	}
	link_open(&l, 4096);
	open_pair();
	arm();
	armed = true;
	for (unsigned int i = 0; i < BURSTS; i++) {
		send_burst();
		if (!receive_burst(pattern))
			return 1;
	}
	printf("all %u completions taken\n", BURST * BURSTS);
	return 0;
}
