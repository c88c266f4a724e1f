/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory windows of the responder: binding, allowed accesses, and invalidation. */
#include <errno.h>
#include <string.h>

#include "remote/remote.h"
#include "suites/memory/mw_kit.h"

/* A region of the target, for windows alone. */
static struct ibv_mr *bindable(struct kit *k, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(k->r->dut.responder.pd, k->l->target.base, k->l->target.size,
				       access | IBV_ACCESS_MW_BIND);

	return KIT_MUST(k, mr, "ibv_reg_mr failed with %s", errno_name(errno));
}

/* Accesses in the window up to its last byte; then one beyond its end, before its start, or without the access flag. */
static void mw_bound(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct ibv_mr *mr = mw && kit_arg(k, "mr_reads", 0) ? bindable(k, IBV_ACCESS_REMOTE_READ) : NULL;
	struct bind b = mw_usual(k->l);

	b.mr = mr ? mr : b.mr;
	b.access &= ~kit_arg(k, "without", 0);
	if (mw && mw_bind(k, mw, &b)) {
		if (b.access & IBV_ACCESS_REMOTE_WRITE)
			mw_probe(k, IBV_WR_RDMA_WRITE, mw->rkey, MW_START, IBV_WC_SUCCESS);
		if (KIT_GOOD(k) && b.access & IBV_ACCESS_REMOTE_READ && k->l->qpt != IBV_QPT_UC)
			mw_probe(k, IBV_WR_RDMA_READ, mw->rkey, MW_START + MW_LEN - MW_PROBE, IBV_WC_SUCCESS);
		if (KIT_GOOD(k))
			mw_probe(k, kit_arg(k, "read", 0) ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, mw->rkey,
				 MW_START + kit_arg(k, "at", 0), k->cell->status);
	}
}

SCENARIO(mw_bound) = {
	{"last-byte-exceeded", SUITE("mw"), QPS("RC"), ARGS({"at", 121}),
	 CLAUSE("ibv_alloc_mw/DESCRIPTION/bound"), ERRATA("MW-RIGHTS"), STATUS("REM_ACCESS_ERR"),
	 NEEDS("memory_windows/2"),
	 SAYS("an access through the window completes with IBV_WC_REM_ACCESS_ERR")},
	{"first-byte-before", ARGS({"at", -1})},
	{"read-only", ARGS({"without", IBV_ACCESS_REMOTE_WRITE}),
	 CLAUSE("ibv_bind_mw/DESCRIPTION/mw_access_flags")},
	{"read-exceeded", ARGS({"at", 121}, {"read", 1}), CLAUSE("ibv_alloc_mw/DESCRIPTION/bound")},
	{"read-only-region", ARGS({"mr_reads", 1}, {"without", IBV_ACCESS_REMOTE_WRITE}),
	 CLAUSE("ibv_bind_mw/DESCRIPTION/REMOTE_WRITE"),
	 SAYS("a window for reads of a region without local write access is read; writes are refused")},
	{"write-only", ARGS({"without", IBV_ACCESS_REMOTE_READ}, {"read", 1}),
	 CLAUSE("ibv_bind_mw/DESCRIPTION/mw_access_flags"),
	 SAYS("an access through the window completes with IBV_WC_REM_ACCESS_ERR")},
	{"last-byte-exceeded", QPS("UC"), ARGS({"at", 121}), CLAUSE("ibv_alloc_mw/DESCRIPTION/bound"),
	 SAYS("a write through the window changes no byte; on UC the requester is not told")},
	{"first-byte-before", ARGS({"at", -1})},
	{"read-only", ARGS({"without", IBV_ACCESS_REMOTE_WRITE}),
	 CLAUSE("ibv_bind_mw/DESCRIPTION/mw_access_flags")},
	{},
};

static void mw_not_bound(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);

	if (mw)
		mw_closed(k, mw->rkey);
}

SCENARIO(mw_not_bound) = {
	{"not-bound", SUITE("mw"), QPS("RC"), CLAUSE("ibv_alloc_mw/DESCRIPTION/not-bound"),
	 ERRATA("MW-RIGHTS"), STATUS("REM_ACCESS_ERR"), NEEDS("memory_windows/2"),
	 SAYS("an access through the window completes with IBV_WC_REM_ACCESS_ERR")},
	{"not-bound", QPS("UC"),
	 SAYS("a write through the window changes no byte; on UC the requester is not told")},
	{},
};

static void mw_local_inv(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct bind b = mw_usual(k->l);
	uint32_t old;

	if (mw && mw_bind(k, mw, &b) && mw_opens(k, mw) && mw_invalidate(k, mw)) {
		old = mw->rkey;
		if (kit_arg(k, "rebind", 0) && mw_bind(k, mw, &b))
			mw_opens(k, mw);
		if (KIT_GOOD(k))
			mw_closed(k, old);
	}
}

