// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Calls of the send engine's ops: doorbells, QP contexts, responses of peers; and its completions. */
#include "core/egress/egress.h"
#include "core/queues/queues.h"
#include "core/queues/tags.h"
#include "core/send/send.h"
#include "core/wire/frame.h"

bool send_create(struct hca *hca, uint32_t fetch_depth)
{
	const struct engine_config cfg = {.pers = hca->pers,
					  .fetch_depth = fetch_depth,
					  .queue_reads = hca->cfg.queue_reads,
					  .window = ENGINE_WINDOW};
	uint8_t port;

	hca->eng = hca->cfg.engine ? hca->cfg.engine : &c_engine;
	hca->engine = hca->eng->create(&cfg, &send_ports, hca);
	for (port = 1; hca->engine && port <= hca->cfg.num_ports; port++)
		hca->eng->port_set(hca->engine, port, 128u << hca->port[port - 1].active_mtu);
	return hca->engine;
}

void send_destroy(struct hca *hca)
{
	if (hca->engine)
		hca->eng->destroy(hca->engine);
	hca->engine = NULL;
}

/* ---- QP contexts ---- */

static void context_of(const struct hca *hca, const struct qp *qp, struct engine_qp *out)
{
	*out = (struct engine_qp){
		.type = qp->c.type,
		.state = qp->a.state,
		.ring = qp->c.sq,
		.pdn = qp->c.pdn,
		.max_inline = qp->c.max_inline,
		.mtu = qp->mtu,
		.port = qp->a.port,
		.timeout = qp->a.timeout,
		.retry_cnt = qp->a.retry_cnt,
		.rnr_retry = qp->a.rnr_retry,
		.max_rd_atomic = qp->a.max_rd_atomic,
		.qkey = qp->a.qkey,
		.dest_qpn = qp->a.dest_qpn,
		.udp_sport = qp->udp_sport,
		.av = qp->a.av,
		.paused = pace_waits(hca, qp, SCHED_REQUESTER),
	};
	if (hca->cfg.dcqcn.on) /* for frames that the engine makes */
		out->av.traffic_class = (uint8_t)((out->av.traffic_class & ~ECN_CE) | ECN_ECT0);
	if (!qp->rndv)
		return;
	out->ring = (struct hca_ring){HCA_PASID_DEVICE, 0, RNDV_BBS, qp->rndv->bb};
	out->pdn = qp->srq->pdn; /* of the tagged buffers */
	out->max_inline = sizeof(((struct rndv_req *)0)->hdr);
}

int send_qp_create(struct hca *hca, struct qp *qp)
{
	struct engine_qp ctx;

	context_of(hca, qp, &ctx);
	return hca->eng->qp_create(hca->engine, qp->qpn, &ctx);
}

void send_qp_set(struct hca *hca, struct qp *qp, uint32_t mask)
{
	struct engine_qp ctx;

	context_of(hca, qp, &ctx);
	ctx.set_state = mask & HCASIM_QP_ATTR_STATE;
	ctx.set_psn = mask & HCASIM_QP_ATTR_SQ_PSN;
	ctx.sq_psn = qp->a.sq_psn;
	qp->pace.pausing = ctx.paused;
	hca->eng->qp_set(hca->engine, qp->qpn, &ctx);
}

void send_changed(struct hca *hca, struct qp *qp)
{
	if (qp->pace.pausing != pace_waits(hca, qp, SCHED_REQUESTER))
		send_qp_set(hca, qp, 0);
}

void send_failed(struct hca *hca, struct qp *qp)
{
	hca->eng->error(hca->engine, qp->qpn);
}

/* ---- Doorbells ---- */

void send_posted(struct hca *hca, struct qp *qp, uint16_t pi)
{
	hca->eng->doorbell(hca->engine, qp->qpn, pi);
}

void send_pushed(struct hca *hca, struct qp *qp, uint16_t index, const void *wqe, uint32_t len)
{
	hca->eng->push(hca->engine, qp->qpn, index, wqe, len);
}

/* ---- Feedback ---- */

void send_response(struct hca *hca, struct qp *qp, struct rxwork *w)
{
	const struct pkt_info *info = &w->info;
	const struct engine_response r = {
		.psn = info->psn,
		.data = info->op->flags & (HCASIM_BTH_F_READ | HCASIM_BTH_F_ATOMIC),
		.atomic = info->op->flags & HCASIM_BTH_F_ATOMIC,
		.end = info->op->flags & HCASIM_BTH_F_END,
		.payload_len = info->payload_len,
		.aeth_kind = info->aeth_kind,
		.aeth_value = info->aeth_value,
	};

	if (r.aeth_kind == HCASIM_AETH_KIND_RNR)
		hca_count(hca, qp->a.port, HCASIM_COUNTER_RNR_NAK_RECEIVED);
	else if (r.aeth_kind == HCASIM_AETH_KIND_NAK && r.aeth_value == HCASIM_NAK_PSN_SEQ)
		hca_count(hca, qp->a.port, HCASIM_COUNTER_SEQ_NAK_RECEIVED);
	hca->feedback = w;
	hca->eng->response(hca->engine, qp->qpn, &r);
	hca->feedback = NULL;
}

/* ---- Completions ---- */

