/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The QP of the responder's end that packets made by hand are sent to, its memory, and what it must answer. */
#ifndef CONFORM_SUITES_PACKET_QP_H
#define CONFORM_SUITES_PACKET_QP_H

#include "suites/transport/packet.h"

#define PQP_MTU   256 /* bytes */
#define PQP_SIZE  16384
#define PQP_RECV  8192 /* where the receives begin */
#define PQP_SLOT  768  /* bytes of a receive */
#define PQP_DEPTH 8
#define PQP_SENDS 32   /* max_send_wr */
#define PQP_READS 3    /* max_dest_rd_atomic */
#define PQP_WORD  1024 /* in the region, of the atomics */
#define PQP_QKEY  0x76543210
#define PQP_PDS   4 /* protection domains: the QP and its memory are in the last one */
#define PQP_ACCESS                                                                                           \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct packet_qp {
	struct kit *k;
	struct packet_port port;
	enum ibv_qp_type qpt;
	struct ibv_pd *pd[PQP_PDS];
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_srq *srq, *other; /* XRC, of the same domain */
	struct ibv_xrcd *xrcd;
	uint32_t srqn, other_srqn;
	struct ibv_mr *mr;
	uint8_t *mem, *want; /* the region, and what it must hold */
	uint8_t data[4096];  /* payloads; new bytes for each packet that is sent with pqp_fill() */
	uint32_t psn, msn;   /* of the next request; of the last answer */
	struct {
		struct ibv_cq *cq;
		struct ibv_qp *qp; /* UD */
		struct ibv_mr *mr;
		uint8_t *mem;
	} last;                   /* receives the datagrams of pqp_passed() */
	uint8_t rnr_timer, reads; /* min_rnr_timer, max_dest_rd_atomic */
	int access;               /* of the QP, if reliable */
	unsigned int next_recv, used;
	uint32_t bytes; /* filled so far, so that no payload is like another */
};

/* An atomic at PQP_WORD. */
struct pqp_atomic {
	unsigned int code;
	uint64_t swap_add, compare;
};

/* Opens the port and creates a QP in RTR. False: nothing can be tested, or there is a fault. */
bool pqp_open(struct kit *k, struct packet_qp *t);
/* RESET, and up to RTR again, without receives. */
bool pqp_again(struct packet_qp *t, uint32_t psn);
/* Opcode of a message's packet on this transport. */
uint8_t pqp_op(const struct packet_qp *t, unsigned int code);
/* A request with the next PSN and new bytes; not yet sent. It names the whole region. */
struct packet pqp_packet(struct packet_qp *t, unsigned int code, uint32_t len);
/* Sends it; the next PSN is one more. */
bool pqp_send(struct packet_qp *t, const struct packet *p);
/* Waits until the responder is through with all packets so far: a datagram behind them has come to another QP. */
bool pqp_passed(struct packet_qp *t);
/* Receives of `len` bytes at the next slots. */
bool pqp_receive(struct packet_qp *t, uint32_t len);
/* The next answer must be this one. code: HCASIM_BTH_CODE of it, reads have psn only */
bool pqp_answer(struct packet_qp *t, unsigned int kind, unsigned int value, uint32_t psn);
bool pqp_ack(struct packet_qp *t, uint32_t psn);
bool pqp_nak(struct packet_qp *t, unsigned int value, uint32_t psn);
/* Requests that are answered with data, with any PSN; and their answer, packet by packet, which must come next. */
bool pqp_ask_read(struct packet_qp *t, uint32_t psn, uint32_t at, uint32_t len);
bool pqp_read_answer(struct packet_qp *t, uint32_t psn, uint32_t at, uint32_t len);
bool pqp_ask_atomic(struct packet_qp *t, uint32_t psn, const struct pqp_atomic *a);
bool pqp_atomic_answer(struct packet_qp *t, uint32_t psn, uint64_t orig);
/* The next completion must be that of the oldest receive. bytes: without the 40 of a datagram */
bool pqp_received(struct packet_qp *t, enum ibv_wc_status status, uint32_t bytes, struct ibv_wc *wc);
void pqp_judge_memory(struct packet_qp *t);
/* Where the oldest receive that has no completion begins, as it must be. */
uint8_t *pqp_slot(struct packet_qp *t);

#endif
