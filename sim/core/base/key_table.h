/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The table of regions, windows and indirect keys: memory/keys.c. */
#ifndef HCASIM_CORE_BASE_KEY_TABLE_H
#define HCASIM_CORE_BASE_KEY_TABLE_H

#include "core/base/list.h"
#include "core/hca.h"

enum key_kind { KEY_MR, KEY_MW1, KEY_MW2, KEY_INDIRECT };

/*
 * A region, a window or an indirect key. A bound window has its own address, length and rights, and the memory of its
 * region; a bound indirect key has the memory of the keys that it consists of.
 */
struct mr {
	bool used, bound; /* not of regions */
	bool remote_inv;  /* indirect key: the peer may invalidate it */
	uint8_t tag;
	uint8_t kind; /* enum key_kind */
	uint32_t next_free;
	uint32_t windows; /* of a region: number of windows bound to it */
	uint32_t region;  /* bound window: index of its region */
	uint32_t qpn;     /* bound type 2 window: QP that bound it; 0: an XRC_SEND QP */
	uint32_t max_parts;
	struct key_parts *parts; /* indirect key; NULL: it never had any */
	struct node on_qp;
	struct hca_mr_attr a;
	struct odp_table *odp; /* of an on-demand region; NULL: pinned */
	struct node on_odp;    /* mr_table.odp */
};

struct mr_table {
	struct mr *mr;
	struct node odp; /* on-demand regions */
	uint32_t num_odp;
	uint32_t size, top, free_head, free_tail;
	uint32_t num_mr, max_mr, num_mw, max_mw;
};

#endif
