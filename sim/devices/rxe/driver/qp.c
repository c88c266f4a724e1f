// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs, and what POST_SEND does. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "driver.h"

static struct rxe_qp *rxe_qp(struct drv_qp *qp)
{
	return (struct rxe_qp *)qp;
}

/* As rxe does: room for SGEs is room for inline data. */
static void grant(struct rxe_qp *qp, struct drv_qp_init *init)
{
	const uint32_t sges = init->max_send_sge * (uint32_t)sizeof(struct hcasim_rxe_sge);

	rxe_queue_size(&qp->sq, init->max_send_wr, HCASIM_RXE_ELEMENT);
	init->max_send_wr = qp->sq.entries - 1;
	if (init->max_inline < sges)
		init->max_inline = sges;
	init->max_send_sge = init->max_inline / (uint32_t)sizeof(struct hcasim_rxe_sge);
	if (init->srq) {
		init->max_recv_wr = init->max_recv_sge = 0;
		return;
	}
	rxe_queue_size(&qp->rq, init->max_recv_wr, HCASIM_RXE_ELEMENT);
	init->max_recv_wr = qp->rq.entries - 1;
}

static int check(const struct drv_qp_init *init)
{
	if (init->type != HCASIM_QPT_RC && init->type != HCASIM_QPT_UC && init->type != HCASIM_QPT_UD)
		return -EOPNOTSUPP;
	if (init->create_flags)
		return -EOPNOTSUPP;
	if (init->max_send_wr > HCASIM_RXE_MAX_WR - 1 || init->max_send_sge > HCASIM_RXE_MAX_SGE ||
	    init->max_inline > HCASIM_RXE_MAX_INLINE)
		return -EINVAL;
	if (!init->srq &&
	    (init->max_recv_wr > HCASIM_RXE_MAX_WR - 1 || init->max_recv_sge > HCASIM_RXE_MAX_SGE))
		return -EINVAL;
	return 0;
}

static struct hca_qp_attr_create attr_of(const struct rxe_qp *qp, const struct drv_qp_init *init)
{
	return (struct hca_qp_attr_create){
		.type = init->type,
		.pdn = common_pdn(qp->base.pd),
		.send_cqn = init->send_cq ? init->send_cq->cqn : 0,
		.recv_cqn = init->recv_cq ? init->recv_cq->cqn : 0,
		.srqn = init->srq ? init->srq->srqn : 0,
		.sq = rxe_ring(&qp->sq),
		.rq = rxe_ring(&qp->rq),
		.record = rxe_record(&qp->sq),
		.rq_record = rxe_record(&qp->rq),
		.max_inline = init->max_inline,
		.max_send_sge = init->max_send_sge,
		.max_recv_sge = init->max_recv_sge,
		.max_send_wr = init->max_send_wr,
		.max_recv_wr = init->max_recv_wr,
	};
}

static void fill_orphan(struct rxe_qp *qp, const struct drv_qp_init *init)
{
	qp->base.orphan = (struct drv_orphan){
		.mmap_offset = qp->mem->offset,
		.size = qp->mem->length,
		.number = qp->base.qpn,
		.send_cqn = init->send_cq ? init->send_cq->cqn : 0,
		.recv_cqn = init->recv_cq ? init->recv_cq->cqn : 0,
		.rq = qp->rq.offset - qp->sq.offset,
		.sq_wqebb = qp->sq.entries,
		.rq_wqes = qp->rq.entries,
	};
}

static void answer(const struct rxe_qp *qp, struct drv_udata *u)
{
	const struct hcasim_rxe_create_qp_resp resp = {
		.rq_offset = htole64(qp->rq.offset),
		.rq_size = htole32((uint32_t)qp->rq.size),
		.sq_offset = htole64(qp->sq.offset),
		.sq_size = htole32((uint32_t)qp->sq.size),
	};

	common_udata_put(u, &resp, sizeof(resp));
}

