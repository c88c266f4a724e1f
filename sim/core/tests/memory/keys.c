// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory keys: bounds that must not wrap, rights, domains, reuse. */
#include "fixture.h"

#define BASE 0x10000ull
#define LEN  0x1000ull

static uint32_t region(struct fixture *fixture, uint64_t va, uint64_t iova, uint64_t len, uint32_t access)
{
	struct hca_mr_attr a = {
		.pdn = FIXTURE_PD, .access = access, .pasid = 5, .va = va, .iova = iova, .length = len};
	uint32_t key = 0;

	CU_ASSERT_EQUAL(hca_mr_create(fixture->hca[0], &a, &key), 0);
	return key;
}

static void bounds(void)
{
	static const struct {
		uint64_t addr, len;
		uint8_t err;
	} t[] = {
		{BASE, LEN, 0},
		{BASE, 0, 0},
		{BASE + LEN, 0, 0},
		{BASE + LEN - 1, 1, 0},
		{BASE - 1, 1, HCASIM_VENDOR_ERR_LKEY_RANGE},
		{BASE - 1, 2, HCASIM_VENDOR_ERR_LKEY_RANGE},
		{BASE, LEN + 1, HCASIM_VENDOR_ERR_LKEY_RANGE},
		{BASE + LEN, 1, HCASIM_VENDOR_ERR_LKEY_RANGE},
		{BASE + LEN + 1, 0, HCASIM_VENDOR_ERR_LKEY_RANGE},
		{0, 1, HCASIM_VENDOR_ERR_LKEY_RANGE},
		{UINT64_MAX, 1, HCASIM_VENDOR_ERR_LKEY_RANGE},
		{UINT64_MAX, 2, HCASIM_VENDOR_ERR_LKEY_RANGE},
		{BASE, UINT64_MAX, HCASIM_VENDOR_ERR_LKEY_RANGE},
		{BASE + 1, UINT64_MAX, HCASIM_VENDOR_ERR_LKEY_RANGE},
		{BASE + 8, -(BASE + 8), HCASIM_VENDOR_ERR_LKEY_RANGE},
		{BASE, 1ull << 32, HCASIM_VENDOR_ERR_LKEY_RANGE},
	};
	struct fixture *fixture = fixture_new(NULL, 0);
	uint32_t key = region(fixture, 0x7000, BASE, LEN, 0);
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct piece p = {0};

		CU_ASSERT_EQUAL(mr_check(fixture->hca[0], key, FIXTURE_PD, t[i].addr, t[i].len, 0, &p),
				t[i].err);
		if (!t[i].err)
			CU_ASSERT_TRUE(p.addr == 0x7000 + t[i].addr - BASE && p.pasid == 5 &&
				       p.len == t[i].len);
	}
	fixture_free(fixture);
}

static void end_of_the_world(void)
{
	struct fixture *fixture = fixture_new(NULL, 0);
	uint32_t key = region(fixture, UINT64_MAX - 7, UINT64_MAX - 7, 7, 0);
	uint32_t all = region(fixture, 0, 0, UINT64_MAX, 0);
	struct piece p;

	CU_ASSERT_EQUAL(mr_check(fixture->hca[0], key, FIXTURE_PD, UINT64_MAX - 7, 7, 0, &p), 0);
	CU_ASSERT_NOT_EQUAL(mr_check(fixture->hca[0], key, FIXTURE_PD, UINT64_MAX - 7, 8, 0, &p), 0);
	CU_ASSERT_EQUAL(mr_check(fixture->hca[0], all, FIXTURE_PD, 1, UINT64_MAX - 1, 0, &p), 0);
	CU_ASSERT_NOT_EQUAL(mr_check(fixture->hca[0], all, FIXTURE_PD, 2, UINT64_MAX - 1, 0, &p), 0);
	fixture_free(fixture);
}

static void rights_and_domains(void)
{
	struct fixture *fixture = fixture_new(NULL, 0);
	uint32_t key =
		region(fixture, BASE, BASE, LEN, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_REMOTE_READ);
	const struct hca *hca = fixture->hca[0];

	CU_ASSERT_EQUAL(mr_check(hca, key, FIXTURE_PD, BASE, 8, HCASIM_ACCESS_LOCAL_WRITE, NULL), 0);
	CU_ASSERT_EQUAL(mr_check(hca, key, FIXTURE_PD, BASE, 8, HCASIM_ACCESS_REMOTE_READ, NULL), 0);
	CU_ASSERT_EQUAL(mr_check(hca, key, FIXTURE_PD, BASE, 8, HCASIM_ACCESS_REMOTE_WRITE, NULL),
			HCASIM_VENDOR_ERR_LKEY_ACCESS);
	CU_ASSERT_EQUAL(mr_check(hca, key, FIXTURE_PD, BASE, 8, HCASIM_ACCESS_REMOTE_ATOMIC, NULL),
			HCASIM_VENDOR_ERR_LKEY_ACCESS);
	CU_ASSERT_EQUAL(mr_check(hca, key, FIXTURE_PD + 1, BASE, 8, 0, NULL), HCASIM_VENDOR_ERR_LKEY_PD);
	CU_ASSERT_EQUAL(mr_check(hca, key ^ 0x80, FIXTURE_PD, BASE, 8, 0, NULL), HCASIM_VENDOR_ERR_BAD_LKEY);
	CU_ASSERT_EQUAL(mr_check(hca, 0, FIXTURE_PD, BASE, 8, 0, NULL), HCASIM_VENDOR_ERR_BAD_LKEY);
	CU_ASSERT_EQUAL(mr_check(hca, 0x100, FIXTURE_PD, BASE, 8, 0, NULL), HCASIM_VENDOR_ERR_BAD_LKEY);
	CU_ASSERT_EQUAL(mr_check(hca, UINT32_MAX, FIXTURE_PD, BASE, 8, 0, NULL), HCASIM_VENDOR_ERR_BAD_LKEY);
	fixture_free(fixture);
}

