/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Ids without a channel of events: rdma_getaddrinfo(), rdma_create_ep() and calls that wait until they are done. The
 * client has a thread of its own, since each side waits for the other one.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/watchdog.h"
#include "suites/connection/conn.h"
#include "suites/connection/inline.h"

#define REASON "a client"

static bool inline_check(void *context, bool good, const char *what, int ret, int error)
{
	struct kit *k = context;

	if (!kit_holds(k, good))
		KIT_FAULT(k, "%s: returned %d with errno %d", what, ret, error);
	return KIT_GOOD(k);
}

/* The calls as compiled with the headers under test, if there are any. */
static const struct inline_calls *calls(struct kit *k, struct inline_report *to)
{
	const char *path = getenv("HCASIM_CONFORM_INLINE");
	void *object = path ? dlopen(path, RTLD_NOW) : NULL; /* stays open */
	const struct inline_calls *found = object ? dlsym(object, "inline_calls") : NULL;

	*to = (struct inline_report){k, inline_check};
	if (path && !found)
		KIT_FAULT(k, "%s: %s", path, dlerror());
	log_call(&k->res->log, "/* calls that are inline: conformance/runner/suites/connection/inline.c */");
	return found ? found : &inline_calls;
}

struct ends {
	struct kit *k;
	enum rdma_port_space ps;
	enum ibv_qp_type type;
	struct rdma_cm_id *listener, *client, *server;
	struct rdma_addrinfo *to;
	bool bare; /* the client has no QP */
	/* of the thread */
	pthread_t thread;
	bool runs;
	const char *step;
	int ret, error;
};

static struct ibv_qp_init_attr one_qp(enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr){.cap = {4, 4, 1, 1, 0}, .qp_type = type, .sq_sig_all = 1};
}

/* Two calls: a listener of any port, then the address of this port. */
static bool find(struct ends *e, const char *service, int flags, struct rdma_addrinfo **found)
{
	const struct dut *dut = &e->k->r->dut;
	struct rdma_addrinfo hints = {
		.ai_flags = flags | RAI_NUMERICHOST, .ai_port_space = (int)e->ps, .ai_qp_type = (int)e->type};
	struct sockaddr_storage from;

	if (!(flags & RAI_PASSIVE)) {
		cm_address(dut->requester.address, &from);
		hints.ai_src_addr = (struct sockaddr *)&from;
		hints.ai_src_len = cm_address_length(&from);
	}
	log_call(&e->k->res->log, "/* rdma_getaddrinfo(address, port, &hints, &found) */");
	errno = 0;
	if (!kit_holds(e->k, !rdma_getaddrinfo(dut->responder.address, service, &hints, found)))
		KIT_FAULT(e->k, "rdma_getaddrinfo failed with %s", errno_name(errno));
	return KIT_GOOD(e->k);
}

static bool listen_at(struct ends *e)
{
	struct ibv_qp_init_attr attr = one_qp(e->type);
	struct rdma_addrinfo *here;
	char port[8];
	int ret;

	if (!find(e, NULL, RAI_PASSIVE, &here))
		return false;
	log_call(&e->k->res->log,
		 "/* rdma_create_ep(&listener, found, NULL, &attr), rdma_listen(listener, 2) */");
	ret = rdma_create_ep(&e->listener, here, NULL, &attr);
	if (!ret)
		ret = rdma_listen(e->listener, 2);
	if (!kit_holds(e->k, !ret))
		KIT_FAULT(e->k, "rdma_create_ep or rdma_listen failed with %s", errno_name(errno));
	rdma_freeaddrinfo(here);
	if (!KIT_GOOD(e->k))
		return false;
	snprintf(port, sizeof(port), "%u", ntohs(rdma_get_src_port(e->listener)));
	return find(e, port, 0, &e->to);
}

