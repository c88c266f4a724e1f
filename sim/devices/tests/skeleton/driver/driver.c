// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The kernel driver of skeleton. So far it has devices, protection domains and regions; docs/add-a-device.md goes on. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devices/skeleton/format/format.h"
#include "driver.h"

static int probe(struct drv_device *dev, const struct drv_upcalls *up)
{
	struct skeleton_dev *n = calloc(1, sizeof(*n));
	int ret;

	if (!n)
		return -ENOMEM;
	ret = common_probe(&n->base, dev, up);
	if (ret)
		free(n);
	return ret;
}

static void remove_device(struct drv_device *dev)
{
	struct common_dev *n = common_dev(dev);

	common_remove(n);
	free(n);
}

/* What ibv_devinfo -v shows: a limit that is 0 is of something that the adapter does not have yet. */
static void query_device(struct drv_device *dev, struct ib_uverbs_ex_query_device_resp *out)
{
	memset(out, 0, sizeof(*out));
	out->base.node_guid = htobe64(dev->cfg->node_guid);
	out->base.sys_image_guid = htobe64(dev->cfg->node_guid);
	out->base.vendor_id = HCASIM_SKELETON_VENDOR_ID;
	out->base.max_mr_size = UINT64_MAX;
	out->base.page_size_cap = COMMON_PAGE_SIZE;
	out->base.max_mr = dev->cfg->max_mr;
	out->base.max_pd = COMMON_MAX_PD;
	out->base.max_pkeys = 1;
	out->base.phys_port_cnt = dev->cfg->num_ports;
}

/* A provider that needs to know something at ibv_open_device() gets it here, by common_udata_put(). */
static int alloc_ucontext(struct drv_ucontext *ctx, struct drv_udata *u)
{
	return 0;
}

static void dealloc_ucontext(struct drv_ucontext *ctx)
{
}

static int alloc_pd(struct drv_pd *pd, struct drv_udata *u)
{
	return common_alloc_pd(pd);
}

static const struct drv_counter counters[] = {HCASIM_SKELETON_COUNTERS, {0}};

const struct drv_ops skeleton_drv_ops = {
	.name = "skeleton",
	.provider = "rxe",
	.module = "skeleton",
	.hca_type = "skeleton",
	.board_id = "skeleton",
	.netdev = "ens",
	.pci_vendor = HCASIM_SKELETON_PCI_VENDOR,
	.pci_device = HCASIM_SKELETON_PCI_DEVICE,
	.pci_subvendor = HCASIM_SKELETON_PCI_SUBVENDOR,
	.pci_subdevice = HCASIM_SKELETON_PCI_SUBDEVICE,
	.pci_class = HCASIM_SKELETON_PCI_CLASS,
	.driver_id = HCASIM_SKELETON_DRIVER_ID,
	.uverbs_abi = HCASIM_SKELETON_UVERBS_ABI,
	.personality = &skeleton_personality,
	.num_comp_vectors = 1,
	.sz_ucontext = sizeof(struct drv_ucontext),
	.sz_pd = sizeof(struct common_pd),
	.sz_mr = sizeof(struct common_mr),
	.probe = probe,
	.remove = remove_device,
	.irq = common_irq,
	.query_device = query_device,
	.query_port = common_query_port,
	.set_port = common_set_port,
	.set_gid = common_set_gid,
	.query_counters = common_query_counters,
	.counters = counters,
	.send_mad = common_send_mad,
	.set_alarm = common_set_alarm,
	.alloc_ucontext = alloc_ucontext,
	.dealloc_ucontext = dealloc_ucontext,
	.alloc_pd = alloc_pd,
	.dealloc_pd = common_dealloc_pd,
	.reg_mr = common_reg_mr,
	.dereg_mr = common_dereg_mr,
};
