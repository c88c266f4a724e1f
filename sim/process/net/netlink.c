// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The kernel answers requests about interfaces; when the program receives, our messages are inserted before the
 * NLMSG_DONE of a dump. A request about a simulated interface is replaced by an empty one with the same number; the
 * kernel's acknowledgement makes the socket readable and marks the place of our answer.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "process/preload/preload.h"
#include "process/net/netlink.h"

#define MAX_FD      4096 /* descriptors above are ignored */
#define MAX_REQUEST 4096
#define RECEIVE_MAX 32768 /* Linux's largest datagram of a dump */

/* Sockets that were opened as netlink ones. */
static _Atomic uint64_t sockets[MAX_FD / 64];

struct talk { /* a request, and our part of the answer */
	struct talk *next;
	int fd;
	unsigned int seq;
	bool own;       /* nothing of the kernel's answer is for the program */
	bool head_read; /* the messages before NLMSG_DONE in its datagram were delivered */
	size_t at;      /* bytes of `answer` that were delivered */
	struct netlink_answer answer;
};
static struct talk *talks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void forget(struct talk *t)
{
	struct talk **at = &talks;

	while (*at && *at != t)
		at = &(*at)->next;
	if (*at)
		*at = t->next;
	free(t->answer.data);
	free(t);
}

/* A program closed a socket before it had read everything; its number is reused. */
static void forget_all(int fd)
{
	pthread_mutex_lock(&lock);
	for (struct talk *t = talks, *next; t; t = next) {
		next = t->next;
		if (t->fd == fd)
			forget(t);
	}
	pthread_mutex_unlock(&lock);
}

PRELOAD_API int socket(int domain, int type, int protocol)
{
	int fd;

	/* libibverbs tries RDMA netlink first and would find the host's devices; without it, it reads sysfs. */
	if (path_runtime() && domain == AF_NETLINK && protocol == NETLINK_RDMA) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	fd = REAL(socket)(domain, type, protocol);
	if (path_runtime() && fd >= 0 && fd < MAX_FD && domain == AF_NETLINK &&
	    (protocol == NETLINK_ROUTE || protocol == NETLINK_GENERIC)) {
		forget_all(fd);
		atomic_fetch_or(&sockets[fd / 64], 1ull << fd % 64);
	}
	return fd;
}

/* Its protocol, or -1: not a netlink socket, or ignored. */
static int protocol_of(int fd)
{
	int domain = 0, protocol = -1, saved = errno;
	socklen_t len = sizeof(int);

	if (fd < 0 || fd >= MAX_FD ||
	    !(atomic_load_explicit(&sockets[fd / 64], memory_order_relaxed) >> fd % 64 & 1))
		return -1;
	if (raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) || domain != AF_NETLINK ||
	    raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len))
		protocol = -1; /* the number is reused */
	errno = saved;
	return protocol;
}

static unsigned int port_of(int fd)
{
	struct sockaddr_nl addr = {0};
	socklen_t len = sizeof(addr);

	raw_syscall(SYS_getsockname, fd, &addr, &len);
	return addr.nl_pid;
}

static size_t total(const struct msghdr *msg)
{
	size_t n = 0;

	for (size_t i = 0; i < msg->msg_iovlen; i++)
		n += msg->msg_iov[i].iov_len;
	return n;
}

/* ---- Requests -------------------------------------------------------------------------------------- */

static size_t flatten(const struct msghdr *msg, char *out, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < msg->msg_iovlen && n < room; i++) {
		size_t len = msg->msg_iov[i].iov_len;

		len = len < room - n ? len : room - n;
		memcpy(out + n, msg->msg_iov[i].iov_base, len);
		n += len;
	}
	return n;
}

/* Makes the kernel answer request `seq` with an acknowledgement. */
static bool send_empty(int fd, unsigned int seq, int flags)
{
	struct nlmsghdr empty = {.nlmsg_len = sizeof(empty),
				 .nlmsg_type = NLMSG_NOOP,
				 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
				 .nlmsg_seq = seq};
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

	return raw_syscall(SYS_sendto, fd, &empty, sizeof(empty), flags, &kernel, sizeof(kernel)) ==
	       sizeof(empty);
}

bool netlink_send(int fd, const struct msghdr *msg, int flags, ssize_t *ret)
{
	int protocol = protocol_of(fd);
	union {
		struct nlmsghdr h;
		char bytes[MAX_REQUEST];
	} req;
	enum verdict verdict;
	struct talk *t;
	size_t len;

	if (protocol < 0)
		return false;
	len = flatten(msg, req.bytes, sizeof(req));
	if (len < sizeof(req.h) || req.h.nlmsg_len < sizeof(req.h) || req.h.nlmsg_len > len ||
	    !(t = calloc(1, sizeof(*t))))
		return false;
	t->fd = fd;
	t->seq = t->answer.seq = req.h.nlmsg_seq;
	t->answer.port = port_of(fd);
	verdict = (protocol == NETLINK_ROUTE ? rtnl_request : genl_request)(&req.h, &t->answer);
	if (verdict == NETLINK_PASS || t->answer.failed || !t->answer.len ||
	    (verdict == NETLINK_OWN && !send_empty(fd, t->seq, flags))) {
		free(t->answer.data);
		free(t);
		return false;
	}
	t->own = verdict == NETLINK_OWN;
	pthread_mutex_lock(&lock);
	t->next = talks;
	talks = t;
	pthread_mutex_unlock(&lock);
	*ret = (ssize_t)total(msg);
	return t->own;
}

