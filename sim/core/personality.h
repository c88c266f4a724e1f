/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface between the transport and the formats of a device family: a personality turns its WQEs into struct
 * hca_wr, and struct hca_cpl into its CQEs. Requester, responder and traces use only these two.
 */
#ifndef HCASIM_CORE_PERSONALITY_H
#define HCASIM_CORE_PERSONALITY_H

#include "core/hca.h"

#include <hcasim_core.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hca_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

/* Operation and flag values are the generated HCASIM_WQE_OP_* and HCA_WR_*; statuses are
 * HCASIM_CQE_STATUS_* and HCASIM_VENDOR_ERR_* (spec/core.yaml). */
#define HCA_WR_SIGNALED  (1u << 0)
#define HCA_WR_SOLICITED (1u << 1)
#define HCA_WR_FENCE     (1u << 2)
#define HCA_WR_INLINE    (1u << 3)
#define HCA_WR_L3_CSUM   (1u << 4) /* of IPv4 */
#define HCA_WR_L4_CSUM   (1u << 5) /* of TCP or UDP */
#define HCA_WR_IP_CSUM   (HCA_WR_L3_CSUM | HCA_WR_L4_CSUM)

#define HCA_BIND_KEY 3

/* A range of a key, of which an indirect key consists. The next repetition has it `stride` bytes further. */
struct hca_key_part {
	uint64_t addr;
	uint32_t key;
	uint32_t length;
	uint32_t stride;
};

/* One decoded work request. `sge` and `inline_data` point into the memory it was decoded into. */
struct hca_wr {
	uint64_t id; /* the software's, if WQEs of the family have one: it returns in the completion */
	uint8_t op;
	uint8_t num_bb; /* ring slots of the WQE */
	uint16_t index; /* free-running index of the first slot */
	uint32_t flags;
	uint32_t imm; /* big-endian, as on the wire */
	uint32_t inv_rkey;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t srqn; /* XRC */
	uint64_t swap_add, compare;
	struct {
		struct hca_av av;
		uint32_t qpn, qkey;
		uint16_t sport; /* UDP source port; 0: the engine chooses it */
	} ud;
	struct hca_bind {
		uint32_t mw_rkey, new_rkey, lkey, access;
		uint64_t addr, length;
		uint8_t type; /* of the window; HCA_BIND_KEY: an indirect key; 0: WQEs of the family do not say */
		/* An indirect key: mw_rkey names it, new_rkey has its tag, addr is where its addresses begin. */
		bool keep_access; /* that of before; `access` is unused */
		bool keep_parts; /* those of before, with address and length; the following and these are unused */
		uint32_t num_parts, repeat; /* as often as this the parts follow each other */
		const uint8_t *parts;       /* in the WQE, for key_part() of the family */
	} bind;
	/* Headers in the WQE: of each segment of a TSO request, else of the frame, whose data follows them. */
	struct {
		uint16_t mss, hdr_size;
		const uint8_t *hdr;
	} tso;
	struct {
		uint64_t length;
		uint8_t type, level;
	} flush;
	uint64_t
		length; /* payload bytes without those headers: 64-bit, so that a sum of 32-bit SGEs cannot wrap */
	uint32_t num_sge;
	struct hca_sge *sge;
	uint8_t *inline_data;
	uint32_t lead_len; /* bytes of inline data before those of the SGEs; not with HCA_WR_INLINE */
};

struct hca_rwr {     /* one decoded receive WQE */
	uint64_t id; /* as in struct hca_wr */
	uint16_t index;
	uint16_t tag; /* SRQ: tag for its completion */
	uint64_t length;
	uint32_t num_sge;
	struct hca_sge *sge;
};

struct hca_tm_op {  /* one decoded operation on a tag list */
	uint8_t op; /* HCASIM_TM_OPCODE_*; 0: not known */
	bool signaled, sync;
	uint16_t sw_count; /* with `sync` */
	uint16_t handle;
	uint64_t tag, mask, length;
	uint32_t num_sge;
	struct hca_sge sge[HCASIM_TM_MAX_SGE];
};

/* The headers of a received frame, or of one inside a datagram, and which of its checksums are right. */
struct hca_headers {
	uint8_t ip; /* 4, 6; 0: none */
	enum { HCA_L4_NONE, HCA_L4_UDP, HCA_L4_TCP, HCA_L4_TCP_ACK, HCA_L4_TCP_ACK_DATA } l4;
	bool fragment, options; /* of IPv4, or extension headers of IPv6 */
	bool l3_ok;             /* the length fits, and IPv4's checksum is right */
	bool l4_ok;             /* of TCP or UDP: there is a checksum, and it is right */
};