static void *connect_to(void *arg)
{
	struct ibv_qp_init_attr attr = one_qp(((struct ends *)arg)->type);
	struct ends *e = arg;
	struct rdma_conn_param param = {.private_data = REASON,
					.private_data_len = sizeof(REASON),
					.responder_resources = 1,
					.initiator_depth = 1,
					.retry_count = 7,
					.rnr_retry_count = 7};

	e->step = "rdma_create_ep";
	errno = 0;
	e->ret = rdma_create_ep(&e->client, e->to, NULL, e->bare ? NULL : &attr);
	if (!e->ret) {
		e->step = "rdma_connect";
		e->ret = rdma_connect(e->client, e->bare ? NULL : &param);
	}
	e->error = errno;
	return NULL;
}

static bool client_begins(struct ends *e)
{
	log_call(&e->k->res->log, "/* rdma_create_ep(&client, found, NULL, %s), rdma_connect(client, %s) */",
		 e->bare ? "NULL" : "&attr", e->bare ? "NULL" : "&param");
	e->runs = !pthread_create(&e->thread, NULL, connect_to, e);
	return e->runs;
}

static void join_client(struct ends *e)
{
	if (e->runs)
		pthread_join(e->thread, NULL);
	e->runs = false;
}

static bool client_ends(struct ends *e, int want)
{
	join_client(e);
	if (!kit_holds(e->k, e->ret == want))
		KIT_FAULT(e->k, "%s of the client returned %d with errno %d, expected %d", e->step, e->ret,
			  e->error, want);
	return KIT_GOOD(e->k);
}

static bool ends_begin(struct ends *e, struct kit *k, enum rdma_port_space ps, enum ibv_qp_type type)
{
	memset(e, 0, sizeof(*e));
	e->k = k;
	e->ps = ps;
	e->type = type;
	return listen_at(e);
}

/* Without server and listener the client has its answer. */
static void ends_finish(struct ends *e)
{
	if (e->server)
		rdma_destroy_ep(e->server);
	if (e->listener)
		rdma_destroy_ep(e->listener);
	join_client(e);
	if (e->client)
		rdma_destroy_ep(e->client);
	if (e->to)
		rdma_freeaddrinfo(e->to);
}

static bool take_request(struct ends *e)
{
	log_call(&e->k->res->log, "/* rdma_get_request(listener, &id) */");
	errno = 0;
	if (!watchdog_readable(e->listener->channel->fd, e->k->r->dut.timeout_ms))
		KIT_FAULT(e->k, "no connection request arrives; the client is in %s", e->step);
	else if (!kit_holds(e->k, !rdma_get_request(e->listener, &e->server)))
		KIT_FAULT(e->k, "rdma_get_request failed with %s", errno_name(errno));
	return KIT_GOOD(e->k);
}

static bool accept_it(struct ends *e, struct rdma_conn_param *param)
{
	log_call(&e->k->res->log, "/* rdma_accept(id, %s) */", param ? "&param" : "NULL");
	errno = 0;
	if (!kit_holds(e->k, !rdma_accept(e->server, param)))
		KIT_FAULT(e->k, "rdma_accept failed with %s", errno_name(errno));
	return KIT_GOOD(e->k);
}

/* The client has the data of the address information in front of its own. */
static bool add_data(struct ends *e, const char *data)
{
	e->to->ai_connect = strdup(data);
	e->to->ai_connect_len = e->to->ai_connect ? strlen(data) : 0;
	return e->to->ai_connect;
}

/* The event is there until the request is accepted. */
static bool request_has(struct ends *e, const char *front)
{
	const struct rdma_conn_param *got = &e->server->event->param.conn;
	const char *data = got->private_data;

	if (!kit_holds(e->k, data && got->private_data_len >= strlen(front) + sizeof(REASON) &&
				     !memcmp(data, front, strlen(front)) &&
				     !strcmp(data + strlen(front), REASON)))
		KIT_FAULT(e->k, "the request has other private data");
	if (!kit_holds(e->k, e->server->qp && e->server->recv_cq))
		KIT_FAULT(e->k, "the new id has no QP or CQ");
	return KIT_GOOD(e->k);
}

