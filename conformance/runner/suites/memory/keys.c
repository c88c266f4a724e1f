/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory regions: which accesses their keys allow, and until when. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "suites/kit.h"

#define SIZE   4096
#define OFFSET 256 /* in a zero-based region */
#define MOVED  64
#define COUNT  0x1122334455667788ull

static const int all_access =
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

/* A region with its own memory, which is checked for changes. */
struct region {
	uint8_t *buf;
	struct ibv_mr *mr;
};

/* Without so many bytes at the beginning and the end of its memory. */
static bool make_short_region(struct kit *k, struct region *r, struct ibv_pd *pd, int access, int first,
			      int last)
{
	r->buf = end_alloc(pd, SIZE);
	if (!KIT_MUST(k, r->buf, "no memory"))
		return false;
	memset(r->buf, 0x77, SIZE);
	r->mr = ibv_reg_mr(pd, r->buf + first, (size_t)(SIZE - first - last), access);
	log_call(&k->res->log, "mr = ibv_reg_mr(pd, addr + %d, %d, 0x%x)", first, SIZE - first - last,
		 access);
	return KIT_MUST(k, r->mr, "ibv_reg_mr failed with %s", errno_name(errno));
}

static bool make_region(struct kit *k, struct region *r, struct ibv_pd *pd, int access)
{
	return make_short_region(k, r, pd, access, 0, 0);
}

static void judge_untouched(struct kit *k, const struct region *r)
{
	static uint8_t want[SIZE];

	memset(want, 0x77, SIZE);
	end_sync();
	judge_bytes(&k->res->verdict, "memory behind the key", want, r->buf, SIZE);
}

static void aim(struct ibv_send_wr *wr, const uint8_t *at, uint32_t rkey)
{
	bool atomic = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	if (atomic) {
		wr->wr.atomic.remote_addr = (uintptr_t)at;
		wr->wr.atomic.rkey = rkey;
	} else {
		wr->wr.rdma.remote_addr = (uintptr_t)at;
		wr->wr.rdma.rkey = rkey;
	}
}

/* ibv_post_send() has no ATOMIC_WRITE. */
static bool make_link(struct kit *k)
{
	return kit_link(k, k->cell->wr[0].op == IBV_WR_ATOMIC_WRITE ? API_WR : API_POST, NULL);
}

/* Posts the request of the cell to an address. Returns its wr_id, or 0 and a fault. */
static uint64_t post_to(struct kit *k, const uint8_t *at, uint32_t rkey)
{
	static const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	static struct plan plan;
	struct ibv_send_wr wr = {.wr_id = 0xa7};
	int ret;

	if (k->cell->wr[0].op == IBV_WR_ATOMIC_WRITE) {
		ret = kit_atomic_write(k, wr.wr_id, rkey, at, bytes);
	} else if (!(ret = plan_wr(&plan, k->l, &k->cell->wr[0], 0, k->r->seed))) {
		kit_list(k, &plan, 1, &wr);
		aim(&wr, at, rkey);
		ret = kit_post(k, k->l->qp, k->l->peer, &wr, NULL);
	}
	if (ret)
		KIT_FAULT(k, "posting was refused with %s", errno_name(ret));
	return ret ? 0 : wr.wr_id;
}

/* Posts the request of the cell, which must complete with this status. */
static bool reach(struct kit *k, const uint8_t *at, uint32_t rkey, enum ibv_wc_status status)
{
	uint64_t wr_id = post_to(k, at, rkey);

	return wr_id && kit_expect(k, k->l, k->l->cq, k->l->qp, wr_id, status);
}

static void refused_remotely(struct kit *k, struct ibv_pd *pd, int access)
{
	struct region r = {0};

	if (make_link(k) && make_region(k, &r, pd, access) && reach(k, r.buf, r.mr->rkey, k->cell->status))
		judge_untouched(k, &r);
}

