// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Polling single completions through struct ibv_cq_ex. */
#include <errno.h>
#include <time.h>

#include "hcasim.h"

#define PS_PER_NS  1000
#define NS_PER_SEC 1000000000ull

static int next_poll(struct ibv_cq_ex *cqx)
{
	struct hcasim_cq *cq = to_hcq_ex(cqx);
	int err;

	err = hcasim_cq_next(cq, &cq->cqe, &cqx->wr_id);
	if (!err)
		cqx->status = hcasim_wc_status(cq->cqe);
	return err;
}

/* Reads both clocks once per poll; the time between the two reads is much shorter than the age of a completion. */
static void sample_clocks(struct hcasim_cq *cq)
{
	struct timespec now;

	cq->now_ps = hcasim_read_clock(cq->ctx);
	clock_gettime(CLOCK_REALTIME, &now);
	cq->now_wall_ns = now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

static int start_poll(struct ibv_cq_ex *cqx, struct ibv_poll_cq_attr *attr)
{
	struct hcasim_cq *cq = to_hcq_ex(cqx);
	uint32_t before;
	int err;

	if (attr->comp_mask)
		return hcasim_error(EOPNOTSUPP);
	hcasim_cq_lock(cq);
	before = cq->ci;
	err = next_poll(cqx);
	if (err) {
		if (cq->ci != before)
			hcasim_cq_update_ci(cq);
		hcasim_cq_unlock(cq);
		return err;
	}
	if (cq->wallclock)
		sample_clocks(cq);
	return 0;
}

static void end_poll(struct ibv_cq_ex *cqx)
{
	struct hcasim_cq *cq = to_hcq_ex(cqx);

	hcasim_cq_update_ci(cq);
	hcasim_cq_unlock(cq);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cqx)
{
	struct hcasim_cq *cq = to_hcq_ex(cqx);

	return hcasim_wc_opcode(cq->ctx, cq->cqe);
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cqx)
{
	return to_hcq_ex(cqx)->cqe->vendor_err;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *cqx)
{
	return hcasim_wc_flags(to_hcq_ex(cqx)->cqe);
}

static uint32_t read_byte_len(struct ibv_cq_ex *cqx)
{
	return le32toh(to_hcq_ex(cqx)->cqe->byte_count);
}

static __be32 read_imm_data(struct ibv_cq_ex *cqx)
{
	return (__force __be32)hcasim_wc_imm_or_rkey(to_hcq_ex(cqx)->cqe);
}

static uint32_t read_qp_num(struct ibv_cq_ex *cqx)
{
	return HCASIM_FIELD_GET(HCASIM_CQE_QPN_MASK, le32toh(to_hcq_ex(cqx)->cqe->qpn_opcode));
}

static uint32_t read_src_qp(struct ibv_cq_ex *cqx)
{
	return HCASIM_FIELD_GET(HCASIM_CQE_SRC_QPN_MASK, le32toh(to_hcq_ex(cqx)->cqe->src_qpn_flags));
}

static uint32_t read_slid(struct ibv_cq_ex *cqx)
{
	return 0; /* RoCE has no LIDs */
}

static uint8_t read_sl(struct ibv_cq_ex *cqx)
{
	return to_hcq_ex(cqx)->cqe->sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *cqx)
{
	return to_hcq_ex(cqx)->cqe->path_bits;
}

static uint16_t read_cvlan(struct ibv_cq_ex *cqx)
{
	return le16toh(to_hcq_ex(cqx)->cqe->vlan);
}

static void read_tm_info(struct ibv_cq_ex *cqx, struct ibv_wc_tm_info *info)
{
	const struct hcasim_cqe *cqe = to_hcq_ex(cqx)->cqe;

	info->tag = le64toh(cqe->tm_tag);
	info->priv = le32toh(cqe->tm_priv);
}

static uint64_t read_completion_ts(struct ibv_cq_ex *cqx)
{
	return le64toh(to_hcq_ex(cqx)->cqe->timestamp);
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *cqx)
{
	struct hcasim_cq *cq = to_hcq_ex(cqx);

	/* Signed: a completion taken later in this poll may be newer than the sample. */
	return cq->now_wall_ns - (int64_t)(cq->now_ps - read_completion_ts(cqx)) / PS_PER_NS;
}

void hcasim_cq_fill_poll_ops(struct hcasim_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *cqx = &cq->vcq.cq_ex;

	cqx->start_poll = start_poll;
	cqx->next_poll = next_poll;
	cqx->end_poll = end_poll;
	cqx->read_opcode = read_opcode;
	cqx->read_vendor_err = read_vendor_err;
	cqx->read_wc_flags = read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		cqx->read_byte_len = read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		cqx->read_imm_data = read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		cqx->read_qp_num = read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		cqx->read_src_qp = read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		cqx->read_slid = read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		cqx->read_sl = read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		cqx->read_dlid_path_bits = read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_CVLAN)
		cqx->read_cvlan = read_cvlan;
	if (wc_flags & IBV_WC_EX_WITH_TM_INFO)
		cqx->read_tm_info = read_tm_info;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		cqx->read_completion_ts = read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		cqx->read_completion_wallclock_ns = read_completion_wallclock_ns;
	cq->wallclock = wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
}