/* Two connections of one listener: each has its QP and its CQs, and a message in both directions. */
static void ep_both_ways(struct kit *k)
{
	struct inline_report to;
	struct ends first, second;
	struct ibv_cq *used;

	if (!conn_in_one_process(k))
		return;
	if (ends_begin(&first, k, RDMA_PS_TCP, IBV_QPT_RC) && client_begins(&first) && take_request(&first) &&
	    request_has(&first, "") && accept_it(&first, NULL) && client_ends(&first, 0)) {
		calls(k, &to)->messages(&to, first.client, first.server);
		second = first;
		second.client = second.server = NULL;
		first.listener = NULL;
		first.to = NULL;
		used = first.server->recv_cq;
		if (KIT_GOOD(k) && add_data(&second, "in front: ") && client_begins(&second) &&
		    take_request(&second) && request_has(&second, "in front: ") && accept_it(&second, NULL) &&
		    client_ends(&second, 0)) {
			if (!kit_holds(k, second.server->recv_cq && second.server->recv_cq != used))
				KIT_FAULT(k, "the second connection has the CQ of the first one");
			if (KIT_GOOD(k))
				calls(k, &to)->messages(&to, second.client, second.server);
		}
		ends_finish(&second);
	}
	ends_finish(&first);
}

SCENARIO(ep_both_ways) = {
	{"both-ways", SUITE("endpoint"), QPS("RC"), CLAUSE("rdma_create_ep/NOTES/passive"),
	 ALSO("rdma_create_ep/NOTES/active rdma_create_id/NOTES/synchronous "
	      "rdma_post_send/RETURN-VALUE rdma_get_recv_comp/RETURN-VALUE rdma_get_recv_comp/NOTES/blocks"),
	 NEEDS("rdma_cm"),
	 SAYS("two connections of one rdma_create_ep() listener have their own QP and CQs, and a "
	      "message passes each way")},
	{},
};

static void ep_refused(struct kit *k)
{
	struct ends e;

	if (!conn_in_one_process(k))
		return;
	if (ends_begin(&e, k, RDMA_PS_TCP, IBV_QPT_RC) && client_begins(&e) && take_request(&e)) {
		log_call(&k->res->log, "rdma_reject(id, NULL, 0)");
		if (rdma_reject(e.server, NULL, 0))
			KIT_FAULT(k, "rdma_reject failed with %s", errno_name(errno));
		if (client_ends(&e, -1) && !kit_holds(k, e.error == ECONNREFUSED))
			KIT_FAULT(k, "errno of rdma_connect is %d, expected ECONNREFUSED", e.error);
	}
	ends_finish(&e);
}

SCENARIO(ep_refused) = {
	{"refused", SUITE("endpoint"), QPS("RC"), CLAUSE("rdma_connect/RETURN-VALUE"),
	 ALSO("rdma_cm/RETURN-CODES/errno"), NEEDS("rdma_cm"),
	 SAYS("a synchronous rdma_connect() that is rejected fails with ECONNREFUSED")},
	{},
};

/* There is no listener of datagrams: the status of the event is errno. */
static void ep_no_service(struct kit *k)
{
	struct rdma_cm_event *event;
	struct ends e;

	if (!conn_in_one_process(k))
		return;
	if (ends_begin(&e, k, RDMA_PS_UDP, IBV_QPT_UD)) {
		rdma_destroy_ep(e.listener);
		e.listener = NULL;
		if (client_begins(&e) && client_ends(&e, -1)) {
			event = e.client ? e.client->event : NULL;
			if (!kit_holds(k,
				       event && event->event == RDMA_CM_EVENT_UNREACHABLE && event->status))
				KIT_FAULT(k, "the client's event is not UNREACHABLE with a status");
			if (!kit_holds(k, e.error > 0 && (!event || e.error == abs(event->status))))
				KIT_FAULT(k, "errno is %d, the status %d", e.error,
					  event ? event->status : 0);
		}
	}
	ends_finish(&e);
}

