// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QP number to QP, for completions. Pollers look up without a lock: what they find stays valid
 * because a QP leaves the table under the locks of both its CQs. Writers hold ctx->qp_lock.
 */
#include <errno.h>
#include <stdlib.h>

#include "hcasim.h"

static _Atomic(struct hcasim_qp_leaf *) *leaf_of(struct hcasim_context *ctx, uint32_t qpn)
{
	return &ctx->qp_table[(qpn >> HCASIM_QP_TABLE_BITS) & (HCASIM_QP_TABLE_SIZE - 1)];
}

struct hcasim_qp *hcasim_qp_find(struct hcasim_context *ctx, uint32_t qpn)
{
	struct hcasim_qp_leaf *leaf = atomic_load_explicit(leaf_of(ctx, qpn), memory_order_acquire);

	if (!leaf)
		return NULL;
	return atomic_load_explicit(&leaf->qp[qpn & (HCASIM_QP_TABLE_SIZE - 1)], memory_order_acquire);
}

int hcasim_qp_insert(struct hcasim_context *ctx, struct hcasim_qp *qp)
{
	uint32_t qpn = qp->vqp.qp.qp_num;
	struct hcasim_qp_leaf *leaf;

	/* Leaves live as long as the context: a poller may stand in one at any time. */
	leaf = atomic_load_explicit(leaf_of(ctx, qpn), memory_order_relaxed);
	if (!leaf) {
		leaf = calloc(1, sizeof(*leaf));
		if (!leaf)
			return ENOMEM;
		atomic_store_explicit(leaf_of(ctx, qpn), leaf, memory_order_release);
	}
	atomic_store_explicit(&leaf->qp[qpn & (HCASIM_QP_TABLE_SIZE - 1)], qp, memory_order_release);
	return 0;
}

void hcasim_qp_remove(struct hcasim_context *ctx, uint32_t qpn)
{
	struct hcasim_qp_leaf *leaf = atomic_load_explicit(leaf_of(ctx, qpn), memory_order_relaxed);

	if (leaf)
		atomic_store_explicit(&leaf->qp[qpn & (HCASIM_QP_TABLE_SIZE - 1)], NULL,
				      memory_order_release);
}

void hcasim_qp_table_free(struct hcasim_context *ctx)
{
	uint32_t i;

	for (i = 0; i < HCASIM_QP_TABLE_SIZE; i++)
		free(atomic_load_explicit(&ctx->qp_table[i], memory_order_relaxed));
}
