// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The native adapter as its kernel driver presents it: identity, capabilities, PD and AH. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include <rdma/ib_user_ioctl_verbs.h>

#include "devices/native/format/format.h"

static int probe(struct drv_device *dev, const struct drv_upcalls *up)
{
	struct native_dev *n = calloc(1, sizeof(*n));
	int ret;

	if (!n)
		return -ENOMEM;
	numbers_init(&n->uars, 1, HCASIM_UAR_PAGES, HCASIM_UAR_PAGES - 1); /* page 0 is the driver's own */
	STAILQ_INIT(&n->dead);
	ret = common_probe(&n->base, dev, up);
	if (ret)
		free(n);
	return ret;
}

static void remove_device(struct drv_device *dev)
{
	struct native_dev *n = native_dev(dev);

	common_remove(&n->base);
	native_mem_reap(n, true);
	numbers_free(&n->uars);
	free(n);
}

static uint64_t fw_ver(struct drv_device *dev)
{
	__le64 v = 0;

	hca_mmio_read(dev->hca, HCASIM_BAR_REGS, HCASIM_REG_FW_VER, &v, sizeof(v));
	return le64toh(v);
}

static void query_device(struct drv_device *dev, struct ib_uverbs_ex_query_device_resp *out)
{
	common_query_device(dev, out);
	out->base.fw_ver = fw_ver(dev);
	out->base.vendor_id = HCASIM_PCI_VENDOR;
	out->base.vendor_part_id = HCASIM_PCI_DEVICE;
	out->base.hw_ver = HCASIM_PCI_REVISION;
	out->base.max_qp_wr = HCASIM_MAX_QP_WR;
	out->base.max_sge = HCASIM_MAX_SGE;
	out->base.max_sge_rd = HCASIM_MAX_SGE;
	out->base.max_cqe = HCASIM_MAX_CQE;
	if (out->base.max_srq) {
		out->base.device_cap_flags |= IB_UVERBS_DEVICE_SRQ_RESIZE;
		out->base.max_srq_wr = HCASIM_MAX_SRQ_WR;
		out->base.max_srq_sge = HCASIM_MAX_SGE;
		native_tm_caps(out);
	}
	out->device_cap_flags_ex = (uint32_t)out->base.device_cap_flags | IB_UVERBS_DEVICE_FLUSH_GLOBAL |
				   IB_UVERBS_DEVICE_ATOMIC_WRITE;
	out->odp_caps.per_transport_caps.rc_odp_caps |= HCASIM_ODP_OP_FLUSH | HCASIM_ODP_OP_ATOMIC_WRITE;
	out->xrc_odp_caps |= HCASIM_ODP_OP_FLUSH | HCASIM_ODP_OP_ATOMIC_WRITE;
	out->hca_core_clock = 1000000000; /* kHz: one tick is a picosecond */
}

static void query_device_ex(struct drv_device *dev, struct drv_udata *u)
{
	const struct hcasim_query_device_ex_resp resp = {
		.rate_limit_min = HCASIM_RATE_LIMIT_MIN,
		.rate_limit_max = HCASIM_RATE_LIMIT_MAX,
		.rate_limit_qpts = 1u << HCASIM_QPT_RAW_PACKET,
	};

	common_udata_put(u, &resp, sizeof(resp));
}

static int alloc_pd(struct drv_pd *pd, struct drv_udata *u)
{
	struct hcasim_alloc_pd_resp resp = {0};
	const int ret = common_alloc_pd(pd);

	if (ret)
		return ret;
	resp.pdn = common_pdn(pd);
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}

/*
 * As mlx5_ib_alloc_dmah(): without a hint there is nothing to carry, and where a processor is named the kind of memory
 * is, too. Which tag stands for a processor's cache is the platform's to say (the _DSM of PCI firmware 3.3, 4.6.15): on
 * this one two for each, of volatile and of persistent memory, from 2 on; 0 is no preference.
 */
static int alloc_dmah(struct drv_dmah *d)
{
	if (!d->has_ph || (d->has_cpu && !d->has_mem_type))
		return -EINVAL;
	d->tph = (struct hca_tph){.on = true, .ph = d->ph};
	if (d->has_cpu && d->cpu < 127)
		d->tph.st = (uint8_t)(2 * (d->cpu + 1) + d->mem_type);
	return 0;
}

/* A CQE has no tag. */
static int create_flow(struct drv_flow *flow, const struct hca_flow_attr *attr)
{
	return attr->tagged ? -EOPNOTSUPP : common_create_flow(flow, attr);
}

