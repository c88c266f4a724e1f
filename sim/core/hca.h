/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One host channel adapter: what it does, without any notion of how long it takes.
 *
 * The core is a set of pipeline stages that hand work to each other through bounded FIFOs. It never blocks, never sleeps,
 * knows no threads, files or clocks: whoever drives it asks which stage has work (hca_stage_pending), decides when that
 * work is done, and then lets the stage do exactly one piece of it (hca_stage_step). The untimed driver of the unit tests
 * steps until nothing is left; the SystemC shell in sim/timing waits each stage's occupancy first.
 *
 * All calls on one adapter come from one thread. Callbacks in struct hca_ops are made from inside those calls and must
 * not call back into the same adapter, except where stated.
 *
 * Units: lengths in bytes, time in picoseconds of device time. Addresses are host addresses inside an address space
 * (PASID). Keys, QP and CQ numbers are as the verbs see them.
 */
#ifndef HCASIM_CORE_HCA_H
#define HCASIM_CORE_HCA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow.h"
#include "key.h"
#include "sched.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hca;
struct hca_refused;     /* a packet: counters.h */
struct engine_ops;      /* a send engine: engine.h */
struct hca_personality; /* WQE decoder, CQE encoder: personality.h */

typedef uint64_t hca_ps;
#define HCA_PS_NEVER UINT64_MAX

/* ---- Pipeline ------------------------------------------------------------------------------ */

enum hca_stage {
	HCA_STAGE_DOORBELL, /* one doorbell or BlueFlame line -> QP scheduler */
	HCA_STAGE_FETCH,    /* arbiter picks a QP, issues the DMA read of its next WQEs */
	HCA_STAGE_DECODE,   /* WQE bytes -> struct hca_wr, with all checks that need no memory */
	HCA_STAGE_PACKETISE, /* arbiter picks a QP and makes its next packet: headers, PSN, keys, gather list */
	HCA_STAGE_GATHER,    /* issues the DMA reads of that packet's payload */
	HCA_STAGE_TX,        /* joins headers, payload, padding and ICRC; hands the frame to the wire */
	HCA_STAGE_RX,        /* parses a frame, checks ICRC, QP, PSN; runs responder or ACK processing */
	HCA_STAGE_RESPOND,   /* next packet of a READ response, atomic response, ACK or NAK */
	HCA_STAGE_COMPLETE, /* encodes one completion and writes the CQE */
	HCA_STAGE_EVENT,    /* writes one EQE and raises its MSI-X vector */
	HCA_NUM_STAGES
};

/* Size of the work at the head of a stage; a timing profile turns it into cycles. */
struct hca_work {
	uint32_t bytes; /* bytes that pass through the stage in this step */
	uint32_t items; /* descriptors: basic blocks fetched, SGEs, headers, ...; of DECODE 0 or 1 WQE */
	uint32_t qpn;   /* of the stages of the send engine; 0 in the others */
};

/* True when `stage` can do one step now (it has input, and the FIFO after it has room). */
bool hca_stage_pending(const struct hca *hca, enum hca_stage stage, struct hca_work *work);
/*
 * When the work at the head of a stage that is pending came to it, as ops->now() said; 0: not known. For a host whose
 * stages begin with the next work before the last is through.
 */
hca_ps hca_stage_since(const struct hca *hca, enum hca_stage stage);
/* Does one step. Must only be called while hca_stage_pending() is true. */
void hca_stage_step(struct hca *hca, enum hca_stage stage);
/* True: the send engine counts the clock cycles of its work in steps of this stage (engine_ops.cycles). */
bool hca_stage_counted(const struct hca *hca, enum hca_stage stage);
uint32_t hca_step_cycles(const struct hca *hca);  /* of the last step of such a stage; 0: not known */
const char *hca_stage_name(enum hca_stage stage); /* lower case, for traces and profiles ("doorbell", ...) */

/* ---- DMA ------------------------------------------------------------------------------------ */

#define HCA_PASID_KERNEL 0 /* memory of the driver: rings, doorbell records, EQ */
/*
 * The adapter's own memory; addresses are offsets in BAR dm. The core copies the data itself, before it passes the
 * transfer to ops->dma: the host only models its time, and it does not cross PCIe.
 */
