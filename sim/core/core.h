/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Inside the core: its objects, and what its files offer each other.
 *
 * Lifetime. A QP or CQ may be destroyed or reset while DMA, packets and timers of it are under way.
 * Whatever is under way holds a reference on the object and remembers its epoch; when it comes
 * back and the epoch has moved on, it only releases what it holds.
 *
 * Activity. An object that has work for a stage stands on that stage's list, and only then: every
 * function that changes an object ends with qp_update(), which puts it on its lists or takes it off.
 * So hca_stage_pending() only looks at list heads.
 */
#ifndef HCASIM_CORE_CORE_H
#define HCASIM_CORE_CORE_H

#include "core/wire/net.h"
#include "core/objects.h"
#include "core/memory/odp.h"

static inline hca_ps hca_now(struct hca *hca)
{
	return hca->dying ? 0 : hca->ops.now(hca->host);
}

static inline uint32_t psn_add(uint32_t a, uint32_t b)
{
	return (a + b) & HCASIM_PSN_MASK;
}

/* How far `a` lies after `b`, modulo 2^24. */
static inline uint32_t psn_sub(uint32_t a, uint32_t b)
{
	return (a - b) & HCASIM_PSN_MASK;
}

static inline uint32_t packets_of(uint64_t len, uint32_t mtu)
{
	return len ? (uint32_t)((len + mtu - 1) / mtu) : 1;
}

/* hca.c */
void hca_announce(struct hca *hca); /* every entry point ends with it: tells the host what became ready */

/* timer.c */
void timer_set(struct hca *hca, struct timer *t, hca_ps deadline);
void timer_cancel(struct hca *hca, struct timer *t);
void timer_run(struct hca *hca);
hca_ps timer_first(const struct hca *hca);

/* keys.c: 0, or a vendor error (the LKEY_* ones; rkey_error() maps them) */
int mr_table_init(struct mr_table *t, uint32_t max_mr, uint32_t max_mw);
void mr_table_free(struct mr_table *t);
struct mr *key_find(const struct hca *hca, uint32_t key);
/* NULL: there is no room for one more. */
struct mr *key_new(struct hca *hca, enum key_kind kind, uint32_t *key);
void key_drop(struct hca *hca, struct mr *mr);
/* As mr_check(), with the RKEY_* errors. */
uint8_t rkey_check(const struct hca *hca, const struct qp *qp, uint32_t pdn, uint32_t key, uint64_t addr,
		   uint64_t len, uint32_t access, struct piece *out);
/* Key and rights; whatever it covers. */
uint8_t rkey_check_whole(const struct hca *hca, const struct qp *qp, uint32_t pdn, uint32_t key,
			 uint32_t access);
uint8_t mr_check(const struct hca *hca, uint32_t key, uint32_t pdn, uint64_t addr, uint64_t len,
		 uint32_t access, struct piece *out);
uint8_t rkey_error(uint8_t lkey_error);
uint8_t sge_check_all(const struct hca *hca, uint32_t pdn, const struct hca_sge *sge, uint32_t n,
		      uint32_t access);
uint8_t sge_slice(const struct hca *hca, uint32_t pdn, const struct hca_sge *sge, uint32_t n, uint64_t off,
		  uint32_t len, uint32_t access, struct piece *out, uint32_t *npieces);

/* window.c: 0, or a vendor error */
uint8_t window_execute(struct hca *hca, struct qp *qp, const struct hca_wr *wr); /* BIND_MW, LOCAL_INV */
/* A bound type 2 window: requests to this QP may use it, if the protection domain is right. */
bool window_is_of(const struct mr *mw, const struct qp *qp);
uint8_t window_check_inv(const struct hca *hca, const struct qp *qp, uint32_t rkey);
void window_invalidate(struct hca *hca, uint32_t rkey); /* that window_check_inv() allows */
void window_qp_gone(struct hca *hca, struct qp *qp);

/* dma.c */
struct dma_ctx *dma_get(struct hca *hca, struct qp *qp, enum hca_dma_class class_, bool write);
void dma_put(struct hca *hca, struct dma_ctx *c);
void dma_go(struct hca *hca, struct dma_ctx *c);
/* One transfer to or from one place. */
void dma_one(struct hca *hca, struct dma_ctx *c, uint32_t pasid, uint64_t addr, void *buf, uint32_t len);
/* As many transfers as the pieces have runs of one address space; returns how many. The last one takes
 * `pkt`, if there is one. Without memory it makes none and returns UINT32_MAX. */
