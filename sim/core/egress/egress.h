/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Outgoing packets: GATHER reads their payload, TX sends them in order. */
#ifndef HCASIM_CORE_EGRESS_EGRESS_H
#define HCASIM_CORE_EGRESS_EGRESS_H

#include "core/base/base.h"
#include "core/egress/sched.h"
#include "core/wire/net.h"

/* The layer below IP in messages of the QP. */
static inline enum net_link qp_link(const struct qp *qp)
{
	return qp->c.type == HCASIM_QPT_RAW_PACKET ? NET_ETHERNET : NET_DATAGRAM;
}

/* pace.c: the rate limit of a QP's packets */
void pace_init(struct qp *qp);
bool pace_valid(const struct qp *qp, const struct hca_qp_attr *a);
void pace_set(struct hca *hca, struct qp *qp, const struct hca_qp_attr *a);
void pace_clear(struct hca *hca, struct qp *qp);
bool pace_limited(const struct hca *hca, const struct qp *qp); /* by its own rate, or a paused priority */
/* No packet of this side may be made yet. */
bool pace_waits(const struct hca *hca, const struct qp *qp, enum sched_side side);
void pace_charge(struct hca *hca, struct qp *qp, enum sched_side side, uint32_t len);
uint32_t pace_rate(const struct qp *qp); /* kbit/s, 0: as fast as it can */
/* The rate was `before`; what is owed is paid at that of now. */
void pace_changed(struct hca *hca, struct qp *qp, uint32_t before);

/* congestion.c; only with hca_config.dcqcn.on */
void congestion_marked(struct hca *hca, struct qp *qp);   /* a packet for it was marked */
void congestion_notified(struct hca *hca, struct qp *qp); /* a CNP came for it */
void congestion_sent(struct hca *hca, struct qp *qp, uint32_t len);
void congestion_clear(struct hca *hca, struct qp *qp);

/* gather.c, tx.c */
bool txq_init(struct txq *q, uint32_t depth);
bool txq_full(const struct txq *q);
void txq_push(struct hca *hca, struct txq *q, struct txpkt *t);
struct txpkt *txq_head(const struct txq *q);
struct txpkt *txq_pop(struct txq *q);
struct txpkt *txpkt_get(struct hca *hca, struct qp *qp, const struct tx_owner *owner);
void txpkt_put(struct hca *hca, struct txpkt *t);
/* Its payload is in these pieces. False: no memory, or not all of it is there any more. */
bool txpkt_take(struct hca *hca, struct txpkt *t, const struct piece *piece, uint32_t n);
bool gather_pending(const struct hca *hca, struct hca_work *w);
void gather_step(struct hca *hca);
void frame_finish(const struct hca *hca, const struct txpkt *t, uint8_t *frame); /* checksums and ICRC */
struct hca_packet *frame_take(struct hca *hca, struct txpkt *t); /* that of the packet, finished */
bool tx_pending(const struct hca *hca, struct hca_work *w);
void tx_step(struct hca *hca);

#endif
