// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Sets of numbers: the nearest is what a search one by one finds. */
#include <stdbool.h>

#include <CUnit/Basic.h>

#include "containers/bits.h"

#include "suites.h"

static struct bits bits;
static bool has[BITS_END];

static int32_t one_by_one(uint32_t n)
{
	int32_t i = (int32_t)n;

	while (i >= 0 && !has[i])
		i--;
	return i;
}

static void change(uint32_t n, bool add)
{
	has[n] = add;
	if (add)
		bits_add(&bits, n);
	else
		bits_remove(&bits, n);
}

static void compare(uint32_t n)
{
	if (bits_at_most(&bits, n) != one_by_one(n))
		CU_FAIL("another number than one by one");
}

static void edges(void)
{
	static const uint32_t at[] = {0, 1, 63, 64, 65, 4095, 4096, 4097, 65536, BITS_END - 1};
	const unsigned int num = sizeof(at) / sizeof(at[0]);

	CU_ASSERT_EQUAL(bits_at_most(&bits, BITS_END - 1), -1);
	for (unsigned int add = 2; add--;) {
		for (unsigned int i = 0; i < num; i++) {
			change(at[i], add);
			for (unsigned int j = 0; j < num; j++)
				compare(at[j]);
		}
	}
	CU_ASSERT_EQUAL(bits_at_most(&bits, BITS_END - 1), -1);
}

static void any_order(void)
{
	for (uint32_t i = 0; i < 3000; i++) {
		change(i * 2654435761u >> 15, i % 3 != 2);
		compare((i + 7) * 2246822519u >> 15);
	}
}

bool add_bits(void)
{
	CU_pSuite s = CU_add_suite("bits", NULL, NULL);

	return s && CU_ADD_TEST(s, edges) && CU_ADD_TEST(s, any_order);
}
