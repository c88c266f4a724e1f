// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ioctl() of the simulated network interfaces (netdevice(7)): setting an interface down takes its port's link down. A
 * simulated interface hides one of the host with the same name.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/sockios.h>

#include "process/preload/preload.h"
#include "process/net/ethtool.h"
#include "process/net/netif.h"

/* The system may refuse the calls that access a process's memory. */
static bool copy_through_pipe(const void *from, void *to, size_t size)
{
	int fds[2];
	bool done;

	if (raw_syscall(SYS_pipe2, fds, O_CLOEXEC | O_NONBLOCK))
		return false;
	done = raw_syscall(SYS_write, fds[1], from, size) == (ssize_t)size &&
	       raw_syscall(SYS_read, fds[0], to, size) == (ssize_t)size;
	raw_syscall(SYS_close, fds[0]);
	raw_syscall(SYS_close, fds[1]);
	return done;
}

/* Accesses the caller's memory as the kernel does: a bad address is an error, not a signal. */
static bool copy(bool put, void *own, void *user, size_t size)
{
	struct iovec mine = {own, size}, theirs = {user, size};
	long n = raw_syscall(put ? SYS_process_vm_writev : SYS_process_vm_readv, getpid(), &mine, 1, &theirs,
			     1, 0);

	if (n < 0 && errno != EFAULT)
		return put ? copy_through_pipe(own, user, size) : copy_through_pipe(user, own, size);
	return n == (ssize_t)size;
}

bool netdev_get(void *own, const void *user, size_t size)
{
	return copy(false, own, (void *)user, size);
}

bool netdev_put(const void *own, void *user, size_t size)
{
	return copy(true, (void *)own, user, size);
}

static bool is_socket(int fd)
{
	socklen_t len = sizeof(int);
	int type;

	return !raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len);
}

int netdev_link(const char *name, bool set, bool up)
{
	struct proto_req req = {.op = PROTO_LINK};
	int fds[PROTO_MAX_FDS];
	struct proto_reply reply;

	memcpy(req.link.name, name, strnlen(name, IFNAMSIZ - 1));
	req.link.set = set;
	req.link.up = up;
	return (int)client_call(&req, &reply, fds);
}

static int flags(struct ifreq *ifr, bool set)
{
	int state = netdev_link(ifr->ifr_name, set, ifr->ifr_flags & IFF_UP);

	if (state < 0)
		return state;
	if (!set)
		ifr->ifr_flags = IFF_BROADCAST | IFF_MULTICAST | (state ? IFF_UP | IFF_RUNNING : 0);
	return 0;
}

static int address(const struct netif *n, struct ifreq *ifr, unsigned long request)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&ifr->ifr_addr;
	struct in6_addr mapped = {.s6_addr = {[10] = 0xff, 0xff}};
	struct in_addr addr;
	uint32_t mask;

	if (!netif_v4(n, &addr))
		return -EADDRNOTAVAIL;
	mask = htonl(~0u << (32 - netif_prefix(&mapped)));
	memset(&ifr->ifr_addr, 0, sizeof(ifr->ifr_addr));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = request == SIOCGIFNETMASK   ? mask
			      : request == SIOCGIFBRDADDR ? addr.s_addr | ~mask
							  : addr.s_addr;
	return 0;
}

