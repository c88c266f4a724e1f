/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Private to the C engine: send queues and their WQEs.
 *
 * Lifetime. A QP may be reset or destroyed while reads, packets and results of it are pending. Each of those is a
 * struct pending: it holds a reference on its send queue, and remembers its epoch. If the epoch has changed when it
 * completes, it only releases its references.
 *
 * Activity. A queue that can fetch or send is on that list of the engine, and only then: every op on a queue ends
 * with sq_settle().
 */
#ifndef HCASIM_CORE_REQUESTER_SQ_H
#define HCASIM_CORE_REQUESTER_SQ_H

#include <stdlib.h>
#include <string.h>

#include "core/base/list.h"
#include "core/base/psn.h"
#include "core/engine.h"
#include "core/wire/net.h"

#include <hcasim_core.h>
#include <hcasim_verbs.h>
#include <hcasim_wire.h>

struct wqe {
	struct wqe *next;
	struct hca_wr wr;
	uint32_t seq;  /* position in its queue, free-running */
	uint32_t refs; /* references: the queue, packets and DMA */
	uint32_t first_psn, npsn;
	uint32_t cap;         /* size class */
	hca_ps decoded, done; /* when it was; done: acknowledged, its result written */
	uint16_t dma_pending;
	uint8_t status, vendor;
	bool failed;     /* status and vendor say why */
	bool started;    /* has PSNs */
	bool settled;    /* its error is final */
	bool acked;      /* acknowledged, or sent if unreliable */
	bool rd_counted; /* one of sq.rd_out */
	uint8_t *raw;
	uint8_t mem[]; /* the WQE, then its SGEs */
};

struct fetch { /* basic blocks that were read from the ring, or pushed */
	struct fetch *next;
	struct sq *sq;
	uint32_t epoch, run;
	uint16_t index;
	uint32_t num_bb, used_bb;
	hca_ps since; /* when it came to DECODE */
	bool failed, arrived;
	struct fetch *later; /* the next one of the queue */
	uint8_t data[HCA_WQE_MAX];
};

struct sq {
	struct engine *e;
	uint32_t qpn, epoch, refs;
	bool dead;
	struct engine_qp c;
	uint16_t pi, fetched, retired; /* basic blocks, free-running */
	/*
	 * Its reads: in the order of the ring those that DECODE does not have yet; how many there are with those that
	 * it has, and their blocks. Where a read ends inside a WQE a new run begins: later reads of the last one are void.
	 */
	struct fetch *reads, *last_read;
	uint32_t reading, ahead, run;
	struct wqe *head, *tail; /* decoded, not completed */
	struct wqe *cur;         /* the next WQE to make packets of; NULL: none */
	uint32_t cur_pkt;        /* packets of cur that were made */
	struct wqe *ack;         /* RC: oldest not fully acknowledged */
	uint32_t una_psn, next_psn;
	uint32_t nwqe, seq;
	uint32_t rd_out;        /* READs and atomics on the wire */
	uint32_t rd_incomplete; /* started, result not in memory yet */
	bool nak_rewound;       /* went back because of an implied NAK, no progress since */
	bool fault;             /* packets of WQEs from fault_seq on are not sent */
	uint32_t fault_seq;
	bool rnr_wait;
	uint8_t paging; /* pending page requests (bits in fault.c): nothing is sent */
	uint8_t retries, rnr_retries;
	hca_ps ack_deadline;
	bool timer_on; /* ACK timeout or RNR delay */
	bool drained_sent;
	bool could_send;          /* at the end of the last change: */
	hca_ps fetch_since, open; /* since when it can fetch, and send */
	struct node on_fetch, on_tx;
};

enum pending_kind { PENDING_FREE, PENDING_READ, PENDING_PACKET, PENDING_RESULT, PENDING_PAGES };

struct pending { /* a pending operation: its tag is the index in engine.pending */
	enum pending_kind kind;
	uint32_t next_free;
	struct sq *sq;
	uint32_t epoch;
	uint32_t count; /* RESULT: transfers under way */
	uint8_t bit;    /* PAGES: of sq.paging */
	bool last;      /* PACKET: last one of its WQE */
	struct wqe *wqe;
	struct fetch *fetch; /* READ */
};

struct engine {
	struct engine_config cfg;
	const struct engine_ports *ports;
	void *host;
	struct engine_counters counters;
	struct sq **sq; /* by QP number */
	uint32_t num_sq;
	struct node fetch_sqs, tx_sqs;
	uint32_t fetch_room; /* free entries of the decode FIFO */
	struct fetch *decode_head, **decode_tail, *fetch_pool;
	struct wqe *wqe_pool[4];
	struct pending *pending;
	uint32_t num_pending, free_pending;
	uint32_t mtu[2]; /* active MTU of each port, bytes */
};

static inline hca_ps sq_now(const struct sq *sq)
{
	return sq->e->ports->now(sq->e->host);
}

/* For `since`: a call that is not compared with that of another engine. 0: the host does not say. */
static inline hca_ps engine_time(const struct engine *e)
{
	return e->ports->time ? e->ports->time(e->host) : 0;
}

