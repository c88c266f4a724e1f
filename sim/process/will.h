/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What happens when the device process is killed. Its parent, the guardian, is told of every queue
 * and every asynchronous event file as they come and go. When the device process ends by a signal,
 * the guardian does what a driver does whose adapter is lost: it completes outstanding work with
 * flush errors, and reports IBV_EVENT_DEVICE_FATAL.
 */
#ifndef HCASIM_PROCESS_WILL_H
#define HCASIM_PROCESS_WILL_H

#include <stdbool.h>
#include <stdint.h>

#include "devices/driver.h"

enum will_kind { WILL_ASYNC = 1, WILL_CQ, WILL_CQ_GONE, WILL_QP, WILL_QP_GONE };

struct will_msg { /* one descriptor comes with ASYNC (the pipe), CQ and QP (the memory of the ring) */
	uint32_t kind;
	uint64_t device; /* tells adapters apart */
	uint64_t file_offset;
	struct drv_remains queue;
};

/*
 * Forks. In the child, the device process, returns 0. In the parent returns, when the child has
 * ended and the will was carried out, 1 and the child's status as for exit(); `listener` is
 * the child's alone, the end of file of `launcher` (-1: none) both see. -1 on failure.
 */
int will_start(int listener, int launcher, int *status);
/* The device process gets on: one that was told to end may take its time as long as it does. */
void will_step(void);
/* The driver, with its queues reported to the guardian. */
const struct drv_ops *will_watch(const struct drv_ops *ops);
/* An asynchronous event file: `fd` is the reader's end. */
void will_async(int fd);

#endif
