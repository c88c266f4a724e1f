/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Work queues, their states, and indirection tables of them. No frame is received here. */
#include <errno.h>
#include <string.h>

#include "suites/objects/own.h"
#include "suites/queues/work_queues.h"

#define MEMORY 4096
#define MOST   64 /* receives, SGEs */

/* A CQ, memory, and the queue under test. */
struct bed {
	struct kit *k;
	struct ibv_device_attr_ex attr;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *mem;
	struct ibv_wq_init_attr init; /* as granted */
	struct ibv_wq *wq;
};

static bool begin(struct kit *k, struct bed *b)
{
	const struct end *end = &k->r->dut.requester;

	*b = (struct bed){.k = k, .init = {.max_wr = 3, .max_sge = 2}};
	if (ibv_query_device_ex(end->ctx, NULL, &b->attr))
		KIT_FAULT(k, "ibv_query_device_ex failed");
	b->cq = ibv_create_cq(end->ctx, 2 * MOST, NULL, NULL, 0);
	b->mem = end_alloc(end->pd, MEMORY);
	b->mr = b->mem ? ibv_reg_mr(end->pd, b->mem, MEMORY, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!b->cq || !b->mr)
		KIT_FAULT(k, "CQ or memory of the case: %s", errno_name(errno));
	b->init.wq_context = b;
	b->init.wq_type = IBV_WQT_RQ;
	b->init.create_flags = UINT32_MAX; /* counts for nothing without its bit of comp_mask */
	b->init.pd = end->pd;
	b->init.cq = b->cq;
	return KIT_GOOD(k);
}

int wq_move(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state};

	return ibv_modify_wq(wq, &attr);
}

static bool move(struct bed *b, enum ibv_wq_state state)
{
	const int ret = wq_move(b->wq, state);

	log_call(&b->k->res->log, "/* ibv_modify_wq(wq, attr): to state %d */", state);
	if (!kit_holds(b->k, !ret))
		KIT_FAULT(b->k, "ibv_modify_wq to state %d failed with %s", state, errno_name(ret));
	return !ret;
}

/* With these attributes; the members of the structure are those of the creation. */
static bool create(struct bed *b, uint32_t max_wr, uint32_t max_sge)
{
	struct kit *k = b->k;

	b->init.max_wr = max_wr;
	b->init.max_sge = max_sge;
	log_call(&k->res->log,
		 "/* ibv_create_wq(ctx, {.wq_type = IBV_WQT_RQ, .max_wr = %u, "
		 ".max_sge = %u}) */",
		 max_wr, max_sge);
	b->wq = ibv_create_wq(k->r->dut.requester.ctx, &b->init);
	if (!b->wq)
		KIT_FAULT(k, "ibv_create_wq with %u receives of %u SGEs failed with %s", max_wr, max_sge,
			  errno_name(errno));
	else if (b->init.max_wr < max_wr || b->init.max_sge < max_sge)
		KIT_FAULT(k, "max_wr %u, max_sge %u granted, asked for %u and %u", b->init.max_wr,
			  b->init.max_sge, max_wr, max_sge);
	else if (b->wq->context != k->r->dut.requester.ctx || b->wq->wq_context != b ||
		 b->wq->pd != b->init.pd || b->wq->cq != b->cq || b->wq->wq_type != IBV_WQT_RQ ||
		 b->wq->state != IBV_WQS_RESET)
		KIT_FAULT(k, "a member of struct ibv_wq is not that of the creation");
	return KIT_GOOD(k);
}

static bool destroy(struct bed *b)
{
	const int ret = ibv_destroy_wq(b->wq);

	b->wq = NULL;
	return KIT_MUST(b->k, !ret, "ibv_destroy_wq failed with %s", errno_name(ret));
}

