/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The x86-64 instructions that may access a BAR page: decoding them into a compact form, and executing them
 * on the registers that a signal handler gets. Everything here may run in a signal handler: no allocation, no
 * locks, no library state.
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
	uint8_t size;     /* bytes of memory; string instructions: of one element */
	uint8_t reg;      /* index into gregs, or number of the vector register */
	uint8_t shift;    /* 8 for AH, CH, DH, BH */
	uint8_t vec_off;  /* first byte inside the vector register */
	uint8_t dst_size; /* loads: bytes of the general register that are written */
	uint8_t mask;     /* EVEX opmask register; 0: none */
	uint8_t elem;     /* bytes of an element that one mask bit stands for */
	uint8_t cond;     /* SETcc: the condition's number, as in its opcode */
	bool sign;        /* load: sign-extends the value */
	bool swap;        /* MOVBE */
	bool clear_xmm;   /* vector load: the rest of the 128 bits becomes zero */
	bool clear_all;   /* vector load: the rest of the whole register becomes zero */
	bool rep;
	bool more;   /* another store through the same base register follows */
	bool run;    /* the next instruction belongs to the same copy and is supported here */
	bool addr32; /* addresses are computed modulo 2^32 */
	bool rip_rel;
	int8_t base, index; /* indexes into gregs; INSN_NO_REG: none */
	uint8_t scale;
	int64_t disp;
	uint64_t imm;
};

/* False: not a supported form, or not a valid instruction. */
bool insn_decode(const void *code, size_t len, struct insn *insn);
/*
 * True if the straight-line code after `insn`, up to `len` bytes from its start, stores through its base
 * register again.
 */
bool insn_more(const void *code, size_t len, const struct insn *insn);
/* True if the next instruction after `insn` is a plain store or a load of a general register. */
bool insn_run(const void *code, size_t len, const struct insn *insn);
/* Text of the instruction at `code`, for a message. */
void insn_format(const void *code, size_t len, uint64_t rip, char *text, size_t size);

/* The memory that a trapped instruction accesses. */
struct insn_bar {
	/* Number of bytes from addr, at most len, that lie in BAR pages with the same kind of mapping. */
	size_t (*span)(void *arg, uint64_t addr, size_t len);
	/* True if stores of string instructions may be combined into lines (write-combining memory). */
	bool (*combines)(void *arg, uint64_t addr);
	void (*store)(void *arg, uint64_t addr, const void *data, size_t len);
	void (*load)(void *arg, uint64_t addr, void *data, size_t len);
	/* Loads from ordinary memory. False: the load would fault, or the size is not supported. */
	bool (*peek)(uint64_t addr, void *data, size_t len);
	void *arg;
};

/*
 * Executes `insn` on `uc` and advances its RIP. False, and nothing was done: the access cannot be carried out
 * (no part, or only a part, of its operand is in a BAR, or both operands are), or the registers it needs are
 * not in the signal frame.
 */
bool insn_emulate(const struct insn *insn, ucontext_t *uc, const struct insn_bar *bar);
/* The same for a load of a general register from ordinary memory, as found between the stores of a copy. */
bool insn_pass(const struct insn *insn, ucontext_t *uc, const struct insn_bar *bar);

/* vecreg.c: `len` bytes from byte `off` of vector register `reg` (0..31). False: not in the frame. */
bool vecreg_read(const ucontext_t *uc, unsigned int reg, unsigned int off, void *data, unsigned int len);
/* Writes `len` bytes at `off`; all bytes from off + len up to `clear_to` (16, 64 or 0) become zero. */
bool vecreg_write(ucontext_t *uc, unsigned int reg, unsigned int off, const void *data, unsigned int len,
		  unsigned int clear_to);
bool vecreg_opmask(const ucontext_t *uc, unsigned int k, uint64_t *mask);

#endif
