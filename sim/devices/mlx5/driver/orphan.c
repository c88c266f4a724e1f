// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flush errors for outstanding work when the adapter is lost. Rings and records are the program's own memory, which is
 * read and written as a file. What was outstanding the newest completion says that has not been polled, or else the
 * marks of the queue pair: libmlx5 completes whatever a CQE names, also what has completed before.
 */
#include <endian.h>
#include <unistd.h>

#include "devices/mlx5/format/format.h"
#include "driver.h"

#define GET(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_##field##_MASK, v)
#define CI_MASK       HCASIM_MLX5_CQ_RECORD_CI_MASK
#define TAIL          8 /* bytes of a CQE that become visible last: the owner bit is among them */

static bool peek(const struct drv_orphan *queue, uint64_t addr, void *to, size_t size)
{
	return pread(queue->file, to, size, (off_t)addr) == (ssize_t)size;
}

static bool poke(const struct drv_orphan *queue, uint64_t addr, const void *from, size_t size)
{
	return pwrite(queue->file, from, size, (off_t)addr) == (ssize_t)size;
}

/* ---- The CQ ---- */

static uint64_t cqe_addr(const struct drv_orphan *cq, uint32_t index)
{
	return cq->ring + (uint64_t)(index & (cq->entries - 1)) * cq->cqe_size;
}

static unsigned int phase_of(const struct drv_orphan *cq, uint32_t index)
{
	return !(index / cq->entries & 1); /* 1 in the first turn of the ring */
}

static bool consumer(const struct drv_orphan *cq, uint32_t *ci)
{
	struct hcasim_mlx5_cq_record record;
	struct hca_cq_record out;

	if (!peek(cq, cq->record, &record, sizeof(record)))
		return false;
	mlx5_personality.decode_cq_record(&record, &out);
	*ci = out.ci;
	return true;
}

/* False: there is none at this index. */
static bool get_cqe(const struct drv_orphan *cq, uint32_t index, struct hcasim_mlx5_cqe *cqe)
{
	if (!peek(cq, cqe_addr(cq, index) + cq->cqe_size - sizeof(*cqe), cqe, sizeof(*cqe)))
		return false;
	return GET(CQE_OPCODE, cqe->op_own) != HCASIM_MLX5_CQE_OPCODE_INVALID &&
	       GET(CQE_OWNER, cqe->op_own) == !phase_of(cq, index);
}

/* Where the adapter has stopped. */
static bool look(struct drv_orphan *cq)
{
	struct hcasim_mlx5_cqe cqe;
	uint32_t ci;

	if (cq->looked)
		return true;
	if (!consumer(cq, &ci))
		return false;
	for (cq->pi = ci; cq->pi - ci < cq->entries && get_cqe(cq, cq->pi, &cqe);)
		cq->pi++;
	cq->looked = true;
	return true;
}

/* False if there is no room: the application has completions to read first. */
static bool put_cqe(struct drv_orphan *cq, const struct hca_cpl *cpl)
{
	uint8_t cqe[2 * HCASIM_MLX5_CQE_SIZE];
	const uint32_t body = cq->cqe_size - TAIL;
	const uint64_t addr = cqe_addr(cq, cq->pi);
	uint32_t ci;

	if (!consumer(cq, &ci) || ((cq->pi - ci) & CI_MASK) >= cq->entries)
		return false;
	mlx5_encode_cqe(cpl, phase_of(cq, cq->pi), cqe, cq->cqe_size);
	if (!poke(cq, addr, cqe, body) || !poke(cq, addr + body, cqe + body, TAIL))
		return false;
	cq->pi++;
	return true;
}

/* Receives of raw QPs have the tag of a flow in place of the QP's number. */
static bool is_of(const struct hcasim_mlx5_cqe *cqe, const struct drv_orphan *qp, bool send)
{
	const uint8_t opcode = GET(CQE_OPCODE, cqe->op_own);
	const bool is_send = opcode == HCASIM_MLX5_CQE_OPCODE_REQ || opcode == HCASIM_MLX5_CQE_OPCODE_REQ_ERR;

	if (opcode == HCASIM_MLX5_CQE_OPCODE_RESIZE_CQ || is_send != send)
		return false;
	if (qp->raw && !send)
		return GET(CQE_UIDX, be32toh(cqe->srqn_uidx)) == qp->user_index;
	return GET(CQE_QPN, be32toh(cqe->sop_drop_qpn)) == qp->number;
}

