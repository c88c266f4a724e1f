/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The formats of a software RoCE device (spec/families/rxe.yaml). */
#ifndef HCASIM_DEVICES_RXE_FORMAT_H
#define HCASIM_DEVICES_RXE_FORMAT_H

#include "core/personality.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct hca_personality rxe_personality;

#ifdef __cplusplus
}
#endif
#endif
