// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Tags of operations that are pending outside the engine, and what is known of each. The tag that was freed last is given
// out first; then one that was never used.

`include "hcasim_assert.svh"

module hcasim_tags #(
  parameter int unsigned Num = 1024, // a power of two
  localparam int unsigned Bits = $clog2(Num)
) (
  input  logic                    clk_i,
  input  logic                    rst_i,
  // A new one.
  output logic                    valid_o,
  output logic [Bits-1:0]         new_o,
  input  logic                    take_i,
  input  hcasim_engine_pkg::tag_t entry_i,
  // One that is in use: what is known of it, how many transfers it waits for, and its end.
  input  logic [Bits-1:0]         tag_i,
  output hcasim_engine_pkg::tag_t entry_o,
  input  logic                    count_i,
  input  logic                    free_i
);

  logic [$bits(entry_i)-1:0] entry_q [Num];
  logic [Bits-1:0]                            freed_q [Num];
  logic [Bits:0]                              depth_q, used_q; // of the stack of freed ones; ever given out
  hcasim_engine_pkg::tag_t                    fewer;
  logic [Bits-1:0]                            top;

  assign top     = Bits'(depth_q - 1'b1);
  assign valid_o = depth_q != '0 || !used_q[Bits];
  assign new_o   = depth_q != '0 ? freed_q[top] : used_q[Bits-1:0];
  assign entry_o = entry_q[tag_i];

  always_comb begin
    fewer       = entry_o;
    fewer.count = entry_o.count - 16'd1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      depth_q <= '0;
      used_q  <= '0;
    end else if (take_i) begin
      if (depth_q != '0) depth_q <= depth_q - 1'b1;
      else used_q <= used_q + 1'b1;
    end else if (free_i) begin
      depth_q <= depth_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take_i) entry_q[new_o] <= entry_i;
    else if (count_i) entry_q[tag_i] <= fewer;
    if (free_i) freed_q[depth_q[Bits-1:0]] <= tag_i;
  end

  `HCASIM_ASSERT(TakesAFreeOne, !take_i || valid_o)
  `HCASIM_ASSERT(OneAtATime, !(take_i && free_i))

  `HCASIM_LEGAL_POWER(Num)

endmodule
