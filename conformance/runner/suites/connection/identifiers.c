/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What calls on an id of rdma_cm refuse, what they report, and what they leave behind if they fail. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/rdma_verbs.h>

#include "judge/watchdog.h"
#include "suites/connection/conn.h"

static struct ibv_qp_init_attr one_qp(void)
{
	return (struct ibv_qp_init_attr){.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
}

static void id_second_qp(struct kit *k)
{
	struct ibv_qp_init_attr attr = one_qp();
	struct ibv_qp *first;
	struct conn c;

	if (!conn_in_one_process(k))
		return;
	if (conn_begin(&c, k)) {
		first = c.cm.client->qp;
		log_call(&k->res->log, "/* rdma_create_qp(id, NULL, &attr), again */");
		errno = 0;
		conn_fails(k, "the second rdma_create_qp", rdma_create_qp(c.cm.client, NULL, &attr), 0);
		if (!kit_holds(k, c.cm.client->qp == first))
			KIT_FAULT(k, "the id has another QP");
	}
	conn_finish(&c);
}

SCENARIO(id_second_qp) = {
	{"second-qp", SUITE("connect"), QPS("RC"), CLAUSE("rdma_create_qp/NOTES/single"),
	 ALSO("rdma_cm/RETURN-CODES/errno"), NEEDS("rdma_cm"),
	 SAYS("a second rdma_create_qp() of an id fails with an errno, and the id keeps its QP")},
	{},
};

static void id_unconnected(struct kit *k)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = NULL;

	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)) {
		KIT_FAULT(k, "rdma_create_id failed with %s", errno_name(errno));
	} else {
		log_call(&k->res->log, "rdma_disconnect(id) /* of an id that is not bound */");
		errno = 0;
		conn_fails(k, "rdma_disconnect", rdma_disconnect(id), 0);
	}
	if (id)
		rdma_destroy_id(id);
	if (channel)
		rdma_destroy_event_channel(channel);
}

SCENARIO(id_unconnected) = {
	{"unconnected", SUITE("connect"), QPS("RC"), CLAUSE("rdma_cm/RETURN-CODES/errno"), NEEDS("rdma_cm"),
	 SAYS("rdma_disconnect() of an id without a device fails with an errno")},
	{},
};

/* The id owns one channel and one CQ for both directions: they are destroyed with the QP, once. */
static void id_one_cq(struct kit *k)
{
	struct ibv_qp_init_attr attr = one_qp();
	struct rdma_cm_id *id;
	struct conn c;

	if (!conn_in_one_process(k))
		return;
	if (conn_begin(&c, k)) {
		id = c.cm.client;
		rdma_destroy_qp(id);
		log_call(&k->res->log, "/* rdma_create_qp(), rdma_destroy_qp() with send_cq == recv_cq */");
		id->send_cq_channel = id->recv_cq_channel = ibv_create_comp_channel(id->verbs);
		id->send_cq = id->recv_cq = ibv_create_cq(id->verbs, 16, id, id->recv_cq_channel, 0);
		made_forget(id->send_cq);
		made_forget(id->send_cq_channel);
		if (rdma_create_qp(id, NULL, &attr)) {
			KIT_FAULT(k, "rdma_create_qp failed with %s", errno_name(errno));
		} else {
			if (!kit_holds(k, attr.send_cq == id->send_cq && attr.recv_cq == id->send_cq))
				KIT_FAULT(k, "the QP has other CQs");
			rdma_destroy_qp(id);
		}
		if (!kit_holds(k, !id->recv_cq && !id->recv_cq_channel))
			KIT_FAULT(k, "the id has a CQ after rdma_destroy_qp");
		id->send_cq = NULL;
		id->send_cq_channel = NULL;
	}
	conn_finish(&c);
}

SCENARIO(id_one_cq) = {
	{"one-cq", SUITE("connect"), QPS("RC"), CLAUSE("rdma_create_qp/NOTES/cqs"), NEEDS("rdma_cm"),
	 SAYS("a QP uses the one CQ that its id has for both directions, and rdma_destroy_qp() "
	      "destroys it once")},
	{},
};

