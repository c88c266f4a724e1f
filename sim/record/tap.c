// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "record/tap.h"

struct out *tap_start(struct tap *t)
{
	t->fields.len = 0;
	return &t->fields;
}

void tap_event(struct tap *t, uint8_t kind, uint64_t hca, uint64_t v)
{
	struct out *o = tap_start(t);

	put_uint(o, hca);
	put_uint(o, v);
	t->event(t, kind);
}

/* Times around now, so that those of a replay from another start were equal. */
static void put_time(const struct tap *t, struct out *o, hca_ps at)
{
	put_int(o, (int64_t)(at - machine_now(t->machine)));
}

static void saw_frame(void *ctx, hca_ps time, const void *data, uint32_t len)
{
	struct tap *t = ctx;
	struct out *o = tap_start(t);

	put_time(t, o, time);
	put_bytes(o, data, len);
	t->event(t, EVENT_FRAME);
}

static void saw_fault(void *ctx, hca_ps time, unsigned int from, const char *what, uint32_t len)
{
	struct tap *t = ctx;
	struct out *o = tap_start(t);

	put_time(t, o, time);
	put_uint(o, from);
	put_text(o, what);
	put_uint(o, len);
	t->event(t, EVENT_FAULT);
}

static void saw_tlp(void *ctx, const struct trace_tlp *tlp)
{
	struct tap *t = ctx;
	struct out *o = tap_start(t);

	put_uint(o, tlp->adapter);
	put_uint(o, tlp->up);
	put_text(o, tlp->type);
	put_time(t, o, tlp->start);
	put_time(t, o, tlp->arrival);
	put_uint(o, tlp->addr);
	put_uint(o, tlp->bar);
	put_uint(o, tlp->len);
	put_int(o, tlp->tagged ? tlp->tag : -1);
	put_int(o, tlp->dma ? (int)tlp->class_ : -1);
	put_uint(o, tlp->pasid);
	put_uint(o, tlp->qpn);
	put_int(o, tlp->tph.on ? tlp->tph.ph << 8 | tlp->tph.st : -1);
	put_bytes(o, tlp->data, tlp->data ? tlp->len : 0);
	t->event(t, EVENT_TLP);
}

static void saw_wqe(void *ctx, unsigned int adapter, uint32_t qpn, const struct hca_wr *wr, const void *raw,
		    uint32_t len)
{
	struct tap *t = ctx;
	struct out *o = tap_start(t);

	put_uint(o, adapter);
	put_uint(o, qpn);
	put_uint(o, wr->index);
	put_uint(o, wr->op);
	put_uint(o, wr->num_bb);
	put_uint(o, wr->flags);
	put_uint(o, wr->length);
	put_bytes(o, raw, len);
	t->event(t, EVENT_WQE);
}

static void saw_cqe(void *ctx, unsigned int adapter, uint32_t cqn, const struct hca_cpl *cpl, const void *raw,
		    uint32_t len)
{
	struct tap *t = ctx;
	struct out *o = tap_start(t);

	put_uint(o, adapter);
	put_uint(o, cqn);
	put_uint(o, cpl->qpn);
	put_uint(o, cpl->op);
	put_uint(o, cpl->wqe_op);
	put_uint(o, cpl->wqe_index);
	put_uint(o, cpl->status);
	put_uint(o, cpl->vendor_err);
	put_uint(o, cpl->byte_count);
	put_bytes(o, raw, len);
	t->event(t, EVENT_CQE);
}

const struct trace_observer tap_observer = {
	.frame = saw_frame, .fault = saw_fault, .tlp = saw_tlp, .wqe = saw_wqe, .cqe = saw_cqe};
