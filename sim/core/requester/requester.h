/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The send queue: from WQEs in host memory to packets, and from their acknowledges to completions. */
#ifndef HCASIM_CORE_REQUESTER_REQUESTER_H
#define HCASIM_CORE_REQUESTER_REQUESTER_H

#include "core/base/base.h"

/* fetch.c, decode.c */
bool fetch_pending(const struct hca *hca, struct hca_work *w);
void fetch_step(struct hca *hca);
void fetch_changed(struct hca *hca, struct qp *qp); /* of struct parts */
struct fetch *fetch_get(struct hca *hca);
void fetch_put(struct hca *hca, struct fetch *f);
void fetch_queue(struct hca *hca, struct fetch *f);
bool decode_pending(const struct hca *hca, struct hca_work *w);
void decode_step(struct hca *hca);

/* post.c: the software has posted WQEs up to `pi`; or also pushed those from `index` on, `len` bytes of them */
void sq_posted(struct qp *qp, uint16_t pi);
/* Takes what is pushed over from `*push` if it can use it. */
void sq_pushed(struct hca *hca, struct qp *qp, uint16_t index, uint32_t len, struct fetch **push);

/* wqe.c */
struct wqe *wqe_get(struct hca *hca, uint32_t raw_len);
void wqe_put(struct hca *hca, struct wqe *w);
bool op_reads(uint8_t op);    /* READ or atomic: has a result */
bool op_answered(uint8_t op); /* has a response of its own: these, and FLUSH and ATOMIC WRITE */
bool op_local(uint8_t op);    /* sends nothing */

/* packetise.c */
bool packetise_pending(const struct hca *hca, struct hca_work *w);
void packetise_step(struct hca *hca);
void packetise_changed(struct hca *hca, struct qp *qp); /* of struct parts */

/* sq.c */
void sq_append(struct hca *hca, struct qp *qp, struct wqe *w);
void sq_fail(struct hca *hca, struct qp *qp, struct wqe *w, uint8_t status, uint8_t vendor);
void sq_sent(struct hca *hca, struct qp *qp, struct wqe *w);
void sq_executed(struct hca *hca, struct qp *qp, struct wqe *w);
void sq_left(struct wqe *w);
void sq_result_lost(struct hca *hca, struct qp *qp, struct wqe *w);
void sq_skip_acked(struct hca *hca, struct qp *qp);
void sq_acked_to(struct hca *hca, struct qp *qp, struct wqe *w, uint32_t una);
void sq_rewind(struct hca *hca, struct qp *qp);
void sq_pop(struct hca *hca, struct qp *qp);
void sq_wait_anew(struct hca *hca, struct qp *qp); /* the ACK timeout starts from now */
void sq_timer_update(struct hca *hca, struct qp *qp);
void sq_clear(struct hca *hca, struct qp *qp);

/* retire.c */
void sq_advance(struct hca *hca, struct qp *qp); /* of struct parts */
bool sq_can_complete(const struct qp *qp);
void sq_complete(struct hca *hca, struct qp *qp);

/* ack.c */
void requester_rx(struct hca *hca, struct qp *qp, struct rxwork *w);
void requester_timer(struct hca *hca, struct timer *t);
void requester_failed(struct hca *hca, struct qp *qp); /* of struct parts */

/* fault.c: pages that a send WQE reads, or (`result`) where the answer to a READ or atomic goes */
void page_fault_send(struct hca *hca, struct qp *qp, struct wqe *w, bool result);

#endif
