// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Bytes of WQEs, for every operation, through both interfaces. */
#include <string.h>

#include "fixture.h"

#define WR_ID 0x1122334455667788ull
#define RKEY  0x0badcafeu
#define RADDR 0x0000700012345678ull
#define QKEY  0x11111111u
#define DQPN  0x00654321u

static const struct ibv_sge sges[2] = {
	{.addr = 0x1000, .length = 8, .lkey = 0x201},
	{.addr = 0xffff800000000000ull, .length = 0x80000000u, .lkey = 0x202},
};

struct op_case {
	enum ibv_wr_opcode opcode;
	enum hcasim_wqe_op wqe_op;
	bool remote, atomic, imm, inv;
	uint64_t swap_add, compare;
	bool inline_ok, ud_ok;
};

/* The compare_add, swap of struct ibv_send_wr: 3, 5. */
static const struct op_case cases[] = {
	{IBV_WR_SEND, HCASIM_WQE_OP_SEND, .inline_ok = true, .ud_ok = true},
	{IBV_WR_SEND_WITH_IMM, HCASIM_WQE_OP_SEND_IMM, .imm = true, .inline_ok = true, .ud_ok = true},
	{IBV_WR_SEND_WITH_INV, HCASIM_WQE_OP_SEND_INV, .inv = true, .inline_ok = true},
	{IBV_WR_RDMA_WRITE, HCASIM_WQE_OP_RDMA_WRITE, .remote = true, .inline_ok = true},
	{IBV_WR_RDMA_WRITE_WITH_IMM, HCASIM_WQE_OP_RDMA_WRITE_IMM, .remote = true, .imm = true,
	 .inline_ok = true},
	{IBV_WR_RDMA_READ, HCASIM_WQE_OP_RDMA_READ, .remote = true},
	{IBV_WR_ATOMIC_CMP_AND_SWP, HCASIM_WQE_OP_ATOMIC_CS, .remote = true, .atomic = true, .swap_add = 5,
	 .compare = 3},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, HCASIM_WQE_OP_ATOMIC_FA, .remote = true, .atomic = true, .swap_add = 3},
};
#define NUM_CASES (sizeof(cases) / sizeof(cases[0]))

static void build_wr(struct ibv_send_wr *wr, const struct op_case *c, struct ibv_ah *ah)
{
	memset(wr, 0, sizeof(*wr));
	wr->wr_id = WR_ID;
	wr->opcode = c->opcode;
	wr->send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED;
	if (c->inv)
		wr->invalidate_rkey = RKEY;
	else
		wr->imm_data = htobe32(0xdeadbeef);
	if (c->atomic) {
		wr->wr.atomic.remote_addr = RADDR;
		wr->wr.atomic.rkey = RKEY;
		wr->wr.atomic.compare_add = 3;
		wr->wr.atomic.swap = 5;
	} else if (c->remote) {
		wr->wr.rdma.remote_addr = RADDR;
		wr->wr.rdma.rkey = RKEY;
	}
	if (ah) {
		wr->wr.ud.ah = ah;
		wr->wr.ud.remote_qpn = DQPN;
		wr->wr.ud.remote_qkey = QKEY;
	}
}

static void call_builder(struct ibv_qp_ex *qpx, const struct op_case *c)
{
	switch (c->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(qpx);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qpx, htobe32(0xdeadbeef));
		break;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(qpx, RKEY);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qpx, RKEY, RADDR);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qpx, RKEY, RADDR, htobe32(0xdeadbeef));
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qpx, RKEY, RADDR);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qpx, RKEY, RADDR, 3, 5);
		break;
	default:
		ibv_wr_atomic_fetch_add(qpx, RKEY, RADDR, 3);
		break;
	}
}

static uint32_t flags_of(const struct hcasim_wqe_ctrl *ctrl)
{
	return le32toh(ctrl->qpn_flags);
}