/* A request for one of our interfaces: 0 and `ifr` filled, or -errno. */
static int serve(const struct netif *n, unsigned long request, struct ifreq *ifr)
{
	switch (request) {
	case SIOCGIFFLAGS:
	case SIOCSIFFLAGS:
		return flags(ifr, request == SIOCSIFFLAGS);
	case SIOCGIFINDEX:
		ifr->ifr_ifindex = (int)n->index;
		return 0;
	case SIOCGIFADDR:
	case SIOCGIFDSTADDR:
	case SIOCGIFBRDADDR:
	case SIOCGIFNETMASK:
		return address(n, ifr, request);
	case SIOCGIFHWADDR:
		memset(&ifr->ifr_hwaddr, 0, sizeof(ifr->ifr_hwaddr));
		ifr->ifr_hwaddr.sa_family = ARPHRD_ETHER;
		memcpy(ifr->ifr_hwaddr.sa_data, n->mac, sizeof(n->mac));
		return 0;
	case SIOCGIFMTU:
		ifr->ifr_mtu = (int)n->mtu;
		return 0;
	case SIOCGIFMETRIC:
		ifr->ifr_metric = 0;
		return 0;
	case SIOCGIFMAP:
		memset(&ifr->ifr_map, 0, sizeof(ifr->ifr_map));
		return 0;
	case SIOCGIFTXQLEN:
		ifr->ifr_qlen = 1000; /* DEFAULT_TX_QUEUE_LEN */
		return 0;
	case SIOCETHTOOL:
		return ethtool_serve(n, ifr->ifr_data);
	default:
		return -EOPNOTSUPP; /* other requests are not supported */
	}
}

/* SIOCGIFCONF: the host's interfaces, then ours, as many as fit; without a buffer, the size that all need. */
static int list_addresses(int fd, void *arg)
{
	struct netif own[NETIF_MAX];
	struct ifreq ifr = {0};
	struct ifconf conf = {0};
	unsigned int n;
	int room, ret;

	if (!netdev_get(&conf, arg, sizeof(conf)))
		return -EFAULT;
	room = conf.ifc_len;
	ret = REAL(ioctl)(fd, SIOCGIFCONF, &conf);
	if (ret)
		return -errno;
	n = netif_list(own);
	for (unsigned int i = 0; i < n; i++) {
		if (address(&own[i], &ifr, SIOCGIFADDR) ||
		    (conf.ifc_buf && room - conf.ifc_len < (int)sizeof(ifr)))
			continue;
		memcpy(ifr.ifr_name, own[i].name, sizeof(ifr.ifr_name));
		if (conf.ifc_buf && !netdev_put(&ifr, conf.ifc_buf + conf.ifc_len, sizeof(ifr)))
			return -EFAULT;
		conf.ifc_len += (int)sizeof(ifr);
	}
	return netdev_put(&conf, arg, sizeof(conf)) ? 0 : -EFAULT;
}

/* SIOCGIFxxx and SIOCSIFxxx of one interface, which take struct ifreq. */
static bool is_request(unsigned long request)
{
	return (request >= SIOCGIFNAME && request <= SIOCSIFTXQLEN && request != SIOCGIFCONF) ||
	       request == SIOCETHTOOL;
}

static bool find(unsigned long request, struct ifreq *ifr, struct netif *n)
{
	if (request != SIOCGIFNAME) {
		ifr->ifr_name[IFNAMSIZ - 1] = '\0';
		return netif_named(ifr->ifr_name, n);
	}
	if (!netif_numbered((unsigned int)ifr->ifr_ifindex, n))
		return false;
	memcpy(ifr->ifr_name, n->name, sizeof(ifr->ifr_name));
	return true;
}

bool netdev_ioctl(int fd, unsigned long request, void *arg, int *ret)
{
	int result, saved = errno;
	struct ifreq ifr = {0};
	struct netif n = {0};

	if (!path_runtime() || (request != SIOCGIFCONF && !is_request(request)) || !is_socket(fd)) {
		errno = saved;
		return false;
	}
	if (request == SIOCGIFCONF) {
		result = list_addresses(fd, arg);
	} else {
		if (!netdev_get(&ifr, arg, sizeof(ifr)) || !find(request, &ifr, &n)) {
			errno = saved;
			return false; /* let the kernel return the right error */
		}
		result = request == SIOCGIFNAME ? 0 : serve(&n, request, &ifr);
		if (!result && !netdev_put(&ifr, arg, sizeof(ifr)))
			result = -EFAULT;
	}
	errno = result ? -result : saved;
	*ret = result ? -1 : 0;
	return true;
}
