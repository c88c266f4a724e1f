/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion counters: values, attachment, and what they count. The functions came with rdma-core 65, so they are looked up in
 * the libibverbs that is loaded, and their structures are declared here.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "judge/watchdog.h"
#include "suites/objects/own.h"

#define PIECE 64u /* of the memory of a case, for each request */

struct comp_cntr; /* struct ibv_comp_cntr */
struct comp_cntr_attr {
	uint32_t comp_mask;
	int type;
	uint32_t flags;
};
struct attach_attr {
	uint32_t comp_mask, op_mask;
};
struct comp_cntr_caps {
	uint64_t max_value;
	uint32_t max_counters, ops;
};
enum { WRS, BYTES };
enum { SEND, RECV, READ, REMOTE_READ, WRITE, REMOTE_WRITE, OPS }; /* enum ibv_qp_attach_comp_cntr_op */
static const char *const counted_names[OPS] = {
	"SEND", "RECV", "RDMA_READ", "REMOTE_RDMA_READ", "RDMA_WRITE", "REMOTE_RDMA_WRITE"};

static struct {
	struct comp_cntr *(*create)(struct ibv_context *ctx, struct comp_cntr_attr *attr);
	int (*destroy)(struct comp_cntr *c);
	int (*set)(struct comp_cntr *c, uint64_t value);
	int (*set_err)(struct comp_cntr *c, uint64_t value);
	int (*inc)(struct comp_cntr *c, uint64_t amount);
	int (*inc_err)(struct comp_cntr *c, uint64_t amount);
	int (*read)(struct comp_cntr *c, uint64_t *value);
	int (*read_err)(struct comp_cntr *c, uint64_t *value);
	int (*attach)(struct ibv_qp *qp, struct comp_cntr *c, struct attach_attr *attr);
	int (*caps)(struct ibv_context *ctx, struct comp_cntr_caps *caps, size_t size);
} api;
static struct comp_cntr_caps caps;

/* Looks the functions up, and what the device has. */
static bool load(struct kit *k)
{
	static const struct {
		const char *name;
		void *to;
	} functions[] = {
		{"ibv_create_comp_cntr", &api.create},    {"ibv_destroy_comp_cntr", &api.destroy},
		{"ibv_set_comp_cntr", &api.set},          {"ibv_set_err_comp_cntr", &api.set_err},
		{"ibv_inc_comp_cntr", &api.inc},          {"ibv_inc_err_comp_cntr", &api.inc_err},
		{"ibv_read_comp_cntr", &api.read},        {"ibv_read_err_comp_cntr", &api.read_err},
		{"ibv_qp_attach_comp_cntr", &api.attach}, {"_ibv_query_comp_cntr_caps", &api.caps},
	};
	int ret;

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(RTLD_DEFAULT, functions[i].name);

		memcpy(functions[i].to, &function, sizeof(function));
		if (function)
			continue;
		KIT_FAULT(k, "this libibverbs has no %s(); that of rdma-core 65 has", functions[i].name);
		return false;
	}
	caps = (struct comp_cntr_caps){0};
	ret = api.caps(k->r->dut.requester.ctx, &caps, sizeof(caps));
	return KIT_MUST(k, !ret, "ibv_query_comp_cntr_caps failed with %s", errno_name(ret));
}

static int end(void *c)
{
	return api.destroy(c);
}

static struct comp_cntr *make(struct kit *k, int type, uint32_t flags)
{
	struct comp_cntr_attr attr = {.type = type, .flags = flags};
	struct comp_cntr *c;

	log_call(&k->res->log, "/* ibv_create_comp_cntr(ctx, attr): type %d, flags %u */", type, flags);
	errno = 0;
	c = api.create(k->r->dut.requester.ctx, &attr);
	if (c)
		made_later(end, "ibv_destroy_comp_cntr", c);
	return c;
}

static int destroy(struct comp_cntr *c)
{
	const int ret = api.destroy(c);

	if (!ret)
		made_forget(c);
	return ret;
}

static int attach(struct kit *k, const struct own *o, struct comp_cntr *c, uint32_t ops)
{
	struct attach_attr attr = {.op_mask = ops};

	log_call(&k->res->log, "/* ibv_qp_attach_comp_cntr(qp, cntr, attr): op_mask 0x%x */", ops);
	return api.attach(o->qp, c, &attr);
}

