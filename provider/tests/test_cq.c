// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completions: fields, phases, unsignalled WQEs, errors, cleaning, arming. */
#include <string.h>

#include "rig.h"

static void post_sends(struct rig *rig, uint64_t first_id, int n)
{
	int i;

	ibv_wr_start(rig_qpx(rig));
	for (i = 0; i < n; i++) {
		rig_qpx(rig)->wr_id = first_id + i;
		ibv_wr_send(rig_qpx(rig));
	}
	CU_ASSERT_EQUAL_FATAL(ibv_wr_complete(rig_qpx(rig)), 0);
}

static void post_recvs(struct rig *rig, uint64_t first_id, int n)
{
	struct ibv_recv_wr wr = {}, *bad;
	int i;

	for (i = 0; i < n; i++) {
		wr.wr_id = first_id + i;
		CU_ASSERT_EQUAL_FATAL(hcasim_post_recv(rig_qp(rig), &wr, &bad), 0);
	}
}

static int poll_n(struct rig *rig, int n, struct ibv_wc *wc)
{
	return hcasim_poll_cq(&rig->cq.vcq.cq, n, wc);
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
	struct rig rig;
	size_t i;

	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
		struct hcasim_cqe cqe = rig_send_cqe(0, 1, map[i].op);

		rig_open(&rig, &rig_rc);
		CU_ASSERT_EQUAL(poll_n(&rig, 2, wc), 0);
		post_sends(&rig, 0x1234567890abcdefull, 1);
		cqe.byte_count = htole32(8);
		rig_cqe(&rig, &cqe);
		memset(wc, 0xee, sizeof(wc));
		CU_ASSERT_EQUAL(poll_n(&rig, 2, wc), 1);
		CU_ASSERT_EQUAL(wc[0].wr_id, 0x1234567890abcdefull);
		CU_ASSERT_EQUAL(wc[0].status, IBV_WC_SUCCESS);
		CU_ASSERT_EQUAL(wc[0].opcode, map[i].wc);
		CU_ASSERT_EQUAL(wc[0].qp_num, RIG_QPN);
		CU_ASSERT_EQUAL(wc[0].byte_len, 8);
		CU_ASSERT_EQUAL(wc[0].wc_flags, 0);
		CU_ASSERT_EQUAL(wc[0].vendor_err, 0);
		CU_ASSERT_EQUAL(le32toh(rig.cq_record.ci), 1);
		rig_close(&rig);
	}
}