struct cq *send_next_cq(const struct hca *hca, const struct qp *qp)
{
	struct engine_completion c;

	if (!qp->rndv)
		return qp->send_cq;
	if (!hca->eng->completion(hca->engine, qp->qpn, &c) || c.wqe_op == HCASIM_WQE_OP_SEND)
		return NULL;
	return qp->srq->cq;
}

bool send_can_complete(const struct hca *hca, const struct qp *qp)
{
	const struct cq *cq;

	if (!qp->send_cq || !hca->eng->completion(hca->engine, qp->qpn, NULL))
		return false;
	cq = send_next_cq(hca, qp);
	return !cq || !cq->stalled;
}

static void count_failed(struct hca *hca, const struct qp *qp, uint8_t status)
{
	static const uint8_t counter[] = {
		[HCASIM_CQE_STATUS_WR_FLUSH_ERR] = HCASIM_COUNTER_REQ_CQE_FLUSH_ERROR,
		[HCASIM_CQE_STATUS_REM_INV_REQ_ERR] = HCASIM_COUNTER_REQ_REMOTE_INVALID_REQUEST,
		[HCASIM_CQE_STATUS_REM_ACCESS_ERR] = HCASIM_COUNTER_REQ_REMOTE_ACCESS_ERRORS,
		[HCASIM_CQE_STATUS_REM_OP_ERR] = HCASIM_COUNTER_REQ_REMOTE_OPERATION_ERRORS,
		[HCASIM_CQE_STATUS_RETRY_EXC_ERR] = HCASIM_COUNTER_REQ_TRANSPORT_RETRIES_EXCEEDED,
		[HCASIM_CQE_STATUS_RNR_RETRY_EXC_ERR] = HCASIM_COUNTER_REQ_RNR_RETRIES_EXCEEDED,
	};

	hca_count(hca, qp->a.port, HCASIM_COUNTER_REQ_CQE_ERROR);
	if (status < sizeof(counter) && counter[status])
		hca_count(hca, qp->a.port, counter[status]);
}

void send_complete(struct hca *hca, struct qp *qp)
{
	struct hca_cpl cpl = {
		.qpn = qp->qpn, .op = HCASIM_CQE_OP_REQ, .vlan = 0xffff, .timestamp = hca_now(hca)};
	struct engine_completion c;
	struct result *result;

	if (!hca->eng->completion(hca->engine, qp->qpn, &c))
		return;
	if (c.status) {
		count_failed(hca, qp, c.status);
		comp_cntr_failed(qp, c.wqe_index);
	}
	if (qp->rndv) {
		hca->eng->completion_taken(hca->engine, qp->qpn);
		rendezvous_completed(hca, qp, &c);
		return;
	}
	cpl.id = c.id;
	cpl.user_index = qp->c.user_index;
	cpl.wqe_op = c.wqe_op;
	cpl.num_bb = c.num_bb;
	cpl.wqe_index = c.wqe_index;
	cpl.status = c.status;
	cpl.vendor_err = c.vendor_err;
	cpl.byte_count = c.byte_count;
	queue_tell_consumed(hca, qp, &qp->c.sq, qp->c.record, (uint32_t)(uint16_t)(c.wqe_index + c.num_bb));
	result = result_of(qp, &c, &cpl);
	cq_write(hca, qp->send_cq, &cpl);
	result_free(result);
	hca->eng->completion_taken(hca->engine, qp->qpn);
}

/* ---- Stages ---- */

hca_ps send_since(const struct hca *hca, enum hca_stage stage, uint32_t qpn)
{
	return hca->eng->since ? hca->eng->since(hca->engine, stage, qpn) : 0;
}

bool hca_stage_counted(const struct hca *hca, enum hca_stage stage)
{
	const bool its_own = stage >= HCA_STAGE_FETCH && stage <= HCA_STAGE_PACKETISE;

	return hca->eng->cycles && (its_own || (stage == HCA_STAGE_TX && hca->eng->frame));
}

uint32_t hca_step_cycles(const struct hca *hca)
{
	return hca->step_cycles;
}

static void step(struct hca *hca, enum hca_stage stage)
{
	struct qp *qp = qp_find(hca, hca->eng->step(hca->engine, stage));

	if (hca->eng->cycles) /* before the engine does anything else */
		hca->step_cycles = hca->eng->cycles(hca->engine);
	if (qp)
		qp_update(hca, qp);
}

bool send_fetch_pending(const struct hca *hca, struct hca_work *w)
{
	return hca->eng->pending(hca->engine, HCA_STAGE_FETCH, w);
}

void send_fetch_step(struct hca *hca)
{
	step(hca, HCA_STAGE_FETCH);
}

bool send_decode_pending(const struct hca *hca, struct hca_work *w)
{
	return hca->eng->pending(hca->engine, HCA_STAGE_DECODE, w);
}

void send_decode_step(struct hca *hca)
{
	step(hca, HCA_STAGE_DECODE);
}

bool send_packetise_pending(const struct hca *hca, struct hca_work *w)
{
	return hca->eng->pending(hca->engine, HCA_STAGE_PACKETISE, w);
}

void send_packetise_step(struct hca *hca)
{
	step(hca, HCA_STAGE_PACKETISE);
}
