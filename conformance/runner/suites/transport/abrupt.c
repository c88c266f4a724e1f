/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A QP of the requester, connected to itself, is moved to RESET or ERR while its adapter fetches what was just posted. */
#include <errno.h>
#include <string.h>

#include "judge/watchdog.h"
#include "suites/objects/own.h"

#define MOST  40 /* requests of one life */
#define BYTES 96

struct life {
	struct kit *k;
	struct own o;
	struct ibv_mr *mr;
	uint8_t *mem; /* what is sent, and behind it what is written */
	unsigned int serial;
};

static uint8_t *target(const struct life *f, unsigned int i)
{
	return f->mem + (size_t)(MOST + i) * BYTES;
}

/* Signaled WRITEs and receives, as a list or one by one. All wr_ids of all lives are different. */
static bool post(struct life *f, unsigned int num, bool list)
{
	struct ibv_send_wr wr[MOST], *bad;
	struct ibv_recv_wr recv = {0}, *bad_recv;
	struct ibv_sge sge[MOST];
	int ret = 0;

	memset(f->mem, 0, (size_t)2 * MOST * BYTES);
	for (unsigned int i = 0; i < num; i++) {
		memset(f->mem + (size_t)i * BYTES, (int)(f->serial + i) % 255 + 1, BYTES);
		sge[i] = (struct ibv_sge){(uintptr_t)f->mem + (size_t)i * BYTES, BYTES, f->mr->lkey};
		wr[i] = kit_wr(f->serial + i, IBV_WR_RDMA_WRITE, &sge[i]);
		wr[i].wr.rdma.remote_addr = (uintptr_t)target(f, i);
		wr[i].wr.rdma.rkey = f->mr->rkey;
		wr[i].next = list && i + 1 < num ? &wr[i + 1] : NULL;
	}
	for (unsigned int i = 0; i < num && !ret; i++) {
		recv.wr_id = f->serial + i;
		ret = ibv_post_recv(f->o.qp, &recv, &bad_recv);
	}
	for (unsigned int i = 0; i < (list ? 1 : num) && !ret; i++)
		ret = ibv_post_send(f->o.qp, &wr[i], &bad);
	if (ret)
		KIT_FAULT(f->k, "posting failed with %s", errno_name(ret));
	return !ret;
}

static bool next(struct life *f, struct ibv_cq *cq, unsigned int i, struct ibv_wc *wc)
{
	const struct link l = {.dut = &f->k->r->dut, .cq = f->o.send_cq, .peer_cq = f->o.recv_cq};

	if (kit_wait(f->k, (struct link *)&l, cq, wc) &&
	    (wc->wr_id != f->serial + i || wc->qp_num != f->o.qp->qp_num))
		KIT_FAULT(f->k, "wr_id %llu, expected %u: not in the order of posting",
			  (unsigned long long)wc->wr_id, f->serial + i);
	return KIT_GOOD(f->k);
}

/* On UC a completion says nothing of the other side's memory. */
static bool reliable(const struct life *f)
{
	return f->k->cell->qpt != IBV_QPT_UC;
}

/* Requests were executed up to some point, and flushed behind it; all receives are flushed. */
static void flushed(struct life *f, unsigned int num)
{
	bool flush = false;
	struct ibv_wc wc;

	for (unsigned int i = 0; i < num; i++) {
		if (!next(f, f->o.send_cq, i, &wc))
			return;
		KIT_CHECK(f->k, wc.status == IBV_WC_WR_FLUSH_ERR || (!flush && !wc.status),
			  "request %u of %u ended with %s", i, num, value_name(status_names, wc.status));
		flush = wc.status;
		KIT_CHECK(f->k,
			  flush || !reliable(f) || !memcmp(target(f, i), f->mem + (size_t)i * BYTES, BYTES),
			  "request %u completed with success, and was not executed", i);
	}
	for (unsigned int i = 0; i < num; i++) {
		if (!next(f, f->o.recv_cq, i, &wc))
			return;
		KIT_CHECK(f->k, wc.status == IBV_WC_WR_FLUSH_ERR, "receive %u of %u ended with %s", i, num,
			  value_name(status_names, wc.status));
	}
}

static void silent(struct life *f, const char *when)
{
	struct ibv_wc wc;

	KIT_CHECK(f->k, !ibv_poll_cq(f->o.send_cq, 1, &wc) && !ibv_poll_cq(f->o.recv_cq, 1, &wc),
		  "a completion with wr_id %llu %s", (unsigned long long)wc.wr_id, when);
}

/* From RESET: everything is executed once, and nothing of the life before turns up. */
static void works(struct life *f, unsigned int num)
{
	struct ibv_wc wc;

	f->serial += MOST;
	if (!own_reach(f->k, &f->o, IBV_QPS_RTS) || !post(f, num, true))
		return;
	for (unsigned int i = 0; i < num; i++) {
		if (!next(f, f->o.send_cq, i, &wc))
			return;
		KIT_CHECK(f->k, !wc.status, "request %u after the change ended with %s", i,
			  value_name(status_names, wc.status));
	}
	KIT_CHECK(f->k, !reliable(f) || !memcmp(f->mem, target(f, 0), (size_t)num * BYTES),
		  "a request after the change wrote other bytes");
	silent(f, "after all requests were executed");
}

static void live(struct life *f, unsigned int num, bool list, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = {.qp_state = to};
	int ret;

	f->serial += MOST;
	if (!own_reach(f->k, &f->o, IBV_QPS_RTS) || !post(f, num, list))
		return;
	ret = own_modify(&f->o, &attr, IBV_QP_STATE);
	KIT_CHECK(f->k, !ret, "ibv_modify_qp to %s failed with %s", own_state(to), errno_name(ret));
	if (to == IBV_QPS_ERR)
		flushed(f, num);
	if (KIT_GOOD(f->k) && (to == IBV_QPS_RESET || own_reset(f->k, &f->o)))
		silent(f, "after the QP went to RESET");
	if (KIT_GOOD(f->k))
		works(f, 3);
	if (KIT_GOOD(f->k))
		own_reset(f->k, &f->o);
}

static void abrupt(struct kit *k)
{
	const enum ibv_qp_state to = kit_arg(k, "to", 0);
	struct ibv_pd *pd = k->r->dut.requester.pd;
	struct life f = {.k = k, .o = {.to_itself = true}};

	f.o.init.cap = (struct ibv_qp_cap){MOST, MOST, 1, 1, 0};
	f.mem = end_alloc(pd, (size_t)2 * MOST * BYTES);
	f.mr = f.mem ? ibv_reg_mr(pd, f.mem, (size_t)2 * MOST * BYTES,
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
		     : NULL;
	if (!f.mr)
		KIT_FAULT(k, "memory of the case: %s", errno_name(errno));
	else if (own_create(k, &f.o, k->cell->qpt))
		for (unsigned int turn = 0; turn < 12 && KIT_GOOD(k); turn++)
			live(&f, turn % 4 ? MOST - turn : turn + 1, turn & 1, to);
	own_destroy(&f.o);
	if (f.mr)
		ibv_dereg_mr(f.mr);
	end_free(f.mem);
}

const struct scenario abrupt_scenarios[] = {
	{"abrupt", abrupt},
	{NULL, NULL},
};
