// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Numbers of QPs: how late one comes back. */
#include "fixture.h"

/* A QP number rolls over while others are in use: theirs stay theirs, and no number comes back at once. */
static void queue_pairs(void)
{
	struct pair p;
	uint32_t qpn, before = 0, again = 0;
	struct hca_qp_attr_create attr = {.type = HCASIM_QPT_RC, .pdn = FIXTURE_PD};

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	attr.send_cqn = attr.recv_cqn = p.scq[0]->cqn;
	for (uint32_t i = 0; i < 3 * NUMBERS_REST; i++) {
		CU_ASSERT_EQUAL_FATAL(hca_qp_create(p.fixture->hca[0], &attr, &qpn), 0);
		if (qpn == p.qp[0]->qpn || qpn == before)
			CU_FAIL_FATAL("a number is in use, or came back at once");
		again += qpn < before;
		before = qpn;
		CU_ASSERT_EQUAL_FATAL(hca_qp_destroy(p.fixture->hca[0], qpn), 0);
	}
	CU_ASSERT_EQUAL(again, 2); /* it did roll over */
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 64, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	pair_free(&p);
}

const struct test number_tests[] = {
	{"queue pairs", queue_pairs},
	{NULL, NULL},
};
