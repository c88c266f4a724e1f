// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The mlx5 family as its kernel driver presents it: identity, capabilities, address handles. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devices/mlx5/devx/devx.h"
#include "devices/mlx5/format/format.h"
#include "driver.h"

#define TSO_QPTS (1u << HCASIM_QPT_RAW_PACKET)

/*
 * Queue pairs get small numbers: at most twice as high as there can be queue pairs, and a rest. With so many that they
 * would reach the reserved ones, none can be reserved.
 */
static uint32_t reserved_blocks(const struct hca_config *cfg)
{
	return cfg->max_qp < HCASIM_MLX5_RESERVED_QPN_FIRST / 4 ? HCASIM_MLX5_RESERVED_QPN_BLOCKS : 0;
}

static int create(struct mlx5_dev *m, struct drv_device *dev, const struct drv_upcalls *up)
{
	const int ret = common_probe(&m->base, dev, up);

	if (ret)
		return ret;
	if (mlx5_clock_create(dev)) {
		common_remove(&m->base);
		return -ENOMEM;
	}
	return 0;
}

static int probe(struct drv_device *dev, const struct drv_upcalls *up)
{
	struct mlx5_dev *m = calloc(1, sizeof(*m));
	int ret;

	if (!m)
		return -ENOMEM;
	ret = create(m, dev, up);
	if (ret) {
		free(m);
		return ret;
	}
	numbers_init(&m->uars, HCASIM_MLX5_UAR_FIRST, HCASIM_MLX5_UAR_PAGES,
		     HCASIM_MLX5_UAR_PAGES - HCASIM_MLX5_UAR_FIRST);
	numbers_init(&m->reserved_qpns, 0, HCASIM_MLX5_RESERVED_QPN_BLOCKS, reserved_blocks(dev->cfg));
	numbers_init(&m->umems, 1, 1 + 2 * MLX5_MAX_UMEMS, MLX5_MAX_UMEMS);
	numbers_init(&m->flow_counters, 1, 1 + 2 * HCASIM_MLX5_FLOW_COUNTER_BLOCKS,
		     HCASIM_MLX5_FLOW_COUNTER_BLOCKS);
	numbers_init(&m->flow_tables, 1, 1 + 2 * HCASIM_MLX5_FLOW_TABLES, HCASIM_MLX5_FLOW_TABLES);
	numbers_init(&m->flow_groups, 1, 1 + 2 * HCASIM_MLX5_FLOW_GROUPS, HCASIM_MLX5_FLOW_GROUPS);
	numbers_init(&m->tirs, 1, 1 + 2 * HCASIM_MLX5_TIRS, HCASIM_MLX5_TIRS);
	numbers_init(&m->sched, 1, HCA_SCHED_END, HCA_SCHED_MAX);
	mlx5_devx_events_init(m, up);
	m->base.up = &m->up;
	return 0;
}

static uint64_t fw_ver(const struct drv_device *dev)
{
	__be64 raw;
	uint64_t v;

	hca_mmio_read(dev->hca, HCASIM_MLX5_BAR, HCASIM_MLX5_REG_FW_REV, &raw, sizeof(raw));
	v = be64toh(raw);
	return HCASIM_FIELD_GET(HCASIM_MLX5_FW_REV_MAJOR_MASK, v) << 32 |
	       HCASIM_FIELD_GET(HCASIM_MLX5_FW_REV_MINOR_MASK, v) << 16 |
	       HCASIM_FIELD_GET(HCASIM_MLX5_FW_REV_SUBMINOR_MASK, v);
}

