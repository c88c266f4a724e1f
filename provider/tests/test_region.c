// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Regions: what makes ibv_wr_complete fail, that nothing is left of a failed region, doorbells. */
#include <string.h>

#include "fixture.h"

typedef void (*step_fn)(struct fixture *fixture);

static void good_write(struct fixture *fixture)
{
	struct ibv_qp_ex *qpx = fixture_qpx(fixture);

	ibv_wr_rdma_write(qpx, 1, 2);
	ibv_wr_set_sge(qpx, 1, 2, 3);
}

static void good_datagram(struct fixture *fixture)
{
	struct ibv_qp_ex *qpx = fixture_qpx(fixture);

	ibv_wr_send(qpx);
	ibv_wr_set_ud_addr(qpx, &fixture->ah.ibv_ah, 5, 6);
	ibv_wr_set_sge(qpx, 1, 2, 3);
}

static void no_address(struct fixture *fixture)
{
	ibv_wr_send(fixture_qpx(fixture));
	ibv_wr_set_sge(fixture_qpx(fixture), 1, 2, 3);
}

static void two_addresses(struct fixture *fixture)
{
	good_datagram(fixture);
	ibv_wr_set_ud_addr(fixture_qpx(fixture), &fixture->ah.ibv_ah, 5, 6);
}

static void null_address(struct fixture *fixture)
{
	ibv_wr_send(fixture_qpx(fixture));
	ibv_wr_set_ud_addr(fixture_qpx(fixture), NULL, 5, 6);
}

static void address_on_rc(struct fixture *fixture)
{
	good_write(fixture);
	ibv_wr_set_ud_addr(fixture_qpx(fixture), &fixture->ah.ibv_ah, 5, 6);
}

static void srqn_on_rc(struct fixture *fixture)
{
	good_write(fixture);
	ibv_wr_set_xrc_srqn(fixture_qpx(fixture), 5);
}

static void two_data(struct fixture *fixture)
{
	good_write(fixture);
	ibv_wr_set_sge(fixture_qpx(fixture), 1, 2, 3);
}

static void sge_then_inline(struct fixture *fixture)
{
	good_write(fixture);
	ibv_wr_set_inline_data(fixture_qpx(fixture), fixture, 4);
}

static void too_many_sges(struct fixture *fixture)
{
	static const struct ibv_sge sge[5];

	ibv_wr_send(fixture_qpx(fixture));
	ibv_wr_set_sge_list(fixture_qpx(fixture), 5, sge);
}

static void inline_over_limit(struct fixture *fixture)
{
	ibv_wr_send(fixture_qpx(fixture));
	ibv_wr_set_inline_data(fixture_qpx(fixture), fixture, 129);
}

static void inline_sum_wraps(struct fixture *fixture)
{
	struct ibv_data_buf buf[2] = {{fixture, 100}, {fixture, SIZE_MAX - 50}};

	ibv_wr_send(fixture_qpx(fixture));
	ibv_wr_set_inline_data_list(fixture_qpx(fixture), 2, buf);
}

static void inline_read(struct fixture *fixture)
{
	ibv_wr_rdma_read(fixture_qpx(fixture), 1, 2);
	ibv_wr_set_inline_data(fixture_qpx(fixture), fixture, 4);
}

static void inline_atomic(struct fixture *fixture)
{
	ibv_wr_atomic_fetch_add(fixture_qpx(fixture), 1, 2, 3);
	ibv_wr_set_inline_data(fixture_qpx(fixture), fixture, 8);
}

static void atomic_without_data(struct fixture *fixture)
{
	ibv_wr_atomic_cmp_swp(fixture_qpx(fixture), 1, 2, 3, 4);
}

static void data_before_builder(struct fixture *fixture)
{
	ibv_wr_set_sge(fixture_qpx(fixture), 1, 2, 3);
}

static void unknown_flag(struct fixture *fixture)
{
	fixture_qpx(fixture)->wr_flags = 1u << 30;
	good_write(fixture);
	fixture_qpx(fixture)->wr_flags = 0;
}

static void op_tso(struct fixture *fixture)
{
	ibv_wr_send_tso(fixture_qpx(fixture), fixture, 54, 1000);
}

