/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Received frames and their routing. */
#ifndef HCASIM_CORE_INGRESS_INGRESS_H
#define HCASIM_CORE_INGRESS_INGRESS_H

#include "core/base/base.h"
#include "core/wire/net.h"

/* flow.c */
/* True: at least one QP got the frame. `roce`: it is a RoCE packet; one that is not well-formed is recognised. */
bool flow_steer(struct hca *hca, struct rxwork *w, bool roce);
/* Whether the transport gets a RoCE packet. Sets `taken` if a raw QP got it. */
bool flow_passes_roce(struct hca *hca, struct rxwork *w, bool *taken);
/* of struct parts */
bool flow_lets_out(struct hca *hca, enum hca_flow_side side, uint8_t port, struct hca_packet **pkt);

/* flow_change.c */
/* The changes can be made by a flow of the table. */
bool flow_change_ok(const struct flow_table *t, const struct hca_flow_attr *a);
/* A copy of what is changed; NULL: nothing is, or there is no memory (*ret is -ENOMEM then). */
struct flow_change *flow_change_new(const struct hca_flow_attr *a, int *ret);
bool flow_change_same(const struct flow_change *c, const struct hca_flow_attr *a);
/* The frame as it is afterwards, a new one; NULL: it is lost. */
struct hca_packet *flow_change_make(const struct flow_change *c, const struct hca_packet *pkt);

/* flow_table.c */
void flow_table_init(struct flow_table *t, const struct hca_flow_table_attr *attr);
void flow_table_free(struct flow_table *t); /* without flows */
/* The rule of such a flow, which is added to its flows; NULL: no memory. */
struct flow_rule *flow_rule_get(struct flow_table *t, const struct hca_flow_attr *attr);
void flow_rule_put(struct flow_rule *r); /* frees it if it has no flows */

/* flow_command.c */
void flow_init(struct hca *hca);
void flow_free(struct hca *hca);
/* The oldest flow of the group with this rule, as struct flow's on_rule; NULL: none. */
const struct node *flow_find(const struct flow_group *g, const struct hca_flow_fields *fields);
void flow_forget(struct hca *hca, struct qp *qp); /* the QP is destroyed */

/* mcast.c */
bool mcast_deliver(struct hca *hca, struct rxwork *w);
void mcast_forget(struct hca *hca, struct qp *qp);
void mcast_free(struct hca *hca); /* all QPs are gone */

/* rss.c */
/* -ENOMEM. The QP holds references on the work queues of the table. */
int rss_set(struct hca *hca, struct qp *qp, const struct hca_rss *attr);
bool rss_ok(const struct hca *hca, const struct hca_rss *attr);
void rss_drop(struct hca *hca, struct qp *qp);
/* The work queue for the frame, with the hash by which it was chosen; NULL: the frame lacks a header that is hashed. */
struct qp *rss_pick(const struct qp *qp, const struct hca_packet *pkt, const struct net *n, uint32_t *hash);
/* `data` has at most 36 bytes: HCA_RSS_KEY without the last 4. */
uint32_t rss_toeplitz(const uint8_t key[HCA_RSS_KEY], const uint8_t *data, uint32_t len);

/* deliver.c */
struct rxwork *rxwork_get(struct hca *hca);
void rxwork_put(struct hca *hca, struct rxwork *w);
/* States in which the QP accepts requests, or responses. */
bool rx_state_takes(const struct qp *qp, bool request);
void rx_deliver(struct hca *hca, struct qp *qp, struct rxwork *w);
/* Tries the first of the packets parked at the QP again. */
void rx_parked_again(struct hca *hca, struct qp *qp);
/* Counts a frame that is dropped: HCASIM_COUNTER_REFUSED_*. */
void rx_refused(struct hca *hca, const struct rxwork *w, uint8_t reason);
bool rx_pkey_ok(const struct pkt_info *info);
/* Gives the QP a copy of the frame: unparsed, or as a parsed packet. */
bool rx_copy_to(struct hca *hca, struct qp *qp, const struct rxwork *w, bool raw);
void rx_flush_parked(struct hca *hca, struct qp *qp); /* of struct parts */
void rx_changed(struct hca *hca, struct qp *qp);      /* of struct parts */

/* rx.c */
bool rx_pending(const struct hca *hca, struct hca_work *w);
void rx_step(struct hca *hca);
void rx_free_all(struct hca *hca);

/* gsi.c */
#define GSI_QPN 1
/* A packet to GSI_QPN: returns 0 if the driver gets it, else why it is refused. */
uint8_t gsi_rx(struct hca *hca, const struct rxwork *w);
void gsi_free(struct hca *hca);

#endif
