// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * TCP and UDP sockets with the adapters' addresses. The interfaces are simulated, but not their TCP traffic: the
 * address 10.77.P.N of an adapter becomes the host's loopback address 127.77.P.N, and its link-local one 127.78.P.N,
 * which only processes of this host can reach. So a program can reach its peer by TCP at the address that it uses for
 * RDMA. For IPv6 sockets these are mapped addresses.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>

#include "process/preload/preload.h"
#include "process/net/netif.h"
#include "process/net/netlink.h"

#define INSIDE     0x0a4d0000u /* 10.77.0.0 */
#define OUTSIDE    0x7f4d0000u /* 127.77.0.0 */
#define LINK_LOCAL 0x7f4e0000u /* 127.78.0.0 */
#define NET        0xffff0000u

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool is_adapter(uint32_t addr)
{
	const unsigned int port = addr >> 8 & 0xff, number = addr & 0xff;
	char path[PATH_MAX], device[32];
	int saved = errno;
	bool yes;

	if (!path_runtime() || (addr & NET) != INSIDE || !number)
		return false;
	if (!netif_device(number - 1, device, sizeof(device))) {
		errno = saved;
		return false;
	}
	snprintf(path, sizeof(path), "%.3000s/" PROTO_SYSFS_NAME "/class/infiniband/%s/ports/%u",
		 path_runtime(), device, port + 1);
	yes = !raw_syscall(SYS_faccessat, AT_FDCWD, path, F_OK);
	errno = saved;
	return yes;
}

static uint32_t mapped(const struct in6_addr *addr)
{
	uint32_t ip;

	memcpy(&ip, addr->s6_addr + 12, sizeof(ip));
	return ntohl(ip);
}

static void map(struct in6_addr *addr, uint32_t ip)
{
	ip = htonl(ip);
	memset(addr, 0, sizeof(*addr));
	addr->s6_addr[10] = addr->s6_addr[11] = 0xff;
	memcpy(addr->s6_addr + 12, &ip, sizeof(ip));
}

/* The interface with `addr`, in either form, and its IPv4 address. */
static bool owner(const struct in6_addr *addr, struct netif *found, uint32_t *ip)
{
	struct netif list[NETIF_MAX];
	struct in_addr v4;

	for (unsigned int i = 0, n = netif_list(list); i < n; i++) {
		for (unsigned int a = 0; a < list[i].num_addrs; a++) {
			if (!IN6_ARE_ADDR_EQUAL(&list[i].addr[a], addr) || !netif_v4(&list[i], &v4))
				continue;
			*found = list[i];
			*ip = ntohl(v4.s_addr);
			return true;
		}
	}
	return false;
}

static bool outwards6(struct sockaddr_in6 *six)
{
	struct netif n;
	uint32_t ip;

	if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) && is_adapter(mapped(&six->sin6_addr))) {
		map(&six->sin6_addr, OUTSIDE | (mapped(&six->sin6_addr) & ~NET));
		return true;
	}
	if (!IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) || !netif_numbered(six->sin6_scope_id, &n) ||
	    !owner(&six->sin6_addr, &n, &ip))
		return false;
	map(&six->sin6_addr, LINK_LOCAL | (ip & ~NET));
	six->sin6_scope_id = 0;
	return true;
}

/* The address for the host: in `room`, or `addr` itself. */
static const struct sockaddr *outwards(const struct sockaddr *addr, socklen_t len, union address *room)
{
	uint32_t ip;

	if (!addr || !path_runtime())
		return addr;
	if (addr->sa_family == AF_INET6 && len >= sizeof(room->v6)) {
		memcpy(room, addr, sizeof(room->v6));
		return outwards6(&room->v6) ? &room->any : addr;
	}
	if (addr->sa_family != AF_INET || len < sizeof(room->v4))
		return addr;
	memcpy(room, addr, sizeof(room->v4));
	ip = ntohl(room->v4.sin_addr.s_addr);
	if (!is_adapter(ip))
		return addr;
	room->v4.sin_addr.s_addr = htonl(OUTSIDE | (ip & ~NET));
	return &room->any;
}

/* The link-local address of the interface with 10.77.P.N. */
static void link_local(struct sockaddr_in6 *six, uint32_t inside)
{
	struct in6_addr v4;
	struct netif n;
	uint32_t ip;

	map(&v4, inside);
	if (!owner(&v4, &n, &ip))
		return;
	for (unsigned int i = 0; i < n.num_addrs; i++)
		if (IN6_IS_ADDR_LINKLOCAL(&n.addr[i]))
			six->sin6_addr = n.addr[i];
	six->sin6_scope_id = n.index;
}

