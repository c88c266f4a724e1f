// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Posts work requests as a list or in a critical region (ibv_wr_start() to ibv_wr_complete()). */
#include <errno.h>
#include <string.h>

#include "soak.h"

static uint64_t wr_id(const struct request *q)
{
	return (uint64_t)q->f->id << 48 | q->r->seq;
}

/* ---- ibv_post_send() ---- */

static void fill_wr(const struct request *q, struct ibv_send_wr *wr)
{
	const struct flow *f = q->f;
	const struct record *r = q->r;

	*wr = (struct ibv_send_wr){.wr_id = wr_id(q),
				   .opcode = r->op,
				   .send_flags = q->flags | (q->inlined ? IBV_SEND_INLINE : 0),
				   .sg_list = (struct ibv_sge *)q->sge,
				   .num_sge = (int)q->num_sge};
	if (r->op == IBV_WR_SEND_WITH_INV || r->op == IBV_WR_LOCAL_INV)
		wr->invalidate_rkey = r->rkey;
	else
		wr->imm_data = htobe32(r->imm);
	if (r->op == IBV_WR_ATOMIC_CMP_AND_SWP || r->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		bool add = r->op == IBV_WR_ATOMIC_FETCH_AND_ADD;

		wr->wr.atomic.remote_addr = q->remote;
		wr->wr.atomic.rkey = r->rkey;
		wr->wr.atomic.compare_add = add ? q->operand : q->compare;
		wr->wr.atomic.swap = q->operand;
	} else if (f->kind == UD) {
		wr->wr.ud.ah = f->ah;
		wr->wr.ud.remote_qpn = f->peer->qp_num;
		wr->wr.ud.remote_qkey = QKEY;
	} else {
		wr->wr.rdma.remote_addr = q->remote;
		wr->wr.rdma.rkey = r->rkey;
	}
	if (f->kind == XRC)
		wr->qp_type.xrc.remote_srqn = f->srqn;
	if (r->op == IBV_WR_BIND_MW) {
		wr->bind_mw.mw = q->mw;
		wr->bind_mw.rkey = r->rkey;
		wr->bind_mw.bind_info = q->bind;
	} else if (r->op == IBV_WR_TSO) {
		wr->tso.hdr = (void *)q->hdr;
		wr->tso.hdr_sz = (uint16_t)q->hdr_len;
		wr->tso.mss = (uint16_t)r->mss;
	}
}

