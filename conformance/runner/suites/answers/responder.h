/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A responder made by hand. The QP under test, an RC QP of the responder's end, sends its requests to a RAW_PACKET QP
 * of the requester's end, which records them and answers in any way that a wire or a peer may bring about (IBTA 9.7.5.1,
 * 9.7.6). Requests are named by the index in which they were posted, and packets by their index in the message.
 */
#ifndef CONFORM_SUITES_RESPONDER_H
#define CONFORM_SUITES_RESPONDER_H

#include "suites/transport/packet_qp.h"

#define RSP_MAX  32   /* requests in one life of the QP */
#define RSP_SLOT 2048 /* bytes of a place for the data of a request; there are 4 */

struct asked {
	enum ibv_wr_opcode op;
	unsigned int slot, flags;
	uint32_t len, psn, packets;
};

struct responder {
	struct packet_qp t;
	struct asked ask[RSP_MAX];
	unsigned int num;
	uint32_t psn;    /* of the next new request */
	uint32_t spoilt; /* bits of lkeys that are inverted */
};

/* Opens the port and creates the QP. False: nothing can be tested, or there is a fault. */
bool rsp_open(struct kit *k, struct responder *p);
/* RESET, and up to RTS. Of attr: timeout, retry_cnt, rnr_retry, max_rd_atomic. */
bool rsp_up(struct responder *p, uint32_t psn, const struct ibv_qp_attr *attr);

/* Posts a request of `len` bytes in this slot; flags: of ibv_send_wr. */
bool rsp_post(struct responder *p, enum ibv_wr_opcode op, unsigned int slot, uint32_t len,
	      unsigned int flags);
/* Posts a request that sends nothing: a bind or an invalidation. */
bool rsp_local(struct responder *p, struct ibv_send_wr *wr);
/* The next packet must be this one: with all that its request names. */
bool rsp_packet(struct responder *p, unsigned int i, uint32_t packet);
/* The next packets must be all of these requests, the first one from this packet on. */
bool rsp_packets(struct responder *p, unsigned int first, uint32_t packet, unsigned int last);
/* Packets that were sent before may come again, until this one comes. */
bool rsp_await(struct responder *p, unsigned int i, uint32_t packet);
/* Nothing was sent before the answer to a request of the other direction, and nothing has completed. */
bool rsp_quiet(struct responder *p);

bool rsp_ack_psn(struct responder *p, uint32_t psn);
bool rsp_ack(struct responder *p, unsigned int i, uint32_t packet);
bool rsp_nak(struct responder *p, unsigned int i, uint32_t packet, unsigned int code);
bool rsp_rnr(struct responder *p, unsigned int i, uint32_t packet, unsigned int timer);
/* A packet with new bytes of the answer to a READ, whose request named all packets from `from` on. */
bool rsp_read(struct responder *p, unsigned int i, uint32_t from, uint32_t packet);
bool rsp_reads(struct responder *p, unsigned int i, uint32_t from, uint32_t packet, uint32_t last);
bool rsp_atomic(struct responder *p, unsigned int i, uint64_t orig);
/* Any answer with the PSN of this packet, and new bytes that must not arrive. */
bool rsp_wrong(struct responder *p, unsigned int i, uint32_t packet, unsigned int code, uint32_t len);

/* The next completion must be that of this request. */
bool rsp_done(struct responder *p, unsigned int i, enum ibv_wc_status status);
/* The next completions must be those of these requests, flushed. */
bool rsp_flushed(struct responder *p, unsigned int first, unsigned int last);
/* From now on requests that are posted have a wrong lkey, or the right one again. */
void rsp_spoil(struct responder *p, bool on);
bool rsp_move(struct responder *p, enum ibv_qp_state state);

/* The most common steps: a signaled request; its success; a NAK for a lost packet. */
#define POST(p, op, slot, len) rsp_post(p, IBV_WR_##op, slot, len, IBV_SEND_SIGNALED)
#define DONE(p, i)             rsp_done(p, i, IBV_WC_SUCCESS)
#define AGAIN(p, i, packet)    rsp_nak(p, i, packet, HCASIM_NAK_PSN_SEQ)

#endif
