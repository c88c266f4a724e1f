// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_wr_*: regions of work requests. Builders and setters return nothing; the first error is stored and makes
 * ibv_wr_complete drop the whole region. Every builder is installed on every QP, so that one that was not requested
 * at creation fails the region instead of being a call of NULL. wr_flush and wr_atomic_write are NULL unless requested,
 * as on rxe: librpma looks at them to learn whether the QP has the operation.
 */
#include "wqe.h"

static void fail(struct hcasim_sq *sq, int err)
{
	if (!sq->err)
		sq->err = err;
}

/* Ends the previous WR and begins the next one. */
static void build(struct ibv_qp_ex *qpx, enum hcasim_wr_op op, const struct hcasim_wr_args *args)
{
	struct hcasim_qp *qp = to_hqp_ex(qpx);
	struct hcasim_sq *sq = &qp->sq;

	if (sq->wqe.rule)
		fail(sq, hcasim_wqe_end(qp));
	/* IBV_SEND_INLINE has no effect here: the setter decides (erratum INLINE-OPS). */
	if (qp->send_ops & hcasim_wr_rules[op].send_ops_flag)
		fail(sq, hcasim_wqe_begin(qp, op, qpx->wr_id, qpx->wr_flags & ~IBV_SEND_INLINE, args));
	else
		fail(sq, EINVAL);
}

static void wr_send(struct ibv_qp_ex *qpx)
{
	build(qpx, HCASIM_WR_SEND, &(struct hcasim_wr_args){});
}

static void wr_send_imm(struct ibv_qp_ex *qpx, __be32 imm_data)
{
	build(qpx, HCASIM_WR_SEND_WITH_IMM, &(struct hcasim_wr_args){.imm = imm_data});
}

static void wr_send_inv(struct ibv_qp_ex *qpx, uint32_t invalidate_rkey)
{
	build(qpx, HCASIM_WR_SEND_WITH_INV, &(struct hcasim_wr_args){.inv_rkey = invalidate_rkey});
}

static void wr_send_tso(struct ibv_qp_ex *qpx, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	build(qpx, HCASIM_WR_TSO,
	      &(struct hcasim_wr_args){.tso_hdr = hdr, .tso_hdr_size = hdr_sz, .mss = mss});
}

static void wr_rdma_read(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t remote_addr)
{
	build(qpx, HCASIM_WR_RDMA_READ, &(struct hcasim_wr_args){.rkey = rkey, .remote_addr = remote_addr});
}

