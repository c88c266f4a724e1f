// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Executes a decoded instruction on the registers of a signal frame. */
#include <string.h>

#include "process/trap/insn.h"

#define EFL_DF (1u << 10)

static uint64_t greg(const ucontext_t *uc, int i)
{
	return i == INSN_NO_REG ? 0 : (uint64_t)uc->uc_mcontext.gregs[i];
}

static uint64_t effective(const struct insn *insn, const ucontext_t *uc)
{
	uint64_t addr = greg(uc, insn->base) + greg(uc, insn->index) * insn->scale + (uint64_t)insn->disp;

	if (insn->rip_rel)
		addr += greg(uc, REG_RIP) + insn->len;
	return insn->addr32 ? (uint32_t)addr : addr;
}

static bool inside(const struct insn_bar *bar, uint64_t addr, size_t len)
{
	return bar->span(bar->arg, addr, len) == len;
}

/* The flag conditions in the order of their opcodes: O, B, Z, BE, S, P, L, LE; odd numbers negate. */
static bool condition(uint64_t efl, unsigned int cond)
{
	bool cf = efl & 1, pf = efl >> 2 & 1, zf = efl >> 6 & 1, sf = efl >> 7 & 1, of = efl >> 11 & 1;
	const bool value[8] = {of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of};

	return value[cond >> 1] != (cond & 1);
}

static uint64_t swapped(uint64_t v, unsigned int size)
{
	return __builtin_bswap64(v) >> (64 - 8 * size);
}

static bool store_vec(const struct insn *insn, ucontext_t *uc, const struct insn_bar *bar, uint64_t addr)
{
	uint8_t data[INSN_MAX_MEM];
	uint64_t mask;
	unsigned int n = insn->size / (insn->elem ? insn->elem : 1);

	if (!vecreg_read(uc, insn->reg, insn->vec_off, data, insn->size))
		return false;
	if (!insn->mask) {
		bar->store(bar->arg, addr, data, insn->size);
		return true;
	}
	if (!vecreg_opmask(uc, insn->mask, &mask))
		return false;
	/* One store for each run of selected elements; the bytes in between are not written. */
	for (unsigned int i = 0, run; i < n; i += run + 1) {
		for (run = 0; i + run < n && (mask >> (i + run) & 1);)
			run++;
		if (run)
			bar->store(bar->arg, addr + i * insn->elem, data + i * insn->elem, run * insn->elem);
	}
	return true;
}

static bool store(const struct insn *insn, ucontext_t *uc, const struct insn_bar *bar, uint64_t addr)
{
	uint64_t v;

	switch (insn->kind) {
	case INSN_STORE_VEC:
		return store_vec(insn, uc, bar, addr);
	case INSN_STORE_IMM:
		v = insn->imm;
		break;
	case INSN_STORE_COND:
		v = condition(greg(uc, REG_EFL), insn->cond);
		break;
	default:
		v = greg(uc, insn->reg) >> insn->shift;
		break;
	}
	if (insn->swap)
		v = swapped(v, insn->size);
	bar->store(bar->arg, addr, &v, insn->size);
	return true;
}

static void set_gpr(const struct insn *insn, ucontext_t *uc, uint64_t v)
{
	greg_t *reg = &uc->uc_mcontext.gregs[insn->reg];
	uint64_t keep;

	if (insn->sign) {
		unsigned int unused = 64 - 8 * insn->size;

		v = (uint64_t)((int64_t)(v << unused) >> unused);
	}
	if (insn->dst_size == 8) {
		*reg = (greg_t)v;
	} else if (insn->dst_size == 4) { /* a 32-bit result clears the upper half */
		*reg = (greg_t)(uint32_t)v;
	} else {
		keep = (insn->dst_size == 2 ? 0xffffull : 0xffull) << insn->shift;
		*reg = (greg_t)(((uint64_t)*reg & ~keep) | ((v << insn->shift) & keep));
	}
}

static bool load(const struct insn *insn, ucontext_t *uc, const struct insn_bar *bar, uint64_t addr)
{
	uint8_t data[INSN_MAX_MEM];
	uint64_t v = 0;

	/* Do the load only if its result can be delivered, since a load has effects in the device. */
	if (insn->kind == INSN_LOAD_VEC && !vecreg_read(uc, insn->reg, insn->vec_off, data, insn->size))
		return false;
	bar->load(bar->arg, addr, data, insn->size);
	if (insn->kind == INSN_LOAD_VEC)
		return vecreg_write(uc, insn->reg, insn->vec_off, data, insn->size,
				    insn->clear_all   ? 64
				    : insn->clear_xmm ? 16
						      : 0);
	memcpy(&v, data, insn->size);
	set_gpr(insn, uc, insn->swap ? swapped(v, insn->size) : v);
	return true;
}

/* ---- String instructions ------------------------------------------------------------------- */

struct string_run {
	uint64_t dst, src, left; /* RDI, RSI, elements */
	bool dst_bar, src_bar;
};

static uint64_t wrap(const struct insn *insn, uint64_t v)
{
	return insn->addr32 ? (uint32_t)v : v;
}

