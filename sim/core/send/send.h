/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The adapter's side of the send engine's interface (core/engine.h). */
#ifndef HCASIM_CORE_SEND_SEND_H
#define HCASIM_CORE_SEND_SEND_H

#include "core/base/base.h"

/* ports.c: the engine's ports */
extern const struct engine_ports send_ports;
void send_timer(struct hca *hca, struct timer *t);

/* send.c: calls of the engine's ops */
bool send_create(struct hca *hca, uint32_t fetch_depth);
void send_destroy(struct hca *hca);
int send_qp_create(struct hca *hca, struct qp *qp);
void send_qp_set(struct hca *hca, struct qp *qp,
		 uint32_t mask);                   /* HCASIM_QP_ATTR_*: attributes that were set */
void send_changed(struct hca *hca, struct qp *qp); /* of struct parts */
void send_failed(struct hca *hca, struct qp *qp);  /* of struct parts */
void send_posted(struct hca *hca, struct qp *qp, uint16_t pi);
void send_pushed(struct hca *hca, struct qp *qp, uint16_t index, const void *wqe, uint32_t len);
void send_response(struct hca *hca, struct qp *qp, struct rxwork *w);
/* There is a completion, and its CQ has space for it. */
bool send_can_complete(const struct hca *hca, const struct qp *qp);
void send_complete(struct hca *hca, struct qp *qp);

/* CQ of the next completion; NULL: it needs none. */
struct cq *send_next_cq(const struct hca *hca, const struct qp *qp);

/* rendezvous.c: without effect on QPs whose send queue is the software's */
bool rendezvous_init(struct hca *hca, struct qp *qp); /* false: no memory */
void rendezvous_clear(struct hca *hca, struct qp *qp);
void rendezvous_begin(struct qp *qp, struct rndv_req *q); /* takes it over */
void rendezvous_changed(struct hca *hca, struct qp *qp);  /* of struct parts */
/* Reads the adapter's own ring. False: the QP has none. */
bool rendezvous_read(struct qp *qp, const struct hca_dma_seg *seg, uint32_t nseg, uint8_t *to);
void rendezvous_completed(struct hca *hca, struct qp *qp, const struct engine_completion *c);

/* result.c: results that are in their completions. Without effect on QPs whose results are all in memory. */
void result_expect(struct qp *qp, const struct hca_wr *wr); /* its engine has decoded the WQE */
/* The response's payload is the next `len` bytes of result. 1: it is kept, 0: not, -ENOMEM. */
int result_keep(struct qp *qp, struct rxwork *w, uint32_t len);
/* The kept result of a completion, which is put in; NULL: none. The caller frees it when the completion is written. */
struct result *result_of(struct qp *qp, const struct engine_completion *c, struct hca_cpl *cpl);
void result_free(struct result *r);
void result_clear(struct qp *qp);
/* The payload of a response to a READ or atomic; NULL: no memory. It may be the packet of `w`. */
struct hca_packet *result_payload(const struct rxwork *w, uint8_t **data);

/* Stages. */
hca_ps send_since(const struct hca *hca, enum hca_stage stage, uint32_t qpn); /* as engine_ops.since */
bool send_fetch_pending(const struct hca *hca, struct hca_work *w);
void send_fetch_step(struct hca *hca);
bool send_decode_pending(const struct hca *hca, struct hca_work *w);
void send_decode_step(struct hca *hca);
bool send_packetise_pending(const struct hca *hca, struct hca_work *w);
void send_packetise_step(struct hca *hca);

#endif