static void op_bind(struct fixture *fixture)
{
	ibv_wr_bind_mw(fixture_qpx(fixture), NULL, 1, NULL);
}

static void op_local_inv(struct fixture *fixture)
{
	ibv_wr_local_inv(fixture_qpx(fixture), 1);
	ibv_wr_set_sge(fixture_qpx(fixture), 1, 2, 3);
}

static void op_flush(struct fixture *fixture)
{
	ibv_wr_flush(fixture_qpx(fixture), 1, 2, 3, 4, IBV_FLUSH_RANGE);
}

static void op_atomic_write(struct fixture *fixture)
{
	ibv_wr_atomic_write(fixture_qpx(fixture), 1, 2, NULL);
}

struct fault {
	const char *name;
	step_fn bad;
};

static const struct fault rc_faults[] = {
	{"UD address on RC", address_on_rc},
	{"SRQ number on RC", srqn_on_rc},
	{"two data setters", two_data},
	{"SGE, then inline", sge_then_inline},
	{"too many SGEs", too_many_sges},
	{"inline over the limit", inline_over_limit},
	{"sum of inline lengths wraps", inline_sum_wraps},
	{"inline on READ", inline_read},
	{"inline on an atomic", inline_atomic},
	{"atomic without data", atomic_without_data},
	{"setter before any builder", data_before_builder},
	{"unknown flag", unknown_flag},
	{"TSO", op_tso},
	{"BIND_MW of no window", op_bind},
	{"data on LOCAL_INV", op_local_inv},
	{"FLUSH of an unknown type", op_flush},
	{"ATOMIC_WRITE of nothing", op_atomic_write},
	{},
};

static const struct fault ud_faults[] = {
	{"no UD address", no_address},
	{"two UD addresses", two_addresses},
	{"no address handle", null_address},
	{"operation not asked for", good_write},
	{},
};

/* Everything that a device, or the next posting, could notice. */
struct visible {
	uint8_t uar[HCASIM_UAR_PAGE_SIZE];
	struct hcasim_sq_record record;
	uint32_t pi_bb, pi_wr;
};

static void look(const struct fixture *fixture, struct visible *v)
{
	memcpy(v->uar, fixture->ctx->uar.page, sizeof(v->uar));
	v->record = fixture->sq_record;
	v->pi_bb = atomic_load(&fixture->qp.sq.pi_bb);
	v->pi_wr = fixture->qp.sq.pi_wr;
}

static void check_unchanged(const struct fixture *fixture, const struct visible *before, const char *what)
{
	struct visible now;

	look(fixture, &now);
	if (memcmp(now.uar, before->uar, sizeof(now.uar)) ||
	    memcmp(&now.record, &before->record, sizeof(now.record)) || now.pi_bb != before->pi_bb ||
	    now.pi_wr != before->pi_wr)
		CU_FAIL(what);
}

/* The fault first, in the middle and last; then a good region works and starts where the last good one ended. */
static void run_fault(const struct fixture_config *cfg, const struct fault *f, step_fn good, int at)
{
	struct visible before;
	struct hcasim_wqe_ctrl ctrl[16];
	struct fixture fixture;
	uint32_t first;
	int i, err;

	fixture_open(&fixture, cfg);
	ibv_wr_start(fixture_qpx(&fixture));
	good(&fixture);
	CU_ASSERT_EQUAL_FATAL(ibv_wr_complete(fixture_qpx(&fixture)), 0);
	first = atomic_load(&fixture.qp.sq.pi_bb);
	look(&fixture, &before);

	ibv_wr_start(fixture_qpx(&fixture));
	for (i = 0; i < 3; i++)
		(i == at ? f->bad : good)(&fixture);
	err = ibv_wr_complete(fixture_qpx(&fixture));
	if (!err)
		CU_FAIL(f->name);
	check_unchanged(&fixture, &before, f->name);

	ibv_wr_start(fixture_qpx(&fixture));
	fixture_qpx(&fixture)->wr_id = 77;
	good(&fixture);
	CU_ASSERT_EQUAL(ibv_wr_complete(fixture_qpx(&fixture)), 0);
	fixture_wqe(&fixture, first, 1, ctrl);
	CU_ASSERT_EQUAL(le16toh(ctrl[0].index), first);
	CU_ASSERT_EQUAL(fixture.qp.sq.slots[first].wr_id, 77);
	CU_ASSERT_EQUAL(fixture.qp.sq.pi_wr, 2);
	fixture_close(&fixture);
}

