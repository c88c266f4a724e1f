// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * getifaddrs(): the host's interfaces, then those of the simulated adapters' ports. Verbs software finds by it
 * which address belongs to which adapter (libfabric's verbs provider). Addresses are those of the GID tables.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload.h"

#define CLASS "/sys/class/infiniband"

struct own { /* one address; freed as one */
	struct ifaddrs ifa;
	char name[IF_NAMESIZE];
	struct sockaddr_in6 addr, mask; /* or struct sockaddr_in, which is shorter */
};

static char marker; /* ifa_data of what is ours: the kernel gives none for internet addresses */

static bool read_word(const char *path, char *word, size_t size)
{
	FILE *file = fopen(path, "re");
	bool ok = file && fgets(word, (int)size, file);

	if (file)
		fclose(file);
	if (ok)
		word[strcspn(word, "\n")] = '\0';
	return ok && *word;
}

static void set_v4(struct own *own, const struct in6_addr *gid)
{
	struct sockaddr_in *addr = (struct sockaddr_in *)&own->addr, *mask = (struct sockaddr_in *)&own->mask;

	addr->sin_family = mask->sin_family = AF_INET;
	memcpy(&addr->sin_addr, gid->s6_addr + 12, 4);
	mask->sin_addr.s_addr = htonl(0xffffff00);
}

static void set_v6(struct own *own, const struct in6_addr *gid, unsigned int scope)
{
	own->addr.sin6_family = own->mask.sin6_family = AF_INET6;
	own->addr.sin6_addr = *gid;
	own->addr.sin6_scope_id = scope;
	memset(&own->mask.sin6_addr, 0xff, 8);
}

static unsigned int flags_of(const char *port)
{
	char path[PATH_MAX], state[32];

	snprintf(path, sizeof(path), "%s/state", port);
	if (!read_word(path, state, sizeof(state)) || strcmp(state, "4: ACTIVE") != 0)
		return IFF_BROADCAST | IFF_MULTICAST;
	return IFF_UP | IFF_RUNNING | IFF_BROADCAST | IFF_MULTICAST;
}

/* The address that entry `index` of a port's GID table stands for. False: the table ends here. */
static bool add_gid(const char *port, unsigned int index, struct ifaddrs ***tail)
{
	char path[PATH_MAX], gid[INET6_ADDRSTRLEN], name[IF_NAMESIZE], scope[16];
	struct in6_addr bytes;
	struct own *own;

	snprintf(path, sizeof(path), "%s/gid_attrs/ndevs/%u", port, index);
	if (!read_word(path, name, sizeof(name)))
		return false;
	snprintf(path, sizeof(path), "%s/gids/%u", port, index);
	if (!read_word(path, gid, sizeof(gid)) || inet_pton(AF_INET6, gid, &bytes) != 1)
		return false;
	snprintf(path, sizeof(path), "/sys/class/net/%s/ifindex", name);
	own = calloc(1, sizeof(*own));
	if (!own || !read_word(path, scope, sizeof(scope))) {
		free(own);
		return false;
	}
	strcpy(own->name, name);
	if (IN6_IS_ADDR_V4MAPPED(&bytes))
		set_v4(own, &bytes);
	else
		set_v6(own, &bytes, (unsigned int)strtoul(scope, NULL, 10));
	own->ifa.ifa_name = own->name;
	own->ifa.ifa_flags = flags_of(port);
	own->ifa.ifa_addr = (struct sockaddr *)&own->addr;
	own->ifa.ifa_netmask = (struct sockaddr *)&own->mask;
	own->ifa.ifa_data = &marker;
	**tail = &own->ifa;
	*tail = &own->ifa.ifa_next;
	return true;
}

static void add_adapter(const char *name, struct ifaddrs ***tail)
{
	char port[PATH_MAX];
	unsigned int index;

	for (unsigned int p = 1;; p++) {
		snprintf(port, sizeof(port), CLASS "/%s/ports/%u", name, p);
		for (index = 0; add_gid(port, index, tail); index++)
			;
		if (!index)
			return;
	}
}

PRELOAD_API int getifaddrs(struct ifaddrs **list)
{
	int ret = REAL(getifaddrs)(list);
	struct ifaddrs **tail = list;
	struct dirent *entry;
	DIR *adapters;

	if (ret || !path_runtime())
		return ret;
	while (*tail)
		tail = &(*tail)->ifa_next;
	adapters = opendir(CLASS);
	while (adapters && (entry = readdir(adapters)))
		if (entry->d_name[0] != '.')
			add_adapter(entry->d_name, &tail);
	if (adapters)
		closedir(adapters);
	return 0;
}

PRELOAD_API void freeifaddrs(struct ifaddrs *list)
{
	struct ifaddrs **tail = &list, *own;

	while (*tail && (*tail)->ifa_data != &marker)
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
