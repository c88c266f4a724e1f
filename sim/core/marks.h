/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How far a queue pair's completions have come, in memory that outlives the process of the adapter. */
#ifndef HCASIM_CORE_MARKS_H
#define HCASIM_CORE_MARKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hca;

/* Indices behind the newest completions that are in memory, as in struct hca_cpl; 0 after RESET. */
struct hca_marks {
	uint16_t sq, rq;
};

/* The core keeps `marks` until the QP is destroyed; NULL: no longer. -EINVAL: there is no such QP. */
int hca_qp_marks(struct hca *hca, uint32_t qpn, struct hca_marks *marks);

#ifdef __cplusplus
}
#endif
#endif
