/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The order of completions, which requests have one, and memory that the caller may reuse. */
#include <stdlib.h>
#include <string.h>

#include "link/link_modify.h"
#include "suites/kit.h"

static struct link_opts options(const struct kit *k)
{
	static const struct ibv_qp_attr quick = {
		.min_rnr_timer = 8, .rnr_retry = 7, .timeout = 14, .retry_cnt = 7};

	return (struct link_opts){.sq_sig_all = kit_arg(k, "sig_all", 0),
				  .attr = kit_arg(k, "late_receives", 0) ? &quick : NULL,
				  .sq_depth = kit_arg(k, "sq_depth", 0),
				  .psn = kit_arg(k, "psn", 0),
				  .mtu = kit_arg(k, "mtu", 0),
				  .rd_atomic = kit_arg(k, "rd_atomic", 0),
				  .cq_ex = kit_arg(k, "ex", 0),
				  .on_demand = kit_arg(k, "on_demand", 0),
				  .device_memory = kit_arg(k, "device_memory", 0),
				  .dm_offset = kit_arg(k, "dm_offset", 0),
				  .dm_piece = kit_arg(k, "dm_piece", 0),
				  .mixed = kit_arg(k, "mixed", 0)};
}

static void finish(struct kit *k, struct plan *plans, unsigned int first_use)
{
	struct expect requester = {0}, responder = {0};

	for (unsigned int i = 0; i < k->cell->num_wr; i++)
		plan_execute(&plans[i], k->l, &requester, &responder);
	collect(k->l, &requester, &responder, k->res);
	if (KIT_GOOD(k))
		collect_received(k->l, first_use, k->res);
	if (KIT_GOOD(k))
		kit_alive(k, k->l);
	collect_extra(k->l, k->res);
	if (KIT_GOOD(k))
		collect_memory(k->l, first_use, k->res);
}

/* Atomics whose comparison fails, or that all have the same address. */
static void set_targets(struct kit *k, struct plan *plans)
{
	for (unsigned int i = 0; i < k->cell->num_wr; i++) {
		if (kit_arg(k, "same", 0))
			plans[i].target = plans[0].target;
		if (kit_arg(k, "differ", 0)) {
			plans[i].target[0] ^= 0x80;
			memcpy(arena_shadow(&k->l->target, plans[i].target), plans[i].target, 8);
		}
	}
}

/* Posts all requests of the cell, at once or one by one, through one API or alternately through both. */
static void post_all(struct kit *k, struct plan *plans)
{
	bool wr = kit_arg(k, "wr", 0), turns = kit_arg(k, "turns", 0);
	unsigned int num = k->cell->num_wr, step = kit_arg(k, "each", 0) ? 1 : num;
	struct posted posted;

	for (unsigned int i = 0; i < num; i += step) {
		if (wr && !(turns && i & 1))
			posted = post_wr(k->l, &plans[i], step, false, &k->res->log);
		else
			posted = post_list(k->l, &plans[i], step, &k->res->log);
		KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
	}
}

/* The requests of the cell, again and again: each time at other places of the rings. */
static void in_order(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct link_opts opts = options(k);
	unsigned int first_use;

	k->res->log.psn = opts.psn;
	if (!kit_link(k, kit_arg(k, "wr", 0) ? API_WR : API_POST, &opts))
		return;
	k->res->log.mtu = k->l->qpt == IBV_QPT_UD ? 0 : 128u << link_mtu(k->l);
	if (opts.sq_sig_all && kit_arg(k, "wr", 0)) { /* an aborted region leaves the QP as it was created */
		log_call(&k->res->log, "ibv_wr_start(qpx), ibv_wr_abort(qpx)");
		ibv_wr_start(k->l->qpx);
		ibv_wr_abort(k->l->qpx);
	}
	for (int rounds = kit_arg(k, "rounds", 1); rounds && KIT_GOOD(k) && kit_plan(k, plans); rounds--) {
		set_targets(k, plans);
		first_use = k->l->next_use;
		post_all(k, plans);
		if (KIT_GOOD(k))
			finish(k, plans, first_use);
	}
}

/* One request of each kind that the QP type has, READs and atomics, whose answers take time, before others. */
#define ALL_RC                                                                                               \
	"RDMA_READ 2500, RDMA_WRITE 300, ATOMIC_FETCH_AND_ADD, SEND 300, ATOMIC_CMP_AND_SWP, "               \
	"RDMA_WRITE_WITH_IMM 300, SEND_WITH_IMM 300, RDMA_READ 2500, RDMA_WRITE 300"
#define ALL_UC                                                                                               \
	"RDMA_WRITE 300, SEND 300, RDMA_WRITE_WITH_IMM 300, SEND_WITH_IMM 300, RDMA_WRITE 300, SEND 300, "   \
	"RDMA_WRITE_WITH_IMM 300, SEND_WITH_IMM 300, RDMA_WRITE 300"
#define ALL_UD "SEND 300, SEND_WITH_IMM 300, SEND 300, SEND_WITH_IMM 300, SEND 300, SEND_WITH_IMM 300"

/* Requests of two operations in turn, of lengths at multiples of a path MTU; the second one is a list. */
/* clang-format off */
#define TURN(a, b, length, list) a " " length ", " b " " list
#define THEN(a, b, length, list) ", " TURN(a, b, length, list)
#define TINY(a, b) TURN(a, b, "0+", "0+") THEN(a, b, "1+", "1+")
#define AT_256(a, b) \
	TURN(a, b, "255+", "102+153") THEN(a, b, "256+", "102+154") \
	THEN(a, b, "257+", "102+155") THEN(a, b, "511+", "204+307") \
	THEN(a, b, "512+", "204+308") THEN(a, b, "513+", "205+308") \
	THEN(a, b, "768+", "307+461")