#define HCA_PASID_DEVICE UINT32_MAX
/*
 * Host memory that the driver gave the adapter for its contexts and tables (ICM). The core keeps these itself: such
 * reads are the host's, which models caches of them. They move no data.
 */
#define HCA_PASID_CONTEXT (UINT32_MAX - 1)
/* No memory: addresses in an indirect key, which the core replaces by those behind them before it makes transfers. */
#define HCA_PASID_KEY (UINT32_MAX - 2)

enum hca_dma_class { /* purpose; for traces and cache models */
		     HCA_DMA_WQE,
		     HCA_DMA_RQE,
		     HCA_DMA_RECORD,
		     HCA_DMA_PAYLOAD,
		     HCA_DMA_ATOMIC,
		     HCA_DMA_CQE,
		     HCA_DMA_EQE,
		     HCA_DMA_QPC, /* of the adapter's context memory, by the host: QP contexts, */
		     HCA_DMA_MPT, /* protection entries, */
		     HCA_DMA_MTT, /* translation entries */
};

/* Processing hint and steering tag of the requests of a transfer (PCIe 6.17); 8-bit tags need no TLP prefix. */
struct hca_tph {
	bool on;
	uint8_t ph, st;
};

struct hca_dma_seg {
	uint64_t addr;
	uint32_t len;
	uint32_t key; /* that translated it, for cache models; 0: none did */
};

/*
 * One transfer between host memory and `buf`, scattered over `nseg` pieces whose lengths sum to `len`. The core owns
 * it until it passes it to ops->dma; the host then sets `status` and calls hca_dma_done() exactly once, never from
 * inside ops->dma. Reads may complete in any order. Writes are executed and complete in the order of issue; a read
 * does not pass an earlier write. If `split` is not 0, the last `split` bytes of a write become visible strictly
 * after the bytes before them (CQE and EQE valid bits).
 */
struct hca_dma {
	bool write;
	uint8_t split;
	enum hca_dma_class class_;
	uint32_t pasid;
	struct hca_tph tph;
	bool relaxed; /* its region allows relaxed ordering (PCIe 2.4.1) */
	uint32_t qpn; /* for traces; 0 if none */
	uint32_t len;
	uint32_t nseg;
	struct hca_dma_seg *seg;
	void *buf;
	int status; /* 0, or -EFAULT: refused by the host; no bytes, or the first ones, were moved */
	void (*done)(struct hca *hca,
		     struct hca_dma *dma); /* of who made it: the core, if not the host itself */
	void *host_priv;                   /* private to the host */
	struct hca_dma *next;              /* private to the owner */
};

void hca_dma_done(struct hca *hca, struct hca_dma *dma);

/* ---- Packets -------------------------------------------------------------------------------- */

/* An Ethernet frame without FCS. It has one owner at a time. */
struct hca_packet {
	uint32_t len;
	uint32_t cap;
	uint64_t
		number; /* for observers: given by the host when the frame is sent; 0: none. A duplicate has the same */
	uint8_t data[];
};
struct hca_packet *hca_packet_alloc(uint32_t cap);
struct hca_packet *hca_packet_dup(const struct hca_packet *pkt);
void hca_packet_free(struct hca_packet *pkt);
/* A switch marks an IP packet as having met congestion (CE). False: its sender does not take part in that. */
bool hca_packet_mark(struct hca_packet *pkt);

#define HCA_PRIORITIES 8 /* of Ethernet frames (IEEE 802.1Q) */
/*
 * Priority of a frame: the priority code point of its VLAN tag, or the class selector of its DSCP (RFC 2474 4.2.2), that is
 * its three upper bits. 0 for other frames.
 */
uint8_t hca_packet_priority(const struct hca_packet *pkt);

/* A frame arrives on `port` (1-based). Takes ownership. Dropped and counted when the receive FIFO is full. */
void hca_rx(struct hca *hca, uint8_t port, struct hca_packet *pkt);
/*
 * The receive FIFO has space for a frame of the priority: with a lossless wire, deliver frames only then, and check again
 * after each step of HCA_STAGE_RX. Without hca_config.pfc there is one space for all of them, with it each has its own.
 */
