/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef HCASIM_NATIVE_WQE_TEST_H
#define HCASIM_NATIVE_WQE_TEST_H

#include "wqe_builder.h"

/* native_wqe_cases.c */
void test_every_cell(void);
void test_sge_lists(void);
void test_length_does_not_wrap(void);
void test_inline(void);
void test_flags(void);

#endif