struct hca_cpl {     /* one completion */
	uint64_t id; /* of its work request, as in struct hca_wr */
	uint32_t qpn;
	uint32_t user_index; /* the software's number of the QP, or of an XRC QP's SRQ */
	uint8_t op;          /* HCASIM_CQE_OP_* */
	uint8_t wqe_op, num_bb, status, vendor_err;
	uint16_t wqe_index;
	uint32_t byte_count, imm, inv_rkey, src_qpn, srqn;
	uint16_t vlan, pkey_index;
	uint8_t smac[6], sl, path_bits;
	bool grh, with_imm, with_inv;
	bool frame;  /* of a raw QP */
	bool tagged; /* by the flow that the frame came by, with flow_tag */
	uint32_t flow_tag;
	uint32_t hash, hash_fields; /* of RSS, and HCASIM_RSS_FIELD_* of what was hashed */
	struct hca_headers headers;
	bool tm_match;  /* a message has matched an entry of the tag list */
	bool tm_data;   /* its data is in memory: the last completion of the entry */
	bool tm_sync;   /* the software shall tell how many unexpected messages it has handled */
	bool tm_handle; /* wqe_index is the handle of an entry of the tag list */
	uint32_t tm_priv;
	uint64_t tm_tag;
	const uint8_t
		*payload; /* valid during the call, not written to memory; NULL: the completion has none */
	uint32_t payload_len;
	bool solicited; /* counts as solicited for arming; not part of the CQE */
	hca_ps timestamp;
};

/* The meaning of IBV_WC_IP_CSUM_OK. */
static inline bool hca_csum_ok(const struct hca_cpl *cpl)
{
	return cpl->headers.ip == 4 && cpl->headers.l3_ok && cpl->headers.l4_ok;
}

struct hca_event {
	uint8_t type; /* HCASIM_EQE_TYPE_* */
	uint8_t port;
	uint32_t number;
	hca_ps timestamp;
};

struct hca_doorbell {
	enum { HCA_DB_NONE, HCA_DB_SQ, HCA_DB_CQ_ARM, HCA_DB_SRQ_ARM, HCA_DB_TM, HCA_DB_BF } kind;
	uint32_t number; /* QPN, CQN, SRQN */
	uint32_t value;  /* SQ, TM: producer index; CQ: consumer index; SRQ: limit */
	uint8_t arm_sn;
	bool solicited;
};

#define HCA_OWN_WQE_BB  2
#define HCA_WQE_MAX     1024     /* bytes: no personality has longer ones */
#define HCA_CQE_MAX     128      /* likewise, and EQEs */
#define HCA_BF_MAX      256      /* likewise, BlueFlame buffers */
#define HCA_TM_OP_MAX   64       /* likewise, operations on a tag list */
#define HCA_RECORD_MAX  64       /* likewise, doorbell records */
#define HCA_NUMBER_MASK 0xffffff /* QP, CQ and SRQ numbers have 24 bits (IBTA 9.2.3) */

/* User access pages: where CPUs ring doorbells. */
struct hca_uar_layout {
	unsigned int bar;
	uint32_t page_size; /* bytes */
	uint32_t pages;     /* in the BAR, from its beginning */
	uint32_t bf_offset; /* of the BlueFlame buffers in a page */
	uint32_t bf_size;   /* bytes of one */
	uint32_t bf_bufs;
};

/*
 * Queues between two programs, as of a software device: the indices that both sides share are positions in the ring,
 * of which one place stays free, and the adapter writes its own for the software: 32 bits, little-endian.
 */
struct hca_shared_indices {
	bool on;
	/* Where the adapter's index is, from the address of the queue's record on, bytes: */
	int16_t consumer, producer; /* of work queues, of CQs */
};

/* A store of a byte adds it; a load of a byte returns it and leaves a 1. Other accesses there have no effect. */
enum hca_dm_op { HCA_DM_OP_ADD, HCA_DM_OP_TEST_SET, HCA_DM_OPS };

struct hca_cq_record { /* doorbell record of a CQ, decoded */
	uint32_t ci;
	uint8_t arm_sn; /* and `solicited`: of the last arm request */
	bool solicited;
};

