// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sockets of TCP and UDP to the adapters' addresses. The interfaces are simulated, their traffic is not: the
 * address 10.77.P.N of an adapter is the host's loopback address 127.77.P.N, which every process of the machine
 * reaches, and nobody else. So a program may meet its peer at the address at which it meets it over RDMA.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>

#include "preload.h"

#define INSIDE  0x0a4d0000u /* 10.77.0.0 */
#define OUTSIDE 0x7f4d0000u /* 127.77.0.0 */
#define NET     0xffff0000u

static bool is_adapter(uint32_t addr)
{
	const unsigned int port = addr >> 8 & 0xff, number = addr & 0xff;
	char path[PATH_MAX];
	int saved = errno;
	bool yes;

	if (!path_runtime() || (addr & NET) != INSIDE || !number)
		return false;
	snprintf(path, sizeof(path), "%.3000s/" PROTO_SYSFS_NAME "/class/infiniband/hcasim%u/ports/%u",
		 path_runtime(), number - 1, port + 1);
	yes = !syscall(SYS_faccessat, AT_FDCWD, path, F_OK);
	errno = saved;
	return yes;
}

/* The address to give to the host. */
static const struct sockaddr *outwards(const struct sockaddr *addr, socklen_t len, struct sockaddr_in *room)
{
	uint32_t ip;

	if (!addr || len < sizeof(*room) || addr->sa_family != AF_INET)
		return addr;
	memcpy(room, addr, sizeof(*room));
	ip = ntohl(room->sin_addr.s_addr);
	if (!is_adapter(ip))
		return addr;
	room->sin_addr.s_addr = htonl(OUTSIDE | (ip & ~NET));
	return (const struct sockaddr *)room;
}

/* The address that the host gave. */
static void inwards(struct sockaddr *addr, const socklen_t *len)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;
	uint32_t ip;

	if (!addr || !len || *len < sizeof(*in) || addr->sa_family != AF_INET)
		return;
	ip = ntohl(in->sin_addr.s_addr);
	if ((ip & NET) == OUTSIDE && is_adapter(INSIDE | (ip & ~NET)))
		in->sin_addr.s_addr = htonl(INSIDE | (ip & ~NET));
}

/*
 * To an address of its own a host sends from that address (the source of its route in Linux's local table). The
 * loopback interface would give 127.0.0.1, which belongs to no adapter.
 */
static void take_source(int fd, const struct sockaddr_in *to)
{
	struct sockaddr_in own = {0};
	socklen_t len = sizeof(own);
	int saved = errno, yes = 1;

	if (!REAL(getsockname)(fd, (struct sockaddr *)&own, &len) && own.sin_family == AF_INET &&
	    !own.sin_addr.s_addr && !own.sin_port) {
		own.sin_addr = to->sin_addr;
		REAL(setsockopt)(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes));
		REAL(bind)(fd, (struct sockaddr *)&own, sizeof(own));
	}
	errno = saved;
}

PRELOAD_API int connect(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	struct sockaddr_in room;
	const struct sockaddr *to = outwards(addr.__sockaddr__, len, &room);

	if (to == (struct sockaddr *)&room)
		take_source(fd, &room);
	return REAL(connect)(fd, to, len);
}

PRELOAD_API int bind(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	struct sockaddr_in room;

	return REAL(bind)(fd, outwards(addr.__sockaddr__, len, &room), len);
}

PRELOAD_API ssize_t sendto(int fd, const void *buf, size_t size, int flags, __CONST_SOCKADDR_ARG addr,
			   socklen_t len)
{
	struct sockaddr_in room;

	return REAL(sendto)(fd, buf, size, flags, outwards(addr.__sockaddr__, len, &room), len);
}

PRELOAD_API ssize_t recvfrom(int fd, void *restrict buf, size_t size, int flags, __SOCKADDR_ARG addr,
			     socklen_t *restrict len)
{
	ssize_t ret = REAL(recvfrom)(fd, buf, size, flags, addr, len);

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