/* Posts receives `first` to `first + num - 1` as one list; returns the index of *bad_wr, -1 if all are accepted. */
static int post(struct bed *b, unsigned int first, unsigned int num, int sges)
{
	struct ibv_recv_wr wr[MOST], *bad = NULL;
	struct ibv_sge sge[MOST];
	int ret;

	for (int i = 0; i < MOST; i++)
		sge[i] = (struct ibv_sge){(uintptr_t)b->mem + 16 * (size_t)i, 16, b->mr->lkey};
	for (unsigned int i = 0; i < num; i++)
		wr[i] = (struct ibv_recv_wr){first + i, i + 1 < num ? &wr[i + 1] : NULL, sge, sges};
	log_call(&b->k->res->log,
		 "/* ibv_post_wq_recv(wq, wr, &bad_wr): %u receives of %d SGEs from %u on */", num, sges,
		 first);
	ret = ibv_post_wq_recv(b->wq, wr, &bad);
	if (ret < 0)
		KIT_FAULT(b->k, "ibv_post_wq_recv returned %d, which is no value of errno", ret);
	for (unsigned int i = 0; ret && i < num; i++)
		if (bad == &wr[i])
			return (int)i;
	if (ret)
		KIT_FAULT(b->k, "ibv_post_wq_recv failed with %s, and bad_wr is not in the list",
			  errno_name(ret));
	return -1;
}

/* Receives that the queue takes, in order; one more is refused. */
static bool fill(struct bed *b, unsigned int first)
{
	const unsigned int num = b->init.max_wr;
	int bad = num > 1 ? post(b, first, num - 1, (int)b->init.max_sge) : -1;

	if (!KIT_MUST(b->k, bad < 0, "receive %d of %u was refused", bad + 1, num))
		return false;
	bad = post(b, first + num - 1, 3, 1);
	if (!kit_holds(b->k, bad == 1))
		KIT_FAULT(b->k, "a queue of %u receives: bad_wr names receive %u of it, expected %u", num,
			  num - 1 + bad, num);
	return KIT_GOOD(b->k);
}

/* Completions of flushed receives, and no other. */
static bool flushed(struct bed *b, unsigned int first, unsigned int num)
{
	struct link l = {.dut = &b->k->r->dut, .cq = b->cq, .peer_cq = b->cq};
	struct ibv_wc wc;

	for (unsigned int i = 0; i < num; i++) {
		if (!kit_wait(b->k, &l, b->cq, &wc))
			return false;
		if (wc.status != IBV_WC_WR_FLUSH_ERR || wc.wr_id != first + i || wc.qp_num != b->wq->wq_num) {
			KIT_FAULT(b->k,
				  "receive %u of a queue in the error state: wr_id %llu, status %s, qp_num "
				  "0x%x",
				  first + i, (unsigned long long)wc.wr_id,
				  value_name(status_names, wc.status), wc.qp_num);
			return false;
		}
	}
	if (ibv_poll_cq(b->cq, 1, &wc))
		KIT_FAULT(b->k, "a completion that nothing asked for: wr_id %llu",
			  (unsigned long long)wc.wr_id);
	return KIT_GOOD(b->k);
}

/* Receives that are refused: too many SGEs, a negative number, and every receive in RESET. */
static bool refusals(struct bed *b)
{
	const int sges = (int)b->init.max_sge;

	if (post(b, 0, 2, sges) != 0)
		KIT_FAULT(b->k, "a queue in RESET took a receive");
	else if (move(b, IBV_WQS_RDY) && sges < MOST && post(b, 0, 1, sges + 1) != 0)
		KIT_FAULT(b->k, "a receive of %d SGEs was taken, granted are %d", sges + 1, sges);
	else if (post(b, 0, 1, -1) != 0)
		KIT_FAULT(b->k, "a receive of -1 SGEs was taken");
	return KIT_GOOD(b->k);
}

