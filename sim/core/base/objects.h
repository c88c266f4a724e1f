/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The objects of the core.
 *
 * Lifetime. A QP or CQ may be destroyed or reset while DMA transfers, packets and timers of it are pending. Each of
 * these holds a reference on the object and remembers its epoch; if the epoch has changed when it completes, it only
 * releases its references.
 *
 * Activity. An object is on the list of a stage if and only if it has work for that stage: every function that
 * changes an object ends with qp_update(), which updates its lists. So hca_stage_pending() only checks list heads.
 */
#ifndef HCASIM_CORE_BASE_OBJECTS_H
#define HCASIM_CORE_BASE_OBJECTS_H

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "containers/numbers.h"
#include "containers/bits.h"
#include "containers/heap.h"
#include "containers/table.h"
#include "core/base/dcqcn.h"
#include "core/base/key_table.h"
#include "core/base/list.h"
#include "core/comp_cntr.h"
#include "core/counters.h"
#include "core/hca.h"
#include "core/base/psn.h"
#include "core/engine.h"
#include "core/marks.h"
#include "core/personality.h"

#include <hcasim_core.h>
#include <hcasim_verbs.h>
#include <hcasim_wire.h>

/* Depths if struct hca_config has 0. */
#define CORE_DOORBELL_DEPTH 256
#define CORE_FETCH_DEPTH    32
#define CORE_GATHER_DEPTH   32
#define CORE_TX_DEPTH       64
#define CORE_RX_DEPTH       1024
#define CORE_RX_WRITES      256
#define CORE_CQE_WRITES     64

#define CORE_NO_VLAN       0xffff /* hca_cpl.vlan: its VLAN is reserved */
#define CORE_RQ_PREFETCH   16     /* receive WQEs held by a QP */
#define CORE_MAX_SGE       64     /* SGEs of any personality's WQE: HCA_WQE_MAX / 16 */
#define CORE_FRAME_HDR_MAX 128    /* Ethernet, IPv6, UDP, BTH and the longest list of extension headers */
#define CORE_FIRST_QPN     16     /* 0 and 1 are the special QPs of IBTA */
#define CORE_FIRST_MR      16
#define CORE_MAX_EQ        64

/* ---- Timers ---- */

struct timer {
	struct heap_node at; /* by its deadline; in no heap: not set */
	void (*fire)(struct hca *hca, struct timer *t);
};

/* ---- Events ---- */

#define FLOW_RANK_SNIFFER  0u
#define FLOW_RANK_DEFAULTS (1u << 16 | 1) /* from here on; below: normal flows */

struct flow_table {
	uint32_t id;
	uint8_t side, level, miss;
	struct flow_table *next; /* where misses lead, or NULL */
	uint32_t uses;           /* flows and misses that lead here */
	struct table groups, ranks;
	struct bits used;  /* the numbers of the ranks */
	struct node order; /* of the ranks */
};

/* Flows that are searched together. */
struct flow_rank {
	struct flow_table *table;
	struct table_node node; /* of the table's ranks, by number: 0 comes first */
	struct node in_order;
	struct node groups;
};

/* Flows of one rank that match the same fields. */
struct flow_group {
	struct table_node node; /* of the table's groups, by rank and mask */
	struct flow_rank *rank;
	struct node on_rank;
	uint8_t port, kind, ip, l4;
	bool geneve;
	struct hca_flow_fields mask;
	struct table rules;    /* by their fields */
	const struct node *at; /* during steering: next flow to receive the frame; NULL: none */
};

/* Flows with the same rule. */
struct flow_rule {
	struct table_node node;
	struct flow_group *group;
	struct hca_flow_fields val; /* after applying the group's mask */
	struct node flows;          /* oldest first */
};

/* What a flow changes in a frame. */
struct flow_change {
	uint32_t num_edits;
	struct hca_edit edit[HCA_MAX_EDITS];
	uint8_t strip;
	uint32_t head_len;
	uint8_t head[HCA_MAX_HEAD];
};

struct flow {
	uint32_t id;
	uint64_t age; /* order of creation */
	uint8_t action;
	bool dont_trap, tagged;
	uint32_t tag;
	struct hca_flow_counter *counter; /* may be NULL */
	struct flow_change *change;       /* NULL: nothing */
	struct flow_rule *rule;
	struct qp *qp;            /* TO_QP, else NULL */
	struct flow_table *table; /* TO_TABLE, else NULL */
	struct node on_rule, on_qp;
};