SCENARIO(mw_local_inv) = {
	{"local_inv", SUITE("mw"), QPS("RC"), FORMS({""}, {"-and-bind", {{"rebind", 1}}}),
	 CLAUSE("ibv_alloc_mw/DESCRIPTION/invalidated"), ERRATA("MW-RIGHTS"), STATUS("REM_ACCESS_ERR"),
	 NEEDS("memory_windows/2 operations/{qp}/LOCAL_INV"),
	 SAYS("an access through the window completes with IBV_WC_REM_ACCESS_ERR")},
	{"local_inv", QPS("UC"), FORMS({""}, {"-and-bind", {{"rebind", 1}}}),
	 SAYS("a write through the window changes no byte; on UC the requester is not told")},
	{},
};

#define TURNS 200 /* so that a bind begins at each place of the queue */

static void mw_turns(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct bind b = mw_usual(k->l);
	bool good = mw;

	for (unsigned int i = 0; i < TURNS && good; i++)
		good = mw_bind(k, mw, &b) && mw_opens(k, mw) && mw_invalidate(k, mw);
	mw_free(k, mw);
}

SCENARIO(mw_turns) = {
	{"turns", SUITE("mw"), QPS("RC"), CLAUSE("ibv_alloc_mw/DESCRIPTION/invalidated"),
	 NEEDS("memory_windows/2 operations/{qp}/LOCAL_INV"),
	 SAYS("a window that is bound and invalidated 200 times works each time")},
	{},
};

/* A free window may be invalidated: it was never bound, or was invalidated before. */
static void mw_inv_free(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct bind b = mw_usual(k->l);

	if (mw && mw_invalidate(k, mw) && mw_bind(k, mw, &b) && mw_opens(k, mw) && mw_invalidate(k, mw) &&
	    mw_invalidate(k, mw) && mw_bind(k, mw, &b))
		mw_opens(k, mw);
}

SCENARIO(mw_inv_free) = {
	{"local_inv-free", SUITE("mw"), QPS("RC UC"), CLAUSE("ibv_alloc_mw/DESCRIPTION/invalidated"),
	 ERRATA("MW-FREE"), NEEDS("memory_windows/2 operations/{qp}/LOCAL_INV"),
	 SAYS("a window that was never bound, or is invalidated a second time, may be invalidated; it "
	      "can be bound then")},
	{},
};

/* When the receive completion of SEND_WITH_INV is polled the window has been invalidated. */
static void mw_send_inv(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct bind b = mw_usual(k->l);
	struct ibv_send_wr wr = kit_wr(0x5e1f, IBV_WR_SEND_WITH_INV, NULL);
	struct ibv_wc wc;
	int ret;

	if (mw && mw_bind(k, mw, &b) && mw_opens(k, mw)) {
		wr.invalidate_rkey = mw->rkey;
		ret = link_fill_recv(k->l);
		ret = ret ? ret : kit_post(k, k->l->qp, k->l->peer, &wr, NULL);
		if (ret)
			KIT_FAULT(k, "posting SEND_WITH_INV was refused with %s", errno_name(ret));
		else if (kit_wait(k, k->l, k->l->peer_cq, &wc)) {
			if (!(wc.wc_flags & IBV_WC_WITH_INV) || wc.invalidated_rkey != mw->rkey)
				KIT_FAULT(k, "the receive completion does not name the invalidated rkey");
			else if (kit_expect(k, k->l, k->l->cq, k->l->qp, 0x5e1f, IBV_WC_SUCCESS))
				mw_closed(k, mw->rkey);
		}
	}
}

SCENARIO(mw_send_inv) = {
	{"send_inv", SUITE("mw"), QPS("RC"), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 CLAUSE("ibv_alloc_mw/DESCRIPTION/invalidated"), ERRATA("MW-RIGHTS"), STATUS("REM_ACCESS_ERR"),
	 NEEDS("memory_windows/2"),
	 SAYS("an access through the window completes with IBV_WC_REM_ACCESS_ERR")},
	{"send_inv", QPS("UC"), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 SAYS("a write through the window changes no byte; on UC the requester is not told")},
	{},
};

