/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Stores to the user access page that no driver makes, and doorbell records with wrong values. A store that
 * is not a doorbell has no effect; a doorbell for a queue of another context has none either; a wrong value
 * affects only the QP of its own context.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <util/mmio.h>

#include "hostile_fixture.h"

/* One store instruction of this size, at any alignment. */
static void store(uint8_t *at, const void *data, unsigned int size)
{
	typedef long long vec __attribute__((vector_size(16)));
	uint64_t v;
	vec x;

	memcpy(&v, data, 8);
	memcpy(&x, data, 16);
	switch (size) {
	case 1:
		__asm__ volatile("movb %b0, (%1)" : : "q"(v), "r"(at) : "memory");
		break;
	case 2:
		__asm__ volatile("movw %w0, (%1)" : : "r"(v), "r"(at) : "memory");
		break;
	case 4:
		__asm__ volatile("movl %k0, (%1)" : : "r"(v), "r"(at) : "memory");
		break;
	case 8:
		__asm__ volatile("movq %0, (%1)" : : "r"(v), "r"(at) : "memory");
		break;
	default:
		__asm__ volatile("movups %0, (%1)" : : "x"(x), "r"(at) : "memory");
		break;
	}
	__asm__ volatile("sfence" : : : "memory");
}

static uint8_t *page_of(struct fixture *r, int end)
{
	return to_hctx(r->qp[end]->context)->uar.page;
}

static uint64_t doorbell(uint32_t qpn, uint32_t pi)
{
	return HCASIM_FIELD_PREP(HCASIM_DB_SQ_QPN_MASK, (uint64_t)(qpn & 0xffffff)) |
	       HCASIM_FIELD_PREP(HCASIM_DB_SQ_PI_MASK, (uint64_t)(pi & 0xffff));
}

static void ring_as(struct fixture *r, uint32_t qpn, uint32_t pi)
{
	fixture_store(r, 0, HCASIM_UAR_DB_SQ, doorbell(qpn, pi));
}

/* The prepared WQE waits until its own doorbell is rung. */
static void wrong_contents(void)
{
	static const uint32_t wrong_qpn[] = {0, 1, 2, 0x7fffff, 0xffffff};
	static const uint32_t wrong_pi[] = {0x8000, 0xffff, 0xfff0, 0x7fff, 0x4000};
	struct fixture r;

	fixture_open(&r, IBV_QPT_RC);
	fixture_prepare_good(&r, IBV_WR_RDMA_WRITE, 1);
	for (unsigned int i = 0; i < sizeof(wrong_qpn) / sizeof(wrong_qpn[0]); i++)
		ring_as(&r, wrong_qpn[i], 1);
	for (unsigned int i = 0; i < sizeof(wrong_pi) / sizeof(wrong_pi[0]); i++)
		ring_as(&r, r.qp[0]->qp_num, wrong_pi[i]);
	ring_as(&r, r.qp[0]->qp_num, 0);
	ring_as(&r, r.qp[0]->qp_num, to_hqp(r.qp[0])->sq.num_bb + 1);
	fixture_expect_silence(&r, "wrong doorbells");
	CU_ASSERT_EQUAL(fixture_state(&r, 0), IBV_QPS_RTS);
	fixture_ring(&r);
	fixture_ring(&r); /* a second ring has no effect */
	fixture_expect(&r, 0, "its own doorbell", 1, IBV_WC_SUCCESS, 0);
	fixture_expect_silence(&r, "its own doorbell");
	fixture_close(&r);
}

static void wrong_places(void)
{
	static const unsigned int sizes[] = {1, 2, 4, 8, 16};
	uint8_t data[16], *page;
	uint64_t value;
	struct fixture r;

	fixture_open(&r, IBV_QPT_RC);
	page = page_of(&r, 0);
	fixture_prepare_good(&r, IBV_WR_RDMA_WRITE, 1);
	value = doorbell(r.qp[0]->qp_num, 1);
	memcpy(data, &value, 8);
	memcpy(data + 8, &value, 8);
	for (unsigned int s = 0; s < 5; s++)
		for (uint32_t at = 0; at + sizes[s] <= HCASIM_UAR_PAGE_SIZE; at += at < 64 ? 1 : 61)
			if (at != HCASIM_UAR_DB_SQ || sizes[s] < 8) /* not a real doorbell */
				store(page + at, data, sizes[s]);
	fixture_expect_silence(&r, "doorbells in wrong places and sizes");
	fixture_ring(&r);
	fixture_expect(&r, 0, "its own doorbell", 1, IBV_WC_SUCCESS, 0);
	fixture_close(&r);
}

