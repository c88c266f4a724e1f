/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tag matching at its limits: full rings of operations, every handle, refused operations, entries that fail. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "suites/queues/tags.h"

#define TMH     ((uint32_t)sizeof(struct ibv_tmh))
#define ALL     UINT64_MAX
#define NUM_OPS 8  /* at most */
#define MOST    48 /* operations of a list: fewer than the CQ holds */
#define ENTRIES 8

/* The operations of `wr` as a list; -1 or the index of *bad_wr. */
static int post(struct tags *t, struct ibv_ops_wr *wr, unsigned int num, int *bad)
{
	struct ibv_ops_wr *failed = NULL;
	int ret;

	for (unsigned int i = 0; i < num; i++)
		wr[i].next = i + 1 < num ? &wr[i + 1] : NULL;
	log_call(&t->k->res->log, "/* ibv_post_srq_ops(srq, wr, &bad_wr) of %u operations */", num);
	ret = ibv_post_srq_ops(t->srq, wr, &failed);
	*bad = ret ? (int)(failed - wr) : -1;
	return ret;
}

static struct ibv_ops_wr sync_op(uint64_t wr_id, int flags)
{
	return (struct ibv_ops_wr){.wr_id = wr_id, .opcode = IBV_WR_TAG_SYNC, .flags = flags};
}

/* ---- The ring of operations ---- */

/* As many as asked for are outstanding, the last of them signaled: its completion makes room for all. */
static bool ring_turn(struct tags *t, unsigned int ops, unsigned int turn)
{
	struct ibv_ops_wr wr[NUM_OPS];
	int ret, bad;

	for (unsigned int i = 0; i < ops; i++)
		wr[i] = sync_op(1000 * turn + i, i + 1 < ops ? 0 : IBV_OPS_SIGNALED);
	ret = post(t, wr, ops, &bad);
	if (ret)
		KIT_FAULT(t->k, "operation %d of %u that are granted was refused with %s", bad, ops,
			  errno_name(ret));
	return KIT_GOOD(t->k) && tags_expect(t, 1000 * turn + ops - 1, IBV_WC_TM_SYNC, IBV_WC_SUCCESS, 0);
}

/* More than are granted: those before *bad_wr are executed, and nothing else. */
static bool ring_full(struct tags *t, unsigned int ops)
{
	struct ibv_ops_wr wr[MOST];
	int ret, bad;

	for (unsigned int i = 0; i < MOST; i++)
		wr[i] = sync_op(0xf00 + i, IBV_OPS_SIGNALED);
	ret = post(t, wr, MOST, &bad);
	t->k->res->err = ret;
	if (ret)
		judge_errno(&t->k->res->verdict, ret, t->k->r->dut.refusal.full);
	if (!ret) {
		seen(t->k->res, "%d operations were taken; ", MOST);
		bad = MOST;
	} else if (bad < (int)ops || bad >= MOST) {
		KIT_FAULT(t->k, "bad_wr names operation %d, %u are granted", bad, ops);
		return false;
	}
	for (int i = 0; i < bad; i++)
		if (!tags_expect(t, 0xf00 + i, IBV_WC_TM_SYNC, IBV_WC_SUCCESS, 0))
			return false;
	return true;
}

static void ring(struct kit *k, struct tags *t)
{
	const unsigned int ops = kit_arg(k, "ops", 0);

	for (unsigned int turn = 1; turn <= 9 && KIT_GOOD(k); turn++) {
		if (!ring_turn(t, ops, turn))
			return;
		if (turn % 4 == 2 && !ring_full(t, ops))
			return;
	}
	/* and the list still works */
	if (tags_must_add(t, (struct tags_entry){.slot = 1, .tag = 5, .mask = ALL, .len = 64}, NULL) &&
	    tags_send(t, IBV_TMH_EAGER, 5, TMH + 9))
		tags_expect(t, TAGS_RECV + 1, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE);
}

static void tag_ring(struct kit *k)
{
	const struct tags_opts opts = {.num_tags = ENTRIES, .max_ops = kit_arg(k, "ops", 0)};

	tags_run(k, &opts, ring);
}

