/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Uses nothing but the headers of rdma-core and inline.h: it is compiled again for each run with --headers. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <rdma/rdma_verbs.h>

#include "inline.h"

#define BYTES 64

/* want -1: and an errno. */
static bool did(const struct inline_report *to, const char *call, int ret, int want)
{
	const int error = errno;

	errno = 0;
	return to->check(to->context, ret == want && (want >= 0 || error > 0), call, ret, error);
}

static bool good(const struct inline_report *to, const char *what, bool holds)
{
	return to->check(to->context, holds, what, 0, 0);
}

static void message(const struct inline_report *to, struct rdma_cm_id *from, struct rdma_cm_id *there)
{
	uint8_t sent[BYTES] = {1, 2, 3, [BYTES - 1] = 4}, got[BYTES] = {0};
	struct ibv_mr *out = rdma_reg_msgs(from, sent, sizeof(sent));
	struct ibv_mr *in = rdma_reg_msgs(there, got, sizeof(got));
	struct ibv_wc wc;

	errno = 0;
	if (good(to, "rdma_reg_msgs", out && in) &&
	    did(to, "rdma_post_recv", rdma_post_recv(there, got, got, sizeof(got), in), 0) &&
	    did(to, "rdma_post_send", rdma_post_send(from, sent, sent, sizeof(sent), out, 0), 0) &&
	    did(to, "rdma_get_send_comp", rdma_get_send_comp(from, &wc), 1) &&
	    good(to, "the completion of the send",
		 wc.status == IBV_WC_SUCCESS && wc.wr_id == (uintptr_t)sent) &&
	    did(to, "rdma_get_recv_comp", rdma_get_recv_comp(there, &wc), 1))
		good(to, "the completion of the receive, and the bytes",
		     wc.status == IBV_WC_SUCCESS && wc.wr_id == (uintptr_t)got && wc.byte_len == BYTES &&
			     !memcmp(sent, got, BYTES));
	if (in)
		rdma_dereg_mr(in);
	if (out)
		rdma_dereg_mr(out);
}

struct late {
	struct rdma_cm_id *from;
	int fd; /* of the channel of the other side */
	uint8_t *sent;
	struct ibv_mr *out;
	int ret;
};

/* Sends once the channel has no event any more. */
static void *send_late(void *arg)
{
	struct late *l = arg;
	struct pollfd channel = {.fd = l->fd, .events = POLLIN};

	while (poll(&channel, 1, 0) == 1)
		sched_yield();
	l->ret = rdma_post_send(l->from, l->sent, l->sent, BYTES, l->out, 0);
	return NULL;
}

/* The channel has an event, of a message whose completion was taken: rdma_get_recv_comp() must arm the CQ once more. */
static void wait_for_late(const struct inline_report *to, struct rdma_cm_id *there, struct late *l)
{
	struct pollfd channel = {.fd = l->fd, .events = POLLIN};
	pthread_t thread;
	struct ibv_wc wc;
	int ret;

	while (!ibv_poll_cq(there->recv_cq, 1, &wc))
		;
	poll(&channel, 1, -1);
	if (pthread_create(&thread, NULL, send_late, l))
		return;
	errno = 0;
	ret = rdma_get_recv_comp(there, &wc);
	pthread_join(thread, NULL);
	if (did(to, "rdma_get_recv_comp after an event of an earlier message", ret, 1) &&
	    did(to, "rdma_post_send", l->ret, 0))
		did(to, "rdma_get_send_comp", rdma_get_send_comp(l->from, &wc), 1);
}

static void late_message(const struct inline_report *to, struct rdma_cm_id *from, struct rdma_cm_id *there)
{
	uint8_t sent[BYTES] = {5}, got[BYTES];
	struct ibv_mr *out = rdma_reg_msgs(from, sent, sizeof(sent));
	struct ibv_mr *in = rdma_reg_msgs(there, got, sizeof(got));
	struct late late = {from, there->recv_cq_channel->fd, sent, out, 0};
	struct ibv_wc wc;

	errno = 0;
	if (good(to, "rdma_reg_msgs", out && in) &&
	    good(to, "ibv_req_notify_cq", !ibv_req_notify_cq(there->recv_cq, 0)) &&
	    did(to, "rdma_post_recv", rdma_post_recv(there, got, got, sizeof(got), in), 0) &&
	    did(to, "rdma_post_recv", rdma_post_recv(there, got, got, sizeof(got), in), 0) &&
	    did(to, "rdma_post_send", rdma_post_send(from, sent, sent, sizeof(sent), out, 0), 0) &&
	    did(to, "rdma_get_send_comp", rdma_get_send_comp(from, &wc), 1))
		wait_for_late(to, there, &late);
	if (in)
		rdma_dereg_mr(in);
	if (out)
		rdma_dereg_mr(out);
}