struct gsi_mad { /* waits for the driver */
	struct gsi_mad *next;
	struct hca_mad mad;
};

struct mcast_group {
	struct table_node node; /* by GID */
	uint8_t gid[16];
	struct node members;
};

struct mcast {                  /* a QP in a multicast group */
	struct table_node node; /* by both */
	struct mcast_group *group;
	struct qp *qp;
	uint32_t uses; /* number of attachments */
	struct node on_group, on_qp;
};

struct event_source {
	struct node node;
	uint32_t pending; /* one bit per HCASIM_EQE_TYPE_ */
	hca_ps since;     /* when the first of them was raised */
	uint32_t number;
	uint8_t port;
	struct cq *cq; /* for completion events; NULL: async events only */
};

struct eq {
	struct hca_ring ring;
	unsigned int vector;
	uint32_t number, pi, ci;
};

/* ---- Completion queues ---- */

struct tag_list;   /* queues/tags.h */
struct rendezvous; /* queues/tags.h */
struct rndv_req;

struct cq {
	struct hca_ring ring;
	uint64_t record;
	uint32_t number, eqn, uar_page;
	uint32_t refs;                  /* DMA transfers, and 1 for the object itself */
	struct node sends, recvs, srqs; /* users of the CQ: QPs, and SRQs that complete there */
	bool dead, error, stalled, arm_lost;
	uint32_t pi, ci;
	enum { CQ_UNARMED, CQ_ARM_SOLICITED, CQ_ARM_ANY } arm;
	uint8_t arm_sn, event_sn;
	bool had_event;
	uint32_t notified; /* index up to which completions were reported by an event, or were polled */
	uint32_t mod_count, mod_us; /* moderation; 0: off */
	uint32_t held;              /* completions since the one for which the event is armed */
	struct timer mod_timer;
	uint32_t last_solicited; /* producer index after the last solicited or failed completion */
	struct node recover;     /* on hca->recover_cq while arm_lost is set */
	struct event_source ev;
};

/* ---- Shared receive queues ---- */

struct srq {
	struct hca_ring ring;
	uint64_t record;
	uint32_t number, pdn, uar_page, xrcdn, user_index;
	struct cq *cq;         /* XRC, tag matching: CQ of its receives; not used once dead */
	struct tag_list *tags; /* NULL: no tag matching */
	struct node on_cq;
	uint32_t refs; /* DMA transfers, WQEs in use, pending completions, and 1 for the object itself */
	uint32_t qps;
	bool dead, error, reading_record, fetching;
	bool linked;                      /* a linked list: a WQE says which one is next */
	uint32_t pi, ci, fetched;         /* WQEs, free-running; pi as of the last read of the record */
	uint32_t limit;                   /* armed limit: event when fewer are left */
	uint8_t *slots;                   /* CORE_RQ_PREFETCH WQEs */
	uint16_t next;                    /* linked list: ring index of the WQE to fetch next */
	uint16_t place[CORE_RQ_PREFETCH]; /* and of those in `slots` */
	struct node waiting;              /* QPs with a packet that waits for a read of this queue */
	struct event_source ev;
};

/* ---- Packets ---- */

struct txpkt;

/* Callbacks of a packet's creator. */
struct tx_owner {
	/* The packet is next to leave; its payload has been read, or not (`failed`). False: drop it. */
	bool (*may_leave)(struct hca *hca, struct qp *qp, struct txpkt *t);
	/* The frame that leaves; NULL: no memory. Without it: the packet's, see frame_take(). */
	struct hca_packet *(*frame)(struct hca *hca, struct txpkt *t);
	void (*release)(struct hca *hca, struct txpkt *t); /* NULL: nothing to release */
};

struct txpkt { /* sums_off: net_put_sums() inserts checksums into `sums_len` bytes from here, once the payload is read */
	uint32_t sums_off, sums_len, sums;
	struct txpkt *next;
	struct qp *qp;
	uint32_t epoch;
	uint32_t tag;           /* the owner's */
	struct hca_packet *pkt; /* headers and inline payload are complete */
	uint8_t sgid[16];       /* of a request: its source address */
	const struct tx_owner *owner;
	uint8_t port;
	bool failed;    /* its payload could not be read */
	bool duplicate; /* of a READ that is repeated */
	bool of_wqe;    /* for observers: it is a packet of the work request at `index` */
	uint16_t index;
	uint16_t dma_pending;
	uint32_t psn, payload_off, payload_len;
	hca_ps since; /* when it came to its stage; to TX: with its payload */
	uint32_t npieces;
	struct piece *piece;
	struct piece few[2];
};

