// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* System calls on open device files, which are recognised by the socket's address, not by their number. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "process/preload/preload.h"

bool file_lookup(int fd, uint64_t *id, dev_t *rdev)
{
	struct sockaddr_un addr;
	socklen_t len = sizeof(addr);
	char text[PROTO_FILE_ADDR_MAX], *end;
	int saved = errno;
	size_t n;

	if (fd < 0 || !path_runtime())
		return false;
	if (raw_syscall(SYS_getsockname, fd, &addr, &len)) {
		errno = saved;
		return false;
	}
	if (addr.sun_family != AF_UNIX || len <= offsetof(struct sockaddr_un, sun_path) + 1)
		return false;
	n = len - offsetof(struct sockaddr_un, sun_path) - 1;
	if (addr.sun_path[0] || n >= sizeof(text) || n <= PROTO_FILE_PREFIX_LEN ||
	    memcmp(addr.sun_path + 1, PROTO_FILE_PREFIX, PROTO_FILE_PREFIX_LEN))
		return false;
	memcpy(text, addr.sun_path + 1, n);
	text[n] = '\0';
	*id = strtoull(text + PROTO_FILE_PREFIX_LEN, &end, 16);
	if (rdev && *end == ':') {
		unsigned long major_ = strtoul(end + 1, &end, 16);
		unsigned long minor_ = *end == ':' ? strtoul(end + 1, NULL, 16) : 0;

		*rdev = makedev(major_, minor_);
	}
	errno = saved;
	return true;
}

static long result(int64_t ret)
{
	if (ret >= 0)
		return (long)ret;
	errno = (int)-ret;
	return -1;
}

static void close_all(const int *fds, unsigned int n)
{
	while (n)
		raw_syscall(SYS_close, fds[--n]);
}

/*
 * Stores the numbers of new descriptors where the command wants them, as the kernel's copy_to_user does: a bad
 * address is EFAULT, not a signal.
 */
static int64_t install(struct proto_reply *reply, const int *fds)
{
	for (unsigned int i = 0; i < reply->nfds; i++) {
		int64_t number = fds[i];

		if (!netdev_put(&number, (void *)(uintptr_t)reply->install[i].uaddr, reply->install[i].size))
			return -EFAULT;
	}
	return reply->ret;
}

static long command(struct proto_req *req, struct proto_reply *reply)
{
	int fds[PROTO_MAX_FDS];
	int64_t ret = client_call(req, reply, fds);

	if (ret >= 0)
		ret = install(reply, fds);
	if (ret < 0)
		close_all(fds, reply->nfds);
	return result(ret);
}

/* Each byte in a file's socket is a waiting event: reads those of events that were removed. */
static void drain(int fd, uint32_t n)
{
	char waste[64];
	int saved = errno;
	long got;

	while (n) {
		got = raw_syscall(SYS_recvfrom, fd, waste, n < sizeof(waste) ? n : sizeof(waste),
				  MSG_DONTWAIT, NULL, NULL);
		if (got <= 0)
			break;
		n -= (uint32_t)got;
	}
	errno = saved;
}

int file_open(const char *name, int oflags)
{
	struct proto_req req = {.op = PROTO_OPEN};
	struct proto_reply reply;
	int fds[PROTO_MAX_FDS];
	int64_t ret;

	if (strlen(name) >= sizeof(req.open.name))
		return (int)result(-ENOENT);
	req.open.oflags = oflags;
	strcpy(req.open.name, name);
	ret = client_call(&req, &reply, fds);
	if (ret < 0 || reply.nfds != 1) {
		close_all(fds, reply.nfds);
		return (int)result(ret < 0 ? ret : -EIO);
	}
	if (!(oflags & O_CLOEXEC))
		raw_syscall(SYS_fcntl, fds[0], F_SETFD, 0);
	if (oflags & O_NONBLOCK)
		raw_syscall(SYS_fcntl, fds[0], F_SETFL, O_RDWR | O_NONBLOCK);
	return fds[0];
}

int file_stat(const char *name, dev_t *rdev)
{
	struct proto_req req = {.op = PROTO_STAT};
	struct proto_reply reply;
	int fds[PROTO_MAX_FDS];

	if (strlen(name) >= sizeof(req.open.name))
		return (int)result(-ENOENT);
	strcpy(req.open.name, name);
	if (client_call(&req, &reply, fds) < 0)
		return (int)result(reply.ret);
	*rdev = reply.rdev;
	return 0;
}

