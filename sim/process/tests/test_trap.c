// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The BAR trap in a real process: trapped pages, the real handler, the real ring; this program is its
 * consumer. The control channel is the only thing that is not there.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>

#include "process/trap/insn.h"
#include "process/trap/valgrind.h"
#include "trap_env.h"

struct form {
	const char *name;
	void (*run)(void *dst, const void *src);
	uint32_t need, low;
};
extern struct form __start_stores[], __stop_stores[], __start_loads[], __stop_loads[];
extern struct form __start_vector_loads[], __stop_vector_loads[];
void store_rip_relative(uint64_t v);
void store_rip_relative_imm(void);
void locked_add(void *p);
void exchange(void *p);
void add_to(void *p);
void push_from(void *p);
void through_fs(void *p, uint64_t v);

static bool supported(const struct form *f)
{
	return f->need == 0 || (f->need == 1 && __builtin_cpu_supports("avx2")) ||
	       (f->need == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"));
}

/* ---- Stores ---------------------------------------------------------------------------------------- */

static uint8_t source[64] __attribute__((aligned(64)));

/* Runs a form on ordinary memory: which bytes it writes, and what. */
static void reference_store(const struct form *f, uint8_t *bytes, uint64_t *first, unsigned int *len)
{
	uint8_t *p = f->low ? low_page
			    : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t once[PAGE];

	if (f->low)
		mprotect(p, PAGE, PROT_READ | PROT_WRITE);
	memset(p, 0x00, PAGE);
	f->run(p, source);
	memcpy(once, p, PAGE);
	memset(p, 0xff, PAGE);
	f->run(p, source);
	*first = PAGE;
	*len = 0;
	for (unsigned int i = 0; i < PAGE; i++) {
		if (once[i] != p[i])
			continue; /* shows what was there before: not written */
		if (*first == PAGE)
			*first = i;
		*len = i + 1 - (unsigned int)*first;
	}
	memcpy(bytes, once + *first, *len);
	if (f->low)
		mprotect(p, PAGE, PROT_NONE);
	else
		munmap(p, PAGE);
}

static void check_store(const struct form *f)
{
	uint8_t expected[PAGE];
	struct ring_op op;
	unsigned int len;
	uint64_t first;
	bool ok;

	reference_store(f, expected, &first, &len);
	f->run(f->low ? low_page : page, source);
	ok = take(&op) && op.kind == RING_STORE && op.hca == 3 && op.bar == 2 && op.wc == !f->low &&
	     op.offset == (f->low ? 0x20000 : 0x10000) + first && op.size == len &&
	     !memcmp(op.data, expected, len) && ring_empty(&ring, ring_pos);
	if (!ok)
		fprintf(stderr, "store form %s: offset %#llx size %u, expected %#llx size %u\n", f->name,
			(unsigned long long)op.offset, op.size, (unsigned long long)first, len);
	CU_ASSERT_TRUE(ok);
	while (take(&op))
		;
}

static void test_store_forms(void)
{
	unsigned int n = 0;

	/* Twice: the second time from the cache of decoded instructions. */
	for (unsigned int turn = 0; turn < 2; turn++) {
		for (unsigned int i = 0; i < sizeof(source); i++)
			source[i] = (uint8_t)(i * 59 + 17 + turn * 101);
		for (struct form *f = __start_stores; f < __stop_stores; f++) {
			if (supported(f)) {
				check_store(f);
				n++;
			}
		}
	}
	CU_ASSERT_TRUE(n >= 2 * 90);
}

static void test_rip_relative(void)
{
	struct ring_op op;
	uint64_t v;
	uint32_t w;

	store_rip_relative(0x0123456789abcdefull);
	CU_ASSERT_TRUE_FATAL(take(&op));
	memcpy(&v, op.data, 8);
	CU_ASSERT_TRUE(op.offset == 0x30000 + 72 && op.size == 8 && v == 0x0123456789abcdefull);
	store_rip_relative_imm();
	CU_ASSERT_TRUE_FATAL(take(&op));
	memcpy(&w, op.data, 4);
	CU_ASSERT_TRUE(op.offset == 0x30000 + 80 && op.size == 4 && w == 0x11223344);
}

static void rep(const char *op, void *dst, const void *src, size_t n, uint64_t rax)
{
	if (!strcmp(op, "movsb"))
		asm volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n)::"memory");
	else if (!strcmp(op, "movsq"))
		asm volatile("rep movsq" : "+D"(dst), "+S"(src), "+c"(n)::"memory");
	else if (!strcmp(op, "movsq_down"))
		asm volatile("std; rep movsq; cld" : "+D"(dst), "+S"(src), "+c"(n)::"memory");
	else
		asm volatile("rep stosl" : "+D"(dst), "+c"(n) : "a"(rax) : "memory");
	CU_ASSERT_EQUAL(n, 0);
}

