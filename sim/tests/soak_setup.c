// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The 64 queue pairs, and what each of them needs. */
#include <fcntl.h>

#include "soak.h"

#define POOL     (1u << 20)
#define STRIDE   (SLOT + 64u)
#define DGRAM    2048u
#define RECV_LEN (64u << 20)
#define ALL_RIGHTS                                                                                           \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |                         \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_MW_BIND)
#define OPS_SEND (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_UC                                                                                               \
	(OPS_SEND | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE |                               \
	 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV)
#define OPS_RC                                                                                               \
	(OPS_UC | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |                             \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)

/* Number of pairs of each type: 64 queue pairs in all. XRC pairs have one direction, the others two. */
static const unsigned int pairs[KINDS] = {10, 6, 6, 6, 4};
static const uint64_t ops_of[KINDS] = {OPS_RC, OPS_UC, OPS_SEND | IBV_QP_EX_WITH_TSO, OPS_RC,
				       IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO};
static const enum ibv_qp_type type_of[KINDS] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND,
						IBV_QPT_RAW_PACKET};

static uint8_t *region(int end, size_t len, int access, struct ibv_mr **mr)
{
	uint8_t *mem = aligned_alloc(4096, len);

	CHECK(mem);
	memset(mem, GUARD, len);
	*mr = ibv_reg_mr(s.l.pd[end], mem, len, access);
	CHECK(*mr);
	return mem;
}

static void open_memory(void)
{
	uint64_t seed = s.seed;

	s.pool = malloc(POOL + SLOT);
	CHECK(s.pool);
	for (size_t i = 0; i < POOL + SLOT; i += 8) {
		uint64_t word = draw(&seed);

		memcpy(s.pool + i, &word, 8);
	}
	for (int end = 0; end < 2; end++) {
		s.local[end] = region(end, (size_t)NUM_FLOWS * DEPTH * STRIDE, IBV_ACCESS_LOCAL_WRITE,
				      &s.local_mr[end]);
		s.target[end] =
			region(end, (size_t)NUM_FLOWS * UC_SLOTS * SLOT, ALL_RIGHTS, &s.target_mr[end]);
		s.recv[end] = region(end, RECV_LEN, IBV_ACCESS_LOCAL_WRITE, &s.recv_mr[end]);
	}
}

struct recvq *recvq_new(int end, uint32_t depth, uint32_t stride)
{
	struct recvq *q = calloc(1, sizeof(*q));

	CHECK(q);
	q->depth = depth;
	q->stride = stride;
	q->mr = s.recv_mr[end];
	q->buf = s.recv[end] + s.recv_used[end];
	s.recv_used[end] += (size_t)depth * stride;
	CHECK(s.recv_used[end] <= RECV_LEN);
	return q;
}

static void open_srqs(int end)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = SRQ_DEPTH, .max_sge = 1}};
	struct ibv_xrcd_init_attr xrcd = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
	struct ibv_srq_init_attr_ex ex = {
		.attr = {.max_wr = SRQ_DEPTH, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = s.l.pd[end],
		.cq = s.cq[end][0],
	};

	s.shared[end] = recvq_new(end, SRQ_DEPTH, STRIDE);
	s.shared[end]->srq = ibv_create_srq(s.l.pd[end], &attr);
	CHECK(s.shared[end]->srq);
	s.xrcd[end] = ibv_open_xrcd(s.l.ctx[end], &xrcd);
	CHECK(s.xrcd[end]);
	ex.xrcd = s.xrcd[end];
	s.xrc[end] = recvq_new(end, SRQ_DEPTH, STRIDE);
	s.xrc[end]->srq = ibv_create_srq_ex(s.l.ctx[end], &ex);
	CHECK(s.xrc[end]->srq);
}

/* Every other CQ is an extended one. */
static void open_cqs(int end)
{
	struct ibv_cq_init_attr_ex ex = {
		.cqe = 16384, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};

	for (unsigned int i = 0; i < NUM_CQ; i++) {
		if (i & 1)
			s.cq[end][i] = ibv_cq_ex_to_cq(ibv_create_cq_ex(s.l.ctx[end], &ex));
		else
			s.cq[end][i] = ibv_create_cq(s.l.ctx[end], 16384, NULL, NULL, 0);
		CHECK(s.cq[end][i]);
	}
}

static bool datagrams(enum kind kind)
{
	return kind == UD || kind == RAW;
}