static void test_recv_fields(void)
{
	struct hcasim_cqe cqe = rig_recv_cqe(0, 0xfedcba98);
	struct ibv_wc wc;
	struct rig rig;

	rig_open(&rig, &rig_ud);
	post_recvs(&rig, 40, 3);
	cqe.src_qpn_flags = htole32(0xabcdef | HCASIM_CQE_GRH_MASK | HCASIM_CQE_WITH_IMM_MASK);
	cqe.imm = htobe32(0x01020304);
	cqe.inv_rkey = htole32(99);
	cqe.pkey_index = htole16(7);
	cqe.slid = htole32(0x1234);
	cqe.sl = 5;
	cqe.path_bits = 3;
	rig_cqe(&rig, &cqe);
	CU_ASSERT_EQUAL_FATAL(poll_n(&rig, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, 40);
	CU_ASSERT_EQUAL(wc.opcode, IBV_WC_RECV);
	CU_ASSERT_EQUAL(wc.byte_len, 0xfedcba98);
	CU_ASSERT_EQUAL(wc.src_qp, 0xabcdef);
	CU_ASSERT_EQUAL(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	CU_ASSERT_EQUAL(wc.imm_data, htobe32(0x01020304));
	CU_ASSERT_EQUAL(wc.pkey_index, 7);
	CU_ASSERT_EQUAL(wc.slid, 0x1234);
	CU_ASSERT_EQUAL(wc.sl, 5);
	CU_ASSERT_EQUAL(wc.dlid_path_bits, 3);

	cqe = rig_recv_cqe(1, 16);
	cqe.qpn_opcode = htole32(RIG_QPN | HCASIM_CQE_OP_RECV_WRITE_IMM << 24);
	cqe.src_qpn_flags = htole32(HCASIM_CQE_WITH_IMM_MASK);
	rig_cqe(&rig, &cqe);
	CU_ASSERT_EQUAL_FATAL(poll_n(&rig, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);

	cqe = rig_recv_cqe(2, 16);
	cqe.src_qpn_flags = htole32(HCASIM_CQE_WITH_INV_MASK | HCASIM_CQE_CSUM_OK_MASK);
	cqe.inv_rkey = htole32(0x55667788);
	rig_cqe(&rig, &cqe);
	CU_ASSERT_EQUAL_FATAL(poll_n(&rig, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wc_flags, IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK);
	CU_ASSERT_EQUAL(wc.invalidated_rkey, 0x55667788);
	rig_close(&rig);
}

static void test_status(void)
{
	struct ibv_wc wc;
	struct rig rig;
	int status;

	for (status = 0; status < 256; status++) {
		struct hcasim_cqe cqe = rig_send_cqe(0, 1, HCASIM_WQE_OP_SEND);

		rig_open(&rig, &rig_rc);
		post_sends(&rig, 1, 1);
		cqe.status = status;
		cqe.vendor_err = HCASIM_VENDOR_ERR_BAD_LKEY;
		rig_cqe(&rig, &cqe);
		CU_ASSERT_EQUAL(poll_n(&rig, 1, &wc), 1);
		CU_ASSERT_EQUAL(wc.status, status <= IBV_WC_GENERAL_ERR ? status : IBV_WC_GENERAL_ERR);
		CU_ASSERT_EQUAL(wc.vendor_err, HCASIM_VENDOR_ERR_BAD_LKEY);
		rig_close(&rig);
	}
}

/* A completion gives back the unsignalled WQEs before it; an error completion does so, too. */
static void test_unsignalled(void)
{
	struct hcasim_cqe cqe;
	struct ibv_wc wc;
	struct rig rig;

	rig_open(&rig, &rig_rc);
	post_sends(&rig, 10, 5);
	cqe = rig_send_cqe(3, 1, HCASIM_WQE_OP_SEND);
	rig_cqe(&rig, &cqe);
	CU_ASSERT_EQUAL(poll_n(&rig, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, 13);
	CU_ASSERT_EQUAL(atomic_load(&rig.qp.sq.ci_bb), 4);
	CU_ASSERT_EQUAL(atomic_load(&rig.qp.sq.ci_wr), 4);
	cqe = rig_send_cqe(4, 1, HCASIM_WQE_OP_SEND);
	cqe.status = HCASIM_CQE_STATUS_WR_FLUSH_ERR;
	rig_cqe(&rig, &cqe);
	CU_ASSERT_EQUAL(poll_n(&rig, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, 14);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(atomic_load(&rig.qp.sq.ci_bb), 5);
	rig_close(&rig);
}

/* What names no posted WR is passed over, and moves nothing. */
static void test_bogus(void)
{
	struct hcasim_cqe good = rig_send_cqe(0, 1, HCASIM_WQE_OP_SEND), cqe;
	struct ibv_wc wc[8];
	struct rig rig;

	rig_open(&rig, &rig_rc);
	post_sends(&rig, 20, 2);
	cqe = rig_send_cqe(2, 1, HCASIM_WQE_OP_SEND); /* not posted */
	rig_cqe(&rig, &cqe);
	cqe = rig_send_cqe(0, 0, HCASIM_WQE_OP_SEND); /* no blocks */
	rig_cqe(&rig, &cqe);
	cqe = rig_send_cqe(0xffff, 2, HCASIM_WQE_OP_SEND); /* begins before the oldest */
	rig_cqe(&rig, &cqe);
	cqe = rig_recv_cqe(0, 0); /* no receive was posted */
	rig_cqe(&rig, &cqe);
	cqe = good;
	cqe.qpn_opcode = htole32(RIG_QPN | 0xffu << 24);
	rig_cqe(&rig, &cqe);
	cqe.qpn_opcode = htole32(1); /* no such QP */
	rig_cqe(&rig, &cqe);
	rig_cqe(&rig, &good);
	CU_ASSERT_EQUAL(poll_n(&rig, 8, wc), 1);
	CU_ASSERT_EQUAL(wc[0].wr_id, 20);
	CU_ASSERT_EQUAL(atomic_load(&rig.qp.sq.ci_bb), 1);
	CU_ASSERT_EQUAL(atomic_load(&rig.qp.rq.ci), 0);
	CU_ASSERT_EQUAL(le32toh(rig.cq_record.ci), 7);
	rig_close(&rig);
}

/* Many turns of a small ring, filled to the brim: the phase tells new entries from old ones. */
static void test_phase(void)
{
	struct rig_config cfg = rig_rc;
	struct ibv_wc wc[8];
	struct rig rig;
	uint32_t id = 0, turn, i;

	cfg.cqe = 4;
	rig_open(&rig, &cfg);
	for (turn = 0; turn < 9; turn++) {
		uint32_t n = turn % 3 ? 4 : 3;

		post_sends(&rig, id, n);
		for (i = 0; i < n; i++) {
			struct hcasim_cqe cqe = rig_send_cqe(id + i, 1, HCASIM_WQE_OP_SEND);

			rig_cqe(&rig, &cqe);
		}
		CU_ASSERT_EQUAL(poll_n(&rig, 8, wc), (int)n);
		for (i = 0; i < n; i++)
			CU_ASSERT_EQUAL(wc[i].wr_id, id + i);
		CU_ASSERT_EQUAL(poll_n(&rig, 8, wc), 0);
		id += n;
	}
	rig_close(&rig);
}

/* Two QPs share a CQ; the completions of one are dropped from every mix, at every place of the ring. */
static void test_clean(void)
{
	struct rig_config cfg = rig_rc;
	struct ibv_wc wc[8];
	struct rig rig;
	uint32_t mix, start, i, kept;

	cfg.cqe = 4;
	for (start = 0; start < 8; start++)
		for (mix = 0; mix < 16; mix++) {
			rig_open(&rig, &cfg);
			rig.cq_pi = rig.cq.ci = start;
			/* What the turn before left. */
			for (i = 0; i < 4; i++)
				rig.cq.ring[i].owner =
					start + 4 > i + 4
						? hcasim_cq_phase(4, i < start % 4 ? start : start - 4)
						: 0;
			post_sends(&rig, 100, 4);
			for (i = 0, kept = 0; i < 4; i++) {
				struct hcasim_cqe cqe = rig_send_cqe(kept, 1, HCASIM_WQE_OP_SEND);

				if (mix >> i & 1)
					cqe.qpn_opcode = htole32(RIG_QPN + 1);
				else
					kept++;
				rig_cqe(&rig, &cqe);
			}
			hcasim_cq_clean(&rig.cq, RIG_QPN + 1, 0);
			CU_ASSERT_EQUAL(rig.cq.ci, start + 4 - kept);
			CU_ASSERT_EQUAL(poll_n(&rig, 8, wc), (int)kept);
			for (i = 0; i < kept; i++)
				CU_ASSERT_EQUAL(wc[i].wr_id, 100 + i);
			CU_ASSERT_EQUAL(rig.cq.ci, start + 4);
			rig_close(&rig);
		}
}

static uint64_t db_cq(const struct rig *rig)
{
	uint64_t v;

	memcpy(&v, rig->ctx->uar.page + HCASIM_UAR_DB_CQ, sizeof(v));
	return le64toh(v);
}

static void test_arm(void)
{
	struct hcasim_cqe cqe = rig_send_cqe(0, 1, HCASIM_WQE_OP_SEND);
	struct ibv_wc wc;
	struct rig rig;
	uint32_t sn, events;

	rig_open(&rig, &rig_rc);
	post_sends(&rig, 0, 1);
	rig_cqe(&rig, &cqe);
	CU_ASSERT_EQUAL(poll_n(&rig, 1, &wc), 1);
	for (events = 0; events < 6; events++) {
		sn = (1 + events) % 4;
		CU_ASSERT_EQUAL(hcasim_req_notify_cq(&rig.cq.vcq.cq, 0), 0);
		CU_ASSERT_EQUAL(le32toh(rig.cq_record.arm), sn);
		CU_ASSERT_EQUAL(db_cq(&rig), RIG_CQN | (uint64_t)sn << 24 | 1ull << 32);
		/* Solicited only; no event came in between, so the number stays. */
		CU_ASSERT_EQUAL(hcasim_req_notify_cq(&rig.cq.vcq.cq, 1), 0);
		CU_ASSERT_EQUAL(le32toh(rig.cq_record.arm), sn | 1 << 2);
		CU_ASSERT_EQUAL(db_cq(&rig), RIG_CQN | (uint64_t)sn << 24 | 1ull << 26 | 1ull << 32);
		hcasim_cq_event(&rig.cq.vcq.cq);
	}
	rig_close(&rig);
}

int main(void)
{
	static const struct rig_test tests[] = {
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

	return rig_main("completions", tests);
}
