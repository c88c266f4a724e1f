// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_icrc against icrc_frame() of sim/core/wire.
#include "Vhcasim_icrc.h"
#include "ref.h"
#include "stream.hpp"

// Ethernet header to padding; all but what says where the BTH stands is random.
static Bytes random_frame(Random &random)
{
	const bool v4 = random.chance(50);
	const size_t least = v4 ? 54 : 74;
	Bytes frame(least + 4 * random.below(random.chance(20) ? 1050 : 40));

	random.fill(frame.data(), frame.size());
	frame[12] = v4 ? 0x08 : 0x86;
	frame[13] = v4 ? 0x00 : 0xdd;
	return frame;
}

static Bytes with_icrc(Bytes frame)
{
	uint8_t icrc[4];

	ref_icrc(frame.data(), (uint32_t)frame.size(), icrc);
	frame.insert(frame.end(), icrc, icrc + sizeof(icrc));
	return frame;
}

struct Frame {
	Bytes bytes;
	bool icrc;
};

static unsigned int run(Dut<Vhcasim_icrc> &dut, const std::vector<Frame> &frames, unsigned int in,
			unsigned int out, Collector &got)
{
	std::vector<std::pair<Chunk, bool>> words;
	unsigned int cycles = 0;
	bool held = false;
	size_t at = 0;

	for (const Frame &f : frames)
		for (const Chunk &c : words_of(f.bytes))
			words.push_back({c, f.icrc});
	while (got.packets.size() < frames.size() && cycles < 200000) {
		if (!held) {
			dut->valid_i = at < words.size() && dut.random.chance(in);
			if (dut->valid_i) {
				const Chunk &c = words[at].first;

				to_port(dut->data_i, c.data.data(), c.data.size());
				dut->count_i = (uint8_t)c.data.size();
				dut->last_i = c.last;
				dut->icrc_i = words[at].second;
			}
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

static void any_frames()
{
	for (uint32_t seed = 1; seed <= 12; seed++) {
		Dut<Vhcasim_icrc> dut(seed);
		std::vector<Frame> frames;
		Collector got;

		for (unsigned int i = 0; i < 60; i++)
			frames.push_back({random_frame(dut.random), dut.random.chance(90)});
		run(dut, frames, 100 - 4 * (seed % 10), 60 + 4 * (seed % 10), got);
		CU_ASSERT_EQUAL_FATAL(got.packets.size(), frames.size());
		for (size_t i = 0; i < frames.size(); i++)
			CU_ASSERT_TRUE(got.packets[i] ==
				       (frames[i].icrc ? with_icrc(frames[i].bytes) : frames[i].bytes));
	}
}

// What routers change is not covered: the same ICRC with other values there.
static void variant_fields()
{
	Dut<Vhcasim_icrc> dut(5);
	Bytes frame = random_frame(dut.random), changed = frame;
	Collector got;

	changed[0] ^= 0xff; /* the Ethernet header is not covered */
	changed[15] ^= 0xff;
	if (frame[12] == 0x08)
		changed[22] ^= 0xff;
	else
		changed[21] ^= 0xff;
	run(dut, {{frame, true}, {changed, true}}, 100, 100, got);
	CU_ASSERT_EQUAL_FATAL(got.packets.size(), 2);
	CU_ASSERT_EQUAL(memcmp(&got.packets[0][frame.size()], &got.packets[1][frame.size()], 4), 0);
}

// Frames of 4 KiB payload back to back: a cycle a word, the ICRC included.
static void full_rate()
{
	Dut<Vhcasim_icrc> dut(6);
	std::vector<Frame> frames;
	Collector got;

	for (unsigned int i = 0; i < 10; i++) {
		Bytes frame(74 + 16 + 4096);

		dut.random.fill(frame.data(), frame.size());
		frame[12] = 0x86;
		frame[13] = 0xdd;
		frames.push_back({frame, true});
	}
	CU_ASSERT_TRUE(run(dut, frames, 100, 100, got) <= 10 * words_in(74 + 16 + 4096 + 4));
}

extern const struct test icrc_tests[];
const struct test icrc_tests[] = {
	{"any frames", any_frames},
	{"fields that routers change", variant_fields},
	{"one word a cycle", full_rate},
	{nullptr, nullptr},
};
