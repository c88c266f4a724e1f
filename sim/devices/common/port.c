// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Ports: what they say of their link, and their GID tables. */
#include <string.h>

#include "devices/common/common.h"

#include <rdma/ib_user_ioctl_verbs.h>

#define MTU_4096      5
#define WIDTH_4X      2 /* IBTA PortInfo LinkWidthActive */
#define PORT_ACTIVE   4
#define PORT_DOWN     1
#define PHYS_LINK_UP  5
#define PHYS_DISABLED 3
#define ETHERNET      2

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

/* IBTA 14.2.5.6: 16 bits, which do not wrap. */
static uint32_t violations(uint64_t count)
{
	return count < UINT16_MAX ? (uint32_t)count : UINT16_MAX;
}

void common_query_port(struct drv_device *dev, uint8_t port, struct ib_uverbs_query_port_resp *out)
{
	const bool up = hca_port_up(dev->hca, port);
	struct hca_counters counters;

	hca_port_counters(dev->hca, port, &counters);
	memset(out, 0, sizeof(*out));
	out->state = up ? PORT_ACTIVE : PORT_DOWN;
	out->phys_state = up ? PHYS_LINK_UP : PHYS_DISABLED;
	out->max_mtu = MTU_4096;
	out->active_mtu = port_mtu(dev);
	out->gid_tbl_len = COMMON_GID_TABLE;
	out->pkey_tbl_len = 1;
	out->port_cap_flags = IB_UVERBS_PCF_CM_SUP | IB_UVERBS_PCF_IP_BASED_GIDS;
	out->max_msg_sz = HCASIM_MAX_MSG;
	out->bad_pkey_cntr = violations(counters.refused_pkey);
	out->qkey_viol_cntr = violations(counters.refused_qkey);
	out->max_vl_num = 1;
	out->active_width = WIDTH_4X;
	out->active_speed = lane_speed(port_rate(dev));
	out->link_layer = ETHERNET;
}

uint64_t common_query_port_speed(struct drv_device *dev, uint8_t port)
{
	return hca_port_up(dev->hca, port) ? port_rate(dev) / 100 : 0;
}

int common_set_port(struct drv_device *dev, uint8_t port, bool up)
{
	return hca_port_set(dev->hca, port, up, port_mtu(dev));
}

int common_set_gid(struct drv_device *dev, uint8_t port, unsigned int index, const uint8_t gid[16], bool v1)
{
	return hca_gid_set(dev->hca, port, index, gid, v1);
}
