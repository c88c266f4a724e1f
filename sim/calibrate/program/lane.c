// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "lane.h"

#include <sys/mman.h>

#define PAGE 4096u
/* Between the heap of a position-independent program and its libraries, on x86-64. */
#define PAYLOAD 0x200000000000ull
#define APART   (1ull << 40)

static void *must_calloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	CHECK(p);
	return p;
}

/* ---- Both adapters ---- */

static void open_registers(struct fabric *f)
{
	struct ibv_td_init_attr td = {0};
	struct ibv_parent_domain_init_attr domain = {.pd = f->link.pd[0]};

	f->td = must_calloc(f->p->registers, sizeof(*f->td));
	f->td_pd = must_calloc(f->p->registers, sizeof(struct ibv_pd *));
	for (uint32_t i = 0; i < f->p->registers; i++) {
		f->td[i] = ibv_alloc_td(f->link.ctx[0], &td);
		CHECK(f->td[i]);
		domain.td = f->td[i];
		f->td_pd[i] = ibv_alloc_parent_domain(f->link.ctx[0], &domain);
		CHECK(f->td_pd[i]);
	}
}

static bool is_inline(const struct point *p)
{
	return p->size <= p->inline_max && (p->op == IBV_WR_RDMA_WRITE || p->op == IBV_WR_SEND);
}

/* The provider looks at the environment when it maps a doorbell register. */
static void choose_blueflame(const struct point *p)
{
	if (p->prefer_bf || is_inline(p))
		CHECK(!unsetenv("HCASIM_NO_BF"));
	else
		CHECK(!setenv("HCASIM_NO_BF", "1", true));
}

/*
 * Sets of a cache of translations follow from virtual addresses: without address randomisation a run gives the same figures each time.
 * Only a hint, as a sanitizer may have its shadow there.
 */
static void map_payload(struct fabric *f, int end)
{
	void *at = (void *)(uintptr_t)(PAYLOAD + (uint64_t)end * APART);

	f->buf[end] = mmap(at, f->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(f->buf[end] != MAP_FAILED);
	memset(f->buf[end], 0, f->size);
}

void fabric_open(struct fabric *f, const struct point *p)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;
	struct link *l = &f->link;

	f->p = p;
	choose_blueflame(p);
	link_open(l, PAGE);
	f->size = p->window > p->size ? p->window : p->size;
	for (int end = 0; end < 2; end++) {
		map_payload(f, end);
		f->mr[end] = ibv_reg_mr(l->pd[end], f->buf[end], f->size, access);
		CHECK(f->mr[end]);
	}
	open_registers(f);
}

void fabric_close(struct fabric *f)
{
	for (uint32_t i = 0; i < f->p->registers; i++) {
		CHECK(!(errno = ibv_dealloc_pd(f->td_pd[i])));
		CHECK(!(errno = ibv_dealloc_td(f->td[i])));
	}
	free(f->td);
	free(f->td_pd);
	for (int end = 0; end < 2; end++) {
		CHECK(!(errno = ibv_dereg_mr(f->mr[end])));
		CHECK(!munmap(f->buf[end], f->size));
	}
	link_close(&f->link);
}

uint64_t fabric_now(const struct fabric *f)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

	CHECK(!(errno = ibv_query_rt_values_ex(f->link.ctx[0], &values)));
	return (uint64_t)values.raw_clock.tv_sec * 1000000000ull + (uint64_t)values.raw_clock.tv_nsec;
}

/* ---- A thread's queues ---- */

static struct ibv_cq_ex *create_cq(struct lane *l, int end)
{
	const struct point *p = l->f->p;
	struct ibv_cq_init_attr_ex attr = {.cqe = p->depth * 2 > p->count ? p->depth * 2 : p->count,
					   .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(l->f->link.ctx[end], &attr);

	CHECK(cq);
	return cq;
}

/* Of one pair: those of all of them are in turn, but need not end so. */
static uint32_t queue_depth(const struct point *p)
{
	uint32_t share = 2 * ((p->depth + p->qps - 1) / p->qps);

	if (p->latency)
		return p->count;
	return share > p->batch + p->signal ? share : p->batch + p->signal;
}

static struct ibv_qp *create_qp(struct lane *l, int end, struct ibv_pd *pd)
{
	const struct point *p = l->f->p;
	struct ibv_cq *cq = ibv_cq_ex_to_cq(l->cq[end]);
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_RC,
					   .send_cq = cq,
					   .recv_cq = cq,
					   .comp_mask = IBV_QP_INIT_ATTR_PD,
					   .pd = pd};
	struct ibv_qp *qp;

	init.cap.max_send_wr = queue_depth(p);
	init.cap.max_recv_wr = p->op == IBV_WR_SEND ? (p->count + p->qps - 1) / p->qps : 1;
	init.cap.max_send_sge = p->sges;
	init.cap.max_recv_sge = 1;
	init.cap.max_inline_data = p->inline_max;
	qp = ibv_create_qp_ex(l->f->link.ctx[end], &init);
	CHECK(qp);
	return qp;
}

static void connect_pair(struct lane *l, uint32_t i)
{
	struct ibv_qp_attr attr;

	for (int end = 0; end < 2; end++) {
		attr = link_attr(&l->f->link, end, l->qp[!end][i]->qp_num);
		attr.path_mtu = point_mtu(l->f->p);
		link_modify(l->qp[end][i], &attr, IBV_QPS_RTS);
	}
}

