// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <sys/mman.h>

#include "bed.h"

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "test bed: %s failed\n", what);
	abort();
}

#define MUST(x) must(x, #x)

uint64_t bed_random(struct bed *bed)
{
	bed->rand ^= bed->rand << 13;
	bed->rand ^= bed->rand >> 7;
	bed->rand ^= bed->rand << 17;
	return bed->rand;
}

void *bed_alloc(struct bed *bed, size_t len)
{
	void *mem = calloc(1, len);

	MUST(mem);
	MUST(untimed_mem(bed->u, mem, len));
	return mem;
}

void bed_release(struct bed *bed, void *mem)
{
	untimed_mem_close(bed->u, mem);
	free(mem);
}

static enum untimed_fate on_wire(void *ctx, unsigned int from, struct hca_packet *pkt)
{
	struct bed *bed = ctx;

	bed->frames++;
	return bed->wire ? bed->wire(bed, from, pkt) : UNTIMED_DELIVER;
}

static bool on_dma(void *ctx, unsigned int side, const struct hca_dma *dma)
{
	struct bed *bed = ctx;

	return !bed->dma || bed->dma(bed, side, dma);
}

static void on_msix(void *ctx, unsigned int hca, unsigned int vector)
{
	((struct bed *)ctx)->irqs[hca]++;
}

struct bed *bed_new(const struct hca_config *cfg, uint64_t seed)
{
	struct bed *bed = calloc(1, sizeof(*bed));
	struct untimed_hooks hooks = {.ctx = bed, .wire = on_wire, .msix = on_msix, .dma = on_dma};
	unsigned int i;

	MUST(bed);
	bed->rand = seed + 12345;
	bed->u = untimed_create(2, &tiny_personality, cfg, &hooks, seed);
	MUST(bed->u);
	for (i = 0; i < 2; i++) {
		struct hca_eq_attr attr = {.ring = {.entries = BED_EQ, .stride = sizeof(struct tiny_eqe)}};

		bed->hca[i] = untimed_hca(bed->u, i);
		bed->eq[i] = bed_alloc(bed, BED_EQ * sizeof(struct tiny_eqe));
		attr.ring.addr = (uintptr_t)bed->eq[i];
		MUST(!hca_eq_create(bed->hca[i], &attr, &bed->eqn[i]));
		hca_async_eq(bed->hca[i], bed->eqn[i]);
	}
	return bed;
}

void bed_free(struct bed *bed)
{
	struct bed_qp *qp;
	struct bed_cq *cq;

	untimed_destroy(bed->u);
	while ((qp = bed->qps)) {
		bed->qps = qp->next;
		free(qp->sq);
		free(qp->rq);
		free(qp->rec);
		free(qp);
	}
	while ((cq = bed->cqs)) {
		bed->cqs = cq->next;
		free(cq->ring);
		free(cq->rec);
		free(cq);
	}
	free(bed->eq[0]);
	free(bed->eq[1]);
	free(bed);
}

void bed_run(struct bed *bed)
{
	CU_ASSERT_TRUE(untimed_run(bed->u, BED_STEPS));
}

void bed_settle(struct bed *bed, hca_ps duration)
{
	hca_ps until = untimed_now(bed->u) + duration;

	CU_ASSERT_TRUE(untimed_settle(bed->u, until, BED_STEPS));
	untimed_advance(bed->u, until);
}

/* ---- Completions and events ---- */

struct bed_cq *bed_cq(struct bed *bed, unsigned int side, uint32_t entries)
{
	struct bed_cq *cq = calloc(1, sizeof(*cq));
	struct hca_cq_attr attr = {.ring = {.pasid = BED_PASID, .entries = entries, .stride = 64}};

	MUST(cq);
	cq->bed = bed;
	cq->side = side;
	cq->entries = entries;
	cq->ring = bed_alloc(bed, entries * sizeof(*cq->ring));
	cq->rec = bed_alloc(bed, sizeof(*cq->rec));
	attr.ring.addr = (uintptr_t)cq->ring;
	attr.record = (uintptr_t)cq->rec;
	attr.eqn = bed->eqn[side];
	MUST(!hca_cq_create(bed->hca[side], &attr, &cq->cqn));
	cq->next = bed->cqs;
	bed->cqs = cq;
	return cq;
}

bool bed_poll(struct bed_cq *cq, struct tiny_cqe *cqe)
{
	const struct tiny_cqe *c = &cq->ring[cq->ci & (cq->entries - 1)];

	if (c->phase != !(cq->ci / cq->entries & 1) || !c->qpn)
		return false;
	*cqe = *c;
	cq->ci++;
	return true;
}