SCENARIO(tag_ring) = {
	{"ring", SUITE("tags"), QPS("RC"), FORMS({"", {{"ops", 5}}}, {"-8", {{"ops", 8}}}),
	 CLAUSE("ibv_create_srq_ex/DESCRIPTION/max_ops"), ERRATA("TM-LIMITS"), NEEDS("tag_matching"),
	 SAYS("as many operations as asked for are outstanding, each completes with its wr_id, at "
	      "every place of the ring")},
	{},
};

/* ---- Handles ---- */

struct entries {
	uint32_t handle[ENTRIES];
	unsigned int turn;
};

static uint64_t tag_of(const struct entries *e, unsigned int i)
{
	return (uint64_t)(0x100 * e->turn + i) << 40 | i;
}

/* Fills the list: all different. Every second operation is silent. */
static bool add_all(struct tags *t, struct entries *e)
{
	struct tags_entry add = {.mask = ALL};
	int ret;

	for (unsigned int i = 0; i < ENTRIES; i++) {
		add.slot = i;
		add.tag = tag_of(e, i);
		add.len = 40 + 7 * i + e->turn;
		add.two = i & 2;
		if (i & 1) {
			if (!tags_must_add(t, add, &e->handle[i]))
				return false;
		} else if ((ret = tags_add(t, add, &e->handle[i]))) {
			KIT_FAULT(t->k, "entry %u of %d was refused with %s", i, ENTRIES, errno_name(ret));
			return false;
		}
		for (unsigned int j = 0; j < i; j++)
			if (!KIT_MUST(t->k, e->handle[j] != e->handle[i],
				      "entries %u and %u have the same handle", j, i))
				return false;
	}
	return true;
}

/* Deletes these entries in one list, silently but for the last. */
static bool delete_some(struct tags *t, const struct entries *e, unsigned int gone)
{
	struct ibv_ops_wr wr[ENTRIES] = {};
	unsigned int n = 0;
	int ret, bad;

	for (unsigned int i = ENTRIES; i-- > 0;)
		if (gone >> i & 1) {
			wr[n] = (struct ibv_ops_wr){.wr_id = 0xd00 + i, .opcode = IBV_WR_TAG_DEL};
			wr[n++].tm.handle = e->handle[i];
		}
	wr[n - 1].flags = IBV_OPS_SIGNALED;
	ret = post(t, wr, n, &bad);
	if (!KIT_MUST(t->k, !ret, "IBV_WR_TAG_DEL %d was refused with %s", bad, errno_name(ret)))
		return false;
	return tags_expect(t, wr[n - 1].wr_id, IBV_WC_TM_DEL, IBV_WC_SUCCESS, 0);
}

/* The other entries take their messages, in another order than that of the list. */
static bool use_others(struct tags *t, const struct entries *e, unsigned int gone)
{
	for (unsigned int n = 0; n < ENTRIES; n++) {
		unsigned int i = (n * 3 + e->turn) % ENTRIES;
		uint32_t len = 40 + 7 * i + e->turn;

		if (gone >> i & 1)
			continue;
		memset(tags_buffer(t, i), 0, TAGS_SLOT);
		if (!tags_send(t, IBV_TMH_EAGER, tag_of(e, i), TMH + len) ||
		    !tags_expect(t, TAGS_RECV + i, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE))
			return false;
		if (t->wc.tag != tag_of(e, i) || t->wc.byte_len != len)
			KIT_FAULT(t->k, "tag or byte_len is not the message's");
		if (!tags_data(t, i, t->from + TMH, len))
			return false;
	}
	return true;
}

/* Handles that are nobody's: of entries that ended, and beyond all. The bits above 16 count, too. */
static bool no_handle(struct tags *t, uint32_t handle)
{
	struct ibv_ops_wr wr = {.wr_id = 0xe00, .opcode = IBV_WR_TAG_DEL, .flags = IBV_OPS_SIGNALED};
	int ret;

	wr.tm.handle = handle;
	ret = tags_post(t, &wr);
	t->k->res->err = ret;
	if (!ret)
		KIT_FAULT(t->k, "handle 0x%x of no entry was taken", handle);
	else
		judge_errno(&t->k->res->verdict, ret, t->k->r->dut.refusal.invalid);
	return KIT_GOOD(t->k);
}

