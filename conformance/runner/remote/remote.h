/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The responder's end in another process, usually on another host. Its context, and every object created from it, can be
 * used with the calls of verbs.h: those that libibverbs dispatches through the context are implemented in remote_ops.c;
 * the others are wrapped by the linker (remote_wrap.c) and forwarded if the object is of this context.
 */
#ifndef CONFORM_REMOTE_H
#define CONFORM_REMOTE_H

#include <jansson.h>

#include "remote/wire.h"

struct end;

/* command: argument list that starts the peer process. 0, or -1 and a message. */
int remote_start(json_t *command, unsigned int start_ms, unsigned int timeout_ms, char *err, size_t size);
/* Opens the device there. 0, or -1 and a message. */
int remote_open(struct end *end, unsigned int timeout_ms, char *err, size_t size);
void remote_close(struct end *end);
/* Ends the peer. 0, or -1 and a message if it failed at its end. */
int remote_stop(char *err, size_t size);
/* NULL, or the reason why the peer cannot be used any more. */
const char *remote_broken(void);
bool remote_is(const struct ibv_context *ctx);

/* What the device there reports (query.h). NULL: no answer. */
json_t *remote_query(void);

/* Memory for a protection domain of either end, page-aligned. NULL: no memory. */
void *end_alloc(const struct ibv_pd *pd, size_t size);
void end_free(void *at);
/* Sends what the runner has written to the responder's memory. To be called before posting a request that may use it. */
void end_push(void);
/* The same, and fetches what the device has written there. To be called before that memory is read. */
void end_sync(void);
/* The next push sends these bytes, even if they have not changed. */
void end_written(const void *at, size_t length);

/* Whether an asynchronous event can be read. */
bool end_async_ready(struct ibv_context *ctx, int timeout_ms);
bool end_cq_event_ready(struct ibv_comp_channel *channel, int timeout_ms);

#endif
