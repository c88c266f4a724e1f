// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The connection manager: bytes that no library sends, unused addresses, datagrams from unknown senders. */
#include <rdma/ib_user_sa.h>

#include "cm_fixture.h"

#define NUM_COMMANDS (UCMA_WRITE_CM_EVENT + 1)

static ssize_t raw(struct cm_file *c, uint64_t buf, size_t len)
{
	ssize_t ret = kernel_write(c->f, &w.task, buf, len, &w.reply);
	char waste[64];

	for (unsigned int n = w.reply.drain; n;)
		n -= recv(c->app, waste, n < sizeof(waste) ? n : sizeof(waste), MSG_DONTWAIT);
	return ret;
}

static void headers(void)
{
	struct rdma_ucm_cmd_hdr *hdr;
	struct cm_file c;

	cm_open(&c);
	w.used = 0;
	hdr = user_alloc(1024);
	for (size_t len = 0; len < sizeof(*hdr); len++)
		CHECK_ERR(raw(&c, U(hdr), len), -EINVAL);
	CHECK_ERR(raw(&c, HOSTILE, 8), -EFAULT);
	for (uint32_t cmd = NUM_COMMANDS; cmd < 64; cmd++) {
		hdr->cmd = cmd;
		CHECK_ERR(raw(&c, U(hdr), 1024), -EINVAL);
	}
	hdr->cmd = UINT32_MAX;
	CHECK_ERR(raw(&c, U(hdr), 1024), -EINVAL);
	hdr->cmd = RDMA_USER_CM_CMD_GET_OPTION;
	CHECK_ERR(raw(&c, U(hdr), 1024), -ENOSYS);
	for (uint32_t cmd = 0; cmd < NUM_COMMANDS; cmd++) { /* the header's length is longer than the write */
		*hdr = (struct rdma_ucm_cmd_hdr){cmd, 17, 1024};
		CHECK_ERR(raw(&c, U(hdr), 24), -EINVAL);
		*hdr = (struct rdma_ucm_cmd_hdr){cmd, UINT16_MAX, 1024};
		CHECK_ERR(raw(&c, U(hdr), 1024), -EINVAL);
	}
	CHECK_ERR(kernel_ioctl(c.f, &w.task, RDMA_VERBS_IOCTL, U(hdr), &w.reply), -ENOTTY);
	cm_close(&c);
}

/* Requests at the end of mapped memory, and responses to unmapped memory. */
static void faults(void)
{
	struct rdma_ucm_cmd_hdr *hdr;
	struct cm_file c;
	uint32_t id;

	cm_open(&c);
	hdr = (void *)(w.arena + ARENA_SIZE - sizeof(*hdr));
	for (uint32_t cmd = 0; cmd < NUM_COMMANDS; cmd++) {
		if (cmd == RDMA_USER_CM_CMD_GET_OPTION)
			continue;
		*hdr = (struct rdma_ucm_cmd_hdr){cmd, 0, UINT16_MAX};
		/* Two commands check a minimum length first, since their requests became longer. */
		CHECK_ERR(raw(&c, U(hdr), sizeof(*hdr)),
			  cmd == RDMA_USER_CM_CMD_CONNECT || cmd == RDMA_USER_CM_CMD_ACCEPT ? -EINVAL
											    : -EFAULT);
	}
	CHECK_ERR(cm_create(&c, RDMA_PS_TCP, &id), 0);
	CHECK_ERR(cm_bind(&c, id, HERE, 0), 0);
	for (uint32_t cmd = 0; cmd < NUM_COMMANDS; cmd++) {
		static const uint8_t has_resp[NUM_COMMANDS] = {[RDMA_USER_CM_CMD_QUERY_ROUTE] = 1,
							       [RDMA_USER_CM_CMD_INIT_QP_ATTR] = 1,
							       [RDMA_USER_CM_CMD_QUERY] = 1};
		struct rdma_ucm_query q = {.response = HOSTILE, .id = id};

		if (!has_resp[cmd])
			continue;
		w.used = 0;
		hdr = user_alloc(sizeof(*hdr) + sizeof(q));
		*hdr = (struct rdma_ucm_cmd_hdr){cmd, sizeof(q), UINT16_MAX};
		memcpy(hdr + 1, &q, sizeof(q));
		CHECK_ERR(raw(&c, U(hdr), sizeof(*hdr) + sizeof(q)), -EFAULT);
		hdr->out = 7;
		CHECK_ERR(raw(&c, U(hdr), sizeof(*hdr) + sizeof(q)), -ENOSPC);
	}
	cm_close(&c);
}

