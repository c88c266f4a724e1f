// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Page faults of a responder: the peer repeats the request (RNR NAK), or, unreliable, loses a message. */
#include "core/queues/page_request.h"
#include "core/responder/responder.h"

static void receive_answered(struct hca *hca, struct page_request *r, bool mapped)
{
	const struct fault f = {.psn = r->psn,
				.reason = HCASIM_COUNTER_REFUSED_MEMORY,
				.nak = HCASIM_NAK_REM_OP,
				.status = HCASIM_CQE_STATUS_LOC_PROT_ERR,
				.vendor = HCASIM_VENDOR_ERR_DMA_FAULT,
				.event = HCASIM_EQE_TYPE_QP_FATAL};
	struct qp *qp = r->qp;

	qp->resp.paging = false;
	if (!mapped && qp->a.state != HCASIM_QPS_ERR)
		resp_fatal(hca, qp, &f);
}

static void remote_answered(struct hca *hca, struct page_request *r, bool mapped)
{
	const struct fault f = {.psn = r->psn,
				.reason = HCASIM_COUNTER_REFUSED_MEMORY,
				.nak = HCASIM_NAK_REM_ACCESS,
				.event = HCASIM_EQE_TYPE_QP_ACCESS_ERR};
	struct qp *qp = r->qp;

	qp->resp.paging = false;
	if (!mapped && qp->a.state != HCASIM_QPS_ERR && qp_reliable(qp))
		resp_fatal(hca, qp, &f);
}

static const struct page_owner receive_owner = {.answered = receive_answered};
static const struct page_owner remote_owner = {.answered = remote_answered};

/*
 * The length of a message is known only with its last packet: request the pages needed now, and the rest of the WQE
 * if mapped.
 */
static void request_receive(struct hca *hca, struct qp *qp, uint32_t psn, uint64_t off, uint32_t len)
{
	const struct hca_rwr *wr = &qp->rq.rwr;
	struct page_request *r;

	if (qp->resp.paging)
		return;
	r = page_request_new(hca, qp, &receive_owner, 2 * wr->num_sge);
	if (!r)
		return; /* the packet is repeated, and so is the fault */
	r->psn = psn;
	page_request_add_sges(hca, r, wr->sge, wr->num_sge, off, len, true, false);
	page_request_add_sges(hca, r, wr->sge, wr->num_sge, off + len, UINT64_MAX, true, true);
	qp->resp.paging = true;
	page_request_go(hca, r);
}

/* The WQE completes for the driver's library, which posts it again. */
static bool completes(const struct hca *hca, const struct qp *qp, const struct pkt_info *info)
{
	return qp->resp.paging && hca->pers->srq_fault_completes && qp_reliable(qp) && qp->resp.srq &&
	       info->op->flags & HCASIM_BTH_F_START;
}

enum verdict page_fault_receive(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint64_t off,
				uint32_t len)
{
	request_receive(hca, qp, info->psn, off, len);
	if (completes(hca, qp, info)) {
		rop_recv_error(hca, qp, HCASIM_CQE_STATUS_REM_ABORT_ERR, HCASIM_VENDOR_ERR_PAGE_FAULT);
		rop_land(hca, qp);
	}
	resp_not_ready(hca, qp, info, HCASIM_COUNTER_REFUSED_PAGES);
	return V_REFUSED;
}

/* Another WQE would meet the same fate, or another fault. */
bool page_fault_waits(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	if (qp->rq.active || !completes(hca, qp, info))
		return false;
	resp_not_ready(hca, qp, info, HCASIM_COUNTER_REFUSED_PAGES);
	return true;
}

void page_fault_remote(struct hca *hca, struct qp *qp, uint32_t psn, uint32_t rkey, uint64_t addr,
		       uint64_t len, bool write)
{
	struct page_request *r;

	if (qp->resp.paging)
		return;
	r = page_request_new(hca, qp, &remote_owner, 1);
	if (!r)
		return;
	r->psn = psn;
	page_request_add(hca, r, rkey, addr, len, write, false);
	qp->resp.paging = true;
	page_request_go(hca, r);
}
