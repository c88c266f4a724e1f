// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues: how full they get, completions in any order, what each WQE holds. */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define SRQN    0x321
#define MAX_WR  4
#define MAX_SGE 2
#define STRIDE  64

struct srq_fixture {
	struct fixture fixture;
	struct hcasim_srq srq;
	struct hcasim_srq_record record;
};

static void open_srq(struct srq_fixture *s, bool td)
{
	struct hcasim_srq *srq = &s->srq;

	memset(s, 0, sizeof(*s));
	fixture_open(&s->fixture, &fixture_rc);
	srq->ctx = s->fixture.ctx;
	srq->vsrq.srq_type = IBV_SRQT_BASIC;
	srq->record = &s->record;
	srq->ring = malloc(HCASIM_MAX_SRQ_WR * STRIDE);
	memset(srq->ring, 0xa5, HCASIM_MAX_SRQ_WR * STRIDE);
	srq->srqn = SRQN;
	srq->stride = STRIDE;
	srq->max_wr = MAX_WR;
	srq->max_sge = MAX_SGE;
	srq->wr_id = calloc(HCASIM_MAX_SRQ_WR, sizeof(*srq->wr_id));
	srq->free_tag = calloc(HCASIM_MAX_SRQ_WR, sizeof(*srq->free_tag));
	srq->locking = !td;
	pthread_spin_init(&srq->lock, PTHREAD_PROCESS_PRIVATE);
	CU_ASSERT_EQUAL_FATAL(hcasim_table_insert(&s->fixture.ctx->srqs, SRQN, srq), 0);
}

static void close_srq(struct srq_fixture *s)
{
	hcasim_table_free(&s->fixture.ctx->srqs);
	pthread_spin_destroy(&s->srq.lock);
	free(s->srq.ring);
	free(s->srq.wr_id);
	free(s->srq.free_tag);
	fixture_close(&s->fixture);
}

static int post(struct srq_fixture *s, uint64_t wr_id)
{
	struct ibv_sge sge = {.addr = wr_id, .length = (uint32_t)wr_id + 1, .lkey = 7};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	return hcasim_post_srq_recv(&s->srq.vsrq.srq, &wr, &bad);
}

static const struct hcasim_rqe *rqe(const struct srq_fixture *s, uint32_t index)
{
	return (const void *)(s->srq.ring + (size_t)(index % HCASIM_MAX_SRQ_WR) * STRIDE);
}

/* The device has ended the WQE of this tag. */
static void end(struct srq_fixture *s, uint16_t tag)
{
	struct hcasim_cqe cqe = fixture_recv_cqe(tag, 1);

	cqe.srqn = htole32(SRQN);
	fixture_cqe(&s->fixture, &cqe);
}

static void expect(struct srq_fixture *s, uint64_t wr_id)
{
	struct ibv_wc wc = {};

	CU_ASSERT_EQUAL(hcasim_poll_cq(&s->fixture.cq.vcq.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, wr_id);
	CU_ASSERT_EQUAL(wc.opcode, IBV_WC_RECV);
}

/* The list ends at the WR that has no room, or more SGEs than the queue; what stands before it is posted. */
static void test_lists(void)
{
	struct ibv_sge sge[MAX_SGE + 1] = {};
	struct ibv_recv_wr wr[MAX_WR + 1], *bad;
	struct srq_fixture s;
	int i, k;

	for (k = 0; k <= MAX_WR; k++) {
		open_srq(&s, false);
		for (i = 0; i <= MAX_WR; i++)
			wr[i] = (struct ibv_recv_wr){.wr_id = i,
						     .sg_list = sge,
						     .num_sge = 1,
						     .next = i < MAX_WR ? &wr[i + 1] : NULL};
		bad = NULL;
		CU_ASSERT_EQUAL(hcasim_post_srq_recv(&s.srq.vsrq.srq, wr, &bad), ENOMEM);
		CU_ASSERT_PTR_EQUAL(bad, &wr[MAX_WR]);
		CU_ASSERT_EQUAL(le32toh(s.record.pi), MAX_WR);
		close_srq(&s);

		open_srq(&s, false);
		wr[k].num_sge = k % 2 ? -1 : MAX_SGE + 1;
		CU_ASSERT_EQUAL(hcasim_post_srq_recv(&s.srq.vsrq.srq, wr, &bad), EINVAL);
		CU_ASSERT_PTR_EQUAL(bad, &wr[k]);
		CU_ASSERT_EQUAL(le32toh(s.record.pi), k);
		CU_ASSERT_EQUAL(*(s.srq.ring + (size_t)k * STRIDE), 0xa5);
		close_srq(&s);
	}
}

static void test_wqe(void)
{
	struct ibv_sge sge[MAX_SGE] = {{.addr = 0x1122334455667788, .length = 9, .lkey = 10}};
	struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = sge, .num_sge = 1}, *bad;
	const struct hcasim_seg_data *seg;
	struct srq_fixture s;

	open_srq(&s, false);
	CU_ASSERT_EQUAL(post(&s, 0), 0);
	CU_ASSERT_EQUAL(hcasim_post_srq_recv(&s.srq.vsrq.srq, &wr, &bad), 0);
	seg = (const void *)(rqe(&s, 1) + 1);
	CU_ASSERT_EQUAL(le16toh(rqe(&s, 1)->index), 1);
	CU_ASSERT_EQUAL(le16toh(rqe(&s, 1)->tag), 1);
	CU_ASSERT_EQUAL(rqe(&s, 1)->num_sge, 1);
	CU_ASSERT_EQUAL(le64toh(seg[0].addr), 0x1122334455667788);
	CU_ASSERT_EQUAL(le32toh(seg[0].length), 9);
	CU_ASSERT_EQUAL(le32toh(seg[0].lkey), 10);
	close_srq(&s);
}

