/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The formats of the native adapter (spec/families/native.yaml): its WQEs, CQEs, EQEs and doorbells. */
#ifndef HCASIM_DEVICES_NATIVE_FORMAT_H
#define HCASIM_DEVICES_NATIVE_FORMAT_H

#include "core/personality.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct hca_personality native_personality;

/* The parts of native_personality; personality.h says what each does. */
uint32_t native_wqe_size(const void *head);
uint8_t native_decode_wqe(const void *raw, uint32_t len, uint8_t qp_type, uint32_t qpn, uint16_t index,
			  struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge, uint8_t *status);
uint8_t native_decode_rqe(const void *raw, uint32_t len, uint16_t index, struct hca_rwr *wr,
			  struct hca_sge *sge, uint32_t max_sge);
uint8_t native_decode_tm_op(const void *raw, uint16_t index, struct hca_tm_op *op);
uint32_t native_encode_wqe(const struct hca_wr *wr, uint32_t qpn, void *raw);
void native_encode_cqe(const struct hca_cpl *cpl, unsigned int phase, void *raw, uint32_t size);
void native_decode_doorbell(uint32_t offset, const void *data, uint32_t size, struct hca_doorbell *db);

#ifdef __cplusplus
}
#endif
#endif