struct txq {
	struct txpkt **slot;
	uint32_t depth, head, count;
};

struct pkt_info {        /* a parsed frame */
	uint64_t number; /* of hca_packet */
	uint8_t refused; /* HCASIM_COUNTER_REFUSED_*: it is RoCE, but not valid; 0: not RoCE */
	const struct hcasim_bth_op_info *op;
	uint8_t transport;       /* HCASIM_QPT_* */
	bool se, ackreq, v1, ce; /* v1: it is RoCEv1; ce: a switch has marked it */
	uint8_t packet_type;     /* of a datagram, as its completion reports it */
	uint8_t sgid[16], dgid[16], smac[6];
	uint8_t grh[40];
	uint16_t pkey;
	uint32_t dqpn, psn;
	uint64_t va;
	uint32_t rkey, dmalen;
	uint64_t swap_add, compare, orig;
	uint32_t imm; /* in network byte order */
	uint32_t inv_rkey;
	uint8_t plt, sel; /* FLUSH */
	uint32_t qkey, sqpn, srqn;
	uint8_t aeth_kind, aeth_value;
	uint32_t msn;
	uint32_t payload_off, payload_len;
};

struct rxwork {
	struct rxwork *next;
	struct hca_packet *pkt;
	hca_ps since; /* when it came */
	uint8_t port;
	uint8_t priority;    /* without hca_config.pfc 0 */
	uint8_t descriptors; /* packet_descriptors() of it */
	bool tagged;         /* by a flow, with flow_tag */
	uint32_t flow_tag;
	bool raw;      /* goes to a raw QP as a complete frame, */
	uint16_t vlan; /* without its VLAN tag, which is this; CORE_NO_VLAN: none was taken off */
	uint32_t hash, hash_fields; /* of RSS, and HCASIM_RSS_FIELD_* of what was hashed */
	struct pkt_info info;
};

/* Response of a responder to a request it accepted. */
struct rop {
	struct rop *next;
	/* ANSWER: to FLUSH and ATOMIC WRITE, a READ response without payload (IBTA A19.4.2) */
	enum { ROP_NONE, ROP_ACK, ROP_NAK, ROP_READ, ROP_ATOMIC, ROP_ANSWER } kind;
	uint16_t dma_pending;
	bool failed, is_send, orphan, duplicate;
	bool ends_write; /* the last packet of a WRITE of `len` bytes */
	hca_ps since;    /* when it came to RESPOND or COMPLETE */
	uint8_t aeth_kind, aeth_value;
	uint32_t psn, msn;
	bool has_cpl;
	struct hca_cpl cpl;
	struct srq *srq;        /* SRQ of the completed WQE: a reference */
	struct rndv_req *rndv;  /* begins when the completion is written */
	struct hca_packet *pkt; /* with the payload that is in the completion */
	uint64_t va, orig;      /* READ: next address; atomic: original value */
	uint32_t rkey, pdn, len, npkts, done_pkts;
};

struct rop_fifo {
	struct rop *head, **tail;
};

struct dma_ctx {
	struct hca_dma d;
	struct node node; /* hca->dma_busy, in the order of issue */
	uint64_t serial;
	struct qp *qp;
	uint32_t epoch;
	/* `stale`: the object has been destroyed or reset in between. */
	void (*fn)(struct hca *hca, struct dma_ctx *c, bool stale);
	union {
		struct txpkt *tx;
		struct rop *rop;
		struct cq *cq;
		struct srq *srq;
		void *any;
	};
	struct hca_packet *pkt;
	uint32_t n; /* data of the issuer */
	struct {    /* of the completion that it writes; epoch 0: none is kept */
		uint32_t qpn, epoch;
		uint16_t index;
		bool send;
	} mark;
	struct hca_dma_seg few[4];
	uint8_t buf[128];
};

/* ---- Queue pairs ---- */