void bed_cq_sync(struct bed_cq *cq)
{
	cq->rec->ci = htole32(cq->ci);
}

void bed_arm(struct bed_cq *cq, unsigned int sn, bool solicited)
{
	uint64_t v = HCASIM_FIELD_PREP(HCASIM_DB_CQ_CQN_MASK, cq->cqn) |
		     HCASIM_FIELD_PREP(HCASIM_DB_CQ_ARM_SN_MASK, sn & 3) |
		     HCASIM_FIELD_PREP(HCASIM_DB_CQ_SOLICITED_MASK, solicited) |
		     HCASIM_FIELD_PREP(HCASIM_DB_CQ_CI_MASK, cq->ci);

	cq->rec->arm = htole32(HCASIM_FIELD_PREP(HCASIM_CQ_RECORD_SN_MASK, sn & 3) |
			       HCASIM_FIELD_PREP(HCASIM_CQ_RECORD_SOLICITED_MASK, solicited));
	hca_mmio_write(cq->bed->hca[cq->side], HCASIM_BAR_UAR, HCASIM_UAR_DB_CQ, &v, sizeof(v));
}

unsigned int bed_events(struct bed *bed, unsigned int side, uint8_t type, uint32_t number)
{
	unsigned int count = 0;
	uint32_t i;

	for (i = bed->eq_ci[side];; i++) {
		struct tiny_eqe *e = &bed->eq[side][i & (BED_EQ - 1)];

		if (!e->type || e->phase != !(i / BED_EQ & 1))
			break;
		if (e->type == type && e->number == number) {
			count++;
			e->number = UINT32_MAX; /* told */
		}
	}
	return count;
}

struct tiny_cqe bed_expect(struct bed_cq *cq, uint8_t status)
{
	struct tiny_cqe cqe = {0};
	bool got = bed_poll(cq, &cqe);

	CU_ASSERT_TRUE(got);
	if (got && cqe.status != status)
		fprintf(stderr, "  status %s, vendor %s; expected %s\n", hcasim_cqe_status_name(cqe.status),
			hcasim_vendor_err_name(cqe.vendor_err), hcasim_cqe_status_name(status));
	CU_ASSERT_EQUAL(cqe.status, status);
	return cqe;
}

void bed_expect_none(struct bed_cq *cq)
{
	struct tiny_cqe cqe;

	CU_ASSERT_FALSE(bed_poll(cq, &cqe));
}

/* ---- Queue pairs ---- */

struct bed_qp *bed_qp(struct bed *bed, unsigned int side, uint8_t type, struct bed_cq *scq,
		      struct bed_cq *rcq)
{
	struct bed_qp *qp = calloc(1, sizeof(*qp));
	struct hca_qp_attr_create c = {.type = type,
				       .pdn = BED_PD,
				       .max_inline = 512,
				       .max_send_sge = 16,
				       .max_recv_sge = 4,
				       .max_send_wr = 64,
				       .max_recv_wr = 64};

	MUST(qp);
	qp->bed = bed;
	qp->side = side;
	qp->type = type;
	qp->sq_bbs = 256;
	qp->rq_wqes = 64;
	qp->rq_stride = 128;
	qp->sq = bed_alloc(bed, qp->sq_bbs * TINY_BB);
	qp->rq = bed_alloc(bed, qp->rq_wqes * qp->rq_stride);
	qp->rec = bed_alloc(bed, sizeof(*qp->rec));
	qp->scq = scq;
	qp->rcq = rcq;
	c.send_cqn = scq ? scq->cqn : 0;
	c.recv_cqn = rcq ? rcq->cqn : 0;
	c.sq = (struct hca_ring){BED_PASID, (uintptr_t)qp->sq, qp->sq_bbs, TINY_BB};
	c.rq = (struct hca_ring){BED_PASID, (uintptr_t)qp->rq, qp->rq_wqes, qp->rq_stride};
	c.record = (uintptr_t)qp->rec;
	if (type == HCASIM_QPT_XRC_SEND || type == HCASIM_QPT_XRC_RECV)
		c.rq.entries = 0;
	if (type == HCASIM_QPT_XRC_RECV) {
		c.sq.entries = 0;
		c.xrcdn = BED_XRC_DOMAIN;
	}
	if (bed->srqn && side == 1) {
		c.srqn = bed->srqn;
		c.rq.entries = 0;
	}
	MUST(!hca_qp_create(bed->hca[side], &c, &qp->qpn));
	qp->next = bed->qps;
	bed->qps = qp;
	return qp;
}