/* What has happened may be seen a little later. */
static bool becomes(struct kit *k, int (*read)(struct comp_cntr *, uint64_t *), struct comp_cntr *c,
		    uint64_t value, const char *what)
{
	struct watchdog p = watchdog(k->r->dut.timeout_ms);
	uint64_t now = ~value;
	int ret;

	do
		ret = read(c, &now);
	while (!ret && now != value && !watchdog_expired(&p));
	if (kit_holds(k, !ret && now == value))
		return true;
	if (ret)
		KIT_FAULT(k, "reading %s failed with %s", what, errno_name(ret));
	else
		KIT_FAULT(k, "%s is %llu, expected %llu", what, (unsigned long long)now,
			  (unsigned long long)value);
	return false;
}

static bool counts(struct kit *k, struct comp_cntr *c, uint64_t value, const char *of)
{
	return becomes(k, api.read, c, value, of) && becomes(k, api.read_err, c, 0, "the error count");
}

static void use_values(struct kit *k, struct comp_cntr *c, uint64_t max)
{
	if (!counts(k, c, 0, "the count of a new counter"))
		return;
	KIT_CHECK(k, !api.set(c, 7) && !api.set_err(c, 9), "setting a count failed");
	if (!becomes(k, api.read, c, 7, "the count set to 7") ||
	    !becomes(k, api.read_err, c, 9, "the error count set to 9"))
		return;
	KIT_CHECK(k, !api.inc(c, 5) && !api.inc_err(c, 6), "adding to a count failed");
	if (!becomes(k, api.read, c, 12, "the count after an addition") ||
	    !becomes(k, api.read_err, c, 15, "the error count after an addition"))
		return;
	KIT_CHECK(k, !api.set(c, max) && !api.inc(c, 1), "setting the count to max_value failed");
	if (becomes(k, api.read, c, 0, "the count one beyond max_value"))
		becomes(k, api.read_err, c, 15, "the error count after the other one wrapped");
}

static void counter_values(struct kit *k)
{
	struct comp_cntr *c;

	if (!load(k))
		return;
	KIT_CHECK(k, caps.max_counters && caps.max_value && caps.ops && caps.ops < 1u << OPS,
		  "max_counters %u, max_value %llu, supported_qp_attach_ops 0x%x", caps.max_counters,
		  (unsigned long long)caps.max_value, caps.ops);
	KIT_CHECK(k, !make(k, WRS, 1), "a counter was created with flags that are not 0");
	c = make(k, WRS, 0);
	KIT_CHECK(k, c, "ibv_create_comp_cntr failed with %s", errno_name(errno));
	use_values(k, c, caps.max_value);
	KIT_CHECK(k, !destroy(c), "ibv_destroy_comp_cntr failed");
}

SCENARIO(counter_values) = {
	{"values", SUITE("counters"), QPS("RC"), CLAUSE("ibv_create_comp_cntr/DESCRIPTION/two"),
	 ALSO("ibv_create_comp_cntr/DESCRIPTION/set ibv_create_comp_cntr/DESCRIPTION/set-err "
	      "ibv_create_comp_cntr/DESCRIPTION/inc ibv_create_comp_cntr/DESCRIPTION/inc-err "
	      "ibv_create_comp_cntr/DESCRIPTION/read ibv_create_comp_cntr/DESCRIPTION/read-err "
	      "ibv_create_comp_cntr/ARGUMENTS/flags ibv_query_comp_cntr_caps/ARGUMENTS/max_value "
	      "ibv_query_comp_cntr_caps/ARGUMENTS/max_counters"),
	 NEEDS("completion_counters"),
	 SAYS("both counts begin at 0, are set and added to apart from each other, and wrap beyond "
	      "max_value; flags are refused")},
	{},
};

/* The states are RESET, INIT and RTR. `two`: bits of two operations that the device counts. */
static void refuse(struct kit *k, struct own *o, struct comp_cntr *a, struct comp_cntr *b,
		   const uint32_t two[2])
{
	KIT_CHECK(k, attach(k, o, a, 0) > 0, "a counter was attached for no operation");
	KIT_CHECK(k, !attach(k, o, a, two[0]), "ibv_qp_attach_comp_cntr in RESET failed");
	KIT_CHECK(k, attach(k, o, b, two[0] | two[1]) == EBUSY,
		  "a second counter for an operation was not refused with EBUSY");
	if (!own_reach(k, o, IBV_QPS_INIT))
		return;
	KIT_CHECK(k, !attach(k, o, b, two[1]), "ibv_qp_attach_comp_cntr in INIT failed");
	KIT_CHECK(k, destroy(a) == EBUSY, "a counter that a QP has was not kept with EBUSY");
	if (!own_reset(k, o) || !own_reach(k, o, IBV_QPS_RTR))
		return;
	KIT_CHECK(k, attach(k, o, b, two[0]) > 0, "a counter was attached in RTR");
	KIT_CHECK(k, !ibv_destroy_qp(o->qp), "ibv_destroy_qp of a QP with counters failed");
	o->qp = NULL;
	KIT_CHECK(k, !destroy(a), "ibv_destroy_comp_cntr after the QP is gone failed");
	KIT_CHECK(k, !destroy(b), "ibv_destroy_comp_cntr after the QP is gone failed");
}

