/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The x86-64 instructions that may touch a BAR page: decoding into a compact form, and carrying them
 * out on the registers that a signal handler was given. Everything here may run in a signal handler:
 * no allocation, no locks, no library state.
 */
#ifndef HCASIM_PROCESS_INSN_H
#define HCASIM_PROCESS_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#define INSN_MAX_LEN 15
#define INSN_MAX_MEM 64 /* bytes that one instruction (or one string element) moves */

enum insn_kind {
	INSN_STORE_GPR,
	INSN_STORE_IMM,
	INSN_STORE_COND, /* SETcc */
	INSN_STORE_VEC,
	INSN_LOAD_GPR,
	INSN_LOAD_VEC,
	INSN_MOVS,
	INSN_STOS,
	INSN_MOVDIR64B,
};

#define INSN_NO_REG (-1)

struct insn {
	uint8_t len;      /* bytes of the instruction */
	uint8_t kind;     /* enum insn_kind */
	uint8_t size;     /* bytes of memory: of one element for string instructions */
	uint8_t reg;      /* index into gregs, or number of the vector register */
	uint8_t shift;    /* 8 for AH, CH, DH, BH */
	uint8_t vec_off;  /* first byte inside the vector register */
	uint8_t dst_size; /* loads: bytes of the general register that are written */
	uint8_t mask;     /* EVEX opmask register, 0: none */
	uint8_t elem;     /* bytes of an element that one mask bit stands for */
	uint8_t cond;     /* SETcc: the condition's number, as in its opcode */
	bool sign;        /* load: extends the sign */
	bool swap;        /* MOVBE */
	bool clear_xmm;   /* vector load: the rest of the 128 bits becomes zero */
	bool clear_all;   /* vector load: the rest of the whole register becomes zero */
	bool rep;
	bool more;   /* another store through the same register follows at once */
	bool run;    /* the next instruction is part of the same copy, and one of these forms */
	bool addr32; /* addresses are computed modulo 2^32 */
	bool rip_rel;
	int8_t base, index; /* into gregs, INSN_NO_REG: none */
	uint8_t scale;
	int64_t disp;
	uint64_t imm;
};

/* False: not one of the supported forms (or not an instruction at all). */
bool insn_decode(const void *code, size_t len, struct insn *insn);
/* Does the straight code behind `insn`, up to `len` bytes from its start, store through its base again? */
bool insn_more(const void *code, size_t len, const struct insn *insn);
/* Is the instruction right behind `insn` a plain store or a load of a general register? */
bool insn_run(const void *code, size_t len, const struct insn *insn);
/* Text of the instruction at `code`, for a message. */
void insn_format(const void *code, size_t len, uint64_t rip, char *text, size_t size);

/* What a trapped instruction is applied to. */
struct insn_bar {
	/* Part of [addr, addr + len) that lies in BAR pages mapped alike, counted from addr. */
	size_t (*span)(void *arg, uint64_t addr, size_t len);
	/* String instructions on it may be combined into lines (write-combining memory). */
	bool (*combines)(void *arg, uint64_t addr);
	void (*store)(void *arg, uint64_t addr, const void *data, size_t len);
	void (*load)(void *arg, uint64_t addr, void *data, size_t len);
	/* One load from ordinary memory. False: it would fault, or the size is not supported. */
	bool (*peek)(uint64_t addr, void *data, size_t len);
	void *arg;
};

/*
 * Carries out `insn` on `uc` and moves its RIP on. False: it does not reach a BAR in a way that can
 * be carried out (no part, or not all, of its operand is in a BAR; both operands are), or the
 * registers it needs are not in the signal frame; nothing was done then.
 */
bool insn_emulate(const struct insn *insn, ucontext_t *uc, const struct insn_bar *bar);
/* The same for a load of a general register from ordinary memory, as stands between the stores of a copy. */
bool insn_pass(const struct insn *insn, ucontext_t *uc, const struct insn_bar *bar);

/* vecreg.c: `len` bytes from byte `off` of vector register `reg` (0..31). False: not in the frame. */
bool vecreg_read(const ucontext_t *uc, unsigned int reg, unsigned int off, void *data, unsigned int len);
/* Writes `len` bytes at `off`; all bytes from off + len up to `clear_to` (16, 64 or 0) become zero. */
bool vecreg_write(ucontext_t *uc, unsigned int reg, unsigned int off, const void *data, unsigned int len,
		  unsigned int clear_to);
bool vecreg_opmask(const ucontext_t *uc, unsigned int k, uint64_t *mask);

#endif
