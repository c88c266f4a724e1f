/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reaction point of DCQCN: the rate of one flow (Zhu et al., Congestion Control for Large-Scale RDMA Deployments,
 * SIGCOMM 2015, section 3.1 and figure 7). Without timers: the caller has them, and says when they fire.
 */
#ifndef HCASIM_CORE_BASE_DCQCN_H
#define HCASIM_CORE_BASE_DCQCN_H

#include "core/hca.h"

#define DCQCN_ONE 65536u /* alpha and g are fractions of it */

struct dcqcn {
	bool limited;          /* since a notification, until the rate is that of the line again */
	uint32_t rate, target; /* kbit/s: RC, RT */
	uint32_t alpha;
	uint32_t timeouts,
		laps;   /* expirations of the timer and of the byte counter since the last cut: T, BC */
	uint64_t bytes; /* since the byte counter expired last */
};

/* A notification came: the rate is cut. `line`: kbit/s. */
void dcqcn_cut(struct dcqcn *d, const struct hca_dcqcn *cfg, uint32_t line);
/* No notification for the time of alpha's timer. */
void dcqcn_decay(struct dcqcn *d, const struct hca_dcqcn *cfg);
/* The timer of the rate has expired. */
void dcqcn_timeout(struct dcqcn *d, const struct hca_dcqcn *cfg, uint32_t line);
/* A packet was sent. True: the byte counter has expired, and the rate may be another one. */
bool dcqcn_sent(struct dcqcn *d, const struct hca_dcqcn *cfg, uint32_t line, uint32_t bytes);

#endif