uint32_t dma_pieces(struct hca *hca, struct qp *qp, bool write, const struct piece *piece, uint32_t n,
		    void *buf, void (*fn)(struct hca *, struct dma_ctx *, bool), void *any,
		    struct hca_packet *pkt);

/* event.c */
void event_raise(struct hca *hca, struct event_source *src, unsigned int type);
void event_cancel(struct hca *hca, struct event_source *src);
bool event_pending(const struct hca *hca, struct hca_work *w);
void event_step(struct hca *hca);

/* cq.c */
struct cq *cq_find(const struct hca *hca, uint32_t cqn);
void cq_put(struct hca *hca, struct cq *cq);
void cq_doorbell(struct hca *hca, const struct hca_doorbell *db, uint32_t page);
void cq_armed(struct hca *hca, struct cq *cq, uint8_t sn, bool solicited, uint32_t ci);
void cq_read_record(struct hca *hca, struct cq *cq);
void cq_free_all(struct hca *hca);
/* True: there is room. False: the CQ waits for its record, or is in error. */
bool cq_has_room(struct hca *hca, struct cq *cq);
void cq_write(struct hca *hca, struct cq *cq, const struct hca_cpl *cpl);
void cq_wake(struct hca *hca, struct cq *cq); /* its QPs look again whether they can complete */

/* complete.c */
bool complete_pending(const struct hca *hca, struct hca_work *w);
void complete_step(struct hca *hca);
bool qp_can_complete(const struct qp *qp);
struct cq *qp_next_recv_cq(const struct qp *qp);
void sq_advance(struct hca *hca, struct qp *qp);

/* doorbell.c */
bool doorbell_pending(const struct hca *hca, struct hca_work *w);
void doorbell_step(struct hca *hca);
void doorbell_forget(struct hca *hca, struct qp *qp);
void doorbell_free(struct hca *hca);

/* fetch.c, decode.c */
bool fetch_pending(const struct hca *hca, struct hca_work *w);
void fetch_step(struct hca *hca);
bool qp_can_fetch(const struct qp *qp);
struct fetch *fetch_get(struct hca *hca);
void fetch_put(struct hca *hca, struct fetch *f);
void fetch_queue(struct hca *hca, struct fetch *f);
bool decode_pending(const struct hca *hca, struct hca_work *w);
void decode_step(struct hca *hca);
bool op_reads(uint8_t op);    /* READ or atomic: has a result */
bool op_answered(uint8_t op); /* has a response of its own: these, and FLUSH and ATOMIC WRITE */
bool op_local(uint8_t op);    /* sends nothing */
struct wqe *wqe_get(struct hca *hca, uint32_t raw_len);
void wqe_put(struct hca *hca, struct wqe *w);

/* What stands before IP in a QP's messages. */
static inline enum net_link wqe_link(const struct qp *qp)
{
	return qp->c.type == HCASIM_QPT_RAW_PACKET ? NET_ETHERNET : NET_DATAGRAM;
}

/*
 * The first from here on that still has something to be sent or answered. sq.cur and sq.ack stand on such ones
 * only, or before what was never started, so that sq.cur is never behind sq.ack: in between lie local operations,
 * which are acknowledged as soon as they are executed.
 */
static inline struct wqe *wqe_open(struct wqe *w)
{
	while (w && w->acked)
		w = w->next;
	return w;
}

/* packetise.c */
bool packetise_pending(const struct hca *hca, struct hca_work *w);
void packetise_step(struct hca *hca);
bool qp_can_send(const struct qp *qp);
void sq_fail(struct hca *hca, struct qp *qp, struct wqe *w, uint8_t status, uint8_t vendor);

