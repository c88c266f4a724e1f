// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For observers: what a step is about, why work waits, and how full the queues are. Nothing here changes what the
 * adapter does, and nothing here runs without an observer.
 */
#include "core/base/base.h"

/* ---- Steps ---- */

static void see_doorbell(const struct hca *hca, struct hca_seen *s)
{
	const struct hca_doorbell *db = &hca->db.slot[hca->db.head].db;

	if (!hca->db.count || (db->kind != HCA_DB_SQ && db->kind != HCA_DB_BF))
		return;
	s->qpn = db->number;
	s->of_wqe = true;
	s->index = (uint16_t)db->value;
	s->pushed = db->kind == HCA_DB_BF;
}

/* The engine's stages: it knows the position of its queue before the step. */
static void see_engine(const struct hca *hca, enum hca_stage stage, struct hca_seen *s)
{
	struct engine_state state;
	struct hca_work w = {0};

	if (!hca->eng->pending(hca->engine, stage, &w) || !qp_find(hca, w.qpn))
		return;
	hca->eng->state(hca->engine, w.qpn, &state);
	s->qpn = w.qpn;
	s->of_wqe = stage == HCA_STAGE_FETCH || (stage == HCA_STAGE_PACKETISE && state.has_cur);
	s->index = stage == HCA_STAGE_FETCH ? state.fetched : state.cur_index;
	s->later = stage == HCA_STAGE_PACKETISE && state.has_cur && state.cur_pkt;
}

static void see_packet(const struct txq *q, struct hca_seen *s)
{
	const struct txpkt *t = q->slot[q->head];

	s->qpn = t->qp->qpn;
	s->of_wqe = t->of_wqe;
	s->index = t->index;
	s->of_packet = true;
	s->psn = t->psn;
}

static void see_frame(const struct hca *hca, struct hca_seen *s)
{
	const struct rxwork *w = hca->rx_head;

	if (!list_empty(&hca->rx_qps))
		w = node_entry(hca->rx_qps.next, struct qp, on_rx)->resp.parked;
	s->number = w->pkt->number;
}

void see_before(const struct hca *hca, enum hca_stage stage, struct hca_seen *s)
{
	if (stage == HCA_STAGE_DOORBELL)
		see_doorbell(hca, s);
	else if (stage == HCA_STAGE_FETCH || stage == HCA_STAGE_DECODE || stage == HCA_STAGE_PACKETISE)
		see_engine(hca, stage, s);
	else if (stage == HCA_STAGE_GATHER)
		see_packet(&hca->gather, s);
	else if (stage == HCA_STAGE_TX)
		see_packet(&hca->tx, s);
	else if (stage == HCA_STAGE_RX)
		see_frame(hca, s);
	else if (stage == HCA_STAGE_RESPOND)
		s->qpn = node_entry(hca->respond_qps.next, struct qp, on_respond)->qpn;
	else if (stage == HCA_STAGE_COMPLETE && list_empty(&hca->cpl_srqs))
		s->qpn = node_entry(hca->cpl_qps.next, struct qp, on_cpl)->qpn;
}

static void see_record(const struct hca *hca, struct hca_seen *s)
{
	if (!s->of_wqe || !hca->db.ahead)
		return;
	s->ahead = true;
	s->pushed = false; /* the WQE will be read */
	s->index = hca->db.record;
	s->rung = hca->db.rung;
}

/* The step has made a packet. */
static void see_made(const struct hca *hca, struct hca_seen *s)
{
	struct txpkt *t = hca->gather.slot[(hca->gather.head + hca->gather.count - 1) % hca->gather.depth];

	t->of_wqe = s->of_wqe;
	t->index = s->index;
	s->of_packet = true;
	s->psn = t->psn;
}

static void see_fetched(const struct hca *hca, struct hca_seen *s)
{
	struct engine_state state;

	if (!s->qpn)
		return;
	hca->eng->state(hca->engine, s->qpn, &state);
	s->blocks = (uint16_t)(state.fetched - s->index);
}

void observe_step(struct hca *hca, enum hca_stage stage)
{
	const uint32_t made = hca->gather.count;
	struct hca_seen seen = {0};

	see_before(hca, stage, &seen);
	hca->parts->stage[stage].step(hca);
	if (hca->gather.count > made)
		see_made(hca, &seen);
	if (stage == HCA_STAGE_FETCH)
		see_fetched(hca, &seen);
	if (stage == HCA_STAGE_DOORBELL)
		see_record(hca, &seen);
	hca->ops.saw_step(hca->host, stage, &seen);
}

/* ---- Stalls ---- */

