// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The connection manager: connections, their events in order, and how they end. */
#include <unistd.h>

#include "cm_fixture.h"

static bool all(const uint8_t *p, uint8_t value, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != value)
			return false;
	}
	return true;
}

/* Each side gets the values that the other one sent, from its own view. */
static void connection(void)
{
	struct rdma_ucm_event_resp e;
	struct rdma_ucm_conn_param *p = &e.param.conn;
	struct cm_pair c;

	cm_pair_open(&c, RDMA_PS_TCP);
	CHECK_ERR(cm_connect(&c.client, c.active, 0x1234, 20), 0);
	CHECK_ERR(cm_event(&c.server, &e), EV_CONNECT_REQUEST);
	CHECK(e.id != c.listener && e.uid == 0x1000 && !e.status);
	CHECK(p->qp_num == 0x1234 && p->responder_resources == 5 && p->initiator_depth == 3);
	CHECK(p->retry_count == 6 && p->rnr_retry_count == 4 && p->flow_control == 1 && !p->srq);
	CHECK(p->private_data_len == 92 - 36); /* the maximum length; the rest is zero */
	CHECK(all(p->private_data, 0x5a, 20) && all(p->private_data + 20, 0, 236));
	CHECK(e.ece.vendor_id == 0x123456 && e.ece.attr_mod == 0x89abcdef);
	c.passive = e.id;
	CHECK_ERR(cm_accept(&c.server, c.passive, 0x4321, 196), 0);
	CHECK_ERR(cm_event(&c.client, &e), EV_CONNECT_RESPONSE);
	CHECK(p->qp_num == 0x4321 && p->private_data_len == 196 && all(p->private_data, 0x5a, 196));
	CHECK(cm_silent(&c.server));
	CHECK_ERR(cm_establish_id(&c.client, c.active), 0);
	CHECK_ERR(cm_event(&c.server, &e), EV_ESTABLISHED);
	CHECK(e.uid == 0x2000 && e.id == c.passive);
	CHECK(cm_silent(&c.client));
	cm_pair_close(&c);
}

static void disconnection(void)
{
	struct rdma_ucm_event_resp e;
	struct cm_pair c;

	cm_pair_open(&c, RDMA_PS_TCP);
	cm_pair_establish(&c);
	CHECK_ERR(cm_disconnect(&c.client, c.active), 0);
	CHECK_ERR(cm_event(&c.server, &e), EV_DISCONNECTED);
	CHECK(cm_silent(&c.client)); /* the other side has not answered */
	CHECK_ERR(cm_disconnect(&c.server, c.passive), 0);
	CHECK_ERR(cm_event(&c.client, &e), EV_DISCONNECTED);
	CHECK(cm_silent(&c.client) && cm_silent(&c.server));
	bench_pass(2047); /* 4.096 us * 2^19, as Linux rounds it */
	CHECK(cm_silent(&c.client) && cm_silent(&c.server));
	bench_pass(3);
	CHECK_ERR(cm_event(&c.client, &e), EV_TIMEWAIT_EXIT);
	CHECK_ERR(cm_event(&c.server, &e), EV_TIMEWAIT_EXIT);
	/* ADDR, ROUTE, RESPONSE, DISCONNECTED, TIMEWAIT_EXIT; ESTABLISHED, DISCONNECTED, TIMEWAIT_EXIT */
	CHECK_ERR(cm_destroy_id(&c.client, c.active), 5);
	CHECK_ERR(cm_destroy_id(&c.server, c.passive), 3);
	CHECK_ERR(cm_destroy_id(&c.server, c.listener), 1);
	cm_pair_close(&c);
}

static void rejection(void)
{
	struct rdma_ucm_event_resp e;
	struct cm_pair c;

	cm_pair_open(&c, RDMA_PS_TCP);
	CHECK_ERR(cm_connect(&c.client, c.active, 1, 56), 0);
	CHECK_ERR(cm_event(&c.server, &e), EV_CONNECT_REQUEST);
	CHECK_ERR(cm_reject(&c.server, e.id, 27, 0), -EINVAL);
	CHECK_ERR(cm_reject(&c.server, e.id, 0, 149), -EINVAL);
	CHECK_ERR(cm_reject(&c.server, e.id, 0, 148), 0);
	CHECK_ERR(cm_reject(&c.server, e.id, 0, 0), -EINVAL);
	CHECK_ERR(cm_accept(&c.server, e.id, 2, 0), -EINVAL);
	CHECK_ERR(cm_event(&c.client, &e), EV_REJECTED);
	CHECK_ERR(e.status, REJ_CONSUMER_DEFINED);
	CHECK(e.param.conn.private_data_len == 148 && all(e.param.conn.private_data, 0xa5, 148));
	cm_pair_close(&c);
}