static void test_faults(void)
{
	const struct fault *f;
	int at;

	for (at = 0; at < 3; at++) {
		for (f = rc_faults; f->name; f++)
			run_fault(&fixture_rc, f, good_write, at);
		for (f = ud_faults; f->name; f++)
			run_fault(&fixture_ud, f, good_datagram, at);
	}
}

static void test_abort(void)
{
	struct visible before;
	struct fixture fixture;

	fixture_open(&fixture, &fixture_rc);
	look(&fixture, &before);
	ibv_wr_start(fixture_qpx(&fixture));
	good_write(&fixture);
	good_write(&fixture);
	ibv_wr_abort(fixture_qpx(&fixture));
	check_unchanged(&fixture, &before, "abort");
	/* An empty region does nothing. */
	ibv_wr_start(fixture_qpx(&fixture));
	CU_ASSERT_EQUAL(ibv_wr_complete(fixture_qpx(&fixture)), 0);
	check_unchanged(&fixture, &before, "empty region");
	/* Nor does one that was never started. */
	CU_ASSERT_EQUAL(ibv_wr_complete(fixture_qpx(&fixture)), EINVAL);
	good_write(&fixture);
	ibv_wr_abort(fixture_qpx(&fixture));
	check_unchanged(&fixture, &before, "no region");
	ibv_wr_start(fixture_qpx(&fixture));
	good_write(&fixture);
	CU_ASSERT_EQUAL(ibv_wr_complete(fixture_qpx(&fixture)), 0);
	CU_ASSERT_EQUAL(le32toh(fixture.sq_record.sq_pi), 1);
	fixture_close(&fixture);
}

/* IBTA C10-96; receives are refused in RESET only. */
static void test_states(void)
{
	static const struct {
		enum ibv_qp_state state;
		int send, recv;
	} states[] = {
		{IBV_QPS_RESET, EINVAL, EINVAL},
		{IBV_QPS_INIT, EINVAL, 0},
		{IBV_QPS_RTR, EINVAL, 0},
		{IBV_QPS_RTS, 0, 0},
		{IBV_QPS_SQD, 0, 0},
		{IBV_QPS_SQE, 0, 0},
		{IBV_QPS_ERR, 0, 0},
	};
	struct ibv_send_wr swr = {.opcode = IBV_WR_SEND}, *sbad;
	struct ibv_recv_wr rwr = {}, *rbad;
	struct visible before;
	struct fixture fixture;
	size_t i;

	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		fixture_open(&fixture, &fixture_rc);
		fixture_qp(&fixture)->state = states[i].state;
		look(&fixture, &before);
		sbad = NULL;
		CU_ASSERT_EQUAL(hcasim_post_send(fixture_qp(&fixture), &swr, &sbad), states[i].send);
		CU_ASSERT_PTR_EQUAL(sbad, states[i].send ? &swr : NULL);
		ibv_wr_start(fixture_qpx(&fixture));
		good_write(&fixture);
		CU_ASSERT_EQUAL(ibv_wr_complete(fixture_qpx(&fixture)), states[i].send);
		if (states[i].send)
			check_unchanged(&fixture, &before, "post in a state that cannot send");
		CU_ASSERT_EQUAL(hcasim_post_recv(fixture_qp(&fixture), &rwr, &rbad), states[i].recv);
		fixture_close(&fixture);
	}
}

