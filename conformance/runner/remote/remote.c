/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The context of the remote end, and the local objects for those of the peer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/dut.h"
#include "cell/names.h"
#include "remote/remote_internal.h"

static struct verbs_context context;
static struct ibv_device device;
static struct ibv_pd pd;
static void *objects[PEER_OBJECTS];

struct ibv_context *remote_context(void)
{
	return &context.context;
}

bool remote_is(const struct ibv_context *ctx)
{
	return ctx == &context.context;
}

void *remote_new(peer_id id, size_t size)
{
	if (!id || id >= PEER_OBJECTS) {
		remote_complain("gave object number %u, which none has", id);
		errno = ENOTCONN;
		return NULL;
	}
	objects[id] = calloc(1, size);
	if (!objects[id])
		errno = ENOMEM;
	return objects[id];
}

bool remote_made(int ret)
{
	if (ret)
		errno = ret == NO_ERRNO ? 0 : ret;
	return !ret;
}

void *remote_find(peer_id id)
{
	return id < PEER_OBJECTS ? objects[id] : NULL;
}

void remote_forget(peer_id id)
{
	free(remote_find(id));
	objects[id % PEER_OBJECTS] = NULL;
}

int remote_release(peer_id id)
{
	int err = REMOTE_DO(release, id);

	if (err && !remote_broken())
		return err;
	remote_forget(id);
	return 0;
}

static void take_over(struct end *end, const struct peer_open_answer *opened)
{
	memset(&context, 0, sizeof(context));
	remote_set_ops(&context);
	snprintf(device.name, sizeof(device.name), "%.*s", (int)sizeof(opened->device) - 1, opened->device);
	context.context.device = &device;
	context.context.async_fd = context.context.cmd_fd = -1;
	pd = (struct ibv_pd){&context.context, opened->pd};
	end->ctx = &context.context;
	end->pd = &pd;
	end->attr = opened->attr;
	end->port_attr = opened->port;
	end->gid = opened->gid;
	end->clock_khz = opened->clock_khz;
}

int remote_open(struct end *end, unsigned int timeout_ms, char *err, size_t size)
{
	struct peer_open call = {.port = end->port, .gid_index = end->gid_index, .timeout_ms = timeout_ms};
	struct peer_open_answer opened;
	struct remote_tail why;
	int ret;

	memcpy(call.device, end->device, sizeof(call.device));
	memcpy(call.address, end->address, sizeof(call.address));
	ret = remote_call(PEER_open, &call, (struct remote_tail){}, &opened);
	why = remote_answer_tail();
	if (remote_broken())
		snprintf(err, size, "%s", remote_broken());
	else if (ret)
		snprintf(err, size, "the peer: %s", errno_name(ret));
	else if (why.length)
		snprintf(err, size, "the peer: %.*s", (int)why.length, (const char *)why.at);
	if (ret || why.length)
		return -1;
	take_over(end, &opened);
	ret = remote_map();
	if (!ret)
		return 0;
	snprintf(err, size, "%s",
		 remote_broken() ? remote_broken()
				 : "the peer: no range of addresses is free in both processes");
	return -1;
}

void remote_close(struct end *end)
{
	remote_unmap();
	memset(objects, 0, sizeof(objects));
	memset(&context, 0, sizeof(context));
	memset(end, 0, sizeof(*end));
}

json_t *remote_query(void)
{
	struct remote_tail text;
	json_t *answer = NULL;

	remote_lock();
	if (!REMOTE_DO(query)) {
		text = remote_answer_tail();
		answer = json_loadb(text.at, text.length, 0, NULL);
		if (!answer)
			remote_complain("answered query with something that is no JSON");
	}
	remote_unlock();
	return answer;
}