/* The region lacks the access flag that the operation needs. */
static void key_right(struct kit *k)
{
	refused_remotely(k, k->r->dut.responder.pd, all_access & ~kit_arg(k, "without", 0));
}

SCENARIO(key_right) = {
	{"no-right-rdma_write", SUITE("keys"), QPS("RC XRC_SEND"), POSTS("RDMA_WRITE 64"),
	 ARGS({"without", IBV_ACCESS_REMOTE_WRITE}), CLAUSE("ibv_reg_mr/DESCRIPTION/access"),
	 ERRATA("KEY-RIGHTS FAILURE-STATUS"), STATUS("REM_ACCESS_ERR"),
	 SAYS("IBV_WC_REM_ACCESS_ERR at the requester, and not a byte of the region is touched")},
	{"no-right-rdma_read", POSTS("RDMA_READ 64"), ARGS({"without", IBV_ACCESS_REMOTE_READ})},
	{"no-right-{short}", POSTS("{op}"), OPS("ATOMIC_FETCH_AND_ADD ATOMIC_CMP_AND_SWP"),
	 ARGS({"without", IBV_ACCESS_REMOTE_ATOMIC})},
	{"no-right-atomic_write", POSTS("ATOMIC_WRITE!"), ARGS({"without", IBV_ACCESS_REMOTE_WRITE}),
	 ASK("posts")},
	{},
};

/* The region has the access flags that the operation needs, and no others. */
static void key_enough(struct kit *k)
{
	struct region r = {0};

	if (make_link(k) && make_region(k, &r, k->r->dut.responder.pd, kit_arg(k, "access", 0)))
		reach(k, r.buf, r.mr->rkey, IBV_WC_SUCCESS);
}

SCENARIO(key_enough) = {
	{"only-right-rdma_write", SUITE("keys"), QPS("RC XRC_SEND"), POSTS("RDMA_WRITE 64"),
	 ARGS({"access", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}),
	 CLAUSE("ibv_reg_mr/DESCRIPTION/access"), ERRATA("KEY-RIGHTS"),
	 SAYS("the operation is executed on a region that has no other right")},
	{"only-right-rdma_read", POSTS("RDMA_READ 64"), ARGS({"access", IBV_ACCESS_REMOTE_READ})},
	{"only-right-{short}", POSTS("{op}"), OPS("ATOMIC_FETCH_AND_ADD ATOMIC_CMP_AND_SWP"),
	 ARGS({"access", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC})},
	{"only-right-atomic_write", POSTS("ATOMIC_WRITE!"),
	 ARGS({"access", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}), ASK("posts")},
	{},
};

/* One byte before or after the region, at an address where an atomic may be. */
static void key_range(struct kit *k)
{
	const unsigned int len = k->cell->wr[0].len[0];
	const bool before = kit_arg(k, "before", 0);
	struct region r = {0};

	if (kit_link(k, API_POST, NULL) &&
	    make_short_region(k, &r, k->r->dut.responder.pd, all_access, before, !before) &&
	    reach(k, r.buf + (before ? 0 : SIZE - len), r.mr->rkey, k->cell->status))
		judge_untouched(k, &r);
}

SCENARIO(key_range) = {
	{"byte-before-{short}", SUITE("keys"), QPS("RC XRC_SEND"), POSTS("{op} 64"),
	 OPS("RDMA_WRITE RDMA_READ"), ARGS({"before", 1}), CLAUSE("ibv_reg_mr/DESCRIPTION/access"),
	 ERRATA("KEY-RIGHTS FAILURE-STATUS"), STATUS("REM_ACCESS_ERR"),
	 SAYS("IBV_WC_REM_ACCESS_ERR at the requester, and not a byte of the region is touched")},
	{"byte-behind-{short}", OPS("RDMA_WRITE RDMA_READ")},
	{"byte-before-{short}", POSTS("{op}"), OPS("ATOMIC_FETCH_AND_ADD ATOMIC_CMP_AND_SWP"),
	 ARGS({"before", 1})},
	{"byte-behind-{short}", OPS("ATOMIC_FETCH_AND_ADD ATOMIC_CMP_AND_SWP")},
	{},
};

