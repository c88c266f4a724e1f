// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: what follows from the context and the record.

  hcasim_pkg::wqe_op_info_t info; // of w_q
  logic reliable, flushing, datagram, has_cur, has_ack, reads, answered, local_op, tso, fresh;
  logic [4:0]  mtu_shift;
  logic [31:0] mtu;
  logic [23:0] packets, sent;
  logic        cur_known, timer_asks;
  logic [7:0]  rec_seq;
  hcasim_engine_pkg::fetch_t f_next;
  logic [SegmentBits-1:0] segments; // of TSO

  assign info      = hcasim_pkg::wqe_op_info(w_q.op);
  assign reads     = info.scatter;
  assign answered  = info.scatter || info.seg_flush || info.inline_data;
  assign local_op  = info.valid && !info.sent;
  assign tso       = info.seg_tso;
  assign reliable  = c_q.qp_type == 8'(hcasim_pkg::QPT_RC) || c_q.qp_type == 8'(hcasim_pkg::QPT_XRC_SEND) ||
                     c_q.qp_type == 8'(hcasim_pkg::QPT_XRC_RECV);
  assign datagram  = c_q.qp_type == 8'(hcasim_pkg::QPT_UD) || c_q.qp_type == 8'(hcasim_pkg::QPT_RAW_PACKET);
  assign flushing  = c_q.state == 3'(hcasim_pkg::QPS_ERR) || c_q.state == 3'(hcasim_pkg::QPS_SQE);
  assign has_cur   = q_q.cur != q_q.tail;
  assign has_ack   = q_q.ack != q_q.tail;
  assign fresh     = q_q.live && q_q.epoch == tag_q.epoch;
  assign mtu_shift = datagram ? 5'd31 : 5'(c_q.mtu_log); // a datagram or a frame is one packet
  assign mtu       = tso ? 32'(w_q.mss) : 32'd1 << mtu_shift;
  always_comb begin
    packets = 24'((38'(w_q.length) + (38'd1 << mtu_shift) - 38'd1) >> mtu_shift);
    if (tso) packets = 24'(segments);
    if (w_q.length == '0) packets = 24'd1;
  end
  assign sent      = q_q.una_psn - w_q.first_psn; // packets of the WQE before una_psn
  assign cur_known = !short_q || q_q.cur == seq_q; // w_q is the WQE at `cur`, or the list needs no look at it
  // The ACK timeout has not to be looked at if it is off and stays so.
  assign timer_asks = !q_q.rnr_wait && ((reliable && c_q.timeout != '0) || q_q.timer_on);
  always_comb begin
    f_next         = f_q;
    f_next.used_bb = f_q.used_bb + blocks_q;
  end

  function automatic logic in_window(input logic [15:0] seq, input logic [15:0] head, input logic [15:0] tail);
    in_window = 16'(seq - head) < 16'(tail - head);
  endfunction

  function automatic logic behind(input logic [15:0] seq, input logic [15:0] other);
    logic [15:0] distance;
    distance = seq - other;
    behind   = !distance[15] && distance != '0;
  endfunction

  // Limits that keep go-back-N and 24-bit PSN arithmetic correct. w_q is the WQE at `cur`.
  logic        window_open, can_send, can_fetch;
  logic [24:0] unacked;
  logic [15:0] fetchable, fetch_max, fetch_size;

  assign unacked = 25'(24'(q_q.next_psn - q_q.una_psn)) + 25'(packets);
  always_comb begin
    if (!w_q.started) window_open = unacked <= PsnHalf;
    else if (q_q.ack == q_q.cur) window_open = 24'(w_q.first_psn + q_q.cur_pkt - q_q.una_psn) < WindowPackets;
    else window_open = q_q.cur_pkt < WindowPackets;
  end

  always_comb begin
    can_send = has_cur && !w_q.failed && !q_q.rnr_wait && q_q.paging == '0 && !c_q.paused;
    if (c_q.state != 3'(hcasim_pkg::QPS_RTS) && !(c_q.state == 3'(hcasim_pkg::QPS_SQD) && w_q.started))
      can_send = 1'b0;
    // IBTA 10.8.3.3: a fenced request starts after all earlier READs and atomics have completed.
    if (reliable && ((!w_q.started && w_q.fence && q_q.rd_incomplete != '0) ||
                     (answered && q_q.rd_out >= 16'(c_q.max_rd_atomic)) || !window_open))
      can_send = 1'b0;
  end

  assign can_fetch = (c_q.state == 3'(hcasim_pkg::QPS_RTS) || flushing) && !q_q.fetching && q_q.fetched != q_q.pi &&
                     16'(q_q.tail - q_q.head) < Window;
  assign fetchable  = q_q.pi - q_q.fetched;
  assign fetch_max  = c_q.entries < FetchBlocks ? c_q.entries : FetchBlocks;
  assign fetch_size = fetchable < fetch_max ? fetchable : fetch_max;
