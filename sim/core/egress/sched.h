/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Scheduling elements, and what a QP has of them. Only sched.c changes them. */
#ifndef HCASIM_CORE_EGRESS_SCHED_H
#define HCASIM_CORE_EGRESS_SCHED_H

#include "core/base/base.h"

enum sched_side { SCHED_REQUESTER, SCHED_RESPONDER, SCHED_SIDES }; /* RESPONDER: READ responses */

struct sched_flow { /* what a QP sends on one side */
	struct qp *qp;
	struct sched_elem *leaf; /* NULL: any time */
	struct node on_leaf;     /* it has something to send */
};

struct sched_qp {
	struct sched_flow flow[SCHED_SIDES];
};

struct sched_elem {
	struct sched_elem *parent, *root; /* root: itself, if it has no parent */
	bool leaf;
	uint32_t share, rate;
	uint32_t users;             /* elements and flows that belong to it */
	uint32_t active;            /* leaves with something to send, of those below it and itself */
	uint64_t start;             /* virtual time of the parent at which its next packet starts */
	uint64_t now;               /* its own virtual time: the start of the last packet that was chosen */
	hca_ps free_at;             /* its rate allows a packet from then on */
	uint64_t round;             /* of the last choice in which something below it could send, */
	struct sched_elem *best;    /* and its element with the earliest start among those that could */
	struct node flows, on_root; /* leaf: on_leaf of its flows, the next one first */
	struct {                    /* of the root */
		struct node leaves; /* on_root of those with something to send */
		struct sched_flow *open; /* whose turn it is */
		uint64_t rounds;
		struct timer timer;
	} tree;
};

void sched_init(struct hca *hca);
void sched_free(struct hca *hca);
/* Of a QP with `sched`: it may make a packet; it made one; it has changed; its elements are forgotten. */
bool sched_open(const struct qp *qp, enum sched_side side);
void sched_charge(struct hca *hca, struct qp *qp, enum sched_side side, uint32_t len);
void sched_changed(struct hca *hca, struct qp *qp);
void sched_clear(struct hca *hca, struct qp *qp);

#endif
