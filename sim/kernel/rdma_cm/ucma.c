// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /dev/infiniband/rdma_cm: open files, their commands and their events. A command that would wait for an event
 * answers EAGAIN: sim/process waits on the application's side, where a byte in the file's socket stands for
 * each event.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "kernel/rdma_cm/ucma.h"

#define MAX_TOKENS 64 /* enough to keep the file readable; fewer than a socket holds */

uint32_t ucma_random(struct kernel *k)
{
	/* A linear congruential generator (Knuth's MMIX constants): the same numbers in every run. */
	k->ucma->random = k->ucma->random * 6364136223846793005ull + 1442695040888963407ull;
	return k->ucma->random >> 32;
}

/* ---- Calls ---- */

int ucma_get(struct ucma_call *c, void *cmd, size_t size)
{
	return c->t->ops->copy_from_user(c->t, cmd, c->in, size) ? -EFAULT : 0;
}

int ucma_put(struct ucma_call *c, uint64_t addr, const void *resp, size_t size)
{
	return c->t->ops->copy_to_user(c->t, addr, resp, size) ? -EFAULT : 0;
}

int ucma_find(struct ucma_call *c, uint32_t handle, struct ucma_id **out)
{
	struct ucma_id *id = numbers_find(&c->f->k->ucma->id_table, handle);

	/* A request that nobody has read yet has a number, and nobody knows it. */
	if (!id || id->request_of)
		return -ENOENT;
	if (id->file != c->f)
		return -EINVAL;
	*out = id;
	return 0;
}

int ucma_find_dev(struct ucma_call *c, uint32_t handle, struct ucma_id **out)
{
	int ret = ucma_find(c, handle, out);

	return ret ? ret : (*out)->dev ? 0 : -EINVAL;
}

/* ---- Events ---- */

void ucma_ready(struct ucma_file *f, struct kreply *reply)
{
	static const char token[MAX_TOKENS];
	const unsigned int want = f->num_events < MAX_TOKENS ? f->num_events : MAX_TOKENS;
	ssize_t n;

	if (f->ready_fd < 0)
		return;
	if (f->tokens < want) {
		n = send(f->ready_fd, token, want - f->tokens, MSG_DONTWAIT | MSG_NOSIGNAL);
		f->tokens += n > 0 ? n : 0;
	} else if (f->tokens > want && reply) {
		reply->drain = f->tokens - want;
		f->tokens = want;
	}
}

unsigned int ucma_surplus(struct ucma_file *f)
{
	struct kreply r = {.nfds = 0};

	ucma_ready(f, &r);
	return r.drain;
}

static void queue_event(struct ucma_file *f, struct ucma_event *e)
{
	TAILQ_INSERT_TAIL(&f->events, e, link);
	f->num_events++;
	ucma_ready(f, NULL);
}

static void unqueue_event(struct ucma_file *f, struct ucma_event *e)
{
	TAILQ_REMOVE(&f->events, e, link);
	f->num_events--;
}

static struct ucma_event *new_event(struct ucma_id *id, enum rdma_event type, int status,
				    const struct rdma_ucm_event_resp *resp)
{
	struct ucma_event *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	if (resp)
		e->resp = *resp;
	e->id = id;
	e->resp.uid = id->uid;
	e->resp.id = id->handle;
	e->resp.event = type;
	e->resp.status = status;
	return e;
}

void ucma_event(struct ucma_id *id, enum rdma_event type, int status, const struct rdma_ucm_event_resp *resp)
{
	struct ucma_event *e = id->uid ? new_event(id, type, status, resp) : NULL;

	if (e)
		queue_event(id->file, e);
}

void ucma_mc_event(struct ucma_mc *mc, enum rdma_event type, int status,
		   const struct rdma_ucm_event_resp *resp)
{
	struct ucma_event *e = new_event(mc->id, type, status, resp);

	if (!e)
		return;
	e->mc = mc;
	e->resp.uid = mc->uid;
	e->resp.id = mc->handle;
	queue_event(mc->id->file, e);
}

