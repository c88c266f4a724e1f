// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Erratum XRC-WINDOW: who reaches a type 2 window that an XRC_SEND QP bound. */
#include "fixture.h"

#define LEN      4096
#define ENTRIES  32
#define STRIDE   64
#define OTHER_PD (FIXTURE_PD + 1)
#define RW       (HCASIM_ACCESS_REMOTE_WRITE | HCASIM_ACCESS_REMOTE_READ)

/* Side 1 has memory without remote rights and a window on it; side 0 comes over XRC or RC. */
struct world {
	struct fixture *fixture;
	struct fixture_cq *cq[2], *srq_cq;
	struct fixture_qp *xrc[2], *rc[2];
	struct fixture_qp *back[2]; /* XRC from side 1 to side 0: [1] binds */
	uint8_t *from, *to, *ring;
	struct tiny_srq_record *rec;
	uint32_t srqn, from_key, to_key, region, mw;
};

static void make_srq(struct world *w, uint32_t pdn)
{
	struct hca_srq_attr attr = {.pdn = pdn, .xrcdn = FIXTURE_XRC_DOMAIN, .cqn = w->srq_cq->cqn};
	struct tiny_rqe *r;

	w->ring = fixture_alloc(w->fixture, ENTRIES * STRIDE);
	w->rec = fixture_alloc(w->fixture, sizeof(*w->rec));
	attr.ring = (struct hca_ring){FIXTURE_PASID, (uintptr_t)w->ring, ENTRIES, STRIDE};
	attr.record = (uintptr_t)w->rec;
	CU_ASSERT_EQUAL_FATAL(hca_srq_create(w->fixture->hca[1], &attr, &w->srqn), 0);
	r = (struct tiny_rqe *)w->ring; /* one receive, of no bytes */
	r->tag = 1;
	w->rec->pi = htobe32(1);
}

static void pair_up(struct world *w, struct fixture_qp *qp[2], uint8_t type0, uint8_t type1)
{
	qp[0] = fixture_qp(w->fixture, 0, type0, w->cq[0], w->cq[0]);
	qp[1] = fixture_qp(w->fixture, 1, type1, w->cq[1], w->cq[1]);
	fixture_connect(qp[0], qp[1], NULL);
}

static void world_new(struct world *w, uint32_t srq_pdn)
{
	struct hca_config cfg = {.num_ports = 1,
				 .max_qp = 64,
				 .max_cq = 64,
				 .max_mr = 64,
				 .max_mw = 8,
				 .max_srq = 4,
				 .max_rd_atomic = 4};

	memset(w, 0, sizeof(*w));
	w->fixture = fixture_new(&cfg, 0);
	w->cq[0] = fixture_cq(w->fixture, 0, 256);
	w->cq[1] = fixture_cq(w->fixture, 1, 256);
	w->srq_cq = fixture_cq(w->fixture, 1, 256);
	make_srq(w, srq_pdn);
	pair_up(w, w->rc, HCASIM_QPT_RC, HCASIM_QPT_RC);
	pair_up(w, w->xrc, HCASIM_QPT_XRC_SEND, HCASIM_QPT_XRC_RECV);
	pair_up(w, w->back, HCASIM_QPT_XRC_RECV, HCASIM_QPT_XRC_SEND);
	w->from = fixture_alloc(w->fixture, LEN);
	w->to = fixture_alloc(w->fixture, LEN);
	fixture_fill(w->from, LEN, 5);
	w->from_key = fixture_mr(w->fixture, 0, w->from, LEN, FIXTURE_ALL);
	w->region = fixture_mr(w->fixture, 1, w->to, LEN, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND);
	CU_ASSERT_EQUAL_FATAL(hca_mw_create(w->fixture->hca[1], FIXTURE_PD, 2, &w->mw), 0);
}

static void world_free(struct world *w)
{
	void *mem[] = {w->ring, w->rec, w->from, w->to};
	unsigned int i;

	fixture_free(w->fixture);
	for (i = 0; i < 4; i++)
		free(mem[i]);
}

static void bind_on(struct world *w, struct fixture_qp *qp)
{
	struct tiny_wqe t = {
		.op = HCASIM_WQE_OP_BIND_MW,
		.flags = HCA_WR_SIGNALED,
		.remote_addr = (uintptr_t)w->to,
		.rkey = w->mw,
		.imm = (w->mw & ~0xffu) | ((w->mw + 1) & 0xff),
		.inv_rkey = w->region,
		.ud_qpn = RW,
		.ud_qkey = 2,
		.compare = LEN,
	};

	fixture_put(qp, &t, NULL, NULL, 0);
	fixture_ring(qp);
	fixture_run(w->fixture);
	fixture_expect(w->cq[1], HCASIM_CQE_STATUS_OK);
	w->mw = t.imm;
}

static void come(struct world *w, struct fixture_qp *qp, struct tiny_wqe t, uint8_t status)
{
	struct hca_sge sge = fixture_sge(w->from, LEN, w->from_key);

	t.flags = HCA_WR_SIGNALED;
	fixture_put(qp, &t, NULL, &sge, t.op == HCASIM_WQE_OP_SEND_INV ? 0 : 1);
	fixture_ring(qp);
	fixture_run(w->fixture);
	fixture_expect(w->cq[0], status);
}

