/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Used by all sub-folders: objects by number, references, timers, change notification. */
#ifndef HCASIM_CORE_BASE_BASE_H
#define HCASIM_CORE_BASE_BASE_H

#include "core/base/objects.h"

static inline hca_ps hca_now(struct hca *hca)
{
	return hca->dying ? 0 : hca->ops.now(hca->host);
}

/* XRC is RC, except that each packet names the responder's receive queue (IBTA annex A14). */
static inline bool qp_is_xrc(const struct qp *qp)
{
	return qp->c.type == HCASIM_QPT_XRC_SEND || qp->c.type == HCASIM_QPT_XRC_RECV;
}

static inline bool qp_reliable(const struct qp *qp)
{
	return qp->c.type == HCASIM_QPT_RC || qp_is_xrc(qp);
}

/* Priority of frames with this traffic class: the class selector of its DSCP (RFC 2474, 4.2.2). */
static inline uint8_t class_priority(uint8_t traffic_class)
{
	return traffic_class >> 5;
}

/* Packets to this address are RoCEv1. */
static inline bool port_sends_v1(const struct port *port, const struct hca_av *av)
{
	return port->gid_v1[av->sgid_index % CORE_GIDS];
}

/* The priority of a connected QP is paused: hca_tx_pause(). */
static inline bool qp_paused(const struct hca *hca, const struct qp *qp)
{
	const bool connected = qp_reliable(qp) || qp->c.type == HCASIM_QPT_UC;
	const struct port *port = connected && qp->a.port ? &hca->port[qp->a.port - 1] : NULL;
	uint8_t priority = class_priority(qp->a.av.traffic_class);

	if (port && port_sends_v1(port, &qp->a.av))
		priority = 0; /* RoCEv1 has one in a VLAN tag only */
	return port && port->paused >> priority & 1;
}

/* parts.c */
void hca_announce(
	struct hca *hca); /* called at the end of every entry point: notifies the host of what became ready */
void qp_update(struct hca *hca, struct qp *qp); /* called at the end of every change of a QP */
void qp_error(struct hca *hca, struct qp *qp);

/* parts.c: for hosts with caches, see hca_ops.changed */
void hca_changed(struct hca *hca, enum hca_context what, uint32_t number);

/* observe.c: for hosts with observers: a step; and after a change of a QP */
void observe_step(struct hca *hca, enum hca_stage stage);
void observe_qp(struct hca *hca, struct qp *qp);
/* What is known of a step before it. */
void see_before(const struct hca *hca, enum hca_stage stage, struct hca_seen *s);

/* find.c: look-up by number; NULL: not found. And references. */
struct qp *qp_find(const struct hca *hca, uint32_t qpn);
struct cq *cq_find(const struct hca *hca, uint32_t cqn);
struct srq *srq_find(const struct hca *hca, uint32_t srqn);
void qp_get(struct qp *qp);
void qp_put(struct hca *hca, struct qp *qp);

/* counters.c */
static inline void hca_count(struct hca *hca, uint8_t port, enum hcasim_counter counter)
{
	hca->count[port].of[counter]++;
}
/* A RoCE packet that was sent or received. */
void count_frame(struct hca *hca, uint8_t port, const struct hca_packet *pkt, bool sent);
/* A packet is dropped, or answered with a NAK: counts it, and tells observers. */
void count_refused(struct hca *hca, const struct hca_refused *r);

/* timer.c */
void timer_set(struct hca *hca, struct timer *t, hca_ps deadline);
void timer_cancel(struct hca *hca, struct timer *t);
void timer_run(struct hca *hca);
hca_ps timer_first(const struct hca *hca);

#endif
