/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cell/names.h"

#include <hcasim_verbs.h>

/* clang-format off */
#define NAME(prefix, n) {#n, prefix##n}
#define NAME_OP(n)       NAME(IBV_WR_, n),
#define NAME_SEND_OPS(n) NAME(IBV_QP_EX_WITH_, n),
#define NAME_FLAG(n)     NAME(IBV_SEND_, n),
#define NAME_WC(n)       NAME(IBV_WC_, n),
/* clang-format on */

const struct name op_names[] = {HCASIM_EACH_IBV_WR(NAME_OP){NULL, 0}};
const struct name send_ops_names[] = {HCASIM_EACH_QP_EX(NAME_SEND_OPS){NULL, 0}};
const struct name send_flag_names[] = {HCASIM_EACH_SEND_FLAGS(NAME_FLAG){NULL, 0}};
const struct name wc_names[] = {HCASIM_EACH_IBV_WC(NAME_WC){NULL, 0}};
const struct name status_names[] = {HCASIM_EACH_IBV_WC_STATUS(NAME_WC){NULL, 0}};
const struct name wc_flag_names[] = {
	NAME(IBV_WC_, GRH), NAME(IBV_WC_, WITH_IMM), NAME(IBV_WC_, IP_CSUM_OK), NAME(IBV_WC_, WITH_INV),
	{NULL, 0},
};

/* The QP types that cells use. */
const struct name qpt_names[] = {
	NAME(IBV_QPT_, RC),       NAME(IBV_QPT_, UC),       NAME(IBV_QPT_, UD), NAME(IBV_QPT_, RAW_PACKET),
	NAME(IBV_QPT_, XRC_SEND), NAME(IBV_QPT_, XRC_RECV), {NULL, 0},
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
	const char *name = err ? strerrorname_np(err < 0 ? -err : err) : NULL;

	return name ? name : "no errno";
}

int errno_of_failure(void)
{
	return errno ? errno : NO_ERRNO;
}

int errno_value(const char *name)
{
	for (int err = 1; err < 134 && name; err++)
		if (!strcmp(errno_name(err), name))
			return err;
	return 0;
}
