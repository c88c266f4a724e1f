/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the scenarios share: links, requests, completions, and the faults that they find. */
#ifndef CONFORM_SUITES_KIT_H
#define CONFORM_SUITES_KIT_H

#include "execute/collect.h"
#include "remote/remote.h"
#include "post/post.h"
#include "suites/suite.h"

#define KIT_FAULT(k, ...) fault(&(k)->res->verdict, __VA_ARGS__)
/* What the page says must hold; a scenario ends at the first that does not. */
#define KIT_CHECK(k, condition, ...)                                                                         \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			KIT_FAULT(k, __VA_ARGS__);                                                           \
			return;                                                                              \
		}                                                                                            \
	} while (0)
#define KIT_GOOD(k) (!(k)->res->verdict.num)

int kit_arg(const struct kit *k, const char *name, int fallback);

/* The link of the cell, connected; false, and a fault, when it cannot be made. api: API_WR, API_POST, API_SRQ */
bool kit_link(struct kit *k, enum api api, const struct link_opts *opts);
/* A second link of the same kind. */
bool kit_link_second(struct kit *k, struct link *l, enum api api, const struct link_opts *opts);

/* The requests of the cell made concrete, each buffer filled, and all receives posted. */
bool kit_plan(struct kit *k, struct plan *plans);
/* The same as requests of ibv_post_send(), linked to a list. */
void kit_list(struct kit *k, struct plan *plans, unsigned int num, struct ibv_send_wr *wr);
/* ibv_post_send(), with its place in the log and the journal. Index of *bad_wr, -1: none. */
int kit_post(struct kit *k, struct ibv_qp *qp, struct ibv_qp *to, struct ibv_send_wr *wr, int *bad);
/* A plain request without data, to be completed by the caller: signalled. */
struct ibv_send_wr kit_wr(uint64_t wr_id, enum ibv_wr_opcode op, struct ibv_sge *sge);
/* A SEND of 64 bytes of this link that must arrive. */
void kit_alive(struct kit *k, struct link *l);

/* The next completion; false, and a fault, when none comes in time. */
bool kit_wait(struct kit *k, struct link *l, struct ibv_cq *cq, struct ibv_wc *wc);
/* The next completion must be this one. */
bool kit_expect(struct kit *k, struct link *l, struct ibv_cq *cq, const struct ibv_qp *qp, uint64_t wr_id,
		enum ibv_wc_status status);
/* No completion lies there. */
void kit_expect_none(struct kit *k, struct link *l, struct ibv_cq *cq);

/* The next asynchronous event of a context; false, and a fault, when it is another or none comes. */
bool kit_expect_async(struct kit *k, struct ibv_context *ctx, enum ibv_event_type type, const void *element);
/* The next event of any kind, acknowledged. */
bool kit_next_async(struct ibv_context *ctx, unsigned int timeout_ms, struct ibv_async_event *event);
/* Events that lie there from what was before. */
void kit_drain_async(struct ibv_context *ctx);

void kit_expect_state(struct kit *k, struct ibv_qp *qp, enum ibv_qp_state state);
uint64_t kit_now_us(void);

#endif
