/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "link/cm.h"
#include "judge/watchdog.h"
#include "remote/remote_cm.h"

#define CM_DEPTH 16
/* librdmacm's limit as a multiple of the watchdog's, so that elapsed time alone fails no cell. */
#define SPARE 10

/* Waits for one event of any id of the channel; a connection request contains the server's id. */
static int expect_event(struct cm *cm, unsigned int timeout_ms, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	int ret = 0;

	cm->step = rdma_event_str(type);
	if (!watchdog_readable(cm->channel->fd, timeout_ms))
		return ETIMEDOUT;
	if (rdma_get_cm_event(cm->channel, &event))
		return errno_of_failure();
	if (event->event != type)
		ret = event->status < 0 ? -event->status : EPROTO;
	else if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		cm->server = event->id;
	rdma_ack_cm_event(event);
	return ret;
}

int cm_address(const char *address, struct sockaddr_storage *sa)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *list;

	if (!*address || getaddrinfo(address, NULL, &hints, &list))
		return EADDRNOTAVAIL;
	memcpy(sa, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}

socklen_t cm_address_length(const struct sockaddr_storage *sa)
{
	return sa->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

static int create_channel(struct cm *cm)
{
	memset(cm, 0, sizeof(*cm));
	cm->step = "rdma_create_event_channel";
	errno = 0;
	cm->channel = rdma_create_event_channel();
	return cm->channel ? 0 : errno_of_failure();
}

static int listen_on(struct cm *cm, const char *address, uint16_t *port)
{
	struct sockaddr_storage sa;
	int ret;

	cm->step = "address of the responder in the DUT file";
	ret = cm_address(address, &sa);
	if (ret)
		return ret;
	cm->step = "rdma_create_id";
	errno = 0;
	if (rdma_create_id(cm->channel, &cm->listener, NULL, RDMA_PS_TCP))
		return errno_of_failure();
	cm->step = "rdma_bind_addr";
	if (rdma_bind_addr(cm->listener, (struct sockaddr *)&sa))
		return errno_of_failure();
	cm->step = "rdma_listen";
	if (rdma_listen(cm->listener, 1))
		return errno_of_failure();
	*port = rdma_get_src_port(cm->listener);
	return 0;
}

int cm_listen(struct cm *cm, const char *address, uint16_t *port)
{
	int ret = create_channel(cm);

	return ret ? ret : listen_on(cm, address, port);
}

static int create_qp(struct cm *cm, struct rdma_cm_id *id, uint32_t sges, uint32_t inline_bytes)
{
	struct ibv_qp_init_attr attr = {.cap = {CM_DEPTH, CM_DEPTH, sges, 1, inline_bytes},
					.qp_type = IBV_QPT_RC};

	cm->step = "rdma_create_qp";
	if (rdma_create_qp(id, NULL, &attr))
		return errno_of_failure();
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
		return errno_of_failure();
	cm->step = "rdma_resolve_addr";
	if (rdma_resolve_addr(cm->client, (struct sockaddr *)from, (struct sockaddr *)to,
			      SPARE * dut->timeout_ms))
		return errno_of_failure();
	ret = expect_event(cm, dut->timeout_ms, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (ret)
		return ret;
	cm->step = "rdma_resolve_route";
	if (rdma_resolve_route(cm->client, SPARE * dut->timeout_ms))
		return errno_of_failure();
	return expect_event(cm, dut->timeout_ms, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static struct rdma_conn_param parameters(const struct cm *cm)
{
	const uint8_t most = cm->no_resources ? 0 : 1;

	return (struct rdma_conn_param){
		.responder_resources = most, .initiator_depth = most, .retry_count = 7, .rnr_retry_count = 6};
}

int cm_accept(struct cm *cm, unsigned int timeout_ms)
{
	struct rdma_conn_param param = parameters(cm);
	int ret = expect_event(cm, timeout_ms, RDMA_CM_EVENT_CONNECT_REQUEST);

	if (!ret)
		ret = create_qp(cm, cm->server, 1, 0);
	if (ret)
		return ret;
	cm->peer = cm->server->qp;
	cm->peer_cq = cm->server->recv_cq;
	cm->peer_pd = cm->server->pd;
	cm->step = "rdma_accept";
	return rdma_accept(cm->server, &param) ? errno_of_failure() : 0;
}

int cm_established(struct cm *cm, unsigned int timeout_ms)
{
	return expect_event(cm, timeout_ms, RDMA_CM_EVENT_ESTABLISHED);
}

int cm_connect(struct cm *cm, const struct dut *dut)
{
	struct rdma_conn_param param = parameters(cm);
	int ret;

	cm->step = "rdma_connect";
	if (rdma_connect(cm->client, &param))
		return errno_of_failure();
	ret = dut->remote ? remote_cm_accept(cm) : cm_accept(cm, dut->timeout_ms);
	if (!ret)
		ret = cm_established(cm, dut->timeout_ms);
	if (!ret)
		ret = dut->remote ? remote_cm_established(cm) : cm_established(cm, dut->timeout_ms);
	return ret;
}

static void close_id(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

int cm_begin(struct cm *cm, const struct dut *dut, uint32_t sges, uint32_t inline_bytes, struct log *log)
{
	struct sockaddr_storage from, to;
	uint16_t port = 0;
	int ret = create_channel(cm);

	if (ret)
		return ret;
	cm->step = "address of the requester or the responder in the DUT file";
	ret = cm_address(dut->requester.address, &from);
	if (!ret)
		ret = cm_address(dut->responder.address, &to);
	if (ret)
		return ret;
	log_call(log,
		 "cell_connect_id(%u, %u) /* rdma_listen(), rdma_resolve_addr(), rdma_resolve_route(), "
		 "rdma_create_qp(), rdma_connect(), rdma_accept() */",
		 sges, inline_bytes);
	ret = dut->remote ? remote_cm_listen(cm, &port) : listen_on(cm, dut->responder.address, &port);
	if (ret)
		return ret;
	((struct sockaddr_in *)&to)->sin_port = port;
	ret = reach(cm, dut, &from, &to);
	return ret ? ret : create_qp(cm, cm->client, sges, inline_bytes);
}

int cm_next(struct cm *cm, const struct dut *dut)
{
	struct sockaddr_storage from, to;
	int ret = cm_address(dut->requester.address, &from);

	close_id(cm->client);
	close_id(cm->server);
	cm->client = cm->server = NULL;
	if (!ret)
		ret = cm_address(dut->responder.address, &to);
	if (ret)
		return ret;
	((struct sockaddr_in *)&to)->sin_port = rdma_get_src_port(cm->listener);
	ret = reach(cm, dut, &from, &to);
	return ret ? ret : create_qp(cm, cm->client, 1, 0);
}

int cm_open(struct cm *cm, const struct dut *dut, uint32_t sges, uint32_t inline_bytes, struct log *log)
{
	int ret = cm_begin(cm, dut, sges, inline_bytes, log);

	return ret ? ret : cm_connect(cm, dut);
}

void cm_close(struct cm *cm)
{
	remote_cm_close(cm);
	close_id(cm->client);
	close_id(cm->server);
	close_id(cm->listener);
	if (cm->channel)
		rdma_destroy_event_channel(cm->channel);
	memset(cm, 0, sizeof(*cm));
}
