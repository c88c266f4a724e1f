// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Atomics at the responder: one at a time in the adapter, each a read and a write of host memory, so that all atomics
 * of this adapter are atomic to each other (IBV_ATOMIC_HCA). The next one reads as soon as the write of the last is on
 * its way, which a read does not pass; the response waits until it has landed. Results are kept for as many requests as may be
 * outstanding, to answer duplicates.
 */
#include "core/memory/memory.h"
#include "core/responder/responder.h"

static void save(struct hca *hca, struct qp *qp, uint32_t psn, uint64_t orig)
{
	struct resp *resp = &qp->resp;

	resp->saved[resp->saved_pos] = (struct atomic_result){.psn = psn, .valid = true, .orig = orig};
	resp->saved_pos = (resp->saved_pos + 1) % hca->cfg.max_rd_atomic;
}

const struct atomic_result *atomic_find(const struct hca *hca, const struct qp *qp, uint32_t psn)
{
	uint32_t i;

	for (i = 0; qp->resp.saved && i < hca->cfg.max_rd_atomic; i++)
		if (qp->resp.saved[i].valid && qp->resp.saved[i].psn == psn)
			return &qp->resp.saved[i];
	return NULL;
}

static void owner_done(struct hca *hca, struct qp *qp)
{
	hca->atomic_owner = NULL;
	qp_put(hca, qp);
	atomic_next(hca);
}

static void atomic_failed(struct hca *hca, struct qp *qp, struct rop *r, uint8_t reason)
{
	const struct fault f = {.psn = r->psn,
				.reason = reason,
				.nak = HCASIM_NAK_REM_ACCESS,
				.event = HCASIM_EQE_TYPE_QP_ACCESS_ERR};

	qp->resp.nreads--;
	qp->resp.busy = false;
	qp->atomic = NULL;
	rop_put(hca, r);
	if (qp->a.state != HCASIM_QPS_ERR)
		resp_fatal(hca, qp, &f);
	qp_update(hca, qp);
}

static void have_read(struct hca *hca, struct dma_ctx *c, bool stale)
{
	struct qp *qp = c->qp;
	struct rop *r = qp->atomic;
	struct dma_ctx *w = NULL;
	uint64_t v;

	if (!stale && r && !c->d.status)
		w = dma_get(hca, qp, HCA_DMA_ATOMIC, true);
	if (!w) {
		if (!stale && r)
			atomic_failed(hca, qp, r, HCASIM_COUNTER_REFUSED_MEMORY);
		owner_done(hca, qp);
		return;
	}
	memcpy(&v, c->buf, sizeof(v));
	r->orig = le64toh(v);
	if (qp->atomic_add)
		v = r->orig + qp->atomic_swap;
	else
		v = r->orig == qp->atomic_compare ? qp->atomic_swap : r->orig;
	v = htole64(v);
	memcpy(w->buf, &v, sizeof(v));
	w->fn = rop_written;
	w->rop = r;
	w->d.tph = c->d.tph;
	w->few[0].key = c->few[0].key;
	r->dma_pending = 1;
	hca->rx_writes++;
	dma_one(hca, w, c->d.pasid, c->d.seg[0].addr, w->buf, sizeof(v));
	save(hca, qp, r->psn, r->orig);
	qp->resp.busy = false;
	qp->atomic = NULL;
	rop_accept(hca, qp, r);
	owner_done(hca, qp);
}

/* Starts the next QP's atomic, if none is active. */
void atomic_next(struct hca *hca)
{
	while (!hca->atomic_owner && !list_empty(&hca->atomic_qps)) {
		struct qp *qp = node_entry(hca->atomic_qps.next, struct qp, on_atomic);
		struct rop *r = qp->atomic;
		struct dma_ctx *c;
		struct piece p;

		list_del(&qp->on_atomic);
		if (rkey_check(hca, qp, r->pdn, r->rkey, r->va, 8, HCASIM_ACCESS_REMOTE_ATOMIC, &p) ||
		    key_expand_one(hca, &p)) {
			atomic_failed(hca, qp, r, HCASIM_COUNTER_REFUSED_RKEY);
			continue;
		}
		c = dma_get(hca, qp, HCA_DMA_ATOMIC, false);
		if (!c) {
			atomic_failed(hca, qp, r, HCASIM_COUNTER_REFUSED_MEMORY);
			continue;
		}
		hca->atomic_owner = qp;
		qp_get(qp);
		c->fn = have_read;
		c->d.tph = p.tph;
		c->few[0].key = p.key;
		dma_one(hca, c, p.pasid, p.addr, c->buf, 8);
	}
}

void atomic_start(struct hca *hca, struct qp *qp, const struct pkt_info *info, struct rop *r)
{
	r->kind = ROP_ATOMIC;
	r->va = info->va;
	r->rkey = info->rkey;
	r->pdn = qp->resp.pdn;
	qp->atomic = r;
	qp->atomic_add = (info->op->op & HCASIM_BTH_CODE_MASK) == HCASIM_BTH_OP_RC_FETCH_ADD;
	qp->atomic_swap = info->swap_add;
	qp->atomic_compare = info->compare;
	qp->resp.busy = true;
	list_add_tail(&hca->atomic_qps, &qp->on_atomic);
	atomic_next(hca);
}

/* RESET, destroy: a pending atomic is completed in host memory, but not answered. */
void atomic_forget(struct hca *hca, struct qp *qp)
{
	list_set(&hca->atomic_qps, &qp->on_atomic, false);
	if (qp->atomic)
		rop_put(hca, qp->atomic);
	qp->atomic = NULL;
	qp->resp.busy = false;
}