bool hca_rx_ready(const struct hca *hca, uint8_t port, uint8_t priority);
/*
 * With hca_config.pfc: the port cannot send frames of these priorities (one bit each) and has no space for more of them.
 * Connected QPs of such a priority make no requests and READ responses; what is in the FIFOs already still comes.
 */
void hca_tx_pause(struct hca *hca, uint8_t port, uint8_t priorities);

/* ---- The host side --------------------------------------------------------------------------- */

struct hca_wr;
struct hca_cpl;
struct engine_retired;

/* What a step was about, for observers. Zero where it does not apply. */
struct hca_seen {
	uint16_t blocks; /* FETCH: basic blocks from `index` on */
	uint32_t qpn;    /* of this adapter */
	bool of_wqe;     /* of a work request of its send queue: */
	uint16_t
		index; /* its ring index; DOORBELL: that of the first one pushed, or after the last one posted */
	bool later;    /* PACKETISE: a further packet of it */
	bool pushed;     /* DOORBELL: the work request came with it (BlueFlame) */
	bool ahead;      /* DOORBELL: its own index, `rung`, is ahead of its record's, which is `index` */
	uint16_t rung;   /* what is between them waits for another doorbell */
	bool of_packet;  /* of an outgoing packet: */
	uint32_t psn;    /* its PSN */
	uint64_t number; /* RX: of the frame */
};

/* Why work waits, for observers. */
enum hca_stall {
	HCA_STALL_NONE,
	/* of a stage: it has input, but */
	HCA_STALL_GATHER_FIFO, /* the FIFO of GATHER is full (PACKETISE, RESPOND) */
	HCA_STALL_TX_FIFO,     /* the FIFO of TX is full (GATHER) */
	HCA_STALL_PAYLOAD,     /* the payload of the packet has not arrived (TX) */
	HCA_STALL_RX_WRITES,   /* as many payload writes as allowed are pending (RX) */
	HCA_STALL_CQE_WRITES,  /* as many CQE writes as allowed are pending (COMPLETE) */
	HCA_STALL_POSTED,      /* the queue has as many blocks ahead of PACKETISE as allowed (DOORBELL) */
	/* of a send queue: its next packet waits for */
	HCA_STALL_RNR, /* the delay after an RNR NAK */
	HCA_STALL_READS, /* responses: max_rd_atomic are outstanding. Has no effect on operations without response */
	HCA_STALL_PAGES, /* a page request */
	HCA_STALL_RATE,  /* its rate limit, or the turns of its scheduling tree */
	HCA_STALL_PAUSE, /* its priority, which is paused */
	HCA_NUM_STALLS
};
/* Why `stage`, which is idle, cannot do a step; NONE: it can, or has no input. The engine's FETCH does not say. */
enum hca_stall hca_stage_stall(struct hca *hca, enum hca_stage stage);
const char *hca_stall_name(enum hca_stall stall); /* lower case, for traces ("gather_fifo", ...) */

/* Queues and limits of the adapter, for observers. */
enum hca_level {
	HCA_LEVEL_DOORBELL, /* entries of the FIFOs */
	HCA_LEVEL_GATHER,
	HCA_LEVEL_TX,
	HCA_LEVEL_RX,
	HCA_LEVEL_RX_WRITES, /* pending writes */
	HCA_LEVEL_CQE_WRITES,
	HCA_NUM_LEVELS
};
uint32_t hca_level_now(const struct hca *hca, enum hca_level level);
uint32_t hca_level_max(const struct hca *hca, enum hca_level level);
const char *hca_level_name(enum hca_level level);

/*
 * What the work at the head of a stage that is pending is about, as far as it is known before the step: `qpn` of
 * FETCH, PACKETISE, RX, RESPOND and COMPLETE, `index` of PACKETISE and, of a send completion, COMPLETE, `later`. For
 * models of caches and of time.
 */
void hca_stage_head(const struct hca *hca, enum hca_stage stage, struct hca_seen *head);

/* What the adapter may have copies of. */
enum hca_context { HCA_CONTEXT_QP, HCA_CONTEXT_KEY };
/* The context of a QP, or a WQE of it that the adapter had to read again, could not be read: the QP is in error. */
void hca_context_lost(struct hca *hca, uint32_t qpn);