/* Random bytes at random places may cause failures of this context's QPs, but not of others. */
static void noise(void)
{
	unsigned int seed = 1;
	uint8_t data[16];
	struct fixture r;

	fixture_open(&r, IBV_QPT_RC);
	for (unsigned int i = 0; i < 20000; i++) {
		unsigned int size = 1u << rand_r(&seed) % 5;
		uint32_t at = rand_r(&seed) % (HCASIM_UAR_PAGE_SIZE - size);

		for (unsigned int k = 0; k < sizeof(data); k++)
			data[k] = (uint8_t)rand_r(&seed);
		store(page_of(&r, 1) + at, data, size);
	}
	fixture_close(&r);
	fixture_fresh_pair_works(IBV_QPT_RC);
	fixture_fresh_pair_works(IBV_QPT_UD);
}

/* ---- BlueFlame ---- */

/*
 * Only the first `bytes` of a WQE reach the buffer: that acts as a doorbell, and the WQE is read from the
 * ring.
 */
static void torn_push(enum ibv_qp_type type, unsigned int bytes)
{
	struct ibv_sge sge = {(uintptr_t)fixture_link.buf[1], 64, fixture_link.mr[1]->lkey};
	uint8_t *wqe, *page;
	struct fixture r;

	fixture_open(&r, type);
	page = page_of(&r, 0) + HCASIM_UAR_BF;
	fixture_receive(&r, 2, &sge);
	wqe = fixture_prepare_good(&r, IBV_WR_SEND, 1);
	for (unsigned int i = 0; i < bytes; i += 8)
		store(page + i,
		      (uint8_t[16]){wqe[i], wqe[i + 1], wqe[i + 2], wqe[i + 3], wqe[i + 4], wqe[i + 5],
				    wqe[i + 6], wqe[i + 7]},
		      8);
	fixture_expect(&r, 0, "a torn push", 1, IBV_WC_SUCCESS, 0);
	fixture_expect(&r, 1, "a torn push", 2, IBV_WC_SUCCESS, 0);
	fixture_expect_silence(&r, "a torn push");
	fixture_close(&r);
}

static void pushed_wrong(unsigned int at, uint8_t flip, int vendor, const char *what)
{
	struct fixture r;
	uint8_t *wqe;

	fixture_open(&r, IBV_QPT_RC);
	wqe = fixture_prepare_good(&r, IBV_WR_RDMA_WRITE, 1);
	wqe[at] ^= flip;
	/* The push may be torn if this thread is interrupted; the ring holds the same WQE. */
	mmio_memcpy_x64(page_of(&r, 0) + HCASIM_UAR_BF + HCASIM_BF_SIZE, wqe, HCASIM_WQEBB_SIZE);
	if (vendor)
		fixture_expect(&r, 0, what, 1, IBV_WC_LOC_QP_OP_ERR, vendor);
	fixture_expect_silence(&r, what);
	fixture_close(&r);
}

static void pushes(void)
{
	for (unsigned int bytes = 8; bytes < 32; bytes += 8)
		torn_push(IBV_QPT_RC, bytes);
	for (unsigned int bytes = 8; bytes < 80; bytes += 8)
		torn_push(IBV_QPT_UD, bytes);
	pushed_wrong(0, 0x80, HCASIM_VENDOR_ERR_BAD_OPCODE, "a push with an unknown opcode");
	pushed_wrong(7, 0x80, HCASIM_VENDOR_ERR_BAD_SEGMENT, "a push with an unknown flag");
	pushed_wrong(28, 1, HCASIM_VENDOR_ERR_BAD_SEGMENT, "a push with a reserved word");
	pushed_wrong(6, 0x80, 0, "a push for another QP");
	pushed_wrong(3, 0x40, 0, "a push with an index outside the ring");
	fixture_fresh_pair_works(IBV_QPT_RC);
}

/* ---- Another context's page ---- */

