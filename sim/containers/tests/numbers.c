// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Numbers of objects: limits, and how late one comes back. */
#include <errno.h>
#include <stdlib.h>

#include <CUnit/Basic.h>

#include "containers/numbers.h"

#include "suites.h"

#define MANY 70000u

static int object;

static uint32_t add(struct numbers *n)
{
	uint32_t number = 0;

	CU_ASSERT_EQUAL_FATAL(numbers_add(n, &object, &number), 0);
	return number;
}

static void limits(void)
{
	struct numbers n;
	uint32_t number, first;

	numbers_init(&n, 5, 1u << 24, 3);
	first = add(&n);
	CU_ASSERT_EQUAL(first, 5);
	add(&n);
	add(&n);
	CU_ASSERT_EQUAL(numbers_add(&n, &object, &number), -ENOMEM);
	numbers_remove(&n, first);
	number = add(&n);
	CU_ASSERT_NOT_EQUAL(number, first);
	CU_ASSERT_EQUAL(numbers_add(&n, &object, &first), -ENOMEM);
	CU_ASSERT_PTR_EQUAL(numbers_find(&n, number), &object);
	CU_ASSERT_PTR_NULL(numbers_find(&n, 5));
	CU_ASSERT_PTR_NULL(numbers_find(&n, 4));
	CU_ASSERT_PTR_NULL(numbers_find(&n, UINT32_MAX));
	numbers_free(&n);
}

/* All the numbers there are: the one that has rested longest comes back, and none that is in use. */
static void rolls_over(void)
{
	struct numbers n;
	uint32_t given[8];

	numbers_init(&n, 1, 9, 8);
	for (uint32_t i = 0; i < 8; i++)
		given[i] = add(&n);
	for (uint32_t i = 0; i < 8; i += 2)
		numbers_remove(&n, given[7 - i]);
	for (uint32_t i = 0; i < 8; i += 2)
		CU_ASSERT_EQUAL(add(&n), given[7 - i]);
	numbers_free(&n);
}

/* One after the other: each number is fresh until NUMBERS_REST of them rest, and then they go round. */
static void rests(void)
{
	struct numbers n;

	numbers_init(&n, 1, 1u << 24, 1);
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t number = add(&n);

		if (number != 1 + i % NUMBERS_REST)
			CU_FAIL_FATAL("a number came back early");
		numbers_remove(&n, number);
	}
	CU_ASSERT_EQUAL(n.size, NUMBERS_REST); /* and the table stays small */
	numbers_free(&n);
}

/* As many rest as are in use, however many that is. */
static void rests_among_many(void)
{
	uint32_t *when = calloc(4 * MANY, sizeof(*when)), number;
	struct numbers n;

	CU_ASSERT_PTR_NOT_NULL_FATAL(when);
	numbers_init(&n, 0, 4 * MANY, MANY + 1);
	for (uint32_t i = 0; i < MANY; i++)
		add(&n);
	for (uint32_t i = 1; i < 4 * MANY; i++) {
		number = add(&n);
		if (number < MANY || (when[number] && i - when[number] < MANY))
			CU_FAIL_FATAL("a number is in use, or came back early");
		when[number] = i;
		numbers_remove(&n, number);
	}
	numbers_free(&n);
	free(when);
}

static void walks(void)
{
	struct numbers n;
	uint32_t number = 0, found = 0;

	numbers_init(&n, 10, 1u << 24, 100);
	CU_ASSERT_PTR_NULL(numbers_from(&n, 0, &number));
	for (uint32_t i = 0; i < 100; i++)
		add(&n);
	for (uint32_t i = 10; i < 110; i += 3)
		numbers_remove(&n, i);
	for (number = 0; numbers_from(&n, number, &number); found++)
		numbers_remove(&n, number);
	CU_ASSERT_EQUAL(found, 66);
	CU_ASSERT_EQUAL(n.used, 0);
	numbers_free(&n);
}

bool add_numbers(void)
{
	CU_pSuite s = CU_add_suite("numbers", NULL, NULL);

	return s && CU_add_test(s, "limits", limits) && CU_add_test(s, "rolls over", rolls_over) &&
	       CU_add_test(s, "rests", rests) && CU_add_test(s, "rests among many", rests_among_many) &&
	       CU_add_test(s, "walks", walks);
}
