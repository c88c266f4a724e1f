/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface between the transport and the formats of a device family: a personality turns its WQEs into struct
 * hca_wr, and struct hca_cpl into its CQEs. Requester, responder and traces use only these two.
 */
#ifndef HCASIM_CORE_PERSONALITY_H
#define HCASIM_CORE_PERSONALITY_H

#include "core/hca.h"

#include <hcasim_hw.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hca_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

/* Operation and flag values are the generated HCASIM_WQE_OP_* and HCA_WR_*; statuses are
 * HCASIM_CQE_STATUS_* and HCASIM_VENDOR_ERR_*: the canonical numbering is the native one. */
#define HCA_WR_SIGNALED  (1u << 0)
#define HCA_WR_SOLICITED (1u << 1)
#define HCA_WR_FENCE     (1u << 2)
#define HCA_WR_INLINE    (1u << 3)
#define HCA_WR_IP_CSUM   (1u << 4)

/* One decoded work request. `sge` and `inline_data` point into the memory it was decoded into. */
struct hca_wr {
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
	} ud;
	struct {
		uint32_t mw_rkey, new_rkey, lkey, access;
		uint64_t addr, length;
		uint8_t type;
	} bind;
	struct {
		uint16_t mss, hdr_size;
		const uint8_t *hdr;
	} tso;
	struct {
		uint64_t length;
		uint8_t type, level;
	} flush;
	uint64_t length; /* payload bytes: 64-bit, so that a sum of 32-bit SGEs cannot wrap */
	uint32_t num_sge;
	struct hca_sge *sge;
	uint8_t *inline_data;
};

struct hca_rwr { /* one decoded receive WQE */
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

struct hca_cpl { /* one completion */
	uint32_t qpn;
	uint8_t op; /* HCASIM_CQE_OP_* */
	uint8_t wqe_op, num_bb, status, vendor_err;
	uint16_t wqe_index;
	uint32_t byte_count, imm, inv_rkey, src_qpn, srqn;
	uint16_t vlan, pkey_index;
	uint8_t smac[6], sl, path_bits;
	bool grh, csum_ok, with_imm, with_inv;
	bool tm_match, tm_data, tm_sync, tm_handle; /* as in the native CQE */
	uint32_t tm_priv;
	uint64_t tm_tag;
	bool solicited; /* counts as solicited for arming; not part of the CQE */
	hca_ps timestamp;
};

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

#define HCA_OWN_WQE_BB 2
#define HCA_WQE_MAX    1024 /* bytes: no personality has longer ones */

struct hca_personality {
	const char *name;
	uint32_t wqebb_size, cqe_size, eqe_size;
	/* Length in bytes of the WQE that starts at `head` (its first basic block), or 0: not a WQE. */
	uint32_t (*wqe_size)(const void *head);
	/*
	 * Decodes `len` bytes at `raw` into `wr`, and its SGEs into `sge` (space for `max_sge`). Returns 0 or a
	 * vendor error; *status is then the completion status. Needs the QP's type, number and the index at which the
	 * WQE was fetched.
	 */
	uint8_t (*decode_wqe)(const void *raw, uint32_t len, uint8_t qp_type, uint32_t qpn, uint16_t index,
			      struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge, uint8_t *status);
	uint8_t (*decode_rqe)(const void *raw, uint32_t len, uint16_t index, struct hca_rwr *wr,
			      struct hca_sge *sge, uint32_t max_sge);
	/* An operation on a tag list; NULL: the family has no tag matching. */
	uint8_t (*decode_tm_op)(const void *raw, uint16_t index, struct hca_tm_op *op);
	/*
	 * For rendezvous, which the adapter posts itself: an RDMA_READ, or a SEND with inline data, signaled. Returns
	 * its basic blocks; `raw` has room for HCA_OWN_WQE_BB.
	 */
	uint32_t (*encode_wqe)(const struct hca_wr *wr, uint32_t qpn, void *raw);
	/* `phase`: number of the turn of the ring, from 1. */
	void (*encode_cqe)(const struct hca_cpl *cpl, unsigned int phase, void *raw);
	void (*encode_eqe)(const struct hca_event *ev, unsigned int phase, void *raw);
	/*
	 * Decodes an MMIO store to the UAR at `offset` inside a page. For a BlueFlame buffer: kind HCA_DB_BF, and the
	 * core collects the bytes. Called again with the collected bytes (`offset` is the first byte of the buffer,
	 * at least 16 bytes), it decodes the control segment: number is the QPN, value the index of the WQE's first
	 * slot. For other stores to a buffer these two are unused.
	 */
	void (*decode_doorbell)(uint32_t offset, const void *data, uint32_t size, struct hca_doorbell *db);
};

#ifdef __cplusplus
}
#endif
#endif
