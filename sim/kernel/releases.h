/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The Linux release whose ABI a machine's kernel offers to libraries. Newer commands, methods and flags get
 * the answer that this release gives to unknown ones. releases.c has the only list of what each release
 * added.
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
#define LINUX_OLDEST        LINUX(6, 1) /* items that are not listed are as old as this */
#define LINUX_LATEST        UINT16_MAX  /* all listed items */

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

/* True if `release` has the item. Items that are not listed are in every release. */
bool abi_has(uint16_t release, enum abi_kind kind, uint16_t object, uint16_t method, uint16_t number);
/* `name`: "6.1" or "latest"; -EINVAL for any other */
int abi_release(const char *name, uint16_t *release);

#ifdef __cplusplus
}
#endif
#endif
