/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The kernel driver of skeleton: declarations shared by its files. */
#ifndef HCASIM_SKELETON_DRIVER_H
#define HCASIM_SKELETON_DRIVER_H

#include "devices/common/common.h"
#include "hcasim_counters.h"
#include "hcasim_skeleton.h"

struct skeleton_dev {
	struct common_dev base; /* must be first */
};

extern const struct drv_ops skeleton_drv_ops;

#endif
