/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * libhcasim_preload.so: redirects an unmodified application's access to RDMA devices to the device process. All
 * symbols are hidden, except functions with PRELOAD_API, which replace libc's.
 */
#ifndef HCASIM_PROCESS_PRELOAD_H
#define HCASIM_PROCESS_PRELOAD_H

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "process/preload/raw.h"
#include "process/proto.h"
#include "process/ring.h"

#define PRELOAD_API __attribute__((visibility("default")))

/* libc's function (or that of the next library, which may wrap it). */
#define REAL(fn)                                                                                             \
	({                                                                                                   \
		static void *real_;                                                                          \
		void *p_ = __atomic_load_n(&real_, __ATOMIC_RELAXED);                                        \
		if (!p_) {                                                                                   \
			p_ = dlsym(RTLD_NEXT, #fn);                                                          \
			__atomic_store_n(&real_, p_, __ATOMIC_RELAXED);                                      \
		}                                                                                            \
		(__typeof__(&fn))p_;                                                                         \
	})

/* ---- paths.c: which paths are ours ----------------------------------------------------------- */

enum path_kind {
	PATH_OTHER,  /* not ours */
	PATH_TREE,   /* a file or folder of the simulated sysfs or /dev/infiniband: its path is `real` */
	PATH_DEVICE, /* a device file: `name` */
};
struct path {
	enum path_kind kind;
	const char *name; /* name in /dev/infiniband */
	char real[PATH_MAX];
};
/* The path to use instead of `path`; fills `p`. */
const char *path_lookup(const char *path, struct path *p);
/* The machine's folder; NULL: this process was not started by `hcasim run`. */
const char *path_runtime(void);

/* ---- client.c: the control channel ------------------------------------------------------------- */

/*
 * Sends one request. Connects if necessary (first use, after fork, after the application closed our descriptor).
 * Returns reply->ret; -EIO after the device process has ended, as for a disassociated device. `fds` receives
 * reply->nfds descriptors, close-on-exec.
 */
int64_t client_call(struct proto_req *req, struct proto_reply *reply, int fds[PROTO_MAX_FDS]);
/* The MMIO ring, NULL if the device process cannot be reached. For the fault handler. */
struct ring *client_ring(void);
/* The machine runs on the virtual clock. For the fault handler. */
bool client_virtual_clock(void);
/* The device process wants backtraces. For the fault handler. */
bool client_stacks(void);
/* Wakes the device process: the ring is not empty. For the fault handler. */
void client_kick(void);
/*
 * Moves `fd` to a high number, for applications that expect low ones, close-on-exec; with `copy` the old one stays
 * open, and -1 means that no number is free.
 */
int client_move_up(int fd, bool copy);
/* False if the device process has ended. Checks the socket. For the fault handler. */
bool client_alive(void);
/*
 * [addr, addr + len) is no longer mapped as before: notifies the device process, if it wants to know. To be called
 * after the system call.
 */
void client_unmapped(const void *addr, size_t len);
/* The same for all memory, which fork() shares with the child. */
void client_unmapped_all(void);

/* ---- dumpable.c ------------------------------------------------------------------------------- */

/* Makes this process one whose memory the device process may access, whatever the program has set, or sets later. */
void dumpable_make(void);

/* ---- files.c: opened device files ---------------------------------------------------------------- */

/* True if `fd` is a device file of a simulated machine. Does not change errno. */
bool file_lookup(int fd, uint64_t *id, dev_t *rdev);
int file_open(const char *name, int oflags);
int file_stat(const char *name, dev_t *rdev);
/* Counters in sysfs are files: they are updated before `p`, if it is one or a folder of them, is opened. */
void file_show(const struct path *p);

/* ---- netdev.c: network interfaces ---------------------------------------------------------------- */

/* ioctl() of a simulated interface, or of all interfaces: true if handled, and `ret` is the call's result. */
bool netdev_ioctl(int fd, unsigned long request, void *arg, int *ret);
/* Sets the interface's link, if requested, and returns its state: 1 up, 0 down, -errno. */
int netdev_link(const char *name, bool set, bool up);
/* Copies from and to the application's memory: false if not mapped. */
bool netdev_get(void *own, const void *user, size_t size);
bool netdev_put(const void *own, void *user, size_t size);

/* ---- syscall.S: libc's syscall() ----------------------------------------------------------------- */

/* Implementation of syscall() for these numbers: -1 and errno. */
long preload_syscall_mmap(long number, void *addr, size_t len, long prot, long flags, long fd, off_t offset);
long preload_syscall_munmap(long number, void *addr, size_t len);

/* ---- pin.c: files that are mapped, or in a call ------------------------------------------------- */

/* [addr, addr + len) was mapped from `file`; `fd` is one of its descriptors. False: no memory. */
bool pin_add(int fd, uint64_t file, void *addr, size_t len);

struct pin_piece {
	void *addr;
	size_t len;
	int fd; /* the last mapping of its file is gone: close it; -1: none */
};

/* Removes one piece of [addr, addr + len) that was mapped from a file. False: there was none. */
bool pin_take(void *addr, size_t len, struct pin_piece *piece);

struct pin_call {
	LIST_ENTRY(pin_call) link;
	uint64_t file;
	int theirs; /* the application's descriptor, which it may close, and reuse, meanwhile */
	int fd;     /* of the file until the call ends */
};

/* Starts a call of the application on `file` through `fd`. False: `fd` is another file by now. */
bool pin_call(struct pin_call *call, int fd, uint64_t file);
void pin_call_end(struct pin_call *call);

/* ---- trap.c: BAR pages ----------------------------------------------------------------------------- */

/* `len` bytes at `addr` (pages without access rights) become BAR memory. 0, -ENOMEM, or -ENOTSUP after a message. */
int trap_map(void *addr, size_t len, const struct proto_map *map);
/* Pages of the range are no longer BAR memory; `gone` is called for each of them. */
void trap_unmap(void *addr, size_t len, void (*gone)(const struct proto_map *page));

#endif
