// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Two users of one look-up port. A look-up that is shown stays until it is taken; user 0 comes first otherwise. Answers
// come in the order of the look-ups and go to whose they are.

`include "hcasim_assert.svh"

module hcasim_lookup_mux #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 16 // look-ups without an answer, a power of two
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  logic [1:0]       valid_i,
  output logic [1:0]       ready_o,
  input  logic [Width-1:0] data0_i,
  input  logic [Width-1:0] data1_i,
  output logic [1:0]       answer_o,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o,
  output logic             user_o,
  input  logic             answer_valid_i
);

  logic                   held_q, user_q, user, room, asked, whose;
  logic [$clog2(Depth):0] unused_count;

  assign user     = held_q ? user_q : !valid_i[0];
  assign user_o   = user;
  assign valid_o  = |valid_i && room;
  assign ready_o  = {user, !user} & {2{ready_i && room}};
  assign data_o   = user ? data1_i : data0_i;
  assign answer_o = {whose, !whose} & {2{answer_valid_i && asked}};

  always_ff @(posedge clk_i) begin
    if (rst_i) held_q <= 1'b0;
    else held_q <= valid_o && !ready_i;
  end

  always_ff @(posedge clk_i) begin
    user_q <= user;
  end

  hcasim_fifo #(
    .Width(1),
    .Depth(Depth)
  ) u_order (
    .clk_i,
    .rst_i,
    .valid_i(valid_o && ready_i),
    .ready_o(room),
    .data_i (user),
    .valid_o(asked),
    .ready_i(answer_valid_i),
    .data_o (whose),
    .count_o(unused_count)
  );

  `HCASIM_ASSERT(AnswersWereAsked, !answer_valid_i || asked)
  `HCASIM_ASSERT_STABLE(OutputStable, valid_o, ready_i, {data_o, user_o})

  `HCASIM_LEGAL_LEAST(Width, 1)
  `HCASIM_LEGAL_POWER(Depth)

endmodule
