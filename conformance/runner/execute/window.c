/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <string.h>

#include "execute/collect.h"
#include "post/journal.h"
#include "judge/watchdog.h"
#include "remote/remote.h"
#include "execute/window.h"

#define PROBE_LEN  8
#define PROBE_LAST 0x77 /* differs from the bytes that memory is filled with before */

/* Waits for the next completion, with any status. */
static int wait_wc(struct ibv_cq *cq, unsigned int timeout_ms, struct ibv_wc *wc)
{
	struct watchdog p = watchdog(timeout_ms);
	int ret;

	do
		ret = ibv_poll_cq(cq, 1, wc);
	while (!ret && !watchdog_expired(&p) && !remote_broken());
	return ret == 1 ? 0 : ETIMEDOUT;
}

static int wait_bound(struct ibv_cq *cq, unsigned int timeout_ms)
{
	struct ibv_wc wc;
	int ret = wait_wc(cq, timeout_ms, &wc);

	return ret ? ret : wc.status == IBV_WC_SUCCESS ? 0 : EPROTO;
}

/* The QP to which requests on this QP are sent. */
static struct ibv_qp *remote_end(const struct link *l, const struct ibv_qp *qp)
{
	return qp == l->qp ? l->peer : qp == l->peer ? l->qp : l->back.peer;
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
	struct ibv_qp *qp = !peer ? l->qp : l->back.qp ? l->back.qp : l->peer;
	const char *mr = peer ? "remote_mr" : "mr";
	struct ibv_send_wr *bad;
	int ret;

	log_call(log,
		 "ibv_post_send(%s, &(struct ibv_send_wr){.opcode = IBV_WR_BIND_MW, .send_flags = "
		 "IBV_SEND_SIGNALED, "
		 ".bind_mw = {mw, ibv_inc_rkey(mw->rkey), {%s, (uintptr_t)%s->addr, %s->length, "
		 "IBV_ACCESS_REMOTE_WRITE}}}, &bad_wr)",
		 !peer        ? "qp"
		 : l->back.qp ? "back"
			      : "peer",
		 mr, mr, mr);
	log_call(log, peer ? "cell_wait(0, 1)" : "cell_wait(1, 0)");
	log_call(log, "mw->rkey = ibv_inc_rkey(mw->rkey)");
	ret = ibv_post_send(qp, &wr, &bad);
	journal_list(log, qp, remote_end(l, qp), &wr, ret, bad);
	if (!ret)
		ret = wait_bound(peer ? l->peer_cq : l->cq, l->dut->timeout_ms);
	if (!ret)
		l->mw->rkey = wr.bind_mw.rkey; /* done by the application for type 2 (ibv_bind_mw(3)) */
	return ret;
}

/* The two ends of a write through the window: `to` is memory of the side that owns the window. */
struct way {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct arena *from, *to;
	uint32_t srqn; /* XRC: names the protection domain of `to` */
};

static struct way way_in(struct link *l)
{
	if (l->needs & NEED_PEER_WINDOW)
		return (struct way){l->qp, l->cq, &l->local, &l->target, l->srqn};
	if (l->back.qp)
		return (struct way){l->back.qp, l->peer_cq, &l->target, &l->local, l->back.srqn};
	return (struct way){l->peer, l->peer_cq, &l->target, &l->local, 0};
}

static int write_through(struct link *l, const struct way *way, uint8_t *from, uint8_t *to, uint32_t rkey,
			 struct ibv_wc *wc, struct log *log)
{
	struct ibv_sge sge = {(uintptr_t)from, PROBE_LEN, way->from->mr->lkey};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = {(uintptr_t)to, rkey},
		.qp_type.xrc.remote_srqn = way->srqn,
	};
	struct ibv_send_wr *bad;
	int ret;

	end_push();
	ret = ibv_post_send(way->qp, &wr, &bad);
	journal_list(log, way->qp, remote_end(l, way->qp), &wr, ret, bad);
	return ret ? ret : wait_wc(way->cq, l->dut->timeout_ms, wc);
}

/* Writes through the region's own key: when these bytes have arrived, an earlier write would have arrived, too. */
static void wait_marker(struct link *l, const struct way *way, uint8_t *from, struct result *res)
{
	uint8_t *to = arena_take(way->to, PROBE_LEN);
	volatile uint8_t *last = to + PROBE_LEN - 1;
	struct watchdog p;
	struct ibv_wc wc;
	int ret;

	memcpy(arena_shadow(way->to, to), from, PROBE_LEN);
	ret = write_through(l, way, from, to, way->to->mr->rkey, &wc, &res->log);
	if (ret || wc.status != IBV_WC_SUCCESS) {
		fault(&res->verdict, "a write through the memory region after that of the window: %s",
		      ret ? errno_name(ret) : value_name(status_names, wc.status));
		return;
	}
	p = watchdog(l->dut->timeout_ms);
	do
		end_sync();
	while (*last != from[PROBE_LEN - 1] && !watchdog_expired(&p));
}

void window_probe(struct link *l, uint32_t rkey, bool open, struct result *res)
{
	enum ibv_wc_status want = open || l->qpt == IBV_QPT_UC ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;
	struct way way = way_in(l);
	uint8_t *from = arena_take(way.from, PROBE_LEN), *to = arena_take(way.to, PROBE_LEN);
	struct ibv_wc wc;
	int ret;

	arena_fill(way.from, from, PROBE_LEN, rkey);
	from[PROBE_LEN - 1] = PROBE_LAST;
	arena_shadow(way.from, from)[PROBE_LEN - 1] = PROBE_LAST;
	if (open)
		memcpy(arena_shadow(way.to, to), from, PROBE_LEN);
	log_call(&res->log, "/* an RDMA WRITE with the rkey of the window: must %s */",
		 open ? "arrive" : "be refused");
	ret = write_through(l, &way, from, to, rkey, &wc, &res->log);
	if (ret || wc.status != want)
		fault(&res->verdict, "an RDMA WRITE through the window: %s, expected %s",
		      ret ? errno_name(ret) : value_name(status_names, wc.status),
		      value_name(status_names, want));
	else if (want == IBV_WC_SUCCESS)
		wait_marker(l, &way, from, res);
}
