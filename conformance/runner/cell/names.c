/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <stdio.h>
#include <string.h>

#include "cell/names.h"

/* clang-format off */
#define OPERATIONS(X) \
	X(SEND) X(SEND_WITH_IMM) X(SEND_WITH_INV) X(RDMA_WRITE) X(RDMA_WRITE_WITH_IMM) X(RDMA_READ) \
	X(ATOMIC_CMP_AND_SWP) X(ATOMIC_FETCH_AND_ADD) X(BIND_MW) X(LOCAL_INV) X(TSO) X(FLUSH) X(ATOMIC_WRITE)

#define NAME_OP(n) {#n, IBV_WR_##n},
#define NAME_SEND_OPS(n) {#n, IBV_QP_EX_WITH_##n},
#define NAME(prefix, n) {#n, prefix##n}
/* clang-format on */

const struct name op_names[] = {OPERATIONS(NAME_OP){NULL, 0}};
const struct name send_ops_names[] = {OPERATIONS(NAME_SEND_OPS){NULL, 0}};

const struct name qpt_names[] = {
	NAME(IBV_QPT_, RC),       NAME(IBV_QPT_, UC),       NAME(IBV_QPT_, UD), NAME(IBV_QPT_, RAW_PACKET),
	NAME(IBV_QPT_, XRC_SEND), NAME(IBV_QPT_, XRC_RECV), {NULL, 0},
};

const struct name send_flag_names[] = {
	NAME(IBV_SEND_, FENCE),  NAME(IBV_SEND_, SIGNALED), NAME(IBV_SEND_, SOLICITED),
	NAME(IBV_SEND_, INLINE), NAME(IBV_SEND_, IP_CSUM),  {NULL, 0},
};

const struct name wc_names[] = {
	NAME(IBV_WC_, SEND),
	NAME(IBV_WC_, RDMA_WRITE),
	NAME(IBV_WC_, RDMA_READ),
	NAME(IBV_WC_, COMP_SWAP),
	NAME(IBV_WC_, FETCH_ADD),
	NAME(IBV_WC_, BIND_MW),
	NAME(IBV_WC_, LOCAL_INV),
	NAME(IBV_WC_, TSO),
	NAME(IBV_WC_, FLUSH),
	NAME(IBV_WC_, ATOMIC_WRITE),
	NAME(IBV_WC_, RECV),
	NAME(IBV_WC_, RECV_RDMA_WITH_IMM),
	{NULL, 0},
};

const struct name status_names[] = {
	NAME(IBV_WC_, SUCCESS),
	NAME(IBV_WC_, LOC_LEN_ERR),
	NAME(IBV_WC_, LOC_QP_OP_ERR),
	NAME(IBV_WC_, LOC_EEC_OP_ERR),
	NAME(IBV_WC_, LOC_PROT_ERR),
	NAME(IBV_WC_, WR_FLUSH_ERR),
	NAME(IBV_WC_, MW_BIND_ERR),
	NAME(IBV_WC_, BAD_RESP_ERR),
	NAME(IBV_WC_, LOC_ACCESS_ERR),
	NAME(IBV_WC_, REM_INV_REQ_ERR),
	NAME(IBV_WC_, REM_ACCESS_ERR),
	NAME(IBV_WC_, REM_OP_ERR),
	NAME(IBV_WC_, RETRY_EXC_ERR),
	NAME(IBV_WC_, RNR_RETRY_EXC_ERR),
	NAME(IBV_WC_, LOC_RDD_VIOL_ERR),
	NAME(IBV_WC_, REM_INV_RD_REQ_ERR),
	NAME(IBV_WC_, REM_ABORT_ERR),
	NAME(IBV_WC_, INV_EECN_ERR),
	NAME(IBV_WC_, INV_EEC_STATE_ERR),
	NAME(IBV_WC_, FATAL_ERR),
	NAME(IBV_WC_, RESP_TIMEOUT_ERR),
	NAME(IBV_WC_, GENERAL_ERR),
	{NULL, 0},
};

bool name_value(const struct name *table, const char *name, long *value)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name)) {
			*value = table->value;
			return true;
		}
	return false;
}

const char *value_name(const struct name *table, long value)
{
	for (; table->name; table++)
		if (table->value == value)
			return table->name;
	return "?";
}

const char *flags_name(const struct name *table, const char *prefix, unsigned long value, char *buf,
		       size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (; table->name; table++)
		if (value & table->value && used < size)
			used += snprintf(buf + used, size - used, "%s%s%s", used ? " | " : "", prefix,
					 table->name);
	if (!used)
		snprintf(buf, size, "0");
	return buf;
}

const char *errno_name(int err)
{
	const char *name = strerrorname_np(err < 0 ? -err : err);

	return name ? name : "no errno";
}
