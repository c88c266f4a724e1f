// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The native adapter as its kernel driver presents it: probe, capabilities, PD, MR, AH. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include <rdma/ib_user_ioctl_verbs.h>

#include "format.h"

#define MTU_4096      5
#define WIDTH_4X      2 /* IBTA PortInfo LinkWidthActive */
#define PORT_ACTIVE   4
#define PORT_DOWN     1
#define PHYS_LINK_UP  5
#define PHYS_DISABLED 3
#define ETHERNET      2
#define ATOMIC_HCA    1
#define PD_NUMBERS    (1u << 24)
#define MAX_MSG       (1u << 31) /* IBTA 9.8.1.1.1 */

/* IBTA PortInfo LinkSpeedActive (and its extensions) of four lanes that make `rate` Mb/s or more. */
static uint8_t lane_speed(uint32_t rate)
{
	static const struct {
		uint32_t rate; /* Mb/s of four lanes */
		uint8_t speed;
	} tab[] = {{10000, 1}, {20000, 2}, {40000, 8}, {56000, 16}, {100000, 32}, {200000, 64}};

	for (size_t i = 0; i < sizeof(tab) / sizeof(tab[0]); i++) {
		if (rate <= tab[i].rate)
			return tab[i].speed;
	}
	return 128;
}

static uint32_t port_rate(const struct drv_device *dev)
{
	return dev->cfg->port_rate ? dev->cfg->port_rate : 40000; /* Mb/s */
}

static uint8_t port_mtu(const struct drv_device *dev)
{
	return dev->cfg->port_mtu ? dev->cfg->port_mtu : MTU_4096;
}

static int probe(struct drv_device *dev, const struct drv_upcalls *up)
{
	struct native_dev *n = calloc(1, sizeof(*n));
	int ret;

	if (!n)
		return -ENOMEM;
	n->dev = dev;
	n->up = up;
	dev->priv = n;
	numbers_init(&n->uars, 1, HCASIM_UAR_PAGES, HCASIM_UAR_PAGES - 1); /* page 0 is the driver's own */
	numbers_init(&n->pds, 0, PD_NUMBERS, NATIVE_MAX_PD);
	numbers_init(&n->rwq_tables, 1, HCASIM_MAX_RSS_TABLES + 1, HCASIM_MAX_RSS_TABLES);
	STAILQ_INIT(&n->dead);
	ret = native_eqs_create(n);
	for (unsigned int p = 1; !ret && p <= dev->cfg->num_ports; p++)
		ret = hca_port_set(dev->hca, p, true, port_mtu(dev));
	if (ret) {
		native_eqs_destroy(n);
		free(n);
		dev->priv = NULL;
	}
	return ret;
}

static void remove_device(struct drv_device *dev)
{
	struct native_dev *n = native_dev(dev);

	native_eqs_destroy(n);
	native_mem_reap(n, true);
	numbers_free(&n->uars);
	numbers_free(&n->pds);
	numbers_free(&n->rwq_tables);
	free(n->cqs.obj);
	free(n->qps.obj);
	free(n->srqs.obj);
	free(n);
	dev->priv = NULL;
}

static uint64_t fw_ver(struct drv_device *dev)
{
	__le64 v = 0;

	hca_mmio_read(dev->hca, HCASIM_BAR_REGS, HCASIM_REG_FW_VER, &v, sizeof(v));
	return le64toh(v);
}

