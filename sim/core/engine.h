/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface of the send engine, which turns doorbells into packets and acknowledges into completions. The C
 * engine (sim/core/requester) implements struct engine_ops. docs/engine.md describes the calls and their order.
 *
 * Core and engine share no state. QPs are identified by number, pending operations by a tag that the engine chooses.
 * Pointers are to plain data and are valid during the call only, in both directions. Lengths are bytes, time is
 * picoseconds of device time, PSNs 24 bits, ring indices free-running counts of basic blocks, numbers in host byte
 * order; `imm` is in network byte order. Keys, access flags, statuses, operations: as in hca.h and personality.h.
 *
 * The core calls the ops, from one thread. The engine calls its ports only during such a call; a port does not call
 * the engine, except where stated. After every call with a QP number, or with the tag of one, the core polls the QP's
 * completions.
 */
#ifndef HCASIM_CORE_ENGINE_H
#define HCASIM_CORE_ENGINE_H

#include "core/personality.h"
#include "core/wire/headers.h"

#include <hcasim_core.h>
#include <hcasim_verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

struct engine; /* private to the implementation */

/* ---- QP context ---- */

struct engine_qp {
	uint8_t type;         /* HCASIM_QPT_* */
	uint8_t state;        /* HCASIM_QPS_* */
	struct hca_ring ring; /* stride: one basic block; 0 entries: no send queue */
	uint32_t pdn;
	uint32_t max_inline; /* bytes */
	uint32_t mtu;        /* path MTU, bytes */
	uint8_t port;        /* 1 or 2 */
	uint8_t timeout;     /* 4.096 us * 2^timeout; 0: never */
	uint8_t retry_cnt, rnr_retry;
	uint8_t max_rd_atomic;
	uint32_t qkey;
	uint32_t dest_qpn;
	uint16_t udp_sport;
	struct hca_av av;
	bool paused;    /* no packet may be made, because of a rate limit or a scheduling element */
	bool set_state; /* the software has just set this state */
	bool set_psn;   /* sq_psn is valid: it is the PSN of the next request */
	uint32_t sq_psn;
};

struct engine_query {
	uint32_t sq_psn; /* PSN of the next request */
	bool draining;   /* SQD: not all started requests have completed */
};

/* State of a QP that must be equal in two engines after the same calls. */
struct engine_state {
	uint8_t qp_state;
	uint16_t pi, fetched, retired; /* ring indices */
	uint32_t wqes;                 /* decoded, not completed */
	uint16_t cur_index;            /* ring index of the next WQE to be sent */
	uint16_t ack_index;            /* PSN of the oldest request that is not fully acknowledged */
	bool has_cur, has_ack;
	uint32_t cur_pkt; /* its packets that were already made */
	uint32_t una_psn, next_psn;
	uint32_t rd_out, rd_incomplete;
	uint8_t retries, rnr_retries;
	bool rnr_wait, fault, fetching;
	uint8_t paging;
};

/* ---- DMA and translation ---- */

/* A piece of host memory, after translation. */
struct piece {
	uint64_t addr;
	uint32_t len;
	uint32_t pasid;
	struct hca_tph tph; /* access hints of its region */
	bool relaxed;       /* its region allows relaxed ordering */
	uint32_t key;       /* for cache models; an engine passes it on */
};

/* Bytes [off, off + len) of an SGE list. */
struct engine_lookup {
	uint32_t pdn;
	uint32_t access; /* HCASIM_ACCESS_LOCAL_WRITE, or 0 to read */
	const struct hca_sge *sge;
	uint32_t num_sge;
	uint64_t off;
	uint64_t len;
};

#define ENGINE_MAX_PIECES 64 /* of one look-up: at least the SGEs of the largest WQE */

/* ---- Packets out ---- */

