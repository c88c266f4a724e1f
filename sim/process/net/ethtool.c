// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests of ethtool(8) about an interface: driver, link, address. Nothing can be set. */
#include <errno.h>
#include <linux/ethtool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "process/preload/preload.h"
#include "process/net/ethtool.h"

#define MASK_WORDS ((__ETHTOOL_LINK_MODE_MASK_NBITS + 31) / 32)

static bool is_up(const struct netif *n)
{
	return n->flags & IFF_UP;
}

static int give(const void *own, void *user, size_t size)
{
	return netdev_put(own, user, size) ? 0 : -EFAULT;
}

static int driver(const struct netif *n, void *user)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct utsname host;

	if (!uname(&host)) /* a driver of the kernel has its version */
		snprintf(info.version, sizeof(info.version), "%.31s", host.release);
	snprintf(info.driver, sizeof(info.driver), "%s", n->driver);
	snprintf(info.fw_version, sizeof(info.fw_version), "%s", n->firmware);
	snprintf(info.bus_info, sizeof(info.bus_info), "%s", n->bus);
	return give(&info, user, sizeof(info));
}

static int settings(const struct netif *n, void *user)
{
	struct {
		struct ethtool_link_settings s;
		uint32_t masks[3 * MASK_WORDS]; /* no modes are reported */
	} all = {0};

	if (!netdev_get(&all.s, user, sizeof(all.s)))
		return -EFAULT;
	if (all.s.link_mode_masks_nwords != MASK_WORDS) { /* the first call returns the number of words */
		all.s = (struct ethtool_link_settings){.cmd = ETHTOOL_GLINKSETTINGS,
						       .link_mode_masks_nwords = -MASK_WORDS};
		return give(&all.s, user, sizeof(all.s));
	}
	all.s = (struct ethtool_link_settings){.cmd = ETHTOOL_GLINKSETTINGS,
					       .speed = is_up(n) ? n->speed : (uint32_t)SPEED_UNKNOWN,
					       .duplex = is_up(n) ? DUPLEX_FULL : DUPLEX_UNKNOWN,
					       .port = PORT_DA,
					       .link_mode_masks_nwords = MASK_WORDS};
	return give(&all, user, sizeof(all));
}

/* The same before Linux 4.6. */
static int old_settings(const struct netif *n, void *user)
{
	struct ethtool_cmd cmd = {
		.cmd = ETHTOOL_GSET, .duplex = is_up(n) ? DUPLEX_FULL : DUPLEX_UNKNOWN, .port = PORT_DA};

	ethtool_cmd_speed_set(&cmd, is_up(n) ? n->speed : (uint32_t)SPEED_UNKNOWN);
	return give(&cmd, user, sizeof(cmd));
}

static int permanent_address(const struct netif *n, void *user)
{
	struct {
		struct ethtool_perm_addr head;
		uint8_t mac[6];
	} addr = {.head = {.cmd = ETHTOOL_GPERMADDR, .size = sizeof(n->mac)}};
	struct ethtool_perm_addr asked = {0};

	if (!netdev_get(&asked, user, sizeof(asked)))
		return -EFAULT;
	if (asked.size < sizeof(n->mac))
		return -EINVAL;
	memcpy((uint8_t *)&addr + sizeof(addr.head), n->mac, sizeof(n->mac));
	return give(&addr, user, sizeof(addr.head) + sizeof(n->mac));
}

int ethtool_serve(const struct netif *n, void *user)
{
	struct ethtool_value link = {.cmd = ETHTOOL_GLINK, .data = is_up(n)};
	uint32_t cmd = 0;

	if (!netdev_get(&cmd, user, sizeof(cmd)))
		return -EFAULT;
	switch (cmd) {
	case ETHTOOL_GDRVINFO:
		return driver(n, user);
	case ETHTOOL_GLINKSETTINGS:
		return settings(n, user);
	case ETHTOOL_GSET:
		return old_settings(n, user);
	case ETHTOOL_GLINK:
		return give(&link, user, sizeof(link));
	case ETHTOOL_GPERMADDR:
		return permanent_address(n, user);
	default:
		return -EOPNOTSUPP;
	}
}
