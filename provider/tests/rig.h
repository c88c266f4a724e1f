/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One context, CQ and QP of the provider whose device is the test itself. */
#ifndef RIG_H
#define RIG_H

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>

#include "wqe.h"

#define RIG_QPN 0x123456
#define RIG_CQN 0x000abc

struct rig_config {
	enum ibv_qp_type type;
	uint32_t num_bb, max_wr, max_send_sge, max_inline; /* send queue */
	uint32_t rq_count, max_recv_sge;
	uint32_t cqe;
	bool sig_all;
	bool td; /* a thread domain: no locks */
	bool no_bf;
	uint64_t send_ops;
};

struct rig {
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

#define RIG_ALL_OPS                                                                                          \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |                    \
	 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_LOCAL_INV |     \
	 IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)

extern const struct rig_config rig_rc, rig_ud; /* usual sizes */

void rig_open(struct rig *rig, const struct rig_config *cfg);
void rig_close(struct rig *rig);

static inline struct ibv_qp *rig_qp(struct rig *rig)
{
	return &rig->qp.vqp.qp;
}

static inline struct ibv_qp_ex *rig_qpx(struct rig *rig)
{
	return &rig->qp.vqp.qp_ex;
}

/* A copy of the bytes of the WQE whose first basic block has this index: rings wrap. */
void rig_wqe(const struct rig *rig, uint32_t bb, uint32_t num_bb, void *out);
/* The doorbell register, which the provider stored to; 0 after rig_clear_uar. */
uint64_t rig_db_sq(const struct rig *rig);
void rig_clear_uar(struct rig *rig);

/* What the device does: writes a completion into the ring. */
struct hcasim_cqe *rig_cqe(struct rig *rig, const struct hcasim_cqe *cqe);
/* The usual one of a send WQE. */
struct hcasim_cqe rig_send_cqe(uint16_t index, uint8_t num_bb, enum hcasim_wqe_op op);
struct hcasim_cqe rig_recv_cqe(uint16_t index, uint32_t len);

struct rig_test {
	const char *name;
	void (*run)(void);
};
/* Runs the tests, prints the summary; the exit status of main. */
int rig_main(const char *suite, const struct rig_test *tests);

#endif