/* More SGEs than the QP has, and a channel that does not block and has no event. */
static void failures(const struct inline_report *to, struct rdma_cm_id *id)
{
	const int fd = id->recv_cq_channel->fd, flags = fcntl(fd, F_GETFL);
	struct ibv_sge sges[64] = {{0}};
	struct ibv_device_attr a;
	struct ibv_wc wc;
	int most;

	ibv_query_device(id->verbs, &a);
	most = a.max_sge < 63 ? a.max_sge + 1 : 64;
	errno = 0;
	if (!did(to, "rdma_post_sendv of too many SGEs", rdma_post_sendv(id, NULL, sges, most, 0), -1) ||
	    !did(to, "rdma_post_recvv of too many SGEs", rdma_post_recvv(id, NULL, sges, most), -1))
		return;
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	errno = 0;
	did(to, "rdma_get_recv_comp without an event", rdma_get_recv_comp(id, &wc), -1);
	fcntl(fd, F_SETFL, flags);
}

static void messages(const struct inline_report *to, struct rdma_cm_id *client, struct rdma_cm_id *server)
{
	message(to, client, server);
	message(to, server, client);
	late_message(to, client, server);
	failures(to, client);
}

static void datagram(const struct inline_report *to, struct rdma_cm_id *client, struct rdma_cm_id *server)
{
	const struct rdma_ud_param *ud = &client->event->param.ud;
	uint8_t sent[BYTES] = {7}, got[40 + BYTES] = {0};
	struct ibv_mr *out = rdma_reg_msgs(client, sent, sizeof(sent));
	struct ibv_mr *in = rdma_reg_msgs(server, got, sizeof(got));
	struct ibv_ah_attr where = ud->ah_attr;
	struct ibv_ah *ah = ibv_create_ah(client->pd, &where);
	struct ibv_wc wc;

	errno = 0;
	if (good(to, "ibv_create_ah of the event's ah_attr, rdma_reg_msgs", ah && out && in) &&
	    did(to, "rdma_post_recv", rdma_post_recv(server, got, got, sizeof(got), in), 0) &&
	    did(to, "rdma_post_ud_send",
		rdma_post_ud_send(client, sent, sent, sizeof(sent), out, 0, ah, ud->qp_num), 0) &&
	    did(to, "rdma_get_recv_comp", rdma_get_recv_comp(server, &wc), 1))
		good(to, "the completion of the datagram, and the bytes",
		     wc.status == IBV_WC_SUCCESS && wc.byte_len == sizeof(got) &&
			     !memcmp(sent, got + 40, BYTES));
	if (in)
		rdma_dereg_mr(in);
	if (out)
		rdma_dereg_mr(out);
	if (ah)
		ibv_destroy_ah(ah);
}

static void work_queue(const struct inline_report *to, struct ibv_pd *pd)
{
	struct ibv_cq *cq = ibv_create_cq(pd->context, 8, NULL, NULL, 0);
	struct ibv_wq_init_attr init = {
		.wq_context = &init, .wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = pd, .cq = cq};
	struct ibv_wq *wq = ibv_create_wq(pd->context, &init);

	if (good(to, "ibv_create_wq", wq))
		good(to, "wq_context", wq->wq_context == &init);
	if (wq)
		ibv_destroy_wq(wq);
	if (cq)
		ibv_destroy_cq(cq);
}

static void old_provider(const struct inline_report *to)
{
	struct ibv_context context = {0};
	struct ibv_flow flow = {.context = &context};

	did(to, "ibv_destroy_flow of a provider without extended verbs", ibv_destroy_flow(&flow), EOPNOTSUPP);
}

const struct inline_calls inline_calls = {messages, datagram, work_queue, old_provider};
