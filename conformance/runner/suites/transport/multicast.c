/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Datagrams to multicast groups: each attached QP gets a copy of those that are for it, and no other QP. */
#include <errno.h>
#include <string.h>

#include "judge/watchdog.h"
#include "suites/transport/packet_qp.h"

#define BYTES   28
#define MEMBER  4096     /* offset of the second member's receives */
#define ANY_QP  0xffffff /* destination QP of a datagram to a group (IBTA 9.6.1.2.1) */
#define TO_ETH  6
#define TO_IPV4 16
#define TO_IPV6 24

/* A second QP, with its own CQ. */
struct member {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	unsigned int next, used; /* receives */
};

struct groups {
	struct packet_qp t;
	struct member m;
	union ibv_gid gid, other;
};

static void choose_groups(struct groups *g)
{
	static const uint8_t v6[] = {0xff, 0x0e, [12] = 0x9a, 0x21, 0x43, 0x65};
	static const uint8_t v4[] = {[10] = 0xff, 0xff, 239, 0x21, 0x43, 0x65};

	memcpy(g->gid.raw, g->t.port.v4 ? v4 : v6, sizeof(v6));
	g->other = g->gid;
	g->other.raw[15] ^= 0x80;
}

static bool create_member(struct groups *g)
{
	const struct end *end = &g->t.k->r->dut.responder;
	struct ibv_qp_init_attr init = {.cap = {1, PQP_DEPTH, 1, 1, 0}, .qp_type = IBV_QPT_UD};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = end->port, .qkey = PQP_QKEY};

	g->m.cq = init.send_cq = init.recv_cq = ibv_create_cq(end->ctx, PQP_DEPTH, NULL, NULL, 0);
	g->m.qp = g->m.cq ? ibv_create_qp(g->t.pd[PQP_PDS - 1], &init) : NULL;
	if (!g->m.qp ||
	    ibv_modify_qp(g->m.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		return false;
	attr.qp_state = IBV_QPS_RTR;
	return !ibv_modify_qp(g->m.qp, &attr, IBV_QP_STATE);
}

static uint8_t *member_slot(struct groups *g, unsigned int i)
{
	return g->t.mem + MEMBER + (size_t)(i % PQP_DEPTH) * 128;
}

static bool receive(struct groups *g)
{
	struct ibv_sge sge = {(uintptr_t)member_slot(g, g->m.next), HCASIM_GRH_SIZE + BYTES, g->t.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = g->m.next++, .sg_list = &sge, .num_sge = 1}, *bad;

	return pqp_receive(&g->t, HCASIM_GRH_SIZE + BYTES) && !ibv_post_recv(g->m.qp, &wr, &bad);
}

/* What is wrong with a datagram; bits to be inverted. */
struct flaw {
	const char *what;
	uint32_t dqpn, qkey;
	uint16_t pkey;
	uint8_t opcode;
	bool other_group;
};

static bool send(struct groups *g, const struct flaw *flaw)
{
	struct packet p = pqp_packet(&g->t, HCASIM_BTH_CODE_SEND_ONLY, BYTES);
	const uint8_t *to = flaw->other_group ? g->other.raw : g->gid.raw;
	struct frame f;

	p.dqpn = flaw->dqpn;
	p.qkey ^= flaw->qkey;
	f = port_frame(&g->t.port, &p);
	f.at[f.bth] ^= flaw->opcode;
	f.at[f.bth + 2] ^= flaw->pkey >> 8;
	f.at[f.bth + 3] ^= flaw->pkey & 0xff;
	if (g->t.port.v4) {
		memcpy(f.at, (uint8_t[]){0x01, 0x00, 0x5e, to[13] & 0x7f, to[14], to[15]}, TO_ETH);
		memcpy(f.at + f.ip + TO_IPV4, to + 12, 4);
	} else {
		memcpy(f.at, (uint8_t[]){0x33, 0x33, to[12], to[13], to[14], to[15]}, TO_ETH);
		memcpy(f.at + f.ip + TO_IPV6, to, 16);
	}
	port_seal(&g->t.port, &f);
	return port_put(&g->t.port, &f);
}

static bool first_has(struct groups *g)
{
	uint8_t *slot = pqp_slot(&g->t) + HCASIM_GRH_SIZE;
	struct ibv_wc wc;

	if (!pqp_received(&g->t, IBV_WC_SUCCESS, BYTES, &wc))
		return false;
	end_sync();
	if (memcmp(g->t.mem + (slot - g->t.want), g->t.data, BYTES))
		KIT_FAULT(g->t.k, "the first member has the bytes of another datagram");
	return KIT_GOOD(g->t.k);
}

static bool second_has(struct groups *g)
{
	struct watchdog w = watchdog(g->t.k->r->dut.timeout_ms);
	struct ibv_wc wc;
	int ret;

	do
		ret = ibv_poll_cq(g->m.cq, 1, &wc);
	while (!ret && !watchdog_expired(&w) && !remote_broken());
	end_sync();
	if (ret != 1 || wc.status || wc.wr_id != g->m.used || wc.src_qp != g->t.port.qp->qp_num)
		KIT_FAULT(g->t.k, "the second member does not receive a datagram to the group");
	else if (memcmp(member_slot(g, g->m.used++) + HCASIM_GRH_SIZE, g->t.data, BYTES))
		KIT_FAULT(g->t.k, "the second member has the bytes of another datagram");
	return KIT_GOOD(g->t.k);
}

static bool second_has_none(struct groups *g)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(g->m.cq, 1, &wc))
		KIT_FAULT(g->t.k, "a QP that is no member receives a datagram to the group");
	return KIT_GOOD(g->t.k);
}