/* The newest completion of the queue that has not been polled; those that have been may be of before a RESET. */
static bool newest(const struct drv_orphan *cq, const struct drv_orphan *qp, bool send, uint16_t *index)
{
	struct hcasim_mlx5_cqe cqe;
	uint32_t ci;

	if (!consumer(cq, &ci))
		return false;
	for (uint32_t at = cq->pi; (at - ci) & CI_MASK; at--) {
		if (!get_cqe(cq, at - 1, &cqe) || !is_of(&cqe, qp, send))
			continue;
		*index = be16toh(cqe.wqe_counter);
		return true;
	}
	return false;
}

/* ---- Sends ---- */

/* How many basic blocks the WQE at `index` has, and its operation; 0: none begins there. */
static uint32_t blocks(const struct drv_orphan *qp, uint16_t index, uint8_t *op)
{
	const uint64_t addr = qp->sq + (uint64_t)(index & (qp->sq_wqebb - 1)) * HCASIM_MLX5_WQEBB_SIZE;
	const struct hcasim_mlx5_wqe_format *format;
	struct hcasim_mlx5_wqe_ctrl ctrl;

	if (!peek(qp, addr, &ctrl, sizeof(ctrl)) ||
	    GET(WQE_CTRL_INDEX, be32toh(ctrl.opmod_idx_opcode)) != index)
		return 0;
	format = hcasim_mlx5_wqe_format((uint8_t)GET(WQE_CTRL_OPCODE, be32toh(ctrl.opmod_idx_opcode)));
	*op = format ? format->op : HCASIM_WQE_OP_NOP;
	return (uint16_t)(mlx5_index_after(&ctrl) - index);
}

static void flush_sends(struct drv_orphan *qp, struct drv_orphan *cq, uint16_t pi)
{
	struct hca_cpl cpl = {.qpn = qp->number,
			      .user_index = qp->user_index,
			      .op = HCASIM_CQE_OP_REQ,
			      .status = HCASIM_CQE_STATUS_WR_FLUSH_ERR};
	uint16_t left;
	uint32_t n;

	while ((left = (uint16_t)(pi - qp->sq_done))) {
		n = left <= qp->sq_wqebb ? blocks(qp, (uint16_t)qp->sq_done, &cpl.wqe_op) : 0;
		if (!n || n > left) { /* no WQE of the library's */
			qp->sq_done = pi;
			return;
		}
		cpl.wqe_index = (uint16_t)qp->sq_done;
		if (!put_cqe(cq, &cpl))
			return;
		qp->sq_done += n;
	}
}

/* ---- Receives ---- */

static void flush_recvs(struct drv_orphan *qp, struct drv_orphan *cq, uint16_t pi)
{
	struct hca_cpl cpl = {.qpn = qp->number,
			      .user_index = qp->user_index,
			      .op = HCASIM_CQE_OP_RECV,
			      .status = HCASIM_CQE_STATUS_WR_FLUSH_ERR};

	if ((uint16_t)(pi - qp->rq_done) > qp->rq_wqes) /* an index that the ring cannot have */
		qp->rq_done = pi;
	for (; (uint16_t)qp->rq_done != pi; qp->rq_done++) {
		cpl.wqe_index = (uint16_t)qp->rq_done;
		if (!put_cqe(cq, &cpl))
			return;
	}
}

/* ---- The queue pair ---- */

static void begin(struct drv_orphan *qp, const struct drv_orphan *send_cq, const struct drv_orphan *recv_cq)
{
	uint16_t last;
	uint8_t op;

	qp->sq_done = __atomic_load_n(&qp->marks->sq, __ATOMIC_ACQUIRE);
	qp->rq_done = __atomic_load_n(&qp->marks->rq, __ATOMIC_ACQUIRE);
	if (send_cq && newest(send_cq, qp, true, &last))
		qp->sq_done = last + blocks(qp, last, &op);
	if (recv_cq && newest(recv_cq, qp, false, &last))
		qp->rq_done = last + 1u;
	qp->looked = true;
}

void mlx5_flush_orphan(struct drv_orphan *qp, struct drv_orphan *send_cq, struct drv_orphan *recv_cq)
{
	struct hcasim_mlx5_qp_record record;

	if (!qp->marks || !peek(qp, qp->record, &record, sizeof(record)))
		return;
	if ((send_cq && !look(send_cq)) || (recv_cq && !look(recv_cq)))
		return;
	if (!qp->looked)
		begin(qp, send_cq, recv_cq);
	if (send_cq && qp->sq_wqebb)
		flush_sends(qp, send_cq, mlx5_personality.sq_record_pi(&record));
	if (recv_cq && qp->rq_wqes)
		flush_recvs(qp, recv_cq, (uint16_t)mlx5_personality.rq_record_pi(&record));
}
