// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A software RoCE device as its kernel driver presents it: probe, capabilities, PD, MR, MW, AH. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include <rdma/ib_user_ioctl_verbs.h>

#include "devices/rxe/format/format.h"

#define WIDTH_1X   1
#define ATOMIC_HCA 1
#define VENDOR_ID  0xffffff
/* The Ethernet adapter below it, in whose folder of sysfs it stands: a virtio one. */
#define NIC_VENDOR 0x1af4
#define NIC_DEVICE 0x1000
#define NIC_CLASS  0x020000

static int probe(struct drv_device *dev, const struct drv_upcalls *up)
{
	struct rxe_dev *n = calloc(1, sizeof(*n));
	int ret;

	if (!n)
		return -ENOMEM;
	numbers_init(&n->ahs, 1, HCASIM_RXE_MAX_AH + 1, HCASIM_RXE_MAX_AH);
	STAILQ_INIT(&n->dead);
	ret = common_probe(&n->base, dev, up);
	if (ret) {
		free(n);
		return ret;
	}
	n->base.max_mcasts = HCASIM_RXE_MAX_MCAST;
	n->base.completion = rxe_completion;
	return 0;
}

static void remove_device(struct drv_device *dev)
{
	struct rxe_dev *n = rxe_dev(dev);

	rxe_mem_reap(n, true);
	common_remove(&n->base);
	numbers_free(&n->ahs);
	free(n);
}

static void query_device(struct drv_device *dev, struct ib_uverbs_ex_query_device_resp *out)
{
	const struct hca_config *cfg = dev->cfg;

	memset(out, 0, sizeof(*out));
	out->base = (struct ib_uverbs_query_device_resp){
		.node_guid = htobe64(cfg->node_guid),
		.sys_image_guid = htobe64(cfg->node_guid),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 0xfffff000,
		.vendor_id = VENDOR_ID,
		.max_qp = cfg->max_qp,
		.max_qp_wr = HCASIM_RXE_MAX_WR - 1,
		.device_cap_flags = IB_UVERBS_DEVICE_BAD_PKEY_CNTR | IB_UVERBS_DEVICE_BAD_QKEY_CNTR |
				    IB_UVERBS_DEVICE_AUTO_PATH_MIG | IB_UVERBS_DEVICE_CHANGE_PHY_PORT |
				    IB_UVERBS_DEVICE_UD_AV_PORT_ENFORCE | IB_UVERBS_DEVICE_PORT_ACTIVE_EVENT |
				    IB_UVERBS_DEVICE_SYS_IMAGE_GUID | IB_UVERBS_DEVICE_RC_RNR_NAK_GEN |
				    IB_UVERBS_DEVICE_MEM_MGT_EXTENSIONS | IB_UVERBS_DEVICE_MEM_WINDOW |
				    IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2B,
		.max_sge = HCASIM_RXE_MAX_SGE,
		.max_sge_rd = HCASIM_RXE_MAX_SGE,
		.max_cq = cfg->max_cq,
		.max_cqe = HCASIM_RXE_MAX_CQE,
		.max_mr = cfg->max_mr,
		.max_mw = cfg->max_mw,
		.max_pd = COMMON_MAX_PD,
		.max_qp_rd_atom = cfg->max_rd_atomic,
		.max_res_rd_atom = cfg->max_rd_atomic * cfg->max_qp,
		.max_qp_init_rd_atom = cfg->max_rd_atomic,
		.atomic_cap = ATOMIC_HCA,
		.max_srq = cfg->max_srq,
		.max_srq_wr = cfg->max_srq ? HCASIM_RXE_MAX_WR - 1 : 0,
		.max_srq_sge = cfg->max_srq ? HCASIM_RXE_MAX_SGE : 0,
		.max_ah = HCASIM_RXE_MAX_AH,
		.max_mcast_grp = HCASIM_RXE_MAX_MCAST,
		.max_mcast_qp_attach = cfg->max_qp,
		.max_total_mcast_qp_attach = HCASIM_RXE_MAX_MCAST,
		.max_pkeys = 1,
		.local_ca_ack_delay = 15,
		.phys_port_cnt = cfg->num_ports,
	};
	out->device_cap_flags_ex = (uint32_t)out->base.device_cap_flags | IB_UVERBS_DEVICE_FLUSH_GLOBAL |
				   IB_UVERBS_DEVICE_FLUSH_PERSISTENT | IB_UVERBS_DEVICE_ATOMIC_WRITE;
}

