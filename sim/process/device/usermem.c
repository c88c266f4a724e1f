// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of applications, by process_vm_readv and process_vm_writev, several pieces per call. Where the system refuses
 * these calls, the application passes a descriptor of its /proc/self/mem.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "process/device/server.h"

#define MAX_PIECES 1024 /* IOV_MAX */

static int fault_of(int err)
{
	return err == EPERM || err == ENOSYS ? -EPERM : -EFAULT;
}

/* The kernel stops at the first byte that it cannot copy: a short count means a fault. */
static int through_calls(pid_t pid, bool write, const struct hca_dma_seg *seg, uint32_t nseg, uint8_t *buf)
{
	static struct iovec remote[MAX_PIECES];
	struct iovec local;
	ssize_t moved;

	while (nseg) {
		uint32_t n = nseg < MAX_PIECES ? nseg : MAX_PIECES;

		local.iov_base = buf;
		local.iov_len = 0;
		for (uint32_t i = 0; i < n; i++) {
			remote[i].iov_base = (void *)(uintptr_t)seg[i].addr;
			remote[i].iov_len = seg[i].len;
			local.iov_len += seg[i].len;
		}
		moved = write ? process_vm_writev(pid, &local, 1, remote, n, 0)
			      : process_vm_readv(pid, &local, 1, remote, n, 0);
		if (moved < 0)
			return fault_of(errno);
		if ((size_t)moved != local.iov_len)
			return -EFAULT;
		buf += moved;
		seg += n;
		nseg -= n;
	}
	return 0;
}

static int through_file(int mem, bool write, const struct hca_dma_seg *seg, uint32_t nseg, uint8_t *buf)
{
	ssize_t moved;

	for (; nseg; nseg--, buf += seg++->len) {
		moved = write ? pwrite(mem, buf, seg->len, (off_t)seg->addr)
			      : pread(mem, buf, seg->len, (off_t)seg->addr);
		if (moved < 0 || (size_t)moved != seg->len)
			return -EFAULT;
	}
	return 0;
}

static int transfer(pid_t pid, int mem, bool write, const struct hca_dma_seg *seg, uint32_t nseg,
		    uint8_t *buf)
{
	return mem >= 0 ? through_file(mem, write, seg, nseg, buf)
			: through_calls(pid, write, seg, nseg, buf);
}

int usermem_read(pid_t pid, int mem, const struct hca_dma_seg *seg, uint32_t nseg, void *buf)
{
	return transfer(pid, mem, false, seg, nseg, buf);
}

int usermem_write(pid_t pid, int mem, const struct hca_dma_seg *seg, uint32_t nseg, const void *buf)
{
	return transfer(pid, mem, true, seg, nseg, (uint8_t *)buf);
}

static int open_proc(struct task *t, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)t->pid, what);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* ---- /proc/PID/maps ------------------------------------------------------------------------------ */

#ifndef PROCMAP_QUERY /* <linux/fs.h> since Linux 6.11 */
struct procmap_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define PROCMAP_QUERY              _IOWR('f', 17, struct procmap_query)
#define PROCMAP_QUERY_VMA_READABLE 1
#define PROCMAP_QUERY_VMA_WRITABLE 2
#endif

struct walk { /* [addr, end) is covered up to here, in a list of mappings in ascending order */
	uint64_t addr, end;
	bool write;
	int result; /* 1: more mappings are needed */
};

static const char *hex(const char *p, uint64_t *out)
{
	uint64_t v = 0;

	for (;; p++) {
		if (*p >= '0' && *p <= '9')
			v = v << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			v = v << 4 | (uint64_t)(*p - 'a' + 10);
		else
			break;
	}
	*out = v;
	return p;
}

/* Parses a line "start-end rwxp ...". Pinning needs readable memory, and writable if it is written to. */
static void walk_line(struct walk *w, const char *line)
{
	uint64_t start, end;
	const char *p = hex(line, &start);

	p = hex(p + 1, &end);
	if (end <= w->addr)
		return;
	if (start > w->addr || p[1] != 'r' || (w->write && p[2] != 'w')) {
		w->result = -EFAULT;
		return;
	}
	w->addr = end;
	if (end >= w->end)
		w->result = 0;
}

static void walk_file(struct walk *w, int fd)
{
	static char buf[65536];
	size_t have = 0;
	ssize_t n;

	while (w->result > 0 && (n = read(fd, buf + have, sizeof(buf) - 1 - have)) > 0) {
		char *line = buf, *nl;

		have += (size_t)n;
		buf[have] = '\0';
		for (; w->result > 0 && (nl = memchr(line, '\n', (size_t)(buf + have - line))); line = nl + 1)
			walk_line(w, line);
		have = (size_t)(buf + have - line);
		memmove(buf, line, have);
	}
}

