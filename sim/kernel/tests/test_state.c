// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The QP state machine: all pairs of states, each required attribute missing, each attribute present that is
 * not allowed. The expectations are copied from the tables of ibv_modify_qp(3) and IBTA 11.2.5.2, one line
 * per transition.
 */
#include "harness.h"

#define ANY_TYPE "any"

struct row {
	const char *type, *from, *to, *required, *optional;
};

/* clang-format off */
static const struct row rows[] = {
	{ANY_TYPE, "RESET", "RESET", "", ""},
	{"RC", "RESET", "INIT", "pkey port access", ""},
	{"UC", "RESET", "INIT", "pkey port access", ""},
	{"UD", "RESET", "INIT", "pkey port qkey", ""},
	{"RC", "INIT", "INIT", "", "pkey port access"},
	{"UC", "INIT", "INIT", "", "pkey port access"},
	{"UD", "INIT", "INIT", "", "pkey port qkey"},
	{"RC", "INIT", "RTR", "av mtu dqpn rqpsn dest_rd rnr_timer", "alt access pkey"},
	{"UC", "INIT", "RTR", "av mtu dqpn rqpsn", "alt access pkey"},
	{"UD", "INIT", "RTR", "", "pkey qkey"},
	{"RC", "RTR", "RTS", "timeout retry rnr_retry sqpsn rd", "cur alt access rnr_timer mig"},
	{"UC", "RTR", "RTS", "sqpsn", "cur alt access mig"},
	{"UD", "RTR", "RTS", "sqpsn", "cur qkey"},
	{"RC", "RTS", "RTS", "", "cur alt access rnr_timer mig"},
	{"UC", "RTS", "RTS", "", "cur alt access mig"},
	{"UD", "RTS", "RTS", "", "cur qkey"},
	{ANY_TYPE, "RTS", "SQD", "", "notify"},
	{"RC", "SQD", "RTS", "", "cur alt access rnr_timer mig"},
	{"UC", "SQD", "RTS", "", "cur alt access mig"},
	{"UD", "SQD", "RTS", "", "cur qkey"},
	{"RC", "SQD", "SQD", "", "port av timeout retry rnr_retry rd dest_rd alt access pkey rnr_timer mig"},
	{"UC", "SQD", "SQD", "", "av alt access pkey mig"},
	{"UD", "SQD", "SQD", "", "pkey qkey"},
	{"RC", "SQE", "RTS", "", ""},
	{"UC", "SQE", "RTS", "", "cur access"},
	{"UD", "SQE", "RTS", "", "cur qkey"},
	{"RAW", "RESET", "INIT", "port", ""},
	{"RAW", "INIT", "INIT", "", ""},
	{"RAW", "INIT", "RTR", "", ""},
	{"RAW", "RTR", "RTS", "", "rate"},
	{"RAW", "RTS", "RTS", "", "rate"},
	{"RAW", "SQD", "RTS", "", ""},
	{"RAW", "SQD", "SQD", "", ""},
	{"RAW", "SQE", "RTS", "", ""},
	{ANY_TYPE, "INIT", "RESET", "", ""}, {ANY_TYPE, "INIT", "ERR", "", ""},
	{ANY_TYPE, "RTR", "RESET", "", ""}, {ANY_TYPE, "RTR", "ERR", "", ""},
	{ANY_TYPE, "RTS", "RESET", "", ""}, {ANY_TYPE, "RTS", "ERR", "", ""},
	{ANY_TYPE, "SQD", "RESET", "", ""}, {ANY_TYPE, "SQD", "ERR", "", ""},
	{ANY_TYPE, "SQE", "RESET", "", ""}, {ANY_TYPE, "SQE", "ERR", "", ""},
	{ANY_TYPE, "ERR", "RESET", "", ""}, {ANY_TYPE, "ERR", "ERR", "", ""},
};

