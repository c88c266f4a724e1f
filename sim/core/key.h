/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Commands of the driver for indirect keys; those for other keys are in hca.h. */
#ifndef HCASIM_CORE_KEY_H
#define HCASIM_CORE_KEY_H

#include "core/hca.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Indirect keys: their memory consists of ranges of other keys, which a work request sets (struct hca_bind). Until then,
 * and after an invalidation, they cannot be used. Software chooses the tag. Their number is limited by max_mr.
 */
struct hca_key_attr {
	uint32_t pdn;
	uint32_t max_parts; /* ranges */
	uint8_t tag;
	bool remote_inv; /* the peer may invalidate it (SEND_INV) */
};
int hca_key_create(struct hca *hca, const struct hca_key_attr *attr, uint32_t *key);
int hca_key_destroy(struct hca *hca, uint32_t key); /* uses the index only */

#ifdef __cplusplus
}
#endif
#endif