static void reuse(void)
{
	struct hca_config cfg = {.num_ports = 1, .max_qp = 1, .max_cq = 1, .max_mr = 3};
	struct hca_mr_attr a = {.pdn = FIXTURE_PD, .va = BASE, .iova = BASE, .length = LEN};
	struct fixture *fixture = fixture_new(&cfg, 0);
	uint32_t key[3], more, i;

	for (i = 0; i < 3; i++)
		key[i] = region(fixture, BASE, BASE, LEN, 0);
	CU_ASSERT_EQUAL(hca_mr_create(fixture->hca[0], &a, &more), -ENOMEM);
	CU_ASSERT_EQUAL(hca_mr_destroy(fixture->hca[0], key[1]), 0);
	CU_ASSERT_EQUAL(hca_mr_destroy(fixture->hca[0], key[1]), -EINVAL);
	more = region(fixture, BASE, BASE, LEN, 0);
	CU_ASSERT_EQUAL(more >> 8, key[1] >> 8);
	CU_ASSERT_NOT_EQUAL(more, key[1]);
	CU_ASSERT_EQUAL(mr_check(fixture->hca[0], key[1], FIXTURE_PD, BASE, 8, 0, NULL),
			HCASIM_VENDOR_ERR_BAD_LKEY);
	CU_ASSERT_EQUAL(mr_check(fixture->hca[0], more, FIXTURE_PD, BASE, 8, 0, NULL), 0);
	a.length = 16;
	CU_ASSERT_EQUAL(hca_mr_modify(fixture->hca[0], more, &a, &key[1]), 0);
	CU_ASSERT_EQUAL(mr_check(fixture->hca[0], key[1], FIXTURE_PD, BASE, 17, 0, NULL),
			HCASIM_VENDOR_ERR_LKEY_RANGE);
	fixture_free(fixture);
}

/* Addresses in a zero-based region are offsets, whatever address it was registered with. */
static void zero_based(void)
{
	struct hca_mr_attr a = {.pdn = FIXTURE_PD, .va = BASE, .iova = BASE, .length = LEN};
	struct fixture *fixture = fixture_new(NULL, 0);
	uint32_t key = region(fixture, BASE, BASE, LEN, HCASIM_ACCESS_ZERO_BASED), same;
	struct piece p;
	int i;

	for (i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(mr_check(fixture->hca[0], key, FIXTURE_PD, 16, LEN - 16, 0, &p), 0);
		CU_ASSERT_EQUAL(p.addr, BASE + 16);
		CU_ASSERT_EQUAL(mr_check(fixture->hca[0], key, FIXTURE_PD, 16, LEN - 15, 0, NULL),
				HCASIM_VENDOR_ERR_LKEY_RANGE);
		CU_ASSERT_EQUAL(mr_check(fixture->hca[0], key, FIXTURE_PD, BASE, 1, 0, NULL),
				HCASIM_VENDOR_ERR_LKEY_RANGE);
		key = region(fixture, BASE, BASE, LEN, 0);
		a.access = HCASIM_ACCESS_ZERO_BASED;
		CU_ASSERT_EQUAL(hca_mr_modify(fixture->hca[0], key, &a, &same), 0);
	}
	fixture_free(fixture);
}

static void slices(void)
{
	struct fixture *fixture = fixture_new(NULL, 0);
	uint32_t key = region(fixture, BASE, BASE, LEN, 0), n = 0;
	struct hca_sge sge[4] = {{BASE, 10, key}, {0, 0, 77}, {BASE + 100, 20, key}, {BASE + 200, 30, key}};
	struct piece p[4];

	CU_ASSERT_EQUAL(sge_slice(fixture->hca[0], FIXTURE_PD, sge, 4, 5, 30, 0, p, &n), 0);
	CU_ASSERT_EQUAL(n, 3);
	CU_ASSERT_TRUE(p[0].addr == BASE + 5 && p[0].len == 5);
	CU_ASSERT_TRUE(p[1].addr == BASE + 100 && p[1].len == 20);
	CU_ASSERT_TRUE(p[2].addr == BASE + 200 && p[2].len == 5);
	CU_ASSERT_EQUAL(sge_slice(fixture->hca[0], FIXTURE_PD, sge, 4, 30, 30, 0, p, &n), 0);
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_EQUAL(sge_slice(fixture->hca[0], FIXTURE_PD, sge, 4, 31, 30, 0, p, &n),
			HCASIM_VENDOR_ERR_LKEY_RANGE);
	CU_ASSERT_EQUAL(sge_check_all(fixture->hca[0], FIXTURE_PD, sge, 4, 0), 0);
	sge[3].lkey++;
	CU_ASSERT_EQUAL(sge_check_all(fixture->hca[0], FIXTURE_PD, sge, 4, 0), HCASIM_VENDOR_ERR_BAD_LKEY);
	fixture_free(fixture);
}

const struct test keys_tests[] = {
	{"bounds", bounds},
	{"ends of the address space", end_of_the_world},
	{"rights and domains", rights_and_domains},
	{"reuse", reuse},
	{"zero-based", zero_based},
	{"slices", slices},
	{NULL, NULL},
};