/* Numbers are unique in the machine, but an id belongs to one file. */
static void strangers(void)
{
	struct rdma_ucm_query_addr_resp q;
	struct rdma_ucm_query cmd = {0};
	struct cm_file a, b;
	uint32_t id, again;

	cm_open(&a);
	cm_open(&b);
	CHECK_ERR(cm_create(&a, RDMA_PS_TCP, &id), 0);
	CHECK_ERR(cm_destroy_id(&b, id), -EINVAL);
	CHECK_ERR(cm_bind(&b, id, HERE, 0), -EINVAL);
	CHECK_ERR(cm_listen(&b, id, 0), -EINVAL);
	CHECK_ERR(cm_resolve(&b, id, NULL, HERE, 1), -EINVAL);
	CHECK_ERR(cm_connect(&b, id, 0, 0), -EINVAL);
	cmd.id = id;
	CHECK_ERR(cm_cmd(&b, RDMA_USER_CM_CMD_QUERY, &cmd, sizeof(cmd), &q, sizeof(q)), -EINVAL);
	cmd.option = UCMA_QUERY_IB_SERVICE + 1;
	CHECK_ERR(cm_cmd(&a, RDMA_USER_CM_CMD_QUERY, &cmd, sizeof(cmd), &q, sizeof(q)), -ENOSYS);
	CHECK_ERR(cm_destroy_id(&a, id), 0);
	CHECK_ERR(cm_destroy_id(&a, id), -ENOENT);
	CHECK_ERR(cm_listen(&a, id, 0), -ENOENT);
	CHECK_ERR(cm_listen(&a, UINT32_MAX, 0), -ENOENT);
	CHECK_ERR(cm_create(&b, RDMA_PS_TCP, &again), 0); /* the number is not reused at once */
	CHECK(again != id);
	CHECK_ERR(cm_listen(&a, id, 0), -ENOENT);
	CHECK_ERR(cm_listen(&a, again, 0), -EINVAL);
	CHECK_ERR(cm_create(&a, 0x1234, &id), -EINVAL);
	/* The id of an unread request cannot be used. */
	cm_close(&b);
	cm_close(&a);
}

static void unread_request(void)
{
	struct rdma_ucm_event_resp e;
	struct cm_pair c;

	cm_pair_open(&c, RDMA_PS_TCP);
	CHECK_ERR(cm_connect(&c.client, c.active, 1, 0), 0);
	run_machine();
	for (uint32_t id = 0; id < 8; id++) {
		if (id != c.listener && id != c.active)
			CHECK_ERR(cm_accept(&c.server, id, 1, 0), -ENOENT);
	}
	CHECK_ERR(cm_destroy_id(&c.server, c.listener), 0); /* also destroys the request */
	CHECK_ERR(cm_event(&c.client, &e), EV_REJECTED);
	CHECK(cm_silent(&c.server));
	cm_pair_close(&c);
}

/* Commands at the wrong time. */
static void states(void)
{
	struct ib_uverbs_qp_attr a;
	struct rdma_ucm_event_resp e;
	struct cm_file c;
	uint32_t id;

	cm_open(&c);
	CHECK_ERR(cm_create(&c, RDMA_PS_TCP, &id), 0);
	CHECK_ERR(cm_route(&c, id), -EINVAL);
	CHECK_ERR(cm_connect(&c, id, 1, 0), -EINVAL);
	CHECK_ERR(cm_accept(&c, id, 1, 0), -EINVAL);
	CHECK_ERR(cm_reject(&c, id, 0, 0), -EINVAL);
	CHECK_ERR(cm_disconnect(&c, id), -EINVAL);
	CHECK_ERR(cm_attr(&c, id, HCASIM_QPS_INIT, &a), -EINVAL);
	CHECK_ERR(cm_bind(&c, id, HERE, 0), 0);
	CHECK_ERR(cm_bind(&c, id, HERE, 0), -EINVAL);
	CHECK_ERR(cm_route(&c, id), -EINVAL);
	CHECK_ERR(cm_accept(&c, id, 1, 0), -EINVAL);
	CHECK_ERR(cm_disconnect(&c, id), -EINVAL);
	CHECK_ERR(cm_resolve(&c, id, NULL, HERE, 1), 0);
	CHECK_ERR(cm_resolve(&c, id, NULL, HERE, 1), -EINVAL);
	CHECK_ERR(cm_event(&c, &e), EV_ADDR_RESOLVED);
	CHECK_ERR(cm_connect(&c, id, 1, 0), -EINVAL);
	CHECK_ERR(cm_route(&c, id), 0);
	CHECK_ERR(cm_route(&c, id), -EINVAL);
	CHECK_ERR(cm_event(&c, &e), EV_ROUTE_RESOLVED);
	CHECK_ERR(cm_listen(&c, id, 1), -EINVAL);
	CHECK_ERR(cm_connect(&c, id, 1, 57), -EINVAL); /* 92 less the header */
	CHECK_ERR(cm_connect(&c, id, 1, 255), -EINVAL);
	CHECK_ERR(cm_connect(&c, id, 1, 56), 0);
	CHECK_ERR(cm_connect(&c, id, 1, 56), -EINVAL);
	CHECK_ERR(cm_disconnect(&c, id), 0); /* no connection: 0, as on Linux */
	cm_close(&c);
}

