/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Requests of peers, and their responses. */
#ifndef HCASIM_CORE_RESPONDER_RESPONDER_H
#define HCASIM_CORE_RESPONDER_RESPONDER_H

#include "core/base/base.h"

/* responder.c: false: the packet has to wait (for a receive WQE, or an atomic) */
bool responder_rx(struct hca *hca, struct qp *qp, struct rxwork *w);
/* Payload writes that completed or failed. */
void rop_written(struct hca *hca, struct dma_ctx *c, bool stale);
/* Accepts the packet's PSN; issues the writes of its payload. False: no memory. */
bool responder_accept(struct hca *hca, struct qp *qp, struct rxwork *w, struct rop *r,
		      const struct piece *piece, uint32_t n, void *buf);

/* message.c: checks a request before it is executed */
bool msg_length_ok(const struct qp *qp, const struct pkt_info *info);
bool msg_write_length_ok(const struct qp *qp, const struct pkt_info *info);
bool msg_sequence_ok(const struct qp *qp, const struct pkt_info *info);
/* A request was executed or refused: counts it, if the packet begins it. */
void msg_count(struct hca *hca, const struct rxwork *w);
/* A packet of a SEND or WRITE was accepted, and `bytes` of its payload placed. */
void msg_goes_on(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint32_t bytes);

/* tagged.c: messages to a QP with tag matching. The others have no effect on other QPs and messages. */
/* The first packet of a SEND: if it matches, the tagged buffer becomes the active receive WQE. */
void tagged_begin(struct qp *qp, const struct rxwork *w);
/* A SEND has taken a receive WQE: if no tagged buffer, its completion says why. */
void tagged_not_matched(struct qp *qp, const struct rxwork *w);
/* The part of the packet's payload that is placed: all of it but headers. */
void tagged_payload(const struct qp *qp, const struct pkt_info *info, uint32_t *off, uint32_t *len);
/* Completes the completion of an accepted packet. False: no memory. */
bool tagged_accept(struct qp *qp, const struct rxwork *w, struct rop *r);

/* duplicate.c */
void responder_duplicate(struct hca *hca, struct qp *qp, const struct pkt_info *info);

/* rop.c: pending responses */
struct rop *rop_get(struct hca *hca);
void rop_put(struct hca *hca, struct rop *r);
void rop_completes(struct rop *r, struct qp *qp, const struct pkt_info *info, uint32_t bytes);
struct rop *rop_recv(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint32_t bytes);
/* The payload of a short message becomes part of its completion. */
bool rop_keep_payload(struct rop *r, const struct qp *qp, struct rxwork *w, uint32_t off, uint32_t len);
/* The packet was accepted, but its receive WQE completes in error. */
void rop_recv_failed(struct rop *r, uint8_t status, uint8_t vendor);
void rop_push(struct hca *hca, struct rop_fifo *f, struct rop *r);
struct rop *rop_pop(struct rop_fifo *f);
void rop_uncount(struct qp *qp, const struct rop *r);
void rop_fifo_init(struct rop_fifo *f);
void rop_accept(struct hca *hca, struct qp *qp, struct rop *r);
/* The active receive WQE completes in error. */
void rop_recv_error(struct hca *hca, struct qp *qp, uint8_t status, uint8_t vendor);
void rop_land(struct hca *hca, struct qp *qp);
void rop_drop_reads(struct hca *hca, struct qp *qp, uint32_t from_psn);
/* The same, for duplicates that are answered instead: the requests count as answered. */
void rop_reads_again(struct hca *hca, struct qp *qp, uint32_t from_psn);
void rop_read_answered(struct qp *qp, const struct rop *r); /* all of it */
void resp_ack(struct hca *hca, struct qp *qp);

/* refuse.c: requests that are refused. NAKs are sent by reliable QPs only. */
struct fault {
	uint32_t psn;    /* of the request */
	uint64_t number; /* of its frame; 0: it is not the current one */
	uint8_t reason;  /* HCASIM_COUNTER_REFUSED_* */
	uint8_t nak;     /* HCASIM_NAK_* */
	/* The active receive WQE completes with the status, if that is not 0; without such a WQE, `event` is raised. */
	uint8_t status, vendor;
	unsigned int event;
};
void resp_dropped(struct hca *hca, const struct qp *qp, const struct pkt_info *info, uint8_t reason);
/* The request cannot be executed yet: sends an RNR NAK. */
void resp_not_ready(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint8_t reason);
/* Packets are missing before this one: sends a NAK. */
void resp_gap(struct hca *hca, struct qp *qp, const struct pkt_info *info);
void resp_fatal(struct hca *hca, struct qp *qp, const struct fault *f);
/* As resp_not_ready() and resp_fatal(), but before requests whose payload is not in memory yet, and instead of responses. */
void resp_not_ready_now(struct hca *hca, struct qp *qp, uint32_t psn);
void resp_fatal_now(struct hca *hca, struct qp *qp, const struct fault *f);
enum verdict { V_OK, V_WAIT, V_EMPTY, V_REFUSED /* an error was handled */ };
/* The current request is refused, because of the peer: of `f` psn and number are not used. UC and UD keep their state. */
enum verdict refuse(struct hca *hca, struct qp *qp, const struct pkt_info *info, struct fault f);
enum verdict refuse_invalid(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint8_t reason,
			    uint8_t vendor);
enum verdict refuse_right(struct hca *hca, struct qp *qp, const struct pkt_info *info); /* of the QP */
enum verdict refuse_reads(struct hca *hca, struct qp *qp, const struct pkt_info *info); /* too many */
enum verdict refuse_misaligned(struct hca *hca, struct qp *qp, const struct pkt_info *info);
/* `vendor`: of rkey_check(). `status`: of the active receive WQE; 0: the request has none. */
enum verdict refuse_key(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint8_t status,
			uint8_t vendor);
/* Because of the receive WQE, which completes with the status, on every transport; or there is none. */
enum verdict refuse_receive(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint8_t reason,
			    uint8_t status, uint8_t vendor);
enum verdict refuse_no_receive(struct hca *hca, struct qp *qp, const struct pkt_info *info);

/* rop.c */
void resp_clear(struct hca *hca, struct qp *qp);

/* respond.c */
bool respond_pending(const struct hca *hca, struct hca_work *w);
void respond_step(struct hca *hca);
void respond_changed(struct hca *hca, struct qp *qp); /* of struct parts */

/* atomic.c */
void atomic_start(struct hca *hca, struct qp *qp, const struct pkt_info *info, struct rop *r);
void atomic_next(struct hca *hca);
void atomic_forget(struct hca *hca, struct qp *qp);
const struct atomic_result *atomic_find(const struct hca *hca, const struct qp *qp, uint32_t psn);

/* fault.c */
/* Bytes [off, off + len) of the active receive WQE have no pages: not ready, until the driver has mapped them. */
enum verdict page_fault_receive(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint64_t off,
				uint32_t len);
/* The WQE of such a fault has completed: its message, which came again, takes no other one until the answer. */
bool page_fault_waits(struct hca *hca, struct qp *qp, const struct pkt_info *info);
/* The memory that a request addresses. */
void page_fault_remote(struct hca *hca, struct qp *qp, uint32_t psn, uint32_t rkey, uint64_t addr,
		       uint64_t len, bool write);

#endif
