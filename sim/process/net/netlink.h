/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Netlink sockets: the kernel's answers about interfaces, with the simulated ones added. */
#ifndef HCASIM_PROCESS_PRELOAD_NETLINK_H
#define HCASIM_PROCESS_PRELOAD_NETLINK_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* ---- rtnl.c: requests, and what is answered to them ------------------------------------------------ */

enum verdict {
	NETLINK_PASS, /* handled by the kernel */
	NETLINK_ADD,  /* a dump: our messages are inserted before the kernel's NLMSG_DONE */
	NETLINK_OWN,  /* about one of our interfaces: not sent to the kernel */
};

struct netlink_answer { /* messages, each aligned to NLMSG_ALIGNTO; the caller frees `data` */
	char *data;
	size_t len, room;
	unsigned int seq, port; /* of the request, of the socket */
	bool failed;            /* no memory */
};

enum verdict rtnl_request(const struct nlmsghdr *req, struct netlink_answer *answer);
enum verdict genl_request(const struct nlmsghdr *req, struct netlink_answer *answer);

/* ---- netlink.c: sockets ---------------------------------------------------------------------------- */

/* A sent request: true if it was handled, and `ret` is the call's result. */
bool netlink_send(int fd, const struct msghdr *msg, int flags, ssize_t *ret);
/* True if `msg` was filled here. */
bool netlink_receive(int fd, struct msghdr *msg, int flags, ssize_t *ret);

#endif