static uint32_t above_all(const struct entries *e)
{
	uint32_t most = 0;

	for (unsigned int i = 0; i < ENTRIES; i++)
		if (e->handle[i] > most)
			most = e->handle[i];
	return most + 1;
}

static void handles(struct kit *k, struct tags *t)
{
	static const unsigned int gone[] = {0x24, 0x81, 0xff, 0x02, 0x7e};
	struct entries e;

	for (e.turn = 0; e.turn < sizeof(gone) / sizeof(gone[0]) && KIT_GOOD(k); e.turn++) {
		if (!add_all(t, &e) || !no_handle(t, e.handle[3] + 0x10000) || !no_handle(t, UINT32_MAX) ||
		    !no_handle(t, above_all(&e)) || !delete_some(t, &e, gone[e.turn]) ||
		    !use_others(t, &e, gone[e.turn]))
			return;
		for (unsigned int i = 0; i < ENTRIES; i++)
			if (!no_handle(t, e.handle[i]))
				return;
	}
}

static void tag_handles(struct kit *k)
{
	const struct tags_opts opts = {.num_tags = ENTRIES, .max_ops = ENTRIES};

	tags_run(k, &opts, handles);
}

SCENARIO(tag_handles) = {
	{"handles", SUITE("tags"), QPS("RC"), CLAUSE("ibv_post_srq_ops/DESCRIPTION/handle"),
	 ERRATA("TM-LIMITS POST-ERRNO"), NEEDS("tag_matching"),
	 SAYS("each entry has a handle of its own, which deletes it and no other; one of no entry is "
	      "refused")},
	{},
};

static void *used_memory(struct ibv_pd *pd, void *context, size_t size, size_t alignment, uint64_t type)
{
	void *at = NULL;

	(void)pd, (void)context, (void)type;
	if (posix_memalign(&at, alignment < sizeof(void *) ? sizeof(void *) : alignment, size))
		return NULL;
	return memset(at, 0x5a, size); /* ibv_alloc_parent_domain(3) does not say that it is cleared */
}

static void free_memory(struct ibv_pd *pd, void *context, void *at, uint64_t type)
{
	(void)pd, (void)context, (void)type;
	free(at);
}

static void no_handles(struct kit *k, struct tags *t)
{
	(void)k;
	for (uint32_t handle = 0; handle < ENTRIES && no_handle(t, handle); handle++)
		;
}

/* A new list has no entry, whatever was in its memory before. */
static void tag_no_handles(struct kit *k)
{
	struct ibv_parent_domain_init_attr attr = {.pd = k->r->dut.responder.pd,
						   .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS,
						   .alloc = used_memory,
						   .free = free_memory};
	struct tags_opts opts = {.num_tags = ENTRIES, .max_ops = ENTRIES};

	if (!k->r->dut.remote) {
		opts.pd = ibv_alloc_parent_domain(k->r->dut.responder.ctx, &attr);
		KIT_CHECK(k, opts.pd || errno == EOPNOTSUPP, "ibv_alloc_parent_domain failed with %s",
			  errno_name(errno));
	}
	tags_run(k, &opts, no_handles);
}

SCENARIO(tag_no_handles) = {
	{"no-handles", SUITE("tags"), QPS("RC"), CLAUSE("ibv_post_srq_ops/DESCRIPTION/handle"),
	 ERRATA("TM-LIMITS POST-ERRNO"), NEEDS("tag_matching"),
	 SAYS("a new list whose memory comes from the allocator of a parent domain has no handle yet: "
	      "each is refused")},
	{},
};

/* ---- Lists with a mistake ---- */

enum mistake { MANY_SGES, NO_SGES, NO_HANDLE, NO_OPCODE, NO_FLAG, NO_SPACE, MISTAKES };

