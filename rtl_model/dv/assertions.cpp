// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Assertions of the RTL about what stands around it: no planted fault violates them, so each is violated from outside. A
// test has the name of its assertion, FILE.NAME, which rtl_model/dv/faults looks for.
#include <hcasim_wire.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Vhcasim_engine_frame_tb.h"
#include "engine_bench.hpp"

namespace
{

// What a process of its own prints, in which assertions do not end the model.
std::string output_of(void (*violate)())
{
	std::string out;
	char part[4096];
	int fd[2];

	fflush(stdout);
	CU_ASSERT_EQUAL_FATAL(pipe(fd), 0);
	const pid_t child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (!child) {
		dup2(fd[1], STDOUT_FILENO);
		violate();
		fflush(stdout);
		_exit(0);
	}
	close(fd[1]);
	for (ssize_t n; (n = read(fd[0], part, sizeof(part))) > 0;)
		out.append(part, (size_t)n);
	close(fd[0]);
	waitpid(child, nullptr, 0);
	return out;
}

// It fails in this file.
void fires(const std::string &file, const std::string &name, void (*violate)())
{
	const std::string out = output_of(violate);
	bool found = false;

	for (size_t at = 0, end; at < out.size(); at = end + 1) {
		end = std::min(out.find('\n', at), out.size());
		const std::string line = out.substr(at, end - at);
		found |= line.find(file + ".sv") != std::string::npos &&
			 line.find("Assertion failed in ") != std::string::npos &&
			 line.find("." + name + ":") != std::string::npos;
	}
	CU_ASSERT_TRUE(found);
	if (!found)
		printf("\n%s.%s has not failed, but:\n%s", file.c_str(), name.c_str(), out.c_str());
}

// An op that changes before it is done.
void op_stays()
{
	fires("hcasim_engine_rules", "OpStays", [] {
		EngineBench bench;

		bench.queue_pair(1, 0);
		bench.dut.go_on();
		bench.dut->op_i = (uint8_t)Op::RESET;
		bench.dut->op_valid_i = 1;
		bench.cycle();
		bench.dut->op_i = (uint8_t)Op::QUERY;
		bench.cycle();
		bench.cycle();
	});
}

// A frame whose payload is one piece of host memory, of which lines come as `line` says for each cycle.
void frame(uint16_t bytes, bool sums, unsigned int cycles, bool (*line)(unsigned int))
{
	Dut<Vhcasim_engine_frame_tb> dut(1);
	bool packet = true, piece = true;

	dut.go_on();
	dut->opcode = HCASIM_BTH_OP_RC_RDMA_WRITE_ONLY;
	dut->sums = dut->raw = sums;
	dut->payload_len = dut->piece_length_i = bytes;
	dut->piece_addr_i = 0;
	dut->piece_inside_i = dut->ready_i = 0;
	dut->piece_last_i = dut->read_ready_i = 1;
	for (unsigned int i = 0; i < cycles; i++) {
		dut->packet_valid_i = packet;
		dut->piece_valid_i = !packet && piece;
		dut->line_valid_i = !piece && line(i);
		dut.settle();
		piece = piece && !(dut->piece_valid_i && dut->piece_ready_o);
		packet = packet && !dut->packet_ready_o;
		dut.clock();
	}
}

// A line of host memory goes before it is taken.
void line_stable()
{
	fires("hcasim_line_mux", "LineStable",
	      [] { frame(64, false, 20, [](unsigned int i) { return i < 15; }); });
}

// A payload with checksums that is longer than any packet's.
void fits()
{
	fires("hcasim_offload", "Fits", [] { frame(9000, true, 200, [](unsigned int) { return true; }); });
}

} // namespace

extern const struct test assertion_tests[];
const struct test assertion_tests[] = {
	{"hcasim_engine_rules.OpStays", op_stays},
	{"hcasim_line_mux.LineStable", line_stable},
	{"hcasim_offload.Fits", fits},
	{nullptr, nullptr},
};
