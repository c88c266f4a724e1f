/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <poll.h>
#include <sys/mman.h>
#include <time.h>

#include <util/mmio.h>

#include "hostile_fixture.h"

struct link fixture_link;
struct ibv_mr *fixture_foreign[2], *fixture_readonly[2];
uint32_t fixture_gone[2];

static struct ibv_pd *other_pd[2];
static struct fixture bystander; /* has its own memory: tests check the memory of the link */
static char others[2][64];
static uint8_t *nowhere; /* a page of memory instead of the user access page */

static const int all_access =
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

static void make_keys(struct link *l, int end)
{
	struct ibv_mr *mr;

	/* The link's own region does not allow atomics. */
	CHECK(!ibv_rereg_mr(l->mr[end], IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, all_access));
	other_pd[end] = ibv_alloc_pd(l->ctx[end]);
	CHECK(other_pd[end]);
	fixture_foreign[end] = ibv_reg_mr(other_pd[end], l->buf[end], l->size, all_access);
	fixture_readonly[end] = ibv_reg_mr(l->pd[end], l->buf[end], l->size, 0);
	mr = ibv_reg_mr(l->pd[end], l->buf[end], l->size, all_access);
	CHECK(fixture_foreign[end] && fixture_readonly[end] && mr);
	fixture_gone[end] = mr->lkey;
	CHECK(!ibv_dereg_mr(mr));
}

static int close_all(struct fixture *r)
{
	int bad = r->ah ? ibv_destroy_ah(r->ah) : 0;

	for (int end = 0; end < 2; end++) {
		bad |= ibv_destroy_qp(r->qp[end]);
		bad |= ibv_destroy_cq(r->cq[end]);
	}
	return bad;
}

int fixture_setup(void)
{
	link_open(&fixture_link, FIXTURE_SIZE);
	nowhere =
		mmap(NULL, HCASIM_UAR_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(nowhere != MAP_FAILED);
	for (int end = 0; end < 2; end++)
		make_keys(&fixture_link, end);
	fixture_open(&bystander, IBV_QPT_RC);
	for (int end = 0; end < 2; end++) {
		bystander.mr[end] =
			ibv_reg_mr(fixture_link.pd[end], others[end], sizeof(others[end]), all_access);
		CHECK(bystander.mr[end]);
	}
	return 0;
}

int fixture_teardown(void)
{
	int bad = close_all(&bystander);

	for (int end = 0; end < 2; end++) {
		bad |= ibv_dereg_mr(bystander.mr[end]);
		bad |= ibv_dereg_mr(fixture_foreign[end]);
		bad |= ibv_dereg_mr(fixture_readonly[end]);
		bad |= ibv_dealloc_pd(other_pd[end]);
	}
	munmap(nowhere, HCASIM_UAR_PAGE_SIZE);
	link_close(&fixture_link);
	return bad;
}

/* ---- Queue pairs ---- */

static struct ibv_qp_attr attr_of(const struct fixture *r, int end, uint32_t dest)
{
	struct ibv_qp_attr attr = link_attr(r->l, end, dest);

	attr.qkey = FIXTURE_QKEY;
	return attr;
}

static struct ibv_qp *create(struct fixture *r, int end)
{
	struct ibv_qp_init_attr init = {.qp_type = r->type,
					.send_cq = r->cq[end],
					.recv_cq = r->cq[end],
					.cap = {FIXTURE_DEPTH, FIXTURE_DEPTH, 2, 2, 64}};
	const struct ibv_qp_attr attr = attr_of(r, end, 0);
	struct ibv_qp *qp = ibv_create_qp(r->l->pd[end], &init);

	CHECK(qp);
	link_modify(qp, &attr, IBV_QPS_INIT);
	return qp;
}

static void create_ah(struct fixture *r)
{
	struct ibv_ah_attr path = link_path(r->l, 0);

	r->ah = ibv_create_ah(r->l->pd[0], &path);
	CHECK(r->ah);
}

void fixture_open(struct fixture *r, enum ibv_qp_type type)
{
	memset(r, 0, sizeof(*r));
	r->l = &fixture_link;
	r->type = type;
	for (int end = 0; end < 2; end++) {
		r->mr[end] = r->l->mr[end];
		r->cq[end] = link_create_cq(r->l, end, 4 * FIXTURE_DEPTH);
		r->qp[end] = create(r, end);
	}
	if (type == IBV_QPT_UD)
		create_ah(r);
	link_connect(r->l, r->qp);
}

void fixture_close(struct fixture *r)
{
	CU_ASSERT_EQUAL(close_all(r), 0);
}

void fixture_reconnect(struct fixture *r)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

	r->qp[0] = create(r, 0);
	CU_ASSERT_EQUAL(ibv_modify_qp(r->qp[1], &reset, IBV_QP_STATE), 0);
	link_connect(r->l, r->qp);
}