static void query_port(struct drv_device *dev, uint8_t port, struct ib_uverbs_query_port_resp *out)
{
	common_query_port(dev, port, out);
	out->port_cap_flags = IB_UVERBS_PCF_CM_SUP;
	out->active_width = WIDTH_1X;
	out->active_speed = 1;
}

static int alloc_pd(struct drv_pd *pd, struct drv_udata *u)
{
	return common_alloc_pd(pd);
}

/* As rxe: a region keeps its memory. */
static int rereg_mr(struct drv_mr *mr, uint32_t flags, uint64_t start, uint64_t length, uint64_t iova,
		    uint32_t access, struct drv_pd *pd)
{
	if (flags & 1) /* IB_MR_REREG_TRANS */
		return -EOPNOTSUPP;
	return common_rereg_mr(mr, flags, start, length, iova, access, pd);
}

/* The library names it by its number in WQEs. */
static int create_ah(struct drv_ah *base, const struct hca_av *av, struct drv_udata *u)
{
	struct rxe_ah *ah = (struct rxe_ah *)base;
	struct hcasim_rxe_create_ah_resp resp = {0};
	int ret;

	if (u->out_len < sizeof(resp)) /* libraries before AH numbers resolve addresses themselves */
		return -EINVAL;
	ah->av = *av;
	ret = numbers_add(&rxe_dev(base->pd->ctx->dev)->ahs, ah, &ah->number);
	if (ret)
		return ret;
	resp.ah_num = htole32(ah->number);
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}

static int destroy_ah(struct drv_ah *base)
{
	numbers_remove(&rxe_dev(base->pd->ctx->dev)->ahs, ((struct rxe_ah *)base)->number);
	return 0;
}

static const struct drv_counter counters[] = {HCASIM_RXE_COUNTERS, {0}};

const struct drv_ops rxe_drv_ops = {
	.name = "rxe",
	.provider = "rxe",
	.module = "rdma_rxe",
	.hca_type = "rxe",
	.board_id = "rxe",
	.netdev = "ens",
	.pci_vendor = NIC_VENDOR,
	.pci_device = NIC_DEVICE,
	.pci_subvendor = NIC_VENDOR,
	.pci_subdevice = 1,
	.pci_class = NIC_CLASS,
	.driver_id = HCASIM_RXE_DRIVER_ID,
	.uverbs_abi = HCASIM_RXE_UVERBS_ABI,
	.personality = &rxe_personality,
	.num_comp_vectors = 1,
	.sz_ucontext = sizeof(struct rxe_ucontext),
	.sz_pd = sizeof(struct common_pd),
	.sz_cq = sizeof(struct rxe_cq),
	.sz_srq = sizeof(struct rxe_srq),
	.sz_qp = sizeof(struct rxe_qp),
	.sz_mr = sizeof(struct common_mr),
	.sz_ah = sizeof(struct rxe_ah),
	.sz_mw = sizeof(struct drv_mw),
	.probe = probe,
	.remove = remove_device,
	.irq = common_irq,
	.query_device = query_device,
	.query_port = query_port,
	.set_port = common_set_port,
	.set_gid = common_set_gid,
	.query_counters = common_query_counters,
	.counters = counters,
	.send_mad = common_send_mad,
	.set_alarm = common_set_alarm,
	.alloc_ucontext = rxe_alloc_ucontext,
	.dealloc_ucontext = rxe_dealloc_ucontext,
	.mmap = rxe_mmap,
	.alloc_pd = alloc_pd,
	.dealloc_pd = common_dealloc_pd,
	.reg_mr = common_reg_mr,
	.rereg_mr = rereg_mr,
	.dereg_mr = common_dereg_mr,
	.alloc_mw = common_alloc_mw,
	.dealloc_mw = common_dealloc_mw,
	.create_cq = rxe_create_cq,
	.resize_cq = rxe_resize_cq,
	.req_notify_cq = rxe_req_notify_cq,
	.destroy_cq = rxe_destroy_cq,
	.create_srq = rxe_create_srq,
	.modify_srq_limit = common_modify_srq_limit,
	.query_srq_limit = common_query_srq_limit,
	.resize_srq = rxe_resize_srq,
	.destroy_srq = rxe_destroy_srq,
	.create_qp = rxe_create_qp,
	.modify_qp = rxe_modify_qp,
	.query_qp = common_query_qp,
	.destroy_qp = rxe_destroy_qp,
	.post_send = rxe_post_send,
	.create_ah = create_ah,
	.destroy_ah = destroy_ah,
	.attach_mcast = common_attach_mcast,
	.detach_mcast = common_detach_mcast,
	.flush_orphan = rxe_flush_orphan,
};