/* What a reset or a destruction leaves of receives whose completions were not polled: nothing. */
static bool forgotten(struct bed *b, bool (*leave)(struct bed *b))
{
	struct link l = {.dut = &b->k->r->dut, .cq = b->cq, .peer_cq = b->cq};
	struct ibv_wc wc;

	/* the first completion is polled, so that others are in the CQ */
	if (!move(b, IBV_WQS_RDY) || !fill(b, 300) || !move(b, IBV_WQS_ERR) ||
	    !kit_wait(b->k, &l, b->cq, &wc) || !leave(b))
		return false;
	if (ibv_poll_cq(b->cq, 1, &wc))
		KIT_FAULT(b->k, "a completion of a queue that was reset or destroyed: wr_id %llu",
			  (unsigned long long)wc.wr_id);
	return KIT_GOOD(b->k);
}

static bool reset(struct bed *b)
{
	return move(b, IBV_WQS_RESET);
}

/* Completions that were in the CQ at a reset are not those of what is posted afterwards. */
static bool posted_again(struct bed *b, unsigned int num)
{
	struct link l = {.dut = &b->k->r->dut, .cq = b->cq, .peer_cq = b->cq};
	struct ibv_wc wc;

	return move(b, IBV_WQS_RDY) && fill(b, 400) && move(b, IBV_WQS_ERR) &&
	       kit_wait(b->k, &l, b->cq, &wc) && reset(b) && move(b, IBV_WQS_RDY) && fill(b, 500) &&
	       move(b, IBV_WQS_ERR) && flushed(b, 500, num) && reset(b);
}

/* A queue of this size through all its states. */
static bool live(struct bed *b, uint32_t max_wr, uint32_t max_sge)
{
	unsigned int num;

	if (!create(b, max_wr, max_sge))
		return false;
	num = b->init.max_wr;
	if (num > MOST - 3 || b->init.max_sge > MOST) {
		seen(b->k->res, "%u receives of %u SGEs granted; ", num, b->init.max_sge);
		return destroy(b);
	}
	if (!refusals(b) || !fill(b, 100) || !move(b, IBV_WQS_ERR) || !flushed(b, 100, num))
		return false;
	if (post(b, 200, 1, 0) != -1)
		KIT_FAULT(b->k, "a queue in the error state refused a receive");
	if (!flushed(b, 200, 1) || !reset(b) || !forgotten(b, reset))
		return false;
	if (post(b, 0, 1, 1) != 0)
		KIT_FAULT(b->k, "a queue that is back in RESET took a receive");
	return posted_again(b, num) && forgotten(b, destroy);
}

static void wq_live(struct kit *k)
{
	static const uint8_t sizes[][2] = {{1, 1}, {2, 3}, {3, 2}, {5, 1}, {8, 4}, {6, 7}};
	const struct ibv_device_attr *attr = &k->r->dut.requester.attr;
	struct bed b;

	if (begin(k, &b)) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && KIT_GOOD(k); i++)
			live(&b, sizes[i][0], sizes[i][1]);
		if (KIT_GOOD(k) && live(&b, 2, (uint32_t)attr->max_sge) &&
		    create(&b, (uint32_t)attr->max_qp_wr, 1))
			destroy(&b);
	}
}

SCENARIO(wq_live) = {
	{"live", SUITE("wq"), QPS("RAW_PACKET"), CLAUSE("ibv_create_wq/DESCRIPTION/granted"),
	 ALSO("ibv_modify_wq/DESCRIPTION/wq_state"), LEVEL("SHOULD"), ERRATA("WQ-STATES"),
	 NEEDS("work_queues"),
	 SAYS("a work queue takes as many receives as it was granted, each of as many SGEs, and "
	      "refuses one more; in RESET it refuses all, in ERR it flushes them in order; RESET and "
	      "destruction forget what is posted and completed")},
	{},
};

/* ---- Creation that must be refused ---- */