#define AT_512(a, b) \
	TURN(a, b, "511+", "204+307") THEN(a, b, "512+", "204+308") \
	THEN(a, b, "513+", "205+308") THEN(a, b, "1023+", "409+614") \
	THEN(a, b, "1024+", "409+615") THEN(a, b, "1025+", "410+615") \
	THEN(a, b, "1536+", "614+922")
#define AT_1024(a, b) \
	TURN(a, b, "1023+", "409+614") THEN(a, b, "1024+", "409+615") \
	THEN(a, b, "1025+", "410+615") THEN(a, b, "2047+", "818+1229") \
	THEN(a, b, "2048+", "819+1229") THEN(a, b, "2049+", "819+1230") \
	THEN(a, b, "3072+", "1228+1844")
#define AT_2048(a, b) \
	TURN(a, b, "2047+", "818+1229") THEN(a, b, "2048+", "819+1229") \
	THEN(a, b, "2049+", "819+1230") THEN(a, b, "4095+", "1638+2457") \
	THEN(a, b, "4096+", "1638+2458")
#define AT_4096(a, b) TURN(a, b, "4095+", "1638+2457") THEN(a, b, "4096+", "1638+2458")
#define BEYOND_2048(a, b) TURN(a, b, "4096+1", "1638+2459") THEN(a, b, "4096+2048", "2457+3687")
#define BEYOND_4096(a, b) \
	TURN(a, b, "4096+1", "1638+2459") THEN(a, b, "4096+4095", "3276+4096+819") \
	THEN(a, b, "4096+4096", "3276+4096+820") THEN(a, b, "4096+4096+1", "3277+4096+820") \
	THEN(a, b, "4096+4096+4096", "4096+4096+4096")
#define SEND_256(a, b)  AT_256(a, b)
#define RDMA_256(a, b)  TINY(a, b) ", " AT_256(a, b)
#define SEND_512(a, b)  AT_512(a, b)
#define RDMA_512(a, b)  TINY(a, b) ", " AT_512(a, b)
#define SEND_1024(a, b) AT_1024(a, b)
#define RDMA_1024(a, b) TINY(a, b) ", " AT_1024(a, b)
#define SEND_2048(a, b) TINY(a, b) ", " AT_2048(a, b)
#define RDMA_2048(a, b) SEND_2048(a, b) ", " BEYOND_2048(a, b)
#define SEND_4096(a, b) TINY(a, b) ", " AT_4096(a, b)
#define RDMA_4096(a, b) SEND_4096(a, b) ", " BEYOND_4096(a, b)

/* Lists of SGEs, some of them empty. */
#define LIST_30         "1+2+3+4+5+6+7+8+9+10+11+12+13+14+15+16+17+18+19+20+21+22+23+24+25+26+27+28+29+0"
#define LIST_EMPTY      "0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+0+7"
#define LIST_24         "20+21+22+23+24+25+26+27+28+29+30+31+32+33+34+35+36+37+38+39+40+41+42+43"
#define SHORT_LISTS(op) op " " LIST_30 ", " op " " LIST_EMPTY ", " op " " LIST_24
#define LISTS(op)                                                                                            \
	op " 0+1+255+257+0+3+512+64+0+300+5+0, " op " " LIST_30 ", " op " 1024+0+1023+1+1, " op              \
	   " " LIST_EMPTY ", " op " " LIST_24

#define POST_AND_WR FORMS({"-post"}, {"-wr", {{"wr", 1}}})
#define EVERY_WAY                                                                                            \
	FORMS({""}, {"-each", {{"each", 1}}}, {"-wr", {{"wr", 1}}},                                          \
	      {"-turns", {{"wr", 1}, {"each", 1}, {"turns", 1}}}, {"-ex", {{"ex", 1}}})
#define REMOTE_PAGED {"on_demand", 2}, {"wr", 1}, {"sent_again", 1}
#define SAYS_ORDER                                                                                           \
	SAYS("the completions of both sides come in the order of posting, one for each signalled "           \
	     "request, with every field that is valid right; all data in its place")
#define AS_USUAL(with)                                                                                       \
	SAYS("with " with " the request is executed as with any other memory, and so is one after it")
#define BY_FAMILY(requests)                                                                                  \
	{"ipv4", POSTS(requests), ARGS({"family", 4}), ALSO("ibv_modify_qp/DESCRIPTION/ah_attr"),            \
	 SAYS("the same between GIDs of IPv{family}")},                                                      \
	{"ipv6", ARGS({"family", 6})}
