// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Which bytes of the WQE's memory a packet's payload is: the parts of its SGEs, or of its inline bytes, in order. The
// packets of a message come one after the other, from any of them on. An SGE a cycle, those that a packet does not touch
// included when it is the first.

`include "hcasim_assert.svh"

module hcasim_sge_walk (
  input  logic                  clk_i,
  input  logic                  rst_i,
  // A message begins: where its SGEs or inline bytes stand in the WQE. In a cycle without a segment.
  input  logic                  start_i,
  input  logic [9:0]            data_at_i,
  input  logic                  is_inline_i,
  // A packet's part of the message, not empty, and inside it.
  input  logic                  valid_i,
  output logic                  ready_o,
  input  logic [31:0]           offset_i,
  input  logic [15:0]           length_i,
  // The SGE that stands at a byte of the WQE, in the same cycle.
  output logic [9:0]            sge_at_o,
  input  hcasim_pkg::seg_data_t sge_i,
  // A piece.
  output logic                  valid_o,
  input  logic                  ready_i,
  output logic [63:0]           addr_o,  // inline: byte of the WQE
  output logic [31:0]           lkey_o,
  output logic [15:0]           length_o,
  output logic                  last_o   // of the packet
);

  logic        is_inline_q, busy_q;
  logic [9:0]  at_q;         // of the SGE, or of the inline bytes
  logic [31:0] position_q;   // of this SGE in the message
  logic [31:0] offset_q;     // of the next byte in the message
  logic [15:0] need_q;       // bytes of the packet that are still to come
  logic [31:0] skip, rest;
  logic        touches, step, ends_sge;

  assign sge_at_o = at_q;
  assign skip     = offset_q - position_q;
  assign touches  = is_inline_q || skip < sge_i.length;
  assign rest     = sge_i.length - skip;

  assign valid_o  = busy_q && touches;
  assign last_o   = is_inline_q || rest >= 32'(need_q);
  assign length_o = last_o ? need_q : rest[15:0];
  assign addr_o   = is_inline_q ? 64'(at_q) + 64'(offset_q) : sge_i.addr + 64'(skip);
  assign lkey_o   = sge_i.lkey;

  assign ready_o  = !busy_q;
  assign step     = busy_q && (!touches || ready_i);
  assign ends_sge = !is_inline_q && (!touches || rest == 32'(length_o));

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      busy_q <= 1'b0;
    end else if (valid_i && ready_o) begin
      busy_q <= 1'b1;
    end else if (step && touches && last_o) begin
      busy_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      is_inline_q <= is_inline_i;
      at_q        <= data_at_i;
      position_q  <= '0;
    end else if (step && ends_sge) begin
      at_q       <= at_q + 10'(hcasim_pkg::SEG_DATA_BYTES);
      position_q <= position_q + sge_i.length;
    end
    if (valid_i && ready_o) begin
      offset_q <= offset_i;
      need_q   <= length_i;
    end else if (step && touches) begin
      offset_q <= offset_q + 32'(length_o);
      need_q   <= need_q - length_o;
    end
  end

  `HCASIM_ASSERT(StartsBetween, !start_i || (!busy_q && !valid_i))
  `HCASIM_ASSERT(NotEmpty, !valid_i || length_i != '0)
  `HCASIM_ASSERT_STABLE(OutputStable, valid_o, ready_i, {addr_o, lkey_o, length_o, last_o})

endmodule
