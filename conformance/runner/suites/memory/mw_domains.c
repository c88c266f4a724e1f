/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Windows of protection domains that are older and newer than that of the QP, and of QPs that are older and newer. */
#include <errno.h>
#include <string.h>

#include "suites/memory/mw_kit.h"
#include "suites/objects/own.h"

#define PDS  3 /* the QP's is the second */
#define SIZE 4096u

struct domains {
	struct kit *k;
	struct own own;
	struct ibv_pd *pd[PDS];
	struct ibv_mw *mw[PDS];
	uint8_t *mem;
	struct ibv_mr *mr; /* of the QP's domain */
};

static bool set_up(struct domains *d)
{
	const struct end *end = &d->k->r->dut.requester;

	for (unsigned int i = 0; i < PDS; i++) {
		d->pd[i] = ibv_alloc_pd(end->ctx);
		d->mw[i] = d->pd[i] ? ibv_alloc_mw(d->pd[i], IBV_MW_TYPE_2) : NULL;
		if (!KIT_MUST(d->k, d->mw[i], "a protection domain and its window: %s", errno_name(errno)))
			return false;
	}
	d->mem = end_alloc(end->pd, SIZE);
	d->mr = d->mem ? ibv_reg_mr(d->pd[1], d->mem, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)
		       : NULL;
	if (!d->mr)
		KIT_FAULT(d->k, "ibv_reg_mr failed with %s", errno_name(errno));
	d->own.to_itself = true;
	d->own.init.pd = d->pd[1];
	return d->mr && own_create(d->k, &d->own, IBV_QPT_RC);
}

/* A bind or an invalidation of the window: carried out if it is of the QP's domain, otherwise refused or in error. */
static void use(struct domains *d, unsigned int i, enum ibv_wr_opcode op)
{
	struct ibv_send_wr wr = kit_wr(0xb1 + i, op, NULL), *bad;
	struct ibv_wc wc = {0};
	int ret;

	if (!own_reach(d->k, &d->own, IBV_QPS_RTS))
		return;
	if (op == IBV_WR_BIND_MW) {
		wr.bind_mw.mw = d->mw[i];
		wr.bind_mw.rkey = ibv_inc_rkey(d->mw[i]->rkey);
		wr.bind_mw.bind_info =
			(struct ibv_mw_bind_info){d->mr, (uintptr_t)d->mem, SIZE, IBV_ACCESS_REMOTE_READ};
	} else {
		wr.invalidate_rkey = d->mw[i]->rkey;
	}
	ret = ibv_post_send(d->own.qp, &wr, &bad);
	KIT_CHECK(d->k, !ret || i != 1, "a request of the QP's own domain was refused with %s",
		  errno_name(ret));
	if (!ret && !own_wait(d->k, &d->own, d->own.send_cq, &wc))
		return;
	KIT_CHECK(d->k, ret || wc.status == (i == 1 ? IBV_WC_SUCCESS : d->k->cell->status),
		  "%s of a window of %s protection domain: status %s",
		  op == IBV_WR_BIND_MW ? "a bind" : "an invalidation",
		  i == 1 ? "the QP's" : (i ? "a newer" : "an older"), value_name(status_names, wc.status));
	own_reset(d->k, &d->own);
}

static void mw_other_domains(struct kit *k)
{
	struct domains d = {.k = k};

	if (set_up(&d)) {
		for (unsigned int i = 0; i < PDS && KIT_GOOD(k); i++)
			use(&d, i, IBV_WR_LOCAL_INV); /* a free window may be invalidated */
		for (unsigned int i = 0; i < PDS && KIT_GOOD(k); i++)
			use(&d, i, IBV_WR_BIND_MW);
	}
}

SCENARIO(mw_other_domains) = {
	{"other-domains", SUITE("mw"), QPS("RC"), CLAUSE("ibv_alloc_mw/DESCRIPTION/bound"),
	 ERRATA("MW-RIGHTS INV-WHAT"), STATUS("MW_BIND_ERR"),
	 NEEDS("memory_windows/2 operations/{qp}/LOCAL_INV operations/{qp}/BIND_MW"),
	 SAYS("windows of an older and of a newer protection domain than the QP's are not bound, and "
	      "not invalidated")},
	{},
};

/* The window is bound by the newer of two QPs: the older one has no access. */
static void mw_newer_qp(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct link other = {0}, *own = k->l;
	struct bind b;

	if (mw && kit_link_second(k, &other, API_POST, &mw_link)) {
		arena_reset(&other.local);
		k->l = &other;
		b = mw_usual(k->l);
		if (mw_bind(k, mw, &b) && mw_opens(k, mw)) {
			arena_reset(&own->local);
			if (k->r->dut.responder.attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B)
				mw_probe_on(k, own, IBV_WR_RDMA_WRITE, mw->rkey, MW_START, k->cell->status);
			else
				seen(k->res, "windows are not of type 2B; ");
		}
		k->l = own;
	}
	mw_free(k, mw); /* before its QP: destroyed-qp has a window that is still bound then */
}

SCENARIO(mw_newer_qp) = {
	{"newer-qp", SUITE("mw"), QPS("RC"), CLAUSE("ibv_alloc_mw/DESCRIPTION/bound"), ERRATA("MW-REBIND"),
	 STATUS("REM_ACCESS_ERR"), NEEDS("memory_windows/2"),
	 SAYS("an access through the window completes with IBV_WC_REM_ACCESS_ERR")},
	{"newer-qp", QPS("UC"),
	 SAYS("a write through the window changes no byte; on UC the requester is not told")},
	{},
};