static const struct flaw none = {.dqpn = ANY_QP}, limited = {.dqpn = ANY_QP, .pkey = 0x8000};

/* None of them has an effect: the next datagram is received next. */
static bool drop_flawed(struct groups *g)
{
	const struct flaw all[] = {
		{.what = "a member's QP number", .dqpn = g->t.qp->qp_num},
		{.what = "another QP number", .dqpn = 0xfffffe},
		{.what = "P_Key, low bit", .dqpn = ANY_QP, .pkey = 0x0001},
		{.what = "P_Key, bit 14", .dqpn = ANY_QP, .pkey = 0x4000},
		{.what = "Q_Key", .dqpn = ANY_QP, .qkey = 0x80000000},
		{.what = "transport RC", .dqpn = ANY_QP, .opcode = 0x60},
		{.what = "transport UC", .dqpn = ANY_QP, .opcode = 0x40},
		{.what = "another group", .dqpn = ANY_QP, .other_group = true},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!send(g, &all[i]))
			return false;
	return true;
}

static bool attach(struct groups *g, struct ibv_qp *qp, bool in)
{
	int ret = in ? ibv_attach_mcast(qp, &g->gid, 0) : ibv_detach_mcast(qp, &g->gid, 0);

	return KIT_MUST(g->t.k, !ret, "%s failed with %s", in ? "ibv_attach_mcast" : "ibv_detach_mcast",
			errno_name(ret));
}

/* What was sent to the group has come, or been dropped, once a later datagram to the QP itself has come. */
static bool settled(struct groups *g)
{
	struct packet p;

	if (!pqp_receive(&g->t, HCASIM_GRH_SIZE + BYTES))
		return false;
	p = pqp_packet(&g->t, HCASIM_BTH_CODE_SEND_ONLY, BYTES);
	return pqp_send(&g->t, &p) && first_has(g);
}

/* No member, one, two, one that leaves, one that no longer receives. */
static void members(struct groups *g)
{
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp *first = g->t.qp, *second = g->m.qp;
	bool good = true;

	for (int i = 0; i < 4; i++)
		good = good && receive(g);
	if (!good || !send(g, &none) || !settled(g) || !attach(g, first, true) || !attach(g, first, true))
		return; /* twice, for one copy */
	good = send(g, &none) && first_has(g) && second_has_none(g) && attach(g, second, true) &&
	       drop_flawed(g) && send(g, &limited) && first_has(g) && second_has(g);
	good = attach(g, second, false) && good && send(g, &none) && first_has(g) && second_has_none(g) &&
	       attach(g, second, true) && !ibv_modify_qp(second, &error, IBV_QP_STATE) && send(g, &none) &&
	       first_has(g) && attach(g, second, false);
	while (!ibv_detach_mcast(first, &g->gid, 0))
		;
	if (!good && KIT_GOOD(g->t.k))
		KIT_FAULT(g->t.k, "a receive or a change of the state was refused");
}

static void packet_multicast(struct kit *k)
{
	const struct end *end = &k->r->dut.responder;
	static struct groups g;

	memset(&g, 0, sizeof(g));
	if (remote_is(end->ctx) || !end->attr.max_mcast_grp) {
		seen(k->res,
		     remote_is(end->ctx) ? "the peer process attaches no QPs to groups; " : "no multicast; ");
		return;
	}
	if (pqp_open(k, &g.t)) {
		choose_groups(&g);
		if (create_member(&g))
			members(&g);
		else
			KIT_FAULT(k, "the second QP: %s", errno_name(errno));
	}
}

SCENARIO(packet_multicast) = {
	{"multicast", SUITE("packet"), QPS("UD"), FORMS({""}, {"-ipv4", {{"ipv4", 1}}}),
	 CLAUSE("ibv_attach_mcast/DESCRIPTION/attach"), ALSO("ibv_attach_mcast/NOTES/single"),
	 LEVEL("SHOULD"), ERRATA("MULTICAST-COPY"), NEEDS("operations/RAW_PACKET operations/UC"),
	 SAYS("each QP that is attached to a group gets a copy of each datagram to it that has the "
	      "right P_Key, Q_Key and destination QP number, and a single one, until it is detached; "
	      "no other QP does")},
	{},
};