static void query_device(struct drv_device *dev, struct ib_uverbs_ex_query_device_resp *out)
{
	common_query_device(dev, out);
	out->base.fw_ver = fw_ver(dev);
	out->base.vendor_id = HCASIM_MLX5_VENDOR_ID;
	out->base.vendor_part_id = HCASIM_MLX5_PCI_DEVICE;
	out->base.hw_ver = HCASIM_MLX5_PCI_REVISION;
	out->base.max_qp_wr = HCASIM_MLX5_MAX_QP_WR;
	out->base.max_sge = HCASIM_MLX5_MAX_SGE;
	out->base.max_sge_rd = HCASIM_MLX5_MAX_SGE;
	out->base.max_cqe = HCASIM_MLX5_MAX_CQE;
	if (out->base.max_srq) {
		out->base.max_srq_wr = HCASIM_MLX5_MAX_SRQ_WR;
		out->base.max_srq_sge = HCASIM_MLX5_MAX_SRQ_SGE;
	}
	out->hca_core_clock = HCASIM_MLX5_CORE_CLOCK_KHZ;
	out->raw_packet_caps |= IB_UVERBS_RAW_PACKET_CAP_CVLAN_STRIPPING;
}

static void query_device_ex(struct drv_device *dev, struct drv_udata *u)
{
	struct mlx5_ib_query_device_resp resp = {
		.response_length = sizeof(resp),
		.tso_caps = {HCASIM_MAX_TSO, TSO_QPTS},
		.rss_caps = {MLX5_RX_HASH_FIELDS, MLX5_RX_HASH_FUNC_TOEPLITZ},
		.cqe_comp_caps = {MLX5_CQE_COMP_NUM, MLX5_CQE_COMP_FORMATS},
		.packet_pacing_caps = {.qp_rate_limit_min = HCASIM_RATE_LIMIT_MIN,
				       .qp_rate_limit_max = HCASIM_RATE_LIMIT_MAX,
				       .supported_qpts = TSO_QPTS,
				       .cap_flags = MLX5_IB_PP_SUPPORT_BURST},
		.flags = MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_COMP |
			 MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD,
	};

	(void)dev;
	if (u->out_len < sizeof(resp))
		resp.response_length = (uint32_t)u->out_len;
	common_udata_put(u, &resp, sizeof(resp));
}

/* Address handles live in the WQE; the driver only resolves the destination. */
static int create_ah(struct drv_ah *base, const struct hca_av *av, struct drv_udata *u)
{
	struct mlx5_ib_create_ah_resp resp = {.response_length = sizeof(resp)};
	const int ret = common_create_ah(base);

	memcpy(resp.dmac, av->dmac, sizeof(resp.dmac));
	if (!ret)
		common_udata_put(u, &resp, sizeof(resp));
	return ret;
}

static void remove_device(struct drv_device *dev)
{
	struct mlx5_dev *m = mlx5_dev(dev);

	mlx5_clock_destroy(dev);
	numbers_free(&m->umems);
	numbers_free(&m->sched);
	numbers_free(&m->tirs);
	numbers_free(&m->flow_groups);
	numbers_free(&m->flow_tables);
	numbers_free(&m->flow_counters);
	numbers_free(&m->reserved_qpns);
	numbers_free(&m->uars);
	common_remove(&m->base);
	free(m);
}

static void query_port(struct drv_device *dev, uint8_t port, struct ib_uverbs_query_port_resp *out)
{
	common_query_port(dev, port, out);
	out->max_msg_sz = 1u << HCASIM_MLX5_LOG_MAX_MSG;
}

static int alloc_pd(struct drv_pd *pd, struct drv_udata *u)
{
	struct mlx5_ib_alloc_pd_resp resp = {0};
	const int ret = common_alloc_pd(pd);

	if (ret)
		return ret;
	resp.pdn = common_pdn(pd);
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}

/* How many translations a window shall have room for has no effect: each has one. */
static int alloc_mw(struct drv_mw *mw, struct drv_udata *u)
{
	struct mlx5_ib_alloc_mw req = {0};
	const int ret = u->in_len ? mlx5_udata_get(u, &req, sizeof(req), 0, -EOPNOTSUPP) : 0;

	if (ret)
		return ret;
	return req.comp_mask || req.reserved1 || req.reserved2 ? -EOPNOTSUPP : common_alloc_mw(mw, u);
}

static const struct drv_counter counters[] = {HCASIM_MLX5_COUNTERS, {0}};

