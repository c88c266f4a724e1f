// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Queue pairs that have work, in the order in which they got it: a doubly linked list, so that one can leave it from any
// place. Whether a queue pair is in the list, its context says.

`include "hcasim_assert.svh"

module hcasim_qp_list #(
  parameter int unsigned QpnBits = 8
) (
  input  logic               clk_i,
  input  logic               rst_i,
  input  logic               append_i,
  input  logic               remove_i,
  input  logic [QpnBits-1:0] qpn_i,
  output logic               valid_o,
  output logic [QpnBits-1:0] head_o
);

  logic [QpnBits-1:0] next_q [2**QpnBits];
  logic [QpnBits-1:0] prev_q [2**QpnBits];
  logic [QpnBits-1:0] head_q, tail_q, next, prev;
  logic [QpnBits:0]   count_q;

  assign valid_o = count_q != '0;
  assign head_o  = head_q;
  assign next    = next_q[qpn_i];
  assign prev    = prev_q[qpn_i];

  always_ff @(posedge clk_i) begin
    if (rst_i) count_q <= '0;
    else if (append_i) count_q <= count_q + 1'b1;
    else if (remove_i) count_q <= count_q - 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (append_i) begin
      prev_q[qpn_i] <= tail_q;
      tail_q        <= qpn_i;
      if (!valid_o) head_q <= qpn_i;
      else next_q[tail_q] <= qpn_i;
    end else if (remove_i) begin
      if (qpn_i == head_q) head_q <= next;
      else next_q[prev] <= next;
      if (qpn_i == tail_q) tail_q <= prev;
      else prev_q[next] <= prev;
    end
  end

  `HCASIM_ASSERT(OneAtATime, !(append_i && remove_i))
  `HCASIM_ASSERT(RemovesAMember, !remove_i || valid_o)

  `HCASIM_LEGAL_LEAST(QpnBits, 1)

endmodule
