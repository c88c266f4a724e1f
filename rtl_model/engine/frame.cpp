// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The op `frame`: a packet through hcasim_engine_frame. Memory and consumer are ready when the pace says so: always, but in tests.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <hcasim_hw.h>

#include "frame.hpp"

constexpr uint64_t LINE = sizeof(Vhcasim_engine_frame::line_data_i), BLOCK = HCASIM_WQEBB_SIZE;
constexpr unsigned int MAX_CYCLES = 10000; // of a frame; the longest takes some 400, with checksums

FramePath::FramePath(VerilatedContext &context, Wave &wave, Pace &pace)
    : wave_(wave), pace_(pace), top_(&context, "frame")
{
	top_.rst_i = 1;
	clock();
	clock();
	top_.rst_i = 0;
}

FramePath::~FramePath()
{
	top_.final();
}

void FramePath::clock()
{
	wave_.cycle(top_);
	cycles++;
}

Packet &FramePath::packet(uint32_t tag)
{
	auto &p = packets_[tag];

	if (!p)
		p = std::make_unique<Packet>();
	return *p;
}

void FramePath::begin(const Packet &p, const engine_frame &f)
{
	const uint8_t *data = f.data;

	top_.packet_i = p.packet;
	top_.offload_i = p.offload;
	top_.raw_i = p.raw;
	top_.smac_i = 0;
	memcpy(&top_.smac_i, f.smac, 6);
	memcpy(&top_.sgid_i, f.sgid, 16);
	top_.packet_valid_i = 1;
	pieces_.clear();
	piece_ = 0;
	for (const auto &in : p.inside)
		if (in.len)
			pieces_.push_back({true, in.at, in.len, nullptr});
	for (uint32_t i = 0; i < f.npieces; data += f.piece[i++].len)
		if (f.piece[i].len)
			pieces_.push_back({false, f.piece[i].addr, f.piece[i].len, data});
}

// A line of host memory. What stands around the piece is not its.
static void put_line(VlWide<LINE / 4> &out, uint64_t line, uint64_t addr, uint32_t len, const uint8_t *data)
{
	const uint64_t from = addr > line ? addr - line : 0;
	const uint64_t to = addr + len - line < LINE ? addr + len - line : LINE;

	memset(out.m_storage, 0x5a, LINE);
	memcpy((uint8_t *)out.m_storage + from, data + (line + from - addr), to - from);
}

void FramePath::drive(const Packet &p)
{
	top_.piece_valid_i = !top_.packet_valid_i && piece_ < pieces_.size();
	if (top_.piece_valid_i) {
		const Piece &piece = pieces_[piece_];

		top_.piece_inside_i = piece.inside;
		top_.piece_addr_i = piece.addr;
		top_.piece_length_i = (uint16_t)piece.len;
		top_.piece_last_i = piece_ + 1 == pieces_.size();
	}
	top_.line_valid_i = !lines_.empty() && (held_ || pace_.ready());
	top_.read_ready_i = pace_.ready();
	top_.ready_i = pace_.ready();
	if (top_.line_valid_i) {
		const Line &line = lines_.front();

		put_line(top_.line_data_i, line.addr, line.piece->addr, line.piece->len, line.piece->data);
	}
	wave_.settle(top_);
	memcpy(top_.block_i.m_storage, &p.wqe[top_.block_o * BLOCK], BLOCK);
}

// The lines of the piece that is next.
void FramePath::read()
{
	for (unsigned int i = 0; i < top_.read_lines_o; i++)
		lines_.push_back({&pieces_[piece_], top_.read_addr_o / LINE * LINE + i * LINE});
}

// What was handed over at the clock edge.
void FramePath::sample()
{
	held_ = top_.line_valid_i && !top_.line_ready_o;
	if (top_.line_valid_i && top_.line_ready_o)
		lines_.pop_front();
	if (top_.read_valid_o && top_.read_ready_i)
		read();
	if (top_.piece_valid_i && top_.piece_ready_o)
		piece_++;
}

uint32_t FramePath::build(const engine_frame &f, uint8_t *out)
{
	const Packet &p = packet(f.tag);
	const uint64_t until = cycles + MAX_CYCLES;
	uint32_t len = 0;
	bool last = false;

	frame_cycles = 0;
	begin(p, f);
	while (!last) {
		drive(p);
		wave_.settle(top_);
		const bool taken_word = top_.valid_o && top_.ready_i;
		if (taken_word && len + top_.count_o <= ENGINE_FRAME_MAX) {
			memcpy(out + len, top_.data_o.m_storage, top_.count_o);
			len += top_.count_o;
		}
		last = taken_word && top_.last_o;
		sample();
		const bool waits = top_.packet_valid_i, taken = top_.packet_ready_o;
		clock();
		top_.packet_valid_i &= !taken;
		frame_cycles += !waits;
		if (cycles <= until)
			continue;
		fprintf(stderr, "hcasim: rtl engine: the frame of QP %u, tag %u does not end\n", f.qpn,
			f.tag);
		abort();
	}
	return len;
}