static void test_post_list(void)
{
	struct ibv_sge sge[5] = {};
	struct ibv_send_wr wr[4] = {}, *bad = NULL;
	struct hcasim_wqe_ctrl ctrl[4];
	struct fixture fixture;
	int i;

	fixture_open(&fixture, &fixture_rc);
	for (i = 0; i < 4; i++)
		wr[i] = (struct ibv_send_wr){.wr_id = i,
					     .opcode = IBV_WR_SEND,
					     .sg_list = sge,
					     .num_sge = i == 2 ? 5 : 1,
					     .next = i < 3 ? &wr[i + 1] : NULL};
	CU_ASSERT_EQUAL(hcasim_post_send(fixture_qp(&fixture), wr, &bad), EINVAL);
	CU_ASSERT_PTR_EQUAL(bad, &wr[2]);
	/* What came before it is posted, and nothing else. */
	CU_ASSERT_EQUAL(le32toh(fixture.sq_record.sq_pi), 2);
	CU_ASSERT_EQUAL(fixture_db_sq(&fixture), (uint64_t)2 << 32 | FIXTURE_QPN);
	fixture_wqe(&fixture, 1, 1, ctrl);
	CU_ASSERT_EQUAL(le16toh(ctrl[0].index), 1);

	/* Each of these is refused on its own. */
	for (i = 0; i < 5; i++) {
		struct ibv_send_wr w = {.opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 1};

		if (i == 0)
			w.opcode = IBV_WR_FLUSH;
		else if (i == 1)
			w.opcode = IBV_WR_BIND_MW; /* of no window */
		else if (i == 2)
			w.opcode = 200;
		else if (i == 3)
			w.num_sge = -1;
		else
			w.send_flags = IBV_SEND_INLINE, w.opcode = IBV_WR_RDMA_READ;
		bad = NULL;
		CU_ASSERT_NOT_EQUAL(hcasim_post_send(fixture_qp(&fixture), &w, &bad), 0);
		CU_ASSERT_PTR_EQUAL(bad, &w);
	}
	CU_ASSERT_EQUAL(le32toh(fixture.sq_record.sq_pi), 2);
	fixture_close(&fixture);
}

/* A fault at each place of a long list: so many are posted, and bad_wr is that one. */
static void test_post_depth(void)
{
	enum { DEPTH = 24 };
	struct ibv_sge sge[5] = {};
	struct ibv_send_wr wr[DEPTH], *bad;
	struct fixture fixture;
	int i, k, err;

	for (k = 0; k < 3 * DEPTH; k++) {
		fixture_open(&fixture, &fixture_rc);
		for (i = 0; i < DEPTH; i++)
			wr[i] = (struct ibv_send_wr){.wr_id = i,
						     .sg_list = sge,
						     .num_sge = 1,
						     .opcode = IBV_WR_RDMA_WRITE,
						     .next = i + 1 < DEPTH ? &wr[i + 1] : NULL};
		if (k < DEPTH)
			wr[k].num_sge = 5;
		else if (k < 2 * DEPTH)
			wr[k % DEPTH].opcode = (enum ibv_wr_opcode)99;
		else
			wr[k % DEPTH].send_flags = 1u << 30;
		bad = NULL;
		err = hcasim_post_send(fixture_qp(&fixture), wr, &bad);
		CU_ASSERT_EQUAL(err, EINVAL);
		CU_ASSERT_PTR_EQUAL(bad, &wr[k % DEPTH]);
		CU_ASSERT_EQUAL(le32toh(fixture.sq_record.sq_pi), k % DEPTH);
		/* And the queue goes on behind them. */
		bad->num_sge = 1;
		bad->opcode = IBV_WR_RDMA_WRITE;
		bad->send_flags = 0;
		CU_ASSERT_EQUAL(hcasim_post_send(fixture_qp(&fixture), bad, &bad), 0);
		CU_ASSERT_EQUAL(le32toh(fixture.sq_record.sq_pi), DEPTH);
		fixture_close(&fixture);
	}
}