struct rq {
	struct hca_ring ring;
	uint32_t pi, ci, fetched;              /* WQEs, free-running; pi as of the last read of the record */
	bool reading_record, fetching, looked; /* looked: the record was read for the waiting packet */
	uint8_t *slots;                        /* CORE_RQ_PREFETCH WQEs */
	uint32_t nslots;
	bool active;        /* a receive WQE is in use by an incomplete message */
	bool done_error;    /* the completion of a failed receive WQE was written */
	uint8_t bad;        /* vendor_err of the active WQE */
	struct srq *srq;    /* SRQ of the active WQE: a reference */
	struct hca_cpl cpl; /* what all completions of the active WQE have in common */
	bool rndv;          /* a tagged buffer, for a rendezvous */
	bool incomplete;    /* whose data the software fetches */
	struct hca_rwr rwr;
	struct hca_sge sge[CORE_MAX_SGE];
	struct timer poll; /* ERR: polls the record for new WQEs to flush */
	hca_ps poll_delay;
};

struct atomic_result {
	uint32_t psn;
	bool valid;
	uint64_t orig;
};

struct resp {
	uint32_t epsn, msn;
	bool nak_sent, comm_est;
	bool read_fault; /* the host refused memory of a READ response */
	enum { MSG_NONE, MSG_SEND, MSG_WRITE, MSG_SKIP } msg;
	uint64_t offset; /* bytes of the current message received so far */
	uint64_t va;     /* WRITE: start */
	struct srq *srq; /* of the current packet */
	uint32_t pdn;    /* protection domain of its keys: the QP's, or the XRC SRQ's */
	uint32_t srqn;   /* XRC: SRQ of the current message */
	uint32_t rkey, dmalen;
	bool busy;    /* an atomic is pending: packets wait */
	bool blocked; /* no receive WQE yet: packets wait */
	bool paging;  /* a page request is pending */
	uint32_t nreads, nduplicates;
	uint32_t held;           /* entries of `landing` with a response: none overtakes another */
	struct rop_fifo landing; /* accepted requests whose payload is not in memory yet */
	struct rop_fifo out;     /* for HCA_STAGE_RESPOND */
	struct rop_fifo cpl;     /* receive completions */
	struct rxwork *parked, **parked_tail;
	uint32_t nparked;
	struct atomic_result *saved;
	uint32_t saved_pos;
};

struct rss { /* of a QP with work queues */
	uint32_t fields, size;
	uint8_t key[HCA_RSS_KEY];
	struct qp *wq[]; /* one reference each */
};

struct pace {        /* token bucket, egress/pace.c */
	hca_ps full; /* when it is full, if nothing is sent */
	struct timer timer;
	bool pausing; /* the send engine was told to pause */
};

struct congestion { /* egress/congestion.c */
	hca_ps next_cnp;
	struct dcqcn dcqcn;
	struct timer alpha, increase;
};

struct qp {
	uint32_t qpn, epoch, refs;
	struct hca_marks *marks; /* or NULL */
	struct rss *rss;         /* NULL: the QP has its own queues */
	uint32_t rss_tables;     /* work queue: number of table entries that name it */
	bool dead;
	struct hca_qp_attr_create c;
	struct hca_qp_attr a;
	uint32_t mtu;
	struct node windows; /* type 2, bound by this QP */
	struct node flows, mcasts;
	uint16_t udp_sport, set_sport; /* set_sport: as software asked, or 0 */
	struct cq *send_cq, *recv_cq;
	struct srq *srq;
	bool last_wqe_told;
	uint16_t decoded;        /* ring index behind the last WQE of the send queue that was decoded */
	struct timer sq_timer;   /* state of the send engine */
	struct node results;     /* send/result.c: with result_inline */
	struct comp_cntrs *comp; /* queues/comp_cntr.c; NULL: it has no completion counter */
	struct pace pace;
	struct sched_qp *sched; /* egress/sched.c; NULL: it has no scheduling element */
	struct congestion cc;
	struct rq rq;
	struct resp resp;
	bool cpl_turn; /* send and receive completions alternate */
	struct node on_respond, on_cpl, on_rx, on_recover;
	struct node on_atomic, on_srq, on_send_cq, on_recv_cq, on_srq_cq;
	struct rendezvous *rndv; /* the adapter's own send queue; NULL: software has it */
	struct rop *atomic;      /* the current one, or the next one */
	bool atomic_add;
	uint64_t atomic_swap, atomic_compare;
	struct event_source ev;
	struct hca *hca;
	enum hca_stall stall; /* for observers: as reported last */
};

/* ---- Stages ---- */

