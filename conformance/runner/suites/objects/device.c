/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a device and its ports say of themselves: plausible, coherent, and the same by every call. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "suites/kit.h"

/* A query that must fail; those of librdmacm's age return -1, the others an errno. */
#define MUST_FAIL(k, call) KIT_CHECK(k, (call), "%s succeeded, must fail", #call)
#define AT_LEAST(k, attr, member, least)                                                                     \
	KIT_CHECK(k, (attr)->member >= (least), "%s is %lld, expected %lld at least", #member,               \
		  (long long)(attr)->member, (long long)(least))

static void check_identity(struct kit *k, const struct ibv_device_attr *a)
{
	struct ibv_device *device = k->r->dut.requester.ctx->device;
	const size_t len = strnlen(a->fw_ver, sizeof(a->fw_ver));

	KIT_CHECK(k, len && len < sizeof(a->fw_ver), "fw_ver is no string");
	for (size_t i = 0; i < len; i++)
		KIT_CHECK(k, isalnum((unsigned char)a->fw_ver[i]) || strchr(".-_ ", a->fw_ver[i]),
			  "fw_ver '%s' has an odd character", a->fw_ver);
	KIT_CHECK(k, a->node_guid && a->node_guid == ibv_get_device_guid(device),
		  "node_guid is not that of ibv_get_device_guid()");
	KIT_CHECK(k, a->sys_image_guid, "sys_image_guid is 0");
}

static void check_limits(struct kit *k, const struct ibv_device_attr *a)
{
	const long page = sysconf(_SC_PAGESIZE);

	AT_LEAST(k, a, max_mr_size, (uint64_t)page);
	KIT_CHECK(k, a->page_size_cap & (uint64_t)page,
		  "page_size_cap 0x%llx has not the page size of the host",
		  (unsigned long long)a->page_size_cap);
	AT_LEAST(k, a, max_qp, 2);
	AT_LEAST(k, a, max_qp_wr, 1);
	AT_LEAST(k, a, max_sge, 1);
	AT_LEAST(k, a, max_sge_rd, 1);
	AT_LEAST(k, a, max_cq, 1);
	AT_LEAST(k, a, max_cqe, a->max_qp_wr);
	AT_LEAST(k, a, max_mr, 1);
	AT_LEAST(k, a, max_pd, 1);
	AT_LEAST(k, a, max_ah, 1);
	AT_LEAST(k, a, max_pkeys, 1);
	AT_LEAST(k, a, phys_port_cnt, 1);
	AT_LEAST(k, a, max_res_rd_atom, a->max_qp_rd_atom);
	KIT_CHECK(k, a->local_ca_ack_delay < 32, "local_ca_ack_delay has five bits");
	KIT_CHECK(k, a->atomic_cap <= IBV_ATOMIC_GLOB, "atomic_cap %d", a->atomic_cap);
	KIT_CHECK(k, !a->max_srq == !a->max_srq_wr && !a->max_srq == !a->max_srq_sge,
		  "max_srq %d, max_srq_wr %d, max_srq_sge %d: some are 0", a->max_srq, a->max_srq_wr,
		  a->max_srq_sge);
	KIT_CHECK(k, !(a->device_cap_flags & (IBV_DEVICE_XRC | IBV_DEVICE_SRQ_RESIZE)) || a->max_srq,
		  "XRC or SRQ_RESIZE without SRQs");
	KIT_CHECK(k, !(a->device_cap_flags & IBV_DEVICE_MEM_WINDOW) || a->max_mw,
		  "MEM_WINDOW without windows");
	KIT_CHECK(k, !a->max_mcast_grp || (a->max_mcast_qp_attach && a->max_total_mcast_qp_attach),
		  "multicast groups to which no QP can be attached");
}

static void check_extended(struct kit *k, const struct ibv_device_attr_ex *ex)
{
	const struct ibv_device_attr *a = &ex->orig_attr;
	const struct ibv_packet_pacing_caps *pace = &ex->packet_pacing_caps;

	KIT_CHECK(k, (uint32_t)ex->device_cap_flags_ex == a->device_cap_flags,
		  "device_cap_flags_ex 0x%llx has other flags than device_cap_flags 0x%x",
		  (unsigned long long)ex->device_cap_flags_ex, a->device_cap_flags);
	KIT_CHECK(k, !ex->phys_port_cnt_ex || ex->phys_port_cnt_ex == a->phys_port_cnt,
		  "phys_port_cnt_ex %u, phys_port_cnt %u", ex->phys_port_cnt_ex, a->phys_port_cnt);
	KIT_CHECK(k, !ex->completion_timestamp_mask || ex->hca_core_clock, "timestamps without a clock");
	KIT_CHECK(k, !ex->tso_caps.max_tso == !ex->tso_caps.supported_qpts,
		  "max_tso %u with supported_qpts 0x%x", ex->tso_caps.max_tso, ex->tso_caps.supported_qpts);
	KIT_CHECK(k,
		  !pace->supported_qpts == !pace->qp_rate_limit_max &&
			  pace->qp_rate_limit_min <= pace->qp_rate_limit_max,
		  "pacing of 0x%x: from %u to %u kbps", pace->supported_qpts, pace->qp_rate_limit_min,
		  pace->qp_rate_limit_max);
}

