// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_arbiter is fair: while requester `who`, any one, asks without a pause, each other one has at most one grant. A
// grant goes to one that asks, and to one whenever there is any.
module arbiter_proof (
  input logic       clk_i,
  input logic       rst_i,
  input logic [1:0] who_i,
  input logic [3:0] req_i,
  input logic       ready_i
);

  logic       valid, first_q;
  logic [1:0] index, who_q, who;
  logic [3:0] seen_q; // granted since `who` asks

  hcasim_arbiter #(
    .Num(4)
  ) u_dut (
    .clk_i, .rst_i, .req_i, .valid_o(valid), .ready_i, .index_o(index)
  );

  assign who = first_q ? who_i : who_q;

  always_ff @(posedge clk_i) begin
    first_q <= rst_i;
    who_q   <= who;
    if (rst_i || !req_i[who]) seen_q <= '0;
    else if (valid && ready_i) seen_q <= index == who ? '0 : seen_q | (4'd1 << index);
  end

  always_comb begin
    if (!rst_i) begin
      assert (valid == (req_i != '0));
      assert (!valid || req_i[index]);
      assert (!(req_i[who] && valid && ready_i && seen_q[index]));
    end
  end

endmodule
