// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages to a QP with tag matching (rdma-core, Documentation/tag_matching.md). The headers are in the first packet:
 * no MTU is shorter than both. Of an eager message that matches, the data behind its header goes to the tagged
 * buffer. Of a rendezvous request that matches nothing is placed, and an RDMA READ fetches the data
 * (send/rendezvous.c), unless the data does not fit, or the send queue is the software's: then both headers are placed,
 * and software goes on. Everything else goes complete to a receive WQE.
 */
#include "core/queues/queues.h"
#include "core/queues/tags.h"
#include "core/responder/responder.h"

#define BOTH_HEADERS (sizeof(struct hcasim_tmh) + sizeof(struct hcasim_rvh))

static bool has_tags(const struct qp *qp)
{
	return qp->resp.srq && qp->resp.srq->tags;
}

/*
 * True: the message takes part in matching. A message that is too short for its headers, or a rendezvous request that
 * is too long, has no valid tag: software gets it like one without a tag.
 */
static bool parse(const struct rxwork *w, struct hcasim_tmh *tmh, struct hcasim_rvh *rvh)
{
	const uint8_t *data = w->pkt->data + w->info.payload_off;
	uint32_t len = w->info.payload_len;

	if (len < sizeof(*tmh))
		return false;
	memcpy(tmh, data, sizeof(*tmh));
	if (tmh->opcode == HCASIM_TMH_OP_EAGER)
		return true;
	if (tmh->opcode != HCASIM_TMH_OP_RNDV || !(w->info.op->flags & HCASIM_BTH_F_ONLY) ||
	    len < BOTH_HEADERS || len > HCASIM_TM_MAX_RNDV_HDR)
		return false;
	memcpy(rvh, data + sizeof(*tmh), sizeof(*rvh));
	return true;
}

static void take_entry(struct qp *qp, const struct tag_entry *e, const struct hcasim_tmh *tmh)
{
	struct rq *rq = &qp->rq;

	rq->rwr = (struct hca_rwr){.length = e->length, .num_sge = e->num_sge, .sge = rq->sge};
	memcpy(rq->sge, e->sge, sizeof(e->sge));
	rq->cpl = (struct hca_cpl){
		.qpn = qp->qpn,
		.op = HCASIM_CQE_OP_TM_RECV,
		.wqe_index = e->handle,
		.tm_handle = true,
		.srqn = qp->resp.srq->number,
		.vlan = 0xffff,
		.tm_tag = be64toh(tmh->tag),
		.tm_priv = be32toh(tmh->app_ctx),
	};
	rq->srq = qp->resp.srq;
	rq->srq->refs++;
	rq->active = true;
	rq->looked = false;
	rq->bad = 0;
}

void tagged_begin(struct qp *qp, const struct rxwork *w)
{
	struct hcasim_rvh rvh = {0};
	struct hcasim_tmh tmh;
	struct tag_entry *e;

	if (!has_tags(qp) || qp->rq.active || qp->resp.srq->error || !parse(w, &tmh, &rvh))
		return;
	e = tags_match(qp->resp.srq->tags, be64toh(tmh.tag));
	if (!e)
		return;
	take_entry(qp, e, &tmh);
	qp->rq.rndv = tmh.opcode == HCASIM_TMH_OP_RNDV;
	qp->rq.incomplete = qp->rq.rndv && (!qp->rndv || be32toh(rvh.len) > e->length);
}

/* Only once: a packet that waits for pages of its receive WQE comes again. */
void tagged_not_matched(struct qp *qp, const struct rxwork *w)
{
	struct hca_cpl *cpl = &qp->rq.cpl;
	struct hcasim_rvh rvh;
	struct hcasim_tmh tmh;

	if (!has_tags(qp) || cpl->op != HCASIM_CQE_OP_RECV)
		return;
	cpl->op = HCASIM_CQE_OP_TM_NO_TAG;
	if (!parse(w, &tmh, &rvh))
		return;
	cpl->op = HCASIM_CQE_OP_TM_RECV;
	cpl->tm_sync = tags_unexpected(qp->resp.srq->tags);
}

void tagged_payload(const struct qp *qp, const struct pkt_info *info, uint32_t *off, uint32_t *len)
{
	*off = info->payload_off;
	*len = info->payload_len;
	if (!qp->rq.cpl.tm_handle || !(info->op->flags & HCASIM_BTH_F_START))
		return;
	if (qp->rq.rndv) {
		*len = qp->rq.incomplete ? BOTH_HEADERS : 0;
	} else {
		*off += sizeof(struct hcasim_tmh);
		*len -= sizeof(struct hcasim_tmh);
	}
}

static struct rndv_req *request_new(const struct rq *rq, const struct rxwork *w)
{
	struct rndv_req *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	memcpy(&q->hdr, w->pkt->data + w->info.payload_off, sizeof(q->hdr));
	memcpy(q->sge, rq->sge, sizeof(q->sge));
	q->num_sge = rq->rwr.num_sge;
	q->cpl = rq->cpl;
	q->cpl.tm_tag = q->cpl.tm_priv = 0;
	q->srq = rq->srq;
	q->srq->refs++;
	return q;
}

/*
 * A match is reported at once, with the tag; where the data is in memory only later, a second completion says so. The
 * flags of the two are those of tag_matching.md, "TM completion processing".
 */
bool tagged_accept(struct qp *qp, const struct rxwork *w, struct rop *r)
{
	const uint32_t f = w->info.op->flags;

	if (!qp->rq.cpl.tm_handle)
		return true;
	if (f & HCASIM_BTH_F_START && !r->has_cpl) {
		rop_completes(r, qp, &w->info, 0);
		r->cpl.tm_match = true;
		return true;
	}
	r->cpl.tm_match = f & HCASIM_BTH_F_START;
	r->cpl.tm_data = f & HCASIM_BTH_F_END;
	if (!r->cpl.tm_match)
		r->cpl.tm_tag = r->cpl.tm_priv = 0;
	if (qp->rq.incomplete)
		r->cpl.status = HCASIM_CQE_STATUS_TM_RNDV_INCOMPLETE;
	if (!qp->rq.rndv || qp->rq.incomplete)
		return true;
	r->cpl.tm_data = false;
	r->rndv = request_new(&qp->rq, w);
	return r->rndv;
}
