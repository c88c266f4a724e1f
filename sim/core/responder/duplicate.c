// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests that were executed before (IBTA 9.7.5.1.2): only READs are executed again. */
#include "core/memory/memory.h"
#include "core/memory/odp.h"
#include "core/responder/responder.h"

/* Nobody waits for the response: the requester has it, or has given up. */
static void unanswered(struct hca *hca, const struct qp *qp, const struct pkt_info *info)
{
	resp_dropped(hca, qp, info, HCASIM_COUNTER_REFUSED_DUPLICATE);
}

/* Drops waiting responses from here on: a requester that went back requests all of them again. */
static struct rop *duplicate_response(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	struct rop *r;

	rop_reads_again(hca, qp, info->psn);
	r = qp->resp.nduplicates > qp->a.max_dest_rd_atomic ? NULL : rop_get(hca);
	if (!r) {
		unanswered(hca, qp, info);
		return NULL;
	}
	r->duplicate = true;
	r->psn = info->psn;
	r->msn = qp->resp.msn;
	qp->resp.nduplicates++;
	return r;
}

static bool read_ok(const struct hca *hca, const struct qp *qp, const struct pkt_info *info)
{
	if (!(qp->a.access & HCASIM_ACCESS_REMOTE_READ) || info->dmalen > CORE_MSG_MAX ||
	    packets_of(info->dmalen, qp->mtu) > psn_sub(qp->resp.epsn, info->psn))
		return false;
	return !info->dmalen || !rkey_check(hca, qp, qp->resp.pdn, info->rkey, info->va, info->dmalen,
					    HCASIM_ACCESS_REMOTE_READ, NULL);
}

static void duplicate_read(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	struct rop *r;

	if (!read_ok(hca, qp, info)) {
		unanswered(hca, qp, info);
		return;
	}
	r = duplicate_response(hca, qp, info);
	if (!r)
		return;
	r->kind = ROP_READ;
	r->va = info->va;
	r->rkey = info->rkey;
	r->pdn = qp->resp.pdn;
	r->len = info->dmalen;
	r->npkts = packets_of(info->dmalen, qp->mtu);
	rop_accept(hca, qp, r);
}

static void duplicate_atomic(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	const struct atomic_result *saved = atomic_find(hca, qp, info->psn);
	struct rop *r;

	if (!saved) {
		unanswered(hca, qp, info);
		return;
	}
	r = duplicate_response(hca, qp, info);
	if (!r)
		return;
	r->kind = ROP_ATOMIC;
	r->orig = saved->orig;
	rop_accept(hca, qp, r);
}

/* It was executed the first time; its response comes after the first one, if that still waits. */
static void duplicate_answer(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	struct rop *r = duplicate_response(hca, qp, info);

	if (!r)
		return;
	r->kind = ROP_ANSWER;
	rop_accept(hca, qp, r);
}

void responder_duplicate(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	uint32_t f = info->op->flags;

	if (f & HCASIM_BTH_F_READ)
		duplicate_read(hca, qp, info);
	else if (f & HCASIM_BTH_F_ATOMIC)
		duplicate_atomic(hca, qp, info);
	else if (f & HCASIM_BTH_F_ANSWERED)
		duplicate_answer(hca, qp, info);
	else if (info->ackreq || f & HCASIM_BTH_F_END)
		resp_ack(hca, qp);
}
