/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declares the names in the calls of a report. "Copy C" gives a file that includes this one; linked with
 * libhcasim-reproduce.a it does what the cell did, on two devices, and prints the results (docs/conformance.md, Reports).
 */
#ifndef CONFORM_REPRODUCE_H
#define CONFORM_REPRODUCE_H

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>

extern struct ibv_context *ctx;
extern struct ibv_pd *pd;
extern struct ibv_qp *qp, *peer, *back; /* requester; responder; with XRC, the responder's own XRC_SEND QP */
extern struct ibv_qp *other;            /* a second QP of the responder */
extern struct ibv_qp_ex *qpx;           /* ibv_qp_to_qp_ex(qp) */
extern struct ibv_cq *cq, *peer_cq;
extern struct ibv_srq *srq;
extern struct rdma_cm_id *id;

/* of the requester */
extern struct ibv_mr *mr;
extern struct ibv_mw *mw;
extern void *addr;
extern uint32_t lkey;
extern struct ibv_sge sg_list[];
extern struct ibv_data_buf buf_list[];
extern struct ibv_send_wr wr[], *bad_wr;
extern void *context;

/* of the responder */
extern struct ibv_ah *ah;
extern uint32_t remote_qpn, srqn, rkey;
extern struct ibv_mr *remote_mr;
extern uint64_t remote_addr;
extern void *recv_addr;
extern uint32_t recv_lkey;
extern struct ibv_sge recv_sg_list[];
extern struct ibv_recv_wr recv_wr[], *bad_recv_wr;
extern struct ibv_wc wc[];
extern struct ibv_grh *grh;
extern uint8_t port;

/* of atomics and of segmentation */
extern uint64_t compare, swap, add, value;
extern uint8_t hdr[];

/* Additional needs of the responder or the memory. */
enum cell_need {
	CELL_OWN_WINDOW = 1 << 0,
	CELL_PEER_WINDOW = 1 << 1,
	CELL_BOUND = 1 << 2,
	CELL_FLUSH = 1 << 3,
	CELL_TSO = 1 << 4,
	CELL_SRQ = 1 << 5,
};

/* Creates memory and the responder for qp, and connects both. */
void cell_connect(unsigned int needs);
/* Two rdma_cm_ids, connected: id is the requester's. */
void cell_connect_id(unsigned int sges, unsigned int inline_bytes);
/* The responder posts as many receives as it has buffers. */
void cell_receives(void);
/* Waits for these numbers of completions at the two ends, and prints them. */
void cell_wait(unsigned int requester, unsigned int responder);
/* Prints what a call returned, or which error it set. */
int cell_said(const char *call, int ret);
struct ibv_qp *cell_made(struct ibv_qp *qp);

/* The cell; defined by the file that includes this one. */
void reproduce(void);

#define ibv_create_qp_ex(...)  cell_made(ibv_create_qp_ex(__VA_ARGS__))
#define ibv_wr_complete(...)   cell_said("ibv_wr_complete", ibv_wr_complete(__VA_ARGS__))
#define ibv_post_send(...)     cell_said("ibv_post_send", ibv_post_send(__VA_ARGS__))
#define ibv_post_recv(...)     cell_said("ibv_post_recv", ibv_post_recv(__VA_ARGS__))
#define ibv_post_srq_recv(...) cell_said("ibv_post_srq_recv", ibv_post_srq_recv(__VA_ARGS__))
#define rdma_post_writev(...)  cell_said("rdma_post_writev", rdma_post_writev(__VA_ARGS__))

#endif
