// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * struct ibv_qp_ex has grown at its end (wr_atomic_write, wr_flush) within one private ABI of libibverbs: 44 and 56
 * both load plugins of number 34. So the members after it in struct verbs_qp, comp_mask and xrcd, may have other
 * offsets in the loaded libibverbs than in the headers of this build. No other shared structure differs between the
 * two (tests/layout.c compares them).
 */
#include <string.h>

#include "hcasim.h"

#define FIRST_OP offsetof(struct ibv_qp_ex, wr_atomic_cmp_swp)

/*
 * sizeof(struct ibv_qp_ex) in the loaded libibverbs, up to that of the headers; 0 if it is unknown. Found by calling
 * ibv_qp_to_qp_ex(3), which reads comp_mask, right after the structure.
 */
size_t hcasim_qp_ex_size(void)
{
	union {
		struct verbs_qp vqp;
		uint8_t bytes[sizeof(struct verbs_qp) + 256]; /* a later release may read further */
	} probe;
	const uint32_t mask = VERBS_QP_EX;
	size_t size;

	for (size = sizeof(struct ibv_qp_ex); size >= offsetof(struct ibv_qp_ex, wr_atomic_write);
	     size -= sizeof(void (*)(void))) {
		memset(&probe, 0, sizeof(probe));
		memcpy(probe.bytes + size, &mask, sizeof(mask));
		if (ibv_qp_to_qp_ex(&probe.vqp.qp))
			return size;
	}
	return 0;
}

/* Those IBV_QP_EX_WITH_* for which the caller's struct ibv_qp_ex has no function. */
uint64_t hcasim_absent_send_ops(size_t qp_ex_size)
{
	uint64_t ops = 0;

	if (qp_ex_size <= offsetof(struct ibv_qp_ex, wr_flush))
		ops |= IBV_QP_EX_WITH_FLUSH;
	if (qp_ex_size <= offsetof(struct ibv_qp_ex, wr_atomic_write))
		ops |= IBV_QP_EX_WITH_ATOMIC_WRITE;
	return ops;
}

/* Turns it into an extended QP: as many of `ops` as the structure has, and the mark for ibv_qp_to_qp_ex(3). */
void hcasim_qp_extend(struct hcasim_qp *qp, const struct ibv_qp_ex *ops)
{
	uint8_t *base = (uint8_t *)&qp->vqp;
	size_t size = qp->ctx->qp_ex_size;
	size_t ops_size = size - FIRST_OP;
	uint32_t mask;

	memcpy(base + FIRST_OP, (const uint8_t *)ops + FIRST_OP, ops_size);
	memcpy(&mask, base + size, sizeof(mask));
	mask |= VERBS_QP_EX;
	memcpy(base + size, &mask, sizeof(mask));
}
