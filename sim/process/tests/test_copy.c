// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Copies to the BAR: the loads and stores behind the one that faulted are carried out with it; 64 bytes at once. */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <CUnit/CUnit.h>

#include "process/trap/insn.h"
#include "trap_env.h"

/* Loads and stores in turn, of both sizes, as copies are compiled. */
#define COPY                                                                                                 \
	"movq (%1), %%rax\n\t"                                                                               \
	"movq %%rax, (%0)\n\t"                                                                               \
	"movq 8(%1), %%rcx\n\t"                                                                              \
	"movq %%rcx, 8(%0)\n\t"                                                                              \
	"movl 16(%1), %%eax\n\t"                                                                             \
	"movl 20(%1), %%ecx\n\t"                                                                             \
	"movl %%eax, 16(%0)\n\t"                                                                             \
	"movl %%ecx, 20(%0)\n\t"

static __attribute__((noinline)) void copy(void *dst, const void *src)
{
	asm volatile(COPY ::"r"(dst), "r"(src) : "rax", "rcx", "memory");
}

static void check_entries(const uint8_t *src, unsigned int n)
{
	static const unsigned int offset[] = {0, 8, 16, 20}, size[] = {8, 8, 4, 4};
	struct ring_op op;

	for (unsigned int i = 0; i < n; i++) {
		CU_ASSERT_TRUE_FATAL(take(&op));
		CU_ASSERT_EQUAL(op.offset, 0x10000 + offset[i]);
		CU_ASSERT_EQUAL(op.size, size[i]);
		CU_ASSERT_EQUAL(memcmp(op.data, src + offset[i], size[i]), 0);
	}
	CU_ASSERT_TRUE(ring_empty(&ring, ring_pos));
}

void test_copy(void)
{
	uint8_t src[24];

	for (unsigned int turn = 0; turn < 3; turn++) { /* decoded, then from the cache */
		for (unsigned int i = 0; i < sizeof(src); i++)
			src[i] = (uint8_t)(i * 11 + turn * 71 + 5);
		entries_at_kick = 0;
		atomic_store(&ring.sleeping, 1);
		copy(page, src);
		/* The consumer is woken once, and all is there: one fault. */
		CU_ASSERT_EQUAL(entries_at_kick, 4);
		CU_ASSERT_EQUAL(atomic_load(&ring.sleeping), 0);
		check_entries(src, 4);
	}
}

static sigjmp_buf env;
static uint8_t *volatile fault_addr;
static volatile uint64_t fault_rip;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;

	fault_addr = info->si_addr;
	fault_rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	siglongjmp(env, 1);
}

/* The application's handler sees its own instruction fault, with what came before it done and no more. */
void test_copy_from_bad_memory(void)
{
	uint8_t *mem = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, old;
	uint64_t end = (uintptr_t)copy + 128;

	mprotect(mem + PAGE, PAGE, PROT_NONE);
	memset(mem, 0x5c, PAGE);
	sigaction(SIGSEGV, &act, &old);
	for (volatile unsigned int readable = 8; readable <= 16; readable += 8) {
		if (!sigsetjmp(env, 1)) {
			copy(page, mem + PAGE - readable);
			CU_FAIL("no fault");
		}
		CU_ASSERT_PTR_EQUAL(fault_addr, mem + PAGE);
		CU_ASSERT_TRUE(fault_rip >= (uintptr_t)copy && fault_rip < end);
		check_entries(mem, readable / 8);
	}
	sigaction(SIGSEGV, &old, NULL);
	munmap(mem, 2 * PAGE);
}

void test_copy_out_of_bar(void)
{
	uint8_t got[32] = {0};
	struct ring_op op;

	start_load_server(); /* takes the stores out of the ring, too, and would abort at one */
	copy(got, page + 8);
	stop_load_server();
	CU_ASSERT_EQUAL(memcmp(got, bar_content + 8, 24), 0);
	CU_ASSERT_FALSE(take(&op));
}

/* ---- MOVDIRI, MOVDIR64B --------------------------------------------------------------------------- */

/* This processor may not have MOVDIRI and MOVDIR64B: decoded and carried out on made-up registers. */
static const uint8_t moved[64] = "what MOVDIR64B moves";
static uint8_t seen[64];
static uint64_t seen_addr;
static size_t seen_len;

static size_t span_all(void *arg, uint64_t addr, size_t len)
{
	return addr >= (uintptr_t)page && addr + len <= (uintptr_t)page + PAGE ? len : 0;
}

static void see_store(void *arg, uint64_t addr, const void *data, size_t len)
{
	memcpy(seen, data, len);
	seen_addr = addr;
	seen_len = len;
}

void test_direct_stores(void)
{
	static const uint8_t movdiri[] = {0x48, 0x0f, 0x38, 0xf9, 0x4f, 0x08}; /* movdiri %rcx, 8(%rdi) */
	static const uint8_t movdir64b[] = {0x66, 0x0f, 0x38, 0xf8, 0x3e};     /* movdir64b (%rsi), %rdi */
	const struct insn_bar bar = {.span = span_all, .store = see_store};
	ucontext_t uc = {0};
	struct insn insn;

	uc.uc_mcontext.gregs[REG_RDI] = (greg_t)(uintptr_t)page;
	uc.uc_mcontext.gregs[REG_RSI] = (greg_t)(uintptr_t)moved;
	uc.uc_mcontext.gregs[REG_RCX] = 0x1122334455667788;
	CU_ASSERT_TRUE_FATAL(insn_decode(movdiri, sizeof(movdiri), &insn));
	CU_ASSERT_TRUE(insn_emulate(&insn, &uc, &bar));
	CU_ASSERT_TRUE(seen_addr == (uintptr_t)page + 8 && seen_len == 8 && seen[0] == 0x88 &&
		       seen[7] == 0x11);
	CU_ASSERT_EQUAL(uc.uc_mcontext.gregs[REG_RIP], sizeof(movdiri));
	CU_ASSERT_TRUE_FATAL(insn_decode(movdir64b, sizeof(movdir64b), &insn));
	CU_ASSERT_TRUE(insn_emulate(&insn, &uc, &bar));
	CU_ASSERT_TRUE(seen_addr == (uintptr_t)page && seen_len == 64 && !memcmp(seen, moved, 64));
	uc.uc_mcontext.gregs[REG_RDI] += 8; /* not aligned: the processor refuses it, too */
	CU_ASSERT_FALSE(insn_emulate(&insn, &uc, &bar));
}