/* The key of a region may not be invalidated: the receive completes in error, the sender gets no error. */
static void mw_send_inv_region(struct kit *k)
{
	static const struct ibv_qp_attr brief = {
		.min_rnr_timer = 12, .timeout = 12, .retry_cnt = 2, .rnr_retry = 7};
	static const struct link_opts opts = {.windows = true, .attr = &brief};
	struct ibv_send_wr wr = kit_wr(0x5e1f, IBV_WR_SEND_WITH_INV, NULL);
	struct link *l = k->l;
	struct ibv_wc wc;
	int ret;

	if (!kit_link(k, API_POST, &opts))
		return;
	wr.invalidate_rkey = l->target.mr->rkey;
	ret = link_fill_recv(l);
	ret = ret ? ret : kit_post(k, l->qp, l->peer, &wr, NULL);
	KIT_CHECK(k, !ret, "posting SEND_WITH_INV was refused with %s", errno_name(ret));
	if (l->qpt == IBV_QPT_UC) {
		kit_expect(k, l, l->cq, l->qp, wr.wr_id, IBV_WC_SUCCESS);
		kit_alive(k, l); /* in the receive that the dropped message has left */
		return;
	}
	if (!kit_wait(k, l, l->peer_cq, &wc))
		return;
	KIT_CHECK(k, wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_WR_FLUSH_ERR,
		  "the receive has status %s, expected an error of its own",
		  value_name(status_names, wc.status));
	/* IBTA 11.6.2: these two are about the memory of a WRITE, a READ or an atomic */
	KIT_CHECK(k, wc.status != IBV_WC_LOC_ACCESS_ERR && wc.status != IBV_WC_REM_ACCESS_ERR,
		  "the receive has status %s, which is that of another operation",
		  value_name(status_names, wc.status));
	if (!kit_wait(k, l, l->cq, &wc))
		return;
	KIT_CHECK(k, wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_RETRY_EXC_ERR,
		  "status %s, expected SUCCESS or RETRY_EXC_ERR", value_name(status_names, wc.status));
	kit_expect_state(k, l->peer, IBV_QPS_ERR);
}

SCENARIO(mw_send_inv_region) = {
	{"send_inv-region", SUITE("mw"), QPS("RC"), CLAUSE("ibv_alloc_mw/DESCRIPTION/invalidated"),
	 ERRATA("INV-WHAT"), NEEDS("memory_windows/2 operations/{qp}/SEND_WITH_INV"),
	 SAYS("the receive completes in error, its QP goes to ERR, and the sender's request is not "
	      "refused")},
	{"send_inv-region", QPS("UC"), ERRATA("INV-UC"),
	 SAYS("the message is dropped, and the next one is received")},
	{},
};

/* A bound window of type 2 must be invalidated before it is bound again. */
static void mw_rebind_bound(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct bind b = mw_usual(k->l);

	if (mw && mw_bind(k, mw, &b) && mw_opens(k, mw)) {
		b.addr += 1024;
		mw_bind_refused(k, mw, &b);
	}
}

SCENARIO(mw_rebind_bound) = {
	{"rebind-bound", SUITE("mw"), QPS("RC UC"), CLAUSE("ibv_alloc_mw/DESCRIPTION/invalidated"),
	 ERRATA("MW-REBIND"), STATUS("MW_BIND_ERR"), NEEDS("memory_windows/2"),
	 SAYS("the bind is refused, or completes with IBV_WC_MW_BIND_ERR")},
	{},
};

static void mw_bad_bind(struct kit *k)
{
	struct ibv_pd *pd = ibv_alloc_pd(k->r->dut.responder.ctx);
	int without = kit_arg(k, "mr_without", 0), also = kit_arg(k, "mr_also", 0);
	struct ibv_mw *mw = mw_new(k, kit_arg(k, "other_pd", 0) ? pd : NULL, IBV_MW_TYPE_2);
	struct ibv_mr *mr = NULL, wrong = *k->l->target.mr;
	struct bind b = mw_usual(k->l);

	wrong.lkey ^= 0x100u * (unsigned int)kit_arg(k, "wrong_key", 0);
	if (kit_arg(k, "wrong_key", 0))
		b.mr = &wrong;
	if (mw && (without || also)) {
		int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | IBV_ACCESS_REMOTE_READ | also;

		mr = ibv_reg_mr(k->r->dut.responder.pd, k->l->target.base, k->l->target.size, all & ~without);
		if (!mr)
			KIT_FAULT(k, "ibv_reg_mr failed with %s", errno_name(errno));
		b.mr = mr;
		if (also & IBV_ACCESS_ZERO_BASED)
			b.addr = MW_START; /* the region's own addresses would be out of its range */
	}
	if (kit_arg(k, "empty", 0))
		b.len = 0;
	b.access = kit_arg(k, "access", b.access);
	b.addr += kit_arg(k, "shift", 0) ? k->l->target.size - MW_START - MW_LEN + 1 : 0;
	if (b.mr == &wrong && k->r->dut.remote)
		seen(k->res, "a peer process binds with the region's own key; ");
	else if (mw && KIT_GOOD(k))
		mw_bind_refused(k, mw, &b);
}

