/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The simulated adapters' network interfaces, according to the machine's sysfs tree. Functions that list
 * interfaces add these to the host's own, which come from the kernel.
 */
#ifndef HCASIM_PROCESS_PRELOAD_NETIF_H
#define HCASIM_PROCESS_PRELOAD_NETIF_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETIF_MAX      32 /* interfaces: 16 adapters with two ports */
#define NETIF_ADDR_MAX 8

struct netif {
	char name[IF_NAMESIZE];
	unsigned int index, mtu;
	unsigned int flags; /* IFF_* */
	unsigned int speed; /* Mb/s */
	uint8_t mac[6];
	char bus[32], driver[32], firmware[32];
	unsigned int num_addrs;
	struct in6_addr addr[NETIF_ADDR_MAX]; /* IPv4 ones are mapped */
};

/* All of them, by index; returns how many. None outside of a simulated machine. */
unsigned int netif_list(struct netif list[NETIF_MAX]);
bool netif_named(const char *name, struct netif *n);
bool netif_numbered(unsigned int index, struct netif *n);
/* Prefix length of the address, or of its IPv4 part. */
unsigned int netif_prefix(const struct in6_addr *addr);
/* Name of the verbs device with this number; false: there is none. */
bool netif_device(unsigned int number, char *name, size_t size);
/* The first IPv4 address; false: none. */
bool netif_v4(const struct netif *n, struct in_addr *addr);
/* A file of /proc/net that lists interfaces: a descriptor of it with the simulated ones added; -1: not such a path. */
int netif_proc(const char *path);

#endif