struct hca_personality {
	const char *name;
	const char *adapter;                     /* its adapters are named so, with a number */
	uint32_t wqebb_size, cqe_size, eqe_size; /* a CQ's stride may be larger than cqe_size */
	struct hca_uar_layout uar;
	bool av_without_port; /* address vectors name no port: it is that of the QP */
	struct {
		unsigned int bar;
		uint64_t size; /* bytes; 0: the family has none */
	} dm;                  /* device memory */
	/* Length in bytes of the WQE that starts at `head` (its first basic block), or 0: not a WQE. */
	uint32_t (*wqe_size)(const void *head);
	/*
	 * Decodes `len` bytes at `raw` into `wr`, and its SGEs into `sge` (space for `max_sge`). Returns 0 or a
	 * vendor error; *status is then the completion status. Needs the QP's type, number and the index at which the
	 * WQE was fetched.
	 */
	uint8_t (*decode_wqe)(const void *raw, uint32_t len, uint8_t qp_type, uint32_t qpn, uint16_t index,
			      struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge, uint8_t *status);
	/* Part `i` of those of an indirect key; NULL: the family has no such keys. */
	void (*key_part)(const struct hca_bind *bind, uint32_t i, struct hca_key_part *out);
	uint8_t (*decode_rqe)(const void *raw, uint32_t len, uint16_t index, struct hca_rwr *wr,
			      struct hca_sge *sge, uint32_t max_sge);
	/* That of a shared receive queue, `index` being its place in a linked list; NULL: as decode_rqe. */
	uint8_t (*decode_srqe)(const void *raw, uint32_t len, uint16_t index, struct hca_rwr *wr,
			       struct hca_sge *sge, uint32_t max_sge);
	/* An operation on a tag list; NULL: the family has no tag matching. */
	uint8_t (*decode_tm_op)(const void *raw, uint16_t index, struct hca_tm_op *op);
	/*
	 * For rendezvous, which the adapter posts itself: an RDMA_READ, or a SEND with inline data, signaled. Returns
	 * its basic blocks; `raw` has room for HCA_OWN_WQE_BB.
	 */
	uint32_t (*encode_wqe)(const struct hca_wr *wr, uint32_t qpn, void *raw);
	/* `phase`: 1 in the first turn of the ring, then 0, 1, ...; `size`: the stride of the ring, bytes. */
	void (*encode_cqe)(const struct hca_cpl *cpl, unsigned int phase, void *raw, uint32_t size);
	void (*encode_eqe)(const struct hca_event *ev, unsigned int phase, void *raw);
	/* Free-running index of the first entry in a resized CQ's new ring; `last` is that of the RESIZE entry, or where
	 * it would be: a family with shared indices has none. NULL: a CQ keeps its ring. */
	uint32_t (*resized_cq_index)(uint32_t last, uint32_t entries);
	/*
	 * Doorbell records in host memory: their sizes in bytes, and the free-running indices in them, of which those of
	 * receive queues have `rq_index_bits`, those of CQs `ci_bits`.
	 */
	uint32_t qp_record_size, cq_record_size, srq_record_size;
	uint8_t rq_index_bits, ci_bits; /* without effect if `shared` */
	struct hca_shared_indices shared;
	uint16_t (*sq_record_pi)(const void *record); /* in basic blocks */
	bool sq_record_rules; /* a doorbell executes nothing that the record does not cover; else records are a spare */
	uint32_t (*rq_record_pi)(const void *record);
	uint32_t (*srq_record_pi)(const void *record);
	void (*decode_cq_record)(const void *record, struct hca_cq_record *out);
	/*
	 * Ring index of the WQE that follows in a shared receive queue, which is then a linked list that begins at index
	 * 0. NULL: WQEs follow each other in the ring.
	 */
	uint16_t (*srq_next)(const void *wqe);
	/* The register at `offset`, a multiple of 8 bytes, of a BAR, as its bytes appear on PCIe; `now`: device time. */
	void (*read_register)(const struct hca_config *cfg, hca_ps now, unsigned int bar, uint64_t offset,
			      uint8_t out[8]);
	/*
	 * Decodes an MMIO store to the UAR at `offset` inside a page. For a BlueFlame buffer: kind HCA_DB_BF, and the
	 * core collects the bytes. Called again with the collected bytes (`offset` is the first byte of the buffer,
	 * at least 16 bytes), it decodes the control segment: number is the QPN, value the index of the WQE's first
	 * slot. For other stores to a buffer these two are unused.
	 */
	void (*decode_doorbell)(uint32_t offset, const void *data, uint32_t size, struct hca_doorbell *db);
	/*
	 * Operations on device memory, a bit for each enum hca_dm_op. Behind the memory its BAR has a range of the same
	 * size for each, from 0 on, whether its bit is set or not.
	 */
	uint32_t dm_ops;
	/*
	 * As in rdma_rxe: a CQ that the driver arms, and a limit of an SRQ, report only what comes later, and errors of
	 * send queues are not solicited completions. Else what was so already is reported at once (IBTA 10.2.9.3 for
	 * the limit), and every error is solicited (IBTA 11.4.2.2).
	 */
	bool only_new_events;
	/*
	 * A reliable QP whose first packet of a SEND meets missing pages completes that receive WQE of its SRQ with
	 * REM_ABORT_ERR and PAGE_FAULT, and the provider posts it again. Else the WQE stays with the QP.
	 */
	bool srq_fault_completes;
};

#ifdef __cplusplus
}
#endif
#endif
