/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include "post/journal.h"
#include "remote/remote.h"
#include "post/post.h"

static void build_memory_window(struct link *l, struct plan *p, struct log *log)
{
	struct ibv_mw_bind_info info = {
		.mr = l->local.mr,
		.addr = (uintptr_t)l->local.base,
		.length = l->local.size,
		.mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};

	log_call(log, "ibv_wr_bind_mw(qpx, mw, ibv_inc_rkey(mw->rkey), &(struct ibv_mw_bind_info){mr, "
		      "(uintptr_t)mr->addr, mr->length, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE})");
	ibv_wr_bind_mw(l->qpx, l->mw, ibv_inc_rkey(l->mw->rkey), &info);
}

static void build_remote(struct link *l, struct plan *p, struct log *log)
{
	struct ibv_qp_ex *qpx = l->qpx;
	uint64_t addr = arena_address(&l->target, p->target);
	uint32_t rkey = p->rkey;

	switch (p->wr->op) {
	case IBV_WR_RDMA_WRITE:
		log_call(log, "ibv_wr_rdma_write(qpx, rkey, remote_addr)");
		ibv_wr_rdma_write(qpx, rkey, addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		log_call(log, "ibv_wr_rdma_write_imm(qpx, rkey, remote_addr, htonl(0x%x))", be32toh(p->imm));
		ibv_wr_rdma_write_imm(qpx, rkey, addr, p->imm);
		break;
	case IBV_WR_RDMA_READ:
		log_call(log, "ibv_wr_rdma_read(qpx, rkey, remote_addr)");
		ibv_wr_rdma_read(qpx, rkey, addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		log_call(log, "ibv_wr_atomic_cmp_swp(qpx, rkey, remote_addr, compare, swap)");
		ibv_wr_atomic_cmp_swp(qpx, rkey, addr, p->compare, p->operand);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		log_call(log, "ibv_wr_atomic_fetch_add(qpx, rkey, remote_addr, add)");
		ibv_wr_atomic_fetch_add(qpx, rkey, addr, p->operand);
		break;
	case IBV_WR_FLUSH:
		log_call(log, "ibv_wr_flush(qpx, rkey, remote_addr, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE)");
		ibv_wr_flush(qpx, rkey, addr, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
		break;
	default: /* IBV_WR_ATOMIC_WRITE */
		log_call(log, "ibv_wr_atomic_write(qpx, rkey, remote_addr, &value)");
		ibv_wr_atomic_write(qpx, rkey, addr, &p->operand);
		break;
	}
}

static void build(struct link *l, struct plan *p, struct log *log)
{
	switch (p->wr->op) {
	case IBV_WR_SEND:
		log_call(log, "ibv_wr_send(qpx)");
		ibv_wr_send(l->qpx);
		break;
	case IBV_WR_SEND_WITH_IMM:
		log_call(log, "ibv_wr_send_imm(qpx, htonl(0x%x))", be32toh(p->imm));
		ibv_wr_send_imm(l->qpx, p->imm);
		break;
	case IBV_WR_SEND_WITH_INV:
		log_call(log, "ibv_wr_send_inv(qpx, %s)", l->mw ? "mw->rkey" : "0");
		ibv_wr_send_inv(l->qpx, p->inv_rkey);
		break;
	case IBV_WR_LOCAL_INV:
		log_call(log, "ibv_wr_local_inv(qpx, %s)", l->mw ? "mw->rkey" : "0");
		ibv_wr_local_inv(l->qpx, p->inv_rkey);
		break;
	case IBV_WR_BIND_MW:
		build_memory_window(l, p, log);
		break;
	case IBV_WR_TSO:
		log_call(log, "ibv_wr_send_tso(qpx, hdr, %d, %d)", PLAN_TSO_HDR, PLAN_TSO_MSS);
		ibv_wr_send_tso(l->qpx, p->tso_hdr, PLAN_TSO_HDR, PLAN_TSO_MSS);
		break;
	default:
		build_remote(l, p, log);
		break;
	}
}

static void set_qp(struct link *l, struct plan *p, enum qp_setter setter, struct log *log)
{
	switch (setter) {
	case QPSET_UD_ADDR:
		log_call(log, "ibv_wr_set_ud_addr(qpx, ah, remote_qpn, 0x%x)", p->qkey);
		ibv_wr_set_ud_addr(l->qpx, p->ah, p->qpn, p->qkey);
		break;
	case QPSET_XRC_SRQN:
		log_call(log, "ibv_wr_set_xrc_srqn(qpx, srqn)");
		ibv_wr_set_xrc_srqn(l->qpx, p->srqn);
		break;
	default:
		break;
	}
}

static void set_data(struct link *l, struct plan *p, enum data_setter setter, struct log *log)
{
	struct ibv_data_buf buf[CELL_MAX_SGE] = {};

	for (unsigned int i = 0; i < p->num_sge; i++)
		buf[i] = (struct ibv_data_buf){(void *)(uintptr_t)p->sge[i].addr, p->sge[i].length};
	switch (setter) {
	case DATA_SGE:
		log_call(log, "ibv_wr_set_sge(qpx, lkey, (uintptr_t)addr, %u)", p->sge[0].length);
		ibv_wr_set_sge(l->qpx, p->sge[0].lkey, p->sge[0].addr, p->sge[0].length);
		break;
	case DATA_SGE_LIST:
		log_sges(log, &(struct log_list){"sg_list", "addr", "lkey", 0}, p->sge, p->num_sge);
		log_call(log, "ibv_wr_set_sge_list(qpx, %u, sg_list /* %u bytes */)", p->num_sge, p->total);
		ibv_wr_set_sge_list(l->qpx, p->num_sge, p->sge);
		break;
	case DATA_INLINE:
		log_call(log, "ibv_wr_set_inline_data(qpx, addr, %u)", p->total);
		ibv_wr_set_inline_data(l->qpx, buf[0].addr, buf[0].length);
		break;
	case DATA_INLINE_LIST:
		log_sges(log, &(struct log_list){"buf_list", "addr", NULL, 0}, p->sge, p->num_sge);
		log_call(log, "ibv_wr_set_inline_data_list(qpx, %u, buf_list /* %u bytes */)", p->num_sge,
			 p->total);
		ibv_wr_set_inline_data_list(l->qpx, p->num_sge, buf);
		break;
	default:
		break;
	}
}

/* The setters may be called in any order. */
static void set_all(struct link *l, struct plan *p, struct log *log)
{
	if (p->data_first)
		set_data(l, p, p->wr->data, log);
	set_qp(l, p, p->wr->qp_setter, log);
	set_qp(l, p, p->wr->qp_setter_again, log);
	if (!p->data_first)
		set_data(l, p, p->wr->data, log);
	set_data(l, p, p->wr->data_again, log);
}

struct posted post_wr_inside(struct link *l, struct plan *plans, unsigned int num, bool abort,
			     const struct inside *inside, struct log *log)
{
	struct posted posted = {.bad = -1};
	char flags[128];

	link_push(l);
	log_call(log, "ibv_wr_start(qpx)");
	ibv_wr_start(l->qpx);
	if (inside && !inside->last)
		inside->call(inside->arg);
	for (unsigned int i = 0; i < num; i++) {
		struct plan *p = &plans[i];

		log_call(log, "qpx->wr_id = 0x%llx, qpx->wr_flags = %s", (unsigned long long)p->wr_id,
			 flags_name(send_flag_names, "IBV_SEND_", p->wr->flags, flags, sizeof(flags)));
		l->qpx->wr_id = p->wr_id;
		l->qpx->wr_flags = p->wr->flags;
		build(l, p, log);
		if (p->late) {
			log_call(log, "qpx->wr_id = ~qpx->wr_id, qpx->wr_flags ^= IBV_SEND_SIGNALED");
			l->qpx->wr_id = ~l->qpx->wr_id;
			l->qpx->wr_flags ^= IBV_SEND_SIGNALED;
		}
		set_all(l, p, log);
		plan_scribble(p, l); /* the setter has copied the data */
	}
	if (inside && inside->last)
		inside->call(inside->arg);
	log_call(log, abort ? "ibv_wr_abort(qpx)" : "ibv_wr_complete(qpx)");
	if (abort)
		ibv_wr_abort(l->qpx);
	else
		posted.rc = ibv_wr_complete(l->qpx);
	journal_plans(log, l, plans, num, posted.rc, abort);
	return posted;
}

struct posted post_wr(struct link *l, struct plan *plans, unsigned int num, bool abort, struct log *log)
{
	return post_wr_inside(l, plans, num, abort, NULL, log);
}
