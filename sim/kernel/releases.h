/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which Linux the kernel of a machine is: its ABI for libraries ends with that release. What is newer is answered as that
 * release answers what it does not know. releases.c has the one list of what came when.
 */
#ifndef HCASIM_KERNEL_RELEASES_H
#define HCASIM_KERNEL_RELEASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LINUX(major, minor) ((major) << 8 | (minor))
#define LINUX_OLDEST        LINUX(6, 1) /* everything that is not listed is as old */
#define LINUX_LATEST        UINT16_MAX  /* all that is listed */

enum abi_kind {
	ABI_UCMA_COMMAND, /* number: the command */
	ABI_UCMA_QUERY,   /* number: the option of RDMA_USER_CM_CMD_QUERY */
	ABI_METHOD,       /* object, method */
	ABI_ATTR,         /* object, method; number: the attribute */
	ABI_FIELD,        /* object, method; number: offset in the method's response */
	ABI_ACCESS,       /* number: the bit of ib_uverbs_access_flags */
	ABI_KINDS,
};

struct abi_item {
	enum abi_kind kind;
	uint16_t object, method, number;
	uint16_t since; /* LINUX() */
};

extern const struct abi_item abi_items[];
extern const size_t num_abi_items;

/* `release` has it: one that is not listed is in all of them. */
bool abi_has(uint16_t release, enum abi_kind kind, uint16_t object, uint16_t method, uint16_t number);
/* "6.1" or "latest"; -EINVAL: another name */
int abi_release(const char *name, uint16_t *release);

#ifdef __cplusplus
}
#endif
#endif
