// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* spec/families/rxe.yaml against the headers that librxe is compiled with; and WQEs as librxe writes them. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <CUnit/Basic.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe.h>

#include "devices/rxe/driver/driver.h"
#include "devices/rxe/format/format.h"
#include "hcasim_rxe.h"
#include "hcasim_verbs.h"

#define SAME(ours, member, theirs, name)                                                                     \
	_Static_assert(offsetof(struct ours, member) == offsetof(struct theirs, name) &&                     \
			       sizeof(((struct ours *)0)->member) == sizeof(((struct theirs *)0)->name),     \
		       "the place of " #name)
#define SIZE(ours, theirs)                                                                                   \
	_Static_assert(sizeof(struct ours) == sizeof(struct theirs), "the size of " #theirs)
/* A member of the union, from its beginning on. */
#define PART(ours, member, name)                                                                             \
	_Static_assert(offsetof(struct ours, member) ==                                                      \
			       offsetof(struct rxe_send_wr, name) - offsetof(struct rxe_send_wr, wr),        \
		       "the place of " #name)

SIZE(hcasim_rxe_queue, rxe_queue_buf);
SAME(hcasim_rxe_queue, log2_elem_size, rxe_queue_buf, log2_elem_size);
SAME(hcasim_rxe_queue, index_mask, rxe_queue_buf, index_mask);
SAME(hcasim_rxe_queue, producer_index, rxe_queue_buf, producer_index);
SAME(hcasim_rxe_queue, consumer_index, rxe_queue_buf, consumer_index);
SIZE(hcasim_rxe_mminfo, mminfo);
SIZE(hcasim_rxe_create_qp_resp, rxe_create_qp_resp);
SAME(hcasim_rxe_create_qp_resp, rq_offset, rxe_create_qp_resp, rq_mi.offset);
SAME(hcasim_rxe_create_qp_resp, sq_offset, rxe_create_qp_resp, sq_mi.offset);
SAME(hcasim_rxe_create_qp_resp, sq_size, rxe_create_qp_resp, sq_mi.size);
SIZE(hcasim_rxe_create_srq_resp, rxe_create_srq_resp);
SAME(hcasim_rxe_create_srq_resp, srq_num, rxe_create_srq_resp, srq_num);
SIZE(hcasim_rxe_create_ah_resp, rxe_create_ah_resp);
SIZE(hcasim_rxe_send_wqe, rxe_send_wqe);
SAME(hcasim_rxe_send_wqe, wr_id, rxe_send_wqe, wr.wr_id);
SAME(hcasim_rxe_send_wqe, opcode, rxe_send_wqe, wr.opcode);
SAME(hcasim_rxe_send_wqe, send_flags, rxe_send_wqe, wr.send_flags);
SAME(hcasim_rxe_send_wqe, ex, rxe_send_wqe, wr.ex.imm_data);
SAME(hcasim_rxe_send_wqe, wr, rxe_send_wqe, wr.wr);
SAME(hcasim_rxe_send_wqe, iova, rxe_send_wqe, iova);
SAME(hcasim_rxe_send_wqe, dma_length, rxe_send_wqe, dma.length);
SAME(hcasim_rxe_send_wqe, dma_num_sge, rxe_send_wqe, dma.num_sge);
PART(hcasim_rxe_wr_rdma, remote_addr, wr.rdma.remote_addr);
PART(hcasim_rxe_wr_rdma, rkey, wr.rdma.rkey);
PART(hcasim_rxe_wr_flush, rkey, wr.flush.rkey);
PART(hcasim_rxe_wr_flush, type, wr.flush.type);
PART(hcasim_rxe_wr_flush, level, wr.flush.level);
PART(hcasim_rxe_wr_atomic, compare_add, wr.atomic.compare_add);
PART(hcasim_rxe_wr_atomic, swap, wr.atomic.swap);
PART(hcasim_rxe_wr_atomic, rkey, wr.atomic.rkey);
PART(hcasim_rxe_wr_ud, remote_qpn, wr.ud.remote_qpn);
PART(hcasim_rxe_wr_ud, remote_qkey, wr.ud.remote_qkey);
PART(hcasim_rxe_wr_ud, ah_num, wr.ud.ah_num);
PART(hcasim_rxe_wr_ud, port_num, wr.ud.av.port_num);
PART(hcasim_rxe_wr_ud, dmac, wr.ud.av.dmac);
PART(hcasim_rxe_wr_ud, dgid, wr.ud.av.grh.dgid);
PART(hcasim_rxe_wr_ud, flow_label, wr.ud.av.grh.flow_label);
PART(hcasim_rxe_wr_ud, traffic_class, wr.ud.av.grh.traffic_class);
PART(hcasim_rxe_wr_mw, addr, wr.mw.addr);
PART(hcasim_rxe_wr_mw, mw_rkey, wr.mw.mw_rkey);
PART(hcasim_rxe_wr_mw, access, wr.mw.access);
SIZE(hcasim_rxe_sge, rxe_sge);
SIZE(hcasim_rxe_recv_wqe, rxe_recv_wqe);
SAME(hcasim_rxe_recv_wqe, dma_num_sge, rxe_recv_wqe, dma.num_sge);
SIZE(hcasim_rxe_wc, ib_uverbs_wc);
SAME(hcasim_rxe_wc, opcode, ib_uverbs_wc, opcode);
SAME(hcasim_rxe_wc, ex, ib_uverbs_wc, ex.imm_data);
SAME(hcasim_rxe_wc, qp_num, ib_uverbs_wc, qp_num);
SAME(hcasim_rxe_wc, wc_flags, ib_uverbs_wc, wc_flags);
SAME(hcasim_rxe_wc, port_num, ib_uverbs_wc, port_num);

union room {
	struct rxe_send_wqe send;
	struct rxe_recv_wqe recv;
	uint8_t bytes[HCASIM_RXE_ELEMENT];
};

static struct hca_sge sges[HCASIM_RXE_MAX_SGE];
static uint8_t status;

static uint8_t decode(const union room *w, uint8_t qp_type, struct hca_wr *wr)
{
	return rxe_personality.decode_wqe(w, rxe_personality.wqe_size(w), qp_type, 17, 3, wr, sges,
					  HCASIM_RXE_MAX_SGE, &status);
}

static void test_write_with_two_sges(void)
{
	union room w = {.send = {.wr = {.wr_id = 0x1122334455667788,
					.opcode = HCASIM_IBV_WR_RDMA_WRITE_WITH_IMM,
					.send_flags = HCASIM_SEND_SIGNALED | HCASIM_SEND_SOLICITED,
					.ex.imm_data = 0x44332211,
					.wr.rdma = {.rkey = 0x99}},
				 .iova = 0x7000,
				 .dma = {.length = 30, .resid = 30, .num_sge = 2}}};
	struct hca_wr wr;

	w.send.dma.sge[0] = (struct rxe_sge){0x1000, 10, 5};
	w.send.dma.sge[1] = (struct rxe_sge){0x2000, 20, 6};
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC, &wr), 0);
	CU_ASSERT_EQUAL(wr.id, 0x1122334455667788);
	CU_ASSERT_EQUAL(wr.op, HCASIM_WQE_OP_RDMA_WRITE_IMM);
	CU_ASSERT_EQUAL(wr.flags, HCA_WR_SIGNALED | HCA_WR_SOLICITED);
	CU_ASSERT_EQUAL(wr.imm, 0x44332211);
	CU_ASSERT_EQUAL(wr.remote_addr, 0x7000);
	CU_ASSERT_EQUAL(wr.rkey, 0x99);
	CU_ASSERT_EQUAL(wr.length, 30);
	CU_ASSERT_EQUAL(wr.num_sge, 2);
	CU_ASSERT_EQUAL(wr.sge[1].addr, 0x2000);
	CU_ASSERT_EQUAL(wr.sge[1].lkey, 6);
}

static void test_atomic_write_has_its_value(void)
{
	union room w = {.send = {.wr = {.opcode = HCASIM_IBV_WR_ATOMIC_WRITE},
				 .dma = {.length = 8, .resid = 8, .sge_offset = 4}}};
	struct hca_wr wr;

	memset(w.send.dma.inline_data, 0xa5, 8);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC, &wr), 0);
	CU_ASSERT_EQUAL(wr.op, HCASIM_WQE_OP_ATOMIC_WRITE);
	CU_ASSERT_EQUAL(wr.length, 8);
	CU_ASSERT_EQUAL(wr.inline_data[7], 0xa5);
}

