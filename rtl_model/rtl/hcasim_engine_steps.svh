// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: its states.

  task automatic load(input logic [15:0] seq, input state_e next);
    seq_q      <= seq;
    ret_load_q <= next;
    state_q    <= StLoad;
  endtask

  task automatic store(input state_e next);
    ret_store_q <= next;
    state_q     <= StStore;
  endtask

  task automatic ask(input logic [3:0] kind, input state_e next);
    req_q.kind <= kind;
    req_q.qpn  <= c_q.qpn;
    req_q.tag  <= 16'(tag_new); // of what the request may begin
    req_q.seq  <= seq_q;
    ret_req_q  <= next;
    state_q    <= StRequest;
  endtask

  // Keys or pages of a part of the SGEs of WQE seq_q.
  task automatic ask_memory(input logic [3:0] kind, input logic [63:0] from, input logic [63:0] length, input logic write,
                            input logic check, input state_e next);
    req_q.offset <= from;
    req_q.length <= length;
    req_q.write  <= write;
    req_q.check  <= check;
    ask(kind, next);
  endtask

  task automatic fail(input logic [7:0] status, input logic [7:0] vendor_err, input state_e next);
    fail_status_q <= status;
    fail_vendor_q <= vendor_err;
    ret_fail_q    <= next;
    state_q       <= StFail;
  endtask

  task automatic set_timer(input logic [63:0] at, input state_e next);
    at_q      <= at;
    ret_set_q <= next;
    state_q   <= StTimerSet;
  endtask

  // The WQE at `cur`, in w_q, gets its PSNs.
  task automatic start_wqe();
    w_q.started   <= 1'b1;
    w_q.first_psn <= q_q.next_psn;
    w_q.npsn      <= here_local ? '0 : packets;
    if (!here_local) q_q.next_psn <= q_q.next_psn + packets;
    if (here_answered) q_q.rd_incomplete <= q_q.rd_incomplete + 16'd1;
  endtask

  // PSNs before `una` are acknowledged.
  task automatic acked(input logic [23:0] una);
    q_q.una_psn     <= una;
    q_q.retries     <= '0;
    q_q.rnr_retries <= '0;
    q_q.nak_rewound <= 1'b0;
  endtask

  // StUntil1: the WQE behind `ack`. There is one, since that of until_q does not end here.
  task automatic until_next();
    seq_q <= q_q.ack + 16'd1;
    w_q   <= rec_wqe_i;
    if (!rec_ack_i) state_q <= StUntil;
  endtask

  // The lists of FETCH and PACKETISE: the end of an op.
  task automatic lists();
    q_q.on_fetch <= can_fetch;
    if (cur_known) q_q.on_tx <= can_send;
    state_q <= StIdle;
  endtask

  // No WQE has ended: only the lists are left, unless SQD is reached.
  task automatic settled();
    state_q <= c_q.state == 3'(hcasim_pkg::QPS_SQD) && !q_q.drained_sent ? StSqd : StList;
  endtask

  // A packet is about to leave. It does not if its WQE, or one before it, has failed meanwhile, or its queue has stopped.
  task automatic leave();
    if (fresh && c_q.state != 3'(hcasim_pkg::QPS_RTS) && c_q.state != 3'(hcasim_pkg::QPS_SQD)) state_q <= StSettle;
    else if (fresh && op_flag_i && in_window(tag.seq, q_q.head, q_q.tail)) load(tag.seq, StLeave);
    else if (fresh) left();
  endtask

  task automatic left();
    state_q <= op_flag_i ? StSettle : StIdle;
    if (!q_q.fault || behind(q_q.fault_seq, tag.seq)) begin
      res_ok_q <= !op_flag_i;
      // An unreliable send is complete when its last packet has left (IBTA 9.8.1.2, 9.8.2).
      if (tag.last && !reliable && in_window(tag.seq, q_q.head, q_q.tail)) load(tag.seq, StLeft);
    end
  endtask

`include "hcasim_engine_dispatch.svh"

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q           <= StIdle;
      served_q          <= 1'b0;
      held_q            <= 1'b0;
      wqes_q            <= '0;
      retransmissions_q <= '0;
      rnr_naks_q        <= '0;
      sequence_naks_q   <= '0;
      implied_naks_q    <= '0;
      timeouts_q        <= '0;
    end else begin
      unique case (state_q)
`include "hcasim_engine_ops.svh"
`include "hcasim_engine_window.svh"
`include "hcasim_engine_retire.svh"
`include "hcasim_engine_fetch.svh"
`include "hcasim_engine_send.svh"
`include "hcasim_engine_feedback.svh"
        default: state_q <= StIdle;
      endcase
    end
  end
