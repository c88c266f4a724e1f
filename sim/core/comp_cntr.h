/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion counters (ibv_create_comp_cntr(3)): how many operations of some QPs have completed, or how many bytes, and
 * how many have failed. A request counts whether it is signaled or not.
 */
#ifndef HCASIM_CORE_COMP_CNTR_H
#define HCASIM_CORE_COMP_CNTR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hca;

#define HCA_COMP_CNTR_MAX 1024u

/* Bit numbers of enum ib_uverbs_qp_attach_comp_cntr_op. The peer's operations count when they succeed, only. */
enum hca_comp_op {
	HCA_COMP_SEND,
	HCA_COMP_RECV,
	HCA_COMP_READ,
	HCA_COMP_REMOTE_READ,
	HCA_COMP_WRITE,
	HCA_COMP_REMOTE_WRITE,
	HCA_COMP_OPS
};

enum hca_comp_type { HCA_COMP_TYPE_WRS, HCA_COMP_TYPE_BYTES }; /* as enum ibv_comp_cntr_type */

/* As enum ib_uverbs_comp_cntr_entry. */
enum hca_comp_entry { HCA_COMP_ENTRY_COMP, HCA_COMP_ENTRY_ERR, HCA_COMP_ENTRIES };

/* BYTES: those of the completed operations are counted; a failed operation counts 1 nevertheless. -ENOMEM */
int hca_comp_cntr_create(struct hca *hca, enum hca_comp_type type, uint32_t *id);
int hca_comp_cntr_destroy(struct hca *hca, uint32_t id); /* -EBUSY: a QP has it */
int hca_comp_cntr_set(struct hca *hca, uint32_t id, enum hca_comp_entry entry, uint64_t value);
int hca_comp_cntr_add(struct hca *hca, uint32_t id, enum hca_comp_entry entry, uint64_t amount);
int hca_comp_cntr_read(const struct hca *hca, uint32_t id, enum hca_comp_entry entry, uint64_t *value);
/* `ops`: one bit for each enum hca_comp_op. Until the QP is destroyed. -EBUSY: one of them has a counter; -ENOMEM */
int hca_qp_comp_cntr(struct hca *hca, uint32_t qpn, uint32_t id, uint32_t ops);

#ifdef __cplusplus
}
#endif
#endif