struct engine_packet {
	uint32_t qpn;
	bool raw;             /* a frame: all of it is payload; `spec` only gives its port */
	uint32_t sums;        /* HCA_WR_L3_CSUM, HCA_WR_L4_CSUM: checksums of the payload to insert */
	struct pkt_spec spec; /* payload_len: total length of `head` and pieces */
	/*
	 * The payload: first these bytes (inline data, headers of a segment), then those of the pieces, which GATHER
	 * reads from host memory, asynchronously.
	 */
	const uint8_t *head;
	uint32_t head_len;
	const struct piece *piece;
	uint32_t npieces;
};

/* A packet that leaves. */
struct engine_frame {
	uint32_t qpn;
	uint32_t tag;        /* of packet() */
	const uint8_t *smac; /* source addresses: 6 bytes, of its port; */
	const uint8_t *sgid; /* 16 bytes, of the GID that its address vector named at packet() */
	const struct piece *piece;
	uint32_t npieces;
	const uint8_t *data; /* the bytes of the pieces, one after the other */
};

#define ENGINE_FRAME_MAX (HCASIM_FRAME_OVERHEAD + (128u << HCASIM_MTU_4096)) /* bytes, without FCS */

/* ---- Feedback ---- */

struct engine_response {
	uint32_t psn;
	bool data; /* READ response, atomic response, or response to FLUSH and ATOMIC WRITE; else ACK or NAK */
	bool atomic; /* data: `orig` is the original value */
	bool end;    /* data: this is the last packet of the response */
	uint32_t payload_len;
	uint8_t aeth_kind, aeth_value; /* else: HCASIM_AETH_KIND_*, HCASIM_NAK_* or RNR timer code */
};

struct engine_completion {
	uint8_t wqe_op, num_bb, status, vendor_err;
	uint16_t wqe_index;
	uint32_t byte_count;
	uint64_t id; /* hca_wr.id */
};

/*
 * A WQE that has left its queue: its end is final, and its completion, if it has one, is taken. RESET removes WQEs without
 * a record.
 */
struct engine_retired {
	uint64_t order;                      /* number of the record: 0, 1, ... */
	uint64_t fetched, issued, completed; /* clock cycles; issued (its first packet was made) 0: never */
	uint32_t qpn;
	uint32_t first_psn, psns; /* of its message: packets, or those of the response; 0: not started */
	uint16_t index;           /* ring index of its first basic block */
	uint8_t wqe_op, num_bb, status, vendor_err;
	bool signaled;
};

struct engine_counters {
	uint64_t wqes, retransmissions;
	uint64_t rnr_naks, sequence_naks, implied_naks, timeouts; /* those that were followed by a retry */
};

/* ---- What the engine asks for and hands out ---- */