/* Checks what stands before the data; returns the offset of the data. */
static uint32_t check_head(const uint8_t *wqe, const struct op_case *c, bool ud)
{
	const struct hcasim_wqe_ctrl *ctrl = (const void *)wqe;
	bool solicited = c->opcode == IBV_WR_SEND || c->imm || c->inv;
	uint32_t off = 16;

	CU_ASSERT_EQUAL(ctrl->opcode, c->wqe_op);
	CU_ASSERT_EQUAL(le16toh(ctrl->index), 0);
	CU_ASSERT_EQUAL(flags_of(ctrl) & 0xffffff, FIXTURE_QPN);
	CU_ASSERT_EQUAL(!!(flags_of(ctrl) & HCASIM_WQE_CTRL_SIGNALED_MASK), 1);
	CU_ASSERT_EQUAL(!!(flags_of(ctrl) & HCASIM_WQE_CTRL_SOLICITED_MASK), solicited);
	CU_ASSERT_EQUAL(!!(flags_of(ctrl) & HCASIM_WQE_CTRL_FENCE_MASK), !ud);
	CU_ASSERT_EQUAL(be32toh(ctrl->imm), c->imm ? 0xdeadbeef : 0);
	CU_ASSERT_EQUAL(le32toh(ctrl->inv_rkey), c->inv ? RKEY : 0);
	if (ud) {
		const struct hcasim_seg_ud *seg = (const void *)(wqe + off);

		CU_ASSERT_EQUAL(le32toh(seg->qpn), DQPN);
		CU_ASSERT_EQUAL(le32toh(seg->qkey), QKEY);
		CU_ASSERT_EQUAL(seg->dgid[15], 0xd0 + 15);
		CU_ASSERT_EQUAL(memcmp(seg->dmac, "\x02\x00\x00\x00\x00\x07", 6), 0);
		CU_ASSERT_EQUAL(seg->sgid_index, 3);
		CU_ASSERT_EQUAL(seg->hop_limit, 64);
		off += 48;
	}
	if (c->remote) {
		const struct hcasim_seg_remote *seg = (const void *)(wqe + off);

		CU_ASSERT_EQUAL(le64toh(seg->addr), RADDR);
		CU_ASSERT_EQUAL(le32toh(seg->rkey), RKEY);
		CU_ASSERT_EQUAL(seg->reserved, 0);
		off += 16;
	}
	if (c->atomic) {
		const struct hcasim_seg_atomic *seg = (const void *)(wqe + off);

		CU_ASSERT_EQUAL(le64toh(seg->swap_add), c->swap_add);
		CU_ASSERT_EQUAL(le64toh(seg->compare), c->compare);
		off += 16;
	}
	return off;
}

static void check_sges(const uint8_t *wqe, uint32_t off, int num)
{
	const struct hcasim_wqe_ctrl *ctrl = (const void *)wqe;
	int i;

	for (i = 0; i < num; i++, off += 16) {
		const struct hcasim_seg_data *seg = (const void *)(wqe + off);

		CU_ASSERT_EQUAL(le64toh(seg->addr), sges[i].addr);
		CU_ASSERT_EQUAL(le32toh(seg->length), sges[i].length);
		CU_ASSERT_EQUAL(le32toh(seg->lkey), sges[i].lkey);
	}
	CU_ASSERT_EQUAL(ctrl->size, off / 16);
	CU_ASSERT_EQUAL(flags_of(ctrl) & HCASIM_WQE_CTRL_INLINE_MASK, 0);
}

static void check_inline(const uint8_t *wqe, uint32_t off, const void *data, uint32_t len)
{
	const struct hcasim_wqe_ctrl *ctrl = (const void *)wqe;
	const struct hcasim_seg_inline *seg = (const void *)(wqe + off);
	uint32_t end = off + (4 + len + 15) / 16 * 16;

	CU_ASSERT_EQUAL(le32toh(seg->length), len);
	CU_ASSERT_EQUAL(memcmp(wqe + off + 4, data, len), 0);
	CU_ASSERT_EQUAL(ctrl->size, end / 16);
	CU_ASSERT_NOT_EQUAL(flags_of(ctrl) & HCASIM_WQE_CTRL_INLINE_MASK, 0);
}

static void post_one(struct fixture *fixture, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;

	CU_ASSERT_EQUAL(hcasim_post_send(fixture_qp(fixture), wr, &bad), 0);
	CU_ASSERT_PTR_NULL(bad);
}

