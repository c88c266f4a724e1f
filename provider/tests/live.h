/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One RC queue pair of a present adapter, connected to itself, for tests through the public API. */
#ifndef LIVE_H
#define LIVE_H

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <errno.h>
#include <infiniband/verbs.h>

#define LIVE_SIZE 65536

struct live {
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint8_t *buf;
};

extern struct ibv_context *live_ctx;

void live_open(struct live *l, const struct ibv_qp_cap *cap, int cqe);
void live_close(struct live *l);
/* An RC queue pair on the CQ of `l`, in RESET. */
struct ibv_qp *live_create_qp(struct live *l, struct ibv_pd *pd, const struct ibv_qp_cap *cap);
/* The same through another context. */
struct ibv_qp *live_create_qp_of(struct ibv_context *ctx, struct live *l, struct ibv_pd *pd,
				 const struct ibv_qp_cap *cap);
/* RESET to RTS, towards itself. */
void live_connect(struct ibv_qp *qp);
void live_modify(struct ibv_qp *qp, enum ibv_qp_state state);
/* Posts RDMA WRITEs of `len` bytes from the first to the second half of the buffer. */
int live_write(struct live *l, struct ibv_qp *qp, uint64_t wr_id, uint32_t len, unsigned int flags);
struct live_test {
	const char *name;
	void (*run)(void);
};
/* Opens the first adapter, runs the tests, closes it; the exit status of main. */
int live_main(const char *suite, const struct live_test *tests);
/* Polls until `n` completions came, or fails after ten seconds; returns how many. */
int live_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc);

#endif
