// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What a 512-bit pipeline of so many registers costs to simulate: each stage adds its number to the lanes of the one before.
// Registers change at both edges, as in the engine (rtl_verilate(FAST)): a cycle is one evaluation.
module pipeline #(
  parameter int unsigned Stages = 1
) (
  input  logic         clk_i,
  input  logic [511:0] data_i,
  output logic [511:0] data_o
);
  logic [511:0] stage_q [Stages];

  for (genvar i = 0; i < Stages; i++) begin : gen_stage
    logic [511:0] previous;
    if (i == 0) begin : gen_first
      assign previous = data_i;
    end else begin : gen_next
      assign previous = stage_q[i-1];
    end
    always_ff @(posedge clk_i or negedge clk_i) begin
      for (int unsigned lane = 0; lane < 8; lane++) stage_q[i][64*lane +: 64] <= previous[64*lane +: 64] + 64'(i) + 64'(lane);
    end
  end

  assign data_o = stage_q[Stages-1];
endmodule
