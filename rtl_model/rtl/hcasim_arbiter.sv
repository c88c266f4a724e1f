// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Round robin: the grant goes to the first requester after the one that had the last grant. So a requester waits for
// at most one grant of each other. A requester may withdraw; the grant is of the cycle it is shown in.

`include "hcasim_assert.svh"

module hcasim_arbiter #(
  parameter int unsigned Num = 64,
  localparam int unsigned IndexBits = $clog2(Num)
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  input  logic [Num-1:0]       req_i,
  output logic                 valid_o,
  input  logic                 ready_i, // the grant is used
  output logic [IndexBits-1:0] index_o
);

  logic [Num-1:0] mask_q; // those after the last one granted
  logic [Num-1:0] after, from, onehot;

  assign after   = req_i & mask_q;
  assign from    = |after ? after : req_i;
  assign onehot  = from & (~from + 1'b1); // the lowest
  assign valid_o = |req_i;

  always_comb begin
    index_o = '0;
    for (int unsigned i = 0; i < Num; i++) begin
      if (onehot[i]) index_o |= IndexBits'(i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      mask_q <= '0;
    end else if (valid_o && ready_i) begin
      mask_q <= ~(onehot | (onehot - 1'b1)); // all above it
    end
  end

  `HCASIM_ASSERT(GrantsARequester, !valid_o || req_i[index_o])

endmodule