int ucma_request_event(struct ucma_id *listener, struct ucma_id *conn, const struct rdma_ucm_event_resp *resp)
{
	struct ucma_event *e;

	if (!listener->backlog)
		return -ENOMEM;
	e = new_event(listener, EV_CONNECT_REQUEST, 0, resp);
	if (!e)
		return -ENOMEM;
	listener->backlog--;
	e->conn = conn;
	e->resp.id = conn->handle;
	conn->request_of = listener;
	queue_event(listener->file, e);
	return 0;
}

void ucma_drop_mc_events(struct ucma_mc *mc)
{
	struct ucma_file *f = mc->id->file;
	struct ucma_event *e, *next;

	for (e = TAILQ_FIRST(&f->events); e; e = next) {
		next = TAILQ_NEXT(e, link);
		if (e->mc == mc) {
			unqueue_event(f, e);
			free(e);
		}
	}
}

void ucma_drop_id_events(struct ucma_id *id)
{
	struct ucma_file *f = id->file;
	struct ucma_event *e, *next;

	for (e = TAILQ_FIRST(&f->events); e; e = next) {
		next = TAILQ_NEXT(e, link);
		if (e->id != id)
			continue;
		unqueue_event(f, e);
		if (e->conn)
			ucma_id_destroy(e->conn);
		free(e);
	}
}

void ucma_move_events(struct ucma_id *id, struct ucma_file *to)
{
	struct ucma_file *f = id->file;
	struct ucma_event *e, *next;

	for (e = TAILQ_FIRST(&f->events); e; e = next) {
		next = TAILQ_NEXT(e, link);
		if (e->id != id)
			continue;
		unqueue_event(f, e);
		if (e->conn)
			ucma_id_move(e->conn, to);
		queue_event(to, e);
	}
}

static int uc_get_event(struct ucma_call *c)
{
	struct ucma_event *e = TAILQ_FIRST(&c->f->events);
	struct rdma_ucm_get_event cmd;
	size_t size = sizeof(e->resp);

	if (c->out_len < sizeof(e->resp) - sizeof(e->resp.reserved) - sizeof(e->resp.ece))
		return -ENOSPC;
	if (ucma_get(c, &cmd, sizeof(cmd)))
		return -EFAULT;
	if (!e) {
		c->reply->wait = true;
		return -EAGAIN;
	}
	if (size > c->out_len)
		size = c->out_len;
	if (ucma_put(c, cmd.response, &e->resp, size))
		return -EFAULT;
	unqueue_event(c->f, e);
	e->id->events_reported++;
	if (e->mc)
		e->mc->events_reported++;
	if (e->conn) {
		e->id->backlog++;
		e->conn->request_of = NULL;
	}
	free(e);
	return 0;
}

/* ---- Commands ---- */

static int (*const commands[])(struct ucma_call *c) = {
	[RDMA_USER_CM_CMD_CREATE_ID] = uc_create_id,
	[RDMA_USER_CM_CMD_DESTROY_ID] = uc_destroy_id,
	[RDMA_USER_CM_CMD_BIND_IP] = uc_bind_ip,
	[RDMA_USER_CM_CMD_RESOLVE_IP] = uc_resolve_ip,
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = uc_resolve_route,
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = uc_query_route,
	[RDMA_USER_CM_CMD_CONNECT] = uc_connect,
	[RDMA_USER_CM_CMD_LISTEN] = uc_listen,
	[RDMA_USER_CM_CMD_ACCEPT] = uc_accept,
	[RDMA_USER_CM_CMD_REJECT] = uc_reject,
	[RDMA_USER_CM_CMD_DISCONNECT] = uc_disconnect,
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = uc_init_qp_attr,
	[RDMA_USER_CM_CMD_GET_EVENT] = uc_get_event,
	[RDMA_USER_CM_CMD_GET_OPTION] = NULL, /* nor has Linux it */
	[RDMA_USER_CM_CMD_SET_OPTION] = uc_set_option,
	[RDMA_USER_CM_CMD_NOTIFY] = uc_notify,
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = uc_join_ip,
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = uc_leave,
	[RDMA_USER_CM_CMD_MIGRATE_ID] = uc_migrate_id,
	[RDMA_USER_CM_CMD_QUERY] = uc_query,
	[RDMA_USER_CM_CMD_BIND] = uc_bind,
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = uc_resolve_addr,
	[RDMA_USER_CM_CMD_JOIN_MCAST] = uc_join,
	[UCMA_RESOLVE_IB_SERVICE] = uc_resolve_ib_service,
	[UCMA_WRITE_CM_EVENT] = uc_write_cm_event,
};

