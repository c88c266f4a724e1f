// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion statuses that no suite of the conformance set causes, or not with their vendor_err. Requests
 * after the failed one are flushed in order. Prints `status NAME VENDOR_ERR side`, which test_completions.py
 * compares with docs/completions.md.
 */
#include "completions.h"

#include <sys/mman.h>

#include <hcasim_hw.h>

static const char *const names[] = {
	[IBV_WC_SUCCESS] = "SUCCESS",
	[IBV_WC_LOC_LEN_ERR] = "LOC_LEN_ERR",
	[IBV_WC_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
	[IBV_WC_LOC_PROT_ERR] = "LOC_PROT_ERR",
	[IBV_WC_WR_FLUSH_ERR] = "WR_FLUSH_ERR",
	[IBV_WC_MW_BIND_ERR] = "MW_BIND_ERR",
	[IBV_WC_LOC_ACCESS_ERR] = "LOC_ACCESS_ERR",
	[IBV_WC_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
	[IBV_WC_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
};

static struct link l;

static void expect_wc(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status, uint32_t vendor,
		      const char *side)
{
	struct ibv_wc wc = link_wait(cq);

	if (wc.wr_id != wr_id || wc.status != status || wc.vendor_err != vendor)
		fprintf(stderr, "%s: WR %llu '%s' vendor_err %s; expected WR %llu '%s' %s\n", side,
			(unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status),
			hcasim_vendor_err_name((uint8_t)wc.vendor_err), (unsigned long long)wr_id,
			ibv_wc_status_str(status), hcasim_vendor_err_name((uint8_t)vendor));
	CHECK(wc.wr_id == wr_id && wc.status == status && wc.vendor_err == vendor);
	printf("status %s %s %s\n", names[status], hcasim_vendor_err_name((uint8_t)vendor), side);
}

/* Posts a good WRITE, the bad request, two good WRITEs that are flushed, and one WRITE after the failure. */
static void provoke(struct pair *p, struct ibv_send_wr *bad, enum ibv_wc_status status, uint32_t vendor)
{
	post_write(p, 1);
	bad->wr_id = 2;
	bad->send_flags |= IBV_SEND_SIGNALED;
	link_post(p->qp[0], bad);
	post_write(p, 3);
	post_write(p, 4);
	expect_wc(p->cq[0], 1, IBV_WC_SUCCESS, 0, "requester");
	expect_wc(p->cq[0], 2, status, vendor, "requester");
	expect_wc(p->cq[0], 3, IBV_WC_WR_FLUSH_ERR, 0, "requester");
	expect_wc(p->cq[0], 4, IBV_WC_WR_FLUSH_ERR, 0, "requester");
	post_write(p, 5);
	expect_wc(p->cq[0], 5, IBV_WC_WR_FLUSH_ERR, 0, "requester");
	CHECK(link_state(p->qp[0]) == IBV_QPS_ERR);
}

/* ---- Errors of the requester ---- */

static void local_errors(void)
{
	struct ibv_sge no_key = link_sge(&l, 0, 64), short_result = link_sge(&l, 0, 4);
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND, .sg_list = &no_key, .num_sge = 1},
			   add = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				  .sg_list = &short_result,
				  .num_sge = 1,
				  .wr.atomic = {(uintptr_t)l.buf[1], .rkey = l.mr[1]->rkey}};
	struct pair p;

	no_key.lkey ^= 1;
	rc_open(&p, &l, &(struct options){});
	provoke(&p, &send, IBV_WC_LOC_PROT_ERR, HCASIM_VENDOR_ERR_BAD_LKEY);
	CHECK(link_state(p.qp[1]) == IBV_QPS_RTS);
	pair_close(&p);
	rc_open(&p, &l, &(struct options){});
	provoke(&p, &add, IBV_WC_LOC_LEN_ERR, HCASIM_VENDOR_ERR_BAD_SEGMENT);
	pair_close(&p);
}

static void bind_error(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(l.pd[0], IBV_MW_TYPE_2);
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW};
	struct pair p;

	CHECK(mw);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){l.mr[0], (uintptr_t)l.buf[0], 64, 0};
	rc_open(&p, &l, &(struct options){});
	provoke(&p, &wr, IBV_WC_MW_BIND_ERR, HCASIM_VENDOR_ERR_LKEY_ACCESS); /* no IBV_ACCESS_MW_BIND */
	pair_close(&p);
	CHECK(!ibv_dealloc_mw(mw));
}

/*
 * TSO of a packet that is not TCP. A raw QP's send queue stops; its receive queue does not (IBTA 10.3.1.5).
 */
