/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The XRC ends of a link. */
#ifndef CONFORM_LINK_XRC_H
#define CONFORM_LINK_XRC_H

#include "link/link.h"

/* An XRC domain of no file, an SRQ of one, and a QP that receives. NULL: failed, errno is set. */
struct ibv_xrcd *link_xrcd(struct ibv_context *ctx);
struct ibv_srq *link_xrc_srq(struct ibv_pd *pd, struct ibv_xrcd *xrcd, struct ibv_cq *cq,
			     struct ibv_srq_attr *attr);
struct ibv_qp *link_xrc_recv(struct ibv_xrcd *xrcd);

/*
 * SRQ and XRC_RECV QP of the peer. If a window is needed, also a pair in the reverse direction: the responder
 * binds on it, and reaches the requester's window through it. 0 or an errno; sets l->step.
 */
int link_xrc_create(struct link *l);
/* Destroys the pair in the reverse direction. */
void link_xrc_destroy(struct link *l);

#endif