static void query_device(struct drv_device *dev, struct ib_uverbs_ex_query_device_resp *out)
{
	const struct hca_config *cfg = dev->cfg;

	memset(out, 0, sizeof(*out));
	out->base = (struct ib_uverbs_query_device_resp){
		.fw_ver = fw_ver(dev),
		.node_guid = htobe64(cfg->node_guid),
		.sys_image_guid = htobe64(cfg->node_guid),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = ~(uint64_t)(NATIVE_PAGE_SIZE - 1),
		.vendor_id = HCASIM_PCI_VENDOR,
		.vendor_part_id = HCASIM_PCI_DEVICE,
		.hw_ver = HCASIM_PCI_REVISION,
		.max_qp = cfg->max_qp,
		.max_qp_wr = HCASIM_MAX_QP_WR,
		.device_cap_flags = IB_UVERBS_DEVICE_CURR_QP_STATE_MOD | IB_UVERBS_DEVICE_SYS_IMAGE_GUID |
				    IB_UVERBS_DEVICE_PORT_ACTIVE_EVENT | IB_UVERBS_DEVICE_RC_RNR_NAK_GEN |
				    IB_UVERBS_DEVICE_MEM_WINDOW | IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2B |
				    IB_UVERBS_DEVICE_UD_IP_CSUM | IB_UVERBS_DEVICE_RAW_IP_CSUM |
				    IB_UVERBS_DEVICE_MANAGED_FLOW_STEERING |
				    (cfg->max_srq ? IB_UVERBS_DEVICE_SRQ_RESIZE | IB_UVERBS_DEVICE_XRC : 0),
		.max_sge = HCASIM_MAX_SGE,
		.max_sge_rd = HCASIM_MAX_SGE,
		.max_cq = cfg->max_cq,
		.max_cqe = HCASIM_MAX_CQE,
		.max_mr = cfg->max_mr,
		.max_mw = cfg->max_mw,
		.max_pd = NATIVE_MAX_PD,
		.max_qp_rd_atom = cfg->max_rd_atomic,
		.max_res_rd_atom = cfg->max_rd_atomic * cfg->max_qp,
		.max_qp_init_rd_atom = cfg->max_rd_atomic,
		.atomic_cap = ATOMIC_HCA,
		.max_srq = cfg->max_srq,
		.max_srq_wr = cfg->max_srq ? HCASIM_MAX_SRQ_WR : 0,
		.max_srq_sge = cfg->max_srq ? HCASIM_MAX_SGE : 0,
		.max_ah = NATIVE_MAX_AH,
		.max_raw_ethy_qp = cfg->max_qp,
		.max_mcast_grp = NATIVE_MAX_MCAST,
		.max_mcast_qp_attach = cfg->max_qp,
		.max_total_mcast_qp_attach = NATIVE_MAX_MCAST,
		.max_pkeys = 1,
		.local_ca_ack_delay = 15,
		.phys_port_cnt = cfg->num_ports,
	};
	out->device_cap_flags_ex = (uint32_t)out->base.device_cap_flags | IB_UVERBS_DEVICE_FLUSH_GLOBAL |
				   IB_UVERBS_DEVICE_ATOMIC_WRITE;
	out->raw_packet_caps = IB_UVERBS_RAW_PACKET_CAP_IP_CSUM;
	out->cq_moderation_caps.max_cq_moderation_count = HCASIM_MAX_CQ_MODERATION;
	out->cq_moderation_caps.max_cq_moderation_period = HCASIM_MAX_CQ_MODERATION;
	out->max_dm_size = HCASIM_BAR_DM_SIZE;
	out->timestamp_mask = UINT64_MAX;
	native_odp_caps(out);
	native_rss_caps(dev, out);
	if (cfg->max_srq)
		native_tm_caps(out);
	out->hca_core_clock = 1000000000; /* kHz: one tick is a picosecond */
}

static void query_device_ex(struct drv_device *dev, struct drv_udata *u)
{
	const struct hcasim_query_device_ex_resp resp = {
		.rate_limit_min = HCASIM_RATE_LIMIT_MIN,
		.rate_limit_max = HCASIM_RATE_LIMIT_MAX,
		.rate_limit_qpts = 1u << HCASIM_QPT_RAW_PACKET,
	};

	native_udata_put(u, &resp, sizeof(resp));
}

