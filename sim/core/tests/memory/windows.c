// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory windows: binding, rights, invalidation by both sides, and the error of each misuse. */
#include "fixture.h"

#define LEN    4096
#define MW_LEN 1000
#define RW     (HCASIM_ACCESS_REMOTE_WRITE | HCASIM_ACCESS_REMOTE_READ)

/* Side 1 has a region without remote rights, and windows on it; side 0 comes through them. */
struct win {
	struct pair p;
	uint32_t lkey, mw;
};

static void win_new_on(struct win *w, uint8_t qpt, uint8_t type, uint32_t access,
		       const struct fixture_path *path)
{
	pair_new(&w->p, qpt, path, NULL, 0, LEN);
	w->lkey = fixture_mr(w->p.fixture, 1, w->p.mem[1], LEN, access);
	CU_ASSERT_EQUAL(hca_mw_create(w->p.fixture->hca[1], FIXTURE_PD, type, &w->mw), 0);
}

static void win_new(struct win *w, uint8_t qpt, uint8_t type, uint32_t access)
{
	win_new_on(w, qpt, type, access, NULL);
}

static void post_bind(struct win *w, uint8_t type, uint32_t new_key, uint64_t off, uint64_t len,
		      uint32_t access)
{
	struct tiny_wqe t = {
		.op = HCASIM_WQE_OP_BIND_MW,
		.flags = HCA_WR_SIGNALED,
		.remote_addr = (uintptr_t)w->p.mem[1] + off,
		.rkey = w->mw,
		.imm = new_key,
		.inv_rkey = w->lkey,
		.ud_qpn = access,
		.ud_qkey = type,
		.compare = len,
	};

	fixture_put(w->p.qp[1], &t, NULL, NULL, 0);
	fixture_ring(w->p.qp[1]);
	fixture_run(w->p.fixture);
}

static void bind_ok(struct win *w, uint8_t type, uint64_t off, uint64_t len, uint32_t access)
{
	uint32_t key = (w->mw & ~0xffu) | ((w->mw + 1) & 0xff);
	struct tiny_cqe c;

	post_bind(w, type, key, off, len, access);
	c = fixture_expect(w->p.scq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.wqe_op, HCASIM_WQE_OP_BIND_MW);
	w->mw = key;
}

static void bind_bad(struct win *w, uint8_t type, uint32_t key, uint64_t off, uint64_t len, uint32_t access,
		     uint8_t vendor)
{
	post_bind(w, type, key, off, len, access);
	CU_ASSERT_EQUAL(fixture_expect(w->p.scq[1], HCASIM_CQE_STATUS_MW_BIND_ERR).vendor_err, vendor);
	CU_ASSERT_EQUAL(fixture_query(w->p.qp[1]), HCASIM_QPS_ERR);
	pair_free(&w->p);
}

/* An access of side 0 with `key` that gives `status`. */
static void access_as(struct win *w, uint8_t op, uint32_t key, uint64_t addr, uint32_t len, uint8_t status)
{
	fixture_send(w->p.qp[0], op, HCA_WR_SIGNALED, fixture_sge(w->p.mem[0], len, w->p.key[0]), addr, key);
	fixture_run(w->p.fixture);
	fixture_expect(w->p.scq[0], status);
}

static void write_at(struct win *w, uint64_t off, uint32_t len, uint8_t status)
{
	access_as(w, HCASIM_WQE_OP_RDMA_WRITE, w->mw, (uintptr_t)w->p.mem[1] + off, len, status);
}

