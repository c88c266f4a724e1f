/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A device family of its own, for tests of the core alone: formats as plain as can be, in host byte
 * order. (The native one lies beyond this folder's border.)
 */
#ifndef HCASIM_CORE_TESTS_TINY_H
#define HCASIM_CORE_TESTS_TINY_H

#include "core/personality.h"

#define TINY_BB 64

/*
 * BIND_MW: remote_addr is the address, rkey the window's, imm the new one, inv_rkey the region's lkey, ud_qpn
 * the rights, ud_qkey the type, compare the length. FLUSH: compare the length, ud_qpn type, ud_qkey level.
 */
struct tiny_wqe { /* one basic block; then struct hca_av on UD; then SGEs or inline bytes */
	uint16_t index;
	uint8_t op;
	uint8_t units; /* of 16 bytes, all of it */
	uint32_t qpn;
	uint32_t flags;
	uint32_t imm;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t num_sge; /* inline: bytes */
	uint64_t swap_add, compare;
	uint32_t ud_qpn, ud_qkey;
	uint32_t magic;
	uint32_t inv_rkey; /* XRC_SEND: SRQ number, but for SEND_INV, which has it in ud_qpn */
};
_Static_assert(sizeof(struct tiny_wqe) == TINY_BB, "one basic block");
#define TINY_MAGIC 0x7171c0deu

struct tiny_rqe {
	uint16_t index;
	uint16_t num_sge;
	uint16_t tag;
	uint16_t reserved[5];
	struct hca_sge sge[];
};

struct tiny_cqe { /* 64 bytes */
	uint32_t qpn, byte_count, imm, src_qpn;
	uint64_t timestamp;
	uint16_t wqe_index;
	uint8_t op, wqe_op, num_bb, status, vendor_err, flags;
	uint8_t pad[3];
	uint32_t srqn;
	uint8_t pad2[23];
	uint8_t phase; /* last */
};
_Static_assert(sizeof(struct tiny_cqe) == 64, "a CQE");
#define TINY_CQE_GRH  1
#define TINY_CQE_IMM  2
#define TINY_CQE_INV  4
#define TINY_CQE_CSUM 128

struct tiny_eqe {
	uint32_t number;
	uint8_t type, port;
	uint8_t pad[25];
	uint8_t phase;
};
_Static_assert(sizeof(struct tiny_eqe) == 32, "an EQE");

extern const struct hca_personality tiny_personality;

#endif