SCENARIO(mw_bad_bind) = {
	{"bind", SUITE("mw"), QPS("RC UC"),
	 FORMS({"-beyond-region", {{"shift", 1}}}, {"-other-pd", {{"other_pd", 1}}},
	       {"-no-key", {{"wrong_key", 23130}}}),
	 CLAUSE("ibv_alloc_mw/DESCRIPTION/bound"), ERRATA("MW-RIGHTS"), STATUS("MW_BIND_ERR"),
	 NEEDS("memory_windows/2"), SAYS("the bind is refused, or completes with IBV_WC_MW_BIND_ERR")},
	{"bind-no-bind-right", ARGS({"mr_without", IBV_ACCESS_MW_BIND}),
	 CLAUSE("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_MW_BIND")},
	{"bind", ARGS({"mr_without", IBV_ACCESS_LOCAL_WRITE}),
	 FORMS({"-no-local-write"}, {"-atomic-no-local-write", {{"access", IBV_ACCESS_REMOTE_ATOMIC}}}),
	 CLAUSE("ibv_bind_mw/DESCRIPTION/REMOTE_WRITE")},
	{"bind-no-byte", ARGS({"empty", 1}), CLAUSE("ibv_alloc_mw/DESCRIPTION/bound"), ERRATA("MW-EMPTY"),
	 SAYS("a window of type 2 cannot be bound to no byte: IBV_WC_MW_BIND_ERR, or a refusal at "
	      "posting")},
	{"bind-zero-based-region", QPS("RC"), ARGS({"mr_also", IBV_ACCESS_ZERO_BASED}),
	 CLAUSE("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ZERO_BASED"), ERRATA("ZERO-BASED"),
	 SAYS("the bind is refused, or completes with IBV_WC_MW_BIND_ERR")},
	{},
};

/* There are two types. */
static void mw_unknown_type(struct kit *k)
{
	static const unsigned int types[] = {0, 3};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct ibv_mw *mw = ibv_alloc_mw(k->r->dut.requester.pd, (enum ibv_mw_type)types[i]);

		if (mw)
			ibv_dealloc_mw(mw);
		KIT_CHECK(k, !mw && errno == EINVAL, "ibv_alloc_mw of type %u: %s", types[i],
			  mw ? "succeeded" : errno_name(errno));
	}
}

SCENARIO(mw_unknown_type) = {
	{"unknown-type", SUITE("mw"), QPS("RC"), CLAUSE("ibv_alloc_mw/DESCRIPTION/not-bound"),
	 ERRATA("MW-TYPE"), NEEDS("memory_windows/2"),
	 SAYS("ibv_alloc_mw() of a type that does not exist fails with EINVAL")},
	{},
};

/* A window of type 2B belongs to the QP that its bind was posted on. */
static void mw_other_qp(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct bind b = mw_usual(k->l);
	struct link other = {0};

	if (mw && mw_bind(k, mw, &b) && mw_opens(k, mw) && kit_link_second(k, &other, API_POST, &mw_link)) {
		arena_reset(&other.local);
		if (k->r->dut.responder.attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B)
			mw_probe_on(k, &other, IBV_WR_RDMA_WRITE, mw->rkey, MW_START, k->cell->status);
		else
			seen(k->res, "windows are not of type 2B; ");
	}
}

SCENARIO(mw_other_qp) = {
	{"other-qp", SUITE("mw"), QPS("RC"), CLAUSE("ibv_alloc_mw/DESCRIPTION/bound"), ERRATA("MW-REBIND"),
	 STATUS("REM_ACCESS_ERR"), NEEDS("memory_windows/2"),
	 SAYS("an access through the window completes with IBV_WC_REM_ACCESS_ERR")},
	{"other-qp", QPS("UC"),
	 SAYS("a write through the window changes no byte; on UC the requester is not told")},
	{},
};

/* No window is bound to it any more. */
static void deregister(struct kit *k, struct ibv_mr *mr)
{
	if (mr && ibv_dereg_mr(mr) && KIT_GOOD(k))
		KIT_FAULT(k, "the region cannot be deregistered after its window is void");
}

/* A region cannot be deregistered while a window is bound to it; it can after the window is invalidated or freed. */
static void mw_holds_mr(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct bind b = mw_usual(k->l);
	struct ibv_mr *mr = NULL;
	uint32_t rkey;
	int ret;

	if (mw)
		b.mr = mr = bindable(k, IBV_ACCESS_LOCAL_WRITE);
	if (mr && mw_bind(k, mw, &b) && mw_opens(k, mw)) {
		log_call(&k->res->log, "ibv_dereg_mr(mr)");
		errno = 0;
		ret = ibv_dereg_mr(mr);
		k->res->err = ret;
		if (!ret) {
			mr = NULL;
			KIT_FAULT(k, "a region with a bound window was deregistered");
		} else if (!kit_holds(k, ret > 0)) {
			KIT_FAULT(k, "ibv_dereg_mr() of a region with a bound window returned %d", ret);
		} else if (mw_opens(k, mw) && kit_arg(k, "dealloc", 0)) {
			rkey = mw->rkey;
			mw_free(k, mw);
			mw_closed(k, rkey);
		} else if (KIT_GOOD(k)) {
			mw_invalidate(k, mw);
		}
	}
	deregister(k, mr);
}

