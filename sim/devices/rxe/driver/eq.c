// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Event queues: asynchronous events, and completions; in the driver's own memory. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

int rxe_eqs_create(struct rxe_dev *n)
{
	const size_t bytes = RXE_EQ_ENTRIES * sizeof(struct hcasim_rxe_event);
	int ret;

	for (n->num_eqs = 0; n->num_eqs < RXE_NUM_EQS; n->num_eqs++) {
		struct hca_eq_attr attr = {.vector = n->num_eqs};

		n->eq[n->num_eqs].ring = aligned_alloc(COMMON_PAGE_SIZE, bytes);
		if (!n->eq[n->num_eqs].ring)
			return -ENOMEM;
		memset(n->eq[n->num_eqs].ring, 0, bytes);
		attr.ring = (struct hca_ring){HCA_PASID_KERNEL, (uintptr_t)n->eq[n->num_eqs].ring,
					      RXE_EQ_ENTRIES, sizeof(struct hcasim_rxe_event)};
		ret = hca_eq_create(n->dev->hca, &attr, &n->eq[n->num_eqs].eqn);
		if (ret) {
			free(n->eq[n->num_eqs].ring);
			return ret;
		}
	}
	hca_async_eq(n->dev->hca, n->eq[0].eqn);
	return 0;
}

void rxe_eqs_destroy(struct rxe_dev *n)
{
	while (n->num_eqs) {
		n->num_eqs--;
		hca_eq_destroy(n->dev->hca, n->eq[n->num_eqs].eqn);
		free(n->eq[n->num_eqs].ring);
	}
}

enum event_of { OF_CQ, OF_QP, OF_SRQ, OF_PORT };

/* enum ibv_event_type of verbs.h, whose numbers the async event file carries. */
static const struct {
	uint8_t type, of;
	uint32_t ibv_event;
} events[] = {
	{HCASIM_EQE_TYPE_CQ_ERR, OF_CQ, 0},
	{HCASIM_EQE_TYPE_QP_FATAL, OF_QP, 1},
	{HCASIM_EQE_TYPE_QP_REQ_ERR, OF_QP, 2},
	{HCASIM_EQE_TYPE_QP_ACCESS_ERR, OF_QP, 3},
	{HCASIM_EQE_TYPE_COMM_EST, OF_QP, 4},
	{HCASIM_EQE_TYPE_SQ_DRAINED, OF_QP, 5},
	{HCASIM_EQE_TYPE_PORT_ACTIVE, OF_PORT, 9},
	{HCASIM_EQE_TYPE_PORT_ERR, OF_PORT, 10},
	{HCASIM_EQE_TYPE_SRQ_ERR, OF_SRQ, 14},
	{HCASIM_EQE_TYPE_SRQ_LIMIT, OF_SRQ, 15},
	{HCASIM_EQE_TYPE_QP_LAST_WQE_REACHED, OF_QP, 16},
	{HCASIM_EQE_TYPE_GID_CHANGE, OF_PORT, 18},
};

static void *find(const struct table *objects, uint32_t number)
{
	const struct table_node *n = table_find(objects, number);

	return n ? table_entry(n, struct rxe_object, node)->object : NULL;
}

static void async_event(struct rxe_dev *n, const struct hcasim_rxe_event *e, unsigned int of,
			uint32_t ibv_event)
{
	const uint32_t number = le32toh(e->number);
	void *object;

	switch (of) {
	case OF_CQ:
		object = find(&n->cqs, number);
		if (object)
			n->up->async_cq(object, ibv_event);
		break;
	case OF_QP:
		object = find(&n->qps, number);
		if (object)
			n->up->async_qp(object, ibv_event);
		break;
	case OF_SRQ:
		object = find(&n->srqs, number);
		if (object)
			n->up->async_srq(object, ibv_event);
		break;
	default:
		n->up->async_port(n->dev, e->port, ibv_event);
	}
}

/* Drops events of destroyed objects, and unknown ones. */
static void handle(struct rxe_dev *n, const struct hcasim_rxe_event *e)
{
	struct rxe_cq *cq;

	if (e->type == HCASIM_EQE_TYPE_PAGE_REQUEST) {
		n->up->page_request(n->dev, le32toh(e->number));
		return;
	}
	if (e->type == HCASIM_EQE_TYPE_COMP) {
		cq = find(&n->cqs, le32toh(e->number));
		if (cq) {
			cq->arm_sn = (cq->arm_sn + 1) & 3; /* the next arm is newer than this event */
			cq->armed_any = false;
			n->up->completion(&cq->base);
		}
		return;
	}
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (events[i].type == e->type)
			async_event(n, e, events[i].of, events[i].ibv_event);
	}
}

static void poll_eq(struct rxe_dev *n, unsigned int which)
{
	const uint32_t first = n->eq[which].ci;

	for (;; n->eq[which].ci++) {
		const uint32_t ci = n->eq[which].ci;
		const struct hcasim_rxe_event *e = &n->eq[which].ring[ci % RXE_EQ_ENTRIES];
		const uint8_t owner = __atomic_load_n(&e->owner, __ATOMIC_ACQUIRE);

		/* The phase is 1 in the first turn of the ring and flips with each. */
		if (HCASIM_FIELD_GET(HCASIM_RXE_EVENT_PHASE_MASK, owner) == ((ci / RXE_EQ_ENTRIES) & 1))
			break;
		handle(n, e);
	}
	if (n->eq[which].ci != first)
		hca_eq_ack(n->dev->hca, n->eq[which].eqn, n->eq[which].ci);
}

void rxe_irq(struct drv_device *dev, unsigned int vector)
{
	struct rxe_dev *n = rxe_dev(dev);
	struct hca_mad mad;

	if (vector < n->num_eqs)
		poll_eq(n, vector);
	if (vector != HCA_GSI_VECTOR)
		return;
	while (hca_gsi_recv(dev->hca, &mad))
		n->up->mad(dev, &mad);
	n->up->alarm(dev);
}

void rxe_eqs_poll(struct rxe_dev *n)
{
	for (unsigned int i = 0; i < n->num_eqs; i++)
		poll_eq(n, i);
}