static void run_op(const struct op_case *c, const struct fixture_config *cfg, bool ud, int num_sge,
		   bool use_post)
{
	struct ibv_qp_ex *qpx;
	struct ibv_send_wr wr;
	uint8_t wqe[1024];
	struct fixture fixture;

	fixture_open(&fixture, cfg);
	qpx = fixture_qpx(&fixture);
	if (use_post) {
		build_wr(&wr, c, ud ? &fixture.ah.ibv_ah : NULL);
		wr.sg_list = (struct ibv_sge *)sges;
		wr.num_sge = num_sge;
		post_one(&fixture, &wr);
	} else {
		ibv_wr_start(qpx);
		qpx->wr_id = WR_ID;
		qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED;
		call_builder(qpx, c);
		if (num_sge == 1)
			ibv_wr_set_sge(qpx, sges[0].lkey, sges[0].addr, sges[0].length);
		if (ud)
			ibv_wr_set_ud_addr(qpx, &fixture.ah.ibv_ah, DQPN, QKEY);
		if (num_sge == 2)
			ibv_wr_set_sge_list(qpx, 2, sges);
		CU_ASSERT_EQUAL(ibv_wr_complete(qpx), 0);
	}
	fixture_wqe(&fixture, 0, 4, wqe);
	check_sges(wqe, check_head(wqe, c, ud), num_sge);
	CU_ASSERT_EQUAL(fixture.qp.sq.slots[0].wr_id, WR_ID);
	CU_ASSERT_EQUAL(le32toh(fixture.sq_record.sq_pi), fixture.qp.sq.next_bb);
	fixture_close(&fixture);
}

static void test_sges(void)
{
	int num, via;
	size_t i;

	for (i = 0; i < NUM_CASES; i++)
		for (num = 1; num <= 2; num++)
			for (via = 0; via < 2; via++) {
				run_op(&cases[i], &fixture_rc, false, num, via);
				if (cases[i].ud_ok)
					run_op(&cases[i], &fixture_ud, true, num, via);
			}
}

/* Erratum NO-DATA-SETTER: no data is a message of 0 bytes, but an atomic needs its 8 bytes. */
static void test_no_data(void)
{
	struct ibv_send_wr wr, *bad;
	struct fixture fixture;
	size_t i;

	for (i = 0; i < NUM_CASES; i++) {
		if (!cases[i].atomic) {
			run_op(&cases[i], &fixture_rc, false, 0, true);
			run_op(&cases[i], &fixture_rc, false, 0, false);
			continue;
		}
		fixture_open(&fixture, &fixture_rc);
		build_wr(&wr, &cases[i], NULL);
		CU_ASSERT_EQUAL(hcasim_post_send(fixture_qp(&fixture), &wr, &bad), EINVAL);
		CU_ASSERT_PTR_EQUAL(bad, &wr);
		ibv_wr_start(fixture_qpx(&fixture));
		call_builder(fixture_qpx(&fixture), &cases[i]);
		CU_ASSERT_EQUAL(ibv_wr_complete(fixture_qpx(&fixture)), EINVAL);
		CU_ASSERT_EQUAL(fixture.sq_record.sq_pi, 0);
		fixture_close(&fixture);
	}
}

static void run_inline(const struct op_case *c, const struct fixture_config *cfg, bool ud, uint32_t len,
		       bool use_post)
{
	struct ibv_qp_ex *qpx;
	uint8_t data[128], wqe[1024];
	struct ibv_data_buf bufs[3];
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct fixture fixture;
	uint32_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i * 7 + 1;
	fixture_open(&fixture, cfg);
	qpx = fixture_qpx(&fixture);
	if (use_post) {
		build_wr(&wr, c, ud ? &fixture.ah.ibv_ah : NULL);
		sge = (struct ibv_sge){.addr = (uintptr_t)data, .length = len};
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.send_flags |= IBV_SEND_INLINE;
		post_one(&fixture, &wr);
	} else {
		bufs[0] = (struct ibv_data_buf){data, len / 3};
		bufs[1] = (struct ibv_data_buf){NULL, 0};
		bufs[2] = (struct ibv_data_buf){data + len / 3, len - len / 3};
		ibv_wr_start(qpx);
		qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED;
		call_builder(qpx, c);
		if (ud)
			ibv_wr_set_ud_addr(qpx, &fixture.ah.ibv_ah, DQPN, QKEY);
		if (len % 2)
			ibv_wr_set_inline_data(qpx, data, len);
		else
			ibv_wr_set_inline_data_list(qpx, 3, bufs);
		CU_ASSERT_EQUAL(ibv_wr_complete(qpx), 0);
	}
	fixture_wqe(&fixture, 0, 4, wqe);
	check_inline(wqe, check_head(wqe, c, ud), data, len);
	fixture_close(&fixture);
}

