/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tag matching (rdma-core, Documentation/tag_matching.md): the tag list of a shared receive queue, the operations of
 * software on it, and the rendezvous that follow from matches.
 */
#ifndef HCASIM_CORE_QUEUES_TAGS_H
#define HCASIM_CORE_QUEUES_TAGS_H

#include "core/queues/queues.h"

#define TAG_OPS_AHEAD 2  /* operations read at once: as many as struct dma_ctx has space for */
#define RNDV_WQES     16 /* in the adapter's own send queue of a QP */
#define RNDV_BBS      (RNDV_WQES * HCA_OWN_WQE_BB)

struct tag_entry {        /* a tagged buffer */
	struct node node; /* on the list; in no list: free */
	uint16_t handle;
	bool enabled; /* false: added while software and adapter disagreed about unexpected messages */
	uint64_t tag, mask, length;
	uint32_t num_sge;
	struct hca_sge sge[HCASIM_TM_MAX_SGE];
};

struct tag_list {
	struct srq *srq; /* whose it is */
	uint32_t size;
	struct tag_entry *entry;
	struct node list;    /* in the order in which they were added */
	uint16_t hw_count;   /* unexpected messages */
	uint16_t sw_count;   /* of these, handled by software, as far as it has said */
	struct hca_ring ops; /* operations */
	uint16_t pi, ci, fetched;
	uint16_t base; /* index of slot[0] */
	bool fetching;
	uint8_t slot[TAG_OPS_AHEAD][HCA_TM_OP_MAX];
	struct node on_cpl; /* hca->cpl_srqs */
};

/* A matched rendezvous: its data is read with an RDMA READ, then the peer gets a message FIN. */
struct rndv_req {
	struct rndv_req *next;
	struct srq *srq; /* a reference */
	struct hca_cpl cpl;
	struct {
		struct hcasim_tmh tmh;
		struct hcasim_rvh rvh;
	} hdr; /* as received */
	uint32_t num_sge;
	struct hca_sge sge[HCASIM_TM_MAX_SGE];
};

/* The adapter's own send queue of a QP without one. */
struct rendezvous {
	struct rndv_req *waiting, **tail;
	uint32_t bb; /* bytes of a basic block */
	uint16_t pi;
	uint32_t out;                   /* WQEs not completed */
	struct rndv_req *req[RNDV_BBS]; /* at the first block of their WQE */
	uint8_t ring[];                 /* RNDV_BBS basic blocks */
};

/* Its last user is done. */
static inline void rndv_put(struct hca *hca, struct rndv_req *q)
{
	srq_put(hca, q->srq);
	free(q);
}

/* tags.c */
/* NULL: no memory. */
struct tag_list *tags_new(struct srq *srq, uint32_t size, const struct hca_ring *ops);
void tags_free(struct tag_list *t);
bool tags_agree(const struct tag_list *t); /* software has handled all unexpected messages */
/* Returns the completion's status; *vendor says more. */
uint8_t tags_execute(struct tag_list *t, const struct hca_tm_op *op, uint8_t *vendor);
/* Takes the first entry that matches off the list. NULL: the message is unexpected. */
struct tag_entry *tags_match(struct tag_list *t, uint64_t tag);
/* Counts an unexpected message. True: software should say how many it has handled. */
bool tags_unexpected(struct tag_list *t);

/* tag_ops.c */
void tag_ops_doorbell(struct hca *hca, const struct hca_doorbell *db, uint32_t page);
/* The SRQ is on the list of COMPLETE if and only if it has an operation, and its CQ can be written. */
static inline void tag_ops_update(struct hca *hca, struct srq *srq)
{
	struct tag_list *t = srq->tags;

	if (t)
		list_set(&hca->cpl_srqs, &t->on_cpl,
			 t->fetched != t->ci && !srq->dead && !srq->error && !srq->cq->stalled);
}
void tag_ops_step(struct hca *hca, struct srq *srq); /* executes one operation; the CQ has room */

#endif
