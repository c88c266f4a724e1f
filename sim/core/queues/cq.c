// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues: the ring, its consumer index, and arming (IBTA 11.4.2). */
#include "core/memory/memory.h"
#include "core/queues/queues.h"
#include "core/queues/tags.h"

#define PS_PER_US       1000000ull
#define CQE_VALID_BYTES 8 /* the last bytes of a CQE become visible last */

static void moderated(struct hca *hca, struct timer *t);

int hca_cq_create(struct hca *hca, const struct hca_cq_attr *attr, uint32_t *cqn)
{
	struct cq *cq;

	cq = calloc(1, sizeof(*cq));
	if (!cq || numbers_add(&hca->cq, cq, &cq->number)) {
		free(cq);
		return -ENOMEM;
	}
	cq->ring = attr->ring;
	cq->record = attr->record;
	cq->eqn = attr->eqn;
	cq->uar_page = attr->uar_page;
	cq->refs = 1;
	cq->ev.number = cq->number;
	cq->ev.cq = cq;
	cq->mod_timer.fire = moderated;
	list_init(&cq->sends);
	list_init(&cq->recvs);
	list_init(&cq->srqs);
	*cqn = cq->number;
	return 0;
}

void cq_put(struct hca *hca, struct cq *cq)
{
	if (!--cq->refs)
		free(cq);
}

static void cq_remove(struct hca *hca, struct cq *cq)
{
	event_cancel(hca, &cq->ev);
	timer_cancel(hca, &cq->mod_timer);
	list_set(&hca->recover_cq, &cq->recover, false);
	numbers_remove(&hca->cq, cq->number);
	cq->dead = true;
	cq_put(hca, cq);
}

int hca_cq_destroy(struct hca *hca, uint32_t cqn)
{
	struct cq *cq = cq_find(hca, cqn);

	if (!cq)
		return -EINVAL;
	if (!list_empty(&cq->sends) || !list_empty(&cq->recvs) || !list_empty(&cq->srqs))
		return -EBUSY;
	cq_remove(hca, cq);
	hca_announce(hca);
	return 0;
}

void cq_free_all(struct hca *hca)
{
	uint32_t cqn = 0;
	struct cq *cq;

	while ((cq = numbers_from(&hca->cq, cqn, &cqn)))
		cq_remove(hca, cq);
	numbers_free(&hca->cq);
}

static void cqe_written(struct hca *hca, struct dma_ctx *c, bool stale)
{
	struct cq *cq = c->cq;

	marks_set(hca, c);
	hca->cqe_writes--;
	cq_put(hca, cq);
}

/* With the adapter's index after it, if the software reads that instead of the entry. */
static void cqe_place(struct hca *hca, const struct cq *cq, struct dma_ctx *c)
{
	const uint32_t size = cq->ring.stride, place = cq->pi & (cq->ring.entries - 1);
	const uint64_t addr = cq->ring.addr + (uint64_t)place * size;
	const uint32_t next = htole32((cq->pi + 1) & (cq->ring.entries - 1));

	if (!hca->pers->shared.on) {
		dma_one(hca, c, cq->ring.pasid, addr, c->buf, size);
		return;
	}
	memcpy(c->buf + size, &next, sizeof(next));
	c->d.pasid = cq->ring.pasid;
	c->d.buf = c->buf;
	c->d.len = size + sizeof(next);
	c->d.seg[0] = (struct hca_dma_seg){addr, size, 0};
	c->d.seg[1] = (struct hca_dma_seg){cq->record + (uint64_t)(int64_t)hca->pers->shared.producer,
					   sizeof(next), 0};
	c->d.nseg = 2;
	dma_go(hca, c);
}

static void cqe_put(struct hca *hca, struct cq *cq, const struct hca_cpl *cpl, uint32_t qpn)
{
	struct dma_ctx *c = dma_get(hca, NULL, HCA_DMA_CQE, true);
	const uint32_t size = cq->ring.stride;

	if (!c)
		return;
	c->fn = cqe_written;
	c->cq = cq;
	cq->refs++;
	hca->cqe_writes++;
	c->d.qpn = qpn;
	c->d.split = hca->pers->shared.on ? sizeof(uint32_t) : CQE_VALID_BYTES;
	hca->pers->encode_cqe(cpl, !(cq->pi / cq->ring.entries & 1), c->buf, size);
	if (hca->ops.saw_cqe && !hca->dying)
		hca->ops.saw_cqe(hca->host, cq->number, cpl, c->buf, size);
	marks_note(hca, c, cpl);
	cqe_place(hca, cq, c);
	cq->pi++;
	hca->count[0].cqes++;
}

/* Ignore a consumer index out of range: it is an error of the software. */
static void cq_consumed(struct cq *cq, uint32_t ci)
{
	if (cq->pi - ci <= cq->ring.entries && (int32_t)(ci - cq->ci) > 0)
		cq->ci = ci;
	if ((int32_t)(cq->notified - cq->ci) < 0)
		cq->notified = cq->ci;
}