struct stage {
	const char *name;
	bool (*pending)(const struct hca *hca, struct hca_work *w);
	void (*step)(struct hca *hca);
};

/* What the other sub-folders implement; hca.c has them all. */
struct parts {
	const struct stage *stage;                  /* HCA_NUM_STAGES entries */
	uint32_t (*pending)(const struct hca *hca); /* one bit per stage: all at once, after every step */
	void (*changed)(struct hca *hca, struct qp *qp); /* of qp_update() */
	void (*failed)(struct hca *hca, struct qp *qp);  /* called when a QP has gone to ERR */
	/* No flow of the side keeps the frame, which is about to be sent; flows may put another in its place. */
	bool (*lets_out)(struct hca *hca, enum hca_flow_side side, uint8_t port, struct hca_packet **pkt);
};

/* ---- Doorbells ---- */

struct db_entry {
	struct hca_doorbell db;
	hca_ps since; /* when it came */
	uint32_t page;
	uint32_t len; /* BlueFlame: bytes of the WQE */
	uint8_t push[HCA_BF_MAX];
};

struct bf_buf { /* assembly of one BlueFlame buffer */
	struct hca *hca;
	uint32_t page;
	uint32_t got, want;
	bool active;
	struct timer timer;
	uint8_t data[HCA_BF_MAX];
};

struct port {
	bool up;
	uint8_t active_mtu;
	uint8_t gid[CORE_GIDS][16];
	bool gid_v1[CORE_GIDS]; /* packets with this source are RoCEv1 */
	struct event_source ev;
	uint8_t paused; /* priorities, one bit each: egress/pause.c */
};

struct hca {
	struct hca_config cfg;
	const struct hca_personality *pers;
	const struct parts *parts;
	struct hca_ops ops;
	void *host;
	bool dying;
	bool marks;                   /* a QP has some */
	struct hca_counters count[3]; /* by port; 0: of none */
	uint32_t was_pending;         /* one bit per stage */
	uint32_t step_cycles;         /* of the send engine in the last step of its stages */
	uint32_t icrc_seed;
	struct port port[2];

	struct numbers qp, cq, srq;
	struct numbers sched; /* scheduling elements */
	struct numbers comp_cntr;
	struct eq *eq[CORE_MAX_EQ];
	uint32_t async_eqn;
	struct mr_table mr;
	uint8_t *dm;            /* device memory, pers->dm.size bytes */
	struct node srq_cq_qps; /* QPs whose receives complete to the CQ of an SRQ */

	struct { /* doorbell FIFO */
		struct db_entry *slot;
		uint32_t depth, head, count;
		bool ahead; /* of the last one, for observers: its index `rung` is ahead of its record's */
		uint16_t rung, record;
	} db;
	struct bf_buf **bf; /* uar.pages * uar.bf_bufs of the personality, allocated on first use */
	struct node recover_qp, recover_cq;

	const struct engine_ops *eng;
	struct engine *engine;
	struct rxwork *feedback;     /* during ops->response(): the response */
	const struct txpkt *leaving; /* during ops->frame() */

	struct txq gather, tx;
	struct txpkt *txpkt_pool;

	struct {
		struct numbers ids, tables; /* tables: but the roots */
		struct flow_table root[HCA_FLOW_SIDES];
		uint64_t made;
	} flow;
	struct {
		struct table groups, members;
	} mcast;

	struct rxwork *rx_head, **rx_tail, *rx_pool;
	uint32_t rx_count, rx_depth;      /* including parked packets */
	uint32_t rx_held[HCA_PRIORITIES]; /* the same by priority: each has its own rx_depth */
	uint32_t rx_fifo_count;
	struct node rx_qps; /* QPs with parked packets that can continue */
	uint32_t rx_writes, rx_writes_max;

	struct { /* QP 1, and the driver's alarm */
		struct gsi_mad *first, *last;
		uint32_t count, psn;
		struct timer alarm;
	} gsi;

	struct node respond_qps, atomic_qps;
	struct qp *atomic_owner;
	struct rop *rop_pool;

	struct node cpl_qps, cpl_srqs;
	uint32_t cqe_writes, cqe_writes_max;
	struct node events;

	struct node page_requests;
	uint32_t page_token; /* the last one */

	struct node dma_busy;
	uint64_t dma_issued; /* how many so far */
	struct dma_ctx *dma_pool;

	struct heap timers;
	hca_ps told_deadline;
};

#endif
