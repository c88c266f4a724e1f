/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by the files of the remote end. */
#ifndef CONFORM_REMOTE_INTERNAL_H
#define CONFORM_REMOTE_INTERNAL_H

#include <errno.h>

#include "remote/remote.h"

/* A call and its answer; the answer's tail lasts until the next call. 0 or an errno. */
struct remote_tail {
	const void *at;
	size_t length;
};
int remote_call(enum peer_call call, const void *args, struct remote_tail tail, void *answer);
struct remote_tail remote_answer_tail(void);
/* The call with these members; the answer's structure, or only 0 or an errno. */
#define REMOTE_ASK(name, answer, ...)                                                                        \
	remote_call(PEER_##name, &(struct peer_##name){__VA_ARGS__}, (struct remote_tail){}, answer)
#define REMOTE_DO(name, ...) REMOTE_ASK(name, &(struct peer_##name##_answer){}, __VA_ARGS__)

/* Records an invalid answer: the peer cannot be used any more. */
void remote_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void remote_lock(void);
void remote_unlock(void);

/* Maps the memory that both processes share. 0 or an errno. */
int remote_map(void);
void remote_unmap(void);

/* Fills in the functions that verbs.h calls through a context. */
void remote_set_ops(struct verbs_context *ctx);
struct ibv_context *remote_context(void);

/* Objects of the remote end are those of verbs.h, with their number as handle; these two have no handle. */
struct remote_xrcd {
	struct ibv_xrcd xrcd;
	peer_id id;
};

struct remote_channel {
	struct ibv_comp_channel channel;
	peer_id id;
};

/* Allocates an object of `size` bytes and registers it by its number, for events. NULL: no memory. */
void *remote_new(peer_id id, size_t size);
/*
 * Creates an object there and here, of the type of `to`, by the call with these members. On failure `to` is NULL and
 * errno is set.
 */
#define REMOTE_MAKE(to, name, answer, ...)                                                                   \
	((to) = remote_made(REMOTE_ASK(name, answer, __VA_ARGS__)) ? remote_new((answer)->id, sizeof(*(to))) \
								   : NULL)
/* Sets errno as the creation there has: not at all, if that is what the peer says. Whether it succeeded. */
bool remote_made(int ret);
void *remote_find(peer_id id);
/* Frees only the local object: the remote one is destroyed by other means. */
void remote_forget(peer_id id);
/* Destroys the object there, then here. 0 or an errno. */
int remote_release(peer_id id);
struct ibv_qp *remote_create_qp(struct ibv_pd *pd, const struct ibv_qp_init_attr_ex *attr, bool extended,
				struct ibv_qp_cap *cap);
struct ibv_srq *remote_create_srq(struct ibv_pd *pd, struct ibv_xrcd *xrcd, struct ibv_cq *cq,
				  struct ibv_srq_attr *attr);
struct ibv_cq *remote_create_cq(int cqe, struct ibv_comp_channel *channel, bool extended, uint64_t wc_flags);

#endif
