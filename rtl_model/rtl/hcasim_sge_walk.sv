// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Which bytes a packet's payload is: the headers of its TSO segment, then the parts of the SGEs or of the inline bytes of
// its WQE, in order. The packets of a message come one after the other, from any of them on. An SGE a cycle, those that
// a packet does not touch included when it is the first.

`include "hcasim_assert.svh"

module hcasim_sge_walk #(
  parameter int unsigned SlotBits = 3 // of the number of a WQE
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  // A packet's part of its message, not empty, and inside it.
  input  logic                  valid_i,
  output logic                  ready_o,
  input  logic                  first_i,     // of its WQE
  input  logic [SlotBits-1:0]   slot_i,      // the WQE
  input  logic [9:0]            data_at_i,   // where its SGEs or inline bytes stand in it
  input  logic                  is_inline_i,
  input  logic [9:0]            header_at_i, // where headers stand in it that are to come first
  input  logic [15:0]           header_i,    // bytes of them, or 0
  input  logic [31:0]           offset_i,
  input  logic [15:0]           length_i,    // without the headers
  // The SGE that stands at a byte of the WQE, in the same cycle.
  output logic [SlotBits-1:0]   slot_o,
  output logic [9:0]            sge_at_o,
  input  hcasim_pkg::seg_data_t sge_i,
  // A piece.
  output logic                  valid_o,
  input  logic                  ready_i,
  output logic                  inside_o, // the WQE: addr_o is a byte of it
  output logic [63:0]           addr_o,
  output logic [31:0]           lkey_o,
  output logic [15:0]           length_o,
  output logic                  last_o    // of the packet
);

  logic                is_inline_q, busy_q;
  logic [SlotBits-1:0] slot_q;
  logic [9:0]          at_q;        // of the SGE, or of the inline bytes
  logic [31:0]         position_q;  // of this SGE in the message
  logic [31:0]         offset_q;    // of the next byte in the message
  logic [15:0]         need_q;      // bytes of the packet that are still to come, without headers
  logic [15:0]         header_q;    // bytes of headers that are still to come
  logic [9:0]          header_at_q;
  logic [31:0]         skip, rest;
  logic                header, touches, step, ends_sge;

  assign slot_o   = slot_q;
  assign sge_at_o = at_q;
  assign skip     = offset_q - position_q;
  assign header   = header_q != '0;
  assign touches  = header || is_inline_q || skip < sge_i.length;
  assign rest     = sge_i.length - skip;

  assign valid_o  = busy_q && touches;
  assign inside_o = header || is_inline_q;
  assign lkey_o   = sge_i.lkey;

  always_comb begin
    last_o   = is_inline_q || rest >= 32'(need_q);
    length_o = last_o ? need_q : rest[15:0];
    addr_o   = is_inline_q ? 64'(at_q) + 64'(offset_q) : sge_i.addr + 64'(skip);
    if (header) begin
      last_o   = need_q == '0;
      length_o = header_q;
      addr_o   = 64'(header_at_q);
    end
  end

  assign ready_o  = !busy_q;
  assign step     = busy_q && (!touches || ready_i);
  assign ends_sge = !header && !is_inline_q && (!touches || rest == 32'(length_o));

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
    if (valid_i && ready_o) begin
      slot_q      <= slot_i;
      offset_q    <= offset_i;
      need_q      <= length_i;
      header_q    <= header_i;
      header_at_q <= header_at_i;
      if (first_i) begin
        is_inline_q <= is_inline_i;
        at_q        <= data_at_i;
        position_q  <= '0;
      end
    end else if (step) begin
      header_q <= '0;
      if (touches && !header) begin
        offset_q <= offset_q + 32'(length_o);
        need_q   <= need_q - length_o;
      end
      if (ends_sge) begin
        at_q       <= at_q + 10'(hcasim_pkg::SEG_DATA_BYTES);
        position_q <= position_q + sge_i.length;
      end
    end
  end

  `HCASIM_ASSERT(NotEmpty, !valid_i || length_i != '0 || header_i != '0)
  `HCASIM_ASSERT_STABLE(OutputStable, valid_o, ready_i, {inside_o, addr_o, lkey_o, length_o, last_o})

  `HCASIM_LEGAL_LEAST(SlotBits, 1)

endmodule
