// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The waveforms of ../doc/theory.md.
#include <hcasim_wire.h>

#include "Vhcasim_engine_frame_tb.h"
#include "guide.hpp"

namespace
{

// Two packets: an RDMA WRITE of 100 bytes from the middle of a line of host memory, and one of 16 bytes inline. The
// consumer takes no word in two cycles.
void frames()
{
	constexpr unsigned int CYCLES = 18, STALL = 9;
	Waveform wave({"packet_valid_i", "packet_ready_o", "piece_valid_i", "piece_ready_o", "piece_inside_i",
		       "read_valid_o", "read_lines_o", "line_valid_i", "line_ready_o", "valid_o", "ready_i",
		       "last_o"});
	Dut<Vhcasim_engine_frame_tb> dut(1);
	unsigned int packets = 0, pieces = 0, lines = 0, frames = 0;

	dut->opcode = HCASIM_BTH_OP_RC_RDMA_WRITE_ONLY;
	dut->sums = dut->raw = 0;
	dut->read_ready_i = dut->piece_last_i = 1;
	for (unsigned int i = 0; i < CYCLES; i++) {
		dut->packet_valid_i = i > 0 && packets < 2;
		dut->payload_len = packets ? 16 : 100;
		dut->piece_valid_i = pieces < packets;
		dut->piece_inside_i = pieces == 1;
		dut->piece_addr_i = pieces ? 36 : 0x1020;
		dut->piece_length_i = pieces ? 16 : 100;
		dut->line_valid_i = lines > 0;
		dut->ready_i = i != STALL && i != STALL + 1;
		dut.settle();
		wave.cycle({wave.bit(dut->packet_valid_i), wave.bit(dut->packet_ready_o),
			    wave.bit(dut->piece_valid_i), wave.bit(dut->piece_ready_o),
			    wave.bit(dut->piece_valid_i && dut->piece_inside_i), wave.bit(dut->read_valid_o),
			    wave.digit(dut->read_valid_o, dut->read_lines_o), wave.bit(dut->line_valid_i),
			    wave.bit(dut->line_ready_o), wave.bit(dut->valid_o), wave.bit(dut->ready_i),
			    wave.bit(dut->valid_o && dut->last_o)});
		packets += dut->packet_valid_i && dut->packet_ready_o;
		pieces += dut->piece_valid_i && dut->piece_ready_o;
		lines += dut->read_valid_o ? dut->read_lines_o : 0;
		lines -= dut->line_valid_i && dut->line_ready_o;
		frames += dut->valid_o && dut->ready_i && dut->last_o;
		dut.clock();
	}
	CU_ASSERT_EQUAL(frames, 2);
	wave.check("theory.md");
}

} // namespace

extern const struct test guide_tests[];
const struct test guide_tests[] = {
	{"frames", frames},
	{nullptr, nullptr},
};