static void test_refused(void)
{
	union room w = {.send = {.wr = {.opcode = HCASIM_IBV_WR_RDMA_READ}}};
	struct hca_wr wr;

	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_UD, &wr), HCASIM_VENDOR_ERR_BAD_OPCODE);
	CU_ASSERT_EQUAL(status, HCASIM_CQE_STATUS_LOC_QP_OP_ERR);
	w.send.wr.opcode = 99;
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC, &wr), HCASIM_VENDOR_ERR_BAD_OPCODE);
	w.send.wr.opcode = HCASIM_IBV_WR_SEND;
	w.send.dma.num_sge = 1000000; /* beyond the element */
	CU_ASSERT_EQUAL(rxe_personality.wqe_size(&w), 0);
	w.send.dma.num_sge = 0;
	w.send.wr.send_flags = HCASIM_SEND_INLINE;
	w.send.dma.resid = HCASIM_RXE_ELEMENT;
	CU_ASSERT_EQUAL(rxe_personality.wqe_size(&w), 0);
}

/* As copy_data() of Linux: `resid` bytes from `cur_sge` and `sge_offset` on, whatever `length` says. */
static void test_place_in_the_list(void)
{
	union room w = {
		.send = {.wr = {.opcode = HCASIM_IBV_WR_SEND},
			 .dma = {.length = 30, .resid = 12, .cur_sge = 1, .num_sge = 3, .sge_offset = 4}}};
	struct hca_wr wr;

	w.send.dma.sge[0] = (struct rxe_sge){0x1000, 10, 5};
	w.send.dma.sge[1] = (struct rxe_sge){0x2000, 10, 6};
	w.send.dma.sge[2] = (struct rxe_sge){0x3000, 10, 7};
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC, &wr), 0);
	CU_ASSERT_EQUAL(wr.length, 12);
	CU_ASSERT_EQUAL(wr.sge[0].length, 0);
	CU_ASSERT_EQUAL(wr.sge[1].addr, 0x2004);
	CU_ASSERT_EQUAL(wr.sge[1].length, 6);
	CU_ASSERT_EQUAL(wr.sge[2].addr, 0x3000);
	CU_ASSERT_EQUAL(wr.sge[2].length, 6);
	w.send.dma.resid = 17; /* the list has 16 from there on */
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC, &wr), HCASIM_VENDOR_ERR_BAD_SIZE);
	CU_ASSERT_EQUAL(status, HCASIM_CQE_STATUS_LOC_QP_OP_ERR);
	w.send.dma.resid = 10;
	w.send.dma.sge_offset = 100; /* behind that SGE: the next one from its beginning */
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC, &wr), 0);
	CU_ASSERT_EQUAL(wr.sge[1].length, 0);
	CU_ASSERT_EQUAL(wr.sge[2].length, 10);
	w.send.dma.cur_sge = 3;
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC, &wr), HCASIM_VENDOR_ERR_BAD_SIZE);
}

