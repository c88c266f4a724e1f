// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_pack: chunks of any lengths against memcpy.
#include "Vhcasim_pack.h"
#include "stream.hpp"

static std::vector<Chunk> random_chunks(Random &random, unsigned int packets, std::vector<Bytes> &expected)
{
	std::vector<Chunk> chunks;

	while (packets--) {
		unsigned int n = 1 + random.below(12);
		Bytes packet;

		while (n--) {
			Bytes data(random.chance(40) ? WORD : random.below(WORD + 1));

			random.fill(data.data(), data.size());
			packet.insert(packet.end(), data.begin(), data.end());
			chunks.push_back({data, !n});
		}
		expected.push_back(packet);
	}
	return chunks;
}

// Returns the cycles it took.
static unsigned int run(Dut<Vhcasim_pack> &dut, const std::vector<Chunk> &chunks, unsigned int in,
			unsigned int out, Collector &got)
{
	size_t at = 0;
	bool held = false;
	unsigned int cycles = 0, ends = 0;

	for (const Chunk &c : chunks)
		ends += c.last;
	while (got.packets.size() < ends && cycles < 100000) {
		if (!held && at < chunks.size()) {
			uint8_t word[WORD];

			dut.random.fill(word, sizeof(word)); /* behind the chunk: anything */
			if (!chunks[at].data.empty())
				memcpy(word, chunks[at].data.data(), chunks[at].data.size());
			to_port(dut->data_i, word, sizeof(word));
			dut->count_i = (uint8_t)chunks[at].data.size();
			dut->last_i = chunks[at].last;
			dut->valid_i = dut.random.chance(in);
		} else if (!held) {
			dut->valid_i = 0;
		}
		dut->ready_i = dut.random.chance(out);
		dut.settle();
		got.take(dut);
		held = dut->valid_i && !dut->ready_o;
		if (dut->valid_i && dut->ready_o)
			at++;
		dut.clock();
		cycles++;
	}
	return cycles;
}

static void any_chunks()
{
	for (uint32_t seed = 1; seed <= 30; seed++) {
		Dut<Vhcasim_pack> dut(seed);
		std::vector<Bytes> expected;
		const auto chunks = random_chunks(dut.random, 40, expected);
		Collector got;

		run(dut, chunks, 30 + 3 * (seed % 20), 100 - 3 * (seed % 20), got);
		CU_ASSERT_TRUE(got.packets == expected);
	}
}

// 4 KiB that begins at an odd address: one word a cycle but for the two ends.
static void full_rate()
{
	Dut<Vhcasim_pack> dut(1);
	constexpr size_t PART = WORD / 2 + 5, WORDS = words_in(4096);
	std::vector<Chunk> chunks = {{Bytes(PART, 1), false}};
	Collector got;

	for (unsigned int i = 0; i < WORDS - 1; i++)
		chunks.push_back({Bytes(WORD, 2), false});
	chunks.push_back({Bytes(WORD - PART, 3), true});
	CU_ASSERT_TRUE(run(dut, chunks, 100, 100, got) <= WORDS + 1);
	CU_ASSERT_EQUAL(got.packets.at(0).size(), 4096);
}

extern const struct test pack_tests[];
const struct test pack_tests[] = {
	{"any chunks", any_chunks},
	{"one word a cycle", full_rate},
	{nullptr, nullptr},
};