struct hca_ops {
	hca_ps (*now)(void *host);
	/* `stage` has new work. May be called when it has none. */
	void (*stage_ready)(void *host, enum hca_stage stage);
	void (*dma)(void *host, struct hca_dma *dma);
	/* Reads host memory at once, in no time: 0 or -EFAULT. NULL: doorbell records of send queues are not looked at. */
	int (*peek)(void *host, uint32_t pasid, uint64_t addr, void *buf, uint32_t len);
	/* A frame is sent. Passes ownership. */
	void (*tx)(void *host, uint8_t port, struct hca_packet *pkt);
	/* MSI-X `vector` is raised, ordered after all DMA writes issued so far. */
	void (*msix)(void *host, unsigned int vector);
	/* The earliest timer deadline changed; HCA_PS_NEVER: none. */
	void (*timer)(void *host, hca_ps deadline);
	/*
	 * Copies are not valid any more. QP: it is reset or destroyed. KEY, by index: deregistered or changed by the
	 * driver, a window unbound or freed, pages unmapped. May be NULL.
	 */
	void (*changed)(void *host, enum hca_context what, uint32_t number);
	/* Observers for traces; may be NULL. `raw` are the bytes in host memory, `len` their number. */
	void (*saw_wqe)(void *host, uint32_t qpn, const struct hca_wr *wr, const void *raw, uint32_t len);
	void (*saw_cqe)(void *host, uint32_t cqn, const struct hca_cpl *cpl, const void *raw, uint32_t len);
	void (*retired)(void *host, const struct engine_retired *r); /* as in engine.h */
	/* A packet is dropped, or answered with a NAK. */
	void (*saw_refused)(void *host, const struct hca_refused *r);
	/* At the end of each step, after the calls above; may be NULL. */
	void (*saw_step)(void *host, enum hca_stage stage, const struct hca_seen *seen);
	/* The send queue of a QP waits for something else than before, with the work request at `index`; may be NULL. */
	void (*saw_stall)(void *host, uint32_t qpn, uint16_t index, enum hca_stall stall);
};

/* DCQCN (base/dcqcn.h) of connected QPs: their packets say that switches may mark them. */
struct hca_dcqcn {
	bool on;
	hca_ps cnp_interval;            /* between CNPs of a QP, at least */
	hca_ps alpha_timer, rate_timer; /* not 0 */
	uint64_t byte_counter;
	uint32_t fast_recovery;             /* expirations of timer or byte counter */
	uint32_t g;                         /* of 65536 */
	uint32_t additive, hyper, min_rate; /* kbit/s; min_rate is not 0 */
};

struct hca_config {
	char name[16];                                    /* "hcasim0" */
	uint64_t node_guid;                               /* host order */
	uint8_t num_ports;                                /* 1 or 2 */
	uint8_t mac[2][6];                                /* of each port */
	uint32_t max_qp, max_cq, max_mr, max_srq, max_mw; /* max_mw: besides max_mr */
	bool pfc;               /* priority flow control (IEEE 802.1Qbb) instead of pause of the whole link */
	uint32_t max_rd_atomic; /* outstanding READs and atomics of a QP, both directions */
	uint32_t acks_after_landing; /* 1: an ACK leaves only after the DMA writes it acknowledges landed */
	/*
	 * Depths of FIFOs, 0: chosen by the core. rx counts frames, rx_writes pending payload writes, cqe_writes
	 * pending CQE writes, tx packets whose payload is being read.
	 */
	uint32_t doorbell_depth, fetch_depth, gather_depth, tx_depth, rx_depth, rx_writes, cqe_writes;
	uint32_t queue_reads;   /* of one send queue among those of fetch_depth; 0: 1 */
	uint32_t posted_blocks; /* of a queue ahead of PACKETISE: DOORBELL waits at so many; 0: any number */
	/* Port attributes as reported to software: rate in Mb/s, 0: 40 Gb/s; enum ibv_mtu, 0: 4096 bytes. */
	uint32_t port_rate;
	uint8_t port_mtu;
	bool roce_v1; /* the driver adds GIDs of RoCEv1 */
	struct hca_dcqcn dcqcn;
	const struct engine_ops *engine; /* NULL: the C engine */
};

