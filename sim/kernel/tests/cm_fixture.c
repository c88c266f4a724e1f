// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cm_fixture.h"

void cm_open(struct cm_file *c)
{
	int fds[2];

	if (kernel_open(w.k, &w.task, "rdma_cm", 0, &c->f) || socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		abort();
	c->device = fds[0];
	c->app = fds[1];
	w.task.ops->fd_inode(&w.task, c->app, &c->f->cm->ino);
	kernel_file_ready(c->f, c->device, c->f->cm->ino);
}

void cm_close(struct cm_file *c)
{
	kernel_release(c->f);
	close(c->device);
	close(c->app);
}

static void drain(int fd, unsigned int n)
{
	char waste[256];

	if (n)
		CHECK_ERR(recv(fd, waste, n, MSG_DONTWAIT), (ssize_t)n);
}

int cm_cmd(struct cm_file *c, uint32_t cmd, const void *req, size_t len, void *resp, size_t resp_len)
{
	struct rdma_ucm_cmd_hdr hdr = {cmd, len, resp_len};
	uint64_t addr;
	uint8_t *buf, *out;
	ssize_t ret;

	w.used = 0;
	buf = user_alloc(sizeof(hdr) + len);
	out = user_alloc(resp_len);
	addr = U(out);
	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), req, len);
	if (resp_len) /* also for JOIN and CREATE_ID the address is one of the first two members; see the callers */
		memcpy(buf + sizeof(hdr) + (cmd == RDMA_USER_CM_CMD_CREATE_ID ? 8 : 0), &addr, sizeof(addr));
	ret = kernel_write(c->f, &w.task, U(buf), sizeof(hdr) + len, &w.reply);
	drain(c->app, w.reply.drain);
	drain(w.reply.drain_fd, w.reply.drain_other);
	if (resp_len)
		memcpy(resp, out, resp_len);
	return ret < 0 ? ret : ret == (ssize_t)(sizeof(hdr) + len) ? 0 : -EIO;
}

bool cm_readable(const struct cm_file *c)
{
	struct pollfd p = {.fd = c->app, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

int cm_event(struct cm_file *c, struct rdma_ucm_event_resp *e)
{
	struct rdma_ucm_get_event cmd = {0};
	bool readable;
	int ret;

	run_machine();
	readable = cm_readable(c);
	ret = cm_cmd(c, RDMA_USER_CM_CMD_GET_EVENT, &cmd, sizeof(cmd), e, sizeof(*e));
	CHECK_ERR(readable, ret != -EAGAIN);
	CHECK_ERR(w.reply.wait, ret == -EAGAIN);
	return ret ? ret : (int)e->event;
}

bool cm_silent(struct cm_file *c)
{
	struct rdma_ucm_event_resp e;

	return cm_event(c, &e) == -EAGAIN;
}

struct sockaddr_storage cm_addr(const char *text, uint16_t port)
{
	struct sockaddr_storage a = {0};
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&a;
	struct sockaddr_in *in = (struct sockaddr_in *)&a;
	char plain[64];

	snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(text, "%"), text);
	if (strchr(text, '%'))
		six->sin6_scope_id = strtoul(strchr(text, '%') + 1, NULL, 10);
	if (inet_pton(AF_INET, plain, &in->sin_addr) == 1)
		a.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, plain, &six->sin6_addr) == 1)
		a.ss_family = AF_INET6;
	in->sin_port = htons(port);
	return a;
}

int cm_create(struct cm_file *c, uint16_t ps, uint32_t *id)
{
	struct rdma_ucm_create_id cmd = {.uid = 0x1000, .ps = ps, .qp_type = HCASIM_QPT_RC};
	struct rdma_ucm_create_id_resp resp = {0};
	int ret = cm_cmd(c, RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd), &resp, sizeof(resp));

	*id = resp.id;
	return ret;
}

int cm_destroy_id(struct cm_file *c, uint32_t id)
{
	struct rdma_ucm_destroy_id cmd = {.id = id};
	struct rdma_ucm_destroy_id_resp resp = {0};
	int ret = cm_cmd(c, RDMA_USER_CM_CMD_DESTROY_ID, &cmd, sizeof(cmd), &resp, sizeof(resp));

	return ret ? ret : (int)resp.events_reported;
}

int cm_bind(struct cm_file *c, uint32_t id, const char *text, uint16_t port)
{
	const struct sockaddr_storage a = cm_addr(text, port);
	struct rdma_ucm_bind cmd = {.id = id, .addr_size = ua_size(&a, sizeof(a))};

	memcpy(&cmd.addr, &a, sizeof(a));
	return cm_cmd(c, RDMA_USER_CM_CMD_BIND, &cmd, sizeof(cmd), NULL, 0);
}

int cm_listen(struct cm_file *c, uint32_t id, uint32_t backlog)
{
	const struct rdma_ucm_listen cmd = {id, backlog};

	return cm_cmd(c, RDMA_USER_CM_CMD_LISTEN, &cmd, sizeof(cmd), NULL, 0);
}

int cm_resolve(struct cm_file *c, uint32_t id, const char *src, const char *dst, uint16_t port)
{
	struct rdma_ucm_resolve_addr cmd = {.id = id, .timeout_ms = 2000};
	struct sockaddr_storage a;

	if (src) {
		a = cm_addr(src, 0);
		memcpy(&cmd.src_addr, &a, sizeof(a));
		cmd.src_size = ua_size(&a, sizeof(a));
	}
	a = cm_addr(dst, port);
	memcpy(&cmd.dst_addr, &a, sizeof(a));
	cmd.dst_size = ua_size(&a, sizeof(a));
	return cm_cmd(c, RDMA_USER_CM_CMD_RESOLVE_ADDR, &cmd, sizeof(cmd), NULL, 0);
}