struct engine_ports {
	hca_ps (*now)(void *host);
	/*
	 * Reads a range of the send queue; ops->read_done(tag) returns it, never during the call. False: no memory.
	 */
	bool (*read)(void *host, uint32_t qpn, uint32_t tag, uint32_t pasid, const struct hca_dma_seg *seg,
		     uint32_t nseg);
	/*
	 * Checks keys, rights and bounds of a part of an SGE list. Returns a vendor error or 0; with `out` NULL it
	 * only checks whole SGEs. `out` has space for ENGINE_MAX_PIECES.
	 */
	uint8_t (*lookup)(void *host, const struct engine_lookup *what, struct piece *out, uint32_t *npieces);
	/* True: all its pages are mapped (on-demand paging), writable if `what` says so. */
	bool (*present)(void *host, const struct engine_lookup *what);
	/* Requests missing pages from the driver; answered by ops->pages(tag). False: no memory. */
	bool (*page_request)(void *host, uint32_t qpn, uint32_t tag, const struct engine_lookup *what);
	/* Executes BIND_MW or LOCAL_INV. Returns a vendor error or 0. */
	uint8_t (*local)(void *host, uint32_t qpn, const struct hca_wr *wr);
	/* True: space for one packet (back-pressure). packet() must only be called after this returned true. */
	bool (*packet_room)(void *host);
	/*
	 * False: no memory, the engine tries again later. True: followed by ops->leave(tag), unless dropped, and
	 * ops->released(tag).
	 */
	bool (*packet)(void *host, uint32_t tag, const struct engine_packet *pkt);
	/*
	 * Only during ops->response(): writes its payload (for an atomic: the 8 bytes of its result) to the pieces, or
	 * keeps it for the completion. The results of a QP come in the order of its WQEs, and of their bytes. Returns the
	 * number of transfers, each of which is completed by ops->written(tag); 0: it is kept; < 0: no memory.
	 */
	int (*result)(void *host, uint32_t qpn, uint32_t tag, const struct piece *piece, uint32_t npieces);
	/* One timer per QP: ops->timer() is called at `at`. HCA_PS_NEVER: none. */
	void (*timer)(void *host, uint32_t qpn, hca_ps at);
	/*
	 * The QP has gone to SQE or ERR because of a failed request. For ERR the core calls ops->error(), possibly
	 * during this call.
	 */
	void (*failed)(void *host, uint32_t qpn, uint8_t state);
	void (*drained)(void *host, uint32_t qpn); /* SQD: all started requests have completed */
	/* A WQE was decoded: for observers, and for results that are kept. */
	void (*saw_wqe)(void *host, uint32_t qpn, const struct hca_wr *wr, const void *raw, uint32_t len);
	/*
	 * For observers: a WQE has retired, each once and in order per QP. May be NULL; an engine need not call it. Not
	 * among the calls that must be equal in two engines.
	 */
	void (*retired)(void *host, const struct engine_retired *r);
	/* As now(), for ops->since(). May be NULL. Not among the calls that must be equal in two engines. */
	hca_ps (*time)(void *host);
	/*
	 * Only during ops->frame(), for those who compare: the frame as the core builds it. Returns its bytes, at
	 * most ENGINE_FRAME_MAX.
	 */
	uint32_t (*frame)(void *host, uint8_t *out);
};

struct engine_config {
	const struct hca_personality *pers;
	uint32_t fetch_depth; /* WQE reads, and their data until it is decoded */
	uint32_t
		queue_reads; /* of one queue pair among them; 0: 1. An engine may have fewer, but not in lockstep */
	uint32_t window; /* WQEs of a queue pair decoded ahead: no more of them are read */
};

#define ENGINE_WINDOW 128 /* of the adapter's engine */

/* ---- What the engine does ---- */

struct engine_ops {
	const char *name;
	/* NULL: no memory. `ports` stay valid until destroy(). */
	struct engine *(*create)(const struct engine_config *cfg, const struct engine_ports *ports,
				 void *host);
	/* All QPs have been destroyed, and all tags completed except those of packets and WQEs inside the engine. */
	void (*destroy)(struct engine *e);

	/* 0 or -ENOMEM. In RESET. */
	int (*qp_create)(struct engine *e, uint32_t qpn, const struct engine_qp *ctx);
	/* Attributes or state have changed; for RESET call qp_reset() first. */
	void (*qp_set)(struct engine *e, uint32_t qpn, const struct engine_qp *ctx);
	/* As after creation. Pending operations still complete (read_done() and so on) and are dropped. */
	void (*qp_reset)(struct engine *e, uint32_t qpn);
	void (*qp_destroy)(struct engine *e, uint32_t qpn);
	/* To ERR. No effect in RESET and ERR. */
	void (*error)(struct engine *e, uint32_t qpn);
	void (*query)(const struct engine *e, uint32_t qpn, struct engine_query *out);
	void (*port_set)(struct engine *e, uint8_t port, uint32_t mtu); /* MTU of the port, bytes */

	/* WQEs are posted up to ring index `pi`; an index outside the ring is ignored. */
	void (*doorbell)(struct engine *e, uint32_t qpn, uint16_t pi);
	/* The WQE at `index` came with the doorbell (BlueFlame): `len` bytes, at most HCA_BF_MAX. */
	void (*push)(struct engine *e, uint32_t qpn, uint16_t index, const void *wqe, uint32_t len);

