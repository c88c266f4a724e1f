// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Pieces of payloads to host memory: looks up the keys of those that are not inside their WQE. Look-ups run ahead of
// their answers, as far as Depth pieces allow.

`include "hcasim_assert.svh"

module hcasim_piece_lookup #(
  parameter int unsigned SlotBits = 3,
  parameter int unsigned Depth = 8 // a power of two
) (
  input  logic                clk_i,
  input  logic                rst_i,
  input  logic                valid_i,
  output logic                ready_o,
  input  logic [SlotBits-1:0] slot_i,
  input  logic                inside_i, // at_i is a byte of the WQE
  input  logic [9:0]          at_i,
  input  logic [15:0]         length_i,
  input  logic                last_i,
  // Look-ups, and their answers in order.
  output logic                lookup_valid_o,
  input  logic                lookup_ready_i,
  input  logic                answer_valid_i,
  input  logic [7:0]          answer_vendor_err_i,
  input  logic [63:0]         answer_addr_i,
  output logic                valid_o,
  input  logic                ready_i,
  output logic [SlotBits-1:0] slot_o,
  output logic                inside_o,
  output logic [63:0]         addr_o, // inside: a byte of the WQE; else in host memory
  output logic [15:0]         length_o,
  output logic                last_o,
  output logic [7:0]          vendor_err_o
);

  logic                   room, unused_room, kept, answered, take;
  logic [9:0]             at;
  logic [63:0]            host;
  logic [7:0]             vendor_err;
  logic [$clog2(Depth):0] unused_kept, unused_answers;

  assign ready_o        = room && (inside_i || lookup_ready_i);
  assign lookup_valid_o = valid_i && !inside_i && room;

  hcasim_fifo #(
    .Width(SlotBits + 1 + 10 + 16 + 1),
    .Depth(Depth)
  ) u_kept (
    .clk_i,
    .rst_i,
    .valid_i(valid_i && ready_o),
    .ready_o(room),
    .data_i ({slot_i, inside_i, at_i, length_i, last_i}),
    .valid_o(kept),
    .ready_i(take),
    .data_o ({slot_o, inside_o, at, length_o, last_o}),
    .count_o(unused_kept)
  );

  // No more answers than pieces are under way.
  hcasim_fifo #(
    .Width(8 + 64),
    .Depth(Depth)
  ) u_answers (
    .clk_i,
    .rst_i,
    .valid_i(answer_valid_i),
    .ready_o(unused_room),
    .data_i ({answer_vendor_err_i, answer_addr_i}),
    .valid_o(answered),
    .ready_i(take && !inside_o),
    .data_o ({vendor_err, host}),
    .count_o(unused_answers)
  );

  assign valid_o      = kept && (inside_o || answered);
  assign addr_o       = inside_o ? 64'(at) : host;
  assign vendor_err_o = inside_o ? 8'(hcasim_pkg::VENDOR_ERR_NONE) : vendor_err;
  assign take         = valid_o && ready_i;

  `HCASIM_ASSERT(AnswersHaveRoom, !answer_valid_i || unused_room)
  `HCASIM_ASSERT_STABLE(OutputStable, valid_o, ready_i, {slot_o, inside_o, addr_o, length_o, last_o, vendor_err_o})

  `HCASIM_LEGAL_LEAST(SlotBits, 1)
  `HCASIM_LEGAL_POWER(Depth)

endmodule
