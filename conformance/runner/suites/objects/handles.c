/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Address handles, flows, multicast groups and rate limits: what is refused, and what a datagram carries. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "link/link_modify.h"
#include "suites/objects/own.h"

static void no_handle(struct kit *k, struct ibv_ah_attr av, const char *what)
{
	struct ibv_ah *ah;

	errno = 0;
	ah = ibv_create_ah(k->r->dut.requester.pd, &av);
	if (ah)
		ibv_destroy_ah(ah);
	KIT_CHECK(k, !ah && errno > 0, "ibv_create_ah with %s: %s", what, ah ? "succeeded" : "no errno");
	k->res->err = errno;
}

/* Traffic class, flow label and hop limit of the header before a datagram (IPv6 alone has all of them). */
static void judge_header(struct kit *k, const uint8_t *grh, const struct ibv_global_route *want)
{
	const unsigned int tclass = (grh[0] & 15u) << 4 | grh[1] >> 4;
	const unsigned int label = (grh[1] & 15u) << 16 | (unsigned int)grh[2] << 8 | grh[3];

	KIT_CHECK(k, grh[0] >> 4 == 6, "the header before the datagram is not of version 6");
	KIT_CHECK(k, tclass == want->traffic_class, "traffic_class 0x%x arrived, expected 0x%x", tclass,
		  want->traffic_class);
	KIT_CHECK(k, label == want->flow_label, "flow_label 0x%x arrived, expected 0x%x", label,
		  want->flow_label);
	KIT_CHECK(k, grh[7] == want->hop_limit, "hop_limit %u arrived, expected %u", grh[7], want->hop_limit);
	KIT_CHECK(k, !memcmp(grh + 24, &want->dgid, 16), "dgid is not that of the address handle");
}

/* A datagram of the QP to itself. */
static void send_to_itself(struct kit *k, struct own *o, const struct ibv_ah_attr *av, uint8_t *bytes,
			   struct ibv_mr *mr)
{
	struct ibv_ah *ah = ibv_create_ah(k->r->dut.requester.pd, (struct ibv_ah_attr *)av);
	struct ibv_sge out = {(uintptr_t)bytes + 1024, 32, mr->lkey}, in = {(uintptr_t)bytes, 256, mr->lkey};
	struct ibv_recv_wr recv = {.sg_list = &in, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send = kit_wr(1, IBV_WR_SEND, &out), *bad;
	struct ibv_wc wc;

