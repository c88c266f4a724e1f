// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory of decoded WQEs, and kinds of operations. */
#include "core/requester/requester.h"

static const uint32_t wqe_caps[4] = {64, 128, 256, HCA_WQE_MAX};

/* Memory for `raw_len` bytes and for as many SGEs as they can hold. */
struct wqe *wqe_get(struct hca *hca, uint32_t raw_len)
{
	unsigned int i = 0;
	struct wqe *w;

	while (wqe_caps[i] < raw_len)
		i++;
	w = hca->wqe_pool[i];
	if (w)
		hca->wqe_pool[i] = w->next;
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

void wqe_put(struct hca *hca, struct wqe *w)
{
	unsigned int i = 0;

	if (--w->refs)
		return;
	while (wqe_caps[i] != w->cap)
		i++;
	w->next = hca->wqe_pool[i];
	hca->wqe_pool[i] = w;
}

bool op_reads(uint8_t op)
{
	return op == HCASIM_WQE_OP_RDMA_READ || op == HCASIM_WQE_OP_ATOMIC_CS ||
	       op == HCASIM_WQE_OP_ATOMIC_FA;
}

bool op_answered(uint8_t op)
{
	return op_reads(op) || op == HCASIM_WQE_OP_FLUSH || op == HCASIM_WQE_OP_ATOMIC_WRITE;
}

bool op_local(uint8_t op)
{
	return op == HCASIM_WQE_OP_NOP || op == HCASIM_WQE_OP_BIND_MW || op == HCASIM_WQE_OP_LOCAL_INV;
}
