/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What happens when the device process is killed. Its parent, the guardian, is notified of every queue
 * and every asynchronous event file as they come and go. When the device process ends by a signal,
 * the guardian does what a driver does whose adapter is lost: it completes outstanding work with
 * flush errors, and reports IBV_EVENT_DEVICE_FATAL.
 */
#ifndef HCASIM_PROCESS_CRASH_CLEANUP_H
#define HCASIM_PROCESS_CRASH_CLEANUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "devices/driver.h"

enum crash_kind { CRASH_ASYNC = 1, CRASH_CQ, CRASH_CQ_GONE, CRASH_QP, CRASH_QP_GONE };

/* Shared by the device process and the guardian. */
#define CRASH_MARKS                                                                                          \
	(1u << 20) /* queue pairs in memory of programs; more have no marks, and are not flushed */
struct crash_shared {
	_Atomic uint64_t steps;
	struct hca_marks marks[CRASH_MARKS];
};

struct crash_msg { /* one descriptor comes with ASYNC (the pipe), CQ and QP (the memory of the ring) */
	uint32_t kind;
	uint64_t device;      /* tells adapters apart */
	char family[16];      /* drv_ops.name */
	uint64_t file_offset; /* drv_orphan.in_process: the number of the address space, which has no other */
	struct drv_orphan queue;
};

/*
 * Forks. In the child, the device process, returns 0. In the parent returns, when the child has
 * ended and the clean-up was done, 1 and the child's status as for exit(); `listener` is
 * the child's alone, the end of file of `launcher` (-1: none) both see. -1 on failure.
 */
int crash_start(int listener, int launcher, int *status);
/* The device process makes progress: after a request to end it may take as long as it does so. */
void crash_step(void);
/* The driver of an adapter, with its queues reported to the guardian. */
struct server;
const struct drv_ops *crash_watch(struct server *s, const struct drv_ops *ops);
/* An asynchronous event file: `fd` is the reader's end. */
void crash_async(int fd);

#endif
