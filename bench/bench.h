/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Measurements through the plain libibverbs API; each prints one JSON object. */
#ifndef HCASIM_BENCH_H
#define HCASIM_BENCH_H

#include <infiniband/verbs.h>
#include <stdint.h>

/* A connected pair of RC QPs, on two adapters if there are two, and one registered buffer at each end. */
struct link {
	struct ibv_context *ctx[2];
	struct ibv_pd *pd[2];
	struct ibv_cq *cq[2];
	struct ibv_mr *mr[2];
	void *buf[2];
};

#define SQ_DEPTH 256u
#define BUF_SIZE 4096u

double now_ns(void);
/* Prints `what` with errno's meaning and ends the program. */
void die(const char *what);

void link_open(struct link *l, uint32_t cqes);
/* One more pair of QPs over the link, connected and ready to send. */
void link_connect(struct link *l, struct ibv_qp *qp[2]);

/* WQEs per second of `op` with `size` bytes, `batch` WQEs posted at a time. */
void bench_post(enum ibv_wr_opcode op, uint32_t size, uint32_t batch, uint64_t wqes);
/* `count` connected pairs that have each carried one WRITE; then waits until standard input ends. */
void bench_qps(uint32_t count);
/* What one trapped store and one process_vm call cost on this machine. */
void bench_primitives(void);

#endif