static struct ibv_ops_wr mistaken(enum mistake what, struct ibv_sge *sge, const struct ibv_tm_caps *caps)
{
	struct ibv_ops_wr wr = {.wr_id = 0xbad, .opcode = IBV_WR_TAG_ADD, .flags = IBV_OPS_SIGNALED};

	wr.tm.add.sg_list = sge;
	wr.tm.add.num_sge = what == MANY_SGES ? (int)caps->max_sge + 1 : what == NO_SGES ? -1 : 1;
	if (what == NO_HANDLE) {
		wr.opcode = IBV_WR_TAG_DEL;
		wr.tm.handle = caps->max_num_tags;
	}
	if (what == NO_OPCODE)
		wr.opcode = IBV_WR_TAG_SYNC + 1;
	if (what == NO_FLAG)
		wr.flags |= 1 << 30;
	return wr;
}

/* ADD, SYNC, ADD, ADD, ADD: more than the list of three entries holds. */
static void fill_list(struct tags *t, struct ibv_ops_wr *wr, struct ibv_sge *sge)
{
	for (unsigned int i = 0; i < 5; i++) {
		wr[i] = (struct ibv_ops_wr){
			.wr_id = TAGS_OP + i, .opcode = IBV_WR_TAG_ADD, .flags = IBV_OPS_SIGNALED};
		sge[i] = (struct ibv_sge){(uintptr_t)tags_buffer(t, i), 64, t->to_mr->lkey};
		wr[i].tm.add.sg_list = &sge[i];
		wr[i].tm.add.num_sge = 1;
		wr[i].tm.add.recv_wr_id = TAGS_RECV + i;
		wr[i].tm.add.tag = i;
		wr[i].tm.add.mask = ALL;
	}
	wr[1] = sync_op(TAGS_OP + 1, IBV_OPS_SIGNALED);
}

/* The operations before `at` have been executed, and nothing else. */
static bool executed(struct tags *t, unsigned int at)
{
	for (unsigned int i = 0; i < at; i++)
		if (!tags_expect(t, TAGS_OP + i, i == 1 ? IBV_WC_TM_SYNC : IBV_WC_TM_ADD, IBV_WC_SUCCESS, 0))
			return false;
	for (unsigned int i = 0; i < at; i++)
		if (i != 1 && (!tags_send(t, IBV_TMH_EAGER, i, TMH + 9) ||
			       !tags_expect(t, TAGS_RECV + i, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE)))
			return false;
	return tags_sync(t, 0, 0);
}

/* A list whose fourth operation is the mistake, or whose fifth finds no space. */
static bool list_with(struct tags *t, enum mistake what, const struct ibv_tm_caps *caps)
{
	const int at = what == NO_SPACE ? 4 : 3;
	const struct dut *dut = &t->k->r->dut;
	struct ibv_sge sge[64], one[5];
	struct ibv_ops_wr wr[5];
	int ret, bad;

	for (unsigned int i = 0; i < 64; i++)
		sge[i] = (struct ibv_sge){(uintptr_t)tags_buffer(t, 9), 1, t->to_mr->lkey};
	fill_list(t, wr, one);
	if (what != NO_SPACE)
		wr[3] = mistaken(what, sge, caps);
	ret = post(t, wr, 5, &bad);
	t->k->res->err = ret;
	if (!ret || bad != at) {
		KIT_FAULT(t->k, "mistake %d: bad_wr names operation %d, expected %d", what, bad, at);
		return false;
	}
	judge_errno(&t->k->res->verdict, ret, what == NO_SPACE ? dut->refusal.full : dut->refusal.invalid);
	return executed(t, at);
}

static void list(struct kit *k, struct tags *t)
{
	struct ibv_device_attr_ex attr = {};
	int ret = ibv_query_device_ex(k->r->dut.responder.ctx, NULL, &attr);

	KIT_CHECK(k, !ret, "ibv_query_device_ex failed with %s", errno_name(ret));
	KIT_CHECK(k, attr.tm_caps.max_sge < 64, "tm_caps.max_sge is %u", attr.tm_caps.max_sge);
	for (enum mistake what = 0; what < MISTAKES; what++)
		if (!list_with(t, what, &attr.tm_caps))
			return;
}

