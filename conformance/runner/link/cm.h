/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Two rdma_cm_id connected to each other; the server's is in this process or in the peer process. */
#ifndef CONFORM_CM_H
#define CONFORM_CM_H

#include <rdma/rdma_cma.h>

#include "link/dut.h"
#include "link/log.h"

struct cm {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *client, *server;
	bool no_resources;     /* set before cm_connect(): no READs and atomics */
	const char *step;      /* call or event that failed */
	struct ibv_qp_cap cap; /* as granted to the client */
	/* of the server */
	struct ibv_qp *peer;
	struct ibv_cq *peer_cq;
	struct ibv_pd *peer_pd;
};

/* The server's part, separate for the peer process: listens; accepts a request; waits for the established event. */
int cm_listen(struct cm *cm, const char *address, uint16_t *port);
int cm_accept(struct cm *cm, unsigned int timeout_ms);
int cm_established(struct cm *cm, unsigned int timeout_ms);

/* 0 or an errno. cm_close() may be called in both cases. */
int cm_open(struct cm *cm, const struct dut *dut, uint32_t sges, uint32_t inline_bytes, struct log *log);
/* The same in two steps: the client's id has its QP and is not connected yet; the connection. */
int cm_begin(struct cm *cm, const struct dut *dut, uint32_t sges, uint32_t inline_bytes, struct log *log);
int cm_connect(struct cm *cm, const struct dut *dut);
/* After cm_begin(), in one process: another client of the same listener, in place of the ids that there are. */
int cm_next(struct cm *cm, const struct dut *dut);
void cm_close(struct cm *cm);
/* A numeric address of a DUT file with port 0: 0 or an errno. */
int cm_address(const char *address, struct sockaddr_storage *sa);
socklen_t cm_address_length(const struct sockaddr_storage *sa);

#endif
