/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A requester QP and its peer, connected, with the memory that work requests of a cell use. Cells of
 * the same kind share a link until a cell fails on it.
 */
#ifndef CONFORM_LINK_H
#define CONFORM_LINK_H

#include "cell/cell.h"
#include "link/dut.h"
#include "link/log.h"
#include "link/memory.h"

#define LINK_SQ_DEPTH   16
#define LINK_RECV_SLOTS 16
#define LINK_RECV_LEN   4096
#define LINK_GRH_LEN    40
#define LINK_QKEY       0x11111111
#define LINK_PSN        0xfffff0 /* first PSN: wraps within a group of cells */

/* Objects and rights that only some operations need and not every device has. */
enum link_need {
	NEED_OWN_WINDOW = 1 << 0,  /* BIND_MW, LOCAL_INV */
	NEED_PEER_WINDOW = 1 << 1, /* SEND_WITH_INV */
	NEED_WINDOW = NEED_OWN_WINDOW | NEED_PEER_WINDOW,
	NEED_BOUND = 1 << 2, /* the window must be bound, so that it can be invalidated */
	NEED_FLUSH = 1 << 3,
	NEED_TSO = 1 << 4,
};

enum link_memory {
	LINK_LOCAL = 1 << 0,
	LINK_TARGET = 1 << 1,
	LINK_RECV = 1 << 2,
};

/* Differences from the links of the matrix, for suites. All zero: none. */
struct link_opts {
	uint32_t cq_depth; /* 0: CQ_DEPTH */
	uint32_t sq_depth; /* 0: LINK_SQ_DEPTH */
	bool sq_sig_all;   /* of the QP under test */
	unsigned int
		short_of; /* states before RTS at which the QP under test stops: 1 RTR, 2 INIT, 3 RESET */
	const struct ibv_qp_attr *attr; /* timers and retry counts of both QPs; NULL: the defaults */
	struct ibv_pd *pd;              /* of the QP under test: a parent domain */
	struct ibv_srq *srq;            /* the peer's, shared by several links; destroyed by the caller */
	struct ibv_cq *cq;              /* of the QP under test; destroyed by the caller, like all of these */
	struct ibv_cq *recv_cq;         /* of its receives; NULL: the same */
	struct ibv_cq *peer_cq;         /* of its peer */
	struct ibv_srq *own_srq;        /* of its receives */
	uint32_t receives;              /* of the QP under test, and sends of its peer; 0: 1 */
	bool peer_no_sends;             /* the peer has no send queue */
	bool cq_ex;                     /* both CQs are extended: polled with ibv_start_poll() */
	bool timestamps;                /* cq_ex: each completion has a timestamp */
	bool windows;                   /* the target may be covered by memory windows */
	unsigned int on_demand;     /* regions of on-demand paging: 1 the requester's, 2 the responder's */
	unsigned int device_memory; /* enum link_memory: which is device memory */
	uint64_t dm_offset;         /* offset of the region in it */
	uint32_t dm_piece;          /* most bytes of one copy to or from it; 0: no limit */
	bool mixed;                 /* every second SGE of the requester is of host memory */
	uint32_t psn;               /* first PSN of both QPs; 0: LINK_PSN */
	uint32_t tso_header;        /* max_tso_header; 0: TSO_HEADER */
	enum ibv_mtu mtu;           /* path MTU, if both ports have it; 0: that of the DUT */
	int rd_atomic; /* outstanding READs and atomics of both QPs; 0: a few, -1: as many as the devices can */
};

struct link {
	const struct dut *dut;
	struct link_opts opts;
	/* properties of the cells that can use this link */
	enum api api;
	bool usual;    /* as for cells of the matrix: no opts */
	bool extended; /* the QP supports ibv_wr_*, too */
	enum ibv_qp_type qpt;
	uint64_t ask;
	uint32_t ask_inline, ask_sge;
	unsigned int needs; /* enum link_need */

	const char *step;                 /* call that failed in link_create() */
	struct ibv_comp_channel *channel; /* of the peer's CQ */
	struct ibv_cq *cq, *peer_cq;
	struct ibv_qp *qp, *peer;
	struct ibv_qp_ex *qpx; /* extended only */
	struct ibv_qp_cap cap; /* as granted, of qp */
	struct ibv_ah *ah;     /* UD: of the peer; others: for a setter that is wrong on this type */
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq; /* receive queue of the peer */
	uint32_t srqn;
	struct ibv_flow *flow; /* RAW_PACKET */
	struct ibv_mw *mw;     /* on the side whose window is bound or invalidated */
	struct link_back { /* XRC_SEND with a window: the connection from the responder to the requester */
		struct ibv_qp *qp, *peer;
		struct ibv_xrcd *xrcd;
		struct ibv_srq *srq;
		uint32_t srqn;
	} back;
	struct arena local, target, recv;
	struct arena second; /* opts.mixed */

	uint8_t *slot[LINK_RECV_SLOTS]; /* receive buffers, in the order of posting */
	uint32_t loose
		[LINK_RECV_SLOTS]; /* leading bytes of a slot whose contents are undefined: GRH, segment headers */
	unsigned int next_post, next_use; /* free-running */
};

/* 0, or the errno of the call that link->step names. The link can be destroyed in both cases. */
int link_create(struct link *l, const struct dut *dut, const struct cell *cell, struct log *log);
int link_create_opts(struct link *l, const struct dut *dut, const struct cell *cell,
		     const struct link_opts *opts, struct log *log);
void link_destroy(struct link *l);
/* Logs the calls that create such a link, for a cell that uses an existing one. */
void link_log(const struct link *l, struct log *log);
/*
 * In two steps, for a caller that creates the QP: the CQs; and, once l->qp is set, everything else.
 * The caller has set dut, api, extended, qpt, ask_sge and needs.
 */
int link_begin(struct link *l);
int link_finish(struct link *l, struct log *log);
bool link_fits(const struct link *l, const struct cell *cell);

/* Bytes before the message in a receive buffer. */
static inline uint32_t link_grh(const struct link *l)
{
	return l->qpt == IBV_QPT_UD ? LINK_GRH_LEN : 0;
}

/* Whether requests on this QP type can use a window. */
static inline bool link_has_windows(const struct link *l)
{
	return l->qpt == IBV_QPT_RC || l->qpt == IBV_QPT_UC || l->qpt == IBV_QPT_XRC_SEND;
}

/* The memory of a requester's SGE, by its index in the list. */
static inline struct arena *link_local(struct link *l, unsigned int sge)
{
	return l->opts.mixed && sge & 1 ? &l->second : &l->local;
}

/* The QP setter that a SEND on this link needs. */
static inline enum qp_setter link_setter(const struct link *l)
{
	return l->qpt == IBV_QPT_UD         ? QPSET_UD_ADDR
	       : l->qpt == IBV_QPT_XRC_SEND ? QPSET_XRC_SRQN
					    : QPSET_NONE;
}

/* Copies what was written here to the link's memory on both sides. To be called before a request is posted. */
void link_push(struct link *l);
/* Copies what the device has written to both sides' memory. To be called before it is read here. */
void link_fetch(struct link *l);
/* Fills every free receive slot with guard bytes and posts it. 0 or an errno. */
int link_fill_recv(struct link *l);
/* Posts one receive to the peer's SRQ or receive queue. */
int link_post_recv(struct link *l, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
uint64_t link_recv_wr_id(unsigned int index);

#endif