/* NULL and errno on failure (ENOMEM, EINVAL). */
struct hca *hca_create(const struct hca_config *cfg, const struct hca_personality *pers,
		       const struct hca_ops *ops, void *host);
void hca_destroy(struct hca *hca); /* after this the host must not call hca_dma_done() any more */

void hca_timers(struct hca *hca); /* fires every timer whose deadline is not after ops->now() */

/*
 * A MWr or MRd TLP has reached the endpoint. size 1..64; offsets without a register are ignored (writes) or read as
 * zero. A BlueFlame line may arrive complete (64 B) or in 8-byte pieces.
 */
void hca_mmio_write(struct hca *hca, unsigned int bar, uint64_t offset, const void *data, uint32_t size);
/* A MWr whose data is bad (PCIe 2.7.2) is not used: the records of its page's queues tell what it may have said. */
void hca_mmio_poisoned(struct hca *hca, unsigned int bar, uint64_t offset);
void hca_mmio_read(struct hca *hca, unsigned int bar, uint64_t offset, void *data, uint32_t size);

/* Free-running indices of a CQ's entries that are not polled yet, as far as the adapter knows. */
void hca_cq_indices(const struct hca *hca, uint32_t cqn, uint32_t *ci, uint32_t *pi);
/* How many DMA transfers it has issued, and whether writes among the first `issued` are still on their way to memory. */
uint64_t hca_dma_issued(const struct hca *hca);
bool hca_writes_under_way(const struct hca *hca, uint64_t issued);

/*
 * ---- Commands of the driver -------------------------------------------------------------------
 *
 * A hardware driver would use a command queue. Commands are executed at once, between steps. They return 0 or a
 * negative errno: -EINVAL (a number names no object, or does not fit), -ENOMEM (a limit of the configuration),
 * -EBUSY (still referenced). The driver has checked types, sizes and rings. Transport types, states, access flags and modify masks are those of the uapi:
 * rdma/ib_user_verbs.h (enum ib_uverbs_qp_type) and enum ibv_qp_state / ibv_qp_attr_mask, whose values spec/ repeats
 * as HCASIM_QPT_*, HCASIM_QPS_*, HCASIM_QP_ATTR_*, HCASIM_ACCESS_*.
 */

struct hca_mr_attr {
	uint32_t pdn;
	uint32_t access; /* HCASIM_ACCESS_* */
	uint32_t pasid;  /* HCA_PASID_DEVICE: a range of device memory */
	uint64_t va;     /* address in that address space */
	uint64_t iova;   /* address for SGEs and RETHs; ZERO_BASED: ignored, they begin at 0 */
	uint64_t length;
	struct hca_tph tph;
};
/* The key serves as lkey and rkey: index[31:8], tag[7:0]. */
int hca_mr_create(struct hca *hca, const struct hca_mr_attr *attr, uint32_t *key);
int hca_mr_modify(struct hca *hca, uint32_t key, const struct hca_mr_attr *attr, uint32_t *new_key);
/* -EBUSY from hca_mr_modify() and hca_mr_destroy(): memory windows are bound to the region. */
int hca_mr_destroy(struct hca *hca, uint32_t key);

/* -ENOENT: there is no such key, -EINVAL: it is not that of a region. */
int hca_mr_query(const struct hca *hca, uint32_t key, struct hca_mr_attr *attr);

/* Zeroes device memory before it is reused. The range is inside BAR dm. */
void hca_dm_clear(struct hca *hca, uint64_t offset, uint64_t length);

/*
 * On-demand paging: a region with HCASIM_ACCESS_ON_DEMAND starts without pages. An access to a missing page makes a
 * page request: an event HCASIM_EQE_TYPE_PAGE_REQUEST, whose number is its token. The driver queries the ranges, maps
 * them, and answers; the queue pair waits meanwhile. Without `mapped` the access fails like one outside its region.
 * Ranges consist of complete pages, in the address space of the region.
 */