	KIT_CHECK(k, ah, "ibv_create_ah failed with %s", errno_name(errno));
	send.wr.ud.ah = ah;
	send.wr.ud.remote_qpn = o->qp->qp_num;
	send.wr.ud.remote_qkey = o->known.qkey;
	memset(bytes, 0, 256);
	if (ibv_post_recv(o->qp, &recv, &bad_recv) || ibv_post_send(o->qp, &send, &bad))
		KIT_FAULT(k, "a datagram was refused");
	else if (own_wait(k, o, o->send_cq, &wc) && own_wait(k, o, o->recv_cq, &wc) &&
		 !IN6_IS_ADDR_V4MAPPED(&k->r->dut.requester.gid))
		judge_header(k, bytes, &av->grh);
	KIT_CHECK(k, !ibv_destroy_ah(ah), "ibv_destroy_ah failed");
}

static void address_handles(struct kit *k)
{
	const struct end *end = &k->r->dut.requester;
	uint8_t *bytes = end_alloc(end->pd, 4096);
	struct ibv_mr *mr = ibv_reg_mr(end->pd, bytes, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct own o = {.to_itself = true};
	struct ibv_ah_attr av, odd;

	link_address(end, end, &av);
	odd = av;
	odd.port_num = 0;
	no_handle(k, odd, "port 0");
	odd.port_num = end->attr.phys_port_cnt + 1;
	no_handle(k, odd, "a port that is none");
	odd = av;
	odd.grh.sgid_index = 255;
	if (end->port_attr.gid_tbl_len < 256)
		no_handle(k, odd, "an sgid_index that is none");
	odd = av;
	odd.is_global = 0;
	if (end->port_attr.flags & IBV_QPF_GRH_REQUIRED)
		no_handle(k, odd, "is_global 0, although the port has IBV_QPF_GRH_REQUIRED");
	av.grh.traffic_class = 0x68;
	av.grh.flow_label = 0xabcde;
	if (own_create(k, &o, IBV_QPT_UD) && own_reach(k, &o, IBV_QPS_RTS))
		send_to_itself(k, &o, &av, bytes, mr);
	av.grh.traffic_class = 0x94;
	av.grh.flow_label = 0x54321;
	if (KIT_GOOD(k))
		send_to_itself(k, &o, &av, bytes, mr);
}

SCENARIO(address_handles) = {
	{"address-handles", SUITE("objects"), QPS("UD"), CLAUSE("ibv_create_ah/RETURN-VALUE"),
	 LEVEL("SHOULD"),
	 SAYS("a port or GID that is none, and no GRH where the port requires one, are refused; "
	      "traffic class, flow label and hop limit of the handle are those of the header that "
	      "arrives before the datagram")},
	{},
};

struct rule { /* no gap between both: they have the same alignment */
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_eth eth;
};

static struct rule a_rule(const struct kit *k)
{
	struct rule r = {
		.attr = {.size = sizeof(r), .num_of_specs = 1, .port = k->r->dut.requester.port},
		.eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(struct ibv_flow_spec_eth)},
	};

	memset(r.eth.mask.dst_mac, 0xff, 6);
	memcpy(r.eth.val.dst_mac, "\x02\x11\x22\x33\x44\x55", 6);
	return r;
}

static void no_flow(struct kit *k, struct ibv_qp *qp, struct rule rule, const char *what)
{
	struct ibv_flow *flow;

	errno = 0;
	flow = ibv_create_flow(qp, &rule.attr);
	if (flow)
		ibv_destroy_flow(flow);
	KIT_CHECK(k, !flow && errno > 0, "ibv_create_flow with %s: %s", what,
		  flow ? "succeeded" : "no errno");
	k->res->err = errno;
}

#define ODD_RULE(k, qp, what, member, value)                                                                 \
	do {                                                                                                 \
		struct rule odd = a_rule(k);                                                                 \
		odd.member = value;                                                                          \
		no_flow(k, qp, odd, what);                                                                   \
	} while (0)

static void flows(struct kit *k)
{
	struct own raw = {0}, rc = {0};
	struct rule rule = a_rule(k);
	struct ibv_flow *flow;

	if (!own_create(k, &raw, IBV_QPT_RAW_PACKET) || !own_reach(k, &raw, IBV_QPS_RTS) ||
	    !own_create(k, &rc, IBV_QPT_RC))
		return;
	ODD_RULE(k, raw.qp, "a comp_mask", attr.comp_mask, 1);
	ODD_RULE(k, raw.qp, "port 0", attr.port, 0);
	ODD_RULE(k, raw.qp, "a port that is none", attr.port, k->r->dut.requester.attr.phys_port_cnt + 1);
	ODD_RULE(k, raw.qp, "a type that is none", attr.type, 9);
	ODD_RULE(k, raw.qp, "an unknown flag", attr.flags, 1u << 20);
	ODD_RULE(k, raw.qp, "a specification of a type that is none", eth.type, 0xfff);
	no_flow(k, rc.qp, rule, "an RC QP");
	flow = ibv_create_flow(raw.qp, &rule.attr);
	if (!flow)
		KIT_FAULT(k, "ibv_create_flow failed with %s", errno_name(errno));
	else if (ibv_destroy_flow(flow))
		KIT_FAULT(k, "ibv_destroy_flow failed");
}

SCENARIO(flows) = {
	{"flows", SUITE("objects"), QPS("RAW_PACKET"), CLAUSE("ibv_create_flow/ERRORS/EINVAL"),
	 SAYS("a rule with a port, type, flag, member or specification that is none, or of an RC QP, "
	      "is refused")},
	{},
};

static void groups(struct kit *k)
{
	union ibv_gid gid = {.raw = {0xff, 0x0e, [14] = 0x12, [15] = 0x34}}, other = gid;
	struct own o = {0};

	other.raw[15] = 0x35;
	if (!own_create(k, &o, IBV_QPT_UD) || !own_reach(k, &o, IBV_QPS_RTS))
		return;
	if (!k->r->dut.requester.attr.max_mcast_grp) {
		seen(k->res, "no multicast; ");
	} else if (!kit_holds(k, !ibv_attach_mcast(o.qp, &gid, 0))) {
		KIT_FAULT(k, "ibv_attach_mcast failed");
	} else if (ibv_destroy_qp(o.qp) <= 0) {
		o.qp = NULL;
		KIT_FAULT(k, "a QP that is attached to a multicast group was destroyed");
	} else {
		own_judge(k, &o, OWN_EVERY_BIT, "before ibv_destroy_qp failed");
		if (ibv_detach_mcast(o.qp, &other, 0) <= 0)
			KIT_FAULT(k, "ibv_detach_mcast from a group of which the QP is no member succeeded");
		if (ibv_detach_mcast(o.qp, &gid, 0))
			KIT_FAULT(k, "ibv_detach_mcast failed");
	}
	KIT_CHECK(k, !o.qp || !ibv_destroy_qp(o.qp), "ibv_destroy_qp failed after the QP had left its group");
}

SCENARIO(groups) = {
	{"multicast", SUITE("objects"), QPS("UD"), CLAUSE("ibv_create_qp/NOTES/multicast"),
	 SAYS("a QP that is attached to a group is not destroyed and stays as it is; once detached it "
	      "is")},
	{},
};

static void rate_limits(struct kit *k)
{
	struct ibv_device_attr_ex attr = {0};
	const struct ibv_packet_pacing_caps *pace = &attr.packet_pacing_caps;
	struct own o = {0};

	if (ibv_query_device_ex(k->r->dut.requester.ctx, NULL, &attr))
		KIT_FAULT(k, "ibv_query_device_ex failed");
	if (!own_create(k, &o, IBV_QPT_RAW_PACKET) || !own_reach(k, &o, IBV_QPS_RTS))
		return;
	const bool can = pace->supported_qpts & 1u << IBV_QPT_RAW_PACKET;
	const struct {
		struct ibv_qp_rate_limit_attr attr;
		bool good;
	} tries[] = {
		{{.rate_limit = pace->qp_rate_limit_min}, can},
		{{.rate_limit = pace->qp_rate_limit_min + 1}, can}, /* of 0, which removes a limit, 1 */
		{{.rate_limit = pace->qp_rate_limit_max}, can},
		{{.rate_limit = pace->qp_rate_limit_max, .max_burst_sz = 3000, .typical_pkt_sz = 900}, can},
		{{.rate_limit = 0}, can},
		{{.rate_limit = pace->qp_rate_limit_min, .comp_mask = 1}, false},
		{{.rate_limit = pace->qp_rate_limit_min - 1}, pace->qp_rate_limit_min == 1 && can},
		{{.rate_limit = pace->qp_rate_limit_max + 1}, false},
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct ibv_qp_rate_limit_attr limit = tries[i].attr;
		const int ret = ibv_modify_qp_rate_limit(o.qp, &limit);

		if (!kit_holds(k, tries[i].good ? !ret : ret > 0))
			KIT_FAULT(k, "ibv_modify_qp_rate_limit of %u kbps, comp_mask %u: returned %d",
				  limit.rate_limit, limit.comp_mask, ret);
	}
	own_judge(k, &o, OWN_EVERY_BIT, "before the rate limits");
}

SCENARIO(rate_limits) = {
	{"rate-limits", SUITE("objects"), QPS("RAW_PACKET"), CLAUSE("ibv_modify_qp_rate_limit/RETURN-VALUE"),
	 SAYS("limits that the device names are taken, others and unknown members are refused")},
	{},
};
