// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What holds for each queue (FIFO, skid buffer) of at most Depth words, with any inputs: any word that goes in, `watch_i`
// says which, comes out unchanged after those before it and before those behind it, and stays until it is taken; there are
// never more than Depth; one is shown whenever there is
// one, and accepted whenever there is room.
module queue_proof #(
  parameter int unsigned Width = 2,
  parameter int unsigned Depth = 4
) (
  input logic             clk_i,
  input logic             rst_i,
  input logic             watch_i,
  input logic             in_valid_i,
  input logic             in_ready_i,
  input logic [Width-1:0] in_i,
  input logic             out_valid_i,
  input logic             out_ready_i,
  input logic [Width-1:0] out_i
);

  logic [7:0]       count_q, ahead_q; // words inside; before the one that is watched
  logic             watched_q, push, pop, held_q;
  logic [Width-1:0] word_q, out_q;

  assign push = in_valid_i && in_ready_i;
  assign pop  = out_valid_i && out_ready_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      count_q   <= '0;
      ahead_q   <= '0;
      watched_q <= 1'b0;
      held_q    <= 1'b0;
    end else begin
      count_q <= count_q + 8'(push) - 8'(pop);
      held_q  <= out_valid_i && !out_ready_i;
      if (push && watch_i && !watched_q) begin
        watched_q <= 1'b1;
        ahead_q   <= count_q - 8'(pop);
      end else if (watched_q && pop) begin
        watched_q <= ahead_q != '0;
        ahead_q   <= ahead_q - 8'd1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (push && !watched_q) word_q <= in_i;
    out_q <= out_i;
  end

  always_comb begin
    if (!rst_i) begin
      assert (count_q <= 8'(Depth));
      assert (!out_valid_i || count_q != '0);
      assert (out_valid_i || count_q == '0);
      assert (!push || count_q < 8'(Depth));
      assert (in_ready_i || count_q == 8'(Depth));
      assert (!held_q || (out_valid_i && out_i == out_q));
      assert (!(watched_q && pop && ahead_q == '0) || out_i == word_q);
    end
  end

endmodule