SCENARIO(mw_holds_mr) = {
	{"dereg-bound", SUITE("mw"), QPS("RC UC"), CLAUSE("ibv_reg_mr/NOTES/dereg"),
	 NEEDS("memory_windows/2 operations/{qp}/LOCAL_INV"),
	 SAYS("ibv_dereg_mr() fails while the window is bound, and works when it is void")},
	{"dealloc-bound", QPS("RC"), ARGS({"dealloc", 1}), CLAUSE("ibv_alloc_mw/DESCRIPTION/invalidated"),
	 ERRATA("MW-RIGHTS"), STATUS("REM_ACCESS_ERR"), NEEDS("memory_windows/2"),
	 SAYS("ibv_dereg_mr() fails while the window is bound, and works when it is void; then an "
	      "access through the window completes with IBV_WC_REM_ACCESS_ERR")},
	{"dealloc-bound", QPS("UC"), ARGS({"dealloc", 1}),
	 SAYS("ibv_dereg_mr() fails while the window is bound, and works when it is void; then a write "
	      "through the window changes no byte; on UC the requester is not told")},
	{},
};

/* A region cannot be changed while a window is bound to it (IBTA 10.6.7.2.6); afterwards it can. */
static void mw_rereg_bound(struct kit *k)
{
	const int flags = IBV_REREG_MR_CHANGE_ACCESS,
		  access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND;
	struct ibv_mw *mw;
	struct ibv_mr *mr;
	struct bind b;

	if (remote_is(k->r->dut.responder.ctx)) {
		seen(k->res, "the peer process does not call ibv_rereg_mr(); ");
		return;
	}
	mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	b = mw_usual(k->l);
	mr = mw ? bindable(k, IBV_ACCESS_LOCAL_WRITE) : NULL;
	b.mr = mr;
	if (mr && mw_bind(k, mw, &b) && mw_opens(k, mw)) {
		log_call(&k->res->log, "ibv_rereg_mr(mr, %d, NULL, NULL, 0, 0x%x)", flags, access);
		errno = 0;
		if (!ibv_rereg_mr(mr, flags, NULL, NULL, 0, access) || errno <= 0)
			KIT_FAULT(k, "a region with a bound window was registered again, or errno is %d",
				  errno);
		else if (mw_opens(k, mw) && mw_invalidate(k, mw) &&
			 ibv_rereg_mr(mr, flags, NULL, NULL, 0, access))
			KIT_FAULT(k, "a region without windows cannot be registered again: %s",
				  errno_name(errno));
	}
	mw_free(k, mw);
	deregister(k, mr);
}

SCENARIO(mw_rereg_bound) = {
	{"rereg-bound", SUITE("mw"), QPS("RC UC"), CLAUSE("ibv_rereg_mr/DESCRIPTION/flags"),
	 ERRATA("MW-REREG"), NEEDS("memory_windows/2 operations/{qp}/LOCAL_INV"),
	 SAYS("ibv_rereg_mr() fails while a window is bound to the region, and works when it is void")},
	{},
};

/* A bind that ibv_bind_mw() refuses leaves the window's key, and the window, as they are. */
static void refuse_bind(struct kit *k, struct ibv_qp *qp, struct ibv_mw *mw, const struct bind *b,
			const char *what)
{
	struct ibv_mw_bind bind = {.wr_id = 0x71c, .send_flags = IBV_SEND_SIGNALED};
	const uint32_t rkey = mw->rkey;
	int ret;

	bind.bind_info = (struct ibv_mw_bind_info){b->mr, b->addr, b->len, b->access};
	ret = ibv_bind_mw(qp, mw, &bind);
	log_call(&k->res->log, "/* ibv_bind_mw() on %s */", what);
	KIT_CHECK(k, ret > 0, "ibv_bind_mw on %s returned %d, must be refused", what, ret);
	KIT_CHECK(k, mw->rkey == rkey, "mw->rkey was changed by an ibv_bind_mw that was refused");
	k->res->err = ret;
}