void lane_open(struct lane *l, const struct fabric *f, uint32_t thread)
{
	struct ibv_pd *pd = f->p->registers ? f->td_pd[thread % f->p->registers] : f->link.pd[0];

	*l = (struct lane){.f = f, .random = 1 + thread};
	l->outstanding = must_calloc(f->p->qps, sizeof(*l->outstanding));
	l->stamp = must_calloc(f->p->count, sizeof(*l->stamp));
	for (int end = 0; end < 2; end++) {
		l->cq[end] = create_cq(l, end);
		l->qp[end] = must_calloc(f->p->qps, sizeof(struct ibv_qp *));
		for (uint32_t i = 0; i < f->p->qps; i++)
			l->qp[end][i] = create_qp(l, end, end ? f->link.pd[1] : pd);
	}
	for (uint32_t i = 0; i < f->p->qps; i++)
		connect_pair(l, i);
}

void lane_close(struct lane *l)
{
	for (int end = 0; end < 2; end++) {
		for (uint32_t i = 0; i < l->f->p->qps; i++)
			CHECK(!(errno = ibv_destroy_qp(l->qp[end][i])));
		CHECK(!(errno = ibv_destroy_cq(ibv_cq_ex_to_cq(l->cq[end]))));
		free(l->qp[end]);
	}
	free(l->stamp);
	free(l->outstanding);
}

/* ---- Work requests ---- */

/* The same numbers in every run. */
static uint32_t random_page(struct lane *l)
{
	const struct point *p = l->f->p;
	const uint32_t slot = (p->size + PAGE - 1) / PAGE * PAGE;

	if (p->window < slot)
		return 0;
	l->random = l->random * 1664525u + 1013904223u; /* Numerical Recipes, 7.1 */
	return (uint32_t)((uint64_t)l->random * (p->window / slot) >> 32) * slot;
}

static uint32_t gather(struct lane *l, int end, uint32_t offset, struct ibv_sge *sge)
{
	const struct point *p = l->f->p;

	for (uint32_t i = 0; i < p->sges; i++) {
		uint32_t from = (uint32_t)((uint64_t)p->size * i / p->sges);
		uint32_t to = (uint32_t)((uint64_t)p->size * (i + 1) / p->sges);

		sge[i] = (struct ibv_sge){(uintptr_t)l->f->buf[end] + offset + from, to - from,
					  l->f->mr[end]->lkey};
	}
	return p->sges;
}

static void fill(struct lane *l, int end, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	const struct fabric *f = l->f;
	const struct point *p = f->p;
	uint32_t offset = random_page(l);
	uint64_t remote = (uintptr_t)f->buf[!end] + offset;

	*wr = (struct ibv_send_wr){.opcode = p->op, .sg_list = sge};
	wr->num_sge = (int)gather(l, end, offset, sge);
	if (is_inline(p))
		wr->send_flags = IBV_SEND_INLINE;
	if (p->op == IBV_WR_RDMA_WRITE || p->op == IBV_WR_RDMA_READ) {
		wr->wr.rdma.remote_addr = remote;
		wr->wr.rdma.rkey = f->mr[!end]->rkey;
	} else if (p->op != IBV_WR_SEND) {
		wr->wr.atomic.remote_addr = remote;
		wr->wr.atomic.rkey = f->mr[!end]->rkey;
		wr->wr.atomic.compare_add = 1;
	}
}

bool lane_room(const struct lane *l)
{
	const struct point *p = l->f->p;
	uint32_t queue = l->posted / p->batch % p->qps;

	return l->posted < p->count && l->posted - l->completed + p->batch <= p->depth &&
	       l->outstanding[queue] + p->batch <= queue_depth(p);
}

void lane_post(struct lane *l, int end, uint32_t n, bool last)
{
	const struct point *p = l->f->p;
	struct ibv_send_wr wr[64];
	struct ibv_sge sge[64][30];
	uint32_t turn = l->posted / n, queue = turn % p->qps, number;

	for (uint32_t i = 0; i < n; i++) {
		fill(l, end, &wr[i], sge[i]);
		wr[i].wr_id = queue;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
		number = turn / p->qps * n + i; /* of the work request in its queue */
		if (p->latency ? last : number % p->signal == p->signal - 1)
			wr[i].send_flags |= IBV_SEND_SIGNALED;
	}
	link_post(l->qp[end][queue], wr);
	l->posted += n;
	l->outstanding[queue] += n;
}

void lane_receive(struct lane *l, int end, uint32_t count)
{
	struct ibv_sge sge = {(uintptr_t)l->f->buf[end], l->f->p->size, l->f->mr[end]->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	for (uint32_t i = 0; i < count; i++)
		CHECK(!(errno = ibv_post_recv(l->qp[end][i % l->f->p->qps], &wr, &bad)));
}

uint32_t lane_poll(struct lane *l, int end, uint64_t *stamp)
{
	struct ibv_poll_cq_attr attr = {0};
	struct ibv_cq_ex *cq = l->cq[end];
	uint32_t n = 0;
	int ret = ibv_start_poll(cq, &attr);

	if (ret == ENOENT)
		return 0;
	for (; !ret; ret = ibv_next_poll(cq)) {
		if (cq->status != IBV_WC_SUCCESS) {
			fprintf(stderr, "hcasim-experiment: a completion with '%s'\n",
				ibv_wc_status_str(cq->status));
			exit(1);
		}
		if (!end && !l->f->p->latency)
			l->outstanding[cq->wr_id] -= l->f->p->signal;
		stamp[n++] = ibv_wc_read_completion_ts(cq);
	}
	CHECK(ret == ENOENT);
	ibv_end_poll(cq);
	return n;
}