static void test_inline(void)
{
	static const uint32_t lens[] = {0, 1, 11, 12, 13, 27, 28, 29, 100, 127, 128};
	size_t i, l;
	int via;

	for (i = 0; i < NUM_CASES; i++)
		for (l = 0; cases[i].inline_ok && l < sizeof(lens) / sizeof(lens[0]); l++)
			for (via = 0; via < 2; via++) {
				run_inline(&cases[i], &fixture_rc, false, lens[l], via);
				if (cases[i].ud_ok)
					run_inline(&cases[i], &fixture_ud, true, lens[l], via);
			}
}

static void test_flags(void)
{
	struct fixture_config all = fixture_rc;
	struct ibv_send_wr wr, *bad;
	struct hcasim_wqe_ctrl ctrl[4];
	struct fixture fixture;

	fixture_open(&fixture, &fixture_rc);
	build_wr(&wr, &cases[0], NULL);
	wr.send_flags = 0;
	post_one(&fixture, &wr);
	fixture_wqe(&fixture, 0, 1, ctrl);
	CU_ASSERT_EQUAL(flags_of(&ctrl[0]), FIXTURE_QPN);
	/* Checksum offload means nothing on RC, and there is no bit 5 anywhere. */
	wr.send_flags = IBV_SEND_IP_CSUM;
	post_one(&fixture, &wr);
	fixture_wqe(&fixture, 1, 1, ctrl);
	CU_ASSERT_EQUAL(flags_of(&ctrl[0]), FIXTURE_QPN);
	wr.send_flags = 1 << 5;
	CU_ASSERT_EQUAL(hcasim_post_send(fixture_qp(&fixture), &wr, &bad), EINVAL);
	fixture_close(&fixture);

	all.sig_all = true;
	fixture_open(&fixture, &all);
	wr.send_flags = 0;
	post_one(&fixture, &wr);
	fixture_wqe(&fixture, 0, 1, ctrl);
	CU_ASSERT_EQUAL(flags_of(&ctrl[0]), FIXTURE_QPN | HCASIM_WQE_CTRL_SIGNALED_MASK);
	fixture_close(&fixture);
}

/* One TSO request as ibv_post_send() and as a region give it, wherever the ring ends. */
static void run_tso(struct fixture *fixture, uint16_t size, bool use_post)
{
	const uint32_t first = atomic_load(&fixture->qp.sq.pi_bb), units = (size + 15) / 16;
	struct ibv_sge sge = {0x1000, 5000, 9};
	struct ibv_qp_ex *qpx = fixture_qpx(fixture);
	uint8_t hdr[128], wqe[8 * 64], *at = wqe + 64;
	struct hcasim_seg_data data;
	struct hcasim_seg_tso tso;
	struct ibv_send_wr wr = {.opcode = IBV_WR_TSO, .sg_list = &sge, .num_sge = 1};

	memset(hdr, 0xab, sizeof(hdr));
	if (use_post) {
		wr.tso.hdr = hdr;
		wr.tso.hdr_sz = size;
		wr.tso.mss = 1400;
		wr.wr.ud.ah = &fixture->ah.ibv_ah;
		post_one(fixture, &wr);
	} else {
		ibv_wr_start(qpx);
		ibv_wr_send_tso(qpx, hdr, size, 1400);
		memset(hdr, 0, sizeof(hdr)); /* it is the caller's again */
		ibv_wr_set_ud_addr(qpx, &fixture->ah.ibv_ah, 5, 6);
		ibv_wr_set_sge(qpx, sge.lkey, sge.addr, sge.length);
		CU_ASSERT_EQUAL(ibv_wr_complete(qpx), 0);
	}
	fixture_wqe(fixture, first, 8, wqe);
	CU_ASSERT_EQUAL(wqe[0], HCASIM_WQE_OP_TSO);
	CU_ASSERT_EQUAL(wqe[1], 4 + 1 + units + 1);
	memcpy(&tso, at, sizeof(tso));
	CU_ASSERT_EQUAL(le16toh(tso.mss), 1400);
	CU_ASSERT_EQUAL(le16toh(tso.hdr_size), size);
	for (uint32_t i = 0; i < size; i++)
		CU_ASSERT_EQUAL(at[16 + i], 0xab);
	memcpy(&data, at + 16 + units * 16, sizeof(data));
	CU_ASSERT_EQUAL(le32toh(data.length), 5000);
	atomic_store(&fixture->qp.sq.ci_bb, fixture->qp.sq.next_bb);
	atomic_store(&fixture->qp.sq.ci_wr, fixture->qp.sq.next_wr);
}

