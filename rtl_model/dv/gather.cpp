// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_gather against memcpy: pieces anywhere, of any length, over memory that answers when it likes.
#include <deque>

#include "Vhcasim_gather.h"
#include "stream.hpp"

struct Piece {
	uint64_t addr;
	uint16_t length;
	bool last;
	bool bad;   /* its last line cannot be read */
	bool wrong; /* it has no key: nothing is read */
};

// What stands at an address of memory.
static uint8_t byte_at(uint64_t addr)
{
	return (uint8_t)((addr * 0x9e3779b97f4a7c15ull) >> 56);
}

static Bytes bytes_of(uint64_t addr, size_t length)
{
	Bytes bytes(length);

	for (size_t i = 0; i < length; i++)
		bytes[i] = byte_at(addr + i);
	return bytes;
}

struct Line {
	uint64_t addr;
	bool bad;
};

// Host memory: lines in the order of the reads, each when it is due.
class Memory
{
      public:
	Memory(Dut<Vhcasim_gather> &dut, const std::vector<Piece> &pieces, unsigned int ready,
	       unsigned int answers)
	    : dut_(dut), ready_(ready), answers_(answers)
	{
		for (const Piece &p : pieces)
			if (p.length && !p.wrong)
				expected_.push_back(p);
	}
	void drive()
	{
		dut_->read_ready_i = dut_.random.chance(ready_);
		if (!held_)
			dut_->line_valid_i = !lines_.empty() && dut_.random.chance(answers_);
		if (!dut_->line_valid_i)
			return;
		const Bytes line = bytes_of(lines_.front().addr, WORD);
		to_port(dut_->line_data_i, line.data(), WORD);
		dut_->line_error_i = lines_.front().bad;
	}
	void sample()
	{
		held_ = dut_->line_valid_i && !dut_->line_ready_o;
		if (dut_->line_valid_i && dut_->line_ready_o)
			lines_.pop_front();
		if (dut_->read_valid_o && dut_->read_ready_i)
			read();
	}
	bool all_read() const
	{
		return expected_.empty() && lines_.empty();
	}

      private:
	void read()
	{
		CU_ASSERT_FATAL(!expected_.empty());
		const Piece piece = expected_.front();
		const uint64_t first = piece.addr / WORD, last = (piece.addr + piece.length - 1) / WORD;

		expected_.pop_front();
		CU_ASSERT_EQUAL(dut_->read_addr_o, piece.addr);
		CU_ASSERT_EQUAL(dut_->read_lines_o, last - first + 1);
		for (uint64_t line = first; line <= last; line++)
			lines_.push_back({line * WORD, piece.bad && line == last});
	}

	Dut<Vhcasim_gather> &dut_;
	unsigned int ready_, answers_;
	bool held_ = false;
	std::deque<Piece> expected_;
	std::deque<Line> lines_;
};

static std::vector<Piece> random_pieces(Random &random, unsigned int payloads)
{
	std::vector<Piece> pieces;

	while (payloads--) {
		unsigned int n = 1 + random.below(6);

		while (n--) {
			const uint16_t length =
				random.chance(15) ? 0
						  : (uint16_t)random.below(random.chance(80) ? 300 : 4097);

			pieces.push_back({random.u64() >> 4, length, !n, length && random.chance(2),
					  random.chance(2)});
		}
	}
	return pieces;
}

// Returns the cycles it took.
static unsigned int run(Dut<Vhcasim_gather> &dut, const std::vector<Piece> &pieces, Memory &memory,
			unsigned int in, unsigned int out, Collector &got, std::vector<bool> &errors)
{
	size_t at = 0, payloads = 0;
	unsigned int cycles = 0;
	bool held = false;

	for (const Piece &p : pieces)
		payloads += p.last;
	dut->line_valid_i = 0;
	while (got.packets.size() < payloads && cycles < 400000) {
		if (!held)
			dut->piece_valid_i = at < pieces.size() && dut.random.chance(in);
		if (dut->piece_valid_i) {
			dut->piece_addr_i = pieces[at].addr;
			dut->piece_length_i = pieces[at].length;
			dut->piece_last_i = pieces[at].last;
			dut->piece_error_i = pieces[at].wrong;
		}
		memory.drive();
		dut->ready_i = dut.random.chance(out);
		dut.settle();
		if (dut->valid_o && dut->ready_i && dut->last_o)
			errors.push_back(dut->error_o);
		got.take(dut);
		memory.sample();
		held = dut->piece_valid_i && !dut->piece_ready_o;
		if (dut->piece_valid_i && dut->piece_ready_o)
			at++;
		dut.clock();
		cycles++;
	}
	return cycles;
}

static void compare(const std::vector<Piece> &pieces, const Collector &got, const std::vector<bool> &errors)
{
	size_t number = 0;
	bool bad = false;
	Bytes payload;

	for (const Piece &p : pieces) {
		const Bytes bytes = bytes_of(p.addr, p.wrong ? 0 : p.length);

		payload.insert(payload.end(), bytes.begin(), bytes.end());
		bad |= p.wrong || p.bad;
		if (!p.last)
			continue;
		CU_ASSERT_FATAL(number < got.packets.size());
		CU_ASSERT_TRUE(got.packets[number] == payload);
		CU_ASSERT_EQUAL(errors.at(number), bad);
		number++;
		bad = false;
		payload.clear();
	}
}

static void any_pieces()
{
	for (uint32_t seed = 1; seed <= 20; seed++) {
		Dut<Vhcasim_gather> dut(seed);
		const auto pieces = random_pieces(dut.random, 60);
		Memory memory(dut, pieces, 100 - seed, 40 + 3 * seed);
		std::vector<bool> errors;
		Collector got;

		run(dut, pieces, memory, 100 - 2 * seed, 60 + 2 * seed, got, errors);
		compare(pieces, got, errors);
		CU_ASSERT_TRUE(memory.all_read());
	}
}

// Payloads of 4 KiB at odd addresses: more than 95 % of the cycles bring a full word.
static void full_rate()
{
	Dut<Vhcasim_gather> dut(1);
	std::vector<Piece> pieces;
	std::vector<bool> errors;
	Collector got;
	unsigned int cycles;

	for (unsigned int i = 0; i < 20; i++)
		pieces.push_back({0x10000 * i + 13 * i + 1, 4096, true, false, false});
	Memory memory(dut, pieces, 100, 100);
	cycles = run(dut, pieces, memory, 100, 100, got, errors);
	compare(pieces, got, errors);
	CU_ASSERT_TRUE(20 * words_in(4096) * 100 >= cycles * 95);
}

extern const struct test gather_tests[];
const struct test gather_tests[] = {
	{"any pieces", any_pieces},
	{"one word a cycle", full_rate},
	{nullptr, nullptr},
};
