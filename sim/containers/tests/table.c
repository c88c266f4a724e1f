// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The hash table: what is in it is found, whatever the keys, and chains stay short. */
#include <stdlib.h>

#include <CUnit/Basic.h>

#include "containers/table.h"

#include "suites.h"

#define NUM 50000u

struct thing {
	struct table_node node;
	bool in;
};

static void check_all(const struct table *t, const struct thing *things, uint64_t (*key)(uint32_t i))
{
	for (uint32_t i = 0; i < NUM; i++) {
		const struct table_node *found = table_find(t, key(i));

		if (found != (things[i].in ? &things[i].node : NULL))
			CU_FAIL("a node is not found, or one that was removed is");
	}
}

/* Of the nodes behind a bucket, the most. */
static size_t longest(const struct table *t)
{
	size_t most = 0;

	for (size_t i = 0; i < t->size; i++) {
		size_t num = 0;

		for (const struct table_node *node = t->many[i]; node; node = node->next)
			num++;
		most = num > most ? num : most;
	}
	return most;
}

static void fill_and_empty(uint64_t (*key)(uint32_t i))
{
	struct thing *things = calloc(NUM, sizeof(*things));
	struct table t = {0};

	for (uint32_t i = 0; i < NUM; i++) {
		things[i].in = true;
		table_add(&t, &things[i].node, key(i));
	}
	CU_ASSERT_EQUAL(t.used, NUM);
	CU_ASSERT(longest(&t) <= 12);
	check_all(&t, things, key);
	for (uint32_t i = 0; i < NUM; i += 1 + i % 3) {
		things[i].in = false;
		table_remove(&t, &things[i].node);
	}
	check_all(&t, things, key);
	for (uint32_t i = 0; i < NUM; i++)
		if (things[i].in)
			table_remove(&t, &things[i].node);
	CU_ASSERT_EQUAL(t.used, 0);
	table_free(&t);
	CU_ASSERT_PTR_NULL(table_find(&t, key(0)));
	free(things);
}

static uint64_t in_turn(uint32_t i)
{
	return 0x123456789abcdefull + i;
}

static uint64_t pages(uint32_t i)
{
	return (uint64_t)i << 12 | 0x7f0000000000ull;
}

static uint64_t high_bits(uint32_t i)
{
	return (uint64_t)i << 40;
}

static void keys(void)
{
	fill_and_empty(in_turn);
	fill_and_empty(pages);
	fill_and_empty(high_bits);
}

static void equal_keys(void)
{
	struct table_node node[3];
	struct table t = {0};

	for (int i = 0; i < 3; i++)
		table_add(&t, &node[i], 7);
	for (int i = 0; i < 3; i++) {
		unsigned int left = 0;

		CU_ASSERT_PTR_NOT_NULL(table_find(&t, 7));
		for (struct table_node *n = table_find(&t, 7); n; n = table_next(n))
			left++;
		CU_ASSERT_EQUAL(left, 3 - i);
		table_remove(&t, &node[i]);
	}
	CU_ASSERT_PTR_NULL(table_find(&t, 7));
	table_free(&t);
}

/* Keys that share a bucket with 7, as some of these do, are not found with it. */
static void other_keys(void)
{
	struct table_node node[3];

	for (uint64_t other = 8; other < 100; other++) {
		const uint64_t key[] = {7, other, 7};
		struct table t = {0};
		unsigned int found = 0;

		for (int i = 0; i < 3; i++)
			table_add(&t, &node[i], key[i]);
		for (struct table_node *n = table_find(&t, 7); n; n = table_next(n))
			found += n->key == 7 ? 1 : 100;
		CU_ASSERT_EQUAL(found, 2);
		table_free(&t);
	}
}

bool add_table(void)
{
	CU_pSuite s = CU_add_suite("table", NULL, NULL);

	return s && CU_add_test(s, "keys of every kind", keys) && CU_add_test(s, "equal keys", equal_keys) &&
	       CU_add_test(s, "other keys", other_keys);
}
