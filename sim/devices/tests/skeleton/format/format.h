/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The formats of skeleton (spec/families/skeleton.yaml). */
#ifndef HCASIM_DEVICES_SKELETON_FORMAT_H
#define HCASIM_DEVICES_SKELETON_FORMAT_H

#include "core/personality.h"

extern const struct hca_personality skeleton_personality;

#endif