static void no_listener(void)
{
	struct rdma_ucm_event_resp e;
	struct cm_pair c;

	cm_pair_open(&c, RDMA_PS_TCP);
	CHECK_ERR(cm_destroy_id(&c.server, c.listener), 0);
	CHECK_ERR(cm_connect(&c.client, c.active, 1, 0), 0);
	CHECK_ERR(cm_event(&c.client, &e), EV_REJECTED);
	CHECK_ERR(e.status, REJ_INVALID_SERVICE_ID);
	cm_pair_close(&c);
	cm_pair_open(&c, RDMA_PS_UDP);
	CHECK_ERR(cm_destroy_id(&c.server, c.listener), 0);
	CHECK_ERR(cm_connect(&c.client, c.active, 1, 0), 0);
	CHECK_ERR(cm_event(&c.client, &e), EV_UNREACHABLE);
	CHECK_ERR(e.status, SIDR_UNSUPPORTED);
	cm_pair_close(&c);
}

static void datagrams(void)
{
	struct rdma_ucm_event_resp e;
	struct rdma_ucm_ud_param *p = &e.param.ud;
	struct cm_pair c;

	cm_pair_open(&c, RDMA_PS_UDP);
	CHECK_ERR(cm_connect(&c.client, c.active, 0, 180), 0);
	CHECK_ERR(cm_event(&c.server, &e), EV_CONNECT_REQUEST);
	CHECK(p->private_data_len == 180 && all(p->private_data, 0x5a, 180));
	c.passive = e.id;
	CHECK_ERR(cm_accept(&c.server, c.passive, 0x77, 136), 0);
	CHECK(cm_silent(&c.server));
	CHECK_ERR(cm_event(&c.client, &e), EV_ESTABLISHED);
	CHECK(p->qp_num == 0x77 && p->qkey == 0x01234567 && p->private_data_len == 136);
	CHECK(p->ah_attr.is_global && p->ah_attr.port_num == 1 && p->ah_attr.grh.dgid[15] == 1);
	CHECK_ERR(cm_accept(&c.server, c.passive, 0x77, 0), -EINVAL);
	cm_pair_close(&c);
	cm_pair_open(&c, RDMA_PS_UDP);
	CHECK_ERR(cm_connect(&c.client, c.active, 0, 181), -EINVAL);
	CHECK_ERR(cm_connect(&c.client, c.active, 0, 0), 0);
	CHECK_ERR(cm_event(&c.server, &e), EV_CONNECT_REQUEST);
	CHECK_ERR(cm_reject(&c.server, e.id, 0, 3), 0);
	CHECK_ERR(cm_event(&c.client, &e), EV_UNREACHABLE);
	CHECK_ERR(e.status, SIDR_REJECT);
	cm_pair_close(&c);
}

/* A service request that is repeated because the program is slow is still one request. */
static void datagrams_again(void)
{
	struct rdma_ucm_event_resp e;
	struct cm_pair c;

	cm_pair_open(&c, RDMA_PS_UDP);
	CHECK_ERR(cm_connect(&c.client, c.active, 0, 0), 0);
	CHECK_ERR(cm_event(&c.server, &e), EV_CONNECT_REQUEST);
	bench_pass(3 * 4096);
	CHECK(cm_silent(&c.server));
	CHECK_ERR(cm_accept(&c.server, e.id, 0x77, 0), 0);
	CHECK_ERR(cm_event(&c.client, &e), EV_ESTABLISHED);
	cm_pair_close(&c);
}