int cm_route(struct cm_file *c, uint32_t id)
{
	const struct rdma_ucm_resolve_route cmd = {id, 2000};

	return cm_cmd(c, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &cmd, sizeof(cmd), NULL, 0);
}

static void fill(struct rdma_ucm_conn_param *p, uint32_t qpn, size_t priv)
{
	p->qp_num = qpn;
	p->responder_resources = 3;
	p->initiator_depth = 5;
	p->flow_control = 1;
	p->retry_count = 6;
	p->rnr_retry_count = 4;
	p->valid = 1;
	p->private_data_len = priv;
	memset(p->private_data, 0x5a, priv);
}

int cm_connect(struct cm_file *c, uint32_t id, uint32_t qpn, size_t priv)
{
	struct rdma_ucm_connect cmd = {.id = id};

	fill(&cmd.conn_param, qpn, priv);
	cmd.ece = (struct rdma_ucm_ece){0x123456, 0x89abcdef};
	return cm_cmd(c, RDMA_USER_CM_CMD_CONNECT, &cmd, sizeof(cmd), NULL, 0);
}

int cm_accept(struct cm_file *c, uint32_t id, uint32_t qpn, size_t priv)
{
	struct rdma_ucm_accept cmd = {.id = id, .uid = 0x2000};

	fill(&cmd.conn_param, qpn, priv);
	return cm_cmd(c, RDMA_USER_CM_CMD_ACCEPT, &cmd, sizeof(cmd), NULL, 0);
}

int cm_establish_id(struct cm_file *c, uint32_t id)
{
	const struct rdma_ucm_accept cmd = {.id = id};

	return cm_cmd(c, RDMA_USER_CM_CMD_ACCEPT, &cmd, sizeof(cmd), NULL, 0);
}

int cm_reject(struct cm_file *c, uint32_t id, uint8_t reason, size_t priv)
{
	struct rdma_ucm_reject cmd = {.id = id, .reason = reason, .private_data_len = priv};

	memset(cmd.private_data, 0xa5, priv);
	return cm_cmd(c, RDMA_USER_CM_CMD_REJECT, &cmd, sizeof(cmd), NULL, 0);
}

int cm_disconnect(struct cm_file *c, uint32_t id)
{
	const struct rdma_ucm_disconnect cmd = {id};

	return cm_cmd(c, RDMA_USER_CM_CMD_DISCONNECT, &cmd, sizeof(cmd), NULL, 0);
}

int cm_attr(struct cm_file *c, uint32_t id, uint32_t state, struct ib_uverbs_qp_attr *a)
{
	const struct rdma_ucm_init_qp_attr cmd = {.id = id, .qp_state = state};

	return cm_cmd(c, RDMA_USER_CM_CMD_INIT_QP_ATTR, &cmd, sizeof(cmd), a, sizeof(*a));
}

int cm_option(struct cm_file *c, uint32_t id, uint32_t level, uint32_t name, const void *val, uint32_t len)
{
	struct rdma_ucm_set_option cmd = {.id = id, .level = level, .optname = name, .optlen = len};
	uint8_t *user;

	/* cm_cmd() uses the start of the arena, so put the value in its second half. */
	user = w.arena + ARENA_SIZE / 2;
	memcpy(user, val, len);
	cmd.optval = U(user);
	return cm_cmd(c, RDMA_USER_CM_CMD_SET_OPTION, &cmd, sizeof(cmd), NULL, 0);
}

void cm_pair_open(struct cm_pair *p, uint16_t ps)
{
	struct rdma_ucm_event_resp e;

	cm_open(&p->server);
	cm_open(&p->client);
	CHECK_ERR(cm_create(&p->server, ps, &p->listener), 0);
	CHECK_ERR(cm_bind(&p->server, p->listener, HERE, 7000), 0);
	CHECK_ERR(cm_listen(&p->server, p->listener, 2), 0);
	CHECK_ERR(cm_create(&p->client, ps, &p->active), 0);
	CHECK_ERR(cm_resolve(&p->client, p->active, THERE, HERE, 7000), 0);
	CHECK_ERR(cm_event(&p->client, &e), EV_ADDR_RESOLVED);
	CHECK_ERR(cm_route(&p->client, p->active), 0);
	CHECK_ERR(cm_event(&p->client, &e), EV_ROUTE_RESOLVED);
}

bool cm_no_ids(void)
{
	const struct ucma *u = w.k->ucma;

	return !u->comm_ids.used && !u->bound.used && !u->peers.used && !u->peer_qps.used &&
	       !u->listeners.used && TAILQ_EMPTY(&u->files);
}

void cm_pair_close(struct cm_pair *p)
{
	cm_close(&p->client);
	cm_close(&p->server);
	run_machine();
	CHECK(cm_no_ids());
}

void cm_pair_establish(struct cm_pair *p)
{
	struct rdma_ucm_event_resp e;

	CHECK_ERR(cm_connect(&p->client, p->active, 0x11, 4), 0);
	CHECK_ERR(cm_event(&p->server, &e), EV_CONNECT_REQUEST);
	p->passive = e.id;
	CHECK_ERR(cm_accept(&p->server, p->passive, 0x22, 4), 0);
	CHECK_ERR(cm_event(&p->client, &e), EV_CONNECT_RESPONSE);
	CHECK_ERR(cm_establish_id(&p->client, p->active), 0);
	CHECK_ERR(cm_event(&p->server, &e), EV_ESTABLISHED);
}
