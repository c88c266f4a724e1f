// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* WQEs, completions and doorbells as the provider of skeleton lays them out. So far there are only events. */
#include "devices/common/common.h"
#include "format.h"

const struct hca_personality skeleton_personality = {
	.name = "skeleton",
	.adapter = "rxe_skeleton", /* librxe takes all adapters whose names begin with rxe */
	.wqebb_size = 64,
	.cqe_size = 64,
	.eqe_size = sizeof(struct hcasim_eqe),
	.uar = {.page_size = 4096},
	.dm = {.bar = 2},
	.encode_eqe = common_encode_eqe,
};
