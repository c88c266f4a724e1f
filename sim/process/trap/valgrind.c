// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Valgrind runs a translation of the program. A signal frame has the general registers as they were last
 * written back, which may differ from their values at a store. --px-default=allregs-at-mem-access makes
 * valgrind write all of them back before each access; `hcasim run` sets that in VALGRIND_OPTS. Valgrind's
 * frames have no vector registers, and it ignores changes that a handler makes to them
 * (coregrind/m_sigframe/sigframe-amd64-linux.c). But a handler starts with the interrupted code's vector
 * registers, where Linux clears them.
 */
#include <cpuid.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/trap/insn.h"
#include "process/preload/preload.h"
#include "process/trap/signals.h"
#include "process/trap/valgrind.h"

/* ---- Client requests: valgrind.h and memcheck.h of valgrind 3.19, whose numbers and code sequence never change ---- */

#define RUNNING_ON_VALGRIND 0x1001
#define MAKE_MEM_DEFINED    (('M' << 24 | 'C' << 16) + 2)

/* Returns 0 without valgrind: there the rotations and the exchange have no effect. */
static uint64_t client_request(uint64_t number, uint64_t first, uint64_t second)
{
	uint64_t result = 0, request[6] = {number, first, second};

	asm volatile("rolq $3, %%rdi\n\t"
		     "rolq $13, %%rdi\n\t"
		     "rolq $61, %%rdi\n\t"
		     "rolq $51, %%rdi\n\t"
		     "xchgq %%rbx, %%rbx"
		     : "+d"(result)
		     : "a"(request)
		     : "cc", "memory");
	return result;
}

bool valgrind_runs(void)
{
	return client_request(RUNNING_ON_VALGRIND, 0, 0);
}

void valgrind_mapped(void *addr, size_t len)
{
	client_request(MAKE_MEM_DEFINED, (uintptr_t)addr, len);
}

/* ---- Vector registers ---------------------------------------------------------------------------- */

#define XFEATURES 7u /* x87, SSE, AVX: valgrind supports no others */

struct xsave_area { /* in the format that vecreg.c reads: Intel SDM volume 1, 13.4, standard format */
	uint8_t legacy[464];
	uint32_t magic1;
	uint32_t extended_size;
	uint64_t xfeatures;
	uint32_t xstate_size;
	uint32_t reserved[7];
	volatile uint64_t header[8];
	uint8_t avx[256];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct xsave_area) == 832, "the extended region starts at byte 576");

static bool have_xsave;

/* Must not use a vector register before they are saved. */
__attribute__((target("general-regs-only"))) static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	struct _libc_fpstate *theirs = uc->uc_mcontext.fpregs;
	struct xsave_area area;
	bool ours;

	asm volatile("cld"); /* Linux clears it for a handler */
	for (unsigned int i = 0; i < 8; i++)
		area.header[i] = 0;
	if (have_xsave)
		asm volatile("xsave64 %0" : "+m"(area) : "a"(XFEATURES), "d"(0));
	else
		asm volatile("fxsave64 %0" : "+m"(area));
	area.magic1 = have_xsave ? FP_XSTATE_MAGIC1 : 0;
	area.xfeatures = XFEATURES;
	area.xstate_size = sizeof(area);
	uc->uc_mcontext.fpregs = (struct _libc_fpstate *)&area;
	ours = trap_handle(info, uc);
	uc->uc_mcontext.fpregs = theirs;
	if (!ours)
		signals_chain(sig, info, context);
}

/*
 * Valgrind 3.19 ends a program whose signal frame would lie on the first page below its main stack ("Can't extend stack
 * during signal delivery"), but extends the stack for an access. So make one, far below.
 */
__attribute__((noinline)) static void extend_stack(void)
{
	uint8_t below[256 * 1024];

	*(volatile uint8_t *)below = 0;
}

valgrind_handler *valgrind_handler_of(valgrind_handler *plain)
{
	unsigned int a, b, c, d;

	if (!valgrind_runs())
		return plain;
	extend_stack();
	have_xsave = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE);
	return handler;
}

