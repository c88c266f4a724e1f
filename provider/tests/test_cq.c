// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completions: fields, phases, unsignalled WQEs, errors, cleaning, arming. */
#include <string.h>

#include "fixture.h"

static void post_sends(struct fixture *fixture, uint64_t first_id, int n)
{
	int i;

	ibv_wr_start(fixture_qpx(fixture));
	for (i = 0; i < n; i++) {
		fixture_qpx(fixture)->wr_id = first_id + i;
		ibv_wr_send(fixture_qpx(fixture));
	}
	CU_ASSERT_EQUAL_FATAL(ibv_wr_complete(fixture_qpx(fixture)), 0);
}

static void post_recvs(struct fixture *fixture, uint64_t first_id, int n)
{
	struct ibv_recv_wr wr = {}, *bad;
	int i;

	for (i = 0; i < n; i++) {
		wr.wr_id = first_id + i;
		CU_ASSERT_EQUAL_FATAL(hcasim_post_recv(fixture_qp(fixture), &wr, &bad), 0);
	}
}

static int poll_n(struct fixture *fixture, int n, struct ibv_wc *wc)
{
	return hcasim_poll_cq(&fixture->cq.vcq.cq, n, wc);
}

static void test_send_fields(void)
{
	static const struct {
		enum hcasim_wqe_op op;
		enum ibv_wc_opcode wc;
	} map[] = {
		{HCASIM_WQE_OP_SEND, IBV_WC_SEND},
		{HCASIM_WQE_OP_SEND_IMM, IBV_WC_SEND},
		{HCASIM_WQE_OP_SEND_INV, IBV_WC_SEND},
		{HCASIM_WQE_OP_RDMA_WRITE, IBV_WC_RDMA_WRITE},
		{HCASIM_WQE_OP_RDMA_WRITE_IMM, IBV_WC_RDMA_WRITE},
		{HCASIM_WQE_OP_RDMA_READ, IBV_WC_RDMA_READ},
		{HCASIM_WQE_OP_ATOMIC_CS, IBV_WC_COMP_SWAP},
		{HCASIM_WQE_OP_ATOMIC_FA, IBV_WC_FETCH_ADD},
		{HCASIM_WQE_OP_BIND_MW, IBV_WC_BIND_MW},
		{HCASIM_WQE_OP_LOCAL_INV, IBV_WC_LOCAL_INV},
		{HCASIM_WQE_OP_TSO, IBV_WC_TSO},
		{HCASIM_WQE_OP_FLUSH, IBV_WC_FLUSH},
		{HCASIM_WQE_OP_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE},
	};
	struct ibv_wc wc[2];
	struct fixture fixture;
	size_t i;

	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
		struct hcasim_cqe cqe = fixture_send_cqe(0, 1, map[i].op);

		fixture_open(&fixture, &fixture_rc);
		CU_ASSERT_EQUAL(poll_n(&fixture, 2, wc), 0);
		post_sends(&fixture, 0x1234567890abcdefull, 1);
		cqe.byte_count = htole32(8);
		fixture_cqe(&fixture, &cqe);
		memset(wc, 0xee, sizeof(wc));
		CU_ASSERT_EQUAL(poll_n(&fixture, 2, wc), 1);
		CU_ASSERT_EQUAL(wc[0].wr_id, 0x1234567890abcdefull);
		CU_ASSERT_EQUAL(wc[0].status, IBV_WC_SUCCESS);
		CU_ASSERT_EQUAL(wc[0].opcode, map[i].wc);
		CU_ASSERT_EQUAL(wc[0].qp_num, FIXTURE_QPN);
		CU_ASSERT_EQUAL(wc[0].byte_len, 8);
		CU_ASSERT_EQUAL(wc[0].wc_flags, 0);
		CU_ASSERT_EQUAL(wc[0].vendor_err, 0);
		CU_ASSERT_EQUAL(le32toh(fixture.cq_record.ci), 1);
		fixture_close(&fixture);
	}
}