static void operation_error(void)
{
	uint8_t hdr[54] = {[12] = 0x08, [14] = 0x45, [23] = 17};
	struct ibv_sge sge = link_sge(&l, 0, 64);
	struct ibv_cq *cq = link_create_cq(&l, 0, 16);
	struct ibv_qp_init_attr_ex init = {.send_cq = cq,
					   .recv_cq = cq,
					   .cap = {8, 1, 1, 1, 0},
					   .qp_type = IBV_QPT_RAW_PACKET,
					   .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
					   .pd = l.pd[0],
					   .max_tso_header = 64};
	struct ibv_send_wr second = {.wr_id = 2,
				     .sg_list = &sge,
				     .num_sge = 1,
				     .opcode = IBV_WR_SEND,
				     .send_flags = IBV_SEND_SIGNALED},
			   first = {.wr_id = 1,
				    .next = &second,
				    .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = IBV_WR_TSO,
				    .tso = {hdr, sizeof(hdr), 32}};
	const struct ibv_qp_attr attr = {.port_num = 1};
	struct ibv_qp *qp = ibv_create_qp_ex(l.ctx[0], &init);

	CHECK(qp);
	link_modify(qp, &attr, IBV_QPS_RTS);
	link_post(qp, &first);
	expect_wc(cq, 1, IBV_WC_LOC_QP_OP_ERR, HCASIM_VENDOR_ERR_BAD_SEGMENT, "requester");
	expect_wc(cq, 2, IBV_WC_WR_FLUSH_ERR, 0, "requester");
	CHECK(link_state(qp) == IBV_QPS_SQE);
	CHECK(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
}

/* ---- Errors of the responder ---- */

static void refused(const struct options *o, enum ibv_wr_opcode op, uint32_t rkey, enum ibv_wc_status status,
		    enum ibv_event_type event)
{
	struct ibv_sge sge = link_sge(&l, 0, 64);
	struct ibv_send_wr wr = {
		.opcode = op, .sg_list = &sge, .num_sge = 1, .wr.rdma = {(uintptr_t)l.buf[1], rkey}};
	struct pair p;

	rc_open(&p, &l, o);
	provoke(&p, &wr, status, 0);
	expect_event(&l, 1, event, p.qp[1]);
	CHECK(link_state(p.qp[1]) == IBV_QPS_ERR);
	pair_close(&p);
}

static void remote_errors(void)
{
	const struct options usual = {}, write_only = {.access = IBV_ACCESS_REMOTE_WRITE};

	refused(&usual, IBV_WR_RDMA_WRITE, l.mr[1]->rkey ^ 1, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	refused(&write_only, IBV_WR_RDMA_READ, l.mr[1]->rkey, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
}

/*
 * No region of this program allows a flush, and none is persistent: each type and level is refused (IBTA
 * annex A19).
 */
static void flush_errors(void)
{
	for (uint32_t type = IBV_FLUSH_GLOBAL; type <= (IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT); type++) {
		for (int level = IBV_FLUSH_RANGE; level <= IBV_FLUSH_MR; level++) {
			struct ibv_qp_ex *qpx;
			struct pair p;

			rc_open(&p, &l, &(struct options){});
			qpx = ibv_qp_to_qp_ex(p.qp[0]);
			ibv_wr_start(qpx);
			qpx->wr_id = 1;
			qpx->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_flush(qpx, l.mr[1]->rkey, (uintptr_t)l.buf[1], 64 * type + level,
				     (uint8_t)type, (uint8_t)level);
			CHECK(!(errno = ibv_wr_complete(qpx)));
			post_write(&p, 2);
			expect_wc(p.cq[0], 1, IBV_WC_REM_ACCESS_ERR, 0, "requester");
			expect_wc(p.cq[0], 2, IBV_WC_WR_FLUSH_ERR, 0, "requester");
			expect_event(&l, 1, IBV_EVENT_QP_ACCESS_ERR, p.qp[1]);
			pair_close(&p);
		}
	}
}

/*
 * The target of a WRITE with immediate has two pages, and the responder unmapped the second. Only the last
 * packet consumes a receive: the receive completes with the error if that packet's memory is missing, and is
 * flushed if an earlier packet was refused.
 */
static void access_error(uint32_t len, const struct options *o, enum ibv_wc_status first, uint32_t vendor)
{
	struct ibv_sge sge = link_sge(&l, 0, len);
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .sg_list = &sge, .num_sge = 1};
	char *mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(l.pd[1], mem, 8192, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct pair p;

	CHECK(mem != MAP_FAILED && mr);
	wr.wr.rdma.remote_addr = (uintptr_t)mem + 4096 - (len > 1024 ? 4096 : 0);
	wr.wr.rdma.rkey = mr->rkey;
	rc_open(&p, &l, o);
	post_recv(&p, 11, link_sge(&l, 1, 64));
	post_recv(&p, 12, link_sge(&l, 1, 64));
	CHECK(!munmap(mem + 4096, 4096)); /* after the last call that could map something there */
	provoke(&p, &wr, IBV_WC_REM_ACCESS_ERR, 0);
	if (!o->srq || first == IBV_WC_LOC_ACCESS_ERR)
		expect_wc(p.cq[1], 11, first, vendor, "responder");
	if (!o->srq) /* unused receives of an SRQ stay for other queue pairs */
		expect_wc(p.cq[1], 12, IBV_WC_WR_FLUSH_ERR, 0, "responder");
	expect_event(&l, 1, IBV_EVENT_QP_ACCESS_ERR, p.qp[1]);
	if (o->srq)
		expect_event(&l, 1, IBV_EVENT_QP_LAST_WQE_REACHED, p.qp[1]);
	pair_close(&p);
	CHECK(!ibv_dereg_mr(mr) && !munmap(mem, 4096));
}

static void access_errors(void)
{
	const struct options usual = {}, srq = {.srq = true};
	const uint32_t vendor = HCASIM_VENDOR_ERR_DMA_FAULT;

	access_error(64, &usual, IBV_WC_LOC_ACCESS_ERR, vendor);
	access_error(1024, &srq, IBV_WC_LOC_ACCESS_ERR, vendor);
	access_error(4096 + 64, &usual, IBV_WC_LOC_ACCESS_ERR, vendor);
	access_error(4096 + 1024, &srq, IBV_WC_LOC_ACCESS_ERR, vendor);
	access_error(4096 + 3 * 1024, &usual, IBV_WC_WR_FLUSH_ERR, 0);
}

int main(void)
{
	link_open(&l, SIZE);
	local_errors();
	bind_error();
	operation_error();
	remote_errors();
	flush_errors();
	access_errors();
	run_events(&l);
	run_port(&l);
	link_close(&l);
	printf("all completions and events as they must be\n");
	return 0;
}
