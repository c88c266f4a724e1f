/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Included first by the copies of source files that hcasim_conform/mutants/generator makes, and by nothing else. Each
 * mutant has a number; only the selected one is active, and 0 selects none.
 */
#ifndef HCASIM_MUTANT_SWITCH_H
#define HCASIM_MUTANT_SWITCH_H

#include <stdint.h>
#include <string.h>

#define HCASIM_MUTANTS_MAX (1u << 19)

/*
 * Shared by all processes of a run where HCASIM_MUTANT_MAP names a file (hcasim_conform/mutants/generated/machine.py knows
 * the layout, too). By number: whether a mutant's place was reached and, where this can be detected, made a difference.
 */
struct hcasim_mutants {
	uint32_t chosen;
	uint8_t reached[HCASIM_MUTANTS_MAX - 4];
};

extern struct hcasim_mutants *hcasim_mutants __attribute__((visibility("hidden")));

/* Whether HCASIM_MUTANT_MAP names the file with the selection, which then changes while the process runs. */
__attribute__((visibility("hidden"))) int hcasim_mutants_shared(void);

/* Whether one of the `n` mutants of a place, numbered from `base`, is selected. */
static inline int hcasim_mutant_in(uint32_t base, uint32_t n)
{
	memset(hcasim_mutants->reached + base, 1, n);
	return hcasim_mutants->chosen - base < n;
}

static inline int hcasim_mutant_is(uint32_t number)
{
	return hcasim_mutants->chosen == number;
}

/* Result of a comparison: `wrong` if mutant `number` is selected, else `so_far`. Notes whether `right` differs. */
static inline int hcasim_mutant_result(uint32_t number, int right, int so_far, int wrong)
{
	if (right != wrong)
		hcasim_mutants->reached[number] = 1;
	return hcasim_mutants->chosen == number ? wrong : so_far;
}

#define MUTANT_IN(base, n) hcasim_mutant_in(base, n)
#define MUTANT_IS(number)  hcasim_mutant_is(number)

/* `a op b`, and the results of three mutants, each an expression of a_, b_ and the right result c_. */
#define MUTANT_COMPARE(base, op, a, b, x, y, z)                                                              \
	(__extension__({                                                                                     \
		__auto_type a_ = (a) + 0;                                                                    \
		__auto_type b_ = (b) + 0;                                                                    \
		int c_ = a_ op b_, r_ = hcasim_mutant_result(base, c_, c_, x);                               \
		r_ = hcasim_mutant_result((base) + 1, c_, r_, y);                                            \
		hcasim_mutant_result((base) + 2, c_, r_, z);                                                 \
	}))

#endif