struct hca_page_range {
	uint32_t key; /* of the region */
	uint32_t pasid;
	uint64_t va, len;
	bool write;    /* the access is a write */
	bool writable; /* the region is writable: if mapped so, the next access does not fault again */
	bool hint;     /* prefetch, not needed by the current access */
};
/* Returns how many ranges the request has, and fills in at most `max`; -EINVAL: there is no such request. */
int hca_page_request(struct hca *hca, uint32_t token, struct hca_page_range *range, uint32_t max);
int hca_page_response(struct hca *hca, uint32_t token, bool mapped);
/* The pages of a part of an on-demand region. -EFAULT: outside the region. */
int hca_mr_pages(const struct hca *hca, uint32_t key, uint64_t addr, uint64_t len, bool write,
		 struct hca_page_range *range);
/* Maps pages, writable if `write`. -EINVAL: no on-demand region has this key. */
int hca_mr_map(struct hca *hca, const struct hca_page_range *range, bool prefetch);
/* Unmaps pages in all regions of the address space. Returns how many were mapped. */
uint64_t hca_mr_unmap(struct hca *hca, uint32_t pasid, uint64_t va, uint64_t len);

/*
 * Memory windows of type 1 or 2 (2B: a bound window belongs to its QP and its PD). Binding and invalidation are work
 * requests; both change the key's tag or its state, never its index, and hca_mw_destroy() uses the index only.
 */
int hca_mw_create(struct hca *hca, uint32_t pdn, uint8_t type, uint32_t *rkey);
int hca_mw_destroy(struct hca *hca, uint32_t rkey);

struct hca_ring {
	uint32_t pasid;
	uint64_t addr;
	uint32_t entries; /* power of two */
	uint32_t stride;  /* bytes, power of two */
};

struct hca_cq_attr {
	struct hca_ring ring;
	uint64_t record; /* address of its doorbell record, same PASID */
	uint32_t eqn;
	uint32_t uar_page; /* user access page that can arm it */
};
int hca_cq_create(struct hca *hca, const struct hca_cq_attr *attr, uint32_t *cqn);
/* `ci`: as in the record. -EINVAL: entries not polled yet would not fit; -EBUSY: the old ring has no space for RESIZE. */
int hca_cq_resize(struct hca *hca, uint32_t cqn, const struct hca_cq_attr *attr, uint32_t ci);
/*
 * An armed CQ raises its event after `count` completions, but at most `us` of device time after the first; 0:
 * condition off.
 */
int hca_cq_moderate(struct hca *hca, uint32_t cqn, uint16_t count, uint16_t us);
int hca_cq_destroy(struct hca *hca, uint32_t cqn);

struct hca_eq_attr {
	struct hca_ring ring;
	unsigned int vector;
};
int hca_eq_create(struct hca *hca, const struct hca_eq_attr *attr, uint32_t *eqn); /* numbers start at 1 */
int hca_eq_destroy(struct hca *hca, uint32_t eqn);
/* The driver consumed EQEs up to `ci` (free-running). */
void hca_eq_ack(struct hca *hca, uint32_t eqn, uint32_t ci);
void hca_async_eq(struct hca *hca, uint32_t eqn); /* async events (not completions) go to this EQ */

struct hca_srq_attr {
	uint32_t pdn;
	struct hca_ring ring;
	uint64_t record;         /* address of its doorbell record, same PASID */
	uint32_t xrcdn;          /* XRC domain, 0: none */
	uint32_t cqn;            /* XRC, tag matching: where its receives complete */
	uint32_t num_tags;       /* size of its tag list, 0: no tag matching */
	struct hca_ring tag_ops; /* ring of operations on the tag list; stride: at most HCA_TM_OP_MAX bytes */
	uint32_t limit;          /* initially armed limit; 0: none */
	uint32_t uar_page;       /* doorbells from other user access pages are dropped */
	uint32_t user_index;     /* in the completions of XRC */
	bool cyclic; /* of a family with linked lists: the WQEs are taken in the order of the ring nevertheless */
};
int hca_srq_create(struct hca *hca, const struct hca_srq_attr *attr, uint32_t *srqn); /* from 1 on */
/* One event when fewer WQEs than `limit` are left; 0 disarms. */
int hca_srq_arm(struct hca *hca, uint32_t srqn, uint32_t limit);
/* `limit`: as armed, 0 after the event was raised. */
int hca_srq_query(struct hca *hca, uint32_t srqn, uint32_t *limit);
int hca_srq_destroy(struct hca *hca, uint32_t srqn);

