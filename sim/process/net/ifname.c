// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* libc's functions for interface names: if_nametoindex(3) and related ones, and scopes of IPv6 addresses. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "process/preload/preload.h"
#include "process/net/netif.h"

PRELOAD_API unsigned int if_nametoindex(const char *name)
{
	struct netif n;

	return netif_named(name, &n) ? n.index : REAL(if_nametoindex)(name);
}

PRELOAD_API char *if_indextoname(unsigned int index, char name[IF_NAMESIZE])
{
	struct netif n;

	return netif_numbered(index, &n) ? strcpy(name, n.name) : REAL(if_indextoname)(index, name);
}

/* libc's if_freenameindex() frees each name and the array, so allocate them the same way. */
PRELOAD_API struct if_nameindex *if_nameindex(void)
{
	struct if_nameindex *list = REAL(if_nameindex)(), *grown;
	struct netif own[NETIF_MAX];
	unsigned int n, have = 0;

	if (!list || !path_runtime())
		return list;
	while (list[have].if_index || list[have].if_name)
		have++;
	n = netif_list(own);
	grown = realloc(list, (have + n + 1) * sizeof(*list));
	if (!grown)
		return list;
	for (unsigned int i = 0; i < n && (grown[have].if_name = strdup(own[i].name)); i++)
		grown[have++].if_index = own[i].index;
	grown[have] = (struct if_nameindex){0, NULL};
	return grown;
}

PRELOAD_API int getaddrinfo(const char *restrict node, const char *restrict service,
			    const struct addrinfo *restrict hints, struct addrinfo **restrict list)
{
	const char *scope = node ? strchr(node, '%') : NULL;
	char numbered[INET6_ADDRSTRLEN + 16];
	struct netif n;

	if (!scope || scope - node >= INET6_ADDRSTRLEN || !netif_named(scope + 1, &n))
		return REAL(getaddrinfo)(node, service, hints, list);
	snprintf(numbered, sizeof(numbered), "%.*s%%%u", (int)(scope - node), node, n.index);
	return REAL(getaddrinfo)(numbered, service, hints, list);
}

/* libc prints the number of an unknown scope. */
static int name_scope(const struct sockaddr_in6 *addr, char *host, size_t size)
{
	char *scope = strchr(host, '%');
	struct netif n;

	if (!scope || (unsigned int)strtoul(scope + 1, NULL, 10) != addr->sin6_scope_id ||
	    !netif_numbered(addr->sin6_scope_id, &n))
		return 0;
	if ((size_t)(scope - host) + 1 + strlen(n.name) >= size)
		return EAI_OVERFLOW;
	strcpy(scope + 1, n.name);
	return 0;
}

PRELOAD_API int getnameinfo(const struct sockaddr *restrict addr, socklen_t len, char *restrict host,
			    socklen_t host_len, char *restrict service, socklen_t service_len, int flags)
{
	int ret = REAL(getnameinfo)(addr, len, host, host_len, service, service_len, flags);

	if (ret || !path_runtime() || !host || !host_len || addr->sa_family != AF_INET6)
		return ret;
	return name_scope((const struct sockaddr_in6 *)addr, host, host_len);
}