static void no_queue(struct bed *b, const struct ibv_wq_init_attr *asked, const char *what)
{
	struct ibv_wq_init_attr init = *asked;
	struct ibv_wq *wq;

	errno = 0;
	wq = ibv_create_wq(b->k->r->dut.requester.ctx, &init);
	if (wq)
		ibv_destroy_wq(wq);
	KIT_CHECK(b->k, !wq && errno > 0, "ibv_create_wq %s: %s", what, wq ? "succeeded" : "no errno");
	b->k->res->err = errno;
}

#define NO_QUEUE(b, what, member, value)                                                                     \
	do {                                                                                                 \
		struct ibv_wq_init_attr odd = (b)->init;                                                     \
                                                                                                             \
		odd.member = (value);                                                                        \
		no_queue(b, &odd, what);                                                                     \
	} while (0)

static void no_flags(struct bed *b)
{
	static const struct {
		uint32_t flag, cap;
	} flags[] = {
		{IBV_WQ_FLAGS_CVLAN_STRIPPING, IBV_RAW_PACKET_CAP_CVLAN_STRIPPING},
		{IBV_WQ_FLAGS_SCATTER_FCS, IBV_RAW_PACKET_CAP_SCATTER_FCS},
		{IBV_WQ_FLAGS_DELAY_DROP, IBV_RAW_PACKET_CAP_DELAY_DROP},
		{IBV_WQ_FLAGS_RESERVED, 1u << 31},
		{1u << 31, 1u << 31},
	};
	struct ibv_wq_init_attr odd = b->init;

	odd.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		odd.create_flags = flags[i].flag;
		if (!(b->attr.raw_packet_caps & flags[i].cap))
			no_queue(b, &odd, "with a flag that the device does not have");
	}
	odd.create_flags = 0;
	b->wq = ibv_create_wq(b->k->r->dut.requester.ctx, &odd);
	KIT_CHECK(b->k, b->wq, "ibv_create_wq with create_flags of 0 failed with %s", errno_name(errno));
}

static void wq_creation(struct kit *k)
{
	const struct ibv_device_attr *attr = &k->r->dut.requester.attr;
	struct ibv_pd *pd = ibv_alloc_pd(k->r->dut.requester.ctx);
	struct bed b;

	if (!begin(k, &b) || !pd)
		return;
	NO_QUEUE(&b, "with an unknown comp_mask", comp_mask, IBV_WQ_INIT_ATTR_FLAGS << 1);
	NO_QUEUE(&b, "with an unknown comp_mask", comp_mask, 1u << 31);
	NO_QUEUE(&b, "of an unknown type", wq_type, IBV_WQT_RQ + 1);
	NO_QUEUE(&b, "of an unknown type", wq_type, 255);
	NO_QUEUE(&b, "for no receive", max_wr, 0);
	NO_QUEUE(&b, "for more receives than the device has", max_wr, (uint32_t)attr->max_qp_wr + 1);
	NO_QUEUE(&b, "for 0xffffffff receives", max_wr, UINT32_MAX);
	NO_QUEUE(&b, "for more SGEs than the device has", max_sge, (uint32_t)attr->max_sge + 1);
	NO_QUEUE(&b, "for 0xffffffff SGEs", max_sge, UINT32_MAX);
	b.init.pd = pd;
	no_flags(&b);
	if (b.wq && ibv_dealloc_pd(pd) <= 0)
		KIT_FAULT(k, "a PD with a work queue was deallocated");
	else if (b.wq && ibv_destroy_cq(b.cq) <= 0)
		KIT_FAULT(k, "a CQ with a work queue was destroyed");
}

SCENARIO(wq_creation) = {
	{"creation", SUITE("wq"), QPS("RAW_PACKET"), CLAUSE("ibv_create_wq/RETURN-VALUE"),
	 ALSO("ibv_create_wq/RETURN-VALUE/destroy"), LEVEL("SHOULD"), ERRATA("WQ-STATES"),
	 NEEDS("work_queues"),
	 SAYS("a type, flag, member or size that the device does not have is refused with an errno; PD "
	      "and CQ of a work queue are not destroyed")},
	{},
};

/* ---- States ---- */

