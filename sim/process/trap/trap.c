// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * BAR pages are inaccessible, so an access faults. The handler executes the instruction and puts a message
 * into the MMIO ring: a store is posted, a load waits for its completion. Every function here that the
 * handler reaches uses only system calls, atomics and thread-local memory.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sched.h>
#include <unistd.h>

#include "process/trap/insn.h"
#include "process/preload/preload.h"
#include "process/trap/producer.h"
#include "process/trap/stack.h"
#include "process/trap/valgrind.h"
#include "process/trap/signals.h"
#include "process/trap/thread.h"

#define PAGE      4096ull
#define MAX_PAGES 32768u /* BAR pages mapped at once by one process */
#define NUM_SLOTS (2 * MAX_PAGES)
#define PAGE_GONE 1u /* key of a slot whose page was removed: a search continues after it */

struct page { /* `info` is valid while `addr` is a page's address */
	_Atomic uint64_t addr;
	_Atomic uint64_t offset;
	_Atomic uint32_t where; /* hca | bar << 8 | wc << 16 */
};
static struct page pages[NUM_SLOTS];
static _Atomic unsigned int page_lock; /* for writers; never taken by the handler */

static struct page *slot_of(uint64_t addr, unsigned int i)
{
	uint64_t hash = (addr / PAGE) * 0x9e3779b97f4a7c15ull >> 40;

	return &pages[(hash + i) % NUM_SLOTS];
}

static struct page *find_page(uint64_t addr)
{
	addr &= ~(PAGE - 1);
	for (unsigned int i = 0; i < NUM_SLOTS; i++) {
		struct page *p = slot_of(addr, i);
		uint64_t key = atomic_load_explicit(&p->addr, memory_order_acquire);

		if (key == addr)
			return p;
		if (!key)
			return NULL;
	}
	return NULL;
}

static _Atomic unsigned int num_pages;

static bool add_page(uint64_t addr, const struct proto_map *map, uint64_t offset)
{
	for (unsigned int i = 0; atomic_load(&num_pages) < MAX_PAGES; i++) {
		struct page *p = slot_of(addr, i);

		if (atomic_load(&p->addr) > PAGE_GONE)
			continue;
		atomic_store(&p->offset, offset);
		atomic_store(&p->where, map->hca | map->bar << 8 | (uint32_t) !!map->wc << 16);
		atomic_store_explicit(&p->addr, addr, memory_order_release);
		atomic_fetch_add(&num_pages, 1);
		return true;
	}
	return false;
}

/*
 * Every PAGE_GONE mark makes searches longer. If the next slot is empty, a search may as well end at the
 * first of the marks before it, so those slots become empty again.
 */
static void free_slot(struct page *p)
{
	size_t i = (size_t)(p - pages);

	atomic_store(&p->addr, PAGE_GONE);
	atomic_fetch_sub(&num_pages, 1);
	if (atomic_load(&pages[(i + 1) % NUM_SLOTS].addr))
		return;
	for (; atomic_load(&pages[i].addr) == PAGE_GONE; i = (i ? i : NUM_SLOTS) - 1)
		atomic_store(&pages[i].addr, 0);
}

static void lock_pages(sigset_t *saved)
{
	sigset_t all;

	sigfillset(&all);
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, saved, 8);
	while (atomic_exchange_explicit(&page_lock, 1, memory_order_acquire))
		sched_yield();
}

static void unlock_pages(const sigset_t *saved)
{
	atomic_store_explicit(&page_lock, 0, memory_order_release);
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, saved, NULL, 8);
}

int trap_map(void *addr, size_t len, const struct proto_map *map)
{
	uint64_t start = (uintptr_t)addr;
	bool ok = true;
	sigset_t saved;
	uint64_t at;
	int ret;

	if (signals_install())
		return -ENOMEM;
	ret = valgrind_check();
	if (ret)
		return ret;
	valgrind_mapped(addr, len);
	lock_pages(&saved);
	for (at = 0; at < len && ok; at += ok ? PAGE : 0)
		ok = add_page(start + at, map, map->bar_offset + at);
	for (; !ok && at; at -= PAGE)
		free_slot(find_page(start + at - PAGE));
	unlock_pages(&saved);
	return ok ? 0 : -ENOMEM;
}