/* A datagram QP of the responder's end that could send. */
static struct ibv_qp *ready_ud(struct kit *k, struct ibv_qp_init_attr *init)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = k->r->dut.responder.port, .qkey = 1};
	struct ibv_qp *qp;
	int ret;

	init->qp_type = IBV_QPT_UD;
	qp = ibv_create_qp(k->r->dut.responder.pd, init);
	if (!qp)
		return NULL;
	ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	ret = ret ? ret : ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	ret = ret ? ret : ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	if (ret)
		KIT_FAULT(k, "moving a UD QP to RTS failed with %s", errno_name(ret));
	return qp;
}

/* On a QP in RESET, and on one of a type that binds no windows, in RTS. */
static void mw_type_1_refused(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_1);
	struct ibv_pd *pd = k->r->dut.responder.pd;
	struct bind b = mw_usual(k->l);
	struct ibv_qp_init_attr init = {
		.send_cq = k->l->peer_cq, .recv_cq = k->l->peer_cq, .cap = {2, 2, 1, 1, 0}};
	struct ibv_qp *reset, *other;

	b.mr = k->l->target.mr;
	init.qp_type = k->cell->qpt;
	reset = mw ? ibv_create_qp(pd, &init) : NULL;
	other = mw ? ready_ud(k, &init) : NULL;
	if (reset && other) {
		refuse_bind(k, reset, mw, &b, "a QP in RESET");
		refuse_bind(k, other, mw, &b, "a UD QP");
	} else if (mw) {
		KIT_FAULT(k, "ibv_create_qp failed with %s", errno_name(errno));
	}
	if (mw && KIT_GOOD(k)) {
		struct ibv_mw_bind bind = {.wr_id = 0x71b, .send_flags = IBV_SEND_SIGNALED};

		bind.bind_info = (struct ibv_mw_bind_info){b.mr, b.addr, b.len, b.access};
		if (ibv_bind_mw(k->l->peer, mw, &bind))
			KIT_FAULT(k, "ibv_bind_mw failed after others were refused");
		else if (kit_expect(k, k->l, k->l->peer_cq, k->l->peer, 0x71b, IBV_WC_SUCCESS))
			mw_opens(k, mw);
	}
}

SCENARIO(mw_type_1_refused) = {
	{"type-1-refused", SUITE("mw"), QPS("RC UC"), CLAUSE("ibv_bind_mw/DESCRIPTION/transport"),
	 ALSO("ibv_bind_mw/RETURN-VALUE/rkey"), NEEDS("memory_windows/1"),
	 SAYS("ibv_bind_mw() on a QP in RESET, or on a UD QP, fails and leaves mw->rkey; a bind "
	      "elsewhere works then")},
	{},
};

/* Type 1: ibv_bind_mw() rebinds the window and returns its new key; a bind of 0 bytes unbinds it. */
static void mw_type_1(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_1);
	struct bind b = mw_usual(k->l);
	struct ibv_mr *mr = mw ? bindable(k, IBV_ACCESS_LOCAL_WRITE) : NULL;
	struct ibv_mw_bind bind = {.wr_id = 0x71b, .send_flags = IBV_SEND_SIGNALED};
	uint32_t old = mw ? mw->rkey : 0;
	int ret, lengths[] = {MW_LEN, kit_arg(k, "unbind", 0) ? 0 : MW_LEN};

	b.mr = mr;
	for (int i = 0; mr && i < 2 && KIT_GOOD(k); i++) {
		bind.bind_info =
			(struct ibv_mw_bind_info){b.mr, b.addr, lengths[i], lengths[i] ? b.access : 0};
		old = mw->rkey;
		log_call(&k->res->log,
			 "ibv_bind_mw(peer, mw, &(struct ibv_mw_bind){.bind_info = {mr, (uintptr_t)addr, %d, "
			 "0}})",
			 lengths[i]);
		ret = ibv_bind_mw(k->l->peer, mw, &bind);
		if (ret)
			KIT_FAULT(k, "ibv_bind_mw failed with %s", errno_name(ret));
		else if (mw->rkey == old && lengths[i])
			KIT_FAULT(k, "mw->rkey is the same as before the bind");
		else if (kit_expect(k, k->l, k->l->peer_cq, k->l->peer, 0x71b, IBV_WC_SUCCESS) && lengths[i])
			mw_opens(k, mw);
	}
	if (KIT_GOOD(k))
		mw_closed(k, old);
	if (!lengths[1])
		deregister(k, mr);
	mw_free(k, mw);
	if (lengths[1])
		deregister(k, mr);
}