/* .../infiniband/NAME/ports/PORT/hw_counters/... */
static void find_port(const char *path, struct proto_req *req)
{
	static const char class[] = "/infiniband/", ports[] = "/ports/";
	const char *name = strstr(path, class), *port = strstr(path, ports);
	size_t len = name && port ? (size_t)(port - name) - (sizeof(class) - 1) : PROTO_NAME_MAX;

	if (len >= PROTO_NAME_MAX)
		return;
	memcpy(req->show.name, name + sizeof(class) - 1, len);
	req->show.port = (uint32_t)strtoul(port + sizeof(ports) - 1, NULL, 10);
}

void file_show(const struct path *p)
{
	struct proto_req req = {.op = PROTO_SHOW};
	struct proto_reply reply;
	int fds[PROTO_MAX_FDS];

	if (p->kind != PATH_TREE || !(strstr(p->real, "/counters") || strstr(p->real, "/hw_counters")))
		return;
	if (strstr(p->real, "/hw_counters"))
		find_port(p->real, &req);
	client_call(&req, &reply, fds);
}

PRELOAD_API int ioctl(int fd, unsigned long request, ...)
{
	struct proto_req req = {.op = PROTO_IOCTL};
	struct proto_reply reply;
	va_list ap;
	void *arg;
	int ret;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (netdev_ioctl(fd, request, arg, &ret))
		return ret;
	if (_IOC_TYPE(request) != RDMA_IOCTL_MAGIC || !file_lookup(fd, &req.file, NULL))
		return REAL(ioctl)(fd, request, arg);
	req.ioctl.cmd = request;
	req.ioctl.arg = (uintptr_t)arg;
	return (int)command(&req, &reply);
}

/* Linux releases a file before close() of its last descriptor, or munmap() of its last mapping, returns. */
static void sync_file(uint64_t file)
{
	struct proto_req req = {.op = PROTO_SYNC, .file = file};
	struct proto_reply reply;
	int fds[PROTO_MAX_FDS];

	client_call(&req, &reply, fds);
}

static int close_synced(int fd, uint64_t file)
{
	int ret = REAL(close)(fd);

	sync_file(file);
	return ret;
}

static void end_call(void *arg)
{
	const struct pin_call *call = arg;
	int saved = errno;
	uint64_t file;

	pin_call_end(arg);
	if (!file_lookup(call->theirs, &file, NULL) || file != call->file)
		sync_file(call->file);
	errno = saved;
}

static ssize_t write_command(struct proto_req *req, int fd)
{
	struct proto_reply reply;
	long ret;
	char one;

	for (;;) {
		reply.drain.own = reply.drain.other = reply.drain.wait = 0;
		ret = command(req, &reply);
		drain(fd, reply.drain.own);
		drain(reply.drain.fd, reply.drain.other);
		/*
		 * Waits like a system call: ended by an event, a signal or thread cancellation, and at once if the
		 * file is non-blocking.
		 */
		if (ret >= 0 || errno != EAGAIN || !reply.drain.wait || recv(fd, &one, 1, MSG_PEEK) < 0)
			return ret;
	}
}

PRELOAD_API ssize_t write(int fd, const void *buf, size_t len)
{
	struct proto_req req = {.op = PROTO_WRITE};
	struct pin_call call;
	volatile ssize_t ret = -1; /* a cancelled thread may continue by longjmp() */

	if (!file_lookup(fd, &req.file, NULL))
		return REAL(write)(fd, buf, len);
	req.write.buf = (uintptr_t)buf;
	req.write.len = len;
	pthread_cleanup_push(end_call, &call);
	if (pin_call(&call, fd, req.file))
		ret = write_command(&req, call.fd);
	else
		errno = EBADF;
	pthread_cleanup_pop(1);
	return ret;
}

static void close_file(int fd)
{
	uint64_t file;

	if (file_lookup(fd, &file, NULL))
		close_synced(fd, file);
}

PRELOAD_API int close(int fd)
{
	uint64_t file;

	return file_lookup(fd, &file, NULL) ? close_synced(fd, file) : REAL(close)(fd);
}

/* ---- mmap -------------------------------------------------------------------------------------- */

static void page_gone(const struct proto_map *page)
{
	struct proto_req req = {.op = PROTO_MUNMAP};
	struct proto_reply reply;
	int fds[PROTO_MAX_FDS];

	req.munmap.hca = page->hca;
	req.munmap.bar = page->bar;
	req.munmap.bar_offset = page->bar_offset;
	req.munmap.len = page->length;
	client_call(&req, &reply, fds);
}

static void *map_bar(void *addr, size_t len, int flags, const struct proto_map *map)
{
	int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE));
	void *p = REAL(mmap)(addr, len, PROT_NONE, how, -1, 0);
	int ret;

	if (p == MAP_FAILED)
		return p;
	ret = trap_map(p, len, map);
	if (ret) {
		REAL(munmap)(p, len);
		errno = -ret;
		return MAP_FAILED;
	}
	return p;
}

