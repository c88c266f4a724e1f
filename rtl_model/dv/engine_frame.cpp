// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_engine_frame against packet_build(), net_put_sums() and icrc_frame(): packets of random pieces one behind the
// other, with a memory and a consumer that are ready when they like.
#include <deque>

#include <hcasim_hw.h>
#include <hcasim_wire.h>

#include "Vhcasim_engine_frame_tb.h"
#include "headers.hpp"
#include "ref.h"
#include "stream.hpp"

namespace
{

using Frame = Dut<Vhcasim_engine_frame_tb>;

struct Piece {
	bool inside, last;
	uint64_t addr;
	uint32_t at, len; // of the payload
};

struct Packet {
	uint8_t opcode, smac[6], sgid[16];
	hca_av av;
	bool raw, sums;
	Bytes payload, wqe, frame;
	std::vector<Piece> pieces;
};

void random_gid(Random &random, uint8_t gid[16])
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	random.fill(gid, 16);
	if (random.chance(70))
		memcpy(gid, mapped, sizeof(mapped));
}

// Up to 200 bytes of it in the WQE, the others in host memory.
void cut(Random &random, Packet &p)
{
	const auto len = (uint32_t)p.payload.size();

	p.wqe.resize(HCA_WQE_MAX);
	random.fill(p.wqe.data(), p.wqe.size());
	for (uint32_t at = 0; at < len;) {
		const bool inside = !at && random.chance(40);
		uint32_t n = 1 + random.below(random.chance(30) ? 5 : inside ? 200 : len - at);

		n = std::min(n, len - at);
		if (inside)
			n = std::min(n, 200u);
		const uint64_t addr = inside ? random.below(HCA_WQE_MAX - n + 1) : random.u64() >> 1;

		if (inside)
			memcpy(&p.wqe[addr], &p.payload[at], n);
		p.pieces.push_back({inside, at + n == len, addr, at, n});
		at += n;
	}
}

// The frame that it has to become.
void build(Packet &p)
{
	uint8_t frame[5000];
	pkt_spec spec = {};

	spec.opcode = p.opcode;
	spec.port = 1;
	spec.av = &p.av;
	spec.payload_len = (uint32_t)p.payload.size();
	p.frame.assign(frame,
		       frame + ref_frame(&spec, p.smac, p.sgid, p.raw, p.sums, p.payload.data(), frame));
}

Packet random_packet(Random &random)
{
	static const uint8_t opcodes[] = {HCASIM_BTH_OP_RC_SEND_ONLY, HCASIM_BTH_OP_RC_RDMA_WRITE_FIRST,
					  HCASIM_BTH_OP_UD_SEND_ONLY,
					  HCASIM_BTH_OP_RC_SEND_LAST_WITH_IMMEDIATE};
	Packet p = {};

	p.opcode = opcodes[random.below(4)];
	p.raw = random.chance(25);
	p.sums = random.chance(30);
	random.fill(p.smac, sizeof(p.smac));
	random_gid(random, p.sgid);
	random_gid(random, p.av.dgid);
	if (p.raw || p.sums)
		p.payload = random_frame(random, !p.raw, random.chance(30) ? 4096 : 300);
	else
		p.payload.resize(random.chance(20) ? 0 : random.below(random.chance(30) ? 4097 : 300));
	if (p.payload.empty() && p.raw)
		p.payload.resize(1);
	if (!p.raw && !p.sums)
		random.fill(p.payload.data(), p.payload.size());
	cut(random, p);
	build(p);
	return p;
}

// An RDMA WRITE of 64 bytes inline, behind ctrl, remote and length; or of 4 KiB at an odd address.
Packet write_packet(Random &random, bool is_inline)
{
	Packet p = {};

	p.opcode = HCASIM_BTH_OP_RC_RDMA_WRITE_ONLY;
	random_gid(random, p.sgid);
	random_gid(random, p.av.dgid);
	p.payload.resize(is_inline ? 64 : 4096);
	random.fill(p.payload.data(), p.payload.size());
	p.wqe.resize(HCA_WQE_MAX);
	memcpy(&p.wqe[36], p.payload.data(), 64);
	p.pieces.push_back(
		{is_inline, true, is_inline ? 36 : random.u64() | 1, 0, (uint32_t)p.payload.size()});
	build(p);
	return p;
}

// What goes in and comes out of the module.
class Bench
{
      public:
	template <class Make>
	Bench(uint32_t seed, unsigned int percent, Make make) : dut_(seed), percent_(percent)
	{
		for (unsigned int i = 0; i < PACKETS; i++)
			packets_.push_back(make(dut_.random));
		inside_ = packets_.data();
	}

	// False: nothing comes out any more.
	bool run()
	{
		for (unsigned int idle = 0; out_.packets.size() < packets_.size(); idle++) {
			drive();
			dut_.settle();
			to_port(dut_->block_i, &inside_->wqe[dut_->block_o * HCASIM_WQEBB_SIZE],
				HCASIM_WQEBB_SIZE);
			dut_.settle();
			out_.take(dut_);
			if (dut_->valid_o && dut_->ready_i)
				idle = 0;
			if (idle > 5000)
				return false;
			sample();
			dut_.clock();
			cycles++;
			advance();
		}
		return true;
	}

