// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Devices: probe and remove; what the adapter can do, whatever its formats. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devices/common/common.h"

#include <rdma/ib_user_ioctl_verbs.h>

#define ATOMIC_HCA 1
#define PD_NUMBERS (1u << 24)

static int dm_create(struct common_dev *n)
{
	n->dm_owner =
		calloc(n->dev->ops->personality->dm.size / COMMON_PAGE_SIZE + 1, sizeof(n->dm_owner[0]));
	return n->dm_owner ? 0 : -ENOMEM;
}

int common_probe(struct common_dev *n, struct drv_device *dev, const struct drv_upcalls *up)
{
	int ret;

	n->dev = dev;
	n->up = up;
	n->max_mcasts = COMMON_MAX_MCAST;
	dev->priv = n;
	numbers_init(&n->pds, 0, PD_NUMBERS, COMMON_MAX_PD);
	numbers_init(&n->rwq_tables, 1, HCASIM_MAX_RSS_TABLES + 1, HCASIM_MAX_RSS_TABLES);
	ret = dm_create(n);
	if (!ret)
		ret = common_eqs_create(n);
	for (unsigned int p = 1; !ret && p <= dev->cfg->num_ports; p++)
		ret = common_set_port(dev, (uint8_t)p, true);
	if (ret)
		common_remove(n);
	return ret;
}

void common_remove(struct common_dev *n)
{
	common_eqs_destroy(n);
	numbers_free(&n->pds);
	numbers_free(&n->rwq_tables);
	free(n->cqs.obj);
	free(n->qps.obj);
	free(n->srqs.obj);
	free(n->dm_owner);
	n->dev->priv = NULL;
}

static void query_base(const struct drv_device *dev, struct ib_uverbs_query_device_resp *out)
{
	const struct hca_config *cfg = dev->cfg;

	*out = (struct ib_uverbs_query_device_resp){
		.node_guid = htobe64(cfg->node_guid),
		.sys_image_guid = htobe64(cfg->node_guid),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = ~(uint64_t)(COMMON_PAGE_SIZE - 1),
		.max_qp = cfg->max_qp,
		.device_cap_flags = IB_UVERBS_DEVICE_CURR_QP_STATE_MOD | IB_UVERBS_DEVICE_SYS_IMAGE_GUID |
				    IB_UVERBS_DEVICE_PORT_ACTIVE_EVENT | IB_UVERBS_DEVICE_RC_RNR_NAK_GEN |
				    IB_UVERBS_DEVICE_MEM_MGT_EXTENSIONS | IB_UVERBS_DEVICE_MEM_WINDOW |
				    IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2B | IB_UVERBS_DEVICE_UD_IP_CSUM |
				    IB_UVERBS_DEVICE_RAW_IP_CSUM | IB_UVERBS_DEVICE_MANAGED_FLOW_STEERING |
				    (cfg->max_srq ? IB_UVERBS_DEVICE_XRC : 0),
		.max_cq = cfg->max_cq,
		.max_mr = cfg->max_mr,
		.max_mw = cfg->max_mw,
		.max_pd = COMMON_MAX_PD,
		.max_qp_rd_atom = cfg->max_rd_atomic,
		.max_res_rd_atom = cfg->max_rd_atomic * cfg->max_qp,
		.max_qp_init_rd_atom = cfg->max_rd_atomic,
		.atomic_cap = ATOMIC_HCA,
		.max_srq = cfg->max_srq,
		.max_ah = COMMON_MAX_AH,
		.max_raw_ethy_qp = cfg->max_qp,
		.max_mcast_grp = COMMON_MAX_MCAST,
		.max_mcast_qp_attach = cfg->max_qp,
		.max_total_mcast_qp_attach = COMMON_MAX_MCAST,
		.max_pkeys = 1,
		.local_ca_ack_delay = 15,
		.phys_port_cnt = cfg->num_ports,
	};
}

void common_query_device(struct drv_device *dev, struct ib_uverbs_ex_query_device_resp *out)
{
	memset(out, 0, sizeof(*out));
	query_base(dev, &out->base);
	out->device_cap_flags_ex = (uint32_t)out->base.device_cap_flags;
	out->raw_packet_caps = IB_UVERBS_RAW_PACKET_CAP_IP_CSUM;
	out->cq_moderation_caps.max_cq_moderation_count = HCASIM_MAX_CQ_MODERATION;
	out->cq_moderation_caps.max_cq_moderation_period = HCASIM_MAX_CQ_MODERATION;
	out->max_dm_size = dev->ops->personality->dm.size;
	out->timestamp_mask = UINT64_MAX;
	common_odp_caps(out);
	common_rss_caps(dev, out);
}

void common_query_counters(struct drv_device *dev, uint8_t port, struct hca_counters *out)
{
	hca_port_counters(dev->hca, port, out);
}