static bool remove_page(uint64_t addr, struct proto_map *gone)
{
	struct page *p = find_page(addr);
	uint32_t where;

	if (!p)
		return false;
	where = atomic_load(&p->where);
	*gone = (struct proto_map){.is_bar = 1,
				   .hca = where & 0xff,
				   .bar = where >> 8 & 0xff,
				   .bar_offset = atomic_load(&p->offset),
				   .length = PAGE};
	free_slot(p);
	return true;
}

void trap_unmap(void *addr, size_t len, void (*gone)(const struct proto_map *page))
{
	struct proto_map page;
	sigset_t saved;
	bool found;

	for (uint64_t at = 0; at < len && atomic_load(&num_pages); at += PAGE) {
		if (!find_page((uintptr_t)addr + at))
			continue;
		lock_pages(&saved);
		found = remove_page((uintptr_t)addr + at, &page);
		unlock_pages(&saved);
		if (found)
			gone(&page);
	}
}

/* ---- Accesses ------------------------------------------------------------------------------------ */

static void fill(struct ring_op *op, const struct page *p, uint64_t addr, size_t len)
{
	uint32_t where = atomic_load(&p->where);

	op->offset = atomic_load(&p->offset) + addr % PAGE;
	op->hca = where & 0xff;
	op->bar = where >> 8 & 0xff;
	op->wc = where >> 16 & 1;
	op->size = (uint8_t)len;
	op->tid = producer_tid();
}

struct access { /* of the fault that is handled */
	struct insn insn;
	uint64_t rip;
	uint16_t stack;
	bool unwound; /* `stack` is known */
};

/* The stores of a fault have one backtrace. Under valgrind, whose signal frames are no kernel's, they have none. */
static uint16_t stack_at(struct access *a, struct ring *ring)
{
	if (!a->unwound && client_stacks() && !valgrind_runs())
		a->stack = stack_of(ring, a->rip);
	a->unwound = true;
	return a->stack;
}

static void bar_store(void *arg, uint64_t addr, const void *data, size_t len)
{
	struct access *a = arg;
	const struct insn *insn = &a->insn;
	struct ring_op op = {.kind = RING_STORE, .more = insn->more};
	struct page *p = find_page(addr);
	struct ring *ring = client_ring();

	if (!p || !ring)
		return; /* the device is gone: posted writes are lost */
	fill(&op, p, addr, len);
	op.thread = thread_number(ring);
	op.stack = stack_at(a, ring);
	memcpy(op.data, data, len);
	producer_put(ring, &op);
}

static void bar_load(void *arg, uint64_t addr, void *data, size_t len)
{
	struct ring_op op = {.kind = RING_LOAD};
	struct page *p = find_page(addr);
	struct ring *ring = client_ring();
	struct ring_reply *reply;
	unsigned int index;

	memset(data, 0xff, len); /* a read without a completion returns all ones */
	reply = p && ring ? producer_take_reply(ring, &index) : NULL;
	if (!reply)
		return;
	fill(&op, p, addr, len);
	op.reply = (uint16_t)index;
	op.thread = thread_number(ring);
	if (!producer_put(ring, &op))
		return;
	producer_kick(ring);
	if (!producer_await(reply))
		return;
	memcpy(data, reply->data, len);
	producer_free_reply(reply);
}

/* All stores of a burst are in the ring. On the virtual clock, the thread goes on when they have taken their time. */
static void end_access(void)
{
	struct ring *ring = client_ring();

	if (ring && !producer_ask(RING_WAIT, 0))
		producer_kick(ring);
}

static size_t bar_span(void *arg, uint64_t addr, size_t len)
{
	struct page *first = find_page(addr), *p;
	size_t done;

	if (!first || addr + len < addr)
		return 0;
	for (done = PAGE - addr % PAGE; done < len; done += PAGE) {
		p = find_page(addr + done);
		if (!p || atomic_load(&p->where) != atomic_load(&first->where) ||
		    atomic_load(&p->offset) !=
			    atomic_load(&first->offset) + ((addr % PAGE + done) & ~(PAGE - 1)))
			return done;
	}
	return len;
}

static bool bar_combines(void *arg, uint64_t addr)
{
	struct page *p = find_page(addr);

	return p && (atomic_load(&p->where) >> 16 & 1);
}

/*
 * peek_memory(addr, data, len) does the application's load. If it faults, recover() makes this return false,
 * and the application's own instruction faults.
 */
