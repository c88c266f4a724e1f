/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* For the generated __wrap_ functions of the driver's commands. */
#ifndef HCASIM_RECORD_WRAP_H
#define HCASIM_RECORD_WRAP_H

#include "record/codec.h"

/*
 * The fields of a call of the driver, the number of the adapter already in them. NULL: nothing is recorded, or the
 * adapter itself calls.
 */
struct out *record_call(const struct hca *hca);
/* The call starts; until record_leave(), calls are the adapter's. */
void record_enter(uint8_t kind);
/* It is over: the fields of its return. */
struct out *record_leave(void);
void record_return(uint8_t kind);

#endif
