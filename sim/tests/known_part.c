// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * perftest posts through ibv_wr_post(3) only on adapters whose part number it knows. If this library is
 * preloaded, a query returns a number that perftest knows (ConnectX-4: 4115, as in its ib_dev_name); all
 * other values are the adapter's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>

#define KNOWN_PART 4115

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	static int (*real)(struct ibv_context *, struct ibv_device_attr *);
	int err;

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "ibv_query_device");
	if (!real)
		return ENOSYS;
	err = real(context, attr);
	if (!err)
		attr->vendor_part_id = KNOWN_PART;
	return err;
}