static void test_place_in_inline_data(void)
{
	union room w = {.send = {.wr = {.opcode = HCASIM_IBV_WR_SEND, .send_flags = HCASIM_SEND_INLINE},
				 .dma = {.length = 30, .resid = 12, .sge_offset = 4}}};
	struct hca_wr wr;

	CU_ASSERT_EQUAL(rxe_personality.wqe_size(&w), sizeof(struct rxe_send_wqe) + 16);
	w.send.dma.inline_data[4] = 0x5a;
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC, &wr), 0);
	CU_ASSERT_EQUAL(wr.length, 12);
	CU_ASSERT_EQUAL(wr.inline_data[0], 0x5a);
	CU_ASSERT_EQUAL(rxe_personality.decode_wqe(&w, sizeof(struct rxe_send_wqe) + 15, HCASIM_QPT_RC, 17, 3,
						   &wr, sges, HCASIM_RXE_MAX_SGE, &status),
			HCASIM_VENDOR_ERR_BAD_SIZE);
}

/* More than 32 bits say: the length of the whole list, which no message has. */
static void test_list_of_4_gib(void)
{
	union room w = {.send = {.wr = {.opcode = HCASIM_IBV_WR_SEND},
				 .dma = {.length = 8, .resid = 8, .num_sge = 2}}};
	struct hca_wr wr;

	w.send.dma.sge[0] = (struct rxe_sge){0x1000, 0xffffffff, 5};
	w.send.dma.sge[1] = (struct rxe_sge){0x2000, 9, 6};
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC, &wr), 0);
	CU_ASSERT_EQUAL(wr.length, 0x100000008);
}