static bool reach(struct bed *b, enum ibv_wq_state state)
{
	return move(b, IBV_WQS_RESET) && (state == IBV_WQS_RESET || move(b, IBV_WQS_RDY)) &&
	       (state != IBV_WQS_ERR || move(b, IBV_WQS_ERR));
}

/* A modification that must be refused; the queue stays in its state. */
static bool stays(struct bed *b, enum ibv_wq_state state, struct ibv_wq_attr attr, const char *what)
{
	struct ibv_wq_attr same = {.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE,
				   .wq_state = IBV_WQS_RESET,
				   .curr_wq_state = state};
	int ret;

	if (!reach(b, state))
		return false;
	ret = ibv_modify_wq(b->wq, &attr);
	b->k->res->err = ret;
	if (ret <= 0)
		KIT_FAULT(b->k, "ibv_modify_wq %s in state %d returned %d", what, state, ret);
	else if (b->wq->state != state)
		KIT_FAULT(b->k, "ibv_modify_wq %s: refused, and wq->state is %d, was %d", what, b->wq->state,
			  state);
	else if (ibv_modify_wq(b->wq, &same))
		KIT_FAULT(b->k, "ibv_modify_wq %s: refused, and the queue has left state %d", what, state);
	return KIT_GOOD(b->k);
}

static struct ibv_wq_attr to(uint32_t mask, uint32_t state, uint32_t current)
{
	return (struct ibv_wq_attr){.attr_mask = mask, .wq_state = state, .curr_wq_state = current};
}

static bool states_of(struct bed *b, enum ibv_wq_state state)
{
	const uint32_t both = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE;

	for (enum ibv_wq_state other = IBV_WQS_RESET; other <= IBV_WQS_ERR; other++)
		if (other != state &&
		    !stays(b, state, to(both, IBV_WQS_RESET, other), "with a wrong curr_wq_state"))
			return false;
	return stays(b, state, to(IBV_WQ_ATTR_STATE, IBV_WQS_ERR + 1, 0), "to a state that is none") &&
	       stays(b, state, to(both, IBV_WQS_RESET, IBV_WQS_ERR + 1), "from a state that is none") &&
	       stays(b, state, to(0, IBV_WQS_RESET, 0), "of nothing") &&
	       stays(b, state, to(1u << 3 | IBV_WQ_ATTR_STATE, IBV_WQS_RESET, 0),
		     "with an unknown attribute") &&
	       stays(b, state,
		     (struct ibv_wq_attr){.attr_mask = IBV_WQ_ATTR_FLAGS,
					  .flags = IBV_WQ_FLAGS_RESERVED,
					  .flags_mask = IBV_WQ_FLAGS_RESERVED},
		     "of an unknown flag");
}

/* A refused reset, and one that attr_mask does not name, leave what is posted. */
static bool kept(struct bed *b)
{
	struct ibv_wq_attr wrong = to(IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE, IBV_WQS_RESET, IBV_WQS_ERR);
	struct ibv_wq_attr unnamed = to(IBV_WQ_ATTR_CURR_STATE, IBV_WQS_RESET, IBV_WQS_RDY);

	if (!reach(b, IBV_WQS_RDY) || !fill(b, 600) || ibv_modify_wq(b->wq, &wrong) <= 0)
		return false; /* the last one has been tried by states_of() */
	seen(b->k->res, "curr_wq_state alone: %s; ", errno_name(ibv_modify_wq(b->wq, &unnamed)));
	return KIT_GOOD(b->k) && move(b, IBV_WQS_ERR) && flushed(b, 600, b->init.max_wr) && reset(b);
}

