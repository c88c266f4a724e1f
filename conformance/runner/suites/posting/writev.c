/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* rdma_post_writev() before the connection, and with memory that is not registered any more. */
#include <errno.h>
#include <string.h>

#include <rdma/rdma_verbs.h>

#include "execute/writev.h"
#include "link/cm.h"
#include "suites/kit.h"

#define CONTEXT 0x7e57c0de

/* -1: refused. */
static int write_once(struct kit *k, struct rdma_cm_id *id, struct ibv_sge *sge, const uint8_t *target,
		      uint32_t rkey)
{
	int ret;

	log_call(&k->res->log,
		 "rdma_post_writev(id, context, sg_list, 1, IBV_SEND_SIGNALED, remote_addr, rkey)");
	end_push();
	errno = 0;
	ret = rdma_post_writev(id, (void *)CONTEXT, sge, 1, IBV_SEND_SIGNALED, (uintptr_t)target, rkey);
	seen(k->res, ret ? "returned %d, errno %s; " : "returned %d; ", ret, errno_name(errno));
	return ret;
}

/* A write that must be executed: the last of each scenario that leaves the connection in order. */
static void write_well(struct kit *k, struct link *l, struct rdma_cm_id *id)
{
	uint8_t *from = arena_take(&l->local, 64), *to = arena_take(&l->target, 64);
	struct ibv_sge sge = {(uintptr_t)from, 64, l->local.mr->lkey};

	arena_fill(&l->local, from, 64, k->r->seed);
	memcpy(arena_shadow(&l->target, to), from, 64);
	KIT_CHECK(k, !write_once(k, id, &sge, to, l->target.mr->rkey),
		  "a write on the connected id was refused");
	if (!kit_expect(k, l, l->cq, l->qp, CONTEXT, IBV_WC_SUCCESS))
		return;
	end_sync();
	arena_judge(&k->res->verdict, &l->local);
	arena_judge(&k->res->verdict, &l->target);
}

static void finish(struct kit *k, struct link *l, struct cm *cm)
{
	if (l->cq)
		collect_extra(l, k->res);
	arena_destroy(&l->local);
	arena_destroy(&l->target);
	cm_close(cm);
}

static bool check(struct kit *k, int ret, const struct cm *cm)
{
	return KIT_MUST(k, !ret, "%s failed with %s", cm->step, errno_name(ret));
}

static bool lend(struct kit *k, struct link *l, struct cm *cm)
{
	cm->step = "ibv_reg_mr";
	return check(k, writev_lend(l, cm, &k->r->dut, API_WRITEV), cm);
}

static void writev_early(struct kit *k)
{
	uint8_t bytes[64] = {0};
	struct ibv_sge sge = {(uintptr_t)bytes, sizeof(bytes), 0};
	struct link l = {0};
	struct cm cm;
	int ret;

	if (check(k, cm_begin(&cm, &k->r->dut, k->cell->ask_sge, k->cell->ask_inline, &k->res->log), &cm)) {
		if (kit_arg(k, "connected", 0))
			check(k, cm_connect(&cm, &k->r->dut), &cm);
		ret = write_once(k, cm.client, &sge, bytes, 0);
		if (ret != -1 || !errno)
			KIT_FAULT(k,
				  "before the connection it returned %d with errno %d, must be -1 with errno "
				  "set",
				  ret, errno);
		if (KIT_GOOD(k) && check(k, cm_connect(&cm, &k->r->dut), &cm) && lend(k, &l, &cm))
			write_well(k, &l, cm.client);
	}
	finish(k, &l, &cm);
}

SCENARIO(writev_early) = {
	{"not-connected", SUITE("writev"), QPS("RC"), CLAUSE("rdma_post_writev/NOTES/connected"),
	 ERRATA("POST-IN-RESET"), NEEDS("rdma_cm"),
	 SAYS("-1 and errno before the connection, and a write afterwards is executed")},
	{},
};

