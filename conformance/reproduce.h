/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The names in the calls of a report. Pasted into a function of a program that defines these, the calls compile. */
#ifndef CONFORM_REPRODUCE_H
#define CONFORM_REPRODUCE_H

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>

extern struct ibv_context *ctx;
extern struct ibv_pd *pd;
extern struct ibv_qp *qp, *peer, *back; /* requester; responder; with XRC, the responder's own XRC_SEND QP */
extern struct ibv_qp *other;            /* a further one of the responder */
extern struct ibv_qp_ex *qpx;           /* ibv_qp_to_qp_ex(qp) */
extern struct ibv_cq *peer_cq;
extern struct ibv_srq *srq;
extern struct rdma_cm_id *id;

/* of the requester */
extern struct ibv_mr *mr;
extern struct ibv_mw *mw;
extern void *addr;
extern size_t length;
extern uint32_t lkey;
extern struct ibv_sge sg_list[];
extern struct ibv_data_buf buf_list[];
extern struct ibv_send_wr wr[], *bad_wr;
extern void *context;

/* of the responder */
extern struct ibv_ah *ah;
extern uint32_t remote_qpn, srqn, rkey;
extern uint64_t remote_addr;
extern struct ibv_recv_wr recv_wr[], *bad_recv_wr;
extern struct ibv_wc wc[];
extern struct ibv_grh *grh;
extern uint8_t port;

/* of atomics and of segmentation */
extern uint64_t compare, swap, add, value;
extern uint8_t hdr[];

#endif
