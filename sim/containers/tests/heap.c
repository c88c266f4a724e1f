// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The heap: the first is the least, whatever was added and taken out of its middle before. */
#include <stddef.h>

#include <CUnit/Basic.h>

#include "containers/heap.h"

#include "suites.h"

#define NUM 2000u

struct thing {
	unsigned int before;
	struct heap_node node;
};
static struct thing things[NUM];
static struct heap heap;

static uint64_t key_of(uint32_t i)
{
	return i * 0x9e3779b97f4a7c15ull >> 40 << 3; /* in no order; some are equal */
}

static void fill(void)
{
	for (uint32_t i = 0; i < NUM; i++) {
		if (!heap_add(&heap, &things[i].node, key_of(i)))
			CU_FAIL_FATAL("no memory");
	}
	CU_ASSERT_EQUAL(heap.count, NUM);
}

/* How many come out, each not before the one before it. */
static uint32_t drain(void)
{
	struct heap_node *node;
	uint64_t last = 0;
	uint32_t n = 0;

	for (; (node = heap_first(&heap)); n++) {
		if (node->key < last)
			CU_FAIL_FATAL("a smaller key came later");
		last = node->key;
		heap_remove(&heap, node);
		if (node->pos)
			CU_FAIL("it is out, and has a place");
	}
	return n;
}

static void order(void)
{
	CU_ASSERT_PTR_NULL(heap_first(&heap));
	fill();
	CU_ASSERT_EQUAL(drain(), NUM);
	heap_free(&heap);
}

static void out_of_the_middle(void)
{
	fill();
	for (uint32_t i = 0; i < NUM; i += 3)
		heap_remove(&heap, &things[i].node);
	heap_remove(&heap, &things[0].node); /* not there any more */
	CU_ASSERT_EQUAL(heap.count, NUM - (NUM + 2) / 3);
	for (uint32_t i = 0; i < NUM; i += 6) {
		if (!heap_add(&heap, &things[i].node, key_of(i) / 2))
			CU_FAIL_FATAL("no memory");
	}
	CU_ASSERT_EQUAL(drain(), NUM - (NUM + 2) / 3 + (NUM + 5) / 6);
	heap_free(&heap);
}

static void entry(void)
{
	CU_ASSERT_PTR_EQUAL(heap_entry(&things[5].node, struct thing, node), &things[5]);
}

bool add_heap(void)
{
	CU_pSuite s = CU_add_suite("heap", NULL, NULL);

	return s && CU_ADD_TEST(s, order) && CU_ADD_TEST(s, out_of_the_middle) && CU_ADD_TEST(s, entry);
}
