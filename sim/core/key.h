/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Indirect keys; the commands are in hca.h. */
#ifndef HCASIM_CORE_KEY_H
#define HCASIM_CORE_KEY_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
