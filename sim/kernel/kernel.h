/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The simulated kernel: ib_uverbs and rdma_ucm files, objects and sysfs of one simulated machine.
 * sim/process passes system calls of applications to it, and descriptors back.
 *
 * Return values are those of the system call: 0 or a count, or a negative errno. Single-threaded: every call is on
 * the thread that runs the machine.
 */
#ifndef HCASIM_KERNEL_KERNEL_H
#define HCASIM_KERNEL_KERNEL_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "devices/driver.h"
#include "kernel/releases.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kernel;
struct kfile; /* an open /dev/infiniband/uverbsN: one open file description */

/* An attachment to a dma-buf: an address space for DMA whose addresses are offsets in the buffer. */
struct dmabuf {
	uint64_t size;
	uint32_t pasid; /* until put() */
	void (*put)(struct dmabuf *d);
};

/* The calling process. Implemented by sim/process with process_vm_*; unit tests use plain memory. */
struct task {
	uint32_t pasid; /* address space for DMA; valid while a context of the task exists */
	pid_t pid;
	const struct task_ops *ops;
	/* Of the call that is made, for the log: its thread, and its backtrace; 0: none. */
	uint32_t tid, stack;
};
struct task_ops {
	/* 0 or -EFAULT */
	int (*copy_from_user)(struct task *t, void *dst, uint64_t src, size_t len);
	int (*copy_to_user)(struct task *t, uint64_t dst, const void *src, size_t len);
	/* Whether the task itself may read the whole range (and write it, if `write`). 0, -EFAULT, -ENOMEM. */
	int (*access_check)(struct task *t, uint64_t addr, uint64_t len, bool write);
	/* Whether Linux would pin it for the adapter. */
	int (*pin_check)(struct task *t, uint64_t addr, uint64_t len, bool write);
	/* The adapter holds so many more pages of the task. -ENOMEM: they exceed its RLIMIT_MEMLOCK; -EPERM: that is 0. */
	int (*pin)(struct task *t, uint64_t pages);
	void (*unpin)(struct task *t, uint64_t pages);
	/* Sets resident[i] to whether page i from `addr` on is in memory. 0 or -EFAULT. */
	int (*resident)(struct task *t, uint64_t addr, uint32_t pages, uint8_t *resident);
	/* It has this capability in the first user namespace. */
	bool (*capable)(struct task *t, unsigned int capability);
	/* The task may run on this processor. */
	bool (*may_run_on)(struct task *t, uint32_t cpu);
	/*
	 * Inode number of the file of the task's descriptor `fd` (an event pipe or device socket created here), or
	 * -EBADF.
	 */
	int (*fd_inode)(struct task *t, int fd, uint64_t *ino);
	/* Identity of the open file of any descriptor of the task, or -EBADF. */
	int (*fd_file)(struct task *t, int fd, uint64_t *dev, uint64_t *ino);
	/* The task's descriptor `fd` as one of this process, which closes it; -EBADF, or why there is none. */
	int (*fd_get)(struct task *t, int fd);
	/* Attaches to the dma-buf of the task's descriptor `fd`. -EBADF: not open, -EINVAL: not a dma-buf. */
	int (*dmabuf_get)(struct task *t, int fd, struct dmabuf **out);
};

/*
 * Descriptors that are returned to the application with a system call's result. The application's side
 * installs each one and stores its number (as `size` bytes, 4 or 8) at `uaddr`. sim/process closes our `fd`
 * after sending it.
 */
#define KREPLY_MAX_FDS 4
struct kreply {
	unsigned int nfds;
	struct {
		int fd;
		uint8_t size;
		uint64_t uaddr;
	} install[KREPLY_MAX_FDS];
	/*
	 * Surplus bytes in the socket of the file (kernel_file_ready()), and in that of the task's descriptor
	 * `drain_fd`, after events were read: the application's side reads them from the socket.
	 */
	unsigned int drain, drain_other;
	int drain_fd;
	bool watch; /* report memory that the application unmaps: kernel_unmapped() */
	bool wait;  /* -EAGAIN: the call waits until the file is readable, unless it is non-blocking */
	/* Not NULL: the machine runs until this is false for `object`; then the call returns. */
	bool (*busy)(void *object);
	void *object;
};

