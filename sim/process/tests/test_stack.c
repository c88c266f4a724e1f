// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Backtraces of stores. */
#include <string.h>

#include <CUnit/CUnit.h>

#include "process/trap/stack.h"
#include "process/trap/valgrind.h"
#include "trap_env.h"

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP     asm volatile("" ::: "memory") /* the call before is no tail call */

static NOINLINE void store_once(void)
{
	*(volatile uint64_t *)page = 1;
	KEEP;
}

static NOINLINE void first_caller(void)
{
	store_once();
	KEEP;
}

static NOINLINE void second_caller(void)
{
	store_once();
	KEEP;
}

/* The backtrace of the store that `call` makes; 0: none. */
static uint16_t stack_by(void (*call)(void))
{
	struct ring_op op = {.stack = UINT16_MAX};

	call();
	while (take(&op))
		;
	return op.stack;
}

static bool is_in(uint64_t address, void (*function)(void))
{
	return address - (uintptr_t)function < 64;
}

void test_stack(void)
{
	const struct ring_stack *s;
	uint16_t stack;

	CU_ASSERT_EQUAL(stack_by(first_caller), 0);
	with_stacks = true;
	CU_ASSERT_EQUAL(stack_by(first_caller), 0); /* the unwinder is not loaded */
	stack_prepare();
	stack = stack_by(first_caller);
	with_stacks = false;
	if (valgrind_runs()) {
		CU_ASSERT_EQUAL(stack, 0);
		return;
	}
	CU_ASSERT_FATAL(stack > 0 && stack <= RING_STACKS);
	s = &ring.stack[stack - 1];
	CU_ASSERT_EQUAL(s->state, RING_STACK_READY);
	CU_ASSERT_TRUE(is_in(s->frame[0], store_once));
	CU_ASSERT_TRUE(is_in(s->frame[1], first_caller));
}

void test_stack_table(void)
{
	void (*const callers[])(void) = {first_caller, second_caller, first_caller};
	uint16_t stack[3];

	stack_prepare();
	if (valgrind_runs())
		return;
	with_stacks = true;
	for (int i = 0; i < 3; i++)
		stack[i] = stack_by(callers[i]);
	CU_ASSERT_NOT_EQUAL(stack[0], stack[1]);
	CU_ASSERT_EQUAL(stack[0], stack[2]);
	/* Slots of others: there is no space. */
	for (unsigned int i = 0; i < RING_STACKS; i++) {
		memset(ring.stack[i].frame, 0xff, sizeof(ring.stack[i].frame));
		ring.stack[i].state = RING_STACK_READY;
	}
	CU_ASSERT_EQUAL(stack_by(first_caller), 0);
	memset(ring.stack, 0, sizeof(ring.stack));
	with_stacks = false;
}
