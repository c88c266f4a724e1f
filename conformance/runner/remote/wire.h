/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The protocol between a runner and the peer process at the responder's end, over the peer's stdin and stdout.
 * The peer sends one line of text first (PEER_HELLO, version, stamp). Then the runner sends calls and gets one
 * answer to each: a head, the structure of the call, and for some calls a tail. Both are the same program on
 * machines of the same kind, so that structures are sent as they are in memory; the stamp covers their sizes.
 */
#ifndef CONFORM_REMOTE_WIRE_H
#define CONFORM_REMOTE_WIRE_H

#include <stdbool.h>

#include <infiniband/verbs.h>

#define PEER_HELLO   "hcasim-conform-peer"
#define PEER_VERSION 1
#define PEER_MAGIC   0x4c435048u /* 'HPCL' */
#define PEER_MAX     (40u << 20) /* most bytes after a head */
#define PEER_POOL    (16u << 20) /* bytes of memory that both processes have at the same address */
#define PEER_OBJECTS 4096
#define PEER_SGES    64
#define PEER_WRS     16
#define PEER_NAME    64

struct peer_head {
	uint32_t magic;
	uint16_t call;   /* enum peer_call; an answer names the call it answers */
	uint16_t number; /* sequence number of the call */
	int32_t error;   /* of an answer: errno, 0 none. An answer with an error has no structure */
	uint32_t length; /* of what follows */
};

/* Numbers of objects at the responder's end; 0: none. */
typedef uint32_t peer_id;

struct peer_span { /* a block; or a change, followed by its bytes */
	uint32_t offset, length;
};

/* Its pointers are invalid at the other end: objects are sent by number, SGEs in `sge`. */
struct peer_send_wr {
	struct ibv_send_wr wr;
	struct ibv_sge sge[PEER_SGES];
	peer_id ah, mw, mr;
	uint32_t mw_rkey;
};

struct peer_recv_wr {
	uint64_t wr_id;
	int32_t num_sge;
	struct ibv_sge sge[PEER_SGES];
};

enum peer_cm_stage { PEER_CM_LISTEN, PEER_CM_ACCEPT, PEER_CM_ESTABLISHED, PEER_CM_CLOSE };

/* struct peer_NAME and struct peer_NAME_answer of each call; objects are named by their numbers. */
#define NEED(kind, name) peer_id name;
#define MAY(kind, name)  peer_id name;
#define CALL(name, objects, values, answer, tail)                                                            \
	struct peer_##name {                                                                                 \
		objects values                                                                               \
	};                                                                                                   \
	struct peer_##name##_answer {                                                                        \
		answer                                                                                       \
	};
#include "remote/calls.h"

enum peer_call {
#define CALL(name, ...) PEER_##name,
#include "remote/calls.h"
	PEER_NUM_CALLS
};

struct peer_call_info {
	const char *name;
	size_t call, answer;
	bool tail;
};

extern const struct peer_call_info peer_calls[PEER_NUM_CALLS];

/* A checksum that differs if the structures of the two ends differ. */
uint32_t peer_stamp(void);

/* A growing array of bytes. */
struct peer_bytes {
	uint8_t *at;
	size_t length, room;
};

/* False: no memory. */
bool peer_append(struct peer_bytes *b, const void *from, size_t length);
/* Transfer all bytes, repeating read() or write(); 0 or an errno, ENODATA at the end of the file. */
int peer_read(int fd, void *to, size_t length, int timeout_ms);
int peer_write(int fd, const void *from, size_t length, int timeout_ms);

#endif