static void tag_list(struct kit *k)
{
	const struct tags_opts opts = {.num_tags = 3};

	tags_run(k, &opts, list);
}

SCENARIO(tag_list) = {
	{"list", SUITE("tags"), QPS("RC"), CLAUSE("ibv_post_srq_ops/RETURN-VALUE"), ERRATA("POST-ERRNO"),
	 NEEDS("tag_matching"),
	 SAYS("bad_wr names the mistake in a list of operations; those before it are executed, and "
	      "nothing else")},
	{},
};

/* A queue without a tag list has no operations. */
static void no_list(struct kit *k, struct tags *t)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_ops_wr wr = sync_op(1, IBV_OPS_SIGNALED), *bad = NULL;
	struct ibv_srq *srq = ibv_create_srq(k->r->dut.responder.pd, &init);
	int ret;

	KIT_CHECK(k, srq, "ibv_create_srq failed with %s", errno_name(errno));
	log_call(&k->res->log, "/* ibv_post_srq_ops(srq, wr, &bad_wr) of a queue without a tag list */");
	ret = ibv_post_srq_ops(srq, &wr, &bad);
	k->res->err = ret;
	if (!ret || bad != &wr)
		KIT_FAULT(k,
			  "an operation of a queue without a tag list was taken, or bad_wr does not name it");
	judge_errno(&k->res->verdict, ret, k->r->dut.refusal.invalid);
	ibv_destroy_srq(srq);
}

static void tag_no_list(struct kit *k)
{
	tags_run(k, &(const struct tags_opts){0}, no_list);
}

SCENARIO(tag_no_list) = {
	{"no-list", SUITE("tags"), QPS("RC"), CLAUSE("ibv_post_srq_ops/RETURN-VALUE"), ERRATA("POST-ERRNO"),
	 NEEDS("tag_matching"), SAYS("a queue without a tag list refuses operations")},
	{},
};

/* ---- Entries that fail ---- */

/* The message cannot be stored: its entry ends with an error and leaves the list. */
static void fails(struct kit *k, struct tags *t)
{
	struct tags_entry e = {.slot = 1, .tag = 6, .mask = ALL, .len = kit_arg(k, "room", 64)};
	const enum ibv_wc_status own = k->cell->status;
	const enum ibv_wc_status peers =
		own == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR;
	struct ibv_sge sge = {(uintptr_t)t->from, TMH + 65, t->from_mr->lkey};
	struct ibv_send_wr wr = kit_wr(0x5e4d, IBV_WR_SEND, &sge);
	const struct ibv_tmh tmh = {.opcode = IBV_TMH_EAGER, .tag = htobe64(6)};
	int ret;

	if (kit_arg(k, "bad_key", 0))
		e.bad_key = 0x5500;
	if (!tags_must_add(t, e, NULL))
		return;
	memcpy(t->from, &tmh, sizeof(tmh));
	ret = kit_post(k, t->l.qp, t->l.peer, &wr, NULL);
	KIT_CHECK(k, !ret, "posting the message failed with %s", errno_name(ret));
	if (!kit_expect(k, &t->l, t->l.cq, t->l.qp, 0x5e4d, peers) || !tags_next(t))
		return;
	KIT_CHECK(k, t->wc.wr_id == TAGS_RECV + 1 && t->wc.status == own,
		  "wr_id 0x%llx has status %d, expected 0x%x and %d", (unsigned long long)t->wc.wr_id,
		  t->wc.status, TAGS_RECV + 1, own);
	e.bad_key = 0;
	tags_must_add(t, e, NULL); /* the list has one entry, and room for it again */
}

static void tag_fails(struct kit *k)
{
	const struct tags_opts opts = {.num_tags = 1};

	tags_run(k, &opts, fails);
}

