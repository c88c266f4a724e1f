/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Multicast groups: who receives a datagram to a group, once, and who does not. */
#include <errno.h>
#include <string.h>

#include "link/link_modify.h"
#include "suites/kit.h"

#define LEN     48
#define MEMBERS 3
#define ALL_QPS 0xffffff /* IBTA 10.5.2.1: the destination QP of a multicast datagram */

struct group {
	struct kit *k;
	union ibv_gid gid[2]; /* the second differs in its last byte */
	int index;            /* of the sender's GID */
	struct link l[MEMBERS];
};

static int attach(struct group *g, unsigned int member, int which)
{
	int ret = ibv_attach_mcast(g->l[member].peer, &g->gid[which], 0);

	log_call(&g->k->res->log, "/* ibv_attach_mcast(QP %u, group %d) */", member, which);
	return ret;
}

static bool detach(struct group *g, unsigned int member, int which)
{
	int ret = ibv_detach_mcast(g->l[member].peer, &g->gid[which], 0);

	log_call(&g->k->res->log, "/* ibv_detach_mcast(QP %u, group %d) */", member, which);
	if (ret)
		KIT_FAULT(g->k, "ibv_detach_mcast failed with %s", errno_name(ret));
	return !ret;
}

/* The member has one receive more, with these bytes. */
static bool arrived(struct group *g, unsigned int member, int which)
{
	struct link *l = &g->l[member];
	const uint8_t *got;
	struct ibv_wc wc;

	if (!kit_wait(g->k, l, l->peer_cq, &wc))
		return false;
	got = l->slot[l->next_use++ % LINK_RECV_SLOTS];
	end_sync();
	if (wc.status || wc.byte_len != LINK_GRH_LEN + LEN || wc.src_qp != g->l[0].qp->qp_num ||
	    !(wc.wc_flags & IBV_WC_GRH))
		KIT_FAULT(g->k, "QP %u: status %d, byte_len %u, src_qp 0x%x, wc_flags 0x%x", member,
			  wc.status, wc.byte_len, wc.src_qp, wc.wc_flags);
	else if (memcmp(got + LINK_GRH_LEN, g->l[0].local.base, LEN))
		KIT_FAULT(g->k, "QP %u received other bytes", member);
	else if (memcmp(got + 24, &g->gid[which], 16))
		KIT_FAULT(g->k, "QP %u: the destination GID is not the group's", member);
	return KIT_GOOD(g->k);
}

/* A datagram to the group arrives once at each of these members, bit by bit, and at no other. */
static void send_to(struct group *g, int which, unsigned int members)
{
	struct link *l = &g->l[0];
	struct ibv_sge sge = {(uintptr_t)l->local.base, LEN, l->local.mr->lkey};
	struct ibv_send_wr wr = kit_wr(0x3ca57, IBV_WR_SEND, &sge);
	struct ibv_ah_attr attr;
	int ret = 0;

	link_address(&g->k->r->dut.requester, &g->k->r->dut.responder, &attr);
	attr.grh.dgid = g->gid[which];
	attr.grh.sgid_index = g->index;
	attr.grh.hop_limit = 2;
	for (unsigned int i = 0; i < MEMBERS && !ret; i++)
		ret = link_fill_recv(&g->l[i]);
	memset(l->local.base, 0x21 + 16 * which + members, LEN);
	wr.wr.ud.ah = ret ? NULL : ibv_create_ah(l->dut->requester.pd, &attr);
	wr.wr.ud.remote_qpn = ALL_QPS;
	wr.wr.ud.remote_qkey = LINK_QKEY;
	KIT_CHECK(g->k, wr.wr.ud.ah, "ibv_create_ah of a group failed with %s", errno_name(errno));
	ret = kit_post(g->k, l->qp, l->peer, &wr, NULL);
	if (ret)
		KIT_FAULT(g->k, "posting was refused with %s", errno_name(ret));
	else
		kit_expect(g->k, l, l->cq, l->qp, wr.wr_id, IBV_WC_SUCCESS);
	ibv_destroy_ah(wr.wr.ud.ah);
	for (unsigned int i = 0; i < MEMBERS && KIT_GOOD(g->k); i++)
		if (members >> i & 1)
			arrived(g, i, which);
	/* Each gets a datagram of its own behind it: a copy too much would be in front of that. */
	for (unsigned int i = 0; i < MEMBERS && KIT_GOOD(g->k); i++) {
		kit_alive(g->k, &g->l[i]);
		kit_expect_none(g->k, &g->l[i], g->l[i].peer_cq);
	}
}

static void members(struct group *g)
{
	int ret = attach(g, 0, 0);

	KIT_CHECK(g->k, !ret, "ibv_attach_mcast failed with %s", errno_name(ret));
	send_to(g, 0, 1);
	if (!KIT_GOOD(g->k) || attach(g, 2, 0) || attach(g, 0, 0) || attach(g, 1, 1)) {
		KIT_FAULT(g->k, "a further ibv_attach_mcast failed");
		return;
	}
	send_to(g, 0, 5); /* attached twice, it receives one copy */
	if (KIT_GOOD(g->k))
		send_to(g, 1, 2);
	if (!KIT_GOOD(g->k) || !detach(g, 2, 0))
		return;
	send_to(g, 0, 1);
	if (KIT_GOOD(g->k) && detach(g, 1, 1))
		send_to(g, 1, 0);
}

/* Leaves all groups, of which a QP may be a member more than once. */
static void leave(struct group *g)
{
	for (unsigned int i = 0; i < MEMBERS; i++)
		for (int which = 0; which < 2 && g->l[i].peer; which++)
			while (!ibv_detach_mcast(g->l[i].peer, &g->gid[which], 0))
				;
}

static void multicast(struct kit *k)
{
	static const union ibv_gid group = {.raw = {0xff, 0x0e, [14] = 0x12, [15] = 0x77}};
	struct group g = {.k = k, .gid = {group, group}};
	union ibv_gid from;
	unsigned int i;

	g.gid[1].raw[15]++;
	if (k->r->dut.remote || !k->r->dut.responder.attr.max_mcast_grp ||
	    !kit_gid(&k->r->dut.requester, false, &g.index, &from)) {
		seen(k->res, "no multicast, no GID for IPv6, or the responder is in another process; ");
		return;
	}
	for (i = 0; i < MEMBERS; i++)
		if (!kit_link_second(k, &g.l[i], API_POST, NULL))
			break;
	if (i == MEMBERS)
		members(&g);
	leave(&g);
	for (i = 0; i < MEMBERS; i++)
		link_destroy(&g.l[i]);
}

/* Other types of QPs cannot be members. */
static void multicast_type(struct kit *k)
{
	static const union ibv_gid group = {.raw = {0xff, 0x0e, [14] = 0x12, [15] = 0x78}};
	int ret;

	if (k->r->dut.remote || !kit_link(k, API_POST, NULL))
		return;
	ret = ibv_attach_mcast(k->l->peer, &group, 0);
	log_call(&k->res->log, "/* ibv_attach_mcast(peer, gid, 0) */");
	k->res->err = ret;
	if (!ret) {
		KIT_FAULT(k, "a QP of this type was attached to a multicast group");
		ibv_detach_mcast(k->l->peer, &group, 0);
	} else {
		kit_alive(k, k->l);
	}
}

const struct scenario multicast_scenarios[] = {
	{"multicast", multicast},
	{"multicast_type", multicast_type},
	{NULL, NULL},
};