SCENARIO(mw_type_1) = {
	{"type-1-rebind", SUITE("mw"), QPS("RC"), CLAUSE("ibv_bind_mw/RETURN-VALUE/rkey"),
	 ERRATA("MW-REBIND"), STATUS("REM_ACCESS_ERR"), NEEDS("memory_windows/1"),
	 SAYS("each bind gives a new rkey that works; an access through the rkey of before completes "
	      "with IBV_WC_REM_ACCESS_ERR")},
	{"type-1-unbind", ARGS({"unbind", 1}), CLAUSE("ibv_alloc_mw/DESCRIPTION/invalidated")},
	{"type-1-rebind", QPS("UC"), CLAUSE("ibv_bind_mw/RETURN-VALUE/rkey"),
	 SAYS("each bind gives a new rkey that works; a write through the rkey of before changes no "
	      "byte; on UC the requester is not told")},
	{"type-1-unbind", ARGS({"unbind", 1}), CLAUSE("ibv_alloc_mw/DESCRIPTION/invalidated")},
	{},
};

/* A write through a zero-based window, whose addresses are offsets in it. */
static bool probe_offset(struct kit *k, uint32_t rkey, uint64_t offset, enum ibv_wc_status status)
{
	bool reliable = k->l->qpt != IBV_QPT_UC;
	uint8_t *from = mw_fresh(k->l);

	if (!mw_reach(k, k->l, IBV_WR_RDMA_WRITE, from, rkey, (uint8_t *)(uintptr_t)offset,
		      reliable ? status : IBV_WC_SUCCESS) ||
	    (!reliable && !mw_wait_marker(k, k->l)))
		return false;
	end_sync();
	if (status == IBV_WC_SUCCESS)
		memcpy(arena_shadow(&k->l->target, k->l->target.base + MW_START + offset), from, MW_PROBE);
	arena_judge(&k->res->verdict, &k->l->target);
	return KIT_GOOD(k);
}

static void mw_zero_based(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct bind b = mw_usual(k->l);

	b.access |= IBV_ACCESS_ZERO_BASED;
	if (mw && mw_bind(k, mw, &b) && probe_offset(k, mw->rkey, 0, IBV_WC_SUCCESS) &&
	    probe_offset(k, mw->rkey, MW_LEN - MW_PROBE, IBV_WC_SUCCESS))
		probe_offset(k, mw->rkey, MW_LEN - MW_PROBE + 1, k->cell->status);
}

SCENARIO(mw_zero_based) = {
	{"zero-based", SUITE("mw"), QPS("RC"), CLAUSE("ibv_bind_mw/DESCRIPTION/mw_access_flags"),
	 ERRATA("MW-RIGHTS"), STATUS("REM_ACCESS_ERR"), NEEDS("memory_windows/2"),
	 SAYS("an access through the window completes with IBV_WC_REM_ACCESS_ERR")},
	{"zero-based", QPS("UC"),
	 SAYS("a write through the window changes no byte; on UC the requester is not told")},
	{},
};

/* Two windows of one region, next to each other: each opens its own bytes with its own rights. */
static void mw_neighbours(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2), *other = NULL;
	struct bind b = mw_usual(k->l), next = b;

	next.addr += MW_LEN;
	next.access = IBV_ACCESS_REMOTE_READ;
	other = mw ? ibv_alloc_mw(k->r->dut.responder.pd, IBV_MW_TYPE_2) : NULL;
	if (other && mw_bind(k, mw, &b) && mw_bind(k, other, &next) && mw_opens(k, mw) &&
	    (k->l->qpt == IBV_QPT_UC ||
	     mw_probe(k, IBV_WR_RDMA_READ, other->rkey, MW_START + MW_LEN, IBV_WC_SUCCESS)) &&
	    mw_invalidate(k, other) && mw_opens(k, mw))
		mw_probe(k, IBV_WR_RDMA_WRITE, mw->rkey, MW_START + MW_LEN, k->cell->status);
}

SCENARIO(mw_neighbours) = {
	{"neighbours", SUITE("mw"), QPS("RC"), CLAUSE("ibv_alloc_mw/DESCRIPTION/bound"), ERRATA("MW-RIGHTS"),
	 STATUS("REM_ACCESS_ERR"), NEEDS("memory_windows/2 operations/{qp}/LOCAL_INV"),
	 SAYS("an access through the window completes with IBV_WC_REM_ACCESS_ERR")},
	{"neighbours", QPS("UC"),
	 SAYS("a write through the window changes no byte; on UC the requester is not told")},
	{},
};

/* A window of the whole region begins with its first byte. */
static void mw_whole(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct bind b = mw_usual(k->l);

	b.addr -= MW_START;
	b.len = k->l->target.size;
	if (mw && mw_bind(k, mw, &b) && mw_probe(k, IBV_WR_RDMA_WRITE, mw->rkey, 0, IBV_WC_SUCCESS))
		mw_probe(k, IBV_WR_RDMA_WRITE, mw->rkey, MW_MARK - MW_PROBE, IBV_WC_SUCCESS);
}