static void counter_attached(struct kit *k)
{
	struct own o = {.to_itself = true};
	struct comp_cntr *a, *b;
	uint32_t two[2];

	if (!load(k))
		return;
	two[0] = caps.ops & -caps.ops;
	two[1] = (caps.ops ^ two[0]) & -(caps.ops ^ two[0]);
	if (!two[1]) {
		seen(k->res, "the device counts one operation only; ");
		return;
	}
	a = make(k, WRS, 0);
	b = make(k, WRS, 0);
	KIT_CHECK(k, a && b, "ibv_create_comp_cntr failed with %s", errno_name(errno));
	if (own_create(k, &o, IBV_QPT_RC))
		refuse(k, &o, a, b, two);
}

SCENARIO(counter_attached) = {
	{"attach", SUITE("counters"), QPS("RC"), CLAUSE("ibv_qp_attach_comp_cntr/DESCRIPTION/state"),
	 ALSO("ibv_qp_attach_comp_cntr/DESCRIPTION/most-one ibv_qp_attach_comp_cntr/DESCRIPTION/detach "
	      "ibv_qp_attach_comp_cntr/ERRORS/EBUSY ibv_create_comp_cntr/DESCRIPTION/destroy "
	      "ibv_create_comp_cntr/ERRORS/EBUSY"),
	 NEEDS("completion_counters"),
	 SAYS("in RESET and INIT only; one counter for an operation of a QP; none is destroyed before "
	      "the QP")},
	{},
};

/* Three requests of different lengths: a SEND, an RDMA WRITE and an RDMA READ, from and to memory of one region. */
static const struct {
	enum ibv_wr_opcode op;
	uint32_t length;
	unsigned int counted[2]; /* as */
} requests[] = {
	{IBV_WR_SEND, 48, {SEND, RECV}},
	{IBV_WR_RDMA_WRITE, 40, {WRITE, REMOTE_WRITE}},
	{IBV_WR_RDMA_READ, 24, {READ, REMOTE_READ}},
};
#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

static int post(const struct own *o, const struct ibv_mr *mr, unsigned int i, bool signaled)
{
	struct ibv_sge sge = {(uintptr_t)mr->addr + (size_t)i * PIECE, requests[i].length, mr->lkey};
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr wr = kit_wr(i, requests[i].op, &sge), *bad;
	int ret = 0;

	wr.send_flags = signaled ? IBV_SEND_SIGNALED : 0;
	wr.wr.rdma.remote_addr = (uintptr_t)mr->addr + (size_t)(REQUESTS + i) * PIECE;
	wr.wr.rdma.rkey = mr->rkey;
	if (requests[i].op == IBV_WR_SEND)
		ret = ibv_post_recv(o->qp, &recv, &bad_recv);
	return ret ? ret : ibv_post_send(o->qp, &wr, &bad);
}

/* `one` counts one operation of the QP, `rest` all others that the device counts. */
static void judge_counts(struct kit *k, unsigned int op, uint32_t others, int type, struct comp_cntr *one,
			 struct comp_cntr *rest)
{
	uint64_t mine = 0, theirs = 0;

	for (size_t i = 0; i < REQUESTS; i++)
		for (size_t side = 0; side < 2; side++) {
			const unsigned int as = requests[i].counted[side];
			const uint64_t amount = type == BYTES ? requests[i].length : 1;

			if (as == op)
				mine += amount;
			else if (others & 1u << as)
				theirs += amount;
		}
	if (counts(k, one, mine, counted_names[op]))
		counts(k, rest, theirs, "the sum of the other operations");
}

static void carry(struct kit *k, struct own *o, const struct ibv_mr *mr, bool signaled)
{
	for (unsigned int i = 0; i < REQUESTS && KIT_GOOD(k); i++) {
		KIT_CHECK(k, !post(o, mr, i, signaled), "a posting failed");
		if (signaled)
			own_expect(k, o, o->send_cq, i, IBV_WC_SUCCESS);
	}
}

