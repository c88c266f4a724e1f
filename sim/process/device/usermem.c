// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of applications, by process_vm_readv and process_vm_writev, several pieces per call. Where the system refuses
 * these calls, the application passes a descriptor of its /proc/self/mem.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int usermem_open(const struct task *t, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)t->pid, what);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Long ones exceed a segment's 32 bits. */
#define SEG_MAX (1u << 30)

static int copy(struct task *t, bool write, uint8_t *buf, uint64_t addr, size_t len)
{
	const struct mm *mm = mm_of_task(t);

	/* /proc/PID/mem ignores the pages' rights, which the calls and the kernel do not. */
	if (mm->dead || (mm->mem >= 0 && accessible(t, addr, len, write)))
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
	int fd = mm_of_task(t)->dead ? -1 : usermem_open(t, "pagemap");
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
	.access_check = accessible,
	.pin_check = pinnable,
	.capable = task_capable,
	.pin = memlock_pin,
	.unpin = memlock_unpin,
	.resident = resident,
	.may_run_on = may_run_on,
	.fd_inode = fd_inode,
	.fd_file = fd_file,
	.fd_get = task_get_fd,
	.dmabuf_get = dmabuf_attach,
};