static void *map_memory(void *addr, size_t len, int prot, int flags, int memfd, const struct proto_map *map)
{
	int how = MAP_SHARED | (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_POPULATE));
	void *p = REAL(mmap)(addr, len, prot, how, memfd, (off_t)map->memfd_offset);

	raw_syscall(SYS_close, memfd);
	return p;
}

static void *map_what(void *addr, size_t len, int prot, int flags, uint64_t file, off_t offset)
{
	struct proto_req req = {.op = PROTO_MMAP, .file = file};
	struct proto_reply reply;
	int fds[PROTO_MAX_FDS];
	void *p;

	req.mmap.len = len;
	req.mmap.prot = prot;
	req.mmap.offset = (uint64_t)offset;
	/* The uverbs file refuses private mappings. */
	if ((flags & MAP_TYPE) != MAP_SHARED && (flags & MAP_TYPE) != MAP_SHARED_VALIDATE)
		reply.ret = -EINVAL;
	else
		client_call(&req, &reply, fds);
	if (reply.ret < 0) {
		errno = (int)-reply.ret;
		return MAP_FAILED;
	}
	if (reply.map.is_bar) {
		p = map_bar(addr, len, flags, &reply.map);
		if (p == MAP_FAILED) {
			int saved = errno;

			page_gone(&reply.map);
			errno = saved;
		}
		return p;
	}
	if (reply.nfds != 1) {
		errno = EIO;
		return MAP_FAILED;
	}
	return map_memory(addr, len, prot, flags, fds[0], &reply.map);
}

/* Pages of [addr, addr + len) are no longer mappings of a file. */
static void unmapped(void *addr, size_t len)
{
	struct pin_piece piece;

	while (pin_take(addr, len, &piece)) {
		trap_unmap(piece.addr, piece.len, page_gone);
		if (piece.fd >= 0)
			close_file(piece.fd);
	}
}

/* Addresses that the kernel has reused: mremap() had moved the old mapping away. */
static void replaced(void *addr, size_t len)
{
	struct pin_piece piece;

	while (pin_take(addr, len, &piece))
		if (piece.fd >= 0)
			close_file(piece.fd);
}

static void *map_file(void *addr, size_t len, int prot, int flags, int fd, uint64_t file, off_t offset)
{
	void *p;

	if ((flags & MAP_FIXED) && len)
		unmapped(addr, len); /* whatever was there is replaced */
	p = map_what(addr, len, prot, flags, file, offset);
	if (p == MAP_FAILED)
		return p;
	replaced(p, len);
	if (pin_add(fd, file, p, len))
		return p;
	trap_unmap(p, len, page_gone);
	REAL(munmap)(p, len);
	errno = ENOMEM;
	return MAP_FAILED;
}

PRELOAD_API void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	uint64_t file;

	if (!(flags & MAP_ANONYMOUS) && file_lookup(fd, &file, NULL))
		return map_file(addr, len, prot, flags, fd, file, offset);
	if ((flags & MAP_FIXED) && len)
		unmapped(addr, len); /* whatever was there is replaced */
	addr = REAL(mmap)(addr, len, prot, flags, fd, offset);
	if ((flags & MAP_FIXED) && addr != MAP_FAILED)
		client_unmapped(addr, len);
	return addr;
}

PRELOAD_API void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t offset)
{
	return mmap(addr, len, prot, flags, fd, offset);
}

PRELOAD_API int munmap(void *addr, size_t len)
{
	int ret;

	/* First: once the pages are free, another thread may get them. */
	if (len && !((uintptr_t)addr & 0xfff))
		unmapped(addr, len);
	ret = REAL(munmap)(addr, len);
	if (!ret)
		client_unmapped(addr, len);
	return ret;
}

/* ---- syscall(): see syscall.S ------------------------------------------------------------------ */

/*
 * The hooks are a jump over our `mmap`, which calls the hook and then syscall(SYS_mmap). Other files must be mapped
 * by a system call here: libc's mmap may be hooked in the same way, and would call us again.
 */
long preload_syscall_mmap(long number, void *addr, size_t len, long prot, long flags, long fd, off_t offset)
{
	uint64_t file;

	if (!(flags & MAP_ANONYMOUS) && file_lookup((int)fd, &file, NULL))
		return (long)map_file(addr, len, (int)prot, (int)flags, (int)fd, file, offset);
	if ((flags & MAP_FIXED) && len)
		unmapped(addr, len);
	return raw_syscall(number, addr, len, prot, flags, fd, offset);
}

long preload_syscall_munmap(long number, void *addr, size_t len)
{
	long ret;

	if (len && !((uintptr_t)addr & 0xfff))
		unmapped(addr, len);
	ret = raw_syscall(number, addr, len);
	if (!ret)
		client_unmapped(addr, len);
	return ret;
}