static void test_inline_flag_without_inline_data(void)
{
	union room w = {.send = {.wr = {.opcode = HCASIM_IBV_WR_RDMA_READ, .send_flags = HCASIM_SEND_INLINE},
				 .dma = {.length = 10, .resid = 10, .num_sge = 1}}};
	struct hca_wr wr;

	w.send.dma.sge[0] = (struct rxe_sge){0x1000, 10, 5};
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC, &wr), 0);
	CU_ASSERT_EQUAL(wr.flags & HCA_WR_INLINE, 0);
	CU_ASSERT_EQUAL(wr.num_sge, 1);
	w.send.wr.opcode = HCASIM_IBV_WR_FLUSH;
	w.send.dma.resid = 1 << 20; /* a range, not bytes of the WQE */
	w.send.dma.num_sge = 0;
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC, &wr), 0);
	CU_ASSERT_EQUAL(wr.flush.length, 1 << 20);
}

static void test_receive(void)
{
	union room w = {.recv = {.wr_id = 42, .dma = {.resid = 64, .num_sge = 1}}};
	struct hca_rwr wr;

	w.recv.dma.sge[0] = (struct rxe_sge){0x3000, 64, 7};
	CU_ASSERT_EQUAL(rxe_personality.decode_rqe(&w, sizeof(w), 9, &wr, sges, HCASIM_RXE_MAX_SGE), 0);
	CU_ASSERT_EQUAL(wr.id, 42);
	CU_ASSERT_EQUAL(wr.length, 64);
	w.recv.dma.resid = 50;
	w.recv.dma.sge_offset = 24;
	CU_ASSERT_EQUAL(rxe_personality.decode_rqe(&w, sizeof(w), 9, &wr, sges, HCASIM_RXE_MAX_SGE), 0);
	CU_ASSERT_EQUAL(wr.length, 40);
	CU_ASSERT_EQUAL(wr.sge[0].addr, 0x3018);
	w.recv.dma.num_sge = HCASIM_RXE_MAX_SGE + 1;
	CU_ASSERT_EQUAL(rxe_personality.decode_rqe(&w, sizeof(w), 9, &wr, sges, HCASIM_RXE_MAX_SGE),
			HCASIM_VENDOR_ERR_BAD_RQE);
}

static void test_completion(void)
{
	const struct hca_cpl cpl = {.id = 77,
				    .qpn = 18,
				    .op = HCASIM_CQE_OP_RECV,
				    .byte_count = 5,
				    .inv_rkey = 0x123,
				    .with_inv = true,
				    .src_qpn = 3};
	struct ib_uverbs_wc wc;
	uint8_t raw[HCASIM_RXE_CQ_ELEMENT];

	rxe_personality.encode_cqe(&cpl, 1, raw, sizeof(raw));
	memcpy(&wc, raw, sizeof(wc));
	CU_ASSERT_EQUAL(wc.wr_id, 77);
	CU_ASSERT_EQUAL(wc.opcode, HCASIM_IBV_WC_RECV);
	CU_ASSERT_EQUAL(wc.qp_num, 18);
	CU_ASSERT_EQUAL(wc.byte_len, 5);
	CU_ASSERT_EQUAL(wc.ex.invalidate_rkey, 0x123);
	CU_ASSERT_EQUAL(wc.wc_flags, HCASIM_IBV_WC_FLAG_WITH_INV);
	CU_ASSERT_EQUAL(wc.src_qp, 3);
}

