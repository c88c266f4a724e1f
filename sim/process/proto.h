/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The protocol between preload library and device process.
 *
 * Control channel: a SOCK_SEQPACKET Unix socket, one connection per application process, one request at a time, each
 * a message of fixed size. An open device file is one end of a Unix stream socket pair; the device process keeps the
 * other end, where end of file means that the last descriptor of the open file description was closed. The
 * application's end has an abstract address that names the file, so that a descriptor is recognised after dup, fork,
 * exec or SCM_RIGHTS, without a table.
 */
#ifndef HCASIM_PROCESS_PROTO_H
#define HCASIM_PROCESS_PROTO_H

#include <stdint.h>

/* Environment variable of an application on a simulated machine: its folder. */
#define PROTO_ENV_RUNTIME "HCASIM_RUNTIME"
/* In that folder: */
#define PROTO_SOCKET_NAME "socket"
/* There if the machine is on the virtual clock: `hcasim run` takes its preload library by it. */
#define PROTO_VIRTUAL_NAME "virtual"
#define PROTO_SYSFS_NAME   "sysfs"
#define PROTO_DEV_NAME     "dev/infiniband"
#define PROTO_EMPTY_NAME   "empty"
/* A line for each adapter: its name, that of its provider, and by what the provider knows it. */
#define PROTO_PROVIDERS_NAME "providers"

#define PROTO_MAGIC   0x6863u
#define PROTO_VERSION 3u

/* "\0hcasim:" FILE-ID ":" MAJOR ":" MINOR, all in hexadecimal. */
#define PROTO_FILE_PREFIX     "hcasim:"
#define PROTO_FILE_PREFIX_LEN 7
#define PROTO_FILE_ADDR_MAX   64

enum proto_op {
	PROTO_HELLO = 1, /* -> ring memfd, kick eventfd */
	PROTO_OPEN,      /* -> the file's descriptor */
	PROTO_STAT,      /* -> dev_t */
	PROTO_IOCTL,
	PROTO_WRITE,
	PROTO_MMAP,     /* -> what to map */
	PROTO_MUNMAP,   /* a page of a BAR was unmapped */
	PROTO_SYNC,     /* files that were closed before this request are released when it returns */
	PROTO_SHOW,     /* updates the counters in sysfs, and hw_counters of a port */
	PROTO_UNMAPPED, /* mappings of the process have changed; only after a reply with `watch` */
	PROTO_REPORT,   /* what a library refused, for the trace */
	PROTO_LINK,     /* -> 1: the network interface is up, 0: it is down; sets it first, if requested */
	PROTO_NUM_OPS
};

#define PROTO_NAME_MAX   64
#define PROTO_REPORT_MAX 512

struct proto_req {
	uint16_t magic;
	uint16_t version;
	uint32_t op;
	uint64_t file;   /* FILE-ID, of requests about a file */
	uint32_t thread; /* id of the caller's thread */
	uint32_t stack;  /* the call's backtrace in the ring's table, from 1 on; 0: none */
	union {
		struct {
			uint64_t image;  /* names this address space: new after fork and exec */
			uint64_t parent; /* image of the parent, 0: none; its BAR mappings are inherited */
			uint64_t
				probe; /* address of a copy of `image`: to check whether memory can be read */
		} hello;
		struct {
			int32_t oflags;
			char name[PROTO_NAME_MAX]; /* name in /dev/infiniband */
		} open;
		struct {
			uint64_t cmd, arg;
		} ioctl;
		struct {
			uint64_t buf, len;
		} write;
		struct {
			uint64_t len, offset;
			int32_t prot;
		} mmap;
		struct {
			uint32_t hca, bar;
			uint64_t bar_offset, len;
		} munmap;
		struct {
			uint64_t addr, len;
		} unmapped;
		struct {
			uint64_t addr, len; /* of the text: members of the record in verbs.log */
		} report;
		struct {
			char name[PROTO_NAME_MAX]; /* of the adapter; empty: no hw_counters */
			uint32_t port;
		} show;
		struct {
			char name[PROTO_NAME_MAX];
			uint32_t set; /* 1: set it to `up` */
			uint32_t up;
		} link;
		uint64_t room[12];
	};
};

#define PROTO_MAX_FDS 4

struct proto_map {
	uint32_t is_bar;
	uint32_t hca, bar;
	uint32_t wc;
	uint32_t read_only;
	uint32_t reserved;
	uint64_t bar_offset;
	uint64_t memfd_offset;
	uint64_t length;
};

struct proto_reply {
	uint16_t magic;
	uint16_t nfds; /* descriptors that come with this message */
	uint32_t op;
	int64_t ret;
	uint32_t watch; /* 1: from now on the process must report what it unmaps */
	uint32_t reserved;
	struct {
		uint32_t size; /* size of the integer at uaddr for the number: 4, 8 */
		uint32_t reserved;
		uint64_t uaddr;
	} install[PROTO_MAX_FDS];
	union {
		uint64_t rdev;
		struct {                        /* HELLO */
			uint32_t virtual_clock; /* threads wait behind their accesses until they may go on */
			uint32_t stacks;        /* stores and calls have backtraces */
		} hello;
		struct proto_map map;
		struct { /* WRITE: bytes to read from the sockets of the file and of descriptor `fd` */
			uint32_t own, other;
			int32_t fd;
			uint32_t wait; /* EAGAIN: the call waits until the file is readable */
		} drain;
	};
};

#endif