static void post_list(struct flow *f, struct request *q, unsigned int n)
{
	struct ibv_send_wr wr[BATCH], *bad = NULL;
	int ret;

	for (unsigned int i = 0; i < n; i++) {
		fill_wr(&q[i], &wr[i]);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	ret = ibv_post_send(f->qp, wr, &bad);
	REQUIRE(!ret, f, q->r->seq, "ibv_post_send: %s, at request %td of %u", strerror(ret), bad - wr, n);
}

/* ---- ibv_wr_*() ---- */

static void build(const struct request *q)
{
	const struct record *r = q->r;
	struct ibv_qp_ex *qpx = q->f->qpx;

	switch (r->op) {
	case IBV_WR_SEND:
		return ibv_wr_send(qpx);
	case IBV_WR_SEND_WITH_IMM:
		return ibv_wr_send_imm(qpx, htobe32(r->imm));
	case IBV_WR_SEND_WITH_INV:
		return ibv_wr_send_inv(qpx, r->rkey);
	case IBV_WR_RDMA_WRITE:
		return ibv_wr_rdma_write(qpx, r->rkey, q->remote);
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return ibv_wr_rdma_write_imm(qpx, r->rkey, q->remote, htobe32(r->imm));
	case IBV_WR_RDMA_READ:
		return ibv_wr_rdma_read(qpx, r->rkey, q->remote);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return ibv_wr_atomic_cmp_swp(qpx, r->rkey, q->remote, q->compare, q->operand);
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return ibv_wr_atomic_fetch_add(qpx, r->rkey, q->remote, q->operand);
	case IBV_WR_ATOMIC_WRITE:
		return ibv_wr_atomic_write(qpx, r->rkey, q->remote, &q->operand);
	case IBV_WR_FLUSH:
		return ibv_wr_flush(qpx, r->rkey, q->remote, r->len, IBV_FLUSH_GLOBAL,
				    r->seq & 1 ? IBV_FLUSH_RANGE : IBV_FLUSH_MR);
	case IBV_WR_BIND_MW:
		return ibv_wr_bind_mw(qpx, q->mw, r->rkey, &q->bind);
	case IBV_WR_LOCAL_INV:
		return ibv_wr_local_inv(qpx, r->rkey);
	default:
		return ibv_wr_send_tso(qpx, (void *)q->hdr, (uint16_t)q->hdr_len, (uint16_t)r->mss);
	}
}

static bool local_only(enum ibv_wr_opcode op)
{
	return op == IBV_WR_BIND_MW || op == IBV_WR_LOCAL_INV;
}

static void set(const struct request *q)
{
	const struct flow *f = q->f;

	if (f->kind == UD)
		ibv_wr_set_ud_addr(f->qpx, f->ah, f->peer->qp_num, QKEY);
	if (f->kind == XRC && !local_only(q->r->op))
		ibv_wr_set_xrc_srqn(f->qpx, f->srqn);
	if (q->inlined && q->num_sge == 1)
		ibv_wr_set_inline_data(f->qpx, q->data[0].addr, q->data[0].length);
	else if (q->inlined)
		ibv_wr_set_inline_data_list(f->qpx, q->num_sge, q->data);
	else if (q->num_sge == 1)
		ibv_wr_set_sge(f->qpx, q->sge[0].lkey, q->sge[0].addr, q->sge[0].length);
	else if (q->num_sge)
		ibv_wr_set_sge_list(f->qpx, q->num_sge, q->sge);
}

static void post_region(struct flow *f, struct request *q, unsigned int n)
{
	int ret;

	ibv_wr_start(f->qpx);
	for (unsigned int i = 0; i < n; i++) {
		f->qpx->wr_id = wr_id(&q[i]);
		f->qpx->wr_flags = q[i].flags;
		build(&q[i]);
		set(&q[i]);
	}
	ret = ibv_wr_complete(f->qpx);
	REQUIRE(!ret, f, q->r->seq, "ibv_wr_complete of %u: %s", n, strerror(ret));
}

/* Posts requests that are aborted. Their wr_id belongs to no flow, so a completion would be noticed. */
static void post_nothing(struct flow *f)
{
	ibv_wr_start(f->qpx);
	f->qpx->wr_id = UINT64_MAX;
	f->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(f->qpx);
	if (f->kind == UD)
		ibv_wr_set_ud_addr(f->qpx, f->ah, f->peer->qp_num, QKEY);
	if (f->kind == XRC)
		ibv_wr_set_xrc_srqn(f->qpx, f->srqn);
	ibv_wr_set_inline_data(f->qpx, f->dmac, sizeof(f->dmac));
	ibv_wr_abort(f->qpx);
	s.aborts++;
}

/* Writes one line for each request whose packets have a BTH. */
static void write_log(const struct flow *f, const struct request *q)
{
	const struct record *r = q->r;

	if (!s.log || f->kind == RAW || local_only(r->op))
		return;
	fprintf(s.log,
		"{\"kind\": \"%s\", \"dest\": [%d, %u], \"source\": %u, \"op\": %d, \"fence\": %d, \"se\": "
		"%d, "
		"\"va\": %llu, \"rkey\": %u, \"len\": %u, \"imm\": %u, \"mss\": %u, \"compare\": %llu, "
		"\"operand\": %llu, \"srqn\": %u, \"level\": %d}\n",
		kind_name[f->kind], !f->end, f->peer->qp_num, f->qp->qp_num, (int)r->op,
		!!(q->flags & IBV_SEND_FENCE), !!(q->flags & IBV_SEND_SOLICITED),
		(unsigned long long)q->remote, r->rkey, r->head + r->len, r->imm,
		r->op == IBV_WR_TSO ? r->mss : 0, (unsigned long long)q->compare,
		(unsigned long long)q->operand, f->srqn, !(r->seq & 1));
}

void post_batch(struct flow *f, struct request *q, unsigned int n)
{
	bool region = below(f, 2);

	for (unsigned int i = 0; i < n; i++)
		write_log(f, &q[i]);

	for (unsigned int i = 0; i < n; i++)
		region |= q[i].r->op == IBV_WR_FLUSH || q[i].r->op == IBV_WR_ATOMIC_WRITE;
	if (!below(f, 64))
		post_nothing(f);
	if (region)
		post_region(f, q, n);
	else
		post_list(f, q, n);
	for (unsigned int i = 0; i < n; i++)
		memset(q[i].bytes, 0xdb, sizeof(q[i].bytes));
}
