/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Values of attributes at their edges: each is either reported by ibv_query_qp(), or refused and nothing has changed. */
#include <limits.h>

#include "suites/objects/own.h"

#define MOST_EDGES 16

/* Values of one attribute; `wide`: the refusals follow from the width of a field of the IBTA, not from a limit. */
struct edges {
	unsigned int num_good, num_bad;
	uint32_t good[MOST_EDGES], bad[MOST_EDGES];
	bool wide;
};

static void add(struct edges *e, bool good, uint32_t value)
{
	if (good)
		e->good[e->num_good++] = value;
	else
		e->bad[e->num_bad++] = value;
}

static void add_range(struct edges *e, uint32_t first, uint32_t last, uint32_t most)
{
	add(e, true, first);
	if (last > first)
		add(e, true, last);
	if (first)
		add(e, false, first - 1);
	if (last < most)
		add(e, false, last + 1);
	if (last + 1 < most)
		add(e, false, most);
}

/* Both sides of each byte, and the ends. */
static void add_24_bits(struct edges *e, uint32_t first)
{
	static const uint32_t at[] = {0xff, 0x100, 0xffff, 0x10000, 0x7fffff, 0x800000, 0xfffffe};

	add(e, true, first);
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		add(e, true, at[i]);
}

static struct edges edges_of(const struct kit *k, int bit)
{
	const struct end *end = &k->r->dut.requester;
	struct edges e = {.wide = bit & (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					 IBV_QP_MIN_RNR_TIMER | IBV_QP_DEST_QPN)};

	switch (bit) {
	case IBV_QP_TIMEOUT:
	case IBV_QP_MIN_RNR_TIMER:
		add_range(&e, 0, 31, UINT8_MAX);
		add(&e, true, 16);
		break;
	case IBV_QP_RETRY_CNT:
	case IBV_QP_RNR_RETRY:
		add_range(&e, 0, 7, UINT8_MAX);
		add(&e, true, 4);
		break;
	case IBV_QP_MAX_QP_RD_ATOMIC:
		add_range(&e, 0, end->attr.max_qp_init_rd_atom, UINT8_MAX);
		break;
	case IBV_QP_MAX_DEST_RD_ATOMIC:
		add_range(&e, 0, end->attr.max_qp_rd_atom, UINT8_MAX);
		break;
	case IBV_QP_PORT:
		add_range(&e, 1, end->attr.phys_port_cnt, UINT8_MAX);
		break;
	case IBV_QP_PKEY_INDEX:
		add_range(&e, 0, end->port_attr.pkey_tbl_len - 1, UINT16_MAX);
		break;
	case IBV_QP_PATH_MTU:
		add_range(&e, IBV_MTU_256, end->port_attr.active_mtu, INT_MAX);
		break;
	case IBV_QP_ACCESS_FLAGS:
		for (uint32_t i = 0; i < 8; i++)
			add(&e, true, i << 1); /* REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC */
		break;
	case IBV_QP_QKEY:
		add_24_bits(&e, 0);
		add(&e, true, 0x1000000);
		add(&e, true, 0x7fffffff);
		break;
	case IBV_QP_RQ_PSN:
	case IBV_QP_SQ_PSN:
		add_24_bits(&e, 0);
		add(&e, true, 0xffffff);
		break;
	case IBV_QP_DEST_QPN:
		add_24_bits(&e, 2);
		add(&e, false, 0x1000000);
		add(&e, false, UINT32_MAX);
		break;
	default:
		break;
	}
	return e;
}

static bool refused(struct kit *k, struct own *o, struct ibv_qp_attr *attr, int bit, uint32_t value)
{
	int ret = ibv_modify_qp(o->qp, attr, IBV_QP_STATE | own_required(o->qp->qp_type, attr->qp_state));

	k->res->err = ret;
	if (kit_holds(k, ret > 0))
		return own_judge(k, o, OWN_EVERY_BIT, "before a modification that was refused");
	KIT_FAULT(k, "%s %u: ibv_modify_qp to %s returned %d, must be an errno", own_bit(bit), value,
		  own_state(attr->qp_state), ret);
	return false;
}

static bool accepted(struct kit *k, struct own *o, struct ibv_qp_attr *attr, int bit, uint32_t value)
{
	int ret = own_modify(o, attr, IBV_QP_STATE | own_required(o->qp->qp_type, attr->qp_state));

	if (kit_holds(k, !ret))
		return own_judge(k, o, OWN_EVERY_BIT, "as a value at the edge");
	KIT_FAULT(k, "%s %u: ibv_modify_qp to %s failed with %s", own_bit(bit), value,
		  own_state(attr->qp_state), errno_name(ret));
	return false;
}

/* All values of one attribute, on the transition that requires it. */
static bool try_attribute(struct kit *k, struct own *o, enum ibv_qp_state to, int bit)
{
	const struct edges e = edges_of(k, bit);
	const enum ibv_qp_state from = to - 1;
	struct ibv_qp_attr attr = own_values(k, o, 0);

	if (e.wide != kit_arg(k, "wide", 0))
		return true;
	attr.qp_state = to;
	if (!own_reset(k, o) || !own_reach(k, o, from))
		return false;
	for (unsigned int i = 0; i < e.num_bad; i++) {
		own_set(&attr, bit, e.bad[i]);
		if (!refused(k, o, &attr, bit, e.bad[i]))
			return false;
	}
	for (unsigned int i = 0; i < e.num_good; i++) {
		own_set(&attr, bit, e.good[i]);
		if (!accepted(k, o, &attr, bit, e.good[i]) || !own_reset(k, o) || !own_reach(k, o, from))
			return false;
	}
	return true;
}