static int bad_tso(struct fixture *fixture, uint16_t size, uint16_t mss, uint32_t len, int num_sge)
{
	struct ibv_sge sge = {0x1000, len, 9};
	struct ibv_send_wr wr = {.opcode = IBV_WR_TSO, .sg_list = &sge, .num_sge = num_sge}, *bad;
	uint8_t hdr[256] = {0};

	wr.tso.hdr = hdr;
	wr.tso.hdr_sz = size;
	wr.tso.mss = mss;
	wr.wr.ud.ah = &fixture->ah.ibv_ah;
	return hcasim_post_send(fixture_qp(fixture), &wr, &bad);
}

static void test_tso(void)
{
	static const uint16_t sizes[] = {1, 15, 16, 17, 54, 74, 112, 127, 128};
	struct fixture_config cfg = fixture_ud;
	struct fixture fixture;

	cfg.send_ops |= IBV_QP_EX_WITH_TSO;
	fixture_open(&fixture, &cfg);
	CU_ASSERT_EQUAL(bad_tso(&fixture, 54, 1400, 100, 1), EINVAL); /* no header was asked for */
	fixture.qp.sq.max_tso_hdr = 128;
	for (unsigned int i = 0; i < 20 * sizeof(sizes) / sizeof(sizes[0]); i++)
		run_tso(&fixture, sizes[i % (sizeof(sizes) / sizeof(sizes[0]))], i & 1);
	CU_ASSERT_EQUAL(bad_tso(&fixture, 129, 1400, 100, 1), EINVAL);
	CU_ASSERT_EQUAL(bad_tso(&fixture, 0, 1400, 100, 1), EINVAL);
	CU_ASSERT_EQUAL(bad_tso(&fixture, 54, 0, 100, 1), EINVAL);
	CU_ASSERT_EQUAL(bad_tso(&fixture, 54, 1400, 0, 1), EINVAL);
	CU_ASSERT_EQUAL(bad_tso(&fixture, 54, 1400, 0, 0), EINVAL);
	CU_ASSERT_EQUAL(bad_tso(&fixture, 54, 1400, 100, 1), 0);
	fixture_close(&fixture);
}

/* BIND_MW and LOCAL_INV have no data: through both interfaces, and ibv_bind_mw. */
static void check_bind(const uint8_t *wqe, uint16_t index, uint32_t old, uint32_t new, uint8_t type)
{
	const struct hcasim_wqe_ctrl *ctrl = (const void *)wqe;
	const struct hcasim_seg_bind *seg = (const void *)(wqe + 16);

	CU_ASSERT_EQUAL(ctrl->opcode, HCASIM_WQE_OP_BIND_MW);
	CU_ASSERT_EQUAL(ctrl->size, 4);
	CU_ASSERT_EQUAL(le16toh(ctrl->index), index);
	CU_ASSERT_EQUAL(le32toh(seg->mw_rkey), old);
	CU_ASSERT_EQUAL(le32toh(seg->new_rkey), new);
	CU_ASSERT_EQUAL(le32toh(seg->lkey), 0x777);
	CU_ASSERT_EQUAL(le32toh(seg->access), HCASIM_ACCESS_REMOTE_WRITE); /* no right to write locally */
	CU_ASSERT_EQUAL(le64toh(seg->addr), RADDR);
	CU_ASSERT_EQUAL(le64toh(seg->length), 1ull << 33);
	CU_ASSERT_EQUAL(seg->type, type);
}

