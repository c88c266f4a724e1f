// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: rules of its requests, PSNs, credits and order, checked by Verilator.

`ifndef SYNTHESIS
  logic sends, asks_read, asks_local;

  assign sends      = req_valid_o && req_o.kind == 4'(hcasim_engine_pkg::ReqPacket);
  assign asks_read  = req_valid_o && req_o.kind == 4'(hcasim_engine_pkg::ReqRead);
  assign asks_local = req_valid_o && req_o.kind == 4'(hcasim_engine_pkg::ReqLocal);

  `HCASIM_ASSERT_STABLE(RequestStays, req_valid_o, req_ack_i, req_o)
  `HCASIM_ASSERT(OpStays, op_valid_i |=> op_done_o || (op_valid_i && $stable(op_i)))

  // State (IBTA 10.3.1): in SQD only what was started goes on; nothing is sent while the queue waits.
  `HCASIM_ASSERT(SendsInRts, !sends || (c_q.state == 3'(hcasim_pkg::QPS_RTS)) ||
                 (c_q.state == 3'(hcasim_pkg::QPS_SQD) && w_q.started))
  `HCASIM_ASSERT(SendsWhileActive, !sends || (q_q.live && !c_q.paused && !q_q.rnr_wait && !w_q.failed))
  `HCASIM_ASSERT(ReadsTheRing, !asks_read || (c_q.state != 3'(hcasim_pkg::QPS_RESET) &&
                 req_q.addr0 - c_q.ring + 64'(req_q.bytes0) <= 64'(c_q.entries) * BlockBytes &&
                 16'(req_q.bytes0) + 16'(req_q.bytes1) == fetch_size * 16'(BlockBytes)))
  `HCASIM_ASSERT(LocalOnce, !asks_local || (local_op && !w_q.started && c_q.state == 3'(hcasim_pkg::QPS_RTS)))
  `HCASIM_ASSERT(FailsToItsState, !req_valid_o || req_o.kind != 4'(hcasim_engine_pkg::ReqFailed) ||
                 req_q.state == (reliable ? 3'(hcasim_pkg::QPS_ERR) : c_q.state))

  // Credit: outstanding READs and atomics; the window of a message.
  `HCASIM_ASSERT(ReadCredit, !sends || !reliable || !answered || q_q.rd_out < 16'(c_q.max_rd_atomic))
  `HCASIM_ASSERT(FenceWaits, !(taking && rec_ack_i) || !reliable || here.started || !here.fence || q_q.rd_incomplete == '0)
  `HCASIM_ASSERT(InWindow, !sends || !reliable ||
                 24'(packet_o.psn - (q_q.ack == q_q.cur ? q_q.una_psn : w_q.first_psn)) < WindowPackets)
  `HCASIM_ASSERT(PsnsInHalf, state_q != StSave || !reliable || 25'(24'(q_q.next_psn - q_q.una_psn)) <= PsnHalf)

  // PSNs go up by one, or start again at the oldest one that is not acknowledged (IBTA 9.7.5.1.1).
  logic [24:0] sent_q [2**QpnBits]; // a packet was sent; the PSN behind it
  logic [24:0] sent_last_q; // of the QP; a register, for Verilator keeps a copy of all that an assertion looks at

  always_ff @(posedge clk_i) sent_last_q <= sent_q[held_qpn_q];

  always_ff @(posedge clk_i) begin
    if (sends && req_ack_i && ans_ok_i)
      sent_q[held_qpn_q] <= {1'b1, answered ? w_q.first_psn + w_q.npsn : packet_o.psn + 24'd1};
    else if (dispatch && (op_i == hcasim_engine_pkg::OpCreate || op_i == hcasim_engine_pkg::OpReset ||
                                       (op_i == hcasim_engine_pkg::OpSet && set_psn_i)))
      sent_q[held_qpn_q] <= '0;
  end

  `HCASIM_ASSERT(PsnFollows, !sends || !sent_last_q[24] || packet_o.psn == sent_last_q[23:0] ||
                 (reliable ? packet_o.psn == q_q.una_psn : q_q.cur_pkt == '0))
  `HCASIM_ASSERT(PsnInMessage, !sends || 24'(packet_o.psn - w_q.first_psn) < w_q.npsn)

  // Order: WQEs end as they stand in the ring; `cur` and `ack` are inside the window of decoded ones.
  `HCASIM_ASSERT(EndsInOrder, !retires || w_q.index == q_q.retired)
  `HCASIM_ASSERT(EndsWhole, state_q != StPop || ((w_q.acked || w_q.failed) && w_q.dma_pending == '0))
  `HCASIM_ASSERT(RecordsFit, state_q != StSave || 16'(q_q.tail - q_q.head) < 16'd256)
  `HCASIM_ASSERT(PlacesInWindow, state_q != StSave || (16'(q_q.cur - q_q.head) <= 16'(q_q.tail - q_q.head) &&
                                                      16'(q_q.ack - q_q.head) <= 16'(q_q.tail - q_q.head)))

  // What the states take for granted: a PSN that is not acknowledged, and a timer that runs, have their WQE.
  `HCASIM_ASSERT(FeedbackHasItsWqe, !((state_q == StData && all_q) || (state_q == StNak && all_q) || state_q == StRetry) ||
                 has_ack)
  `HCASIM_ASSERT(AnswersAStartedWqe, !(state_q == StFatal || state_q == StRetry1 || state_q == StRnr1) || w_q.started)
  `HCASIM_ASSERT(AnotherWqeFollows, state_q != StUntil1 || !(ends_here || w_q.acked) || q_q.ack + 16'd1 != q_q.tail)
  `HCASIM_ASSERT(SavedAtOnce, state_q != StSave || load_ack)
  `HCASIM_ASSERT(DecodedAtOnce, state_q != StDecode2 || dec_done)
`endif
