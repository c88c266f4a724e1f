// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Byte streams, in words: what a module is given, and what it gives.
#ifndef HCASIM_RTL_DV_STREAM_HPP
#define HCASIM_RTL_DV_STREAM_HPP

#include "tb.hpp"

#ifndef RTL_BYTES
#define RTL_BYTES 64
#endif

static constexpr size_t WORD = RTL_BYTES; // of the data path

struct Chunk {
	Bytes data;
	bool last;
};

static constexpr size_t words_in(size_t bytes)
{
	return (bytes + WORD - 1) / WORD;
}

// A packet cut into full words.
static inline std::vector<Chunk> words_of(const Bytes &packet)
{
	std::vector<Chunk> words;

	for (size_t at = 0; at < packet.size(); at += WORD) {
		size_t n = std::min(WORD, packet.size() - at);

		words.push_back({Bytes(packet.begin() + (long)at, packet.begin() + (long)(at + n)),
				 at + n == packet.size()});
	}
	return words;
}

// Takes the words of packets from data_o, count_o, last_o; says what is wrong with them.
class Collector
{
      public:
	template <class Model>
	void take(Model &dut)
	{
		if (!dut->valid_o || !dut->ready_i)
			return;
		CU_ASSERT_FATAL(dut->last_o || dut->count_o == WORD);
		Bytes word = from_port(dut->data_o, WORD);
		for (size_t i = dut->count_o; i < WORD; i++)
			CU_ASSERT_EQUAL(word[i], 0);
		packet_.insert(packet_.end(), word.begin(), word.begin() + dut->count_o);
		if (dut->last_o) {
			packets.push_back(packet_);
			packet_.clear();
		}
	}

	std::vector<Bytes> packets;

      private:
	Bytes packet_;
};

#endif
