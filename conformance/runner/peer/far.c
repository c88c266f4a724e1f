/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The context of the far end, and the objects that stand for those of the peer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../dut.h"
#include "../names.h"
#include "far_inside.h"

static struct verbs_context context;
static struct ibv_device device;
static struct ibv_pd pd;
static void *objects[PEER_OBJECTS];

struct ibv_context *far_context(void)
{
	return &context.context;
}

bool far_is(const struct ibv_context *ctx)
{
	return ctx == &context.context;
}

void *far_new(peer_id id, size_t size)
{
	if (!id || id >= PEER_OBJECTS) {
		far_complain("gave object number %u, which none has", id);
		errno = ENOTCONN;
		return NULL;
	}
	objects[id] = calloc(1, size);
	if (!objects[id])
		errno = ENOMEM;
	return objects[id];
}

void *far_find(peer_id id)
{
	return id < PEER_OBJECTS ? objects[id] : NULL;
}

void far_forget(peer_id id)
{
	free(far_find(id));
	objects[id % PEER_OBJECTS] = NULL;
}

int far_release(peer_id id)
{
	struct peer_object call = {id};
	struct peer_nothing nothing;
	int err = FAR_CALL(release, &call, &nothing);

	if (err && !far_broken())
		return err;
	far_forget(id);
	return 0;
}

static void take_over(struct end *end, const struct peer_opened *opened)
{
	memset(&context, 0, sizeof(context));
	far_set_ops(&context);
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

int far_open(struct end *end, unsigned int timeout_ms, char *err, size_t size)
{
	struct peer_open call = {.port = end->port, .gid_index = end->gid_index, .timeout_ms = timeout_ms};
	struct peer_opened opened;
	struct far_tail why;
	int ret;

	memcpy(call.device, end->device, sizeof(call.device));
	memcpy(call.address, end->address, sizeof(call.address));
	ret = FAR_CALL(open, &call, &opened);
	why = far_answer_tail();
	if (far_broken())
		snprintf(err, size, "%s", far_broken());
	else if (ret)
		snprintf(err, size, "the peer: %s", errno_name(ret));
	else if (why.length)
		snprintf(err, size, "the peer: %.*s", (int)why.length, (const char *)why.at);
	if (ret || why.length)
		return -1;
	take_over(end, &opened);
	ret = far_map();
	if (!ret)
		return 0;
	snprintf(err, size, "%s",
		 far_broken() ? far_broken() : "the peer: no range of addresses is free in both processes");
	return -1;
}

void far_close(struct end *end)
{
	far_unmap();
	memset(objects, 0, sizeof(objects));
	memset(&context, 0, sizeof(context));
	memset(end, 0, sizeof(*end));
}

json_t *far_query(void)
{
	struct peer_nothing nothing = {};
	struct far_tail text;
	json_t *answer = NULL;

	far_lock();
	if (!FAR_CALL(query, &nothing, &nothing)) {
		text = far_answer_tail();
		answer = json_loadb(text.at, text.length, 0, NULL);
		if (!answer)
			far_complain("answered query with something that is no JSON");
	}
	far_unlock();
	return answer;
}
