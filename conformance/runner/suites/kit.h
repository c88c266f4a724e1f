/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by the scenarios: links, requests, completions, and faults. */
#ifndef CONFORM_SUITES_KIT_H
#define CONFORM_SUITES_KIT_H

#include "execute/collect.h"
#include "remote/remote.h"
#include "post/post.h"
#include "suites/suite.h"

#define KIT_FAULT(k, ...) fault(&(k)->res->verdict, __VA_ARGS__)
/* Checks a condition that the man page requires; the scenario ends at the first that is false and not excused. */
#define KIT_CHECK(k, condition, ...)                                                                         \
	do {                                                                                                 \
		if (!kit_holds(k, condition) && !KIT_FAULT(k, __VA_ARGS__))                                  \
			return;                                                                              \
	} while (0)
#define KIT_GOOD(k) (!(k)->res->verdict.num)
/* The condition, or a pointer, without which the scenario cannot go on: a fault, if it is false. */
#define KIT_MUST(k, condition, ...)                                                                          \
	({                                                                                                   \
		__typeof__(condition) must_ = (condition);                                                   \
                                                                                                             \
		if (!must_)                                                                                  \
			KIT_FAULT(k, __VA_ARGS__);                                                           \
		must_;                                                                                       \
	})

/*
 * Counts a check of the scenario. The one whose number is the argument `wrong` of the cell's line has the opposite
 * result: tests demand that each scenario reports it (tests/test_wrong_checks.py).
 */
bool kit_holds(struct kit *k, bool condition);
int kit_arg(const struct kit *k, const char *name, int fallback);

/* Creates and connects the link of the cell; false and a fault if this fails. api: API_WR, API_POST, API_SRQ */
bool kit_link(struct kit *k, enum api api, const struct link_opts *opts);
/* A second link of the same kind. What it has is destroyed with everything else that the scenario has made. */
bool kit_link_second(struct kit *k, struct link *l, enum api api, const struct link_opts *opts);

/*
 * Destroys all that the scenario has made since it began, or since the last time (link/made.h), as at its end. A fault if
 * that fails.
 */
void kit_unmake(struct kit *k);

/* Plans the requests of the cell, fills each buffer, and posts all receives. */
bool kit_plan(struct kit *k, struct plan *plans);
/* The planned requests as a list for ibv_post_send(). */
void kit_list(struct kit *k, struct plan *plans, unsigned int num, struct ibv_send_wr *wr);
/* ibv_post_send(), recorded in the log and the journal. bad: index of *bad_wr, -1: none. */
int kit_post(struct kit *k, struct ibv_qp *qp, struct ibv_qp *to, struct ibv_send_wr *wr, int *bad);
/* The same; false and a fault if it is refused. */
bool kit_posts(struct kit *k, struct ibv_qp *qp, struct ibv_qp *to, struct ibv_send_wr *wr);
/* A signalled request, whose other operands the caller sets. */
struct ibv_send_wr kit_wr(uint64_t wr_id, enum ibv_wr_opcode op, struct ibv_sge *sge);
/* Posts a signaled ATOMIC_WRITE of 8 bytes, which ibv_post_send() does not have; the link was made for API_WR. 0 or an errno. */
int kit_atomic_write(struct kit *k, uint64_t wr_id, uint32_t rkey, const uint8_t *to, const uint8_t *bytes);
/* Posts a SEND of 64 bytes on this link, which must arrive. */
void kit_alive(struct kit *k, struct link *l);

/* Waits for the next completion; false and a fault if none comes in time. */
bool kit_wait(struct kit *k, struct link *l, struct ibv_cq *cq, struct ibv_wc *wc);
/* Waits for the next completion, which must be this one. */
bool kit_expect(struct kit *k, struct link *l, struct ibv_cq *cq, const struct ibv_qp *qp, uint64_t wr_id,
		enum ibv_wc_status status);
/* The CQ must be empty. */
void kit_expect_none(struct kit *k, struct link *l, struct ibv_cq *cq);

/* Waits for the next asynchronous event of a context; false and a fault if it is another one or none comes. */
bool kit_expect_async(struct kit *k, struct ibv_context *ctx, enum ibv_event_type type, const void *element);
/* The next event of any kind, acknowledged. */
bool kit_next_async(struct ibv_context *ctx, unsigned int timeout_ms, struct ibv_async_event *event);
/* Discards events that were caused earlier. */
void kit_drain_async(struct ibv_context *ctx);

void kit_expect_state(struct kit *k, struct ibv_qp *qp, enum ibv_qp_state state);
uint64_t kit_now_us(void);
/* Leaves bytes that are not 0 where the next function has its variables: a library must not depend on them. */
void kit_dirty_stack(void);

/* A GID of this end for IPv4 or IPv6. Of a peer process only the GID of the DUT file is known. False: there is none. */
bool kit_gid(const struct end *end, bool v4, int *index, union ibv_gid *gid);
/*
 * Both ends have a GID of the address family that the cell's argument `family` names (4 or 6), else that of the DUT
 * file, until the next cell. False, and a remark: they have none.
 */
bool kit_family(struct kit *k);

#endif
