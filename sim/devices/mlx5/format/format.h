/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The formats of the mlx5 family (spec/families/mlx5.yaml): WQEs, CQEs, doorbells and doorbell records. */
#ifndef HCASIM_DEVICES_MLX5_FORMAT_H
#define HCASIM_DEVICES_MLX5_FORMAT_H

#include "core/personality.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct hca_personality mlx5_personality;

/* The parts of mlx5_personality; personality.h says what each does. */
uint32_t mlx5_wqe_size(const void *head);
uint8_t mlx5_decode_wqe(const void *raw, uint32_t len, uint8_t qp_type, uint32_t qpn, uint16_t index,
			struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge, uint8_t *status);
uint8_t mlx5_decode_rqe(const void *raw, uint32_t len, uint16_t index, struct hca_rwr *wr,
			struct hca_sge *sge, uint32_t max_sge);
uint8_t mlx5_decode_srqe(const void *raw, uint32_t len, uint16_t index, struct hca_rwr *wr,
			 struct hca_sge *sge, uint32_t max_sge);
void mlx5_encode_cqe(const struct hca_cpl *cpl, unsigned int phase, void *raw, uint32_t size);
void mlx5_decode_doorbell(uint32_t offset, const void *data, uint32_t size, struct hca_doorbell *db);
/* Index behind a WQE, basic blocks, from the first 8 bytes of its control segment. */
uint16_t mlx5_index_after(const void *ctrl);

#ifdef __cplusplus
}
#endif
#endif