static void key_other_pd(struct kit *k)
{
	struct ibv_pd *pd = ibv_alloc_pd(k->r->dut.responder.ctx);

	KIT_CHECK(k, pd, "ibv_alloc_pd failed with %s", errno_name(errno));
	refused_remotely(k, pd, all_access);
}

SCENARIO(key_other_pd) = {
	{"other-pd-{short}", SUITE("keys"), QPS("RC XRC_SEND"), POSTS("{op} 64"), OPS("RDMA_WRITE RDMA_READ"),
	 CLAUSE("ibv_reg_mr/DESCRIPTION/access"), ERRATA("KEY-RIGHTS FAILURE-STATUS"),
	 STATUS("REM_ACCESS_ERR"),
	 SAYS("IBV_WC_REM_ACCESS_ERR at the requester, and not a byte of the region is touched")},
	{"other-pd-{short}", POSTS("{op}"), OPS("ATOMIC_FETCH_AND_ADD ATOMIC_CMP_AND_SWP")},
	{},
};

/* The QP, not the region, forbids the access. Either of two statuses is allowed (erratum QP-RIGHTS). */
static void key_qp_right(struct kit *k)
{
	struct ibv_qp_attr attr = {.qp_access_flags = all_access & ~kit_arg(k, "without", 0)};
	struct region r = {0};
	struct ibv_wc wc;
	int ret;

	if (kit_link(k, API_POST, NULL) && make_region(k, &r, k->r->dut.responder.pd, all_access)) {
		log_call(&k->res->log,
			 "ibv_modify_qp(peer, &(struct ibv_qp_attr){.qp_access_flags = 0x%x}, "
			 "IBV_QP_ACCESS_FLAGS)",
			 attr.qp_access_flags);
		ret = ibv_modify_qp(k->l->peer, &attr, IBV_QP_ACCESS_FLAGS);
		if (ret)
			KIT_FAULT(k, "ibv_modify_qp failed with %s", errno_name(ret));
		else if (post_to(k, r.buf, r.mr->rkey) && kit_wait(k, k->l, k->l->cq, &wc)) {
			if (wc.status != IBV_WC_REM_ACCESS_ERR && wc.status != IBV_WC_REM_INV_REQ_ERR)
				KIT_FAULT(k, "status %s, expected REM_ACCESS_ERR or REM_INV_REQ_ERR",
					  value_name(status_names, wc.status));
			judge_untouched(k, &r);
		}
	}
}

SCENARIO(key_qp_right) = {
	{"qp-no-right-rdma_write", SUITE("keys"), QPS("RC"), POSTS("RDMA_WRITE 64"),
	 ARGS({"without", IBV_ACCESS_REMOTE_WRITE}), CLAUSE("ibv_modify_qp/DESCRIPTION/qp_access_flags"),
	 ERRATA("QP-RIGHTS FAILURE-STATUS"), STATUS("REM_ACCESS_ERR"),
	 SAYS("IBV_WC_REM_ACCESS_ERR or IBV_WC_REM_INV_REQ_ERR at the requester, and not a byte of the "
	      "region is touched")},
	{"qp-no-right-rdma_read", POSTS("RDMA_READ 64"), ARGS({"without", IBV_ACCESS_REMOTE_READ})},
	{"qp-no-right-{short}", POSTS("{op}"), OPS("ATOMIC_FETCH_AND_ADD ATOMIC_CMP_AND_SWP"),
	 ARGS({"without", IBV_ACCESS_REMOTE_ATOMIC})},
	{},
};

