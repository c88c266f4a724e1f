/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Scheduling elements; the commands are in hca.h. */
#ifndef HCASIM_CORE_SCHED_H
#define HCASIM_CORE_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#define HCA_SCHED_MAX 4096u /* elements; their numbers are below HCA_SCHED_END, and not 0 */
#define HCA_SCHED_END 65536u

/*
 * Scheduling elements divide what QPs send. They are trees: QPs belong to leaves, and leaves and nodes to nodes. What is
 * below an element sends no faster than its rate. If elements of a node cannot all send as much as they have to, each
 * gets as much of it as its share is of those of the elements that have something to send.
 */
struct hca_sched_attr {
	uint32_t parent; /* a node; 0: the element is the root of a tree, and no leaf */
	bool leaf;
	uint32_t share; /* 0: 1 */
	uint32_t rate;  /* Mbit/s, frames without FCS; 0: any */
};

#endif
