// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The reads of a gather: those of host memory go out, those of WQE lines are answered here. The lines come back in
// the order of the reads.

`include "hcasim_assert.svh"

module hcasim_line_mux #(
  parameter int unsigned Bytes = 64,   // of a line
  parameter int unsigned LineBits = 7, // of the number of a WQE line
  parameter int unsigned Depth = 16,   // reads under way, a power of two
  localparam int unsigned Bits      = Bytes * 8,
  localparam int unsigned LinesBits = 17 - $clog2(Bytes)
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  // From the gather.
  input  logic                 read_valid_i,
  output logic                 read_ready_o,
  input  logic                 inside_i,
  input  logic [LineBits-1:0]  number_i, // own: of the first line
  input  logic [LinesBits-1:0] lines_i,
  output logic                 line_valid_o,
  input  logic                 line_ready_i,
  output logic [Bits-1:0]      line_o,
  output logic                 error_o,
  // To host memory.
  output logic                 read_valid_o,
  input  logic                 read_ready_i,
  input  logic                 line_valid_i,
  output logic                 line_ready_o,
  input  logic [Bits-1:0]      line_i,
  input  logic                 error_i,
  // Own lines, in the same cycle.
  output logic [LineBits-1:0]  number_o,
  input  logic [Bits-1:0]      inside_line_i
);

  logic                   room, open, own, take, ends;
  logic [LineBits-1:0]    number;
  logic [LinesBits-1:0]   lines, done_q; // lines of the oldest read that have been taken
  logic [$clog2(Depth):0] unused_count;

  assign read_ready_o = room && (inside_i || read_ready_i);
  assign read_valid_o = read_valid_i && room && !inside_i;

  hcasim_fifo #(
    .Width(1 + LineBits + LinesBits),
    .Depth(Depth)
  ) u_reads (
    .clk_i,
    .rst_i,
    .valid_i(read_valid_i && read_ready_o),
    .ready_o(room),
    .data_i ({inside_i, number_i, lines_i}),
    .valid_o(open),
    .ready_i(take && ends),
    .data_o ({own, number, lines}),
    .count_o(unused_count)
  );

  assign number_o     = number + LineBits'(done_q);
  assign line_valid_o = open && (own || line_valid_i);
  assign line_ready_o = open && !own && line_ready_i;
  assign line_o       = own ? inside_line_i : line_i;
  assign error_o      = !own && error_i;
  assign take         = line_valid_o && line_ready_i;
  assign ends         = done_q + 1'b1 == lines;

  always_ff @(posedge clk_i) begin
    if (rst_i) done_q <= '0;
    else if (take) done_q <= ends ? '0 : done_q + 1'b1;
  end

  `HCASIM_ASSERT(NoLineWithoutARead, !line_valid_i || open)
  `HCASIM_ASSERT_STABLE(LineStable, line_valid_o, line_ready_i, line_o)

  `HCASIM_LEGAL_BYTES
  `HCASIM_LEGAL_LEAST(LineBits, 1)
  `HCASIM_LEGAL_POWER(Depth)

endmodule
