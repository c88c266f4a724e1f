// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Attributes and states of queue pairs. The caller has checked the transition, and that all values are valid. */
#include "core/egress/egress.h"
#include "core/queues/queues.h"
#include "core/responder/responder.h"
#include "core/send/send.h"
#include "core/stages.h"
#include "core/wire/wire.h"

static void set_path(struct qp *qp, const struct hca_qp_attr *a, uint32_t mask)
{
	if (mask & HCASIM_QP_ATTR_PORT)
		qp->a.port = a->port;
	if (mask & HCASIM_QP_ATTR_AV) {
		qp->a.av = a->av;
		qp->set_sport = 0;
	}
	if (mask & HCASIM_QP_ATTR_PATH_MTU) {
		qp->a.path_mtu = a->path_mtu;
		qp->mtu = 128u << a->path_mtu;
	}
	if (mask & HCASIM_QP_ATTR_DEST_QPN)
		qp->a.dest_qpn = a->dest_qpn;
	qp->udp_sport = qp->set_sport;
	if (!qp->set_sport)
		qp->udp_sport = packet_sport(qp->a.av.flow_label, qp->qpn, qp->a.dest_qpn);
}

static void set_limits(struct qp *qp, const struct hca_qp_attr *a, uint32_t mask)
{
	if (mask & HCASIM_QP_ATTR_TIMEOUT)
		qp->a.timeout = a->timeout;
	if (mask & HCASIM_QP_ATTR_RETRY_CNT)
		qp->a.retry_cnt = a->retry_cnt;
	if (mask & HCASIM_QP_ATTR_RNR_RETRY)
		qp->a.rnr_retry = a->rnr_retry;
	if (mask & HCASIM_QP_ATTR_MIN_RNR_TIMER)
		qp->a.min_rnr_timer = a->min_rnr_timer;
	if (mask & HCASIM_QP_ATTR_MAX_QP_RD_ATOMIC)
		qp->a.max_rd_atomic = a->max_rd_atomic;
	if (mask & HCASIM_QP_ATTR_MAX_DEST_RD_ATOMIC)
		qp->a.max_dest_rd_atomic = a->max_dest_rd_atomic;
}

static void set_attrs(struct qp *qp, const struct hca_qp_attr *a, uint32_t mask)
{
	set_path(qp, a, mask);
	set_limits(qp, a, mask);
	if (mask & HCASIM_QP_ATTR_ACCESS_FLAGS)
		qp->a.access = a->access;
	if (mask & HCASIM_QP_ATTR_QKEY)
		qp->a.qkey = a->qkey;
	if (mask & HCASIM_QP_ATTR_PKEY_INDEX)
		qp->a.pkey_index = a->pkey_index;
	if (mask & HCASIM_QP_ATTR_EN_SQD_ASYNC_NOTIFY)
		qp->a.en_sqd_async_notify = a->en_sqd_async_notify;
	if (mask & HCASIM_QP_ATTR_RQ_PSN)
		qp->resp.epsn = a->rq_psn;
	if (mask & HCASIM_QP_ATTR_SQ_PSN)
		qp->a.sq_psn = a->sq_psn;
}

static void enter(struct hca *hca, struct qp *qp, uint8_t state)
{
	switch (state) {
	case HCASIM_QPS_RESET:
		qp_clear(hca, qp);
		return;
	case HCASIM_QPS_ERR:
		qp_error(hca, qp);
		rop_drop_reads(hca, qp, psn_add(qp->resp.epsn, CORE_PSN_HALF)); /* all */
		return;
	default:
		qp->a.state = state;
	}
}

int hca_qp_modify(struct hca *hca, uint32_t qpn, const struct hca_qp_attr *attr, uint32_t mask)
{
	struct qp *qp = qp_find(hca, qpn);

	if (!qp || (mask & HCASIM_QP_ATTR_RATE_LIMIT && !pace_valid(qp, attr)))
		return -EINVAL;
	set_attrs(qp, attr, mask);
	if (mask & HCASIM_QP_ATTR_RATE_LIMIT)
		pace_set(hca, qp, attr);
	if (mask & HCASIM_QP_ATTR_STATE)
		enter(hca, qp, attr->state);
	send_qp_set(hca, qp, mask);
	qp_update(hca, qp);
	hca_announce(hca);
	return 0;
}

int hca_qp_udp_sport(struct hca *hca, uint32_t qpn, uint16_t port)
{
	static const struct hca_qp_attr none;
	struct qp *qp = qp_find(hca, qpn);

	if (!qp || (qp->c.type != HCASIM_QPT_RC && qp->c.type != HCASIM_QPT_UC))
		return -EINVAL;
	qp->set_sport = port;
	return hca_qp_modify(hca, qpn, &none, 0);
}

int hca_qp_query(struct hca *hca, uint32_t qpn, struct hca_qp_attr *attr)
{
	const struct qp *qp = qp_find(hca, qpn);
	struct engine_query sq;

	if (!qp)
		return -EINVAL;
	hca->eng->query(hca->engine, qpn, &sq);
	*attr = qp->a;
	attr->cur_state = qp->a.state;
	attr->sq_draining = sq.draining;
	attr->rq_psn = qp->resp.epsn;
	attr->sq_psn = sq.sq_psn;
	attr->max_send_wr = qp->c.max_send_wr;
	attr->max_recv_wr = qp->c.max_recv_wr;
	attr->max_send_sge = qp->c.max_send_sge;
	attr->max_recv_sge = qp->c.max_recv_sge;
	attr->max_inline = qp->c.max_inline;
	return 0;
}

int hca_wq_strip_vlan(struct hca *hca, uint32_t wqn, bool on)
{
	struct qp *wq = qp_find(hca, wqn);

	if (!wq || !wq->c.wq)
		return -EINVAL;
	wq->c.strip_vlan = on;
	return 0;
}

void hca_context_lost(struct hca *hca, uint32_t qpn)
{
	struct qp *qp = qp_find(hca, qpn);

	if (!qp || qp->a.state == HCASIM_QPS_ERR || qp->a.state == HCASIM_QPS_RESET)
		return;
	event_raise(hca, &qp->ev, HCASIM_EQE_TYPE_QP_FATAL);
	qp_error(hca, qp);
	qp_update(hca, qp);
	hca_announce(hca);
}

/* A work queue is the receive side of a QP, which receives in RDY. */
int hca_wq_modify(struct hca *hca, uint32_t wqn, enum hca_wq_state state)
{
	static const uint8_t as_qp[] = {[HCA_WQ_RESET] = HCASIM_QPS_RESET,
					[HCA_WQ_RDY] = HCASIM_QPS_RTR,
					[HCA_WQ_ERR] = HCASIM_QPS_ERR};
	const struct qp *wq = qp_find(hca, wqn);
	struct hca_qp_attr attr = {0};

	if (!wq || !wq->c.wq || (unsigned int)state > HCA_WQ_ERR)
		return -EINVAL;
	attr.state = as_qp[state];
	if (wq->a.state == attr.state)
		return 0;
	if (state != HCA_WQ_RESET && wq->a.state != (state == HCA_WQ_RDY ? HCASIM_QPS_RESET : HCASIM_QPS_RTR))
		return -EINVAL;
	return hca_qp_modify(hca, wqn, &attr, HCASIM_QP_ATTR_STATE);
}
