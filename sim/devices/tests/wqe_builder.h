/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Builds native WQEs for the tests, segment after segment, from the layouts of spec/families/native.yaml. */
#ifndef HCASIM_WQE_BUILDER_H
#define HCASIM_WQE_BUILDER_H

#include "devices/native/format/format.h"
#include "hcasim_hw.h"
#include "hcasim_wr.h"

#define TEST_QPN   0x123456u
#define TEST_INDEX 0xfffeu

struct wqe_builder {
	uint8_t raw[HCA_WQE_MAX + 64];
	uint32_t len;
	uint8_t qp_type;
	/* Offsets of what was put in, 0 if absent. */
	uint32_t ud, xrc, remote, atomic, bind, tso, flush, data;
};

static inline struct hcasim_wqe_ctrl *wqe_ctrl(struct wqe_builder *b)
{
	return (struct hcasim_wqe_ctrl *)b->raw;
}

/* A correct WQE of `op` for a QP type; `num_sge` SGEs of 16 bytes where the operation takes them. */
void wqe_build(struct wqe_builder *b, uint8_t op, uint8_t qp_type, uint32_t num_sge);
/* The same with inline data of `length` bytes, which count up from 0. */
void wqe_build_inline(struct wqe_builder *b, uint8_t op, uint8_t qp_type, uint32_t length);
/* Appends bytes; the size in ctrl follows. */
uint32_t wqe_append(struct wqe_builder *b, const void *bytes, uint32_t len);

struct wqe_result {
	struct hca_wr wr;
	struct hca_sge sge[HCASIM_MAX_SGE + 2];
	uint8_t vendor, status;
};

void wqe_decode(struct wqe_builder *b, struct wqe_result *r);

#endif