static struct ibv_qp *create_qp(int end, enum kind kind, unsigned int id, struct recvq *rq)
{
	struct ibv_cq *cq = s.cq[end][id % NUM_CQ];
	struct ibv_qp_init_attr_ex init = {
		.send_cq = cq,
		.recv_cq = kind == XRC ? NULL : cq,
		.srq = rq ? rq->srq : NULL,
		.cap = {DEPTH, rq && !rq->srq ? rq->depth : 0, MAX_SGE, rq && !rq->srq ? 1 : 0, INLINE},
		.qp_type = type_of[kind],
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
			     (datagrams(kind) ? IBV_QP_INIT_ATTR_MAX_TSO_HEADER : 0),
		.pd = s.l.pd[end],
		.max_tso_header = datagrams(kind) ? 64 : 0,
		.send_ops_flags = ops_of[kind],
	};
	struct ibv_qp *qp = ibv_create_qp_ex(s.l.ctx[end], &init);

	CHECK(qp);
	if (rq && !rq->srq)
		rq->qp = qp;
	return qp;
}

static struct ibv_qp *create_xrc_recv(int end)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = s.xrcd[end]};
	struct ibv_qp *qp = ibv_create_qp_ex(s.l.ctx[end], &init);

	CHECK(qp);
	return qp;
}

/* The first sequence number is chosen so that they wrap soon. */
static void bring_up(struct ibv_qp *qp, int end, uint32_t dest)
{
	struct ibv_qp_attr attr = link_attr(&s.l, end, dest);

	attr.qkey = QKEY;
	attr.qp_access_flags |= IBV_ACCESS_FLUSH_GLOBAL;
	attr.path_mtu = IBV_MTU_1024;
	attr.rq_psn = attr.sq_psn = 0xfff000;
	attr.min_rnr_timer = 1;
	attr.timeout = 8;
	link_modify(qp, &attr, IBV_QPS_RTS);
}

/* A raw responder gets the frames with its requester's source address, which only this flow uses. */
static void steer(struct flow *f)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule), .num_of_specs = 1, .port = 1},
		.eth = {.type = IBV_FLOW_SPEC_ETH,
			.size = sizeof(rule.eth),
			.val.src_mac = {2, 0, 0, 0, 0, (uint8_t)f->id}},
	};
	union ibv_gid gid;

	memset(rule.eth.mask.src_mac, 0xff, 6);
	f->steer = ibv_create_flow(f->peer, &rule.attr);
	CHECK(f->steer);
	CHECK(!(errno = ibv_query_gid(s.l.ctx[!f->end], 1, 0, &gid)));
	memcpy(f->dmac,
	       (uint8_t[]){gid.raw[8] ^ 2, gid.raw[9], gid.raw[10], gid.raw[13], gid.raw[14], gid.raw[15]},
	       6);
}

static void open_flow(struct flow *f, enum kind kind, int end, struct ibv_qp *qp, struct ibv_qp *peer,
		      struct recvq *rq)
{
	unsigned int id = (unsigned int)(f - s.flow);
	struct ibv_ah_attr path = link_path(&s.l, end);

	f->id = id;
	f->kind = kind;
	f->end = end;
	f->qp = qp;
	f->qpx = ibv_qp_to_qp_ex(qp);
	f->peer = peer;
	f->rq = rq;
	f->rand = s.seed * 1000 + id;
	f->rec = calloc(RECORDS, sizeof(*f->rec));
	f->rx_seq = calloc(RECORDS, sizeof(*f->rx_seq));
	f->shadow = calloc(1, TARGET);
	f->snap = calloc(DEPTH, SLOT);
	CHECK(f->qpx && f->rec && f->rx_seq && f->shadow && f->snap);
	f->local = s.local[end] + (size_t)id * DEPTH * STRIDE;
	f->target = s.target[!end] + (size_t)id * UC_SLOTS * SLOT;
	memset(f->target, 0, UC_SLOTS * SLOT);
	if (kind == UD) {
		f->ah = ibv_create_ah(s.l.pd[end], &path);
		CHECK(f->ah);
	}
	if (kind == XRC)
		CHECK(!(errno = ibv_get_srq_num(rq->srq, &f->srqn)));
	if (kind == RAW)
		steer(f);
	if (!datagrams(kind)) {
		f->win.mw = ibv_alloc_mw(s.l.pd[!end], IBV_MW_TYPE_2);
		CHECK(f->win.mw);
	}
	CHECK(peer->qp_num < 4096);
	s.by_qpn[!end][peer->qp_num] = f;
}

