// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Event queues. Each event is a bit of its source (a QP, a CQ, a port) until there is space in the EQ, so that no
 * event is lost however slow the driver is; an event that happens again before it was reported is reported once.
 */
#include "core/memory/memory.h"
#include "core/queues/queues.h"

#define EQE_VALID_BYTES 8 /* the last bytes of an EQE become visible last */

static struct eq *eq_find(const struct hca *hca, uint32_t eqn)
{
	return eqn < CORE_MAX_EQ ? hca->eq[eqn] : NULL;
}

int hca_eq_create(struct hca *hca, const struct hca_eq_attr *attr, uint32_t *eqn)
{
	uint32_t i, n = attr->ring.entries;
	struct eq *eq;

	if (!n || (n & (n - 1)) || attr->ring.stride < hca->pers->eqe_size)
		return -EINVAL;
	for (i = 1; i < CORE_MAX_EQ && hca->eq[i]; i++)
		;
	if (i == CORE_MAX_EQ)
		return -ENOMEM;
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return -ENOMEM;
	eq->ring = attr->ring;
	eq->vector = attr->vector;
	eq->number = i;
	hca->eq[i] = eq;
	*eqn = i;
	hca_announce(hca);
	return 0;
}

int hca_eq_destroy(struct hca *hca, uint32_t eqn)
{
	struct eq *eq = eq_find(hca, eqn);

	if (!eq)
		return -EINVAL;
	hca->eq[eqn] = NULL;
	free(eq);
	return 0;
}

void hca_eq_ack(struct hca *hca, uint32_t eqn, uint32_t ci)
{
	struct eq *eq = eq_find(hca, eqn);

	if (eq && eq->pi - ci <= eq->ring.entries)
		eq->ci = ci;
	hca_announce(hca);
}

void hca_async_eq(struct hca *hca, uint32_t eqn)
{
	hca->async_eqn = eqn;
	hca_announce(hca);
}

void event_raise(struct hca *hca, struct event_source *src, unsigned int type)
{
	if (!src->pending)
		src->since = hca_now(hca);
	src->pending |= 1u << type;
	list_set(&hca->events, &src->node, true);
}

void event_cancel(struct hca *hca, struct event_source *src)
{
	src->pending = 0;
	list_set(&hca->events, &src->node, false);
}

static struct eq *eq_for(const struct hca *hca, const struct event_source *src, unsigned int type)
{
	struct eq *eq = eq_find(hca, type == HCASIM_EQE_TYPE_COMP ? src->cq->eqn : hca->async_eqn);

	return eq && eq->pi - eq->ci < eq->ring.entries ? eq : NULL;
}

/* If a port changed twice before either event was reported, the last one reports its current state. */
static uint32_t to_tell(const struct hca *hca, const struct event_source *src)
{
	const uint32_t up = 1u << HCASIM_EQE_TYPE_PORT_ACTIVE, down = 1u << HCASIM_EQE_TYPE_PORT_ERR;

	if (!(src->pending & up) || !(src->pending & down))
		return src->pending;
	return src->pending & ~(hca->port[src->port - 1].up ? up : down);
}

/* The first source with an event whose EQ has space. */
static struct event_source *event_next(const struct hca *hca, unsigned int *type)
{
	struct node *n;

	*type = 0;
	for (n = hca->events.next; n != &hca->events; n = n->next) {
		struct event_source *src = node_entry(n, struct event_source, node);
		uint32_t left = to_tell(hca, src);

		while (left) {
			*type = (unsigned int)__builtin_ctz(left);
			if (eq_for(hca, src, *type))
				return src;
			left &= left - 1;
		}
	}
	return NULL;
}

bool event_pending(const struct hca *hca, struct hca_work *w)
{
	unsigned int type;

	if (!event_next(hca, &type))
		return false;
	*w = (struct hca_work){.bytes = hca->pers->eqe_size, .items = 1};
	return true;
}

hca_ps event_since(const struct hca *hca)
{
	unsigned int type;
	const struct event_source *src = event_next(hca, &type);

	return src ? src->since : 0;
}

static void eqe_written(struct hca *hca, struct dma_ctx *c, bool stale)
{
}

void event_step(struct hca *hca)
{
	unsigned int type;
	struct event_source *src = event_next(hca, &type);
	struct eq *eq = eq_for(hca, src, type);
	struct dma_ctx *c = dma_get(hca, NULL, HCA_DMA_EQE, true);
	struct hca_event ev = {.type = (uint8_t)type, .port = src->port, .number = src->number};

	src->pending &= ~(1u << type);
	if (!src->pending)
		list_del(&src->node);
	if (!c)
		return;
	ev.timestamp = hca_now(hca);
	hca->pers->encode_eqe(&ev, !(eq->pi / eq->ring.entries & 1), c->buf);
	c->fn = eqe_written;
	c->d.split = EQE_VALID_BYTES;
	dma_one(hca, c, eq->ring.pasid,
		eq->ring.addr + (uint64_t)(eq->pi & (eq->ring.entries - 1)) * eq->ring.stride, c->buf,
		hca->pers->eqe_size);
	eq->pi++;
	hca->count[0].eqes++;
	hca->ops.msix(hca->host, eq->vector);
}
