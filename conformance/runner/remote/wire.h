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

struct peer_nothing {
	uint32_t unused;
};

struct peer_open {
	char device[PEER_NAME];
	char address[PEER_NAME]; /* for rdma_cm */
	int32_t port, gid_index;
	uint32_t timeout_ms;
};

struct peer_opened {
	char device[PEER_NAME];
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	uint64_t clock_khz;
	peer_id pd;
};

struct peer_map {
	uint64_t base, size;
};

/* Tail of the call: blocks in use, then changes. Tail of the answer: changes. */
struct peer_sync {
	uint32_t num_blocks;
};

struct peer_span { /* a block; or a change, followed by its bytes */
	uint32_t offset, length;
};

struct peer_object {
	peer_id id;
};

struct peer_reg_mr {
	peer_id pd;
	uint32_t access;
	uint64_t addr, length, iova;
};

struct peer_mr {
	peer_id id;
	uint32_t lkey, rkey;
};

struct peer_alloc_dm {
	uint64_t length;
	uint32_t log_align_req, comp_mask;
};

struct peer_reg_dm_mr {
	peer_id pd, dm;
	uint64_t offset, length;
	uint32_t access;
};

/* Tail of the call, or of the answer: the bytes. */
struct peer_copy_dm {
	peer_id dm;
	uint64_t offset;
	uint32_t length; /* bytes to read; 0: write the tail */
};

struct peer_create_cq {
	peer_id channel;
	uint32_t cqe, extended;
	uint64_t wc_flags;
};

struct peer_cq {
	peer_id id;
	uint32_t cqe;
};

struct peer_notify {
	peer_id cq;
	int32_t solicited_only;
};

/* Tail of both: the caller's array of struct ibv_wc, before and after the call. */
struct peer_poll {
	peer_id cq;
	int32_t num;        /* of an answer: the return value */
	uint64_t timestamp; /* of an answer: of the completion, if the CQ has timestamps */
};

struct peer_modify_cq {
	peer_id cq;
	struct ibv_modify_cq_attr attr;
};

struct peer_ticks {
	uint64_t raw_clock;
};

struct peer_create_srq {
	peer_id pd, xrcd, cq;
	uint32_t extended; /* ibv_create_srq_ex */
	struct ibv_srq_attr attr;
};

struct peer_srq {
	peer_id id;
	struct ibv_srq_attr attr;
};

struct peer_modify_srq {
	peer_id srq;
	int32_t mask;
	struct ibv_srq_attr attr;
};

struct peer_number {
	uint32_t number;
};

struct peer_create_qp {
	peer_id pd, xrcd, send_cq, recv_cq, srq;
	uint32_t type, sq_sig_all;
	uint32_t extended; /* ibv_create_qp_ex */
	struct ibv_qp_cap cap;
};

struct peer_qp {
	peer_id id;
	uint32_t qp_num;
	struct ibv_qp_cap cap;
};

struct peer_modify_qp {
	peer_id qp;
	int32_t mask;
	struct ibv_qp_attr attr;
};

struct peer_query_qp {
	peer_id qp;
	int32_t mask;
};

struct peer_queried_qp {
	struct ibv_qp_attr attr;
	struct ibv_qp_cap cap;
	uint32_t type, sq_sig_all;
};