SCENARIO(ep_no_service) = {
	{"no-service", SUITE("endpoint"), QPS("UD"), CLAUSE("rdma_get_cm_event/EVENT-TYPES/UNREACHABLE"),
	 ALSO("rdma_get_cm_event/EVENT-DATA/status rdma_connect/RETURN-VALUE"), NEEDS("rdma_cm"),
	 SAYS("RDMA_CM_EVENT_UNREACHABLE of a port without listener has a status, which is errno")},
	{},
};

static void make_absent(struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_addr.s6_addr[15] ^= 0xe0;
	else
		((struct sockaddr_in *)address)->sin_addr.s_addr ^= htonl(0xe0);
}

/* An address that nobody has: errno of the call is the status of the event. */
static void ep_no_address(struct kit *k)
{
	struct rdma_cm_id *id = NULL;
	struct sockaddr_storage to;
	int error;

	cm_address(k->r->dut.responder.address, &to);
	make_absent(&to);
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP)) {
		KIT_FAULT(k, "rdma_create_id failed with %s", errno_name(errno));
		return;
	}
	log_call(&k->res->log,
		 "/* rdma_resolve_addr(id, NULL, &address, 100), synchronous, of an absent address */");
	errno = 0;
	if (conn_fails(k, "rdma_resolve_addr", rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 100), 0)) {
		error = errno;
		if (!kit_holds(k, !id->event || !id->event->status || id->event->status == -error))
			KIT_FAULT(k, "errno is %d, the status %d", error, id->event->status);
	}
	rdma_destroy_id(id);
}

SCENARIO(ep_no_address) = {
	{"no-address", SUITE("endpoint"), QPS("RC"), CLAUSE("rdma_resolve_addr/RETURN-VALUE"),
	 ALSO("rdma_get_cm_event/EVENT-DATA/status"), NEEDS("rdma_cm"),
	 SAYS("a synchronous rdma_resolve_addr() of an absent address fails, with the event's status "
	      "as errno")},
	{},
};

/* Datagrams: rdma_accept() does not wait, the request is acknowledged by it, and the client learns where to send. */
static void ep_datagrams(struct kit *k)
{
	struct rdma_conn_param param = {0};
	const struct rdma_ud_param *ud;
	struct inline_report to;
	struct ends e;

	if (!conn_in_one_process(k))
		return;
	if (ends_begin(&e, k, RDMA_PS_UDP, IBV_QPT_UD)) {
		e.bare = kit_arg(k, "bare", 0);
		if (client_begins(&e) && take_request(&e) && accept_it(&e, &param) && client_ends(&e, 0)) {
			ud = &e.client->event->param.ud;
			if (!kit_holds(k, e.client->event->event == RDMA_CM_EVENT_ESTABLISHED &&
						  ud->qp_num == e.server->qp->qp_num))
				KIT_FAULT(k, "QP 0x%x of %s, expected 0x%x", ud->qp_num,
					  rdma_event_str(e.client->event->event), e.server->qp->qp_num);
			if (!kit_holds(k, ud->qkey == RDMA_UDP_QKEY &&
						  ud->ah_attr.port_num == e.client->port_num))
				KIT_FAULT(k, "Q_Key 0x%x, port %u", ud->qkey, ud->ah_attr.port_num);
			if (!kit_holds(k, !e.bare == !!e.client->qp))
				KIT_FAULT(k, "the client %s a QP", e.client->qp ? "has" : "does not have");
			if (KIT_GOOD(k) && !e.bare)
				calls(k, &to)->datagram(&to, e.client, e.server);
			/* The request was acknowledged by rdma_accept(): nothing holds the listener. */
			log_call(&k->res->log, "/* rdma_destroy_ep(listener) */");
			rdma_destroy_ep(e.listener);
			e.listener = NULL;
		}
	}
	ends_finish(&e);
}