static void wr_rdma_write(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t remote_addr)
{
	build(qpx, HCASIM_WR_RDMA_WRITE, &(struct hcasim_wr_args){.rkey = rkey, .remote_addr = remote_addr});
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
{
	build(qpx, HCASIM_WR_RDMA_WRITE_WITH_IMM,
	      &(struct hcasim_wr_args){.rkey = rkey, .remote_addr = remote_addr, .imm = imm_data});
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	build(qpx, HCASIM_WR_ATOMIC_CMP_AND_SWP,
	      &(struct hcasim_wr_args){
		      .rkey = rkey, .remote_addr = remote_addr, .swap_add = swap, .compare = compare});
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	build(qpx, HCASIM_WR_ATOMIC_FETCH_AND_ADD,
	      &(struct hcasim_wr_args){.rkey = rkey, .remote_addr = remote_addr, .swap_add = add});
}

static void wr_atomic_write(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t remote_addr, const void *atomic_wr)
{
	build(qpx, HCASIM_WR_ATOMIC_WRITE,
	      &(struct hcasim_wr_args){.rkey = rkey, .remote_addr = remote_addr, .atomic_wr = atomic_wr});
}

static void wr_flush(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t remote_addr, size_t len, uint8_t type,
		     uint8_t level)
{
	build(qpx, HCASIM_WR_FLUSH,
	      &(struct hcasim_wr_args){.rkey = rkey,
				       .remote_addr = remote_addr,
				       .flush_len = len,
				       .flush_type = type,
				       .flush_level = level});
}

static void wr_bind_mw(struct ibv_qp_ex *qpx, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	struct hcasim_qp *qp = to_hqp_ex(qpx);

	/* Work requests bind type 2 windows only; type 1 has ibv_bind_mw(3). */
	if (mw && mw->type != IBV_MW_TYPE_2)
		fail(&qp->sq, EINVAL);
	build(qpx, HCASIM_WR_BIND_MW, &(struct hcasim_wr_args){.mw = mw, .rkey = rkey, .bind = bind_info});
}

static void wr_local_inv(struct ibv_qp_ex *qpx, uint32_t invalidate_rkey)
{
	build(qpx, HCASIM_WR_LOCAL_INV, &(struct hcasim_wr_args){.inv_rkey = invalidate_rkey});
}

static void wr_set_sge_list(struct ibv_qp_ex *qpx, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct hcasim_qp *qp = to_hqp_ex(qpx);

	fail(&qp->sq, hcasim_wqe_sges(qp, sg_list, num_sge));
}

static void wr_set_sge(struct ibv_qp_ex *qpx, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};

	wr_set_sge_list(qpx, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qpx, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct hcasim_qp *qp = to_hqp_ex(qpx);

	fail(&qp->sq, hcasim_wqe_inline(qp, buf_list, num_buf));
}

static void wr_set_inline_data(struct ibv_qp_ex *qpx, void *addr, size_t length)
{
	struct ibv_data_buf buf = {.addr = addr, .length = length};

	wr_set_inline_data_list(qpx, 1, &buf);
}

static void wr_set_ud_addr(struct ibv_qp_ex *qpx, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct hcasim_qp *qp = to_hqp_ex(qpx);

	fail(&qp->sq, hcasim_wqe_ud_addr(qp, ah, remote_qpn, remote_qkey));
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qpx, uint32_t remote_srqn)
{
	struct hcasim_qp *qp = to_hqp_ex(qpx);

	fail(&qp->sq, hcasim_wqe_srqn(qp, remote_srqn));
}

static void wr_start(struct ibv_qp_ex *qpx)
{
	struct hcasim_qp *qp = to_hqp_ex(qpx);

	hcasim_sq_lock(&qp->sq);
	hcasim_sq_open(&qp->sq);
	qp->sq.open = true;
	if (!hcasim_qp_can_send(qp))
		fail(&qp->sq, EINVAL);
}

static void wr_abort(struct ibv_qp_ex *qpx)
{
	struct hcasim_sq *sq = &to_hqp_ex(qpx)->sq;

	if (!sq->open)
		return;
	sq->open = false;
	hcasim_sq_unlock(sq);
}

static int wr_complete(struct ibv_qp_ex *qpx)
{
	struct hcasim_qp *qp = to_hqp_ex(qpx);
	struct hcasim_sq *sq = &qp->sq;
	int err;

	if (!sq->open)
		return hcasim_error(EINVAL);
	if (sq->wqe.rule)
		fail(sq, hcasim_wqe_end(qp));
	err = sq->err;
	if (!err)
		hcasim_sq_publish(qp);
	sq->open = false;
	hcasim_sq_unlock(sq);
	return hcasim_error(err);
}

static const struct ibv_qp_ex wr_ops = {
	.wr_start = wr_start,
	.wr_complete = wr_complete,
	.wr_abort = wr_abort,
	.wr_send = wr_send,
	.wr_send_imm = wr_send_imm,
	.wr_send_inv = wr_send_inv,
	.wr_send_tso = wr_send_tso,
	.wr_rdma_read = wr_rdma_read,
	.wr_rdma_write = wr_rdma_write,
	.wr_rdma_write_imm = wr_rdma_write_imm,
	.wr_atomic_cmp_swp = wr_atomic_cmp_swp,
	.wr_atomic_fetch_add = wr_atomic_fetch_add,
	.wr_atomic_write = wr_atomic_write,
	.wr_flush = wr_flush,
	.wr_bind_mw = wr_bind_mw,
	.wr_local_inv = wr_local_inv,
	.wr_set_sge = wr_set_sge,
	.wr_set_sge_list = wr_set_sge_list,
	.wr_set_inline_data = wr_set_inline_data,
	.wr_set_inline_data_list = wr_set_inline_data_list,
	.wr_set_ud_addr = wr_set_ud_addr,
	.wr_set_xrc_srqn = wr_set_xrc_srqn,
};

void hcasim_qp_fill_wr_ops(struct hcasim_qp *qp)
{
	struct ibv_qp_ex ops = wr_ops;

	if (!(qp->send_ops & IBV_QP_EX_WITH_FLUSH))
		ops.wr_flush = NULL;
	if (!(qp->send_ops & IBV_QP_EX_WITH_ATOMIC_WRITE))
		ops.wr_atomic_write = NULL;
	hcasim_qp_extend(qp, &ops);
}
