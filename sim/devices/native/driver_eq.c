// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Event queues: one per interrupt vector, in the driver's own memory. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

int native_eqs_create(struct native_dev *n)
{
	const size_t bytes = (size_t)NATIVE_EQ_ENTRIES * sizeof(struct hcasim_eqe);
	int ret;

	for (n->num_eqs = 0; n->num_eqs < NATIVE_NUM_EQS; n->num_eqs++) {
		struct native_eq *eq = &n->eq[n->num_eqs];
		struct hca_eq_attr attr = {
			.ring = {.pasid = HCA_PASID_KERNEL,
				 .entries = NATIVE_EQ_ENTRIES,
				 .stride = sizeof(struct hcasim_eqe)},
			.vector = n->num_eqs,
		};

		eq->ring = aligned_alloc(NATIVE_PAGE_SIZE, bytes);
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

void native_eqs_destroy(struct native_dev *n)
{
	while (n->num_eqs) {
		struct native_eq *eq = &n->eq[--n->num_eqs];

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

static void async_event(struct native_dev *n, const struct hcasim_eqe *eqe, unsigned int of,
			uint32_t ibv_event)
{
	const uint32_t number = le32toh(eqe->number);
	struct native_srq *srq;
	struct native_cq *cq;
	struct native_qp *qp;

	switch (of) {
	case OF_CQ:
		cq = native_find(&n->cqs, number);
		if (cq)
			n->up->async_cq(&cq->base, ibv_event);
		break;
	case OF_QP:
		qp = native_find(&n->qps, number);
		if (qp && qp->base.wq) /* of a work queue one thing is told: it is in error */
			ibv_event = ibv_event == QP_FATAL ? WQ_FATAL : 0;
		if (qp && (ibv_event || !qp->base.wq))
			n->up->async_qp(&qp->base, ibv_event);
		break;
	case OF_SRQ:
		srq = native_find(&n->srqs, number);
		if (srq)
			n->up->async_srq(&srq->base, ibv_event);
		break;
	default:
		n->up->async_port(n->dev, eqe->port, ibv_event);
	}
}

/* An event of an object that is gone, or of a kind that this driver does not know, is dropped. */
static void handle(struct native_dev *n, const struct hcasim_eqe *eqe)
{
	struct native_cq *cq;

	if (eqe->type == HCASIM_EQE_TYPE_COMP) {
		cq = native_find(&n->cqs, le32toh(eqe->number));
		if (cq)
			n->up->completion(&cq->base);
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

static bool fresh(const struct native_eq *eq, const struct hcasim_eqe *eqe)
{
	const uint8_t owner = __atomic_load_n(&eqe->owner, __ATOMIC_ACQUIRE);

	/* The phase is 1 in the first turn of the ring and flips with each. */
	return HCASIM_FIELD_GET(HCASIM_EQE_PHASE_MASK, owner) == !((eq->ci / NATIVE_EQ_ENTRIES) & 1);
}

static void poll_eq(struct native_dev *n, struct native_eq *eq)
{
	const uint32_t first = eq->ci;
	const struct hcasim_eqe *eqe;

	for (;;) {
		eqe = &eq->ring[eq->ci % NATIVE_EQ_ENTRIES];
		if (!fresh(eq, eqe))
			break;
		handle(n, eqe);
		eq->ci++;
	}
	if (eq->ci != first)
		hca_eq_ack(n->dev->hca, eq->eqn, eq->ci);
}

void native_irq(struct drv_device *dev, unsigned int vector)
{
	struct native_dev *n = native_dev(dev);

	if (vector == HCA_GSI_VECTOR)
		native_gsi_irq(n);
	else if (vector < n->num_eqs)
		poll_eq(n, &n->eq[vector]);
}

void native_eqs_poll(struct native_dev *n)
{
	for (unsigned int i = 0; i < n->num_eqs; i++)
		poll_eq(n, &n->eq[i]);
}