/* gather.c, tx.c */
bool txq_init(struct txq *q, uint32_t depth);
bool txq_full(const struct txq *q);
void txq_push(struct txq *q, struct txpkt *t);
struct txpkt *txq_head(const struct txq *q);
struct txpkt *txq_pop(struct txq *q);
struct txpkt *txpkt_get(struct hca *hca, struct qp *qp, enum tx_kind kind);
void txpkt_put(struct hca *hca, struct txpkt *t);
bool gather_pending(const struct hca *hca, struct hca_work *w);
void gather_step(struct hca *hca);
bool tx_pending(const struct hca *hca, struct hca_work *w);
void tx_step(struct hca *hca);

/* crc.c: zlib's crc32() */
uint32_t crc_update(uint32_t crc, const void *data, uint32_t len);

/* icrc.c: `frame` from the Ethernet header to the end of the padding */
uint32_t icrc_seed(void);
uint32_t icrc_frame(uint32_t seed, const uint8_t *frame, uint32_t len);

/* packet.c */
struct pkt_spec { /* what a frame to be built carries */
	uint8_t opcode, port;
	const struct hca_av *av;
	uint16_t sport;
	uint32_t dqpn, psn, qkey, sqpn, srqn;
	bool se, ackreq;
	uint64_t va, swap_add, compare, orig;
	uint32_t rkey, dmalen, imm, inv_rkey;
	uint32_t plt, sel; /* FLUSH */
	uint32_t aeth_kind, aeth_value, msn;
	uint32_t payload_len;
};
/* NULL: no memory, or the address vector names no GID. Payload and ICRC are not filled in. */
struct hca_packet *packet_build(struct hca *hca, const struct pkt_spec *s, uint32_t *payload_off);
bool packet_parse(struct hca *hca, uint8_t port, const struct hca_packet *pkt, struct pkt_info *info);
uint16_t packet_sport(uint32_t flow_label, uint32_t a, uint32_t b);
bool gid_is_v4(const uint8_t gid[16]);

/* flow.c */
/* True: at least one QP got the frame. */
bool flow_steer(struct hca *hca, struct rxwork *w, bool roce);
bool flow_is_roce(const struct hca_packet *pkt);
bool mcast_deliver(struct hca *hca, struct rxwork *w);
void flow_forget(struct hca *hca, const struct qp *qp);

/* rx.c */
/* A copy of the frame goes to this QP: as it is, or as the packet that it was parsed to be. */
bool rx_copy_to(struct hca *hca, struct qp *qp, const struct rxwork *w, bool raw);
bool rx_pending(const struct hca *hca, struct hca_work *w);
void rx_step(struct hca *hca);
bool port_has_gid(const struct port *port, const uint8_t gid[16]);
bool qp_can_rx(const struct qp *qp);
void rx_flush_parked(struct hca *hca, struct qp *qp);
void rx_free_all(struct hca *hca);

/* gsi.c */
bool gsi_rx(struct hca *hca, const struct rxwork *w);
void gsi_free(struct hca *hca);

/* responder.c: false: the packet has to wait (for a receive WQE, or an atomic) */
bool responder_rx(struct hca *hca, struct qp *qp, struct rxwork *w);
/* Landed or failed writes of payload. */
void rop_written(struct hca *hca, struct dma_ctx *c, bool stale);
/* Takes the packet's place in the sequence; issues the writes of its payload. False: no memory. */
bool responder_accept(struct hca *hca, struct qp *qp, struct rxwork *w, struct rop *r,
		      const struct piece *piece, uint32_t n, void *buf);

/* responder_dup.c */
void responder_duplicate(struct hca *hca, struct qp *qp, const struct pkt_info *info);

/* rop.c: what responders owe */
struct rop *rop_get(struct hca *hca);
void rop_put(struct hca *hca, struct rop *r);
struct rop *rop_recv(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint32_t bytes);
/* What was accepted completes its receive WQE in error all the same. */
void rop_recv_failed(struct rop *r, uint8_t status, uint8_t vendor);
void rop_push(struct rop_fifo *f, struct rop *r);
struct rop *rop_pop(struct rop_fifo *f);
void rop_uncount(struct qp *qp, const struct rop *r);
void rop_fifo_init(struct rop_fifo *f);
void rop_accept(struct hca *hca, struct qp *qp, struct rop *r);
void rop_land(struct hca *hca, struct qp *qp);
void rop_drop_reads(struct hca *hca, struct qp *qp, uint32_t from_psn);
void resp_nak(struct hca *hca, struct qp *qp, uint32_t psn, uint8_t kind, uint8_t value);
void resp_ack(struct hca *hca, struct qp *qp);
/* `nak`: HCASIM_NAK_*. A receive WQE that is taken completes with the status; without one, `event` tells. */
void resp_fatal(struct hca *hca, struct qp *qp, uint32_t psn, uint8_t nak, uint8_t status, uint8_t vendor,
		unsigned int event);