/* Adds the entries up to what memory would hold; counts them. */
static unsigned int replay(uint8_t *image, uint64_t base)
{
	struct ring_op op;
	unsigned int n = 0;

	while (take(&op)) {
		CU_ASSERT_TRUE_FATAL(op.offset >= base && op.offset + op.size <= base + 2 * PAGE);
		memcpy(image + (op.offset - base), op.data, op.size);
		n++;
	}
	return n;
}

static void test_rep(void)
{
	static uint8_t image[2 * PAGE], expected[2 * PAGE], data[512];

	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + 3);
	/* Write-combining: whole lines, as a fast string operation writes them. */
	rep("movsb", page + 10, data, 200, 0);
	memcpy(expected + 10, data, 200);
	CU_ASSERT_EQUAL(replay(image, 0x10000), 4);
	CU_ASSERT_EQUAL(memcmp(image, expected, sizeof(image)), 0);
	rep("movsq", page + PAGE - 64, data, 16, 0); /* across two pages */
	memcpy(expected + PAGE - 64, data, 128);
	CU_ASSERT_EQUAL(replay(image, 0x10000), 2);
	CU_ASSERT_EQUAL(memcmp(image, expected, sizeof(image)), 0);
	rep("movsq_down", page + 1024, data + 64, 4, 0); /* element by element */
	memcpy(expected + 1024 - 24, data + 64 - 24, 32);
	CU_ASSERT_EQUAL(replay(image, 0x10000), 4);
	CU_ASSERT_EQUAL(memcmp(image, expected, sizeof(image)), 0);
	/* Uncached: one store for each element. */
	memset(image, 0, sizeof(image));
	memset(expected, 0, sizeof(expected));
	rep("stosl", low_page + 8, NULL, 10, 0xa1b2c3d4);
	for (unsigned int i = 0; i < 10; i++)
		memcpy(expected + 8 + 4 * i, &(uint32_t){0xa1b2c3d4}, 4);
	CU_ASSERT_EQUAL(replay(image, 0x20000), 10);
	CU_ASSERT_EQUAL(memcmp(image, expected, sizeof(image)), 0);
}

static unsigned int gone_pages;
static uint64_t gone_offset;

static void gone(const struct proto_map *map)
{
	gone_pages++;
	gone_offset = map->bar_offset;
}

static void test_rep_into_bar(void)
{
	/* Starts in ordinary memory, goes on in the BAR: both get their part. */
	uint8_t *both = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static uint8_t image[2 * PAGE], data[64];

	memset(data, 0x77, sizeof(data));
	CU_ASSERT_EQUAL_FATAL(mprotect(both + PAGE, PAGE, PROT_NONE), 0);
	map_page(both + PAGE, 0x40000, true);
	rep("movsb", both + PAGE - 24, data, 64, 0);
	CU_ASSERT_EQUAL(memcmp(both + PAGE - 24, data, 24), 0);
	replay(image, 0x40000);
	CU_ASSERT_EQUAL(memcmp(image, data, 40), 0);
	trap_unmap(both + PAGE, PAGE, gone);
	munmap(both, 2 * PAGE);
}

