// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * dma-bufs of applications. The device process gets the application's descriptor (pidfd_getfd(2), which needs the
 * same rights as process_vm_readv(2)) and maps the buffer, which may belong to no process.
 *
 * A memfd is accepted, too, if /dev/udmabuf would make a dma-buf of it (drivers/dma-buf/udmabuf.c: sealed against
 * shrinking, not against writing), for hosts without an exporter. Memfds of huge pages are not: if no huge page is
 * left for a hole, an access gets SIGBUS.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "process/device/server.h"

struct attachment {
	struct dmabuf dmabuf;
	struct table_node by_pasid;
	struct server *server;
	uint8_t *map;
};

static void detach(struct dmabuf *d)
{
	struct attachment *a = (struct attachment *)d;

	table_remove(&a->server->dmabufs, &a->by_pasid);
	munmap(a->map, d->size);
	free(a);
}

static bool exports(int fd)
{
	struct statfs fs;
	int seals;

	if (fstatfs(fd, &fs))
		return false;
	if (fs.f_type == DMA_BUF_MAGIC)
		return true;
	seals = fcntl(fd, F_GET_SEALS);
	return fs.f_type == TMPFS_MAGIC && seals >= 0 && (seals & F_SEAL_SHRINK) && !(seals & F_SEAL_WRITE);
}

static int map(struct attachment *a, int fd)
{
	struct stat st;

	if (!exports(fd) || fstat(fd, &st) || st.st_size <= 0)
		return -EINVAL;
	a->dmabuf.size = (uint64_t)st.st_size;
	a->map = mmap(NULL, a->dmabuf.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return a->map == MAP_FAILED ? -errno : 0;
}

int task_get_fd(struct task *t, int fd)
{
	const struct mm *mm = mm_of_task(t);
	int own;

	if (fd < 0 || mm->dead)
		return -EBADF;
	if (mm->pidfd < 0)
		return -EOPNOTSUPP;
	own = (int)syscall(SYS_pidfd_getfd, mm->pidfd, fd, 0);
	return own < 0 ? -errno : own;
}

int dmabuf_attach(struct task *t, int fd, struct dmabuf **out)
{
	const struct mm *mm = mm_of_task(t);
	const int own = task_get_fd(t, fd);
	struct attachment *a;
	int ret;

	if (own < 0)
		return own;
	a = calloc(1, sizeof(*a));
	ret = a ? map(a, own) : -ENOMEM;
	close(own);
	if (ret) {
		free(a);
		return ret;
	}
	a->server = mm->server;
	a->dmabuf.pasid = ++mm->server->last_pasid;
	a->dmabuf.put = detach;
	table_add(&mm->server->dmabufs, &a->by_pasid, a->dmabuf.pasid);
	*out = &a->dmabuf;
	return 0;
}

int dmabuf_move(const struct server *s, uint32_t pasid, const struct hca_dma_seg *seg, uint32_t nseg,
		uint8_t *buf, bool write)
{
	struct table_node *node = table_find(&s->dmabufs, pasid);
	struct attachment *a = node ? table_entry(node, struct attachment, by_pasid) : NULL;

	for (uint32_t i = 0; i < nseg; buf += seg[i++].len) {
		if (!a || seg[i].addr > a->dmabuf.size || seg[i].len > a->dmabuf.size - seg[i].addr)
			return -EFAULT;
		if (write)
			memcpy(a->map + seg[i].addr, buf, seg[i].len);
		else
			memcpy(buf, a->map + seg[i].addr, seg[i].len);
	}
	return 0;
}
