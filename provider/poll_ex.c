// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Polling single completions through struct ibv_cq_ex. */
#include <errno.h>
#include <time.h>

#include "hcasim.h"

#define PS_PER_NS  1000
#define NS_PER_SEC 1000000000ull

#define CLOCKS_APART 50000 /* nanoseconds between the readings of two clocks */
#define CLOCK_TRIES  8

static int next_poll(struct ibv_cq_ex *cqx)
{
	struct hcasim_cq *cq = to_hcq_ex(cqx);
	int err;

	err = hcasim_cq_next(cq, &cq->cqe, &cqx->wr_id);
	if (!err)
		cqx->status = hcasim_wc_status(cq->cqe);
	return err;
}

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

/* Reads both clocks once per poll; again, if the thread lost the processor between them. */
static void sample_clocks(struct hcasim_cq *cq)
{
	int tries = CLOCK_TRIES;

	do {
		cq->now_wall_ns = wall_ns();
		cq->now_ps = hcasim_read_clock(cq->ctx);
	} while (wall_ns() - cq->now_wall_ns > CLOCKS_APART && --tries);
}

static void leave(struct hcasim_cq *cq)
{
	uint32_t taken = cq->ci - cq->poll_from;

	if (taken)
		hcasim_cq_update_ci(cq);
	hcasim_cq_unlock(cq);
	hcasim_ring_poll(cq, taken);
}

static int start_poll(struct ibv_cq_ex *cqx, struct ibv_poll_cq_attr *attr)
{
	struct hcasim_cq *cq = to_hcq_ex(cqx);
	int err;

	if (attr->comp_mask)
		return hcasim_error(EOPNOTSUPP);
	hcasim_cq_lock(cq);
	cq->poll_from = cq->ci;
	err = next_poll(cqx);
	if (err) {
		leave(cq);
		return err;
	}
	if (cq->wallclock)
		sample_clocks(cq);
	return 0;
}

static void end_poll(struct ibv_cq_ex *cqx)
{
	leave(to_hcq_ex(cqx));
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

/* Every field can be read, whether it was asked for or not; only the wall clock costs something. */
void hcasim_cq_fill_poll_ops(struct hcasim_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *cqx = &cq->vcq.cq_ex;

	cqx->start_poll = start_poll;
	cqx->next_poll = next_poll;
	cqx->end_poll = end_poll;
	cqx->read_opcode = read_opcode;
	cqx->read_vendor_err = read_vendor_err;
	cqx->read_wc_flags = read_wc_flags;
	cqx->read_byte_len = read_byte_len;
	cqx->read_imm_data = read_imm_data;
	cqx->read_qp_num = read_qp_num;
	cqx->read_src_qp = read_src_qp;
	cqx->read_slid = read_slid;
	cqx->read_sl = read_sl;
	cqx->read_dlid_path_bits = read_dlid_path_bits;
	cqx->read_cvlan = read_cvlan;
	cqx->read_tm_info = read_tm_info;
	cqx->read_completion_ts = read_completion_ts;
	cqx->read_completion_wallclock_ns = read_completion_wallclock_ns;
	cq->wallclock = wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
}