/* A program of an older verbs.h has a shorter structure. */
static void check_shorter(struct kit *k, const struct ibv_device_attr_ex *whole, size_t size)
{
	struct verbs_context *ctx = verbs_get_ctx(k->r->dut.requester.ctx);
	uint8_t bytes[sizeof(*whole)];
	int ret;

	memset(bytes, 0xa5, sizeof(bytes));
	ret = ctx->query_device_ex(&ctx->context, NULL, (struct ibv_device_attr_ex *)bytes, size);
	KIT_CHECK(k, !ret, "ibv_query_device_ex with %zu bytes failed with %s", size, errno_name(ret));
	KIT_CHECK(k,
		  !memcmp(bytes, whole, offsetof(struct ibv_device_attr, fw_ver) + 8) &&
			  !memcmp(bytes + sizeof(whole->orig_attr),
				  (uint8_t *)whole + sizeof(whole->orig_attr),
				  size - sizeof(whole->orig_attr)),
		  "ibv_query_device_ex with %zu bytes says something else", size);
	for (size_t i = size; i < sizeof(bytes); i++)
		KIT_CHECK(k, bytes[i] == 0xa5, "ibv_query_device_ex with %zu bytes wrote byte %zu", size, i);
}

static void device(struct kit *k)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_query_device_ex_input input = {.comp_mask = 1};
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr plain;
	int ret;

	memset(&ex, 0, sizeof(ex));
	memset(&plain, 0, sizeof(plain));
	ret = ibv_query_device(ctx, &plain);
	KIT_CHECK(k, !ret, "ibv_query_device failed with %s", errno_name(ret));
	ret = ibv_query_device_ex(ctx, NULL, &ex);
	KIT_CHECK(k, !ret, "ibv_query_device_ex failed with %s", errno_name(ret));
	KIT_CHECK(k,
		  !strcmp(ex.orig_attr.fw_ver, plain.fw_ver) &&
			  !memcmp(&ex.orig_attr.node_guid, &plain.node_guid,
				  sizeof(plain) - offsetof(struct ibv_device_attr, node_guid)),
		  "ibv_query_device and ibv_query_device_ex disagree");
	MUST_FAIL(k, ibv_query_device_ex(ctx, &input, &ex) > 0);
	check_identity(k, &plain);
	check_limits(k, &plain);
	check_extended(k, &ex);
	check_shorter(k, &ex, offsetof(struct ibv_device_attr_ex, tso_caps));
	check_shorter(k, &ex, offsetof(struct ibv_device_attr_ex, rss_caps));
	check_shorter(k, &ex, offsetof(struct ibv_device_attr_ex, packet_pacing_caps));
	check_shorter(k, &ex, offsetof(struct ibv_device_attr_ex, raw_packet_caps));
}

SCENARIO(device) = {
	{"device", SUITE("objects"), QPS("RC"), CLAUSE("ibv_query_device/RETURN-VALUE"),
	 SAYS("both queries agree, limits are plausible and agree with the flags, a caller with a "
	      "shorter structure gets no more")},
	{},
};