static void rights(void)
{
	static const struct {
		uint64_t off;
		uint32_t len, access;
		uint8_t op, status;
	} t[] = {
		{8, MW_LEN, RW, HCASIM_WQE_OP_RDMA_WRITE, HCASIM_CQE_STATUS_OK},
		{8, MW_LEN, RW, HCASIM_WQE_OP_RDMA_READ, HCASIM_CQE_STATUS_OK},
		{7, 8, RW, HCASIM_WQE_OP_RDMA_WRITE, HCASIM_CQE_STATUS_REM_ACCESS_ERR},
		{8, MW_LEN + 1, RW, HCASIM_WQE_OP_RDMA_WRITE, HCASIM_CQE_STATUS_REM_ACCESS_ERR},
		{8 + MW_LEN, 1, RW, HCASIM_WQE_OP_RDMA_WRITE, HCASIM_CQE_STATUS_REM_ACCESS_ERR},
		{8, 8, HCASIM_ACCESS_REMOTE_READ, HCASIM_WQE_OP_RDMA_WRITE, HCASIM_CQE_STATUS_REM_ACCESS_ERR},
		{8, 8, HCASIM_ACCESS_REMOTE_WRITE, HCASIM_WQE_OP_RDMA_READ, HCASIM_CQE_STATUS_REM_ACCESS_ERR},
		{8, 8, RW, HCASIM_WQE_OP_ATOMIC_FA, HCASIM_CQE_STATUS_REM_ACCESS_ERR},
		{8, 8, HCASIM_ACCESS_REMOTE_ATOMIC, HCASIM_WQE_OP_ATOMIC_FA, HCASIM_CQE_STATUS_OK},
	};
	struct win w;
	unsigned int i;
	uint8_t type;

	for (type = 1; type <= 2; type++)
		for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
			win_new(&w, HCASIM_QPT_RC, type, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND);
			bind_ok(&w, type, 8, MW_LEN, t[i].access);
			access_as(&w, t[i].op, w.mw, (uintptr_t)w.p.mem[1] + t[i].off, t[i].len, t[i].status);
			if (t[i].op == HCASIM_WQE_OP_RDMA_WRITE)
				CU_ASSERT_EQUAL(!memcmp(w.p.mem[0], w.p.mem[1] + t[i].off, t[i].len),
						t[i].status == HCASIM_CQE_STATUS_OK);
			pair_free(&w.p);
		}
}

