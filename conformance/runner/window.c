/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <time.h>

#include "window.h"

static int wait_bound(struct ibv_cq *cq, unsigned int timeout_ms)
{
	struct timespec start, now;
	struct ibv_wc wc;
	int ret;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		ret = ibv_poll_cq(cq, 1, &wc);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (!ret && (now.tv_sec - start.tv_sec) * 1000u < timeout_ms);
	if (ret != 1)
		return ETIMEDOUT;
	return wc.status == IBV_WC_SUCCESS ? 0 : EPROTO;
}

int window_bind(struct link *l, struct log *log)
{
	bool peer = l->needs & NEED_PEER_WINDOW;
	struct arena *memory = peer ? &l->target : &l->local;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {.mw = l->mw,
			    .rkey = ibv_inc_rkey(l->mw->rkey),
			    .bind_info = {memory->mr, (uintptr_t)memory->base, memory->size,
					  IBV_ACCESS_REMOTE_WRITE}},
	};
	struct ibv_send_wr *bad;
	int ret;

	log_call(log, "ibv_post_send(%s, {IBV_WR_BIND_MW, mw})", peer ? "peer" : "qp");
	ret = ibv_post_send(peer ? l->peer : l->qp, &wr, &bad);
	if (!ret)
		ret = wait_bound(peer ? l->peer_cq : l->cq, l->dut->timeout_ms);
	if (!ret)
		l->mw->rkey = wr.bind_mw.rkey; /* the application's part with type 2 (ibv_bind_mw(3)) */
	return ret;
}