static void values(struct kit *k)
{
	struct own o = {0};

	if (!own_create(k, &o, kit_arg(k, "type", 0)))
		return;
	for (enum ibv_qp_state to = IBV_QPS_INIT; to <= IBV_QPS_RTS; to++)
		for (int bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1)
			if (bit & own_required(o.qp->qp_type, to) && bit != IBV_QP_AV &&
			    !try_attribute(k, &o, to, bit))
				return;
}

SCENARIO(values) = {
	{"values", SUITE("modify"), QPS("RC"), ARGS({"type", IBV_QPT_RC}),
	 CLAUSE("ibv_modify_qp/NOTES/none-modified"),
	 SAYS("each value at the edge of an attribute is reported by ibv_query_qp; one beyond is "
	      "refused and changes nothing")},
	{"values-of-width", ARGS({"type", IBV_QPT_RC}, {"wide", 1}), LEVEL("SHOULD"), ERRATA("TRANSITIONS")},
	{"values", QPS("UC"), ARGS({"type", IBV_QPT_UC}), LEVEL(""), ERRATA("")},
	{"values-of-width", ARGS({"type", IBV_QPT_UC}, {"wide", 1}), LEVEL("SHOULD"), ERRATA("TRANSITIONS")},
	{"values", QPS("UD"), ARGS({"type", IBV_QPT_UD}), LEVEL(""), ERRATA("")},
	{"values", QPS("RAW_PACKET"), ARGS({"type", IBV_QPT_RAW_PACKET})},
	{"values", QPS("XRC_SEND"), ARGS({"type", IBV_QPT_XRC_SEND})},
	{"values-of-width", ARGS({"type", IBV_QPT_XRC_SEND}, {"wide", 1}), LEVEL("SHOULD"),
	 ERRATA("TRANSITIONS")},
	{"recv-values", ARGS({"type", IBV_QPT_XRC_RECV}), LEVEL(""), ERRATA("")},
	{"recv-values-of-width", ARGS({"type", IBV_QPT_XRC_RECV}, {"wide", 1}), LEVEL("SHOULD"),
	 ERRATA("TRANSITIONS")},
	{},
};

/* One change of an address; `good`: whether it can be reached with it. */
struct change {
	const char *what;
	bool good;
	struct ibv_ah_attr av;
};

static unsigned int changes_of(const struct kit *k, const struct ibv_ah_attr *av, struct change *c)
{
	const struct end *end = &k->r->dut.requester;
	const bool needs_grh = end->port_attr.flags & IBV_QPF_GRH_REQUIRED;
	unsigned int num = 0;

#define CHANGE(text, is_good, member, value)                                                                 \
	do {                                                                                                 \
		c[num] = (struct change){text, is_good, *av};                                                \
		c[num++].av.member = value;                                                                  \
	} while (0)
	CHANGE("traffic_class 0", true, grh.traffic_class, 0);
	CHANGE("traffic_class 255", true, grh.traffic_class, 255);
	CHANGE("flow_label 0", true, grh.flow_label, 0);
	CHANGE("flow_label 1", true, grh.flow_label, 1);
	CHANGE("flow_label 0xfffff", true, grh.flow_label, 0xfffff);
	CHANGE("sl 0", true, sl, 0);
	CHANGE("sl 7", true, sl, 7);
	CHANGE("port_num 0", false, port_num, 0);
	CHANGE("port_num beyond the last", false, port_num, end->attr.phys_port_cnt + 1);
	if (end->port_attr.gid_tbl_len < 256)
		CHANGE("sgid_index beyond the table", false, grh.sgid_index, end->port_attr.gid_tbl_len);
	if (needs_grh)
		CHANGE("is_global 0, although the port has IBV_QPF_GRH_REQUIRED", false, is_global, 0);
#undef CHANGE
	return num;
}

/* Fields of ah_attr. */
static void values_address(struct kit *k)
{
	struct own o = {0};
	struct change c[16];
	struct ibv_qp_attr attr;
	unsigned int num;

	if (!own_create(k, &o, kit_arg(k, "type", 0)))
		return;
	attr = own_values(k, &o, 0);
	attr.qp_state = IBV_QPS_RTR;
	num = changes_of(k, &attr.ah_attr, c);
	for (unsigned int i = 0; i < num; i++) {
		log_call(&k->res->log, "/* ah_attr: %s */", c[i].what);
		attr.ah_attr = c[i].av;
		if (!own_reset(k, &o) || !own_reach(k, &o, IBV_QPS_INIT) ||
		    !(c[i].good ? accepted : refused)(k, &o, &attr, IBV_QP_AV, i))
			break;
	}
}

SCENARIO(values_address) = {
	{"address", SUITE("modify"), QPS("RC"), ARGS({"type", IBV_QPT_RC}),
	 CLAUSE("ibv_modify_qp/NOTES/none-modified"), SAYS("the same with the fields of ah_attr")},
	{"address", QPS("UC"), ARGS({"type", IBV_QPT_UC})},
	{"address", QPS("XRC_SEND"), ARGS({"type", IBV_QPT_XRC_SEND})},
	{"recv-address", ARGS({"type", IBV_QPT_XRC_RECV})},
	{},
};
