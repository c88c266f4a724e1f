// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Indirect keys: what lies behind them, from both sides, and the error of each misuse. */
#include "core/memory/odp.h"
#include "fixture.h"

#define LEN   16384
#define RIGHT FIXTURE_ALL

/* Each side of a pair has an indirect key with parts of its buffer. */
struct keys {
	struct pair p;
	uint32_t key[2];
};

static void keys_new(struct keys *k, bool remote_inv)
{
	const struct hca_key_attr attr = {
		.pdn = FIXTURE_PD, .max_parts = 4, .tag = 0x5a, .remote_inv = remote_inv};
	unsigned int side;

	pair_new(&k->p, HCASIM_QPT_RC, NULL, NULL, 0, LEN);
	for (side = 0; side < 2; side++) {
		CU_ASSERT_EQUAL(hca_key_create(k->p.fixture->hca[side], &attr, &k->key[side]), 0);
		CU_ASSERT_EQUAL(k->key[side] & 0xff, 0x5a);
		fixture_fill(k->p.mem[side], LEN, side + 1);
	}
}

static struct hca_key_part part(struct keys *k, unsigned int side, uint32_t off, uint32_t len,
				uint32_t stride)
{
	return (struct hca_key_part){(uintptr_t)k->p.mem[side] + off, k->p.key[side], len, stride};
}

/* A WQE that sets the key of a side, as `t` says; posted, and executed. */
static void set(struct keys *k, unsigned int side, struct tiny_wqe t, const struct hca_key_part *parts,
		uint32_t n)
{
	struct hca_sge sge[2 * 8];
	uint32_t i;

	for (i = 0; i < n; i++) {
		sge[2 * i] = (struct hca_sge){parts[i].addr, parts[i].length, parts[i].key};
		sge[2 * i + 1] = (struct hca_sge){.addr = parts[i].stride};
	}
	t.op = HCASIM_WQE_OP_BIND_MW;
	t.flags |= HCA_WR_SIGNALED;
	t.ud_qkey = HCA_BIND_KEY;
	t.rkey = k->key[side];
	if (!t.imm)
		t.imm = k->key[side];
	fixture_put(k->p.qp[side], &t, NULL, sge, 2 * n);
	fixture_ring(k->p.qp[side]);
	fixture_run(k->p.fixture);
}

static void set_ok(struct keys *k, unsigned int side, uint64_t length, uint32_t repeat,
		   const struct hca_key_part *parts, uint32_t n)
{
	set(k, side, (struct tiny_wqe){.ud_qpn = RIGHT, .compare = length, .swap_add = repeat}, parts, n);
	CU_ASSERT_EQUAL(fixture_expect(k->p.scq[side], HCASIM_CQE_STATUS_OK).wqe_op, HCASIM_WQE_OP_BIND_MW);
}

/* What an access through the parts must find, byte by byte. */
static uint8_t *byte_of(const struct hca_key_part *parts, uint32_t n, uint64_t off)
{
	uint64_t row = 0, at;
	uint32_t i;

	for (i = 0; i < n; i++)
		row += parts[i].length;
	at = off % row;
	for (i = 0; at >= parts[i].length; i++)
		at -= parts[i].length;
	return (uint8_t *)(uintptr_t)(parts[i].addr + off / row * parts[i].stride + at);
}

static void expect_equal(const struct hca_key_part *a, uint32_t na, const struct hca_key_part *b, uint32_t nb,
			 uint32_t len)
{
	uint32_t i, wrong = 0;

	for (i = 0; i < len; i++)
		wrong += *byte_of(a, na, i) != *byte_of(b, nb, i);
	CU_ASSERT_EQUAL(wrong, 0);
}

static uint8_t send_from(struct keys *k, uint8_t op, uint64_t addr, uint32_t len, uint64_t raddr)
{
	struct tiny_cqe c;

	fixture_send(k->p.qp[0], op, HCA_WR_SIGNALED, (struct hca_sge){addr, len, k->key[0]}, raddr,
		     k->key[1]);
	fixture_run(k->p.fixture);
	CU_ASSERT_TRUE_FATAL(fixture_poll(k->p.scq[0], &c));
	return c.status;
}