/* The responses of READs from `psn` on do not leave, an RNR NAK does. */
void resp_not_ready_now(struct hca *hca, struct qp *qp, uint32_t psn);
/* As resp_fatal(), ahead of everything that is still landing. */
void resp_fatal_now(struct hca *hca, struct qp *qp, uint32_t psn, uint8_t nak, unsigned int event);
void resp_clear(struct hca *hca, struct qp *qp);

/* respond.c */
bool respond_pending(const struct hca *hca, struct hca_work *w);
void respond_step(struct hca *hca);
bool qp_can_respond(const struct qp *qp);
void respond_faulted(struct hca *hca, struct qp *qp, struct txpkt *t);

/* atomic.c */
void atomic_start(struct hca *hca, struct qp *qp, const struct pkt_info *info, struct rop *r);
void atomic_next(struct hca *hca);
void atomic_forget(struct hca *hca, struct qp *qp);
const struct atomic_result *atomic_find(const struct hca *hca, const struct qp *qp, uint32_t psn);

/* rq.c */
enum rq_answer { RQ_READY, RQ_WAIT, RQ_EMPTY, RQ_ERROR /* the shared queue cannot be read */ };
enum rq_answer rq_take(struct hca *hca, struct qp *qp, struct srq *srq);
void rq_release(struct hca *hca, struct qp *qp); /* the active WQE has ended */
void rq_decode(struct hca *hca, struct qp *qp, const uint8_t *raw, uint32_t stride, uint32_t index);
void rq_prefetch(struct hca *hca, struct qp *qp);
void rq_clear(struct hca *hca, struct qp *qp);
void rq_read_record(struct hca *hca, struct qp *qp);
void rq_poll_fire(struct hca *hca, struct timer *t);
void rq_poll_soon(struct hca *hca, struct qp *qp);

/* srq.c */
struct srq *srq_find(const struct hca *hca, uint32_t srqn);
void srq_put(struct hca *hca, struct srq *srq);
enum rq_answer srq_take(struct hca *hca, struct srq *srq, struct qp *qp);
void srq_doorbell(struct hca *hca, const struct hca_doorbell *db, uint32_t page);
void srq_last_wqe(struct hca *hca, struct qp *qp);
void srq_free_all(struct hca *hca);
void srq_cq_failed(struct hca *hca, const struct cq *cq); /* XRC: those that complete there */

/* requester_ack.c */
void requester_rx(struct hca *hca, struct qp *qp, struct rxwork *w);
void requester_timer(struct hca *hca, struct timer *t);
void sq_skip_acked(struct hca *hca, struct qp *qp);
void sq_rewind(struct hca *hca, struct qp *qp);
void sq_timer_update(struct hca *hca, struct qp *qp);
void sq_done_reading(struct qp *qp, struct wqe *w);

/* qp.c, qp_state.c */
struct qp *qp_find(const struct hca *hca, uint32_t qpn);
void qp_get(struct qp *qp);
void qp_put(struct hca *hca, struct qp *qp);
void qp_update(struct hca *hca, struct qp *qp);
void qp_error(struct hca *hca, struct qp *qp);
void qp_free(struct hca *hca, struct qp *qp);
void qp_clear(struct hca *hca, struct qp *qp);

/* XRC is RC with the responder's receive queue named in each packet (IBTA annex A14). */
static inline bool qp_is_xrc(const struct qp *qp)
{
	return qp->c.type == HCASIM_QPT_XRC_SEND || qp->c.type == HCASIM_QPT_XRC_RECV;
}

static inline bool qp_reliable(const struct qp *qp)
{
	return qp->c.type == HCASIM_QPT_RC || qp_is_xrc(qp);
}

static inline bool qp_flushing(const struct qp *qp)
{
	return qp->a.state == HCASIM_QPS_ERR || qp->a.state == HCASIM_QPS_SQE;
}

#endif