static bool too_much(struct conn *c, int (*call)(struct rdma_cm_id *id, struct rdma_conn_param *param),
		     const char *name, struct rdma_cm_id *id, const struct ibv_device_attr *a)
{
	struct rdma_conn_param most = conn_values(1, 1, 0, 7, 7), deep = most;

	most.responder_resources = (uint8_t)(a->max_qp_rd_atom + 1);
	deep.initiator_depth = (uint8_t)(a->max_qp_init_rd_atom + 1);
	log_call(&c->k->res->log, "/* %s(id, &param): responder_resources %u, then initiator_depth %u */",
		 name, most.responder_resources, deep.initiator_depth);
	errno = 0;
	if (!conn_fails(c->k, name, call(id, &most), 0))
		return false;
	errno = 0;
	return conn_fails(c->k, name, call(id, &deep), 0);
}

static void id_limits(struct kit *k)
{
	const struct ibv_device_attr *a = &k->r->dut.requester.attr, *b = &k->r->dut.responder.attr;
	struct rdma_conn_param param = conn_values(1, 1, 0, 7, 7);
	struct conn c;

	if (!conn_in_one_process(k))
		return;
	if (a->max_qp_rd_atom > 253 || a->max_qp_init_rd_atom > 253 || b->max_qp_rd_atom > 253 ||
	    b->max_qp_init_rd_atom > 253) {
		seen(k->res, "a connection cannot ask for more than the device has; ");
		return;
	}
	if (conn_begin(&c, k) && too_much(&c, rdma_connect, "rdma_connect", c.cm.client, a) &&
	    conn_request(&c, &param) && conn_server_qp(&c) &&
	    too_much(&c, rdma_accept, "rdma_accept", c.cm.server, b) && conn_accept(&c, &param) &&
	    conn_event(&c, RDMA_CM_EVENT_ESTABLISHED))
		conn_event(&c, RDMA_CM_EVENT_ESTABLISHED);
	conn_finish(&c);
}

SCENARIO(id_limits) = {
	{"limits", SUITE("connect"), QPS("RC"),
	 CLAUSE("rdma_connect/CONNECTION-PROPERTIES/responder_resources"),
	 ALSO("rdma_connect/CONNECTION-PROPERTIES/initiator_depth "
	      "rdma_accept/CONNECTION-PROPERTIES/responder_resources"),
	 NEEDS("rdma_cm"),
	 SAYS("rdma_connect() and rdma_accept() refuse more RDMA READs than the device has, either way")},
	{},
};

/* A QP that libibverbs refuses: its errno is that of the call. Then the id can have another one. */
static void id_failing_qp(struct kit *k)
{
	struct ibv_qp_init_attr attr = one_qp(), same;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct conn c;
	int error;

	if (!conn_in_one_process(k))
		return;
	if (conn_begin(&c, k)) {
		id = c.cm.client;
		rdma_destroy_qp(id);
		attr.cap.max_send_sge = 0x10000;
		same = attr;
		cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
		same.send_cq = same.recv_cq = cq;
		errno = 0;
		qp = ibv_create_qp(id->pd, &same);
		error = errno;
		log_call(&k->res->log, "/* rdma_create_qp(id, NULL, &attr): max_send_sge %u */",
			 attr.cap.max_send_sge);
		errno = 0;
		if (kit_holds(k, !qp && error))
			conn_fails(k, "rdma_create_qp", rdma_create_qp(id, NULL, &attr), error);
		else
			KIT_FAULT(k, "ibv_create_qp of too many SGEs does not fail with an errno");
		if (qp)
			ibv_destroy_qp(qp);
		if (cq)
			ibv_destroy_cq(cq);
		if (!kit_holds(k, !id->qp && !id->send_cq && !id->recv_cq))
			KIT_FAULT(k, "the id has a QP or a CQ after rdma_create_qp failed");
		attr = one_qp();
		if (KIT_GOOD(k) && rdma_create_qp(id, NULL, &attr))
			KIT_FAULT(k, "the next rdma_create_qp failed with %s", errno_name(errno));
	}
	conn_finish(&c);
}

SCENARIO(id_failing_qp) = {
	{"qp-refused", SUITE("connect"), QPS("RC"), CLAUSE("rdma_create_qp/RETURN-VALUE"),
	 ALSO("rdma_cm/RETURN-CODES/errno"), NEEDS("rdma_cm"),
	 SAYS("rdma_create_qp() of too many SGEs has the errno of ibv_create_qp(), and leaves no CQ; "
	      "the next one works")},
	{},
};