	void compare(uint32_t seed)
	{
		for (size_t i = 0; i < packets_.size(); i++) {
			if (out_.packets[i] != packets_[i].frame)
				fprintf(stderr, "  seed %u, packet %zu (raw %d, sums %d, %zu bytes)\n", seed,
					i, packets_[i].raw, packets_[i].sums, packets_[i].payload.size());
			CU_ASSERT_TRUE_FATAL(out_.packets[i] == packets_[i].frame);
		}
	}

	static constexpr unsigned int PACKETS = 60;
	unsigned int cycles = 0;

      private:
	struct Line {
		const Packet *packet;
		const Piece *piece;
		uint64_t addr;
	};

	void drive()
	{
		drive_packet();
		drive_piece();
		dut_->read_ready_i = dut_.random.chance(percent_);
		if (!held_)
			dut_->line_valid_i = !lines_.empty() && dut_.random.chance(percent_);
		if (dut_->line_valid_i && !held_)
			put_line(lines_.front());
		dut_->ready_i = dut_.random.chance(percent_);
	}

	void drive_packet()
	{
		dut_->packet_valid_i = packet_ < packets_.size();
		if (!dut_->packet_valid_i)
			return;
		const Packet &p = packets_[packet_];

		dut_->opcode = p.opcode;
		dut_->smac = 0;
		memcpy(&dut_->smac, p.smac, 6);
		to_port(dut_->sgid, p.sgid, 16);
		to_port(dut_->dgid, p.av.dgid, 16);
		dut_->payload_len = (uint16_t)p.payload.size();
		dut_->raw = p.raw;
		dut_->sums = p.sums;
	}

	// Pieces of packets that were taken. Those of a packet with bytes in its WQE come when no other's are under way,
	// as there is one WQE.
	void drive_piece()
	{
		while (from_ < packet_ && piece_ == packets_[from_].pieces.size()) {
			from_++;
			piece_ = 0;
		}
		dut_->piece_valid_i = from_ < packet_ && (piece_ || out_.packets.size() == from_);
		if (!dut_->piece_valid_i)
			return;
		inside_ = &packets_[from_];
		const Piece &piece = inside_->pieces[piece_];

		dut_->piece_inside_i = piece.inside;
		dut_->piece_addr_i = piece.addr;
		dut_->piece_length_i = (uint16_t)piece.len;
		dut_->piece_last_i = piece.last;
	}

	void put_line(const Line &line)
	{
		uint8_t bytes[WORD];

		for (uint64_t i = 0; i < WORD; i++) {
			const uint64_t off = line.addr + i - line.piece->addr;

			bytes[i] = off < line.piece->len ? line.packet->payload[line.piece->at + off]
							 : (uint8_t)dut_.random.u32();
		}
		to_port(dut_->line_data_i, bytes, WORD);
	}

	void sample()
	{
		held_ = dut_->line_valid_i && !dut_->line_ready_o;
		if (dut_->line_valid_i && dut_->line_ready_o)
			lines_.pop_front();
		if (dut_->read_valid_o && dut_->read_ready_i) {
			CU_ASSERT_FALSE_FATAL(inside_->pieces[piece_].inside); // host memory has others
			for (unsigned int i = 0; i < dut_->read_lines_o; i++)
				lines_.push_back({inside_, &inside_->pieces[piece_],
						  dut_->read_addr_o / WORD * WORD + i * WORD});
		}
		piece_taken_ = dut_->piece_valid_i && dut_->piece_ready_o;
		packet_taken_ = dut_->packet_valid_i && dut_->packet_ready_o;
	}

	void advance()
	{
		piece_ += piece_taken_;
		packet_ += packet_taken_;
	}

	Frame dut_;
	unsigned int percent_;
	std::vector<Packet> packets_;
	size_t packet_ = 0, from_ = 0, piece_ = 0; // that are next; from_: the packet of the piece
	const Packet *inside_;
	std::deque<Line> lines_;
	bool held_ = false, piece_taken_ = false, packet_taken_ = false;
	Collector out_;
};

void random_packets()
{
	for (uint32_t i = 0; i < Seeds::count(60); i++) {
		const uint32_t seed = Seeds::first() + i;
		Bench bench(seed, i % 4 ? 20 + 20 * (i % 4) : 100, random_packet);

		CU_ASSERT_TRUE_FATAL(bench.run());
		bench.compare(seed);
	}
}

// Cycles of each frame if there is always another one: the packet is taken with the last chunk of the one before it.
void rate(bool is_inline, size_t most)
{
	Bench bench(1, 100, [is_inline](Random &random) { return write_packet(random, is_inline); });

	CU_ASSERT_TRUE_FATAL(bench.run());
	bench.compare(1);
	printf(" %.2f of at most %zu cycles.", (double)(bench.cycles - 1) / Bench::PACKETS, most);
	CU_ASSERT_TRUE(bench.cycles - 1 <= most * Bench::PACKETS);
}

void back_to_back()
{
	constexpr size_t HEADERS = words_in(90); // over IPv6

	rate(true, HEADERS + words_in(64) + 1);    // words of 64 bytes: 4
	rate(false, HEADERS + words_in(4096) + 1); // 67, of which 64 are payload: 95.5 %
}

} // namespace

extern const struct test engine_frame_tests[];
const struct test engine_frame_tests[] = {
	{"random packets", random_packets},
	{"back to back", back_to_back},
	{nullptr, nullptr},
};
