// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Helpers of all commands (user memory, lookup of ids) and events. A command that would wait for an event
 * returns EAGAIN: sim/process waits on the application's side, where each event has one byte in the file's
 * socket.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "kernel/rdma_cm/ucma.h"

#define MAX_TOKENS 64 /* enough to keep the file readable; fewer than a socket holds */

uint32_t ucma_random(struct kernel *k)
{
	/*
	 * A linear congruential generator (Knuth's MMIX constants), so that every run has the same numbers.
	 */
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

	/* The id of an unread connection request exists, but no program knows its number yet. */
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

void ucma_queue_event(struct ucma_file *f, struct ucma_event *e)
{
	TAILQ_INSERT_TAIL(&f->events, e, link);
	f->num_events++;
	log_cm_event(f, e);
	ucma_ready(f, NULL);
}

void ucma_unqueue_event(struct ucma_file *f, struct ucma_event *e)
{
	TAILQ_REMOVE(&f->events, e, link);
	f->num_events--;
}

void ucma_free_event(struct ucma_event *e)
{
	TAILQ_REMOVE(&e->id->events, e, of_id);
	free(e);
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
	TAILQ_INSERT_TAIL(&id->events, e, of_id);
	return e;
}

void ucma_event(struct ucma_id *id, enum rdma_event type, int status, const struct rdma_ucm_event_resp *resp)
{
	struct ucma_event *e = id->uid ? new_event(id, type, status, resp) : NULL;

	if (e)
		ucma_queue_event(id->file, e);
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
	ucma_queue_event(mc->id->file, e);
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
	ucma_queue_event(listener->file, e);
	return 0;
}

void ucma_drop_mc_events(struct ucma_mc *mc)
{
	struct ucma_event *e, *next;

	for (e = TAILQ_FIRST(&mc->id->events); e; e = next) {
		next = TAILQ_NEXT(e, of_id);
		if (e->mc == mc) {
			ucma_unqueue_event(mc->id->file, e);
			ucma_free_event(e);
		}
	}
}

int uc_get_event(struct ucma_call *c)
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
	ucma_unqueue_event(c->f, e);
	e->id->events_reported++;
	if (e->mc)
		e->mc->events_reported++;
	if (e->conn) {
		e->id->backlog++;
		e->conn->request_of = NULL;
	}
	ucma_free_event(e);
	return 0;
}
