// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Multicast groups: which UD QPs a datagram to one comes to. */
#include "fixture.h"

static const uint8_t group[16] = {[10] = 0xff, 0xff, 239, 1, 2, 3};

/* A datagram to the group from `from` comes to the side of these two QPs; which of them have got it, a bit for each. */
static unsigned int copies(struct pair *p, struct fixture_qp *from, struct fixture_qp *qp[2])
{
	const int side = qp[0]->side;
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_SEND, .ud_qpn = 0xffffff, .ud_qkey = 5};
	struct hca_av av = {.hop_limit = 9, .port = 1};
	struct hca_sge sge = fixture_sge(p->mem[from->side], 8, p->key[from->side]),
		       to = fixture_sge(p->mem[side] + 4096, 4096, p->key[side]);
	unsigned int got = 0;
	struct tiny_cqe c;

	memcpy(av.dgid, group, 16);
	untimed_mac(side, 1, av.dmac); /* the untimed wire knows no groups */
	fixture_recv(qp[0], &to, 1);
	fixture_recv(qp[1], &to, 1);
	fixture_put(from, &w, &av, &sge, 1);
	fixture_ring(from);
	fixture_run(p->fixture);
	for (unsigned int i = 0; i < 2; i++)
		while (fixture_poll(qp[i]->rcq, &c))
			got |= 1u << i;
	return got;
}

/* Two UD QPs at one side; the first is the pair's. */
static void two_qps(struct pair *p, int side, struct fixture_qp *qp[2])
{
	pair_new(p, HCASIM_QPT_UD, NULL, NULL, 0, 16384);
	qp[0] = p->qp[side];
	qp[1] = fixture_qp(p->fixture, side, HCASIM_QPT_UD, p->scq[side], fixture_cq(p->fixture, side, 64));
	fixture_ud_up(qp[1], 5);
	fixture_ud_up(p->qp[0], 5);
	fixture_ud_up(p->qp[1], 5);
}

static void members(void)
{
	static const uint8_t other[16] = {[10] = 0xff, 0xff, 239, 1, 2, 4};
	struct fixture_qp *qp[2];
	struct hca *hca;
	struct pair p;

	two_qps(&p, 1, qp);
	hca = p.fixture->hca[1];
	CU_ASSERT_EQUAL(copies(&p, p.qp[0], qp), 0);
	CU_ASSERT_EQUAL(hca_mcast_attach(hca, qp[0]->qpn, group), 0);
	CU_ASSERT_EQUAL(hca_mcast_attach(hca, qp[0]->qpn, group), 0);
	CU_ASSERT_EQUAL(hca_mcast_attach(hca, qp[1]->qpn, other), 0);
	CU_ASSERT_EQUAL(copies(&p, p.qp[0], qp), 1);
	CU_ASSERT_EQUAL(hca_mcast_attach(hca, qp[1]->qpn, group), 0);
	CU_ASSERT_EQUAL(copies(&p, p.qp[0], qp), 3); /* both */
	CU_ASSERT_EQUAL(hca_mcast_detach(hca, qp[0]->qpn, group), 0);
	CU_ASSERT_EQUAL(copies(&p, p.qp[0], qp), 3); /* attached once more */
	CU_ASSERT_EQUAL(hca_mcast_detach(hca, qp[0]->qpn, group), 0);
	CU_ASSERT_EQUAL(hca_mcast_detach(hca, qp[0]->qpn, group), -EINVAL);
	CU_ASSERT_EQUAL(copies(&p, p.qp[0], qp), 2);
	CU_ASSERT_EQUAL(hca_qp_destroy(hca, qp[1]->qpn), 0); /* in both groups */
	CU_ASSERT_EQUAL(hca_mcast_detach(hca, qp[1]->qpn, group), -EINVAL);
	pair_free(&p);
}

/* One that blocks its own datagrams gets those of its neighbour, and of a QP of its number on another adapter. */
static void own_datagrams(void)
{
	struct fixture_qp *qp[2];
	struct pair p;

	fixture_block_self_mcast = true;
	two_qps(&p, 0, qp);
	fixture_block_self_mcast = false;
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(hca_mcast_attach(p.fixture->hca[0], qp[i]->qpn, group), 0);
	CU_ASSERT_EQUAL(p.qp[1]->qpn, qp[0]->qpn);
	CU_ASSERT_EQUAL(copies(&p, qp[0], qp), 2);
	CU_ASSERT_EQUAL(copies(&p, qp[1], qp), 1);
	CU_ASSERT_EQUAL(copies(&p, p.qp[1], qp), 3);
	pair_free(&p);
}

const struct test group_tests[] = {
	{"members", members},
	{"own datagrams", own_datagrams},
	{NULL, NULL},
};