static void pages_of_others(void)
{
	struct ibv_device *device = fixture_link.ctx[0]->device;
	struct ibv_context *other = ibv_open_device(device);
	struct fixture r;
	uint8_t *page;

	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	page = to_hctx(other)->uar.page;
	fixture_open(&r, IBV_QPT_RC);
	fixture_prepare_good(&r, IBV_WR_RDMA_WRITE, 1);
	for (uint32_t qpn = 0; qpn < 64; qpn++) {
		uint64_t data[2] = {doorbell(r.qp[0]->qp_num - 32 + qpn, 1), 0};

		store(page + HCASIM_UAR_DB_SQ, data, 8);
	}
	fixture_expect_silence(&r, "a doorbell in another context's page");
	CU_ASSERT_EQUAL(fixture_state(&r, 0), IBV_QPS_RTS);
	fixture_ring(&r);
	fixture_expect(&r, 0, "its own doorbell", 1, IBV_WC_SUCCESS, 0);
	fixture_close(&r);
	CU_ASSERT_EQUAL(ibv_close_device(other), 0);
}

static bool has_event(struct ibv_comp_channel *channel, int ms)
{
	struct pollfd p = {.fd = channel->fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

/* Another context arms this CQ, with the consumer index that would raise the event at once. */
static void arm_of_others(void)
{
	struct ibv_context *other = ibv_open_device(fixture_link.ctx[0]->device);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(fixture_link.ctx[0]);
	struct fixture r;

	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	CU_ASSERT_PTR_NOT_NULL_FATAL(channel);
	fixture_open(&r, IBV_QPT_RC);
	CU_ASSERT_EQUAL(ibv_destroy_qp(r.qp[0]), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(r.cq[0]), 0);
	r.cq[0] = ibv_create_cq(fixture_link.ctx[0], 16, NULL, channel, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(r.cq[0]);
	fixture_reconnect(&r);
	for (uint32_t sn = 0; sn < 4; sn++) {
		uint64_t v = HCASIM_FIELD_PREP(HCASIM_DB_CQ_CQN_MASK, (uint64_t)to_hcq(r.cq[0])->cqn) |
			     HCASIM_FIELD_PREP(HCASIM_DB_CQ_ARM_SN_MASK, (uint64_t)sn);

		store(to_hctx(other)->uar.page + HCASIM_UAR_DB_CQ, (uint64_t[2]){v, 0}, 8);
	}
	fixture_prepare_good(&r, IBV_WR_RDMA_WRITE, 1);
	fixture_ring(&r);
	fixture_expect(&r, 0, "a write", 1, IBV_WC_SUCCESS, 0);
	fixture_others_go_on();
	CU_ASSERT_FALSE(has_event(channel, 0));
	CU_ASSERT_EQUAL(ibv_req_notify_cq(r.cq[0], 0), 0);
	fixture_prepare_good(&r, IBV_WR_RDMA_WRITE, 2);
	fixture_ring(&r);
	CU_ASSERT_TRUE(has_event(channel, 20000));
	fixture_expect(&r, 0, "a write", 2, IBV_WC_SUCCESS, 0);
	fixture_take_event(&r, channel);
	fixture_close(&r);
	CU_ASSERT_EQUAL(ibv_destroy_comp_channel(channel), 0);
	CU_ASSERT_EQUAL(ibv_close_device(other), 0);
}

/* ---- Records ---- */

static bool becomes(struct fixture *r, int end, enum ibv_qp_state state)
{
	time_t limit = time(NULL) + 20;

	while (fixture_state(r, end) != state)
		if (time(NULL) > limit)
			return false;
	return true;
}

/* The doorbell covers WQEs that were never written: the first of them is stale. */
static void send_index_ahead(void)
{
	struct fixture r;

	fixture_open(&r, IBV_QPT_RC);
	fixture_prepare_good(&r, IBV_WR_RDMA_WRITE, 1);
	ring_as(&r, r.qp[0]->qp_num, FIXTURE_DEPTH);
	fixture_expect(&r, 0, "the WQE that is there", 1, IBV_WC_SUCCESS, 0);
	CU_ASSERT(becomes(&r, 0, IBV_QPS_ERR));
	fixture_expect_silence(&r, "WQEs that are not there");
	fixture_close(&r);
	fixture_fresh_pair_works(IBV_QPT_RC);
}

static void receive_index_ahead(uint32_t ahead, bool in_range)
{
	struct ibv_sge sge = {(uintptr_t)fixture_link.buf[1], 64, fixture_link.mr[1]->lkey};
	struct hcasim_qp *peer;
	struct fixture r;

	fixture_open(&r, IBV_QPT_RC);
	peer = to_hqp(r.qp[1]);
	peer->rq.ring[0] = 0xff; /* not a valid index for this pass over the ring */
	hcasim_store_record(&peer->record->rq_pi, ahead);
	fixture_prepare_good(&r, IBV_WR_SEND, 1);
	fixture_ring(&r);
	if (in_range) {
		fixture_expect(&r, 0, "a receive that is not there", 1, IBV_WC_REM_OP_ERR, 0);
		CU_ASSERT(becomes(&r, 1, IBV_QPS_ERR));
	} else {
		fixture_expect_silence(&r, "a receive index that the ring cannot have");
		fixture_receive(&r, 2, &sge); /* writes the record */
		fixture_expect(&r, 0, "a receive in time", 1, IBV_WC_SUCCESS, 0);
		fixture_expect(&r, 1, "a receive in time", 2, IBV_WC_SUCCESS, 0);
	}
	fixture_close(&r);
}

static void receive_records(void)
{
	receive_index_ahead(1, true);
	receive_index_ahead(FIXTURE_DEPTH, true);
	receive_index_ahead(FIXTURE_DEPTH + 1, false);
	receive_index_ahead(0x80000000, false);
	receive_index_ahead(~0u, false);
	fixture_fresh_pair_works(IBV_QPT_RC);
}

/* The send record is read only after a lost doorbell; otherwise a random value has no effect. */
static void send_record(void)
{
	struct fixture r;

	fixture_open(&r, IBV_QPT_RC);
	for (unsigned int i = 0; i < 3 * FIXTURE_DEPTH; i++) {
		fixture_prepare_good(&r, IBV_WR_RDMA_WRITE, i);
		hcasim_store_record(&to_hqp(r.qp[0])->record->sq_pi, 0xdeadbeef * i);
		fixture_ring(&r);
		fixture_expect(&r, 0, "a WQE with a random record", i, IBV_WC_SUCCESS, 0);
	}
	fixture_close(&r);
}

/* A consumer index out of range is ignored: the CQ overruns and raises an event. */
static void consumer_index(uint32_t ci)
{
	struct ibv_async_event event;
	bool cq_err = false;
	struct fixture r;

	fixture_open(&r, IBV_QPT_RC);
	for (unsigned int i = 0; i < 5 * FIXTURE_DEPTH; i++) {
		struct hcasim_sq *sq = &to_hqp(r.qp[0])->sq;

		if (i % FIXTURE_DEPTH == 0) { /* free the send queue without polling */
			fixture_others_go_on();
			atomic_store(&sq->ci_bb, atomic_load(&sq->pi_bb));
			atomic_store(&sq->ci_wr, sq->pi_wr);
		}
		fixture_prepare_good(&r, IBV_WR_RDMA_WRITE, i);
		hcasim_store_record(&to_hcq(r.cq[0])->record->ci, ci);
		fixture_ring(&r);
	}
	CU_ASSERT(becomes(&r, 0, IBV_QPS_ERR));
	while (!cq_err) {
		CU_ASSERT_EQUAL_FATAL(ibv_get_async_event(fixture_link.ctx[0], &event), 0);
		cq_err = event.event_type == IBV_EVENT_CQ_ERR;
		CU_ASSERT(cq_err || event.event_type == IBV_EVENT_QP_FATAL);
		ibv_ack_async_event(&event);
	}
	fixture_drain_events(fixture_link.ctx[0]);
	fixture_close(&r);
	fixture_fresh_pair_works(IBV_QPT_RC);
}

static void consumer_records(void)
{
	consumer_index(1000);
	consumer_index(0x80000000);
	consumer_index(~0u);
}

void add_doorbell_suite(void)
{
	CU_pSuite s = CU_add_suite("doorbells and records", fixture_setup, fixture_teardown);

	CU_add_test(s, "wrong QPNs and indices", wrong_contents);
	CU_add_test(s, "wrong places and sizes", wrong_places);
	CU_add_test(s, "noise", noise);
	CU_add_test(s, "BlueFlame pushes torn and wrong", pushes);
	CU_add_test(s, "send doorbell in another context's page", pages_of_others);
	CU_add_test(s, "CQ armed by another context", arm_of_others);
	CU_add_test(s, "send index ahead", send_index_ahead);
	CU_add_test(s, "receive record ahead", receive_records);
	CU_add_test(s, "send record wild", send_record);
	CU_add_test(s, "consumer record wild", consumer_records);
}