static void test_recv_fields(void)
{
	struct hcasim_cqe cqe = fixture_recv_cqe(0, 0xfedcba98);
	struct ibv_wc wc;
	struct fixture fixture;

	fixture_open(&fixture, &fixture_ud);
	post_recvs(&fixture, 40, 3);
	cqe.src_qpn_flags = htole32(0xabcdef | HCASIM_CQE_GRH_MASK | HCASIM_CQE_WITH_IMM_MASK);
	cqe.imm = htobe32(0x01020304);
	cqe.inv_rkey = htole32(99);
	cqe.pkey_index = htole16(7);
	cqe.sl = 5;
	cqe.path_bits = 3;
	fixture_cqe(&fixture, &cqe);
	CU_ASSERT_EQUAL_FATAL(poll_n(&fixture, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, 40);
	CU_ASSERT_EQUAL(wc.opcode, IBV_WC_RECV);
	CU_ASSERT_EQUAL(wc.byte_len, 0xfedcba98);
	CU_ASSERT_EQUAL(wc.src_qp, 0xabcdef);
	CU_ASSERT_EQUAL(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	CU_ASSERT_EQUAL(wc.imm_data, htobe32(0x01020304));
	CU_ASSERT_EQUAL(wc.pkey_index, 7);
	CU_ASSERT_EQUAL(wc.slid, 0);
	CU_ASSERT_EQUAL(wc.sl, 5);
	CU_ASSERT_EQUAL(wc.dlid_path_bits, 3);

	cqe = fixture_recv_cqe(1, 16);
	cqe.qpn_opcode = htole32(FIXTURE_QPN | HCASIM_CQE_OP_RECV_WRITE_IMM << 24);
	cqe.src_qpn_flags = htole32(HCASIM_CQE_WITH_IMM_MASK);
	fixture_cqe(&fixture, &cqe);
	CU_ASSERT_EQUAL_FATAL(poll_n(&fixture, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);

	cqe = fixture_recv_cqe(2, 16);
	cqe.src_qpn_flags = htole32(HCASIM_CQE_WITH_INV_MASK | HCASIM_CQE_CSUM_OK_MASK);
	cqe.inv_rkey = htole32(0x55667788);
	fixture_cqe(&fixture, &cqe);
	CU_ASSERT_EQUAL_FATAL(poll_n(&fixture, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wc_flags, IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK);
	CU_ASSERT_EQUAL(wc.invalidated_rkey, 0x55667788);
	fixture_close(&fixture);
}

static void test_status(void)
{
	struct ibv_wc wc;
	struct fixture fixture;
	int status;

	for (status = 0; status < 256; status++) {
		struct hcasim_cqe cqe = fixture_send_cqe(0, 1, HCASIM_WQE_OP_SEND);

		fixture_open(&fixture, &fixture_rc);
		post_sends(&fixture, 1, 1);
		cqe.status = status;
		cqe.vendor_err = HCASIM_VENDOR_ERR_BAD_LKEY;
		fixture_cqe(&fixture, &cqe);
		CU_ASSERT_EQUAL(poll_n(&fixture, 1, &wc), 1);
		CU_ASSERT_EQUAL(wc.status, status <= IBV_WC_TM_RNDV_INCOMPLETE ? status : IBV_WC_GENERAL_ERR);
		CU_ASSERT_EQUAL(wc.vendor_err, HCASIM_VENDOR_ERR_BAD_LKEY);
		fixture_close(&fixture);
	}
}

/* A completion gives back the unsignalled WQEs before it; an error completion does so, too. */
static void test_unsignalled(void)
{
	struct hcasim_cqe cqe;
	struct ibv_wc wc;
	struct fixture fixture;

	fixture_open(&fixture, &fixture_rc);
	post_sends(&fixture, 10, 5);
	cqe = fixture_send_cqe(3, 1, HCASIM_WQE_OP_SEND);
	fixture_cqe(&fixture, &cqe);
	CU_ASSERT_EQUAL(poll_n(&fixture, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, 13);
	CU_ASSERT_EQUAL(atomic_load(&fixture.qp.sq.ci_bb), 4);
	CU_ASSERT_EQUAL(atomic_load(&fixture.qp.sq.ci_wr), 4);
	cqe = fixture_send_cqe(4, 1, HCASIM_WQE_OP_SEND);
	cqe.status = HCASIM_CQE_STATUS_WR_FLUSH_ERR;
	fixture_cqe(&fixture, &cqe);
	CU_ASSERT_EQUAL(poll_n(&fixture, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, 14);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(atomic_load(&fixture.qp.sq.ci_bb), 5);
	fixture_close(&fixture);
}

/* What names no posted WR is passed over, and moves nothing. */
static void test_bogus(void)
{
	struct hcasim_cqe good = fixture_send_cqe(0, 1, HCASIM_WQE_OP_SEND), cqe;
	struct ibv_wc wc[8];
	struct fixture fixture;

	fixture_open(&fixture, &fixture_rc);
	post_sends(&fixture, 20, 2);
	cqe = fixture_send_cqe(2, 1, HCASIM_WQE_OP_SEND); /* not posted */
	fixture_cqe(&fixture, &cqe);
	cqe = fixture_send_cqe(0, 0, HCASIM_WQE_OP_SEND); /* no blocks */
	fixture_cqe(&fixture, &cqe);
	cqe = fixture_send_cqe(0xffff, 2, HCASIM_WQE_OP_SEND); /* begins before the oldest */
	fixture_cqe(&fixture, &cqe);
	cqe = fixture_recv_cqe(0, 0); /* no receive was posted */
	fixture_cqe(&fixture, &cqe);
	cqe = good;
	cqe.qpn_opcode = htole32(FIXTURE_QPN | 0xffu << 24);
	fixture_cqe(&fixture, &cqe);
	cqe.qpn_opcode = htole32(1); /* no such QP */
	fixture_cqe(&fixture, &cqe);
	fixture_cqe(&fixture, &good);
	CU_ASSERT_EQUAL(poll_n(&fixture, 8, wc), 1);
	CU_ASSERT_EQUAL(wc[0].wr_id, 20);
	CU_ASSERT_EQUAL(atomic_load(&fixture.qp.sq.ci_bb), 1);
	CU_ASSERT_EQUAL(atomic_load(&fixture.qp.rq.ci), 0);
	CU_ASSERT_EQUAL(le32toh(fixture.cq_record.ci), 7);
	fixture_close(&fixture);
}

/* Many turns of a small ring, filled to the brim: the phase tells new entries from old ones. */
static void test_phase(void)
{
	struct fixture_config cfg = fixture_rc;
	struct ibv_wc wc[8];
	struct fixture fixture;
	uint32_t id = 0, turn, i;

	cfg.cqe = 4;
	fixture_open(&fixture, &cfg);
	for (turn = 0; turn < 9; turn++) {
		uint32_t n = turn % 3 ? 4 : 3;

		post_sends(&fixture, id, n);
		for (i = 0; i < n; i++) {
			struct hcasim_cqe cqe = fixture_send_cqe(id + i, 1, HCASIM_WQE_OP_SEND);

			fixture_cqe(&fixture, &cqe);
		}
		CU_ASSERT_EQUAL(poll_n(&fixture, 8, wc), (int)n);
		for (i = 0; i < n; i++)
			CU_ASSERT_EQUAL(wc[i].wr_id, id + i);
		CU_ASSERT_EQUAL(poll_n(&fixture, 8, wc), 0);
		id += n;
	}
	fixture_close(&fixture);
}

/* Two QPs share a CQ; the completions of one are dropped from every mix, at every place of the ring. */
static void test_clean(void)
{
	struct fixture_config cfg = fixture_rc;
	struct ibv_wc wc[8];
	struct fixture fixture;
	uint32_t mix, start, i, kept;

	cfg.cqe = 4;
	for (start = 0; start < 8; start++)
		for (mix = 0; mix < 16; mix++) {
			fixture_open(&fixture, &cfg);
			fixture.cq_pi = fixture.cq.ci = start;
			/* What the turn before left. */
			for (i = 0; i < 4; i++)
				fixture.cq.ring[i].owner =
					start + 4 > i + 4
						? hcasim_cq_phase(4, i < start % 4 ? start : start - 4)
						: 0;
			post_sends(&fixture, 100, 4);
			for (i = 0, kept = 0; i < 4; i++) {
				struct hcasim_cqe cqe = fixture_send_cqe(kept, 1, HCASIM_WQE_OP_SEND);

				if (mix >> i & 1)
					cqe.qpn_opcode = htole32(FIXTURE_QPN + 1);
				else
					kept++;
				fixture_cqe(&fixture, &cqe);
			}
			hcasim_cq_clean(&fixture.cq, FIXTURE_QPN + 1, 0);
			CU_ASSERT_EQUAL(fixture.cq.ci, start + 4 - kept);
			CU_ASSERT_EQUAL(poll_n(&fixture, 8, wc), (int)kept);
			for (i = 0; i < kept; i++)
				CU_ASSERT_EQUAL(wc[i].wr_id, 100 + i);
			CU_ASSERT_EQUAL(fixture.cq.ci, start + 4);
			fixture_close(&fixture);
		}
}

static uint64_t db_cq(const struct fixture *fixture)
{
	uint64_t v;

	memcpy(&v, fixture->ctx->uar.page + HCASIM_UAR_DB_CQ, sizeof(v));
	return le64toh(v);
}

static void test_arm(void)
{
	struct hcasim_cqe cqe = fixture_send_cqe(0, 1, HCASIM_WQE_OP_SEND);
	struct ibv_wc wc;
	struct fixture fixture;
	uint32_t sn, events;

	fixture_open(&fixture, &fixture_rc);
	post_sends(&fixture, 0, 1);
	fixture_cqe(&fixture, &cqe);
	CU_ASSERT_EQUAL(poll_n(&fixture, 1, &wc), 1);
	for (events = 0; events < 6; events++) {
		sn = (1 + events) % 4;
		CU_ASSERT_EQUAL(hcasim_req_notify_cq(&fixture.cq.vcq.cq, 0), 0);
		CU_ASSERT_EQUAL(le32toh(fixture.cq_record.arm), sn);
		CU_ASSERT_EQUAL(db_cq(&fixture), FIXTURE_CQN | (uint64_t)sn << 24 | 1ull << 32);
		/* Solicited only; no event came in between, so the number stays. */
		CU_ASSERT_EQUAL(hcasim_req_notify_cq(&fixture.cq.vcq.cq, 1), 0);
		CU_ASSERT_EQUAL(le32toh(fixture.cq_record.arm), sn | 1 << 2);
		CU_ASSERT_EQUAL(db_cq(&fixture), FIXTURE_CQN | (uint64_t)sn << 24 | 1ull << 26 | 1ull << 32);
		hcasim_cq_event(&fixture.cq.vcq.cq);
	}
	fixture_close(&fixture);
}

int main(void)
{
	static const struct fixture_test tests[] = {
		{"fields of send completions", test_send_fields},
		{"fields of receive completions", test_recv_fields},
		{"statuses", test_status},
		{"unsignalled WQEs", test_unsignalled},
		{"completions of nothing", test_bogus},
		{"phase", test_phase},
		{"cleaning", test_clean},
		{"arming", test_arm},
		{},
	};

	return fixture_main("completions", tests);
}