static void inwards6(struct sockaddr_in6 *six)
{
	const uint32_t ip = mapped(&six->sin6_addr), inside = INSIDE | (ip & ~NET);

	if (!IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) || !is_adapter(inside))
		return;
	if ((ip & NET) == OUTSIDE)
		map(&six->sin6_addr, inside);
	else if ((ip & NET) == LINK_LOCAL)
		link_local(six, inside);
}

/* An address from the host. */
static void inwards(struct sockaddr *addr, const socklen_t *len)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;
	uint32_t ip;

	if (!addr || !len || !path_runtime())
		return;
	if (addr->sa_family == AF_INET6 && *len >= sizeof(struct sockaddr_in6))
		inwards6((struct sockaddr_in6 *)addr);
	if (addr->sa_family != AF_INET || *len < sizeof(*in))
		return;
	ip = ntohl(in->sin_addr.s_addr);
	if ((ip & NET) == OUTSIDE && is_adapter(INSIDE | (ip & ~NET)))
		in->sin_addr.s_addr = htonl(INSIDE | (ip & ~NET));
}

static bool is_unbound(const union address *own)
{
	return own->any.sa_family == AF_INET
		       ? !own->v4.sin_addr.s_addr && !own->v4.sin_port
		       : own->any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&own->v6.sin6_addr) &&
				 !own->v6.sin6_port;
}

/* An IPv6-only socket does not accept mapped addresses. */
static void allow_mapped(int fd, const union address *addr)
{
	int no = 0, saved = errno;

	if (addr->any.sa_family == AF_INET6)
		REAL(setsockopt)(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	errno = saved;
}

/*
 * A connection to one of its own addresses has that address as source on Linux (local routing table). The loopback
 * interface would use 127.0.0.1, which is not an adapter's.
 */
static void take_source(int fd, const union address *to)
{
	union address own = {.any.sa_family = AF_UNSPEC};
	socklen_t len = sizeof(own);
	int saved = errno, yes = 1;

	if (!REAL(getsockname)(fd, &own.any, &len) && is_unbound(&own) &&
	    own.any.sa_family == to->any.sa_family) {
		own = *to;
		if (own.any.sa_family == AF_INET)
			own.v4.sin_port = 0;
		else
			own.v6.sin6_port = 0;
		REAL(setsockopt)(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes));
		REAL(bind)(fd, &own.any, len);
	}
	errno = saved;
}

PRELOAD_API int connect(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	union address room;
	const struct sockaddr *to = outwards(addr.__sockaddr__, len, &room);

	if (to == &room.any) {
		allow_mapped(fd, &room);
		take_source(fd, &room);
	}
	return REAL(connect)(fd, to, len);
}

PRELOAD_API int bind(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	union address room;
	const struct sockaddr *at = outwards(addr.__sockaddr__, len, &room);

	if (at == &room.any)
		allow_mapped(fd, &room);
	return REAL(bind)(fd, at, len);
}

PRELOAD_API ssize_t sendto(int fd, const void *buf, size_t size, int flags, __CONST_SOCKADDR_ARG addr,
			   socklen_t len)
{
	struct iovec iov = {(void *)buf, size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	union address room;
	ssize_t ret;

	if (netlink_send(fd, &msg, flags, &ret))
		return ret;
	return REAL(sendto)(fd, buf, size, flags, outwards(addr.__sockaddr__, len, &room), len);
}

PRELOAD_API ssize_t recvfrom(int fd, void *restrict buf, size_t size, int flags, __SOCKADDR_ARG addr,
			     socklen_t *restrict len)
{
	struct iovec iov = {buf, size};
	struct msghdr msg = {.msg_name = addr.__sockaddr__,
			     .msg_namelen = len ? *len : 0,
			     .msg_iov = &iov,
			     .msg_iovlen = 1};
	ssize_t ret;

	if (netlink_receive(fd, &msg, flags, &ret)) {
		if (len)
			*len = msg.msg_namelen;
		return ret;
	}
	ret = REAL(recvfrom)(fd, buf, size, flags, addr, len);
	if (ret >= 0)
		inwards(addr.__sockaddr__, len);
	return ret;
}

#define NAMED(fn)                                                                                            \
	PRELOAD_API int fn(int fd, __SOCKADDR_ARG addr, socklen_t *restrict len)                             \
	{                                                                                                    \
		int ret = REAL(fn)(fd, addr, len);                                                           \
		if (ret >= 0)                                                                                \
			inwards(addr.__sockaddr__, len);                                                     \
		return ret;                                                                                  \
	}
NAMED(getsockname)
NAMED(getpeername)
NAMED(accept)

PRELOAD_API int accept4(int fd, __SOCKADDR_ARG addr, socklen_t *restrict len, int flags)
{
	int ret = REAL(accept4)(fd, addr, len, flags);

	if (ret >= 0)
		inwards(addr.__sockaddr__, len);
	return ret;
}
