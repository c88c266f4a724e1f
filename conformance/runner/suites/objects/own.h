/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Scenarios about objects need no peer: a QP of the requester's end, its CQs, and the attributes that it is moved
 * with. Two sets of values differ in every attribute, and neither is a default.
 */
#ifndef CONFORM_SUITES_OWN_H
#define CONFORM_SUITES_OWN_H

#include "suites/kit.h"

#define OWN_EVERY_BIT ((IBV_QP_DEST_QPN << 1) - 1)

struct own {
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_xrcd *xrcd;
	struct ibv_qp *qp;
	struct ibv_qp_init_attr_ex init; /* as granted */
	struct ibv_qp_attr known;        /* what was set since RESET */
	int known_mask;
	bool to_itself;      /* connected to itself, so that it can carry requests */
	unsigned int resets; /* each time another PSN: packets from before may still be on their way */
};

/* Creates both CQs and an XRC domain where the type needs one; false and a fault if this fails. */
bool own_begin(struct kit *k, struct own *o, enum ibv_qp_type type);
/* The same and a QP, with o->init; the members that are not 0 are kept. */
bool own_create(struct kit *k, struct own *o, enum ibv_qp_type type);
/* The QP alone. */
bool own_create_qp(struct kit *k, struct own *o);
void own_destroy(struct own *o);

/* As kit_wait() and kit_expect(), on one of its CQs: that of its sends is the requester's. */
bool own_wait(struct kit *k, const struct own *o, struct ibv_cq *cq, struct ibv_wc *wc);
bool own_expect(struct kit *k, const struct own *o, struct ibv_cq *cq, uint64_t wr_id,
		enum ibv_wc_status status);

/* Attributes of the set 0 or 1. */
struct ibv_qp_attr own_values(const struct kit *k, const struct own *o, unsigned int set);
/* Sets the member of one bit; not IBV_QP_AV. */
void own_set(struct ibv_qp_attr *attr, int bit, uint32_t value);
/* ibv_modify_qp(); if it succeeds, what was set is known from now on. */
int own_modify(struct own *o, struct ibv_qp_attr *attr, int mask);
/* Moves the QP from RESET to a state, with the required attributes and the values of set 0. False and a fault. */
bool own_reach(struct kit *k, struct own *o, enum ibv_qp_state state);
/* From any state to RESET. */
bool own_reset(struct kit *k, struct own *o);
/* Attributes that the transition to INIT, RTR or RTS on the way up requires. */
int own_required(enum ibv_qp_type type, enum ibv_qp_state to);

/* ibv_query_qp() reports the known attributes, those of `mask` at least; a fault names one that it does not. */
bool own_judge(struct kit *k, struct own *o, int mask, const char *when);
/* A QP with a SEND, an SRQ and a region of a PD; all are destroyed again. */
void own_use(struct kit *k, struct ibv_pd *pd);
/* A work queue of a PD, which is not deallocated before it. */
void own_use_work_queue(struct kit *k, struct ibv_pd *pd);
const char *own_state(enum ibv_qp_state state);
/* Name of the attribute of a bit. */
const char *own_bit(int bit);

#endif
