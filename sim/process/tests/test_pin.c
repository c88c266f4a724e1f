// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What holds a file, and the ordered sets behind it: right, and at the same price with many mappings as with one. */
#include <CUnit/Basic.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/preload/preload.h"
#include "process/preload/tree.h"

#define NUM  8000u
#define PAGE 4096ull
#define BASE 0x7f0000000000ull

/* ---- What the preload library has around it ------------------------------------------------------ */

static unsigned int num_syscalls;
static uint64_t file_of[1024]; /* by descriptor; 0: it is none */
static unsigned int next_fd = 100;

const char *path_runtime(void)
{
	return "";
}

bool file_lookup(int fd, uint64_t *id, dev_t *rdev)
{
	*id = fd >= 0 ? file_of[fd] : 0;
	return *id;
}

int client_move_up(int fd, bool copy)
{
	file_of[next_fd] = file_of[fd];
	return (int)next_fd++;
}

/*
 * Counts the library's system calls, by the linker's --wrap. Like raw_syscall() itself it takes six arguments, also where the
 * caller passed fewer, which AddressSanitizer would report.
 */
__attribute__((no_sanitize("address"))) long __wrap_raw_syscall(long number, ...);
long __real_raw_syscall(long number, ...);

long __wrap_raw_syscall(long number, ...)
{
	long arg[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	num_syscalls++;
	return __real_raw_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

/* ---- Holding ------------------------------------------------------------------------------------- */

static void *page(uint64_t i)
{
	return (void *)(uintptr_t)(BASE + i * 2 * PAGE); /* every other one */
}

static bool take(uint64_t from, uint64_t pages, struct pin_piece *piece)
{
	return pin_take((void *)(uintptr_t)from, pages * PAGE, piece);
}

static void pieces(void)
{
	struct pin_piece piece;

	file_of[3] = 0x111;
	CU_ASSERT(!take(BASE, 16, &piece));
	CU_ASSERT_FATAL(pin_add(3, 0x111, (void *)(uintptr_t)BASE, 7 * PAGE + 1));
	CU_ASSERT(!take(BASE - PAGE, 1, &piece));
	CU_ASSERT(!take(BASE + 8 * PAGE, 1, &piece));
	/* A hole, and then what is on both sides of it. */
	CU_ASSERT_FATAL(take(BASE + 2 * PAGE, 2, &piece));
	CU_ASSERT_PTR_EQUAL(piece.addr, (void *)(uintptr_t)(BASE + 2 * PAGE));
	CU_ASSERT_EQUAL(piece.len, 2 * PAGE);
	CU_ASSERT_EQUAL(piece.fd, -1);
	CU_ASSERT(!take(BASE + 2 * PAGE, 2, &piece));
	CU_ASSERT_FATAL(take(BASE + 3 * PAGE, 2, &piece));
	CU_ASSERT_PTR_EQUAL(piece.addr, (void *)(uintptr_t)(BASE + 4 * PAGE));
	CU_ASSERT_EQUAL(piece.len, PAGE);
	CU_ASSERT_EQUAL(piece.fd, -1);
	CU_ASSERT_FATAL(take(BASE - 100 * PAGE, 200, &piece));
	CU_ASSERT_PTR_EQUAL(piece.addr, (void *)(uintptr_t)(BASE + 5 * PAGE));
	CU_ASSERT_EQUAL(piece.len, 3 * PAGE);
	CU_ASSERT_EQUAL(piece.fd, -1);
	CU_ASSERT_FATAL(take(BASE - 100 * PAGE, 200, &piece));
	CU_ASSERT_PTR_EQUAL(piece.addr, (void *)(uintptr_t)BASE);
	CU_ASSERT_EQUAL(piece.len, 2 * PAGE);
	/* The last one: its descriptor is to be closed, if it is still the file's. */
	CU_ASSERT_EQUAL(piece.fd, (int)next_fd - 1);
	CU_ASSERT(!take(BASE, 16, &piece));
	CU_ASSERT_FATAL(pin_add(3, 0x111, page(0), PAGE));
	file_of[next_fd - 1] = 0x222;
	CU_ASSERT_FATAL(take(BASE, 1, &piece));
	CU_ASSERT_EQUAL(piece.fd, -1);
}

/* System calls of an munmap() of memory that is no device's. */
static unsigned int price_of_munmap(void)
{
	struct pin_piece piece;

	num_syscalls = 0;
	CU_ASSERT(!take(BASE + NUM * PAGE + PAGE, 1, &piece));
	CU_ASSERT(!take(BASE - 64 * PAGE, 64, &piece));
	return num_syscalls;
}

static void many(void)
{
	struct pin_piece piece;
	unsigned int one, all;

	file_of[4] = 0x444;
	CU_ASSERT_FATAL(pin_add(4, 0x444, page(0), PAGE));
	one = price_of_munmap();
	for (unsigned int i = 1; i < NUM; i++)
		CU_ASSERT_FATAL(pin_add(4, 0x444, page(i), PAGE));
	all = price_of_munmap();
	CU_ASSERT_EQUAL(all, one);
	num_syscalls = 0;
	for (unsigned int i = 0; i < NUM; i++) {
		CU_ASSERT_FATAL(pin_take(page(i * 7 % NUM), PAGE, &piece));
		CU_ASSERT_EQUAL(piece.fd >= 0, i == NUM - 1);
	}
	CU_ASSERT_EQUAL(num_syscalls, NUM * (one / 2));
}

static void calls(void)
{
	static struct pin_call call[300];

	file_of[5] = 0x555;
	for (unsigned int i = 0; i < 300; i++)
		CU_ASSERT_FATAL(pin_call(&call[i], 5, 0x555));
	for (unsigned int i = 0; i < 300; i++)
		pin_call_end(&call[i * 7 % 300]);
	CU_ASSERT_FATAL(pin_call(&call[0], 5, 0x555));
	pin_call_end(&call[0]);
	CU_ASSERT(!pin_call(&call[0], 5, 0x666)); /* the descriptor is another file's by now */
	pin_call_end(&call[0]);
}

/* ---- The sets ------------------------------------------------------------------------------------- */

static unsigned int depth(const struct tree *t, uint32_t i, uint64_t low, uint64_t high)
{
	const struct tree_node *n = &t->node[i];
	unsigned int left, right;

	if (!i)
		return 0;
	CU_ASSERT_FATAL(n->key >= low && n->key <= high);
	left = depth(t, n->left, low, n->key);
	right = depth(t, n->right, n->key, high);
	return 1 + (left > right ? left : right);
}

static uint64_t upwards(uint32_t i)
{
	return i;
}

static uint64_t downwards(uint32_t i)
{
	return BASE - i * PAGE;
}

static uint64_t mixed(uint32_t i)
{
	return (uint64_t)i * 0x9e3779b97f4a7c15ull;
}

static void fill(uint64_t (*key)(uint32_t i))
{
	struct tree t = {0};
	struct tree_node *n;

	for (uint32_t i = 0; i < NUM; i++) {
		n = tree_add(&t, key(i));
		CU_ASSERT_PTR_NOT_NULL_FATAL(n);
		n->file = i;
	}
	CU_ASSERT_EQUAL(t.num, NUM);
	/* 13 levels at the least; chains would be hundreds. */
	CU_ASSERT(depth(&t, t.root, 0, UINT64_MAX) <= 40);
	for (uint32_t i = 0; i < NUM; i += 2)
		tree_remove(&t, key(i));
	CU_ASSERT(depth(&t, t.root, 0, UINT64_MAX) <= 40);
	for (uint32_t i = 0; i < NUM; i++) {
		n = tree_find(&t, key(i));
		CU_ASSERT_FATAL(i % 2 ? n && n->file == i : !n);
	}
	/* Room that was given back is used again. */
	for (uint32_t i = 0; i < NUM; i += 2)
		CU_ASSERT_PTR_NOT_NULL_FATAL(tree_add(&t, key(i)));
	CU_ASSERT_EQUAL(t.used, NUM);
	for (uint32_t i = 0; i < NUM; i++)
		tree_remove(&t, key(i));
	CU_ASSERT_EQUAL(t.num, 0);
	CU_ASSERT_PTR_NULL(tree_at_most(&t, UINT64_MAX));
}

static void sets(void)
{
	fill(upwards);
	fill(downwards);
	fill(mixed);
}

static void neighbours(void)
{
	struct tree t = {0};

	CU_ASSERT_PTR_NULL(tree_at_most(&t, 5));
	tree_add(&t, 10);
	tree_add(&t, 20);
	CU_ASSERT_PTR_NULL(tree_at_most(&t, 9));
	CU_ASSERT_EQUAL(tree_at_most(&t, 10)->key, 10);
	CU_ASSERT_EQUAL(tree_at_most(&t, 19)->key, 10);
	CU_ASSERT_EQUAL(tree_at_most(&t, UINT64_MAX)->key, 20);
}

int main(void)
{
	CU_pSuite s;
	unsigned int failed;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	s = CU_add_suite("hold", NULL, NULL);
	CU_add_test(s, "pieces", pieces);
	CU_add_test(s, "many mappings", many);
	CU_add_test(s, "calls", calls);
	CU_add_test(s, "ordered sets", sets);
	CU_add_test(s, "neighbours", neighbours);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}
