/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Two untimed adapters and a driver for them, for tests. Anything that must not fail aborts the test program. */
#ifndef HCASIM_CORE_TESTS_BED_H
#define HCASIM_CORE_TESTS_BED_H

#include <CUnit/Basic.h>

#include "core/core.h"
#include "core/untimed.h"
#include "tiny.h"

#define BED_PD         7
#define BED_PASID      3
#define BED_XRC_DOMAIN 77 /* of XRC_RECV QPs */
#define BED_EQ         256
#define BED_STEPS      50000000ull
#define BED_ALL                                                                                              \
	(HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_REMOTE_WRITE | HCASIM_ACCESS_REMOTE_READ |                \
	 HCASIM_ACCESS_REMOTE_ATOMIC)
#define MS 1000000000ull /* picoseconds */

struct bed_cq {
	struct bed *bed;
	unsigned int side;
	uint32_t cqn, entries, ci;
	struct tiny_cqe *ring;
	struct hcasim_cq_record *rec;
	struct bed_cq *next;
};

struct bed_qp {
	struct bed *bed;
	unsigned int side;
	uint8_t type;
	uint32_t qpn, sq_bbs, rq_wqes, rq_stride;
	uint8_t *sq, *rq;
	struct hcasim_sq_record *rec;
	uint16_t pi;
	uint32_t rq_pi;
	struct bed_cq *scq, *rcq;
	struct bed_qp *next;
};

struct bed {
	struct untimed *u;
	struct hca *hca[2];
	struct tiny_eqe *eq[2];
	uint32_t eqn[2], eq_ci[2];
	struct bed_cq *cqs;
	struct bed_qp *qps;
	/* Every frame, before its fate. */
	enum untimed_fate (*wire)(struct bed *bed, unsigned int from, struct hca_packet *pkt);
	bool (*dma)(struct bed *bed, unsigned int side, const struct hca_dma *dma);
	unsigned int frames, n, m; /* for the hooks of a test */
	uint64_t rand;
	unsigned int irqs[2];
	uint32_t srqn; /* of QPs made from now on at side 1, 0: none */
};

struct bed_path { /* what connect() sets; 0 takes the usual */
	uint8_t mtu, timeout, retry, rnr_retry, rnr_timer, rd_atomic, dest_rd_atomic;
	uint32_t access;
	uint32_t psn;
};

struct bed *bed_new(const struct hca_config *cfg, uint64_t seed);
void bed_free(struct bed *bed);
void bed_run(struct bed *bed);                     /* until idle; timers do not fire */
void bed_settle(struct bed *bed, hca_ps duration); /* lets time pass */
uint64_t bed_random(struct bed *bed);
/* Pages of their own, opened for DMA. */
void *bed_alloc(struct bed *bed, size_t len);
void bed_release(struct bed *bed, void *mem);

struct bed_cq *bed_cq(struct bed *bed, unsigned int side, uint32_t entries);
bool bed_poll(struct bed_cq *cq, struct tiny_cqe *cqe);
void bed_cq_sync(struct bed_cq *cq); /* tells the device what has been polled */
void bed_arm(struct bed_cq *cq, unsigned int sn, bool solicited);
/* How often `type` was told of `number` since the last call. */
unsigned int bed_events(struct bed *bed, unsigned int side, uint8_t type, uint32_t number);

struct bed_qp *bed_qp(struct bed *bed, unsigned int side, uint8_t type, struct bed_cq *scq,
		      struct bed_cq *rcq);
void bed_connect(struct bed_qp *a, struct bed_qp *b, const struct bed_path *path);
void bed_ud_up(struct bed_qp *qp, uint32_t qkey);
void bed_state(struct bed_qp *qp, uint8_t state);
uint8_t bed_query(struct bed_qp *qp);
uint32_t bed_mr(struct bed *bed, unsigned int side, void *mem, size_t len, uint32_t access);
struct hca_sge bed_sge(const void *mem, uint32_t len, uint32_t key);

/* Puts a WQE into the ring; rings only with bed_ring(). Inline: `data`, tmpl->num_sge bytes. */
uint16_t bed_put(struct bed_qp *qp, const struct tiny_wqe *tmpl, const struct hca_av *av, const void *data,
		 uint32_t num_sge);
void bed_ring(struct bed_qp *qp);
void bed_ring_at(struct bed_qp *qp, uint16_t pi);
void bed_send(struct bed_qp *qp, uint8_t op, uint32_t flags, struct hca_sge sge, uint64_t raddr,
	      uint32_t rkey);
void bed_recv(struct bed_qp *qp, const struct hca_sge *sge, uint32_t n);
/* One completion, with this status; the test fails otherwise. */
struct tiny_cqe bed_expect(struct bed_cq *cq, uint8_t status);
void bed_expect_none(struct bed_cq *cq);
void bed_fill(void *mem, size_t len, unsigned int seed);

/* An RC or UC pair with a buffer of `len` bytes and its key on each side. */
struct pair {
	struct bed *bed;
	struct bed_cq *scq[2], *rcq[2];
	struct bed_qp *qp[2];
	uint8_t *mem[2];
	uint32_t key[2], len;
};
void pair_new(struct pair *p, uint8_t type, const struct bed_path *path, const struct hca_config *cfg,
	      uint64_t seed, uint32_t len);
void pair_free(struct pair *p);

typedef void (*test_fn)(void);
struct test {
	const char *name;
	test_fn fn;
};
extern const struct test keys_tests[], packet_tests[], rc_tests[], error_tests[], datagram_tests[],
	srq_tests[], cq_tests[], doorbell_tests[], state_tests[], fault_tests[], fuzz_tests[], window_tests[],
	flush_tests[], raw_tests[], table_tests[], xrc_window_tests[];

#endif
