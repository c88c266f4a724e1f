// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_qp_list against std::list: the head is the queue pair that is in the list for the longest time.
#include <algorithm>
#include <list>

#include "Vhcasim_qp_list.h"
#include "tb.hpp"

static constexpr unsigned int QPS = 128;

static void clock(Dut<Vhcasim_qp_list> &dut, bool append, bool remove, unsigned int qpn)
{
	dut->append_i = append;
	dut->remove_i = remove;
	dut->qpn_i = (uint8_t)qpn;
	dut.clock();
	dut->append_i = dut->remove_i = 0;
	dut.settle();
}

// Queue pairs get work, and lose it: in their turn, or from any place.
static void random_work()
{
	for (uint32_t i = 0; i < Seeds::count(20); i++) {
		Dut<Vhcasim_qp_list> dut(Seeds::first() + i);
		std::list<unsigned int> expected;

		for (unsigned int n = 0; n < 5000; n++) {
			unsigned int qpn = dut.random.below(QPS);

			if (!expected.empty() && dut.random.chance(20 + i))
				qpn = expected.front();
			const auto at = std::find(expected.begin(), expected.end(), qpn);
			const bool member = at != expected.end(), act = dut.random.chance(80);

			clock(dut, act && !member, act && member, qpn);
			if (act && member)
				expected.erase(at);
			else if (act)
				expected.push_back(qpn);
			CU_ASSERT_EQUAL_FATAL(dut->valid_o, !expected.empty());
			if (dut->valid_o)
				CU_ASSERT_EQUAL_FATAL(dut->head_o, expected.front());
		}
	}
}

// All have work all the time: equal shares, to the turn.
static void equal_shares()
{
	Dut<Vhcasim_qp_list> dut(3);
	unsigned int turns[QPS] = {};

	for (unsigned int qpn = 0; qpn < QPS; qpn++)
		clock(dut, true, false, qpn);
	for (unsigned int i = 0; i < 10 * QPS; i++) {
		const unsigned int qpn = dut->head_o;

		turns[qpn]++;
		clock(dut, false, true, qpn);
		clock(dut, true, false, qpn);
	}
	for (unsigned int n : turns)
		CU_ASSERT_EQUAL(n, 10);
}

extern const struct test list_tests[];
const struct test list_tests[] = {
	{"random work", random_work},
	{"equal shares", equal_shares},
	{nullptr, nullptr},
};