static const struct { const char *name; unsigned int bit; } words[] = {
	{"cur", 1}, {"notify", 2}, {"access", 3}, {"pkey", 4}, {"port", 5}, {"qkey", 6}, {"av", 7}, {"mtu", 8},
	{"timeout", 9}, {"retry", 10}, {"rnr_retry", 11}, {"rqpsn", 12}, {"rd", 13}, {"alt", 14},
	{"rnr_timer", 15}, {"sqpsn", 16}, {"dest_rd", 17}, {"mig", 18}, {"cap", 19}, {"dqpn", 20}, {"rate", 25},
};
/* clang-format on */

static const char *const states[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
static const struct {
	const char *name;
	uint8_t type;
} types[] = {{"RC", 2}, {"UC", 3}, {"UD", 4}, {"RAW", 8}};

static uint32_t mask_of(const char *text)
{
	char copy[128], *save = NULL;
	uint32_t mask = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *s = strtok_r(copy, " ", &save); s; s = strtok_r(NULL, " ", &save)) {
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			if (!strcmp(words[i].name, s))
				mask |= 1u << words[i].bit;
		}
	}
	return mask;
}

static const struct row *find(unsigned int t, unsigned int from, unsigned int to)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if ((!strcmp(rows[i].type, types[t].name) || !strcmp(rows[i].type, ANY_TYPE)) &&
		    !strcmp(rows[i].from, states[from]) && !strcmp(rows[i].to, states[to]))
			return &rows[i];
	}
	return NULL;
}

static bool wanted(unsigned int t, unsigned int from, unsigned int to, uint32_t mask)
{
	const struct row *r = find(t, from, to);
	uint32_t required, optional;

	if (!r)
		return false;
	required = mask_of(r->required);
	optional = mask_of(r->optional);
	return (mask & required) == required && !(mask & ~(required | optional | 1));
}

static void report(unsigned int t, unsigned int from, unsigned int to, uint32_t mask, bool got)
{
	fprintf(stderr, "\n%s %s -> %s with mask 0x%x: %s\n", types[t].name, states[from], states[to], mask,
		got ? "accepted" : "refused");
}

static void check_table(unsigned int t, unsigned int from, unsigned int to, uint32_t mask)
{
	const bool want = wanted(t, from, to, mask), got = qp_modify_ok(from, to, types[t].type, mask);

	if (want != got)
		report(t, from, to, mask, got);
	CU_ASSERT_EQUAL(want, got);
}

static void table(void)
{
	for (unsigned int t = 0; t < 4; t++) {
		for (unsigned int from = 0; from < 7; from++) {
			for (unsigned int to = 0; to < 7; to++) {
				const struct row *r = find(t, from, to);
				const uint32_t good = 1 | (r ? mask_of(r->required) : 0);

				check_table(t, from, to, good);
				for (unsigned int bit = 1; bit < 32; bit++)
					check_table(t, from, to, good ^ (1u << bit));
				check_table(t, from, to, good | (r ? mask_of(r->optional) : 0));
			}
		}
	}
}

/* The same through the command, on a real QP in that state. */
static void real_qp(unsigned int t, unsigned int from, unsigned int to, uint32_t mask)
{
	struct ib_uverbs_modify_qp m;
	struct ib_uverbs_query_qp_resp q;
	/* Ethernet has no alternate paths; an address without a port changes the port, too. */
	const bool alt = mask & HCASIM_QP_ATTR_ALT_PATH;
	uint32_t seen = mask;
	bool want, got;

	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	CHECK_ERR(make_qp(types[t].type), 0);
	CHECK_ERR(qp_to_state(types[t].type, from), 0);
	good_attrs(&m, types[t].type);
	m.qp_state = to;
	m.cur_qp_state = from;
	m.attr_mask = mask;
	if ((mask & HCASIM_QP_ATTR_AV) && to != HCASIM_QPS_RTR)
		seen |= HCASIM_QP_ATTR_PORT;
	want = wanted(t, from, to, seen) && !alt;
	got = !modify_qp(&m);
	if (want != got)
		report(t, from, to, mask, got);
	CU_ASSERT_EQUAL(want, got);
	CHECK_ERR(query_qp(&q), 0);
	CU_ASSERT_EQUAL(q.qp_state, got ? to : from);
	file_close();
}