void hca_cq_indices(const struct hca *hca, uint32_t cqn, uint32_t *ci, uint32_t *pi)
{
	const struct cq *cq = cq_find(hca, cqn);

	*ci = cq ? cq->ci : 0;
	*pi = cq ? cq->pi : 0;
}

/*
 * The RESIZE entry ends the old ring, unless the software sees the adapter's index. Where the free-running index
 * continues in the new one depends on the family: software copies entries that are not polled yet to the places before.
 */
int hca_cq_resize(struct hca *hca, uint32_t cqn, const struct hca_cq_attr *attr, uint32_t ci)
{
	struct hca_cpl last = {.op = HCASIM_CQE_OP_RESIZE, .vlan = 0xffff, .timestamp = hca_now(hca)};
	struct cq *cq = cq_find(hca, cqn);
	uint32_t skip;

	if (!cq || !hca->pers->resized_cq_index)
		return -EINVAL;
	cq_consumed(cq, ring_index(hca, &cq->ring, cq->ci, ci, hca->pers->ci_bits));
	if (cq->pi - cq->ci > ring_room(hca, &attr->ring)) /* IBTA 11.2.8.4 */
		return -EINVAL;
	if (cq->pi - cq->ci == cq->ring.entries)
		return -EBUSY;
	if (!hca->pers->shared.on) {
		cqe_put(hca, cq, &last, 0);
		cq->pi--;
	}
	skip = hca->pers->resized_cq_index(cq->pi, attr->ring.entries) - cq->pi;
	cq->pi += skip;
	cq->ci += skip;
	cq->last_solicited += skip;
	cq->notified += skip;
	cq->ring = attr->ring;
	cq->record = attr->record;
	hca_announce(hca);
	return 0;
}

/* ---- Consumer index ---- */

/* CQ of the next receive completion; NULL: its XRC SRQ is destroyed, drop the completion. */
struct cq *qp_next_recv_cq(const struct qp *qp)
{
	const struct srq *srq = qp->resp.cpl.head ? qp->resp.cpl.head->srq : qp->rq.srq;

	if (qp->c.type == HCASIM_QPT_XRC_RECV)
		return srq && !srq->dead ? srq->cq : NULL;
	return qp->srq && qp->srq->tags ? qp->srq->cq : qp->recv_cq;
}

static void overrun_qp(struct hca *hca, struct qp *qp)
{
	event_raise(hca, &qp->ev, HCASIM_EQE_TYPE_QP_FATAL);
	qp_error(hca, qp);
	qp_update(hca, qp);
}

/* Every QP that may complete here: for an XRC_RECV QP the SRQ of a message determines the CQ. */
static void for_qps_of(struct hca *hca, struct cq *cq, void (*fn)(struct hca *hca, struct qp *qp))
{
	struct node *n;

	for (n = cq->sends.next; n != &cq->sends; n = n->next)
		fn(hca, node_entry(n, struct qp, on_send_cq));
	for (n = cq->recvs.next; n != &cq->recvs; n = n->next)
		if (node_entry(n, struct qp, on_recv_cq)->send_cq != cq)
			fn(hca, node_entry(n, struct qp, on_recv_cq));
	for (n = hca->srq_cq_qps.next; n != &hca->srq_cq_qps; n = n->next)
		if (fn == qp_update || qp_next_recv_cq(node_entry(n, struct qp, on_srq_cq)) == cq)
			fn(hca, node_entry(n, struct qp, on_srq_cq));
}

static void cq_overrun(struct hca *hca, struct cq *cq)
{
	cq->error = true;
	event_raise(hca, &cq->ev, HCASIM_EQE_TYPE_CQ_ERR);
	srq_cq_failed(hca, cq);
	for_qps_of(hca, cq, overrun_qp);
}

void cq_wake(struct hca *hca, struct cq *cq)
{
	struct node *n;

	for (n = cq->srqs.next; n != &cq->srqs; n = n->next)
		tag_ops_update(hca, node_entry(n, struct srq, on_cq));
	for_qps_of(hca, cq, qp_update);
}

static void cq_record_read(struct hca *hca, struct dma_ctx *c, bool stale)
{
	struct hca_cq_record rec;
	struct cq *cq = c->cq;

	hca->pers->decode_cq_record(c->buf, &rec);
	if (!cq->dead && c->d.seg[0].addr != cq->record) { /* it was resized meanwhile */
		cq_read_record(hca, cq);
	} else if (!cq->dead) {
		uint32_t ci = ring_index(hca, &cq->ring, cq->ci, rec.ci, hca->pers->ci_bits);
		bool stalled = cq->stalled;

		cq->stalled = false;
		if (!c->d.status) {
			cq_consumed(cq, ci);
			if (cq->arm_lost)
				cq_armed(hca, cq, rec.arm_sn, rec.solicited, ci);
			cq->arm_lost = false;
		}
		if (stalled && cq->pi - cq->ci >= ring_room(hca, &cq->ring))
			cq_overrun(hca, cq);
		if (stalled)
			cq_wake(hca, cq);
	}
	cq_put(hca, cq);
}

