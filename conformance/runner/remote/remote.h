/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The responder's end in another process, usually of another host. Its context, and every object made from it, can be
 * used with the calls of verbs.h: those that libibverbs dispatches through the context end in remote_ops.c, the others
 * are wrapped by the linker (remote_wrap.c) and come there, too, when the object is of this context.
 */
#ifndef CONFORM_REMOTE_H
#define CONFORM_REMOTE_H

#include <jansson.h>

#include "remote/wire.h"

struct end;

/* command: words of the command that starts the peer process. 0, or -1 and a message. */
int remote_start(json_t *command, unsigned int start_ms, unsigned int timeout_ms, char *err, size_t size);
/* Opens the device there. 0, or -1 and a message. */
int remote_open(struct end *end, unsigned int timeout_ms, char *err, size_t size);
void remote_close(struct end *end);
/* Ends the peer. 0, or -1 and a message when it did not end well. */
int remote_stop(char *err, size_t size);
/* NULL, or why the peer can be used no more. */
const char *remote_broken(void);
bool remote_is(const struct ibv_context *ctx);

/* What the device there says about itself (query.h). NULL: it does not answer. */
json_t *remote_query(void);

/* Memory for a protection domain of either end, page-aligned. NULL: there is none. */
void *end_alloc(const struct ibv_pd *pd, size_t size);
void end_free(void *at);
/* What the runner has written to the responder's memory is there: to be called before a request is posted that may reach it. */
void end_push(void);
/* The same, and what the device has written there is here: to be called before that memory is looked at. */
void end_sync(void);
/* These bytes count as written, whatever was there. */
void end_written(const void *at, size_t length);

/* An event can be taken. */
bool end_async_ready(struct ibv_context *ctx, int timeout_ms);
bool end_cq_event_ready(struct ibv_comp_channel *channel, int timeout_ms);

#endif
