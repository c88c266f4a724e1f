// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: creation, reset, destruction. */
#include "core/egress/egress.h"
#include "core/ingress/ingress.h"
#include "core/memory/memory.h"
#include "core/queues/queues.h"
#include "core/queues/tags.h"
#include "core/send/send.h"
#include "core/responder/responder.h"
#include "core/stages.h"

/* The driver has checked types, limits and rings, but not what a queue is used for. */
static bool create_ok(const struct hca *hca, const struct hca_qp_attr_create *c)
{
	const struct srq *srq = srq_find(hca, c->srqn);

	if ((srq && srq->tags && c->type != HCASIM_QPT_RC) || (c->wq && c->sq.entries))
		return false;
	return !c->rss || rss_ok(hca, c->rss);
}

/* From now on its queues have a reference to it. */
static void attach(struct hca *hca, struct qp *qp)
{
	if (qp->send_cq)
		list_add_tail(&qp->send_cq->sends, &qp->on_send_cq);
	if (qp->recv_cq)
		list_add_tail(&qp->recv_cq->recvs, &qp->on_recv_cq);
	if (qp->c.type == HCASIM_QPT_XRC_RECV || (qp->srq && qp->srq->tags))
		list_add_tail(&hca->srq_cq_qps, &qp->on_srq_cq);
	if (qp->srq)
		qp->srq->qps++;
}

static void detach(struct qp *qp)
{
	if (qp->send_cq)
		list_del(&qp->on_send_cq);
	if (qp->recv_cq)
		list_del(&qp->on_recv_cq);
	if (qp->on_srq_cq.next)
		list_del(&qp->on_srq_cq);
	if (qp->srq)
		qp->srq->qps--;
}

static struct qp *qp_new(struct hca *hca, const struct hca_qp_attr_create *c)
{
	struct qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	if (c->type == HCASIM_QPT_RC || c->type == HCASIM_QPT_XRC_RECV) {
		qp->resp.saved = calloc(hca->cfg.max_rd_atomic, sizeof(*qp->resp.saved));
		if (!qp->resp.saved) {
			free(qp);
			return NULL;
		}
	}
	qp->refs = 1;
	qp->c = *c;
	qp->send_cq = cq_find(hca, c->send_cqn);
	qp->recv_cq = cq_find(hca, c->recv_cqn);
	qp->srq = srq_find(hca, c->srqn);
	if (qp->srq && qp->srq->tags && !c->sq.entries && !rendezvous_init(hca, qp)) {
		free(qp->resp.saved);
		free(qp);
		return NULL;
	}
	list_init(&qp->windows);
	list_init(&qp->flows);
	list_init(&qp->mcasts);
	list_init(&qp->results);
	qp->sq_timer.fire = send_timer;
	qp->rq.poll.fire = rq_poll_fire;
	pace_init(qp);
	return qp;
}

int hca_qp_create(struct hca *hca, const struct hca_qp_attr_create *attr, uint32_t *qpn)
{
	struct qp *qp;

	if (!create_ok(hca, attr))
		return -EINVAL;
	qp = qp_new(hca, attr);
	if (!qp)
		return -ENOMEM;
	if ((attr->rss && rss_set(hca, qp, attr->rss)) || numbers_add(&hca->qp, qp, &qp->qpn)) {
		rss_drop(hca, qp);
		qp_put(hca, qp);
		return -ENOMEM;
	}
	qp->ev.number = qp->qpn;
	qp_clear(hca, qp);
	if (send_qp_create(hca, qp)) {
		rss_drop(hca, qp);
		numbers_remove(&hca->qp, qp->qpn);
		qp_put(hca, qp);
		return -ENOMEM;
	}
	attach(hca, qp);
	*qpn = qp->qpn;
	return 0;
}

int hca_qp_destroy(struct hca *hca, uint32_t qpn)
{
	struct qp *qp = qp_find(hca, qpn);

	if (!qp)
		return -EINVAL;
	if (qp->rss_tables && !hca->dying)
		return -EBUSY;
	qp_clear(hca, qp);
	qp_update(hca, qp); /* in RESET: off all lists */
	window_qp_gone(hca, qp);
	qp->dead = true;
	comp_cntr_forget(qp);
	flow_forget(hca, qp);
	mcast_forget(hca, qp);
	event_cancel(hca, &qp->ev);
	detach(qp);
	rss_drop(hca, qp);
	hca->eng->qp_destroy(hca->engine, qpn);
	numbers_remove(&hca->qp, qpn);
	qp_put(hca, qp);
	hca_announce(hca);
	return 0;
}

/* RESET (IBTA 10.3.1.1): as after creation. Pending operations belong to an earlier epoch. */
void qp_clear(struct hca *hca, struct qp *qp)
{
	struct resp *resp = &qp->resp;
	struct atomic_result *saved = resp->saved;

	hca_changed(hca, HCA_CONTEXT_QP, qp->qpn);
	timer_cancel(hca, &qp->rq.poll);
	pace_clear(hca, qp);
	sched_clear(hca, qp);
	congestion_clear(hca, qp);
	rendezvous_clear(hca, qp);
	result_clear(qp);
	comp_cntr_clear(qp);
	if (qp->epoch) {
		doorbell_forget(hca, qp);
		atomic_forget(hca, qp);
		rx_flush_parked(hca, qp);
		resp_clear(hca, qp);
	}
	if (qp->epoch)
		hca->eng->qp_reset(hca->engine, qp->qpn);
	rq_clear(hca, qp);
	memset(resp, 0, sizeof(*resp));
	resp->saved = saved;
	if (saved)
		memset(saved, 0, hca->cfg.max_rd_atomic * sizeof(*saved));
	resp->srq = qp->srq;
	resp->pdn = qp->c.pdn;
	resp->parked_tail = &resp->parked;
	rop_fifo_init(&resp->landing);
	rop_fifo_init(&resp->out);
	rop_fifo_init(&resp->cpl);
	memset(&qp->a, 0, sizeof(qp->a));
	qp->a.state = HCASIM_QPS_RESET;
	qp->a.port = 1;
	qp->a.path_mtu = 5;
	qp->mtu = 4096;
	qp->set_sport = 0;
	qp->decoded = 0;
	qp->last_wqe_told = false;
	marks_clear(qp);
	qp->epoch++;
}