/* A WRITE of side 0 through the window. */
static void write_by(struct world *w, struct fixture_qp *qp, uint8_t status)
{
	memset(w->to, 0, LEN);
	come(w, qp,
	     (struct tiny_wqe){.op = HCASIM_WQE_OP_RDMA_WRITE,
			       .remote_addr = (uintptr_t)w->to,
			       .rkey = w->mw,
			       .inv_rkey = w->srqn},
	     status);
	CU_ASSERT_EQUAL(!memcmp(w->from, w->to, LEN), status == HCASIM_CQE_STATUS_OK);
}

static void send_inv(struct world *w, uint8_t status)
{
	come(w, w->xrc[0],
	     (struct tiny_wqe){.op = HCASIM_WQE_OP_SEND_INV, .inv_rkey = w->mw, .ud_qpn = w->srqn}, status);
}

static void local_inv(struct world *w, struct fixture_qp *qp, uint8_t status)
{
	struct tiny_wqe t = {.op = HCASIM_WQE_OP_LOCAL_INV, .flags = HCA_WR_SIGNALED, .inv_rkey = w->mw};

	fixture_put(qp, &t, NULL, NULL, 0);
	fixture_ring(qp);
	fixture_run(w->fixture);
	fixture_expect(w->cq[1], status);
}

static void used_and_invalidated(void)
{
	struct tiny_cqe c;
	struct world w;

	world_new(&w, FIXTURE_PD);
	bind_on(&w, w.back[1]);
	write_by(&w, w.xrc[0], HCASIM_CQE_STATUS_OK);
	send_inv(&w, HCASIM_CQE_STATUS_OK);
	c = fixture_expect(w.srq_cq, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.flags, TINY_CQE_INV);
	CU_ASSERT_EQUAL(c.imm, w.mw);
	write_by(&w, w.xrc[0], HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	world_free(&w);
}

static void wrong_domain(void)
{
	struct world w;

	world_new(&w, OTHER_PD);
	bind_on(&w, w.back[1]);
	write_by(&w, w.xrc[0], HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	world_free(&w);
	world_new(&w, OTHER_PD);
	bind_on(&w, w.back[1]);
	send_inv(&w, HCASIM_CQE_STATUS_OK);
	fixture_expect(w.srq_cq, HCASIM_CQE_STATUS_REM_INV_REQ_ERR);
	world_free(&w);
}

/* A window belongs to the QP that bound it; one bound by XRC belongs to none. */
static void other_types(void)
{
	struct world w;

	world_new(&w, FIXTURE_PD);
	bind_on(&w, w.rc[1]);
	write_by(&w, w.rc[0], HCASIM_CQE_STATUS_OK);
	write_by(&w, w.xrc[0], HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	world_free(&w);
	world_new(&w, FIXTURE_PD);
	bind_on(&w, w.rc[1]);
	send_inv(&w, HCASIM_CQE_STATUS_OK);
	fixture_expect(w.srq_cq, HCASIM_CQE_STATUS_REM_INV_REQ_ERR);
	write_by(&w, w.rc[0], HCASIM_CQE_STATUS_OK);
	world_free(&w);
	world_new(&w, FIXTURE_PD);
	bind_on(&w, w.back[1]);
	write_by(&w, w.rc[0], HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	write_by(&w, w.xrc[0], HCASIM_CQE_STATUS_OK);
	world_free(&w);
}

static void invalidated_locally(void)
{
	struct fixture_qp *more[2];
	struct world w;

	world_new(&w, FIXTURE_PD);
	bind_on(&w, w.back[1]);
	local_inv(&w, w.rc[1], HCASIM_CQE_STATUS_MW_BIND_ERR);
	write_by(&w, w.xrc[0], HCASIM_CQE_STATUS_OK);
	pair_up(&w, more, HCASIM_QPT_XRC_RECV, HCASIM_QPT_XRC_SEND);
	local_inv(&w, more[1], HCASIM_CQE_STATUS_OK);
	write_by(&w, w.xrc[0], HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	world_free(&w);
}

/* The window outlives the QP that bound it, and goes by itself. */
static void binder_gone(void)
{
	struct hca *hca;
	struct world w;

	world_new(&w, FIXTURE_PD);
	hca = w.fixture->hca[1];
	bind_on(&w, w.back[1]);
	CU_ASSERT_EQUAL(hca_qp_destroy(hca, w.back[1]->qpn), 0);
	write_by(&w, w.xrc[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(hca_mr_destroy(hca, w.region), -EBUSY);
	CU_ASSERT_EQUAL(hca_mw_destroy(hca, w.mw), 0);
	CU_ASSERT_EQUAL(hca_mr_destroy(hca, w.region), 0);
	world_free(&w);
}

const struct test xrc_window_tests[] = {
	{"used and invalidated", used_and_invalidated},
	{"wrong protection domain", wrong_domain},
	{"other QP types", other_types},
	{"LOCAL_INV", invalidated_locally},
	{"the binding QP gone", binder_gone},
	{NULL, NULL},
};
