// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* On-demand paging: the tables of pages, and the commands that fill and empty them. */
#include "fixture.h"
#include "core/memory/odp.h"

#define ALL  (FIXTURE_ALL | HCASIM_ACCESS_ON_DEMAND)
#define PAGE 4096ull
#define BASE (1ull << 30)

static struct hca_mr_attr region_at(uint64_t va, uint64_t len, uint32_t access)
{
	return (struct hca_mr_attr){.pdn = FIXTURE_PD,
				    .access = access,
				    .pasid = FIXTURE_PASID,
				    .va = va,
				    .iova = va,
				    .length = len};
}

static void table(void)
{
	struct hca_mr_attr a = region_at(BASE, 1ull << 32, ALL);
	struct hca_page_range r = {.va = BASE + 3 * PAGE, .len = 1000 * PAGE};
	struct fixture *fixture = fixture_new(NULL, 0);
	struct hca *hca = fixture->hca[0];
	uint32_t key, pinned;

	CU_ASSERT_EQUAL(hca_mr_create(hca, &a, &key), 0);
	CU_ASSERT_FALSE(key_present(hca, key, BASE, 1, false));
	r.key = key;
	CU_ASSERT_EQUAL(hca_mr_map(hca, &r, true), 0);
	CU_ASSERT_TRUE(key_present(hca, key, BASE + 3 * PAGE, 1000 * PAGE, false));
	CU_ASSERT_FALSE(key_present(hca, key, BASE + 3 * PAGE, 1, true));
	CU_ASSERT_FALSE(key_present(hca, key, BASE + 3 * PAGE - 1, 2, false));
	CU_ASSERT_FALSE(key_present(hca, key, BASE + 1003 * PAGE - 1, 2, false));
	r.write = true;
	r.len = PAGE;
	CU_ASSERT_EQUAL(hca_mr_map(hca, &r, false), 0);
	CU_ASSERT_TRUE(key_present(hca, key, BASE + 3 * PAGE, PAGE, true));
	CU_ASSERT_EQUAL(hca_mr_unmap(hca, FIXTURE_PASID + 1, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(hca_mr_unmap(hca, FIXTURE_PASID, BASE + 4 * PAGE + 5, PAGE), 2);
	CU_ASSERT_TRUE(key_present(hca, key, BASE + 3 * PAGE, PAGE, true));
	CU_ASSERT_FALSE(key_present(hca, key, BASE + 5 * PAGE, 1, false));
	CU_ASSERT_TRUE(key_present(hca, key, BASE + 6 * PAGE, 997 * PAGE, false));
	CU_ASSERT_EQUAL(hca_mr_unmap(hca, FIXTURE_PASID, 0, UINT64_MAX), 998);
	CU_ASSERT_FALSE(key_present(hca, key, BASE + 3 * PAGE, 1, false));
	CU_ASSERT_EQUAL(hca->count[0].num_prefetch, 1000);
	CU_ASSERT_EQUAL(hca->count[0].num_page_faults, 1);
	CU_ASSERT_EQUAL(hca->count[0].num_invalidations, 1000);
	/* What has no pages of its own cannot be mapped, and needs not be. */
	a.access = FIXTURE_ALL;
	CU_ASSERT_EQUAL(hca_mr_create(hca, &a, &pinned), 0);
	CU_ASSERT_TRUE(key_present(hca, pinned, BASE, 1, true));
	r.key = pinned;
	CU_ASSERT_EQUAL(hca_mr_map(hca, &r, false), -EINVAL);
	r.key = key ^ 1;
	CU_ASSERT_EQUAL(hca_mr_map(hca, &r, false), -EINVAL);
	r = (struct hca_page_range){.key = key, .va = UINT64_MAX - 5, .len = 10};
	CU_ASSERT_EQUAL(hca_mr_map(hca, &r, false), -EINVAL);
	fixture_free(fixture);
}

/* The whole address space, its last page, and pages of 2 MiB. */
static void table_ends(void)
{
	struct hca_mr_attr a = region_at(0, UINT64_MAX, ALL);
	struct fixture *fixture = fixture_new(NULL, 0);
	struct hca *hca = fixture->hca[0];
	struct hca_page_range r = {.va = -PAGE, .len = PAGE - 1}, absent;
	uint32_t key, huge;

	CU_ASSERT_EQUAL(hca_mr_create(hca, &a, &key), 0);
	r.key = key;
	CU_ASSERT_EQUAL(hca_mr_map(hca, &r, false), 0);
	CU_ASSERT_TRUE(key_present(hca, key, UINT64_MAX - 1, 1, false));
	CU_ASSERT_EQUAL(hca_mr_unmap(hca, FIXTURE_PASID, UINT64_MAX - 1, 1), 1);
	a = region_at(BASE, 4 << 20, ALL | HCASIM_ACCESS_HUGETLB);
	CU_ASSERT_EQUAL(hca_mr_create(hca, &a, &huge), 0);
	CU_ASSERT_TRUE(key_absent(hca, huge, BASE + 7, 1, true, &absent));
	CU_ASSERT_TRUE(absent.va == BASE && absent.len == 2 << 20 && absent.write && absent.key == huge);
	CU_ASSERT_EQUAL(hca_mr_map(hca, &absent, false), 0);
	CU_ASSERT_TRUE(key_present(hca, huge, BASE, 2 << 20, true));
	CU_ASSERT_FALSE(key_present(hca, huge, BASE, (2 << 20) + 1, true));
	/* A region that changes has no page again; one that is pinned then, needs none. */
	CU_ASSERT_EQUAL(hca_mr_modify(hca, huge, &a, &huge), 0);
	CU_ASSERT_FALSE(key_present(hca, huge, BASE, 1, false));
	a.access = FIXTURE_ALL;
	CU_ASSERT_EQUAL(hca_mr_modify(hca, huge, &a, &huge), 0);
	CU_ASSERT_TRUE(key_present(hca, huge, BASE, 1, false));
	fixture_free(fixture);
}

const struct test pages_tests[] = {
	{"pages of a region", table},
	{"ends of a region", table_ends},
	{NULL, NULL},
};
