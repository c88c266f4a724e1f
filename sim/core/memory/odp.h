/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * On-demand paging, inside the core. A region with IBV_ACCESS_ON_DEMAND is not pinned: the adapter has a page from
 * hca_mr_map() to hca_mr_unmap(). An access to a missing page is a page fault: it makes a request to the driver, and
 * the queue waits.
 */
#ifndef HCASIM_CORE_MEMORY_ODP_H
#define HCASIM_CORE_MEMORY_ODP_H

#include "core/base/base.h"

struct odp_table;
/* `access`: with IBV_ACCESS_HUGETLB its pages are huge. NULL: no memory. */
struct odp_table *odp_table_new(uint32_t access);
void odp_table_free(struct odp_table *t);
/* True: every page of the range is mapped, and writable if `write`. The range has been checked. */
bool key_present(const struct hca *hca, uint32_t key, uint64_t addr, uint64_t len, bool write);
/* The same for bytes [off, off + len) of an SGE list. */
bool sge_present(const struct hca *hca, const struct hca_sge *sge, uint32_t n, uint64_t off, uint64_t len,
		 bool write);
/* The pages of a key's range, for a page request. False: all of them are mapped. */
bool key_absent(const struct hca *hca, uint32_t key, uint64_t addr, uint64_t len, bool write,
		struct hca_page_range *out);

#endif