static struct ibv_mr *memory(struct kit *k)
{
	struct ibv_pd *pd = k->r->dut.requester.pd;
	uint8_t *bytes = end_alloc(pd, 2 * REQUESTS * PIECE);
	struct ibv_mr *mr =
		ibv_reg_mr(pd, bytes, 2 * REQUESTS * PIECE,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);

	return KIT_MUST(k, mr, "ibv_reg_mr failed with %s", errno_name(errno));
}

/* Creates two counters and a QP, which is destroyed before them. */
static void with_counters(struct kit *k, void (*use)(struct kit *k, struct own *o, struct comp_cntr *c[2]))
{
	struct own o = {.to_itself = true};
	struct comp_cntr *c[2] = {0};

	if (!load(k))
		return;
	for (int i = 0; i < 2; i++)
		c[i] = make(k, kit_arg(k, "type", WRS), 0);
	if (!c[0] || !c[1]) {
		if (errno == EOPNOTSUPP && kit_arg(k, "type", WRS) == BYTES)
			seen(k->res, "the device does not count bytes; ");
		else
			KIT_FAULT(k, "ibv_create_comp_cntr failed with %s", errno_name(errno));
	} else if (own_create(k, &o, IBV_QPT_RC)) {
		use(k, &o, c);
	}
}

static void count_one(struct kit *k, struct own *o, struct comp_cntr *c[2])
{
	const unsigned int op = (unsigned int)kit_arg(k, "op", SEND);
	const uint32_t others = caps.ops & ~(1u << op);
	struct ibv_mr *mr;

	if (!(caps.ops & 1u << op)) {
		KIT_CHECK(k, attach(k, o, c[0], 1u << op) > 0,
			  "an operation that supported_qp_attach_ops does not have was not refused");
		seen(k->res, "the device does not count %s; ", counted_names[op]);
		return;
	}
	KIT_CHECK(k, !attach(k, o, c[0], 1u << op) && (!others || !attach(k, o, c[1], others)),
		  "ibv_qp_attach_comp_cntr failed");
	mr = memory(k);
	if (mr && own_reach(k, o, IBV_QPS_RTS)) {
		carry(k, o, mr, kit_arg(k, "signaled", 1));
		if (KIT_GOOD(k))
			judge_counts(k, op, others, kit_arg(k, "type", WRS), c[0], c[1]);
	}
}

static void counter_counts(struct kit *k)
{
	with_counters(k, count_one);
}

SCENARIO(counter_counts) = {
	{"send-wrs", SUITE("counters"), QPS("RC"), ARGS({"op", 0}, {"type", 0}),
	 CLAUSE("ibv_qp_attach_comp_cntr/DESCRIPTION/local"),
	 ALSO("ibv_create_comp_cntr/ARGUMENTS/WRS ibv_query_comp_cntr_caps/ARGUMENTS/ops"),
	 NEEDS("completion_counters"),
	 SAYS("of a SEND, an RDMA WRITE and an RDMA READ counts one of them, its work request, and a "
	      "second counter what is left")},
	{"send-bytes", ARGS({"op", 0}, {"type", 1}),
	 ALSO("ibv_create_comp_cntr/ARGUMENTS/BYTES ibv_query_comp_cntr_caps/ARGUMENTS/ops"),
	 SAYS("of a SEND, an RDMA WRITE and an RDMA READ counts one of them, its bytes, and a second "
	      "counter what is left")},
	{"recv-wrs", ARGS({"op", 1}, {"type", 0}),
	 ALSO("ibv_create_comp_cntr/ARGUMENTS/WRS ibv_query_comp_cntr_caps/ARGUMENTS/ops"),
	 SAYS("of a SEND, an RDMA WRITE and an RDMA READ counts one of them, its work request, and a "
	      "second counter what is left")},
	{"recv-bytes", ARGS({"op", 1}, {"type", 1}),
	 ALSO("ibv_create_comp_cntr/ARGUMENTS/BYTES ibv_query_comp_cntr_caps/ARGUMENTS/ops"),
	 SAYS("of a SEND, an RDMA WRITE and an RDMA READ counts one of them, its bytes, and a second "
	      "counter what is left")},
	{"rdma", ARGS({"type", 0}), FORMS({"-read-wrs", {{"op", 2}}}, {"-write-wrs", {{"op", 4}}}),
	 ALSO("ibv_create_comp_cntr/ARGUMENTS/WRS ibv_query_comp_cntr_caps/ARGUMENTS/ops"),
	 SAYS("of a SEND, an RDMA WRITE and an RDMA READ counts one of them, its work request, and a "
	      "second counter what is left")},
	{"rdma", ARGS({"type", 1}), FORMS({"-read-bytes", {{"op", 2}}}, {"-write-bytes", {{"op", 4}}}),
	 ALSO("ibv_create_comp_cntr/ARGUMENTS/BYTES ibv_query_comp_cntr_caps/ARGUMENTS/ops"),
	 SAYS("of a SEND, an RDMA WRITE and an RDMA READ counts one of them, its bytes, and a second "
	      "counter what is left")},
	{"remote-rdma", ARGS({"type", 0}), FORMS({"-read-wrs", {{"op", 3}}}, {"-write-wrs", {{"op", 5}}}),
	 CLAUSE("ibv_qp_attach_comp_cntr/DESCRIPTION/remote"),
	 ALSO("ibv_create_comp_cntr/ARGUMENTS/WRS ibv_query_comp_cntr_caps/ARGUMENTS/ops"),
	 SAYS("of a SEND, an RDMA WRITE and an RDMA READ counts one of them, its work request, and a "
	      "second counter what is left")},
	{"remote-rdma", ARGS({"type", 1}), FORMS({"-read-bytes", {{"op", 3}}}, {"-write-bytes", {{"op", 5}}}),
	 ALSO("ibv_create_comp_cntr/ARGUMENTS/BYTES ibv_query_comp_cntr_caps/ARGUMENTS/ops"),
	 SAYS("of a SEND, an RDMA WRITE and an RDMA READ counts one of them, its bytes, and a second "
	      "counter what is left")},
	{"unsignaled", ARGS({"op", 0}, {"signaled", 0}), CLAUSE("ibv_qp_attach_comp_cntr/DESCRIPTION/local"),
	 ALSO(""), ERRATA("COUNTED"), SAYS("requests that are not signaled count as well")},
	{},
};