/* The key is valid until the region is deregistered. */
static void key_dereg(struct kit *k)
{
	struct region r = {0};
	uint32_t rkey;
	int ret;

	if (kit_link(k, API_POST, NULL) && make_region(k, &r, k->r->dut.responder.pd, all_access) &&
	    reach(k, r.buf, r.mr->rkey, IBV_WC_SUCCESS)) {
		rkey = r.mr->rkey;
		log_call(&k->res->log, "ibv_dereg_mr(mr)");
		ret = ibv_dereg_mr(r.mr);
		memset(r.buf, 0x77, SIZE);
		end_written(r.buf, SIZE);
		if (ret)
			KIT_FAULT(k, "ibv_dereg_mr failed with %s", errno_name(ret));
		else if (reach(k, r.buf, rkey, k->cell->status))
			judge_untouched(k, &r);
	}
}

SCENARIO(key_dereg) = {
	{"dereg-{short}", SUITE("keys"), QPS("RC XRC_SEND"), POSTS("{op} 64"), OPS("RDMA_WRITE RDMA_READ"),
	 CLAUSE("ibv_reg_mr/RETURN-VALUE/dereg"), ERRATA("KEY-LIFETIME FAILURE-STATUS"),
	 STATUS("REM_ACCESS_ERR"),
	 SAYS("IBV_WC_REM_ACCESS_ERR at the requester, and not a byte of the region is touched")},
	{"dereg-{short}", POSTS("{op}"), OPS("ATOMIC_FETCH_AND_ADD ATOMIC_CMP_AND_SWP")},
	{},
};

/* The same with the key of local memory; or a key of another protection domain. */
static void local_key(struct kit *k)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_pd *other = ibv_alloc_pd(ctx),
		      *pd = kit_arg(k, "other_pd", 0) ? other : k->r->dut.requester.pd;
	static struct plan plan;
	struct region r = {0};
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int ret;

	if (kit_link(k, API_POST, NULL) && make_region(k, &r, pd, all_access & ~kit_arg(k, "without", 0))) {
		sge = (struct ibv_sge){(uintptr_t)r.buf, k->cell->wr[0].len[0], r.mr->lkey};
		if (kit_arg(k, "dereg", 0)) {
			log_call(&k->res->log, "ibv_dereg_mr(mr)");
			ibv_dereg_mr(r.mr);
		}
		ret = plan_wr(&plan, k->l, &k->cell->wr[0], 0, k->r->seed);
		kit_list(k, &plan, 1, &wr);
		wr.sg_list = &sge;
		ret = ret ? ret : kit_post(k, k->l->qp, k->l->peer, &wr, NULL);
		if (ret)
			KIT_FAULT(k, "posting was refused with %s", errno_name(ret));
		else if (kit_expect(k, k->l, k->l->cq, k->l->qp, wr.wr_id, k->cell->status))
			judge_untouched(k, &r);
	}
}

SCENARIO(local_key) = {
	{"local-dereg-{short}", SUITE("keys"), QPS("RC XRC_SEND"), POSTS("{op} 64"),
	 OPS("SEND RDMA_WRITE RDMA_READ"), ARGS({"dereg", 1}), CLAUSE("ibv_reg_mr/RETURN-VALUE/dereg"),
	 ERRATA("KEY-LIFETIME FAILURE-STATUS"), STATUS("LOC_PROT_ERR"),
	 SAYS("IBV_WC_LOC_PROT_ERR, and not a byte of the region is touched")},
	{"local-other-pd-{short}", OPS("SEND RDMA_WRITE RDMA_READ"), ARGS({"other_pd", 1}),
	 CLAUSE("ibv_reg_mr/DESCRIPTION/access"), ERRATA("KEY-RIGHTS FAILURE-STATUS")},
	{"local-no-right-rdma_read", POSTS("RDMA_READ 64"),
	 ARGS({"without", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC})},
	{},
};

