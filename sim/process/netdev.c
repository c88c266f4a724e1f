// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flags of the simulated network interfaces (netdevice(7)): an interface that is set down takes its port's link down.
 * A simulated one goes before one of the host that has the same name, which stays as it is.
 */
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload.h"

/* The caller's memory, as the kernel goes there: a bad address is an error, not a signal. */
static bool copy(long call, void *own, void *user, size_t size)
{
	struct iovec mine = {own, size}, theirs = {user, size};

	return syscall(call, getpid(), &mine, 1, &theirs, 1, 0) == (ssize_t)size;
}

static bool is_socket(int fd)
{
	socklen_t len = sizeof(int);
	int type;

	return !syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len);
}

static int give_flags(struct ifreq *ifr, void *arg, bool up)
{
	ifr->ifr_flags = IFF_BROADCAST | IFF_MULTICAST | (up ? IFF_UP | IFF_RUNNING : 0);
	if (copy(SYS_process_vm_writev, ifr, arg, sizeof(*ifr)))
		return 0;
	errno = EFAULT;
	return -1;
}

bool netdev_ioctl(int fd, unsigned long request, void *arg, int *ret)
{
	struct proto_req req = {.op = PROTO_LINK};
	int fds[PROTO_MAX_FDS], saved = errno;
	struct proto_reply reply;
	struct ifreq ifr;
	int64_t state;

	if ((request != SIOCGIFFLAGS && request != SIOCSIFFLAGS) || !path_runtime())
		return false;
	if (!is_socket(fd) || !copy(SYS_process_vm_readv, &ifr, arg, sizeof(ifr))) {
		errno = saved;
		return false; /* the kernel has the right error for it */
	}
	memcpy(req.link.name, ifr.ifr_name, strnlen(ifr.ifr_name, IFNAMSIZ - 1));
	req.link.set = request == SIOCSIFFLAGS;
	req.link.up = ifr.ifr_flags & IFF_UP;
	state = client_call(&req, &reply, fds);
	if (state == -ENODEV || state == -EIO)
		return false;
	*ret = state < 0 ? -1 : 0;
	if (state < 0)
		errno = (int)-state;
	else if (request == SIOCGIFFLAGS)
		*ret = give_flags(&ifr, arg, state);
	return true;
}