/* The listener is bound to the responder's address and to no port. */
static void id_bound(struct kit *k)
{
	static const uint8_t none[16];
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = NULL;
	struct sockaddr_storage sa;

	if (!channel || cm_address(k->r->dut.responder.address, &sa) ||
	    rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) || rdma_bind_addr(id, (struct sockaddr *)&sa)) {
		KIT_FAULT(k, "rdma_bind_addr failed with %s", errno_name(errno));
	} else {
		log_call(&k->res->log, "/* rdma_bind_addr(id, &address): port 0 */");
		if (!kit_holds(k, rdma_get_src_port(id)))
			KIT_FAULT(k, "rdma_get_src_port is 0");
		if (!kit_holds(k, id->verbs && id->port_num))
			KIT_FAULT(k, "the id has no device or no port");
		if (!kit_holds(k, memcmp(id->route.addr.addr.ibaddr.sgid.raw, none, sizeof(none))))
			KIT_FAULT(k, "the GID of the id is zero");
	}
	if (id)
		rdma_destroy_id(id);
	if (channel)
		rdma_destroy_event_channel(channel);
}

SCENARIO(id_bound) = {
	{"bound", SUITE("connect"), QPS("RC"), CLAUSE("rdma_bind_addr/NOTES/port"),
	 ALSO("rdma_bind_addr/DESCRIPTION/device"), NEEDS("rdma_cm"),
	 SAYS("an id that is bound to an address has a port, a device and a GID at once")},
	{},
};

#define NO_LIST 50
#define OPENED  100
#define MOST_FD 200

/* What rdma_get_devices() says in a child that may open `more` files; OPENED is added if it leaves some open. */
static int devices_with(struct kit *k, unsigned int more)
{
	int num = 0, status = -1, fd;
	struct rlimit limit;
	pid_t child = fork();

	if (!child) {
		fd = dup(0);
		close(fd);
		getrlimit(RLIMIT_NOFILE, &limit);
		limit.rlim_cur = fd + more;
		setrlimit(RLIMIT_NOFILE, &limit);
		num = rdma_get_devices(&num) ? num : NO_LIST;
		_exit(dup(0) == fd ? num : num + OPENED);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		KIT_FAULT(k, "the child with %u more descriptors ended with status 0x%x", more, status);
	return WEXITSTATUS(status);
}

/* With as few descriptors as one device needs the others cannot be opened. */
static void id_devices(struct kit *k)
{
	const int most = devices_with(k, MOST_FD);
	int num = 0;

	log_call(&k->res->log, "/* rdma_get_devices(&num) in children with RLIMIT_NOFILE */");
	KIT_CHECK(k, most % OPENED > 0 && most % OPENED < NO_LIST, "rdma_get_devices found no device");
	if (most < OPENED) {
		seen(k->res, "the devices were open before; ");
		return;
	}
	for (unsigned int more = 0; more < MOST_FD && num != most && KIT_GOOD(k); more++) {
		num = devices_with(k, more);
		if (num % OPENED > 0 && num % OPENED < most % OPENED)
			return;
	}
	if (KIT_GOOD(k) && !kit_holds(k, most == OPENED + 1))
		KIT_FAULT(k, "rdma_get_devices finds %d devices or none, never one that can be opened",
			  most % OPENED);
}

SCENARIO(id_devices) = {
	{"devices", SUITE("connect"), QPS("RC"), CLAUSE("rdma_get_devices/DESCRIPTION"), NEEDS("rdma_cm"),
	 SAYS("rdma_get_devices() returns the devices that can be opened, though another one cannot")},
	{},
};

/* A path record of an id: what is exactly so, and not a limit, has the selector 2. */
static void id_route(struct kit *k)
{
	const struct ibv_sa_path_rec *path;
	const struct rdma_addr *addr;
	struct conn c;

	if (!conn_in_one_process(k))
		return;
	if (conn_begin(&c, k)) {
		path = c.cm.client->route.path_rec;
		addr = &c.cm.client->route.addr;
		if (!kit_holds(k, c.cm.client->route.num_paths > 0 && path))
			KIT_FAULT(k, "the id has no path record");
		else if (!kit_holds(k, !memcmp(&path->sgid, &addr->addr.ibaddr.sgid, 16) &&
					       !memcmp(&path->dgid, &addr->addr.ibaddr.dgid, 16)))
			KIT_FAULT(k, "the path record has other GIDs than the id");
		else if (!kit_holds(k, path->mtu_selector == 2 && path->rate_selector == 2 &&
					       path->packet_life_time_selector == 2))
			KIT_FAULT(k, "the selectors of MTU, rate and life time are %u, %u and %u, expected 2",
				  path->mtu_selector, path->rate_selector, path->packet_life_time_selector);
	}
	conn_finish(&c);
}

SCENARIO(id_route) = {
	{"route", SUITE("connect"), QPS("RC"), CLAUSE("rdma_resolve_route/DESCRIPTION/path"), LEVEL("SHOULD"),
	 ERRATA("PATH-SELECTORS"), NEEDS("rdma_cm"),
	 SAYS("the path record of an id has its GIDs, and exact values of MTU, rate and life time")},
	{},
};

static void id_source_family(struct kit *k)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr from = {.sa_family = AF_UNIX};
	struct rdma_cm_id *id = NULL;
	struct sockaddr_storage to;

	if (!channel || cm_address(k->r->dut.responder.address, &to) ||
	    rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)) {
		KIT_FAULT(k, "rdma_create_id failed with %s", errno_name(errno));
	} else {
		log_call(&k->res->log, "/* rdma_resolve_addr(id, &from, &to, 1000): from AF_UNIX */");
		errno = 0;
		conn_fails(k, "rdma_resolve_addr", rdma_resolve_addr(id, &from, (struct sockaddr *)&to, 1000),
			   0);
	}
	if (id)
		rdma_destroy_id(id);
	if (channel)
		rdma_destroy_event_channel(channel);
}