static void test_masked_store(void)
{
	static uint8_t image[2 * PAGE], expected[2 * PAGE];

	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw"))
		return;
	asm volatile("vmovdqu64 (%1), %%zmm1\n\t"
		     "kmovd %2, %%k5\n\t"
		     "vmovdqu16 %%zmm1, (%0)%{%%k5%}" ::"r"(page),
		     "r"(source), "r"(0x80f00301u)
		     : "memory");
	for (unsigned int i = 0; i < 32; i++)
		if (0x80f00301u >> i & 1)
			memcpy(expected + 2 * i, source + 2 * i, 2);
	CU_ASSERT_EQUAL(replay(image, 0x10000), 4);
	CU_ASSERT_EQUAL(memcmp(image, expected, sizeof(image)), 0);
}

/* ---- Loads ------------------------------------------------------------------------------------------- */

static void check_load(const struct form *f)
{
	uint8_t expected[128] = {0}, got[128] = {0};
	uint8_t *plain =
		f->low ? low_page
		       : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (f->low)
		mprotect(plain, PAGE, PROT_READ | PROT_WRITE);
	memcpy(plain, bar_content, PAGE);
	f->run(expected, plain);
	if (f->low)
		mprotect(plain, PAGE, PROT_NONE);
	else
		munmap(plain, PAGE);
	f->run(got, f->low ? low_page : page);
	if (memcmp(got, expected, sizeof(got)))
		fprintf(stderr, "load form %s gives another result\n", f->name);
	CU_ASSERT_EQUAL(memcmp(got, expected, sizeof(got)), 0);
}

static unsigned int check_loads(const struct form *f, const struct form *stop)
{
	unsigned int n = 0;

	for (; f < stop; f++) {
		if (supported(f)) {
			check_load(f);
			n++;
		}
	}
	return n;
}

static void test_load_forms(void)
{
	start_load_server();
	CU_ASSERT_TRUE(check_loads(__start_loads, __stop_loads) >= 15);
	/* Valgrind takes no vector register over from a handler: refused, below. */
	if (!valgrind_runs())
		CU_ASSERT_TRUE(check_loads(__start_vector_loads, __stop_vector_loads) >= 15);
	stop_load_server();
}

static void test_rep_load(void)
{
	uint8_t got[300];

	start_load_server();
	rep("movsb", got, page + 100, sizeof(got), 0);
	stop_load_server();
	CU_ASSERT_EQUAL(memcmp(got, bar_content + 100, sizeof(got)), 0);
}

static void test_load_without_device(void)
{
	uint64_t v;

	atomic_store(&alive, false);
	v = *(volatile uint64_t *)page;
	*(volatile uint64_t *)page = 1; /* vanishes */
	atomic_store(&alive, true);
	CU_ASSERT_EQUAL(v, UINT64_MAX);
	CU_ASSERT_TRUE(ring_empty(&ring, ring_pos));
}

/* ---- What is not carried out ---------------------------------------------------------------------------- */

/* Runs `body` in a child; its standard error goes to `text`. Returns the wait status. */
static int in_child(void (*body)(void), char *text, size_t size)
{
	struct rlimit none = {0, 0};
	int fds[2], status;
	size_t have = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(fds))
		abort();
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &none);
		dup2(fds[1], STDERR_FILENO);
		close(fds[0]);
		body();
		_exit(0);
	}
	close(fds[1]);
	while (have < size - 1 && (n = read(fds[0], text + have, size - 1 - have)) > 0)
		have += (size_t)n;
	text[have] = '\0';
	close(fds[0]);
	waitpid(pid, &status, 0);
	return status;
}