static void wq_states(struct kit *k)
{
	struct bed b;

	if (begin(k, &b) && create(&b, 3, 1) && states_of(&b, IBV_WQS_RESET) && states_of(&b, IBV_WQS_RDY) &&
	    states_of(&b, IBV_WQS_ERR) &&
	    stays(&b, IBV_WQS_RESET, to(IBV_WQ_ATTR_STATE, IBV_WQS_ERR, 0), "to ERR") &&
	    stays(&b, IBV_WQS_ERR, to(IBV_WQ_ATTR_STATE, IBV_WQS_RDY, 0), "to RDY") && kept(&b))
		seen(k->res, "all refused; ");
}

SCENARIO(wq_states) = {
	{"states", SUITE("wq"), QPS("RAW_PACKET"), CLAUSE("ibv_modify_wq/DESCRIPTION/curr_wq_state"),
	 ALSO("ibv_modify_wq/RETURN-VALUE"), LEVEL("SHOULD"), ERRATA("WQ-STATES"), NEEDS("work_queues"),
	 SAYS("a curr_wq_state that is not that of the queue, a state, attribute or flag that is none, "
	      "and transitions that do not exist are refused, and the queue stays in its state")},
	{},
};

/* ---- Tables, and QPs over them ---- */

static void no_table(struct kit *k, const struct ibv_rwq_ind_table_init_attr *asked, const char *what)
{
	struct ibv_rwq_ind_table_init_attr init = *asked;
	struct ibv_rwq_ind_table *table;

	errno = 0;
	table = ibv_create_rwq_ind_table(k->r->dut.requester.ctx, &init);
	if (table)
		ibv_destroy_rwq_ind_table(table);
	KIT_CHECK(k, !table && errno > 0, "ibv_create_rwq_ind_table %s: %s", what,
		  table ? "succeeded" : "no errno");
	k->res->err = errno;
}

static struct ibv_rwq_ind_table *table_of(struct kit *k, struct ibv_wq *wq, uint32_t log_size)
{
	static struct ibv_wq *entries[WQ_MOST_ENTRIES];
	struct ibv_rwq_ind_table_init_attr init = {.log_ind_tbl_size = log_size, .ind_tbl = entries};
	struct ibv_rwq_ind_table *table;

	for (size_t i = 0; i < WQ_MOST_ENTRIES; i++)
		entries[i] = wq;
	kit_dirty_stack();
	table = ibv_create_rwq_ind_table(k->r->dut.requester.ctx, &init);
	if (!table)
		KIT_FAULT(k, "ibv_create_rwq_ind_table of 2^%u entries failed with %s", log_size,
			  errno_name(errno));
	else if (table->context != k->r->dut.requester.ctx)
		KIT_FAULT(k, "the table has another context");
	return table;
}

static void sizes_of_tables(struct bed *b)
{
	const uint32_t most = b->attr.rss_caps.max_rwq_indirection_table_size;
	static struct ibv_wq *entries[2 * WQ_MOST_ENTRIES];
	struct ibv_rwq_ind_table_init_attr odd = {.log_ind_tbl_size = 1, .ind_tbl = entries};
	struct kit *k = b->k;
	uint32_t log_size = 0;

	for (size_t i = 0; i < 2 * WQ_MOST_ENTRIES; i++)
		entries[i] = b->wq;
	odd.comp_mask = 1;
	no_table(k, &odd, "with an unknown comp_mask");
	odd.comp_mask = 0;
	for (; 1u << log_size <= most && log_size < 31 && 1u << log_size <= WQ_MOST_ENTRIES; log_size++) {
		struct ibv_rwq_ind_table *table = table_of(k, b->wq, log_size);

		if (!table)
			return;
		KIT_CHECK(k, ibv_destroy_wq(b->wq) > 0, "a work queue in a table was destroyed");
		KIT_CHECK(k, !ibv_destroy_rwq_ind_table(table), "ibv_destroy_rwq_ind_table failed");
	}
	if (1u << log_size > most) {
		odd.log_ind_tbl_size = log_size;
		no_table(k, &odd, "of twice as many entries as the device has");
	}
	for (uint32_t i = 30; i < 66; i += 5) {
		odd.log_ind_tbl_size = i;
		no_table(k, &odd, "of more entries than a table can have");
	}
}

