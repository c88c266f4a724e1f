/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One context, CQ and QP of the provider whose device is the test itself. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>

#include "wqe.h"

#define FIXTURE_QPN 0x123456
#define FIXTURE_CQN 0x000abc

struct fixture_config {
	enum ibv_qp_type type;
	uint32_t num_bb, max_wr, max_send_sge, max_inline; /* send queue */
	uint32_t rq_count, max_recv_sge;
	uint32_t cqe;
	bool sig_all;
	bool td; /* a thread domain: no locks */
	bool no_bf;
	uint64_t send_ops;
};

struct fixture {
	struct hcasim_context *ctx;
	struct ibv_device dev;
	struct hcasim_pd pd;
	struct hcasim_td td;
	struct hcasim_cq cq;
	struct hcasim_qp qp;
	struct hcasim_sq_record sq_record;
	struct hcasim_cq_record cq_record;
	struct hcasim_ah ah;
	uint32_t cq_pi; /* the device's */
};

#define FIXTURE_ALL_OPS                                                                                      \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |                    \
	 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_LOCAL_INV |     \
	 IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)

extern const struct fixture_config fixture_rc, fixture_ud; /* usual sizes */

void fixture_open(struct fixture *fixture, const struct fixture_config *cfg);
void fixture_close(struct fixture *fixture);

static inline struct ibv_qp *fixture_qp(struct fixture *fixture)
{
	return &fixture->qp.vqp.qp;
}

static inline struct ibv_qp_ex *fixture_qpx(struct fixture *fixture)
{
	return &fixture->qp.vqp.qp_ex;
}

/* A copy of the bytes of the WQE whose first basic block has this index: rings wrap. */
void fixture_wqe(const struct fixture *fixture, uint32_t bb, uint32_t num_bb, void *out);
/* The doorbell register, which the provider stored to; 0 after fixture_clear_uar. */
uint64_t fixture_db_sq(const struct fixture *fixture);
void fixture_clear_uar(struct fixture *fixture);

/* What the device does: writes a completion into the ring. */
struct hcasim_cqe *fixture_cqe(struct fixture *fixture, const struct hcasim_cqe *cqe);
/* The usual one of a send WQE. */
struct hcasim_cqe fixture_send_cqe(uint16_t index, uint8_t num_bb, enum hcasim_wqe_op op);
struct hcasim_cqe fixture_recv_cqe(uint16_t index, uint32_t len);

struct fixture_test {
	const char *name;
	void (*run)(void);
};
/* Runs the tests, prints the summary; the exit status of main. */
int fixture_main(const char *suite, const struct fixture_test *tests);

#endif