#define UNSUPPORTED(name, call, mnemonic)                                                                    \
	static void do_##name(void)                                                                          \
	{                                                                                                    \
		call;                                                                                        \
	}                                                                                                    \
	static void test_##name(void)                                                                        \
	{                                                                                                    \
		char text[1024];                                                                             \
		int status = in_child(do_##name, text, sizeof(text));                                        \
		CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);                          \
		CU_ASSERT_PTR_NOT_NULL(strstr(text, mnemonic));                                              \
		CU_ASSERT_PTR_NOT_NULL(strstr(text, "cannot carry out"));                                    \
	}
UNSUPPORTED(locked, locked_add(page), "lock add dword ptr [rdi], 0x01")
UNSUPPORTED(xchg, exchange(page), "xchg [rdi], rax")
UNSUPPORTED(add, add_to(page), "add qword ptr [rdi], 0x01")
UNSUPPORTED(push, push_from(page), "push [rdi]")
UNSUPPORTED(fs, through_fs(page, 1), "mov fs:[rdi], rsi")
static uint8_t *volatile bar_end = bar_page + PAGE;
static void *volatile nowhere = (void *)16;
UNSUPPORTED(half_outside, *(volatile uint64_t *)(bar_end - 4) = 1, "cannot carry out")

/* ---- Signals ------------------------------------------------------------------------------------------------ */

static sigjmp_buf env;
static void *volatile fault_addr;
static volatile int fault_sig;

static void on_fault(int sig, siginfo_t *info, void *uc)
{
	fault_sig = sig;
	fault_addr = info->si_addr;
	siglongjmp(env, 1);
}

static void test_chains_to_application(void)
{
	uint8_t *other = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, old, now;
	struct ring_op op;

	CU_ASSERT_EQUAL(sigaction(SIGSEGV, &act, &old), 0);
	CU_ASSERT_EQUAL(sigaction(SIGSEGV, NULL, &now), 0);
	CU_ASSERT_EQUAL((void *)now.sa_sigaction, (void *)on_fault);
	if (!sigsetjmp(env, 1)) {
		*(volatile int *)(other + 8) = 1;
		CU_FAIL("no fault");
	}
	CU_ASSERT_EQUAL(fault_sig, SIGSEGV);
	CU_ASSERT_EQUAL(fault_addr, other + 8);
	/* Ours are still ours. */
	*(volatile uint32_t *)(page + 4) = 0xfeedbeef;
	CU_ASSERT_TRUE(take(&op) && op.size == 4);
	sigaction(SIGSEGV, &old, NULL);
	munmap(other, PAGE);
}

static void do_wild_store(void)
{
	*(volatile int *)nowhere = 1;
}

static void test_default_action(void)
{
	char text[256];
	int status = in_child(do_wild_store, text, sizeof(text));

	CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CU_ASSERT_STRING_EQUAL(text, "");
}

static void do_signal_function(void)
{
	if (signal(SIGSEGV, SIG_IGN) == SIG_ERR || signal(SIGSEGV, SIG_DFL) != SIG_IGN)
		_exit(3);
	raise(SIGSEGV);
}

