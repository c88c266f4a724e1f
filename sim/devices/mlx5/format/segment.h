/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Decoders of the segments of an mlx5 WQE. Each returns 0 or HCASIM_VENDOR_ERR_*. */
#ifndef HCASIM_DEVICES_MLX5_FORMAT_SEGMENT_H
#define HCASIM_DEVICES_MLX5_FORMAT_SEGMENT_H

#include "core/personality.h"
#include "hcasim_mlx5.h"

/* What is left of a WQE. The bytes come from the memory of a program: nothing about them is known to be true. */
struct mlx5_cursor {
	const uint8_t *at;
	uint32_t left;
};

/* Copies the next `size` bytes to `seg`, which may be stricter aligned than they are. False: not there. */
bool mlx5_take(struct mlx5_cursor *cur, void *seg, uint32_t size);

/* The segment that follows ctrl on QPs of this type, if the type has one. */
uint8_t mlx5_seg_address(uint8_t qp_type, struct mlx5_cursor *cur, struct hca_wr *wr);
uint8_t mlx5_segment(uint8_t seg, struct mlx5_cursor *cur, struct hca_wr *wr);
/* hca_personality.key_part */
void mlx5_key_part(const struct hca_bind *bind, uint32_t i, struct hca_key_part *out);
/* SGEs up to the end of the WQE, or inline data. */
uint8_t mlx5_data(struct mlx5_cursor *cur, struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge);
/* SGEs of a receive WQE, which end early at INVALID_LKEY. */
uint8_t mlx5_scatter_list(struct mlx5_cursor *cur, struct hca_rwr *wr, struct hca_sge *sge, uint32_t max_sge);

#endif