SCENARIO(id_source_family) = {
	{"source-family", SUITE("connect"), QPS("RC"), CLAUSE("rdma_resolve_addr/RETURN-VALUE"),
	 NEEDS("rdma_cm"),
	 SAYS("rdma_resolve_addr() refuses a source address of an unknown family with an errno")},
	{},
};

static void id_own_srq(struct kit *k)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_qp_init_attr attr = one_qp();
	struct rdma_cm_id *id;
	struct conn c;

	if (!conn_in_one_process(k))
		return;
	if (conn_begin(&c, k)) {
		id = c.cm.client;
		rdma_destroy_qp(id);
		log_call(&k->res->log,
			 "/* rdma_create_srq(id, NULL, &srq), rdma_create_qp(id, NULL, &attr) */");
		if (rdma_create_srq(id, NULL, &srq)) {
			KIT_FAULT(k, "rdma_create_srq failed with %s", errno_name(errno));
		} else {
			if (rdma_create_qp(id, NULL, &attr))
				KIT_FAULT(k, "rdma_create_qp failed with %s", errno_name(errno));
			else if (!kit_holds(k, id->qp->srq == id->srq))
				KIT_FAULT(k, "the QP does not use the SRQ of its id");
			if (id->qp)
				rdma_destroy_qp(id);
			rdma_destroy_srq(id);
		}
	}
	conn_finish(&c);
}

SCENARIO(id_own_srq) = {
	{"own-srq", SUITE("connect"), QPS("RC"), CLAUSE("rdma_create_srq/DESCRIPTION"), NEEDS("rdma_cm"),
	 SAYS("rdma_create_qp() uses the SRQ of its id")},
	{},
};

