/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory as named by WQEs and packets, and transfers to and from it. */
#ifndef HCASIM_CORE_MEMORY_MEMORY_H
#define HCASIM_CORE_MEMORY_MEMORY_H

#include "core/base/base.h"

/* keys.c: 0, or a vendor error (the LKEY_* ones; rkey_error() maps them) */
int mr_table_init(struct mr_table *t, uint32_t max_mr, uint32_t max_mw);
void mr_table_free(struct mr_table *t);
struct mr *key_find(const struct hca *hca, uint32_t key);
/* True: one more key can be allocated. */
struct mr *key_new(struct hca *hca, enum key_kind kind, uint32_t *key);
void key_drop(struct hca *hca, struct mr *mr);
/* Its protection entry is another one now: see hca_ops.changed. */
void key_changed(struct hca *hca, const struct mr *mr);
/* As mr_check(), with the RKEY_* errors. */
uint8_t rkey_check(const struct hca *hca, const struct qp *qp, uint32_t pdn, uint32_t key, uint64_t addr,
		   uint64_t len, uint32_t access, struct piece *out);
/* Checks key and rights, but no range. */
uint8_t rkey_check_whole(const struct hca *hca, const struct qp *qp, uint32_t pdn, uint32_t key,
			 uint32_t access);
uint8_t mr_check(const struct hca *hca, uint32_t key, uint32_t pdn, uint64_t addr, uint64_t len,
		 uint32_t access, struct piece *out);
uint8_t rkey_error(uint8_t lkey_error);
/* Of mr_check() the parts: the key that an SGE may have, what its own entry says, and the memory of a region. */
struct mr *key_for_sge(const struct hca *hca, uint32_t key);
uint8_t key_check_self(const struct mr *mr, uint32_t pdn, uint64_t addr, uint64_t len, uint32_t access);
struct piece key_piece(const struct hca *hca, const struct mr *mr, uint64_t addr, uint64_t len);
uint8_t sge_check_all(const struct hca *hca, uint32_t pdn, const struct hca_sge *sge, uint32_t n,
		      uint32_t access);
uint8_t sge_slice(const struct hca *hca, uint32_t pdn, const struct hca_sge *sge, uint32_t n, uint64_t off,
		  uint32_t len, uint32_t access, struct piece *out, uint32_t *npieces);
/* A bound type 2 window: requests to this QP may use it, if the protection domain matches. */
bool window_is_of(const struct mr *mw, const struct qp *qp);

/* window.c: 0, or a vendor error */
uint8_t window_execute(struct hca *hca, struct qp *qp, const struct hca_wr *wr); /* BIND_MW, LOCAL_INV */
uint8_t window_check_inv(const struct hca *hca, const struct qp *qp, uint32_t rkey, bool by_peer);
void window_invalidate(struct hca *hca, uint32_t rkey); /* the caller has called window_check_inv() */
void window_qp_gone(struct hca *hca, struct qp *qp);

/*
 * indirect.c: keys that consist of ranges of other keys. A check of such a key gives one piece, whose address space is
 * HCA_PASID_KEY; key_expand() turns it into those of the regions behind it.
 */
uint8_t indirect_execute(struct hca *hca, const struct qp *qp, const struct hca_wr *wr); /* BIND_MW */
void indirect_unbind(struct hca *hca, struct mr *mr);
void indirect_free(struct mr *mr);
/* A walk over the ranges of regions behind a range of a key. It ends with the first error. */
struct key_walk {
	const struct hca *hca;
	uint32_t pdn, access; /* checked for each of them */
	bool each; /* each range for itself; else those of complete repetitions as one, with what lies between */
	uint8_t (*range)(struct key_walk *w, const struct mr *region, uint64_t addr, uint64_t len);
	void *any;
};
uint8_t key_walk(struct key_walk *w, uint32_t key, uint64_t addr, uint64_t len);
/* The parts of an indirect key, whose own range, rights and domain have been checked: 0, or a vendor error. */
uint8_t indirect_check(const struct hca *hca, const struct mr *mr, uint64_t addr, uint64_t len,
		       uint32_t access);
/* Is one of these of an indirect key? */
bool key_indirect(const struct piece *piece, uint32_t n);
/* The same with their memory, malloc'ed: 0, or a vendor error: no memory, or a key has changed since it was checked. */
uint8_t key_expand(const struct hca *hca, const struct piece *piece, uint32_t n, struct piece **out,
		   uint32_t *nout);
/* For accesses that cannot be divided. */
uint8_t key_expand_one(const struct hca *hca, struct piece *piece);

/* dm.c: device memory. Both take any range: bytes outside are ignored, or read as zero. */
void dm_write(struct hca *hca, uint64_t offset, const void *data, uint32_t size);
void dm_read(const struct hca *hca, uint64_t offset, void *data, uint32_t size);
/* As a processor accesses the BAR: with the operations behind the memory. */
void dm_store(struct hca *hca, uint64_t offset, const void *data, uint32_t size);
void dm_load(struct hca *hca, uint64_t offset, void *data, uint32_t size);
/* Executes all pieces of a transfer whose address space is HCA_PASID_DEVICE. */
void dm_move(struct hca *hca, struct hca_dma *dma);

/* dma.c */
struct dma_ctx *dma_get(struct hca *hca, struct qp *qp, enum hca_dma_class class_, bool write);
void dma_put(struct hca *hca, struct dma_ctx *c);
void dma_go(struct hca *hca, struct dma_ctx *c);
/* A transfer to or from a single piece. */
void dma_one(struct hca *hca, struct dma_ctx *c, uint32_t pasid, uint64_t addr, void *buf, uint32_t len);
/*
 * One transfer for each run of pieces with the same address space and hints; returns how many. `pkt`, if not NULL, is
 * freed with the transfer that completes last. Without memory it makes none and returns UINT32_MAX.
 */
uint32_t dma_pieces(struct hca *hca, struct qp *qp, bool write, const struct piece *piece, uint32_t n,
		    void *buf, void (*fn)(struct hca *, struct dma_ctx *, bool), void *any,
		    struct hca_packet *pkt);

#endif