static void query_port(struct drv_device *dev, uint8_t port, struct ib_uverbs_query_port_resp *out)
{
	const bool up = hca_port_up(dev->hca, port);

	memset(out, 0, sizeof(*out));
	out->state = up ? PORT_ACTIVE : PORT_DOWN;
	out->phys_state = up ? PHYS_LINK_UP : PHYS_DISABLED;
	out->max_mtu = MTU_4096;
	out->active_mtu = port_mtu(dev);
	out->gid_tbl_len = NATIVE_GID_TABLE;
	out->pkey_tbl_len = 1;
	out->port_cap_flags = IB_UVERBS_PCF_CM_SUP | IB_UVERBS_PCF_IP_BASED_GIDS;
	out->max_msg_sz = MAX_MSG;
	out->max_vl_num = 1;
	out->active_width = WIDTH_4X;
	out->active_speed = lane_speed(port_rate(dev));
	out->link_layer = ETHERNET;
}

static uint64_t query_port_speed(struct drv_device *dev, uint8_t port)
{
	return hca_port_up(dev->hca, port) ? port_rate(dev) / 100 : 0;
}

static int set_port(struct drv_device *dev, uint8_t port, bool up)
{
	return hca_port_set(dev->hca, port, up, port_mtu(dev));
}

static void query_congestion(struct drv_device *dev, struct hca_congestion *out)
{
	hca_congestion(dev->hca, out);
}

static void query_counters(struct drv_device *dev, struct hca_counters *out)
{
	hca_counters(dev->hca, out);
}

static int alloc_pd(struct drv_pd *base, struct drv_udata *u)
{
	struct native_dev *n = native_dev(base->ctx->dev);
	struct native_pd *pd = (struct native_pd *)base;
	struct hcasim_alloc_pd_resp resp = {0};
	int ret;

	ret = numbers_add(&n->pds, pd, &pd->pdn);
	if (ret)
		return ret;
	resp.pdn = pd->pdn;
	native_udata_put(u, &resp, sizeof(resp));
	return 0;
}

static void dealloc_pd(struct drv_pd *base)
{
	numbers_remove(&native_dev(base->ctx->dev)->pds, ((struct native_pd *)base)->pdn);
}

static int reg_mr(struct drv_mr *base, uint64_t start, uint64_t length, uint64_t iova, uint32_t access,
		  struct drv_udata *u)
{
	struct native_mr *mr = (struct native_mr *)base;
	int ret;

	mr->attr = (struct hca_mr_attr){
		.pdn = native_pdn(base->pd),
		.access = access,
		.pasid = base->pasid,
		.va = start,
		.iova = iova,
		.length = length,
		.tph = base->tph,
	};
	ret = hca_mr_create(base->pd->ctx->dev->hca, &mr->attr, &base->lkey);
	base->rkey = base->lkey;
	return ret;
}