/* Posts a FLUSH of that many bytes from the beginning of the region on. 0 or an errno. */
static int post_flush(struct kit *k, const struct region *r, size_t len)
{
	const int type = kit_arg(k, "type", 0), level = kit_arg(k, "level", IBV_FLUSH_RANGE);
	struct link *l = k->l;

	log_call(&k->res->log,
		 "ibv_wr_start(qpx), ibv_wr_flush(qpx, rkey, remote_addr, %zu, %d, %d), ibv_wr_complete(qpx)",
		 len, type, level);
	end_push();
	ibv_wr_start(l->qpx);
	l->qpx->wr_id = 0xf1;
	l->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(l->qpx, r->mr->rkey, (uintptr_t)r->buf, len, type, level);
	if (l->qpt == IBV_QPT_XRC_SEND)
		ibv_wr_set_xrc_srqn(l->qpx, l->srqn);
	return ibv_wr_complete(l->qpx);
}

static bool flush_region(struct kit *k, struct region *r)
{
	return kit_link(k, API_WR, NULL) &&
	       make_region(k, r, k->r->dut.responder.pd,
			   (kit_arg(k, "alone", 0) ? 0 : all_access) | kit_arg(k, "with", 0));
}

/* FLUSH to a region with or without the access flag of this placement type, of a range or of the whole region. */
static void flush_right(struct kit *k)
{
	struct region r = {0};
	int rc;

	if (flush_region(k, &r)) {
		rc = post_flush(k, &r, kit_arg(k, "length", 8));
		if (rc)
			KIT_FAULT(k, "posting was refused with %s", errno_name(rc));
		else
			kit_expect(k, k->l, k->l->cq, k->l->qp, 0xf1, k->cell->status);
	}
}

SCENARIO(flush_right) = {
	{"flush-only-right", SUITE("keys"), QPS("RC XRC_SEND"), POSTS("FLUSH!"),
	 ARGS({"type", 1}, {"with", 256}, {"alone", 1}), CLAUSE("ibv_reg_mr/DESCRIPTION/access"),
	 ERRATA("KEY-RIGHTS"), ASK("posts"),
	 SAYS("the operation is executed on a region that has no other right")},
	{"flush", FORMS({"-no-right", {{"type", 1}}}, {"-persistent", {{"type", IBV_QPT_RC}, {"with", 256}}}),
	 STATUS("REM_ACCESS_ERR"),
	 SAYS("IBV_WC_REM_ACCESS_ERR: the region was not registered for this placement")},
	{"flush", ARGS({"type", 1}, {"with", 256}),
	 FORMS({"-whole", {{"length", 4096}}}, {"-level-region", {{"length", 4097}, {"level", 1}}}),
	 ERRATA("KEY-RIGHTS FLUSH-LEVEL"), STATUS(""),
	 SAYS("IBV_WC_SUCCESS: a range must lie in the region, the level of a region needs no range")},
	{"flush-byte-behind", ARGS({"type", 1}, {"with", 256}, {"length", 4097}), STATUS("REM_ACCESS_ERR"),
	 SAYS("IBV_WC_REM_ACCESS_ERR: a range must lie in the region, the level of a region needs no "
	      "range")},
	{},
};

/* More bytes than the packet's field can name: 2^32, which would be 0 there. */
static void flush_long(struct kit *k)
{
	struct region r = {0};
	struct ibv_wc wc;

	if (flush_region(k, &r) && !post_flush(k, &r, 1ull << 32) && kit_wait(k, k->l, k->l->cq, &wc) &&
	    !kit_holds(k, wc.status != IBV_WC_SUCCESS))
		KIT_FAULT(k, "a FLUSH of 2^32 bytes of a region of %d was executed", SIZE);
}

SCENARIO(flush_long) = {
	{"flush-long", SUITE("keys"), QPS("RC XRC_SEND"), POSTS("FLUSH!"), ARGS({"type", 1}, {"with", 256}),
	 CLAUSE("ibv_reg_mr/DESCRIPTION/access"), ERRATA("KEY-RIGHTS FLUSH-LEVEL"), ASK("posts"),
	 SAYS("a length of more than 32 bits is refused, or completes with an error")},
	{},
};