/* The target of a direct call or jump at `code`, or NULL. */
static const uint8_t *target(const uint8_t *code)
{
	int32_t far;

	if (code[0] == 0xeb)
		return code + 2 + (int8_t)code[1];
	if (code[0] != 0xe8 && code[0] != 0xe9)
		return NULL;
	memcpy(&far, code + 1, sizeof(far));
	return code + 5 + far;
}

/*
 * Valgrind continues a translation at the target of a direct call or jump, and the first instruction there
 * still has the call's RIP. It decrements RCX for REP before it moves the element
 * (VEX/priv/guest_amd64_toIR.c: dis_REP_op); processors do so afterwards.
 */
void valgrind_amend(ucontext_t *uc, const struct insn *insn)
{
	greg_t *r = uc->uc_mcontext.gregs;
	const uint8_t *next;

	if (!valgrind_runs())
		return;
	if (insn) {
		r[REG_RCX] += insn->rep;
		return;
	}
	while ((next = target((const uint8_t *)(uintptr_t)r[REG_RIP])))
		r[REG_RIP] = (greg_t)(uintptr_t)next;
}

/* ---- Are the registers up to date? --------------------------------------------------------------- */

/*
 * probe_registers(page): a store to an inaccessible page with RBX = 0x51, R12 = 0x52, RCX = 0x53, R9 = 0x54
 * and XMM7 = 0x55. All of them change right after it, so a translation writes them back only if it has to.
 */
void probe_registers(void *page) __attribute__((visibility("hidden")));
extern const char probe_end[] __attribute__((visibility("hidden")));
asm(".pushsection .text\n"
    ".globl probe_registers, probe_end\n"
    ".hidden probe_registers, probe_end\n"
    ".type probe_registers, @function\n"
    "probe_registers:\n\t"
    ".cfi_startproc\n\t"
    "movq %rbx, %r10\n\t"
    "movq %r12, %r11\n\t"
    "movl $0x55, %ecx\n\t"
    "movq %rcx, %xmm7\n\t"
    "movl $0x51, %ebx\n\t"
    "movl $0x52, %r12d\n\t"
    "movl $0x53, %ecx\n\t"
    "movl $0x54, %r9d\n\t"
    "movq %rcx, (%rdi)\n"
    "probe_end:\n\t"
    "movq %r10, %rbx\n\t"
    "movq %r11, %r12\n\t"
    "xorl %ecx, %ecx\n\t"
    "xorl %r9d, %r9d\n\t"
    "pxor %xmm7, %xmm7\n\t"
    "ret\n\t"
    ".cfi_endproc\n"
    ".size probe_registers, . - probe_registers\n"
    ".popsection\n");

static struct {
	void *page;
	bool seen, good;
} probe;

bool valgrind_probed(const siginfo_t *info, ucontext_t *uc)
{
	greg_t *r = uc->uc_mcontext.gregs;
	uint64_t vector = 0;

	if (!probe.page || info->si_addr != probe.page)
		return false;
	probe.seen = true;
	probe.good = r[REG_RBX] == 0x51 && r[REG_R12] == 0x52 && r[REG_RCX] == 0x53 && r[REG_R9] == 0x54 &&
		     vecreg_read(uc, 7, 0, &vector, sizeof(vector)) && vector == 0x55;
	r[REG_RIP] = (greg_t)(uintptr_t)probe_end;
	return true;
}

static void say_option(void)
{
	char line[400];
	int n = snprintf(
		line, sizeof(line),
		"hcasim: pid %d: valgrind does not keep registers up to date where a program stores to an "
		"adapter, so the adapter cannot be opened: give valgrind "
		"--px-default=allregs-at-mem-access (hcasim run puts it into VALGRIND_OPTS; an option of the "
		"command line or --px-file-backed was stronger)\n",
		(int)getpid());

	if (raw_syscall(SYS_write, STDERR_FILENO, line, n) < 0)
		return;
}

int valgrind_check(void)
{
	if (!valgrind_runs())
		return 0;
	if (!probe.seen) {
		void *page = (void *)raw_syscall(SYS_mmap, NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
						 -1, 0);

		if (page == MAP_FAILED)
			return -ENOMEM;
		valgrind_mapped(page, 4096);
		probe.page = page;
		probe_registers(page);
		probe.page = NULL;
		raw_syscall(SYS_munmap, page, 4096);
	}
	if (probe.good)
		return 0;
	say_option();
	return -ENOTSUP;
}
