/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Fenced binds and invalidations: before the READ in front of them is answered, the window is as it was. */
#include <errno.h>
#include <string.h>

#include "suites/answers/responder.h"

#define BYTES 24
#define PLACE 6144 /* of the window in the region, behind the slots of the requests */

struct fence {
	struct responder p;
	struct ibv_mr *mr; /* the region, open for windows */
	struct ibv_mw *mw;
	uint32_t rkey; /* of the last bind */
};

static bool bind(struct fence *f, unsigned int flags)
{
	struct ibv_send_wr wr = kit_wr(0, IBV_WR_BIND_MW, NULL);
	bool good;

	f->rkey = ibv_inc_rkey(f->rkey);
	wr.send_flags = flags;
	wr.bind_mw.mw = f->mw;
	wr.bind_mw.rkey = f->rkey;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){f->mr, (uintptr_t)f->p.t.mem + PLACE, 2048,
							 IBV_ACCESS_REMOTE_WRITE};
	good = rsp_local(&f->p, &wr);
	f->mw->rkey = f->rkey; /* of a window of type 2 the program keeps the key */
	return good;
}

static bool invalidate(struct fence *f, unsigned int flags)
{
	struct ibv_send_wr wr = kit_wr(0, IBV_WR_LOCAL_INV, NULL);

	wr.send_flags = flags;
	wr.invalidate_rkey = f->rkey;
	return rsp_local(&f->p, &wr);
}

/* A WRITE through the window, made by hand: it must be executed, or refused. */
static bool write_window(struct fence *f, bool open)
{
	struct packet_qp *t = &f->p.t;
	struct packet w = pqp_packet(t, HCASIM_BTH_CODE_RDMA_WRITE_ONLY, BYTES);

	w.va = (uintptr_t)t->mem + PLACE + 100;
	w.rkey = f->rkey;
	if (!pqp_send(t, &w))
		return false;
	if (!open)
		return pqp_nak(t, HCASIM_NAK_REM_ACCESS, w.psn);
	memcpy(t->want + PLACE + 100, t->data, BYTES);
	t->msn++;
	return pqp_ack(t, w.psn);
}

static const struct ibv_qp_attr attr = {.max_rd_atomic = 2};

/* Requests are numbered: 0 the bind, 1 the READ, 2 the invalidation, 3 the bind after it. */
static bool inv_waits(struct fence *f, uint32_t psn, unsigned int fenced)
{
	struct responder *p = &f->p;

	return rsp_up(p, psn, &attr) && bind(f, IBV_SEND_SIGNALED) && DONE(p, 0) &&
	       POST(p, RDMA_READ, 0, 600) && rsp_packets(p, 1, 0, 1) && invalidate(f, fenced) &&
	       rsp_quiet(p) && write_window(f, true) && rsp_read(p, 1, 0, 0) && rsp_quiet(p) &&
	       write_window(f, true) && rsp_reads(p, 1, 0, 1, 2) && DONE(p, 1) && DONE(p, 2) &&
	       bind(f, fenced) && DONE(p, 3) && write_window(f, true) && invalidate(f, IBV_SEND_SIGNALED) &&
	       DONE(p, 4) && write_window(f, false);
}

/* The new key works only behind the READ; a WRITE that is refused ends the QP. */
static bool bind_waits(struct fence *f, uint32_t psn, unsigned int fenced)
{
	struct responder *p = &f->p;

	return rsp_up(p, psn, &attr) && POST(p, RDMA_READ, 0, 600) && rsp_packets(p, 0, 0, 0) &&
	       bind(f, fenced) && rsp_quiet(p) && rsp_reads(p, 0, 0, 0, 2) && DONE(p, 0) && DONE(p, 1) &&
	       write_window(f, true) && invalidate(f, IBV_SEND_SIGNALED) && DONE(p, 2) &&
	       rsp_up(p, psn + 77, &attr) && POST(p, ATOMIC_FETCH_AND_ADD, 1, 8) && rsp_packets(p, 0, 0, 0) &&
	       bind(f, fenced) && rsp_quiet(p) && write_window(f, false);
}

/* A request without FENCE does not wait for the READ, though a bind is between them. */
static bool passes(struct fence *f, uint32_t psn)
{
	struct responder *p = &f->p;

	return rsp_up(p, psn, &attr) && POST(p, RDMA_READ, 0, 600) && bind(f, IBV_SEND_SIGNALED) &&
	       POST(p, SEND, 1, 20) && rsp_packet(p, 0, 0) && rsp_packet(p, 2, 0) && rsp_quiet(p) &&
	       rsp_reads(p, 0, 0, 0, 2) && DONE(p, 0) && DONE(p, 1) && rsp_ack(p, 2, 0) && DONE(p, 2) &&
	       invalidate(f, IBV_SEND_SIGNALED) && DONE(p, 3);
}

static bool open_window(struct fence *f)
{
	struct packet_qp *t = &f->p.t;

	f->mw = ibv_alloc_mw(t->qp->pd, IBV_MW_TYPE_2);
	f->mr = ibv_reg_mr(t->qp->pd, t->mem, PQP_SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	if (!f->mw || !f->mr)
		KIT_FAULT(t->k, "window or region of the case: %s", errno_name(errno));
	else
		f->rkey = f->mw->rkey;
	return KIT_GOOD(t->k);
}

static void answers_fences(struct kit *k)
{
	const unsigned int fenced = IBV_SEND_SIGNALED | (kit_arg(k, "fence", 1) ? IBV_SEND_FENCE : 0);
	static struct fence f;

	f = (struct fence){};
	if (rsp_open(k, &f.p) && open_window(&f) && passes(&f, 0xfffffe) && inv_waits(&f, 0xfffffd, fenced) &&
	    bind_waits(&f, 0x123456, fenced))
		pqp_judge_memory(&f.p.t);
}

SCENARIO(answers_fences) = {
	{"fences", SUITE("answers"), QPS("RC"), ARGS({"more", 0}, {"fence", 1}),
	 CLAUSE("ibv_post_send/DESCRIPTION/send_flags/IBV_SEND_FENCE"), LEVEL("SHOULD"),
	 ERRATA("ANSWER INV-WHAT"), NEEDS("operations/RAW_PACKET operations/UC memory_windows/2"),
	 SAYS("a fenced LOCAL_INV or BIND_MW waits for the answers of READs and atomics before it: "
	      "until then the window is as it was")},
	{},
};