static void commands(void)
{
	for (unsigned int t = 0; t < 3; t++) {
		for (unsigned int from = 0; from < 7; from++) {
			/* SQE cannot be requested; the table covers it. */
			for (unsigned int to = 0; to < 7 && from != HCASIM_QPS_SQE; to++) {
				const struct row *r = find(t, from, to);
				const uint32_t good = 1 | (r ? mask_of(r->required) : 0);

				real_qp(t, from, to, good);
				for (unsigned int bit = 1; bit < 21 && r; bit++)
					real_qp(t, from, to, good ^ (1u << bit));
			}
		}
	}
}

static void qp_in(uint8_t type, unsigned int state)
{
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	CHECK_ERR(make_qp(type), 0);
	CHECK_ERR(qp_to_state(type, state), 0);
}

struct value {
	const char *name;
	unsigned int offset, size;
	uint32_t value;
	int err;
};
#define V(member, v, e)                                                                                      \
	{                                                                                                    \
#member, offsetof(struct ib_uverbs_modify_qp, member),                                       \
			sizeof(((struct ib_uverbs_modify_qp *)0)->member), v, e                              \
	}

static void try_values(const struct value *v, size_t n, unsigned int from, unsigned int to)
{
	for (size_t i = 0; i < n; i++) {
		struct ib_uverbs_modify_qp m;

		qp_in(HCASIM_QPT_RC, from);
		good_attrs(&m, HCASIM_QPT_RC);
		m.qp_state = to;
		m.attr_mask = HCASIM_QP_ATTR_STATE | required_mask(HCASIM_QPT_RC, from, to);
		memcpy((uint8_t *)&m + v[i].offset, &v[i].value, v[i].size);
		if (modify_qp(&m) != v[i].err)
			fprintf(stderr, "\n%s = %u\n", v[i].name, v[i].value);
		file_close();
		qp_in(HCASIM_QPT_RC, from);
		m.qp_handle = w.qp;
		CHECK_ERR(modify_qp(&m), v[i].err);
		file_close();
	}
}

static void values(void)
{
	static const struct value init[] = {V(port_num, 0, -EINVAL), V(port_num, 2, -EINVAL),
					    V(pkey_index, 1, -EINVAL), V(qp_state, 7, -EINVAL)};
	static const struct value rtr[] = {
		V(path_mtu, 0, -EINVAL),
		V(path_mtu, 6, -EINVAL),
		V(path_mtu, 5, 0),
		V(max_dest_rd_atomic, 17, -EINVAL),
		V(min_rnr_timer, 32, -EINVAL),
		V(dest_qp_num, 0x1000000, -EINVAL),
		V(dest.port_num, 0, -EINVAL),
		V(dest.port_num, 2, -EINVAL),
		V(dest.is_global, 0, -EINVAL),
		V(dest.sgid_index, 2, -ENODATA),
		V(dest.sgid_index, 200, -EINVAL),
		V(rq_psn, 0xff000001, 0),
		/* no adapter has 10.77.0.99 or 11.77.0.1 */
		V(dest.dgid[15], 99, -ETIMEDOUT),
		V(dest.dgid[12], 11, -ETIMEDOUT),
		/* an IPv6 destination from an IPv4 source */
		V(dest.dgid[10], 0, -EINVAL),
	};
	static const struct value rts[] = {V(timeout, 32, -EINVAL), V(retry_cnt, 8, -EINVAL),
					   V(rnr_retry, 8, -EINVAL), V(max_rd_atomic, 17, -EINVAL),
					   V(max_rd_atomic, 16, 0)};

	try_values(init, sizeof(init) / sizeof(init[0]), HCASIM_QPS_RESET, HCASIM_QPS_INIT);
	try_values(rtr, sizeof(rtr) / sizeof(rtr[0]), HCASIM_QPS_INIT, HCASIM_QPS_RTR);
	try_values(rts, sizeof(rts) / sizeof(rts[0]), HCASIM_QPS_RTR, HCASIM_QPS_RTS);
}

