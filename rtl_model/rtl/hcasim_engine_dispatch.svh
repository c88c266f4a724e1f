// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: what an op does in its first cycle, in which its context is there.

  task automatic carry_out();
    unique case (op_i)
      hcasim_engine_pkg::OpCreate: begin
        c_q       <= attr_i;
        q_q       <= '0;
        q_q.epoch <= q_q.epoch + 24'd1;
        q_q.live  <= 1'b1;
      end
      hcasim_engine_pkg::OpSet: begin
        c_q <= attr_i;
        if (set_psn_i) begin
          q_q.next_psn <= psn_i;
          q_q.una_psn  <= psn_i;
        end
        if (set_state_i && attr_i.state == 3'(hcasim_pkg::QPS_SQD)) q_q.drained_sent <= 1'b0;
        if (attr_i.state == 3'(hcasim_pkg::QPS_RTS) && c_q.state == 3'(hcasim_pkg::QPS_SQE)) q_q.fault <= 1'b0;
        ret_timer_q <= StSettle;
        state_q     <= StTimer;
      end
      hcasim_engine_pkg::OpReset, hcasim_engine_pkg::OpDestroy: state_q <= StClear;
      hcasim_engine_pkg::OpError: begin
        ret_error_q <= StSettle;
        if (c_q.state != 3'(hcasim_pkg::QPS_ERR) && c_q.state != 3'(hcasim_pkg::QPS_RESET)) state_q <= StError;
      end
      // The producer index is 16 bits for a ring of at most 32768 basic blocks. Ignore an index outside the ring, counted
      // from the oldest slot in use: it is stale or invalid.
      hcasim_engine_pkg::OpDoorbell: begin
        if (16'(op_index_i - q_q.retired) > 16'(q_q.pi - q_q.retired) &&
            16'(op_index_i - q_q.retired) <= c_q.entries) q_q.pi <= op_index_i;
        state_q <= StSettle;
      end
      // The pushed bytes replace a read of the ring if that could begin and everything posted before has been fetched.
      hcasim_engine_pkg::OpPush: begin
        ok_q <= c_q.state == 3'(hcasim_pkg::QPS_RTS) && !q_q.fetching && q_q.fetched == q_q.pi &&
                q_q.fetched == op_index_i && 16'(q_q.tail - q_q.head) < 16'(window_i) && room_q != '0;
        slot_q <= free_slot;
        if (16'(op_index_i + 16'(op_blocks_i) - q_q.retired) > 16'(q_q.pi - q_q.retired) &&
            16'(op_index_i + 16'(op_blocks_i) - q_q.retired) <= c_q.entries)
          q_q.pi <= op_index_i + 16'(op_blocks_i);
        state_q <= StPush;
      end
      hcasim_engine_pkg::OpReadDone: slot_q <= SlotBits'(tag.slot);
      hcasim_engine_pkg::OpWritten: load(tag.seq, StWritten);
      hcasim_engine_pkg::OpPages: if (fresh) state_q <= StPages;
      hcasim_engine_pkg::OpLeave: leave();
      hcasim_engine_pkg::OpReleased: ;
      hcasim_engine_pkg::OpResponse: begin
        walk_q     <= q_q.ack;
        ret_open_q <= StReply;
        state_q    <= StOpen;
      end
      hcasim_engine_pkg::OpTimer: begin
        q_q.timer_on <= 1'b0;
        state_q      <= StExpired;
      end
      hcasim_engine_pkg::OpTaken: load(q_q.head, StPop);
      hcasim_engine_pkg::OpFetch: begin
        slot_q  <= free_slot;
        state_q <= StFetch;
      end
      hcasim_engine_pkg::OpDecode: begin
        tag_q.epoch <= f.epoch;
        if (!f_fresh) state_q <= StDecoded;
        else size_wqe();
      end
      hcasim_engine_pkg::OpPacketise: take_wqe();
      hcasim_engine_pkg::OpQuery: res_ok_q <= c_q.state == 3'(hcasim_pkg::QPS_SQD) && !q_q.drained_sent;
      hcasim_engine_pkg::OpState: load(q_q.cur, StState);
      hcasim_engine_pkg::OpCompletion: load(q_q.head, StWork);
      hcasim_engine_pkg::OpPacketiseWork: load(q_q.cur, StWork);
      hcasim_engine_pkg::OpFetchWork: begin
        count_q        <= 32'(fetch_size) * BlockBytes;
        result_items_o <= 8'(fetch_size);
      end
      default: size_wqe(); // OpDecodeWork
    endcase
  endtask
