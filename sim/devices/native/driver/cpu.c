// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What stores to a doorbell page cost the processor that makes them: how many WQEs they announce. */
#include <endian.h>
#include <string.h>

#include "driver.h"

/* WQEs from the last one that was announced up to `pi`, as their sizes say. */
static uint32_t announce(struct native_qp *qp, uint16_t pi)
{
	const uint32_t num_bb = qp->mem ? qp->base.orphan.sq_wqebb : 0;
	uint32_t n = 0;

	while (num_bb && (int16_t)(pi - qp->announced) > 0) {
		const struct hcasim_wqe_ctrl *ctrl =
			(const void *)(qp->mem->addr + (qp->announced & (num_bb - 1)) * HCASIM_WQEBB_SIZE);
		const unsigned int bytes = ctrl->size * HCASIM_SEG_UNIT;

		qp->announced += bytes ? (bytes + HCASIM_WQEBB_SIZE - 1) / HCASIM_WQEBB_SIZE : 1;
		n++;
	}
	qp->announced = pi;
	return n;
}

static uint32_t doorbell(const struct common_dev *n, uint64_t value)
{
	struct native_qp *qp = common_find(&n->qps, HCASIM_FIELD_GET(HCASIM_DB_SQ_QPN_MASK, value));

	return qp ? announce(qp, (uint16_t)HCASIM_FIELD_GET(HCASIM_DB_SQ_PI_MASK, value)) : 0;
}

/* The first store of a copy has the WQE's first segment, or the first half of it. */
static uint32_t blue_flame(const struct common_dev *n, const void *data)
{
	struct hcasim_wqe_ctrl ctrl = {0};
	struct native_qp *qp;
	unsigned int bytes;

	memcpy(&ctrl, data, 8);
	qp = common_find(&n->qps, HCASIM_FIELD_GET(HCASIM_WQE_CTRL_QPN_MASK, le32toh(ctrl.qpn_flags)));
	bytes = ctrl.size * HCASIM_SEG_UNIT;
	return qp ? announce(qp, (uint16_t)(le16toh(ctrl.index) +
					    (bytes + HCASIM_WQEBB_SIZE - 1) / HCASIM_WQEBB_SIZE))
		  : 0;
}

void native_cpu_work(struct drv_device *dev, unsigned int bar, uint64_t offset, const void *data,
		     uint32_t size, struct drv_cpu_work *out)
{
	const uint64_t at = offset % HCASIM_UAR_PAGE_SIZE;
	uint64_t value;

	*out = (struct drv_cpu_work){.kind = DRV_CPU_STORE};
	if (bar != HCASIM_BAR_UAR || size < sizeof(value))
		return;
	memcpy(&value, data, sizeof(value));
	value = le64toh(value);
	if (at == HCASIM_UAR_DB_SQ) {
		out->items = doorbell(common_dev(dev), value);
	} else if (at == HCASIM_UAR_DB_POLL) {
		out->kind = DRV_CPU_POLL;
		out->items = (uint32_t)HCASIM_FIELD_GET(HCASIM_DB_POLL_TAKEN_MASK, value);
	} else if (at >= HCASIM_UAR_BF && (at - HCASIM_UAR_BF) % HCASIM_BF_SIZE == 0) {
		out->items = blue_flame(common_dev(dev), data);
	}
}