#define PLACES 4u

struct queue {
	struct hcasim_rxe_queue head;
	union {
		union room wqe[PLACES];
		uint8_t cqe[PLACES][HCASIM_RXE_CQ_ELEMENT];
	};
};

/* Indices are the program's, which may have any value; the CQ has room for one completion less than places. */
static void test_lost_adapter(void)
{
	static struct queue sq, cq;
	struct drv_orphan qp = {.number = 18, .mem = (uint8_t *)&sq, .sq_wqebb = PLACES};
	struct drv_orphan send_cq = {.mem = (uint8_t *)&cq, .ring = sizeof(cq.head), .entries = PLACES};
	struct ib_uverbs_wc wc;

	for (unsigned int i = 0; i < PLACES; i++)
		sq.wqe[i].send.wr.wr_id = 100 + i;
	sq.head.consumer_index = 0xfffffff3;
	sq.head.producer_index = 0x80000001;
	cq.head.producer_index = cq.head.consumer_index = 0x7ffffffe;
	rxe_flush_orphan(&qp, &send_cq, NULL);
	CU_ASSERT_EQUAL(sq.head.consumer_index, 1);
	CU_ASSERT_EQUAL(cq.head.producer_index, 0);
	memcpy(&wc, cq.cqe[2], sizeof(wc));
	CU_ASSERT(wc.wr_id == 103 && wc.status == HCASIM_CQE_STATUS_WR_FLUSH_ERR && wc.qp_num == 18);
	memcpy(&wc, cq.cqe[3], sizeof(wc));
	CU_ASSERT_EQUAL(wc.wr_id, 100);
	sq.head.producer_index = 0; /* three more, of which one has room */
	rxe_flush_orphan(&qp, &send_cq, NULL);
	CU_ASSERT_EQUAL(sq.head.consumer_index, 2);
	CU_ASSERT_EQUAL(cq.head.producer_index, 1);
}

/* The file has grown for a queue that no address space holds, and is sealed against shrinking. */
static void test_queue_after_one_that_failed(void)
{
	static struct rxe_dev n;
	struct drv_device dev = {.priv = &n};
	struct rxe_ucontext ctx = {.base = {.dev = &dev}};
	struct rxe_queue queue = {.size = 1ull << 48, .entries = 2, .stride = HCASIM_RXE_CQ_ELEMENT};
	struct rxe_mem *mem;

	STAILQ_INIT(&n.dead);
	CU_ASSERT_EQUAL_FATAL(rxe_alloc_ucontext(&ctx.base, NULL), 0);
	CU_ASSERT_PTR_NULL(rxe_mem_alloc(&ctx.base, &queue, NULL));
	rxe_queue_size(&queue, 1, HCASIM_RXE_CQ_ELEMENT);
	mem = rxe_mem_alloc(&ctx.base, &queue, NULL);
	CU_ASSERT_PTR_NOT_NULL(mem);
	if (mem) {
		CU_ASSERT_EQUAL(queue.head->index_mask, 1);
		munmap(mem->addr, mem->length);
		free(mem);
	}
	close(ctx.memfd);
}

int main(void)
{
	CU_pSuite suite;
	unsigned int failed;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	suite = CU_add_suite("rxe", NULL, NULL);
	CU_add_test(suite, "write", test_write_with_two_sges);
	CU_add_test(suite, "atomic write", test_atomic_write_has_its_value);
	CU_add_test(suite, "refused", test_refused);
	CU_add_test(suite, "place in the list", test_place_in_the_list);
	CU_add_test(suite, "place in inline data", test_place_in_inline_data);
	CU_add_test(suite, "list of 4 GiB", test_list_of_4_gib);
	CU_add_test(suite, "inline flag", test_inline_flag_without_inline_data);
	CU_add_test(suite, "receive", test_receive);
	CU_add_test(suite, "completion", test_completion);
	CU_add_test(suite, "lost adapter", test_lost_adapter);
	CU_add_test(suite, "a queue after one that failed", test_queue_after_one_that_failed);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed != 0;
}
