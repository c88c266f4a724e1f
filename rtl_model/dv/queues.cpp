// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_fifo and hcasim_skid: what goes in comes out, in order, once; and at the rate that they promise.
#include <deque>

#include "Vhcasim_fifo.h"
#include "Vhcasim_skid.h"
#include "tb.hpp"

// Random words at random rates against a queue of C++; returns the words that went through.
template <class Model>
static unsigned int run(Dut<Model> &dut, unsigned int cycles, unsigned int in, unsigned int out)
{
	std::deque<uint16_t> expected;
	unsigned int words = 0;
	bool held = false;

	for (unsigned int i = 0; i < cycles; i++) {
		if (!held) {
			dut->valid_i = dut.random.chance(in);
			dut->data_i = (uint16_t)dut.random.u32();
		}
		dut->ready_i = dut.random.chance(out);
		dut.settle();
		if (dut->valid_o && dut->ready_i) {
			CU_ASSERT_FATAL(!expected.empty());
			CU_ASSERT_EQUAL(dut->data_o, expected.front());
			expected.pop_front();
			words++;
		}
		if (dut->valid_i && dut->ready_o)
			expected.push_back(dut->data_i);
		held = dut->valid_i && !dut->ready_o;
		CU_ASSERT_FATAL(expected.size() <= 4);
		dut.clock();
	}
	return words;
}

template <class Model>
static void any_rate()
{
	for (uint32_t seed = 1; seed <= 20; seed++) {
		Dut<Model> dut(seed);

		CU_ASSERT_TRUE(run(dut, 500, 20 + 4 * seed, 100 - 4 * seed) > 30);
	}
}

template <class Model>
static void full_rate()
{
	Dut<Model> dut(1);

	CU_ASSERT_TRUE(run(dut, 1000, 100, 100) >= 999);
}

static void fifo_fills()
{
	Dut<Vhcasim_fifo> dut(1);

	dut->valid_i = 1;
	dut->ready_i = 0;
	for (unsigned int i = 0; i < 6; i++) {
		dut.settle();
		CU_ASSERT_EQUAL(dut->count_o, i < 4 ? i : 4);
		CU_ASSERT_EQUAL(dut->ready_o, i < 4);
		dut.clock();
	}
}

// The skid buffer is there for this: what the consumer says reaches the producer only after an edge.
static void skid_cuts()
{
	Dut<Vhcasim_skid> dut(7);

	for (unsigned int i = 0; i < 1000; i++) {
		dut->valid_i = dut.random.chance(70);
		dut->ready_i = 0;
		dut.settle();
		const bool ready = dut->ready_o, valid = dut->valid_o;
		dut->ready_i = 1;
		dut->valid_i = !dut->valid_i;
		dut.settle();
		CU_ASSERT_EQUAL(dut->ready_o, ready);
		CU_ASSERT_EQUAL(dut->valid_o, valid);
		dut->valid_i = !dut->valid_i;
		dut->ready_i = dut.random.chance(50);
		dut.clock();
	}
}

extern const struct test queue_tests[];
const struct test queue_tests[] = {
	{"fifo at any rate", any_rate<Vhcasim_fifo>},
	{"fifo at one word a cycle", full_rate<Vhcasim_fifo>},
	{"fifo fills", fifo_fills},
	{"skid buffer at any rate", any_rate<Vhcasim_skid>},
	{"skid buffer at one word a cycle", full_rate<Vhcasim_skid>},
	{"skid buffer cuts", skid_cuts},
	{nullptr, nullptr},
};