/* A request with the cell's operation and the given buffers. */
static struct ibv_send_wr request(struct kit *k, struct ibv_sge *sge, const uint8_t *at, uint32_t rkey)
{
	struct ibv_send_wr wr = kit_wr(0xa5, k->cell->wr[0].op, sge);

	if (k->l->qpt == IBV_QPT_XRC_SEND)
		wr.qp_type.xrc.remote_srqn = k->l->srqn;
	aim(&wr, at, rkey);
	if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.compare_add = COUNT;
		wr.wr.atomic.swap = COUNT + 1;
	} else if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.compare_add = 1;
	}
	return wr;
}

/* An answer without a valid buffer: the word at the peer is unchanged, or has the result of an executed atomic. */
static void judge_answer(struct kit *k, const struct region *r, enum ibv_wc_status status)
{
	bool bad_rkey = kit_arg(k, "bad_rkey", 0), executed;
	uint64_t word;

	end_sync();
	memcpy(&word, r->buf, sizeof(word));
	executed = !bad_rkey && k->cell->wr[0].op != IBV_WR_RDMA_READ && word == COUNT + 1;
	if (status != IBV_WC_LOC_PROT_ERR && !(bad_rkey && status == IBV_WC_REM_ACCESS_ERR))
		KIT_FAULT(k, "status %s, expected LOC_PROT_ERR%s", value_name(status_names, status),
			  bad_rkey ? " or REM_ACCESS_ERR" : "");
	if (word != COUNT && !executed)
		KIT_FAULT(k, "remote memory is 0x%llx, it was 0x%llx", (unsigned long long)word,
			  (unsigned long long)COUNT);
}

/* The key of the answer's memory is invalid, optionally also the remote key. Either may be checked first. */
static void answer_key(struct kit *k)
{
	const uint64_t count = COUNT;
	struct region r = {0};
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;

	if (kit_link(k, API_POST, NULL) && make_region(k, &r, k->r->dut.responder.pd, all_access)) {
		memcpy(r.buf, &count, sizeof(count));
		end_written(r.buf, SIZE);
		sge = (struct ibv_sge){(uintptr_t)k->l->local.base, 8,
				       k->l->local.mr->lkey ^ (kit_arg(k, "bad_lkey", 0) ? 0x5a : 0)};
		wr = request(k, &sge, r.buf, r.mr->rkey ^ (kit_arg(k, "bad_rkey", 0) ? 0x5a : 0));
		if (kit_posts(k, k->l->qp, k->l->peer, &wr) && kit_wait(k, k->l, k->l->cq, &wc))
			judge_answer(k, &r, wc.status);
	}
}

SCENARIO(answer_key) = {
	{"local-and-rkey-rdma_read", SUITE("keys"), QPS("RC XRC_SEND"), POSTS("RDMA_READ 600"),
	 ARGS({"bad_lkey", 1}, {"bad_rkey", 1}), CLAUSE("ibv_poll_cq/DESCRIPTION/error"), LEVEL("SHOULD"),
	 ERRATA("ANSWER-KEY FAILURE-STATUS"), STATUS("LOC_PROT_ERR"),
	 SAYS("IBV_WC_LOC_PROT_ERR or IBV_WC_REM_ACCESS_ERR; no memory is touched")},
	{"local-and-rkey-{short}", POSTS("{op}"), OPS("ATOMIC_CMP_AND_SWP ATOMIC_FETCH_AND_ADD"),
	 ARGS({"bad_lkey", 1}, {"bad_rkey", 1})},
	{"local-{short}", OPS("ATOMIC_CMP_AND_SWP ATOMIC_FETCH_AND_ADD"), ARGS({"bad_lkey", 1}),
	 SAYS("IBV_WC_LOC_PROT_ERR; the remote word is as it was, or as the operation leaves it")},
	{},
};