	/* Completions of ports. `status`: 0 or -EFAULT, then `data` is invalid. */
	void (*read_done)(struct engine *e, uint32_t tag, const void *data, uint32_t len, int status);
	void (*written)(struct engine *e, uint32_t tag, int status);
	void (*pages)(struct engine *e, uint32_t tag, bool mapped);
	/* The packet is next to leave; `failed`: its payload could not be read. False: it does not leave. */
	bool (*leave)(struct engine *e, uint32_t tag, bool failed);
	/* The core is done with a packet or a page request. The last word of this tag. */
	void (*released)(struct engine *e, uint32_t tag);

	/* Transport feedback. */
	void (*response)(struct engine *e, uint32_t qpn, const struct engine_response *r);
	void (*timer)(struct engine *e, uint32_t qpn);

	/* The next completion of the QP, in order; false: there is none. `out` NULL: only that. It stays until taken. */
	bool (*completion)(const struct engine *e, uint32_t qpn, struct engine_completion *out);
	void (*completion_taken)(struct engine *e, uint32_t qpn);

	/* HCA_STAGE_FETCH, DECODE and PACKETISE: as hca_stage_pending() and hca_stage_step(). step() returns the QP. */
	bool (*pending)(const struct engine *e, enum hca_stage stage, struct hca_work *work);
	uint32_t (*step)(struct engine *e, enum hca_stage stage);

	void (*counters)(const struct engine *e, struct engine_counters *out);
	void (*state)(const struct engine *e, uint32_t qpn, struct engine_state *out);

	/* ---- Optional: NULL if the engine has none ---- */

	/*
	 * Builds the frame of a packet for which leave() has just returned true: headers, payload, checksums, padding,
	 * ICRC. RoCEv2 only: with such an engine no GID is of RoCEv1. Returns its bytes, at most ENGINE_FRAME_MAX.
	 * NULL: the core builds the frames.
	 */
	uint32_t (*frame)(struct engine *e, const struct engine_frame *f, uint8_t *out);
	/*
	 * When the work at the head of FETCH, DECODE or PACKETISE came to it; or, for COMPLETE, the next completion of
	 * the QP. 0: not known.
	 */
	hca_ps (*since)(const struct engine *e, enum hca_stage stage, uint32_t qpn);
	/* Clock cycles that the engine's work in the last step() or frame() took; 0: not known. */
	uint32_t (*cycles)(const struct engine *e);
	/*
	 * Writes a waveform (FST) from here on: the last clock cycles, at most `cycles`, to `path`, and the `cycles`
	 * before these to `path`.before. `path` NULL: completes the files. 0 or -errno.
	 */
	int (*wave)(struct engine *e, uint32_t cycles, const char *path);
	/*
	 * A packet of the QP could be made now, or could if it were not paused. Without it the core concludes that from
	 * state(), and a QP in a scheduling tree with max_rd_atomic responses outstanding sends nothing else either.
	 */
	bool (*ready)(const struct engine *e, uint32_t qpn);
};

extern const struct engine_ops c_engine; /* sim/core/requester */

/* ---- An engine in a shared library ---- */

/* Increased with every change of this header and of the headers that it includes. */
#define ENGINE_ABI 14

struct engine_plugin {
	uint32_t abi;      /* ENGINE_ABI */
	uint32_t ops_size; /* sizeof(struct engine_ops) and sizeof(struct engine_ports) */
	uint32_t ports_size;
	const struct engine_ops *ops;
};

/* The one symbol that the library exports. */
#define ENGINE_PLUGIN_SYMBOL "hcasim_engine_plugin"
extern const struct engine_plugin hcasim_engine_plugin;
#define ENGINE_PLUGIN(engine_ops_)                                                                           \
	const struct engine_plugin hcasim_engine_plugin = {ENGINE_ABI, sizeof(struct engine_ops),            \
							   sizeof(struct engine_ports), engine_ops_}

#ifdef __cplusplus
}
#endif
#endif