static void addresses(void)
{
	static const struct {
		const char *text;
		int err;
	} binds[] = {{HERE, 0},
		     {"0.0.0.0", 0},
		     {"::", 0},
		     {"10.77.0.9", -EADDRNOTAVAIL},
		     {"192.0.2.1", -EADDRNOTAVAIL},
		     {"127.0.0.1", 0}, /* treated like the unspecified address */
		     {"::1", 0},
		     {"fe80::1", -EINVAL}, /* without a scope id */
		     {"fe80::10ff:fe00:1000%100", -EADDRNOTAVAIL},
		     {"fe80::ff:fe00:1000%100", 0},
		     {"fe80::ff:fe00:1000%101", -EADDRNOTAVAIL},
		     {"::ffff:10.77.0.1", -EADDRNOTAVAIL}};
	static const struct {
		const char *src, *dst;
		int status;
		uint32_t ms;
	} resolves[] = {{NULL, THERE, 0, 0},
			{THERE, HERE, 0, 0},
			{NULL, "0.0.0.0", 0, 0},
			{NULL, "fe80::ff:fe00:1001%100", 0, 0},
			{NULL, "10.77.0.9", -ETIMEDOUT, 2000},
			{NULL, "192.0.2.1", -ENETUNREACH, 0},
			{NULL, "2001:db8::1", -ENETUNREACH, 0},
			{NULL, "127.0.0.1", 0, 0},
			{NULL, "::1", 0, 0}};
	struct rdma_ucm_event_resp e;
	struct cm_file c;
	uint32_t id;

	cm_open(&c);
	for (size_t i = 0; i < sizeof(binds) / sizeof(binds[0]); i++) {
		CHECK_ERR(cm_create(&c, RDMA_PS_TCP, &id), 0);
		CHECK_ERR(cm_bind(&c, id, binds[i].text, 0), binds[i].err);
		CHECK_ERR(cm_listen(&c, id, 0), 0); /* an id that is not bound listens on every address */
		CHECK_ERR(cm_destroy_id(&c, id), 0);
	}
	for (size_t i = 0; i < sizeof(resolves) / sizeof(resolves[0]); i++) {
		CHECK_ERR(cm_create(&c, RDMA_PS_TCP, &id), 0);
		CHECK_ERR(cm_resolve(&c, id, resolves[i].src, resolves[i].dst, 7), 0);
		if (resolves[i].ms) {
			bench_pass(resolves[i].ms - 1);
			CHECK(cm_silent(&c));
			bench_pass(2);
		}
		CHECK_ERR(cm_event(&c, &e), resolves[i].status ? EV_ADDR_ERROR : EV_ADDR_RESOLVED);
		CHECK_ERR((int)e.status, resolves[i].status);
		if (resolves[i].status) /* resolve again after an error */
			CHECK_ERR(cm_resolve(&c, id, NULL,
					     strchr(resolves[i].dst, ':') ? "fe80::1%100" : HERE, 7),
				  0);
		CHECK_ERR(cm_destroy_id(&c, id), 1);
	}
	CHECK_ERR(cm_create(&c, RDMA_PS_TCP, &id), 0);
	CHECK_ERR(cm_resolve(&c, id, HERE, "::1", 7), -EINVAL); /* addresses of two families */
	cm_close(&c);
}