static int rereg_mr(struct drv_mr *base, uint32_t flags, uint64_t start, uint64_t length, uint64_t iova,
		    uint32_t access, struct drv_pd *pd)
{
	struct native_mr *mr = (struct native_mr *)base;
	struct hca_mr_attr attr = mr->attr;
	uint32_t key;
	int ret;

	if (flags & 1) { /* IB_MR_REREG_TRANS */
		attr.pasid = base->pasid;
		attr.va = start;
		attr.length = length;
		attr.iova = iova;
	}
	if (pd)
		attr.pdn = native_pdn(pd);
	if (flags & 4) /* IB_MR_REREG_ACCESS */
		attr.access = access;
	ret = hca_mr_modify(base->pd->ctx->dev->hca, base->lkey, &attr, &key);
	if (ret)
		return ret;
	mr->attr = attr;
	base->lkey = key;
	base->rkey = key;
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

static int dereg_mr(struct drv_mr *base)
{
	return hca_mr_destroy(base->pd->ctx->dev->hca, base->lkey);
}

static int alloc_mw(struct drv_mw *mw, struct drv_udata *u)
{
	return hca_mw_create(mw->pd->ctx->dev->hca, native_pdn(mw->pd), mw->type, &mw->rkey);
}

static int dealloc_mw(struct drv_mw *mw)
{
	return hca_mw_destroy(mw->pd->ctx->dev->hca, mw->rkey);
}

/* Address handles live in the WQE; the driver only resolves the destination. */
static int create_ah(struct drv_ah *base, const struct hca_av *av, struct drv_udata *u)
{
	struct native_dev *n = native_dev(base->pd->ctx->dev);
	struct hcasim_create_ah_resp resp = {.vlan = 0xffff};

	if (n->num_ahs == NATIVE_MAX_AH)
		return -ENOMEM;
	n->num_ahs++;
	memcpy(resp.dmac, av->dmac, sizeof(resp.dmac));
	native_udata_put(u, &resp, sizeof(resp));
	return 0;
}

static int destroy_ah(struct drv_ah *base)
{
	native_dev(base->pd->ctx->dev)->num_ahs--;
	return 0;
}

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
	.personality = &native_personality,
	.num_comp_vectors = NATIVE_COMP_VECTORS,
	.sz_ucontext = sizeof(struct native_ucontext),
	.sz_pd = sizeof(struct native_pd),
	.sz_cq = sizeof(struct native_cq),
	.sz_srq = sizeof(struct native_srq),
	.sz_qp = sizeof(struct native_qp),
	.sz_mr = sizeof(struct native_mr),
	.sz_ah = sizeof(struct native_ah),
	.sz_mw = sizeof(struct drv_mw),
	.sz_flow = sizeof(struct native_flow),
	.sz_dm = sizeof(struct native_dm),
	.probe = probe,
	.remove = remove_device,
	.irq = native_irq,
	.query_device = query_device,
	.query_device_ex = query_device_ex,
	.query_port = query_port,
	.set_port = set_port,
	.set_gid = native_set_gid,
	.query_counters = query_counters,
	.query_congestion = query_congestion,
	.send_mad = native_send_mad,
	.set_alarm = native_set_alarm,
	.alloc_ucontext = native_alloc_ucontext,
	.dealloc_ucontext = native_dealloc_ucontext,
	.query_ucontext = native_query_ucontext,
	.mmap = native_mmap,
	.cpu_work = native_cpu_work,
	.alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,
	.reg_mr = reg_mr,
	.rereg_mr = rereg_mr,
	.dereg_mr = dereg_mr,
	.query_port_speed = query_port_speed,
	.alloc_dmah = alloc_dmah,
	.alloc_dm = native_alloc_dm,
	.free_dm = native_free_dm,
	.reg_dm_mr = native_reg_dm_mr,
	.page_request = native_page_request,
	.page_response = native_page_response,
	.map_pages = native_map_pages,
	.unmap_pages = native_unmap_pages,
	.prefetch_range = native_prefetch_range,
	.alloc_mw = alloc_mw,
	.dealloc_mw = dealloc_mw,
	.create_cq = native_create_cq,
	.resize_cq = native_resize_cq,
	.moderate_cq = native_moderate_cq,
	.destroy_cq = native_destroy_cq,
	.create_srq = native_create_srq,
	.modify_srq_limit = native_modify_srq_limit,
	.query_srq_limit = native_query_srq_limit,
	.destroy_srq = native_destroy_srq,
	.create_qp = native_create_qp,
	.modify_qp = native_modify_qp,
	.query_qp = native_query_qp,
	.destroy_qp = native_destroy_qp,
	.create_wq = native_create_wq,
	.modify_wq = native_modify_wq,
	.create_rwq_table = native_create_rwq_table,
	.destroy_rwq_table = native_destroy_rwq_table,
	.create_ah = create_ah,
	.destroy_ah = destroy_ah,
	.create_flow = native_create_flow,
	.destroy_flow = native_destroy_flow,
	.attach_mcast = native_attach_mcast,
	.detach_mcast = native_detach_mcast,
	.methods = native_methods,
	.num_methods = NATIVE_NUM_METHODS,
	.flush_orphan = native_flush_orphan,
};