void bed_state(struct bed_qp *qp, uint8_t state)
{
	struct hca_qp_attr a = {.state = state};

	MUST(!hca_qp_modify(qp->bed->hca[qp->side], qp->qpn, &a, HCASIM_QP_ATTR_STATE));
	if (state == HCASIM_QPS_RESET) {
		qp->pi = 0;
		qp->rq_pi = 0;
		memset(qp->rec, 0, sizeof(*qp->rec));
	}
}

uint8_t bed_query(struct bed_qp *qp)
{
	struct hca_qp_attr a;

	MUST(!hca_qp_query(qp->bed->hca[qp->side], qp->qpn, &a));
	return a.state;
}

static uint8_t either(uint8_t v, uint8_t usual)
{
	return v ? v : usual;
}

static void connect_one(struct bed_qp *qp, const struct bed_qp *peer, const struct bed_path *p)
{
	struct hca_qp_attr a = {
		.path_mtu = either(p->mtu, 3),
		.port = 1,
		.timeout = p->timeout == 255 ? 0 : either(p->timeout, 14),
		.retry_cnt = p->retry == 255 ? 0 : either(p->retry, 7),
		.rnr_retry = p->rnr_retry == 255 ? 0 : either(p->rnr_retry, 7),
		.min_rnr_timer = either(p->rnr_timer, 12),
		.max_rd_atomic = p->rd_atomic == 255 ? 0 : either(p->rd_atomic, 4),
		.max_dest_rd_atomic = p->dest_rd_atomic == 255 ? 0 : either(p->dest_rd_atomic, 4),
		.access = p->access ? p->access : BED_ALL,
		.rq_psn = p->psn,
		.sq_psn = p->psn,
		.dest_qpn = peer->qpn,
		.av = {.hop_limit = 64, .port = 1},
	};

	untimed_gid(peer->side, 1, a.av.dgid);
	untimed_mac(peer->side, 1, a.av.dmac);
	MUST(!hca_qp_modify(qp->bed->hca[qp->side], qp->qpn, &a,
			    HCASIM_QP_ATTR_PORT | HCASIM_QP_ATTR_ACCESS_FLAGS | HCASIM_QP_ATTR_AV |
				    HCASIM_QP_ATTR_PATH_MTU | HCASIM_QP_ATTR_DEST_QPN |
				    HCASIM_QP_ATTR_RQ_PSN | HCASIM_QP_ATTR_MAX_DEST_RD_ATOMIC |
				    HCASIM_QP_ATTR_MIN_RNR_TIMER | HCASIM_QP_ATTR_TIMEOUT |
				    HCASIM_QP_ATTR_RETRY_CNT | HCASIM_QP_ATTR_RNR_RETRY |
				    HCASIM_QP_ATTR_SQ_PSN | HCASIM_QP_ATTR_MAX_QP_RD_ATOMIC));
	bed_state(qp, HCASIM_QPS_INIT);
	bed_state(qp, HCASIM_QPS_RTR);
	bed_state(qp, HCASIM_QPS_RTS);
}

void bed_connect(struct bed_qp *a, struct bed_qp *b, const struct bed_path *path)
{
	static const struct bed_path usual;

	connect_one(a, b, path ? path : &usual);
	if (a != b)
		connect_one(b, a, path ? path : &usual);
}

void bed_ud_up(struct bed_qp *qp, uint32_t qkey)
{
	struct hca_qp_attr a = {.port = 1, .qkey = qkey};

	MUST(!hca_qp_modify(qp->bed->hca[qp->side], qp->qpn, &a, HCASIM_QP_ATTR_PORT | HCASIM_QP_ATTR_QKEY));
	bed_state(qp, HCASIM_QPS_INIT);
	bed_state(qp, HCASIM_QPS_RTR);
	bed_state(qp, HCASIM_QPS_RTS);
}

uint32_t bed_mr(struct bed *bed, unsigned int side, void *mem, size_t len, uint32_t access)
{
	struct hca_mr_attr a = {.pdn = BED_PD,
				.access = access,
				.pasid = BED_PASID,
				.va = (uintptr_t)mem,
				.iova = (uintptr_t)mem,
				.length = len};
	uint32_t key;

	MUST(!hca_mr_create(bed->hca[side], &a, &key));
	return key;
}