SCENARIO(tag_fails) = {
	{"entry-short", SUITE("tags"), QPS("RC"), ARGS({"room", 64}),
	 CLAUSE("ibv_create_srq_ex/DESCRIPTION/max_num_tags"), ERRATA("TM-LIMITS"), STATUS("LOC_LEN_ERR"),
	 NEEDS("tag_matching"),
	 SAYS("IBV_WC_LOC_LEN_ERR for the entry, IBV_WC_REM_INV_REQ_ERR for the sender, and room for "
	      "another entry")},
	{"entry-bad-key", ARGS({"room", 100}, {"bad_key", 1}), STATUS("LOC_PROT_ERR"),
	 SAYS("IBV_WC_LOC_PROT_ERR for the entry, IBV_WC_REM_OP_ERR for the sender, and room for "
	      "another entry")},
	{},
};

/* ---- Queues that go ---- */

static bool entries(struct tags *t, unsigned int num)
{
	for (unsigned int i = 0; i < num; i++) {
		int ret = tags_add(t, (struct tags_entry){.slot = i, .tag = i, .mask = ALL, .len = 64}, NULL);

		if (!KIT_MUST(t->k, !ret, "IBV_WR_TAG_ADD was refused with %s", errno_name(ret)))
			return false;
	}
	return tags_sync(t, 0, 0);
}

/* Messages that match and one without a tag, in turn to both queues; nothing is polled. */
static bool in_turn(struct tags *t, struct tags *goes)
{
	for (unsigned int i = 0; i < 2; i++)
		if (!tags_send(t, IBV_TMH_EAGER, i, TMH + 9) || !tags_send(goes, IBV_TMH_EAGER, i, TMH + 9))
			return false;
	return tags_send(t, IBV_TMH_NO_TAG, 0, TMH + 9) && tags_send(goes, IBV_TMH_NO_TAG, 0, TMH + 9);
}

static bool take_matches(struct tags *t, const struct tags *goes, bool both)
{
	struct ibv_cq *cq = ibv_cq_ex_to_cq(t->cq);
	unsigned int found[2][3] = {};

	for (unsigned int n = 0; n < (both ? 6 : 3); n++) {
		if (!tags_next(t))
			return false;
		for (unsigned int i = 0; i < 3; i++) {
			unsigned int wr_id = i < 2 ? TAGS_RECV + i : TAGS_RECV + 7;

			found[0][i] += t->wc.wr_id == wr_id && !t->wc.status;
			found[1][i] += t->wc.wr_id == wr_id + goes->base && !t->wc.status;
		}
	}
	for (unsigned int i = 0; i < 3; i++)
		if (found[0][i] != 1 || found[1][i] != both)
			KIT_FAULT(t->k, "CQ %p: message %u completed %u and %u times, expected 1 and %d",
				  (void *)cq, i, found[0][i], found[1][i], both);
	return KIT_GOOD(t->k);
}

/*
 * Two queues of one CQ. When the QP of one is destroyed, the completions of its entries stay: they tell that the entries
 * have ended. When the queue is destroyed, its completions are gone and those of the other stay.
 */
static void gone(struct kit *k, struct tags *t)
{
	struct tags_opts opts = {.cq = t->cq, .one_cq = kit_arg(k, "one_cq", 0), .base = 0x1000};
	static struct tags goes;
	bool queue = kit_arg(k, "queue", 0);

	if (tags_open(k, &goes, &opts) && tags_recv(t, 7) && tags_recv(&goes, 7) && entries(t, 2) &&
	    entries(&goes, 2) && in_turn(t, &goes)) {
		log_call(&k->res->log, "/* ibv_destroy_qp(), %s */", queue ? "ibv_destroy_srq()" : "of one");
		link_destroy(&goes.l);
		if (queue && ibv_destroy_srq(goes.srq))
			KIT_FAULT(k, "ibv_destroy_srq failed");
		if (!queue && ibv_resize_cq(ibv_cq_ex_to_cq(t->cq), 100)) /* more than it had */
			KIT_FAULT(k, "ibv_resize_cq failed");
		if (KIT_GOOD(k) && take_matches(t, &goes, !queue) && entries(t, 2) &&
		    tags_send(t, IBV_TMH_EAGER, 0, TMH + 9))
			tags_expect(t, TAGS_RECV, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE);
	}
}

static void tag_gone(struct kit *k)
{
	tags_run(k, &(const struct tags_opts){.num_tags = 2}, gone);
}