ssize_t ucma_write(struct ucma_file *f, struct task *t, uint64_t buf, size_t len, struct kreply *reply)
{
	struct rdma_ucm_cmd_hdr hdr;
	struct ucma_call c = {.f = f, .t = t, .reply = reply, .in = buf + sizeof(hdr)};
	int ret;

	if (len < sizeof(hdr))
		return -EINVAL;
	if (t->ops->copy_from_user(t, &hdr, buf, sizeof(hdr)))
		return -EFAULT;
	if (hdr.cmd >= sizeof(commands) / sizeof(commands[0]) ||
	    !kernel_has(f->k, ABI_UCMA_COMMAND, 0, 0, hdr.cmd) || hdr.in + sizeof(hdr) > len)
		return -EINVAL;
	if (!commands[hdr.cmd])
		return -ENOSYS;
	c.in_len = hdr.in;
	c.out_len = hdr.out;
	ret = commands[hdr.cmd](&c);
	ucma_ready(f, reply);
	return ret ? ret : (ssize_t)len;
}

/* ---- Files ---- */

int ucma_open(struct kernel *k, struct kfile *owner)
{
	struct ucma_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->k = k;
	f->owner = owner;
	f->ready_fd = -1;
	TAILQ_INIT(&f->events);
	TAILQ_INIT(&f->ids);
	TAILQ_INSERT_TAIL(&k->ucma->files, f, link);
	owner->cm = f;
	return 0;
}

static struct ucma_id *any_id_of(struct ucma_file *f)
{
	struct ucma_id *id;

	/* One in the queue goes with its listener. */
	TAILQ_FOREACH(id, &f->ids, of_file)
	{
		/* cppcheck-suppress uninitvar ; TAILQ_FOREACH sets it */
		if (!id->request_of)
			return id;
	}
	return NULL;
}

void ucma_release(struct ucma_file *f)
{
	struct ucma_id *id;

	f->ready_fd = -1;
	while ((id = any_id_of(f)))
		ucma_id_destroy(id);
	TAILQ_REMOVE(&f->k->ucma->files, f, link);
	free(f);
}

int ucma_init(struct kernel *k)
{
	struct ucma *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	TAILQ_INIT(&u->files);
	TAILQ_INIT(&u->ids);
	numbers_init(&u->id_table, 0, MAX_HANDLES, MAX_HANDLES / 2);
	numbers_init(&u->mc_table, 0, MAX_HANDLES, MAX_HANDLES / 2);
	TAILQ_INIT(&u->timers);
	k->ucma = u;
	return 0;
}

void ucma_exit(struct kernel *k)
{
	struct ucma_file *f;

	while ((f = TAILQ_FIRST(&k->ucma->files)))
		kernel_release(f->owner);
	numbers_free(&k->ucma->id_table);
	numbers_free(&k->ucma->mc_table);
	table_free(&k->ucma->comm_ids);
	table_free(&k->ucma->bound);
	free(k->ucma);
	k->ucma = NULL;
}