static void ports(void)
{
	const int on = 1, off = 0;
	struct cm_file c;
	uint32_t a, b, ud, six;

	cm_open(&c);
	CHECK_ERR(cm_create(&c, RDMA_PS_TCP, &a), 0);
	CHECK_ERR(cm_create(&c, RDMA_PS_TCP, &b), 0);
	CHECK_ERR(cm_create(&c, RDMA_PS_UDP, &ud), 0);
	CHECK_ERR(cm_create(&c, RDMA_PS_TCP, &six), 0);
	CHECK_ERR(cm_bind(&c, a, HERE, 9), 0);
	CHECK_ERR(cm_bind(&c, b, HERE, 9), -EADDRINUSE);
	CHECK_ERR(cm_bind(&c, b, "0.0.0.0", 9), -EADDRNOTAVAIL);
	CHECK_ERR(cm_bind(&c, six, "::", 9), -EADDRNOTAVAIL);
	CHECK_ERR(cm_option(&c, six, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, 4), 0);
	CHECK_ERR(cm_bind(&c, six, "::", 9), 0);
	CHECK_ERR(cm_bind(&c, b, THERE, 9), 0);
	CHECK_ERR(cm_bind(&c, ud, HERE, 9), 0); /* a separate port space */
	CHECK_ERR(cm_destroy_id(&c, b), 0);
	CHECK_ERR(cm_create(&c, RDMA_PS_TCP, &b), 0);
	CHECK_ERR(cm_option(&c, a, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	CHECK_ERR(cm_option(&c, b, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	CHECK_ERR(cm_bind(&c, b, HERE, 9), 0);
	CHECK_ERR(cm_listen(&c, b, 0), -EADDRINUSE); /* a listener cannot share its port */
	CHECK_ERR(cm_destroy_id(&c, a), 0);
	CHECK_ERR(cm_listen(&c, b, 0), 0);
	CHECK_ERR(cm_option(&c, b, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), -EINVAL);
	CHECK_ERR(cm_option(&c, b, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &off, 4), -EINVAL);
	cm_close(&c);
}

static void options(void)
{
	struct ib_path_rec_data path[2] = {{.flags = 1}, {.flags = 0x1 | 0x2 | 0x20}};
	struct rdma_ucm_event_resp e;
	const uint8_t tos = 0x20;
	struct cm_file c;
	uint32_t id, ud;

	path[1].flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	cm_open(&c);
	CHECK_ERR(cm_create(&c, RDMA_PS_TCP, &id), 0);
	CHECK_ERR(cm_create(&c, RDMA_PS_UDP, &ud), 0);
	CHECK_ERR(cm_option(&c, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	CHECK_ERR(cm_option(&c, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, path, 4), -EINVAL);
	CHECK_ERR(cm_option(&c, id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, path, 1), -EINVAL);
	CHECK_ERR(cm_option(&c, id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &tos, 1), 0);
	CHECK_ERR(cm_option(&c, ud, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &tos, 1), -EINVAL);
	CHECK_ERR(cm_option(&c, id, RDMA_OPTION_ID, 99, &tos, 1), -ENOSYS);
	CHECK_ERR(cm_option(&c, id, 2, 0, &tos, 1), -ENOSYS);
	CHECK_ERR(cm_option(&c, id, RDMA_OPTION_IB, 0, &tos, 1), -ENOSYS);
	CHECK_ERR(cm_option(&c, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, path, 0), -EINVAL);
	CHECK_ERR(cm_option(&c, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, path, sizeof(path)), -EINVAL);
	CHECK_ERR(cm_resolve(&c, id, NULL, HERE, 7), 0);
	CHECK_ERR(cm_event(&c, &e), EV_ADDR_RESOLVED);
	CHECK_ERR(cm_option(&c, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, path, sizeof(path) - 1), -EINVAL);
	CHECK_ERR(cm_option(&c, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, path, sizeof(path[0])), -EINVAL);
	CHECK_ERR(cm_option(&c, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, path, sizeof(path)), 0);
	CHECK_ERR(cm_event(&c, &e), EV_ROUTE_RESOLVED);
	CHECK_ERR(cm_connect(&c, id, 1, 0), 0);
	cm_close(&c);
}

/* ---- Random input ---- */

static uint32_t seed;

static uint32_t chance(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint64_t)seed * n >> 32;
}

/* Random requests from two files, most of them for existing ids. */
static void random_commands(void)
{
	struct cm_file c[2];
	uint8_t *buf;

	seed = 1;
	cm_open(&c[0]);
	cm_open(&c[1]);
	for (int i = 0; i < 20000; i++) {
		struct rdma_ucm_cmd_hdr hdr = {chance(NUM_COMMANDS), chance(400), chance(600)};
		struct cm_file *f = &c[chance(2)];

		w.used = 0;
		buf = user_alloc(1024);
		memcpy(buf, &hdr, sizeof(hdr));
		for (int n = sizeof(hdr); n < 1024; n++)
			buf[n] = chance(3) ? 0 : chance(12);
		if (chance(4)) { /* a response address that can be written */
			const uint64_t out = U(w.arena + ARENA_SIZE / 2);

			memcpy(buf + sizeof(hdr) + (hdr.cmd ? 0 : 8), &out, sizeof(out));
		}
		if (!hdr.cmd && chance(4))
			memcpy(buf + sizeof(hdr) + 16, chance(2) ? "\x06\x01" : "\x11\x01", 2);
		raw(f, U(buf), 1024);
		if (!chance(50))
			bench_pass(chance(8000));
	}
	cm_close(&c[0]);
	cm_close(&c[1]);
	run_machine();
	CHECK(cm_no_ids());
}

static void send_mad(const uint8_t *mad)
{
	struct hca_av av = {.port = 1, .sgid_index = 1, .hop_limit = 64};

	memcpy(av.dgid, w.k->dev[0].gid[0][1].raw, 16);
	memcpy(av.dmac, w.k->dev[0].drv.cfg->mac[0], 6);
	CHECK_ERR(hca_gsi_send(w.k->dev[1].drv.hca, 1, &av, mad), 0);
	run_machine();
}

/* Datagrams whose first bytes are valid, to ids in every state. */
static void random_datagrams(void)
{
	struct rdma_ucm_event_resp e;
	uint8_t mad[HCA_MAD_SIZE];
	struct cm_pair c;

	seed = 2;
	cm_pair_open(&c, RDMA_PS_TCP);
	cm_pair_establish(&c);
	for (int i = 0; i < 20000; i++) {
		const struct ucma_id *id = TAILQ_FIRST(&(chance(3) ? c.server : c.client).f->cm->ids);

		for (unsigned int n = chance(3); n && TAILQ_NEXT(id, of_file); n--)
			id = TAILQ_NEXT(id, of_file);
		for (unsigned int n = 0; n < sizeof(mad); n++)
			mad[n] = chance(2) ? 0 : chance(256);
		memcpy(mad, "\x01\x07\x02\x03", 4);
		if (!chance(20))
			mad[chance(4)] ^= 1 << chance(8);
		mad[MAD_ATTR] = 0;
		mad[MAD_ATTR + 1] = 0x0f + chance(13);
		put32(mad + CM_LOCAL, id->cm.remote.comm_id);
		put32(mad + CM_REMOTE, id->cm.local.comm_id);
		if (chance(2)) {
			const unsigned int at = mad[MAD_ATTR + 1] == 0x17 ? SIDR_REQ_PRIVATE : REQ_PRIVATE;

			put64(mad + REQ_SERVICE, 0x01060000 + 7000);
			memcpy(mad + at, "\x00\x40", 2);
			memcpy(mad + at + HDR_DST + 12, "\x0a\x4d\x00\x01", 4);
			put32(mad + CM_LOCAL, chance(1u << 31));
		}
		send_mad(mad);
		while (chance(3) && cm_event(&c.server, &e) == EV_CONNECT_REQUEST)
			CHECK(cm_destroy_id(&c.server, e.id) >= 0);
		if (!chance(100))
			bench_pass(chance(8000));
	}
	cm_pair_close(&c);
}

void add_ucma_hostile_suite(void)
{
	CU_pSuite s = CU_add_suite("connection manager, hostile", world_init, world_exit);

	CU_add_test(s, "headers", headers);
	CU_add_test(s, "faults", faults);
	CU_add_test(s, "ids of others", strangers);
	CU_add_test(s, "requests that nobody read", unread_request);
	CU_add_test(s, "states", states);
	CU_add_test(s, "addresses", addresses);
	CU_add_test(s, "ports", ports);
	CU_add_test(s, "options", options);
	CU_add_test(s, "random commands", random_commands);
	CU_add_test(s, "random datagrams", random_datagrams);
}
