/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Two rdma_cm_id connected to each other inside this process. */
#ifndef CONFORM_CM_H
#define CONFORM_CM_H

#include <rdma/rdma_cma.h>

#include "dut.h"
#include "log.h"

struct cm {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *client, *server;
	const char *step;      /* call or event that failed */
	struct ibv_qp_cap cap; /* as granted to the client */
};

/* 0 or an errno. cm_close() works in any case. */
int cm_open(struct cm *cm, const struct dut *dut, uint32_t sges, uint32_t inline_bytes, struct log *log);
void cm_close(struct cm *cm);

#endif