const char *hca_stall_name(enum hca_stall stall)
{
	static const char *const names[HCA_NUM_STALLS] = {
		[HCA_STALL_NONE] = "none",           [HCA_STALL_GATHER_FIFO] = "gather_fifo",
		[HCA_STALL_TX_FIFO] = "tx_fifo",     [HCA_STALL_PAYLOAD] = "payload",
		[HCA_STALL_RX_WRITES] = "rx_writes", [HCA_STALL_CQE_WRITES] = "cqe_writes",
		[HCA_STALL_POSTED] = "posted",       [HCA_STALL_RNR] = "rnr",
		[HCA_STALL_READS] = "reads",         [HCA_STALL_PAGES] = "pages",
		[HCA_STALL_RATE] = "rate",           [HCA_STALL_PAUSE] = "pause",
	};

	return (unsigned int)stall < HCA_NUM_STALLS ? names[stall] : "?";
}

/* Whether the stage could do a step if the FIFO or limit after it had room for one more. */
static bool could(struct hca *hca, enum hca_stage stage, uint32_t *limit)
{
	struct hca_work w = {.items = 1};
	bool yes;

	(*limit)++;
	yes = hca->parts->stage[stage].pending(hca, &w);
	(*limit)--;
	return yes;
}

enum hca_stall hca_stage_stall(struct hca *hca, enum hca_stage stage)
{
	if (hca_stage_pending(hca, stage, NULL))
		return HCA_STALL_NONE;
	switch (stage) {
	case HCA_STAGE_DOORBELL:
		return hca->db.count ? HCA_STALL_POSTED : HCA_STALL_NONE;
	case HCA_STAGE_PACKETISE:
	case HCA_STAGE_RESPOND:
		return could(hca, stage, &hca->gather.depth) ? HCA_STALL_GATHER_FIFO : HCA_STALL_NONE;
	case HCA_STAGE_GATHER:
		return could(hca, stage, &hca->tx.depth) ? HCA_STALL_TX_FIFO : HCA_STALL_NONE;
	case HCA_STAGE_TX:
		return hca->tx.count ? HCA_STALL_PAYLOAD : HCA_STALL_NONE;
	case HCA_STAGE_RX:
		return could(hca, stage, &hca->rx_writes_max) ? HCA_STALL_RX_WRITES : HCA_STALL_NONE;
	case HCA_STAGE_COMPLETE:
		return could(hca, stage, &hca->cqe_writes_max) ? HCA_STALL_CQE_WRITES : HCA_STALL_NONE;
	default:
		return HCA_STALL_NONE;
	}
}

static enum hca_stall qp_stall(const struct hca *hca, const struct qp *qp, const struct engine_state *s)
{
	if (!s->has_cur || s->qp_state != HCASIM_QPS_RTS)
		return HCA_STALL_NONE;
	if (s->rnr_wait)
		return HCA_STALL_RNR;
	if (s->paging)
		return HCA_STALL_PAGES;
	if (qp->pace.pausing)
		return qp_paused(hca, qp) ? HCA_STALL_PAUSE : HCA_STALL_RATE;
	return qp_reliable(qp) && s->rd_out >= qp->a.max_rd_atomic ? HCA_STALL_READS : HCA_STALL_NONE;
}

void observe_qp(struct hca *hca, struct qp *qp)
{
	struct engine_state s;
	enum hca_stall stall;

	hca->eng->state(hca->engine, qp->qpn, &s);
	stall = qp_stall(hca, qp, &s);
	if (stall == qp->stall)
		return;
	qp->stall = stall;
	hca->ops.saw_stall(hca->host, qp->qpn, s.cur_index, stall);
}

/* ---- Levels ---- */

const char *hca_level_name(enum hca_level level)
{
	static const char *const names[HCA_NUM_LEVELS] = {
		[HCA_LEVEL_DOORBELL] = "doorbell_fifo",
		[HCA_LEVEL_GATHER] = "gather_fifo",
		[HCA_LEVEL_TX] = "tx_fifo",
		[HCA_LEVEL_RX] = "rx_fifo",
		[HCA_LEVEL_RX_WRITES] = "rx_writes",
		[HCA_LEVEL_CQE_WRITES] = "cqe_writes",
	};

	return (unsigned int)level < HCA_NUM_LEVELS ? names[level] : "?";
}

uint32_t hca_level_now(const struct hca *hca, enum hca_level level)
{
	switch (level) {
	case HCA_LEVEL_DOORBELL:
		return hca->db.count;
	case HCA_LEVEL_GATHER:
		return hca->gather.count;
	case HCA_LEVEL_TX:
		return hca->tx.count;
	case HCA_LEVEL_RX:
		return hca->rx_count;
	case HCA_LEVEL_RX_WRITES:
		return hca->rx_writes;
	default:
		return hca->cqe_writes;
	}
}

uint32_t hca_level_max(const struct hca *hca, enum hca_level level)
{
	switch (level) {
	case HCA_LEVEL_DOORBELL:
		return hca->db.depth;
	case HCA_LEVEL_GATHER:
		return hca->gather.depth;
	case HCA_LEVEL_TX:
		return hca->tx.depth;
	case HCA_LEVEL_RX:
		return hca->cfg.pfc ? HCA_PRIORITIES * hca->rx_depth : hca->rx_depth;
	case HCA_LEVEL_RX_WRITES:
		return hca->rx_writes_max;
	default:
		return hca->cqe_writes_max;
	}
}
