/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the files of the far end share. */
#ifndef CONFORM_PEER_FAR_INSIDE_H
#define CONFORM_PEER_FAR_INSIDE_H

#include "far.h"

/* A call and its answer; the answer's tail lasts until the next call. 0 or an errno. */
struct far_tail {
	const void *at;
	size_t length;
};
int far_call(enum peer_call call, const void *args, struct far_tail tail, void *answer);
struct far_tail far_answer_tail(void);
#define FAR_CALL(name, args, answer) far_call(PEER_##name, args, (struct far_tail){}, answer)

/* An answer that makes no sense: the peer is of no more use. */
void far_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void far_lock(void);
void far_unlock(void);

/* Memory that both processes have. 0 or an errno. */
int far_map(void);
void far_unmap(void);

/* Fills in what verbs.h dispatches through a context. */
void far_set_ops(struct verbs_context *ctx);
struct ibv_context *far_context(void);

/* Objects of the far end are those of verbs.h, with their number as handle; two have none. */
struct far_xrcd {
	struct ibv_xrcd xrcd;
	peer_id id;
};

struct far_channel {
	struct ibv_comp_channel channel;
	peer_id id;
};

/* An object of so many bytes by its number, so that events find it. NULL: no memory. */
void *far_new(peer_id id, size_t size);
void *far_find(peer_id id);
/* What it stands for ends otherwise. */
void far_forget(peer_id id);
/* Destroys it there, and then here. 0 or an errno. */
int far_release(peer_id id);
struct ibv_cq *far_create_cq(int cqe, struct ibv_comp_channel *channel, bool extended, uint64_t wc_flags);

#endif