struct kernel_config {
	unsigned int num_devices;
	struct hca *hca[16];
	const struct hca_config *cfg[16];
	const struct drv_ops *drv;         /* driver of all devices */
	const struct drv_ops *const *drvs; /* or of each one; NULL: `drv` */
	uint16_t release;       /* libraries see the ABI of this Linux: LINUX(6, 1) or LINUX_LATEST */
	const char *sysfs_root; /* an existing folder in which class/..., devices/... are created */
	hca_ps (*now)(void *arg);
	void *now_arg;
	/*
	 * Returns the process that owns an address space, or NULL if it has ended. If the function is not
	 * set, no page is ever present.
	 */
	struct task *(*find_task)(void *arg, uint32_t pasid);
	void *find_task_arg;
	/*
	 * True while an application maps some of these bytes of an adapter's BAR. If not set, none ever does.
	 */
	bool (*bar_mapped)(void *arg, unsigned int device, unsigned int bar, uint64_t offset,
			   uint64_t length);
	void *bar_mapped_arg;
	hca_ps page_fault, page_fault_per_page; /* time to handle a page request */
	bool poll_doorbell;                     /* each poll of a CQ rings a doorbell */
	FILE *log;                              /* verbs.log; NULL: none */
};
struct kernel *kernel_create(const struct kernel_config *cfg, char *err, size_t err_size);
void kernel_destroy(struct kernel *k);
/* MSI-X from the machine. */
void kernel_irq(struct kernel *k, unsigned int device, unsigned int vector);
/* The drivers' time of day, if programs read it, is now the host's. */
void kernel_update_clocks(struct kernel *k);

/* What a program's processor did for a store to a BAR, in the program's order. */
void kernel_cpu_work(struct kernel *k, unsigned int device, unsigned int bar, uint64_t offset,
		     const void *data, uint32_t size, struct drv_cpu_work *out);

/* `name`: name in /dev/infiniband. -ENOENT, -ENXIO, ... */
int kernel_open(struct kernel *k, struct task *t, const char *name, int oflags, struct kfile **out);
/* dev_t of a device file, for the application's stat(). */
int kernel_stat(struct kernel *k, const char *name, dev_t *rdev);
long kernel_ioctl(struct kfile *f, struct task *t, unsigned long cmd, uint64_t arg, struct kreply *reply);
ssize_t kernel_write(struct kfile *f, struct task *t, uint64_t buf, size_t len, struct kreply *reply);
int kernel_mmap(struct kfile *f, struct task *t, uint64_t len, int prot, uint64_t offset,
		struct drv_mmap *out);
/*
 * `fd`: a stream socket whose peer the application holds as the file, with inode `ino`. One byte is written
 * to it for each unread event (up to a limit), so that poll() on the file works as on Linux.
 */
void kernel_file_ready(struct kfile *f, int fd, uint64_t ino);
/* The application's pages changed: they were unmapped, dropped, moved, or shared with a child. */
void kernel_unmapped(struct kernel *k, const struct task *t, uint64_t addr, uint64_t len);
/*
 * Updates the counters in sysfs before a program reads one; hw_counters of the port of adapter `name` as Linux does: if
 * the last time is longer ago than their lifespan says.
 */
void kernel_show_counters(struct kernel *k, const char *name, uint32_t port);
/* Network interface `name`: 1 if it is up, 0 if not; -ENODEV: no such interface. */
int kernel_link(struct kernel *k, const char *name);
/* Sets the interface up or down, and the link of its port with it. sysfs is up to date on return. */
int kernel_link_set(struct kernel *k, const char *name, bool up);
/* Which adapter the file belongs to. */
unsigned int kernel_file_device(const struct kfile *f);
/*
 * What a program waits for that reads the event file or rdma_cm file with this inode, for the log: "completion channel",
 * "asynchronous events", "rdma_cm channel"; NULL: it is no such file.
 */
const char *kernel_waits_for(const struct kernel *k, uint64_t ino);
/* True if the pipe with inode `ino`, handed out for this file, carries asynchronous events. */
bool kernel_file_async(const struct kfile *f, uint64_t ino);
/* The last descriptor of the file was closed, or the process died. Frees everything the file held. */
void kernel_release(struct kfile *f);
/*
 * A descriptor to poll: readable when a full event pipe has room again, or when an event pipe lost its
 * reader.
 */
int kernel_event_fd(const struct kernel *k);
/* Call it when that descriptor is readable. Returns the number of pipes handled. */
unsigned int kernel_poll_events(struct kernel *k);

#ifdef __cplusplus
}
#endif
#endif
