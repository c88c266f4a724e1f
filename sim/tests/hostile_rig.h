/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two connected queue pairs of the real provider, whose rings and user access page the test writes
 * itself: the provider builds a correct work request without telling the device, the test spoils it,
 * then rings the doorbell.
 */
#ifndef HCASIM_TESTS_HOSTILE_RIG_H
#define HCASIM_TESTS_HOSTILE_RIG_H

#include <CUnit/Basic.h>

#include "hcasim.h" /* the provider's */
#include "link.h"

#define RIG_SIZE  65536u /* of each end's buffer */
#define RIG_DEPTH 16u    /* of each queue */
#define RIG_QKEY  0x11111111u

struct rig {
	struct link *l;
	enum ibv_qp_type type;
	struct ibv_mr *mr[2];
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	struct ibv_ah *ah; /* UD: from end 0 to end 1 */
};

/* One for the whole program. */
extern struct link rig_link;
/* Keys that are wrong for a rig's QPs: of another protection domain, without rights, deregistered. */
extern struct ibv_mr *rig_foreign[2], *rig_readonly[2];
extern uint32_t rig_gone[2]; /* key */

/* Of a suite. */
int rig_setup(void);
int rig_teardown(void);

void rig_open(struct rig *r, enum ibv_qp_type type);
void rig_close(struct rig *r);
/* After end 0's QP was destroyed: another one, on r->cq[0], and both connected anew. */
void rig_reconnect(struct rig *r);

/* End 0 sends, end 1 answers. Returns where the WQE stands in the ring. The device has not been told. */
uint8_t *rig_prepare(struct rig *r, enum ibv_wr_opcode op, uint64_t wr_id, const struct ibv_sge *sge,
		     uint64_t remote, uint32_t rkey);
/* The same with eight bytes of each end's buffer. */
uint8_t *rig_prepare_good(struct rig *r, enum ibv_wr_opcode op, uint64_t wr_id);
/* A receive of end 1; returns where it stands. */
uint8_t *rig_receive(struct rig *r, uint64_t wr_id, const struct ibv_sge *sge);
/* Stores `value` to the user access page of an end's context. */
void rig_store(struct rig *r, int end, uint32_t offset, uint64_t value);
/* Tells the device of all that end 0 has prepared. */
void rig_ring(struct rig *r);

/* The next completion of an end; fails the test if none comes for long. */
bool rig_wait(struct rig *r, int end, struct ibv_wc *wc);
bool rig_expect(struct rig *r, int end, const char *what, uint64_t wr_id, int status, int vendor);
/* No completion is left at either end, now that everything that was to happen has. */
void rig_expect_silence(struct rig *r, const char *what);
enum ibv_qp_state rig_state(struct rig *r, int end);
/* A round trip of another connection: the device goes on, and what was rung before has been looked at. */
void rig_others_go_on(void);
/* A pair of this type carries data. */
void rig_fresh_pair_works(enum ibv_qp_type type);

/* Both buffers: pattern and zeros; then: are they still so, from this byte on? */
void rig_fill(void);
bool rig_untouched(int end, uint32_t from);

/* Takes the one event of r->cq[0] from its channel. */
void rig_take_event(struct rig *r, struct ibv_comp_channel *channel);
/* Takes all asynchronous events that are there. */
void rig_drain_events(struct ibv_context *ctx);

/* The suites. */
void add_wqe_suite(void);
void add_doorbell_suite(void);
void add_memory_suite(void);

#endif
