// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Flush errors when the adapter is lost; the program's memory is a file here, as it is for the guardian. */
#include <endian.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
#include <CUnit/Basic.h>

#include "devices/mlx5/driver/driver.h"

#define SENDS  8 /* basic blocks */
#define RECVS  4
#define PLACES 4
#define QPN    0x123u
#define UIDX   0x456u

static struct program { /* its address 0 is the file's beginning */
	struct hcasim_mlx5_qp_record qp;
	struct hcasim_mlx5_cq_record cq;
	uint8_t sq[SENDS][HCASIM_MLX5_WQEBB_SIZE];
	struct hcasim_mlx5_cqe_err cqe[PLACES];
} * p;
static struct drv_orphan cq, qp;
static struct hca_marks marks;

static int set_up(void)
{
	const int file = memfd_create("program", MFD_CLOEXEC);

	if (file < 0 || ftruncate(file, sizeof(*p)))
		return -1;
	p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	cq = (struct drv_orphan){.file = file,
				 .record = offsetof(struct program, cq),
				 .ring = offsetof(struct program, cqe),
				 .entries = PLACES,
				 .cqe_size = HCASIM_MLX5_CQE_SIZE};
	qp = (struct drv_orphan){.file = file,
				 .number = QPN,
				 .user_index = UIDX,
				 .marks = &marks,
				 .record = offsetof(struct program, qp),
				 .sq = offsetof(struct program, sq),
				 .sq_wqebb = SENDS,
				 .rq_wqes = RECVS};
	return p == MAP_FAILED ? -1 : 0;
}

static uint8_t own(uint8_t opcode, uint32_t index)
{
	return (uint8_t)(opcode << 4 | (index / PLACES & 1));
}

/* Nothing posted, nothing completed, the CQ's next place is `ci`. */
static void start(uint32_t ci)
{
	*p = (struct program){.cq.set_ci = htobe32(ci)};
	for (uint32_t i = 0; i < PLACES; i++)
		p->cqe[i].op_own = own(HCASIM_MLX5_CQE_OPCODE_INVALID, 0);
	marks = (struct hca_marks){0};
	cq.looked = qp.looked = false;
}

static uint16_t post(uint16_t index, uint32_t segments)
{
	struct hcasim_mlx5_wqe_ctrl *ctrl = (void *)p->sq[index % SENDS];

	ctrl->opmod_idx_opcode = htobe32((uint32_t)index << 8 | HCASIM_MLX5_OPCODE_RDMA_WRITE);
	ctrl->qpn_ds = htobe32(QPN << 8 | segments);
	index = (uint16_t)(index + (segments + 3) / 4);
	p->qp.snd = htobe32(index);
	return index;
}

/* A completion that the adapter has written. */
static void complete(uint32_t place, uint8_t opcode, uint32_t qpn, uint16_t index)
{
	p->cqe[place % PLACES] = (struct hcasim_mlx5_cqe_err){.s_wqe_opcode_qpn = htobe32(qpn),
							      .wqe_counter = htobe16(index),
							      .op_own = own(opcode, place)};
}