static void zero_based(void)
{
	struct win w;

	win_new(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND);
	bind_ok(&w, 2, 64, MW_LEN, HCASIM_ACCESS_REMOTE_WRITE | HCASIM_ACCESS_ZERO_BASED);
	access_as(&w, HCASIM_WQE_OP_RDMA_WRITE, w.mw, 16, 8, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(w.p.mem[0], w.p.mem[1] + 80, 8), 0);
	access_as(&w, HCASIM_WQE_OP_RDMA_WRITE, w.mw, MW_LEN, 1, HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	pair_free(&w.p);
}

/* Binding again moves a type 1 window: the previous key is invalid. Length 0 unbinds it. */
static void rebind(void)
{
	struct win w;
	uint32_t old;

	win_new(&w, HCASIM_QPT_RC, 1, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND);
	bind_ok(&w, 1, 0, 64, RW);
	old = w.mw;
	bind_ok(&w, 1, 64, 64, RW);
	write_at(&w, 64, 64, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(hca_mr_destroy(w.p.fixture->hca[1], w.lkey), -EBUSY);
	bind_ok(&w, 1, 0, 0, 0);
	CU_ASSERT_EQUAL(hca_mr_destroy(w.p.fixture->hca[1], w.lkey), 0);
	write_at(&w, 64, 8, HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	pair_free(&w.p);
	win_new(&w, HCASIM_QPT_RC, 1, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND);
	bind_ok(&w, 1, 0, 64, RW);
	CU_ASSERT_EQUAL(w.mw, old);
	bind_ok(&w, 1, 0, 64, RW);
	w.mw = old;
	write_at(&w, 0, 8, HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	pair_free(&w.p);
}

static void bind_errors(void)
{
	const uint32_t mr = HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND;
	struct win w;

	win_new(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_LOCAL_WRITE);
	bind_bad(&w, 2, w.mw, 0, 8, RW, HCASIM_VENDOR_ERR_LKEY_ACCESS);
	win_new(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_MW_BIND);
	bind_bad(&w, 2, w.mw, 0, 8, HCASIM_ACCESS_REMOTE_WRITE, HCASIM_VENDOR_ERR_LKEY_ACCESS);
	win_new(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_MW_BIND);
	bind_bad(&w, 2, w.mw, 0, 8, HCASIM_ACCESS_REMOTE_ATOMIC, HCASIM_VENDOR_ERR_LKEY_ACCESS);
	win_new(&w, HCASIM_QPT_RC, 2, mr);
	bind_bad(&w, 2, w.mw, 0, LEN + 1, RW, HCASIM_VENDOR_ERR_LKEY_RANGE);
	win_new(&w, HCASIM_QPT_RC, 2, mr);
	bind_bad(&w, 2, w.mw, 1, UINT64_MAX, RW, HCASIM_VENDOR_ERR_LKEY_RANGE);
	win_new(&w, HCASIM_QPT_RC, 2, mr);
	bind_bad(&w, 2, w.mw, 0, 0, RW, HCASIM_VENDOR_ERR_BAD_SEGMENT);
	win_new(&w, HCASIM_QPT_RC, 1, mr);
	bind_bad(&w, 1, w.mw, 0, 8, RW | HCASIM_ACCESS_ZERO_BASED, HCASIM_VENDOR_ERR_BAD_SEGMENT);
	win_new(&w, HCASIM_QPT_RC, 1, mr);
	bind_bad(&w, 2, w.mw, 0, 8, RW, HCASIM_VENDOR_ERR_BAD_RKEY); /* of the other type */
	win_new(&w, HCASIM_QPT_RC, 2, mr);
	w.lkey = w.mw;
	bind_bad(&w, 2, w.mw, 0, 8, RW, HCASIM_VENDOR_ERR_BAD_LKEY); /* a window on a window */
	win_new(&w, HCASIM_QPT_RC, 2, mr);
	bind_ok(&w, 2, 0, 8, RW);
	bind_bad(&w, 2, w.mw, 0, 8, RW, HCASIM_VENDOR_ERR_BAD_RKEY); /* not free */
}

/* Of the new key the consumer owns the low 8 bits, whatever stands in the others. */
static void new_key(void)
{
	const uint32_t others[] = {0, 0x100, 0xffffff00};
	struct win w;
	unsigned int i;
	uint8_t type;

	for (type = 1; type <= 2; type++)
		for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
			win_new(&w, HCASIM_QPT_RC, type, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND);
			post_bind(&w, type, (others[i] ^ (w.mw & ~0xffu)) | 0xa5, 0, 64, RW);
			fixture_expect(w.p.scq[1], HCASIM_CQE_STATUS_OK);
			w.mw = (w.mw & ~0xffu) | 0xa5;
			write_at(&w, 0, 64, HCASIM_CQE_STATUS_OK);
			pair_free(&w.p);
		}
}

static void domains(void)
{
	struct hca_mr_attr a = {.pdn = FIXTURE_PD + 1, .access = HCASIM_ACCESS_MW_BIND, .length = LEN};
	struct win w;

	win_new(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_MW_BIND);
	CU_ASSERT_EQUAL(hca_mw_create(w.p.fixture->hca[1], FIXTURE_PD + 1, 2, &w.mw), 0);
	bind_bad(&w, 2, w.mw, 0, 8, 0, HCASIM_VENDOR_ERR_RKEY_PD);
	win_new(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_MW_BIND);
	a.va = a.iova = (uintptr_t)w.p.mem[1];
	CU_ASSERT_EQUAL(hca_mr_create(w.p.fixture->hca[1], &a, &w.lkey), 0);
	bind_bad(&w, 2, w.mw, 0, 8, 0, HCASIM_VENDOR_ERR_LKEY_PD);
}

/* A type 2 window belongs to the QP that bound it; a type 1 window to its domain. */
static void other_qp(void)
{
	struct fixture_qp *a, *b;
	struct win w;
	uint8_t type;

	for (type = 1; type <= 2; type++) {
		win_new(&w, HCASIM_QPT_RC, type, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND);
		a = fixture_qp(w.p.fixture, 0, HCASIM_QPT_RC, w.p.scq[0], w.p.rcq[0]);
		b = fixture_qp(w.p.fixture, 1, HCASIM_QPT_RC, w.p.scq[1], w.p.rcq[1]);
		fixture_connect(a, b, NULL);
		bind_ok(&w, type, 0, 64, RW);
		w.p.qp[0] = a;
		write_at(&w, 0, 8, type == 1 ? HCASIM_CQE_STATUS_OK : HCASIM_CQE_STATUS_REM_ACCESS_ERR);
		pair_free(&w.p);
	}
}

static void local_inv(struct win *w, uint32_t key, uint8_t status)
{
	struct tiny_wqe t = {.op = HCASIM_WQE_OP_LOCAL_INV, .flags = HCA_WR_SIGNALED, .inv_rkey = key};

	fixture_put(w->p.qp[1], &t, NULL, NULL, 0);
	fixture_ring(w->p.qp[1]);
	fixture_run(w->p.fixture);
	fixture_expect(w->p.scq[1], status);
}

static void invalidate_locally(void)
{
	struct win w;

	win_new(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND);
	bind_ok(&w, 2, 0, 64, RW);
	write_at(&w, 0, 8, HCASIM_CQE_STATUS_OK);
	local_inv(&w, w.mw, HCASIM_CQE_STATUS_OK);
	local_inv(&w, w.mw, HCASIM_CQE_STATUS_OK); /* free: as it was */
	CU_ASSERT_EQUAL(hca_mr_modify(w.p.fixture->hca[1], w.lkey,
				      &(struct hca_mr_attr){.pdn = FIXTURE_PD, .length = 8}, &w.lkey),
			0);
	write_at(&w, 0, 8, HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	pair_free(&w.p);
	/* What may not be invalidated: a region, a type 1 window, nothing, another's. */
	win_new(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_MW_BIND);
	local_inv(&w, w.lkey, HCASIM_CQE_STATUS_MW_BIND_ERR);
	pair_free(&w.p);
	win_new(&w, HCASIM_QPT_RC, 1, HCASIM_ACCESS_MW_BIND);
	local_inv(&w, w.mw, HCASIM_CQE_STATUS_MW_BIND_ERR);
	pair_free(&w.p);
	win_new(&w, HCASIM_QPT_UC, 2, HCASIM_ACCESS_MW_BIND);
	local_inv(&w, w.mw ^ 1, HCASIM_CQE_STATUS_MW_BIND_ERR);
	CU_ASSERT_EQUAL(fixture_query(w.p.qp[1]), HCASIM_QPS_SQE);
	pair_free(&w.p);
}

static void send_inv(struct win *w, uint32_t key, uint8_t status)
{
	struct tiny_wqe t = {.op = HCASIM_WQE_OP_SEND_INV, .flags = HCA_WR_SIGNALED, .inv_rkey = key};
	struct hca_sge sge = fixture_sge(w->p.mem[0], 3000, w->p.key[0]), to;

	to = fixture_sge(w->p.mem[1], LEN, w->p.key[1]);
	fixture_recv(w->p.qp[1], &to, 1);
	fixture_put(w->p.qp[0], &t, NULL, &sge, 1);
	fixture_ring(w->p.qp[0]);
	fixture_run(w->p.fixture);
	fixture_expect(w->p.scq[0], status);
}

static enum untimed_fate no_nak(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	CU_ASSERT_TRUE(pkt->data[42] != HCASIM_BTH_OP_RC_ACKNOWLEDGE ||
		       pkt->data[54] >> 5 == HCASIM_AETH_KIND_ACK);
	return UNTIMED_DELIVER;
}

static void invalidate_remotely(void)
{
	struct tiny_cqe c;
	struct win w;

	win_new(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND);
	bind_ok(&w, 2, 0, 64, RW);
	send_inv(&w, w.mw, HCASIM_CQE_STATUS_OK);
	c = fixture_expect(w.p.rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.flags, TINY_CQE_INV);
	CU_ASSERT_EQUAL(c.imm, w.mw);
	CU_ASSERT_EQUAL(c.byte_count, 3000);
	write_at(&w, 0, 8, HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	pair_free(&w.p);
	/* UC drops the message; the receive WQE serves the next one. */
	win_new(&w, HCASIM_QPT_UC, 2, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND);
	send_inv(&w, w.lkey, HCASIM_CQE_STATUS_OK);
	fixture_expect_none(w.p.rcq[1]);
	bind_ok(&w, 2, 0, 64, RW);
	send_inv(&w, w.mw, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(fixture_expect(w.p.rcq[1], HCASIM_CQE_STATUS_OK).imm, w.mw);
	pair_free(&w.p);
}

/* The message is received and acknowledged: only the receiver gets an error (class J). */
static void invalidate_in_vain(void)
{
	struct hca_sge later = {0};
	struct tiny_cqe c;
	struct win w;

	win_new(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_LOCAL_WRITE);
	w.p.fixture->wire = no_nak;
	send_inv(&w, w.lkey, HCASIM_CQE_STATUS_OK); /* the key of a region */
	c = fixture_expect(w.p.rcq[1], HCASIM_CQE_STATUS_REM_INV_REQ_ERR);
	CU_ASSERT_EQUAL(c.vendor_err, HCASIM_VENDOR_ERR_BAD_RKEY);
	CU_ASSERT_EQUAL(c.flags & TINY_CQE_INV, 0);
	CU_ASSERT_EQUAL(memcmp(w.p.mem[0], w.p.mem[1], 3000), 0);
	CU_ASSERT_EQUAL(fixture_query(w.p.qp[1]), HCASIM_QPS_ERR);
	CU_ASSERT_EQUAL(fixture_query(w.p.qp[0]), HCASIM_QPS_RTS);
	fixture_recv(w.p.qp[1], &later, 1);
	fixture_settle(w.p.fixture, 100 * MS);
	fixture_expect(w.p.rcq[1], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	pair_free(&w.p);
}

/* A copy of a READ request comes late: just before the SEND that invalidates the window it goes through. */
static struct hca_packet *ghost;

static enum untimed_fate haunt(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	if (from)
		return UNTIMED_DELIVER;
	if (pkt->data[42] == HCASIM_BTH_OP_RC_RDMA_READ_REQUEST)
		ghost = hca_packet_dup(pkt);
	else if (ghost && hcasim_bth_op_info(pkt->data[42])->flags & HCASIM_BTH_F_END) {
		hca_rx(fixture->hca[1], 1, ghost);
		ghost = NULL;
	}
	return UNTIMED_DELIVER;
}

/* What is asked for once more, by a ghost, when its memory has gone, is nobody's loss. */
static void ghost_of_a_read(void)
{
	struct fixture_path path = {.mtu = 1};
	struct hca_counters before, after;
	struct win w;

	win_new_on(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND, &path);
	bind_ok(&w, 2, 0, LEN, RW);
	w.p.fixture->wire = haunt;
	access_as(&w, HCASIM_WQE_OP_RDMA_READ, w.mw, (uintptr_t)w.p.mem[1], LEN, HCASIM_CQE_STATUS_OK);
	hca_counters(w.p.fixture->hca[1], &before);
	send_inv(&w, w.mw, HCASIM_CQE_STATUS_OK);
	fixture_expect(w.p.rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_PTR_NULL(ghost);
	hca_counters(w.p.fixture->hca[1], &after);
	/* An answer in part, before the window went, and the acknowledge of the SEND. */
	CU_ASSERT_TRUE(after.tx_packets - before.tx_packets > 1);
	CU_ASSERT_TRUE(after.tx_packets - before.tx_packets < LEN / 256);
	CU_ASSERT_EQUAL(fixture_query(w.p.qp[1]), HCASIM_QPS_RTS);
	access_as(&w, HCASIM_WQE_OP_RDMA_READ, w.p.key[1], (uintptr_t)w.p.mem[1], LEN, HCASIM_CQE_STATUS_OK);
	hca_packet_free(ghost);
	ghost = NULL;
	pair_free(&w.p);
}

static bool refuse_reads(struct fixture *fixture, unsigned int side, const struct hca_dma *dma)
{
	return side == 0 || dma->write || dma->class_ != HCA_DMA_PAYLOAD;
}

static void ghost_of_unmapped_memory(void)
{
	struct win w;

	win_new(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND);
	bind_ok(&w, 2, 0, LEN, RW);
	w.p.fixture->wire = haunt;
	access_as(&w, HCASIM_WQE_OP_RDMA_READ, w.mw, (uintptr_t)w.p.mem[1], LEN, HCASIM_CQE_STATUS_OK);
	w.p.fixture->dma = refuse_reads;
	write_at(&w, 0, 8, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_PTR_NULL(ghost);
	CU_ASSERT_EQUAL(fixture_query(w.p.qp[1]), HCASIM_QPS_RTS);
	w.p.fixture->dma = NULL;
	access_as(&w, HCASIM_WQE_OP_RDMA_READ, w.mw, (uintptr_t)w.p.mem[1], LEN, HCASIM_CQE_STATUS_OK);
	hca_packet_free(ghost);
	ghost = NULL;
	pair_free(&w.p);
}

/* The CQE is on its way, and not seen yet, when the window is already closed. */
static bool closed;
static struct win *watched;

static bool watch(struct fixture *fixture, unsigned int side, const struct hca_dma *dma)
{
	struct qp *qp = qp_find(fixture->hca[1], watched->p.qp[1]->qpn);

	if (side == 1 && dma->class_ == HCA_DMA_CQE)
		closed =
			rkey_check(fixture->hca[1], qp, FIXTURE_PD, watched->mw, (uintptr_t)watched->p.mem[1],
				   8, HCASIM_ACCESS_REMOTE_WRITE, NULL) == HCASIM_VENDOR_ERR_BAD_RKEY;
	return true;
}

static void before_the_completion(void)
{
	struct win w;
	int remote;

	for (remote = 0; remote < 2; remote++) {
		win_new(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND);
		bind_ok(&w, 2, 0, 64, RW);
		watched = &w;
		closed = false;
		w.p.fixture->dma = watch;
		if (remote)
			send_inv(&w, w.mw, HCASIM_CQE_STATUS_OK);
		else
			local_inv(&w, w.mw, HCASIM_CQE_STATUS_OK);
		CU_ASSERT_TRUE(closed);
		pair_free(&w.p);
	}
}

/* What goes back to the pool leaves nothing bound. */
static void ends(void)
{
	struct win w;

	win_new(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND);
	bind_ok(&w, 2, 0, 64, RW);
	CU_ASSERT_EQUAL(hca_mr_destroy(w.p.fixture->hca[1], w.lkey), -EBUSY);
	CU_ASSERT_EQUAL(hca_qp_destroy(w.p.fixture->hca[1], w.p.qp[1]->qpn), 0);
	CU_ASSERT_EQUAL(hca_mr_destroy(w.p.fixture->hca[1], w.lkey), 0);
	CU_ASSERT_EQUAL(hca_mw_destroy(w.p.fixture->hca[1], w.mw), 0);
	CU_ASSERT_EQUAL(hca_mw_destroy(w.p.fixture->hca[1], w.mw), -EINVAL);
	pair_free(&w.p);
	win_new(&w, HCASIM_QPT_RC, 2, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_MW_BIND);
	bind_ok(&w, 2, 0, 64, RW);
	CU_ASSERT_EQUAL(hca_mw_destroy(w.p.fixture->hca[1], w.mw), 0);
	CU_ASSERT_EQUAL(hca_mw_destroy(w.p.fixture->hca[1], w.p.key[1]), -EINVAL);
	write_at(&w, 0, 8, HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(hca_mr_destroy(w.p.fixture->hca[1], w.lkey), 0);
	pair_free(&w.p);
}

const struct test window_tests[] = {
	{"rights and bounds", rights},
	{"zero-based", zero_based},
	{"rebind and unbind", rebind},
	{"bind errors", bind_errors},
	{"the new key", new_key},
	{"protection domains", domains},
	{"another QP", other_qp},
	{"LOCAL_INV", invalidate_locally},
	{"SEND with invalidate", invalidate_remotely},
	{"SEND with invalidate of what may not be", invalidate_in_vain},
	{"late copy of a READ, window gone", ghost_of_a_read},
	{"late copy of a READ, memory gone", ghost_of_unmapped_memory},
	{"invalid before the completion", before_the_completion},
	{"deallocation, QP destroyed", ends},
	{NULL, NULL},
};
