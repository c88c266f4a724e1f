// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: what follows from the context and the record.

  // The WQE that is looked at: from its record, when it is read to be sent or for the lists.
  hcasim_engine_pkg::wqe_t  here;
  hcasim_pkg::wqe_op_info_t here_info; // of it
  logic here_reads, here_answered, here_local, here_tso;
  hcasim_pkg::wqe_op_info_t info; // of the WQE in w_q
  logic reads, answered, local_op, tso;
  logic reliable, flushing, datagram, has_cur, has_ack, fresh;
  logic [4:0]  mtu_shift;
  logic [31:0] mtu;
  logic [23:0] packets, sent;
  logic        cur_known, timer_asks;
  logic [7:0]  rec_seq;
  hcasim_engine_pkg::fetch_t f_next;
  logic [SegmentBits-1:0] segments; // of TSO
  // The first cycle of an op with its context; its tag, its fetch buffer; the WQE at `cur` is read to be sent.
  logic                      dispatch, taking, f_fresh;
  hcasim_engine_pkg::tag_t   tag;
  hcasim_engine_pkg::fetch_t f;
  logic [SlotBits-1:0]       slot;
  logic [15:0]               tail_now;
  logic                      listing;  // the lists are looked at
  logic                      ends_here; // StUntil1: all of the WQE is acknowledged, it is the oldest, and has no completion

  assign dispatch = state_q == StDispatch || (state_q == StIdle && op_valid_i && op_i != hcasim_engine_pkg::OpPortSet &&
                                              held_q && held_qpn_q == op_qpn);
  assign taking   = state_q == StSend || (dispatch && op_i == hcasim_engine_pkg::OpPacketise);
  assign tag      = state_q == StIdle ? tag_now : tag_q;
  assign f        = state_q == StIdle ? f_head : f_q;
  assign slot     = state_q == StIdle ? queue_head : slot_q;
  assign here     = taking || state_q == StList || state_q == StNext ? rec_wqe_i : w_q;
  assign here_info     = hcasim_pkg::wqe_op_info(here.op);
  assign here_reads    = here_info.scatter;
  assign here_answered = here_info.scatter || here_info.seg_flush || here_info.inline_data;
  assign here_local    = here_info.valid && !here_info.sent;
  assign here_tso      = here_info.seg_tso;
  assign info      = hcasim_pkg::wqe_op_info(w_q.op);
  assign reads     = info.scatter;
  assign answered  = info.scatter || info.seg_flush || info.inline_data;
  assign local_op  = info.valid && !info.sent;
  assign tso       = info.seg_tso;
  assign reliable  = c_q.qp_type == 8'(hcasim_pkg::QPT_RC) || c_q.qp_type == 8'(hcasim_pkg::QPT_XRC_SEND) ||
                     c_q.qp_type == 8'(hcasim_pkg::QPT_XRC_RECV);
  assign datagram  = c_q.qp_type == 8'(hcasim_pkg::QPT_UD) || c_q.qp_type == 8'(hcasim_pkg::QPT_RAW_PACKET);
  assign flushing  = c_q.state == 3'(hcasim_pkg::QPS_ERR) || c_q.state == 3'(hcasim_pkg::QPS_SQE);
  assign tail_now  = q_q.tail + 16'(appended);
  assign has_cur   = q_q.cur != tail_now;
  assign has_ack   = q_q.ack != q_q.tail;
  assign fresh     = q_q.live && q_q.epoch == tag.epoch;
  assign f_fresh   = q_q.live && q_q.epoch == f.epoch;
  assign mtu_shift = datagram ? 5'd31 : 5'(c_q.mtu_log); // a datagram or a frame is one packet
  assign mtu       = tso ? 32'(w_q.mss) : 32'd1 << mtu_shift;
  always_comb begin
    packets = 24'((38'(here.length) + (38'd1 << mtu_shift) - 38'd1) >> mtu_shift);
    if (here_tso) packets = 24'(segments);
    if (here.length == '0) packets = 24'd1;
  end
  assign sent      = q_q.una_psn - w_q.first_psn; // packets of the WQE before una_psn
  assign cur_known = state_q != StAppend || q_q.cur == seq_q; // otherwise that list needs no look at it
  // The ACK timeout has not to be looked at if it is off and stays so.
  assign timer_asks = !q_q.rnr_wait && ((reliable && c_q.timeout != '0) || q_q.timer_on);
  always_comb begin
    f_next         = f_q;
    f_next.used_bb = f_q.used_bb + blocks_q;
  end

  assign listing   = ((state_q == StList || state_q == StNext) && !has_cur) || (state_q == StList && rec_ack_i) ||
                     (state_q == StNext && rec_ack_i && !here.acked) || (appended && alone);
  assign ends_here = state_q == StUntil1 && w_q.started && !w_q.failed && !w_q.acked && !answered && !w_q.signaled &&
                     q_q.head == q_q.ack && q_q.cur != q_q.ack &&
                     24'(until_q - q_q.una_psn) < 24'(q_q.next_psn - q_q.una_psn) &&
                     24'(until_q - q_q.una_psn) >= 24'(w_q.npsn - sent);

  function automatic logic in_window(input logic [15:0] seq, input logic [15:0] head, input logic [15:0] tail);
    in_window = 16'(seq - head) < 16'(tail - head);
  endfunction

  function automatic logic behind(input logic [15:0] seq, input logic [15:0] other);
    logic [15:0] distance;
    distance = seq - other;
    behind   = !distance[15] && distance != '0;
  endfunction

  // Limits that keep go-back-N and 24-bit PSN arithmetic correct. The WQE is that at `cur`.
  logic        window_open, can_send, can_fetch;
  logic [24:0] unacked;
  logic [15:0] fetchable, fetch_max, fetch_size;

  assign unacked = 25'(24'(q_q.next_psn - q_q.una_psn)) + 25'(packets);
  always_comb begin
    if (!here.started) window_open = unacked <= PsnHalf;
    else if (q_q.ack == q_q.cur) window_open = 24'(here.first_psn + q_q.cur_pkt - q_q.una_psn) < WindowPackets;
    else window_open = q_q.cur_pkt < WindowPackets;
  end

  always_comb begin
    can_send = has_cur && !here.failed && !q_q.rnr_wait && q_q.paging == '0 && !c_q.paused;
    if (c_q.state != 3'(hcasim_pkg::QPS_RTS) && !(c_q.state == 3'(hcasim_pkg::QPS_SQD) && here.started))
      can_send = 1'b0;
    // IBTA 10.8.3.3: a fenced request starts after all earlier READs and atomics have completed.
    if (reliable && ((!here.started && here.fence && q_q.rd_incomplete != '0) ||
                     (here_answered && q_q.rd_out >= 16'(c_q.max_rd_atomic)) || !window_open))
      can_send = 1'b0;
  end

  assign can_fetch = (c_q.state == 3'(hcasim_pkg::QPS_RTS) || flushing) && !(q_q.fetching && !(appended && f_ends)) && q_q.fetched != q_q.pi &&
                     16'(tail_now - q_q.head) < 16'(window_i);
  assign fetchable  = q_q.pi - q_q.fetched;
  assign fetch_max  = c_q.entries < FetchBlocks ? c_q.entries : FetchBlocks;
  assign fetch_size = fetchable < fetch_max ? fetchable : fetch_max;