static void test_signal_function(void)
{
	char text[256];
	int status = in_child(do_signal_function, text, sizeof(text));

	CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void test_blocked_signals(void)
{
	sigset_t all, old;
	struct ring_op op;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	*(volatile uint64_t *)page = 5;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	CU_ASSERT_TRUE(take(&op) && op.data[0] == 5);
	sigprocmask(SIG_BLOCK, &all, &old);
	*(volatile uint64_t *)page = 6;
	sigprocmask(SIG_SETMASK, &old, NULL);
	CU_ASSERT_TRUE(take(&op) && op.data[0] == 6);
}

static void test_errno_is_kept(void)
{
	struct ring_op op;

	errno = 4242;
	*(volatile uint64_t *)page = 5;
	CU_ASSERT_EQUAL(errno, 4242);
	CU_ASSERT_TRUE(take(&op));
}

/* ---- Many ----------------------------------------------------------------------------------------------------- */

#define THREADS 4
#define STORES  20000

static void *store_many(void *arg)
{
	uint64_t me = (uintptr_t)arg;

	for (uint64_t i = 0; i < STORES; i++)
		*(volatile uint64_t *)(page + 8 * me) = i;
	return NULL;
}

/* More than fits: threads wait for room, none is lost, each thread's order is kept. */
static void test_threads_and_full_ring(void)
{
	pthread_t threads[THREADS];
	uint64_t next[THREADS] = {0}, total = 0, v;
	bool in_order = true;
	struct ring_op op;

	for (uintptr_t t = 0; t < THREADS; t++)
		pthread_create(&threads[t], NULL, store_many, (void *)t);
	while (total < (uint64_t)THREADS * STORES) {
		unsigned int t;

		if (!take(&op)) {
			sched_yield();
			continue;
		}
		t = (unsigned int)(op.offset - 0x10000) / 8;
		memcpy(&v, op.data, 8);
		in_order &= t < THREADS && v == next[t < THREADS ? t : 0]++;
		total++;
	}
	for (unsigned int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	CU_ASSERT_TRUE(in_order);
	CU_ASSERT_TRUE(ring_empty(&ring, ring_pos));
}

static void *die_device(void *arg)
{
	while (!atomic_load(&ring.waiters))
		sched_yield();
	atomic_store(&alive, false);
	return NULL;
}

/* The device dies while a store waits for room: the store ends. */
static void test_full_ring_without_device(void)
{
	struct ring_op op;
	pthread_t thread;

	pthread_create(&thread, NULL, die_device, NULL);
	for (unsigned int i = 0; i < RING_ENTRIES + 10; i++)
		*(volatile uint64_t *)page = i;
	pthread_join(thread, NULL);
	atomic_store(&alive, true);
	while (take(&op))
		;
	CU_ASSERT_EQUAL(atomic_load(&ring.waiters), 0);
}

static void test_unmap(void)
{
	for (unsigned int i = 0; i < 20000; i++) { /* more often than the table has slots */
		uint8_t *p = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		map_page(p, 0x50000, false);
		gone_pages = 0;
		trap_unmap(p, PAGE, gone);
		if (gone_pages != 1 || gone_offset != 0x50000) {
			CU_FAIL("page not given back");
			return;
		}
		munmap(p, PAGE);
	}
	CU_PASS("");
}

int main(void)
{
	static CU_TestInfo tests[] = {
		{"store forms", test_store_forms},
		{"RIP-relative stores", test_rip_relative},
		{"rep movs, rep stos", test_rep},
		{"rep movs into the BAR", test_rep_into_bar},
		{"masked store", test_masked_store},
		{"MOVDIRI, MOVDIR64B", test_direct_stores},
		{"load forms", test_load_forms},
		{"rep movs from the BAR", test_rep_load},
		{"accesses without a device", test_load_without_device},
		{"locked add is refused", test_locked},
		{"xchg is refused", test_xchg},
		{"add is refused", test_add},
		{"push is refused", test_push},
		{"FS segment is refused", test_fs},
		{"store half outside is refused", test_half_outside},
		{"chains to the application's handler", test_chains_to_application},
		{"default action", test_default_action},
		{"signal()", test_signal_function},
		{"stores with all signals blocked", test_blocked_signals},
		{"errno is kept", test_errno_is_kept},
		{"threads, full ring", test_threads_and_full_ring},
		{"full ring, device dies", test_full_ring_without_device},
		{"unmap", test_unmap},
		{"a copy is one fault", test_copy},
		{"a copy whose source faults", test_copy_from_bad_memory},
		{"a copy out of a BAR", test_copy_out_of_bar},
		{"backtraces", test_stack},
		{"table of backtraces", test_stack_table},
		{"thread numbers", test_thread_numbers},
		{"thread numbers run out", test_thread_numbers_run_out},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {{"trap", setup, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
	unsigned int failed;

	if (CU_initialize_registry() || CU_register_suites(suites))
		return EXIT_FAILURE;
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures() + CU_get_number_of_suites_failed();
	CU_cleanup_registry();
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
