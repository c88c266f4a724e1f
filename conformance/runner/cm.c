/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>

#include "cm.h"

#define CM_DEPTH 16

static int failed(void)
{
	return errno ? errno : EIO;
}

/* Waits for one event of any id of the channel; a connection request brings the server's id. */
static int expect_event(struct cm *cm, const struct dut *dut, enum rdma_cm_event_type type)
{
	struct pollfd fd = {.fd = cm->channel->fd, .events = POLLIN};
	struct rdma_cm_event *event;
	int ret = 0;

	cm->step = rdma_event_str(type);
	if (poll(&fd, 1, dut->timeout_ms) != 1)
		return ETIMEDOUT;
	if (rdma_get_cm_event(cm->channel, &event))
		return failed();
	if (event->event != type)
		ret = event->status < 0 ? -event->status : EPROTO;
	else if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		cm->server = event->id;
	rdma_ack_cm_event(event);
	return ret;
}

static int resolve(const char *address, struct sockaddr_storage *sa)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *list;

	if (!*address || getaddrinfo(address, NULL, &hints, &list))
		return EADDRNOTAVAIL;
	memcpy(sa, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}

static int listen_on(struct cm *cm, struct sockaddr_storage *sa)
{
	cm->step = "rdma_create_id";
	errno = 0;
	if (rdma_create_id(cm->channel, &cm->listener, NULL, RDMA_PS_TCP))
		return failed();
	cm->step = "rdma_bind_addr";
	if (rdma_bind_addr(cm->listener, (struct sockaddr *)sa))
		return failed();
	cm->step = "rdma_listen";
	return rdma_listen(cm->listener, 1) ? failed() : 0;
}

static int create_qp(struct cm *cm, struct rdma_cm_id *id, uint32_t sges, uint32_t inline_bytes)
{
	struct ibv_qp_init_attr attr = {.cap = {CM_DEPTH, CM_DEPTH, sges, 1, inline_bytes},
					.qp_type = IBV_QPT_RC};

	cm->step = "rdma_create_qp";
	if (rdma_create_qp(id, NULL, &attr))
		return failed();
	if (id == cm->client)
		cm->cap = attr.cap;
	return 0;
}

static int reach(struct cm *cm, const struct dut *dut, struct sockaddr_storage *from,
		 struct sockaddr_storage *to)
{
	int ret;

	cm->step = "rdma_create_id";
	if (rdma_create_id(cm->channel, &cm->client, NULL, RDMA_PS_TCP))
		return failed();
	cm->step = "rdma_resolve_addr";
	if (rdma_resolve_addr(cm->client, (struct sockaddr *)from, (struct sockaddr *)to, dut->timeout_ms))
		return failed();
	ret = expect_event(cm, dut, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (ret)
		return ret;
	cm->step = "rdma_resolve_route";
	if (rdma_resolve_route(cm->client, dut->timeout_ms))
		return failed();
	return expect_event(cm, dut, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static int connect_both(struct cm *cm, const struct dut *dut)
{
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 6};
	int ret;

	cm->step = "rdma_connect";
	if (rdma_connect(cm->client, &param))
		return failed();
	ret = expect_event(cm, dut, RDMA_CM_EVENT_CONNECT_REQUEST);
	if (!ret)
		ret = create_qp(cm, cm->server, 1, 0);
	if (ret)
		return ret;
	cm->step = "rdma_accept";
	if (rdma_accept(cm->server, &param))
		return failed();
	ret = expect_event(cm, dut, RDMA_CM_EVENT_ESTABLISHED);
	return ret ? ret : expect_event(cm, dut, RDMA_CM_EVENT_ESTABLISHED);
}

int cm_open(struct cm *cm, const struct dut *dut, uint32_t sges, uint32_t inline_bytes, struct log *log)
{
	struct sockaddr_storage from, to;
	int ret;

	memset(cm, 0, sizeof(*cm));
	cm->step = "rdma_create_event_channel";
	errno = 0;
	cm->channel = rdma_create_event_channel();
	if (!cm->channel)
		return failed();
	cm->step = "address of the requester or the responder in the DUT file";
	ret = resolve(dut->requester.address, &from);
	if (!ret)
		ret = resolve(dut->responder.address, &to);
	if (ret)
		return ret;
	log_call(log,
		 "cell_connect_id(%u, %u) /* rdma_listen(), rdma_resolve_addr(), rdma_resolve_route(), "
		 "rdma_create_qp(), rdma_connect(), rdma_accept() */",
		 sges, inline_bytes);
	ret = listen_on(cm, &to);
	if (ret)
		return ret;
	((struct sockaddr_in *)&to)->sin_port = rdma_get_src_port(cm->listener);
	ret = reach(cm, dut, &from, &to);
	if (!ret)
		ret = create_qp(cm, cm->client, sges, inline_bytes);
	return ret ? ret : connect_both(cm, dut);
}

static void close_id(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

void cm_close(struct cm *cm)
{
	close_id(cm->client);
	close_id(cm->server);
	close_id(cm->listener);
	if (cm->channel)
		rdma_destroy_event_channel(cm->channel);
	memset(cm, 0, sizeof(*cm));
}