/* Each operation, from one indirect key to another; the sum of all bytes outside must not change. */
static void move_all(struct keys *k, const struct hca_key_part *a, uint32_t na, const struct hca_key_part *b,
		     uint32_t nb, uint32_t len)
{
	struct hca_sge all = {0, len, k->key[1]};

	fixture_fill(k->p.mem[0], LEN, 3);
	fixture_recv(k->p.qp[1], &all, 1);
	CU_ASSERT_EQUAL(send_from(k, HCASIM_WQE_OP_SEND, 0, len, 0), 0);
	CU_ASSERT_EQUAL(fixture_expect(k->p.rcq[1], HCASIM_CQE_STATUS_OK).byte_count, len);
	expect_equal(a, na, b, nb, len);
	fixture_fill(k->p.mem[0], LEN, 4);
	CU_ASSERT_EQUAL(send_from(k, HCASIM_WQE_OP_RDMA_WRITE, 0, len, 0), 0);
	expect_equal(a, na, b, nb, len);
	fixture_fill(k->p.mem[0], LEN, 5);
	CU_ASSERT_EQUAL(send_from(k, HCASIM_WQE_OP_RDMA_READ, 0, len, 0), 0);
	expect_equal(a, na, b, nb, len);
}

static void lists(void)
{
	struct keys k;

	keys_new(&k, false);
	const struct hca_key_part a[] = {part(&k, 0, 7, 3000, 0), part(&k, 0, 4000, 1, 0),
					 part(&k, 0, 5000, 2999, 0)};
	const struct hca_key_part b[] = {part(&k, 1, 8000, 1000, 0), part(&k, 1, 0, 0, 0),
					 part(&k, 1, 100, 5000, 0)};
	uint8_t before = k.p.mem[1][5100], behind = k.p.mem[1][7999];

	set_ok(&k, 0, 6000, 1, a, 3);
	set_ok(&k, 1, 6000, 1, b, 3);
	move_all(&k, a, 3, b, 3, 6000);
	CU_ASSERT_EQUAL(k.p.mem[1][5100], before);
	CU_ASSERT_EQUAL(k.p.mem[1][7999], behind);
	/* A part of it: the end of one part and the beginning of the next. */
	CU_ASSERT_EQUAL(send_from(&k, HCASIM_WQE_OP_RDMA_WRITE, 2998, 6, 998), 0);
	CU_ASSERT_EQUAL(k.p.mem[1][8998], k.p.mem[0][3005]);
	CU_ASSERT_EQUAL(k.p.mem[1][100], k.p.mem[0][4000]);
	CU_ASSERT_EQUAL(k.p.mem[1][103], k.p.mem[0][5002]);
	pair_free(&k.p);
}

/* More pieces in a packet than a WQE may have SGEs, and repetitions that begin and end inside packets. */
static void interleaved(void)
{
	struct keys k;

	keys_new(&k, false);
	const struct hca_key_part a[] = {part(&k, 0, 1, 2, 5), part(&k, 0, 10000, 1, 3)};
	const struct hca_key_part b[] = {part(&k, 1, 0, 1, 2), part(&k, 1, 9000, 1, 1),
					 part(&k, 1, 12000, 1, 2)};

	set_ok(&k, 0, 3 * 1900, 1900, a, 2);
	set_ok(&k, 1, 3 * 1900, 1900, b, 3);
	move_all(&k, a, 2, b, 3, 3 * 1900);
	pair_free(&k.p);
}

