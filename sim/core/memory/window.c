// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows (IBTA 10.6.7). A type 1 window can be bound again, and is unbound by a length of 0. A type 2 window
 * (2B) is bound by one QP, to which it then belongs, and must be invalidated before it can be bound again. Binds and
 * invalidations take effect when their work request is executed.
 *
 * Erratum XRC-WINDOW: an XRC_SEND QP receives no requests. A window that is bound there belongs only to the
 * protection domain, as the memory of an XRC request does (IBTA A14.5), and is accessed through XRC.
 */
#include "core/memory/memory.h"

#define WRITE_RIGHTS (HCASIM_ACCESS_REMOTE_WRITE | HCASIM_ACCESS_REMOTE_ATOMIC)

static void unbind(struct hca *hca, struct mr *mw)
{
	if (!mw->bound)
		return;
	hca->mr.mr[mw->region].windows--;
	if (mw->kind == KEY_MW2 && mw->qpn)
		list_del(&mw->on_qp);
	mw->bound = false;
	key_changed(hca, mw);
}

int hca_mw_create(struct hca *hca, uint32_t pdn, uint8_t type, uint32_t *rkey)
{
	struct mr *mw;

	if (type != 1 && type != 2)
		return -EINVAL;
	mw = key_new(hca, type == 1 ? KEY_MW1 : KEY_MW2, rkey);
	if (!mw)
		return -ENOMEM;
	mw->a.pdn = pdn;
	return 0;
}

int hca_mw_destroy(struct hca *hca, uint32_t rkey)
{
	uint32_t i = rkey >> 8;
	struct mr *mw = i < hca->mr.top ? &hca->mr.mr[i] : NULL;

	if (!mw || !mw->used || (mw->kind != KEY_MW1 && mw->kind != KEY_MW2))
		return -EINVAL;
	unbind(hca, mw);
	key_drop(hca, mw);
	return 0;
}

/* The window itself, and the rights that its type allows. */
static uint8_t check_window(const struct hca *hca, const struct qp *qp, const struct hca_wr *wr,
			    const struct mr *mw)
{
	const enum key_kind kind = wr->bind.type == 1 ? KEY_MW1 : KEY_MW2;

	if (!mw || mw->kind == KEY_MR || mw->kind == KEY_INDIRECT || (wr->bind.type && mw->kind != kind))
		return HCASIM_VENDOR_ERR_BAD_RKEY;
	if (mw->a.pdn != qp->c.pdn)
		return HCASIM_VENDOR_ERR_RKEY_PD;
	/* IBTA o10-37.2.30: a type 2 window must be free when it is bound. */
	if (mw->kind == KEY_MW2 && mw->bound)
		return HCASIM_VENDOR_ERR_BAD_RKEY;
	/* IBTA o10-36.2.2, o10-37.2.40. */
	if (mw->kind == KEY_MW1 ? wr->bind.access & HCASIM_ACCESS_ZERO_BASED : !wr->bind.length)
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	return HCASIM_VENDOR_ERR_NONE;
}

/* The region behind it (IBTA C10-73, C10-74, C10-75). */
static uint8_t check_region(const struct hca *hca, const struct qp *qp, const struct hca_wr *wr,
			    struct piece *piece)
{
	uint32_t need = HCASIM_ACCESS_MW_BIND;
	const struct mr *mr = key_find(hca, wr->bind.lkey);

	if (wr->bind.access & WRITE_RIGHTS)
		need |= HCASIM_ACCESS_LOCAL_WRITE;
	if (mr && mr->a.access & HCASIM_ACCESS_ZERO_BASED)
		return HCASIM_VENDOR_ERR_LKEY_ACCESS;
	return mr_check(hca, wr->bind.lkey, qp->c.pdn, wr->bind.addr, wr->bind.length, need, piece);
}

static void bind(struct hca *hca, struct qp *qp, const struct hca_wr *wr, struct mr *mw,
		 const struct piece *piece)
{
	struct mr *region = key_find(hca, wr->bind.lkey);

	mw->bound = true;
	mw->region = wr->bind.lkey >> 8;
	region->windows++;
	mw->a.access = wr->bind.access;
	mw->a.pasid = piece->pasid;
	mw->a.tph = piece->tph;
	mw->a.va = piece->addr;
	mw->a.iova = wr->bind.access & HCASIM_ACCESS_ZERO_BASED ? 0 : wr->bind.addr;
	mw->a.length = wr->bind.length;
	if (mw->kind != KEY_MW2)
		return;
	mw->qpn = qp_is_xrc(qp) ? 0 : qp->qpn;
	if (mw->qpn)
		list_add_tail(&qp->windows, &mw->on_qp);
}

static uint8_t execute_bind(struct hca *hca, struct qp *qp, const struct hca_wr *wr)
{
	struct mr *mw = key_find(hca, wr->bind.mw_rkey);
	uint8_t err = check_window(hca, qp, wr, mw);
	struct piece piece;

	if (!err && wr->bind.length)
		err = check_region(hca, qp, wr, &piece);
	if (err)
		return err;
	unbind(hca, mw);
	/* The consumer owns the low 8 bits of the key (IBTA 10.6.3); the other bits of the request are ignored. */
	mw->tag = wr->bind.new_rkey & 0xff;
	if (wr->bind.length)
		bind(hca, qp, wr, mw, &piece);
	return HCASIM_VENDOR_ERR_NONE;
}

uint8_t window_execute(struct hca *hca, struct qp *qp, const struct hca_wr *wr)
{
	uint8_t err;

	if (wr->op == HCASIM_WQE_OP_BIND_MW)
		return wr->bind.type == HCA_BIND_KEY ? indirect_execute(hca, qp, wr)
						     : execute_bind(hca, qp, wr);
	err = window_check_inv(hca, qp, wr->inv_rkey, false);
	if (!err)
		window_invalidate(hca, wr->inv_rkey);
	return err;
}

/* Erratum INV-WHAT. Invalidating what is free is allowed. */
uint8_t window_check_inv(const struct hca *hca, const struct qp *qp, uint32_t rkey, bool by_peer)
{
	const struct mr *mw = key_find(hca, rkey);

	if (!mw || (mw->kind != KEY_MW2 && mw->kind != KEY_INDIRECT))
		return HCASIM_VENDOR_ERR_BAD_RKEY;
	if (mw->kind == KEY_INDIRECT) {
		if (by_peer && !mw->remote_inv)
			return HCASIM_VENDOR_ERR_RKEY_ACCESS;
		return mw->a.pdn == qp->resp.pdn ? HCASIM_VENDOR_ERR_NONE : HCASIM_VENDOR_ERR_RKEY_PD;
	}
	if (mw->a.pdn != qp->resp.pdn || (mw->bound && !window_is_of(mw, qp)))
		return HCASIM_VENDOR_ERR_RKEY_PD;
	return HCASIM_VENDOR_ERR_NONE;
}

void window_invalidate(struct hca *hca, uint32_t rkey)
{
	struct mr *mr = key_find(hca, rkey);

	if (mr->kind == KEY_INDIRECT)
		indirect_unbind(hca, mr);
	else
		unbind(hca, mr);
}

/* Frees the windows bound by this QP: its number may be reused by another owner. */
void window_qp_gone(struct hca *hca, struct qp *qp)
{
	while (!list_empty(&qp->windows))
		unbind(hca, node_entry(qp->windows.next, struct mr, on_qp));
}