/* A WRITE with immediate of one packet, with an invalid key: both sides get an error. */
static void write_imm_key(struct kit *k)
{
	static struct plan plan;
	struct ibv_send_wr wr;
	int ret;

	if (!kit_link(k, API_POST, NULL) || !kit_plan(k, &plan))
		return;
	kit_list(k, &plan, 1, &wr);
	wr.wr.rdma.rkey ^= 0x5a;
	ret = kit_post(k, k->l->qp, k->l->peer, &wr, NULL);
	KIT_CHECK(k, !ret, "posting was refused with %s", errno_name(ret));
	if (kit_expect(k, k->l, k->l->cq, k->l->qp, wr.wr_id, k->cell->status) &&
	    kit_expect(k, k->l, k->l->peer_cq, k->l->peer, link_recv_wr_id(0), IBV_WC_LOC_ACCESS_ERR))
		collect_memory(k->l, k->l->next_use, k->res);
}

SCENARIO(write_imm_key) = {
	{"rkey-rdma_write_imm", SUITE("keys"), QPS("RC XRC_SEND"), POSTS("RDMA_WRITE_WITH_IMM 64"),
	 CLAUSE("ibv_poll_cq/DESCRIPTION/error"), ERRATA("WRITE-IMM-ACCESS FAILURE-STATUS"),
	 STATUS("REM_ACCESS_ERR"),
	 SAYS("IBV_WC_REM_ACCESS_ERR at the requester, IBV_WC_LOC_ACCESS_ERR in the receive that the "
	      "message took")},
	{},
};

/* Bytes that a request moved between a zero-based region and memory of the link. */
static void judge_moved(struct kit *k, const struct region *r, const uint8_t *other, bool into_region)
{
	static uint8_t want[SIZE];

	end_sync();
	memset(want, 0x77, SIZE);
	if (into_region)
		memcpy(want + OFFSET, other, MOVED);
	else
		judge_bytes(&k->res->verdict, "memory of the link", want, other, MOVED);
	judge_bytes(&k->res->verdict, "zero-based region", want, r->buf, SIZE);
}

/* Addresses in a zero-based region are offsets, in SGEs and as remote addresses. */
static void zero_based(struct kit *k)
{
	bool remote = kit_arg(k, "remote", 0), write = k->cell->wr[0].op == IBV_WR_RDMA_WRITE;
	struct ibv_pd *pd = remote ? k->r->dut.responder.pd : k->r->dut.requester.pd;
	struct ibv_send_wr wr;
	struct region r = {0};
	struct arena *a;
	struct ibv_sge sge;
	uint8_t *other;

	if (kit_link(k, API_POST, NULL) && make_region(k, &r, pd, all_access | kit_arg(k, "access", 0))) {
		a = remote ? &k->l->local : &k->l->target;
		arena_reset(a);
		other = arena_take(a, MOVED);
		arena_fill(a, other, MOVED, k->r->seed);
		sge = (struct ibv_sge){remote ? (uintptr_t)other : OFFSET, MOVED,
				       remote ? a->mr->lkey : r.mr->lkey};
		wr = request(k, &sge, remote ? (uint8_t *)OFFSET : other, remote ? r.mr->rkey : a->mr->rkey);
		if (kit_posts(k, k->l->qp, k->l->peer, &wr) &&
		    kit_expect(k, k->l, k->l->cq, k->l->qp, wr.wr_id, IBV_WC_SUCCESS))
			judge_moved(k, &r, other, write == remote);
	}
}

SCENARIO(zero_based) = {
	{"zero-based-local-{short}", SUITE("keys"), QPS("RC XRC_SEND"), POSTS("{op} 600"),
	 OPS("RDMA_WRITE RDMA_READ"), ARGS({"access", IBV_ACCESS_ZERO_BASED}),
	 CLAUSE("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ZERO_BASED"), ERRATA("ZERO-BASED"),
	 SAYS("the local address is an offset from the beginning of the region")},
	{"zero-based-remote-{short}", OPS("RDMA_WRITE RDMA_READ"),
	 ARGS({"remote", 1}, {"access", IBV_ACCESS_ZERO_BASED}),
	 SAYS("the remote address is an offset from the beginning of the region")},
	{},
};
