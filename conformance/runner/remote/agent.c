/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "remote/agent.h"

#define GRACE_MS 2000

/* serve_NAME() finds the objects of a call. */
#define NEED(kind, name)                                                                                     \
	c.name = agent_find(a, c.call->name, KIND_##kind, &bad);                                             \
	bad |= !c.name;
#define MAY(kind, name) c.name = agent_find(a, c.call->name, KIND_##kind, &bad);
#define CALL(name, objects, ...)                                                                             \
	static int serve_##name(struct agent *a, const void *call, struct agent_tail tail, void *answer)     \
	{                                                                                                    \
		struct agent_##name c = {.a = a, .call = call, .answer = answer, .tail = tail};              \
		bool bad = false;                                                                            \
                                                                                                             \
		objects return bad ? EBADF : agent_##name(&c);                                               \
	}
#include "remote/calls.h"

static int (*const serve[PEER_NUM_CALLS])(struct agent *a, const void *call, struct agent_tail tail,
					  void *answer) = {
#define CALL(name, ...) serve_##name,
#include "remote/calls.h"
};

/* Destroys the objects that the runner has not destroyed. */
static void destroy_all(struct agent *a)
{
	agent_close_connection(a);
	agent_destroy_objects(a);
	if (a->open)
		end_close(&a->end);
	pool_unmap(&a->pool);
	free(a->tail.at);
	free(a->scratch.at);
}

static int refuse(const char *what)
{
	fprintf(stderr, "hcasim-conform-runner --peer: %s\n", what);
	return 2;
}

static int answer(struct agent *a, int out, const struct peer_head *asked, int err, const void *fixed)
{
	const struct peer_call_info *info = &peer_calls[asked->call];
	struct peer_head head = *asked;
	struct peer_bytes all = {};
	int ret = ENOMEM;

	head.error = err;
	head.length = err ? 0 : info->answer + a->tail.length;
	if (peer_append(&all, &head, sizeof(head)) &&
	    (err ||
	     (peer_append(&all, fixed, info->answer) && peer_append(&all, a->tail.at, a->tail.length))))
		ret = peer_write(out, all.at, all.length, -1);
	free(all.at);
	return ret;
}

static bool makes_sense(const struct peer_head *head)
{
	const struct peer_call_info *info;

	if (head->magic != PEER_MAGIC || head->call >= PEER_NUM_CALLS || head->length > PEER_MAX)
		return false;
	info = &peer_calls[head->call];
	return info->tail ? head->length >= info->call : head->length == info->call;
}

static int serve_call(struct agent *a, int out, const struct peer_head *head, struct peer_bytes *body)
{
	const struct peer_call_info *info = &peer_calls[head->call];
	union {
		uint64_t align;
		uint8_t bytes[4096];
	} call = {}, fixed = {};
	const struct agent_tail tail = {body->at + info->call, body->length - info->call};
	int err = EBADFD;

	_Static_assert(sizeof(struct peer_open_answer) <= sizeof(fixed),
		       "an answer is larger than its place");
	memcpy(&call, body->at, info->call);
	a->tail.length = 0;
	if (a->open || head->call == PEER_open)
		err = serve[head->call](a, &call, tail, &fixed);
	return answer(a, out, head, err, &fixed);
}

static int serve_all(struct agent *a, int in, int out)
{
	struct peer_bytes body = {};
	struct peer_head head;
	int ret = 0, err;

	while (!ret) {
		err = peer_read(in, &head, sizeof(head), -1);
		if (err)
			break; /* the runner has ended */
		if (!makes_sense(&head)) {
			ret = refuse("what came is no call; this program is started by another one "
				     "(docs/duts.md)");
			break;
		}
		body.length = 0;
		if (!peer_append(&body, NULL, head.length))
			ret = refuse("out of memory");
		else if (peer_read(in, body.at, head.length, -1))
			ret = refuse("the last call is cut short");
		else if (serve_call(a, out, &head, &body))
			break; /* nobody reads the answer */
	}
	free(body.at);
	return ret;
}

/* Ends the peer when the runner has ended, even if the peer hangs in a call. */
static void *watch_runner(void *arg)
{
	struct pollfd p = {.fd = *(int *)arg};

	while (poll(&p, 1, -1) != 1 || !(p.revents & (POLLHUP | POLLERR)))
		;
	poll(NULL, 0, GRACE_MS);
	_exit(2);
	return NULL;
}

int agent_main(void)
{
	static struct agent agent;
	static int in = STDIN_FILENO;
	int out = dup(STDOUT_FILENO), ret;
	pthread_t watch;
	char hello[64];

	/* only answers go to the real stdout, nothing that a library prints */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	if (out < 0 || pthread_create(&watch, NULL, watch_runner, &in))
		return refuse("no descriptor or no thread is left");
	pthread_detach(watch);
	snprintf(hello, sizeof(hello), PEER_HELLO " %u %x\n", PEER_VERSION, peer_stamp());
	ret = peer_write(out, hello, strlen(hello), -1) ? 0 : serve_all(&agent, in, out);
	destroy_all(&agent);
	close(out);
	return ret;
}