enum ibv_qp_state fixture_state(struct fixture *r, int end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CU_ASSERT_EQUAL(ibv_query_qp(r->qp[end], &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

/* ---- Work requests ---- */

uint8_t *fixture_prepare(struct fixture *r, enum ibv_wr_opcode op, uint64_t wr_id, const struct ibv_sge *sge,
			 uint64_t remote, uint32_t rkey)
{
	struct hcasim_context *ctx = to_hctx(r->qp[0]->context);
	struct hcasim_sq *sq = &to_hqp(r->qp[0])->sq;
	struct ibv_sge copy = *sge;
	struct ibv_send_wr *bad, wr = {.wr_id = wr_id,
				       .sg_list = &copy,
				       .num_sge = 1,
				       .opcode = op,
				       .send_flags = IBV_SEND_SIGNALED};
	uint32_t index = atomic_load(&sq->pi_bb);
	uint8_t *uar = ctx->uar.page;

	if (r->type == IBV_QPT_UD) {
		wr.wr.ud.ah = r->ah;
		wr.wr.ud.remote_qpn = r->qp[1]->qp_num;
		wr.wr.ud.remote_qkey = FIXTURE_QKEY;
	} else if (op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.swap = ~0ull;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
	}
	ctx->uar.page = nowhere;
	errno = ibv_post_send(r->qp[0], &wr, &bad);
	ctx->uar.page = uar;
	CHECK(!errno);
	return sq->ring + (index & (sq->num_bb - 1)) * HCASIM_WQEBB_SIZE;
}

uint8_t *fixture_prepare_good(struct fixture *r, enum ibv_wr_opcode op, uint64_t wr_id)
{
	struct ibv_sge sge = {(uintptr_t)r->mr[0]->addr, 8, r->mr[0]->lkey};

	return fixture_prepare(r, op, wr_id, &sge, (uintptr_t)r->mr[1]->addr, r->mr[1]->rkey);
}

uint8_t *fixture_receive(struct fixture *r, uint64_t wr_id, const struct ibv_sge *sge)
{
	struct hcasim_rq *rq = &to_hqp(r->qp[1])->rq;
	uint32_t index = atomic_load(&rq->pi);
	struct ibv_sge copy = *sge;
	struct ibv_recv_wr *bad, wr = {.wr_id = wr_id, .sg_list = &copy, .num_sge = 1};

	CHECK(!(errno = ibv_post_recv(r->qp[1], &wr, &bad)));
	return rq->ring + (index & (rq->count - 1)) * rq->stride;
}

void fixture_store(struct fixture *r, int end, uint32_t offset, uint64_t value)
{
	udma_to_device_barrier();
	mmio_write64_le(to_hctx(r->qp[end]->context)->uar.page + offset, htole64(value));
	mmio_flush_writes();
}

void fixture_ring(struct fixture *r)
{
	uint64_t pi = atomic_load(&to_hqp(r->qp[0])->sq.pi_bb) & 0xffff;

	fixture_store(r, 0, HCASIM_UAR_DB_SQ,
		      HCASIM_FIELD_PREP(HCASIM_DB_SQ_QPN_MASK, (uint64_t)r->qp[0]->qp_num) |
			      HCASIM_FIELD_PREP(HCASIM_DB_SQ_PI_MASK, pi));
}

/* ---- Completions ---- */

bool fixture_wait(struct fixture *r, int end, struct ibv_wc *wc)
{
	time_t limit = time(NULL) + LINK_WAIT_S;
	int n;

	while (!(n = ibv_poll_cq(r->cq[end], 1, wc)) && time(NULL) < limit)
		;
	return n == 1;
}

bool fixture_expect(struct fixture *r, int end, const char *what, uint64_t wr_id, int status, int vendor)
{
	struct ibv_wc wc;

	if (!fixture_wait(r, end, &wc)) {
		fprintf(stderr, "\n%s: no completion at end %d\n", what, end);
		CU_FAIL("no completion");
		return false;
	}
	if (wc.wr_id == wr_id && (int)wc.status == status && (int)wc.vendor_err == vendor)
		return true;
	fprintf(stderr, "\n%s: end %d: WR %llu '%s' (vendor %u), expected WR %llu '%s' (vendor %d)\n", what,
		end, (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status), wc.vendor_err,
		(unsigned long long)wr_id, ibv_wc_status_str(status), vendor);
	CU_FAIL("another completion");
	return false;
}

void fixture_expect_silence(struct fixture *r, const char *what)
{
	struct ibv_wc wc;

	fixture_others_go_on();
	for (int end = 0; end < 2; end++) {
		int n = ibv_poll_cq(r->cq[end], 1, &wc);

		if (n)
			fprintf(stderr, "\n%s: end %d: one more: WR %llu '%s'\n", what, end,
				(unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
		CU_ASSERT_EQUAL(n, 0);
	}
}

static void round_trip(struct fixture *r, enum ibv_wr_opcode op)
{
	struct ibv_sge sge = {(uintptr_t)r->l->buf[1], FIXTURE_SIZE / 2, r->l->mr[1]->lkey};
	bool receives = op == IBV_WR_SEND;

	if (receives)
		fixture_receive(r, 7, &sge);
	fixture_prepare_good(r, op, 8);
	fixture_ring(r);
	fixture_expect(r, 0, "a correct work request", 8, IBV_WC_SUCCESS, 0);
	if (receives)
		fixture_expect(r, 1, "its receive", 7, IBV_WC_SUCCESS, 0);
}

void fixture_others_go_on(void)
{
	fixture_prepare_good(&bystander, IBV_WR_RDMA_WRITE, 8);
	fixture_ring(&bystander);
	fixture_expect(&bystander, 0, "another connection", 8, IBV_WC_SUCCESS, 0);
}

void fixture_fresh_pair_works(enum ibv_qp_type type)
{
	struct fixture r;

	fixture_open(&r, type);
	round_trip(&r, IBV_WR_SEND);
	if (type == IBV_QPT_RC)
		round_trip(&r, IBV_WR_RDMA_READ);
	fixture_close(&r);
}

/* ---- Buffers ---- */

void fixture_fill(void)
{
	for (uint32_t i = 0; i < FIXTURE_SIZE; i++)
		fixture_link.buf[0][i] = (char)(i * 7 + 1);
	memset(fixture_link.buf[1], 0, FIXTURE_SIZE);
}

bool fixture_untouched(int end, uint32_t from)
{
	for (uint32_t i = from; i < FIXTURE_SIZE; i++)
		if (fixture_link.buf[end][i] != (end ? 0 : (char)(i * 7 + 1)))
			return false;
	return true;
}

/* ---- Events ---- */

void fixture_take_event(struct fixture *r, struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *context;

	CU_ASSERT_EQUAL(ibv_get_cq_event(channel, &cq, &context), 0);
	CU_ASSERT_PTR_EQUAL(cq, r->cq[0]);
	ibv_ack_cq_events(cq, 1);
}

void fixture_drain_events(struct ibv_context *ctx)
{
	struct pollfd p = {.fd = ctx->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	while (poll(&p, 1, 0) == 1 && !ibv_get_async_event(ctx, &event))
		ibv_ack_async_event(&event);
}