SCENARIO(ep_datagrams) = {
	{"datagrams", SUITE("endpoint"), QPS("UD"), FORMS({""}, {"-no-qp", {{"bare", 1}}}),
	 CLAUSE("rdma_get_cm_event/UD-EVENT-DATA/ah_attr"),
	 ALSO("rdma_get_cm_event/UD-EVENT-DATA/qp_num rdma_get_cm_event/UD-EVENT-DATA/qkey "
	      "rdma_accept/DESCRIPTION/datagram"),
	 NEEDS("rdma_cm"),
	 SAYS("rdma_accept() returns, the listener can be destroyed, and the client's event says where "
	      "to send")},
	{},
};

/* No hints: the call resolves the node as getaddrinfo() does. */
static void ep_no_hints(struct kit *k)
{
	struct rdma_addrinfo *found = NULL;
	struct sockaddr_storage want;
	socklen_t length;
	int ret;

	cm_address(k->r->dut.responder.address, &want);
	length = cm_address_length(&want);
	((struct sockaddr_in *)&want)->sin_port = htons(7471);
	log_call(&k->res->log, "/* rdma_getaddrinfo(address, \"7471\", NULL, &found) */");
	ret = rdma_getaddrinfo(k->r->dut.responder.address, "7471", NULL, &found);
	if (!kit_holds(k, !ret && found && found->ai_dst_len == length &&
				  !memcmp(found->ai_dst_addr, &want, length)))
		KIT_FAULT(k, "rdma_getaddrinfo without hints returned %d or another address", ret);
	if (found)
		rdma_freeaddrinfo(found);
}

SCENARIO(ep_no_hints) = {
	{"no-hints", SUITE("endpoint"), QPS("RC"), CLAUSE("rdma_getaddrinfo/DESCRIPTION"), NEEDS("rdma_cm"),
	 SAYS("rdma_getaddrinfo() without hints finds a numeric address and port")},
	{},
};

/* A call of rdma-core 65, which the headers of this build may not have. */
static void ep_resolve_name(struct kit *k)
{
	int (*resolve)(struct rdma_cm_id * id, const char *node, const char *service,
		       const struct rdma_addrinfo *hints) = dlsym(RTLD_DEFAULT, "rdma_resolve_addrinfo");
	struct rdma_cm_id *id = NULL;
	int ret;

	if (!resolve) {
		seen(k->res, "the library has no rdma_resolve_addrinfo(); ");
		return;
	}
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP)) {
		KIT_FAULT(k, "rdma_create_id failed with %s", errno_name(errno));
		return;
	}
	log_call(&k->res->log, "/* rdma_resolve_addrinfo(id, address, \"7471\", NULL) */");
	ret = resolve(id, k->r->dut.responder.address, "7471", NULL);
	if (!kit_holds(k, !ret))
		KIT_FAULT(k, "a synchronous rdma_resolve_addrinfo failed with %s", errno_name(errno));
	rdma_destroy_id(id);
}

SCENARIO(ep_resolve_name) = {
	{"resolve-name", SUITE("endpoint"), QPS("RC"), CLAUSE("rdma_resolve_addrinfo/RETURN-VALUE"),
	 ALSO("rdma_create_id/NOTES/synchronous"), NEEDS("rdma_cm"),
	 SAYS("a synchronous rdma_resolve_addrinfo() of a numeric address returns 0")},
	{},
};

static void inline_work_queue(struct kit *k)
{
	struct inline_report to;

	calls(k, &to)->work_queue(&to, k->r->dut.requester.pd);
}

SCENARIO(inline_work_queue) = {
	{"work-queue", SUITE("inline"), QPS("RC"), CLAUSE("ibv_create_wq/RETURN-VALUE"), NEEDS("work_queues"),
	 SAYS("a work queue has the context that ibv_create_wq() was given")},
	{},
};

static void inline_old_provider(struct kit *k)
{
	struct inline_report to;

	calls(k, &to)->old_provider(&to);
}

SCENARIO(inline_old_provider) = {
	{"old-provider", SUITE("inline"), QPS("RC"), CLAUSE("ibv_create_flow/RETURN-VALUE/destroy"),
	 SAYS("ibv_destroy_flow() of a context without extended verbs returns EOPNOTSUPP")},
	{},
};