/* A request is not refused if the queue is full: it is repeated, and then there is room. */
static void backlog(void)
{
	struct rdma_ucm_event_resp e;
	uint32_t more[2];
	struct cm_pair c;

	cm_pair_open(&c, RDMA_PS_TCP);
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(cm_create(&c.client, RDMA_PS_TCP, &more[i]), 0);
		CHECK_ERR(cm_resolve(&c.client, more[i], THERE, HERE, 7000), 0);
		CHECK_ERR(cm_event(&c.client, &e), EV_ADDR_RESOLVED);
		CHECK_ERR(cm_route(&c.client, more[i]), 0);
		CHECK_ERR(cm_event(&c.client, &e), EV_ROUTE_RESOLVED);
		CHECK_ERR(cm_connect(&c.client, more[i], 0x31 + i, 0), 0);
		run_machine();
	}
	CHECK_ERR(cm_connect(&c.client, c.active, 0x33, 0), 0);
	CHECK_ERR(cm_event(&c.server, &e), EV_CONNECT_REQUEST);
	CHECK_ERR(e.param.conn.qp_num, 0x31);
	CHECK_ERR(cm_event(&c.server, &e), EV_CONNECT_REQUEST);
	CHECK(cm_silent(&c.server) && cm_silent(&c.client));
	bench_pass(6143);
	CHECK(cm_silent(&c.server));
	bench_pass(2);
	CHECK_ERR(cm_event(&c.server, &e), EV_CONNECT_REQUEST);
	CHECK_ERR(e.param.conn.qp_num, 0x33);
	cm_pair_close(&c);
}

static void lost_messages(void)
{
	struct rdma_ucm_event_resp e;
	struct cm_pair c;

	cm_pair_open(&c, RDMA_PS_TCP);
	bench_lose(true);
	CHECK_ERR(cm_connect(&c.client, c.active, 1, 0), 0);
	bench_pass(16 * 6144 - 1);
	CHECK(cm_silent(&c.client));
	bench_pass(2);
	CHECK_ERR(cm_event(&c.client, &e), EV_UNREACHABLE);
	CHECK_ERR((int)e.status, -ETIMEDOUT);
	bench_lose(false);
	cm_pair_close(&c);

	/* The DREQ is lost: the connection ends anyway. */
	cm_pair_open(&c, RDMA_PS_TCP);
	cm_pair_establish(&c);
	bench_lose(true);
	CHECK_ERR(cm_disconnect(&c.client, c.active), 0);
	bench_pass(16 * 6144 + 1);
	CHECK_ERR(cm_event(&c.client, &e), EV_DISCONNECTED);
	CHECK_ERR((int)e.status, -ETIMEDOUT);
	bench_lose(false);
	cm_pair_close(&c);

	/* The RTU is lost: the REP is repeated and answered again. */
	cm_pair_open(&c, RDMA_PS_TCP);
	CHECK_ERR(cm_connect(&c.client, c.active, 1, 0), 0);
	CHECK_ERR(cm_event(&c.server, &e), EV_CONNECT_REQUEST);
	CHECK_ERR(cm_accept(&c.server, e.id, 2, 0), 0);
	CHECK_ERR(cm_event(&c.client, &e), EV_CONNECT_RESPONSE);
	bench_lose(true);
	CHECK_ERR(cm_establish_id(&c.client, c.active), 0);
	run_machine();
	bench_lose(false);
	CHECK(cm_silent(&c.server));
	bench_pass(68000); /* the time that the MRA asked for */
	CHECK_ERR(cm_event(&c.server, &e), EV_ESTABLISHED);
	cm_pair_close(&c);
}

/* The process exits in every state: the peer is notified. */
static void death(void)
{
	struct rdma_ucm_event_resp e;
	struct cm_pair c;

	cm_pair_open(&c, RDMA_PS_TCP); /* requested, but not read yet */
	CHECK_ERR(cm_connect(&c.client, c.active, 1, 0), 0);
	run_machine();
	cm_close(&c.server);
	CHECK_ERR(cm_event(&c.client, &e), EV_REJECTED);
	CHECK_ERR(e.status, REJ_CONSUMER_DEFINED);
	cm_open(&c.server);
	cm_pair_close(&c);

	cm_pair_open(&c, RDMA_PS_TCP); /* the active side exits before the answer */
	CHECK_ERR(cm_connect(&c.client, c.active, 1, 0), 0);
	CHECK_ERR(cm_event(&c.server, &e), EV_CONNECT_REQUEST);
	cm_close(&c.client);
	run_machine();
	CHECK_ERR(cm_accept(&c.server, e.id, 2, 0), -EINVAL);
	cm_open(&c.client);
	cm_pair_close(&c);

	cm_pair_open(&c, RDMA_PS_TCP); /* answered, but not confirmed */
	CHECK_ERR(cm_connect(&c.client, c.active, 1, 0), 0);
	CHECK_ERR(cm_event(&c.server, &e), EV_CONNECT_REQUEST);
	CHECK_ERR(cm_accept(&c.server, e.id, 2, 0), 0);
	run_machine();
	cm_close(&c.client);
	CHECK_ERR(cm_event(&c.server, &e), EV_REJECTED);
	cm_open(&c.client);
	cm_pair_close(&c);

	cm_pair_open(&c, RDMA_PS_TCP);
	cm_pair_establish(&c);
	cm_close(&c.server);
	CHECK_ERR(cm_event(&c.client, &e), EV_DISCONNECTED);
	CHECK_ERR(cm_disconnect(&c.client, c.active), 0);
	cm_open(&c.server);
	cm_pair_close(&c);
}

