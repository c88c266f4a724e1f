/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Every ioctl method: a good call, and what the kernel's ABI requires of each attribute. The lists do not use
 * the tables under test.
 */
#ifndef HCASIM_KERNEL_TESTS_IOCTL_TARGETS_H
#define HCASIM_KERNEL_TESTS_IOCTL_TARGETS_H

#include "harness.h"

enum kind { K_IN, K_OUT, K_HANDLE, K_NEW, K_FD, K_NEW_FD };

#define MUST   1 /* mandatory */
#define STRUCT 2 /* may be longer: the rest is zero */
#define ANY    4 /* any length from `min` on */

struct expect {
	uint16_t id;
	uint8_t kind, flags;
	uint16_t min; /* shortest valid length, if shorter than the length given */
};

struct target {
	const char *name;
	uint16_t object, method;
	struct ioc *(*build)(void); /* creates the objects and the call, with the attributes in this order */
	int result;                 /* of the good call */
	bool new_file;              /* the call is made without a context */
	struct expect attr[20];
};

#define NUM_TARGETS 41
extern const struct target targets[NUM_TARGETS];
/* Indexes of some methods in the list. */
enum {
	T_INVOKE_WRITE = 0,
	T_INFO_HANDLES = 1,
	T_QUERY_PORT = 2,
	T_QUERY_GID_TABLE = 5,
	T_QUERY_GID_ENTRY = 6
};

#endif
