/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * On-demand paging, inside the core. A region of IBV_ACCESS_ON_DEMAND is not pinned: the adapter has a page of it
 * when the driver half has mapped it (hca_mr_map()), until it is unmapped (hca_mr_unmap()). An access to a page that
 * is not there is a page fault: a request to the driver half, and the queue that has it waits.
 */
#ifndef HCASIM_CORE_MEMORY_ODP_H
#define HCASIM_CORE_MEMORY_ODP_H

#include "core/base/base.h"

struct odp_table;
/* `access`: of the region, IBV_ACCESS_HUGETLB makes its pages huge. NULL: no memory. */
struct odp_table *odp_table_new(uint32_t access);
void odp_table_free(struct odp_table *t);
/* True: every page of the range of a key is there, and writable if `write`. The range has been checked. */
bool key_present(const struct hca *hca, uint32_t key, uint64_t addr, uint64_t len, bool write);
/* The same of bytes [off, off + len) of an SGE list. */
bool sge_present(const struct hca *hca, const struct hca_sge *sge, uint32_t n, uint64_t off, uint64_t len,
		 bool write);
/* The whole pages that a key's range lies in, for a page request. False: all of them are there. */
bool key_absent(const struct hca *hca, uint32_t key, uint64_t addr, uint64_t len, bool write,
		struct hca_page_range *out);

#endif