struct ibv_qp *wq_rss_qp(struct ibv_pd *pd, struct ibv_rwq_ind_table *table, uint64_t fields,
			 const uint8_t key[WQ_KEY])
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.pd = pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = {IBV_RX_HASH_FUNC_TOEPLITZ, WQ_KEY, (uint8_t *)key, fields},
	};

	return ibv_create_qp_ex(pd->context, &init);
}

static void no_rss(struct kit *k, const struct ibv_qp_init_attr_ex *asked, const char *what)
{
	struct ibv_qp_init_attr_ex init = *asked;
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_create_qp_ex(k->r->dut.requester.ctx, &init);
	if (qp)
		ibv_destroy_qp(qp);
	KIT_CHECK(k, !qp && errno > 0, "a QP over a table, %s: %s", what, qp ? "created" : "no errno");
	k->res->err = errno;
}

static void good_rss(struct kit *k, struct ibv_qp_init_attr_ex init, const char *what)
{
	struct ibv_qp *qp = ibv_create_qp_ex(k->r->dut.requester.ctx, &init);

	KIT_CHECK(k, qp, "a QP over a table, %s: %s", what, errno_name(errno));
	KIT_CHECK(k, !ibv_destroy_qp(qp), "ibv_destroy_qp of a QP over a table failed");
}

#define NO_RSS(k, good, what, member, value)                                                                 \
	do {                                                                                                 \
		struct ibv_qp_init_attr_ex odd = *(good);                                                    \
                                                                                                             \
		odd.member = (value);                                                                        \
		no_rss(k, &odd, what);                                                                       \
	} while (0)

static void odd_rss(struct bed *b, struct ibv_rwq_ind_table *table)
{
	static uint8_t key[256];
	struct kit *k = b->k;
	struct ibv_qp_init_attr_ex good = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.pd = k->r->dut.requester.pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = {IBV_RX_HASH_FUNC_TOEPLITZ, WQ_KEY, key, IBV_RX_HASH_SRC_IPV4},
	};

	NO_RSS(k, &good, "with an unknown comp_mask", comp_mask, good.comp_mask | 1u << 31);
	NO_RSS(k, &good, "without a PD", comp_mask, good.comp_mask & ~IBV_QP_INIT_ATTR_PD);
	NO_RSS(k, &good, "without the table", comp_mask, good.comp_mask & ~IBV_QP_INIT_ATTR_IND_TABLE);
	NO_RSS(k, &good, "without a hash", comp_mask, good.comp_mask & ~IBV_QP_INIT_ATTR_RX_HASH);
	NO_RSS(k, &good, "with no table", rwq_ind_tbl, NULL);
	NO_RSS(k, &good, "of a type that has no frames", qp_type, IBV_QPT_UC);
	NO_RSS(k, &good, "with a send CQ", send_cq, b->cq);
	NO_RSS(k, &good, "with a send queue", cap.max_send_wr, 1);
	NO_RSS(k, &good, "of an unknown hash function", rx_hash_conf.rx_hash_function, 1u << 7);
	NO_RSS(k, &good, "of no hash function", rx_hash_conf.rx_hash_function, 0);
	NO_RSS(k, &good, "with a key that is too short", rx_hash_conf.rx_hash_key_len, WQ_KEY - 1);
	NO_RSS(k, &good, "with a key that is too long", rx_hash_conf.rx_hash_key_len, 255);
	NO_RSS(k, &good, "without a key", rx_hash_conf.rx_hash_key, NULL);
	NO_RSS(k, &good, "with unknown fields", rx_hash_conf.rx_hash_fields_mask, 1ull << 60);
	good.create_flags = 1u << 30; /* counts for nothing without its bit */
	good_rss(k, good, "with create_flags that are not valid");
	good.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	no_rss(k, &good, "with an unknown create_flag");
	good.create_flags = 0;
	good_rss(k, good, "with create_flags of 0");
}

