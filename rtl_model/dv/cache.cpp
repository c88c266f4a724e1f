// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_context_cache against a map and a list of what each of its sets has: every load gives what was stored last, and
// memory sees a read for each miss, and a write for each context that changed before it is replaced, and nothing else.
#include <deque>
#include <map>
#include <utility>

#include "Vhcasim_context_cache.h"
#include "guide.hpp"

namespace
{

using Model = Vhcasim_context_cache;
constexpr unsigned int QPS = 64, SETS = 4, WAYS = 2; // the parameters in CMakeLists.txt

struct Contents {
	Bytes attr, state;
	bool operator==(const Contents &other) const
	{
		return attr == other.attr && state == other.state;
	}
};

template <class Port>
Bytes bytes_of(const Port &port)
{
	const auto *p = (const uint8_t *)&port;

	return Bytes(p, p + sizeof(port));
}

template <class Port>
void put(Port &port, const Bytes &value)
{
	memcpy(&port, value.data(), sizeof(port));
}

struct Transaction {
	bool write;
	unsigned int qpn;
	bool operator==(const Transaction &other) const
	{
		return write == other.write && qpn == other.qpn;
	}
};

class Bench
{
      public:
	explicit Bench(uint32_t seed) : dut(seed)
	{
		for (unsigned int qpn = 0; qpn < QPS; qpn++)
			newest_[qpn] = memory_[qpn] = random_contents();
	}

	// One load or store, until its ack. Returns its cycles.
	unsigned int access(unsigned int qpn, bool store, unsigned int latency)
	{
		const auto expected = expect(qpn, store);
		unsigned int cycles = 1;

		seen_.clear();
		dut->valid_i = 1;
		dut->we_i = store;
		dut->qpn_i = (uint8_t)qpn;
		if (store) {
			newest_[qpn] = random_contents();
			put(dut->attr_i, newest_[qpn].attr);
			put(dut->state_i, newest_[qpn].state);
		}
		for (;; cycles++) {
			CU_ASSERT_FATAL(cycles < 1000);
			dut->mem_ack_i = 0;
			dut.settle();
			if (dut->ack_o)
				break;
			memory(latency);
			dut.clock();
		}
		if (!store)
			CU_ASSERT_TRUE_FATAL(
				(Contents{bytes_of(dut->attr_o), bytes_of(dut->state_o)} == newest_[qpn]));
		CU_ASSERT_TRUE_FATAL(seen_ == expected);
		dut.clock();
		dut->valid_i = 0;
		dut.settle();
		CU_ASSERT_FALSE_FATAL(dut->ack_o || dut->mem_valid_o);
		CU_ASSERT_EQUAL_FATAL(dut->hits_o, hits_);
		CU_ASSERT_EQUAL_FATAL(dut->misses_o, misses_);
		return cycles;
	}

	Dut<Model> dut;

      private:
	Contents random_contents()
	{
		Contents c = {bytes_of(dut->mem_attr_o), bytes_of(dut->mem_state_o)};

		// Bits beyond the width of a port stay 0: whole bytes below it.
		c.attr.assign(c.attr.size(), 0);
		c.state.assign(c.state.size(), 0);
		dut.random.fill(c.attr.data(), c.attr.size() - 4);
		dut.random.fill(c.state.data(), c.state.size() - 4);
		return c;
	}

	// What an ideal cache of this kind does.
	std::deque<Transaction> expect(unsigned int qpn, bool store)
	{
		auto &set = sets_[qpn % SETS]; // oldest first
		std::deque<Transaction> out;

		for (auto &entry : set)
			if (entry.first == qpn) {
				entry.second |= store;
				hits_ += !store;
				return out;
			}
		if (set.size() == WAYS) {
			if (set.front().second)
				out.push_back({true, set.front().first});
			set.pop_front();
		}
		set.emplace_back(qpn, store);
		if (!store) {
			out.push_back({false, qpn});
			misses_++;
		}
		return out;
	}

