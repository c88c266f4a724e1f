// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: the fields of a packet, and what a WQE and its queue become with it.

  // ---- The packet ----

  logic                        making; // a packet's fields are wanted
  hcasim_engine_pkg::send_qp_t send_qp;
  logic        unused_ready, unused_valid, unused_last;
  logic [31:0] unused_offset;
  logic [23:0] unused_psns, unused_number;
  logic [63:0] offset;
  logic        last_packet;
  logic [15:0] data_len; // of the payload, without TSO headers
  hcasim_engine_pkg::offload_t segment;

  assign making = state_q == StSend8 || state_q == StSend10 || state_q == StPacket;

  always_comb begin
    send_qp               = '0;
    if (making) begin
      send_qp.qp_type       = c_q.qp_type;
      send_qp.qpn           = c_q.qpn;
      send_qp.mtu_log       = datagram ? 4'd15 : c_q.mtu_log;
      send_qp.qkey          = c_q.qkey;
      send_qp.dest_qpn      = c_q.dest_qpn;
      send_qp.udp_sport     = c_q.udp_sport;
      send_qp.dgid          = c_q.dgid;
      send_qp.dmac          = c_q.dmac;
      send_qp.hop_limit     = c_q.hop_limit;
      send_qp.traffic_class = c_q.traffic_class;
      send_qp.flow_label    = c_q.flow_label[19:0];
    end
  end

  hcasim_packetise u_packetise (
    .clk_i,
    .rst_i,
    .valid_i (1'b0),
    .ready_o (unused_ready),
    .look_i  (making),
    .wr_i    (wr_q),
    .ud_i    (ud_q),
    .qp_i    (send_qp),
    .psn_i   (w_q.first_psn),
    .begin_i (q_q.cur_pkt),
    .offset_i(offset[31:0]),
    .psns_o  (unused_psns),
    .valid_o (unused_valid),
    .ready_i (1'b0),
    .packet_o,
    .offset_o(unused_offset),
    .number_o(unused_number),
    .last_o  (unused_last)
  );

  assign offset      = tso ? 64'(q_q.cur_pkt[SegmentBits-1:0]) * 64'(w_q.mss) : 64'(q_q.cur_pkt) << mtu_shift;
  assign data_len    = packet_o.payload_len - (tso ? wr_q.hdr_size : 16'd0);
  assign last_packet = reads || q_q.cur_pkt == w_q.npsn - 24'd1;

  hcasim_tso u_tso (
    .net_i    (net_q),
    .number_i (q_q.cur_pkt[15:0]),
    .offset_i (offset[31:0]),
    .length_i (packet_o.payload_len),
    .last_i   (last_packet),
    .offload_o(segment)
  );

  always_comb begin
    offload_o = '0;
    if (making) begin
      if (tso) offload_o = segment;
      offload_o.sums     = tso || wr_q.ip_csum;
      offload_o.datagram = c_q.qp_type == 8'(hcasim_pkg::QPT_UD);
      offload_o.length   = packet_o.payload_len;
    end
  end

  // The record of the WQE with this packet, and whether it has to be written.
  hcasim_engine_pkg::wqe_t w_sent;
  logic                    w_stores;
  state_e                  sent_next;

  always_comb begin
    w_sent            = w_q;
    w_sent.rd_counted = w_q.rd_counted || answered;
    if (w_q.issued == '0) w_sent.issued = cycle_q;
  end
  assign w_stores = answered || w_q.issued == '0;

  // While a request is not acknowledged its timer runs, and so it does already, unless this is the first one.
  always_comb begin
    sent_next = answered || q_q.cur_pkt + 24'd1 >= w_q.npsn ? StNext : StList;
    if ((reliable && c_q.timeout != '0) != q_q.timer_on) sent_next = StTimer;
    if (w_stores && !rec_ack_i) sent_next = StStore;
  end

  // The WQE at `cur`. It becomes the head: checks its keys, and assigns its PSNs. The memory for a response is checked when
  // the response arrives, as on hardware: a refusal of the peer comes first, and an atomic has been executed by then.
  task automatic take_wqe();
    if (!rec_ack_i) begin
      state_q <= StSend;
    end else begin
      q_q.on_tx    <= 1'b0; // to the end of the list, if it has more
      seq_q        <= q_q.cur;
      w_q          <= rec_wqe_i;
      wr_q         <= rec_wr_i;
      ud_q         <= rec_ud_i;
      bind_q       <= rec_bind_i;
      net_q        <= rec_net_i;
      if (here.started) begin
        state_q <= StSend6;
      end else if (!here.is_inline && !here_reads) begin
        ask_memory(hcasim_engine_pkg::ReqLookup, '0, '1, 1'b0, 1'b1, StSend3);
      end else if (here_local || here_tso) begin
        state_q <= StSend4;
      end else begin
        // Inline data, or none: nothing but the packet is left to be asked for. Its record is stored with that.
        start_wqe();
        ask(hcasim_engine_pkg::ReqPacket, StPacket);
        req_q.offset <= '0;
        req_q.check  <= 1'b1;
        state_q      <= StPacket;
        if (!tag_avail) store(StSettle);
      end
      req_q.seq <= q_q.cur;
    end
  endtask

  // The packet was taken. Without memory nothing changes: the next step tries again.
  task automatic sent_packet();
    ret_timer_q <= answered || q_q.cur_pkt + 24'd1 >= w_q.npsn ? StNext : StList;
    if (!ans_ok_i) begin
      store(StSettle);
    end else begin
      w_q         <= w_sent;
      state_q     <= sent_next;
      ret_store_q <= StTimer;
      if (answered) q_q.rd_out <= q_q.rd_out + 16'd1;
      q_q.cur_pkt <= q_q.cur_pkt + 24'd1;
      if (answered || q_q.cur_pkt + 24'd1 >= w_q.npsn) begin
        q_q.cur     <= q_q.cur + 16'd1;
        q_q.cur_pkt <= '0;
      end
    end
  endtask