#define HCA_RSS_KEY 40 /* bytes: HCASIM_RSS_KEY_SIZE */
struct hca_qp_attr_create {
	uint8_t type; /* HCASIM_QPT_* */
	uint32_t pdn;
	uint32_t send_cqn, recv_cqn;
	uint32_t srqn;      /* 0: none */
	uint32_t xrcdn;     /* XRC_RECV: its domain */
	struct hca_ring sq; /* stride: one WQEBB */
	struct hca_ring rq;
	uint64_t record;     /* address of its doorbell record */
	uint64_t rq_record;  /* of that of its receive queue, if it has one of its own; 0: none */
	uint32_t max_inline; /* bytes */
	uint32_t max_send_sge, max_recv_sge, max_send_wr, max_recv_wr;
	uint32_t uar_page;   /* doorbells from other user access pages are dropped */
	uint32_t user_index; /* in its completions */
	/*
	 * RC, and receives of UC: payload of at most so many bytes is in the completion instead of memory, whose keys are
	 * checked nevertheless; 0: none. That of a READ or atomic, if it is signaled, and that of a SEND.
	 */
	uint32_t result_inline, recv_inline;
	bool block_self_mcast; /* UD: what it sends to a group that it is in itself is not for it */
	bool strip_vlan; /* RAW_PACKET: the VLAN tag of a received frame is in its completion, not in memory */
	bool wq; /* RAW_PACKET: a work queue, which is only a receive queue; hca_wq_modify() changes its state */
	const struct hca_rss *rss; /* RAW_PACKET: receives into work queues; NULL: has its own queues */
};
/* Receive side scaling: the hash of a frame is the index of its work queue in the table. */
struct hca_rss {
	uint8_t log_size;    /* entries of the table */
	const uint32_t *wqn; /* the table; a work queue may be in it more than once */
	uint32_t fields;     /* HCASIM_RSS_FIELD_*; 0: one entry, no hash */
	uint8_t key[HCA_RSS_KEY];
};
int hca_qp_create(struct hca *hca, const struct hca_qp_attr_create *attr, uint32_t *qpn);

struct hca_av { /* address vector of packets of a connected QP */
	uint8_t dgid[16];
	uint8_t dmac[6];
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t sl;
	uint8_t port;
	uint32_t flow_label;
};

struct hca_qp_attr {
	uint8_t state; /* HCASIM_QPS_* */
	uint8_t cur_state;
	uint8_t path_mtu; /* enum ibv_mtu: 1..5 = 256..4096 bytes */
	uint8_t port;
	uint8_t timeout; /* 4.096 us * 2^timeout; 0: never */
	uint8_t retry_cnt, rnr_retry, min_rnr_timer;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint8_t sq_draining;
	uint8_t en_sqd_async_notify;
	uint16_t pkey_index;
	uint32_t access; /* remote access flags of the QP */
	uint32_t qkey;
	uint32_t rq_psn, sq_psn;
	uint32_t dest_qpn;
	struct hca_av av;
	/*
	 * RATE_LIMIT, of RAW_PACKET QPs: kbit/s, 0: none; burst and typical packet size in bytes, 0: the port's
	 * longest frame.
	 */
	uint32_t rate_limit, max_burst, typical_packet;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline; /* query only */
};
/*
 * `mask` selects the valid members. The caller has checked that the transition is legal and the values are in range;
 * -EINVAL: a rate limit that the adapter does not have.
 */
int hca_qp_modify(struct hca *hca, uint32_t qpn, const struct hca_qp_attr *attr, uint32_t mask);
/* The UDP source port of an RC or UC QP, until its path changes; 0: one that the core chooses. */
int hca_qp_udp_sport(struct hca *hca, uint32_t qpn, uint16_t port);
int hca_qp_query(struct hca *hca, uint32_t qpn, struct hca_qp_attr *attr);
/*
 * -EBUSY: a work queue in a table. After this returns, no DMA of the QP is issued any more and its number may be
 * reused.
 */
