/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Spelling of the verbs.h enumerations in cell lines and in messages: a cell has "RDMA_WRITE",
 * verbs.h has IBV_WR_RDMA_WRITE and IBV_QP_EX_WITH_RDMA_WRITE.
 */
#ifndef CONFORM_NAMES_H
#define CONFORM_NAMES_H

#include <stdbool.h>
#include <infiniband/verbs.h>

struct name {
	const char *name;
	long value;
};

extern const struct name op_names[];        /* enum ibv_wr_opcode */
extern const struct name send_ops_names[];  /* enum ibv_qp_create_send_ops_flags */
extern const struct name qpt_names[];       /* enum ibv_qp_type */
extern const struct name send_flag_names[]; /* enum ibv_send_flags */
extern const struct name wc_names[];        /* enum ibv_wc_opcode */
extern const struct name wc_flag_names[];   /* enum ibv_wc_flags */
extern const struct name status_names[];    /* enum ibv_wc_status */

bool name_value(const struct name *table, const char *name, long *value);
/* "?" when the table has no such value. */
const char *value_name(const struct name *table, long value);
/* "A | B", or "0", in a buffer of the caller. */
const char *flags_name(const struct name *table, const char *prefix, unsigned long value, char *buf,
		       size_t size);
#define NO_ERRNO 4096 /* in place of an errno: the call that failed has set none */
/* For example "EINVAL"; never NULL. */
const char *errno_name(int err);
/* errno of a call that has failed, or NO_ERRNO. */
int errno_of_failure(void);
/* 0 if no value has that name. */
int errno_value(const char *name);

#endif