static void check_port(struct kit *k, uint8_t number)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_port_attr p;
	int ret = ibv_query_port(ctx, number, &p);

	KIT_CHECK(k, !ret, "ibv_query_port of port %u failed with %s", number, errno_name(ret));
	KIT_CHECK(k, p.state <= IBV_PORT_ACTIVE_DEFER, "port %u: state %d", number, p.state);
	KIT_CHECK(k,
		  p.max_mtu >= IBV_MTU_256 && p.max_mtu <= IBV_MTU_4096 && p.active_mtu >= IBV_MTU_256 &&
			  p.active_mtu <= p.max_mtu,
		  "port %u: active_mtu %d, max_mtu %d", number, p.active_mtu, p.max_mtu);
	AT_LEAST(k, &p, gid_tbl_len, 1);
	AT_LEAST(k, &p, pkey_tbl_len, 1);
	AT_LEAST(k, &p, max_msg_sz, 1u << 20);
	AT_LEAST(k, &p, max_vl_num, 1);
	KIT_CHECK(k, p.max_msg_sz <= 1u << 31, "port %u: max_msg_sz %u is beyond 2^31", number, p.max_msg_sz);
	KIT_CHECK(k, p.active_width && !(p.active_width & (p.active_width - 1)), "port %u: active_width %u",
		  number, p.active_width);
	KIT_CHECK(k, p.active_speed, "port %u: active_speed 0", number);
	KIT_CHECK(k, p.link_layer == IBV_LINK_LAYER_ETHERNET || p.link_layer == IBV_LINK_LAYER_INFINIBAND,
		  "port %u: link_layer %u", number, p.link_layer);
	KIT_CHECK(k, p.link_layer != IBV_LINK_LAYER_ETHERNET || !p.lid, "port %u: a LID on Ethernet", number);
	if (number != k->r->dut.requester.port)
		return;
	KIT_CHECK(k, p.state == IBV_PORT_ACTIVE && p.phys_state == 5,
		  "port %u carries messages, and its state is %d, phys_state %u", number, p.state,
		  p.phys_state);
}

/* Both queries of an entry agree, and a table has those that hold something. */
static void check_gids(struct kit *k, uint8_t port, int num, const struct ibv_gid_entry *table,
		       ssize_t in_table)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_gid_entry entry;
	union ibv_gid gid;
	ssize_t found = 0;

	for (int i = 0; i < num; i++) {
		const struct ibv_gid_entry *t = NULL;
		int ret = ibv_query_gid_ex(ctx, port, i, &entry, 0);

		for (ssize_t j = 0; j < in_table; j++)
			t = table[j].port_num == port && (int)table[j].gid_index == i ? &table[j] : t;
		KIT_CHECK(k, !ret || ret == ENODATA, "ibv_query_gid_ex of entry %d failed with %s", i,
			  errno_name(ret));
		KIT_CHECK(k, !ret == !!t,
			  "entry %d is in only one of ibv_query_gid_ex and ibv_query_gid_table", i);
		if (ret)
			continue;
		found++;
		KIT_CHECK(k,
			  !memcmp(&entry, t, sizeof(entry)) && entry.port_num == port &&
				  (int)entry.gid_index == i,
			  "entry %d differs in ibv_query_gid_ex and ibv_query_gid_table", i);
		ret = ibv_query_gid(ctx, port, i, &gid);
		KIT_CHECK(k, !ret && !memcmp(&gid, &entry.gid, sizeof(gid)),
			  "ibv_query_gid has another entry %d", i);
		KIT_CHECK(k, entry.gid_type <= IBV_GID_TYPE_ROCE_V2, "entry %d: gid_type %u", i,
			  entry.gid_type);
	}
	KIT_CHECK(k, found, "port %u has no GID", port);
	MUST_FAIL(k, ibv_query_gid(ctx, port, num, &gid) == -1);
	MUST_FAIL(k, ibv_query_gid(ctx, port, -1, &gid) == -1);
	MUST_FAIL(k, ibv_query_gid_ex(ctx, port, num, &entry, 0) > 0);
	MUST_FAIL(k, ibv_query_gid_ex(ctx, port, 0, &entry, 1) > 0);
}

static void check_pkeys(struct kit *k, uint8_t port, int num)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	__be16 pkey = 0;

	for (int i = 0; i < num; i++) {
		int ret = ibv_query_pkey(ctx, port, i, &pkey);

		KIT_CHECK(k, !ret, "ibv_query_pkey of entry %d failed", i);
		if (pkey)
			KIT_CHECK(k, ibv_get_pkey_index(ctx, port, pkey) <= i,
				  "ibv_get_pkey_index does not find entry %d", i);
	}
	MUST_FAIL(k, ibv_query_pkey(ctx, port, num, &pkey) == -1);
	MUST_FAIL(k, ibv_query_pkey(ctx, port, -1, &pkey) == -1);
}

static void ports(struct kit *k)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	const uint8_t num = k->r->dut.requester.attr.phys_port_cnt;
	struct ibv_gid_entry table[512];
	struct ibv_port_attr p;
	ssize_t in_table = ibv_query_gid_table(ctx, table, sizeof(table) / sizeof(table[0]), 0);

	KIT_CHECK(k, in_table > 0, "ibv_query_gid_table returned %zd", in_table);
	MUST_FAIL(k, ibv_query_gid_table(ctx, table, sizeof(table) / sizeof(table[0]), 1) < 0);
	for (unsigned int i = 1; i <= num && KIT_GOOD(k); i++) {
		check_port(k, (uint8_t)i);
		if (!KIT_GOOD(k) || ibv_query_port(ctx, (uint8_t)i, &p) || p.state != IBV_PORT_ACTIVE)
			continue;
		check_gids(k, (uint8_t)i, p.gid_tbl_len, table, in_table);
		check_pkeys(k, (uint8_t)i, p.pkey_tbl_len);
	}
	MUST_FAIL(k, ibv_query_port(ctx, 0, &p) > 0);
	MUST_FAIL(k, ibv_query_port(ctx, num + 1, &p) > 0);
	MUST_FAIL(k, ibv_query_port(ctx, 255, &p) > 0);
}