int rxe_create_qp(struct drv_qp *base, struct drv_qp_init *init, struct drv_udata *u)
{
	struct rxe_dev *n = rxe_dev(base->dev);
	struct rxe_qp *qp = rxe_qp(base);
	struct hca_qp_attr_create attr;
	int ret = check(init);

	if (ret)
		return ret;
	if (u->out_len < sizeof(struct hcasim_rxe_create_qp_resp))
		return -EINVAL;
	grant(qp, init);
	qp->sig_all = init->sq_sig_all;
	qp->mem = rxe_mem_alloc(base->pd->ctx, &qp->sq, init->srq ? NULL : &qp->rq);
	if (!qp->mem)
		return -ENOMEM;
	attr = attr_of(qp, init);
	ret = common_create_qp(base, &attr);
	if (ret) {
		rxe_mem_free(n, qp->mem);
		return ret;
	}
	fill_orphan(qp, init);
	answer(qp, u);
	return 0;
}

/*
 * A queue in RESET has empty rings. On its way to INIT they are emptied again: an index that the adapter wrote before may
 * have arrived meanwhile, and sends may stand there that were refused.
 */
int rxe_modify_qp(struct drv_qp *base, const struct hca_qp_attr *attr, uint32_t mask, struct drv_udata *u)
{
	struct rxe_qp *qp = rxe_qp(base);
	const bool from_reset = base->state == HCASIM_QPS_RESET;
	const int ret = hca_qp_modify(base->dev->hca, base->qpn, attr, mask);

	if (!ret && (mask & HCASIM_QP_ATTR_STATE) && (from_reset || attr->state == HCASIM_QPS_RESET)) {
		rxe_queue_clear(&qp->sq);
		rxe_queue_clear(&qp->rq);
		qp->posted = 0;
	}
	return ret;
}

int rxe_destroy_qp(struct drv_qp *base)
{
	const int ret = common_destroy_qp(base);

	if (!ret)
		rxe_mem_free(rxe_dev(base->dev), rxe_qp(base)->mem);
	return ret;
}

/* ---- POST_SEND ---- */

/* An address handle's number becomes its vector. An unknown one has no port, which the adapter refuses. */
static void resolve(const struct rxe_qp *qp, struct hcasim_rxe_send_wqe *w)
{
	struct hcasim_rxe_wr_ud ud;
	const struct rxe_ah *ah;

	memcpy(&ud, w->wr, sizeof(ud));
	ah = numbers_find(&rxe_dev(qp->base.dev)->ahs, le32toh(ud.ah_num));
	memset(&ud.port_num, 0, sizeof(ud) - offsetof(struct hcasim_rxe_wr_ud, port_num));
	if (ah && ah->base.pd == qp->base.pd) {
		ud.port_num = ah->av.port;
		memcpy(ud.dmac, ah->av.dmac, sizeof(ud.dmac));
		memcpy(ud.dgid, ah->av.dgid, sizeof(ud.dgid));
		ud.flow_label = htole32(ah->av.flow_label);
		ud.sgid_index = ah->av.sgid_index;
		ud.hop_limit = ah->av.hop_limit;
		ud.traffic_class = ah->av.traffic_class;
	}
	memcpy(w->wr, &ud, sizeof(ud));
}

/* What the library leaves to the driver. */
static void complete_wqe(const struct rxe_qp *qp, struct hcasim_rxe_send_wqe *w)
{
	if (qp->sig_all)
		w->send_flags = htole32(le32toh(w->send_flags) | HCASIM_SEND_SIGNALED);
	if (qp->base.type == HCASIM_QPT_UD)
		resolve(qp, w);
}

/* As rxe does: before RTS it is an error, and WQEs that are in the queue stay there. */
int rxe_post_send(struct drv_qp *base)
{
	struct rxe_qp *qp = rxe_qp(base);
	const uint32_t mask = qp->sq.entries - 1;
	const uint32_t pi = le32toh(__atomic_load_n(&qp->sq.head->producer_index, __ATOMIC_ACQUIRE)) & mask;
	uint8_t *ring = (uint8_t *)(qp->sq.head + 1);

	if (base->state < HCASIM_QPS_RTS)
		return -EINVAL;
	for (; (qp->posted & mask) != pi; qp->posted++) {
		uint8_t *wqe = ring + (uint64_t)(qp->posted & mask) * qp->sq.stride;

		complete_wqe(qp, (struct hcasim_rxe_send_wqe *)wqe);
	}
	qp->sq.head->posted = htole32(qp->posted);
	return hca_post_send(base->dev->hca, base->qpn, qp->posted);
}
