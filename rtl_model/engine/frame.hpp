/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Around the Verilated hcasim_engine_frame: the packets that hcasim_engine has given, until they leave, and host memory
 * with the pieces of one of them.
 */
#ifndef HCASIM_RTL_FRAME_HPP
#define HCASIM_RTL_FRAME_HPP

#include <array>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "Vhcasim_engine_frame.h"
#include "core/engine.h"
#include "pace.hpp"
#include "wave.hpp"

// What hcasim_engine says of a packet, and the bytes of the WQE that are part of it.
struct Packet {
	std::remove_reference_t<decltype(Vhcasim_engine_frame::packet_i)> packet;
	std::remove_reference_t<decltype(Vhcasim_engine_frame::offload_i)> offload;
	bool raw;
	struct {
		uint16_t at, len;
	} inside[2]; // headers of TSO, inline bytes
	std::array<uint8_t, HCA_WQE_MAX> wqe;
};

class FramePath
{
      public:
	FramePath(VerilatedContext &context, Wave &wave, Pace &pace);
	~FramePath();

	// The packet of a tag, to be filled in.
	Packet &packet(uint32_t tag);
	// Its frame. Returns the bytes.
	uint32_t build(const engine_frame &f, uint8_t *out);

	Vhcasim_engine_frame &top()
	{
		return top_;
	}

	uint64_t cycles = 0;
	// Of the last frame. The cycle in which the module takes its packet is not among them: that is the last one of the
	// frame before it, if there is one.
	uint32_t frame_cycles = 0;

      private:
	struct Piece {
		bool inside;
		uint64_t addr;
		uint32_t len;
		const uint8_t *data; // of host memory
	};
	struct Line {
		const Piece *piece;
		uint64_t addr;
	};

	void clock();
	void begin(const Packet &p, const engine_frame &f);
	void drive(const Packet &p);
	void sample();
	void read();

	Wave &wave_;
	Pace &pace_;
	Vhcasim_engine_frame top_;
	std::unordered_map<uint32_t, std::unique_ptr<Packet>> packets_;
	std::vector<Piece> pieces_;
	size_t piece_ = 0; // that is next
	std::deque<Line> lines_;
	bool held_ = false; // a line was not taken
};

#endif