static inline bool sq_reliable(const struct sq *sq)
{
	return sq->c.type == HCASIM_QPT_RC || sq->c.type == HCASIM_QPT_XRC_SEND ||
	       sq->c.type == HCASIM_QPT_XRC_RECV;
}

static inline bool sq_flushing(const struct sq *sq)
{
	return sq->c.state == HCASIM_QPS_ERR || sq->c.state == HCASIM_QPS_SQE;
}

/* The layer below IP in messages of the QP. */
static inline enum net_link wqe_link(const struct sq *sq)
{
	return sq->c.type == HCASIM_QPT_RAW_PACKET ? NET_ETHERNET : NET_DATAGRAM;
}

/* pending.c: tags */
#define NO_TAG UINT32_MAX
uint32_t pending_new(struct sq *sq, enum pending_kind kind, struct wqe *w); /* NO_TAG: no memory */
struct pending *pending_of(struct engine *e, uint32_t tag);
void pending_end(struct engine *e, uint32_t tag);
/* False: the queue has been reset or destroyed since. */
bool pending_fresh(const struct pending *p);
void sq_get(struct sq *sq);
void sq_put(struct sq *sq);

/* fetch.c, decode.c. X_pending() is for a stage with a queue or a WQE; out of line, so that pending() saves no registers */
bool fetch_pending(const struct engine *e, struct hca_work *w) __attribute__((noinline));
uint32_t fetch_step(struct engine *e);
bool sq_may_read(const struct sq *sq);
bool sq_can_fetch(const struct sq *sq);
void fetch_done(struct engine *e, uint32_t tag, const void *data, uint32_t len, int status);
struct fetch *fetch_get(struct engine *e);
void fetch_put(struct engine *e, struct fetch *f);
/* `f` has the next `n` blocks of the ring, or will have. */
void fetch_begin(struct sq *sq, struct fetch *f, uint32_t n);
/* They have arrived: passes them to the decoder, in the order of the ring. */
void fetch_arrived(struct sq *sq, struct fetch *f);
/* Before sq_clear(): drops those that have arrived. */
void fetch_clear(struct sq *sq);
bool decode_pending(const struct engine *e, struct hca_work *w) __attribute__((noinline));
uint32_t decode_step(struct engine *e);

/* post.c: the software has posted WQEs up to `pi`; or has pushed the one at `index` */
void sq_posted(struct sq *sq, uint16_t pi);
void sq_pushed(struct sq *sq, uint16_t index, const void *wqe, uint32_t len);

/* wqe.c */
struct wqe *wqe_get(struct engine *e, uint32_t raw_len);
void wqe_put(struct engine *e, struct wqe *w);
bool op_reads(uint8_t op);    /* READ or atomic: has a result */
bool op_answered(uint8_t op); /* has its own response: these, and FLUSH and ATOMIC WRITE */
bool op_local(uint8_t op);    /* sends nothing */
/* Argument of ports: a part of the WQE's SGE list. */
struct engine_lookup wqe_lookup(const struct sq *sq, const struct wqe *w, uint64_t off, uint64_t len,
				uint32_t access);

/* packetise.c */
bool packetise_pending(const struct engine *e, struct hca_work *w) __attribute__((noinline));
uint32_t packetise_step(struct engine *e);
bool sq_ready(const struct sq *sq); /* its next packet could be made, if it were not paused */
bool sq_can_send(const struct sq *sq);
bool packet_leave(struct sq *sq, struct pending *p, bool failed);

/* sq.c */
void sq_append(struct sq *sq, struct wqe *w);
void sq_fail(struct sq *sq, struct wqe *w, uint8_t status, uint8_t vendor);
void sq_sent(struct sq *sq, struct wqe *w);
void sq_executed(struct sq *sq, struct wqe *w);
void sq_left(struct sq *sq, struct wqe *w);
void sq_result_lost(struct sq *sq, struct wqe *w);
void sq_skip_acked(struct sq *sq);
void sq_acked_to(struct sq *sq, struct wqe *w, uint32_t una);
void sq_rewind(struct sq *sq);
void sq_pop(struct sq *sq);
void sq_wait_anew(struct sq *sq); /* restarts the ACK timeout */
void sq_timer_set(struct sq *sq, hca_ps at);
void sq_timer_update(struct sq *sq);
void sq_clear(struct sq *sq);

/* retire.c */
void sq_error(struct sq *sq);
void sq_settle(struct sq *sq);
bool sq_can_complete(const struct sq *sq);
void sq_completion(const struct sq *sq, struct engine_completion *out);

/* ack.c */
void sq_response(struct sq *sq, const struct engine_response *r);
void sq_timer(struct sq *sq);
void sq_written(struct sq *sq, struct wqe *w, int status);

/* fault.c: pages that a send WQE reads, or (`result`) those for the response of a READ or atomic */
void page_fault_send(struct sq *sq, struct wqe *w, bool result);
void pages_answered(struct sq *sq, const struct pending *p, bool mapped);

#endif
