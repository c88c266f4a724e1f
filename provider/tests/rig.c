// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>
#include <string.h>

#include "rig.h"

const struct rig_config rig_rc = {
	.type = IBV_QPT_RC,
	.num_bb = 64,
	.max_wr = 32,
	.max_send_sge = 4,
	.max_inline = 128,
	.rq_count = 16,
	.max_recv_sge = 3,
	.cqe = 64,
	.send_ops = RIG_ALL_OPS,
};

const struct rig_config rig_ud = {
	.type = IBV_QPT_UD,
	.num_bb = 64,
	.max_wr = 32,
	.max_send_sge = 4,
	.max_inline = 128,
	.rq_count = 16,
	.max_recv_sge = 3,
	.cqe = 64,
	.send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
};

static void *page_alloc(size_t size)
{
	void *p = aligned_alloc(4096, align(size, 4096));

	if (!p)
		abort();
	memset(p, 0, align(size, 4096));
	return p;
}

static void open_context(struct rig *rig, const struct rig_config *cfg)
{
	rig->ctx = calloc(1, sizeof(*rig->ctx));
	strcpy(rig->dev.name, "rig");
	rig->ctx->ibv_ctx.context.device = &rig->dev;
	rig->ctx->uar.page = page_alloc(HCASIM_UAR_PAGE_SIZE);
	rig->ctx->clock = rig->ctx->uar.page + HCASIM_UAR_CLOCK;
	rig->ctx->uar.use_bf = !cfg->no_bf;
	rig->ctx->max_send_wqebb = HCASIM_MAX_SQ_WQEBB;
	rig->ctx->max_inline = HCASIM_MAX_INLINE;
	rig->ctx->max_sge = HCASIM_MAX_SGE;
	rig->ctx->qp_ex_size = hcasim_qp_ex_size();
	pthread_mutex_init(&rig->ctx->table_lock, NULL);
	hcasim_init_ops(rig->ctx);
}