const struct drv_ops mlx5_drv_ops = {
	.name = "mlx5",
	.provider = "mlx5",
	.module = "mlx5_core",
	.hca_type = "MT4123",
	.board_id = "HCASIM_mlx5",
	.netdev = "ens",
	.pci_vendor = HCASIM_MLX5_PCI_VENDOR,
	.pci_device = HCASIM_MLX5_PCI_DEVICE,
	.pci_subvendor = HCASIM_MLX5_PCI_SUBVENDOR,
	.pci_subdevice = HCASIM_MLX5_PCI_SUBDEVICE,
	.pci_class = HCASIM_MLX5_PCI_CLASS,
	.driver_id = HCASIM_MLX5_DRIVER_ID,
	.uverbs_abi = HCASIM_MLX5_UVERBS_ABI,
	.roce_v1 = DRV_ROCE_V1_ALWAYS,
	.personality = &mlx5_personality,
	.num_comp_vectors = COMMON_COMP_VECTORS,
	.sz_ucontext = sizeof(struct mlx5_ucontext),
	.sz_pd = sizeof(struct common_pd),
	.sz_cq = sizeof(struct mlx5_cq),
	.sz_srq = sizeof(struct mlx5_srq),
	.sz_qp = sizeof(struct mlx5_qp),
	.sz_mr = sizeof(struct common_mr),
	.sz_ah = sizeof(struct drv_ah),
	.sz_mw = sizeof(struct drv_mw),
	.sz_flow = sizeof(struct common_flow),
	.sz_dm = sizeof(struct common_dm),
	.probe = probe,
	.remove = remove_device,
	.irq = common_irq,
	.update_clock = mlx5_clock_update,
	.query_device = query_device,
	.query_device_ex = query_device_ex,
	.query_port = query_port,
	.query_port_speed = common_query_port_speed,
	.set_port = common_set_port,
	.set_gid = common_set_gid,
	.query_counters = common_query_counters,
	.counters = counters,
	.send_mad = common_send_mad,
	.set_alarm = common_set_alarm,
	.alloc_ucontext = mlx5_alloc_ucontext,
	.query_ucontext = mlx5_query_ucontext,
	.dealloc_ucontext = mlx5_dealloc_ucontext,
	.mmap = mlx5_mmap,
	.alloc_pd = alloc_pd,
	.dealloc_pd = common_dealloc_pd,
	.reg_mr = common_reg_mr,
	.rereg_mr = common_rereg_mr,
	.dereg_mr = common_dereg_mr,
	.free_dm = common_free_dm,
	.reg_dm_mr = common_reg_dm_mr,
	.page_request = common_page_request,
	.page_response = common_page_response,
	.map_pages = common_map_pages,
	.unmap_pages = common_unmap_pages,
	.prefetch_range = common_prefetch_range,
	.alloc_mw = alloc_mw,
	.dealloc_mw = common_dealloc_mw,
	.create_cq = mlx5_create_cq,
	.resize_cq = mlx5_resize_cq,
	.moderate_cq = common_moderate_cq,
	.destroy_cq = mlx5_destroy_cq,
	.create_srq = mlx5_create_srq,
	.resize_srq = mlx5_resize_srq,
	.modify_srq_limit = common_modify_srq_limit,
	.query_srq_limit = common_query_srq_limit,
	.destroy_srq = common_destroy_srq,
	.create_qp = mlx5_create_qp,
	.modify_qp = mlx5_modify_qp,
	.query_qp = mlx5_query_qp,
	.destroy_qp = mlx5_destroy_qp,
	.create_wq = mlx5_create_wq,
	.modify_wq = common_modify_wq,
	.wq_flags = IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING,
	.set_wq_flags = mlx5_set_wq_flags,
	.create_rwq_table = common_create_rwq_table,
	.destroy_rwq_table = common_destroy_rwq_table,
	.create_ah = create_ah,
	.destroy_ah = common_destroy_ah,
	.create_flow = common_create_flow,
	.destroy_flow = common_destroy_flow,
	.attach_mcast = common_attach_mcast,
	.detach_mcast = common_detach_mcast,
	.methods = mlx5_methods,
	.num_methods = MLX5_NUM_METHODS,
	.objects = mlx5_objects,
	.num_objects = MLX5_NUM_OBJECTS,
	.flush_orphan = mlx5_flush_orphan,
};