static void test_windows(void)
{
	struct ibv_mr mr = {.lkey = 0x777};
	struct ibv_mw mw = {.rkey = 0x5ff, .type = IBV_MW_TYPE_2};
	struct ibv_mw_bind bind = {
		.wr_id = WR_ID,
		.bind_info = {&mr, RADDR, 1ull << 33, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}};
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW,
				 .bind_mw = {.mw = &mw, .rkey = 0x512, .bind_info = bind.bind_info}};
	struct ibv_send_wr *bad;
	struct ibv_qp_ex *qpx;
	uint8_t wqe[64];
	struct fixture fixture;

	fixture_open(&fixture, &fixture_rc);
	qpx = fixture_qpx(&fixture);
	post_one(&fixture, &wr);
	fixture_wqe(&fixture, 0, 1, wqe);
	check_bind(wqe, 0, 0x5ff, 0x512, 2);
	ibv_wr_start(qpx);
	ibv_wr_bind_mw(qpx, &mw, 0x513, &bind.bind_info);
	ibv_wr_local_inv(qpx, RKEY);
	CU_ASSERT_EQUAL(ibv_wr_complete(qpx), 0);
	fixture_wqe(&fixture, 1, 1, wqe);
	check_bind(wqe, 1, 0x5ff, 0x513, 2);
	fixture_wqe(&fixture, 2, 1, wqe);
	CU_ASSERT_EQUAL(wqe[0], HCASIM_WQE_OP_LOCAL_INV);
	CU_ASSERT_EQUAL(le32toh(((struct hcasim_wqe_ctrl *)(void *)wqe)->inv_rkey), RKEY);
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.invalidate_rkey = RKEY + 1;
	post_one(&fixture, &wr);
	fixture_wqe(&fixture, 3, 1, wqe);
	CU_ASSERT_EQUAL(le32toh(((struct hcasim_wqe_ctrl *)(void *)wqe)->inv_rkey), RKEY + 1);

	/* Type 1: only ibv_bind_mw, which chooses the key. */
	mw.type = IBV_MW_TYPE_1;
	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = &mw;
	CU_ASSERT_EQUAL(hcasim_post_send(fixture_qp(&fixture), &wr, &bad), EINVAL);
	ibv_wr_start(qpx);
	ibv_wr_bind_mw(qpx, &mw, 0x513, &bind.bind_info);
	CU_ASSERT_EQUAL(ibv_wr_complete(qpx), EINVAL);
	CU_ASSERT_EQUAL(hcasim_bind_mw(fixture_qp(&fixture), &mw, &bind), 0);
	CU_ASSERT_EQUAL(mw.rkey, 0x500);
	fixture_wqe(&fixture, 4, 1, wqe);
	check_bind(wqe, 4, 0x5ff, 0x500, 1);
	bind.send_flags = 1u << 20;
	CU_ASSERT_EQUAL(hcasim_bind_mw(fixture_qp(&fixture), &mw, &bind), EINVAL);
	CU_ASSERT_EQUAL(mw.rkey, 0x500);
	fixture_close(&fixture);
}

static void test_recv(void)
{
	struct ibv_recv_wr wr[3] = {}, *bad = NULL;
	struct hcasim_rqe rqe;
	struct hcasim_seg_data seg[3];
	struct fixture fixture;
	int i;

	fixture_open(&fixture, &fixture_rc);
	for (i = 0; i < 3; i++) {
		wr[i].wr_id = 100 + i;
		wr[i].sg_list = (struct ibv_sge *)sges;
		wr[i].num_sge = i;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	CU_ASSERT_EQUAL(hcasim_post_recv(fixture_qp(&fixture), wr, &bad), 0);
	CU_ASSERT_EQUAL(fixture.qp.rq.stride, 64);
	for (i = 0; i < 3; i++) {
		memcpy(&rqe, fixture.qp.rq.ring + i * 64, sizeof(rqe));
		memcpy(seg, fixture.qp.rq.ring + i * 64 + 16, sizeof(seg));
		CU_ASSERT_EQUAL(le16toh(rqe.index), i);
		CU_ASSERT_EQUAL(rqe.num_sge, i);
		CU_ASSERT_EQUAL(fixture.qp.rq.wr_id[i], 100 + i);
	}
	CU_ASSERT_EQUAL(le64toh(seg[1].addr), sges[1].addr);
	CU_ASSERT_EQUAL(le32toh(seg[1].length), sges[1].length);
	CU_ASSERT_EQUAL(le32toh(fixture.sq_record.rq_pi), 3);
	fixture_close(&fixture);
}

int main(void)
{
	static const struct fixture_test tests[] = {
		{"SGEs of every operation, both interfaces", test_sges},
		{"no data", test_no_data},
		{"inline data", test_inline},
		{"flags", test_flags},
		{"TSO", test_tso},
		{"memory windows", test_windows},
		{"receive WQEs", test_recv},
		{},
	};

	return fixture_main("WQE bytes", tests);
}
