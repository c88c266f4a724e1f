// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_arbiter: only requesters get a grant, and nobody waits longer than for one grant of each other.
#include "Vhcasim_arbiter.h"
#include "tb.hpp"

static constexpr unsigned int NUM = 64;

static void bounded_wait()
{
	for (uint32_t seed = 1; seed <= 20; seed++) {
		Dut<Vhcasim_arbiter> dut(seed);
		unsigned int waited[NUM] = {};
		uint64_t req = 0;

		for (unsigned int i = 0; i < 3000; i++) {
			req |= dut.random.u64() & dut.random.u64() & (seed % 2 ? dut.random.u64() : ~0ull);
			dut->req_i = req;
			dut->ready_i = dut.random.chance(80);
			dut.settle();
			CU_ASSERT_EQUAL(dut->valid_o, req != 0);
			if (dut->valid_o && dut->ready_i) {
				CU_ASSERT_FATAL(req >> dut->index_o & 1);
				for (unsigned int q = 0; q < NUM; q++)
					waited[q] = req >> q & 1 && q != dut->index_o ? waited[q] + 1 : 0;
				for (unsigned int q = 0; q < NUM; q++)
					CU_ASSERT_FATAL(waited[q] < NUM);
				if (dut.random.chance(60))
					req &= ~(1ull << dut->index_o);
			}
			dut.clock();
		}
	}
}

// All active: equal shares, to the grant.
static void equal_shares()
{
	Dut<Vhcasim_arbiter> dut(3);
	unsigned int grants[NUM] = {};

	dut->req_i = ~0ull;
	dut->ready_i = 1;
	for (unsigned int i = 0; i < 10 * NUM; i++) {
		dut.settle();
		grants[dut->index_o]++;
		dut.clock();
	}
	for (unsigned int n : grants)
		CU_ASSERT_EQUAL(n, 10);
}

extern const struct test arbiter_tests[];
const struct test arbiter_tests[] = {
	{"bounded wait", bounded_wait},
	{"equal shares", equal_shares},
	{nullptr, nullptr},
};
