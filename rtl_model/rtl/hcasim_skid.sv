// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Cuts a valid/ready handshake in both directions: no output depends on an input of the same cycle. One word a cycle.

`include "hcasim_assert.svh"

module hcasim_skid #(
  parameter int unsigned Width = 8
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o
);

  logic             out_valid_q, skid_valid_q;
  logic [Width-1:0] out_q, skid_q;
  logic             out_free;

  assign ready_o  = !skid_valid_q;
  assign valid_o  = out_valid_q;
  assign data_o   = out_q;
  assign out_free = !out_valid_q || ready_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      out_valid_q  <= 1'b0;
      skid_valid_q <= 1'b0;
    end else if (out_free) begin
      out_valid_q  <= skid_valid_q || valid_i;
      skid_valid_q <= 1'b0;
    end else if (valid_i && ready_o) begin
      skid_valid_q <= 1'b1; // the output is taken: it waits behind
    end
  end

  always_ff @(posedge clk_i) begin
    if (out_free) out_q <= skid_valid_q ? skid_q : data_i;
    if (ready_o) skid_q <= data_i;
  end

  `HCASIM_ASSERT(SkidBehindOutput, !(skid_valid_q && !out_valid_q))
  `HCASIM_ASSERT_STABLE(OutputStable, valid_o, ready_i, data_o)

  `HCASIM_LEGAL_LEAST(Width, 1)

endmodule