SCENARIO(tag_gone) = {
	{"qp-gone", SUITE("tags"), QPS("RC"), FORMS({""}, {"-one-cq", {{"one_cq", 1}}}),
	 CLAUSE("ibv_create_srq_ex/DESCRIPTION/max_num_tags"), ERRATA("TM-LIMITS CQ-PURGE"),
	 NEEDS("tag_matching"),
	 SAYS("completions of entries stay when a QP is destroyed, and go with their queue; those of "
	      "the other queue stay")},
	{"queue-gone", ARGS({"queue", 1})},
	{},
};

/* ---- Creation ---- */

/* Whether a queue with these limits was created; as many entries as asked for must find room, and no more. */
static int create(struct kit *k, uint32_t num_tags, uint32_t max_ops, struct ibv_cq *cq, unsigned int fill)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = {.max_wr = 4, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = k->r->dut.responder.pd,
		.cq = cq,
		.tm_cap = {.max_num_tags = num_tags, .max_ops = max_ops},
	};
	struct ibv_ops_wr wr = {.opcode = IBV_WR_TAG_ADD}, *bad;
	struct ibv_srq *srq;
	int ret = 0;

	errno = 0;
	log_call(&k->res->log, "/* ibv_create_srq_ex() of %u tags and %u operations */", num_tags, max_ops);
	srq = ibv_create_srq_ex(k->r->dut.responder.ctx, &attr);
	if (!srq)
		return errno_of_failure();
	for (unsigned int i = 0; i < fill && !ret; i++)
		ret = ibv_post_srq_ops(srq, &wr, &bad);
	if (ret)
		KIT_FAULT(k, "of %u entries that were granted one was refused with %s", fill,
			  errno_name(ret));
	else if (fill && !ibv_post_srq_ops(srq, &wr, &bad))
		KIT_FAULT(k, "of %u entries one more was taken", fill);
	ibv_destroy_srq(srq);
	return 0;
}

static void creation(struct kit *k, struct tags *t)
{
	struct ibv_device_attr_ex attr = {};
	int ret = ibv_query_device_ex(k->r->dut.responder.ctx, NULL, &attr);
	const uint32_t tags = attr.tm_caps.max_num_tags, ops = attr.tm_caps.max_ops;
	const struct {
		uint32_t tags, ops, fill;
		bool good;
	} tries[] = {
		{1, 2, 1, true},
		{5, 7, 5, true},
		{tags, ops, tags < ops ? tags : 0, true},
		{0, 2, 0, false},
		{2, 0, 0, false},
		{tags + 1, 2, 0, false},
		{UINT32_MAX, 2, 0, false},
		{2, UINT32_MAX, 0, false},
		{2, ops + 1, 0, false},
	};
	struct ibv_cq *cq;

	KIT_CHECK(k, !ret && tags && ops && attr.tm_caps.max_sge, "the device has no tag matching");
	cq = ibv_create_cq(k->r->dut.responder.ctx, 16, NULL, NULL, 0);
	KIT_CHECK(k, cq, "ibv_create_cq failed with %s", errno_name(errno));
	for (unsigned int i = 0; i < sizeof(tries) / sizeof(tries[0]) && KIT_GOOD(k); i++) {
		ret = create(k, tries[i].tags, tries[i].ops, cq, tries[i].fill);
		if (!ret != tries[i].good || (ret && ret != EINVAL))
			KIT_FAULT(k, "creation with %u tags and %u operations returned %s", tries[i].tags,
				  tries[i].ops, ret ? errno_name(ret) : "a queue");
	}
	ibv_destroy_cq(cq);
}

static void tag_create(struct kit *k)
{
	tags_run(k, &(const struct tags_opts){0}, creation);
}

SCENARIO(tag_create) = {
	{"create", SUITE("tags"), QPS("RC"), CLAUSE("ibv_create_srq_ex/DESCRIPTION/max_num_tags"),
	 ERRATA("TM-LIMITS"), NEEDS("tag_matching"),
	 SAYS("at the limits of tm_caps a queue is created and holds as many entries as asked for; "
	      "EINVAL beyond")},
	{},
};
