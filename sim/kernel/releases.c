// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Additions to the ABI since Linux 6.1, and the release that made each, from Linux's include/uapi/rdma. */
#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "kernel/newer_abi.h"
#include "kernel/releases.h"

#define DEVICE UVERBS_OBJECT_DEVICE
#define CQ     UVERBS_OBJECT_CQ
#define MR     UVERBS_OBJECT_MR
#define DMAH   ABI_OBJECT_DMAH
#define QP     UVERBS_OBJECT_QP

#define COMP_CNTR ABI_OBJECT_COMP_CNTR

#define SPEED_EX offsetof(struct ib_uverbs_query_port_resp_ex, active_speed_ex)

const struct abi_item abi_items[] = {
	/* "RDMA: Extend RDMA user ABI to support flush" */
	{ABI_ACCESS, 0, 0, 8, LINUX(6, 2)}, /* IB_UVERBS_ACCESS_FLUSH_GLOBAL */
	{ABI_ACCESS, 0, 0, 9, LINUX(6, 2)}, /* IB_UVERBS_ACCESS_FLUSH_PERSISTENT */
	/* "IB/core: Add support for XDR link speed" */
	{ABI_FIELD, DEVICE, UVERBS_METHOD_QUERY_PORT, SPEED_EX, LINUX(6, 7)},
	/* "RDMA/uverbs: Add support for UCAPs in context creation" */
	{ABI_ATTR, DEVICE, UVERBS_METHOD_GET_CONTEXT, ABI_ATTR_GET_CONTEXT_FD_ARR, LINUX(6, 15)},
	/* "RDMA/cma: Support IB service record resolution" and the commits that follow it */
	{ABI_UCMA_COMMAND, 0, 0, UCMA_RESOLVE_IB_SERVICE, LINUX(6, 17)},
	{ABI_UCMA_QUERY, 0, 0, UCMA_QUERY_IB_SERVICE, LINUX(6, 17)},
	{ABI_UCMA_COMMAND, 0, 0, UCMA_WRITE_CM_EVENT, LINUX(6, 17)},
	/* "RDMA/uverbs: Add a common way to create CQ with umem" */
	{ABI_ATTR, CQ, UVERBS_METHOD_CQ_CREATE, ABI_ATTR_CREATE_CQ_BUFFER_VA, LINUX(6, 17)},
	{ABI_ATTR, CQ, UVERBS_METHOD_CQ_CREATE, ABI_ATTR_CREATE_CQ_BUFFER_LENGTH, LINUX(6, 17)},
	{ABI_ATTR, CQ, UVERBS_METHOD_CQ_CREATE, ABI_ATTR_CREATE_CQ_BUFFER_FD, LINUX(6, 17)},
	{ABI_ATTR, CQ, UVERBS_METHOD_CQ_CREATE, ABI_ATTR_CREATE_CQ_BUFFER_OFFSET, LINUX(6, 17)},
	/* "RDMA/core: Introduce a DMAH object and its alloc/free APIs", "IB: Extend UVERBS_METHOD_REG_MR to get DMAH" */
	{ABI_METHOD, DMAH, ABI_METHOD_DMAH_ALLOC, 0, LINUX(6, 17)},
	{ABI_METHOD, DMAH, ABI_METHOD_DMAH_FREE, 0, LINUX(6, 17)},
	{ABI_METHOD, MR, ABI_METHOD_REG_MR, 0, LINUX(6, 17)},
	/* "IB/core: Add query_port_speed verb" */
	{ABI_METHOD, DEVICE, ABI_METHOD_QUERY_PORT_SPEED, 0, LINUX(7, 0)},
	/* "RDMA/core: Add completion counters verbs", posted in July 2026 */
	{ABI_METHOD, DEVICE, ABI_METHOD_QUERY_COMP_CNTR_CAPS, 0, LINUX(7, 3)},
	{ABI_METHOD, COMP_CNTR, ABI_METHOD_COMP_CNTR_CREATE, 0, LINUX(7, 3)},
	{ABI_METHOD, COMP_CNTR, ABI_METHOD_COMP_CNTR_DESTROY, 0, LINUX(7, 3)},
	{ABI_METHOD, COMP_CNTR, ABI_METHOD_COMP_CNTR_MODIFY, 0, LINUX(7, 3)},
	{ABI_METHOD, COMP_CNTR, ABI_METHOD_COMP_CNTR_READ, 0, LINUX(7, 3)},
	{ABI_METHOD, QP, ABI_METHOD_QP_ATTACH_COMP_CNTR, 0, LINUX(7, 3)},
};
const size_t num_abi_items = sizeof(abi_items) / sizeof(abi_items[0]);

_Static_assert(IB_UVERBS_ACCESS_FLUSH_GLOBAL == 1 << 8 && IB_UVERBS_ACCESS_FLUSH_PERSISTENT == 1 << 9,
	       "the bits above");

bool abi_has(uint16_t release, enum abi_kind kind, uint16_t object, uint16_t method, uint16_t number)
{
	for (size_t i = 0; release != LINUX_LATEST && i < num_abi_items; i++) {
		const struct abi_item *a = &abi_items[i];

		if (a->kind == kind && a->object == object && a->method == method && a->number == number)
			return a->since <= release;
	}
	return true;
}

int abi_release(const char *name, uint16_t *release)
{
	if (!strcmp(name, "6.1"))
		*release = LINUX(6, 1);
	else if (!strcmp(name, "latest"))
		*release = LINUX_LATEST;
	else
		return -EINVAL;
	return 0;
}
