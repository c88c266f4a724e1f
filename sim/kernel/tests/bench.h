/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Adapters on one wire, which run until nothing is left to do. No simulated time passes. */
#ifndef HCASIM_KERNEL_TESTS_BENCH_H
#define HCASIM_KERNEL_TESTS_BENCH_H

#include "kernel/kernel.h"

int bench_start(unsigned int num);
void bench_stop(void);
struct hca *bench_core(unsigned int index);
const struct hca_config *bench_config(unsigned int index);
void bench_set_kernel(struct kernel *k);
void bench_settle(void);
/* The time. Only bench_pass() advances it, and so lets timers fire. */
hca_ps bench_now(void *arg);
void bench_pass(uint64_t ms);
/* From now on every frame is lost, or none. */
void bench_lose(bool all);

#endif