static void open_cq(struct rig *rig, const struct rig_config *cfg)
{
	struct hcasim_cq *cq = &rig->cq;

	cq->ctx = rig->ctx;
	cq->vcq.cq.context = &rig->ctx->ibv_ctx.context;
	cq->cqn = RIG_CQN;
	cq->entries = cfg->cqe;
	cq->ring = page_alloc(cfg->cqe * sizeof(*cq->ring));
	cq->record = &rig->cq_record;
	cq->locking = !cfg->td;
	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	atomic_init(&cq->arm_sn, 1);
	hcasim_cq_fill_poll_ops(cq, IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
					    IBV_WC_EX_WITH_CVLAN |
					    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
}

static void open_qp(struct rig *rig, const struct rig_config *cfg)
{
	struct hcasim_qp *qp = &rig->qp;
	struct ibv_qp *ibqp = &qp->vqp.qp;

	qp->ctx = rig->ctx;
	qp->pd = &rig->pd;
	qp->uar = cfg->td ? rig->td.uar : &rig->ctx->uar;
	ibqp->context = &rig->ctx->ibv_ctx.context;
	ibqp->qp_num = RIG_QPN;
	ibqp->qp_type = cfg->type;
	ibqp->state = IBV_QPS_RTS;
	ibqp->send_cq = ibqp->recv_cq = &rig->cq.vcq.cq;
	qp->record = &rig->sq_record;
	qp->send_ops = cfg->send_ops;
	hcasim_qp_fill_wr_ops(qp);

	qp->sq.ring = page_alloc(cfg->num_bb * HCASIM_WQEBB_SIZE);
	memset(qp->sq.ring, 0xa5, cfg->num_bb * HCASIM_WQEBB_SIZE);
	qp->sq.slots = calloc(cfg->num_bb, sizeof(*qp->sq.slots));
	qp->sq.num_bb = cfg->num_bb;
	qp->sq.max_wr = cfg->max_wr;
	qp->sq.max_sge = cfg->max_send_sge;
	qp->sq.max_inline = cfg->max_inline;
	qp->sq.sig_all = cfg->sig_all;
	qp->sq.locking = !cfg->td;
	pthread_mutex_init(&qp->sq.lock, NULL);

	qp->rq.stride = roundup_pow_of_two(sizeof(struct hcasim_rqe) +
					   cfg->max_recv_sge * sizeof(struct hcasim_seg_data));
	qp->rq.ring = page_alloc(cfg->rq_count * qp->rq.stride);
	memset(qp->rq.ring, 0xa5, cfg->rq_count * qp->rq.stride);
	qp->rq.wr_id = calloc(cfg->rq_count, sizeof(*qp->rq.wr_id));
	qp->rq.count = qp->rq.max_wr = cfg->rq_count;
	qp->rq.max_sge = cfg->max_recv_sge;
	qp->rq.locking = !cfg->td;
	pthread_spin_init(&qp->rq.lock, PTHREAD_PROCESS_PRIVATE);
	CU_ASSERT_EQUAL_FATAL(hcasim_table_insert(&rig->ctx->qps, qp->vqp.qp.qp_num, qp), 0);
}

void rig_open(struct rig *rig, const struct rig_config *cfg)
{
	int i;

	memset(rig, 0, sizeof(*rig));
	if (cfg->td) {
		rig->pd.td = &rig->td;
		rig->td.uar = &rig->td.own;
		rig->td.own.page = page_alloc(HCASIM_UAR_PAGE_SIZE);
		rig->td.own.use_bf = !cfg->no_bf;
	}
	open_context(rig, cfg);
	open_cq(rig, cfg);
	open_qp(rig, cfg);
	for (i = 0; i < 16; i++)
		rig->ah.seg.dgid[i] = 0xd0 + i;
	memcpy(rig->ah.seg.dmac, "\x02\x00\x00\x00\x00\x07", 6);
	rig->ah.seg.sgid_index = 3;
	rig->ah.seg.hop_limit = 64;
	rig->ah.seg.port = 1;
}

void rig_close(struct rig *rig)
{
	pthread_mutex_destroy(&rig->qp.sq.lock);
	pthread_spin_destroy(&rig->qp.rq.lock);
	pthread_spin_destroy(&rig->cq.lock);
	hcasim_table_free(&rig->ctx->qps);
	pthread_mutex_destroy(&rig->ctx->table_lock);
	free(rig->qp.sq.ring);
	free(rig->qp.sq.slots);
	free(rig->qp.rq.ring);
	free(rig->qp.rq.wr_id);
	free(rig->cq.ring);
	free(rig->ctx->uar.page);
	free(rig->td.own.page);
	free(rig->ctx);
}

void rig_wqe(const struct rig *rig, uint32_t bb, uint32_t num_bb, void *out)
{
	uint32_t i;

	for (i = 0; i < num_bb; i++)
		memcpy((uint8_t *)out + i * HCASIM_WQEBB_SIZE,
		       rig->qp.sq.ring + ((bb + i) & (rig->qp.sq.num_bb - 1)) * HCASIM_WQEBB_SIZE,
		       HCASIM_WQEBB_SIZE);
}

uint64_t rig_db_sq(const struct rig *rig)
{
	uint64_t v;

	memcpy(&v, rig->ctx->uar.page + HCASIM_UAR_DB_SQ, sizeof(v));
	return le64toh(v);
}

void rig_clear_uar(struct rig *rig)
{
	memset(rig->ctx->uar.page, 0, HCASIM_UAR_PAGE_SIZE);
}

struct hcasim_cqe *rig_cqe(struct rig *rig, const struct hcasim_cqe *cqe)
{
	struct hcasim_cqe *to = &rig->cq.ring[rig->cq_pi & (rig->cq.entries - 1)];
	uint8_t phase = (rig->cq_pi / rig->cq.entries) % 2 ? 0 : HCASIM_CQE_PHASE_MASK;

	memcpy(to, cqe, offsetof(struct hcasim_cqe, owner));
	__atomic_store_n(&to->owner, phase, __ATOMIC_RELEASE);
	rig->cq_pi++;
	return to;
}

struct hcasim_cqe rig_send_cqe(uint16_t index, uint8_t num_bb, enum hcasim_wqe_op op)
{
	return (struct hcasim_cqe){
		.qpn_opcode = htole32(RIG_QPN | HCASIM_CQE_OP_REQ << 24),
		.wqe_index = htole16(index),
		.num_bb = num_bb,
		.wqe_op = op,
		.vlan = htole16(0xffff),
	};
}

struct hcasim_cqe rig_recv_cqe(uint16_t index, uint32_t len)
{
	return (struct hcasim_cqe){
		.qpn_opcode = htole32(RIG_QPN | HCASIM_CQE_OP_RECV << 24),
		.byte_count = htole32(len),
		.wqe_index = htole16(index),
		.vlan = htole16(0xffff),
	};
}

int rig_main(const char *suite, const struct rig_test *tests)
{
	unsigned int failures;
	CU_pSuite s;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	s = CU_add_suite(suite, NULL, NULL);
	for (; tests->name; tests++)
		if (!CU_add_test(s, tests->name, tests->run))
			return 2;
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	if (!CU_get_number_of_asserts())
		failures = 1;
	CU_cleanup_registry();
	return failures ? 1 : 0;
}
