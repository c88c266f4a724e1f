// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_qp_list is a fair round robin over queue pairs, with any order of work: its members are those that were appended
// and not removed, none is lost or in it twice, and the turn of any member, `who`, comes when those that were in the list
// before it have left, whatever is appended behind it. So it waits for at most one turn of each other.
module qp_list_proof (
  input logic       clk_i,
  input logic       rst_i,
  input logic [1:0] who_i,
  input logic       append_i,
  input logic       remove_i,
  input logic [1:0] qpn_i
);

  logic       valid, append, remove, first_q;
  logic [1:0] head, who, who_q;
  logic [3:0] member_q, ahead_q; // in the list; of them, before `who`

  // As the engine does: only who is not in the list is appended, only who is is removed.
  assign append = append_i && !member_q[qpn_i];
  assign remove = remove_i && member_q[qpn_i];
  assign who    = first_q ? who_i : who_q;

  hcasim_qp_list #(
    .QpnBits(2)
  ) u_dut (
    .clk_i, .rst_i, .append_i(append), .remove_i(remove), .qpn_i, .valid_o(valid), .head_o(head)
  );

  always_ff @(posedge clk_i) begin
    first_q <= rst_i;
    who_q   <= who;
    if (rst_i) begin
      member_q <= '0;
      ahead_q  <= '0;
    end else if (append) begin
      member_q[qpn_i] <= 1'b1;
      if (qpn_i == who) ahead_q <= member_q;
    end else if (remove) begin
      member_q[qpn_i] <= 1'b0;
      ahead_q[qpn_i]  <= 1'b0;
    end
  end

  always_comb begin
    if (!rst_i) begin
      assert (valid == (member_q != '0));
      assert (!valid || member_q[head]);
      assert (!member_q[who] || (ahead_q != '0 ? ahead_q[head] : head == who));
    end
  end

endmodule