static void attributes(void)
{
	struct ib_uverbs_qp_attr a = {0};
	struct rdma_ucm_event_resp e;
	struct cm_pair c;

	cm_pair_open(&c, RDMA_PS_TCP);
	CHECK_ERR(cm_attr(&c.server, c.listener, 7, &a), -EINVAL);
	CHECK_ERR(cm_attr(&c.client, c.active, HCASIM_QPS_INIT, &a), 0);
	CHECK_ERR(a.qp_attr_mask, HCASIM_QP_ATTR_STATE | HCASIM_QP_ATTR_PKEY_INDEX | HCASIM_QP_ATTR_PORT |
					  HCASIM_QP_ATTR_ACCESS_FLAGS);
	CHECK_ERR(cm_connect(&c.client, c.active, 0x11, 0), 0);
	CHECK_ERR(cm_attr(&c.client, c.active, HCASIM_QPS_RTR, &a), -EINVAL); /* the peer is not known */
	CHECK_ERR(cm_event(&c.server, &e), EV_CONNECT_REQUEST);
	CHECK_ERR(cm_attr(&c.server, e.id, HCASIM_QPS_RTR, &a), 0);
	CHECK(a.dest_qp_num == 0x11 && a.max_dest_rd_atomic == 5 && a.path_mtu == 5);
	CHECK(a.ah_attr.is_global && a.ah_attr.grh.dgid[15] == 2 && a.ah_attr.port_num == 1);
	const uint32_t server_rq = a.rq_psn;

	CHECK_ERR(cm_attr(&c.server, e.id, HCASIM_QPS_RTS, &a), 0);
	CHECK(a.max_rd_atomic == 3 && a.retry_cnt == 6 && a.rnr_retry == 4 && a.timeout == 19);
	const uint32_t server_sq = a.sq_psn;

	CHECK_ERR(cm_accept(&c.server, e.id, 0x22, 0), 0);
	CHECK_ERR(cm_event(&c.client, &e), EV_CONNECT_RESPONSE);
	CHECK_ERR(cm_attr(&c.client, c.active, HCASIM_QPS_RTR, &a), 0);
	CHECK(a.rq_psn == server_sq && a.dest_qp_num == 0x22);
	CHECK_ERR(cm_attr(&c.client, c.active, HCASIM_QPS_RTS, &a), 0);
	CHECK(a.sq_psn == server_rq);
	CHECK_ERR(cm_attr(&c.client, c.active, HCASIM_QPS_SQD, &a), -EINVAL);
	cm_pair_close(&c);
}

static void notification(void)
{
	struct rdma_ucm_notify n = {.event = 4};
	struct rdma_ucm_event_resp e;
	struct cm_pair c;

	cm_pair_open(&c, RDMA_PS_TCP);
	CHECK_ERR(cm_connect(&c.client, c.active, 1, 0), 0);
	CHECK_ERR(cm_event(&c.server, &e), EV_CONNECT_REQUEST);
	n.id = e.id;
	CHECK_ERR(cm_cmd(&c.server, RDMA_USER_CM_CMD_NOTIFY, &n, sizeof(n), NULL, 0), -EINVAL);
	CHECK_ERR(cm_accept(&c.server, e.id, 2, 0), 0);
	CHECK_ERR(cm_cmd(&c.server, RDMA_USER_CM_CMD_NOTIFY, &n, sizeof(n), NULL, 0), 0);
	CHECK_ERR(cm_event(&c.server, &e), EV_ESTABLISHED);
	CHECK_ERR(cm_cmd(&c.server, RDMA_USER_CM_CMD_NOTIFY, &n, sizeof(n), NULL, 0), -EISCONN);
	n.event = 5;
	CHECK_ERR(cm_cmd(&c.server, RDMA_USER_CM_CMD_NOTIFY, &n, sizeof(n), NULL, 0), -EINVAL);
	cm_pair_close(&c);
}

