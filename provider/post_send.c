// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ibv_post_send: lists of work requests. */
#include "wqe.h"

static void fill_args(struct hcasim_wr_args *args, enum hcasim_wr_op op, const struct ibv_send_wr *wr)
{
	switch (op) {
	case HCASIM_WR_RDMA_WRITE_WITH_IMM:
		args->rkey = wr->wr.rdma.rkey;
		args->remote_addr = wr->wr.rdma.remote_addr;
		args->imm = wr->imm_data;
		break;
	case HCASIM_WR_ATOMIC_CMP_AND_SWP:
		args->rkey = wr->wr.atomic.rkey;
		args->remote_addr = wr->wr.atomic.remote_addr;
		args->compare = wr->wr.atomic.compare_add;
		args->swap_add = wr->wr.atomic.swap;
		break;
	case HCASIM_WR_ATOMIC_FETCH_AND_ADD:
		args->rkey = wr->wr.atomic.rkey;
		args->remote_addr = wr->wr.atomic.remote_addr;
		args->swap_add = wr->wr.atomic.compare_add;
		break;
	case HCASIM_WR_TSO:
		args->tso_hdr = wr->tso.hdr;
		args->tso_hdr_size = wr->tso.hdr_sz;
		args->mss = wr->tso.mss;
		break;
	case HCASIM_WR_SEND_WITH_IMM:
		args->imm = wr->imm_data;
		break;
	case HCASIM_WR_SEND_WITH_INV:
	case HCASIM_WR_LOCAL_INV:
		args->inv_rkey = wr->invalidate_rkey;
		break;
	case HCASIM_WR_BIND_MW:
		args->mw = wr->bind_mw.mw;
		args->rkey = wr->bind_mw.rkey;
		args->bind = &wr->bind_mw.bind_info;
		break;
	default: /* the operation's row in spec/ says whether it accesses remote memory */
		if (hcasim_wqe_has_seg(hcasim_wr_rules[op].wqe_op, HCASIM_WQE_SEG_REMOTE)) {
			args->rkey = wr->wr.rdma.rkey;
			args->remote_addr = wr->wr.rdma.remote_addr;
		}
		break;
	}
}

static int inline_sges(struct hcasim_qp *qp, const struct ibv_send_wr *wr)
{
	struct ibv_data_buf buf[HCASIM_MAX_SGE];
	int i;

	if ((uint32_t)wr->num_sge > qp->sq.max_sge) /* or negative */
		return EINVAL;
	for (i = 0; i < wr->num_sge; i++) {
		buf[i].addr = (void *)(uintptr_t)wr->sg_list[i].addr;
		buf[i].length = wr->sg_list[i].length;
	}
	return hcasim_wqe_inline(qp, buf, wr->num_sge);
}

static int add_data(struct hcasim_qp *qp, const struct ibv_send_wr *wr)
{
	if (wr->send_flags & IBV_SEND_INLINE)
		return inline_sges(qp, wr);
	return wr->num_sge ? hcasim_wqe_sges(qp, wr->sg_list, wr->num_sge) : 0;
}

static int post_one(struct hcasim_qp *qp, const struct ibv_send_wr *wr)
{
	struct hcasim_wr_args args = {};
	int op, err;

	if ((unsigned int)wr->opcode > HCASIM_MAX_WR_OPCODE)
		return EINVAL;
	op = qp->ctx->op_of_wr[wr->opcode];
	if (op < 0 || !(hcasim_wr_rules[op].post_qp_types & HCASIM_QPT_BIT(qp->vqp.qp.qp_type)))
		return EINVAL;

	fill_args(&args, op, wr);
	/* Work requests bind type 2 windows only; type 1 has ibv_bind_mw(3). */
	if (op == HCASIM_WR_BIND_MW && args.mw && args.mw->type != IBV_MW_TYPE_2)
		return EINVAL;
	err = hcasim_wqe_begin(qp, op, wr->wr_id, wr->send_flags, &args);
	if (!err)
		err = add_data(qp, wr);
	if (!err && qp->vqp.qp.qp_type == IBV_QPT_UD)
		err = hcasim_wqe_ud_addr(qp, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	if (!err && qp->vqp.qp.qp_type == IBV_QPT_XRC_SEND && hcasim_wr_rules[op].srqn_qp_types)
		err = hcasim_wqe_srqn(qp, wr->qp_type.xrc.remote_srqn);
	return err ? err : hcasim_wqe_end(qp);
}

static int post_list(struct hcasim_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	int err;

	for (; wr; wr = wr->next) {
		err = post_one(qp, wr);
		if (err) {
			*bad_wr = wr;
			return err;
		}
	}
	return 0;
}

int hcasim_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct hcasim_qp *qp = to_hqp(ibqp);
	int err;

	hcasim_sq_lock(&qp->sq);
	if (!hcasim_qp_can_send(qp)) {
		*bad_wr = wr;
		hcasim_sq_unlock(&qp->sq);
		return hcasim_error(EINVAL);
	}
	hcasim_sq_open(&qp->sq);
	err = post_list(qp, wr, bad_wr);
	/* WRs before a bad one are posted. */
	hcasim_sq_publish(qp);
	hcasim_sq_unlock(&qp->sq);
	return hcasim_error(err);
}