bool peek_memory(uint64_t addr, void *data, size_t len) __attribute__((visibility("hidden")));
extern const char peek_memory_4[] __attribute__((visibility("hidden")));
extern const char peek_memory_8[] __attribute__((visibility("hidden")));
extern const char peek_memory_out[] __attribute__((visibility("hidden")));
asm(".pushsection .text\n"
    ".globl peek_memory, peek_memory_4, peek_memory_8, peek_memory_out\n"
    ".hidden peek_memory, peek_memory_4, peek_memory_8, peek_memory_out\n"
    ".type peek_memory, @function\n"
    "peek_memory:\n\t"
    ".cfi_startproc\n\t"
    "xorl %eax, %eax\n\t"
    "cmpq $8, %rdx\n\t"
    "je peek_memory_8\n\t"
    "cmpq $4, %rdx\n\t"
    "jne peek_memory_out\n"
    "peek_memory_4:\n\t"
    "movl (%rdi), %ecx\n\t"
    "movl %ecx, (%rsi)\n\t"
    "movl $1, %eax\n\t"
    "ret\n"
    "peek_memory_8:\n\t"
    "movq (%rdi), %rcx\n\t"
    "movq %rcx, (%rsi)\n\t"
    "movl $1, %eax\n"
    "peek_memory_out:\n\t"
    "ret\n\t"
    ".cfi_endproc\n"
    ".size peek_memory, . - peek_memory\n"
    ".popsection\n");

static bool recover(ucontext_t *uc)
{
	uint64_t rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];

	if (rip != (uintptr_t)peek_memory_4 && rip != (uintptr_t)peek_memory_8)
		return false;
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)peek_memory_out;
	return true;
}

static const struct insn_bar bar_ops = {
	.span = bar_span,
	.combines = bar_combines,
	.store = bar_store,
	.load = bar_load,
	.peek = peek_memory,
};

/* ---- Decoding, cached ---------------------------------------------------------------------------- */

#define CACHE_SLOTS 512u

/*
 * A slot is a sequence lock: odd while being written. Its words are atomics, so that readers may read a slot
 * that changes; they notice the change and decode the instruction themselves.
 */
#define CACHE_WORDS ((sizeof(struct cached) + 7) / 8)
struct cached {
	uint64_t rip;
	uint8_t code[16];
	struct insn insn;
};
static struct {
	_Atomic uint32_t seq;
	_Atomic uint64_t word[CACHE_WORDS];
} cache[CACHE_SLOTS];

static bool cache_get(uint64_t rip, const uint8_t *code, struct insn *insn)
{
	unsigned int slot = (rip ^ rip >> 9) % CACHE_SLOTS;
	uint32_t seq = atomic_load_explicit(&cache[slot].seq, memory_order_acquire);
	union {
		struct cached c;
		uint64_t word[CACHE_WORDS];
	} copy;

	if (seq & 1)
		return false;
	for (unsigned int i = 0; i < CACHE_WORDS; i++)
		copy.word[i] = atomic_load_explicit(&cache[slot].word[i], memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&cache[slot].seq, memory_order_relaxed) != seq || copy.c.rip != rip)
		return false;
	/* The code may have been replaced since then (a JIT, dlclose() and dlopen()). */
	if (memcmp(copy.c.code, code, copy.c.insn.len))
		return false;
	*insn = copy.c.insn;
	return true;
}

static void cache_put(uint64_t rip, const uint8_t *code, const struct insn *insn)
{
	unsigned int slot = (rip ^ rip >> 9) % CACHE_SLOTS;
	uint32_t seq = atomic_load_explicit(&cache[slot].seq, memory_order_relaxed);
	union {
		struct cached c;
		uint64_t word[CACHE_WORDS];
	} copy = {.c = {.rip = rip, .insn = *insn}};

	if ((seq & 1) || !atomic_compare_exchange_strong(&cache[slot].seq, &seq, seq + 1))
		return;
	memcpy(copy.c.code, code, insn->len);
	for (unsigned int i = 0; i < CACHE_WORDS; i++)
		atomic_store_explicit(&cache[slot].word[i], copy.word[i], memory_order_relaxed);
	atomic_store_explicit(&cache[slot].seq, seq + 2, memory_order_release);
}

#define CODE_WINDOW 64u /* bytes of code that are decoded at most */

/* Number of bytes of code that can be read at `rip`: an instruction may be the last one in its page. */
static size_t code_room(uint64_t rip)
{
	size_t here = PAGE - rip % PAGE;
	unsigned char resident;

	if (here >= CODE_WINDOW || !raw_syscall(SYS_mincore, rip + here, PAGE, &resident))
		return CODE_WINDOW;
	return here;
}

