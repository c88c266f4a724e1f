/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The test's part of the trap: BAR pages, the ring and its consumer, a device that can die. */
#ifndef HCASIM_PROCESS_TESTS_TRAP_ENV_H
#define HCASIM_PROCESS_TESTS_TRAP_ENV_H

#include "process/preload/preload.h"

#define PAGE     4096
#define LOW_PAGE 0x31000000ul

extern uint8_t bar_page[PAGE];
extern struct ring ring;
extern uint64_t ring_pos;
extern uint64_t entries_at_kick; /* how many the consumer had not taken when it was kicked last */
extern _Atomic bool alive;
extern uint8_t *page, *low_page; /* write-combining, uncached */
extern uint8_t bar_content[PAGE];

int setup(void);
bool take(struct ring_op *op);
void start_load_server(void);
void stop_load_server(void);
void map_page(uint8_t *p, uint64_t offset, bool wc);

/* test_copy.c */
void test_copy(void);
void test_copy_from_bad_memory(void);
void test_copy_out_of_bar(void);
void test_direct_stores(void);

/* test_stack.c */
extern bool with_stacks; /* the device process wants backtraces */
void test_stack(void);
void test_stack_table(void);

/* test_thread.c */
void test_thread_numbers(void);
void test_thread_numbers_run_out(void);

#endif