static void serve(struct flow *a, struct flow *b)
{
	a->server = a->customer = b;
	b->server = b->customer = a;
}

/* Opens both directions of a pair. Half of the RC pairs receive from the shared queue. */
static struct flow *open_pair(struct flow *f, enum kind kind, unsigned int n)
{
	struct ibv_qp *qp[2];
	struct recvq *rq[2];

	for (int end = 0; end < 2; end++) {
		if (kind == RC && n & 1)
			rq[end] = s.shared[end];
		else if (datagrams(kind))
			rq[end] = recvq_new(end, DGRAM_DEPTH, DGRAM);
		else
			rq[end] = recvq_new(end, RQ_DEPTH, STRIDE);
		qp[end] = create_qp(end, kind, n, rq[end]);
	}
	for (int end = 0; end < 2; end++) {
		bring_up(qp[end], end, qp[!end]->qp_num);
		open_flow(f + end, kind, end, qp[end], qp[!end], rq[!end]);
	}
	if (!datagrams(kind))
		serve(f, f + 1);
	return f + 2;
}

/* XRC pairs alternate in direction, so that two consecutive pairs can bind each other's windows. */
static struct flow *open_xrc(struct flow *f, unsigned int n)
{
	int end = n & 1;
	struct ibv_qp *qp = create_qp(end, XRC, n, NULL), *peer = create_xrc_recv(!end);

	bring_up(peer, !end, qp->qp_num);
	bring_up(qp, end, peer->qp_num);
	open_flow(f, XRC, end, qp, peer, s.xrc[!end]);
	if (n & 1)
		serve(f, f - 1);
	return f + 1;
}

void soak_open(void)
{
	struct flow *f = s.flow;

	link_open(&s.l, 4096);
	open_memory();
	for (int end = 0; end < 2; end++) {
		open_cqs(end);
		open_srqs(end);
	}
	for (enum kind kind = 0; kind < KINDS; kind++)
		for (unsigned int n = 0; n < pairs[kind]; n++)
			f = kind == XRC ? open_xrc(f, n) : open_pair(f, kind, n);
	for (int end = 0; end < 2; end++) {
		recvq_fill(s.shared[end]);
		recvq_fill(s.xrc[end]);
	}
	for (f = s.flow; f < s.flow + NUM_FLOWS; f++)
		if (!f->rq->srq)
			recvq_fill(f->rq);
}

static void close_flow(struct flow *f)
{
	if (f->steer)
		CHECK(!(errno = ibv_destroy_flow(f->steer)));
	if (f->ah)
		CHECK(!(errno = ibv_destroy_ah(f->ah)));
	if (f->win.mw)
		CHECK(!(errno = ibv_dealloc_mw(f->win.mw)));
	if (f->kind == XRC)
		CHECK(!(errno = ibv_destroy_qp(f->peer)));
	free(f->rec);
	free(f->rx_seq);
	free(f->shadow);
	free(f->snap);
}

static void close_end(int end)
{
	CHECK(!(errno = ibv_destroy_srq(s.shared[end]->srq)));
	CHECK(!(errno = ibv_destroy_srq(s.xrc[end]->srq)));
	CHECK(!(errno = ibv_close_xrcd(s.xrcd[end])));
	for (unsigned int i = 0; i < NUM_CQ; i++)
		CHECK(!(errno = ibv_destroy_cq(s.cq[end][i])));
	CHECK(!(errno = ibv_dereg_mr(s.local_mr[end])));
	CHECK(!(errno = ibv_dereg_mr(s.target_mr[end])));
	CHECK(!(errno = ibv_dereg_mr(s.recv_mr[end])));
	free(s.local[end]);
	free(s.target[end]);
	free(s.recv[end]);
	free(s.shared[end]);
	free(s.xrc[end]);
}

void soak_close(void)
{
	struct flow *f;

	for (f = s.flow; f < s.flow + NUM_FLOWS; f++)
		close_flow(f);
	for (f = s.flow; f < s.flow + NUM_FLOWS; f++) {
		CHECK(!(errno = ibv_destroy_qp(f->qp)));
		if (!f->rq->srq)
			free(f->rq);
	}
	for (int end = 0; end < 2; end++)
		close_end(end);
	free(s.pool);
	link_close(&s.l);
}