/* The QP goes to ERR with a receive, and flushes it and a SEND. */
static void count_failed(struct kit *k, struct own *o, struct comp_cntr *c[2])
{
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct ibv_mr *mr = memory(k);

	if (!mr)
		return;
	if (attach(k, o, c[0], 1u << SEND) || attach(k, o, c[1], 1u << RECV))
		seen(k->res, "the device does not count SEND and RECV; ");
	else if (own_reach(k, o, IBV_QPS_RTS) && own_modify(o, &error, IBV_QP_STATE))
		KIT_FAULT(k, "ibv_modify_qp to ERR failed");
	else if (KIT_GOOD(k) && post(o, mr, 0, false))
		KIT_FAULT(k, "a posting in ERR failed");
	else if (KIT_GOOD(k) && becomes(k, api.read_err, c[0], 1, "the error count of SEND") &&
		 becomes(k, api.read, c[0], 0, "the count of SEND") &&
		 becomes(k, api.read_err, c[1], 1, "the error count of RECV"))
		becomes(k, api.read, c[1], 0, "the count of RECV");
}

static void counter_failed(struct kit *k)
{
	with_counters(k, count_failed);
}

SCENARIO(counter_failed) = {
	{"failed", SUITE("counters"), QPS("RC"), CLAUSE("ibv_create_comp_cntr/DESCRIPTION/two"),
	 ERRATA("COUNTED"), NEEDS("completion_counters"),
	 SAYS("a SEND and a receive that are flushed count in the error counts, and not in the others")},
	{},
};

/* A second QP with the same counter. */
static void count_both(struct kit *k, struct own *o, struct comp_cntr *c[2])
{
	struct own second = {.to_itself = true};
	struct ibv_mr *mr = memory(k);

	if (!mr)
		return;
	if (own_create(k, &second, IBV_QPT_RC)) {
		if (attach(k, o, c[0], 1u << SEND) || attach(k, &second, c[0], 1u << SEND))
			KIT_FAULT(k, "ibv_qp_attach_comp_cntr failed");
		else if (own_reach(k, o, IBV_QPS_RTS) && own_reach(k, &second, IBV_QPS_RTS)) {
			carry(k, o, mr, true);
			carry(k, &second, mr, true);
			if (KIT_GOOD(k))
				counts(k, c[0], 2, "the count of two QPs");
		}
	}
}

static void counter_shared(struct kit *k)
{
	with_counters(k, count_both);
}

SCENARIO(counter_shared) = {
	{"two-qps", SUITE("counters"), QPS("RC"), CLAUSE("ibv_qp_attach_comp_cntr/DESCRIPTION/several"),
	 NEEDS("completion_counters"), SAYS("a counter of two QPs has the sum")},
	{},
};
