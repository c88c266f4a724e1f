// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The application's end of the control channel. The fault handler also connects and uses the ring, so only system
 * calls are used. Signals are blocked while the lock is held: a signal handler that accesses a BAR must not find its
 * own thread inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "process/preload/preload.h"
#include "process/trap/stack.h"

static struct {
	pthread_mutex_t lock;
	int fd;
	ino_t ino; /* of the socket: the application may have closed fd and reused its number */
	pid_t pid; /* who connected */
	_Atomic bool dead;
	bool refused; /* the device process cannot read our memory; the message was printed */
	uint64_t image, parent;
	struct ring *_Atomic ring;
	_Atomic bool virtual_clock;
	_Atomic bool stacks; /* calls and stores have backtraces */
	bool watched;        /* the device process must be notified of unmapped memory */
} client = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static void say(const char *text)
{
	if (raw_syscall(SYS_write, STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static void lock(sigset_t *saved)
{
	sigset_t all;

	sigfillset(&all);
	/* Not through libc: its functions are replaced, and keep SIGSEGV unblocked. */
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, saved, 8);
	pthread_mutex_lock(&client.lock);
}

static void unlock(const sigset_t *saved)
{
	pthread_mutex_unlock(&client.lock);
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, saved, NULL, 8);
}

static ino_t inode_of(int fd)
{
	struct stat st;

	if (raw_syscall(SYS_fstat, fd, &st) || !S_ISSOCK(st.st_mode))
		return 0;
	return st.st_ino;
}

static bool connected(void)
{
	return client.fd >= 0 && client.pid == getpid() && inode_of(client.fd) == client.ino;
}

int client_move_up(int fd, bool copy)
{
	struct rlimit lim;
	int high = 900, moved;

	if (!getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur <= 1024)
		high = lim.rlim_cur > 64 ? (int)lim.rlim_cur - 32 : 0;
	moved = (int)raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, high);
	if (moved < 0)
		return copy ? -1 : fd;
	if (!copy)
		raw_syscall(SYS_close, fd);
	return moved;
}

