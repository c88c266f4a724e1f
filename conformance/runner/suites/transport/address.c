/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The fields of an address handle, as the receiver of a datagram sees them in front of its message. */
#include <errno.h>
#include <string.h>

#include "link/link_modify.h"
#include "suites/kit.h"

#define LEN 60

struct fields {
	uint8_t tclass;
	uint32_t flow_label;
	uint8_t hop_limit;
};

static const struct fields all[] = {
	{0, 0, 64}, {0xfc, 0x00001, 255}, {0x10, 0xfffff, 1}, {0x80, 0x80000, 128}, {0x0c, 0x12345, 2},
};

static bool send_with(struct kit *k, const struct ibv_ah_attr *attr, const uint8_t **got)
{
	struct link *l = k->l;
	struct ibv_sge sge = {(uintptr_t)l->local.base, LEN, l->local.mr->lkey};
	struct ibv_send_wr wr = kit_wr(0xad4, IBV_WR_SEND, &sge);
	struct ibv_ah *ah = ibv_create_ah(l->dut->requester.pd, (struct ibv_ah_attr *)attr);
	struct ibv_wc wc;
	int ret = ah ? link_fill_recv(l) : errno;

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = l->peer->qp_num;
	wr.wr.ud.remote_qkey = LINK_QKEY;
	end_push();
	ret = ret ? ret : kit_post(k, l->qp, l->peer, &wr, NULL);
	if (ret)
		KIT_FAULT(k, "ibv_create_ah or posting: %s", errno_name(ret));
	else if (kit_expect(k, l, l->cq, l->qp, 0xad4, IBV_WC_SUCCESS) && kit_wait(k, l, l->peer_cq, &wc)) {
		*got = l->slot[l->next_use++ % LINK_RECV_SLOTS];
		end_sync();
		if (wc.byte_len != LINK_GRH_LEN + LEN || memcmp(*got + LINK_GRH_LEN, l->local.base, LEN))
			KIT_FAULT(k, "the message has changed");
	}
	if (ah)
		ibv_destroy_ah(ah);
	return KIT_GOOD(k) && *got;
}

static void judge_v6(struct kit *k, const uint8_t *ip, const struct fields *f, const union ibv_gid *from,
		     const union ibv_gid *to)
{
	uint32_t word = (uint32_t)ip[0] << 24 | ip[1] << 16 | ip[2] << 8 | ip[3];

	KIT_CHECK(k, word == (6u << 28 | (uint32_t)f->tclass << 20 | f->flow_label),
		  "version, traffic class and flow label 0x%x, expected 0x%x", word,
		  6u << 28 | (uint32_t)f->tclass << 20 | f->flow_label);
	KIT_CHECK(k, !memcmp(ip + 8, from, 16) && !memcmp(ip + 24, to, 16), "the GIDs are others");
}

static void judge_v4(struct kit *k, const uint8_t *ip, const struct fields *f, const union ibv_gid *from,
		     const union ibv_gid *to)
{
	KIT_CHECK(k, ip[0] == 0x45 && ip[1] == f->tclass,
		  "version 0x%x and type of service 0x%x, expected 0x45, 0x%x", ip[0], ip[1], f->tclass);
	KIT_CHECK(k, !memcmp(ip + 12, from->raw + 12, 4) && !memcmp(ip + 16, to->raw + 12, 4),
		  "the addresses are others");
}

static void ah_fields(struct kit *k)
{
	bool v4 = kit_arg(k, "ipv4", 0);
	const struct dut *dut = &k->r->dut;
	union ibv_gid from, to;
	struct ibv_ah_attr attr;
	const uint8_t *got = NULL;
	int index, other, hops, lost = 0;

	if (dut->requester.port_attr.link_layer == IBV_LINK_LAYER_INFINIBAND ||
	    !kit_gid(&dut->requester, v4, &index, &from) || !kit_gid(&dut->responder, v4, &other, &to)) {
		seen(k->res, "the ends have no GID for IPv%d; ", v4 ? 4 : 6);
		return;
	}
	if (!kit_link(k, API_POST, NULL))
		return;
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]) && KIT_GOOD(k); i++) {
		link_address(&dut->requester, &dut->responder, &attr);
		attr.sl = i * 15 / 4; /* the least and the greatest, too */
		attr.static_rate = i;
		attr.grh.dgid = to;
		attr.grh.sgid_index = index;
		attr.grh.traffic_class = all[i].tclass;
		attr.grh.flow_label = all[i].flow_label;
		attr.grh.hop_limit = all[i].hop_limit;
		memset(k->l->local.base, 0x11 + i, LEN);
		if (!send_with(k, &attr, &got))
			return;
		if (v4)
			judge_v4(k, got + 20, &all[i], &from, &to);
		else
			judge_v6(k, got, &all[i], &from, &to);
		if (!kit_arg(k, "hops", 0))
			continue;
		hops = got[v4 ? 28 : 7];
		lost = i ? lost : all[i].hop_limit - hops; /* routers take as much off each */
		KIT_CHECK(k, hops + lost == all[i].hop_limit, "hop limit %d, expected %u less %d", hops,
			  all[i].hop_limit, lost);
	}
}

SCENARIO(ah_fields) = {
	{"address", SUITE("datagram"), QPS("UD"), POSTS("SEND 64"),
	 FORMS({"-ipv6"}, {"-ipv4", {{"ipv4", 1}}}), CLAUSE("ibv_post_recv/NOTES/grh"), ERRATA("GRH-ROCE"),
	 SAYS("traffic class, flow label and GIDs of the address handle are in front of the message "
	      "that arrives")},
	{"hops-ipv4", ARGS({"ipv4", 1}, {"hops", 1}),
	 SAYS("traffic class, GIDs and hop limit of the address handle are in front of the message "
	      "that arrives")},
	{},
};