/* ---- The fault ------------------------------------------------------------------------------------- */

static void say(const char *text, int n)
{
	if (n > 0 && raw_syscall(SYS_write, STDERR_FILENO, text, n) < 0)
		return;
}

/*
 * snprintf() is not guaranteed to be safe in a signal handler. The process ends here, and these conversions
 * neither allocate memory nor take locks in glibc.
 */
static void complain(const uint8_t *code, size_t room, const struct insn *insn, uint64_t rip, uint64_t addr)
{
	char text[160], bytes[3 * INSN_MAX_LEN + 1] = "", line[512];
	unsigned int len = insn->len ? insn->len : room < INSN_MAX_LEN ? (unsigned int)room : INSN_MAX_LEN;

	insn_format(code, room, rip, text, sizeof(text));
	for (unsigned int i = 0; i < len && i < INSN_MAX_LEN; i++)
		snprintf(bytes + 3 * i, 4, " %02x", code[i]);
	say(line,
	    snprintf(line, sizeof(line),
		     "hcasim: pid %d: cannot carry out \"%s\" (bytes%s) at %#llx on BAR address %#llx: "
		     "only plain loads and stores of 1 to 64 bytes inside one mapping reach a device%s\n",
		     (int)getpid(), text, bytes, (unsigned long long)rip, (unsigned long long)addr,
		     valgrind_runs() ? ", and under valgrind no loads to vector registers" : ""));
}

/*
 * Gets the instruction at `rip` from the cache or decodes it. If it is decoded, `room` is set to the bytes of
 * code read.
 */
static bool decode(uint64_t rip, struct insn *insn, size_t *room)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)rip;

	if (cache_get(rip, code, insn))
		return true;
	*room = code_room(rip);
	if (!insn_decode(code, *room, insn) || insn->len > *room)
		return false;
	insn->more = insn_more(code, *room, insn);
	insn->run = (insn->more || insn->kind == INSN_LOAD_GPR) && insn_run(code, *room, insn);
	cache_put(rip, code, insn);
	return true;
}

#define RUN_MAX 64u /* instructions */

/*
 * A copy to the device, which alternates loads and stores, costs one fault instead of one for each store: the
 * instructions after the store that faulted are executed here too, in program order, up to the first that is
 * neither a load nor a store. Only code of the same page: the next page may not be mapped.
 */
static void carry_on(ucontext_t *uc, struct insn *insn, const struct insn_bar *bar, uint64_t first)
{
	size_t room;

	for (unsigned int i = 0; insn->run && i < RUN_MAX; i++) {
		uint64_t rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];

		if (rip / PAGE != first / PAGE || rip % PAGE > PAGE - INSN_MAX_LEN)
			return;
		if (!decode(rip, insn, &room))
			return;
		if (!insn_pass(insn, uc, bar) && !insn_emulate(insn, uc, bar))
			return;
	}
}

static bool carry_out(ucontext_t *uc, uint64_t addr)
{
	struct insn_bar bar = bar_ops;
	struct access a = {.unwound = false};
	size_t room = 0;
	uint64_t rip;
	bool decoded;

	valgrind_amend(uc, NULL);
	rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	decoded = decode(rip, &a.insn, &room);
	valgrind_amend(uc, &a.insn);
	bar.arg = &a;
	a.rip = rip;
	/* Valgrind ignores vector registers that a handler changes. */
	if (!decoded || (a.insn.kind == INSN_LOAD_VEC && valgrind_runs()) ||
	    !insn_emulate(&a.insn, uc, &bar)) {
		complain((const uint8_t *)(uintptr_t)rip, decoded ? a.insn.len : room, &a.insn, rip, addr);
		return false;
	}
	carry_on(uc, &a.insn, &bar, rip);
	end_access();
	return true;
}

bool trap_handle(siginfo_t *info, ucontext_t *uc)
{
	uint64_t rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP], addr = (uintptr_t)info->si_addr;
	int saved = errno;

	if (recover(uc) || valgrind_probed(info, uc))
		return true;
	if (info->si_code != SEGV_ACCERR || !find_page(addr) || find_page(rip))
		return false;
	if (carry_out(uc, addr))
		errno = saved;
	else /* The instruction is executed again and ends the process, as any invalid access does. */
		signals_default();
	return true;
}