/* Tail: `num` struct peer_send_wr or struct peer_recv_wr. */
struct peer_post {
	peer_id queue; /* QP or SRQ */
	uint32_t num;
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

struct peer_posted {
	int32_t result; /* return value of the API */
	int32_t bad;    /* index that *bad_wr named, -1: none */
};

struct peer_alloc_mw {
	peer_id pd;
	uint32_t type;
};

struct peer_mw {
	peer_id id;
	uint32_t rkey;
};

struct peer_bind_mw {
	peer_id qp, mw, mr;
	uint32_t send_flags, access;
	uint64_t wr_id, addr, length;
};

/* Tail: struct ibv_flow_attr and its specifications. */
struct peer_create_flow {
	peer_id qp;
};

struct peer_ah_from_wc {
	peer_id pd;
	uint32_t port;
	struct ibv_wc wc;
	struct ibv_grh grh;
};

struct peer_wait {
	peer_id channel; /* 0: asynchronous events */
	int32_t timeout_ms;
};

struct peer_event {
	uint32_t type, port;
	peer_id id;
};

struct peer_cm {
	uint32_t stage; /* enum peer_cm_stage */
};

enum peer_cm_stage { PEER_CM_LISTEN, PEER_CM_ACCEPT, PEER_CM_ESTABLISHED, PEER_CM_CLOSE };

struct peer_cm_answer {
	int32_t error; /* errno of `step` */
	char step[64];
	uint32_t port; /* PEER_CM_LISTEN, as in struct sockaddr_in */
	peer_id pd, cq, qp;
	uint32_t qp_num;
};

/* Calls: name, structure of the call, structure of the answer, and whether a tail may follow that of the call. */
#define PEER_CALLS(X)                                                                                        \
	X(open, struct peer_open, struct peer_opened, 0)      /* answer's tail: reason of an error */        \
	X(query, struct peer_nothing, struct peer_nothing, 0) /* answer's tail: JSON */                      \
	X(map, struct peer_map, struct peer_nothing, 0)                                                      \
	X(sync, struct peer_sync, struct peer_nothing, 1)                                                    \
	X(release, struct peer_object, struct peer_nothing, 0)                                               \
	X(alloc_pd, struct peer_nothing, struct peer_object, 0)                                              \
	X(reg_mr, struct peer_reg_mr, struct peer_mr, 0)                                                     \
	X(alloc_dm, struct peer_alloc_dm, struct peer_object, 0)                                             \
	X(reg_dm_mr, struct peer_reg_dm_mr, struct peer_mr, 0)                                               \
	X(copy_dm, struct peer_copy_dm, struct peer_nothing, 1)                                              \
	X(create_channel, struct peer_nothing, struct peer_object, 0)                                        \
	X(create_cq, struct peer_create_cq, struct peer_cq, 0)                                               \
	X(req_notify_cq, struct peer_notify, struct peer_nothing, 0)                                         \
	X(poll_cq, struct peer_poll, struct peer_poll, 1)                                                    \
	X(query_rt_values, struct peer_nothing, struct peer_ticks, 0)                                        \
	X(modify_cq, struct peer_modify_cq, struct peer_nothing, 0)                                          \
	X(create_srq, struct peer_create_srq, struct peer_srq, 0)                                            \
	X(get_srq_num, struct peer_object, struct peer_number, 0)                                            \
	X(modify_srq, struct peer_modify_srq, struct peer_nothing, 0)                                        \
	X(query_srq, struct peer_object, struct peer_srq, 0)                                                 \
	X(open_xrcd, struct peer_nothing, struct peer_object, 0)                                             \
	X(create_qp, struct peer_create_qp, struct peer_qp, 0)                                               \
	X(modify_qp, struct peer_modify_qp, struct peer_nothing, 0)                                          \
	X(query_qp, struct peer_query_qp, struct peer_queried_qp, 0)                                         \
	X(post_send, struct peer_post, struct peer_posted, 1)                                                \
	X(post_recv, struct peer_post, struct peer_posted, 1)                                                \
	X(alloc_mw, struct peer_alloc_mw, struct peer_mw, 0)                                                 \
	X(bind_mw, struct peer_bind_mw, struct peer_mw, 0)                                                   \
	X(create_flow, struct peer_create_flow, struct peer_object, 1)                                       \
	X(ah_from_wc, struct peer_ah_from_wc, struct peer_object, 0)                                         \
	X(wait, struct peer_wait, struct peer_number, 0)                                                     \
	X(get_cq_event, struct peer_object, struct peer_object, 0)                                           \
	X(get_async_event, struct peer_nothing, struct peer_event, 0)                                        \
	X(cm, struct peer_cm, struct peer_cm_answer, 0)

enum peer_call {
#define X(name, ...) PEER_##name,
	PEER_CALLS(X)
#undef X
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