/* The server may send as soon as it accepted: the client's first message may be there before ESTABLISHED. */
static void id_server_sends(struct kit *k)
{
	struct rdma_conn_param param = conn_values(1, 1, 0, 7, 7);
	struct ibv_send_wr wr = {.wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
	struct ibv_recv_wr recv = {.wr_id = 2}, *bad_recv;
	struct conn c;
	int ret;

	if (!conn_in_one_process(k))
		return;
	if (conn_begin(&c, k) && conn_request(&c, &param) && conn_server_qp(&c) &&
	    !kit_holds(k, !ibv_post_recv(c.cm.client->qp, &recv, &bad_recv)))
		KIT_FAULT(k, "ibv_post_recv failed before the connection");
	if (KIT_GOOD(k) && conn_accept(&c, &param)) {
		log_call(&k->res->log,
			 "/* ibv_post_send(id->qp, &wr, &bad) of the server, before ESTABLISHED */");
		kit_expect_state(k, c.cm.server->qp, IBV_QPS_RTS);
		ret = ibv_post_send(c.cm.server->qp, &wr, &bad);
		if (!kit_holds(k, !ret))
			KIT_FAULT(k, "ibv_post_send after rdma_accept failed with %s", errno_name(ret));
		if (KIT_GOOD(k) && conn_event(&c, RDMA_CM_EVENT_ESTABLISHED))
			conn_event(&c, RDMA_CM_EVENT_ESTABLISHED);
	}
	conn_finish(&c);
}

SCENARIO(id_server_sends) = {
	{"server-sends", SUITE("connect"), QPS("RC"), CLAUSE("rdma_create_qp/NOTES/transitions"),
	 NEEDS("rdma_cm"),
	 SAYS("after rdma_accept() the server's QP is in RTS and takes a send, before any event")},
	{},
};

/* A failure after the answer: the program is told once, and nothing of what the server does then. */
static void id_client_fails(struct kit *k)
{
	struct rdma_conn_param param = conn_values(1, 1, 0, 7, 7);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct rdma_cm_id *other = NULL;
	struct sockaddr_storage to;
	struct conn c;

	if (!conn_in_one_process(k))
		return;
	if (conn_begin(&c, k) && conn_request(&c, &param) && conn_server_qp(&c)) {
		log_call(&k->res->log, "/* ibv_modify_qp(id->qp, ERR) of the client, before the answer */");
		ibv_modify_qp(c.cm.client->qp, &attr, IBV_QP_STATE);
		if (conn_accept(&c, &param) && conn_event(&c, RDMA_CM_EVENT_CONNECT_ERROR)) {
			if (!kit_holds(k, c.event->status))
				KIT_FAULT(k, "the status of CONNECT_ERROR is 0");
			rdma_destroy_qp(c.cm.server);
			rdma_destroy_id(c.cm.server);
			c.cm.server = NULL;
			cm_address(k->r->dut.responder.address, &to);
			if (!watchdog_readable(c.cm.channel->fd, k->r->dut.timeout_ms))
				KIT_FAULT(k, "the kernel does not say that the server is gone");
			else if (!rdma_create_id(c.cm.channel, &other, NULL, RDMA_PS_TCP) &&
				 !rdma_resolve_addr(other, NULL, (struct sockaddr *)&to, 1000))
				conn_event(&c, RDMA_CM_EVENT_ADDR_RESOLVED);
			else
				KIT_FAULT(k, "rdma_resolve_addr failed with %s", errno_name(errno));
		}
	}
	if (c.event)
		rdma_ack_cm_event(c.event);
	c.event = NULL;
	if (other)
		rdma_destroy_id(other);
	conn_finish(&c);
}

SCENARIO(id_client_fails) = {
	{"client-fails", SUITE("connect"), QPS("RC"), CLAUSE("rdma_get_cm_event/EVENT-TYPES/CONNECT_ERROR"),
	 ALSO("rdma_get_cm_event/EVENT-DATA/status"), NEEDS("rdma_cm"),
	 SAYS("RDMA_CM_EVENT_CONNECT_ERROR with a status is the last event of a client whose QP fails")},
	{},
};

static bool joined(struct kit *k, struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event = NULL;

	if (!watchdog_readable(channel->fd, k->r->dut.timeout_ms) || rdma_get_cm_event(channel, &event))
		KIT_FAULT(k, "no event of the group");
	else if (!kit_holds(k, event->event == RDMA_CM_EVENT_MULTICAST_JOIN && !event->status))
		KIT_FAULT(k, "%s with status %d", rdma_event_str(event->event), event->status);
	if (event)
		rdma_ack_cm_event(event);
	return KIT_GOOD(k);
}

/* A group is left once; then the id is in no group. */
static void id_group(struct kit *k)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xefc80107)};
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = NULL;
	struct sockaddr_storage sa;
	int ret;

	if (!channel || cm_address(k->r->dut.requester.address, &sa) ||
	    rdma_create_id(channel, &id, NULL, RDMA_PS_UDP) || rdma_bind_addr(id, (struct sockaddr *)&sa) ||
	    rdma_join_multicast(id, (struct sockaddr *)&to, NULL)) {
		KIT_FAULT(k, "rdma_join_multicast failed with %s", errno_name(errno));
	} else if (joined(k, channel)) {
		log_call(&k->res->log, "/* rdma_leave_multicast(id, &group) */");
		ret = rdma_leave_multicast(id, (struct sockaddr *)&to);
		if (!kit_holds(k, !ret))
			KIT_FAULT(k, "rdma_leave_multicast returned %d", ret);
		errno = 0;
		conn_fails(k, "the second rdma_leave_multicast",
			   rdma_leave_multicast(id, (struct sockaddr *)&to), 0);
	}
	if (id)
		rdma_destroy_id(id);
	if (channel)
		rdma_destroy_event_channel(channel);
}

SCENARIO(id_group) = {
	{"group", SUITE("connect"), QPS("RC"), CLAUSE("rdma_leave_multicast/RETURN-VALUE"), NEEDS("rdma_cm"),
	 SAYS("rdma_leave_multicast() returns 0 for a group of the id, and fails with an errno for any "
	      "other")},
	{},
};