/* A request is migrated to another file, as rdma_get_request() does. */
static void migration(void)
{
	struct rdma_ucm_migrate_resp resp;
	struct rdma_ucm_migrate_id m = {0};
	struct rdma_ucm_event_resp e;
	struct cm_file other;
	struct cm_pair c;

	cm_pair_open(&c, RDMA_PS_TCP);
	cm_pair_establish(&c);
	cm_open(&other);
	CHECK_ERR(cm_disconnect(&c.client, c.active), 0);
	run_machine();
	m.id = c.passive;
	m.fd = -1;
	CHECK_ERR(cm_cmd(&other, RDMA_USER_CM_CMD_MIGRATE_ID, &m, sizeof(m), &resp, sizeof(resp)), -ENOENT);
	m.fd = STDERR_FILENO;
	CHECK_ERR(cm_cmd(&other, RDMA_USER_CM_CMD_MIGRATE_ID, &m, sizeof(m), &resp, sizeof(resp)), -EINVAL);
	m.fd = c.server.app;
	CHECK_ERR(cm_cmd(&other, RDMA_USER_CM_CMD_MIGRATE_ID, &m, sizeof(m), &resp, sizeof(resp)), 0);
	CHECK_ERR(resp.events_reported, 1); /* ESTABLISHED */
	CHECK(cm_silent(&c.server));
	CHECK_ERR(cm_event(&other, &e), EV_DISCONNECTED);
	CHECK_ERR(cm_disconnect(&c.server, c.passive), -EINVAL);
	CHECK_ERR(cm_disconnect(&other, c.passive), 0);
	cm_close(&other);
	cm_pair_close(&c);
}

static void groups(void)
{
	const struct sockaddr_storage group = cm_addr("239.1.2.3", 0);
	struct rdma_ucm_join_mcast join = {.uid = 0x3000, .addr_size = sizeof(struct sockaddr_in)};
	struct rdma_ucm_destroy_id leave = {0};
	struct rdma_ucm_destroy_id_resp left;
	struct rdma_ucm_create_id_resp mc;
	struct rdma_ucm_event_resp e;
	struct cm_file c;
	uint32_t id, rc;

	cm_open(&c);
	memcpy(&join.addr, &group, sizeof(group));
	CHECK_ERR(cm_create(&c, RDMA_PS_UDP, &id), 0);
	CHECK_ERR(cm_create(&c, RDMA_PS_TCP, &rc), 0);
	join.id = id;
	CHECK_ERR(cm_cmd(&c, RDMA_USER_CM_CMD_JOIN_MCAST, &join, sizeof(join), &mc, sizeof(mc)), -EINVAL);
	CHECK_ERR(cm_bind(&c, id, HERE, 0), 0);
	CHECK_ERR(cm_bind(&c, rc, HERE, 0), 0);
	join.id = rc;
	CHECK_ERR(cm_cmd(&c, RDMA_USER_CM_CMD_JOIN_MCAST, &join, sizeof(join), &mc, sizeof(mc)), -EINVAL);
	join.id = id;
	join.join_flags = 2;
	CHECK_ERR(cm_cmd(&c, RDMA_USER_CM_CMD_JOIN_MCAST, &join, sizeof(join), &mc, sizeof(mc)), -EINVAL);
	join.join_flags = 0;
	CHECK_ERR(cm_cmd(&c, RDMA_USER_CM_CMD_JOIN_MCAST, &join, sizeof(join), &mc, sizeof(mc)), 0);
	CHECK_ERR(cm_event(&c, &e), EV_MULTICAST_JOIN);
	CHECK(e.uid == 0x3000 && e.id == mc.id && e.param.ud.qp_num == 0xffffff);
	CHECK(!memcmp(e.param.ud.ah_attr.grh.dgid + 10, "\xff\xff\xef\x01\x02\x03", 6));
	leave.id = mc.id + 1;
	CHECK_ERR(cm_cmd(&c, RDMA_USER_CM_CMD_LEAVE_MCAST, &leave, sizeof(leave), &left, sizeof(left)),
		  -ENOENT);
	leave.id = mc.id;
	CHECK_ERR(cm_cmd(&c, RDMA_USER_CM_CMD_LEAVE_MCAST, &leave, sizeof(leave), &left, sizeof(left)), 0);
	CHECK_ERR(left.events_reported, 1);
	CHECK_ERR(cm_cmd(&c, RDMA_USER_CM_CMD_LEAVE_MCAST, &leave, sizeof(leave), &left, sizeof(left)),
		  -ENOENT);
	cm_close(&c);
}