struct hca_sge bed_sge(const void *mem, uint32_t len, uint32_t key)
{
	return (struct hca_sge){.addr = (uintptr_t)mem, .length = len, .lkey = key};
}

uint16_t bed_put(struct bed_qp *qp, const struct tiny_wqe *tmpl, const struct hca_av *av, const void *data,
		 uint32_t num_sge)
{
	uint8_t buf[HCA_WQE_MAX] = {0}, *p = buf + sizeof(*tmpl);
	bool inl = tmpl->flags & HCA_WR_INLINE;
	uint32_t len = inl ? tmpl->num_sge : num_sge * (uint32_t)sizeof(struct hca_sge), i, bbs;
	struct tiny_wqe w = *tmpl;
	uint16_t index = qp->pi;

	w.index = index;
	w.qpn = qp->qpn;
	w.magic = TINY_MAGIC;
	if (!inl)
		w.num_sge = num_sge;
	if (av) {
		memcpy(p, av, sizeof(*av));
		p += sizeof(*av);
	}
	if (len)
		memcpy(p, data, len);
	p += len;
	w.units = (uint8_t)((p - buf + 15) / 16);
	memcpy(buf, &w, sizeof(w));
	bbs = (w.units * 16u + TINY_BB - 1) / TINY_BB;
	for (i = 0; i < bbs; i++)
		memcpy(qp->sq + (size_t)((qp->pi + i) & (qp->sq_bbs - 1)) * TINY_BB, buf + i * TINY_BB,
		       TINY_BB);
	qp->pi = (uint16_t)(qp->pi + bbs);
	qp->rec->sq_pi = htole32(qp->pi);
	return index;
}

void bed_ring_at(struct bed_qp *qp, uint16_t pi)
{
	uint64_t v = HCASIM_FIELD_PREP(HCASIM_DB_SQ_QPN_MASK, qp->qpn) |
		     HCASIM_FIELD_PREP(HCASIM_DB_SQ_PI_MASK, pi);

	hca_mmio_write(qp->bed->hca[qp->side], HCASIM_BAR_UAR, HCASIM_UAR_DB_SQ, &v, sizeof(v));
}

void bed_ring(struct bed_qp *qp)
{
	bed_ring_at(qp, qp->pi);
}

void bed_send(struct bed_qp *qp, uint8_t op, uint32_t flags, struct hca_sge sge, uint64_t raddr,
	      uint32_t rkey)
{
	struct tiny_wqe w = {
		.op = op, .flags = flags, .remote_addr = raddr, .rkey = rkey, .imm = htobe32(0xabcd1234)};

	bed_put(qp, &w, NULL, &sge, 1);
	bed_ring(qp);
}

void bed_recv(struct bed_qp *qp, const struct hca_sge *sge, uint32_t n)
{
	struct tiny_rqe *r =
		(struct tiny_rqe *)(qp->rq + (size_t)(qp->rq_pi & (qp->rq_wqes - 1)) * qp->rq_stride);

	r->index = (uint16_t)qp->rq_pi;
	r->num_sge = (uint16_t)n;
	memcpy(r->sge, sge, n * sizeof(*sge));
	qp->rq_pi++;
	qp->rec->rq_pi = htole32(qp->rq_pi);
}

void bed_fill(void *mem, size_t len, unsigned int seed)
{
	uint8_t *p = mem;
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = (uint8_t)((i + seed) * 2654435761u >> 24);
}

/* ---- Pairs ---- */

void pair_new(struct pair *p, uint8_t type, const struct bed_path *path, const struct hca_config *cfg,
	      uint64_t seed, uint32_t len)
{
	unsigned int i;

	memset(p, 0, sizeof(*p));
	p->bed = bed_new(cfg, seed);
	p->len = len;
	for (i = 0; i < 2; i++) {
		p->scq[i] = bed_cq(p->bed, i, 256);
		p->rcq[i] = bed_cq(p->bed, i, 256);
		p->qp[i] = bed_qp(p->bed, i, type, p->scq[i], p->rcq[i]);
		p->mem[i] = bed_alloc(p->bed, len);
		p->key[i] = bed_mr(p->bed, i, p->mem[i], len, BED_ALL);
		bed_fill(p->mem[i], len, i * 77 + 1);
	}
	if (type != HCASIM_QPT_UD)
		bed_connect(p->qp[0], p->qp[1], path);
}

void pair_free(struct pair *p)
{
	uint8_t *mem[2] = {p->mem[0], p->mem[1]};

	bed_free(p->bed);
	free(mem[0]);
	free(mem[1]);
}
