/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Work queues and QPs over tables of them, shared by the scenarios with and without frames. */
#ifndef CONFORM_SUITES_WORK_QUEUES_H
#define CONFORM_SUITES_WORK_QUEUES_H

#include "suites/kit.h"

#define WQ_KEY          40 /* bytes of a Toeplitz key */
#define WQ_MOST_ENTRIES 4096

/* 0 or an errno. */
int wq_move(struct ibv_wq *wq, enum ibv_wq_state state);
/* A RAW_PACKET QP. NULL and errno. */
struct ibv_qp *wq_rss_qp(struct ibv_pd *pd, struct ibv_rwq_ind_table *table, uint64_t fields,
			 const uint8_t key[WQ_KEY]);

#endif