int hca_qp_destroy(struct hca *hca, uint32_t qpn);

/* Doorbells that the driver rings for software whose adapter has none: as those of a user access page. */
int hca_post_send(struct hca *hca, uint32_t qpn, uint16_t pi);
int hca_cq_arm(struct hca *hca, uint32_t cqn, uint32_t ci, uint8_t arm_sn, bool solicited);

/* For a work queue, states as in enum ibv_wq_state. -EINVAL: not a legal transition: RESET to ERR, ERR to RDY. */
enum hca_wq_state { HCA_WQ_RESET, HCA_WQ_RDY, HCA_WQ_ERR };
int hca_wq_modify(struct hca *hca, uint32_t wqn, enum hca_wq_state state);
/* Changes `strip_vlan` of a work queue, for frames that come later. */
int hca_wq_strip_vlan(struct hca *hca, uint32_t wqn, bool on);

/* Flow steering (flow.h). -EINVAL, -ENOMEM; -EEXIST: a flow with the same rule does something else. */
int hca_flow_create(struct hca *hca, const struct hca_flow_attr *attr, uint32_t *id);
int hca_flow_destroy(struct hca *hca, uint32_t id);
int hca_flow_table_create(struct hca *hca, const struct hca_flow_table_attr *attr, uint32_t *id);
int hca_flow_table_destroy(struct hca *hca, uint32_t id); /* -EBUSY: it has flows, or something leads to it */

/* A UD QP receives each datagram to the group once, until it is detached as often as it was attached. */
int hca_mcast_attach(struct hca *hca, uint32_t qpn, const uint8_t gid[16]);
int hca_mcast_detach(struct hca *hca, uint32_t qpn, const uint8_t gid[16]);

/*
 * The general service interface (QP 1): management datagrams, sent and received as UD packets. They are sent
 * immediately; received ones raise HCA_GSI_VECTOR, and wait until the driver fetches them, but not too many.
 */
#define HCA_GSI_VECTOR 63u
#define HCA_MAD_SIZE   256u /* IBTA 13.4.2 */

struct hca_mad {
	uint8_t port;
	uint8_t sgid[16], dgid[16];
	uint8_t smac[6];
	bool v1; /* it came as RoCEv1 */
	uint32_t src_qpn;
	uint8_t data[HCA_MAD_SIZE];
};
/* Not from inside a callback. -EINVAL, -ENOMEM, or -ENETDOWN: the port is down. */
int hca_gsi_send(struct hca *hca, uint8_t port, const struct hca_av *av, const void *mad);
bool hca_gsi_recv(struct hca *hca, struct hca_mad *mad);
/* Raises HCA_GSI_VECTOR at this time; HCA_PS_NEVER: cancels it. One alarm at a time. */
void hca_alarm(struct hca *hca, hca_ps at);

/*
 * Sets GID `index` of `port`; all-zero removes it. `v1`: packets with this source are RoCEv1, otherwise RoCEv2.
 * -EOPNOTSUPP: the engine builds the frames, which are RoCEv2.
 */
int hca_gid_set(struct hca *hca, uint8_t port, unsigned int index, const uint8_t gid[16], bool v1);
int hca_port_set(struct hca *hca, uint8_t port, bool link_up, uint8_t active_mtu);
/* A port that is down sends and receives nothing. */
bool hca_port_up(const struct hca *hca, uint8_t port);

int hca_key_create(struct hca *hca, const struct hca_key_attr *attr, uint32_t *key); /* key.h */
int hca_key_destroy(struct hca *hca, uint32_t key);                                  /* uses the index only */

/* Scheduling elements (sched.h). -EBUSY: others, or QPs, belong to it. RESET takes a QP's away; 0: none. */
int hca_sched_create(struct hca *hca, const struct hca_sched_attr *attr, uint32_t *id);
int hca_sched_modify(struct hca *hca, uint32_t id, uint32_t share, uint32_t rate);
int hca_sched_destroy(struct hca *hca, uint32_t id);
/* Leaves of its requests, and of its READ responses (RC). */
int hca_qp_sched(struct hca *hca, uint32_t qpn, uint32_t requester, uint32_t responder);

#ifdef __cplusplus
}
#endif
#endif