static int dial(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int fd, n;

	n = snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/" PROTO_SOCKET_NAME, path_runtime());
	if (n >= (int)sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	fd = (int)raw_syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (raw_syscall(SYS_connect, fd, &addr, sizeof(addr))) {
		raw_syscall(SYS_close, fd);
		return -EIO;
	}
	dumpable_make();
	/* If Yama restricts ptrace to descendants, we have to allow the device process. */
	if (!raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		raw_syscall(SYS_prctl, PR_SET_PTRACER, peer.pid, 0, 0, 0);
	return client_move_up(fd, false);
}

static bool receive(int fd, struct proto_reply *reply, int fds[PROTO_MAX_FDS])
{
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(PROTO_MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov = {reply, sizeof(*reply)};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	unsigned int got = 0;
	ssize_t n;

	do {
		n = raw_syscall(SYS_recvmsg, fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(*reply) || reply->magic != PROTO_MAGIC)
		return false;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		got = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), got * sizeof(int));
	}
	if (got < reply->nfds && reply->ret >= 0)
		reply->ret = -EMFILE; /* this process has no free descriptors: the kernel dropped them */
	reply->nfds = got;
	return true;
}

/* `give`: a descriptor that goes with the request, or -1. */
static bool exchange(int fd, struct proto_req *req, int give, struct proto_reply *reply,
		     int fds[PROTO_MAX_FDS])
{
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.hdr = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec iov = {req, sizeof(*req)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	req->magic = PROTO_MAGIC;
	req->version = PROTO_VERSION;
	req->thread = (uint32_t)raw_syscall(SYS_gettid);
	if (give >= 0) {
		memcpy(CMSG_DATA(&control.hdr), &give, sizeof(give));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	do {
		n = raw_syscall(SYS_sendmsg, fd, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	/* A refused connection has its answer before the first request. */
	return (n == sizeof(*req) || errno == EPIPE) && receive(fd, reply, fds);
}

static void refuse(int64_t err)
{
	if (client.refused)
		return;
	client.refused = true;
	if (err == -EPROTO)
		say("hcasim: the preload library and hcasim-device are of different versions\n");
	else if (err == -ENFILE)
		say("hcasim: the device process has no descriptors left for one more program: raise the hard "
		    "limit of open files (ulimit -Hn) of whoever starts hcasim run\n");
	else if (err == -ENOMEM)
		say("hcasim: the device process has no memory for one more program\n");
	else
		say("hcasim: the device process may not read this process's memory (process_vm_readv is "
		    "refused, and so is /proc/self/mem). Set kernel.yama.ptrace_scope to 0 or 1; in a "
		    "container, allow process_vm_readv and process_vm_writev in its seccomp profile. If the "
		    "program runs as another user than hcasim run, the machine needs the capability "
		    "SYS_PTRACE, or both must be started as the same user\n");
}

static void drop_connection(void)
{
	struct ring *old = atomic_exchange(&client.ring, NULL);

	/* Another thread may be in the handler with the old ring: its pages stay mapped until exit. */
	(void)old;
	if (client.fd >= 0 && inode_of(client.fd) == client.ino)
		raw_syscall(SYS_close, client.fd);
	client.fd = -1;
}

/* Where process_vm_readv is refused: with a descriptor of this process's memory. */
static bool exchange_with_mem(int fd, struct proto_req *req, struct proto_reply *reply,
			      int fds[PROTO_MAX_FDS])
{
	int mem = (int)raw_syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC);
	bool done = mem < 0 || exchange(fd, req, mem, reply, fds);

	if (mem >= 0)
		raw_syscall(SYS_close, mem);
	return done;
}

static int64_t hello(int fd)
{
	struct proto_req req = {.op = PROTO_HELLO};
	struct proto_reply reply;
	int fds[PROTO_MAX_FDS];
	void *map;

	if (!client.image)
		raw_syscall(SYS_getrandom, &client.image, sizeof(client.image), 0);
	req.hello.image = client.image;
	req.hello.parent = client.parent;
	req.hello.probe = (uintptr_t)&client.image;
	if (!exchange(fd, &req, -1, &reply, fds))
		return -EIO;
	if (reply.ret == -EPERM && !exchange_with_mem(fd, &req, &reply, fds))
		return -EIO;
	if (reply.ret < 0 || reply.nfds != 1) {
		refuse(reply.ret);
		return reply.ret == -ENFILE || reply.ret == -ENOMEM ? reply.ret : -EACCES;
	}
	map = (void *)raw_syscall(SYS_mmap, NULL, sizeof(struct ring), PROT_READ | PROT_WRITE, MAP_SHARED,
				  fds[0], 0);
	raw_syscall(SYS_close, fds[0]);
	if (map == MAP_FAILED)
		return -ENOMEM;
	raw_syscall(SYS_madvise, map, sizeof(struct ring), MADV_DONTFORK);
	atomic_store(&client.virtual_clock, reply.hello.virtual_clock);
	atomic_store(&client.stacks, reply.hello.stacks);
	atomic_store(&client.ring, map);
	return 0;
}

/* With the lock held. */
static int64_t need_connection(void)
{
	int64_t err;
	int fd;

	if (atomic_load(&client.dead) || !path_runtime())
		return -EIO;
	if (connected())
		return 0;
	drop_connection();
	fd = dial();
	if (fd < 0) {
		atomic_store(&client.dead, fd == -EIO);
		return fd;
	}
	client.fd = fd;
	client.ino = inode_of(fd);
	client.pid = getpid();
	err = hello(fd);
	if (err) {
		atomic_store(&client.dead, err == -EIO);
		drop_connection();
	}
	return err;
}

bool client_stacks(void)
{
	return atomic_load_explicit(&client.stacks, memory_order_relaxed) &&
	       atomic_load_explicit(&client.ring, memory_order_relaxed);
}

int64_t client_call(struct proto_req *req, struct proto_reply *reply, int fds[PROTO_MAX_FDS])
{
	int saved = errno;
	sigset_t mask;
	int64_t ret;

	if (client_stacks()) {
		stack_prepare();
		req->stack = stack_of(atomic_load(&client.ring), 0);
	}
	lock(&mask);
	ret = need_connection();
	if (!ret && !exchange(client.fd, req, -1, reply, fds)) {
		atomic_store(&client.dead, true);
		ret = -EIO;
	}
	unlock(&mask);
	errno = saved;
	if (!ret && reply->watch)
		__atomic_store_n(&client.watched, true, __ATOMIC_RELAXED);
	if (ret) {
		memset(reply, 0, sizeof(*reply));
		reply->ret = ret;
	}
	return reply->ret;
}

/* For libhcasim_calls.so. */
PRELOAD_API void hcasim_report(const char *text, size_t len);
void hcasim_report(const char *text, size_t len)
{
	struct proto_req req = {.op = PROTO_REPORT, .report = {(uintptr_t)text, len}};
	struct proto_reply reply;
	int fds[PROTO_MAX_FDS];

	client_call(&req, &reply, fds);
}

void client_unmapped(const void *addr, size_t len)
{
	const uint64_t page = 4096, start = (uintptr_t)addr & ~(page - 1);
	struct proto_req req = {.op = PROTO_UNMAPPED};
	struct proto_reply reply;
	int fds[PROTO_MAX_FDS];

	if (!__atomic_load_n(&client.watched, __ATOMIC_RELAXED) || !len)
		return;
	req.unmapped.addr = start;
	req.unmapped.len = (((uintptr_t)addr + len + page - 1) & ~(page - 1)) - start;
	client_call(&req, &reply, fds);
}

void client_unmapped_all(void)
{
	client_unmapped(NULL, SIZE_MAX / 2);
}

struct ring *client_ring(void)
{
	struct ring *ring = atomic_load_explicit(&client.ring, memory_order_acquire);
	sigset_t mask;

	if (atomic_load_explicit(&client.dead, memory_order_relaxed))
		return NULL;
	if (ring)
		return ring;
	/* After fork: the child has its parent's BAR mappings, but no connection yet. */
	lock(&mask);
	need_connection();
	ring = atomic_load(&client.ring);
	unlock(&mask);
	return ring;
}

bool client_virtual_clock(void)
{
	return atomic_load_explicit(&client.virtual_clock, memory_order_relaxed) &&
	       atomic_load_explicit(&client.ring, memory_order_relaxed);
}

void client_kick(void)
{
	static const char kick;

	/* A message without a reply. Lost only if the device process has ended. */
	if (inode_of(client.fd) == client.ino)
		raw_syscall(SYS_sendto, client.fd, &kick, 1, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
}

bool client_alive(void)
{
	struct pollfd p = {.fd = client.fd, .events = 0};

	if (atomic_load(&client.dead))
		return false;
	if (inode_of(client.fd) != client.ino)
		return true; /* closed by the application: the next request connects again */
	if (raw_syscall(SYS_poll, &p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)))
		atomic_store(&client.dead, true);
	return !atomic_load(&client.dead);
}

/* ---- fork ------------------------------------------------------------------------------------ */

static sigset_t fork_mask;

static void fork_prepare(void)
{
	sigset_t mask;

	lock(&mask);
	fork_mask = mask;
}

static void fork_parent(void)
{
	sigset_t mask = fork_mask;

	unlock(&mask);
	client_unmapped_all();
}

static void fork_child(void)
{
	sigset_t mask = fork_mask;

	if (client.image) {
		client.parent = client.image;
		client.image = 0;
	}
	drop_connection();
	unlock(&mask);
}

__attribute__((constructor)) static void watch_fork(void)
{
	if (path_runtime())
		pthread_atfork(fork_prepare, fork_parent, fork_child);
}