SCENARIO(ports) = {
	{"ports", SUITE("objects"), QPS("RC"), CLAUSE("ibv_query_gid/RETURN-VALUE"),
	 SAYS("ports, GIDs and P_Keys: each query agrees with the others; what is not there fails as "
	      "its page says")},
	{},
};

/* The raw clock runs, and only it is reported. */
static void clock_values(struct kit *k)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_values_ex v = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK}, later = v, none = {0}, odd = {0};
	int ret;

	if (!k->r->dut.requester.clock_khz) {
		seen(k->res, "no clock; ");
		return;
	}
	v.raw_clock.tv_sec = 3; /* what the caller had there does not count */
	ret = ibv_query_rt_values_ex(ctx, &v);
	KIT_CHECK(k, !ret, "ibv_query_rt_values_ex failed with %s", errno_name(ret));
	KIT_CHECK(k, v.comp_mask == IBV_VALUES_MASK_RAW_CLOCK, "comp_mask 0x%x", v.comp_mask);
	for (int i = 0; i < 1000; i++)
		KIT_CHECK(k, !ibv_query_rt_values_ex(ctx, &later),
			  "the second ibv_query_rt_values_ex failed");
	KIT_CHECK(k,
		  later.raw_clock.tv_sec == v.raw_clock.tv_sec ? later.raw_clock.tv_nsec > v.raw_clock.tv_nsec
							       : later.raw_clock.tv_sec > v.raw_clock.tv_sec,
		  "the raw clock stands, or runs backwards");
	memset(&none.raw_clock, 0xa5, sizeof(none.raw_clock));
	odd = none;
	KIT_CHECK(k,
		  !ibv_query_rt_values_ex(ctx, &none) && !none.comp_mask &&
			  !memcmp(&none.raw_clock, &odd.raw_clock, sizeof(odd.raw_clock)),
		  "a query of no value reports one");
	odd.comp_mask = 1u << 30;
	MUST_FAIL(k, ibv_query_rt_values_ex(ctx, &odd) > 0 || !odd.comp_mask);
}

SCENARIO(clock_values) = {
	{"clock", SUITE("objects"), QPS("RC"), CLAUSE("ibv_query_rt_values_ex/RETURN-VALUE"),
	 SAYS("the raw clock runs; a value that was not asked for is not written, one that is unknown "
	      "is refused or not reported")},
	{},
};

static void device_counters(struct kit *k)
{
	struct ibv_counters_init_attr init = {0};
	struct ibv_counters *counters;

	errno = 0;
	counters = ibv_create_counters(k->r->dut.requester.ctx, &init);
	log_call(&k->res->log, "/* ibv_create_counters(ctx, &init) */");
	KIT_CHECK(k, counters || errno == EOPNOTSUPP || errno == EPROTONOSUPPORT,
		  "ibv_create_counters failed with %s", errno_name(errno));
	if (counters)
		ibv_destroy_counters(counters);
}

SCENARIO(device_counters) = {
	{"counters", SUITE("objects"), QPS("RC"), CLAUSE("ibv_create_counters/ERRORS/EOPNOTSUPP"),
	 ERRATA("COUNTERS-KERNEL"),
	 SAYS("counters are created, or errno is EOPNOTSUPP or, of a kernel without them, EPROTONOSUPPORT")},
	{},
};

/* Each event has a string of its own. */
static void strings(struct kit *k)
{
	const char *none = ibv_event_type_str(IBV_EVENT_WQ_FATAL + 1000);

	for (int type = IBV_EVENT_CQ_ERR; type <= IBV_EVENT_WQ_FATAL; type++) {
		const char *text = ibv_event_type_str(type);

		KIT_CHECK(k, text && strcmp(text, none), "event %d has no string", type);
		for (int other = IBV_EVENT_CQ_ERR; other < type; other++)
			KIT_CHECK(k, strcmp(text, ibv_event_type_str(other)),
				  "events %d and %d have the same string", other, type);
	}
}

SCENARIO(strings) = {
	{"strings", SUITE("objects"), QPS("RC"), CLAUSE("ibv_event_type_str/RETURN-VALUE"),
	 SAYS("each asynchronous event has a string of its own")},
	{},
};