/* ---- Answers --------------------------------------------------------------------------------------- */

/* The request of `fd` whose end is in the datagram, and its position. */
static struct talk *ends_here(int fd, char *data, size_t len, size_t *at)
{
	struct talk *t;

	for (*at = 0; len - *at >= sizeof(struct nlmsghdr);) {
		const struct nlmsghdr *h = (const struct nlmsghdr *)(data + *at);

		if (h->nlmsg_len < sizeof(*h) || h->nlmsg_len > len - *at)
			return NULL;
		for (t = talks; t && (t->fd != fd || t->seq != h->nlmsg_seq);)
			t = t->next;
		if (t && h->nlmsg_type == NLMSG_ERROR && !t->own)
			t->at = t->answer.len; /* the kernel refused the dump */
		if (t && (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR))
			return t;
		*at += NLMSG_ALIGN(h->nlmsg_len);
		if (*at > len)
			return NULL;
	}
	return NULL;
}

static ssize_t deliver(struct msghdr *msg, int flags, const char *data, size_t len)
{
	static const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	size_t done = 0;

	for (size_t i = 0; i < msg->msg_iovlen && done < len; i++) {
		size_t n = msg->msg_iov[i].iov_len;

		n = n < len - done ? n : len - done;
		memcpy(msg->msg_iov[i].iov_base, data + done, n);
		done += n;
	}
	if (msg->msg_name)
		memcpy(msg->msg_name, &kernel,
		       msg->msg_namelen < sizeof(kernel) ? msg->msg_namelen : sizeof(kernel));
	msg->msg_namelen = msg->msg_name ? sizeof(kernel) : 0;
	msg->msg_controllen = 0;
	msg->msg_flags = done < len ? MSG_TRUNC : 0;
	return (ssize_t)(flags & MSG_TRUNC ? len : done);
}

/* Peeks at the first datagram of the socket, as much as fits into the program's buffers. */
static ssize_t look(int fd, const struct msghdr *msg, int flags, char *data)
{
	size_t room = total(msg);

	room = room && room < RECEIVE_MAX ? room : RECEIVE_MAX;
	return raw_syscall(SYS_recvfrom, fd, data, room, MSG_PEEK | (flags & MSG_DONTWAIT), NULL, NULL);
}

static void take(int fd)
{
	char one;

	raw_syscall(SYS_recvfrom, fd, &one, sizeof(one), MSG_DONTWAIT, NULL, NULL);
}

/* Delivers one of our messages. The last one of an answer that is all ours removes the kernel's acknowledgement. */
static ssize_t deliver_own(struct talk *t, struct msghdr *msg, int flags)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)(t->answer.data + t->at);
	ssize_t ret = deliver(msg, flags, (const char *)h, h->nlmsg_len);

	if (flags & MSG_PEEK)
		return ret;
	t->at += NLMSG_ALIGN(h->nlmsg_len);
	if (t->own && t->at == t->answer.len) {
		take(t->fd);
		forget(t);
	}
	return ret;
}

/* `data` is the datagram with the end of `t`, at byte `at`. */
static ssize_t answer(struct talk *t, struct msghdr *msg, int flags, const char *data, size_t len, size_t at)
{
	ssize_t ret;

	if (!t->own && at && !t->head_read) {
		t->head_read = !(flags & MSG_PEEK);
		return deliver(msg, flags, data, at);
	}
	if (t->at < t->answer.len)
		return deliver_own(t, msg, flags);
	ret = deliver(msg, flags, data + at, len - at);
	if (!(flags & MSG_PEEK)) {
		take(t->fd);
		forget(t);
	}
	return ret;
}

bool netlink_receive(int fd, struct msghdr *msg, int flags, ssize_t *ret)
{
	union {
		struct nlmsghdr aligned;
		char bytes[RECEIVE_MAX];
	} data;
	struct talk *t = NULL;
	ssize_t len;
	size_t at;

	if (!__atomic_load_n(&talks, __ATOMIC_RELAXED) || protocol_of(fd) < 0)
		return false;
	len = look(fd, msg, flags, data.bytes);
	if (len <= 0)
		return false; /* the system call returns the error */
	pthread_mutex_lock(&lock);
	t = ends_here(fd, data.bytes, (size_t)len, &at);
	if (t)
		*ret = answer(t, msg, flags, data.bytes, (size_t)len, at);
	pthread_mutex_unlock(&lock);
	return t;
}

/* ---- libc's functions (sendto() and recvfrom() are inet.c's) --------------------------------------- */

PRELOAD_API ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t ret;

	return netlink_send(fd, msg, flags, &ret) ? ret : REAL(sendmsg)(fd, msg, flags);
}

PRELOAD_API ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	struct iovec iov = {(void *)buf, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t ret;

	return netlink_send(fd, &msg, flags, &ret) ? ret : REAL(send)(fd, buf, len, flags);
}

PRELOAD_API ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t ret;

	return netlink_receive(fd, msg, flags, &ret) ? ret : REAL(recvmsg)(fd, msg, flags);
}

PRELOAD_API ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	struct iovec iov = {buf, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t ret;

	return netlink_receive(fd, &msg, flags, &ret) ? ret : REAL(recv)(fd, buf, len, flags);
}