/* Address handles live in the WQE; the driver only resolves the destination. */
static int create_ah(struct drv_ah *ah, const struct hca_av *av, struct drv_udata *u)
{
	struct hcasim_create_ah_resp resp = {.vlan = 0xffff};
	const int ret = common_create_ah(ah);

	if (ret)
		return ret;
	memcpy(resp.dmac, av->dmac, sizeof(resp.dmac));
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}

static const struct drv_counter counters[] = {HCASIM_NATIVE_COUNTERS, {0}};

const struct drv_ops native_drv_ops = {
	.name = "native",
	.provider = "hcasim",
	.module = "native",
	.hca_type = "native",
	.board_id = "HCASIM_native",
	.netdev = "ens",
	.pci_vendor = HCASIM_PCI_VENDOR,
	.pci_device = HCASIM_PCI_DEVICE,
	.pci_subvendor = HCASIM_PCI_SUBVENDOR,
	.pci_subdevice = HCASIM_PCI_SUBDEVICE,
	.pci_class = HCASIM_PCI_CLASS,
	.driver_id = HCASIM_DRIVER_ID,
	.uverbs_abi = HCASIM_UVERBS_ABI,
	.roce_v1 = DRV_ROCE_V1_CONFIGURED,
	.personality = &native_personality,
	.num_comp_vectors = COMMON_COMP_VECTORS,
	.sz_ucontext = sizeof(struct native_ucontext),
	.sz_pd = sizeof(struct common_pd),
	.sz_cq = sizeof(struct native_cq),
	.sz_srq = sizeof(struct native_srq),
	.sz_qp = sizeof(struct native_qp),
	.sz_mr = sizeof(struct common_mr),
	.sz_ah = sizeof(struct drv_ah),
	.sz_mw = sizeof(struct drv_mw),
	.sz_flow = sizeof(struct common_flow),
	.sz_dm = sizeof(struct common_dm),
	.probe = probe,
	.remove = remove_device,
	.irq = common_irq,
	.query_device = query_device,
	.query_device_ex = query_device_ex,
	.query_port = common_query_port,
	.set_port = common_set_port,
	.set_gid = common_set_gid,
	.query_counters = common_query_counters,
	.counters = counters,
	.send_mad = common_send_mad,
	.set_alarm = common_set_alarm,
	.alloc_ucontext = native_alloc_ucontext,
	.dealloc_ucontext = native_dealloc_ucontext,
	.query_ucontext = native_query_ucontext,
	.mmap = native_mmap,
	.cpu_work = native_cpu_work,
	.alloc_pd = alloc_pd,
	.dealloc_pd = common_dealloc_pd,
	.reg_mr = common_reg_mr,
	.rereg_mr = common_rereg_mr,
	.dereg_mr = common_dereg_mr,
	.query_port_speed = common_query_port_speed,
	.alloc_dmah = alloc_dmah,
	.comp_cntr = &native_comp_cntr_ops,
	.alloc_dm = native_alloc_dm,
	.free_dm = common_free_dm,
	.reg_dm_mr = common_reg_dm_mr,
	.page_request = common_page_request,
	.page_response = common_page_response,
	.map_pages = common_map_pages,
	.unmap_pages = common_unmap_pages,
	.prefetch_range = common_prefetch_range,
	.alloc_mw = common_alloc_mw,
	.dealloc_mw = common_dealloc_mw,
	.create_cq = native_create_cq,
	.resize_cq = native_resize_cq,
	.moderate_cq = common_moderate_cq,
	.destroy_cq = native_destroy_cq,
	.create_srq = native_create_srq,
	.modify_srq_limit = common_modify_srq_limit,
	.query_srq_limit = common_query_srq_limit,
	.destroy_srq = native_destroy_srq,
	.create_qp = native_create_qp,
	.modify_qp = native_modify_qp,
	.query_qp = common_query_qp,
	.destroy_qp = native_destroy_qp,
	.create_wq = native_create_wq,
	.modify_wq = native_modify_wq,
	.create_rwq_table = common_create_rwq_table,
	.destroy_rwq_table = common_destroy_rwq_table,
	.create_ah = create_ah,
	.destroy_ah = common_destroy_ah,
	.create_flow = create_flow,
	.destroy_flow = common_destroy_flow,
	.attach_mcast = common_attach_mcast,
	.detach_mcast = common_detach_mcast,
	.methods = native_methods,
	.num_methods = NATIVE_NUM_METHODS,
	.flush_orphan = native_flush_orphan,
};
