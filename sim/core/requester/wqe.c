// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory of decoded WQEs, and classes of operations. */
#include "core/requester/sq.h"

#include "hcasim_ops.h"

static const uint32_t wqe_caps[4] = {64, 128, 256, HCA_WQE_MAX};

/* Allocates `raw_len` bytes and as many SGEs as they can hold. */
struct wqe *wqe_get(struct engine *e, uint32_t raw_len)
{
	unsigned int i = 0;
	struct wqe *w;

	while (wqe_caps[i] < raw_len)
		i++;
	w = e->wqe_pool[i];
	if (w)
		e->wqe_pool[i] = w->next;
	else
		w = malloc(sizeof(*w) + 2 * wqe_caps[i]);
	if (!w)
		return NULL;
	memset(w, 0, sizeof(*w));
	w->cap = wqe_caps[i];
	w->raw = w->mem;
	w->refs = 1;
	return w;
}

void wqe_put(struct engine *e, struct wqe *w)
{
	unsigned int i = 0;

	if (--w->refs)
		return;
	while (wqe_caps[i] != w->cap)
		i++;
	w->next = e->wqe_pool[i];
	e->wqe_pool[i] = w;
}

bool op_reads(uint8_t op)
{
	const struct hcasim_wqe_op_info *info = hcasim_wqe_op_info(op);

	return info && info->result;
}

bool op_answered(uint8_t op)
{
	const struct hcasim_wqe_op_info *info = hcasim_wqe_op_info(op);

	return info && info->answered;
}

bool op_local(uint8_t op)
{
	const struct hcasim_wqe_op_info *info = hcasim_wqe_op_info(op);

	return info && info->local;
}

/* Of these bytes of the payload, those that are not inside the WQE. */
struct engine_lookup wqe_lookup(const struct sq *sq, const struct wqe *w, uint64_t off, uint64_t len,
				uint32_t access)
{
	const uint64_t lead = w->wr.lead_len, skip = off < lead ? lead - off : 0;

	return (struct engine_lookup){
		.pdn = sq->c.pdn,
		.access = access,
		.sge = w->wr.sge,
		.num_sge = w->wr.num_sge,
		.off = off + skip - lead,
		.len = len > skip ? len - skip : 0,
	};
}