void cq_read_record(struct hca *hca, struct cq *cq)
{
	struct dma_ctx *c = dma_get(hca, NULL, HCA_DMA_RECORD, false);

	if (!c)
		return;
	c->fn = cq_record_read;
	c->cq = cq;
	cq->refs++;
	dma_one(hca, c, cq->ring.pasid, cq->record, c->buf, hca->pers->cq_record_size);
}

bool cq_has_room(struct hca *hca, struct cq *cq)
{
	if (cq->error || cq->pi - cq->ci < ring_room(hca, &cq->ring))
		return true;
	cq->stalled = true;
	cq_read_record(hca, cq);
	return false;
}

/* ---- Arm ---- */

static void cq_fire(struct hca *hca, struct cq *cq, uint32_t notified)
{
	timer_cancel(hca, &cq->mod_timer);
	cq->held = 0;
	cq->arm = CQ_UNARMED;
	cq->event_sn = cq->arm_sn;
	cq->had_event = true;
	cq->notified = notified;
	event_raise(hca, &cq->ev, HCASIM_EQE_TYPE_COMP);
}

/*
 * The event of an armed CQ is due after `n` completions: immediately, for completions before `notified`; or according to
 * moderation, for all completions.
 */
static void cq_due(struct hca *hca, struct cq *cq, uint32_t n, uint32_t notified)
{
	if (!cq->mod_count && !cq->mod_us) {
		cq_fire(hca, cq, notified);
		return;
	}
	cq->held += n;
	if (cq->mod_count && cq->held >= cq->mod_count)
		cq_fire(hca, cq, cq->pi);
	else if (cq->mod_us && !cq->mod_timer.at.pos)
		timer_set(hca, &cq->mod_timer, hca_now(hca) + cq->mod_us * PS_PER_US);
}

static void moderated(struct hca *hca, struct timer *t)
{
	struct cq *cq = node_entry(t, struct cq, mod_timer);

	if (cq->held)
		cq_fire(hca, cq, cq->pi);
}

/* QPs that wait check again. */
int hca_cq_moderate(struct hca *hca, uint32_t cqn, uint16_t count, uint16_t us)
{
	struct cq *cq = cq_find(hca, cqn);

	if (!cq)
		return -EINVAL;
	cq->mod_count = count;
	cq->mod_us = us;
	timer_cancel(hca, &cq->mod_timer);
	if (cq->held)
		cq_due(hca, cq, 0, cq->pi);
	hca_announce(hca);
	return 0;
}

/*
 * One event per arming. If the sequence number of an arm is that of an event already sent, arm and event have
 * crossed: the software gets the event, and arms again with the next number. A solicited-only arm does not replace
 * one for every completion (IBTA 11.4.2.2).
 *
 * A completion that arrived while the CQ was not armed raises its event now, unless an event has reported it:
 * programs take an event, arm, and only then poll (perftest polls one CQE for each event).
 */
void cq_armed(struct hca *hca, struct cq *cq, uint8_t sn, bool solicited, uint32_t ci)
{
	uint8_t newer = (sn - cq->event_sn) & 3;

	if (cq->had_event && newer != 1 && newer != 2)
		return;
	cq->arm_sn = sn;
	cq_consumed(cq, ci);
	if (!solicited)
		cq->arm = CQ_ARM_ANY;
	else if (cq->arm == CQ_UNARMED)
		cq->arm = CQ_ARM_SOLICITED;
	if (cq->pi - ci > cq->ring.entries)
		return;
	if (cq->held)
		return;
	if (cq->arm == CQ_ARM_ANY && cq->pi != cq->notified)
		cq_due(hca, cq, cq->pi - cq->notified, cq->notified + 1);
	else if (cq->arm == CQ_ARM_SOLICITED && (int32_t)(cq->last_solicited - cq->notified) > 0)
		cq_due(hca, cq, cq->last_solicited - cq->notified, cq->last_solicited);
}

void cq_doorbell(struct hca *hca, const struct hca_doorbell *db, uint32_t page)
{
	struct cq *cq = cq_find(hca, db->number);

	if (cq && cq->uar_page == page)
		cq_armed(hca, cq, db->arm_sn, db->solicited,
			 ring_index(hca, &cq->ring, cq->ci, db->value, hca->pers->ci_bits));
}

void cq_write(struct hca *hca, struct cq *cq, const struct hca_cpl *cpl)
{
	const bool quiet = cpl->op == HCASIM_CQE_OP_REQ && hca->pers->only_new_events;
	const bool solicited = cpl->solicited || (cpl->status != HCASIM_CQE_STATUS_OK && !quiet);

	if (cq->error)
		return;
	cqe_put(hca, cq, cpl, cpl->qpn);
	if (solicited)
		cq->last_solicited = cq->pi;
	if (cq->arm == CQ_ARM_ANY || (cq->arm == CQ_ARM_SOLICITED && (solicited || cq->held)))
		cq_due(hca, cq, 1, cq->pi);
}