static void masks(void)
{
	struct ib_uverbs_ex_modify_qp ex = {0};
	struct ib_uverbs_ex_modify_qp_resp resp;
	struct ib_uverbs_modify_qp m;

	qp_in(HCASIM_QPT_RC, HCASIM_QPS_RTS);
	good_attrs(&m, HCASIM_QPT_RC);
	m.attr_mask = 1u << 21;
	CHECK_ERR(modify_qp(&m), -EOPNOTSUPP);
	m.attr_mask = HCASIM_QP_ATTR_RATE_LIMIT;
	CHECK_ERR(modify_qp(&m), -EOPNOTSUPP);
	ex.base = m;
	CHECK_ERR(do_write_ex(IB_USER_VERBS_EX_CMD_MODIFY_QP, &ex, sizeof(ex), NULL, 0, &resp, sizeof(resp),
			      NULL, 0),
		  -EINVAL);
	ex.base.attr_mask = 1u << 26;
	CHECK_ERR(do_write_ex(IB_USER_VERBS_EX_CMD_MODIFY_QP, &ex, sizeof(ex), NULL, 0, &resp, sizeof(resp),
			      NULL, 0),
		  -EOPNOTSUPP);
	ex.base.attr_mask = HCASIM_QP_ATTR_ACCESS_FLAGS;
	CHECK_ERR(do_write_ex(IB_USER_VERBS_EX_CMD_MODIFY_QP, &ex, sizeof(ex), NULL, 0, &resp, sizeof(resp),
			      NULL, 0),
		  0);
	CU_ASSERT_EQUAL(resp.response_length, sizeof(resp));
	/* The QP is in RTS; any other current state is an error. */
	m.attr_mask = HCASIM_QP_ATTR_CUR_STATE;
	m.cur_qp_state = HCASIM_QPS_RTR;
	CHECK_ERR(modify_qp(&m), -EINVAL);
	m.cur_qp_state = HCASIM_QPS_RTS;
	CHECK_ERR(modify_qp(&m), 0);
	m.attr_mask = HCASIM_QP_ATTR_PATH_MIG_STATE;
	m.path_mig_state = 2;
	CHECK_ERR(modify_qp(&m), -EINVAL);
	file_close();
}

static int limit(uint32_t mask, uint32_t rate, const void *uhw, size_t uhw_len)
{
	const struct ib_uverbs_ex_modify_qp ex = {
		.base = {.qp_handle = w.qp, .attr_mask = mask, .qp_state = HCASIM_QPS_RTS},
		.rate_limit = rate,
	};
	struct ib_uverbs_ex_modify_qp_resp resp;

	return do_write_ex(IB_USER_VERBS_EX_CMD_MODIFY_QP, &ex, sizeof(ex), uhw, uhw_len, &resp, sizeof(resp),
			   NULL, 0);
}

