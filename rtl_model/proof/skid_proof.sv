// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_skid is a queue of two words.
module skid_proof (
  input logic       clk_i,
  input logic       rst_i,
  input logic       watch_i,
  input logic       valid_i,
  input logic       ready_i,
  input logic [1:0] data_i
);

  logic       in_ready, out_valid;
  logic [1:0] out;

  hcasim_skid #(
    .Width(2)
  ) u_dut (
    .clk_i, .rst_i, .valid_i, .ready_o(in_ready), .data_i, .valid_o(out_valid), .ready_i, .data_o(out)
  );

  queue_proof #(
    .Width(2),
    .Depth(2)
  ) u_proof (
    .clk_i, .rst_i, .watch_i, .in_valid_i(valid_i), .in_ready_i(in_ready), .in_i(data_i), .out_valid_i(out_valid),
    .out_ready_i(ready_i), .out_i(out)
  );

endmodule