static void rss_qp(struct bed *b, struct ibv_rwq_ind_table *table)
{
	static const uint8_t key[WQ_KEY];
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = b->k->r->dut.requester.port};
	struct ibv_pd *pd = ibv_alloc_pd(b->k->r->dut.requester.ctx);
	struct ibv_qp *qp = pd ? wq_rss_qp(pd, table, IBV_RX_HASH_SRC_IPV4, key) : NULL;
	struct kit *k = b->k;
	int ret;

	KIT_CHECK(k, qp, "creation of a QP over a table failed with %s", errno_name(errno));
	KIT_CHECK(k, qp->qp_type == IBV_QPT_RAW_PACKET && qp->pd == pd,
		  "a QP over a table has another type or PD");
	KIT_CHECK(k, ibv_destroy_rwq_ind_table(table) > 0, "a table with a QP was destroyed");
	KIT_CHECK(k, ibv_dealloc_pd(pd) > 0, "a PD with a QP over a table was deallocated");
	ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT);
	KIT_CHECK(k, ret >= 0, "ibv_modify_qp of a QP over a table returned %d", ret);
	KIT_CHECK(k, !ibv_destroy_qp(qp), "ibv_destroy_qp of a QP over a table failed");
	KIT_CHECK(k, !ibv_dealloc_pd(pd), "ibv_dealloc_pd failed, nothing uses it");
}

/* A QP over a table has no states. Neither call may do something else. */
static void wq_rss_states(struct kit *k)
{
	static const uint8_t key[WQ_KEY];
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = k->r->dut.requester.port};
	struct ibv_rwq_ind_table *table = NULL;
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp = NULL;
	int modified, queried;
	struct bed b;

	if (begin(k, &b) && create(&b, 3, 1))
		table = table_of(k, b.wq, 1);
	if (table)
		qp = wq_rss_qp(k->r->dut.requester.pd, table, IBV_RX_HASH_SRC_IPV4, key);
	if (qp) {
		modified = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT);
		queried = ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
		if (!kit_holds(k,
			       (!modified || modified == EOPNOTSUPP) && (!queried || queried == EOPNOTSUPP)))
			KIT_FAULT(k,
				  "ibv_modify_qp returned %s and ibv_query_qp %s, expected 0 or EOPNOTSUPP",
				  errno_name(modified), errno_name(queried));
	} else {
		KIT_FAULT(k, "creation of a QP over a table failed with %s", errno_name(errno));
	}
}

SCENARIO(wq_rss_states) = {
	{"rss-states", SUITE("wq"), QPS("RAW_PACKET"), CLAUSE("ibv_create_qp_ex/DESCRIPTION/rwq_ind_tbl"),
	 LEVEL("SHOULD"), ERRATA("RSS-STATES"), NEEDS("work_queues"),
	 SAYS("ibv_modify_qp() and ibv_query_qp() of a QP over a table work, or say EOPNOTSUPP")},
	{},
};

static void wq_tables(struct kit *k)
{
	struct ibv_rwq_ind_table *table = NULL;
	struct bed b;

	if (begin(k, &b) && create(&b, 3, 1))
		sizes_of_tables(&b);
	if (KIT_GOOD(k))
		table = table_of(k, b.wq, 1);
	if (table) {
		odd_rss(&b, table);
		if (KIT_GOOD(k))
			rss_qp(&b, table);
	}
}

SCENARIO(wq_tables) = {
	{"tables", SUITE("wq"), QPS("RAW_PACKET"), CLAUSE("ibv_create_rwq_ind_table/RETURN-VALUE"),
	 LEVEL("SHOULD"), ERRATA("RSS-HASH"), NEEDS("work_queues"),
	 SAYS("tables of all sizes up to the limit of the device, and none beyond; work queues in a "
	      "table, and a table with a QP, are not destroyed; a QP over a table needs a PD, a table, "
	      "and a hash that the device has")},
	{},
};