static void rate_limits(void)
{
	const uint32_t rate = HCASIM_QP_ATTR_RATE_LIMIT;
	struct hcasim_modify_qp_req burst = {.max_burst_sz = HCASIM_RATE_LIMIT_BURST, .typical_pkt_sz = 64};
	uint64_t longer[2] = {0, 1};

	qp_in(HCASIM_QPT_RAW_PACKET, HCASIM_QPS_RTR);
	CHECK_ERR(limit(rate, 5000, NULL, 0), -EINVAL); /* without the state: RTR to RTR */
	CHECK_ERR(limit(rate | HCASIM_QP_ATTR_STATE, HCASIM_RATE_LIMIT_MIN - 1, NULL, 0), -EINVAL);
	CHECK_ERR(limit(rate | HCASIM_QP_ATTR_STATE, 5000, NULL, 0), 0);
	CHECK_ERR(limit(rate, HCASIM_RATE_LIMIT_MIN, NULL, 0), 0);
	CHECK_ERR(limit(rate, HCASIM_RATE_LIMIT_MAX, NULL, 0), 0);
	CHECK_ERR(limit(rate, HCASIM_RATE_LIMIT_MAX + 1, NULL, 0), -EINVAL);
	CHECK_ERR(limit(rate, UINT32_MAX, NULL, 0), -EINVAL);
	CHECK_ERR(limit(rate, 5000, &burst, sizeof(burst)), 0);
	CHECK_ERR(limit(rate, 0, &burst, sizeof(burst)), -EINVAL);
	CHECK_ERR(limit(HCASIM_QP_ATTR_STATE, 0, &burst, sizeof(burst)), -EINVAL);
	CHECK_ERR(limit(rate, 5000, longer, sizeof(longer)), -EOPNOTSUPP);
	burst.reserved = 1;
	CHECK_ERR(limit(rate, 5000, &burst, sizeof(burst)), -EOPNOTSUPP);
	burst = (struct hcasim_modify_qp_req){.max_burst_sz = HCASIM_RATE_LIMIT_BURST + 1};
	CHECK_ERR(limit(rate, 5000, &burst, sizeof(burst)), -EINVAL);
	CHECK_ERR(limit(rate, 0, NULL, 0), 0);
	file_close();
	qp_in(HCASIM_QPT_UD, HCASIM_QPS_RTS);
	CHECK_ERR(limit(rate, 5000, NULL, 0), -EINVAL);
	file_close();
}

static void query(void)
{
	struct ib_uverbs_query_qp_resp q;

	qp_in(HCASIM_QPT_RC, HCASIM_QPS_RTS);
	CHECK_ERR(query_qp(&q), 0);
	CU_ASSERT_EQUAL(q.qp_state, HCASIM_QPS_RTS);
	CU_ASSERT_EQUAL(q.cur_qp_state, HCASIM_QPS_RTS);
	CU_ASSERT_EQUAL(q.path_mtu, 3);
	CU_ASSERT_EQUAL(q.dest_qp_num, w.qpn);
	CU_ASSERT_EQUAL(q.rq_psn, 0x10);
	CU_ASSERT_EQUAL(q.sq_psn, 0x20);
	CU_ASSERT_EQUAL(q.timeout, 14);
	CU_ASSERT_EQUAL(q.retry_cnt, 7);
	CU_ASSERT_EQUAL(q.rnr_retry, 7);
	CU_ASSERT_EQUAL(q.min_rnr_timer, 12);
	CU_ASSERT_EQUAL(q.max_rd_atomic, 1);
	CU_ASSERT_EQUAL(q.max_dest_rd_atomic, 1);
	CU_ASSERT_EQUAL(q.port_num, 1);
	CU_ASSERT_EQUAL(q.qp_access_flags, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_REMOTE_WRITE);
	CU_ASSERT_EQUAL(q.max_send_wr, 8);
	CU_ASSERT_EQUAL(q.max_inline_data, 32);
	CU_ASSERT_EQUAL(q.dest.sgid_index, 1);
	CU_ASSERT_EQUAL(q.dest.is_global, 1);
	CU_ASSERT_EQUAL(q.dest.hop_limit, 64); /* the hop limit of the route, not the requested 3 */
	CU_ASSERT_EQUAL(q.dest.dgid[15], 1);
	file_close();
}

void add_state_suite(void)
{
	CU_pSuite s = CU_add_suite("QP states", world_init, world_exit);

	CU_add_test(s, "table: all pairs, each attribute", table);
	CU_add_test(s, "commands: all pairs, each attribute", commands);
	CU_add_test(s, "values of attributes", values);
	CU_add_test(s, "masks", masks);
	CU_add_test(s, "rate limits", rate_limits);
	CU_add_test(s, "query", query);
}
