/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two connected queue pairs of the real provider, whose rings and user access page the test writes itself:
 * the provider builds a correct work request without notifying the device, the test makes it invalid, then
 * rings the doorbell.
 */
#ifndef HCASIM_TESTS_HOSTILE_FIXTURE_H
#define HCASIM_TESTS_HOSTILE_FIXTURE_H

#include <CUnit/Basic.h>

#include "hcasim.h" /* header of the provider */
#include "link.h"

#define FIXTURE_SIZE  65536u /* of each end's buffer */
#define FIXTURE_DEPTH 16u    /* of each queue */
#define FIXTURE_QKEY  0x11111111u

struct fixture {
	struct link *l;
	enum ibv_qp_type type;
	struct ibv_mr *mr[2];
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	struct ibv_ah *ah; /* UD: from end 0 to end 1 */
};

/* One link for the whole program. */
extern struct link fixture_link;
/* Wrong keys for a fixture's QPs: of another protection domain, without rights, deregistered. */
extern struct ibv_mr *fixture_foreign[2], *fixture_readonly[2];
extern uint32_t fixture_gone[2]; /* key */

/* Setup of a suite. */
int fixture_setup(void);
int fixture_teardown(void);

void fixture_open(struct fixture *r, enum ibv_qp_type type);
void fixture_close(struct fixture *r);
/* After end 0's QP was destroyed: creates another one, on r->cq[0], and connects both. */
void fixture_reconnect(struct fixture *r);

/*
 * Prepares a request from end 0 to end 1. Returns the address of the WQE in the ring. Does not ring the
 * doorbell.
 */
uint8_t *fixture_prepare(struct fixture *r, enum ibv_wr_opcode op, uint64_t wr_id, const struct ibv_sge *sge,
			 uint64_t remote, uint32_t rkey);
/* The same, with the first eight bytes of each end's buffer. */
uint8_t *fixture_prepare_good(struct fixture *r, enum ibv_wr_opcode op, uint64_t wr_id);
/* Posts a receive at end 1; returns its address in the ring. */
uint8_t *fixture_receive(struct fixture *r, uint64_t wr_id, const struct ibv_sge *sge);
/* Stores `value` to the user access page of an end's context. */
void fixture_store(struct fixture *r, int end, uint32_t offset, uint64_t value);
/* Rings the doorbell for everything that end 0 has prepared. */
void fixture_ring(struct fixture *r);

/* Waits for the next completion of an end; fails the test if there is none for a long time. */
bool fixture_wait(struct fixture *r, int end, struct ibv_wc *wc);
bool fixture_expect(struct fixture *r, int end, const char *what, uint64_t wr_id, int status, int vendor);
/* Checks, after all work is done, that there is no further completion at either end. */
void fixture_expect_silence(struct fixture *r, const char *what);
enum ibv_qp_state fixture_state(struct fixture *r, int end);
/*
 * Does a round trip on another connection: the device still works, and it has handled all earlier doorbells.
 */
void fixture_others_go_on(void);
/* Checks that a new pair of this type carries data. */
void fixture_fresh_pair_works(enum ibv_qp_type type);

/* Fills the buffers with pattern and zeros; checks that they are unchanged from byte `from` on. */
void fixture_fill(void);
bool fixture_untouched(int end, uint32_t from);

/* Takes the one event of r->cq[0] from its channel. */
void fixture_take_event(struct fixture *r, struct ibv_comp_channel *channel);
/* Takes all waiting asynchronous events. */
void fixture_drain_events(struct ibv_context *ctx);

/* The suites. */
void add_wqe_suite(void);
void add_doorbell_suite(void);
void add_memory_suite(void);

#endif
