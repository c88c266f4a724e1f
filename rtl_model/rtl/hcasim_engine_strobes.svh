// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: its outputs, and what lists, tags and fetch buffers are told.

  assign op_done_o      = state_q == StIdle && served_q;
  assign result_ok_o    = res_ok_q;
  // Blocks may be decoded after their queue pair is gone, and another one has its place.
  assign result_qpn_o   = op_q == 5'(hcasim_engine_pkg::OpDecode) || op_q == 5'(hcasim_engine_pkg::OpDecodeWork) ? f_q.owner : c_q.qpn;
  assign result_slot_o  = slot_q;
  assign result_bytes_o = count_q;
  assign result_read_o  = reads && !w_q.failed ? w_q.length[31:0] : '0;
  assign wqe_o          = w_q;
  assign state_o        = q_q;
  assign qp_state_o     = c_q.state;

  assign req_valid_o = state_q == StRequest || state_q == StPacket || (state_q == StAppend && !seen_q) || ends_here;
  always_comb begin
    req_o = req_q;
    if (ends_here) req_o.kind = 4'(hcasim_engine_pkg::ReqNow);
  end

  assign rec_we_o    = state_q == StStore || (state_q == StPacket && w_stores) || rec_body_o;
  assign rec_body_o  = state_q == StAppend && !stored_q;
  assign rec_qpn_o   = held_qpn_q;
  assign rec_seq_o   = rec_seq;
  always_comb begin
    rec_valid_o = state_q == StLoad || rec_we_o;
    rec_seq     = seq_q[7:0];
    unique case (state_q)
      StIdle, StDispatch, StSend: begin
        rec_valid_o = taking;
        rec_seq     = q_q.cur[7:0];
      end
      StList, StNext: begin
        rec_valid_o = has_cur;
        rec_seq     = q_q.cur[7:0];
      end
      StSettle: begin
        rec_valid_o = q_q.head != q_q.tail;
        rec_seq     = q_q.head[7:0];
      end
      StOpen: begin
        rec_valid_o = walk_q != q_q.tail;
        rec_seq     = walk_q[7:0];
      end
      StTimer: begin
        rec_valid_o = timer_asks;
        rec_seq     = q_q.ack[7:0];
      end
      StUntil: begin
        rec_valid_o = has_ack;
        rec_seq     = q_q.ack[7:0];
      end
      StUntil1: begin
        rec_valid_o = ends_here || w_q.acked;
        rec_seq     = q_q.ack[7:0] + 8'd1;
      end
      default: ;
    endcase
  end
  assign rec_wqe_o   = state_q == StPacket ? w_sent : w_q;
  assign rec_wr_o    = wr_q;
  assign rec_ud_o    = ud_q;
  assign rec_bind_o  = bind_q;
  assign rec_net_o   = net_q;

  assign block_valid_o  = (state_q == StBlocks && dec_ready) || sizing || state_q == StTsoBlocks;
  assign block_slot_o   = slot;
  assign block_number_o = f.used_bb + (sizing ? 5'd0 : fed_q);

  assign wqes_o            = wqes_q;
  assign retransmissions_o = retransmissions_q;
  assign rnr_naks_o        = rnr_naks_q;
  assign sequence_naks_o   = sequence_naks_q;
  assign implied_naks_o    = implied_naks_q;
  assign timeouts_o        = timeouts_q;

  // A queue pair is at the end of a list once it has more work, and leaves it when its turn is, or it has none.
  assign fetch_add    = listing && can_fetch && !q_q.on_fetch;
  assign fetch_remove = (listing && !can_fetch && q_q.on_fetch) || (state_q == StClear1 && q_q.on_fetch) ||
                        state_q == StFetch;
  assign tx_add       = listing && cur_known && can_send && !q_q.on_tx;
  assign tx_remove    = (listing && cur_known && !can_send && q_q.on_tx) || (state_q == StClear1 && q_q.on_tx) ||
                        (taking && rec_ack_i);

  assign tag_take  = (state_q == StFetch1 && ok_q) || (state_q == StPacket && req_ack_i && ans_ok_i) || (state_q == StFault1 && ok_q) ||
                     (state_q == StResult3 && !count_q[31] && count_q != '0);
  assign tag_count = state_q == StWritten && tag_q.count != 16'd1;
  assign tag_free  = dispatch &&
                     (op_i == hcasim_engine_pkg::OpReadDone || op_i == hcasim_engine_pkg::OpReleased) ||
                     (state_q == StWritten && tag_q.count == 16'd1);

  always_comb begin
    tag_entry        = '0;
    tag_entry.qpn    = 24'(held_qpn_q);
    tag_entry.epoch  = q_q.epoch;
    tag_entry.seq    = seq_q;
    tag_entry.slot   = 5'(slot_q);
    tag_entry.count  = count_q[15:0];
    tag_entry.result = result_q;
    tag_entry.last   = last_packet;
    unique case (state_q)
      StFetch1: tag_entry.kind = hcasim_engine_pkg::TagRead;
      StPacket: tag_entry.kind = hcasim_engine_pkg::TagPacket;
      StFault1: tag_entry.kind = hcasim_engine_pkg::TagPages;
      default:  tag_entry.kind = hcasim_engine_pkg::TagResult;
    endcase
  end

  // A fetch buffer is taken by a read or a push. It waits for the decoder once its blocks are there.
  assign slot_take  = (state_q == StFetch1 && ok_q) || (state_q == StPush && q_q.pi == op_index_i + 16'(op_blocks_i) && ok_q);
  assign queue_push = (state_q == StPush && slot_take) ||
                      (dispatch && op_i == hcasim_engine_pkg::OpReadDone && fresh);
  assign push_slot  = dispatch ? SlotBits'(tag.slot) : slot_q;
  assign queue_pop  = state_q == StDecoded || (appended && f_ends);
  assign slot_free  = queue_pop || (dispatch && op_i == hcasim_engine_pkg::OpReadDone && !fresh);

  always_comb begin
    fetch_entry         = '0;
    fetch_entry.qpn     = 24'(held_qpn_q);
    fetch_entry.owner   = c_q.qpn;
    fetch_entry.epoch   = q_q.epoch;
    fetch_entry.index   = state_q == StPush ? op_index_i : q_q.fetched;
    fetch_entry.num_bb  = state_q == StPush ? op_blocks_i : fetch_size[4:0];
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      busy_q <= '0;
      room_q <= fetch_depth_i;
    end else begin
      if (slot_take) busy_q[slot_q] <= 1'b1;
      if (slot_free) busy_q[dispatch ? SlotBits'(tag.slot) : slot_q] <= 1'b0;
      if (slot_take && !slot_free) room_q <= room_q - 1'b1;
      else if (slot_free && !slot_take) room_q <= room_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (slot_take) fetch_q[slot_q] <= fetch_entry;
    else if (appended) fetch_q[slot_q] <= f_next;
  end

  logic [2**SlotBits-1:0] read_failed_q; // the blocks could not be read
  logic [47:0]            arrived_q [2**SlotBits];

  always_comb begin
    f_head         = fetch_q[queue_head];
    f_head.failed  = read_failed_q[queue_head];
    f_head.arrived = arrived_q[queue_head];
  end

  always_ff @(posedge clk_i) begin
    if (queue_push) arrived_q[push_slot] <= cycle_q;
    if (slot_take) read_failed_q[slot_q] <= 1'b0;
    else if (dispatch && op_i == hcasim_engine_pkg::OpReadDone) read_failed_q[SlotBits'(tag.slot)] <= op_flag_i;
  end

  `HCASIM_ASSERT(QueueHasSpace, !queue_push || queue_full_n)
