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
 * the layout, too). While it is recorded what cells reach, each mutant has a byte: whether its place was reached and, where
 * this can be detected, made a difference. `recording`: 0, or HCASIM_MUTANT_REACH, or with probes HCASIM_MUTANT_TRIES.
 */
#define HCASIM_MUTANT_REACH 1
#define HCASIM_MUTANT_TRIES 2
struct hcasim_mutants {
	uint32_t chosen, recording;
	uint8_t reached[HCASIM_MUTANTS_MAX - 8];
};

extern struct hcasim_mutants *hcasim_mutants __attribute__((visibility("hidden")));

/* Not 0 while a probe evaluates its expression: the mutant that it tries. */
extern __thread uint32_t hcasim_mutant_tried __attribute__((visibility("hidden"), tls_model("initial-exec")));
#define HCASIM_MUTANT_NONE (~0u)

/* Whether HCASIM_MUTANT_MAP names the file with the selection, which then changes while the process runs. */
__attribute__((visibility("hidden"))) int hcasim_mutants_shared(void);

#ifdef HCASIM_MUTANT_FIXED
/* For the comparison of object code (hcasim_conform/mutants/generated/identical.py), which replaces this name by a number. */
#define HCASIM_MUTANT_ACTIVE    hcasim_mutant_fixed
#define HCASIM_MUTANT_RECORDING 0
#else
#define HCASIM_MUTANT_ACTIVE    (hcasim_mutant_tried ? hcasim_mutant_tried : hcasim_mutants->chosen)
#define HCASIM_MUTANT_RECORDING hcasim_mutants->recording
#endif
#define HCASIM_MUTANT_INLINE static inline __attribute__((always_inline))

HCASIM_MUTANT_INLINE uint32_t hcasim_mutant_active(void)
{
	return HCASIM_MUTANT_ACTIVE;
}

HCASIM_MUTANT_INLINE void hcasim_mutant_reached(uint32_t base, uint32_t n)
{
	if (HCASIM_MUTANT_RECORDING && !hcasim_mutant_tried)
		memset(hcasim_mutants->reached + base, 1, n);
}

/* Whether one of the `n` mutants of a place, numbered from `base`, is selected. */
HCASIM_MUTANT_INLINE int hcasim_mutant_in(uint32_t base, uint32_t n)
{
	hcasim_mutant_reached(base, n);
	return hcasim_mutant_active() - base < n;
}

HCASIM_MUTANT_INLINE int hcasim_mutant_is(uint32_t number)
{
	return hcasim_mutant_active() == number;
}

/* Result of a comparison: `wrong` if mutant `number` is selected, else `so_far`. Notes whether `right` differs. */
HCASIM_MUTANT_INLINE int hcasim_mutant_result(uint32_t number, int right, int so_far, int wrong)
{
	if (right != wrong)
		hcasim_mutant_reached(number, 1);
	return hcasim_mutant_active() == number ? wrong : so_far;
}

/*
 * Selects what a probe evaluates next: 0, without a mutant; then, while recording, each mutant from `base` on that has not
 * made a difference yet, numbered from 1. Returns its number, -1 at the end.
 */
static inline int hcasim_mutant_probe(uint32_t base, int n, int last)
{
	if (last < 0) {
		if (hcasim_mutants->recording == HCASIM_MUTANT_TRIES)
			hcasim_mutant_tried = HCASIM_MUTANT_NONE;
		return 0;
	}
	if (!hcasim_mutant_tried)
		return -1;
	while (last < n && hcasim_mutants->reached[base + last])
		last++;
	hcasim_mutant_tried = last < n ? base + last : 0;
	return last < n ? last + 1 : -1;
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

/* An assignment that only changes `target`: dropped if the mutant is selected. Notes whether that makes a difference. */
#define MUTANT_DROP(number, target, ...)                                                                     \
	__auto_type old_ = target + 0;                                                                       \
	if (!hcasim_mutant_is(number)) {                                                                     \
		__VA_ARGS__                                                                                  \
	}                                                                                                    \
	if (target + 0 != old_)                                                                              \
		hcasim_mutant_reached(number, 1);

/* An expression, which has no side effects and contains `n` mutants: notes which of them give another value. */
#ifdef HCASIM_MUTANT_FIXED
#define MUTANT_PROBE(base, n, ...) (__VA_ARGS__)
#else
#define MUTANT_PROBE(base, n, ...)                                                                           \
	(__extension__({                                                                                     \
		__typeof__((__VA_ARGS__) + 0) right_ = 0, now_;                                              \
		for (int at_ = -1; (at_ = hcasim_mutant_probe(base, n, at_)) >= 0;) {                        \
			now_ = (__VA_ARGS__) + 0;                                                            \
			if (!at_)                                                                            \
				right_ = now_;                                                               \
			else if (now_ != right_)                                                             \
				hcasim_mutants->reached[(base) + at_ - 1] = 1;                               \
		}                                                                                            \
		right_;                                                                                      \
	}))
#endif

#endif
