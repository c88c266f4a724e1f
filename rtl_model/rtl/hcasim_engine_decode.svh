// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: from the blocks of a fetch buffer to the record of a WQE.

  // ---- The native decoder ----

  logic                          dec_valid, dec_ready, dec_done;
  hcasim_engine_pkg::decode_qp_t dec_qp;
  hcasim_engine_pkg::wr_t        dec_wr;
  hcasim_pkg::seg_ud_t           dec_ud;
  hcasim_pkg::seg_bind_t         dec_bind;
  logic                          dec_take;
  logic [4:0]                    blocks_q, fed_q; // of the WQE; that the decoder has taken
  logic [10:0]                   bytes_q;
  logic [15:0]                   index; // of the WQE
  logic                          sizing; // its first block is read
  hcasim_pkg::wqe_ctrl_t         ctrl;

  assign index  = f.index + 16'(f.used_bb);
  assign ctrl   = block_i[127:0];
  assign sizing = state_q == StSize || (dispatch && !f.failed && (op_i == hcasim_engine_pkg::OpDecodeWork ||
                                                                  (op_i == hcasim_engine_pkg::OpDecode && f_fresh)));
  always_comb begin
    dec_qp            = '0;
    dec_qp.qp_type    = c_q.qp_type;
    dec_qp.qpn        = c_q.qpn;
    dec_qp.port       = 8'(c_q.port);
    dec_qp.port_mtu   = port_mtu;
    dec_qp.max_inline = c_q.max_inline;
    dec_qp.rd_atomic  = c_q.max_rd_atomic != '0;
  end

  // The size of the WQE at the front.
  logic [31:0] wqe_bytes;
  logic        size_ok;
  logic [4:0]  wqe_blocks;
  logic        whole, fetch_again; // all of it is posted; its rest is still in the ring

  always_comb begin
    wqe_bytes = count_q; // answered by another device family
    if (sizing) wqe_bytes = 32'(ctrl.size) <= MaxUnits ? 32'(ctrl.size) * hcasim_pkg::SEG_UNIT : '0;
  end
  assign size_ok     = !f.failed && wqe_bytes != '0 && wqe_bytes <= hcasim_pkg::WQE_MAX_BB * BlockBytes;
  assign wqe_blocks  = size_ok ? 5'((wqe_bytes[10:0] + 11'(BlockBytes - 1)) >> $clog2(BlockBytes)) : 5'd1;
  assign whole       = size_ok && 16'(wqe_blocks) <= 16'(q_q.pi - index);
  assign fetch_again = whole && wqe_blocks > f.num_bb - f.used_bb;

  hcasim_pkg::wqe_op_info_t dec_info;

  assign dec_info  = hcasim_pkg::wqe_op_info(dec_wr.op);
  assign dec_valid = block_ack_i && (state_q == StBlocks || (sizing && native_i && op_i == hcasim_engine_pkg::OpDecode &&
                                                             !fetch_again));
  assign dec_take  = dec_valid && dec_ready;

  hcasim_wqe_decode u_decode (
    .clk_i,
    .rst_i,
    .valid_i (dec_valid),
    .ready_o (dec_ready),
    .block_i,
    .qp_i    (dec_qp),
    .index_i (index),
    .posted_i(q_q.pi - index),
    .valid_o (dec_done),
    .ready_i (state_q == StDecode2),
    .wr_o    (dec_wr),
    .ud_o    (dec_ud),
    .bind_o  (dec_bind)
  );

  logic [7:0]  limit_status, limit_vendor;
  logic [15:0] port_mtu;

  assign port_mtu = c_q.port == 2'd2 ? mtu_q[1] : mtu_q[0];

  hcasim_wqe_limits u_limits (
    .valid_i     (state_q == StLimits && !native_i),
    .wr_i        (wr_q),
    .ud_i        (ud_q),
    .qp_i        (dec_qp),
    .headers_ok_i(headers_ok),
    .status_o    (limit_status),
    .vendor_err_o(limit_vendor)
  );

  // ---- The headers of TSO ----

  logic [BlockBytes*8-1:0] lines_q [hcasim_pkg::WQE_MAX_BB]; // the WQE
  logic [BlockBytes*8-1:0] header_bytes;
  logic [9:0]              header_at;
  logic                    tso_wanted, headers_done, headers_ok;
  hcasim_engine_pkg::net_t headers_net;

  always_ff @(posedge clk_i) begin
    if (state_q == StTsoBlocks && block_ack_i) lines_q[fed_q[3:0]] <= block_i;
  end

  always_comb begin
    header_bytes = '0;
    if (state_q == StTsoParse)
      header_bytes = (BlockBytes*8)'({lines_q[header_at[9:6] + 4'd1], lines_q[header_at[9:6]]} >> {header_at[5:0], 3'b000});
  end

  hcasim_tso_check u_tso_check (
    .clk_i,
    .rst_i,
    .wr_i      (wr_q),
    .wanted_o  (tso_wanted),
    .start_i   (state_q == StTsoBlocks && block_ack_i && fed_q + 5'd1 == blocks_q),
    .datagram_i(c_q.qp_type == 8'(hcasim_pkg::QPT_UD)),
    .at_o      (header_at),
    .bytes_i   (header_bytes),
    .done_o    (headers_done),
    .ok_o      (headers_ok),
    .net_o     (headers_net)
  );

  logic segments_done;

  hcasim_divide #(
    .Bits       (SegmentBits),
    .DivisorBits(16)
  ) u_segments (
    .clk_i,
    .rst_i,
    .start_i   (state_q == StSend4 && tso),
    .dividend_i(w_q.length[SegmentBits-1:0]),
    .divisor_i (w_q.mss),
    .done_o    (segments_done),
    .quotient_o(segments)
  );

  // ---- The request of a WQE ----

  hcasim_engine_pkg::wr_t wr_new;
  logic                   stored_q, seen_q; // StAppend: its record is written, its bytes are taken
  logic                   appended, alone, f_ends;

  // Fields of segments that the WQE does not have are 0.
  always_comb begin
    wr_new = wr_q; // decoded by another device family, or with the headers of TSO
    if (state_q == StDecode2) begin
      wr_new = dec_wr;
      if (!dec_info.seg_remote) begin
        wr_new.remote_addr = '0;
        wr_new.rkey        = '0;
      end
      if (!dec_info.seg_atomic) begin
        wr_new.swap_add = '0;
        wr_new.compare  = '0;
      end
      if (!dec_info.seg_flush) begin
        wr_new.flush_length = '0;
        wr_new.flush_type   = '0;
        wr_new.flush_level  = '0;
      end
      if (!dec_info.address || c_q.qp_type != 8'(hcasim_pkg::QPT_XRC_SEND)) wr_new.srqn = '0;
    end
  end

  assign appended = state_q == StAppend && (stored_q || rec_ack_i) && (seen_q || req_ack_i);
  assign f_ends   = f_next.used_bb == f_q.num_bb;
  assign alone    = c_q.state == 3'(hcasim_pkg::QPS_RTS) && (q_q.head != seq_q || !w_q.failed); // it is sent, or waits

  task automatic size_wqe();
    if (sizing && !block_ack_i) begin
      state_q <= StSize;
    end else begin
      req_q.slot    <= 5'(slot);
      req_q.block   <= f.used_bb;
      blocks_q      <= whole ? wqe_blocks : 5'd1;
      fed_q         <= 5'(dec_take);
      fail_vendor_q <= f.failed ? 8'(hcasim_pkg::VENDOR_ERR_DMA_FAULT) : NoError;
      bytes_q       <= whole ? wqe_bytes[10:0] : 11'(BlockBytes);
      wr_q          <= '0;
      ud_q          <= '0;
      bind_q        <= '0;
      w_q           <= '0;
      if (sizing && !native_i) begin
        ask(hcasim_engine_pkg::ReqSize, StDecode1);
      end else if (op_i == hcasim_engine_pkg::OpDecodeWork) begin
        count_q        <= f.failed || wqe_bytes == '0 ? BlockBytes : wqe_bytes;
        result_items_o <= 8'(wqe_blocks <= f.num_bb - f.used_bb); // 0: it will be fetched again
        state_q        <= StIdle;
      end else if (f.failed) begin
        state_q <= StLimits;
      end else if (fetch_again) begin
        q_q.fetched <= index; // completely
        state_q     <= StDecoded;
      end else begin
        // The ring may have no complete WQE here. Report the decoder's reason, if it has a better one.
        if (!whole) fail_vendor_q <= 8'(hcasim_pkg::VENDOR_ERR_BAD_SIZE);
        if (!native_i) state_q <= StForeign;
        else state_q <= dec_take && (!whole || wqe_blocks == 5'd1) ? StDecode2 : StBlocks;
      end
    end
  endtask

  // What is kept of a WQE, and what is wrong with it.
  task automatic limit_wqe();
    w_q.op        <= wr_new.op;
    w_q.index     <= index;
    w_q.num_bb    <= blocks_q;
    w_q.signaled  <= wr_new.signaled;
    w_q.fence     <= wr_new.fence;
    w_q.is_inline <= wr_new.is_inline;
    w_q.length    <= wr_new.length;
    w_q.mss       <= wr_new.mss;
    w_q.fetched   <= f_q.arrived;
    wr_q.index    <= index;
    wr_q.num_bb   <= blocks_q;
    if (fail_vendor_q != NoError && wr_new.vendor_err == NoError) begin
      w_q.failed     <= 1'b1;
      w_q.status     <= 8'(hcasim_pkg::CQE_STATUS_LOC_QP_OP_ERR);
      w_q.vendor_err <= fail_vendor_q;
    end else if (native_i && state_q == StLimits && tso_wanted && !headers_ok) begin
      w_q.failed     <= 1'b1;
      w_q.status     <= 8'(hcasim_pkg::CQE_STATUS_LOC_QP_OP_ERR);
      w_q.vendor_err <= 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    end else if (native_i ? wr_new.status != StatusOk : limit_vendor != NoError) begin
      w_q.failed     <= 1'b1;
      w_q.status     <= native_i ? wr_new.status : limit_status;
      w_q.vendor_err <= native_i ? wr_new.vendor_err : limit_vendor;
    end
    if (flushing) begin
      w_q.failed     <= 1'b1;
      w_q.settled    <= 1'b1; // what failed before it has stopped the queue, which may be in RTS again when its turn comes
      w_q.status     <= 8'(hcasim_pkg::CQE_STATUS_WR_FLUSH_ERR);
      w_q.vendor_err <= NoError;
    end
    seq_q <= q_q.tail;
    ask(hcasim_engine_pkg::ReqSeen, StAppend);
    req_q.seq   <= q_q.tail;
    req_q.bytes <= bytes_q;
    req_q.check <= f_q.failed; // there are no bytes
    stored_q    <= 1'b0;
    seen_q      <= 1'b0;
    state_q     <= StAppend;
  endtask