/*
 * Only the two kinds that programs may write, to an id of the same file; the argument comes back unchanged.
 */
static void written_event(void)
{
	struct ucma_write_cm_event cmd = {.event = EV_USER, .status = 7, .param.arg = 0x0123456789abcdefull};
	struct rdma_ucm_event_resp e;
	struct cm_file other;
	struct cm_pair c;
	uint64_t arg;

	cm_pair_open(&c, RDMA_PS_TCP);
	cm_open(&other);
	cmd.id = c.active;
	CHECK_ERR(cm_cmd(&c.client, UCMA_WRITE_CM_EVENT, &cmd, sizeof(cmd), NULL, 0), 0);
	CHECK_ERR(cm_event(&c.client, &e), EV_USER);
	memcpy(&arg, &e.param, sizeof(arg));
	CHECK(e.id == c.active && e.status == 7 && arg == cmd.param.arg);
	CHECK_ERR(cm_cmd(&other, UCMA_WRITE_CM_EVENT, &cmd, sizeof(cmd), NULL, 0), -EINVAL);
	cmd.event = EV_ADDRINFO_RESOLVED;
	CHECK_ERR(cm_cmd(&c.client, UCMA_WRITE_CM_EVENT, &cmd, sizeof(cmd), NULL, 0), -EINVAL);
	CHECK(cm_silent(&c.client));
	cm_close(&other);
	cm_pair_close(&c);
}

/* Fills the GID tables again, with entries of RoCEv1 or without. */
static void with_v1(bool on)
{
	for (unsigned int i = 0; i < w.k->num_devices; i++) {
		((struct hca_config *)(uintptr_t)w.k->dev[i].drv.cfg)->roce_v1 = on;
		memset(w.k->dev[i].gid, 0, sizeof(w.k->dev[i].gid));
		addr_fill_gids(&w.k->dev[i]);
	}
}

/* As on a ConnectX. An address of the connection manager is RoCEv2; link-local destinations of RoCEv1 contain their MAC. */
static void roce_v1(void)
{
	static const uint8_t other[16] = {0xfe, 0x80, [8] = 0x12, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77};
	struct sockaddr_storage a = {.ss_family = AF_INET};
	const struct kgid *g = w.k->dev[1].gid[0];
	struct kdev *d;
	uint8_t port, index;

	with_v1(true);
	for (unsigned int i = 0; i < 5; i++)
		CU_ASSERT(g[i].valid == (i < 4) && g[i].v1 == (i == 0 || i == 2) &&
			  g[i].raw[0] == (i < 2 ? 0xfe : 0) &&
			  g[i].raw[15] == (i < 2   ? 1
					   : i < 4 ? 2
						   : 0));
	((struct sockaddr_in *)&a)->sin_addr.s_addr = htobe32(10u << 24 | 77 << 16 | 2);
	CU_ASSERT(ua_find(w.k, &a, &d, &port, &index) && d == &w.k->dev[1] && index == 3);
	ua_of_port(&w.k->dev[1], 1, AF_INET6, &a, &index);
	CU_ASSERT_EQUAL(index, 1);
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_ah(other, 0), 0);
	CU_ASSERT_EQUAL(memcmp(w.arena, "\x10\x11\x22\x55\x66\x77", 6), 0);
	CHECK_ERR(make_ah(other, 1), -ETIMEDOUT);
	CHECK_ERR(make_ah(g[2].raw, 2), 0);
	file_close();
	with_v1(false);
}

void add_ucma_suite(void)
{
	CU_pSuite s = CU_add_suite("connection manager", world_init, world_exit);

	CU_add_test(s, "entries of RoCEv1", roce_v1);
	CU_add_test(s, "a connection", connection);
	CU_add_test(s, "its end", disconnection);
	CU_add_test(s, "refusal", rejection);
	CU_add_test(s, "nobody listens", no_listener);
	CU_add_test(s, "datagrams", datagrams);
	CU_add_test(s, "datagrams, asked again", datagrams_again);
	CU_add_test(s, "a full queue of requests", backlog);
	CU_add_test(s, "lost messages", lost_messages);
	CU_add_test(s, "processes that end", death);
	CU_add_test(s, "attributes of the QP", attributes);
	CU_add_test(s, "notification", notification);
	CU_add_test(s, "from file to file", migration);
	CU_add_test(s, "multicast", groups);
	CU_add_test(s, "an event that a program writes", written_event);
}