	void memory(unsigned int latency)
	{
		if (!dut->mem_valid_o || dut.random.below(latency + 1))
			return;
		auto &row = memory_[dut->mem_qpn_o];
		seen_.push_back({(bool)dut->mem_we_o, dut->mem_qpn_o});
		if (dut->mem_we_o) {
			row = {bytes_of(dut->mem_attr_o), bytes_of(dut->mem_state_o)};
			CU_ASSERT_TRUE_FATAL(row == newest_[dut->mem_qpn_o]);
		} else {
			put(dut->mem_attr_i, row.attr);
			put(dut->mem_state_i, row.state);
		}
		dut->mem_ack_i = 1;
	}

	std::map<unsigned int, Contents> memory_, newest_;
	std::map<unsigned int, std::deque<std::pair<unsigned int, bool>>> sets_;
	std::deque<Transaction> seen_;
	uint64_t hits_ = 0, misses_ = 0;
};

// More QPs than entries, some of them often.
void random_accesses()
{
	for (uint32_t i = 0; i < Seeds::count(10); i++) {
		Bench bench(Seeds::first() + i);

		for (unsigned int n = 0; n < 2000; n++) {
			const unsigned int qpn =
				bench.dut.random.below(bench.dut.random.chance(70) ? 6 : QPS);

			bench.access(qpn, bench.dut.random.chance(50), i % 4);
		}
	}
}

// As the engine uses it: a load, then a store.
void cycles_of_each()
{
	Bench bench(3);

	CU_ASSERT_EQUAL(bench.access(0, false, 0), 3); // miss: look, read, hit
	CU_ASSERT_EQUAL(bench.access(0, true, 0), 1);
	CU_ASSERT_EQUAL(bench.access(0, false, 0), 1);
	CU_ASSERT_EQUAL(bench.access(SETS, false, 0), 3);
	CU_ASSERT_EQUAL(bench.access(2 * SETS, false, 0), 5); // writes QP 0 first
	CU_ASSERT_EQUAL(bench.access(3 * SETS, false, 0), 3); // QP 4 has not changed
	CU_ASSERT_EQUAL(bench.access(2 * SETS, false, 0), 1);
	CU_ASSERT_EQUAL(bench.access(0, false, 0), 3);
}

// The clock cycles of doc/programming.md: a load that misses and replaces a context that has changed, a store, a load that
// hits.
void waveform()
{
	Waveform wave(
		{"valid_i", "we_i", "qpn_i", "ack_o", "mem_valid_o", "mem_we_o", "mem_qpn_o", "mem_ack_i"});
	Dut<Model> dut(1);
	const auto cycle = [&](bool valid, bool store, unsigned int qpn) {
		dut->valid_i = valid;
		dut->we_i = store;
		dut->qpn_i = (uint8_t)qpn;
		dut->mem_ack_i = 0;
		dut.settle();
		dut->mem_ack_i = dut->mem_valid_o;
		dut.settle();
		wave.cycle({wave.bit(valid), wave.bit(store), wave.digit(valid, qpn), wave.bit(dut->ack_o),
			    wave.bit(dut->mem_valid_o), wave.bit(dut->mem_we_o),
			    wave.digit(dut->mem_valid_o, dut->mem_qpn_o), wave.bit(dut->mem_ack_i)});
		const bool ack = dut->ack_o;
		dut.clock();
		return ack;
	};
	const auto access = [&](bool store, unsigned int qpn) {
		for (unsigned int cycles = 0; !cycle(true, store, qpn); cycles++)
			CU_ASSERT_FATAL(cycles < 10);
	};

	access(true, 1);
	access(true, 5);
	wave.clear();
	cycle(false, false, 0);
	access(false, 9);
	access(true, 9);
	cycle(false, false, 0);
	access(false, 9);
	cycle(false, false, 0);
	wave.check("programming.md");
}

} // namespace

extern const struct test cache_tests[];
const struct test cache_tests[] = {
	{"random accesses", random_accesses},
	{"cycles of each", cycles_of_each},
	{"waveform of the guide", waveform},
	{nullptr, nullptr},
};
