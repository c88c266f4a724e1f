/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Decoders of the segments of a native WQE. Each returns 0 or HCASIM_VENDOR_ERR_*. */
#ifndef HCASIM_DEVICES_NATIVE_FORMAT_SEGMENT_H
#define HCASIM_DEVICES_NATIVE_FORMAT_SEGMENT_H

#include "core/personality.h"
#include "hcasim_hw.h"

/* What is left of a WQE. The bytes come from host memory: nothing about them is known to be true. */
struct native_cursor {
	const uint8_t *at;
	uint32_t left;
};

/* Copies the next `size` bytes to `seg`, which may be stricter aligned than they are. False: not there. */
bool native_take(struct native_cursor *cur, void *seg, uint32_t size);

uint8_t native_seg_ud(struct native_cursor *cur, struct hca_wr *wr);
uint8_t native_seg_xrc(struct native_cursor *cur, struct hca_wr *wr);
/* `seg`: enum hcasim_wqe_seg. On an error *status is the completion's, if it is not LOC_QP_OP_ERR. */
uint8_t native_segment(uint8_t seg, struct native_cursor *cur, struct hca_wr *wr, uint8_t *status);
uint8_t native_sge_list(struct native_cursor *cur, struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge);
uint8_t native_inline(struct native_cursor *cur, struct hca_wr *wr);

#endif