/*
 * Number of elements to move at once: one, or as many as fit in the 64-byte line of a write-combining page.
 */
static unsigned int piece(const struct insn *insn, const struct string_run *run, const struct insn_bar *bar,
			  bool forward)
{
	uint64_t n = (64 - run->dst % 64) / insn->size;

	if (!forward || !run->dst_bar || n < 2 || !bar->combines(bar->arg, run->dst))
		return 1;
	n = n < run->left ? n : run->left;
	while (n > 1 && !inside(bar, run->dst, n * insn->size))
		n--;
	return (unsigned int)n;
}

static void move_piece(const struct insn *insn, const struct string_run *run, const struct insn_bar *bar,
		       unsigned int n, uint64_t rax)
{
	uint8_t data[INSN_MAX_MEM];
	size_t len = (size_t)n * insn->size;

	if (insn->kind == INSN_STOS)
		for (unsigned int i = 0; i < n; i++)
			memcpy(data + i * insn->size, &rax, insn->size);
	else if (run->src_bar)
		bar->load(bar->arg, run->src, data, len);
	else
		memcpy(data, (const void *)(uintptr_t)run->src, len);
	if (run->dst_bar)
		bar->store(bar->arg, run->dst, data, len);
	else
		memcpy((void *)(uintptr_t)run->dst, data, len);
}

/*
 * As on the processor, registers are advanced element by element and the instruction ends when the count is
 * used up. Where the operands leave the BAR the instruction continues natively, or traps again.
 */
static bool string_op(const struct insn *insn, ucontext_t *uc, const struct insn_bar *bar)
{
	greg_t *gregs = uc->uc_mcontext.gregs;
	int64_t step = gregs[REG_EFL] & EFL_DF ? -(int64_t)insn->size : insn->size;
	struct string_run run = {.dst = wrap(insn, gregs[REG_RDI]),
				 .src = wrap(insn, gregs[REG_RSI]),
				 .left = insn->rep ? wrap(insn, gregs[REG_RCX]) : 1};
	bool any = false;

	if (!insn->size) /* insn_decode() does not accept such an instruction */
		return false;
	while (run.left) {
		unsigned int n;

		run.dst_bar = inside(bar, run.dst, insn->size);
		run.src_bar = insn->kind == INSN_MOVS && inside(bar, run.src, insn->size);
		if (run.dst_bar == run.src_bar)
			break;
		n = piece(insn, &run, bar, step > 0);
		move_piece(insn, &run, bar, n, (uint64_t)gregs[REG_RAX]);
		any = true;
		run.left -= n;
		run.dst = wrap(insn, run.dst + (uint64_t)(n * step));
		run.src = wrap(insn, run.src + (uint64_t)(n * step));
		gregs[REG_RDI] = (greg_t)run.dst;
		if (insn->kind == INSN_MOVS)
			gregs[REG_RSI] = (greg_t)run.src;
		if (insn->rep)
			gregs[REG_RCX] = (greg_t)run.left;
	}
	if (any && !run.left)
		gregs[REG_RIP] += insn->len;
	return any;
}

static bool movdir64b(const struct insn *insn, ucontext_t *uc, const struct insn_bar *bar)
{
	uint64_t src = effective(insn, uc), dst = greg(uc, insn->reg);
	uint8_t data[64];

	dst = insn->addr32 ? (uint32_t)dst : dst;
	/* The destination must be aligned to 64 bytes (Intel SDM volume 2: else #GP). */
	if (dst % 64 || !inside(bar, dst, 64) || bar->span(bar->arg, src, 64))
		return false;
	memcpy(data, (const void *)(uintptr_t)src, 64);
	bar->store(bar->arg, dst, data, 64);
	uc->uc_mcontext.gregs[REG_RIP] += insn->len;
	return true;
}

bool insn_emulate(const struct insn *insn, ucontext_t *uc, const struct insn_bar *bar)
{
	uint64_t addr;
	bool ok;

	if (insn->kind == INSN_MOVS || insn->kind == INSN_STOS)
		return string_op(insn, uc, bar);
	if (insn->kind == INSN_MOVDIR64B)
		return movdir64b(insn, uc, bar);
	addr = effective(insn, uc);
	if (!inside(bar, addr, insn->size))
		return false;
	ok = insn->kind == INSN_LOAD_GPR || insn->kind == INSN_LOAD_VEC ? load(insn, uc, bar, addr)
									: store(insn, uc, bar, addr);
	if (ok)
		uc->uc_mcontext.gregs[REG_RIP] += insn->len;
	return ok;
}

bool insn_pass(const struct insn *insn, ucontext_t *uc, const struct insn_bar *bar)
{
	uint64_t addr = effective(insn, uc), v = 0;

	if (insn->kind != INSN_LOAD_GPR || bar->span(bar->arg, addr, insn->size) ||
	    !bar->peek(addr, &v, insn->size))
		return false;
	set_gpr(insn, uc, insn->swap ? swapped(v, insn->size) : v);
	uc->uc_mcontext.gregs[REG_RIP] += insn->len;
	return true;
}
