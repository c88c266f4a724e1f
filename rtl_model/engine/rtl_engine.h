/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The send engine in SystemVerilog (rtl_model/rtl/hcasim_engine.sv), Verilated, as an engine of the core. */
#ifndef HCASIM_RTL_ENGINE_H
#define HCASIM_RTL_ENGINE_H

#ifdef __cplusplus
extern "C" {
#endif

#include "core/engine.h"

/* Of the parameters with which the model was built: fetch buffers, QPs at a time. */
#ifndef RTL_SLOTS
#define RTL_SLOTS 32
#define RTL_QPS   65536
#endif

/*
 * Not supported: basic blocks other than 64 bytes, a window of no or more than 240 WQEs (create() returns NULL), more than
 * RTL_QPS QPs at a time (qp_create() returns -ENOMEM). A fetch_depth of more than RTL_SLOTS is RTL_SLOTS.
 */
extern const struct engine_ops rtl_engine;

/*
 * For tests, of engines that are created from here on: registers start with random bits; memory, requests and the consumer of
 * frames answer in so many percent of the cycles only. `seed` 0, as at the start: zeros and always.
 */
void rtl_engine_random(uint32_t seed, unsigned int percent);

/* For tests: there are cycles without an op, too, as many at random as those in which memory does not answer. */
void rtl_engine_idle(bool idle);

/* Clock cycles that all ops have taken so far. */
uint64_t rtl_engine_cycles(const struct engine *e);
/* Loads of contexts that its cache had, and others. */
void rtl_engine_cache(const struct engine *e, uint64_t *hits, uint64_t *misses);

#ifdef __cplusplus
}
#endif
#endif