#define BY_MTU(mtu, ...)                                                                                     \
	{#mtu "-send", QPS("RC UC XRC_SEND"), POSTS(SEND_##mtu("SEND", "SEND_WITH_IMM")),                    \
	 ARGS({"mtu", IBV_MTU_##mtu}, {"sq_depth", 32}), ##__VA_ARGS__},                                     \
	{#mtu "-rdma", QPS("RC XRC_SEND"), POSTS(RDMA_##mtu("RDMA_WRITE", "RDMA_READ")),                     \
	 ARGS({"mtu", IBV_MTU_##mtu}, {"sq_depth", 32})},                                                    \
	{#mtu "-rdma", QPS("UC"), POSTS(RDMA_##mtu("RDMA_WRITE", "RDMA_WRITE_WITH_IMM")),                    \
	 ARGS({"mtu", IBV_MTU_##mtu}, {"sq_depth", 32})}
/* clang-format on */

SCENARIO(in_order) = {
	{"mixed", SUITE("order"), QPS("RC XRC_SEND"), POSTS(ALL_RC), EVERY_WAY,
	 CLAUSE("ibv_poll_cq/DESCRIPTION/first"), ERRATA("COMPLETION-ORDER"), ASK("posts"), SAYS_ORDER},
	{"unsignaled-between",
	 POSTS("RDMA_READ 600 unsignaled, RDMA_WRITE 600 unsignaled, ATOMIC_FETCH_AND_ADD unsignaled, SEND "
	       "600, ATOMIC_CMP_AND_SWP unsignaled, RDMA_WRITE_WITH_IMM 600 unsignaled, SEND_WITH_IMM 600 "
	       "unsignaled, RDMA_READ 600 unsignaled, RDMA_WRITE 600"),
	 FORMS({""}, {"-wr", {{"wr", 1}}}, {"-ex", {{"ex", 1}}})},
	BY_FAMILY(ALL_RC),
	{"mixed", QPS("UC"), POSTS(ALL_UC), EVERY_WAY, ALSO(""), SAYS_ORDER},
	{"unsignaled-between",
	 POSTS("RDMA_WRITE 600 unsignaled, SEND 600 unsignaled, RDMA_WRITE_WITH_IMM 600 unsignaled, "
	       "SEND_WITH_IMM 600, RDMA_WRITE 600 unsignaled, SEND 600 unsignaled, RDMA_WRITE_WITH_IMM 600 "
	       "unsignaled, SEND_WITH_IMM 600 unsignaled, RDMA_WRITE 600"),
	 FORMS({""}, {"-wr", {{"wr", 1}}}, {"-ex", {{"ex", 1}}})},
	BY_FAMILY(ALL_UC),
	{"mixed", QPS("UD"), POSTS(ALL_UD), EVERY_WAY, ALSO(""), SAYS_ORDER},
	{"unsignaled-between",
	 POSTS("SEND 600 unsignaled, SEND_WITH_IMM 600 unsignaled, SEND 600 unsignaled, SEND_WITH_IMM 600, "
	       "SEND 600 unsignaled, SEND_WITH_IMM 600"),
	 FORMS({""}, {"-wr", {{"wr", 1}}}, {"-ex", {{"ex", 1}}})},
	BY_FAMILY(ALL_UD),
	{"compare-differs", SUITE("atomic"), QPS("RC XRC_SEND"), POSTS("ATOMIC_CMP_AND_SWP"),
	 ARGS({"differ", 1}), POST_AND_WR,
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/Atomic-operations/ibv_wr_atomic_cmp_swp"), ALSO(""), ERRATA(""),
	 SAYS("the value is returned and not swapped")},
	{"same-address", POSTS("4 x ATOMIC_FETCH_AND_ADD"), ARGS({"same", 1}), POST_AND_WR,
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/Atomic-operations/ibv_wr_atomic_fetch_add"),
	 SAYS("each returns what the one before it left")},
	{"swap-then-add", POSTS("2 x ATOMIC_CMP_AND_SWP, ATOMIC_FETCH_AND_ADD"), ARGS({"same", 1}),
	 POST_AND_WR, CLAUSE("ibv_wr_post/WORK-REQUESTS/Atomic-operations/ibv_wr_atomic_cmp_swp"),
	 SAYS("the second comparison fails, the addition sees the swap")},
	{"unsignaled", SUITE("sig_all"),
	 POSTS("RDMA_READ 600 unsignaled, SEND 600 unsignaled, RDMA_WRITE 600 unsignaled, BIND_MW "
	       "unsignaled"),
	 ARGS({"sig_all", 1}), POST_AND_WR, CLAUSE("ibv_create_qp/DESCRIPTION/sq_sig_all"),
	 SAYS("every request has one completion, whether it asks for it or not")},
	{"signaled", POSTS("RDMA_READ 600, SEND 600, RDMA_WRITE 600, BIND_MW"), ARGS({"sig_all", 1}),
	 POST_AND_WR},
	{"unsignaled", QPS("UC"), POSTS("SEND 600 unsignaled, RDMA_WRITE 600 unsignaled, BIND_MW unsignaled"),
	 ARGS({"sig_all", 1}), POST_AND_WR},
	{"signaled", POSTS("SEND 600, RDMA_WRITE 600, BIND_MW"), ARGS({"sig_all", 1}), POST_AND_WR},
	{"unsignaled", QPS("UD"), POSTS("SEND 600 unsignaled"), ARGS({"sig_all", 1}), POST_AND_WR, ASK("")},
	{"signaled", POSTS("SEND 600"), ARGS({"sig_all", 1}), POST_AND_WR},
	{"short", QPS("RC XRC_SEND"),
	 POSTS("RDMA_READ 1 unsignaled, RDMA_READ 32 unsignaled, RDMA_READ 33 unsignaled, RDMA_READ 64 "
	       "unsignaled, RDMA_READ 65 unsignaled"),
	 ARGS({"sig_all", 1}), POST_AND_WR, ALSO("ibv_wr_post/WORK-REQUESTS/RDMA/ibv_wr_rdma_read"),
	 ASK("posts"), SAYS("short READs arrive as long ones do")},
	{"send-local", SUITE("paging"), QPS("RC XRC_SEND UC"), POSTS("2 x SEND 3000"),
	 ARGS({"on_demand", 1}, {"wr", 1}), CLAUSE("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ON_DEMAND"), ALSO(""),
	 NEEDS("on_demand/{qp}/SEND"), ASK(""),
	 AS_USUAL("local memory of an on-demand region, no page of which the device has yet,")},
	{"send-local", QPS("UD"), POSTS("2 x SEND 600"), ARGS({"on_demand", 1}, {"wr", 1})},
	{"rdma_write-local", QPS("RC XRC_SEND UC"), POSTS("2 x RDMA_WRITE 3000"),
	 ARGS({"on_demand", 1}, {"wr", 1}), NEEDS("on_demand/{qp}/WRITE"), ASK("posts")},
	{"rdma_read-local", QPS("RC XRC_SEND"), POSTS("2 x RDMA_READ 3000"),
	 ARGS({"on_demand", 1}, {"wr", 1}, {"sent_again", 1}), NEEDS("on_demand/{qp}/READ")},
	{"atomic_fetch_and_add-local", POSTS("2 x ATOMIC_FETCH_AND_ADD"),
	 ARGS({"on_demand", 1}, {"wr", 1}, {"sent_again", 1}), NEEDS("on_demand/{qp}/ATOMIC")},
	{"send-remote", QPS("RC"), POSTS("2 x SEND 3000"), ARGS(REMOTE_PAGED), NEEDS("on_demand/{qp}/RECV"),
	 ASK(""), AS_USUAL("remote memory of an on-demand region, no page of which the device has yet,")},
	{"rdma_write-remote", QPS("RC XRC_SEND"), POSTS("2 x RDMA_WRITE 3000"), ARGS(REMOTE_PAGED),
	 NEEDS("on_demand/{qp}/WRITE"), ASK("posts")},
	{"rdma_read-remote", POSTS("2 x RDMA_READ 3000"), ARGS(REMOTE_PAGED), NEEDS("on_demand/{qp}/READ")},
	{"atomic_fetch_and_add-remote", POSTS("2 x ATOMIC_FETCH_AND_ADD"), ARGS(REMOTE_PAGED),
	 NEEDS("on_demand/{qp}/ATOMIC")},
	{"flush-remote", POSTS("2 x FLUSH!"), ARGS(REMOTE_PAGED), NEEDS("on_demand/{qp}/FLUSH")},
	{"atomic_write-remote", POSTS("2 x ATOMIC_WRITE!"), ARGS(REMOTE_PAGED),
	 NEEDS("on_demand/{qp}/ATOMIC_WRITE")},
	{"send-remote", QPS("XRC_SEND"), POSTS("SEND 3000"), ARGS(REMOTE_PAGED),
	 NEEDS("on_demand/{qp}/SRQ_RECV"), ASK("")},
	{"send-local", SUITE("device_memory"), QPS("RC XRC_SEND UC"), POSTS("2 x SEND 3000"),
	 ARGS({"device_memory", 1}, {"wr", 1}), CLAUSE("ibv_alloc_dm/Device-memory-registration/sge"),
	 NEEDS("device_memory"), AS_USUAL("local device memory")},
	{"send-local", QPS("UD RAW_PACKET"), POSTS("2 x SEND 600"), ARGS({"device_memory", 1}, {"wr", 1})},
	{"send-remote", QPS("RC XRC_SEND UC"), POSTS("2 x SEND 3000"), ARGS({"device_memory", 4}, {"wr", 1}),
	 AS_USUAL("remote device memory")},
	{"send-remote", QPS("UD RAW_PACKET"), POSTS("2 x SEND 600"), ARGS({"device_memory", 4}, {"wr", 1})},
	{"{short}-local", QPS("RC UC XRC_SEND"), POSTS("2 x {op} 3000"), OPS("RDMA_WRITE RDMA_READ"),
	 ARGS({"device_memory", 1}, {"wr", 1}), ASK("posts"), AS_USUAL("local device memory")},
	{"{short}-remote", OPS("RDMA_WRITE RDMA_READ"), ARGS({"device_memory", 2}, {"wr", 1}),
	 AS_USUAL("remote device memory")},
	{"{op}-local", QPS("RC XRC_SEND"), POSTS("2 x {op}"), OPS("ATOMIC_CMP_AND_SWP ATOMIC_FETCH_AND_ADD"),
	 ARGS({"device_memory", 1}, {"wr", 1}), AS_USUAL("local device memory")},
	{"{op}-remote", OPS("ATOMIC_CMP_AND_SWP ATOMIC_FETCH_AND_ADD"), ARGS({"device_memory", 2}, {"wr", 1}),
	 AS_USUAL("remote device memory")},
	{"flush-remote", POSTS("2 x FLUSH!"), ARGS({"device_memory", 2}, {"wr", 1})},
	{"atomic_write-remote", POSTS("2 x ATOMIC_WRITE!"), ARGS({"device_memory", 2}, {"wr", 1})},
	{"send-sge_list", POSTS("2 x SEND 1000+36+1500"), ARGS({"device_memory", 1}, {"wr", 1}), ASK(""),
	 AS_USUAL("three SGEs of device memory")},
	{"send-sge_list", QPS("UD"), POSTS("2 x SEND 100+36+300"), ARGS({"device_memory", 1}, {"wr", 1})},
	{"send-mixed", QPS("RC XRC_SEND"), POSTS("2 x SEND 1000+36+1500"),
	 ARGS({"device_memory", 1}, {"wr", 1}, {"mixed", 1}),
	 AS_USUAL("three SGEs of device memory, host memory and device memory")},
	{"send-mixed", QPS("UD"), POSTS("2 x SEND 100+36+300"),
	 ARGS({"device_memory", 1}, {"wr", 1}, {"mixed", 1})},
	{"rdma_read-sge_list", QPS("RC XRC_SEND"), POSTS("2 x RDMA_READ 1000+36+1500"),
	 ARGS({"device_memory", 1}, {"wr", 1}), ASK("posts"), AS_USUAL("three SGEs of device memory")},
	{"rdma_read-mixed", ARGS({"device_memory", 1}, {"wr", 1}, {"mixed", 1}),
	 AS_USUAL("three SGEs of device memory, host memory and device memory")},
	{"rdma_write-local-offset", QPS("RC"), POSTS("2 x RDMA_WRITE 3000"),
	 ARGS({"device_memory", 1}, {"wr", 1}, {"dm_offset", 4100}),
	 CLAUSE("ibv_alloc_dm/Device-memory-registration/zero-based"),
	 SAYS("with a local region that begins 4100 bytes behind the device memory it is of, addresses are "
	      "bytes from the beginning of the region")},
	{"rdma_write-remote-offset", ARGS({"device_memory", 2}, {"wr", 1}, {"dm_offset", 4100}),
	 SAYS("with a remote region that begins 4100 bytes behind the device memory it is of, addresses are "
	      "bytes from the beginning of the region")},
	{"send-remote-offset", POSTS("2 x SEND 3000"),
	 ARGS({"device_memory", 4}, {"wr", 1}, {"dm_offset", 4100}), ASK("")},
	{"rdma_write-local-copy", POSTS("2 x RDMA_WRITE 3000"),
	 ARGS({"device_memory", 1}, {"wr", 1}, {"dm_piece", 12}),
	 CLAUSE("ibv_alloc_dm/Accessing-an-allocated-device-memory/copy"), ASK("posts"),
	 AS_USUAL("local device memory that is filled and read by copies of 12 bytes")},
	{"rdma_write-remote-copy", ARGS({"device_memory", 2}, {"wr", 1}, {"dm_piece", 12}),
	 AS_USUAL("remote device memory that is filled and read by copies of 12 bytes")},
	{"after-reads", SUITE("fence"), QPS("RC XRC_SEND"),
	 POSTS("RDMA_READ 2500+, RDMA_READ 3+, SEND 600+ of 0 fence, RDMA_WRITE 600+ of 1 fence, "
	       "RDMA_WRITE_WITH_IMM 600+ of 0 fence"),
	 CLAUSE("ibv_post_send/DESCRIPTION/send_flags/IBV_SEND_FENCE"), ERRATA("XRC_SEND/FENCE-XRC"),
	 NEEDS(""), ASK(""),
	 SAYS("a fenced request that sends what an earlier READ or atomic brings sends the bytes that were "
	      "brought")},
	{"after-atomics", POSTS("ATOMIC_FETCH_AND_ADD 8+, ATOMIC_CMP_AND_SWP 8+, SEND 600+ of 0 fence, "
				"RDMA_WRITE 600+ of 1 fence, SEND_WITH_IMM 600+ of 0 fence")},
	{"between", POSTS("RDMA_READ 2500+, RDMA_WRITE 1500+, SEND 40+, ATOMIC_FETCH_AND_ADD 8+, "
			  "RDMA_WRITE_WITH_IMM 0+, SEND 600+ of 0 fence, RDMA_READ 600+ fence, SEND 600+ of "
			  "6 fence, SEND 1+, ATOMIC_CMP_AND_SWP 8+ fence, RDMA_WRITE 600+ of 9 fence")},
	{"all", POSTS("SEND 600+ fence, RDMA_WRITE 600+ fence, RDMA_READ 600+ fence, SEND 600+ of 2 fence, "
		      "ATOMIC_FETCH_AND_ADD 8+ fence, SEND_WITH_IMM 600+ of 4 fence, ATOMIC_CMP_AND_SWP 8+ "
		      "fence, RDMA_WRITE_WITH_IMM 600+ of 6 fence")},
	{"twice", POSTS("RDMA_READ 2048+, SEND 600+ of 0 fence, RDMA_WRITE 700+, RDMA_READ 1025+, RDMA_WRITE "
			"600+ of 3 fence, SEND 600+ of 3 fence")},
	{"unsignaled",
	 POSTS("RDMA_READ 2500+ unsignaled, RDMA_WRITE 1500+, SEND 40+, ATOMIC_FETCH_AND_ADD 8+ unsignaled, "
	       "RDMA_WRITE_WITH_IMM 0+, SEND 600+ of 0 fence, RDMA_READ 600+ fence unsignaled, SEND 600+ of "
	       "6 fence, SEND 1+, ATOMIC_CMP_AND_SWP 8+ fence, RDMA_WRITE 600+ of 9 fence")},
	{"one-in-flight",
	 POSTS("RDMA_READ 2500+, RDMA_WRITE 1500+, SEND 40+, ATOMIC_FETCH_AND_ADD 8+, RDMA_WRITE_WITH_IMM "
	       "0+, SEND 600+ of 0 fence, RDMA_READ 600+ fence, SEND 600+ of 6 fence, SEND 1+, "
	       "ATOMIC_CMP_AND_SWP 8+ fence, RDMA_WRITE 600+ of 9 fence"),
	 ARGS({"rd_atomic", 1})},
	{"psn-wrap", ARGS({"psn", 0xfffffc})},
	{"after-flush", QPS("RC"),
	 POSTS("FLUSH!, SEND 40 fence, RDMA_WRITE 900, ATOMIC_WRITE!, SEND 40 fence, RDMA_WRITE 900"),
	 ARGS({"wr", 1}), ERRATA("FENCE-XRC"), NEEDS("operations/{qp}/FLUSH operations/{qp}/ATOMIC_WRITE"),
	 ASK("posts"), SAYS("a fenced request leaves after the answers of FLUSH and ATOMIC_WRITE before it")},
	{"after-bind", QPS("RC XRC_SEND"),
	 POSTS("RDMA_READ 2500+, BIND_MW fence, SEND 600+ of 0 fence, RDMA_WRITE 300+"),
	 ERRATA("XRC_SEND/FENCE-XRC"), NEEDS("memory_windows/2"), ASK(""),
	 SAYS("a fenced request that sends what an earlier READ or atomic brings sends the bytes that were "
	      "brought")},
	{"after-flush", QPS("XRC_SEND"),
	 POSTS("FLUSH!, SEND 40 fence, RDMA_WRITE 900, ATOMIC_WRITE!, SEND 40 fence, RDMA_WRITE 900"),
	 ARGS({"wr", 1}), NEEDS("operations/{qp}/FLUSH operations/{qp}/ATOMIC_WRITE"), ASK("posts"),
	 SAYS("a fenced request leaves after the answers of FLUSH and ATOMIC_WRITE before it")},
	{"1", SUITE("rd_atomic"), QPS("RC XRC_SEND"),
	 POSTS("RDMA_READ 1+ unsignaled, ATOMIC_FETCH_AND_ADD 8+, RDMA_READ 2500+, RDMA_WRITE 900+, "
	       "ATOMIC_CMP_AND_SWP 8+ unsignaled, RDMA_READ 1024+ unsignaled, RDMA_READ 1+, "
	       "ATOMIC_FETCH_AND_ADD 8+, RDMA_READ 2500+, RDMA_WRITE 900+ unsignaled, ATOMIC_CMP_AND_SWP 8+, "
	       "RDMA_READ 1024+, RDMA_READ 1+, ATOMIC_FETCH_AND_ADD 8+, RDMA_READ 2500+, RDMA_WRITE 900+, "
	       "ATOMIC_CMP_AND_SWP 8+, RDMA_READ 1024+, RDMA_READ 1+, ATOMIC_FETCH_AND_ADD 8+, RDMA_READ "
	       "2500+ unsignaled, RDMA_WRITE 900+"),
	 ARGS({"rd_atomic", 1}, {"sq_depth", 32}), FORMS({""}, {"-wrap", {{"psn", 0xfffffa}}}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/max_rd_atomic"), ERRATA("RD-ATOMIC XRC_SEND/XRC-ATTRIBUTES"),
	 NEEDS(""), ASK(""),
	 SAYS("more READs and atomics than max_rd_atomic are posted: a responder with as many resources "
	      "answers all")},
	{"2", ARGS({"rd_atomic", 2}, {"sq_depth", 32}), FORMS({""}, {"-wrap", {{"psn", 0xfffffa}}})},
	{"max", ARGS({"rd_atomic", -1}, {"sq_depth", 32}), FORMS({""}, {"-wrap", {{"psn", 0xfffffa}}})},
	BY_MTU(256, SUITE("mtu"), CLAUSE("ibv_modify_qp/DESCRIPTION/path_mtu"),
	       ERRATA("XRC_SEND/XRC-ATTRIBUTES"),
	       SAYS("messages of lengths around multiples of the path MTU arrive with every byte")),
	BY_MTU(512),
	BY_MTU(1024),
	BY_MTU(2048),
	BY_MTU(4096),
	{"lists", SUITE("ring"), QPS("RC UC XRC_SEND"),
	 POSTS("RDMA_WRITE 17+1+90 unsignaled, SEND_WITH_IMM inline 100 unsignaled, SEND inline 0, "
	       "RDMA_WRITE 5+64+3+200, SEND_WITH_IMM inline 1 most unsignaled, SEND 33 unsignaled, "
	       "RDMA_WRITE inline 1+15+16"),
	 ARGS({"rounds", 40}), CLAUSE("ibv_create_qp/DESCRIPTION/max_send_wr"), ERRATA(""), ASK("posts"),
	 SAYS("requests with lists of SGEs and with inline data are executed as posted, at any place of the "
	      "queue")},
	{"each", ARGS({"rounds", 40}, {"each", 1})},
	{"turns", ARGS({"rounds", 40}, {"wr", 1}, {"turns", 1}, {"each", 1})},
	{"lists", QPS("UD"),
	 POSTS("SEND_WITH_IMM 17+1+90 unsignaled, SEND inline 100 unsignaled, SEND_WITH_IMM inline 0, SEND "
	       "5+64+3+200, SEND_WITH_IMM inline 1 most unsignaled, SEND 33 unsignaled, SEND_WITH_IMM inline "
	       "1+15+16"),
	 ARGS({"rounds", 40})},
	{"each", ARGS({"rounds", 40}, {"each", 1})},
	{"turns", ARGS({"rounds", 40}, {"wr", 1}, {"turns", 1}, {"each", 1})},
	{"long-lists", QPS("RC UC XRC_SEND"),
	 POSTS(LISTS("RDMA_WRITE") ", " LISTS("SEND") ", " LISTS("RDMA_READ") ", " LISTS("SEND_WITH_IMM")),
	 ARGS({"mtu", IBV_MTU_256}, {"sq_depth", 32}), CLAUSE("ibv_post_send/DESCRIPTION/state"), ASK(""),
	 SGES(30),
	 SAYS("requests with lists of up to 30 SGEs, some of them empty, are executed with every byte")},
	{"long-lists", QPS("UD"), POSTS(SHORT_LISTS("SEND") ", " SHORT_LISTS("SEND_WITH_IMM")),
	 ARGS({"mtu", IBV_MTU_256}, {"sq_depth", 32}), SGES(30)},
	{},
};

/* The peer has no receives when the requests are posted: those from the first that needs one on are repeated. */
static void late_receives(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct link_opts opts = options(k);
	struct link other = {0};
	int ret = 0;

	k->res->log.psn = opts.psn;
	if (kit_link(k, API_POST, &opts) && kit_link_second(k, &other, API_POST, NULL)) {
		for (unsigned int i = 0; i < k->cell->num_wr && !ret; i++)
			ret = plan_wr(&plans[i], k->l, &k->cell->wr[i], i, k->r->seed);
		if (ret)
			KIT_FAULT(k, "buffers of the case: %s", errno_name(ret));
		else
			post_all(k, plans);
		if (KIT_GOOD(k))
			kit_alive(k, &other); /* meanwhile the first has been refused */
		log_call(&k->res->log, "/* only now: receives for the first QP */");
		ret = link_fill_recv(k->l);
		if (ret)
			KIT_FAULT(k, "posting receives failed with %s", errno_name(ret));
		if (KIT_GOOD(k))
			finish(k, plans, 0);
	}
}

SCENARIO(late_receives) = {
	{"late", SUITE("rnr"), QPS("RC XRC_SEND"),
	 POSTS("SEND 2000+, RDMA_READ 2500+, ATOMIC_FETCH_AND_ADD 8+, RDMA_WRITE 1025+, "
	       "ATOMIC_CMP_AND_SWP 8+, SEND_WITH_IMM 4096+"),
	 ARGS({"late_receives", 1}), FORMS({"-behind"}, {"-one-in-flight", {{"rd_atomic", 1}}}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/rnr_retry"), ERRATA("RNR-RETRY RELIABLE XRC_SEND/XRC-ATTRIBUTES"),
	 SAYS("receives are posted after the first message was refused: each request is executed once, "
	      "in order")},
	{"late",
	 POSTS("RDMA_WRITE_WITH_IMM 3500+, RDMA_READ 1+, RDMA_WRITE 2049+, ATOMIC_FETCH_AND_ADD 8+, "
	       "RDMA_READ 2500+, SEND 1024+"),
	 ARGS({"late_receives", 1}), FORMS({"-inside"}, {"-psn-wrap", {{"psn", 0xfffffe}}})},
	{"late-before",
	 POSTS("RDMA_READ 2500+, ATOMIC_FETCH_AND_ADD 8+, RDMA_WRITE 2500+, SEND_WITH_IMM 2500+, "
	       "RDMA_READ 3000+, ATOMIC_CMP_AND_SWP 8+"),
	 ARGS({"late_receives", 1})},
	{"late-fenced",
	 POSTS("SEND 100+, RDMA_READ 2500+, RDMA_WRITE 600+, SEND 600+ of 1 fence, ATOMIC_FETCH_AND_ADD "
	       "8+, RDMA_WRITE 600+ of 4 fence"),
	 ARGS({"late_receives", 1})},
	{"late-unsignaled",
	 POSTS("SEND 100+ unsignaled, SEND 1100+ unsignaled, RDMA_WRITE_WITH_IMM 0+, RDMA_READ 2048+ "
	       "unsignaled, SEND 0+, SEND 5+"),
	 ARGS({"late_receives", 1})},
	{},
};

/* Two buffers of the same size, one at either end. */
struct pair {
	uint8_t *own, *peers;
	struct ibv_mr *mr, *peers_mr;
};

static bool pair_create(struct kit *k, struct pair *p, size_t size)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

	p->own = end_alloc(k->r->dut.requester.pd, size);
	p->peers = end_alloc(k->r->dut.responder.pd, size);
	if (p->own && p->peers) {
		p->mr = ibv_reg_mr(k->r->dut.requester.pd, p->own, size, access);
		p->peers_mr = ibv_reg_mr(k->r->dut.responder.pd, p->peers, size,
					 access | (k->l->qpt == IBV_QPT_UC ? 0 : IBV_ACCESS_REMOTE_READ));
	}
	return KIT_MUST(k, p->mr && p->peers_mr, "no memory of %zu bytes", size);
}

/* A WRITE of the first half, one of the second, and a READ of all into the requester's buffer, which was cleared. */
static void post_long(struct kit *k, const struct pair *p, uint8_t *copy, uint32_t len)
{
	struct link *l = k->l;
	struct ibv_sge sge[2] = {{(uintptr_t)p->own, len, p->mr->lkey},
				 {(uintptr_t)p->own + len, len, p->mr->lkey}};
	struct ibv_send_wr wr[2] = {kit_wr(1, IBV_WR_RDMA_WRITE, &sge[0]),
				    kit_wr(2, IBV_WR_RDMA_WRITE, &sge[1])};
	unsigned int reads = kit_arg(k, "read", 0);
	int rc;

	memcpy(copy, p->own, 2 * len);
	for (int i = 0; i < 2; i++) {
		wr[i].wr.rdma.remote_addr = (uintptr_t)p->peers + i * len;
		wr[i].wr.rdma.rkey = p->peers_mr->rkey;
		wr[i].qp_type.xrc.remote_srqn = l->srqn;
	}
	wr[0].next = &wr[1];
	rc = kit_post(k, l->qp, l->peer, wr, NULL);
	KIT_CHECK(k, !rc, "posting was refused with %s", errno_name(rc));
	for (uint64_t id = 1; id <= 2; id++)
		if (!kit_expect(k, l, l->cq, l->qp, id, IBV_WC_SUCCESS))
			return;
	kit_alive(k, l); /* on UC a WRITE completes before its data is visible */
	end_sync();
	KIT_CHECK(k, !memcmp(p->peers, copy, 2 * len), "two WRITEs of %u bytes: bytes are wrong", len);
	if (!reads)
		return;
	memset(p->own, 0, 2 * len);
	wr[0].opcode = wr[1].opcode = IBV_WR_RDMA_READ;
	rc = kit_post(k, l->qp, l->peer, wr, NULL);
	KIT_CHECK(k, !rc, "posting was refused with %s", errno_name(rc));
	for (uint64_t id = 1; id <= 2; id++)
		if (!kit_expect(k, l, l->cq, l->qp, id, IBV_WC_SUCCESS))
			return;
	end_sync();
	KIT_CHECK(k, !memcmp(p->own, copy, 2 * len), "two READs of %u bytes: bytes are wrong", len);
}

/* Messages of more packets than a requester sends without an acknowledgement. */
static void long_messages(struct kit *k)
{
	const struct link_opts opts = options(k);
	uint32_t len = kit_arg(k, "bytes", 0), x = k->r->seed + 1;
	uint8_t *copy = made_zeroed(2, len);
	struct pair p = {0};

	if (!copy || !kit_link(k, API_POST, &opts) || !pair_create(k, &p, 2 * len))
		return;
	k->res->log.mtu = 128u << link_mtu(k->l);
	for (uint32_t i = 0; i < 2 * len; i++, x = x * 1664525u + 1013904223u)
		p.own[i] = x >> 24;
	memset(p.peers, 0, 2 * len);
	end_written(p.peers, 2 * len);
	post_long(k, &p, copy, len);
}

SCENARIO(long_messages) = {
	{"long", SUITE("mtu"), QPS("RC XRC_SEND"), POSTS("SEND 600"),
	 ARGS({"mtu", IBV_MTU_256}, {"bytes", 280001}, {"read", 1}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/path_mtu"), ERRATA("XRC_SEND/XRC-ATTRIBUTES"),
	 SAYS("messages of more than a thousand packets arrive with every byte")},
	{"long", QPS("UC"), ARGS({"mtu", IBV_MTU_256}, {"bytes", 280001}), ERRATA("")},
	{},
};

/*
 * Requests, SGE lists and inline data are overwritten as soon as the call returns, when the device may
 * not have started to execute them.
 */
static void reuse(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct ibv_send_wr wr[CELL_MAX_WR];
	unsigned int first_use;
	int rc;

	if (!kit_link(k, API_POST, NULL) || !kit_plan(k, plans))
		return;
	first_use = k->l->next_use;
	kit_list(k, plans, k->cell->num_wr, wr);
	rc = kit_post(k, k->l->qp, k->l->peer, wr, NULL);
	memset(wr, 0xff, sizeof(wr));
	for (unsigned int i = 0; i < k->cell->num_wr; i++) {
		plan_scribble(&plans[i], k->l);
		if (!plans[i].wr->recv || plans[i].wr->effect != EFFECT_READ)
			memset(plans[i].sge, 0xff, sizeof(plans[i].sge));
	}
	log_call(&k->res->log, "/* the requests, their SGE lists and inline buffers are overwritten */");
	KIT_CHECK(k, !rc, "posting was refused with %s", errno_name(rc));
	finish(k, plans, first_use);
}

SCENARIO(reuse) = {
	{"inline", SUITE("reuse"), QPS("RC UC UD XRC_SEND"),
	 POSTS("SEND inline 100, RDMA_WRITE inline 100, SEND inline 100, RDMA_WRITE inline 100"),
	 CLAUSE("ibv_post_send/NOTES/inline"),
	 SAYS("what was overwritten as soon as the call was back has no effect on what is executed")},
	{"inline-list", POSTS("SEND inline 40, RDMA_WRITE inline 40, SEND inline 40, RDMA_WRITE inline 40")},
	{"requests", POSTS("SEND 600, RDMA_WRITE 600, SEND 600, RDMA_WRITE 600"),
	 CLAUSE("ibv_post_send/DESCRIPTION/state")},
	{},
};

/* Once the completions of both sides were polled, their buffers are the caller's: it overwrites them, and so they stay. */
static void reuse_completed(struct kit *k)
{
	static struct plan plan;
	struct link *l = k->l;
	unsigned int first_use;

	if (!kit_link(k, API_POST, NULL) || !kit_plan(k, &plan))
		return;
	first_use = l->next_use;
	for (unsigned int round = 0; round < 3 && KIT_GOOD(k); round++) {
		struct expect none = {0}, requester = {0}, responder = {0};
		uint8_t *from = arena_at(&l->local, plan.sge[0].addr),
			*to = l->slot[l->next_use % LINK_RECV_SLOTS];
		struct posted posted = post_list(l, &plan, 1, &k->res->log);

		KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
		plan_execute(&plan, l, &requester, &responder);
		if (!kit_expect(k, l, l->cq, l->qp, plan.wr_id, IBV_WC_SUCCESS))
			return;
		arena_fill(&l->local, from, plan.total,
			   k->r->seed + round); /* the message may not have arrived yet */
		link_push(l);
		collect(l, &none, &responder, k->res);
		if (!KIT_GOOD(k))
			return;
		collect_memory(l, first_use, k->res);
		memset(to, 0x77, LINK_RECV_LEN);
		memset(arena_shadow(&l->recv, to), 0x77, LINK_RECV_LEN);
		end_written(to, LINK_RECV_LEN);
		memcpy(plan.payload, from, plan.total);
	}
	kit_alive(k, l);
	if (KIT_GOOD(k))
		collect_memory(l, first_use, k->res);
}

SCENARIO(reuse_completed) = {
	{"completed", SUITE("reuse"), QPS("RC UC UD"), POSTS("SEND 600"),
	 CLAUSE("ibv_post_send/NOTES/buffers"), ALSO("ibv_post_recv/NOTES/buffers"),
	 SAYS("a buffer that is overwritten once the completion was polled changes no message, and "
	      "stays as it is")},
	{"completed", QPS("XRC_SEND"), ALSO("ibv_post_srq_recv/NOTES/buffers")},
	{},
};

/* The same for receives: the list is overwritten before the message arrives. */
static void reuse_recv(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct link *l = k->l;
	struct ibv_recv_wr wr[2], *bad;
	struct ibv_sge sge[2];
	struct posted posted;
	int rc;

	if (!kit_link(k, kit_arg(k, "srq", 0) ? API_SRQ : API_POST, NULL))
		return;
	for (int i = 0; i < 2; i++) {
		uint8_t *buf = l->slot[l->next_post % LINK_RECV_SLOTS];

		sge[i] = (struct ibv_sge){(uintptr_t)buf, link_grh(l) + LINK_RECV_LEN, l->recv.mr->lkey};
		memset(buf, 0x5c, sge[i].length);
		memset(arena_shadow(&l->recv, buf), 0x5c, sge[i].length);
		end_written(buf, sge[i].length);
		wr[i] = (struct ibv_recv_wr){link_recv_wr_id(l->next_post++), i ? NULL : &wr[1], &sge[i], 1};
	}
	log_call(&k->res->log,
		 "%s, recv_wr, &bad_recv_wr) /* two; the requests and SGE lists are overwritten */",
		 l->srq ? "ibv_post_srq_recv(srq" : "ibv_post_recv(peer");
	rc = link_post_recv(l, wr, &bad);
	memset(wr, 0xff, sizeof(wr));
	memset(sge, 0xff, sizeof(sge));
	KIT_CHECK(k, !rc, "posting the receives was refused with %s", errno_name(rc));
	if (!kit_plan(k, plans))
		return;
	posted = post_list(l, plans, k->cell->num_wr, &k->res->log);
	KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
	finish(k, plans, 0);
}

SCENARIO(reuse_recv) = {
	{"recv-requests", SUITE("reuse"), QPS("RC UC UD"), POSTS("2 x SEND 600"),
	 CLAUSE("ibv_post_recv/DESCRIPTION"), SAYS("the receives are used as they were posted")},
	{"srq-requests", QPS("RC UD"), ARGS({"srq", 1}), CLAUSE("ibv_post_srq_recv/DESCRIPTION"),
	 NEEDS("srq")},
	{},
};