SCENARIO(mw_whole) = {
	{"whole", SUITE("mw"), QPS("RC UC"), CLAUSE("ibv_alloc_mw/DESCRIPTION/bound"), ERRATA("MW-RIGHTS"),
	 NEEDS("memory_windows/2"),
	 SAYS("writes from the first byte of a region on arrive through a window of all of it")},
	{},
};

/* Windows that are bound on a QP do not outlive it: the region can be deregistered (IBTA 10.6.7.2.4). */
static void mw_of_destroyed_qp(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct ibv_mw *second = mw ? ibv_alloc_mw(k->r->dut.responder.pd, IBV_MW_TYPE_2) : NULL;
	struct ibv_mr *mr = second ? bindable(k, IBV_ACCESS_LOCAL_WRITE) : NULL;
	struct link gone = {0}, *own = k->l;
	struct bind b = mw_usual(k->l);

	b.mr = mr;
	if (mw && !second)
		KIT_FAULT(k, "ibv_alloc_mw failed with %s", errno_name(errno));
	if (mr && kit_link_second(k, &gone, API_POST, &mw_link)) {
		k->l = &gone;
		if (mw_bind(k, second, &b) && mw_bind(k, mw, &b) && !ibv_dereg_mr(mr)) {
			KIT_FAULT(k, "a region with bound windows was deregistered");
			mr = NULL;
		}
		k->l = own;
	}
	link_destroy(&gone);
	if (mr && KIT_GOOD(k))
		mw_closed(k, mw->rkey);
	deregister(k, mr);
}

SCENARIO(mw_of_destroyed_qp) = {
	{"destroyed-qp", SUITE("mw"), QPS("RC"), CLAUSE("ibv_reg_mr/NOTES/dereg"),
	 ERRATA("MW-REBIND MW-RIGHTS"), STATUS("REM_ACCESS_ERR"), NEEDS("memory_windows/2"),
	 SAYS("when the QP of a bound window is destroyed the region can be deregistered, and an "
	      "access through the window completes with IBV_WC_REM_ACCESS_ERR")},
	{"destroyed-qp", QPS("UC"),
	 SAYS("when the QP of a bound window is destroyed the region can be deregistered, and a write "
	      "through the window changes no byte; on UC the requester is not told")},
	{},
};

/* The key of a window that is no more. */
static uint32_t gone_key(struct kit *k)
{
	struct ibv_mw *mw = ibv_alloc_mw(k->r->dut.responder.pd, IBV_MW_TYPE_2);
	const uint32_t rkey = mw ? mw->rkey : 0;

	mw_free(k, mw);
	return rkey;
}

/* LOCAL_INV of a region's key, of a window of another QP, of one of type 1, and of nothing completes in error. */
static void mw_inv_refused(struct kit *k)
{
	int kind = kit_arg(k, "kind", 0);
	struct ibv_mw *mw = mw_new(k, NULL, kind == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	struct ibv_send_wr wr = kit_wr(0x11f, IBV_WR_LOCAL_INV, NULL);
	struct link other = {0}, *own = k->l;
	struct bind b = mw_usual(k->l);
	struct ibv_wc wc;

	wr.invalidate_rkey = kind == 0 ? k->l->target.mr->rkey : mw ? mw->rkey : 0;
	if (mw && kind == 3)
		wr.invalidate_rkey = gone_key(k);
	if (mw && kind == 2 && mw_bind(k, mw, &b)) {
		wr.invalidate_rkey = mw->rkey;
		if (kit_link_second(k, &other, API_POST, &mw_link))
			k->l = &other;
	}
	if (mw && KIT_GOOD(k)) {
		if (kit_post(k, k->l->peer, k->l->qp, &wr, NULL))
			seen(k->res, "LOCAL_INV was refused; ");
		else if (kit_wait(k, k->l, k->l->peer_cq, &wc) && wc.status != k->cell->status)
			KIT_FAULT(k, "LOCAL_INV of a key that may not be invalidated: status %s",
				  value_name(status_names, wc.status));
	}
	k->l = own;
	if (mw && kind == 2 && KIT_GOOD(k))
		mw_opens(k, mw);
}

SCENARIO(mw_inv_refused) = {
	{"local_inv", SUITE("mw"), QPS("RC UC"),
	 FORMS({"-region", {{"kind", 0}}}, {"-type-1", {{"kind", 1}}}, {"-other-qp", {{"kind", 2}}},
	       {"-nothing", {{"kind", 3}}}),
	 CLAUSE("ibv_alloc_mw/DESCRIPTION/invalidated"), ERRATA("INV-WHAT"), STATUS("MW_BIND_ERR"),
	 NEEDS("memory_windows/2 operations/{qp}/LOCAL_INV"),
	 SAYS("LOCAL_INV completes with IBV_WC_MW_BIND_ERR, and a window of another QP stays bound")},
	{},
};