/* One short WQE is pushed, and the two buffers take turns; several, or a long one, ring the doorbell. */
static void test_doorbells(void)
{
	struct fixture_config no_bf = fixture_rc;
	struct ibv_sge sge[4] = {};
	uint8_t data[128] = {1, 2, 3}, wqe[256];
	struct ibv_qp_ex *qpx;
	struct fixture fixture;
	int i;

	fixture_open(&fixture, &fixture_rc);
	qpx = fixture_qpx(&fixture);
	for (i = 0; i < 4; i++) {
		uint32_t first = atomic_load(&fixture.qp.sq.pi_bb), bbs;
		const uint8_t *bf = fixture.ctx->uar.page + HCASIM_UAR_BF + (i % 2) * HCASIM_BF_SIZE;

		fixture_clear_uar(&fixture);
		ibv_wr_start(qpx);
		ibv_wr_send(qpx);
		ibv_wr_set_inline_data(qpx, data, i < 2 ? 8 : 128);
		CU_ASSERT_EQUAL(ibv_wr_complete(qpx), 0);
		bbs = atomic_load(&fixture.qp.sq.pi_bb) - first;
		fixture_wqe(&fixture, first, bbs, wqe);
		CU_ASSERT_EQUAL(memcmp(bf, wqe, bbs * 64), 0);
		CU_ASSERT_EQUAL(fixture_db_sq(&fixture), 0);
		CU_ASSERT_EQUAL(le32toh(fixture.sq_record.sq_pi), first + bbs);
	}

	fixture_clear_uar(&fixture);
	ibv_wr_start(qpx);
	for (i = 0; i < 2; i++) {
		ibv_wr_send(qpx);
		ibv_wr_set_sge_list(qpx, 4, sge);
	}
	CU_ASSERT_EQUAL(ibv_wr_complete(qpx), 0);
	CU_ASSERT_EQUAL(fixture_db_sq(&fixture),
			(uint64_t)le32toh(fixture.sq_record.sq_pi) << 32 | FIXTURE_QPN);
	CU_ASSERT_EQUAL(fixture.ctx->uar.page[HCASIM_UAR_BF], 0);

	/* Both buffers in use elsewhere. */
	fixture_clear_uar(&fixture);
	atomic_flag_test_and_set(&fixture.ctx->uar.bf_taken[0]);
	atomic_flag_test_and_set(&fixture.ctx->uar.bf_taken[1]);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	CU_ASSERT_EQUAL(ibv_wr_complete(qpx), 0);
	CU_ASSERT_EQUAL(fixture_db_sq(&fixture),
			(uint64_t)le32toh(fixture.sq_record.sq_pi) << 32 | FIXTURE_QPN);
	fixture_close(&fixture);

	no_bf.no_bf = true;
	no_bf.max_inline = 512;
	fixture_open(&fixture, &no_bf);
	ibv_wr_start(fixture_qpx(&fixture));
	ibv_wr_send(fixture_qpx(&fixture));
	CU_ASSERT_EQUAL(ibv_wr_complete(fixture_qpx(&fixture)), 0);
	CU_ASSERT_EQUAL(fixture_db_sq(&fixture), (uint64_t)1 << 32 | FIXTURE_QPN);
	fixture_close(&fixture);
}

/* A QP of a thread domain uses that one's page, whatever happens on the context's. */
static void test_own_page(void)
{
	struct fixture_config td = fixture_rc;
	uint8_t wqe[64];
	struct fixture fixture;
	uint64_t db;
	int i;

	td.td = true;
	fixture_open(&fixture, &td);
	atomic_flag_test_and_set(&fixture.ctx->uar.bf_taken[0]);
	atomic_flag_test_and_set(&fixture.ctx->uar.bf_taken[1]);
	for (i = 0; i < 3; i++) {
		ibv_wr_start(fixture_qpx(&fixture));
		ibv_wr_send(fixture_qpx(&fixture));
		if (i == 2)
			ibv_wr_send(fixture_qpx(&fixture));
		CU_ASSERT_EQUAL(ibv_wr_complete(fixture_qpx(&fixture)), 0);
	}
	fixture_wqe(&fixture, 1, 1, wqe);
	CU_ASSERT_EQUAL(memcmp(fixture.td.own.page + HCASIM_UAR_BF + HCASIM_BF_SIZE, wqe, 64), 0);
	memcpy(&db, fixture.td.own.page + HCASIM_UAR_DB_SQ, sizeof(db));
	CU_ASSERT_EQUAL(le64toh(db), (uint64_t)4 << 32 | FIXTURE_QPN);
	for (i = 0; i < HCASIM_UAR_PAGE_SIZE; i++)
		CU_ASSERT_EQUAL_FATAL(fixture.ctx->uar.page[i], 0);
	fixture_close(&fixture);
}

int main(void)
{
	static const struct fixture_test tests[] = {
		{"a fault aborts the whole region", test_faults},
		{"abort, empty and missing regions", test_abort},
		{"states", test_states},
		{"ibv_post_send stops at the bad WR", test_post_list},
		{"a bad WR at each place of a list", test_post_depth},
		{"doorbells and BlueFlame", test_doorbells},
		{"a thread domain's own page", test_own_page},
		{},
	};

	return fixture_main("regions", tests);
}
