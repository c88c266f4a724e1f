/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Measurements through the plain libibverbs API; each prints one JSON object. */
#ifndef HCASIM_BENCH_H
#define HCASIM_BENCH_H

#include "link.h"

#define BUF_SIZE 4096u

double now_ns(void);

/* WQEs per second of `op` with `size` bytes, `batch` WQEs posted at a time. */
void bench_post(enum ibv_wr_opcode op, uint32_t size, uint32_t batch, uint64_t wqes);
/* `count` QPs, connected in pairs that have each carried one WRITE; then waits until standard input ends. */
void bench_qps(uint32_t count);
/* The cost of one trapped store and of one process_vm call on this machine. */
void bench_primitives(void);

#endif
