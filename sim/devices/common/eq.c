// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Event queues: one per interrupt vector, in the driver's own memory. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devices/common/common.h"

int common_eqs_create(struct common_dev *n)
{
	const size_t bytes = (size_t)COMMON_EQ_ENTRIES * sizeof(struct hcasim_eqe);
	int ret;

	for (n->num_eqs = 0; n->num_eqs < 1 + n->dev->ops->num_comp_vectors; n->num_eqs++) {
		struct common_eq *eq = &n->eq[n->num_eqs];
		struct hca_eq_attr attr = {
			.ring = {.pasid = HCA_PASID_KERNEL,
				 .entries = COMMON_EQ_ENTRIES,
				 .stride = sizeof(struct hcasim_eqe)},
			.vector = n->num_eqs,
		};

		eq->ring = aligned_alloc(COMMON_PAGE_SIZE, bytes);
		if (!eq->ring)
			return -ENOMEM;
		memset(eq->ring, 0, bytes);
		attr.ring.addr = (uintptr_t)eq->ring;
		ret = hca_eq_create(n->dev->hca, &attr, &eq->eqn);
		if (ret) {
			free(eq->ring);
			return ret;
		}
	}
	hca_async_eq(n->dev->hca, n->eq[0].eqn);
	return 0;
}

void common_eqs_destroy(struct common_dev *n)
{
	while (n->num_eqs) {
		struct common_eq *eq = &n->eq[--n->num_eqs];

		hca_eq_destroy(n->dev->hca, eq->eqn);
		free(eq->ring);
	}
}

#define QP_FATAL 1 /* enum ibv_event_type, as below */
#define WQ_FATAL 19

enum event_of { OF_CQ, OF_QP, OF_SRQ, OF_PORT };

/* enum ibv_event_type of verbs.h, whose numbers the async event file carries. */
static const struct {
	uint8_t type, of;
	uint32_t ibv_event;
} events[] = {
	{HCASIM_EQE_TYPE_CQ_ERR, OF_CQ, 0},
	{HCASIM_EQE_TYPE_QP_FATAL, OF_QP, QP_FATAL},
	{HCASIM_EQE_TYPE_QP_REQ_ERR, OF_QP, 2},
	{HCASIM_EQE_TYPE_QP_ACCESS_ERR, OF_QP, 3},
	{HCASIM_EQE_TYPE_COMM_EST, OF_QP, 4},
	{HCASIM_EQE_TYPE_SQ_DRAINED, OF_QP, 5},
	{HCASIM_EQE_TYPE_PATH_MIG, OF_QP, 6},
	{HCASIM_EQE_TYPE_DEVICE_FATAL, OF_PORT, 8},
	{HCASIM_EQE_TYPE_PORT_ACTIVE, OF_PORT, 9},
	{HCASIM_EQE_TYPE_PORT_ERR, OF_PORT, 10},
	{HCASIM_EQE_TYPE_SRQ_ERR, OF_SRQ, 14},
	{HCASIM_EQE_TYPE_SRQ_LIMIT, OF_SRQ, 15},
	{HCASIM_EQE_TYPE_QP_LAST_WQE_REACHED, OF_QP, 16},
	{HCASIM_EQE_TYPE_GID_CHANGE, OF_PORT, 18},
};

static void async_event(struct common_dev *n, const struct hcasim_eqe *eqe, unsigned int of,
			uint32_t ibv_event)
{
	const uint32_t number = le32toh(eqe->number);
	struct drv_srq *srq;
	struct drv_cq *cq;
	struct drv_qp *qp;

	switch (of) {
	case OF_CQ:
		cq = common_find(&n->cqs, number);
		if (cq)
			n->up->async_cq(cq, ibv_event);
		break;
	case OF_QP:
		qp = common_find(&n->qps, number);
		if (qp && qp->wq) /* work queues have only one event: error */
			ibv_event = ibv_event == QP_FATAL ? WQ_FATAL : 0;
		if (qp && (ibv_event || !qp->wq))
			n->up->async_qp(qp, ibv_event);
		break;
	case OF_SRQ:
		srq = common_find(&n->srqs, number);
		if (srq)
			n->up->async_srq(srq, ibv_event);
		break;
	default:
		n->up->async_port(n->dev, eqe->port, ibv_event);
	}
}

/* Drop events of destroyed objects, and unknown ones. */
static void handle(struct common_dev *n, const struct hcasim_eqe *eqe)
{
	struct drv_cq *cq;

	if (eqe->type == HCASIM_EQE_TYPE_COMP) {
		cq = common_find(&n->cqs, le32toh(eqe->number));
		if (cq && n->completion)
			n->completion(cq);
		if (cq)
			n->up->completion(cq);
		return;
	}
	if (eqe->type == HCASIM_EQE_TYPE_PAGE_REQUEST) {
		n->up->page_request(n->dev, le32toh(eqe->number));
		return;
	}
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (events[i].type == eqe->type)
			async_event(n, eqe, events[i].of, events[i].ibv_event);
	}
}

static bool fresh(const struct common_eq *eq, const struct hcasim_eqe *eqe)
{
	const uint8_t owner = __atomic_load_n(&eqe->owner, __ATOMIC_ACQUIRE);

	/* The phase is 1 in the first turn of the ring and flips with each. */
	return HCASIM_FIELD_GET(HCASIM_EQE_PHASE_MASK, owner) == !((eq->ci / COMMON_EQ_ENTRIES) & 1);
}

static void poll_eq(struct common_dev *n, struct common_eq *eq)
{
	const uint32_t first = eq->ci;
	const struct hcasim_eqe *eqe;

	for (;;) {
		eqe = &eq->ring[eq->ci % COMMON_EQ_ENTRIES];
		if (!fresh(eq, eqe))
			break;
		handle(n, eqe);
		eq->ci++;
	}
	if (eq->ci != first)
		hca_eq_ack(n->dev->hca, eq->eqn, eq->ci);
}

void common_irq(struct drv_device *dev, unsigned int vector)
{
	struct common_dev *n = common_dev(dev);

	if (vector == HCA_GSI_VECTOR)
		common_gsi_irq(n);
	else if (vector < n->num_eqs)
		poll_eq(n, &n->eq[vector]);
}

void common_eqs_poll(struct common_dev *n)
{
	for (unsigned int i = 0; i < n->num_eqs; i++)
		poll_eq(n, &n->eq[i]);
}

/* Events are between the adapter and its driver: no other software sees them, and families need no formats of their own. */
void common_encode_eqe(const struct hca_event *ev, unsigned int phase, void *raw)
{
	const struct hcasim_eqe eqe = {
		.type = ev->type,
		.port = ev->port,
		.number = htole32(ev->number),
		.timestamp = htole64(ev->timestamp),
		.owner = HCASIM_FIELD_PREP(HCASIM_EQE_PHASE_MASK, phase),
	};

	memcpy(raw, &eqe, sizeof(eqe));
}