static void has_write(struct kit *k, const char *side, struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {0};
	int ret = ibv_query_qp(qp, &attr, IBV_QP_ACCESS_FLAGS, &init);

	KIT_CHECK(k, !ret && attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE,
		  "the %s's QP has the access flags 0x%x, REMOTE_WRITE is not among them", side,
		  attr.qp_access_flags);
}

/* Without responder resources there are no READs and atomics; a write needs none. */
static void writev_no_resources(struct kit *k)
{
	struct link l = {0};
	struct cm cm;

	if (check(k, cm_begin(&cm, &k->r->dut, k->cell->ask_sge, k->cell->ask_inline, &k->res->log), &cm)) {
		cm.no_resources = true;
		if (check(k, cm_connect(&cm, &k->r->dut), &cm) && lend(k, &l, &cm)) {
			has_write(k, "client", cm.client->qp);
			has_write(k, "server", cm.peer);
			if (KIT_GOOD(k))
				write_well(k, &l, cm.client);
		}
	}
	finish(k, &l, &cm);
}

SCENARIO(writev_no_resources) = {
	{"no-resources", SUITE("writev"), QPS("RC"), CLAUSE("rdma_post_writev/NOTES/connected"),
	 NEEDS("rdma_cm"),
	 SAYS("over a connection whose sides have neither responder_resources nor initiator_depth both "
	      "QPs have the right to write, and a write is executed")},
	{},
};

/* A region of one end is deregistered before the write: it touches nothing and completes in error. */
static void write_void(struct kit *k, struct link *l, struct rdma_cm_id *id)
{
	uint8_t *from = arena_take(&l->local, 64), *to = arena_take(&l->target, 64);
	struct ibv_sge sge = {(uintptr_t)from, 64, l->local.mr->lkey};
	bool remote = kit_arg(k, "remote", 0);
	struct ibv_mr *mr = remote ? ibv_reg_mr(l->target.mr->pd, to, 64,
						IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
				   : ibv_reg_mr(l->local.mr->pd, from, 64, 0);
	uint32_t key;
	int ret;

	KIT_CHECK(k, mr, "ibv_reg_mr failed with %s", errno_name(errno));
	key = remote ? mr->rkey : mr->lkey;
	if (!remote)
		sge.lkey = key;
	ret = kit_arg(k, "kept", 0) ? 0 : ibv_dereg_mr(mr);
	KIT_CHECK(k, !ret, "ibv_dereg_mr failed with %s", errno_name(ret));
	arena_fill(&l->local, from, 64, k->r->seed);
	ret = write_once(k, id, &sge, to, remote ? key : l->target.mr->rkey);
	KIT_CHECK(k, !ret, "the write was refused");
	if (!kit_expect(k, l, l->cq, l->qp, CONTEXT, k->cell->status))
		return;
	end_sync();
	arena_judge(&k->res->verdict, &l->target);
}

static void writev_void(struct kit *k)
{
	struct link l = {0};
	struct cm cm;

	if (check(k, cm_open(&cm, &k->r->dut, k->cell->ask_sge, k->cell->ask_inline, &k->res->log), &cm) &&
	    lend(k, &l, &cm))
		write_void(k, &l, cm.client);
	finish(k, &l, &cm);
}

SCENARIO(writev_void) = {
	{"local-deregistered", SUITE("writev"), QPS("RC"), CLAUSE("rdma_post_writev/NOTES/registered"),
	 ERRATA("KEY-LIFETIME FAILURE-STATUS"), STATUS("LOC_PROT_ERR"), NEEDS("rdma_cm"),
	 SAYS("the write completes with IBV_WC_LOC_PROT_ERR, and no byte of the responder has changed")},
	{"remote-deregistered", ARGS({"remote", 1}), CLAUSE("rdma_post_writev/NOTES/remote"),
	 STATUS("REM_ACCESS_ERR"),
	 SAYS("the write completes with IBV_WC_REM_ACCESS_ERR, and no byte of the responder has changed")},
	{},
};