/* Queries each mapping of the range. False: this kernel only has the text file. */
static bool query_file(struct walk *w, int fd)
{
	const uint64_t need = PROCMAP_QUERY_VMA_READABLE | (w->write ? PROCMAP_QUERY_VMA_WRITABLE : 0);

	while (w->result > 0) {
		struct procmap_query q = {.size = sizeof(q), .query_addr = w->addr};

		if (ioctl(fd, PROCMAP_QUERY, &q)) {
			if (errno == ENOTTY)
				return false;
			w->result = -EFAULT;
		} else if ((q.vma_flags & need) != need) {
			w->result = -EFAULT;
		} else {
			w->addr = q.vma_end;
			w->result = w->addr < w->end;
		}
	}
	return true;
}

static int pin_check(struct task *t, uint64_t addr, uint64_t len, bool write)
{
	struct walk w = {.addr = addr, .end = addr + len, .write = write, .result = 1};
	int fd;

	if (!len)
		return 0;
	if (w.end < addr || mm_of_task(t)->dead)
		return -EFAULT;
	fd = open_proc(t, "maps");
	if (fd < 0)
		return errno == EMFILE || errno == ENFILE ? -ENFILE : errno == ENOMEM ? -ENOMEM : -EFAULT;
	/* The text has a line for every mapping of the process, possibly thousands. */
	if (!query_file(&w, fd))
		walk_file(&w, fd);
	close(fd);
	return w.result ? -EFAULT : 0;
}

/* Long ones exceed a segment's 32 bits. */
#define SEG_MAX (1u << 30)

static int copy(struct task *t, bool write, uint8_t *buf, uint64_t addr, size_t len)
{
	const struct mm *mm = mm_of_task(t);

	/* /proc/PID/mem ignores the pages' rights, which the calls and the kernel do not. */
	if (mm->dead || (mm->mem >= 0 && pin_check(t, addr, len, write)))
		return -EFAULT;
	while (len) {
		struct hca_dma_seg seg = {addr, len < SEG_MAX ? (uint32_t)len : SEG_MAX, 0};

		if (transfer(t->pid, mm->mem, write, &seg, 1, buf))
			return -EFAULT;
		buf += seg.len;
		addr += seg.len;
		len -= seg.len;
	}
	return 0;
}

static int copy_from_user(struct task *t, void *dst, uint64_t src, size_t len)
{
	return copy(t, false, dst, src, len);
}

static int copy_to_user(struct task *t, uint64_t dst, const void *src, size_t len)
{
	return copy(t, true, (uint8_t *)src, dst, len);
}

static int resident(struct task *t, uint64_t addr, uint32_t pages, uint8_t *out)
{
	const uint64_t present = 1ull << 63, page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t entry[512];
	int fd = mm_of_task(t)->dead ? -1 : open_proc(t, "pagemap");
	ssize_t want = 0, n = -1;

	for (uint32_t done = 0; fd >= 0 && done < pages; done += (uint32_t)(n / 8)) {
		want = (ssize_t)((pages - done < 512 ? pages - done : 512) * sizeof(entry[0]));
		n = pread(fd, entry, (size_t)want, (off_t)((addr / page + done) * sizeof(entry[0])));
		if (n <= 0 || n % 8)
			break;
		for (uint32_t i = 0; i < n / 8; i++)
			out[done + i] = !!(entry[i] & present);
	}
	if (fd >= 0)
		close(fd);
	return n > 0 && n % 8 == 0 ? 0 : -EFAULT;
}

static int fd_file(struct task *t, int fd, uint64_t *dev, uint64_t *ino)
{
	char path[64];
	struct stat st;

	if (fd < 0 || mm_of_task(t)->dead)
		return -EBADF;
	/* Opening the link gives the open file itself, for pipes and sockets, too. */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)t->pid, fd);
	if (stat(path, &st))
		return -EBADF;
	*dev = st.st_dev;
	*ino = st.st_ino;
	return 0;
}

static int fd_inode(struct task *t, int fd, uint64_t *ino)
{
	uint64_t dev;

	return fd_file(t, fd, &dev, ino);
}

static bool may_run_on(struct task *t, uint32_t cpu)
{
	cpu_set_t set;

	return cpu < CPU_SETSIZE && !sched_getaffinity(t->pid, sizeof(set), &set) && CPU_ISSET(cpu, &set);
}

const struct task_ops usermem_task_ops = {
	.copy_from_user = copy_from_user,
	.copy_to_user = copy_to_user,
	.pin_check = pin_check,
	.resident = resident,
	.may_run_on = may_run_on,
	.fd_inode = fd_inode,
	.fd_file = fd_file,
	.fd_get = task_get_fd,
	.dmabuf_get = dmabuf_attach,
};
