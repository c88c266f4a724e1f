// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

const struct fixture_config fixture_rc = {
	.type = IBV_QPT_RC,
	.num_bb = 64,
	.max_wr = 32,
	.max_send_sge = 4,
	.max_inline = 128,
	.rq_count = 16,
	.max_recv_sge = 3,
	.cqe = 64,
	.send_ops = FIXTURE_ALL_OPS,
};

const struct fixture_config fixture_ud = {
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

static void open_context(struct fixture *fixture, const struct fixture_config *cfg)
{
	fixture->ctx = calloc(1, sizeof(*fixture->ctx));
	strcpy(fixture->dev.name, "fixture");
	fixture->ctx->ibv_ctx.context.device = &fixture->dev;
	fixture->ctx->uar.page = page_alloc(HCASIM_UAR_PAGE_SIZE);
	fixture->ctx->clock = fixture->ctx->uar.page + HCASIM_UAR_CLOCK;
	fixture->ctx->uar.use_bf = !cfg->no_bf;
	fixture->ctx->max_send_wqebb = HCASIM_MAX_SQ_WQEBB;
	fixture->ctx->max_inline = HCASIM_MAX_INLINE;
	fixture->ctx->qp_ex_size = hcasim_qp_ex_size();
	pthread_mutex_init(&fixture->ctx->table_lock, NULL);
	hcasim_init_ops(fixture->ctx);
}

static void open_cq(struct fixture *fixture, const struct fixture_config *cfg)
{
	struct hcasim_cq *cq = &fixture->cq;

	cq->ctx = fixture->ctx;
	cq->vcq.cq.context = &fixture->ctx->ibv_ctx.context;
	cq->cqn = FIXTURE_CQN;
	cq->entries = cfg->cqe;
	cq->ring = page_alloc(cfg->cqe * sizeof(*cq->ring));
	cq->record = &fixture->cq_record;
	cq->locking = !cfg->td;
	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	atomic_init(&cq->arm_sn, 1);
	hcasim_cq_fill_poll_ops(cq, IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
					    IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_TM_INFO |
					    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
}

static void open_qp(struct fixture *fixture, const struct fixture_config *cfg)
{
	struct hcasim_qp *qp = &fixture->qp;
	struct ibv_qp *ibqp = &qp->vqp.qp;

	qp->ctx = fixture->ctx;
	qp->pd = &fixture->pd;
	qp->uar = cfg->td ? fixture->td.uar : &fixture->ctx->uar;
	ibqp->context = &fixture->ctx->ibv_ctx.context;
	ibqp->qp_num = FIXTURE_QPN;
	ibqp->qp_type = cfg->type;
	ibqp->state = IBV_QPS_RTS;
	ibqp->send_cq = ibqp->recv_cq = &fixture->cq.vcq.cq;
	qp->record = &fixture->sq_record;
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
	CU_ASSERT_EQUAL_FATAL(hcasim_table_insert(&fixture->ctx->qps, qp->vqp.qp.qp_num, qp), 0);
}

void fixture_open(struct fixture *fixture, const struct fixture_config *cfg)
{
	int i;

	memset(fixture, 0, sizeof(*fixture));
	if (cfg->td) {
		fixture->pd.td = &fixture->td;
		fixture->td.uar = &fixture->td.own;
		fixture->td.own.page = page_alloc(HCASIM_UAR_PAGE_SIZE);
		fixture->td.own.use_bf = !cfg->no_bf;
	}
	open_context(fixture, cfg);
	open_cq(fixture, cfg);
	open_qp(fixture, cfg);
	for (i = 0; i < 16; i++)
		fixture->ah.seg.dgid[i] = 0xd0 + i;
	memcpy(fixture->ah.seg.dmac, "\x02\x00\x00\x00\x00\x07", 6);
	fixture->ah.seg.sgid_index = 3;
	fixture->ah.seg.hop_limit = 64;
	fixture->ah.seg.port = 1;
}

void fixture_close(struct fixture *fixture)
{
	pthread_mutex_destroy(&fixture->qp.sq.lock);
	pthread_spin_destroy(&fixture->qp.rq.lock);
	pthread_spin_destroy(&fixture->cq.lock);
	hcasim_table_free(&fixture->ctx->qps);
	pthread_mutex_destroy(&fixture->ctx->table_lock);
	free(fixture->qp.sq.ring);
	free(fixture->qp.sq.slots);
	free(fixture->qp.rq.ring);
	free(fixture->qp.rq.wr_id);
	free(fixture->cq.ring);
	free(fixture->ctx->uar.page);
	free(fixture->td.own.page);
	free(fixture->ctx);
}

void fixture_wqe(const struct fixture *fixture, uint32_t bb, uint32_t num_bb, void *out)
{
	uint32_t i;

	for (i = 0; i < num_bb; i++)
		memcpy((uint8_t *)out + i * HCASIM_WQEBB_SIZE,
		       fixture->qp.sq.ring + ((bb + i) & (fixture->qp.sq.num_bb - 1)) * HCASIM_WQEBB_SIZE,
		       HCASIM_WQEBB_SIZE);
}

uint64_t fixture_db_sq(const struct fixture *fixture)
{
	uint64_t v;

	memcpy(&v, fixture->ctx->uar.page + HCASIM_UAR_DB_SQ, sizeof(v));
	return le64toh(v);
}

void fixture_clear_uar(struct fixture *fixture)
{
	memset(fixture->ctx->uar.page, 0, HCASIM_UAR_PAGE_SIZE);
}

struct hcasim_cqe *fixture_cqe(struct fixture *fixture, const struct hcasim_cqe *cqe)
{
	struct hcasim_cqe *to = &fixture->cq.ring[fixture->cq_pi & (fixture->cq.entries - 1)];
	uint8_t phase = (fixture->cq_pi / fixture->cq.entries) % 2 ? 0 : HCASIM_CQE_PHASE_MASK;

	memcpy(to, cqe, offsetof(struct hcasim_cqe, owner));
	__atomic_store_n(&to->owner, phase, __ATOMIC_RELEASE);
	fixture->cq_pi++;
	return to;
}

struct hcasim_cqe fixture_send_cqe(uint16_t index, uint8_t num_bb, enum hcasim_wqe_op op)
{
	return (struct hcasim_cqe){
		.qpn_opcode = htole32(FIXTURE_QPN | HCASIM_CQE_OP_REQ << 24),
		.wqe_index = htole16(index),
		.num_bb = num_bb,
		.wqe_op = op,
		.vlan = htole16(0xffff),
	};
}

struct hcasim_cqe fixture_recv_cqe(uint16_t index, uint32_t len)
{
	return (struct hcasim_cqe){
		.qpn_opcode = htole32(FIXTURE_QPN | HCASIM_CQE_OP_RECV << 24),
		.byte_count = htole32(len),
		.wqe_index = htole16(index),
		.vlan = htole16(0xffff),
	};
}

int fixture_main(const char *suite, const struct fixture_test *tests)
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