/* Parts of an indirect key, whose addresses begin elsewhere. */
static void nested(void)
{
	const struct hca_key_attr attr = {.pdn = FIXTURE_PD, .max_parts = 4};
	uint32_t outer, deep;
	struct keys k;

	keys_new(&k, false);
	const struct hca_key_part inner[] = {part(&k, 0, 64, 2, 4)};
	struct hca_key_part over = {0x1000, k.key[0], 1, 2}, on_top;

	set(&k, 0,
	    (struct tiny_wqe){.ud_qpn = RIGHT, .compare = 2000, .swap_add = 1000, .remote_addr = 0x1000},
	    inner, 1);
	fixture_expect(k.p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(hca_key_create(k.p.fixture->hca[0], &attr, &outer), 0);
	CU_ASSERT_EQUAL(hca_key_create(k.p.fixture->hca[0], &attr, &deep), 0);
	k.key[0] = outer;
	set_ok(&k, 0, 1000, 1000, &over, 1);
	fixture_send(k.p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, (struct hca_sge){0, 1000, outer},
		     (uintptr_t)k.p.mem[1], k.p.key[1]);
	fixture_run(k.p.fixture);
	fixture_expect(k.p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(k.p.mem[1][0], k.p.mem[0][64]);
	CU_ASSERT_EQUAL(k.p.mem[1][999], k.p.mem[0][64 + 4 * 999]);
	/* A third level is not there, nor is a key that has itself as a part. */
	on_top = (struct hca_key_part){0, outer, 8, 0};
	k.key[0] = deep;
	set_ok(&k, 0, 8, 1, &on_top, 1);
	CU_ASSERT_EQUAL(mr_check(k.p.fixture->hca[0], deep, FIXTURE_PD, 0, 8, 0, NULL),
			HCASIM_VENDOR_ERR_BAD_LKEY);
	on_top.key = deep;
	set_ok(&k, 0, 8, 1, &on_top, 1);
	CU_ASSERT_EQUAL(mr_check(k.p.fixture->hca[0], deep, FIXTURE_PD, 0, 8, 0, NULL),
			HCASIM_VENDOR_ERR_BAD_LKEY);
	pair_free(&k.p);
}

/* Of side 1: what a check of the key says. */
static uint8_t check(struct keys *k, uint64_t addr, uint64_t len, uint32_t access)
{
	return mr_check(k->p.fixture->hca[1], k->key[1], FIXTURE_PD, addr, len, access, NULL);
}

static void checks(void)
{
	struct keys k;
	uint32_t reader;

	keys_new(&k, false);
	struct hca_key_part b[] = {part(&k, 1, 0, 8, 16), part(&k, 1, 8, 8, 16)};

	CU_ASSERT_EQUAL(check(&k, 0, 1, 0), HCASIM_VENDOR_ERR_BAD_LKEY); /* not set */
	set_ok(&k, 1, 16 * (LEN / 16), LEN / 16, b, 2);
	CU_ASSERT_EQUAL(check(&k, 0, LEN, HCASIM_ACCESS_LOCAL_WRITE), 0);
	CU_ASSERT_EQUAL(check(&k, 0, LEN + 1, 0), HCASIM_VENDOR_ERR_LKEY_RANGE);
	CU_ASSERT_EQUAL(check(&k, UINT64_MAX, 2, 0), HCASIM_VENDOR_ERR_LKEY_RANGE);
	CU_ASSERT_EQUAL(mr_check(k.p.fixture->hca[1], k.key[1], FIXTURE_PD + 1, 0, 1, 0, NULL),
			HCASIM_VENDOR_ERR_LKEY_PD);
	/* The last repetition leaves the region: found in a long range and in a short one. */
	set_ok(&k, 1, 16 * (LEN / 16 + 1), LEN / 16 + 1, b, 2);
	CU_ASSERT_EQUAL(check(&k, 0, LEN + 1, 0), HCASIM_VENDOR_ERR_LKEY_RANGE);
	CU_ASSERT_EQUAL(check(&k, 5, LEN + 4, 0), HCASIM_VENDOR_ERR_LKEY_RANGE);
	CU_ASSERT_EQUAL(check(&k, 0, LEN + 16, 0), HCASIM_VENDOR_ERR_LKEY_RANGE); /* all of them complete */
	CU_ASSERT_EQUAL(check(&k, 5, LEN - 5, 0), 0);
	CU_ASSERT_EQUAL(check(&k, LEN, 1, 0), HCASIM_VENDOR_ERR_LKEY_RANGE);
	/* Strides and repetitions as large as they can be. */
	b[0].stride = b[1].stride = UINT32_MAX;
	set_ok(&k, 1, 1ull << 35, UINT32_MAX, b, 2);
	CU_ASSERT_EQUAL(check(&k, 0, 1ull << 35, 0), HCASIM_VENDOR_ERR_LKEY_RANGE);
	/* A region that may not be written. */
	reader = fixture_mr(k.p.fixture, 1, k.p.mem[1], LEN, 0);
	b[1].key = reader;
	set_ok(&k, 1, 16, 1, b, 2);
	CU_ASSERT_EQUAL(check(&k, 0, 16, 0), 0);
	CU_ASSERT_EQUAL(check(&k, 0, 8, HCASIM_ACCESS_REMOTE_WRITE), 0);
	CU_ASSERT_EQUAL(check(&k, 0, 9, HCASIM_ACCESS_REMOTE_WRITE), HCASIM_VENDOR_ERR_LKEY_ACCESS);
	CU_ASSERT_EQUAL(hca_mr_destroy(k.p.fixture->hca[1], reader), 0);
	CU_ASSERT_EQUAL(check(&k, 0, 8, 0), 0);
	CU_ASSERT_EQUAL(check(&k, 0, 9, 0), HCASIM_VENDOR_ERR_BAD_LKEY);
	pair_free(&k.p);
}

/* Rights, the tag and the parts are set together or alone. */
static void parts_of_a_set(void)
{
	struct keys k;

	keys_new(&k, false);
	const struct hca_key_part b = part(&k, 1, 0, 8, 0);

	set_ok(&k, 1, 8, 1, &b, 1);
	set(&k, 1, (struct tiny_wqe){.flags = TINY_KEEP_PARTS, .ud_qpn = HCASIM_ACCESS_REMOTE_READ}, NULL, 0);
	fixture_expect(k.p.scq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(check(&k, 0, 8, HCASIM_ACCESS_REMOTE_READ), 0);
	CU_ASSERT_EQUAL(check(&k, 0, 8, HCASIM_ACCESS_LOCAL_WRITE), HCASIM_VENDOR_ERR_LKEY_ACCESS);
	set(&k, 1, (struct tiny_wqe){.flags = TINY_KEEP_ACCESS, .compare = 7, .swap_add = 1, .imm = 0x77}, &b,
	    1);
	fixture_expect(k.p.scq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(check(&k, 0, 7, 0), HCASIM_VENDOR_ERR_BAD_LKEY); /* another tag */
	k.key[1] = (k.key[1] & ~0xffu) | 0x77;
	CU_ASSERT_EQUAL(check(&k, 0, 7, HCASIM_ACCESS_REMOTE_READ), 0);
	CU_ASSERT_EQUAL(check(&k, 0, 8, 0), HCASIM_VENDOR_ERR_LKEY_RANGE);
	CU_ASSERT_EQUAL(hca_key_destroy(k.p.fixture->hca[1], k.key[1]), 0);
	CU_ASSERT_EQUAL(hca_key_destroy(k.p.fixture->hca[1], k.key[1]), -EINVAL);
	CU_ASSERT_EQUAL(hca_key_destroy(k.p.fixture->hca[1], k.p.key[1]), -EINVAL);
	CU_ASSERT_EQUAL(hca_mw_destroy(k.p.fixture->hca[1], k.p.key[1]), -EINVAL);
	CU_ASSERT_EQUAL(check(&k, 0, 7, 0), HCASIM_VENDOR_ERR_BAD_LKEY);
	pair_free(&k.p);
}

static void refused_sets(void)
{
	static const struct {
		uint32_t n, length, repeat, wrong_key;
		uint64_t addr;
		uint8_t vendor;
	} t[] = {
		{5, 8, 1, 0, 0, HCASIM_VENDOR_ERR_BAD_SEGMENT}, /* more than the key has space for */
		{0, 0, 1, 0, 0, HCASIM_VENDOR_ERR_BAD_SEGMENT},
		{1, 8, 0, 0, 0, HCASIM_VENDOR_ERR_BAD_SEGMENT},
		{1, 9, 1, 0, 0, HCASIM_VENDOR_ERR_BAD_SEGMENT}, /* longer than its parts */
		{1, 8, 1, 0, UINT64_MAX, HCASIM_VENDOR_ERR_BAD_SEGMENT},
		{1, 8, 1, 1, 0, HCASIM_VENDOR_ERR_BAD_RKEY},
	};
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct hca_key_part b[5];
		struct keys k;
		uint32_t j;

		keys_new(&k, false);
		for (j = 0; j < 5; j++)
			b[j] = part(&k, 1, 0, 8, 0);
		if (t[i].wrong_key)
			k.key[1] = k.p.key[1];
		set(&k, 1,
		    (struct tiny_wqe){
			    .compare = t[i].length, .swap_add = t[i].repeat, .remote_addr = t[i].addr},
		    b, t[i].n);
		CU_ASSERT_EQUAL(fixture_expect(k.p.scq[1], HCASIM_CQE_STATUS_MW_BIND_ERR).vendor_err,
				t[i].vendor);
		pair_free(&k.p);
	}
}

/* An access that one side refuses: its completion says why. */
static void refused_accesses(void)
{
	static const struct {
		uint64_t addr, raddr;
		uint8_t op, status;
	} t[] = {
		{1, 0, HCASIM_WQE_OP_RDMA_WRITE, HCASIM_CQE_STATUS_LOC_PROT_ERR},
		{0, 1, HCASIM_WQE_OP_RDMA_WRITE, HCASIM_CQE_STATUS_REM_ACCESS_ERR},
		{0, 1, HCASIM_WQE_OP_RDMA_READ, HCASIM_CQE_STATUS_REM_ACCESS_ERR},
		{1, 0, HCASIM_WQE_OP_RDMA_READ, HCASIM_CQE_STATUS_LOC_PROT_ERR},
		{1, 0, HCASIM_WQE_OP_SEND, HCASIM_CQE_STATUS_LOC_PROT_ERR},
		{0, 0, HCASIM_WQE_OP_SEND, HCASIM_CQE_STATUS_REM_OP_ERR}, /* side 1 receives to address 1 */
	};
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct keys k;

		keys_new(&k, false);
		const struct hca_key_part a = part(&k, 0, 0, 2000, 0), b = part(&k, 1, 0, 2000, 0);
		const struct hca_sge receive = {1, 2000, k.key[1]};

		set_ok(&k, 0, 2000, 1, &a, 1);
		set_ok(&k, 1, 2000, 1, &b, 1);
		if (t[i].op == HCASIM_WQE_OP_SEND)
			fixture_recv(k.p.qp[1], &receive, 1);
		CU_ASSERT_EQUAL(send_from(&k, t[i].op, t[i].addr, 2000, t[i].raddr), t[i].status);
		pair_free(&k.p);
	}
}

/* Set, and invalidated, only by a queue pair of its domain. */
static void other_domain(void)
{
	const struct hca_key_attr attr = {.pdn = FIXTURE_PD + 1, .max_parts = 1};
	struct tiny_wqe inv = {.op = HCASIM_WQE_OP_LOCAL_INV, .flags = HCA_WR_SIGNALED};
	struct keys k;
	int i;

	for (i = 0; i < 2; i++) {
		keys_new(&k, false);
		const struct hca_key_part b = part(&k, 1, 0, 8, 0);

		CU_ASSERT_EQUAL(hca_key_create(k.p.fixture->hca[1], &attr, &k.key[1]), 0);
		inv.inv_rkey = k.key[1];
		if (i) {
			fixture_put(k.p.qp[1], &inv, NULL, NULL, 0);
			fixture_ring(k.p.qp[1]);
			fixture_run(k.p.fixture);
		} else {
			set(&k, 1, (struct tiny_wqe){.compare = 8, .swap_add = 1}, &b, 1);
		}
		CU_ASSERT_EQUAL(fixture_expect(k.p.scq[1], HCASIM_CQE_STATUS_MW_BIND_ERR).vendor_err,
				HCASIM_VENDOR_ERR_RKEY_PD);
		pair_free(&k.p);
	}
}

static void atomics(void)
{
	struct keys k;
	uint64_t value = 41, old;

	keys_new(&k, false);
	const struct hca_key_part a[] = {part(&k, 0, 0, 3, 0), part(&k, 0, 100, 5, 0)};
	const struct hca_key_part b[] = {part(&k, 1, 64, 8, 0), part(&k, 1, 256, 4, 0),
					 part(&k, 1, 512, 4, 0)};
	struct tiny_wqe t = {
		.op = HCASIM_WQE_OP_ATOMIC_FA, .flags = HCA_WR_SIGNALED, .rkey = k.key[1], .swap_add = 1};
	const struct hca_sge result = {0, 8, k.key[0]};

	memcpy(k.p.mem[1] + 64, &value, sizeof(value));
	set_ok(&k, 0, 8, 1, a, 2);
	set_ok(&k, 1, 16, 1, b, 3);
	fixture_put(k.p.qp[0], &t, NULL, &result, 1);
	fixture_ring(k.p.qp[0]);
	fixture_run(k.p.fixture);
	fixture_expect(k.p.scq[0], HCASIM_CQE_STATUS_OK);
	memcpy(&old, k.p.mem[0], 3);
	memcpy((uint8_t *)&old + 3, k.p.mem[0] + 100, 5);
	CU_ASSERT_EQUAL(old, 41);
	memcpy(&value, k.p.mem[1] + 64, sizeof(value));
	CU_ASSERT_EQUAL(value, 42);
	t.remote_addr = 8; /* eight bytes in two places */
	fixture_put(k.p.qp[0], &t, NULL, &result, 1);
	fixture_ring(k.p.qp[0]);
	fixture_run(k.p.fixture);
	fixture_expect(k.p.scq[0], HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	pair_free(&k.p);
}

static void invalidate(struct keys *k, unsigned int side, uint8_t op, uint32_t key)
{
	const struct tiny_wqe t = {.op = op, .flags = HCA_WR_SIGNALED, .inv_rkey = key};

	fixture_put(k->p.qp[side], &t, NULL, NULL, 0);
	fixture_ring(k->p.qp[side]);
	fixture_run(k->p.fixture);
}

static void invalidation(void)
{
	struct keys k;
	int i;

	for (i = 0; i < 3; i++) { /* by its owner; by the peer, which may or may not */
		keys_new(&k, i == 1);
		const struct hca_key_part b = part(&k, 1, 0, 8, 0);
		const struct hca_sge receive = {0};

		set_ok(&k, 1, 8, 1, &b, 1);
		if (i)
			fixture_recv(k.p.qp[1], &receive, 0);
		invalidate(&k, !i, i ? HCASIM_WQE_OP_SEND_INV : HCASIM_WQE_OP_LOCAL_INV, k.key[1]);
		fixture_expect(k.p.scq[!i], HCASIM_CQE_STATUS_OK);
		if (i)
			fixture_expect(k.p.rcq[1],
				       i == 1 ? HCASIM_CQE_STATUS_OK : HCASIM_CQE_STATUS_REM_INV_REQ_ERR);
		CU_ASSERT_EQUAL(check(&k, 0, 8, 0), i == 2 ? 0 : HCASIM_VENDOR_ERR_BAD_LKEY);
		pair_free(&k.p);
	}
}

/* A packet has its memory from when it is made: what the queue does next does not change that. */
static void invalidated_behind_a_send(void)
{
	struct tiny_wqe inv = {.op = HCASIM_WQE_OP_LOCAL_INV, .flags = HCA_WR_SIGNALED};
	struct keys k;

	keys_new(&k, false);
	const struct hca_key_part a = part(&k, 0, 0, 64, 0);
	const struct hca_sge sge = {0, 64, k.key[0]};
	const struct tiny_wqe write = {.op = HCASIM_WQE_OP_RDMA_WRITE,
				       .flags = HCA_WR_SIGNALED,
				       .remote_addr = (uintptr_t)k.p.mem[1],
				       .rkey = k.p.key[1]};

	set_ok(&k, 0, 64, 1, &a, 1);
	inv.inv_rkey = k.key[0];
	fixture_put(k.p.qp[0], &write, NULL, &sge, 1);
	fixture_put(k.p.qp[0], &inv, NULL, NULL, 0);
	fixture_ring(k.p.qp[0]);
	fixture_run(k.p.fixture);
	fixture_expect(k.p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect(k.p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(k.p.mem[0], k.p.mem[1], 64), 0);
	pair_free(&k.p);
}

/* Pages of on-demand regions behind a key: those of its parts, not those between them. */
static void pages(void)
{
	struct hca_page_range range = {.len = 4096, .write = true};
	struct keys k;
	uint32_t lazy;

	keys_new(&k, false);
	lazy = fixture_mr(k.p.fixture, 1, k.p.mem[1], LEN, RIGHT | HCASIM_ACCESS_ON_DEMAND);
	struct hca_key_part b[] = {part(&k, 1, 0, 8, 0), part(&k, 1, 8192, 8, 0)};
	struct hca *hca = k.p.fixture->hca[1];

	b[0].key = b[1].key = lazy;
	set_ok(&k, 1, 16, 1, b, 2);
	CU_ASSERT_FALSE(key_present(hca, k.key[1], 0, 16, true));
	range.key = lazy;
	range.va = b[0].addr & ~4095ull;
	CU_ASSERT_EQUAL(hca_mr_map(hca, &range, false), 0);
	CU_ASSERT_TRUE(key_present(hca, k.key[1], 0, 8, true));
	CU_ASSERT_FALSE(key_present(hca, k.key[1], 0, 16, true));
	range.va = b[1].addr & ~4095ull;
	CU_ASSERT_EQUAL(hca_mr_map(hca, &range, false), 0);
	CU_ASSERT_TRUE(key_present(hca, k.key[1], 0, 16, true));
	pair_free(&k.p);
}

const struct test indirect_tests[] = {
	{"lists", lists},
	{"interleaved", interleaved},
	{"keys behind keys", nested},
	{"checks", checks},
	{"what a WQE sets", parts_of_a_set},
	{"refused sets", refused_sets},
	{"refused accesses", refused_accesses},
	{"other domain", other_domain},
	{"atomics", atomics},
	{"invalidation", invalidation},
	{"invalidated behind a send", invalidated_behind_a_send},
	{"pages", pages},
	{NULL, NULL},
};