static void check(uint32_t place, uint8_t opcode, uint16_t index)
{
	const struct hcasim_mlx5_cqe_err *cqe = &p->cqe[place % PLACES];

	CU_ASSERT_EQUAL(cqe->op_own, own(opcode, place));
	CU_ASSERT_EQUAL(cqe->syndrome, HCASIM_MLX5_SYNDROME_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(be16toh(cqe->wqe_counter), index);
	CU_ASSERT_EQUAL(be32toh(cqe->s_wqe_opcode_qpn) & 0xffffff, QPN);
	CU_ASSERT_EQUAL(be32toh(cqe->srqn_uidx), UIDX);
}

static bool is_free(uint32_t place)
{
	return p->cqe[place % PLACES].op_own != own(HCASIM_MLX5_CQE_OPCODE_REQ_ERR, place) &&
	       p->cqe[place % PLACES].op_own != own(HCASIM_MLX5_CQE_OPCODE_RESP_ERR, place);
}

static void flush(void)
{
	mlx5_flush_orphan(&qp, &cq, &cq);
}

/* WQEs of one block and of two, across the end of the ring, of the indices and of the CQ; what has completed stays so. */
static void test_sends_behind_the_mark(void)
{
	uint16_t pi = 0xfffe;

	start(0xffffff);
	marks.sq = 0xffff;
	pi = post(pi, 3);
	pi = post(pi, 8);
	pi = post(pi, 1);
	CU_ASSERT_EQUAL(pi, 2);
	flush();
	check(0xffffff, HCASIM_MLX5_CQE_OPCODE_REQ_ERR, 0xffff);
	check(0x1000000, HCASIM_MLX5_CQE_OPCODE_REQ_ERR, 1);
	CU_ASSERT(is_free(0x1000001));
	flush(); /* once is enough */
	CU_ASSERT(is_free(0x1000001));
}

/* The adapter has written a completion and has not marked it: the ring knows better. Others' do not count. */
static void test_completion_without_a_mark(void)
{
	uint16_t pi = 0;

	start(0);
	pi = post(pi, 8);
	pi = post(pi, 4);
	p->qp.rcv = htobe32(3);
	complete(0, HCASIM_MLX5_CQE_OPCODE_REQ, QPN, 0);
	complete(1, HCASIM_MLX5_CQE_OPCODE_RESP_SEND, QPN, 1);
	complete(2, HCASIM_MLX5_CQE_OPCODE_REQ, QPN + 1, 2);
	flush();
	check(3, HCASIM_MLX5_CQE_OPCODE_REQ_ERR, 2);
	p->cq.set_ci = htobe32(2);
	flush();
	check(4, HCASIM_MLX5_CQE_OPCODE_RESP_ERR, 2);
	CU_ASSERT(is_free(5));
}

/* A flow may have tagged a raw QP's frames, even with another's number: the user index says whose they are. */
static void test_tagged_frames(void)
{
	start(0);
	qp.raw = true;
	post(0, 4);
	p->qp.rcv = htobe32(4);
	complete(0, HCASIM_MLX5_CQE_OPCODE_REQ, QPN, 0);
	complete(1, HCASIM_MLX5_CQE_OPCODE_RESP_SEND, QPN + 1, 2);
	p->cqe[1].srqn_uidx = htobe32(UIDX);
	complete(2, HCASIM_MLX5_CQE_OPCODE_RESP_SEND, QPN, 1);
	p->cqe[2].srqn_uidx = htobe32(UIDX + 1);
	flush();
	check(3, HCASIM_MLX5_CQE_OPCODE_RESP_ERR, 3);
	qp.raw = false;
}

/* A polled completion may be of before a RESET. */
static void test_polled_completions(void)
{
	start(1);
	complete(0, HCASIM_MLX5_CQE_OPCODE_REQ, QPN, 0);
	post(0, 4);
	flush();
	check(1, HCASIM_MLX5_CQE_OPCODE_REQ_ERR, 0);
}

/* As many as there is room for; the rest when the program has polled, and what it posts later. */
static void test_full_cq(void)
{
	uint16_t pi = 0;

	start(0);
	for (int i = 0; i < 6; i++)
		pi = post(pi, 4);
	flush();
	for (uint16_t i = 0; i < PLACES; i++)
		check(i, HCASIM_MLX5_CQE_OPCODE_REQ_ERR, i);
	p->cq.set_ci = htobe32(3);
	post(pi, 4);
	flush();
	for (uint16_t i = 3; i < 7; i++)
		check(i, HCASIM_MLX5_CQE_OPCODE_REQ_ERR, i);
}

/* Indices that the rings cannot have, and what is no WQE, end it; nothing is written. */
static void test_nonsense(void)
{
	start(0);
	p->qp.snd = htobe32(SENDS + 1);
	p->qp.rcv = htobe32(RECVS + 1);
	flush();
	CU_ASSERT(is_free(0));
	start(0);
	post(3, 4); /* none begins at 0 */
	flush();
	CU_ASSERT(is_free(0));
	start(0);
	post(0, 8);
	p->qp.snd = htobe32(1); /* in the middle of it */
	flush();
	CU_ASSERT(is_free(0));
}

/* Memory that is gone, and queue pairs of which nothing is known. */
static void test_without_memory(void)
{
	const struct drv_orphan q = qp, c = cq;

	start(0);
	post(0, 4);
	qp.marks = NULL;
	flush();
	CU_ASSERT(is_free(0));
	qp = q;
	qp.sq = 1u << 30;
	flush();
	CU_ASSERT(is_free(0));
	qp = q;
	cq.ring = 1u << 30;
	cq.looked = qp.looked = false;
	cq.file = -1;
	flush();
	CU_ASSERT(is_free(0));
	cq = c;
	qp = q;
}

int main(void)
{
	CU_pSuite suite;
	unsigned int failed;

	CU_initialize_registry();
	suite = CU_add_suite("mlx5 adapter lost", set_up, NULL);
	CU_add_test(suite, "sends behind the mark", test_sends_behind_the_mark);
	CU_add_test(suite, "completion without a mark", test_completion_without_a_mark);
	CU_add_test(suite, "tagged frames", test_tagged_frames);
	CU_add_test(suite, "polled completions", test_polled_completions);
	CU_add_test(suite, "full CQ", test_full_cq);
	CU_add_test(suite, "nonsense", test_nonsense);
	CU_add_test(suite, "without memory", test_without_memory);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}
