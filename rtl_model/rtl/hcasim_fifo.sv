// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A FIFO of Depth words. A word that is written in a cycle can be read in the next.

`include "hcasim_assert.svh"

module hcasim_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4, // a power of two
  localparam int unsigned IndexBits = $clog2(Depth)
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o,
  output logic [IndexBits:0] count_o // words inside
);

  logic [Width-1:0]   mem_q [Depth];
  logic [IndexBits:0] head_q, tail_q; // one bit more than an index: full is not empty

  assign count_o = tail_q - head_q;
  assign valid_o = head_q != tail_q;
  assign ready_o = !count_o[IndexBits];
  assign data_o  = mem_q[head_q[IndexBits-1:0]];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      head_q <= '0;
      tail_q <= '0;
    end else begin
      if (valid_i && ready_o) tail_q <= tail_q + 1'b1;
      if (valid_o && ready_i) head_q <= head_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) mem_q[tail_q[IndexBits-1:0]] <= data_i;
  end

  `HCASIM_ASSERT(NeverOverfull, count_o <= (IndexBits + 1)'(Depth))
  `HCASIM_ASSERT_STABLE(OutputStable, valid_o, ready_i, data_o)

  `HCASIM_LEGAL_LEAST(Width, 1)
  `HCASIM_LEGAL_POWER(Depth)

endmodule
