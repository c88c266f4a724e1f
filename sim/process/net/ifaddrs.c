// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * getifaddrs(): the host's interfaces, then those of the simulated adapters' ports. Verbs software uses it to find
 * the address of an adapter (libfabric's verbs provider).
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdlib.h>
#include <string.h>

#include "process/preload/preload.h"
#include "process/net/netif.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_ll link;
};

struct own { /* one allocation per address */
	struct ifaddrs ifa;
	char name[IF_NAMESIZE]; /* an ifa_name that points here marks our entries */
	union address addr, mask, broadcast;
	struct rtnl_link_stats stats;
};

static struct own *add(const struct netif *n, struct ifaddrs ***tail)
{
	struct own *own = calloc(1, sizeof(*own));

	if (!own)
		return NULL;
	memcpy(own->name, n->name, sizeof(own->name));
	own->ifa.ifa_name = own->name;
	own->ifa.ifa_flags = n->flags;
	own->ifa.ifa_addr = &own->addr.any;
	**tail = &own->ifa;
	*tail = &own->ifa.ifa_next;
	return own;
}

static void set_link(struct sockaddr_ll *link, const struct netif *n)
{
	link->sll_family = AF_PACKET;
	link->sll_ifindex = (int)n->index;
	link->sll_hatype = ARPHRD_ETHER;
	link->sll_halen = sizeof(n->mac);
}

static void add_link(const struct netif *n, struct ifaddrs ***tail)
{
	struct own *own = add(n, tail);

	if (!own)
		return;
	set_link(&own->addr.link, n);
	memcpy(own->addr.link.sll_addr, n->mac, sizeof(n->mac));
	set_link(&own->broadcast.link, n);
	memset(own->broadcast.link.sll_addr, 0xff, sizeof(n->mac));
	own->ifa.ifa_broadaddr = &own->broadcast.any;
	own->ifa.ifa_data = &own->stats;
}

static void set_v4(struct own *own, const struct in6_addr *addr)
{
	struct sockaddr_in *v4 = &own->addr.v4;

	v4->sin_family = own->mask.v4.sin_family = own->broadcast.v4.sin_family = AF_INET;
	memcpy(&v4->sin_addr, addr->s6_addr + 12, 4);
	own->mask.v4.sin_addr.s_addr = htonl(~0u << (32 - netif_prefix(addr)));
	own->broadcast.v4.sin_addr.s_addr = v4->sin_addr.s_addr | ~own->mask.v4.sin_addr.s_addr;
	own->ifa.ifa_broadaddr = &own->broadcast.any;
}

static void add_address(const struct netif *n, const struct in6_addr *addr, struct ifaddrs ***tail)
{
	struct own *own = add(n, tail);

	if (!own)
		return;
	own->ifa.ifa_netmask = &own->mask.any;
	if (IN6_IS_ADDR_V4MAPPED(addr)) {
		set_v4(own, addr);
		return;
	}
	own->addr.v6.sin6_family = own->mask.v6.sin6_family = AF_INET6;
	own->addr.v6.sin6_addr = *addr;
	own->addr.v6.sin6_scope_id = n->index;
	memset(&own->mask.v6.sin6_addr, 0xff, netif_prefix(addr) / 8);
}

PRELOAD_API int getifaddrs(struct ifaddrs **list)
{
	int ret = REAL(getifaddrs)(list);
	struct netif own[NETIF_MAX];
	struct ifaddrs **tail = list;
	unsigned int n;

	if (ret || !path_runtime())
		return ret;
	while (*tail)
		tail = &(*tail)->ifa_next;
	n = netif_list(own);
	for (unsigned int i = 0; i < n; i++)
		add_link(&own[i], &tail);
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int a = 0; a < own[i].num_addrs; a++)
			add_address(&own[i], &own[i].addr[a], &tail);
	return 0;
}

static bool is_own(const struct ifaddrs *ifa)
{
	return ifa->ifa_name == ((const struct own *)ifa)->name;
}

PRELOAD_API void freeifaddrs(struct ifaddrs *list)
{
	struct ifaddrs **tail = &list, *own;

	while (*tail && !is_own(*tail))
		tail = &(*tail)->ifa_next;
	own = *tail;
	*tail = NULL;
	while (own) {
		struct ifaddrs *next = own->ifa_next;

		free(own); /* the first member of struct own */
		own = next;
	}
	REAL(freeifaddrs)(list);
}
