/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Mixed work requests over 64 queue pairs of all types on a lossy wire. A flow is one direction: requester
 * QP, responder QP, and the memory of both. The requests of a flow are determined by the seed and its number.
 */
#ifndef HCASIM_TESTS_SOAK_H
#define HCASIM_TESTS_SOAK_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "link.h"

#define DEPTH       64u   /* work requests of a flow that are posted and not completed */
#define RECORDS     2048u /* latest work requests that a flow remembers */
#define RQ_DEPTH    256u
#define SRQ_DEPTH   1024u
#define DGRAM_DEPTH 1024u
#define MTU         1024u
#define MAX_LEN     8000u
#define SLOT        8192u /* buffer of a message, including headers and gaps */
#define GAP         24u   /* between the parts of an SGE list, and after a receive buffer */
#define GUARD       0xa5
#define TARGET      65536u /* RDMA memory of a reliable flow; starts with the counters of atomics */
#define COUNTERS    64u
#define UC_SLOTS    64u /* RDMA memory of a UC flow: each slot takes writes of one length */
#define UC_PAST     16u
#define INLINE      128u
#define MAX_SGE     4u
#define BATCH       8u
#define SEGMENTS    20u
#define NUM_CQ      4u
#define QKEY        0x1234u
#define NUM_FLOWS   58u

enum kind { RC, UC, UD, XRC, RAW, KINDS };

/* One work request, kept as long as a completion or message of it may arrive. */
struct record {
	uint64_t seq;
	enum ibv_wr_opcode op;
	bool signaled, window, done;
	uint8_t copies[SEGMENTS];      /* unreliable: how often each message arrived */
	uint32_t len, pool;            /* payload: these bytes of the pool */
	uint32_t off;                  /* offset in the target; UC: the slot */
	uint32_t generation;           /* UC: number of the write to the slot */
	uint32_t imm, rkey, mss, head; /* head: bytes before the payload */
	uint64_t old;                  /* atomics: value before */
	uint8_t *local;
	uint32_t num_sge, part[MAX_SGE];
};

/* A type 2 window on a flow's target: `server`, a flow of the other end, binds it. */
struct window {
	enum { W_FREE, W_BINDING, W_BOUND, W_INV_SENT, W_CLOSING, W_INVALIDATING } state;
	struct ibv_mw *mw;
	uint32_t uses, refs;
	uint64_t inv_seq;
};

struct recvq {
	struct ibv_qp *qp;
	struct ibv_srq *srq;
	uint8_t *buf;
	struct ibv_mr *mr;
	uint32_t depth, stride, pending, next; /* next: plain queues: the slot that completes next */
	uint32_t again[BATCH];                 /* slots to be posted */
};

struct flow {
	unsigned int id;
	int end; /* of the requester */
	enum kind kind;
	struct ibv_qp *qp, *peer;
	struct ibv_qp_ex *qpx;
	struct recvq *rq;               /* of the responder */
	struct flow *server, *customer; /* binds this flow's window; its window is bound by this one */
	struct window win;
	uint64_t posted, completed, rand;
	struct record *rec;
	uint8_t *local, *target, *shadow, *snap; /* snap: of the target, for each READ */
	uint64_t rx_posted, rx_seen;             /* reliable: messages expected at the responder */
	uint64_t *rx_seq;
	uint32_t uc_written[UC_SLOTS], uc_next, uc_pool[UC_SLOTS][UC_PAST];
	uint64_t sent, came, twice; /* unreliable messages */
	unsigned int unsignaled;
	struct ibv_ah *ah;
	uint32_t srqn;
	struct ibv_flow *steer;
	uint8_t dmac[6];
};

struct soak {
	struct link l;
	uint8_t *pool;
	uint64_t seed, wanted, posted, unreliable, completed;
	bool settling; /* no more unsignaled work requests */
	struct ibv_mr *local_mr[2], *target_mr[2], *recv_mr[2];
	uint8_t *local[2], *target[2], *recv[2];
	size_t recv_used[2];
	struct ibv_cq *cq[2][NUM_CQ];
	struct ibv_xrcd *xrcd[2];
	struct recvq *shared[2], *xrc[2];
	struct flow flow[NUM_FLOWS];
	struct flow *by_qpn[2][4096]; /* the flow whose responder this QP is */
	uint64_t ops[32];
	unsigned int aborts;
	FILE *log; /* what was posted, for the test that checks the trace */
};

extern struct soak s;
extern const char *const kind_name[KINDS];

/* Ends the program unless `ok`; prints flow and work request. */
#define REQUIRE(ok, f, seq, ...)                                                                             \
	do {                                                                                                 \
		if (!(ok))                                                                                   \
			soak_fail(f, seq, __VA_ARGS__);                                                      \
	} while (0)
extern struct ibv_cq_ex *soak_polling; /* between ibv_start_poll and ibv_end_poll */
void soak_fail(const struct flow *f, uint64_t seq, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));

static inline bool reliable(const struct flow *f)
{
	return f->kind == RC || f->kind == XRC;
}

static inline struct record *record(struct flow *f, uint64_t seq)
{
	return &f->rec[seq % RECORDS];
}

/* SplitMix64. */
static inline uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline uint32_t below(struct flow *f, uint32_t n)
{
	return (uint32_t)(draw(&f->rand) % n);
}

/* The first bytes of a message on an unreliable flow. */
struct tag {
	uint32_t magic, flow;
	uint64_t seq;
};
#define TAG_MAGIC 0x50414b5fu

/* soak_setup.c */
void soak_open(void);
void soak_close(void);

/* soak_plan.c: the next work request of a flow; false: the flow has to wait */
struct request {
	struct flow *f;
	struct record *r;
	unsigned int flags;
	bool fenced, inlined;
	struct ibv_sge sge[MAX_SGE];
	struct ibv_data_buf data[MAX_SGE];
	unsigned int num_sge;
	uint64_t remote, compare, operand;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info bind;
	uint8_t hdr[64];
	unsigned int hdr_len;
	uint8_t bytes[INLINE]; /* buffer of inline data: overwritten after posting */
};
bool plan_next(struct flow *f, struct request *q);
uint32_t uc_len(uint32_t slot);
/* Bytes before the payload of TCP. */
#define TCP_HEAD(f) ((f)->kind == RAW ? 54u : 44u)
#define ETH_HEAD    14u

/* soak_post.c */
void post_batch(struct flow *f, struct request *q, unsigned int n);

/* soak_check.c */
void check_completion(struct flow *f, uint64_t seq, enum ibv_wc_opcode opcode);
struct arrival {
	int end;
	enum ibv_wc_opcode opcode;
	unsigned int flags;
	uint32_t qpn, len, imm, src_qp;
	uint64_t wr_id;
};
void check_arrival(const struct arrival *a);
void check_targets(void);

/* soak_recv.c */
struct recvq *recvq_new(int end, uint32_t depth, uint32_t stride);
void recvq_fill(struct recvq *q);
void recvq_again(struct recvq *q, uint32_t slot);
void recvq_flush(struct recvq *q);

#endif