/* WQEs end in any order, past the 16-bit index, and each gives back its own wr_id and its place. */
static void test_any_order(void)
{
	uint16_t tag[MAX_WR];
	struct srq_fixture s;
	uint32_t i, k;

	open_srq(&s, false);
	for (i = 0; i < MAX_WR; i++) {
		CU_ASSERT_EQUAL(post(&s, i), 0);
		tag[i] = le16toh(rqe(&s, i)->tag);
	}
	CU_ASSERT_EQUAL(post(&s, 99), ENOMEM);
	for (i = MAX_WR; i < 70000; i++) {
		k = (i * 7 + i / 3) % MAX_WR; /* any of those that are posted */
		end(&s, tag[k]);
		expect(&s, s.srq.wr_id[tag[k]]);
		if (post(&s, i)) {
			CU_FAIL("post");
			break;
		}
		if (le16toh(rqe(&s, i)->index) != (uint16_t)i || le16toh(rqe(&s, i)->tag) != tag[k] ||
		    s.srq.wr_id[tag[k]] != i) {
			CU_FAIL("WQE");
			break;
		}
	}
	CU_ASSERT_EQUAL(post(&s, 99), ENOMEM);
	CU_ASSERT_EQUAL(le32toh(s.record.pi), 70000);
	close_srq(&s);
}

/* A completion that names no WQE is passed over; one of a QP that is gone gives its place back. */
static void test_nothing(void)
{
	struct srq_fixture s;
	struct ibv_wc wc;
	int i;

	open_srq(&s, false);
	for (i = 0; i < MAX_WR; i++)
		CU_ASSERT_EQUAL(post(&s, i), 0);
	end(&s, MAX_WR);
	CU_ASSERT_EQUAL(hcasim_poll_cq(&s.fixture.cq.vcq.cq, 1, &wc), 0);
	end(&s, 2);
	expect(&s, 2);
	hcasim_table_remove(&s.fixture.ctx->qps, FIXTURE_QPN);
	end(&s, 1);
	CU_ASSERT_EQUAL(hcasim_poll_cq(&s.fixture.cq.vcq.cq, 1, &wc), 0);
	CU_ASSERT_EQUAL(post(&s, 10), 0);
	CU_ASSERT_EQUAL(post(&s, 11), 0);
	CU_ASSERT_EQUAL(post(&s, 12), ENOMEM);
	close_srq(&s);
}

static void test_no_locks(void)
{
	struct srq_fixture s;

	open_srq(&s, true);
	pthread_spin_lock(&s.srq.lock);
	CU_ASSERT_EQUAL(post(&s, 0), 0);
	end(&s, 0);
	expect(&s, 0);
	pthread_spin_unlock(&s.srq.lock);
	close_srq(&s);
}

int main(void)
{
	static const struct fixture_test tests[] = {
		{"lists end at the bad WR", test_lists},          {"WQE", test_wqe},
		{"completions in any order", test_any_order},     {"completions of nothing", test_nothing},
		{"no locks with a thread domain", test_no_locks}, {},
	};

	return fixture_main("shared receive queues", tests);
}
